"""Logging in to a server over HTTP: the SDK's OAuth client, with a place for tokens and a way to ask the person.

The SDK finds the authorization server, registers, and exchanges codes (RFC 9728, 8414, 7591, 7636, 8707). Added here:

- Tokens are kept in the system's keyring, else in a file of mode 0600 in the person's state folder, by server and URL.
  With them lie the time at which they expire and where they are renewed: a new process renews, and does not ask.
- The SDK holds a lock from the request to its answer, which makes calls wait for each other. As long as a token is
  valid, requests pass beside that lock.
- The address to log in at goes to stderr; the browser comes back to a loopback port, within `LOGIN_S`. That happens
  while the link opens, where no deadline of a request cuts it short. A login that ends later ends the link, and the
  next link asks. Only where a call needs more than the token allows (403) is it asked for at once.
- What a server names - its metadata, an authorization server and all of its endpoints, the page to log in at - is asked
  or shown only at the server's own origin or over https (RFC 9728, 7.6; RFC 8414, 6.2): it could as well name a router,
  a file or a command. On this very machine http does, where the server is there, too. A server that everybody can reach
  names nothing that lies in the person's own networks (RFC 9728, 7.7).
- No token gets into a log, a text or a `repr`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2
import trio
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthMetadata, OAuthToken
from pydantic import AnyUrl, BaseModel

from pegboard.config import mask_text, private_folder, user_folder, write_private
from pegboard.text import is_page
from pegboard_confine.network import is_private
from pegboard_httpclient import LOOPBACK
from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client._sites import site_of
from pegboard_mcp.client.transports._link import shorten
from pegboard_mcp.client.transports._web import mask_also
from pegboard_mcp.files import open_regular
from pegboard_mcp.secrets import note_issued

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from pegboard_mcp.definitions import ServerDefinition

M = TypeVar("M", bound=BaseModel)

LOGIN_S = 300.0
"""How long a person may take to log in."""
SERVICE = "pegboard-mcp"
REQUEST_BYTES = 8_192
REQUEST_S = 5.0
STORED_BYTES = 256 * 1024
PAGE = "<!doctype html><meta charset=utf-8><title>Pegboard</title><p>{}"


def key_of(definition: ServerDefinition) -> str:
    """Under what the tokens of a server are kept: its name, and a hash of its URL; of the name, too, where that is not
    what stands there, or is not for a system that does not tell upper case from lower."""
    name, url = definition.name, definition.url or ""
    told = re.sub(r"[^A-Za-z0-9_-]", "-", name)[:40]
    is_plain = told == name == name.lower()
    digest = hashlib.sha256((url if is_plain else f"{url}\n{name}").encode("utf-8", "surrogatepass")).hexdigest()
    return f"{told}-{digest[:16]}"


def may_name(server: str | None, url: str) -> bool:
    """Whether a server may send us there, to log in or to open a page: its own origin, any over https, and on this very
    machine any over http where the server is there, too. A public one, or one without an address (None), may not send
    us into the networks around this machine, whatever the scheme; where a public name leads is not asked here."""
    try:
        own, named = None if server is None else httpx2.URL(server), httpx2.URL(url)
    except (httpx2.InvalidURL, TypeError):
        return False
    if not named.host or named.userinfo:
        return False
    if own is None:
        return named.scheme == "https" and not is_private(named.host)
    if (own.scheme, own.host, own.port) == (named.scheme, named.host, named.port):
        return True
    if named.scheme == "https":
        return is_private(own.host) or not is_private(named.host)
    return named.scheme == "http" and own.host in LOOPBACK and named.host in LOOPBACK


def _require_named(server: str, url: str) -> None:
    if not may_name(server, url):
        where = shorten(mask_text(url), 80)
        why = f"for its login it names {where}, which is neither its own origin nor a public address over https"
        raise LinkError("unauthorized", why, "Ask whoever runs the server to name a public one over https.")


def _require_safe(metadata: OAuthMetadata | None) -> None:
    """Refuse an authorization server before a person is shown its page: one without PKCE (MCP, "Authorization Code
    Protection"), and one whose page is another's, which would have the code that it gives sent to the first ("mix-up",
    RFC 9700, 4.4). None: the server has no metadata, and the page is its own.
    """
    if metadata is None:
        return
    if "S256" not in (metadata.code_challenge_methods_supported or ()):
        why = "its authorization server does not say that it holds codes by PKCE (S256)"
        raise LinkError("unauthorized", why, "Ask whoever runs the server to turn PKCE on, and to say so.")
    issuer, page = (httpx2.URL(str(url)).host for url in (metadata.issuer, metadata.authorization_endpoint))
    if site_of(issuer) != site_of(page):
        why = f"its authorization server, {shorten(issuer, 80)}, has you log in at {shorten(page, 80)}, which is not it"
        raise LinkError("unauthorized", why, "Ask whoever runs the server to name the authorization server itself.")


def _with_own_query(url: str) -> str:
    """The page to log in at, where it has parameters of its own: the SDK puts ours behind a second question mark. They
    are kept (RFC 6749, 3.1); one that is called as one of ours would stand for it at a server that takes the first."""
    page, _, ours = url.rpartition("?")
    own = urlsplit(page).query
    if twice := sorted(parse_qs(own, keep_blank_values=True).keys() & parse_qs(ours, keep_blank_values=True).keys()):
        why = f"its page to log in at brings parameters of its own that are ours to say ({', '.join(twice)})"
        raise LinkError("unauthorized", why, "Ask whoever runs the server to name the page without them.")
    return f"{page}{'&' if own else '?'}{ours}"


class _Asked(OAuthClientMetadata):
    """Who we are, and what we ask for: the scope that a person configured, whatever a server asks for later."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "scope":
            super().__setattr__(name, value)


