"""JSON values that cannot be changed: what makes a `Tool` frozen all the way down.

They stay a `dict` and a `list` to `json`, to validators and to `==`, so nothing has to be thawed to be read.
`thaw` makes a copy that may be changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError("this value is frozen; pegboard.thaw() makes a copy that may be changed")


# Subclasses, and not `types.MappingProxyType` or tuples: the encoder of `json`, `fastjsonschema` and `isinstance` of
# third parties know dict and list alone. What calls `dict.__setitem__` itself gets past it, as past any Python class.
class FrozenDict(dict[str, Any]):
    """A dict that refuses to change. Copies of it are itself; `dict(...)` and `thaw(...)` copy."""

    __slots__ = ()
    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, memo: object) -> FrozenDict:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (dict(self),)


class FrozenList(list[Any]):
    """A list that refuses to change."""

    __slots__ = ()
    __setitem__ = __delitem__ = append = extend = insert = clear = pop = remove = sort = reverse = _refuse
    __iadd__ = __imul__ = _refuse

    def __copy__(self) -> FrozenList:
        return self

    def __deepcopy__(self, memo: object) -> FrozenList:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return freeze, (list(self),)


EMPTY: Mapping[str, Any] = FrozenDict()
_FLAT = frozenset((str, int, float, bool, type(None)))
"""Types of values that hold no other: most arguments are such values alone, and are copied as a whole."""
_KEPT = _FLAT | {FrozenDict, FrozenList}
"""Types of values that are frozen as they are."""


def freeze(value: Any) -> Any:
    """The same JSON value, frozen all the way down; what is frozen already is returned as it is.

    It is a dict or a list all the same. `thaw` makes a copy that may be changed.

    .. versionadded:: 0.1
    """
    if type(value) in _KEPT:
        return value
    if isinstance(value, dict):
        made = FrozenDict(value)
        for key, item in value.items():
            if type(item) not in _KEPT:
                dict.__setitem__(made, key, freeze(item))
        return made
    if isinstance(value, (list, tuple)):
        return FrozenList([item if type(item) in _KEPT else freeze(item) for item in value])
    return value


def share(value: Any, parts: dict[Any, Any]) -> Any:
    """The same JSON value, frozen, of parts that are the very objects of what was shared before with these `parts`.

    A source of thousands of tools has few kinds of parameters, and each costs 200 bytes wherever it stands. `parts` is
    an empty dict at first, and may be let go when all are made.

    .. versionadded:: 0.1
    """
    kind = type(value)
    if isinstance(value, dict):
        made = FrozenDict({share(key, parts): share(item, parts) for key, item in value.items()})
        # By identity, which `parts` keeps alive: what is equal in Python is not always the same JSON, as 1 and true.
        return parts.setdefault((FrozenDict, tuple(made), tuple(map(id, made.values()))), made)
    if isinstance(value, (list, tuple)):
        items = FrozenList([share(item, parts) for item in value])
        return parts.setdefault((FrozenList, tuple(map(id, items))), items)
    return parts.setdefault((kind, value), value) if kind in (str, int) else value  # 0.0 is -0.0, and is not


def thaw(value: Any) -> Any:
    """A copy of a JSON value, frozen or not, of plain dicts and lists that may be changed; what is in none of them is
    not copied.

    .. versionadded:: 0.1
    """
    if isinstance(value, dict):
        is_flat = _FLAT.issuperset(map(type, value.values()))
        return dict(value) if is_flat else {key: thaw(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return list(value) if _FLAT.issuperset(map(type, value)) else [thaw(item) for item in value]
    return value
