"""Writing: the new content whole, or the old one."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from pegboard import ErrorCode, ToolError
from pegboard.testing import assert_error, assert_ok
from pegboard_files import _writing as writing
from pegboard_files._names import parse
from pegboard_files._opening import Walk
from pegboard_files._places import Root, Scope
from pegboard_files._rules import Rules


@pytest.fixture
def scope(root: Path) -> Iterator[Scope]:
    made = Scope("write_file", (Root(str(root), Walk()),), Rules(), writable=True)
    yield made
    made.roots[0].close()


def left_over(folder: Path) -> list[str]:
    return [one.name for one in folder.rglob(".pegboard-*")]


def nobody_waits_less() -> None:
    """The check of a call that is not cancelled."""


@pytest.mark.parametrize("content", ["", "one\n", "a\r\nb\rc\n", "é 😀\n", "\ufeffmarked", "\0", "x" * 900_000])
async def test_content_is_written_as_it_is(root: Path, open_files: Any, opening: str, content: str) -> None:
    files = await open_files(opening=opening)
    result = await files.call("write_file", {"path": "a.txt", "content": content})
    data = {"path": "a.txt", "bytes": len(content.encode()), "created": True}
    assert_ok(result, text="Written to a.txt", data=data)
    assert (root / "a.txt").read_bytes() == content.encode()
    again = assert_ok(await files.call("write_file", {"path": f"{root}/a.txt", "content": "other"}))
    assert (again.text, again.data["created"]) == (f"Written to {root}/a.txt", False)
    assert (root / "a.txt").read_text() == "other"
    assert left_over(root) == []


async def test_missing_folders_are_made_only_where_that_is_asked_for(root: Path, open_files: Any, opening: str) -> None:
    files = await open_files(opening=opening)
    call = {"path": "a/b/c.txt", "content": "x"}
    result = await files.call("write_file", call)
    assert_error(result, ErrorCode.NOT_FOUND, reason="missing", says="create_dirs=true")
    assert not (root / "a").exists()
    assert_ok(await files.call("write_file", call | {"create_dirs": True}))
    assert_ok(await files.call("write_file", {"path": "a/d.txt", "content": "x", "create_dirs": True}))
    assert sorted(str(one.relative_to(root)) for one in root.rglob("*")) == ["a", "a/b", "a/b/c.txt", "a/d.txt"]


@pytest.mark.parametrize("path", [".", "folder", "new/", "folder/"])
async def test_a_folder_is_not_written_over(root: Path, files: Any, path: str) -> None:
    (root / "folder").mkdir()
    result = await files.call("write_file", {"path": path, "content": "x"})
    assert_error(result, ErrorCode.INVALID_INPUT, reason="folder")
    assert [one.name for one in root.iterdir()] == ["folder"]


async def test_a_file_is_not_a_folder_on_the_way(root: Path, open_files: Any, opening: str) -> None:
    (root / "file").write_text("x")
    files = await open_files(opening=opening)
    result = await files.call("write_file", {"path": "file/below.txt", "content": "x", "create_dirs": True})
    assert_error(result, ErrorCode.NOT_FOUND, reason="missing")


async def test_half_of_a_character_is_refused(root: Path, files: Any) -> None:
    result = await files.call("write_file", {"path": "a", "content": "ab\ud83d"})
    assert_error(result, ErrorCode.INVALID_INPUT, says="got a string with half a surrogate pair")
    assert list(root.iterdir()) == []


async def test_content_above_the_cap_is_refused(root: Path, open_files: Any) -> None:
    files = await open_files(max_write_bytes=10)
    result = await files.call("write_file", {"path": "a", "content": "é" * 6})
    assert_error(result, ErrorCode.INVALID_INPUT, reason="too_large", says="12 bytes, at most 10")


async def test_the_mode_is_kept_and_that_of_a_new_file_is_the_systems(root: Path, files: Any) -> None:
    (root / "script").write_text("old")
    (root / "script").chmod(0o4751)
    umask = os.umask(0o027)
    try:
        assert_ok(await files.call("write_file", {"path": "script", "content": "new"}))
        assert_ok(await files.call("write_file", {"path": "fresh", "content": "new"}))
    finally:
        os.umask(umask)
    assert (root / "script").stat().st_mode & 0o7777 == 0o751, "no more set-user-id"
    assert (root / "fresh").stat().st_mode & 0o7777 == 0o640


@pytest.fixture
def given_away(root: Path) -> Path:
    """A file of somebody else's."""
    (root / "a").write_text("old")
    try:
        os.chown(root / "a", 12345, 23456)
    except PermissionError:
        pytest.skip("this account may not give files away")
    return root


