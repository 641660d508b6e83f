from __future__ import annotations

import codecs
import gc
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports import ANSWER_TOO_LONG, _process, _reaper, open_link, stdio
from pegboard_mcp.definitions import ServerDefinition

SERVERS = Path(__file__).parent / "servers"
PYTHON = (sys.executable, "-S", "-E")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX's")


class Told:
    """What a link told, in order."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def __call__(self) -> None:
        self.words.append("gone")


def define(mode: str, folder: Path | None = None, **fields: Any) -> ServerDefinition:
    argv = (*PYTHON, str(SERVERS / "pipes.py"), mode, *([str(folder)] if folder is not None else []))
    return ServerDefinition(**{"name": "one", "transport": "stdio", "argv": argv, **fields})


def command(*argv: str, **fields: Any) -> ServerDefinition:
    return ServerDefinition(name="one", transport="stdio", argv=argv, **fields)


def request(number: int, **params: Any) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method="echo", params=params))


async def ask(link: Any, number: int = 1, **params: Any) -> Any:
    """Send a request and give its answer."""
    await link.write.send(request(number, **params))
    message = (await link.read.receive()).message
    assert message.id == number
    return message.result if isinstance(message, JSONRPCResponse) else message


@asynccontextmanager
async def opened(definition: ServerDefinition, told: Callable[[], None] | None = None) -> AsyncIterator[Any]:
    with trio.fail_after(20):
        async with open_link(definition, told or Told()) as link:
            yield link


async def until(holds: Callable[[], Any], within_s: float = 60) -> None:
    with trio.fail_after(within_s):
        while not holds():
            await trio.sleep(0.005)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # In a container nobody may reap what lost its parent: that is dead all the same.
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_process, "GRACE_S", 0.3)


async def fault_of(definition: ServerDefinition) -> LinkError:
    with pytest.raises(LinkError) as caught:
        async with opened(definition):
            pass
    return caught.value


async def test_messages_go_there_and_back() -> None:
    async with opened(define("echo")) as link:
        assert await ask(link, 1, text="grüße\n") == {"echo": {"text": "grüße\n"}}
        assert await ask(link, 2, big="x" * 300_000) == {"echo": {"big": "x" * 300_000}}
        assert link.pid
        assert alive(link.pid)
    assert not alive(link.pid)


async def test_many_requests_at_once_are_whole_lines() -> None:
    async with opened(define("echo")) as link, trio.open_nursery() as nursery:
        for number in range(40):
            nursery.start_soon(link.write.send, request(number, text=str(number) * 20_000))
        answers = [(await link.read.receive()).message for _ in range(40)]
    assert {one.id: one.result["echo"]["text"] for one in answers} == {n: str(n) * 20_000 for n in range(40)}


async def test_a_missing_command_is_told_from_a_missing_folder(tmp_path: Path) -> None:
    missing = await fault_of(command("no-such-command-here"))
    assert (missing.kind, missing.why) == ("missing_command", "the command 'no-such-command-here' does not exist")
    folder = await fault_of(command("cat", cwd=str(tmp_path / "nowhere")))
    assert folder.kind == "missing_folder"
    assert "nowhere" in folder.why
    both = await fault_of(command("no-such-command-here", cwd=str(tmp_path / "nowhere")))
    assert both.kind == "missing_folder"


async def test_the_fix_for_a_missing_launcher_names_what_brings_it(tmp_path: Path) -> None:
    fault = await fault_of(command("npx", "-y", "x", env={"PATH": str(tmp_path)}))
    assert fault.fix.startswith("Install Node.js")
    assert (await fault_of(command("uvx", "x", env={"PATH": str(tmp_path)}))).fix.startswith("Install uv")


async def test_what_is_not_executable_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text("#!/bin/sh\n")
    assert (await fault_of(command(str(script)))).kind == "not_executable"
    assert (await fault_of(command("server", env={"PATH": str(tmp_path)}))).kind == "not_executable"
    assert (await fault_of(command(str(tmp_path)))).kind == "not_executable"
    assert (await fault_of(command("./server", cwd=str(tmp_path)))).kind == "not_executable"


async def test_an_interpreter_that_is_missing_is_named(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text("#!/nowhere/python\n")
    script.chmod(0o755)
    async with opened(command(str(script))) as link:
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert link.why().kind == "missing_command"
        assert "#!" in link.why().fix


@pytest.mark.parametrize("name", ["FINE", "npm_config_//registry.example/:_authToken"])
async def test_an_exit_at_start_tells_status_and_last_words_without_secrets(name: str) -> None:
    told = Told()
    definition = define("exit", secrets=("hunter2-token",), env={name: "x"})
    async with opened(definition, told) as link:
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        fault = link.why()
    assert told.words == ["gone"]
    assert fault.kind == "exited"
    assert fault.why == (
        "it exited with status 3, before it said anything; its last words: reading the configuration | KeyError: '***'"
    )
    assert "terminal" in fault.fix


@pytest.mark.parametrize(
    ("last", "fix"),
    [
        ("ImportError: cannot import name 'Server' from 'mcp.server'", "uvx --with 'mcp<2' PACKAGE"),
        ("ModuleNotFoundError: No module named 'mcp.types'", "uvx --with 'mcp<2' PACKAGE"),
        ("AttributeError: 'Server' object has no attribute 'list_tools'", "uvx --with 'mcp<2' PACKAGE"),
        ("AttributeError: 'Shelf' object has no attribute 'list_tools'", "terminal"),
        ("ImportError: cannot import name 'Server' from 'other.server'", "pin one that does"),
        ("ModuleNotFoundError: No module named 'other.types'", "pin one that does"),
        ("SyntaxError: The requested module './a.js' does not provide an export named 'b'", "pin one that does"),
        ("ModuleNotFoundError: No module named 'helper'", "terminal"),  # a folder may be missing
    ],
)
async def test_a_package_that_does_not_fit_another_is_told_from_one_that_is_missing(last: str, fix: str) -> None:
    async with opened(command("sh", "-c", 'echo "$1" >&2; exit 1', "sh", last)) as link:
        await link.gone.wait()
        assert fix in (await link.explain()).fix


async def test_lines_that_point_at_a_place_are_no_last_words() -> None:
    said = "one\n  x = y\n  ~~^^~~\n" * 3 + "ValueError: no\n    ^^^^^\n"
    async with opened(command("sh", "-c", 'printf "$1" >&2; exit 1', "sh", said)) as link:
        await link.gone.wait()
        why = (await link.explain()).why
    assert "^" not in why
    assert why.endswith("one | x = y | one | x = y | ValueError: no")


PYTHON_SAYS = """reading the settings
Traceback (most recent call last):
  File "/a/server.py", line 3, in <module>
    from .server import serve
