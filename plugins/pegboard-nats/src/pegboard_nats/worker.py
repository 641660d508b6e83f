"""A board's tools for other hosts: one worker of a group.

    serving --drain()--> draining --no call runs, or drain_s passed--> over

A worker dials out; nothing listens on its machine. Each of its tools is a subject of the group's queue group, so NATS
gives a call to one worker that has the tool. The call is answered at once, or accepted, or answered `busy`; it runs as
in any session of this host: its guards, its limits, its audit.

Who calls is in a header. It is trusted, because the server's permissions let hosts alone publish calls.
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import secrets
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import trio

from pegboard import ErrorCode, PluginError, Retry, ToolError, ToolResult, __version__
from pegboard import trace as traces
from pegboard.config import get_logger
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard.text import clean
from pegboard_nats import claims, wire
from pegboard_nats.executor import GroupExecutor
from pegboard_nats.jetstream import JetStreamError
from pegboard_nats.mailbox import LinkError, NotConnectedError
from pegboard_nats.protocol import LocalProtocolError, TooLargeError, encode_headers
from pegboard_nats.readers import Readers
from pegboard_nats.running import Queue, Running
from pegboard_nats.settings import OWN, is_inbox
from pegboard_nats.stats import Stats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard import Confirmation, Host, Session
    from pegboard_nats.client import Client, Subscription
    from pegboard_nats.protocol import Message

log = get_logger("pegboard")
notice = logging.getLogger("pegboard.notice")

LAST_S = 1.0
"""How long a result may wait for a link that was lost; then its caller has given up."""
_WHOLE = encode_headers({wire.KIND: wire.RESULT, wire.PARTS: "1"})
LONG_S = 0.05
"""A tool that kept the loop so long once, in seconds, is accepted before it runs: else its caller hears nothing."""
MAX_MACHINE = 100
"""Of the name of the worker's machine, in characters."""


