"""Annotations of a library as JSON Schema and coercions, defaults, and what a result says of itself."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pegboard_toolgen.discover.library import discover_library
from pegboard_toolgen.drafts import Discovery, Draft

Make = Callable[[str], Discovery]
HEAD = """
import datetime as dt
import enum, os, pathlib, typing as t, uuid, numbers
from collections import abc, Counter
from decimal import Decimal
from enum import Enum, IntEnum, auto
from fractions import Fraction
from typing import *
from typing import Literal
if TYPE_CHECKING:
    from io import BytesIO as Late
    from datetime import time as Clock
TypeAliasOld: TypeAlias = "int | str"
UserId = NewType("UserId", int)
Bound = TypeVar("Bound", bound=int)
OneOf = TypeVar("OneOf", int, str)
Free = TypeVar("Free")
Keys = TypeVar("Keys", bound=Sequence[Hashable])
class Color(Enum):
    RED = "red"
    BLUE = "blue"
class Level(IntEnum):
    LOW = auto()
    HIGH = auto()
class Point(TypedDict):
    x: int
    label: NotRequired[str]
class Loose(TypedDict, total=False):
    x: int
    y: Required[int]
class Call(Protocol):
    def __call__(self) -> int: ...
class Other: ...
class Word(str): ...
"""


@pytest.fixture
def discover(tmp_path: Path) -> Make:
    def make(text: str) -> Discovery:
        (tmp_path / "lib.py").write_text(HEAD + textwrap.dedent(text))
        return discover_library("lib", search_paths=[tmp_path])

    return make


@pytest.fixture
def draft(discover: Make) -> Callable[[str], Draft]:
    def make(text: str) -> Draft:
        found = discover(text)
        [one] = [one for one in found.drafts if one.id == "python:lib.f"]
        return one

    return make


BASE64 = {"type": "string", "contentEncoding": "base64"}
SCALARS = {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}}
TEXT_OR_KEYS = {"anyOf": [SCALARS, {"type": "string"}]}
DATE = {"type": "string", "format": "date"}
DATETIME = {"type": "string", "format": "date-time"}
DURATION = {"type": "string", "format": "duration"}


@pytest.mark.parametrize(
    ("annotation", "schema", "coerce"),
    [
        ("int", {"type": "integer"}, None),
        ("float", {"type": "number"}, None),
        ("'bool'", {"type": "boolean"}, None),
        ("Any", {}, None),
        ("object", {}, None),
        ("Optional[int]", {"type": ["integer", "null"]}, None),
        ("Union[int, float, str]", {"type": ["number", "string"]}, None),
        ("int | None | str", {"type": ["integer", "null", "string"]}, None),
        ("Literal['a', 1, None]", {"enum": ["a", 1, None]}, None),
        ("Literal['a'] | None", {"enum": ["a", None]}, None),
        ("Literal[Color.RED]", {"enum": ["red"]}, None),
        ("Annotated[int, 'metres']", {"type": "integer"}, None),
        ("TypeAliasOld", {"type": ["integer", "string"]}, None),
        ("UserId", {"type": "integer"}, None),
        ("Bound", {"type": "integer"}, None),
        ("OneOf", {"type": ["integer", "string"]}, None),
        ("Free", {}, None),
        ("Color", {"enum": ["red", "blue"]}, "enum"),
        ("Color | str", {"anyOf": [{"enum": ["red", "blue"]}, {"type": "string"}]}, ["enum", "none"]),
        ("Level", {"enum": ["LOW", "HIGH"]}, "enum"),
        ("list", {"type": "array"}, None),
        ("list[int]", {"type": "array", "items": {"type": "integer"}}, None),
        ("Iterable[Any]", {"type": ["string", "array"]}, None),
        ("Iterable[int]", {"type": "array", "items": {"type": "integer"}}, None),
        ("Sequence[str]", {"type": "array", "items": {"type": "string"}}, None),
        ("Sequence[object]", {"type": ["string", "array"]}, None),
        (
            "Sequence[Hashable]",
            {
                "anyOf": [
                    {"type": "array", "items": {"type": ["string", "number", "boolean", "null"]}},
                    {"type": "string"},
                ]
            },
            None,
        ),
        ("abc.Sequence", {"type": ["string", "array"]}, None),
        ("Sequence[Hashable]", TEXT_OR_KEYS, None),
        ("Keys", TEXT_OR_KEYS, None),
        ("Keys | int", {"anyOf": [SCALARS, {"type": ["string", "integer"]}]}, None),
        ("tuple", {"type": "array"}, "tuple"),
        ("tuple[()]", {"type": "array", "maxItems": 0}, "tuple"),
        ("tuple[int, ...]", {"type": "array", "items": {"type": "integer"}}, "tuple"),
        (
            "tuple[int, int]",
            {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
            "tuple",
        ),
        (
            "Tuple[int, str]",
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
            "tuple",
        ),
        ("set[str]", {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "set"),
        ("abc.Set", {"type": "array", "uniqueItems": True}, "set"),
        ("FrozenSet[int]", {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "frozenset"),
        ("dict[str, int]", {"type": "object", "additionalProperties": {"type": "integer"}}, None),
        ("Mapping[str, Any]", {"type": "object"}, None),
        ("dict", {"type": "object"}, None),
        (
            "Mapping[Literal['a'], int]",
            {"type": "object", "additionalProperties": {"type": "integer"}, "propertyNames": {"enum": ["a"]}},
            None,
        ),
        (
            "Point",
            {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "label": {"type": "string"}},
                "additionalProperties": False,
                "required": ["x"],
            },
            None,
        ),
        (
            "Loose",
            {
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
                "additionalProperties": False,
                "required": ["y"],
            },
            None,
        ),
        ("dt.date", DATE, "date"),
        ("dt.date | dt.datetime", {"anyOf": [DATE, DATETIME]}, ["date", "datetime"]),
        ("Clock", {"type": "string", "format": "time"}, "time"),
        (
            "dt.datetime | dt.timedelta | float",
            {"anyOf": [DATETIME, DURATION, {"type": "number"}]},
            ["datetime", "timedelta", "none"],
        ),
        ("Decimal", {"type": ["string", "number"]}, "decimal"),
        ("Fraction", {"type": ["string", "number"]}, "fraction"),
        ("complex", {"type": ["string", "number"]}, "complex"),
        ("uuid.UUID", {"type": "string", "format": "uuid"}, "uuid"),
        ("pathlib.Path", {"type": "string"}, "path"),
        ("str | os.PathLike[str]", {"type": "string"}, "path"),
        ("bytes", BASE64, "bytes"),
        ("bytes | None", {"type": ["string", "null"], "contentEncoding": "base64"}, "bytes"),
        ("str | bytes", {"type": "string"}, None),
        ("bytes | int", {"type": ["string", "integer"]}, ["bytes", "none"]),
        ("numbers.Real", {"type": "number"}, None),
        ("SupportsIndex", {"type": "integer"}, None),
        ("Word", {"type": "string"}, None),
        ("int | Callable[[int], str]", {"type": "integer"}, None),
    ],
)
def test_an_annotation_becomes_a_schema_and_a_coercion(
    draft: Callable[[str], Draft], annotation: str, schema: dict[str, Any], coerce: Any
) -> None:
    made = draft(f"def f(a: {annotation}): return 1")
    assert made.input_schema["properties"]["a"] == schema
    assert made.binding["parameters"][0].get("coerce") == coerce
    assert made.input_schema["required"] == ["a"]


@pytest.mark.parametrize(
    ("annotation", "schema", "coerce"),
    [
        ("list[Decimal]", {"type": "array", "items": {"type": ["string", "number"]}}, "decimal"),
        ("Iterable[dt.date]", {"type": "array", "items": DATE}, "date"),
        ("list[bytes]", {"type": "array", "items": {"type": "string"}}, "bytes"),
        ("list[Color]", {"type": "array", "items": {"enum": ["red", "blue"]}}, "enum"),
    ],
)
def test_items_of_a_list_are_coerced_one_by_one(
    draft: Callable[[str], Draft], annotation: str, schema: dict[str, Any], coerce: str
) -> None:
    made = draft(f"def f(a: {annotation}, *rest: {annotation.partition('[')[2][:-1]}): return 1")
    first, rest = made.binding["parameters"]
    assert made.input_schema["properties"]["a"] == schema
    assert (first["pass"], first["coerce"], first["items"]) == ("positional", coerce, True)
    assert (rest["pass"], rest["coerce"], rest["items"]) == ("spread", coerce, True)
    assert made.input_schema["properties"]["rest"] == schema


@pytest.mark.parametrize(
    ("annotation", "lacks"),
    [
        ("Callable[[int], str]", "a callable"),
        ("Call", "a callable"),
        ("Other", "an instance of Other"),
        ("Late", "an instance of BytesIO"),
        ("Iterator[int]", "an iterator"),
        ("type[int]", "a class"),
        ("t.Pattern[str]", "a compiled pattern"),
        ("dict[int, str]", "a mapping whose keys are not texts"),
        ("dict[str, Decimal]", "a mapping to values that JSON has no form for"),
        ("list[list[Decimal]]", "two lists deep"),
        ("set[Decimal]", "a set of values"),
        ("tuple[Decimal, int]", "a tuple with values"),
        ("list[Other]", "a list with an instance of Other"),
        ("Literal[b'x']", "a literal"),
        ("Nowhere", "an instance of Nowhere"),
        ("'not a type('", "a type that cannot be read"),
        ("Optional[Other]", "an instance of Other"),
    ],
)
def test_what_json_has_no_form_for_is_dropped_where_it_may_be_and_named(
    discover: Make, annotation: str, lacks: str
) -> None:
    found = discover(f"def f(a: {annotation}): return 1\ndef g(n: int, a: {annotation} = None): return 1\n")
    [why] = [one.why for one in found.left_out if one.id == "python:lib.f"]
    assert lacks in why
    [draft] = found.drafts
    assert list(draft.input_schema["properties"]) == ["n"]
    assert lacks in draft.notes[0]


def test_parts_of_a_union_that_json_has_no_form_for_are_told(draft: Callable[[str], Draft]) -> None:
    notes = draft("def f(a: str | bytes | Other): return 1").notes
    assert notes[:2] == ("a: cannot be an instance of Other", "a: bytes cannot be told from text: it is text")


def test_the_ways_of_passing_follow_the_signature(draft: Callable[[str], Draft]) -> None:
    made = draft("def f(a: int, /, b: int, *, c: int = 1, **more: str): return 1")
    assert made.binding["parameters"] == [
        {"parameter": "a", "pass": "positional"},
        {"parameter": "b", "pass": "keyword"},
        {"parameter": "c", "pass": "keyword"},
        {"parameter": "more", "pass": "spread_keyword"},
    ]
    assert made.input_schema == {
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "integer"},
            "c": {"type": "integer", "default": 1},
            "more": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "additionalProperties": False,
        "required": ["a", "b"],
    }


def test_keyword_arguments_that_nobody_names_are_dropped(draft: Callable[[str], Draft]) -> None:
    made = draft("def f(a: int, **rest): return 1")
    assert list(made.input_schema["properties"]) == ["a"]
    assert made.notes[0] == "further keyword arguments (**rest) are dropped: nothing says what they are"


def test_keyword_arguments_of_a_typed_dict_are_an_object(draft: Callable[[str], Draft]) -> None:
    made = draft("def f(**rest: Unpack[Point]): return 1")
    assert made.input_schema["properties"]["rest"]["required"] == ["x"]


@pytest.mark.parametrize(
    ("parameter", "schema"),
    [
        ("a: int = -1", {"type": "integer", "default": -1}),
        ("a: int = None", {"type": ["integer", "null"]}),
        ("a: Sequence[str] = ()", {"type": "array", "items": {"type": "string"}, "default": []}),
        ("a: Color = Color.RED", {"enum": ["red", "blue"], "default": "red"}),
        ("a: Level = Level.HIGH", {"enum": ["LOW", "HIGH"], "default": "HIGH"}),
        ("a: int = _unset", {"type": "integer"}),
        ("a: int = 2 * 1024", {"type": "integer", "description": "Default: 2 * 1024."}),
        ("a=3", {"type": "number", "default": 3}),
        ("a=True", {"type": "boolean", "default": True}),
        ("a='x'", {"type": "string", "default": "x"}),
        ("a=()", {"type": "array", "default": []}),
        ("a={}", {"type": "object", "default": {}}),
        ("a=Color.RED", {"enum": ["red", "blue"], "default": "red"}),
        ("a=Level.HIGH", {"enum": ["LOW", "HIGH"], "default": "HIGH"}),
        ("a=Point.origin", {}),
        ("a=None", {}),
        ("items", {}),
    ],
)
def test_defaults_are_told_and_types_are_guessed_from_them(
    draft: Callable[[str], Draft], parameter: str, schema: dict[str, Any]
) -> None:
    assert list(draft(f"def f({parameter}): return 1").input_schema["properties"].values()) == [schema]


@pytest.mark.parametrize(
    ("told", "schema"),
    [
        ("int", {"type": "integer"}),
        ("int or None", {"type": ["integer", "null"]}),
        ("str, optional", {"type": "string"}),
        ("{'a', 'b'}", {"enum": ["a", "b"]}),
        ("list of str", {"type": "array", "items": {"type": "string"}}),
        ("lib.Color", {"enum": ["red", "blue"]}),
        ("something", {}),
    ],
)
def test_where_the_signature_gives_no_type_the_docstring_does(
    draft: Callable[[str], Draft], told: str, schema: dict[str, Any]
) -> None:
    made = draft(f'''
    def f(a):
        """Do it.

        Parameters
        ----------
        a : {told}
            The value.
        """
        return a
    ''')
    assert made.input_schema["properties"]["a"] == {**schema, "description": "The value."}


def test_an_enum_is_named_by_a_path_that_the_binding_can_walk(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/__init__.py").write_text("from ._kinds import Kind, f, g\n")
    (tmp_path / "lib/_kinds.py").write_text(
        "from enum import Enum\nclass Kind(Enum):\n    A = 'a'\nclass Hidden(Enum):\n    B = 'b'\n"
        "def f(kind: Kind): return 1\ndef g(kind: Hidden): return 1\n"
    )
    found = discover_library("lib", search_paths=[tmp_path])
    [draft] = found.drafts
    assert draft.binding["parameters"] == [
        {"parameter": "kind", "pass": "keyword", "coerce": "enum", "enum": "lib.Kind"}
    ]
    assert "which has no public name" in found.left_out[0].why


FLOAT = {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]}


@pytest.mark.parametrize(
    ("annotation", "result"),
    [
        ("int", {"type": "integer"}),
        ("str | None", {"type": ["string", "null"]}),
        ("float", FLOAT),
        ("None", {"type": "null"}),
        ("list[str]", {"type": "array", "items": {"type": "string"}}),
        ("tuple[int, str]", {"type": "array"}),
        ("set[int]", {"type": "array"}),
        ("Iterator[int]", {"type": "array"}),
        ("Sequence[int]", {}),
        ("dt.date", {}),
        ("list[Decimal]", {"type": "array"}),
        ("bytes", BASE64),
        ("bytes | None", {"type": ["string", "null"], "contentEncoding": "base64"}),
        ("bytes | str", {}),
    ],
)
def test_a_result_is_typed_where_its_annotation_is(
    draft: Callable[[str], Draft], annotation: str, result: dict[str, Any]
) -> None:
    assert draft(f"def f() -> {annotation}: return 1").output_schema == {
        "type": "object",
        "properties": {"result": result},
        "required": ["result"],
    }


@pytest.mark.parametrize("annotation", ["", "-> Any", "-> dict[str, int]", "-> Other", "-> int | dict", "-> Point"])
def test_a_result_that_may_be_an_object_is_the_data_itself(draft: Callable[[str], Draft], annotation: str) -> None:
    assert draft(f"def f() {annotation}: return 1").output_schema == {"type": "object"}


@pytest.mark.parametrize(
    ("body", "schema"),
    [
        ("return a.expandtabs().strip()", {"type": "string"}),
        ("a.append(1)\n    return a", {"type": "array"}),
        ("return list(a.items())", {"type": "object"}),
        ("return a.year", {"type": "string", "format": "date"}),
        ("return [one for one in a]", {"type": ["array", "string", "object"]}),
        ("return a.read() if hasattr(a, 'read') else a", {}),
        ("x, y = a\n    return x + y", {"type": "array", "minItems": 2, "maxItems": 2}),
        ("x, *rest = a\n    return rest", {}),
        ("x, y = a if isinstance(a, tuple) else (a, a)\n    return x + y", {}),
        ("return a['x'] + a['y']", {"type": "object"}),
        ("return a[0]", {}),
        ("a['x'] = 1 if isinstance(a, dict) else 2", {}),
        ("'''Do.\n\n    >>> f([1, 2])\n    3\n    '''\n    return sum(a)", {"type": "array"}),
        ("'''Do.\n\n    >>> f(a={'x': 1})\n    3\n    '''\n    return len(a)", {"type": "object"}),
    ],
)
def test_where_nobody_gives_a_type_what_is_done_with_it_tells(
    draft: Callable[[str], Draft], body: str, schema: dict[str, Any]
) -> None:
    assert draft(f"def f(a):\n    {body}\n").input_schema["properties"]["a"] == schema


@pytest.mark.parametrize(
    ("body", "lacks"), [("return a.read()", "an open file"), ("return a.feed(1)", "an object that has feed")]
)
def test_an_object_without_a_form_in_json_shows_by_its_attributes(discover: Make, body: str, lacks: str) -> None:
    [one] = [one for one in discover(f"def f(a):\n    {body}\n").left_out if one.id == "python:lib.f"]
    assert one.why == f"its parameter a has no form in JSON: {lacks}"


def test_values_that_hide_characters_are_not_shown(discover: Make) -> None:
    found = discover(
        "def f(a: str = 'x\\u202ey', b: str = '\\n'): return 1\ndef g(a: Literal['x\\u200b']): return 1\n"
        "class Odd(Enum):\n    A = 'x\\x1b[1m'\ndef h(a: Odd): return 1\n"
    )
    [plain, odd] = found.drafts
    assert plain.input_schema["properties"] == {"a": {"type": "string"}, "b": {"type": "string", "default": "\n"}}
    assert odd.input_schema["properties"] == {"a": {"enum": ["A"]}}


def test_a_type_parameter_means_its_bound(discover: Make, tmp_path: Path) -> None:
    from pegboard_toolgen.discover._sources import read_package
    from pegboard_toolgen.discover._types import Scope, shape_of

    (tmp_path / "lib.py").write_text("def f(): return 1\n")
    tree = read_package("lib", [tmp_path])
    scope = Scope(tree, tree.modules.members["lib"], {"T": "int", "C": "(int, str)", "F": None})
    assert shape_of("list[T]", scope).schema == {"type": "array", "items": {"type": "integer"}}
    assert shape_of("C", scope).schema == {"type": ["integer", "string"]}
    assert shape_of("F", scope).schema == {}


def test_a_type_that_is_nested_too_deeply_is_dropped(discover: Make) -> None:
    found = discover(
        f"def f(a: {'list[' * 30}int{']' * 30} = None): return 1\ndef g(a: {'Optional[' * 9}int{']' * 9}): return 1"
    )
    assert "a type that is nested too deeply" in found.drafts[0].notes[0]
    assert found.drafts[1].input_schema["properties"]["a"] == {"type": ["integer", "null"]}
