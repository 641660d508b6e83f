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
import itertools
import random
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard import ErrorCode, Retry, ToolError
from pegboard.trace import carrier
from pegboard_httpclient import Failure, Kind, Retries, masked_http_logs, retry_after_of
from pegboard_manifest.bindings.http.answer import (
    MAX_BYTES,
    MAX_READ,
    NOTHING_KNOWN,
    SAFE_METHODS,
    Reading,
    broken_answer,
)
from pegboard_manifest.bindings.http.auth import with_credentials
from pegboard_manifest.bindings.http.redirects import MAX_REDIRECTS, differs_by_slash, redirected
from pegboard_manifest.bindings.http.statuses import REPEATABLE, code_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    import httpx2

    from pegboard_httpclient.client import Answer, Client
    from pegboard_manifest.bindings.http.auth import Credentials
    from pegboard_manifest.bindings.http.base import Base
    from pegboard_manifest.bindings.http.request import Request

RETRIES = 2
MAX_WAIT_S = 30.0
"""What a server may ask to wait is waited up to here; beyond it the caller is told."""
FIRST_WAIT_S = 0.25
LONGEST_WAIT_S = 4.0
ERROR_S = 5.0
"""How long the body of an error or a redirect may take."""


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


def _unobserved(method: str, sent: int) -> AbstractContextManager[dict[str, Any]]:
    return contextlib.nullcontext({})


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
        follows: which redirects: none, on the same origin, or only to the same address with or without a slash.
        deadline: by the loop's clock, for the waits between tries.
        observed: what observers hear of one request, given its method and how many were sent before it: each is a span
            of its own, and the server's lies below it (OpenTelemetry's conventions for HTTP clients).
    """

    request: Request
    base: Base
    credentials: Credentials
    reading: Reading = NOTHING_KNOWN
    statuses: Mapping[str, str] | None = None
    max_bytes: int = MAX_BYTES
    tries: int = 1
    follows: Literal["none", "slash", "same-origin"] = "none"
    deadline: float = float("inf")
    observed: Callable[[str, int], AbstractContextManager[dict[str, Any]]] = _unobserved


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
        self._client: Client | None = None
        self._retries = Retries(first_s=FIRST_WAIT_S, longest_s=LONGEST_WAIT_S, max_asked_s=MAX_WAIT_S, jitter=jitter)
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
        if exchange.credentials:
            self._secrets.update(exchange.credentials.secrets)
        got, attempts = await self._retries.run(
            partial(self._follow, exchange, itertools.count()),
            _judged,
            tries=exchange.tries,
            deadline=exchange.deadline,
        )
        if isinstance(got, Received):
            return got
        if attempts > 1:
            got.error.details["tries"] = attempts
        raise got.error

    async def _follow(self, exchange: Exchange, sent: Iterator[int]) -> Received | _Refusal:
        """Send once, and follow redirects where that is allowed; `sent` counts what is sent."""
        request = exchange.request
        for _ in range(MAX_REDIRECTS + 1):
            received = await self._once(exchange, request, next(sent))
            if isinstance(received, _Refusal) or exchange.follows == "none":
                return received
            following = redirected(request, received.status, received.headers.get("location", ""))
            if following is None or (exchange.follows == "slash" and not differs_by_slash(request, following)):
                return received
            request = following
        return _Refusal(
            ToolError(
                ErrorCode.UPSTREAM_ERROR,
                f"the server sent the request from place to place more than {MAX_REDIRECTS} times",
                reason="redirect",
                retry=Retry.CHANGED.value,
            )
        )

    async def _once(self, exchange: Exchange, request: Request, sent: int) -> Received | _Refusal:
        """Send one request, and receive what is wanted of its answer, within a span."""
        with exchange.observed(request.method, sent) as ended:
            return await self._exchanged(exchange, request, ended)

    async def _exchanged(self, exchange: Exchange, request: Request, ended: dict[str, Any]) -> Received | _Refusal:
        if self._client is None:
            from pegboard_httpclient.client import Client

            self._client = Client(user_agent=_user_agent(), http=self._http)
        whole = with_credentials(request, exchange.credentials)
        answer = await self._client.send(
            whole.method,
            whole.url,
            _in_its_trace(whole.headers),
            whole.body,
            max_bytes=exchange.max_bytes,
            check=partial(_check_address, exchange.base, whole.url),
        )
        if isinstance(answer, Failure):
            ended["error.type"] = answer.kind.value
            return _refusal_of(answer, exchange, request.method)
        ended["http.response.status_code"] = answer.status
        if answer.status >= 400:
            ended["error.type"] = str(answer.status)
        try:
            received = await _received(answer, exchange, request.method)
        finally:
            await answer.aclose()
        if isinstance(received, _Refusal):
            ended.setdefault("error.type", received.error.code.value)
        return received


@attrs.frozen
class _Refusal:
    """There is no answer; the error says so, and whether the same request may be sent again."""

    error: ToolError
    may_repeat: bool = False


def _judged(got: Received | _Refusal) -> tuple[bool, float | None]:
    """Whether the same request may be sent again, and how long the server asks to wait."""
    if isinstance(got, _Refusal):
        return got.may_repeat, None
    return got.status in REPEATABLE, retry_after_of(got.headers)


def _check_address(base: Base, whole_url: str, url: httpx2.URL) -> None:
    """Hold that httpx2 reads the URL as it was made, credentials included.

    Raises:
        ToolError: it would lead elsewhere.
    """
    target = whole_url[len(base.origin) :].encode("ascii")
    if (url.scheme, url.host, url.port) != (base.scheme, base.host, base.port) or url.raw_path != target:
        raise ToolError(
            ErrorCode.INVALID_INPUT,
            "the arguments would lead to another address than the tool's own; nothing was sent",
            reason="arguments",
        )


async def _received(answer: Answer, exchange: Exchange, method: str) -> Received | _Refusal:
    """The whole answer; of an error's body only the beginning."""
    status, headers = answer.status, answer.headers
    if code_of(status, exchange.statuses) is not None or status >= 300:
        return Received(status, headers, await answer.beginning(MAX_READ, ERROR_S))
    body = await answer.whole()
    if not isinstance(body, Failure):
        return Received(status, headers, body)
    if body.kind is Kind.LOST:
        return _lost(exchange, method, "broke off in the middle of its answer", status)
    is_long = body.kind is Kind.TOO_LONG
    why = f"sent an answer of more than {exchange.max_bytes:,} bytes; ask for less at once" if is_long else body.said
    return _Refusal(broken_answer(why, status, exchange.reading))


