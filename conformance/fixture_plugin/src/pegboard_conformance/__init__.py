"""What the conformance suite calls by fixed names: tools, prompts and resources.

The names, texts and schemas are the suite's. Everything is made with the public API alone, as any plugin would be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Tool, ToolSource
    from pegboard_mcp.capabilities import Prompt, Resource, ResourceTemplate


@hookimpl
def provide_tools() -> Iterable[Tool]:
    """All `test_*` tools, and the one whose schema must arrive as it is."""
    from pegboard_conformance import asking, lasting, telling

    return [*telling.TOOLS, *asking.TOOLS, *lasting.TOOLS]


@hookimpl
def provide_sources() -> Iterable[ToolSource]:
    """The tools that change while somebody listens."""
    from pegboard_conformance.changing import ChangingSource

    return [ChangingSource()]


@hookimpl(optionalhook=True)
def provide_prompts() -> Iterable[Prompt]:
    """The prompts."""
    from pegboard_conformance.prompts import PROMPTS

    return PROMPTS


@hookimpl(optionalhook=True)
def provide_resources() -> Iterable[Resource | ResourceTemplate]:
    """The resources, and a template."""
    from pegboard_conformance.resources import RESOURCES

    return RESOURCES
