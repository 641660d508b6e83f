"""Read a docstring: the prose that a model needs, and what each parameter is for.

The three common styles are understood: Google (`Args:` and an indented block), numpy (a heading underlined with dashes)
and Sphinx (`:param name:`). Sections that speak to programmers (returns, raises) are left out of the prose; any other
section stays in it.
"""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

# Google: styleguide/pyguide.html, section 3.8; numpy: numpydoc's format; Sphinx: the field lists of its Python domain.
_PARAMETERS = frozenset(
    {"args", "arguments", "attributes", "keyword args", "keyword arguments", "other parameters", "parameters", "params"}
)
_DROPPED = frozenset({"raise", "raises", "return", "returns", "warns", "yield", "yields"})
_SECTIONS = _PARAMETERS | _DROPPED

_ITEM = r"\*{0,2}(?P<name>\w+)(?: *\([^)]*\))? *: *(?P<text>.*)"
_NUMPY_ITEM = r"(?P<names>\*{0,2}\w+(?: *, *\*{0,2}\w+)*) *(?::.*)?"
_FIELD = r":(?P<kind>\w+)(?: +(?P<about>[^:]*?))? *:(?: +(?P<text>.*)|$)"
_PARAMETER_FIELDS = frozenset({"arg", "argument", "ivar", "key", "keyword", "param", "parameter"})
_DROPPED_FIELDS = frozenset({"except", "exception", "raise", "raises", "return", "returns", "rtype", "type", "yields"})


class Doc(NamedTuple):
    """A docstring, read: its prose, and the parameters it describes by name.

    .. versionadded:: 0.1
    """

    prose: str
    parameters: dict[str, str]


def parse(text: str | None) -> Doc:
    """Read a docstring of any of the three styles; whatever is in none of them is prose.

    .. versionadded:: 0.1
    """
    if not text:
        return Doc("", {})
    if "\n" not in text:
        return Doc(text.strip(), {})
    lines = inspect.cleandoc(text).split("\n")
    prose: list[str] = []
    parameters: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        if _underlined(lines, at):
            block, at = _until(lines, at + 2, lambda i: _underlined(lines, i))
            if line.strip().lower() in _PARAMETERS:
                parameters.update(_numpy_items(block))
        elif line.endswith(":") and line[:-1].lower() in _SECTIONS:
            block, at = _until(lines, at + 1, lambda i: bool(lines[i]) and not lines[i][0].isspace())
            if line[:-1].lower() in _PARAMETERS:
                parameters.update(_google_items(block))
        elif (
            line[:1] == ":"
            and (field := re.fullmatch(_FIELD, line))
            and field["kind"] in _PARAMETER_FIELDS | _DROPPED_FIELDS
        ):
            block, at = _until(lines, at + 1, lambda i: not lines[i][:1].isspace())
            if field["kind"] in _PARAMETER_FIELDS and field["about"]:
                parameters[field["about"].split()[-1].lstrip("*")] = _joined([field["text"] or "", *block])
        else:
            prose.append(line)
            at += 1
    return Doc("\n".join(prose).strip(), {name: text for name, text in parameters.items() if text})


def _underlined(lines: list[str], at: int) -> bool:
    """Whether a numpy section of ours starts here: its name, and under it a row of dashes."""
    return (
        at + 1 < len(lines)
        and lines[at].strip().lower() in _SECTIONS
        and len(lines[at + 1]) >= 3
        and not lines[at + 1].strip("-")
    )


def _until(lines: list[str], at: int, ends) -> tuple[list[str], int]:  # type: ignore[no-untyped-def]
    start = at
    while at < len(lines) and not ends(at):
        at += 1
    return lines[start:at], at


def _google_items(block: list[str]) -> dict[str, str]:
    """`name (type): text`, one an item; lines that are indented further go on with it."""
    indents = [len(line) - len(line.lstrip()) for line in block if line.strip()]
    items: dict[str, list[str]] = {}
    current: list[str] = []
    for line in block:
        if line.strip() and len(line) - len(line.lstrip()) == min(indents):
            item = re.fullmatch(_ITEM, line.strip())
            current = items.setdefault(item["name"], [item["text"]]) if item else []
        else:
            current.append(line)
    return {name: _joined(lines) for name, lines in items.items()}


def _numpy_items(block: list[str]) -> dict[str, str]:
    """`name : type` at the margin, its text indented under it; several names may share one text."""
    items: dict[str, list[str]] = {}
    current: list[str] = []
    for line in block:
        if line and not line[0].isspace():
            current = []
            if item := re.fullmatch(_NUMPY_ITEM, line.rstrip()):
                items.update({name.strip(" *"): current for name in item["names"].split(",")})
        else:
            current.append(line)
    return {name: _joined(lines) for name, lines in items.items()}


def _joined(lines: list[str]) -> str:
    return " ".join(word for line in lines for word in line.split())
