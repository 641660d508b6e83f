"""Layers around the work of a tool: what they may do, in which order, and what they cannot break."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from pegboard import (
    CallContext,
    CheckedResult,
    ErrorCode,
    Guard,
    Layer,
    PluginError,
    Stage,
    TextContent,
    ToolError,
    ToolResult,
    hookimpl,
    open_host,
    tool,
)  # fmt: skip
from pegboard.registry import planning


@pytest.fixture
def runs() -> list[Any]:
    """The numbers with which `count` ran."""
    return []


@pytest.fixture
def layered(hosted: Any, make_plugin: Any, runs: list[Any]) -> Any:
    """A host with the tool `count`, under the given layers; `marks` are of the tool."""

    def open_one(*layers: Layer, plugins: Any = (), run: str = "async", **marks: Any) -> Any:
        if run == "async":

            @tool(**marks)
            async def count(number: int) -> dict[str, int]:
                runs.append(number)
                if number < 0:
                    raise ToolError(ErrorCode.UPSTREAM_ERROR, "below zero")
                if number == 0:
                    await trio.sleep_forever()
                return {"number": number}
        else:

            @tool(run=run, **marks)
            def count(number: int) -> dict[str, int]:
                runs.append(number)
                if number < 0:
                    raise ToolError(ErrorCode.UPSTREAM_ERROR, "below zero")
                return {"number": number}

        return hosted(count, plugins=[make_plugin("layering", make_layers=list(layers)), *plugins])

    return open_one


async def through(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
    return await call_next()


@pytest.mark.parametrize("run", ["async", "inplace", "thread"])
async def test_a_layer_sees_the_validated_arguments_and_the_result(layered: Any, runs: list[Any], run: str) -> None:
    seen: list[Any] = []

    async def look(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        result = await call_next()
        seen.append((context.tool.name, dict(arguments), dict(context.arguments), result.data))
        return result

    async with layered(Layer("look", look), run=run) as host:
        assert (await host.session().call("count", {"number": "7"})).data == {"number": 7}  # repaired
    assert seen == [("count", {"number": 7}, {"number": 7}, {"number": 7})]
    assert runs == [7]


async def test_layers_lie_around_each_other_by_after_and_name(layered: Any) -> None:
    order: list[str] = []

    def named(name: str, *after: str) -> Layer:
        async def around(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
            order.append(name)
            try:
                return await call_next()
            finally:
                order.append(f"/{name}")

        return Layer(name, around, after)

    async with layered(named("a", "c"), named("b"), named("c")) as host:
        assert (await host.session().call("count", {"number": 1})).ok
    assert order == ["b", "c", "a", "/a", "/c", "/b"]


async def test_a_layer_that_answers_itself_keeps_the_tool_from_running(layered: Any, runs: list[Any]) -> None:
    async def known(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        return ToolResult.json({"number": 42})

    async with layered(Layer("known", known)) as host:
        result = await host.session().call("count", {"number": 1}, id="mine")
    assert (result.data, result.id, result.name) == ({"number": 42}, "mine", "count")
    assert runs == []


async def test_guards_limits_and_filters_lie_around_the_layers(layered: Any, make_plugin: Any) -> None:
    order: list[str] = []

    async def around(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        order.append("layer")
        return ToolResult.json({"number": 1})

    def note(name: str, answer: Any = None) -> Any:
        def check(*given: Any) -> Any:
            order.append(name)
            return given[1] if name == "filter" else answer

        return check

    guards = [
        Guard("approves", Stage.APPROVE, note("approve")),
        Guard("filters", Stage.FILTER, note("filter")),
        Guard("limits", Stage.LIMIT, note("limit", lambda: order.append("given back"))),
    ]
    async with layered(Layer("around", around), plugins=[make_plugin("guarding", make_guards=guards)]) as host:
        assert (await host.session().call("count", {"number": 1})).ok
    assert order == ["approve", "limit", "layer", "filter", "given back"]


# what a layer answers ----------------------------------------


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"number": 1}, "expected ToolResult"),
        (None, "expected ToolResult"),
        (ToolResult.json({"number": "no number"}), "output schema forbids"),
        (ToolResult.text("no data"), "asks for some"),
    ],
)
@pytest.mark.parametrize("first", [False, True])
async def test_what_a_layer_answers_is_checked(
    layered: Any, runs: list[Any], answer: Any, says: str, first: bool
) -> None:
    async def around(context: CallContext, arguments: Any, call_next: Any) -> Any:
        if first:
            await call_next()
        return answer

    async with layered(Layer("odd", around)) as host:
        result = await host.session().call("count", {"number": 1})
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert says in result.text
    assert result.error.details["executed"] is first is bool(runs)
    assert result.error.details["layer"] == "odd"


async def test_what_hides_in_the_answer_of_a_layer_is_taken_out(layered: Any) -> None:
    async def around(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        return ToolResult((TextContent("a\u202eb\x1b[2J"),), {"number": 3})

    async with layered(Layer("hides", around)) as host:
        result = await host.session().call("count", {"number": 1})
    assert "\u202e" not in result.text
    assert "\x1b" not in result.text


@pytest.mark.parametrize("problem", [ValueError("secret text"), SystemExit(2), BaseExceptionGroup("two", [KeyError()])])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_layer_that_raises_says_truly_whether_the_tool_ran(
    layered: Any, runs: list[Any], caplog: Any, problem: BaseException, when: str
) -> None:
    async def around(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        if when == "after":
            await call_next()
        raise problem

    async with layered(Layer("breaks", around)) as host:
        result = await host.session().call("count", {"number": 1})
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert result.error.details["executed"] is (when == "after") is bool(runs)
    assert result.error.details["retry"] == ("unknown" if runs else "same")
    assert "secret text" not in result.text


async def test_the_tool_error_of_a_layer_is_the_answer(layered: Any, runs: list[Any]) -> None:
    async def refuse(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        raise ToolError(ErrorCode.UPSTREAM_ERROR, "the circuit is open", retry="same", executed=True)

    async with layered(Layer("breaker", refuse)) as host:
        result = await host.session().call("count", {"number": 1})
    assert (result.error.code, result.text) == (ErrorCode.UPSTREAM_ERROR, "the circuit is open")
    assert result.error.details["executed"] is False  # which the host knows better
    assert runs == []


async def test_what_a_layer_below_broke_is_an_answer_for_the_one_above(layered: Any) -> None:
    heard: list[Any] = []

    async def above(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        result = await call_next()
        heard.append(result.error.code)
        return ToolResult.json({"number": 0})

    async def below(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        raise RuntimeError

    async with layered(Layer("a", above), Layer("b", below)) as host:
        assert (await host.session().call("count", {"number": 1})).data == {"number": 0}
    assert heard == [ErrorCode.INTERNAL_ERROR]


# how often the tool runs ----------------------------------------


async def twice(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
    result = await call_next()
    return result if result.ok else await call_next()


@pytest.mark.parametrize("run", ["async", "inplace", "thread"])
@pytest.mark.parametrize("marks", [{}, {"read_only": True}, {"idempotent": True}], ids=str)
async def test_a_tool_is_run_again_only_where_that_does_no_harm(
    layered: Any, runs: list[Any], marks: dict[str, bool], run: str
) -> None:
    async with layered(Layer("retry", twice), run=run, **marks) as host:
        result = await host.session().call("count", {"number": -1})
    assert runs == ([-1, -1] if marks else [-1])
    assert result.error.code is (ErrorCode.UPSTREAM_ERROR if marks else ErrorCode.INTERNAL_ERROR)
    if not marks:
        assert result.error.details["executed"] is True
        assert result.error.details["retry"] == "unknown"


@attrs.define
class Basket:
    """What a tool may be given, and may change."""

    names: set[str]
    more: list[str]


@pytest.mark.parametrize("run", ["async", "inplace", "thread"])
async def test_each_run_gets_the_arguments_that_were_validated(hosted: Any, make_plugin: Any, run: str) -> None:
    """Whatever a run does to sets, lists and objects, the next one sees nothing of it, and neither does its caller."""
    seen: list[Any] = []

    def take(basket: Basket, names: set[str], rows: list[dict[str, int]], flat: str = "x") -> str:
        seen.append((set(basket.names), list(basket.more), set(names), [dict(row) for row in rows], flat))
        basket.names.clear()
        basket.more.append("more")
        names.add("more")
        rows.append({"more": 1})
        rows[0]["x"] = 2
        raise ToolError(ErrorCode.UPSTREAM_ERROR, "again")

    async def take_async(basket: Basket, names: set[str], rows: list[dict[str, int]], flat: str = "x") -> str:
        return take(basket, names, rows, flat)

    made = tool(take_async, name="take", idempotent=True) if run == "async" else tool(run=run, idempotent=True)(take)
    given = {"basket": {"names": ["a"], "more": []}, "names": ["b"], "rows": [{"x": 1}]}
    async with hosted(made, plugins=[make_plugin("layering", make_layers=[Layer("retry", twice)])]) as host:
        assert not (await host.session().call("take", given)).ok
    assert seen == [({"a"}, [], {"b"}, [{"x": 1}], "x")] * 2
    assert given == {"basket": {"names": ["a"], "more": []}, "names": ["b"], "rows": [{"x": 1}]}


# deadlines and cancellation ----------------------------------------


@pytest.mark.parametrize("when", ["before", "after", "instead"])
@pytest.mark.parametrize("run", ["async", "inplace"])  # a thread knows nothing of the clock that jumps
async def test_a_layer_that_does_not_end_is_a_timeout_of_its_tool(
    layered: Any, runs: list[Any], autojump_clock: MockClock, when: str, run: str
) -> None:
    async def hang(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        if when == "after":
            await call_next()
        await trio.sleep_forever()
        return await call_next()

    async with layered(Layer("hangs", hang), run=run, timeout_s=5) as host:
        began = trio.current_time()
        result = await host.session().call("count", {"number": 1})
        assert trio.current_time() - began == pytest.approx(5.1)
    assert result.error.code is ErrorCode.TIMEOUT
    assert (result.error.details.get("executed") is False) is (not runs) is (when != "after")


async def test_runs_of_a_retry_share_the_deadline_of_the_tool(
    layered: Any, runs: list[Any], autojump_clock: MockClock
) -> None:
    async def again(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        with trio.move_on_after(3):
            await call_next()
        return await call_next()

    async with layered(Layer("retry", again), timeout_s=5, read_only=True) as host:
        began = trio.current_time()
        result = await host.session().call("count", {"number": 0})
        assert trio.current_time() - began == pytest.approx(5, abs=0.11)
    assert result.error.code is ErrorCode.TIMEOUT
    assert runs == [0, 0]


async def test_the_deadline_of_a_layer_stands_still_while_a_person_is_asked(
    layered: Any, autojump_clock: MockClock
) -> None:
    async def ask(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        assert await context.confirm("really?")
        return await call_next()

    async def confirm(asked: Any) -> bool:
        await trio.sleep(60)
        return True

    async with layered(Layer("asks", ask), timeout_s=5) as host:
        result = await host.session(confirm=confirm).call("count", {"number": 3})
    assert result.data == {"number": 3}


async def test_a_cancelled_call_ends_its_layers(layered: Any, autojump_clock: MockClock) -> None:
    ended: list[str] = []

    async def wait(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        try:
            return await call_next()
        finally:
            ended.append("wait")

    async with layered(Layer("waits", wait)) as host:
        with trio.move_on_after(1) as scope:
            await host.session().call("count", {"number": 0})
        assert scope.cancelled_caught
    assert ended == ["wait"]


# where they are made ----------------------------------------


async def test_a_tool_without_layers_has_none_on_its_path(hosted: Any, make_plugin: Any) -> None:
    asked: list[str] = []

    def make_layers(tool: Any) -> None:
        asked.append(tool.name)

    @tool(run="inplace", read_only=True)
    def plain() -> int:
        return 1

    async with hosted(plain, plugins=[make_plugin("none", make_layers=make_layers)]) as host:
        assert (await host.session().call("plain")).ok
        entry = host.board.registry.plans["plain"]
        assert entry.layers == ()
        assert not entry.waits
    assert asked.count("plain") == 1


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: [1], "plugin 'layers' could not make its layers: .*gave int, expected Layer"),
        (lambda: 3, "plugin 'layers' could not make its layers: .*gave int, expected Layer"),
        (lambda: through, "plugin 'layers' could not make its layers: .*gave function, expected Layer"),
        (lambda: "text", "plugin 'layers' could not make its layers: .*gave str, expected Layer"),
        (lambda: Layer("a", "text"), "plugin 'layers' could not make its layers: .*'around' must be callable"),  # type: ignore[arg-type]
        (lambda: Layer(5, through), "plugin 'layers' could not make its layers: .*'name' must be"),  # type: ignore[arg-type]
        (lambda: [Layer("a", through), Layer("a", through)], "two layers are named 'a'"),
    ],
)  # fmt: skip
async def test_a_tool_whose_layers_cannot_be_made_is_not_registered(
    layered: Any, make_plugin: Any, make: Any, why: str
) -> None:
    plugin = make_plugin("layers", make_layers=lambda tool: make())

    @tool
    def one() -> None: ...

    async with open_host(plugins=[plugin]) as host:
        with pytest.raises(PluginError, match=why):
            host.add(one)


def test_one_name_in_after_is_a_name_and_not_its_letters() -> None:
    assert Layer("one", through, after="other").after == ("other",)
    assert Guard("one", Stage.LIMIT, print, after="other").after == ("other",)
    assert Layer("one", through, after=["other", "third"]).after == ("other", "third")


def test_layers_that_wait_for_each_other_are_refused() -> None:
    with pytest.raises(PluginError, match="the layers a, b wait for each other"):
        planning._in_order([Layer("a", through, ("b",)), Layer("b", through, ("a",))], "layers")


# answers at once ----------------------------------------


def remembering(kept: list[CheckedResult], details: Any = None, make: Any = None) -> Layer:
    """A layer that gives its first answer again, at once."""

    async def around(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        result = await call_next()
        if (checked := context.checked(result)) is not None:
            kept.append(checked)
        return result

    def at_once(context: CallContext, arguments: Any) -> Any:
        return (make or (lambda one: (one, details or {})))(kept[0]) if kept else None

    return Layer("remembers", around, at_once=at_once)


@pytest.mark.parametrize("run", ["async", "inplace", "thread"])
async def test_a_layer_gives_a_checked_result_again_without_the_tool(layered: Any, runs: list[Any], run: str) -> None:
    async with layered(remembering([], {"from": "memory"}), run=run) as host:
        session = host.session()
        first, again = [await session.call("count", {"number": 7}, id=id_) for id_ in ("one", "two")]
        again.data["number"] = 8  # a caller may do what it likes to its own
        third = await session.call("count", {"number": 7})
    assert (again.id, again.name, again.text, again.details) == ("two", "count", first.text, {"from": "memory"})
    assert again.duration_ms > 0
    assert third.data == first.data == {"number": 7}
    assert runs == [7]


async def test_what_was_taken_out_of_a_text_is_said_again(hosted: Any, make_plugin: Any) -> None:
    @tool
    async def hiding() -> str:
        return "a\u200bb\u202e"

    layer = remembering([])
    async with hosted(hiding, plugins=[make_plugin("layering", make_layers=[layer])]) as host:
        first, again = [await host.session().call("hiding") for _ in range(2)]
        again.details["cleaned"].clear()
        third = await host.session().call("hiding")
    assert (third.text, third.details) == (first.text, first.details)
    assert first.details["cleaned"]


async def test_only_what_the_host_has_checked_can_be_given_again(layered: Any) -> None:
    seen: list[Any] = []

    async def around(context: CallContext, arguments: Any, call_next: Any) -> ToolResult:
        seen.append(context.checked(ToolResult.json({"number": 1})))
        result = await call_next()
        seen.append(context.checked(result))
        seen.append(context.checked(ToolResult.json({"number": 1})))
        return result

    async with layered(Layer("looks", around), read_only=True) as host:
        assert not (await host.session().call("count", {"number": -1})).ok
        assert seen == [None, None, None]
        assert (await host.session().call("count", {"number": 1})).ok
    assert [type(one) for one in seen[3:]] == [type(None), CheckedResult, type(None)]


@pytest.mark.parametrize(
    "make",
    [
        lambda one: one,
        lambda one: (one.copy(), {}),
        lambda one: (one, {"when": object()}),
        lambda one: (one, None),
        lambda one: (CheckedResult(None, one.copy(), 1), {}),
        lambda one: 1 / 0,
    ],
    ids=["no pair", "not checked", "odd details", "no details", "of another tool", "raises"],
)
async def test_a_layer_that_answers_rubbish_at_once_is_an_error_that_says_the_tool_did_not_run(
    layered: Any, runs: list[Any], make: Any
) -> None:
    async with layered(remembering([], make=make)) as host:
        assert (await host.session().call("count", {"number": 1})).ok
        result = await host.session().call("count", {"number": 1})
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert (result.error.details["executed"], result.error.details["layer"]) == (False, "remembers")
    assert runs == [1]


async def test_only_the_outermost_layer_is_asked_at_once(layered: Any, runs: list[Any]) -> None:
    async with layered(remembering([]), Layer("outer", through)) as host:
        for _ in range(2):
            assert (await host.session().call("count", {"number": 1})).ok
    assert runs == [1, 1]


# the whole promise ----------------------------------------

STEPS = st.lists(st.sampled_from(["next", "raise", "answer", "odd", "group", "exit"]), max_size=4)


@given(plans=st.lists(STEPS, min_size=1, max_size=3), marks=st.sampled_from([{}, {"read_only": True}]))
def test_whatever_layers_do_a_result_comes_and_tells_truly_whether_the_tool_ran(
    plans: list[list[str]], marks: dict[str, bool]
) -> None:
    """Any layers, any order: a `ToolResult`; a tool that may not be repeated runs once; `executed: false` is true."""
    runs: list[int] = []

    @tool(**marks)
    async def count() -> dict[str, int]:
        runs.append(1)
        return {"runs": len(runs)}

    def layer(index: int, steps: list[str]) -> Layer:
        async def around(context: CallContext, arguments: Any, call_next: Any) -> Any:
            result: Any = ToolResult.json({"runs": 0})
            for step in steps:
                if step == "next":
                    result = await call_next()
                elif step == "raise":
                    raise ValueError
                elif step == "group":
                    raise BaseExceptionGroup("several", [ValueError(), KeyError()])
                elif step == "exit":
                    raise SystemExit
                else:
                    result = ToolResult.json({"runs": -1}) if step == "answer" else steps
            return result

        return Layer(f"layer{index}", around)

    class Plugin:
        @hookimpl
        def make_layers(self, tool: Any) -> list[Layer]:
            return [layer(index, steps) for index, steps in enumerate(plans)]

    async def main() -> ToolResult:
        async with open_host(plugins=[Plugin()]) as host:
            host.add(count)
            return await host.session().call("count")

    result = trio.run(main)
    assert isinstance(result, ToolResult)
    assert len(runs) <= 1 or marks
    if result.error is not None:
        assert result.error.details["executed"] is bool(runs)
