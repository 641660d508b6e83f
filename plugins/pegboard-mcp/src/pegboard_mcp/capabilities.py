"""What an MCP server has beside tools: prompts, resources, and templates of resources.

Those of the MCP servers on the board come and go with their source, and lie in `Capabilities`, a resource of the host;
those of plugins come from the hooks `provide_prompts` and `provide_resources`. `pegboard serve` offers both.
"""

from __future__ import annotations

from pegboard_mcp.collected import (
    SOURCES_WAIT_S,
    Capabilities,
    ResourceReader,
    find_capabilities,
    open_capabilities,
)
from pegboard_mcp.prompts_and_resources import (
    Message,
    Prompt,
    PromptArgument,
    Resource,
    ResourceTemplate,
    find_held,
    template_fits,
)

__all__ = [
    "SOURCES_WAIT_S",
    "Capabilities",
    "Message",
    "Prompt",
    "PromptArgument",
    "Resource",
    "ResourceReader",
    "ResourceTemplate",
    "find_capabilities",
    "find_held",
    "open_capabilities",
    "template_fits",
]
