"""The loop: a question and the tools to the model, its calls to the session, their results back, until it answers.

Theory. `Chat.ask` is a context manager that owns a nursery with one task: the question. The task asks the model, runs
calls and puts events into a queue; whoever iterates takes them out. No scope and no nursery is open across a `yield`
of a generator, so events may be read under any deadline, and left at any time: leaving the block cancels the task,
which closes the connection.

Invariants:

- `Chat.conversation` answers every call, exactly once and in order, whenever somebody looks: a turn with calls goes
  into it together with its results. What a cancelled turn left open is answered with an error that says so.
- An answer that did not come to its end (an error, a time that was up, a block that was left) is not in it, nor is one
  that says nothing, which no provider takes back: what was asked is, and `go_on` asks again.
- Every call of a model goes through the session, or is answered here with an error and without running.
- A turn can always be sent back: each of its calls has an id of its own, and none is larger than a host reads.
- The last request of a question may call nothing (`tool_choice` none). Its dialect leaves the tools out, or, where the
  provider wants those of the calls that a conversation holds, forbids every call. Those that come all the same do not
  run.
"""

from __future__ import annotations

import contextlib
from collections import deque
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import (
    ConfigError,
    ErrorCode,
    Session,
    TextContent,
    Tool,
    ToolCall,
    ToolError,
    ToolResult,
)
from pegboard_chat import many
from pegboard_chat._replies import (
    closed,
    definitions,
    error_of,
    leaf,
    left_error,
    misspoken,
    never_error,
    refusal_of,
    says_something,
    sendable,
    time_error,
    tools_called,
    with_advice,
    without_a_cut_call,
)
from pegboard_chat._spans import model_told, observed_reply, usage_told
from pegboard_chat.budget import LAST_S, Budget, Spending, refusal
from pegboard_chat.contract import ForcedTool, ModelError, ModelRequest, Reply, Stop
from pegboard_chat.conversation import Conversation, Message, Usage, unique_ids
from pegboard_chat.events import AnswerCut, CallEnded, CallStarted, ChatEnded, Events, RoundEnded
from pegboard_chat.prices import bundled_prices
from pegboard_chat.sampling import ChatSampler, over_budget
from pegboard_chat.settings import ChatSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager

    import trio

    from pegboard import Content, Host
    from pegboard_chat.contract import Model, ModelExport, ToolChoice
    from pegboard_chat.events import Event


AGENT = "pegboard"
"""What a chat is called where agents are observed."""


