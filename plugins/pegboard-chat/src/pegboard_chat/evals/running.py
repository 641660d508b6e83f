"""Asks the model, answers its calls, keeps what happened.

Calls are not carried out unless the file says so: the model gets the result that the file has for them, or a line that
says nothing. So an eval of a tool that writes, pays or sends is harmless. A provider that fails in the middle costs
that run alone, which is counted as neither right nor wrong; what would fail every run ends the eval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, ToolError, ToolResult
from pegboard_chat.contract import ModelError, ModelRequest, Reply
from pegboard_chat.conversation import Conversation, Message, Usage
from pegboard_chat.evals.judge import Made, Mistake, judge
from pegboard_chat.evals.questions import described, properties_of
from pegboard_chat.evals.statistics import Count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pegboard import Session, Tool, ToolCall
    from pegboard_chat.contract import Model
    from pegboard_chat.evals.questions import Described, EvalFile, Question
    from pegboard_chat.prices import Price

HOPELESS = frozenset({"no_key", "wrong_key", "no_model", "no_network"})
"""Reasons for which every other run would fail as well."""
STUB = "done"
"""What a call is answered with that is not carried out, where the file does not say."""


@attrs.frozen
class Ran:
    """One run of one question.

    Args:
        mistakes: what was wrong; empty: it passed.
        made: the calls.
        answer: the last message's text; None: it ended before there was one.
        error: why the model did not answer; the run counts neither way.
        usage: what it cost, in tokens.
    """

    mistakes: tuple[Mistake, ...] = ()
    made: tuple[Made, ...] = ()
    answer: str | None = None
    error: ModelError | None = None
    usage: Usage = attrs.field(factory=Usage)

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return self.error is None and not self.mistakes


@attrs.frozen
class Series:
    """All runs of all questions with one model and one set of descriptions.

    Args:
        label: what tells it from another.
        model: `provider:model`.
        runs: for each question, its runs.
        cost: None: a price is not known.
    """

    label: str
    model: str
    runs: tuple[tuple[Ran, ...], ...]
    cost: float | None

    @property
    def counts(self) -> list[Count]:
        """For each question how many runs passed, of those that were answered."""
        return [Count(sum(one.passed for one in runs), sum(one.error is None for one in runs)) for runs in self.runs]

    @property
    def usage(self) -> Usage:
        """What all of it cost, in tokens."""
        return sum((one.usage for runs in self.runs for one in runs), Usage())

    @property
    def errors(self) -> list[ModelError]:
        """Why runs were not answered."""
        return [one.error for runs in self.runs for one in runs if one.error is not None]


async def run_series(
    session: Session,
    model: Model,
    found: EvalFile,
    *,
    label: str,
    descriptions: Mapping[str, Described],
    price: Price | None = None,
    on_ran: Callable[[], None] = lambda: None,
) -> Series:
    """Ask every question as often as the file says.

    Raises:
        ModelError: no run can succeed: a key, a name or the network is wrong.
    """
    import trio

    asking = _Asking(session, model, found, offered(session.tools, found, descriptions))
    runs: list[list[Ran]] = [[Ran()] * found.runs for _ in found.questions]
    # The first run of each question before the second of any: a failing model shows early.
    jobs = iter([(index, number) for number in range(found.runs) for index in range(len(found.questions))])
    problem: ModelError | None = None

    async def work() -> None:
        nonlocal problem
        for index, number in jobs:
            ran = await asking.run(found.questions[index])
            runs[index][number] = ran
            on_ran()
            if ran.error is not None and ran.error.details.get("reason") in HOPELESS:
                problem = ran.error
                nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for _ in range(min(found.parallel, found.runs * len(found.questions))):
            nursery.start_soon(work)
    if problem is not None:
        raise problem
    cost = None if price is None else sum(price.cost_of(one.usage) for of in runs for one in of)
    return Series(label, model.name, tuple(map(tuple, runs)), cost)


def offered(tools: Mapping[str, Tool], found: EvalFile, other: Mapping[str, Described]) -> dict[str, Tool]:
    """The tools that the model is offered, as they are described to it."""
    names = sorted(tools) if found.tools is None else found.tools
    return {name: described(tools[name], other[name]) if name in other else tools[name] for name in names}


class _Asking:
    """One model, one set of tools."""

    def __init__(self, session: Session, model: Model, found: EvalFile, tools: Mapping[str, Tool]) -> None:
        self._session = session
        self._model = model
        self._found = found
        self._export = model.dialect.export(list(tools.values())) if tools else None
        self._schemas = {name: properties_of(tool) for name, tool in tools.items()}

    async def run(self, question: Question) -> Ran:
        """Ask one question once."""
        conversation = Conversation(question.system).ask(question.text)
        made: list[Made] = []
        usage, answer = Usage(), None
        try:
            for left in reversed(range(question.rounds)):
                reply = await self._reply(conversation)
                usage += reply.usage
                made += [self._made(call) for call in reply.calls]
                if not reply.calls:
                    answer = reply.message.text
                    break
                if left:
                    results = await self._results(question, reply.calls)
                    conversation = conversation.add(reply.message, Message("tool", results=results))
        except ModelError as problem:
            return Ran(made=tuple(made), error=problem, usage=usage)
        mistakes = judge(question, made, self._schemas, answer)
        return Ran(tuple(mistakes), tuple(made), answer, None, usage)

    async def _reply(self, conversation: Conversation) -> Reply:
        found = self._found
        request = ModelRequest(
            conversation, self._export, stream=False, max_tokens=found.max_tokens, temperature=found.temperature
        )
        reply: Reply | None = None
        async with self._model.respond(request) as stream:
            async for piece in stream:
                reply = piece if isinstance(piece, Reply) else reply
        if reply is None:
            raise ModelError(
                ErrorCode.UPSTREAM_ERROR, f"{self._model.name} ended without an answer", reason="half_answer"
            )
        return _told_apart(reply)

    def _made(self, call: ToolCall | ToolResult) -> Made:
        """The call, and whether its tool would take it."""
        if isinstance(call, ToolResult):
            return Made(call.name, {}, call.text)
        error = self._session.check(call.name, call.arguments).error
        refused = error is not None and error.code is ErrorCode.INVALID_INPUT
        return Made(call.name, call.arguments, error.message if refused and error is not None else None)

    async def _results(self, question: Question, calls: Sequence[ToolCall | ToolResult]) -> tuple[ToolResult, ...]:
        """What the calls are answered with."""
        if self._found.run:
            asked = [call for call in calls if not isinstance(call, ToolResult)]
            answers = iter(await self._session.call_many(asked))
            return tuple(call if isinstance(call, ToolResult) else next(answers) for call in calls)
        made = {call.name: call.result for call in reversed(question.calls) if call.result is not None}
        return tuple(self._stub(call, made) for call in calls)

    def _stub(self, call: Any, answers: Mapping[str, str]) -> ToolResult:
        if isinstance(call, ToolResult):
            return call
        error = self._session.check(call.name, call.arguments).error
        if error is not None and error.code in (ErrorCode.INVALID_INPUT, ErrorCode.NOT_FOUND):
            result = ToolResult.of_error(ToolError(error.code, error.message))
        else:
            result = ToolResult.text(answers.get(call.name, STUB))
        return attrs.evolve(result, id=call.id, name=call.name)


def _told_apart(reply: Reply) -> Reply:
    """The reply with an id for each call, where the model repeats one or gives none."""
    calls = reply.message.calls
    if len({call.id for call in calls} - {""}) == len(calls):
        return reply
    answers = tuple(attrs.evolve(call, id=f"call_{number}") for number, call in enumerate(calls))
    asked = tuple(attrs.evolve(call, id=f"call_{number}") for number, call in enumerate(reply.calls))
    # The provider's own turn names the ids that it gave; its dialect writes another.
    return attrs.evolve(reply, message=attrs.evolve(reply.message, calls=answers, raw=None, dialect=None), calls=asked)
