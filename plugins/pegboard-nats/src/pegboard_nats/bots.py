"""The board for bots that are on NATS and have no Python of their own: tools, calls and chat questions on subjects.

    PREFIX.llm.tools.USER   the tools that USER may call, page by page: {"from": 0} -> {"tools": [...], "next": null}
    PREFIX.llm.call.USER    a call: {"name": ..., "arguments": {...}} -> its result, as a line of `batch`
    PREFIX.llm.chat.USER    a question: {"message": ..., "enable_tools": true, "stream": false} -> its answer

Who asks is the last word of the subject, since the server's permissions say who may publish there; without it, nobody.
What a request says of that counts for nothing. Each is answered below its reply subject: `Pb-Kind` is `result` or
`error`, or `event` before that where an answer is streamed, with `Pb-Seq` counting from 0.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import trio

from pegboard import ErrorCode, Fault, PegboardError, PluginError, ToolError, thaw
from pegboard.config import get_logger
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_nats import wire
from pegboard_nats.mailbox import LinkError
from pegboard_nats.protocol import LocalProtocolError, TooLargeError
from pegboard_nats.readers import Readers
from pegboard_nats.settings import BOTS, INBOX, is_inbox
from pegboard_nats.worker import require_heard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import Host, Session
    from pegboard_nats.client import Client, Subscription
    from pegboard_nats.protocol import Message

log = get_logger("pegboard")

CHAT = "chat"
"""The plugin that knows models."""
QUEUE = "bots"
"""Several processes may serve; each request reaches one."""
MEMBERS: Mapping[str, Mapping[str, type]] = {
    "tools": {"from": int},
    "call": {"name": str, "arguments": dict, "id": str},
    "chat": {"message": str, "enable_tools": bool, "stream": bool},
}
"""What a request of each verb may say, and of which type."""
REQUIRED: Mapping[str, tuple[str, ...]] = {"tools": (), "call": ("name",), "chat": ("message",)}


class Bots:
    """Serves one board to bots.

        serving --drain()--> draining --no request runs, or drain_s passed--> over

    Args:
        host: whose tools.
        client: the link to NATS.
        prefix: what all subjects begin with.
        concurrency: requests that may run at once; those above are refused.
        drain_s: how long requests may go on once it is told to end, in seconds.
        model: `provider:model`; None: that of the configuration.
    """

    def __init__(
        self, host: Host, client: Client, prefix: str, *, concurrency: int, drain_s: float, model: str | None = None
    ) -> None:
        self._host = host
        self._readers = Readers(host)
        self._client = client
        self._prefix = f"{prefix}.{BOTS}"
        self._concurrency = concurrency
        self._drain_s = drain_s
        self._name = model
        self._model: Any = None
        self._no_model: PegboardError | None = None
        self._running = 0
        self._idle = trio.Event()
        self._draining = trio.Event()
        self._over = trio.Event()
        self._nursery: trio.Nursery | None = None

    # -- life

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until drained; reports that it serves once the server knows its subjects."""
        subscriptions: list[Subscription] = []
        try:
            async with contextlib.AsyncExitStack() as stack:
                await self._open_model(stack)
                nursery = await stack.enter_async_context(trio.open_nursery())
                await self._client.wait_connected()
                self._nursery = nursery
                for verb in MEMBERS:
                    for subject in (f"{self._prefix}.{verb}", f"{self._prefix}.{verb}.*"):
                        subscriptions.append(self._client.subscribe(subject, self._asked, queue=QUEUE))
                with contextlib.suppress(LinkError, trio.TooSlowError):  # the next link has all of it
                    await self._client.flush()
                require_heard(self._client, self._prefix, "host")
                task_status.started()
                await self._draining.wait()
                await self._client.drain(*subscriptions)
                with trio.move_on_after(self._drain_s):
                    while self._running:
                        self._idle = trio.Event()
                        await self._idle.wait()
                nursery.cancel_scope.cancel()
        finally:
            self._over.set()

    def drain(self) -> bool:
        """Take no more requests, finish those that run, and end; False: that was said before, or no link came yet."""
        is_first = not self._draining.is_set() and self._nursery is not None
        self._draining.set()
        return is_first

    async def wait_over(self) -> None:
        """Until it serves no more."""
        await self._over.wait()

    async def _open_model(self, stack: contextlib.AsyncExitStack) -> None:
        """The model of questions; where there is none, questions are told why, and calls go on."""
        if all(one.name != CHAT for one in self._host.board.plugins):
            self._no_model = PluginError("pegboard-chat is not on the board", hint="pip install 'pegboard-nats[chat]'")
            if self._name is not None:
                raise self._no_model
            return
        from pegboard_chat import open_model

        try:
            self._model = await stack.enter_async_context(open_model(self._host, self._name))
        except PegboardError as problem:
            if self._name is not None:
                raise
            self._no_model = problem

    @property
    def model(self) -> str:
        """What answers questions, for people."""
        return f"no model: {self._no_model}" if self._no_model is not None else str(self._model.name)

    # -- requests

    def _asked(self, message: Message) -> None:
        if self._nursery is None or message.reply is None:
            return
        if not is_inbox(message.reply):  # else it had us publish where it may not itself
            log.warning("a request wants its answer outside of %s, and is not answered", INBOX)
            return
        answers = _Answers(self._client, message.reply)
        if self._running >= self._concurrency:
            text = f"{self._concurrency} requests run already; nothing was done"
            answers.send_nowait(_error(ToolError(ErrorCode.RATE_LIMITED, text, reason="busy", executed=False)))
            return
        self._running += 1
        self._nursery.start_soon(self._serve, message, answers)

    async def _serve(self, message: Message, answers: _Answers) -> None:
        verb, _, user = message.subject.removeprefix(f"{self._prefix}.").partition(".")
        try:
            request = _read(verb, message.payload)
            session = self._host.session(user_id=wire.unescape(user), channel="nats", masks_secrets=True)
            self._readers.join(session)
            await answers.send(await getattr(self, f"_{verb}")(session, request, answers))
        except ToolError as problem:
            await answers.send(_error(problem))
        except PegboardError as problem:
            text = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
            await answers.send(_error(ToolError(ErrorCode.UPSTREAM_ERROR, text, executed=False)))
        except Exception:  # whatever one request meets must not end the others
            log.exception("a request of a bot failed")
            text = "the request failed; its cause is in the log of whoever serves"
            await answers.send(_error(ToolError(ErrorCode.INTERNAL_ERROR, text)))
        finally:
            self._running -= 1
            self._idle.set()

    async def _tools(self, session: Session, request: Mapping[str, Any], answers: _Answers) -> Any:
        visible = [thaw(one.public_definition) for _, one in sorted(session.tools.items())]
        start = request.get("from", 0)
        if not 0 <= start <= len(visible):
            raise _invalid([Fault(("from",), f"0 to {len(visible)}", str(start)[:20])])
        page = wire.page_of(visible, start, self._client.info.max_payload - wire.HEADROOM)
        if page["next"] == start:
            text = f"the definition of {visible[start]['name']!r} is larger than a message may be"
            raise ToolError(ErrorCode.UPSTREAM_ERROR, text, reason="size")
        return page

    async def _call(self, session: Session, request: Mapping[str, Any], answers: _Answers) -> Any:
        session.cuts_results = False  # no later request reads on
        result = await session.call(request["name"], request.get("arguments", {}), id=request.get("id"))
        return result.to_json()

    async def _chat(self, session: Session, request: Mapping[str, Any], answers: _Answers) -> Any:
        if self._no_model is not None:
            raise self._no_model
        from pegboard_chat import Chat, ChatEnded, event_to_json

        is_streamed = request.get("stream", False)
        tools = None if request.get("enable_tools", True) else ()
        chat = Chat(session, self._model, tools=tools, stream=is_streamed)
        calls: list[Any] = []
        answer: dict[str, Any] = {}
        async with chat.ask(request["message"]) as events:
            async for event in events:
                told = event_to_json(event)
                if isinstance(event, ChatEnded):
                    answer = {"content": told.pop("text"), **told}
                elif is_streamed:
                    await answers.send(told, kind=wire.EVENT)
                if told["type"] == "result":
                    calls.append(told)
        del answer["type"]
        return answer | {"tool_calls": [{key: one[key] for key in one if key != "type"} for one in calls]}