@attrs.frozen(eq=False)
class _Offer:
    """What one state of the board is to the model.

    Args:
        tools: what may be called, by name.
        export: what the model sees; None: nothing.
        prompt: what the system prompt says beside the user's, where the tools are many.
    """

    tools: Mapping[str, Tool]
    export: ModelExport | None
    prompt: str | None = None


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
        max_tokens: of output, a request; None: the provider's own. What a budget has left bounds it too.
        temperature: None: that of the settings, else the provider's own.
        options: members to put into every request's body.

    Attributes:
        conversation: what was said so far; a value that can be saved, and continued with any model.
        usage, cost: of all questions so far; cost is None where a price is not known.
        currency: of every cost, as in `USD`.

    While a question runs the session has a `sampler`: the model answers MCP servers that ask for it, within the budget
    of the question.

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
        self.session = session if isinstance(session, Session) else session.session(channel="chat")
        self.session.masks_secrets = True
        self.host: Host = self.session.host
        self.model = model
        self.settings = settings if settings is not None else settings_of(self.host)
        self.budget = budget if budget is not None else Budget.of_settings(self.settings)
        self.parallel = parallel
        self.usage = Usage()
        self.cost: float | None = 0.0
        prices = bundled_prices().with_own(self.settings.prices)
        self.currency = prices.currency
        self._price = prices.find(model.name)
        self._only = _only(tools)
        self._stream = stream
        self._max_tokens = max_tokens
        self._temperature = temperature if temperature is not None else self.settings.temperature
        self._options = dict(options or {})
        self._seen: Mapping[str, Tool] | None = None
        self._offer = _Offer({}, None)
        self._question: _Question | None = None
        start = conversation if conversation is not None else Conversation(self.settings.system)
        self.conversation = unique_ids(closed(start))
        _note_read(self.session, self.conversation)

    def ask(
        self, *content: str | Content, tool_choice: ToolChoice = "auto"
    ) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Ask a question: `async with chat.ask("...") as events: async for event in events: ...`.

        The events are the `Delta`s of the answer, `CallStarted`, `CallEnded`, `RoundEnded` and, last, `ChatEnded`.
        Leaving the block ends what still runs; the conversation can go on all the same.

        Args:
            content: text, images and other blocks of the user.
            tool_choice: what the model must call first; when it has called it, it is free.

        Raises:
            ConfigError: on entry: `max_cost` is set and the price of the model is not known.
            ModelError: while iterating: the provider did not answer. The conversation so far is kept.
            ToolError: on entry: NOT_FOUND: there is no tool of the forced name.
            RuntimeError: on entry: another question of this chat is not over.
            ValueError: nothing is asked.
        """
        if not content or not all(content):
            raise ValueError("nothing is asked")
        return self._asking(content, tool_choice)

    def go_on(self) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Ask for an answer to what was said last, without a new question: after an error, or a block that was left.

        It takes the place of the half answer that was kept, if one was.

        Raises as `ask`, and:
            ValueError: the last word is the model's: there is nothing to go on with.
        """
        messages = self.conversation.messages
        while messages and messages[-1].cut not in (None, "length"):
            messages = messages[:-1]  # a whole answer takes its place
        if not messages or messages[-1].role == "assistant":
            raise ValueError("the last word is the model's: ask something")
        self.conversation = Conversation(self.conversation.system, messages)
        return self._asking((), "auto")

    @contextlib.asynccontextmanager
    async def _asking(self, content: tuple[str | Content, ...], choice: ToolChoice) -> AsyncIterator[Events]:
        import trio

        self._require_price()
        if isinstance(choice, ForcedTool) and not await self._has(choice.name):
            if choice.name not in self.session.tools:
                raise self.session.missing(choice.name)
            raise ToolError(ErrorCode.NOT_FOUND, f"there is no tool {choice.name[:80]!r} that could be called first")
        if self._question is not None:
            raise RuntimeError("one question at a time: leave the block of the last one first")
        if content:
            self.conversation = self.conversation.ask(*content)
        question = self._question = _Question(self, choice)
        sampler = ChatSampler(question.sample, self.model.name)
        sampler.put_on(self.session)
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
        except BaseExceptionGroup as group:  # Ctrl-C met the question's task, or one of its calls
            problem = leaf(group)
        finally:
            self._question = None
            sampler.take_off(self.session)
        if problem is not None:
            raise problem

    def _require_price(self) -> None:
        if self.budget.max_cost is not None and self._price is None:
            raise ConfigError(
                f"max_cost is set, and the price of {self.model.name} is not known",
                hint=f'write its price: [plugins.chat.prices."{self.model.name}"] input = ..., output = ...',
            )

    async def _has(self, name: str) -> bool:
        """Whether a tool may be called; one of a source that is starting is waited for."""
        if name not in self._offered().tools:
            await self.host.wait_for_sources(name, timeout_s=many.SOURCES_WAIT_S, profile=self.session.profile)
        return name in self._offered().tools

    async def _wait_for_sources(self) -> None:
        """Wait for tools that nobody knows yet, so that the first request offers them; a search waits by itself."""
        host = self.host
        if not host.sources_starting or self._only == frozenset() or self._offered().prompt is not None:
            return
        if many.has_unknown_sources(host):
            await host.wait_for_sources(timeout_s=many.SOURCES_WAIT_S)

    def _offered(self) -> _Offer:
        """The tools as the model gets them; compiled anew only where the board has changed."""
        tools = self.session.tools
        if tools is not self._seen:
            self._offer, self._seen = self._made_offer(tools), tools
        return self._offer

    def _made_offer(self, tools: Mapping[str, Tool]) -> _Offer:
        if self._only is not None:
            tools = {name: tool for name, tool in tools.items() if name in self._only}
        if not tools:
            return _Offer(tools, None)
        dialect, most = self.model.dialect, self.settings.tools_tokens
        listed = [tools[name] for name in sorted(tools)]
        if not many.is_above(definitions(dialect, listed), most):
            return _Offer(tools, dialect.export(listed))
        kept = [tools[name] for name in sorted(many.ALWAYS & tools.keys())]
        return _Offer(tools, dialect.export([*many.META, *kept]), many.list_of_tools(tools, most))

    def _request(self, offer: _Offer, choice: ToolChoice, max_tokens: int | None) -> ModelRequest:
        conversation, export = self.conversation, offer.export
        if offer.prompt is not None:
            if isinstance(choice, ForcedTool) and (forced := offer.tools.get(choice.name)) is not None:
                export = self.model.dialect.export([*many.META, forced])
            system = f"{conversation.system}\n\n{offer.prompt}" if conversation.system else offer.prompt
            conversation = conversation.with_system(system)
        may_call = export is not None
        if export is None and (called := tools_called(conversation)):
            export = self.model.dialect.export(called)
        return ModelRequest(
            conversation,
            export,
            choice if may_call else "none",
            self.parallel,
            self._stream,
            _least(self._max_tokens, max_tokens),
            self._temperature,
            self._options,
        )


