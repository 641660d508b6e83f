"""A limit store as guards ask it: in bounded time, and with one rule for a store that fails.

A limit that cannot be counted cannot be held, so the call is refused; where the host's owner would rather have calls
than limits (`limit_store_fails = "open"`), it passes. Either way whoever runs the host is told, once for each cause.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from typing import TYPE_CHECKING, Any, TypeVar

from pegboard.errors import ErrorCode, PegboardError, Retry, ToolError, reason_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pegboard.contract import LimitStore
    from pegboard.tools import Tool

T = TypeVar("T")

notice = logging.getLogger("pegboard.notice")

ANSWER_S = 10.0
"""How long a store may take for an answer: twice as long as the one of SQLite waits for a lock, in seconds."""


class SharedLimits:
    """What `Host.limit_store` gives to guards.

    Args:
        name: of the store.
        store: where is counted.
        fails_open: let calls pass where the store fails.

    .. versionadded:: 0.1
    """

    def __init__(self, name: str, store: LimitStore, *, fails_open: bool = False) -> None:
        self.name = name
        self._store = store
        self._fails_open = fails_open
        self._said: str | None = None

    def key_of(self, limit: str, tool: Tool, user: str | None = None) -> str:
        """The key of one limit of one tool and user: the same in every process, whatever that says of the limit.

        It is a hash, since a name may hold anything and be of any length, and who calls is nobody's business where it
        is counted. A tool is known by where it comes from and its name: two servers may both have a `search`.
        """
        origin = tool.origin
        whose = json.dumps([origin.distribution, origin.source, tool.name, user])
        return f"{limit.replace('_', '-')}-{hashlib.sha256(whose.encode()).hexdigest()[:32]}"

    async def take(self, key: str, count: int, period_s: float) -> float:
        """As `LimitStore.take`.

        Raises:
            ToolError: RATE_LIMITED, reason `limit_store`: the store failed.
        """
        return await self._ask(self._store.take(key, count, period_s), _seconds, 0.0)

    async def claim(self, key: str, ttl_s: float) -> float:
        """As `LimitStore.claim`; raises as `take`."""
        return await self._ask(self._store.claim(key, ttl_s), _seconds, 0.0)

    async def lease(self, key: str, places: int, ttl_s: float) -> Callable[[], object] | float:
        """As `LimitStore.lease`; raises as `take`."""
        return await self._ask(self._store.lease(key, places, ttl_s), _place, _nothing)

    def peek(self, method: str, *arguments: Any) -> float | str:
        """What a method would answer, without taking anything; a text where that cannot be known without waiting."""
        look = getattr(self._store, f"peek_{method}", None)
        wait_s = None if look is None else look(*arguments)
        return f"is counted in {self.name!r}, which is asked when the call runs" if wait_s is None else _seconds(wait_s)

    async def aclose(self) -> None:
        """The host ends."""
        if (close := getattr(self._store, "aclose", None)) is not None:
            await close()

    async def _ask(self, answer: Awaitable[Any], read: Callable[[Any], T], otherwise: T) -> T:
        import trio

        try:
            with trio.fail_after(ANSWER_S):
                taken = read(await answer)
        except Exception as problem:  # whatever a store raises, it did not count
            self._note(problem)
            if self._fails_open:
                return otherwise
            raise ToolError(
                ErrorCode.RATE_LIMITED,
                f"the limits of the tool are counted in {self.name!r}, which fails; nothing was done, and the host's "
                "log and pegboard doctor say why",
                reason="limit_store",
                executed=False,
                retry=Retry.SAME.value,
            ) from problem
        self._said = None
        return taken

    def _note(self, problem: Exception) -> None:
        """Tell who runs the host why the store fails: once, until it is well again or fails otherwise."""
        import trio

        if isinstance(problem, trio.TooSlowError):
            why = f"it did not answer within {ANSWER_S:g} s"
        elif isinstance(problem, PegboardError):
            why = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
        else:
            why = reason_of(problem)
        if why != self._said:
            self._said = why
            happens = "pass uncounted" if self._fails_open else "are refused"
            notice.warning("limits cannot be counted in %s: %s; calls of tools with limits %s", self.name, why, happens)


def _seconds(answer: Any) -> float:
    if isinstance(answer, bool) or not isinstance(answer, (int, float)) or not 0 <= answer < math.inf:
        raise TypeError(f"it answered {answer!r:.60}, expected seconds to wait")
    return float(answer)


def _place(answer: Any) -> Callable[[], object] | float:
    return answer if callable(answer) else _seconds(answer)


def _nothing() -> None:
    """Give back what nobody counted."""
