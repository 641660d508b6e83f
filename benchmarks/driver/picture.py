"""The results as a drawing: panels of dots on a logarithmic scale, an SVG written by hand.

Dots and not bars: a bar's length says nothing on a scale that has no zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from driver.catalog import CONTESTANTS
from driver.limits import FLOOR, IN_PLACE, LEAN, Results
from driver.report import figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH = 880
_LABELS = 250
_VALUES = 80
_LINE = 22
_HEAD = 58
_FOOT = 20
_GAP = 14
_COLOURS = {"pegboard": "#b4500b", "floors": "#6b7280"}
_PEER = "#1f5f99"
_DARK = {
    "#ffffff": "#14181f", "#111827": "#d9dfe7", "#6b7280": "#94a0ae", "#d8dce1": "#343b46", "#1f5f99": "#7cb7ff",
    "#b4500b": "#ffa05c",
}  # fmt: skip
"""Each colour where the reader prefers a dark page."""
_STYLE = "".join(f"[{what}='{light}']{{{what}:{dark}}}" for light, dark in _DARK.items() for what in ("fill", "stroke"))
_FONT = "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\""


@dataclass(frozen=True)
class Dot:
    """One contestant in one panel."""

    contestant: str
    label: str
    value: float


@dataclass(frozen=True)
class Panel:
    """One question and its dots."""

    title: str
    unit: str
    dots: Sequence[Dot]


def draw(results: Results) -> str:
    """The SVG, or a drawing that says that nothing was measured."""
    drawn = [_legend(20)]
    top = 34
    for panel in panels(results):
        if panel.dots:
            drawn.append(_panel(panel, top))
            top += _HEAD + _LINE * len(panel.dots) + _FOOT + _GAP
    if len(drawn) == 1:
        drawn.append(_text(20, 54, "nothing was measured", size=14))
        top = 70
    size = f"width='{WIDTH}' height='{top}' viewBox='0 0 {WIDTH} {top}'"
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img'>",
            "<title>Pegboard beside its peers and the floors</title>",
            f"<style>@media (prefers-color-scheme: dark) {{{_STYLE}}}</style>",
            f"<rect width='{WIDTH}' height='{top}' fill='#ffffff'/>",
            *drawn,
            "</svg>\n",
        ]
    )


def panels(results: Results) -> list[Panel]:
    """What is drawn: the full paths of all, and the floors beside them."""
    full = {(one.name, one.full_path) for one in CONTESTANTS if one.full_path} | {FLOOR, LEAN, IN_PLACE}

    def rows(section: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = results["sections"].get(section, {}).get("rows", [])
        return found

    def calls(tool: str) -> list[Dot]:
        chosen = (row for row in rows("calls") if row["tool"] == tool and (row["contestant"], row["path"]) in full)
        return _dots(chosen, "path", "cpu_us")

    def served(section: str) -> list[Dot]:
        chosen = (row for row in rows(section) if row["way"] == "2026-07-28" or row["contestant"] == "floors")
        return _dots(chosen, "path", "cpu_us")

    many = rows("registry")
    tools = f"{many[0]['tools']:,}" if many else ""
    parallel = rows("parallel")
    at_once = f"{parallel[0]['calls']:,}" if parallel else ""
    return [
        Panel("One validated call of add(a, b)", "CPU us", calls("add")),
        Panel("One validated call with 12 parameters", "CPU us", calls("rich")),
        Panel(f"Registering {tools} tools", "CPU us a tool", _dots(many, "registry", "register_us")),
        Panel(f"A call by name among {tools} tools", "CPU us", _dots(many, "registry", "call_us")),
        Panel(f"{at_once} parallel calls of a 10 ms tool", "wall ms", _dots(parallel, "path", "wall_ms")),
        Panel("Cold start, against python -c pass", "x", _dots(rows("cold"), "command", "ratio")),
        Panel("A tool of an MCP server on stdio", "CPU us of the client", _dots(rows("mcp-bridge"), "path", "cpu_us")),
        Panel("Serving MCP on stdio", "CPU us of the server", served("mcp-stdio")),
        Panel("Serving MCP over HTTP", "CPU us of the server", served("mcp-http")),
        Panel("Chat with a model that answers at once: a round", "CPU us", _dots(rows("loop"), "path", "round_us")),
    ]


def _dots(rows: Iterable[dict[str, object]], label: str, value: str) -> list[Dot]:
    dots = [Dot(str(row["contestant"]), str(row[label]), float(str(row[value]))) for row in rows]
    return sorted(dots, key=lambda dot: dot.value)


def _legend(y: float) -> str:
    parts = []
    for at, (name, colour) in enumerate((*_COLOURS.items(), ("peers", _PEER))):
        x = 26 + at * 100
        parts.append(f"<circle cx='{x}' cy='{y - 4}' r='5' fill='{colour}'/>")
        parts.append(_text(x + 10, y, name))
    return "\n".join(parts)


def _panel(panel: Panel, top: float) -> str:
    values = [dot.value for dot in panel.dots]
    ticks = _ticks(min(values), max(values))
    low, high = math.log10(ticks[0]), math.log10(ticks[-1])
    left, right = 20 + _LABELS, WIDTH - 20 - _VALUES
    bottom = top + _HEAD + _LINE * len(panel.dots) - 8

    def across(value: float) -> float:
        return left + (math.log10(value) - low) / (high - low) * (right - left)

    parts = [
        _text(20, top + 20, panel.title, size=16, weight="bold"),
        _text(20, top + 38, f"{panel.unit}, logarithmic; less is better", colour="#6b7280"),
    ]
    for tick in ticks:
        x = across(tick)
        parts.append(f"<line x1='{x:.1f}' y1='{top + 48}' x2='{x:.1f}' y2='{bottom}' stroke='#d8dce1'/>")
        parts.append(_text(x, bottom + 16, f"{tick:,g}", anchor="middle", colour="#6b7280"))
    for at, dot in enumerate(panel.dots):
        y = top + _HEAD + _LINE * at + 4
        x = across(dot.value)
        colour = _COLOURS.get(dot.contestant, _PEER)
        weight = "bold" if dot.contestant == "pegboard" else "normal"
        named = dot.contestant == "floors" or dot.contestant in dot.label
        name = dot.label if named else f"{dot.contestant}: {dot.label}"
        parts.append(_text(left - 12, y + 4, _short(name), anchor="end", weight=weight))
        parts.append(f"<line x1='{left}' y1='{y}' x2='{x:.1f}' y2='{y}' stroke='{colour}' stroke-opacity='0.35'/>")
        parts.append(f"<circle cx='{x:.1f}' cy='{y}' r='5' fill='{colour}'/>")
        parts.append(_text(x + 10, y + 4, figure(dot.value), weight=weight, halo=True))
    return "\n".join(parts)


def _ticks(least: float, most: float) -> list[float]:
    """1, 2, 5, 10, ... from just below the least to just above the most, two of them at least."""
    powers = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 2)
    steps = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    first = max(at for at, step in enumerate(steps) if step <= least)
    last = min(at for at, step in enumerate(steps) if step >= most)
    return steps[first : max(last, first + 1) + 1]


def _short(name: str, most: int = 40) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 12,
    weight: str = "normal",
    anchor: str = "start",
    colour: str = "#111827",
    halo: bool = False,
) -> str:
    around = " stroke='#ffffff' stroke-width='3' paint-order='stroke'" if halo else ""
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' {_FONT} font-size='{size}' font-weight='{weight}' text-anchor='{anchor}' "
        f"fill='{colour}'{around}>{escape(text)}</text>"
    )
