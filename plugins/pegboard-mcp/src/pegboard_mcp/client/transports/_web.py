"""What the HTTP transports share: the client, a check of every answer, and faults as text.

`Watched` stands between the client and the network. It

- sends the configured headers to the server's origin alone, whoever asks: OAuth discovery goes to other origins too,
  of a server over https to such over https alone;
- bounds what one answer may hold (`max_message_bytes`) and takes no compressed answer, which could unfold to anything;
- tells the link what it saw: `Link.why` explains a failed start by it;
- lets go of an answer that nobody waits for any more, or a server that never ends it would hold it for ever;
- answers in place of a server that cannot be reached or has lost the session, so that one failed POST costs its own
  request alone. The SDK's transport would crash on it and take all others along.
"""

from __future__ import annotations

import functools
import json
import logging
import urllib.request
from typing import TYPE_CHECKING, TypeVar

import httpx2
import trio

from pegboard_httpclient import HTTP_LOGGERS, LOOPBACK, Kind, LogMask, cause_of, causes_of
from pegboard_httpclient.client import tls_context
from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports._codes import NOT_RUN, NUMBER_HEADER
from pegboard_mcp.client.transports._link import Link, shorten

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from mcp_types import JSONRPCRequest

    from pegboard_mcp.client import _errors
    from pegboard_mcp.definitions import ServerDefinition

T = TypeVar("T")

SESSION, VERSION = "mcp-session-id", "mcp-protocol-version"
LOST_S = 0.2
"""How long answers that are on their way still come in after a link is lost."""
WRITE_S = 60.0
OF_LOGINS = ("mcp.client.auth.oauth2", "mcp.client.auth.utils")
QUIET = (*HTTP_LOGGERS, "mcp.client.streamable_http", *OF_LOGINS)
"""Loggers of libraries that write out URLs, headers and answers."""


class WebLink(Link):
    """A link over HTTP."""

    def __init__(self, definition: ServerDefinition, on_gone: Callable[[], None]) -> None:
        super().__init__(definition, on_gone)
        self.note: LinkError | None = None
        """What the last request came to, where it failed."""
        self.lost = trio.Event()
        """Set when the end is decided; the reader sees it a moment later."""
        self.flights: dict[str, Flight] = {}
        """The requests under way that say their number, by it."""
        self.session: dict[str, str] = {}
        """The headers of the session that the server opened, as it was last asked in it; empty: there is none."""
        self.last_words: list[tuple[JSONRPCRequest, Mapping[str, str]]] = []
        """Requests, with their headers, to be sent when the link is left; nobody waits for their answers."""

    def lose(self, cause: LinkError) -> None:
        """The server is gone, or has lost the session: answers on their way may still come in."""
        self.end(cause)
        self.lost.set()

    def _guess(self) -> LinkError:
        return self.note or super()._guess()

    def give_up(self, number: int) -> None:
        """Nobody waits for the answer of this request any more: it is not read on, however long it gets."""
        flight = self.flights.pop(str(number), None)
        if flight is not None:
            flight.end()


class Flight:
    """One request under way, from its first byte to the last one of its answer."""

    def __init__(self) -> None:
        self._is_over = False
        self._scope: trio.CancelScope | None = None

    def end(self) -> None:
        """Whatever it waits for is not waited for any more."""
        self._is_over = True
        if self._scope is not None:
            self._scope.cancel()

    async def run(self, do: Callable[[], Awaitable[T]]) -> T:
        """Do one step of it.

        Raises:
            BodyError: it was given up.
        """
        with trio.CancelScope() as scope:
            self._scope = scope
            if self._is_over:
                scope.cancel()
            try:
                return await do()
            finally:
                self._scope = None
        raise BodyError("nobody waits for the answer any more")


