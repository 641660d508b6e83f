"""JSON values into Python types, strictly.

`structure_hook(type)` gives a function from one JSON value to one value of the type. It is strict where cattrs is loose
by itself: `"false"` is not a boolean, `1.9` not an integer, `true` not a number, a string not a list. JSON's own
equalities stay: `1.0` is an integer and `1` a number. cattrs structures the classes with fields and gathers every
error; the hooks of the types within are these.

Lossless by design, held by property tests: what a derived schema accepts structures or is reported as faults, and what
was structured unstructures to what the schema accepts.
"""

from __future__ import annotations

import base64
import enum
import functools
import json
import math
import re
import typing
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import attrs

from pegboard._frozen import thaw
from pegboard._values import Shown
from pegboard.errors import Fault
from pegboard.schema import hints
from pegboard.schema.jsontext import shorten
from pegboard.schema.kinds import (
    DATE,
    DATETIME,
    DECIMAL,
    DURATION,
    KINDS,
    PATH,
    TIME,
    UUID_TEXT,
    claims,
    is_anything,
    is_leaf,
    kind_of,
    kinds_of,
)
from pegboard.schema.unstructure import unstructure as unstructure

if TYPE_CHECKING:
    import cattrs

    from pegboard.errors import Step

T = TypeVar("T")
Hook = Callable[[Any], Any]

MAX_FAULTS = 100
MAX_NAMED = 80
"""How many keys of a class are named to somebody who wrote another one: all those of an MCP server."""

shown = shorten

REFUSED = "one that it refused"
"""What stands for a value that the constructor of its class did not take."""


class MismatchError(ValueError):
    """A value is not what was expected; what a hook raises, turned into a `Fault` where its path is known."""

    def __init__(self, expected: str, value: Any, *expected_types: str, hint: str | None = None) -> None:
        super().__init__(f"expected {expected}")
        self.expected = expected
        self.got = shorten(value)
        self.expected_types = frozenset(expected_types)
        self.hint = hint


# One hook a type: JSON value in, Python value out.


def to_str(value: Any) -> str:
    """A string, as it is."""
    if isinstance(value, str):
        return value
    raise MismatchError("a string", value, "string")


def to_bool(value: Any) -> bool:
    """A boolean, taken as it is: 0, 1 and "true" are refused."""
    if value is True or value is False:
        return value
    raise MismatchError("a boolean", value, "boolean")


def to_none(value: Any) -> None:
    """Null."""
    if value is not None:
        raise MismatchError("null", value, "null")


def to_float(value: Any) -> float:
    """A finite float; an integer becomes one where a float can hold it."""
    if isinstance(value, float):
        if value - value == 0.0:  # neither NaN nor infinite
            return value
    elif isinstance(value, int) and value is not True and value is not False:
        try:
            return float(value)
        except OverflowError:
            pass
    raise MismatchError("a finite number", value, "number")


def to_int(value: Any) -> int:
    """An integer; 1.0 is one, as JSON Schema has it."""
    if isinstance(value, int):
        if value is not True and value is not False:
            return value
    elif isinstance(value, float) and value.is_integer():
        return int(value)
    raise MismatchError("an integer", value, "integer")


def _to_anything(value: Any) -> Any:
    return thaw(value)


def _read(pattern: str, expected: str, read: Callable[[str], T]) -> Callable[[Any], T]:
    """A hook for values that JSON writes as text of a pattern."""

    def structure(value: Any) -> T:
        if isinstance(value, str) and re.fullmatch(pattern, value):
            try:
                return read(value)
            except (ValueError, OverflowError):  # 30 February, the year 0
                pass
        raise MismatchError(expected, value, "string")

    return structure


def _read_duration(text: str) -> timedelta:
    sign = -1 if text.startswith("-") else 1
    amounts = {unit: amount for amount, _, unit in re.findall(r"([0-9]+(\.[0-9]+)?)([DHMS])", text)}
    whole, _, fraction = amounts.get("S", "0").partition(".")
    return sign * timedelta(
        days=int(amounts.get("D", 0)),
        hours=int(amounts.get("H", 0)),
        minutes=int(amounts.get("M", 0)),
        seconds=int(whole),
        microseconds=int(fraction.ljust(6, "0")),
    )


def _to_decimal(value: Any) -> Decimal:
    """The decimal that the text writes, or that the number's shortest form does: 0.1 is exactly 0.1."""
    if isinstance(value, str) and re.fullmatch(DECIMAL, value):
        return Decimal(value)
    if isinstance(value, int) and not isinstance(value, bool):  # as long as it likes
        return Decimal(value)
    if isinstance(value, float) and math.isfinite(value):
        return Decimal(repr(value))
    raise MismatchError("a decimal, as a string such as '12.50' or a number", value, "string", "number")


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except ValueError:
            pass
    raise MismatchError("base64 text", value, "string")


