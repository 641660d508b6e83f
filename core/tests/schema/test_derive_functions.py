"""A function becomes a name, a description, a schema and a signature."""

from __future__ import annotations

import functools
import re
import sys
import textwrap
import types
import typing
from collections import abc  # noqa: F401 - for a hint that is a text
from typing import TYPE_CHECKING, Annotated, Any, Literal, LiteralString, NotRequired, TypedDict, TypeVar, Union

import attrs
import pytest

from pegboard.content import TextContent
from pegboard.context import CallContext
from pegboard.errors import ToolDefinitionError
from pegboard.results import ToolResult
from pegboard.schema import hints
from pegboard.schema.derive import Faults, derive, find_context_parameter
from pegboard.schema.markers import Description, Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf, Pattern

if TYPE_CHECKING:
    import collections.abc
    import fractions as late_fractions
    from fractions import Fraction
    from pathlib import PurePath as LatePath

    from pegboard.nowhere import Missing


def schema_of(hint: Any) -> Any:
    def function(x): ...

    function.__annotations__["x"] = hint
    return derive(function).input_schema["properties"]["x"]


def refusal(function: Any) -> ToolDefinitionError:
    with pytest.raises(ToolDefinitionError) as caught:
        derive(function)
    return caught.value


def test_a_function_gives_name_description_and_a_closed_object() -> None:
    def add(a: float, b: float = 0.0) -> float:
        """Add two numbers.

        Exactly.

        Args:
            a: the first number.
            b: the second
                number.

        Returns:
            The sum.
        """
        return a + b

    derived = derive(add)
    assert (derived.name, derived.description) == ("add", "Add two numbers.\n\nExactly.")
    assert derived.input_schema == {
        "type": "object",
        "properties": {
            "a": {"type": "number", "description": "the first number."},
            "b": {"type": "number", "description": "the second number.", "default": 0.0},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert derived.output_schema == {
        "type": "object",
        "properties": {"result": {"type": "number"}},
        "required": ["result"],
        "additionalProperties": False,
    }


def test_a_function_without_parameters_takes_the_empty_object() -> None:
    def now(): ...

    derived = derive(now)
    assert derived.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert (derived.description, derived.output_schema) == ("", None)


def test_falsy_defaults_stand_in_the_schema() -> None:
    def f(a: int = 0, b: str = "", c: bool = False, d: int | None = None, e: list[int] = [], *, g: float = 0.0): ...  # noqa: B006

    defaults = {name: schema["default"] for name, schema in derive(f).input_schema["properties"].items()}
    assert defaults == {"a": 0, "b": "", "c": False, "d": None, "e": [], "g": 0.0}
    assert "required" not in derive(f).input_schema


def test_a_default_without_a_json_form_is_left_out_and_the_parameter_stays_optional() -> None:
    def f(a: Any = object(), b: float = float("nan"), c: str = None): ...  # type: ignore[assignment]  # noqa: B008, RUF013

    assert derive(f).input_schema["properties"] == {"a": {}, "b": {"type": "number"}, "c": {"type": "string"}}
    assert "required" not in derive(f).input_schema


def test_a_mutable_default_is_a_new_one_in_each_call() -> None:
    def f(meta: dict[str, list[int]] = {"a": []}, pair: tuple[list[int], ...] = ([],), n: int = 1): ...  # noqa: B006

    bind = derive(f).signature.binder()
    first, second = bind({}), bind({})
    assert first == second == {"meta": {"a": []}, "pair": ([],)}
    assert first["meta"] is not second["meta"]
    assert first["meta"]["a"] is not second["meta"]["a"]
    assert bind({"meta": {}, "pair": [], "n": 2}) == {"meta": {}, "pair": (), "n": 2}


def test_a_binder_with_mutable_defaults_still_reports_faults() -> None:
    def f(n: int, meta: dict[str, int] = {}): ...  # noqa: B006

    bind = derive(f).signature.binder()
    assert type(bind({"n": 1.5})) is Faults


def test_the_binder_is_compiled_once() -> None:
    def f(n: int): ...

    signature = derive(f).signature
    assert signature.binder() is signature.binder()


def test_the_binder_copies_and_never_changes_the_arguments() -> None:
    def f(a: float, tags: list[str], extra: dict[str, str], anything: Any, text: str | None = None): ...

    arguments = {"a": 1, "tags": ["x"], "extra": {"k": "v"}, "anything": [1]}
    bound = derive(f).signature.binder()(arguments)
    assert arguments == {"a": 1, "tags": ["x"], "extra": {"k": "v"}, "anything": [1]}
    assert bound == arguments
    assert type(bound["a"]) is float
    assert bound["tags"] is not arguments["tags"]
    assert bound["extra"] is not arguments["extra"]


def test_a_binder_without_hooks_is_a_copy() -> None:
    def f(a: str, b: Literal["x"] = "x"): ...

    arguments = {"a": "1"}
    bound = derive(f).signature.binder()(arguments)
    assert bound == arguments
    assert bound is not arguments


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400, True, "1", None, [1]])
def test_what_is_not_a_finite_number_is_a_fault_with_its_path(value: Any) -> None:
    def f(a: float, b: float): ...

    faults = derive(f).signature.binder()({"a": value, "b": 1})
    assert type(faults) is Faults
    assert [(fault.path, fault.expected) for fault in faults] == [(("a",), "a finite number")]


