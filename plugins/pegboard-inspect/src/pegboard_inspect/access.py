"""Who is let in: whoever has a token. It becomes a cookie, and the cookie holds below one path alone.

The one-time token is for whoever started the program. Tokens that are configured are for users who sit elsewhere; they
are good as often as they are said, and who came by one sees calls of its own user alone.

A token is in the fragment of an address, which no browser sends and no log has. The page posts it once, and it is used
up. What the browser gets for it is a cookie that no script can read, that pages of other sites cannot have sent, and
whose path nobody can guess: browsers send cookies to every port of a host, so that another server on this machine,
which somebody happens to visit, would be given it under a path such as `/`.

Wrong tokens are counted by the address that they come from. Where there were too many, the configured tokens are not
looked at for a while; the one-time token, which nobody can guess, always lets in: who shares an address with whoever
guesses, as all users of a machine do, is not locked out by them. Browsers that were let in go on.

Nothing here does any I/O. Tokens and cookies are kept as their SHA-256.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from collections import OrderedDict, deque
from time import monotonic
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pegboard import Session
    from pegboard_inspect.calling import RunningCall
    from pegboard_serving import Caller, Tokens

COOKIE = "pegboard_inspect"
MAX_VISITORS = 16
"""Browsers that are let in at once; one more, and the first of the same user, or else of all, has to come again."""
MAX_TOKEN = 8_192
MAX_GUESSES = 10
"""Wrong tokens of one address that are looked at within `GUESSES_S`."""
GUESSES_S = 60.0
MAX_ADDRESSES = 10_000
"""Addresses whose wrong tokens are counted; of more, that whose last one is the longest ago is forgotten."""
IPV6_NETWORK = 64
"""Whoever has an IPv6 address has all of its network of this many bits (RFC 4291, section 2.5.4)."""


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


class Guesses:
    """Wrong tokens, by the address that they come from.

    Args:
        clock: seconds, from anywhen.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def note(self, address: str) -> None:
        """One more was wrong."""
        key = _network_of(address)
        self._wrong.setdefault(key, deque(maxlen=MAX_GUESSES)).append(self._clock())
        self._wrong.move_to_end(key)
        if len(self._wrong) > MAX_ADDRESSES:
            self._wrong.popitem(last=False)

    def wait_s(self, address: str) -> float:
        """How long tokens of this address are not looked at; 0: they are."""
        wrong = self._wrong.get(_network_of(address))
        if wrong is None or len(wrong) < MAX_GUESSES:
            return 0.0
        return max(0.0, wrong[0] + GUESSES_S - self._clock())


def _network_of(address: str) -> str:
    """Whose address it is, as far as it tells: all of this machine are one, and so are those of one IPv6 network."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if ip.is_loopback:
        return "this machine"
    return str(ip) if ip.version == 4 else str(ipaddress.ip_network((int(ip), IPV6_NETWORK), strict=False))


class Access:
    """The tokens and the visitors of one inspector.

    Args:
        tokens: those that are configured.
        is_secure: whether browsers come by TLS, and are to say the cookie by TLS alone.
        guesses: counts wrong tokens.
    """

    def __init__(
        self, tokens: Tokens | None = None, *, is_secure: bool = False, guesses: Guesses | None = None
    ) -> None:
        self.guesses = Guesses() if guesses is None else guesses
        self._tokens = tokens
        self._secure = "; Secure" if is_secure else ""
        self._token: bytes | None = None
        self._visitors: dict[str, Visitor] = {}

    def new_token(self) -> str:
        """A token that is good once; one that was drawn before and not used is good for nothing from now on."""
        token = secrets.token_urlsafe(32)
        self._token = _digest(token)
        return token

    def enter(self, token: object, address: str = "") -> tuple[Visitor, str] | None:
        """Let in whoever has the token: the visitor, and the header that sets its cookie. None: it is not the token, or
        too many of this address were wrong (`guesses.wait_s`)."""
        token = token if isinstance(token, str) and len(token) <= MAX_TOKEN else ""
        if self._token is not None and hmac.compare_digest(self._token, _digest(token)):
            self._token = None
            return self._let_in(None)
        if self.guesses.wait_s(address):
            return None
        caller = None if self._tokens is None else self._tokens.find(token)
        if caller is None:
            self.guesses.note(address)
            return None
        return self._let_in(caller)

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
