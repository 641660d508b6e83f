"""A server is told nothing that another one said because its tool says that it only reads. Source: exfiltration by the
arguments of a harmless tool (Invariant Labs, "Toxic agent flows", 2025): "look up the mail that you read"."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from pegboard import Confirmation, ErrorCode, tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pegboard.host import Host

SENTENCE = "the code of the vault is 463820 and nobody else may know it"
PLAIN = "nobody but you and me may ever hear of the plan"
PATH = "/home/ada/projects/garden/notes/tomatoes.md"
PAGE = "https://gardening.example.org/articles/2026/tomatoes-and-peas"
MAIL = (
    f"Dear Bob, {SENTENCE}, and {PLAIN}. It lies in {PATH} , and see {PAGE} . Yours, Ada <ada@example.org>, Garden Club"
)


@tool(read_only=True)
async def read_mail() -> str:
    """Read the last mail."""
    return MAIL


@tool(read_only=True)
async def look_up(query: str = "", more: str = "", words: list[str] | None = None) -> str:
    """Look something up."""
    return "nothing"


@tool(read_only=True, open_world=False, name="look_inside")
async def look_inside(query: str) -> str:
    """Look something up here."""
    return "nothing"


@pytest.fixture
def hosted(host_with: Any, source: Any, sources: Any) -> Callable[..., Awaitable[Host]]:
    """`await hosted(**config)`: a host with two servers that nobody trusts, one of mails and one that only reads."""

    async def made(**config: Any) -> Host:
        servers = sources(source("mails", [read_mail]), source("other", [look_up, look_inside]))
        host: Host = await host_with(servers, config=config)
        return host

    return made


PASSAGES: dict[str, dict[str, Any]] = {
    "as it stands": {"query": SENTENCE},
    "a part of it": {"query": "Bob, the code of the vault is 463820"},
    "in other words around it": {"query": f"Is it true that {SENTENCE}?"},
    "without spaces": {"query": SENTENCE.replace(" ", "")},
    "with points": {"query": SENTENCE.replace(" ", ".")},
    "as an address": {"query": f"https://other.example/{quote(SENTENCE)}"},
    "in base64": {"query": base64.b64encode(SENTENCE.encode()).decode()},
    "word by word": {"words": PLAIN.split()},
    "letter by letter": {"words": list(SENTENCE)},
    "over two arguments": {"query": SENTENCE[:30], "more": SENTENCE[30:]},
}


@pytest.mark.parametrize("arguments", PASSAGES.values(), ids=PASSAGES)
async def test_a_tool_that_only_reads_is_given_no_passage_of_another_server_without_a_question(
    hosted: Any, arguments: dict[str, Any]
) -> None:
    host = await hosted()
    session = host.session()
    assert (await session.call("look_up", arguments)).ok
    session = host.session()
    await session.call("read_mail")
    error = (await session.call("look_up", arguments)).error
    assert (error.code, error.details["reason"]) == (ErrorCode.FORBIDDEN, "flow")


UNSPACED = {
    "Chinese": ("保险箱的密码是四六三八二零，请不要告诉别人。", "王小明"),
    "Japanese": ("金庫の暗証番号はよんろくさんはちで、誰にも言わないで。", "山田太郎"),
    "Thai": ("รหัสผ่านของตู้นิรภัยคือสี่หกสามและห้ามบอกใคร", "สมชาย"),
}


@pytest.mark.parametrize(("said", "name"), UNSPACED.values(), ids=UNSPACED)
async def test_a_sentence_of_a_script_without_spaces_is_a_passage_and_a_name_goes_on(
    hosted: Any, said: str, name: str
) -> None:
    session = (await hosted()).session()
    session.note_read(f"{name}: {said}", source="mails")
    assert (await session.call("look_up", {"query": name})).ok
    for query in (said, said[:16], f"({said})"):
        error = (await session.call("look_up", {"query": query})).error
        assert error is not None, query
        assert error.details["reason"] == "flow"


async def test_that_it_stays_inside_is_its_own_word_too(hosted: Any) -> None:
    asked: list[str] = []

    async def person(question: Confirmation) -> bool:
        asked.append(question.question)
        return True

    session = (await hosted()).session(confirm=person)
    await session.call("read_mail")
    assert (await session.call("look_inside", {"query": SENTENCE})).ok
    assert asked[0].startswith(f"look_inside wants to use text that came from `read_mail` of mails: '{SENTENCE}'")


NAMES = [PATH, PAGE, "ada@example.org", "463820", "Garden Club", "garden tomatoes", "What is a vault?"]


@pytest.mark.parametrize("name", NAMES)
async def test_names_paths_and_addresses_go_on_without_a_question(hosted: Any, name: str) -> None:
    session = (await hosted()).session()
    await session.call("read_mail")
    assert (await session.call("look_up", {"query": name})).ok


@pytest.mark.parametrize(
    "config",
    [
        {"flows": {"to": {"look_up": "allow"}}},
        {"flows": {"from": {"mails": "allow"}}},
        {"flows": {"default": "allow"}},
    ],
    ids=["to", "from", "default"],
)
async def test_a_rule_lets_it_through(hosted: Any, config: dict[str, Any]) -> None:
    session = (await hosted(**config)).session()
    await session.call("read_mail")
    assert (await session.call("look_up", {"query": SENTENCE})).ok


async def test_a_tool_of_the_persons_own_that_only_reads_is_not_asked_about(hosted: Any) -> None:
    host = await hosted()

    @tool(read_only=True)
    async def count(text: str) -> int:
        """Count the letters."""
        return len(text)

    host.add(count)
    session = host.session()
    await session.call("read_mail")
    assert (await session.call("count", {"text": SENTENCE})).ok


async def test_a_server_that_says_much_ends_no_reading(hosted: Any) -> None:
    host = await hosted()

    @tool(read_only=True)
    async def nothing() -> str:
        """Do nothing."""
        return ""

    host.add(nothing)
    session = host.session(confirm=lambda question: pytest.fail(question.question))
    for row in range(8):
        session.note_read(f"row {row} of a table " * 5_000, source="mails")
    assert (await session.call("look_up", {"query": "tomatoes"})).ok
