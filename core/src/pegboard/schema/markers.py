"""What `Annotated` may say about a parameter or a field: a description and bounds.

    def roll(sides: Annotated[int, "how many sides", Ge(2), Le(1000)]) -> int: ...

A plain string is a description too, and any object with attributes of these names (`ge`, `max_length`, ...) is read as
a bound, so the markers of the annotated-types package work without being imported here.
"""

from __future__ import annotations

from typing import Any, dataclass_transform


@dataclass_transform(frozen_default=True)
class Marker:
    """A marker holds what its `__slots__` name, cannot change, and equals another of its class that holds the same.

    Written by hand: tools are described where a short command starts, and attrs takes about 0.3 ms to make a class.
    """

    __slots__: tuple[str, ...] = ()

    def __init__(self, *values: Any, **named: Any) -> None:
        held = {**dict(zip(self.__slots__, values, strict=False)), **named}
        if held.keys() != set(self.__slots__) or len(held) != len(values) + len(named):
            raise TypeError(f"{type(self).__name__} takes {', '.join(self.__slots__)}")
        for name, value in held.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot change")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._held() == other._held()

    def __hash__(self) -> int:
        return hash((type(self), self._held()))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), self._held()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"

    def _held(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)


class Description(Marker):
    """What the value is for; a plain string in `Annotated` says the same.

    .. versionadded:: 0.1
    """

    __slots__ = ("description",)
    description: str


class Ge(Marker):
    """At least `ge`.

    .. versionadded:: 0.1
    """

    __slots__ = ("ge",)
    ge: float


class Gt(Marker):
    """More than `gt`.

    .. versionadded:: 0.1
    """

    __slots__ = ("gt",)
    gt: float


class Le(Marker):
    """At most `le`.

    .. versionadded:: 0.1
    """

    __slots__ = ("le",)
    le: float


class Lt(Marker):
    """Less than `lt`.

    .. versionadded:: 0.1
    """

    __slots__ = ("lt",)
    lt: float


class MultipleOf(Marker):
    """A whole multiple of `multiple_of`.

    .. versionadded:: 0.1
    """

    __slots__ = ("multiple_of",)
    multiple_of: float


class MinLen(Marker):
    """At least `min_length` characters, elements or members.

    .. versionadded:: 0.1
    """

    __slots__ = ("min_length",)
    min_length: int


class MaxLen(Marker):
    """At most `max_length` characters, elements or members.

    .. versionadded:: 0.1
    """

    __slots__ = ("max_length",)
    max_length: int


class Pattern(Marker):
    """A string in which the regular expression `pattern` is found; anchor it with `^` and `$` where all of it is meant.

    .. versionadded:: 0.1
    """

    __slots__ = ("pattern",)
    pattern: str
