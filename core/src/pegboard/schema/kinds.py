"""How each type is written in JSON: the patterns of its text, its JSON types, and which members of a union can be told
apart by them."""

from __future__ import annotations

import sys
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, get_origin
from uuid import UUID

from pegboard._frozen import FrozenDict, freeze
from pegboard.schema import hints

if TYPE_CHECKING:
    from collections.abc import Iterable

V = TypeVar("V")

DATE = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_SECONDS = r":[0-5][0-9](\.[0-9]{1,9})?"
_OFFSET = r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
DATETIME = rf"{DATE[:-1]}T{_CLOCK}{_SECONDS}{_OFFSET}$"
"""RFC 3339: a moment, so with an offset."""
ANY_DATETIME = rf"{DATE[:-1]}T{_CLOCK}{_SECONDS}{_OFFSET}?$"
"""What a tool may answer: its offset may be missing."""
TIME = rf"^{_CLOCK}({_SECONDS})?{_OFFSET}?$"
DURATION = r"^-?P(?=[0-9T])([0-9]{1,9}D)?(T(?=[0-9])([0-9]{1,9}H)?([0-9]{1,9}M)?([0-9]{1,9}(\.[0-9]{1,6})?S)?)?$"
UUID_TEXT = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
DECIMAL = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?$"
BASE64 = r"^[A-Za-z0-9+/]*={0,2}$"
"""Not whether four by four: a pattern that says so takes too long on long text. The hook sees it."""
PATH = r"^[^\u0000]*$"

# In this order: to `isinstance` a bool is an int.
_KINDS: tuple[tuple[str, Any], ...] = (
    ("string", str),
    ("boolean", bool),
    ("integer", int),
    ("number", float),
    ("null", type(None)),
    ("array", list),
    ("object", dict),
)
KINDS = tuple(kind for kind, _ in _KINDS)


class ByType(dict[Any, V]):
    """What is said of types, by type.

    Of a type whose module not every program needs it is said under the type's name, "pathlib.Path", and found when that
    type is asked for, which can only be once somebody has imported it. To import pathlib and decimal here would be a
    twentieth of `pegboard list`.
    """

    def __missing__(self, hint: Any) -> V:
        key = _name_of(hint)
        if key is None or not dict.__contains__(self, key):
            raise KeyError(hint)
        self[hint] = self[key]
        return self[hint]

    def __contains__(self, hint: object) -> bool:
        return self.find(hint) is not None

    def find(self, hint: Any) -> V | None:
        """What is said of the type, or None."""
        try:
            return self[hint]
        except (KeyError, TypeError):  # a hint that is not a class may not even have a hash
            return None


_LATE = {"decimal": ("Decimal",), "pathlib": ("Path", "PurePath")}
"""By module: the types that `ByType` knows by name."""


def _name_of(hint: Any) -> str | None:
    """The name of one of `_LATE`, which is that very type, whatever other types may be called."""
    for module, names in _LATE.items():
        for name in names if module in sys.modules else ():
            if getattr(sys.modules[module], name, None) is hint:
                return f"{module}.{name}"
    return None


def leaf(**schema: Any) -> FrozenDict:
    """The schema of a type that holds no other."""
    return freeze(schema)  # type: ignore[no-any-return]


# A pattern beside each format: by itself a format describes and holds nothing (2020-12, validation, 7.2.1).
INPUT_LEAVES = ByType[FrozenDict](
    {
        str: leaf(type="string"),
        int: leaf(type="integer"),
        float: leaf(type="number"),
        bool: leaf(type="boolean"),
        type(None): leaf(type="null"),
        date: leaf(type="string", format="date", pattern=DATE),
        datetime: leaf(type="string", format="date-time", pattern=DATETIME),
        time: leaf(type="string", pattern=TIME),
        timedelta: leaf(type="string", pattern=DURATION),
        UUID: leaf(type="string", format="uuid", pattern=UUID_TEXT),
        "decimal.Decimal": leaf(type=["string", "number"], pattern=DECIMAL),
        bytes: leaf(type="string", contentEncoding="base64", pattern=BASE64),
        "pathlib.Path": leaf(type="string", pattern=PATH),
        "pathlib.PurePath": leaf(type="string", pattern=PATH),
    }
)
"""What has a JSON form of its own, and the schema of that, as arguments have it."""
_NUMBERS = frozenset({"integer", "number"})


