"""Raw values into a settings class, strictly, with every fault at once.

`pegboard.schema.structure` does it: `"false"` is not a boolean, `true` not a number, and a key that the class has not
is a fault with the nearest one. Two things are the configuration's own. A `LooseText` - from the environment, or a
whole `${VAR}` - is first read by the type of its setting; and the validators of all fields are heard, not that of the
first.
"""

from __future__ import annotations

import datetime
import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import attrs

from pegboard.config._layers import LooseText
from pegboard.config._settings import FaultsError, keys_of
from pegboard.errors import Fault, PluginError, Step
from pegboard.schema import hints
from pegboard.schema.jsontext import shorten as shown

T = TypeVar("T")
Path = tuple[Step, ...]

REFUSED = "one that it refused"
TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})
_INTEGER = r"[+-]?[0-9]{1,100}"
_NUMBER = r"[+-]?(?:[0-9]{1,50}\.?[0-9]{0,50}|\.[0-9]{1,50})(?:[eE][+-]?[0-9]{1,3})?"
_TYPES = {"array": "a list", "object": "a table"}
_NUMBERS_FIRST = {int: 0, float: 1, bool: 2, str: 9}


def structure(value: Any, cls: type[T] | Any, path: Path = ()) -> tuple[T | None, list[Fault]]:
    """The raw value as an instance of `cls`, and every fault; None where there is one.

    Faults quote what came: whoever shows them hides what is secret (see `Config`).

    Raises:
        PluginError: the class has a field whose type cannot be resolved, or is not one that a file can hold.
    """
    from pegboard.schema.structure import structure_all

    try:
        ready = read_loose(value, cls)
        made, faults = structure_all(ready, cls, path)
        refused = _refused_fields(cls, ready, path) if faults else []
    except hints.HintError as problem:
        raise PluginError(f"settings {getattr(cls, '__qualname__', cls)}: {problem}") from problem
    heard = {fault.path[:length] for fault in refused for length in range(len(fault.path))}
    return made, [_in_words(fault) for fault in faults if fault.got != REFUSED or fault.path not in heard] + refused


def _in_words(fault: Fault) -> Fault:
    """Files have tables and lists, where JSON has objects and arrays."""
    expected = (
        re.sub(r"an object(?: \(\w+\))?", "a table", fault.expected)
        .replace("an array", "a list")
        .replace(" or null", "")
        .replace("no such key", "a known key")
    )
    expected = _TYPES.get(expected, expected)  # of a union the bare names
    got = re.sub(r"^(an object of \d+ \w+|an empty object)", "a table", fault.got).replace("an array of", "a list of")
    quoted = fault.expected == "a boolean" and fault.got.lower() in ('"true"', '"false"')
    quoted = quoted or bool(re.search(r"\b(number|integer)\b", fault.expected) and re.fullmatch(f'"{_NUMBER}"', got))
    hint = "leave out the quotes" if quoted else fault.hint
    if fault.path == ("profile",) and got.startswith("a table"):
        hint = "profiles are written as [profiles.NAME]"
    return attrs.evolve(fault, expected=expected, got=got, hint=hint)


