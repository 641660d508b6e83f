"""Profiles: what a session sees and may use."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from pegboard import ErrorCode, Limits, Tool, load_board, tool


def make(name: str, **more: Any) -> Tool:
    return Tool(name=name, handler=lambda: name, run="inplace", **more)


TOOLS = [
    make("read_file", tags=["read"], category="files"),
    make("write_file", tags=["write"], category="files"),
    make("add", category="math"),
    make("execute_command", category="system", tags=["read"]),
]


@pytest.mark.parametrize(
    ("profile", "names"),
    [
        ({}, ["add", "execute_command", "read_file", "write_file"]),
        ({"tags": ["read"]}, ["execute_command", "read_file"]),
        ({"tags": ["read"], "without": ["execute_command"]}, ["read_file"]),
        ({"tools": ["add", "*_file"]}, ["add", "read_file", "write_file"]),
        ({"categories": ["math"], "tags": ["write"]}, ["add", "write_file"]),
        ({"sources": ["here"], "without": ["*_*"]}, ["add"]),
        ({"sources": ["elsewhere"]}, []),
    ],
)
async def test_a_profile_selects_by_name_tag_category_or_source(
    hosted: Any, profile: dict[str, Any], names: list[str]
) -> None:
    async with hosted(*TOOLS, config={"profiles": {"p": profile}}) as host:
        session = host.session(profile="p")
        assert sorted(session.tools) == names
        assert [one.name for one in session.list_tools().tools] == names
        for one in TOOLS:
            result = await session.call(one.name)
            assert result.ok is (one.name in names)
            assert result.ok or result.error.code is ErrorCode.NOT_FOUND


async def test_the_default_profile_of_the_configuration_holds_for_sessions_that_name_none(hosted: Any) -> None:
    config = {"profile": "math", "profiles": {"math": {"categories": ["math"]}, "all": {}}}
    async with hosted(*TOOLS, config=config) as host:
        assert list(host.session().tools) == ["add"]
        assert host.session().profile == "math"
        assert len(host.session(profile="all").tools) == 4


async def test_a_profile_follows_the_board(hosted: Any) -> None:
    async with hosted(*TOOLS, config={"profiles": {"p": {"tags": ["read"]}}}) as host:
        session = host.session(profile="p")
        before = session.tools
        host.add(make("read_more", tags=["read"]), make("other"))
        host.remove("read_file")
        host.disable("execute_command")
        assert sorted(session.tools) == ["read_more"]
        assert sorted(before) == ["execute_command", "read_file"]
        assert (await session.call("execute_command")).error.details["reason"] == "disabled"


async def test_limits_of_a_profile_hold_where_they_are_tighter(hosted: Any, autojump_clock: MockClock) -> None:
    async def hang() -> None:
        await trio.sleep_forever()

    long, short = tool(name="long", timeout_s=50)(hang), tool(name="short", timeout_s=2)(hang)
    config = {"profiles": {"quick": {"timeout_s": 5, "max_result_bytes": 10}}}
    async with hosted(long, short, Tool(name="wide", handler=lambda: "x" * 50, run="inplace"), config=config) as host:
        session = host.session(profile="quick")
        assert (await session.call("long")).error.details["timeout_s"] == 5
        assert (await session.call("short")).error.details["timeout_s"] == 2
        assert (await host.session().call("long")).error.details["timeout_s"] == 50
        assert (await session.call("wide")).content[0].text == "x" * 10
        assert (await host.session().call("wide")).text == "x" * 50


async def test_a_profile_counts_its_own_limits_for_all_its_sessions(hosted: Any, autojump_clock: MockClock) -> None:
    config = {"profiles": {"slow": {"rate_limit": "1/minute"}}}
    async with hosted(make("add"), config=config) as host:
        assert (await host.session("ada", profile="slow").call("add")).ok
        assert not (await host.session("ada", profile="slow").call("add")).ok
        assert (await host.session("bob", profile="slow").call("add")).ok


async def test_a_profile_may_require_a_user(hosted: Any) -> None:
    async with hosted(make("add"), config={"profiles": {"known": {"requires_user": True}}}) as host:
        assert (await host.session(profile="known").call("add")).error.code is ErrorCode.UNAUTHORIZED
        assert (await host.session("ada", profile="known").call("add")).ok


def test_a_tool_that_does_not_fit_a_profile_is_refused_in_it_alone(make_plugin: Any) -> None:
    def make_guards(tool: Tool) -> None:
        if tool.limits.timeout_s == 1:
            raise ValueError

    plugins = [make_plugin("picky", make_guards=make_guards), make_plugin("p", provide_tools=[make("add")])]
    board = load_board({"profiles": {"quick": {"timeout_s": 1}}}, plugins)
    assert list(board.visible_tools("quick").snapshot.tools) == []
    assert list(board.visible_tools().snapshot.tools) == ["add"]


def test_a_view_is_made_once_and_its_plans_stay_while_their_tools_do() -> None:
    board = load_board({"profiles": {"slow": {"cooldown_s": 5}}}, [])
    board.add(make("a"), make("b", limits=Limits(cooldown_s=9)))
    visible = board.visible_tools("slow")
    assert board.visible_tools("slow") is visible
    plans = dict(visible.plans)
    assert plans["a"].tool.limits.cooldown_s == 5
    assert plans["b"] is board.registry.plans["b"]
    board.add(make("c"))
    assert visible.plans["a"] is plans["a"]
    board.remove("a")
    assert "a" not in visible.plans


async def test_a_profile_never_loosens_what_the_host_or_the_source_gives(hosted: Any) -> None:
    loose = {"timeout_s": 1000, "max_result_bytes": 10**9}
    config = {"timeout_s": 20, "max_result_bytes": 50, "profiles": {"loose": loose}}
    roomy = make("roomy", limits=Limits(timeout_s=40, max_result_bytes=60))
    async with hosted(make("usual"), roomy, config=config) as host:
        tools = host.session(profile="loose").tools
        assert (tools["usual"].limits.timeout_s, tools["usual"].limits.max_result_bytes) == (20, 50)
        assert (tools["roomy"].limits.timeout_s, tools["roomy"].limits.max_result_bytes) == (40, 60)
