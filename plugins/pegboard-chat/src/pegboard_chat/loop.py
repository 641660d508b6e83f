"""The loop: a question and the tools to the model, its calls to the session, their results back, until it answers.

Theory. `Chat.ask` is a context manager that owns a nursery with one task: the question. The task asks the model, runs
calls and puts events into a queue; whoever iterates takes them out. No scope and no nursery is open across a `yield`
of a generator, so events may be read under any deadline, and left at any time: leaving the block cancels the task,
which closes the connection.

Invariants:

- `Chat.conversation` answers every call, exactly once and in order, whenever somebody looks: a turn with calls goes
  into it together with its results. What a cancelled turn left open is answered with an error that says so.
- An answer that did not come to its end (an error, a time that was up, a block that was left) is not in it: what was
  asked is, and `go_on` asks again.
- Every call of a model goes through the session, or is answered here with an error and without running.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, Retry, ToolError, ToolResult
from pegboard_chat.budget import LAST_S, Budget, Spending, refusal
from pegboard_chat.contract import ForcedTool, ModelError, ModelRequest, Reply, Stop
from pegboard_chat.conversation import Conversation, Message, Usage
from pegboard_chat.events import CallEnded, CallStarted, ChatEnded, Events, RoundEnded
from pegboard_chat.settings import ChatSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager

    from pegboard import Content, Tool, ToolCall
    from pegboard.host import Host
    from pegboard.session import Session
    from pegboard_chat.contract import Model, ModelExport, ToolChoice

AT_ONCE = 64
"""How many calls begin before the loop has air: trio runs all tasks that can go on in one turn."""


class Chat:
    """A conversation of one session with one model.

    Args:
        session: whose tools are called, with everything it says of them; a host: a session of its own is made.
        model: an open model.
        conversation: what was said before, by this model or any other; None: nothing.
        settings: None: those of `[plugins.chat]` on the host.
        budget: what each question may cost; None: that of the settings.
        tools: the names of the tools that may be called; None: all that the session sees.
        parallel: whether several calls in one turn run; otherwise the first runs, and the others say so.
        stream: whether pieces of the answer come as they are written.
        max_tokens: of output, a request; None: the provider's own.
        temperature: None: that of the settings, else the provider's own.
        options: members to put into every request's body.

    Attributes:
        conversation: what was said so far; a value that can be saved, and continued with any model.
        usage, cost: of all questions so far; cost is None where a price is not known.

    .. versionadded:: 0.1
    """

    def __init__(
        self,
        session: Session | Host,
        model: Model,
        *,
        conversation: Conversation | None = None,
        settings: ChatSettings | None = None,
        budget: Budget | None = None,
        tools: Iterable[str] | None = None,
        parallel: bool = True,
        stream: bool = True,
        max_tokens: int | None = None,
        temperature: float | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.session: Session = session.session(channel="chat") if hasattr(session, "session") else session
        self.host: Host = self.session._host
        self.model = model
        self.settings = settings if settings is not None else settings_of(self.host)
        self.budget = budget if budget is not None else Budget.of_settings(self.settings)
        self.parallel = parallel
        self.usage = Usage()
        self.cost: float | None = 0.0
        self._only = None if tools is None else frozenset(tools)
        self._stream = stream
        self._max_tokens = max_tokens
        self._temperature = temperature if temperature is not None else self.settings.temperature
        self._options = dict(options or {})
        self._seen: Mapping[str, Tool] | None = None
        self._export: ModelExport | None = None
        self._question: _Question | None = None
        start = conversation if conversation is not None else Conversation(self.settings.system)
        self.conversation = _closed(start)

    def ask(
        self, *content: str | Content, tool_choice: ToolChoice = "auto"
    ) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """Ask a question: `async with chat.ask("...") as events: async for event in events: ...`.

        The events are the `Delta`s of the answer, `CallStarted`, `CallEnded`, `RoundEnded` and, last, `ChatEnded`.
        Leaving the block ends what still runs; the conversation can go on all the same.

        Args:
            content: text, images and other blocks of the user.
            tool_choice: what the model must call first; when it has called it, it is free.

        Raises:
            ConfigError: on entry: `max_cost` is set and the price of the model is not known.
            ModelError: while iterating: the provider did not answer. The conversation so far is kept.
            RuntimeError: on entry: another question of this chat is not over.
            ValueError: nothing is asked.
        """
        if not content or not all(content):
            raise ValueError("nothing is asked")
        return self._asking(self.conversation.ask(*content), tool_choice)

    def go_on(self) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """Ask for an answer to what was said last, without a new question: after an error, or a block that was left.

        Raises:
            ValueError: the last word is the model's: there is nothing to go on with.
        """
        if not self.conversation.messages or self.conversation.messages[-1].role == "assistant":
            raise ValueError("the last word is the model's: ask something")
        return self._asking(self.conversation, "auto")

    def _exported(self) -> ModelExport | None:
        """The tools as the model wants them; compiled anew only where the board has changed."""
        tools = self.session.tools
        if tools is not self._seen:
            chosen = [tools[name] for name in sorted(tools) if self._only is None or name in self._only]
            self._export, self._seen = self.model.dialect.export(chosen) if chosen else None, tools
        return self._export

    @contextlib.asynccontextmanager
    async def _asking(self, conversation: Conversation, choice: ToolChoice) -> AsyncIterator[Events]:
        import trio

        if self._question is not None:
            raise RuntimeError("one question at a time: leave the block of the last one first")
        self.conversation = conversation
        question = self._question = _Question(self, choice)
        problem: BaseException | None = None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(question.run)
                try:
                    yield question.events
                except BaseException as raised:  # noqa: BLE001 - raised again below, outside the nursery and its group
                    problem = raised
                finally:
                    nursery.cancel_scope.cancel()
        except BaseExceptionGroup as group:  # Ctrl-C met the question's task
            problem = next(iter(_leaves(group, KeyboardInterrupt)), None) or problem or group
        finally:
            self._question = None
        if problem is not None:
            raise problem


class _Question:
    """One question: what runs it, and what it has spent."""

    def __init__(self, chat: Chat, choice: ToolChoice) -> None:
        self.chat = chat
        self.choice: ToolChoice = choice
        self.events = Events()
        self.spending = Spending(chat.budget)
        self.reason: str | None = None
        self.stop = Stop.OTHER
        self._turn: _Turn | None = None

    async def run(self) -> None:
        """Ask until it is answered; what goes wrong ends the events."""
        problem: BaseException | None = None
        try:
            await self._run_in_time()
        except Exception as raised:  # noqa: BLE001 - it is raised where the events are read
            problem = raised
        finally:
            if self._turn is not None:
                self._close(self._turn, _left_error)
            self.events.end(problem)

    async def _run_in_time(self) -> None:
        import trio

        seconds = self.chat.budget.max_seconds
        with trio.CancelScope(deadline=float("inf") if seconds is None else trio.current_time() + seconds) as scope:
            await self._rounds()
        if scope.cancelled_caught and seconds is not None:
            self.reason = "max_seconds"
            if self._turn is not None:
                self._close(self._turn, lambda: _time_error(seconds))
                with trio.move_on_after(min(seconds, LAST_S)):
                    await self._round()
            self._end()
        else:
            self._end()

    async def _rounds(self) -> None:
        """Requests until the model calls nothing more, or must not."""
        spending = self.spending
        while self.reason is None:
            self.reason = spending.used_up
            if not await self._round():
                return

    async def _round(self) -> bool:
        """One request and its calls; whether another should follow."""
        chat, events = self.chat, self.events
        last = self.reason is not None
        reply = await self._request(last)
        self.stop = reply.stop
        self._spend(reply.usage, events, reply)
        if not reply.calls:
            if not last and (self.choice == "required" or isinstance(self.choice, ForcedTool)):
                self.reason = "tool_choice"
            chat.conversation = chat.conversation.add(reply.message)
            return False
        turn = self._turn = _Turn(reply.message)
        await self._answer(turn, reply.calls)
        self._close(turn, _left_error)
        return not last

    def _spend(self, usage: Usage, events: Events, reply: Reply) -> None:
        chat = self.chat
        cost = None
        self.spending.add(usage, cost)
        chat.usage += usage
        events.put(RoundEnded(reply, usage, cost))

    async def _request(self, last: bool) -> Reply:
        chat, events = self.chat, self.events
        request = ModelRequest(
            chat.conversation,
            chat._exported(),
            "none" if last else self.choice,
            chat.parallel,
            chat._stream,
            chat._max_tokens,
            chat._temperature,
            chat._options,
        )
        reply: Reply | None = None
        async with chat.model.respond(request) as stream:
            async for piece in stream:
                if isinstance(piece, Reply):
                    reply = piece
                else:
                    events.put(piece)
                    if events.is_full:
                        await events.room()
        if reply is None:
            raise ModelError(
                ErrorCode.UPSTREAM_ERROR,
                f"{chat.model.name} ended without an answer; ask again",
                provider=chat.model.name.partition(":")[0],
                reason="half_answer",
            )
        return _with_unique_ids(reply)

    async def _answer(self, turn: _Turn, calls: tuple[ToolCall | ToolResult, ...]) -> None:
        """Run what may run; everything else is answered with what it was instead."""
        allowed: list[tuple[int, ToolCall]] = []
        for index, call in enumerate(calls):
            refused = call if isinstance(call, ToolResult) else self._refused(call, len(allowed))
            if isinstance(refused, ToolError):
                refused = attrs.evolve(ToolResult.of_error(refused), id=call.id, name=call.name)
            if refused is not None:
                self._ended(turn, index, refused)
            else:
                allowed.append((index, call))  # type: ignore[arg-type]
        if isinstance(self.choice, ForcedTool):
            if any(call.name == self.choice.name for _, call in allowed):
                self.choice = "auto"
        elif allowed and self.choice == "required":
            self.choice = "auto"
        if len(allowed) == 1:
            await self._call(turn, *allowed[0])
        elif allowed:
            await self._call_several(turn, allowed)

    def _refused(self, call: ToolCall, before: int) -> ToolError | None:
        """Why a call does not run; None: it may, and is counted."""
        chat, budget = self.chat, self.chat.budget
        if self.reason is not None:
            return refusal(self.reason, budget)
        if self.choice == "none":
            return _refusal("nothing may be called here; answer without a call", "tool_choice")
        if isinstance(self.choice, ForcedTool) and call.name != self.choice.name:
            return _refusal(f"only {self.choice.name!r} may be called first; call it", "tool_choice")
        if before and not chat.parallel:
            return _refusal("one call a turn is made here; repeat this one alone", "parallel")
        if chat._only is not None and call.name not in chat._only:
            return _refusal(f"there is no tool {call.name[:80]!r} in this conversation", "tools")
        if (over := self.spending.overspent) is not None:
            return refusal(over, budget)
        return None if self.spending.take_call() else refusal("max_tool_calls", budget)

    async def _call(self, turn: _Turn, index: int, call: ToolCall) -> None:
        self.events.put(CallStarted(call))
        await self._run_call(turn, index, call)

    async def _run_call(self, turn: _Turn, index: int, call: ToolCall) -> None:
        self._ended(turn, index, await self.chat.session.call(call.name, call.arguments, id=call.id))

    async def _call_several(self, turn: _Turn, calls: list[tuple[int, ToolCall]]) -> None:
        """Neighbours that may overlap run at once; any other call waits for those before it and holds back the rest."""
        import trio

        may_overlap = self.chat.session.may_overlap
        start = 0
        while start < len(calls):
            end = start
            while end < len(calls) and may_overlap(calls[end][1].name):
                end += 1
            if end - start < 2:
                await self._call(turn, *calls[start])
                start += 1
                continue
            for _, call in calls[start:end]:
                self.events.put(CallStarted(call))
            async with trio.open_nursery() as nursery:
                for number, (index, call) in enumerate(calls[start:end], 1):
                    nursery.start_soon(self._run_call, turn, index, call)
                    if number % AT_ONCE == 0:
                        await trio.lowlevel.checkpoint()
            start = end

    def _ended(self, turn: _Turn, index: int, result: ToolResult) -> None:
        turn.results[index] = result
        self.events.put(CallEnded(result))

    def _close(self, turn: _Turn, error: Any) -> None:
        """Put the turn into the conversation; a call that has no answer gets one."""
        for index, result in enumerate(turn.results):
            if result is None:
                call = turn.message.calls[index]
                self._ended(turn, index, attrs.evolve(ToolResult.of_error(error()), id=call.id, name=call.name))
        chat = self.chat
        chat.conversation = chat.conversation.add(turn.message, Message("tool", results=tuple(turn.results)))  # type: ignore[arg-type]
        self._turn = None

    def _end(self) -> None:
        chat, spending = self.chat, self.spending
        last = chat.conversation.messages[-1]
        text = last.text if last.role == "assistant" else ""
        self.events.put(ChatEnded(text, spending.usage, spending.cost, self.stop, self.reason))


class _Turn:
    """A turn of the model with calls, and their answers as they come."""

    __slots__ = ("message", "results")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.results: list[ToolResult | None] = [None] * len(message.calls)


def settings_of(host: Any) -> ChatSettings:
    """The settings of `[plugins.chat]` on a host or a board; the defaults where pegboard-chat is no plugin of it."""
    board = getattr(host, "board", host)
    record = board.plugins.records.get("chat")
    found = getattr(record, "settings", None)
    return found if isinstance(found, ChatSettings) else ChatSettings()


def _closed(conversation: Conversation) -> Conversation:
    """The conversation with an answer to every call at its end that has none."""
    calls = conversation.open_calls
    if not calls:
        return conversation
    answers = [attrs.evolve(ToolResult.of_error(_left_error()), id=call.id, name=call.name) for call in calls]
    return conversation.add(Message("tool", results=tuple(answers)))


def _left_error() -> ToolError:
    return ToolError(
        ErrorCode.OUTCOME_UNKNOWN, "the conversation was left before the call was answered; it may have run"
    )


def _time_error(seconds: float) -> ToolError:
    return ToolError(
        ErrorCode.TIMEOUT,
        f"this question may take {seconds:g} s and they are over; the call was ended and may have run in part; "
        "answer with what is known",
        reason="budget",
        budget="max_seconds",
    )


def _refusal(message: str, reason: str) -> ToolError:
    return ToolError(ErrorCode.FORBIDDEN, message, reason=reason, executed=False, retry=Retry.CHANGED.value)


def _with_unique_ids(reply: Reply) -> Reply:
    """The reply with an id of its own for each call; a model that repeats or forgets one loses its raw turn."""
    calls = reply.message.calls
    if len({call.id for call in calls}) == len(calls) and all(call.id for call in calls):
        return reply
    taken = {call.id for call in calls}
    seen: set[str] = {""}
    ids: list[str] = []
    for call in calls:
        name, number = call.id, 1
        while name in seen or (name != call.id and name in taken):
            number += 1
            name = f"{call.id or 'call'}_{number}"
        seen.add(name)
        ids.append(name)
    named = tuple(attrs.evolve(call, id=name) for call, name in zip(calls, ids, strict=True))
    message = attrs.evolve(reply.message, calls=named, raw=None, dialect=None)
    given = tuple(attrs.evolve(call, id=name) for call, name in zip(reply.calls, ids, strict=True))
    return attrs.evolve(reply, message=message, calls=given)


def _leaves(group: BaseExceptionGroup[BaseException], kind: type[BaseException]) -> Iterable[BaseException]:
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _leaves(one, kind)
        elif isinstance(one, kind):
            yield one
