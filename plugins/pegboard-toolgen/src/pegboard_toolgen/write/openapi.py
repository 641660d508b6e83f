"""`adapters/openapi.json`: the document of `pegboard gateway` for these tools, OpenAPI 3.1, complete in itself.

The gateway makes its live document in the same way. Here it is for those who generate clients without running anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import Example, Tool
from pegboard_http import document_of as gateway_document
from pegboard_toolgen.write._json import bytes_of

if TYPE_CHECKING:
    from pegboard_toolgen.write.view import ManifestView, ToolView

GATEWAY = "http://127.0.0.1:8080"
"""Where `pegboard gateway` listens unless it is told otherwise."""


def render(view: ManifestView) -> dict[str, bytes]:
    """The document."""
    return {"adapters/openapi.json": bytes_of(document_of(view))}


def document_of(view: ManifestView) -> dict[str, Any]:
    """Each tool one POST; a schema lies at `#/components/schemas/NAME.input` or `.output`."""
    document = gateway_document(map(_tool, view.tools), asks_for_token=True, version=view.version or "0")
    return {
        **document,
        "info": {**document["info"], "title": view.title},
        "servers": [{"url": GATEWAY, "description": "pegboard gateway"}],
        "security": [{}, {"bearer": []}],  # on loopback without a token too
    }


def _tool(tool: ToolView) -> Tool:
    return Tool(
        name=tool.name,
        handler=_nothing,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        category=tool.category,
        examples=[Example(one["input"], one.get("description", "")) for one in tool.examples],
    )


def _nothing() -> None:
    """Nobody calls it: the document alone is made of the tools."""
