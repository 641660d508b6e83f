"""Secrets that a call has read, masked wherever they stand in its result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard.content import BinaryContent, TextContent
from pegboard.context import mask
from pegboard.errors import ToolError
from pegboard.results import ToolResult

if TYPE_CHECKING:
    from pegboard.content import Content


def masked(result: ToolResult, secrets: tuple[str, ...]) -> ToolResult:
    """The result with every secret that the call read replaced, wherever it stands."""
    error = result.error
    if error is not None:
        error = ToolError(error.code, mask(error.message, secrets), _mask_value(error.details, secrets))
    return ToolResult(
        tuple(_mask_block(block, secrets) for block in result.content),
        _mask_value(result.data, secrets), error, _mask_value(result.details, secrets),
        result.id, result.name, result.duration_ms,
    )  # fmt: skip


def _mask_block(block: Content, secrets: tuple[str, ...]) -> Content:
    if isinstance(block, TextContent):
        return TextContent(mask(block.text, secrets))
    data = block.data or b""
    for value in secrets:
        data = data.replace(value.encode("utf-8", "surrogateescape"), b"***")
    mime_type = mask(block.mime_type, secrets)
    if isinstance(block, BinaryContent):
        uri, name = (_mask_value(text, secrets) for text in (block.uri, block.name))
        return BinaryContent(None if block.data is None else data, mime_type, uri, name, is_text=block.is_text)
    return attrs.evolve(block, data=data, mime_type=mime_type)


def _mask_value(value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return mask(value, secrets)
    if isinstance(value, dict):
        return {mask(key, secrets): _mask_value(item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mask_value(item, secrets) for item in value]
    return value
