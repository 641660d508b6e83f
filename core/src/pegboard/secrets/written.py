"""Values that are written down, in a recording, an audit or a span: without secrets, as far as those can be known.

What the caller knows is given as `hidden`. Beside that a member tells by its name that it is secret, a text by its
words, and a key of a well-known service by its shape. To hide too much costs a person a glance elsewhere; to hide too
little leaves a secret in a file.

.. versionadded:: 0.1
"""

from __future__ import annotations

import base64
import json
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from pegboard.config import looks_secret, mask_text
from pegboard.content import text_in
from pegboard.context import mask
from pegboard.secrets.shapes import replace_shapes
from pegboard.secrets.texts import bytes_of_base64

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MASKED", "beginning", "named_secrets", "text_without_secrets", "without_secrets"]

MASKED = "***"
"""What stands in the place of a secret.

.. versionadded:: 0.1
"""
MIN_SECRET = 6
"""A shorter text is found everywhere by accident."""


def without_secrets(value: Any, hidden: tuple[str, ...] = (), name: str = "") -> Any:
    """A copy of a JSON value without the texts of members whose name says that they are secret, without those that are
    hidden, and without what looks like a secret in a text. A member that is simply called `key` tells one call from
    another.

    Args:
        value: is left as it is.
        hidden: texts, the longest first.
        name: of the member that the value is.

    Raises:
        RecursionError: it is nested too deeply.

    .. versionadded:: 0.1
    """
    if isinstance(value, str):
        return MASKED if value and _is_secret(name) else text_without_secrets(value, hidden)
    if isinstance(value, dict):
        return {
            without_secrets(key, hidden): without_secrets(item, hidden, called) for key, called, item in _members(value)
        }
    if isinstance(value, (list, tuple)):  # a header that came more than once has a list of values
        return [without_secrets(item, hidden, name) for item in value]
    return value


def text_without_secrets(text: str, hidden: tuple[str, ...] = ()) -> str:
    """A text without those: in one that is JSON, members have names too; else `Bearer ...`, `password=...`, and keys
    that services give out are known by how they look.

    .. versionadded:: 0.1
    """
    text = mask(text, hidden)
    if len(text) < MIN_SECRET:
        return text
    if (inner := bytes_of_base64(text)) is not None and (read := text_in(inner)) is not None:  # bytes of a block
        without = text_without_secrets(read[0], hidden)
        if without != read[0]:
            return base64.b64encode(without.encode(read[1])).decode("ascii")
        # A key has the letters of base64 as well, so that it can be read as bytes which say nothing.
    if (value := _json_in(text)) is not None:
        without = without_secrets(value, hidden)
        return text if without == value else json.dumps(without, ensure_ascii=False)
    return replace_shapes(mask_text(text), lambda key, kind: MASKED)


def beginning(value: Any, most: int) -> Any:
    """A copy of a JSON value that holds about so many characters: looking for secrets takes a second for a few MB, and
    what is kept is shorter.

    Raises:
        RecursionError: it is nested too deeply.

    .. versionadded:: 0.1
    """
    left = most

    def has_room(_: Any) -> bool:
        return left > 0

    def copy(part: Any) -> Any:
        nonlocal left
        if isinstance(part, dict):
            return {copy(name): copy(item) for name, item in takewhile(has_room, part.items())}
        if isinstance(part, (list, tuple)):
            return [copy(item) for item in takewhile(has_room, part)]
        begun = part[: max(left, 0)] if isinstance(part, str) else part
        left -= len(begun) + 2 if isinstance(begun, str) else 4
        return begun

    return copy(value)


def named_secrets(value: Any) -> Iterator[str]:
    """The texts that `without_secrets` takes out by their name, where they are long enough to be looked for elsewhere.

    .. versionadded:: 0.1
    """
    if isinstance(value, dict):
        for _, name, item in _members(value):
            if _is_secret(name):
                items = item if isinstance(item, (list, tuple)) else (item,)
                yield from (one for one in items if isinstance(one, str) and len(one) >= MIN_SECRET)
            yield from named_secrets(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from named_secrets(item)
    elif isinstance(value, str) and (inner := _json_in(value)) is not None:
        yield from named_secrets(inner)


def _members(value: Mapping[Any, Any]) -> Iterator[tuple[Any, str, Any]]:
    """The members of an object: key, what it is called, and value. `{"name": "X-Api-Key", "value": ...}` says the name
    beside it, as the headers of a HAR file do (https://w3c.github.io/web-performance/specs/HAR/Overview.html)."""
    told = value.get("name", value.get("key"))
    for key, item in value.items():
        yield key, told if key == "value" and isinstance(told, str) else str(key), item


def _json_in(text: str) -> Any:
    """The object or array that a text is; None: it is neither."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_secret(name: str) -> bool:
    return looks_secret(name) and name.lower() not in ("key", "keys")
