"""The settings of pegboard-mcp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from pegboard import setting


@attrs.frozen(kw_only=True)
class McpSettings:
    """`[plugins.mcp]`.

    .. versionadded:: 0.1
    """

    servers: Mapping[str, Any] = setting(factory=dict, widens=True, help="MCP servers by name")
    config_file: str | None = setting(None, widens=True, help="another program's file of MCP servers")
    lock: Literal["off", "warn", "enforce"] = setting("warn", help="what becomes of tools that changed")
    lock_file: str | None = setting(None, help="where accepted tools are noted")
    tokens: Mapping[str, Any] = setting(factory=dict, secret=True, widens=True, help="bearer tokens to users")
