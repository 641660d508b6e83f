"""Real children: what comes back, what is left. Every test counts processes, descriptors and tasks afterwards."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import logging
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import trio

from pegboard import Annotations, CallContext, Tool, ToolError, ToolResult
from pegboard.testing import assert_error, assert_ok
from pegboard_manifest.bindings.subprocess import make_handler, process, run_of
from pegboard_manifest.bindings.subprocess.process import run
from pegboard_manifest.bindings.subprocess.program import Program, secret_names
from pegboard_manifest.document import Manifest

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups are POSIX's")

MARK = f"pegboard-test-{os.getpid()}"
PYTHON = [sys.executable, "-I", "-S", "-X", MARK, "-c"]
"""Every process that a test starts, and all that it forks, shows the mark in its command line."""
OPEN = {"type": "object", "properties": {}, "additionalProperties": True}


def table() -> list[tuple[str, str, str]]:
    """Of every process its parent, its state and its command line."""
    if not Path("/proc/self/stat").exists():
        listed = subprocess.run(["ps", "-e", "-o", "ppid=,stat=,args="], capture_output=True, text=True, check=True)
        return [(*line.split(None, 2), "")[:3] for line in listed.stdout.splitlines()]  # type: ignore[misc]
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            found.append((parent, state, (folder / "cmdline").read_text(errors="replace").replace("\0", " ")))
    return found


def processes() -> list[str]:
    """What lives of ours: everything with the mark, wherever it hangs by now, and zombies that nobody took in."""
    return [
        words or "a zombie"
        for parent, state, words in table()
        if (MARK in words and "Z" not in state) or (parent == str(os.getpid()) and "Z" in state)
    ]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd" if Path("/proc/self/fd").exists() else "/dev/fd"))


@pytest.fixture(autouse=True, scope="module")
def collected(settled):
    """Garbage of other files is nothing to these tests, and what these leave is told here."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def nothing_left(collected):
    """Not async: it has to look when the test's own loop has ended."""
    before = descriptors()
    yield
    if descriptors() > before:
        gc.collect()
    give_up = time.monotonic() + 20
    while (left := processes()) and time.monotonic() < give_up:
        select.select([], [], [], 0.01)  # what was killed takes a moment to be gone
    assert left == []
    assert descriptors() <= before


@pytest.fixture
def make_tool(tmp_path):
    def make(
        argv0: list[str],
        *arguments: dict[str, Any],
        parser: str = "text",
        program: dict[str, Any] | None = None,
        annotations: Annotations | None = None,
        **binding: Any,
    ) -> Tool:
        output = {"parser": parser, **binding.pop("output", {})}
        entry = {"binding": {"kind": "subprocess", "program": "p", "arguments": arguments, "output": output, **binding}}
        document = {"project": {"name": "x"}, "programs": {"p": {"argv0": argv0, **(program or {})}}}
        manifest = Manifest(document, tmp_path, {})
        assert run_of(entry, manifest) == "async"
        return Tool(
            name="tool",
            handler=make_handler(entry, manifest),
            input_schema=OPEN,
            annotations=annotations or Annotations(read_only=True),
        )

    return make


@pytest.fixture
async def session_with(host_with):
    async def session(tool: Tool):
        host = await host_with()
        host.add(tool)
        return host.session()

    return session


def error_in(result: ToolResult, code: str, says: str = "") -> ToolError:
    error = assert_error(result, code, says=says).error
    assert error is not None
    return error


OPTION = {"kind": "option", "parameter": "a", "flag": "--a", "style": "equals"}
PATH = {"kind": "positional", "parameter": "file", "value": {"format": "path"}}


