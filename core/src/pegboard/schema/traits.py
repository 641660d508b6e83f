"""What a schema lets through unseen, and what it may cost: so that nothing is walked or counted without need."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from pegboard.schema.keywords import DRAFT_2020, IN_PLACE, dialect_of, subschemas
from pegboard.schema.refs import References, base_inside

if TYPE_CHECKING:
    from collections.abc import Callable

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
        self._below: dict[int, dict[int, int]] = {}
        self._bases: dict[int, tuple[Any, str]] = {}

    def explode(self) -> bool:
        schema, base = self.refs.root
        try:
            visits = self.here(schema, base)
            for _ in range(MAX_DEPTH):
                below = self._sum(visits, self.below)
                if not below:
                    break
                visits = self._sum(below, lambda item: self.here(*self._bases[item]))
        except (_TooMuchError, RecursionError):
            return True
        return False

    def _sum(self, counts: dict[int, int], of: Callable[[int], dict[int, int]]) -> dict[int, int]:
        total: dict[int, int] = {}
        for item, count in counts.items():
            for other, times in of(item).items():
                total[other] = total.get(other, 0) + count * times
            self.work += 1
        self.work += len(total)
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
            counts = self._sum(children, lambda item: self.here(*self._bases[item]))
            counts[key] = counts.get(key, 0) + 1
            self._here[key] = counts
        return self._here[key]

    def below(self, key: int) -> dict[int, int]:
        """The schemas one level down, and how often one value there meets each at most."""
        if key not in self._below:
            schema, base = self._bases[key]
            slots: dict[tuple[int, object], int] = {}
            for steps, item in subschemas(schema, self.refs.dialect):
                if steps[0] in IN_PLACE or steps[0] in ("definitions", "$defs"):
                    continue
                child = id(item)
                self._bases.setdefault(child, (item, base_inside(item, base, self.refs.dialect)))
                slot = (child, steps[1] if steps[0] == "properties" else steps[0])
                slots[slot] = slots.get(slot, 0) + 1
            found: dict[int, int] = {}
            for (child, _), count in slots.items():
                found[child] = max(found.get(child, 0), count)
            self._below[key] = found
        return self._below[key]

    def _add(self, children: dict[int, int], schema: Any, base: str) -> None:
        self._bases.setdefault(id(schema), (schema, base))
        children[id(schema)] = children.get(id(schema), 0) + 1
