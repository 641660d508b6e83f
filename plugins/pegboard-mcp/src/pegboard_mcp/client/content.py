"""What an MCP server answered, as what the board shows. JSON in, values out: no I/O, and nothing is raised on any JSON.

Servers are third parties, and what they send is read as leniently as it can be without a loss: a block that is
understood becomes the content class of its kind, in its place; what is not understood becomes a `TextContent` that
names its type and its size, and stands raw in the details. What a content class has no room for (titles, annotations)
goes to the details too. Details are bounded; what would pass the bound is named there by its size alone.

    text              TextContent
    image             ImageContent; without a media type BinaryContent
    audio             AudioContent; without a media type BinaryContent
    resource          BinaryContent; one that came as a text is marked as such
    resource_link     BinaryContent without data
    nothing           ToolResult.empty()
    anything else     TextContent that names it, raw in `details["unknown"]`

Shapes: https://modelcontextprotocol.io/specification, "Tools", "Prompts" and "Resources" of every revision.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard import AudioContent, BinaryContent, ErrorCode, ImageContent, TextContent, ToolError, ToolResult
from pegboard.content import clean_blocks
from pegboard.text import CLEANED, add_counts, clean, counts_in
from pegboard_mcp.client._plain import carried, json_text, kind_of, masked, plain_surrogates, plain_text
from pegboard_mcp.client.rpc import parse_error
from pegboard_mcp.texts import runs_in_a_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard import Content
    from pegboard_mcp.prompts_and_resources import Message, Role

MAX_BLOCKS = 10_000
"""How many blocks of one answer are read; those after them are counted in a last one."""
MAX_MESSAGES = 1_000
"""How many messages of one prompt are read."""
MAX_DETAILS = 16_384
"""What may go to the details of one answer, in characters of JSON."""
MAX_META = 4_096
"""A longer `_meta` of a result is left out, in characters of JSON."""
MAX_ERROR_TEXT = 4_000
"""What is shown of a server's error text, in characters."""
MAX_LABEL = 1_000
"""A longer name or media type is cut, in characters."""
MAX_URI = 8_000
"""A longer address is cut, in characters."""

ANY_TYPE = "application/octet-stream"
OWN_META = "io.modelcontextprotocol/"
"""Keys of `_meta` that belong to the protocol, and say nothing about the result."""

_KNOWN_KEYS = {
    "text": {"type", "text"},
    "image": {"type", "data", "mimeType"},
    "audio": {"type", "data", "mimeType"},
    "resource": {"type", "resource"},
    "resource_link": {"type", "uri", "name", "mimeType"},
}
_RESOURCE_KEYS = {"uri", "mimeType", "text", "blob", "name"}


class ReadBlocks(tuple["Content", ...]):
    """What lies at an address; `details` says for how long it may be given again, where the server said so."""

    details: Mapping[str, Any] | None = None


def cache_hints(raw: Mapping[str, Any]) -> dict[str, Any]:
    """`ttlMs` and `cacheScope` of a result, as details have them: `ttl_ms` and `cache_scope`.

    From 2026-07-28 on they stand in what `resources/read` and the lists give; elsewhere they mean the same. A time that
    cannot be read does not count: what says so is stale, as of HTTP (https://www.rfc-editor.org/rfc/rfc9111#section-4.2.1).
    """
    ttl_ms, scope = raw.get("ttlMs"), raw.get("cacheScope")
    is_time = type(ttl_ms) is int and ttl_ms >= 0
    hints: dict[str, Any] = {} if ttl_ms is None else {"ttl_ms": ttl_ms if is_time else 0}
    return {**hints, "cache_scope": scope} if scope in ("public", "private") else hints


class Reading(NamedTuple):
    """Blocks in their order, and what is to be said about them."""

    blocks: tuple[Content, ...]
    details: dict[str, Any]


