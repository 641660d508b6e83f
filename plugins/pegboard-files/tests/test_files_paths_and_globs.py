"""Paths, globs and rules: text in, a decision out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard_files._globs import Glob
from pegboard_files._names import MAX_NAME_BYTES, MAX_PATH_BYTES, Asked, decoded, parse, printable, shown
from pegboard_files._rules import Entry, Rules, entries

PIECES = st.sampled_from(
    ["..", ".", "", "a", "b", "..a", "a..", "...", "\\", "..\\..", "é", "\n", " ", "~", "proc", "\0"]
)
PATHS = st.lists(PIECES | st.text(max_size=4), max_size=8).map("/".join)


@given(PATHS)
@example("../x")
@example("a/../../x")
@example("/../../etc/passwd")
@example("\ud800")
@example("x" * 300)
@example("x/" * 3000)
def test_any_text_is_a_path_that_leads_down_or_a_typed_refusal(text: str) -> None:
    answer: Asked | ToolError
    try:
        answer = parse(text)
    except ToolError as error:
        answer = error
    if isinstance(answer, ToolError):
        assert answer.code in (ErrorCode.INVALID_INPUT, ErrorCode.FORBIDDEN)
        assert len(answer.message) < 300
        return
    asked = answer
    assert asked.text == text
    for part in asked.parts:
        assert part not in ("", ".", "..")
        assert not set(part) & {"/", "\0"}
        assert len(part.encode("utf-8")) <= MAX_NAME_BYTES
    assert len("/".join(asked.parts).encode("utf-8")) <= MAX_PATH_BYTES


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (".", ()),
        ("./a//b/", ("a", "b")),
        ("a/./b/../c", ("a", "c")),
        ("/a/../../b", ("b",)),
        ("..\\..\\etc", ("..\\..\\etc",)),
        ("a.../b ", ("a...", "b ")),
        ("~/x", ("~", "x")),
    ],
)
def test_parts_are_names_and_nothing_else(text: str, parts: tuple[str, ...]) -> None:
    assert parse(text).parts == parts


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", ErrorCode.INVALID_INPUT),
        ("a\0b", ErrorCode.INVALID_INPUT),
        ("\udcff", ErrorCode.INVALID_INPUT),
        ("x" * 256, ErrorCode.INVALID_INPUT),
        ("é" * 128, ErrorCode.INVALID_INPUT),
        ("a/" * 2100, ErrorCode.INVALID_INPUT),
        ("..", ErrorCode.FORBIDDEN),
        ("a/../..", ErrorCode.FORBIDDEN),
    ],
)
def test_what_can_be_no_path_of_a_file_here_is_refused(text: str, code: ErrorCode) -> None:
    with pytest.raises(ToolError) as caught:
        parse(text)
    assert caught.value.code is code


@given(st.text())
def test_whatever_is_shown_stays_on_its_line(text: str) -> None:
    assert "\n" not in shown(text)
    assert len(shown(text)) < 700
    assert printable(text).isprintable()


def test_a_name_that_is_not_text_is_shown_by_its_bytes() -> None:
    assert decoded("caf\udce9") == "caf\\xe9"
    assert decoded("café") == "café"


# -- globs


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "src/deep/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/deep/er/a.py", True),
        ("**/*.py", "a.py", True),
        ("src/**", "src/a/b", True),
        ("src/**", "src", False),
        ("?.txt", "é.txt", True),
        ("?.txt", "ab.txt", False),
        ("[ab].txt", "a.txt", True),
        ("[!ab].txt", "a.txt", False),
        ("[]a].txt", "].txt", True),
        ("[z-a].txt", "b.txt", False),
        ("a[.-0]b", "a/b", False),
        ("a[!x]b", "a/b", False),
        ("[a", "[a", True),
        ("*.{c,h}", "x.h", True),
        ("*.{c,h}", "x.{c,h}", False),
        ("{a,b{c,d}}", "bd", True),
        ("{a", "{a", True),
        ("{a}", "{a}", True),
        ("./a/b", "a/b", True),
        ("A", "a", False),
        ("*", "new\nline", True),
        ("a.b", "axb", False),
        ("(a|b)+$", "(a|b)+$", True),
    ],
)
def test_a_glob_means_what_a_shell_would(glob: str, path: str, fits: bool) -> None:
    assert Glob(glob).matches(path) is fits


@pytest.mark.parametrize(
    "glob", ["", "/", "..", "../*", "a/../../b", "/etc/*", "a\0", "\ud800", "x" * 1001, "{a,b}" * 10]
)
def test_a_glob_that_leads_elsewhere_or_is_too_large_is_refused(glob: str) -> None:
    with pytest.raises(ToolError) as caught:
        Glob(glob)
    assert caught.value.code is ErrorCode.INVALID_INPUT


def matches_naively(glob: str, path: str) -> bool:
    """The meaning of `*`, `?` and `**` written down once more, by recursion over parts and characters."""

    def name(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return any(name(pattern[1:], text[at:]) for at in range(len(text) + 1))
        return bool(text) and pattern[0] in ("?", text[0]) and name(pattern[1:], text[1:])

    def parts(patterns: list[str], names: list[str]) -> bool:
        if not patterns:
            return not names
        if patterns[0] == "**":
            if len(patterns) == 1:
                return bool(names)
            return any(parts(patterns[1:], names[at:]) for at in range(len(names) + 1))
        return bool(names) and name(patterns[0], names[0]) and parts(patterns[1:], names[1:])

    if "/" not in glob:
        return parts([glob], [path.rpartition("/")[2]])
    return parts([one for one in glob.split("/") if one not in ("", ".")], path.split("/"))


NAMES = st.text("ab.é", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))


@given(
    st.lists(st.just("**") | st.text("ab*?é", min_size=1, max_size=4), min_size=1, max_size=4).map("/".join),
    st.lists(NAMES, min_size=1, max_size=4).map("/".join),
)
def test_a_glob_matches_what_its_meaning_says(glob: str, path: str) -> None:
    assert Glob(glob).matches(path) == matches_naively(glob, path)


@given(st.text(max_size=40), st.lists(NAMES, min_size=1, max_size=4).map("/".join))
@example("[" * 30, "a")
@example("[!]", "a")
@example("{,}{,}", "a")
@example("[a-]", "-")
@example("[^-a]", "-")
def test_any_text_is_a_glob_that_decides_or_is_invalid_input(glob: str, path: str) -> None:
    refusal = None
    try:
        assert Glob(glob).matches(path) in (True, False)
    except ToolError as error:
        refusal = error
    assert refusal is None or refusal.code is ErrorCode.INVALID_INPUT


def test_no_glob_takes_long(in_time: Any) -> None:
    glob = Glob("/".join(["**", "*a*a*a*a*a*a*a*a*a*a*a*a*b"] * 8))
    path = "/".join(["a" * 200] * 20)
    with in_time():
        assert not glob.matches(path)


# -- rules


LINES = st.lists(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map("/".join), max_size=3)
PARTS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=4).map(tuple)


@given(LINES, LINES, LINES, PARTS)
def test_denied_beats_allowed_and_more_of_either_does_nothing_else(
    allowed: list[str], denied: list[str], more: list[str], parts: tuple[str, ...]
) -> None:
    base = ("base",)

    def judge(allowed: list[str], denied: list[str]) -> str | None:
        def made(lines: list[str]) -> tuple[Entry, ...]:
            return tuple(Entry((*base, *line.split("/"))) for line in lines)

        return Rules(made(allowed), made(denied)).refusal((*base, *parts))

    verdict = judge(allowed, denied)
    path = "/".join(parts)

    def holds(lines: list[str]) -> bool:
        return any(path == line or path.startswith(line + "/") for line in lines)

    assert verdict == ("denied" if holds(denied) else None if holds(allowed) else "not_allowed")
    if verdict is not None:
        assert judge(allowed, denied + more) is not None
    if verdict != "denied":
        assert judge(allowed + more, denied) != "denied"


@pytest.mark.parametrize(
    ("line", "path", "holds"),
    [
        ("secret", "/base/secret", True),
        ("secret", "/base/secret/deep/x", True),
        ("secret", "/base/secrets", False),
        ("./secret/", "/base/secret/x", True),
        ("secret", "/base/sub/secret", False),
        ("**/.env", "/base/.env", True),
        ("**/.env", "/base/a/b/.env", True),
        ("**/.env", "/base/a/.env/x", True),
        ("**/.env", "/other/.env", False),
        ("*.key", "/base/x.key", True),
        ("*.key", "/base/sub/x.key", False),
        ("a[b]", "/base/a[b]/x", True),
        ("a[b]", "/base/ab", False),
        ("/etc", "/etc/passwd", True),
        ("/", "/anything", True),
        ("/srv/*/private", "/srv/x/private/y", True),
        ("sub/../secret", "/base/secret", True),
    ],
)
def test_an_entry_holds_for_itself_and_what_lies_below(line: str, path: str, holds: bool) -> None:
    parts = tuple(path.strip("/").split("/"))
    assert any(entry.holds(parts) for entry in entries([line], ["/base"])) is holds


def test_an_entry_of_the_home_is_found_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert any(entry.holds(("home", "ada", ".ssh", "id")) for entry in entries(["~/.ssh"], ["/base"]))


def test_the_pattern_of_a_glob_has_no_character_with_a_meaning_of_its_own() -> None:
    for char in map(chr, range(32, 127)):
        if char in "*?[{/":
            continue
        assert Glob(f"a{char}b").matches(f"a{char}b")
        assert not Glob(f"a{char}b").matches("ab")
