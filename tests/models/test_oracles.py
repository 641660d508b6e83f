"""The oracles themselves: what they must find, and what the providers' own traffic says of them."""

from __future__ import annotations

from typing import Any

import pytest

CALL = {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
RIGHT: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "1", "content": "3"},
        ],
        "tools": [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}],
    },
    "/v1/responses": {
        "model": "m",
        "input": [
            {"role": "user", "content": "hi"},
            {"type": "function_call", "call_id": "1", "name": "add", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "1", "output": "3"},
        ],
        "tools": [{"type": "function", "name": "add", "parameters": {}, "strict": False}],
    },
    "/v1/messages": {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "add", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "3"}]},
        ],
        "tools": [{"name": "add", "input_schema": {"type": "object"}}],
    },
    "/v2/chat": {
        "model": "m",
        "stream": False,
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_calls": [CALL], "tool_plan": "I add."},
            {"role": "tool", "tool_call_id": "1", "content": "3"},
        ],
        "tools": [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}],
    },
    "/v1beta/models/m:generateContent": {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "add", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "add", "response": {"output": "3"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "add", "parametersJsonSchema": {"type": "object"}}]}],
    },
}


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every object in a JSON value, except where any object may stand."""
    if path and path[-1] in ("parameters", "input_schema", "parametersJsonSchema", "args", "input", "response"):
        return [] if isinstance(value, dict) else _inner(value, path)
    return ([path] if isinstance(value, dict) else []) + _inner(value, path)


def _inner(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for step, one in steps for place in _places(one, (*path, step))]


def _with(value: Any, path: tuple[Any, ...], members: dict[str, Any]) -> Any:
    if not path:
        return {**value, **members}
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(value[path[0]], path[1:], members)
    return copy


@pytest.mark.parametrize("path", RIGHT)
def test_what_is_right_is_taken(path: str, judge_request: Any) -> None:
    assert judge_request(path, RIGHT[path]) == []


@pytest.mark.parametrize("path", RIGHT)
def test_a_member_that_nobody_knows_is_found_at_any_place(path: str, judge_request: Any) -> None:
    body = RIGHT[path]
    assert len(_places(body)) >= 5
    for place in _places(body):
        assert judge_request(path, _with(body, place, {"nobody_knows": 1})), place


@pytest.mark.parametrize("path", RIGHT)
def test_a_name_that_is_not_text_is_found_at_any_place(path: str, judge_request: Any) -> None:
    body = RIGHT[path]
    named = [place for place in _places(body) if "name" in _at(body, place)]
    assert named
    for place in named:
        assert judge_request(path, _with(body, place, {"name": 7})), place


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def test_a_path_that_nobody_serves_is_not_an_api(judge_request: Any) -> None:
    assert judge_request("/v1/embeddings", {})


async def test_most_recorded_requests_are_taken_and_the_others_are_known(
    cassettes: list[Any], judge_request: Any
) -> None:
    """The oracles are stricter than the providers: members under their old names are all that they have against it."""
    refused = {
        said.rpartition(" ")[2]
        for tape in cassettes
        for exchange in tape.exchanges
        for said in judge_request(exchange.url, exchange.body)
        if " has no " in said
    }
    assert refused == {"'function_call'", "'function_response'", "'parameters_json_schema'", "'temperature'"}
