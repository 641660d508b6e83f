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
from typing import IO, TYPE_CHECKING, Any

from pegboard.cli._text import printable, printable_json, printable_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class OutputError(Exception):
    """stdout closed or is full: the answer did not arrive in whole."""

    def __init__(self, problem: OSError | None) -> None:
        reasons = {
            None: "stdout is closed",
            errno.EPIPE: "stdout was closed by its reader before the end",
            errno.ENOSPC: "stdout is full: no space left on the device",
        }
        number = None if problem is None else problem.errno
        super().__init__(reasons.get(number) or f"stdout cannot be written: {os.strerror(number or 0)}")


def is_terminal(stream: IO[str] | None) -> bool:
    """Whether a person sits at the other end."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def emit(text: str, *, json_text: bool = False) -> None:
    """Write an answer to stdout, at once and whole.

    Raises:
        OutputError: stdout is closed or full.
    """
    stream = sys.stdout
    if stream is None:
        raise OutputError(None)
    encoding = "utf-8" if json_text or not is_terminal(stream) else (stream.encoding or "utf-8")
    errors = "surrogatepass" if json_text else "backslashreplace"
    try:
        stream.flush()
        stream.buffer.write(text.encode(encoding, errors))
        stream.buffer.flush()
    except ValueError:
        raise OutputError(None) from None
    except OSError as problem:
        drop_stdout()
        raise OutputError(problem) from None


def emit_line(text: str) -> None:
    """Write one text for people, made harmless where a terminal would obey it."""
    emit((printable(text) if is_terminal(sys.stdout) else text) + "\n")


def emit_json(value: Any) -> None:
    """Write a JSON value, indented for people, each character as it is unless a terminal would obey it."""
    emit(to_json(value, indent=2) + "\n", json_text=True)


def to_json(value: Any, *, indent: int | None = None) -> str:
    """A value as JSON text that may go to stdout as it stands."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    return printable_json(text) if is_terminal(sys.stdout) or _has_surrogate(text) else text


def _has_surrogate(text: str) -> bool:
    if text.isascii():
        return False
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def emit_table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Write a table: drawn on a terminal, plain columns elsewhere. `right` are the columns of numbers."""
    lines = [[printable_line(cell) for cell in row] for row in rows]
    emit((_drawn if is_terminal(sys.stdout) else _plain)(headers, lines, right))


def _plain(headers: Sequence[str], rows: list[list[str]], right: Sequence[int]) -> str:
    table = [[header.upper() for header in headers], *rows]
    widths = [max(len(row[index]) for row in table) for index in range(len(headers))]
    lines = []
    for row in table:
        cells = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _drawn(headers: Sequence[str], rows: list[list[str]], right: Sequence[int]) -> str:
    import io

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, header in enumerate(headers):
        table.add_column(
            header, justify="right" if index in right else "left", style="bold" if index == 0 else "",
            no_wrap=index == 0 or index in right, overflow="fold",
        )  # fmt: skip
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(file=io.StringIO(), force_terminal=True)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def note(text: str) -> None:
    """Tell a person something on stderr; a stderr that is closed is no reason to fail."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(printable(text) + "\n")
        sys.stderr.flush()


def drop_stdout() -> None:
    """Let what is still buffered go nowhere: the interpreter would fail on it once more when it shuts down."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
