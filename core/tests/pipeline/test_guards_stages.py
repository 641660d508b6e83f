"""The stages of a call: their order, what each guard is given, modes, filters, what observers hear."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
import trio

from pegboard import CallContext, ErrorCode, PluginError, Tool, ToolError, ToolResult, tool
from pegboard.contract import Guard, Stage
from pegboard.registry.planning import order_guards

PROMISE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


@pytest.fixture
def guarded(hosted: Any, make_plugin: Any) -> Any:
    """A host whose tools have these guards."""

    def open_one(guards: list[Guard], *tools: Tool, plugins: Any = (), **more: Any) -> Any:
        guarding = make_plugin("guarding", make_guards=lambda tool: guards)
        return hosted(*tools, plugins=[guarding, *plugins], **more)

    return open_one


@tool(run="inplace")
def give(n: int) -> int:
    return n


def passing(log: list[str], name: str, stage: Stage | str, **more: Any) -> Guard:
    def check(*given: Any) -> Any:
        log.append(name)
        return given[1] if stage == Stage.FILTER else None

    return Guard(name, stage, check, **more)


# order ----------------------------------------


async def test_guards_run_by_stage_then_after_then_name_whatever_the_installation(guarded: Any) -> None:
    log: list[str] = []
    guards = [
        passing(log, "f", "filter"),
        passing(log, "l", "limit"),
        passing(log, "b", "approve"),
        passing(log, "a", "approve", after=["z"]),
        passing(log, "z", "approve"),
        passing(log, "x", "admit", after=["y"]),
        passing(log, "y", "admit"),
    ]
    for turned in (guards, guards[::-1]):
        async with guarded(turned, give) as host:
            assert (await host.session().call("give", {"n": 1})).ok
    assert log == ["y", "x", "b", "z", "a", "l", "f"] * 2


def test_any_order_of_installation_gives_one_order() -> None:
    guards = [
        Guard("a", "limit", print, after=["c"]),
        Guard("b", "limit", print, after=["nothing of that name"]),
        Guard("c", "limit", print),
        Guard("d", "admit", print),
    ]
    orders = {tuple(guard.name for guard in order_guards(some)) for some in itertools.permutations(guards)}
    assert orders == {("d", "b", "c", "a")}


def test_an_after_of_another_stage_does_not_turn_the_stages() -> None:
    guards = [Guard("a", "admit", print, after=["z"]), Guard("z", "filter", print)]
    assert [guard.name for guard in order_guards(guards)] == ["a", "z"]


def test_guards_that_wait_for_each_other_or_share_a_name_are_refused() -> None:
    with pytest.raises(PluginError, match="wait for each other"):
        order_guards([Guard("a", "limit", print, after=["b"]), Guard("b", "limit", print, after=["a"])])
    with pytest.raises(PluginError, match="two guards are named 'a'"):
        order_guards([Guard("a", "limit", print), Guard("a", "admit", print)])


# what each is given, and what its refusal means ----------------------------------------


async def test_each_stage_is_given_what_its_docstring_says(guarded: Any) -> None:
    seen: dict[str, tuple[Any, ...]] = {}

    def note(name: str) -> Any:
        def check(*given: Any) -> Any:
            seen[name] = given
            return given[1] if name == "filter" else None

        return check

    async with guarded([Guard(stage.value, stage, note(stage.value)) for stage in Stage], give) as host:
        session = host.session()
        await session.call("give", {"n": 7}, id="mine")
    assert seen["admit"] == (session,)
    context, arguments = seen["approve"]
    assert isinstance(context, CallContext)
    assert (context.call_id, context.tool.name, context.session, dict(arguments)) == ("mine", "give", session, {"n": 7})
    assert seen["limit"] == (context,)
    assert seen["filter"][0] is context
    assert seen["filter"][1].data == {"result": 7}


@pytest.mark.parametrize("stage", [Stage.ADMIT, Stage.APPROVE, Stage.LIMIT])
@pytest.mark.parametrize("raised", [False, True])
async def test_a_refusal_is_the_answer_and_nothing_after_it_runs(guarded: Any, stage: Stage, raised: bool) -> None:
    log: list[str] = []
    refusal = ToolError("FORBIDDEN", "not today", reason="mood")

    def check(*given: Any) -> ToolError:
        if raised:
            raise refusal
        return refusal

    stages = list(Stage)
    guards = [passing(log, one.value, one) for one in stages] + [Guard("0", stage, check)]
    async with guarded(guards, give) as host:
        result = await host.session().call("give", {"n": 7}, id="mine")
        checked = host.session().check("give", {"n": 7})
    assert result.error == refusal
    assert (result.id, result.name) == ("mine", "give")
    assert log[: stages.index(stage)] == [one.value for one in stages[: stages.index(stage)]]
    assert "filter" not in log
    assert (checked.error == refusal) is (stage is Stage.ADMIT)


async def test_only_a_guard_that_waits_costs_a_cancel_scope(guarded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends a person who does not answer; one that knows at once has nothing to be ended."""

    async def wait(*given: Any) -> None:
        await trio.lowlevel.checkpoint()

    made: list[Any] = []
    real = trio.move_on_after
    monkeypatch.setattr(trio, "move_on_after", lambda seconds: made.append(seconds) or real(seconds))
    log: list[str] = []
    for guards, scopes in (([passing(log, "knows", "approve")], 0), ([Guard("waits", "approve", wait)], 1)):
        made.clear()
        async with guarded(guards, give) as host:
            assert (await host.session().call("give", {"n": 1})).ok
        assert len(made) == scopes


