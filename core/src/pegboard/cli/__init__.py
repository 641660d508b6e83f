"""The program `pegboard`.

    __init__   the entry point
    _program   the group of commands, its options, what becomes an exit status
    _run       one run: its options, and the board and host they ask for; what commands of plugins get as `ctx.obj`
    _output    stdout and stderr: the answer, notes for people, tables
    _table     rows as columns that fit
    _terminal  how wide it is, and what it can show
    _waiting   what is waited for, as a line at the terminal
    _X         the command X, imported when it is asked for

stdout carries the answer only; everything for people goes to stderr, and so does what tools and plugins print. Exit
status: 0 done; 1 a tool answered with an error, something is wrong (`doctor`, `check`), or stdout closed before the
end; 2 wrong usage or configuration; 130 after Ctrl-C.

A command starts in a fraction of the time that trio or rich take to import, so nothing heavy is imported before it is
needed: `list` never loads trio.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard.cli._leaving import leave_within
    from pegboard.cli._output import answer_descriptor
    from pegboard.cli._run import ProgramRun
    from pegboard.cli._waiting import quiet, waiting

__all__ = ["ProgramRun", "answer_descriptor", "leave_within", "main", "quiet", "waiting"]

_MODULES = {
    "ProgramRun": "_run",
    "answer_descriptor": "_output",
    "leave_within": "_leaving",
    "quiet": "_waiting",
    "waiting": "_waiting",
}
"""Where commands of plugins find what they share with the program's own; imported when it is asked for."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the program and end it with its exit status; `args` are those of the process if they are not given."""
    # Starting allocates much and frees next to nothing: collecting there costs a sixth of a short command. A host that
    # runs has it on again (`ProgramRun.open_host`).
    gc.disable()
    from pegboard.cli._output import discard_output, keep_stdout
    from pegboard.cli._program import Program

    keep_stdout()
    try:
        Program().main(args)
    finally:
        discard_output()
        gc.freeze()
    raise AssertionError("the program ends with a status")


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
