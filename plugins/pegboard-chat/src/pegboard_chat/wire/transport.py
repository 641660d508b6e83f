"""One HTTP client for requests to models: retries, deadlines, bounds, and an answer that comes as events or as JSON.

What is sent again, and what is not: a connection that never stood, and a refusal that says that nothing was done
(`faults.REPEATABLE`), may be tried anew, a few times, within the request's deadline. A request that was sent and lost
its answer is not: it may have been carried out, and paid for.

Between the socket and whoever iterates nothing waits: each piece that arrives is turned into the events that it ends.
Leaving a stream, by its end, early or by cancellation, closes its connection unless the answer was read to its end.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import random
from collections import deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, Retry
from pegboard.clients import causes_of, masked_http_logs
from pegboard_chat.contract import ModelError
from pegboard_chat.wire import faults
from pegboard_chat.wire.keys import LOOPBACK, MASKED, MIN_SECRET, Headers, check_address, check_headers
from pegboard_chat.wire.sse import MAX_EVENT_BYTES, ServerEvent, SseReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from typing import Self

    import httpx2

    from pegboard_chat.wire.faults import Place

REQUEST_TIMEOUT_S: ContextVar[float] = ContextVar("REQUEST_TIMEOUT_S", default=300.0)
"""What `open_transport` takes where nobody says otherwise; `open_model` sets it from `[plugins.chat] timeout_s`."""
CONNECT_S = 10.0
IDLE_S = 180.0
"""Between two pieces of an answer that has begun; before its first only the whole deadline counts: models think."""
TRIES = 3
MAX_WAIT_S = 60.0
"""What a provider may ask to wait is waited up to here; beyond it the caller is told."""
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 8.0
MAX_ERROR_BYTES = 64 * 1024
ERROR_S = 5.0
"""How long the body of a refusal may take."""
CLOSE_S = 1.0
LINGER_S = 2.0
"""How long what may follow on a whole answer, the counts of its tokens, is waited for: the connection may stay open."""
REST_S = 0.05
"""How long the rest of an answer that is over may take, so that its connection can be used again."""

MAX_LOOKS = 16
"""How often a body that has not ended is looked at to see whether it is whole."""
UNPACKED_AT_ONCE = 1 << 20
"""Of an answer that is packed so much is unpacked at a time, in bytes: a megabyte may hold a gigabyte."""
MAX_BUFFERED = 50_000
"""Pieces that may lie between the socket and us: more than the smallest chunks that fit into one read."""

KEEP_ALIVE_S = 4.0
"""Many servers close a connection that was idle for 5 s: a request must not meet that on its way."""


log = logging.getLogger("pegboard.chat.wire")


@attrs.frozen
class Limits:
    """What one transport allows.

    Args:
        timeout_s: from the request to the end of its answer, retries included.
        idle_s: between two pieces of an answer.
        connect_s: for a connection to stand.
        tries: how often a request is sent at most.
        max_wait_s: how long a wait that a provider asks for may be.
        max_bytes: of one answer, unpacked.
        max_event_bytes: of one event.

    .. versionadded:: 0.1
    """

    timeout_s: float = 300.0
    idle_s: float = IDLE_S
    connect_s: float = CONNECT_S
    tries: int = TRIES
    max_wait_s: float = MAX_WAIT_S
    max_bytes: int = faults.MAX_ANSWER_BYTES
    max_event_bytes: int = MAX_EVENT_BYTES


@contextlib.asynccontextmanager
async def open_transport(
    *,
    timeout_s: float | None = None,
    idle_s: float = IDLE_S,
    connect_s: float = CONNECT_S,
    tries: int = TRIES,
    max_wait_s: float = MAX_WAIT_S,
    max_bytes: int = faults.MAX_ANSWER_BYTES,
    max_event_bytes: int = MAX_EVENT_BYTES,
    jitter: Callable[[], float] = random.random,
    http: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[Transport]:
    """A client for as long as the block lasts; proxies and certificates are those of the environment.

    Args:
        timeout_s: see `Limits`, as all the others; None: what `[plugins.chat] timeout_s` says.
        jitter: a number from 0 to 1, for the waits between tries.
        http: what carries the requests instead of sockets, for tests.

    .. versionadded:: 0.1
    """
    import httpx2  # noqa: F401 - a fifth of a second, which is not part of the first request

    timeout = REQUEST_TIMEOUT_S.get() if timeout_s is None else timeout_s
    limits = Limits(timeout, idle_s, connect_s, tries, max_wait_s, max_bytes, max_event_bytes)
    secrets: set[str] = set()
    with masked_http_logs(lambda text: _hidden(text, secrets)):
        transport = Transport(limits, jitter, http, secrets)
        try:
            yield transport
        finally:
            await transport.aclose()


def _make_client(limits: Limits, http: httpx2.AsyncBaseTransport | None, place: Place) -> httpx2.AsyncClient:
    import httpx2

    try:
        return httpx2.AsyncClient(
            transport=http,
            follow_redirects=False,  # a key goes nowhere but where it was meant to go
            timeout=httpx2.Timeout(None, connect=limits.connect_s),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=10, keepalive_expiry=KEEP_ALIVE_S),
            mounts={f"all://{f'[{host}]' if ':' in host else host}": None for host in LOOPBACK},
        )
    except ImportError:
        why = "a SOCKS proxy, which needs another package: pip install 'httpx2[socks]'"
    except (ValueError, httpx2.InvalidURL):
        why = "a proxy whose address cannot be read; look at HTTP_PROXY, HTTPS_PROXY and ALL_PROXY"
    except OSError:
        why = "certificates that cannot be read; look at SSL_CERT_FILE and SSL_CERT_DIR"
    raise place.fault(
        ErrorCode.UPSTREAM_ERROR,
        "no_network",
        f"cannot be reached: the environment names {why}",
        retry=Retry.CHANGED.value,
    )


class Transport:
    """Sends requests to providers. Made by `open_transport`; as many requests at once as anybody likes.

    .. versionadded:: 0.1
    """

    def __init__(
        self,
        limits: Limits,
        jitter: Callable[[], float],
        http: httpx2.AsyncBaseTransport | None,
        secrets: set[str],
    ) -> None:
        self._client: httpx2.AsyncClient | None = None  # made by the first request, whose provider an error names
        self._jitter = jitter
        self._http = http
        self._secrets = secrets
        self.limits = limits

    async def aclose(self) -> None:
        """Close every connection; `open_transport` does it."""
        if self._client is not None:
            await self._client.aclose()

    async def post(
        self,
        url: str,
        body: Any,
        place: Place,
        *,
        timeout_s: float | None = None,
        read: Callable[[Any], Any] = lambda answer: answer,
    ) -> Any:
        """Send JSON, get JSON.

        Args:
            url: where to.
            body: JSON.
            place: whose headers go along, and whom errors name.
            timeout_s: for all of it; None: the transport's own.
            read: what is made of it; a `ModelError` that it raises names the status of the answer.

        Raises:
            ModelError: anything but an answer.
        """
        async with self._open("POST", url, body, place, timeout_s, accept="application/json") as answer:
            return read(await answer.json())

    async def get(self, url: str, place: Place, *, timeout_s: float | None = None, tries: int | None = None) -> Any:
        """Get JSON; `tries` where others than the transport's own are wanted.

        Raises:
            ModelError: anything but an answer.
        """
        async with self._open("GET", url, None, place, timeout_s, accept="application/json", tries=tries) as answer:
            return await answer.json()

    @contextlib.asynccontextmanager
    async def stream(
        self, url: str, body: Any, place: Place, *, timeout_s: float | None = None
    ) -> AsyncIterator[Answer]:
        """Send JSON, get an answer whose events can be iterated; where the server does not stream, `json()` reads it.

        Raises (on entry, and while iterating):
            ModelError: anything but an answer.
        """
        accept = "text/event-stream"
        async with self._open("POST", url, body, place, timeout_s, accept=accept) as answer:
            yield answer

    @contextlib.asynccontextmanager
    async def _open(
        self,
        method: str,
        url: str,
        body: Any,
        place: Place,
        timeout_s: float | None,
        *,
        accept: str,
        tries: int | None = None,
    ) -> AsyncIterator[Answer]:
        import trio

        check_address(place.provider, url, has_key=place.key is not None)
        check_headers(place.provider, place.headers, place.key_variable)
        self._secrets.update(secret for secret in place.hidden if len(secret) >= MIN_SECRET)
        if self._client is None:
            self._client = _make_client(self.limits, self._http, place)
        deadline = trio.current_time() + (self.limits.timeout_s if timeout_s is None else timeout_s)
        request = _Request(self._client, method, url, _encode(body, place), place, accept)
        answer = await self._send(request, deadline, self.limits.tries if tries is None else tries)
        try:
            if accept == "text/event-stream":
                await answer.look()
            yield answer
        except ModelError as problem:
            if problem.details.get("provider") == place.provider:
                problem.details.setdefault("status", answer.status)
            raise
        finally:
            await answer.close()

    async def _send(self, request: _Request, deadline: float, tries: int) -> Answer:
        import trio

        for attempt in range(1, tries + 1):
            got = await self._try(request, deadline)
            if isinstance(got, Answer):
                return got
            wait_s = self._wait_s(got, attempt)
            if attempt == tries or wait_s is None or trio.current_time() + wait_s >= deadline:
                raise got.error
            log.debug("%s: try %d again in %.1f s: %s", request.place.provider, attempt, wait_s, got.error.message)
            await trio.sleep(wait_s)
        raise AssertionError("tries is at least 1")

    def _wait_s(self, refusal: _Refusal, attempt: int) -> float | None:
        """How long to wait before the next try; None: there is none."""
        if not refusal.may_repeat:
            return None
        backoff_s = min(FIRST_WAIT_S * 2.0 ** (attempt - 1), LONGEST_WAIT_S)
        if refusal.after_s is None:
            return backoff_s * (1 - self._jitter() / 2)
        # Never earlier than the provider said, and not everybody at the same moment.
        return refusal.after_s + backoff_s * self._jitter() / 4 if refusal.after_s <= self.limits.max_wait_s else None

    async def _try(self, request: _Request, deadline: float) -> Answer | _Refusal:
        """Send it once. What a library raised stays in here: it holds the request, and with it the key."""
        import httpx2
        import trio

        place = request.place
        response: httpx2.Response | None = None
        refusal: _Refusal | None = None
        with trio.move_on_at(deadline):
            try:
                response = await request.send()
            except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as problem:
                refusal = _refusal_of(problem, place, request.host)
        if refusal is not None:
            return refusal
        if response is None:
            return _Refusal(_timeout(place, "no answer in time"))
        answer = Answer(response, place, self.limits, deadline)
        if response.is_success:
            return answer
        text = await answer.error_text()
        if response.has_redirect_location:
            text = _address_of(response.headers["location"])
        error = place.error(response.status_code, text, response.headers)
        return _Refusal(
            error,
            may_repeat=faults.may_repeat(response.status_code, response.headers, error),
            after_s=faults.delay_of(text, response.headers),
        )


@attrs.frozen
class _Refusal:
    error: ModelError
    may_repeat: bool = False
    after_s: float | None = None


class _Request:
    """What is sent, as often as it has to be."""

    def __init__(
        self, client: httpx2.AsyncClient, method: str, url: str, content: bytes | None, place: Place, accept: str
    ) -> None:
        from urllib.parse import urlsplit

        self._client = client
        self._method = method
        self._url = url
        self._content = content
        self._accept = accept
        self.place = place
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self._is_plain = parts.scheme.lower() == "http"

    async def send(self) -> httpx2.Response:
        # Compressed events would lie in the server's compressor until a block of them is full.
        encoding = "identity" if self._accept == "text/event-stream" else "gzip, deflate"
        headers = Headers({"accept": self._accept, "accept-encoding": encoding, "user-agent": _user_agent()})
        if self._is_plain:
            # Such a connection costs little to open, and llama.cpp closes one behind a streamed answer although it says
            # that it would not: the next request would be lost on it.
            headers["connection"] = "close"
        if self._content is not None:
            headers["content-type"] = "application/json"
        headers.update(self.place.headers)
        extensions = {} if self._is_plain else {"trace": _Handshake().note}
        request = self._client.build_request(
            self._method, self._url, content=self._content, headers=headers, extensions=extensions
        )
        return await self._client.send(request, stream=True)


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
    """The answer to one request: its events, as they come, or its JSON.

    Attributes:
        status: of HTTP, from 200 to 299.
        streamed: whether it comes as events.

    .. versionadded:: 0.1
    """

    def __init__(self, response: httpx2.Response, place: Place, limits: Limits, deadline: float) -> None:
        self._response = response
        # Raw: a generator of httpx2 that fails to unpack leaves those below it to the garbage collector. An answer that
        # was there at once, of a transport without sockets, is unpacked already.
        is_whole = response.is_stream_consumed
        self._pieces = response.aiter_bytes() if is_whole else response.aiter_raw()
        self._packed = None if is_whole else _Packed.of(response.headers.get("content-encoding", ""))
        self._place = place
        self._limits = limits
        self._deadline = deadline
        self._first: bytes | None = None
        self._count = 0
        self._has_begun = False
        self._reader = SseReader(place.provider, max_bytes=limits.max_event_bytes)
        self._events: deque[ServerEvent] = deque()
        self._ended = False
        self._is_over = False
        self.status = response.status_code
        self.streamed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ServerEvent:
        while not self._events:
            if self._ended:
                raise StopAsyncIteration
            piece = await self._piece()
            self._events.extend(self._reader.close() if piece is None else self._reader.feed(piece))
        return self._events.popleft()

    def finish(self) -> None:
        """Whoever reads the events knows that the last one was there: the rest is read over, if it comes at once."""
        self._is_over = True

    async def look(self) -> None:
        """Find out whether it is streamed: its media type says so, or, where that says nothing, its first byte."""
        media = self._response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media == "text/event-stream":
            self.streamed = True
        elif "json" not in media:
            first: bytes | None = b""
            while first is not None and not first.strip():  # blanks mean nothing, to JSON and to events
                first = await self._piece()
            self._first = first = first or b""
            self.streamed = first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(
                (b"data:", b"event:", b":", b"id:", b"retry:")
            )

    async def json(self) -> Any:
        """All of it, as one JSON value; the connection may stay open behind it, or break.

        Raises:
            ModelError: it is not valid, too long, or ended before its end.
        """
        text = bytearray()
        looks = 0
        problem: ModelError | None = None
        while problem is None:
            piece: bytes | None = None
            try:
                piece = await self._piece()
            except ModelError as raised:
                problem = raised
            text += piece or b""
            if piece is None or (looks < MAX_LOOKS and piece.rstrip().endswith((b"}", b"]"))):
                looks += 1
                try:
                    value = faults.read_json(self._place.provider, bytes(text), secrets=self._place.hidden)
                except ModelError as raised:
                    if piece is None:
                        problem = problem or raised
                else:
                    self.finish()
                    return value
        raise problem  # outside of what was caught: it is nobody's cause or context

    async def error_text(self) -> str:
        """The beginning of the body of a refusal, as far as it comes; the connection is given back."""
        import trio

        text = bytearray()
        with trio.move_on_at(min(self._deadline, trio.current_time() + ERROR_S)):
            with contextlib.suppress(ModelError):
                while len(text) < MAX_ERROR_BYTES and (piece := await self._piece()) is not None:
                    text += piece
        await self.close()
        return text[:MAX_ERROR_BYTES].decode("utf-8", "replace")

    async def close(self) -> None:
        """Give the connection back: to the pool where the answer was read to its end, else to the system."""
        import httpx2
        import trio

        try:
            if self._is_over and not self._ended:
                with trio.move_on_after(REST_S), contextlib.suppress(ModelError):
                    while await self._piece() is not None:
                        pass
        finally:
            with trio.move_on_after(CLOSE_S, shield=True), contextlib.suppress(httpx2.HTTPError, httpx2.StreamError):
                # A generator of httpx2 that is closed in the middle leaves those below it to the garbage collector;
                # one that is cancelled while it waits ends them all, and closes the connection.
                with trio.CancelScope() as scope:
                    scope.cancel()
                    for _ in range(MAX_BUFFERED):
                        if await anext(self._pieces, None) is None:
                            break
                await self._pieces.aclose()
                await self._response.aclose()

    async def _piece(self) -> bytes | None:
        """The next bytes as soon as they are there, unpacked; None: there are no more."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        piece: bytes | None = b"" if self._packed is None else self._unpacked()
        while not piece:
            piece = await self._received()
            if piece is None:
                return None
            if self._packed is not None:
                self._packed.add(piece)
                piece = self._unpacked()
        self._count += len(piece)
        if self._count > self._limits.max_bytes:
            self._ended = True
            raise self._place.fault(
                ErrorCode.UPSTREAM_ERROR,
                "refused",
                f"sent an answer of more than {self._limits.max_bytes:,} bytes; ask for less at once",
            )
        return piece

    def _unpacked(self) -> bytes:
        """What can be unpacked of what has come, a bounded part at a time."""
        import zlib

        assert self._packed is not None
        try:
            return self._packed.take()
        except zlib.error:
            self._ended = True
        raise self._place.fault(
            ErrorCode.UPSTREAM_ERROR, "no_json", "sent an answer that cannot be unpacked; ask again"
        )

    async def _received(self) -> bytes | None:
        """The next bytes as they were sent."""
        import httpx2
        import trio

        if self._ended:
            return None
        piece: bytes | None = None
        error: ModelError | None = None
        idle_at = trio.current_time() + self._limits.idle_s if self._has_begun else math.inf
        with trio.move_on_at(min(idle_at, self._deadline)) as scope:
            try:
                piece = await anext(self._pieces, None)
            except (httpx2.HTTPError, httpx2.StreamError):
                error = faults.half_answer(self._place.provider)
        if scope.cancelled_caught:
            is_idle = idle_at < self._deadline
            error = _timeout(
                self._place,
                f"nothing more came for {self._limits.idle_s:g} s" if is_idle else "the answer did not end in time",
            )
        elif piece is None and error is None and self._packed is not None and not self._packed.is_whole:
            error = faults.half_answer(self._place.provider)
        self._has_begun = True
        self._ended = piece is None
        if error is not None:
            self._ended = True
            raise error
        return piece


