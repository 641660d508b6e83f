"""Any value that a handler returns, as a `ToolResult`.

    None                 nothing to show
    str                  its text; data `{"result": ...}`
    numbers, booleans    their JSON text; data `{"result": ...}`
    dict                 data as it is, shown as JSON
    attrs, dataclass     as the object they unstructure to
    list, tuple, set     `{"result": [...]}`, unless all of it is content blocks: then they are the content
    bytes                a `BinaryContent`
    content block        itself
    ToolResult           itself
    ToolError            the failure it is

What has no JSON form, a number that is not finite included, is the tool's mistake: INTERNAL_ERROR, and the
answer says that the tool ran.

This is also the edge at which every text of a result or an error is freed of what hides in it (`pegboard.text`),
whoever the tool is of: a file or a page that a tool of our own reads is as foreign as a server. What was taken out is
counted in `details["cleaned"]`. Texts of a tool with `results="raw"` stay as they are, its errors do not; bytes are
never touched.
"""

from __future__ import annotations

import inspect
import json
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pegboard.content import BLOCK_BYTES, CONTENT_TYPES, BinaryContent, TextContent, clean_blocks, labels_size
from pegboard.errors import ErrorCode, ToolError
from pegboard.pipeline.classify import repeat_of
from pegboard.results import PlainResult, ToolResult
from pegboard.text import CLEANED, NOTHING, add_counts, clean, clean_value, counts_in, is_plain_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pegboard.content import Content
    from pegboard.contract import Validator
    from pegboard.errors import Fault
    from pegboard.tools import Tool

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode

# By the very type, so no bool is an integer; a JSON integer is a number too (2020-12, validation, 6.1.1).
_PRIMITIVES = {"string": (str,), "integer": (int,), "number": (float, int), "boolean": (bool,)}
_AS_JSON: dict[type, Any] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    int: int.__repr__,
    float: float.__repr__,
}
"""The JSON text of a primitive, without the encoder's machinery; a float has to be finite."""


class UnusableError(Exception):
    """What a tool returned cannot be a result; the text says why, for the caller."""


def make_normalise(
    tool: Tool, validate: Validator | None, hear: Callable[[str, Any], None] = lambda name, details: None
) -> Callable[[Any, str, float], tuple[ToolResult, int]]:
    """Compile `normalise(value, call_id, started)` for one tool: the result, and its size in bytes or a little less.

    It raises `UnusableError`. A value of the very type that the hint promised takes the short way. `hear` is told the
    tool's name and the details of a result, where they say that something was taken out of its texts.
    """
    name, is_raw = tool.name, tool.results == "raw"
    quick = _primitive_result(tool)

    def normalise(value: Any, call_id: str, started: float) -> tuple[ToolResult, int]:
        kind = type(value)
        if kind in quick:
            # Of NaN and of both infinities, and of nothing else, the difference to itself is not 0 (IEEE 754).
            if kind is float and value - value != 0:
                raise UnusableError(f"returned {value}, which is not a number in JSON")
            try:
                text = _AS_JSON[kind](value)
            except ValueError as problem:  # an integer above Python's limit of digits
                raise UnusableError("returned an integer that is too long") from problem
            details = None
            if kind is str and not is_raw:
                value, counts = clean(text)
                if counts:
                    text, details = value, {CLEANED: counts}
                    hear(name, details)
            duration_ms = (perf_counter() - started) * 1000
            return ToolResult((TextContent(text),), {"result": value}, None, details, call_id, name, duration_ms), len(
                text
            )
        # By the very type: what an author made of it is looked at as anything else.
        result, size = (value, value.size) if kind is PlainResult else to_result(value, is_raw=is_raw)
        if result.details is not None and CLEANED in result.details:
            hear(name, result.details)
        if validate is not None and result.error is None:
            check_output(validate, result)
        duration_ms = (perf_counter() - started) * 1000
        return (
            ToolResult(result.content, result.data, result.error, result.details, call_id, name, duration_ms),
            size,
        )

    return normalise


