"""The three-way merge: what a person wrote into the manifest stays, what the source changed comes in.

    base     what was generated the last time
    mine     the manifest as it lies there
    theirs   what is generated now

Tools are matched by id, objects key by key, arrays of objects by what tells their items apart; any other array is one
value. Where both sides changed one value to different ones, that is a conflict: the person's value stays, and the base
keeps its old value there, so that the conflict is listed until it is settled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from pegboard_toolgen._texts import shown, to_line
from pegboard_toolgen.patches import to_pointer

Json = Any
_Key = Callable[[Mapping[str, Any]], Any]


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


ABSENT = _Absent()


def _by(*members: str) -> _Key:
    return lambda item: to_line([item.get(member) for member in members])


IDENTITIES: Mapping[tuple[str, ...], _Key] = {
    ("tools",): _by("id"),
    ("tools", "*", "errors"): _by("code"),
    ("tools", "*", "examples"): _by("input"),
    ("tools", "*", "binding", "parameters"): _by("parameter", "in", "name"),
    ("tools", "*", "binding", "body", "fields"): _by("parameter"),
    ("servers", "*", "auth"): _by("kind", "name", "secret_env"),
    ("provenance", "sources"): _by("kind", "name"),
}
"""What tells the items of an array apart, by the array's place; `*` is any key. The order of arguments of a command
line is meaning, so those are one value."""


@attrs.frozen
class Conflict:
    """A place that both sides changed. `tool` is the name of the tool there, `path` a JSON pointer within it."""

    tool: str
    path: str
    base: Json
    mine: Json
    theirs: Json

    def __str__(self) -> str:
        where = f"{self.tool} {self.path}".strip() if self.tool else self.path
        return f"{shown(where, 200)}: yours {_said(self.mine)} stays, the source has {_said(self.theirs)} now"


@attrs.frozen
class Merged:
    """What a merge made.

    Args:
        value: the merged manifest.
        base: the base of the next merge.
        conflicts: in the order of their places.
    """

    value: Json
    base: Json
    conflicts: tuple[Conflict, ...] = ()


def merge_manifests(base: Mapping[str, Any], mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Merged:
    """Merge three manifests; `fingerprint` members are not edits and have to be left out by the caller."""
    run = _Run()
    value, next_base = run.merge(dict(base), dict(mine), dict(theirs), (), ())
    return Merged(value, next_base, tuple(run.conflicts))


class _Run:
    def __init__(self) -> None:
        self.conflicts: list[Conflict] = []

    def merge(
        self, base: Json, mine: Json, theirs: Json, place: tuple[str, ...], path: tuple[str, ...]
    ) -> tuple[Json, Json]:
        """The merged value and the next base; `ABSENT` for what is not there."""
        if _same(mine, theirs):
            return theirs, theirs
        if _same(base, mine):
            return theirs, theirs
        if _same(base, theirs):
            return mine, theirs
        if isinstance(mine, dict) and isinstance(theirs, dict):
            old = base if isinstance(base, dict) else {}
            return self._members(old, mine, theirs, place, path)
        key = IDENTITIES.get(place)
        lists = [[] if one is ABSENT and index == 0 else one for index, one in enumerate((base, mine, theirs))]
        if key is not None and all(_is_keyed(one, key) for one in lists):
            old, new_mine, new_theirs = ({key(item): item for item in one} for one in lists)
            value, next_base = self._members(old, new_mine, new_theirs, place, path)
            return list(value.values()), list(next_base.values())
        self.conflicts.append(Conflict("", to_pointer(path), base, mine, theirs))
        return mine, base

    def _members(
        self, base: dict[str, Json], mine: dict[str, Json], theirs: dict[str, Json], place: tuple[str, ...],
        path: tuple[str, ...],
    ) -> tuple[dict[str, Json], dict[str, Json]]:  # fmt: skip
        value, next_base = {}, {}
        for key in _in_order(theirs, mine, base):
            sides = (base.get(key, ABSENT), mine.get(key, ABSENT), theirs.get(key, ABSENT))
            before = len(self.conflicts)
            inside = (*place, key if (*place, key) in _PREFIXES else "*")
            merged, kept = self.merge(*sides, inside, (*path, key))
            if place == ("tools",) and len(self.conflicts) > before:
                self._name(before, len(path) + 1, sides)
            if merged is not ABSENT:
                value[key] = merged
            if kept is not ABSENT:
                next_base[key] = kept
        return value, next_base

    def _name(self, since: int, depth: int, sides: Sequence[Json]) -> None:
        name = next((side["name"] for side in sides[1:] if isinstance(side, dict) and "name" in side), "")
        for index in range(since, len(self.conflicts)):
            steps = self.conflicts[index].path.split("/")[depth + 1 :]
            inside = "/" + "/".join(steps) if steps else ""
            self.conflicts[index] = attrs.evolve(self.conflicts[index], tool=str(name), path=inside)


_PREFIXES = {key[:length] for key in IDENTITIES for length in range(1, len(key) + 1)}


def _in_order(theirs: Mapping[str, Any], mine: Mapping[str, Any], base: Mapping[str, Any]) -> list[str]:
    """The keys of theirs, each that only the others have behind the one that it follows there."""
    order = list(theirs)
    for side in (mine, base):
        known = set(order)
        previous: str | None = None
        for key in side:
            if key not in known:
                order.insert(order.index(previous) + 1 if previous is not None else 0, key)
                known.add(key)
            previous = key
    return order


def _is_keyed(value: Json, key: _Key) -> bool:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return False
    return len({key(item) for item in value}) == len(value)


def _same(one: Json, other: Json) -> bool:
    if one is ABSENT or other is ABSENT:
        return one is other
    return one is other or to_line(one) == to_line(other)


def _said(value: Json) -> str:
    return "that it is gone" if value is ABSENT else shown(to_line(value), 60)