async def test_a_program_gets_its_words_and_its_output_is_the_data(make_tool, session_with) -> None:
    code = "import sys, json; print(json.dumps({'words': sys.argv[1:], 'stdin': sys.stdin.read()}))"
    session = await session_with(make_tool([*PYTHON, code], OPTION, parser="json"))

    for value in ("$(id) `x`; | & > /tmp/x *", "grüße \n\t'\"\\ 🎉", "", " ", "-rf", "@x", "%s{0}"):
        result = assert_ok(await session.call("tool", {"a": value}))
        assert result.data == {"words": [f"--a={value}"], "stdin": ""}


@pytest.mark.parametrize(
    ("parser", "out", "err", "data"),
    [
        ("text", "", "written: /srv/private/x", {"result": "written: …/x"}),
        ("text", "\n", "version 21", {"result": "version 21"}),
        ("text", "found", "a warning", {"result": "found"}),
        ("text", "", "", {"result": ""}),
        ("jsonl", "", "nothing found", {"result": []}),
    ],
)
async def test_a_text_that_stands_on_standard_error_alone_is_the_answer(
    make_tool, session_with, parser: str, out: str, err: str, data: Any
) -> None:
    code = f"import sys; sys.stdout.write({out!r}); sys.stderr.write({err!r})"
    session = await session_with(make_tool([*PYTHON, code], parser=parser))

    assert assert_ok(await session.call("tool", {})).data == data


async def test_a_hostile_value_starts_nothing(make_tool, session_with, tmp_path) -> None:
    session = await session_with(make_tool([*PYTHON, "open('started', 'w')"], OPTION, PATH))

    for arguments in ({"a": "\x00"}, {"file": "../x"}, {"file": "-x"}, {"file": "/etc/passwd"}, {"a": "x" * 1_000_000}):
        assert_error(await session.call("tool", arguments), "INVALID_INPUT")

    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(("format_", "value"), [("text", "hello\n" * 100_000), ("json", {"a": ["ü"] * 50_000})])
async def test_standard_input_of_any_size_is_fed_while_output_is_read(
    make_tool, session_with, format_: str, value: Any
) -> None:
    echo = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
    tool = make_tool([*PYTHON, echo], parser="json" if format_ == "json" else "text",
                     stdin={"parameter": "x", "format": format_})  # fmt: skip
    session = await session_with(tool)

    data = await tool.handler(CallContext(session, "1", tool, None, None), x=value)

    assert data == value


async def test_a_long_output_is_read_beside_the_loop(make_tool, session_with) -> None:
    code = "import json; print(json.dumps(['x' * 100] * 10_000))"
    tool = make_tool([*PYTHON, code], parser="json")
    session = await session_with(tool)

    data = await tool.handler(CallContext(session, "1", tool, None, None))

    assert data == {"result": ["x" * 100] * 10_000}


async def test_a_call_that_is_cancelled_already_starts_nothing(tmp_path) -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await run_python(f"open({str(tmp_path / 'started')!r}, 'w')")

    assert scope.cancelled_caught
    assert not (tmp_path / "started").exists()


