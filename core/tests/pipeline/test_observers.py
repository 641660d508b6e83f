"""What observers hear: the beginning, the end, who called whom, and how long each stage took."""

from __future__ import annotations

import contextlib
import contextvars
import copy
import threading
from typing import Any

import attrs
import pytest
import trio

from pegboard import (
    CallContext,
    ErrorCode,
    Guard,
    Outcome,
    PluginError,
    Stage,
    Timings,
    ToolCall,
    ToolError,
    Unobserved,
    tool,
)

current: contextvars.ContextVar[str] = contextvars.ContextVar("current", default="nothing")


class Listener:
    """An observer that hears beginnings: each sets a context variable, and gives what takes it back."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, str | None, str | None]] = []
        self.outcomes: list[Any] = []

    def begin(self, call: Any, session: Any, tool: Any, parent_id: str | None) -> Any:
        self.begun.append((call.name, None if tool is None else tool.name, parent_id))
        return current.set(call.id)

    def __call__(self, outcome: Any) -> None:
        if outcome.token is not None:
            current.reset(outcome.token)
        self.outcomes.append(outcome)


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def observed(hosted: Any, make_plugin: Any, listener: Listener) -> Any:
    """`hosted` with the listener, and whatever plugins more."""

    def open_one(*tools: Any, plugins: Any = (), **more: Any) -> Any:
        return hosted(*tools, plugins=[make_plugin("listens", provide_observers=[listener]), *plugins], **more)

    return open_one


@tool(run="inplace", read_only=True)
def in_place() -> str:
    """Say what is current."""
    return current.get()


@tool(read_only=True)
async def in_the_loop() -> str:
    """Say what is current."""
    await trio.lowlevel.checkpoint()
    return current.get()


@tool(run="thread", read_only=True)
def in_a_thread() -> str:
    """Say what is current."""
    return current.get()


@pytest.mark.parametrize("one", [in_place, in_the_loop, in_a_thread], ids=lambda one: one.name)
async def test_what_begin_sets_is_seen_by_the_handler_and_not_after_the_call(
    observed: Any, listener: Listener, one: Any
) -> None:
    async with observed(one) as host:
        session = host.session()
        for call_id in ("first", "second"):
            assert (await session.call(one.name, id=call_id)).data == {"result": call_id}
            assert current.get() == "nothing"
    assert listener.begun == [(one.name, one.name, None)] * 2


async def test_calls_that_overlap_see_each_its_own_beginning(observed: Any) -> None:
    @tool(read_only=True)
    async def wait() -> str:
        before = current.get()
        for _ in range(5):
            await trio.lowlevel.checkpoint()
        assert current.get() == before
        return before

    async with observed(wait) as host:
        calls = [{"id": f"c{number}", "name": "wait", "arguments": {}} for number in range(20)]
        results = await host.session().call_many(calls)
    assert [one.data["result"] for one in results] == [f"c{number}" for number in range(20)]


async def test_a_nested_call_has_its_parent(observed: Any, listener: Listener) -> None:
    @tool
    async def outer(context: CallContext) -> str:
        inner = await context.call("in_the_loop")
        return inner.text

    async with observed(outer, in_the_loop) as host:
        assert (await host.session().call("outer", id="above")).ok
    assert listener.begun == [("outer", "outer", None), ("in_the_loop", "in_the_loop", "above")]
    inner, above = listener.outcomes
    assert (inner.parent_id, above.parent_id, above.call.id) == ("above", None, "above")


@pytest.mark.parametrize("first", [field.name for field in attrs.fields(Outcome)])
@pytest.mark.parametrize("begins", [False, True])
async def test_an_outcome_is_whole_whichever_part_is_read_first(
    hosted: Any, make_plugin: Any, first: str, begins: bool
) -> None:
    """Its parts are made when one is read: also later, in another thread, and of a copy; each is made once."""
    kept: list[Outcome] = []
    begun: list[Any] = []

    class Begins:
        def begin(self, call: Any, session: Any, tool: Any, parent_id: str | None) -> str:
            begun.append(call)
            return "mine"

        def __call__(self, outcome: Outcome) -> None:
            kept.append(outcome)

    plugin = make_plugin("listens", provide_observers=[Begins() if begins else kept.append])
    async with hosted(in_place, plugins=[plugin]) as host:
        session = host.session()
        given = {"unknown": 1}
        result = await session.call("in_place", given, id="this")
    (outcome,) = kept
    await trio.to_thread.run_sync(getattr, outcome, first)
    for one in (outcome, copy.copy(outcome), attrs.evolve(outcome)):
        assert type(one) is type(outcome) or type(one) is Outcome
        assert (one.call.id, one.call.name, one.call.arguments) == ("this", "in_place", given)
        assert (one.session, one.tool, one.result, one.status) == (session, host.tools["in_place"], result, "error")
        assert (one.verdicts, one.parent_id, one.token) == ((), None, "mine" if begins else None)
        assert one.timings["validate"] > 0
        assert one.duration_ms >= result.duration_ms
    assert isinstance(outcome, Outcome)
    assert outcome.call is outcome.call
    assert not begun or outcome.call is begun[0]
    assert "ToolCall(id='this'" in repr(outcome)
    with pytest.raises(AttributeError, match="durations"):
        outcome.durations  # noqa: B018


@pytest.mark.parametrize("how", ["absent", "refused", "invalid", "deadline", "cancelled"])
async def test_whatever_begins_ends(observed: Any, listener: Listener, make_plugin: Any, how: str) -> None:
    """Every beginning that was heard has its outcome, with its token."""

    @tool(timeout_s=0.01)
    async def slow(number: int) -> None:
        await trio.sleep_forever()

    def refuse(session: Any) -> ToolError:
        return ToolError(ErrorCode.FORBIDDEN, "no")

    guards = [Guard("strict", Stage.ADMIT, refuse)] if how == "refused" else []
    async with observed(slow, plugins=[make_plugin("strict", make_guards=guards)]) as host:
        with trio.move_on_after(0 if how == "cancelled" else float("inf")):
            name = "absent" if how == "absent" else "slow"
            await host.session().call(name, {"number": "x" if how == "invalid" else 1})
        assert current.get() == "nothing"
    assert len(listener.begun) == len(listener.outcomes) == 1
    assert listener.outcomes[0].status == ("cancelled" if how == "cancelled" else "error")


async def test_an_observer_whose_beginning_fails_loses_itself_alone(
    observed: Any, make_plugin: Any, listener: Listener, caplog: Any
) -> None:
    heard: list[Any] = []

    class Broken:
        def begin(self, call: Any, session: Any, tool: Any, parent_id: Any) -> Any:
            raise SystemExit(1)

        def __call__(self, outcome: Any) -> None:
            heard.append(outcome.token)

    plain: list[Any] = []
    plugins = [
        make_plugin("broken", provide_observers=[Broken()]),
        make_plugin("plain", provide_observers=[lambda outcome: plain.append(outcome.token)]),
    ]
    async with observed(in_place, plugins=plugins) as host:
        assert (await host.session().call("in_place", id="one")).data == {"result": "one"}
        assert host.runtime.failed_observers == {"broken": 1}
    assert heard == plain == [None]
    assert "an observer of plugin broken failed" in caplog.text
    assert listener.outcomes[0].token is not None


# calls whose outcome nobody wants ------------------------------


class Sampler(Listener):
    """Wants the outcomes of calls whose id says so."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[str] = []

    def begin(self, call: Any, session: Any, tool: Any, parent_id: str | None) -> Any:
        token = super().begin(call, session, tool, parent_id)
        if call.id.startswith("wanted"):
            return token
        sampler = self

        class Passed(Unobserved):
            def end(self) -> None:
                current.reset(token)
                sampler.ended.append(call.id)

        return Passed()


