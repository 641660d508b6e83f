"""`list_resources` and `read_resource`: what MCP servers have to read, for models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict, cast

from pegboard import BinaryContent, CallContext, ErrorCode, TextContent, Tool, ToolError, ToolResult, tool
from pegboard.absence import absent
from pegboard_mcp.client.source import servers_away
from pegboard_mcp.collected import Capabilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard import Content, Session
    from pegboard_mcp.collected import ResourceReader
    from pegboard_mcp.prompts_and_resources import Resource, ResourceTemplate

PAGE = 100
OWN_CHANNELS = ("program", "cli", "chat")
"""Sessions of whoever has the host, and not of a client that it serves."""
MAX_NAMED = 20
MAX_URI = 8_000
TEXTS = ("/json", "+json", "/xml", "+xml", "/yaml", "+yaml", "/toml", "+toml", "/javascript")
"""Ends of media types that are text beside `text/*`."""


class Listed(TypedDict):
    """A resource, or a template of them: one of `uri` and `uri_template` is there."""

    uri: NotRequired[str]
    uri_template: NotRequired[Annotated[str, "an address whose {parts} are to be filled in"]]
    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    mime_type: NotRequired[str]
    server: NotRequired[str]


class ListedPage(TypedDict):
    resources: list[Listed]
    next: NotRequired[Annotated[int, "where the following page starts; only where there is one"]]


def make_tools() -> list[Tool]:
    """The two tools.

    .. versionadded:: 0.1
    """
    return [list_resources, read_resource]


@tool(category="mcp", tags={"mcp"}, read_only=True, idempotent=True)
async def list_resources(
    context: CallContext, server: str | None = None, start: int = 0
) -> Annotated[ToolResult, ListedPage]:
    """List what the MCP servers have to read: addresses, and templates of addresses whose {parts} you fill in.

    Args:
        server: only those of this server.
        start: how many to skip; an answer says with `next` where the following one starts.
    """
    capabilities = context.resource(Capabilities)
    await capabilities.wait_until_listed(lambda: server is not None and server in capabilities.readers)
    found: list[Resource | ResourceTemplate] = [*capabilities.resources.values(), *capabilities.templates.values()]
    if server is not None:
        if server not in capabilities.readers:
            raise _no_server(server, capabilities, context)
        found = [one for one in found if one.source == server]
    page = found[max(start, 0) : max(start, 0) + PAGE]
    listed: ListedPage = {"resources": [_shown(one) for one in page]}
    if max(start, 0) + PAGE < len(found):
        listed["next"] = max(start, 0) + PAGE
    return ToolResult(
        (TextContent(json.dumps(listed, ensure_ascii=False)),), listed, details=_held(capabilities, server, context)
    )


def _held(capabilities: Capabilities, server: str | None, context: CallContext) -> dict[str, Any] | None:
    """What the list leaves out until somebody accepts it, for whoever is in front of the host; models read no details,
    and clients of a server have no business with it."""
    names = [one for one in capabilities.held(server) if not one.startswith("prompt:")]
    if not names or context.session.channel not in OWN_CHANNELS:
        return None
    return {"held": {"count": len(names), "names": names[:MAX_NAMED]}}


@tool(category="mcp", tags={"mcp"}, read_only=True, idempotent=True, open_world=True)
async def read_resource(context: CallContext, uri: str, server: str | None = None) -> ToolResult:
    """Read what lies at an address that list_resources shows, or that a tool of an MCP server named.

    Args:
        uri: the address.
        server: whose it is; needed only where no listed address or template fits it.
    """
    if len(uri) > MAX_URI:
        raise ToolError(ErrorCode.INVALID_INPUT, f"uri: expected at most {MAX_URI:,} characters")
    assert context.scope is not None, "it runs under a deadline"
    with context.session.hold_while_asked(context.scope):
        source, read = await _reader(context, uri, server)
        try:
            result = _result_of(await read(context.session, uri))
        except ToolError as refused:
            result = ToolResult.of_error(refused)
        # It is that server's, whatever it and others list by now.
        context.session.note_read(result, source=source, arguments=context.arguments)
        if result.error is not None:
            raise result.error
        most = _most_of(context.session, source)
        return result if most is None else context.session.cut(result, most)


def _most_of(session: Session, source: str | None) -> int | None:
    """How much a server may give at once; None: as much as any tool."""
    found = (getattr(one, "definition", None) for _, one in session.host.board.sources if one.name == source)
    return next((one.max_result_bytes for one in found if one is not None), None)


def _source_of(session: Session, arguments: Mapping[str, Any]) -> str | None:
    """Whose resource is asked for, as far as that is known now."""
    capabilities, server, uri = session.resource(Capabilities), arguments.get("server"), str(arguments.get("uri"))
    if server is not None:
        return str(server) if server in session.host.board.source_states else None
    return capabilities.source_of(uri) or (next(iter(capabilities.readers)) if len(capabilities.readers) == 1 else None)


def _read_of(session: Session, arguments: Any, result: ToolResult) -> list[tuple[str | None, Any]]:
    """Whose words an answer of `read_resource` has."""
    return [(_source_of(session, arguments) if isinstance(arguments, Mapping) else None, result)]


def _listed_of(session: Session, arguments: Any, result: ToolResult) -> list[tuple[str | None, Any]]:
    """Whose words an answer of `list_resources` has: each row its server's."""
    rows = (result.data or {}).get("resources")
    if result.error is not None or not isinstance(rows, (list, tuple)):
        return [(None, result)]
    known, parts = session.host.board.source_states, list[tuple[str | None, Any]]()
    for row in rows:
        source = row.get("server") if isinstance(row, Mapping) else None
        said = [value for key, value in row.items() if key != "server"] if isinstance(row, Mapping) else row
        parts.append((source if source in known else None, said))
    return parts


