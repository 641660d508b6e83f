"""Programs that mean no good: real children that hang, flood, hide and die. Nothing of them is left, and nothing of the
host is told."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from pegboard.testing import assert_error, assert_ok
from pegboard_manifest import plugin
from pegboard_manifest.bindings.subprocess import call

pytestmark = pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups are POSIX's")

MARK = f"pegboard-faults-{os.getpid()}"
SECRET = "s3cret-of-the-host/with=signs"
SOON_S = 50.0


def living():
    """Everything that carries the mark, wherever it hangs, but for what has ended and waits to be taken in by init."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs /proc")
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if MARK in (folder / "cmdline").read_text(errors="replace") and "Z" not in state_of(folder):
                found.append(folder.name)
    return found


def state_of(folder):
    return (folder / "stat").read_text().rpartition(")")[2].split()[0]


@pytest.fixture
def call_of(host_with, tmp_path):
    """`await call_of(code, ...)` gives what calls a program of this Python code."""

    async def make(code="", *, argv0=None, timeout_ms=20_000, parser="text", output=None, program=None, **binding):
        tool = {
            "id": "program:p",
            "name": "run",
            "description": "Run it.",
            "category": "read",
            "risk": "low",
            "idempotency": "idempotent",
            "timeout_ms": timeout_ms,
            "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
            "examples": [{"input": {}}],
            "binding": {
                "kind": "subprocess",
                "program": "p",
                "arguments": [],
                "output": {"parser": parser, **(output or {})},
                **binding,
            },
        }
        argv0 = argv0 or [sys.executable, "-I", "-S", "-X", MARK, "-c", f"import os, signal, sys, time\n{code}"]
        document = {
            "manifest_version": "1.0",
            "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
            "project": {"name": "Faults", "runtime": "other", "execution_model": "subprocess"},
            "programs": {"p": {"argv0": argv0, **(program or {})}},
            "tools": [tool],
        }
        folder = tmp_path / "board"
        folder.mkdir(exist_ok=True)
        file = folder / "m.json"
        file.write_text(json.dumps(document))
        host = await host_with(plugin, config={"plugins": {"manifest": {"files": [str(file)]}}})
        session = host.session()

        async def run():
            with trio.fail_after(SOON_S):
                return await session.call("run", {})

        return run

    return make


async def all_gone():
    with trio.fail_after(SOON_S):
        while living():
            await wait_all_tasks_blocked(0.01)


HANGS = {
    "closed its outputs": "os.close(1); os.close(2); time.sleep(60)",
    "ignores the end": "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('x', flush=True); time.sleep(60)",
    "stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "left its group": "os.fork() or (os.setsid(), time.sleep(60)); time.sleep(60)",
    "leads a family": """
def family(depth):
    for _ in range(3):
        if depth and not os.fork():
            family(depth - 1)
            time.sleep(60)
family(3)
time.sleep(60)""",
    "reads what nobody writes": "sys.stdin.read(); r, w = os.pipe(); os.read(r, 1)",
}


@pytest.mark.parametrize("how", HANGS)
async def test_a_program_that_hangs_ends_with_its_deadline(call_of, how):
    call = await call_of(HANGS[how], timeout_ms=300)
    assert_error(await call(), "TIMEOUT")
    await all_gone()


FLOODS = {
    "standard output": "while True: os.write(1, b'x' * 65536)",
    "standard error": "while True: os.write(2, b'x' * 65536)",
    "both": "while True: os.write(1, b'x' * 65536); os.write(2, b'x' * 65536)",
    "a child's": "os.fork()\nwhile True: os.write(1, b'x' * 65536)",
}


@pytest.mark.parametrize("where", FLOODS)
async def test_a_flood_is_ended(call_of, where):
    call = await call_of(FLOODS[where], output={"max_bytes": 200_000})
    assert_error(await call(), "UPSTREAM_ERROR", says="more than 200,000 bytes")
    await all_gone()


async def test_who_holds_a_pipe_behind_a_program_that_ended_holds_nothing_up(call_of):
    call = await call_of("print('said', flush=True)\nif not os.fork(): time.sleep(60)")
    assert assert_ok(await call()).data == {"result": "said\n"}
    await all_gone()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("os._exit(255)", "status 255"),
        ("sys.stderr.write('x' * 10**6 + chr(27) + '[2J' + chr(0x202e)); sys.exit(3)", "status 3"),
        ("os.write(2, b'\\xff\\xfe' * 1000); sys.exit(3)", "status 3"),
        ("raise RuntimeError('no good')", "RuntimeError: no good"),
    ],
)
async def test_however_a_program_fails_it_is_said_in_clean_words(call_of, code, says):
    error = assert_error(await (await call_of(code))(), "UPSTREAM_ERROR", says=says).error
    assert len(error.message) < 1000
    assert error.message.isprintable()
    assert not {"\x1b", "\u202e"} & set(str(error.to_json()))