class EarlySampler(Sampler):
    """Wants no outcome, and says so before it is told of a call."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def unobserved(self) -> Any:
        self.asked += 1
        return super().begin(ToolCall("early", "early"), None, None, None)

    def begin(self, call: Any, *about: Any) -> Any:
        assert call.name != "in_place", "it has said already that it does not want the call"
        return super().begin(call, *about)


samplers = pytest.mark.parametrize("make_sampler", [Sampler, EarlySampler])


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call is late for a checkpoint, however busy the machine is: such a call is begun at once."""
    monkeypatch.setattr("pegboard._session.CHECKPOINT_S", float("inf"))


@pytest.fixture
def no_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever makes an outcome, or measures for one, fails."""

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("made for nobody")

    monkeypatch.setattr("pegboard._session.Heard", never)
    monkeypatch.setattr("pegboard._session.Trace", never)


@pytest.mark.usefixtures("_quick")
@samplers
@pytest.mark.parametrize("one", [in_place, in_the_loop, in_a_thread], ids=lambda one: one.name)
async def test_of_a_call_that_nobody_wants_nothing_is_made_and_its_beginning_is_taken_back(
    hosted: Any, make_plugin: Any, one: Any, no_outcomes: None, make_sampler: type[Sampler]
) -> None:
    sampler = make_sampler()
    async with hosted(one, plugins=[make_plugin("samples", provide_observers=[sampler])]) as host:
        result = await host.session().call(one.name, id="other")
        assert result.data == {"result": sampler.ended[0]}
        assert current.get() == "nothing"
        assert not host.runtime.failed_observers
    assert (len(sampler.ended), sampler.outcomes) == (1, [])


async def test_one_that_does_not_want_a_call_takes_it_from_nobody_else(
    observed: Any, make_plugin: Any, listener: Listener
) -> None:
    sampler = Sampler()
    async with observed(in_place, plugins=[make_plugin("samples", provide_observers=[sampler])]) as host:
        for call_id in ("other", "wanted"):
            assert (await host.session().call("in_place", id=call_id)).ok
    assert sampler.ended == ["other"]
    assert [one.call.id for one in sampler.outcomes] == ["wanted"]
    assert [one.call.id for one in listener.outcomes] == ["other", "wanted"]


@pytest.mark.usefixtures("_quick")
@samplers
@pytest.mark.parametrize("how", ["absent", "invalid", "deadline", "cancelled", "nested"])
async def test_a_call_that_nobody_wants_ends_once_however_it_ends(
    hosted: Any, make_plugin: Any, how: str, make_sampler: type[Sampler]
) -> None:
    @tool
    async def slow(number: int) -> None:
        await trio.sleep_forever()

    @tool
    async def outer(context: CallContext) -> str:
        return (await context.call("in_the_loop")).text

    sampler = make_sampler()
    plugins = [make_plugin("samples", provide_observers=[sampler])]
    async with hosted(slow, outer, in_the_loop, plugins=plugins) as host:
        with trio.move_on_after(0 if how == "cancelled" else float("inf")):
            name = {"absent": "absent", "nested": "outer"}.get(how, "slow")
            arguments = {} if how == "nested" else {"number": "x" if how == "invalid" else 1}
            await host.session().call(name, arguments, id="it", timeout_s=0.01 if how == "deadline" else None)
        assert current.get() == "nothing"
        assert not host.runtime.failed_observers
    assert len(sampler.ended) == len(sampler.begun) == (2 if how == "nested" else 1)
    assert sampler.outcomes == []


async def test_of_several_observers_each_hears_the_beginning(
    observed: Any, make_plugin: Any, listener: Listener
) -> None:
    sampler = EarlySampler()
    async with observed(in_the_loop, plugins=[make_plugin("samples", provide_observers=[sampler])]) as host:
        assert (await host.session().call("in_the_loop", id="other")).ok
    assert (sampler.asked, sampler.ended, len(listener.outcomes)) == (0, ["other"], 1)


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("gives", [SystemExit(1), True, "an id"], ids=repr)
async def test_who_cannot_say_whether_it_wants_a_call_hears_it(
    hosted: Any, make_plugin: Any, caplog: Any, gives: Any
) -> None:
    class Early(Listener):
        def unobserved(self) -> Any:
            if isinstance(gives, BaseException):
                raise gives
            return gives

    early = Early()
    async with hosted(in_place, plugins=[make_plugin("early", provide_observers=[early])]) as host:
        assert (await host.session().call("in_place")).ok
        assert host.runtime.failed_observers == {"early": 1}
    assert len(early.outcomes) == 1
    assert "an observer of plugin early failed" in caplog.text


async def test_an_end_that_raises_loses_its_observer_alone(hosted: Any, make_plugin: Any, caplog: Any) -> None:
    class Broken(Unobserved):
        def end(self) -> None:
            raise SystemExit(1)

    class Observer:
        def begin(self, *_: Any) -> Any:
            return Broken()

        def __call__(self, outcome: Any) -> None:
            raise AssertionError

    async with hosted(in_place, plugins=[make_plugin("broken", provide_observers=[Observer()])]) as host:
        assert (await host.session().call("in_place")).ok
        assert host.runtime.failed_observers == {"broken": 1}
    assert "an observer of plugin broken failed" in caplog.text


# figures that belong to no call --------------------------------


async def test_a_figure_is_heard_by_who_measures_and_one_that_raises_loses_itself_alone(
    observed: Any, make_plugin: Any, caplog: Any
) -> None:
    heard: list[Any] = []

    class Measuring:
        def __init__(self, measure: Any) -> None:
            self.measure = measure

        def __call__(self, outcome: Any) -> None: ...

    def fail(*_: Any) -> None:
        raise SystemExit(1)

    observers = [Measuring(fail), Measuring(lambda *given: heard.append(given))]
    async with observed(plugins=[make_plugin("measures", provide_observers=observers)]) as host:
        host.measure("mcp.server.session.duration", 1.5, {"network.transport": "pipe"})
        assert host.runtime.failed_observers == {"measures": 1}
    assert heard == [("mcp.server.session.duration", 1.5, {"network.transport": "pipe"})]
    assert "an observer of plugin measures failed" in caplog.text


# how long each stage took ----------------------------------------


def after(moments: dict[str, float]) -> Timings:
    """Timings whose stages began so many seconds after the first."""
    timings = Timings()
    for stage, at in moments.items():
        setattr(timings, f"{stage}_at", 100 + at)
    return timings


def test_a_stage_lasts_until_the_next_one_that_began() -> None:
    timings = after({"validate": 0, "limit": 0.5, "execute": 0.75, "normalise": 1, "ended": 4})
    assert (
        dict(timings)
        == dict(timings)
        == {
            "admit": 0.0,
            "validate": 500_000.0,
            "approve": 0.0,
            "limit": 250_000.0,
            "queue": 0.0,
            "execute": 250_000.0,
            "normalise": 3_000_000.0,
            "filter": 0.0,
        }
    )
    with pytest.raises(KeyError):
        timings["ended"]


STAGES_OF = {
    "in_place": {"validate", "execute", "normalise"},
    "in_the_loop": {"validate", "execute", "normalise"},
    "in_a_thread": {"validate", "queue", "execute", "normalise"},
}


@pytest.mark.parametrize("one", [in_place, in_the_loop, in_a_thread], ids=lambda one: one.name)
async def test_only_stages_that_a_tool_has_take_time_and_all_fit_into_the_call(
    observed: Any, listener: Listener, one: Any
) -> None:
    async with observed(one) as host:
        await host.session().call(one.name)
    [outcome] = listener.outcomes
    took = {stage: spent for stage, spent in outcome.timings.items() if spent}
    assert set(took) == STAGES_OF[one.name]
    assert sum(took.values()) <= outcome.duration_ms * 1000 + 1


async def test_a_refusal_counts_for_the_stage_that_refused(observed: Any, listener: Listener, make_plugin: Any) -> None:
    for stage in (Stage.ADMIT, Stage.APPROVE, Stage.LIMIT):
        guard = Guard("strict", stage, lambda *given: ToolError(ErrorCode.FORBIDDEN, "no"))
        async with observed(in_place, plugins=[make_plugin("strict", make_guards=[guard])]) as host:
            await host.session().call("in_place")
        timings = listener.outcomes[-1].timings
        assert timings[stage.value] > 0
        assert timings["execute"] == timings["normalise"] == timings["filter"] == 0


async def test_a_thread_that_waits_for_its_place_is_in_the_queue(observed: Any, listener: Listener) -> None:
    gate, at_work = threading.Event(), threading.Event()

    @tool(run="thread", concurrency=1, timeout_s=0.2, read_only=True)
    def hold() -> None:
        at_work.set()
        gate.wait(10)

    async with observed(hold) as host:
        runtime, session = host.runtime, host.session()
        first = await session.call("hold")
        assert first.error.details["still_running"]
        second = await session.call("hold")
        assert second.error.code in (ErrorCode.TIMEOUT, ErrorCode.RATE_LIMITED)
        gate.set()
        while runtime.threads.left_behind:
            await trio.lowlevel.checkpoint()
    ran, waited = (outcome.timings for outcome in listener.outcomes)
    assert ran["execute"] > ran["queue"]
    assert waited["execute"] == 0


async def test_what_never_was_a_call_has_no_beginning_and_no_timings(observed: Any, listener: Listener) -> None:
    async with observed(in_place) as host:
        host.session().refuse_line(ToolError(ErrorCode.INVALID_INPUT, "no call"), id="7")
    assert listener.begun == []
    [outcome] = listener.outcomes
    assert (dict(outcome.timings), outcome.token, outcome.parent_id) == ({}, None, None)


async def test_one_that_comes_while_the_host_runs_hears_whole_calls_and_costs_nothing_afterwards(
    hosted: Any, listener: Listener
) -> None:
    begun, free = trio.Event(), trio.Event()

    @tool
    async def wait_here() -> None:
        """Wait."""
        begun.set()
        await free.wait()

    async with hosted(in_the_loop, wait_here, plugins=[]) as host:
        session = host.session()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.call, "wait_here")  # it began before anybody listened
            await begun.wait()
            stop = host.add_observer(listener)
            assert (await session.call("in_the_loop")).ok
            free.set()
        stop()
        stop()  # once more is not a mistake
        assert (await session.call("in_the_loop")).ok
        assert host.runtime.observers == host.runtime.begins == ()
    assert [one for one, *_ in listener.begun] == ["in_the_loop"]
    assert [outcome.call.name for outcome in listener.outcomes] == ["in_the_loop"]


async def test_each_is_given_its_own_token_whoever_comes_and_goes_meanwhile(hosted: Any) -> None:
    """Tokens go by place, and the places of those that are left change when one goes."""

    class Counting:
        def __init__(self, name: str) -> None:
            self.name = name
            self.heard: list[Any] = []

        def begin(self, *_: Any) -> str:
            return self.name

        def __call__(self, outcome: Any) -> None:
            self.heard.append(outcome.token)

    begun, free = trio.Event(), trio.Event()

    @tool
    async def wait_here() -> None:
        """Wait."""
        begun.set()
        await free.wait()

    first, second, third = map(Counting, ("first", "second", "third"))
    async with hosted(wait_here, plugins=[]) as host:
        stop = host.add_observer(first)
        host.add_observer(second)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(host.session().call, "wait_here")
            await begun.wait()
            stop()
            host.add_observer(third)
            free.set()
    assert (first.heard, second.heard, third.heard) == (["first"], ["second"], [])


async def test_other_work_is_heard_and_ends_once_whatever_becomes_of_it(host_with: Any, make_plugin: Any) -> None:
    heard: list[Any] = []

    class Hears:
        def __call__(self, outcome: Any) -> None: ...

        def span(self, name: str, kind: str, attributes: Any) -> Any:
            heard.append((name, kind, dict(attributes)))
            return lambda found: heard.append(dict(found))

    class Fails(Hears):
        def __init__(self, where: str) -> None:
            self.where = where

        def span(self, name: str, kind: str, attributes: Any) -> Any:
            if self.where == "begin":
                raise ValueError("no")

            def end(found: Any) -> None:
                raise ValueError("no")

            return end

    host = await host_with(make_plugin("hears", provide_observers=lambda: [Fails("begin"), Fails("end"), Hears()]))
    with host.span("work", "client", {"a": 1}) as ended:
        ended["b"] = 2
    assert heard == [("work", "client", {"a": 1}), {"b": 2}]
    heard.clear()
    with pytest.raises(KeyError), host.span("work", "client", {}):
        raise KeyError("x")
    assert heard[1] == {"error.type": "KeyError"}
    assert sum(host.runtime.failed_observers.values()) == 4


async def test_where_nobody_hears_other_work_nothing_is_done_for_it(host_with: Any) -> None:
    host = await host_with()
    with host.span("work", "client", {"a": 1}) as first, host.span("work", "client", {}) as second:
        first["b"] = 2
    assert second == {}
    assert host.runtime.spans == ()


# what would hear nothing ---------------------------------------


async def _async(*_: Any) -> None:
    raise AssertionError


def _generator(*_: Any) -> Any:
    yield


async def _async_generator(*_: Any) -> Any:
    yield


@pytest.mark.parametrize("method", ["__call__", "itself", "begin", "unobserved", "span", "measure"])
@pytest.mark.parametrize("deaf", [_async, _generator, _async_generator, contextlib.contextmanager(_generator)])
async def test_what_nobody_would_await_or_run_is_no_observer(
    hosted: Any, make_plugin: Any, deaf: Any, method: str, caplog: Any
) -> None:
    observer = deaf
    if method != "itself":
        observer = type("Observer", (), {"__call__": lambda *_: None, method: deaf})()
    async with hosted(in_place, plugins=[make_plugin("deaf", provide_observers=[observer])]) as host:
        with pytest.raises(PluginError, match="neither async nor a generator"):
            host.add_observer(observer)
        assert (await host.session().call("in_place")).ok
    assert "neither async nor a generator" in caplog.text


async def test_one_observer_alone_is_told_to_be_a_list(hosted: Any, make_plugin: Any, caplog: Any) -> None:
    async with hosted(in_place, plugins=[make_plugin("one", provide_observers=lambda: print)]):
        assert "expected a list, each of it a callable" in caplog.text
