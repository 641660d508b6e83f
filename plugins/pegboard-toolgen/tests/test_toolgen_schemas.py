from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.schema.check import faults_of
from pegboard_toolgen._schema_parts import names_in
from pegboard_toolgen.schemas import (
    LostReferenceError,
    UnusableError,
    Work,
    break_circles,
    canonical,
    clean_value,
    close_objects,
    convert,
    fit,
    is_clean,
    is_small,
    listed_size,
    loosen,
    needed,
    or_null,
    plain,
    sanitise_schema,
    size_of,
    subschemas,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def old(schema: Any, **more: Any) -> Any:
    return convert(schema, dialect="openapi 3.0", **more)


def is_valid(schema: Any) -> bool:
    return jsonschema_rs.meta.is_valid({"$schema": DIALECT, **schema} if isinstance(schema, dict) else schema)


def validator(schema: Any, defs: Any = None) -> Any:
    whole = {"$schema": DIALECT, **schema, "$defs": defs or {}} if isinstance(schema, dict) else schema
    return jsonschema_rs.Draft202012Validator(whole)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "x-nullable": True}, {"type": ["string", "null"]}),
        ({"type": ["string", "integer"], "nullable": True}, {"type": ["string", "integer", "null"]}),
        ({"type": ["null"], "nullable": True}, {"type": ["null"]}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"description": "d", "allOf": [{"type": "object"}], "nullable": True},
            {"anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}], "description": "d"},
        ),
        ({"minimum": 3, "exclusiveMinimum": True}, {"exclusiveMinimum": 3}),
        ({"maximum": 3, "exclusiveMaximum": False}, {"maximum": 3}),
        ({"type": "integer", "example": 4}, {"type": "integer", "examples": [4]}),
        ({"type": "integer", "x-example": 4}, {"type": "integer", "examples": [4]}),
        ({"type": "file"}, {"type": "string", "contentEncoding": "base64"}),
        ({"type": "int", "format": "int32"}, {"type": "integer", "format": "int32"}),
        ({"type": "any"}, {}),
        ({"type": "nonsense"}, {}),
        ({"type": "string", "format": "made-up"}, {"type": "string"}),
        ({"type": "object", "discriminator": {"propertyName": "kind"}, "xml": {}, "x-y": 1}, {"type": "object"}),
        ({"items": [{"type": "string"}, True]}, {"prefixItems": [{"type": "string"}, True]}),
        ({"dependencies": {"a": ["b"], "c": {"type": "object"}}},
         {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"type": "object"}}}),
        ({"required": True, "type": "string"}, {"type": "string"}),
        ({"maximum": "100", "minLength": -1, "multipleOf": 0, "pattern": 3, "uniqueItems": "yes"}, {}),
        ({"minLength": 2.0}, {"minLength": 2}),
        ({"allOf": [], "anyOf": {}, "properties": [], "not": 3}, {}),
        ({"enum": []}, {}),
        ({"enum": [1, 1, "a"]}, {"enum": [1, "a"]}),
        ({"enum": ["a\x1b[31m"]}, {}),
        ({"const": "x" * 2_000}, {}),
        ({"default": {"deep": ["\u202e"]}}, {}),
        ({"examples": {"one": 1}}, {"examples": [1]}),
        ({"deprecated": False, "readOnly": True}, {"readOnly": True}),
        ({"title": "Cache Expires", "type": "integer"}, {"title": "Cache Expires", "type": "integer"}),
        ({"properties": {"cache_expires": {"title": "Cache Expires"}}}, {"properties": {"cache_expires": {}}}),
        ({"properties": {"\u202eevil": {}}, "required": ["\u202eevil"]}, {"properties": {}}),
        ({"patternProperties": {"^a": {"type": "null"}}}, {"patternProperties": {"^a": {"type": "null"}}}),
        ({"patternProperties": {r"(?<=a)b": {}}}, {}),
        ({"pattern": r"(?<=a)b"}, {}),
        ({"dependentRequired": {"a": ["b", 3]}, "$comment": "c", "$anchor": "here"}, {"dependentRequired": {"a":
        ["b"]}}), ([], {}),
        (True, True),
    ],
)  # fmt: skip
def test_old_words_become_those_of_2020_12(said: Any, found: Any) -> None:
    assert old(said) == found


