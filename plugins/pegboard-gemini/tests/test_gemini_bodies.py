"""What is sent to Gemini, held against the types of Google's own client, which refuse every member they do not know."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import AudioContent, BinaryContent, ImageContent, TextContent, ToolCall, ToolResult
from pegboard_chat import Conversation, ForcedTool, Message, ModelRequest
from pegboard_gemini._parts import is_latest
from pegboard_gemini.dialect import GeminiDialect

dialect = GeminiDialect()
PNG = ImageContent(b"\x89PNG", "image/png")
SIGNATURE = "skip_thought_signature_validator"


def conversation_of(*results: ToolResult, raw: Any = None) -> Conversation:
    calls = tuple(ToolCall(result.id, result.name, {}) for result in results)
    said = Message("assistant", (), calls, (), raw, "gemini" if raw else "openai", "openai:x")
    return Conversation().ask("go").add(said, Message("tool", results=results))


def contents_of(conversation: Conversation, model: str = "gemini-3-pro") -> list[Any]:
    contents: list[Any] = dialect.body(ModelRequest(conversation), model)["contents"]
    return contents


def shown(*content: Any, name: str = "look", id: str = "1") -> ToolResult:
    return ToolResult(content, id=id, name=name)


class TestTools:
    def test_json_schema_is_the_default(self, tools: Any) -> None:
        export = dialect.export(tools)
        add = export.definitions[0]
        assert add["parametersJsonSchema"]["properties"]["a"] == {"type": "number", "description": "the first."}
        assert export.aliases == {"add": "add", "draw_it_9e315a0a": "draw.it", "ping": "ping"}
        assert export.strict == {"add": False, "draw.it": False, "ping": False}
        assert any(loss.tool == "draw.it" for loss in export.losses)

    def test_parameters_leave_out_what_is_empty(self, tools: Any, held: Any) -> None:
        older = GeminiDialect("parameters")
        export = older.export(tools)
        assert export.definitions[0]["parameters"]["type"] == "OBJECT"
        assert export.definitions[2] == {"name": "ping", "description": "Answer."}
        held(older.body(ModelRequest(Conversation().ask("x"), export), "gemini-2.0-flash"))

    @pytest.mark.parametrize(
        ("choice", "mode"),
        [("required", {"mode": "ANY"}), ("none", {"mode": "NONE"}), (ForcedTool("gone"), {"mode": "ANY"})],
    )
    def test_tool_choices(self, tools: Any, held: Any, choice: Any, mode: Any) -> None:
        body = dialect.body(ModelRequest(Conversation().ask("x"), dialect.export(tools), choice), "gemini-2.5-pro")
        assert body["toolConfig"] == {"functionCallingConfig": mode}
        held(body)

    def test_the_models_own_choice_is_not_said(self, tools: Any) -> None:
        body = dialect.body(ModelRequest(Conversation().ask("x"), dialect.export(tools)), "gemini-2.5-pro")
        assert body.keys() == {"contents", "tools"}

    def test_without_tools_no_choice_is_said(self) -> None:
        body = dialect.body(ModelRequest(Conversation().ask("x"), dialect.export([]), "required"), "gemini-2.5-pro")
        assert body.keys() == {"contents"}


class TestConfig:
    def test_limits_and_thinking(self, held: Any) -> None:
        thinking = GeminiDialect(thinking_level="low", thinking_budget=5, include_thoughts=True)
        request = ModelRequest(Conversation("Be brief.").ask("x"), max_tokens=7, temperature=0.5)
        body = thinking.body(request, "gemini-3-pro")
        assert body["generationConfig"] == {
            "maxOutputTokens": 7,
            "temperature": 0.5,
            "thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True},
        }
        assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
        held(body)

    def test_a_budget_for_older_models(self) -> None:
        body = GeminiDialect(thinking_budget=0).body(ModelRequest(Conversation().ask("x")), "gemini-2.5-flash")
        assert body["generationConfig"] == {"thinkingConfig": {"thinkingBudget": 0}}

    def test_options_lie_over_all_and_the_config_is_merged(self) -> None:
        options = {"generationConfig": {"topK": 3}, "safetySettings": []}
        request = ModelRequest(Conversation().ask("x"), max_tokens=7, options=options)
        body = dialect.body(request, "gemini-2.5-flash")
        assert body["generationConfig"] == {"maxOutputTokens": 7, "topK": 3}
        assert body["safetySettings"] == []


class TestTurns:
    def test_a_foreign_turn_is_signed_for_models_that_want_it(self, held: Any) -> None:
        said = conversation_of(shown(TextContent("a")), shown(TextContent("b"), id="2"))
        new, old = contents_of(said, "gemini-3-pro")[1], contents_of(said, "gemini-2.5-pro")[1]
        assert [part.get("thoughtSignature") for part in new["parts"]] == [SIGNATURE, None]
        assert all("thoughtSignature" not in part for part in old["parts"])
        held(dialect.body(ModelRequest(said), "gemini-3-pro"))

    def test_an_own_turn_of_an_older_model_is_signed_for_a_newer_one(self) -> None:
        raw = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
        said = conversation_of(shown(TextContent("a")), raw=raw)
        assert contents_of(said, "gemini-3-pro")[1]["parts"][0]["thoughtSignature"] == SIGNATURE
        assert contents_of(said, "gemini-2.5-pro")[1] == raw
        assert "thoughtSignature" not in raw["parts"][0]

    def test_a_result_has_the_id_and_the_name_that_the_call_had(self) -> None:
        parts = [
            {"functionCall": {"name": "no.such:name", "args": {}}},
            {"functionCall": {"id": "g", "name": "look", "args": {}}},
        ]
        results = shown(TextContent("a"), name="no.such:name", id="drawn"), shown(TextContent("b"), id="g")
        answered = contents_of(conversation_of(*results, raw={"parts": parts}), "gemini-2.5-pro")[2]["parts"]
        assert [part["functionResponse"].get("id") for part in answered] == [None, "g"]
        assert [part["functionResponse"]["name"] for part in answered] == ["no.such:name", "look"]

    @pytest.mark.parametrize(
        "raw",
        [
            {"parts": [{"functionCall": {"name": "one", "args": {}}}, {"functionCall": {"name": "two", "args": {}}}]},
            {"parts": [{"text": "no call at all"}]},
            {"parts": 7},
            "nonsense",
        ],
    )
    def test_a_raw_turn_that_does_not_hold_the_calls_of_its_results_is_passed_over(self, raw: Any) -> None:
        contents = contents_of(conversation_of(shown(TextContent("a")), raw=raw), "gemini-2.5-pro")
        (call,) = contents[1]["parts"]
        (answered,) = contents[2]["parts"]
        assert call["functionCall"]["id"] == answered["functionResponse"]["id"] == "1"

    def test_an_empty_turn_is_left_out(self) -> None:
        said = Conversation().ask("a").add(Message("assistant")).ask("").ask("b")
        assert contents_of(said) == [{"role": "user", "parts": [{"text": one}]} for one in "ab"]

    def test_arguments_that_were_broken_are_repeated(self, held: Any) -> None:
        call = ToolCall("1", "look", {"INVALID_JSON": '{"a'})
        said = Conversation().ask("x").add(Message("assistant", calls=(call,)), Message("tool", results=(shown(),)))
        body = dialect.body(ModelRequest(said), "gemini-2.5-pro")
        assert body["contents"][1]["parts"][0]["functionCall"]["args"] == {"INVALID_JSON": '{"a'}
        held(body)

    @pytest.mark.parametrize(
        ("model", "latest"),
        [
            ("gemini-3-pro-preview", True),
            ("models/gemini-3.8-flash", True),
            ("gemini-flash-latest", True),
            ("gemini-10-pro", True),
            ("gemini-2.5-pro", False),
            ("gemini-1.5-flash", False),
            ("gemma-4-27b", False),
            ("tunedModels/mine", False),
        ],
    )
    def test_generations_are_told_by_name(self, model: str, latest: bool) -> None:
        assert is_latest(model) is latest


class TestResults:
    def test_an_error_is_said_as_one(self) -> None:
        failed = ToolResult.error("NOT_FOUND", "there is no such city")
        content = contents_of(conversation_of(failed))[2]
        response = content["parts"][0]["functionResponse"]
        assert response["response"] == {"error": "NOT_FOUND: there is no such city"}

    def test_an_image_goes_inside_for_new_models_and_behind_for_old_ones(self, held: Any) -> None:
        said = conversation_of(shown(TextContent("a cat"), PNG), shown(TextContent("b"), id="2"))
        inside = contents_of(said, "gemini-3-pro")
        assert len(inside) == 3
        response = inside[2]["parts"][0]["functionResponse"]
        assert response["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}]
        assert response["response"] == {"output": "a cat"}

        behind = contents_of(said, "gemini-2.5-pro")
        assert len(behind[2]["parts"]) == 2
        assert behind[2]["parts"][0]["functionResponse"]["response"]["output"].startswith("a cat\n[image 1")
        label, image = behind[3]["parts"]
        assert "look" in label["text"]
        assert image == {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
        for model in ("gemini-3-pro", "gemini-2.5-pro"):
            held(dialect.body(ModelRequest(said), model))

    def test_sound_goes_behind_and_other_bytes_are_named(self) -> None:
        said = conversation_of(shown(AudioContent(b"x", "audio/wav"), BinaryContent(b"abc", name="a.bin")))
        contents = contents_of(said, "gemini-3-pro")
        assert contents[3]["parts"][1]["inlineData"]["mimeType"] == "audio/wav"
        assert "a.bin" in contents[2]["parts"][0]["functionResponse"]["response"]["output"]

    def test_results_alone_are_told_all_the_same(self) -> None:
        said = Conversation().ask("x").add(Message("tool", results=(shown(TextContent("a"), id="7"),)))
        assert contents_of(said)[1]["parts"][0]["functionResponse"]["id"] == "7"

    def test_data_stands_in_where_nothing_is_shown(self) -> None:
        said = conversation_of(ToolResult((), {"n": 1}, id="1", name="look"))
        assert contents_of(said)[2]["parts"][0]["functionResponse"]["response"] == {"output": '{"n": 1}'}

    def test_an_export_formats_the_results_of_a_turn(self, tools: Any) -> None:
        (content,) = dialect.export(tools).format([shown(TextContent("a"), name="draw.it"), shown(name="ping", id="")])
        first, second = (part["functionResponse"] for part in content["parts"])
        assert first == {"id": "1", "name": "draw_it_9e315a0a", "response": {"output": "a"}}
        assert second == {"name": "ping", "response": {"output": ""}}


def test_files_of_the_api_are_named_by_their_address() -> None:
    uri = "https://generativelanguage.googleapis.com/v1beta/files/abc"
    file, other = BinaryContent(None, "application/pdf", uri), BinaryContent(None, "application/pdf", "file:///etc/x")
    parts = contents_of(Conversation().ask(file, other, BinaryContent(b"hi", "text/plain")))[0]["parts"]
    assert parts[0] == {"fileData": {"mimeType": "application/pdf", "fileUri": uri}}
    assert parts[1].keys() == {"text"}
    assert parts[2] == {"text": "hi"}


TEXTS = st.text(max_size=6)
NAMES = st.sampled_from(["add", "draw.it", "ping", "gone", "1st tool", "ünïcode"])
BLOCKS = st.one_of(
    st.builds(TextContent, TEXTS),
    st.builds(ImageContent, st.binary(max_size=3), st.sampled_from(["image/png", "image/tiff", "nonsense"])),
    st.builds(AudioContent, st.binary(max_size=3), st.sampled_from(["audio/wav", ""])),
    st.builds(
        BinaryContent,
        st.none() | st.binary(max_size=3),
        st.sampled_from(["application/pdf", "text/plain", "application/zip", "video/mp4"]),
        st.none() | st.sampled_from(["file:///x", "https://generativelanguage.googleapis.com/v1beta/files/x"]),
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
        said.append(Message("assistant", draw(CONTENT), calls, dialect=None, model="other:m"))
        results = [draw(RESULTS) for _ in calls]
        stamped = (
            ToolResult(r.content, r.data, r.error, None, c.id, c.name) for r, c in zip(results, calls, strict=True)
        )
        said += [Message("tool", results=tuple(stamped))] if calls else []
    return said


@settings(max_examples=80)
@given(
    said=st.lists(turns(), max_size=3),
    system=st.none() | TEXTS,
    model=st.sampled_from(["gemini-3-pro", "gemini-2.5-flash", "gemma-4-27b"]),
    choice=st.sampled_from(["auto", "required", "none", ForcedTool("draw.it")]),
    schema=st.sampled_from(["json_schema", "parameters"]),
)
def test_any_conversation_gives_a_body_that_the_sdk_accepts(
    tools: Any, held: Any, said: Any, system: Any, model: Any, choice: Any, schema: Any
) -> None:
    """Whatever was said with whichever provider, the SDK's types know every member of the body."""
    speaks = GeminiDialect(schema, include_thoughts=True)
    conversation = Conversation(system, tuple(message for turn in said for message in turn))
    held(speaks.body(ModelRequest(conversation, speaks.export(tools), choice, max_tokens=9), model))


def test_the_oracle_knows_every_member(held: Any) -> None:
    with pytest.raises(ValueError, match="extra"):
        held({"contents": [{"role": "user", "parts": [{"text": "x", "sparkle": 1}]}]})
