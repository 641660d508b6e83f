"""What is sent to Cohere, held against the types of its own client."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import AudioContent, BinaryContent, ImageContent, TextContent, ToolCall, ToolResult
from pegboard_chat import Conversation, ForcedTool, Message, ModelRequest
from pegboard_cohere.dialect import CohereDialect

dialect = CohereDialect()
PLAIN, VISION = "command-a-03-2025", "command-a-vision-07-2025"
PNG = ImageContent(b"\x89PNG", "image/png")


def conversation_of(*results: ToolResult) -> Conversation:
    calls = tuple(ToolCall(result.id, result.name, {"a": 1}) for result in results)
    return Conversation().ask("go").add(Message("assistant", (), calls), Message("tool", results=results))


def messages_of(conversation: Conversation, model: str = PLAIN) -> list[Any]:
    messages: list[Any] = dialect.body(ModelRequest(conversation), model)["messages"]
    return messages


def shown(*content: Any, name: str = "look", id: str = "1") -> ToolResult:
    return ToolResult(content, id=id, name=name)


class TestTools:
    def test_tools_that_all_fit_are_strict_together(self, tools: Any, held: Any) -> None:
        export = dialect.export(tools)
        assert export.strict == {"add": True, "draw.it": True}
        body = dialect.body(ModelRequest(Conversation().ask("x"), export), PLAIN)
        assert body["strict_tools"] is True
        assert all(one.keys() == {"type", "function"} for one in body["tools"])
        assert all(one["function"].keys() == {"name", "description", "parameters"} for one in body["tools"])
        held(body)

    def test_one_that_does_not_fit_keeps_all_from_it_and_each_says_why(self, tools: Any, ping: Any) -> None:
        export = dialect.export([*tools, ping])
        assert export.strict == {"add": False, "draw.it": False, "ping": False}
        assert "strict_tools" not in dialect.body(ModelRequest(Conversation().ask("x"), export), PLAIN)
        assert {loss.tool for loss in export.losses if "strict" in loss.what} == {"add", "draw.it", "ping"}

    def test_models_without_strict_tools_are_not_asked_for_it(self, tools: Any) -> None:
        body = dialect.body(ModelRequest(Conversation().ask("x"), dialect.export(tools)), "command-r7b-12-2024")
        assert "strict_tools" not in body

    def test_strict_can_be_switched_off(self, tools: Any) -> None:
        loose = CohereDialect(strict=False)
        export = loose.export(tools)
        assert not any(export.strict.values())
        assert "strict_tools" not in loose.body(ModelRequest(Conversation().ask("x"), export), PLAIN)

    @pytest.mark.parametrize(("choice", "said"), [("auto", None), ("required", "REQUIRED"), ("none", "NONE")])
    def test_tool_choices(self, tools: Any, choice: Any, said: Any) -> None:
        body = dialect.body(ModelRequest(Conversation().ask("x"), dialect.export(tools), choice), PLAIN)
        assert body.get("tool_choice") == said
        assert len(body["tools"]) == 2

    def test_a_forced_tool_is_offered_alone(self, tools: Any, held: Any) -> None:
        export = dialect.export(tools)
        body = dialect.body(ModelRequest(Conversation().ask("x"), export, ForcedTool("draw.it")), PLAIN)
        assert [one["function"]["name"] for one in body["tools"]] == ["draw_it_9e315a0a"]
        assert body["tool_choice"] == "REQUIRED"
        held(body)

    def test_a_forced_tool_that_is_not_there_leaves_all(self, tools: Any) -> None:
        body = dialect.body(ModelRequest(Conversation().ask("x"), dialect.export(tools), ForcedTool("gone")), PLAIN)
        assert len(body["tools"]) == 2

    def test_without_tools_no_choice_is_said(self) -> None:
        for export in (None, dialect.export([])):
            body = dialect.body(ModelRequest(Conversation().ask("x"), export, "required"), PLAIN)
            assert body.keys() == {"model", "messages", "stream"}


class TestOptions:
    def test_limits_and_options(self) -> None:
        request = ModelRequest(
            Conversation("Be brief.").ask("x"), stream=False, max_tokens=7, temperature=0.5, options={"seed": 1}
        )
        assert dialect.body(request, PLAIN) == {
            "model": PLAIN,
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "x"}],
            "max_tokens": 7,
            "temperature": 0.5,
            "stream": False,
            "seed": 1,
        }

    @pytest.mark.parametrize(
        ("thinking", "budget", "said"),
        [
            (None, None, None),
            (True, None, {"type": "enabled"}),
            (None, 50, {"type": "enabled", "token_budget": 50}),
            (False, 50, {"type": "disabled"}),
        ],
    )
    def test_thinking(self, held: Any, thinking: Any, budget: Any, said: Any) -> None:
        speaks = CohereDialect(thinking=thinking, thinking_budget=budget)
        body = speaks.body(ModelRequest(Conversation().ask("x")), "command-a-reasoning-08-2025")
        assert body.get("thinking") == said
        held(body)


RAW = {
    "role": "assistant",
    "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes"}],
}


class TestTurns:
    def said(self, model: str) -> Conversation:
        turn = Message("assistant", (TextContent("Yes"),), raw=RAW, dialect="cohere", model=f"cohere:{model}")
        return Conversation().ask("x").add(turn).ask("y")

    def test_thinking_goes_back_to_the_model_that_thought(self) -> None:
        assert messages_of(self.said("reasoner"), "reasoner")[1] == RAW

    def test_another_model_is_not_told(self) -> None:
        assert messages_of(self.said("reasoner"), PLAIN)[1]["content"] == [{"type": "text", "text": "Yes"}]

    def test_nor_is_one_that_may_not_think(self) -> None:
        silent = CohereDialect(thinking=False)
        body = silent.body(ModelRequest(self.said("reasoner")), "reasoner")
        assert body["messages"][1]["content"] == [{"type": "text", "text": "Yes"}]

    def test_a_turn_of_nothing_but_thinking_is_left_out_for_others(self) -> None:
        raw = {"role": "assistant", "content": RAW["content"][:1]}
        turn = Message("assistant", raw=raw, dialect="cohere", model="cohere:reasoner")
        assert len(messages_of(Conversation().ask("x").add(turn).ask("y"))) == 2

    def test_raw_content_that_is_text_stays(self) -> None:
        raw = {"role": "assistant", "content": "Yes"}
        turn = Message("assistant", (TextContent("Yes"),), raw=raw, dialect="cohere", model="cohere:old")
        assert messages_of(Conversation().ask("x").add(turn).ask("y"))[1] == raw

    @pytest.mark.parametrize(
        "raw",
        [
            {"role": "assistant", "tool_calls": [{"id": "another", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "assistant", "tool_calls": 7},
            {"role": "assistant", "content": 7},
            {"role": "user", "content": "I am the user"},
            ["nonsense"],
        ],
    )
    def test_a_raw_turn_that_does_not_hold_the_calls_of_its_results_is_passed_over(self, raw: Any, held: Any) -> None:
        turn = Message("assistant", (), (ToolCall("1", "look", {}),), raw=raw, dialect="cohere", model="cohere:x")
        said = Conversation().ask("x").add(turn, Message("tool", results=(shown(TextContent("done")),)))
        body = dialect.body(ModelRequest(said), PLAIN)
        assert [call["id"] for call in body["messages"][1]["tool_calls"]] == ["1"]
        assert body["messages"][2]["tool_call_id"] == "1"
        held(body)

    def test_the_text_of_a_foreign_turn_with_calls_is_its_plan(self, held: Any) -> None:
        call = ToolCall("1", "draw.it", {"what": "é"})
        turn = Message("assistant", (TextContent("I draw."),), (call,), dialect="openai", model="openai:x")
        said = Conversation().ask("x").add(turn, Message("tool", results=(shown(TextContent("done")),)))
        body = dialect.body(ModelRequest(said), PLAIN)
        assert body["messages"][1]["tool_plan"] == "I draw."
        assert body["messages"][1]["tool_calls"][0]["function"] == {
            "name": "draw_it_9e315a0a",
            "arguments": '{"what": "é"}',
        }
        held(body)

    def test_an_empty_turn_is_left_out(self) -> None:
        said = Conversation().ask("a").add(Message("assistant")).ask("").ask("b")
        assert messages_of(said) == [{"role": "user", "content": one} for one in "ab"]


class TestResults:
    def test_text_is_said_as_text(self) -> None:
        messages = messages_of(conversation_of(shown(TextContent("Sunny")), shown(id="2")))
        assert messages[2:] == [
            {"role": "tool", "tool_call_id": "1", "content": "Sunny"},
            {"role": "tool", "tool_call_id": "2", "content": "(no output)"},
        ]

    def test_an_error_begins_with_its_code(self) -> None:
        failed = ToolResult.error("NOT_FOUND", "there is no such city")
        assert messages_of(conversation_of(failed))[2]["content"] == "NOT_FOUND: there is no such city"

    def test_an_embedded_text_is_a_document(self, held: Any) -> None:
        page = BinaryContent(b"# Hi", "text/markdown", "https://x/a.md", "a.md")
        said = conversation_of(shown(TextContent("one page"), page))
        (text, document) = messages_of(said)[2]["content"]
        assert text == {"type": "text", "text": "one page"}
        assert document["document"] == {"data": {"title": "a.md", "url": "https://x/a.md", "text": "# Hi"}}
        held(dialect.body(ModelRequest(said), PLAIN))

    def test_an_image_follows_where_the_model_sees_and_is_named_where_not(self, held: Any) -> None:
        said = conversation_of(shown(TextContent("a cat"), PNG), shown(TextContent("b"), id="2"))
        blind, seeing = messages_of(said, PLAIN), messages_of(said, VISION)
        assert blind[2]["content"] == "a cat\n[image: image/png, 4 bytes]"
        assert len(blind) == 4
        assert [one["role"] for one in seeing[2:]] == ["tool", "tool", "user"]
        label, image = seeing[4]["content"]
        assert "look" in label["text"]
        assert image == {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
        held(dialect.body(ModelRequest(said), VISION))

    def test_results_alone_are_told_all_the_same(self) -> None:
        said = Conversation().ask("x").add(Message("tool", results=(shown(TextContent("a"), id="7"),)))
        assert messages_of(said)[1]["tool_call_id"] == "7"

    def test_whether_a_model_sees_can_be_set(self) -> None:
        seeing = CohereDialect(images=True).body(ModelRequest(Conversation().ask("x", PNG)), PLAIN)
        assert [part["type"] for part in seeing["messages"][0]["content"]] == ["text", "image_url"]
        blind = CohereDialect(images=False).body(ModelRequest(Conversation().ask(PNG)), VISION)
        assert blind["messages"][0]["content"] == "[image: image/png, 4 bytes]"

    def test_a_result_without_an_id_answers_the_call_in_its_place(self) -> None:
        call = ToolCall("c9", "look", {})
        said = Conversation().ask("x").add(Message("assistant", calls=(call,)))
        said = said.add(Message("tool", results=(ToolResult((TextContent("a"),)),)))
        assert messages_of(said)[2]["tool_call_id"] == "c9"

    def test_an_export_formats_the_results_of_a_turn(self, tools: Any) -> None:
        messages = dialect.export(tools).format([shown(TextContent("a"), PNG), shown(TextContent("b"), id="2")])
        assert [one["role"] for one in messages] == ["tool", "tool"]
        assert "image/png" in messages[0]["content"]


TEXTS = st.text(max_size=6)
NAMES = st.sampled_from(["add", "draw.it", "gone", "1st tool", "ünïcode"])
BLOCKS = st.one_of(
    st.builds(TextContent, TEXTS),
    st.builds(ImageContent, st.binary(max_size=3), st.sampled_from(["image/png", "image/tiff"])),
    st.builds(AudioContent, st.binary(max_size=3)),
    st.builds(
        BinaryContent,
        st.none() | st.binary(max_size=3),
        st.sampled_from(["application/pdf", "text/plain", "image/png"]),
        st.none() | st.just("file:///x"),
        st.none() | TEXTS,
    ),
)
CONTENT = st.lists(BLOCKS, max_size=3).map(tuple)
RESULTS = st.one_of(
    st.builds(lambda content, data: ToolResult(content, data), CONTENT, st.none() | st.just({"n": 1})),
    st.builds(lambda text: ToolResult.error("INVALID_INPUT", text), TEXTS),
)
ARGUMENTS = st.dictionaries(TEXTS, st.integers() | TEXTS | st.none(), max_size=2)


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """A question, and at times an answer, with its calls and their results."""
    said = [Message("user", draw(CONTENT))]
    if draw(st.booleans()):
        names = draw(st.lists(NAMES, max_size=3))
        calls = tuple(ToolCall(f"c{at}", name, draw(ARGUMENTS)) for at, name in enumerate(names))
        said.append(Message("assistant", draw(CONTENT), calls, model="other:m"))
        results = [draw(RESULTS) for _ in calls]
        stamped = (
            ToolResult(one.content, one.data, one.error, None, call.id, call.name)
            for one, call in zip(results, calls, strict=True)
        )
        said += [Message("tool", results=tuple(stamped))] if calls else []
    return said


@settings(max_examples=80)
@given(
    said=st.lists(turns(), max_size=3),
    system=st.none() | TEXTS,
    model=st.sampled_from([PLAIN, VISION]),
    choice=st.sampled_from(["auto", "required", "none", ForcedTool("draw.it")]),
)
def test_any_conversation_gives_a_body_that_the_sdk_accepts(
    tools: Any, held: Any, said: Any, system: Any, model: Any, choice: Any
) -> None:
    """Whatever was said with whichever provider, the SDK's types know every member of the body."""
    conversation = Conversation(system, tuple(message for turn in said for message in turn))
    held(dialect.body(ModelRequest(conversation, dialect.export(tools), choice, max_tokens=9), model))


def test_the_oracle_knows_every_member(held: Any) -> None:
    with pytest.raises(AssertionError):
        held({"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "sparkle": 1}]}]})
    with pytest.raises(ValueError, match="content"):
        held({"messages": [{"role": "tool", "tool_call_id": "1", "content": 7}]})
