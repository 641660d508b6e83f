"""What a question may cost: calls, requests, tokens, time and money; the last request may call nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

import pegboard_chat.plugin
from pegboard import CallContext, ConfigError, ErrorCode, TextContent, ToolCall, tool
from pegboard_chat import Budget, Chat, ChatSettings, Message, Reply, Stop, Usage
from pegboard_chat.budget import LAST_S, LEAST_TOKENS, MAX_FINDS, MOST_TOKENS, Spending, refusal

ran: list[int] = []


@tool(read_only=True, run="inplace")
def count(n: int) -> int:
    """Count."""
    ran.append(n)
    return n


@tool(read_only=True)
async def wait(seconds: float) -> str:
    """Wait."""
    await trio.sleep(seconds)
    return "waited"


@pytest.fixture
async def host(host_with: Any) -> Any:
    ran.clear()
    host = await host_with(pegboard_chat.plugin)
    host.add(count, wait)
    return host


def calls(number: int) -> list[tuple[str, dict[str, int]]]:
    return [("count", {"n": n}) for n in range(number)]


def reasons(chat: Chat) -> list[str | None]:
    """Of each result, the budget that refused it."""
    found = [result for message in chat.conversation.messages for result in message.results]
    return [result.error.details.get("budget") if result.error else None for result in found]


async def test_a_hundred_calls_in_one_turn_run_five(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted(calls(100), "what I know")
    chat = Chat(host, model)
    events = await all_events(chat.ask("go"))
    assert sorted(ran) == [0, 1, 2, 3, 4]  # those that overlap begin in any order
    assert reasons(chat) == [None] * 5 + ["max_tool_calls"] * 95
    refused = chat.conversation.messages[2].results[-1]
    assert (refused.error.code, refused.error.details["executed"]) == (ErrorCode.FORBIDDEN, False)
    assert [request.tool_choice for request in model.requests] == ["auto", "none"]
    assert model.requests[-1].export is model.requests[0].export, "the tools of its calls stay defined"
    assert (events[-1].text, events[-1].reason) == ("what I know", "max_tool_calls")


async def test_a_model_that_calls_for_ever_is_ended(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted(calls(1))
    chat = Chat(host, model)
    events = await all_events(chat.ask("go"))
    assert len(ran) == 5
    assert len(model.requests) == 6
    assert events[-1].reason == "max_tool_calls"
    assert events[-1].text == ""
    assert reasons(chat)[-1] == "max_tool_calls"


async def test_what_is_said_beside_a_call_that_does_not_run_is_told(host: Any, scripted: Any, all_events: Any) -> None:
    call = ToolCall("a", "count", {"n": 1})
    said = Reply(Message("assistant", (TextContent("I would count"),), (call,)), (call,), Usage(), Stop.CALLS)
    events = await all_events(Chat(host, scripted(said), budget=Budget(max_rounds=1)).ask("go"))
    assert (events[-1].text, events[-1].stop, events[-1].reason) == ("I would count", Stop.CALLS, "max_rounds")


async def test_each_question_has_its_own_budget(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted(calls(1)), budget=Budget(max_tool_calls=1))
    await all_events(chat.ask("one"))
    await all_events(chat.ask("two"))
    assert len(ran) == 2


async def test_the_last_of_the_requests_may_call_nothing(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted(calls(1))
    chat = Chat(host, model, budget=Budget(max_tool_calls=None, max_rounds=3))
    events = await all_events(chat.ask("go"))
    assert [request.tool_choice for request in model.requests] == ["auto", "auto", "none"]
    assert reasons(chat) == [None, None, "max_rounds"]
    assert events[-1].reason == "max_rounds"


async def test_a_budget_without_calls_is_not_a_cut(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted("fine")
    events = await all_events(Chat(host, model, budget=Budget(max_tool_calls=0)).ask("go"))
    assert model.requests[0].tool_choice == "none"
    assert events[-1].reason is None


async def test_calls_of_a_model_that_had_none_say_which_budget_it_was(
    host: Any, scripted: Any, all_events: Any
) -> None:
    events = await all_events(Chat(host, scripted(calls(1)), budget=Budget(max_tool_calls=0)).ask("go"))
    assert events[-1].reason == "max_tool_calls"
    assert ran == []


async def test_tokens_that_are_used_up_stop_calls(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted(calls(1), calls(1), "enough", usage=Usage(60, 40))
    chat = Chat(host, model, budget=Budget(max_tokens=150))
    events = await all_events(chat.ask("go"))
    assert reasons(chat) == [None, "max_tokens"]
    assert [request.tool_choice for request in model.requests] == ["auto", "auto", "none"]
    assert (events[-1].reason, events[-1].usage.total_tokens) == ("max_tokens", 300)


async def test_money_that_is_used_up_stops_calls(host: Any, scripted: Any, all_events: Any) -> None:
    settings = ChatSettings(prices={"fake:model": {"input": 1.0, "output": 10.0}}, max_cost=0.5)
    model = scripted(calls(1), calls(1), "enough", usage=Usage(100_000, 20_000))
    chat = Chat(host, model, settings=settings)
    events = await all_events(chat.ask("go"))
    assert reasons(chat) == [None, "max_cost"]
    assert events[-1].cost == pytest.approx(0.9)
    assert chat.cost == pytest.approx(0.9)
    assert events[-1].reason == "max_cost"


async def test_a_bound_in_money_without_a_price_is_refused_before_anything_is_spent(host: Any, scripted: Any) -> None:
    model = scripted("no")
    chat = Chat(host, model, budget=Budget(max_cost=1.0))
    with pytest.raises(ConfigError, match="price of fake:model is not known") as caught:
        async with chat.ask("go"):
            pass  # pragma: no cover
    assert '[plugins.chat.prices."fake:model"]' in str(caught.value.hint)
    assert model.requests == []
    assert chat.conversation.messages == ()


async def test_an_unknown_price_has_no_cost(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted("ok"))
    assert (await all_events(chat.ask("go")))[-1].cost is None
    assert chat.cost is None


async def test_time_that_is_over_ends_calls_and_leaves_a_last_request(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    model = scripted([("wait", {"seconds": 20}), *calls(1)], "in time")
    chat = Chat(host, model, budget=Budget(max_seconds=10))
    began = trio.current_time()
    events = await all_events(chat.ask("go"))
    assert trio.current_time() - began == pytest.approx(10)
    cut, done = chat.conversation.messages[2].results
    assert (cut.error.code, cut.error.details["budget"]) == (ErrorCode.TIMEOUT, "max_seconds")
    assert done.ok
    assert model.requests[-1].tool_choice == "none"
    assert (events[-1].text, events[-1].reason) == ("in time", "max_seconds")


async def test_a_model_that_takes_all_the_time_is_left(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    async def slow(request: Any) -> Any:
        await trio.sleep(10_000)

    model = scripted(slow)
    chat = Chat(host, model, budget=Budget(max_seconds=10))
    began = trio.current_time()
    events = await all_events(chat.ask("go"))
    assert trio.current_time() - began == pytest.approx(10)
    assert (events[-1].text, events[-1].reason, model.open) == ("", "max_seconds", 0)


@pytest.mark.parametrize(("seconds", "last"), [(10, 10), (100, LAST_S)])
async def test_the_last_request_has_a_time_of_its_own(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any, seconds: float, last: float
) -> None:
    @tool(read_only=True, timeout_s=1_000)
    async def dawdle() -> None:
        """Take long."""
        await trio.sleep(1_000)

    async def slow(request: Any) -> Any:
        await trio.sleep(10_000)

    host.add(dawdle)
    chat = Chat(host, scripted([("dawdle", {})], slow), budget=Budget(max_seconds=seconds))
    began = trio.current_time()
    events = await all_events(chat.ask("go"))
    assert trio.current_time() - began == pytest.approx(seconds + last)
    assert events[-1].reason == "max_seconds"


async def test_a_call_that_never_began_when_time_was_over_says_that_it_did_not_run(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    @tool
    async def alone(n: int) -> None:
        """May not overlap."""
        ran.append(n)
        await trio.sleep(20)

    host.add(alone)
    chat = Chat(host, scripted([("alone", {"n": 1}), ("alone", {"n": 2})], "done"), budget=Budget(max_seconds=10))
    await all_events(chat.ask("go"))
    begun, never = (result.error for result in chat.conversation.messages[2].results)
    assert (begun.code, "executed" in begun.details) == (ErrorCode.TIMEOUT, False)
    assert (never.code, never.details["budget"], never.details["executed"]) == (
        ErrorCode.FORBIDDEN,
        "max_seconds",
        False,
    )
    assert ran == [1]


async def test_a_person_who_is_asked_takes_no_time_of_the_question(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    @tool(requires_confirmation=True, run="inplace")
    def erase() -> str:
        """Erase."""
        return "erased"

    @tool
    async def choose(context: CallContext) -> bool:
        """Ask in the middle."""
        return await context.confirm("This one?")

    async def confirm(asked: Any) -> bool:
        await trio.sleep(100)
        return True

    host.add(erase, choose)
    model = scripted([("erase", {}), ("choose", {}), ("wait", {"seconds": 8})], [("wait", {"seconds": 8})], "done")
    chat = Chat(host.session(confirm=confirm), model, budget=Budget(max_seconds=10))
    began = trio.current_time()
    events = await all_events(chat.ask("go"))
    assert [result.ok for result in chat.conversation.messages[2].results] == [True] * 3
    assert events[-1].reason == "max_seconds", "what the tools take counts"
    assert trio.current_time() - began == pytest.approx(210)


@pytest.mark.parametrize(
    ("budget", "own", "bounds"),
    [
        (Budget(max_tokens=100_000), None, [None, None]),
        (Budget(max_tokens=13_000), None, [None, 3_000]),
        (Budget(max_tokens=13_000), 2_000, [2_000, 2_000]),
        (Budget(max_tokens=3_500), None, [3_500, LEAST_TOKENS]),
        (Budget(max_tokens=3_500), 50, [50, 50]),
        (Budget(max_tokens=13_000, max_cost=0.14), None, [None, 2_000]),
        (Budget(max_cost=0.01), None, [1_000, LEAST_TOKENS]),
        (Budget(max_cost=1e300), None, [None, None]),
        (Budget(), None, [None, None]),
    ],
)
async def test_a_request_may_write_what_the_budget_has_left(
    host: Any, scripted: Any, all_events: Any, budget: Budget, own: int | None, bounds: list[int | None]
) -> None:
    settings = ChatSettings(prices={"fake:model": {"input": 10.0, "output": 10.0 if budget.max_cost else 0.0}})
    model = scripted(calls(1), "done", usage=Usage(8_000, 2_000))
    if budget.max_cost == 0.14:  # ten thousand tokens cost 0.1, and what is left 4,000 tokens more
        budget = Budget(max_tokens=12_000, max_cost=0.14)
    await all_events(Chat(host, model, settings=settings, budget=budget, max_tokens=own).ask("go"))
    assert [request.max_tokens for request in model.requests] == bounds
    assert MOST_TOKENS > LEAST_TOKENS


async def test_an_answer_that_the_budget_cut_says_so(host: Any, scripted: Any, all_events: Any) -> None:
    cut = Reply(Message("assistant", (TextContent("half"),)), (), Usage(100, 2_000), Stop.LENGTH)
    events = await all_events(Chat(host, scripted(cut), budget=Budget(max_tokens=2_000)).ask("go"))
    assert (events[-1].stop, events[-1].reason) == (Stop.LENGTH, "max_tokens")
    events = await all_events(Chat(host, scripted(cut), budget=Budget(max_tokens=90_000)).ask("go"))
    assert (events[-1].stop, events[-1].reason) == (Stop.LENGTH, None)


async def test_no_bound_at_all_is_possible(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted(*[calls(1)] * 30, "done")
    events = await all_events(Chat(host, model, budget=Budget(None, None, None, None, None)).ask("go"))
    assert (len(ran), events[-1].reason) == (30, None)


async def test_the_budget_comes_from_the_settings_of_the_host(host_with: Any, scripted: Any) -> None:
    said = {"max_tool_calls": 1, "max_rounds": 2, "max_tokens": 3, "max_seconds": 4.0}
    host = await host_with(pegboard_chat.plugin, config={"plugins": {"chat": said}})
    assert Chat(host, scripted("x")).budget == Budget(1, 2, 3, 4.0, None)


@pytest.mark.parametrize(
    ("key", "value"), [("max_tool_calls", -1), ("max_rounds", 0), ("max_seconds", 0.0), ("max_cost", 0.0)]
)
async def test_settings_that_make_no_sense_are_refused(host_with: Any, key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=key):
        await host_with(pegboard_chat.plugin, config={"plugins": {"chat": {key: value}}})


def test_searches_are_counted_apart_and_end() -> None:
    spending = Spending(Budget())
    assert [spending.take_find() for _ in range(MAX_FINDS + 1)].count(True) == MAX_FINDS
    assert spending.calls == 0


@pytest.mark.parametrize(
    ("user", "found", "is_refused"),
    [
        ("max_cost = 0.5", "max_cost = 5.0", True),
        ("max_cost = 0.5", "max_cost = 0.1", False),
        ("", "max_cost = 5.0", False),
        ("max_tokens = 5", "max_tokens = 50", True),
        ("max_cost = 0.5", 'prices = { "echo:echo" = { input = 0, output = 0 } }', True),
        ("max_cost = 0.5", "tools_tokens = 100", False),
        ("", 'system = "Obey."', True),
        ("", 'model = "echo:echo"', True),
        ("", "max_tool_calls = 50", True),
    ],
)
def test_a_file_that_was_found_and_not_trusted_raises_no_bound_and_says_nothing_to_the_model(
    tmp_path: Path, user: str, found: str, is_refused: bool
) -> None:
    own, project = tmp_path / "config" / "pegboard", tmp_path / "project"
    own.mkdir(parents=True)
    project.mkdir()
    (own / "pegboard.toml").write_text(f"[plugins.chat]\n{user}\n", encoding="utf-8")
    (project / "pegboard.toml").write_text(f"[plugins.chat]\n{found}\n", encoding="utf-8")
    variables = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_STATE_HOME": str(tmp_path / "state")}
    ran = subprocess.run(
        [sys.executable, "-m", "pegboard", "--plugin", "chat", "list"],
        capture_output=True, text=True, check=False, cwd=project, env={**os.environ, **variables},
    )  # fmt: skip
    assert (ran.returncode, "pegboard trust" in ran.stderr) == ((2, True) if is_refused else (0, False)), ran.stderr


@pytest.mark.parametrize(
    ("reason", "most", "said"),
    [
        ("max_tool_calls", 0, "may make no calls:"),
        ("max_tool_calls", 1, "may make 1 call and has made it:"),
        ("max_tool_calls", 5, "may make 5 calls and has made them:"),
        ("max_rounds", 1, "may take 1 request and"),
        ("max_tokens", 1, "may cost 1 token and has cost it:"),
    ],
)
def test_a_refusal_counts_as_people_do(reason: str, most: int, said: str) -> None:
    assert said in refusal(reason, attrs.evolve(Budget(), **{reason: most})).message
