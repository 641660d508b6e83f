"""`pegboard serve` as a real process, with real clients at its pipes."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import trio
from mcp import Client, StdioServerParameters, types

PLUGIN = '''
import os, subprocess, sys, time
import trio
from pegboard import CallContext, hookimpl, tool

print("printed at import")

@tool
def shout(text: str) -> str:
    """Print in every way there is."""
    print("printed", text)
    sys.stdout.write("written\\n"); sys.stdout.flush()
    os.write(1, b"written to 1\\n")
    sys.__stdout__.write("dunder\\n"); sys.__stdout__.flush()
    subprocess.run([sys.executable, "-c", "print('a child')"], check=True)
    return text.upper()

@tool
async def wait() -> str:
    """Wait for ever."""
    sys.stderr.write("waiting\\n"); sys.stderr.flush()
    await trio.sleep_forever()

@tool(run="thread")
def hang() -> str:
    """Hang in a thread."""
    sys.stderr.write("waiting\\n"); sys.stderr.flush()
    time.sleep(60)
    return "never"

@tool
async def brief() -> str:
    """Take a moment."""
    sys.stderr.write("waiting\\n"); sys.stderr.flush()
    await trio.sleep(0.3)
    return "done"

@tool
async def whoami(context: CallContext) -> str:
    """Who calls."""
    return repr(context.session.user_id)

@tool(requires_confirmation=True)
async def drop(context: CallContext) -> str:
    """Drop it."""
    return f"dropped in {os.getpid()}"

@hookimpl
def provide_tools(settings):
    return [drop, shout, wait, hang, brief, whoami]
'''

INIT = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a configuration and an installed plugin that prints wherever it can."""
    (tmp_path / "loud.py").write_text(PLUGIN)
    info = tmp_path / "loud-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pegboard]\nloud = loud\n")
    (tmp_path / "pegboard.toml").write_text('user_id = "ada"\n')
    return tmp_path


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(home), "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}


def _command(*more: str) -> list[str]:
    return [sys.executable, "-m", "pegboard", "--plugin", "loud", "--plugin", "mcp", "serve", *more]


def _parameters(home: Path, *more: str) -> StdioServerParameters:
    program, *arguments = _command(*more)
    return StdioServerParameters(command=program, args=arguments, env=_environment(home), cwd=home)


def _start(home: Path, *more: str, **options: Any) -> subprocess.Popen[bytes]:
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(_command(*more), cwd=home, env=_environment(home), **streams)


def _write(process: subprocess.Popen[bytes], *messages: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in messages))
    process.stdin.flush()


def _call(name: str, id_: int = 1, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
async def test_a_client_of_the_sdk_calls_tools_that_print(home: Path, mode: Any, version: str) -> None:
    with trio.fail_after(30):
        async with Client(_parameters(home), mode=mode, read_timeout_seconds=20) as client:
            assert client.protocol_version == version
            names = {one.name for one in (await client.list_tools()).tools}
            assert {"shout", "wait", "whoami"} <= names
            for _ in range(2):
                result = await client.call_tool("shout", {"text": "hello"})
                assert result.content[0].text == "HELLO"
            assert (await client.call_tool("whoami", {})).content[0].text == "'ada'"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_person_at_the_client_confirms(home: Path, mode: Any) -> None:
    asked: list[str] = []

    async def person(context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept" if len(asked) == 1 else "decline")

    with trio.fail_after(30):
        async with Client(_parameters(home), mode=mode, elicitation_callback=person) as client:
            assert (await client.call_tool("drop", {})).content[0].text.startswith("dropped in ")
            assert (await client.call_tool("drop", {})).is_error
    assert asked == ["Run 'drop'? [drop of loud]"] * 2


async def test_user_says_who_calls(home: Path) -> None:
    with trio.fail_after(30):
        async with Client(_parameters(home, "--user", "bob"), mode="legacy") as client:
            assert (await client.call_tool("whoami", {})).content[0].text == "'bob'"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_version_of_the_handshake_is_spoken(home: Path, version: str) -> None:
    init = {**INIT, "params": {**INIT["params"], "protocolVersion": version}}
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in (init, _call("whoami")))
    done = subprocess.run(
        _command(), input=lines, cwd=home, env=_environment(home), capture_output=True, timeout=30, check=True
    )
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["result"]["protocolVersion"] == version
    assert second["result"]["content"][0]["text"] == "'ada'"


def test_a_file_is_served_to_its_end_into_a_file(home: Path) -> None:
    asked, answered = home / "asked", home / "answered"
    asked.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in (INIT, _call("shout", text="a"))))
    with asked.open("rb") as into, answered.open("wb") as out:
        process = _start(home, stdin=into, stdout=out)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    lines = [json.loads(line) for line in answered.read_bytes().splitlines()]
    assert [line["id"] for line in lines] == [0, 1]
    for printed in (b"printed a", b"written", b"written to 1", b"dunder", b"a child"):
        assert printed in said


