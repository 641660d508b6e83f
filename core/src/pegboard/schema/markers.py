"""What `Annotated` may say about a parameter or a field: a description and bounds.

    def roll(sides: Annotated[int, "how many sides", Ge(2), Le(1000)]) -> int: ...

A plain string is a description too, and any object with attributes of these names (`ge`, `max_length`, ...) is read as
a bound, so the markers of the annotated-types package work without being imported here.
"""

from __future__ import annotations

import attrs


@attrs.frozen
class Description:
    """What the value is for; a plain string in `Annotated` says the same.

    .. versionadded:: 0.1
    """

    description: str


@attrs.frozen
class Ge:
    """At least `ge`.

    .. versionadded:: 0.1
    """

    ge: float


@attrs.frozen
class Gt:
    """More than `gt`.

    .. versionadded:: 0.1
    """

    gt: float


@attrs.frozen
class Le:
    """At most `le`.

    .. versionadded:: 0.1
    """

    le: float


@attrs.frozen
class Lt:
    """Less than `lt`.

    .. versionadded:: 0.1
    """

    lt: float


@attrs.frozen
class MultipleOf:
    """A whole multiple of `multiple_of`.

    .. versionadded:: 0.1
    """

    multiple_of: float


@attrs.frozen
class MinLen:
    """At least `min_length` characters, elements or members.

    .. versionadded:: 0.1
    """

    min_length: int


@attrs.frozen
class MaxLen:
    """At most `max_length` characters, elements or members.

    .. versionadded:: 0.1
    """

    max_length: int


@attrs.frozen
class Pattern:
    """A string in which the regular expression `pattern` is found; anchor it with `^` and `$` where all of it is meant.

    .. versionadded:: 0.1
    """

    pattern: str
