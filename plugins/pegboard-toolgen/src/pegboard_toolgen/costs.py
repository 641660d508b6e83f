"""What tools cost a model that is offered them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from pegboard_manifest import Manifest

MOST_TOKENS = 10_000
"""What tools may cost before a selection is proposed: a tenth of a small context window, paid with every prompt."""


def tokens_of_tools(manifest: Manifest) -> dict[str, int]:
    """About what each tool costs, in tokens, by name.

    It is the column `json` of `pegboard list --tokens`, whose dialect comes with the core; those of servers and of
    model providers differ from it by some percent.
    """
    from pegboard.dialects import describe, tokens_of
    from pegboard_manifest import tool_of

    return {name: tokens_of([describe(tool_of(entry, manifest))]) for name, entry in manifest.tools.items()}


def proposal(tools: Iterable[Mapping[str, Any]], tokens: Mapping[str, int], most: int = MOST_TOKENS) -> list[str]:
    """Names of as many tools as cost at most so much together, sorted: those that only read first, then cheap ones.

    Args:
        tools: of a manifest's document.
        tokens: what each costs, by its name.
        most: in tokens.
    """
    from pegboard_manifest import is_read_only

    taken, left = [], most
    for one in sorted(tools, key=lambda one: (not is_read_only(one), tokens[one["name"]], one["name"])):
        if tokens[one["name"]] <= left:
            taken.append(one["name"])
            left -= tokens[one["name"]]
    return sorted(taken)
