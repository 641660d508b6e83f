"""The program `pegboard`.

    __init__   the entry point
    _program   the group of commands, its options, what becomes an exit status
    _run       one run: its options, and the board and host they ask for; what commands of plugins get as `ctx.obj`
    _output    stdout and stderr: the answer, notes for people, tables
    _numbers   numbers as options
    _table     rows as columns that fit
    _terminal  whose stdout is; how wide a terminal is, and what it can show
    _waiting   what is waited for, as a line at the terminal
    _X         the command X, imported when it is asked for

stdout carries the answer only; everything for people goes to stderr, and so does what tools and plugins print. Exit
status: 0 done; 1 a tool answered with an error, something is wrong (`doctor`, `check`), or stdout closed before the
end; 2 wrong usage or configuration; 130 after Ctrl-C.

A command starts in a fraction of the time that trio or rich take to import, so nothing heavy is imported before it is
needed: `list` never loads trio.

A package's own commands (`register_commands`) write, ask and wait with what this module exports, so that they do it as
those of the core do; each name is imported when it is asked for. `ctx.obj` of a command is a `ProgramRun`.

.. versionadded:: 0.1
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, NoReturn

from pegboard.starting import lazy_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard.cli._leaving import Presses, ending_signals, leave_within
    from pegboard.cli._numbers import Finite
    from pegboard.cli._output import (
        OutputError,
        answer_descriptor,
        emit,
        emit_json,
        emit_line,
        emit_table,
        note,
        to_json,
    )
    from pegboard.cli._person import ask_person, forget_typed, has_person, read_typed_line, say_yes
    from pegboard.cli._run import ProgramRun
    from pegboard.cli._sources import absence_of, held_line
    from pegboard.cli._terminal import (
        answer_stream,
        can_show,
        columns_of,
        is_terminal,
        moves_cursor,
        running_third_party_code,
    )
    from pegboard.cli._text import printable_line, taken_out_of
    from pegboard.cli._waiting import quiet, waiting

__all__ = [
    "Finite",
    "OutputError",
    "Presses",
    "ProgramRun",
    "absence_of",
    "answer_descriptor",
    "answer_stream",
    "ask_person",
    "can_show",
    "columns_of",
    "emit",
    "emit_json",
    "emit_line",
    "emit_table",
    "ending_signals",
    "forget_typed",
    "has_person",
    "held_line",
    "is_terminal",
    "leave_within",
    "main",
    "moves_cursor",
    "note",
    "printable_line",
    "quiet",
    "read_typed_line",
    "running_third_party_code",
    "say_yes",
    "taken_out_of",
    "to_json",
    "waiting",
]

__getattr__ = lazy_names(
    __name__,
    {
        "._leaving": ("Presses", "ending_signals", "leave_within"),
        "._numbers": ("Finite",),
        "._output": (
            "OutputError",
            "answer_descriptor",
            "emit",
            "emit_json",
            "emit_line",
            "emit_table",
            "note",
            "to_json",
        ),
        "._person": ("ask_person", "forget_typed", "has_person", "read_typed_line", "say_yes"),
        "._run": ("ProgramRun",),
        "._sources": ("absence_of", "held_line"),
        "._terminal": (
            "answer_stream",
            "can_show",
            "columns_of",
            "is_terminal",
            "moves_cursor",
            "running_third_party_code",
        ),
        "._text": ("printable_line", "taken_out_of"),
        "._waiting": ("quiet", "waiting"),
    },
)


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the program and end it with its exit status; `args` are those of the process if they are not given.

    .. versionadded:: 0.1
    """
    # Starting allocates much and frees next to nothing: collecting there costs a sixth of a short command. A host that
    # runs has it on again (`ProgramRun.open_host`).
    gc.disable()
    from pegboard.cli._output import discard_output
    from pegboard.cli._program import Program
    from pegboard.cli._terminal import keep_stdout

    keep_stdout()
    try:
        Program().main(args)
    finally:
        discard_output()
        gc.freeze()
    raise AssertionError("the program ends with a status")
