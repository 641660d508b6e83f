"""Many tools: two of the loop's own stand for all of them, and the rest is searched for."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import pegboard_chat.plugin
from pegboard import ErrorCode, Tool, ToolCall, ToolError, ToolResult, hookimpl, tool
from pegboard_chat import Budget, CallEnded, CallStarted, Chat, ChatSettings, ForcedTool
from pegboard_chat.many import CALL, FIND, MAX_FOUND, called, find, is_above, list_of_tools, search, summary

ran: list[Any] = []


@tool(read_only=True, run="inplace", tags=["games"], category="chance")
def roll_dice(notation: str) -> str:
    """Roll dice such as 2d6. The notation may be long.

    Args:
        notation: such as 4d6kh3.
    """
    ran.append(notation)
    return f"rolled {notation}"


@tool(read_only=True, run="inplace", title="Clock")
def get_time(zone: str = "UTC") -> str:
    """What time it is."""
    return "noon"


@pytest.fixture
async def host(host_with: Any) -> Any:
    ran.clear()
    host = await host_with(pegboard_chat.plugin)
    host.add(roll_dice, get_time)
    return host


FEW = ChatSettings(tools_tokens=0)


def names(request: Any) -> list[str]:
    return [one["name"] for one in request.export.definitions]


async def test_few_tools_are_offered_whole(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted("ok")
    await all_events(Chat(host, model).ask("go"))
    assert names(model.requests[0]) == ["get_time", "roll_dice"]
    assert model.requests[0].conversation.system is None


async def test_above_the_bound_two_tools_stand_for_all(host: Any, scripted: Any, all_events: Any) -> None:
    steps = (
        [("find_tools", {"query": "dice"})],
        [("call_tool", {"name": "roll_dice", "arguments": {"notation": "2d6"}})],
    )
    model = scripted(*steps, "done")
    chat = Chat(host, model, settings=ChatSettings(tools_tokens=0, system="Be brief."))
    events = await all_events(chat.ask("roll"))
    assert names(model.requests[0]) == ["find_tools", "call_tool"]
    system = model.requests[0].conversation.system
    assert system.startswith("Be brief.\n\n")
    assert system.endswith("- get_time: What time it is\n- roll_dice: Roll dice such as 2d6")
    assert chat.conversation.system == "Be brief.", "what is saved does not hold the list"
    found = json.loads(chat.conversation.messages[2].results[0].text)
    assert found["tools"][0]["name"] == "roll_dice"
    assert found["tools"][0]["input_schema"]["required"] == ["notation"]
    assert ran == ["2d6"]
    result = chat.conversation.messages[4].results[0]
    assert (result.name, result.text) == ("call_tool", "rolled 2d6"), "the provider knows the call by that name"
    started = [event.call for event in events if isinstance(event, CallStarted)]
    assert started[1] == ToolCall(started[1].id, "roll_dice", {"notation": "2d6"})
    assert [event.result.name for event in events if isinstance(event, CallEnded)] == ["find_tools", "roll_dice"]


async def test_of_thousands_of_tools_not_all_are_compiled(host: Any, scripted: Any, all_events: Any) -> None:
    host.add(*[Tool(name=f"tool_{n}", handler=get_time.handler, description="word " * 99) for n in range(3_000)])
    model, compiled = scripted("done"), []
    export = model.dialect.export
    model.dialect.export = lambda tools: (compiled.extend(tools := list(tools)), export(tools))[1]
    await all_events(Chat(host, model).ask("go"))
    assert names(model.requests[0]) == ["find_tools", "call_tool"]
    assert len(compiled) <= 102


async def test_a_call_through_call_tool_is_held_to_the_tools_own_schema(
    host: Any, scripted: Any, all_events: Any
) -> None:
    model = scripted([("call_tool", {"name": "roll_dice", "arguments": {"notatoin": "2d6"}})], "done")
    chat = Chat(host, model, settings=FEW)
    await all_events(chat.ask("roll"))
    result = chat.conversation.messages[2].results[0]
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert "notation" in result.text


async def test_a_broken_call_tool_says_what_it_takes(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted([("call_tool", {"tool": "roll_dice"})], "done"), settings=FEW)
    await all_events(chat.ask("roll"))
    result = chat.conversation.messages[2].results[0]
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert "name: expected a tool" in result.text


async def test_a_tool_that_is_called_by_its_own_name_runs(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted([("roll_dice", {"notation": "1d4"})], "done"), settings=FEW)
    await all_events(chat.ask("roll"))
    assert ran == ["1d4"]


async def test_call_tool_is_bound_by_budgets_and_by_the_chosen_tools(host: Any, scripted: Any, all_events: Any) -> None:
    one = ("call_tool", {"name": "roll_dice", "arguments": {"notation": "1d4"}})
    other = ("call_tool", {"name": "get_time", "arguments": {}})
    chat = Chat(
        host, scripted([other, one, one], "done"), settings=FEW, budget=Budget(max_tool_calls=1), tools=["roll_dice"]
    )
    await all_events(chat.ask("roll"))
    assert [r.error and r.error.details["reason"] for r in chat.conversation.messages[2].results] == [
        "tools", None, "budget",
    ]  # fmt: skip
    assert ran == ["1d4"]


async def test_a_forced_tool_is_offered_beside_the_two(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted([("roll_dice", {"notation": "1d4"})], "done")
    await all_events(Chat(host, model, settings=FEW).ask("go", tool_choice=ForcedTool("roll_dice")))
    assert names(model.requests[0]) == ["find_tools", "call_tool", "roll_dice"]
    assert names(model.requests[1]) == ["find_tools", "call_tool"]


@pytest.mark.parametrize("choice", ["none", ForcedTool("roll_dice")])
async def test_a_search_is_no_way_around_what_may_be_called(
    host: Any, scripted: Any, all_events: Any, choice: Any
) -> None:
    chat = Chat(host, scripted([("find_tools", {"query": "x"})], "done"), settings=FEW)
    await all_events(chat.ask("go", tool_choice=choice))
    assert chat.conversation.messages[2].results[0].error.details["reason"] == "tool_choice"


async def test_the_last_request_answers_searches_with_the_budget(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted([("find_tools", {"query": "x"})]), settings=FEW, budget=Budget(max_rounds=2))
    events = await all_events(chat.ask("go"))
    assert chat.conversation.messages[-1].results[0].error.details["budget"] == "max_rounds"
    assert events[-1].reason == "max_rounds"


async def test_searches_cost_no_call_but_end(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted([("find_tools", {"query": "x"})] * 60, "done")
    chat = Chat(host, model, settings=FEW)
    await all_events(chat.ask("go"))
    results = chat.conversation.messages[2].results
    assert [result.ok for result in results].count(True) == 50
    assert results[-1].error.details["reason"] == "searches"


async def test_one_search_a_turn_where_one_call_is_wanted(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted([("find_tools", {"query": "x"})] * 2, "done"), settings=FEW, parallel=False)
    await all_events(chat.ask("go"))
    assert [result.ok for result in chat.conversation.messages[2].results] == [True, False]


async def test_a_search_waits_for_a_source_that_nobody_knows(
    host_with: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    class Slow:
        name = "slow"
        timeout_s = None

        async def run(self, slot: Any) -> None:
            await trio.sleep(3)
            slot.replace([Tool(name="late_weather", handler=get_time.handler, description="Weather", run="inplace")])
            await trio.sleep_forever()

    class Plugin:
        name = "slow"

        @hookimpl
        def provide_sources(self) -> Any:
            return [Slow()]

    host = await host_with(pegboard_chat.plugin, Plugin())
    host.add(roll_dice)
    chat = Chat(host, scripted([("find_tools", {"query": "weather"})], "done"), settings=FEW)
    await all_events(chat.ask("go"))
    assert json.loads(chat.conversation.messages[2].results[0].text)["tools"][0]["name"] == "late_weather"


async def test_a_search_does_not_wait_for_a_source_that_is_known(
    host_with: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    class Known:
        name = "known"
        timeout_s = None

        def known(self) -> Any:
            return [Tool(name="old_weather", handler=get_time.handler, description="Weather", run="inplace")]

        async def run(self, slot: Any) -> None:
            await trio.sleep_forever()

    class Plugin:
        name = "known"

        @hookimpl
        def provide_sources(self) -> Any:
            return [Known()]

    host = await host_with(pegboard_chat.plugin, Plugin())
    began = trio.current_time()
    chat = Chat(host, scripted([("find_tools", {"query": "weather", "limit": None})], "done"), settings=FEW)
    await all_events(chat.ask("go"))
    assert json.loads(chat.conversation.messages[2].results[0].text)["tools"][0]["name"] == "old_weather"
    assert trio.current_time() == began


async def test_the_first_question_waits_for_a_source_that_nobody_knows(
    host_with: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    class Slow:
        name = "slow"
        timeout_s = None

        async def run(self, slot: Any) -> None:
            await trio.sleep(3)
            slot.replace([Tool(name="late_weather", handler=get_time.handler, description="Weather", run="inplace")])
            await trio.sleep_forever()

    class Plugin:
        name = "slow"

        @hookimpl
        def provide_sources(self) -> Any:
            return [Slow()]

    host = await host_with(pegboard_chat.plugin, Plugin())
    began, without, forced, model = trio.current_time(), scripted("done"), scripted("done"), scripted("done")
    await all_events(Chat(host, without, tools=()).ask("go"))
    assert trio.current_time() == began, "a question without tools waits for none"
    await all_events(Chat(host, model).ask("go"))
    assert names(model.requests[0]) == ["late_weather"]
    assert trio.current_time() - began == pytest.approx(3)
    other = await host_with(Plugin())
    await all_events(Chat(other, forced).ask("go", tool_choice=ForcedTool("late_weather")))
    assert forced.requests[0].tool_choice == ForcedTool("late_weather")


async def test_read_result_stays_at_hand(host: Any, scripted: Any, all_events: Any) -> None:
    @tool(read_only=True, run="inplace")
    def long() -> str:
        """A long text."""
        return "word " * 50_000

    host.add(long)
    model = scripted([("call_tool", {"name": "long", "arguments": {}})], "done")
    await all_events(Chat(host, model, settings=FEW).ask("go"))
    assert names(model.requests[1]) == ["find_tools", "call_tool", "read_result"]


# -- the thinking part


def tools_of(*tools: Tool) -> dict[str, Tool]:
    return {one.name: one for one in tools}


BOTH = tools_of(roll_dice, get_time)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("roll_dice", "roll_dice"),
        ("rolling dices", "roll_dice"),
        ("games", "roll_dice"),
        ("CHANCE", "roll_dice"),
        ("clock", "get_time"),
        ("what time is it in Tokyo", "get_time"),
        ("what is it", "get_time"),
    ],
)
def test_a_search_finds_by_name_description_and_tags(query: str, first: str) -> None:
    assert search(BOTH, query)[0].name == first


def test_a_tools_exact_name_finds_it_alone() -> None:
    assert search(BOTH, " roll_dice ") == [roll_dice]


def test_nothing_found_names_the_categories() -> None:
    result = find(BOTH, {"query": "zzz"})
    assert result.ok
    assert "chance, general" in result.text


@pytest.mark.parametrize(
    "arguments", [None, [], {}, {"query": ""}, {"query": 5}, {"query": "x", "limit": 0}, {"query": "x", "limit": "5"}]
)
def test_a_broken_search_says_what_it_takes(arguments: Any) -> None:
    result = find(BOTH, arguments)
    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_INPUT


def test_a_limit_shows_the_others_by_name() -> None:
    many = tools_of(*(Tool(name=f"dice_{n}", handler=get_time.handler, run="inplace") for n in range(40)))
    data = find(many, {"query": "dice", "limit": 2.0}).data
    assert data is not None
    assert len(data["tools"]) == 2
    assert len(data["more"]) == 20


def test_found_schemas_are_bounded() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string", "description": "y" * (MAX_FOUND // 2)}}}
    large = [Tool(name=f"dice_{n}", handler=get_time.handler, run="inplace", input_schema=schema) for n in range(5)]
    data = find(tools_of(*large), {"query": "dice"}).data
    assert data is not None
    assert len(data["tools"]) == 1
    assert len(data["more"]) == 4


def test_the_price_of_definitions_is_their_characters_by_four() -> None:
    assert not is_above([{"a": "b"}], 3)
    assert is_above([{"a": "b"}, "x" * 4], 3)
    assert not is_above([], 0)


def test_the_list_of_tools_keeps_its_bound() -> None:
    tools = tools_of(
        *(Tool(name=f"tool_{n:04}", handler=get_time.handler, description="d" * 90, run="inplace") for n in range(500))
    )
    whole, named, cut = (list_of_tools(tools, tokens) for tokens in (20_000, 2_000, 500))
    assert whole.count("\n- ") == 500
    assert "They are: tool_0000, tool_0001" in named
    assert "dddd" not in named
    assert "Some of them: tool_0000" in cut
    assert "more." in cut
    assert len(cut) < 500 * 4 + 300


def test_a_line_of_the_list_is_one_bounded_line() -> None:
    hidden = Tool(
        name="x", handler=get_time.handler, description="One\nline. Two\n\nIgnore " + "y" * 500, run="inplace"
    )
    assert summary(hidden) == "One line"
    long = Tool(name="x", handler=get_time.handler, description="y" * 500, run="inplace")
    assert len(summary(long)) == 100
    assert list_of_tools(tools_of(Tool(name="x", handler=get_time.handler, run="inplace")), 500).endswith("\n- x")


@pytest.mark.parametrize(
    ("arguments", "inner"),
    [
        ({"name": "t", "arguments": {"a": 1}}, {"a": 1}),
        ({"name": "t", "arguments": '{"a": 1}'}, {"a": 1}),
        ({"name": "t", "arguments": ""}, {}),
        ({"name": "t", "arguments": None}, {}),
        ({"name": "t"}, {}),
    ],
)
def test_call_tool_takes_its_arguments_as_models_write_them(arguments: Any, inner: Any) -> None:
    assert called(ToolCall("1", "call_tool", arguments)) == ToolCall("1", "t", inner)


@settings(max_examples=100)
@given(
    arguments=st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.dictionaries(st.sampled_from(["name", "arguments", "query", "limit"]), inner) | st.lists(inner)
        ),
        max_leaves=6,
    )
)
def test_any_arguments_of_the_two_are_a_call_or_a_typed_error(arguments: Any) -> None:
    """Whatever a model gives `call_tool` and `find_tools` is a call, a result, or a `ToolError` that says why not."""
    asked = called(ToolCall("1", "call_tool", arguments))
    assert isinstance(asked, ToolError) or (asked.id == "1" and isinstance(asked.arguments, dict) and asked.name)
    assert isinstance(find(BOTH, arguments), ToolResult)


async def test_the_two_are_no_tools_of_a_board() -> None:
    for one in (FIND, CALL):
        with pytest.raises(NotImplementedError):
            await one.handler()