def test_nullable_is_a_word_of_old_dialects_alone() -> None:
    assert convert({"type": "string", "nullable": True}) == {"type": "string"}


def test_what_only_the_other_side_sends_is_left_out() -> None:
    schema = {
        "properties": {"id": {"readOnly": True}, "password": {"writeOnly": True}, "name": {}},
        "required": ["id", "password"],
    }

    assert old(schema) == {
        "properties": {"password": {"writeOnly": True}, "name": {}},
        "required": ["password"],
    }
    assert old(schema, answers=True) == {"properties": {"id": {"readOnly": True}, "name": {}}, "required": ["id"]}


def test_beside_a_reference_only_texts_count_in_old_dialects() -> None:
    schema = {"$ref": "#/$defs/A", "description": "this one", "minLength": 3}

    assert old(schema) == {"$ref": "#/$defs/A", "description": "this one"}
    assert convert(schema) == {"$ref": "#/$defs/A", "description": "this one", "minLength": 3}


def test_a_reference_that_says_nothing_leaves_what_stands_beside_it() -> None:
    assert convert({"$ref": "x", "minLength": 3}, refer=lambda ref: {}) == {"allOf": [{}], "minLength": 3}
    assert convert({"$ref": "x"}, refer=lambda ref: {}) == {}


def test_a_reference_to_the_outside_cannot_be_used_alone() -> None:
    with pytest.raises(UnusableError, match="points outside"):
        convert({"$ref": "other.json#/A"})
    assert sanitise_schema({"$ref": "other.json#/A", "type": "string"}) == {"allOf": [{}], "type": "string"}


CLOSED = {"properties": {"a": {"type": "string"}}, "additionalProperties": False}
OPEN = {"properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "wide"),
    [
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, {"anyOf": [{"type": "integer"}, {"type": "number"}]}),
        ({"oneOf": [{}], "anyOf": [OPEN]}, {"anyOf": [OPEN], "allOf": [{"anyOf": [{}]}]}),
        ({"allOf": [CLOSED, {"properties": {"b": {}}}]}, {"allOf": [OPEN, {"properties": {"b": {}}}]}),
        ({**CLOSED, "allOf": [CLOSED]}, {**OPEN, "allOf": [OPEN]}),
        ({"items": CLOSED}, {"items": CLOSED}),
        ({"not": {"oneOf": [OPEN, {}]}}, {}),
        ({"if": {"allOf": [CLOSED]}, "then": CLOSED}, {}),
        ({**CLOSED, "patternProperties": {"(?<=a)b": {}}}, OPEN),
        ({"pattern": "/^[a-z]+$/"}, {"pattern": "^[a-z]+$"}),
        ({"pattern": "/api/"}, {"pattern": "/api/"}),
        ({"properties": {"a": {"type": "string"}, "x\x1b": {}}, "additionalProperties": False}, OPEN),
        (
            {"properties": {"a": {"$ref": "#/gone"}}, "items": {"$ref": "#/gone"}},
            {"properties": {"a": {}}, "items": {}},
        ),
    ],
)
def test_what_is_sent_is_as_wide_as_servers_are(schema: Any, wide: Any) -> None:
    """They take the first alternative that fits, and an object of all parts; under `not` wide would be narrow."""
    assert convert(schema) == wide


def test_a_schema_that_is_nothing_but_a_lost_reference_is_an_error() -> None:
    with pytest.raises(LostReferenceError, match="points outside"):
        convert({"$ref": "#/gone"})


