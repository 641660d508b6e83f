"""Drafts of libraries bound and called: what fits the schema is what the function takes, and examples come true."""

from __future__ import annotations

import importlib
import importlib.util
import json
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema_rs
import pytest

from pegboard import ToolError
from pegboard_manifest.bindings.python import make_handler
from pegboard_manifest.document import load
from pegboard_toolgen.discover.library import discover_library
from pegboard_toolgen.drafts import Discovery, Draft

Call = Callable[..., Any]


@pytest.fixture
def bound(tmp_path: Path) -> Callable[[Discovery], Mapping[str, Call]]:
    """The tools of a discovery by id, each holding its arguments and its result against its schemas."""

    def bind(found: Discovery) -> Mapping[str, Call]:
        manifest: Any = SimpleNamespace(modules=found.modules, folder=tmp_path, file=None)
        return {draft.id.removeprefix("python:"): _call(draft, manifest) for draft in found.drafts}

    return bind


def _call(draft: Draft, manifest: Any) -> Call:
    handler = make_handler({"name": draft.id, "binding": draft.binding, "input_schema": draft.input_schema}, manifest)
    takes = jsonschema_rs.validator_for(dict(draft.input_schema))
    gives = jsonschema_rs.validator_for(dict(draft.output_schema))

    def call(**arguments: Any) -> Any:
        assert takes.is_valid(arguments), (draft.id, arguments, draft.input_schema)
        value = handler(**arguments)
        data = value if isinstance(value, dict) else {"result": value}
        assert gives.is_valid(data), (draft.id, arguments, data, draft.output_schema)
        return data

    return call


SOURCE = '''
import datetime as dt
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Sequence, overload
from uuid import UUID
class Kind(Enum):
    A = "a"
    B = object()
class Pair(NamedTuple):
    x: int
    y: int
class Adder:
    """Adds."""
    def __call__(self, *n: float, scale: int = 1) -> float: return sum(n) * scale
add = Adder()
class Box:
    @classmethod
    def named(cls, name: str) -> str: return cls.__name__ + name
    @staticmethod
    def twice(n: int) -> int: return 2 * n
def kinds(a: dt.date, b: dt.datetime | dt.timedelta | str, c: Decimal, d: Fraction, e: complex, f: UUID) -> list[str]:
    return [type(one).__name__ for one in (a, b, c, d, e, f)]
def collections(a: tuple[int, ...], b: set[str], c: frozenset[int], d: list[Decimal], e: dict[str, int]) -> list[str]:
    return [type(a).__name__, type(b).__name__, type(c).__name__, type(d[0]).__name__, type(e).__name__]
def raw(a: bytes, b: bytes | None = None, c: str | bytes = "x") -> list[str]:
    return [a.decode(), type(b).__name__, type(c).__name__]
def kind(a: Kind = Kind.A) -> str: return a.name
def places(a: int, b: int = 2, /, c: int = 3, *rest: int, d: int = 4, **more: int) -> list[int]:
    return [a, b, c, *rest, d, *more.values()]
def number(a: float) -> float: return a * 1e308 * 10
def pair() -> Pair: return Pair(1, 2)
def mapping(a: Any) -> Any: return {"got": a}
def where(a: Path) -> str: return a.name
def items() -> Sequence[int]: return range(3)
def fails(a: int) -> int:
    raise ZeroThing("no such thing") if a == 0 else KeyError(a)
class ZeroThing(LookupError): ...
'''


