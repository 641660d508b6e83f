"""What a value may be, as a help text says it: its placeholder, and the sentence beside it.

The wider reading is taken where the text leaves a choice: a number that may carry a unit is a number or a text, and
words that are listed in prose are examples of what is taken, not all of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Json = Any
Schema = dict[str, Json]
MAX_CHOICES = 60
_WORDS = r"[\w.+-]+(?:, ?[\w.+-]+){1,60}"
_QUOTED = r"[\"'`][\w.+-]+[\"'`](?:,? (?:and |or )?[\"'`][\w.+-]+[\"'`]){1,60}"
_LISTED = re.compile(
    rf"[\[(](?:possible )?(?:values|choices): ({_WORDS}|{_QUOTED})(?:, default: [^()\[\]]{{1,60}})?[\])]|"
    r"\b[A-Z][A-Z_-]{0,30}=\{([\w.+-]+(?:[,|][\w.+-]+){1,60})\}"
)
_META_CHOICES = re.compile(r"^[<(\[{]*([\w.+-]+(?:[|,][\w.+-]+){1,60})[>)\]}]*$")
_PLACES = frozenset(
    {
        "date", "datetime", "time", "timestamp", "dur", "duration", "n", "num", "number",
        "int", "user", "uid", "group", "gid", "pid", "file", "filename", "path",
        "dir", "directory", "url", "uri", "host", "hostname", "ip", "port", "regex",
        "glob",
    }
)  # fmt: skip
"""Words that stand for values: of `<date|duration>` neither is one."""
_PARTS = re.compile(r"[A-Z]+(?:,[A-Z]+)+")
"""The parts of one value, which are written with the commas: `X,Y`."""
_PIPED = re.compile(
    r"\(([a-z0-9][\w.+-]*(?:\|[a-z0-9][\w.+-]*){1,60})\)|"
    r"\b[Oo]ne of:? ([a-z0-9][\w+-]*(?:\|[a-z0-9][\w+-]*){1,60})(?![\w=|+-])"
)
_NOTE = re.compile(r"\((?:default|the default)\)", re.IGNORECASE)
_INTEGER = re.compile(r"^(?:u?int(?:8|16|32|64)?|integer)$|^(?:N|NUM|NUMBER|INT|INTEGER|COUNT|COLS|LINES|DEPTH)$", re.I)
_NUMERIC = re.compile(
    r"^(?:[NMK]|NUM|NUMBER|INT|INTEGER|COUNT|COLS|COLUMNS|LINES|DEPTH|WIDTH|HEIGHT|LEN|LENGTH|LEVEL|PORT|PID|MAX|MIN|LIMIT|"
    r"SECONDS?|SECS?|MILLISECONDS|MS|MINUTES|HOURS|DAYS|TIMEOUT|INTERVAL|DURATION|BYTES?|SIZE|FLOAT|DECIMAL|RATIO|"
    r"PERCENT(?:AGE)?|THRESHOLD|FACTOR|SCORE)S?\d?$",
    re.IGNORECASE,
)
_TYPES: dict[str, Schema] = {
    **{name: {"type": "integer"} for name in ("int", "int8", "int16", "int32", "int64")},
    **{name: {"type": "integer", "minimum": 0} for name in ("uint", "uint8", "uint16", "uint32", "uint64", "count")},
    **{name: {"type": "number"} for name in ("float", "float32", "float64")},
    **{name: {"type": "boolean"} for name in ("bool", "boolean", "true|false", "false|true")},
}
"""Types as Go's flag packages, click and argparse print them, in small letters."""
_OF_MANY = ("string", "int", "uint", "bool", "duration", "float64", "float32", "int32", "int64", "ip")
LISTS = frozenset(
    {*(f"{name}{end}" for name in _OF_MANY for end in ("s", "slice", "array")), "stringtostring", "stringtoint"}
)
"""Types of pflag that are said several times, or with commas between."""
_COUNTED = re.compile(r"\b(?:number|count|lines?|columns?|depth|times)\b", re.IGNORECASE)
_UNIT = re.compile(r"\bsuffix|\bunits?\b|\b[KMG]i?B?\b|%")
_FRACTION = re.compile(r"\bdefault\W{1,3}(?:is )?\d*\.\d")


