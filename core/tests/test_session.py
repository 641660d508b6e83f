"""A session: who calls, what they see, and what a call leaves as it was."""

from __future__ import annotations

import copy
import enum
from typing import Any

import pytest
import trio
import trio.testing

from pegboard import CallContext, ErrorCode, Tool, ToolError, open_host, tool


@tool(run="inplace", read_only=True)
def add(a: float, b: float) -> float:
    return a + b


async def test_a_call_is_answered_with_its_id_name_and_duration(hosted: Any) -> None:
    async with hosted(add) as host:
        session = host.session()
        result = await session.call("add", {"a": 1, "b": 2}, id="mine")
        drawn = {(await session.call("add", {"a": 1, "b": 2})).id for _ in range(50)}
    assert (result.id, result.name, result.text, result.data) == ("mine", "add", "3.0", {"result": 3.0})
    assert 0 < result.duration_ms < 1000
    assert len(drawn) == 50


async def test_every_way_out_carries_id_name_and_duration(hosted: Any) -> None:
    fails = Tool(name="fails", handler=lambda: 1 / 0, run="inplace")
    async with hosted(add, fails) as host:
        session = host.session()
        calls = [("add", {"a": "x"}), ("nope", {}), ("fails", {}), ("add", {"a": 1, "b": 2})]
        for name, arguments in calls:
            for timeout_s in (None, 5):
                result = await session.call(name, arguments, id="mine", timeout_s=timeout_s)
                assert (result.id, result.name) == ("mine", name)
                assert result.duration_ms > 0


async def test_an_unknown_name_is_answered_with_near_ones_that_this_session_sees(hosted: Any) -> None:
    secret = Tool(name="adder", handler=lambda: 1, run="inplace")
    async with hosted(add, secret, config={"profiles": {"few": {"tools": ["add"]}}}) as host:
        result = await host.session(profile="few").call("addd")
        assert result.error.code is ErrorCode.NOT_FOUND
        assert result.error.details == {"near": ["add"], "retry": "changed"}
        assert "did you mean 'add'?" in result.text
        assert (await host.session(profile="few").call("adder")).error.code is ErrorCode.NOT_FOUND
        assert (await host.session().call("adder")).ok


async def test_a_name_may_be_an_enum_of_texts(hosted: Any) -> None:
    class Names(enum.StrEnum):
        ADD = "add"

    async with hosted(add) as host:
        assert (await host.session().call(Names.ADD, {"a": 1, "b": 2})).data == {"result": 3.0}


async def test_arguments_are_never_changed(hosted: Any) -> None:
    """Defaults, repairs and structuring leave what the caller gave as it was."""

    @tool(run="inplace")
    def take(items: list[dict[str, int]], more: list[int] | None = None, other: list[str] = ["x"]) -> int:  # noqa: B006
        items.append({})
        other.append("y")
        if more is not None:
            more.clear()
        return len(other)

    async with hosted(take) as host:
        session = host.session()
        for arguments in (
            {"items": [{"a": 1}]},
            {"items": [{"a": 1}], "more": [1, 2]},
            {"items": '[{"a": 1}]'},
            {"items": [{"a": "1"}], "more": "[1]"},
            {"items": 5},
        ):
            before = copy.deepcopy(arguments)
            result = await session.call("take", arguments)
            await session.call("take", arguments, timeout_s=5)
            session.check("take", arguments)
            assert arguments == before
            assert result.data in ({"result": 2}, None)


async def test_every_fault_is_told_at_once(hosted: Any) -> None:
    async with hosted(add) as host:
        result = await host.session().call("add", {"a": "x", "c": 1})
    faults = result.error.details["faults"]
    assert {fault["path"] for fault in faults} >= {"a"}
    assert len(faults) == 3
    assert result.error.details["retry"] == "changed"
    assert "true" not in result.text


async def test_many_faults_are_shown_in_part_and_listed_in_full(hosted: Any) -> None:
    @tool(run="inplace")
    def take(items: list[int]) -> None: ...

    async with hosted(take) as host:
        result = await host.session().call("take", {"items": ["x"] * 30})
    assert len(result.error.details["faults"]) >= 10
    assert result.text.count("expected") <= 11


async def test_a_tool_that_is_disabled_says_so(hosted: Any) -> None:
    async with hosted(add) as host:
        host.disable("add")
        result = await host.session().call("add", {"a": 1, "b": 2})
    assert result.error.code is ErrorCode.FORBIDDEN
    assert result.error.details["reason"] == "disabled"


