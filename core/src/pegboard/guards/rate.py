"""Cooldown and rate limit of one tool, per user, by GCRA (the generic cell rate algorithm, ITU-T I.371).

One number a user suffices: the theoretical arrival time of the next call. Sessions of nobody share one bucket, or a new
session would be a way around the limit. Where processes share a limit store, that has the number.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, Guard, Stage, ToolError, hookimpl

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Mapping

    from pegboard import CallContext, Session, Tool

MAX_USERS = 10_000
"""From here on those are forgotten whose limit has run out, so that a crowd cannot fill the memory."""


def wait_of(expected_at: float, now: float, count: int, period_s: float) -> float:
    """Seconds until a call would pass, by when the next one is expected; 0 or less: it passes now."""
    # The burst tolerance of GCRA: all calls of a period may come at once, and then one each `period_s / count`.
    return expected_at - (period_s - period_s / count) - now


def next_of(expected_at: float, now: float, count: int, period_s: float) -> float:
    """When the call after one that passes now is expected."""
    return max(expected_at, now) + period_s / count


class Buckets:
    """The state of one limit: when each user's next call would be due if they came evenly."""

    def __init__(self, count: int, period_s: float) -> None:
        self.count = count
        self.period_s = period_s
        self._expected_at: dict[str | None, float] = {}
        self._crowd = MAX_USERS

    def wait_s(self, user: str | None, now: float) -> float:
        """Seconds until a call of that user would pass; 0 or less: it passes now."""
        expected_at = self._expected_at.get(user, now)
        if expected_at > now + self.period_s + 1:  # by the clock of another run of the loop: it means nothing here
            del self._expected_at[user]
            return 0
        return wait_of(expected_at, now, self.count, self.period_s)

    def take(self, user: str | None, now: float) -> None:
        """Spend one call."""
        if len(self._expected_at) >= self._crowd:
            self._expected_at = {known: next_at for known, next_at in self._expected_at.items() if next_at > now}
            # Twice as many as are left, or every call of a crowd would look through all of it: so the looks cost a
            # constant share of each call, as the growth of a list does.
            self._crowd = max(MAX_USERS, 2 * len(self._expected_at))
        self._expected_at[user] = next_of(self._expected_at.get(user, now), now, self.count, self.period_s)


@hookimpl
def make_guards(tool: Tool) -> Iterator[Guard]:
    """Guard the tools that have a cooldown or a rate limit, and no others."""
    cooldown_s, rate = tool.limits.cooldown_s, tool.limits.rate_limit
    if cooldown_s is not None:
        yield _guard(tool, "cooldown", Buckets(1, cooldown_s), f"has a cooldown of {cooldown_s:g} s")
    if rate is not None:
        yield _guard(tool, "rate_limit", Buckets(rate.count, rate.period_s), f"may be called {rate} by each user")


def _now() -> float:
    import trio  # a board that only lists its tools never gets here

    return trio.current_time()


def _guard(tool: Tool, name: str, buckets: Buckets, rule: str) -> Guard:
    def refusal(wait_s: float) -> ToolError | None:
        if wait_s <= 0:
            return None
        # Up, to the millisecond that is told: who waits for as long as this says must not be refused again.
        wait_s = math.ceil(wait_s * 1000) / 1000
        return ToolError(
            ErrorCode.RATE_LIMITED,
            f"{tool.name!r} {rule}; repeat the call after {wait_s:g} s",
            reason=name,
            retry_after_s=wait_s,
        )

    def asked_of(store: Any, user: str | None) -> tuple[str, *tuple[Any, ...]]:
        """The method of a store, and its arguments."""
        key = store.key_of(name, tool, user)
        if name == "cooldown":
            return "claim", key, buckets.period_s
        return "take", key, buckets.count, buckets.period_s

    async def check_shared(store: Any, user: str | None) -> ToolError | None:
        method, *arguments = asked_of(store, user)
        return refusal(await getattr(store, method)(*arguments))

    def check(context: CallContext) -> ToolError | Awaitable[ToolError | None] | None:
        if not context.is_counted:
            return None
        session = context.session
        if (store := session.host.limit_store) is not None:
            return check_shared(store, session.user_id)
        now, user = _now(), session.user_id
        wait_s = buckets.wait_s(user, now)
        if wait_s <= 0:
            buckets.take(user, now)
        return refusal(wait_s)

    def peek(session: Session, arguments: Mapping[str, Any]) -> ToolError | str | None:
        if (store := session.host.limit_store) is None:
            return refusal(buckets.wait_s(session.user_id, _now()))
        foreseen = store.peek(*asked_of(store, session.user_id))
        return foreseen if isinstance(foreseen, str) else refusal(foreseen)

    return Guard(name=name, stage=Stage.LIMIT, check=check, peek=peek, counts=True)
