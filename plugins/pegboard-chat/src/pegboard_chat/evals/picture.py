"""Rates and their intervals as a picture: lines of text for a terminal, and SVG.

Both draw the same rows: a label, and for each series the rate as a point on its interval. What is drawn was written by
whoever made the file: it is shortened, and escaped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from pegboard.cli import printable_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_chat.evals.statistics import Interval

WIDTH = 50
"""Of the axis from 0 to 100 %, in characters, where there is room for it."""
LABEL = 28
LEAST_WIDTH, LEAST_LABEL = 20, 16
AFTER = 3
"""The last characters of `100 %`, which stand beside the axis."""
ROWS = 200
"""Questions that are drawn; the report has them all."""


class Row(NamedTuple):
    """A label, and an interval for each series; None: nothing was answered."""

    label: str
    intervals: Sequence[Interval | None]


class Signs(NamedTuple):
    """What a terminal draws with."""

    points: str
    line: str
    ends: tuple[str, str]
    limit: str
    ground: str


DRAWN = Signs("●○", "─", ("├", "┤"), "┊", " ")
PLAIN = Signs("*o", "-", ("[", "]"), ":", " ")
"""For terminals that do not know the others."""


def as_text(
    rows: Sequence[Row], labels: Sequence[str], limit: float | None, signs: Signs = DRAWN, columns: int | None = None
) -> str:
    """The picture as lines.

    Args:
        rows: what is drawn.
        labels: of the series.
        limit: the rate below which the eval fails, drawn as a line from top to bottom.
        signs: what the lines are drawn with.
        columns: of the terminal; None: as many as are wanted.
    """
    room = LABEL + 2 + WIDTH + AFTER if columns is None else columns - 1
    longest = min(LABEL, max(LEAST_LABEL, room - WIDTH - AFTER - 2))
    width = max([len(printable_line(row.label, longest)) for row in rows] + [8])
    axis = min(WIDTH, max(LEAST_WIDTH, (room - width - AFTER - 2) // 2 * 2))
    lines = []
    for row in rows[:ROWS]:
        for index, interval in enumerate(row.intervals):
            label = printable_line(row.label, longest) if index == 0 else ""
            lines.append(f"{label:{width}}  {_line(interval, limit, signs, signs.points[index % 2], axis)}".rstrip())
    lines.append(f"{'':{width}}  0 %{'50 %':>{axis // 2}}{'100 %':>{axis // 2}}")
    if len(labels) > 1:
        lines += [f"{signs.points[index % 2]} {printable_line(label, 80)}" for index, label in enumerate(labels)]
    return "\n".join(lines) + "\n"


def _line(interval: Interval | None, limit: float | None, signs: Signs, point: str, width: int) -> str:
    cells = [signs.ground] * (width + 1)
    if limit is not None:
        cells[round(limit * width)] = signs.limit
    if interval is not None:
        low, high = round(interval.low * width), round(interval.high * width)
        for place in range(low, high + 1):
            cells[place] = signs.line
        cells[low], cells[high] = signs.ends
        cells[round(interval.value * width)] = point
    return "".join(cells)


# -- SVG

STEP = 24
AXIS = 420
LEFT = 240
TOP = 58
COLOURS = ("#1f5fa8", "#c4631a")
STYLE = "font-family:system-ui,sans-serif;font-size:13px"


def as_svg(title: str, rows: Sequence[Row], labels: Sequence[str], limit: float | None) -> str:
    """The picture as an SVG document on white."""
    rows = rows[:ROWS]
    series = max(len(labels), 1)
    step = STEP if series == 1 else STEP + 14
    height = TOP + step * len(rows) + 40
    width = LEFT + AXIS + 90
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'style="{STYLE}" role="img">',
        f"<title>{_text(title, 200)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="24" font-size="15" font-weight="600" fill="#222222">{_text(title, 90)}</text>',
    ]
    for index, label in enumerate(labels if series > 1 else ()):
        left = 16 + index * 260
        parts.append(f'<circle cx="{left + 5}" cy="41" r="5" fill="{COLOURS[index % 2]}"/>')
        parts.append(f'<text x="{left + 16}" y="45" fill="#222222">{_text(label, 34)}</text>')
    bottom = TOP + step * len(rows) + 6
    for tenth in range(0, 11, 2):
        x = _x(tenth / 10)
        parts.append(f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}" stroke="#dddddd"/>')
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle" fill="#555555">{tenth * 10} %</text>')
    if limit is not None:
        x = _x(limit)
        parts.append(
            f'<line x1="{x}" x2="{x}" y1="{TOP - 6}" y2="{bottom}" stroke="#a02020" stroke-dasharray="4 3">'
            f"<title>threshold {limit * 100:.0f} %</title></line>"
        )
    for number, row in enumerate(rows):
        middle = TOP + step * number + step / 2
        parts.append(
            f'<text x="{LEFT - 12}" y="{middle + 4:g}" text-anchor="end" fill="#222222">{_text(row.label, 30)}</text>'
        )
        for index, interval in enumerate(row.intervals):
            y = middle + (index - (series - 1) / 2) * 15
            parts += _mark(interval, y, COLOURS[index % 2])
    return "\n".join([*parts, "</svg>"]) + "\n"


def _mark(interval: Interval | None, y: float, colour: str) -> list[str]:
    if interval is None:
        return [f'<text x="{LEFT + 4}" y="{y + 4:g}" fill="#888888">no answer</text>']
    low, high, x = _x(interval.low), _x(interval.high), _x(interval.value)
    return [
        f'<line x1="{low}" x2="{high}" y1="{y:g}" y2="{y:g}" stroke="{colour}" stroke-width="3" '
        'stroke-opacity="0.45" stroke-linecap="round"/>',
        f'<circle cx="{x}" cy="{y:g}" r="5" fill="{colour}"/>',
        f'<text x="{LEFT + AXIS + 16}" y="{y + 4:g}" fill="{colour}">{interval.value * 100:.0f} %</text>',
    ]


def _x(rate: float) -> str:
    return f"{LEFT + rate * AXIS:.1f}"


def _text(text: str, limit: int) -> str:
    """Text inside an element: no character that XML has not, and no markup."""
    return escape(printable_line(text, limit), {'"': "&quot;"})
