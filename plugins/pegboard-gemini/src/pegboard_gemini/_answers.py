"""What Gemini answers, as a `Reply`: whole answers and streams of chunks go through the same collector.

Invariants:

- The parts of a turn go back as they came: a `thoughtSignature` stays on the very part that brought it, also where that
  part is empty. Texts are joined only where neither piece is signed, as the API's documents ask.
- `functionCall.args` of the raw turn is always an object, for nothing else is taken back; one that was not valid holds
  `{"INVALID_JSON": text}`, and the call is answered with INVALID_INPUT.
- Members in `snake_case`, which some servers send, are read as those in `camelCase`.

Source: https://ai.google.dev/api/generate-content and https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

from pegboard import AudioContent, BinaryContent, ErrorCode, ImageContent, TextContent, ToolCall
from pegboard.schema.jsontext import shorten_text
from pegboard_chat import CallDelta, Message, ModelError, Reply, Stop, TextDelta, ThinkingDelta, Usage
from pegboard_chat.portable import INVALID_JSON, MAX_BROKEN, draw_id, refused
from pegboard_chat.wire import error_of, half_answer, read_json, tokens_of
from pegboard_gemini._parts import (
    DIALECT,
    FOREIGN_SIGNATURE,
    PROVIDER,
    cleaned,
    given_parts,
    is_latest,
    member,
    read_call,
    text_member,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard import Content, ToolResult
    from pegboard_chat import Delta, ModelRequest
    from pegboard_chat.portable import PortableExport

STOPS = {
    "STOP": Stop.END,
    "MAX_TOKENS": Stop.LENGTH,
    "SAFETY": Stop.REFUSED,
    "RECITATION": Stop.REFUSED,
    "BLOCKLIST": Stop.REFUSED,
    "PROHIBITED_CONTENT": Stop.REFUSED,
    "SPII": Stop.REFUSED,
    "LANGUAGE": Stop.REFUSED,
    "IMAGE_SAFETY": Stop.REFUSED,
    "IMAGE_PROHIBITED_CONTENT": Stop.REFUSED,
    "IMAGE_RECITATION": Stop.REFUSED,
    "ESCALATION": Stop.REFUSED,
    "PUP_LIMITED_DISABLED": Stop.REFUSED,
    "MODEL_ARMOR": Stop.REFUSED,
}
"""What the reasons to finish mean; one that is not here is `OTHER`: the list grows, and not every server knows it."""

BROKEN_CALLS = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"})
"""The model wrote a call that Gemini could not read or did not offer; `finishMessage` holds what it wrote."""

_NO_REASON = frozenset({"", "FINISH_REASON_UNSPECIFIED"})
_NO_BLOCK = frozenset({"", "BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED"})
_COUNTS = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "cachedContentTokenCount",
)
UNKNOWN = "unknown_tool"
"""What a call is called that Gemini held back without saying whose it was."""
OCTETS = "application/octet-stream"


class Collector:
    """Takes chunks of an answer in order, and makes the reply of them."""

    def __init__(self, request: ModelRequest, export: PortableExport, model: str) -> None:
        self._offered = request.export is not None and request.tool_choice != "none"
        self._export = export
        self._model = model
        self._parts: list[dict[str, Any]] = []
        self._pieces: list[str] = []  # of the text part that may go on
        self._thought = False
        self._answers: list[ToolCall | ToolResult] = []
        self._ids = request.conversation.call_ids
        self._usage: dict[str, int] = {}
        self._reason = ""
        self._note = ""
        self._blocked = ""

    def take(self, chunk: Any) -> Iterator[Delta]:
        """One chunk; a whole answer is one too.

        Raises:
            ModelError: it reports an error, or is not an object.
        """
        if not isinstance(chunk, dict):
            raise no_answer()
        if member(chunk, "error"):
            raise error_of(PROVIDER, None, json.dumps(chunk), model=self._model.partition(":")[2])
        self._count(member(chunk, "usageMetadata"))
        self._blocked = text_member(member(chunk, "promptFeedback"), "blockReason") or self._blocked
        candidates = member(chunk, "candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        self._reason = text_member(first, "finishReason") or self._reason
        self._note = text_member(first, "finishMessage") or self._note
        for given in given_parts(member(first, "content")):
            yield from self._add(given)

    @property
    def ended(self) -> bool:
        """Whether the answer is whole: it says why it finished, or why it never began."""
        return self._reason not in _NO_REASON or self._blocked not in _NO_BLOCK

    @property
    def began(self) -> bool:
        """Whether anything came that an answer has."""
        return self.ended or bool(self._parts or self._pieces)

    def reply(self) -> Reply:
        """What all chunks say together."""
        self._close_text()
        if self._offered and self._reason in BROKEN_CALLS and not self._answers:
            self._add_held_back()
        asked = [part["functionCall"] for part in self._parts if "functionCall" in part]
        calls = tuple(
            one if isinstance(one, ToolCall) else ToolCall(one.id, one.name, call["args"])
            for call, one in zip(asked, self._answers, strict=True)
        )
        raw = {"role": "model", "parts": self._parts} if self._parts else None
        message = Message("assistant", self._content(), calls, (), raw, DIALECT if raw else None, self._model)
        return Reply(message, tuple(self._answers), self._cost(), self._stop())

    def _add_held_back(self) -> None:
        """A call that Gemini held back: the model hears what it wrote, under the name that stands in it."""
        wrote = shorten_text(self._note, MAX_BROKEN)
        named = [alias for alias in self._export.aliases if re.search(rf"\b{re.escape(alias)}\b", wrote)]
        name = max(named, key=len) if named else UNKNOWN
        call = {"name": name, "args": {INVALID_JSON: wrote}}
        latest = is_latest(self._model.partition(":")[2])
        self._parts.append({"functionCall": call, **({"thoughtSignature": FOREIGN_SIGNATURE} if latest else {})})
        self._answers.append(
            refused(
                draw_id(),
                self._export.name_of(name),
                f"Gemini could not read this call ({self._reason}). Call one of the tools that are offered, with "
                "arguments as its schema says, and nothing around them.",
            )
        )

    def _stop(self) -> Stop:
        if self._reason in _NO_REASON and self._blocked not in _NO_BLOCK:
            return Stop.REFUSED
        stop = STOPS.get(self._reason, Stop.OTHER)
        return Stop.CALLS if self._answers and stop in (Stop.END, Stop.OTHER) else stop

    def _add(self, given: dict[str, Any]) -> Iterator[Delta]:
        part = cleaned(given)
        text = part.get("text", "")
        if "functionCall" in part:
            yield from self._add_call(given, part["functionCall"])
        elif text:
            yield ThinkingDelta(text) if part.get("thought") else TextDelta(text)
        if not _is_plain(part):
            self._close_text()
            self._parts.append(part)
        elif text:
            self._add_text(text, thought=bool(part.get("thought")))

    def _add_text(self, text: str, *, thought: bool) -> None:
        """Pieces are joined once, when the part is over: an answer may have very many."""
        if thought is not self._thought:
            self._close_text()
        self._thought = thought
        self._pieces.append(text)

    def _close_text(self) -> None:
        if self._pieces:
            text = "".join(self._pieces)
            self._parts.append({"text": text, "thought": True} if self._thought else {"text": text})
            self._pieces.clear()

    def _add_call(self, given: dict[str, Any], call: dict[str, Any]) -> Iterator[Delta]:
        answer = read_call(self._export, member(given, "functionCall"), self._ids)
        if "id" in call:
            call["id"] = answer.id
        yield CallDelta(len(self._answers), answer.name, json.dumps(call["args"], ensure_ascii=False))
        self._answers.append(answer)

    def _content(self) -> tuple[Content, ...]:
        """What the answer shows: text and media, without what was thought."""
        shown: list[list[str] | Content] = []
        for part in self._parts:
            text = "" if part.get("thought") else part.get("text", "")
            if text and shown and isinstance(shown[-1], list):
                shown[-1].append(text)
            elif text:
                shown.append([text])
            elif block := _media(part.get("inlineData")):
                shown.append(block)
        return tuple(TextContent("".join(one)) if isinstance(one, list) else one for one in shown)

    def _count(self, usage: Any) -> None:
        """Chunks repeat the usage with growing numbers: what a later one says holds."""
        for name in _COUNTS:
            if count := tokens_of(member(usage, name)):
                self._usage[name] = count

    def _cost(self) -> Usage:
        prompt, tools, written, thought, cached = (self._usage.get(name, 0) for name in _COUNTS)
        return Usage(prompt + tools, written + thought, cached)


def _is_plain(part: Mapping[str, Any]) -> bool:
    """Whether it is text, thought or said, and nothing else: no signature stands on it."""
    return part.keys() <= {"text", "thought"}


def _media(blob: Any) -> Content | None:
    if not isinstance(blob, dict):
        return None
    try:
        data = base64.b64decode(blob["data"], validate=True)
    except ValueError:
        return None
    kind = blob["mimeType"]
    if kind.startswith("image/"):
        return ImageContent(data, kind)
    return AudioContent(data, kind) if kind.startswith("audio/") else BinaryContent(data, kind or OCTETS)


def no_answer() -> ModelError:
    """What came is JSON, and no answer of this API."""
    return ModelError(
        ErrorCode.UPSTREAM_ERROR,
        "gemini sent JSON that is not an answer of generateContent; check the base_url, or ask again",
        provider=PROVIDER,
        reason="no_json",
    )


class GeminiReader:
    """Reads `streamGenerateContent?alt=sse`: every event is a chunk of the answer."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    @property
    def complete(self) -> bool:
        """Whether a chunk said why the answer finished: no event marks its end."""
        return self._collector.ended

    def feed(self, event: str, data: str) -> list[Delta]:
        """One event.

        Raises:
            ModelError: it reports an error, or is not JSON.
        """
        if not data.strip() or data.strip() == "[DONE]":
            return []
        return list(self._collector.take(read_json(PROVIDER, data)))

    def close(self) -> Reply:
        """The stream ended.

        Raises:
            ModelError: reason `half_answer`: no chunk said why the answer finished.
        """
        if not self.complete:
            raise half_answer(PROVIDER)
        return self._collector.reply()
