"""Content of the board as content blocks of the messages API.

Rules of the API that shape this module:

- A text block that is empty or blank is refused, so none is ever made.
- Images are PNG, JPEG, GIF or WebP, and their media type is held against their bytes: the bytes decide here.
- Documents are PDF. The text of a file goes as text, since compatible servers lose documents in silence. Sound has no
  block; a line of text names it, so that the model knows of it.
- One block that is refused refuses the request, and the conversation with it: what may not be taken is said in words.
- The result of a call that failed holds text alone.

Source: https://platform.claude.com/docs/en/build-with-claude/vision, .../build-with-claude/pdf-support,
https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pegboard import BinaryContent, ImageContent
from pegboard_chat.portable import text_of, text_of_block

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Content, ToolResult

Block = dict[str, Any]

MAX_IMAGE_BYTES = 3_750_000
"""5 MB as base64: what every platform of the API takes."""
MAX_DOCUMENT_BYTES = 20_000_000
"""A whole request may have 32 MB."""
MAX_TITLE = 200
"""Of a document's name, in characters."""

_SIGNATURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)
_ID = re.compile(r"[a-zA-Z0-9_-]{1,256}", re.ASCII)


def text_block(text: str) -> Block | None:
    """A text block; None where there is nothing to read."""
    return {"type": "text", "text": text} if text.strip() else None


def blocks_of(content: Iterable[Content]) -> list[Block]:
    """What a user says or a tool shows, as blocks of a user message or of a tool result."""
    made = (_image_of(block) or _document_of(block) or text_block(text_of_block(block)) for block in content)
    return [block for block in made if block is not None]


def words_of(content: Iterable[Content]) -> list[Block]:
    """The same where text alone is taken: in an assistant's turn."""
    made = (text_block(text_of_block(block)) for block in content)
    return [block for block in made if block is not None]


def result_block(call_id: str, result: ToolResult) -> Block:
    """The result of a call as the block that answers its `tool_use`; one that shows nothing has no content."""
    block: Block = {"type": "tool_result", "tool_use_id": call_id}
    shown = blocks_of(result.content) if result.ok else []
    if not shown and (text := text_block(text_of(result, flagged=True))):
        shown = [text]
    return {**block, **({"content": shown} if shown else {}), **({} if result.ok else {"is_error": True})}


def wire_id(call_id: str) -> str:
    """The id of a call as the API takes ids: one of its own as it is, any other as the same one each time."""
    if _ID.fullmatch(call_id):
        return call_id
    import hashlib

    return "call_" + hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _image_of(block: Content) -> Block | None:
    data = block.data if isinstance(block, (ImageContent, BinaryContent)) else None
    if not data or len(data) > MAX_IMAGE_BYTES:
        return None
    kind = next((kind for signature, kind in _SIGNATURES if signature.match(data)), None)
    return None if kind is None else {"type": "image", "source": _base64(kind, data)}


def _document_of(block: Content) -> Block | None:
    data = block.data if isinstance(block, BinaryContent) else None
    if not data or len(data) > MAX_DOCUMENT_BYTES or not data.startswith(b"%PDF-"):
        return None
    title = str(getattr(block, "name", None) or getattr(block, "uri", None) or "").strip()[:MAX_TITLE]
    document: Block = {"type": "document", "source": _base64("application/pdf", data)}
    return {**document, "title": title} if title else document


def _base64(kind: str, data: bytes) -> Block:
    import base64

    return {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode("ascii")}