def test_definitions_that_a_schema_brings_along_are_found() -> None:
    schema = {
        "$defs": {"A": {"type": "array", "items": {"$ref": "#/definitions/B"}}},
        "definitions": {"B": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/A"}]}, "C": 3},
        "properties": {"a": {"$ref": "#/$defs/A"}},
    }
    notes: list[str] = []

    def refer(ref: str) -> Any:
        raise LostReferenceError("points to nothing")

    assert convert(schema, refer=refer, notes=notes) == {
        "properties": {"a": {"type": "array", "items": {"anyOf": [{"type": "string"}, {}]}}}
    }
    assert notes == ["The reference '#/$defs/A' cannot be followed here; any value is taken."]
    with pytest.raises(UnusableError):
        convert({"$ref": "#/$defs/Z"}, refer=refer)
    assert convert({"$ref": "#/$defs/Z"}, refer=refer, answers=True) == {}


def test_what_is_wider_inside_does_not_become_narrower_outside() -> None:
    notes: list[str] = []
    lost = {"pattern": r"(?<=a)b"}

    assert convert({"not": lost}, notes=notes) == {}
    assert convert({"if": lost, "then": {"type": "string"}}) == {}
    assert convert({"oneOf": [lost, {"type": "string"}]}) == {"anyOf": [{}, {"type": "string"}]}
    assert convert({"oneOf": [lost], "anyOf": [{}], "unevaluatedProperties": False}) == {
        "anyOf": [{}],
        "allOf": [{"anyOf": [{}]}],
    }
    assert convert({"contains": lost, "maxContains": 1}) == {"contains": {}}
    assert notes == ["A pattern that not every validator can search for was left out."]


def test_depth_and_work_are_bounded() -> None:
    deep: Any = {"type": "string"}
    for _ in range(60):
        deep = {"items": deep}

    notes: list[str] = []
    assert is_valid(convert(deep, notes=notes))
    assert notes == ["Nothing below 30 levels of a schema is described."]
    with pytest.raises(UnusableError, match="unfolds"):
        convert({"allOf": [{}] * 20}, work=Work(10))


def test_texts_are_clean_and_short() -> None:
    found = convert({"title": "a\nb", "description": "red \x1b[31m\u202e" + "x" * 5_000})

    assert found["title"] == "a b"
    assert len(found["description"]) == 1_000
    assert found["description"].startswith("red xxx")


def test_objects_that_name_their_properties_close() -> None:
    schema = {
        "properties": {"a": {"properties": {"b": {}}}, "c": {"properties": {}, "additionalProperties": True}},
        "items": [{"properties": {}}],
        "allOf": [{"properties": {}}],
    }

    assert close_objects(schema) == {
        "properties": {
            "a": {"properties": {"b": {}}, "additionalProperties": False},
            "c": {"properties": {}, "additionalProperties": True},
        },
        "items": [{"properties": {}, "additionalProperties": False}],
        "allOf": [{"properties": {}}],
    }
    assert close_objects(True) is True


def test_values_are_kept_where_they_are_short_and_clean() -> None:
    assert clean_value({"a": [1, "b", None, True]}) == {"a": [1, "b", None, True]}
    for bad in ("a\u202e", "x" * 2_000, {"\x00": 1}, [["\x1b"]], float("inf"), [1e301], {"a": "x" * 2_000}, {1, 2}):
        assert canonical_or_mark(clean_value(bad)) == "dropped"
    assert is_clean("a b")
    assert not is_clean("a\nb")
    assert is_small([1, {"a": "b"}], 20)
    assert not is_small(list(range(100)), 50)
    assert not is_small({"a" * 100: 1}, 50)


def canonical_or_mark(value: Any) -> str:
    try:
        return canonical(value)
    except TypeError:
        return "dropped"


# Circles -------------------------------------------------------------------------------------------------------------


def test_a_circle_with_a_descent_stays() -> None:
    defs = {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}}}

    assert break_circles(defs) == defs


def test_a_circle_without_a_descent_says_nothing() -> None:
    defs = {
        "A": {"$ref": "#/$defs/B", "type": "object"},
        "B": {"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/C"}], "unevaluatedProperties": False},
        "C": {"type": "object"},
        "D": {"oneOf": [{"$ref": "#/$defs/D"}, {"type": "string"}], "if": {"$ref": "#/$defs/D"}, "then": {}},
        "E": {"dependentSchemas": {"a": {"$ref": "#/$defs/E"}}, "not": {"$ref": "#/$defs/E"}},
    }

    found = break_circles(defs)

    assert found == {
        "A": {"$ref": "#/$defs/B", "type": "object"},
        "B": {"allOf": [{}, {"$ref": "#/$defs/C"}]},
        "C": {"type": "object"},
        "D": {"anyOf": [{}, {"type": "string"}]},
        "E": {"dependentSchemas": {"a": {}}},
    }
    assert break_circles(dict(reversed(defs.items()))) == found
    assert not faults_of({"$ref": "#/$defs/A", "$defs": found}, foreign=False)


