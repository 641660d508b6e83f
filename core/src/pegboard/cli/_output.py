"""What the program writes: answers to stdout, notes for people to stderr.

A stdout that closes or fills is an answer that did not arrive: `OutputError`, a line on stderr, exit 1. Everything is
written and flushed here, so that nothing is left for the interpreter to fail on when it shuts down.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

from pegboard.cli._table import table
from pegboard.cli._terminal import (
    answer_stream,
    columns_of,
    is_terminal,
    keeps_stdout,
    moves_cursor,
    shown_on,
)
from pegboard.cli._text import printable, printable_json, printable_line
from pegboard.cli._waiting import quiet
from pegboard.schema.jsontext import is_half

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class OutputError(Exception):
    """stdout closed or is full: the answer did not arrive in whole.

    .. versionadded:: 0.1
    """

    def __init__(self, problem: OSError | None) -> None:
        reasons = {
            None: "stdout is closed",
            errno.EPIPE: "stdout was closed by its reader before the end",
            errno.ENOSPC: "stdout is full: no space left on the device",
        }
        number = None if problem is None else problem.errno
        super().__init__(reasons.get(number) or f"stdout cannot be written: {os.strerror(number or 0)}")


def answer_descriptor() -> int | None:
    """The descriptor of the process's stdout, which the program keeps to itself; None where that is closed.

    For a command that speaks a protocol there: nothing that third-party code prints comes in between.

    .. versionadded:: 0.1
    """
    stream = answer_stream()
    try:
        if stream is None:
            return None
        stream.flush()
        return stream.fileno()
    except (OSError, ValueError):
        return None


def flush_answer() -> None:
    """Write what a command of a plugin printed and left in the buffer.

    Raises:
        OutputError: stdout is closed or full.
    """
    if keeps_stdout():
        emit("")


def emit(text: str, *, json_text: bool = False) -> None:
    """Write an answer to stdout, at once and whole.

    Raises:
        OutputError: stdout is closed or full.

    .. versionadded:: 0.1
    """
    stream = answer_stream()
    if stream is None:
        raise OutputError(None)
    encoding = "utf-8" if json_text or not is_terminal(stream) else (stream.encoding or "utf-8")
    errors = "surrogatepass" if json_text else "backslashreplace"
    try:
        with quiet():
            stream.flush()
            stream.buffer.write(text.encode(encoding, errors))
            stream.buffer.flush()
    except ValueError:
        raise OutputError(None) from None
    except OSError as problem:
        drop_stdout()
        raise OutputError(problem) from None


def emit_line(text: str) -> None:
    """Write one text for people, made harmless where a terminal would obey it.

    .. versionadded:: 0.1
    """
    emit((shown_on(answer_stream(), printable(text)) if is_terminal(answer_stream()) else text) + "\n")


def emit_json(value: Any) -> None:
    """Write a JSON value, indented for people, each character as it is unless a terminal would obey it.

    .. versionadded:: 0.1
    """
    emit(to_json(value, indent=2) + "\n", json_text=True)


def to_json(value: Any, *, indent: int | None = None) -> str:
    """A value as JSON text that may go to stdout as it stands.

    .. versionadded:: 0.1
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    return printable_json(text) if is_terminal(answer_stream()) or is_half(text) else text


def emit_table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Write a table, as wide as a terminal has room for it. `right` are the columns of numbers.

    .. versionadded:: 0.1
    """
    stream, lines = answer_stream(), [[printable_line(cell) for cell in row] for row in rows]
    person = is_terminal(stream)
    bold = person and moves_cursor() and not os.environ.get("NO_COLOR")
    text = table(headers, lines, right=right, columns=columns_of(stream) if person else None, bold=bold)
    emit(shown_on(stream, text) if person else text)


def note(text: str) -> None:
    """Tell a person something on stderr; a stderr that is closed is not a reason to fail.

    .. versionadded:: 0.1
    """
    with quiet(), contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(shown_on(sys.stderr, printable(text)) + "\n")
        sys.stderr.flush()


def drop_stdout() -> None:
    """Discard what is still buffered: the interpreter would fail on it again when it shuts down."""
    _drop(answer_stream())


def discard_output() -> None:
    """Discard what cannot be written, as to a terminal that is gone. Otherwise the interpreter would
    end with status 120 and not with the program's own."""
    for stream in (answer_stream(), sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            _drop(stream)


def _drop(stream: TextIO | None) -> None:
    # As Python's own manual has it (library/signal, "Note on SIGPIPE"): what is flushed at the end goes nowhere.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if stream is not None:
            os.dup2(nowhere, stream.fileno(), inheritable=False)
        os.close(nowhere)
