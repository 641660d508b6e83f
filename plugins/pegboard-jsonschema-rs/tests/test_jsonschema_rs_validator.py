"""The validator on jsonschema-rs: all of draft 7 and 2020-12, nothing fetched, every value answered."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from enum import IntEnum
from importlib.metadata import entry_points

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard import Fault
from pegboard._frozen import freeze
from pegboard.schema.check import faults_of
from pegboard.schema.explain import explain
from pegboard.schema.patterns import ForeignPatternError, compiled
from pegboard.validation import CoreValidator, declined
from pegboard_jsonschema_rs.plugin import RustValidator, make_validator

REMOTE = {"refRemote", "vocabulary", "dynamicRef", "ref"}
"""Files of the suite in which some schemas point to others, which this host never fetches."""


@pytest.mark.parametrize(("draft", "required"), [("draft7", 898), ("draft2020-12", 1_242)])
def test_official_suite_is_right_wherever_nothing_is_to_be_fetched(json_schema_suite, draft, required):
    wrong, right = [], 0
    for case in json_schema_suite[draft]:
        validate = make_validator(case.schema, True)
        if validate is None:
            text = json.dumps(case.schema)
            assert case.name.split(":")[0] in REMOTE, case.name
            assert "localhost:1234" in text, case.name
        elif (not validate(case.value)) == case.valid:
            right += 1
        else:
            wrong.append(case.name)
    assert wrong == []
    assert right >= required


@pytest.mark.unmeasured
def test_the_walker_and_both_validators_agree(schemas_with_values):
    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(schemas_with_values)
    def agree(schema_and_values):
        schema, values = schema_and_values
        if faults_of(schema, foreign=True):
            return
        validate = RustValidator(schema)
        if not validate.compile():
            return
        others = [lambda value: explain(schema, value)]
        if not declined(schema):
            others.append(CoreValidator(schema))
        for value in values:
            assert [bool(other(value)) for other in others] == [bool(validate(value))] * len(others), value

    agree()


PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", "ab", r"\w", r"\d", "^", "$", r"\$", "[$]", r"[^\W]", "1"]),
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{0,3}", "{2}", "{1,20}", "*?"])).map(
            lambda p: f"({p[0]}){p[1]}"
        )
    ),
    max_leaves=8,
)


@given(PATTERNS, st.lists(st.text("ab1é$\n_٣", max_size=8), min_size=1, max_size=5))
def test_patterns_mean_the_same_to_the_core_and_to_the_library(pattern, texts):
    try:
        regex, _ = compiled(pattern)
    except ForeignPatternError:
        return
    validate = RustValidator({"pattern": pattern})
    assert validate.compile()
    for text in texts:
        assert (regex.search(text) is not None) == (not validate(text)), text


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.just("\udc80")
    | st.binary(max_size=1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@given(ANYTHING, ANYTHING)
def test_any_schema_and_any_value_are_answered_and_never_with_an_exception(schema, value):
    validate = make_validator(schema, True) or make_validator({"items": {"$ref": "#"}}, True)
    assert all(isinstance(fault, Fault) for fault in validate(value))


@pytest.mark.parametrize(
    ("schema", "right", "wrong", "texts"),
    [
        ({"unevaluatedProperties": False, "properties": {"a": True}}, {"a": 1}, {"b": 1},
         ["b: expected a known name, got an unknown one"]),
        ({"contains": {"type": "integer"}, "minContains": 2}, [1, 2], [1],
         ["the value: expected at least 2 items of this kind: integer, got 1 of 1"]),
        ({"pattern": r"^\p{L}+$"}, "é", "1", [r'the value: expected a value that fits pattern: "^\\p{L}+$", got "1"']),
        ({"pattern": "^(a+)+$"}, "aa", "ab", ['the value: expected a value that fits pattern: "^(a+)+$", got "ab"']),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}, 2, 1, None),
        ({"$schema": "https://json-schema.org/draft-07/schema", "items": [{"type": "string"}]}, ["a"], [1],
         ["[0]: expected string, got 1"]),
        (False, None, 1, ["the value: expected nothing here, got 1"]),
        (True, 1, math.nan, ["the value: expected a finite number, got nan"]),
    ],
)  # fmt: skip
def test_what_the_core_declines_is_held_and_explained(schema, right, wrong, texts):
    validate = make_validator(freeze(schema), True)
    assert schema is False or validate(freeze(right)) == ()
    said = [str(fault) for fault in validate(wrong)]
    assert said
    assert texts is None or said == texts


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "http://127.0.0.1:9/other.json"},
        {"properties": {"a": {"$ref": "file:///etc/hostname"}}, "unevaluatedProperties": False},
        {"$schema": "https://example.com/dialect"},
        {"pattern": "("},
        {"pattern": r"\p{Nonsense}"},
        {"type": "strng"},
        {"$ref": "#"},
        "no schema",
    ],
)
def test_what_points_outside_or_is_not_a_schema_is_not_held(schema):
    assert make_validator(schema, True) is None


def test_a_misspelt_keyword_is_a_mistake_in_a_schema_of_ones_own():
    assert make_validator({"propertys": {}}, False) is None
    assert make_validator({"propertys": {}}, True)({}) == ()


class Level(IntEnum):
    LOW = 1


@pytest.mark.parametrize("value", [freeze({"a": [1, {"b": ["x"]}]}), {"a": (1, {"b": []})}, {"a": [Level.LOW]}])
def test_values_of_subclasses_are_read_as_the_json_they_are(value):
    schema = freeze({"type": ["object", "null"], "properties": {"a": {"items": {"type": ["integer", "object"]}}}})
    validate = RustValidator(schema)
    assert validate.compile()
    assert validate(value) == ()
    assert [str(fault) for fault in validate(freeze({"a": ["x"]}))] == ['a[0]: expected integer or object, got "x"']


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({}, nested(5_000), "levels"),
        ({"items": {"$ref": "#"}}, nested(5_000), "levels"),
        ({"type": "object"}, {1: 2}, "text as keys"),
        ({"type": "object", "additionalProperties": False}, {1: 2}, "text as keys"),
        ({"enum": [1]}, {2}, "a JSON value"),
        ({"type": "string"}, "\udc80", "text"),
        ({}, [10**5_000], "digits"),
        ({"items": {"type": "number"}}, [math.inf], "finite number"),
    ],
)
def test_what_no_json_text_brings_is_a_fault(schema, value, expected):
    (fault, *_) = make_validator(schema, True)(value)
    assert expected in fault.expected


def test_schemas_and_patterns_that_explode_end_in_bounded_time(in_time):
    definitions = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    bomb = {"$defs": {**definitions, "d60": {"type": "string"}}, "$ref": "#/$defs/d0"}
    with in_time():
        assert make_validator(bomb, True)(5)
        assert make_validator({"pattern": "^(a+)+$"}, True)("a" * 50_000 + "b")
        assert make_validator({"pattern": "a*a*a*b"}, True)("a" * 500_000)


def test_what_multiplies_is_not_held_where_the_walker_cannot_tell_it():
    definitions = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    bomb = {"$defs": {**definitions, "d60": {"pattern": r"^\p{L}$"}}, "$ref": "#/$defs/d0"}
    assert make_validator(bomb, True) is None


def test_faults_of_the_library_are_counted():
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "items": {"type": "string"}}
    faults = make_validator(schema, True)(list(range(200)))
    assert len(faults) == 50
    assert faults[3].path == (3,)


def test_the_plugin_is_found_and_stays_light_until_the_first_call():
    (entry,) = [found for found in entry_points(group="pegboard") if found.name == "jsonschema_rs"]
    assert entry.value == "pegboard_jsonschema_rs.plugin"
    code = (
        "import sys; from pegboard_jsonschema_rs.plugin import make_validator; "
        "v = make_validator({'type': 'integer', 'unevaluatedItems': False}, False); "
        "assert 'jsonschema_rs' not in sys.modules; assert v(1) == (); assert 'jsonschema_rs' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_large_value_of_a_schema_that_is_walked_is_walked_to_its_end():
    branches = [{"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": most} for most in (1_500, 5)]
    schema = {"$ref": "#/$defs/t", "$defs": {"t": {"anyOf": [*branches, {"type": "integer"}]}}}
    validate = make_validator(schema=schema, foreign=True)
    assert validate([0] * 1_000) == ()
    assert validate([0] * 2_000)