def _in_its_trace(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The headers, with those of the trace that the call belongs to; a parameter of the tool may be one itself."""
    if (trace := carrier.get()) is None:
        return headers
    given = {name.lower() for name, _ in headers}
    return (*headers, *((name, value) for name, value in trace.items() if name not in given))


def _user_agent() -> str:
    from pegboard import __version__

    return f"pegboard/{__version__}"


def _refusal_of(failure: Failure, exchange: Exchange, method: str) -> _Refusal:
    """What came instead of an answer."""
    if failure.never_stood:
        is_ours = failure.kind is Kind.ENVIRONMENT
        who = "no server can be reached" if is_ours else "the server cannot be reached"
        why = "; ".join(filter(None, failure.words(exchange.base.netloc)))
        error = ToolError(
            ErrorCode.UPSTREAM_ERROR,
            f"{who}: {why}",
            reason="no_network",
            executed=False,
            retry=(Retry.SAME if failure.may_pass else Retry.CHANGED).value,
        )
        return _Refusal(error, failure.may_pass)
    if failure.kind is Kind.UNSENDABLE:
        return _Refusal(
            ToolError(
                ErrorCode.INVALID_INPUT,
                "the request cannot be sent: an argument makes an address or a header that HTTP cannot carry; nothing"
                " was sent",
                reason="arguments",
            )
        )
    return _lost(exchange, method, "closed the connection before its answer was whole")


def _lost(exchange: Exchange, method: str, what: str, status: int | None = None) -> _Refusal:
    """The request was sent, and its answer is not there: nobody knows what became of it, unless that does no harm."""
    details: dict[str, Any] = {"reason": "lost"}
    if status is not None:
        details["status"] = status
        details["executed"] = True
    if exchange.reading.is_idempotent:
        details["retry"] = Retry.SAME.value
        error = ToolError(ErrorCode.UPSTREAM_ERROR, f"the server {what}; call again", details)
        return _Refusal(error, may_repeat=True)
    if exchange.request.method in SAFE_METHODS or status is not None:
        return _Refusal(ToolError(ErrorCode.UPSTREAM_ERROR, f"the server {what}", details))
    return _Refusal(
        ToolError(
            ErrorCode.OUTCOME_UNKNOWN,
            f"the server {what}; the request may have been carried out: look before calling again",
            details,
        )
    )
