"""The promise of `session.call`: whatever a tool does, a `ToolResult` answers."""

from __future__ import annotations

import contextlib
import enum
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import CallContext, ErrorCode, TextContent, Tool, ToolError, ToolResult, open_host, tool
from pegboard.content import BinaryContent, ImageContent
from pegboard.contract import Guard, Stage
from pegboard.dialects import id_of

RUNS = ["async", "inplace", "async in place", "thread"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def running(run: str, body: Callable[[], Any], **options: Any) -> Tool:
    """A tool of no parameters that runs `body` in the loop, in place or in a thread."""

    async def waiting() -> Any:
        await trio.lowlevel.checkpoint()
        return body()

    handler = waiting if "async" in run else body
    return Tool(name="it", handler=handler, run="inplace" if "in place" in run else run, **options)


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The log of what failed, which is expected here."""
    caplog.set_level(logging.CRITICAL, "pegboard.none")
    return caplog


def raising(problem: Callable[[], BaseException]) -> Callable[[], Any]:
    def body() -> Any:
        raise problem()

    return body


class WrongInItselfError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


FAILURES: dict[str, Callable[[], BaseException]] = {
    "an exception": lambda: ValueError("/home/ada/secret.txt"),
    "SystemExit": lambda: SystemExit(3),
    "GeneratorExit": GeneratorExit,
    "StopIteration": lambda: StopIteration(1),
    "StopAsyncIteration": StopAsyncIteration,
    "MemoryError": MemoryError,
    "RecursionError": RecursionError,
    "a group": lambda: ExceptionGroup("both", [ValueError("/home/a"), KeyError("/home/b")]),
    "a group in a group": lambda: BaseExceptionGroup("x", [ExceptionGroup("y", [OSError("/home/x")]), SystemExit(1)]),
    "a base exception": lambda: BaseException("/home/ada"),
    "one without a text": WrongInItselfError,
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("what", FAILURES)
async def test_whatever_a_tool_raises_is_an_internal_error_without_its_text(
    hosted: Any, run: str, what: str, quiet: Any
) -> None:
    async with hosted(running(run, raising(FAILURES[what]))) as host:
        result = await host.session().call("it")
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert "/home" not in json.dumps(result.to_json())
    assert "Traceback" not in result.text


@pytest.mark.parametrize("run", RUNS)
async def test_a_tool_error_is_the_answer_alone_or_alone_in_groups(hosted: Any, run: str) -> None:
    error = ToolError("CONFLICT", "taken", owner="bob")
    for problem in (error, ExceptionGroup("", [ExceptionGroup("", [error])])):
        async with hosted(running(run, raising(lambda problem=problem: problem))) as host:
            result = await host.session().call("it")
        assert result.error == error
        assert result.error.details == {"owner": "bob", "retry": "changed"}


def kept_cancelled() -> BaseException:
    """A `Cancelled` that belongs to no scope any more."""
    kept: list[BaseException] = []

    async def catch() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled as problem:
                kept.append(problem)
                raise

    with contextlib.suppress(RuntimeError):
        trio.run(catch)
    return kept[0]


KEPT = kept_cancelled()


async def answered(call: Any) -> Any:
    """The answer of a call that nobody cancels: pytest-trio would take a stray `Cancelled` for a test that passed."""
    try:
        return await call
    except trio.Cancelled:
        pass
    raise AssertionError("a Cancelled that belongs to nobody escaped")


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("wrapped", [False, True])
async def test_a_cancelled_that_a_tool_kept_is_its_mistake(hosted: Any, run: str, wrapped: bool, quiet: Any) -> None:
    problem = BaseExceptionGroup("", [KEPT, ValueError()]) if wrapped else KEPT
    async with hosted(running(run, raising(lambda: problem))) as host:
        result = await answered(host.session().call("it"))
        again = await answered(host.session().call("it", timeout_s=5))
    assert result.error.code is again.error.code is ErrorCode.INTERNAL_ERROR


async def test_a_call_that_an_enclosing_scope_cancels_passes_on_the_cancellation(hosted: Any) -> None:
    @tool
    async def wait() -> None:
        await trio.sleep_forever()

    async with hosted(wait) as host:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:

                async def call() -> None:
                    await host.session().call("wait")
                    raise AssertionError("it was answered")

                nursery.start_soon(call)
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
        assert scope.cancelled_caught


async def test_what_fails_beside_an_enclosing_cancellation_does_not_hide_it(hosted: Any) -> None:
    @tool
    async def wait() -> None:
        async with trio.open_nursery() as nursery:

            async def fail() -> None:
                try:
                    await trio.sleep_forever()
                finally:
                    raise ValueError

            nursery.start_soon(fail)
            nursery.start_soon(trio.sleep_forever)

    async with hosted(wait) as host:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(host.session().call, "wait")
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
        assert scope.cancelled_caught


@pytest.mark.parametrize("run", RUNS[:3])
@pytest.mark.parametrize("wrapped", [False, True])
async def test_ctrl_c_passes_untouched_and_bare(hosted: Any, run: str, wrapped: bool) -> None:
    interrupt = KeyboardInterrupt()
    problem = BaseExceptionGroup("", [BaseExceptionGroup("", [interrupt]), ValueError()]) if wrapped else interrupt
    async with hosted(running(run, raising(lambda: problem))) as host:
        with pytest.raises(KeyboardInterrupt) as caught:
            await host.session().call("it")
    assert caught.value is interrupt


async def test_ctrl_c_leaves_call_many_and_the_host_bare() -> None:
    @tool(read_only=True, run="inplace")
    def interrupted() -> None:
        raise KeyboardInterrupt

    async def main() -> None:
        async with open_host({}, []) as host:
            host.add(interrupted)
            await host.session().call_many([{"id": "1", "name": "interrupted"}, {"id": "2", "name": "interrupted"}])

    with pytest.raises(KeyboardInterrupt):
        await main()


# what a tool returns ----------------------------------------


class Odd:
    pass


class Later:
    def __await__(self) -> Any:
        raise AssertionError("nobody awaits it")


class BrokenMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise LookupError("/home/ada")

    def __iter__(self) -> Iterator[str]:
        raise SystemExit(1)

    def __len__(self) -> int:
        return 1


@attrs.define
class Falling:
    value: Any = None

    def __getattribute__(self, name: str) -> Any:
        if name == "value":
            raise RuntimeError("/home/ada")
        return super().__getattribute__(name)


def circle() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def deep() -> Any:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    return value


RUBBISH: dict[str, Callable[[], Any]] = {
    "an object": Odd,
    "a class": lambda: Odd,
    "objects in a list": lambda: [1, {"a": Odd()}],
    "NaN": lambda: float("nan"),
    "NaN inside": lambda: {"a": [float("nan")]},
    "infinity": lambda: float("-inf"),
    "a huge integer": lambda: 10**5000,
    "a huge integer inside": lambda: [10**5000],
    "a circle": circle,
    "a deep value": deep,
    "keys that are not text": lambda: {1: 2},
    "a mapping that breaks": BrokenMapping,
    "attributes that break": Falling,
    "a generator": lambda: (x for x in "ab"),
    "a coroutine": lambda: trio.sleep(1),
    "something to be awaited": Later,
    "an exception": lambda: ValueError("/home/ada"),
    "content that is not valid": lambda: ToolResult(content=("text",)),
    "text that is not valid": lambda: ToolResult(content=(TextContent(7),)),  # type: ignore[arg-type]
    "bytes that are not valid": lambda: ImageContent("abc"),  # type: ignore[arg-type]
    "a media type that is not valid": lambda: BinaryContent(b"abc", mime_type=4),  # type: ignore[arg-type]
    "data that is not an object": lambda: ToolResult(data=[1, 2]),  # type: ignore[arg-type]
    "data with NaN": lambda: ToolResult(data={"a": float("nan")}),
    "details of an error that have no JSON form": lambda: ToolError("CONFLICT", "no", thing=Odd()),
    "details that have no JSON form": lambda: ToolResult(details={"thing": Odd()}),
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("what", RUBBISH)
async def test_what_has_no_json_form_is_the_tools_mistake_and_says_that_it_ran(
    hosted: Any, run: str, what: str, quiet: Any
) -> None:
    async with hosted(running(run, RUBBISH[what])) as host:
        result = await host.session().call("it")
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert result.error.details["executed"] is True
    line = json.dumps(result.to_json(), allow_nan=False)
    assert "/home" not in line


async def test_the_details_of_a_raised_error_are_json_whatever_they_were(hosted: Any, quiet: Any) -> None:
    def body() -> None:
        raise ToolError("CONFLICT", "taken", who=Odd(), path=["a", float("nan")], fine=1, when=b"x")

    async with hosted(running("inplace", body)) as host:
        result = await host.session().call("it")
    assert result.error.code is ErrorCode.CONFLICT
    assert result.error.details["fine"] == 1
    json.dumps(result.to_json(), allow_nan=False)


async def test_a_foreign_tool_that_breaks_its_promise_is_an_upstream_error(hosted: Any, make_plugin: Any) -> None:
    class Source:
        name = "far"
        timeout_s = None

        async def run(self, slot: Any) -> None:
            slot.replace([running("async", lambda: {"n": "x"}, output_schema=PROMISE)])
            await trio.sleep_forever()

    async with hosted(plugins=[make_plugin("far", provide_sources=[Source()])]) as host:
        await trio.testing.wait_all_tasks_blocked()
        result = await host.session().call("it")
    assert result.error.code is ErrorCode.UPSTREAM_ERROR
    assert result.error.details["executed"] is True


PROMISE = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("value", [None, "text", {"n": "1"}, {}, {"n": 1, "more": 2}, [1], ToolResult.text("x")])
async def test_what_the_output_schema_forbids_is_withheld(hosted: Any, run: str, value: Any) -> None:
    async with hosted(running(run, lambda: value, output_schema=PROMISE)) as host:
        result = await host.session().call("it")
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert result.error.details["executed"] is True
    assert result.data is None


async def test_what_the_output_schema_allows_passes_and_an_error_is_not_held_against_it(hosted: Any) -> None:
    answers: list[Any] = [{"n": 1}, ToolResult.json({"n": 2}), ToolResult.error("CONFLICT", "taken")]
    async with hosted(running("inplace", lambda: answers.pop(0), output_schema=PROMISE)) as host:
        session = host.session()
        assert (await session.call("it")).data == {"n": 1}
        assert (await session.call("it")).data == {"n": 2}
        assert (await session.call("it")).error.code is ErrorCode.CONFLICT


async def test_a_plain_function_that_returns_a_coroutine_is_told_to_be_async_and_none_is_left_unawaited(
    hosted: Any,
) -> None:
    for run in ("inplace", "thread", "async"):
        async with hosted(running(run, lambda: trio.sleep(0))) as host:
            result = await host.session().call("it")
        assert "async def" in result.text


@pytest.mark.parametrize("make", [lambda: "x" * 100_000_000, lambda: ToolError("CONFLICT", "y" * 100_000_000)])
@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.unmeasured
async def test_a_hundred_megabytes_are_cut(hosted: Any, make: Any, raises: bool) -> None:
    def body() -> Any:
        value = make()
        if raises:
            raise value if isinstance(value, Exception) else ToolError("CONFLICT", value)
        return value

    async with hosted(running("inplace", body)) as host:
        result = await host.session().call("it")
    assert len(json.dumps(result.to_json())) < 300_000
    assert "page 1 of" in result.text


@pytest.mark.parametrize("make", [bytes, bytearray, lambda n: ImageContent(bytes(n)), lambda n: [bytes(n)]])
@pytest.mark.unmeasured
async def test_a_hundred_megabytes_of_bytes_are_left_out(hosted: Any, make: Any) -> None:
    async with hosted(running("inplace", lambda: make(100_000_000))) as host:
        result = await host.session().call("it")
    assert len(json.dumps(result.to_json())) < 300_000
    assert "of 100000000 bytes left out" in result.text or "page 1 of" in result.text


async def test_many_blocks_that_are_too_large_together_are_cut(hosted: Any) -> None:
    async with hosted(running("inplace", lambda: [ImageContent(b"x" * 90_000)] * 50)) as host:
        result = await host.session().call("it")
    assert len(json.dumps(result.to_json())) < 300_000
    assert result.content[0] == ImageContent(b"x" * 90_000)
    assert "left out" in result.text


async def test_an_enum_of_texts_is_its_value(hosted: Any) -> None:
    class Colour(str, enum.Enum):  # noqa: UP042 - the older form, whose str() is its name
        RED = "red"

    async with hosted(running("inplace", lambda: Colour.RED)) as host:
        result = await host.session().call("it")
    assert (result.text, result.data) == ("red", {"result": "red"})
    assert type(result.data["result"]) is str


async def test_a_tool_may_return_the_result_of_a_nested_call_as_its_own(hosted: Any) -> None:
    @tool(run="inplace")
    def inner() -> int:
        return 7

    @tool
    async def outer(context: CallContext) -> ToolResult:
        return await context.call("inner")

    async with hosted(inner, outer) as host:
        result = await host.session().call("outer", id="mine")
    assert (result.id, result.name, result.data) == ("mine", "outer", {"result": 7})


# calls of calls ----------------------------------------


@pytest.mark.parametrize("run", ["async", "thread"])
async def test_a_tool_that_calls_itself_ends_sixteen_deep(hosted: Any, run: str) -> None:
    async def again(context: CallContext) -> Any:
        return await context.call("it")

    def again_in_thread(context: CallContext) -> Any:
        return context.call_sync("it")

    handler = again if run == "async" else again_in_thread
    depths: list[int] = []

    def count(context: CallContext) -> None:
        depths.append(context.depth)

    guard = Guard("depth", Stage.LIMIT, count)
    counting = hosted(Tool(name="it", handler=handler), plugins=[_guarding(guard)])
    async with counting as host:
        result = await host.session().call("it")
    assert result.error.code is ErrorCode.FORBIDDEN
    assert result.error.details["reason"] == "depth"
    assert depths == list(range(16))


def _guarding(*guards: Guard) -> Any:
    import types

    from pegboard import hookimpl

    return types.SimpleNamespace(name="guarding", make_guards=hookimpl(lambda tool: list(guards)))


async def test_four_hundred_calls_deep_behind_the_contexts_back_still_answer(hosted: Any, quiet: Any) -> None:
    async def again(context: CallContext, n: int = 0) -> Any:
        return await context.session.call("it", {"n": n + 1}) if n < 400 else "the bottom"

    async with hosted(tool(name="it")(again)) as host:
        result = await host.session().call("it")
    assert isinstance(result, ToolResult)


async def test_a_tool_that_calls_itself_under_concurrency_one_is_refused_at_once(hosted: Any) -> None:
    @tool(concurrency=1)
    async def again(context: CallContext) -> Any:
        return await context.call("again")

    @tool(concurrency=1)
    async def there(context: CallContext) -> Any:
        return await context.call("back")

    @tool
    async def back(context: CallContext) -> Any:
        return await context.call("there")

    async with hosted(again, there, back) as host:
        for name in ("again", "there"):
            result = await host.session().call(name)
            assert result.error.code is ErrorCode.RATE_LIMITED
            assert result.error.details["reason"] == "recursion"
            assert result.error.details["retry"] == "never"


# validators and guards that break ----------------------------------------


BREAKS: dict[str, Callable[[], BaseException]] = {
    "an exception": lambda: ValueError("/home/ada"),
    "SystemExit": lambda: SystemExit(1),
    "a group": lambda: BaseExceptionGroup("", [SystemExit(1)]),
    "a Cancelled that it kept": lambda: KEPT,
}


@pytest.mark.parametrize("what", BREAKS)
@pytest.mark.parametrize(
    ("stage", "asynchronous"),
    [(stage, False) for stage in Stage] + [(stage, True) for stage in Stage if stage is not Stage.ADMIT],
)
async def test_a_guard_that_breaks_refuses_and_nothing_escapes(
    hosted: Any, stage: Stage, what: str, asynchronous: bool, quiet: Any
) -> None:
    ran: list[int] = []

    def check(*given: Any) -> Any:
        raise BREAKS[what]()

    async def check_later(*given: Any) -> Any:
        await trio.lowlevel.checkpoint()
        raise BREAKS[what]()

    guard = Guard("broken", stage, check_later if asynchronous else check)
    async with hosted(running("inplace", lambda: ran.append(1)), plugins=[_guarding(guard)]) as host:
        result = await answered(host.session().call("it"))
        checked = host.session().check("it")
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert result.error.details["executed"] is (stage is Stage.FILTER)
    assert bool(ran) is (stage is Stage.FILTER)
    assert "/home" not in json.dumps(result.to_json())
    assert isinstance(checked, ToolResult)


@pytest.mark.parametrize("stage", [Stage.ADMIT, Stage.APPROVE, Stage.LIMIT])
@pytest.mark.parametrize("rubbish", [True, False, "no", 0, ValueError("no")])
async def test_a_guard_that_answers_rubbish_refuses(hosted: Any, stage: Stage, rubbish: Any, quiet: Any) -> None:
    ran: list[int] = []
    guard = Guard("odd", stage, lambda *given: rubbish)
    async with hosted(running("inplace", lambda: ran.append(1)), plugins=[_guarding(guard)]) as host:
        result = await host.session().call("it")
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert result.error.details["guard"] == "odd"
    assert not ran


async def test_an_admit_guard_that_is_async_refuses_and_leaves_nothing_unawaited(hosted: Any, quiet: Any) -> None:
    async def check(session: Any) -> None:
        await trio.lowlevel.checkpoint()

    async with hosted(running("inplace", lambda: 1), plugins=[_guarding(Guard("late", "admit", check))]) as host:
        result = await host.session().call("it")
    assert result.error.code is ErrorCode.INTERNAL_ERROR


@pytest.mark.parametrize("what", BREAKS)
async def test_a_validator_that_breaks_refuses_and_nothing_escapes(
    hosted: Any, make_plugin: Any, what: str, quiet: Any
) -> None:
    ran: list[int] = []

    def make_validator(schema: Any) -> Any:
        return raising_validator

    def raising_validator(value: Any) -> Any:
        raise BREAKS[what]()

    async with hosted(
        running("inplace", lambda: ran.append(1)), plugins=[make_plugin("strange", make_validator=make_validator)]
    ) as host:
        result = await answered(host.session().call("it", {"a": 1}))
        checked = host.session().check("it", {"a": 1})
    assert result.error.code is checked.error.code is ErrorCode.INTERNAL_ERROR
    assert not ran


async def test_a_class_of_the_author_that_breaks_on_arguments_is_answered(hosted: Any, quiet: Any) -> None:
    @attrs.frozen
    class Fragile:
        n: int

        def __attrs_post_init__(self) -> None:
            raise SystemExit(1)

    def take(one: Fragile) -> int:
        return one.n

    take.__annotations__["one"] = Fragile
    async with hosted(tool(run="inplace")(take)) as host:
        result = await host.session().call("take", {"one": {"n": 1}})
    assert not result.ok


async def test_a_value_that_fits_the_schema_and_not_its_class_is_invalid_input(hosted: Any) -> None:
    @attrs.frozen
    class Picky:
        n: int = attrs.field(validator=attrs.validators.gt(3))

    def take(one: Picky) -> int:
        return one.n

    take.__annotations__["one"] = Picky
    async with hosted(tool(run="inplace")(take)) as host:
        session = host.session()
        assert (await session.call("take", {"one": {"n": 4}})).data == {"result": 4}
        result = await session.call("take", {"one": {"n": 1}})
        repaired = await session.call("take", {"one": '{"n": 1}'})
    assert result.error.code is repaired.error.code is ErrorCode.INVALID_INPUT
    assert result.error.details["faults"][0]["path"].startswith("one")


async def test_what_was_repaired_is_told_by_an_error_too(hosted: Any, quiet: Any) -> None:
    @tool(run="inplace")
    def fail(n: int) -> None:
        raise ToolError("CONFLICT", "taken")

    async with hosted(fail) as host:
        result = await host.session().call("fail", {"n": "7"})
    assert result.error.code is ErrorCode.CONFLICT
    assert "n" in str(result.error.details["repaired"])


async def test_a_handler_that_cannot_be_inspected_is_answered(hosted: Any, quiet: Any) -> None:
    def circular() -> None: ...

    circular.__wrapped__ = circular  # type: ignore[attr-defined]
    for handler in (max, dict, type, print, circular):
        async with hosted(Tool(name="it", handler=handler, run="inplace")) as host:
            assert isinstance(await host.session().call("it"), ToolResult)
            assert isinstance(host.session().check("it"), ToolResult)


async def test_an_observer_that_breaks_is_not_noticed_by_the_call(
    hosted: Any, make_plugin: Any, listening: Any, ear: Any, quiet: Any
) -> None:
    def observe(outcome: Any) -> None:
        raise SystemExit(1)

    async with hosted(
        running("inplace", lambda: 1), plugins=[make_plugin("broken", provide_observers=[observe]), listening]
    ) as host:
        assert (await host.session().call("it")).ok
        assert host.runtime.failed_observers == {"broken": 1}
    assert ear.said == [("it", "ok", None)]


# the whole promise ----------------------------------------


@attrs.frozen
class Point:
    x: float
    y: float | None = None
    tags: list[str] = attrs.field(factory=list)


def plain(a: float, b: int = 2, text: str = "", flag: bool = False) -> str:
    return f"{a} {b} {text} {flag}"


def records(points: list[Point], by_name: dict[str, Point] | None = None) -> int:
    return len(points)


@pytest.fixture(scope="module")
def any_tools() -> list[Tool]:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}
    return [
        tool(run="inplace")(plain),
        tool(run="inplace")(records),
        Tool(name="schema", handler=lambda **given: given, input_schema=schema, run="inplace"),
        Tool(name="open", handler=lambda **given: given, input_schema={}, run="inplace"),
    ]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=JSON | st.sampled_from(["plain", "records", "schema", "open"]),
    arguments=JSON
    | st.dictionaries(st.sampled_from(["a", "b", "text", "flag", "points", "by_name", "n"]), JSON, max_size=4),
    call_id=JSON,
    timed=st.booleans(),
)
def test_any_json_from_a_model_is_answered_by_a_result(
    hosted: Any, any_tools: list[Tool], name: Any, arguments: Any, call_id: Any, timed: bool
) -> None:
    """Any JSON value as name, arguments and id yields a `ToolResult` that is JSON itself, changes nothing of what was
    given, and agrees with `check` on what is INVALID_INPUT."""
    before = json.dumps([name, arguments])

    async def main() -> None:
        async with hosted(*any_tools) as host:
            session = host.session()
            result = await session.call(name, arguments, id=call_id, timeout_s=5 if timed else None)
            checked = session.check(name, arguments)
        assert isinstance(result, ToolResult)
        json.dumps(result.to_json(), allow_nan=False)
        assert isinstance(result.id, str)
        if isinstance(id_of(call_id), ToolError):
            assert result.error.code is ErrorCode.INVALID_INPUT
        elif result.error is not None:
            assert result.error.code in (ErrorCode.INVALID_INPUT, ErrorCode.NOT_FOUND)
            assert checked.error.code is result.error.code
        else:
            assert checked.ok

    trio.run(main)
    assert json.dumps([name, arguments]) == before


async def test_a_name_of_any_size_and_depth_is_answered(hosted: Any) -> None:
    async with hosted(running("inplace", lambda: 1)) as host:
        session = host.session()
        for name in ("x" * 10_000_000, deep(), {"a": deep()}, float("nan"), "\ud800", b"it", None):
            result = await session.call(name)
            assert result.error.code in (ErrorCode.NOT_FOUND, ErrorCode.INVALID_INPUT)
            assert len(result.text) < 500
            assert not session.check(name).ok


@pytest.mark.unmeasured
async def test_arguments_that_no_json_brought_are_answered(hosted: Any, any_tools: list[Tool], quiet: Any) -> None:
    async with hosted(*any_tools) as host:
        session = host.session()
        for value in (
            float("nan"),
            10**5000,
            deep(),
            circle(),
            Odd(),
            b"x",
            {1: 2},
            {"a": Odd()},
            "\ud800",
            {"\ud800"},
        ):
            for name in ("plain", "records", "schema"):
                for arguments in (value, {"a": value}, {"points": [value]}, {"n": value}):
                    result = await session.call(name, arguments)
                    assert result.error.code is ErrorCode.INVALID_INPUT, (name, arguments)