async def test_admit_is_asked_before_the_arguments_are_looked_at(guarded: Any) -> None:
    refuse = Guard("no", "admit", lambda session: ToolError("UNAUTHORIZED", "no"))
    async with guarded([refuse], give) as host:
        assert (await host.session().call("give", {"n": "x"})).error.code is ErrorCode.UNAUTHORIZED
    async with guarded([Guard("no", "approve", refuse.check)], give) as host:
        assert (await host.session().call("give", {"n": "x"})).error.code is ErrorCode.INVALID_INPUT


# mode observe ----------------------------------------


@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize("kind", ["refuses", "raises", "refuses later"])
async def test_in_mode_observe_a_guard_never_refuses_and_is_audited(
    guarded: Any, stage: Stage, kind: str, listening: Any, ear: Any, caplog: Any
) -> None:
    def check(*given: Any) -> ToolError:
        if kind == "raises":
            raise ValueError
        return ToolError("FORBIDDEN", "no")

    async def later(*given: Any) -> ToolError:
        await trio.lowlevel.checkpoint()
        return ToolError("FORBIDDEN", "no")

    async def filter_later(*given: Any) -> Any:
        await trio.lowlevel.checkpoint()
        raise ToolError("FORBIDDEN", "no")

    chosen: Any = check
    if kind == "refuses later" and stage is not Stage.ADMIT:
        chosen = filter_later if stage is Stage.FILTER else later
    elif stage is Stage.FILTER:
        chosen = filter_later
    peek = (lambda session, arguments: ToolError("FORBIDDEN", "no")) if chosen is later else None
    guards = [Guard("watched", stage, chosen, peek=peek)]
    async with guarded(guards, give, plugins=[listening], config={"observe": ["watched"]}) as host:
        assert (await host.session().call("give", {"n": 7})).data == {"result": 7}
    failed = kind == "raises" or stage is Stage.FILTER
    assert dict(ear.verdicts())["watched"] == ("failed" if failed else "would_refuse")


async def test_in_mode_observe_nothing_waits_and_what_was_taken_is_given_back(guarded: Any) -> None:
    taken: list[int] = []

    def take(context: CallContext) -> Any:
        taken.append(1)
        return taken.pop

    async def forever(*given: Any) -> None:
        await trio.sleep_forever()

    class Later:
        def __await__(self) -> Any:
            raise AssertionError("nobody waits for it")

    guards = [
        Guard("take", "limit", take),
        Guard("wait", "limit", forever),
        Guard("ask", "approve", forever),
        Guard("hidden", "approve", lambda *given: forever()),
        Guard("later", "limit", lambda *given: Later()),
    ]
    async with guarded(guards, give, config={"observe": [guard.name for guard in guards]}) as host:
        assert (await host.session().call("give", {"n": 7})).ok
    assert taken == []


# filters ----------------------------------------


async def test_filters_replace_content_and_data_one_after_the_other_and_never_the_call(
    guarded: Any, listening: Any, ear: Any
) -> None:
    async def double(context: CallContext, result: ToolResult) -> Any:
        await trio.lowlevel.checkpoint()
        return {"result": result.data["result"] * 2}

    def rename(context: CallContext, result: ToolResult) -> ToolResult:
        return ToolResult(content=result.content, data=result.data, id="other", name="other", duration_ms=1e9)

    guards = [Guard("a", "filter", double), Guard("b", "filter", double), Guard("c", "filter", rename)]
    async with guarded(guards, give, plugins=[listening]) as host:
        result = await host.session().call("give", {"n": 7}, id="mine")
    assert result.data == {"result": 28}
    assert (result.id, result.name) == ("mine", "give")
    assert result.duration_ms < 1e6
    assert ear.outcomes[0].result.data == {"result": 28}


@pytest.mark.parametrize(
    "answer",
    [{"n": "text"}, "text", float("nan"), object(), ToolResult(content=("x",)), trio.sleep],  # type: ignore[arg-type]
)
async def test_what_a_filter_made_is_checked_again_and_withheld_where_it_is_wrong(
    guarded: Any, answer: Any, caplog: Any
) -> None:
    shows = Tool(name="it", handler=lambda: {"n": 1}, run="inplace", output_schema=PROMISE)
    async with guarded([Guard("f", "filter", lambda context, result: answer)], shows) as host:
        result = await host.session().call("it")
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert result.error.details["executed"] is True
    assert "withheld" in result.text
    assert result.data is None


async def test_a_filter_sees_errors_too_and_may_rewrite_them(guarded: Any) -> None:
    def soften(context: CallContext, result: ToolResult) -> ToolResult:
        return ToolResult.error("CONFLICT", "softer") if result.error else result

    def fails() -> None:
        raise ToolError("CONFLICT", "hard")

    async with guarded([Guard("f", "filter", soften)], Tool(name="it", handler=fails, run="inplace")) as host:
        assert (await host.session().call("it")).text == "softer"


