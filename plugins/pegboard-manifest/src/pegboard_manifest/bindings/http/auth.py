"""The credentials of a server: where they come from, where they may go, and how they are kept out of every text.

They come from the environment alone, by the names that the manifest gives, and whoever sends them gives them to
`CallContext.hide`, so that the board masks them wherever they show up. They go over TLS, or to this very machine. What
is made of them on the way (base64, percent-encoding) is as secret as they are.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import attrs

from pegboard import ErrorCode, Retry, ToolError
from pegboard_manifest.bindings.http.request import MAX_URL, Request
from pegboard_manifest.bindings.http.styles import encode
from pegboard_manifest.hygiene import MIN_SECRET, is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard_manifest.bindings.http.base import Base

MAX_SECRET = 8_000
_COOKIE_OCTETS = frozenset(chr(code) for code in range(0x21, 0x7F)) - frozenset('",;\\')
"""RFC 6265, section 4.1.1."""


@attrs.frozen
class Credentials:
    """What a request carries beside the caller's arguments.

    Args:
        headers: names and values.
        query: `name=value` pairs, encoded.
        cookies: `name=value` pairs.
        secrets: everything that must not be shown, but for what is shorter than `MIN_SECRET`.
        derived: those of them that were made of secrets, and that nobody else knows to mask.
    """

    headers: tuple[tuple[str, str], ...] = attrs.field(default=(), repr=False)
    query: tuple[str, ...] = attrs.field(default=(), repr=False)
    cookies: tuple[str, ...] = attrs.field(default=(), repr=False)
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)
    derived: tuple[str, ...] = attrs.field(default=(), repr=False)

    def __bool__(self) -> bool:
        return bool(self.headers or self.query or self.cookies)


NONE = Credentials()


def alternatives_of(server: Mapping[str, Any], binding: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """The entries of a server's `auth` that may go with an operation's requests: one alternative is enough.

    As the `security` of OpenAPI says it, but that an empty alternative, which is always met, comes last: it would hide
    those behind it. An entry without `scheme` goes with every alternative. A scheme that the server has no entry for
    makes an alternative that cannot be met, and is left out.

    .. versionadded:: 0.1
    """
    auth = server.get("auth", ())
    security = binding.get("security")
    if security is None:
        return [list(auth)]
    always = [one for one in auth if "scheme" not in one]
    known = {one["scheme"] for one in auth if "scheme" in one}
    found = [
        [one for one in auth if one.get("scheme") in (None, *schemes)]
        for schemes in security
        if schemes and known.issuperset(schemes)
    ]
    if security and (not found or [] in security):
        found.append(always)
    return found


def variables_of(server: Mapping[str, Any], binding: Mapping[str, Any]) -> tuple[str, ...]:
    """The variables that hold the secrets of an operation's requests, in their order; alternatives as one text.

    .. versionadded:: 0.1
    """
    said = [tuple(dict.fromkeys(auth["secret_env"] for auth in one)) for one in alternatives_of(server, binding)]
    said = [one for one in said if one]
    return (" or ".join(map(" and ".join, said)),) if len(said) > 1 else tuple(*said)


def _chosen(
    server: Mapping[str, Any], binding: Mapping[str, Any], environ: Mapping[str, str]
) -> Sequence[Mapping[str, Any]]:
    """The entries of the first alternative that is fully set; of none but what is required, where none is."""
    alternatives = alternatives_of(server, binding)
    if "security" not in binding or not alternatives:
        return alternatives[0] if alternatives else ()
    for one in alternatives:
        if all(environ.get(auth["secret_env"]) for auth in one if "scheme" in auth):
            return one
    return [
        auth
        for auth in alternatives[0]
        if "scheme" not in auth or (auth.get("required") and not environ.get(auth["secret_env"]))
    ]


def credentials_of(
    server: Mapping[str, Any], base: Base, environ: Mapping[str, str], binding: Mapping[str, Any]
) -> Credentials:
    """What goes with the requests of one operation.

    Args:
        server: of the manifest.
        base: where requests go.
        environ: the variables.
        binding: of the operation: its `security` says what it takes; without one everything that is set goes along.

    Raises:
        ToolError: UNAUTHORIZED: one is required and not set, or cannot be sent; FORBIDDEN: it would go in the clear.

    .. versionadded:: 0.1
    """
    entries = _chosen(server, binding, environ)
    if not entries:
        return NONE
    headers: dict[str, tuple[str, str]] = {}
    query: list[str] = []
    cookies: list[str] = []
    plain: list[str] = []
    derived: list[str] = []
    for auth in entries:
        variable, kind = auth["secret_env"], auth["kind"]
        if not environ.get(variable):
            if auth.get("required"):
                raise _missing(variable)
            continue
        user_variable = auth.get("username_env") if kind == "basic" else None
        if user_variable and not environ.get(user_variable) and auth.get("required"):
            raise _missing(user_variable)
        if base.scheme == "http" and not is_loopback(base.host):
            raise ToolError(
                ErrorCode.FORBIDDEN,
                f"{variable} would go to {base.netloc} unencrypted; let the base URL begin with https://",
                reason="plain_http",
                variable=variable,
            )
        secret = _checked(environ[variable], variable, kind)
        if kind == "basic":
            user = environ.get(user_variable, "") if user_variable else ""
            if ":" in user or not user.isprintable():
                raise _unusable(user_variable or variable, "a colon or control characters, which no user name has")
            token = base64.b64encode(f"{user}:{secret}".encode("utf-8", "surrogateescape")).decode("ascii")
            derived.append(token)
            headers.setdefault("authorization", ("Authorization", f"Basic {token}"))
        elif kind == "bearer":
            headers.setdefault("authorization", ("Authorization", f"Bearer {secret}"))
        elif kind == "header":
            headers.setdefault(auth["name"].lower(), (auth["name"], secret))
        elif kind == "query":
            query.append(f"{encode(auth['name'])}={encode(secret)}")
            derived += sorted({encode(secret), quote(secret), quote_plus(secret)} - {secret})
        else:
            cookies.append(f"{auth['name']}={secret}")
        plain += [secret, json.dumps(secret)[1:-1]]
    plain, derived = ([one for one in texts if len(one) >= MIN_SECRET] for texts in (plain, derived))
    secrets = tuple(dict.fromkeys([*plain, *derived]))
    return Credentials(tuple(headers.values()), tuple(query), tuple(cookies), secrets, tuple(derived))


def with_credentials(request: Request, credentials: Credentials) -> Request:
    """The request as it is sent.

    Raises:
        ToolError: INVALID_INPUT: the URL is too long with them.

    .. versionadded:: 0.1
    """
    if not credentials:
        return request
    url = with_query(request.url, credentials)
    if len(url) > MAX_URL:
        raise ToolError(
            ErrorCode.INVALID_INPUT,
            f"the arguments make a URL of more than {MAX_URL:,} characters; shorten them; nothing was sent",
            reason="arguments",
        )
    headers = request.headers
    if credentials.cookies:
        own = [value for name, value in headers if name == "Cookie"]
        rest = tuple(pair for pair in headers if pair[0] != "Cookie")
        headers = (*rest, ("Cookie", "; ".join([*own, *credentials.cookies])))
    return Request(request.method, url, (*headers, *credentials.headers), request.body)


def with_query(url: str, credentials: Credentials) -> str:
    """A URL with the credentials that go into its query."""
    if not credentials.query:
        return url
    return f"{url}{'&' if '?' in url else '?'}{'&'.join(credentials.query)}"


def _checked(secret: str, variable: str, kind: str) -> str:
    if len(secret) > MAX_SECRET:
        raise _unusable(variable, f"more than {MAX_SECRET:,} characters")
    if kind in ("query", "basic"):
        fits = "\x00" not in secret
    elif kind == "cookie":
        fits = _COOKIE_OCTETS.issuperset(secret)
    else:
        fits = secret.isascii() and secret.isprintable() and secret == secret.strip()
    if not fits:
        raise _unusable(variable, f"what no {kind} can carry, such as blanks at its ends or a line break")
    return secret


def _missing(variable: str) -> ToolError:
    return ToolError(
        ErrorCode.UNAUTHORIZED,
        f"the server wants credentials, and {variable} is not set; set the environment variable {variable} where the"
        " host runs",
        reason="credentials",
        variable=variable,
        retry=Retry.CHANGED.value,
    )


def _unusable(variable: str, why: str) -> ToolError:
    return ToolError(
        ErrorCode.UNAUTHORIZED,
        f"the environment variable {variable} holds {why}; set it anew",
        reason="credentials",
        variable=variable,
        retry=Retry.CHANGED.value,
    )
