"""Every body that is sent is one that the types of OpenAI's own SDK take, and says nothing that they do not know."""

from __future__ import annotations

import warnings
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import AudioContent, BinaryContent, ImageContent, TextContent, ToolCall, ToolResult
from pegboard_chat import Conversation, ForcedTool, Message, ModelRequest
from pegboard_openai._chat import ChatDialect
from pegboard_openai._flavours import MISTRAL
from pegboard_openai._responses import ResponsesDialect

pytest.importorskip("openai", reason="the types of OpenAI's SDK are the judge here: pip install openai")


def members_of(kind: Any) -> frozenset[str]:
    return frozenset(kind.__required_keys__ | kind.__optional_keys__)


@pytest.fixture(scope="module")
def judges() -> dict[str, Any]:
    """By dialect: what raises where a body is not of the SDK's type."""
    import pydantic

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the SDK's own import
        from openai.types.chat import completion_create_params as chat
        from openai.types.responses import response_create_params as responses
    kinds = {
        "openai": (chat.CompletionCreateParamsStreaming, chat.CompletionCreateParamsNonStreaming),
        "openai-responses": (responses.ResponseCreateParamsStreaming, responses.ResponseCreateParamsNonStreaming),
    }

    def judge(dialect: str) -> Any:
        adapters = [(members_of(kind), pydantic.TypeAdapter(kind)) for kind in kinds[dialect]]

        def check(body: dict[str, Any]) -> None:
            members, adapter = adapters[0 if body["stream"] else 1]
            assert body.keys() <= members
            assert exhausted(adapter.validate_python(body, strict=True)) == body

        return check

    return {name: judge(name) for name in kinds}


def exhausted(value: Any) -> Any:
    """The value with its lazy parts read: the SDK says `Iterable`, which is only checked when it is iterated."""
    if isinstance(value, dict):
        return {key: exhausted(item) for key, item in value.items()}
    if isinstance(value, (str, bytes, int, float, type(None))):
        return value
    return [exhausted(item) for item in value]


def test_the_judges_refuse_what_is_wrong(judges) -> None:
    right = {"model": "m", "stream": False, "messages": [{"role": "user", "content": "x"}]}
    judges["openai"](right)
    for wrong in (
        {**right, "messages": [{"role": "nobody", "content": "x"}]},
        {**right, "messages": [{"role": "assistant", "tool_calls": [{"id": 1}]}]},
        {**right, "n_messages": 3},
    ):
        with pytest.raises((ValueError, AssertionError)):
            judges["openai"](wrong)


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
NAMES = st.sampled_from(["roll_dice", "now", "files.read/all", "gone tool", "ünïcode"])
IDS = st.sampled_from(["call_1", "x" * 90, "toolu_01ABC", "é", "a b", "0"])
BLOCKS = st.one_of(
    st.builds(TextContent, TEXTS),
    st.builds(ImageContent, st.binary(max_size=4), st.sampled_from(["image/png", "image/webp", "image/svg+xml"])),
    st.builds(AudioContent, st.binary(max_size=4), st.sampled_from(["audio/wav", "audio/mpeg", "audio/ogg"])),
    st.builds(
        BinaryContent,
        st.none() | st.binary(max_size=4),
        st.sampled_from(["application/pdf", "text/plain", "application/zip"]),
        st.none() | st.just("file:///a/b.pdf"),
        st.none() | st.just("b.pdf"),
    ),
)
CONTENT = st.lists(BLOCKS, min_size=1, max_size=3).map(tuple)
ARGUMENTS = st.dictionaries(TEXTS, TEXTS | st.integers() | st.lists(st.none()), max_size=2) | st.just(
    {"INVALID_JSON": '{"a'}
)
RESULTS = st.one_of(
    st.builds(lambda content, data: ToolResult(content, data), CONTENT, st.none() | st.just({"result": 1})),
    st.just(ToolResult.error("NOT_FOUND", "there is none", near=["a"])),
    st.just(ToolResult.empty()),
)


@st.composite
def foreign_turns(draw: Any) -> list[Message]:
    """A turn of another provider, and its results."""
    calls = tuple(
        ToolCall(call_id, draw(NAMES), draw(ARGUMENTS)) for call_id in draw(st.lists(IDS, max_size=3, unique=True))
    )
    turn = Message("assistant", draw(CONTENT | st.just(())), calls, raw=[], dialect="gemini", model="gemini:g")
    return with_results(draw, turn)


def with_results(draw: Any, turn: Message) -> list[Message]:
    results = [attrs.evolve(draw(RESULTS), id=call.id, name=call.name) for call in turn.calls]
    return [turn, Message("tool", results=tuple(results))] if results else [turn]


