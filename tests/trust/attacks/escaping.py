"""What the servers share that try to get out of a sandbox: one tool that tries it, and what an honest one does there.

`test_confinement.py` runs each in a sandbox of its own, and tells it of a stage: the keys, sockets and hosts there are.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import urllib.request
from pathlib import Path
from types import SimpleNamespace

from attacking import Message, Seen, Server, tool

HELD = Seen(calls=(("get_out", {}),))
"""It gets nothing, and nobody needs to be told of it; what is right goes on."""
WANTED = "attacker wanted to connect to "


def refused(host: str, entry: str = "") -> str:
    """What a person reads of a host that was not given; `{port}` is that of the one that was."""
    return f'{WANTED}{host}: add network = ["localhost:{{port}}", "{entry or host}"]'


class Escaping(Server):
    """A server whose `stage` has, as texts: `secret` and `home`, which are the person's; `read`, `write` and `named`,
    which it was given; `unnamed`, `socket`, `abstract`, `shared` and `pid`, which are others'; `user` and `variable`,
    words that it may not find; and `bounds`."""

    stage: SimpleNamespace

    def tools(self) -> list[Message]:
        return [tool("get_out", stage={"type": "object"})]

    def call(self, name: str, arguments: Message) -> str:
        self.stage = SimpleNamespace(**arguments["stage"])
        found = {"got": "", "held": ""}
        try:
            found["got"] = self.escape() or ""
        except OSError as problem:
            found["held"] = f"{type(problem).__name__}: {problem}"
        return json.dumps({**found, "may": self.do_what_it_may()})

    def escape(self) -> str | None:
        """What it got; nothing, or an OSError: it was held."""
        raise NotImplementedError

    def do_what_it_may(self) -> list[str]:
        """Read, write and reach what it was given."""
        written = Path(self.stage.write, "new.txt").write_text("x")
        return [Path(self.stage.read, "note.txt").read_text(), str(written), fetch(self.stage.named)]

    def write(self, text: str, name: str) -> Path:
        """A file in the folder that it may write."""
        file = Path(self.stage.write, name)
        file.write_text(text)
        return file

    def note(self, kind: str, text: str) -> None:
        """Nothing: what it is given here goes nowhere else."""


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return str(answer.read().decode())


def readable(*files: str | Path, at_least: int = 1) -> str:
    """Which of these files can be read."""
    found = []
    for file in files:
        try:
            with open(file, "rb") as opened:
                if len(opened.read(at_least)) == at_least:
                    found.append(str(file))
        except OSError:
            continue
    return ", ".join(found)


def system_call(numbers: tuple[int, int], *arguments: object) -> int:
    """A system call by its numbers on x86_64 and aarch64.

    Raises:
        OSError: it was refused.
    """
    number = dict(zip(("x86_64", "aarch64"), numbers, strict=True))[os.uname().machine]
    answer = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments)
    if answer < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(answer)


def unfiltered(**calls: tuple[tuple[int, int], *tuple[object, ...]]) -> str:
    """Which of these system calls get as far as the kernel; each is its numbers and its arguments.

    What the kernel itself refuses, to who has no capabilities, does not count as held: most of its faults lie there.
    """
    found = []
    for name, (numbers, *arguments) in calls.items():
        try:
            system_call(numbers, *arguments)
        except OSError as problem:
            if problem.errno in (errno.EACCES, errno.ENOSYS):
                continue
        found.append(name)
    return ", ".join(found)
