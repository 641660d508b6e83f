"""JSON values into Python types and back, strictly.

`structure_hook(type)` gives a function from one JSON value to one value of the type. It is strict where cattrs by itself
is loose: `"false"` is no boolean, `1.9` no integer, `true` no number, a string no list. JSON's own equalities stay:
`1.0` is an integer and `1` a number. cattrs structures the classes with fields and gathers every error; the hooks of
the types within are these.

`unstructure` is the way back. It goes by the value alone, so a handler may return anything that has a JSON form.

Lossless by design, held by property tests: what a derived schema accepts structures or is reported as faults, and what
was structured unstructures to what the schema accepts.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import difflib
import enum
import functools
import json
import math
import re
import typing
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import attrs

from pegboard.errors import Fault
from pegboard.schema import hints

if TYPE_CHECKING:
    import cattrs

    from pegboard.errors import Step

T = TypeVar("T")
Hook = Callable[[Any], Any]

MAX_FAULTS = 100
MAX_DEPTH = 100
MAX_INT_BITS = 14_280
"""4,300 decimal digits less a few: what Python writes and reads as text."""

DATE = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_SECONDS = r":[0-5][0-9](\.[0-9]{1,9})?"
_OFFSET = r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
LOCAL_DATETIME = rf"{DATE[:-1]}T{_CLOCK}{_SECONDS}{_OFFSET}?$"
DATETIME = rf"{DATE[:-1]}T{_CLOCK}{_SECONDS}{_OFFSET}$"
TIME = rf"^{_CLOCK}({_SECONDS})?{_OFFSET}?$"
DURATION = r"^-?P(?=[0-9T])([0-9]{1,9}D)?(T(?=[0-9])([0-9]{1,9}H)?([0-9]{1,9}M)?([0-9]{1,9}(\.[0-9]{1,6})?S)?)?$"
UUID_TEXT = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
DECIMAL = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?$"
BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
PATH = r"^[^\u0000]*$"


class Mismatch(ValueError):
    """A value is not what was due; what a hook raises, turned into a `Fault` where its path is known."""

    def __init__(self, expected: str, value: Any, *due: str, hint: str | None = None) -> None:
        super().__init__(f"expected {expected}")
        self.expected = expected
        self.got = shown(value)
        self.due = frozenset(due)
        self.hint = hint


def shown(value: Any) -> str:
    """A JSON value in at most about 60 characters: what came, for a message."""
    if isinstance(value, str):
        text = json.dumps(value[:61], ensure_ascii=False)
        return text if len(value) <= 60 else f"{text[:58]}..."
    if isinstance(value, (list, tuple)):
        return f"an array of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > 200:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)[:60] if isinstance(value, (int, float)) else type(value).__name__


# One hook a type: JSON value in, Python value out.


def to_str(value: Any) -> str:
    """A string, as it is."""
    if isinstance(value, str):
        return value
    raise Mismatch("a string", value, "string")


def to_bool(value: Any) -> bool:
    """A boolean, as it is: 0, 1 and "true" are none."""
    if value is True or value is False:
        return value  # type: ignore[no-any-return]
    raise Mismatch("a boolean", value, "boolean")


def to_none(value: Any) -> None:
    """Null."""
    if value is not None:
        raise Mismatch("null", value, "null")


def to_float(value: Any) -> float:
    """A finite float; an integer becomes one where a float can hold it."""
    if type(value) is float:
        if value - value == 0.0:  # neither NaN nor infinite
            return value
    elif isinstance(value, int) and value is not True and value is not False:
        try:
            return float(value)
        except OverflowError:
            pass
    elif isinstance(value, float) and math.isfinite(value):
        return float(value)
    raise Mismatch("a finite number", value, "number")


def to_int(value: Any) -> int:
    """An integer; 1.0 is one, as JSON Schema has it."""
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and value is not True and value is not False:
        return int(value)
    raise Mismatch("an integer", value, "integer")


def _to_anything(value: Any) -> Any:
    return value


def _read(pattern: str, expected: str, read: Callable[[str], T]) -> Callable[[Any], T]:
    """A hook for values that JSON writes as text of a pattern."""

    def structure(value: Any) -> T:
        if isinstance(value, str) and re.fullmatch(pattern, value):
            try:
                return read(value)
            except (ValueError, OverflowError):  # 30 February, the year 0
                pass
        raise Mismatch(expected, value, "string")

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
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    raise Mismatch("a decimal, as a string such as '12.50' or a number", value, "string", "number")


def _read_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


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
    bytes: _read(BASE64, "base64 text", _read_base64),
    Path: _read(PATH, "a path", Path),
    PurePath: _read(PATH, "a path", PurePath),
}
"""What has a JSON form of its own, and its hook."""

AS_THEY_ARE = frozenset({str, bool, type(None), Any, object})
"""Types whose JSON value, once validated, is the Python value."""


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
    hook = LEAVES.get(hint) if isinstance(hint, typing.Hashable) else None
    if hook is not None:
        return _bounded(hook, metadata) if hint is Decimal and metadata else hook
    if (closed := hints.closed_values(hint)) is not None:
        return _closed_hook(closed)
    if hints.is_union(hint):
        return _union_hook(hints.members(hint))
    if hints.is_record(hint):
        return _record_hook(hint)
    return _container_hook(hint)


def bound_of(metadata: tuple[Any, ...], name: str) -> Any:
    """The bound of this name (`ge`, `max_length`, ...) in the metadata of `Annotated`, None where there is none."""
    return next((bound for mark in metadata if (bound := getattr(mark, name, None)) is not None), None)


def _bounded(hook: Hook, metadata: tuple[Any, ...]) -> Hook:
    checks: list[tuple[str, Any, Callable[[Any, Any], bool]]] = [
        (f"{sign} {bound}", bound if isinstance(bound, (int, Decimal)) else Decimal(repr(bound)), holds)
        for name, sign, holds in (
            ("ge", "at least", lambda value, bound: value >= bound),
            ("gt", "more than", lambda value, bound: value > bound),
            ("le", "at most", lambda value, bound: value <= bound),
            ("lt", "less than", lambda value, bound: value < bound),
        )
        if (bound := bound_of(metadata, name)) is not None
    ]

    def structure(value: Any) -> Any:
        structured = hook(value)
        for expected, bound, holds in checks:
            if not holds(structured, bound):
                raise Mismatch(expected, value)
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
        raise Mismatch(words, value, hint=_nearest(value, names))

    return structure


def _nearest(value: Any, names: typing.Iterable[str]) -> str | None:
    near = difflib.get_close_matches(value[:60], list(names)[:1000], n=1) if isinstance(value, str) else None
    return f"did you mean {near[0]!r}?" if near else None


def _container_hook(hint: Any) -> Hook:
    origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin in hints.LISTS:
        return _list_hook(arguments[0] if arguments else Any, list)
    if origin in hints.SETS:
        return _list_hook(arguments[0] if arguments else Any, set if origin in (set, *_MUTABLE_SETS) else frozenset)
    if origin in hints.DICTS:
        return _dict_hook(arguments[1] if arguments else Any)
    if origin is tuple:
        if not arguments and hint is not tuple:
            return _tuple_hook(())
        if not arguments or arguments[1:] == (...,):
            return _list_hook(arguments[0] if arguments else Any, tuple)
        return _tuple_hook(arguments)
    raise hints.HintError(f"the type {type_name(hint)} has no JSON form")


_MUTABLE_SETS = (typing.get_origin(typing.MutableSet),)


def type_name(hint: Any) -> str:
    """The type as its author wrote it, shortened."""
    return hint.__qualname__[:80] if isinstance(hint, type) else str(hint).replace("typing.", "")[:80]


def _list_hook(element: Any, make: Callable[[Any], Any]) -> Hook:
    hook = structure_hook(element)
    plain = hook is _to_anything

    def structure(value: Any) -> Any:
        if not isinstance(value, list):
            raise Mismatch("an array", value, "array")
        try:
            return make(value) if plain else make([hook(item) for item in value])
        except Exception:  # noqa: BLE001 - structured again below, gathering what each element raises
            return make(_each(hook, enumerate(value), list[Any]))

    return structure


def _dict_hook(element: Any) -> Hook:
    hook = structure_hook(element)
    plain = hook is _to_anything

    def structure(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Mismatch("an object", value, "object")
        try:
            return dict(value) if plain else {key: hook(item) for key, item in value.items()}
        except Exception:  # noqa: BLE001 - structured again below, gathering what each member raises
            return dict(zip(value, _each(hook, value.items(), dict[str, Any]), strict=True))

    return structure


def _tuple_hook(elements: tuple[Any, ...]) -> Hook:
    hooks = [structure_hook(element) for element in elements]

    def structure(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(hooks):
            raise Mismatch(f"an array of {len(hooks)}", value, "array")
        pairs = ((index, (hook, item)) for index, (hook, item) in enumerate(zip(hooks, value, strict=True)))
        return tuple(_each(lambda pair: pair[0](pair[1]), pairs, tuple[Any, ...]))

    return structure


def _each(hook: Hook, items: typing.Iterable[tuple[Step, Any]], kind: Any) -> list[Any]:
    """Structure every element, and raise at once what is wrong with any of them, under its index or key."""
    from cattrs.errors import IterableValidationError, IterableValidationNote

    structured, errors = [], []
    for step, item in items:
        try:
            structured.append(hook(item))
        except Exception as error:  # noqa: BLE001 - a class of the tool's author may raise anything
            error.add_note(IterableValidationNote(f"at {step!r:.60}", step, kind))
            errors.append(error)
            if len(errors) >= MAX_FAULTS:
                break
    if errors:
        raise IterableValidationError("While structuring", errors, kind)
    return structured


def _union_hook(union: list[Any]) -> Hook:
    """Tell the members apart by the kind of the JSON value; records by their keys and literal fields."""
    plan = {
        kind: [(_fit(member, kind), structure_hook(member)) for member in claimants]
        for kind, claimants in claims(union).items()
    }
    expected = " or ".join(kind for kind in plan)

    def structure(value: Any) -> Any:
        choices = plan.get(kind_of(value), ())
        for fits, hook in choices:
            if fits is None or len(choices) == 1 or fits(value):
                return hook(value)
        if choices and isinstance(value, dict):
            expected_here = "the fields of one of " + ", ".join(type_name(m) for m in union if hints.is_record(m))
            raise Mismatch(expected_here, value)
        raise Mismatch(expected, value, *plan)

    return structure


def kind_of(value: Any) -> str:
    """The JSON type of a value; a float is "number", whole or not."""
    for kind, of in _KINDS:
        if isinstance(value, of):
            return kind
    return "nothing that JSON knows"


_KINDS: tuple[tuple[str, Any], ...] = (
    ("string", str),
    ("boolean", bool),
    ("integer", int),
    ("number", float),
    ("null", type(None)),
    ("array", list),
    ("object", dict),
)

_LEAF_KINDS: dict[Any, frozenset[str]] = {
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"integer", "number"}),
    type(None): frozenset({"null"}),
    Decimal: frozenset({"string", "integer", "number"}),
    Any: frozenset(kind for kind, _ in _KINDS),
    object: frozenset(kind for kind, _ in _KINDS),
}


def kinds_of(hint: Any) -> frozenset[str]:
    """The JSON types that values of the type are written as."""
    hint = hints.unwrap(hint)[0]
    if (closed := hints.closed_values(hint)) is not None:
        kinds = {kind_of(value) for _, value in closed}
        return frozenset(kinds | {"integer", "number"} if kinds & {"integer", "number"} else kinds)
    if hints.is_union(hint):
        return frozenset().union(*map(kinds_of, hints.members(hint)))
    if isinstance(hint, typing.Hashable) and hint in LEAVES:
        return _LEAF_KINDS.get(hint, frozenset({"string"}))
    origin = typing.get_origin(hint) or hint
    return frozenset({"object" if hints.is_record(hint) or origin in hints.DICTS else "array"})


def claims(union: list[Any]) -> dict[str, list[Any]]:
    """Which members a JSON value of each kind may be meant for, in the order in which they are asked.

    Raises:
        HintError: two members cannot be told apart.
    """
    table: dict[str, list[Any]] = {}
    for member in sorted(union, key=_rank):
        for kind in kinds_of(member):
            others = table.setdefault(kind, [])
            for other in others:
                if not _apart(other, member, kind):
                    raise hints.HintError(
                        f"{type_name(other)} and {type_name(member)} cannot be told apart in JSON: both are written as "
                        f"{kind}; keep one of them, or take classes that differ in a required field or in a "
                        f'`kind: Literal["..."]`'
                    )
            others.append(member)
    return table


def _rank(member: Any) -> int:
    hint = hints.unwrap(member)[0]
    if hints.closed_values(hint) is not None:
        return 0
    return 1 if hint is int else 2


def _apart(one: Any, two: Any, kind: str) -> bool:
    one, two = hints.unwrap(one)[0], hints.unwrap(two)[0]
    closed_one, closed_two = hints.closed_values(one), hints.closed_values(two)
    if closed_one is not None:
        return closed_two is None or not closed_one.keys() & closed_two.keys()
    if kind in ("integer", "number"):
        return one is int and two in (float, Decimal)
    return kind == "object" and hints.is_record(one) and hints.is_record(two) and _disjoint(one, two)


def _disjoint(one: type, two: type) -> bool:
    """Whether no object fits both records: one demands a field that the other lacks, or a shared literal differs."""
    mine, theirs = ({field.key: field for field in hints.fields_of(cls)} for cls in (one, two))
    for name in mine.keys() | theirs.keys():
        here, there = mine.get(name), theirs.get(name)
        if (here is None and there and there.required) or (there is None and here and here.required):
            return True
        if here and there and here.required and there.required:
            tags = [hints.closed_values(hints.unwrap(field.hint)[0]) for field in (here, there)]
            if tags[0] is not None and tags[1] is not None and not tags[0].keys() & tags[1].keys():
                return True
    return False


def _fit(member: Any, kind: str) -> Callable[[Any], bool] | None:
    """How to see that a value of the kind is meant for this member; None: it is, if nothing before it took it."""
    hint = hints.unwrap(member)[0]
    closed = hints.closed_values(hint)
    if closed is not None:
        return lambda value: (isinstance(value, bool), value) in closed
    if hint is int and kind == "number":
        return lambda value: value.is_integer()  # type: ignore[no-any-return]
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
            raise Mismatch("an object", value, "object")
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

    converter = cattrs.Converter(detailed_validation=True, forbid_extra_keys=True, use_alias=True)

    def adapt(hint: Any) -> Callable[[Any, Any], Any]:
        hook = structure_hook(hint)
        return lambda value, _: hook(value)

    for leaf, hook in LEAVES.items():
        if isinstance(leaf, type) and leaf is not object:
            converter.register_structure_hook(leaf, lambda value, _, hook=hook: hook(value))
    converter.register_structure_hook(enum.Enum, lambda value, cls: structure_hook(cls)(value))
    converter.register_structure_hook_factory(lambda hint: True, adapt)
    converter.register_structure_hook_factory(hints.is_record, lambda cls: _compile_record(cls, converter))
    return converter


def _compile_record(cls: type, converter: cattrs.Converter) -> Callable[[Any, Any], Any]:
    from cattrs.gen import make_dict_structure_fn_from_attrs, override

    fields = hints.fields_of(cls)
    overrides = {}
    attributes = []
    for field in fields:
        hook = structure_hook(field.hint)
        attributes.append(_attribute(field))
        overrides[field.key] = override(struct_hook=lambda value, _, hook=hook: hook(value))
    return make_dict_structure_fn_from_attrs(attributes, cls, converter, **overrides)


def _attribute(field: hints.Field) -> Any:
    """A field as cattrs wants it: attrs' own description, whatever kind of record it is of."""
    return attrs.Attribute(
        name=field.key,
        default=attrs.NOTHING if field.required else None,
        validator=None,
        repr=True,
        cmp=None,
        hash=None,
        init=True,
        inherited=False,
        kw_only=True,
        type=field.hint,
        alias=field.key,
    )  # type: ignore[call-arg]