@st.composite
def own_answers(draw: Any) -> dict[str, Any]:
    """What a server may answer in chat completions, broken arguments, refusals and thoughts included."""
    arguments = st.sampled_from(['{"notation": "2d6"}', '{"notation": "2', "[]", "", "{}", None])
    calls = [
        {"id": call_id, "type": "function", "function": {"name": draw(NAMES), "arguments": draw(arguments)}}
        for call_id in draw(st.lists(IDS | st.none(), max_size=3))
    ]
    message = {
        "role": "assistant",
        "content": draw(st.none() | TEXTS),
        "refusal": draw(st.none() | TEXTS),
        "tool_calls": calls or None,
        "annotations": [],
        "audio": None,
        "reasoning_content": draw(st.none() | TEXTS),
    }
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


@st.composite
def own_output(draw: Any) -> dict[str, Any]:
    """What a server may answer in responses: thoughts, texts, refusals and calls."""
    text = {"type": "output_text", "text": draw(TEXTS), "annotations": [{"type": "url_citation"}], "logprobs": []}
    items: list[dict[str, Any]] = []
    for n in range(draw(st.integers(0, 2))):
        secret = draw(st.sampled_from([None, "", "gAAAA"]))
        summary = [{"type": "summary_text", "text": "Hm"}]
        items.append({"type": "reasoning", "id": f"rs_{n}", "summary": summary, "encrypted_content": secret})
    parts = st.lists(st.sampled_from([text, {"type": "refusal", "refusal": "no"}]), min_size=1, max_size=2)
    for n in range(draw(st.integers(0, 2))):
        phase = draw(st.sampled_from([None, "final_answer", "commentary"]))
        message = {"type": "message", "role": "assistant", "status": "completed", "content": draw(parts)}
        items.append({**message, "id": draw(st.sampled_from([f"msg_{n}", None])), "phase": phase})
    for n, call_id in enumerate(draw(st.lists(IDS, max_size=2))):
        arguments = draw(st.sampled_from(['{"notation": "2d6"}', '{"notation": "2', ""]))
        call = {
            "type": "function_call",
            "id": f"fc_{n}",
            "call_id": call_id,
            "name": draw(NAMES),
            "status": "completed",
        }
        items.append({**call, "arguments": arguments})
    return {"status": "completed", "output": items}


@st.composite
def conversations(draw: Any, dialect: Any, answers: Any, export: Any) -> Conversation:
    """Several turns, of this provider and of others, with everything that a conversation may hold."""
    conversation = Conversation(draw(st.none() | TEXTS), (Message("user", draw(CONTENT)),))
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            reply = dialect.read(draw(answers), ModelRequest(conversation, export), "openai:gpt")
            conversation = conversation.add(*with_results(draw, reply.message))
        else:
            conversation = conversation.add(*draw(foreign_turns()))
        if conversation.messages[-1].role == "assistant" or draw(st.booleans()):
            conversation = conversation.add(Message("user", draw(CONTENT)))
    return conversation


CASES = [
    pytest.param(ChatDialect(), own_answers(), "gpt-5", id="chat"),
    pytest.param(ResponsesDialect(), own_output(), "gpt-5", id="responses"),
    pytest.param(ResponsesDialect(), own_output(), "gpt-4o", id="responses of a model that does not think"),
]


@pytest.mark.parametrize(("dialect", "answers", "model"), CASES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_body_of_every_conversation_is_one_that_the_sdk_takes(
    judges, tools, dialect, answers, model, data
) -> None:
    """Whatever was said before, by whichever provider, the body of the next request is of the SDK's type."""
    export = dialect.export(tools)
    choices = st.sampled_from(["auto", "required", "none", ForcedTool("roll_dice"), ForcedTool("gone tool")])
    request = ModelRequest(
        data.draw(conversations(dialect, answers, export)),
        data.draw(st.sampled_from([export, dialect.export(()), None])),
        tool_choice=data.draw(choices),
        parallel=data.draw(st.booleans()),
        stream=data.draw(st.booleans()),
        max_tokens=data.draw(st.sampled_from([None, 64])),
        temperature=data.draw(st.sampled_from([None, 0.5])),
    )
    judges[dialect.name](dialect.body(request, model))


def test_a_conversation_for_mistral_is_still_one_of_chat_completions(judges, foreign) -> None:
    body = ChatDialect(MISTRAL, "mistral").body(ModelRequest(foreign), "mistral-large")
    judges["openai"](body)
    assert "stream_options" not in body