class Watched(httpx2.AsyncBaseTransport):
    """A transport that sees every answer; see the module."""

    def __init__(self, link: WebLink, inner: httpx2.AsyncBaseTransport, *, answering: bool) -> None:
        definition = link.definition
        self._link = link
        self._inner = inner
        self._answering = answering
        self._url = httpx2.URL(definition.url or "")
        self._limit = definition.max_message_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request; what fails at the server's endpoint is answered from here."""
        number = request.headers.pop(NUMBER_HEADER, None) or request.extensions.get(NUMBER_HEADER)
        if number is None:
            return await self._handle(request)
        request.extensions = {
            **request.extensions,
            NUMBER_HEADER: number,
        }  # it is sent again where a login was expected
        flights = self._link.flights
        flight = flights[number] = Flight()
        try:
            response = await flight.run(functools.partial(self._handle, request))
        except BodyError as fault:
            return _answer(request, 502, -32000, str(fault))
        except BaseException:
            flights.pop(number, None)
            raise
        response.stream = Tied(response.stream, flight, functools.partial(flights.pop, number, None))
        return response

    async def _handle(self, request: httpx2.Request) -> httpx2.Response:
        ours = origin(request.url) == origin(self._url)
        if not ours:
            for name, value in self._link.definition.headers.items():
                if request.headers.get(name) == value:
                    del request.headers[name]
            if self._url.scheme == "https" != request.url.scheme:
                # What it names for a login may be a service of this network, which speaks no TLS; RFC 8414 wants TLS.
                raise httpx2.RemoteProtocolError("a server over https leads to an address without TLS")
        endpoint = self._answering and ours and request.url.path.rstrip("/") == self._url.path.rstrip("/")
        try:
            response = await self._inner.handle_async_request(request)
            encoding = response.headers.get("content-encoding", "identity")
            if encoding.lower() != "identity":
                await response.aclose()
                raise httpx2.RemoteProtocolError(f"the answer is compressed ({shorten(encoding, 20)})")
        except httpx2.TransportError as fault:
            if not endpoint:
                raise
            return self._unreachable(request, fault)
        if not is_stream(response):
            response.stream = Bounded(response.stream, self._limit)
        if endpoint:
            return await self._judge(request, response)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    def _unreachable(self, request: httpx2.Request, fault: httpx2.TransportError) -> httpx2.Response:
        cause = fault_of(fault, self._link.definition)
        self._link.note = cause
        if isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout):
            self._link.lose(cause)
            return _answer(request, 502, NOT_RUN, cause.why)
        return _answer(request, 502, -32000, cause.why)

    async def _judge(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        status = response.status_code
        if (opened := response.headers.get(SESSION) or request.headers.get(SESSION)) is not None:
            version = request.headers.get(VERSION)
            self._link.session = {SESSION: opened} | ({} if version is None else {VERSION: version})
        if status < 400:
            if request.method == "POST":
                self._link.note = None if status < 300 else status_fault(response, self._link.definition)
            return response
        if request.method == "DELETE" or (request.method == "GET" and status == 405):
            return response  # a server need not offer either
        self._link.note = status_fault(response, self._link.definition)
        if SESSION in request.headers and await _lost_session(response):
            cause = lost_session()
            self._link.lose(cause)
            return _answer(request, 404, NOT_RUN, cause.why)
        if SESSION in request.headers and status >= 500 and b"session" in (await _body(response)).lower():
            self._link.lose(lost_session())  # perhaps: the call may have run and stays failed, the next one greets anew
        return response


def lost_session() -> LinkError:
    """The server runs, but has forgotten us."""
    return LinkError("lost", "it does not know the session any more: restarted, or expired", "Try again.")


async def _lost_session(response: httpx2.Response) -> bool:
    """404 says so by the specification; some servers say 400 and name the session."""
    if response.status_code == 404:
        body = await _body(response)
        # Since 2026-07-28 an unknown method is a 404 too, with its error in the body.
        return b"-32601" not in body
    return response.status_code == 400 and b"session" in (await _body(response)).lower()


async def _body(response: httpx2.Response) -> bytes:
    try:
        return await response.aread()
    except httpx2.StreamError:
        return b""


class Bounded(httpx2.AsyncByteStream):
    """A body that ends in an error once it is too long, or broken off: one that the SDK passes to its request."""

    def __init__(self, inner: object, limit: int) -> None:
        assert isinstance(inner, httpx2.AsyncByteStream)
        self._inner = inner
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for part in self._inner:
                size += len(part)
                if size > self._limit:
                    raise BodyError(f"the answer is longer than the limit of {self._limit:,} bytes")
                yield part
        except httpx2.TransportError:
            raise BodyError("the connection broke in the middle of the answer") from None

    async def aclose(self) -> None:
        """Close the body."""
        await self._inner.aclose()


class Tied(httpx2.AsyncByteStream):
    """A body that is read for as long as somebody waits for it."""

    def __init__(self, inner: object, flight: Flight, on_end: Callable[[], object]) -> None:
        assert isinstance(inner, httpx2.AsyncByteStream)
        self._inner = inner
        self._flight = flight
        self._on_end = on_end

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = aiter(self._inner)
        while True:
            try:
                part = await self._flight.run(parts.__anext__)
            except StopAsyncIteration:
                return
            yield part

    async def aclose(self) -> None:
        """Close the body."""
        self._on_end()
        await self._inner.aclose()


class BodyError(httpx2.StreamError):
    """A body that cannot be read."""


def _answer(request: httpx2.Request, status: int, code: int, message: str) -> httpx2.Response:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    headers = {"content-type": "application/json"}
    return httpx2.Response(status, headers=headers, content=json.dumps(body).encode(), request=request)


def is_stream(response: httpx2.Response) -> bool:
    """Whether the body is a stream of events."""
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == "text/event-stream"


def origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    """Scheme, host and port."""
    return url.scheme, url.host, url.port


def open_client(link: WebLink, auth: httpx2.Auth | None = None, *, answering: bool) -> httpx2.AsyncClient:
    """A client for one server: its headers, its timeouts, no redirects, watched.

    `answering`: whether it answers in place of a server that cannot, as the SDK's transport needs it.
    """
    definition = link.definition
    # A read may be silent for as long as a call may take: a shorter limit would end it under the caller's deadline.
    read_s = max(definition.sse_read_s, definition.request_s + 10)
    timeout = httpx2.Timeout(connect=definition.connect_s, read=read_s, write=WRITE_S, pool=None)
    transport = httpx2.AsyncHTTPTransport(
        verify=tls_context(),
        proxy=_proxy(definition.url or ""),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
    )
    mask_logs(definition)
    return httpx2.AsyncClient(
        transport=Watched(link, transport, answering=answering),
        headers={"accept-encoding": "identity", **definition.headers},
        timeout=timeout,
        auth=auth,
        follow_redirects=False,
    )


def _proxy(url: str) -> str | None:
    """The proxy that the host's environment names for this server; none is asked for this very machine."""
    parsed = httpx2.URL(url)
    if parsed.host in LOOPBACK or urllib.request.proxy_bypass(parsed.host):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(parsed.scheme) or proxies.get("all")


def fault_of(fault: BaseException, definition: ServerDefinition) -> LinkError:
    """What a library raised, in words: of a group the first leaf."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    if isinstance(fault, LinkError):
        return fault
    for one in causes_of(fault):
        if isinstance(one, httpx2.HTTPStatusError):
            return status_fault(one.response, definition)
    if (known := _connection_fault(fault)) is not None:
        return known
    kind: _errors.Kind = "closed"
    if type(fault).__module__.startswith("mcp.client.auth"):
        # Behind a colon and a blank stand answers of the server; a colon alone is that of an address.
        reason = shorten(_hide(definition.mask(str(fault)).partition(": ")[0]), 160)
        return LinkError("unauthorized", f"the login failed: {reason}", "Log in again; look into the server's log.")
    if isinstance(fault, httpx2.TimeoutException | trio.TooSlowError | TimeoutError):
        kind, why, fix = "timeout", "it takes too long to answer", "Try again, or raise `timeout`."
    elif isinstance(fault, httpx2.SSEError) and "content type" not in str(fault):
        kind, why = "oversized", f"it sent an event over the limit of {definition.max_message_bytes:,} bytes"
        fix = "Ask it for less, or raise `max_message_bytes` of the server."
    elif isinstance(fault, httpx2.SSEError):
        kind, why = "not_found", "it answers, but not with an event stream"
        fix = "Check `url` and `transport`: `sse` servers mostly listen on /sse, `http` ones on /mcp."
    elif isinstance(fault, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        kind, why, fix = "refused", "its `url` is not an HTTP address", "Begin `url` with http:// or https://."
    else:
        reason = shorten(_hide(definition.mask(str(fault))), 120)
        why = f"the connection broke: {reason or type(fault).__name__}"
        fix = "Try again; look into the log of the server if it happens again."
    return LinkError(kind, why, fix)


_CONNECTION: dict[Kind, tuple[_errors.Kind, str, str]] = {
    Kind.CERTIFICATE: (
        "tls",
        "its certificate is refused: {said}",
        "Correct the certificate, or name the authority that signed it: SSL_CERT_FILE=/path/to/ca.pem.",
    ),
    Kind.TLS: ("tls", "TLS fails: {said}", "Check whether it speaks TLS at all: http:// or https://, ws:// or wss://."),
    Kind.NAME: ("refused", "its host name is not known", "Check the host in `url`, and the network."),
    Kind.REFUSED: (
        "refused",
        "nothing listens there: the connection is refused",
        "Start the server, or correct host and port in `url`.",
    ),
    Kind.PROXY: ("refused", "the proxy refuses the connection", "Check HTTP_PROXY, HTTPS_PROXY and NO_PROXY."),
    Kind.SILENT: ("timeout", "it cannot be reached in time", "Check host and port in `url`, and the network."),
}
"""What kept a connection from standing, as it is said of a server."""
_UNSAID = {Kind.CERTIFICATE: "it is not trusted", Kind.TLS: "no handshake"}


def _connection_fault(fault: BaseException) -> LinkError | None:
    """What kept the connection from standing; None: it stood, or nothing is known of it."""
    cause = cause_of(fault)
    if cause is not None:
        kind, why, fix = _CONNECTION[cause.kind]
        return LinkError(kind, why.format(said=shorten(cause.said, 100) or _UNSAID.get(cause.kind)), fix)
    if any(isinstance(one, httpx2.ConnectError) and not (one.__cause__ or one.__context__) for one in causes_of(fault)):
        return LinkError("refused", "it cannot be reached", "Check host and port in `url`, and the network.")
    return None


def status_fault(response: httpx2.Response, definition: ServerDefinition) -> LinkError:
    """What a status says about a server that was asked for MCP."""
    status = response.status_code
    if status == 401:
        fix = (
            "Log in again."
            if definition.oauth
            else "Put a token into `headers` (Authorization), or set `oauth = true`."
        )
        return LinkError("unauthorized", "it wants to know who asks (HTTP 401)", fix)
    if status == 403:
        return LinkError("unauthorized", "it refuses us (HTTP 403)", "Check what the token in `headers` may do.")
    if status in {404, 405, 406, 410}:
        fix = "Check `url` and `transport`: `http` servers mostly listen on /mcp, `sse` ones on /sse."
        return LinkError("not_found", f"there is no MCP endpoint at its `url` (HTTP {status})", fix)
    if 300 <= status < 400:
        there = response.headers.get("location", "")
        shown = shorten(definition.mask(there.partition("?")[0]), 100)
        return LinkError(
            "not_found",
            f"it redirects to {shown!r}, which is not followed",
            "Put that address into `url` if it is yours.",
        )
    return LinkError("refused", f"it answers HTTP {status}", "Look into the log of the server; try again later.")


_SECRETS: set[str] = set()
"""What the libraries may log no more."""


def _hide(text: str) -> str:
    from pegboard.config import mask_text

    for secret in sorted(_SECRETS, key=len, reverse=True):
        text = text.replace(secret, "***")
    return mask_text(text)


class _LoginMask(LogMask):
    """The same without tracebacks: what was raised of a login holds the answer, and what is a key in one that was not
    understood nobody knows."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the line where it stands; always True."""
        raised = record.exc_info[0] if record.exc_info else None
        record.exc_info = record.exc_text = None
        super().filter(record)
        if raised is not None:
            record.msg = f"{record.msg} ({raised.__name__})"
        return True


_MASK, _LOGIN_MASK = LogMask(_hide), _LoginMask(_hide)


def mask_logs(definition: ServerDefinition) -> None:
    """From now on the libraries log no secret of this server."""
    mask_also(*definition.secrets)


def mask_also(*found: str) -> None:
    """From now on the libraries log none of these."""
    _SECRETS.update(found)
    for name in QUIET:
        # A filter is added once.
        logging.getLogger(name).addFilter(_LOGIN_MASK if name in OF_LOGINS else _MASK)
