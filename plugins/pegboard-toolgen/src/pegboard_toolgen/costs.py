"""What tools cost a model that is offered them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegboard_manifest import Manifest


def tokens_of_tools(manifest: Manifest) -> dict[str, int]:
    """About what each tool costs, in tokens, by name.

    It is the column `json` of `pegboard list --tokens`, whose dialect comes with the core; those of servers and of
    model providers differ from it by some percent.
    """
    from pegboard.dialects import describe, tokens_of
    from pegboard_manifest import tool_of

    return {name: tokens_of([describe(tool_of(entry, manifest))]) for name, entry in manifest.tools.items()}
