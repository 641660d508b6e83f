"""Run a program for as long as somebody holds this one's standard input open.

    python keeper.py COMMAND [ARGUMENT ...]

The program gets a session of its own. When the input closes, however its holder ended, the whole session is killed;
when the program ends by itself, so does this one, with its status.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading


def main(command: list[str]) -> int:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def end() -> None:
        while os.read(0, 4_096):  # not sys.stdin, whose lock a thread may not hold when Python ends
            pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)

    threading.Thread(target=end, daemon=True).start()
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