def faults_of(error: BaseException, path: tuple[Step, ...] = ()) -> list[Fault]:
    """Every fault that a hook's exception stands for, each with its path; at most `MAX_FAULTS`.

    .. versionadded:: 0.1
    """
    faults: list[Fault] = []
    waiting: list[tuple[BaseException, tuple[Step, ...], Any]] = [(error, path, None)]
    while waiting and len(faults) < MAX_FAULTS:
        problem, where, due = waiting.pop()
        if isinstance(problem, Mismatch):
            faults.append(Fault(where, problem.expected, problem.got, problem.hint, problem.due))
        elif isinstance(problem, BaseExceptionGroup) and hasattr(problem, "group_exceptions"):
            noted, bare = problem.group_exceptions()
            inner = [(item, (*where, getattr(note, "name", None) or note.index), note.type) for item, note in noted]
            waiting.extend(reversed(inner + [(item, where, problem.cl) for item in bare]))
        elif hasattr(problem, "extra_fields"):
            known = [field.key for field in hints.fields_of(problem.cl)]
            for key in sorted(problem.extra_fields, key=str):
                near = _nearest(key, known) or ("known: " + ", ".join(known[:20]) if known else None)
                faults.append(Fault((*where, str(key)), "no such key", "an unknown key", near))
        elif type(problem) is KeyError and where and problem.args == where[-1:]:
            faults.append(Fault(where, f"{words(due)} (required)", "nothing"))
        else:
            faults.append(_fault_of_a_constructor(problem, where, due))
    return faults