def test_a_parent_keeps_its_choice_where_its_children_include_it() -> None:
    choice = {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}], "required": ["kind"]}
    defs = {
        "Pet": choice,
        "Cat": {"allOf": [{"$ref": "#/$defs/Pet"}, {"type": "object"}]},
        "Dog": {"allOf": [{"type": "object", "allOf": [{"$ref": "#/$defs/Pet"}]}]},
    }

    assert break_circles(defs) == {
        "Pet": choice,
        "Cat": {"allOf": [{}, {"type": "object"}]},
        "Dog": {"allOf": [{"type": "object", "allOf": [{}]}]},
    }


def test_needed_follows_references_to_the_end() -> None:
    defs = {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {"$ref": "#/$defs/A"}, "C": {}}

    assert list(needed({"properties": {"x": {"$ref": "#/$defs/B"}}}, defs)) == ["A", "B"]
    assert list(subschemas({"items": {"a": 1}, "prefixItems": [{}], "properties": {"x": True}})) == [
        ("items", {"a": 1}),
        ("prefixItems", {}),
        ("properties", True),
    ]
    assert list(subschemas(True)) == []


# Fitting -------------------------------------------------------------------------------------------------------------


def wide(count: int, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {f"p{i}": {"type": "string", **more} for i in range(count)}}


def test_what_fits_is_left_as_it_is() -> None:
    schema = wide(3, description="d")

    found, notes = fit(schema, {}, 1_000)

    assert found is schema
    assert notes == []


def test_descriptions_go_first() -> None:
    schema = wide(10, description="some words " * 20)

    found, notes = fit(schema, {}, 2_500)

    assert size_of(found) <= 2_500
    assert found["properties"]["p3"]["type"] == "string"
    assert found["properties"]["p3"]["description"].endswith("…")
    assert notes == ["Longer descriptions and examples inside the input were cut to keep its schema short."]


def test_then_the_deepest_and_largest_parts_become_plain() -> None:
    schema = {
        "type": "object",
        "properties": {
            "small": {
                "type": "object",
                "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}},
            },
            "large": {"type": "object", "properties": {"a": {**wide(100), "description": "d"}}},
        },
    }

    found, notes = fit(schema, {}, 1_000)

    assert size_of(found) <= 1_000
    assert found["properties"]["small"] == schema["properties"]["small"]
    assert found["properties"]["large"] == {"type": "object", "properties": {"a": {"type": "object"}}}
    assert notes[-1] == "Described by their type alone, to keep the schema of the input short: large.a."


def test_references_are_unfolded_and_circles_end() -> None:
    defs = {"Node": {"type": "object", "description": "long " * 100, "properties": {"next": {"$ref": "#/$defs/Node"}}}}

    found, notes = fit({"type": "object", "properties": {"n": {"$ref": "#/$defs/Node"}}}, defs, 300)

    assert found == {
        "type": "object",
        "properties": {
            "n": {"type": "object", "description": found["properties"]["n"]["description"],
                  "properties": {"next": {"type": "object"}}}
        },
    }  # fmt: skip
    assert "n.next" in notes[-1]


def test_long_lists_of_values_go_before_names_do() -> None:
    schema = wide(4, enum=[f"value {i}" for i in range(50)])

    found, _ = fit(schema, {}, 400)

    assert found == wide(4)


def test_at_the_end_only_the_type_is_left() -> None:
    found, notes = fit(wide(200), {}, 300)

    assert found == {"type": "object"}
    assert "too large to be described" in notes[0]


def test_plain_looks_behind_references() -> None:
    assert plain({"$ref": "#/$defs/A"}, {"A": {"$ref": "#/$defs/B"}, "B": {"type": "array"}}) == {"type": "array"}
    assert plain({"$ref": "#/$defs/A"}, {"A": {"$ref": "#/$defs/A"}}) == {}
    assert plain({"anyOf": [{}]}, {}) == {}
    assert plain(False, {}) is False


