"""What a person sees while the program waits."""

from __future__ import annotations

import contextlib
import io
import os
import re
import select
import sys
import threading
from pathlib import Path

import click
import pytest

from pegboard.cli import _terminal, _waiting
from pegboard.cli._output import emit, note
from pegboard.cli._terminal import cut
from pegboard.cli._waiting import quiet, waiting


class Terminal(io.TextIOWrapper):
    """A terminal that tells when something new stands on it."""

    def __init__(self, encoding: str = "utf-8", *, is_terminal: bool = True) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)
        self._is_terminal = is_terminal
        self._moved = threading.Condition()

    def isatty(self) -> bool:
        return self._is_terminal

    def flush(self) -> None:
        super().flush()
        with self._moved:
            self._moved.notify_all()

    @property
    def written(self) -> str:
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]

    def wait_for(self, text: str) -> None:
        """Until `text` was written."""
        with self._moved:
            assert self._moved.wait_for(lambda: text in self.written, 20), self.written

    @property
    def left(self) -> str:
        """What a person sees in the end, each line drawn over as a terminal does."""
        return "\n".join(line.rpartition("\r\x1b[K")[2] for line in self.written.split("\n"))


@pytest.fixture
def sit_down(monkeypatch):
    """Make both streams a terminal where every wait is long; called in the test, as in `test_cli_output`."""

    def sit_down(encoding: str = "utf-8", *, stdout: bool = True, stderr: bool = True) -> Terminal:
        terminal = Terminal(encoding, is_terminal=stderr)
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(sys, "stdout", terminal if stdout and stderr else Terminal(is_terminal=stdout))
        monkeypatch.setattr(_terminal, "_kept", None)
        monkeypatch.setattr(_waiting, "SHOWN_AFTER_S", 0.0)
        monkeypatch.setattr(_waiting, "STEP_S", 0.001)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "40")
        return terminal

    return sit_down


def test_a_wait_is_told_with_its_seconds_and_gone_in_the_end(sit_down):
    terminal = sit_down()
    with waiting("waiting for gamma"):
        terminal.wait_for("waiting for gamma 0 s")
    assert terminal.left == ""
    assert not any(one.name == "pegboard-waiting" for one in threading.enumerate())


def test_the_seconds_are_those_of_the_wait(sit_down, monkeypatch):
    terminal = sit_down()
    with waiting("waiting for gamma") as wait:
        monkeypatch.setattr(_waiting, "monotonic", lambda: wait.began + 75)
        terminal.wait_for("waiting for gamma 75 s")


def test_the_text_may_change_while_it_waits(sit_down):
    terminal = sit_down()
    with waiting("waiting for gamma and delta") as wait:
        terminal.wait_for("gamma and delta")
        wait.text = "waiting for delta"
        terminal.wait_for("waiting for delta 0 s")


def test_a_short_wait_is_not_told(sit_down, monkeypatch):
    terminal = sit_down()
    monkeypatch.setattr(_waiting, "SHOWN_AFTER_S", 3600.0)
    drawn = threading.Semaphore(0)
    draw = _waiting._Line._draw
    monkeypatch.setattr(_waiting._Line, "_draw", lambda self: (draw(self), drawn.release()))
    with waiting("waiting for gamma"):
        assert drawn.acquire(timeout=20)
    assert terminal.written == ""


def test_of_nested_waits_the_innermost_long_one_is_told(sit_down):
    terminal = sit_down()
    with waiting("outer"):
        with waiting("inner"):
            terminal.wait_for("inner 0 s")
        terminal.wait_for("outer 0 s")
    assert terminal.left == ""


@pytest.mark.parametrize("where", ["stdout", "stderr", "dumb"])
def test_nothing_is_told_where_no_person_reads_it(sit_down, monkeypatch, where):
    terminal = sit_down(**({where: False} if where != "dumb" else {}))
    if where == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    with waiting("waiting for gamma"):
        assert not any(one.name == "pegboard-waiting" for one in threading.enumerate())
    assert terminal.written == ""


