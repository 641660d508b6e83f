"""What is known of an MCP server before it is started: one value, whatever file it was written in."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping  # noqa: TC003 - attrs may be asked for the types of the fields
from typing import Any, Literal

import attrs

from pegboard_mcp.defaults import CONNECT_S, INSTALL_S, MAX_MESSAGE_BYTES, REQUEST_S, SSE_READ_S

Transport = Literal["stdio", "http", "sse", "websocket"]

MASKED = "***"


@attrs.frozen(kw_only=True)
class ServerDefinition:
    """One MCP server as configured: variables are resolved, a bare package has become a command.

    Args:
        name: the configured one, unique.
        transport: how it is reached.
        argv: the program and its arguments; stdio alone.
        env: variables that are set for it, over the safe few of the host; stdio alone.
        cwd: the folder it starts in; stdio alone.
        encoding: of its lines; stdio alone.
        url: where it is; not for stdio.
        headers: sent with every request; not for stdio.
        oauth_client_id, oauth_client_secret: as what the host is registered with the authorization server already;
            None: it registers itself.
        oauth_issuer: whose registration that is; the secret goes to no other authorization server.
        oauth_metadata_url: where the authorization server may read about the host instead of a registration.
        oauth_scope: what the tokens are asked to allow; None: what the server names.
        oauth: whether tokens are fetched through OAuth when the server asks for them; http alone.
        connect_s: how long it may take to start and to answer the first requests.
        install_s: how long its package may take to be installed before that; stdio alone.
        request_s: how long a call may take as a whole.
        sse_read_s: how long a stream may stay silent; http and sse.
        terminate_on_close: whether the session is ended with DELETE; http alone.
        max_message_bytes: the longest message that it may send.
        description: what a person reads.
        config: reaches the server in the initialization, under `capabilities.experimental`.
        load_tools, load_prompts: whether its tools and its prompts are offered.
        allowed_tools: the only tools that are offered, by the server's own names; None: all.
        disabled_tools: tools that are not offered.
        prefix: put before each of its names; None: nothing.
        required: whether the host must not open without it.
        start: when it is started: at the first use, or when the host opens.
        results: whether what hides in texts of results, prompts and resources is taken out ("clean") or stays ("raw").
        roots: folders that are shown to it as its roots.
        secrets: values that must not be shown.
        env_file: the file from which some of `env` came.

    .. versionadded:: 0.1
    """

    name: str
    transport: Transport
    argv: tuple[str, ...] = attrs.field(default=(), repr=False)
    env: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    cwd: str | None = None
    encoding: str = "utf-8"
    url: str | None = attrs.field(default=None, repr=False)
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    oauth: bool = False
    oauth_client_id: str | None = None
    oauth_client_secret: str | None = attrs.field(default=None, repr=False)
    oauth_issuer: str | None = None
    oauth_metadata_url: str | None = None
    oauth_scope: str | None = None
    connect_s: float = CONNECT_S
    install_s: float = INSTALL_S
    request_s: float = REQUEST_S
    sse_read_s: float = SSE_READ_S
    terminate_on_close: bool = True
    max_message_bytes: int = MAX_MESSAGE_BYTES
    description: str = ""
    config: Mapping[str, Any] | None = attrs.field(default=None, repr=False)
    load_tools: bool = True
    load_prompts: bool = True
    allowed_tools: frozenset[str] | None = None
    disabled_tools: frozenset[str] = frozenset()
    prefix: str | None = None
    required: bool = False
    start: Literal["lazy", "eager"] = "lazy"
    results: Literal["clean", "raw"] = "clean"
    roots: tuple[str, ...] = ()
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)
    env_file: str | None = attrs.field(default=None, eq=False, repr=False)

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
