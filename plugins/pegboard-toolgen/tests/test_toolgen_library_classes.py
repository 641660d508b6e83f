"""Methods and properties of classes: the call makes the object, asks it and forgets it; and what they change."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pegboard import ToolError
from pegboard_manifest.bindings.python import make_handler
from pegboard_toolgen.discover.library import discover_library
from pegboard_toolgen.drafts import Discovery

Read = Callable[..., Discovery]

SHOP = '''
import abc, os, sqlite3
LOG = []
class Price:
    """A price.

    Args:
        amount: in cents.
    """
    tax = {}
    def __init__(self, amount: int, currency: str = "EUR", *, digits: int = 2) -> None:
        if amount < 0: raise ValueError("less than nothing")
        self.amount, self.currency = amount, currency
        self._seen = []
    def __str__(self) -> str: return f"{self.amount} {self.currency}"
    @property
    def is_free(self) -> bool:
        """Whether it costs nothing."""
        return not self.amount
    def times(self, amount: int, /, *more: int) -> "Price":
        """Multiply."""
        self._seen.append(amount)
        return Price(self.amount * amount + sum(more), self.currency)
    def told(self, currency: str | None = None) -> str:
        """Say it."""
        self.last = currency
        return f"{self.amount} {currency or self.currency}"
    def raise_by(self, by: int) -> None: self.amount += by
    def note(self) -> str:
        LOG.append(self.amount)
        return "noted"
    def with_tax(self, rate: int) -> int:
        self.tax["rate"] = rate
        return self.amount
    def save(self, path: str) -> str:
        with open(path, "w") as file: file.write(str(self))
        return path
    def calculate(self) -> int: return eval(self.currency)
    async def later(self) -> int: return 1
    def _private(self) -> int: return 1
    @classmethod
    def free(cls) -> "Price": return cls(0)
    @staticmethod
    def half(n: int) -> int: return n // 2
class Plain:
    def hello(self) -> str: return "hello"
class Untyped:
    def __init__(self, thing): self.thing = thing
    def get(self) -> str: return str(self.thing)
class Opening:
    def __init__(self, path: str): os.mkdir(path)
    def get(self) -> str: return ""
class Below(Opening):
    def __init__(self, path: str): super().__init__(path)
class Foreign(sqlite3.Connection):
    def get(self) -> str: return ""
class Abstract(abc.ABC):
    @abc.abstractmethod
    def get(self) -> str: ...
    def other(self) -> str: return self.get()
def _registered(cls): return cls
@_registered
class Fields:
    x: int
    def get(self) -> int: return self.x
class Meta(type): ...
class Made(metaclass=Meta):
    def get(self) -> int: return 1
def plain(a: int) -> int:
    """Add one."""
    return a + 1
'''


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    def discover(name: str, source: str, *include: str) -> Discovery:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(tmp_path)
        return discover_library(name, search_paths=[tmp_path], include=include)

    return discover


def handlers(found: Discovery, folder: Path) -> Mapping[str, Callable[..., Any]]:
    manifest: Any = SimpleNamespace(modules=found.modules, folder=folder, file=None)
    return {
        draft.id.partition(".")[2]: make_handler(
            {"name": draft.id, "binding": draft.binding, "input_schema": draft.input_schema}, manifest
        )
        for draft in found.drafts
    }


def names_of(found: Discovery) -> list[str]:
    return [draft.id.partition(".")[2] for draft in found.drafts]


@pytest.mark.parametrize("include", [(), ("shop_a.*",), ("*",), ("shop_a_*",), ("python:shop_a.*",)])
def test_methods_are_offered_and_taken_by_no_glob_that_fits_any_class(read: Read, include: tuple[str, ...]) -> None:
    found = read("shop_a", SHOP, *include)
    assert names_of(found) == ["Price.half", "plain"]
    offered = {one.id: one.why for one in found.left_out if one.offers}
    assert offered["class shop_a.Price"] == "9 methods of objects that calls would make: --include 'shop_a.Price.*'"
    assert sorted(offered) == [f"class shop_a.{name}" for name in ("Below", "Opening", "Plain", "Price", "Untyped")]


@pytest.mark.parametrize("include", ["shop_b.Price.*", "*Price.*", "shop_b_price_*"])
def test_methods_are_taken_where_a_glob_speaks_of_them(read: Read, include: str) -> None:
    found = read("shop_b", SHOP, include)
    assert {draft.id.partition(".")[2]: draft.category for draft in found.drafts} == {
        "Price.calculate": None, "Price.half": "read", "Price.is_free": "read", "Price.note": "write",
        "Price.save": "write", "Price.times": "read", "Price.told": "read", "Price.with_tax": None, "plain": "read",
    }  # fmt: skip
    why = {one.id.partition(".")[2]: one.why for one in found.left_out}
    assert why["Price.raise_by"] == "it changes its object alone, which no call keeps"
    assert why["Price.later"].startswith("asynchronous")
    assert [draft.id for draft in found.drafts if draft.runs_code] == ["python:shop_b.Price.calculate"]


def test_a_call_makes_the_object_of_the_callers_values_and_asks_it(read: Read, tmp_path: Path) -> None:
    found = read("shop_c", SHOP, "*.Price.*", "*.Plain.*")
    tools = handlers(found, tmp_path)
    assert tools["Price.is_free"](amount=0) is True
    assert tools["Price.told"](amount=3, price_currency="USD") == "3 USD"
    assert tools["Price.told"](amount=3, price_currency="USD", currency="GBP") == "3 GBP"
    assert tools["Price.times"](price_amount=3, amount=2, more=[1, 1])["result"] == "8 EUR"
    assert tools["Plain.hello"]() == "hello"
    with pytest.raises(ToolError, match="less than nothing"):
        tools["Price.is_free"](amount=-1)
    draft = next(one for one in found.drafts if one.id.endswith("told"))
    assert draft.input_schema["required"] == ["amount"]
    assert list(draft.input_schema["properties"]) == ["amount", "price_currency", "digits", "currency"]
    assert draft.input_schema["properties"]["amount"]["description"] == "in cents."
    assert draft.binding["instance"]["make"] == "shop_c.Price"
    assert {"shop_c.Price", "shop_c.Price.told"} <= set(found.modules["shop_c"]["allow"])


NOT_MADE = {
    "Untyped": "its object cannot be made: nothing says what its parameter thing is",
    "Opening": "a class: what makes its objects changes files",
    "Below": "a class: what makes its objects changes files",
    "Foreign": "a class: it is made by sqlite3.Connection, which is not read",
    "Abstract": "a class: it is abstract: get",
    "Fields": "a class: _registered says how it is made, and not the class",
    "Made": "a class: its metaclass makes it",
}


@pytest.mark.parametrize("name", NOT_MADE)
def test_what_is_not_made_of_the_callers_values_alone_says_why(read: Read, name: str) -> None:
    found = read("shop_d", SHOP, f"shop_d.{name}.*", "shop_d.plain")
    assert names_of(found) == ["Price.half", "plain"]
    assert NOT_MADE[name] in {one.why for one in found.left_out if name in one.id}


GENERATED = """
import attr, attrs, os
import dataclasses as dc
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import ClassVar, NamedTuple

