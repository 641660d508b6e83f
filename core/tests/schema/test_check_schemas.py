"""Which schemas are schemas, and what is said of those that are not valid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.schema.check import annotations_of, faults_of, is_plain
from pegboard.validation import declined, make_validator

DRAFT_7 = "http://json-schema.org/draft-07/schema#"

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats()
    | st.sampled_from(["#", "string", "(", "a", "#/$defs/a"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "properties", "items", "$ref", "$defs", "a", "anyOf", "required", "pattern", "$schema",
                         "$id", "minimum", "dependencies", "patternProperties", "enum", "$dynamicRef", "$anchor"]),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(ANYTHING, st.booleans())
def test_any_json_value_is_a_schema_or_has_faults_that_say_where(value, foreign):
    for fault in faults_of(value, foreign=foreign):
        assert fault.expected
        assert fault.got


@pytest.mark.parametrize(
    ("schema", "path", "expected"),
    [
        ([], "", "a schema, which is an object"),
        ({"type": "strng"}, "type", "one of null"),
        ({"type": []}, "type", "the name of a type"),
        ({"type": ["string", "string"]}, "type", "types that differ"),
        ({"type": 3}, "type", "the name of a type"),
        ({"properties": []}, "properties", "an object"),
        ({"properties": {"a": 3}}, "properties.a", "a schema"),
        ({"properties": {"a": {"minLength": -1}}}, "properties.a.minLength", "a whole number"),
        ({"minLength": 1.5}, "minLength", "a whole number"),
        ({"minLength": True}, "minLength", "a whole number"),
        ({"maximum": "3"}, "maximum", "a number"),
        ({"maximum": float("inf")}, "maximum", "a finite number"),
        ({"multipleOf": 0}, "multipleOf", "a number above zero"),
        ({"required": "a"}, "required", "an array of names"),
        ({"required": ["a", "a"]}, "required", "names that differ"),
        ({"dependentRequired": {"a": "b"}}, "dependentRequired.a", "an array of names"),
        ({"enum": "a"}, "enum", "an array"),
        ({"uniqueItems": 1}, "uniqueItems", "true or false"),
        ({"anyOf": []}, "anyOf", "at least one schema"),
        ({"allOf": [True, 1]}, "allOf[1]", "a schema"),
        ({"items": [{"type": "string"}]}, "items", "a schema"),
        ({"$schema": DRAFT_7, "items": [1]}, "items[0]", "a schema"),
        ({"$schema": DRAFT_7, "dependencies": {"a": 1}}, "dependencies.a", "a schema"),
        ({"$schema": DRAFT_7, "dependencies": {"a": [1]}}, "dependencies.a", "an array of names"),
        ({"pattern": 3}, "pattern", "a regular expression"),
        ({"pattern": "("}, "pattern", "a regular expression"),
        ({"patternProperties": {"*": True}}, "patternProperties['*']", "a regular expression"),
        ({"$ref": 1}, "$ref", "text"),
        ({"$ref": "#/$defs/no"}, "$ref", "a reference to a schema in this schema"),
        ({"$ref": "#nowhere"}, "$ref", "a reference to a schema in this schema"),
        ({"properties": {"a": {"$ref": "#/x"}}, "x": "no schema"}, "properties.a['$ref']", "a reference to a schema"),
        ({"properties": {"a": {"$ref": "#/x"}}, "x": {"type": 1}}, "properties.a['$ref'].type", "the name of a type"),
        ({"$ref": "#"}, "$ref", "steps down"),
        ({"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}, "", "steps down"),
        ({"$schema": 7}, "$schema", "one of http"),
    ],
)
def test_faults_say_where_and_what_was_expected(schema, path, expected):
    faults = faults_of(schema, foreign=True)
    assert len(faults) == 1
    assert path in faults[0].where
    assert expected in faults[0].expected


def test_all_faults_are_told_at_once():
    schema = {"type": "strng", "properties": {"a": {"minimum": "1"}, "b": {"required": 1}}}
    assert [fault.where for fault in faults_of(schema, foreign=True)] == [
        "type",
        "properties.a.minimum",
        "properties.b.required",
    ]
    assert faults_of(schema, foreign=True)[0].hint == "did you mean string?"


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ({"propertys": {}}, "did you mean properties?"),
        ({"zzzz": 1}, "annotations of your own begin with x-"),
        ({"format": "date-tiem"}, "did you mean date-time?"),
        ({"format": "zzzz"}, None),
    ],
)
def test_what_is_unknown_is_a_mistake_at_home_and_an_annotation_abroad(schema, hint):
    (fault,) = faults_of(schema, foreign=False)
    assert fault.hint == hint
    assert faults_of(schema, foreign=True) == []
    assert annotations_of(schema) == [fault]


def test_keywords_of_the_other_dialect_are_unknown():
    (fault,) = faults_of({"$schema": DRAFT_7, "prefixItems": [True]}, foreign=False)
    assert (fault.expected, fault.got) == ("a keyword of draft 7", "one of 2020-12")
    assert faults_of({"additionalItems": False}, foreign=False)


def test_a_dialect_that_nobody_here_knows_is_not_a_fault_of_a_foreign_schema():
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}
    assert faults_of(schema, foreign=True) == []
    assert annotations_of(schema) == []
    assert faults_of(schema, foreign=False)


def test_annotations_of_ones_own_and_recursion_that_steps_down_are_fine():
    schema = {"x-mine": 1, "properties": {"next": {"$ref": "#"}}, "format": "date", "$comment": "x"}
    assert faults_of(schema, foreign=False) == []


def test_what_stands_beside_a_reference_is_hidden_in_draft_7():
    assert faults_of({"$schema": DRAFT_7, "properties": {"a": {"$ref": "#/definitions/x", "type": 7}},
                      "definitions": {"x": {}}}, foreign=False) == []  # fmt: skip


@pytest.mark.parametrize(
    "schema",
    [
        {"description": "x" * 1_000_001},
        {"enum": list(range(60_000))},
        {"const": 10**5_000},
        {"properties": {"a": {"default": object()}}},
        {"properties": {1: {}}},
    ],
)
def test_size_and_content_are_bounded(schema):
    assert len(faults_of(schema, foreign=True)) == 1


def test_depth_is_bounded_and_faults_are_counted():
    deep: dict = {}
    for _ in range(5_000):
        deep = {"not": deep}
    assert "levels" in faults_of(deep, foreign=True)[0].expected
    assert len(faults_of({"required": 1, "properties": {f"p{n}": {"type": 1} for n in range(200)}}, foreign=True)) == 50


def chained(length, step):
    definitions = {f"d{n}": step({"$ref": f"#/$defs/d{n + 1}"}) for n in range(length - 1)}
    return {"$defs": {**definitions, f"d{length - 1}": {"type": "string"}}, "$ref": "#/$defs/d0"}


@pytest.mark.parametrize("step", [dict, lambda ref: {"anyOf": [{"type": "null"}, ref]}])
def test_references_that_follow_one_another_are_as_many_as_a_validator_can_follow(step):
    right = chained(64, step)
    assert faults_of(right, foreign=True) == []
    validate = make_validator(right, True)
    assert validate("x") == ()
    assert validate(1)
    for length in (65, 500):
        (fault,) = faults_of(chained(length, step), foreign=True)
        assert (fault.expected, fault.got) == ("at most 64 references to the same value", "a longer chain")
        assert fault.path[-1] == "$ref"


def test_references_that_step_down_may_be_many():
    assert faults_of(chained(500, lambda ref: {"items": ref}), foreign=True) == []


PLAIN = st.recursive(
    st.just({}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["integer", "string", "strng", ["null"], ["null", "null"], [], [1], [["null"]], 1]),
            "anyOf": st.lists(inner | st.booleans(), max_size=2) | inner,
            "description": st.sampled_from(["x", "é", "\udc80", 3]),
            "properties": st.dictionaries(st.sampled_from(["a", "b", "é", 3]), inner, max_size=2),
            "required": st.lists(st.sampled_from(["a", "b", 1]), max_size=2) | st.just("a"),
            "enum": st.lists(st.sampled_from(["a", "b", 1]), max_size=2),
            "items": inner | st.booleans(),
            "additionalProperties": st.booleans() | inner,
            "default": st.sampled_from(["x", "\udc80", 1, 1.5, None, True, float("nan"), [], 10**5_000]),
            "minimum": st.sampled_from([1, 1.5, True, float("inf"), "1", 10**5_000]),
            "minLength": st.sampled_from([0, 1, 1.0, -1, True]),
            "pattern": st.just("("),
        },
    ),
    max_leaves=6,
)


@given(PLAIN)
def test_what_is_plain_has_no_faults_and_is_held_by_the_core(schema):
    if is_plain(schema):
        assert faults_of(schema, foreign=False) == []
        assert declined(schema) == ()


def test_what_tools_have_is_plain_and_what_is_too_much_is_not():
    schema = {
        "type": "object",
        "title": "t",
        "properties": {
            "a": {"type": "array", "items": {"enum": ["x"]}, "maxItems": 3},
            "b": {"default": None, "maximum": 2.5},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert is_plain(schema)
    assert not is_plain(True)
    assert not is_plain({"description": "x" * 30_000})
    deep: dict = {}
    for _ in range(5_000):
        deep = {"items": deep}
    assert not is_plain(deep)
