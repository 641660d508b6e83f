"""What came back from a call: one class for success and failure."""

from __future__ import annotations

import json
import marshal
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

import attrs

from pegboard._frozen import EMPTY, thaw
from pegboard.content import Content, TextContent, content_from_json
from pegboard.errors import ErrorCode, ToolError
from pegboard.text import is_plain_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Make = TypeVar("Make")
Read = TypeVar("Read")


class _MakeOrRead(Generic[Make, Read]):
    """One name with two readings: `ToolResult.error(...)` makes a result, `result.error` is the error it carries."""

    def __init__(self, make: Make, read: Callable[[ToolResult], Read]) -> None:
        self._make = make
        self._read = read

    @overload
    def __get__(self, result: None, owner: type) -> Make: ...
    @overload
    def __get__(self, result: ToolResult, owner: type) -> Read: ...
    def __get__(self, result: ToolResult | None, owner: type) -> Make | Read:
        return self._make if result is None else self._read(result)


def _make_text(text: str, *, data: Mapping[str, Any] | None = None) -> ToolResult:
    """A result that shows `text`; `data` is the same for programs."""
    return ToolResult(content=(TextContent(text),), data=data)


def _make_json(value: Any, *, text: str | None = None) -> ToolResult:
    """A result whose data is `value` (an object as it is, anything else as `{"result": value}`), shown as JSON."""
    data = value if isinstance(value, dict) else {"result": value}
    shown = json.dumps(value, ensure_ascii=False) if text is None else text
    return ToolResult(content=(TextContent(shown),), data=data)


def _make_error(code: ErrorCode | str, message: str, **details: Any) -> ToolResult:
    """A failed result; the message says how to repair the call."""
    return ToolResult.of_error(ToolError(code, message, details))


@attrs.frozen(slots=False, repr=False)  # a dict is filled faster than slots, and every call makes one
class ToolResult:
    """What came back from a call.

    `ToolResult.text(...)`, `.json(...)`, `.error(...)` and `.empty()` make results in a handler; any other value that a
    handler returns becomes one.

    Args:
        content: blocks in the order they are shown.
        data: the same for programs, an object or None.
        error: why the call failed, or None.
        details: what the host has to say about a call that succeeded: arguments it repaired, an answer that came late.
        id: the id of the call, the caller's or one that the host drew.
        name: the name of the tool that was asked for.
        duration_ms: from the arrival of the call to its answer, in milliseconds.

    .. versionadded:: 0.1
    """

    content: tuple[Content, ...] = ()
    data: Mapping[str, Any] | None = None
    _error: ToolError | None = None
    details: Mapping[str, Any] | None = None
    id: str = ""
    name: str = ""
    duration_ms: float = 0.0

    text = _MakeOrRead(_make_text, lambda result: result._joined_text())
    json = _MakeOrRead(_make_json, lambda result: result.to_json())
    error = _MakeOrRead(_make_error, lambda result: result._error)

    def __repr__(self) -> str:
        fields = {"data": self.data, "error": self._error, "details": self.details}
        shown = "".join(f", {key}={value!r}" for key, value in fields.items() if value is not None)
        return f"ToolResult({self.name or '?'}: {list(self.content)}{shown})"

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self._error is None

    @classmethod
    def empty(cls) -> ToolResult:
        """A success that has nothing to show."""
        return cls()

    @classmethod
    def of_error(
        cls,
        error: ToolError,
        id: str = "",  # noqa: A002 - the field's name
        name: str = "",
        duration_ms: float = 0.0,
    ) -> ToolResult:
        """The result that carries `error`, and shows its message; of a call of which this much is known."""
        return cls((TextContent(error.message),), None, error, None, id, name, duration_ms)

    def raise_for_error(self) -> ToolResult:
        """The result itself, if the call succeeded.

        Raises:
            ToolError: the error that the result carries.
        """
        if self._error is not None:
            raise self._error
        return self

    def to_json(self) -> dict[str, Any]:
        """One line of `batch`, and what `--json` prints; `details` stands there only where there are any."""
        line: dict[str, Any] = {
            "id": self.id,
            "name": self.name,
            "ok": self._error is None,
            "content": [block.to_json() for block in self.content],
            "data": self.data,
            "error": None if self._error is None else self._error.to_json(),
            "duration_ms": round(self.duration_ms, 3),
        }
        if self.details:
            line["details"] = self.details
        return line

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> ToolResult:
        """Read back what `to_json` wrote.

        Raises:
            ValueError: a content block or an error code is of no known kind.
        """
        error = line.get("error")
        return cls(
            content=tuple(content_from_json(block) for block in line.get("content", ())),
            data=line.get("data"),
            error=None if error is None else ToolError.from_json(error),
            details=line.get("details"),
            id=line.get("id", ""),
            name=line.get("name", ""),
            duration_ms=line.get("duration_ms", 0.0),
        )

    @classmethod
    def from_json_text(cls, text: str) -> ToolResult:
        """As `from_json`, of the JSON text. One in which nothing hides is not looked through again where a handler
        returns it.

        Raises:
            ValueError, TypeError, KeyError, AttributeError, RecursionError: it is not what `to_json` wrote.

        .. versionadded:: 0.1
        """
        return read_plain(text) or cls.from_json(json.loads(text))

    def _joined_text(self) -> str:
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))