@dataclass
class Point:
    '''A place.

    Attributes:
        x: how far to the right.
    '''
    x: int
    y: int = 2
    kinds: ClassVar[int] = 0
    extra: InitVar[str] = ""
    known: list[str] = field(default_factory=list)
    hidden: int = field(default=0, init=False)
    def shown(self) -> list[int]: return [self.x, self.y, len(self.known)]
@dc.dataclass(frozen=True, kw_only=True)
class Named:
    name: str
@dataclass
class Deep(Point):
    _: KW_ONLY
    z: int
    y: int = 5
    def sum(self) -> int: return self.x + self.y + self.z
class Below(Deep):
    def twice(self) -> int: return 2 * self.z
@attrs.define
class Price:
    _amount: int = attrs.field(validator=attrs.validators.instance_of(int))
    currency: str = attrs.field(default="EUR", kw_only=True, alias="of")
    parts: list[int] = attrs.Factory(list)
    def told(self) -> str: return f"{self._amount} {self.currency}"
@attr.s
class Old:
    a = attr.ib(type=int)
    b: int = attr.ib(default=3)
    ignored: int = 5
    def sum(self) -> int: return self.a + self.b
class Pair(NamedTuple):
    left: int
    right: int = 1
    def sum(self) -> int: return self.left + self.right
