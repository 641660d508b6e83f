"""What a call waits for before its work begins is not counted in its deadline."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from pegboard import CallContext, open_host, tool
from pegboard.testing import assert_error, assert_ok


@tool(timeout_s=5)
async def work(context: CallContext, ready_s: float, work_s: float = 0, limit_s: float = 60) -> str:
    """Open something, then work."""

    async def ready() -> str:
        await trio.sleep(ready_s)
        return "ready"

    said = await context.prepare(ready, timeout_s=limit_s)
    await trio.sleep(work_s)
    return said


@tool(timeout_s=5)
async def outer(context: CallContext, ready_s: float) -> str:
    """Call the other."""
    return (await context.call("work", {"ready_s": ready_s})).text


async def call(name: str, arguments: dict[str, Any], **options: Any) -> Any:
    async with open_host(plugins=[]) as host:
        host.add(work, outer)
        return await host.session().call(name, arguments, **options)


async def test_preparing_may_take_longer_than_the_deadline(autojump_clock: Any) -> None:
    assert_ok(await call("work", {"ready_s": 50, "work_s": 4}), text="ready")
    assert_ok(await call("outer", {"ready_s": 50}), text="ready")


async def test_the_work_after_it_has_its_deadline(autojump_clock: Any) -> None:
    error = assert_error(await call("work", {"ready_s": 50, "work_s": 6}), "TIMEOUT").error
    assert "executed" not in error.details
    assert error.message == (
        "the tool 'work' did not end within 5 s; it is not known whether it was done, so look before you call it again"
    )


@pytest.mark.parametrize(
    ("arguments", "options", "after_s"),
    [({"limit_s": 20}, {}, 20), ({}, {}, 60), ({}, {"timeout_s": 10}, 8)],
    ids=["its own limit", "the usual limit", "the caller's deadline"],
)
async def test_preparing_has_an_end_and_nothing_was_done(
    autojump_clock: Any, arguments: dict[str, Any], options: dict[str, Any], after_s: float
) -> None:
    began = trio.current_time()
    result = await call("work", {"ready_s": 1000, **arguments}, **options)
    error = assert_error(result, "TIMEOUT", reason="preparing", says="nothing was done").error
    assert trio.current_time() - began == pytest.approx(after_s, abs=0.01)
    assert error.details["executed"] is False
    assert error.details["retry"] == "same"


async def test_what_preparing_raises_is_raised() -> None:
    @tool
    async def broken(context: CallContext) -> str:
        """Open what is not there."""

        async def ready() -> str:
            raise OSError("gone")

        try:
            return await context.prepare(ready)
        except OSError as problem:
            return str(problem)

    async with open_host(plugins=[]) as host:
        host.add(broken)
        assert_ok(await host.session().call("broken"), text="gone")


async def test_a_call_that_never_began_says_so(autojump_clock: Any) -> None:
    @tool(concurrency=1, timeout_s=100)
    async def slow() -> None:
        """Take long."""
        await trio.sleep(50)

    async with open_host(plugins=[]) as host, trio.open_nursery() as nursery:
        host.add(slow)
        nursery.start_soon(host.session().call, "slow")
        await trio.testing.wait_all_tasks_blocked()
        error = assert_error(await host.session().call("slow", timeout_s=1), "TIMEOUT").error
        assert error.message == "the tool 'slow' could not begin within 1 s; nothing was done"
        assert error.details["executed"] is False
