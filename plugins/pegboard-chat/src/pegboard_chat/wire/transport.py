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
import random
from collections import deque
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, Retry
from pegboard.trace import carrier
from pegboard_chat.contract import ModelError
from pegboard_chat.wire import faults
from pegboard_chat.wire.keys import MASKED, MIN_SECRET, Headers, check_address, check_headers
from pegboard_chat.wire.sse import MAX_EVENT_BYTES, ServerEvent, SseReader
from pegboard_httpclient import LOOPBACK, Failure, Kind, Retries, masked_http_logs, shown_location

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Self

    import httpx2

    from pegboard_chat.wire.faults import Place
    from pegboard_httpclient import client

EVENTS = "text/event-stream"
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
LINGER_S = 2.0
"""How long what may follow on a whole answer, the counts of its tokens, is waited for: the connection may stay open."""
REST_S = 0.05
"""How long the rest of an answer that is over may take, so that its connection can be used again."""

MAX_LOOKS = 16
"""How often a body that has not ended is looked at to see whether it is whole."""


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
    timeout = REQUEST_TIMEOUT_S.get() if timeout_s is None else timeout_s
    limits = Limits(timeout, idle_s, connect_s, tries, max_wait_s, max_bytes, max_event_bytes)
    secrets: set[str] = set()
    with masked_http_logs(lambda text: _hidden(text, secrets)):
        transport = Transport(limits, jitter, http, secrets)
        try:
            yield transport
        finally:
            await transport.aclose()


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
        from pegboard_httpclient.client import Client  # a fifth of a second, which is not part of the first request

        self._client = Client(user_agent=_user_agent(), connect_s=limits.connect_s, http=http)
        self._retries = Retries(
            first_s=FIRST_WAIT_S, longest_s=LONGEST_WAIT_S, max_asked_s=limits.max_wait_s, jitter=jitter
        )
        self._secrets = secrets
        self.limits = limits

    async def aclose(self) -> None:
        """Close every connection; `open_transport` does it."""
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
        accept = EVENTS
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
        deadline = trio.current_time() + (self.limits.timeout_s if timeout_s is None else timeout_s)
        request = _Request(method, url, _encode(body, place), place, accept)
        answer = await self._send(request, deadline, self.limits.tries if tries is None else tries)
        try:
            if accept == EVENTS:
                await answer.look()
            yield answer
        except ModelError as problem:
            if problem.details.get("provider") == place.provider:
                problem.details.setdefault("status", answer.status)
            raise
        finally:
            await answer.close()

    async def _send(self, request: _Request, deadline: float, tries: int) -> Answer:
        got, _ = await self._retries.run(partial(self._try, request, deadline), _judged, tries=tries, deadline=deadline)
        if isinstance(got, Answer):
            return got
        raise got.error

    async def _try(self, request: _Request, deadline: float) -> Answer | _Refusal:
        """Send it once."""
        place = request.place
        got = await self._client.send(
            request.method,
            request.url,
            request.headers.items(),
            request.content,
            max_bytes=self.limits.max_bytes,
            deadline=deadline,
            idle_s=self.limits.idle_s,
        )
        if isinstance(got, Failure):
            return _refusal_of(got, place, request.host)
        answer = Answer(got, place, self.limits)
        if 200 <= got.status < 300:
            return answer
        text = await answer.error_text()
        if got.status // 100 == 3 and "location" in got.headers:
            text = shown_location(got.headers["location"])
        error = place.error(got.status, text, got.headers)
        return _Refusal(
            error,
            may_repeat=faults.may_repeat(got.status, got.headers, error),
            after_s=faults.delay_of(text, got.headers),
        )


@attrs.frozen
class _Refusal:
    error: ModelError
    may_repeat: bool = False
    after_s: float | None = None


def _judged(got: Answer | _Refusal) -> tuple[bool, float | None]:
    return (False, None) if isinstance(got, Answer) else (got.may_repeat, got.after_s)


