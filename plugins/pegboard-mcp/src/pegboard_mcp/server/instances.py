"""Several processes that serve as one: how a request reaches the one that has its call, session or task.

Behind a balancer a request may meet another process than the one that gave out what it carries (`server.handles`). That
one forwards it to the other, as it came and with its credential, over HTTP. Where to is never a client's to say: a name
that was sealed is looked up among the configured instances, or among the sockets of the processes of one program
(`--processes`), which lie in a folder that only their user can enter. The other instance admits the request as any
other. Where none can be reached the answer says so: the same request may be sent again.

A plugin may bring a `Carrier`, which finds the others itself. What comes by it is served where it was sealed with the
key that all instances share, so that it is no door for whoever else can send there.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import socket
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs

import trio

from pegboard_mcp.server._answers import Answering, answer_json, in_flight, lasting
from pegboard_mcp.server._flights import refusal
from pegboard_mcp.server._sdk import MCP_SESSION_ID_HEADER
from pegboard_mcp.server.auth import CALLER, answer_plainly
from pegboard_mcp.server.errors import error_answer
from pegboard_mcp.server.handles import (
    SESSION,
    STATE,
    TASK,
    Handles,
    Name,
    Seal,
    bound_to,
    elsewhere,
    lost,
    owner_text,
)
from pegboard_mcp.server.listening import LISTEN, MAX_TASK_IDS, task_ids_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from pegboard_httpclient import Failure
    from pegboard_httpclient.client import Client
    from pegboard_mcp.server._flights import Flights
    from pegboard_mcp.server.carriers import Carried, Carrier
    from pegboard_mcp.server.processes import SharedPort
    from pegboard_mcp.settings import McpSettings
    from pegboard_serving import Caller

FORWARDED = b"pegboard-forwarded"
"""The header of a request that comes from another instance: the client's address, sealed."""
FORWARDED_S = 60.0
"""How long that is good, in seconds: clocks of machines differ a little."""
READ_RESULT = "read_result"
"""The core's tool that reads on in a result which was too long to show."""
HOPS = "pegboard.hops"
"""Where it lies in an ASGI scope how often a request was forwarded."""
SESSION_HEADER = MCP_SESSION_ID_HEADER.encode()
MAX_HOPS = 2
"""To the machine, and there to the process."""
PASSED_ON = frozenset(
    {
        *(b"accept", b"authorization", b"baggage", b"content-type", b"last-event-id", b"traceparent", b"tracestate"),
        *(b"user-agent",),
    }
)
"""What of a request's headers the other instance is told, beside those that begin with `mcp-`."""
PASSED_BACK = (
    *("cache-control", "content-length", "content-type", "mcp-session-id", "retry-after", "www-authenticate"),
    "x-accel-buffering",
)


class Placed(NamedTuple):
    """A request as it is served here, or whose it is."""

    scope: Scope
    send: Send
    elsewhere: Name | None


class Target(NamedTuple):
    """Where another instance is: the base of its address, and the socket where that is a file; neither: the carrier
    finds it."""

    url: str = ""
    socket: str | None = None