def test_a_binder_answers_what_is_not_an_object_with_faults() -> None:
    def f(a: float): ...

    assert type(derive(f).signature.binder()(5)) is Faults  # type: ignore[arg-type]


def test_a_class_that_refuses_only_once_still_gives_a_fault() -> None:
    calls: list[int] = []

    @attrs.define
    class Moody:
        n: int

        def __attrs_post_init__(self) -> None:
            calls.append(self.n)
            if len(calls) == 1:
                raise ZeroDivisionError

    def f(moody: Moody): ...

    faults = derive(f).signature.binder()({"moody": {"n": 1}})
    assert type(faults) is Faults
    assert faults


# The context.


def test_a_context_parameter_is_injected_and_never_in_the_schema() -> None:
    def f(a: int, context: CallContext): ...

    derived = derive(f)
    assert list(derived.input_schema["properties"]) == ["a"]
    assert derived.signature.context_parameter == "context"
    assert not derived.signature.context_positional
    assert derived.signature.binder()({"a": 1}) == {"a": 1}


def test_the_context_is_found_as_a_string_an_optional_and_annotated() -> None:
    def plain(c: CallContext, x: int): ...
    def optional(c: CallContext | None = None): ...
    def old(c: CallContext | None = None): ...
    def annotated(c: Annotated[CallContext, "the context"]): ...

    for function in (plain, optional, old, annotated):
        assert derive(function).signature.context_parameter == "c"
        assert "c" not in derive(function).input_schema["properties"]


def test_a_module_that_imports_the_context_for_type_checkers_only_needs_no_import() -> None:
    namespace = {"__name__": "a_module_without_imports"}
    source = "def f(x: 'int', ctx: 'CallContext'): ...\ndef g(x: int, ctx: 'pegboard.context.CallContext'): ..."
    exec(source, namespace)
    assert derive(namespace["f"]).signature.context_parameter == "ctx"  # type: ignore[arg-type]


def test_a_positional_only_context_is_told_apart() -> None:
    async def f(context: CallContext, /, x: int): ...

    signature = derive(f).signature
    assert (signature.context_parameter, signature.context_positional) == ("context", True)


def test_two_contexts_are_refused() -> None:
    def f(a: CallContext, b: CallContext): ...

    assert "'a' has the call's context already" in str(refusal(f))


def test_an_explicit_schema_is_taken_as_it_is_and_only_the_context_is_looked_for() -> None:
    async def handler(context: CallContext, /, **arguments: NoSuchName) -> ToolResult: ...  # noqa: F821

    schema = {"type": "object"}
    derived = derive(handler, schema)
    assert derived.input_schema is schema
    assert (derived.signature.context_parameter, derived.signature.context_positional) == ("context", True)
    assert not derived.signature.finite
    arguments = {"anything": float("inf")}
    assert derived.signature.binder()(arguments) == arguments


def test_the_context_parameter_of_a_handler_written_by_hand() -> None:
    class Handler:
        def __call__(self, *, ctx: CallContext, **arguments: Any) -> None: ...

    def plain(x: int) -> None: ...

    def unknown(x: NoSuchName, ctx: CallContext) -> None: ...  # noqa: F821
    def real(ctx: Any) -> None: ...

    real.__annotations__["ctx"] = CallContext
    assert find_context_parameter(Handler()) == ("ctx", False)
    assert find_context_parameter(unknown) == ("ctx", False)
    assert find_context_parameter(real) == ("ctx", False)
    assert find_context_parameter(plain) == (None, False)
    assert find_context_parameter(print) == (None, False)
    assert find_context_parameter(dict) == (None, False)


