"""Several processes that serve as one: how a request reaches the one that has its call, session or task.

Behind a balancer a request may meet another process than the one that gave out what it carries (`server.handles`). That
one forwards it to the other, as it came and with its credential, over HTTP. Where to is never a client's to say: a name
that was sealed is looked up among the configured instances, or among the sockets of the processes of one program
(`--processes`), which lie in a folder that only their user can enter. The other instance admits the request as any
other. Where none can be reached the answer says so: the same request may be sent again.

A plugin may bring a `Carrier`, which finds the others itself. What comes by it is served where it was sealed with the
key that all instances share, so that it is not a door for whoever else can send there.
"""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import trio
from mcp_types import INVALID_REQUEST
from mcp_types.version import MODERN_PROTOCOL_VERSIONS as MODERN_VERSIONS

from pegboard import ErrorCode, ToolError
from pegboard_mcp.server._answers import JSON, Answering, answer_json, in_flight, lasting, session_id_in
from pegboard_mcp.server._flights import refusal
from pegboard_mcp.server._sdk import MCP_PROTOCOL_VERSION_HEADER, MCP_SESSION_ID_HEADER
from pegboard_mcp.server.auth import CALLER, answer_plainly
from pegboard_mcp.server.errors import error_answer, error_json
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
    new_program,
    owner_text,
)
from pegboard_mcp.server.listening import LISTEN, MAX_TASK_IDS, task_ids_of
from pegboard_mcp.server.readers import METHODS, Readers

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

log = logging.getLogger("pegboard.mcp.serve")

