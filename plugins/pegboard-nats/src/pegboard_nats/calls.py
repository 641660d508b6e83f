"""A call, at the host: it is asked of one worker of a group, and what becomes of it is told truly.

Where nobody took it, it was not executed: it is asked again for a while, then `executed: false`. Once a worker may
have it, a silence is not an answer: the worker is asked whether it is there, and where it is not, the outcome is
unknown. Nothing that may have been executed is sent again, unless the tool is read-only or idempotent, and then once.
"""

from __future__ import annotations

import contextlib
import logging
import random
import secrets
from math import inf
from typing import TYPE_CHECKING, Any, NoReturn

import trio

from pegboard import CallContext, ErrorCode, Retry, ToolError, ToolResult
from pegboard.limits import CALL_LEVELS
from pegboard.text import clean_value, is_page
from pegboard.trace import carrier
from pegboard_nats import wire
from pegboard_nats.mailbox import (
    DeniedError,
    LinkError,
    LinkLostError,
    NoRespondersError,
    NotConnectedError,
    SlowConsumerError,
    UnheardError,
)
from pegboard_nats.protocol import LocalProtocolError, TooLargeError, encode_headers
from pegboard_nats.settings import is_inbox

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pegboard_nats.client import Client
    from pegboard_nats.protocol import HeaderBlock, Message

log = logging.getLogger("pegboard")

ASK_AGAIN_S = 2.0
"""How long a call that nobody took is asked again: a worker that is started anew comes back in that time."""
PAUSE_S = (0.01, 0.2)
SILENCES = 3
"""How many questions whether it is alive a worker may leave without an answer; a busy one may be late."""
MAX_QUESTIONS = 100


class _NotTakenError(Exception):
    """Nobody took the call: it was not executed. The arguments say why, and whether workers are there."""

    def __init__(self, why: str, *, is_busy: bool = False) -> None:
        super().__init__(why)
        self.is_busy = is_busy


class _LostError(Exception):
    """A worker may have the call, and nobody will answer."""


