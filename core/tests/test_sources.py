"""Sources of tools: supervised, swapped in one step, never above what hangs already."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from pegboard import ErrorCode, Limits, SourceState, Tool, ToolError, hookimpl, load_board, open_host, tool


class Source:
    """Runs a given function."""

    def __init__(self, name: str, body: Callable[[Any], Awaitable[None]], timeout_s: float | None = None) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self._body = body

    async def run(self, slot: Any) -> None:
        await self._body(slot)


def answering(name: str, answer: Any = "here", **options: Any) -> Tool:
    async def handler() -> Any:
        await trio.lowlevel.checkpoint()
        return answer

    return Tool(name=name, handler=handler, **options)


@pytest.fixture
def with_source(hosted: Any, make_plugin: Any) -> Callable[..., Any]:
    """A host with one source, `far`, that runs the function."""

    def open_one(body: Any, *tools: Tool, more: Any = (), **options: Any) -> Any:
        plugin = make_plugin("bridge", provide_sources=[Source("far", body), *more])
        return hosted(*tools, plugins=[plugin], **options)

    return open_one


async def test_tools_of_a_source_hang_with_its_name_and_go_when_it_ends(with_source: Any) -> None:
    end = trio.Event()

    async def body(slot: Any) -> None:
        slot.replace([answering("a")])
        slot.set_state(SourceState.READY)
        await end.wait()

    async with with_source(body) as host:
        await wait_all_tasks_blocked()
        assert host.tools["a"].origin.source == "far"
        assert host.board.state_of("a") == "ready"
        assert (await host.session().call("a")).text == "here"
        end.set()
        await wait_all_tasks_blocked()
        assert not host.tools
        assert host.board.source_states["far"] == (SourceState.CONFIGURED, "it ended")


@pytest.mark.parametrize(
    "problem",
    [ValueError("/tmp/x"), SystemExit(1), ExceptionGroup("", [OSError("x")]), BaseExceptionGroup("", [SystemExit(2)])],
)
async def test_a_source_that_crashes_is_started_again_after_longer_and_longer_pauses(
    with_source: Any, problem: BaseException, autojump_clock: MockClock, caplog: Any
) -> None:
    starts: list[float] = []

    async def body(slot: Any) -> None:
        starts.append(trio.current_time())
        slot.replace([answering("a")])
        raise problem

    async with with_source(body) as host:
        await wait_all_tasks_blocked()
        state, reason = host.board.source_states["far"]
        assert state is SourceState.BACKING_OFF
        assert type(problem).__name__ in reason
        assert (await host.session().call("a")).ok
        await trio.sleep(300)
        pauses = [later - earlier for earlier, later in itertools.pairwise(starts)]
        for index, pause in enumerate(pauses):
            middle = min(2**index, 60)
            assert 0.5 * middle <= pause <= 1.5 * middle
        assert len(pauses) >= 7


async def test_a_source_that_ran_for_long_begins_with_the_short_pause_again(
    with_source: Any, autojump_clock: MockClock, caplog: Any
) -> None:
    starts: list[float] = []

    async def body(slot: Any) -> None:
        starts.append(trio.current_time())
        if len(starts) > 4:
            await trio.sleep(100)
        raise ValueError

    async with with_source(body):
        await trio.sleep(200)
    assert starts[5] - starts[4] <= 101.5


async def test_a_source_that_raises_a_cancelled_it_kept_is_started_again(
    with_source: Any, autojump_clock: MockClock, caplog: Any
) -> None:
    starts: list[int] = []

    async def body(slot: Any) -> None:
        starts.append(1)
        kept: list[BaseException] = []
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled as problem:
                kept.append(problem)
                raise
        raise kept[0]

    async with with_source(body):
        await trio.sleep(10)
    assert len(starts) > 1


async def test_a_source_that_fails_while_it_is_ended_does_not_reach_the_host(with_source: Any, caplog: Any) -> None:
    async def plain(slot: Any) -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError

    async def grouped(slot: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(plain, slot)
            nursery.start_soon(trio.sleep_forever)

    for body in (plain, grouped):
        async with with_source(body):
            await wait_all_tasks_blocked()


@pytest.mark.parametrize("rubbish", [5, [1], ["a"], [None]])
async def test_a_source_that_offers_rubbish_crashes_alone(
    with_source: Any, rubbish: Any, autojump_clock: MockClock, caplog: Any
) -> None:
    async def body(slot: Any) -> None:
        slot.replace([answering("a")])
        slot.replace(rubbish)

    async with with_source(body) as host:
        await wait_all_tasks_blocked()
        assert host.board.source_states["far"][0] is SourceState.BACKING_OFF
        assert (await host.session().call("a")).ok


async def test_a_swap_is_one_step_and_calls_never_miss_a_tool(with_source: Any) -> None:
    """While a source swaps its tools, no call of one that stays is answered NOT_FOUND."""
    swaps = 0

    async def body(slot: Any) -> None:
        nonlocal swaps
        while True:
            slot.replace([answering("stays", swaps), answering(f"comes{swaps % 3}")])
            swaps += 1
            await trio.lowlevel.checkpoint()

    async with with_source(body) as host:
        while not host.tools:
            await trio.lowlevel.checkpoint()
        session = host.session()
        for _ in range(300):
            assert (await session.call("stays")).ok
    assert swaps > 100


async def test_a_call_goes_on_with_the_tool_it_was_made_of(with_source: Any) -> None:
    go, running = trio.Event(), trio.Event()

    async def slow() -> str:
        running.set()
        await go.wait()
        return "the old one"

    slots: list[Any] = []

    async def body(slot: Any) -> None:
        slots.append(slot)
        slot.replace([Tool(name="a", handler=slow)])
        await trio.sleep_forever()

    answers: list[str] = []
    async with with_source(body) as host, trio.open_nursery() as nursery:
        await wait_all_tasks_blocked()

        async def call() -> None:
            answers.append((await host.session().call("a")).text)

        nursery.start_soon(call)
        await running.wait()
        slots[0].replace([])
        assert (await host.session().call("a")).error.code is ErrorCode.NOT_FOUND
        go.set()
    assert answers == ["the old one"]


async def test_a_source_never_unseats_a_tool_that_hangs(with_source: Any) -> None:
    async def body(slot: Any) -> None:
        slot.replace([answering("here", "of the source"), answering("twice", 1), answering("twice", 2)])
        await trio.sleep_forever()

    async with with_source(body, answering("here", "of the plugin")) as host:
        await wait_all_tasks_blocked()
        session = host.session()
        assert (await session.call("here")).text == "of the plugin"
        assert (await session.call("twice")).text == "1"
        assert "already has a tool" in host.board.rejected_tools["here"].why
        assert host.tools["here"].origin.plugin == "here"


async def test_from_says_whether_a_source_may_bring_a_tool(with_source: Any) -> None:
    async def body(slot: Any) -> None:
        slot.replace([answering("a"), answering("b")])
        await trio.sleep_forever()

    config = {"tools": {"a": {"from": "far"}, "b": {"from": "elsewhere"}}}
    async with with_source(body, config=config) as host:
        await wait_all_tasks_blocked()
        assert list(host.tools) == ["a"]
        assert "takes it from elsewhere" in host.board.rejected_tools["b"].why


async def test_a_tool_of_a_source_that_was_disabled_stays_so_through_a_swap(with_source: Any) -> None:
    slots: list[Any] = []

    async def body(slot: Any) -> None:
        slots.append(slot)
        slot.replace([answering("a")])
        await trio.sleep_forever()

    async with with_source(body) as host:
        await wait_all_tasks_blocked()
        host.disable("a")
        slots[0].replace([answering("a", "new")])
        assert (await host.session().call("a")).error.details["reason"] == "disabled"
        host.enable("a")
        assert (await host.session().call("a")).text == "new"


async def test_one_wrong_tool_of_a_source_costs_itself_alone(with_source: Any, caplog: Any) -> None:
    async def body(slot: Any) -> None:
        wrong = {"type": "object", "properties": {"a": {"$ref": "http://example.com/x"}}}
        slot.replace([answering("a"), answering("wrong", input_schema=wrong)])
        await trio.sleep_forever()

    async with with_source(body) as host:
        await wait_all_tasks_blocked()
        assert list(host.tools) == ["a"]
        assert "wrong" in host.board.rejected_tools


async def test_two_sources_of_one_name_are_refused(with_source: Any) -> None:
    async def body(slot: Any) -> None:
        await trio.sleep_forever()

    async with with_source(body, more=[Source("far", body)]) as host:
        assert [source.name for _, source in host.board.sources] == ["far"]
        assert "a second source is named 'far'" in host.board.plugins.quarantined[0].quarantined


async def test_a_tool_error_of_a_foreign_tool_passes(with_source: Any) -> None:
    async def lost() -> None:
        raise ToolError("OUTCOME_UNKNOWN", "the reply was lost")

    async def body(slot: Any) -> None:
        slot.replace([tool(name="lost")(lost)])
        await trio.sleep_forever()

    async with with_source(body) as host:
        await wait_all_tasks_blocked()
        result = await host.session().call("lost")
    assert result.error.code is ErrorCode.OUTCOME_UNKNOWN
    assert result.error.details["retry"] == "unknown"


async def test_a_swap_is_no_way_around_a_limit(with_source: Any, autojump_clock: MockClock) -> None:
    slots: list[Any] = []

    def limited(answer: str, **more: Any) -> Tool:
        return answering("a", answer, limits=Limits(rate_limit="1/hour"), **more)

    async def body(slot: Any) -> None:
        slots.append(slot)
        slot.replace([limited("old")])
        await trio.sleep_forever()

    async with with_source(body) as host:
        await wait_all_tasks_blocked()
        session = host.session("ada")
        assert (await session.call("a")).text == "old"
        slots[0].replace([limited("new")])
        assert (await session.call("a")).error.code is ErrorCode.RATE_LIMITED
        assert (await host.session("bob").call("a")).text == "new"
        slots[0].replace([limited("changed", description="Another tool.")])
        assert (await session.call("a")).text == "changed"


async def test_a_source_that_gave_its_tools_is_ready_without_saying_so():
    class Quiet:
        name = "quiet"
        timeout_s = None

        async def run(self, slot):
            slot.replace([Tool(name="one", handler=print, run="inplace")])
            await trio.sleep_forever()

    class Brings:
        @hookimpl
        def provide_sources(self):
            return [Quiet()]

    async with open_host({}, [Brings()]) as host:
        await wait_all_tasks_blocked()
        assert host.board.state_of("one") == "ready"


async def test_what_a_source_could_not_hang_is_forgotten_with_its_next_tools(hosted: Any) -> None:
    async with hosted() as host:
        for n in range(3):
            host.board.replace_source("far", [answering(f"odd{n}", input_schema={"type": "nonsense"})])
        assert set(host.board.rejected_tools) == {"odd2"}
        host.board.replace_source("far", [answering("odd2")])
        assert not host.board.rejected_tools


async def test_a_source_whose_failure_cannot_be_read_leaves_the_host_alone(
    with_source: Any, autojump_clock: MockClock
) -> None:
    class SpeechlessError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    async def body(slot: Any) -> None:
        raise SpeechlessError

    async with with_source(body, answering("near")) as host:
        await wait_all_tasks_blocked()
        assert host.board.source_states["far"] == (SourceState.BACKING_OFF, "SpeechlessError")
        assert (await host.session().call("near")).ok


def test_a_source_that_says_nothing_of_a_deadline_has_the_hosts():
    class Plain:
        name = "plain"

        async def run(self, slot):
            """Never asked here."""

    class Brings:
        @hookimpl
        def provide_sources(self):
            return [Plain()]

    board = load_board({}, [Brings()])
    assert board.plugins.quarantined == []
    assert board.runtime.source_timeouts == {}
