"""What classes with fields share: how they are shown, and when they are equal.

attrs writes and compiles `__repr__`, `__eq__` and `__hash__` for every class as the class is made. That is half of what
making it costs, a program that starts makes some forty classes, and of most nobody ever asks for any of the three. So
the classes of the core leave them out, `@attrs.frozen(repr=False, eq=False)`, and inherit them from here: one reading
of the fields for all, slower by a microsecond where it is asked for. Both do what attrs does.
"""

from __future__ import annotations

from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator


class Shown:
    """A class of attrs that is shown with its fields, as in `RateLimit(count=10, period_s=60.0)`.

    A field with `repr=False` is left out, one with a function is shown by that, and a value inside of itself as `...`.
    """

    __slots__ = ()
    __attrs_attrs__: ClassVar[tuple[attrs.Attribute[Any], ...]]

    @recursive_repr()
    def __repr__(self) -> str:
        return f"{type(self).__qualname__.rpartition('>.')[2]}({', '.join(self._shown_fields())})"

    def _shown_fields(self) -> Iterator[str]:
        for field in self.__attrs_attrs__:
            if field.repr is not False:
                show = repr if field.repr is True else field.repr
                yield f"{field.name}={show(getattr(self, field.name, attrs.NOTHING))}"


class Value(Shown):
    """One that is equal to another of its very class with the same fields, and whose hash is theirs."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(
            getattr(self, field.name) == getattr(other, field.name) for field in self.__attrs_attrs__ if field.eq
        )

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, field.name) for field in self.__attrs_attrs__ if field.eq)))
