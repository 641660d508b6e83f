"""Results: one class for success and failure."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ErrorCode, ImageContent, TextContent, ToolError, ToolResult
from pegboard.pipeline.normalise import UnusableError, to_result
from pegboard.results import read_plain

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
    assert vars(result).items() <= vars(ToolResult.from_json_text(json.dumps(line))).items()
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


ODD_TEXTS = st.text(
    st.sampled_from('ab\r\n\t\\\x00\x1b\x7f\x85\u00ad\u200b\u202e\u2028\ufeff\ud800é\U000e0041"u'), max_size=6
)
VALUES = st.recursive(
    ODD_TEXTS | st.integers() | st.floats() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(ODD_TEXTS, inner, max_size=2),
    max_leaves=5,
)


@given(ODD_TEXTS, st.none() | st.dictionaries(ODD_TEXTS, VALUES, max_size=2), st.booleans(), st.sampled_from([None, 1]))
def test_a_result_that_is_read_as_plain_is_one_in_which_nothing_is_to_be_cleaned(
    shown: str, data: Any, is_ascii: bool, indent: int | None
) -> None:
    """Whoever wrote the text, and however: what is read as plain, the long way gives as it is."""
    line = {"content": [{"type": "text", "text": shown}], "data": data}
    text = json.dumps(line, ensure_ascii=is_ascii, indent=indent)
    plain = read_plain(text)
    try:
        whole, size = to_result(ToolResult.from_json(json.loads(text)))
    except UnusableError:
        assert plain is None
        return
    if plain is not None:
        assert ((plain.content, plain.data), whole.details) == ((whole.content, whole.data), None)
        assert size <= plain.size + 30


@pytest.mark.parametrize(
    "line",
    [
        {"content": [{"type": "text", "text": "x"}], "error": {"code": "INTERNAL_ERROR", "message": "x"}},
        {"content": [{"type": "text", "text": "x"}], "details": {"late": True}},
        {"content": [{"type": "image", "data": "", "mimeType": "image/png"}]},
        {"content": [{"type": "text", "text": 7}]},
        {"content": []},
        {"content": [{"type": "text", "text": "x"}], "data": [7]},
        [],
    ],
)
def test_what_is_more_than_a_plain_result_is_not_read_as_one(line: Any) -> None:
    assert read_plain(json.dumps(line)) is None


def test_plain_results_are_read() -> None:
    plain = read_plain(json.dumps(ToolResult.json({"a": ["b\n", 1.5, {}]}).to_json(), ensure_ascii=False))
    assert plain is not None
    assert plain.data == {"a": ["b\n", 1.5, {}]}
