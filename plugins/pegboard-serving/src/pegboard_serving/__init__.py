"""What HTTP servers share: who is let in, where they listen, and how they end; `worker` serves them.

Host and Origin are always held, against pages of other sites whose names were made to point here (DNS rebinding): a
Host is a configured name, the bound address, or a bare IP address, which no name service can move; an Origin is one
that was configured, or on loopback. What a browser sends without an Origin for a page of another site - an image, a
script, a frame, a `fetch` that may not read the answer - it tells apart (Fetch Metadata, W3C): of those only the page
that a person goes to is served.

A token is compared by its SHA-256 with all that are configured, each in constant time, and is never logged, kept or
shown. Where an HTTP server asks for no credential, whoever reaches the port is let in: so the port is then on loopback
alone.

Settings of HTTP servers import this module: nothing heavy is imported before it is needed.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import attrs

from pegboard import ConfigError
from pegboard.config import setting

if TYPE_CHECKING:
    import ipaddress
    import logging
    import signal
    import socket
    import ssl
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    import trio

    from pegboard import Board

__all__ = [
    "LAST_S",
    "REFUSED",
    "Caller",
    "HostCheck",
    "TokenSettings",
    "Tokens",
    "at_signals",
    "bearer_of",
    "bound_socket",
    "finish_calls",
    "host_of",
    "is_loopback",
    "require_credential",
    "serve_until_signal",
    "tls_of",
    "tools_of",
    "url_of",
]

MAX_TOKEN = 8_192
"""Longer tokens are refused unread, in characters."""
MAX_REMEMBERED = 64
BACKLOG = 100
"""How many connections may wait to be accepted."""
LAST_S = 3.0
"""How long answers may take to leave after the last call is done, in seconds.

.. versionadded:: 0.1
"""
REFUSED: Mapping[int, str] = {
    421: "this Host is not served here: name it in allowed_hosts, or have the proxy between send on its client's",
    403: "this Origin, or a page of another site, is not served here: name it in allowed_origins",
}
"""What a request is told that `HostCheck` refuses, by status.

.. versionadded:: 0.1
"""
UNREAD_S = 30.0
"""How long a client may leave unread what it is sent, in seconds, before the system ends the connection."""


@attrs.frozen(kw_only=True)
class TokenSettings:
    """`[plugins.X.tokens.TOKEN]`: who a bearer token is, where that is more than a name.

    .. versionadded:: 0.1
    """

    user_id: str = setting(help="who calls")
    profile: str | None = setting(None, help="the profile of the session")


class Caller(NamedTuple):
    """Who makes a request, and as what.

    Args:
        user_id: the user, or None for nobody.
        profile: the profile that selects the tools, or None for the configuration's default.
        token_id: tells credentials apart and tells nothing of the token; None where no credential was needed.

    .. versionadded:: 0.1
    """

    user_id: str | None = None
    profile: str | None = None
    token_id: str | None = None


class Tokens:
    """The bearer tokens of one HTTP server.

    Args:
        tokens: each token, and whose it is.
        section: of the configuration, for what is said of a bad one: `plugins.mcp.tokens`.

    Raises:
        ConfigError: a token is blank or none that a header can say, or a user is blank.

    .. versionadded:: 0.1
    """

    def __init__(self, tokens: Mapping[str, str | TokenSettings], *, section: str) -> None:
        import hashlib

        self._callers: list[tuple[bytes, Caller]] = []
        for token, owner in tokens.items():
            user_id, profile = (owner, None) if isinstance(owner, str) else (owner.user_id, owner.profile)
            if not _is_token(token) or not user_id.strip():
                raise ConfigError(
                    f"a token in [{section}] is blank or too long, holds what no header can, or has no user",
                    hint=f'say TOKEN = "USER", with a token of 1 to {MAX_TOKEN} letters, digits and signs of ASCII',
                )
            digest = hashlib.sha256(token.encode()).digest()
            self._callers.append((digest, Caller(user_id.strip(), profile, f"token:{digest.hex()[:16]}")))

    def __bool__(self) -> bool:
        return bool(self._callers)

    @property
    def is_shared(self) -> bool:
        """Whether they are of more than one user."""
        return len({caller.user_id for _, caller in self._callers}) > 1

    def find(self, token: str) -> Caller | None:
        """Whose token it is; None: nobody's."""
        import hashlib
        import hmac

        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        found = None
        for known, caller in self._callers:  # to the end, so that the time says nothing about where it lies
            if hmac.compare_digest(known, digest):
                found = caller
        return found


def _is_token(token: str) -> bool:
    """Whether a header can say it, whatever the client does about blanks and encodings."""
    return 0 < len(token) <= MAX_TOKEN and token == token.strip() and all(" " <= sign <= "~" for sign in token)


