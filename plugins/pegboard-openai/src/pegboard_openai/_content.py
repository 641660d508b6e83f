"""Blocks of content as the parts that each API takes; what it does not take is said in words."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from pegboard import AudioContent, BinaryContent, ImageContent, TextContent
from pegboard_chat.portable import text_of_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pegboard import Content
    from pegboard_openai._flavours import Flavour

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
"""Media types to the names of `input_audio.format`, which knows these two."""
FILES = frozenset({"application/pdf"})


def chat_part(block: Content, flavour: Flavour) -> dict[str, Any] | None:
    """An image, a sound or a file as a part of a user's message in chat completions; None: it takes no such."""
    if isinstance(block, ImageContent) and block.mime_type in IMAGES:
        return {"type": "image_url", "image_url": {"url": _data_url(block.data, block.mime_type)}}
    if isinstance(block, AudioContent) and block.mime_type in SOUNDS:
        sound = {"data": base64.b64encode(block.data).decode("ascii"), "format": SOUNDS[block.mime_type]}
        return {"type": "input_audio", "input_audio": sound}
    if flavour.files and isinstance(block, BinaryContent) and block.data is not None and block.mime_type in FILES:
        return {
            "type": "file",
            "file": {"filename": _file_name(block), "file_data": _data_url(block.data, block.mime_type)},
        }
    return None


def responses_part(block: Content, flavour: Flavour) -> dict[str, Any] | None:
    """An image or a file as a part of an input message, or of a call's output, in responses; None: it takes no such."""
    if isinstance(block, ImageContent) and block.mime_type in IMAGES:
        return {"type": "input_image", "detail": "auto", "image_url": _data_url(block.data, block.mime_type)}
    if flavour.files and isinstance(block, BinaryContent) and block.data is not None and block.mime_type in FILES:
        return {
            "type": "input_file",
            "filename": _file_name(block),
            "file_data": _data_url(block.data, block.mime_type),
        }
    return None


def parts_of_user(
    blocks: Sequence[Content], part_of: Callable[[Content], dict[str, Any] | None], text_type: str
) -> str | list[dict[str, Any]]:
    """What a user says: a text where it is text alone, else a list of parts."""
    if all(isinstance(block, TextContent) for block in blocks):
        return text_of_blocks(blocks)
    parts = (part_of(block) or {"type": text_type, "text": text_of_block(block)} for block in blocks)
    return [part for part in parts if part.get("text") != ""]


def parts_of_following(
    following: Iterable[tuple[str, Content]], part_of: Callable[[Content], dict[str, Any] | None], text_type: str
) -> list[dict[str, Any]]:
    """What a user message after the results holds: each block behind its label."""
    parts = []
    for label, block in following:
        parts += [{"type": text_type, "text": label}, part_of(block) or {"type": text_type, "text": ""}]
    return parts


def text_of_blocks(blocks: Iterable[Content]) -> str:
    """All blocks as text: those that are not valid are named."""
    return "".join(block.text if isinstance(block, TextContent) else f"\n{text_of_block(block)}\n" for block in blocks)


def _data_url(data: bytes, mime_type: str) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(data).decode('ascii')}"


def _file_name(block: BinaryContent) -> str:
    return block.name or (block.uri or "").rstrip("/").rpartition("/")[2] or "file.pdf"