async def test_tools_are_listed_page_by_page(hosted: Any) -> None:
    tools = [Tool(name=f"t{n:03}", handler=lambda: 1, run="inplace") for n in range(25)]
    async with hosted(*tools) as host:
        session = host.session()
        seen: list[str] = []
        cursor = None
        while True:
            page = session.list_tools(cursor, limit=10)
            seen += [one.name for one in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == sorted(one.name for one in tools) == sorted(session.tools)


async def test_progress_goes_to_whoever_listens_or_nowhere(hosted: Any) -> None:
    heard: list[Any] = []

    @tool
    async def work(context: CallContext) -> None:
        await context.progress(1, 3, "one")
        await context.progress(2)

    async def hear(*said: Any) -> None:
        heard.append(said)

    async with hosted(work) as host:
        assert (await host.session(on_progress=hear).call("work", id="mine")).ok
        assert (await host.session().call("work")).ok
    assert heard == [("mine", 1, 3, "one"), ("mine", 2, None, None)]


async def test_progress_that_has_no_json_form_is_not_told(hosted: Any) -> None:
    """A client of MCP was sent `null` in the place of a number, and an integer of 400 digits ended the call."""
    heard: list[Any] = []

    @tool
    async def work(context: CallContext) -> None:
        for odd in (float("nan"), float("inf"), float("-inf"), 10**400):
            await context.progress(odd, 3, "none")
            await context.progress(1, odd, "one")

    async def hear(*said: Any) -> None:
        heard.append(said)

    async with hosted(work) as host:
        assert (await host.session(on_progress=hear).call("work", id="mine")).ok
    assert heard == [("mine", 1, None, "one")] * 4


async def test_a_context_names_the_call_the_tool_and_the_session(hosted: Any) -> None:
    import attrs

    @attrs.frozen
    class Allowed:
        paths: tuple[str, ...] = ("./",)

    seen: list[Any] = []

    @tool(permissions=Allowed)
    async def look(context: CallContext) -> None:
        seen.append(context)
        assert context.secrets_read == ()

    async with hosted(look, config={"tools": {"look": {"paths": ["./out"]}}}) as host:
        session = host.session("ada")
        await session.call("look", id="mine")
    context = seen[0]
    assert context.session is session
    assert (context.call_id, context.tool.name, context.depth) == ("mine", "look", 0)
    assert context.permissions == Allowed(("./out",))
    assert repr(context) == "<CallContext mine of look>"
    assert session.can_ask is False
    assert (session.user_id, session.channel, session.profile) == ("ada", "program", None)


async def test_a_refused_line_is_a_result_and_is_heard(hosted: Any, listening: Any, ear: Any) -> None:
    async with hosted(plugins=[listening]) as host:
        result = host.session().refuse_line(ToolError("INVALID_INPUT", "no JSON", line=3), id="7", name="x", line="{")
    assert (result.id, result.name, result.error.details["line"]) == ("7", "x", 3)
    assert ear.outcomes[0].call.arguments == "{"


def test_an_unknown_profile_is_refused_with_a_near_one(make_plugin: Any) -> None:
    from pegboard import ConfigError, load_board

    board = load_board({"profiles": {"reader": {}}}, [])
    with pytest.raises(ConfigError, match="no profile 'raeder'") as caught:
        board.visible_tools("raeder")
    assert caught.value.hint == "did you mean 'reader'?"
    with pytest.raises(ConfigError) as caught:
        load_board({}, []).visible_tools("reader")
    assert caught.value.hint == "write one: [profiles.NAME]"


async def test_near_names_are_found_among_thousands_by_their_beginning():
    async with open_host({}, []) as host:
        host.add(
            *(Tool(name=f"tool_{number}", handler=print) for number in range(2_000)), Tool(name="zebra", handler=print)
        )
        error = (await host.session().call("zebar")).error
    assert error.details["near"] == ["zebra"]


@pytest.mark.parametrize(
    ("said", "asked", "answer"),
    [
        ({"a": 1}, {"schema": {}}, {"a": 1}),
        (True, {"schema": {}}, False),
        (None, {"schema": {}}, None),
        (True, {}, True),
        ("session", {"url": "https://example.org"}, True),
        (False, {}, False),
        (None, {}, None),
    ],
)
async def test_a_person_is_asked_for_more_than_a_yes(hosted: Any, said: Any, asked: Any, answer: Any) -> None:
    @tool
    def ship() -> None:
        """Ship it."""

    async def confirm(question: Any) -> Any:
        assert (question.question, question.schema, question.url) == ("Where?", asked.get("schema"), asked.get("url"))
        return said

    async with hosted(ship) as host:
        assert await host.session(confirm=confirm).elicit(host.tools["ship"], "Where?", **asked) == answer
        with pytest.raises(ToolError, match="nobody to ask"):
            await host.session().elicit(host.tools["ship"], "Where?", **asked)


async def test_a_person_may_take_their_time_over_a_scope_that_is_held(hosted: Any, autojump_clock: Any) -> None:
    @tool
    def ship() -> None:
        """Ship it."""

    async def confirm(question: Any) -> bool:
        await trio.sleep(50)
        return True

    async with hosted(ship) as host:
        session = host.session(confirm=confirm)
        assert session.host is host
        with trio.move_on_after(10) as scope, session.hold_while_asked(scope):
            await trio.sleep(4)
            async with trio.open_nursery() as nursery:  # two questions, of which one is longer in hand
                nursery.start_soon(session.ask, host.tools["ship"], {}, "Ship?")
                await trio.sleep(20)
                nursery.start_soon(session.elicit, host.tools["ship"], "Where?")
            assert scope.deadline == trio.current_time() + 6
            await trio.sleep(9)
        assert scope.cancelled_caught
        assert trio.current_time() == pytest.approx(80, abs=1)
        await session.ask(host.tools["ship"], {}, "Ship?")
        assert scope.deadline < trio.current_time(), "it is held no more"


async def test_a_scope_that_begins_or_ends_while_a_person_is_asked_keeps_its_time(
    hosted: Any, autojump_clock: Any
) -> None:
    @tool
    def ship() -> None:
        """Ship it."""

    async def confirm(question: Any) -> bool:
        await trio.sleep(50)
        return True

    async with hosted(ship) as host, trio.open_nursery() as nursery:
        session = host.session(confirm=confirm)
        nursery.start_soon(session.ask, host.tools["ship"], {}, "Ship?")
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(10) as scope:
            with session.hold_while_asked(scope):
                await trio.sleep(30)
            assert scope.deadline == trio.current_time() + 10
        assert not scope.cancelled_caught


async def test_a_tool_has_its_time_while_the_call_that_it_makes_is_approved(hosted: Any, autojump_clock: Any) -> None:
    @tool(requires_confirmation=True, run="inplace")
    def erase() -> str:
        """Erase."""
        return "erased"

    @tool(timeout_s=5)
    async def clean(context: CallContext) -> str:
        """Clean up."""
        return (await context.call("erase")).text

    async def confirm(question: Any) -> bool:
        await trio.sleep(50)
        return True

    async with hosted(erase, clean) as host:
        result = await host.session(confirm=confirm).call("clean")
        assert result.text == "erased"


async def test_only_what_runs_in_place_behind_nothing_that_waits_is_known_not_to(hosted: Any) -> None:
    @tool(run="inplace", rate_limit="9/second")
    def limited() -> None:
        """Wait perhaps."""

    @tool
    def threaded() -> None:
        """Wait for a thread."""

    async with hosted(add, limited, threaded) as host:
        session = host.session()
        assert session.may_wait("add"), "it was never called"
        for name in ("add", "limited", "threaded"):
            await session.call(name, {"a": 1, "b": 1} if name == "add" else {})
        assert [session.may_wait(name) for name in ("add", "limited", "threaded", "nope")] == [False, True, True, True]
        host.disable("threaded")
        assert not session.may_wait("threaded"), "it is refused at once"


@pytest.mark.parametrize("timeout_s", [None, 60])
@pytest.mark.parametrize("is_observed", [False, True])
async def test_no_other_task_runs_between_a_call_and_its_tool(
    hosted: Any, timeout_s: float | None, is_observed: bool
) -> None:
    ran: list[int] = []
    called: list[int] = []

    @tool(run="inplace", parallel=True)
    def note(number: int) -> None:
        """Note a number."""
        ran.append(number)

    async with hosted(note) as host:
        session = host.session()
        if is_observed:
            host.add_observer(lambda outcome: None)

        async def caller(number: int) -> None:
            host.last_checkpoint = 0.0  # long ago, as on a machine that is busy
            called.append(number)
            await session.call("note", {"number": number}, timeout_s=timeout_s)

        async with trio.open_nursery() as nursery:
            for number in range(50):
                nursery.start_soon(caller, number)
    assert ran == called


@pytest.mark.parametrize("timeout_s", [None, 60])
async def test_a_call_in_a_cancelled_scope_does_not_begin(hosted: Any, timeout_s: float | None) -> None:
    ran: list[int] = []
    count = Tool(name="count", handler=lambda: ran.append(1), run="inplace")
    async with hosted(count) as host:
        with trio.CancelScope() as scope:
            scope.cancel()
            host.last_checkpoint = 0.0
            await host.session().call("count", timeout_s=timeout_s)
    assert scope.cancelled_caught
    assert not ran


async def test_the_answer_of_a_tool_is_not_lost_to_a_cancellation_while_it_ran(hosted: Any) -> None:
    result = None
    with trio.CancelScope() as scope:
        leave = Tool(name="leave", handler=lambda: scope.cancel(), run="inplace")
        async with hosted(leave) as host:
            host.last_checkpoint = 0.0
            result = await host.session().call("leave")
    assert result is not None
    assert result.ok