class _Request:
    """What is sent, as often as it has to be."""

    def __init__(self, method: str, url: str, content: bytes | None, place: Place, accept: str) -> None:
        from urllib.parse import urlsplit

        self.method = method
        self.url = url
        self.content = content
        self.place = place
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.headers = Headers({"accept": accept})
        if accept == EVENTS:
            # Compressed events would lie in the server's compressor until a block of them is full.
            self.headers["accept-encoding"] = "identity"
        if parts.scheme.lower() == "http":
            # Such a connection costs little to open, and llama.cpp closes one behind a streamed answer although it says
            # that it would not: the next request would be lost on it.
            self.headers["connection"] = "close"
        if content is not None:
            self.headers["content-type"] = "application/json"
        self.headers.update(carrier.get() or {})  # the trace that the conversation belongs to
        self.headers.update(place.headers)


class Answer:
    """The answer to one request: its events, as they come, or its JSON.

    Attributes:
        status: of HTTP, from 200 to 299.
        streamed: whether it comes as events.

    .. versionadded:: 0.1
    """

    def __init__(self, answer: client.Answer, place: Place, limits: Limits) -> None:
        self._answer = answer
        self._place = place
        self._limits = limits
        self._first: bytes | None = None
        self._reader = SseReader(place.provider, max_bytes=limits.max_event_bytes)
        self._events: deque[ServerEvent] = deque()
        self._ended = False
        self._is_over = False
        self.status = answer.status
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
        media = self._answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media == EVENTS:
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
        text = await self._answer.beginning(MAX_ERROR_BYTES, ERROR_S)
        await self.close()
        return text.decode("utf-8", "replace")

    async def close(self) -> None:
        """Give the connection back: to the pool where the answer was read to its end, else to the system."""
        import trio

        try:
            if self._is_over and not self._ended:
                with trio.move_on_after(REST_S), contextlib.suppress(ModelError):
                    while await self._piece() is not None:
                        pass
        finally:
            await self._answer.aclose()

    async def _piece(self) -> bytes | None:
        """The next bytes as soon as they are there, unpacked; None: there are no more."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        got = await self._answer.piece()
        self._ended = not isinstance(got, bytes)
        if isinstance(got, Failure):
            raise self._fault(got)
        return got

    def _fault(self, failure: Failure) -> ModelError:
        """What it means that the rest of the answer does not come."""
        match failure.kind:
            case Kind.IDLE:
                return _timeout(self._place, f"nothing more came for {self._limits.idle_s:g} s")
            case Kind.LATE:
                return _timeout(self._place, "the answer did not end in time")
            case Kind.PACKED:
                return self._place.fault(ErrorCode.UPSTREAM_ERROR, "no_json", f"{failure.said}; ask again")
            case Kind.TOO_LONG:
                why = f"sent an answer of more than {self._limits.max_bytes:,} bytes; ask for less at once"
                return self._place.fault(ErrorCode.UPSTREAM_ERROR, "refused", why)
        return faults.half_answer(self._place.provider)


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


def _refusal_of(failure: Failure, place: Place, host: str) -> _Refusal:
    """What came instead of an answer. Only a connection that never stood is tried again."""
    if failure.kind is Kind.LATE:
        return _Refusal(_timeout(place, "no answer in time"))
    if failure.never_stood:
        why, to_do = failure.words(host, "the base_url")
        is_ours = failure.kind is Kind.ENVIRONMENT  # what is wrong is said with what to do about it
        words = why if is_ours else f"{why}; {place.advice.get('no_network', to_do)}"
        retry = (Retry.CHANGED if is_ours else Retry.SAME).value
        error = place.fault(ErrorCode.UPSTREAM_ERROR, "no_network", f"cannot be reached: {words}", retry=retry)
        # A server of this machine that is not there was not started: it will not be there in a moment.
        return _Refusal(error, failure.may_pass and not (failure.kind is Kind.REFUSED and host in LOOPBACK))
    if failure.kind is Kind.UNSENDABLE:
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


def _user_agent() -> str:
    from pegboard import __version__  # one version everywhere; the package itself is above this module

    return f"pegboard-chat/{__version__}"


def _hidden(text: str, secrets: set[str]) -> str:
    """A text without the very keys: a server may send them back in a header."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASKED)
    return text
