"""The happy path of derived schemas: arguments checked and structured in one pass.

Most calls are right, with values of the very types that the hints say. For hints that need no more than exact types,
closed values, and lists, dicts and records of those, `quick` compiles one function that sees this and structures at
once; neither validator nor binder is asked. Anything else - a surprise in the value, a hint that says more - makes it
step aside, and the validator judges. So it never refuses, and there is one rule to hold (by property test):

    what `quick` takes, the validator accepts, and the binder gives the very same.
"""

from __future__ import annotations

import copy
import functools
import typing
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import attrs

from pegboard.schema import hints
from pegboard.schema.jsontext import is_half

Take = Callable[[Any], Any]

SAFE_INTEGER = 2**53
"""Up to here every integer is a float of the same value."""


LEAST, MOST = -(2**63), 2**63
"""Beyond these an integer may have more digits than are read or written; such a one is the validator's."""


class _StepAsideError(Exception):
    """A value that the validator has to judge."""


def quick(types: Mapping[str, Any], required: frozenset[str], defaults: Mapping[str, Any]) -> Take | None:
    """Compile the happy path for parameters of these types; None where a hint says more than it can see.

    Args:
        types: resolved hints by parameter.
        required: the parameters that must be given.
        defaults: mutable defaults, of which each call gets a copy.

    The function gives the keyword arguments (the very arguments, where nothing has to be structured), or None to step
    aside. It never raises.
    """
    table: dict[str, tuple[type | None, Take | None]] = {}
    for name, hint in types.items():
        kind, take = _exact(hint), None
        if kind is None:
            take = _take(hint, ())
            if take is None:
                return None
        table[name] = (kind, take)
    integers = tuple(name for name, (kind, _) in table.items() if kind is int)
    texts = tuple(name for name, (kind, _) in table.items() if kind is str)
    count = len(table)
    structures = any(take is not None for _, take in table.values())
    copies = tuple((name, _copier(default)) for name, default in defaults.items())

    def bind(arguments: Any) -> Any:
        if not isinstance(arguments, dict):
            return None
        bound = dict(arguments) if structures or copies else arguments
        try:
            for name, value in arguments.items():
                kind, take = table[name]
                if value.__class__ is kind:
                    if kind is float and not isfinite(value):  # type: ignore[arg-type]
                        return None
                elif take is None:
                    return None
                else:
                    bound[name] = take(value)
        except Exception:  # noqa: BLE001 - an author's class may raise anything: the binder says what it means
            return None
        for name in integers:
            if name in arguments and not LEAST < arguments[name] < MOST:
                return None
        for name in texts:
            if name in arguments and not arguments[name].isascii() and is_half(arguments[name]):
                return None
        if len(arguments) != count and not required <= arguments.keys():
            return None
        for name, copied in copies:
            if name not in bound:
                bound[name] = copied()
        return bound

    return bind


_FLAT = (str, int, float, bool, type(None))


def _copier(default: Any) -> Callable[[], Any]:
    """How each call gets a default of its own; one that holds nothing to change is copied without looking deeper."""
    items = default.values() if isinstance(default, dict) else default
    if type(default) in (dict, list, set) and all(type(item) in _FLAT for item in items):
        copied: Callable[[], Any] = default.copy
        return copied
    return functools.partial(copy.deepcopy, default)


def _plain(hint: Any) -> Any:
    """The hint without descriptions; None where `Annotated` says anything else."""
    hint, metadata = hints.unwrap(hint)
    if not metadata:
        return hint
    from pegboard.schema.markers import Description

    return hint if all(isinstance(mark, (str, Description)) for mark in metadata) else None


def _exact(hint: Any) -> type | None:
    """The class that a value must be of, where that is all there is to see."""
    hint = _plain(hint)
    return hint if hint in (str, int, float, bool) else None


def _take(hint: Any, within: tuple[type, ...]) -> Take | None:
    """A function that gives the structured value or steps aside; None for a hint that says more."""
    exact = _exact(hint)
    if exact is not None:
        return _TAKES[exact]
    hint = _plain(hint)
    if hint is None:
        return None
    if (closed := hints.closed_values(hint)) is not None:
        return _take_closed(closed)
    if hints.is_union(hint):
        return _take_optional(hints.members(hint), within)
    if hints.is_record(hint):
        return _take_record(hint, within)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is list:
        return _take_list(arguments[0], within)
    if origin is dict and arguments[0] is str:
        return _take_dict(arguments[1], within)
    return None


