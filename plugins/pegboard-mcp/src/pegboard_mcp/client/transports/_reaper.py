"""The reaper: a small process that ends the servers when the host is gone, whatever ended it.

The reaper is one small process for all servers of this process. The host holds the writing end of a pipe to it and
says which process groups live. When the pipe closes, be it by SIGKILL of the host, the reaper ends those groups: TERM,
a second, KILL. It has a session of its own, so Ctrl-C and hang-ups do not reach it.

Why not `PR_SET_PDEATHSIG`: it reaches the direct child alone, where `npx` and `uvx` start the real server as a
grandchild, it is sent when the *thread* that forked ends, and Linux alone has it. Why not a launcher for each server:
an interpreter for each costs memory and 10 ms. The reaper is `/bin/sh`, which starts in a millisecond and holds under
2 MB, and needs neither /proc nor prctl.

A server that was started and is not yet known to the reaper could be missed, so it waits: the shell that becomes the
server by `exec` first reads a line from its stdin, and the host writes that line after it told the reaper. A host
that dies before leaves an end of file, and the shell ends.

Where there is no `/bin/sh`, or a variable of the server has a name that shells drop, the server is started directly:
then one that ignores the end of its stdin is missed if the host is killed within that very millisecond. Whoever leaves
the group of the server (`setsid`) is not found. A child that the host forks without an exec holds the pipe open too:
the reaper then waits for that one's end.

A group that may be installing a package is asked with TERM like the others, and has ten seconds before KILL.
"""

from __future__ import annotations

import os
import subprocess
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHELL = "/bin/sh"
GATE = 'read -r pegboard_go && unset pegboard_go && exec "$@"'
GATE_OF_BOX = 'read -r pegboard_go && unset pegboard_go && "$@"; exit $?'
"""As `GATE`, but the shell stays: bubblewrap ends with its parent, and a thread of ours would be a short-lived one."""
GATE_NAME = "pegboard-gate"
"""`$0` of the gate: its own complaints begin with it."""

GRACE_S = 1
INSTALL_GRACE_S = 10
"""The grace of a group that may be installing a package: killed in the middle of that it leaves a broken cache."""

WATCH = f"""trap '' HUP INT QUIT TERM PIPE
live=' ' slow=' '
while read -r op group; do
  case $op in
    +) live="$live$group " ;;
    s) slow="$slow$group " ;;
    -) case $live in *" $group "*) live="${{live%% $group *}} ${{live#* $group }}" ;; esac
       case $slow in *" $group "*) slow="${{slow%% $group *}} ${{slow#* $group }}" ;; esac ;;
  esac
done
[ "$live$slow" = '  ' ] && exit 0
for group in $live $slow; do kill -TERM "-$group"; done
sleep {GRACE_S}
for group in $live; do kill -KILL "-$group"; done
left={INSTALL_GRACE_S - GRACE_S}
while [ $left -gt 0 ]; do
  still=
  for group in $slow; do kill -0 "-$group" && still=y; done
  [ -z "$still" ] && exit 0
  sleep 1
  left=$((left - 1))
done
for group in $slow; do kill -KILL "-$group"; done
"""

_lock = threading.Lock()
_users = 0
_groups: dict[int, str] = {}
_process: subprocess.Popen[bytes] | None = None
_pipe: int | None = None


def gated(argv: Sequence[str], env: Mapping[str, str], gate: str = GATE) -> list[str] | None:
    """The command behind the gate, or None where it must be started directly."""
    if not os.access(SHELL, os.X_OK) or not all(name.isidentifier() and name.isascii() for name in env):
        return None
    return [SHELL, "-c", gate, GATE_NAME, *argv]


def acquire() -> None:
    """Start the reaper unless it runs already."""
    global _users
    with _lock:
        _users += 1
        if _process is None or _process.poll() is not None:
            _start()


def _start() -> None:
    global _process, _pipe
    if _process is not None:
        _process.kill()  # it may only be stopped: it must not take the end of its pipe for ours
        _process.wait()
        _process = None
    if _pipe is not None:
        os.close(_pipe)
        _pipe = None
    if not os.access(SHELL, os.X_OK):
        return
    reading, writing = os.pipe()
    try:
        _process = subprocess.Popen(  # noqa: S603 - a fixed script
            [SHELL, "-c", WATCH, "pegboard-reaper"],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.defpath},
            start_new_session=True,
        )
    except OSError:
        os.close(writing)
        return
    finally:
        os.close(reading)
    _pipe = writing
    os.set_blocking(_pipe, False)  # one that does not read must not stop the host
    for group, op in _groups.items():
        os.write(_pipe, f"{op} {group}\n".encode())


def guard(group: int, *, gently: bool = False) -> None:
    """Have this process group ended when the host is gone; `gently`: it has `INSTALL_GRACE_S` for that."""
    with _lock:
        op = _groups[group] = "s" if gently else "+"
        _tell(f"{op} {group}\n")


def forget(group: int) -> None:
    """The group is no more."""
    with _lock:
        _groups.pop(group, None)
        _tell(f"- {group}\n")


def release(group: int | None) -> None:
    """Forget the group; with the last user the reaper ends. Bounded, but may block for milliseconds."""
    global _users, _process, _pipe
    if group is not None:
        forget(group)
    with _lock:
        _users -= 1
        if _users or _pipe is None or _process is None:
            return
        os.close(_pipe)
        process, _pipe, _process = _process, None, None
    try:
        process.wait(2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _tell(line: str) -> None:
    if _pipe is None:
        return
    try:
        os.write(_pipe, line.encode())
    except OSError:  # it was killed, or does not read: the next one is told of every group
        _start()
