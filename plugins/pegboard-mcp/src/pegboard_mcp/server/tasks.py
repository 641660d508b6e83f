"""Calls that last longer become tasks, where the client takes them: extension `io.modelcontextprotocol/tasks`.

https://modelcontextprotocol.io/seps/2663-tasks-extension. A request of 2026-07-28 whose client declares the extension
is answered with the id of a task after `task_after_s`, or when its tool says so; the work goes on where it was. The
client asks for the state (`tasks/get`), answers what the task asks (`tasks/update`), or gives it up (`tasks/cancel`);
where it listens (`server.listening`), it is told of the state whenever that changes.

A task is an `Exchange` whose request is answered. What runs, and what it asks, is this process's; what came of it is in
the store (`server.task_stores`), and is there for as long as the client was told. An id is sealed (`server.handles`) to
its caller: to any other it is an id of nothing.
"""

from __future__ import annotations

import logging
import secrets
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs
import trio
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY

from pegboard import ErrorCode, ToolError
from pegboard.config import get_logger
from pegboard.errors import reason_of
from pegboard_mcp.server.errors import error_json, fault_at, faulty_params, protocol_error
from pegboard_mcp.server.handles import EXTENSION, TASK, elsewhere, lost, owner_text
from pegboard_mcp.server.task_stores import TaskRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pegboard_mcp.server.elicitation import Asker, Exchange
    from pegboard_mcp.server.handles import Handles, Name, Sealed
    from pegboard_mcp.server.task_stores import TaskStore

log = get_logger("pegboard.mcp.serve")
notice = logging.getLogger("pegboard.notice")

POLL_MS = 1_000
"""How often a client should ask."""
HEADER_MISMATCH = -32020
LAST_S = 2.0
"""How long it may take to write down what serving ends, in seconds."""
RENEW_S, ALIVE_S = 10.0, 30.0
"""How often the store is told that a task is still worked on, and how long after the last word whoever cannot reach its
process takes that for gone, in seconds. Clocks of machines may differ by what is between them."""
MAX_TOLD = 20
"""Causes why tasks are not kept that are told to a person."""
METHODS = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})


class Task:
    """A task that runs here."""

    def __init__(self, exchange: Exchange, record: TaskRecord) -> None:
        self.exchange = exchange
        self.record = record
        self.is_given_up = False
        self.is_over = False
        self.writing = trio.Lock()  # else that it is worked on could be written over what it came to

    def ended(self, why: dict[str, Any] | None = None) -> TaskRecord:
        """What became of it; `why`: the error of one that is cut off."""
        said: dict[str, Any]
        try:
            if why is not None:
                said = {"status": "failed", "error": why}
            else:
                said = {"status": "completed", "result": self.exchange.result()}
        except MCPError as problem:
            error = problem.error
            data = {} if error.data is None else {"data": error.data}
            said = {"status": "failed", "error": {"code": error.code, "message": error.message, **data}}
        except ToolError as refused:
            said = {"status": "failed", "error": error_json(refused)}
        except Exception:  # the work is ours: whatever it raised, the client is told that there is no result
            log.exception("a task failed")
            said = {"status": "failed", "error": {"code": INTERNAL_ERROR, "message": "the call failed"}}
        if self.is_given_up and said["status"] == "failed":
            said = {"status": "cancelled"}
        elif self.is_over and said["status"] == "failed":
            over = "the time of the task was over before the call was done"
            said = {"status": "failed", "error": {"code": INTERNAL_ERROR, "message": over, "data": {"code": "TIMEOUT"}}}
        message = said["error"]["message"] if said["status"] == "failed" else None
        return attrs.evolve(self.record, updated_s=time.time(), message=message, **said)


