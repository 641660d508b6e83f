"""What a schema lets through unseen, and what it may cost."""

from __future__ import annotations

import pytest

from pegboard.schema.traits import Hiding, hiding, may_explode

CLOSED = {"type": "object", "additionalProperties": False}
NUMBER = {"type": "number"}


@pytest.mark.parametrize(
    ("schema", "where", "names"),
    [
        ({**CLOSED, "properties": {"a": NUMBER, "b": {"type": "integer"}}}, Hiding.NOWHERE, ("a",)),
        ({**CLOSED, "properties": {"a": {"anyOf": [NUMBER, {"type": "null"}]}}}, Hiding.NOWHERE, ("a",)),
        ({**CLOSED, "properties": {"a": {"enum": [1.5]}, "b": {"type": "string"}}}, Hiding.NOWHERE, ()),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": {"type": "string"}}}}, Hiding.NOWHERE, ()),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": NUMBER}}}, Hiding.ANYWHERE, ()),
        ({**CLOSED, "properties": {"a": {"type": "array"}}}, Hiding.ANYWHERE, ()),
        ({**CLOSED, "properties": {"a": {}}}, Hiding.ANYWHERE, ()),
        ({**CLOSED, "patternProperties": {"a": NUMBER}}, Hiding.ANYWHERE, ()),
        ({"type": "object", "properties": {}}, Hiding.ANYWHERE, ()),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": False}, Hiding.NOWHERE, ()),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"type": "null"}],
          "additionalItems": False}, Hiding.NOWHERE, ()),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, Hiding.NOWHERE, ()),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}, Hiding.ANYWHERE, ()),
        (NUMBER, Hiding.HERE, ()),
        (False, Hiding.NOWHERE, ()),
        (True, Hiding.ANYWHERE, ()),
    ],
)  # fmt: skip
def test_where_numbers_that_are_not_finite_could_hide(schema, where, names):
    assert hiding(schema) == (where, names)


def test_numbers_that_the_validator_sees_do_not_hide():
    assert hiding({"type": "array", "items": NUMBER}, numbers_are_seen=True) == (Hiding.NOWHERE, ())


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