class PlainResult(ToolResult):
    """A success as JSON text said it, in which nothing hides: nothing is left to clean. Made by `read_plain`.

    Attributes:
        size: of that text, in characters; no less than what the result shows or carries.

    .. versionadded:: 0.1
    """

    # Not a field, and so no class of attrs of its own, which would be made at each start: it is not part of the value.
    size: ClassVar[int] = 0


def read_plain(text: str) -> PlainResult | None:
    """What `to_json` wrote of a success that shows one text and has no details, where nothing hides in it; None: it is
    anything else, or cannot be read, and `from_json` knows. Most results are such; others are looked at part by part.

    .. versionadded:: 0.1
    """
    from pegboard.schema.jsontext import JsonTextError, loads

    if not is_plain_json(text):
        return None
    try:
        line = loads(text)
    except JsonTextError:
        return None
    if type(line) is not dict or line.get("error") is not None or line.get("details") is not None:
        return None
    blocks, data = line.get("content"), line.get("data")
    if type(blocks) is not list or len(blocks) != 1 or type(block := blocks[0]) is not dict:
        return None
    if block.get("type") != "text" or type(shown := block.get("text")) is not str:
        return None
    if data is not None and type(data) is not dict:
        return None
    plain = PlainResult(
        (TextContent(shown),),
        data,
        id=line.get("id", ""),
        name=line.get("name", ""),
        duration_ms=line.get("duration_ms", 0.0),
    )
    plain.__dict__["size"] = len(text)
    return plain


class CheckedResult:
    """A success that the host has checked, to be given again: `CallContext.checked` makes it, `Layer.at_once` gives it.

    Every copy has data and details of its own, so that what one caller does to them no other sees.

    Args:
        tool: whose result it is.
        result: the result, of plain JSON.
        size: of what it shows, in bytes or a little less.

    .. versionadded:: 0.1
    """

    __slots__ = ("_blocks", "_dumped", "size", "tool")

    def __init__(self, tool: Any, result: ToolResult, size: int) -> None:
        self.tool = tool
        self._blocks = result.content
        # The quickest deep copy of JSON that there is. `marshal` is for bytes of one's own alone, and these never leave
        # the process; version 2 writes no references, so that what is read shares nothing.
        self._dumped = marshal.dumps((thaw(result.data), thaw(result.details or EMPTY)), 2)
        self.size = size + len(self._dumped)
        """What it holds of memory, in bytes or a little less."""

    def copy(
        self,
        details: Mapping[str, Any] = EMPTY,
        id: str = "",  # noqa: A002 - the field's name
        name: str = "",
        duration_ms: float = 0.0,
    ) -> ToolResult:
        """The result once more, with details added."""
        data, told = marshal.loads(self._dumped)  # noqa: S302 - bytes of our own
        told.update(details)
        return ToolResult(self._blocks, data, None, told, id, name, duration_ms)


def stamped(result: ToolResult, id: str, name: str, duration_ms: float) -> ToolResult:  # noqa: A002 - the field's name
    """The result with the call's id, name and duration on it."""
    return ToolResult(result.content, result.data, result.error, result.details, id, name, duration_ms)


def noted(result: ToolResult, details: Mapping[str, Any]) -> ToolResult:
    """The result with details added: to its own, or to those of its error."""
    error = result.error
    if error is None:
        noted = {**(result.details or {}), **details}
    else:
        noted, error = dict(result.details or {}), ToolError(error.code, error.message, {**error.details, **details})
    return ToolResult(result.content, result.data, error, noted, result.id, result.name, result.duration_ms)
