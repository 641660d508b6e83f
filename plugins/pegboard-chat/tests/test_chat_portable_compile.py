"""What the compiler makes of the schemas that authors write, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from pegboard_chat.portable import compile_schema
from pegboard_chat.portable.ledger import MAX_LOSSES
from pegboard_chat.portable.profiles import (
    ANTHROPIC_PLAIN,
    ANTHROPIC_STRICT,
    COHERE_STRICT,
    GEMINI_JSON_SCHEMA,
    GEMINI_PARAMETERS,
    OPENAI_PLAIN,
    OPENAI_STRICT,
    PROFILES,
    Profile,
)

NUMBER = {"type": "integer"}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def closed(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def argument(schema: Any, profile: Profile, **more: Any) -> Any:
    """The compiled form of one required argument."""
    compiled = compile_schema(closed({"x": schema}, "x", **more), profile, tool="t")
    assert compiled.strict == profile.strict, compiled.losses
    return compiled.schema["properties"]["x"]


def why_not(schema: dict[str, Any], profile: Profile) -> str:
    """Why a tool does not go strict."""
    compiled = compile_schema(schema, profile, tool="t")
    assert not compiled.strict
    first = compiled.losses[0]
    assert first.tool == "t"
    assert first.what.startswith("not strict: ")
    return f"{first.path}: {first.what.removeprefix('not strict: ')}"


def test_openai_strict_closes_every_object_and_requires_every_key() -> None:
    compiled = compile_schema(
        closed({"a": {"type": "integer"}, "b": {"type": "string", "default": "x"}, "c": {"enum": ["u", 1]}}, "a"),
        OPENAI_STRICT,
    )
    assert compiled.strict
    assert compiled.schema == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": ["string", "null"], "description": '(default "x")'},
            "c": {"type": ["string", "integer", "null"], "enum": ["u", 1, None]},
        },
        "required": ["a", "b", "c"],
        "additionalProperties": False,
    }
    assert compiled.restore({"a": 1, "b": None, "c": None}) == {"a": 1}
    assert compiled.fill({"a": 1}) == {"a": 1, "b": None, "c": None}


def test_null_stays_null_where_the_tool_takes_it() -> None:
    schema = closed(
        {"must": {"type": ["string", "null"]}, "may": {"type": ["string", "null"], "default": None}}, "must"
    )
    compiled = compile_schema(schema, OPENAI_STRICT)
    assert compiled.strict
    assert compiled.restore({"must": None, "may": None}) == {"must": None, "may": None}


def test_a_tool_that_tells_null_from_nothing_does_not_go_strict() -> None:
    schema = closed({"due": {"anyOf": [{"type": "string"}, {"type": "null"}]}})
    assert why_not(schema, OPENAI_STRICT) == (
        "input_schema.properties.due: it may be left out and may be null, and null can say only one of these"
    )
    assert compile_schema(schema, ANTHROPIC_STRICT).strict  # there it may be left out


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, "properties that it does not name"),
        (closed({"m": {"type": "object", "additionalProperties": {"type": "string"}}}, "m"), "does not name"),
        (closed({}, patternProperties={"^x": {}}), "names by pattern"),
        (closed({"a": {}}, "a"), "any value"),
        (closed({"a": {"type": "array"}}, "a"), "any value"),
        (closed({"a": {"description": "Anything."}}, "a"), "properties that it does not name"),
        (closed({"a": {"$ref": "https://example.org/x"}}, "a"), "points outside"),
    ],
)
def test_what_is_open_does_not_go_strict(schema: dict[str, Any], why: str) -> None:
    for profile in (OPENAI_STRICT, ANTHROPIC_STRICT):
        said = why_not(schema, profile)
        assert why in said or "any value" in said


def test_the_fallback_of_one_tool_is_the_plain_form() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}
    compiled = compile_schema(schema, OPENAI_STRICT, tool="t")
    assert compiled.schema == compile_schema(schema, OPENAI_PLAIN).schema == schema
    assert [loss.what.split(":")[0] for loss in compiled.losses] == ["not strict"]


def test_unsupported_keywords_go_into_the_description_as_words() -> None:
    text = {"type": "string", "description": "A name.", "minLength": 1, "maxLength": 80, "format": "uri"}
    assert argument(text, OPENAI_STRICT) == {
        "type": "string",
        "description": "A name. (at least 1 character; at most 80 characters; format: uri)",
    }
    compiled = compile_schema(closed({"x": text}, "x"), OPENAI_STRICT, tool="t")
    assert [(loss.tool, loss.path, loss.what) for loss in compiled.losses] == [
        ("t", f"input_schema.properties.x.{name}", "said in the description")
        for name in ("minLength", "maxLength", "format")
    ]
    number = {"type": "integer", "minimum": 1, "exclusiveMaximum": 9.5}
    assert argument(number, OPENAI_STRICT) == number
    assert argument(number, ANTHROPIC_STRICT) == {"type": "integer", "description": "(at least 1; below 9.5)"}
    many = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3, "uniqueItems": True}
    assert argument(many, ANTHROPIC_STRICT)["description"] == "(at least 2 items; at most 3 items; all items different)"
    assert argument({**many, "minItems": 1}, ANTHROPIC_STRICT)["minItems"] == 1


def test_a_whole_schema_loses_nothing_in_the_plain_profiles() -> None:
    schema = closed(
        {
            "a": {"type": "string", "pattern": "^a", "minLength": 2, "examples": ["ab"]},
            "b": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            "c": {"not": {"type": "string"}},
            "d": {"type": "array", "prefixItems": [{"type": "string"}], "items": False, "uniqueItems": True},
            "e": {"if": {"type": "string"}, "then": {"minLength": 3}, "else": {"type": "integer"}},
            "f": {
                "type": "object",
                "patternProperties": {"^x": {"type": "integer"}},
                "propertyNames": {"minLength": 2},
            },
            "g": {"type": "array", "contains": {"type": "integer"}, "maxContains": 2, "items": {}},
        },
        dependentRequired={"a": ["b"]},
    )
    for profile in (OPENAI_PLAIN, ANTHROPIC_PLAIN):
        compiled = compile_schema(schema, profile)
        assert not compiled.losses
        properties = dict(compiled.schema["properties"])
        array = properties.pop("d")
        assert array.pop("items", None) in (None, {"type": "string"})
        assert array == {
            "type": "array",
            "prefixItems": [{"type": "string"}],
            "maxItems": 1,
            "uniqueItems": True,
        }
        assert properties == {name: item for name, item in schema["properties"].items() if name != "d"}
        assert compiled.schema["dependentRequired"] == {"a": ["b"]}


def test_one_of_becomes_any_of_and_nested_any_of_takes_its_type_along() -> None:
    schema = {"type": ["string", "integer"], "oneOf": [{"minimum": 3}, {"enum": ["a"]}]}
    assert argument(schema, OPENAI_STRICT)["anyOf"] == [
        {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 3}]},
        {"type": "string", "enum": ["a"]},
    ]
    compiled = compile_schema(closed({"x": schema}, "x"), OPENAI_STRICT)
    assert [(loss.path, loss.what) for loss in compiled.losses] == [
        ("input_schema.properties.x.oneOf", "said as anyOf")
    ]


def test_an_all_of_is_folded_into_one() -> None:
    base = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    both = {
        "allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"b": {"type": "integer"}}, "required": ["b"]}],
        "unevaluatedProperties": False,
        "description": "Both.",
    }
    said = argument(both, OPENAI_STRICT, **{"$defs": {"Base": base}})
    assert said == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
        "description": "Both.",
    }
    assert argument(
        {"allOf": [{"minimum": 1, "type": "number"}, {"minimum": 3, "type": "integer"}]}, OPENAI_STRICT
    ) == {
        "type": "integer",
        "minimum": 3,
    }


def test_what_can_not_be_folded_stays_in_an_all_of_or_in_words() -> None:
    schema = {"type": "string", "pattern": "^a", "allOf": [{"pattern": "b$"}]}
    assert argument(schema, OPENAI_PLAIN) == {"type": "string", "pattern": "b$", "allOf": [{"pattern": "^a"}]}
    said = argument(schema, OPENAI_STRICT)
    assert said["pattern"] == "b$"
    assert said["description"] == '(matches the regular expression "^a")'


def test_local_references_are_written_out_with_what_stands_beside_them() -> None:
    definitions = {"$defs": {"Color": {"enum": ["red", "blue"], "title": "Color", "description": "A color."}}}
    said = argument({"$ref": "#/$defs/Color", "description": "Of the wall."}, OPENAI_STRICT, **definitions)
    assert said == {"type": "string", "enum": ["red", "blue"], "title": "Color", "description": "Of the wall."}


def test_draft_7_is_said_in_the_keywords_of_2020_12() -> None:
    schema = {
        "$schema": DRAFT_7,
        "type": "object",
        "properties": {
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False},
            "who": {"$ref": "#/definitions/Who", "minLength": 99},
        },
        "definitions": {"Who": {"type": "string"}},
        "dependencies": {"pair": ["who"], "who": {"required": ["pair"]}},
        "additionalProperties": False,
    }
    said = compile_schema(schema, ANTHROPIC_PLAIN).schema
    assert "$schema" not in said
    assert "definitions" not in said
    assert said["properties"]["pair"] == {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "maxItems": 2,
    }
    assert said["properties"]["who"] == {"type": "string"}  # what stands beside a reference is not looked at there
    assert said["dependentRequired"] == {"pair": ["who"]}


def test_a_tuple_is_a_list_of_any_of_its_items_where_there_are_no_tuples() -> None:
    said = argument(
        {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}, OPENAI_STRICT
    )
    assert said["items"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert said["maxItems"] == 2
    assert said["description"] == '(the items in order: [{"type": "string"}, {"type": "integer"}])'


TREE = closed(
    {"tree": {"$ref": "#/$defs/Node"}},
    "tree",
    **{
        "$defs": {
            "Node": closed(
                {
                    "value": {"type": "integer"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                    "next": {"$ref": "#/$defs/Node"},
                },
                "value",
            )
        }
    },
)


def test_a_circle_stays_a_reference_where_the_provider_follows_it() -> None:
    compiled = compile_schema(TREE, OPENAI_STRICT)
    assert compiled.strict, compiled.losses
    assert compiled.schema["$defs"]["Node"]["properties"]["next"] == {
        "anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]
    }
    value = {"tree": {"value": 1, "next": {"value": 2, "children": [{"value": 3}]}}}
    written = compiled.fill(value)
    assert written["tree"]["next"]["children"] == [{"value": 3, "children": None, "next": None}]
    assert compiled.restore(written) == value


def test_a_circle_is_cut_at_a_depth_where_the_provider_follows_none() -> None:
    assert "contains itself" in why_not(TREE, ANTHROPIC_STRICT)
    compiled = compile_schema(TREE, GEMINI_PARAMETERS, tool="t")
    first = compiled.schema["properties"]["tree"]
    second = first["properties"]["next"]
    assert second["properties"]["next"] == {"type": "OBJECT", "properties": {}}
    assert {loss.what for loss in compiled.losses} == {"it contains itself, and is cut here"}


def test_gemini_writes_types_in_capitals_and_null_as_a_mark() -> None:
    schema = closed(
        {
            "a": {"type": ["integer", "null"], "default": None},
            "b": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "c": {"enum": [1, 2]},
            "d": {},
            "e": {"type": "array", "items": {"type": "string"}},
        },
        "a",
    )
    said = compile_schema(schema, GEMINI_PARAMETERS).schema
    assert said["properties"] == {
        "a": {"type": "INTEGER", "nullable": True},
        "b": {"type": "STRING", "nullable": True},
        "c": {"type": "INTEGER", "description": "(one of [1, 2])"},
        "d": {
            "anyOf": [
                {"type": "STRING"},
                {"type": "NUMBER"},
                {"type": "BOOLEAN"},
                {"type": "OBJECT"},
                {"type": "ARRAY", "items": {}},
            ],
            "nullable": True,
        },
        "e": {"type": "ARRAY", "items": {"type": "STRING"}},
    }


def test_geminis_json_schema_keeps_its_own_keywords() -> None:
    schema = closed({"a": {"type": "string", "minLength": 1, "const": "x"}, "b": {"type": "object"}}, minProperties=1)
    said = compile_schema(schema, GEMINI_JSON_SCHEMA)
    assert said.schema["properties"]["a"] == {"type": "string", "description": "(at least 1 character)", "enum": ["x"]}
    assert said.notes == ("at least 1 property",)


def test_cohere_has_no_null_and_leaves_out_what_is_null_by_default() -> None:
    tags = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None}
    compiled = compile_schema(closed({"a": {"type": "string"}, "tags": tags}, "a"), COHERE_STRICT)
    assert compiled.strict
    assert compiled.schema["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert compiled.fill({"a": "x", "tags": None}) == {"a": "x"}
    assert "null" in why_not(closed({"a": {"type": ["string", "null"]}}, "a"), COHERE_STRICT)
    assert "no required property" in why_not(closed({"a": {"type": "string"}}), COHERE_STRICT)


def test_anthropic_gets_other_names_for_properties_that_it_would_refuse() -> None:
    schema = closed(
        {"$filter": {"type": "string"}, "user name": {"type": "string"}, "ok.1": {"type": "string"}}, "$filter"
    )
    for profile in (ANTHROPIC_STRICT, ANTHROPIC_PLAIN):
        compiled = compile_schema(schema, profile, tool="t")
        names = list(compiled.schema["properties"])
        assert names[2] == "ok.1"
        assert names[0].startswith("filter_")
        assert compiled.schema["required"] == [names[0]]
        assert compiled.restore({names[0]: "a", names[1]: "b"}) == {"$filter": "a", "user name": "b"}
        assert compiled.fill({"$filter": "a"}) == {names[0]: "a"}
        assert compiled.losses[0].path == "input_schema.properties['$filter']"


def test_rules_about_names_are_words_where_the_names_are_others() -> None:
    schema = {
        "type": "object",
        "properties": {"a b": {"type": "string"}},
        "patternProperties": {"^x": {"type": "string"}},
        "dependentRequired": {"a b": ["c"]},
        "propertyNames": {"maxLength": 9},
    }
    compiled = compile_schema(schema, ANTHROPIC_PLAIN)
    assert compiled.schema.keys() == {"type", "properties"}
    assert len(compiled.notes) == 3


def test_alternatives_of_the_root_are_said_of_its_properties() -> None:
    schema = {
        "oneOf": [
            closed({"path": {"type": "string"}, "mode": {"const": "r"}}, "path", "mode"),
            closed({"url": {"type": "string"}, "mode": {"const": "w"}}, "url", "mode"),
        ]
    }
    compiled = compile_schema(schema, OPENAI_PLAIN)
    assert compiled.schema["properties"] == {
        "path": {"type": "string"},
        "mode": {"anyOf": [{"const": "r"}, {"const": "w"}]},
        "url": {"type": "string"},
    }
    assert compiled.schema["required"] == ["mode"]
    assert compiled.schema["additionalProperties"] is False
    assert compiled.notes[0].startswith("must fit exactly one of: ")


def test_needs_of_the_root_are_words() -> None:
    schema = closed(
        {"a": {"type": "string"}, "b": {"type": "string"}}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]
    )
    compiled = compile_schema(schema, OPENAI_STRICT)
    assert compiled.strict
    assert compiled.notes == ('give at least one of: "a" | "b"',)


def test_objects_of_a_union_are_told_apart_on_the_way_back() -> None:
    one = closed({"kind": {"const": "file"}, "path": {"type": "string"}, "line": {"type": "integer"}}, "kind", "path")
    two = closed({"kind": {"const": "text"}, "body": {"type": "string"}}, "kind")
    compiled = compile_schema(closed({"x": {"anyOf": [one, two]}}, "x"), OPENAI_STRICT)
    assert compiled.strict, compiled.losses
    for value in ({"kind": "file", "path": "a"}, {"kind": "text"}, {"kind": "text", "body": "b"}):
        assert compiled.restore(compiled.fill({"x": value})) == {"x": value}
    same = closed({"a": {"type": "string"}, "b": {"type": "integer"}})
    other = closed({"b": {"type": "integer"}, "a": {"type": "integer"}})
    assert "told apart" in why_not(closed({"x": {"anyOf": [same, other]}}, "x"), OPENAI_STRICT)


def test_openai_takes_no_alternatives_that_begin_alike() -> None:
    one = closed({"name": {"type": "string"}, "a": {"type": "string"}}, "name", "a")
    two = closed({"name": {"type": "string"}, "b": {"type": "string"}}, "name", "b")
    schema = closed({"x": {"anyOf": [one, two]}}, "x")
    assert "begin with the same property" in why_not(schema, OPENAI_STRICT)
    assert compile_schema(schema, ANTHROPIC_STRICT).strict


def test_limits_of_one_schema_keep_a_tool_from_going_strict() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(11):
        deep = closed({"a": deep}, "a")
    assert "nests deeper than 10 levels" in why_not(deep, OPENAI_STRICT)
    enum = closed({"x": {"enum": [f"v{n}" for n in range(1_001)]}}, "x")
    assert why_not(enum, OPENAI_STRICT).endswith("it has 1,001 values of enums, and 1,000 are taken")
    text = closed({"x": {"enum": ["v" * 120_001]}}, "x")
    assert "characters of names and values" in why_not(text, OPENAI_STRICT)


def test_a_tool_without_arguments_is_an_empty_object_everywhere() -> None:
    for profile in PROFILES:
        compiled = compile_schema(closed({}), profile)
        assert compiled.schema["properties"] == {}
        assert compiled.is_empty
        assert compiled.strict == (profile.strict and profile is not COHERE_STRICT)


@pytest.mark.parametrize(
    "schema", [True, {}, {"properties": {"a": True, "b": False}}, {"title": "T", "description": "D"}]
)
def test_a_root_without_a_type_is_an_object(schema: Any) -> None:
    for profile in PROFILES:
        said = compile_schema(schema, profile).schema
        assert said["type"].lower() == "object"
        assert "properties" in said


@pytest.mark.parametrize(
    "schema", [False, None, 3, [], {"type": "nope"}, {"$schema": "http://json-schema.org/draft-04/schema#"}]
)
def test_what_is_not_a_schema_takes_any_object(schema: Any) -> None:
    for profile in PROFILES:
        compiled = compile_schema(schema, profile, tool="t")
        assert compiled.schema["type"].lower() == "object"
        assert not compiled.strict
        assert compiled.losses


def test_a_schema_that_takes_nothing_says_so() -> None:
    compiled = compile_schema({"type": "string"}, OPENAI_PLAIN, tool="t")
    assert [loss.what for loss in compiled.losses] == ["no arguments fit it"]


def _bomb(rounds: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"d{n}": closed({"l": {"$ref": f"#/$defs/d{n + 1}"}, "r": {"$ref": f"#/$defs/d{n + 1}"}}, "l")
        for n in range(rounds)
    }
    definitions[f"d{rounds}"] = {"type": "string", "description": "long " * 1_000}
    return closed({"x": {"$ref": "#/$defs/d0"}}, "x", **{"$defs": definitions})


@pytest.mark.parametrize(
    "schema",
    [
        _bomb(30),
        closed({"x": {"allOf": [{"enum": list(range(9_000))}, {"enum": list(range(1, 9_001))}]}}, "x"),
        closed(
            {f"p{n}": {"$ref": "#/$defs/a"} for n in range(2_000)},
            **{"$defs": {"a": closed({f"q{n}": {"type": "string", "description": "y" * 300} for n in range(2_000)})}},
        ),
        {"oneOf": [{"properties": {f"p{n}_{m}": {"type": "string"} for m in range(20)}} for n in range(200)]},
        closed({"x": {"anyOf": [{"not": {"enum": ["z" * 900_000]}}] * 20}}, "x"),
    ],
    ids=["doubling", "enums", "wide", "alternatives", "long"],
)
def test_a_schema_that_would_grow_without_end_is_cut(schema: dict[str, Any], in_time: Any) -> None:
    import json

    for profile in PROFILES:
        with in_time():
            compiled = compile_schema(schema, profile, tool="t")
        assert len(json.dumps(compiled.schema)) < 4_000_000
        assert sum(map(len, compiled.notes)) < 20_000


def test_nothing_of_the_original_changes() -> None:
    import copy

    schema = closed({"a": {"type": "string", "minLength": 2}, "b": {"enum": [1]}}, anyOf=[{"required": ["a"]}])
    before = copy.deepcopy(schema)
    for profile in PROFILES:
        compile_schema(schema, profile)
    assert schema == before


def test_what_does_not_fit_the_plan_comes_back_as_it_was() -> None:
    compiled = compile_schema(TREE, OPENAI_STRICT)
    for value in (None, 3, [], {"tree": 3}, {"tree": {"children": 3, "next": []}}, {"other": None}):
        assert compiled.restore(value) == value
        compiled.fill(value)


# The corners: what is rare, and still sound.


def test_a_dynamic_reference_is_any_value() -> None:
    schema = closed({"x": {"$dynamicRef": "#/properties/y", "description": "A node."}, "y": NUMBER}, "x")
    assert "dynamic reference" in why_not(schema, OPENAI_STRICT)
    assert compile_schema(schema, OPENAI_PLAIN).schema["properties"]["x"] == {"description": "A node."}


def test_a_circle_beside_other_rules_stays_beside_them() -> None:
    node = closed({"next": {"$ref": "#/$defs/Node", "minProperties": 1, "description": "Next."}}, "next")
    schema = closed({"x": {"$ref": "#/$defs/Node"}}, "x", **{"$defs": {"Node": node}})
    assert "beside other rules" in why_not(schema, OPENAI_STRICT)
    said = compile_schema(schema, OPENAI_PLAIN).schema["properties"]["x"]["properties"]["next"]
    assert said == {"allOf": [{"$ref": "#/$defs/Node"}, {"minProperties": 1}], "description": "Next."}


def test_references_go_by_the_base_that_is_in_force() -> None:
    inner = {"$id": "https://example.org/inner", "$defs": {"A": {"type": "integer"}}, "$ref": "#/$defs/A"}
    schema = closed({"x": inner, "y": {"$ref": "#/$defs/A"}}, "x", "y", **{"$defs": {"A": {"type": "string"}}})
    properties = compile_schema(schema, OPENAI_STRICT).schema["properties"]
    assert (properties["x"]["type"], properties["y"]["type"]) == ("integer", "string")


def test_geminis_parameters_say_null_of_a_union_once() -> None:
    schema = {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}
    assert argument(schema, GEMINI_PARAMETERS) == {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": True}
    assert argument({"type": ["string", "integer", "null"]}, GEMINI_PARAMETERS)["nullable"] is True
    assert argument({"type": "null"}, GEMINI_PARAMETERS) == {"type": "NULL"}
    assert argument({"type": ["object", "null"], "required": ["a"]}, GEMINI_PARAMETERS) == {
        "type": "OBJECT",
        "properties": {},
        "nullable": True,
        "description": '(needs "a")',
    }


def test_geminis_json_schema_says_conditions_in_words() -> None:
    schema = {
        "type": "object",
        "properties": {"a": NUMBER},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        "anyOf": [{"minProperties": 1}],
        "not": {"required": ["c"]},
        "if": {"required": ["a"]},
        "then": {"required": ["b"]},
        "dependentSchemas": {"a": {"required": ["b"]}},
        "patternProperties": {"^x": NUMBER},
        "additionalProperties": False,
    }
    said = argument(schema, GEMINI_JSON_SCHEMA)
    assert said.keys() == {"type", "properties", "anyOf", "description"}
    for words in ("exactly one", "must not fit", "if it fits", "then it fits", "no other properties", "names match"):
        assert words in said["description"]


def test_a_list_that_contains_is_said_in_words_where_it_cannot_be_kept() -> None:
    schema = {"type": "array", "items": NUMBER, "contains": {"const": 1}, "minContains": 2, "maxContains": 3}
    said = argument(schema, GEMINI_JSON_SCHEMA)
    assert said["description"] == '(contains an item that fits {"const": 1}; at least 2 of those; at most 3 of those)'
    assert argument(schema, OPENAI_PLAIN) == schema


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "enum": [1]},
        {"enum": ["a"], "const": "b"},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"allOf": [{"const": 1}, {"const": 2}]},
        {"allOf": [{"enum": ["a"]}, {"enum": ["b"]}]},
        {"anyOf": [False]},
        {"allOf": [{"type": "array"}, False]},
        closed({"a": False}, "a"),
        closed({}, "a"),
    ],
)
def test_what_nothing_fits_is_not_a_property_and_a_tool_that_needs_it_takes_any_arguments(schema: Any) -> None:
    for profile in (OPENAI_STRICT, GEMINI_JSON_SCHEMA, ANTHROPIC_STRICT, GEMINI_PARAMETERS):
        optional = compile_schema(closed({"x": schema, "y": NUMBER}, "y"), profile)
        assert list(optional.schema["properties"]) in (["y"], ["x", "y"])
        needed = compile_schema(closed({"x": schema}, "x"), profile, tool="t")
        assert not needed.strict


def test_folding_keeps_the_narrower_of_two() -> None:
    one = {
        "type": ["string", "array", "object"],
        "maxLength": 5,
        "uniqueItems": True,
        "items": NUMBER,
        "dependentRequired": {"a": ["b"]},
        "propertyNames": {"maxLength": 3},
        "enum": [[1], [2], True, 1],
        "multipleOf": 2,
    }
    two = {
        "type": ["array", "string"],
        "maxLength": 3,
        "uniqueItems": False,
        "items": {"minimum": 1},
        "dependentRequired": {"a": ["c"], "b": ["a"]},
        "propertyNames": {"minLength": 1},
        "enum": [[2], 1.0, {"a": 1}],
        "multipleOf": 3,
    }
    from pegboard_chat.portable.merge import merge

    merged, rest = merge(one, two)
    assert rest == {"multipleOf": 3}
    assert merged == {
        "type": ["string", "array"],
        "maxLength": 3,
        "uniqueItems": True,
        "items": {"allOf": [NUMBER, {"minimum": 1}]},
        "dependentRequired": {"a": ["b", "c"], "b": ["a"]},
        "propertyNames": {"allOf": [{"maxLength": 3}, {"minLength": 1}]},
        "enum": [[2], 1],
        "multipleOf": 2,
    }


def test_null_for_nothing_is_not_strict_where_a_rule_asks_what_there_is() -> None:
    schema = closed({"a": {"type": ["string", "null"], "default": None}, "b": NUMBER}, dependentRequired={"a": ["b"]})
    assert "asks which properties there are" in why_not(schema, OPENAI_STRICT)


def test_a_list_of_alternatives_finds_its_way_back() -> None:
    item = closed({"a": NUMBER})
    schema = closed({"x": {"type": ["array", "null"], "items": item, "default": None}, "y": {"anyOf": [item, NUMBER]}})
    compiled = compile_schema(schema, OPENAI_STRICT)
    assert compiled.strict, compiled.losses
    for value in ({"x": [{}, {"a": 1}], "y": {}}, {"x": [], "y": 3}, {"x": None, "y": {"a": 1}}):
        assert compiled.restore(compiled.fill(value)) == value
    union = closed({"x": {"type": ["object", "array"], **item, "items": item}}, "x")
    both = compile_schema(union, OPENAI_STRICT)
    assert both.strict, both.losses
    for value in ({"x": {}}, {"x": [{}, {"a": 1}]}):
        assert both.restore(both.fill(value)) == value


def test_every_keyword_is_said_in_words_however_many_losses_are_told() -> None:
    count = MAX_LOSSES + 50
    properties = {f"p{n}": {"type": "string", "minLength": 2, "examples": ["ab"]} for n in range(count)}
    compiled = compile_schema(closed(properties), OPENAI_STRICT, tool="wide")
    said = {item["description"] for item in compiled.schema["properties"].values()}
    assert said == {'(at least 2 characters; for example "ab")'}
    assert len(compiled.losses) == MAX_LOSSES + 1
    assert compiled.losses[-1].what == f"and {2 * count - MAX_LOSSES} more"