class Tasks:
    """The tasks of one server, as long as it is driven.

    Args:
        nursery: of what is served.
        store: where they are kept.
        handles: seals their ids.
        ttl_s: how long each is kept.
    """

    def __init__(self, nursery: trio.Nursery, store: TaskStore, handles: Handles, ttl_s: float) -> None:
        self._nursery = nursery
        self._store = store
        self._handles = handles
        self._ttl_s = ttl_s
        self._live: dict[str, Task] = {}
        self._told: set[str] = set()
        self.on_change: Callable[[str], None] = lambda id_: None
        """Told the id of a task, as the store has it, whenever its state is another."""

    def __len__(self) -> int:
        return len(self._live)

    @property
    def working(self) -> int:
        """How many of them wait for no answer of their clients."""
        return sum(not (one.exchange.is_done or one.exchange.open_requests) for one in self._live.values())

    async def create(self, exchange: Exchange) -> dict[str, Any] | None:
        """Make a task of a request; its answer then, or None where there is no place for one more."""
        now = time.time()
        owner = owner_text(exchange.connected.caller)
        record = TaskRecord(
            id=secrets.token_urlsafe(16),
            owner=owner,
            status="working",
            created_s=now,
            updated_s=now,
            until_s=now + self._ttl_s,
            alive_until_s=now + ALIVE_S,
            message=exchange.said,
            tool=exchange.what,
        )
        try:
            if not await self._store.put(record):
                return None
        except Exception as problem:  # whatever a store raises, it keeps nothing: the call is answered when it is done
            log.exception("tasks cannot be kept")
            self._tell(
                "tasks cannot be kept, and calls that last longer are not answered before they are done", problem
            )
            return None
        task = self._live[record.id] = Task(exchange, record)
        exchange.become_task(lambda: self._note(task))
        self._nursery.start_soon(self._watch, task)
        id_ = self._handles.give(TASK, record.id, bound_to=owner, for_s=self._ttl_s)
        return {"resultType": "task", **self._shown(id_, record)}

    def _note(self, task: Task) -> None:
        """The work asks, is answered, or says how far it is, which is what the task's status says then."""
        task.record = attrs.evolve(task.record, message=task.exchange.said, updated_s=time.time())
        self.on_change(task.record.id)

    async def _watch(self, task: Task) -> None:
        """Write down what becomes of a task; one whose time is over is ended."""
        over_at = trio.current_time() + self._ttl_s  # whatever becomes of the clock on the wall
        with trio.move_on_at(over_at):
            while not task.exchange.is_done:
                with trio.move_on_after(RENEW_S):
                    await task.exchange.wait_done()
                    break
                await self._renew(task)
        if not task.exchange.is_done:
            task.is_over = True
            task.exchange.cancel()
            await task.exchange.wait_done()
        task.record = task.ended()
        try:
            is_kept = await self._keep(task, task.record)
            self.on_change(task.record.id)
            if not is_kept:  # then it is known here, as long as this process lives
                await trio.sleep_until(over_at)
        finally:
            self._live.pop(task.record.id, None)
            task.exchange.connected.exchanges.discard(task.exchange)

    async def _renew(self, task: Task) -> None:
        """Say that the task is still worked on."""
        alive = attrs.evolve(task.record, alive_until_s=time.time() + ALIVE_S)
        try:
            async with task.writing:
                await self._store.put(alive)
        except Exception as problem:  # noqa: BLE001 - as above; the next time it may do
            log.warning("that a task is worked on cannot be written down: %s", str(problem) or type(problem).__name__)

    async def _keep(self, task: Task, record: TaskRecord) -> bool:
        try:
            async with task.writing:
                return await self._store.put(record)
        except Exception as problem:  # as above
            log.exception("what came of a task cannot be kept")
            self._tell("what came of a task cannot be kept, and is answered as long as this process lives", problem)
            return False

    def _tell(self, what: str, problem: Exception) -> None:
        """Whoever runs the host reads it, once for each cause."""
        told = f"{what}: {reason_of(problem)}"
        if told not in self._told and len(self._told) < MAX_TOLD:
            self._told.add(told)
            notice.warning("%s; see `task_store` under [plugins.mcp]", told)

    async def aclose(self) -> None:
        """Serving ends: write down of what runs that nobody knows how far it came."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + LAST_S):
            for task in tuple(self._live.values()):
                lost = None if task.exchange.is_done else _lost("the server stopped before the call was done")
                await self._keep(task, task.ended(lost))
            await self._store.aclose()

    # -- what clients ask

    async def answer(self, asker: Asker, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `tasks/get`, `tasks/update` or `tasks/cancel`. What a task came to counts as read by the session
        that is told, which may be another than made it.

        Raises:
            MCPError: -32602, code NOT_FOUND: no task of this caller has that id; -32005: another instance has it, or
                had it.
        """
        id_, owner = params.get("taskId"), owner_text(asker.caller)
        sealed = self._handles.read(TASK, id_, bound_to=owner)
        if sealed is None:
            raise _not_found()
        task = self._live.get(sealed.id)
        if task is None:
            record = await self._stored(sealed, owner)
            if record.status == "working":
                if not self._is_lost(sealed.name, record.alive_until_s):
                    raise protocol_error(elsewhere())
                why = error_json(lost())
                record = attrs.evolve(record, status="failed", message=why["message"], error=why)
            return _told(asker, record, self._detailed(str(id_), record)) if method == "tasks/get" else {}
        if method == "tasks/get":
            return _told(asker, task.record, self._state(str(id_), task))
        if method == "tasks/cancel":
            task.is_given_up = True
            task.exchange.cancel()
            return {}
        responses = params.get("inputResponses")
        if not isinstance(responses, dict):
            raise faulty_params(method, [fault_at(("inputResponses",), "object", responses)])
        task.exchange.give(responses, open_alone=True)
        return {}

    async def known(self, asker: Asker, ids: Iterable[str]) -> dict[str, str]:
        """Those of an asker's ids whose state is known here, each by the id that the store has."""
        found: dict[str, str] = {}
        for text in ids:
            sealed = self._handles.read(TASK, text, bound_to=owner_text(asker.caller))
            if sealed is not None and await self.shown_as(asker, text) is not None:
                found[sealed.id] = text
        return found

    async def shown_as(self, asker: Asker, id_: str) -> dict[str, Any] | None:
        """What `tasks/get` answers; None: an error."""
        try:
            return await self.answer(asker, "tasks/get", {"taskId": id_})
        except MCPError:
            return None

    def _is_lost(self, name: Name, alive_until_s: float | None) -> bool:
        """Whether the process of a task that is not worked on here is no more, or is taken for that."""
        if name == self._handles.own or self._handles.is_over(name):
            return True
        return alive_until_s is not None and alive_until_s < time.time()

    async def _stored(self, sealed: Sealed, owner: str) -> TaskRecord:
        """What is kept of a task.

        Raises:
            MCPError: there is nothing here. Where its process keeps its tasks for itself, that knows more, or is gone.
        """
        try:
            record = await self._store.get(sealed.id)
        except Exception as problem:
            log.exception("tasks cannot be read")
            error = ToolError(ErrorCode.INTERNAL_ERROR, "tasks cannot be read now", retry="same")
            raise protocol_error(error, INTERNAL_ERROR) from problem
        if record is None and sealed.name != self._handles.own:
            raise protocol_error(lost() if self._handles.is_over(sealed.name) else elsewhere())
        if record is None or record.owner != owner:
            raise _not_found()
        return record

    def _state(self, id_: str, task: Task) -> dict[str, Any]:
        if task.record.status != "working":  # it is being written down, or could not be
            return self._detailed(id_, task.record)
        asked = task.exchange.open_requests
        if asked:
            return {**self._shown(id_, attrs.evolve(task.record, status="input_required")), "inputRequests": asked}
        return self._shown(id_, task.record)

    def _detailed(self, id_: str, record: TaskRecord) -> dict[str, Any]:
        shown = self._shown(id_, record)
        if record.result is not None:
            shown["result"] = record.result
        if record.error is not None:
            shown["error"] = record.error
        return shown

    def _shown(self, id_: str, record: TaskRecord) -> dict[str, Any]:
        said = {} if record.message is None else {"statusMessage": record.message}
        return {
            "taskId": id_,
            "status": record.status,
            **said,
            "createdAt": _moment(record.created_s),
            "lastUpdatedAt": _moment(record.updated_s),
            "ttlMs": int(1_000 * (record.until_s - record.created_s)),
            "pollIntervalMs": POLL_MS,
        }


