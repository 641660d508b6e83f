"""A server over streamable HTTP: the SDK's transport, carried in a task of its own.

The SDK's transport crashes on what it does not expect, and a crash cancels whoever is inside it. Here nobody is: a task
enters it and waits, shielded, and what it raises becomes the cause of the link's end. So the body of `open_http` is
never cancelled by it, and the session is ended with DELETE (`terminate_on_close`) also when the owner is cancelled, or
calls are under way.

Opening sends nothing yet, but to log in (`oauth`); the first request does. Its failure is explained by `Link.why`:

- Nobody listens: the request fails with `NOT_RUN`, and the link ends ("refused", "tls").
- 401, 404 and the like: the request fails as the SDK has it, the link stays, `why` tells ("unauthorized", "not_found").
- The session is lost: the request fails with `NOT_RUN`, and the link ends ("lost"). A new link is a new session.
- The connection breaks under a request: that one fails with -32000, the link stays; what the server did is not known.
- The answer is too long: the request fails with -32000 or -32700, and the text names the limit.

Specification: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
import trio

from pegboard_mcp.client.transports._link import beside
from pegboard_mcp.client.transports._web import LOST_S, WebLink, fault_of, open_client
from pegboard_mcp.streams import MessageReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.shared.message import SessionMessage

    from pegboard_mcp.definitions import ServerDefinition

LEAVE_S = 3.0
"""How long the last words and the DELETE of the session may take."""


class _CarriedReader(MessageReader):
    """The SDK's reading end; its end is told to the link first."""

    def __init__(self, link: WebLink, inner: Any, carried: trio.Event) -> None:
        self._link = link
        self._inner = inner
        self._carried = carried

    @property
    def last_context(self) -> Any:
        """The context of the task that made the request this message belongs to, for the dispatcher."""
        return self._inner.last_context

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        try:
            message: SessionMessage | Exception = await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            with trio.move_on_after(LOST_S):
                await self._carried.wait()  # whatever ended it is known then
            self._link.end()
            raise anyio.EndOfStream from None
        return message

    async def aclose(self) -> None:
        """Read no more."""
        await self._inner.aclose()


async def _say_last(client: httpx2.AsyncClient, link: WebLink) -> None:
    """Say what the end of the link does not say by itself: that a task of the server is given up; the session's end."""
    url, said = link.definition.url or "", []
    accepted = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    for message, headers in link.last_words:
        body = message.model_dump_json(by_alias=True, exclude_none=True)
        said.append(client.build_request("POST", url, content=body, headers={**accepted, **headers}))
    if link.session and not link.lost.is_set() and link.definition.terminate_on_close:
        said.append(client.build_request("DELETE", url, headers=link.session))

    async def say(request: httpx2.Request) -> None:
        with contextlib.suppress(httpx2.HTTPError):  # nobody is left to be told
            await client.send(request)

    async with trio.open_nursery() as nursery:
        for request in said:
            nursery.start_soon(say, request)


@contextlib.asynccontextmanager
async def open_http(definition: ServerDefinition, on_gone: Callable[[], None]) -> AsyncIterator[WebLink]:
    """Give a link to the server. Raises `LinkError` where a login fails; of all else the first request tells."""
    link = WebLink(definition, on_gone)
    auth = None
    if definition.oauth:
        from pegboard_mcp.client.oauth import make_auth

        auth = make_auth(definition)
    left, ready, carried = trio.Event(), trio.Event(), trio.Event()
    shield = trio.CancelScope(shield=True)

    async def carry() -> None:
        from mcp.client.streamable_http import streamable_http_client

        try:
            with shield:
                async with contextlib.AsyncExitStack() as stack:
                    client = await stack.enter_async_context(open_client(link, auth, answering=True))
                    if auth is not None:
                        link.asked = await auth.log_in(client, definition.url or "")
                    # Once the SDK's tasks are gone: where a call is under way as they end, one of them crashes, and
                    # would take a DELETE of the SDK's along.
                    stack.push_async_callback(_say_last, client, link)
                    streams = streamable_http_client(
                        definition.url or "",
                        http_client=client,
                        terminate_on_close=False,
                        max_sse_event_size=definition.max_message_bytes,
                    )
                    read, write = await stack.enter_async_context(streams)
                    link.read, link.write = _CarriedReader(link, read, carried), write
                    ready.set()
                    await left.wait()
        except Exception as fault:  # noqa: BLE001 - whatever the transport raises ends the link, with its cause
            link.end(fault_of(fault, definition))
        finally:
            carried.set()
            ready.set()

    async def cut() -> None:
        await link.lost.wait()
        await trio.sleep(LOST_S)
        shield.cancel()

    async with beside() as nursery:
        nursery.start_soon(carry)
        nursery.start_soon(cut)
        try:
            await ready.wait()
            if link.gone.is_set():
                raise link.why()
            yield link
        finally:
            link.leave()
            left.set()
            if not ready.is_set():
                shield.cancel()  # a person is being asked
            with trio.move_on_after(LEAVE_S, shield=True):
                await carried.wait()
            shield.cancel()
