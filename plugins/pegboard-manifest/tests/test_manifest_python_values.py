"""JSON values into Python values, and any Python value back into JSON data."""

from __future__ import annotations

import array
import collections
import enum
import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import TextContent, ToolError, ToolResult
from pegboard_manifest.bindings._coerce import MismatchError, coercion_of, each
from pegboard_manifest.bindings._results import MAX_VALUES, to_data

UUID = "12345678-1234-5678-1234-567812345678"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("date", "2026-01-31", date(2026, 1, 31)),
        ("datetime", "2026-01-31T12:00:00Z", datetime(2026, 1, 31, 12, tzinfo=UTC)),
        ("time", "12:30", time(12, 30)),
        ("timedelta", 90, timedelta(seconds=90)),
        ("timedelta", 0.5, timedelta(milliseconds=500)),
        ("timedelta", "P1DT2H3M4.5S", timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        ("timedelta", "-P2W", timedelta(weeks=-2)),
        ("timedelta", "PT0,5S", timedelta(milliseconds=500)),
        ("decimal", "12.30", Decimal("12.30")),
        ("decimal", 0.1, Decimal("0.1")),
        ("decimal", 3, Decimal(3)),
        ("fraction", "3/4", Fraction(3, 4)),
        ("fraction", 0.5, Fraction(1, 2)),
        ("complex", "1 + 2j", 1 + 2j),
        ("complex", [1, 2.5], 1 + 2.5j),
        ("complex", 3, 3 + 0j),
        ("bytes", "ü", "ü".encode()),
        ("tuple", [1, [2]], (1, [2])),
        ("set", [1, 1, 2], {1, 2}),
        ("frozenset", ["a"], frozenset("a")),
        ("uuid", UUID, uuid.UUID(UUID)),
        ("none", [1], [1]),
    ],
)
def test_a_coercion_gives_the_value_of_its_kind(kind, value, expected):
    made = coercion_of(kind)(value)
    assert (made, type(made)) == (expected, type(expected))
    assert coercion_of(kind)(None) is None


WRONG = {
    "date": ["2026-13-01", "", "x" * 5_000, 3, True, ["2026-01-31"]],
    "datetime": ["noon", 3],
    "time": ["25:00", 12],
    "timedelta": ["", "P", "PT", "1h", True, 1e300, "P999999999W", [1]],
    "decimal": ["", "x", "NaN", "Infinity", "1e99999", "1e999999999", "9" * 6_000, True, [1]],
    "fraction": ["1/0", "x", "1e999999999", "nan", True],
    "complex": ["x", "1e99999", [1], [1, "2"], True, {}, "()"],
    "bytes": [3, ["a"]],
    "tuple": ["ab", {"a": 1}, 3],
    "set": ["ab", [[1]], [{}]],
    "frozenset": [[[1]]],
    "uuid": ["x", 3],
    "path": ["x"],
}


@pytest.mark.parametrize(("kind", "value"), [(kind, value) for kind, values in WRONG.items() for value in values])
def test_what_is_none_of_the_kind_is_a_mismatch(kind, value):
    with pytest.raises(MismatchError):
        coercion_of(kind)(value)


def test_of_several_kinds_the_first_that_takes_the_value_wins():
    coerce = coercion_of(["date", "datetime", "timedelta"])
    assert coerce("2026-01-31") == date(2026, 1, 31)
    assert coerce("2026-01-31T12:00:00") == datetime(2026, 1, 31, 12)  # noqa: DTZ001 - as it came
    assert coerce(3) == timedelta(seconds=3)
    with pytest.raises(MismatchError, match=r"a date such as .*, or a date and time .*, or a duration"):
        coerce("x")


def test_none_beside_other_kinds_is_for_any_text_or_for_none():
    either, no_text = coercion_of(["date", "none"]), coercion_of(["date", "none"], any_text=False)
    assert (either("soon"), either(3)) == ("soon", 3)
    assert (no_text("2026-01-31"), no_text(3)) == (date(2026, 1, 31), 3)
    with pytest.raises(MismatchError, match="a date"):
        no_text("soon")
    assert coercion_of("none", any_text=False)("soon") == "soon"


def test_items_are_coerced_one_by_one():
    coerce = each(coercion_of("date"))
    assert coerce(["2026-01-31", None]) == [date(2026, 1, 31), None]
    assert coerce(None) is None
    with pytest.raises(MismatchError, match="as item 1"):
        coerce(["2026-01-31", "x"])
    with pytest.raises(MismatchError, match="a list"):
        coerce("2026-01-31")


def test_base64_has_to_be_base64():
    assert coercion_of("bytes", is_base64=True)("aGk=") == b"hi"
    for value in ("aGk", "???", 3):
        with pytest.raises(MismatchError):
            coercion_of("bytes", is_base64=True)(value)


def test_a_member_is_found_by_value_and_by_name():
    coerce = coercion_of("enum", enum=Level)
    assert [coerce(one) for one in (1, "HIGH")] == [Level.LOW, Level.HIGH]
    with pytest.raises(MismatchError, match="one of LOW, HIGH"):
        coerce("MIDDLE")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@settings(max_examples=200)
@given(st.sampled_from(sorted(WRONG)), _JSON)
def test_any_json_is_coerced_or_a_mismatch(kind, value):
    """Whatever the value: a coercion gives something or says what would have been right, and raises nothing else."""
    try:
        coercion_of(kind)(value)
    except MismatchError as problem:
        said = str(problem)
    else:
        said = "taken"
    assert said