def takes_tasks(capabilities: Any) -> bool:
    """Whether a client declares the extension, with this very request."""
    return capabilities is not None and EXTENSION in (capabilities.extensions or ())


def require_tasks(capabilities: Any) -> None:
    """Require that it does.

    Raises:
        MCPError: -32021: it does not.
    """
    if not takes_tasks(capabilities):
        raise MCPError(
            MISSING_REQUIRED_CLIENT_CAPABILITY,
            f"this needs a client that declares the extension {EXTENSION}",
            {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
        )


def require_header(request: Any, id_: Any) -> None:
    """Hold `Mcp-Name` of a request over HTTP to the task that it is about, as the SDK does for what it knows.

    Raises:
        MCPError: -32020: it says another, or none.
    """
    scope = getattr(request, "scope", None)
    if scope is not None and scope["type"] == "http" and request.headers.get("mcp-name") != id_:
        raise MCPError(HEADER_MISMATCH, "mcp-name header does not match the request body's 'taskId' parameter")


def _told(asker: Asker, record: TaskRecord, shown: dict[str, Any]) -> dict[str, Any]:
    """Have what is shown of a task count as read."""
    if said := [shown[part] for part in ("statusMessage", "result", "error") if part in shown]:
        asker.session.note_read(said, tool=record.tool)
    return shown


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _not_found() -> MCPError:
    return protocol_error(ToolError(ErrorCode.NOT_FOUND, "there is no such task, or its time is over"), INVALID_PARAMS)


def _lost(message: str) -> dict[str, Any]:
    return error_json(ToolError(ErrorCode.OUTCOME_UNKNOWN, message))
