"""Rows as columns that fit a width. Values in, text out; no I/O.

A pipe and a terminal get the same table. Where the terminal is too narrow for it, cells are wrapped between words;
where not even the longest words of the headings and the names of the first column fit beside each other, each row
becomes a block of lines. A heading is never broken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.cli._terminal import cells_of, cut

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

GAP = "  "
BOLD, END = "\x1b[1m", "\x1b[0m"


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Collection[int] = (),
    columns: int | None = None,
    bold: bool = False,
) -> str:
    """Lay a table out.

    Args:
        headers: of the columns.
        rows: a line of text a cell.
        right: indices of the columns of numbers.
        columns: how many columns of the terminal there are; None: as many as it takes.
        bold: whether headings are, by escapes of a terminal.
    """
    heads = [header.upper() for header in headers]
    widths = _widths(heads, rows, right, columns)
    if widths is None:
        assert columns is not None, "without a bound everything fits"
        return "\n".join(_block(heads, row, columns) for row in rows)
    lines = list(_lines(heads, widths, right))
    if bold:
        lines = [f"{BOLD}{line}{END}" for line in lines]
    lines += [line for row in rows for line in _lines(row, widths, right)]
    return "".join(f"{line}\n" for line in lines)


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(cells_of, text))


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of that width, broken between words; a word that is longer is broken where it must be."""
    lines, line = [], ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if width_of(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        while width_of(word) > width:
            head = cut(word, width) or word[0]  # a wide sign in a column of one
            lines.append(head)
            word = word[len(head) :]
        line = word
    return [*lines, line]


def _widths(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int], columns: int | None
) -> list[int] | None:
    """How wide each column is; None: they do not fit beside each other."""
    count = len(heads)
    widths = [max(width_of(row[index]) for row in (heads, *rows)) for index in range(count)]
    if columns is None:
        return widths
    room = columns - len(GAP) * (count - 1)
    # Names and numbers stay whole.
    least = [
        widths[index] if index == 0 or index in right else max(map(width_of, heads[index].split()), default=0)
        for index in range(count)
    ]
    if sum(least) > room:
        return None
    # Between the least and the most that a column may take, as the automatic tables of CSS (2.2, 17.5.2.2). The widest
    # gives way first, down to the next one, so that what is narrow stays whole.
    while sum(widths) > room:
        widest = max((index for index in range(count) if widths[index] > least[index]), key=widths.__getitem__)
        others = sorted((widths[index] for index in range(count) if widths[index] > least[index]), reverse=True)[1:]
        down_to = max(least[widest], others[0] - 1 if others else 0, widths[widest] - (sum(widths) - room))
        widths[widest] = min(down_to, widths[widest] - 1)
    return widths


def _lines(cells: Sequence[str], widths: Sequence[int], right: Collection[int]) -> Iterator[str]:
    parts = [wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, parts))):
        line = []
        for index, part in enumerate(parts):
            text = part[number] if number < len(part) else ""
            space = " " * (widths[index] - width_of(text))
            line.append(space + text if index in right else text + space)
        yield GAP.join(line).rstrip()


def _block(heads: Sequence[str], row: Sequence[str], columns: int) -> str:
    """One row, a line or more a cell."""
    first, *others = zip(heads, row, strict=True)
    lines = wrap(first[1], columns)
    for head, cell in others:
        if cell:
            lines += [f"{GAP}{line}" for line in wrap(f"{head}: {cell}", max(columns - len(GAP), 1))]
    return "".join(f"{line}\n" for line in lines)
