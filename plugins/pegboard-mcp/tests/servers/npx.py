"""A stand-in for npx, uvx and the like. It takes notes in `FAKE_FOLDER`, and behaves as its files say:

    calls       a line of JSON for each run: its arguments
    signals     a line for each signal that came, and `done` or `failed` where an install ended by itself

    hold        while it is there, an install goes on
    deaf        an install takes no notice of TERM
    broken      an install fails, with words on stderr
    together    every run installs, and is the server then

A run whose arguments end in nothing to run (`-c :`, `python -c ''`) installs. Every other one is the server, which is
`scripted.py`; it ends with status 9 where nothing was installed, as if an install had begun there.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

folder = Path(os.environ["FAKE_FOLDER"])


def note(file: str, line: str) -> None:
    with (folder / file).open("a") as opened:
        opened.write(line + "\n")


def on_term(number: int, frame: object) -> None:
    note("signals", "TERM")
    if not (folder / "deaf").exists():
        time.sleep(0.3)  # it takes back what it began
        note("signals", "taken back")
        sys.exit(1)


def main() -> None:
    note("calls", json.dumps(sys.argv[1:]))
    together = (folder / "together").exists()
    if together or sys.argv[-2:] == ["-c", ":"] or sys.argv[-3:] == ["python", "-c", ""]:
        signal.signal(signal.SIGTERM, on_term)
        note("pids", str(os.getpid()))
        while (folder / "hold").exists():
            time.sleep(0.01)
        if (folder / "broken").exists():
            sys.stderr.write("error 404: there is no such package\n")
            note("signals", "failed")
            sys.exit(1)
        note("signals", "done")
        (folder / "installed").touch()
        if not together:
            return
    if not (folder / "installed").exists():
        sys.stderr.write("error 404: there is no such package\n")
        sys.exit(9)
    scripted = Path(__file__).with_name("scripted.py")
    os.execv(sys.executable, [sys.executable, "-S", str(scripted), str(folder)])


main()
