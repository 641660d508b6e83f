"""What a server offers, read page by page, as entries: plain JSON that is checked and cleaned, fit for the cache.

    page of raw JSON  ->  entries  ->  Tool, Prompt, Resource, ResourceTemplate

A server is a third party, so each of its tools is judged alone: one that cannot be offered is left out and named with
the reason, and costs nothing else. A server whose list never ends is refused as a whole.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.limits import JSON_BYTES
from pegboard.schema import share_parts
from pegboard.secrets.shapes import is_distinct
from pegboard.text import is_page
from pegboard_mcp import texts
from pegboard_mcp.client._errors import LinkError, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard_mcp.client.connection import Connection
    from pegboard_mcp.definitions import ServerDefinition

    Entry = dict[str, Any]

log = logging.getLogger("pegboard.mcp")

MAX_PAGES = 500
MAX_ITEMS = 10_000
MAX_LIST_BYTES = JSON_BYTES
"""Of one list, all its pages together, as JSON."""
MANY = 20
"""More than so many items are looked at in a thread: some of them may take long to clean, and the loop goes on."""
MAX_ITEM_BYTES = 256 * 1024
"""A tool that is described by more is left out, in bytes of JSON."""
MAX_NAME = 1_000
MAX_TITLE = 500
MAX_ICONS = 16
MAX_ICON = 100_000
_PICTURES = tuple(f"data:image/{kind};base64," for kind in ("png", "jpeg", "jpg", "gif", "webp", "avif", "x-icon"))
MAX_ARGUMENTS = 256
MAX_URI = 8_000
METHOD_NOT_FOUND = -32601

HINTS = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}
"""MCP's annotations, and the board's. What is not said stays unsaid: a tool is not read-only unless it says so."""


@attrs.frozen
class Listing:
    """All that a server offers, each a tuple of entries.

    Args:
        tools, prompts, resources, templates: the entries.
        left_out: what is not offered, by name, and why not.
        server: its own name and version, as JSON.
        is_accepted: whether all of it is as it was first seen or accepted, so that nobody has to look again.

    .. versionadded:: 0.1
    """

    tools: tuple[Entry, ...] = ()
    prompts: tuple[Entry, ...] = ()
    resources: tuple[Entry, ...] = ()
    templates: tuple[Entry, ...] = ()
    left_out: Mapping[str, str] = attrs.field(factory=dict, eq=False)
    server: Mapping[str, Any] = attrs.field(factory=dict)
    is_accepted: bool = attrs.field(default=False, eq=False)


async def discover(connection: Connection) -> Listing:
    """Read every list that the server says it has, and that its definition asks for.

    Raises:
        LinkError: a list never ends, or is not a list.
        RpcError: the server refused to give one.
        Lost: the connection ended.
    """
    import trio

    definition, has = connection.definition, connection.capabilities
    left_out: dict[str, str] = {}
    raw_tools: list[Any] = []
    raw_prompts: list[Any] = []
    if definition.load_tools and ("tools" in has or not has):
        raw_tools = await read_pages(connection, "tools/list", "tools")
    if definition.load_prompts and "prompts" in has:
        raw_prompts = await read_pages(connection, "prompts/list", "prompts")
    resources: list[Any] = []
    templates: list[Any] = []
    if "resources" in has:
        resources = await _read_optional(connection, "resources/list", "resources")
        templates = await _read_optional(connection, "resources/templates/list", "resourceTemplates")
    if connection.modern:
        raw_tools = _with_good_headers(connection, raw_tools, left_out)
    server: dict[str, Any] = {
        key: connection.server_info[key] for key in ("name", "version") if key in connection.server_info
    }

    def entries() -> Listing:
        return Listing(
            tools=tuple(tool_entries(raw_tools, definition, left_out)),
            prompts=tuple(_entries(raw_prompts, prompt_entry, "prompt", left_out, definition)),
            resources=tuple(_entries(resources, resource_entry, "resource", left_out, definition)),
            templates=tuple(_entries(templates, template_entry, "template", left_out, definition)),
            left_out=left_out,
            server=server,
        )

    if sum(map(len, (raw_tools, raw_prompts, resources, templates))) <= MANY:
        return entries()
    return await trio.to_thread.run_sync(entries)


async def read_pages(connection: Connection, method: str, key: str) -> list[Any]:
    """Every item of a list, page by page.

    Raises:
        LinkError: it never ends, or a page is not a page.
    """
    items: list[Any] = []
    cursors: set[str] = set()
    size = 0
    params: dict[str, Any] | None = None
    for _ in range(MAX_PAGES):
        try:
            page = await connection.request(method, params)
        except RpcError as problem:
            if problem.code == METHOD_NOT_FOUND and params is None:
                return []
            raise
        found = page.get(key)
        if not isinstance(found, list):
            raise _refused(f"{method} answered without a list of {key}", "Update the server.")
        items += found
        size += len(json.dumps(found))
        cursor = page.get("nextCursor")
        if cursor is None or cursor == "":
            return items
        if len(items) > MAX_ITEMS or size > MAX_LIST_BYTES:
            break
        if not isinstance(cursor, str) or cursor in cursors:
            raise _refused(f"{method} gives the same page again and again", "Update the server: it repeats a cursor.")
        cursors.add(cursor)
        params = {"cursor": cursor}
    reason = f"{method} does not end: {len(items):,} {key} in {size:,} bytes, and there is more"
    raise _refused(reason, f"A list may have {MAX_PAGES} pages, {MAX_ITEMS:,} items and {MAX_LIST_BYTES:,} bytes.")


async def _read_optional(connection: Connection, method: str, key: str) -> list[Any]:
    """A list whose failure costs nothing else: tools are worth more than the resources beside them."""
    try:
        return await read_pages(connection, method, key)
    except (RpcError, LinkError) as problem:
        log.warning("%s of the MCP server %s cannot be read: %s", method, connection.definition.name, problem)
        return []


def _refused(why: str, fix: str) -> LinkError:
    return LinkError("endless", why, fix)


def _with_good_headers(connection: Connection, raws: list[Any], left_out: dict[str, str]) -> list[Any]:
    """Tools without a wrong `x-mcp-header` (2026-07-28 wants those dropped); the maps of the others are noted."""
    from pegboard_mcp.client._sdk import find_invalid_x_mcp_header, x_mcp_header_map

    kept: list[Any] = []
    maps: dict[str, Mapping[tuple[str, ...], str]] = {}
    for raw in raws:
        name, schema = (raw.get("name"), raw.get("inputSchema")) if isinstance(raw, Mapping) else (None, None)
        if (why := find_invalid_x_mcp_header(schema)) is not None:
            left_out[str(name)[:80]] = f"its x-mcp-header is wrong: {why[:200]}"
            continue
        kept.append(raw)
        if (
            isinstance(schema, dict)
            and isinstance(name := raw.get("name"), str)
            and (found := x_mcp_header_map(schema))
        ):
            maps[name] = found
    connection.header_maps = maps
    return kept


# -- entries


def tool_entries(raws: Iterable[Any], definition: ServerDefinition, left_out: dict[str, str]) -> list[Entry]:
    """Tools as entries: those that the definition allows, the first of each name."""
    allowed, disabled = definition.allowed_tools, definition.disabled_tools

    def wanted(raw: Any) -> bool:
        name = raw.get("name") if isinstance(raw, Mapping) else None
        return not isinstance(name, str) or ((allowed is None or name in allowed) and name not in disabled)

    return _entries(filter(wanted, raws), tool_entry, "tool", left_out, definition)


def _entries(
    raws: Iterable[Any],
    read: Callable[[Mapping[str, Any]], Entry],
    what: str,
    left_out: dict[str, str],
    definition: ServerDefinition,
) -> list[Entry]:
    entries: dict[str, Entry] = {}
    secrets = [secret for secret in sorted(definition.secrets, key=len, reverse=True) if is_distinct(secret)]
    parts: dict[Any, Any] = {}
    for index, raw in enumerate(raws):
        name = str(raw.get("name") or raw.get("uri") or index)[:80] if isinstance(raw, Mapping) else str(index)
        try:
            if not isinstance(raw, Mapping):
                raise ValueError("it is not an object")
            written = json.dumps(raw)
            if len(written) > MAX_ITEM_BYTES:
                raise ValueError(f"it is described by more than {MAX_ITEM_BYTES:,} bytes")
            is_told = any(json.dumps(secret)[1:-1] in written for secret in secrets)
            entry = read(texts.without_secrets(raw, secrets) if is_told else raw)
        except (ValueError, RecursionError) as problem:
            why = "it is nested too deep" if isinstance(problem, RecursionError) else str(problem)[:300]
            left_out[name if what == "tool" else f"{what} {name}"] = why
            continue
        entry = shared(entry, parts)
        if entries.setdefault(entry["key"], entry) is not entry:
            left_out[f"{name} (again)"] = f"a second {what} of that name"
    return list(entries.values())


def shared(entry: Entry, parts: dict[Any, Any]) -> Entry:
    """The entry, of parts that are the very objects of others: tools of a server are alike. They are frozen, so that a
    `Tool` takes them as they are."""
    return {key: share_parts(value, parts) for key, value in entry.items()}


def tool_entry(raw: Mapping[str, Any]) -> Entry:
    """One tool of `tools/list`.

    Raises:
        ValueError: it cannot be offered.
    """
    name = _name(raw.get("name"))
    reason = raw.get("annotations")
    hints = {own: reason[hint] for hint, own in HINTS.items() if isinstance(reason.get(hint), bool)} if isinstance(
        reason, Mapping) else {}  # fmt: skip
    title = raw.get("title") or (reason.get("title") if isinstance(reason, Mapping) else None)
    return _slim(
        key=name,
        title=_title(title),
        description=_text(raw.get("description")),
        input_schema=_schema(raw.get("inputSchema"), "inputSchema"),
        output_schema=_output_schema(raw.get("outputSchema")),
        annotations=hints,
        icons=_icons(raw.get("icons")),
        hidden=_hidden(title, *map(raw.get, ("description", "inputSchema", "outputSchema"))),
    )


def prompt_entry(raw: Mapping[str, Any]) -> Entry:
    """One prompt of `prompts/list`.

    Raises:
        ValueError: it cannot be offered.
    """
    told = raw.get("arguments")
    arguments: dict[str, Entry] = {}
    for one in told[:MAX_ARGUMENTS] if isinstance(told, list) else ():
        if not isinstance(one, Mapping):
            raise ValueError("one of its arguments is not an object")
        argument = _slim(
            name=_name(one.get("name")),
            title=_title(one.get("title")),
            description=_text(one.get("description")),
            required=one.get("required") is True,
        )
        arguments.setdefault(argument["name"], argument)  # the first of each name, as of tools
    return _slim(
        key=_name(raw.get("name")),
        title=_title(raw.get("title")),
        description=_text(raw.get("description")),
        arguments=list(arguments.values()),
        icons=_icons(raw.get("icons")),
        hidden=_hidden(*map(raw.get, ("title", "description")), {"examples": told}),
    )


def resource_entry(raw: Mapping[str, Any]) -> Entry:
    """One resource of `resources/list`.

    Raises:
        ValueError: it cannot be offered.
    """
    size = raw.get("size")
    return _slim(key=_uri(raw.get("uri")), size=size if type(size) is int and size >= 0 else None, **_labels(raw))


def template_entry(raw: Mapping[str, Any]) -> Entry:
    """One template of `resources/templates/list`.

    Raises:
        ValueError: it cannot be offered.
    """
    return _slim(key=_uri(raw.get("uriTemplate")), **_labels(raw))


def _labels(raw: Mapping[str, Any]) -> Entry:
    mime_type, marks = raw.get("mimeType"), raw.get("annotations")
    return {
        "name": _name(raw.get("name")),
        "title": _title(raw.get("title")),
        "description": _text(raw.get("description")),
        "mime_type": texts.clean(mime_type[:200])[0] if isinstance(mime_type, str) else None,
        "annotations": texts.clean_schema(dict(marks))[0] if isinstance(marks, Mapping) and marks else None,
        "icons": _icons(raw.get("icons")),
    }


def _slim(**members: Any) -> Entry:
    """The members that say something."""
    return {key: value for key, value in members.items() if value not in (None, "", [], {}) or key == "input_schema"}


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("it has no name")
    name = texts.clean(value)[0]
    if name != value or len(name) > MAX_NAME:  # a name is sent back as it came: one that hides something is refused
        raise ValueError("its name hides characters, or is too long")
    return name


def _uri(value: Any) -> str:
    if (
        not isinstance(value, str)
        or not value
        or len(value) > MAX_URI
        or texts.clean(value)[1]
        or texts.runs_in_a_page(value)
    ):
        raise ValueError("it has no address that can be used")
    return value


def _title(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    return " ".join(texts.without_keys(texts.clean(value[: 2 * MAX_TITLE])[0]).split())[:MAX_TITLE]


def _text(value: Any) -> str:
    return texts.without_keys(texts.clean(value)[0]).strip() if isinstance(value, str) else ""


def _hidden(*values: Any) -> list[str]:
    """What hides in texts and schemas and is taken out of them, as words."""
    reason: list[str] = []
    for value in values:
        if isinstance(value, str):
            reason += texts.clean(value)[1]
        elif isinstance(value, Mapping):
            reason += [one.what for one in texts.clean_schema(value)[1] if one.stripped]
    return list(dict.fromkeys(reason))


def _schema(value: Any, what: str) -> Any:
    if not isinstance(value, Mapping):
        raise ValueError(f"its {what} is not an object")
    kind = value.get("type")
    if kind is not None and kind != "object":
        raise ValueError(f"its {what} is of the type {str(kind)[:40]!r}, and arguments are an object")
    return _clean_schema(value, what)


def _clean_schema(value: Mapping[str, Any], what: str) -> Any:
    """A schema without what hides in it. What calls are checked by cannot be cleaned, as a name cannot: a model would
    read it, and no person see it."""
    schema, said = texts.clean_schema(dict(value))
    if kept := next((one for one in said if not one.stripped), None):
        raise ValueError(f"its {what} hides something in what calls are checked by: {kept}")
    return schema


def _output_schema(value: Any) -> Any:
    """The schema of `structuredContent`; one that is not of objects describes the member `result` of the data."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ValueError("its outputSchema is not an object")
    schema = _clean_schema(value, "outputSchema")
    kind = schema.get("type")
    if kind is None or kind == "object":
        return schema
    if "$ref" in json.dumps(schema):
        raise ValueError("its outputSchema has references and is not of an object")
    return {"type": "object", "properties": {"result": schema}, "required": ["result"]}


def _icons(value: Any) -> list[Any]:
    if not isinstance(value, list):
        return []
    found = [dict(icon) for icon in value[:MAX_ICONS] if isinstance(icon, Mapping) and _is_picture(icon.get("src"))]
    return [
        icon for icon in found if all(not isinstance(part, str) or not texts.clean(part)[1] for part in icon.values())
    ]


def _is_picture(address: Any) -> bool:
    """Whether a client that shows it can only load a picture: some run scripts, read files and call routers (MCP,
    "Icons", security considerations). An SVG may hold a script."""
    if not isinstance(address, str) or len(address) > MAX_ICON:
        return False
    if address.startswith(_PICTURES):
        return True
    return address.startswith("https://") and is_page(address) and _is_public(address)


def _is_public(address: str) -> bool:
    from urllib.parse import urlsplit

    from pegboard_confine.network import is_private

    parts = urlsplit(address)
    return bool(parts.hostname) and "@" not in parts.netloc and not is_private(parts.hostname or "")