def _fault_of_a_constructor(problem: BaseException, where: tuple[Step, ...], due: Any) -> Fault:
    """What a class of the author's raised: a ValueError or TypeError speaks to the caller, anything else stays inside."""
    if isinstance(problem, RecursionError):
        return Fault(where, "a value that is less deeply nested", "one that is too deep")
    said = str(problem).split("\n")[0][:200] if isinstance(problem, (ValueError, TypeError)) else ""
    return Fault(where, said or f"a value that {words(due)} takes", "one that it refused")


def words(hint: Any) -> str:
    """The type in words, for a message."""
    if hint is None:
        return "a value"
    hint = hints.unwrap(hint)[0]
    if hints.is_record(hint):
        return f"an object ({hint.__name__})"
    try:
        kinds = kinds_of(hint)
    except hints.HintError:
        return type_name(hint)
    if kinds == {"integer", "number"}:
        return "integer" if hint is int else "number"
    return " or ".join(kind for kind, _ in _KINDS if kind in kinds)


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


# And back.


def unstructure(value: Any) -> Any:
    """The JSON form of what a handler returned.

    attrs classes, dataclasses, named tuples and mappings become objects; lists, tuples and sets arrays; an enum its
    value; dates, times, UUIDs, decimals and paths text; bytes base64.

    Raises:
        TypeError: something in it has no JSON form; the message names its type.
        ValueError: it holds NaN or an infinity, is nested too deeply or in a circle, or is a number too large to write.

    .. versionadded:: 0.1
    """
    return _unstructure(value, MAX_DEPTH)


