"""Strings that hold JSON: which are repaired, which stay, and how the program reads KEY=VALUE."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard.schema.explain import explain
from pegboard.schema.repair import read_text, repair

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "x": {"type": "number"},
        "l": {"type": "array", "items": {"type": "number"}},
        "o": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "b": {"type": "boolean"},
        "s": {"type": ["string", "null"]},
        "auto": {"anyOf": [{"const": "auto"}, {"type": "integer"}, {"type": "null"}]},
        "level": {"enum": ["low", "high", 3]},
        "node": {"$ref": "#/$defs/count"},
        "small": {"type": "integer", "maximum": 5},
    },
    "additionalProperties": False,
    "$defs": {"count": {"type": "integer"}},
}


def repair_of(value):
    return repair(SCHEMA, value, explain(SCHEMA, value))


@pytest.mark.parametrize(
    ("value", "new", "reports"),
    [
        ({"n": "7"}, {"n": 7}, [{"path": "n", "from": '"7"', "to": "integer"}]),
        ({"x": " -1.5e2 "}, {"x": -150.0}, [{"path": "x", "from": '" -1.5e2 "', "to": "number"}]),
        ({"x": "7"}, {"x": 7}, [{"path": "x", "from": '"7"', "to": "number"}]),
        ({"l": "[1,2]"}, {"l": [1, 2]}, [{"path": "l", "from": '"[1,2]"', "to": "array"}]),
        ({"l": ["1", 2]}, {"l": [1, 2]}, [{"path": "l[0]", "from": '"1"', "to": "number"}]),
        (
            {"o": '{"n": "1"}'},
            {"o": {"n": 1}},
            [
                {"path": "o", "from": '"{\\"n\\": \\"1\\"}"', "to": "object"},
                {"path": "o.n", "from": '"1"', "to": "integer"},
            ],
        ),
        ('{"n": 1}', {"n": 1}, [{"path": "", "from": '"{\\"n\\": 1}"', "to": "object"}]),
        ({"auto": "7"}, {"auto": 7}, [{"path": "auto", "from": '"7"', "to": "integer"}]),
        ({"level": "3"}, {"level": 3}, [{"path": "level", "from": '"3"', "to": "integer"}]),
    ],
)
def test_strings_that_hold_what_is_expected_are_replaced_and_reported(value, new, reports):
    before = copy.deepcopy(value)
    repaired = repair_of(value)
    assert repaired is not None
    got = [{**report, "to": report["to"]} for report in repaired[1]]
    assert repaired[0] == new
    assert [report["path"] for report in got] == [report["path"] for report in reports]
    assert [report["from"] for report in got] == [report["from"] for report in reports]
    assert explain(SCHEMA, repaired[0]) == []
    assert value == before


@pytest.mark.parametrize(
    "value",
    [
        {"n": "1.5"},
        {"n": "7.0"},
        {"n": "1e3"},
        {"n": True},
        {"n": "true"},
        {"b": "true"},
        {"b": 1},
        {"n": "seven"},
        {"n": ""},
        {"n": "[1"},
        {"l": "[" * 5_000},
        {"l": "{}"},
        {"n": None},
        {"n": "1" * 5_000},
        {"x": "NaN"},
        {"m": "7"},
        {"auto": "autp"},
        "[1]",
        7,
        {"l": {"0": "1"}},
    ],
)
def test_nothing_else_is_coerced(value):
    assert repair_of(value) is None


def test_a_string_stays_where_a_string_is_allowed():
    assert explain(SCHEMA, {"s": "7"}) == []
    assert repair_of({"s": "null"}) is None


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(max_size=4)
        | st.sampled_from(["1", "[1]", '"1"', '{"n": "2"}']),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*SCHEMA["properties"], "z"]), inner, max_size=4)
        ),
        max_leaves=8,
    )
)
def test_any_value_is_repaired_or_not_and_never_changed(value):
    before = copy.deepcopy(value)
    repaired = repair_of(value)
    assert value == before
    if repaired is not None:
        assert repaired[0] != value
        assert repaired[1]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n", "6", 6),
        ("n", "six", "six"),
        ("n", "1.5", "1.5"),
        ("x", "1.5", 1.5),
        ("b", "true", True),
        ("b", "yes", "yes"),
        ("s", "6", "6"),
        ("s", "null", "null"),
        ("l", "[1]", [1]),
        ("l", '["a"]', ["a"]),
        ("l", "[", "["),
        ("o", '{"n": 1}', {"n": 1}),
        ("auto", "auto", "auto"),
        ("auto", "null", None),
        ("auto", "7", 7),
        ("level", "low", "low"),
        ("level", "3", 3),
        ("level", "4", 4),
        ("node", "6", 6),
        ("small", "9", 9),
    ],
)
def test_typed_text_is_read_by_the_schema_of_its_property(name, text, value):
    read = read_text(SCHEMA["properties"][name], text, root=SCHEMA)
    assert (type(read), read) == (type(value), value)


def test_text_for_an_open_schema_stays_text():
    assert read_text({}, "6") == "6"
