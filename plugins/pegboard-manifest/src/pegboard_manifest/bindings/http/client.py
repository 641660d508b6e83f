"""One HTTP client for the whole host: retries, redirects, bounds, and what was lost.

- A request is sent again only where the tool is idempotent: when it failed before an answer was whole, or the answer
  was 429, 502, 503 or 504; a few times, within the call's deadline. A wait that a server asks for is waited up to
  `MAX_WAIT_S`.
- A request that is not idempotent and whose answer was lost is OUTCOME_UNKNOWN: it may have been carried out.
- An answer is bounded as it is sent and as it is unpacked; the call's deadline, a cancel scope around all of this, ends
  one that drips. Cancellation closes the connection at once.
- Cookies of answers are kept nowhere. Proxies are those of the environment, never for this very machine; certificates
  are verified. No redirect is followed by httpx2 itself.
"""

from __future__ import annotations

import contextlib
import logging
import random
from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from pegboard import ErrorCode, Retry, ToolError
from pegboard.clients import causes_of, masked_http_logs
from pegboard_manifest.bindings.http.answer import (
    MAX_BYTES,
    MAX_READ,
    NOTHING_KNOWN,
    SAFE_METHODS,
    Reading,
    broken_answer,
    retry_after_of,
)
from pegboard_manifest.bindings.http.auth import with_credentials
from pegboard_manifest.bindings.http.redirects import MAX_REDIRECTS, redirected
from pegboard_manifest.bindings.http.statuses import REPEATABLE, code_of
from pegboard_manifest.bindings.http.unpack import CODINGS, PackedError, Unpacker
from pegboard_manifest.hygiene import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    import httpx2

    from pegboard_manifest.bindings.http.auth import Credentials
    from pegboard_manifest.bindings.http.base import Base
    from pegboard_manifest.bindings.http.request import Request

CONNECT_S = 10.0
RETRIES = 2
MAX_WAIT_S = 30.0
"""What a server may ask to wait is waited up to here; beyond it the caller is told."""
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 4.0
ERROR_S = 5.0
"""How long the body of an error or a redirect may take."""
CLOSE_S = 1.0
KEEP_ALIVE_S = 4.0
"""Many servers close a connection that was idle for 5 s: a request must not meet that on its way."""
MAX_BUFFERED = 50_000
"""Pieces that may lie between the socket and us: more than the smallest chunks that fit into one read."""
PIECES_AT_ONCE = 64
"""After so many other tasks may run: what came in one read may be ten thousand chunks of one byte."""

_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})
"""Methods whose requests say that they have no body (RFC 9110, section 8.6)."""

log = logging.getLogger("pegboard.manifest.http")


