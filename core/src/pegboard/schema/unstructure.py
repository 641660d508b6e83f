"""Python values into JSON values: what a handler returned, a default, an example.

It goes by the value alone, so that a handler may return anything that has a JSON form, whatever its hint says.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

import attrs

from pegboard.schema import hints
from pegboard.schema.jsontext import MAX_DEPTH
from pegboard.schema.kinds import DECIMAL, kind_of

MAX_INT_BITS = 14_280
"""4,300 decimal digits less a few: what Python writes and reads as text."""


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
    raise TypeError(f"a value of type {hints.type_name(kind)} has no JSON form")


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    if isinstance(key, enum.Enum) and isinstance(key.value, str):
        return str(key.value)
    if isinstance(key, str):
        return str(key)
    raise TypeError(f"a key of type {hints.type_name(type(key))} has no JSON form; keys are strings")


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
