"""How many calls of one tool may run at once, all users together. Those above wait, for as long as a call may take.

A nested call that finds every place taken, one of them by the very chain it belongs to, would wait for itself: it is
refused at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, Guard, Retry, Stage, ToolError, hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import trio

    from pegboard import CallContext, Session, Tool

WAIT_S = 30.0
"""How long a call waits for a place where its tool has no deadline of its own, in seconds."""


class Places:
    """The places of one tool; its semaphore is made by the first call, inside the running loop."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._semaphore: trio.Semaphore | None = None

    @property
    def semaphore(self) -> trio.Semaphore:
        """The places as trio sees them."""
        import trio

        if self._semaphore is None:
            self._semaphore = trio.Semaphore(self.count)
        return self._semaphore

    @property
    def free(self) -> int:
        """How many calls would start at once."""
        return self.count if self._semaphore is None else self._semaphore.value


@hookimpl
def make_guards(tool: Tool) -> Guard | None:
    """Guard the tools that declare a concurrency, and no others."""
    if tool.limits.concurrency is None:
        return None
    places = Places(tool.limits.concurrency)
    wait_s = tool.limits.timeout_s or WAIT_S

    def busy(reason: str, advice: str, retry: Retry) -> ToolError:
        return ToolError(
            ErrorCode.RATE_LIMITED,
            f"{tool.name!r} runs at most {places.count} calls at once; {advice}",
            reason=reason,
            retry=retry.value,
        )

    async def check(context: CallContext) -> ToolError | Callable[[], object]:
        import trio

        semaphore = places.semaphore
        if places in context.held and not semaphore.value:
            return busy("recursion", "this call was made by one of them and would wait for itself", Retry.NEVER)
        with trio.move_on_after(wait_s):
            await semaphore.acquire()
            context.held |= {places}
            return semaphore.release
        return busy("concurrency", f"none ended within {wait_s:g} s", Retry.SAME)

    def peek(session: Session, arguments: Mapping[str, Any]) -> str | None:
        return None if places.free else f"waits until one of {places.count} running calls ends"

    return Guard(name="concurrency", stage=Stage.LIMIT, check=check, peek=peek)
