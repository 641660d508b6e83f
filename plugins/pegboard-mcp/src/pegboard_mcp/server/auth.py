"""Who calls over HTTP: bearer tokens of the configuration, tokens of an OAuth server, or nobody on loopback.

A request's `Caller` lies in its ASGI scope, and `caller_of(request)` reads it, whatever transport the request came by;
the SDK hands the request to every handler (`ServerRequestContext.request`). Beside it lies what the SDK itself wants to
know, `scope["user"]`: its transports hold with it that a session belongs to the credential that made it.

How configured tokens are compared is said in `pegboard_serving`. Of an OAuth token the server that issued it is asked
(RFC 7662); its answer holds for a minute, and never beyond the token's own end. A token that was issued for another
resource (RFC 8707) is refused.
"""

from __future__ import annotations

import base64
import hashlib
import math
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from pegboard import ConfigError, __version__
from pegboard_serving import Caller, Tokens, bearer_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp.server.auth.provider import AccessToken
    from starlette.types import Receive, Scope, Send

    from pegboard_mcp.settings import McpSettings, OAuthSettings

CALLER = "pegboard.caller"
"""Where a `Caller` lies in an ASGI scope."""

KNOWN_S = 60.0
"""How long the answer about an OAuth token holds, in seconds: so long a revoked token still works."""
MAX_KNOWN = 1_000
ASK_S = 10.0
MAX_ANSWER = 100_000
"""Bytes of an answer about a token."""
AT_ONCE = 16
"""Questions to the OAuth server that are open at once."""


NOBODY = Caller()


def caller_of(request: Any) -> Caller:
    """Who made a request: of the SDK's `ServerRequestContext.request`, or of anything else that has an ASGI scope."""
    scope = getattr(request, "scope", None)
    found = scope.get(CALLER) if scope is not None else None
    return found if isinstance(found, Caller) else NOBODY


class Gatekeeper:
    """Decides who a request comes from. Made once for a server.

    Args:
        settings: tokens and OAuth.
        user_id: whose calls they are where no credential is needed; None: the configuration's `user_id`.

    Raises:
        ConfigError: the settings cannot be used.
    """

    def __init__(self, settings: McpSettings, user_id: str | None) -> None:
        self._tokens = Tokens(settings.tokens, section="plugins.mcp.tokens")
        self._oauth = None if settings.oauth is None else _OAuth(settings.oauth)
        self._open = None if self._tokens or self._oauth else Caller(user_id)
        self._users: dict[str, Any] = {}
        scopes = list(settings.oauth.required_scopes) if settings.oauth else []
        self._refuse = _refusing(scopes, self._oauth)
        self._scopes = scopes

    @property
    def is_shared(self) -> bool:
        """Whether it may let in more than one user."""
        return self._oauth is not None or self._tokens.is_shared

    def routes(self) -> Sequence[Any]:
        """Where clients learn which OAuth server to ask (RFC 9728); none without OAuth."""
        return () if self._oauth is None else self._oauth.routes()

    async def admit(self, scope: Scope, receive: Receive, send: Send) -> bool:
        """Put the caller into the scope; where there is none, answer 401 or 403 and say False."""
        if self._open is not None:
            scope[CALLER] = self._open
            return True
        token = bearer_of(scope["headers"])
        if token is not None:
            caller = self._tokens.find(token)
            if caller is not None:
                scope[CALLER], scope["user"] = caller, self._user(caller)
                return True
            if self._oauth is not None:
                try:
                    found = await self._oauth.find(scope)
                except AuthorityDownError:
                    await answer_plainly(scope, send, 503, b"the authorization server does not answer", retry=True)
                    return False
                if found is not None:
                    scope[CALLER], scope["user"], scope["auth"] = found
                    if set(self._scopes) <= set(scope["auth"].scopes):
                        return True
        await self._refuse(scope, receive, as_http(scope, send))
        return False

    def _user(self, caller: Caller) -> Any:
        """What the SDK tells credentials apart by."""
        assert caller.token_id is not None
        user = self._users.get(caller.token_id)
        if user is None:
            from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
            from mcp.server.auth.provider import AccessToken

            access = AccessToken(token="", client_id=caller.token_id, scopes=[], subject=caller.user_id)
            user = self._users[caller.token_id] = AuthenticatedUser(access)
        return user


class AuthorityDownError(Exception):
    """The OAuth server did not say whether a token is good."""


