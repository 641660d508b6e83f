"""`pegboard.lock`: read within bounds, written whole, the same bytes for the same tools."""

from __future__ import annotations

import json
import os
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import Origin, Tool, tool
from pegboard_mcp.lock import file
from pegboard_mcp.lock.compare import changes_of
from pegboard_mcp.lock.file import LockError, read_lock, to_text, write_lock
from pegboard_mcp.lock.pins import Pin, content_of, fingerprint_of, identity_of, is_pinned, pin_of
from pegboard_mcp.lock.place import find_lock

if TYPE_CHECKING:
    from pathlib import Path

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
TEXTS = st.text(st.one_of(st.sampled_from("'\"\\\n\r\t\x00\u202e\ud800🙂 abc"), st.characters()), max_size=30)
DEFINITIONS = st.fixed_dictionaries({
    "title": st.none() | TEXTS,
    "description": TEXTS,
    "version": st.none() | TEXTS,
    "annotations": st.dictionaries(st.text(max_size=5), VALUES, max_size=3),
    "input_schema": st.dictionaries(st.text(max_size=5), VALUES, max_size=4),
    "output_schema": st.none() | st.dictionaries(st.text(max_size=5), VALUES, max_size=3),
})  # fmt: skip
NAMES = TEXTS.filter(bool)


def a_pin(name: str = "t", source: str = "s", **parts: Any) -> Pin:
    definition = {
        "name": name, "title": None, "description": "d", "version": None, "annotations": {"risk": "low"},
        "input_schema": {"type": "object"}, "output_schema": None, **parts,
    }  # fmt: skip
    return Pin(source, name, definition, fingerprint_of(definition))


@settings(max_examples=150)
@given(st.lists(st.tuples(NAMES, NAMES, DEFINITIONS), max_size=4, unique_by=lambda row: row[:2]), st.integers())
def test_what_is_written_is_read_back_whatever_the_tools_say(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, dict[str, Any]]], seed: int
) -> None:
    pins = [a_pin(name, source, **definition) for source, name, definition in rows]
    mixed = random.Random(seed).sample(pins, len(pins))
    path = tmp_path_factory.getbasetemp() / "any.lock"
    if any("\ud800" <= character <= "\udfff" for pin in pins for character in pin.name + pin.source):
        return  # no tool and no source can be called so
    write_lock(path, mixed)
    read = read_lock(path)
    assert path.read_bytes() == to_text(pins).encode()
    assert {key: pin.definition for key, pin in read.items()} == {pin.key: pin.definition for pin in pins}
    assert all(pin.is_sound for pin in read.values())
    assert changes_of(read.values(), pins) == []


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.integers())
def test_a_pin_does_not_follow_the_order_of_keys(schema: dict[str, Any], seed: int) -> None:
    names = list(schema)
    random.Random(seed).shuffle(names)
    other = {name: schema[name] for name in names}
    assert a_pin(input_schema=schema).fingerprint == a_pin(input_schema=other).fingerprint
    assert content_of({"input_schema": schema}) == content_of({"input_schema": other, "name": "else"})


def test_one_tool_is_one_block_that_reads_well(tmp_path: Path) -> None:
    pins = [a_pin("b", description="Two\nlines.", title="B's"), a_pin("a", version="srv 1.0")]
    path = tmp_path / "pegboard.lock"
    write_lock(path, pins)
    text = path.read_text("utf-8")
    assert text.startswith("# What tools looked like when they were accepted.")
    assert (
        text.partition("version = 1\n")[2]
        == f"""
[[tools]]
source = 's'
name = 'a'
fingerprint = '{pins[1].fingerprint}'
version = 'srv 1.0'
description = 'd'
annotations = '''
{{
  "risk": "low"
}}'''
input_schema = '''
{{
  "type": "object"
}}'''

[[tools]]
source = 's'
name = 'b'
fingerprint = '{pins[0].fingerprint}'
title = '''
B's'''
description = '''
Two
lines.'''
annotations = '''
{{
  "risk": "low"
}}'''
input_schema = '''
{{
  "type": "object"
}}'''
"""
    )


def test_what_hides_in_a_text_is_escaped_in_the_file() -> None:
    text = to_text([a_pin(description="a\u202eb\x1b", input_schema={"x": "\u200b\U000e0041\x7f"})])
    assert not {"\u202e", "\x1b", "\u200b", "\U000e0041", "\x7f"} & set(text)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("version = 2", "of version 2"),
        ("", "of version None"),
        ("version = true", "of version True"),
        ("<<<<<<< mine", "not TOML"),
        ("version = 1\ntools = 1", "not a list"),
        ("version = 1\ntools = [1]", "block 1 is not a table"),
        ("version = 1\n[[tools]]\nname = 'a'\nfingerprint = 'x'", "block 1 has no source"),
        ("version = 1\n[[tools]]\nsource = 's'\nname = 1\nfingerprint = 'x'", "block 1 has no name"),
        ("version = 1\nx = " + "[" * 5_000, "nested deeper than 32"),
        (
            "version = 1\n" + "".join(f"[[tools]]\nsource='s'\nname='a'\nfingerprint='{n}'\n" for n in range(2)),
            "two blocks speak of a of s",
        ),
    ],
)
def test_a_file_that_is_not_a_lock_is_refused_with_why(tmp_path: Path, content: str, why: str) -> None:
    path = tmp_path / "pegboard.lock"
    path.write_text(content)
    with pytest.raises(LockError, match=why) as caught:
        read_lock(path)
    assert caught.value.hint


