"""How much one question may cost, and how much of it is spent.

A budget is looked at between requests. Where one is used up, calls beyond it are answered with an error, and one last
request goes out that may call nothing: so a question ends with an answer and not in the middle. Tokens and money can
therefore be exceeded by what the request that used them up cost, and by that last one. The time of `max_seconds` ends
tools and requests in the middle; the last request has as long again, at most `LAST_S`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from pegboard import ErrorCode, Retry, ToolError
from pegboard_chat.conversation import Usage

if TYPE_CHECKING:
    from pegboard_chat.settings import ChatSettings

LAST_S = 30.0
MAX_FINDS = 50
"""Searches for tools that one question may make."""


@attrs.frozen
class Budget:
    """What one question may cost; None: no bound.

    Args:
        max_tool_calls: calls, failed ones included; looking for tools is none.
        max_rounds: requests to the model; the last of them may call nothing.
        max_tokens: read and written together.
        max_seconds: tools and requests; see the module for the last one.
        max_cost: in the currency of the price table.

    .. versionadded:: 0.1
    """

    max_tool_calls: int | None = 5
    max_rounds: int | None = 20
    max_tokens: int | None = None
    max_seconds: float | None = 600.0
    max_cost: float | None = None

    @classmethod
    def of_settings(cls, settings: ChatSettings) -> Budget:
        """The budget of `[plugins.chat]`."""
        return cls(
            settings.max_tool_calls, settings.max_rounds, settings.max_tokens, settings.max_seconds, settings.max_cost
        )


class Spending:
    """What one question has cost so far.

    Attributes:
        budget: what it may cost.
        calls: calls that were let through.
        finds: searches for tools.
        rounds: requests that were answered.
        usage: tokens.
        cost: money; None: a price is not known.
    """

    __slots__ = ("budget", "calls", "cost", "finds", "rounds", "usage")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.calls = 0
        self.finds = 0
        self.rounds = 0
        self.usage = Usage()
        self.cost: float | None = 0.0

    def add(self, usage: Usage, cost: float | None) -> None:
        """One request was answered."""
        self.rounds += 1
        self.usage += usage
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def take_call(self) -> bool:
        """Whether one more call may run; it counts if so."""
        most = self.budget.max_tool_calls
        if most is not None and self.calls >= most:
            return False
        self.calls += 1
        return True

    def take_find(self) -> bool:
        """Whether one more search for tools may run; it counts if so."""
        self.finds += 1
        return self.finds <= MAX_FINDS

    @property
    def overspent(self) -> str | None:
        """The budget of tokens or money that is used up, after which no call runs any more; None: none is."""
        budget = self.budget
        if budget.max_tokens is not None and self.usage.total_tokens >= budget.max_tokens:
            return "max_tokens"
        if budget.max_cost is not None and (self.cost is None or self.cost >= budget.max_cost):
            return "max_cost"
        return None

    @property
    def used_up(self) -> str | None:
        """The budget after which the next request is the last; None: none is used up."""
        budget = self.budget
        if budget.max_tool_calls is not None and self.calls >= budget.max_tool_calls:
            return "max_tool_calls"
        if budget.max_rounds is not None and self.rounds >= budget.max_rounds - 1:
            return "max_rounds"
        return self.overspent


def refusal(reason: str, budget: Budget) -> ToolError:
    """What a call beyond a budget is answered with."""
    most = getattr(budget, reason)
    said = {
        "max_tool_calls": f"this question may make {most} calls and has made them",
        "max_rounds": f"this question may take {most} requests and this was the last",
        "max_tokens": f"this question may cost {most} tokens and has cost them",
        "max_seconds": f"this question may take {most:g} s and they are over" if most is not None else "time is over",
        "max_cost": f"this question may cost {most} and has cost it",
    }[reason]
    return ToolError(
        ErrorCode.FORBIDDEN,
        f"{said}: the call did not run; answer with what is known",
        reason="budget",
        budget=reason,
        executed=False,
        retry=Retry.NEVER.value,
    )