def result_of(raw: Any, *, server: str, mask: Callable[[str], str] | None = None) -> ToolResult:
    """The result of a `tools/call`, from its raw JSON.

    `structuredContent` is the data; a value that is not an object is `{"result": value}`, as everywhere on the board,
    so an output schema that is not an object's has to be wrapped likewise. Without a block to show it is shown as JSON.

    Args:
        raw: the member `result` of the answer, as it was parsed.
        server: the configured name of the server, for errors.
        mask: takes the server's secrets out of error texts.

    .. versionadded:: 0.1
    """
    if not isinstance(raw, Mapping):
        return _unusable(server, f"answered with {kind_of(raw)} where a result is an object")
    kind = raw.get("resultType")
    if kind is not None and kind != "complete":
        return _unusable(server, f"answered with a result of the kind {plain_text(kind, 40)!r}, which is not complete")
    room = _Room()
    is_error, content = raw.get("isError") in (True, "true"), raw.get("content")
    if is_error and mask is not None:
        content = _masked_texts(content, mask)  # before it is cleaned too: what is cleaned away may part a secret
    blocks, data = _read_blocks(content, room), None
    if is_error:
        return _failure(raw, blocks, room, server, mask)
    structured = raw.get("structuredContent")
    if structured is not None:
        text = json_text(structured)
        if text is None:
            blocks += (
                TextContent("[structured content that has no JSON form: too deep, or a number that is not finite]"),
            )
        else:
            data = carried(structured, text)
            data = data if isinstance(data, dict) else {"result": data}
            blocks = blocks or (TextContent(plain_surrogates(text)),)
    room.take_meta(raw.get("_meta"))
    room.details |= cache_hints(raw)
    if not blocks and data is None and not room.details:
        return ToolResult.empty()
    return ToolResult(content=blocks, data=data, details=room.details or None)


def blocks_of(raw: Any) -> Reading:
    """Content blocks from their raw JSON: a list of them, or one alone.

    .. versionadded:: 0.1
    """
    room = _Room()
    return Reading(_read_blocks(raw, room), room.details)


def messages_of(raw: Any, *, is_raw: bool = False) -> tuple[Message, ...]:
    """The messages of a `prompts/get`, from its raw JSON. A role that is not one of MCP's is read as the user's.

    What hides in their texts is taken out, unless `is_raw`: they do not go the way of a call's result, where that is
    done for everybody.

    .. versionadded:: 0.1
    """
    from pegboard_mcp.prompts_and_resources import Message

    listed = raw.get("messages") if isinstance(raw, Mapping) else None
    messages = []
    for one in listed[:MAX_MESSAGES] if isinstance(listed, list) else ():
        is_object = isinstance(one, Mapping)
        role: Role = "assistant" if is_object and one.get("role") == "assistant" else "user"
        content = one.get("content") if is_object else one
        blocks = _read_blocks(content, _Room())
        messages += [Message(role, block) for block in (blocks if is_raw else clean_blocks(blocks)[0])]
    return tuple(messages)


def resource_blocks(raw: Any, *, is_raw: bool = False) -> ReadBlocks:
    """What a `resources/read` gave, from its raw JSON: texts and bytes alike as `BinaryContent` with their address,
    and how long it may be cached.

    What hides in texts is taken out, unless `is_raw`.

    .. versionadded:: 0.1
    """
    listed = raw.get("contents") if isinstance(raw, Mapping) else None
    contents = [{"type": "resource", "resource": one} for one in listed] if isinstance(listed, list) else []
    blocks = _read_blocks(contents, _Room())
    read = ReadBlocks(blocks if is_raw else clean_blocks(blocks)[0])
    read.details = cache_hints(raw) if isinstance(raw, Mapping) else None
    return read