def test_loosened_answers_say_names_and_types_alone() -> None:
    schema = {
        "type": "object",
        "title": "T",
        "description": "d",
        "properties": {
            "id": {"type": "integer", "minimum": 3, "default": 4, "description": "the id"},
            "kind": {"enum": ["a"], "type": ["string"]},
            "never": False,
            "many": {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 1},
            "pair": {"type": "array", "prefixItems": [{}], "items": {"type": "string"}},
            "open": {"additionalProperties": {"type": "string"}},
            "free": {"additionalProperties": True, "patternProperties": {"^a": {}}},
            "one": {"oneOf": [{"type": "string"}, {"type": "string", "minLength": 3}]},
            "maybe": {"anyOf": [{"allOf": [{"type": "object", "description": "d"}, {}]}, {"type": "null"}]},
            "nested": {"anyOf": [{"anyOf": [{"type": "array"}, {"type": "null"}]}, {"type": "string"}], "title": "t"},
            "any": {"oneOf": [{"minimum": 3}, {"type": "string"}], "allOf": [{"minLength": 3}]},
            "null": {"anyOf": [{"type": "null"}], "description": "none"},
            "both": {"anyOf": [{"type": "string"}, {"type": "array"}], "oneOf": [{"type": "array"}, False]},
        },
        "required": ["id"],
        "additionalProperties": False,
    }

    found, _ = loosen(schema, {}, 2_000)

    assert found == {
        "type": "object",
        "description": "d",
        "properties": {
            "id": {"type": ["integer", "null"], "description": "the id"},
            "kind": {"type": ["string", "null"]},
            "never": True,
            "many": {"type": ["array", "null"], "items": {"type": ["string", "null"]}},
            "pair": {"type": ["array", "null"]},
            "open": {"additionalProperties": {"type": ["string", "null"]}},
            "free": {},
            "one": {"type": ["string", "null"]},
            "maybe": {"type": ["object", "null"], "description": "d"},
            "nested": {"anyOf": [{"type": ["array", "null"]}, {"type": ["string", "null"]}]},
            "any": {},
            "null": {"type": "null", "description": "none"},
            "both": {"anyOf": [{"type": ["string", "null"]}, {"type": ["array", "null"]}]},
        },
    }
    assert or_null(True) == {}


def standalone(document: Any) -> tuple[Any, dict[str, Any]]:
    """A sampled document as a schema and its `$defs`, clean."""
    text = json.dumps(document).replace("#/definitions/A/items", "#/$defs/A").replace("#/definitions/", "#/$defs/")
    document = json.loads(text)
    defs = {name: sanitise_schema(part) for name, part in document.pop("definitions").items()}
    return sanitise_schema(document), break_circles(defs)


@settings(max_examples=50)
@given(data=st.data(), budget=st.integers(15, 400))
def test_whatever_a_schema_accepts_it_accepts_when_it_is_fitted_or_loosened(
    schemas_with_values: Any, data: st.DataObject, budget: int
) -> None:
    """What comes out of `convert` is a valid schema; what it accepts, `fit` and `loosen` accept, and neither
    dangles.
    """
    document, values = data.draw(schemas_with_values)
    schema, defs = standalone(document)
    if not isinstance(schema, dict):
        return

    fitted, _ = fit(schema, defs, budget)
    loosened, _ = loosen(schema, defs, budget)

    before, after, loose = validator(schema, defs), validator(fitted, defs), validator(loosened)
    assert names_in(fitted) <= defs.keys()
    assert not names_in(loosened)
    for value in values:
        if before.is_valid(value):
            assert after.is_valid(value), (fitted, value)
            assert loose.is_valid(value), (loosened, value)


@settings(max_examples=35)
@given(
    schema=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "allOf", "oneOf", "not", "enum", "pattern", "required", "nullable",
                "if",
                 "minimum", "exclusiveMinimum", "format", "dependencies", "additionalProperties", "example", "const"]
            )
            | st.text(max_size=3),
            inner | st.sampled_from(["string", "object", "file", ["string", "null"], "^a$", "("]),
            max_size=4,
        ),
        max_leaves=15,
    ),
    dialect=st.sampled_from(["swagger 2", "openapi 3.0", "2020-12"]),
)  # fmt: skip
def test_any_value_converts_to_a_valid_schema(schema: Any, dialect: Any) -> None:
    """Whatever stands where a schema should stand, what is made of it is a valid one that the core takes too."""
    found = convert(schema, dialect=dialect)

    assert is_valid(found)
    assert not faults_of(found, foreign=True)
    assert listed_size(found, {}) >= 2
