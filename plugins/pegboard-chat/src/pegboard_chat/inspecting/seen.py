"""The calls of one session with their stages, as long as somebody looks: before and after nobody observes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pegboard import Host, Outcome, Session

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
            {"guard": one.guard, "stage": one.stage.value, "verdict": one.verdict, "us": one.duration_us}
            for one in outcome.verdicts
        ],
    }
