"""Every text of a result, changed: a secret is masked wherever it stands."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.content import BinaryContent, TextContent
from pegboard.context import mask
from pegboard.errors import ToolError
from pegboard.results import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard.content import Content

    Change = Callable[[str], str]


def masked(result: ToolResult, secrets: tuple[str, ...]) -> ToolResult:
    """The result with every secret that the call read replaced, wherever it stands."""

    def change_bytes(data: bytes) -> bytes:
        for value in secrets:
            data = data.replace(value.encode("utf-8", "surrogateescape"), b"***")
        return data

    return with_texts(result, partial(mask, secrets=secrets), change_bytes)


def with_texts(result: ToolResult, change: Change, change_bytes: Callable[[bytes], bytes] | None = None) -> ToolResult:
    """The result with every text in it changed: those of content, data, error and details, and names of members.

    Args:
        result: is left as it is.
        change: what a text becomes.
        change_bytes: what the bytes of a block become; None: those of texts as `change` says, and no others.
    """
    error = result.error
    if error is not None:
        error = ToolError(error.code, change(error.message), with_texts_of(error.details, change))
    return ToolResult(
        tuple(_with_texts_of_block(block, change, change_bytes) for block in result.content),
        with_texts_of(result.data, change), error, with_texts_of(result.details, change),
        result.id, result.name, result.duration_ms,
    )  # fmt: skip


def _with_texts_of_block(block: Content, change: Change, change_bytes: Callable[[bytes], bytes] | None) -> Content:
    if isinstance(block, TextContent):
        return TextContent(change(block.text))
    data = block.data or b""
    if change_bytes is not None:
        data = change_bytes(data)
    elif isinstance(block, BinaryContent) and block.text is not None:
        data = change(data.decode("utf-8")).encode("utf-8", "replace")
    mime_type = change(block.mime_type)
    if isinstance(block, BinaryContent):
        uri, name = (with_texts_of(text, change) for text in (block.uri, block.name))
        return BinaryContent(None if block.data is None else data, mime_type, uri, name, is_text=block.is_text)
    return attrs.evolve(block, data=data, mime_type=mime_type)


def with_texts_of(value: Any, change: Change) -> Any:
    """A JSON value with every text in it changed, and every name of a member."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): with_texts_of(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_texts_of(item, change) for item in value]
    return value
