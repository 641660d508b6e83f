"""Several programs that write the same file: what was acknowledged is there."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pegboard import ErrorCode
from pegboard.testing import assert_error, assert_ok
from pegboard_files import _editing as editing
from pegboard_files import _writing as writing

EDITS = 60
PROGRAM = """
import json, sys
import trio
from pegboard import open_host
from pegboard_files.plugin import FilesPlugin

async def main():
    root, mine, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    done = []
    async with open_host({"plugins": {"files": {"roots": [root]}}}, plugins=[FilesPlugin()]) as host:
        session = host.session()
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(count):
            line = f"{mine}-{number}"
            edits = [{"old_text": "END", "new_text": f"{line}\\nEND"}]
            result = await session.call("edit_file", {"path": "log.txt", "edits": edits})
            if result.error is None:
                done.append(line)
            elif result.error.code.value != "CONFLICT":
                raise SystemExit(repr(result))
    print(json.dumps(done), flush=True)

trio.run(main)
"""
HOLDER = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(fd, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.readline()
"""


def start(program: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_no_acknowledged_edit_of_three_programs_is_lost(root: Path) -> None:
    (root / "log.txt").write_text("END\n")
    processes = [start(PROGRAM, str(root), name, str(EDITS)) for name in "abc"]
    try:
        assert [line_of(process) for process in processes] == ["ready"] * 3
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        acknowledged = [line for process in processes for line in json.loads(line_of(process))]
    finally:
        for process in processes:
            process.communicate(timeout=60)
    lines = (root / "log.txt").read_text().splitlines()
    assert lines[-1] == "END"
    assert sorted(lines[:-1]) == sorted(acknowledged)
    assert len(acknowledged) > 2 * EDITS  # they wait for each other: a conflict is told where one waited too long
    assert os.listdir(root) == ["log.txt"]


@pytest.mark.parametrize("tool", ["edit_file", "write_file"])
async def test_who_holds_a_folder_for_ever_is_a_conflict_and_a_killed_one_holds_nothing(
    root: Path, files: Any, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "LOCK_S", 0.05)
    (root / "a.txt").write_text("one\n")
    arguments = {
        "edit_file": {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "two"}]},
        "write_file": {"path": "a.txt", "content": "two\n"},
    }[tool]
    with start(HOLDER, str(root)) as holder:
        assert line_of(holder) == "held"
        assert_error(
            await files.call(tool, arguments), ErrorCode.CONFLICT, reason="busy", says="'a.txt' was not written"
        )
        assert (root / "a.txt").read_text() == "one\n"
        assert_ok(await files.call("read_file", {"path": "a.txt"}))
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert_ok(await files.call(tool, arguments))
    assert (root / "a.txt").read_text() == "two\n"


async def test_where_a_folder_cannot_be_locked_it_is_written_all_the_same(
    root: Path, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: Any) -> None:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(fcntl, "flock", cannot)
    assert_ok(await files.call("write_file", {"path": "a.txt", "content": "one\n"}))
    assert (root / "a.txt").read_text() == "one\n"


async def test_a_change_of_the_same_size_at_the_same_moment_is_seen(
    root: Path, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of a file moves every few milliseconds: a stat alone would not tell."""
    (root / "a.txt").write_text("one\n")
    apply, stat = editing.apply, os.stat
    before = (root / "a.txt").stat()

    def late(*arguments: Any) -> Any:
        (root / "a.txt").write_text("eno\n")
        monkeypatch.setattr(os, "stat", lambda *a, **k: before if a[0] == "a.txt" else stat(*a, **k))
        return apply(*arguments)

    monkeypatch.setattr(editing, "apply", late)
    result = await files.call("edit_file", {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "two"}]})
    monkeypatch.undo()
    assert_error(result, ErrorCode.CONFLICT, reason="changed")
    assert (root / "a.txt").read_text() == "eno\n"