def test_other_files_are_refused_with_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LockError, match="No such file"):
        read_lock(tmp_path / "none")
    path = tmp_path / "pegboard.lock"
    path.write_bytes(b"\xff")
    with pytest.raises(LockError, match="not UTF-8"):
        read_lock(path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LockError, match="not a file"):
        read_lock(tmp_path / "pipe")
    monkeypatch.setattr(file, "MAX_BYTES", 100)
    path.write_text("#" * 101)
    with pytest.raises(LockError, match="larger than 100 bytes"):
        read_lock(path)


@pytest.mark.parametrize(
    "said",
    ["input_schema='{'", "input_schema='1'", "annotations='[]'", "title=1", "title={}", "description={json='1'}"],
)
def test_a_face_that_cannot_be_read_leaves_the_fingerprint(tmp_path: Path, said: str) -> None:
    path = tmp_path / "pegboard.lock"
    path.write_text(f"version = 1\n[[tools]]\nsource='s'\nname='a'\nfingerprint='f'\n{said}\n")
    (pin,) = read_lock(path).values()
    assert (pin.definition, pin.fingerprint, pin.is_sound) == (None, "f", False)


def test_two_blocks_that_say_the_same_are_one(tmp_path: Path) -> None:
    path = tmp_path / "pegboard.lock"
    text = to_text([a_pin()])
    path.write_text(text + text.partition("version = 1\n")[2])
    assert len(read_lock(path)) == 1


def test_a_lock_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pegboard.lock"
    write_lock(path, [a_pin("a")])
    path.chmod(0o640)

    def full(number: int) -> None:
        raise OSError(28, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(LockError, match="No space left"):
            write_lock(path, [a_pin("b")])
    assert [key.name for key in read_lock(path)] == ["a"]
    assert os.listdir(tmp_path) == ["pegboard.lock"]
    (tmp_path / "link").symlink_to(path)
    write_lock(tmp_path / "link", [a_pin("c")])
    assert [key.name for key in read_lock(path)] == ["c"]
    assert path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link").is_symlink()


def test_the_nearest_lock_upwards_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_lock(inner) is None
    (tmp_path / "pegboard.lock").touch()
    (tmp_path / "a" / "pegboard.lock").mkdir()
    assert find_lock(inner) == tmp_path / "pegboard.lock"


def test_a_pin_has_the_fingerprint_and_the_face_of_its_tool() -> None:
    @tool(read_only=True, title="Add")
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    pin = pin_of(add)
    assert pin.fingerprint == add.fingerprint
    assert pin.is_sound
    assert pin.source == "the program"


def test_the_icons_of_a_tool_are_written_by_their_fingerprint_and_read_back(tmp_path: Path) -> None:
    def add_with(*sources: str) -> Any:
        @tool(icons=[{"src": source} for source in sources])
        def add(a: int) -> int:
            """Add."""
            return a

        return pin_of(add)

    none, one, other = add_with(), add_with("https://example.org/a.png"), add_with("https://example.org/b.png")
    assert len({pin.fingerprint for pin in (none, one, other)}) == 3
    for pin in (none, one, other):
        write_lock(tmp_path / "any.lock", [pin])
        (read,) = read_lock(tmp_path / "any.lock").values()
        assert read.is_sound
        assert read.definition == pin.definition
        assert "example.org" not in (tmp_path / "any.lock").read_text()
    (change,) = changes_of([one], [other])
    assert [(reason.kind, reason.words) for reason in change.reasons] == [("text", "other icons")]


def test_the_core_and_the_program_itself_are_not_pinned() -> None:
    origins = [Origin(), Origin("pegboard", "core"), Origin("pegboard-dice", "dice"), Origin(None, "mine")]
    assert list(map(is_pinned, origins)) == [False, False, True, True]
    assert is_pinned(Origin("pegboard", "core", "files"))


@pytest.mark.parametrize(
    ("said", "identity"),
    [
        (("a b", "1.0"), "a-b 1.0"),
        ((None, "1.0"), "1.0"),
        ((None, None), None),
        (("x\u202e" * 200, 1), "x" * 100 + " 1"),
    ],
)
def test_a_server_is_known_by_name_and_version(said: tuple[Any, Any], identity: str | None) -> None:
    assert identity_of(*said) == identity
    assert Tool(name="t", handler=len, version=identity).version == identity


def test_a_large_lock_is_read(tmp_path: Path, in_time: Any) -> None:

    schema = {"type": "object", "properties": {f"p{n}": {"type": "string", "description": "x" * 40} for n in range(8)}}
    path = tmp_path / "pegboard.lock"
    write_lock(path, [a_pin(f"t{n}", input_schema=schema) for n in range(1_000)])
    with in_time():
        assert len(read_lock(path)) == 1_000
    assert json.loads(json.dumps(schema)) == read_lock(path)["s", "t0"].definition["input_schema"]  # type: ignore[index]


def test_no_lock_is_made_where_a_link_leads_that_leads_nowhere(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "pegboard.lock", tmp_path / "profile"
    path.symlink_to(elsewhere)

    with pytest.raises(LockError, match="cannot be written: No such file"):
        write_lock(path, [a_pin()])

    assert not elsewhere.exists()


@pytest.mark.parametrize("limit", ["MAX_TOOLS", "MAX_BYTES"])
def test_a_lock_that_could_not_be_read_again_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    pins = [Pin("srv", f"t{number}", {"name": f"t{number}"}, f"sha256:{number}") for number in range(3)]
    path = tmp_path / "mine.lock"
    monkeypatch.setattr("pegboard_mcp.lock.file.MAX_TOOLS", 3)
    write_lock(path, pins)
    before = path.read_bytes()
    monkeypatch.setattr(f"pegboard_mcp.lock.file.{limit}", 2)
    with pytest.raises(LockError, match=r"mine\.lock would have 3 entries in .* nothing was written"):
        write_lock(path, pins)
    assert path.read_bytes() == before