def _primitive_result(tool: Tool) -> frozenset[type]:
    """Types whose values need no output validator: the schema was derived from the hint and says just that type."""
    schema = tool.output_schema
    if schema is None:
        return frozenset({str, int, float, bool})
    inner = schema.get("properties", {}).get("result", {})
    if tool.signature is None or set(inner) != {"type"} or not isinstance(inner["type"], str):
        return frozenset()
    return frozenset(_PRIMITIVES.get(inner["type"], ()))


def to_result(value: Any, *, is_raw: bool = False) -> tuple[ToolResult, int]:
    """The table of this module, for any value; with the size of what it shows and carries, in bytes or a little less.

    Args:
        value: what a handler or a filter returned.
        is_raw: leave the texts of a success as they are.

    Raises:
        UnusableError: the value has no JSON form.
    """
    if isinstance(value, ToolResult):
        return _checked(value, is_raw)
    if value is None:
        return ToolResult(), 0
    if isinstance(value, str):
        text = str.__str__(value)  # of a subclass too: an enum of texts is its value
        text, counts = (text, NOTHING) if is_raw else clean(text)
        return ToolResult((TextContent(text),), {"result": text}, None, {CLEANED: counts} if counts else None), len(
            text
        )
    if isinstance(value, ToolError):
        return _checked(ToolResult.of_error(value), is_raw)
    if isinstance(value, CONTENT_TYPES):
        return _checked(ToolResult((value,)), is_raw)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _checked(ToolResult((BinaryContent(bytes(value)),)), is_raw)
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, CONTENT_TYPES) for item in value):
        return _checked(ToolResult(tuple(value)), is_raw)
    if inspect.isasyncgen(value):
        raise UnusableError("returned an async generator; its author has to gather what it gives into a list")
    if inspect.isawaitable(value):
        # Closed, it does not warn that it was never awaited.
        if inspect.iscoroutine(value):
            value.close()
        raise UnusableError("returned something to be awaited; its author has to write `async def`")
    plain, text, counts = _cleaned_json(_to_plain(value), is_raw)
    data = plain if isinstance(plain, dict) else {"result": plain}
    return ToolResult((TextContent(text),), data, None, {CLEANED: counts} if counts else None), len(text)


def _cleaned_json(plain: Any, is_raw: bool = False) -> tuple[Any, str, Mapping[str, int]]:
    """A JSON value without what hides in it, its text, and what was taken out."""
    text = _to_text(plain)
    if is_raw or is_plain_json(text):
        return plain, text, NOTHING
    cleaned, counts = clean_value(plain)
    return (cleaned, _to_text(cleaned), counts) if counts else (plain, text, counts)


def check_output(validate: Validator, result: ToolResult) -> None:
    """Hold a result's data against the output schema.

    Raises:
        UnusableError: it does not fit; the text names the first faults.
    """
    if result.data is None:
        raise UnusableError("returned no data where its output schema asks for some")
    faults: Sequence[Fault] = validate(result.data)
    if faults:
        shown = "; ".join(f"{fault.where or 'data'}: expected {fault.expected}" for fault in faults[:3])
        after = " (what hides in its texts was taken out before)" if CLEANED in (result.details or ()) else ""
        raise UnusableError(f"returned what its output schema forbids: {shown}{after}")


def unusable(tool: Tool, problem: UnusableError) -> ToolError:
    """INTERNAL_ERROR, UPSTREAM_ERROR for a source's tool: a result that cannot be used; the tool ran all the same."""
    return ToolError(
        ErrorCode.UPSTREAM_ERROR if tool.origin.source else ErrorCode.INTERNAL_ERROR,
        f"the tool {tool.name!r} {problem}",
        executed=True,
        retry=repeat_of(tool).value,
    )


def _checked(result: ToolResult, is_raw: bool = False) -> tuple[ToolResult, int]:
    if not all(isinstance(block, CONTENT_TYPES) for block in result.content):
        raise UnusableError("returned content that is not a content block")
    size = sum(map(_block_size, result.content))
    error = result.error
    is_raw = is_raw and error is None
    content, found = (result.content, NOTHING) if is_raw else clean_blocks(result.content)
    if error is not None:
        error, more, counts = _cleaned_error(error, _to_object(error.details, "details"))
        found, size = add_counts(found, counts), size + more
    data = details = None
    if result.data is not None:
        plain = _to_object(result.data, "data")
        data, text, counts = _cleaned_json(plain, is_raw)
        if counts:
            found = add_counts(found, counts)
            if len(content) == 1 and content[0] == TextContent(_to_text(plain)):  # the same for people: so it stays
                content = (TextContent(text),)
        size = max(size, len(text))
    if result.details is not None:
        details, text, counts = _cleaned_json(_to_object(result.details, "details"), is_raw)
        found, size = add_counts(found, counts), size + len(text)
    if found and error is None:
        details = {**(details or {}), CLEANED: found}
    return ToolResult(content, data, error, details), size


