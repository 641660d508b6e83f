"""Results as a provider can carry them: text everywhere, and the rest beside it.

Providers without an error flag read the error's code in the text; providers whose tool messages carry no images get
them in a following user message, under a label that names the call.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pegboard import AudioContent, BinaryContent, ImageContent, TextContent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pegboard import Content, ToolResult

MAX_FAULTS = 20
"""How many faults of refused arguments are told to a model at once."""


def text_of(result: ToolResult, *, flagged: bool = False) -> str:
    """Everything of a result that a text can say.

    Args:
        result: what came back.
        flagged: whether the provider has an error flag of its own; without one the text begins with the error's code.

    Returns:
        For an error its code, its message, what its content shows beside it, and what `details` say for the repair of
        the call; else the text blocks, one a line, with a line for each block that is not text; else the data as JSON;
        empty where there is nothing at all.

    .. versionadded:: 0.1
    """
    if result.error is not None:
        return error_text(result, flagged=flagged)
    lines = [line for line in map(text_of_block, result.content) if line]
    if not lines and result.data is not None:
        return json.dumps(result.data, ensure_ascii=False)
    return "\n".join(lines)


def error_text(result: ToolResult, *, flagged: bool = False) -> str:
    """The error of a failed result as a model reads it: `CODE: message`, and what the message does not say yet."""
    error = result.error
    if error is None:
        return ""
    lines = [error.message if flagged and error.message else f"{error.code.value}: {error.message}"]
    lines += [text for text in map(text_of_block, result.content) if text and text not in error.message]
    faults = error.details.get("faults")
    if isinstance(faults, (list, tuple)):
        lines += [line for line in map(_fault_line, faults[:MAX_FAULTS]) if line and line not in error.message]
    after_s = error.details.get("retry_after_s")
    if error.details.get("retry") == "same" and isinstance(after_s, (int, float)) and "again" not in error.message:
        lines.append(f"try again after {after_s:g} s")
    return "\n".join(lines)


def _fault_line(fault: Any) -> str:
    if not isinstance(fault, dict):
        return ""
    where, expected = fault.get("path") or "the value", fault.get("expected")
    return f"{where}: expected {expected}, got {fault.get('got')}" if expected else ""


def text_of_block(block: Content) -> str:
    """A block as text: itself, the text that is embedded, or a line that says what is there.

    .. versionadded:: 0.1
    """
    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            kind = "image" if isinstance(block, ImageContent) else "audio"
            return f"[{kind}: {block.mime_type}, {len(block.data)} bytes]"
        case BinaryContent(data=None):
            return f"[link: {block.uri or block.name or 'nowhere'}, {block.mime_type}]"
        case BinaryContent():
            if (text := block.text) is not None:
                return text
            return f"[file: {block.name or block.uri or 'unnamed'}, {block.mime_type}, {len(block.data or b'')} bytes]"
    return ""


def split_blocks(blocks: Iterable[Content], carried: Callable[[Content], bool]) -> tuple[list[str], list[Content]]:
    """What goes into the tool's own message as text, and the blocks that have to follow it.

    Args:
        blocks: of one result.
        carried: whether a following message can carry a block; what it cannot carry is a line of text.

    Returns:
        The lines, with `[image 1 below]` where a block follows, and those blocks in their order.

    .. versionadded:: 0.1
    """
    lines: list[str] = []
    after: list[Content] = []
    for block in blocks:
        if not isinstance(block, TextContent) and not _is_text(block) and carried(block):
            after.append(block)
            lines.append(f"[{kind_of(block)} {len(after)} follows below]")
        elif line := text_of_block(block):
            lines.append(line)
    return lines, after


def split_results(
    results: Sequence[ToolResult], carried: Callable[[Content], bool]
) -> tuple[list[str], list[tuple[str, Content]]]:
    """The results of one turn for a provider whose tool messages are text alone.

    Args:
        results: of one turn, in order.
        carried: whether a user message can carry a block.

    Returns:
        One text a result, and what a user message after them holds: each block with the label that goes before it,
        as in `image 1 of the result of draw (call call_1):`.

    .. versionadded:: 0.1
    """
    texts: list[str] = []
    following: list[tuple[str, Content]] = []
    for result in results:
        if result.error is not None:
            texts.append(error_text(result))
            continue
        lines, after = split_blocks(result.content, carried)
        texts.append("\n".join(lines) if lines else text_of(result))
        following += [(label_of(block, n, result), block) for n, block in enumerate(after, 1)]
    return texts, following


def label_of(block: Content, number: int, result: ToolResult) -> str:
    """What a model reads before a block that stands outside of its result.

    .. versionadded:: 0.1
    """
    name = getattr(block, "name", None) or getattr(block, "uri", None)
    named = f" {name}" if name else ""
    return f"{kind_of(block)} {number}{named} of the result of {result.name or 'the tool'} (call {result.id}):"


def kind_of(block: Content) -> str:
    """One word for a block: text, image, audio, file or link."""
    if isinstance(block, BinaryContent):
        return "file" if block.data is not None else "link"
    return {TextContent: "text", ImageContent: "image", AudioContent: "audio"}[type(block)]


def _is_text(block: Content) -> bool:
    return isinstance(block, BinaryContent) and block.text is not None
