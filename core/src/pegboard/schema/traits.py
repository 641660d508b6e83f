"""What a schema lets through unseen, and what it may cost: so that nothing is walked or counted without need."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from pegboard.schema.keywords import DRAFT_2020, IN_PLACE, dialect_of, subschemas
from pegboard.schema.refs import References, base_inside

MAX_VISITS = 100_000
MAX_WORK = 500_000
MAX_DEPTH = 64


class Hiding(IntEnum):
    """Where a value that fits a schema may hold a number that is not finite."""

    NOWHERE = 0
    HERE = 1
    """The value itself may be one."""
    ANYWHERE = 2
    """So may something inside it; or it may nest without end."""


def hiding(schema: Any, *, numbers_are_seen: bool = False) -> tuple[Hiding, tuple[str, ...]]:
    """Where NaN and infinities could hide in a value that a validator passed.

    Args:
        schema: a schema without faults.
        numbers_are_seen: whether the validator refuses them where the schema says "number".

    Returns:
        Where, and for an object whose properties are at most `HERE` the names of those that are: then it is `NOWHERE`
        but for these.

    .. versionadded:: 0.1
    """
    search = _Hiding(schema, numbers_are_seen=numbers_are_seen)
    root, base = search.refs.root
    if isinstance(root, dict) and root.get("type") == "object" and not root.keys() & {"$ref", "enum", "const"}:
        properties = root.get("properties", {})
        found = {name: search.of(item, base) for name, item in properties.items()}
        rest = [search.of(item, base) for item in root.get("patternProperties", {}).values()]
        rest.append(search.of(root.get("additionalProperties", True), base))
        if not any(rest) and Hiding.ANYWHERE not in found.values():
            return Hiding.NOWHERE, tuple(name for name, where in found.items() if where)
    return search.of(root, base, inside=True), ()


class _Hiding:
    def __init__(self, schema: Any, *, numbers_are_seen: bool) -> None:
        self.refs = References(schema, dialect_of(schema) or DRAFT_2020)
        self.number = Hiding.NOWHERE if numbers_are_seen else Hiding.HERE
        self._known: dict[int, Hiding] = {}

    def of(self, schema: Any, base: str, *, inside: bool = False) -> Hiding:
        if not isinstance(schema, dict):
            return Hiding.NOWHERE if schema is False else Hiding.ANYWHERE
        if id(schema) not in self._known:
            self._known[id(schema)] = Hiding.ANYWHERE  # what leads back to itself may nest without end
            self._known[id(schema)] = self._look(
                schema, base if inside else base_inside(schema, base, self.refs.dialect)
            )
        return self._known[id(schema)]

    def _look(self, schema: dict[str, Any], base: str) -> Hiding:
        if "$ref" in schema:
            target = self.refs.resolve(schema["$ref"], base)
            return self.of(target.schema, target.base, inside=True) if target else Hiding.ANYWHERE
        if "enum" in schema or "const" in schema:
            return Hiding.NOWHERE
        if "type" in schema:
            types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
            return max(self._of_type(name, schema, base) for name in types)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return max(self.of(item, base) for item in schema[keyword])
        return Hiding.ANYWHERE

    def _of_type(self, name: str, schema: dict[str, Any], base: str) -> Hiding:
        if name == "number":
            return self.number
        if name == "object":
            inside = [*schema.get("properties", {}).values(), *schema.get("patternProperties", {}).values()]
            inside.append(schema.get("additionalProperties", True))
        elif name == "array":
            items = schema.get("items", True)
            inside = [*schema.get("prefixItems", []), *(items if isinstance(items, list) else [items])]
            if isinstance(items, list):
                inside.append(schema.get("additionalItems", True))
        else:
            return Hiding.NOWHERE
        return Hiding.ANYWHERE if any(self.of(item, base) for item in inside) else Hiding.NOWHERE


def may_explode(schema: Any) -> bool:
    """Whether a validator without a budget could visit one value more than `MAX_VISITS` times.

    References let a short schema stand for a long one: alternatives that refer to the same definition double what is
    visited, at every level. This counts the visits of the worst value of `MAX_DEPTH` levels, from above: it may say
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
            for _ in range(MAX_DEPTH):
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
