"""Any schema, any profile: what the original takes, the compiled form takes, in the words of the profile alone."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from pegboard_chat.portable import compile_schema
from pegboard_chat.portable.profiles import PROFILES, Profile

if TYPE_CHECKING:
    from collections.abc import Iterator

jsonschema_rs = pytest.importorskip("jsonschema_rs", reason="jsonschema-rs judges what a schema takes")

NAMES = ["a", "b", "user name", "kind", "é", "$filter", "x1"]
by_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name.replace(" ", "-"))


def takes(schema: Any, value: Any) -> bool:
    """Whether a schema takes a value; its `$schema` says how it is read."""
    return bool(jsonschema_rs.validator_for(schema, offline=True, validate_formats=False).is_valid(value))


def as_json_schema(schema: Any) -> Any:
    """A compiled form of Gemini's parameters in JSON Schema: lower types, null as a type."""
    if isinstance(schema, list):
        return [as_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {
        key: {name: as_json_schema(item) for name, item in value.items()}
        if key == "properties"
        else value
        if key in ("enum", "const", "default", "required")
        else as_json_schema(value)
        for key, value in schema.items()
        if key not in ("type", "nullable")
    }
    if "type" in schema:
        plain["type"] = schema["type"].lower()
    return {"anyOf": [plain, {"type": "null"}]} if schema.get("nullable") else plain


def subschemas(schema: Any, *, root: bool = True) -> Iterator[tuple[dict[str, Any], bool]]:
    """Every schema object in a compiled form, and whether it is the root."""
    if not isinstance(schema, dict):
        return
    yield schema, root
    for name, value in schema.items():
        if name in ("properties", "$defs", "patternProperties", "dependentSchemas"):
            for item in value.values():
                yield from subschemas(item, root=False)
        elif name in ("anyOf", "oneOf", "allOf", "prefixItems"):
            for item in value:
                yield from subschemas(item, root=False)
        elif name in ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"):
            yield from subschemas(value, root=False)


def kind(value: Any) -> str:
    table = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "integer" if isinstance(value, float) and value.is_integer() else table.get(type(value), "object")


def check_words(schema: Any, profile: Profile) -> None:
    """The compiled form says nothing that its profile does not take."""
    assert schema["type"] == ("OBJECT" if profile.upper_types else "object")
    for part, is_root in subschemas(schema):
        assert part.keys() <= profile.keywords | ({"$defs"} if is_root else set()), part
        if is_root:
            assert not part.keys() & {"anyOf", "oneOf", "allOf", "enum", "const", "not", "if"}
        if "format" in part and profile.formats is not None:
            assert part["format"] in profile.formats
        if "minItems" in part and profile.min_items is not None:
            assert part["minItems"] in profile.min_items
        for value in part.get("enum", ()):
            assert kind(value) in profile.enum_kinds or kind(value) == "null"
        if profile.typed and part:
            assert part.keys() & {"type", "anyOf", "$ref"}
        if profile.upper_types and "type" in part:
            assert part["type"] == part["type"].upper()
        if profile.items_required and part.get("type") in ("array", "ARRAY"):
            assert "items" in part
        if part.get("type") == "object" or "properties" in part:
            if profile.closed and "additionalProperties" in profile.keywords:
                assert part["additionalProperties"] is False
            if profile.all_required:
                assert part["required"] == list(part["properties"])
            if profile.known_required:
                assert set(part.get("required", ())) <= set(part["properties"])


def check(schema: dict[str, Any], values: list[Any], profile: Profile) -> None:
    compiled = compile_schema(schema, profile, tool="t")
    check_words(compiled.schema, profile if compiled.strict or not profile.fallback else profile.fallback)
    judged = as_json_schema(compiled.schema) if profile.upper_types else compiled.schema
    for value in values:
        if not isinstance(value, dict) or not takes(schema, value):
            continue
        sent = compiled.fill(value)
        assert takes(judged, sent), (schema, compiled.schema, value, sent)
        back = compiled.restore(sent)
        if back != value:  # null, where the default says that it is the same as nothing
            assert without_nulls(back) == without_nulls(value)
            assert takes(schema, back)
        assert compiled.restore(value) is not None


def check_every_profile(schema: dict[str, Any], values: list[Any]) -> None:
    """One schema is drawn for all profiles: to draw it costs as much as to compile it for each."""
    for profile in PROFILES:
        note(f"for {profile.name}")
        check(schema, values, profile)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def wrapped(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as that of one required argument of a tool; what its references point to stays where it was."""
    inner = {key: value for key, value in schema.items() if key not in ("$schema", "definitions", "$defs")}
    outer = {key: value for key, value in schema.items() if key in ("$schema", "definitions", "$defs")}
    return {
        **outer,
        "type": "object",
        "properties": {"x": inner},
        "required": ["x"],
        "additionalProperties": False,
    }


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_any_schema_takes_its_compiled_form_takes(
    data: st.DataObject, schemas_with_values: st.SearchStrategy[tuple[Any, list[Any]]]
) -> None:
    schema, values = data.draw(schemas_with_values)
    try:
        jsonschema_rs.validator_for(schema, offline=True)
    except ValueError:
        return
    check_every_profile(schema, values)
    check_every_profile(wrapped(schema), [{"x": value} for value in values])


# Schemas as the authors of tools write them.

SCALARS = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            "minLength": st.integers(0, 2),
            "maxLength": st.integers(2, 5),
            "format": st.sampled_from(["date", "uri", "email", "x-own"]),
            "pattern": st.sampled_from(["^a", "b$"]),
            "description": st.just("A text."),
            "default": st.sampled_from(["a", None]),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "number"])},
        optional={
            "minimum": st.just(0),
            "exclusiveMaximum": st.just(9),
            "multipleOf": st.just(1),
            "default": st.just(2),
        },
    ),
    st.just({"type": "boolean"}),
    st.just({"enum": ["a", "b"]}),
    st.just({"enum": ["a", 1, None]}),
    st.just({"const": "a"}),
    st.just({"type": ["string", "null"]}),
    st.just({"type": ["string", "integer", "null"], "default": None}),
    st.just({}),
)


def _unions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda name, items, extra: {name: items, **extra},
        st.sampled_from(["anyOf", "oneOf", "allOf"]),
        st.lists(inner, min_size=1, max_size=3),
        st.sampled_from([{}, {"default": None}, {"description": "Or."}]),
    )


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def build(properties: dict[str, Any], required: list[str], rest: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": [name for name in required if name in properties],
            **rest,
        }

    rests = st.sampled_from(
        [
            *[{"additionalProperties": False}] * 4,
            {},
            {"additionalProperties": {"type": "string"}},
            {"additionalProperties": False, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"additionalProperties": False, "dependentRequired": {"a": ["b"]}},
            {"additionalProperties": False, "minProperties": 1},
            {"unevaluatedProperties": False},
            {"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False},
        ]
    )
    names = st.sampled_from(NAMES)
    return st.builds(build, st.dictionaries(names, inner, max_size=3), st.lists(names, unique=True, max_size=4), rests)


def _arrays(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda items, rest: {"type": "array", "items": items, **rest},
        inner,
        st.sampled_from([{}, {"minItems": 1}, {"minItems": 2, "maxItems": 3}, {"uniqueItems": True}]),
    ) | st.builds(
        lambda items, rest: {"type": "array", "prefixItems": items, **rest},
        st.lists(inner, min_size=1, max_size=2),
        st.sampled_from([{}, {"items": False}]),
    )


REFS = st.sampled_from([{"$ref": "#/$defs/Node"}, {"$ref": "#/$defs/Leaf"}, {"$ref": "#/$defs/Leaf", "default": None}])
PARTS = st.recursive(SCALARS | REFS, lambda inner: _unions(inner) | _objects(inner) | _arrays(inner), max_leaves=6)
DEFINITIONS = {
    "Leaf": {"type": "object", "properties": {"v": {"type": "integer"}}, "additionalProperties": False},
    "Node": {
        "type": "object",
        "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/Node"}},
        "required": ["v"],
        "additionalProperties": False,
    },
}


@st.composite
def tool_schemas(draw: st.DrawFn) -> tuple[dict[str, Any], list[Any]]:
    schema = {**draw(_objects(PARTS)), "$defs": DEFINITIONS}
    return schema, [_near(draw, schema, schema, 0) for _ in range(4)]


def _near(draw: st.DrawFn, schema: Any, root: dict[str, Any], depth: int) -> Any:
    """A value that the schema often takes."""
    if not isinstance(schema, dict) or depth > 6:
        return draw(st.sampled_from([None, 1, "a"]))
    if "$ref" in schema:
        return _near(draw, root["$defs"][schema["$ref"].rpartition("/")[2]], root, depth + 1)
    for name in ("anyOf", "oneOf", "allOf"):
        if name in schema and schema.get("type") != "object":
            return _near(draw, draw(st.sampled_from(schema[name])), root, depth + 1)
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    if "const" in schema:
        return schema["const"]
    types = schema.get("type", "string")
    name = draw(st.sampled_from(types)) if isinstance(types, list) else types
    if name == "object":
        value = {}
        for key, item in schema.get("properties", {}).items():
            if key in schema.get("required", ()) or draw(st.booleans()):
                value[key] = _near(draw, item, root, depth + 1)
        if draw(st.integers(0, 5)) == 0:
            value[draw(st.sampled_from(NAMES))] = draw(st.sampled_from(["a", 1]))
        return value
    if name == "array":
        items = schema.get("prefixItems") or [schema.get("items", {})] * draw(st.integers(0, 3))
        return [_near(draw, item, root, depth + 1) for item in items]
    texts = st.sampled_from(["a", "ab", "b", "2026-01-01", ""])
    table = {"integer": st.integers(0, 9), "number": st.sampled_from([0, 0.5, 3.0]), "boolean": st.booleans()}
    return None if name == "null" else draw(table.get(name, texts))


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(drawn=tool_schemas())
def test_what_a_tool_takes_its_compiled_form_takes(drawn: tuple[dict[str, Any], list[Any]]) -> None:
    check_every_profile(*drawn)


# The official suite, and what evaluates without being seen.


def is_told(schema: Any) -> bool:
    """Whether every reference of a schema is to a place in it."""
    try:
        jsonschema_rs.validator_for(schema, offline=True).is_valid({})
    except ValueError:
        return False
    return True


@by_profile
@pytest.mark.parametrize("draft", ["draft7", "draft2020-12"])
@pytest.mark.unmeasured
def test_what_any_schema_of_the_official_suite_takes_its_compiled_form_takes(
    profile: Profile, draft: str, json_schema_suite: dict[str, list[Any]]
) -> None:
    wrong: list[str] = []
    for _, of_schema in groupby(json_schema_suite[draft], key=lambda case: json.dumps(case.schema)):
        cases = list(of_schema)
        schema, values = cases[0].schema, [case.value for case in cases]
        tried = [(schema, values)]
        if isinstance(schema, dict):
            tried.append((wrapped(schema), [{"x": value} for value in values]))
        for one, some in tried:
            if is_told(one):
                try:
                    check(one, some, profile)
                except AssertionError:
                    wrong.append(cases[0].name)
    assert not wrong


AROUND = st.recursive(
    st.sampled_from(
        [
            {"properties": {"a": {"type": "integer"}}},
            {"properties": {"b": True}, "required": ["b"]},
            {"required": ["a"]},
            {"additionalProperties": True},
            {"additionalProperties": {}},
            {"additionalProperties": {"type": "string"}},
            {"patternProperties": {"^x": {"type": "integer"}}},
            {"unevaluatedProperties": True},
            {"unevaluatedProperties": {}},
            {"unevaluatedProperties": {"type": "string"}},
            {"unevaluatedProperties": False},
            {"propertyNames": {"maxLength": 3}},
            {"$ref": "#/$defs/Leaf"},
            {"$dynamicRef": "#/$defs/Leaf"},
            True,
            {},
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda one: {"if": one}, inner),
        st.builds(lambda one, two: {"if": one, "then": two}, inner, inner),
        st.builds(lambda one, two: {"if": one, "else": two}, inner, inner),
        st.builds(lambda one: {"not": one}, inner),
        st.builds(lambda one: {"dependentSchemas": {"a": one}}, inner),
        st.builds(lambda name, ones: {name: ones}, st.sampled_from(["allOf", "anyOf", "oneOf"]),
                  st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda one, two: {**two, **one} if isinstance(one, dict) and isinstance(two, dict) else one,
                  inner, inner),
    ),
    max_leaves=6,
)  # fmt: skip
FEW = st.dictionaries(st.sampled_from(["a", "b", "x1", "zz"]), st.sampled_from([1, "s", None]), max_size=3)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    around=AROUND,
    own=st.sampled_from([{}, {"properties": {"a": {"type": "integer"}}}]),
    values=st.lists(FEW, max_size=6),
)
def test_what_is_evaluated_anywhere_beside_it_is_not_closed(
    around: Any, own: dict[str, Any], values: list[Any]
) -> None:
    around = around if isinstance(around, dict) else {"allOf": [around]}
    schema = {**around, "$defs": DEFINITIONS, "type": "object", **own, "unevaluatedProperties": False}
    check_every_profile(schema, values)
    check_every_profile(wrapped(schema), [{"x": value} for value in values])


ITEMS = st.recursive(
    st.sampled_from(
        [
            {"prefixItems": [{"type": "integer"}]},
            {"prefixItems": [True, True]},
            {"items": True},
            {"items": {"type": "string"}},
            {"contains": {"type": "string"}},
            {"unevaluatedItems": True},
            {"unevaluatedItems": {"type": "string"}},
            {"unevaluatedItems": False},
            {"minItems": 1},
            {},
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda one: {"if": one}, inner),
        st.builds(lambda one, two: {"if": one, "then": two}, inner, inner),
        st.builds(lambda name, ones: {name: ones}, st.sampled_from(["allOf", "anyOf", "oneOf"]),
                  st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda one, two: {**two, **one}, inner, inner),
    ),
    max_leaves=5,
)  # fmt: skip


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(around=ITEMS, values=st.lists(st.lists(st.sampled_from([1, "s", None]), max_size=3), max_size=6))
def test_what_is_evaluated_anywhere_in_an_array_is_not_closed(around: dict[str, Any], values: list[Any]) -> None:
    schema = {**around, "type": "array", "unevaluatedItems": False}
    check_every_profile(wrapped(schema), [{"x": value} for value in values])
