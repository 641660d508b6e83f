"""Flat objects are explained in one pass, with the words of the walker."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pegboard.schema.explain import explain
from pegboard.schema.flat import FlatObject
from pegboard.validation import CoreValidator

NAMES = st.sampled_from(["a", "b", "count", "counts", "is-odd", "é", "", "x" * 90])
ONE_TYPE = st.sampled_from(["string", "integer", "number", "boolean", "null"])
TYPES = ONE_TYPE | st.lists(ONE_TYPE, min_size=1, max_size=3, unique=True)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2**63, -(2**63), 10**5000, 1.0, 1.5, -0.0, 1e308, float("inf"), float("nan")]),
    st.sampled_from(["", "a", "7", "[1]", "é", "a\u200bb", "\ud800", "x" * 5000, '"', "\n"]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(NAMES, SCALARS, max_size=2))


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    members = draw(st.dictionaries(NAMES, TYPES, max_size=6))
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: {"type": expected, "description": "a member"} for name, expected in members.items()},
        "additionalProperties": False,
    }
    if required := draw(st.lists(NAMES, unique=True, max_size=3)):
        schema["required"] = required
    return schema


@given(schemas(), st.dictionaries(NAMES, VALUES, max_size=6) | VALUES)
@example({"type": "object", "additionalProperties": False, "required": ["a"]}, {})
@example({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}, {"a": 1.0})
def test_what_is_told_in_one_pass_is_what_the_walker_tells(schema: dict[str, Any], value: Any) -> None:
    flat = FlatObject.of(schema)
    assert flat is not None
    faults = flat.faults_of(value)
    if faults is not None:
        assert faults == explain(schema, value)
    assert list(CoreValidator(schema)(value)) == explain(schema, value)


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {},
        {"type": "object"},
        {"type": "object", "additionalProperties": True},
        {"type": "array", "additionalProperties": False},
        {"type": ["object", "null"], "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": ["integer", "array"]}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": True}, "additionalProperties": False},
        {"type": "object", "minProperties": 1, "additionalProperties": False},
        {"type": "object", "properties": {f"p{n}": {"type": "null"} for n in range(30)}, "additionalProperties": False},
    ],
)
def test_a_schema_that_says_more_is_left_to_the_walker(schema: Any) -> None:
    assert FlatObject.of(schema) is None


@pytest.mark.parametrize("value", [[], None, "a", {"a": {}}, {"a": []}, {"b": 1}, {"a": 10**5000}, {"a": "é"}])
def test_a_value_that_is_not_flat_is_left_to_the_walker(value: Any) -> None:
    flat = FlatObject.of({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False})
    assert flat is not None
    assert flat.faults_of(value) is None


def test_a_wrong_argument_is_told_without_compiling_or_walking_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    from pegboard import validation
    from pegboard.schema import explain as walker

    for module, name in ((validation, "_accepting"), (walker, "_Walk")):
        monkeypatch.setattr(module, name, lambda *_: pytest.fail("the schema was gone through"))
    validate = CoreValidator({"type": "object", "properties": {"a": {"type": "number"}}, "additionalProperties": False})
    (fault,) = validate({"a": "x"})
    assert str(fault) == 'a: expected number, got "x"'
    assert validate({"a": 1}) == []
