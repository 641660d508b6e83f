"""The core's own validator: what it holds it holds to the letter, and what it declines it declines on purpose."""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal

import fastjsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import Fault, thaw
from pegboard import validation as module
from pegboard._frozen import freeze
from pegboard.errors import ToolDefinitionError
from pegboard.schema.check import faults_of, is_large
from pegboard.schema.explain import explain
from pegboard.schema.generated import _NoHandlers, generated, steps_of
from pegboard.validation import DECLINED, CoreValidator, declined, make_validator, why_declined

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
ADD = {
    "type": "object",
    "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


def holds(schema, value):
    validate = make_validator(schema, True)
    assert validate is not None
    return not validate(value)


@pytest.mark.parametrize("draft", ["draft7", "draft2020-12"])
@pytest.mark.unmeasured
def test_official_suite_every_schema_is_held_right_but_those_that_point_outside(json_schema_suite, draft):
    wrong, held = [], 0
    for case in json_schema_suite[draft]:
        assert faults_of(case.schema, foreign=True) == [], case.name
        reasons = declined(case.schema)
        assert set(reasons) <= DECLINED.keys()
        validate = make_validator(case.schema, True)
        assert (validate is None) == bool(reasons)
        if validate is None:
            wrong += [case.name] if not OUTSIDE.issuperset(reasons) else []
            continue
        held += 1
        if (not validate(case.value)) != case.valid:
            wrong.append(case.name)
    assert wrong == []
    assert held >= {"draft7": 890, "draft2020-12": 1_200}[draft]


OUTSIDE = {"$ref", "$dynamicRef", "$schema", "pattern", "patternProperties"}


def test_official_suite_is_explained_where_no_reference_points_outside(json_schema_suite):
    wrong = [
        case.name
        for cases in json_schema_suite.values()
        for case in cases
        if not declined(case.schema) and (not explain(case.schema, case.value)) != case.valid
    ]
    assert wrong == []


@pytest.mark.unmeasured
def test_generated_code_accepts_nothing_that_the_walker_refuses(schemas_with_values):
    seen = []

    @settings(max_examples=400, suppress_health_check=list(HealthCheck))
    @given(schemas_with_values)
    def agree(schema_and_values):
        schema, values = schema_and_values
        if faults_of(schema, foreign=True) or declined(schema):
            return
        validate = CoreValidator(schema)
        seen.append(steps_of(schema) is not None)
        for value in values:
            assert list(validate(value)) == explain(schema, value), value

    agree()
    assert any(seen), "the sampler draws no schema that code is generated for"


PLAIN_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, -1, 2, 1.0, -0.0, 1.5, 2**53 + 1, 1e30, 10**400, math.nan, math.inf, Decimal(1)])
    | st.sampled_from(["", "a", "b", "A", "a\n", "ab", "é", "١", "\ud800", "2026-01-01"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "a_b", "ab", "\udc80", 1]), inner, max_size=3)
    ),
    max_leaves=6,
)
PLAIN_SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer", "minimum": 1},
            {"type": "number", "exclusiveMaximum": 2},
            {"type": ["boolean", "number"]},
            {"enum": [1, "a", False, None, 2.0, 2**53 + 1]},
            {"type": "string", "pattern": "^[a-z]+$", "maxLength": 1},
            {"type": "array", "items": {"type": ["integer", "boolean"]}, "uniqueItems": True},
            {"$ref": "#/$defs/A", "description": "x"},
            {"$ref": "#/definitions/b"},
            {},
            True,
        ]
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"properties": st.dictionaries(st.sampled_from(["a", "b", "a_b", "ab"]), inner, max_size=3)},
            optional={
                "type": st.just("object"),
                "additionalProperties": inner | st.booleans(),
                "required": st.just(["a"]),
                "minProperties": st.just(1),
                "default": st.just({"id": "x"}),
                "x-own": st.just({"$ref": "y"}),
            },
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional={"maxItems": st.just(2)}),
        st.lists(inner, min_size=1, max_size=3).flatmap(
            lambda many: st.sampled_from(["anyOf", "oneOf", "allOf"]).map(lambda keyword: {keyword: many})
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(PLAIN_SCHEMAS, PLAIN_SCHEMAS, st.sampled_from([None, DRAFT_7]), st.lists(PLAIN_VALUES, min_size=1, max_size=5))
def test_what_code_is_generated_for_is_judged_as_the_walker_judges(schema, other, dialect, values):
    schema = {**schema, "definitions": {"b": {"type": "null"}}, "$defs": {"A": other}} if schema is not True else True
    if dialect and schema is not True:
        schema = {"$schema": dialect, **schema}
    if faults_of(schema, foreign=True):
        return
    validate = CoreValidator(freeze(schema))
    for value in values:
        assert list(validate(value)) == explain(schema, value), value


@pytest.mark.parametrize(
    "schema",
    [
        {"const": 1},
        {"multipleOf": 2},
        {"type": "string", "contentEncoding": "base64"},
        {"pattern": r"^\d$"},
        {"pattern": "^.$"},
        {"pattern": "[$]"},
        {"pattern": "a$b"},
        {"pattern": "a*a*b"},
        {"patternProperties": {"^a": True}},
        {"uniqueItems": True},
        {"uniqueItems": True, "items": {"type": "array"}},
        {"enum": [[1]]},
        {"$schema": DRAFT_7, "items": [{"type": "string"}]},
        {"$defs": {"A": {}}, "items": {"$ref": "#/$defs/A", "minimum": 1}},
        {"$defs": {"A": {}, "a": {}}, "properties": {"x": {"$ref": "#/$defs/A"}, "y": {"$ref": "#/$defs/a"}}},
        {"$defs": {"A": {"items": {"$ref": "#/$defs/A"}}}, "$ref": "#/$defs/A"},
        {"properties": {"a": {"$ref": "#/properties/b"}, "b": {}}},
        {"items": {"$ref": "#"}},
        {"$id": "https://example.com/a"},
        {"id": "https://example.com/a"},
        {"not": {}},
        {"if": {}},
        {"contains": {}},
        {"unevaluatedProperties": False},
        True,
    ],
)
def test_what_fastjsonschema_would_read_in_its_own_way_is_walked(schema):
    assert faults_of(schema, foreign=True) == []
    assert steps_of(schema) is None


@pytest.mark.parametrize(
    "schema",
    [
        ADD,
        {"$schema": DRAFT_7, **ADD},
        {
            "items": {"$ref": "#/$defs/A", "description": "x"},
            "$defs": {"A": {"type": "string", "pattern": "^[a-z]{2}$"}},
        },
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"properties": {"id": {"type": "string"}, "$ref": {}}, "x-own": 1, "default": {"$ref": "x"}},
        {"type": "string", "format": "email", "enum": ["a"]},
    ],
)
def test_code_is_generated_for_what_tools_mostly_have(schema):
    assert faults_of(schema, foreign=True) == []
    assert steps_of(schema) is not None
    assert generated(freeze(schema)) is not None


