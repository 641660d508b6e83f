"""The way back from the form that a provider holds a model to: null for what was left out, aliases for names.

A plan mirrors those parts of a compiled schema where something changed; None means nothing did. `restore` takes what a
model wrote to the tool's own form, `fill` takes that to what a model would have to write. Both copy what they change,
leave alone what does not fit the plan, and never raise: what the model wrote is validated afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Plan(Protocol):
    """What changed in one part of a schema."""

    def restore(self, value: Any) -> Any:
        """What a model wrote, in the tool's own form."""
        ...

    def fill(self, value: Any) -> Any:
        """Arguments of the tool, in the form that a model writes."""
        ...


class Member(NamedTuple):
    """One property: its own name, whether null is written where it is left out, whether null is a value of it as well
    (which its default makes the same), the plan of its value, and whether its null (also the same) is left out."""

    name: str
    absent: bool
    is_null: bool
    plan: Plan | None
    is_dropped: bool = False


class ObjectPlan:
    """An object; `members` by the name that the model sees, those without any change left out."""

    def __init__(self, members: Mapping[str, Member]) -> None:
        self.members = members

    def restore(self, value: Any) -> Any:
        """Leave out the nulls that stand for nothing, rename the rest."""
        if not isinstance(value, dict):
            return value
        restored = {}
        for key, item in value.items():
            member = self.members.get(key)
            if member is None:
                restored[key] = item
            elif item is not None or not member.absent or member.is_null:
                restored[member.name] = item if member.plan is None else member.plan.restore(item)
        return restored

    def fill(self, value: Any) -> Any:
        """Write null for what is left out."""
        if not isinstance(value, dict):
            return value
        filled = dict(value)
        for key, (name, absent, _, plan, is_dropped) in self.members.items():
            if name in value:
                filled.pop(name, None)
                if is_dropped and value[name] is None:
                    continue
                filled[key] = value[name] if plan is None else plan.fill(value[name])
            elif absent:
                filled[key] = None
        return filled


class ArrayPlan:
    """An array whose items all follow one plan."""

    def __init__(self, items: Plan) -> None:
        self.items = items

    def restore(self, value: Any) -> Any:
        """Item by item."""
        return [self.items.restore(item) for item in value] if isinstance(value, list) else value

    def fill(self, value: Any) -> Any:
        """Item by item."""
        return [self.items.fill(item) for item in value] if isinstance(value, list) else value


class Shape(NamedTuple):
    """How an object of a union is told from the others: its properties, the required ones, fixed values."""

    names: frozenset[str]
    required: frozenset[str]
    tags: Mapping[str, Sequence[Any]]

    def is_own(self, value: Mapping[str, Any]) -> bool:
        """Whether an object in the tool's own form may be of this shape."""
        return self.required <= value.keys() <= self.names and self._tags_fit(value)

    def is_written(self, value: Mapping[str, Any]) -> bool:
        """Whether an object as the model writes it may be of this shape: there it has every property."""
        return value.keys() == self.names and self._tags_fit(value)

    def is_apart(self, other: Shape) -> bool:
        """Whether no object can be of both."""
        if self.required - other.names or other.required - self.names:
            return True
        return any(
            name in other.tags
            and name in self.required
            and name in other.required
            and not any(tag in other.tags[name] for tag in tags)
            for name, tags in self.tags.items()
        )

    def _tags_fit(self, value: Mapping[str, Any]) -> bool:
        return all(name not in value or value[name] in tags for name, tags in self.tags.items())


class UnionPlan:
    """One of several: objects are told apart by their shapes, and arrays are of at most one plan."""

    def __init__(self, objects: Sequence[tuple[Shape, Plan | None]], array: Plan | None) -> None:
        self.objects = objects
        self.array = array

    def restore(self, value: Any) -> Any:
        """By the plan of the shape that the value has."""
        if isinstance(value, dict):
            plan = next((plan for shape, plan in self.objects if shape.is_written(value)), None)
            return value if plan is None else plan.restore(value)
        return self.array.restore(value) if self.array is not None else value

    def fill(self, value: Any) -> Any:
        """By the plan of the shape that the value has."""
        if isinstance(value, dict):
            plan = next((plan for shape, plan in self.objects if shape.is_own(value)), None)
            return value if plan is None else plan.fill(value)
        return self.array.fill(value) if self.array is not None else value


class NamedPlan:
    """The plan of a definition that may contain itself, looked up when it is needed."""

    def __init__(self, table: Mapping[str, Plan | None], name: str) -> None:
        self.table = table
        self.name = name

    def restore(self, value: Any) -> Any:
        """By the plan of that name."""
        plan = self.table.get(self.name)
        return value if plan is None else plan.restore(value)

    def fill(self, value: Any) -> Any:
        """By the plan of that name."""
        plan = self.table.get(self.name)
        return value if plan is None else plan.fill(value)
