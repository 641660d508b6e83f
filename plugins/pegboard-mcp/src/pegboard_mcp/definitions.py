"""One MCP server: what a person says of it, and what that comes to, whatever file it was written in.

Every key is declared once, as a field with its type, its default and its marks; the core structures a table into
`ServerSettings`. `pegboard_mcp.rules` holds what no field can say alone, and makes the `ServerDefinition`.

Made where a configuration has such a table: `ServerSettings` alone costs as much as all else that a start takes from
this package.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping  # noqa: TC003 - the types of fields are looked up at run time
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard import setting
from pegboard.config import body_bytes
from pegboard.limits import LEAST_BODY_BYTES, MOST_BODY_BYTES
from pegboard_mcp.defaults import (
    CONNECT_S,
    INSTALL_S,
    MAX_COUNT,
    MAX_MESSAGE_BYTES,
    MAX_S,
    MAX_SIZE,
    MIN_SIZE,
    REQUEST_S,
    SSE_READ_S,
    check_count,
    check_seconds,
    check_size,
)

if TYPE_CHECKING:
    from pegboard_confine.learning import Learned

Transport = Literal["stdio", "http", "sse", "websocket"]
Era = Literal["auto", "modern", "legacy"]
"""Which era of the protocol is spoken with a server, in the words of the SDK's `Client(mode=...)`: `modern` is that
without a handshake, from 2026-07-28 on; `legacy` is that with one; `auto` asks the server."""

MASKED = "***"

TEXT, TEXTS, TEXTS_BY_NAME = "a text", "a list of texts", "a table of texts"
YES_OR_NO = "true or false, without quotes"
SECONDS = f"seconds above 0, at most {MAX_S:.0f}"
BYTES = f"a whole number, {LEAST_BODY_BYTES} to {MOST_BODY_BYTES}"
COUNT = f"a whole number, 1 to {MAX_COUNT}"
SIZE = f"a whole number of bytes, {MIN_SIZE} to {MAX_SIZE}"
STDIO, WEB, STREAMS, HTTP = ("stdio",), ("http", "sse", "websocket"), ("http", "sse"), ("http",)
VALUES: Literal["values"] = "values"
_VALIDATORS = {SECONDS: check_seconds, BYTES: body_bytes, COUNT: check_count, SIZE: check_size}


def key(
    default: Any, help: str, example: str = "", takes: str = TEXT, *, only: tuple[str, ...] = (), **marks: Any  # noqa: A002 - as of `setting`
) -> Any:  # fmt: skip
    """Declare a key: a `setting` that says more where its value is wrong.

    Args:
        default: the value where nothing is said; `dict` makes an empty table.
        help: as of `setting`.
        example: a value that is right, as a file has it.
        takes: what it takes, in the words of files.
        only: the transports that have a use for it; none: all.
        marks: others of `setting`.
    """
    if isinstance(default, bool):
        takes, example = YES_OR_NO, str(not default).lower()
    of_nothing: dict[str, Any] = {"factory": dict} if default is dict else {"default": default}
    field = setting(**of_nothing, help=help, validator=_VALIDATORS.get(takes), **marks)
    field.metadata |= {"takes": takes, "example": example, "only": only}
    return field


# fmt: off
@attrs.frozen(kw_only=True, repr=False)
class _Server:
    """The keys that reach the definition as they are."""

    env: Mapping[str, str] = key(
        dict, "variables that are set for it", '{ PORT = "3000" }', TEXTS_BY_NAME, only=STDIO, secret=VALUES)
    cwd: str | None = key(None, "the folder it starts in", '"folder"', only=STDIO)
    encoding: str = key("utf-8", "of its lines", '"utf-8"', only=STDIO)
    url: str | None = key(None, "where it is: http(s) or ws(s)", '"https://host/mcp"')
    headers: Mapping[str, str] = key(
        dict, "sent with every request", '{ X-Tenant = "7" }', TEXTS_BY_NAME, only=WEB, secret=VALUES)
    oauth: bool = key(False, "fetch tokens through OAuth when it asks for them; http alone", only=HTTP)
    oauth_client_id: str | None = key(
        None, "as what we are registered; nothing: we register ourselves", '"pegboard"', only=HTTP)
    oauth_client_secret: str | None = key(
        None, "the secret that goes with it", '"${CLIENT_SECRET}"', only=HTTP, secret=True)
    oauth_issuer: str | None = key(
        None, "the authorization server that the secret is for", '"https://login.host"', only=HTTP)
    oauth_metadata_url: str | None = key(
        None, "where the authorization server may read who we are", '"https://host/client.json"', only=HTTP)
    oauth_scope: str | None = key(
        None, "what tokens are asked to allow; nothing: what the server names", '"read write"', only=HTTP)
    terminate_on_close: bool = key(True, "end the session with DELETE; http alone", only=HTTP)
    load_tools: bool = key(True, "offer its tools")
    load_prompts: bool = key(True, "offer its prompts")
    prefix: str | None = key(None, "put before each of its names", '"fs_"')
    required: bool = key(False, "do not open the host without it; it is started then")
    start: Literal["lazy", "eager"] = key(
        "lazy", "start it at the first use, or when the host opens", '"eager"', "lazy or eager")
    results: Literal["clean", "raw"] = key(
        "clean", "take out what hides in the texts of its results; raw: they are data, and stay as they are", '"raw"',
        "clean or raw")
    confine: bool = key(
        False, "run it in a sandbox: it sees what `read` and `write` say, and reaches `network`", only=STDIO)
    read: tuple[str, ...] = key((), "folders and files that it sees; with `confine`", '["docs"]', TEXTS, only=STDIO)
    write: tuple[str, ...] = key((), "folders that it may change; with `confine`", '["notes"]', TEXTS, only=STDIO)
    network: tuple[str, ...] = key(
        (), "hosts that it may reach; with `confine`", '["api.example.org"]', TEXTS, only=STDIO)
    max_memory_bytes: int | None = key(
        None, "how much each of its processes may take, in bytes; with `confine`", "2000000000", SIZE, only=STDIO)
    max_file_bytes: int | None = key(
        None, "the longest file that it may write, in bytes; with `confine`", "50000000", SIZE, only=STDIO)
    max_processes: int | None = key(
        None, "processes and threads that it may have at once; with `confine`", "100", COUNT, only=STDIO)
    trusted: bool = key(False, "what it answers may go into other tools without a question", widens=True)
    calls_per_minute: int | None = key(None, "more are refused, all callers together", "60", COUNT)
    max_result_bytes: int | None = key(None, "a larger result is cut, in bytes", "20000", COUNT)
    asks_per_hour: int | None = key(None, "how often it may ask a person; more is refused", "10", COUNT)
    sampling_tokens_per_day: int | None = key(
        None, "how much it may have your model read and write; more is refused", "10000", COUNT)
    may_sample: bool = key(True, "it may ask your model, with your consent")
    may_elicit: bool = key(True, "it may ask you to fill in a form, or to open a page")
    protocol: Literal["auto", "modern", "legacy"] = key(
        "auto", "which era of the protocol is spoken: as it answers, without a handshake, or by one", '"legacy"',
        "auto, modern or legacy")
    config: Mapping[str, Any] | None = key(None, "reaches it in the initialization", "{ depth = 3 }", "a table")
    roots: tuple[str, ...] = key((), "folders that it is told to work in", '["."]', TEXTS)
    description: str = key("", "what it is for, for people", '"what it is for"')


def _own_first(cls: type, fields: list[Any]) -> list[Any]:
    """The keys in the order that people are shown them: what runs, or where it is, before what goes with it."""
    return sorted(fields, key=lambda field: field.inherited)


@attrs.frozen(kw_only=True, repr=False, field_transformer=_own_first)
class ServerSettings(_Server):
    """`[plugins.mcp.servers.NAME]`: one MCP server, as a person configures it.

    What runs or where it is: `command` with `args`, or `server` (a package on npm or PyPI), or `url`.

    .. versionadded:: 0.1
    """

    command: str | None = key(None, "the program to start", '"npx"')
    args: tuple[str, ...] = key(
        (), "its arguments; after those that `server` needs", '["-y", "3000"]', TEXTS, only=STDIO)
    server: str | None = key(None, "a package on npm, run by npx, or on PyPI, run by uvx", '"@scope/name"')
    env_file: str | None = key(None, "a file of more such variables, as python-dotenv reads it", '".env"', only=STDIO)
    envFile: str | None = key(None, "the same as `env_file`", '".env"', only=STDIO)  # noqa: N815 - editors write it so
    transport: Literal["stdio", "sse", "websocket", "http"] | None = key(
        None, "how it is reached; nothing: stdio for a command, http or websocket by the URL", '"http"',
        "stdio, sse, websocket or http")
    timeout: float = key(CONNECT_S, "how long it may take to start, in seconds", "30", SECONDS)
    install_timeout: float = key(
        INSTALL_S, "how long npx, uvx, docker and the like may take to install it, in seconds", "120", SECONDS,
        only=STDIO)
    sse_read_timeout: float = key(
        SSE_READ_S, "how long a stream may stay silent, in seconds; http and sse", "300", SECONDS, only=STREAMS)
    request_timeout: float = key(REQUEST_S, "how long a call may take, in seconds", "60", SECONDS)
    max_message_bytes: int = key(
        MAX_MESSAGE_BYTES, "a longer message ends the connection, in bytes", "65536", BYTES)
    allowed_tools: tuple[str, ...] | None = key(
        None, "the only tools that are offered, by its own names", '["read_file"]', TEXTS)
    disabled_tools: tuple[str, ...] = key(
        (), "tools that are not offered, by its own names", '["write_file"]', TEXTS)
    config_env: str | None = key(None, "the variable that holds `config` as JSON for it", '"SERVER_CONFIG"', only=STDIO)
    # fmt: on

    def __repr__(self) -> str:
        """Arguments, the URL and `config` may hold secrets that no mark tells."""
        return f"<ServerSettings {self.command or self.server or 'of a URL'}>"


BOUNDS = ("max_memory_bytes", "max_file_bytes", "max_processes")
CONFINEMENT = ("confine", "read", "write", "network", *BOUNDS)
"""The keys that say what a server is given, and how much of it."""
KEYS: Mapping[str, attrs.Attribute[Any]] = {field.name: field for field in attrs.fields(ServerSettings)}
"""Every key of a server's table."""


