"""Saved conversations: what was written is read back, and what is broken is refused with its place."""

from __future__ import annotations

import copy
import json
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import AudioContent, BinaryContent, ImageContent, TextContent, ToolCall, ToolError, ToolResult
from pegboard_chat import Conversation, Message

CALL = ToolCall("c1", "roll", {"notation": "2d6"})
RESULT = ToolResult((TextContent("7"),), {"total": 7}, None, {"late": True}, "c1", "roll", 0.5)
FAILED = ToolResult((TextContent("no"),), None, ToolError("NOT_FOUND", "no", {"near": ["a"]}), None, "c2", "rol", 0.0)
FULL = Conversation(
    "Be brief.",
    (
        Message("user", (TextContent("hi"), ImageContent(b"png"), AudioContent(b"wav"), BinaryContent(b"x", name="n"))),
        Message("assistant", (TextContent("so"),), (CALL, ToolCall("c2", "", {})), (), {"a": [1]}, "echo", "echo:echo"),
        Message("tool", (), (), (RESULT, FAILED)),
        Message("assistant", (TextContent("7"), BinaryContent(None, "text/html", "https://x", "page"))),
    ),
)


def saved() -> Any:
    return copy.deepcopy(json.loads(json.dumps(FULL.to_json())))


def test_everything_that_was_said_comes_back() -> None:
    read = Conversation.from_json(saved())
    assert read == FULL
    assert read.to_json() == FULL.to_json()
    assert Conversation.from_json(Conversation().to_json()) == Conversation()


def test_a_conversation_that_was_left_in_a_turn_comes_back() -> None:
    left = Conversation(None, FULL.messages[:2])
    assert Conversation.from_json(left.to_json()).open_calls == left.messages[1].calls


def changed(path: list[Any], value: Any) -> Any:
    whole = saved()
    inner = whole
    for step in path[:-1]:
        inner = inner[step]
    if value is KeyError:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return whole


M = "messages"


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (["pegboard_conversation"], KeyError, "pegboard_conversation: it is missing"),
        (["pegboard_conversation"], 2, "newer than what is read here"),
        (["pegboard_conversation"], 10**30, "newer than what is read here"),
        (["pegboard_conversation"], 0, "pegboard_conversation: expected 1, got 0"),
        (["pegboard_conversation"], True, "pegboard_conversation: expected 1, got true"),
        (["pegboard_conversation"], "1", "pegboard_conversation: expected 1"),
        (["extra"], 1, "extra: no member of that name"),
        (["system"], 5, "system: expected a text, got 5"),
        ([M], {}, "messages: expected an array"),
        ([M, 0], "hi", "messages[0]: expected an object"),
        ([M, 0, "role"], KeyError, "messages[0].role: it is missing"),
        ([M, 0, "role"], "system", "messages[0].role: expected user, assistant or tool"),
        ([M, 0, "extra"], 1, "messages[0].extra: no member"),
        ([M, 0, "calls"], [{"id": "a", "name": "b", "arguments": {}}], "messages[0].calls: only a message"),
        ([M, 0, "results"], [1], "messages[0].results: only a message"),
        ([M, 0, "raw"], {}, "messages[0].raw: only a message"),
        ([M, 0, "content"], "hi", "messages[0].content: expected an array"),
        ([M, 0, "content", 0], "hi", "messages[0].content[0]: expected an object"),
        ([M, 0, "content", 0, "type"], KeyError, "messages[0].content[0].type: it is missing"),
        ([M, 0, "content", 0, "type"], "video", "messages[0].content[0].type: expected one of"),
        ([M, 0, "content", 0, "type"], ["text"], "messages[0].content[0].type: expected one of"),
        ([M, 0, "content", 0, "text"], 5, "messages[0].content[0].text: expected a text"),
        ([M, 0, "content", 0, "text"], KeyError, "messages[0].content[0]:"),
        ([M, 0, "content", 1, "data"], "%%%", "messages[0].content[1]:"),
        ([M, 0, "content", 1, "mimeType"], 5, "messages[0].content[1].mimeType: expected a text"),
        ([M, 0, "content", 3, "resource", "blob"], KeyError, "messages[0].content[3].resource.blob: it is missing"),
        ([M, 0, "content", 3, "resource", "x"], 1, "messages[0].content[3].resource.x: no member"),
        ([M, 0, "content", 3, "resource"], 5, "messages[0].content[3].resource: expected an object"),
        ([M, 1, "calls", 0], [], "messages[1].calls[0]: expected an object"),
        ([M, 1, "calls", 0, "id"], "", "messages[1].calls[0].id: expected a text that is not empty"),
        ([M, 1, "calls", 0, "id"], "c2", "messages[1].calls: two calls have the same id"),
        ([M, 1, "calls", 0, "name"], None, "messages[1].calls[0].name: expected a text"),
        ([M, 1, "calls", 0, "arguments"], "{}", "messages[1].calls[0].arguments: expected an object"),
        ([M, 1, "calls", 0, "arguments"], KeyError, "messages[1].calls[0].arguments: it is missing"),
        ([M, 1, "dialect"], KeyError, "messages[1].dialect: expected whose"),
        ([M, 1, "model"], 5, "messages[1].model: expected a text"),
        ([M, 2], KeyError, "messages[2].role: expected tool"),
        ([M, 1], KeyError, "messages[1].role: a message of the role tool answers calls"),
        ([M, 2, "content"], [{"type": "text", "text": "x"}], "messages[2].content: a message of the role tool"),
        ([M, 2, "results"], [], "messages[2].results: expected 2, one a call, got 0"),
        ([M, 2, "results", 0, "id"], "c2", 'messages[2].results[0].id: expected "c1"'),
        ([M, 2, "results", 0, "id"], 5, "messages[2].results[0].id: expected a text"),
        ([M, 2, "results", 0, "content"], None, "messages[2].results[0].content: expected an array"),
        ([M, 2, "results", 0, "data"], [1], "messages[2].results[0].data: expected an object"),
        ([M, 2, "results", 0, "details"], 1, "messages[2].results[0].details: expected an object"),
        ([M, 2, "results", 0, "ok"], False, "messages[2].results[0].ok: expected true"),
        ([M, 2, "results", 0, "duration_ms"], "1", "messages[2].results[0].duration_ms: expected milliseconds"),
        ([M, 2, "results", 0, "duration_ms"], -1, "messages[2].results[0].duration_ms: expected milliseconds"),
        ([M, 2, "results", 1, "error", "code"], "OOPS", "messages[2].results[1].error.code: expected a code"),
        ([M, 2, "results", 1, "error", "code"], [], "messages[2].results[1].error.code: expected a code"),
        ([M, 2, "results", 1, "error", "message"], 1, "messages[2].results[1].error.message: expected a text"),
        ([M, 2, "results", 1, "error", "details"], 1, "messages[2].results[1].error.details: expected an object"),
        ([M, 2, "results", 1, "error"], "no", "messages[2].results[1].error: expected an object"),
    ],
)
def test_what_is_broken_is_refused_with_its_place(path: list[Any], value: Any, says: str) -> None:
    with pytest.raises(ValueError) as caught:
        Conversation.from_json(changed(path, value))
    assert says in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [None, [], "x", 5, {}, {"pegboard_conversation": 1}, object(), float("nan")])