FORWARDED = b"pegboard-forwarded"
"""The header of a request that comes from another instance: the client's address, sealed."""
FORWARDED_S = 60.0
"""How long that is good, in seconds: clocks of machines differ a little."""
ANSWERED = b"pegboard-answered"
"""The header of an answer to such a request: sealed for that very one, so that nobody else answers for an instance."""
MISDIRECTED = 421
NOT_THERE, NO_INSTANCE = "not there", "no instance"
"""Why a request was not answered where it belongs: nobody read it; whoever did is not an instance of ours."""
READ_RESULT = "read_result"
"""The core's tool that reads on in a result which was too long to show."""
HOPS = "pegboard.hops"
"""Where it lies in an ASGI scope how often a request was forwarded."""
SESSION_HEADER, VERSION_HEADER = MCP_SESSION_ID_HEADER.encode(), MCP_PROTOCOL_VERSION_HEADER.encode()
MAX_HOPS = 2
"""To the machine, and there to the process."""
PASSED_ON = frozenset(
    (b"accept", b"authorization", b"baggage", b"content-type", b"traceparent", b"tracestate", b"user-agent")
)
"""What of a request's headers the other instance is told, beside those that begin with `mcp-`."""
PASSED_BACK = (
    *("cache-control", "content-type", "mcp-session-id", "retry-after", "www-authenticate", "x-accel-buffering"),
)
"""What of the answer's headers the client is told."""


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
        process = new_program() if shared is None else shared.process
        key = settings.state_key or (None if shared is None else shared.key)
        self.handles = Handles(Seal(key), Name(settings.instance or "", process))
        self.handles.is_over = self.is_over
        self._others = {name: url.rstrip("/") for name, url in settings.instances.items()}
        self._folder = None if shared is None else shared.folder
        self._clients: dict[Target, Client] = {}
        self._shared = shared
        self._readers = None if shared is None else Readers(shared.folder, process, self._has_socket)
        self.looks_at_words: Callable[[], bool] = lambda: False
        """Whether it matters what a caller was given before."""
        self._carrier = carrier
        self._warned: set[str] = set()

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
                leaving = await nursery.start(self._leave_when_replaced)
                yield
                leaving.cancel()
        finally:
            for client in self._clients.values():
                await client.aclose()

    async def _leave_when_replaced(self, task_status: trio.TaskStatus[trio.CancelScope]) -> None:
        with trio.CancelScope() as scope:
            task_status.started(scope)
            if self._shared is not None and self._readers is not None:
                await self._shared.replaced.wait()
                self._readers.leave()

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
        if self._is_beside(name) or self.handles.has_twin(name):
            return False
        # Without a name it may as well be another machine, where others than the processes of one program are reached.
        return bool(name.machine) or (self._folder is not None and self._carrier is None)

    def _is_beside(self, name: Name) -> bool:
        """Whether it is another process of this program."""
        return self._folder is not None and self._has_socket(name.process)

    def _has_socket(self, process: str) -> bool:
        assert self._folder is not None, "they share one"
        return socket_of(self._folder, process).exists()

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
            return Placed(scope, self._sealing(scope, send), None)
        given = scope["headers"][index][1].decode("latin-1")
        sealed = self.handles.read(SESSION, given, bound_to=owner_text(scope[CALLER]))
        if sealed is None:  # what nobody gave out is not a session
            return Placed(scope, send, None)
        if not self.is_own(sealed.name):
            return Placed(scope, send, sealed.name)
        headers = list(scope["headers"])
        headers[index] = (SESSION_HEADER, sealed.id.encode("latin-1"))
        return Placed({**scope, "headers": headers}, self._sealing(scope, send), None)

    def place_of_stream(self, scope: Scope, send: Send) -> Placed:
        """The same for HTTP with SSE, where the id of a session stands in the address that its client is told."""
        scope = self._as_sent(scope)
        sealed = self.handles.read(SESSION, session_id_in(scope), bound_to=owner_text(scope[CALLER]))
        if sealed is None:
            return Placed(scope, self._sealing_address(scope, send), None)
        if not self.is_own(sealed.name):
            return Placed(scope, send, sealed.name)
        return Placed({**scope, "query_string": b"session_id=" + sealed.id.encode("latin-1")}, send, None)

    def owner_of(self, scope: Scope, message: Mapping[str, Any]) -> Name | None:
        """The other instance that has what a request belongs to by its content; None: it is answered here, as all that
        is of a session is."""
        params, method = message.get("params"), message.get("method")
        if not isinstance(params, dict) or not isinstance(method, str) or _is_of_session(scope):
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

    def reader_of(self, scope: Scope, message: Mapping[str, Any]) -> Name | None:
        """The other process in which it is known what the caller was given; None: it is this one, or it does not
        matter. A session has a process of its own."""
        if self._readers is None or message.get("method") not in METHODS or not self.looks_at_words():
            return None
        if _is_of_session(scope):
            return None
        process = self._readers.find(owner_text(scope[CALLER]))
        return None if process == self.handles.own.process else Name(self.handles.own.machine, process)

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
        match self.handles.seal.open("forwarded", _forwarded_in(scope)):
            case [str(client), int(hops)]:
                return {**scope, "client": (client, 0), HOPS: hops}
        return scope

    def marking(self, scope: Scope, send: Send) -> Send:
        """A `send` that says to the instance which forwarded a request that one of them answers it."""
        forwarded = _forwarded_in(scope)
        if scope["type"] != "http" or self.handles.seal.open("forwarded", forwarded) is None:
            return send
        mark = (ANSWERED, self.handles.seal.seal("answered", [], bound_to=str(forwarded)).encode())

        async def marking(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], mark]}
            await send(message)

        return marking

    def _session_of(self, scope: Scope, id_: str) -> bytes:
        """The id of a session as its client is told it. It is good for who the client is now: a token that is another
        user's, or has another profile, since the configuration was read anew, is in no session from before."""
        return self.handles.give(SESSION, id_, bound_to=owner_text(scope[CALLER])).encode()

    def _sealing(self, scope: Scope, send: Send) -> Send:
        """A `send` that tells the client the id of its session, sealed."""

        async def sealing(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (key, self._session_of(scope, value.decode("latin-1")))
                    if key.lower() == SESSION_HEADER
                    else (key, value)
                    for key, value in message["headers"]
                ]
                message = {**message, "headers": headers}
            await send(message)

        return sealing

    def _sealing_address(self, scope: Scope, send: Send) -> Send:
        """A `send` that tells the client the address to post to with a sealed id."""

        async def sealing(message: Message) -> None:
            body = bytes(message.get("body", b""))
            if body.startswith(b"event: endpoint"):
                body = re.sub(
                    rb"session_id=(\w+)",
                    lambda found: b"session_id=" + self._session_of(scope, found[1].decode("ascii")),
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
        of_session: bool = False,
        here: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Have another instance answer a request; `here`: serves it where that one is not there."""
        why = await self._forwarded(name, body, request_id, scope, receive, send)
        if why is None:
            return
        if here is not None:
            await here()
        elif why == NO_INSTANCE:
            await _answer_lost(request_id, scope, send, not_one_of_us())
        elif not self.is_over(name):
            await self.not_now(request_id, scope, send)
        elif of_session:
            await _answer_over(request_id, scope, send)
        else:
            await _answer_lost(request_id, scope, send, lost())

    async def _forwarded(
        self, name: Name, body: bytes, request_id: Any, scope: Scope, receive: Receive, send: Send
    ) -> str | None:
        """Why no instance answered; None: it did, or is lost, and that was passed back."""
        hops = scope.get(HOPS, 0)
        target = self.find(name) if hops < MAX_HOPS else None
        if target is None:
            return NOT_THERE
        async with trio.open_nursery() as nursery:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                nursery.cancel_scope.cancel()  # which the other instance takes as it would from the client

            nursery.start_soon(watch)
            client = scope.get("client")
            values = [client[0] if client else "", hops + 1]
            forwarded = self.handles.seal.seal("forwarded", values, for_s=FORWARDED_S)
            answer = await self._ask(target, name, forwarded, body, scope)
            why = await self._refused(answer, name, forwarded)
            if why is None:
                await _pass_back(answer, request_id, scope, send)
            nursery.cancel_scope.cancel()
        return why

    async def _refused(self, answer: Carried | Failure, name: Name, forwarded: str) -> str | None:
        """Why what came is not an instance's answer to what was forwarded; None: it is, or that is not known."""
        from pegboard_httpclient import Failure

        if isinstance(answer, Failure):
            return NOT_THERE if _never_read(answer) else None
        mark = answer.headers.get(ANSWERED.decode())
        is_marked = self.handles.seal.open("answered", mark, bound_to=forwarded) is not None
        if is_marked and answer.status != MISDIRECTED:
            return None
        await answer.aclose()
        if name.machine not in self._warned:
            self._warned.add(name.machine)
            # Of what answers nothing is repeated but the status: it is whoever listens there.
            log.warning(
                "the instance %r is not reached where [plugins.mcp.instances] says (%s, status %d)",
                name.machine,
                "it does not serve that name of a host: see allowed_hosts there"
                if is_marked
                else "what answers there does not have the same state_key, or is not an instance",
                answer.status,
            )
        return NOT_THERE if is_marked else NO_INSTANCE

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
        of_session: bool = False,
        here: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Have another instance answer what was posted, as one of the calls in flight here."""
        is_request = isinstance(message, dict) and "method" in message and "id" in message
        request_id = message["id"] if is_request else None
        if is_request and flights.refuses(message["method"], message.get("params")):
            await answer_json(send, 503, refusal(request_id), retry=True)
            return
        forward = partial(self.forward, name, body, request_id, of_session=of_session, here=here)
        if is_request and message["method"] == LISTEN:
            await lasting(flights, forward, scope, receive, send)
        else:
            await in_flight(flights, forward, scope, receive, send, request_id)

    async def _ask(self, target: Target, name: Name, forwarded: str, body: bytes, scope: Scope) -> Carried | Failure:
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

    async def not_now(self, request_id: Any, scope: Scope, send: Send) -> None:
        """Answer that who has it cannot be reached from here just now."""
        if request_id is None:
            await answer_plainly(scope, send, 503, b"its instance cannot be reached now", retry=True)
        else:
            await answer_json(send, 503, error_answer(request_id, elsewhere()), retry=True)


def not_one_of_us() -> ToolError:
    """Who answered for an instance is not one."""
    message = "what answered for the instance that has this is not one; how far it came is not known"
    return ToolError(ErrorCode.OUTCOME_UNKNOWN, message, reason="instance")


def _is_of_session(scope: Scope) -> bool:
    """Whether it is of a session; from 2026-07-28 on there are none, whatever a header says."""
    headers = dict(scope["headers"])
    return SESSION_HEADER in headers and headers.get(VERSION_HEADER, b"").decode("latin-1") not in MODERN_VERSIONS


def _forwarded_in(scope: Scope) -> str | None:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == FORWARDED), None)


async def _pass_back(answer: Carried | Failure, request_id: Any, scope: Scope, send: Send) -> None:
    from pegboard_httpclient import Failure

    if isinstance(answer, Failure):
        await _answer_lost(request_id, scope, send, lost())
        return
    answering = Answering(send)
    try:
        headers = [
            (key.encode("ascii"), value.encode("latin-1", "replace"))
            for key in PASSED_BACK
            if (value := answer.headers.get(key)) is not None
        ]
        is_stream = not answer.headers.get("content-type", JSON.decode()).startswith(JSON.decode())
        start = {"type": "http.response.start", "status": answer.status, "headers": headers}
        if is_stream:
            await answering(start)
        whole = b""
        while isinstance(piece := await answer.piece(), bytes):
            if is_stream:
                await answering({"type": "http.response.body", "body": piece, "more_body": True})
            else:  # only a whole one is JSON
                whole += piece
        if piece is not None and not is_stream:
            await _answer_lost(request_id, scope, send, lost())
        elif is_stream:
            await answering.end(None if piece is None or request_id is None else error_answer(request_id, lost()))
        else:
            headers.append((b"content-length", b"%d" % len(whole)))
            await answering(start)
            await answering({"type": "http.response.body", "body": whole})
    finally:
        await answer.aclose()


def _never_read(failure: Failure) -> bool:
    from pegboard_httpclient import Kind

    return failure.never_stood or failure.kind is Kind.UNSENDABLE


async def _answer_lost(request_id: Any, scope: Scope, send: Send, error: ToolError) -> None:
    if request_id is None:
        await answer_plainly(scope, send, 404, b"its instance is gone")
    else:
        await answer_json(send, 200, error_answer(request_id, error))


async def _answer_over(request_id: Any, scope: Scope, send: Send) -> None:
    """404, upon which a client begins a new session (2025-11-25, transports, "Session Management")."""
    if request_id is None:
        await answer_plainly(scope, send, 404, b"its instance is gone")
        return
    message = "Session not found: its instance is gone; initialize anew"
    error = ToolError(ErrorCode.NOT_FOUND, message, reason="instance", executed=False)
    answer = {"jsonrpc": "2.0", "id": request_id, "error": {**error_json(error), "code": INVALID_REQUEST}}
    await answer_json(send, 404, answer)


def socket_of(folder: str, process: str) -> Path:
    """Where a process listens for the others of its program."""
    return Path(folder) / f"{process}.sock"


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