class _Packed:
    """What was packed as gzip or deflate (RFC 9110, section 8.4.1), taken apart as it comes.

    Attributes:
        is_whole: whether the end was there, or nothing came at all.
    """

    def __init__(self) -> None:
        import zlib

        self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, as it begins
        self._waiting = b""
        self._begun = False

    @classmethod
    def of(cls, encoding: str) -> _Packed | None:
        """What unpacks an encoding; None: there is nothing to unpack, or nobody asked for this one."""
        return cls() if encoding.strip().lower() in ("gzip", "x-gzip", "deflate") else None

    @property
    def is_whole(self) -> bool:
        return self._inflate.eof or not self._begun

    def add(self, data: bytes) -> None:
        self._waiting += data

    def take(self) -> bytes:
        """The next part, of at most `UNPACKED_AT_ONCE` bytes; empty: more has to come.

        Raises:
            zlib.error: it is not packed so.
        """
        import zlib

        if not self._waiting or self._inflate.eof:
            return b""
        try:
            part = self._inflate.decompress(self._waiting, UNPACKED_AT_ONCE)
        except zlib.error:
            if self._begun:
                raise
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)  # deflate without a head, as some servers send it
            part = self._inflate.decompress(self._waiting, UNPACKED_AT_ONCE)
        self._begun = True
        self._waiting = self._inflate.unconsumed_tail
        return part


