"""Any Python value as JSON data.

    None, texts, numbers, booleans   themselves (NaN and infinities their text)
    dict                             an object; keys as texts
    list, tuple, set, range          an array; of a set in an order that does not change
    dataclass, attrs, named tuple    an object of its fields
    date, time, Decimal, UUID, ...   text, as the core writes them
    bytes                            base64
    iterators                        an array of the first items
    other collections                an array or an object, unless they have a text of their own
    numpy and its kin                what their own `tolist` gives
    anything else                    its text, cleaned and cut

An object is the data, any other value is `{"result": value}`. Everything is bounded: the depth, the number of values,
the items of an iterator. What was left out of an iterator is said in the result's details.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import inspect
import re
import types
from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from pegboard import ErrorCode, ToolError, ToolResult
from pegboard.content import CONTENT_TYPES
from pegboard.limits import RETURNED_LEVELS
from pegboard.schema.jsontext import is_half

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_VALUES = 100_000
MAX_SEEN = 1_000
"""Values up to which a result is looked through before it is written anew; of containers, as many as may nest."""
MAX_ITEMS = 1_000
"""Items that are taken of an iterator: it may have no end."""
MAX_TEXT = 2_000
"""Characters of the text of a value that has no JSON form."""
MAX_NAME = 200
"""Characters of a type's, a function's or a module's name."""
MAX_INT_BITS = 14_280
"""What Python writes as decimal text, less a little: 4,300 digits."""