async def test_the_owner_is_kept(given_away: Path, files: Any) -> None:
    root = given_away
    assert_ok(await files.call("write_file", {"path": "a", "content": "new"}))
    assert ((root / "a").stat().st_uid, (root / "a").stat().st_gid) == (12345, 23456)


def test_another_group_gets_none_of_the_rights_of_the_old(
    root: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("old")
    (root / "a").chmod(0o664)
    before = (root / "a").stat()
    foreign = os.stat_result([*before[:5], before.st_gid + 1, *before[6:10]])

    def refuse(*arguments: object) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(os, "fchown", refuse)
    fd = os.open(root / "a", os.O_WRONLY)
    try:
        writing._keep(fd, foreign)
    finally:
        os.close(fd)
    assert (root / "a").stat().st_mode & 0o777 == 0o604


async def test_a_hard_link_keeps_the_old_content(root: Path, files: Any) -> None:
    (root / "a").write_text("old")
    os.link(root / "a", root / "b")
    assert_ok(await files.call("write_file", {"path": "a", "content": "new"}))
    assert ((root / "a").read_text(), (root / "b").read_text()) == ("new", "old")


def test_a_file_that_may_not_be_written_is_not_replaced(
    root: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("old")
    monkeypatch.setattr(os, "access", lambda *arguments, **more: False)  # for root every file is open
    with pytest.raises(ToolError) as caught, writing.place_of(scope, parse("a")):
        pass
    assert (caught.value.code, caught.value.details["reason"]) == (ErrorCode.FORBIDDEN, "permission")


async def test_a_cancelled_write_leaves_the_old_content(
    root: Path, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("old")
    began, go_on = trio.Event(), threading.Event()
    fsync = os.fsync

    def slow(fd: int) -> None:
        trio.from_thread.run_sync(began.set)
        go_on.wait()
        fsync(fd)

    monkeypatch.setattr(os, "fsync", slow)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(files.call, "write_file", {"path": "a", "content": "new"})
        await began.wait()
        nursery.cancel_scope.cancel()
        go_on.set()
    assert (root / "a").read_text() == "old"
    assert left_over(root) == []


@pytest.mark.parametrize(
    ("code", "answer", "reason"),
    [
        (errno.ENOSPC, ErrorCode.UPSTREAM_ERROR, "full"),
        (errno.EDQUOT, ErrorCode.UPSTREAM_ERROR, "full"),
        (errno.EIO, ErrorCode.UPSTREAM_ERROR, "io"),
        (errno.EROFS, ErrorCode.FORBIDDEN, "permission"),
    ],
)
async def test_what_the_disk_refuses_leaves_the_old_content(
    root: Path, files: Any, monkeypatch: pytest.MonkeyPatch, code: int, answer: ErrorCode, reason: str
) -> None:
    (root / "a").write_text("old")

    def refuse(*arguments: object) -> int:
        raise OSError(code, "the driver's words")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", refuse)
        result = await files.call("write_file", {"path": "a", "content": "new"})
    assert_error(result, answer, reason=reason)
    assert "driver" not in str(result.to_json())
    assert (root / "a").read_text() == "old"
    assert left_over(root) == []


def test_a_folder_that_cannot_be_synced_is_said_where_the_disk_failed(
    root: Path, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync
    says = errno.EIO

    def refuse(fd: int) -> None:
        if Path(f"/dev/fd/{fd}").is_dir():
            raise OSError(says, "the driver's words")
        fsync(fd)

    monkeypatch.setattr(os, "fsync", refuse)
    with writing.place_of(scope, parse("a")) as place:
        with pytest.raises(ToolError) as caught:
            writing.replace(place, b"new", nobody_waits_less)
        says = errno.EINVAL  # a file system without
        writing.replace(place, b"newer", nobody_waits_less)
    assert caught.value.code is ErrorCode.OUTCOME_UNKNOWN
    assert (root / "a").read_bytes() == b"newer"


def test_a_folder_that_was_deleted_meanwhile_takes_no_file(root: Path, scope: Scope) -> None:
    (root / "sub").mkdir()
    asked = parse("sub/a")
    with writing.place_of(scope, asked) as place:
        (root / "sub").rmdir()
        with pytest.raises(ToolError) as caught:
            writing.still_there(scope, asked, place)
    assert caught.value.code is ErrorCode.CONFLICT


def test_a_folder_that_left_the_root_meanwhile_takes_no_file(root: Path, opening: str) -> None:
    from pegboard_files._opening import Openat2

    if opening == "walk":
        pytest.skip("where a folder lies now is asked of /proc")
    scope = Scope("write_file", (Root(str(root), Openat2()),), Rules(), writable=True)
    (root / "sub").mkdir()
    asked = parse("sub/a")
    with writing.place_of(scope, asked) as place:
        (root / "sub").rename(root.parent / "outside" / "sub")
        with pytest.raises(OSError) as caught:
            writing.replace(place, b"x", nobody_waits_less, lambda: writing.still_there(scope, asked, place))
    scope.roots[0].close()
    assert caught.value.errno == errno.EXDEV
    assert list((root.parent / "outside" / "sub").iterdir()) == []


async def test_a_root_that_was_deleted_and_made_again_is_used_again(root: Path, files: Any) -> None:
    assert_ok(await files.call("write_file", {"path": "a", "content": "x"}))
    (root / "a").unlink()
    root.rmdir()
    assert_error(await files.call("write_file", {"path": "a", "content": "x"}), ErrorCode.NOT_FOUND)
    root.mkdir()
    assert_ok(await files.call("write_file", {"path": "a", "content": "x"}))
    assert (root / "a").read_text() == "x"


# -- what ends a process


WRITER = """
import sys
from pegboard_files._names import parse
from pegboard_files._opening import best_opening
from pegboard_files._places import Root, Scope
from pegboard_files._rules import Rules
from pegboard_files._writing import place_of, replace

scope = Scope("write_file", (Root(sys.argv[1]),), Rules(), True)
size = int(sys.argv[2])
number = 0
while True:
    number += 1
    with place_of(scope, parse("a")) as place:
        replace(place, bytes([65 + number % 2]) * size, lambda: None)
    print(number, flush=True)
"""


def test_after_a_kill_the_old_content_is_there_or_the_new(root: Path) -> None:
    size = 3_000_000
    whole = {b"A" * size, b"B" * size}
    for kill in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(root), str(size)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        for _ in range(kill + 1):  # a different number of writes each time
            assert process.stdout.readline(), process.communicate()[1]
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert (root / "a").read_bytes() in whole


FULL = """
import sys
import trio
from pegboard import open_host
from pegboard_files.plugin import FilesPlugin

async def main():
    async with open_host({"plugins": {"files": {"roots": [sys.argv[1]]}}}, [FilesPlugin()]) as host:
        result = await host.session().call("write_file", {"path": "a", "content": "x" * 500_000})
        print(result.error.code, result.error.details["reason"])

trio.run(main)
"""


def test_above_a_limit_on_file_sizes_the_old_content_is_there(root: Path) -> None:
    (root / "a").write_text("old")
    process = subprocess.run(
        [sys.executable, "-c", FULL, str(root)],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    assert process.stdout.split() == ["UPSTREAM_ERROR", "full"], process.stderr
    assert [(one.name, one.read_text()) for one in root.iterdir()] == [("a", "old")]


def test_on_a_full_disk_the_old_content_is_there(root: Path) -> None:
    script = textwrap.dedent(
        """
        mount -t tmpfs -o size=100k none "$1" || exit 77
        echo old > "$1/a"
        "$2" -c "$3" "$1" && cat "$1/a" && ls -A "$1"
        """
    )
    command = ["unshare", "-m", "sh", "-c", script, "sh", str(root), sys.executable, FULL]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("there is no unshare here to make a small disk with")
    if process.returncode in (1, 77):
        pytest.skip("a small disk cannot be mounted here")
    assert process.stdout.split() == ["UPSTREAM_ERROR", "full", "old", "a"], process.stderr
