"""What a program said on its standard output, as the data of a result; bytes in, an object out.

The program is not trusted: size, depth and numbers are bounded, and bytes that are not UTF-8 are an error for every
parser whose answer would else be a guess. Only `text` replaces them, and who reads it is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, ToolError
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_manifest.hygiene import sanitise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MAX_BYTES = 10_000_000
"""Of a program's output where the binding says nothing."""
MAX_VALUES = 1_000_000
"""Lines of JSON, or rows of CSV, that one result may have."""
MAX_COLUMNS = 100_000
"""Columns of CSV that one result may have."""

_BOM = b"\xef\xbb\xbf"


def read_output(binding: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """The data of a result: an object, or `{"result": value}`.

    Args:
        binding: of kind subprocess.
        data: all that the program wrote.

    Raises:
        ToolError: UPSTREAM_ERROR: it is not what the binding says; `details.executed` is true.

    .. versionadded:: 0.1
    """
    output = binding["output"]
    if len(data) > (most := output.get("max_bytes", MAX_BYTES)):
        raise too_much(most)
    return _PARSERS[output["parser"]](data, output)


def too_much(most: int) -> ToolError:
    """UPSTREAM_ERROR of a program that wrote more than it may."""
    return ToolError(
        ErrorCode.UPSTREAM_ERROR,
        f"the program wrote more than {most:,} bytes; ask for less",
        reason="too_much_output",
        executed=True,
    )


def answers_on_stderr(binding: Mapping[str, Any], stdout: bytes | str, stderr: str) -> bool:
    """Whether a program that succeeded wrote its answer to standard error alone, as `java -version` does and many that
    say there what they wrote, or why they found nothing. Only a text is read there.

    .. versionadded:: 0.1
    """
    return binding["output"]["parser"] == "text" and not stdout.strip() and bool(stderr.strip())


def is_utf8(data: bytes) -> bool:
    """Whether nothing has to be replaced to read it as text."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unreadable(what: str, why: str) -> ToolError:
    return ToolError(
        ErrorCode.UPSTREAM_ERROR,
        f"the program's output is not {what}: {sanitise(why, 200, one_line=True)}",
        reason="output",
        executed=True,
    )


def _json(data: bytes, output: Mapping[str, Any]) -> dict[str, Any]:
    value = _json_value(data, "JSON")
    return value if isinstance(value, dict) else {"result": value}


def _json_value(data: bytes, what: str, place: str = "") -> Any:
    if not data.strip():
        raise _unreadable(what, "it wrote nothing")
    try:
        return loads(data, max_bytes=len(data))
    except JsonTextError as problem:
        raise _unreadable(what, f"{place}{problem}") from None


def _jsonl(data: bytes, output: Mapping[str, Any]) -> dict[str, Any]:
    lines = data.removeprefix(_BOM).split(b"\n")
    return {
        "result": [
            _json_value(line, "JSON Lines", f"line {number}: ")
            for number, line in enumerate(_counted(lines, "JSON Lines"), 1)
            if line.strip()
        ]
    }


def _counted(items: Any, what: str) -> Iterator[Any]:
    for number, item in enumerate(items):
        if number > MAX_VALUES:
            raise _unreadable(what, f"more than {MAX_VALUES:,} lines")
        yield item


def _csv(data: bytes, output: Mapping[str, Any]) -> dict[str, Any]:
    """Rows by column. A column without a name is `column_N`, a second one of a name `NAME_2`; nothing is dropped."""
    import csv
    import io

    text = io.StringIO(_strict_text(data, "CSV"), newline="")
    reader = csv.reader(text, delimiter=output.get("delimiter", ","), strict=True)
    columns = _Columns()
    names = columns.names
    found = list[dict[str, str]]()
    try:
        for row in _counted(reader, "CSV"):
            if not names:
                for name in row:
                    columns.add(name)
            elif row:
                while len(names) < len(row):
                    columns.add("")
                found.append(dict(zip(names, row, strict=False)))
    except csv.Error as problem:
        raise _unreadable("CSV", f"line {reader.line_num}: {problem}") from None
    return {"result": found}


class _Columns:
    """The names of columns, each once; a name that stands there many times costs no more for it."""

    def __init__(self) -> None:
        self.names = list[str]()
        self._taken = set[str]()
        self._last = dict[str, int]()

    def add(self, name: str) -> None:
        if len(self.names) >= MAX_COLUMNS:
            raise _unreadable("CSV", f"more than {MAX_COLUMNS:,} columns")
        base = unique = name or f"column_{len(self.names) + 1}"
        number = self._last.get(base, 1)
        while unique in self._taken:
            number += 1
            unique = f"{base}_{number}"
        self._last[base] = number
        self._taken.add(unique)
        self.names.append(unique)


def _text(data: bytes, output: Mapping[str, Any]) -> dict[str, Any]:
    return {"result": data.removeprefix(_BOM).decode("utf-8", "replace")}


def _strict_text(data: bytes, what: str) -> str:
    try:
        return data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as problem:
        raise _unreadable(what, f"not valid UTF-8 at byte {problem.start}") from None


_PARSERS: Mapping[str, Callable[[bytes, Mapping[str, Any]], dict[str, Any]]] = {
    "json": _json,
    "jsonl": _jsonl,
    "csv": _csv,
    "text": _text,
}
