"""The program as a real child: Ctrl-C, pipes that close, disks that are full, terminals, and what a start imports."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard import load_board

posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")
full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")

HOLDS = """
    import contextlib
    import trio
    from pegboard import hookimpl

    @contextlib.asynccontextmanager
    async def hold():
        try:
            yield object()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep_forever()

    @hookimpl
    def open_resources():
        return hold()
"""


def call(name: str, id: str = "", **arguments) -> bytes:
    return json.dumps({"id": id, "name": name, "arguments": arguments}).encode() + b"\n"


def ended(child: subprocess.Popen[bytes], within_s: float = 20) -> tuple[int, bytes, bytes]:
    out, err = child.communicate(timeout=within_s)
    return child.returncode, out, err


def interrupted(child: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    child.send_signal(signal.SIGINT)
    return ended(child)


# -- Ctrl-C


@posix
@pytest.mark.parametrize("tool", ["wait", "stubborn"])
def test_ctrl_c_ends_a_batch_with_what_was_done_on_stdout(start, tools, tool):
    child = start("--plugin", "kit", "--log-json", "-", "batch")
    child.stdin.write(call("add", "1", a=1) + call(tool, "2") + call("add", "3", a=3))
    child.stdin.flush()
    first = child.stdout.readline()
    assert {json.loads(child.stderr.readline())["request_id"] for _ in range(2)} == {"1", "3"}
    status, out, err = interrupted(child)
    assert status == 130
    assert [json.loads(line)["id"] for line in (first + out).splitlines()] == ["1", "3"]
    assert b"Traceback" not in err
    assert (b"left behind" in err) is (tool == "stubborn")


@posix
def test_ctrl_c_says_how_many_calls_did_not_end(start, tools):
    child = start("--plugin", "kit", "batch")
    child.stdin.write(call("add", "1", a=1) + call("wait"))
    child.stdin.flush()
    child.stdout.readline()
    status, _, err = interrupted(child)
    assert (status, err) == (130, b"1 call did not end; what was done is written\ninterrupted\n")


@posix
def test_ctrl_c_ends_a_batch_that_waits_for_input(start, tools):
    child = start("--plugin", "kit", "batch")
    child.stdin.write(call("add", "1", a=1))
    child.stdin.flush()
    assert child.stdout.readline()
    status, out, err = interrupted(child)
    assert (status, out, err) == (130, b"", b"interrupted\n")


@posix
def test_ctrl_c_ends_a_call_whatever_a_resource_does(start, tools):
    tools.install("holder", HOLDS)
    child = start(
        "--plugin", "kit", "--plugin", "holder", "--log-json", "-", "call", "who", env={"PYTHONUNBUFFERED": "1"}
    )
    assert b'"tool": "who"' in child.stderr.readline()  # it is done, and the host closes for ever
    status, _, err = interrupted(child)
    assert status == 130
    assert err.startswith(b"interrupted")  # a busy machine may leave the resource behind, and says so


# -- stdout that closes or fills


@posix
@pytest.mark.parametrize("args", [("list",), ("--help",), ("--plugin", "kit", "call", "who"), ("config", "--json")])
def test_a_reader_that_leaves_is_an_error_without_a_traceback(start, tools, args):
    reading, writing = os.pipe()
    os.close(reading)
    child = start(*args, stdout=writing)
    os.close(writing)
    status, _, err = ended(child)
    assert (status, err) == (1, b"error: stdout was closed by its reader before the end\n")


@posix
def test_a_reader_that_leaves_ends_a_batch(start, tools):
    child = start("--plugin", "kit", "batch")
    child.stdin.write(call("add", "1", a=1))
    child.stdin.flush()
    assert child.stdout.readline()
    child.stdout.close()
    child.stdout = None
    child.stdin.write(call("add", "2", a=1))
    child.stdin.flush()
    status, _, err = ended(child)
    assert (status, err) == (1, b"error: stdout was closed by its reader before the end\n")


@full
@pytest.mark.parametrize("args", [("list",), ("--version",), ("--plugin", "kit", "batch")])
def test_a_full_disk_is_an_error_without_a_traceback(start, tools, args):
    with open("/dev/full", "wb") as stdout:
        child = start(*args, stdout=stdout)
        status, _, err = ended_with(child, call("add", a=1))
    assert (status, err) == (1, b"error: stdout is full: no space left on the device\n")


def ended_with(child: subprocess.Popen[bytes], data: bytes) -> tuple[int, bytes, bytes]:
    out, err = child.communicate(data, timeout=20)
    return child.returncode, out, err


@posix
def test_a_stdout_that_was_never_open_is_an_error(start, tools):
    child = start("--plugin", "kit", "list", preexec_fn=lambda: os.close(1))
    assert ended(child)[0] == 1


# -- stdout carries the answer only

LOUD = """
    import os
    import subprocess
    import sys
    import click
    from pegboard import hookimpl, tool

    print("printed at import")
    os.write(1, b"written at import\\n")
    early = sys.stdout

    @hookimpl
    def provide_tools():
        @tool(read_only=True)
        async def shout() -> str:
            "Print, write, and let another process print."
            print("printed by the tool", flush=True)
            print("printed where stdout was", file=early, flush=True)
            print("printed to what it was at the start", file=sys.__stdout__, flush=True)
            os.write(1, b"written by the tool\\n")
            subprocess.run([sys.executable, "-c", "print('printed by a process')"], check=True)
            return "the answer"

        return [shout]

    @hookimpl
    def register_commands(cli):
        @cli.command("greet")
        @click.pass_obj
        def greet(run):
            "Say hello."
            run.load_board()
            click.echo("hello")
            print("world")