class RemoteCalls:
    """Calls of the tools of one group.

    Args:
        client: the link to NATS.
        subjects: of the group.
        alive_s: how often the worker of a call is asked whether it is alive, in seconds.
        claims: whether each is recorded, so that it is executed at most once and its end can be looked up.
    """

    def __init__(self, client: Client, subjects: wire.Subjects, *, alive_s: float, claims: bool = False) -> None:
        self._client = client
        self._subjects = subjects
        self._alive_s = alive_s
        self._claims = claims
        self._records_at: Any = None  # what the server said of itself when it had the records
        self._known: dict[tuple[Any, ...], tuple[str, HeaderBlock]] = {}

    async def call(
        self,
        context: CallContext,
        tool: str,
        fingerprint: str,
        arguments: Mapping[str, Any],
        *,
        repeatable: bool,
        is_counted: bool = False,
    ) -> ToolResult:
        """Have a worker do it.

        Args:
            tool: its name there.
            fingerprint: of the definition that the caller was offered; a worker that has another one does nothing.
            repeatable: whether it may be executed twice.
            is_counted: whether its limits were counted here, so that the worker does not count them.

        Raises:
            ToolError: it failed; the code says whether it may have run.
        """
        nested: int = wire.depth.get() + context.depth + 1
        if nested >= CALL_LEVELS:
            text = f"calls are nested {CALL_LEVELS} deep over hosts; a tool probably calls itself"
            raise ToolError(ErrorCode.FORBIDDEN, text, reason="depth", executed=False)
        body, where = wire.to_bytes(arguments), self._where(context, tool, fingerprint, nested, is_counted)
        claim, again, pause_s = self._claim(), False, PAUSE_S[0]
        now = trio.current_time()
        until = now + ASK_AGAIN_S
        while True:
            if self._claims:
                await self._require_records()
            try:
                return await self._once(context, tool, body, where, claim, now)
            except _NotTakenError as problem:
                if trio.current_time() >= until:
                    raise self._not_executed(tool, problem) from None
            except _LostError as problem:
                if claim is not None and (kept := await self._kept(claim)) is not None:
                    return _answer_of(kept)
                if again or not repeatable:
                    raise self._unknown(tool, str(problem), repeatable=repeatable, claim=claim) from None
                claim = self._claim()  # it may be executed twice, and that is another call then
                again, until = True, trio.current_time() + ASK_AGAIN_S
            await trio.sleep(pause_s * random.uniform(0.5, 1.0))
            pause_s = min(pause_s * 2, PAUSE_S[1])
            now = trio.current_time()

    def _claim(self) -> str | None:
        """A name of the call for its record, where there is to be one."""
        return secrets.token_hex(11) if self._claims else None

    async def _require_records(self) -> None:
        """Have the stream of records, on each link: workers of a group that is named to the server may not make it."""
        from pegboard_nats.claims import Claims
        from pegboard_nats.jetstream import JetStreamError

        # Where this does not succeed, the worker says so of the call that it cannot record.
        with contextlib.suppress(LinkError, JetStreamError, trio.TooSlowError), trio.move_on_after(self._alive_s):
            if (at := self._client.info) is not self._records_at:
                with contextlib.suppress(DeniedError):  # as the permissions were before: workers make it
                    await Claims(self._client, self._subjects).require_stream()
                self._records_at = at

    async def _kept(self, claim: str) -> ToolResult | None:
        """The result that a worker noted before its answer was lost; None: none that is known in time."""
        from pegboard_nats.claims import Claims, result_of

        with contextlib.suppress(LinkError, trio.TooSlowError), trio.move_on_after(self._alive_s):
            record = await Claims(self._client, self._subjects).look(claim)
            return None if record is None else result_of(record)
        return None

    def _where(
        self, context: CallContext, tool: str, fingerprint: str, nested: int, is_counted: bool
    ) -> tuple[str, HeaderBlock]:
        """The subject and the headers that all calls of a user to a tool have in common."""
        session = context.session
        approved = context.tool.limits.requires_confirmation  # else the call would not have come here
        key = (tool, fingerprint, session.user_id, nested, session.can_ask, approved, is_counted)
        if (where := self._known.get(key)) is not None:
            return where
        headers = {wire.FINGERPRINT: fingerprint, wire.DEPTH: str(nested), wire.SHORT: "1"}
        if session.user_id is not None:
            headers[wire.USER] = wire.escape(session.user_id)
        flags = {wire.CAN_ASK: session.can_ask, wire.APPROVED: approved, wire.COUNTED: is_counted}
        headers |= {name: "1" for name, is_so in flags.items() if is_so}
        if len(self._known) >= wire.MAX_CALLERS:
            self._known.clear()
        where = self._known[key] = (self._subjects.call(tool), encode_headers(headers))
        return where

    def _head(self, context: CallContext, common: HeaderBlock, claim: str | None, now: float) -> HeaderBlock:
        """The headers of one attempt: it says what is left of the deadline."""
        left_ms = max(1, int((context.deadline - now) * 1000)) if context.deadline < inf else None
        more = carrier.get()
        if claim is not None:
            more = {**(more or {}), wire.CLAIM: claim}
        return wire.head_of_call(common, context.call_id, left_ms, more)

    async def _once(
        self,
        context: CallContext,
        tool: str,
        body: bytes,
        where: tuple[str, HeaderBlock],
        claim: str | None,
        now: float,
    ) -> ToolResult:
        """Ask one worker.

        Raises:
            _NotTakenError: nobody has it.
            _LostError: somebody may have it, and it will not be answered.
            ToolError: it can be asked of nobody, or it failed.
        """
        conversation = _Conversation(self._client, self._subjects, self._alive_s)
        with conversation.mailbox as mailbox:
            try:
                context.begun()
                subject, common = where
                headers = self._head(context, common, claim, now)
                await self._client.ask(mailbox, subject, body, headers=headers)
                return await conversation.result(context)
            except (LinkError, LocalProtocolError) as problem:
                # Once a worker has it, whatever goes wrong with anything that is sent says nothing of the call.
                if conversation.is_taken or isinstance(problem, LinkLostError | UnheardError | SlowConsumerError):
                    raise _LostError(str(problem)) from None
                conversation.is_over = True
                if isinstance(problem, NoRespondersError):
                    raise _NotTakenError(f"no worker of {self._subjects.group!r} serves it") from None
                if isinstance(problem, NotConnectedError):
                    raise _NotTakenError(str(problem)) from None
                raise self._impossible(tool, problem) from None
            finally:
                if not conversation.is_over:
                    conversation.cancel()

    def _impossible(self, tool: str, problem: Exception) -> ToolError:
        if isinstance(problem, TooLargeError):
            text = (
                f"the arguments of {tool!r} are too large for a worker: {problem.size:,} bytes with their headers, "
                f"expected at most {problem.max_payload:,}; nothing was done"
            )
            return ToolError(ErrorCode.INVALID_INPUT, text, reason="size", executed=False)
        text = f"{tool!r} cannot be asked of the group {self._subjects.group!r}: {problem}; nothing was done"
        return ToolError(ErrorCode.UPSTREAM_ERROR, text, executed=False, retry=Retry.CHANGED.value)

    def _not_executed(self, tool: str, problem: _NotTakenError) -> ToolError:
        text = f"{tool!r} was not executed: {problem}; it was asked for {ASK_AGAIN_S:g} s"
        details = {"group": self._subjects.group, "executed": False, "retry": Retry.SAME.value}
        if problem.is_busy:
            return ToolError(ErrorCode.RATE_LIMITED, text, details, reason="busy")
        return ToolError(ErrorCode.UPSTREAM_ERROR, text, details)

    def _unknown(self, tool: str, why: str, *, repeatable: bool, claim: str | None) -> ToolError:
        call = None if claim is None else f"{self._subjects.group}.{claim}"
        details = {"group": self._subjects.group} | ({"call": call} if call is not None else {})
        if repeatable:
            text = f"the answer of {tool!r} was lost twice: {why}"
            return ToolError(ErrorCode.UPSTREAM_ERROR, text, details, retry=Retry.SAME.value)
        look = "look" if call is None else f"`pegboard nats call-state {call}` says what became of it: look"
        text = f"{tool!r} may have run, and its answer is lost: {why}; {look} before you call it again"
        return ToolError(ErrorCode.OUTCOME_UNKNOWN, text, details)


