"""What the page Chat asks for: models, a question and what becomes of it, the conversation of each browser.

A conversation belongs to a browser (to the session that the inspector gives it on this page), and lives as long as the
inspector does; a page that is loaded again finds it. What a question says on its way are the events of `Chat`, with how
long each stage of a call took beside them. Nothing is kept on disk: the page saves conversations, and opens saved ones,
as files of the browser.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import attrs

from pegboard import ConfigError, ErrorCode, ToolError
from pegboard_chat.budget import Budget
from pegboard_chat.conversation import Conversation, Usage
from pegboard_chat.events import RoundEnded
from pegboard_chat.inspecting.question import question_of
from pegboard_chat.inspecting.seen import begun_event, observed, outcome_to_json, page_event, page_of, whole_event
from pegboard_chat.prices import bundled_prices

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    import trio

    from pegboard import Host, Outcome, Session
    from pegboard_chat.events import Event
    from pegboard_chat.inspecting.question import Question
    from pegboard_chat.loop import Chat
    from pegboard_inspect import Page, PageStream

LEAVING_S = 1.0
"""How long the conversation of a page that comes waits for a question to end."""
MAX_OUTCOMES = 1_000
"""Calls of a conversation whose stages are remembered: the newest."""
MAX_MODELS = 500
"""Names of models of one provider that are offered."""


@attrs.define(eq=False)
class Talked:
    """The conversation of one browser, and what it has cost.

    Args:
        conversation: what was said.
        usage, cost: of all questions; cost is None where a price is not known.
        requests: to models.
        outcomes: how its calls went, by id, as the page shows them; those that a call made are in its own list.
        asking: while a question is under way: set at its end.
    """

    conversation: Conversation
    usage: Usage = attrs.field(factory=Usage)
    cost: float | None = 0.0
    requests: int = 0
    outcomes: deque[dict[str, Any]] = attrs.field(factory=lambda: deque(maxlen=MAX_OUTCOMES))
    asking: trio.Event | None = None

    def take(self, chat: Chat) -> None:
        """What came of a question."""
        self.conversation = chat.conversation
        self.usage += chat.usage
        self.cost = None if chat.cost is None or self.cost is None else self.cost + chat.cost

    def totals(self, session: Session) -> dict[str, Any]:
        """What it has cost, and how many tools may be called, as an event of the page."""
        return {
            "type": "totals",
            "usage": dict(self.usage.to_json()),
            "cost": self.cost,
            "currency": bundled_prices().currency,
            "requests": self.requests,
            "tools": len(session.tools),
        }


class ChatPage:
    """The page, and the conversations of those who look at it."""

    def __init__(self) -> None:
        self._talks: WeakKeyDictionary[Session, Talked] = WeakKeyDictionary()

    def page(self) -> Page:
        """As `provide_pages` gives it."""
        streams = {"open": self._open, "begin": self._begin, "ask": self._ask}
        return page_of(data=self._data, actions={"models": _models}, streams=streams)

    async def _data(self, host: Host) -> Any:
        """What can be chosen, and what is chosen where nobody does."""
        from pegboard_chat.loop import settings_of
        from pegboard_chat.models import chosen_model, providers_of, what_is_missing

        settings = settings_of(host)
        try:
            model, problem = chosen_model(host), None
        except ConfigError as raised:
            model, problem = None, {"problem": raised.message, "hint": raised.hint}
        providers = providers_of(host)
        return {
            "model": model,
            "problem": problem,
            "providers": [
                {"name": name, "default_model": one.default_model, "missing": what_is_missing(one)}
                for name, one in providers.items()
            ],
            "budget": attrs.asdict(Budget.of_settings(settings)),
            "is_watched": False,
        }

    # -- the conversation of a browser

    def _talk(self, stream: PageStream) -> Talked:
        from pegboard_chat.loop import settings_of

        if stream.session not in self._talks:
            self._talks[stream.session] = Talked(Conversation(settings_of(stream.host).system))
        return self._talks[stream.session]

    async def _open(self, stream: PageStream, value: Any) -> None:
        """The conversation as it stands, whole: it can be saved as it is.

        A page that is loaded again leaves its question, which ends a moment later: that is waited for, and what another
        tab of the browser asks is not.
        """
        import trio

        talked = self._talk(stream)
        if talked.asking is not None:
            with trio.move_on_after(LEAVING_S):
                await talked.asking.wait()
        await stream.send(whole_event(talked.conversation))
        for outcome in tuple(talked.outcomes):
            await stream.send(outcome)
        await stream.send(talked.totals(stream.session))

    async def _begin(self, stream: PageStream, value: Any) -> None:
        """A new conversation; `value` is a saved one that goes on, or null.

        Raises:
            ToolError: CONFLICT: a question is under way. INVALID_INPUT: it is not a conversation.
        """
        _require_idle(self._talk(stream))
        if value is not None:
            try:
                conversation = Conversation.from_json(value)
            except ValueError as problem:
                why = f"this is not a saved conversation: {str(problem)[:300]}"
                raise ToolError(ErrorCode.INVALID_INPUT, why) from None
            self._talks[stream.session] = Talked(conversation)
        else:
            del self._talks[stream.session]
        await self._open(stream, None)

    async def _ask(self, stream: PageStream, value: Any) -> None:
        """A question, and what becomes of it. Whoever leaves stops the answer; what came of it is kept.

        Raises:
            ToolError: CONFLICT: another question is under way. INVALID_INPUT: it is not a question.
            ModelError: the provider did not answer.
            ConfigError: no such model, or none is ready; a bound in money, and no price.
        """
        import trio

        from pegboard_chat.loop import settings_of

        talked = self._talk(stream)
        _require_idle(talked)
        question = question_of(value, Budget.of_settings(settings_of(stream.host)))
        talked.asking = trio.Event()
        try:
            await _answer(stream, talked, question)
        finally:
            talked.asking.set()
            talked.asking = None
        await stream.send(talked.totals(stream.session))


async def _answer(stream: PageStream, talked: Talked, question: Question) -> None:
    from pegboard_chat.loop import Chat
    from pegboard_chat.models import open_model

    heard: deque[Outcome] = deque()

    async def tell_outcomes() -> None:
        while heard:
            told = outcome_to_json(heard.popleft())
            talked.outcomes.append(told)
            await stream.send(told)

    async with open_model(stream.host, question.model) as model:
        chat = Chat(stream.session, model, conversation=talked.conversation, budget=question.budget)
        asking = _asking(chat, question)
        try:
            with observed(stream.host, stream.session, heard.append):
                async with asking as events:
                    await stream.send(begun_event(chat))
                    async for event in events:
                        talked.requests += isinstance(event, RoundEnded)
                        await tell_outcomes()
                        await stream.send(page_event(event))
            await tell_outcomes()
        finally:
            talked.take(chat)


def _asking(chat: Chat, question: Question) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
    if question.text is not None:
        chat.session.note_said(question.text)  # the person's own browser sends it; and no attached file
        return chat.ask(question.text, *question.attached)
    try:
        return chat.go_on()
    except ValueError as problem:  # there is nothing to go on with
        raise ToolError(ErrorCode.CONFLICT, str(problem)) from None


def _require_idle(talked: Talked) -> None:
    if talked.asking is not None:
        raise ToolError(
            ErrorCode.CONFLICT, "another tab of this browser waits for an answer: wait for it, or stop it there"
        )


async def _models(host: Host, value: Any) -> Any:
    """The names of a provider's models.

    Raises:
        ToolError: NOT_FOUND: there is no such provider.
        ModelError: it could not be asked.
    """
    from pegboard_chat.models import providers_of

    provider = providers_of(host).get(str(value))
    if provider is None:
        raise ToolError(ErrorCode.NOT_FOUND, f"there is no provider of models {str(value)[:60]!r}")
    return [str(name) for name in (await provider.list_models())[:MAX_MODELS]]