# What can be called.


def test_methods_partials_wrappers_and_objects_are_seen_through() -> None:
    class Shop:
        """Sells."""

        def buy(self, item: str, count: int = 1) -> str:
            """Buy something."""
            return item * count

        def __call__(self, item: str) -> str: ...

    def traced(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    shop = Shop()
    bought, fixed, wrapped = derive(shop.buy), derive(functools.partial(shop.buy, "tea")), derive(traced(shop.buy))
    assert [derived.name for derived in (bought, fixed, wrapped)] == ["buy"] * 3
    assert [derived.description for derived in (bought, fixed, wrapped)] == ["Buy something."] * 3
    assert list(bought.input_schema["properties"]) == list(wrapped.input_schema["properties"]) == ["item", "count"]
    assert list(fixed.input_schema["properties"]) == ["count"]
    assert (derive(shop).name, derive(shop).description) == ("Shop", "Sells.")
    assert list(derive(shop).input_schema["properties"]) == ["item"]
    assert derive(functools.partial(shop)).name == "Shop"


def test_what_is_not_a_python_function_is_refused() -> None:
    assert "len is not a Python function" in str(refusal(len))
    assert "dict is not a Python function" in str(refusal(dict))


def test_starred_positional_only_and_bare_parameters_are_refused_with_the_cure() -> None:
    def stars(*values: int): ...
    def keywords(**values: int): ...
    def positional(value: int, /): ...
    def bare(value): ...

    assert "'*values'" in str(refusal(stars))
    assert refusal(stars).hint == (
        "take a list instead: `values: list[str]`; a decorator's wrapper wants functools.wraps"
    )
    assert "'**values'" in str(refusal(keywords))
    assert "dict[str, str]" in str(refusal(keywords).hint)
    assert "'value'" in str(refusal(positional))
    assert "leave out the `/`" in str(refusal(positional).hint)
    assert "no type hint" in str(refusal(bare))
    assert "`value: str`" in str(refusal(bare).hint)


# Hints that must be found.


def test_hints_for_type_checkers_only_are_imported() -> None:
    def path(p: LatePath, several: collections.abc.Sequence[int]): ...

    properties = derive(path).input_schema["properties"]
    assert properties["p"]["type"] == "string"
    assert properties["several"] == {"type": "array", "items": {"type": "integer"}}


def test_a_hint_that_is_found_and_has_no_json_form_is_named() -> None:
    def fraction(f: Fraction): ...
    def dotted(f: late_fractions.Fraction): ...

    for function in (fraction, dotted):
        assert "parameter 'f': the type Fraction has no JSON form" in str(refusal(function))


def test_a_hint_that_cannot_be_found_is_named_with_its_parameter() -> None:
    def one(x: Missing): ...
    def two(x: list[Nowhere]): ...  # noqa: F821
    def three(x: "list["): ...  # noqa: F722
    def four(x: 1 + 1): ...

    assert "tool one: parameter 'x': the hint 'Missing' cannot be resolved" in str(refusal(one))
    assert "'Nowhere' is not found" in str(refusal(two))
    assert "is not a type" in str(refusal(three))
    assert "parameter 'x'" in str(refusal(four))


def test_what_it_returns_is_named_when_it_cannot_be_found() -> None:
    def f() -> Nowhere: ...  # noqa: F821

    assert "tool f: what it returns: the hint 'Nowhere'" in str(refusal(f))


def test_classes_of_the_enclosing_function_are_found() -> None:
    @attrs.frozen
    class Tree:
        value: int
        children: list[Tree]

    def f(tree: Tree, more: list[Tree] | None = None): ...

    schema = derive(f).input_schema
    assert schema["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    bound = derive(f).signature.binder()({"tree": {"value": 1, "children": [{"value": 2, "children": []}]}})
    assert bound == {"tree": Tree(1, [Tree(2, [])])}


def test_what_stood_beside_a_function_is_gone_with_the_function_around_it() -> None:
    def make() -> Any:
        class Local: ...

        def f(x: Local) -> None: ...

        return f

    assert "'Local' is not found" in str(refusal(make()))


def test_names_of_a_closure_are_found_and_empty_cells_are_not() -> None:
    def make(kind: type, fill: bool) -> Any:
        def f(x: kind) -> None:  # type: ignore[valid-type]
            later(kind)

        found = derive(f)
        if fill:
            later = print
        return found

    assert make(int, fill=False).input_schema["properties"]["x"] == {"type": "integer"}


def test_a_module_whose_source_is_gone_is_not_a_crash(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("sourceless")
    monkeypatch.setitem(sys.modules, "sourceless", module)
    exec("def f(x: 'Absent'): ...", module.__dict__)
    assert "'Absent' is not found" in str(refusal(module.f))


def test_what_a_module_gives_when_it_is_asked_needs_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("giving")
    monkeypatch.setitem(sys.modules, "giving", module)
    code = """
    def __getattr__(name):
        if name == "Gone":
            raise ImportError(name)
        if name != "Later":
            raise AttributeError(name)
        return float
    def f(x: "list[Later]"): ...
    def g(x: "Other"): ...
    def h(x: "Gone"): ...
    """
    exec(textwrap.dedent(code), module.__dict__)
    assert derive(module.f).input_schema["properties"]["x"]["items"] == {"type": "number"}
    assert "'Other' is not found" in str(refusal(module.g))
    assert "'Gone' is not found" in str(refusal(module.h))


def test_imports_for_type_checkers_are_read_in_every_form(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "late_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "shapes.py").write_text("Side = float\n")
    (package / "tools.py").write_text(
        textwrap.dedent("""
        from __future__ import annotations
        import typing
        if typing.TYPE_CHECKING:
            import datetime as dt
            import xml.etree
            from . import shapes
            from .shapes import Side
            from pegboard import CallContext as Asked
            from .nowhere import Gone
            value = 1
        if not typing.TYPE_CHECKING:
            import uuid
        def f(other: shapes.Side, side: Side, day: dt.date, asked: Asked): ...
        def g(gone: Gone): ...
        def h(tree: xml.etree.Nothing): ...
        """)
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import late_package.tools as tools  # type: ignore[import-not-found]

    properties = derive(tools.f).input_schema["properties"]
    types_of = {name: schema["type"] for name, schema in properties.items()}
    assert types_of == {"other": "number", "side": "number", "day": "string"}
    assert derive(tools.f).signature.context_parameter == "asked"
    assert "'Gone' is not found" in str(refusal(tools.g))
    assert "parameter 'tree'" in str(refusal(tools.h))
    for name in [name for name in sys.modules if name.startswith("late_package")]:
        monkeypatch.delitem(sys.modules, name)


def test_fields_are_resolved_where_their_class_was_written(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "late_bases.py").write_text(
        textwrap.dedent("""
        from __future__ import annotations
        import dataclasses
        import typing
        if typing.TYPE_CHECKING:
            import datetime as dt
        @dataclasses.dataclass(kw_only=True)
        class Timed:
            day: dt.date
        class TimedDict(typing.TypedDict):
            day: dt.date
        """)
    )
    (tmp_path / "late_classes.py").write_text(
        textwrap.dedent("""
        import dataclasses
        import typing
        from late_bases import Timed, TimedDict
        @dataclasses.dataclass
        class Event(Timed):
            next: typing.Optional["Event"] = None
        class EventDict(TimedDict, total=False):
            more: "list[EventDict]"
        def f(event: Event, other: list["EventDict"]): ...
        """)
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import late_classes  # type: ignore[import-not-found]

    bound = derive(late_classes.f).signature.binder()(
        {"event": {"day": "2026-01-02", "next": {"day": "2026-01-03"}}, "other": [{"day": "2026-01-04", "more": []}]}
    )
    assert bound["event"].next.day.isoformat() == "2026-01-03"
    assert bound["other"][0]["day"].isoformat() == "2026-01-04"
    for name in ("late_classes", "late_bases"):
        monkeypatch.delitem(sys.modules, name)


# What Annotated says.


def test_descriptions_of_annotated_win_over_the_docstring() -> None:
    def f(a: Annotated[int, "of the hint"], b: Annotated[int, Description("marked")], c: int):
        """Do.

        Args:
            a: of the docstring
            c: of the docstring
        """

    properties = derive(f).input_schema["properties"]
    assert [properties[name]["description"] for name in "abc"] == ["of the hint", "marked", "of the docstring"]


@pytest.mark.parametrize(
    ("hint", "more"),
    [
        (Annotated[int, Ge(1), Le(6)], {"minimum": 1, "maximum": 6}),
        (Annotated[float, Gt(0), Lt(1.5)], {"exclusiveMinimum": 0, "exclusiveMaximum": 1.5}),
        (Annotated[float, MultipleOf(0.5)], {"multipleOf": 0.5}),
        (Annotated[str, MinLen(1), MaxLen(5), Pattern("^a")], {"minLength": 1, "maxLength": 5, "pattern": "^a"}),
        (Annotated[list[int], MinLen(2)], {"minItems": 2}),
        (Annotated[dict[str, int], MaxLen(2)], {"maxProperties": 2}),
        (Annotated[str | None, MinLen(1)], {"minLength": 1}),
        (Annotated[Annotated[int, Ge(1)], Le(2)], {"minimum": 1, "maximum": 2}),
        (Annotated[str, MinLen(0)], {}),
        (Annotated[str, 5], {}),
    ],
)  # fmt: skip
def test_bounds_stand_in_the_schema(hint: Any, more: dict[str, Any]) -> None:
    schema = schema_of(hint)
    assert {key: schema[key] for key in schema if key not in ("type", "items", "additionalProperties")} == more


def test_foreign_markers_are_read_by_their_attributes() -> None:
    interval = types.SimpleNamespace(ge=1, gt=None, le=None, lt=10)
    length = types.SimpleNamespace(min_length=0, max_length=3)
    documented = types.SimpleNamespace(documentation="said elsewhere")
    assert schema_of(Annotated[int, interval]) == {"type": "integer", "minimum": 1, "exclusiveMaximum": 10}
    said = schema_of(Annotated[str, length, documented])
    assert said == {"type": "string", "maxLength": 3, "description": "said elsewhere"}


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (Annotated[str, Ge(1)], "fits numbers alone, not str"),
        (Annotated[int, MinLen(1)], "a bound of length fits str, list, set and dict, not int"),
        (Annotated[bytes, MaxLen(1)], "a bound of length"),
        (Annotated[int, Pattern("a")], "a pattern fits str alone"),
        (Annotated[str, Pattern("(")], "is not a regular expression"),
        (Annotated[int, Ge(float("nan"))], "is not a number"),
        (Annotated[int, Ge("1")], "is not a number"),  # type: ignore[arg-type]
        (Annotated[float, Ge(True)], "is not a number"),
    ],
)
def test_bounds_that_do_not_fit_are_refused(hint: Any, words: str) -> None:
    def f(x): ...

    f.__annotations__["x"] = hint
    assert words in str(refusal(f))


# What it returns.


@pytest.mark.parametrize(
    "hint",
    [Any, None, object, ToolResult, TextContent, list[TextContent], ToolResult | dict[str, int], bytes, str | bytes,
     int | None, complex, dict[int, str], dict[str, int] | int],
)  # fmt: skip
def test_what_promises_nothing_has_no_output_schema(hint: Any) -> None:
    def f(): ...

    f.__annotations__["return"] = hint
    assert derive(f).output_schema is None


def test_an_object_is_promised_as_it_is_and_anything_else_under_result() -> None:
    @attrs.frozen
    class Point:
        """Somewhere."""

        x: int

    @attrs.frozen
    class Chain:
        point: Point
        rest: Chain | None = None

    def f(): ...

    def promised(hint: Any) -> Any:
        f.__annotations__["return"] = hint
        return derive(f).output_schema

    point = {
        "type": "object",
        "description": "Somewhere.",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
        "additionalProperties": False,
    }
    assert promised(Point) == point
    assert promised(dict[str, int]) == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert promised(list[Point])["properties"]["result"]["items"] == {"$ref": "#/$defs/Point"}
    assert promised(list[Point])["$defs"] == {"Point": point}
    assert set(promised(Chain)["$defs"]) == {"Point", "Chain"}
    assert promised(Chain)["properties"]["point"] == {"$ref": "#/$defs/Point"}
    either = promised(Point | Chain)
    assert either["type"] == "object"
    assert len(either["anyOf"]) == 2


@pytest.mark.parametrize(
    "hint",
    ["int", "None", "list[int]", "list['int']", "'int'", "list[Annotated[int, 'x']]", "int | None", "Literal['int']",
     "dict[str, list['Reading']]", "tuple[int, ...]", "NotRequired[int]", "typing.Optional[typing.List['int']]",
     "Annotated['Reading', Ge(1)]", "abc.Callable[['int'], str]", "typing.TypeVar('T')",
     list[int], list["Reading"], Annotated[list["int"], "x"], Annotated[int, "x"], typing.Union[int, "str"], int | None,
     Literal["int"], typing.Final[int]],
)  # fmt: skip
def test_a_hint_means_what_it_means_to_typing(hint: Any) -> None:
    holder = type("Holder", (), {"__annotations__": {"hint": hint}})
    expected = typing.get_type_hints(holder, globals(), include_extras=True)["hint"]
    scope = hints.scope_of(test_a_hint_means_what_it_means_to_typing)
    if "TypeVar" in str(hint):
        assert repr(hints.resolve(hint, scope)) == repr(expected)
    else:
        assert hints.resolve(hint, scope) == expected


@pytest.mark.parametrize(
    ("hint", "told"),
    # From Python 3.13 on `typing` takes any object for the first member of `Annotated`, so that is what is told.
    [("3", "3"), ("1 +", r"1 \+"), ("Annotated[3, 'x']", r"Annotated\[3, 'x'\]|the type 3"), ("no_such_name",) * 2],
)
def test_a_text_that_is_not_a_type_is_refused(hint: str, told: str) -> None:
    def f(x): ...

    f.__annotations__["x"] = hint
    assert re.search(told, str(refusal(f)))


class Reading(TypedDict):
    city: str
    celsius: Annotated[float, "in the shade", Ge(-300)]
    wind: NotRequired[Annotated[int | None, "in km/h"]]


@pytest.mark.parametrize(
    "hint",
    [Reading, dict[str, int], dict[str, Reading], list[Reading], str, list[str], int | None, Any,
     Annotated[int, Ge(1)]],
)  # fmt: skip
@pytest.mark.parametrize("about", [(), ("what it measures",)])
def test_a_result_promises_what_the_type_beside_it_does(hint: Any, about: tuple[str, ...]) -> None:
    def of_the_type(): ...

    def of_a_result(): ...

    of_the_type.__annotations__["return"] = hint
    of_a_result.__annotations__["return"] = Annotated[(ToolResult, *about, hint)]
    assert derive(of_a_result).output_schema == derive(of_the_type).output_schema


def test_a_class_of_data_is_a_closed_object_with_descriptions_bounds_and_what_may_be_missing() -> None:
    def f() -> Annotated[ToolResult, Reading]: ...

    assert derive(f).output_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "celsius": {"type": "number", "description": "in the shade", "minimum": -300},
            "wind": {"type": ["integer", "null"], "description": "in km/h"},
        },
        "required": ["city", "celsius"],
        "additionalProperties": False,
    }


def test_a_result_that_is_only_described_promises_nothing() -> None:
    def f() -> Annotated[ToolResult, "what it measures"]: ...

    assert derive(f).output_schema is None


def test_a_type_of_data_without_a_json_form_is_refused_where_it_is_named() -> None:
    def f() -> Annotated[ToolResult, complex]: ...

    assert "tool f: what it returns: the type complex has no JSON form" in str(refusal(f))


def test_an_input_cannot_be_a_result() -> None:
    def f(x: ToolResult): ...

    assert "ToolResult is what a tool answers" in str(refusal(f))


def test_a_name_that_stands_for_something_else_now_is_looked_up_anew() -> None:
    def make(kind: Any) -> Any:
        Thing = kind  # noqa: N806

        def f(x: list[Thing]) -> None:
            print(Thing)

        return derive(f).input_schema["properties"]["x"]["items"]

    assert make(int) == {"type": "integer"}
    assert make(str) == {"type": "string"}
    assert make(int) == {"type": "integer"}


def test_hints_that_are_remembered_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "MAX_RESOLVED", 2)
    monkeypatch.setattr(hints, "_RESOLVED", {})
    for text in ("list[int]", "list[str]", "list[bool]", "list[float]"):
        assert schema_of(text)["type"] == "array"
    assert len(hints._RESOLVED) <= 2


_Any = TypeVar("_Any")
_Number = TypeVar("_Number", bound=int)
_Either = TypeVar("_Either", int, str)


def test_a_type_variable_is_what_it_may_stand_for() -> None:
    def pick(one: _Any, two: _Number, three: _Either, four: LiteralString) -> _Any:
        return one

    derived = derive(pick)
    assert derived.input_schema["properties"] == {
        "one": {},
        "two": {"type": "integer"},
        "three": {"type": ["integer", "string"]},
        "four": {"type": "string"},
    }
    assert derived.output_schema is None


_Json = Union[None, int, str, list["_Json"]]  # noqa: UP007 - as it is written of old


def test_a_type_that_stands_for_itself_within_itself_is_refused_with_the_cure() -> None:
    def take(value: _Json) -> None:
        pass

    with pytest.raises(ToolDefinitionError, match="take `Any`, or a class"):
        derive(take)