class Written:
    def __init__(self, other: str) -> None: self.other = other
@dataclass
class Over(Written):
    x: int
    def get(self) -> int: return self.x
@dataclass
class Own:
    x: int
    def __init__(self, y: int) -> None: self.x = y
    def get(self) -> int: return self.x
def make() -> list[int]: return [1]
@dataclass
class Making:
    x: list[int] = field(default_factory=make)
    def get(self) -> int: return 1
@attrs.define
class Converted:
    x: int = attrs.field(converter=attrs.converters.pipe(int, make))
    def get(self) -> int: return 1
@attrs.define
class Checked:
    x: str = attrs.field()
    @x.validator
    def check(self, attribute, value): os.mkdir(value)
    def get(self) -> int: return 1
@dataclass
class Started:
    x: str
    def __post_init__(self): os.mkdir(self.x)
    def get(self) -> int: return 1
"""
MADE = {
    "Point.shown": ({"x": 1, "known": ["a"]}, [1, 2, 1]),
    "Deep.sum": ({"x": 1, "z": 3}, 9),
    "Below.twice": ({"x": 1, "z": 3}, 6),
    "Price.told": ({"amount": 2, "of": "USD"}, "2 USD"),
    "Old.sum": ({"a": 1}, 4),
    "Pair.sum": ({"left": 2}, 3),
    "Over.get": ({"x": 4}, 4),
    "Own.get": ({"y": 4}, 4),
}
NOT_GENERATED = {
    "Making": "what default_factory of its field x does is not read",
    "Converted": "what converter of its field x does is not read",
    "Checked": "what makes its objects changes files",
    "Started": "what makes its objects changes files",
}


def test_a_constructor_that_is_generated_takes_what_the_fields_say(read: Read, tmp_path: Path) -> None:
    found = read("fields", GENERATED, *(f"fields.{name.partition('.')[0]}.*" for name in (*MADE, *NOT_GENERATED)))
    tools = handlers(found, tmp_path)
    for name, (arguments, expected) in MADE.items():
        assert tools[name](**arguments) in (expected, {"result": expected}), name
    drafts = {draft.id.partition(".")[2]: draft.input_schema for draft in found.drafts}
    assert drafts["Point.shown"]["required"] == ["x"]
    assert drafts["Point.shown"]["properties"]["x"] == {"type": "integer", "description": "how far to the right."}
    assert list(drafts["Deep.sum"]["properties"]) == ["x", "extra", "known", "y", "z"]
    assert drafts["Deep.sum"]["required"] == ["x", "z"]
    assert {draft.category for draft in found.drafts} == {"read"}


@pytest.mark.parametrize("name", NOT_GENERATED)
def test_a_class_whose_fields_run_something_says_so(read: Read, name: str) -> None:
    found = read("fields_not", GENERATED, f"fields_not.{name}.*")
    assert f"a class: {NOT_GENERATED[name]}" in {one.why for one in found.left_out if one.id.endswith(f".{name}")}
    assert not [draft for draft in found.drafts if draft.id.endswith(".get")]


FOLLOWED = """
import functools, json, os
class Base:
    def __init__(self, root: str) -> None: self.root = root
    @property
    def place(self) -> str: raise NotImplementedError
    def shown(self) -> str: return self.place
