"""A host opens its plugins' resources, closes them in reverse, and leaves nothing of theirs or of itself."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from pegboard import CallContext, ErrorCode, PluginError, Tool, ToolError, load_board, open_host, tool


class Thing:
    def __init__(self, name: str) -> None:
        self.name = name


class OtherThing:
    def __init__(self, name: str) -> None:
        self.name = name


def resource(
    log: list[str],
    name: str,
    *,
    entry: BaseException | None = None,
    leaving: BaseException | None = None,
    cls: type = Thing,
) -> Any:
    @contextlib.asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        if entry is not None:
            raise entry
        log.append(f"+{name}")
        yield cls(name)
        log.append(f"-{name}")
        if leaving is not None:
            raise leaving

    return lambda: opened()


@tool
async def which(context: CallContext) -> str:
    return context.resource(Thing).name


async def test_resources_are_opened_in_the_order_of_names_and_closed_in_reverse(make_plugin: Any, hosted: Any) -> None:
    log: list[str] = []
    plugins = [make_plugin(name, open_resources=resource(log, name)) for name in ("b", "c", "a")]
    async with hosted(which, plugins=plugins) as host:
        assert log == ["+a", "+b", "+c"]
        assert (await host.session().call("which")).text == "a"
    assert log == ["+a", "+b", "+c", "-c", "-b", "-a"]


async def test_a_resource_is_reached_by_its_type_also_in_a_tuple(make_plugin: Any, hosted: Any) -> None:
    @contextlib.asynccontextmanager
    async def both() -> AsyncIterator[Any]:
        yield Thing("one"), OtherThing("two")

    @tool
    async def other(context: CallContext) -> str:
        return context.resource(OtherThing).name

    async with hosted(other, plugins=[make_plugin("both", open_resources=lambda: both())]) as host:
        assert (await host.session().call("other")).text == "two"


@pytest.mark.parametrize(
    "entry",
    [ValueError("/home/ada"), SystemExit(1), ExceptionGroup("", [OSError()]), BaseExceptionGroup("", [SystemExit()])],
)
async def test_a_resource_that_will_not_open_is_lost_alone(
    make_plugin: Any, hosted: Any, entry: BaseException, caplog: Any
) -> None:
    log: list[str] = []
    plugins = [
        make_plugin("a", open_resources=resource(log, "a", cls=OtherThing)),
        make_plugin("bad", open_resources=resource(log, "bad", entry=entry)),
        make_plugin("z", open_resources=resource(log, "z", cls=OtherThing)),
    ]
    async with hosted(which, plugins=plugins) as host:
        assert list(host.lost_resources) == ["bad"]
        result = await host.session().call("which")
        assert result.error.code is ErrorCode.INTERNAL_ERROR
        assert result.error.details["reason"] == "resource"
        assert "/home" not in result.text
    assert log == ["+a", "+z", "-z", "-a"]


@pytest.mark.parametrize("rubbish", [5, "text", object()])
async def test_a_resource_that_is_not_a_context_manager_is_lost_alone(
    make_plugin: Any, hosted: Any, rubbish: Any, caplog: Any
) -> None:
    async with hosted(which, plugins=[make_plugin("bad", open_resources=lambda: rubbish)]) as host:
        assert list(host.lost_resources) == ["bad"]


async def test_a_hook_of_resources_that_raises_quarantines_its_plugin(make_plugin: Any, hosted: Any) -> None:
    def raises() -> Any:
        raise SystemExit

    async with hosted(which, plugins=[make_plugin("bad", open_resources=raises)]) as host:
        assert [record.name for record in host.board.plugins.quarantined] == ["bad"]


async def test_a_resource_that_will_not_open_is_fatal_where_its_plugin_is_named_or_the_host_strict(
    make_plugin: Any, caplog: Any
) -> None:
    log: list[str] = []

    def plugins() -> list[Any]:
        return [
            make_plugin("a", open_resources=resource(log, "a")),
            make_plugin("bad", provide_settings=None, open_resources=resource(log, "bad", entry=OSError("busy"))),
        ]

    for config in ({"plugins": {"bad": {}}}, {"strict": True}):
        with pytest.raises(PluginError, match="'bad' could not open its resources: OSError: busy"):
            async with open_host(config, plugins()):
                raise AssertionError("it opened")
        assert log == ["+a", "-a"]
        log.clear()


@pytest.mark.parametrize("leaving", [ValueError("no"), SystemExit(1), BaseExceptionGroup("", [SystemExit()])])
async def test_a_resource_that_fails_to_close_keeps_no_other_from_closing(
    make_plugin: Any, hosted: Any, leaving: BaseException, caplog: Any
) -> None:
    log: list[str] = []
    plugins = [
        make_plugin("a", open_resources=resource(log, "a")),
        make_plugin("b", open_resources=resource(log, "b", leaving=leaving)),
    ]
    async with hosted(which, plugins=plugins) as host:
        assert (await host.session().call("which")).ok
    assert log == ["+a", "+b", "-b", "-a"]
    assert "could not close" in caplog.text


async def test_a_resource_that_hangs_at_closing_is_left_after_a_while(
    make_plugin: Any, hosted: Any, autojump_clock: MockClock, caplog: Any
) -> None:
    log: list[str] = []

    @contextlib.asynccontextmanager
    async def hanging() -> AsyncIterator[Any]:
        yield OtherThing("hanging")
        await trio.sleep_forever()

    plugins = [
        make_plugin("a", open_resources=resource(log, "a")),
        make_plugin("b", open_resources=lambda: hanging()),
    ]
    began = trio.current_time()
    async with hosted(plugins=plugins):
        pass
    assert trio.current_time() - began == pytest.approx(10)
    assert log == ["+a", "-a"]
    assert "did not close its resources" in caplog.text


async def test_resources_are_closed_with_time_to_do_so_when_the_host_is_cancelled(
    make_plugin: Any, hosted: Any, autojump_clock: MockClock
) -> None:
    log: list[str] = []

    @contextlib.asynccontextmanager
    async def slow() -> AsyncIterator[Any]:
        yield Thing("slow")
        await trio.sleep(3)
        log.append("closed")

    with trio.move_on_after(1) as scope:
        async with hosted(plugins=[make_plugin("slow", open_resources=lambda: slow())]):
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert log == ["closed"]


async def test_a_resource_whose_background_task_fails_ends_the_host_with_a_reason(
    make_plugin: Any, hosted: Any, caplog: Any
) -> None:
    go = trio.Event()

    @contextlib.asynccontextmanager
    async def background() -> AsyncIterator[Any]:
        async def fail() -> None:
            await go.wait()
            raise ValueError("the connection is gone")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            yield Thing("x")
            nursery.cancel_scope.cancel()

    async def main() -> None:
        async with hosted(plugins=[make_plugin("bad", open_resources=lambda: background())]):
            go.set()
            await trio.sleep_forever()

    with pytest.raises(PluginError, match="resources"):
        await main()
    assert "the connection is gone" in caplog.text


async def test_a_resource_that_fails_while_the_block_has_tasks_of_its_own_is_told_too(
    make_plugin: Any, hosted: Any, caplog: Any
) -> None:
    go = trio.Event()

    @contextlib.asynccontextmanager
    async def background() -> AsyncIterator[Any]:
        async def fail() -> None:
            await go.wait()
            raise ValueError

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            yield Thing("x")

    async def main() -> None:
        plugin = make_plugin("bad", open_resources=lambda: background())
        async with hosted(plugins=[plugin]), trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            nursery.start_soon(trio.sleep_forever)
            go.set()

    with pytest.raises(PluginError, match="the resources of 'bad' failed while the host ran"):
        await main()


async def test_what_the_block_raises_leaves_it_as_it_is(hosted: Any) -> None:
    problem = ValueError("mine")

    async def main() -> None:
        async with hosted():
            raise problem

    with pytest.raises(ValueError, match="mine") as caught:
        await main()
    assert caught.value is problem


async def test_ctrl_c_in_a_source_leaves_the_host_bare(make_plugin: Any, hosted: Any) -> None:
    class Source:
        name = "far"
        timeout_s = None

        async def run(self, slot: Any) -> None:
            raise KeyboardInterrupt

    async def main() -> None:
        async with hosted(plugins=[make_plugin("far", provide_sources=[Source()])]):
            await trio.sleep_forever()

    with pytest.raises(KeyboardInterrupt):
        await main()


async def test_sources_end_before_resources_are_closed(make_plugin: Any, hosted: Any) -> None:
    log: list[str] = []

    class Source:
        name = "far"
        timeout_s = None

        async def run(self, slot: Any) -> None:
            try:
                await trio.sleep_forever()
            finally:
                log.append("source ended")

    plugin = make_plugin("both", open_resources=resource(log, "r"), provide_sources=[Source()])
    async with hosted(plugins=[plugin]):
        await wait_all_tasks_blocked()
    assert log == ["+r", "source ended", "-r"]


async def test_nothing_is_heard_after_the_host_has_ended(hosted: Any, listening: Any, ear: Any) -> None:
    async with hosted(which, plugins=[listening]) as host:
        pass
    assert host.runtime.observers == ()


def test_a_board_may_run_more_than_once_and_its_limits_do_not_mistake_the_clock() -> None:
    @tool(run="inplace", rate_limit="1/minute")
    def once() -> int:
        return 1

    board = load_board({}, [])
    board.add(once)

    async def main(at: float) -> list[bool]:
        trio.lowlevel.current_clock().jump(at)  # type: ignore[attr-defined]
        async with open_host(board) as host:
            session = host.session()
            return [(await session.call("once")).ok for _ in range(2)]

    # Each loop's clock begins somewhere else: what was noted by an earlier one means nothing.
    assert trio.run(main, 1e6, clock=MockClock()) == [True, False]
    assert trio.run(main, 1e3, clock=MockClock()) == [True, False]


async def test_the_host_passes_the_boards_view_on(hosted: Any) -> None:
    @tool(category="games")
    async def toss() -> None:
        """Toss a coin."""

    async with hosted(which) as host:
        changes: list[int] = []
        stop = host.watch(lambda old, new: changes.append(new.version))
        host.add(toss)
        assert host.categories() == {"games": 1, "general": 1}
        assert [one.name for one in host.search("coin")] == ["toss"]
        host.disable("toss")
        assert "toss" not in host.tools
        host.enable("toss")
        host.remove("toss")
        assert list(host.tools) == ["which"]
        assert len(changes) == 4
        stop()
        stop()
        host.add(toss)
        assert len(changes) == 4
        assert repr(host.session(user_id="ada")).endswith("of ada on program>")


class Counted:
    """A source that counts how often it runs, and crashes the first time where it is told to."""

    name = "counted"
    timeout_s = None

    def __init__(self, *, crashes: bool) -> None:
        self.crashes = crashes
        self.runs = 0

    async def run(self, slot: Any) -> None:
        self.runs += 1
        if self.crashes and self.runs == 1:
            raise ValueError("no")
        slot.replace([Tool(name="coin", handler=lambda: "heads", run="inplace")])
        await trio.sleep_forever()


@pytest.mark.parametrize("crashes", [False, True])
async def test_a_source_is_started_again_at_once_whether_it_runs_or_waits(
    host_with: Any, make_plugin: Any, autojump_clock: Any, crashes: bool
) -> None:
    source = Counted(crashes=crashes)
    host = await host_with(make_plugin("p", provide_sources=[source]))
    await host.wait_for_sources()
    began = trio.current_time()
    host.restart_source("counted")
    await wait_all_tasks_blocked()
    assert (source.runs, trio.current_time() - began) == (2, 0.0)
    assert (await host.session().call("coin")).text == "heads"
    assert host.board.source_states["counted"][0].value == "ready"


async def test_what_is_not_a_source_cannot_be_started_again(host_with: Any) -> None:
    host = await host_with()
    with pytest.raises(ToolError, match="no source named 'nothing' runs"):
        host.restart_source("nothing")
