"""Results that were too large to show, stored for their session: bounded in memory and time, read page by page."""

from __future__ import annotations

import functools
import secrets
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import attrs

from pegboard._values import Value
from pegboard.content import BLOCK_BYTES, Content, TextContent, labels_size
from pegboard.errors import ErrorCode, ToolError
from pegboard.results import ToolResult
from pegboard.schema.jsontext import shorten, shorten_text
from pegboard.tools import Annotations, Origin, Tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard.context import CallContext

MAX_TEXTS = 1_000
"""More blocks of text than that become one."""
MAX_WORD = 200


@attrs.frozen(eq=False, repr=False)
class StoredResult(Value):
    """One result: its pages, the bytes they take, when it is forgotten (seconds of the monotonic clock), and the tool
    that answered it."""

    pages: tuple[str, ...]
    size: int
    until: float
    tool: str = ""


class ResultStore:
    """The stored results of one session.

    Args:
        max_bytes: what they may take together; the oldest goes first, and what is larger alone is not kept at all.
        for_s: how long each is kept, in seconds.
        clock: seconds that only grow.

    Attributes:
        make_id: makes the id of a result; who serves with several processes puts in which of them has it.
    """

    def __init__(self, max_bytes: int, for_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.make_id: Callable[[], str] = functools.partial(secrets.token_hex, 6)
        self._max_bytes = max_bytes
        self._for_s = for_s
        self._clock = clock
        self._kept: OrderedDict[str, StoredResult] = OrderedDict()  # the oldest first: all are kept for the same time
        self._bytes = 0  # of all of them, counted as they come and go: a walk would make each cut dearer than the last

    def cut(self, result: ToolResult, max_bytes: int) -> ToolResult:
        """The result as it is if it fits into `max_bytes`, else its first page and how to read the others."""
        blocks = _fitting_blocks(result.content, max_bytes)
        text = "\n".join(block.text for block in blocks if isinstance(block, TextContent))
        size = len(text.encode("utf-8", "surrogatepass"))
        others = tuple(block for block in blocks if not isinstance(block, TextContent))
        if size <= max_bytes:
            if len(blocks) - len(others) > MAX_TEXTS:
                blocks = [TextContent(text), *others]
            fits = result.data is None or _data_size(result.data) <= max_bytes
            values = (result.details, result.error and result.error.details)
            if fits and all(map(functools.partial(_fits, max_bytes), values)) and tuple(blocks) == result.content:
                return result
            data = result.data if fits else None
            return _rebuilt(result, tuple(blocks), data, {"cut": {"data": not fits}}, max_bytes)
        # A page of characters that are one byte each; others take up to four, and get fewer on a page.
        per_page = max(1, max_bytes if size == len(text) else max_bytes // 4)
        pages = tuple(text[start : start + per_page] for start in range(0, len(text), per_page))
        key = self._keep(StoredResult(pages, size, self._clock() + self._for_s, result.name))
        advice = f'read on with read_result(id="{key}", page=2)' if key else "the rest is too large to be kept"
        note = f"[page 1 of {len(pages)}, {size} bytes in all; {advice}]"
        cut = {"id": key, "page": 1, "pages": len(pages), "bytes": size}
        return _rebuilt(result, (TextContent(pages[0]), TextContent(note), *others), None, {"cut": cut}, max_bytes)

    def page(self, key: str, number: int) -> ToolResult:
        """One page of a stored result.

        Raises:
            ToolError: NOT_FOUND: it was never kept here, or is forgotten; INVALID_INPUT: it has no such page.
        """
        self._forget()
        kept = self._kept.get(key)
        if kept is None:
            raise ToolError(
                ErrorCode.NOT_FOUND, "no such result is kept; results are forgotten after some minutes: repeat the call"
            )
        if not 1 <= number <= len(kept.pages):
            raise ToolError(ErrorCode.INVALID_INPUT, f"page: expected 1 to {len(kept.pages)}, got {shorten(number)}")
        more = number < len(kept.pages)
        note = f"[page {number} of {len(kept.pages)}" + (f"; next: page={number + 1}]" if more else "]")
        data = {"id": key, "page": number, "pages": len(kept.pages)}
        return ToolResult((TextContent(kept.pages[number - 1]), TextContent(note)), data)

    def tool_of(self, key: str) -> str:
        """The name of the tool that answered a stored result; nothing: it is not kept."""
        kept = self._kept.get(key)
        return "" if kept is None else kept.tool

    def _keep(self, kept: StoredResult) -> str | None:
        if kept.size > self._max_bytes:
            return None
        self._forget()
        key = self.make_id()
        self._kept[key] = kept
        self._bytes += kept.size
        while self._bytes > self._max_bytes:
            self._drop_oldest()
        return key

    def _forget(self) -> None:
        now = self._clock()
        while self._kept and next(iter(self._kept.values())).until <= now:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        self._bytes -= self._kept.popitem(last=False)[1].size


def _fitting_blocks(blocks: tuple[Content, ...], max_bytes: int) -> list[Content]:
    """The blocks, with a text in the place of bytes that do not fit, alone or after those before them."""
    fitting: list[Content] = []
    left = room = max_bytes  # for bytes, and for what stands around them
    for block in blocks:
        if isinstance(block, TextContent):
            fitting.append(block)
            continue
        size, around = len(block.data or b""), labels_size(block) + BLOCK_BYTES
        if size <= left and around <= room:
            left, room = left - size, room - around
            fitting.append(block)
        else:
            what = f"{shorten_text(block.mime_type)} of {size} bytes" if block.data is not None else "a link"
            note = f"[{what} left out: above the limit of {max_bytes}]"
            fitting.append(TextContent(note))
    return fitting


def _fits(max_bytes: int, details: Any) -> bool:
    return details is None or _data_size(details) <= max_bytes


def _data_size(data: Any) -> int:
    import json

    return len(json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _rebuilt(
    result: ToolResult, content: tuple[Content, ...], data: Any, details: dict[str, Any], max_bytes: int
) -> ToolResult:
    error = result.error
    if error is not None:  # a huge error: its text is in the pages
        shown = error.message[:1000]
        kept: dict[str, Any] = {
            key: value
            for key in ("retry", "retry_after_s", "reason")
            if isinstance(value := error.details.get(key), (int, float)) or _is_word(value)
        }
        error = ToolError(error.code, shown, {**kept, **details})
    details = {**((_fits(max_bytes, result.details) and result.details) or {}), **details}
    return ToolResult(content, data, error, details, result.id, result.name, result.duration_ms)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_WORD


def read_result(context: CallContext, /, id: str, page: int = 1) -> ToolResult:  # noqa: A002 - the name callers know
    """Read a page of a result that was too large to show at once."""
    return context.session.kept.page(id, int(page))  # JSON writes 2 as 2.0 too


READ_RESULT = Tool(
    name="read_result",
    title="Read a long result",
    description="Read a page of a result that was too large to show at once. The result itself names its id.",
    handler=read_result,
    run="inplace",
    results="raw",  # a page of what was cleaned before it was kept
    category="general",
    annotations=Annotations(read_only=True, idempotent=True, open_world=False),
    origin=Origin(plugin="core", distribution="pegboard"),
    input_schema={
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "the id that the cut result names"},
            "page": {"type": "integer", "minimum": 1, "default": 1, "description": "which page, from 1"},
        },
        "required": ["id"],
        "additionalProperties": False,
    },
)
"""On the board only where something was cut."""