def schema_of(meta: str, said: str, whole: str = "") -> Schema:
    """Of one word.

    Args:
        meta: the placeholder, `NUM`, `<WHEN>`, `{a,b}`, `string`.
        said: the explanation of the option.
        whole: the lines of the help that `with_units` gives, which may speak of the placeholder too: "SIZE may be
            followed by a suffix".
    """
    if choices := choices_of(meta, said):
        return {"type": "string", "enum": choices}
    name = meta.strip("<>[](){}").strip()
    if typed := _TYPES.get(name):
        return dict(typed)
    has_suffix = (
        name
        and whole
        and re.search(
            rf"\b{re.escape(name)}\b[^.\n]{{0,60}}\b(?:followed by|have|has|with|takes?|accepts?|or a) [^.\n]{{0,30}}"
            r"\b(?:suffix|multiplier)",
            whole,
        )
    )
    if not _NUMERIC.match(name):
        return {"type": ["number", "string"]} if has_suffix else {"type": "string"}
    has_unit = _UNIT.search(said) or has_suffix
    if _INTEGER.match(name) and _COUNTED.search(said) and not has_unit and not _FRACTION.search(said):
        return {"type": "integer"}
    return {"type": ["number", "string"]}


def with_units(lines: Sequence[str]) -> str:
    """The lines of a help that speak of units. A help is long, and each of its options is looked for in them."""
    return "\n".join(line for line in lines if "suffix" in line or "multiplier" in line)


def choices_of(meta: str, said: str) -> list[str]:
    """The words that a value is one of, where they are listed in full by a convention; else none.

    The conventions: `{a,b}` of argparse and `a|b` of the rest in the placeholder, `[possible values: a, b]` and a list
    of one a line of clap, `(choices: "a", "b")` of commander and yargs, `(a|b)` and `one of: a|b` in a sentence,
    `WHEN={a(default),b}` of GNU.
    """
    if found := _META_CHOICES.match(meta.strip()):
        if meta.lower().strip("<>[](){}") in _TYPES or _PARTS.fullmatch(meta.strip("<> ")):
            return []
        return _split(found[1])
    said = _NOTE.sub("", said[:1_500])
    if (found := _LISTED.search(said)) or (found := _PIPED.search(said)):
        return _split(next(group for group in found.groups() if group))
    return []


def _split(listed: str) -> list[str]:
    words = [one.strip(" \"'`") for one in re.split(r",? (?:and |or )|[,|]", listed)]
    found = list(dict.fromkeys(one for one in words if one))
    return found[:MAX_CHOICES] if len(found) > 1 and not {one.lower() for one in found} <= _PLACES else []


_VALUE_LINE = re.compile(r"^[-*•] ?([\w.+-]{1,60})(?::| -|  |$)")
_VALUES_HEADER = re.compile(r"^(?:possible|allowed|valid|accepted) (?:values|choices|options):$", re.IGNORECASE)


def listed_below(lines: list[str]) -> tuple[list[str], list[str]]:
    """Values that stand one a line below "Possible values:", and the lines without the list as one sentence.

    Returns:
        The values, and the lines to read on as text, with "[possible values: a, b]" in the place of the list.
    """
    start = next((i for i, line in enumerate(lines) if _VALUES_HEADER.match(line.strip())), None)
    if start is None:
        return [], lines
    values = []
    for line in lines[start + 1 :]:
        if found := _VALUE_LINE.match(line.strip()):
            values.append(found[1])
    return (list(dict.fromkeys(values))[:MAX_CHOICES], lines) if len(values) > 1 else ([], lines)
