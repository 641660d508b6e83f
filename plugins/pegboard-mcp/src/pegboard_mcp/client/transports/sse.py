"""A server over HTTP with server-sent events, the transport of protocol 2024-11-05.

One stream comes in, a POST for each message goes out.

The transport is ours, on httpx2's reader of events, since the SDK's has a fixed limit of 1 MiB for a message and loses
a failed POST in its log. A POST that fails ends the link, for the request in it gets no answer any more.

Specification: https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import anyio
import httpx2
import trio
from mcp.shared.message import SessionMessage

from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports._link import GARBAGE_LIMIT, beside
from pegboard_mcp.client.transports._messages import read_message
from pegboard_mcp.client.transports._web import (
    LOST_S,
    WebLink,
    fault_of,
    lost_session,
    open_client,
    origin,
    status_fault,
)
from pegboard_mcp.streams import MessageReader, MessageWriter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pegboard_mcp.definitions import ServerDefinition

REDIRECTS = 5


class _SseReader(MessageReader):
    def __init__(self, messages: trio.MemoryReceiveChannel[SessionMessage]) -> None:
        self._messages = messages

    async def receive(self) -> SessionMessage:
        """The next message."""
        try:
            return await self._messages.receive()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            raise anyio.EndOfStream from None

    async def aclose(self) -> None:
        """Read no more."""
        self._messages.close()


class _SseWriter(MessageWriter):
    def __init__(self, link: WebLink, client: httpx2.AsyncClient, endpoint: httpx2.URL) -> None:
        self._link = link
        self._client = client
        self._endpoint = endpoint
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Post one message."""
        if self._closed:
            raise anyio.ClosedResourceError
        if self._link.gone.is_set():
            raise anyio.BrokenResourceError
        content = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        headers = {"content-type": "application/json"}
        try:
            async with self._client.stream("POST", self._endpoint, content=content, headers=headers) as response:
                if response.is_success:
                    return
                cause = status_fault(response, self._link.definition)
        except (httpx2.HTTPError, httpx2.StreamError) as fault:
            cause = fault_of(fault, self._link.definition)
        if self._link.heard and cause.kind == "not_found":
            cause = lost_session()
        self._link.lose(cause)
        raise anyio.BrokenResourceError

    async def aclose(self) -> None:
        """Send no more."""
        self._closed = True


@contextlib.asynccontextmanager
async def open_sse(definition: ServerDefinition, on_gone: Callable[[], None]) -> AsyncIterator[WebLink]:
    """Open the stream of a server and give the link to it. Raises `LinkError`."""
    link = WebLink(definition, on_gone)
    async with open_client(link, answering=False) as client, beside() as nursery:
        stream = _Stream(link, client)
        nursery.start_soon(stream.pump)
        nursery.start_soon(stream.cut)
        try:
            with trio.move_on_after(definition.connect_s):
                await stream.ready.wait()
            if not stream.ready.is_set():
                raise LinkError("timeout", "it names no endpoint in time", "Check `url`, or raise `timeout`.")
            if link.gone.is_set():
                raise link.why()
            yield link
        finally:
            link.leave()


class _Stream:
    """The stream of events, and the task that reads it."""

    def __init__(self, link: WebLink, client: httpx2.AsyncClient) -> None:
        self.ready = trio.Event()
        """Set once the endpoint is known, or the stream has ended."""
        self._link = link
        self._client = client
        self._scope = trio.CancelScope()
        self._into, out = trio.open_memory_channel[SessionMessage](0)
        link.read = _SseReader(out)

    async def cut(self) -> None:
        """End the stream shortly after the link is lost."""
        await self._link.lost.wait()
        await trio.sleep(LOST_S)
        self._scope.cancel()

    async def pump(self) -> None:
        """Read the stream to its end, and say why it ended."""
        cause = None
        try:
            with self._scope:
                response = await self._open()
                try:
                    await self._read(response)
                finally:
                    await response.aclose()
        except (httpx2.HTTPError, httpx2.StreamError, LinkError) as fault:
            cause = fault_of(fault, self._link.definition)
        self._link.end(cause)
        self._into.close()
        self.ready.set()

    async def _open(self) -> httpx2.Response:
        """The answer whose body is the stream; redirects are followed within the origin."""
        url = httpx2.URL(self._link.definition.url or "")
        headers = {"accept": "text/event-stream", "cache-control": "no-store"}
        for left in reversed(range(REDIRECTS)):
            response = await self._client.send(self._client.build_request("GET", url, headers=headers), stream=True)
            there = response.next_request
            if response.is_success:
                return response
            await response.aclose()
            if there is None or not left or origin(there.url) != origin(url) or there.url.userinfo != url.userinfo:
                raise status_fault(response, self._link.definition)
            url = there.url
        raise AssertionError("the last round returns or raises")

    async def _read(self, response: httpx2.Response) -> None:
        async for event in httpx2.EventSource(response, max_event_size=self._link.definition.max_message_bytes):
            if event.event == "endpoint" and not self.ready.is_set():
                endpoint = _joined(response.url, event.data)
                if endpoint is None or origin(endpoint) != origin(response.url):
                    raise LinkError(
                        "not_found", "its messages would go to another address", "Check `url`, and the server."
                    )
                self._link.write = _SseWriter(self._link, self._client, endpoint)
                self.ready.set()
            elif event.event == "message" and event.data:
                await self._pass_on(event.data)

    async def _pass_on(self, data: str) -> None:
        message = read_message(data)
        if message is None:
            self._link.garbled(data)
            if not self._link.heard and self._link.garbage >= GARBAGE_LIMIT:
                raise self._link.garbage_fault()
            await trio.lowlevel.checkpoint()  # what is read already comes without one
            return
        self._link.heard = True
        # The generator above must be left by its own next step, not between two: that one ends it in order.
        with contextlib.suppress(trio.BrokenResourceError, trio.Cancelled):
            await self._into.send(SessionMessage(message))


def _joined(base: httpx2.URL, address: str) -> httpx2.URL | None:
    try:
        return base.join(address)
    except (httpx2.InvalidURL, ValueError):
        return None
