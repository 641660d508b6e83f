"""JSON values into the Python values that a function asks for.

A coercion takes a value that fits the schema, and gives what the function wants or raises `MismatchError` with what
would have been right. None stays None: a schema that lets it through means it. Texts are bounded before they are read,
because some of these types take a short text for a number without end (`1e999999999`).
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pegboard_manifest.hygiene import Roots

    Coercion = Callable[[Any], Any]

MAX_NUMBER = 5_000
"""Characters of a text that is read as a number."""
MAX_EXPONENT = 4_300
MAX_TEXT = 100
"""Characters of a text that is read as a date, a duration, a UUID."""

_DURATION = re.compile(
    r"(?P<sign>[+-]?)P(?!$)(?:(?P<weeks>\d{1,9})W)?(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?!$)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,12}(?:[.,]\d{1,9})?)S)?)?",
    re.ASCII,
)
_EXPONENT = re.compile(r"[eE][+-]?0*([0-9]+)", re.ASCII)
_NOT_OF_NUMBERS = re.compile(r"[^ -^`-~]")


class MismatchError(ValueError):
    """A value is not of the kind that is asked for; the text says what would have been right."""


def coercion_of(
    kinds: str | Iterable[str],
    *,
    enum: type | None = None,
    roots: Roots | None = None,
    is_base64: bool = False,
    any_text: bool = True,
) -> Coercion:
    """The function from a JSON value to the Python value.

    Args:
        kinds: a coercion of the format, or several: the first that takes the value.
        enum: the class, for `enum`.
        roots: where paths have to lie, for `path`.
        is_base64: what `bytes` reads is base64 and no plain text.
        any_text: beside other kinds, `none` takes a text that none of them reads; else it is for other values alone.
    """
    special: dict[str, Coercion] = {
        "enum": lambda value: _to_member(enum, value),
        "path": lambda value: _to_path(roots, value),
        "bytes": _from_base64 if is_base64 else _to_bytes,
    }
    names = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if len(names) > 1 and not any_text:
        special["none"] = _no_text
    found = [special.get(name) or _COERCIONS[name] for name in names]
    if len(names) > 1 and names[-1] == "none":  # a number is one already where the function takes what is not coerced
        found = [_not_of_numbers(one) if name in _OF_NUMBERS else one for name, one in zip(names, found, strict=True)]
    return _or_none(found[0] if len(found) == 1 else _first_of(found))


def each(coerce: Coercion) -> Coercion:
    """The coercion of a list, item by item."""

    def coerce_items(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, (list, tuple)):
            raise MismatchError("a list")
        coerced = []
        for index, item in enumerate(value):
            try:
                coerced.append(coerce(item))
            except MismatchError as problem:
                raise MismatchError(f"{problem} as item {index}") from None
        return coerced

    return coerce_items


_OF_NUMBERS = frozenset({"timedelta", "decimal", "fraction", "complex"})
"""Coercions that make something else of a JSON number."""


def _not_of_numbers(coerce: Coercion) -> Coercion:
    def coerce_others(value: Any) -> Any:
        if _is_number(value):
            raise MismatchError("a text")
        return coerce(value)

    return coerce_others


def _no_text(value: Any) -> Any:
    if isinstance(value, str):
        raise MismatchError("no other text")
    return value


def _or_none(coerce: Coercion) -> Coercion:
    return lambda value: None if value is None else coerce(value)


def _first_of(coercions: list[Coercion]) -> Coercion:
    def coerce(value: Any) -> Any:
        expected = []
        for one in coercions:
            try:
                return one(value)
            except MismatchError as problem:
                expected.append(str(problem))
        raise MismatchError(", or ".join(dict.fromkeys(expected)))

    return coerce


def _reader(expected: str, read: Callable[[str], Any], limit: int = MAX_TEXT) -> Coercion:
    def coerce(value: Any) -> Any:
        if not isinstance(value, str) or len(value) > limit:
            raise MismatchError(expected)
        try:
            return read(value)
        except (ValueError, OverflowError) as problem:
            raise MismatchError(expected) from problem

    return coerce


def _to_timedelta(value: Any) -> timedelta:
    expected = "a duration such as 'PT1H30M', or seconds"
    try:
        if _is_number(value):
            return timedelta(seconds=value)
        match = _DURATION.fullmatch(value) if isinstance(value, str) and len(value) <= MAX_TEXT else None
        if match is None:
            raise MismatchError(expected)
        parts = {
            name: float(text.replace(",", ".")) for name, text in match.groupdict().items() if text and name != "sign"
        }
        duration = timedelta(**parts)
    except (OverflowError, ValueError) as problem:
        raise MismatchError(expected) from problem
    return -duration if match["sign"] == "-" else duration


def _to_decimal(value: Any) -> Decimal:
    expected = "a decimal number such as '12.30'"
    text = repr(value) if _is_number(value) else value
    if not isinstance(text, str) or _is_endless(text):
        raise MismatchError(expected)
    try:
        number = Decimal(text)
    except InvalidOperation as problem:
        raise MismatchError(expected) from problem
    if not number.is_finite():
        raise MismatchError(expected)
    return number


def _to_fraction(value: Any) -> Fraction:
    expected = "a fraction such as '3/4', or a number"
    text = repr(value) if _is_number(value) else value
    if not isinstance(text, str) or _is_endless(text):
        raise MismatchError(expected)
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError) as problem:
        raise MismatchError(expected) from problem


def _to_complex(value: Any) -> complex:
    expected = "a complex number such as '1+2j', or a list of its two parts"
    try:
        if _is_number(value):
            return complex(value)
        if isinstance(value, str) and not _is_endless(value):
            return complex(value.replace(" ", ""))
        if isinstance(value, (list, tuple)) and len(value) == 2 and all(map(_is_number, value)):
            return complex(*value)
    except (ValueError, OverflowError) as problem:
        raise MismatchError(expected) from problem
    raise MismatchError(expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_endless(text: str) -> bool:
    """Whether a text stands for a number of more digits than are read, or is written in a way that only Python reads:
    its own types take digits of every script, and underscores between them."""
    if len(text) > MAX_NUMBER or _NOT_OF_NUMBERS.search(text):
        return True
    exponent = _EXPONENT.search(text)
    return exponent is not None and (len(exponent[1]) > 6 or int(exponent[1]) > MAX_EXPONENT)


def _to_bytes(value: Any) -> bytes:
    if not isinstance(value, str):
        raise MismatchError("text")
    return value.encode("utf-8", "surrogatepass")


def _from_base64(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error) as problem:
        raise MismatchError("base64") from problem


def _to_path(roots: Roots | None, value: Any) -> Path:
    from pegboard_manifest.hygiene import OutsideError, path_fault

    if not isinstance(value, str):
        raise MismatchError("a path")
    if fault := path_fault(value):
        raise MismatchError(f"a path, not {fault}")
    if roots is None:
        raise MismatchError("no path: none is allowed here")
    try:
        return Path(roots.cwd) / roots.resolve(value)
    except (OutsideError, OSError) as problem:
        raise MismatchError(
            str(problem) if isinstance(problem, OutsideError) else "a path that can be looked up"
        ) from None


def _to_member(enum: Any, value: Any) -> Any:
    try:
        return enum(value)
    except (ValueError, TypeError, KeyError):
        members: Mapping[str, Any] = enum.__members__
        if isinstance(value, str) and value in members:
            return members[value]
    raise MismatchError(f"one of {', '.join(list(members)[:10])}")


def _container(make: Callable[[Any], Any]) -> Coercion:
    def coerce(value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise MismatchError("a list")
        try:
            return make(value)
        except TypeError as problem:  # a list or an object in a set
            raise MismatchError("a list of plain values") from problem

    return coerce


_COERCIONS: dict[str, Coercion] = {
    "none": lambda value: value,
    "date": _reader("a date such as '2026-01-31'", date.fromisoformat),
    "datetime": _reader("a date and time such as '2026-01-31T12:00:00Z'", datetime.fromisoformat),
    "time": _reader("a time such as '12:30:00'", time.fromisoformat),
    "timedelta": _to_timedelta,
    "decimal": _to_decimal,
    "fraction": _to_fraction,
    "complex": _to_complex,
    "tuple": _container(tuple),
    "set": _container(set),
    "frozenset": _container(frozenset),
    "uuid": _reader("a UUID", UUID),
}