PART = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize(
    ("schema", "functions"),
    [
        ({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": PART}}, 1),
        ({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": {"$ref": "#/$defs/B"}, "B": PART}}, 2),
        ({"items": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}, "$defs": {"A": PART}}, 1),
        ({"items": {"$ref": "#/definitions/A", "title": "x"}, "definitions": {"A": {**PART, "$defs": {"A": {}}}}}, 1),
        ({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": PART, "C": {"items": {"$ref": "#/$defs/C"}}}}, 1),
        ({"items": {"$ref": "#/$defs/A"}, "minItems": 0, "anyOf": [{"items": {"$ref": "#/$defs/A"}}],
          "$defs": {"A": PART}}, 2),
        ({"$ref": "#/$defs/L", "$defs": {"L": {"items": {"$ref": "#/$defs/A"}, "$defs": {}}, "A": PART}}, 1),
    ],
)  # fmt: skip
def test_a_definition_that_is_referred_to_once_is_no_function_of_its_own(schema, functions):
    """What the generated code says yes to is still what the walker says yes to."""
    check = generated(freeze(schema))
    assert check is not None
    assert len({value for name, value in check.__globals__.items() if name.startswith("validate")}) == functions
    validate = make_validator(schema, True)
    check([{"n": 1}])
    assert validate([{"n": 1}]) == ()
    with pytest.raises(fastjsonschema.JsonSchemaException):
        check([{"n": "1"}])
    assert validate([{"n": "1"}]) != ()


def test_a_definition_that_is_a_boolean_stays_where_it_is():
    check = generated({"items": {"$ref": "#/$defs/A"}, "$defs": {"A": False}})
    assert check is not None
    check([])
    with pytest.raises(fastjsonschema.JsonSchemaException):
        check([1])


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@given(ANYTHING)
def test_any_value_is_answered_with_faults_and_never_with_an_exception(value):
    for schema in (ADD, {}, {"items": {"$ref": "#"}}, {"patternProperties": {"^a": {"type": "integer"}}}):
        for fault in make_validator(schema, True)(value):
            assert isinstance(fault, Fault)


SCHEMA_LIKE = st.recursive(
    ANYTHING,
    lambda inner: st.dictionaries(
        st.sampled_from(
            ["type", "properties", "items", "anyOf", "$ref", "$id", "enum", "pattern", "not", "required", "if"]
        ),
        inner | st.lists(inner, max_size=2) | st.sampled_from(["#", "#/items", "string", "(a+)+", "a*a*"]),
        max_size=4,
    ),
    max_leaves=6,
)


@given(SCHEMA_LIKE, ANYTHING, st.booleans())
def test_any_schema_is_held_declined_or_refused_by_name(schema, value, foreign):
    try:
        validate = make_validator(schema, foreign)
    except ToolDefinitionError as problem:
        validate = None
        answered = str(problem).startswith("the schema is wrong: ")
    else:
        answered = validate is not None or bool(declined(schema))
    assert answered
    if validate is not None:
        assert all(isinstance(fault, Fault) for fault in validate(value))


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "integer"}, [1, 1.0, -(2**70)], [True, 1.5, "1", None]),
        ({"type": "number"}, [1, 1.5], [True, "1", math.nan, math.inf]),
        ({"type": ["integer", "boolean"]}, [True, 1], [1.5, None]),
        ({"enum": [1, "a", False, {"x": [True]}]}, [1.0, "a", False, {"x": [True]}], [True, 0, "b", {"x": [1]}]),
        ({"const": {"$ref": "x", "$id": "y"}}, [{"$ref": "x", "$id": "y"}], [{}, None]),
        ({"const": 2**53 + 1}, [2**53 + 1], [float(2**53)]),
        ({"uniqueItems": True}, [[1, True, "1", [1], {"a": 1}], "x"], [[1, 1.0], [{"a": 1}, {"a": 1.0}]]),
        ({"multipleOf": 0.01}, [19.01, 0, 1e300, "x"], [19.015]),
        ({"multipleOf": 7}, [14, 14.0], [1e30, 15, 7.5]),
        ({"pattern": "^a$"}, ["a", 3], ["a\n", "b"]),
        ({"patternProperties": {"^a$": False}}, [{"a\n": 1}], [{"a": 1}]),
        ({"properties": {"a-b": {"type": "string"}, "ab": {"type": "integer"}}}, [{"a-b": "x", "ab": 1}], [{"a-b": 1}]),
        ({"$defs": {"A": {"type": "string"}, "a": {"type": "integer"}}, "prefixItems": [{"$ref": "#/$defs/A"},
          {"$ref": "#/$defs/a"}]}, [["x", 1]], [[1, 1], ["x", "x"]]),
        ({"$ref": "#/$defs/A", "maximum": 3, "$defs": {"A": {"type": "integer"}}}, [3], [4, "x"]),
        ({"$schema": DRAFT_7, "properties": {"v": {"$ref": "#/definitions/A", "maximum": 3}},
          "definitions": {"A": {"type": "integer"}}}, [{"v": 4}], [{"v": "x"}]),
        ({"$schema": DRAFT_7, "items": [{"type": "string"}], "additionalItems": False}, [["a"], []], [[1], ["a", 1]]),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, [["a", 1]], [["a", "b"]]),
        ({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"a": {"maxProperties": 2}}},
         [{"a": 1, "b": 1}, {"c": 1}], [{"a": 1}, {"a": 1, "b": 1, "c": 1}]),
        ({"required": ["z"], "additionalProperties": False}, ["x"], [{}, {"z": 1}]),
        ({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"minimum": 2}}, ["ab", 2], ["a", 1]),
        ({"contains": {"const": 1}}, [[0, 1], "x"], [[], [0]]),
        ({"properties": {"$ref": {"type": "string"}, "id": {"type": "integer"}}},
         [{"$ref": "x", "id": 1}], [{"$ref": 1}]),
        ({"properties": {"{0}\"'\\\n": {"type": "string"}}, "variable": 1, "name": 2},
         [{"{0}\"'\\\n": "x"}], [{"{0}\"'\\\n": 1}]),
        ({"default": {"a": 1}, "format": "email", "contentEncoding": "base64", "contentMediaType": "application/json"},
         ["no mail", 1], []),
        (True, [1, None], []),
        (False, [], [1, None]),
    ],
)  # fmt: skip
def test_values_are_held_to_the_letter(schema, right, wrong):
    for value in right:
        assert holds(schema, value), value
    for value in wrong:
        assert not holds(schema, value), value