LEAVES: dict[Any, Hook] = {
    str: to_str,
    bool: to_bool,
    int: to_int,
    float: to_float,
    type(None): to_none,
    Any: _to_anything,
    object: _to_anything,
    date: _read(DATE, "a date such as 2026-11-21", date.fromisoformat),
    datetime: _read(DATETIME, "a date and time with its offset, such as 2026-11-21T09:30:00Z", datetime.fromisoformat),
    time: _read(TIME, "a time such as 09:30 or 09:30:00", time.fromisoformat),
    timedelta: _read(DURATION, "an ISO 8601 duration of days to seconds, such as PT1H30M", _read_duration),
    UUID: _read(UUID_TEXT, "a UUID", UUID),
    Decimal: _to_decimal,
    bytes: _to_bytes,
    Path: _read(PATH, "a path", Path),
    PurePath: _read(PATH, "a path", PurePath),
}
"""What has a JSON form of its own, and its hook."""


def structure_hook(hint: Any) -> Hook:
    """A function from a JSON value to a value of the type; it raises where the value does not fit (see `faults_of`).

    Args:
        hint: a resolved type hint of those that `pegboard.schema.derive` takes. What `Annotated` says of bounds is the
            schema's to hold, save for `Decimal`, whose text a schema cannot compare.

    Raises:
        HintError: the type has no JSON form.

    .. versionadded:: 0.1
    """
    hint, metadata = hints.unwrap(hint)
    if is_leaf(hint):
        return _bounded(LEAVES[hint], metadata) if hint is Decimal and metadata else LEAVES[hint]
    if (closed := hints.closed_values(hint)) is not None:
        return _closed_hook(closed)
    if hints.is_union(hint):
        return _union_hook(hints.members(hint))
    if hints.is_record(hint):
        return _record_hook(hint)
    return _container_hook(hint)


def _bounded(hook: Hook, metadata: tuple[Any, ...]) -> Hook:
    checks: list[tuple[str, Any, Callable[[Any, Any], bool]]] = [
        (f"{sign} {bound}", bound if isinstance(bound, (int, Decimal)) else Decimal(repr(bound)), holds)
        for name, sign, holds in (
            ("ge", "at least", lambda value, bound: value >= bound),
            ("gt", "more than", lambda value, bound: value > bound),
            ("le", "at most", lambda value, bound: value <= bound),
            ("lt", "less than", lambda value, bound: value < bound),
        )
        if (bound := hints.bound_of(metadata, name)) is not None
    ]

    def structure(value: Any) -> Any:
        structured = hook(value)
        for expected, bound, holds in checks:
            if not holds(structured, bound):
                raise MismatchError(expected, value)
        return structured

    return structure


def _closed_hook(values: dict[tuple[bool, Any], Any]) -> Hook:
    words = "one of " + ", ".join(json.dumps(value, ensure_ascii=False)[:40] for _, value in list(values)[:20])
    names = [value for _, value in values if isinstance(value, str)]

    def structure(value: Any) -> Any:
        if isinstance(value, typing.Hashable):
            found = values.get((isinstance(value, bool), value), hints.NOTHING)
            if found is not hints.NOTHING:
                return found
        raise MismatchError(words, value, hint=_nearest(value, names))

    return structure


def _nearest(value: Any, names: typing.Iterable[str]) -> str | None:
    from pegboard.schema.near import nearest

    near = nearest(value, names) if isinstance(value, str) else None
    return f"did you mean {near!r}?" if near else None


def _container_hook(hint: Any) -> Hook:
    origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in hints.LISTS:
        return _list_hook(arguments[0] if arguments else Any, list)
    if origin in hints.SETS:
        return _list_hook(arguments[0] if arguments else Any, set if origin in hints.MUTABLE_SETS else frozenset)
    if origin in hints.DICTS:
        return _dict_hook(arguments[1] if arguments else Any)
    if origin is tuple:
        if not arguments and hint is not tuple:
            return _tuple_hook(())
        if not arguments or arguments[1:] == (...,):
            return _list_hook(arguments[0] if arguments else Any, tuple)
        return _tuple_hook(arguments)
    raise hints.HintError(f"the type {hints.type_name(hint)} has no JSON form")


def _list_hook(element: Any, make: Callable[[Any], Any]) -> Hook:
    hook = structure_hook(element)
    plain = hook is _to_anything

    def structure(value: Any) -> Any:
        if not isinstance(value, list):
            raise MismatchError("an array", value, "array")
        return make(thaw(value) if plain else _each(hook, enumerate(value), list[Any]))

    return structure