class Instances:
    """The instances that serve together, as one of them knows them.

    Args:
        settings: the key, the name of this machine and the addresses of others.
        shared: what the processes of this program share; None: it is the only one.
        carrier: reaches those that are neither configured nor processes of this program.
    """

    def __init__(self, settings: McpSettings, shared: SharedPort | None = None, carrier: Carrier | None = None) -> None:
        process = secrets.token_urlsafe(9) if shared is None else shared.process
        key = settings.state_key or (None if shared is None else shared.key)
        self.handles = Handles(Seal(key), Name(settings.instance or "", process))
        self.handles.is_over = self.is_over
        self._others = {name: url.rstrip("/") for name, url in settings.instances.items()}
        self._folder = None if shared is None else shared.folder
        self._clients: dict[Target, Client] = {}
        self._carrier = carrier

    @contextlib.asynccontextmanager
    async def open(self, serve: Callable[..., Awaitable[None]], app: ASGIApp) -> AsyncIterator[None]:
        """Let the others reach this one, and close what was opened to them.

        Args:
            serve: `await serve(socket, task_status=...)` serves until serving ends.
            app: what is served.
        """
        try:
            async with trio.open_nursery() as nursery, contextlib.AsyncExitStack() as stack:
                if self._carrier is not None:
                    own = self.handles.own
                    opened = self._carrier.open(own.process, own.machine, partial(self._serve_carried, app))
                    await stack.enter_async_context(opened)
                if self._folder is not None:
                    path = socket_of(self._folder, self.handles.own.process)
                    await nursery.start(serve, stack.enter_context(private_socket(path)))
                yield
        finally:
            for client in self._clients.values():
                await client.aclose()

    async def _serve_carried(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve what came by the carrier, if an instance sent it."""
        if HOPS in self._as_sent(scope):
            await app(scope, receive, send)
        else:
            await answer_plainly(scope, send, 403, b"this is for instances that share the key")

    def is_own(self, name: Name) -> bool:
        """Whether it is this one."""
        return name == self.handles.own

    def is_over(self, name: Name) -> bool:
        """Whether an instance is known to be no more: a process of this machine that ended."""
        if name.machine != self.handles.own.machine or self.is_own(name):
            return False
        if self._is_beside(name):
            return False
        # Without a name it may as well be another machine, where others than the processes of one program are reached.
        return bool(name.machine) or (self._folder is not None and self._carrier is None)

    def _is_beside(self, name: Name) -> bool:
        """Whether it is another process of this program."""
        return self._folder is not None and socket_of(self._folder, name.process).exists()

    def find(self, name: Name) -> Target | None:
        """Where an instance is; None: it cannot be reached from here."""
        if name.machine != self.handles.own.machine and (url := self._others.get(name.machine)) is not None:
            return Target(url)
        if name.machine == self.handles.own.machine and self._folder is not None and self._is_beside(name):
            # The host is a bare address, which every instance serves.
            return Target("http://127.0.0.1", str(socket_of(self._folder, name.process)))
        # Also one that has our place: two programs may have been given one name, and both live.
        return None if self._carrier is None else Target()

    # -- whose a request is

    def place_of(self, scope: Scope, send: Send) -> Placed:
        """Where a request belongs by its session, which is known to its client under a sealed id alone."""
        scope = self._as_sent(scope)
        index = next((at for at, (key, _) in enumerate(scope["headers"]) if key == SESSION_HEADER), None)
        if index is None:
            return Placed(scope, self._sealing(send), None)
        sealed = self.handles.read(SESSION, scope["headers"][index][1].decode("latin-1"))
        if sealed is None:  # what nobody gave out is no session
            return Placed(scope, send, None)
        if not self.is_own(sealed.name):
            return Placed(scope, send, sealed.name)
        headers = list(scope["headers"])
        headers[index] = (SESSION_HEADER, sealed.id.encode("latin-1"))
        return Placed({**scope, "headers": headers}, self._sealing(send), None)

    def place_of_stream(self, scope: Scope, send: Send) -> Placed:
        """The same for HTTP with SSE, where the id of a session stands in the address that its client is told."""
        scope = self._as_sent(scope)
        sealed = self.handles.read(SESSION, _query_of(scope).get("session_id", [""])[-1])
        if sealed is None:
            return Placed(scope, self._sealing_address(send), None)
        if not self.is_own(sealed.name):
            return Placed(scope, send, sealed.name)
        return Placed({**scope, "query_string": b"session_id=" + sealed.id.encode("latin-1")}, send, None)

    def owner_of(self, scope: Scope, message: Mapping[str, Any]) -> Name | None:
        """The other instance that has what a request belongs to by its content; None: it is answered here."""
        params, method = message.get("params"), message.get("method")
        if not isinstance(params, dict) or not isinstance(method, str):
            return None
        if "requestState" in params:
            sealed = self.handles.read(STATE, params["requestState"], bound_to=bound_to(scope[CALLER], method, params))
        elif method.startswith("tasks/"):
            sealed = self.handles.read(TASK, params.get("taskId"), bound_to=owner_text(scope[CALLER]))
            if sealed is not None and self.find(sealed.name) is None:  # what came of it may be in the store
                return None
        elif method == LISTEN:
            return self._owner_of_tasks(scope[CALLER], params)
        elif params.get("name") == READ_RESULT and isinstance(arguments := params.get("arguments"), dict):
            name = self.handles.owner_of_result(arguments.get("id"))
            return None if name is None or self.is_own(name) or self.find(name) is None else name
        else:
            return None
        return None if sealed is None or self.is_own(sealed.name) else sealed.name

    def _owner_of_tasks(self, caller: Caller, params: Mapping[str, Any]) -> Name | None:
        """The instance in reach that has the first task which a client wants to hear of. It tells of its
        own: which, its acknowledgement says, and a client asks about the others."""
        for text in task_ids_of(params)[:MAX_TASK_IDS]:
            sealed = self.handles.read(TASK, text, bound_to=owner_text(caller))
            if sealed is not None and (self.is_own(sealed.name) or self.find(sealed.name) is not None):
                return None if self.is_own(sealed.name) else sealed.name
        return None

    def _as_sent(self, scope: Scope) -> Scope:
        """A request as if its client had sent it here, whichever instance did."""
        text = next((value for name, value in scope["headers"] if name == FORWARDED), None)
        values = None if text is None else self.handles.seal.open("forwarded", text.decode("latin-1"))
        if values is None:
            return scope
        client, hops = values
        return {**scope, "client": (client, 0), HOPS: hops}

    def _sealing(self, send: Send) -> Send:
        """A `send` that tells the client the id of its session, sealed."""

        async def sealing(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (key, self.handles.give(SESSION, value.decode("latin-1")).encode())
                    if key.lower() == SESSION_HEADER
                    else (key, value)
                    for key, value in message["headers"]
                ]
                message = {**message, "headers": headers}
            await send(message)

        return sealing

    def _sealing_address(self, send: Send) -> Send:
        """A `send` that tells the client the address to post to with a sealed id."""

        async def sealing(message: Message) -> None:
            body = bytes(message.get("body", b""))
            if body.startswith(b"event: endpoint"):
                body = re.sub(
                    rb"session_id=(\w+)",
                    lambda found: b"session_id=" + self.handles.give(SESSION, found[1].decode("ascii")).encode(),
                    body,
                )
                message = {**message, "body": body}
            await send(message)

        return sealing

    # -- forwarding

    async def forward(
        self,
        name: Name,
        body: bytes,
        request_id: Any,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        here: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Have another instance answer a request; `here`: serves it where that one is not there."""
        if not await self._forwarded(name, body, request_id, scope, receive, send):
            await (self._not_there(name, request_id, scope, send) if here is None else here())

    async def _forwarded(
        self, name: Name, body: bytes, request_id: Any, scope: Scope, receive: Receive, send: Send
    ) -> bool:
        """Whether another instance was there, and what it answered, or that it is lost, was passed back."""
        hops = scope.get(HOPS, 0)
        target = self.find(name) if hops < MAX_HOPS else None
        if target is None:
            return False
        async with trio.open_nursery() as nursery:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                nursery.cancel_scope.cancel()  # which the other instance takes as it would from the client

            nursery.start_soon(watch)
            answer = await self._ask(target, name, hops, body, scope)
            was_read = not _never_read(answer)
            if was_read:
                await self._pass_back(answer, request_id, scope, send)
            nursery.cancel_scope.cancel()
        return was_read

    async def forward_message(
        self,
        flights: Flights,
        name: Name,
        body: bytes,
        message: Any,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        here: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Have another instance answer what was posted, as one of the calls in flight here."""
        is_request = isinstance(message, dict) and "method" in message and "id" in message
        request_id = message["id"] if is_request else None
        if is_request and flights.stopping:
            await answer_json(send, 503, refusal(request_id), retry=True)
            return
        forward = partial(self.forward, name, body, request_id, here=here)
        if is_request and message["method"] == LISTEN:
            await lasting(flights, forward, scope, receive, send)
        else:
            await in_flight(flights, forward, scope, receive, send, request_id)

    async def _ask(self, target: Target, name: Name, hops: int, body: bytes, scope: Scope) -> Carried | Failure:
        client = scope.get("client")
        forwarded = self.handles.seal.seal("forwarded", [client[0] if client else "", hops + 1], for_s=FORWARDED_S)
        headers = [(FORWARDED.decode(), forwarded), ("Accept-Encoding", "identity")]
        for key, value in scope["headers"]:
            if (key in PASSED_ON or key.startswith(b"mcp-")) and value.isascii():
                headers.append((key.decode("ascii"), value.decode("ascii")))
        query = scope.get("query_string", b"").decode("latin-1")
        where, method = scope["path"] + (f"?{query}" if query else ""), scope["method"]
        if not target.url and self._carrier is not None:
            machine = "" if name.machine == self.handles.own.machine else name.machine  # of ours we know as much
            return await self._carrier.send(name.process, machine, method, where, headers, body)
        return await self._client(target).send(
            method, f"{target.url}{where}", headers, body if method == "POST" else None, max_bytes=sys.maxsize
        )

    def _client(self, target: Target) -> Client:
        known = self._clients.get(target)
        if known is None:
            import httpx2

            from pegboard import __version__
            from pegboard_httpclient.client import Client

            http = None if target.socket is None else httpx2.AsyncHTTPTransport(uds=target.socket)
            # No proxy of the environment comes between instances: it would read credentials.
            known = Client(user_agent=f"pegboard/{__version__}", trust_env=False, http=http)
            self._clients[target] = known
        return known

    async def _pass_back(self, answer: Carried | Failure, request_id: Any, scope: Scope, send: Send) -> None:
        from pegboard_httpclient import Failure

        if isinstance(answer, Failure):
            await _answer_lost(request_id, scope, send)
            return
        answering = Answering(send)
        try:
            headers = [
                (key.encode("ascii"), value.encode("latin-1", "replace"))
                for key in PASSED_BACK
                if (value := answer.headers.get(key)) is not None
            ]
            await answering({"type": "http.response.start", "status": answer.status, "headers": headers})
            while isinstance(piece := await answer.piece(), bytes):
                await answering({"type": "http.response.body", "body": piece, "more_body": True})
            await answering.end(None if piece is None or request_id is None else error_answer(request_id, lost()))
        finally:
            await answer.aclose()

    async def _not_there(self, name: Name, request_id: Any, scope: Scope, send: Send) -> None:
        if self.is_over(name):
            await _answer_lost(request_id, scope, send)
        elif request_id is None:
            await answer_plainly(scope, send, 503, b"its instance cannot be reached now", retry=True)
        else:
            await answer_json(send, 503, error_answer(request_id, elsewhere()), retry=True)


def _never_read(answer: Carried | Failure) -> bool:
    from pegboard_httpclient import Failure, Kind

    return isinstance(answer, Failure) and (answer.never_stood or answer.kind is Kind.UNSENDABLE)


async def _answer_lost(request_id: Any, scope: Scope, send: Send) -> None:
    if request_id is None:
        await answer_plainly(scope, send, 404, b"its instance is gone")
    else:
        await answer_json(send, 200, error_answer(request_id, lost()))


def socket_of(folder: str, process: str) -> Path:
    """Where a process listens for the others of its program."""
    return Path(folder) / f"{process}.sock"


def _query_of(scope: Scope) -> dict[str, list[str]]:
    with contextlib.suppress(ValueError):
        return parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=10)
    return {}


@contextlib.contextmanager
def private_socket(path: Path) -> Iterator[socket.socket]:
    """A socket that listens at a path, as long as the block; who may enter the folder may connect."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
        bound.bind(str(path))
        try:
            bound.listen(1_000)
            yield bound
        finally:
            path.unlink(missing_ok=True)
