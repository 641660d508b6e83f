"""The loop: requests, calls, results, budgets, faults, and a conversation that can always go on."""

from __future__ import annotations

import contextlib
from typing import Any

import attrs
import pytest
import trio
import trio.testing
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pegboard_chat.plugin
from pegboard import (
    ErrorCode,
    Guard,
    Stage,
    TextContent,
    ToolCall,
    ToolError,
    ToolResult,
    hookimpl,
    open_host,
    tool,
)
from pegboard_chat import (
    AnswerCut,
    Budget,
    CallEnded,
    CallStarted,
    Chat,
    ChatEnded,
    Conversation,
    ForcedTool,
    Message,
    ModelError,
    Reply,
    RoundEnded,
    Stop,
    TextDelta,
    Usage,
)
from pegboard_chat.events import MAX_WAITING

ran: list[Any] = []


@tool(read_only=True, run="inplace")
def add(a: float, b: float) -> float:
    """Add two numbers."""
    ran.append((a, b))
    return a + b


@tool(read_only=True)
async def wait(seconds: float) -> str:
    """Wait."""
    await trio.sleep(seconds)
    return f"waited {seconds}"


@tool
async def write(text: str) -> str:
    """Write, which may not overlap."""
    ran.append(f"begin {text}")
    await trio.sleep(1)
    ran.append(f"end {text}")
    return text


@tool(requires_confirmation=True)
def erase() -> str:
    """Erase all."""
    return "erased"


@tool(requires_user=True, run="inplace")
def mine() -> str:
    """What is mine."""
    return "yours"


@pytest.fixture
async def host(host_with: Any) -> Any:
    ran.clear()
    host = await host_with(pegboard_chat.plugin)
    host.add(add, wait, write, erase, mine)
    return host


def results_of(chat: Chat) -> list[ToolResult]:
    return [result for message in chat.conversation.messages for result in message.results]


def assert_continuable(conversation: Conversation) -> None:
    """Every call is answered exactly once and in order, directly after its turn."""
    messages = conversation.messages
    for index, message in enumerate(messages):
        if message.calls:
            assert index + 1 < len(messages)
            answer = messages[index + 1]
            assert answer.role == "tool"
            assert [result.id for result in answer.results] == [call.id for call in message.calls]
            assert len({call.id for call in message.calls}) == len(message.calls)
            assert all(call.id for call in message.calls)
        if message.role == "tool":
            assert messages[index - 1].calls
    assert Conversation.from_json(conversation.to_json()).to_json() == conversation.to_json()


# -- a question


