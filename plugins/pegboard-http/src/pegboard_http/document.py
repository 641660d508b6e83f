"""The OpenAPI 3.1 document of a board's tools. Values in, a JSON value out; no I/O.

A tool's schemas come from anywhere, and what they say of `#/...` is said of themselves. In the document they lie at
`#/components/schemas/NAME.input` and `.output`, so their references are moved there. A schema that names its parts in
another way (`$id`, `$anchor`, `$dynamicRef`) cannot be moved: it is given without its rules, and says so; the board
itself holds every rule all the same.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pegboard import ErrorCode, thaw
from pegboard.schema import SCHEMAS_BY_NAME
from pegboard_http.statuses import REASONS, REFUSED_BY_THE_TOOL, STATUS_OF

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pegboard import Tool

DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"
_COMPONENT = re.compile(r"[^A-Za-z0-9_-]")
_UNMOVABLE = ("$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor")
_LITERAL = frozenset({"const", "default", "enum", "example", "examples"})
_SAID = ("title", "description")

ANSWERS = sorted({*STATUS_OF.values(), REFUSED_BY_THE_TOOL, 405, 413, 415, 421, 503})
"""The statuses of a call that is not answered with 200."""


def document_of(tools: Iterable[Tool], *, asks_for_token: bool, version: str) -> dict[str, Any]:
    """The document: each tool one POST, in the order of names.

    Args:
        tools: what the caller sees.
        asks_for_token: whether a request has to bring a bearer token.
        version: of the board, for `info`.

    .. versionadded:: 0.1
    """
    schemas: dict[str, Any] = {"Error": _error(), "Failure": _failure(), "Content": _content(), "Tool": _listed()}
    paths: dict[str, Any] = {
        "/openapi.json": {"get": _getting("This document.", {"type": "object"})},
        "/tools": {
            "get": _getting(
                "The tools that the caller may see.",
                {"type": "array", "items": {"$ref": "#/components/schemas/Tool"}},
            )
        },
    }
    for tool in sorted(tools, key=lambda one: one.name):
        component = component_of(tool.name)
        schemas[f"{component}.input"] = moved(tool.input_schema, f"{component}.input")
        if tool.output_schema is not None:
            schemas[f"{component}.output"] = moved(tool.output_schema, f"{component}.output")
        paths[f"/tools/{quote(tool.name, safe='')}"] = {"post": _calling(tool, component)}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Pegboard",
            "version": version,
            "description": "The tools of a board. A call is a POST of its arguments; every answer has one shape.",
        },
        "jsonSchemaDialect": DRAFT_2020_12,
        "paths": paths,
        "components": {"schemas": schemas, "responses": {str(status): _response(status) for status in ANSWERS}},
    }
    if asks_for_token:
        document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"bearer": []}]
    return document


def component_of(name: str) -> str:
    """A tool's name as that of a component (`^[a-zA-Z0-9._-]+$`), never that of another tool's."""
    plain = _COMPONENT.sub("_", name)
    return plain if plain == name else f"{plain}.{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def moved(schema: Mapping[str, Any], component: str) -> dict[str, Any]:
    """A schema as the component of that name: what pointed into it points into it still."""
    whole = thaw(schema)
    if _is_unmovable(whole):
        said = {key: whole[key] for key in _SAID if isinstance(whole.get(key), str)}
        return {**said, "type": "object", "$comment": "its rules cannot be said here; the board holds them"}
    _move(whole, f"#/components/schemas/{component}")
    return whole  # type: ignore[no-any-return]


def _is_unmovable(schema: Any) -> bool:
    if isinstance(schema, dict) and any(isinstance(schema.get(key), str) for key in _UNMOVABLE):
        return True
    return any(_is_unmovable(one) for _, one in _parts(schema))


def _parts(schema: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every schema that lies right in this one, and where."""
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        if key in SCHEMAS_BY_NAME and isinstance(value, dict):
            yield from (((key, name), one) for name, one in value.items())
        elif key not in _LITERAL and isinstance(value, dict):
            yield (key,), value
        elif key not in _LITERAL and isinstance(value, list):
            yield from (((key, number), one) for number, one in enumerate(value))


def _move(schema: Any, base: str) -> None:
    """Move the references of a schema, in place."""
    if isinstance(schema, dict):
        target = schema.get("$ref")
        if isinstance(target, str) and target.startswith("#"):
            schema["$ref"] = base + target[1:]
        for _, one in _parts(schema):
            _move(one, base)


def _calling(tool: Tool, component: str) -> dict[str, Any]:
    data: dict[str, Any] = {"type": ["object", "null"]}
    if tool.output_schema is not None:
        # A result that is too large is cut, and comes without its data.
        data = {"anyOf": [{"$ref": f"#/components/schemas/{component}.output"}, {"type": "null"}]}
    operation: dict[str, Any] = {
        "operationId": tool.name,
        "summary": tool.title or tool.name,
        "description": tool.description,
        "tags": [tool.category],
        "requestBody": {
            "required": True,
            "content": {"application/json": _body(tool, component)},
        },
        "responses": {
            "200": {
                "description": "What the tool answered.",
                "content": {"application/json": {"schema": _success(tool.name, data)}},
            },
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in ANSWERS},
        },
    }
    return operation


def _body(tool: Tool, component: str) -> dict[str, Any]:
    body: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{component}.input"}}
    if tool.examples:
        body["examples"] = {
            f"example{number}": {
                "value": thaw(one.arguments),
                **({"summary": one.description} if one.description else {}),
            }
            for number, one in enumerate(tool.examples, 1)
        }
    return body


def _getting(description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "description": description,
        "responses": {
            "200": {"description": description, "content": {"application/json": {"schema": schema}}},
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in (401, 403, 405, 421, 503)},
        },
    }


def _response(status: int) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": REASONS[status],
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}},
    }
    if status in (429, 503):
        seconds = {"description": "Seconds until the same call may do.", "schema": {"type": "integer", "minimum": 0}}
        response["headers"] = {"Retry-After": seconds}
    if status == 405:
        response["headers"] = {"Allow": {"description": "What is served there.", "schema": {"type": "string"}}}
    return response


def _success(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return _envelope({"const": True}, {"type": "string", "const": name}, data, {"type": "null"})


def _failure() -> dict[str, Any]:
    return _envelope({"const": False}, {"type": "string"}, {}, {"$ref": "#/components/schemas/Error"})


def _envelope(ok: Any, name: Any, data: Any, error: Any) -> dict[str, Any]:
    """One line of `pegboard batch`."""
    return {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "name": name,
            "ok": ok,
            "content": {"type": "array", "items": {"$ref": "#/components/schemas/Content"}},
            "data": data,
            "error": error,
            "duration_ms": {"type": "number", "minimum": 0},
            "details": {"type": "object"},
        },
        "required": ["id", "name", "ok", "content", "data", "error", "duration_ms"],
        "additionalProperties": False,
    }


def _error() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "code": {"type": "string", "enum": [code.value for code in ErrorCode]},
            "message": {"type": "string"},
            "details": {"type": "object"},
        },
        "required": ["code", "message"],
    }


def _content() -> dict[str, Any]:
    return {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}


def _listed() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "title": {"type": ["string", "null"]},
            "description": {"type": "string"},
            "category": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "read_only": {"type": "boolean"},
            "state": {"type": "string"},
            "origin": {
                "type": "object",
                "properties": {"distribution": {"type": ["string", "null"]}, "source": {"type": ["string", "null"]}},
                "required": ["distribution", "source"],
            },
        },
        "required": ["name", "title", "description", "category", "tags", "read_only", "state", "origin"],
    }