class _Question:
    """One question: what runs it, and what it has spent."""

    def __init__(self, chat: Chat, choice: ToolChoice) -> None:
        self.chat = chat
        self.choice: ToolChoice = choice
        self.events = Events()
        self.spending = Spending(chat.budget)
        self.reason: str | None = None
        self.stop = Stop.OTHER
        self._said: Message | None = None
        self._last: str | None = None  # the budget after which no call runs and no request follows
        self._turn: _Turn | None = None
        self._offer = _Offer({}, None)
        self._received: list[str] = []  # of an answer that has not ended
        self._has_misspoken = False  # the last answer was a call that its provider could not read

    async def run(self) -> None:
        """Ask until it is answered; what goes wrong ends the events."""
        problem: BaseException | None = None
        told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": AGENT, **model_told(self.chat.model.name)}
        try:
            with self.chat.host.span(f"invoke_agent {AGENT}", "internal", told) as ended:
                try:
                    await self._run_in_time()
                finally:
                    ended.update(usage_told(self.spending.usage))
        except Exception as raised:  # noqa: BLE001 - it is raised where the events are read
            problem = leaf(raised)
        finally:
            if self._turn is not None:
                self._close(self._turn, left_error, never_error)
            details = problem.details if isinstance(problem, ModelError) else {}
            self._keep_half("left" if problem is None else str(details.get("reason", "error")))
            self.events.end(problem)

    def _keep_half(self, cut: str) -> None:
        """Keep what was heard of an answer that does not come to its end, if anything was."""
        text = "".join(self._received)
        self._received.clear()
        if text.strip():
            chat = self.chat
            self._said = Message("assistant", (TextContent(text),), model=chat.model.name, cut=cut)
            chat.conversation = chat.conversation.add(self._said)
            self.events.put(AnswerCut(text, cut))

    async def _run_in_time(self) -> None:
        import trio

        seconds = self.chat.budget.max_seconds
        scope = trio.CancelScope(deadline=float("inf") if seconds is None else trio.current_time() + seconds)
        with scope, self.chat.session.hold_while_asked(scope):
            await self.chat._wait_for_sources()
            await self._rounds()
        if scope.cancelled_caught and seconds is not None:
            self.reason = self._last = "max_seconds"
            self._keep_half("max_seconds")
            if self._turn is not None:
                self._close(self._turn, lambda: time_error(seconds), lambda: refusal("max_seconds", self.chat.budget))
                with trio.move_on_after(min(seconds, LAST_S)):
                    await self._round()
                self._keep_half("max_seconds")
        self._end()

    async def _rounds(self) -> None:
        """Requests until the model calls nothing more, or must not."""
        spending = self.spending
        going = True
        while going:
            self._last = spending.used_up
            if spending.rounds:  # a first request that may call nothing was meant so, and cuts nothing short
                self.reason = self._last
            going = await self._round()

    async def _round(self) -> bool:
        """One request and its calls; whether another should follow."""
        chat = self.chat
        self._offer = chat._offered()
        rest = self.spending.output_left(chat._price)
        choice: ToolChoice = "none" if self._last is not None else self.choice
        reply = await self._ask(request := chat._request(self._offer, choice, rest and rest.tokens))
        self.stop, self._said = reply.stop, reply.message
        if rest is not None and reply.stop is Stop.LENGTH and request.max_tokens == rest.tokens:
            self.reason = self.reason or rest.budget
        cost = self._spend(reply.usage)
        self.events.put(RoundEnded(reply, reply.usage, cost))
        if not reply.calls:
            if self._last is None and (self.choice == "required" or isinstance(self.choice, ForcedTool)):
                self.reason = "tool_choice"
            if says_something(reply.message):
                cut = "length" if reply.stop is Stop.LENGTH else None
                chat.conversation = chat.conversation.add(attrs.evolve(reply.message, cut=cut))
            return False
        turn = self._turn = _Turn(reply.message)
        await self._answer(turn, reply)
        self._close(turn, left_error, never_error)
        return self._last is None

    def _spend(self, usage: Usage) -> float | None:
        chat = self.chat
        cost = None if chat._price is None else chat._price.cost_of(usage)
        self.spending.add(usage, cost)
        chat.usage += usage
        chat.cost = None if cost is None or chat.cost is None else chat.cost + cost
        return cost

    async def sample(self, request: ModelRequest) -> Reply:
        """One request of somebody else, within the budget of this question.

        Raises:
            ToolError: FORBIDDEN, reason `budget`: it is used up.
            ModelError: the provider did not answer.
        """
        chat, spending = self.chat, self.spending
        if (spent := self._last or spending.requests_used_up) is not None:
            raise over_budget(spent)
        rest = spending.output_left(chat._price)
        most = _least(request.max_tokens, rest and rest.tokens)
        with spending.asking():
            asked = attrs.evolve(request, max_tokens=most, options=chat._options)
            reply = await observed_reply(chat.host, chat.model, asked)
            self._spend(reply.usage)
        return reply

    async def _ask(self, request: ModelRequest) -> Reply:
        self._received.clear()
        try:
            reply = await observed_reply(self.chat.host, self.chat.model, request, self.events, self._received)
            self._has_misspoken = False
        except ModelError as problem:
            if self._has_misspoken or (again := misspoken(problem, request, self.chat.model.name)) is None:
                raise
            reply = again
            self._has_misspoken = True
        self._received.clear()
        return sendable(without_a_cut_call(reply), self.chat.host, request.conversation.call_ids)

    async def _answer(self, turn: _Turn, reply: Reply) -> None:
        """Run what may run; everything else is answered with what it was instead."""
        allowed: list[tuple[int, ToolCall]] = []
        finds: list[tuple[int, ToolCall]] = []
        is_many, is_free = self._offer.prompt is not None, self._is_free
        take_call = self.spending.take_call
        for index, call in enumerate(reply.calls):
            if is_free and not is_many and isinstance(call, ToolCall) and take_call():  # nearly every call there is
                allowed.append((index, call))
                continue
            if isinstance(call, ToolResult):
                is_cut = reply.stop is Stop.LENGTH and index == len(reply.calls) - 1
                self._ended(turn, index, with_advice(call) if is_cut else call)
                continue
            if is_many and call.name == many.FIND.name:
                refused = self._refused_find(call, len(allowed) + len(finds))
                taken = finds
            else:
                meant = many.called(call) if is_many and call.name == many.CALL.name else call
                if isinstance(meant, ToolError):
                    refused = meant
                else:
                    call = meant
                    refused = self._refused(call, len(allowed) + len(finds))
                taken = allowed
            if refused is None:
                taken.append((index, call))
            else:
                self._ended(turn, index, error_of(refused, call))
        self._free_the_choice(allowed)
        for index, call in finds:
            turn.begun.add(index)
            self.events.put(CallStarted(call))
            self._ended(turn, index, await self._find(call))
        if len(allowed) == 1:
            await self._call(turn, *allowed[0])
        elif allowed:
            await self._call_several(turn, allowed)

    def _free_the_choice(self, allowed: list[tuple[int, ToolCall]]) -> None:
        """What had to be called is called: from now on the model is free."""
        choice = self.choice
        if isinstance(choice, ForcedTool):
            if any(call.name == choice.name for _, call in allowed):
                self.choice = "auto"
        elif allowed and choice == "required":
            self.choice = "auto"

    @property
    def _is_free(self) -> bool:
        """Whether nothing but the number of calls can refuse one."""
        chat = self.chat
        return (
            self._last is None
            and self.choice == "auto"
            and chat.parallel
            and chat._only is None
            and self.spending.overspent is None
        )

    def _refused(self, call: ToolCall, before: int) -> ToolError | None:
        """Why a call does not run; None: it may, and is counted."""
        chat = self.chat
        if self._last is not None:
            self.reason = self._last
            return refusal(self._last, chat.budget)
        if (expected := self._not_allowed(call)) is not None:
            return expected
        if before and not chat.parallel:
            return refusal_of("one call a turn is made here; repeat this one alone", "parallel")
        if chat._only is not None and call.name not in chat._only:
            return refusal_of(f"there is no tool {call.name[:80]!r} in this conversation", "tools")
        if (over := self.spending.overspent) is not None:
            return refusal(over, chat.budget)
        return None if self.spending.take_call() else refusal("max_tool_calls", chat.budget)

    def _not_allowed(self, call: ToolCall) -> ToolError | None:
        """Why the model may not make a call now, whatever it may cost; None: it is one."""
        choice = self.choice
        if choice == "none":
            return refusal_of("nothing may be called here; answer without a call", "tool_choice")
        if isinstance(choice, ForcedTool) and call.name != choice.name:
            return refusal_of(f"only {choice.name!r} may be called first; call it", "tool_choice")
        return None

    def _refused_find(self, call: ToolCall, before: int) -> ToolError | None:
        """Why a search for tools does not run; it counts against no budget of calls, but not for ever."""
        if self._last is not None:
            self.reason = self._last
            return refusal(self._last, self.chat.budget)
        if (expected := self._not_allowed(call)) is not None:
            return expected
        if before and not self.chat.parallel:
            return refusal_of("one call a turn is made here; repeat this one alone", "parallel")
        if not self.spending.take_find():
            return refusal_of("enough was searched for; call a tool, or answer", "searches")
        return None

    async def _find(self, call: ToolCall) -> ToolResult:
        chat = self.chat
        if chat.host.sources_starting and many.has_unknown_sources(chat.host):
            await chat.host.wait_for_sources(timeout_s=many.SOURCES_WAIT_S)
        result = many.find(chat._offered().tools, call.arguments)
        result = chat.session.cut(result, chat.host.board.config.core.max_result_bytes)
        return attrs.evolve(result, id=call.id, name=call.name)

    async def _call(self, turn: _Turn, index: int, call: ToolCall) -> None:
        turn.begun.add(index)
        self.events.put(CallStarted(call))
        self._ended(turn, index, await self.chat.session.call(call.name, call.arguments, id=call.id))

    async def _call_several(self, turn: _Turn, calls: list[tuple[int, ToolCall]]) -> None:
        """Neighbours that may overlap run at once; any other call waits for those before it and holds back the rest."""
        may_overlap = self.chat.session.may_overlap
        start = 0
        while start < len(calls):
            end = start
            while end < len(calls) and may_overlap(calls[end][1].name):
                end += 1
            if end - start < 2:
                await self._call(turn, *calls[start])
                start += 1
            else:
                await self._call_at_once(turn, calls[start:end])
                start = end

    async def _call_at_once(self, turn: _Turn, calls: list[tuple[int, ToolCall]]) -> None:
        """Calls that may overlap, in as many tasks as there are calls that wait."""
        import trio

        may_wait = self.chat.session.may_wait
        if not any(may_wait(call.name) for _, call in calls):
            await _Overlapping(self, turn, calls).run()
            return
        async with trio.open_nursery() as nursery:
            await _Overlapping(self, turn, calls, nursery).run()

    def _ended(self, turn: _Turn, index: int, result: ToolResult) -> None:
        turn.results[index] = result
        self.events.put(CallEnded(result))

    def _close(self, turn: _Turn, error: Callable[[], ToolError], never: Callable[[], ToolError]) -> None:
        """Put the turn into the conversation; a call without an answer gets one, `never` where it had not begun."""
        results: list[ToolResult] = []
        for index, call in enumerate(turn.message.calls):
            result = turn.results[index]
            if result is None:
                result = error_of(error() if index in turn.begun else never(), call)
                self.events.put(CallEnded(result))
            if result.name != call.name or result.id != call.id:  # a tool that was called through `call_tool`
                result = attrs.evolve(result, id=call.id, name=call.name)
            results.append(result)
        chat = self.chat
        chat.conversation = chat.conversation.add(turn.message, Message("tool", results=tuple(results)))
        self._turn = None

    def _end(self) -> None:
        spending = self.spending
        text = "" if self._said is None else self._said.text
        self.events.put(ChatEnded(text, spending.usage, spending.cost, self.stop, self.reason))