def test_values_and_schemas_are_left_as_they_were():
    schema = freeze({"properties": {"a": {"default": 5, "$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "integer"}}})
    before, value = thaw(schema), freeze({"b": [1]})
    assert make_validator(schema, False)(value) == ()
    assert (thaw(schema), value) == (before, {"b": [1]})


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"$ref": "https://example.com/other.json"}, "$ref"),
        ({"items": {"$dynamicRef": "https://example.com/other.json#a"}}, "$dynamicRef"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "$schema"),
        ({"properties": {"a": {"$schema": DRAFT_7}}}, "$schema"),
        ({"pattern": "^(a+)+$"}, "pattern"),
        ({"patternProperties": {r"\p{L}": True}}, "patternProperties"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"pattern": "(?<=a)b"}}}}, "pattern"),
        ({"$ref": "#/x", "x": {"pattern": "(?<=a)b"}}, "pattern"),
    ],
)
def test_what_is_declined_names_the_keyword_and_the_package(schema, keyword):
    assert make_validator(schema, True) is None
    assert why_declined(schema) == (keyword, "pegboard-jsonschema-rs")
    assert DECLINED[keyword]


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"unevaluatedProperties": False, "properties": {"a": True}}, {"a": 1}, {"b": 1}),
        ({"properties": {"a": {"items": {"unevaluatedItems": False}}}}, {"a": [[]]}, {"a": [[1]]}),
        ({"contains": {"type": "string"}, "minContains": 2}, ["a", "b"], ["a", 1]),
        ({"contains": True, "maxContains": 2}, [1], [1, 2, 3]),
        ({"items": {"$dynamicRef": "#a"}, "$defs": {"a": {"$dynamicAnchor": "a", "type": "null"}}}, [None], [1]),
        ({"$defs": {"a": {"pattern": "(?<=a)b"}}, "type": "string"}, "x", 1),
        (
            {"$schema": DRAFT_7, "definitions": {"a": {"$id": "#n", "type": "null"}}, "items": {"$ref": "#n"}},
            [None],
            [1],
        ),
        ({"$schema": DRAFT_7, "$ref": "#/x/0", "x": [{"type": "null"}], "pattern": "(?<=a)b"}, None, "ab"),
        (
            {"$schema": DRAFT_7, "$id": "http://a.b/c", "items": [{"type": "null"}, {"$ref": "c#/items/0"}]},
            [None],
            [1, 1],
        ),
        ({"$schema": DRAFT_7, "prefixItems": [False], "dependentRequired": {"a": ["b"]}}, [1], None),
        ({"$schema": DRAFT_7, "items": {"$ref": "#"}, "type": ["array", "null"]}, [[None]], [[1]]),
    ],
)
def test_the_core_alone_holds_what_is_bounded_and_all_here(schema, right, wrong):
    validate = make_validator(freeze(schema), True)
    assert validate(right) == () or not validate(right)
    assert wrong is None or validate(wrong)