class Vault:
    """One secret text by key: in the system's keyring, else in a file of mode 0600. Blocking.

    Args:
        folder: where the files lie; None: the person's state folder.

    .. versionadded:: 0.1
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def read(self, key: str) -> str | None:
        """The text, or None."""
        backend = _keyring()
        if backend is not None:
            with contextlib.suppress(_keyring_error()):
                found: str | None = backend.get_password(SERVICE, key)
                if found is not None:
                    return found
        try:
            with open_regular(self._file(key)) as file:
                if os.fstat(file.fileno()).st_mode & 0o077:
                    return None  # others could have read it, or written it
                return file.read(STORED_BYTES).decode()
        except (OSError, UnicodeDecodeError):
            return None

    def write(self, key: str, text: str) -> None:
        """Keep the text."""
        backend = _keyring()
        if backend is not None:
            with contextlib.suppress(_keyring_error()):
                backend.set_password(SERVICE, key, text)
                self._file(key).unlink(missing_ok=True)
                return
        place = self._file(key)
        private_folder(place.parent)
        write_private(place, text.encode())

    def _file(self, key: str) -> Path:
        if self._folder is None:
            self._folder = user_folder("state") / "mcp-tokens"
        return self._folder / f"{key}.json"


def _keyring() -> Any:
    """The system's keyring, or None where it has none that keeps anything."""
    import keyring
    from keyring.backends import fail, null

    with contextlib.suppress(_keyring_error()):
        backend = keyring.get_keyring()
        if not isinstance(backend, fail.Keyring | null.Keyring):
            return backend
    return None


def _keyring_error() -> type[Exception]:
    from keyring.errors import KeyringError

    return KeyringError


