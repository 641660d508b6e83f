"""One connection to an MCP server: negotiated, with requests as raw JSON and what the server asks back.

Two paths share the link. The SDK's dispatcher and session have the negotiation and everything that the server asks;
requests of the board go past both, since a call needs no models, no spans and no streams of its own: a request is
written by the task that makes it, which then sleeps until the reader wakes it. `Tap` stands between link and
dispatcher and takes out what answers those. Nothing that a server sends is validated here, so one odd tool costs no
list.

Invariants: a request ends with its answer, `RpcError`, `Lost` or the caller's cancellation, and leaves nothing in
`_waiting`; `Lost.written` is False only where the server cannot have read the request as a whole; a request that is
given up is cancelled at the server by a task of the connection, so that no caller waits for that; an answer without a
waiting task is dropped.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio
import attrs
import mcp_types as types
import trio
from mcp.client.session import ClientRequestContext, ClientSession
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp.shared.subscriptions import LISTEN_STREAM_METHODS, SUBSCRIPTION_ID_META_KEY
from pydantic import ValidationError

from pegboard import Retry
from pegboard.config import get_logger
from pegboard.errors import reason_of
from pegboard.trace import carrier
from pegboard_mcp import __version__
from pegboard_mcp.client._errors import LinkError, Lost, RpcError
from pegboard_mcp.client._plain import is_number
from pegboard_mcp.client._sdk import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
)
from pegboard_mcp.client.negotiation import Agreement, Dispatcher, Negotiation
from pegboard_mcp.client.rpc import details_in
from pegboard_mcp.client.tap import HeardReader, HeardWriter, Outbox, Tap, Waiting, number_of
from pegboard_mcp.client.transports import NOT_RUN, NUMBER_HEADER, open_link
from pegboard_mcp.client.transports._http_errors import meaning_over_http

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from pegboard_mcp.client.by_hand import ByHand
    from pegboard_mcp.client.journal import Journal
    from pegboard_mcp.definitions import ServerDefinition

    OnChange = Callable[[str, Mapping[str, Any]], None]
    from pegboard_mcp.client.tap import OnNews

    OnProgress = Callable[[float, float | None, str | None], Awaitable[None]]

log = get_logger("pegboard.mcp")

TASKS = "io.modelcontextprotocol/tasks"
"""The extension by which a server may answer a call with a task (`client.tasks`)."""
FIRST_ID = 1 << 30
"""Requests of the board are counted from here, those of the SDK from 1."""
MAX_ROUNDS = 10
"""How often a server may ask for more before it answers one request."""
STATE_PAUSES_S = (0.05, 0.25)
"""The first and the longest pause before a request is repeated that the server only wants to see again."""
MAX_INSTANCES = 20
"""How often a balancer may miss the instance that waits for a request."""
MAX_PROGRESS = 100
"""Of a listener that is slower than its server the last so many reports are kept."""
MAX_UNTAKEN = 100
"""While a server leaves so many answers untaken, what it asks is dropped; and of so many requests that were given up at
once it is told."""
LISTEN = "subscriptions/listen"
MAX_TASK_STREAMS = 16
"""Tasks of one server that it tells of at once, each on a stream of its own; it is asked about the others."""
DRAIN_S = 1.0
"""How long answers that lie in the pipe of a dead server are waited for."""


class Connection:
    """A server that answers. Made by `open_connection`; any task may send requests through it.

    Attributes:
        session: the SDK's, for what the server asks.
        version: of the protocol, as negotiated.
        modern: whether that is of the era without a handshake.
        capabilities: what the server says it offers, as JSON.
        server_info: its name and version as JSON, where it says them.
        agreed: all of that together, once it was negotiated.
        header_maps: which arguments of a tool travel as headers too, by its name; the list of tools fills it in.
        is_open: whether requests may still be sent.
        deadline: when the first requests have to be answered, in seconds of the loop's clock.

    .. versionadded:: 0.1
    """

    def __init__(
        self,
        definition: ServerDefinition,
        on_change: OnChange | None = None,
        journal: Journal | None = None,
        by_hand: ByHand | None = None,
    ) -> None:
        self.definition = definition
        self._journal = journal
        self._by_hand = by_hand
        self.version = ""
        self.modern = False
        self.capabilities: dict[str, Any] = {}
        self.server_info: dict[str, Any] = {}
        self.instructions: str | None = None
        self.agreed: Agreement | None = None
        self.header_maps: dict[str, Mapping[tuple[str, ...], str]] = {}
        self.is_open = False
        self.deadline = float("inf")
        self.session: ClientSession
        self._gone = trio.Event()
        self._ended = trio.Event()
        self._on_change = on_change
        self._ids = count(FIRST_ID)
        self._waiting: dict[Any, Waiting] = {}
        self._has_headers = definition.transport == "http"
        self._envelope: dict[str, Any] | None = None
        self._headers: dict[str, str] = {}
        self._link: Any = None
        self._write: Any = None
        self._outbox: Outbox | None = None
        self._is_flooded = False
        self._untold = 0
        self._tells_of_tasks = True
        self._task_streams = 0
        self._nursery: trio.Nursery
        self._log_level: str | None = None

    # -- requests

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> dict[str, Any]:
        """Send a request and wait for its result, which is raw JSON.

        Args:
            method: of MCP.
            params: of the request; `_meta` of it is completed, the mapping is not changed.
            timeout_s: bounds the whole request, whatever the server sends meanwhile; None: nothing but the caller does.
            on_progress: awaited with each report in the order they came, by the task that makes the request.

        Raises:
            RpcError: the server answered with an error.
            Lost: the connection ended, and the answer will not come.
            trio.TooSlowError: `timeout_s` is over.
        """
        if timeout_s is not None:
            with trio.fail_after(timeout_s):
                return await self.request(method, params, on_progress=on_progress)
        raw = await self._send(method, params, on_progress)
        if raw.get("resultType") == "input_required":
            raw = await self._answer_rounds(raw, method, params, on_progress)
        if raw.get("resultType") == "task":
            from pegboard_mcp.client.tasks import follow

            if method != "tools/call" or not self.modern:
                raise RpcError(types.INTERNAL_ERROR, f"it answered {method} with a task, which it cannot become")
            raw = await follow(self, raw, on_progress)
        return raw

    async def send(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """One request, whatever its result says of itself; raises as `request`."""
        return await self._send(method, params, None)

    async def send_written(self, method: str, params: Mapping[str, Any] | None, *, completes: bool) -> dict[str, Any]:
        """One request as a person wrote it; raises as `request`.

        Args:
            method: any.
            params: any.
            completes: whether `_meta` gets what every request of the era says there; what is written stands.
        """
        if completes and self._envelope is not None:
            params = dict(params or {})
            written = params.get("_meta")
            params["_meta"] = {**self._envelope, **(written if isinstance(written, dict) else {})}
        return await self._send(method, params, None, is_written=True)

    def start_soon(self, work: Callable[[], Awaitable[Any]]) -> bool:
        """Have something said to the server that nobody waits for; False: it is not, since the connection ends."""
        if self.is_open and self._untold < MAX_UNTAKEN:  # one that reads nothing is not told on and on
            self._untold += 1
            self._nursery.start_soon(self._say, work)
        return self.is_open

    def leave_word(self, method: str, params: Mapping[str, Any]) -> None:
        """Have something said as the last thing of all, where the end of the connection is not word enough."""
        last_words = getattr(self._link, "last_words", None)
        if last_words is not None and len(last_words) < MAX_UNTAKEN:
            number = next(self._ids)
            stamped = self._stamped(params, None)
            message = types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=stamped)
            last_words.append((message, self._metadata(method, params, number).headers or {}))

    async def _say(self, work: Callable[[], Awaitable[Any]]) -> None:
        try:
            await work()
        finally:
            self._untold -= 1

    async def listen(self, params: Mapping[str, Any]) -> None:
        """Open a stream of changes and wait until it ends; what comes on it goes to `on_change`.

        Raises:
            RpcError: the server has no such stream, or ended it.
            Lost: the connection ended.
        """
        await self._send(LISTEN, params, None, news=self._on_change or _ignore)

    def hear_of_task(self, id_: str, on_news: OnNews) -> Callable[[], None]:
        """Have a task told of by its server, where that does; returns what ends it.

        Args:
            id_: of the task.
            on_news: hears of the acknowledgement, of each state, and of the end, as the method "".
        """
        if not self.is_open or not self._tells_of_tasks or self._task_streams >= MAX_TASK_STREAMS:
            return lambda: None
        scope = trio.CancelScope()
        self._task_streams += 1
        self._nursery.start_soon(self._hear_of_task, id_, on_news, scope)
        return scope.cancel

    async def _hear_of_task(self, id_: str, on_news: OnNews, scope: trio.CancelScope) -> None:
        try:
            with scope:
                await self._send(LISTEN, {"notifications": {"taskIds": [id_]}}, None, news=on_news)
        except RpcError as problem:
            self._tells_of_tasks = problem.code != types.METHOD_NOT_FOUND
        except Lost:
            pass  # who follows the task finds out
        finally:
            self._task_streams -= 1
            on_news("", {})

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification; one that cannot be sent is dropped."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = dict(params)
        headers = {**self._headers, MCP_METHOD_HEADER: method} if self.modern else self._headers
        metadata = ClientMessageMetadata(headers=headers) if self._has_headers else None
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._write.send(SessionMessage(types.JSONRPCNotification(**message), metadata))

    async def _send(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        on_progress: OnProgress | None,
        *,
        news: OnNews | None = None,
        is_written: bool = False,
    ) -> dict[str, Any]:
        if not self.is_open:
            raise Lost(written=False, why=self.why())
        number = next(self._ids)
        waiting = Waiting(progress=on_progress is not None, news=news)
        stamped = dict(params or {}) if is_written else self._stamped(params, number if on_progress else None)
        message = SessionMessage(
            types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=stamped),
            self._metadata(method, params, number) if self._has_headers else None,
        )
        self._waiting[number] = waiting
        try:
            try:
                await self._write.send(message)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                raise Lost(written=False, why=self.why()) from None
            while waiting.answer is None:
                if waiting.progress:
                    await self._report(waiting.progress, on_progress)
                    continue
                waiting.task = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(waiting.give_up)
        except trio.Cancelled:
            self._give_up(number)
            raise
        finally:
            del self._waiting[number]
        if waiting.progress:
            await self._report(waiting.progress, on_progress)
        if type(waiting.answer) is dict:
            return waiting.answer
        raise waiting.answer

    async def _report(self, reports: list[tuple[float, float | None, str | None]], on_progress: Any) -> None:
        while reports:
            try:
                await on_progress(*reports.pop(0))
            except Exception:
                log.exception("what listens to the progress of %s failed", self.definition.name)

    def _give_up(self, number: int) -> None:
        """Tell the server, from a task of the connection: whoever gave up waits for nothing more."""
        if (give_up := getattr(self._link, "give_up", None)) is not None:
            give_up(number)
        params = {"requestId": number, "reason": "nobody waits for it any more"}
        self.start_soon(functools.partial(self.notify, "notifications/cancelled", params))

    def _stamped(self, params: Mapping[str, Any] | None, token: int | None) -> dict[str, Any] | None:
        envelope, trace = self._envelope, carrier.get()
        if envelope is None and token is None and trace is None:
            return dict(params) if params else {}
        stamped = dict(params) if params else {}
        meta = {**(trace or {}), **(stamped.get("_meta") or {}), **(envelope or {})}
        if token is not None:
            meta["progressToken"] = token
        stamped["_meta"] = meta
        return stamped

    def _metadata(self, method: str, params: Mapping[str, Any] | None, number: int) -> ClientMessageMetadata:
        # The trace stands in `_meta` too; what looks at HTTP alone, a proxy or a gateway, reads it here.
        headers = {**self._headers, **(carrier.get() or {}), NUMBER_HEADER: str(number)}
        if self.modern:
            headers[MCP_METHOD_HEADER] = method
            params = params or {}
            key = "taskId" if method.startswith("tasks/") else NAME_BEARING_METHODS.get(method)
            if key is not None and isinstance(name := params.get(key), str):
                headers[MCP_NAME_HEADER] = encode_header_value(name)
                if method == "tools/call" and (mapped := self.header_maps.get(name)):
                    headers |= mcp_param_headers(mapped, params.get("arguments") or {})
        return ClientMessageMetadata(headers=headers)

    # -- what the server asks before it answers (2026-07-28)

    async def _answer_rounds(
        self, raw: dict[str, Any], method: str, params: Mapping[str, Any] | None, on_progress: OnProgress | None
    ) -> dict[str, Any]:
        pause_s = STATE_PAUSES_S[0]
        for _ in range(MAX_ROUNDS):
            try:
                asked = types.InputRequiredResult.model_validate(raw)
            except ValidationError:
                raise RpcError(types.INTERNAL_ERROR, "it asks for more in a form that cannot be read") from None
            again: dict[str, Any] = dict(params or {})
            if asked.input_requests:
                pause_s = STATE_PAUSES_S[0]
                again["inputResponses"] = {
                    key: await self.answer(key, request, raw["inputRequests"][key])
                    for key, request in asked.input_requests.items()
                }
            else:
                await trio.sleep(pause_s)
                pause_s = min(2 * pause_s, STATE_PAUSES_S[1])
            if asked.request_state is not None:
                again["requestState"] = asked.request_state
            raw = await self._send_round(method, again, on_progress)
            if raw.get("resultType") != "input_required":
                return raw
        raise RpcError(types.INTERNAL_ERROR, f"it asked for more than {MAX_ROUNDS} times before it answered")

    async def _send_round(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None
    ) -> dict[str, Any]:
        """Repeat a request with answers; once more where its balancer gave it to another instance than that which waits
        for it, which has then done nothing with it."""
        for left in reversed(range(MAX_INSTANCES)):
            try:
                return await self._send(method, params, on_progress)
            except RpcError as problem:
                told = details_in(problem.data)
                if not left or (told.get("reason"), told.get("retry")) != ("instance", Retry.SAME):
                    raise
                await trio.sleep(STATE_PAUSES_S[0])
        raise AssertionError("the last refusal is raised")

    async def answer(self, key: str, request: Any, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to what a server asks in its own answer.

        Args:
            key: of the request.
            request: `InputRequest` of the SDK.
            raw: the same as it came.

        Raises:
            RpcError: it is refused.
        """
        if self._by_hand is not None:
            answer = await self._by_hand.answer(raw)
            if (error := answer.get("error")) is not None:  # an answer of this era has no place for it
                raise RpcError(error["code"], error["message"], error.get("data"))
            result: dict[str, Any] = answer["result"]
            return result
        context = ClientRequestContext(session=self.session, request_id=key)
        response = await self.session.dispatch_input_request(context, request)
        if isinstance(response, types.ErrorData):
            raise RpcError(response.code, response.message, response.data)
        return response.model_dump(by_alias=True, mode="json", exclude_none=True)

    # -- what comes from the link

    def take(self, item: Any) -> bool:
        """Whether a message answers the board, and was handed to the task that waits for it."""
        if type(item) is not SessionMessage:
            return False
        message = item.message
        if isinstance(message, types.JSONRPCResponse):
            return self._settle(message.id, message.result)
        if isinstance(message, types.JSONRPCError):
            return self._settle(message.id, self._problem_of(message.error))
        if isinstance(message, types.JSONRPCNotification):
            return self._hear(message.method, message.params or {})
        return self._is_flood() or self._is_for_hand(message)

    def _is_for_hand(self, message: types.JSONRPCRequest) -> bool:
        """Whether a person answers a request of the server, and was asked."""
        if self._by_hand is None or not self._by_hand.takes(message.method):
            return False
        self._nursery.start_soon(self._by_hand.reply, message, self._send_answer)
        return True

    async def _send_answer(self, message: types.JSONRPCResponse | types.JSONRPCError) -> None:
        metadata = ClientMessageMetadata(headers=self._headers) if self._has_headers else None
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._write.send(SessionMessage(message, metadata))

    def _is_flood(self) -> bool:
        """Whether the server asks on and on and takes no answers: more questions are dropped, or they would pile up."""
        if self._outbox is None or self._outbox.waiting < MAX_UNTAKEN:
            return False
        if not self._is_flooded:
            self._is_flooded = True
            log.warning("the MCP server %s asks, and does not take the answers: more is dropped", self.definition.name)
        return True

    def _settle(self, number: Any, answer: Any) -> bool:
        number = number_of(number)
        waiting = self._waiting.get(number)
        if waiting is not None:
            waiting.settle(answer)
        # One that nobody waits for any more ends here too.
        return number is not None and number >= FIRST_ID

    def _problem_of(self, error: types.ErrorData) -> Exception:
        """An error as it is raised. Some come from the transport: a request that was not taken, an answer that broke
        off."""
        if error.code == NOT_RUN:
            return Lost(written=False, why=self.why())
        if self._has_headers:
            note, limit = getattr(self._link, "note", None), self.definition.max_message_bytes
            if (meant := meaning_over_http(error, note, limit)) is not None:
                return meant
        return RpcError(error.code, error.message, error.data)

    def _hear(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether a notification was for the board alone."""
        if method == "notifications/progress":
            return self._hear_progress(params)
        if method == "notifications/cancelled":  # the server's word that a stream is over, or a request of its own
            if self._by_hand is not None:
                self._by_hand.take_back(params.get("requestId"))
            waiting = self._waiting.get(number_of(params.get("requestId")))
            if waiting is not None and waiting.news is not None:
                waiting.settle(RpcError(types.INTERNAL_ERROR, "it ended the stream"))
            return waiting is not None
        if method in ("notifications/subscriptions/acknowledged", "notifications/tasks"):
            meta = params.get("_meta")
            number = number_of(meta.get(SUBSCRIPTION_ID_META_KEY)) if isinstance(meta, dict) else None
            waiting = self._waiting.get(number)
            if waiting is not None and waiting.news is not None:
                waiting.news(method, params)
            return waiting is not None
        if method in LISTEN_STREAM_METHODS and self._on_change is not None:
            self._on_change(method, params)
        return False

    def _hear_progress(self, params: Mapping[str, Any]) -> bool:
        waiting = self._waiting.get(number_of(params.get("progressToken")))
        done, total, given = (params.get(key) for key in ("progress", "total", "message"))
        if waiting is None or waiting.progress is None or not is_number(done):
            return False
        if len(waiting.progress) >= MAX_PROGRESS:
            del waiting.progress[0]
        total = total if is_number(total) else None
        waiting.progress.append((float(done or 0), total, given if isinstance(given, str) else None))
        waiting.wake()
        return True

    # -- its end

    def lose(self) -> None:
        """The other side is gone: nothing more is sent. Answers that lie in the pipe are still read."""
        self.is_open = False
        self._gone.set()

    def ended(self) -> None:
        """Nothing more comes: whoever waits for an answer is told."""
        self.lose()
        self._ended.set()
        if self._waiting:
            lost = self.why()
            for waiting in tuple(self._waiting.values()):
                waiting.settle(Lost(written=True, why=lost))

    async def wait_end(self) -> None:
        """Wait until the connection is of no more use, and nobody waits for an answer that lies in the pipe."""
        await self._gone.wait()
        with trio.move_on_after(DRAIN_S):
            await self._ended.wait()

    def why(self) -> LinkError:
        """What ended it."""
        why: LinkError = self._link.why()
        return why

    def refusals(self) -> list[str]:
        """What the sandbox of a confined server refused to it, in words."""
        found: list[str] = getattr(self._link, "refusals", list)()
        return found

    async def explain(self) -> LinkError:
        """`why`, after a short wait for what the server may still say."""
        why: LinkError = await self._link.explain()
        return why

    @contextlib.asynccontextmanager
    async def by(self, deadline: float) -> AsyncIterator[None]:
        """The first requests, which have to end in time.

        Raises:
            LinkError: they did not, or the server is gone; it says what is known of it.
        """
        try:
            with trio.move_on_at(deadline) as scope:
                yield
        except Lost:
            raise await self.explain() from None
        if scope.cancelled_caught:
            why = await self.explain()
            if why.kind in ("silent", "timeout") and self.version:
                limit = f"{self.definition.connect_s:g} s"
                why = LinkError("silent", f"it did not list what it offers within {limit}", "Give it more: `timeout`.")
            raise why

    # -- its beginning

    def bind(self, link: Any, nursery: trio.Nursery, callbacks: Mapping[str, Any]) -> ClientSession:
        """Put the SDK's session on the link."""
        read, write = link.read, link.write
        if (journal := self._journal) is not None and journal.is_heard:
            read, write = HeardReader(read, journal), HeardWriter(write, journal)
        self._link, self._write, self._nursery = link, write, nursery
        self._outbox = Outbox(write)
        dispatcher = Dispatcher(Tap(read, self.take, self.ended), self._outbox)
        dispatcher.config = self.definition.config
        self._dispatcher = dispatcher
        info = types.Implementation(name=self.definition.client_name, version=__version__)
        self.session = ClientSession(dispatcher=dispatcher, client_info=info, **callbacks)
        return self.session

    async def negotiate(self) -> None:
        """Agree on a version of the protocol, and have what the server says of itself.

        Raises:
            LinkError: there is none to agree on, or the server does not let itself be talked to.
        """
        negotiation = Negotiation(self.session, self.definition, is_open=lambda: self.is_open, explain=self.explain)
        agreed = self.agreed = await negotiation.agree()
        self.version, self.modern = agreed.version, agreed.modern
        self.capabilities, self.server_info, self.instructions = (
            agreed.capabilities,
            agreed.server_info,
            agreed.instructions,
        )
        self._headers = {MCP_PROTOCOL_VERSION_HEADER: self.version}
        if self.modern:
            self._envelope = {
                types.PROTOCOL_VERSION_META_KEY: self.version,
                types.CLIENT_INFO_META_KEY: {"name": self.definition.client_name, "version": __version__},
                types.CLIENT_CAPABILITIES_META_KEY: _with_tasks(self._dispatcher.capabilities or {}),
                types.LOG_LEVEL_META_KEY: _log_level(self.definition.name),
            }


def _with_tasks(capabilities: dict[str, Any]) -> dict[str, Any]:
    """What the SDK declares, and that a call may be answered with a task."""
    return {**capabilities, "extensions": {**capabilities.get("extensions", {}), TASKS: {}}}


def _log_level(name: str) -> str:
    """What a server shall log: as much as somebody reads here."""
    logger = logging.getLogger(f"pegboard.mcp.server.{name}")
    return next((given for given in ("debug", "info") if logger.isEnabledFor(_LEVELS[given])), "warning")


_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO}