def _dict_hook(element: Any) -> Hook:
    hook = structure_hook(element)
    plain = hook is _to_anything

    def structure(value: Any) -> Any:
        if not isinstance(value, dict):
            raise MismatchError("an object", value, "object")
        return thaw(value) if plain else dict(zip(value, _each(hook, value.items(), dict[str, Any]), strict=True))

    return structure


def _tuple_hook(elements: tuple[Any, ...]) -> Hook:
    hooks = [structure_hook(element) for element in elements]

    def structure(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(hooks):
            raise MismatchError(f"an array of {len(hooks)}", value, "array")
        pairs = enumerate(zip(hooks, value, strict=True))
        return tuple(_each(lambda pair: pair[0](pair[1]), pairs, tuple[Any, ...]))

    return structure


def _each(hook: Hook, items: typing.Iterable[tuple[Step, Any]], kind: Any) -> list[Any]:
    """Structure every element, once, and raise together what is wrong with any of them, under its index or key."""
    structured: list[Any] = []
    errors: list[Exception] = []
    for step, item in items:
        try:
            structured.append(hook(item))
        except Exception as error:  # noqa: BLE001 - a class of the tool's author may raise anything
            from cattrs.errors import IterableValidationNote

            error.add_note(IterableValidationNote(f"at {step!r:.60}", step, kind))
            errors.append(error)
            if len(errors) >= MAX_FAULTS:
                break
    if errors:
        from cattrs.errors import IterableValidationError

        raise IterableValidationError("While structuring", errors, kind)
    return structured


def _union_hook(union: list[Any]) -> Hook:
    """Tell the members apart by the kind of the JSON value; records by their keys and literal fields."""
    if any(is_anything(hints.unwrap(member)[0]) for member in union):
        return _to_anything
    plan = {
        kind: [(_fit(member, kind), structure_hook(member)) for member in claimants]
        for kind, claimants in claims(union).items()
    }
    expected = " or ".join(dict.fromkeys(map(words, union)))

    def structure(value: Any) -> Any:
        choices = plan.get(kind_of(value), ())
        for fits, hook in choices:
            if fits is None or len(choices) == 1 or fits(value):
                return hook(value)
        if choices and isinstance(value, dict):
            expected_here = "the fields of one of " + ", ".join(hints.type_name(m) for m in union if hints.is_record(m))
            raise MismatchError(expected_here, value)
        raise MismatchError(expected, value, *plan)

    return structure


def _fit(member: Any, kind: str) -> Callable[[Any], bool] | None:
    """How to see that a value of the kind is meant for this member; None: it is, if nothing before it took it."""
    hint = hints.unwrap(member)[0]
    closed = hints.closed_values(hint)
    if closed is not None:
        return lambda value: (isinstance(value, bool), value) in closed
    if hint is int and kind == "number":
        return lambda value: value.is_integer()
    if not hints.is_record(hint):
        return None
    fields = hints.fields_of(hint)
    keys, required = {field.key for field in fields}, {field.key for field in fields if field.required}
    tags = {
        field.key: values
        for field in fields
        if field.required and (values := hints.closed_values(hints.unwrap(field.hint)[0])) is not None
    }

    def fits(value: Any) -> bool:
        return required <= value.keys() <= keys and all(
            isinstance(value[key], typing.Hashable) and (isinstance(value[key], bool), value[key]) in values
            for key, values in tags.items()
        )

    return fits


def _record_hook(cls: type) -> Hook:
    """Compiled by cattrs at the first value, so that a record may hold itself."""
    compiled: Callable[[Any, Any], Any] | None = None

    def structure(value: Any) -> Any:
        nonlocal compiled
        if not isinstance(value, dict):
            raise MismatchError("an object", value, "object")
        if compiled is None:
            compiled = strict_converter().get_structure_hook(cls)
        return compiled(value, cls)

    return structure


@functools.cache
def strict_converter() -> cattrs.Converter:
    """The one cattrs converter: strict on every type, closed on keys, and gathering all errors.

    It is shared; `copy()` it before adding hooks.

    .. versionadded:: 0.1
    """
    import cattrs

    converter = cattrs.Converter(detailed_validation=True, forbid_extra_keys=True)

    def adapt(hint: Any) -> Callable[[Any, Any], Any]:
        hook = structure_hook(hint.hint if isinstance(hint, _FieldType) else hint)
        return lambda value, _: hook(value)

    # cattrs finds the hook of a class by `singledispatch`: one for `object` would be one for every class.
    for leaf in LEAVES:
        if isinstance(leaf, type) and leaf is not object:
            converter.register_structure_hook(leaf, adapt(leaf))
    converter.register_structure_hook(enum.Enum, lambda value, cls: structure_hook(cls)(value))
    # cattrs asks the factory that was registered last first: records, then all the rest.
    converter.register_structure_hook_factory(lambda hint: True, adapt)
    converter.register_structure_hook_factory(hints.is_record, lambda cls: _compile_record(cls, converter))
    return converter


@attrs.frozen(eq=False, repr=False)
class _FieldType(Shown):
    """A field's hint on its way through cattrs, which wants a hash and would resolve or unwrap it again."""

    hint: Any


def _compile_record(cls: type, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
    from cattrs.gen import make_dict_structure_fn_from_attrs

    return make_dict_structure_fn_from_attrs([_attribute(field) for field in hints.fields_of(cls)], cls, converter)


def _attribute(field: hints.Field) -> Any:
    """A field as cattrs wants it: attrs' own description, whatever kind of record it is of."""
    make: Any = attrs.Attribute  # cattrs' building block, which attrs' own types do not offer
    return make(
        name=field.key,
        default=attrs.NOTHING if field.required else None,
        validator=None,
        repr=True,
        cmp=None,
        hash=None,
        init=True,
        inherited=False,
        kw_only=True,
        type=_FieldType(field.hint),
        alias=field.key,
    )


def faults_of(error: BaseException, path: tuple[Step, ...] = ()) -> list[Fault]:
    """Every fault that a hook's exception stands for, each with its path; at most `MAX_FAULTS`.

    .. versionadded:: 0.1
    """
    faults: list[Fault] = []
    waiting: list[tuple[Any, tuple[Step, ...], Any]] = [(error, path, None)]
    while waiting and len(faults) < MAX_FAULTS:
        problem, where, expected_types = waiting.pop()
        if isinstance(problem, MismatchError):
            faults.append(Fault(where, problem.expected, problem.got, problem.hint, problem.expected_types))
        elif hasattr(problem, "group_exceptions"):  # of cattrs: the errors of a class or a container
            noted, bare = problem.group_exceptions()
            inner = [(item, (*where, getattr(note, "name", None) or note.index), note.type) for item, note in noted]
            waiting.extend(reversed(inner + [(item, where, problem.cl) for item in bare]))
        elif hasattr(problem, "extra_fields"):  # of cattrs: keys that the class does not have
            known = [field.key for field in hints.fields_of(problem.cl)]
            for key in sorted(problem.extra_fields, key=str):
                near = _nearest(key, known) or ("known: " + ", ".join(known[:MAX_NAMED]) if known else None)
                faults.append(Fault((*where, str(key)), "no such key", "an unknown key", near))
        # What cattrs compiles reads a required field by its key: one that is missing is the bare KeyError of that.
        elif type(problem) is KeyError and where and problem.args == where[-1:]:
            faults.append(Fault(where, f"{words(expected_types)} (required)", "nothing"))
        elif refused := _refused_by_a_model(problem):
            for steps, message in refused:
                faults.append(Fault((*where, *steps), "a value that the tool takes", REFUSED, message[:200]))
        else:
            faults.append(_fault_of_a_constructor(problem, where, expected_types))
    return faults


def _refused_by_a_model(problem: BaseException) -> list[tuple[tuple[Any, ...], str]]:
    from pegboard.schema import models

    return models.faults_in(problem)


def _fault_of_a_constructor(problem: BaseException, where: tuple[Step, ...], expected: Any) -> Fault:
    """What a class of the author's raised: ValueError and TypeError speak to the caller, anything else stays inside."""
    if isinstance(problem, RecursionError):
        return Fault(where, "a value that is less deeply nested", "one that is too deep")
    message = str(problem).split("\n")[0][:200] if isinstance(problem, (ValueError, TypeError)) else ""
    return Fault(where, f"{words(expected)} that the tool takes", REFUSED, message or None)


def words(hint: Any) -> str:
    """The type in words, for a message."""
    if hint is None:
        return "a value"
    hint = hints.unwrap(hint.hint if isinstance(hint, _FieldType) else hint)[0]
    if hints.is_record(hint):
        return f"an object ({hint.__name__})"
    kinds = kinds_of(hint)
    if kinds == {"integer", "number"}:
        return "integer" if hint is int else "number"
    return " or ".join(kind for kind in KINDS if kind in kinds)


def structure_all(value: Any, cls: type[T], path: tuple[Step, ...] = ()) -> tuple[T | None, list[Fault]]:
    """A value of the class, or None and everything that is wrong, at once: unknown keys (with the nearest known one),
    loose booleans and numbers, what is missing.

    Args:
        value: of a configuration file: mappings, lists, strings, numbers.
        cls: an attrs class or another type that `structure_hook` takes.
        path: where the value stands; put before the path of each fault.

    .. versionadded:: 0.1
    """
    try:
        return structure_hook(cls)(value), []
    except hints.HintError:
        raise
    except Exception as error:  # noqa: BLE001 - a class may raise anything from its constructor; each is a fault
        return None, faults_of(error, path)
