"""Python values into JSON values: what a handler returned, a default, an example.

It goes by the value alone, so that a handler may return anything that has a JSON form, whatever its hint says.
"""

from __future__ import annotations

import enum
import functools
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

import attrs

from pegboard.schema import hints
from pegboard.schema.jsontext import MAX_DEPTH
from pegboard.schema.kinds import DECIMAL, kind_of

if TYPE_CHECKING:
    from decimal import Decimal

MAX_INT_BITS = 14_280
"""4,300 decimal digits less a few: what Python writes and reads as text."""


class TooDeepError(ValueError):
    """A value is nested deeper than JSON may be here, or holds itself."""


class KeyTypeError(TypeError):
    """A key is not a string; the message names its type and nothing of its value."""


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
    kind: Any = type(value)
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
        raise TooDeepError(f"nested deeper than {MAX_DEPTH}, or in a circle")
    if kind is list or kind is tuple:
        return [_unstructure(item, depth - 1) for item in value]
    if kind is dict:
        return {_key(key): _unstructure(item, depth - 1) for key, item in value.items()}
    return _writer_of(kind)(value, depth - 1)


Writer = Callable[[Any, int], Any]


@functools.lru_cache(maxsize=1_000)
def _writer_of(kind: Any) -> Writer:
    """How values of a type are written, given how deep they may still be."""
    # What is more than its base comes before it: a member of a (str, Enum) is a str, whose `str()` is its name; a named
    # tuple is a tuple, a datetime a date.
    if issubclass(kind, enum.Enum):
        return lambda value, depth: _unstructure(value.value, depth)
    if attrs.has(kind):
        return _fields_writer({field.alias or field.name: field.name for field in attrs.fields(kind) if field.init})
    if hints.is_dataclass(kind):
        import dataclasses

        return _fields_writer({field.name: field.name for field in dataclasses.fields(kind) if field.init})
    if hints.is_model(kind):
        from pegboard.schema import models

        return lambda value, depth: _unstructure(models.written(value), depth)
    for of, write in _writers():
        if issubclass(kind, of):
            return lambda value, _: write(value)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _fields_writer({name: name for name in kind._fields})
    if issubclass(kind, (set, frozenset)):
        return _write_set
    if issubclass(kind, (list, tuple)):
        return lambda value, depth: [_unstructure(item, depth) for item in value]
    if issubclass(kind, Mapping):
        return lambda value, depth: {_key(key): _unstructure(item, depth) for key, item in value.items()}
    for plain in (str, int, float):
        if issubclass(kind, plain):
            return lambda value, depth: _unstructure(plain(value), depth)
    raise TypeError(f"a value of type {hints.type_name(kind)} has no JSON form")


def _fields_writer(names: Mapping[str, str]) -> Writer:
    pairs = tuple(names.items())

    def write(value: Any, depth: int) -> dict[str, Any]:
        try:
            return {key: _unstructure(getattr(value, name), depth) for key, name in pairs}
        except AttributeError as error:  # a field that somebody deleted
            raise TypeError(f"a value of type {hints.type_name(type(value))} lacks a field: {error.name}") from None

    return write


def _write_set(value: Any, depth: int) -> list[Any]:
    """In an order that does not change from run to run."""
    items = [_unstructure(item, depth) for item in value]
    return sorted(items, key=lambda item: (kind_of(item), json.dumps(item, sort_keys=True)))


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    if isinstance(key, enum.Enum) and isinstance(key.value, str):
        return str(key.value)
    if isinstance(key, str):
        return str(key)
    raise KeyTypeError(f"a key of type {hints.type_name(type(key))}; keys are strings")


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
    # Days and seconds alone: months and years have no one length, and ISO 8601 lets an amount be more than the next
    # larger unit, as in PT36H.
    sign, value = ("-", -value) if value < timedelta() else ("", value)
    seconds = f"{value.seconds}.{value.microseconds:06}" if value.microseconds else str(value.seconds)
    return f"{sign}P{value.days}DT{seconds}S"


def _write_decimal(value: Decimal) -> str:
    text = str(value)
    if not re.fullmatch(DECIMAL, text):
        raise ValueError("a decimal that is not finite, or beyond 1E+9999, has no JSON form")
    return text


def _write_bytes(value: bytes | bytearray) -> str:
    import base64

    return base64.b64encode(value).decode("ascii")


@functools.cache
def _writers() -> tuple[tuple[type, Callable[[Any], Any]], ...]:
    """The types that JSON writes as text; what they import is for values that are not plain ones (see `ByType`)."""
    from decimal import Decimal
    from pathlib import PurePath

    return (
        (datetime, _write_datetime),
        (date, date.isoformat),
        (time, _write_time),
        (timedelta, _write_duration),
        (UUID, str),
        (Decimal, _write_decimal),
        (bytes, _write_bytes),
        (bytearray, _write_bytes),
        (PurePath, str),
    )
