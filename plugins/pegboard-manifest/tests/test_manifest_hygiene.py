from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard.config._files import NAMES
from pegboard.schema import SCHEMAS_BY_NAME
from pegboard_manifest.hygiene import (
    PROTECTED,
    OutsideError,
    Roots,
    has_parent,
    is_within,
    line_fault,
    long_text,
    path_fault,
    refuse_long_texts,
    sanitise,
    text_fault,
)
from pegboard_manifest.texts import clean_schema

ANYTHING = st.text(st.characters() | st.sampled_from("\x1b[]\x07\x08\r\n\u202e\u200b\U000e0041\ufeff\x9b0;m"))


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain, with ümläut", "plain, with ümläut"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil\x07link\x1b]8;;\x07", "link"),
        ("\x9b31mred", "red"),
        ("b\x08bo\x08ol\x08ld\x08d", "bold"),
        ("abc\u202edcba\u202c", "abcdcba"),
        ("zero\u200bwidth\u2060\ufeff", "zerowidth"),
        ("tags\U000e0041\U000e0042", "tags"),
        ("hidden\ufe01\U000e0110", "hidden"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("NUL\x00 bell\x07", "NUL bell"),
        ("half \ud800 pair", "half  pair"),
        ("trailing   \n\n", "trailing"),
        ("\x1b", ""),
    ],
)
def test_what_a_terminal_or_a_model_would_not_show_is_taken_out(text: str, clean: str) -> None:
    assert sanitise(text) == clean


@given(ANYTHING, st.integers(0, 40), st.booleans())
@settings(max_examples=300)
def test_a_clean_text_has_no_control_character_fits_its_limit_and_stays_as_it_is(
    text: str, limit: int, one_line: bool
) -> None:
    clean = sanitise(text, limit, one_line=one_line)

    assert len(clean) <= limit
    assert (line_fault if one_line else text_fault)(clean) is None
    assert not set(clean) & set("\u202e\u200b\U000e0041\ufeff")
    assert sanitise(clean, limit, one_line=one_line) == clean


def test_a_long_text_is_cut_and_says_so() -> None:
    assert sanitise("x" * 100, 10) == "x" * 9 + "…"
    assert sanitise("\x1b[0m" * 1_000_000 + "never seen", 10) == "…"
    assert sanitise("a  b\n\nc", one_line=True) == "a b c"


@pytest.mark.parametrize("text", ["\x00", "a\x1bb", "\x7f", "\x85", "\ud800"])
def test_controls_and_half_pairs_are_no_values(text: str) -> None:
    assert text_fault(text)
    assert line_fault(text)


def test_line_breaks_are_text_but_end_a_line() -> None:
    assert text_fault("a\n\tb\r\n") is None
    assert line_fault("a\nb") == "the control character U+000A"
    assert line_fault("a\u2028b")
    assert text_fault("\u202e is text") is None
    assert line_fault("\u202e is text") is None


@pytest.mark.parametrize("path", ["..", "a/..", "../a", "a/../b", r"a\..\b", "%2e%2e/a", "a/%2E%2e", "%252e%252e"])
def test_a_path_that_climbs_is_seen_in_every_spelling(path: str) -> None:
    assert has_parent(path)
    assert path_fault(path) == "a part that is '..'"


@pytest.mark.parametrize("path", ["a", "..a", "a..b/c", "...", "100%", "a%20b", "./x"])
def test_dots_inside_of_names_climb_nowhere(path: str) -> None:
    assert not has_parent(path)
    assert path_fault(path) is None


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("", "an empty text"),
        ("-rf", "a leading dash; put ./ before it"),
        ("-", "a leading dash; put ./ before it"),
        ("a\nb", "the control character U+000A"),
        ("http://host/x", "a URL"),
        ("file:///etc/passwd", "a URL"),
        ("a" * 256, "a path of more than 4,095 bytes, or a part of more than 255"),
        ("a/" * 2_100, "a path of more than 4,095 bytes, or a part of more than 255"),
    ],
)
def test_what_is_not_a_path_is_named(path: str, fault: str) -> None:
    assert path_fault(path) == fault