# By the very class: to `isinstance` a bool is an int, and a subclass may write itself as something else.


def _take_bool(value: Any) -> Any:
    if value.__class__ is bool:
        return value
    raise _StepAsideError


def _take_str(value: Any) -> Any:
    if value.__class__ is str and (value.isascii() or not is_half(value)):
        return value
    raise _StepAsideError


def _take_int(value: Any) -> Any:
    if value.__class__ is int and LEAST < value < MOST:
        return value
    raise _StepAsideError


def _take_float(value: Any) -> Any:
    if value.__class__ is float and isfinite(value):
        return value
    if value.__class__ is int and -SAFE_INTEGER <= value <= SAFE_INTEGER:
        return float(value)
    raise _StepAsideError


_TAKES: Mapping[type, Take] = {str: _take_str, int: _take_int, float: _take_float, bool: _take_bool}


def _take_closed(closed: Mapping[tuple[bool, Any], Any]) -> Take | None:
    if not all(type(value) is str for _, value in closed):
        return None
    named = {value: stands_for for (_, value), stands_for in closed.items()}

    def take(value: Any) -> Any:
        if value.__class__ is not str:
            raise _StepAsideError
        return named[value]

    return take


def _take_optional(members: list[Any], within: tuple[type, ...]) -> Take | None:
    others = [member for member in members if _plain(member) is not type(None)]
    if len(others) != 1 or len(members) != 2:
        return None
    inner = _take(others[0], within)
    if inner is None:
        return None
    return lambda value: None if value is None else inner(value)


def _take_list(element: Any, within: tuple[type, ...]) -> Take | None:
    inner = _take(element, within)
    if inner is None:
        return None
    if inner is _take_str:
        return _take_texts

    def take(value: Any) -> Any:
        if value.__class__ is not list:
            raise _StepAsideError
        return [inner(item) for item in value]

    return take


_TEXT = frozenset({str})


def _take_texts(value: Any) -> Any:
    if value.__class__ is not list or not _TEXT.issuperset(map(type, value)):
        raise _StepAsideError
    for item in value:
        if not item.isascii() and is_half(item):
            raise _StepAsideError
    return value.copy()


def _take_dict(element: Any, within: tuple[type, ...]) -> Take | None:
    inner = _take(element, within)
    if inner is None:
        return None

    def take(value: Any) -> Any:
        if value.__class__ is not dict:
            raise _StepAsideError
        taken = {}
        for key, item in value.items():
            taken[_take_str(key)] = inner(item)
        return taken

    return take


def _take_record(cls: type, within: tuple[type, ...]) -> Take | None:
    if cls in within or (issubclass(cls, tuple) and not attrs.has(cls)):
        return None  # one that holds itself is the binder's, and so are NamedTuples
    make = None if typing.is_typeddict(cls) else cls
    takes: dict[str, tuple[type | None, Take]] = {}
    required = set()
    for field in hints.fields_of(cls):
        take = _take(field.hint, (*within, cls))
        if take is None:
            return None
        takes[field.key] = (_exact(field.hint), take)
        if field.required:
            required.add(field.key)
    count = len(takes)

    def take_record(value: Any) -> Any:
        if value.__class__ is not dict or (len(value) != count and not required <= value.keys()):
            raise _StepAsideError
        fields = None  # of a copy, where one is needed
        for key, item in value.items():
            kind, take = takes[key]
            if item.__class__ is not kind:
                if fields is None:
                    fields = value.copy()
                fields[key] = take(item)
            elif kind is int:
                if not LEAST < item < MOST:  # type: ignore[operator]
                    raise _StepAsideError
            elif kind is float:
                # NaN or infinite; `isfinite` would be a call for each field of each record.
                if item - item != 0.0:  # type: ignore[operator]
                    raise _StepAsideError
            elif kind is str and not item.isascii() and is_half(item):  # type: ignore[attr-defined,arg-type]
                raise _StepAsideError
        if make is not None:
            return make(**(value if fields is None else fields))
        return value.copy() if fields is None else fields

    return take_record
