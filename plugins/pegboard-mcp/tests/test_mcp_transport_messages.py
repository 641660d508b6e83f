"""One JSON-RPC message out of its JSON, whatever came."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_types import jsonrpc_message_adapter

from pegboard_mcp.client.transports._messages import message_of, read_message, refused_answer
from pegboard_mcp.server.messages import message_of as served_message_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), lambda inner: st.lists(inner),
    max_leaves=5,
)  # fmt: skip
UNREADABLE = "its JSON cannot be read: it is nested too deep, or has a number that is too large"
MEMBERS = {
    "jsonrpc": st.sampled_from(["2.0", "1.0", 2]),
    "id": st.integers() | st.text() | st.floats(allow_nan=False) | st.none() | st.booleans(),
    "method": st.text() | st.integers(),
    "params": st.dictionaries(st.text(), VALUES) | st.lists(VALUES),
    "result": st.dictionaries(st.text(), VALUES) | VALUES,
    "error": st.fixed_dictionaries({"code": st.integers(), "message": st.text()}) | VALUES,
}


@settings(max_examples=150)
@given(st.fixed_dictionaries({}, optional=MEMBERS))
def test_any_object_is_the_message_that_the_sdk_takes_it_for_or_none(value: dict[str, Any]) -> None:
    said = json.dumps(value)
    try:
        expected = jsonrpc_message_adapter.validate_json(said, by_name=False)
    except ValueError:
        with pytest.raises(ValueError):
            message_of(said)
    else:
        assert message_of(said.encode()) == expected


@settings(max_examples=150)
@given(st.binary() | st.text())
def test_any_bytes_are_a_message_or_a_value_error(said: bytes | str) -> None:
    try:
        message_of(said)
    except ValueError:
        return
    assert json.loads(said)["jsonrpc"] == "2.0"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\ud800", "\N{REPLACEMENT CHARACTER}"),
        (r"a\uDFFFb", "a\N{REPLACEMENT CHARACTER}b"),
        (r"\ud800 \ud83d\ude00 \\ud800", "\N{REPLACEMENT CHARACTER} \N{GRINNING FACE} \\ud800"),
    ],
)
def test_half_a_character_is_replaced_and_costs_no_answer(written: str, read: str) -> None:
    message: Any = message_of(b'{"jsonrpc":"2.0","id":1,"result":{"text":"%s"}}' % written.encode())
    assert message.result == {"text": read}


@pytest.mark.parametrize(
    "said", [b'"\\ud800' + b"[" * 100_000, b"[" * 100_000 + b'"\\ud800"' + b"]" * 100_000, b"", b"\xff"]
)
def test_what_cannot_be_read_is_a_value_error(said: bytes) -> None:
    with pytest.raises(ValueError):
        message_of(said)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('{"jsonrpc":"2.0","id":1,"result":5}', "its `result` is not an object"),
        ('{"jsonrpc":"2.0","id":1,"error":"no"}', "its `error` is not an object"),
        ('{"id":1,"result":{}}', "it is not a message of JSON-RPC 2.0"),
        ('{"jsonrpc":"2.0","id":1,"method":"x","result":5}', None),
        ('{"jsonrpc":"2.0","id":true,"result":5}', None),
        ('{"jsonrpc":"2.0","id":1}', None),
        ("[]", None),
        ("Welcome!", None),
        ('{"jsonrpc":"2.0","id":1,"result":{"a":%s}}' % ("[" * 100_000 + "]" * 100_000), UNREADABLE),
        ('{"jsonrpc":"2.0","result":{"a":%s},"id":1}' % ("9" * 1_000_000), UNREADABLE),
        ('{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":%s}}' % ("9" * 1_000_000), None),
        ('{"id":1,"msg":%s}' % ("9" * 1_000_000), None),
        ('{"jsonrpc":"2.0","id":1,"result":{"a":', None),
    ],
    ids=lambda one: str(one)[:40],
)
def test_an_answer_that_is_none_is_refused_in_the_name_of_its_request(said: str, why: str | None) -> None:
    refused = refused_answer(said)
    assert (refused and refused.error.message) == why
    if refused is not None:
        assert refused.id == 1
        assert read_message(said) == refused


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 'jsonrpc has to be "2.0"'),
        ({"id": 1, "method": "ping"}, 'jsonrpc has to be "2.0"'),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, "id has to be a string or an integer"),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, "id has to be a string or an integer"),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, "id has to be a string or an integer"),
        ({"jsonrpc": "2.0", "id": 1}, "a message has a method, a result or an error"),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, "method has to be a string"),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, "params has to be an object"),
        ({"jsonrpc": "2.0", "id": 1, "error": 5}, "no JSON-RPC 2.0 message"),
    ],
)
def test_what_is_not_a_message_is_told_why(said: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=f"Invalid request: {why}"):
        served_message_of(json.dumps(said))
