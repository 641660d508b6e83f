"""Commands that run for real, in every isolation that this machine has."""

from __future__ import annotations

import codecs
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import open_host
from pegboard.testing import assert_error, assert_ok
from pegboard_confine import kernel
from pegboard_system import _running, _supervisor
from pegboard_system._isolation import probe
from pegboard_system.plugin import SystemPlugin

FOUND = probe()


def levels(*names: str) -> list[Any]:
    """These isolations as parameters; skipped are those that this machine lacks."""
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(name not in FOUND.levels, reason=f"no {name} here: {FOUND.why.get(name)}"),
        )
        for name in names
    ]


ISOLATED = levels("bubblewrap", "landlock")
HERE = [*ISOLATED, *levels("rlimits")]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")


async def execute(level: str, command: Any, /, timeout_s: float = 20, **permissions: Any) -> Any:
    said = {"unjudged_commands": ["sh", "bash", "tail"], "allowed_commands": ["cat", "echo"], "least_level": level}
    config = {"tools": {"execute_command": said | permissions}}
    async with open_host(config, plugins=[SystemPlugin((level,))]) as host:  # type: ignore[arg-type]
        return await host.session().call("execute_command", {"command": command, "timeout": timeout_s})


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def marker() -> str:
    """A number of seconds that no other process sleeps."""
    return f"9{secrets.randbelow(10**8):08}.5"


def alive(marker: str) -> list[str]:
    """Processes that have the marker among their words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if marker.encode() in words and b"sleep" in words[0]:
            found.append(path.parent.name)
    return found


BACKGROUND = {
    "a background job": "sleep {} & echo begun",
    "a session of its own": "setsid sleep {} & echo begun",
    "a daemon, forked twice": "(setsid sh -c 'sleep {} >/dev/null 2>&1 & sleep {} >/dev/null 2>&1' &) ; echo begun",
    "one that ignores signals": "(trap '' HUP TERM INT; setsid sleep {} >/dev/null 2>&1 &) ; echo begun",
}


@LINUX
@pytest.mark.parametrize("level", HERE)
@pytest.mark.parametrize("how", BACKGROUND)
async def test_nothing_that_a_command_left_behind_outlives_it(level: str, how: str, work: Path, marker: str) -> None:
    result = await execute(level, ["sh", "-c", BACKGROUND[how].replace("{}", marker)])
    assert_ok(result, text="begun")
    assert alive(marker) == []


@LINUX
@pytest.mark.parametrize("level", HERE)
async def test_nothing_outlives_a_timeout(level: str, work: Path, marker: str, in_time: Any) -> None:
    script = f"setsid sleep {marker} & (setsid sleep {marker} &) ; echo begun; sleep {marker}"
    with in_time():
        result = await execute(level, ["sh", "-c", script], timeout_s=1)
        assert_error(result, "TIMEOUT", says="did not end within 1 s")
        assert result.error.details["stdout"] == "begun\n"
        assert result.error.details["level"] == level
    assert alive(marker) == []


@LINUX
@pytest.mark.parametrize("level", HERE)
async def test_nothing_outlives_a_cancelled_call(level: str, work: Path, marker: str) -> None:
    said = {"unjudged_commands": ["sh"], "least_level": level}
    plugins = [SystemPlugin((level,))]  # type: ignore[arg-type]
    async with open_host({"tools": {"execute_command": said}}, plugins=plugins) as host:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                command = ["sh", "-c", f"setsid sleep {marker} & sleep {marker}"]
                nursery.start_soon(host.session().call, "execute_command", {"command": command})
                with trio.fail_after(30):
                    while len(alive(marker)) < 2:
                        await trio.sleep(0.01)  # real processes: there is nothing else to wait for
                scope.cancel()
    assert alive(marker) == []


HOST = """
import sys, trio
from pegboard import open_host
from pegboard_system.plugin import SystemPlugin

async def main(level, marker):
    said = {"unjudged_commands": ["sh"], "least_level": level}
    async with open_host({"tools": {"execute_command": said}}, plugins=[SystemPlugin((level,))]) as host:
        command = ["sh", "-c", f"setsid sleep {marker} & sleep {marker}"]
        await host.session().call("execute_command", {"command": command})

