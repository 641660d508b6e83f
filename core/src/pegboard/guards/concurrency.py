"""How many calls of one tool may run at once, all users together. Those above wait, for as long as a call may take.

A nested call that finds every place taken, one of them by the very chain it belongs to, would wait for itself: it is
refused at once.

Where processes share a limit store, a call takes a place of this process and then one of the store. Those of one
process stand in line for that, so that their order is kept, and only the first of them asks.
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
LEASE_S = 15.0
"""How long a place stays taken whose process was killed, in seconds: a call that waits for it still gets it."""
ASK_S = 0.01
"""How long a call waits at least before it asks a store again, in seconds, whatever that says."""


class Places:
    """The places of one tool; what trio needs for them is made by the first call, inside the running loop."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._semaphore: trio.Semaphore | None = None
        self._line: trio.Lock | None = None

    @property
    def semaphore(self) -> trio.Semaphore:
        """The places as trio sees them."""
        import trio

        if self._semaphore is None:
            self._semaphore = trio.Semaphore(self.count)
        return self._semaphore

    @property
    def line(self) -> trio.Lock:
        """Held by the call that asks the store; trio's lock goes to those that wait in the order they came."""
        import trio

        if self._line is None:
            self._line = trio.Lock()
        return self._line

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

    def recursion() -> ToolError:
        return busy("recursion", "this call was made by one of them and would wait for itself", Retry.NEVER)

    async def lease(store: Any, *, is_nested: bool) -> Callable[[], object]:
        import trio

        key = store.key_of("concurrency", tool)
        async with places.line:
            while True:
                leased: Callable[[], object] | float = await store.lease(key, places.count, LEASE_S)
                if callable(leased):
                    return leased
                if is_nested:
                    raise recursion()
                await trio.sleep(max(leased, ASK_S))

    async def check(context: CallContext) -> ToolError | Callable[[], object] | None:
        import trio

        if not context.is_counted:  # the host that sent it holds the place, also of what it calls here
            context.held |= {places}
            return None
        semaphore, is_nested = places.semaphore, places in context.held
        # With a free place it takes a second one, and waits for nobody.
        if is_nested and not semaphore.value:
            return recursion()
        with trio.move_on_after(wait_s):
            await semaphore.acquire()  # trio gives places to those that wait in the order they came
            release: Callable[[], object] = semaphore.release
            if (store := context.session.host.limit_store) is not None:
                try:
                    release = _both(await lease(store, is_nested=is_nested), release)
                except BaseException:
                    # Cancelled, or the store failed: a place that nobody gives back would be lost for as long as the
                    # host runs.
                    semaphore.release()
                    raise
            context.held |= {places}
            return release
        return busy("concurrency", f"none ended within {wait_s:g} s", Retry.SAME)

    def peek(session: Session, arguments: Mapping[str, Any]) -> str | None:
        waits = f"waits until one of {places.count} running calls ends"
        if not places.free:
            return waits
        if (store := session.host.limit_store) is None:
            return None
        foreseen = store.peek("lease", store.key_of("concurrency", tool), places.count, LEASE_S)
        return foreseen if isinstance(foreseen, str) else waits if foreseen else None

    return Guard(name="concurrency", stage=Stage.LIMIT, check=check, peek=peek)


def _both(leased: Callable[[], object], release: Callable[[], object]) -> Callable[[], None]:
    """Give back the place of the store, then that of the process, whose next call asks the store."""

    def give_back() -> None:
        try:
            leased()
        finally:
            release()

    return give_back
