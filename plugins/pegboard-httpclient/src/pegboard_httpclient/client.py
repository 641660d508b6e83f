"""The client: requests are sent once, and answers come a bounded piece at a time.

- An answer is bounded as it is sent and as it is unpacked, its head by httpcore2 (100 KiB); it has a deadline, and a
  time for which nothing more may come.
- Cancellation closes the connection at once, and so does leaving an answer before its end; one that was read to its end
  gives its connection back.
- Cookies are kept nowhere. Proxies are those of the environment, never for this very machine; certificates are
  verified; httpx2 follows no redirect.
- What a library raised stays in here: it holds the request, and with it credentials.

.. versionadded:: 0.1
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
from typing import TYPE_CHECKING, Any

import httpx2
import trio

from pegboard_httpclient.addresses import LOOPBACK
from pegboard_httpclient.causes import Failure, Kind, failure_of
from pegboard_httpclient.unpack import CODINGS, PackedError, Unpacker

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from http.cookiejar import CookieJar

__all__ = ["Answer", "Client", "tls_context"]

CONNECT_S = 10.0
"""How long a connection may take to stand, TLS included, in seconds."""
KEEP_ALIVE_S = 4.0
"""Many servers close a connection that was idle for 5 s: a request must not meet that on its way."""
KEPT = 20
"""Connections that are kept for the next request."""
CLOSE_S = 1.0
"""How long closing may take, in seconds."""
MAX_BUFFERED = 50_000
"""Pieces that may lie between the socket and us: more than the smallest chunks that fit into one read."""
PIECES_AT_ONCE = 64
"""After so many other tasks may run: what came in one read may be ten thousand chunks of one byte."""

_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})
"""Methods whose requests say that they have no body (RFC 9110, section 8.6)."""
_WITHOUT_BODY = frozenset({204, 205, 304})
"""Statuses whose answers have none (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5)."""


class Client:
    """Sends requests, as many at once as anybody likes; nothing is opened before the first.

    Args:
        user_agent: who asks.
        connect_s: for a connection to stand, in seconds.
        trust_env: whether proxies and certificates that the environment names are used.
        http: what carries the requests instead of sockets, for tests.

    .. versionadded:: 0.1
    """

    def __init__(
        self,
        *,
        user_agent: str,
        connect_s: float = CONNECT_S,
        trust_env: bool = True,
        http: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._user_agent = user_agent
        # All but the connection is bounded by deadlines.
        self._timeouts = {"connect": connect_s, "read": None, "write": None, "pool": None}
        self._trust_env = trust_env
        self._http = http
        self._client: httpx2.AsyncClient | None = None

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            await self._client.aclose()

    async def send(
        self,
        method: str,
        url: str,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
        *,
        max_bytes: int,
        deadline: float = math.inf,
        idle_s: float = math.inf,
        check: Callable[[httpx2.URL], object] | None = None,
    ) -> Answer | Failure:
        """Send one request, once. An answer has to be closed.

        Args:
            method: as the wire has it.
            url: absolute.
            headers: Host, User-Agent, Accept-Encoding and Content-Length are added where they are not among them.
            body: bytes, or None where there is none.
            max_bytes: of the answer's body, unpacked.
            deadline: by the loop's clock, for the end of the answer.
            idle_s: how long nothing more may come of an answer that has begun, in seconds.
            check: looks at the URL as httpx2 reads it, before anything is sent; what it raises passes.
        """
        if self._client is None:
            made = _make_client(self._http, trust_env=self._trust_env)
            if isinstance(made, Failure):
                return made
            self._client = made
        got: httpx2.Response | Failure = Failure(Kind.LATE)
        with _until(deadline):
            try:
                request = self._built(method, url, headers, body)
                if check is not None:
                    check(request.url)
                got = await self._client.send(request, stream=True)
            except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ValueError) as problem:
                got = failure_of(problem)
        return got if isinstance(got, Failure) else Answer(got, method, max_bytes, deadline, idle_s)

    def _built(self, method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes | None) -> httpx2.Request:
        """The request, framed here: that spares httpx2 to look for what it should add."""
        there = httpx2.URL(url)
        given = list(headers)
        added = {"Host": there.netloc.decode("ascii"), "User-Agent": self._user_agent, "Accept-Encoding": CODINGS}
        if body is not None or method in _WITH_LENGTH:
            added["Content-Length"] = str(len(body or b""))
        names = {name.lower() for name, _ in given}
        framed = [(name, value) for name, value in added.items() if name.lower() not in names]
        extensions: dict[str, Any] = {"timeout": self._timeouts}
        if there.scheme == "https":
            extensions["trace"] = _Handshake().note
        stream = httpx2.ByteStream(body or b"")
        return httpx2.Request(method, there, headers=[*framed, *given], stream=stream, extensions=extensions)


def _until(deadline: float) -> AbstractContextManager[object, bool | None]:
    """A scope that ends then; none where there is no deadline, since each costs some microseconds."""
    return contextlib.nullcontext() if deadline == math.inf else trio.move_on_at(deadline)


def _make_client(http: httpx2.AsyncBaseTransport | None, *, trust_env: bool) -> httpx2.AsyncClient | Failure:
    try:
        return httpx2.AsyncClient(
            transport=http,
            verify=tls_context(trust_env=trust_env) if http is None else True,
            trust_env=trust_env,
            follow_redirects=False,  # credentials go nowhere but where they were meant to go
            timeout=None,
            cookies=_no_cookies(),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=KEPT, keepalive_expiry=KEEP_ALIVE_S),
            mounts={f"all://{f'[{host}]' if ':' in host else host}": None for host in LOOPBACK},
        )
    except ImportError:
        why = "a SOCKS proxy, which needs another package: pip install 'httpx2[socks]'"
    except (ValueError, httpx2.InvalidURL):
        why = "a proxy whose address cannot be read; look at HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"
    except OSError:
        why = "certificates that cannot be read; look at SSL_CERT_FILE and SSL_CERT_DIR"
    return Failure(Kind.ENVIRONMENT, why)


def _no_cookies() -> CookieJar:
    from http.cookiejar import CookieJar

    class NoCookies(CookieJar):
        """Keeps none, and reads none: what a server says of cookies is not even parsed."""

        def extract_cookies(self, response: Any, request: Any) -> None:
            """Nothing."""

        def add_cookie_header(self, request: Any) -> None:
            """Nothing."""

    return NoCookies()


def tls_context(*, trust_env: bool = True) -> ssl.SSLContext:
    """The TLS settings of this process: to load the authorities takes 20 ms and more.

    Raises:
        OSError: the files that SSL_CERT_FILE and SSL_CERT_DIR name cannot be read.

    .. versionadded:: 0.1
    """
    named = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")) if trust_env else (None, None)
    return _tls_context(*named, trust_env=trust_env)


@functools.lru_cache(4)
def _tls_context(file: str | None, folder: str | None, *, trust_env: bool) -> ssl.SSLContext:
    return httpx2.create_ssl_context(trust_env=trust_env)  # it reads the two variables itself


class _Handshake:
    """Closes the socket of a connection that is cancelled while TLS is agreed on: httpcore2 forgets it then."""

    def __init__(self) -> None:
        self._stream: Any = None

    async def note(self, event: str, info: Mapping[str, Any]) -> None:
        """Take a piece of news of httpcore2's `trace`."""
        if event.endswith(".connect_tcp.complete"):
            self._stream = info["return_value"]
        elif event.endswith(".start_tls.failed") and self._stream is not None:
            self._stream.get_extra_info("socket").close()