def bearer_of(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The bearer token of a request; None: it brings none, or more than one.

    .. versionadded:: 0.1
    """
    found = [value for name, value in headers if name == b"authorization"]
    if len(found) != 1 or len(found[0]) > MAX_TOKEN + 7 or found[0][:7].lower() != b"bearer ":
        return None
    return found[0][7:].strip().decode("latin-1") or None


def host_of(authority: str) -> str | None:
    """The host of `HOST` or `HOST:PORT`, as the header Host and the rest of an Origin have it; None: it is neither.

    Read to the end, so that nothing may stand beside it: no user, no path, nothing behind the bracket of an address, no
    dot at its end. In lower case; an address in its shortest form, IPv6 without brackets.

    .. versionadded:: 0.1
    """
    import re

    found = re.fullmatch(r"(?:\[([0-9a-f:.]+)\]|([\w.-]+))(?::([0-9]{1,5}))?", authority.lower(), re.ASCII)
    if found is None or int(found[3] or 0) > 65_535:
        return None
    if found[1] is None:
        return found[2] if all(found[2].split(".")) else None
    address = _address_of(found[1])
    return str(address) if address is not None else None


def _address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An IP address; one of IPv4 that is written as IPv6 is the same place (RFC 4291, section 2.5.5.2)."""
    import ipaddress

    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped) or address


def is_loopback(bind: str) -> bool:
    """Whether only this machine reaches that address: a host without a port, an IPv6 address in brackets or without.

    .. versionadded:: 0.1
    """
    address = _address_of(bind[1:-1] if bind[:1] + bind[-1:] == "[]" else bind)
    return address.is_loopback if address is not None else bind.lower() == "localhost"


def require_credential(bind: str, *, asks_for_credential: bool, hint: str) -> None:
    """Require that other machines do not reach the tools without a credential.

    Raises:
        ConfigError: the address is not one of loopback, and no credential is asked for.

    .. versionadded:: 0.1
    """
    if not is_loopback(bind) and not asks_for_credential:
        raise ConfigError(
            f"--host {bind[:60]} would let every machine that reaches it use the tools, without a credential",
            hint=f"{hint}, or serve on 127.0.0.1",
        )


class HostCheck:
    """Which values of Host and Origin an HTTP server serves.

    Args:
        bind: the address that it is bound to.
        allowed_hosts: values of Host that are served beside the address's own; `NAME:*` stands for any port.
        allowed_origins: values of Origin, in the same way.

    .. versionadded:: 0.1
    """

    def __init__(self, bind: str, *, allowed_hosts: Sequence[str], allowed_origins: Sequence[str]) -> None:
        own = "localhost" if is_loopback(bind) else host_of(bind) or bind.lower()
        self._hosts = (own, *(one.lower() for one in allowed_hosts))
        self._origins = tuple(allowed_origins)
        self._known: dict[tuple[bytes, bytes | None], int] = {}

    def judge(self, headers: Iterable[tuple[bytes, bytes]]) -> int:
        """The status to refuse a request with: 421 for its Host, 403 for its Origin or for a page of another site that
        says none; 0: it is served."""
        host = origin = site = dest = None
        hosts = origins = 0
        for name, value in headers:
            if name == b"host":
                host, hosts = value, hosts + 1
            elif name == b"origin":
                origin, origins = value, origins + 1
            elif name == b"sec-fetch-site":
                site = value
            elif name == b"sec-fetch-dest":
                dest = value
        if site == b"cross-site" and origin is None and dest != b"document":
            return 403
        if host is None or hosts > 1 or origins > 1:
            return 421 if hosts != 1 else 403
        known = self._known.get((host, origin))
        if known is None:
            known = self._status_of(host.decode("latin-1"), None if origin is None else origin.decode("latin-1"))
            if len(self._known) < MAX_REMEMBERED:
                self._known[host, origin] = known
        return known

    def _status_of(self, host: str, origin: str | None) -> int:
        if not self._is_known(host):
            return 421
        if not origin or origin in self._origins:
            return 0
        scheme, separator, where = origin.partition("://")
        if not separator or scheme not in ("http", "https"):
            return 403
        if any(_matches(origin, one) for one in self._origins):
            return 0
        return 0 if is_loopback(host_of(host) or "") and is_loopback(host_of(where) or "") else 403

    def _is_known(self, host: str) -> bool:
        host, name = host.lower(), host_of(host)
        if name is None:
            return False
        return any(one in (host, name) or _matches(host, one) for one in self._hosts) or _address_of(name) is not None


def _matches(value: str, pattern: str) -> bool:
    """Whether a Host or an Origin is that of the pattern, whose `:*` stands for any port."""
    return pattern.endswith(":*") and value.startswith(pattern[:-1]) and value[len(pattern) - 1 :].isdigit()


def bound_socket(bind: str, port: int) -> socket.socket:
    """A TCP socket that listens at the address.

    Raises:
        ConfigError: it cannot be, and why.

    .. versionadded:: 0.1
    """
    import errno
    import socket

    hints = {
        errno.EADDRINUSE: "choose another --port, or end what listens there",
        errno.EACCES: "choose a --port from 1024 on, or have a proxy pass the lower one on",
        errno.EADDRNOTAVAIL: "give a --host that is an address of this machine",
    }
    where = f"{bind[:60]}:{port}"
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            bind.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, proto)
    except (OSError, UnicodeError, OverflowError) as problem:
        raise ConfigError(
            f"{where} is not an address to serve on", hint="give a --host that is an address or a name of this machine"
        ) from problem
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # a client that does not read: hypercorn would wait for it for ever
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * UNREAD_S))
        bound.bind(address)
        bound.listen(BACKLOG)  # here: where another one is bound there, only this says so
    except OSError as problem:
        bound.close()
        hint = hints.get(problem.errno or 0, "choose another --host or --port")
        raise ConfigError(f"cannot serve on {where}: {problem.strerror}", hint=hint) from problem
    return bound