class PlainError(ToolError):
    """An error in the host's own words: its text is plain ASCII, its details are JSON, and nothing is left to clean.

    Models get arguments wrong all day, and cleaning costs as much as finding what is wrong.
    """


def clean_error(error: ToolError) -> tuple[ToolError, int]:
    """An error that was raised, with details that are JSON whatever they were, and with clean texts; and its size as of
    a result."""
    if type(error) is PlainError:
        return error, len(error.message)
    reads: tuple[Callable[[Any], Any], ...] = (_to_plain, _named_details, lambda details: {})
    for read in reads:
        try:
            return _cleaned_error(error, read(error.details))[:2]
        except Exception:  # noqa: BLE001, S112 - what an author put there may raise anything: less of it is read then
            continue
    return ToolError(ErrorCode.INTERNAL_ERROR, f"an error that cannot be read ({type(error).__name__})"), 0


def _cleaned_error(error: ToolError, details: dict[str, Any]) -> tuple[ToolError, int, Mapping[str, int]]:
    message, in_message = clean(error.message)
    details, text, counts = _cleaned_json(details)
    if in_message or counts:
        counts = add_counts(in_message, counts)
        details = {**details, CLEANED: add_counts(counts_in(details), counts)}
    return error.reworded(message, details), len(message) + len(text), counts


def _named_details(details: dict[Any, Any]) -> dict[str, Any]:
    return {str(key): _plain_or_named(value) for key, value in details.items()}


def _plain_or_named(value: Any) -> Any:
    try:
        _to_text(plain := _to_plain(value))
    except Exception:  # noqa: BLE001 - a value of the author's own class may raise anything
        return f"a {type(value).__name__}"
    return plain


def _to_object(value: Any, what: str) -> dict[str, Any]:
    plain = _to_plain(value)
    if not isinstance(plain, dict):
        raise UnusableError(f"returned {what} that is not an object but {type(plain).__name__}")
    return plain


def _block_size(block: Content) -> int:
    if isinstance(block, TextContent):
        if not isinstance(block.text, str):
            raise UnusableError("returned text content that holds no text")
        return BLOCK_BYTES + len(block.text)
    if not isinstance(block.mime_type, str):
        raise UnusableError("returned content whose media type is not text")
    if block.data is not None and not isinstance(block.data, bytes):
        raise UnusableError("returned content whose data is not bytes")
    return BLOCK_BYTES + labels_size(block) + len(block.data or b"") * 4 // 3


def _to_plain(value: Any) -> Any:
    kind = type(value)
    if kind is bool or kind is int:
        return value
    from pegboard.schema.structure import unstructure

    try:
        return unstructure(value)
    except (TypeError, ValueError, RecursionError) as problem:
        raise UnusableError(f"returned what has no JSON form: {_reason(problem, value)}") from problem


def _to_text(plain: Any) -> str:
    try:
        return _encode(plain)
    except (TypeError, ValueError, RecursionError) as problem:
        raise UnusableError(f"returned what has no JSON form: {_reason(problem, plain)}") from problem


def _reason(problem: Exception, value: Any) -> str:
    from pegboard.schema.unstructure import KeyTypeError, TooDeepError

    # The exception's own text may quote the value, or a path; the type is enough to find it.
    if isinstance(problem, (TooDeepError, RecursionError)):
        return "it is nested too deep, or holds itself"
    if isinstance(problem, KeyTypeError):
        return str(problem)
    if isinstance(problem, ValueError):
        return "a number that is not finite (NaN or Infinity), or an integer that is too long"
    return f"a value of the type {type(value).__name__}, or one inside it"