async def test_a_process_that_hangs_in_the_kernel_is_given_up_and_taken_in_later(
    monkeypatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patches:
        patches.setattr(os, "killpg", lambda group, number: None)
        patches.setattr(process, "GRACE_S", 0.01)
        patches.setattr(process, "END_S", 0.01)
        ended = await run_python("import os, time\nos.write(1, b'xx')\ntime.sleep(60)", max_bytes=1)

    assert (ended.status, ended.too_much) == (-signal.SIGKILL, True)
    assert "hangs in the kernel" in caplog.text
    (hanging,) = process.hanging
    hanging.kill()
    os.waitid(os.P_PID, hanging.pid, os.WEXITED | os.WNOWAIT)
    await run_python("")
    assert process.hanging == []


async def test_a_program_that_reads_none_of_its_input_is_not_an_error(make_tool, session_with) -> None:
    session = await session_with(make_tool([*PYTHON, "print('done')"], stdin={"parameter": "x"}))

    result = assert_ok(await session.call("tool", {"x": "y" * 500_000}))

    assert result.data == {"result": "done\n"}


async def test_the_environment_is_an_allow_list(make_tool, session_with, monkeypatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "hunter2")
    monkeypatch.setenv("ALLOWED", "yes")
    monkeypatch.setenv("LC_TIME", "C")
    code = "import os, json; print(json.dumps(dict(os.environ)))"
    program = {"environment": ["ALLOWED", "NOT_SET"], "set_environment": {"FIXED": "1", "TZ": "UTC"}}
    session = await session_with(make_tool([*PYTHON, code], parser="json", program=program))

    seen = assert_ok(await session.call("tool", {})).data

    assert seen is not None
    assert set(seen) <= {"ALLOWED", "FIXED", "HOME", "LANG", "PATH", "TMPDIR", "TZ"} | {
        n for n in seen if n[:3] == "LC_"
    }
    assert (seen["ALLOWED"], seen["FIXED"], seen["TZ"], seen["LC_TIME"]) == ("yes", "1", "UTC", "C")
    assert "hunter2" not in seen.values()


async def test_a_program_works_in_its_folder_and_gets_the_path_that_was_judged(
    make_tool, session_with, tmp_path
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "real").write_text("content")
    (tmp_path / "work" / "link").symlink_to("real")
    code = "import sys; print(sys.argv[1], open(sys.argv[1]).read(), end='')"
    session = await session_with(make_tool([*PYTHON, code], PATH, program={"cwd": "work"}))

    assert assert_ok(await session.call("tool", {"file": "link"})).data == {"result": "./real content"}


async def test_a_failure_tells_the_last_line_without_paths_or_secrets(
    make_tool, session_with, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "hunter2")
    (tmp_path / "real").symlink_to("other")
    code = (
        "import os, sys\n"
        "try: open('/nope/x')\n"
        "except OSError: pass\n"
        "sys.stderr.write('warning\\n' + os.environ['MY_TOKEN'] + '\\n')\n"
        "raise ValueError(os.getcwd() + ' ' + sys.argv[1] + ' ' + sys.executable + ' ' + os.environ['MY_TOKEN'])"
    )
    session = await session_with(make_tool([*PYTHON, code], PATH, program={"environment": ["MY_TOKEN"]}))

    error = error_in(await session.call("tool", {"file": "real"}), "UPSTREAM_ERROR")

    text = json.dumps(error.to_json())
    for hidden in ("hunter2", str(tmp_path), sys.prefix, sys.executable, "Traceback", 'File \\"'):
        assert hidden not in text
    assert "ValueError: . real" in text
    assert error.details["status"] == 1


async def test_a_secret_that_the_program_repeats_is_masked_in_its_result(make_tool, session_with, monkeypatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "hunter2")
    program = {"environment": ["MY_TOKEN", "UNSET_KEY", "PLAIN"]}
    tool = make_tool([*PYTHON, "import os; print(os.environ['MY_TOKEN'])"], program=program)
    session = await session_with(tool)

    assert secret_names(program) == {"MY_TOKEN", "UNSET_KEY"}
    assert assert_ok(await session.call("tool", {})).data == {"result": "***\n"}


SECRET = (
    "API_KEY APIKEY OPENAI_API_KEY_2 AWS_SECRET_ACCESS_KEY MY_TOKEN GITHUB_TOKENS AUTHTOKEN DB_PASS SSHPASS PGPASSWORD"
    " MYSQL_PWD PASSPHRASE BASIC_AUTH AUTH OAUTH2 AUTHORIZATION GOOGLE_CREDENTIALS CREDS DATABASE_URL SENTRY_DSN"
    " HTTP_COOKIE BW_SESSION SESSION_ID CLIENTSECRET api_key"
)
PLAIN = (
    "GIT_AUTHOR_NAME KEYBOARD KEYMAP MONKEY COMPASS BYPASS XDG_SESSION_TYPE XDG_SESSION_ID DESKTOP_SESSION"
    " SESSION_MANAGER TOKENIZERS_PARALLELISM MAX_TOKENS CURL_CA_BUNDLE SACRED COOKIECUTTER_CONFIG PWD OLDPWD"
)


@pytest.mark.parametrize("name", SECRET.split())
def test_a_name_of_a_secret_is_known_by_its_words(name: str) -> None:
    assert secret_names({"environment": [name]}) == {name}


@pytest.mark.parametrize("name", PLAIN.split())
def test_a_name_that_only_holds_such_letters_is_none(name: str) -> None:
    assert secret_names({"environment": [name]}) == frozenset()


async def test_a_switch_or_a_short_value_shreds_no_result(make_tool, session_with, monkeypatch) -> None:
    values = {"USE_AUTH": "1", "BASIC_AUTH": "true", "API_KEY": "k3y", "GIT_AUTHOR_NAME": "Ada Lovelace"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    words = "1, true, k3y, Ada Lovelace"
    session = await session_with(make_tool([*PYTHON, f"print({words!r})"], program={"environment": [*values]}))

    assert assert_ok(await session.call("tool", {})).data == {"result": f"{words}\n"}


async def test_a_status_may_be_a_success_and_the_table_gives_codes(make_tool, session_with) -> None:
    code = "import sys; print('said'); print('no such table', file=sys.stderr); sys.exit(int(sys.argv[1][4:]))"
    exits = [{"status": 5, "stderr": "no such", "code": "NOT_FOUND", "message": "nothing there"}]
    session = await session_with(make_tool([*PYTHON, code], OPTION, success=[0, 3], exits=exits))

    assert_ok(await session.call("tool", {"a": 3}))
    assert_error(await session.call("tool", {"a": 5}), "NOT_FOUND", says="nothing there: no such table")
    assert_error(await session.call("tool", {"a": 2}), "INVALID_INPUT")
    assert_error(await session.call("tool", {"a": 4}), "UPSTREAM_ERROR", says="status 4")


async def test_a_status_that_is_an_answer_is_told_and_what_failed_shows_its_output(make_tool, session_with) -> None:
    code = "import sys; print('said'); sys.exit(int(sys.argv[1][4:]))"
    session = await session_with(make_tool([*PYTHON, code], OPTION, success_with_output=[1]))

    guessed = assert_ok(await session.call("tool", {"a": 1}))
    assert (guessed.data, (guessed.details or {})["status"]) == ({"result": "said\n"}, 1)
    assert error_in(await session.call("tool", {"a": 4}), "UPSTREAM_ERROR").details["stdout"] == "said"

    session = await session_with(make_tool([*PYTHON, code], OPTION, parser="json"))
    assert error_in(await session.call("tool", {"a": 0}), "UPSTREAM_ERROR").details["stdout"] == "said"


async def test_death_by_a_signal_is_told_and_says_whether_to_repeat(make_tool, session_with) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    reads = await session_with(make_tool([*PYTHON, code]))
    error = error_in(await reads.call("tool", {}), "UPSTREAM_ERROR", says="SIGKILL")
    assert error.details["retry"] == "same"

    writes = await session_with(make_tool([*PYTHON, code], annotations=Annotations(destructive=True)))
    assert error_in(await writes.call("tool", {}), "UPSTREAM_ERROR").details["retry"] == "unknown"


async def test_bytes_that_are_no_text_are_an_error_of_json_and_replaced_in_text(
    make_tool, session_with, caplog: pytest.LogCaptureFixture
) -> None:
    code = "import sys; sys.stdout.buffer.write(b'\"\\xff\"')"
    session = await session_with(make_tool([*PYTHON, code], parser="json"))
    assert_error(await session.call("tool", {}), "UPSTREAM_ERROR", says="UTF-8")

    session = await session_with(make_tool([*PYTHON, code]))
    with caplog.at_level(logging.WARNING, "pegboard.tool"):
        assert assert_ok(await session.call("tool", {})).data == {"result": '"\ufffd"'}
    assert "replaced" in caplog.text


# Programs that are not there.


async def test_a_missing_program_says_how_to_get_it(make_tool, session_with) -> None:
    session = await session_with(make_tool(["no-such-program-here"], program={"argv0_env": "NO_SUCH"}))

    error = error_in(await session.call("tool", {}), "UPSTREAM_ERROR", says="install it, or set NO_SUCH")

    assert error.details["executed"] is False
    assert error.details["reason"] == "not_installed"


async def test_a_file_that_is_not_a_program_is_not_run(make_tool, session_with, tmp_path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("echo hello\n")
    for mode, shebang in ((0o644, ""), (0o755, ""), (0o755, "#!/no/such/interpreter\n")):
        plain.write_text(shebang + "echo hello\n")
        plain.chmod(mode)
        session = await session_with(make_tool(["./plain"]))

        error = error_in(await session.call("tool", {}), "UPSTREAM_ERROR", says="cannot be executed")
        assert error.details["reason"] == "not_executable"
        assert str(tmp_path) not in error.message


async def test_a_missing_working_directory_is_told_apart(make_tool, session_with, tmp_path) -> None:
    (tmp_path / "file").touch()
    for cwd in ("gone", "file"):
        session = await session_with(make_tool([*PYTHON, ""], program={"cwd": cwd}))
        error = error_in(await session.call("tool", {}), "UPSTREAM_ERROR", says="working directory")
        assert error.details["reason"] == "no_cwd"


async def test_a_program_that_moved_is_found_again(make_tool, session_with, tmp_path, monkeypatch) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "mover").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"relative{os.pathsep}{os.pathsep}{tmp_path}/one{os.pathsep}{tmp_path}/two")
    session = await session_with(make_tool(["mover", *PYTHON[1:], "print('ran')"]))
    assert_ok(await session.call("tool", {}))

    (tmp_path / "one" / "mover").rename(tmp_path / "two" / "mover")
    assert_ok(await session.call("tool", {}))
    (tmp_path / "two" / "mover").unlink()
    assert_error(await session.call("tool", {}), "UPSTREAM_ERROR", says="was not found")


async def test_a_variable_takes_the_place_of_the_first_word(make_tool, session_with, monkeypatch) -> None:
    tool = make_tool(["no-such-program", "-I", "-c", "print('ran')"], program={"argv0_env": "MY_PYTHON"})
    monkeypatch.setenv("MY_PYTHON", sys.executable)

    assert_ok(await (await session_with(tool)).call("tool", {}))


async def test_a_name_is_found_on_path_or_beside_the_interpreter_and_nowhere_relative(tmp_path, monkeypatch) -> None:
    beside = next(file.name for file in Path(sys.executable).parent.iterdir() if os.access(file, os.X_OK))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert Program({"argv0": [beside]}, "p", tmp_path).path() == str(Path(sys.executable).parent / beside)

    (tmp_path / "here").write_text("#!/bin/sh\n")
    (tmp_path / "here").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}")
    with pytest.raises(Exception, match="was not found"):
        Program({"argv0": ["here"]}, "p", tmp_path).path()


