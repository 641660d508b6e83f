"""JSON Merge Patch (RFC 7396), JSON Patch (RFC 6902) and JSON Pointer (RFC 6901). Values in, values out.

Nothing that is handed in is changed. A patch that cannot be applied raises `PatchError`, whose text names the operation
and the place; what was applied before it is lost with it, as RFC 6902, 5, demands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pegboard.schema import are_equal
from pegboard_toolgen._texts import shown

Json = Any
MAX_OPERATIONS = 10_000
MAX_LENGTH = 1_000_000
"""Items of an array that is grown."""
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_BAD_ESCAPE = re.compile(r"~(?![01])")
_MEMBERS = {
    "add": {"value"}, "replace": {"value"}, "test": {"value"}, "remove": set(), "move": {"from"}, "copy": {"from"},
}  # fmt: skip


class PatchError(ValueError):
    """A patch is not valid, or does not fit what it is applied to."""


def merge_patch(target: Json, patch: Json) -> Json:
    """Apply a JSON Merge Patch (RFC 7396, 2): objects key by key, null takes a member out, anything else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def unmatched_removals(target: Json, patch: Json, path: tuple[str, ...] = ()) -> list[str]:
    """The places where a merge patch takes out what is not there, as JSON pointers."""
    if not isinstance(patch, Mapping):
        return []
    found = []
    for key, value in patch.items():
        inside = target.get(key) if isinstance(target, Mapping) else None
        if value is None:
            if not isinstance(target, Mapping) or key not in target:
                found.append(to_pointer((*path, key)))
        else:
            found += unmatched_removals(inside, value, (*path, key))
    return found


def apply_patch(document: Json, operations: Json) -> Json:
    """Apply a JSON Patch (RFC 6902, 4).

    Args:
        document: any JSON value.
        operations: a list of `{"op", "path", "value" | "from"}`; other members are ignored, as the RFC says.

    Raises:
        PatchError: it is not a patch, names a place that is not there, or a test fails.

    .. versionadded:: 0.1
    """
    if not isinstance(operations, Sequence) or isinstance(operations, str):
        raise PatchError("a patch is a list of operations")
    if len(operations) > MAX_OPERATIONS:
        raise PatchError(f"a patch of more than {MAX_OPERATIONS:,} operations")
    for index, operation in enumerate(operations):
        try:
            document = _applied(document, operation)
        except PatchError as problem:
            raise PatchError(f"operation {index}: {problem}") from None
    return document


def _applied(document: Json, operation: Json) -> Json:
    if not isinstance(operation, Mapping):
        raise PatchError("an operation is an object")
    name = operation.get("op")
    if not isinstance(name, str) or name not in _MEMBERS:
        raise PatchError(f"op is one of {', '.join(_MEMBERS)}, not {shown(repr(name), 60)}")
    for member in sorted({"path", *_MEMBERS[name]}):
        if member not in operation:
            raise PatchError(f"{name} needs {member}")
    path = parse_pointer(operation["path"])
    if name == "test":
        if not are_equal(_at(document, path), operation["value"]):
            raise PatchError(f"the test of {_shown(path)} fails")
        return document
    if name == "add":
        return _put(document, path, operation["value"], is_new=True)
    if name == "replace":
        _at(document, path)
        return _put(document, path, operation["value"], is_new=False)
    if name == "remove":
        return _without(document, path)
    origin = parse_pointer(operation["from"])
    value = _at(document, origin)
    if name == "copy":
        return _put(document, path, value, is_new=True)
    if path[: len(origin)] == origin and path != origin:
        raise PatchError(f"{_shown(origin)} cannot be moved into itself")
    return document if path == origin else _put(_without(document, origin), path, value, is_new=True)


def parse_pointer(pointer: Json) -> tuple[str, ...]:
    """The steps of a JSON Pointer (RFC 6901, 3 and 4).

    Raises:
        PatchError: it is not valid.
    """
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")) or _BAD_ESCAPE.search(pointer):
        raise PatchError(f"{shown(repr(pointer), 60)} is not a JSON pointer (/tools/0/name)")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def to_pointer(path: Sequence[str | int]) -> str:
    """The JSON Pointer of these steps."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _at(document: Json, path: Sequence[str]) -> Json:
    for index, step in enumerate(path):
        if isinstance(document, Mapping) and step in document:
            document = document[step]
        elif isinstance(document, list) and _INDEX.fullmatch(step) and int(step) < len(document):
            document = document[int(step)]
        else:
            raise PatchError(f"there is no {_shown(path[: index + 1])}")
    return document


def _put(document: Json, path: Sequence[str], value: Json, *, is_new: bool) -> Json:
    """The document with a value at this place; only what leads there is copied."""
    if not path:
        return value
    parent = _at(document, path[:-1])
    last = path[-1]
    if isinstance(parent, Mapping):
        changed: Json = {**parent, last: value}
    elif isinstance(parent, list):
        place = _place(parent, path, is_new=is_new)
        changed = [*parent[:place], value, *parent[place if is_new else place + 1 :]]
    else:
        raise PatchError(f"{_shown(path[:-1])} holds no members")
    return _put(document, path[:-1], changed, is_new=False) if len(path) > 1 else changed


def _place(array: list[Json], path: Sequence[str], *, is_new: bool) -> int:
    last = path[-1]
    if is_new and last == "-":
        last = str(len(array))
    if not _INDEX.fullmatch(last) or int(last) > len(array) - (0 if is_new else 1):
        raise PatchError(f"there is no {_shown(path)}")
    if len(array) >= MAX_LENGTH:
        raise PatchError(f"{_shown(path[:-1])} is too long")
    return int(last)


def _without(document: Json, path: Sequence[str]) -> Json:
    _at(document, path)
    if not path:
        raise PatchError("the whole cannot be removed")
    parent = _at(document, path[:-1])
    if isinstance(parent, Mapping):
        changed: Json = {key: value for key, value in parent.items() if key != path[-1]}
    else:
        place = int(path[-1])
        changed = [*parent[:place], *parent[place + 1 :]]
    return _put(document, path[:-1], changed, is_new=False)


def _shown(path: Sequence[str]) -> str:
    return shown(to_pointer(path), 100) or "the whole"