trio.run(main, *sys.argv[1:])
"""


@LINUX
@pytest.mark.parametrize("level", HERE)
def test_nothing_outlives_a_host_that_is_killed(level: str, work: Path, marker: str) -> None:
    host = subprocess.Popen([sys.executable, "-c", HOST, level, marker])
    try:
        wait_until(lambda: len(alive(marker)) >= 2)
    finally:
        host.kill()
        host.wait()
    wait_until(lambda: alive(marker) == [])


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for processes that are nobody's children here: looking is all that can be done."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


@LINUX
@pytest.mark.parametrize("level", HERE)
async def test_calls_leave_no_descriptor_thread_or_child(level: str, work: Path) -> None:
    def counts() -> tuple[int, int, int]:
        children = list(Path("/proc/self/task").glob("*/children"))
        ours = [thread for thread in threading.enumerate() if not thread.name.startswith("Trio thread")]
        return len(os.listdir("/proc/self/fd")), len(ours), sum(len(path.read_text().split()) for path in children)

    said = {"unjudged_commands": ["sh"], "least_level": level}
    plugins = [SystemPlugin((level,))]  # type: ignore[arg-type]
    async with open_host({"tools": {"execute_command": said}}, plugins=plugins) as host:
        session = host.session()
        await session.call("execute_command", {"command": ["sh", "-c", "echo x"]})
        before = counts()
        for command, timeout_s in ((["sh", "-c", "echo x; false"], 5), (["sh", "-c", "sleep 99"], 0.2), ("nothing", 5)):
            await session.call("execute_command", {"command": command, "timeout": timeout_s})
        assert counts() == before


@pytest.mark.parametrize("level", HERE)
async def test_both_outputs_are_drained_at_once_and_capped(level: str, work: Path) -> None:
    script = "(head -c 3000000 /dev/zero | tr '\\0' a) & (head -c 3000000 /dev/zero | tr '\\0' b >&2) & wait; exit 3"
    result = assert_ok(await execute(level, ["sh", "-c", script], max_output_bytes=5_000))
    assert (result.data["exit_code"], result.data["truncated"]) == (3, True)
    assert (result.data["stdout"], result.data["stderr"]) == ("a" * 5_000, "b" * 5_000)
    assert "there was more output" in result.text


@pytest.mark.parametrize("level", HERE)
@pytest.mark.parametrize(
    ("script", "output", "code"),
    [
        ("exec yes", "stdout", 128 + signal.SIGPIPE),
        ("exec yes >&2", "stderr", 128 + signal.SIGPIPE),
        ("trap '' PIPE; while :; do yes 2>/dev/null; done", "stdout", 128 + signal.SIGKILL),
    ],
)
async def test_a_command_that_writes_without_end_is_ended(
    level: str, script: str, output: str, code: int, work: Path
) -> None:
    result = assert_ok(await execute(level, ["sh", "-c", script], max_output_bytes=5_000))
    assert (result.data["exit_code"], result.data["truncated"]) == (code, True)
    assert len(result.data[output]) == 5_000
    assert "the command was ended" in result.text


@pytest.mark.parametrize("level", HERE)
async def test_a_command_that_goes_on_silently_after_too_much_output_is_ended_too(
    level: str, work: Path, marker: str
) -> None:
    result = assert_ok(
        await execute(level, ["sh", "-c", f"head -c 9999 /dev/zero; sleep {marker}"], max_output_bytes=50)
    )
    assert (result.data["exit_code"], result.data["truncated"]) == (137, True)
    assert alive(marker) == []


@pytest.mark.parametrize("level", HERE)
async def test_a_command_finds_an_empty_input_a_clean_environment_and_a_folder_of_its_own(
    level: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "hidden")
    monkeypatch.setenv("SHARED_WITH_COMMANDS", "shown")
    script = (
        'cat; env; echo kept > "$TMPDIR/file"; cat "$HOME/file"; chmod 000 "$TMPDIR/file" 2>/dev/null; yes | head -n 1'
    )
    result = assert_ok(await execute(level, ["sh", "-c", script], environment=["SHARED_WITH_COMMANDS", "NOT_SET"]))
    lines = result.data["stdout"].splitlines()
    assert result.data["stderr"] == ""  # a broken pipe ends a program, as in a shell
    assert lines[-2:] == ["kept", "y"]
    names = {line.partition("=")[0] for line in lines[:-2]}
    assert names <= {"PATH", "LANG", "HOME", "TMPDIR", "PWD", "TZ", "SHARED_WITH_COMMANDS", "SHLVL", "OLDPWD", "_"}
    assert "SHARED_WITH_COMMANDS=shown" in lines
    home = next(line for line in lines if line.startswith("HOME=")).partition("=")[2]
    assert home == "/tmp" if level == "bubblewrap" else not Path(home).exists()


@pytest.mark.parametrize("level", HERE)
async def test_what_is_not_utf8_is_escaped_and_marked(level: str, work: Path) -> None:
    result = assert_ok(await execute(level, ["sh", "-c", "printf 'a\\\\b\\377\\303\\251'"]))
    assert (result.data["stdout"], result.data["encoding"]) == ("a\\\\b\\xffé", "escaped")
    result = assert_ok(await execute(level, ["sh", "-c", "printf 'a\\\\b\\303\\251'"]))
    assert (result.data["stdout"], result.data["encoding"]) == ("a\\bé", "utf-8")


@pytest.mark.parametrize("level", HERE)
@pytest.mark.parametrize(
    ("script", "limits"),
    [
        ('head -c 3000000 /dev/zero > "$TMPDIR/x"', {"max_file_bytes": 1_000_000}),
        ("x=$(head -c 400000000 /dev/zero | tr '\\0' a)", {"max_memory_bytes": 100_000_000}),
    ],
)
async def test_files_and_memory_are_bounded(level: str, script: str, limits: dict[str, int], work: Path) -> None:
    result = assert_ok(await execute(level, ["sh", "-c", script], **limits))
    assert result.data["exit_code"] != 0


async def test_processor_time_is_bounded(work: Path) -> None:
    level = FOUND.levels[-1]
    result = assert_ok(await execute(level, ["sh", "-c", "while :; do :; done"], max_cpu_s=1))
    assert result.data["exit_code"] in (128 + signal.SIGKILL, 128 + signal.SIGXCPU)


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="the kernel does not count root's processes")
@pytest.mark.parametrize("level", HERE)
async def test_processes_are_bounded(level: str, work: Path) -> None:
    script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 1 & done; wait"
    result = assert_ok(await execute(level, ["sh", "-c", script], max_processes=10))
    assert "fork" in result.data["stderr"].lower()


@pytest.mark.parametrize("level", ISOLATED)
@pytest.mark.parametrize("network", [False, True])
async def test_the_network_is_there_only_where_it_is_allowed(level: str, network: bool, work: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        script = f"echo hello > /dev/tcp/127.0.0.1/{server.getsockname()[1]}"
        result = assert_ok(await execute(level, ["bash", "-c", script], network=network))
        assert (result.data["exit_code"] == 0) == network
        if network:
            server.accept()[0].close()
        else:
            with pytest.raises(TimeoutError):
                server.accept()


@pytest.mark.parametrize("level", ISOLATED)
async def test_only_what_is_allowed_is_seen_and_only_what_is_writable_is_written(level: str, work: Path) -> None:
    for name in ("read", "write", "else"):
        (work / name).mkdir()
        (work / name / "file").write_text(name)
    script = (
        "cd ..; cat read/file write/file else/file; echo x > read/made; echo x > write/made; echo x > else/made; "
        "cat /etc/passwd; ls /root; mv write/file write/other; exit 0"
    )
    paths = {"allowed_paths": ["read"], "writable_paths": ["write"]}
    result = assert_ok(await execute(level, ["sh", "-c", script], **paths))
    assert result.data["stdout"] == "readwrite"
    made = sorted(str(path.relative_to(work)) for path in work.rglob("*") if path.is_file())
    assert made == ["else/file", "read/file", "write/made", "write/other"]


@pytest.mark.skipif("bubblewrap" not in FOUND.levels, reason="bubblewrap does not work here")
async def test_what_is_denied_inside_of_what_is_allowed_is_hidden(work: Path) -> None:
    for name in ("kept", "open"):
        (work / name).mkdir()
        (work / name / "key").write_text(f"key of {name}\n")
    (work / "key").write_text("a single key\n")
    denied = {"denied_paths": ["kept", "key"]}
    result = assert_ok(await execute("bubblewrap", ["sh", "-c", "cat */key key; ls -A kept; exit 0"], **denied))
    assert result.data["stdout"] == "key of open\n"


@LINUX
@pytest.mark.parametrize("level", HERE)
async def test_a_command_has_no_capability_even_if_the_host_is_root(level: str, work: Path) -> None:
    if level == "landlock":  # which shows no /proc
        (work / "file").touch()
        result = assert_ok(await execute(level, ["sh", "-c", "chown 1 file || exit 7"], writable_paths=["."]))
        assert result.data["exit_code"] == 7
        return
    result = assert_ok(await execute(level, ["sh", "-c", "cat /proc/self/status"]))
    sets = re.findall(r"Cap(?:Prm|Eff|Bnd|Amb):\t(\w+)", result.data["stdout"])
    assert len(sets) == 4
    assert {int(held, 16) for held in sets} == {0} or os.geteuid() != 0
    assert "NoNewPrivs:\t1" in result.data["stdout"]


@LINUX
async def test_a_command_that_kills_its_supervisor_is_not_taken_for_one_that_ended(work: Path, marker: str) -> None:
    result = await execute("rlimits", ["sh", "-c", f"sleep {marker} & kill -9 $PPID; sleep {marker}"])
    assert_error(result, "OUTCOME_UNKNOWN")
    wait_until(lambda: alive(marker) == [])


@pytest.mark.skipif(kernel.abi_version() < 6, reason="before Landlock 6 signals are not scoped")
async def test_under_landlock_a_command_cannot_signal_others(work: Path) -> None:
    result = assert_ok(await execute("landlock", ["sh", "-c", f"kill -9 $PPID; kill -9 {os.getpid()}; echo here"]))
    assert result.data["stdout"] == "here\n"


@pytest.mark.parametrize("level", HERE)
async def test_what_cannot_be_started_says_so_in_the_log_alone(
    level: str, work: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = work / "program"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    result = await execute(level, ["./program"], allowed_commands=["./program"])
    assert_error(result, "UPSTREAM_ERROR", says="could not be started")
    assert str(work) not in result.text
    assert "did not start" in caplog.text


async def test_a_supervisor_that_fails_has_started_nothing(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_running, "SUPERVISOR", str(work / "not there"))
    assert_error(await execute("rlimits", "cat"), "UPSTREAM_ERROR", says="could not be started")
    monkeypatch.setattr(sys, "executable", str(work / "no interpreter"))
    assert_error(await execute("rlimits", "cat"), "UPSTREAM_ERROR", says="could not be started")


# the parts --------------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(st.binary(max_size=60), st.binary(max_size=60), st.booleans())
def test_text_of_any_bytes_can_be_turned_back(stdout: bytes, stderr: bytes, cut: bool) -> None:
    out, err, encoding = _running.as_text(stdout, stderr, cut=cut)
    if encoding == "utf-8":
        back = [out.encode(), err.encode()]
    else:
        pattern = re.compile(rb"\\(\\|x[0-9a-f]{2})")
        decoded = [pattern.sub(_unescaped, text.encode()) for text in (out, err)]
        back = decoded
    for given_bytes, found in zip((stdout, stderr), back, strict=True):
        assert given_bytes.startswith(found)
        assert len(given_bytes) - len(found) <= (3 if cut else 0)


def _unescaped(match: re.Match[bytes]) -> bytes:
    return b"\\" if match[1] == b"\\" else codecs.decode(match[1][1:], "hex")


def test_half_a_character_at_a_cut_is_left_out() -> None:
    assert _running.as_text("aé".encode()[:-1], "€".encode()[:2], cut=True) == ("a", "", "utf-8")
    assert _running.as_text("aé".encode(), b"", cut=True) == ("aé", "", "utf-8")
    assert _running.as_text("aé".encode()[:-1], b"", cut=False) == ("a\\xc3", "", "escaped")


def test_a_folder_that_a_command_locked_is_removed(tmp_path: Path) -> None:
    scratch = Path(_running.make_scratch())
    (scratch / "a" / "b").mkdir(parents=True)
    (scratch / "a" / "b" / "file").touch()
    (scratch / "link").symlink_to(tmp_path)
    (scratch / "a" / "b").chmod(0)
    (scratch / "a").chmod(0)
    deep = os.open(scratch, os.O_RDONLY)
    for _ in range(1_500):  # deeper than a recursion goes, and than a path is long
        os.mkdir("nested-folder", dir_fd=deep)
        below = os.open("nested-folder", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    scratch.chmod(0)
    _running.remove_scratch(str(scratch))
    assert not scratch.exists()
    assert tmp_path.exists()
    _running.remove_scratch(str(scratch))  # it is gone already, and that is all that was asked for


@LINUX
def test_the_supervisor_counts_and_finds_processes() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        assert child.pid in _supervisor.descendants()
        assert _supervisor.count_tasks() >= 2
        child.kill()


@LINUX
def test_the_supervisor_tells_how_a_child_ended_and_leaves_it_to_be_reaped() -> None:
    control, host = os.pipe()
    try:
        for script, code in (("exit 7", 7), ("kill -TERM $$", 128 + signal.SIGTERM)):
            child = os.posix_spawn("/bin/sh", ["sh", "-c", script], {})
            assert _supervisor.wait(child, control) == code
            assert os.waitpid(child, 0)[0] == child
        child = os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 60"], {})
        os.close(host)
        assert _supervisor.wait(child, control) is None
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    finally:
        os.close(control)


@LINUX
def test_without_a_descriptor_of_the_child_it_is_looked_at_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    control, host = os.pipe()
    child = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 3"], {})
    assert _supervisor.wait(child, control) == 3
    os.waitpid(child, 0)
    os.close(control)
    os.close(host)


@LINUX
def test_the_supervisor_ends_all_until_none_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    child = os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 60"], {}, setsid=True)
    real = os.waitpid
    # This process may have other children, which are nobody's business here.
    monkeypatch.setattr(os, "waitpid", lambda _, options: real(child, options))
    monkeypatch.setattr(_supervisor, "descendants", lambda: [child])
    assert _supervisor.end_all(child, None) == 128 + signal.SIGKILL


@pytest.mark.skipif("landlock" not in FOUND.levels, reason="Landlock does not work here")
def test_landlock_leaves_a_thread_what_it_is_given(tmp_path: Path) -> None:
    """Landlock and seccomp hold one thread and what it starts: a thread of the test's own can be held."""
    for name in ("read", "write", "else"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    seen: dict[str, Any] = {}

    def attempt(what: str, do: Callable[[], Any]) -> None:
        try:
            seen[what] = do()
        except OSError as problem:
            seen[what] = type(problem)

    def held() -> None:
        readable = [str(tmp_path / "read"), str(tmp_path / "not there")]
        kernel.restrict(readable, [str(tmp_path / "write")], network=False)
        attempt("read", (tmp_path / "read" / "file").read_text)
        attempt("read else", (tmp_path / "else" / "file").read_text)
        attempt("write", lambda: (tmp_path / "write" / "new").write_text("12"))
        attempt("write read", lambda: (tmp_path / "read" / "new").write_text("12"))
        attempt("truncate", lambda: os.truncate(tmp_path / "else" / "file", 0))
        attempt("chmod else", lambda: (tmp_path / "else" / "file").chmod(0o777))
        attempt("xattr else", lambda: os.setxattr(tmp_path / "else" / "file", "user.x", b"x"))
        with (tmp_path / "write" / "new").open("w") as mine:
            attempt("chmod mine", lambda: os.chmod(mine.fileno(), 0o600))
        attempt("null", lambda: Path("/dev/null").write_text("12"))
        attempt("socket", lambda: socket.socket())

    thread = threading.Thread(target=held)
    thread.start()
    thread.join()
    refused = PermissionError
    assert seen == {
        "read": "read", "read else": refused, "write": 2, "write read": refused, "truncate": refused, "null": 2,
        "socket": refused, "chmod else": refused, "xattr else": refused, "chmod mine": None,
    }  # fmt: skip
    assert (tmp_path / "else" / "file").read_text() == "else"


def test_where_landlock_is_not_there_nothing_is_started_under_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel.platform, "system", lambda: "Other")
    assert kernel.abi_version() == 0
    with pytest.raises(OSError, match="older than"):
        kernel.restrict([], [], network=False)
    monkeypatch.setattr(kernel.platform, "machine", lambda: "other")
    with pytest.raises(OSError, match="architecture"):
        kernel.forbid(kernel.SOCKETS)