# -- results


@dataclass
class Point:
    x: int
    inner: object = None
    hidden: str = field(default="no", repr=False)
    _private: int = 0


@attrs.frozen
class Pair:
    a: int
    b: tuple


Named = collections.namedtuple("Named", "first second")


class Plain:
    pass


class Loud:
    def __str__(self):
        return "loud \x1b[31m at 0x7f001234 " + "y" * 9_000


class Broken:
    def __str__(self):
        raise RuntimeError


class Walkable:
    """What can be walked through, and has no more than a repr."""

    def __init__(self, *items):
        self.items = items

    def __iter__(self):
        return iter(self.items)

    def __repr__(self):
        return "Walkable()"


class Labelled(Walkable):
    def __str__(self):
        return "a label"


class Table:
    """A mapping by its methods alone."""

    def keys(self):
        return ["a"]

    def __getitem__(self, key):
        return Named(key, 1)


class Torn(Walkable):
    def __iter__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, {"result": None}),
        (0.5, 0.5),
        (float("nan"), {"result": "nan"}),
        (float("-inf"), {"result": "-inf"}),
        (10**5_000, {"result": "an integer of 16,610 bits"}),
        ({"a": [1, None, True]}, {"a": [1, None, True]}),
        ({3: "a", None: "b", True: "c", Level.HIGH: "d"}, {"3": "a", "null": "b", "true": "c", "2": "d"}),
        ([1, "a"], {"result": [1, "a"]}),
        ((1, (2,)), {"result": [1, [2]]}),
        ({3, 1, 2}, {"result": [1, 2, 3]}),
        (range(3), {"result": [0, 1, 2]}),
        (Point(1, Point(2)), {"x": 1, "inner": {"x": 2, "inner": None}}),
        (Pair(1, (2,)), {"a": 1, "b": [2]}),
        (Named(1, "b"), {"first": 1, "second": "b"}),
        (Level.HIGH, {"result": 2}),
        (b"hi", {"result": "aGk="}),
        (date(2026, 1, 31), {"result": "2026-01-31"}),
        (Decimal("1.20"), {"result": "1.20"}),
        (Fraction(3, 4), {"result": "3/4"}),
        (1 + 2j, {"result": "(1+2j)"}),
        (uuid.UUID(UUID), {"result": UUID}),
        (PurePosixPath("a/b"), {"result": "a/b"}),
        (Point, {"result": "Point"}),
        (json, {"result": "json"}),
        (Plain(), {"result": "a Plain"}),
        (Broken(), {"result": "a Broken"}),
        (array.array("i", [1, 2]), {"result": [1, 2]}),
        (iter([1, date(2026, 1, 1)]), {"result": [1, "2026-01-01"]}),
        ("half \ud800", {"result": "half ?"}),
        ("whole ü", {"result": "whole ü"}),
        ("plain", "plain"),
        (collections.OrderedDict(a=1), {"a": 1}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (collections.deque([1, date(2026, 1, 1)]), {"result": [1, "2026-01-01"]}),
        ({"a": Point(1)}.values(), {"result": [{"x": 1, "inner": None}]}),
        (Walkable(Named(1, 2), Pair(1, ())), {"result": [{"first": 1, "second": 2}, {"a": 1, "b": []}]}),
        (Walkable(), {"result": []}),
        (Labelled(1, 2), {"result": "a label"}),
        (Labelled(Named(1, 2)), {"result": [{"first": 1, "second": 2}]}),
        (Table(), {"a": {"first": "a", "second": 1}}),
        (Torn(), {"result": "Walkable()"}),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_any_value_has_a_form(value, expected):
    assert to_data(value) == expected


def test_a_value_without_a_form_is_its_text_clean_and_cut():
    text = to_data(Loud())["result"]
    assert text.replace("  ", " ").startswith("loud yyy")
    assert len(text) <= 2_000


def test_what_is_a_result_already_stays_it():
    for value in (ToolResult.text("a"), TextContent("a")):
        assert to_data(value) is value


def test_too_many_values_are_refused_with_the_repair():
    with pytest.raises(ToolError, match="ask for less"):
        to_data([[0] * 1_000] * (MAX_VALUES // 1_000 + 1))


def test_what_holds_itself_ends():
    circle: list = []
    circle.append(circle)
    assert "nested too deep" in json.dumps(to_data(circle))
    deep: dict = {}
    for _ in range(500):
        deep = {"a": deep}
    assert "nested too deep" in json.dumps(to_data(deep))


def test_plain_data_is_not_copied():
    value = {"a": [1, {"b": "ü"}]}
    assert to_data(value) is value


_PYTHON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.dates()
    | st.timedeltas()
    | st.decimals()
    | st.fractions()
    | st.complex_numbers()
    | st.sampled_from([Path(), Level.LOW, Plain(), Broken(), Point, len]),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.booleans() | st.dates(), inner)
        | st.builds(Point, st.integers(), inner)
        | st.lists(inner).map(iter)
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(_PYTHON)
def test_any_python_value_is_json_that_can_be_sent(value):
    """Whatever a function returns, what comes of it can be written as strict JSON in UTF-8."""
    data = to_data(value)
    assert json.dumps(data, allow_nan=False, ensure_ascii=False).encode("utf-8")