def test_no_input_is_an_end_at_once(home: Path) -> None:
    process = _start(home, stdin=subprocess.DEVNULL)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, b"")


@pytest.mark.parametrize("tool", ["wait", "hang"])
def test_ctrl_c_ends_it_soon_whatever_runs(home: Path, tool: str, in_time: Any) -> None:
    process = _start(home)
    try:
        _write(process, INIT, {"jsonrpc": "2.0", "method": "notifications/initialized"}, _call(tool))
        assert process.stdout is not None
        assert process.stderr is not None
        assert json.loads(process.stdout.readline())["id"] == 0
        while process.stderr.readline() not in (b"waiting\n", b""):
            pass
        with in_time():
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=10) == 130
    finally:
        process.kill()
        process.communicate()


def test_ctrl_c_ends_it_when_nobody_ever_connected(home: Path, in_time: Any) -> None:
    process = _start(home)
    try:
        _write(process, INIT)
        assert process.stdout is not None
        process.stdout.readline()
        with in_time():
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=10) == 130
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_is_in_flight_is_finished_when_it_is_told_to_end(home: Path, number: signal.Signals) -> None:
    process = _start(home)
    try:
        _write(process, INIT, _call("brief"))
        assert process.stderr is not None
        while process.stderr.readline() not in (b"waiting\n", b""):
            pass
        process.send_signal(number)
        out, _ = process.communicate(timeout=10)
        assert process.returncode == 0
        assert [json.loads(line)["id"] for line in out.splitlines()] == [0, 1]
        assert b"done" in out
    finally:
        process.kill()


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminal_that_is_gone_is_said_by_many_and_presses_nobody(home: Path, first: signal.Signals) -> None:
    """The system says SIGHUP, and a shell says it too: what is in flight is finished all the same."""
    process = _start(home)
    try:
        _write(process, INIT, _call("brief"))
        assert process.stderr is not None
        while process.stderr.readline() not in (b"waiting\n", b""):
            pass
        process.send_signal(signal.SIGSTOP)  # else it depends on the machine in which order they come
        for number in (first, signal.SIGHUP, signal.SIGCONT):
            process.send_signal(number)
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 0
        assert [json.loads(line)["id"] for line in out.splitlines()] == [0, 1]
        assert b"done" in out
    finally:
        process.kill()


@pytest.mark.parametrize("tool", ["wait", "hang"])
def test_sigterm_twice_after_sighup_waits_for_nothing(home: Path, tool: str, in_time: Any) -> None:
    """Somebody says it on purpose."""
    process = _start(home)
    try:
        _write(process, INIT, _call(tool))
        assert process.stderr is not None
        while process.stderr.readline() not in (b"waiting\n", b""):
            pass
        for number in (signal.SIGHUP, signal.SIGTERM):
            process.send_signal(number)
        with in_time():
            while process.poll() is None:
                process.send_signal(signal.SIGTERM)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=0.1)
    finally:
        process.kill()
        process.communicate()


def test_sigterm_after_the_end_of_input_waits_for_nothing(home: Path, in_time: Any) -> None:
    process = _start(home)
    try:
        _write(process, INIT, _call("wait"))
        assert process.stderr is not None
        assert process.stdout is not None
        while process.stderr.readline() not in (b"waiting\n", b""):
            pass
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        assert json.loads(process.stdout.readline())["id"] == 0
        process.send_signal(signal.SIGTERM)
        with in_time():
            process.wait(timeout=10)
    finally:
        process.kill()
        process.communicate()