@pytest.mark.parametrize("observed", [False, True])
async def test_the_cap_holds_after_filters(guarded: Any, observed: bool) -> None:
    def grow(context: CallContext, result: ToolResult) -> str:
        return "x" * 1_000_000

    def shrink(context: CallContext, result: ToolResult) -> str:
        return "x"

    config = {"observe": ["f"]} if observed else {}
    big = Tool(name="it", handler=lambda: "y" * 1_000_000, run="inplace")
    small = Tool(name="it", handler=lambda: "y", run="inplace")
    async with guarded([Guard("f", "filter", grow)], small, config=config) as host:
        assert len((await host.session().call("it")).text) == (1 if observed else pytest.approx(100_000, abs=500))
    async with guarded([Guard("f", "filter", shrink)], big, config=config) as host:
        assert len((await host.session().call("it")).text) == (pytest.approx(100_000, abs=500) if observed else 1)


# observers ----------------------------------------


async def test_observers_hear_every_outcome(guarded: Any, listening: Any, ear: Any) -> None:
    @tool
    async def hang() -> None:
        await trio.sleep_forever()

    refused = tool(name="refused", run="inplace")(lambda: None)
    picky = Guard("picky", "admit", lambda session: None)

    async with guarded([picky], give, hang, refused, plugins=[listening]) as host:
        session = host.session()
        await session.call("give", {"n": 1})
        await session.call("give", {"n": "x"})
        await session.call("giv")
        await session.call(5)
        host.disable("refused")
        await session.call("refused")
        await session.call("hang", timeout_s=0.01)
        with trio.move_on_after(0.01):
            await session.call("hang")
        session.refuse_line(ToolError("INVALID_INPUT", "no"), line="{")
        await session.call_many([{"name": "give", "arguments": {"n": 2}}, 7])
    said = ear.said
    assert said[:8] == [
        ("give", "ok", None),
        ("give", "error", "INVALID_INPUT"),
        ("giv", "error", "NOT_FOUND"),
        (5, "error", "INVALID_INPUT"),
        ("refused", "error", "FORBIDDEN"),
        ("hang", "error", "TIMEOUT"),
        ("hang", "cancelled", None),
        ("", "error", "INVALID_INPUT"),
    ]
    assert sorted(said[8:]) == [("", "error", "INVALID_INPUT"), ("give", "ok", None)]
    assert [outcome.tool and outcome.tool.name for outcome in ear.outcomes[:4]] == ["give", "give", None, None]
    assert ear.outcomes[0].verdicts[0].guard == "picky"


async def test_an_outcome_carries_the_call_the_session_and_the_times(hosted: Any, listening: Any, ear: Any) -> None:
    async with hosted(give, plugins=[listening]) as host:
        session = host.session("ada")
        result = await session.call("give", {"n": 1}, id="mine")
    (outcome,) = ear.outcomes
    assert (outcome.call.id, outcome.call.name, dict(outcome.call.arguments)) == ("mine", "give", {"n": 1})
    assert outcome.session is session
    assert outcome.result is result
    assert outcome.duration_ms >= result.duration_ms * 0.5
    assert outcome.started_at > 1.7e9


# a refusal that cannot be read ----------------------------------------


class Unreadable(dict):  # type: ignore[type-arg]
    """Details that break when they are read."""

    def items(self) -> Any:
        raise RuntimeError("no")


def refusal(**odd: Any) -> ToolError:
    error = ToolError("FORBIDDEN", "no", reason="house")
    for name, value in odd.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize("stage", ["admit", "approve", "limit"])
@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        (ToolError("FORBIDDEN", "no", big=10**5000), "FORBIDDEN", "a int"),
        (ToolError("FORBIDDEN", "no", big=Unreadable(a=1)), "FORBIDDEN", "a Unreadable"),
        (refusal(details=5), "FORBIDDEN", None),
        (refusal(code="NO_SUCH_CODE"), "INTERNAL_ERROR", None),
    ],
    ids=["a number too long", "a value that breaks", "no details", "no code"],
)
async def test_a_refusal_answers_whatever_its_author_put_into_it(
    guarded: Any, stage: str, error: ToolError, code: str, shown: str | None
) -> None:
    async with guarded([Guard("house", stage, lambda *given: error)], give) as host:
        session = host.session()
        results = [await session.call("give", {"n": 1})]
        results += [session.check("give", {"n": 1})] if stage == "admit" else []
        for result in results:
            assert result.error.code.value == code
            assert result.error.details.get("big") == shown
            json.dumps(result.to_json())


async def test_a_limit_that_cannot_be_given_back_is_logged_whatever_it_raises(guarded: Any, caplog: Any) -> None:
    class Panic(BaseException):
        pass

    def release() -> None:
        raise Panic

    async with guarded([Guard("house", "limit", lambda context: release)], give) as host:
        assert (await host.session().call("give", {"n": 1})).ok
    assert "could not be given back" in caplog.text
