"""`adapters/openapi.json`: the document of `pegboard gateway` for these tools, OpenAPI 3.1, complete in itself.

The gateway serves a live one of the same form. Here it is for those who generate clients without running anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_toolgen.write._json import bytes_of
from pegboard_toolgen.write.view import CODES, DIALECT, ToolView, View, rebase

if TYPE_CHECKING:
    from collections.abc import Mapping

GATEWAY = "http://127.0.0.1:8080"
"""Where `pegboard gateway` listens unless it is told otherwise."""
STATUS_OF: Mapping[str, int] = {
    "INVALID_INPUT": 400,
    "UNAUTHORIZED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "CONFLICT": 409,
    "RATE_LIMITED": 429,
    "INTERNAL_ERROR": 500,
    "OUTCOME_UNKNOWN": 500,
    "UPSTREAM_ERROR": 502,
    "TIMEOUT": 504,
}
"""As pegboard-http answers."""
REASONS: Mapping[int, str] = {
    400: "The arguments do not fit the tool's schema, or the body is no JSON object.",
    401: "No token, or one that is not known; or the tool needs a user, or other credentials.",
    403: "The caller may not use the tool, or a person would have to confirm it; or the Origin is not served.",
    404: "There is no such tool, or the tool did not find what was asked for.",
    405: "Tools are called by POST.",
    409: "What the tool was asked to change is not in the state that was expected.",
    413: "The body is too long.",
    415: "The body is not application/json.",
    421: "The Host is not served.",
    422: "The arguments fit the schema, and the tool cannot do anything with them.",
    429: "Too many calls; Retry-After says when to come again.",
    500: "The tool failed, or nobody knows whether it did what it was asked to.",
    502: "What the tool reaches answered with an error.",
    503: "Too many calls are in flight, or serving ends.",
    504: "The tool took too long.",
}


def render(view: View) -> dict[str, bytes]:
    """The document."""
    return {"adapters/openapi.json": bytes_of(document_of(view))}


def document_of(view: View) -> dict[str, Any]:
    """Each tool one POST; a schema lies at `#/components/schemas/NAME.input` or `.output`."""
    schemas: dict[str, Any] = {"Error": _error(), "Failure": _failure(), "Content": _content()}
    paths: dict[str, Any] = {}
    for tool in view.tools:
        for part, schema in (("input", tool.input_schema), ("output", tool.output_schema)):
            schemas[f"{tool.name}.{part}"] = rebase(schema, f"/components/schemas/{tool.name}.{part}")
        paths[f"/tools/{tool.name}"] = {"post": _operation(tool)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": view.title,
            "version": view.version or "0",
            "description": "A call is a POST of its arguments; every answer has one shape.",
        },
        "jsonSchemaDialect": DIALECT,
        "servers": [{"url": GATEWAY, "description": "pegboard gateway"}],
        "security": [{}, {"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {str(status): _failed(status) for status in REASONS},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(tool: ToolView) -> dict[str, Any]:
    # A result that is too large is cut, and comes without its data.
    data = {"anyOf": [{"$ref": f"#/components/schemas/{tool.name}.output"}, {"type": "null"}]}
    success = _envelope({"const": True}, {"type": "string", "const": tool.name}, data, {"type": "null"})
    return {
        "operationId": tool.name,
        "summary": tool.title or tool.name,
        "description": tool.description,
        "tags": [tool.category],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": f"#/components/schemas/{tool.name}.input"},
                    "examples": {
                        f"example{number}": {"value": example["input"]}
                        for number, example in enumerate(tool.examples, 1)
                    },
                }
            },
        },
        "responses": {
            "200": {
                "description": "What the tool answered.",
                "content": {"application/json": {"schema": success}},
            },
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in REASONS},
        },
    }


def _failed(status: int) -> dict[str, Any]:
    codes = " or ".join(code for code, of in STATUS_OF.items() if of == status)
    failed: dict[str, Any] = {
        "description": f"{codes}. {REASONS[status]}" if codes else REASONS[status],
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}},
    }
    if status in (429, 503):
        seconds = {"description": "Seconds until the same call may do.", "schema": {"type": "integer", "minimum": 0}}
        failed["headers"] = {"Retry-After": seconds}
    if status == 405:
        failed["headers"] = {"Allow": {"description": "What is served there.", "schema": {"type": "string"}}}
    return failed


def _envelope(ok: Any, name: Any, data: Any, error: Any) -> dict[str, Any]:
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


def _failure() -> dict[str, Any]:
    return _envelope({"const": False}, {"type": "string"}, {}, {"$ref": "#/components/schemas/Error"})


def _error() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "code": {"type": "string", "enum": sorted(CODES)},
            "message": {"type": "string"},
            "details": {"type": "object"},
        },
        "required": ["code", "message"],
    }


def _content() -> dict[str, Any]:
    return {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}
