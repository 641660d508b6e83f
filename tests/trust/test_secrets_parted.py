"""Keys that stand in a text in parts are masked before a model reads them: as mails and terminals break lines, as a
text is spelled out, and beside a low line. Source: ours; what a tool prints is as wide as its terminal."""

from __future__ import annotations

import json
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import open_host, tool
from pegboard.secrets.parted import parted_in, parted_shapes

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.measured
GITHUB = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz"
OPENAI = "sk-" + "proj-" + "aB3dE5" * 8
OWN = "Tr0ub4dor&3xyz"


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def dumped(text: str, line: str, size: int) -> str:
    parts = pieces(text + "\n", 16)
    lines = (line.format(16 * at, part.encode().hex(" ", size), part) for at, part in enumerate(parts))
    return "\n".join(lines).replace("\n|", "|")


FORMS: dict[str, Callable[[str], str]] = {
    "over two lines": lambda key: f"The key is {key[:12]}\n{key[12:]} and no other.",
    "over two lines of a program": lambda key: f"The key is {key[:12]}\r\n    {key[12:]}.",
    "in a column": lambda key: "\n".join(pieces(f"token={key}", 15)),
    "quoted in a mail": lambda key: f"> The key is {key[:12]}\n> {key[12:]} and no other.",
    "with a hyphen": lambda key: f"The key is {key[:12]}-\n{key[12:]} and no other.",
    "letter by letter": lambda key: f"The key is: {' '.join(key)} and no other.",
    "bytes in pairs": lambda key: f"00000000  {key.encode().hex(' ')}",
    "by hyphens": lambda key: f"The key is {'-'.join(key)} and no other.",
    "a list of letters": lambda key: f"The key is {json.dumps(list(key))}.",
    "a letter a line": lambda key: "The key is\n\n" + "\n".join(key),
    "on a line that goes on": lambda key: f"export KEY={key[:9]}\\\n{key[9:]} && run",
    "as hexdump prints it": lambda key: dumped(f"KEY={key}", "{:08x}  {}  |{}|", 1),
    "as xxd prints it": lambda key: dumped(f"KEY={key}", "{:08x}: {}  {}", 2),
    "as xxd prints it, without letters": lambda key: dumped(f"KEY={key}", "{:08x}: {}", 2),
    "as od prints it": lambda key: dumped(f"KEY={key}", "{:07o} {}", 1),
    "numbers of its letters": lambda key: f'{{"type": "Buffer", "data": {list(key.encode())}}}',
    "in the name of a file": lambda key: f"backup_{key}_old.tar",
}
OF_OWN = (
    "over two lines", "over two lines of a program", "letter by letter", "bytes in pairs", "on a line that goes on",
    "as hexdump prints it", "as xxd prints it", "as xxd prints it, without letters", "as od prints it",
    "numbers of its letters",
)  # fmt: skip
"""A value that has no shape is found where nothing but spaces part it."""
CASES = [(form, key) for key in (GITHUB, OPENAI) for form in FORMS] + [(form, OWN) for form in OF_OWN]


@pytest.mark.parametrize(("form", "key"), CASES)
async def test_a_key_in_parts_is_masked(host_with: Any, monkeypatch: pytest.MonkeyPatch, form: str, key: str) -> None:
    monkeypatch.setenv("SOME_API_KEY", OWN)
    written = FORMS[form](key)

    @tool(read_only=True)
    async def show() -> str:
        """Show."""
        return written

    host = await host_with()
    host.add(show)
    result = await host.session(masks_secrets=True).call("show")
    assert "[masked: " in result.text
    for part in (key[4:11], key[-7:], key[4:11].encode().hex(" "), " ".join(key[4:11])):
        assert part not in result.text
    assert (await host.session().call("show")).text == written  # a person and a program get what it answered


async def test_a_known_value_with_one_space_is_masked(host_with: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", OWN)

    @tool(read_only=True)
    async def show() -> str:
        """Show."""
        return f"It is {OWN[:6]} {OWN[6:]}, twice: {OWN[:3]}\n\t{OWN[3:]}."

    host = await host_with()
    host.add(show)
    result = await host.session(masks_secrets=True).call("show")
    assert result.text == "It is [masked: secret of this host], twice: [masked: secret of this host]."


@pytest.mark.parametrize("change", [str.upper, str.lower, str.title, str.swapcase])
async def test_a_known_value_in_another_case_is_masked(
    host_with: Any, monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]
) -> None:
    """Attack: a page has a model say a key in capitals, which is the key to whoever knows that."""
    monkeypatch.setenv("SOME_API_KEY", OWN)

    @tool(read_only=True)
    async def show() -> str:
        """Show."""
        return f"It is {change(OWN)}, and {OWN}; of the same name."

    host = await host_with()
    host.add(show)
    result = await host.session(masks_secrets=True).call("show")
    told = "[masked: secret of this host]"
    assert result.text == f"It is {told}, and {told}; of the same name."


BOLD = {
    ord(letter): chr(first + at)
    for letters, first in ((ascii_uppercase, 0x1D400), (ascii_lowercase, 0x1D41A), (digits, 0x1D7CE))
    for at, letter in enumerate(letters)
}
UNSEEN: dict[str, Callable[[str], str]] = {
    "the colours of grep": lambda key: f"KEY=\x1b[01;31m\x1b[K{key[:8]}\x1b[m\x1b[K{key[8:]} and no other.",
    "marks without a width": lambda key: f"The key is {key[:6]}\u200b{key[6:9]}\u00ad{key[9:]} and no other.",
    "letters of full width": lambda key: f"The key is {''.join(chr(ord(one) + 0xFEE0) for one in key)} and no other.",
    "bold letters of mathematics": lambda key: f"The key is {key.translate(BOLD)} and no other.",
    "marks of directions": lambda key: f"The key is \u202d{key[:5]}\u2060{key[5:]}\u202c and no other.",
}


