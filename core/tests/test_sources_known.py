"""What is known of a source before it runs, who waits for it, and who cannot do without it."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from pegboard import ConfigError, ErrorCode, PluginError, SourceState, Tool, ToolCall, hookimpl, load_board, open_host


def answering(name: str, answer: str = "here", **options: Any) -> Tool:
    async def handler() -> str:
        await trio.lowlevel.checkpoint()
        return answer

    return Tool(name=name, handler=handler, **options)


class Source:
    """Knows what it is told, and runs until it is told otherwise."""

    timeout_s = None

    def __init__(self, name: str = "far", known: Any = None, *, required: bool = False) -> None:
        self.name = name
        self.required = required
        self._known = known
        self.go_on = trio.Event()
        self.problem: Exception | None = None

    def known(self) -> Any:
        if isinstance(self._known, BaseException):
            raise self._known
        return self._known

    async def run(self, slot: Any) -> None:
        await self.go_on.wait()
        if self.problem is not None:
            raise self.problem
        slot.replace([answering("late", "came")])
        await trio.sleep_forever()


def plugin_of(*sources: Source) -> Any:
    class Bridge:
        name = "bridge"

        @hookimpl
        def provide_sources(self) -> list[Source]:
            return list(sources)

    return Bridge()


def test_what_a_source_last_offered_hangs_before_anything_runs() -> None:
    board = load_board({}, [plugin_of(Source(known=[answering("a")]), Source("other", known=None))])
    assert board.tools["a"].origin.source == "far"
    assert board.state_of("a") == "known"
    assert board.source_states["other"] == (SourceState.CONFIGURED, None)


@pytest.mark.parametrize("known", [OSError("no disk"), [1, 2], 7])
def test_a_source_that_remembers_wrongly_is_as_one_that_knows_nothing(known: Any) -> None:
    board = load_board({}, [plugin_of(Source(known=known), Source("good", known=[answering("b")]))])
    assert set(board.tools) == {"b"}
    assert board.source_states["far"][0] is SourceState.CONFIGURED


def test_what_keeps_a_source_from_running_is_its_reason_before_it_is_started(caplog: Any) -> None:
    problem = PluginError("needs far 2.x,\nand 3.0 is installed", hint="install the other")
    board = load_board({}, [plugin_of(Source(known=problem), Source("good"))])
    told = {one.source: (one.state, one.reason) for one in board.source_statuses()}
    assert told == {
        "far": (SourceState.CONFIGURED, "needs far 2.x, and 3.0 is installed; install the other"),
        "good": (SourceState.CONFIGURED, SourceState.CONFIGURED.meaning),
    }
    assert not caplog.records


async def test_a_source_that_runs_all_the_same_loses_that_reason() -> None:
    source = Source(known=PluginError("needs far 2.x"))
    async with open_host({}, [plugin_of(source)]) as host:
        source.go_on.set()
        await wait_all_tasks_blocked()
        assert host.board.source_states["far"] == (SourceState.READY, None)


def test_what_a_source_says_of_the_configuration_is_heard() -> None:
    with pytest.raises(ConfigError, match="no such folder"):
        load_board({}, [plugin_of(Source(known=ConfigError("no such folder")))])


async def test_a_call_of_a_name_that_is_not_there_waits_for_a_source_that_is_about_to_offer_it() -> None:
    source = Source()
    async with open_host({}, [plugin_of(source)]) as host, trio.open_nursery() as nursery:
        results = []

        async def call(name: str) -> None:
            results.append(await host.session().call(name))

        nursery.start_soon(call, "late")
        nursery.start_soon(call, "never")
        await wait_all_tasks_blocked()
        assert results == []
        source.go_on.set()
        await wait_all_tasks_blocked()
        assert sorted(one.text[:20] for one in results) == ["came", "there is no tool 'ne"]


async def test_a_callers_deadline_ends_the_wait_for_a_source(autojump_clock: MockClock) -> None:
    async with open_host({}, [plugin_of(Source())]) as host:
        began = trio.current_time()
        result = await host.session().call("late", timeout_s=2)
        assert result.error is not None
        assert result.error.code is ErrorCode.NOT_FOUND
        assert trio.current_time() - began == pytest.approx(2)
        assert (await host.session().call("late")).error is not None
        assert trio.current_time() - began == pytest.approx(37)


async def test_nobody_waits_for_a_source_that_fails(autojump_clock: MockClock) -> None:
    source = Source()
    source.problem = OSError("gone")
    source.go_on.set()
    async with open_host({}, [plugin_of(source)]) as host:
        await wait_all_tasks_blocked()
        began = trio.current_time()
        await host.wait_for_sources()
        assert (await host.session().call("late")).error is not None
        assert trio.current_time() == began


async def test_calls_of_names_that_a_source_may_bring_yet_do_not_overlap() -> None:
    source = Source()
    async with open_host({}, [plugin_of(source)]) as host:
        session = host.session()
        assert not session.may_overlap("late")
        source.go_on.set()
        results = await session.call_many([ToolCall("1", "late"), ToolCall("2", "late")])
        assert [one.text for one in results] == ["came", "came"]
        assert session.may_overlap("never")


async def test_a_host_opens_once_the_sources_that_it_requires_are_ready() -> None:
    source = Source(required=True)
    source.go_on.set()
    async with open_host({}, [plugin_of(source)]) as host:
        assert "late" in host.tools


async def test_a_host_does_not_open_without_a_source_that_it_requires(autojump_clock: MockClock) -> None:
    source = Source(required=True)
    source.problem = OSError("gone")
    source.go_on.set()
    with pytest.raises(PluginError, match="'far' of 'bridge' is required, and did not start: OSError: gone"):
        async with open_host({}, [plugin_of(source)]):
            raise AssertionError("it opened")


class Renaming(Source):
    """Has another name for what is taken."""

    def other_name(self, name: str) -> str | None:
        return None if name == "fixed" else f"{self.name}-{name}"


def with_installed(*sources: Source) -> Any:
    plugin = plugin_of(*sources)

    class Tools:
        name = "here"

        @hookimpl
        def provide_tools(self) -> list[Tool]:
            return [answering("read"), answering("fixed")]

    return load_board({}, [plugin, Tools()])


def test_a_tool_of_a_source_whose_name_is_taken_hangs_under_the_name_that_the_source_has_for_it() -> None:
    board = with_installed(Renaming(known=[answering("read"), answering("far-write"), answering("fixed")]))
    assert {name: str(one.origin) for name, one in board.tools.items()} == {
        "read": "here", "fixed": "here", "far-read": "far", "far-write": "far",
    }  # fmt: skip
    assert board.rejected_tools["fixed"].why == "here already has a tool of that name"


def test_another_name_that_is_taken_too_is_none() -> None:
    board = with_installed(Renaming(known=[answering("far-read"), answering("read")]))
    assert board.rejected_tools["read"].fix == "give the source a prefix"


def test_tools_of_a_source_say_whose_plugin_brought_it() -> None:
    board = load_board({}, [plugin_of(Source(known=[answering("a")]))])
    assert (board.tools["a"].origin.plugin, board.tools["a"].origin.source) == ("bridge", "far")


def test_one_bad_tool_of_a_source_costs_that_tool_on_a_strict_board_too() -> None:
    bad = answering("bad", input_schema={"type": "object", "properties": {"a": {"pattern": "("}}})
    board = load_board({"strict": True}, [plugin_of(Source(known=[bad, answering("good")]))])
    assert set(board.tools) == {"good"}
    assert "bad" in board.rejected_tools


async def test_a_source_that_failed_once_is_not_waited_for_again(autojump_clock: MockClock, caplog: Any) -> None:
    class Flapping(Source):
        """Takes a second to fail, again and again."""

        async def run(self, slot: Any) -> None:
            await trio.sleep(1)
            raise OSError("gone")

    async with open_host({}, [plugin_of(Flapping())]) as host:
        began = trio.current_time()
        await host.wait_for_sources()
        assert trio.current_time() - began == pytest.approx(1)
        states = set()
        for _ in range(100):
            states.add(host.board.source_states["far"][0])
            assert not host.sources_starting
            await trio.sleep(0.1)
        assert states == {SourceState.STARTING, SourceState.BACKING_OFF}