def _encode(body: Any, place: Place) -> bytes | None:
    if body is None:
        return None
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError) as problem:
        why = type(problem).__name__
    raise place.fault(
        ErrorCode.INVALID_INPUT,
        "refused",
        f"cannot be sent this conversation: it holds what JSON cannot say ({why})",
    )


def _timeout(place: Place, what: str) -> ModelError:
    to_do = place.advice.get("timeout", "ask again, or raise timeout_s under [plugins.chat]")
    return place.fault(ErrorCode.TIMEOUT, "timeout", f"took too long: {what}; {to_do}")


def _refusal_of(problem: Exception, place: Place, host: str) -> _Refusal:
    """What came instead of an answer. Only a connection that never stood is tried again."""
    import httpx2

    if isinstance(problem, (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError, httpx2.PoolTimeout)):
        why, to_do, may_repeat = _why_no_connection(problem, host)
        to_do = place.advice.get("no_network", to_do)
        error = place.fault(
            ErrorCode.UPSTREAM_ERROR,
            "no_network",
            f"cannot be reached: {why}; {to_do}",
            retry=Retry.SAME.value,
        )
        return _Refusal(error, may_repeat)
    if isinstance(problem, (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, ValueError)):
        return _Refusal(
            place.fault(
                ErrorCode.INVALID_INPUT,
                "refused",
                "cannot be asked: its address or its key is nothing that HTTP can carry; check both",
            )
        )
    return _Refusal(
        place.fault(
            ErrorCode.UPSTREAM_ERROR,
            "half_answer",
            f"took the request, and the connection to {host} broke before an answer came; it was not sent again, since"
            " it may have been carried out: ask again",
        )
    )