def test_a_path_is_handed_over_as_it_was_judged(tmp_path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "real.db").touch()
    (tmp_path / "link.db").symlink_to("data/real.db")
    roots = Roots(tmp_path, ["."])

    assert roots.resolve("link.db") == "./data/real.db"
    assert roots.resolve("data/new.db") == "./data/new.db"
    assert roots.resolve(".") == "."
    assert roots.resolve("./data/") == "./data"
    assert roots.resolve("~/x") == "./~/x"
    assert roots.resolve("@x") == "./@x"
    assert roots.resolve(str(tmp_path / "data" / "real.db")) == "./data/real.db"


def test_a_link_out_of_the_folder_leads_nowhere(tmp_path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").touch()
    (inside / "file").symlink_to("../secret")
    (inside / "folder").symlink_to(tmp_path)
    (inside / "loop").symlink_to("loop")
    roots = Roots(inside, ["."])

    for path in ("file", "folder", "folder/secret", "/etc/passwd", str(tmp_path), str(tmp_path / "inside2")):
        with pytest.raises(OutsideError, match="inside the folders") as refusal:
            roots.resolve(path)
        assert str(tmp_path) not in str(refusal.value)
    assert roots.resolve("loop") == "./loop"  # inside, and no program can open it


def test_a_root_that_becomes_a_link_fits_nothing_any_more(tmp_path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    roots = Roots(tmp_path, ["root"])
    root.rmdir()
    root.symlink_to("/etc")

    with pytest.raises(OutsideError):
        roots.resolve("root/passwd")


def test_a_tool_narrows_what_its_program_allows_and_never_widens_it(tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    roots = Roots(tmp_path, ["a", "b"], ["a", "/etc"])

    assert roots.resolve("a/x") == "./a/x"
    for path in ("b/x", "x", "/etc/passwd"):
        with pytest.raises(OutsideError):
            roots.resolve(path)
    with pytest.raises(OutsideError):
        Roots(tmp_path, ["."], []).resolve("x")


def test_a_folder_outside_of_the_working_directory_is_given_as_it_is(tmp_path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "data").mkdir()

    assert Roots(tmp_path / "work", ["../data"]).resolve(str(tmp_path / "data" / "x")) == str(tmp_path / "data" / "x")
    assert Roots("/", ["."]).resolve("etc/passwd", write=False) == f".{os.path.realpath('/etc/passwd')}"


@pytest.mark.parametrize("path", ["tool.manifest.json", "sub/.git/hooks/x", "PEGBOARD.toml"])
def test_no_tool_writes_what_decides_over_tools(tmp_path, path: str) -> None:
    roots = Roots(tmp_path, ["."])

    with pytest.raises(OutsideError, match="not a configuration"):
        roots.resolve(path)
    assert roots.resolve(path, write=False) == f"./{path}"


def test_the_folder_of_the_manifest_is_read_and_not_written(tmp_path) -> None:
    tools = tmp_path / "tools"
    (tools / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tools)
    roots = Roots(tmp_path, ["."], sealed=tools)

    for path in ("tools", "tools/new.txt", "tools/sub/README.md", "link/new.txt"):
        with pytest.raises(OutsideError, match="folder of the manifest"):
            roots.resolve(path)
    assert roots.resolve("tools/README.md", write=False) == "./tools/README.md"
    assert roots.resolve("toolshed") == "./toolshed"


def test_who_works_in_the_folder_of_the_manifest_or_is_allowed_one_in_it_writes_there(tmp_path) -> None:
    (tmp_path / "tools" / "files").mkdir(parents=True)
    tools = tmp_path / "tools"

    assert Roots(tools, ["."], sealed=tools).resolve("x") == "./x"
    assert Roots(tools / "files", ["."], sealed=tools).resolve("x") == "./x"
    named = Roots(tmp_path, [".", "tools/files"], sealed=tools)
    assert named.resolve("tools/files/x") == "./tools/files/x"
    with pytest.raises(OutsideError):
        named.resolve("tools/x")


@given(st.lists(st.sampled_from(["a", "b", ".", "..", "link", "", "x y", "/"]), min_size=1, max_size=6).map("/".join))
def test_whatever_is_handed_over_lies_inside_and_is_not_an_option(tmp_path_factory, path: str) -> None:
    base = tmp_path_factory.getbasetemp() / "hygiene"
    if not base.exists():
        (base / "in" / "a").mkdir(parents=True)
        (base / "in" / "a" / "link").symlink_to(base)
        (base / "in" / "link").symlink_to("a")
    try:
        word = Roots(base / "in", ["."]).resolve(path) if path_fault(path) is None else "."
    except OutsideError:
        return

    assert word == "." or word.startswith("./")
    assert is_within(os.path.realpath(base / "in" / word), os.path.realpath(base / "in"))


LONG = "a" * 1_000_000


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"a": LONG}, ("a",)),
        ({"a": 1, "b": ["x", LONG]}, ("b", 1)),
        ({"a": {"b": [{"c": LONG}]}}, ("a", "b", 0, "c")),
        ({"a": (LONG,)}, ("a", 0)),
        ({"a": LONG[1:], "b": [LONG[1:]], "c": None, "d": 1}, None),
        ({}, None),
    ],
)
def test_a_text_of_a_megabyte_is_not_an_argument(arguments, path) -> None:
    assert long_text(arguments) == path