@pytest.mark.parametrize(
    ("problem", "code", "says"),
    [
        (OSError(errno.E2BIG, "x"), "INVALID_INPUT", "too long"),
        (OSError(errno.EMFILE, "x"), "UPSTREAM_ERROR", "cannot start another program just now"),
        (PermissionError(errno.EACCES, "x"), "UPSTREAM_ERROR", "cannot be executed"),
    ],
)
async def test_what_the_system_refuses_is_told_as_what_it_is(
    make_tool, session_with, monkeypatch, problem: OSError, code: str, says: str
) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise problem

    session = await session_with(make_tool([*PYTHON, ""]))
    monkeypatch.setattr(process.subprocess, "Popen", refuse)

    result = await session.call("tool", {})

    monkeypatch.undo()
    assert_error(result, code, says=says)


async def test_more_environment_than_the_system_takes_is_too_long(make_tool, session_with) -> None:
    program = {"set_environment": {"BIG": "x" * 200_000}}
    session = await session_with(make_tool([*PYTHON, ""], program=program))

    assert_error(await session.call("tool", {}), "INVALID_INPUT", says="too long")


async def test_a_nul_in_a_fixed_word_is_the_manifests_fault(make_tool, session_with) -> None:
    session = await session_with(make_tool([*PYTHON, ""], {"kind": "literal", "value": "a\x00"}))

    assert_error(await session.call("tool", {}), "INTERNAL_ERROR", says="repair the binding")


