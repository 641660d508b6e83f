"""When two JSON values are equal: 1 is 1.0, neither is true, and the order of properties does not matter.

JSON Schema 2020-12, core, section 4.2.2. Python alone says that `True == 1`, inside of containers too.
"""

from __future__ import annotations

from typing import Any

__all__ = ["identity", "same"]


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal.

    .. versionadded:: 0.1
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def identity(value: Any) -> Any:
    """Something hashable for a JSON value; two of them are equal where `same` says so.

    .. versionadded:: 0.1
    """
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, dict):
        return dict, frozenset((key, identity(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return list, tuple(map(identity, value))
    return value