class _OAuth:
    """A resource server of OAuth 2.1: asks the authorization server about each token it has not seen lately."""

    def __init__(self, settings: OAuthSettings) -> None:
        import trio
        from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
        from mcp.server.auth.settings import AuthSettings
        from pydantic import AnyHttpUrl, TypeAdapter, ValidationError

        self.settings = settings
        try:
            answered = AuthSettings.model_validate(
                {
                    "issuer_url": settings.issuer,
                    "resource_server_url": settings.resource_url,
                    "validate_token_resource": True,
                }
            )
            TypeAdapter(AnyHttpUrl).validate_python(settings.introspection_url)
        except ValidationError as problem:
            raise ConfigError(
                "[plugins.mcp.oauth] has an address that is not valid",
                hint="issuer, introspection_url and resource_url are whole addresses, as in https://login.example",
            ) from problem
        assert answered.resource_server_url is not None
        self.issuer = answered.issuer_url
        self.resource = answered.resource_server_url
        self._backend = BearerAuthBackend(self, resource_server_url=self.resource)
        self._known: dict[bytes, tuple[float, AccessToken]] = {}
        self._limit = trio.CapacityLimiter(AT_ONCE)

    def routes(self) -> Sequence[Any]:
        """The protected resource metadata."""
        from mcp.server.auth.routes import create_protected_resource_routes

        return create_protected_resource_routes(
            self.resource, [self.issuer], list(self.settings.required_scopes) or None
        )

    @property
    def metadata_url(self) -> Any:
        """Where the metadata lies."""
        from mcp.server.auth.routes import build_resource_metadata_url

        return build_resource_metadata_url(self.resource)

    async def find(self, scope: Scope) -> tuple[Caller, Any, Any] | None:
        """The caller behind the bearer token of a request, and what the SDK knows them by."""
        from starlette.requests import HTTPConnection

        found = await self._backend.authenticate(HTTPConnection(scope))
        if found is None:
            return None
        credentials, user = found
        access = user.access_token
        user_id = str((access.claims or {}).get(self.settings.user_claim) or "").strip()
        if not user_id:
            return None
        caller = Caller(user_id, self.settings.profile, f"oauth:{access.client_id}:{user_id}")
        return caller, user, credentials

    async def verify_token(self, token: str) -> AccessToken | None:
        """What the authorization server says about a token; None: it is not good."""
        key = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        until, access = self._known.get(key, (0.0, None))
        # By a clock that nobody sets, too: one that is set back would keep a token that was taken back long ago.
        if access is not None and until > time.monotonic() and (access.expires_at or math.inf) > time.time():
            return access
        self._known.pop(key, None)
        async with self._limit:
            answered = await self._ask(token)
        access = self._access(answered)
        if access is not None:
            while len(self._known) >= MAX_KNOWN:
                self._known.pop(next(iter(self._known)))
            self._known[key] = (time.monotonic() + KNOWN_S, access)
        return access

    async def _ask(self, token: str) -> Mapping[str, Any]:
        import trio

        from pegboard.schema.jsontext import JsonTextError, loads
        from pegboard_httpclient import Failure
        from pegboard_httpclient.client import Client

        headers = [("Accept", "application/json"), ("Content-Type", "application/x-www-form-urlencoded")]
        if (client_id := self.settings.client_id) is not None:
            credentials = f"{client_id}:{self.settings.client_secret or ''}".encode()
            headers.append(("Authorization", f"Basic {base64.b64encode(credentials).decode('ascii')}"))
        asked = urlencode({"token": token, "token_type_hint": "access_token"}, errors="surrogatepass").encode()
        client = Client(user_agent=f"pegboard/{__version__}")
        async with aclosing(client):
            answer = await client.send(
                "POST",
                self.settings.introspection_url,
                headers,
                asked,
                max_bytes=MAX_ANSWER,
                deadline=trio.current_time() + ASK_S,
            )
            if isinstance(answer, Failure):
                raise AuthorityDownError
            async with aclosing(answer):
                body = await answer.whole()
        if answer.status != 200 or isinstance(body, Failure):
            raise AuthorityDownError
        try:
            answered = loads(body, is_envelope=True)
        except JsonTextError as problem:
            raise AuthorityDownError from problem
        if not isinstance(answered, dict):
            raise AuthorityDownError
        return answered

    def _access(self, answered: Mapping[str, Any]) -> AccessToken | None:
        from mcp.server.auth.provider import AccessToken
        from pydantic import ValidationError

        if answered.get("active") is not True:
            return None
        issuer = answered.get("iss")
        if issuer is not None and str(issuer).rstrip("/") != self.settings.issuer.rstrip("/"):
            return None
        audience = answered.get("aud") or answered.get("resource") or []
        meant = [audience] if isinstance(audience, str) else [str(one) for one in audience]
        mine = str(self.resource).rstrip("/")
        try:
            return AccessToken(
                token="",  # it is known by its digest alone
                client_id=str(answered.get("client_id") or "unknown"),
                scopes=str(answered.get("scope") or "").split(),
                expires_at=int(answered["exp"]) if answered.get("exp") is not None else None,
                resource=next((one for one in meant if one.rstrip("/") == mine), meant[0] if meant else None),
                subject=str(answered["sub"]) if answered.get("sub") is not None else None,
                claims=dict(answered),
            )
        except (ValidationError, ValueError, TypeError):
            return None


def _refusing(scopes: list[str], oauth: _OAuth | None) -> Any:
    """The SDK's own refusal: 401 or 403 with `WWW-Authenticate`; it lets nobody through that `admit` gave to it."""
    from mcp.server.auth.middleware.bearer_auth import RequireAuthMiddleware

    async def through(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("a request that is refused has a credential")

    return RequireAuthMiddleware(through, scopes, None if oauth is None else oauth.metadata_url)


def as_http(scope: Scope, send: Send) -> Send:
    """A `send` to which an answer of HTTP is given, for a request that asks for a WebSocket too."""
    if scope["type"] != "websocket":
        return send

    async def send_refusal(message: Any) -> None:
        message = {**message, "type": f"websocket.{message['type']}"}
        if "headers" in message:  # hypercorn takes no further request on such a connection
            message["headers"] = [*message["headers"], (b"connection", b"close")]
        await send(message)

    return send_refusal


async def answer_plainly(
    scope: Scope,
    send: Send,
    status: int,
    body: bytes,
    *,
    kind: bytes = b"text/plain; charset=utf-8",
    retry: bool = False,
    end: bool = False,
) -> None:
    """One whole answer; `retry` says that the same request may succeed soon, `end` that the connection ends with it."""
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if retry:
        headers.append((b"retry-after", b"1"))
    if end:
        headers.append((b"connection", b"close"))
    send = as_http(scope, send)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
