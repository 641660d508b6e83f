"""Large JSON texts, read within bounds and in little time.

The core's reader checks a text before it parses; for texts of megabytes, which nobody sends in a call, that costs more
than the parsing. Here the parser itself refuses numbers without end, and depth is looked at afterwards. Whatever is
refused is given to the core's reader, which says why.
"""

from __future__ import annotations

import contextlib
import gc
import json
import re
from itertools import chain, compress
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

from pegboard.schema.jsontext import MAX_DIGITS, check_value, loads

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONTAINERS: frozenset[type] = frozenset({dict, list})
# Letters and signs of which none is invisible or turns the direction; what is not here is looked at text by text.
_UNUSUAL = re.compile(
    "[^\t\n\r -~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0559"
    "\u2010-\u2027\u2030-\u205e\u2190-\u25ff\u3001-\u3163\u3165-\u9fff]"
)


class _RefusedError(ValueError):
    """A number that is not finite, or too long."""


def _refuse(text: str) -> NoReturn:
    raise _RefusedError


def _to_int(text: str) -> int:
    return int(text) if len(text) <= MAX_DIGITS else _refuse(text)


def _to_float(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _refuse(text)


_decode = json.JSONDecoder(parse_constant=_refuse, parse_float=_to_float, parse_int=_to_int).decode


def read_json(data: str | bytes, *, max_depth: int, max_bytes: int) -> tuple[Any, bool]:
    """The value of a JSON text, and whether every text in it shows all that it holds.

    Raises:
        JsonTextError: it is not JSON, or breaks a bound.
    """
    if len(data) > max_bytes:
        return loads(data, max_depth=max_depth, max_bytes=max_bytes), False
    try:
        text = data if isinstance(data, str) else data.decode("utf-8").removeprefix("\ufeff")
        value = _decode(text)
        escapes = any(escape in text for escape in ("\\u", "\\b", "\\f"))
        if _is_within(value, max_depth) and not (escapes and check_value(value, max_depth=max_depth)):
            return value, not escapes and ((data.isascii() and "\x7f" not in text) or not _UNUSUAL.search(text))
    except (ValueError, RecursionError):
        pass
    return loads(data, max_depth=max_depth, max_bytes=max_bytes), False


def _is_within(value: Any, max_depth: int) -> bool:
    """Whether a value nests no deeper; it is looked through level by level, without a step of Python a value."""
    level: list[Any] = [value] if value.__class__ in _CONTAINERS else []
    for _ in range(max_depth + 1):
        if not level:
            return True
        of_dicts = chain.from_iterable(item.values() for item in level if item.__class__ is dict)
        of_lists = chain.from_iterable(item for item in level if item.__class__ is list)
        inner = [*of_dicts, *of_lists]
        level = list(compress(inner, map(_CONTAINERS.__contains__, map(type, inner))))
    return False


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """No garbage is collected within the block: it makes many thousands of values, and all of them stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