class _Storage:
    """The SDK's `TokenStorage`, and beside it what the SDK forgets."""

    def __init__(
        self, definition: ServerDefinition, vault: Vault, client: OAuthClientInformationFull | None = None
    ) -> None:
        self._definition = definition
        self._key = key_of(definition)
        self._client = client
        self._vault = vault
        self._kept: dict[str, Any] | None = None
        self.provider: OAuthClientProvider | None = None

    def __repr__(self) -> str:
        return f"<tokens of {self._key}>"

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens, and to the provider when they expire and where they are renewed."""
        kept = await self._load()
        tokens = self._as(OAuthToken, kept.get("tokens"))
        if tokens is not None and _why_unfit(tokens) is not None:
            return None
        if tokens is not None and self.provider is not None:
            self._hide(tokens.access_token, tokens.refresh_token)
            context = self.provider.context
            expires = kept.get("expires_at")
            context.token_expiry_time = float(expires) if isinstance(expires, int | float) else None
            context.oauth_metadata = context.oauth_metadata or self._as(OAuthMetadata, kept.get("metadata"))
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep the tokens.

        Raises:
            LinkError: they are not such as can be sent.
        """
        self._hide(tokens.access_token, tokens.refresh_token)
        if (why := _why_unfit(tokens)) is not None:
            if self.provider is not None:
                self.provider.context.clear_tokens()
            raise LinkError("unauthorized", why, "Ask whoever runs its authorization server.")
        if tokens.expires_in is not None and tokens.expires_in <= 0:  # of use all the same, until it is refused
            tokens.expires_in = None
            if self.provider is not None:
                self.provider.context.token_expiry_time = None
        kept = await self._load()
        kept["tokens"] = tokens.model_dump(mode="json", exclude_none=True)
        kept["expires_at"] = time.time() + tokens.expires_in if tokens.expires_in else None
        if self.provider is not None and self.provider.context.oauth_metadata is not None:
            kept["metadata"] = self.provider.context.oauth_metadata.model_dump(mode="json", exclude_none=True)
        await self._save()

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """What we are registered as: as configured, or as we registered ourselves."""
        if self._client is not None:
            return self._client
        client = self._as(OAuthClientInformationFull, (await self._load()).get("client"))
        self._hide(None if client is None else client.client_secret)
        return client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep what we are registered as."""
        self._hide(client_info.client_secret)
        (await self._load())["client"] = client_info.model_dump(mode="json", exclude_none=True)
        await self._save()

    async def _load(self) -> dict[str, Any]:
        if self._kept is None:
            text = await trio.to_thread.run_sync(self._vault.read, self._key, abandon_on_cancel=True)
            try:
                found = json.loads(text or "{}")
            except ValueError:
                found = {}
            self._kept = found if isinstance(found, dict) else {}
        return self._kept

    async def _save(self) -> None:
        text = json.dumps(self._kept)
        await trio.to_thread.run_sync(self._vault.write, self._key, text)

    def _hide(self, *keys: str | None) -> None:
        """They are the server's: libraries log none of them, and nobody else is sent them, nor a model."""
        mask_also(*filter(None, keys))
        note_issued(self._definition.name, self._definition.url, *keys)

    @staticmethod
    def _as(kind: type[M], value: Any) -> M | None:
        try:
            return kind.model_validate(value) if value is not None else None
        except ValueError:  # written by another version, or by hand
            return None


def _why_unfit(tokens: OAuthToken) -> str | None:
    """Why tokens cannot be sent; None: they can. What libraries say of such a header has the token in it."""
    for name, token in (("access", tokens.access_token), ("refresh", tokens.refresh_token or "-")):
        if not re.fullmatch(r"[!-~](?:[ -~]{0,16000}[!-~])?", token):  # VSCHAR (RFC 6749, A.12) as a header has it
            return f"the {name} token that it was given is not one line of letters, digits and signs of ASCII"
    return None