# Programs that do not end by themselves.

FOREVER = "import time\nwhile True: time.sleep(60)"
STUBBORN = (
    "import os, signal, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "child = os.fork()\n"
    "if child == 0:\n"
    "    time.sleep(60)\n"
    "print('up', flush=True)\n"
    "time.sleep(60)"
)


async def run_python(code: str, **more: Any) -> process.Ended:
    options = {"cwd": "/", "environment": {}, "stdin": None, "max_bytes": 1_000_000, **more}
    return await run([*PYTHON, code], **options)


async def test_a_deadline_ends_the_program_and_says_that_nobody_knows_what_it_did(make_tool, session_with) -> None:
    writes = await session_with(make_tool([*PYTHON, FOREVER], annotations=Annotations(destructive=True)))
    error = error_in(await writes.call("tool", {}, timeout_s=0.3), "TIMEOUT")
    assert error.details["retry"] == "unknown"

    reads = await session_with(make_tool([*PYTHON, FOREVER]))
    assert error_in(await reads.call("tool", {}, timeout_s=0.3), "TIMEOUT").details["retry"] == "same"


async def test_what_ignores_sigterm_is_killed_with_what_it_started(monkeypatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.05)
    started = trio.current_time()

    with trio.move_on_after(0.4) as scope:
        await run_python(STUBBORN)

    assert scope.cancelled_caught
    assert trio.current_time() - started < 5


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the kernel does not list children")
@pytest.mark.parametrize("handler", ["SIG_IGN", "SIG_DFL"])
async def test_what_left_the_group_ends_with_a_program_that_is_ended(monkeypatch, handler: str) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.05)
    code = (
        "import os, signal, time\n"
        f"signal.signal(signal.SIGTERM, signal.{handler})\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0: os.setpgid(0, 0)\n"
        "time.sleep(60)"
    )

    with trio.move_on_after(0.3) as scope:
        await run_python(code)

    assert scope.cancelled_caught


