"""Who is let in: whoever has a token. It becomes a cookie, and the cookie holds below one path alone.

The one-time token is for whoever started the program. Tokens that are configured are for users who sit elsewhere; they
are good as often as they are said, and who came by one sees calls of its own user alone.

A token is in the fragment of an address, which no browser sends and no log has. The page posts it once, and it is used
up. What the browser gets for it is a cookie that no script can read, that pages of other sites cannot have sent, and
whose path nobody can guess: browsers send cookies to every port of a host, so that another server on this machine,
which somebody happens to visit, would be given it under a path such as `/`.

Nothing here does any I/O. Tokens and cookies are kept as their SHA-256.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard import Session
    from pegboard_inspect.calling import RunningCall
    from pegboard_serving import Caller, Tokens

COOKIE = "pegboard_inspect"
MAX_VISITORS = 16
"""Browsers that are let in at once; one more, and the first of the same user, or else of all, has to come again."""
MAX_TOKEN = 8_192


@attrs.define(eq=False)
class Visitor:
    """A browser that was let in.

    Args:
        base: the path below which its cookie holds, `/s-...`.
        session: what it calls tools with; the app makes it.
        caller: whose token it came by; None: the one-time token.
        sessions: those of its pages that have streams, by path.
        calls: those that are under way, by id.
    """

    base: str
    _digest: bytes = attrs.field(repr=False)
    caller: Caller | None = None
    session: Any = None
    calls: dict[str, RunningCall] = attrs.field(factory=dict, repr=False)
    sessions: dict[str, Session] = attrs.field(factory=dict)

    def has(self, cookie: str) -> bool:
        """Whether the cookie is this one's."""
        return hmac.compare_digest(self._digest, _digest(cookie))


class Access:
    """The tokens and the visitors of one inspector.

    Args:
        tokens: those that are configured.
        is_secure: whether browsers come by TLS, and are to say the cookie by TLS alone.
    """

    def __init__(self, tokens: Tokens | None = None, *, is_secure: bool = False) -> None:
        self._tokens = tokens
        self._secure = "; Secure" if is_secure else ""
        self._token: bytes | None = None
        self._visitors: dict[str, Visitor] = {}

    def new_token(self) -> str:
        """A token that is good once; one that was drawn before and not used is good for nothing from now on."""
        token = secrets.token_urlsafe(32)
        self._token = _digest(token)
        return token

    def enter(self, token: object) -> tuple[Visitor, str] | None:
        """Let in whoever has the token: the visitor, and the header that sets its cookie. None: it is not the token."""
        if not isinstance(token, str) or len(token) > MAX_TOKEN:
            return None
        if self._token is not None and hmac.compare_digest(self._token, _digest(token)):
            self._token = None
            return self._let_in(None)
        caller = None if self._tokens is None else self._tokens.find(token)
        return None if caller is None else self._let_in(caller)

    def _let_in(self, caller: Caller | None) -> tuple[Visitor, str]:
        if len(self._visitors) >= MAX_VISITORS:
            own = (base for base, one in self._visitors.items() if one.caller == caller)
            del self._visitors[next(own, next(iter(self._visitors)))]
        cookie = secrets.token_urlsafe(32)
        visitor = Visitor(f"/s-{secrets.token_hex(16)}", _digest(cookie), caller)
        self._visitors[visitor.base] = visitor
        return visitor, f"{COOKIE}={cookie}; Path={visitor.base}/; HttpOnly; SameSite=Strict{self._secure}"

    def find(self, base: str, cookies: Iterable[bytes]) -> Visitor | None:
        """Whose request it is, by the first part of its path and its headers `Cookie`; None: nobody's."""
        visitor = self._visitors.get(base)
        if visitor is None:
            return None
        pairs = (pair.strip().partition("=") for line in cookies for pair in line.decode("latin-1").split(";"))
        return visitor if any(name == COOKIE and visitor.has(value) for name, _, value in pairs) else None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