def test_a_port_that_is_taken_is_said_in_a_line(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = _start(home, "--transport", "http", "--port", str(taken.getsockname()[1]))
        _, said = process.communicate(timeout=30)
    assert process.returncode == 2
    assert b"Traceback" not in said
    assert b"hint: choose another --port" in said


def test_http_says_where_it_is_and_ends_at_sigterm(home: Path) -> None:
    process = _start(home, "--transport", "http", "--port", "0")
    try:
        assert process.stderr is not None
        while b"http://127.0.0.1:" not in (line := process.stderr.readline()):
            assert line
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=10)
        assert (process.returncode, out) == (0, b"")
    finally:
        process.kill()


@pytest.mark.parametrize(("tool", "number", "status"), [("wait", signal.SIGINT, 130), ("hang", signal.SIGTERM, 0)])
def test_a_second_signal_over_http_waits_for_nothing(
    home: Path, tool: str, number: signal.Signals, status: int
) -> None:
    process = _start(home, "--transport", "http", "--port", "0")
    try:
        assert process.stderr is not None
        while b"http://127.0.0.1:" not in (line := process.stderr.readline()):
            assert line
        port = int(line.split(b"127.0.0.1:")[1].split(b"/")[0])
        message = _call(tool)
        prefix = "io.modelcontextprotocol/"
        message["params"]["_meta"] = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool}
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as client:
            client.request("POST", "/mcp", json.dumps(message), headers)
            while process.stderr.readline() not in (b"waiting\n", b""):
                pass
            process.send_signal(number)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.3)  # the call may go on
            process.send_signal(number)
            answer = json.load(client.getresponse())
        assert answer["error"]["data"]["code"] == "OUTCOME_UNKNOWN"
        assert process.wait(timeout=10) == status
    finally:
        process.kill()
        process.communicate()


def test_a_terminal_is_served_and_its_flags_stay(home: Path) -> None:
    ours, theirs = os.openpty()
    try:
        process = _start(home, stdin=theirs, stdout=theirs)
        os.write(ours, json.dumps(INIT).encode() + b"\n")
        said = b""
        while b'"serverInfo"' not in said:
            said += os.read(ours, 65536)
        assert os.get_blocking(theirs)
        os.write(ours, b"\x04")  # Ctrl-D
        assert process.wait(timeout=15) == 0
        assert process.stderr is not None
        assert b"Ctrl-D ends it" in process.stderr.read()
        assert os.get_blocking(theirs)
        process.stderr.close()
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_closed_stdout_is_said(home: Path) -> None:
    code = "import os, sys; os.close(1); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = [sys.executable, "-c", code, *_command()[1:]]
    done = subprocess.run(
        command, cwd=home, env=_environment(home), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=30
    )
    assert done.returncode in (1, 2)
    assert b"stdout is closed" in done.stderr


def test_a_system_without_fcntl_is_told_that_stdio_is_not_served_there(home: Path) -> None:
    code = "import sys; sys.modules |= dict.fromkeys(('fcntl', 'termios')); from pegboard.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "serve"], cwd=home, env=_environment(home), capture_output=True, timeout=60,
        stdin=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-2:] == [
        "error: stdio is served on POSIX systems alone, not on Windows",
        "hint: take another --transport",
    ]


def test_the_inspectors_command_line_lists_and_calls(home: Path, peer_programs: Any) -> None:
    inspector = ["npx", "--yes", "@modelcontextprotocol/inspector@0.17.2", "--cli"]
    patience = {"npm_config_fetch_retries": "0", "npm_config_fetch_timeout": "20000"}
    environment = _environment(home) | patience | {"HOME": os.environ.get("HOME", str(home))}
    peer_programs.run([*inspector, "--help"], cwd=home, env=environment)

    def run(*more: str) -> Any:
        command = [*inspector, *_command(), *more]
        done = subprocess.run(
            command, cwd=home, env=environment, capture_output=True, timeout=90, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    assert {"shout", "whoami"} <= {one["name"] for one in run("--method", "tools/list")["tools"]}
    called = run("--method", "tools/call", "--tool-name", "shout", "--tool-arg", "text=hi")
    assert called["content"][0]["text"] == "HI"


@pytest.mark.parametrize(
    "words", [("--port", "8000"), ("--host", "127.0.0.1"), ("--transport", "stdio", "--port", "0")]
)
def test_an_address_is_refused_where_nothing_listens(words: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pegboard", "--plugin", "mcp", "serve", *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not for stdio, which listens nowhere" in done.stderr
    assert "hint: say --transport http" in done.stderr
