"""What a server said, as texts and values that any person, wire and file can take. No I/O, and nothing is raised.

What answered (`content`) and what failed (`rpc`) are read with the same functions, so they stand below both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pegboard.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable


def plain_text(value: Any, limit: int) -> str:
    """What a server said, fit for people and terminals: nothing hides in it, and it has at most `limit` characters.
    Whatever is not text is shown as JSON.
    """
    text = value if isinstance(value, str) else json_text(value) or kind_of(value)
    shown = clean(plain_surrogates(text[: limit * 2].replace("\r\n", "\n")))[0]
    return shown if len(text) <= limit * 2 and len(shown) <= limit else f"{shown[: max(limit - 1, 0)]}…"


def plain_surrogates(text: str) -> str:
    """The text with every half of a surrogate pair replaced, since no wire and no file can carry one."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def json_text(value: Any) -> str | None:
    """The value as JSON, None where it has no JSON form: nested too deep, NaN, a huge integer."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None


def carried(value: Any, text: str) -> Any:
    """A JSON value that any wire can carry: halves of surrogate pairs in it are replaced.

    Args:
        value: the value.
        text: its JSON.
    """
    clean = plain_surrogates(text)
    if clean is text:
        return value
    try:
        return json.loads(clean)
    except (ValueError, RecursionError):  # pragma: no cover - what was written as JSON reads back
        return None


def masked(details: dict[str, Any], mask: Callable[[str], str]) -> dict[str, Any]:
    """Details without the server's secrets, wherever they stand in them: in each text by itself, for as JSON a secret
    with a quote or a backslash in it is written otherwise."""

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return mask(value)
        if isinstance(value, dict):
            return {mask(key): clean(item) for key, item in value.items()}
        return [clean(item) for item in value] if isinstance(value, list) else value

    shown: dict[str, Any] = clean(details)
    return shown


def is_number(value: Any) -> bool:
    """Whether it is one that a float holds: an integer may be larger than any."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "an object" if isinstance(value, Mapping) else "a list" if isinstance(value, (list, tuple)) else "a value"