@attrs.frozen
class Received:
    """A whole answer, bounded and unpacked.

    Args:
        status: of HTTP.
        headers: names in lower case; the last of several wins.
        body: unpacked.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=lambda body: f"<{len(body)} bytes>")


@attrs.frozen(kw_only=True)
class Exchange:
    """One call, as the client has to carry it out.

    Args:
        request: without credentials.
        base: whose origin every request has.
        credentials: what goes along.
        reading: what is known for errors.
        statuses: the binding's own.
        max_bytes: of the answer.
        tries: how often it is sent at most; 1 where it is not idempotent.
        follows: whether redirects on the same origin are followed.
        deadline: by the loop's clock, for the waits between tries.
    """

    request: Request
    base: Base
    credentials: Credentials
    reading: Reading = NOTHING_KNOWN
    statuses: Mapping[str, str] | None = None
    max_bytes: int = MAX_BYTES
    tries: int = 1
    follows: bool = False
    deadline: float = float("inf")


@contextlib.asynccontextmanager
async def open_client(
    *, jitter: Callable[[], float] = random.random, http: httpx2.AsyncBaseTransport | None = None
) -> AsyncIterator[HttpClient]:
    """The client for as long as the host lives; nothing is imported or opened before its first request.

    Args:
        jitter: a number from 0 to 1, for the waits between tries.
        http: what carries the requests instead of sockets, for tests.

    .. versionadded:: 0.1
    """
    secrets: set[str] = set()  # in a URL, where they go into the query
    with masked_http_logs(lambda text: Reading(secrets=tuple(secrets)).hide(text)):
        client = HttpClient(jitter, http, secrets)
        try:
            yield client
        finally:
            await client.aclose()


class HttpClient:
    """Sends what http bindings ask for: the resource that `open_client` opens.

    .. versionadded:: 0.1
    """

    def __init__(self, jitter: Callable[[], float], http: httpx2.AsyncBaseTransport | None, secrets: set[str]) -> None:
        self._client: httpx2.AsyncClient | None = None
        self._jitter = jitter
        self._http = http
        self._secrets = secrets

    async def aclose(self) -> None:
        """Close every connection; `open_client` does it."""
        if self._client is not None:
            await self._client.aclose()

    async def send(self, exchange: Exchange) -> Received:
        """Send a request, again where it may be, and receive its whole answer.

        Raises:
            ToolError: no answer, half of one, or one that is too large; a status that is an error is an answer.
        """
        import trio

        if exchange.credentials:
            self._secrets.update(exchange.credentials.secrets)
        attempt = 1
        got = await self._attempt(exchange)
        while attempt < exchange.tries and (wait_s := self._wait_s(attempt, got)) is not None:
            if trio.current_time() + wait_s >= exchange.deadline:
                break
            log.debug("try %d again in %.1f s", attempt, wait_s)
            await trio.sleep(wait_s)
            attempt += 1
            got = await self._attempt(exchange)
        if isinstance(got, Received):
            return got
        if attempt > 1:
            got.error.details["tries"] = attempt
        raise got.error

    async def _attempt(self, exchange: Exchange) -> Received | _RefusedError:
        try:
            return await self._follow(exchange)
        except _RefusedError as problem:
            return problem

    def _wait_s(self, attempt: int, got: Received | _RefusedError) -> float | None:
        """How long to wait before the next try; None: there is none, or later than we wait."""
        if not (got.status in REPEATABLE if isinstance(got, Received) else got.may_repeat):
            return None
        after_s = retry_after_of(got.headers) if isinstance(got, Received) else None
        backoff_s = min(FIRST_WAIT_S * 2.0 ** (attempt - 1), LONGEST_WAIT_S)
        if after_s is None:
            return backoff_s * (1 - self._jitter() / 2)
        # Never earlier than the server said, and not everybody at the same moment.
        return after_s + backoff_s * self._jitter() / 4 if after_s <= MAX_WAIT_S else None

    async def _follow(self, exchange: Exchange) -> Received:
        """Send once, and follow redirects where that is allowed."""
        request = exchange.request
        for _ in range(MAX_REDIRECTS + 1):
            received = await self._once(exchange, request)
            if not exchange.follows:
                return received
            following = redirected(request, exchange.base, received.status, received.headers.get("location", ""))
            if following is None:
                return received
            request = following
        raise _RefusedError(
            ToolError(
                ErrorCode.UPSTREAM_ERROR,
                f"the server sent the request from place to place more than {MAX_REDIRECTS} times",
                reason="redirect",
                retry=Retry.CHANGED.value,
            )
        )

    async def _once(self, exchange: Exchange, request: Request) -> Received:
        """Send one request. What a library raised stays in here: it holds the request, and credentials with it."""
        import httpx2

        if self._client is None:
            self._client = _make_client(self._http)
        response: httpx2.Response | None = None
        refused: _RefusedError | None = None
        try:
            response = await self._client.send(_built(request, exchange), stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ValueError) as problem:
            refused = _refused(problem, exchange, request.method)
        if refused is not None or response is None:
            assert refused is not None
            raise refused
        return await _Receiver(response, exchange, request.method).receive()


class _RefusedError(Exception):
    """There is no answer; the error says so, and whether the same request may be sent again."""

    def __init__(self, error: ToolError, *, may_repeat: bool = False) -> None:
        super().__init__(error.message)
        self.error = error
        self.may_repeat = may_repeat


def _make_client(http: httpx2.AsyncBaseTransport | None) -> httpx2.AsyncClient:
    from http.cookiejar import CookieJar

    import httpx2

    class NoCookies(CookieJar):
        """Keeps none, and reads none: what a server says of cookies is not even parsed."""

        def extract_cookies(self, response: Any, request: Any) -> None:
            """Nothing."""

        def add_cookie_header(self, request: Any) -> None:
            """Nothing."""

    try:
        return httpx2.AsyncClient(
            transport=http,
            follow_redirects=False,
            timeout=None,
            cookies=NoCookies(),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEEP_ALIVE_S),
            mounts={f"all://{f'[{host}]' if ':' in host else host}": None for host in LOOPBACK}
            if http is None
            else None,
        )
    except ImportError:
        why = "a SOCKS proxy, which needs another package: pip install 'httpx2[socks]'"
    except (ValueError, httpx2.InvalidURL):
        why = "a proxy whose address cannot be read; look at HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"
    except OSError:
        why = "certificates that cannot be read; look at SSL_CERT_FILE and SSL_CERT_DIR"
    raise ToolError(
        ErrorCode.UPSTREAM_ERROR,
        f"no server can be reached: the environment names {why}",
        reason="no_network",
        executed=False,
        retry=Retry.CHANGED.value,
    )


def _built(request: Request, exchange: Exchange) -> httpx2.Request:
    """The request for httpx2; its URL is looked at as httpx2 reads it, credentials included."""
    import httpx2

    whole = with_credentials(request, exchange.credentials)
    base = exchange.base
    extensions: dict[str, Any] = {"timeout": _TIMEOUTS}
    if base.scheme == "https":
        extensions["trace"] = _Handshake().note
    # Framed here, which spares httpx2 to look for what it should add.
    headers = [("Host", base.netloc), ("User-Agent", _user_agent()), ("Accept-Encoding", CODINGS), *whole.headers]
    if whole.body is not None or whole.method in _WITH_LENGTH:
        headers.append(("Content-Length", str(len(whole.body or b""))))
    stream = httpx2.ByteStream(whole.body or b"")
    sent = httpx2.Request(whole.method, whole.url, headers=headers, stream=stream, extensions=extensions)
    url = sent.url
    target = whole.url[len(base.origin) :]
    if (url.scheme, url.host, url.port) != (base.scheme, base.host, base.port) or url.raw_path != target.encode(
        "ascii"
    ):
        raise ToolError(
            ErrorCode.INVALID_INPUT,
            "the arguments would lead to another address than the tool's own; nothing was sent",
            reason="arguments",
        )
    return sent


_TIMEOUTS = {"connect": CONNECT_S, "read": None, "write": None, "pool": None}
"""All but the connection is bounded by the call's deadline."""


