"""The settings of pegboard-mcp: `[plugins.mcp]`, and below it one table for each MCP server.

The fields say types and bounds; what no field can say alone - a command beside a URL, a missing file of variables, two
names that are one - is said by `McpSettings.find_faults`. Both are asked when the configuration loads, so that nothing
about a server is found out later which its words alone could have told.

This module is imported by every board: it imports nothing that is heavy, and the classes of the tables below are made
where a configuration has such a table (`pegboard_mcp.definitions`).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping  # noqa: TC003 - the types of fields are looked up at run time
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard import setting
from pegboard.config import above_zero, body_bytes, not_negative
from pegboard.limits import REQUEST_BYTES
from pegboard_mcp.defaults import check_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pegboard import Fault
    from pegboard_mcp.definitions import OAuthSettings as OAuthSettings
    from pegboard_mcp.definitions import ServerDefinition
    from pegboard_mcp.definitions import ServerSettings as ServerSettings
    from pegboard_serving import TokenSettings


LOCKS: Mapping[str, str | None] = {"off": None, "warn": "nothing", "notice": "changes", "enforce": "all"}
"""The words of `lock`, the loosest first, each with what is held back until a person accepts it: nothing, since changes
are told alone; changes since it was first seen that are not mild; all that the lock has not. None: nobody looks.
"""
_LATER = {
    "OAuthSettings": "pegboard_mcp.definitions",
    "ServerSettings": "pegboard_mcp.definitions",
    "TokenSettings": "pegboard_serving",
}
"""The types of fields that are imported when somebody asks for them here (PEP 562), and where they are."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)


@attrs.frozen(kw_only=True)
class McpSettings:
    """`[plugins.mcp]`.

    .. versionadded:: 0.1
    """

    servers: Mapping[str, ServerSettings] = setting(factory=dict, widens=True, help="MCP servers by name")
    config_file: str | None = setting(None, widens=True, names_file=True, help="another program's file of MCP servers")
    lock: Literal["off", "warn", "notice", "enforce"] = setting(
        "notice", stricter=tuple(LOCKS), help="what becomes of tools that changed"
    )
    lock_file: str | None = setting(None, widens=True, beside_file=True, help="where accepted tools are noted")
    lock_signers: str | None = setting(
        None, widens=True, names_file=True, beside_file=True, help="whose signatures make a lock count"
    )
    remember: bool = setting(True, help="keep what servers list, for the next start; false: nothing is kept or read")
    tokens: Mapping[str, str | TokenSettings] = setting(
        factory=dict, secret=True, widens=True, help="bearer tokens to users"
    )
    allowed_hosts: tuple[str, ...] = setting((), widens=True, help="values of Host that are served beside loopback's")
    allowed_origins: tuple[str, ...] = setting((), widens=True, help="values of Origin that are served")
    oauth: OAuthSettings | None = setting(None, widens=True, help="the OAuth server whose tokens are taken")
    max_body_bytes: int = setting(
        REQUEST_BYTES,
        stricter="lower",
        validator=body_bytes,
        help="the longest request or message that is read, in bytes",
    )
    max_sessions: int = setting(1_000, stricter="lower", validator=above_zero, help="sessions that are open at once")
    session_idle_s: float = setting(
        1_800.0,
        stricter="lower",
        validator=check_seconds,
        help="how long a session may be idle before it is closed, in seconds",
    )
    stop_timeout_s: float = setting(
        10.0,
        stricter="lower",
        validator=not_negative,
        help="how long calls in flight may go on when serving ends, in seconds",
    )

    replace_timeout_s: float = setting(
        600.0,
        stricter="lower",
        validator=not_negative,
        help="how long a process that is replaced may go on with its calls, questions and sessions, in seconds",
    )
    task_after_s: float | None = setting(
        None,
        validator=not_negative,
        help="after how long a call becomes a task where its client takes tasks, in seconds; none: never",
    )
    task_store: str = setting("memory", help="where tasks are kept: memory, sqlite, or a plugin that brings a store")
    task_ttl_s: float = setting(
        3_600.0,
        stricter="lower",
        validator=check_seconds,
        help="how long a task is kept from its beginning, in seconds",
    )
    state_key: str | None = setting(None, secret=True, widens=True, help="what all instances behind a balancer share")
    instance: str | None = setting(None, widens=True, help="what this instance is called in the `instances` of others")
    instances: Mapping[str, str] = setting(
        factory=dict, widens=True, help="addresses of the instances by name, for requests that are forwarded"
    )
    carrier: str | None = setting(
        None, widens=True, help="the plugin that carries requests to other instances; none: HTTP does"
    )

    @classmethod
    def find_faults(cls, raw: Mapping[str, Any]) -> Iterable[Fault]:
        """Everything that is wrong with these settings and that no field can say alone; paths from this table on.

        Files that the servers need to be defined are read: those of variables, and other programs'.
        """
        from pegboard_mcp.servers import find_faults

        return find_faults(raw)

    @classmethod
    def find_files(cls, raw: Mapping[str, Any]) -> Iterable[tuple[tuple[str | int, ...], Path]]:
        """The files that `pegboard trust` holds with these settings, each with the place that names it: files of
        variables, programs and scripts, those of the servers in `config_file` among them."""
        from pegboard_mcp.servers import find_files

        return find_files(raw)

    def definitions(self) -> tuple[ServerDefinition, ...]:
        """All configured servers, those of `config_file` after the others.

        Raises:
            ConfigError: a file that they need is no longer as it was when the configuration loaded.
        """
        from pegboard.config import expand_home
        from pegboard_mcp.servers import definitions_of

        found = definitions_of(self.servers, self.config_file)
        named = [one for one in (self.config_file, self.lock_file, self.lock_signers) if one is not None]
        kept = tuple(str(expand_home(one)) for one in named)
        lock = None if self.lock_file is None else str(expand_home(self.lock_file))
        written = tuple(dict.fromkeys(folder for one in found for folder in one.write))
        more: dict[str, Any] = {"kept": kept, "lock": lock, "written": written}
        return tuple(attrs.evolve(one, **more) if one.confine else one for one in found)
