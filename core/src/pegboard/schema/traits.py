"""What a schema does not check, and what a check may cost, so that nothing is walked or counted without need."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any

from pegboard.limits import JSON_LEVELS
from pegboard.schema.jsontext import MAX_CHECKED, MAX_DIGITS, check_value, is_half
from pegboard.schema.keywords import DRAFT_2020, IN_PLACE, dialect_of, subschemas
from pegboard.schema.refs import References, base_inside

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_VISITS = 100_000
MAX_WORK = 500_000


Finder = Callable[[Any], bool]
"""Whether a value that a validator passed holds something that no JSON text could have brought.

.. versionadded:: 0.1
"""


def hidden_values(schema: Any, *, is_converted: bool = False) -> Finder | None:
    """Look for NaN, infinities, integers that are too long, halves of surrogate pairs and what is not JSON at all,
    exactly where a value that a validator passed could hold one.

    A closed object of plain types pays for its own members alone; what the schema leaves open is walked by
    `check_value`.

    Args:
        schema: a schema without faults.
        is_converted: whether the validator reads values into types of its own, and so refuses all but integers that are
            too long, wherever the schema names a type.

    Returns:
        None where there is no such place.

    .. versionadded:: 0.1
    """
    search = _Search(schema, is_converted=is_converted)
    return search.of(*search.refs.root, inside=True)


def _is_open(value: Any) -> bool:
    return check_value(value, max_nodes=MAX_CHECKED) is not None


def _is_number(value: Any) -> bool:
    kind = value.__class__
    if kind is int:
        return not -_TOO_BIG < value < _TOO_BIG
    return not isfinite(value) if kind is float else not isinstance(value, _OTHER_PLAIN) and _is_open(value)


def _is_integer(value: Any) -> bool:
    return value.__class__ is int and not -_TOO_BIG < value < _TOO_BIG


def _is_text(value: Any) -> bool:
    return value.__class__ is str and not value.isascii() and is_half(value)


_OTHER_PLAIN = (str, bool, dict, list, tuple, type(None))
_TOO_BIG = 10**MAX_DIGITS
_NUMBERS = (_is_number, _is_integer)


class _Search:
    def __init__(self, schema: Any, *, is_converted: bool) -> None:
        self.refs = References(schema, dialect_of(schema) or DRAFT_2020)
        self.is_converted = is_converted
        self._known: dict[int, Finder | None] = {}

    def of(self, schema: Any, base: str, *, inside: bool = False) -> Finder | None:
        if not isinstance(schema, dict):
            return None if schema is False else _is_open
        if id(schema) not in self._known:
            # By identity: `refs` holds the document, so no id comes twice. And before it is looked at: what leads back
            # to itself may nest without end.
            self._known[id(schema)] = _is_open
            base = base if inside else base_inside(schema, base, self.refs.dialect)
            self._known[id(schema)] = self._look(schema, base)
        return self._known[id(schema)]

    def _look(self, schema: dict[str, Any], base: str) -> Finder | None:
        if "$ref" in schema:
            target = self.refs.resolve(schema["$ref"], base)
            return self.of(target.schema, target.base, inside=True) if target else _is_open
        if "enum" in schema or "const" in schema:
            return None
        if "type" in schema:
            types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
            return _any(self._of_type(name, schema, base) for name in types)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return _any(self.of(item, base) for item in schema[keyword])
        return _is_open

    def _of_type(self, name: str, schema: dict[str, Any], base: str) -> Finder | None:
        if name == "object":
            return self._of_object(schema, base)
        if name == "array":
            return self._of_array(schema, base)
        if name in ("integer", "number"):
            return _is_integer if self.is_converted else _is_number
        return _is_text if name == "string" and not self.is_converted else None

    def _of_object(self, schema: dict[str, Any], base: str) -> Finder | None:
        found = {name: self.of(item, base) for name, item in schema.get("properties", {}).items()}
        others = [*schema.get("patternProperties", {}).values(), schema.get("additionalProperties", True)]
        rest = _any(self.of(item, base) for item in others)
        is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
        has_names = not is_closed and not self.is_converted
        return _of_members(found, rest, has_names=has_names) if rest or has_names or any(found.values()) else None

    def _of_array(self, schema: dict[str, Any], base: str) -> Finder | None:
        items = schema.get("items", True)
        children = [*schema.get("prefixItems", []), *(items if isinstance(items, list) else [items])]
        if isinstance(items, list):
            children.append(schema.get("additionalItems", True))
        each = _any(self.of(item, base) for item in children)
        if each is None:
            return None
        return lambda value: isinstance(value, (list, tuple)) and any(map(each, value))


def _of_members(found: dict[str, Finder | None], rest: Finder | None, *, has_names: bool) -> Finder:
    """Look at the members that could hold something, and at those that the schema does not name: `rest` at their
    values, and at their names where the validator does not."""
    numbers = tuple(name for name, finder in found.items() if finder in _NUMBERS)
    texts = tuple(name for name, finder in found.items() if finder is _is_text)
    deeper = tuple((name, find) for name, find in found.items() if find and name not in {*numbers, *texts})
    known = found.keys()

    def find(value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        for name in texts:
            text = value.get(name)
            if text.__class__ is str and not text.isascii() and is_half(text):
                return True
        for name in numbers:
            number = value.get(name)
            if number.__class__ is float:
                if not isfinite(number):
                    return True
            elif number is not None and _is_number(number):
                return True
        for name, finder in deeper:
            if name in value and finder(value[name]):
                return True
        if rest is None and not has_names:
            return False
        others = value.keys() - known if known else value.keys()
        if not others:
            return False
        if has_names and any(name.__class__ is not str or (not name.isascii() and is_half(name)) for name in others):
            return True
        return rest is not None and any(rest(value[name]) for name in others)

    return find


def _any(finders: Iterable[Finder | None]) -> Finder | None:
    needed = [finder for finder in dict.fromkeys(finders) if finder is not None]
    if len(needed) < 2:
        return needed[0] if needed else None
    return _is_open if _is_open in needed else lambda value: any(finder(value) for finder in needed)


def may_explode(schema: Any) -> bool:
    """Whether a validator without a budget could visit one value more than `MAX_VISITS` times.

    References let a short schema stand for a long one: alternatives that refer to the same definition double what is
    visited, at every level. This counts the visits of the worst value of `JSON_LEVELS` levels, from above: it may say
    yes of a schema that is harmless, never no of one that explodes.

    .. versionadded:: 0.1
    """
    dialect = dialect_of(schema)
    return dialect is not None and isinstance(schema, dict) and _Visits(References(schema, dialect)).explode()


class _TooMuchError(Exception):
    pass


class _Visits:
    def __init__(self, refs: References) -> None:
        self.refs = refs
        self.work = 0
        self._here: dict[int, dict[int, int]] = {}
        self._below: dict[int, dict[object, list[int]]] = {}
        self._bases: dict[int, tuple[Any, str]] = {}

    def explode(self) -> bool:
        schema, base = self.refs.root
        try:
            visits = self.here(schema, base)
            for _ in range(JSON_LEVELS):
                below = self.below(visits)
                if below == visits:
                    break
                visits = below
        except (_TooMuchError, RecursionError):
            return True
        return False

    def _pay(self, total: dict[int, int]) -> dict[int, int]:
        self.work += 1 + len(total)
        if sum(total.values()) > MAX_VISITS or self.work > MAX_WORK:
            raise _TooMuchError
        return total

    def here(self, schema: Any, base: str) -> dict[int, int]:
        """Every schema that looks at the same value, and how often."""
        key = id(schema)
        self._bases.setdefault(key, (schema, base))
        if not isinstance(schema, dict):
            return {}
        if key not in self._here:
            self._here[key] = {}
            children: dict[int, int] = {}
            for keyword in ("$ref", "$dynamicRef"):
                target = self.refs.resolve(schema[keyword], base) if isinstance(schema.get(keyword), str) else None
                if target is not None:
                    self._add(children, target.schema, target.base)
            for steps, item in subschemas(schema, self.refs.dialect):
                if steps[0] in IN_PLACE:
                    self._add(children, item, base_inside(item, base, self.refs.dialect))
            counts = {key: 1}
            for child, times in children.items():
                _add_up(counts, self.here(*self._bases[child]), times)
            self._here[key] = self._pay(counts)
        return self._here[key]

    def below(self, visits: dict[int, int]) -> dict[int, int]:
        """The same for the values one level down: of every schema the most that one of these values meets."""
        slots: dict[object, dict[int, int]] = {}
        for key, count in visits.items():
            for slot, children in self._slots(key).items():
                total = slots.setdefault(slot, {})
                for child in children:
                    _add_up(total, self.here(*self._bases[child]), count)
                self._pay(total)
        for kind in ("object", "array"):
            for slot, total in slots.items():
                if isinstance(slot, tuple) and slot[0] == kind:
                    _add_up(total, slots.get(kind, {}), 1)
        most: dict[int, int] = {}
        for total in slots.values():
            for item, count in total.items():
                most[item] = max(most.get(item, 0), count)
        return self._pay(most)

    def _slots(self, key: int) -> dict[object, list[int]]:
        """The schemas one level down, by which values they look at: one property, one item, any of them."""
        if key not in self._below:
            schema, base = self._bases[key]
            slots = self._below[key] = {}
            for steps, item in subschemas(schema, self.refs.dialect):
                if steps[0] in _SLOTS:
                    kind = _SLOTS[str(steps[0])]
                    slot = (kind, steps[1]) if len(steps) == 2 and steps[0] != "patternProperties" else kind
                    self._bases.setdefault(id(item), (item, base_inside(item, base, self.refs.dialect)))
                    slots.setdefault(slot, []).append(id(item))
        return self._below[key]

    def _add(self, children: dict[int, int], schema: Any, base: str) -> None:
        self._bases.setdefault(id(schema), (schema, base))
        children[id(schema)] = children.get(id(schema), 0) + 1


def _add_up(total: dict[int, int], counts: dict[int, int], times: int) -> None:
    for item, count in counts.items():
        total[item] = total.get(item, 0) + count * times


_SLOTS = {
    "properties": "object",
    "patternProperties": "object",
    "additionalProperties": "object",
    "unevaluatedProperties": "object",
    "propertyNames": "name",
    "items": "array",
    "prefixItems": "array",
    "additionalItems": "array",
    "unevaluatedItems": "array",
    "contains": "array",
}
