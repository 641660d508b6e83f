"""JSON and values as every output writes them: the same value is always the same bytes, and no character hides.

Foreign texts may hold characters that show nothing, turn the text around or end a line where no reader expects it.
Inside JSON they are written as `\\uXXXX`: the value stays what it is, and a person sees that something is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pegboard.limits import DOCUMENT_LEVELS
from pegboard_toolgen._texts import indented, show_hidden


def plain(value: Any, depth: int = 0) -> Any:
    """The value in dicts, lists and scalars alone, keys sorted: what follows depends on values, never on their order.

    Raises:
        ValueError: deeper than `DOCUMENT_LEVELS`, or no JSON at all.
    """
    if depth > DOCUMENT_LEVELS:
        raise ValueError(f"a manifest nests at most {DOCUMENT_LEVELS} levels")
    if isinstance(value, Mapping):
        return {str(key): plain(value[key], depth + 1) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise ValueError(f"a manifest holds JSON, not {type(value).__name__}")


def text_of(value: Any, *, indent: int | None = 1) -> str:
    """JSON, in the order of its keys, with every character that shows nothing escaped."""
    if indent is not None:
        return show_hidden(indented(value, indent))
    return show_hidden(json.dumps(value, ensure_ascii=False, allow_nan=False))


def bytes_of(value: Any) -> bytes:
    """A file of JSON."""
    return (text_of(value) + "\n").encode()