def read_loose(value: Any, kind: Any) -> Any:
    """The value, of plain types alone: each `LooseText` in it as what its setting is, if it can be read as that."""
    kind = hints.unwrap(kind)[0]
    if type(value) is LooseText:
        return _read_text(value, kind)
    if isinstance(value, Mapping):
        return {key: read_loose(item, _kind_of_item(kind, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [read_loose(item, _kind_of_item(kind, index)) for index, item in enumerate(value)]
    if isinstance(value, (datetime.date, datetime.time)) and kind is not str:
        return value.isoformat()
    return value


def _read_text(text: LooseText, kind: Any) -> Any:
    if hints.is_union(kind):
        return _read_text_of_union(text, hints.members(kind))
    word = text.strip()
    if kind is bool and word.lower() in TRUE | FALSE:
        return word.lower() in TRUE
    if kind is int and re.fullmatch(_INTEGER, word):
        return int(word)
    if kind is float and re.fullmatch(_NUMBER, word):
        return float(word)
    if _element_kinds(kind) is not None:
        return _read_list(text, kind)
    for _, choice in hints.closed_values(kind) or ():
        if str(choice) == word:
            return choice
    return str(text)


def _read_text_of_union(text: LooseText, kinds: list[Any]) -> Any:
    """As the first member that is more than text, numbers before booleans: `1` is a number where it may be one."""
    for kind in sorted(kinds, key=lambda kind: _NUMBERS_FIRST.get(kind, 3) if isinstance(kind, type) else 3):
        value = _read_text(text, kind)
        if not isinstance(value, str):
            return value
    return str(text)


def _read_list(text: LooseText, kind: Any) -> Any:
    """`["ls", "cat"]` is JSON, `ls,cat` the same in short. Tables are not read out of a text: what may start programs
    must stand where it is looked for."""
    import json

    if not text.lstrip().startswith("["):
        items = [item.strip() for item in text.split(",") if item.strip()]
        return [read_loose(LooseText(item), _kind_of_item(kind, index)) for index, item in enumerate(items)]
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return str(text)
    return str(text) if any(isinstance(item, (dict, list)) for item in items) else items


def _element_kinds(kind: Any) -> tuple[Any, ...] | None:
    """The types of a list's elements; None for what is not a list."""
    origin = typing.get_origin(kind) or kind
    if origin is tuple or (isinstance(origin, type) and (origin in hints.LISTS or origin in hints.SETS)):
        return typing.get_args(kind) or (Any,)
    return None


def _kind_of_item(kind: Any, step: Step) -> Any:
    """The type of what lies at a key or an index, `Any` where nothing is said of it."""
    if hints.is_union(kind):
        found = (_kind_of_item(hints.unwrap(member)[0], step) for member in hints.members(kind))
        return next((one for one in found if one is not Any), Any)
    if isinstance(step, int):
        kinds = _element_kinds(kind) or (Any,)
        return kinds[step] if typing.get_origin(kind) is tuple and step < len(kinds) and ... not in kinds else kinds[0]
    if isinstance(kind, type) and hints.is_record(kind):
        return next((field.hint for field in hints.fields_of(kind) if field.key == step), Any)
    arguments = typing.get_args(kind)
    return arguments[1] if len(arguments) == 2 and typing.get_origin(kind) in hints.DICTS else Any


def set_fields(kind: Any, value: Any, path: Path = ()) -> Iterator[tuple[Path, attrs.Attribute[Any], Any, Any]]:
    """Every field of a settings class that a raw value sets, however deep: its path, itself, its type and
    the raw value.

    This is how marks are found: a secret, or a setting that may start programs, in a table of tables of settings.
    """
    kind = hints.unwrap(kind)[0]
    if hints.is_union(kind):
        for member in hints.members(kind):
            yield from set_fields(member, value, path)
    elif isinstance(value, Mapping):
        fields = keys_of(kind) if isinstance(kind, type) and attrs.has(kind) else {}
        for key, item in value.items():
            inner = _kind_of_item(kind, key)
            if key in fields:
                yield (*path, key), fields[key], inner, item
            yield from set_fields(inner, item, (*path, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from set_fields(_kind_of_item(kind, index), item, (*path, index))


def _refused_fields(cls: Any, value: Any, path: Path) -> list[Fault]:
    """What the converters and validators of the fields say, of each field that has the right type."""
    from pegboard.schema.structure import structure_all

    faults = []
    for place, field, kind, raw in set_fields(cls, value, path):
        convert: Any = field.converter
        if isinstance(convert, attrs.Converter) or (convert is None and field.validator is None):
            continue
        made, wrong = structure_all(raw, kind)
        if wrong:
            continue
        try:
            made = made if convert is None else convert(made)
            if field.validator is not None:
                field.validator(types.SimpleNamespace(), field, made)
        except FaultsError as problem:
            faults += [attrs.evolve(fault, path=(*place, *fault.path)) for fault in problem.faults]
        except (TypeError, ValueError) as problem:
            message = str(problem.args[0])[:200].removeprefix("expected ") if problem.args else "another value"
            faults.append(Fault(place, message, shown(raw)))
    return faults


def unknown_key(path: Path, known: Iterable[str]) -> Fault:
    """The fault of a key that nothing reads, with the nearest known one."""
    from pegboard.schema.near import nearest  # right configurations need none

    near = nearest(str(path[-1]), known)
    return Fault(path, "a known key", "an unknown key", f"did you mean {near!r}?" if near else None)


def shorten(value: Any) -> str:
    """What came, in at most 60 characters."""
    return _in_words(Fault((), "", "nothing" if value is None else shown(value))).got
