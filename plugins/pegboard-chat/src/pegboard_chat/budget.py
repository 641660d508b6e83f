"""How much one question may cost, and how much of it is spent.

A budget is looked at between requests. Where one is used up, calls beyond it are answered with an error, and one last
request goes out that may call nothing: so a question ends with an answer and not in the middle. Tokens and money can
therefore be exceeded by what the request that used them up read, and by that last one: of output a request gets what is
left, where that is little (`Spending.output_left`). The time of `max_seconds` ends tools and requests in the middle;
the last request has as long again, at most `LAST_S`. While a person is asked, its clock stands still.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

import attrs

from pegboard import ErrorCode, Retry, ToolError
from pegboard_chat.conversation import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard_chat.prices import Price
    from pegboard_chat.settings import ChatSettings

LAST_S = 30.0
LEAST_TOKENS = 1_000
"""Of output that a request may always have: an answer of a few words would be worth nothing."""
MOST_TOKENS = 4_000
"""Of output that every model may be asked for: a request for more than a model can write is refused."""
MILLION = 1_000_000
MAX_FINDS = 50
"""Searches for tools that one question may make."""


@attrs.frozen
class Budget:
    """What one question may cost; None: no bound.

    Args:
        max_tool_calls: calls, failed ones included; looking for tools is not counted.
        max_rounds: requests to the model; the last of them may call nothing.
        max_tokens: read and written together.
        max_seconds: tools and requests, without the time that a person takes to answer; see the module for the last
            request.
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


class Rest(NamedTuple):
    """How much a request may write.

    Args:
        tokens: of output.
        budget: which one bounds it.
    """

    tokens: int
    budget: str


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

    __slots__ = ("_waiting", "budget", "calls", "cost", "finds", "rounds", "usage")

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.calls = 0
        self.finds = 0
        self.rounds = 0
        self._waiting = 0
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

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """A request beside others is under way: it counts before it is answered."""
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def output_left(self, price: Price | None) -> Rest | None:
        """How much the next request may write; None: as much as the model can."""
        budget = self.budget
        if budget.max_tokens is None and budget.max_cost is None:
            return None
        left = []
        if budget.max_tokens is not None:
            left.append(Rest(budget.max_tokens - self.usage.total_tokens, "max_tokens"))
        if budget.max_cost is not None and self.cost is not None and price is not None and price.output:
            tokens = (budget.max_cost - self.cost) * MILLION / price.output
            left.append(Rest(int(min(tokens, MOST_TOKENS)), "max_cost"))
        least = min(left, default=None)
        if least is None or least.tokens >= MOST_TOKENS:
            return None
        return Rest(max(least.tokens, LEAST_TOKENS), least.budget)

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
        return self.requests_used_up

    @property
    def requests_used_up(self) -> str | None:
        """The budget after which only the last request may be made, calls or not; None: none is used up."""
        most = self.budget.max_rounds
        if most is not None and self.rounds + self._waiting >= most - 1:
            return "max_rounds"
        return self.overspent


def _counted(most: int, what: str, done: str = "made") -> str:
    """How much a question may have of something, and that it had it."""
    if most == 0:
        return f"no {what}s"
    return f"1 {what} and has {done} it" if most == 1 else f"{most} {what}s and has {done} them"


def refusal(reason: str, budget: Budget) -> ToolError:
    """What a call beyond a budget is answered with."""
    most = getattr(budget, reason)
    said = {
        "max_tool_calls": f"this question may make {_counted(most, 'call')}",
        "max_rounds": f"this question may take {most} request{'' if most == 1 else 's'} and this was the last",
        "max_tokens": f"this question may cost {_counted(most, 'token', 'cost')}",
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
