"""What is kept for a person is theirs alone, whatever the umask is, and whatever was there before."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pegboard.config import keep_private, open_private, private_folder, write_private

for needed in ("pegboard_mcp", "pegboard_chat", "pegboard_tasks", "pegboard_memory"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")

UMASKS = [0o000, 0o022, 0o077, 0o277]


@pytest.fixture(params=UMASKS, ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def wide(folder: Path) -> list[str]:
    """What others can look into."""
    return [f"{mode_of(one):o} {one}" for one in folder.rglob("*") if mode_of(one) & 0o077 and not one.is_symlink()]


@pytest.mark.parametrize("there", [None, 0o644, 0o666, 0o600])
def test_files_are_private_whatever_was_there(tmp_path: Path, umask: int, there: int | None) -> None:
    folder = private_folder(tmp_path / "a" / "b")
    for name in ("appended", "replaced", "kept"):
        if there is not None:
            (folder / name).write_text("before")
            (folder / name).chmod(there)
    os.close(open_private(folder / "appended", os.O_WRONLY | os.O_APPEND, is_own=True))
    write_private(folder / "replaced", b"now")
    assert [mode_of(folder / name) & 0o177 for name in ("appended", "replaced")] == [0, 0]
    assert (folder / "replaced").read_bytes() == b"now"
    if there is not None:
        keep_private(folder / "kept", is_own=True)
        assert (folder / "appended").read_text() == "before"
    assert [mode_of(one) for one in (folder, folder.parent)] == [0o700, 0o700]
    assert wide(tmp_path) == []
    assert os.umask(umask) == umask


def test_a_folder_that_is_there_is_narrowed_and_its_parents_are_not(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir(0o755)
    folder = tmp_path / "shared" / "own"
    folder.mkdir(0o755)
    private_folder(folder)
    assert (mode_of(folder), mode_of(folder.parent)) == (0o700, 0o755)


def test_a_file_that_somebody_else_may_share_is_spoken_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "tasks.db"
    keep_private(file, is_own=False)
    file.touch(0o644)
    keep_private(file, is_own=False)
    assert mode_of(file) == 0o644
    assert [record.name for record in caplog.records] == ["pegboard.notice"]
    assert f"chmod 600 '{file}'" in caplog.text


NOT_OURS = {
    "audit_db": ('[plugins.audit_db]\nfile = "{}"\n', ("call", "--user", "ada", "echo", "message=x")),
    "audit": ("", ("--log-json", "{}", "call", "--user", "ada", "echo", "message=x")),
    "tasks": ('[plugins.tasks]\nurl = "sqlite:///{}"\n', ("call", "--user", "ada", "add_task", "title=x")),
    "memory": ('[plugins.memory]\nurl = "sqlite:///{}"\n', ("call", "--user", "ada", "remember", "text=x")),
    "chat": ("", ("chat", "--model", "echo", "--save", "{}", "hello")),
    "record": ("", ("call", "--user", "ada", "--record", "{}", "echo", "message=x")),
}


@pytest.mark.parametrize("written", NOT_OURS)
def test_a_file_that_a_person_names_and_that_is_not_ours_keeps_its_mode(
    tmp_path: Path, run_program: Callable[..., Any], written: str
) -> None:
    """Root who names the wrong file, `/etc/passwd`, must not lock everybody else out of it."""
    other, config = tmp_path / "passwd", tmp_path / "pegboard.toml"
    other.write_text("root:x:0:0:root:/root:/bin/sh\n")
    other.chmod(0o644)
    settings, words = NOT_OURS[written]
    config.write_text(settings.format(other))
    folders = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("CONFIG", "STATE", "CACHE", "DATA")}
    environment = {**os.environ, **folders, "HOME": str(tmp_path)}
    words = tuple(word.format(other) for word in words)
    done = run_program("--config", str(config), *words, cwd=tmp_path, env=environment)
    assert mode_of(other) == 0o644, done.stderr
    assert other.read_text().startswith("root:x:0:0:"), done.stderr


def test_devices_stay_as_they_are() -> None:
    before = mode_of(Path("/dev/null"))
    os.close(open_private(Path("/dev/null"), os.O_WRONLY))
    keep_private(Path("/dev/null"), is_own=True)
    assert mode_of(Path("/dev/null")) == before


def test_a_file_that_cannot_be_replaced_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_private(tmp_path / "folder", b"x")
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]


SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {}
        if message["method"] == "initialize":
            info = {"name": "u", "version": "1"}
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
        elif message["method"] == "tools/list":
            result = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.mark.parametrize("umask", [0o000, 0o022], indirect=True, ids=oct)
def test_nothing_that_the_program_keeps_is_for_others(
    tmp_path: Path, umask: int, run_program: Callable[..., Any]
) -> None:
    """Audit, saved chats, cached lists, trust, both databases and what lies beside them, and their folders."""
    (tmp_path / "server.py").write_text(SERVER)
    config = tmp_path / "pegboard.toml"
    server = {"command": sys.executable, "args": [str(tmp_path / "server.py")], "start": "eager"}
    config.write_text("[plugins.mcp.servers.up]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in server.items()))
    home = tmp_path / "home"
    home.mkdir(0o700)
    (home / "calls.jsonl").touch(0o666)
    xdg = {f"XDG_{kind}_HOME": str(home / kind.lower() / "deep") for kind in ("CONFIG", "STATE", "CACHE", "DATA")}
    environment = {**os.environ, **xdg, "HOME": str(home)}

    def run(*arguments: str) -> None:
        done = run_program(*arguments, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr

    named = ("--config", str(config), "--log-json", str(home / "calls.jsonl"))
    run(*named, "call", "--user", "ada", "add_task", "title=x")
    run(*named, "call", "--user", "ada", "remember", "text=x")
    run(*named, "list")
    run("trust")
    chat = ("chat", "--model", "echo", "--save", str(home / "chat.json"))
    run(*named, *chat, "hello")
    (home / "chat.json").chmod(0o666)
    run(*named, *chat, "hello again")
    kept = {one.name for one in home.rglob("*")}
    assert {"calls.jsonl", "chat.json", "tasks.db", "memory.db"} <= kept
    assert (home / "calls.jsonl").stat().st_size > 0
    assert wide(home) == []
