"""The settings of pegboard-mcp: `[plugins.mcp]`, and below it one table for each MCP server.

The fields say types and bounds; what no field can say alone - a command beside a URL, a missing file of variables, two
names that are one - is said by `McpSettings.find_faults`. Both are asked when the configuration loads, so that nothing
about a server is found out later which its words alone could have told. This module is imported by every board: it
imports nothing that is heavy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping  # noqa: TC003 - the types of fields are looked up at run time
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard import setting
from pegboard.serving import TokenSettings  # noqa: TC001 - the types of fields are looked up at run time
from pegboard_mcp.defaults import CONNECT_S, INSTALL_S, MAX_MESSAGE_BYTES, REQUEST_S, SSE_READ_S

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pegboard import Fault
    from pegboard_mcp.definitions import ServerDefinition

LOCKS = ("off", "warn", "enforce")
"""What becomes of tools that changed, the loosest first."""
MAX_S = 7 * 24 * 3600.0
LEAST_MESSAGE_BYTES = 1024
MOST_MESSAGE_BYTES = 1024**3


def _seconds(_: Any, field: attrs.Attribute[Any], value: float) -> None:
    if not 0 < value <= MAX_S:
        raise ValueError(f"a number of seconds above zero, at most {MAX_S:.0f}")


def _not_negative(_: Any, field: attrs.Attribute[Any], value: float) -> None:
    if not 0 <= value < math.inf:
        raise ValueError("a number not below zero")


def _positive(_: Any, field: attrs.Attribute[Any], value: int) -> None:
    if value < 1:
        raise ValueError("a number above zero")


def _message_bytes(_: Any, field: attrs.Attribute[Any], value: int) -> None:
    if not LEAST_MESSAGE_BYTES <= value <= MOST_MESSAGE_BYTES:
        raise ValueError(f"a number of bytes from {LEAST_MESSAGE_BYTES} to {MOST_MESSAGE_BYTES}")


@attrs.frozen(kw_only=True, repr=False)
class ServerSettings:
    """`[plugins.mcp.servers.NAME]`: one MCP server, as a person configures it.

    What runs or where it is: `command` with `args`, or `server` (a package on npm or PyPI), or `url`.

    .. versionadded:: 0.1
    """

    command: str | None = setting(None, help="the program to start")
    args: tuple[str, ...] = setting((), help="its arguments; after those that `server` needs")
    server: str | None = setting(None, help="a package on npm, run by npx, or on PyPI, run by uvx")
    env: Mapping[str, str] = setting(
        factory=dict,
        secret="values",  # noqa: S106 - a mark, no password
        help="variables that are set for it",
    )
    env_file: str | None = setting(None, help="a file of more such variables, as python-dotenv reads it")
    env_file_too: str | None = attrs.field(
        default=None, alias="envFile", metadata={"secret": False, "widens": False, "help": "the same as `env_file`"}
    )
    cwd: str | None = setting(None, help="the folder it starts in")
    encoding: str = setting("utf-8", help="of its lines")
    transport: Literal["stdio", "sse", "websocket", "http"] | None = setting(
        None, help="how it is reached; nothing: stdio for a command, http or websocket by the URL"
    )
    url: str | None = setting(None, help="where it is: http(s) or ws(s)")
    headers: Mapping[str, str] = setting(
        factory=dict,
        secret="values",  # noqa: S106 - a mark, no password
        help="sent with every request",
    )
    oauth: bool = setting(False, help="fetch tokens through OAuth when it asks for them; http alone")
    oauth_client_id: str | None = setting(None, help="as what we are registered; nothing: we register ourselves")
    oauth_client_secret: str | None = setting(None, secret=True, help="the secret that goes with it")
    oauth_issuer: str | None = setting(None, help="the authorization server that the secret is for")
    oauth_metadata_url: str | None = setting(None, help="where the authorization server may read who we are")
    oauth_scope: str | None = setting(None, help="what tokens are asked to allow; nothing: what the server names")
    timeout: float = setting(CONNECT_S, validator=_seconds, help="how long it may take to start, in seconds")
    install_timeout: float = setting(
        INSTALL_S, validator=_seconds, help="how long npx, uvx, docker and the like may take to install it, in seconds"
    )
    sse_read_timeout: float = setting(
        SSE_READ_S, validator=_seconds, help="how long a stream may stay silent, in seconds; http and sse"
    )
    terminate_on_close: bool = setting(True, help="end the session with DELETE; http alone")
    request_timeout: float = setting(REQUEST_S, validator=_seconds, help="how long a call may take, in seconds")
    max_message_bytes: int = setting(
        MAX_MESSAGE_BYTES, validator=_message_bytes, help="a longer message ends the connection, in bytes"
    )
    load_tools: bool = setting(True, help="offer its tools")
    load_prompts: bool = setting(True, help="offer its prompts")
    allowed_tools: tuple[str, ...] | None = setting(None, help="the only tools that are offered, by its own names")
    disabled_tools: tuple[str, ...] = setting((), help="tools that are not offered, by its own names")
    prefix: str | None = setting(None, help="put before each of its names")
    required: bool = setting(False, help="do not open the host without it; it is started then")
    start: Literal["lazy", "eager"] = setting("lazy", help="start it at the first use, or when the host opens")
    results: Literal["clean", "raw"] = setting(
        "clean", help="take out what hides in the texts of its results; raw: they are data, and stay as they are"
    )
    config: Mapping[str, Any] | None = setting(None, help="reaches it in the initialization")
    config_env: str | None = setting(None, help="the variable that holds `config` as JSON for it")
    roots: tuple[str, ...] = setting((), help="folders that it is told to work in")
    description: str = setting("", help="what it is for, for people")

    def __repr__(self) -> str:
        """Arguments, the URL and `config` may hold secrets that no mark tells."""
        return f"<ServerSettings {self.command or self.server or 'of a URL'}>"


@attrs.frozen(kw_only=True)
class OAuthSettings:
    """`[plugins.mcp.oauth]`: served over HTTP, the board is a resource server of OAuth 2.1.

    .. versionadded:: 0.1
    """

    issuer: str = setting(help="the authorization server, as clients are told")
    introspection_url: str = setting(help="where it says whether a token is good (RFC 7662)")
    resource_url: str = setting(help="the address of the board, for which tokens have to be issued")
    client_id: str | None = setting(None, help="who asks about tokens")
    client_secret: str | None = setting(None, secret=True, help="the secret of who asks")
    required_scopes: tuple[str, ...] = setting((), help="scopes that a token has to have")
    user_claim: str = setting("sub", help="what of the answer is the user")
    profile: str | None = setting(None, help="the profile of the sessions")


@attrs.frozen(kw_only=True)
class McpSettings:
    """`[plugins.mcp]`.

    .. versionadded:: 0.1
    """

    servers: Mapping[str, ServerSettings] = setting(factory=dict, widens=True, help="MCP servers by name")
    config_file: str | None = setting(None, widens=True, names_file=True, help="another program's file of MCP servers")
    lock: Literal["off", "warn", "enforce"] = setting("warn", stricter=LOCKS, help="what becomes of tools that changed")
    lock_file: str | None = setting(None, widens=True, help="where accepted tools are noted")
    tokens: Mapping[str, str | TokenSettings] = setting(
        factory=dict, secret=True, widens=True, help="bearer tokens to users"
    )
    allowed_hosts: tuple[str, ...] = setting((), widens=True, help="values of Host that are served beside loopback's")
    allowed_origins: tuple[str, ...] = setting((), widens=True, help="values of Origin that are served")
    oauth: OAuthSettings | None = setting(None, widens=True, help="the OAuth server whose tokens are taken")
    max_body_bytes: int = setting(
        4 * 1024 * 1024,
        stricter="lower",
        validator=_message_bytes,
        help="the longest request or message that is read, in bytes",
    )
    max_sessions: int = setting(1_000, stricter="lower", validator=_positive, help="sessions that are open at once")
    session_idle_s: float = setting(
        1_800.0,
        stricter="lower",
        validator=_seconds,
        help="how long a session may be idle before it is closed, in seconds",
    )
    stop_timeout_s: float = setting(
        10.0,
        stricter="lower",
        validator=_not_negative,
        help="how long calls in flight may go on when serving ends, in seconds",
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
        from pegboard_mcp.servers import definitions_of

        return definitions_of(self)
