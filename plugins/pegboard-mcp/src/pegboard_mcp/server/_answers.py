"""What the endpoints over HTTP share: the body of a request, an answer in JSON, and the end of one that was cut off."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import trio

from pegboard.schema.envelope import TooLong
from pegboard_mcp.server._flights import cut_off, refusal
from pegboard_mcp.server.auth import CALLER, answer_plainly
from pegboard_mcp.server.messages import NoMessageError, message_in, value_of
from pegboard_serving import LAST_S
from pegboard_serving.bodies import BodyError
from pegboard_serving.sharing import owner_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.types import Message, Receive, Scope, Send

    from pegboard_mcp.server._flights import Flights
    from pegboard_serving.bodies import Bodies

    Endpoint = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = b"application/json"


async def read_message(scope: Scope, receive: Receive, send: Send, bodies: Bodies) -> tuple[bytes, Any] | None:
    """The body of a POST and the JSON in it; None: it was answered, with 400, 408, 413 or 503, or nobody is there."""
    try:
        body = await bodies.read(scope, receive, owner_of(scope[CALLER], scope))
    except BodyError as problem:
        await answer_plainly(scope, send, problem.status, str(problem).encode(), retry=problem.status == 503, end=True)
        return None
    if body is None:
        return None
    try:
        value = value_of(body, bodies.limit)
    except NoMessageError as problem:
        await answer_error(send, 413 if isinstance(body, TooLong) else 400, problem)
        return None
    assert not isinstance(body, TooLong), "it has no value"
    return body.removeprefix(BOM_UTF8), value


async def refuse(flights: Flights, message: Any, send: Send) -> bool:
    """Answer what is not a message, and a request that comes while serving ends; whether it was one of these."""
    try:
        message_in(message)
    except NoMessageError as problem:
        await answer_error(send, 400, problem)
        return True
    if "method" in message and "id" in message and flights.refuses(message["method"], message.get("params")):
        await answer_json(send, 503, refusal(message["id"]), retry=True)
        return True
    return False


async def answer_error(send: Send, status: int, problem: NoMessageError) -> None:
    """Answer what is not a message."""
    await answer_json(send, status, problem.answer.model_dump(mode="json", by_alias=True, exclude_unset=True))


async def answer_json(send: Send, status: int, message: Mapping[str, Any], *, retry: bool = False) -> None:
    """One whole JSON answer, to a request over HTTP."""
    body = json.dumps(message, separators=(",", ":")).encode()
    await answer_plainly({"type": "http"}, send, status, body, kind=JSON, retry=retry)


def session_id_in(scope: Scope) -> str:
    """The id that the address of a message of HTTP with SSE says; empty where it says none."""
    try:
        query: dict[str, list[str]] = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=10)
    except ValueError:  # of more fields
        return ""
    return query.get("session_id", [""])[-1]


def replaying(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives a body once more, and then what comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class Answering:
    """A `send` that knows how far the answer is, so that one which was cut off can be ended properly.

    Args:
        send: ASGI's.
        request_id: of the request that is answered. What the SDK refuses before it looks at the message - a session
            that it does not know, an `Accept` that does not do - it answers under no id; here it gets this one.
    """

    def __init__(self, send: Send, request_id: Any = None) -> None:
        self._send = send
        self._request_id = request_id
        self._refusing: Message | None = None
        self.started = False
        self.done = False

    async def __call__(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start" and self._request_id is not None and _refuses(message):
            self._refusing = message
            return
        if self._refusing is not None:
            start, self._refusing = self._refusing, None
            if not message.get("more_body", False):
                start, message = _under_id(start, message, self._request_id)
            await self._pass(start)
        await self._pass(message)

    async def _pass(self, message: Message) -> None:
        await self._send(message)
        if message["type"] == "http.response.start":
            self.started = True
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self.done = True

    async def end(self, message: Mapping[str, Any] | None = None) -> None:
        """End the answer where it stands, with a last message where there is one."""
        if self.done:
            return
        if not self.started:
            await answer_json(self._send, 503, message or refusal(None), retry=True)
            return
        last = b"" if message is None else sse_event(message)
        await self._send({"type": "http.response.body", "body": last, "more_body": False})


def _refuses(start: Message) -> bool:
    return start["status"] >= 400 and any(
        name.lower() == b"content-type" and value.startswith(JSON) for name, value in start["headers"]
    )


def _under_id(start: Message, message: Message, request_id: Any) -> tuple[Message, Message]:
    """A whole JSON-RPC error that has no id, with one."""
    said = json.loads(message.get("body") or b"null")
    if not isinstance(said, dict) or "error" not in said or said.get("id") is not None:
        return start, message
    body = json.dumps({**said, "id": request_id}, separators=(",", ":")).encode()
    headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
    headers.append((b"content-length", b"%d" % len(body)))
    return {**start, "headers": headers}, {**message, "body": body}


def sse_event(message: Mapping[str, Any]) -> bytes:
    """A JSON-RPC message as one server-sent event."""
    return b"event: message\r\ndata: " + json.dumps(message, separators=(",", ":")).encode() + b"\r\n\r\n"


async def lasting(flights: Flights, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send) -> None:
    """Serve what waits for news, and end it properly when serving ends."""
    answering = Answering(send)
    with trio.CancelScope() as waiting, flights.lasting(waiting.cancel):
        await endpoint(scope, receive, answering)
    if waiting.cancelled_caught:
        with trio.move_on_after(LAST_S):
            await answering.end()


async def in_flight(
    flights: Flights, endpoint: Endpoint, scope: Scope, receive: Receive, send: Send, request_id: Any
) -> None:
    """Serve one call, counted; one that takes too long when serving ends is answered OUTCOME_UNKNOWN."""
    answering = Answering(send, request_id)
    with flights.call() as limit:
        await endpoint(scope, receive, answering)
    if limit.cancelled_caught:
        with trio.move_on_after(LAST_S):
            await answering.end(cut_off(request_id))