@pytest.mark.parametrize(("given", "told"), [([], True), (["--json"], False)])
def test_nothing_is_told_beside_json(sit_down, given, told):
    @click.command()
    @click.option("--json", "as_json", is_flag=True)
    def command(as_json):
        with waiting("waiting for gamma"):
            seen.append(any(one.name == "pegboard-waiting" for one in threading.enumerate()))

    seen: list[bool] = []
    sit_down()
    command.main(given, standalone_mode=False)
    assert seen == [told]


@pytest.mark.parametrize("write", [note, emit], ids=["note", "emit"])
def test_what_is_written_meanwhile_stands_on_a_line_of_its_own(sit_down, write):
    terminal = sit_down()
    with waiting("waiting for gamma"):
        terminal.wait_for("gamma 0 s")
        write("found delta" if write is note else "found delta\n")
        terminal.wait_for("found delta\n\r\x1b[K")  # and the line comes back below
    assert terminal.left == "found delta\n"


def test_nothing_is_drawn_while_a_person_is_asked(sit_down):
    terminal = sit_down()
    with waiting("waiting for gamma"):
        terminal.wait_for("gamma 0 s")
        with quiet():
            before = terminal.written
            _waiting._line._draw()
            assert terminal.written == before
    assert terminal.left == ""


def test_a_terminal_without_utf8_gets_a_line_of_ascii(sit_down):
    terminal = sit_down("ascii")
    with waiting("waiting for gämma"):
        terminal.wait_for("waiting for g\\xe4mma 0 s")
    assert terminal.written.isascii()


@pytest.mark.parametrize("name", ["g" * 200, "宽" * 200, "e\u0301" * 200, "\x1b[2J\u202e" * 30])
def test_the_line_fits_and_moves_nothing_whatever_its_text_is(sit_down, name):
    terminal = sit_down()
    with waiting(name):
        terminal.wait_for(" 0 s")
    line = terminal.written.split("\r\x1b[K")[1]
    assert cut(line, 39) == line
    assert line.endswith(" 0 s")
    assert "\x1b" not in line
    assert "\u202e" not in line


def test_a_stderr_that_closes_ends_no_wait(sit_down, monkeypatch):
    terminal = sit_down()
    with waiting("waiting for gamma"):
        terminal.wait_for("gamma 0 s")
        monkeypatch.setattr(sys, "stderr", None)
        _waiting._line._draw()
    assert not any(one.name == "pegboard-waiting" for one in threading.enumerate())


SLOW = """
import time
from pathlib import Path
from pegboard import hookimpl, tool

def until(name):
    while not Path(name).exists():
        time.sleep(0.01)

@hookimpl
def provide_tools():
    until("load")
    @tool(read_only=True)
    def slow() -> str:
        "Take as long as the test wants."
        until("go")
        return "done"
    return [slow]

@hookimpl
def provide_checks(settings):
    def check(board):
        until("go")
        return ()
    return [check]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")
@pytest.mark.parametrize(
    ("words", "told"),
    [(["call", "slow"], "slow runs "), (["doctor"], "looking at plugins and tools ")],
    ids=["call", "doctor"],
)
def test_a_person_at_a_terminal_sees_what_a_command_waits_for(site, start, words, told):
    import pty

    site.install("slow", SLOW)
    ours, theirs = pty.openpty()
    environment = {"TERM": "xterm", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    ends = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    child = start("--plugin", "slow", *words, env=environment, **ends)
    os.close(theirs)
    seen = ""
    for text, name in (("runs provide_tools ", "load"), (told, "go")):
        while text not in seen:  # what is waited for counts its seconds: they bound this
            assert " 60 s" not in seen, seen
            assert select.select([ours], [], [], 30)[0], seen
            seen += os.read(ours, 4096).decode("utf-8", "replace")
        Path(name).touch()
    with contextlib.suppress(OSError):  # the other end is closed
        while data := os.read(ours, 4096):
            seen += data.decode("utf-8", "replace")
    os.close(ours)
    assert child.wait(30) == 0
    left = [line.rpartition("\r\x1b[K")[2] for line in seen.replace("\r\n", "\n").split("\n")]
    assert not any(re.search(r"\b\d+ s$", line) for line in left)
    assert left[-2] == ("done" if words[0] == "call" else "nothing is wrong: 1 plugin, 1 tool")