class _Answers:
    """What one request is answered with, in order."""

    def __init__(self, client: Client, reply: str) -> None:
        self._client = client
        self._reply = reply
        self._sent = 0

    def _headers(self, kind: str) -> dict[str, str]:
        return {wire.KIND: kind, wire.SEQUENCE: str(self._sent)}

    async def send(self, value: Any, *, kind: str | None = None) -> None:
        """Send a value; one that is larger than a message may be is told of in its place."""
        kind = kind or (wire.ERROR if set(value) == {"error"} else wire.RESULT)
        try:
            await self._client.publish(self._reply, wire.to_bytes(value), headers=self._headers(kind))
            self._sent += 1
        except TooLargeError as problem:
            text = f"it was done, and the answer takes {problem.size:,} bytes; expected at most {problem.max_payload:,}"
            if kind != wire.EVENT:
                self.send_nowait(_error(ToolError(ErrorCode.UPSTREAM_ERROR, text, reason="size", executed=True)))
        except (LinkError, LocalProtocolError) as problem:
            log.warning("a bot could not be answered: %s", problem)

    def send_nowait(self, value: Any) -> None:
        """Send an error without waiting."""
        with contextlib.suppress(LinkError, LocalProtocolError):
            self._client.publish_nowait(self._reply, wire.to_bytes(value), headers=self._headers(wire.ERROR))


def _read(verb: str, payload: bytes) -> dict[str, Any]:
    """The request of a message; nothing is an empty one.

    Raises:
        ToolError: INVALID_INPUT: it is not valid; `faults` has all that is wrong.
    """
    try:
        request = loads(payload, is_envelope=True) if payload else {}
    except JsonTextError as problem:
        raise ToolError(ErrorCode.INVALID_INPUT, f"the request cannot be read: {problem}", executed=False) from None
    if not isinstance(request, dict):
        raise _invalid([Fault((), "an object", type(request).__name__)])
    known = MEMBERS[verb]
    faults = [
        Fault((str(key)[:60],), f"one of {', '.join(known)}; who asks is said by the subject", "another member")
        for key in request.keys() - known
    ]
    faults += [Fault((key,), "a value", "nothing") for key in REQUIRED[verb] if not request.get(key)]
    faults += [
        Fault((key,), f"a value of type {kind.__name__}", type(request[key]).__name__)
        for key, kind in known.items()
        if key in request and type(request[key]) is not kind
    ]
    if faults:
        raise _invalid(faults)
    return request


def _invalid(faults: list[Fault]) -> ToolError:
    text = "the request is wrong: " + "; ".join(map(str, faults[:10]))
    return ToolError(ErrorCode.INVALID_INPUT, text, faults=[fault.to_json() for fault in faults[:50]], executed=False)


def _error(problem: ToolError) -> dict[str, Any]:
    return {"error": problem.to_json()}
