"""What the schema accepts structures or is a fault; what was structured unstructures to what the schema accepts."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict
from uuid import UUID

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard.errors import ToolDefinitionError
from pegboard.schema.derive import Faults, derive
from pegboard.schema.hints import HintError
from pegboard.schema.markers import Ge, Le, MinLen
from pegboard.schema.structure import structure_hook, unstructure
from pegboard.validation import make_validator


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 0
    HIGH = 1


class Mixed(enum.Enum):
    NOTHING = None
    YES = True
    HALF = 0.5
    TWO = 2


@attrs.frozen
class Node:
    value: int
    _next: Node | None = None
    children: list[Node] = attrs.field(factory=list)


@dataclasses.dataclass
class Point:
    x: float
    color: Color = Color.RED
    when: dt.datetime | None = None


class Cat(TypedDict):
    kind: Literal["cat"]
    lives: NotRequired[int]


class Dog(TypedDict):
    kind: Literal["dog"]
    age: Decimal


class Pair(NamedTuple):
    left: dt.date
    right: tuple[int, str] = (0, "")


LEAVES: list[Any] = [
    str, int, float, bool, None, Any, dt.date, dt.datetime, dt.time, dt.timedelta, UUID, Decimal, bytes, Path, Color,
    Level, Mixed, Literal["a", "b"], Literal[1, True, None, "x"], Node, Point, Cat, Dog, Pair,
    Annotated[int, Ge(-3), Le(3)], Annotated[str, MinLen(1)], Annotated[Decimal, Ge(0)],
]  # fmt: skip
HASHABLE: list[Any] = [str, int, bool, dt.date, Color, Literal["a", "b"], Decimal]


def wider(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        inner.map(lambda t: list[t]),
        inner.map(lambda t: Sequence[t]),
        inner.map(lambda t: dict[str, t]),
        inner.map(lambda t: Mapping[str, t]),
        inner.map(lambda t: tuple[t, ...]),
        inner.map(lambda t: tuple[t, t]),
        st.lists(inner, min_size=1, max_size=3).map(lambda ts: tuple[tuple(ts)]),  # type: ignore[misc]
        inner.map(lambda t: t | None if t is not None else None),
        st.lists(inner, min_size=2, max_size=3).map(union),
    )


def union(types: list[Any]) -> Any:
    joined = types[0]
    for one in types[1:]:
        try:
            joined = joined | one
        except TypeError:  # None | None, and the like
            continue
    return joined


SETS = st.sampled_from([*(set[t] for t in HASHABLE), *(frozenset[t] for t in HASHABLE)])
HINTS = st.recursive(st.sampled_from(LEAVES) | SETS, wider, max_leaves=4)

TEXTS = ["2026-02-30", "2026-02-28", "cat", "red", "a", "1.5", "QQ==", "P1D"]
NUMBERS = [10**400, 1.0, -0.0]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(TEXTS),
    st.sampled_from(NUMBERS),
)
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["kind", "value", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)


def values_of(schema: Any, root: Any, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that fit a derived schema, mostly; a bounded sampler of the keywords that derivation writes."""
    if "$ref" in schema:
        if depth > 4:
            return st.none()
        return st.deferred(lambda: values_of(root["$defs"][schema["$ref"].rpartition("/")[2]], root, depth + 1))
    if "anyOf" in schema:
        return st.one_of([values_of(branch, root, depth) for branch in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema.get("type", [])
    samplers = {
        "string": lambda: st.from_regex(schema["pattern"]) if "pattern" in schema else st.text(max_size=4),
        "integer": lambda: st.integers() | st.integers(-3, 3) | st.sampled_from([1.0, -2.0, 1e300]),
        "number": lambda: st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
        "boolean": st.booleans,
        "null": st.none,
        "array": lambda: arrays_of(schema, root, depth),
        "object": lambda: objects_of(schema, root, depth),
    }
    if not kinds:
        return ANY_JSON
    return st.one_of([samplers[kind]() for kind in ([kinds] if isinstance(kinds, str) else kinds)])


def arrays_of(schema: Any, root: Any, depth: int) -> st.SearchStrategy[Any]:
    if "prefixItems" in schema:
        return st.tuples(*(values_of(item, root, depth + 1) for item in schema["prefixItems"])).map(list)
    least, most = schema.get("minItems", 0), schema.get("maxItems", 2)
    return st.lists(values_of(schema.get("items", {}), root, depth + 1), min_size=least, max_size=max(least, most))


def objects_of(schema: Any, root: Any, depth: int) -> st.SearchStrategy[Any]:
    if "properties" not in schema:
        member = values_of(schema.get("additionalProperties", {}), root, depth + 1)
        return st.dictionaries(st.text(max_size=3), member, max_size=2)
    each = {key: values_of(item, root, depth + 1) for key, item in schema["properties"].items()}
    required = schema.get("required", [])
    optional = {key: value for key, value in each.items() if key not in required}
    return st.fixed_dictionaries({key: each[key] for key in required}, optional=optional if depth < 5 else {})


@pytest.fixture(params=["core", "jsonschema-rs"])
def accepts(request: pytest.FixtureRequest) -> Callable[[Any, Any], bool]:
    """Whether a validator accepts a value; one is the core's own, the other holds all of JSON Schema."""
    if request.param == "jsonschema-rs":
        engine = pytest.importorskip("jsonschema_rs")
        return lambda schema, value: engine.Draft202012Validator(schema).is_valid(value)

    def by_the_core(schema: Any, value: Any) -> bool:
        validate = make_validator(schema, foreign=False)
        assert validate is not None, "the core declines a schema that was derived"
        return not validate(value)

    return by_the_core


def derived(hint: Any) -> Any:
    def function(x): ...  # type: ignore[no-untyped-def]

    function.__annotations__["x"] = hint
    return derive(function)


def derivable(hint: Any) -> bool:
    """Whether it is not a union of what cannot be told apart; nothing else that is built here may be refused."""
    try:
        derived(hint)
    except ToolDefinitionError as error:
        if "cannot be told apart" in str(error):
            return False
        raise
    return True


def as_json(schema: Any) -> Any:
    return json.loads(json.dumps(schema))


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(data=st.data(), hint=HINTS.filter(derivable))
def test_what_the_schema_accepts_structures_and_what_unstructures_validates(
    accepts: Callable[[Any, Any], bool], data: st.DataObject, hint: Any
) -> None:
    """A valid value is bound or is a fault under its parameter; what was bound is written as a valid, equal value."""
    about = derived(hint)
    schema = as_json(about.input_schema)
    value = data.draw(values_of(schema["properties"]["x"], schema) | ANY_JSON)
    arguments = {"x": value}
    if not accepts(schema, arguments):
        return
    before = repr(arguments)
    bind = about.signature.binder()
    bound = bind(arguments)
    assert repr(arguments) == before
    if type(bound) is Faults:
        assert bound
        assert all(fault.path[0] == "x" for fault in bound)
        return
    if not about.signature.finite or has_unwritable(bound["x"]):
        return
    written = unstructure(bound["x"])
    assert accepts(schema, {"x": written})
    assert bind({"x": written}) == bound


def has_unwritable(value: Any) -> bool:
    """An integer that is too long for text, which no result may hold."""
    try:
        unstructure(value)
    except ValueError as error:
        return "4,300" in str(error)
    return False


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(data=st.data(), hint=st.recursive(st.sampled_from(LEAVES), wider, max_leaves=3).filter(derivable))
def test_a_hook_is_no_looser_than_the_schema(
    accepts: Callable[[Any, Any], bool], data: st.DataObject, hint: Any
) -> None:
    """What a hook takes by itself, as for configuration, the schema accepts too, save for bounds."""
    schema = as_json(derived(hint).input_schema)
    value = data.draw(ANY_JSON)
    try:
        structure_hook(hint)(value)
    except HintError:
        raise
    except Exception:
        return
    bounds = {"minimum", "maximum", "minLength"}
    assert accepts(_without(schema, bounds), {"x": value})


def _without(schema: Any, keywords: set[str]) -> Any:
    if isinstance(schema, dict):
        return {key: _without(item, keywords) for key, item in schema.items() if key not in keywords}
    return [_without(item, keywords) for item in schema] if isinstance(schema, list) else schema


@given(ANY_JSON)
def test_plain_json_is_its_own_json_form(value: Any) -> None:
    """What is JSON already comes back equal and as a copy."""
    assert unstructure(value) == value


@given(st.floats())
def test_no_number_that_is_none_gets_through_unseen(value: float) -> None:
    """A binder that says it is finite lets no NaN and no infinity pass, wherever it stands."""

    def f(a: float | None, b: list[float], c: dict[str, float], d: Decimal, e: Mixed): ...

    signature = derive(f).signature
    assert signature.finite
    for name, given_value in {"a": value, "b": [value], "c": {"k": value}, "d": value}.items():
        assert (type(signature.binder()({name: given_value})) is dict) == math.isfinite(value)