class _Room:
    """The details of one answer, and what is left of their room."""

    def __init__(self) -> None:
        self.details: dict[str, Any] = {}
        self._left = MAX_DETAILS

    def fit(self, value: Any) -> Any:
        """The value where it fits, else what names it."""
        text = json_text(value)
        if text is None:
            return f"[{kind_of(value)} without a JSON form]"
        if len(text) > self._left:
            return f"[{kind_of(value)} of {len(text)} characters as JSON]"
        self._left -= len(text)
        return carried(value, text)

    def take_unknown(self, raw: Any) -> None:
        if self._left > 0:
            self._left -= 8
            self.details.setdefault("unknown", []).append(self.fit(raw))

    def take_rest(self, index: int, rest: Mapping[str, Any]) -> None:
        if rest and self._left > 0:
            self._left -= 8
            self.details.setdefault("blocks", {})[str(index)] = self.fit(rest)

    def take_meta(self, meta: Any) -> None:
        if not isinstance(meta, Mapping):
            return
        own = {key: value for key, value in meta.items() if not str(key).startswith(OWN_META)}
        text = json_text(own) if own else None
        if text is not None and len(text) <= min(MAX_META, self._left):
            self._left -= len(text)
            self.details["_meta"] = carried(own, text)


def _read_blocks(raw: Any, room: _Room) -> tuple[Content, ...]:
    if raw is None:
        return ()
    listed = raw if isinstance(raw, list) else [raw]
    blocks: list[Content] = []
    for index, one in enumerate(listed[:MAX_BLOCKS]):
        if type(one) is dict and one.get("type") == "text" and len(one) == 2 and type(text := one.get("text")) is str:
            blocks.append(TextContent(plain_surrogates(text)))  # what nearly all of them are
        else:
            blocks.append(_block_of(one, index, room))
    if len(listed) > MAX_BLOCKS:
        blocks.append(TextContent(f"[{len(listed) - MAX_BLOCKS} more blocks, which are not shown]"))
    return tuple(blocks)


def _block_of(raw: Any, index: int, room: _Room) -> Content:
    if isinstance(raw, str):
        return TextContent(plain_surrogates(raw))
    if not isinstance(raw, Mapping):
        return _unknown(raw, f"content that is {kind_of(raw)} and no block", room)
    kind = raw.get("type")
    known = _KNOWN_KEYS.get(kind) if isinstance(kind, str) else None
    if known is None:
        named = "a block without a type" if kind is None else f"a block of the unknown type {plain_text(kind, 40)!r}"
        return _unknown(raw, named, room)
    block = _read_known(str(kind), raw)
    if block is None:
        return _unknown(raw, f"a block of the type {kind!r} that cannot be read", room)
    rest = {key: value for key, value in raw.items() if key not in known and value is not None}
    resource = raw.get("resource")
    if kind == "resource" and isinstance(resource, Mapping):
        rest |= {key: value for key, value in resource.items() if key not in _RESOURCE_KEYS and value is not None}
    room.take_rest(index, rest)
    return block


def _read_known(kind: str, raw: Mapping[str, Any]) -> Content | None:
    match kind, raw:
        case "text", {"text": str(text)}:
            return TextContent(plain_surrogates(text))
        case "image" | "audio", {"data": str(encoded)}:
            data, mime_type = _decoded(encoded), raw.get("mimeType")
            if data is None:
                return None
            if not isinstance(mime_type, str) or not mime_type:
                return BinaryContent(data, ANY_TYPE)  # bytes of some kind: naming one would be a guess
            return (ImageContent if kind == "image" else AudioContent)(data, _label(mime_type))
        case "resource", {"resource": Mapping() as resource}:
            return _resource_of(resource)
        case "resource_link", {"uri": str(uri)} if not runs_in_a_page(uri):
            name = raw.get("name")
            return BinaryContent(
                None, _type_of(raw, ANY_TYPE), _address(uri), _label(name) if isinstance(name, str) else None
            )
    return None


