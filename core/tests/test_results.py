"""Results: one class for success and failure."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ErrorCode, ImageContent, TextContent, ToolError, ToolResult

DATA = st.none() | st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)
CONTENT = st.lists(
    st.builds(TextContent, st.text(max_size=5)) | st.builds(ImageContent, st.binary(max_size=5)), max_size=3
)
ERRORS = st.none() | st.builds(ToolError, st.sampled_from(ErrorCode), st.text(max_size=5))
RESULTS = st.builds(
    ToolResult,
    content=CONTENT.map(tuple),
    data=DATA,
    error=ERRORS,
    details=st.none() | st.fixed_dictionaries({"late": st.booleans()}),
    id=st.text(max_size=5),
    name=st.text(max_size=5),
    duration_ms=st.integers(0, 10**6).map(lambda n: n / 1000),
)


@given(RESULTS)
def test_a_result_is_read_back_as_it_was_written(result: ToolResult) -> None:
    line = json.loads(json.dumps(result.to_json()))
    assert ToolResult.from_json(line) == result
    assert line["ok"] is result.ok is (result.error is None)


def test_the_line_of_batch_has_these_members() -> None:
    assert ToolResult.text("a", data={"b": 1}).to_json() == {
        "id": "",
        "name": "",
        "ok": True,
        "content": [{"type": "text", "text": "a"}],
        "data": {"b": 1},
        "error": None,
        "duration_ms": 0.0,
    }
    failed = ToolResult.error("NOT_FOUND", "no", near=["x"])
    assert failed.to_json()["error"] == {
        "code": "NOT_FOUND",
        "message": "no",
        "details": {"near": ["x"], "retry": "changed"},
    }
    assert "details" not in failed.to_json()


def test_results_are_made_and_read_by_the_same_names() -> None:
    assert ToolResult.text("a").text == "a"
    assert ToolResult.json([1]).data == {"result": [1]}
    assert ToolResult.json({"a": 1}, text="one").text == "one"
    assert ToolResult.json({"a": "é"}).json["data"] == {"a": "é"}
    assert ToolResult.error("CONFLICT", "no").error == ToolError("CONFLICT", "no")
    assert ToolResult.empty() == ToolResult()
    assert ToolResult(content=(TextContent("a"), ImageContent(b"x"), TextContent("b"))).text == "a\nb"


def test_a_failed_result_raises_on_demand_and_a_good_one_is_itself() -> None:
    good, bad = ToolResult.text("a"), ToolResult.error("CONFLICT", "no")
    assert good.raise_for_error() is good
    with pytest.raises(ToolError, match="no") as caught:
        bad.raise_for_error()
    assert caught.value.code is ErrorCode.CONFLICT


def test_a_result_is_frozen_and_shows_what_matters() -> None:
    result = ToolResult.text("a", data={"b": 1})
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        result.id = "x"  # type: ignore[misc]
    assert repr(result) == "ToolResult(?: [TextContent(text='a')], data={'b': 1})"
    assert "CONFLICT" in repr(ToolResult.error("CONFLICT", "no"))


@pytest.mark.parametrize("line", [{"content": [{"type": "x"}]}, {"error": {"code": "NO_SUCH"}}])
def test_what_is_of_no_known_kind_is_a_value_error(line: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        ToolResult.from_json(line)
