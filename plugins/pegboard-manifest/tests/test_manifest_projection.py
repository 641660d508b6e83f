"""What a model gets of a schema: all that it needs of the shared definitions, and nothing else."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_manifest.projection import (
    PREFIX,
    SMALL,
    ProjectionError,
    may_refer,
    name_of,
    project,
    references,
    resolve,
)

THING = {"type": "object", "properties": {"a": {"type": "string"}}}


def ref(name, **beside):
    return {"$ref": PREFIX + name, **beside}


def an_object(**properties):
    return {"type": "object", "properties": properties}


def test_a_schema_without_references_is_given_back_as_it_is():
    schema = an_object(a={"type": "string"})
    assert project(schema, {"Thing": THING}) is schema


def test_what_is_small_and_used_once_stands_in_place():
    assert project(an_object(x=ref("Thing")), {"Thing": THING, "Other": {}}) == an_object(x=THING)


def test_what_is_used_twice_is_a_definition_of_its_own():
    projected = project(an_object(x=ref("Thing"), y=ref("Thing")), {"Thing": THING, "Other": {}})
    assert projected == an_object(x=ref("Thing"), y=ref("Thing")) | {"$defs": {"Thing": THING}}


def test_what_is_large_is_a_definition_of_its_own():
    large = {"type": "string", "description": "x" * SMALL}
    assert project(an_object(x=ref("Large")), {"Large": large})["$defs"] == {"Large": large}


def test_a_circle_stays_one():
    defs = {"Tree": an_object(kids={"type": "array", "items": ref("Tree")}), "A": ref("B"), "B": {"not": ref("A")}}
    assert project(an_object(x=ref("Tree")), defs)["$defs"].keys() == {"Tree"}
    assert project(an_object(x=ref("A")), defs)["$defs"].keys() == {"A", "B"}


def test_definitions_of_definitions_come_along():
    defs = {"A": an_object(b=ref("B"), c=ref("B")), "B": an_object(c=ref("C")), "C": {"type": "null"}}
    assert project(an_object(a=ref("A")), defs) == an_object(a=an_object(b=ref("B"), c=ref("B"))) | {
        "$defs": {"B": an_object(c={"type": "null"})}
    }


def test_words_beside_a_reference_win_and_rules_beside_it_hold_too():
    defs = {"T": {"type": "string", "description": "theirs"}}
    assert project(an_object(x=ref("T", description="mine")), defs)["properties"]["x"] == {
        "type": "string",
        "description": "mine",
    }
    both = project(an_object(x=ref("T", maxLength=3, allOf=[{"minLength": 1}])), defs)["properties"]["x"]
    assert both == {"maxLength": 3, "allOf": [defs["T"], {"minLength": 1}]}
    assert project(an_object(x=ref("Yes", maxLength=3)), {"Yes": True})["properties"]["x"] == {
        "maxLength": 3,
        "allOf": [True],
    }


def test_a_part_of_a_definition_keeps_the_definition():
    projected = project(an_object(x=ref("Thing/properties/a")), {"Thing": THING})
    assert projected["properties"]["x"] == ref("Thing/properties/a")
    assert projected["$defs"] == {"Thing": THING}


def test_odd_names_are_found():
    assert project(an_object(x=ref("a~1b c~0")), {"a/b c~": {"type": "null"}}) == an_object(x={"type": "null"})


def test_data_that_looks_like_a_reference_is_data():
    schema = an_object(x={"const": {"$ref": "nowhere"}, "default": {"$id": "x"}, "enum": [{"$ref": 1}]})
    assert may_refer(schema)
    assert project(schema, {}) == schema


def test_a_property_may_be_called_like_a_keyword():
    schema = {"type": "object", "properties": {"$ref": {"type": "string"}, "$id": ref("Thing")}}
    assert project(schema, {"Thing": THING})["properties"] == {"$ref": {"type": "string"}, "$id": THING}


def test_a_schema_may_have_definitions_of_its_own():
    schema = an_object(x=ref("Own"), y=ref("Thing")) | {"$defs": {"Own": {"type": "null"}, "Unused": {}}}
    assert project(schema, {"Thing": THING}) == an_object(x={"type": "null"}, y=THING)


@pytest.mark.parametrize(
    "schema",
    [
        an_object(x=ref("Nothing")),
        an_object(x=ref("Thing/properties/b")),
        an_object(x=ref("Thing/type")),
        an_object(x=ref("List/0/1")),
        an_object(x={"$ref": "#"}),
        an_object(x={"$ref": "#/properties/y"}),
        an_object(x={"$ref": "https://example.com/"}),
        an_object(x={"$ref": 3}),
        {"$id": "https://example.com/", "type": "object"},
        an_object(x={"$dynamicRef": "#x"}),
        an_object(x=ref("Thing")) | {"$defs": {"Thing": {}}},
    ],
)
def test_what_cannot_be_resolved_is_refused(schema):
    with pytest.raises(ProjectionError):
        project(schema, {"Thing": THING, "List": {"allOf": [{}]}})


def test_the_order_of_keys_is_that_of_the_source():
    schema = {"required": ["x"], "properties": {"z": ref("B"), "x": ref("A"), "y": ref("B")}, "type": "object"}
    projected = project(schema, {"B": {"title": "b"}, "A": {"title": "a"}})
    assert json.dumps(projected) == (
        '{"required": ["x"], "properties": {"z": {"$ref": "#/$defs/B"}, "x": {"title": "a"}, '
        '"y": {"$ref": "#/$defs/B"}}, "type": "object", "$defs": {"B": {"title": "b"}}}'
    )


def test_long_chains_of_definitions_do_not_break_anything():
    defs = {f"D{n}": an_object(x=ref(f"D{n + 1}")) for n in range(400)} | {"D400": {"type": "null"}}
    projected = project(an_object(x=ref("D0")), defs)
    assert all(name_of(one) in projected["$defs"] for one in references(projected))


NAMES = ("A", "B", "C", "D")
_LEAVES = st.sampled_from(
    [{"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "null"}, {"enum": ["a", 1]}, {}, {"const": "a"}]
)
_REFS = st.builds(
    lambda name, beside: ref(name, **beside),
    st.sampled_from(NAMES),
    st.sampled_from([{}, {"description": "mine"}, {"type": "string"}, {"minProperties": 1}]),
)


def _nest(inner):
    return st.one_of(
        st.builds(lambda a, b: an_object(a=a, b=b), inner, inner),
        st.builds(lambda a: {"type": "array", "items": a, "maxItems": 3}, inner),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
        st.builds(lambda a: {"type": "object", "additionalProperties": a}, inner),
    )


_SCHEMAS = st.recursive(_LEAVES | _REFS, _nest, max_leaves=4)
_VALUES = st.recursive(
    st.sampled_from([None, "a", "b", 1, -1]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=8,
)


# Definitions refer to each other below a step into the value alone: no circle that never ends.
_STEPS = st.one_of(
    st.builds(lambda a, b: an_object(a=a, b=b), _SCHEMAS, _SCHEMAS),
    st.builds(lambda a: {"type": "array", "items": a}, _SCHEMAS),
)
_WORLDS = st.tuples(_STEPS, st.fixed_dictionaries(dict.fromkeys(NAMES, _STEPS)))


@settings(max_examples=100)
@given(_WORLDS, st.lists(_VALUES, min_size=1, max_size=4))
def test_a_projection_never_dangles_and_accepts_the_very_values_that_the_schema_does(world, values):
    schema, defs = world
    projected = project(schema, defs)
    local = projected.get("$defs", {})
    needed = {name_of(one) for part in (projected, *local.values()) for one in references(part)}
    assert needed <= local.keys()
    assert all(resolve(one, local) is not None for one in references(projected))
    whole = jsonschema_rs.Draft202012Validator({**schema, "$defs": defs})
    own = jsonschema_rs.Draft202012Validator(projected)
    for value in values:
        assert own.is_valid(value) == whole.is_valid(value)