@pytest.fixture
def tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: Callable[[Discovery], Mapping[str, Call]]
) -> Mapping[str, Call]:
    (tmp_path / "site").mkdir()
    (tmp_path / "site/library_that_is_called.py").write_text(textwrap.dedent(SOURCE))
    monkeypatch.syspath_prepend(tmp_path / "site")
    made = bound(discover_library("library_that_is_called", search_paths=[tmp_path / "site"]))
    return {name.removeprefix("library_that_is_called."): call for name, call in made.items()}


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        (
            "kinds",
            {
                "a": "2026-01-31",
                "b": "2026-01-31T10:00:00",
                "c": "1.5",
                "d": "1/3",
                "e": "1+2j",
                "f": "12345678-1234-5678-1234-567812345678",
            },
            ["date", "datetime", "Decimal", "Fraction", "complex", "UUID"],
        ),
        (
            "kinds",
            {"a": "2026-01-31", "b": "PT1H", "c": 1, "d": 2, "e": 1.5, "f": "12345678123456781234567812345678"},
            ["date", "timedelta", "Decimal", "Fraction", "complex", "UUID"],
        ),
        (
            "collections",
            {"a": [1], "b": ["x"], "c": [2], "d": ["1.5"], "e": {"k": 1}},
            ["tuple", "set", "frozenset", "Decimal", "dict"],
        ),
        ("raw", {"a": "YWJj"}, ["abc", "NoneType", "str"]),
        ("raw", {"a": "YWJj", "b": "YWJj", "c": "YWJj"}, ["abc", "bytes", "str"]),
        ("kind", {}, "A"),
        ("kind", {"a": "B"}, "B"),
        ("places", {"a": 1}, [1, 2, 3, 4]),
        ("places", {"a": 1, "rest": [7, 8], "d": 5, "more": {"z": 9}}, [1, 2, 3, 7, 8, 5, 9]),
        ("number", {"a": 1}, "inf"),
        ("items", {}, [0, 1, 2]),
        ("add", {"n": [1, 2.5], "scale": 2}, 7.0),
        ("Box.named", {"name": "x"}, "Boxx"),
        ("Box.twice", {"n": 3}, 6),
        ("where", {"a": "inside.txt"}, "inside.txt"),
    ],
)
def test_values_that_fit_the_schema_reach_the_function_as_its_types(
    tools: Mapping[str, Call], name: str, arguments: dict[str, Any], result: Any
) -> None:
    assert tools[name](**arguments) == {"result": result}


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Discovery]:
    """`read("name", source)` discovers one module, which can be imported."""

    def discover(name: str, source: str, **more: Any) -> Discovery:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source))
        monkeypatch.syspath_prepend(tmp_path)
        return discover_library(name, search_paths=[tmp_path], **more)

    return discover


DISPATCHED = """
import functools, os
from functools import singledispatch
@singledispatch
def told(thing, times=1): raise NotImplementedError
@told.register
def _(thing: int, times=1): return "number" * times
@told.register(str)
def _(thing, times=1): return "text" * times
def of_list(things, times=1): return "list" * times
told.register(list, of_list)
@functools.singledispatch
def cleared(thing): return "nothing"
@cleared.register
def _(thing: str):
    os.remove(thing)
    return "gone"
@singledispatch
def run(thing): return "no"
@run.register
def _(text: str): return eval(text)
"""


def test_what_is_dispatched_by_type_takes_its_first_by_place(
    read: Callable[..., Discovery], bound: Callable[[Discovery], Mapping[str, Call]]
) -> None:
    found = read("library_by_type", DISPATCHED)
    told = bound(found)["library_by_type.told"]
    assert [told(thing=1)["result"], told(thing="a", times=2)["result"]] == ["number", "texttext"]
    assert {draft.words[-1]: draft.category for draft in found.drafts} == {
        "cleared": "write", "of_list": "read", "run": None, "told": "read",
    }  # fmt: skip
    why = {draft.words[-1]: draft.runs_code for draft in found.drafts}
    assert why.pop("run")
    assert set(why.values()) == {None}


def test_a_mapping_that_is_returned_is_the_data(tools: Mapping[str, Call]) -> None:
    assert tools["mapping"](a=[1]) == {"got": [1]}
    assert tools["pair"]() == {"x": 1, "y": 2}


@pytest.mark.parametrize(("value", "code"), [(0, "NOT_FOUND"), (1, "INVALID_INPUT")])
def test_exceptions_have_the_codes_that_the_source_gives_them(tools: Mapping[str, Call], value: int, code: str) -> None:
    with pytest.raises(ToolError) as caught:
        tools["fails"](a=value)
    assert caught.value.code.value == code