def test_the_refusal_says_where_the_long_text_stands_and_does_not_repeat_it() -> None:
    with pytest.raises(ToolError, match="fewer than 1,000,000 characters") as refused:
        refuse_long_texts({"a": [LONG]})
    assert refused.value.code is ErrorCode.INVALID_INPUT
    assert refused.value.details["faults"][0]["path"] == "a[0]"
    assert LONG[:100] not in str(refused.value)


TOOLGEN = ("tools.draft.json", "project.profile.json", "toolgen.toml", "names.lock", "overrides", ".toolgen")


@pytest.mark.parametrize("name", [*NAMES, "tool.manifest.json", *TOOLGEN])
def test_what_decides_what_the_board_runs_is_not_written(name, tmp_path):
    """Every name under which the core finds a configuration, and what the manifest is made of."""
    assert name in PROTECTED
    roots = Roots(tmp_path, ["."])
    for path in (name, f"sub/{name.upper()}", f"{name}/below"):
        with pytest.raises(OutsideError, match="not a configuration"):
            roots.resolve(path)
    assert roots.resolve(name, write=False) == f"./{name}"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files here")
def test_a_pipe_or_a_device_is_not_a_path_of_a_tool(tmp_path: Path) -> None:
    """A program that reads one would wait, or read, without end."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "to-zero").symlink_to("/dev/zero")
    (tmp_path / "to-fifo").symlink_to("fifo")
    for name in ("fifo", "to-fifo", "./fifo"):
        with pytest.raises(OutsideError, match="a pipe, a socket or a device"):
            Roots(tmp_path, ["."]).resolve(name)
    for allowed in (".", "/"):
        with pytest.raises(OutsideError):
            Roots(tmp_path, [allowed]).resolve("to-zero")
    assert Roots(tmp_path, ["/"]).resolve("/dev/null") == "/dev/null"
    assert Roots(tmp_path, ["."]).resolve("not-there") == "./not-there"


@pytest.mark.parametrize("keyword", sorted(SCHEMAS_BY_NAME))
@pytest.mark.parametrize("name", ["default", "enum", "title"])
def test_a_schema_is_cleaned_whatever_its_name_is(keyword: str, name: str) -> None:
    cleaned = clean_schema({keyword: {name: {"description": "a\u200bb"}}})
    assert cleaned == {keyword: {name: {"description": "ab"}}}