@attrs.frozen(kw_only=True, repr=False)
class ServerDefinition(_Server):
    """One MCP server as configured: variables are resolved, a bare package has become a command.

    Beside what `ServerSettings` says under the same name (`env` holds the variables of its files too, `cwd` and `roots`
    are whole paths, and a server that is `required` starts eagerly):

    Args:
        name: the configured one, unique.
        transport: how it is reached.
        argv: the program and its arguments; stdio alone.
        connect_s: how long it may take to start and to answer the first requests.
        install_s: how long its package may take to be installed before that; stdio alone.
        request_s: how long a call may take as a whole.
        sse_read_s: how long a stream may stay silent; http and sse.
        max_message_bytes: the longest message that it may send.
        allowed_tools: the only tools that are offered, by the server's own names; None: all.
        disabled_tools: tools that are not offered.
        secrets: values that must not be shown.
        env_file: the file from which some of `env` came.
        kept: files of the host that it may not change in its sandbox, whatever it may write.
        lock: the file of `kept` in which accepted tools are noted, where one is named.
        written: folders that other servers may write.
        home: the folder that is its home in a sandbox; None: one that goes by its name and command.
        learned: what its sandbox tells of it, where somebody asks.

    .. versionadded:: 0.1
    """

    name: str
    transport: Transport
    argv: tuple[str, ...] = ()
    connect_s: float = CONNECT_S
    install_s: float = INSTALL_S
    request_s: float = REQUEST_S
    sse_read_s: float = SSE_READ_S
    max_message_bytes: int = MAX_MESSAGE_BYTES
    allowed_tools: frozenset[str] | None = None
    disabled_tools: frozenset[str] = frozenset()
    secrets: tuple[str, ...] = ()
    keys: frozenset[str] = frozenset()
    """Those of `secrets` that are secret by their names, and not only as every variable and header is."""
    env_file: str | None = attrs.field(default=None, eq=False)
    kept: tuple[str, ...] = attrs.field(default=(), eq=False)
    lock: str | None = attrs.field(default=None, eq=False)
    written: tuple[str, ...] = attrs.field(default=(), eq=False)
    home: str | None = attrs.field(default=None, eq=False)
    learned: Learned | None = attrs.field(default=None, eq=False)
    client_name: str = attrs.field(default="pegboard", eq=False)
    """As whom it is asked: `pegboard probe` looks whether another client is told the same."""

    def __repr__(self) -> str:
        return f"<ServerDefinition {self.name}: {self.shown}>"

    def mask(self, text: str) -> str:
        """The text without any secret of this server."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, MASKED)
        return text

    def mask_words(self, text: str) -> str:
        """A server's own words without its secrets, and without words that look like anybody's.

        Word by word, since `KeyError: 'API_KEY'` has to stay readable.
        """
        from pegboard.config import mask_text

        return re.sub(r"\S+", lambda word: mask_text(word[0]), self.mask(text))

    @property
    def shown(self) -> str:
        """The command as configured, or the URL, secrets masked: what an error says."""
        from pegboard.config import mask_text

        return mask_text(self.mask(shlex.join(self.argv) if self.transport == "stdio" else self.url or ""))

    @property
    def identity(self) -> str:
        """What makes it this very server, as 16 hex digits: a list in the cache belongs to it. It tells no secret."""
        import hashlib

        env, headers = sorted(self.env.items()), sorted(self.headers.items())
        parts: list[Any] = [self.transport, self.argv, env, self.cwd, self.url, headers]
        parts += [self.config, self.load_tools, self.load_prompts, self.prefix]
        parts += [sorted(self.allowed_tools) if self.allowed_tools is not None else None, sorted(self.disabled_tools)]
        return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]


SHARED = frozenset(field.name for field in attrs.fields(_Server))
"""The keys that reach the definition as they are."""


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