def test_a_wrong_schema_is_refused_with_its_faults():
    with pytest.raises(ToolDefinitionError, match=r"properties\.a\.type: expected one of null.*did you mean string"):
        make_validator({"properties": {"a": {"type": "strng"}}}, True)
    with pytest.raises(ToolDefinitionError, match="did you mean properties"):
        make_validator({"propertys": {}}, False)
    assert make_validator({"propertys": {}}, True)({"propertys": 1}) == ()


@pytest.mark.parametrize(
    ("schema", "value", "where"),
    [
        (ADD, {"a": math.nan, "b": 1}, "a"),
        ({}, {"a": [math.inf]}, "a[0]"),
        ({"items": {"type": "number"}}, [1.0, -math.inf], "[1]"),
        ({"type": "object", "properties": {"p": {"$ref": "#/$defs/p"}}, "additionalProperties": False,
          "$defs": {"p": {"type": "object", "properties": {"x": {"type": "number"}}, "additionalProperties": False}}},
         {"p": {"x": math.nan}}, "p.x"),
        ({"type": "object", "properties": {"u": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
          "additionalProperties": False}, {"u": math.nan}, "u"),
    ],
)  # fmt: skip
def test_nan_and_infinity_are_refused_wherever_they_hide(schema, value, where):
    (fault,) = make_validator(schema, False)(value)
    assert (fault.where, fault.expected) == (where, "a finite number")


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "schema", [{}, {"items": {"$ref": "#"}}, {"type": "array"}, {"uniqueItems": True}, {"enum": [1]}]
)
def test_deep_values_are_answered(schema):
    assert "levels" in make_validator(schema, True)(nested(5_000))[0].expected


