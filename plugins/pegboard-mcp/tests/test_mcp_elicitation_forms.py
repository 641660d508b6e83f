"""Forms of servers: what a person may be asked to fill in, and what of it is sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_mcp.client.forms import MAX_FIELDS, FormError, filled_in, form_of


def form(field: Any, **more: Any) -> dict[str, Any]:
    return form_of({"type": "object", "properties": {"x": field}, **more}, lambda text: text.strip())


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ({"type": "string"}, ["", "a"], [1, None, ["a"], True]),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a", "abcd"]),
        ({"type": "string", "format": "email"}, ["a@b.c"], ["a", "a@", "a b@c"]),
        ({"type": "string", "format": "uri"}, ["https://a.b", "urn:x"], ["a", "https:", "a b:c"]),
        ({"type": "string", "format": "date"}, ["2026-02-28"], ["2026-02-30", "20260228", "x"]),
        ({"type": "string", "format": "date-time"}, ["2026-02-28T10:00:00Z"], ["2026-02-28", "10:00"]),
        ({"type": "integer"}, [1, -5], [1.5, "1", True]),
        ({"type": "number", "minimum": 0, "maximum": 1}, [0, 0.5, 1], [-0.1, 1.1, float("nan"), float("inf"), False]),
        ({"type": "boolean"}, [True, False], [1, "yes"]),
        ({"type": "string", "enum": ["a", "b"]}, ["a"], ["c", 1]),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}, ["b"], ["A"]),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, ["a"], ["A"]),
        (
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 1},
            [["a"]],
            [[], ["a", "b"], ["c"], "a", [1]],
        ),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, [[], ["a"]], [["A"], {"a": 1}]),
    ],
    ids=str,
)
def test_each_kind_of_field_takes_what_fits(field: Any, right: list[Any], wrong: list[Any]) -> None:
    made = form(field)
    for value in right:
        assert filled_in(made, {"x": value}) == ({"x": value}, [])
    for value in wrong:
        if value is not None:
            assert len(filled_in(made, {"x": value})[1]) == 1, value


def test_a_whole_float_is_sent_as_an_integer() -> None:
    content, faults = filled_in(form({"type": "integer"}), {"x": 3.0})
    assert (repr(content["x"]), faults) == ("3", [])


def test_a_form_holds_what_is_known_of_forms_and_no_more() -> None:
    field = {"type": "string", "title": " T ", "pattern": "(a+)+$", "x-evil": 1, "minLength": "2", "$ref": "http://a"}
    assert form(field, required=["x", "y"], additionalProperties=True) == {
        "type": "object",
        "properties": {"x": {"type": "string", "title": "T"}},
        "required": ["x"],
    }


def test_a_field_that_may_be_null_is_optional() -> None:
    made = form({"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "N", "default": None}, required=["x"])
    assert made == {"type": "object", "properties": {"x": {"type": "integer", "title": "N"}}, "required": []}
    assert filled_in(made, {"x": None}) == ({}, [])


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {"type": "array"},
        {"properties": 5},
        {"properties": {"x": {"type": "object"}}},
        {"properties": {"x": {"type": "array", "items": {"type": "object"}}}},
        {"properties": {"x": {"type": "array"}}},
        {"properties": {"x": {"type": ["string"]}}},
        {"properties": {"x": {"type": "string", "enum": []}}},
        {"properties": {"x": {"type": "string", "enum": [1]}}},
        {"properties": {"x": {"type": "string", "oneOf": [{"title": "x"}]}}},
        {"properties": {"x": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}},
        {"properties": {"x": 7}},
        {"properties": {"": {"type": "string"}}},
        {"properties": {"x" * 101: {"type": "string"}}},
        {"properties": {"x\n": {"type": "string"}}},
        {"properties": {"x\u3164": {"type": "string"}}},
        {"properties": {"x": {"type": "string", "enum": ["yes", "y\u200bes"]}}},
        {"properties": {"x": {"type": "string", "enum": ["\x1b[2Jyes"]}}},
        {"properties": {"x": {"type": "string", "oneOf": [{"const": "a\U000e0041", "title": "yes"}]}}},
        {"properties": {"x": {"type": "array", "items": {"anyOf": [{"const": "a\u202eb", "title": "a"}]}}}},
        {"properties": {}, "required": "x"},
        {"properties": {f"f{index}": {"type": "string"} for index in range(MAX_FIELDS + 1)}},
    ],
    ids=lambda raw: str(raw)[:60],
)
def test_what_is_not_a_form_is_refused_with_its_place(raw: Any) -> None:
    with pytest.raises(FormError, match="requestedSchema"):
        form_of(raw, str)


def test_a_field_that_was_left_out_has_its_default() -> None:
    made = form({"type": "string", "default": "d"}, required=["x"])
    assert filled_in(made, {}) == ({"x": "d"}, [])
    assert filled_in(made, {"x": "e"}) == ({"x": "e"}, [])


def test_a_default_in_which_something_hides_is_none() -> None:
    assert "default" not in form({"type": "string", "default": "a\U000e0041"})["properties"]["x"]


def test_a_default_that_does_not_fit_is_none() -> None:
    made = form({"type": "integer", "default": "d"}, required=["x"])
    assert filled_in(made, {}) == ({}, ["x: a value is needed"])


def test_fields_that_were_not_asked_for_are_not_sent() -> None:
    assert filled_in(form({"type": "string"}), {"x": "a", "password": "p"})[1] == ["password: there is no such field"]


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from(["string", "integer", "number", "boolean", "array", "object"])
keys = st.sampled_from([
    "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "format", "title", "description", "default",
    "enum", "enumNames", "oneOf", "anyOf", "items",
])  # fmt: skip
any_number = st.just(10**400)  # as no float holds it
bits = (
    any_json
    | any_number
    | st.lists(st.text(max_size=2), max_size=3)
    | st.sampled_from(["date", "email", "date-time", "uri"])
)
fields = st.builds(lambda kind, rest: {"type": kind, **rest}, kinds | any_json, st.dictionaries(keys, bits, max_size=5))
schemas = st.fixed_dictionaries(
    {"properties": st.dictionaries(st.sampled_from("xyz"), fields | any_json, max_size=3) | any_json},
    optional={"required": any_json | st.lists(st.sampled_from("xyz")), "type": any_json | st.just("object")},
)


@settings(max_examples=300)
@given(raw=schemas | any_json, answer=st.dictionaries(st.sampled_from("xyzw"), any_json, max_size=4))
def test_any_schema_is_a_form_or_refused_and_any_answer_is_judged(raw: Any, answer: dict[str, Any]) -> None:
    """Invariant: what passes as filled in has only fields of the form, every required one, and is JSON."""
    try:
        made = form_of(raw, str)
    except FormError:
        return
    json.dumps(made)
    content, faults = filled_in(made, answer)
    if not faults:
        assert set(made["required"]) <= set(content) <= set(made["properties"])
        json.dumps(content, allow_nan=False)
