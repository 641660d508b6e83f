"""A person at a terminal sees what is read; nobody else is told."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from pegboard_toolgen import commands, program
from pegboard_toolgen._progress import say, told_to

LIBRARY = 'def twice(number: int) -> int:\n    """Twice a number."""\n    return 2 * number\n'
PROGRAM = """#!/bin/sh
case "$*" in
  "show --help") printf 'Usage: dogs show [OPTIONS] NAME\\n\\nShow one.\\n\\nOptions:\\n  --long  more\\n' ;;
  *) printf 'Usage: dogs COMMAND\\n\\nDogs.\\n\\nCommands:\\n  show  show one\\n' ;;
esac
"""


@attrs.define
class Wait:
    """A wait that remembers what it said."""

    said: list[str]

    def __setattr__(self, name: str, value: object) -> None:
        if name == "text":
            self.said.append(str(value))
        else:
            object.__setattr__(self, name, value)


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a person would see, one text after the other."""
    said: list[str] = []

    @contextlib.contextmanager
    def waiting(text: str) -> Iterator[Wait]:
        said.append(text)
        yield Wait(said)

    (tmp_path / "doubling.py").write_text(LIBRARY)
    (tmp_path / "dogs").write_text(PROGRAM)
    (tmp_path / "dogs").chmod(0o755)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(commands, "waiting", waiting)
    return said


@pytest.mark.parametrize("command", ["init", "try"])
def test_what_is_read_is_shown_while_it_lasts(
    shown: list[str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.run([command, "--library", "doubling", "--program", "./dogs"]) == 0
    assert shown[0] == "finding out what there is"
    for one in ("reading program dogs", "reading the help of dogs show", "reading doubling.twice"):
        assert one in shown
    assert shown.index("making tools of what was found") > shown.index("reading doubling.twice")
    assert ("writing the files" in shown) is (command == "init")
    said = capsys.readouterr()
    assert "reading" not in said.out + said.err


def test_check_shows_what_it_reads(shown: list[str]) -> None:
    assert program.run(["init", "--library", "doubling", "--no-record"]) == 0
    shown.clear()
    assert program.run(["check"]) == 0
    assert "reading doubling.twice" in shown


def test_nobody_has_to_listen() -> None:
    heard: list[str] = []
    say("nothing")
    with told_to(heard.append):
        say("reading")
    say("nothing")
    assert heard == ["reading"]