def test_a_path_that_leads_away_is_refused(tools: Mapping[str, Call]) -> None:
    with pytest.raises(ToolError, match=r"a part that is '\.\.'"):
        tools["where"](a="../outside")


def test_drafts_make_a_manifest_that_loads(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(textwrap.dedent(SOURCE))
    found = discover_library("lib", search_paths=[tmp_path])
    entries = [
        {
            "id": draft.id,
            "name": "_".join(draft.words).lower(),
            "title": draft.title,
            "description": draft.description,
            "category": draft.category or "write",
            "risk": draft.risk or "high",
            "idempotency": draft.idempotency or "unknown",
            "input_schema": draft.input_schema,
            "output_schema": draft.output_schema,
            "errors": draft.errors,
            "examples": draft.examples or [{"input": {}}],
            "binding": draft.binding,
            "provenance": {"source": draft.kind, "where": draft.where, "notes": draft.notes},
        }
        for draft in found.drafts
    ]
    document = {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": found.name, "runtime": "python", "execution_model": "in-process"},
        "modules": found.modules,
        "tools": sorted(entries, key=lambda entry: str(entry["name"])),
        "provenance": {"sources": [found.source]},
    }
    (tmp_path / "tool.manifest.json").write_text(json.dumps(document))
    assert len(load(tmp_path).tools) == len(found.drafts)


needs_humanize = pytest.mark.skipif(importlib.util.find_spec("humanize") is None, reason="humanize is not installed")
needs_textdistance = pytest.mark.skipif(
    importlib.util.find_spec("textdistance") is None, reason="textdistance is not installed"
)


@needs_humanize
def test_every_public_function_of_humanize_is_a_tool_and_its_documented_examples_come_true(
    bound: Callable[[Discovery], Mapping[str, Call]],
) -> None:
    import humanize

    found = discover_library("humanize")
    tools = bound(found)
    assert sorted(tools) == [f"humanize.{name}" for name in sorted(humanize.__all__) if name != "__version__"]
    assert found.left_out == ()
    checked = 0
    for draft in found.drafts:
        for example in draft.examples:
            data = tools[draft.id.removeprefix("python:")](**example["input"])
            assert data == example.get("output", data), draft.id
            checked += 1
    assert checked > 80
    assert [draft.words[-1] for draft in found.drafts if draft.category != "read"] == ["activate", "deactivate"]


@needs_humanize
def test_humanize_takes_the_types_that_stand_under_type_checking(
    bound: Callable[[Discovery], Mapping[str, Call]],
) -> None:
    tools = bound(discover_library("humanize"))
    assert tools["humanize.naturaldelta"](value="PT90M") == {"result": "2 hours"}
    assert tools["humanize.naturaldelta"](value=90 * 60) == {"result": "2 hours"}
    assert tools["humanize.naturaltime"](value="2020-01-01T00:00:00", when="2020-01-01T00:00:30") == {
        "result": "30 seconds ago"
    }
    assert tools["humanize.naturaldate"](value="1999-12-31") == {"result": "Dec 31 1999"}
    assert tools["humanize.precisedelta"](value=3661, suppress=["minutes"]) == {"result": "1 hour and 61 seconds"}
    assert tools["humanize.clamp"](value=None) == {"result": None}


@needs_textdistance
def test_the_callable_instances_of_textdistance_are_tools(bound: Callable[[Discovery], Mapping[str, Call]]) -> None:
    textdistance = importlib.import_module("textdistance")
    found = discover_library("textdistance")
    instances = {
        name for name, value in vars(textdistance).items() if isinstance(value, textdistance.algorithms.base.Base)
    }
    tools = bound(found)
    assert set(tools) == {f"textdistance.{name}" for name in {*instances, "find_ngrams"}}
    assert [one.why for one in found.left_out if one.id == "python:textdistance.words_combinations"] == [
        "its parameter f has no form in JSON: a callable"
    ]
    assert tools["textdistance.levenshtein"](s1="kitten", s2="sitting") == {"result": 3}
    assert tools["textdistance.hamming"](sequences=["test", "text"]) == {"result": 1}
    assert tools["textdistance.jaccard"](sequences=[["a", "b"], ["b"]]) == {"result": 0.5}


SEVERAL_FORMS = '''
from typing import overload
@overload
def steps(s1: str, s2: str) -> str: ...
@overload
def steps(ops: list[int], s1: str, s2: str, *, hint: bool = False) -> str: ...
def steps(*args, **kwargs):
    """Say steps.

    >>> steps("a", "b")
    "2 ['a', 'b']"
    """
    return f"{len(args)} {list(args)}"
@overload
def span(stop: int) -> str: ...
@overload
def span(start: int, stop: int, step: int = 1) -> str: ...
def span(*args, **kwargs): return f"{args} {kwargs}"
@overload
def either(a: int, b: int) -> str: ...
@overload
def either(x: str, y: str) -> str: ...
def either(*args): return f"{args}"
@overload
def same(a: int, b: int = 1) -> str: ...
@overload
def same(a: str) -> str: ...
def same(*args, **kwargs): return f"{args}"
@overload
def crossed(a: int, b: str) -> str: ...
@overload
def crossed(b: str, a: int) -> str: ...
def crossed(*args, **kwargs): return f"{args}"
'''


def test_overloads_of_other_names_in_the_same_places_are_called_as_what_they_are(
    read: Callable[..., Discovery], bound: Callable[[Discovery], Mapping[str, Call]]
) -> None:
    found = read("library_of_forms", SEVERAL_FORMS)
    tools = {name.partition(".")[2]: call for name, call in bound(found).items()}
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("steps", {"s1": "a", "s2": "b"}, "2 ['a', 'b']"),
        ("steps", {"ops": [1], "s1": "a", "s2": "b"}, "3 [[1], 'a', 'b']"),
        ("span", {"stop": 3}, "(3,) {}"),
        ("span", {"start": 1, "stop": 3}, "(1, 3) {}"),
        ("either", {"a": 1, "b": 2}, "(1, 2)"),
        ("either", {"x": "1", "y": "2"}, "('1', '2')"),
        ("same", {"a": 1}, "(1,)"),
        ("crossed", {"a": 1, "b": "2"}, "(1, '2')"),
    ]
    assert [tools[name](**arguments)["result"] for name, arguments, _ in calls] == [said for _, _, said in calls]
    drafts = {draft.words[1]: draft for draft in found.drafts}
    assert drafts["steps"].input_schema["required"] == ["s1", "s2"]
    assert "Takes (s1, s2) or (ops, s1, s2, hint)." in drafts["steps"].description
    assert drafts["steps"].examples == ({"input": {"s1": "a", "s2": "b"}, "output": {"result": "2 ['a', 'b']"}},)
    assert "Takes" not in drafts["same"].description