class Making(Base):
    @property
    def place(self) -> str:
        os.makedirs(self.root)
        return self.root
def choose() -> type[Base]: return Making
Chosen = choose()
CONFIG = Making("x")
def of_call(root: str) -> str: return Making(root).place
def of_choice(root: str) -> str: return Chosen(root).place
def of_above(root: str) -> str: return Base(root).shown()
def of_global() -> str: return CONFIG.place
def write_json(path: str) -> str: os.remove(path); return path
def read_json(path: str) -> str: return path
WRITERS = {"json": write_json}
READERS = {"json": read_json}
def by_table(kind: str, path: str) -> str: return WRITERS[kind](path)
def by_read_table(kind: str, path: str) -> str: return READERS[kind](path)
def given_away(paths: list[str]) -> list[str]: return list(map(write_json, paths))
def in_part(path: str) -> str: return functools.partial(write_json, path)()
RUNNERS = {"python": eval}
def by_runner(kind: str, text: str) -> str: return RUNNERS[kind](text)
class Counter:
    def __init__(self) -> None:
        self.n = 0
        self.all = []
    def up(self, by: int) -> int:
        self.n += by
        self.all.append(by)
        return self.n
SHARED = Counter()
def own_counter(by: int) -> int:
    counter = Counter()
    return counter.up(by)
def shared_counter(by: int) -> int: return SHARED.up(by)
class One:
    _one = None
    def __new__(cls):
        if cls._one is None: cls._one = super().__new__(cls)
        return cls._one
    def up(self, by: int) -> int:
        self.n = by
        return by
def the_one(by: int) -> int: return One().up(by)
"""


def test_properties_tables_and_classes_below_are_followed(read: Read) -> None:
    found = read("followed", FOLLOWED)
    assert {draft.words[-1]: draft.category for draft in found.drafts} == {
        "of_call": "write", "of_choice": "write", "of_above": "write", "of_global": "write", "write_json": "write",
        "read_json": "read", "by_table": "write", "by_read_table": "read", "given_away": "write", "in_part": "write",
        "by_runner": None, "own_counter": "read", "shared_counter": None, "the_one": None,
    }  # fmt: skip
    assert [draft.words[-1] for draft in found.drafts if draft.runs_code] == ["by_runner"]


RUN_BY_PROPERTY = """
import os, os.path, pickle
HERE = os.path.dirname(__file__)
class Formula:
    def __init__(self, text: str) -> None: self.text = text
    @property
    def value(self) -> int: return eval(self.text)
    @property
    def constant(self) -> int: return eval("1")
def by_property(text: str) -> int: return Formula(text).value
def by_local(text: str) -> int:
    formula = Formula(text)
    return formula.value
def of_its_own(text: str) -> int: return Formula(text).constant
def load(name: str) -> str:
    name = os.path.basename(name)
    with open(file_of(name), "rb") as file:
        return pickle.load(file)
def file_of(name: str) -> str: return os.path.join(HERE, name + ".dat")
def load_any(name: str) -> str:
    with open(file_of(name), "rb") as file:
        return pickle.load(file)
def load_late(name: str) -> str:
    path = file_of(name)
    name = os.path.basename(name)
    with open(path, "rb") as file:
        return pickle.load(file)
def evaluate(name: str) -> str:
    name = os.path.basename(name)
    return eval(name)
"""


def test_what_a_property_runs_is_followed_and_the_name_of_an_own_file_only_chooses(read: Read) -> None:
    found = read("runs_by", RUN_BY_PROPERTY)
    runs = {draft.words[-1] for draft in found.drafts if draft.runs_code}
    assert runs == {"by_property", "by_local", "load_any", "load_late", "evaluate"}
    assert {draft.words[-1] for draft in found.drafts} - runs == {"of_its_own", "load", "file_of"}