def is_anything(hint: Any) -> bool:
    """Whether the type takes any value."""
    return hint is Any or hint is object


def is_leaf(hint: Any) -> bool:
    """Whether the type has a JSON form of its own; a hint that is not a class may not even have a hash."""
    return is_anything(hint) or (isinstance(hint, type) and hint in INPUT_LEAVES)


def kind_of(value: Any) -> str:
    """The JSON type of a value; a float is "number", whole or not.

    .. versionadded:: 0.1
    """
    for kind, of in _KINDS:
        if isinstance(value, of):
            return kind
    return "nothing that JSON knows"


def kinds_of(hint: Any) -> frozenset[str]:
    """The JSON types that values of the type are written as."""
    hint = hints.unwrap(hint)[0]
    if is_anything(hint):
        return frozenset(KINDS)
    if hints.is_union(hint):
        return frozenset().union(*map(kinds_of, hints.members(hint)))
    if is_leaf(hint):
        types = INPUT_LEAVES[hint]["type"]
        return _with_both_numbers([types] if isinstance(types, str) else types)
    if (closed := hints.closed_values(hint)) is not None:
        return _with_both_numbers(kind_of(value) for _, value in closed)
    origin = get_origin(hint) or hint
    return frozenset({"object" if hints.is_record(hint) or origin in hints.DICTS else "array"})


def _with_both_numbers(kinds: Iterable[str]) -> frozenset[str]:
    """A whole number may be written as either, whatever the type says (2020-12, core, 6.3)."""
    found = frozenset(kinds)
    return found | _NUMBERS if found & _NUMBERS else found


def claims(union: list[Any]) -> dict[str, list[Any]]:
    """Which members a JSON value of each kind may be meant for, in the order in which they are asked.

    Raises:
        HintError: two members cannot be told apart.
    """
    table: dict[str, list[Any]] = {}
    for member in sorted(union, key=_rank):
        for kind in kinds_of(member):
            others = table.setdefault(kind, [])
            for other in others:
                if not _apart(other, member, kind):
                    both = f"{hints.type_name(other)} and {hints.type_name(member)}"
                    raise hints.HintError(
                        f"{both} cannot be told apart in JSON: each may be written as {kind}; keep one, or take "
                        'classes that differ in a required field or in a `kind: Literal["..."]`'
                    )
            others.append(member)
    return table


def _rank(member: Any) -> int:
    hint = hints.unwrap(member)[0]
    # Who takes fewer values is asked first: a literal before its type, an integer before a number.
    if hints.closed_values(hint) is not None:
        return 0
    return 1 if hint is int else 2


def _apart(one: Any, two: Any, kind: str) -> bool:
    one, two = hints.unwrap(one)[0], hints.unwrap(two)[0]
    closed_one, closed_two = hints.closed_values(one), hints.closed_values(two)
    if closed_one is not None:
        return closed_two is None or not closed_one.keys() & closed_two.keys()
    if kind in ("integer", "number"):
        return one is int and (two is float or _name_of(two) == "decimal.Decimal")
    return kind == "object" and hints.is_record(one) and hints.is_record(two) and _disjoint(one, two)


def _disjoint(one: type, two: type) -> bool:
    """Whether no object fits both records: one demands a field that the other lacks, or a shared literal differs."""
    mine, theirs = ({field.key: field for field in hints.fields_of(cls)} for cls in (one, two))
    for name in mine.keys() | theirs.keys():
        here, there = mine.get(name), theirs.get(name)
        if (here is None and there and there.required) or (there is None and here and here.required):
            return True
        if here and there and here.required and there.required:
            tags = [hints.closed_values(hints.unwrap(field.hint)[0]) for field in (here, there)]
            if tags[0] is not None and tags[1] is not None and not tags[0].keys() & tags[1].keys():
                return True
    return False