def _unstructure(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        if value.bit_length() > MAX_INT_BITS:
            raise ValueError("an integer of more than 4,300 digits has no JSON form")
        return value
    if kind is float:
        if value - value != 0.0:
            raise ValueError(f"{value} has no JSON form")
        return value
    if depth <= 0:
        raise ValueError(f"nested deeper than {MAX_DEPTH}, or in a circle")
    if kind is list or kind is tuple:
        return [_unstructure(item, depth - 1) for item in value]
    if kind is dict:
        return {_key(key): _unstructure(item, depth - 1) for key, item in value.items()}
    return _unstructure_object(value, kind, depth)


def _unstructure_object(value: Any, kind: type, depth: int) -> Any:
    if isinstance(value, enum.Enum):
        return _unstructure(value.value, depth - 1)
    if attrs.has(kind):
        return {
            field.alias or field.name: _unstructure(getattr(value, field.name), depth - 1)
            for field in attrs.fields(kind)
            if field.init
        }
    if dataclasses.is_dataclass(value):
        return {f.name: _unstructure(getattr(value, f.name), depth - 1) for f in dataclasses.fields(value) if f.init}
    for of, write in _WRITERS:
        if isinstance(value, of):
            return write(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: _unstructure(item, depth - 1) for key, item in value._asdict().items()}
    if isinstance(value, (set, frozenset)):
        items = [_unstructure(item, depth - 1) for item in value]
        return sorted(items, key=lambda item: (kind_of(item), json.dumps(item, sort_keys=True)))
    if isinstance(value, (list, tuple)):
        return [_unstructure(item, depth - 1) for item in value]
    if isinstance(value, Mapping):
        return {_key(key): _unstructure(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (str, int, float)):
        return _unstructure(next(of(value) for of in (str, int, float) if isinstance(value, of)), depth - 1)
    raise TypeError(f"a value of type {type_name(kind)} has no JSON form")


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    if isinstance(key, enum.Enum) and isinstance(key.value, str):
        return str(key.value)
    if isinstance(key, str):
        return str(key)
    raise TypeError(f"a key of type {type_name(type(key))} has no JSON form; keys are strings")


def _write_datetime(value: datetime) -> str:
    offset = value.utcoffset()
    if offset is not None and offset % timedelta(minutes=1):
        value = value.astimezone(UTC)  # offsets of whole minutes are all that RFC 3339 can write
    return value.isoformat()


def _write_time(value: time) -> str:
    offset = value.utcoffset()
    if offset is not None and offset % timedelta(minutes=1):
        raise ValueError("a time whose offset has seconds has no JSON form")
    return value.isoformat()


def _write_duration(value: timedelta) -> str:
    sign, value = ("-", -value) if value < timedelta() else ("", value)
    seconds = f"{value.seconds}.{value.microseconds:06}" if value.microseconds else str(value.seconds)
    return f"{sign}P{value.days}DT{seconds}S"


def _write_decimal(value: Decimal) -> str:
    text = str(value)
    if not re.fullmatch(DECIMAL, text):
        raise ValueError("a decimal that is not finite, or beyond 1E+9999, has no JSON form")
    return text


_WRITERS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (datetime, _write_datetime),
    (date, date.isoformat),
    (time, _write_time),
    (timedelta, _write_duration),
    (UUID, str),
    (Decimal, _write_decimal),
    (bytes, lambda value: base64.b64encode(value).decode("ascii")),
    (bytearray, lambda value: base64.b64encode(value).decode("ascii")),
    (PurePath, str),
)
