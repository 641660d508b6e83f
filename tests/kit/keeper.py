"""Run a program for as long as somebody holds this one's standard input open.

    python keeper.py COMMAND [ARGUMENT ...]

The program gets a session of its own. When the input closes, however its holder ended, or on SIGTERM, the whole session
is killed; when the program ends by itself, so does this one, with its status. Where this one is killed, Linux kills the
program too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading

PR_SET_PDEATHSIG = 1
"""See prctl(2)."""


def main(command: list[str]) -> int:
    prctl = getattr(ctypes.CDLL(None), "prctl", None)  # looked up before the fork
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=prctl and (lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL)),
    )

    def kill(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)

    def read_to_the_end() -> None:
        while os.read(0, 4_096):  # not sys.stdin, whose lock a thread may not hold when Python ends
            pass
        kill()

    signal.signal(signal.SIGTERM, kill)
    threading.Thread(target=read_to_the_end, daemon=True).start()
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