def _why_no_connection(problem: BaseException, host: str) -> tuple[str, str, bool]:
    """What is wrong, what to do about it, and whether it may pass by itself."""
    import socket
    import ssl

    import httpx2

    causes = list(causes_of(problem))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f"the certificate of {host} is not trusted ({str(cause.verify_message)[:100]})",
                "check the base_url, or name your own authority in SSL_CERT_FILE",
                False,
            )
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return f"TLS with {host} failed", "check whether the base_url should begin with http://", False
        if isinstance(cause, socket.gaierror):
            final = cause.errno == socket.EAI_NONAME
            return f"the name {host} is not known", "check the base_url and the network", not final
        if isinstance(cause, ConnectionRefusedError):
            return f"{host} refuses the connection", "start the server, or check the base_url", host not in LOOPBACK
    if isinstance(problem, httpx2.ProxyError):
        return "the proxy refused", "look at HTTPS_PROXY, HTTP_PROXY and NO_PROXY", False
    if isinstance(problem, httpx2.TimeoutException):
        return f"{host} does not answer", "check the base_url, the network and the proxy", True
    return f"no connection to {host}", "check the base_url, the network and the proxy", True


def _address_of(location: str) -> str:
    """Where a redirect leads, without what may be secret in it."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(location)
        return f"{parts.scheme}://{parts.hostname}{parts.path}" if parts.hostname else parts.path
    except ValueError:
        return ""


def _user_agent() -> str:
    from pegboard_chat import __version__

    return f"pegboard-chat/{__version__}"


def _hidden(text: str, secrets: set[str]) -> str:
    """A text without the very keys: a server may send them back in a header."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASKED)
    return text