async def test_what_heeds_sigterm_may_clean_up(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(process, "GRACE_S", 10)
    code = (
        "import pathlib, signal, sys, time\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(tmp_path / 'clean')!r}).touch(), sys.exit()))\n"
        f"pathlib.Path({str(tmp_path / 'up')!r}).touch()\n"
        "time.sleep(60)"
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_python, code)
        while not (tmp_path / "up").exists():
            await trio.sleep(0.01)
        nursery.cancel_scope.cancel()

    assert (tmp_path / "clean").exists()


async def test_a_program_that_closes_its_outputs_and_stays_is_ended_by_the_deadline() -> None:
    code = "import os, time\nos.close(1)\nos.close(2)\ntime.sleep(60)"

    with trio.move_on_after(0.4) as scope:
        await run_python(code)

    assert scope.cancelled_caught


@pytest.mark.parametrize("stream", [1, 2])
async def test_a_program_that_writes_without_end_is_ended(monkeypatch, stream: int) -> None:
    monkeypatch.setattr(process, "MAX_STDERR", 1_000_000)
    code = f"import os\nwhile True: os.write({stream}, b'x' * 65536)"

    ended = await run_python(code, max_bytes=1_000_000)

    assert ended.too_much
    assert len(ended.stdout) < 1_200_000
    assert len(ended.stderr) <= process.KEPT_STDERR


async def test_too_much_output_is_told_with_the_bound(make_tool, session_with) -> None:
    code = "print('x' * 5000)"
    session = await session_with(make_tool([*PYTHON, code], output={"max_bytes": 4_000}))
    error = error_in(await session.call("tool", {}), "UPSTREAM_ERROR", says="more than 4,000 bytes")
    assert (error.details["reason"], error.details["retry"]) == ("too_much_output", "changed")

    tool = make_tool([*PYTHON, code], output={"max_bytes": 4_000}, annotations=Annotations(destructive=True))
    error = error_in(await (await session_with(tool)).call("tool", {}), "UPSTREAM_ERROR")
    assert error.details["retry"] == "unknown"


async def test_a_background_child_that_holds_the_output_is_ended_and_not_waited_for() -> None:
    code = "import os, time\nif os.fork() == 0: time.sleep(60)\nelse: os.write(1, b'done'); os._exit(0)"

    with trio.fail_after(30):
        ended = await run_python(code, stdin=b"x" * 1_000_000)

    assert (ended.status, ended.stdout) == (0, b"done")


async def test_a_background_child_that_closed_its_outputs_is_ended_too() -> None:
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.closerange(0, 10); time.sleep(60)\n"
        "os.write(1, b'done'); os._exit(0)"
    )

    assert (await run_python(code)).stdout == b"done"