"""
AT_IMPORT = {"printed at import", "written at import"}
BY_TOOL = {
    "printed by the tool", "printed where stdout was", "printed to what it was at the start", "written by the tool",
    "printed by a process",
}  # fmt: skip


def test_what_a_tool_and_a_plugin_print_is_on_stderr(start, site):
    site.install("loud", LOUD)
    status, out, err = ended(start("--plugin", "loud", "call", "shout"))
    assert (status, out.splitlines()) == (0, [b"the answer"])
    assert set(err.decode().splitlines()) >= AT_IMPORT | BY_TOOL


def test_lines_of_a_batch_stay_json_whatever_tools_print(start, site):
    site.install("loud", LOUD)
    child = start("--plugin", "loud", "batch")
    status, out, err = ended_with(child, b"".join(call("shout", str(number)) for number in range(3)))
    assert status == 0
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["0", "1", "2"]
    assert err.count(b"printed by the tool") == 3


def test_what_a_worker_process_prints_is_on_stderr(start, site):
    pytest.importorskip("trio_parallel")
    site.install(
        "worker",
        """
        import os
        from pegboard import hookimpl, tool

        @tool(read_only=True, run="process")
        def work() -> str:
            'Print elsewhere.'
            print("printed by the worker", flush=True)
            os.write(1, b"written by the worker\\n")
            return "the answer"

        @hookimpl
        def provide_tools():
            return [work]
        """,
    )
    status, out, err = ended(start("--plugin", "worker", "call", "work"))
    assert (status, out.splitlines()) == (0, [b"the answer"])
    assert err.splitlines() == [b"printed by the worker", b"written by the worker"]


@pytest.mark.parametrize("name", ["list", "doctor", "plugins", "config"])
def test_what_a_plugin_prints_at_import_is_in_no_answer(start, site, name):
    site.install("loud", LOUD)
    _, out, err = ended(start("--plugin", "loud", name, "--json"))
    assert isinstance(json.loads(out), list)
    assert set(err.decode().splitlines()) >= AT_IMPORT


def test_help_is_an_answer_also_where_plugins_are_loaded_for_it(start, site):
    site.install("loud", LOUD)
    for args in (["--help"], [], ["config", "--help"], ["list", "--help"], ["greet", "--help"]):
        _, out, err = ended(start("--plugin", "loud", *args))
        assert out.startswith(b"Usage: ")
        assert b"printed" not in out
        assert b"Usage" not in err


def test_completion_is_an_answer(start, site):
    site.install("loud", LOUD)
    words = {"_PEGBOARD_COMPLETE": "bash_complete", "COMP_WORDS": "pegboard call sh", "COMP_CWORD": "2"}
    _, out, err = ended(start(env=words))
    assert out == b"plain,shout\n"
    assert set(err.decode().splitlines()) >= AT_IMPORT


def test_what_a_command_of_a_plugin_prints_is_its_answer(start, site):
    site.install("loud", LOUD)
    status, out, err = ended(start("--plugin", "loud", "greet"))
    assert (status, out.splitlines()) == (0, [b"hello", b"world"])
    assert set(err.decode().splitlines()) >= AT_IMPORT


@full
def test_a_full_disk_is_an_error_of_a_plugins_command_too(start, site):
    site.install("loud", LOUD.replace('click.echo("hello")', "pass"))
    with open("/dev/full", "wb") as stdout:
        status, _, err = ended(start("--plugin", "loud", "greet", stdout=stdout))
    assert (status, err.splitlines()[-1]) == (1, b"error: stdout is full: no space left on the device")
    assert b"Traceback" not in err


@full
@pytest.mark.parametrize(("leave", "expected"), [("ctx.exit(3)", 1), ("sys.exit(3)", 3), ("pass", 1)])
def test_however_a_command_ends_what_it_could_not_print_does_not_make_the_status(start, site, leave, expected):
    site.install(
        "mumble",
        f"""
        import sys
        import click
        from pegboard import hookimpl

        @hookimpl
        def register_commands(cli):
            @cli.command("greet")
            @click.pass_context
            def greet(ctx):
                print("hello")
                {leave}
        """,
    )
    with open("/dev/full", "wb") as stdout:
        status, _, err = ended(start("--plugin", "mumble", "greet", stdout=stdout))
    assert status == expected  # and not the 120 with which Python ends then
    assert b"Exception ignored" not in err


@posix
@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_stream_that_is_closed_lets_nothing_else_into_the_answer(start, site, gone):
    site.install("loud", LOUD)
    status, out, _ = ended(start("--plugin", "loud", "list", preexec_fn=lambda: os.close(gone)))
    assert status == (1 if gone == 1 else 0)
    assert not re.search(b"printed|written", out)
    assert (b"shout" in out) is (gone != 1)


@posix
def test_the_terminal_that_is_asked_is_that_of_the_answer(start, tools, tmp_path):
    with (tmp_path / "err").open("wb") as stderr:
        _, seen, _ = on_terminal(start, "list", stderr=stderr)
    assert "\x1b[1mTOOL" in seen
    status, seen, out = on_terminal(start, "list", stdout=False)
    assert (status, seen) == (0, "")
    assert b"\x1b" not in out


# -- lines go out when they are done


@posix
def test_a_result_comes_out_before_the_next_line_comes_in(start, tools):
    child = start("--plugin", "kit", "batch")
    for number in range(20):
        child.stdin.write(call("add", str(number), a=number))
        child.stdin.flush()
        assert json.loads(child.stdout.readline())["id"] == str(number)
    child.stdin.close()
    child.stdin = None
    assert ended(child)[0] == 0


def test_thousands_of_lines_come_back_in_order(start, tools, tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b"".join(call("add", str(number), a=number) for number in range(5000)))
    child = start("--plugin", "kit", "batch", str(tmp_path / "in.jsonl"))
    status, out, err = ended(child)
    assert (status, err) == (0, b"")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [str(number) for number in range(5000)]


# -- a terminal


def on_terminal(start, *args: str, answer: bytes = b"", when: bytes = b"(y/N)", stdout: bool = True, **more):
    """Run the program on a terminal, and type `answer` when it shows `when`.

    Returns its status, all that the terminal saw, and what went to a pipe that is stdout instead.
    """
    import pty

    ours, theirs = pty.openpty()
    ends = {name: theirs for name, wanted in (("stdin", True), ("stdout", stdout)) if wanted}
    ends["stderr"] = more.pop("stderr", theirs)
    child = start("--plugin", "kit", *args, **ends, env={"TERM": "xterm", "COLUMNS": "80"}, **more)
    os.close(theirs)
    seen = b""
    while True:
        if not select.select([ours], [], [], 20)[0]:
            raise AssertionError(f"nothing more came: {seen!r}")
        try:
            data = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        seen += data
        if answer and when in seen:
            os.write(ours, answer)
            answer = b""
    out = child.stdout.read() if child.stdout else b""
    os.close(ours)
    return child.wait(20), seen.decode(), out


@posix
@pytest.mark.parametrize(("answer", "status"), [(b"y\n", 0), (b"yes\n", 0), (b"n\n", 1), (b"\n", 1)])
def test_a_person_is_asked_at_the_terminal(start, tools, answer, status):
    ended_as, seen, _ = on_terminal(start, "call", "wipe", "disk=c", answer=answer)
    assert 'Really wipe it? [wipe of pegboard-test-kit] {"disk": "c"} (y/N)' in seen
    assert ended_as == status
    assert ("wiped c" in seen) is (status == 0)
    assert ("the person who was asked refused" in seen) is (status == 1)


@posix
def test_ctrl_c_ends_a_question(start, tools):
    status, seen, _ = on_terminal(
        start, "call", "wipe", "disk=c", answer=b"\x03", start_new_session=True, preexec_fn=_take_terminal
    )
    assert status == 130
    assert "interrupted" in seen
    assert "Traceback" not in seen


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@posix
def test_tables_are_drawn_and_escapes_shown_on_a_terminal(start, tools):
    _, seen, _ = on_terminal(start, "list")
    assert "\x1b[1mTOOL" in seen
    _, seen, _ = on_terminal(start, "call", "escape")
    assert "red  and back" in seen
    assert "taken out of the result: control sequences of terminals (1), marks that turn the direction" in seen
    status, seen, _ = on_terminal(start, "call", "picture")
    assert status == 0
    assert "1 of 2 half" in seen


@posix
def test_batch_shows_its_progress_to_a_person_and_only_answers_to_a_pipe(start, tools, tmp_path):
    lines = b"".join(call("add", a=1) for _ in range(3)) + call("nope") + call("echo", value="x")
    (tmp_path / "in.jsonl").write_bytes(lines)
    status, seen, out = on_terminal(start, "batch", str(tmp_path / "in.jsonl"), stdout=False)
    assert status == 1
    assert "5 lines, 1 errors" in seen
    assert len(out.splitlines()) == 5


@posix
def test_progress_moves_while_calls_run(start, tools, tmp_path):
    tools.install(
        "slow",
        """
        import os, sys
        import trio
        from pegboard import hookimpl, tool

        @hookimpl
        def provide_tools():
            @tool
            async def key() -> None:
                'Wait for a key.'
                await trio.to_thread.run_sync(os.read, sys.stdin.fileno(), 1)
            return [key]
        """,
    )
    (tmp_path / "in.jsonl").write_bytes(call("add", a=1) + call("key"))
    shown = b"100% 1 lines, 0 errors"
    file = str(tmp_path / "in.jsonl")
    status, seen, _ = on_terminal(start, "--plugin", "slow", "batch", file, stdout=False, answer=b"\n", when=shown)
    assert (status, shown.decode() in seen) == (0, True)
    assert "2 lines, 0 errors" in seen


@posix
def test_batch_lines_on_a_terminal_obey_nothing(start, tools, tmp_path):
    (tmp_path / "in.jsonl").write_bytes(call("escape"))
    _, seen, _ = on_terminal(start, "batch", str(tmp_path / "in.jsonl"))
    assert "\u202e" not in seen
    assert "red  and back" in seen
    assert "\x1b[31m" not in seen


# -- what a start costs

HEAVY = {"trio", "rich", "fastjsonschema", "hypothesis", "yaml", "asyncio", "ssl", "pytest", "jsonschema_rs", "mcp"}
LOOK = """
import json, sys
from pegboard.cli._program import Program
try:
    Program().main(sys.argv[1:])
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def modules_after(*args: str) -> set[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *args], env=environment, capture_output=True, timeout=60, check=True
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


