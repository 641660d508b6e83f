"""What `pegboard doctor` says of the cache: what is cached, and what is not though somebody said so."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pegboard import Finding, PluginError
from pegboard_cache.settings import OF_SESSION, rule_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard_cache.settings import CacheSettings

MAX_NAMED = 20


def findings(board: Any, settings: CacheSettings) -> Iterator[Finding]:
    """A note of what is cached, and a warning for each tool that may not be, or is not there."""
    for name in settings.tools:
        if not any(fnmatchcase(one, name) for one in board.tools) and not board.sources_away(name):
            yield Finding(
                "settings of a tool that is not there", f"[plugins.cache.tools.{name}]", "no such tool is registered",
                "remove it, or correct the name", "warning",
            )  # fmt: skip
    cached = []
    for name, tool in sorted(board.tools.items()):
        try:
            rule = rule_of(tool, settings)
        except PluginError:  # such a tool is not on the board, and doctor says so
            continue
        if rule is None:
            continue
        if tool.read_only:
            unset = [one for one in rule.vary if one not in OF_SESSION and one not in os.environ]
            if unset:
                yield Finding(
                    "results of a tool vary by nothing", f"tool {name}",
                    f"vary names {', '.join(unset)}, and no variable of the environment is called so",
                    f"set it, or name another: {', '.join(OF_SESSION)}, or a variable", "warning",
                )  # fmt: skip
            cached.append(f"{name} ({rule.cache_s:g} s)")
        else:
            yield Finding(
                "a tool is not cached", f"tool {name}", f"cache_s is {rule.cache_s:g}, and it is not read-only",
                f"remove cache_s, or have its author mark it read_only; cache_s = 0 under [plugins.cache.tools.{name}] "
                "ends this warning",
                "warning",
            )  # fmt: skip
    if cached:
        more = f" and {len(cached) - MAX_NAMED} more" if len(cached) > MAX_NAMED else ""
        yield Finding(
            "results are cached", "[plugins.cache]", ", ".join(cached[:MAX_NAMED]) + more,
            "nothing to repair; cache_s = 0 for one that has to be asked each time", "note",
        )  # fmt: skip