def test_what_is_not_a_conversation_is_refused(value: Any) -> None:
    with pytest.raises(ValueError):
        Conversation.from_json(value)


def test_a_conversation_that_is_too_deep_is_refused() -> None:
    deep: Any = {}
    for _ in range(250):
        deep = {"a": deep}
    with pytest.raises(ValueError, match="nesting"):
        Conversation.from_json(changed([M, 1, "raw"], deep))


def test_a_result_as_deep_as_a_tool_may_give_is_read_again() -> None:
    deep: Any = "bottom"
    for _ in range(62):
        deep = [deep]
    result = attrs.evolve(ToolResult.json({"deep": deep}), id="1", name="dig")
    said = Message("assistant", calls=(ToolCall("1", "dig", {"deep": deep}),))
    conversation = Conversation().ask("x").add(said, Message("tool", results=(result,)))
    saved = json.loads(json.dumps(conversation.to_json()))
    assert Conversation.from_json(saved).to_json() == saved


_PLACES: list[list[Any]] = []


def _walk(value: Any, path: list[Any]) -> None:
    if path:
        _PLACES.append(path)
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        _walk(inner, [*path, key])


_walk(saved(), [])

_VALUES = st.sampled_from([KeyError, None, True, 0, -1, 1.5, "", "x", "tool", "user", [], {}, [{}], {"type": "text"}])


@settings(max_examples=400)
@given(path=st.sampled_from(_PLACES), value=_VALUES)
def test_whatever_is_changed_the_reader_gives_a_sound_conversation_or_a_place(path: list[Any], value: Any) -> None:
    """A saved conversation with anything in any place is refused with a ValueError, or is written as it was read."""
    try:
        read = Conversation.from_json(changed(path, value))
    except ValueError:
        return
    again = read.to_json()
    assert Conversation.from_json(json.loads(json.dumps(again))).to_json() == again


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
_BLOCKS = st.lists(
    st.builds(TextContent, _TEXT)
    | st.builds(ImageContent, st.binary(max_size=3))
    | st.builds(AudioContent, st.binary(max_size=3))
    | st.builds(BinaryContent, st.binary(max_size=3), uri=st.none() | st.just("a:b"), name=st.none() | _TEXT)
    | st.builds(BinaryContent, st.none(), uri=st.just("a:b"), name=st.none() | _TEXT),
    max_size=3,
).map(tuple)
_OBJECT = st.dictionaries(
    _TEXT, st.none() | st.integers(-9, 9) | _TEXT | st.lists(st.booleans(), max_size=2), max_size=3
)


@st.composite
def conversations(draw: Any) -> Conversation:
    messages: list[Message] = []
    for _ in range(draw(st.integers(0, 4))):
        if draw(st.booleans()):
            messages.append(Message("user", draw(_BLOCKS)))
            continue
        ids = draw(st.lists(_TEXT.filter(bool), max_size=3, unique=True))
        calls = tuple(ToolCall(one, draw(_TEXT), draw(_OBJECT)) for one in ids)
        raw = draw(st.none() | _OBJECT)
        messages.append(Message("assistant", draw(_BLOCKS), calls, (), raw, None if raw is None else "echo", "m"))
        if calls:
            results = tuple(
                ToolResult.error("TIMEOUT", draw(_TEXT)).__class__(
                    draw(_BLOCKS),
                    draw(st.none() | _OBJECT),
                    None,
                    draw(st.none() | _OBJECT.filter(bool)),
                    one,
                    "n",
                    1.5,
                )
                for one in ids
            )
            messages.append(Message("tool", (), (), results))
    return Conversation(draw(st.none() | _TEXT), tuple(messages))


@settings(max_examples=100)
@given(conversation=conversations())
def test_what_is_written_is_read_back_the_same(conversation: Conversation) -> None:
    """Any conversation that holds the invariants is the same after it was saved as JSON text and loaded."""
    assert Conversation.from_json(json.loads(json.dumps(conversation.to_json()))) == conversation