LIGHT = """
    from pegboard import hookimpl, tool

    @hookimpl
    def provide_tools():
        @tool(run="inplace")
        def add(a: float) -> float:
            'Add.'
            return a

        return [add]
"""


@pytest.mark.parametrize(
    "args",
    [("list",), ("list", "--tokens"), ("show", "add"), ("export", "--to", "json"), ("plugins",), ("config",)],
    ids=" ".join,
)
def test_commands_that_only_look_import_nothing_heavy(site, args):
    site.install("light", LIGHT)
    modules = modules_after("--plugin", "light", *args)
    assert not modules & HEAVY
    assert len(modules) <= 310


def test_call_imports_no_more_than_it_needs(site):
    site.install("light", LIGHT)
    modules = modules_after("--plugin", "light", "call", "add", "a=1")
    assert not modules & {"rich", "hypothesis", "yaml", "asyncio", "pytest"}
    assert len(modules) <= 470


HANGING = {
    "import": ("import sys, time; print('here', file=sys.stderr, flush=True); time.sleep(600)", "is imported"),
    "hook": (
        "from pegboard import hookimpl\n@hookimpl\ndef provide_tools():\n"
        "    import sys, time; print('here', file=sys.stderr, flush=True); time.sleep(600)",
        "runs provide_tools",
    ),
    "generator": (
        "from pegboard import hookimpl\n@hookimpl\ndef provide_sources():\n"
        "    import sys, time; print('here', file=sys.stderr, flush=True); time.sleep(600)\n    yield",
        "runs provide_sources",
    ),
    "commands": (
        "from pegboard import hookimpl\n@hookimpl\ndef register_commands(cli):\n"
        "    import sys, time; print('here', file=sys.stderr, flush=True); time.sleep(600)",
        "runs register_commands",
    ),
}


@posix
@pytest.mark.parametrize("where", HANGING)
def test_ctrl_c_names_the_plugin_that_hangs_while_the_board_loads(start, site, where):
    code, does = HANGING[where]
    site.install("slow", code)
    child = start("--plugin", "slow", *(["no_such_command"] if where == "commands" else ["list"]))
    assert child.stderr.readline() == b"here\n"
    status, out, err = interrupted(child)
    said = f"interrupted while the plugin 'slow' of pegboard-test-slow {does}\n"
    assert (status, out, err.decode()) == (130, b"", said)


def test_the_wait_names_the_plugin_whose_hook_runs(site):
    from pegboard.cli import _run

    site.install("mine", "from pegboard import hookimpl\n@hookimpl\ndef provide_tools():\n    return []\n")
    texts: list[str] = []

    class Wait:
        def __setattr__(self, name: str, value: str) -> None:
            texts.append(value)

    with _run._naming_plugins(Wait()):
        load_board({}, ["mine"])
    assert "loading: the plugin 'mine' of pegboard-test-mine is imported" in texts
    assert "loading: the plugin 'mine' of pegboard-test-mine runs provide_tools" in texts
