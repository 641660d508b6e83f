"""Cooldown and rate limit of one tool, per user, by GCRA (the generic cell rate algorithm, ITU-T I.371).

One number a user suffices: the theoretical arrival time of the next call. Sessions of nobody share one bucket, or a new
session would be a way around the limit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, Guard, Stage, ToolError, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard import CallContext, RateLimit, Session, Tool

MAX_USERS = 10_000
"""From here on those are forgotten whose limit has run out, so that a crowd cannot fill the memory."""


class Buckets:
    """The state of one limit: when each user's next call would be due if they came evenly."""

    def __init__(self, count: int, period_s: float) -> None:
        self._period_s = period_s
        self._interval_s = period_s / count
        self._tolerance_s = period_s - self._interval_s
        self._expected_at: dict[str | None, float] = {}
        self._crowd = MAX_USERS

    def wait_s(self, user: str | None, now: float) -> float:
        """Seconds until a call of that user would pass; 0 or less: it passes now."""
        next_at = self._expected_at.get(user, now)
        if next_at > now + self._period_s + 1:  # noted by the clock of another run of the loop: it means nothing here
            del self._expected_at[user]
            return 0
        return next_at - self._tolerance_s - now

    def take(self, user: str | None, now: float) -> None:
        """Spend one call."""
        if len(self._expected_at) >= self._crowd:
            self._expected_at = {known: next_at for known, next_at in self._expected_at.items() if next_at > now}
            self._crowd = max(
                MAX_USERS, 2 * len(self._expected_at)
            )  # or every call of a crowd would look through all of it
        self._expected_at[user] = max(self._expected_at.get(user, now), now) + self._interval_s


@hookimpl
def make_guards(tool: Tool) -> Iterator[Guard]:
    """Guard the tools that have a cooldown or a rate limit, and no others."""
    cooldown_s, rate = tool.limits.cooldown_s, tool.limits.rate_limit
    if cooldown_s is not None:
        yield _guard(tool, "cooldown", Buckets(1, cooldown_s), f"has a cooldown of {cooldown_s:g} s")
    if rate is not None:
        yield _guard(tool, "rate_limit", _buckets(rate), f"may be called {rate} by each user")


def _buckets(rate: RateLimit) -> Buckets:
    return Buckets(rate.count, rate.period_s)


def _now() -> float:
    import trio  # a board that only lists its tools never gets here

    return trio.current_time()


def _guard(tool: Tool, name: str, buckets: Buckets, rule: str) -> Guard:
    def refuse(wait_s: float) -> ToolError:
        wait_s = math.ceil(wait_s * 1000) / 1000
        return ToolError(
            ErrorCode.RATE_LIMITED,
            f"{tool.name!r} {rule}; repeat the call after {wait_s:g} s",
            reason=name,
            retry_after_s=wait_s,
        )

    def check(context: CallContext) -> ToolError | None:
        now, user = _now(), context.session.user_id
        wait_s = buckets.wait_s(user, now)
        if wait_s > 0:
            return refuse(wait_s)
        buckets.take(user, now)
        return None

    def peek(session: Session, arguments: Mapping[str, Any]) -> ToolError | None:
        wait_s = buckets.wait_s(session.user_id, _now())
        return refuse(wait_s) if wait_s > 0 else None

    return Guard(name=name, stage=Stage.LIMIT, check=check, peek=peek)
