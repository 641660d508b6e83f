"""What is cached, and for how long: `[plugins.cache]`, and what a tool's author says in its tags."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the types of fields are looked up at run time
from fnmatch import fnmatchcase
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import attrs

from pegboard import PluginError, setting
from pegboard.config import above_zero, not_negative

if TYPE_CHECKING:
    from pegboard import Tool

OF_SESSION: Mapping[str, str] = {"session": "id", "channel": "channel"}
"""What `vary` may name of a session, and the attribute that has it; all else are variables of the environment."""
CACHE_S, VARY = "cache_s=", "vary="
"""How tags say it: `tags=["cache_s=60", "vary=TENANT"]`."""


@attrs.frozen
class CachedTool:
    """`[plugins.cache.tools.NAME]`: how the results of one tool are cached, or of all that a pattern names.

    .. versionadded:: 0.1
    """

    cache_s: float | None = setting(
        None, validator=not_negative, help="how long a result may be given again, in seconds; 0: never"
    )
    vary: tuple[str, ...] = setting(
        (),
        stricter="more",
        help="what else a result depends on: session, channel, or names of environment variables",
    )


@attrs.frozen
class CacheSettings:
    """`[plugins.cache]`.

    .. versionadded:: 0.1
    """

    max_bytes: int = setting(
        16_000_000, stricter="lower", validator=above_zero, help="memory for all cached results, in bytes"
    )
    tools: Mapping[str, CachedTool] = setting(
        factory=dict, help="what is cached, by the names of tools; * and ? stand for what they usually do"
    )


class Rule(NamedTuple):
    """How the results of one tool are cached."""

    cache_s: float
    vary: tuple[str, ...]


def rule_of(tool: Tool, settings: CacheSettings) -> Rule | None:
    """What is said of a tool: by the configuration, else by its author; None: nothing, or that it is not cached.

    Raises:
        PluginError: a tag of its author does not say how long.
    """
    said = _said_by_tags(tool)
    configured = settings.tools.get(tool.name) or _by_pattern(tool.name, settings.tools)
    if configured is not None:
        cache_s = said.cache_s if configured.cache_s is None else configured.cache_s
        said = Rule(cache_s, tuple(sorted({*said.vary, *configured.vary})))
    return said if said.cache_s else None


def _by_pattern(name: str, tools: Mapping[str, CachedTool]) -> CachedTool | None:
    """Of several patterns that fit the longest counts, which says most."""
    fitting = [pattern for pattern in tools if fnmatchcase(name, pattern)]
    return tools[max(fitting, key=lambda pattern: (len(pattern), pattern))] if fitting else None


def _said_by_tags(tool: Tool) -> Rule:
    times = sorted(tag.removeprefix(CACHE_S) for tag in tool.tags if tag.startswith(CACHE_S))
    vary = tuple(sorted(tag.removeprefix(VARY) for tag in tool.tags if tag.startswith(VARY)))
    try:
        cache_s = min(map(float, times), default=0.0)
        if not 0 <= cache_s < inf:
            raise ValueError
    except ValueError:
        raise PluginError(
            f"the tag {CACHE_S + times[0][:40]!r} does not say for how many seconds a result is cached",
            hint=f"write a number not below zero, as in {CACHE_S}60",
        ) from None
    return Rule(cache_s, vary)
