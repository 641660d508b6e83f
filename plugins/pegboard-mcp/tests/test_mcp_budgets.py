"""What one server may take: calls, bytes, questions, tokens. Over a budget it is refused, and others go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from pegboard import open_host, tool
from pegboard_mcp.client.budgets import SLOTS, Budget, KeptBudget, counted_in
from pegboard_mcp.client.elicitation import Elicitation, RefusedError
from pegboard_mcp.definitions import ServerDefinition

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from pegboard import CallContext

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
ASKS = {"message": "?", "requestedSchema": FORM}
LONG = {"messages": [{"role": "user", "content": {"type": "text", "text": "word " * 80}}], "maxTokens": 50}
SAMPLES = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 50}


async def says_hello(request: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"}


async def refusals(
    times: int,
    method: str,
    params: dict[str, Any],
    *,
    answer: Any = True,
    name: str = "one",
    counted_in: Path | None = None,
    **said: Any,
) -> tuple[list[str | None], int]:
    """Why each of some questions of a server was refused, and how often the person was asked."""
    definition = ServerDefinition(name=name, transport="stdio", argv=("x",), **said)
    elicitation = Elicitation(definition, counted_in=counted_in)
    refused: list[str | None] = []
    asked = 0

    async def confirm(question: Any) -> Any:
        nonlocal asked
        asked += 1
        return {"name": "x"} if question.schema and answer else answer

    @tool
    async def held(context: CallContext) -> str:
        """Ask."""
        for _ in range(times):
            with elicitation.calling(context) as call:
                try:
                    await call.answer(method, params)
                    refused.append(None)
                except RefusedError as problem:
                    refused.append(problem.message)
        return "done"

    async with open_host(plugins=[]) as host:
        host.add(held)
        session = host.session(confirm=confirm)
        session.sampler = says_hello
        await session.call("held")
    return refused, asked


@pytest.mark.parametrize(
    ("method", "params", "said", "done", "why"),
    [
        ("elicitation/create", ASKS, {"asks_per_hour": 2}, 2, "2 questions an hour is used up (asks_per_hour)"),
        ("sampling/createMessage", SAMPLES, {"asks_per_hour": 2}, 2, "2 questions an hour"),
        ("sampling/createMessage", SAMPLES, {"sampling_tokens_per_day": 120}, 2, "120 tokens a day is used up"),
        ("sampling/createMessage", LONG, {"sampling_tokens_per_day": 120}, 0, "120 tokens a day is used up"),
        ("sampling/createMessage", LONG, {"sampling_tokens_per_day": 320}, 2, "320 tokens a day is used up"),
        ("sampling/createMessage", SAMPLES, {"may_sample": False}, 0, "may_sample = false"),
        ("elicitation/create", ASKS, {"may_elicit": False}, 0, "may_elicit = false"),
        ("elicitation/create", ASKS, {"may_sample": False, "sampling_tokens_per_day": 1}, 4, None),
        ("sampling/createMessage", SAMPLES, {"may_elicit": False}, 4, None),
        ("elicitation/create", ASKS, {}, 4, None),
    ],
)
async def test_what_is_over_a_budget_is_refused_and_nobody_is_asked(
    method: str, params: dict[str, Any], said: dict[str, Any], done: int, why: str | None,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    refused, asked = await refusals(4, method, params, **said)
    assert (refused[:done], asked) == ([None] * done, done)
    assert all(why is not None and why in str(one) for one in refused[done:])
    told = [one for one in caplog.records if one.name == "pegboard.notice"]
    assert len(told) == (1 if why and "used up" in " ".join(map(str, refused)) else 0)


async def test_what_a_person_did_not_agree_to_takes_no_tokens() -> None:
    refused, asked = await refusals(4, "sampling/createMessage", SAMPLES, answer=False, sampling_tokens_per_day=60)
    assert asked == 4
    assert set(refused) == {"User rejected sampling request"}


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("elicitation/create", ASKS, {"asks_per_hour": 3}),
        ("sampling/createMessage", SAMPLES, {"sampling_tokens_per_day": 170}),
    ],
)
async def test_a_new_start_is_no_new_day(
    method: str, params: dict[str, Any], said: dict[str, Any], tmp_path: Path
) -> None:
    """Attack: whatever ends the host, or a program that runs once for each question, has the server ask anew."""
    file = tmp_path / "kept" / "budgets.sqlite"
    first, _ = await refusals(2, method, params, counted_in=file, **said)
    again, asked = await refusals(2, method, params, counted_in=file, **said)
    assert first == [None, None]
    assert again[0] is None
    assert "is used up" in str(again[1])
    assert asked == 1
    assert (await refusals(2, method, params, counted_in=file, name="two", **said))[0] == [None, None]
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


async def test_a_server_has_its_count_in_the_folder_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    definition = ServerDefinition(name="one", transport="stdio", argv=("x",), asks_per_hour=1)
    assert counted_in(definition) == tmp_path / "pegboard" / "budgets.sqlite"
    assert counted_in(ServerDefinition(name="one", transport="stdio", argv=("x",))) is None


async def test_where_no_count_can_be_kept_the_process_counts_alone_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "budgets.sqlite"
    file.write_text("this is not a database, and long enough to be taken for one" * 20)
    refused, _ = await refusals(3, "elicitation/create", ASKS, counted_in=file, asks_per_hour=2)
    assert refused[:2] == [None, None]
    assert "is used up" in str(refused[2])
    assert "is damaged, or is not a database: this process counts alone" in caplog.text


async def test_a_clock_that_was_set_back_keeps_nobody_from_asking_for_years(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 4_000_000_000.0
    monkeypatch.setattr("time.time", lambda: now)
    budget = KeptBudget(2, 3_600.0, tmp_path / "budgets.sqlite", "one")
    assert await budget.take_kept(2) == 0
    now -= 1_800  # set back a little: what was taken counts
    assert await budget.take_kept() > 0
    now -= 1_000_000_000
    assert await budget.take_kept() == 0


async def test_processes_that_count_at_once_take_no_more_than_there_is(tmp_path: Path) -> None:
    budgets = [KeptBudget(50, 86_400.0, tmp_path / "budgets.sqlite", "one") for _ in range(8)]
    taken = 0

    async def take(budget: KeptBudget) -> None:
        nonlocal taken
        for _ in range(10):
            wait_s = await budget.take_kept()
            taken += wait_s == 0

    async with trio.open_nursery() as nursery:
        for budget in budgets:
            nursery.start_soon(take, budget)
    assert taken == 50


@pytest.mark.parametrize(("may", "told"), [(True, True), (False, False)])
def test_a_server_is_told_only_of_what_it_may_ask(may: bool, told: bool) -> None:
    definition = ServerDefinition(name="one", transport="stdio", argv=("x",), may_sample=may, may_elicit=may)
    callbacks = Elicitation(definition).callbacks()
    assert ("sampling_callback" in callbacks, "elicitation_callback" in callbacks) == (told, told)
    assert "list_roots_callback" in callbacks


async def test_calls_over_the_budget_are_refused_and_other_servers_go_on(
    define: Callable[..., Any], serve: Callable[..., Awaitable[Any]]
) -> None:
    script = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    served = await serve(
        define("one", script, calls_per_minute=2, max_result_bytes=200, prefix="a_"), define("two", script, prefix="b_")
    )
    session = served.host.session()
    results = [await session.call("a_echo", {}) for _ in range(3)]
    assert [one.error is not None and one.error.details.get("reason") for one in results][2] == "budget"
    error = results[2].error
    assert error is not None
    assert error.code == "RATE_LIMITED"
    assert 0 < error.details["retry_after_s"] <= 61
    assert error.details["executed"] is False
    assert "calls_per_minute" in error.message
    others = [await session.call("b_echo", {}) for _ in range(3)]
    assert not any(one.error is not None and one.error.details.get("reason") == "budget" for one in others)
    assert served.host.tools["a_echo"].limits.max_result_bytes == 200


async def test_a_result_is_bounded_whatever_of_a_server_it_comes_from(
    define: Callable[..., Any], serve: Callable[..., Awaitable[Any]]
) -> None:
    """Attack: what is too long for a tool's result stands in a resource, or in a prompt. What a model reads is cut, and
    what a client is given as it is is refused in words."""
    from mcp import Client, MCPError

    from pegboard_mcp.server.app import make_server

    script = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}], "offers": ["prompts", "resources"]}
    served = await serve(define("one", script, max_result_bytes=400, prefix="a_"), define("two", script, prefix="b_"))
    who = "x" * 5_000
    session = served.host.session()
    cut = await session.call("read_resource", {"uri": f"note://{who}", "server": "one"})
    assert cut.error is None
    assert len(cut.text) < 1_000
    assert "read_result" in cut.text
    whole = await session.call("read_resource", {"uri": f"note://{who}", "server": "two"})
    assert len(whole.text) > 5_000
    async with Client(make_server(served.host), cache=None) as client:
        with pytest.raises(MCPError, match=r"of the MCP server 'one' is 5,\d\d\d bytes.* 400 at once"):
            await client.get_prompt("a_greet", {"who": who})
        with pytest.raises(MCPError, match=r"of the MCP server 'one' is \d+,\d\d\d bytes.* 400 at once"):
            await client.read_resource(f"note://{who}")
        assert "Hello" in str(await client.get_prompt("b_greet", {"who": "y" * 5_000}))
        assert "Hello Ada" in str(await client.get_prompt("a_greet", {"who": "Ada"}))


@given(
    most=st.integers(1, 20),
    steps=st.lists(st.tuples(st.floats(0, 40), st.integers(1, 8)), max_size=60),
)
def test_no_period_sees_more_than_the_budget_and_what_is_told_to_wait_is_enough(
    most: int, steps: list[tuple[float, int]]
) -> None:
    async def main() -> None:
        budget, taken = Budget(most, 60.0), list[tuple[float, int]]()
        for pause_s, amount in steps:
            await trio.sleep(pause_s)
            now = trio.current_time()
            if (wait_s := budget.take(amount)) == 0:
                taken.append((now, amount))
                assert sum(one for at, one in taken if at > now - 60.0) <= most
            elif amount <= most:
                await trio.sleep(wait_s + 60 / SLOTS)
                assert budget.take(amount) == 0
                taken.append((trio.current_time(), amount))

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
