"""What a tool shows: text, images, audio and other bytes. The wire form is that of MCP's content blocks.

.. versionadded:: 0.1
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._values import Value
from pegboard.text import NOTHING, add_counts, clean

if TYPE_CHECKING:
    from collections.abc import Mapping


__all__ = [
    "CONTENT_TYPES",
    "AudioContent",
    "BinaryContent",
    "Content",
    "ImageContent",
    "TextContent",
    "clean_blocks",
]


@attrs.frozen(eq=False, repr=False)
class TextContent(Value):
    """Text for the model and the person.

    .. versionadded:: 0.1
    """

    text: str

    def to_json(self) -> dict[str, Any]:
        """`{"type": "text", "text": ...}`."""
        return {"type": "text", "text": self.text}


@attrs.frozen(eq=False, repr=False)
class ImageContent(Value):
    """An image: its encoded bytes and their media type, such as `image/png`.

    .. versionadded:: 0.1
    """

    data: bytes = attrs.field(repr=lambda data: f"<{len(data)} bytes>")
    mime_type: str = "image/png"

    def to_json(self) -> dict[str, Any]:
        """`{"type": "image", "data": BASE64, "mimeType": ...}`."""
        return {"type": "image", "data": _encode(self.data), "mimeType": self.mime_type}


@attrs.frozen(eq=False, repr=False)
class AudioContent(Value):
    """Sound: its encoded bytes and their media type, such as `audio/wav`.

    .. versionadded:: 0.1
    """

    data: bytes = attrs.field(repr=lambda data: f"<{len(data)} bytes>")
    mime_type: str = "audio/wav"

    def to_json(self) -> dict[str, Any]:
        """`{"type": "audio", "data": BASE64, "mimeType": ...}`."""
        return {"type": "audio", "data": _encode(self.data), "mimeType": self.mime_type}


@attrs.frozen(eq=False, repr=False)
class BinaryContent(Value):
    """Any other bytes: an embedded resource where `data` is there, a link to one where it is None.

    Args:
        data: the bytes; those of a text in UTF-8.
        mime_type: the media type.
        uri: where it lies.
        name: what it is called.
        is_text: it came as a text, and leaves as one. `BinaryContent.of_text` makes one.

    .. versionadded:: 0.1
    """

    data: bytes | None = attrs.field(repr=lambda data: "None" if data is None else f"<{len(data)} bytes>")
    mime_type: str = "application/octet-stream"
    uri: str | None = None
    name: str | None = None
    is_text: bool = attrs.field(default=False, kw_only=True, eq=False)  # how it travels, not what it is

    @classmethod
    def of_text(
        cls, text: str, mime_type: str = "text/plain", uri: str | None = None, name: str | None = None
    ) -> BinaryContent:
        """An embedded text. Halves of surrogate pairs, which UTF-8 cannot encode, become question marks."""
        return cls(text.encode("utf-8", "replace"), mime_type, uri, name, is_text=True)

    @property
    def text(self) -> str | None:
        """What is embedded, where it came as a text, or where its media type says that it is text and it is UTF-8; else
        None. Of bytes it is for reading, without what hides in it; the bytes themselves are as they came."""
        if self.data is None or not (self.is_text or _is_textual(self.mime_type)):
            return None
        try:
            text = self.data.decode("utf-8")
        except UnicodeDecodeError:
            return None
        return text if self.is_text else clean(text)[0]

    def to_json(self) -> dict[str, Any]:
        """MCP's `resource` with a `text` or a `blob`, or its `resource_link`."""
        if self.data is None:
            link = {"type": "resource_link", "uri": self.uri or "", "mimeType": self.mime_type}
            return {**link, "name": self.name} if self.name is not None else link
        text = self.text if self.is_text else None
        held = {"blob": _encode(self.data)} if text is None else {"text": text}
        resource: dict[str, Any] = {"uri": self.uri or "", "mimeType": self.mime_type, **held}
        block: dict[str, Any] = {"type": "resource", "resource": resource}
        if self.name is not None:
            resource["name"] = self.name
        return block


Content = TextContent | ImageContent | AudioContent | BinaryContent
"""One content block.

.. versionadded:: 0.1
"""
CONTENT_TYPES = (TextContent, ImageContent, AudioContent, BinaryContent)
"""The classes of content blocks, for `isinstance` and for tables by class.

.. versionadded:: 0.1
"""

BLOCK_BYTES = 30
"""What a block takes in a line of JSON beside what it holds."""


def labels_size(block: Content) -> int:
    """Characters of media type, address and name."""
    labels = (getattr(block, name, None) for name in ("mime_type", "uri", "name"))
    return sum(len(label) for label in labels if isinstance(label, str))


def clean_blocks(blocks: tuple[Content, ...]) -> tuple[tuple[Content, ...], Mapping[str, int]]:
    """The blocks with their texts, addresses and names clean; the very blocks where nothing hid.

    The bytes of an image, of sound and of an embedded file are never touched; those of an embedded text are a text.

    .. versionadded:: 0.1
    """
    if len(blocks) == 1 and type(blocks[0]) is TextContent:  # what nearly all results show
        text, found = clean(blocks[0].text)
        return ((TextContent(text),), found) if found else (blocks, found)
    cleaned, all_found = [], NOTHING
    for block in blocks:
        kept: Content = block
        for name in ("text", "mime_type", "uri", "name"):
            value = getattr(block, name, None)
            is_bytes = name == "text" and isinstance(block, BinaryContent)
            if not isinstance(value, str) or (is_bytes and not getattr(block, "is_text", False)):
                continue
            text, found = clean(value)
            if found:
                changed: dict[str, Any] = {"data": text.encode()} if is_bytes else {name: text}
                kept = attrs.evolve(kept, **changed)
                all_found = add_counts(all_found, found)
        cleaned.append(kept)
    return (tuple(cleaned), all_found) if all_found else (blocks, NOTHING)


def content_from_json(block: Mapping[str, Any]) -> Content:
    """Read back one block that `to_json` wrote.

    Raises:
        ValueError: the block is of no known type, or its bytes are not base64.
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
        case {"type": "resource", "resource": {"text": str(text)} as resource}:
            return BinaryContent.of_text(
                text, resource.get("mimeType", "text/plain"), resource.get("uri") or None, resource.get("name")
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
    import base64

    return base64.b64encode(data).decode("ascii")


def _decode(data: str) -> bytes:
    import base64

    return base64.b64decode(data, validate=True)


UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def text_in(data: bytes) -> tuple[str, str] | None:
    """The text that bytes are, and the encoding that gives the same bytes back; None: they are not text.

    As git tells them apart: what has a NUL among its first 8,000 bytes is binary (`buffer_is_binary`); but for UTF-16,
    which says so at its beginning.
    """
    for mark, encoding in UTF_16.items():
        if data.startswith(mark):
            with contextlib.suppress(UnicodeDecodeError):
                return data.decode(encoding), encoding
    if b"\0" in data[:8_000]:
        return None
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode("utf-8"), "utf-8"
    return data.decode("latin-1"), "latin-1"
