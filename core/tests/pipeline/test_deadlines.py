"""When an answer comes: deadlines, threads that hang, worker processes, checkpoints."""

from __future__ import annotations

import contextlib
import datetime
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from pegboard import (
    CallContext,
    ErrorCode,
    PluginError,
    Tool,
    ToolDefinitionError,
    ToolError,
    ToolResult,
    open_host,
    tool,
)
from pegboard.contract import Guard, Stage
from pegboard.pipeline.execution import Started
from pegboard.pipeline.runtime import Ticket
from pegboard.trace import following


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What threads wait for; opened at the end, so that none is left."""
    event = threading.Event()
    yield event
    event.set()


# the tool's own deadline ----------------------------------------


async def test_a_tool_that_hangs_is_a_timeout_at_its_deadline(hosted: Any, autojump_clock: MockClock) -> None:
    @tool(timeout_s=7)
    async def hang() -> None:
        await trio.sleep_forever()

    async with hosted(hang) as host:
        began = trio.current_time()
        result = await host.session().call("hang")
        assert trio.current_time() - began == pytest.approx(7)
    assert result.error.code is ErrorCode.TIMEOUT
    assert result.error.details["timeout_s"] == 7
    assert result.error.details["retry"] == "unknown"


@pytest.mark.parametrize(("marks", "retry"), [({"read_only": True}, "same"), ({"idempotent": True}, "same")])
async def test_a_timeout_of_a_tool_that_may_be_repeated_says_so(
    hosted: Any, autojump_clock: MockClock, marks: dict[str, bool], retry: str
) -> None:
    @tool(timeout_s=1, **marks)
    async def hang() -> None:
        await trio.sleep_forever()

    async with hosted(hang) as host:
        result = await host.session().call("hang")
    assert result.error.details["retry"] == retry


async def test_the_deadline_is_the_tools_own_else_its_sources_else_the_hosts(
    hosted: Any, make_plugin: Any, autojump_clock: MockClock
) -> None:
    async def hang() -> None:
        await trio.sleep_forever()

    class Source:
        name = "far"
        timeout_s = 20.0

        async def run(self, slot: Any) -> None:
            own = tool(name="own", timeout_s=3)(hang)
            slot.replace([own, tool(name="far")(hang)])
            await trio.sleep_forever()

    here = tool(name="here")(hang)
    plugins = [make_plugin("far", provide_sources=[Source()])]
    async with hosted(here, config={"timeout_s": 11}, plugins=plugins) as host:
        await wait_all_tasks_blocked()
        for name, timeout_s in (("own", 3), ("far", 20), ("here", 11)):
            result = await host.session().call(name)
            assert result.error.details["timeout_s"] == timeout_s


async def test_the_context_knows_when_the_execution_has_to_end(hosted: Any, autojump_clock: MockClock) -> None:
    seen: list[float] = []

    @tool(timeout_s=9)
    async def look(context: CallContext) -> None:
        seen.append(context.deadline - trio.current_time())

    @tool(run="inplace", timeout_s=9)
    def look_here(context: CallContext) -> None:
        seen.append(context.deadline)

    async with hosted(look, look_here) as host:
        await host.session().call("look")
        await host.session().call("look_here")
    assert seen == [pytest.approx(9), float("inf")]


async def test_a_tool_that_raises_because_its_deadline_fired_is_a_timeout(
    hosted: Any, autojump_clock: MockClock
) -> None:
    @tool(timeout_s=1)
    async def in_a_group() -> None:
        async with trio.open_nursery() as nursery:

            async def fail() -> None:
                try:
                    await trio.sleep_forever()
                finally:
                    raise ValueError

            nursery.start_soon(fail)
            nursery.start_soon(trio.sleep_forever)

    @tool(timeout_s=1)
    async def instead() -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            raise ToolError("CONFLICT", "broken off") from None

    async with hosted(in_a_group, instead) as host:
        for name in ("in_a_group", "instead"):
            result = await host.session().call(name)
            assert result.error.code is ErrorCode.TIMEOUT


async def test_a_tool_that_swallows_its_cancellation_is_late_and_says_so(
    hosted: Any, autojump_clock: MockClock
) -> None:
    @tool(timeout_s=1)
    async def swallow() -> str:
        with trio.CancelScope(shield=True):
            await trio.sleep(5)
        with contextlib.suppress(trio.Cancelled):
            await trio.sleep_forever()
        return "all the same"

    async with hosted(swallow) as host:
        result = await host.session().call("swallow")
    assert result.text == "all the same"
    assert result.details == {"late": True, "timeout_s": 1}


async def test_a_tool_that_shields_itself_delays_its_timeout_which_says_by_how_much(
    hosted: Any, autojump_clock: MockClock
) -> None:
    @tool(timeout_s=1)
    async def shield() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(5)
        await trio.lowlevel.checkpoint()

    async with hosted(shield) as host:
        result = await host.session().call("shield")
    assert result.error.code is ErrorCode.TIMEOUT
    assert result.error.details["late_s"] == pytest.approx(4)


def burn(seconds: float) -> None:
    until = perf_counter() + seconds
    while perf_counter() < until:
        pass


@pytest.mark.parametrize("run", ["async", "inplace"])
async def test_work_that_never_waits_is_late_and_says_so(hosted: Any, run: str) -> None:
    def work() -> int:
        burn(0.03)
        return 1

    async def work_in_the_loop() -> int:
        return work()

    handler = work if run == "inplace" else work_in_the_loop
    async with hosted(tool(name="work", run=run, timeout_s=0.01)(handler)) as host:
        result = await host.session().call("work")
    assert result.data == {"result": 1}
    assert result.details == {"late": True, "timeout_s": 0.01}


# the caller's deadline ----------------------------------------


async def test_the_callers_deadline_bounds_the_execution(hosted: Any, autojump_clock: MockClock) -> None:
    @tool(timeout_s=100)
    async def hang() -> None:
        await trio.sleep_forever()

    async with hosted(hang) as host:
        began = trio.current_time()
        result = await host.session().call("hang", timeout_s=2)
        assert trio.current_time() - began == pytest.approx(2)
        at_once = await host.session().call("hang", timeout_s=-1)
    assert result.error.code is at_once.error.code is ErrorCode.TIMEOUT
    assert result.error.details["by"] == "caller"
    assert (result.name, result.error.details["timeout_s"]) == ("hang", 2)


async def test_the_callers_deadline_bounds_the_wait_for_approval(hosted: Any, autojump_clock: MockClock) -> None:
    ran: list[int] = []

    @tool(requires_confirmation=True)
    async def act() -> None:
        ran.append(1)

    async def nobody(asked: Any) -> bool:
        await trio.sleep_forever()
        return True

    async with hosted(act) as host:
        began = trio.current_time()
        result = await host.session(confirm=nobody).call("act", timeout_s=2)
        assert trio.current_time() - began == pytest.approx(2)
    assert result.error.code is ErrorCode.TIMEOUT
    assert not ran


async def test_the_callers_deadline_bounds_the_wait_for_a_limit(hosted: Any, autojump_clock: MockClock) -> None:
    @tool(concurrency=1, timeout_s=50)
    async def hang() -> None:
        await trio.sleep_forever()

    async with hosted(hang) as host, trio.open_nursery() as nursery:
        nursery.start_soon(host.session().call, "hang")
        await wait_all_tasks_blocked()
        began = trio.current_time()
        result = await host.session().call("hang", timeout_s=2)
        assert trio.current_time() - began == pytest.approx(2)
        assert result.error.code is ErrorCode.TIMEOUT
        nursery.cancel_scope.cancel()


async def test_what_comes_after_the_callers_deadline_is_marked_or_a_timeout(
    hosted: Any, autojump_clock: MockClock
) -> None:
    @tool
    async def swallow() -> str:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            return "all the same"

    @tool
    async def fall() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError

    @tool
    async def refuse() -> None:
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            raise ToolError("CONFLICT", "taken") from None

    async with hosted(swallow, fall, refuse) as host:
        session = host.session()
        late = await session.call("swallow", timeout_s=1)
        assert (late.text, late.details) == ("all the same", {"late": True, "timeout_s": 1})
        assert (await session.call("fall", timeout_s=1)).error.code is ErrorCode.TIMEOUT
        assert (await session.call("refuse", timeout_s=1)).error.code is ErrorCode.CONFLICT


async def test_what_fails_beside_the_callers_deadline_is_a_timeout(hosted: Any, autojump_clock: MockClock) -> None:
    async def both() -> None:
        async def fail() -> None:
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            nursery.start_soon(trio.sleep_forever)

    async def ask(asked: Any) -> bool:
        await both()
        return True

    tools = [tool(name="works")(both), tool(name="asks", requires_confirmation=True)(both)]
    async with hosted(*tools, config={"approval_timeout_s": 3}) as host:
        session = host.session(confirm=ask)
        assert (await session.call("works", timeout_s=1)).error.code is ErrorCode.TIMEOUT
        assert (await session.call("asks", timeout_s=1)).error.code is ErrorCode.TIMEOUT
        assert (await session.call("asks")).error.code is ErrorCode.FORBIDDEN


async def test_a_nested_call_ends_with_its_parents_deadline(hosted: Any, autojump_clock: MockClock) -> None:
    @tool(timeout_s=50)
    async def inner() -> None:
        await trio.sleep_forever()

    @tool(timeout_s=2)
    async def outer(context: CallContext) -> ToolResult:
        return await context.call("inner")

    async with hosted(inner, outer) as host:
        began = trio.current_time()
        result = await host.session().call("outer")
        assert trio.current_time() - began == pytest.approx(2)
    assert (result.error.code, result.error.details["timeout_s"]) == (ErrorCode.TIMEOUT, 2)


async def test_a_deadline_of_the_caller_that_does_not_fire_changes_nothing(hosted: Any) -> None:
    @tool(run="inplace")
    def seven() -> int:
        return 7

    async with hosted(seven) as host:
        result = await host.session().call("seven", timeout_s=60)
    assert (result.data, result.details) == ({"result": 7}, None)


# approval has a limit of its own ----------------------------------------


async def test_nobody_answering_in_time_is_forbidden(hosted: Any, autojump_clock: MockClock) -> None:
    @tool(requires_confirmation=True)
    async def act() -> None: ...

    async def nobody(asked: Any) -> bool:
        await trio.sleep_forever()
        return True

    async with hosted(act, config={"approval_timeout_s": 40}) as host:
        began = trio.current_time()
        result = await host.session(confirm=nobody).call("act")
        assert trio.current_time() - began == pytest.approx(40)
    assert result.error.code is ErrorCode.FORBIDDEN
    assert result.error.details["reason"] == "confirmation"
    assert result.error.details["executed"] is False


# a person who is asked by a running tool ----------------------------------------


async def slow_yes(asked: Any) -> bool:
    await trio.sleep(100)
    return True


async def test_the_deadline_stands_still_while_a_running_tool_asks(hosted: Any, autojump_clock: MockClock) -> None:
    @tool(timeout_s=5)
    async def ask(context: CallContext, then_s: float) -> bool:
        await trio.sleep(3)
        said = await context.confirm("Go on?")
        await trio.sleep(then_s)
        return said

    async with hosted(ask) as host:
        session = host.session(confirm=slow_yes)
        assert (await session.call("ask", {"then_s": 1})).data == {"result": True}
        began = trio.current_time()
        late = await session.call("ask", {"then_s": 3})
    assert late.error.code is ErrorCode.TIMEOUT
    assert trio.current_time() - began == pytest.approx(105)


async def test_the_deadline_of_a_call_around_it_stands_still_too(hosted: Any, autojump_clock: MockClock) -> None:
    @tool(timeout_s=5)
    async def inner(context: CallContext) -> bool:
        async with trio.open_nursery() as nursery:  # two questions at once: the clock goes on after the last answer
            nursery.start_soon(context.confirm, "First?")
            await trio.sleep(50)  # asking meanwhile
            nursery.start_soon(context.confirm, "Second?")
        return True

    @tool(timeout_s=5)
    async def outer(context: CallContext) -> Any:
        return (await context.call("inner")).data

    async with hosted(inner, outer) as host:
        slow = host.session(confirm=slow_yes)
        began = trio.current_time()
        assert (await slow.call("outer")).ok
        assert trio.current_time() - began == pytest.approx(150)
        assert (await slow.call("inner", timeout_s=20)).error.code is ErrorCode.TIMEOUT  # the caller's bounds all


async def test_a_person_who_never_answers_a_running_tool_is_a_timeout_of_the_question(
    hosted: Any, autojump_clock: MockClock
) -> None:
    @tool(timeout_s=5)
    async def ask(context: CallContext) -> Any:
        return await context.elicit("Which?", schema={"type": "object"})

    async def never(asked: Any) -> bool:
        await trio.sleep_forever()
        raise AssertionError("the asker is cancelled")

    async with hosted(ask, config={"approval_timeout_s": 60}) as host:
        result = await host.session(confirm=never).call("ask")
    assert result.error.code is ErrorCode.TIMEOUT
    assert result.error.details["reason"] == "confirmation"
    assert "within 60 s" in result.text


async def test_a_thread_may_ask_beyond_the_deadline_of_its_tool(hosted: Any, mock_clock: MockClock) -> None:
    @tool(timeout_s=5)
    def ask(context: CallContext) -> bool:
        return context.confirm_sync("Go on?")

    async def beyond(asked: Any) -> bool:
        mock_clock.jump(8)
        await wait_all_tasks_blocked(0.05)
        return True

    async with hosted(ask) as host:
        result = await host.session(confirm=beyond).call("ask")
    assert result.data == {"result": True}


# threads ----------------------------------------


async def until(condition: Callable[[], bool]) -> None:
    """Let other threads run until it holds."""
    with trio.fail_after(10):
        while not condition():
            await trio.sleep(0.001)


async def test_a_thread_that_hangs_is_answered_counted_and_taken_off_when_it_ends(
    hosted: Any, gate: threading.Event
) -> None:
    @tool(timeout_s=0.05)
    def hang() -> None:
        gate.wait()

    async with hosted(hang) as host:
        result = await host.session().call("hang")
        assert result.error.code is ErrorCode.TIMEOUT
        assert result.error.details["still_running"] is True
        assert host.runtime.threads.left_behind == {"hang": 1}
        gate.set()
        await until(lambda: not host.runtime.threads.left_behind)


async def test_the_callers_deadline_says_too_that_a_thread_still_runs(hosted: Any, gate: threading.Event) -> None:
    @tool
    def hang() -> None:
        gate.wait()

    async with hosted(hang) as host:
        result = await host.session().call("hang", timeout_s=0.05, id="mine")
        assert result.error.details["still_running"] is True
        gate.set()
        await until(lambda: not host.runtime.threads.left_behind)
        assert not host.runtime.threads.is_left("hang", "mine")


async def test_forty_threads_that_hang_starve_their_own_tool_alone(hosted: Any, gate: threading.Event) -> None:
    @tool(timeout_s=1)  # time for sixteen threads to begin, on a busy machine too
    def hang() -> None:
        gate.wait()

    @tool
    def healthy() -> str:
        return "well"

    async with hosted(hang, healthy) as host:
        session = host.session()
        answers: list[ToolResult] = []

        async def call() -> None:
            answers.append(await session.call("hang"))

        async with trio.open_nursery() as nursery:
            for _ in range(40):
                nursery.start_soon(call)
            for _ in range(3):
                assert (await session.call("healthy", timeout_s=5)).text == "well"
        assert [answer.error.code for answer in answers] == [ErrorCode.TIMEOUT] * 40
        assert host.runtime.threads.left_behind == {"hang": 16}
        never = [answer for answer in answers if answer.error.details.get("executed") is False]
        assert len(never) == 24
        assert all(answer.error.details["retry"] == "same" for answer in never)
        assert trio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
        assert (await session.call("healthy")).text == "well"
        gate.set()
        await until(lambda: not host.runtime.threads.left_behind)
        assert (await session.call("hang")).ok


async def test_a_handler_in_a_thread_reaches_the_loop_through_its_context(hosted: Any) -> None:
    heard: list[tuple[str, float, float | None, str | None]] = []

    @tool
    def inner(context: CallContext) -> str:
        context.check_cancelled()
        context.progress_sync(1, 2, "half")
        return f"sure: {context.confirm_sync('sure?')}"

    @tool
    def outer(context: CallContext) -> ToolResult:
        return context.call_sync("inner")

    async def listen(*said: Any) -> None:
        heard.append(said)

    async def yes(asked: Any) -> bool:
        return True

    async with hosted(inner, outer) as host:
        result = await host.session(confirm=yes, on_progress=listen).call("outer")
    assert result.text == "sure: True"
    assert [said[1:] for said in heard] == [(1, 2, "half")]


@pytest.mark.parametrize("by", ["the tool", "the caller"])
async def test_what_a_thread_asked_of_the_loop_ends_with_its_call(hosted: Any, by: str) -> None:
    ends: list[str] = []

    @tool
    async def inner() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ends.append("inner")

    @tool(timeout_s=0.05 if by == "the tool" else 60)
    def outer(context: CallContext) -> None:
        for _ in range(2):
            with contextlib.suppress(ToolError):
                context.call_sync("inner")
        ends.append("outer")

    async with hosted(inner, outer) as host:
        result = await host.session().call("outer", timeout_s=None if by == "the tool" else 0.05)
        assert result.error.code is ErrorCode.TIMEOUT
        await until(lambda: not host.runtime.threads.left_behind)
    assert ends == ["inner", "outer"]


async def test_a_handler_may_lend_its_context_to_threads_of_its_own(hosted: Any) -> None:
    @tool
    async def inner() -> str:
        return "heard"

    @tool
    async def outer(context: CallContext) -> ToolResult:
        return await trio.to_thread.run_sync(context.call_sync, "inner")

    async with hosted(inner, outer) as host:
        assert (await host.session().call("outer")).text == "heard"


async def test_a_thread_can_see_that_nobody_waits_any_more(hosted: Any, gate: threading.Event) -> None:
    ended = threading.Event()

    @tool(timeout_s=0.05)
    def long(context: CallContext) -> None:
        try:
            while not gate.wait(0.001):
                context.check_cancelled()
        finally:
            ended.set()

    async with hosted(long) as host:
        result = await host.session().call("long")
        assert result.error.code is ErrorCode.TIMEOUT
        await until(ended.is_set)
        await until(lambda: not host.runtime.threads.left_behind)


# worker processes ----------------------------------------


@pytest.fixture
def workers_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An importable module with functions that run in worker processes."""
    pytest.importorskip("trio_parallel", reason="worker processes need pegboard[process]")
    name = "functions_for_worker_processes"
    (tmp_path / f"{name}.py").write_text(
        textwrap.dedent("""
            import os, sys

            from pegboard import ToolError, tool

            class Odd(Exception):
                def __init__(self, one, two):
                    super().__init__("odd")

            def traced() -> dict[str, object]:
                from pegboard.trace import carrier

                return {"trace": carrier.get()}

            def spin(path: str) -> None:
                with open(path, "w") as file:
                    file.write(str(os.getpid()))
                while True:
                    pass

            @tool(run="process")
            def pid() -> int:
                return os.getpid()

            def breed(path: str) -> None:
                import subprocess
                child = subprocess.Popen(["sleep", "600"])
                with open(path, "w") as file:
                    file.write(str(child.pid))
                while True:
                    pass

            def refuse() -> None:
                raise ToolError("CONFLICT", "taken", owner="bob")

            def fall() -> None:
                raise ValueError("no")

            def odd() -> None:
                raise Odd(1, 2)

            def leave() -> None:
                sys.exit(3)

            def die() -> None:
                os._exit(3)

            def unpicklable() -> object:
                return lambda: 1

            async def later() -> None: ...
        """)
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    # A worker is a new interpreter: it finds the module by the path of its environment.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    import importlib

    yield importlib.import_module(name)
    sys.modules.pop(name, None)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


async def call_until_noted(session: Any, name: str, note: Path) -> Any:
    """Call what notes that it began and never ends; where the machine is busy, with more and more time to begin."""
    for timeout_s in (0.5, 5, 50):
        result = await session.call(name, {"path": str(note)}, timeout_s=timeout_s)
        if note.exists():
            break
    return result


async def test_a_worker_process_that_spins_is_killed_at_the_deadline_and_none_is_left(
    hosted: Any, workers_module: Any, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    spin = tool(run="process", timeout_s=100)(workers_module.spin)
    async with hosted(spin, workers_module.pid) as host:
        session = host.session()
        other = (await session.call("pid")).data["result"]
        assert other != os.getpid()
        result = await call_until_noted(session, "spin", note)
        assert result.error.code is ErrorCode.TIMEOUT
        assert "still_running" not in result.error.details
        spun = int(note.read_text())
        await until(lambda: not alive(spun))
        assert (await session.call("pid")).ok
    await until(lambda: not alive(other))


async def test_what_a_worker_process_started_ends_with_it(hosted: Any, workers_module: Any, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    async with hosted(tool(run="process")(workers_module.breed)) as host:
        result = await call_until_noted(host.session(), "breed", note)
        assert result.error.code is ErrorCode.TIMEOUT
        child = int(note.read_text())
        await until(lambda: not alive(child))


async def test_the_callers_deadline_says_that_nothing_ran_where_nothing_did(autojump_clock: Any) -> None:
    @tool(concurrency=1, timeout_s=100)
    async def one() -> None:
        """Take long."""
        await trio.sleep(50)

    async with open_host({}, []) as host, trio.open_nursery() as nursery:
        host.add(one)
        session = host.session()
        nursery.start_soon(session.call, "one")
        await wait_all_tasks_blocked()
        waited = (await session.call("one", timeout_s=1)).error
        nursery.cancel_scope.cancel()
    async with open_host({}, []) as host:
        host.add(one)
        ran = (await host.session().call("one", timeout_s=1)).error
    assert (waited.code, ran.code) == (ErrorCode.TIMEOUT, ErrorCode.TIMEOUT)
    assert (waited.details["executed"], waited.details["retry"]) == (False, "same")
    assert ran.details["retry"] == "unknown"
    assert "executed" not in ran.details


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("refuse", ErrorCode.CONFLICT),
        ("fall", ErrorCode.INTERNAL_ERROR),
        ("odd", ErrorCode.INTERNAL_ERROR),
        ("leave", ErrorCode.INTERNAL_ERROR),
        ("die", ErrorCode.INTERNAL_ERROR),
        ("unpicklable", ErrorCode.INTERNAL_ERROR),
    ],
)
async def test_what_goes_wrong_in_a_worker_process_is_a_typed_error(
    hosted: Any, workers_module: Any, name: str, code: ErrorCode
) -> None:
    async with hosted(tool(run="process")(getattr(workers_module, name)), workers_module.pid) as host:
        session = host.session()
        result = await session.call(name, timeout_s=20)
        assert result.error.code is code
        assert (await session.call("pid", timeout_s=20)).ok


async def test_a_worker_process_works_in_the_trace_of_each_call(hosted: Any, workers_module: Any) -> None:
    trace = {"baggage": "tenant=blue"}
    async with hosted(tool(run="process")(workers_module.traced)) as host:
        with following(trace):
            first = await host.session().call("traced", timeout_s=20)
        second = await host.session().call("traced", timeout_s=20)
    assert [first.data, second.data] == [{"trace": trace}, {"trace": None}]


async def test_a_tool_that_no_process_could_find_is_not_registered(hosted: Any, workers_module: Any) -> None:
    async def later(context: CallContext) -> None: ...

    def wants(context: CallContext) -> None: ...

    wants.__qualname__ = "wants"
    async with hosted() as host:
        with pytest.raises(ToolDefinitionError, match="not a function of a module"):
            host.add(Tool(name="it", handler=lambda: 1, run="process"))
        with pytest.raises(ToolDefinitionError, match="async"):
            host.add(tool(run="process")(workers_module.later))
        with pytest.raises(ToolDefinitionError, match="no CallContext"):
            host.add(tool(run="process")(wants))
        with pytest.raises(PluginError, match="plain function"):
            host.add(Tool(name="it", handler=lambda: 1, run="async"))


async def test_a_worker_process_without_trio_parallel_is_refused_with_the_cure(
    hosted: Any, workers_module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "trio_parallel" else real(name))
    async with hosted() as host:
        with pytest.raises(PluginError) as caught:
            host.add(workers_module.pid)
    assert caught.value.hint == "pip install 'pegboard[process]'"


# an executor of a plugin ----------------------------------------


async def test_an_executor_runs_the_tool_under_its_deadline(
    hosted: Any, make_plugin: Any, autojump_clock: MockClock
) -> None:
    seen: list[Any] = []

    def make_executor(tool: Tool) -> Any:
        async def execute(context: CallContext, arguments: Any) -> Any:
            seen.append((context.tool.name, dict(arguments)))
            if arguments.get("n"):
                await trio.sleep_forever()
            return {"elsewhere": True}

        return execute if tool.name == "far" else None

    @tool(run="inplace", timeout_s=3)
    def far(n: int = 0) -> dict[str, bool]:
        raise AssertionError("it runs elsewhere")

    async with hosted(far, plugins=[make_plugin("elsewhere", make_executor=make_executor)]) as host:
        session = host.session()
        assert (await session.call("far")).data == {"elsewhere": True}
        result = await session.call("far", {"n": 1})
    assert result.error.code is ErrorCode.TIMEOUT
    assert seen == [("far", {}), ("far", {"n": 1})]


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("by", ["tool", "caller"])
async def test_a_deadline_in_the_queue_of_an_executor_says_that_nothing_was_done(
    hosted: Any, make_plugin: Any, listening: Any, ear: Any, autojump_clock: MockClock, begins: bool, by: str
) -> None:
    async def execute(context: CallContext, arguments: Any) -> Any:
        if arguments.get("n"):
            context.begun()  # from now on it is known to say so
            return
        await trio.sleep(1)
        if begins:
            context.begun()
        await trio.sleep_forever()

    @tool(timeout_s=3)
    async def far(n: int = 0) -> None: ...

    plugins = [make_plugin("elsewhere", make_executor=lambda tool: execute), listening]
    async with hosted(far, plugins=plugins) as host:
        assert (await host.session().call("far", {"n": 1})).ok
        result = await host.session().call("far", timeout_s=2 if by == "caller" else None)
    assert result.error.code is ErrorCode.TIMEOUT
    assert (result.error.details.get("executed") is False) is not begins
    assert result.error.details["retry"] == ("unknown" if begins else "same")
    timings = ear.outcomes[1].timings
    assert timings["queue"] > 0
    assert (timings["execute"] > 0) is begins


@pytest.mark.parametrize("begins", [False, True])
async def test_an_executor_that_says_so_is_believed_from_its_first_call(
    hosted: Any, make_plugin: Any, autojump_clock: MockClock, begins: bool
) -> None:
    """A process of the program makes one call: it has seen none before."""

    async def execute(context: CallContext, arguments: Any) -> Any:
        if begins:
            context.begun()
        await trio.sleep_forever()

    execute.tells_begun = True  # type: ignore[attr-defined]

    @tool(timeout_s=3)
    async def far() -> None: ...

    async with hosted(far, plugins=[make_plugin("elsewhere", make_executor=lambda tool: execute)]) as host:
        error = (await host.session().call("far")).error
    assert error.code is ErrorCode.TIMEOUT
    assert (error.details.get("executed") is False) is not begins
    assert error.details["retry"] == ("unknown" if begins else "same")


async def test_an_executor_that_says_so_and_does_not_is_believed_no_more(
    hosted: Any, make_plugin: Any, autojump_clock: MockClock, caplog: Any
) -> None:
    async def execute(context: CallContext, arguments: Any) -> Any:
        if arguments["n"]:
            await trio.sleep_forever()

    execute.tells_begun = True  # type: ignore[attr-defined]

    @tool(timeout_s=3)
    async def far(n: int) -> None: ...

    async with hosted(far, plugins=[make_plugin("elsewhere", make_executor=lambda tool: execute)]) as host:
        assert (await host.session().call("far", {"n": 0})).ok
        error = (await host.session().call("far", {"n": 1})).error
    assert "executed" not in error.details
    assert len(caplog.records) == 1


async def test_an_executor_that_never_says_that_it_began_makes_no_call_say_that_nothing_was_done(
    hosted: Any, make_plugin: Any, autojump_clock: MockClock, caplog: Any
) -> None:
    """What it may answer without having begun is a failure: whoever is asked is not there."""

    async def execute(context: CallContext, arguments: Any) -> Any:
        if arguments["n"] == 0:
            return ToolResult.of_error(ToolError(ErrorCode.INTERNAL_ERROR, "nobody is there"))
        if arguments["n"] == 1:
            return "done"
        return await trio.sleep_forever()

    @tool(timeout_s=3)
    async def far(n: int) -> str:
        raise AssertionError("it runs elsewhere")

    async with hosted(far, plugins=[make_plugin("elsewhere", make_executor=lambda tool: execute)]) as host:
        session = host.session()
        waited = [(await session.call("far", {"n": n}, timeout_s=by)).error for n in (0, 2) for by in (None, 2)]
        assert [one.details.get("executed") for one in waited[2:]] == [None, None], (
            "nobody knows yet whether it says so"
        )
        assert not caplog.records
        assert (await session.call("far", {"n": 1})).text == "done"
        assert (await session.call("far", {"n": 1})).text == "done"
        (said,) = caplog.records
        assert "far" in said.getMessage()
        late = (await session.call("far", {"n": 2})).error
    assert late.code is ErrorCode.TIMEOUT
    assert "executed" not in late.details
    assert late.details["retry"] == "unknown"


async def test_an_executor_has_the_json_arguments_beside_the_typed_ones(hosted: Any, make_plugin: Any) -> None:
    seen: list[Any] = []

    async def execute(context: CallContext, arguments: Any) -> Any:
        context.begun()
        seen.append((context.arguments, arguments))

    @tool
    async def far(day: datetime.date, n: int = 0) -> None: ...

    async with hosted(far, plugins=[make_plugin("elsewhere", make_executor=lambda tool: execute)]) as host:
        assert (await host.session().call("far", {"day": "2026-01-02", "n": "4"})).ok
    assert seen == [({"day": "2026-01-02", "n": 4}, {"day": datetime.date(2026, 1, 2), "n": 4})]


# air ----------------------------------------


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("nested", [False, True])
async def test_calls_in_place_in_a_row_give_the_loop_air_each_millisecond(
    hosted: Any, listening: Any, observed: bool, nested: bool
) -> None:
    """While one task makes calls that never wait, another one progresses about once a millisecond of work."""

    @tool(run="inplace")
    def work() -> None:
        burn(0.0005)

    @tool
    async def row(context: CallContext) -> None:
        for _ in range(60):
            await context.call("work")

    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with hosted(work, row, plugins=[listening] if observed else []) as host, trio.open_nursery() as nursery:
        nursery.start_soon(count)
        session = host.session()
        if nested:
            await session.call("row")
        else:
            for _ in range(60):
                await session.call("work")
        assert turns >= 15  # one more call may begin when it is time for a checkpoint, which comes after it
        nursery.cancel_scope.cancel()


async def test_a_call_cancelled_while_it_passes_a_checkpoint_is_heard_as_cancelled(
    hosted: Any, listening: Any, ear: Any
) -> None:
    @tool(run="inplace")
    def work() -> None: ...

    async with hosted(work, plugins=[listening]) as host:
        burn(0.002)
        with trio.CancelScope() as scope:
            scope.cancel()
            await host.session().call("work")
    assert ear.said == [("work", "cancelled", None)]


async def test_limits_are_given_back_however_a_call_ends(hosted: Any, make_plugin: Any, autojump_clock: Any) -> None:
    taken: list[str] = []

    def take(name: str) -> Guard:
        def check(context: CallContext) -> Any:
            taken.append(name)
            return lambda: taken.remove(name)

        return Guard(name, Stage.LIMIT, check)

    def refuse(context: CallContext) -> ToolError | None:
        return ToolError("RATE_LIMITED", "no") if context.tool.name == "refused" else None

    guards = [take("a"), take("b"), Guard("z", Stage.LIMIT, refuse)]

    async def hang() -> None:
        assert taken == ["a", "b"]
        await trio.sleep_forever()

    async def fall() -> None:
        assert taken == ["a", "b"]
        raise SystemExit

    async def fine() -> None:
        assert taken == ["a", "b"]

    tools = [
        tool(name="hang", timeout_s=1)(hang),
        tool(name="fall")(fall),
        tool(name="fine")(fine),
        tool(name="refused")(fine),
    ]
    guarding = make_plugin("guarding", make_guards=lambda tool: guards)
    async with hosted(*tools, plugins=[guarding]) as host:
        session = host.session()
        for one in tools:
            await session.call(one.name)
            assert taken == []
        await session.call("hang", timeout_s=0.5)
        assert taken == []
        with trio.move_on_after(0.5):
            await session.call("hang")
        assert taken == []


async def test_a_limit_that_cannot_be_given_back_does_not_change_the_answer(hosted: Any, make_plugin: Any) -> None:
    order: list[str] = []

    def fail() -> None:
        order.append("b")
        raise SystemExit(1)

    guards = [
        Guard("a", Stage.LIMIT, lambda context: lambda: order.append("a")),
        Guard("b", Stage.LIMIT, lambda context: fail),
    ]

    @tool(run="inplace")
    def one() -> int:
        return 1

    async with hosted(one, plugins=[make_plugin("guarding", make_guards=lambda tool: guards)]) as host:
        assert (await host.session().call("one")).data == {"result": 1}
    assert order == ["b", "a"]


async def test_a_thread_that_comes_after_its_deadline_does_not_run_what_was_said_not_to_run(
    hosted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    came, late, over, ran = threading.Event(), threading.Event(), threading.Event(), []
    begun, end = Started.begun, Ticket.ended

    def begin_late(self: Any) -> None:
        came.set()
        late.wait()
        begun(self)

    def ended(self: Any) -> None:
        end(self)
        over.set()

    monkeypatch.setattr(Started, "begun", begin_late)
    monkeypatch.setattr(Ticket, "ended", ended)

    @tool(timeout_s=0.05)
    def work() -> None:
        ran.append(1)

    async with hosted(work) as host:
        result = await host.session().call("work")
        assert came.is_set()
        late.set()
        await trio.to_thread.run_sync(over.wait)
    assert (result.error.code, result.error.details["executed"]) == (ErrorCode.TIMEOUT, False)
    assert ran == []
