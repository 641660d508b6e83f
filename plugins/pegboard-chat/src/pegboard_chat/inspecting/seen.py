"""What a page is told: the events of a conversation, and how the calls of one session went.

Calls are observed as long as somebody looks; before and after nobody does."""

from __future__ import annotations

import contextlib
from importlib import resources
from typing import TYPE_CHECKING, Any

import attrs

from pegboard.guards.audit import shown_question
from pegboard_chat.events import RoundEnded, event_to_json
from pegboard_inspect import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pegboard import Host, Outcome, Session
    from pegboard_chat.conversation import Conversation
    from pegboard_chat.events import Event
    from pegboard_chat.loop import Chat

MAX_NAME = 200


@contextlib.contextmanager
def observed(host: Host, session: Session, hear: Callable[[Outcome], object]) -> Iterator[None]:
    """Let `hear` be told of each call of the session that ends, as long as the block; it must not wait."""

    def observe(outcome: Outcome) -> None:
        if outcome.session is session:
            hear(outcome)

    stop = host.add_observer(observe, plugin="chat")
    try:
        yield
    finally:
        stop()


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """How a call went, as an event of the page: its answer comes as an event of the conversation."""
    name: Any = outcome.call.name  # as it came
    error = None if outcome.result is None else outcome.result.error
    return {
        "type": "outcome",
        "id": outcome.call.id,
        "parent_id": outcome.parent_id,
        "name": name[:MAX_NAME] if isinstance(name, str) else None,
        "status": outcome.status,
        "error": None if error is None else error.code.value,
        "duration_ms": round(outcome.duration_ms, 3),
        "timings": dict(outcome.timings),
        "guards": [
            {
                "guard": one.guard,
                "stage": one.stage.value,
                "verdict": one.verdict,
                "us": one.duration_us,
                "asked": [shown_question(outcome, question) for question in one.asked],
            }
            for one in outcome.verdicts
        ],
    }


def begun_event(chat: Chat) -> dict[str, Any]:
    """A question was asked: of which model, and what it may cost."""
    budget = attrs.asdict(chat.budget)
    return {"type": "begun", "model": chat.model.name, "budget": budget, "currency": chat.currency}


def page_event(event: Event) -> dict[str, Any]:
    """An event as JSON; the calls of a round are in it, so that those are shown too that do not run."""
    told = event_to_json(event)
    if isinstance(event, RoundEnded):
        calls = event.reply.message.calls
        told["calls"] = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
    return told


def whole_event(conversation: Conversation) -> dict[str, Any]:
    """The conversation as it stands; it can be saved as it is."""
    return {"type": "conversation", "conversation": conversation.to_json()}


def page_of(**answers: Any) -> Page:
    """The page, with what answers it (as of `Page`)."""
    static = resources.files("pegboard_chat") / "inspecting" / "static"
    module, style = ((static / name).read_text(encoding="utf-8") for name in ("chat.js", "chat.css"))
    return Page(title="Chat", path="chat", module=module, style=style, **answers)
