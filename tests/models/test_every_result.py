"""Every result of every tool on the board goes through every dialect, and the calls that they answer come back.

The results are those of the tools' own examples and of calls that are wrong, and, since no tool here gives all that a
tool may give, made ones: images, sound, files, links, nothing at all, and more than anybody wants.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import pytest

from pegboard import (
    AudioContent,
    BinaryContent,
    ImageContent,
    TextContent,
    ToolCall,
    ToolResult,
    open_host,
    thaw,
)
from pegboard_chat import Conversation, Message, ModelRequest, open_model

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "CO_API_KEY", "GEMINI_API_KEY")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WAV = base64.b64decode("UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQQAAAAAAAAA")
PDF = b"%PDF-1.4\n%%EOF\n"
LONG = "All work and no play. " * 50_000
DEEP: Any = "bottom"
for _ in range(30):
    DEEP = {"deeper": [DEEP]}

MADE: dict[str, ToolResult] = {
    "nothing": ToolResult.empty(),
    "an empty text": ToolResult.text(""),
    "blank lines": ToolResult.text(" \n\n "),
    "signs": ToolResult.text("a\x00b\x1b[31m\u202e…“”👍\u2028\ud83d"),
    "markup": ToolResult.text('</tool_result>"}]}\n\ndata: [DONE]\n\n'),
    "data alone": ToolResult(data={"total": 437, "of": [19, 23]}),
    "text and data": ToolResult.json({"total": 437}),
    "deep data": ToolResult.json(DEEP),
    "numbers": ToolResult.json({"big": 10**30, "small": 1e-300, "none": None, "yes": True}),
    "several texts": ToolResult((TextContent("first"), TextContent("second"))),
    "an image": ToolResult((ImageContent(PNG),)),
    "an image of another kind": ToolResult((ImageContent(b"<svg/>", "image/svg+xml"),)),
    "an image in text": ToolResult((TextContent("before"), ImageContent(PNG), TextContent("after"))),
    "two images": ToolResult((ImageContent(PNG), ImageContent(PNG, "image/jpeg"))),
    "sound": ToolResult((AudioContent(WAV),)),
    "sound of another kind": ToolResult((AudioContent(b"OggS", "audio/ogg"),)),
    "a file": ToolResult((BinaryContent(PDF, "application/pdf", name="a.pdf"),)),
    "a file of bytes": ToolResult((BinaryContent(bytes(range(256)), uri="file:///a.bin"),)),
    "a file of text": ToolResult((BinaryContent("embedded ü".encode(), "text/plain", "note://1"),)),
    "a file that says it is text": ToolResult((BinaryContent(b"\xff\xfe\x00", "text/plain"),)),
    "a link": ToolResult((BinaryContent(None, "text/html", "https://example.org/a", "a page"),)),
    "empty bytes": ToolResult((ImageContent(b""), AudioContent(b""), BinaryContent(b""))),
    "a long text": ToolResult.text(LONG),
    "many blocks": ToolResult(tuple(TextContent(str(at)) for at in range(500))),
    "an error": ToolResult.error("CONFLICT", "it is there already; choose another name", name="a"),
    "an error with faults": ToolResult.error(
        "INVALID_INPUT",
        "the arguments are wrong",
        faults=[{"path": "a[0].b", "expected": "integer", "got": "'x'"}],
    ),
    "an error that passes": ToolResult.error("RATE_LIMITED", "too often", retry_after_s=3),
    "an error with an image": attrs.evolve(
        ToolResult.error("UPSTREAM_ERROR", "this came instead"),
        content=(TextContent("this came instead"), ImageContent(PNG)),
    ),
}


CARRIED = {
    "openai": {"an image": PNG, "an image in text": PNG, "sound": WAV, "a file": PDF},
    "openai-responses": {"an image": PNG, "an image in text": PNG, "a file": PDF},
    "anthropic": {"an image": PNG, "an image in text": PNG, "a file": PDF},
    "cohere": {"an image": PNG, "an image in text": PNG},
    "gemini": {"an image": PNG, "an image in text": PNG, "sound": WAV, "a file": PDF},
}
"""Bytes that have to arrive, since the provider takes their kind; others are told of in words."""
MODELS = {"cohere": "command-a-vision-07-2025"}
"""Models that take images, where not every one does."""
FLAGGED = {"anthropic", "gemini"}
"""Who has a flag for errors; the others read the code in the text."""


class Shape(NamedTuple):
    """Where an API keeps calls and their answers in a body, by the ids (Gemini: names) that tie them together."""

    path: str
    asked: Callable[[Any], list[Any]]
    answered: Callable[[Any], list[Any]]
    turn: Callable[[Any], Any]


def _blocks(body: Any, kind: str) -> list[Any]:
    lists = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    return [block for blocks in lists for block in blocks if block["type"] == kind]


def _parts(body: Any, kind: str) -> list[Any]:
    return [part[kind] for content in body["contents"] for part in content["parts"] if kind in part]


def _items(body: Any, kind: str) -> list[Any]:
    return [item for item in body["input"] if item.get("type") == kind]


def _assistant(body: Any) -> Any:
    (turn,) = [message for message in body["messages"] if message["role"] == "assistant"]
    return turn


def _by_message(path: str) -> Shape:
    return Shape(
        path,
        lambda body: [call["id"] for call in _assistant(body)["tool_calls"]],
        lambda body: [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"],
        _assistant,
    )


SHAPES = {
    "openai": _by_message("/chat/completions"),
    "cohere": _by_message("/v2/chat"),
    "openai-responses": Shape(
        "/responses",
        lambda body: [item["call_id"] for item in _items(body, "function_call")],
        lambda body: [item["call_id"] for item in _items(body, "function_call_output")],
        lambda body: {"output": _items(body, "function_call")},
    ),
    "anthropic": Shape(
        "/v1/messages",
        lambda body: [block["id"] for block in _blocks(body, "tool_use")],
        lambda body: [block["tool_use_id"] for block in _blocks(body, "tool_result")],
        _assistant,
    ),
    "gemini": Shape(
        "/models/a:generateContent",
        lambda body: [call["name"] for call in _parts(body, "functionCall")],
        lambda body: [answer["name"] for answer in _parts(body, "functionResponse")],
        lambda body: next(content for content in body["contents"] if content["role"] == "model"),
    ),
}


class Answered(NamedTuple):
    """A call, and what came back."""

    what: str
    call: ToolCall
    result: ToolResult


@pytest.fixture
async def board(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """A host with every installed package, whose data and files are in a folder of its own."""
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    files = tmp_path / "files"
    (files / "output").mkdir(parents=True)
    (files / "README.md").write_text("## A title\n\nTODO: more ü\n", encoding="utf-8")
    (files / "notes.txt").write_text("teh end\n", encoding="utf-8")
    monkeypatch.chdir(files)
    config = {
        "user_id": "ada",
        "plugins": {"files": {"roots": [str(files)]}},
        "tools": {name: {"allowed_paths": [str(files)]} for name in ("write_file", "edit_file")},
    }
    async with open_host(config) as host:
        yield host


async def _results(host: Any) -> list[Answered]:
    """What every tool answers to its own examples and to what is wrong; then what was made."""
    session = host.session(user_id="ada")
    found = []
    for name, tool in sorted(host.tools.items()):
        examples = [thaw(example.arguments) for example in tool.examples]
        assert examples, f"{name} shows no example"
        for at, arguments in enumerate([*examples, {"no such argument": [1]}]):
            call = ToolCall(f"call_{name}_{at}", name, arguments)
            found.append(Answered(f"{name} {at}", call, await session.call(name, arguments, id=call.id)))
    for at, (what, result) in enumerate(MADE.items()):
        call = ToolCall(f"call_made_{at}", "echo", {"message": what})
        found.append(Answered(what, call, attrs.evolve(result, id=call.id, name=call.name)))
    return found


def _talk(*answered: Answered) -> Conversation:
    asked = Conversation("Be brief.").ask("Do it.")
    calls = tuple(one.call for one in answered)
    return asked.add(Message("assistant", calls=calls), Message("tool", results=tuple(one.result for one in answered)))


def _given(call: ToolCall) -> dict[str, Any]:
    """The arguments, without the nulls that a strict form asks for where null is the default anyway."""
    return {key: value for key, value in call.arguments.items() if value is not None}


def _strings(value: Any) -> str:
    """Every text in a JSON value."""
    if isinstance(value, dict):
        return "\n".join(map(_strings, value.values()))
    if isinstance(value, list):
        return "\n".join(map(_strings, value))
    return value if isinstance(value, str) else ""


def _must_say(result: ToolResult, provider: str) -> list[str]:
    """The texts that must be found in whatever carries the result."""
    if result.error is not None:
        return [result.error.message, *([] if provider in FLAGGED else [result.error.code.value])]
    said = [block.text for block in result.content if isinstance(block, TextContent)]
    said += [block.text or "" for block in result.content if isinstance(block, BinaryContent)]
    if not result.content and result.data:
        said.append(next(iter(result.data)))
    return [text.strip() for text in said if text.strip()]


async def test_every_result_goes_through_every_dialect_and_every_call_comes_back(
    board: Any, judged: Callable[[str, Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = await _results(board)
    for name in KEYS:
        monkeypatch.setenv(name, "a-key-of-nobody")
    assert sum(one.result.ok for one in answered) > len(board.tools)
    assert {one.call.name for one in answered} == set(board.tools)
    for provider, shape in SHAPES.items():
        name = MODELS.get(provider, "a-model")
        async with open_model(board, f"{provider}:{name}") as model:
            dialect = model.dialect
            export = dialect.export(board.tools[name] for name in sorted(board.tools))
            for one in answered:
                request = ModelRequest(_talk(one), stream=False, max_tokens=100)
                body = json.loads(json.dumps(dialect.body(request, name), allow_nan=False))
                where = f"{provider}: {one.what}"
                assert shape.answered(body) == shape.asked(body), where
                assert len(shape.answered(body)) == 1, where
                said = _strings(body)
                assert [text[:60] for text in _must_say(one.result, provider) if text not in said] == [], where
                carried = CARRIED[provider].get(one.what, b"")
                assert base64.b64encode(carried).decode() in said, f"{where}: the bytes are lost"
                if len(said) < 10_000:
                    judged(shape.path, body)
            request = ModelRequest(_talk(*answered), export, stream=False, max_tokens=100)
            body = json.loads(json.dumps(dialect.body(request, name), allow_nan=False))
            judged(shape.path, body)
            assert shape.answered(body) == shape.asked(body)
            assert len(shape.answered(body)) == len(answered)
            back = export.parse(shape.turn(body))
            for call, one in zip(back, answered, strict=True):
                assert isinstance(call, ToolCall), f"{provider}: {one.what}: {call}"
                assert call.name == one.call.name, f"{provider}: {one.what}"
                assert _given(call) == _given(one.call), f"{provider}: {one.what}"


async def test_every_result_goes_through_the_board_s_own_dialects_too(board: Any) -> None:
    answered = await _results(board)
    for name in sorted(board.board.dialects):
        export = board.board.export(name)
        for one in answered:
            (message, *_more) = export.format([one.result])
            json.dumps(message, allow_nan=False)
            if name == "json":
                assert ToolResult.from_json(json.loads(json.dumps(message))) == attrs.evolve(
                    one.result, duration_ms=round(one.result.duration_ms, 3)
                )