class Worker:
    """The tools of one host, for a group.

    Args:
        host: whose tools.
        client: the link to NATS.
        subjects: of the group.
        concurrency: calls that may run at once.
        drain_s: how long calls may go on once the worker is told to end, in seconds.
        profile: which tools are served, and how; None: the configuration's default.

    Attributes:
        instance: names this worker, and no other that ever was.
    """

    def __init__(
        self,
        host: Host,
        client: Client,
        subjects: wire.Subjects,
        *,
        concurrency: int,
        drain_s: float,
        profile: str | None = None,
    ) -> None:
        self.instance = secrets.token_hex(11)
        self._host = host
        self._readers = Readers(host)
        self._client = client
        self._subjects = subjects
        self._concurrency = concurrency
        self._drain_s = drain_s
        self._profile = profile
        self._started = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._fingerprints: dict[str, str] = {}  # of what is served, by name: made once, asked for at each call
        self._definitions: list[Mapping[str, Any]] = []
        self._hash = ""
        self._subscriptions: dict[str, Subscription] = {}
        self._running: dict[str, Running] = {}
        self._callers = wire.Callers()
        self._names: dict[str, str] = {}  # of tools, by their subjects
        self._accepted = encode_headers({wire.KIND: wire.ACCEPTED, wire.INSTANCE: self.instance})
        self._queue: Queue | None = None
        self._long: set[str] = set()  # tools that kept the loop
        self._claimed: set[str] = set()
        self._ended = trio.Event()
        self._changed = trio.Event()
        self._draining = trio.Event()
        self._over = trio.Event()
        self._stats = Stats(time.monotonic())
        self._told_large: set[str] = set()
        self._told_away: set[str] = set()
        self._nursery: trio.Nursery | None = None

    def __repr__(self) -> str:
        return f"<Worker {self.instance} of {self._subjects.group}>"

    @property
    def tools(self) -> int:
        """How many tools it serves."""
        return len(self._definitions)

    # -- life

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until drained; reports that it serves once the server knows all of its subjects."""
        stop_watching = self._host.watch(lambda old, new: self._changed.set())
        try:
            async with trio.open_nursery() as self._nursery:
                await self._client.wait_connected()
                self._queue = Queue(self._nursery, self._run, self._accept, self._turn)
                self._nursery.start_soon(self._queue.watch)
                self._serve()
                self._listen("cancel.me", self._subjects.of("cancel", self.instance), self._cancelled)
                self._listen("cancel.all", self._subjects.of("cancel", "all"), self._cancelled)
                self._listen("alive", self._subjects.of("alive", self.instance), self._asked_alive)
                for verb in ("PING", "INFO", "STATS"):
                    for rest in ("", f".{wire.SERVICE}", f".{wire.SERVICE}.{self.instance}"):
                        self._listen(f"srv.{verb}{rest}", f"$SRV.{verb}{rest}", self._asked_service)
                    self._listen(f"srv.{verb}.group", self._subjects.of("service", verb), self._asked_service)
                with contextlib.suppress(LinkError, trio.TooSlowError):  # the next link has all of it
                    await self._client.flush()
                needed = tuple(
                    self._subjects.of(f"{what}.") for what in ("call", "cancel", "alive")
                )  # also without a tool
                require_heard(self._client, needed, "worker")
                self._nursery.start_soon(self._follow_changes)
                task_status.started()
                await self._draining.wait()
                await self._drain()
                self._nursery.cancel_scope.cancel()
        finally:
            self._over.set()
            stop_watching()
            for name in list(self._subscriptions):
                self._unlisten(name)

    def drain(self) -> bool:
        """Take no more calls, finish those that run, and end; False: that was said before, or there is nothing to
        finish since there was no link yet."""
        is_first = not self._draining.is_set() and self._nursery is not None and bool(self._hash)
        self._draining.set()
        return is_first

    async def wait_over(self) -> None:
        """Until it serves no more."""
        await self._over.wait()

    async def _drain(self) -> None:
        ending = [name for name in self._subscriptions if name.startswith(("call.", "srv."))]
        self._say_changed()
        if ending:  # calls that are on their way come yet, and are not turned away
            await self._client.drain(*map(self._subscriptions.pop, ending))
        with trio.move_on_after(self._drain_s):
            await self._wait_idle()
        for running in self._running.values():
            running.is_drained = True
            running.cancel()
        with trio.move_on_after(LAST_S):
            await self._wait_idle()
        with contextlib.suppress(LinkError, trio.TooSlowError):
            await self._client.flush()

    async def _wait_idle(self) -> None:
        while self._running:
            self._ended = trio.Event()
            await self._ended.wait()

    async def _follow_changes(self) -> None:
        """Serve what is on the board now, whenever that changes; and say so after each new link."""
        while True:
            async with trio.open_nursery() as nursery:

                async def either(wait: Any, nursery: trio.Nursery = nursery) -> None:
                    await wait()
                    nursery.cancel_scope.cancel()

                nursery.start_soon(either, self._changed.wait)
                nursery.start_soon(either, self._client.wait_changed)
            self._changed = trio.Event()
            if not self._draining.is_set():
                self._serve()

    def _listen(self, name: str, subject: str, deliver: Any, *, queue: str | None = None) -> None:
        self._subscriptions[name] = self._client.subscribe(subject, deliver, queue=queue)

    def _unlisten(self, name: str) -> None:
        with contextlib.suppress(LinkError):
            self._subscriptions.pop(name).end()

    # -- what is served

    def _serve(self) -> None:
        """Listen for what is on the board now, and for nothing else; tell the hosts where it changed."""
        visible = self._host.session(user_id="", channel="nats", profile=self._profile).tools
        # Tools that are another worker's would go round in circles.
        tools = {name: one for name, one in visible.items() if one.origin.plugin != OWN and not self._is_away(name)}
        max_bytes = self._client.info.max_payload - wire.HEADROOM if self._client.connected else 2**16
        fit, large = wire.fitting(map(wire.definition_of, tools.values()), max_bytes)
        for name in set(large) - self._told_large:
            notice.warning("the tool %s is not served: its definition is larger than a message may be", clean(name)[0])
        self._told_large |= set(large)
        names = {str(one["definition"]["name"]) for one in fit}
        self._fingerprints = {name: one.fingerprint for name, one in tools.items() if name in names}
        self._names = {self._subjects.call(name): name for name in names}
        self._long &= names
        gone = [one for one in self._subscriptions if one.startswith("call.") and one[5:] not in names]
        if gone and self._nursery is not None:  # calls that are on their way are told to ask another worker
            self._nursery.start_soon(self._client.drain, *map(self._subscriptions.pop, gone))
        for name in names:
            if f"call.{name}" not in self._subscriptions:
                self._listen(f"call.{name}", self._subjects.call(name), self._called, queue=wire.QUEUE)
        changed = wire.hash_of(fit)
        if changed != self._hash:
            if "definitions" in self._subscriptions:
                self._unlisten("definitions")
            self._definitions, self._hash = fit, changed
            self._listen(
                "definitions", self._subjects.of("definitions", changed), self._asked_definitions, queue=wire.QUEUE
            )
        self._say_changed()

    def _is_away(self, name: str) -> bool:
        """Whether a group runs the tool: its calls would go round in circles, too."""
        if not isinstance(getattr(self._host.board.registry.plans.get(name), "executor", None), GroupExecutor):
            return False
        if name not in self._told_away:
            self._told_away.add(name)
            notice.warning("the tool %s is not served: its executor sends its calls to a group", clean(name)[0])
        return True

    def _say_changed(self) -> None:
        with contextlib.suppress(LinkError):
            serves = "" if self._draining.is_set() else self._hash
            said = wire.to_bytes({"id": self.instance, "hash": serves})
            self._client.publish_nowait(self._subjects.of("changed"), said)

    def _asked_definitions(self, message: Message) -> None:
        start = wire.from_bytes(message.payload).get("from", 0)
        if type(start) is int and 0 <= start <= len(self._definitions):
            most = min(self._client.info.max_payload - wire.HEADROOM, wire.PAGE)
            self._answer(message, wire.to_bytes(wire.page_of(self._definitions, start, most)))

    def _asked_alive(self, message: Message) -> None:
        key = message.payload.decode("utf-8", "replace")
        is_running = key in self._running or key in self._claimed
        self._answer(message, b"running" if is_running else b"unknown")

    def _asked_service(self, message: Message) -> None:
        """Who is there: `$SRV.VERB...` of all workers, or `PREFIX.G.service.VERB`."""
        verb = message.subject.removeprefix(self._subjects.of("service.")).removeprefix("$SRV.").split(".")[0]
        answers = {"INFO": self._info, "STATS": self._statistics}
        self._answer(message, wire.to_bytes(self._identity(verb) | answers.get(verb, dict)()))

    def _identity(self, verb: str) -> dict[str, Any]:
        metadata = {
            "group": self._subjects.group,
            "prefix": self._subjects.prefix,
            "hash": self._hash,
            "tools": str(len(self._definitions)),
            "concurrency": str(self._concurrency),
            "started": self._started,
            "machine": platform.node()[:MAX_MACHINE],
            "pid": str(os.getpid()),
        }
        if self._host.board.config.core.limit_store == OWN:
            metadata["limits"] = OWN  # a host makes the stream, where our key may not
        kind = f"io.nats.micro.v1.{verb.lower()}_response"
        return {"type": kind, "name": wire.SERVICE, "id": self.instance, "version": __version__, "metadata": metadata}

    def _info(self) -> dict[str, Any]:
        return {"description": "tools of a Pegboard", "endpoints": [self._endpoint() | {"metadata": {}}]}

    def _endpoint(self) -> dict[str, Any]:
        return {"name": "call", "subject": self._subjects.of("call", "*"), "queue_group": wire.QUEUE}

    def _statistics(self) -> dict[str, Any]:
        data = {"running": len(self._running), **self._stats.data(time.monotonic())}
        return {"started": self._started, "endpoints": [self._endpoint() | self._stats.endpoint() | {"data": data}]}

    # -- calls

    def _called(self, message: Message) -> None:
        """Take a call, or turn it away. Whoever does not say that they can do without is told before it is begun."""
        reply = message.reply
        if reply is None or not is_inbox(reply) or self._queue is None or reply in self._running:
            return
        name = self._names.get(message.subject)
        caller, call_id, left_ms, headers = self._callers.read(message.headers)
        if name is None or caller.fingerprint != self._fingerprints.get(name):
            self._answer(message, b"", kind=wire.STALE)
        elif len(self._running) >= self._concurrency:
            self._answer(message, b"", kind=wire.BUSY)
        else:
            running = self._running[reply] = Running(message, reply, name, caller, call_id, left_ms, headers)
            if not caller.is_short or name in self._long:
                self._accept(running)
            self._queue.put(running)

    def _cancelled(self, message: Message) -> None:
        if (running := self._running.get(message.payload.decode("utf-8", "replace"))) is not None:
            running.cancel()

    def _accept(self, running: Running) -> None:
        """Tell the caller that we have it, before anything else is said of it but its result."""
        if not running.is_accepted:
            running.is_accepted = True
            with contextlib.suppress(LinkError, LocalProtocolError):
                self._client.publish_nowait(running.reply, headers=self._accepted)

    def _turn(self) -> None:
        self._host.last_checkpoint = time.perf_counter()  # a task has just begun: nobody was kept from their turn

    def _answer(
        self, message: Message, payload: bytes, *, kind: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer at once; what cannot be sent is as good as lost, and whoever asked finds that out."""
        if message.reply is None or not _is_answered(message):
            return
        named = {**(headers or {}), **({wire.KIND: kind} if kind else {})}
        with contextlib.suppress(LinkError, LocalProtocolError):
            self._client.publish_nowait(message.reply, payload, headers=named or None)

    async def _run(self, running: Running) -> None:
        """One call, from its begin to its answer."""
        name, began = running.name, time.perf_counter()
        claim = None if running.headers is None else running.headers.get(wire.CLAIM)
        result: ToolResult | None = None
        try:
            if not running.is_cancelled:
                result = await (self._call(running) if claim is None else self._call_once(claim, running))
        finally:
            if result is None and running.is_drained:
                text = f"{name!r} was under way when its worker had to end; it is not known whether it was done"
                result = ToolResult.of_error(ToolError(ErrorCode.OUTCOME_UNKNOWN, text))
            took_s = time.perf_counter() - began
            self._count(name, result, took_s)
            if took_s > LONG_S and not running.is_accepted:
                self._long.add(name)
            try:
                if result is not None:
                    is_short = running.caller.is_short
                    payload = wire.short_result(result) if is_short else wire.to_bytes(result.to_json())
                    await self._send_result(running.reply, payload)
            finally:
                del self._running[running.reply]
                self._ended.set()

    def _count(self, name: str, result: ToolResult | None, took_s: float) -> None:
        error = None if result is None else result.error
        code = "CANCELLED" if result is None else None if error is None else error.code.value
        self._stats.count(name, code, took_s, time.monotonic())

    async def _call_once(self, claim: str, running: Running) -> ToolResult:
        """Run the tool once its call is recorded for us, and note how it ended before that is answered."""
        if not claims.is_name(claim):
            text = "the name of the call is not valid: expected 8 to 64 letters, digits, '-' and '_'"
            return ToolResult.of_error(ToolError(ErrorCode.INVALID_INPUT, text, executed=False))
        records = claims.Claims(self._client, self._subjects)
        name, message = running.name, running.message
        digest = claims.digest_of(name, message.headers.get(wire.USER, ""), message.payload)
        told = {"tool": name, "group": self._subjects.group, "instance": self.instance, "digest": digest}
        try:
            sequence = await records.take(claim, told)
        except claims.ClaimedError as problem:
            return claims.answer_of(f"{self._subjects.group}.{claim}", problem.record, digest)
        except (LinkError, JetStreamError, trio.TooSlowError) as problem:
            why = str(problem) or "the server's stream does not answer, as where its disk is full"
            text = f"the call was not begun, since it could not be recorded: {why}"
            refusal = ToolError(ErrorCode.UPSTREAM_ERROR, text, executed=False, retry=Retry.SAME.value)
            return ToolResult.of_error(refusal)
        result: ToolResult | None = None
        self._claimed.add(claim)
        try:
            result = await self._call(running)
        finally:
            with trio.move_on_after(LAST_S, shield=True):
                try:
                    await records.end(claim, sequence, told, result)
                except (LinkError, JetStreamError, LocalProtocolError, trio.TooSlowError) as problem:
                    log.warning("how the call %s ended could not be noted: %s", claim, problem)
            self._claimed.discard(claim)
        return result

    async def _call(self, running: Running) -> ToolResult:
        """Run the tool as whoever calls; who that is, and how long it may take, is in the headers."""
        session, call_id = self._session(running), running.call_id or None
        try:
            arguments = loads(running.message.payload, is_envelope=True)
        except JsonTextError as problem:
            refusal = ToolError(ErrorCode.INVALID_INPUT, f"the arguments cannot be read: {problem}", executed=False)
            return session.refuse_line(refusal, id=call_id or "", name=running.name)
        if running.headers is None and not session.can_ask:
            return await session.call(running.name, arguments, id=call_id)
        with contextlib.ExitStack() as stack:
            if running.headers is not None and (trace := traces.of_mapping(running.headers)) is not None:
                stack.enter_context(traces.following(trace))
            if session.can_ask:  # what holds the deadline has to find it
                stack.enter_context(session.hold_while_asked(running.begin_deadline()))
            return await session.call(running.name, arguments, id=call_id)

    def _session(self, running: Running) -> Session:
        caller = running.caller

        async def confirm(confirmation: Confirmation) -> Any:
            if confirmation.is_acceptance:  # what this machine accepts is not the caller's to say
                return False
            asked = {"question": confirmation.question, "url": confirmation.url}
            if confirmation.schema is not None:
                asked["schema"] = dict(confirmation.schema)  # type: ignore[assignment]
            self._accept(running)
            return await self._ask(running.reply, asked)

        async def progress(call_id: str, done: float, total: float | None, text: str | None) -> None:
            said = wire.to_bytes({"done": done, "total": total, "message": text})
            self._accept(running)
            with contextlib.suppress(LinkError, LocalProtocolError):
                await self._client.publish(running.reply, said, headers={wire.KIND: wire.PROGRESS})

        session = self._host.session(
            user_id=caller.user_id,
            channel="nats",
            profile=self._profile,
            confirm=confirm if caller.can_ask else None,
            on_progress=progress,
        )
        self._readers.join(session)
        session.cuts_results = False  # the caller's host does, and keeps the whole for its own session
        session.counts_limits = not caller.is_counted
        if caller.approved and caller.fingerprint is not None:
            session.approvals.add(caller.fingerprint)
        return session

    async def _ask(self, reply: str, asked: Mapping[str, Any]) -> Any:
        """Put a question to the caller's person; None: no answer came."""
        try:
            with self._client.replies() as mailbox:
                mailbox.asked = reply
                await self._client.publish(
                    reply, wire.to_bytes(asked), reply=mailbox.subject, headers={wire.KIND: wire.ASK}
                )
                answer = wire.from_bytes((await mailbox.get()).payload).get("answer")
        except (LinkError, LocalProtocolError) as problem:
            log.warning("a question could not be put to the caller: %s", problem)
            return None
        return answer if answer is True or isinstance(answer, dict) else (None if answer is None else False)

    async def _send_result(self, reply: str, payload: bytes) -> None:
        """The result; where it cannot be sent at once, the link is waited for."""
        try:
            if len(payload) <= self._most and not self._client.is_behind:
                self._client.publish_nowait(reply, payload, headers=_WHOLE)
                return
        except LinkError:
            log.debug("a result waits for the next link")
        with trio.move_on_after(LAST_S, shield=True):
            await self._send_parts(reply, payload)

    async def _send_parts(self, reply: str, payload: bytes) -> None:
        """A result, in parts where it is larger than a message may be; anew from its first where the link is lost."""
        while True:
            try:
                parts = [payload[at : at + self._most] for at in range(0, len(payload), self._most)]
                for part in parts[:-1]:
                    await self._client.publish(reply, part, headers={wire.KIND: wire.PART})
                last = {wire.KIND: wire.RESULT, wire.PARTS: str(len(parts))}
                await self._client.publish(reply, parts[-1], headers=last)
                return
            except NotConnectedError:
                await self._client.wait_connected()
            except (TooLargeError, LocalProtocolError, LinkError):
                log.exception("the result of a call could not be sent")
                return

    @property
    def _most(self) -> int:
        """Of a result in one message, in bytes.

        Raises:
            NotConnectedError: there is no link.
        """
        return self._client.info.max_payload - wire.HEADROOM


def require_heard(client: Client, below: str | tuple[str, ...], role: str) -> None:
    """Have the server let us hear what we serve.

    Raises:
        PluginError: it said that it does not.
    """
    if refused := sorted(one for one in client.refused if one.startswith(below)):
        text = f"the server does not let us listen to {refused[0]!r}"
        raise PluginError(text, hint=f"name the key of a {role} as `credentials` under [plugins.nats]")


def _is_answered(message: Message) -> bool:
    """Whether somebody waits for an answer, where answers may go: whoever asks must not have us publish elsewhere."""
    return message.reply is not None and is_inbox(message.reply)