class Answer:
    """The answer to one request; whoever has it closes it.

    Attributes:
        status: of HTTP.
        headers: names in lower case; the last of several wins.

    .. versionadded:: 0.1
    """

    def __init__(self, response: httpx2.Response, method: str, max_bytes: int, deadline: float, idle_s: float) -> None:
        self.status = response.status_code
        self.headers = {name.decode("latin-1").lower(): _text_of(value) for name, value in response.headers.raw}
        self._response = response
        # As it was sent: what is packed is unpacked here, within bounds. An answer that was there at once, of a
        # transport without sockets, is unpacked already.
        is_there = response.is_stream_consumed
        self._pieces: Any = response.aiter_bytes() if is_there else aiter(response.stream)  # type: ignore[arg-type]
        self._has_body = method != "HEAD" and self.status not in _WITHOUT_BODY
        self._unpacker: Unpacker | None = None
        self._problem: Failure | None = None
        if self._has_body and not is_there:
            try:
                self._unpacker = Unpacker.of(self.headers.get("content-encoding", ""))
            except PackedError as problem:
                self._problem = Failure(Kind.PACKED, str(problem))
        self._parts: Iterator[bytes] = iter(())
        self._room: float = max_bytes
        self._deadline = deadline
        self._idle_s = idle_s
        self._count = 0
        self._has_begun = False
        self._is_over = False
        self._is_read = False  # to its end as it was sent

    async def piece(self) -> bytes | Failure | None:
        """The next bytes as soon as they are there, unpacked; None: there are no more, as after a failure."""
        if self._is_over:
            return None
        self._count += 1
        if self._count % PIECES_AT_ONCE == 0:
            await trio.lowlevel.checkpoint()
        got = self._problem or await self._next()
        self._is_over = not isinstance(got, bytes)
        return got

    async def _next(self) -> bytes | Failure | None:
        while True:
            try:
                part = next(self._parts, None)
            except PackedError as problem:
                return Failure(Kind.PACKED, str(problem))
            if part:
                self._room -= len(part)
                return part if self._room >= 0 else Failure(Kind.TOO_LONG)
            got = await self._received()
            if not isinstance(got, bytes):
                return got
            self._parts = iter((got,)) if self._unpacker is None else self._unpacker.parts(got)

    async def _received(self) -> bytes | Failure | None:
        """The next bytes as they were sent."""
        idle_at = trio.current_time() + self._idle_s if self._has_begun else math.inf
        self._has_begun = True
        with _until(min(idle_at, self._deadline)):
            try:
                got: bytes | None = await anext(self._pieces, None)
            except (httpx2.HTTPError, httpx2.StreamError):
                return Failure(Kind.LOST)
            self._is_read = got is None
            is_cut = got is None and self._unpacker is not None and not self._unpacker.is_whole
            return Failure(Kind.LOST) if is_cut else got
        return Failure(Kind.IDLE if idle_at < self._deadline else Kind.LATE)

    async def whole(self) -> bytes | Failure:
        """The whole body, unpacked."""
        declared = self.headers.get("content-length", "")
        if self._has_body and self._unpacker is None and declared.isdecimal() and int(declared[:19]) > self._room:
            return self._problem or Failure(Kind.TOO_LONG)
        body = bytearray()
        while isinstance(piece := await self.piece(), bytes):
            body += piece
        return bytes(body) if piece is None else piece

    async def beginning(self, limit: int, seconds: float) -> bytes:
        """At most so many bytes of the body, as far as they come within that time: of an error not all is needed."""
        got = bytearray()
        self._room = math.inf  # this is the bound
        with trio.move_on_after(seconds):
            while len(got) < limit and isinstance(piece := await self.piece(), bytes):
                got += piece
        return bytes(got[:limit])

    async def aclose(self) -> None:
        """Give the connection back: to the pool where the answer was read to its end, else to the system."""
        with contextlib.suppress(httpx2.HTTPError, httpx2.StreamError):
            if self._is_read:
                await self._response.aclose()
            else:
                await self._abandon()

    async def _abandon(self) -> None:
        """Close the connection of an answer that was not read to its end."""
        with trio.move_on_after(CLOSE_S, shield=True):
            # A generator of httpx2 that is closed in the middle leaves those below it to the garbage collector; one
            # that is cancelled while it waits ends them all, and closes the connection.
            with trio.CancelScope() as scope:
                scope.cancel()
                for _ in range(MAX_BUFFERED):
                    if await anext(self._pieces, None) is None:
                        break
            await self._pieces.aclose()
            await self._response.aclose()


def _text_of(value: bytes) -> str:
    """A header's value: ASCII where a server keeps to the rules, else UTF-8 (in a Location), else anything."""
    if value.isascii():
        return value.decode("ascii")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")
