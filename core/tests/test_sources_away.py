"""An unknown name, while a source that could have brought it is not ready: the same answer through every interface."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from pegboard import (
    CallContext,
    ErrorCode,
    SourceState,
    Tool,
    ToolCall,
    ToolError,
    ToolResult,
    hookimpl,
    load_board,
    open_host,
    open_host_sync,
    tool,
)
from pegboard.absence import MAX_EXPLAINED, absent
from pegboard.contract import SourceStatus
from pegboard.errors import HeldBackError
from pegboard.session import SOURCES_WAIT_S

AWAY = [state for state in SourceState if state not in (SourceState.READY, SourceState.KNOWN)]


class Source:
    """Is in one state for ever, for a reason."""

    timeout_s = None

    def __init__(self, state: SourceState, reason: str | None = "the disk is gone", name: str = "far") -> None:
        self.name, self.state, self.reason = name, state, reason

    async def run(self, slot: Any) -> None:
        slot.set_state(self.state, self.reason)
        await trio.sleep_forever()


def plugin_of(*sources: Any, guard: Any = None) -> Any:
    class Bridge:
        name = "bridge"

        @hookimpl
        def provide_sources(self) -> list[Any]:
            return list(sources)

        @hookimpl
        def make_guards(self, tool: Tool) -> Any:
            return guard(tool) if guard is not None else None

    return Bridge()


def error_of(result: ToolResult) -> ToolError:
    assert result.error is not None
    return result.error


@tool
async def nested(context: CallContext) -> str:
    """Call what is not there."""
    return (await context.call("late")).text


async def by_call(host: Any, name: Any = "late") -> ToolError:
    return error_of(await host.session().call(name, {}))


async def by_call_many(host: Any, name: Any = "late") -> ToolError:
    return error_of((await host.session().call_many([ToolCall("1", name)]))[0])


async def by_check(host: Any) -> ToolError:
    return error_of(host.session().check("late"))


async def by_export(host: Any) -> ToolError:
    with pytest.raises(ToolError) as raised:
        host.board.export("json", ["late"])
    return raised.value


async def by_remove(host: Any) -> ToolError:
    with pytest.raises(ToolError) as raised:
        host.remove("late")
    return raised.value


@pytest.mark.parametrize("interface", [by_call, by_call_many, by_check, by_export, by_remove])
@pytest.mark.parametrize("how", ["changed", "removed"])
async def test_a_tool_that_is_held_back_says_so_at_every_interface(
    how: str, interface: Callable[[Any], Awaitable[ToolError]], autojump_clock: MockClock
) -> None:
    class Server(Source):
        async def run(self, slot: Any) -> None:
            if how == "changed":
                slot.replace([Tool(name="late", handler=nested.handler)])
            slot.set_state(SourceState.READY)
            await trio.sleep_forever()

        def why_held(self, name: str) -> tuple[str, str] | None:
            return ("it is gone", "accept it") if how == "removed" and name == "late" else None

    def guard(one: Tool) -> None:
        if one.name == "late":
            raise HeldBackError("it is another", hint="accept it")

    config = {"profiles": {"blind": {"without": ["late"]}}}
    async with open_host(config, [plugin_of(Server(SourceState.READY), guard=guard)]) as host:
        await wait_all_tasks_blocked()
        error = await interface(host)
        unseen = error_of(await host.session(profile="blind").call("late", {}))
        other = error_of(await host.session().call("other", {}))
    assert (error.code, error.details["reason"]) == (ErrorCode.FORBIDDEN, "held")
    assert error.details["changed"] == ("it is another" if how == "changed" else "it is gone")
    assert "of far is held back" in error.message
    assert "accept it" in error.message
    assert unseen.code is other.code is ErrorCode.NOT_FOUND


class Slow(Source):
    """Is starting for so long, then does this; its tools are called `far_...`, where it says so."""

    def __init__(self, starts_s: float, then: SourceState, prefix: str | None = None, name: str = "far") -> None:
        super().__init__(then, name=name)
        self.starts_s = starts_s
        if prefix is not None:
            self.may_bring = lambda name: name.startswith(prefix)

    async def run(self, slot: Any) -> None:
        await trio.sleep(self.starts_s)
        slot.replace([Tool(name="far_one", handler=nested.handler)] if self.state is SourceState.READY else [])
        await super().run(slot)


@pytest.mark.parametrize("interface", [by_call, by_call_many])
@pytest.mark.parametrize(
    ("name", "starts_s", "then", "prefix", "waits_s"),
    [
        ("late", 3.0, SourceState.READY, None, 3.0),  # any name may be its own: it waits for the answer
        ("far_on", 3.0, SourceState.READY, None, 3.0),
        ("far_on", 3.0, SourceState.READY, "far_", 3.0),  # near a name that is there: no reason to give up
        ("late", 3.0, SourceState.FAILED, None, 3.0),
        ("late", 1000.0, SourceState.READY, None, SOURCES_WAIT_S),
        ("late", 1000.0, SourceState.READY, "far_", 0.0),  # it could not bring that name
        ("nested_", 1000.0, SourceState.READY, "far_", 0.0),
        (7, 1000.0, SourceState.READY, None, 0.0),
    ],
)
async def test_an_unknown_name_waits_only_for_sources_that_could_bring_it_until_they_answered_or_failed(
    name: Any, starts_s: float, then: SourceState, prefix: str | None, waits_s: float, interface: Any,
    autojump_clock: MockClock,
) -> None:  # fmt: skip
    async with open_host({}, [plugin_of(Slow(starts_s, then, prefix))]) as host:
        host.add(nested)
        await wait_all_tasks_blocked()
        began = trio.current_time()
        error = await interface(host, name)
        assert trio.current_time() - began == pytest.approx(waits_s)
    assert error.code is (ErrorCode.NOT_FOUND if type(name) is str else ErrorCode.INVALID_INPUT)
    if name == "nested_":
        assert error.details["near"] == ["nested"]


@pytest.mark.parametrize("timeout_s", [0, 2.0, 100.0])
async def test_that_wait_ends_with_the_callers_time_and_with_a_profile_that_sees_none_of_it(
    timeout_s: float, autojump_clock: MockClock
) -> None:
    config = {"profiles": {"near": {"sources": ["near"]}}}
    async with open_host(config, [plugin_of(Slow(1000, SourceState.READY))]) as host:
        await wait_all_tasks_blocked()
        began = trio.current_time()
        error = error_of(await host.session().call("late", timeout_s=timeout_s))
        assert trio.current_time() - began == pytest.approx(min(timeout_s, SOURCES_WAIT_S))
        assert error.details["sources"][0]["state"] == "starting"
        began = trio.current_time()
        assert "sources" not in error_of(await host.session(profile="near").call("late")).details
        assert trio.current_time() == began


async def test_of_two_sources_that_start_the_one_that_could_bring_it_is_waited_for(autojump_clock: MockClock) -> None:
    slow, quick = Slow(1000, SourceState.READY, "slow_", "slow"), Slow(2, SourceState.READY, "far_")
    async with open_host({}, [plugin_of(slow, quick)]) as host:
        await wait_all_tasks_blocked()
        began = trio.current_time()
        assert (await host.session().call("far_one")).text == "there is no tool 'late'"
        assert trio.current_time() - began == pytest.approx(2)
        assert host.sources_starting


@pytest.mark.parametrize("interface", [by_call, by_call_many, by_check, by_export, by_remove])
@pytest.mark.parametrize("state", AWAY)
async def test_an_unknown_name_says_which_source_is_not_ready_and_why(
    state: SourceState, interface: Callable[[Any], Awaitable[ToolError]], autojump_clock: MockClock
) -> None:
    async with open_host({}, [plugin_of(Source(state))]) as host:
        await wait_all_tasks_blocked()
        error = await interface(host)
    assert error.code is ErrorCode.NOT_FOUND
    (told,) = error.details["sources"]
    assert {**told, "since_s": 0} == {
        "source": "far", "kind": "bridge", "state": state.value, "since_s": 0, "reason": "the disk is gone", "tools": 0,
    }  # fmt: skip
    for word in ("'late'", "'far'", state.value, "the disk is gone"):
        assert word in error.message
    assert error.details["retry"] == ("changed" if state in (SourceState.FAILED, SourceState.HELD) else "same")


async def test_a_nested_call_says_it_too() -> None:
    async with open_host({}, [plugin_of(Source(SourceState.FAILED))]) as host:
        host.add(nested)
        await wait_all_tasks_blocked()
        assert "'far' may bring it (failed for" in (await host.session().call("nested")).text


def test_a_program_without_trio_reads_it_too() -> None:
    with open_host_sync({}, [plugin_of(Source(SourceState.FAILED))]) as host:
        assert error_of(host.call("late")).details["sources"][0]["reason"] == "the disk is gone"


async def test_a_source_that_gave_no_reason_is_explained_by_its_state() -> None:
    async with open_host({}, [plugin_of(Source(SourceState.BACKING_OFF, None))]) as host:
        await wait_all_tasks_blocked()
        (told,) = error_of(host.session().check("late")).details["sources"]
        assert told["reason"] == SourceState.BACKING_OFF.meaning


@pytest.mark.parametrize("state", [SourceState.READY, SourceState.KNOWN])
async def test_a_source_that_is_ready_is_no_reason(state: SourceState) -> None:
    async with open_host({}, [plugin_of(Source(state, None))]) as host:
        await wait_all_tasks_blocked()
        error = error_of(host.session().check("late"))
        assert "sources" not in error.details
        assert error.message == "there is no tool 'late'"


async def test_a_near_name_and_a_source_are_both_told() -> None:
    async with open_host({}, [plugin_of(Source(SourceState.FAILED))]) as host:
        host.add(nested)
        await wait_all_tasks_blocked()
        error = error_of(host.session().check("nestd"))
        assert error.details["near"] == ["nested"]
        assert "did you mean 'nested'? The source 'far' may bring it" in error.message


async def test_a_crash_tells_callers_its_type_and_people_its_text(autojump_clock: MockClock, caplog: Any) -> None:
    class Crashing(Source):
        async def run(self, slot: Any) -> None:
            raise OSError("/home/ada/.key is not readable")

    async with open_host({}, [plugin_of(Crashing(SourceState.READY))]) as host:
        await wait_all_tasks_blocked()
        error = error_of(host.session().check("late"))
        assert "it crashed (OSError)" in error.message
        assert "/home" not in json.dumps(error.to_json())
        assert "/home/ada" in host.board.source_statuses()[0].reason


PROFILES = {
    "all": ({}, True),
    "of_it": ({"sources": ["far"]}, True),
    "of_its_plugin": ({"sources": ["bridge"]}, True),
    "of_another": ({"sources": ["near"]}, False),
    "by_name": ({"tools": ["la*"]}, True),
    "by_another_name": ({"tools": ["early"]}, False),
    "by_tag": ({"tags": ["x"]}, True),
    "without": ({"without": ["late"]}, False),
}


@pytest.mark.parametrize("profile", PROFILES)
async def test_a_source_that_a_profile_never_shows_is_not_told(profile: str) -> None:
    config = {"profiles": {name: said for name, (said, _) in PROFILES.items()}}
    async with open_host(config, [plugin_of(Source(SourceState.FAILED))]) as host:
        await wait_all_tasks_blocked()
        error = error_of(host.session(profile=profile).check("late"))
        assert ("sources" in error.details) is PROFILES[profile][1]


@pytest.mark.parametrize(("answer", "told"), [(True, True), (False, False), (OSError("x"), True)])
async def test_a_source_may_say_that_a_name_is_none_of_its_own(answer: Any, told: bool) -> None:
    class Knowing(Source):
        def may_bring(self, name: str) -> bool:
            if isinstance(answer, Exception):
                raise answer
            return bool(answer)

    async with open_host({}, [plugin_of(Knowing(SourceState.FAILED))]) as host:
        await wait_all_tasks_blocked()
        assert ("sources" in error_of(host.session().check("late")).details) is told


async def test_a_name_that_the_configuration_takes_from_elsewhere_is_not_missed_in_a_source() -> None:
    config = {"tools": {"late": {"from": "elsewhere"}}}
    async with open_host(config, [plugin_of(Source(SourceState.FAILED))]) as host:
        await wait_all_tasks_blocked()
        assert "sources" not in error_of(host.session().check("late")).details


async def test_a_source_whose_tools_all_wait_to_be_accepted_is_held() -> None:
    async def handler() -> str:
        return "here"

    class Offering(Source):
        async def run(self, slot: Any) -> None:
            slot.replace([Tool(name="late", handler=handler)])
            await trio.sleep_forever()

    def guard(tool: Tool) -> Any:
        raise HeldBackError("it is new", hint="accept it")

    async with open_host({}, [plugin_of(Offering(SourceState.READY), guard=guard)]) as host:
        await wait_all_tasks_blocked()
        (one,) = host.board.source_statuses()
        assert one.state is SourceState.HELD
        assert "it is new; accept it" in (one.reason or "")
        assert error_of(host.session().check("late")).details["reason"] == "held"
        assert "'far' may bring it (held for" in error_of(host.session().check("other")).message


async def test_a_source_that_runs_and_offers_nothing_says_so() -> None:
    class Empty(Source):
        async def run(self, slot: Any) -> None:
            slot.replace([])
            await trio.sleep_forever()

    async with open_host({}, [plugin_of(Empty(SourceState.READY))]) as host:
        await wait_all_tasks_blocked()
        (one,) = host.board.source_statuses()
        assert (one.state, one.tools, one.reason) == (SourceState.READY, 0, "its list of tools is empty")


reasons = st.none() | st.text(max_size=2000)


@given(st.lists(st.tuples(st.sampled_from(AWAY), reasons), min_size=1, max_size=20))
def test_every_source_is_named_and_the_message_stays_short(given_: list[tuple[SourceState, str | None]]) -> None:
    board = load_board({}, [plugin_of(*(Source(SourceState.READY, name=f"s{n}") for n in range(len(given_))))])
    for number, (state, reason) in enumerate(given_):
        board.set_source_state(f"s{number}", state, reason)
    away = board.sources_away("late")
    error = absent("there is no tool 'late'", away)
    assert len(error.details["sources"]) == len(given_)
    for number in range(len(given_)):
        assert f"'s{number}'" in error.message
    assert "\n" not in error.message
    assert len(error.message) < 200 + MAX_EXPLAINED * 900 + 10 * len(given_)
    json.dumps(error.to_json())


def test_the_table_of_states_in_the_docs_is_that_of_the_code() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "use-mcp-servers.md"
    if not page.is_file():
        pytest.skip("the docs are not beside the package")
    table = page.read_text(encoding="utf-8").partition("| state |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))
    assert rows == {state.value: state.meaning for state in SourceState}


def test_a_status_has_one_form_in_json() -> None:
    one = SourceStatus("far", "mcp", SourceState.FAILED, 1.26, "gone", 0)
    assert one.to_json() == {
        "source": "far", "kind": "mcp", "state": "failed", "since_s": 1.3, "reason": "gone", "tools": 0,
    }  # fmt: skip