MAX_PROGRESS = 64
"""Reports of progress that wait for whoever is told; of those that come meanwhile the newest is told alone."""


class _Conversation:
    """What a worker says of one call.

    Attributes:
        mailbox: where it says that.
        instance: the worker that accepted it; None: none so far.
        is_taken: whether some worker has it, whoever that is.
        is_over: whether there is nothing to end at the worker.
    """

    def __init__(self, client: Client, subjects: wire.Subjects, alive_s: float) -> None:
        self._client = client
        self._subjects = subjects
        self._alive_s = alive_s
        self._silences = 0
        self._questions = 0
        self._moot: trio.Event | None = None
        self._reports = 0  # of progress, that wait to be told
        self._newest: Message | None = None  # that came when these were many
        self._parts = 0
        self._taken = bytearray()  # of all parts: however small they are, no more is kept than they hold
        self.mailbox = client.replies(patience_s=alive_s, note=self._note)
        self.instance: str | None = None
        self.is_taken = False
        self.is_over = False

    def _note(self, message: Message) -> bool:
        """Who has the call; nobody is woken for that. A worker that does not say who it is cannot be asked for it, and
        of two that say so the first has it."""
        kind = message.headers.get(wire.KIND)
        if kind == wire.PROGRESS:
            if self._reports >= MAX_PROGRESS:
                self._newest = message
                return True
            self._reports += 1
        if kind != wire.ACCEPTED:
            if self._moot is not None and kind in (wire.RESULT, wire.PART):
                self._moot.set()
            return False
        instance = message.headers.get(wire.INSTANCE, "")
        if not wire.is_id(instance):
            return False
        if self.instance is None:
            self.instance, self.is_taken = instance, True
        return True

    def cancel(self) -> None:
        """Tell the worker that nobody waits any more; whoever may have it, where none has accepted it."""
        with contextlib.suppress(LinkError, LocalProtocolError):
            where = self._subjects.of("cancel", self.instance or "all")
            self._client.publish_nowait(where, self.mailbox.subject.encode())

    async def result(self, context: CallContext) -> ToolResult:
        """Listen until the result is there; raises as `RemoteCalls._once`."""
        lost: str | None = None
        while True:
            try:
                message = await self.mailbox.get() if lost is None else self.mailbox.get_nowait()
            except trio.TooSlowError:
                lost = await self._why_silent()
                continue
            except trio.WouldBlock:
                raise _LostError(str(lost)) from None
            self._silences = 0
            kind = message.headers.get(wire.KIND)
            if kind == wire.RESULT:
                self._take(message)
                self.is_over = True
                return self._read_result(message)
            if kind in (wire.BUSY, wire.STALE):
                self._turned_away(kind)
            self.is_taken = True
            if kind == wire.PART:
                self._take(message)
            elif kind == wire.PROGRESS:
                await self._report(context, message)
            elif kind == wire.ASK:
                await self._ask(context, message)
            elif kind == wire.ACCEPTED:
                raise _LostError("who accepted it did not say who it is")

    async def _report(self, context: CallContext, message: Message) -> None:
        self._reports -= 1
        await _report(context, message)
        if not self._reports and self._newest is not None:
            newest, self._newest = self._newest, None
            await _report(context, newest)

    def _turned_away(self, kind: str) -> NoReturn:
        """The worker does not do it.

        Raises:
            _NotTakenError: nobody has it.
            _LostError: somebody said before that he has it.
        """
        if self.is_taken:
            raise _LostError(f"it was accepted, and then said to be {kind}")
        self.is_over = True
        is_busy = kind == wire.BUSY
        why = "all workers that were asked are busy" if is_busy else "workers have another version of it"
        raise _NotTakenError(why, is_busy=is_busy)

    async def _why_silent(self) -> str | None:
        """Why nothing comes any more, but for what is here already; None: it may yet come.

        Raises:
            _LostError: nobody is there to say so.
        """
        if self.instance is not None:
            return None if await self._is_running() else "its worker does not know of it any more"
        return None if await self._is_accepted() else f"no worker accepted it within {self._alive_s:g} s"

    async def _is_accepted(self) -> bool:
        """Whether a worker has the call, once all is heard that the server has sent so far: on a narrow line a
        worker's word may be behind something large.

        Raises:
            _LostError: the server is silent.
        """
        try:
            await self._client.flush()
        except trio.TooSlowError:
            raise _LostError("the server does not answer") from None
        return self.instance is not None

    async def _is_running(self) -> bool:
        """Whether the worker still has the call; True where it is silent, and may be busy.

        Raises:
            _LostError: it is not there any more.
        """
        assert self.instance is not None
        where = self._subjects.of("alive", self.instance)
        try:
            answer = await self._client.request(where, self.mailbox.subject.encode(), timeout_s=self._alive_s)
        except NoRespondersError:
            raise _LostError("its worker is gone") from None
        except trio.TooSlowError:
            self._silences += 1
            if self._silences >= SILENCES:
                raise _LostError(f"its worker did not answer for {SILENCES * self._alive_s:g} s") from None
            return True
        return answer.payload == b"running"

    def _take(self, message: Message) -> None:
        self._parts += 1
        self._taken += message.payload
        if len(self._taken) > wire.MAX_RESULT:
            raise _LostError(f"its result is larger than {wire.MAX_RESULT:,} bytes")

    def _read_result(self, last: Message) -> ToolResult:
        """The result of all its parts; it ran, whatever it is.

        Raises:
            ToolError: what came is not a result.
        """
        try:
            if last.headers.get(wire.PARTS, "1") != str(self._parts):
                raise ValueError("a part of the result is missing")
            result = ToolResult.from_json_text(self._taken.decode("utf-8", "surrogatepass"))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            text = "the worker's answer cannot be read; the tool ran"
            raise ToolError(ErrorCode.UPSTREAM_ERROR, text, executed=True, retry=Retry.UNKNOWN.value) from None
        return _answer_of(result)

    async def _while_it_is_there(self, ask: Callable[[], Awaitable[None]]) -> bool:
        """Have the person asked as long as the worker waits for that; False: it does not any more, and what it says, or
        its silence, is the answer of the call."""
        moot = self._moot = trio.Event()
        lost: _LostError | None = None

        async def watch() -> None:
            nonlocal lost
            try:
                while not moot.is_set():
                    with trio.move_on_after(self._alive_s):
                        await moot.wait()
                    if not (moot.is_set() or await self._is_running()):
                        moot.set()
            except LinkError:
                moot.set()  # the mailbox says so too
            except _LostError as problem:
                lost = problem
                moot.set()
            nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            await ask()
            nursery.cancel_scope.cancel()
        self._moot = None
        if lost is not None:
            raise lost
        return not moot.is_set()

    async def _ask(self, context: CallContext, message: Message) -> None:
        """Put the worker's question to the caller's person, and send the answer back."""
        asked = wire.from_bytes(message.payload)
        self._questions += 1
        answer: Any = None
        schema, url = asked.get("schema"), asked.get("url")
        # Another address may run something where it is opened, and of a form nothing can be taken out.
        is_shown = (not isinstance(url, str) or is_page(url)) and not clean_value(schema)[1]
        if self._questions <= MAX_QUESTIONS and is_shown and isinstance(question := asked.get("question"), str):

            async def ask() -> None:
                nonlocal answer
                with contextlib.suppress(
                    ToolError
                ):  # nobody is there, or did not answer: the worker says what it means
                    if isinstance(schema, dict) or isinstance(url, str):
                        form = schema if isinstance(schema, dict) else None
                        answer = await context.elicit(question, schema=form, url=url if isinstance(url, str) else None)
                    else:
                        answer = await context.confirm(question)

            if not await self._while_it_is_there(ask):
                return
        if message.reply is None:
            return
        if not is_inbox(message.reply):  # else it had us publish where it may not itself
            raise _LostError("its worker wants the answer to a question outside of its inbox")
        value = dict(answer) if isinstance(answer, dict) or hasattr(answer, "keys") else answer
        try:
            await self._client.publish(message.reply, wire.to_bytes({"answer": value}))
        except TooLargeError:
            log.warning("an answer to a worker of %s is larger than a message may be", self._subjects.group)
            await self._client.publish(message.reply, wire.to_bytes({"answer": None}))


def _answer_of(result: ToolResult) -> ToolResult:
    """A worker's result, as the tool's own.

    Raises:
        ToolError: it is an error.
    """
    if result.error is not None:
        raise result.error
    return result


async def _report(context: CallContext, message: Message) -> None:
    said = wire.from_bytes(message.payload)
    done, total, text = said.get("done"), said.get("total"), said.get("message")
    if isinstance(done, (int, float)):
        await context.progress(
            done, total if isinstance(total, (int, float)) else None, text if isinstance(text, str) else None
        )