class _Overlapping:
    """Calls that may overlap, run by as few tasks as that takes.

    A task of its own for every call costs more than most calls. So a task goes from call to call as long as none of
    them waits. Beside it there is always one that has not begun yet: it begins when the first waits, goes on with the
    calls that are left, and has the next one put beside itself first.
    """

    __slots__ = ("_ask", "_begun", "_has_spare", "_left", "_nursery", "_put", "_results")

    def __init__(
        self, question: _Question, turn: _Turn, calls: list[tuple[int, ToolCall]], nursery: trio.Nursery | None = None
    ) -> None:
        self._left = deque(calls)
        self._nursery = nursery
        self._has_spare = False
        self._ask = question.chat.session.call
        self._put = question.events.put
        self._begun = turn.begun
        self._results = turn.results

    async def run(self) -> None:
        """Run calls until none is left."""
        left, ask, begun, results, put = self._left, self._ask, self._begun, self._results, self._put
        while left:
            index, call = left.popleft()
            if left and not self._has_spare and self._nursery is not None:
                self._has_spare = True
                self._nursery.start_soon(self._run_beside)
            begun.add(index)
            put(CallStarted(call))
            results[index] = result = await ask(call.name, call.arguments, id=call.id)
            put(CallEnded(result))

    async def _run_beside(self) -> None:
        self._has_spare = False
        await self.run()


