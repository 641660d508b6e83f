"""The tables below `[plugins.mcp]`: one MCP server, and OAuth. `pegboard_mcp.settings` gives both by name.

They are made where a configuration has such a table: `ServerSettings` alone costs as much as all else that a start
takes from this package.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the types of fields are looked up at run time
from typing import Any, Literal

import attrs

from pegboard import setting
from pegboard_mcp.defaults import CONNECT_S, INSTALL_S, MAX_MESSAGE_BYTES, REQUEST_S, SSE_READ_S
from pegboard_mcp.settings import check_message_bytes, check_seconds


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
    timeout: float = setting(CONNECT_S, validator=check_seconds, help="how long it may take to start, in seconds")
    install_timeout: float = setting(
        INSTALL_S,
        validator=check_seconds,
        help="how long npx, uvx, docker and the like may take to install it, in seconds",
    )
    sse_read_timeout: float = setting(
        SSE_READ_S, validator=check_seconds, help="how long a stream may stay silent, in seconds; http and sse"
    )
    terminate_on_close: bool = setting(True, help="end the session with DELETE; http alone")
    request_timeout: float = setting(REQUEST_S, validator=check_seconds, help="how long a call may take, in seconds")
    max_message_bytes: int = setting(
        MAX_MESSAGE_BYTES, validator=check_message_bytes, help="a longer message ends the connection, in bytes"
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
