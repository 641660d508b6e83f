"""`schemas/NAME.schema.json`: what a tool takes, gives and fails with, in one document that stands alone.

An example of the manifest, `{"input": ..., "output": ...}`, is an instance of it; `#/properties/input` is the schema
of the arguments.
"""

from __future__ import annotations

from typing import Any

from pegboard_toolgen.write._json import bytes_of
from pegboard_toolgen.write.view import DIALECT, ManifestView, ToolView, rebase


def render(view: ManifestView) -> dict[str, bytes]:
    """One file a tool."""
    return {tool.schema_file: bytes_of(document_of(tool)) for tool in view.tools}


def document_of(tool: ToolView) -> dict[str, Any]:
    """The schema of a call of one tool."""
    return {
        "$schema": DIALECT,
        "title": tool.name,
        "description": tool.description,
        "type": "object",
        "properties": {
            "input": rebase(tool.input_schema, "/properties/input"),
            "output": rebase(tool.output_schema, "/properties/output"),
            "error": rebase(tool.error_schema, "/properties/error"),
        },
        "required": ["input"],
    }