TOLD = '''
from typing import Mapping, AbstractSet
def spanning(ips):
    """Span.

    :param ips: a sequence of addresses.
    """
    return str(ips)
def mean(data):
    """Give the mean.

    Args:

        data (list): The values.

    """
    return str(data)
def walk(things):
    for one in things: yield one
def handing_on(src, size): return _between(size, src=src)
def _between(size, src): return list(walk(src))
def holds(where: Mapping[str, str | AbstractSet[str]] | None = None) -> str: return str(where)
'''


def test_types_are_taken_from_the_words_of_docstrings_and_mappings_of_several_types_pass(
    read: Callable[..., Discovery], bound: Callable[[Discovery], Mapping[str, Call]]
) -> None:
    found = read("library_of_words", TOLD)
    tools = {name.partition(".")[2]: call for name, call in bound(found).items()}
    schemas = {draft.words[1]: draft.input_schema["properties"] for draft in found.drafts}
    assert [schemas["spanning"]["ips"]["type"], schemas["mean"]["data"]["type"]] == ["array", "array"]
    assert schemas["mean"]["data"]["description"] == "The values."
    assert tools["handing_on"](src=[1, 2], size=1) == {"result": [1, 2]}
    assert schemas["handing_on"]["size"] == {}
    assert tools["holds"](where={"a": "x", "b": ["y"]}) == {"result": "{'a': 'x', 'b': ['y']}"}