class _Login:
    """Asks the person: an address on stderr, an answer on a loopback port."""

    def __init__(self, definition: ServerDefinition, say: Callable[[str], None]) -> None:
        self._name = definition.name
        self._server = definition.url or ""
        self._say = say
        # One port for each server and URL: the address is registered with the authorization server. It lies below what
        # systems hand out for outgoing connections, so that none of those holds it.
        self._port = 21_000 + int(hashlib.sha256(key_of(definition).encode()).hexdigest(), 16) % 11_000
        self._listeners: list[trio.SocketListener] = []
        self._state = ""
        self.provider: OAuthClientProvider | None = None
        self.asking = 0
        """How many may ask just now."""
        self.asked = False

    @property
    def address(self) -> str:
        """Where the browser comes back to."""
        return f"http://127.0.0.1:{self._port}/callback"

    async def ask(self, url: str) -> None:
        """Listen, then print the address to log in at."""
        if not self.asking:
            raise LinkError("unauthorized", "the login has ended", "Call again, and log in.")
        self.asked = True
        if not is_page(url):
            raise LinkError(
                "unauthorized", "it names no web page to log in at", "Look into the server's setup of OAuth."
            )
        _require_named(self._server, url)
        _require_safe(None if self.provider is None else self.provider.context.oauth_metadata)
        url = _with_own_query(url)
        self._state = parse_qs(urlsplit(url).query).get("state", [""])[0]
        try:
            self._listeners = await trio.open_tcp_listeners(self._port, host="127.0.0.1")
        except OSError:
            why = f"the login cannot come back: port {self._port} is in use"
            raise LinkError("unauthorized", why, "End the other login, or the program that holds the port.") from None
        try:
            self._say(f"Log in to the MCP server {self._name!r} within {LOGIN_S / 60:g} minutes:\n  {url}\n")
        except OSError:  # nobody reads stderr
            self._close()
            raise LinkError("unauthorized", "nobody can be asked to log in", "Log in from a terminal.") from None

    async def wait(self) -> AuthorizationCodeResult:
        """What the browser brings back."""
        into, out = trio.open_memory_channel[dict[str, str]](1)
        try:
            with trio.move_on_after(LOGIN_S):
                async with trio.open_nursery() as nursery:

                    async def handle(stream: trio.SocketStream) -> None:
                        async with stream:
                            brought = await _serve(stream, self._state)
                        if brought is not None:  # once the page is on its way: the wait ends here
                            with contextlib.suppress(trio.WouldBlock):
                                into.send_nowait(brought)

                    nursery.start_soon(trio.serve_listeners, handle, self._listeners)
                    brought = await out.receive()
                    nursery.cancel_scope.cancel()
                return _result(brought)
            why = f"nobody logged in within {LOGIN_S:g} s"
            raise LinkError("unauthorized", why, "Call again, and open the address that is printed to stderr.")
        finally:
            self._close()

    def _close(self) -> None:
        for listener in self._listeners:
            listener.socket.close()
        self._listeners = []


def _result(brought: dict[str, str]) -> AuthorizationCodeResult:
    if "error" in brought:
        why = f"the login was refused: {shorten(brought['error'], 60)}"
        raise LinkError("unauthorized", why, "Log in again, and allow the access.")
    return AuthorizationCodeResult(code=brought.get("code", ""), state=brought.get("state"), iss=brought.get("iss"))


async def _serve(stream: trio.SocketStream, state: str) -> dict[str, str] | None:
    """What one request of a browser brings, whether it waits for its page or not; None where it is another request, or
    not for us: any page can send one here, and only who came from our address knows the state."""
    received, brought = b"", None
    with trio.move_on_after(REQUEST_S), contextlib.suppress(trio.BrokenResourceError):
        while b"\r\n\r\n" not in received and len(received) < REQUEST_BYTES:
            chunk = await stream.receive_some(REQUEST_BYTES)
            if not chunk:
                return None
            received += chunk
        found = re.match(rb"GET (/callback\?[!-~]*) HTTP/1\.[01]\r\n", received)
        values = parse_qs(urlsplit(found[1].decode()).query) if found else {}
        parameters = {name: value[0] for name, value in values.items()}
        ours = secrets.compare_digest(parameters.get("state", "").encode(), state.encode()) and bool(state)
        brought = parameters if ours and ("code" in parameters or "error" in parameters) else None
        page = PAGE.format("You are logged in. Close this page." if brought and "code" in brought else "Nothing here.")
        status = "200 OK" if brought else "404 Not Found"
        head = (
            f"HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {len(page)}\r\nconnection: close\r\n\r\n"
        )
        await stream.send_all((head + page).encode())
    return brought