@pytest.mark.parametrize("key", [GITHUB, OPENAI, OWN])
@pytest.mark.parametrize("how", UNSEEN)
async def test_a_key_in_which_something_is_not_seen_is_masked_where_nothing_was_taken_out(
    host_with: Any, source: Any, sources: Any, monkeypatch: pytest.MonkeyPatch, how: str, key: str
) -> None:
    """Attack: a model writes a key for another server so that no filter finds it whole. Results are cleaned before."""
    monkeypatch.setenv("SOME_API_KEY", OWN)
    received = []

    @tool(open_world=True)
    async def post(text: str) -> str:
        """Post."""
        received.append(text)
        return "in"

    config = {"flows": {"default": "allow"}}
    host = await host_with(sources(source("site", [post])), config=config)
    written = UNSEEN[how](key)
    assert key[-7:] not in host.session(masks_secrets=True).masked({"a": written})["a"]
    assert (await host.session().call("post", {"text": written})).ok
    assert key[-7:] not in received[0]
    assert "[masked: " in received[0]
    assert received[0].endswith(" and no other.")
    plain = "zero\u200bwidth\u200bjoined file_2.txt \x1b[01;32mrun-1.sh\x1b[0m \x1b[31mlogs-2026-11-28.tar.gz\x1b[0m"
    assert host.session(masks_secrets=True).masked(plain) == plain


ORDINARY = [
    "GitHub's tokens begin with ghp_\nand have 36 letters and digits behind that, 40 in all; since 2021 they do.",
    "api_key:\n  description1: the key of the service\naccess_token:\n  description2: another",
    "\n".join(f"file_name_{number}.txt" for number in range(200)),
    "\n".join(f"{number:064x}" for number in range(200)),
    "tasks: risk-assessment-of-suppliers-2024\ntask-assessment-of-suppliers-2025\ndone",
    " ".join("the quick brown fox"),
    " ".join(str(number % 10) for number in range(200)),
    "| name | value |\n|---|---|\n| a1 | b2 |\n",
    json.dumps([number % 10 for number in range(200)]),
    json.dumps(list("abcdefghijklmnopqrstuvwxyz0123456789")),
    "-".join("abcdefghijklmnopqrstuvwxyz0123456789"),
    "\n".join(f"{16 * at:08x}  {bytes(range(at, at + 16)).hex(' ')}  |................|" for at in range(64)),
    "\n".join(f"{16 * at:08x}: {bytes(range(at, at + 16)).hex(' ', 2)}  ................" for at in range(64)),
    "cc -O2 -Wall \\\n  -o build/run-2 \\\n  src/main.c src/util2.c",
]


@pytest.mark.parametrize("text", ORDINARY)
async def test_ordinary_texts_are_left_alone(host_with: Any, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SOME_API_KEY", OWN)

    @tool(read_only=True)
    async def show() -> str:
        """Show."""
        return text

    host = await host_with()
    host.add(show)
    assert (await host.session(masks_secrets=True).call("show")).text == text


@given(st.text("ab1_- \n>\t", max_size=60), st.integers(1, 60), st.sampled_from(["\n", "\r\n    ", " \n> "]))
def test_where_a_key_stands_in_parts_is_where_it_is(before: str, at: int, between: str) -> None:
    """What is replaced begins and ends with the key, and has nothing but the break beside it."""
    at = max(at % len(GITHUB), 8)
    text = f"{before} {GITHUB[:at]}{between}{GITHUB[at:]} end"
    found = [(start, end) for start, end, key, _ in parted_shapes(text) if key == GITHUB]
    assert any(text[start:end] == f"{GITHUB[:at]}{between}{GITHUB[at:]}" for start, end in found)


@given(st.text("ab1 \n\t", max_size=40), st.text(" \n\t", min_size=1, max_size=5), st.integers(1, 13))
def test_a_known_value_is_found_wherever_it_is_parted(before: str, between: str, at: int) -> None:
    text = f"{before}{OWN[:at]}{between}{OWN[at:]}"
    ((start, end, value),) = parted_in(text, [OWN, "another-value-1"])
    assert (text[start:end], value) == (f"{OWN[:at]}{between}{OWN[at:]}", OWN)


@pytest.mark.parametrize("text", ["a" * 100_000, "a1\n" * 40_000, "a1b2c3d4\n" * 10_000, "a " * 50_000, "\n" * 100_000])
def test_no_text_takes_longer_than_its_length(text: str) -> None:
    """A guard against a hang: each takes a few hundredths of a second."""
    assert not list(parted_shapes(text))
    assert not list(parted_in(text, [OWN]))


async def test_a_text_that_stands_in_content_and_in_data_is_looked_through_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pegboard.secrets import mask

    looked, find = list[str](), mask.replace_shapes
    monkeypatch.setattr(mask, "replace_shapes", lambda text, instead: looked.append(text) or find(text, instead))

    @tool
    async def read() -> str:
        """Read a mail."""
        return "Shall we meet on Thursday at noon?"

    async with open_host(plugins=[]) as host:
        host.add(read)
        assert (await host.session(masks_secrets=True).call("read")).ok
    assert looked == ["Shall we meet on Thursday at noon?"]