async def test_what_left_the_group_is_not_waited_for(tmp_path) -> None:
    note = tmp_path / "pid"
    code = (
        "import os, time\n"
        "r, w = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); os.write(w, b'!'); time.sleep(60)\n"
        "else:\n"
        "    os.read(r, 1); os.write(1, b'done'); os._exit(0)"
    ).replace("os.setsid();", f"os.setsid(); open({str(note)!r}, 'w').write(str(os.getpid()));")

    with trio.fail_after(30):
        ended = await run_python(code)

    assert ended.stdout == b"done"
    os.kill(int(note.read_text()), signal.SIGKILL)  # the documented limit: what calls setsid is its own


async def test_the_last_words_are_kept_and_no_half_of_what_was_dropped() -> None:
    ended = await run_python("import sys; sys.stderr.write('a' * 50_000 + 'the end\\xfc')")

    assert ended.stderr.endswith("the end\xfc")
    assert len(ended.stderr.encode()) <= process.KEPT_STDERR * 7 // 8 + 2
    assert (await run_python("import sys; sys.stderr.write('short')")).stderr == "short"


async def test_where_the_kernel_has_no_pidfd_the_end_is_looked_for(monkeypatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)

    assert (await run_python("print('ran')")).stdout == b"ran\n"
    with trio.move_on_after(0.3) as scope:
        await run_python(FOREVER)
    assert scope.cancelled_caught


async def test_many_calls_at_once_mix_nothing_up(make_tool, session_with) -> None:
    session = await session_with(make_tool([*PYTHON, "import sys; print(sys.argv[1])"], OPTION))
    results: dict[int, Any] = {}

    async def one(number: int) -> None:
        results[number] = await session.call("tool", {"a": number})

    async with trio.open_nursery() as nursery:
        for number in range(20):
            nursery.start_soon(one, number)

    assert {n: assert_ok(r).data for n, r in results.items()} == {n: {"result": f"--a={n}\n"} for n in range(20)}


async def test_cancelling_many_leaves_nothing() -> None:
    tasks = trio.lowlevel.current_statistics().tasks_living
    with trio.move_on_after(0.3):
        async with trio.open_nursery() as nursery:
            for _ in range(8):
                nursery.start_soon(run_python, FOREVER)

    assert trio.lowlevel.current_statistics().tasks_living == tasks
