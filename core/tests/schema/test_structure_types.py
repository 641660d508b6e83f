"""Types, one by one: their schema, what they become, how they are written, and what is wrong with the rest."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import enum
import typing
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, NewType, Required, TypedDict, TypeVar
from uuid import UUID

import attrs
import cattrs
import pytest

from pegboard._frozen import freeze
from pegboard.errors import ToolDefinitionError
from pegboard.schema.derive import Faults, derive
from pegboard.schema.hints import HintError
from pegboard.schema.kinds import DECIMAL, kind_of
from pegboard.schema.markers import Ge, Gt, Le, Lt
from pegboard.schema.structure import faults_of, strict_converter, structure_all, structure_hook, unstructure

UTC = dt.UTC
T = TypeVar("T")
UserId = NewType("UserId", int)


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Word(enum.StrEnum):
    YES = "yes"


@attrs.frozen
class Point:
    """A point.

    Attributes:
        x: to the right.
    """

    x: int
    y: Annotated[int, "up"] = 0
    tags: list[str] = attrs.field(factory=list)
    _hidden: str = "h"
    made: dt.datetime = attrs.field(factory=lambda: dt.datetime.now(UTC))
    length: int = attrs.field(init=False, default=5)
    kind: ClassVar[str] = "point"


@dataclasses.dataclass
class Settings:
    name: str
    colors: list[Color] = dataclasses.field(default_factory=list)
    extra: dict[str, int] = dataclasses.field(default_factory=lambda: {"a": 1})
    derived: int = dataclasses.field(init=False, default=1)
    limit: Final[int] = 3  # type: ignore[misc]


class Base(TypedDict):
    a: int


class Loose(Base, total=False):
    b: Required[str]
    c: float


class Spot(NamedTuple):
    lat: float
    lon: float = 0.5


def schema_of(hint: Any) -> Any:
    def f(x): ...  # type: ignore[no-untyped-def]

    f.__annotations__["x"] = hint
    return derive(f).input_schema["properties"]["x"]


def defined(hint: Any) -> Any:
    def f(x): ...  # type: ignore[no-untyped-def]

    f.__annotations__["x"] = hint
    return derive(f).input_schema["$defs"]


def refusal(hint: Any) -> str:
    with pytest.raises(ToolDefinitionError) as caught:
        schema_of(hint)
    return str(caught.value)


def told(hint: Any, value: Any) -> list[str]:
    with pytest.raises(Exception) as caught:
        structure_hook(hint)(value)
    return list(map(str, faults_of(caught.value)))


def faults(hint: Any, value: Any) -> list[tuple[str, str]]:
    with pytest.raises(Exception) as caught:
        structure_hook(hint)(value)
    return [(fault.where, fault.expected) for fault in faults_of(caught.value)]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (UserId, {"type": "integer"}),
        (list, {"type": "array"}),
        (list[Any], {"type": "array"}),
        (tuple, {"type": "array"}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (tuple[int, int], {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}),
        (tuple[()], {"type": "array", "maxItems": 0}),
        (typing.List[int], {"type": "array", "items": {"type": "integer"}}),  # noqa: UP006
        (frozenset[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (dict, {"type": "object"}),
        (dict[str, Any], {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Literal["a", 1, None], {"type": ["string", "integer", "null"], "enum": ["a", 1, None]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (
            Annotated[Decimal, Ge(Decimal(1)), Le(Decimal("1.5"))],
            {"type": ["string", "number"], "pattern": DECIMAL, "minimum": 1, "maximum": 1.5},
        ),
        (Literal[Color.RED], {"type": "string", "enum": ["red"]}),
        (int | None, {"type": ["integer", "null"]}),
        (int | str, {"type": ["integer", "string"]}),
        (str | Any, {}),
        (int | Literal["auto"], {"anyOf": [{"type": "string", "enum": ["auto"]}, {"type": "integer"}]}),
        (Color | None, {"anyOf": [{"type": "string", "enum": ["red", "blue"]}, {"type": "null"}]}),
    ],
)
def test_the_schema_of_a_type(hint: Any, schema: Any) -> None:
    assert schema_of(hint) == schema


def test_a_tuple_of_different_types_is_told_by_place() -> None:
    assert schema_of(tuple[int, str]) == {
        "type": "array",
        "prefixItems": [{"type": "integer"}, {"type": "string"}],
        "items": False,
        "minItems": 2,
        "maxItems": 2,
    }


def test_the_order_of_a_union_and_of_a_literal_stays_that_of_its_author() -> None:
    assert schema_of(str | int)["type"] == ["string", "integer"]
    assert schema_of(int | str)["type"] == ["integer", "string"]
    assert schema_of(Literal["b", "a"])["enum"] == ["b", "a"]
    assert schema_of(Literal["a", "b"])["enum"] == ["a", "b"]


def test_records_are_closed_definitions() -> None:
    point = defined(Point)["Point"]
    assert point["description"] == "A point."
    assert list(point["properties"]) == ["x", "y", "tags", "hidden", "made"]
    assert point["properties"]["x"] == {"type": "integer", "description": "to the right."}
    assert point["properties"]["y"] == {"type": "integer", "description": "up", "default": 0}
    assert point["properties"]["tags"]["default"] == []
    assert "default" not in point["properties"]["made"]
    assert point["required"] == ["x"]
    assert point["additionalProperties"] is False
    settings = defined(Settings)["Settings"]
    assert list(settings["properties"]) == ["name", "colors", "extra", "limit"]
    assert "description" not in settings
    assert settings["required"] == ["name"]
    assert set(defined(Loose)["Loose"]["required"]) == {"a", "b"}
    assert defined(Spot)["Spot"]["properties"]["lon"] == {"type": "number", "default": 0.5}


def test_two_classes_of_one_name_have_two_definitions() -> None:
    def make(kind: Any) -> type:
        return attrs.make_class("Twin", {"x": attrs.field(type=kind)})

    definitions = defined(tuple[make(int), make(str)])  # type: ignore[misc]
    assert [definitions[name]["properties"]["x"]["type"] for name in ("Twin", "Twin_")] == ["integer", "string"]


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (complex, "the type complex has no JSON form"),
        (dict[int, str], "must be `str`"),
        (enum.IntFlag("F", "A B"), "have no JSON form"),
        (enum.Enum("E", {"A": (1, 2)}), "has no JSON form of its own"),
        (enum.Enum("E", {"A": float("nan")}), "has no JSON form of its own"),
        (enum.Enum("E", {}), "has no members"),
        (Literal[b"x"], "has no JSON form of its own"),
        (attrs.make_class("C", ["x"]), "has no type hint"),
        (attrs.make_class("C", {"x": attrs.field(type=complex)}), "field 'x' of C"),
        (attrs.make_class("C", {"x": attrs.field(type="Nowhere")}), "'Nowhere' is not found"),
        (TypedDict("D", {"a-b": int}), "is not a Python name"),
        (str | dt.date, "str and date cannot be told apart"),
        (list[int] | list[str], "cannot be told apart"),
        (list[int] | set[int], "cannot be told apart"),
        (dict[str, int] | Point, "cannot be told apart"),
        (Color | Literal["red"], "cannot be told apart"),
        (float | Decimal, "cannot be told apart"),
        (attrs.make_class("A", {"x": attrs.field(type=int)}) | Spot | Point, "cannot be told apart"),
    ],
)
def test_what_has_no_schema_is_refused_with_the_reason(hint: Any, words: str) -> None:
    assert words in refusal(hint)


def test_a_dataclass_with_what_cannot_be_written_back_is_refused() -> None:
    @dataclasses.dataclass
    class Seeded:
        seed: dataclasses.InitVar[int]

    assert "is an InitVar" in refusal(Seeded)


def test_a_generic_class_is_refused() -> None:
    @attrs.frozen
    class Box(typing.Generic[T]):
        value: T

    assert "is generic" in refusal(Box)
    assert refusal(Box[int]) == refusal(Box)
    with pytest.raises(HintError, match="has no JSON form"):
        structure_hook(Box[int])


def test_a_field_that_only_type_checkers_know_is_named_with_its_class() -> None:
    @attrs.frozen
    class Broken:
        x: Unknown  # type: ignore[name-defined]  # noqa: F821

    assert "field 'x' of Broken: the hint 'Unknown' cannot be resolved" in refusal(Broken)


@pytest.mark.parametrize(
    ("hint", "value", "structured"),
    [
        (int, 1.0, 1),
        (int, freeze(3), 3),
        (float, 2, 2.0),
        (str, "x", "x"),
        (bool, False, False),
        (None, None, None),
        (dt.date, "2026-02-28", dt.date(2026, 2, 28)),
        (dt.datetime, "2026-02-28T10:00:00Z", dt.datetime(2026, 2, 28, 10, tzinfo=UTC)),
        (dt.datetime, "2026-02-28T10:00:00.5+00:00", dt.datetime(2026, 2, 28, 10, 0, 0, 500_000, UTC)),
        (dt.time, "10:30", dt.time(10, 30)),
        (dt.timedelta, "P1DT2H3M4.5S", dt.timedelta(days=1, hours=2, minutes=3, seconds=4, microseconds=500_000)),
        (dt.timedelta, "-PT5M", dt.timedelta(minutes=-5)),
        (UUID, "12345678-1234-1234-1234-123456789ABC", UUID("12345678-1234-1234-1234-123456789abc")),
        (Decimal, "0.10", Decimal("0.10")),
        (Decimal, 0.1, Decimal("0.1")),
        (Decimal, 7, Decimal(7)),
        (bytes, "aGk=", b"hi"),
        (Path, "a/b", Path("a/b")),
        (Color, "red", Color.RED),
        (Literal[1, "a"], 1.0, 1),
        (set[int], [1, 2.0], {1, 2}),
        (frozenset[str], ["a"], frozenset({"a"})),
        (typing.MutableSet[int], [1], {1}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[()], [], ()),
        (dict[str, Color], {"k": "blue"}, {"k": Color.BLUE}),
        (typing.Mapping[str, Any], {"k": [1]}, {"k": [1]}),
        (list, [1, "a"], [1, "a"]),
        (int | float, 1, 1),
        (int | float, 1.5, 1.5),
        (int | str, 1.0, 1),
        (int | Decimal | None, 1.5, Decimal("1.5")),
        (Literal[1] | float, 1, 1),
        (Literal["auto"] | dt.date, "2026-02-28", dt.date(2026, 2, 28)),
        (int | list[int] | dict[str, int], [1.0], [1]),
        (str | Any, [None], [None]),
        (Spot, {"lat": 1}, Spot(1.0)),
        (Loose, {"a": 1.0, "b": "x"}, {"a": 1, "b": "x"}),
        (Settings, {"name": "n", "colors": ["red"]}, Settings("n", [Color.RED])),
        (Spot | Settings, {"name": "n"}, Settings("n")),
        (Annotated[Decimal, Ge(0), Le(1), Gt(-1), Lt(Decimal("1.5"))], "0.5", Decimal("0.5")),
        (UserId, 5, 5),
    ],
)
def test_a_value_becomes_what_its_type_says(hint: Any, value: Any, structured: Any) -> None:
    found = structure_hook(hint)(value)
    assert found == structured
    assert type(found) is type(structured)


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (str, 1, [("", "a string")]),
        (bool, "false", [("", "a boolean")]),
        (bool, 1, [("", "a boolean")]),
        (int, True, [("", "an integer")]),
        (int, 1.9, [("", "an integer")]),
        (int, "1", [("", "an integer")]),
        (float, False, [("", "a finite number")]),
        (None, 0, [("", "null")]),
        (dt.date, "2026-02-30", [("", "a date such as 2026-11-21")]),
        (dt.date, "20260228", [("", "a date such as 2026-11-21")]),
        (dt.date, "2026-02-28\n", [("", "a date such as 2026-11-21")]),
        (dt.datetime, "2026-02-28T10:00:00", [("", "a date and time with its offset, such as 2026-11-21T09:30:00Z")]),
        (bytes, "a", [("", "base64 text")]),
        (bytes, 1, [("", "base64 text")]),
        (Decimal, "NaN", [("", "a decimal, as a string such as '12.50' or a number")]),
        (Decimal, True, [("", "a decimal, as a string such as '12.50' or a number")]),
        (Color, "rad", [("", 'one of "red", "blue"')]),
        (Color, [], [("", 'one of "red", "blue"')]),
        (Literal[1], True, [("", "one of 1")]),
        (list[int], "12", [("", "an array")]),
        (list[int], [1, "2", 3, None], [("[1]", "an integer"), ("[3]", "an integer")]),
        (dict[str, int], [1], [("", "an object")]),
        (dict[str, int], {"a": "1", "b": 2, "c": None}, [("a", "an integer"), ("c", "an integer")]),
        (tuple[int, str], [1], [("", "an array of 2")]),
        (tuple[int, str], ["1", 2], [("[0]", "an integer"), ("[1]", "a string")]),
        (int | None, "1", [("", "integer or null")]),
        (int | None, 1.5, [("", "an integer")]),
        (Spot, [1, 2], [("", "an object")]),
        (Spot, {}, [("lat", "number (required)")]),
        (Spot, {"lat": "1", "lan": 2}, [("lat", "a finite number"), ("lan", "no such key")]),
        (Spot | Settings, {"nope": 1}, [("", "the fields of one of Spot, Settings")]),
        (list[Spot], [{"lat": 1}, {"lat": None}], [("[1].lat", "a finite number")]),
        (Annotated[Decimal, Ge(0)], "-1", [("", "at least 0")]),
        (Annotated[Decimal, Gt(0), Lt(0.5)], "0.5", [("", "less than 0.5")]),
        (Annotated[Decimal, Le(1)], "1.1", [("", "at most 1")]),
        (set[int], [1, "x"], [("[1]", "an integer")]),
    ],
)
def test_every_fault_has_its_path_and_what_was_expected(hint: Any, value: Any, expected: Any) -> None:
    assert faults(hint, value) == expected


def test_a_union_is_told_apart_by_a_literal_field_and_by_required_fields() -> None:
    class Cat(TypedDict):
        kind: Literal["cat"]
        lives: int

    class Dog(TypedDict):
        kind: Literal["dog"]
        lives: float

    hook = structure_hook(Cat | Dog)
    assert type(hook({"kind": "dog", "lives": 1})["lives"]) is float
    assert type(hook({"kind": "cat", "lives": 1.0})["lives"]) is int
    assert faults(Cat | Dog, {"kind": "cow", "lives": 1}) == [("", "the fields of one of Cat, Dog")]
    assert faults(Cat | Dog, {"kind": [], "lives": 1}) == [("", "the fields of one of Cat, Dog")]


def test_what_a_class_raises_is_a_fault_and_only_its_mistakes_speak() -> None:
    @attrs.frozen
    class Even:
        n: int = attrs.field()

        @n.validator
        def _check(self, attribute: Any, value: int) -> None:
            if value == 13:
                raise OSError("/a/path/of/the/host")
            if value % 2:
                raise ValueError("expected an even number\nand a second line")

    refused = "expected an object (Even) that the tool takes, got one that it refused"
    assert told(Even, {"n": 1}) == [f"the value: {refused} (expected an even number)"]
    assert told(Even, {"n": 13}) == [f"the value: {refused}"]
    assert told(list[set[Any]], [[[]]])[0].endswith("got one that it refused (unhashable type: 'list')")


def test_an_error_of_unknown_origin_is_a_fault_without_its_text() -> None:
    assert [str(fault) for fault in faults_of(OSError("/a/path"))] == [
        "the value: expected a value that the tool takes, got one that it refused"
    ]


def test_fields_may_have_the_names_of_cattrs_own_parameters() -> None:
    cls = attrs.make_class("C", {name: attrs.field(type=int) for name in ("cl", "converter", "attrs", "hint", "value")})
    assert structure_hook(cls)(dict.fromkeys(("cl", "converter", "attrs", "hint", "value"), 1.0)).converter == 1


def test_a_converter_of_a_field_runs_on_the_structured_value() -> None:
    @attrs.frozen
    class Tags:
        tags: list[str] = attrs.field(converter=tuple)

    assert structure_hook(Tags)({"tags": ["a"]}).tags == ("a",)


def test_metadata_without_a_hash_is_not_a_hindrance() -> None:
    @attrs.frozen
    class Odd:
        n: Annotated[int, ["unhashable"]]
        m: list[Annotated[int, ["unhashable"]]]

    assert structure_hook(Odd)({"n": 1, "m": [2.0]}) == Odd(1, [2])
    assert schema_of(list[Annotated[int, []]]) == {"type": "array", "items": {"type": "integer"}}


def test_deep_values_are_faults_and_no_crash() -> None:
    @attrs.frozen
    class Chain:
        rest: Chain | None = None

    value: Any = None
    for _ in range(5_000):
        value = {"rest": value}

    def f(chain: Chain): ...  # type: ignore[no-untyped-def]

    found = derive(f).signature.binder()({"chain": value})
    assert type(found) is Faults
    assert "less deeply nested" in found[0].expected


def test_a_fault_deep_down_is_looked_for_once() -> None:
    """Looking again at every level would take time that doubles with each."""
    looked: list[int] = []

    @attrs.frozen
    class Leaf:
        n: int

        def __attrs_post_init__(self) -> None:
            looked.append(self.n)
            raise ValueError("never right")

    @attrs.frozen
    class Tree:
        branches: list[Tree] = attrs.field(factory=list)
        named: dict[str, Tree] = attrs.field(factory=dict)
        leaf: Leaf | None = None

    value: Any = {"leaf": {"n": 1}}
    for level in range(40):
        value = {"branches": [value]} if level % 2 else {"named": {"k": value}}

    assert [text.endswith("(never right)") for text in told(Tree, value)] == [True]
    assert looked == [1]


def test_no_more_faults_than_a_reader_can_use() -> None:
    assert len(faults(list[int], ["x"] * 10_000)) == 100


# Configuration.


def test_structure_all_gives_an_instance_or_every_fault_at_once() -> None:
    @attrs.frozen
    class Server:
        url: str
        retry: bool = False
        timeout_s: float = 30

    @attrs.frozen
    class Plugin:
        servers: dict[str, Server]
        level: Literal["low", "high"] = "low"

    good, none = structure_all({"servers": {"a": {"url": "x", "timeout_s": 1}}}, Plugin)
    assert (good, none) == (Plugin({"a": Server("x", timeout_s=1.0)}), [])
    bad = {"servers": {"a": {"ulr": "x", "retry": "false", "timeout_s": "1"}}, "level": "hihg"}
    nothing, wrong = structure_all(bad, Plugin, ("plugins", "mcp"))
    assert nothing is None
    assert [(fault.where, fault.expected, fault.hint) for fault in wrong] == [
        ("plugins.mcp.servers.a.url", "string (required)", None),
        ("plugins.mcp.servers.a.retry", "a boolean", None),
        ("plugins.mcp.servers.a.timeout_s", "a finite number", None),
        ("plugins.mcp.servers.a.ulr", "no such key", "did you mean 'url'?"),
        ("plugins.mcp.level", 'one of "low", "high"', "did you mean 'high'?"),
    ]


def test_an_unknown_key_without_a_near_one_lists_those_there_are() -> None:
    _, wrong = structure_all({"lat": 1, "zzz": 2}, Spot)
    assert wrong[0].hint == "known: lat, lon"
    _, wrong = structure_all({"zzz": 2}, attrs.make_class("Empty", {}))
    assert wrong[0].hint is None


def test_a_class_that_cannot_be_structured_is_the_fault_of_its_author() -> None:
    with pytest.raises(HintError):
        structure_all({}, complex)


def test_the_converter_is_strict_for_those_who_use_it_as_cattrs() -> None:
    converter = strict_converter()
    assert converter.structure({"lat": 1}, Spot) == Spot(1.0)
    assert converter.structure("red", Color) is Color.RED
    assert converter.structure([1], list[int]) == [1]
    for value, kind in [("false", bool), (1.9, int), ("1", float), ("rad", Color), ("ab", list[str])]:
        with pytest.raises(ValueError):
            converter.structure(value, kind)
    with pytest.raises(cattrs.ClassValidationError):
        converter.structure({"lat": 1, "x": 1}, Spot)


# And back.


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": (1, [2.5, None]), Word.YES: True}, {"a": [1, [2.5, None]], "yes": True}),
        (Point(1, made=dt.datetime(2026, 1, 1, tzinfo=UTC)),
         {"x": 1, "y": 0, "tags": [], "hidden": "h", "made": "2026-01-01T00:00:00+00:00"}),
        (Settings("n", [Color.RED]), {"name": "n", "colors": ["red"], "extra": {"a": 1}, "limit": 3}),
        (Spot(1.5), {"lat": 1.5, "lon": 0.5}),
        (Word.YES, "yes"),
        (Color.BLUE, "blue"),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", 1}), [1, "b"]),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.datetime(2026, 1, 2, 3), "2026-01-02T03:00:00"),  # noqa: DTZ001
        (dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(seconds=30))), "2026-01-01T23:59:30+00:00"),
        (dt.time(1, 2), "01:02:00"),
        (dt.timedelta(days=1, microseconds=5), "P1DT0.000005S"),
        (dt.timedelta(seconds=-1), "-P0DT1S"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (Decimal("1E+5"), "1E+5"),
        (b"hi", "aGk="),
        (bytearray(b"hi"), "aGk="),
        (PurePosixPath("a/b"), "a/b"),
        (collections.OrderedDict(a=1), {"a": 1}),
        (collections.ChainMap({"a": 1}), {"a": 1}),
        (freeze({"a": [1]}), {"a": [1]}),
        (type("Text", (str,), {})("t"), "t"),
        (type("Number", (int,), {})(5), 5),
        ({type("Text", (str,), {})("k"): 1}, {"k": 1}),
        (collections.UserDict(a=1), {"a": 1}),
    ],
)  # fmt: skip
def test_a_value_is_written_as_json(value: Any, written: Any) -> None:
    found = unstructure(value)
    assert found == written
    assert type(found) is type(written)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (float("nan"), ValueError, "nan has no JSON form"),
        ([float("-inf")], ValueError, "-inf has no JSON form"),
        (Decimal("NaN"), ValueError, "not finite"),
        ([10**5000], ValueError, "4,300 digits"),
        (object(), TypeError, "a value of type object"),
        ({1: 2}, TypeError, "a key of type int"),
        ([{"a": {1j}}], TypeError, "a value of type complex"),
        (dt.time(1, tzinfo=dt.timezone(dt.timedelta(seconds=30))), ValueError, "offset"),
        (Point, TypeError, "a value of type type"),
    ],
)
def test_what_has_no_json_form_is_named(value: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        unstructure(value)


def test_a_field_that_was_deleted_is_named() -> None:
    spot = attrs.make_class("Mutable", ["x"])(1)
    del spot.x
    with pytest.raises(TypeError, match="Mutable lacks a field: x"):
        unstructure(spot)


def test_what_holds_itself_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="in a circle"):
        unstructure(circle)


def test_kinds_of_values_that_json_does_not_know() -> None:
    assert kind_of(object()) == "nothing that JSON knows"


def test_a_decimal_may_be_an_integer_that_no_float_holds() -> None:
    assert strict_converter().structure(10**400, Decimal) == Decimal(10**400)