def _ignore(method: str, params: Mapping[str, Any]) -> None:
    """Nobody hears of it."""


@contextlib.asynccontextmanager
async def open_connection(
    definition: ServerDefinition,
    callbacks: Mapping[str, Any],
    *,
    on_gone: Callable[[], None],
    on_change: OnChange | None = None,
    on_failed: Callable[[LinkError], None] | None = None,
    on_install: Callable[[bool], None] = lambda begins: None,
    journal: Journal | None = None,
    by_hand: ByHand | None = None,
) -> AsyncIterator[Connection]:
    """A negotiated connection that ends with the block.

    Args:
        definition: of the server.
        callbacks: keyword arguments of the SDK's `ClientSession`: who answers what the server asks.
        on_gone: called once, synchronously, when the other side is gone and before anybody is told.
        on_change: hears of notifications that a list changed, or a resource was updated: method and params.
        on_install: hears True when the server's package begins to be installed, and False when that is over.
        on_failed: hears why the server cannot be talked to, before it is ended, which may take seconds.
        journal: keeps what it says beside its answers, and tells whoever listens of all.
        by_hand: has a person answer what it asks, in the place of `callbacks`.

    Raises:
        LinkError: it cannot be reached or negotiated with, or the SDK's side of it broke.

    .. versionadded:: 0.1
    """
    arrived: Callable[[], None] | None = None
    if definition.transport == "stdio":
        from pegboard_mcp.client.transports.install import install, installs_as_it_starts, note_installed

        await install(definition, on_install)
        if installs_as_it_starts(definition):
            on_install(True)
            arrived = functools.partial(note_installed, definition)
            definition = attrs.evolve(definition, connect_s=definition.connect_s + definition.install_s)
    connection = Connection(definition, on_change, journal, by_hand)
    problem: Exception | None = None

    def gone() -> None:
        connection.lose()
        on_gone()

    deadline = connection.deadline = trio.current_time() + definition.connect_s
    async with open_link(definition, gone) as link:
        link.journal = journal
        if getattr(link, "asked", False):  # a person took the time that a login takes
            deadline = connection.deadline = trio.current_time() + definition.connect_s
        try:
            # The SDK's session and the nursery would put what leaves the block into groups: it is raised again outside.
            async with trio.open_nursery() as nursery, connection.bind(link, nursery, callbacks):
                connection.is_open = not link.gone.is_set()
                try:
                    async with connection.by(deadline):
                        await connection.negotiate()
                    if arrived is not None:
                        arrived()
                        on_install(False)
                        deadline = connection.deadline = trio.current_time() + definition.connect_s
                    yield connection
                except Exception as raised:  # noqa: BLE001 - raised again below
                    problem = raised
                    if on_failed is not None and isinstance(raised, LinkError):
                        on_failed(raised)
                finally:
                    connection.is_open = False
                    nursery.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            rest = group.split(trio.Cancelled)[1]
            if rest is None or rest.subgroup(KeyboardInterrupt) is not None:
                raise
            log.exception("the connection to %s broke", definition.name, exc_info=rest)
            if problem is None or isinstance(problem, (LinkError, Lost)):  # else it is the block's own
                problem = LinkError("lost", f"the connection broke: {reason_of(_leaf(rest))}", "Call again.")
        finally:
            connection.ended()
    if problem is not None:
        raise problem


def _leaf(problem: BaseException) -> BaseException:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem
