"""A sample fits its schema, or there is none."""

from __future__ import annotations

import re
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_toolgen._patterns import text_for
from pegboard_toolgen.samples import FORMATS, Checker, NoSampleError, sample_of


def closed(properties: dict[str, Any], required: list[str] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": list(properties) if required is None else required,
        **more,
    }


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("email", {"type": "string"}, "ada@example.com"),
        ("userId", {"type": "string"}, "1"),
        ("path", {"type": "string"}, "data.txt"),
        ("anything", {"type": "string"}, "example"),
        ("anything", {"type": "string", "maxLength": 3}, "exa"),
        ("anything", {"type": "string", "minLength": 10}, "exampleexample"),
        ("level", {"enum": ["fast", "safe"]}, "fast"),
        ("level", {"const": 3}, 3),
        ("level", {"type": "string", "default": "slow"}, "slow"),
        ("level", {"type": "string", "examples": ["x"], "default": "slow"}, "x"),
        ("level", {"type": "integer", "examples": ["no"]}, 1),
        ("per_page", {"type": "integer", "maximum": 5}, 1),
        ("count", {"type": "integer", "minimum": 20}, 20),
        ("ratio", {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ("step", {"type": "integer", "multipleOf": 7}, 7),
        ("when", {"type": "string", "format": "date"}, FORMATS["date"]),
        ("code", {"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$"}, "AAA-1"),
        ("flag", {"type": "boolean"}, True),
        ("nothing", {"type": "null"}, None),
        ("maybe", {"type": ["null", "integer"]}, 1),
        ("tags", {"type": "array", "items": {"type": "string"}}, ["example"]),
        (
            "two",
            {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True},
            ["example", "example1"],
        ),
        ("pair", {"type": "array", "prefixItems": [{"type": "integer"}, {"const": "x"}], "items": False}, [1, "x"]),
        ("either", {"oneOf": [{"type": "integer"}, {"type": "string"}]}, 1),
        ("both", {"allOf": [{"type": "integer", "minimum": 5}, {"minimum": 8}]}, 10),
        (
            "both",
            {"allOf": [closed({"type": {"type": "string"}}), {"properties": {"type": {"enum": ["tag"]}}}]},
            {"type": "tag"},
        ),
        ("ref", {"$ref": "#/$defs/colour"}, "red"),
        ("nested", {"$ref": "#/$defs/node"}, {"value": 1}),
        ("free", {"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}}, {"key_1": 1}),
        ("any", True, "example"),
        ("not", {"type": "integer", "not": {"const": 1}}, 10),
    ],
)
def test_a_parameter_gets_a_value_that_makes_sense(name: str, schema: Any, value: Any) -> None:
    defs = {
        "colour": {"enum": ["red"]},
        "node": closed({"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}, ["value"]),
    }
    assert sample_of(closed({name: schema}), defs) == {name: value}


def test_an_example_of_the_source_that_was_cut_short_is_passed_over() -> None:
    digest = {"type": "string", "pattern": "^sha256:[a-f0-9]{64}$", "minLength": 71, "maxLength": 71}
    schema = {"type": "object", "properties": {"d": {**digest, "examples": ["sha256:0ecb..."]}}, "required": ["d"]}
    assert len(sample_of(schema)["d"]) == 71


def test_only_what_is_required_is_given() -> None:
    assert sample_of(closed({"a": {"type": "string"}, "b": {"type": "string"}}, ["b"])) == {"b": "example"}


def test_what_is_required_together_is_found() -> None:
    schema = closed(
        {"a": {"type": "integer"}, "b": {"type": "integer"}}, [], anyOf=[{"required": ["a"]}, {"required": ["b"]}]
    )
    assert sample_of(schema) == {"a": 1}
    assert sample_of(closed({"a": {"type": "integer"}}, [], minProperties=1)) == {"a": 1}


@pytest.mark.parametrize(
    "schema",
    [
        closed({"a": False}),
        closed({"a": {"type": "string", "pattern": "^(?=x)y$"}}),
        closed({"a": {"$ref": "#/$defs/endless"}}),
        closed({"a": {"type": "integer", "minimum": 2, "maximum": 1}}),
        closed({"a": {"type": "string", "minLength": 10_000}}),
        closed({"a": {"$ref": "#/$defs/nowhere"}}),
    ],
)
def test_where_nothing_fits_that_is_said(schema: Any) -> None:
    with pytest.raises(NoSampleError):
        sample_of(schema, {"endless": closed({"next": {"$ref": "#/$defs/endless"}})})


def test_a_checker_says_what_is_wrong() -> None:
    checker = Checker(closed({"a": {"type": "integer"}}), {})
    assert "a: " in checker.why_not({"a": "x"})
    assert checker.why_not({"a": 1}) == ""
    assert not checker.fits({"a": "\ud800"})


SCHEMAS: Any = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "string", "format": "email"},
            {"type": "string", "minLength": 3, "maxLength": 4},
            {"type": "integer", "minimum": 3},
            {"type": "number", "exclusiveMinimum": -1, "maximum": 0},
            {"enum": [None, "x"]},
            {"type": "boolean"},
            {"const": {"a": 1}},
            True,
            {},
            {"type": "string", "pattern": "^a+b{2,3}$"},
        ]
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner, "minItems": st.integers(0, 3)}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}),
        st.dictionaries(st.sampled_from(["name", "id", "x"]), inner, max_size=3).map(closed),
    ),
    max_leaves=8,
)


@settings(max_examples=50)
@given(properties=st.dictionaries(st.sampled_from(["path", "limit", "q", "userName"]), SCHEMAS, max_size=4))
def test_any_sample_fits_its_schema_and_is_the_same_again(properties: dict[str, Any]) -> None:
    """A sample is valid, whatever the schema; these schemas, which can be satisfied, all have one."""
    schema = closed(properties)
    sample = sample_of(schema)
    assert jsonschema_rs.is_valid(schema, sample)
    assert sample_of(schema) == sample


@settings(max_examples=70)
@given(pattern=st.text(st.sampled_from("ab1^$.*+?{}[](|)-\\dwsn,:<>P"), max_size=12))
def test_any_pattern_gives_a_text_or_nothing(pattern: str) -> None:
    """No pattern makes the reader fail or run on; what it gives is short."""
    text = text_for(pattern)
    assert text is None or len(text) <= 10_000


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-zA-Z0-9][a-zA-Z0-9_-]*$",
        r"^\d{4}-\d{2}$",
        r"^(?:a|b)c?$",
        r"^[^/]+$",
        r"^\w+@\w+\.com$",
        r"^(?P<x>a)b$",
        r"^(?<year>\d+)$",
        r"[\w.]+",
        r"^\x41\u0042$",
        r"^a{2}$",
        r"^a{2,}$",
        r"^$",
        r"\S+",
        r"^[\d-]{3}$",
        r"^[]a]$",
    ],
)
def test_a_simple_pattern_is_met(pattern: str) -> None:
    text = text_for(pattern)
    assert text is not None
    assert re.search(re.sub(r"\(\?<(?=\w)", "(?P<", pattern), text)


@pytest.mark.parametrize(
    "pattern",
    ["(?=a)b", r"(a)\1", "a" * 2_000, "[", "(a", "a)", r"\p{L}", "*", "a{3000}", r"[\D]", r"\xzz", "(?<", "(?P<a"],
)
def test_a_pattern_that_is_not_simple_gives_nothing(pattern: str) -> None:
    assert text_for(pattern) is None