_LEAST, _MOST = -(2**63), 2**63
_EXACT: dict[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, float: float.__float__}
"""What a value of a class below these is, whatever that class says of it."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def to_data(value: Any) -> Any:
    """What a function returned, as a result of the host."""
    if isinstance(value, (ToolResult, *CONTENT_TYPES)):
        return value
    if is_plain(value):
        return value
    if is_json(value):
        return value if value.__class__ is dict else {"result": value}
    writer = _Writer()
    plain = writer.write(value, RETURNED_LEVELS)
    data = plain if isinstance(plain, dict) else {"result": plain}
    if not writer.is_cut:
        return data
    result = ToolResult.json(data)
    note = {"cut": True, "items": MAX_ITEMS}
    return ToolResult(content=result.content, data=data, details=note)


def is_plain(value: Any) -> bool:
    """Whether a value is one that the host takes as it is, in little time; False says nothing."""
    kind = value.__class__
    if kind is str:
        return bool(value.isascii())
    if kind is int:
        return bool(_LEAST < value < _MOST)
    return bool(value - value == 0) if kind is float else kind is bool


def is_json(value: Any) -> bool:
    """Whether a small value is JSON data as it is, so that nothing has to be written anew: the usual case."""
    waiting, left, nests = [value], MAX_SEEN, RETURNED_LEVELS
    while waiting:
        item = waiting.pop()
        kind = item.__class__
        if kind is str:
            if not item.isascii() and is_half(item):
                return False
        elif kind is int:
            if not _LEAST < item < _MOST:
                return False
        elif kind is float:
            if item - item != 0:
                return False
        elif kind is dict:
            left, nests = left - len(item), nests - 1
            if left < 0 or nests < 0 or any(key.__class__ is not str or not key.isascii() for key in item):
                return False
            waiting += item.values()
        elif kind is list:
            left, nests = left - len(item), nests - 1
            if left < 0 or nests < 0:
                return False
            waiting += item
        elif kind is not bool and item is not None:
            return False
    return True


class _Writer:
    def __init__(self) -> None:
        self.left = MAX_VALUES
        self.is_cut = False

    def write(self, value: Any, depth: int) -> Any:
        self.left -= 1
        if self.left < 0:
            raise ToolError(
                ErrorCode.UPSTREAM_ERROR,
                f"the result holds more than {MAX_VALUES:,} values; ask for less",
                executed=True,
                retry="changed",
            )
        kind = type(value)
        if kind is str:
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if value.bit_length() <= MAX_INT_BITS else f"an integer of {value.bit_length():,} bits"
        if kind is float:
            return value if value - value == 0 else str(value)
        if depth <= 0:
            return "nested too deep"
        return self.write_other(value, depth - 1)

    def write_other(self, value: Any, depth: int) -> Any:
        if isinstance(value, enum.Enum):
            return self.write(value.value, depth)
        if isinstance(value, Mapping):  # a third-party mapping may never end: it is taken item by item
            items = list(value.items()) if type(value) is dict else value.items()
            return {self.key_of(key): self.write(item, depth) for key, item in items}
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return {name: self.write(item, depth) for name, item in zip(value._fields, value, strict=False)}
        if isinstance(value, (list, tuple)):
            return [self.write(item, depth) for item in value]
        if isinstance(value, (Set, range)):
            return self.write_set(value, depth) if isinstance(value, Set) else self.write_some(iter(value), depth)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return base64.b64encode(bytes(value)).decode("ascii")
        for plain, exact in _EXACT.items():
            if isinstance(value, plain):
                return self.write(exact(value), depth)
        if isinstance(value, (type, types.FunctionType, types.ModuleType)):
            return _cleaned(value.__name__)
        if inspect.isawaitable(value):
            _refuse_awaitable(value)
        if dataclasses.is_dataclass(value) or attrs.has(type(value)):
            return self.write_fields(value, depth)
        if isinstance(value, Iterator):
            return self.write_some(value, depth)
        return self.write_unknown(value, depth)

    def key_of(self, key: Any) -> str:
        key = key.value if isinstance(key, enum.Enum) else key
        if isinstance(key, str):
            return str(self.write(str(key), 1))
        if key is None or isinstance(key, bool):
            return {None: "null", True: "true", False: "false"}[key]
        return text_of(key, 200)

    def write_set(self, value: Any, depth: int) -> list[Any]:
        return sorted((self.write(item, depth) for item in value), key=lambda item: (type(item).__name__, str(item)))

    def write_fields(self, value: Any, depth: int) -> dict[str, Any]:
        fields: Any = dataclasses.fields(value) if dataclasses.is_dataclass(value) else attrs.fields(type(value))
        names = [field.name for field in fields if not field.name.startswith("_") and field.repr]
        return {name: self.write(getattr(value, name, None), depth) for name in names}

    def write_some(self, items: Iterator[Any], depth: int) -> list[Any]:
        written: list[Any] = []
        for item in items:
            if len(written) == MAX_ITEMS:
                self.is_cut = True
                break
            written.append(self.write(item, depth))
        return written

    def write_unknown(self, value: Any, depth: int) -> Any:
        from pegboard.schema import to_json_value

        to_list = getattr(value, "tolist", None)
        if callable(to_list) and type(value).__module__.partition(".")[0] in ("numpy", "pandas", "array", "cupy"):
            size = getattr(value, "size", None) or (len(value) if hasattr(value, "__len__") else 1)
            if isinstance(size, int) and size <= self.left:
                return self.write(to_list(), depth)
        try:
            return self.write(
                to_json_value(value), depth
            )  # what the core has a form for: dates, decimals, UUIDs, paths
        except (TypeError, ValueError):
            return self.write_by_protocol(value, depth)

    def write_by_protocol(self, value: Any, depth: int) -> Any:
        """What says by its methods that it is a mapping or can be walked through; a text of its own goes before these,
        but not before an iterable of records."""
        kind: Any = type(value)
        has_text = kind.__str__ is not object.__str__
        try:
            if hasattr(kind, "keys") and hasattr(kind, "__getitem__") and not has_text:
                return {self.key_of(key): self.write(value[key], depth) for key in value.keys()}  # noqa: SIM118
            if hasattr(kind, "__iter__"):
                first = next(iter(value), None)
                if not has_text or _is_record(first):
                    return self.write_some(iter(value), depth)
        except ToolError:
            raise
        except Exception:  # noqa: BLE001 - a third-party `__iter__` or `__getitem__`
            return text_of(value)
        return text_of(value)


def _is_record(value: Any) -> bool:
    kind = type(value)
    return dataclasses.is_dataclass(kind) or attrs.has(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _refuse_awaitable(value: Any) -> NoReturn:
    """Nobody awaits it: what it should have done was not done."""
    if inspect.iscoroutine(value):
        value.close()
    raise ToolError(
        ErrorCode.INTERNAL_ERROR,
        "the function returned something to be awaited; bind a function that is not async",
        reason="async",
        executed=False,
        retry="never",
    )


def _cleaned(name: Any) -> str:
    from pegboard_manifest.hygiene import sanitise

    return sanitise(str(name), MAX_NAME, one_line=True)


def text_of(value: Any, limit: int = MAX_TEXT) -> str:
    """A value's own text, cleaned, cut, and without addresses in memory; its type where it has none."""
    from pegboard_manifest.hygiene import sanitise

    kind: Any = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        return f"a {_cleaned(kind.__name__)}"
    try:
        text = str(value)
    except Exception:  # noqa: BLE001 - a third-party `__str__`
        return f"a {_cleaned(kind.__name__)}"
    return sanitise(_ADDRESS.sub("", text[: limit * 4]), limit)
