"""What is said of a value that breaks its schema: where, what was expected, what came, and how to repair it."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard.schema.explain import MAX_FAULTS, explain

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def said(schema, value):
    return [str(fault) for fault in explain(schema, value)]


SHAPES = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
            "required": ["kind", "r"],
        },
        {"$ref": "#/$defs/square"},
    ],
    "$defs": {
        "square": {"properties": {"kind": {"enum": ["square"]}, "w": {"type": "number"}}, "required": ["kind", "w"]}
    },
}


@pytest.mark.parametrize(
    ("schema", "value", "texts"),
    [
        ({"type": "integer"}, "x", ['the value: expected integer, got "x"']),
        ({"type": ["integer", "null"]}, True, ["the value: expected integer or null, got true"]),
        ({"type": "integer"}, 1.5, ["the value: expected integer, got 1.5"]),
        (
            {"enum": ["fast", "safe"]},
            "Fats",
            ['the value: expected one of fast, safe, got "Fats" (did you mean fast?)'],
        ),
        ({"type": "string", "enum": ["c", "f"]}, 5, ["the value: expected one of c, f, got 5"]),
        ({"type": "integer", "enum": [1, 2]}, "x", ['the value: expected one of 1, 2, got "x"']),
        ({"type": "string", "const": "c"}, 5, ["the value: expected c, got 5"]),
        ({"type": "string", "enum": [5]}, 5, ["the value: expected string, got 5"]),
        (
            {"type": ["string", "null"], "enum": ["c", None], "minimum": 9},
            5,
            ['the value: expected one of "c", null, got 5', "the value: expected at least 9, got 5"],
        ),
        ({"enum": [1, "1", None]}, 2, ['the value: expected one of 1, "1", null, got 2']),
        ({"enum": list(range(20))}, -1, ["the value: expected one of 0, 1, 2, 3, 4, 5, 6, 7 or 12 others, got -1"]),
        ({"enum": []}, 1, ["the value: expected nothing, got 1"]),
        (
            {"const": {"a": [1, 2.0]}},
            {"a": [True, 2]},
            ['the value: expected {"a": [1, 2.0]}, got an object of 1 property'],
        ),
        ({"minimum": 3}, 2, ["the value: expected at least 3, got 2"]),
        ({"exclusiveMinimum": 3}, 3, ["the value: expected above 3, got 3"]),
        ({"maximum": 3}, 3.5, ["the value: expected at most 3, got 3.5"]),
        ({"exclusiveMaximum": 3}, 3, ["the value: expected below 3, got 3"]),
        ({"multipleOf": 0.1}, 0.35, ["the value: expected a multiple of 0.1, got 0.35"]),
        ({"minLength": 2}, "é", ['the value: expected at least 2 characters, got "é" (1 characters)']),
        ({"maxLength": 1}, "ab", ['the value: expected at most 1 character, got "ab" (2 characters)']),
        ({"pattern": "^a"}, "b", ['the value: expected text that matches ^a, got "b"']),
        ({"minItems": 1}, [], ["the value: expected at least 1 item, got an empty array"]),
        ({"maxItems": 0}, [1], ["the value: expected no items, got an array of 1 item"]),
        (
            {"uniqueItems": True},
            [1, {"a": []}, 1.0, {"a": []}],
            [
                "[2]: expected items that differ, got 1.0 again, as in item 0",
                "[3]: expected items that differ, got an object of 1 property again, as in item 1",
            ],
        ),
        ({"minProperties": 2}, {"a": 1}, ["the value: expected at least 2 properties, got an object of 1 property"]),
        ({"maxProperties": 0}, {"a": 1}, ["the value: expected no properties, got an object of 1 property"]),
        (
            {"properties": {"sides": {"type": "integer"}}, "required": ["sides"], "additionalProperties": False},
            {"side": 6},
            [
                'sides: expected integer, got nothing (it is required; is "side" meant to be it?)',
                "side: expected a known name, got an unknown one (did you mean sides?)",
            ],
        ),
        (
            {"properties": {"a": True}, "additionalProperties": False},
            {"zzz": 1, "a": 1},
            ["zzz: expected a known name, got an unknown one (known: a)"],
        ),
        (
            {"properties": {f"p{n}": True for n in range(10)}, "additionalProperties": False},
            {"zzz": 1},
            ["zzz: expected a known name, got an unknown one (known: p0, p1, p2, p3, p4, p5, p6, p7 and 2 more)"],
        ),
        ({"additionalProperties": False}, {"a": 1}, ["a: expected a known name, got an unknown one"]),
        ({"additionalProperties": {"type": "null"}}, {"a": 1}, ["a: expected null, got 1"]),
        (
            {"patternProperties": {"^n_": {"type": "integer"}}, "additionalProperties": False},
            {"n_a": "x", "b": 1},
            ['n_a: expected integer, got "x"', "b: expected a known name, got an unknown one"],
        ),
        (
            {"propertyNames": {"maxLength": 1}},
            {"ab": 1},
            ['ab: expected as a name at most 1 character, got "ab" (2 characters)'],
        ),
        (
            {"dependentRequired": {"a": ["b"]}},
            {"a": 1},
            ["b: expected a value, got nothing (it is required where a is given)"],
        ),
        (
            {"dependentSchemas": {"a": {"required": ["c"]}, "z": False}},
            {"a": 1},
            ["c: expected a value, got nothing (it is required)"],
        ),
        (
            {"$schema": DRAFT_7, "dependencies": {"a": ["b"]}},
            {"a": 1},
            ["b: expected a value, got nothing (it is required where a is given)"],
        ),
        (
            {"items": {"properties": {"qty": {"type": "integer"}}}},
            [{}, {"qty": "x"}],
            ['[1].qty: expected integer, got "x"'],
        ),
        (
            {"prefixItems": [{"type": "string"}], "items": False},
            [1, 2],
            ["[0]: expected string, got 1", "the value: expected at most 1 item, got an array of 2 items"],
        ),
        (
            {"$schema": DRAFT_7, "items": [True], "additionalItems": {"type": "string"}},
            [1, 2],
            ["[1]: expected string, got 2"],
        ),
        (
            {"contains": {"type": "string"}},
            [1],
            ["the value: expected at least 1 item of this kind: string, got 0 of 1"],
        ),
        (
            {"contains": {"minimum": 3}, "maxContains": 1},
            [3, 4],
            ["the value: expected at most 1 item of this kind: at least 3, got 2 of 2"],
        ),
        ({"not": {"type": "string"}}, "x", ['the value: expected anything but string, got "x"']),
        (
            {"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"minimum": 0}},
            -1,
            ["the value: expected at least 0, got -1"],
        ),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", ['the value: expected integer or null, got "x"']),
        (
            {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]},
            1,
            ["the value: expected at least 3, got 1"],
        ),
        (
            {"anyOf": [{"const": "auto"}, {"type": "integer"}]},
            "auot",
            ['the value: expected auto or integer, got "auot" (did you mean auto?)'],
        ),
        ({"anyOf": [{"minimum": 3}, {"maximum": 1}]}, 2, ["the value: expected at least 3, got 2"]),
        ({"anyOf": [False, {"not": {}}]}, 2, ["the value: expected anything but a value, got 2"]),
        (
            {"oneOf": [{"type": "integer"}, {"minimum": 0}]},
            1,
            ["the value: expected exactly one of 2 alternatives, got 1, which fits 2 of them"],
        ),
        (SHAPES, {"kind": "circle", "r": "x"}, ['r: expected number, got "x"']),
        (SHAPES, {"kind": "square"}, ["w: expected number, got nothing (it is required)"]),
        (SHAPES, {"kind": "squar"}, ['kind: expected one of circle, square, got "squar" (did you mean square?)']),
        (
            SHAPES,
            {"r": 1},
            ["kind: expected one of circle, square, got nothing (it says which of the alternatives is meant)"],
        ),
        (
            {"unevaluatedProperties": False, "allOf": [{"properties": {"a": True}}]},
            {"a": 1, "b": 2},
            ["b: expected a known name, got an unknown one"],
        ),
        ({"unevaluatedItems": {"type": "string"}, "prefixItems": [True]}, [1, 2], ["[1]: expected string, got 2"]),
        (False, 1, ["the value: expected nothing here, got 1"]),
    ],
)
def test_faults_name_place_expectation_and_cure(schema, value, texts):
    assert said(schema, value) == texts


def test_all_faults_are_told_at_once_and_no_more_than_fifty():
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["c"]}
    assert len(explain(schema, {"a": "x", "b": "y"})) == 3
    assert len(explain({"items": {"type": "string"}}, list(range(500)))) == 50


def test_a_fault_of_type_carries_the_types_that_are_expected():
    assert explain({"type": ["array", "null"]}, "x")[0].expected_types == {"array", "null"}
    assert explain({"anyOf": [{"type": "array"}, {"type": "integer"}]}, "x")[0].expected_types == {"array", "integer"}
    assert explain({"enum": [1, "a"]}, "b")[0].expected_types == {"integer"}
    assert explain({"minimum": 3}, 1)[0].expected_types == frozenset()


@pytest.mark.parametrize("value", [{1: 2}, float("nan"), object(), [float("inf")], {"a": {2}}, [10**5_000]])
def test_what_is_not_json_is_one_fault(value):
    assert len(explain({}, value)) == 1


def test_references_are_followed_and_a_part_is_explained_within_its_document():
    schema = {
        "$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}, "v": {"type": "integer"}}}},
        "$ref": "#/$defs/n",
    }
    assert said(schema, {"next": {"next": {"v": "x"}}}) == ['next.next.v: expected integer, got "x"']
    assert [str(f) for f in explain({"$ref": "#/$defs/n"}, {"v": "x"}, root=schema)] == ['v: expected integer, got "x"']


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_deep_values_and_schemas_that_explode_end_in_bounded_time():
    assert "levels" in explain({"items": {"$ref": "#"}}, nested(5_000))[0].expected
    definitions = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    bomb = {"$defs": {**definitions, "d60": {"type": "string"}}, "$ref": "#/$defs/d0"}
    assert "bounded time" in explain(bomb, 5)[0].expected


def test_a_pattern_that_explodes_is_not_tried():
    assert explain({"pattern": "^(a+)+$"}, "a" * 40 + "b") == []
    assert explain({"patternProperties": {r"\p{L}": False}, "additionalProperties": False}, {"x": 1}) == []


# bounded, and as much as fits into the bound ----------------------------------------


def test_one_wrong_item_is_found_among_very_many() -> None:
    items = {"type": "array", "items": {"type": "integer"}}
    assert [fault.where for fault in explain(items, [*range(50_000), "x"])] == ["[50000]"]
    table = {"type": "object", "additionalProperties": {"type": "string", "description": "a word"}}
    assert [fault.where for fault in explain(table, {**{f"k{n}": "v" for n in range(50_000)}, "x": 1})] == ["x"]


def test_what_was_found_before_the_bound_is_told() -> None:
    items = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    faults = explain({"type": "object", "properties": {"n": items}}, {"n": [1, "x", *range(50_000), "y"]})
    assert [fault.where for fault in faults] == ["n[1]"]


@pytest.mark.unmeasured
def test_what_an_alternative_found_before_the_bound_is_not_told() -> None:
    many = ["x", *range(50_000)]
    items = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    for schema in ({"anyOf": [items, {"type": "array"}]}, {"not": items}, {"if": items}, {"contains": items}):
        value = [many] if "contains" in schema else many
        (fault,) = explain(schema, value)
        assert "bounded time" in fault.expected
        assert fault.hint == "send less at once"


def test_a_full_list_of_faults_ends_the_walk() -> None:
    visits = MAX_FAULTS + 10
    assert len(explain({"items": {"type": "string"}}, [1] * 5_000, visits=visits)) == MAX_FAULTS
    assert len(explain({"additionalProperties": False}, {f"k{n}": 1 for n in range(5_000)}, visits=1)) == MAX_FAULTS
    assert len(explain({"required": [f"k{n}" for n in range(5_000)]}, {}, visits=visits)) == MAX_FAULTS


def test_a_fault_in_the_deepest_level_of_alternatives_is_found() -> None:
    closed = {"type": "object", "properties": {"c": {"$ref": "#/$defs/t"}}, "additionalProperties": False}
    schema = {"$ref": "#/$defs/t", "$defs": {"t": {"anyOf": [{"allOf": [closed]}, {"type": "integer"}]}}}
    value: Any = "bad"
    for _ in range(62):
        value = {"c": value}
    (fault,) = explain(schema, value)
    assert fault.path == ("c",) * 62
