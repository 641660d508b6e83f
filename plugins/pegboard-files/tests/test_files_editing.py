"""Editing: exactly what was named is replaced, and the diff tells it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard.testing import assert_error, assert_ok
from pegboard_files import _editing as editing
from pegboard_files._schema import Edit


def edit(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"old_text": old, "new_text": new, **more}


async def test_an_edit_replaces_its_text_and_shows_the_diff(root: Path, open_files: Any, opening: str) -> None:
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "a.txt").chmod(0o640)
    files = await open_files(opening=opening)
    result = await files.call("edit_file", {"path": "a.txt", "edits": [edit("two", "2")]})
    diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    data = {"path": "a.txt", "dry_run": False, "replacements": 1, "changed": True, "diff": diff}
    assert_ok(result, text=diff, data=data)
    assert (root / "a.txt").read_text() == "one\n2\nthree\n"
    assert (root / "a.txt").stat().st_mode & 0o777 == 0o640


async def test_a_dry_run_shows_the_diff_and_writes_nothing(root: Path, files: Any) -> None:
    (root / "a.txt").write_text("one\n")
    before = (root / "a.txt").stat()
    result = await files.call("edit_file", {"path": "a.txt", "edits": [edit("one", "two")], "dry_run": True})
    assert "-one\n+two\n" in assert_ok(result).text
    assert (result.data["dry_run"], result.data["changed"]) == (True, True)
    after = (root / "a.txt").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("x = \u200b'a\u202eb'; y\u200b = 1", "'ab'", "'c'", "x = \u200b'c'; y\u200b = 1"),
        ("a\u2028b\nc", "a\nb", "a b", "a b\nc"),
        ("\x1b[31mred\x1b[0m [31m", "red", "blue", "\x1b[31mblue\x1b[0m [31m"),
        ("می\u200cخواهم\u200b", "می\u200cخواهم", "x", "x\u200b"),
    ],
)
async def test_an_edit_finds_its_text_as_it_was_shown(
    root: Path, files: Any, before: str, old: str, new: str, after: str
) -> None:
    (root / "a.txt").write_bytes(before.encode())
    assert_ok(await files.call("edit_file", {"path": "a.txt", "edits": [edit(old, new)]}))
    assert (root / "a.txt").read_bytes() == after.encode()


async def test_an_edit_that_is_shown_twice_changes_nothing(root: Path, files: Any) -> None:
    (root / "a.txt").write_text("a\u200bb a\u200bb", "utf-8")
    refused = assert_error(
        await files.call("edit_file", {"path": "a.txt", "edits": [edit("ab", "c")]}), "INVALID_INPUT"
    )
    assert "2 times" in refused.text
    assert_ok(await files.call("edit_file", {"path": "a.txt", "edits": [edit("ab", "c", replace_all=True)]}))
    assert (root / "a.txt").read_text("utf-8") == "c c"


async def test_an_edit_that_changes_nothing_writes_nothing(root: Path, files: Any) -> None:
    (root / "a.txt").write_text("one\n")
    inode = (root / "a.txt").stat().st_ino
    result = assert_ok(await files.call("edit_file", {"path": "a.txt", "edits": [edit("one", "one")]}))
    assert (result.data["changed"], result.data["diff"]) == (False, "")
    assert (root / "a.txt").stat().st_ino == inode


@pytest.mark.parametrize(
    ("text", "edits", "says"),
    [
        ("one\n", [edit("two", "2")], "edits[0]: old_text does not occur"),
        ("one one\n", [edit("one", "2")], "old_text occurs 2 times, in lines 1, 1"),
        ("aaa", [edit("aa", "b")], "old_text occurs 2 times"),
        ("x\n" * 9, [edit("x", "y")], "occurs 9 times, in lines 1, 2, 3, 4, 5, ..."),
        ("one\n", [edit("", "2")], "old_text is empty"),
        ("one\n", [edit("one", "two"), edit("one", "3")], "edits[1]: old_text does not occur"),
        ("if x:\n    y\n", [edit("if x:\n  y", "z")], "line 1 is like its first line"),
    ],
)
async def test_a_text_that_is_not_the_only_one_changes_nothing(
    root: Path, files: Any, text: str, edits: list[Any], says: str
) -> None:
    (root / "a.txt").write_text(text)
    result = await files.call("edit_file", {"path": "a.txt", "edits": edits})
    assert_error(result, ErrorCode.INVALID_INPUT, says=says)
    assert (root / "a.txt").read_text() == text


async def test_every_occurrence_is_replaced_where_that_is_asked_for(root: Path, files: Any) -> None:
    (root / "a.txt").write_text("x y x\n")
    result = await files.call("edit_file", {"path": "a.txt", "edits": [edit("x", "z", replace_all=True)]})
    assert assert_ok(result).data["replacements"] == 2
    assert (root / "a.txt").read_text() == "z y z\n"


@pytest.mark.parametrize(
    ("encoding", "before", "after"),
    [
        ("utf-8", b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nB\r\nc\r\n"),
        ("utf-8", b"\xef\xbb\xbfa\nb\nc", b"\xef\xbb\xbfa\nB\nB\nc"),
        ("latin-1", b"a\nb\n\xe9", b"a\nB\nB\n\xe9"),
        ("utf-16", "\ufeffa\nb\n".encode("utf-16-be"), "\ufeffa\nB\nB\n".encode("utf-16-be")),
        ("utf-16", "\ufeffa\nb\n".encode("utf-16-le"), "\ufeffa\nB\nB\n".encode("utf-16-le")),
    ],
)
async def test_line_ends_marks_and_encodings_are_kept(
    root: Path, files: Any, encoding: str, before: bytes, after: bytes
) -> None:
    (root / "a.txt").write_bytes(before)
    edits = [edit("a\nb\n", "a\nB\nB\n")]
    assert_ok(await files.call("edit_file", {"path": "a.txt", "edits": edits, "encoding": encoding}))
    assert (root / "a.txt").read_bytes() == after


@pytest.mark.parametrize(
    ("encoding", "data", "edits", "reason"),
    [
        ("utf-8", b"a\xe9", [edit("a", "b")], "encoding"),
        ("utf-8", b"a\0b", [edit("a", "b")], "binary"),
        ("latin-1", b"a", [edit("a", "€")], "encoding"),
        ("iso2022-jp", b"\x1b$B\x1b(Ba", [edit("a", "b")], "encoding"),
    ],
)
async def test_what_would_not_be_kept_is_not_edited(
    root: Path, files: Any, encoding: str, data: bytes, edits: list[Any], reason: str
) -> None:
    (root / "a.txt").write_bytes(data)
    result = await files.call("edit_file", {"path": "a.txt", "edits": edits, "encoding": encoding})
    assert_error(result, ErrorCode.INVALID_INPUT, reason=reason)
    assert (root / "a.txt").read_bytes() == data


async def test_a_file_above_the_cap_is_not_edited_and_none_grows_above_it(root: Path, open_files: Any) -> None:
    files = await open_files(max_write_bytes=10)
    (root / "a.txt").write_text("x" * 11)
    for text, edits in [("x" * 11, [edit("x" * 11, "")]), ("x", [edit("x", "y" * 11)])]:
        (root / "a.txt").write_text(text)
        result = await files.call("edit_file", {"path": "a.txt", "edits": edits})
        assert_error(result, ErrorCode.INVALID_INPUT, reason="too_large")


async def test_edits_at_once_lose_none(root: Path, files: Any) -> None:
    (root / "a.txt").write_text("".join(f"<{number}>\n" for number in range(20)))
    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(files.call, "edit_file", {"path": "a.txt", "edits": [edit(f"<{number}>", f"={number}")]})
    assert (root / "a.txt").read_text() == "".join(f"={number}\n" for number in range(20))


async def test_a_file_that_somebody_else_changed_meanwhile_is_left_to_them(
    root: Path, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a.txt").write_text("one\n")
    apply = editing.apply

    def late(text: str, edits: Sequence[Edit]) -> tuple[str, int]:
        (root / "a.txt").write_text("theirs\n")
        return apply(text, edits)

    monkeypatch.setattr(editing, "apply", late)
    result = await files.call("edit_file", {"path": "a.txt", "edits": [edit("one", "two")]})
    assert_error(result, ErrorCode.CONFLICT, reason="changed")
    assert (root / "a.txt").read_text() == "theirs\n"
    assert len(os.listdir(root)) == 1


async def test_there_is_no_edit_of_nothing_or_of_a_thousand(root: Path, files: Any) -> None:
    (root / "a.txt").write_text("one\n")
    for edits in ([], [edit("one", "one")] * 101, [{"old_text": "one"}], [edit("one", "two", count=1)]):
        result = await files.call("edit_file", {"path": "a.txt", "edits": edits})
        assert_error(result, ErrorCode.INVALID_INPUT)
    for path, code in [("b.txt", ErrorCode.NOT_FOUND), (".", ErrorCode.INVALID_INPUT)]:
        assert_error(await files.call("edit_file", {"path": path, "edits": [edit("a", "b")]}), code)


TEXTS = st.text("ab\n\r", max_size=40)


@given(TEXTS, st.lists(st.builds(Edit, st.text("ab\n", min_size=1, max_size=3), TEXTS, st.booleans()), max_size=3))
def test_what_is_not_replaced_stays_as_it_is(text: str, edits: list[Edit]) -> None:
    """Any edits of any text make it, one after the other, what `str.replace` would, or change nothing and say why."""
    answer: tuple[str, int] | ToolError
    try:
        answer = editing.apply(text, edits)
    except ToolError as error:
        answer = error
    if isinstance(answer, ToolError):
        assert answer.code is ErrorCode.INVALID_INPUT
        assert 0 <= answer.details["edit"] < len(edits)
        return
    expected = text
    is_crlf = "\r\n" in text and text.count("\n") == text.count("\r\n")
    for one in edits:
        old, new = one.old_text, one.new_text
        if is_crlf:
            old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
        assert old in expected
        expected = expected.replace(old, new)
    assert answer[0] == expected


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "a\r\n", "\n", "+\n", "@@ -1 +1 @@\n", "-- x\n"]), max_size=30)


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch here to apply a diff with")
@pytest.mark.parametrize("most", [4000, 0])
def test_a_diff_makes_the_new_text_of_the_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(editing, "MAX_DIFF_LINES", most)
    # patch is slow to start, so a few examples, from far apart
    cases = [
        ("", "a\n"),
        ("a\n", ""),
        ("a", "b"),
        ("a\n", "a"),
        ("a\nb\nc\nd\ne\nf\ng\nh\n" * 3, "a\nb\nc\nd\ne\nf\ng\nX\n" * 3),
        ("x\n" * 50 + "old\n" + "x\n" * 50, "x\n" * 50 + "new\n" + "x\n" * 50),
        ("@@ -1 +1 @@\n-a\n" * 4, "@@ -1 +1 @@\n+a\n" * 4),
    ]
    for before, after in cases:
        file = tmp_path / "f"
        file.write_text(before)
        diff = editing.unified(before, after, "f")
        ran = subprocess.run(["patch", "-s", "-p1", "-d", str(tmp_path)], input=diff, text=True, capture_output=True)
        assert ran.returncode == 0, (before, after, diff, ran.stdout)
        assert (file.read_text() if file.exists() else "") == after


@given(LINES, LINES, st.sampled_from([4000, 3]))
def test_a_diff_holds_all_old_and_all_new_lines_that_changed(old: list[str], new: list[str], most: int) -> None:
    """Taking the removed lines out of the old text and the added out of the new leaves the same text."""
    before, after = "".join(old), "".join(new)
    was, editing.MAX_DIFF_LINES = editing.MAX_DIFF_LINES, most
    try:
        diff = editing.unified(before, after, "x")
    finally:
        editing.MAX_DIFF_LINES = was
    assert (diff == "") is (before == after)
    body = diff.split("\n")[2:]
    removed = sum(line.startswith("-") for line in body)
    added = sum(line.startswith("+") for line in body)
    assert added - removed == len(new) - len(old)
    assert diff.endswith("\n") or diff == ""


def test_a_diff_of_a_large_text_takes_no_time(in_time: Any) -> None:
    before = "".join(f"line {number % 7}\n" for number in range(200_000))
    after = before.replace("line 3", "line three")
    with in_time():
        assert editing.unified(before, after, "x").count("\n+line three") > 20_000