async def test_words_on_standard_error_are_no_error(call_of):
    call = await call_of("sys.stderr.write('warning'); print('{}')", parser="json")
    assert assert_ok(await call()).data == {}


@pytest.mark.parametrize(
    ("parser", "code"),
    [
        ("json", "os.write(1, b'{\"a\": \\xff}')"),
        ("json", "print('[' * 100000)"),
        ("json", "print('NaN')"),
        ("json", "pass"),
        ("jsonl", "print('{}'); print('{')"),
        ("csv", "os.write(1, b'a\\n\\xff')"),
    ],
)
async def test_what_is_not_an_output_of_its_kind_is_an_error(call_of, parser, code):
    error = assert_error(await (await call_of(code, parser=parser))(), "UPSTREAM_ERROR").error
    assert error.details["executed"]


@pytest.mark.parametrize(
    "what", ["missing", "../outside", "folder", "pipe", "dangling", "plain", "empty", "no_interpreter", "-x", "loop"]
)
async def test_what_is_not_a_program_is_not_started_and_no_path_is_told(call_of, tmp_path, what):
    folder = tmp_path / "board"
    folder.mkdir()
    (folder / "folder").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to(folder / "nowhere")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "plain").write_text("#!/bin/sh\necho never\n")
    for name, text in (("empty", ""), ("no_interpreter", "#!/no/such/interpreter\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    word = what if what.startswith(("..", "-")) else f"./{what}"
    call = await call_of(argv0=[word])
    error = assert_error(await call(), "UPSTREAM_ERROR").error
    assert error.details["executed"] is False
    assert str(tmp_path) not in str(error.to_json())


async def test_a_program_is_found_by_a_link_and_beside_its_manifest(call_of, tmp_path):
    folder = tmp_path / "board"
    folder.mkdir()
    (folder / "real").write_text("#!/bin/sh\necho found\n")
    (folder / "real").chmod(0o755)
    (folder / "linked").symlink_to("real")
    assert assert_ok(await (await call_of(argv0=["./linked"]))()).data == {"result": "found\n"}


async def test_no_secret_of_the_environment_is_told(call_of, monkeypatch, caplog):
    """Invariant: the value of a variable that is named like a secret is in no result, no error, no log line."""
    monkeypatch.setenv("FAULTS_API_KEY", SECRET)
    monkeypatch.setenv("FAULTS_OTHER", "not-for-programs-at-all")
    seen = {"environment": ["FAULTS_API_KEY"]}
    codes = [
        "print(os.environ)",
        "sys.stderr.write(str(os.environ)); sys.exit(1)",
        "raise RuntimeError(os.environ['FAULTS_API_KEY'])",
        "sys.stderr.write('x' * 20000 + os.environ['FAULTS_API_KEY'] * 10); sys.exit(1)",
        "s = os.environ['FAULTS_API_KEY']; sys.stderr.write(s[:9] + chr(0x200b) + s[9:]); sys.exit(1)",
    ]
    for code in codes:
        with caplog.at_level(logging.DEBUG):
            result = await (await call_of(code, program=seen))()
        said = json.dumps(result.to_json()) + caplog.text
        assert SECRET not in said
        assert "not-for-programs" not in said


async def test_paths_of_the_host_are_not_told(call_of, tmp_path):
    code = "sys.stderr.write(os.getcwd() + '/x ' + sys.executable + ' /etc/shadow'); sys.exit(1)"
    error = assert_error(await (await call_of(code))(), "UPSTREAM_ERROR").error
    said = str(error.to_json())
    for path in (str(tmp_path), sys.prefix, "/etc/shadow"):
        assert path not in said


async def test_no_more_children_at_once_than_the_host_can_bear(call_of, monkeypatch):
    running, most, free = 0, 0, trio.Event()
    run_one = call.run

    async def counted(*words, **said):
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            await free.wait()
            return await run_one(*words, **said)
        finally:
            running -= 1

    monkeypatch.setattr(call, "run", counted)
    run = await call_of("print('done')")
    results = []

    async def once():
        results.append(await run())

    async with trio.open_nursery() as nursery:
        for _ in range(40):
            nursery.start_soon(once)
        await wait_all_tasks_blocked(0.01)
        assert running == call.MAX_CHILDREN
        free.set()
    assert [one.ok for one in results] == [True] * 40
    assert most == call.MAX_CHILDREN


async def test_calls_that_are_cancelled_at_any_moment_leave_nothing(call_of):
    call = await call_of("print('x', flush=True); time.sleep(60)", timeout_ms=60_000)
    before = len(os.listdir("/proc/self/fd"))
    for moment in range(25):
        with trio.move_on_after(moment * 0.002):
            await call()
    await all_gone()
    assert len(os.listdir("/proc/self/fd")) <= before
