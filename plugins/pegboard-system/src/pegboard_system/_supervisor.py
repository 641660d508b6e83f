"""The supervisor of one command: a process of its own, run as a script on the standard library alone.

It reads one line of JSON on its standard input, starts the command in a session of its own, and waits until the command
ends or its standard input does: the host closes it to end the command, and a host that dies closes it too. Then
it kills whatever is left. It is a child subreaper: whatever daemonises - forks twice, calls setsid - comes back to it,
so nothing that the command started outlives it. The last thing it does is to write how the command ended.

bubblewrap's `--die-with-parent` follows the *thread* that started it; threads of the host come and go, the only thread
of this process does not.
"""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH116, PTH123, PTH208

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
from typing import Any, NoReturn

TICK_S = 0.02
"""How often the command is looked at where the kernel cannot tell that it ended, in seconds."""


def main(status: int) -> int:  # pragma: no cover - runs in a process of its own
    """Run one command; `status` is the descriptor to which its end is written."""
    os.set_inheritable(status, False)
    job = json.loads(_read_line(0))
    _become_subreaper()
    if "RLIMIT_NPROC" in job["limits"]:
        job["limits"]["RLIMIT_NPROC"] += count_tasks()  # the kernel counts all of the user's, not the command's
    report, failure = os.pipe()  # ends when the command starts, or says why it did not
    held, gate = os.pipe()  # the command begins once it is said who it is: it may kill this process at once
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the forked child
        os.close(gate)
        if os.read(held, 1):
            _become(job, failure)
        os._exit(127)
    os.close(failure)
    os.close(held)
    _say(status, child=child)
    os.write(gate, b"!")
    os.close(gate)
    for output in (1, 2):
        os.close(output)  # their other ends must see when the command's own copies are gone
    problem = _read_all(report)
    if problem:
        os.waitpid(child, 0)
        _say(status, failed=problem.decode("utf-8", "replace"))
        return 0
    code = end_all(child, wait(child, 0))
    _say(status, exit_code=code)
    return 0


def _say(status: int, **what: Any) -> None:  # pragma: no cover - runs in a process of its own
    with contextlib.suppress(BrokenPipeError):  # the host is gone, or wants no answer any more
        os.write(status, json.dumps(what).encode() + b"\n")


def _read_line(descriptor: int) -> bytes:  # pragma: no cover - runs in a process of its own
    line = b""
    while not line.endswith(b"\n"):
        chunk = os.read(descriptor, 65536)
        if not chunk:
            raise SystemExit(1)  # nobody wants it any more
        line += chunk
    return line


def _read_all(descriptor: int) -> bytes:  # pragma: no cover - runs in a process of its own
    text = b""
    while chunk := os.read(descriptor, 65536):
        text += chunk
    os.close(descriptor)
    return text


def _become_subreaper() -> None:  # pragma: no cover - runs in a process of its own
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def _become(job: dict[str, Any], failure: int) -> NoReturn:  # pragma: no cover - runs in the forked child
    """Turn this process into the command, with nothing of ours but what the job says."""
    try:
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        for number in range(1, signal.NSIG):
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)  # Python ignores SIGPIPE and SIGXFSZ, and so would the command
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.umask(0o077)
        os.chdir(job["cwd"])
        import resource

        for name, value in job["limits"].items():
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            most = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (most, most))
        if sys.platform == "linux":
            _hold(job)
        os.execve(job["words"][0], job["words"], job["environment"])  # noqa: S606 - that no shell starts it is the point
    except BaseException as problem:  # noqa: BLE001 - a forked child has nobody to raise to
        os.write(failure, f"{type(problem).__name__}: {problem}".encode("utf-8", "replace")[:4000] or b"?")
    os._exit(127)


def _hold(job: dict[str, Any]) -> None:  # pragma: no cover - runs in the forked child
    """Take from this process what the command shall not have; what bubblewrap takes, it takes itself."""
    sys.path.append(job["kernel"])  # the folder of pegboard_confine, without the package: it has more than is needed
    landlock = importlib.import_module("kernel")
    if job["level"] == "bubblewrap":  # it loads the filter last, since it makes processes until then
        if job["alone"] or landlock.can_forbid():
            program = landlock.program_of(alone=job["alone"], namespaces=False, setuid=False)
            job["words"][1:1] = ["--seccomp", str(_pipe_of(program))]
        return
    landlock.drop_capabilities()
    if job["level"] == "landlock":
        landlock.restrict(job["readable"], job["writable"], network=job["network"])
    elif not job["network"]:
        with contextlib.suppress(OSError):
            landlock.forbid(landlock.SOCKETS)
    if job["alone"]:
        landlock.forbid(alone=True)


def _pipe_of(data: bytes) -> int:  # pragma: no cover - runs in the forked child
    """A descriptor from which `data` can be read, for what is started next; it has to fit into a pipe."""
    held, gate = os.pipe()
    os.write(gate, data)
    os.close(gate)
    os.set_inheritable(held, True)
    return held


def wait(child: int, control: int) -> int | None:
    """Wait until the child ends, and give its exit code; or until the control ends, and give None.

    The child stays a zombie: its number must not be another's while its group is killed.
    """
    poll = select.poll()
    poll.register(control, select.POLLIN)
    watched = None
    with contextlib.suppress(AttributeError, OSError):
        watched = os.pidfd_open(child)
        poll.register(watched, select.POLLIN)
    try:
        while True:
            ready = [descriptor for descriptor, _ in poll.poll(None if watched is not None else TICK_S * 1000)]
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return _code_of(child)
            if control in ready:
                return None
    finally:
        if watched is not None:
            os.close(watched)


def _code_of(child: int) -> int:
    found = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    assert found is not None
    return found.si_status if found.si_code == os.CLD_EXITED else 128 + found.si_status


def end_all(child: int, code: int | None) -> int:
    """Kill the command's group and every descendant, and wait until none is left; gives the child's exit code."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 128 + signal.SIGKILL if code is None else code
        if ended == child and code is None:
            code = os.waitstatus_to_exitcode(status)
            code = 128 - code if code < 0 else code
        if ended == 0:
            for one in descendants():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(one, signal.SIGKILL)
            select.select([], [], [], 0.001)


def count_tasks() -> int:
    """How many processes and threads this user has already; 0 where the kernel does not list them."""
    count = 0
    for number in _process_ids():
        with contextlib.suppress(OSError, ValueError, IndexError):
            if os.stat(f"/proc/{number}").st_uid == os.getuid():
                count += int(_stat_of(number)[17])
    return count


def _process_ids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _stat_of(number: int) -> list[bytes]:
    """The fields of `/proc/N/stat` behind the name, which may hold spaces and parentheses: state, parent, ..."""
    with open(f"/proc/{number}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()


def descendants() -> list[int]:
    """Every living process below this one, as the kernel lists them; none where it does not."""
    parents: dict[int, list[int]] = {}
    for number in _process_ids():
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = _stat_of(number)
            if fields[0] != b"Z":
                parents.setdefault(int(fields[1]), []).append(number)
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = parents.get(todo.pop(), [])
        found += below
        todo += below
    return found


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1])))
