"""Who may call, and what a host in read-only mode refuses."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard import ErrorCode, tool


@pytest.mark.parametrize("user", [None, "", "   "])
async def test_nobody_may_not_call_a_tool_that_requires_a_user(hosted: Any, user: str | None) -> None:
    ran: list[int] = []

    @tool(run="inplace", requires_user=True)
    def mine(n: int) -> None:
        ran.append(n)

    async with hosted(mine) as host:
        session = host.session(user_id=user)
        result = await session.call("mine", {"n": "wrong too"})
        assert result.error.code is ErrorCode.UNAUTHORIZED
        assert result.error.details["reason"] == "user"
        assert session.check("mine", {"n": 1}).error.code is ErrorCode.UNAUTHORIZED
        assert not ran
        assert (await host.session(user_id=" ada ").call("mine", {"n": 1})).ok


async def test_the_user_of_the_configuration_calls_where_nobody_says_it(hosted: Any) -> None:
    config = {"user_id": "carl", "profiles": {"reader": {"user_id": "rita"}, "plain": {}}}
    async with hosted(config=config) as host:
        assert host.session().user_id == "carl"
        assert host.session(profile="reader").user_id == "rita"
        assert host.session(profile="plain").user_id == "carl"
        assert host.session("ada", profile="reader").user_id == "ada"
        assert host.session(" ").user_id is None


@pytest.fixture
def tools() -> list[Any]:
    """What each mark makes of a tool in read-only mode."""

    def nothing() -> None: ...

    return [
        tool(name="reads", run="inplace", read_only=True)(nothing),
        tool(name="reads_at_high_risk", run="inplace", read_only=True, risk="high")(nothing),
        tool(name="writes", run="inplace")(nothing),
        tool(name="writes_at_low_risk", run="inplace", risk="low", idempotent=True)(nothing),
    ]


async def test_read_only_mode_refuses_what_is_not_marked_and_what_is_of_high_risk(
    hosted: Any, tools: list[Any]
) -> None:
    async with hosted(*tools, config={"read_only": True}) as host:
        session = host.session()
        assert session.read_only
        assert (await session.call("reads")).ok
        for name in ("reads_at_high_risk", "writes", "writes_at_low_risk"):
            result = await session.call(name)
            assert result.error.code is ErrorCode.FORBIDDEN
            assert result.error.details["reason"] == "read_only"
            assert session.check(name).error.code is ErrorCode.FORBIDDEN


async def test_read_only_goes_by_the_session_and_reaches_nested_calls(hosted: Any, tools: list[Any]) -> None:
    from pegboard import CallContext, ToolResult

    @tool(read_only=True)
    async def outer(context: CallContext) -> ToolResult:
        return await context.call("writes")

    async with hosted(*tools, outer, config={"profiles": {"reader": {"read_only": True}}}) as host:
        assert (await host.session().call("writes")).ok
        reader = host.session(profile="reader")
        assert (await reader.call("writes")).error.details["reason"] == "read_only"
        assert (await reader.call("outer")).error.details["reason"] == "read_only"


async def test_a_read_only_host_is_not_loosened_by_a_profile(hosted: Any, tools: list[Any]) -> None:
    config = {"read_only": True, "profiles": {"writer": {"read_only": False}}}
    async with hosted(*tools, config=config) as host:
        assert (await host.session(profile="writer").call("writes")).error.code is ErrorCode.FORBIDDEN


async def test_read_only_comes_from_the_environment(
    hosted: Any, tools: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READ_ONLY", "1")
    async with hosted(*tools) as host:
        assert (await host.session().call("writes")).error.details["reason"] == "read_only"


def test_a_tool_that_reads_only_pays_for_no_guard(make_plugin: Any, tools: list[Any]) -> None:
    from pegboard import load_board

    board = load_board({}, [make_plugin("p", provide_tools=tools)])
    assert board.registry.plans["reads"].guards == ()
    assert [guard.name for guard in board.registry.plans["writes"].guards] == ["read_only"]


@pytest.mark.parametrize(
    ("config", "profile"),
    [({"read_only": True}, None), ({"profiles": {"reader": {"read_only": True}}}, "reader")],
)
async def test_what_read_only_mode_refuses_is_offered_nowhere_and_a_call_still_says_why(
    hosted: Any, tools: list[Any], config: dict[str, Any], profile: str | None
) -> None:
    async with hosted(*tools, config=config) as host:
        session = host.session(profile=profile)
        assert set(session.tools) == {"reads"}
        assert [one.name for one in session.list_tools().tools] == ["reads"]
        assert set(host.tools) == {one.name for one in tools}
        assert session.tools is session.tools  # whoever compiles something of them looks whether it is still they
        for one in tools:
            answer = await session.call(one.name)
            assert answer.ok is (one.name in session.tools), one.name
        assert "writes" not in (await session.call("write")).error.message
        assert host.board.state_of("writes", host.board.visible_tools(profile)) == "refused"
        host.add(tool(name="writes_later", run="inplace")(lambda: None))
        host.add(tool(name="reads_later", run="inplace", read_only=True)(lambda: None))
        assert set(session.tools) == {"reads", "reads_later"}


async def test_read_only_mode_hides_no_more_than_it_refuses(hosted: Any, tools: list[Any]) -> None:
    for config in ({"read_only": True, "observe": ["read_only"]}, {"read_only": True, "without": ["read_only"]}):
        async with hosted(*tools, config=config) as host:
            assert set(host.session().tools) == set(host.tools)
            assert (await host.session().call("writes")).ok


async def test_a_session_that_is_made_read_only_is_offered_less(hosted: Any, tools: list[Any]) -> None:
    async with hosted(*tools) as host:
        session = host.session()
        session.read_only = True
        assert set(session.tools) == {"reads"}
        assert (await session.call("writes")).error.details["reason"] == "read_only"


def test_an_export_offers_what_can_be_called(make_plugin: Any, tools: list[Any]) -> None:
    from pegboard import ToolError, load_board

    board = load_board({"read_only": True}, [make_plugin("p", provide_tools=tools)])
    assert list(board.export("json").aliases) == ["reads"]
    with pytest.raises(ToolError, match="read-only mode refuses it") as refused:
        board.export("json", ["reads", "writes"])
    assert refused.value.code is ErrorCode.FORBIDDEN