def _user_agent() -> str:
    from pegboard import __version__

    return f"pegboard/{__version__}"


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


class _Receiver:
    """Reads one answer to its end, or as far as it is wanted, and gives the connection back."""

    def __init__(self, response: httpx2.Response, exchange: Exchange, method: str) -> None:
        self._response = response
        self._exchange = exchange
        self._method = method
        self._ended = False

    async def receive(self) -> Received:
        """The whole answer; of an error's body only the beginning.

        Raises:
            _RefusedError: it broke off, is too large, or is packed in a way that cannot be undone.
        """
        response = self._response
        headers = {name.decode("latin-1").lower(): _text_of(value) for name, value in response.headers.raw}
        status = response.status_code
        if code_of(status, self._exchange.statuses) is not None or status >= 300:
            return Received(status, headers, await self._beginning(headers))
        return Received(status, headers, await self._all(headers))

    async def _all(self, headers: Mapping[str, str]) -> bytes:
        limit = self._exchange.max_bytes
        body: bytes | None = None
        why = ""
        try:
            body = await self._read(headers, limit)
        except PackedError as problem:
            why = str(problem)
        if why:
            self._refuse(why)
        if body is None:
            raise _lost(
                self._exchange, self._method, "broke off in the middle of its answer", self._response.status_code
            )
        if len(body) > limit:
            self._refuse(f"sent an answer of more than {limit:,} bytes; ask for less at once")
        return body

    async def _beginning(self, headers: Mapping[str, str]) -> bytes:
        import trio

        got = bytearray()
        with trio.move_on_after(ERROR_S), contextlib.suppress(PackedError):
            await self._read(headers, MAX_READ, got)
        return bytes(got[:MAX_READ])

    def _refuse(self, why: str) -> NoReturn:
        raise _RefusedError(broken_answer(why, self._response.status_code, self._exchange.reading))

    async def _read(self, headers: Mapping[str, str], limit: int, got: bytearray | None = None) -> bytes | None:
        """At most a little more than `limit` bytes, unpacked; None: it broke off before its end."""
        import httpx2
        import trio

        response = self._response
        if response.is_stream_consumed:  # of a transport without sockets
            return response.content
        coding = headers.get("content-encoding", "").strip()
        stream: Any = response.stream
        pieces = aiter(stream)  # as it was sent: what is packed is unpacked here, within bounds
        body = bytearray() if got is None else got
        try:
            has_body = self._method != "HEAD" and response.status_code not in (204, 205, 304)
            unpacker = Unpacker(coding) if has_body and coding and coding.lower() != "identity" else None
            declared = headers.get("content-length", "")
            if unpacker is None and got is None and has_body and declared.isdecimal() and int(declared[:19]) > limit:
                return bytes(limit + 1)
            count = 0
            async for piece in pieces:
                body += piece if unpacker is None else unpacker.feed(piece, limit - len(body))
                if len(body) > limit:
                    return bytes(body)
                count += 1
                if count % PIECES_AT_ONCE == 0:
                    await trio.lowlevel.checkpoint()
            self._ended = True
            await response.aclose()
            return None if unpacker is not None and not unpacker.is_whole else bytes(body)
        except (httpx2.HTTPError, httpx2.StreamError):
            return None
        finally:
            if not self._ended:
                await self._close(pieces)

    async def _close(self, pieces: Any) -> None:
        """Give a connection back whose answer is not over: to the system."""
        import httpx2
        import trio

        with trio.move_on_after(CLOSE_S, shield=True), contextlib.suppress(httpx2.HTTPError, httpx2.StreamError):
            # Cancelled while it waits, every generator below ends, and closes what it holds.
            with trio.CancelScope() as scope:
                scope.cancel()
                for _ in range(MAX_BUFFERED):
                    if await anext(pieces, None) is None:
                        break
            await pieces.aclose()
            await self._response.aclose()