async def test_a_question_is_answered_after_its_calls(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted([("add", {"a": 1, "b": 2})], "it is 3")
    model.deltas = [TextDelta("it ")]
    chat = Chat(host, model)
    events = await all_events(chat.ask("what is 1 + 2?"))
    kinds = [type(event) for event in events]
    assert kinds == [TextDelta, RoundEnded, CallStarted, CallEnded, TextDelta, RoundEnded, ChatEnded]
    assert events[3].result.text == "3.0"
    assert events[-1] == ChatEnded("it is 3", Usage(20, 10), None, Stop.END, None)
    assert [message.role for message in chat.conversation.messages] == ["user", "assistant", "tool", "assistant"]
    assert chat.conversation.last_text == "it is 3"
    assert model.open == 0


async def test_the_system_prompt_of_the_settings_is_sent(host_with: Any, scripted: Any, all_events: Any) -> None:
    host = await host_with(pegboard_chat.plugin, config={"plugins": {"chat": {"system": "Be brief."}}})
    model = scripted("ok")
    await all_events(Chat(host, model).ask("?"))
    assert model.requests[0].conversation.system == "Be brief."
    assert model.requests[0].export is None
    assert model.requests[0].tool_choice == "none"


async def test_the_second_question_knows_the_first(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted("one", "two")
    chat = Chat(host, model)
    await all_events(chat.ask("first"))
    await all_events(chat.ask("second"))
    assert [one.text for one in model.requests[1].conversation.messages] == ["first", "one", "second"]
    assert chat.usage == Usage(20, 10)


async def test_a_conversation_goes_on_with_another_model(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted([("add", {"a": 1, "b": 1})], "2"))
    await all_events(chat.ask("1 + 1?"))
    saved = chat.conversation.to_json()
    other = scripted("still 2", name="other:model")
    second = Chat(host, other, conversation=Conversation.from_json(saved))
    await all_events(second.ask("sure?"))
    assert second.conversation.last_text == "still 2"
    assert len(other.requests[0].conversation.messages) == 5


async def test_a_session_says_who_calls_and_a_person_confirms(host: Any, scripted: Any, all_events: Any) -> None:
    asked: list[str] = []

    async def confirm(question: Any) -> bool:
        asked.append(question.tool.name)
        return False

    session = host.session(user_id="ada", channel="chat", confirm=confirm)
    await all_events(Chat(session, scripted([("mine", {}), ("erase", {})], "done")).ask("go"))
    nobody = Chat(host.session(user_id=""), scripted([("mine", {})], "done"))
    await all_events(nobody.ask("go"))
    assert asked == ["erase"]
    assert results_of(nobody)[0].error.code is ErrorCode.UNAUTHORIZED


@pytest.mark.parametrize("content", [(), ("",)])
async def test_nothing_asked_is_refused(host: Any, scripted: Any, content: Any) -> None:
    with pytest.raises(ValueError, match="nothing is asked"):
        Chat(host, scripted("no")).ask(*content)


async def test_one_question_at_a_time(host: Any, scripted: Any) -> None:
    chat = Chat(host, scripted("no"))
    async with chat.ask("first"):
        with pytest.raises(RuntimeError, match="one question at a time"):
            async with chat.ask("second"):
                pass  # pragma: no cover


# -- calls


async def test_calls_that_may_overlap_run_at_once_and_are_answered_in_order(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    calls = [("wait", {"seconds": 3}), ("add", {"a": 1, "b": 1}), ("wait", {"seconds": 1})]
    chat = Chat(host, scripted(calls, "done"))
    began = trio.current_time()
    events = await all_events(chat.ask("go"))
    assert trio.current_time() - began == pytest.approx(3)
    ended = [event.result.text for event in events if isinstance(event, CallEnded)]
    assert ended == ["2.0", "waited 1.0", "waited 3.0"]
    started = [event.call.name for event in events if isinstance(event, CallStarted)]
    assert started == ["wait", "add", "wait"]
    assert [result.text for result in results_of(chat)] == ["waited 3.0", "2.0", "waited 1.0"]


async def test_calls_that_may_not_overlap_run_one_after_the_other(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    chat = Chat(host, scripted([("write", {"text": "a"}), ("write", {"text": "b"})], "done"))
    await all_events(chat.ask("go"))
    assert ran == ["begin a", "end a", "begin b", "end b"]


async def test_results_are_shown_as_they_come(host: Any, scripted: Any, autojump_clock: Any) -> None:
    chat = Chat(host, scripted([("wait", {"seconds": 1}), ("wait", {"seconds": 9})], "done"))
    began = trio.current_time()
    async with chat.ask("go") as events:
        async for event in events:
            if isinstance(event, CallEnded):
                break
        assert trio.current_time() - began == pytest.approx(1)


async def test_an_unknown_tool_is_answered_with_near_names(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted([("ad", {"a": 1})], "done"))
    await all_events(chat.ask("go"))
    assert results_of(chat)[0].error.code is ErrorCode.NOT_FOUND
    assert "add" in results_of(chat)[0].text


async def test_what_is_not_a_valid_call_is_answered_with_its_error(host: Any, scripted: Any, all_events: Any) -> None:
    broken = attrs.evolve(ToolResult.error("INVALID_INPUT", "no JSON at line 1"), id="x", name="add")
    chat = Chat(host, scripted([broken, ("add", {"a": 1, "b": 2})], "done"))
    events = await all_events(chat.ask("go"))
    assert [result.ok for result in results_of(chat)] == [False, True]
    assert [event.call.name for event in events if isinstance(event, CallStarted)] == ["add"]
    assert_continuable(chat.conversation)


async def test_a_call_that_was_cut_at_the_limit_of_tokens_says_so(host: Any, scripted: Any, all_events: Any) -> None:
    broken = attrs.evolve(ToolResult.error("INVALID_INPUT", "half a JSON"), id="x", name="add")
    message = Message("assistant", (), (ToolCall("x", "add", {"INVALID_JSON": '{"a"'}),))
    chat = Chat(host, scripted(Reply(message, (broken,), Usage(), Stop.LENGTH), "done"))
    await all_events(chat.ask("go"))
    assert "half a JSON; it was cut at the limit of output tokens" in results_of(chat)[0].text
    assert results_of(chat)[0].error.details["cut"] is True


async def test_an_answer_that_was_cut_says_so(host: Any, scripted: Any, all_events: Any) -> None:
    reply = Reply(Message("assistant", (TextContent("half of"),)), (), Usage(), Stop.LENGTH)
    events = await all_events(Chat(host, scripted(reply)).ask("go"))
    assert (events[-1].text, events[-1].stop) == ("half of", Stop.LENGTH)


async def test_ids_that_a_model_repeats_or_forgets_are_drawn_anew(host: Any, scripted: Any, all_events: Any) -> None:
    one = {"a": 1, "b": 2}
    model = scripted([("x", "add", one), ("x", "add", one), ("", "add", one), ("x_2", "add", one)], "done")
    chat = Chat(host, model)
    await all_events(chat.ask("go"))
    turn = chat.conversation.messages[1]
    assert len({call.id for call in turn.calls}) == 4
    assert turn.calls[0].id == "x"
    assert turn.calls[3].id == "x_2"
    assert turn.raw is None, "the provider's own turn has the ids that were wrong"
    assert [result.text for result in results_of(chat)] == ["3.0"] * 4
    assert_continuable(chat.conversation)


async def test_ids_that_repeat_ten_thousand_times_take_no_time(
    host: Any, scripted: Any, all_events: Any, in_time: Any
) -> None:
    chat = Chat(host, scripted([("x", "nope", {})] * 10_000, "done"))
    with in_time():
        await all_events(chat.ask("go"))
    assert len({result.id for result in results_of(chat)}) == 10_000


async def test_a_turn_without_faults_keeps_its_raw_form(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted([("add", {"a": 1, "b": 2})], "done"))
    await all_events(chat.ask("go"))
    assert chat.conversation.messages[1].raw == {"said": "1"}


async def test_arguments_of_ten_megabytes_are_refused_and_not_sent_back(
    host: Any, scripted: Any, all_events: Any
) -> None:
    chat = Chat(host, scripted([("add", {"a": {"deep": ["x" * 10_000_000]}}), ("add", {"a": 1, "b": 2})], "done"))
    await all_events(chat.ask("go"))
    first, second = results_of(chat)
    assert first.error.code is ErrorCode.INVALID_INPUT
    assert second.text == "3.0"
    assert len(str(chat.conversation.to_json())) < 10_000
    assert_continuable(chat.conversation)


async def test_a_long_result_is_a_first_page_and_the_rest_can_be_read(
    host: Any, scripted: Any, all_events: Any
) -> None:
    @tool(read_only=True, run="inplace")
    def long() -> str:
        """A long text."""
        return "word " * 50_000

    host.add(long)

    def read_on(request: Any) -> Any:
        cut = request.conversation.messages[-1].results[0]
        assert "read_result" in [one["name"] for one in request.export.definitions]
        return [("read_result", {"id": cut.details["cut"]["id"], "page": 2})]

    model = scripted([("long", {})], read_on, "done")
    chat = Chat(host, model)
    await all_events(chat.ask("go"))
    assert "read_result" not in [one["name"] for one in model.requests[0].export.definitions]
    assert "page 2 of" in results_of(chat)[1].text


async def test_tools_are_compiled_anew_only_where_the_board_changed(host: Any, scripted: Any, all_events: Any) -> None:
    def hang(request: Any) -> Any:
        if "late" not in host.tools:

            @tool(read_only=True, run="inplace")
            def late() -> str:
                """Comes late."""
                return "late"

            host.add(late)
        return [("add", {"a": 1, "b": 1})]

    model = scripted([("add", {"a": 1, "b": 1})], hang, "done")
    await all_events(Chat(host, model).ask("go"))
    first, second, third = (request.export for request in model.requests)
    assert first is second
    assert "late" in [one["name"] for one in third.definitions]


async def test_a_person_is_asked_in_the_order_of_the_calls(host: Any, scripted: Any, all_events: Any) -> None:
    @tool(parallel=True, requires_confirmation=True)
    async def wipe(disk: int) -> None:
        """Wipe."""

    asked: list[int] = []

    async def confirm(confirmation: Any) -> bool:
        asked.append(confirmation.arguments["disk"])
        await trio.lowlevel.checkpoint()
        return True

    host.add(wipe)
    host.last_checkpoint = 0.0  # a call would let others run before it begins
    model = scripted([("wipe", {"disk": n}) for n in range(3)], "done")
    await all_events(Chat(host.session(confirm=confirm), model).ask("go"))
    assert asked == [0, 1, 2]


async def test_many_calls_that_wait_run_at_once(host: Any, scripted: Any, all_events: Any, autojump_clock: Any) -> None:
    model = scripted([("wait", {"seconds": 2})] * 200, "done")
    began = trio.current_time()
    chat = Chat(host, model, budget=Budget(max_tool_calls=200))
    await all_events(chat.ask("go"))
    assert trio.current_time() - began == pytest.approx(2)
    assert all(result.ok for result in results_of(chat))


@pytest.mark.parametrize("turns", [1, 2])
async def test_calls_that_run_in_place_wait_at_once_for_a_guard_that_waits(
    host_with: Any, scripted: Any, all_events: Any, autojump_clock: Any, turns: int
) -> None:
    class Judge:
        name = "judge"

        @hookimpl
        def make_guards(self, tool: Any) -> Guard:
            async def check(context: Any, arguments: Any) -> None:
                await trio.sleep(1)

            return Guard("judge", Stage.APPROVE, check)

    host = await host_with(pegboard_chat.plugin, Judge())
    host.add(add)
    began = trio.current_time()
    chat = Chat(host, scripted(*[[("add", {"a": n, "b": 0}) for n in range(5)]] * turns, "done"), budget=Budget(20))
    await all_events(chat.ask("go"))
    assert [result.data["result"] for result in results_of(chat)] == [0, 1, 2, 3, 4] * turns
    assert trio.current_time() - began == pytest.approx(turns)


async def test_an_answer_that_says_nothing_is_not_kept(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted("", "now"))
    events = await all_events(chat.ask("go"))
    assert events[-1].text == ""
    assert [message.role for message in chat.conversation.messages] == ["user"]
    assert (await all_events(chat.go_on()))[-1].text == "now"


# -- what was asked of the model is checked


async def test_one_call_a_turn_where_no_more_are_wanted(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted([("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": 4})], "done")
    chat = Chat(host, model, parallel=False)
    await all_events(chat.ask("go"))
    first, second = results_of(chat)
    assert first.ok
    assert second.error.details["reason"] == "parallel"
    assert ran == [(1.0, 2.0)]
    assert model.requests[0].parallel is False


async def test_a_forced_tool_is_insisted_on_and_then_the_model_is_free(
    host: Any, scripted: Any, all_events: Any
) -> None:
    model = scripted([("wait", {"seconds": 0})], [("add", {"a": 1, "b": 2})], "done")
    chat = Chat(host, model)
    events = await all_events(chat.ask("go", tool_choice=ForcedTool("add")))
    assert [request.tool_choice for request in model.requests] == [ForcedTool("add"), ForcedTool("add"), "auto"]
    assert results_of(chat)[0].error.details["reason"] == "tool_choice"
    assert events[-1].reason is None


@pytest.mark.parametrize("choice", ["required", ForcedTool("add")])
async def test_an_answer_without_the_call_that_was_expected_says_so(
    host: Any, scripted: Any, all_events: Any, choice: Any
) -> None:
    events = await all_events(Chat(host, scripted("no")).ask("go", tool_choice=choice))
    assert events[-1].reason == "tool_choice"


async def test_a_forced_tool_that_is_not_there_is_refused_at_once(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted("no")
    with pytest.raises(ToolError, match="no tool 'nope'"):
        await all_events(Chat(host, model).ask("go", tool_choice=ForcedTool("nope")))
    assert model.requests == []


async def test_calls_of_a_conversation_have_tools_where_none_is_offered(
    host: Any, scripted: Any, all_events: Any
) -> None:
    chat = Chat(host, scripted([("add", {"a": 1, "b": 2}), ("", {}), ("x" * 999, {})], "3"))
    await all_events(chat.ask("1 + 2?"))
    model = scripted([("add", {"a": 1, "b": 2})], "done")
    without = Chat(host, model, conversation=chat.conversation, tools=())
    await all_events(without.ask("again?"))
    assert [one["name"] for one in model.requests[0].export.definitions] == ["add"]
    assert [request.tool_choice for request in model.requests] == ["none", "none"]
    assert results_of(without)[-1].error.details["reason"] == "tools"


async def test_a_required_call_is_required_once(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted([("add", {"a": 1, "b": 2})], "done")
    await all_events(Chat(host, model).ask("go", tool_choice="required"))
    assert [request.tool_choice for request in model.requests] == ["required", "auto"]


async def test_calls_of_a_model_that_may_call_nothing_do_not_run(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted([("add", {"a": 1, "b": 2})], "done"))
    await all_events(chat.ask("go", tool_choice="none"))
    assert results_of(chat)[0].error.details["reason"] == "tool_choice"
    assert ran == []


async def test_only_named_tools_are_offered_and_run(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted([("add", {"a": 1, "b": 2}), ("wait", {"seconds": 0})], "done")
    chat = Chat(host, model, tools=["wait"])
    await all_events(chat.ask("go"))
    assert [one["name"] for one in model.requests[0].export.definitions] == ["wait"]
    assert results_of(chat)[0].error.details["reason"] == "tools"
    assert results_of(chat)[1].ok


async def test_a_long_result_can_be_read_on_where_only_some_tools_are_named(
    host: Any, scripted: Any, all_events: Any
) -> None:
    @tool(read_only=True, run="inplace")
    def long() -> str:
        """A megabyte."""
        return "word " * 200_000

    def read_on(request: Any) -> Any:
        cut = request.conversation.messages[-1].results[0].details["cut"]
        return [("read_result", {"id": cut["id"], "page": cut["pages"]})]

    host.add(long)
    model = scripted([("long", {})], read_on, "done")
    chat = Chat(host, model, tools=["long"])
    await all_events(chat.ask("go"))
    assert sorted(one["name"] for one in model.requests[1].export.definitions) == ["long", "read_result"]
    assert results_of(chat)[1].ok
    nothing = scripted([("read_result", {"id": "x"})], "done")
    chat = Chat(host, nothing, tools=())
    await all_events(chat.ask("go"))
    assert results_of(chat)[0].error.details["reason"] == "tools"


async def test_what_a_request_holds_comes_from_the_chat(host: Any, scripted: Any, all_events: Any) -> None:
    model = scripted("ok")
    await all_events(Chat(host, model, stream=False, max_tokens=7, temperature=0.5, options={"seed": 1}).ask("?"))
    request = model.requests[0]
    assert (request.stream, request.max_tokens, request.temperature, request.options) == (False, 7, 0.5, {"seed": 1})


# -- faults


async def test_an_error_in_the_middle_of_a_stream_keeps_the_conversation(
    host: Any, scripted: Any, all_events: Any
) -> None:
    problem = ModelError(ErrorCode.UPSTREAM_ERROR, "fake: overloaded", provider="fake", reason="server")
    model = scripted([("add", {"a": 1, "b": 2})], problem, "it is 3")
    model.deltas = [TextDelta("half")]
    chat = Chat(host, model)
    seen: list[Any] = []

    async def read() -> None:
        async with chat.ask("1 + 2?") as events:
            async for event in events:
                seen.append(event)

    with pytest.raises(ModelError, match="overloaded"):
        await read()
    assert seen[-2:] == [TextDelta("half"), AnswerCut("half", "server")], "what came before the error is shown"
    assert [message.cut for message in chat.conversation.messages] == [None, None, None, "server"]
    assert_continuable(chat.conversation)
    events = await all_events(chat.go_on())
    assert events[-1].text == "it is 3"
    assert ran == [(1.0, 2.0)], "what was answered is not asked again"


async def test_an_error_that_a_nursery_wrapped_comes_bare(host: Any, scripted: Any, all_events: Any) -> None:
    problem = ExceptionGroup("wrapped", [ModelError(ErrorCode.TIMEOUT, "too slow")])
    with pytest.raises(ModelError, match="too slow"):
        await all_events(Chat(host, scripted(problem)).ask("go"))


@pytest.mark.parametrize(
    "step", [None, Reply(Message("assistant", (), (ToolCall("a", "add"),)), (), Usage(), Stop.CALLS)]
)
async def test_half_an_answer_is_an_error(host: Any, scripted: Any, all_events: Any, step: Any) -> None:
    chat = Chat(host, scripted(step))
    with pytest.raises(ModelError) as caught:
        await all_events(chat.ask("go"))
    assert caught.value.details["reason"] == "half_answer"
    assert_continuable(chat.conversation)


async def test_leaving_early_frees_the_connection_and_the_conversation_goes_on(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    async def slow(request: Any) -> Any:
        await trio.sleep(100)

    model = scripted(slow, "now")
    model.deltas = [TextDelta("one"), TextDelta("two")]
    chat = Chat(host, model)
    async with chat.ask("go") as events:
        async for _ in events:
            break
        assert model.open == 1
    assert model.open == 0
    assert [message.role for message in chat.conversation.messages] == ["user", "assistant"]
    assert (await all_events(chat.go_on()))[-1].text == "now"


async def test_leaving_in_the_middle_of_calls_answers_every_one(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    chat = Chat(host, scripted([("add", {"a": 1, "b": 2}), ("wait", {"seconds": 9})], "done"))
    async with chat.ask("go") as events:
        async for event in events:
            if isinstance(event, CallEnded):
                break
    done, left = results_of(chat)
    assert done.text == "3.0"
    assert left.error.code is ErrorCode.OUTCOME_UNKNOWN
    assert_continuable(chat.conversation)
    assert (await all_events(chat.go_on()))[-1].text == "done"


async def test_leaving_before_a_call_began_says_that_it_did_not_run(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    chat = Chat(host, scripted([("write", {"text": "a"}), ("write", {"text": "b"})], "done"))
    async with chat.ask("go") as events:
        async for event in events:
            if isinstance(event, CallStarted):
                await trio.testing.wait_all_tasks_blocked()  # a call may pass a checkpoint before its tool runs
                break
    begun, never = (result.error for result in results_of(chat))
    assert (begun.code, never.code) == (ErrorCode.OUTCOME_UNKNOWN, ErrorCode.FORBIDDEN)
    assert (never.details["executed"], "did not run" in never.message) == (False, True)
    assert ran == ["begin a"]


async def test_a_call_is_said_to_start_when_it_does(host: Any, scripted: Any, all_events: Any) -> None:
    await host.session().call("add", {"a": 1, "b": 1})  # from then on it is known to wait for nothing
    chat = Chat(host, scripted([("add", {"a": n, "b": 0}) for n in range(3)], "done"))
    kinds = [type(event) for event in await all_events(chat.ask("go"))]
    assert kinds[1:7] == [CallStarted, CallEnded] * 3


async def test_events_may_be_read_under_any_deadline(host: Any, scripted: Any, autojump_clock: Any) -> None:
    chat = Chat(host, scripted([("wait", {"seconds": 5})], "done"))
    seen: list[Any] = []
    async with chat.ask("go") as events:
        while not seen or not isinstance(seen[-1], ChatEnded):
            with trio.move_on_after(1):
                seen.append(await anext(events))
    assert seen[-1].text == "done"


async def test_cancelling_from_outside_leaves_a_conversation_that_goes_on(
    host: Any, scripted: Any, all_events: Any, autojump_clock: Any
) -> None:
    chat = Chat(host, scripted([("wait", {"seconds": 9})], "done"))
    with trio.move_on_after(1) as scope:
        await all_events(chat.ask("go"))
    assert scope.cancelled_caught
    assert_continuable(chat.conversation)
    assert (await all_events(chat.go_on()))[-1].text == "done"


async def test_what_the_block_raises_comes_bare(host: Any, scripted: Any) -> None:
    chat = Chat(host, scripted("no"))
    with pytest.raises(KeyError, match="mine"):
        async with chat.ask("go"):
            raise KeyError("mine")


async def test_an_interrupt_in_a_call_comes_bare(host: Any, scripted: Any, all_events: Any) -> None:
    @tool(read_only=True)
    async def press() -> str:
        """Press Ctrl-C."""
        raise KeyboardInterrupt

    host.add(press)
    chat = Chat(host, scripted([("press", {}), ("wait", {"seconds": 9})], "done"))
    with pytest.raises(KeyboardInterrupt):
        await all_events(chat.ask("go"))
    assert_continuable(chat.conversation)


async def test_several_faults_in_one_come_as_they_are(host: Any, scripted: Any, all_events: Any) -> None:
    several = ExceptionGroup("two", [ValueError("one"), ValueError("two")])
    with pytest.raises(ExceptionGroup, match="two"):
        await all_events(Chat(host, scripted(several)).ask("go"))


async def test_a_reader_that_stops_reading_stops_the_model(host: Any, scripted: Any) -> None:
    model = scripted("done")
    model.deltas = [TextDelta("x")] * (3 * MAX_WAITING)
    chat = Chat(host, model)
    async with chat.ask("go") as events:
        await trio.testing.wait_all_tasks_blocked()
        assert model.open == 1, "it waits for the reader"
        seen = [event async for event in events]
    assert len(seen) == 3 * MAX_WAITING + 2


async def test_events_end_once(host: Any, scripted: Any) -> None:
    chat = Chat(host, scripted("done"))
    async with chat.ask("go") as events:
        assert len([event async for event in events]) == 2
        assert [event async for event in events] == []


async def test_going_on_after_the_models_word_is_refused(host: Any, scripted: Any, all_events: Any) -> None:
    chat = Chat(host, scripted("done"))
    with pytest.raises(ValueError, match="ask something"):
        chat.go_on()
    await all_events(chat.ask("go"))
    with pytest.raises(ValueError, match="ask something"):
        chat.go_on()


async def test_calls_at_the_end_of_a_conversation_are_answered(host: Any, scripted: Any, all_events: Any) -> None:
    left = Conversation(None, (Message("assistant", (), (ToolCall("a", "add", {}),)),))
    chat = Chat(host, scripted("done"), conversation=left)
    assert results_of(chat)[0].error.code is ErrorCode.OUTCOME_UNKNOWN
    assert (await all_events(chat.go_on()))[-1].text == "done"


# -- the invariant

# Waits of seconds are long enough to leave in the middle of a call: the clock jumps.
_ARGUMENTS = st.just({"seconds": 5}) | st.dictionaries(
    st.sampled_from(["a", "b", "seconds"]), st.none() | st.integers(-3, 3) | st.text(max_size=3)
)
_CALLS = st.lists(
    st.tuples(
        st.sampled_from(["", "a", "b", "a_2", "call_2"]),
        st.sampled_from(["add", "wait", "erase", "mine", "nope", "", "find_tools", "call_tool"]),
        _ARGUMENTS,
    )
    | st.builds(
        lambda name, said: attrs.evolve(ToolResult.error("INVALID_INPUT", said), id=name, name="add"),
        st.sampled_from(["", "a", "b"]),
        st.text(max_size=5),
    ),
    max_size=8,
)
_STEPS = st.lists(
    st.text(max_size=5)
    | _CALLS
    | st.sampled_from([ModelError(ErrorCode.UPSTREAM_ERROR, "broken"), None, RuntimeError("a bug")]),
    min_size=1,
    max_size=5,
)


@settings(max_examples=100)
@given(
    steps=_STEPS,
    leave=st.lists(st.integers(0, 14), min_size=1, max_size=3),
    calls=st.integers(0, 4),
    rounds=st.integers(1, 4),
    tokens=st.integers(0, 9000),
)
@example(steps=[[("a", "wait", {"seconds": 5}), ("a", "wait", {})], "x"], leave=[1, 9], calls=4, rounds=4, tokens=9000)
def test_whatever_a_model_says_every_call_is_answered_once_and_in_order(
    scripted: Any, steps: Any, leave: list[int], calls: int, rounds: int, tokens: int
) -> None:
    """Any sequence of replies with any calls, left after any event, leaves a conversation in which every call has one
    answer, in order, and nothing stands twice."""

    async def main() -> None:
        config = {"plugins": {"chat": {"tools_tokens": tokens}}}
        async with open_host(plugins=[pegboard_chat.plugin], config=config) as host:
            host.add(add, wait, erase, mine)
            chat = Chat(host, scripted(*steps), budget=Budget(calls, rounds, 40))
            for number, last in enumerate(leave):
                with contextlib.suppress(ToolError, RuntimeError):
                    async with chat.ask(f"question {number}") as events:
                        async for event in events:
                            assert_continuable(chat.conversation)
                            last -= 1
                            if last < 0 and not isinstance(event, CallEnded):
                                break
                assert_continuable(chat.conversation)
                assert len({id(message) for message in chat.conversation.messages}) == len(chat.conversation.messages)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