def test_deep_schemas_compile_beyond_what_python_nests():
    schema: dict = {"type": "integer"}
    right: object = 1
    wrong: object = "x"
    for _ in range(15):
        schema, right, wrong = {"items": {"anyOf": [schema]}, "type": "array"}, [right], [wrong]
    validate = make_validator(schema, True)
    assert validate(right) == ()
    assert validate(wrong)


def test_references_that_branch_cost_bounded_time(in_time):
    definitions = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    validate = make_validator({"$defs": {**definitions, "d60": {"type": "string"}}, "$ref": "#/$defs/d0"}, True)
    with in_time():
        assert "bounded time" in validate(5)[0].expected
    assert validate("x") == ()


MANY = {
    "items against objects": ({"items": {"enum": [{"a": n} for n in range(100)]}}, {"a": 99}, 500),
    "contains": ({"contains": {"const": 1}}, 0, 0),
    "anything": ({}, 0, 100_000),
    "plain items": ({"items": {"type": "integer"}}, 0, 100_000),
    "alternatives": ({"items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}, 0, 20_000),
    "by name": ({"items": {"properties": {"a": {"type": "string"}}}}, {"a": "x"}, 20_000),
    "again and again": ({"allOf": [{"items": {"type": "integer"}}] * 200}, 0, 2_000),
    "unique items": ({"items": {"uniqueItems": True}}, [{"a": 1}, {"a": 2}], 10_000),
    "tries": ({"items": {"anyOf": [{"required": [f"r{n}"]} for n in range(300)]}}, {"r299": 1}, 200),
    "recursion": ({"items": {"$ref": "#"}}, [], 40_000),
    "multiples": ({"items": {"multipleOf": 7}}, 14, 10_000),
}


@pytest.mark.parametrize(("schema", "item", "fits"), MANY.values(), ids=MANY)
def test_a_large_value_is_held_or_refused_in_bounded_time(schema, item, fits, in_time):
    validate = make_validator(schema, True)
    assert validate([item] * fits) == () or not fits
    with in_time():
        for many in (60_000, 900_000):
            for value in ([item] * many, [item] * many + [None]):
                told = [fault.expected for fault in validate(value)]
        assert told == ["a value that can be checked in bounded time"]


@pytest.mark.parametrize("count", [300, 900], ids=["compiled", "walked"])
def test_many_names_against_many_patterns_cost_bounded_time(count, in_time):
    validate = make_validator({"patternProperties": {f"^p{n}x": {"type": "string"} for n in range(count)}}, True)
    assert validate({f"k{n}": 1 for n in range(500)}) == ()
    assert validate({"p7x": 1})
    with in_time():
        (fault,) = validate({f"k{n}": 1 for n in range(100_000)})
        assert fault.expected == "a value that can be checked in bounded time"


def test_a_text_too_long_for_its_pattern_is_a_fault():
    validate = make_validator({"pattern": "a*a*b"}, True)
    assert validate("aab") == ()
    assert "texts of at most" in validate("a" * 100_000)[0].expected


def test_only_those_used_of_late_stay_compiled(monkeypatch):
    monkeypatch.setattr(module, "MAX_COMPILED", 3)
    monkeypatch.setattr(module, "_kept", type(module._kept)())
    validators = [make_validator({"const": n}, False) for n in range(8)]
    for n, validate in enumerate(validators):
        assert validate(n) == ()
        assert validators[0](0) == ()
    assert len(module._kept) == 3
    assert validators[0] in module._kept
    assert all(not validate(n) for n, validate in enumerate(validators))


def test_making_a_validator_imports_no_compiler():
    code = (
        "import sys; from pegboard.validation import make_validator; v = make_validator({'type': 'integer'}, False); "
        "assert 'fastjsonschema' not in sys.modules; assert v(1) == (); assert 'fastjsonschema' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_schema_that_cannot_be_compiled_is_walked(monkeypatch):
    import fastjsonschema

    def fail(*args, **kwargs):
        raise SyntaxError("too many statically nested blocks")

    monkeypatch.setattr(fastjsonschema, "compile", fail)
    validate = make_validator({"type": "integer"}, False)
    assert validate(1) == ()
    assert [fault.expected for fault in validate("x")] == ["integer"]


LARGE = {
    "names": ({"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(4_000)}},
              {"p1": "x"}, [{"p3999": 1}, [], {"other": math.nan}]),
    "objects": ({"enum": [{"a": n, "b": [n]} for n in range(500)]}, {"a": 499.0, "b": [499]}, [{"a": 1, "b": [2]}, 1]),
    "numbers": ({"items": {"enum": [*range(2, 20_000), True]}}, [*range(2, 5_000), 5.0, True], [[1], [False], ["2"]]),
    "alternatives": ({"anyOf": [{"properties": {"a": {"const": n}}, "required": ["a"]} for n in range(800)]},
                     {"a": 799}, [{"a": -1}, {"a": True}, {}]),
    "long texts": ({"enum": [f"{n}{'x' * 1_000}" for n in range(200)]}, "5" + "x" * 1_000, ["5", ["5"], None]),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "right", "wrong"), LARGE.values(), ids=LARGE)
def test_a_large_schema_is_walked_and_never_compiled(schema, right, wrong, monkeypatch):
    import fastjsonschema

    monkeypatch.delattr(fastjsonschema, "compile")
    validate = make_validator(schema, True)
    assert validate(right) == ()
    assert validate(right) == ()
    assert all(map(validate, wrong))


def test_small_schemas_are_no_large_ones_whatever_they_say_in_words():
    schema = {"description": "x" * 100_000, "properties": {f"p{n}": {"title": "x" * 500} for n in range(300)}}
    assert not is_large(schema)
    assert is_large({**schema, "enum": [[n] for n in range(1_000)]})


def test_nothing_is_ever_fetched():
    handlers = _NoHandlers()
    with pytest.raises(ValueError, match="never fetched"):
        handlers["http"]("http://example.com")
    assert "file" in handlers