read_resource.handler.source_of = _source_of  # type: ignore[attr-defined]
read_resource.handler.said_by = _read_of  # type: ignore[attr-defined]
list_resources.handler.said_by = _listed_of  # type: ignore[attr-defined]


async def _reader(context: CallContext, uri: str, server: str | None) -> tuple[str | None, ResourceReader]:
    """What reads an address, and whose it is.

    Raises:
        ToolError: nobody has it, or a person has to accept it first.
    """
    capabilities = context.resource(Capabilities)
    await capabilities.wait_until_listed(
        lambda: server in capabilities.readers if server is not None else capabilities.find_reader(uri) is not None
    )
    if server is not None and server not in capabilities.readers:
        raise _no_server(server, capabilities, context)
    if server is not None:
        return server, capabilities.readers[server]
    await capabilities.require_accepted(context.session, f"resource:{uri}")
    source, read = capabilities.source_of(uri), capabilities.find_reader(uri)
    if source is not None:
        read = capabilities.readers.get(source, read)  # what is too long is cut here, and not refused
    if read is None and len(capabilities.readers) == 1:
        ((source, read),) = capabilities.readers.items()
    if read is None:
        known = ", ".join(capabilities.readers) or "there is none"
        text = f"no server lists {uri[:60]!r}; say whose it is with `server`: {known}"
        raise absent(text, servers_away(context.session))
    return source, read


def _result_of(given: str | bytes | Sequence[Content]) -> ToolResult:
    """What was read; text is shown as text."""
    if isinstance(given, str):
        return ToolResult(content=(TextContent(given),))
    blocks = (BinaryContent(given),) if isinstance(given, bytes) else tuple(given)
    return ToolResult(content=tuple(map(_readable, blocks)), details=getattr(given, "details", None) or None)


def _readable(block: Content) -> Content:
    if not isinstance(block, BinaryContent) or block.data is None:
        return block
    if block.is_text and block.text is not None:
        return TextContent(block.text)
    kind = block.mime_type.partition(";")[0].strip().lower()
    if not (kind.startswith("text/") or kind.endswith(TEXTS)):
        return block
    try:
        return TextContent(block.data.decode())
    except UnicodeDecodeError:
        return block


def _shown(one: Resource | ResourceTemplate) -> Listed:
    uri = {"uri": one.uri} if hasattr(one, "uri") else {"uri_template": one.uri_template}
    more = {"title": one.title, "description": one.description, "mime_type": one.mime_type, "server": one.source}
    return cast("Listed", {**uri, "name": one.name, **{key: value for key, value in more.items() if value}})


def _no_server(server: str, capabilities: Capabilities, context: CallContext) -> ToolError:
    known = ", ".join(capabilities.readers) or "there is none"
    text = f"there is no MCP server {server[:60]!r} with resources; there are: {known}"
    away = servers_away(context.session)
    return absent(text, [one for one in away if one.source == server] or away)
