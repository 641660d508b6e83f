"""`adapters/openai.json`: the tools as functions of chat completions, as the dialect `openai` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard_manifest import sanitise
from pegboard_toolgen.write._json import bytes_of

if TYPE_CHECKING:
    from pegboard_toolgen.write.view import ManifestView

MAX_DESCRIPTION = 1_024
"""What the API takes, in characters."""


def render(view: ManifestView) -> dict[str, bytes]:
    """An array that a request takes as its `tools`."""
    functions = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": sanitise(tool.description, MAX_DESCRIPTION),
                "parameters": dict(tool.input_schema),
            },
        }
        for tool in view.tools
    ]
    return {"adapters/openai.json": bytes_of(functions)}