ImportError: cannot import name 'McpError' from 'mcp.shared.exceptions'
"""
NODE_SAYS = """node:internal/modules/esm/resolve:283
    throw new ERR_MODULE_NOT_FOUND(
          ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/a/x.mjs' imported from /a/y.mjs
    at finalizeResolution (node:internal/modules/esm/resolve:283:11)
    at ModuleLoader.import (node:internal/modules/esm/loader:605:34) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v20.20.2
"""


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (PYTHON_SAYS, "reading the settings | ImportError: cannot import name 'McpError' from 'mcp.shared.exceptions'"),
        (NODE_SAYS, "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/a/x.mjs' imported from /a/y.mjs"),
        ('  File "/a/b.py", line 3\n', 'File "/a/b.py", line 3'),
        ("usage: server [-h]\n  --token TOKEN\n", "usage: server [-h] | --token TOKEN"),
    ],
)
async def test_the_last_words_say_what_was_wrong_and_not_where(said: str, words: str) -> None:
    async with opened(command("sh", "-c", 'printf "%s" "$1" >&2; exit 1', "sh", said)) as link:
        await link.gone.wait()
        assert (await link.explain()).why.endswith(f"its last words: {words}")


async def test_stderr_goes_to_the_log_of_the_server_masked(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pegboard.mcp.server")
    async with opened(define("exit", secrets=("hunter2-token",))) as link:
        await link.gone.wait()
        await link.explain()
    lines = [(one.name, one.getMessage()) for one in caplog.records]
    assert ("pegboard.mcp.server.one", "KeyError: '***'") in lines
    assert "hunter2-token" not in caplog.text


async def test_what_looks_like_a_secret_on_stderr_is_hidden_though_nobody_configured_it() -> None:
    async with opened(command("sh", "-c", "echo no access with password=hunter2hunter2 >&2; exit 1")) as link:
        await link.gone.wait()
        why = (await link.explain()).why
    assert "no access with password=***" in why
    assert "hunter2hunter2" not in why


async def test_of_a_flood_on_stderr_only_the_tail_is_kept() -> None:
    script = "for i in $(seq 400); do echo line $i >&2; done; head -c 200000 /dev/zero | tr '\\0' y >&2; echo end >&2"
    async with opened(command("sh", "-c", script)) as link:
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert len(link.tail) <= stdio.STDERR_LINES
        assert sum(map(len, link.tail)) <= stdio.STDERR_LINES * stdio.STDERR_LINE_BYTES


async def test_of_a_flood_on_stderr_some_lines_are_logged_and_all_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pegboard.mcp.server")
    script = "import sys; sys.stderr.write(''.join(f'line {n} {100 * chr(120)}\\n' for n in range(60_000)))"
    async with opened(command(*PYTHON, "-c", script)) as link:
        await link.gone.wait()
        await until(link.explanation.is_set)
        assert link.tail[-1].startswith("line 59999 ")
        assert len(link.tail) == stdio.STDERR_LINES
    said = [one.getMessage() for one in caplog.records]
    counts = [int(line.split()[0]) for line in said if line.endswith("more lines were not logged")]
    assert len(said) - len(counts) + sum(counts) == 60_000
    assert len(said) < 6_000


async def test_the_count_of_a_flood_is_told_while_the_server_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pegboard.mcp.server")
    script = "import sys; sys.stderr.write(1_000 * 'word\\n'); sys.stderr.flush(); sys.stdin.read()"
    async with opened(command(*PYTHON, "-c", script)):
        await until(lambda: "more lines were not logged" in caplog.text)


async def test_nothing_is_made_fit_for_a_log_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    masked: list[str] = []
    monkeypatch.setattr(ServerDefinition, "mask_words", lambda self, text: masked.append(text) or text)
    script = "import sys; sys.stderr.write(5_000 * 'word\\n'); print(5_000 * 'no message\\n')"
    async with opened(command(*PYTHON, "-c", script)) as link:
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        await until(link.explanation.is_set)
    assert len(masked) < 2 * stdio.STDERR_LINES


async def test_a_silent_server_is_named_so(hurried: None) -> None:
    async with opened(define("silent", connect_s=7)) as link:
        await link.write.send(request(1))
        with trio.move_on_after(0.2):
            await link.read.receive()
        fault = await link.explain()
    assert fault.kind == "silent"
    assert "7 s" in fault.fix


async def test_a_server_that_only_speaks_garbage_is_given_up_and_named(hurried: None) -> None:
    told = Told()
    async with opened(define("garbage", secrets=("hunter2-token",)), told) as link:
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        fault = link.why()
    assert told.words == ["gone"]
    assert fault.kind == "garbage"
    assert "'<html>***'" in fault.why


async def test_what_a_program_said_before_it_ended_is_told_though_nobody_had_read_it() -> None:
    gone = trio.Event()
    async with open_link(command(*PYTHON, "-c", "print('Hello!')"), gone.set) as link:
        with trio.fail_after(20):
            await gone.wait()
        why = await link.explain()
    assert why.why == "it speaks no MCP; the first it said: 'Hello!', then exited with status 0"


async def test_a_line_of_garbage_before_each_answer_is_tolerated(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "pegboard.mcp.server")
    async with opened(define("chatty")) as link:
        assert await ask(link, 1, a=1) == {"echo": {"a": 1}}
        assert await ask(link, 2, a=2) == {"echo": {"a": 2}}
        assert link.why().kind == "timeout"
    assert "Listening on port 3000..." in caplog.text


async def test_bytes_that_are_no_utf8_are_replaced() -> None:
    async with opened(define("bytes")) as link:
        assert await ask(link, 1) == {"text": "a\ufffd\ufffdb"}
        assert await ask(link, 2) == {"text": "a\ufffd\ufffdb"}


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
async def test_other_encodings_go_both_ways(encoding: str) -> None:
    async with opened(define(encoding, encoding=encoding)) as link:
        for number, text in enumerate(["grüße", "zwei\nzeilen", "é" * 5_000]):
            assert await ask(link, number, text=text) == {"echo": {"text": text}}
        # latin-1 has neither: JSON escapes them, both ways
        assert await ask(link, 9, text="€ 😀") == {"echo": {"text": "€ 😀"}}


async def test_half_a_surrogate_pair_can_be_sent(tmp_path: Path) -> None:
    (tmp_path / "hear").touch()
    async with opened(define("deaf", tmp_path)) as link:  # it only counts the lines that are JSON
        assert await ask(link, 1, text="\ud83d") == {"heard": 1}


@pytest.mark.parametrize("where", ["first", "last"])
async def test_an_answer_over_the_limit_fails_its_own_request_alone(where: str) -> None:
    async with opened(define("huge", max_message_bytes=100_000)) as link:
        error = await ask(link, 1, size=500_000, id=where)
        assert isinstance(error, JSONRPCError)
        assert error.error.code == ANSWER_TOO_LONG
        assert "100,000 bytes" in error.error.message
        assert await ask(link, 2, small=1) == {"echo": {"small": 1}}
        assert not link.gone.is_set()


async def test_a_long_answer_whose_id_is_not_found_ends_the_link() -> None:
    told = Told()
    async with opened(define("huge", max_message_bytes=100_000), told) as link:
        await link.write.send(request(1, size=500_000, id="nowhere"))
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert told.words == ["gone"]
        assert link.why().kind == "oversized"
        assert "100,000 bytes" in link.why().why
        assert "max_message_bytes" in link.why().fix


async def test_a_line_that_never_ends_ends_the_link(hurried: None) -> None:
    async with opened(define("endless", max_message_bytes=100_000)) as link:
        await link.write.send(request(1))
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert link.why().kind == "oversized"


async def test_a_line_of_20_mb_is_read_in_linear_time() -> None:
    async with opened(define("huge", max_message_bytes=32 << 20)) as link:
        result = await ask(link, 1, size=20_000_000)
        assert len(result["text"]) == 20_000_000


async def test_who_listens_hears_of_the_end_before_the_reader_does() -> None:
    order: list[str] = []

    async with opened(define("echo"), lambda: order.append("told")) as link:

        async def read() -> None:
            with pytest.raises(anyio.EndOfStream):
                await link.read.receive()
            order.append("end")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await trio.testing.wait_all_tasks_blocked()
            os.kill(link.pid, signal.SIGKILL)
            await link.gone.wait()
            assert order == ["told"]
    assert order == ["told", "end"]
    assert link.why().why == "it was ended by SIGKILL, before it said anything"


async def test_a_death_is_seen_at_once_though_nobody_reads() -> None:
    told = Told()
    async with opened(define("echo"), told) as link:
        os.kill(link.pid, signal.SIGKILL)
        with trio.fail_after(20):
            await link.gone.wait()
        assert told.words == ["gone"]
        with pytest.raises(anyio.BrokenResourceError):
            await link.write.send(request(1))


async def test_a_death_is_seen_though_a_grandchild_holds_the_pipes(tmp_path: Path, hurried: None) -> None:
    async with opened(define("parent", tmp_path)) as link:
        assert await ask(link, 1) == {"echo": {}}
        grandchild = int((tmp_path / "notes").read_text().split()[0])
        os.kill(link.pid, signal.SIGKILL)
        with trio.fail_after(30), pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert alive(grandchild)
    await until(lambda: not alive(grandchild))


async def test_answers_before_the_death_still_come() -> None:
    script = 'read -r line; echo \'{"jsonrpc":"2.0","id":1,"result":{"last":1}}\''
    async with opened(command("sh", "-c", script)) as link:
        await link.write.send(request(1))
        await link.gone.wait()
        assert (await link.read.receive()).message.result == {"last": 1}
        with pytest.raises(anyio.EndOfStream):
            await link.read.receive()


async def test_a_server_that_closes_its_stdout_is_gone(hurried: None) -> None:
    async with opened(define("shut")) as link:
        with trio.fail_after(60), pytest.raises(anyio.EndOfStream):
            await link.read.receive()
        assert link.why().kind == "closed"


async def test_leaving_closes_stdin_first_and_tells_nobody(tmp_path: Path) -> None:
    told = Told()
    async with opened(define("echo", tmp_path), told) as link:
        await ask(link)
    assert (tmp_path / "notes").read_text() == "eof\n"
    assert link.process.returncode == 0
    assert told.words == []
    assert link.gone.is_set()


async def test_leaving_kills_what_ignores_every_hint(tmp_path: Path, hurried: None) -> None:
    async with opened(define("stubborn", tmp_path)) as link:
        await ask(link)
    assert link.process.returncode == -signal.SIGKILL
    assert not alive(link.pid)


async def test_leaving_ends_a_grandchild_too(tmp_path: Path, hurried: None) -> None:
    async with opened(define("parent", tmp_path)) as link:
        await ask(link)
    child = int((tmp_path / "notes").read_text().split()[0])
    await until(lambda: not alive(child))


async def test_leaving_a_stopped_server_is_bounded(hurried: None) -> None:
    async with opened(define("echo")) as link:
        await ask(link)
        os.kill(link.pid, signal.SIGSTOP)
        started = trio.current_time()
    assert trio.current_time() - started < 3
    assert not alive(link.pid)


async def test_leaving_drains_a_server_that_is_stuck_in_writing(tmp_path: Path) -> None:
    async with opened(define("flood", tmp_path)) as link:
        await link.read.receive()
        await trio.sleep(0.05)
    assert (tmp_path / "notes").read_text() == "eof\n"
    assert link.process.returncode == 0


async def test_a_cancelled_owner_leaves_in_order(tmp_path: Path) -> None:
    with trio.move_on_after(0.3) as scope:
        async with open_link(define("echo", tmp_path), Told()) as link:
            await ask(link)
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert (tmp_path / "notes").read_text() == "eof\n"
    assert not alive(link.pid)


async def test_what_the_body_raises_passes_as_it_is() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with opened(define("echo")):
            raise KeyError("mine")


async def test_a_sender_that_gives_up_leaves_no_half_line(tmp_path: Path) -> None:
    async with opened(define("deaf", tmp_path)) as link:
        for number in range(5):  # the first is half in the pipe, the others wait
            with trio.move_on_after(0.02) as scope:
                await link.write.send(request(number, text="x" * 500_000))
            assert scope.cancelled_caught
        (tmp_path / "hear").touch()
        await link.write.send(request(7))
        answers = []
        while not answers or answers[-1].id != 7:
            answers.append((await link.read.receive()).message)
        assert [one.id for one in answers] == [0, 7]
        assert answers[-1].result == {"heard": 2}


async def test_senders_that_wait_hear_of_the_death(tmp_path: Path) -> None:
    async with opened(define("deaf", tmp_path)) as link:

        async def send() -> None:
            with pytest.raises(anyio.BrokenResourceError):
                await link.write.send(request(1, text="x" * 500_000))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            nursery.start_soon(send)
            await trio.testing.wait_all_tasks_blocked(0.05)
            os.kill(link.pid, signal.SIGKILL)


async def test_a_closed_writer_takes_nothing_more() -> None:
    async with opened(define("echo")) as link:
        await link.write.aclose()
        with pytest.raises((anyio.ClosedResourceError, anyio.BrokenResourceError)):
            await link.write.send(request(1))


async def test_notifications_of_the_server_and_blank_lines_come_through() -> None:
    script = 'echo; echo \'{"jsonrpc":"2.0","method":"notifications/x"}\'; cat >/dev/null'
    async with opened(command("sh", "-c", script)) as link:
        message = (await link.read.receive()).message
        assert message == JSONRPCNotification(jsonrpc="2.0", method="notifications/x")


async def test_a_child_gets_a_safe_few_variables_and_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "secret")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("SHELL", "() { :; }; echo owned")
    async with opened(define("env", env={"HOME": "/elsewhere", "TOKEN": "mine"}, cwd=str(tmp_path))) as link:
        result = await ask(link)
    env = result["env"]
    assert (env["HOME"], env["TOKEN"], env["PATH"]) == ("/elsewhere", "mine", os.environ["PATH"])
    assert "MY_API_KEY" not in env
    assert "SHELL" not in env
    extra = {name for name in env if name not in _process.SAFE and not name.startswith("LC_")}
    assert extra - {"PWD", "OLDPWD", "SHLVL", "_"} == {"TOKEN", _process.DEPTH}  # those four are of some shells
    assert result["cwd"] == str(tmp_path.resolve())


def test_the_encoding_is_looked_up_as_configured() -> None:
    assert codecs.lookup("UTF8").name == "utf-8"  # what the reader takes for plain


def kill_host(commands: list[list[str]], notes: dict[Path, int]) -> list[int]:
    """Start a host that holds these servers, kill it, and give the pids of all of them."""
    argv = [sys.executable, str(SERVERS / "host.py"), json.dumps(commands)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as host:
        assert host.stdout is not None
        pids = json.loads(host.stdout.readline())
        deadline = time.monotonic() + 60
        for path, expected in notes.items():
            while (not path.exists() or len(path.read_text().split()) < expected) and time.monotonic() < deadline:
                time.sleep(0.01)
            pids += [int(line) for line in path.read_text().split()]
        assert all(alive(pid) for pid in pids)
        host.kill()
    return pids


def test_no_server_outlives_a_host_that_is_killed(tmp_path: Path) -> None:
    pipes = [*PYTHON, str(SERVERS / "pipes.py")]
    # As npx does: a wrapper that starts the real server and waits for it. "$0" is the command, "$@" its arguments.
    wrapper = ["sh", "-c", '"$0" "$@" & wait', *pipes, "stubborn", str(tmp_path)]
    parent = tmp_path / "parent"
    parent.mkdir()
    commands = [[*pipes, "echo"], [*pipes, "stubborn", str(tmp_path)], wrapper, [*pipes, "parent", str(parent)]]
    pids = kill_host(commands, {tmp_path / "notes": 2, parent / "notes": 1})
    assert len(pids) == 7
    deadline = time.monotonic() + 60
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [pid for pid in pids if alive(pid)] == []


async def test_a_server_waits_for_the_reaper_to_know_it(tmp_path: Path) -> None:
    # The gate: without the line of the host, an end of file is the end of the server.
    argv = _reaper.gated(["sh", "-c", f"touch {tmp_path}/started"], {})
    assert argv is not None
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode != 0
    assert not (tmp_path / "started").exists()


async def test_a_reaper_that_was_killed_is_replaced(tmp_path: Path) -> None:
    async with opened(define("stubborn", tmp_path)) as first:
        await ask(first)
        assert _reaper._process is not None
        os.kill(_reaper._process.pid, signal.SIGKILL)
        _reaper._process.wait()
        async with opened(define("echo")) as second:
            await ask(second)
            assert _reaper._process.poll() is None
            os.killpg(first.pid, signal.SIGKILL)
    assert _reaper._process is None


async def test_a_reaper_that_does_not_read_is_replaced(tmp_path: Path) -> None:
    async with opened(define("stubborn", tmp_path)) as first:
        await ask(first)
        assert _reaper._process is not None
        stopped = _reaper._process
        os.kill(stopped.pid, signal.SIGSTOP)
        for _ in range(20_000):  # more than a pipe holds
            _reaper.guard(first.pid)
        assert _reaper._process is not stopped
        assert stopped.returncode is not None
        assert alive(first.pid)
        os.killpg(first.pid, signal.SIGKILL)


async def test_without_a_shell_servers_start_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_reaper, "SHELL", "/nowhere/sh")
    async with opened(define("echo")) as link:
        assert await ask(link) == {"echo": {}}
    assert (await fault_of(command("sh", "-c", "\0"))).kind == "missing_command"


async def test_fifty_links_leave_nothing_behind() -> None:
    async def round_trip(number: int) -> None:
        async with opened(define("echo")) as link:
            await ask(link, number)
            if number % 2:
                os.kill(link.pid, signal.SIGKILL)
                await link.gone.wait()

    def count() -> tuple[int, int, int, list[str]]:
        gc.collect()
        children = Path("/proc/self/task").glob("*/children")
        pids = [pid for one in children for pid in one.read_text().split()]
        tasks = trio.lowlevel.current_statistics().tasks_living
        return len(os.listdir("/proc/self/fd")), threading.active_count(), tasks, pids

    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc to count in")
    await round_trip(0)
    before = count()
    for batch in range(5):
        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(round_trip, batch * 10 + number)
    after = count()
    assert after[0] == before[0]
    assert after[2:] == before[2:]
    assert after[1] <= before[1] + 10  # trio keeps worker threads for some seconds