def tools_of(board: Board) -> str:
    """How many tools the configuration's own profile sees, in words; that of a token may be another.

    .. versionadded:: 0.1
    """
    seen = board.visible_tools().offered.tools
    return "1 tool" if len(seen) == 1 else f"{len(seen)} tools"


def url_of(scheme: str, host: str, port: int) -> str:
    """Where something is served, without a path; an address of IPv6 stands in brackets (RFC 3986, section 3.2.2).

    .. versionadded:: 0.1
    """
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def tls_of(cert: str | None, key: str | None, *, section: str) -> ssl.SSLContext | None:
    """What covers the connections of a server; None: neither file is named.

    Args:
        cert: the file of the certificate, and of those between it and the authority (PEM).
        key: the file of its private key (PEM), which asks for no password; None: it is in `cert`.
        section: of the configuration, for what is said of a bad one: `plugins.inspect`.

    Raises:
        ConfigError: they cannot be read, are not in PEM, or do not belong together.

    .. versionadded:: 0.1
    """
    import ssl

    if cert is None:
        if key is None:
            return None
        raise ConfigError(f"[{section}] has tls_key without tls_cert", hint="name the certificate as tls_cert")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.minimum_version = ssl.TLSVersion.TLSv1_2
    tls.set_alpn_protocols(["http/1.1"])
    asked: list[bool] = []

    def no_password() -> str:  # without it OpenSSL asks at the terminal
        asked.append(True)
        return ""

    try:
        tls.load_cert_chain(cert, key, password=no_password)
    except OSError as problem:  # of files, and of what is in them
        words = "they are not a certificate and a key in PEM" if isinstance(problem, ssl.SSLError) else problem.strerror
        if getattr(problem, "reason", None) == "KEY_VALUES_MISMATCH":
            words = "the key is not that of the certificate"
        raise ConfigError(
            f"tls_cert and tls_key of [{section}] cannot be used: {'the key has a password' if asked else words}",
            hint="name a certificate and its private key without a password, both PEM, that this user may read",
        ) from problem
    return tls


async def at_signals(
    numbers: tuple[signal.Signals, ...], act: Callable[[int], object], task_status: trio.TaskStatus[None]
) -> None:
    """Do `act` at each of these signals, until cancelled.

    .. versionadded:: 0.1
    """
    import trio

    with trio.open_signal_receiver(*numbers) as signals:
        task_status.started()
        async for number in signals:
            act(number)


async def finish_calls(
    stop: Callable[[float], Awaitable[int]],
    limit_s: float,
    hurry: trio.Event,
    cut: Callable[[], object],
    log: logging.Logger,
) -> None:
    """Let the calls in flight finish, up to the limit or until there is hurry, and say how many were cut off.

    Args:
        stop: `await stop(limit_s)` begins no more calls, waits for those in flight, and gives how many were cut off.
        limit_s: how long they may take, in seconds.
        hurry: nobody wants to wait any more.
        cut: the limit of `stop` is over now.
        log: of the server.

    .. versionadded:: 0.1
    """
    import trio

    async def press() -> None:
        await hurry.wait()
        cut()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(press)
        left = await stop(limit_s)
        nursery.cancel_scope.cancel()
    if left:
        why = "at once, as was asked for" if hurry.is_set() else f"after {limit_s:g} s"
        log.warning("%d calls were not done and were cut off %s", left, why)


async def serve_until_signal(serve: Callable[..., Awaitable[None]], tell: Callable[[str], None]) -> None:
    """Serve until SIGTERM, Ctrl-C or the end of its terminal, which end it in order: what is in flight is finished, and
    nothing new begun. trio would raise Ctrl-C in whatever task runs, and take the calls of others along.

    Args:
        serve: `await serve(hurry=Event, task_status=...)` reports its URL as started and serves until cancelled; once
            `hurry` is set, which the second signal does, it cuts off what is still in flight.
        tell: told the URL.

    Raises:
        KeyboardInterrupt: it was Ctrl-C.

    .. versionadded:: 0.1
    """
    import signal
    from functools import partial

    import trio

    from pegboard.cli import Presses, ending_signals

    interrupted = False
    hurry, presses = trio.Event(), Presses()

    def end(number: int) -> None:
        nonlocal interrupted
        interrupted = interrupted or number == signal.SIGINT
        if presses.again(number):
            hurry.set()
        serving.cancel_scope.cancel()

    async with trio.open_nursery() as listening:
        async with trio.open_nursery() as serving:
            url = await serving.start(partial(serve, hurry=hurry))
            await listening.start(at_signals, ending_signals(), end)
            tell(url)
        listening.cancel_scope.cancel()
    if interrupted:
        raise KeyboardInterrupt
