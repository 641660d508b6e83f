"""What a tool shows: text, images, audio and other bytes. The wire form is that of MCP's content blocks."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen
class TextContent:
    """Text for the model and the person.

    .. versionadded:: 0.1
    """

    text: str

    def to_json(self) -> dict[str, Any]:
        """`{"type": "text", "text": ...}`."""
        return {"type": "text", "text": self.text}


@attrs.frozen
class ImageContent:
    """An image: its encoded bytes and their media type, such as `image/png`.

    .. versionadded:: 0.1
    """

    data: bytes = attrs.field(repr=lambda data: f"<{len(data)} bytes>")
    mime_type: str = "image/png"

    def to_json(self) -> dict[str, Any]:
        """`{"type": "image", "data": BASE64, "mimeType": ...}`."""
        return {"type": "image", "data": _encode(self.data), "mimeType": self.mime_type}


@attrs.frozen
class AudioContent:
    """Sound: its encoded bytes and their media type, such as `audio/wav`.

    .. versionadded:: 0.1
    """

    data: bytes = attrs.field(repr=lambda data: f"<{len(data)} bytes>")
    mime_type: str = "audio/wav"

    def to_json(self) -> dict[str, Any]:
        """`{"type": "audio", "data": BASE64, "mimeType": ...}`."""
        return {"type": "audio", "data": _encode(self.data), "mimeType": self.mime_type}


@attrs.frozen
class BinaryContent:
    """Any other bytes: an embedded resource where `data` is there, a link to one where it is None.

    .. versionadded:: 0.1
    """

    data: bytes | None = attrs.field(repr=lambda data: "None" if data is None else f"<{len(data)} bytes>")
    mime_type: str = "application/octet-stream"
    uri: str | None = None
    name: str | None = None

    @property
    def text(self) -> str | None:
        """What is embedded, where its media type says that it is text and it is UTF-8; else None."""
        if self.data is None or not _is_textual(self.mime_type):
            return None
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            return None

    def to_json(self) -> dict[str, Any]:
        """MCP's `resource` with a `blob`, or its `resource_link`."""
        if self.data is None:
            link = {"type": "resource_link", "uri": self.uri or "", "mimeType": self.mime_type}
            return {**link, "name": self.name} if self.name is not None else link
        resource = {"uri": self.uri or "", "mimeType": self.mime_type, "blob": _encode(self.data)}
        block: dict[str, Any] = {"type": "resource", "resource": resource}
        if self.name is not None:
            resource["name"] = self.name
        return block


Content = TextContent | ImageContent | AudioContent | BinaryContent
CONTENT_TYPES = (TextContent, ImageContent, AudioContent, BinaryContent)

BLOCK_BYTES = 30
"""What a block takes in a line of JSON beside what it holds."""


def labels_size(block: Content) -> int:
    """Characters of media type, address and name."""
    labels = (getattr(block, name, None) for name in ("mime_type", "uri", "name"))
    return sum(len(label) for label in labels if isinstance(label, str))


def content_from_json(block: Mapping[str, Any]) -> Content:
    """Read back one block that `to_json` wrote.

    Raises:
        ValueError: the block is of no known type, or its bytes are no base64.
    """
    match block:
        case {"type": "text", "text": str(text)}:
            return TextContent(text)
        case {"type": "image", "data": str(data), "mimeType": str(mime_type)}:
            return ImageContent(_decode(data), mime_type)
        case {"type": "audio", "data": str(data), "mimeType": str(mime_type)}:
            return AudioContent(_decode(data), mime_type)
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            return BinaryContent(
                _decode(data),
                resource.get("mimeType", "application/octet-stream"),
                resource.get("uri") or None,
                resource.get("name"),
            )
        case {"type": "resource_link", "uri": str(uri)}:
            return BinaryContent(
                None, block.get("mimeType", "application/octet-stream"), uri or None, block.get("name")
            )
    raise ValueError(f"no content block of a known type: {str(block.get('type'))[:40]!r}")


def _is_textual(mime_type: str) -> bool:
    import re

    textual = r"""(text/[^;\s]+|application/([^;\s+]+\+)?(json|xml|yaml|toml|javascript))(\s*;\s*charset="?utf-8"?)?"""
    return re.fullmatch(textual, mime_type, re.IGNORECASE | re.ASCII) is not None


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _decode(data: str) -> bytes:
    return base64.b64decode(data, validate=True)