class Auth(httpx2.Auth):
    """The SDK's provider, which is passed by as long as a token is valid."""

    requires_response_body = False

    def __init__(self, provider: OAuthClientProvider, login: _Login, server: str) -> None:
        self._provider = provider
        self._login = login
        self._server = server

    def __repr__(self) -> str:
        return "<OAuth>"

    async def log_in(self, client: httpx2.AsyncClient, url: str) -> bool:
        """Have a token that the server takes, and say whether a person was asked for it.

        Raises:
            LinkError: nobody logged in, or the login was refused.
        """
        self._login.asking += 1
        try:
            # Any request shows whether the token is taken; a server without a session refuses this one, or answers.
            ping = {"jsonrpc": "2.0", "id": "login", "method": "ping"}
            headers = {"accept": "application/json, text/event-stream"}
            async with client.stream("POST", url, json=ping, headers=headers):
                pass
        finally:
            self._login.asking -= 1
        return self._login.asked

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send with the token there is; where that is refused, renew it, or log in.

        A token that is good and does not allow enough (403) is the one reason to ask in the middle of a call: only the
        call tells what it needs, and a new link would ask for no more than the old one.
        """
        context = self._provider.context
        used = context.current_tokens
        elicitation = 0
        if used is not None and context.is_token_valid():
            request.headers["authorization"] = f"Bearer {used.access_token}"
            response = yield request
            if response.status_code not in {401, 403}:
                return
            if response.status_code == 401 and context.current_tokens is used and context.can_refresh_token():
                context.token_expiry_time = 1.0  # it is refused, whatever its date says
        flow = self._provider.async_auth_flow(request)
        try:
            outgoing = await flow.__anext__()
            while True:
                _require_named(self._server, str(outgoing.url))
                response = yield outgoing
                if response.status_code == 403 and not elicitation:
                    elicitation = 1
                    self._login.asking += elicitation
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        except (OverflowError, UnicodeDecodeError):
            why = "its authorization server answers with a time that no clock has, or with other bytes than text"
            raise LinkError("unauthorized", why, "Ask whoever runs it.") from None
        finally:
            self._login.asking -= elicitation
            await flow.aclose()


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _registered(definition: ServerDefinition, login: _Login) -> OAuthClientInformationFull | None:
    """As what the host is registered already, if the configuration says so."""
    if definition.oauth_client_id is None:
        return None
    secret = definition.oauth_client_secret
    if secret:
        mask_also(secret)
    return OAuthClientInformationFull(
        client_id=definition.oauth_client_id,
        client_secret=secret,
        redirect_uris=[AnyUrl(login.address)],
        token_endpoint_auth_method="client_secret_basic" if secret else "none",
        scope=definition.oauth_scope,
        issuer=definition.oauth_issuer,
    )


def make_auth(definition: ServerDefinition, *, vault: Vault | None = None, say: Callable[[str], None] = _say) -> Auth:
    """What logs in to a server, for its HTTP client.

    Args:
        definition: the server.
        vault: where tokens are kept.
        say: shows the person where to log in.

    .. versionadded:: 0.1
    """
    login = _Login(definition, say)
    storage = _Storage(definition, vault or Vault(), _registered(definition, login))
    metadata = (OAuthClientMetadata if definition.oauth_scope is None else _Asked)(
        client_name="Pegboard",
        redirect_uris=[AnyUrl(login.address)],
        scope=definition.oauth_scope,
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",  # noqa: S106 - a method, no password: who runs on a desk keeps no secret
    )
    provider = OAuthClientProvider(
        server_url=definition.url or "",
        client_metadata=metadata,
        storage=storage,
        redirect_handler=login.ask,
        callback_handler=login.wait,
        client_metadata_url=definition.oauth_metadata_url,
    )
    storage.provider = login.provider = provider
    return Auth(provider, login, definition.url or "")