def _text_of(value: bytes) -> str:
    """A header's value: ASCII where a server keeps to the rules, else UTF-8 (in a Location), else anything."""
    if value.isascii():
        return value.decode("ascii")
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _refused(problem: Exception, exchange: Exchange, method: str) -> _RefusedError:
    """What came instead of an answer."""
    import httpx2

    if isinstance(problem, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError, httpx2.PoolTimeout)):
        why, may_repeat = _why_no_connection(problem, exchange.base.netloc)
        return _RefusedError(
            ToolError(
                ErrorCode.UPSTREAM_ERROR,
                f"the server cannot be reached: {why}",
                reason="no_network",
                executed=False,
                retry=(Retry.SAME if may_repeat else Retry.CHANGED).value,
            ),
            may_repeat=may_repeat,
        )
    if isinstance(problem, (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, ValueError)):
        return _RefusedError(
            ToolError(
                ErrorCode.INVALID_INPUT,
                "the request cannot be sent: an argument makes an address or a header that HTTP cannot carry; nothing"
                " was sent",
                reason="arguments",
            )
        )
    return _lost(exchange, method, "closed the connection before its answer was whole")


def _lost(exchange: Exchange, method: str, what: str, status: int | None = None) -> _RefusedError:
    """The request was sent, and its answer is not there: nobody knows what became of it, unless that does no harm."""
    details: dict[str, Any] = {"reason": "lost"}
    if status is not None:
        details["status"] = status
        details["executed"] = True
    if exchange.reading.is_idempotent:
        details["retry"] = Retry.SAME.value
        error = ToolError(ErrorCode.UPSTREAM_ERROR, f"the server {what}; call again", details)
        return _RefusedError(error, may_repeat=True)
    if exchange.request.method in SAFE_METHODS or status is not None:
        return _RefusedError(ToolError(ErrorCode.UPSTREAM_ERROR, f"the server {what}", details))
    return _RefusedError(
        ToolError(
            ErrorCode.OUTCOME_UNKNOWN,
            f"the server {what}; the request may have been carried out: look before calling again",
            details,
        )
    )


def _why_no_connection(problem: BaseException, host: str) -> tuple[str, bool]:
    """What is wrong and what to do about it, and whether it may pass by itself."""
    import socket
    import ssl

    import httpx2

    causes = list(causes_of(problem))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            why = str(cause.verify_message)[:100]
            return f"the certificate of {host} is not trusted ({why}); name your own authority in SSL_CERT_FILE", False
        if isinstance(cause, ssl.SSLError):
            return f"TLS with {host} failed; check whether the base URL should begin with http://", False
        if isinstance(cause, socket.gaierror):
            return f"the name {host} is not known; check the base URL", cause.errno != socket.EAI_NONAME
        if isinstance(cause, ConnectionRefusedError):
            return f"{host} refuses the connection; start the server, or check the base URL", True
    if isinstance(problem, httpx2.ProxyError):
        return "the proxy refused; look at HTTPS_PROXY, HTTP_PROXY and NO_PROXY", False
    if isinstance(problem, httpx2.TimeoutException):
        return f"{host} does not answer; check the base URL and the network", True
    return f"no connection to {host}; check the base URL and the network", True