def _resource_of(resource: Mapping[str, Any]) -> BinaryContent | None:
    uri, name = resource.get("uri"), resource.get("name")
    address = _address(uri) if isinstance(uri, str) and uri else None
    label = _label(name) if isinstance(name, str) else None
    match resource:
        case {"text": str(text)}:
            return BinaryContent.of_text(plain_surrogates(text), _type_of(resource, "text/plain"), address, label)
        case {"blob": str(encoded)}:
            data = _decoded(encoded)
            return None if data is None else BinaryContent(data, _type_of(resource, ANY_TYPE), address, label)
    if address is None or "text" in resource or "blob" in resource:
        return None
    return BinaryContent(None, _type_of(resource, ANY_TYPE), address, label)


def _type_of(raw: Mapping[str, Any], default: str) -> str:
    given = raw.get("mimeType")
    return _label(given) if isinstance(given, str) and given else default


def _label(text: str, limit: int = MAX_LABEL) -> str:
    """Cut; what hides in it is taken out with that of the texts, and counted there."""
    text = plain_surrogates(text[: limit + 1])
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _address(text: str) -> str:
    return _label(text, MAX_URI)


def _decoded(encoded: str) -> bytes | None:
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError:
        pass
    try:  # in lines, as mail has it
        return base64.b64decode("".join(encoded.split()), validate=True)
    except ValueError:
        return None


def _unknown(raw: Any, named: str, room: _Room) -> TextContent:
    room.take_unknown(raw)
    text = json_text(raw)
    size = "of no JSON form" if text is None else f"{len(plain_surrogates(text).encode())} bytes of JSON"
    return TextContent(f"[{named}, {size}]")


def _failure(
    raw: Mapping[str, Any],
    blocks: tuple[Content, ...],
    room: _Room,
    server: str,
    mask: Callable[[str], str] | None,
) -> ToolResult:
    """UPSTREAM_ERROR, or what another board says that it is, with the server's own text. The tool answered, so it ran,
    where nothing else is said."""
    from pegboard_mcp.dialect import ERROR_META

    listed = "\n".join(block.text for block in blocks if isinstance(block, TextContent)).strip()
    structured = raw.get("structuredContent")
    if not listed and structured is not None:
        listed = json_text(structured) or ""
    listed = mask(listed) if mask is not None else listed
    listed, found = clean(plain_surrogates(listed[: MAX_ERROR_TEXT * 2]))
    listed = mask(listed) if mask is not None else listed  # what was parted is whole now
    message = plain_text(listed, MAX_ERROR_TEXT) or f"the server {server!r} answered with an error and said nothing"
    meta = raw.get("_meta")
    told = None
    if isinstance(meta, Mapping):
        told = parse_error(meta.get(ERROR_META))
        meta = meta if told is None else {key: value for key, value in meta.items() if key != ERROR_META}
    room.take_meta(meta)
    details: dict[str, Any] = {"executed": True, **({} if told is None else told.details), "server": server}
    if structured is not None:
        details["data"] = room.fit(structured)
    details |= room.details
    if found:
        details[CLEANED] = add_counts(counts_in(details), found)
    if mask is not None:
        details = masked(details, mask)
    shown = tuple(block for block in blocks if not isinstance(block, TextContent))
    return ToolResult(
        content=(TextContent(message), *shown),
        error=ToolError(ErrorCode.UPSTREAM_ERROR if told is None else told.code, message, details),
    )


def _masked_texts(content: Any, mask: Callable[[str], str]) -> Any:
    """The blocks of an error with their texts masked."""
    if isinstance(content, list):
        return [_masked_texts(one, mask) for one in content]
    if not isinstance(content, Mapping):
        return content
    inside = {"resource": _masked_texts(content["resource"], mask)} if "resource" in content else {}
    return {**content, **inside, **({"text": mask(content["text"])} if isinstance(content.get("text"), str) else {})}


def _unusable(server: str, what: str) -> ToolResult:
    text = f"the server {server!r} {what}; it breaks the protocol"
    return ToolResult.of_error(ToolError(ErrorCode.UPSTREAM_ERROR, text, server=server, executed=True))
