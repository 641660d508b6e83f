"""What a schema lets through unseen, and what it may cost."""

from __future__ import annotations

from decimal import Decimal

import pytest

from pegboard.schema.traits import hidden_values, may_explode

CLOSED = {"type": "object", "additionalProperties": False}
NUMBER = {"type": "number"}
NAN = float("nan")
HALF = "a\ud800"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize(
    ("schema", "sound", "unsound"),
    [
        ({**CLOSED, "properties": {"a": NUMBER, "b": {"type": "integer"}}}, {"a": 1.5, "b": 1}, {"a": NAN}),
        ({**CLOSED, "properties": {"a": {"anyOf": [NUMBER, {"type": "null"}]}}}, {"a": None}, {"a": NAN}),
        ({**CLOSED, "properties": {"a": {"type": ["number", "array"], "items": NUMBER}}}, {"a": [1.5]}, {"a": [NAN]}),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": NUMBER}}}, {"a": [1.5]}, {"a": [1, NAN]}),
        ({**CLOSED, "properties": {"a": {"type": "array"}}}, {"a": [{}]}, {"a": [{"b": NAN}]}),
        ({**CLOSED, "properties": {"a": {}}}, {"a": 1.5}, {"a": [NAN]}),
        ({**CLOSED, "patternProperties": {"a": NUMBER}}, {"a": 1.5}, {"a": NAN}),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "x", "b": 1}, {"a": "x", "b": NAN}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}, [[]], [[NAN]]),
        ({"$ref": "https://example.com/"}, {}, {"a": NAN}),
        ({**CLOSED, "properties": {"a": {"type": "integer"}}}, {"a": 1}, {"a": 10**5_000}),
        ({"type": "array", "items": {"type": "integer"}}, [1], [10**5_000]),
        ({"type": "array", "items": NUMBER}, [1], [10**5_000]),
        (NUMBER, 1.5, NAN),
        (True, {}, [NAN]),
        (NUMBER, 1, Decimal(1)),
        ({"type": "string"}, "é", HALF),
        ({**CLOSED, "properties": {"a": {"type": ["string", "null"]}}}, {"a": "é"}, {"a": HALF}),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": {"type": "string"}}}}, {"a": ["é"]}, {"a": [HALF]}),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, {"é": True}, {HALF: True}),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, {"a": True}, {1: True}),
    ],
)
def test_numbers_that_are_not_finite_are_looked_for_where_they_could_hide(schema, sound, unsound):
    find = hidden_values(schema)
    assert find is not None
    assert not find(sound)
    assert find(unsound)
    assert not find("another kind")


@pytest.mark.parametrize(
    "schema",
    [
        {**CLOSED, "properties": {"a": {"enum": [1.5]}, "b": {"type": "boolean"}, "c": {"const": 1}}},
        {**CLOSED, "properties": {"a": {"type": "array", "items": {"type": "null"}}}},
        {"type": "array", "prefixItems": [{"type": "boolean"}], "items": False},
        {"$schema": DRAFT_7, "type": "array", "items": [{"type": "null"}], "additionalItems": False},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}},
        False,
    ],
)
def test_where_none_could_hide_nothing_is_looked_for(schema):
    assert hidden_values(schema) is None


def test_numbers_that_the_validator_sees_do_not_hide():
    find = hidden_values({"type": "array", "items": NUMBER}, is_converted=True)
    assert find is not None
    assert not find([NAN])
    assert find([10**5_000])


def chain(length, branches):
    definitions = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * branches} for n in range(length)}
    return {"$defs": {**definitions, f"d{length}": {"type": "string"}}, "$ref": "#/$defs/d0"}


TREE = {
    "anyOf": [
        {"type": "string"},
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "object", "additionalProperties": {"$ref": "#"}},
    ]
}


@pytest.mark.parametrize(
    ("schema", "explodes"),
    [
        (True, False),
        ({"type": "integer"}, False),
        (TREE, False),
        ({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}, False),
        (chain(60, 1), False),
        (chain(60, 2), True),
        (
            {"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}, "minProperties": 1}]},
            True,
        ),
        ({"items": {"$dynamicRef": "#n"}, "$dynamicAnchor": "n", "contains": {"$dynamicRef": "#n"}}, True),
    ],
)
def test_references_that_multiply_are_found(schema, explodes):
    assert may_explode(schema) is explodes
