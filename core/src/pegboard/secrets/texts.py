"""Every text of a result, changed: a secret is masked wherever it stands."""

from __future__ import annotations

import binascii
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.content import BinaryContent, TextContent
from pegboard.context import mask
from pegboard.results import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard.content import Content

    Change = Callable[[str], str]
    Named = Callable[[str, str], str]


def masked(result: ToolResult, secrets: tuple[str, ...]) -> ToolResult:
    """The result with every secret that the call read replaced, wherever it stands."""

    def change_bytes(data: bytes) -> bytes:
        for value in secrets:
            data = data.replace(value.encode("utf-8", "surrogateescape"), b"***")
        return data

    return with_texts(result, partial(mask, secrets=secrets), change_bytes)


def with_texts(
    result: ToolResult, change: Change, change_bytes: Callable[[bytes], bytes], named: Named | None = None
) -> ToolResult:
    """The result with every text in it changed: those of content, data, error and details, and names of members.

    Args:
        result: is left as it is.
        change: what a text becomes.
        change_bytes: what the bytes of a block become.
        named: what a text becomes that is a member of an object, by its name; None: it is changed as any.
    """
    error = result.error
    if error is not None:
        error = error.reworded(change(error.message), with_texts_of(error.details, change, named))
    return ToolResult(
        tuple(with_texts_of_block(block, change, change_bytes) for block in result.content),
        with_texts_of(result.data, change, named), error, with_texts_of(result.details, change, named),
        result.id, result.name, result.duration_ms,
    )  # fmt: skip


def with_texts_of_block(block: Content, change: Change, change_bytes: Callable[[bytes], bytes]) -> Content:
    """A block with every text in it changed, and its bytes."""
    if isinstance(block, TextContent):
        return TextContent(change(block.text))
    data = change_bytes(block.data or b"")
    mime_type = change(block.mime_type)
    if isinstance(block, BinaryContent):
        uri, name = (with_texts_of(text, change) for text in (block.uri, block.name))
        return BinaryContent(None if block.data is None else data, mime_type, uri, name, is_text=block.is_text)
    return attrs.evolve(block, data=data, mime_type=mime_type)


def with_texts_of(value: Any, change: Change, named: Named | None = None) -> Any:
    """A JSON value with every text in it changed, and every name of a member."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {
            change(key): named(key, item) if named and isinstance(item, str) else with_texts_of(item, change, named)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [with_texts_of(item, change, named) for item in value]
    return value


NUMBERS = frozenset((int, float, bool, type(None)))
"""Types of values that are not texts and hold none."""


def has_text(value: Any, length: int) -> bool:
    """Whether a text of so many characters stands in a JSON value, the names of members included."""
    if isinstance(value, str):
        return len(value) >= length
    if isinstance(value, dict):
        for key, item in value.items():
            if len(key) >= length or (type(item) not in NUMBERS and has_text(item, length)):
                return True
        return False
    return isinstance(value, (list, tuple)) and any(has_text(item, length) for item in value)


_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\r\n]{16,}={0,2}\s*")
_STANDARD = str.maketrans("-_", "+/", "=\r\n")


def bytes_of_base64(text: str) -> bytes | None:
    """The bytes that a text is as a whole in base64, of either alphabet and in lines too; None: it is not one."""
    if _BASE64.fullmatch(text) is None:
        return None
    letters = text.rstrip().translate(_STANDARD)
    try:
        return binascii.a2b_base64(letters + "=" * (-len(letters) % 4))
    except binascii.Error:
        return None
