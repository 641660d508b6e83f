"""The happy path of derived schemas holds its one rule: what it takes, the validator accepts and the binder gives."""

from __future__ import annotations

import copy
import dataclasses
import enum
import math
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, get_args, get_origin

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import tool
from pegboard.schema.markers import Description, Le
from pegboard.validation import make_validator


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1


@attrs.frozen
class Point:
    x: float
    y: int = 2
    names: list[str] = attrs.field(factory=list)


@attrs.define
class Renamed:
    _private: int
    other: Point | None = None


@dataclasses.dataclass
class Box:
    points: dict[str, Point]
    colour: Colour = Colour.RED


@attrs.frozen
class Picky:
    n: int = attrs.field(validator=attrs.validators.gt(3))


@attrs.frozen
class Tree:
    leaf: int
    below: list[Tree] = attrs.field(factory=list)


class Loose(TypedDict, total=False):
    a: int


class Pair(NamedTuple):
    a: int
    b: str = "b"


HINTS: list[Any] = [
    str, int, float, bool, Any, None, Colour, Level, Point, Renamed, Box, Picky, Tree, Loose, Pair, bytes,
    Literal["fast", "slow"], Literal[1, "a", True], int | None, float | None, str | int, int | float, list[int],
    list[float], list[Any], dict[str, float], dict[str, Any], list[Point], dict[str, list[Point | None]],
    tuple[int, str], set[int], Annotated[float, "how much"], Annotated[int, Le(3)], Annotated[str, Description("d")],
    list[Annotated[int, Le(3)]], list[list[float]], Point | None, Colour | None, list[Colour],
]  # fmt: skip

SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 2, 5, -1, 2**53, 2**53 + 1, 10**400, 1.0, 2.5, -0.0, 1e308, math.inf, math.nan])
    | st.sampled_from(["", "a", "red", "blue", "fast", "slow", "1", "AAAA", "\ud800"])
)
KEYS = st.sampled_from(
    ["x", "y", "names", "private", "_private", "other", "points", "colour", "n", "leaf", "below", "a"]
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
POINTS = st.fixed_dictionaries(
    {"x": st.floats(-5, 5) | st.integers(-5, 5)},
    optional={"y": st.integers(-5, 5), "names": st.lists(st.text(max_size=2), max_size=2)},
)
INTEGERS = st.integers(-5, 9) | st.sampled_from([True, 1.0, 2**53, -(2**53) - 1, 10**400])
NUMBERS = st.floats() | st.integers(-5, 5) | st.sampled_from([True, 2**53, 2**53 + 1, 10**400])
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=3) | st.just("\ud800"),
    int: INTEGERS,
    float: NUMBERS,
    bool: st.booleans() | st.sampled_from([0, 1]),
    None: st.none(),
    type(None): st.none(),
    Any: VALUES,
    Colour: st.sampled_from(["red", "blue", "green"]),
    Level: st.sampled_from([1, True, 1.0, 2]),
    bytes: st.sampled_from(["AAAA", "A"]),
    Loose: st.fixed_dictionaries({}, optional={"a": INTEGERS}),
    Pair: st.fixed_dictionaries({"a": INTEGERS}, optional={"b": st.text(max_size=2)}),
    Picky: st.fixed_dictionaries({"n": INTEGERS}),
}


def near(hint: Any) -> st.SearchStrategy[Any]:
    """Values that mostly fit the hint, of the very types or of ones that nearly are."""
    if hint in PLAIN:
        return PLAIN[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return near(arguments[0])
    if origin is Literal:
        return st.sampled_from([*arguments, 1.0, "none of them"])
    if origin is list or origin is set:
        return st.lists(near(arguments[0]), max_size=3)
    if origin is dict:
        return st.dictionaries(KEYS, near(arguments[1]), max_size=3)
    if origin is tuple:
        return st.tuples(*map(near, arguments)).map(list)
    if arguments:  # a union
        return st.one_of(*map(near, arguments))
    points = st.fixed_dictionaries(
        {"x": NUMBERS}, optional={"y": INTEGERS, "names": st.lists(st.text(max_size=2), max_size=2), "z": NUMBERS}
    )
    if hint is Point:
        return points
    if hint is Renamed:
        return st.fixed_dictionaries({"private": INTEGERS}, optional={"other": st.none() | points})
    if hint is Box:
        named = st.dictionaries(KEYS, points, max_size=2)
        return st.fixed_dictionaries({"points": named}, optional={"colour": PLAIN[Colour]})
    assert hint is Tree
    leaf = st.fixed_dictionaries({"leaf": INTEGERS})
    return st.fixed_dictionaries({"leaf": INTEGERS}, optional={"below": st.lists(leaf, max_size=2)})


def signature_of(hint: Any, default: Any = ...) -> Any:
    def handler(value: Any) -> None: ...

    def optional(value: Any = default) -> None: ...

    function = handler if default is ... else optional
    function.__annotations__ = {"value": hint, "return": None}
    return tool(function)


def same(one: Any, other: Any) -> bool:
    """Equal, of the same types all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if attrs.has(type(one)):
        return same(attrs.asdict(one, recurse=False), attrs.asdict(other, recurse=False))
    if dataclasses.is_dataclass(one):
        return same(vars(one), vars(other))
    return bool(one == other) and repr(one) == repr(other)


HINTED = st.sampled_from(HINTS).flatmap(lambda hint: st.tuples(st.just(hint), near(hint) | VALUES))


@settings(max_examples=400)
@given(hinted=HINTED, given_it=st.integers(0, 9), surprise=st.integers(0, 9))
def test_what_quick_takes_the_validator_accepts_and_the_binder_gives(
    hinted: tuple[Any, Any], given_it: int, surprise: int
) -> None:
    """For every hint and value: `quick` steps aside, or the validator has no fault and the binder gives the very same;
    and it neither raises nor changes anything."""
    hint, value = hinted
    made = signature_of(hint)
    quick = made.signature.quick()
    arguments = {"value": value} if given_it else {}
    if not surprise:
        arguments["surprise"] = 1
    before = copy.deepcopy(arguments)
    taken = None if quick is None else quick(arguments)
    assert repr(arguments) == repr(before)
    if taken is not None:
        validate = make_validator(schema=made.input_schema, foreign=False)
        assert list(validate(arguments)) == []
        assert same(dict(taken), made.signature.binder()(arguments))


@pytest.mark.parametrize("arguments", [None, 5, "text", [], [1], (), object(), {1: 2}, {None: 1}])
def test_what_is_not_an_object_is_left_to_the_validator(arguments: Any) -> None:
    assert signature_of(int).signature.quick()(arguments) is None


@pytest.mark.parametrize(
    ("hint", "value", "structured"),
    [
        (float, 2.5, 2.5),
        (list[float], [1, 2.5], [1.0, 2.5]),
        (Colour, "red", Colour.RED),
        (Point, {"x": 1}, Point(1.0)),
        (Point | None, None, None),
        (dict[str, Point], {"a": {"x": 1.5, "y": 3}}, {"a": Point(1.5, 3)}),
        (Literal["fast", "slow"], "fast", "fast"),
        (Renamed, {"private": 4}, Renamed(4)),
    ],
)
def test_the_commonest_hints_take_the_happy_path(hint: Any, value: Any, structured: Any) -> None:
    taken = signature_of(hint).signature.quick()({"value": value})
    assert taken is not None
    assert same(taken["value"], structured)


def test_a_mutable_default_is_a_copy_each_time() -> None:
    quick = signature_of(list[int], default=[1]).signature.quick()
    first = quick({})
    first["value"].append(2)
    assert quick({}) == {"value": [1]}