class _Turn:
    """A turn of the model with calls, which of them have begun, and their answers as they come."""

    __slots__ = ("begun", "message", "results")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.begun: set[int] = set()
        self.results: list[ToolResult | None] = [None] * len(message.calls)


def _note_read(session: Session, conversation: Conversation) -> None:
    """Have the results of an earlier session count as read in this one: words of theirs are asked about (`[flows]`)."""
    calls = {call.id: call for message in conversation.messages for call in message.calls}
    for message in conversation.messages:
        for result in message.results:
            arguments = calls[result.id].arguments if result.id in calls else None
            session.note_read(result, tool=result.name, arguments=arguments)


def settings_of(host: Any) -> ChatSettings:
    """The settings of `[plugins.chat]` on a host or a board; the defaults where pegboard-chat is not a plugin of it.

    .. versionadded:: 0.1
    """
    board = getattr(host, "board", host)
    record = board.plugins.records.get("chat")
    found = getattr(record, "settings", None)
    return found if isinstance(found, ChatSettings) else ChatSettings()


def _only(tools: Iterable[str] | None) -> frozenset[str] | None:
    """The names that may be called: some, with what reads on in their results; none; or, as None, all."""
    if tools is None:
        return None
    names = frozenset(tools)
    return names | many.ALWAYS if names else names


def _least(*bounds: int | None) -> int | None:
    return min((one for one in bounds if one is not None), default=None)
