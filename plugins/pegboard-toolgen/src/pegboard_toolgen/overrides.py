"""`overrides/*.json`: lasting changes to what is generated, applied in the order of the files' names.

A file is an object. Its keys are ids or names of tools, or parts of the manifest beside the tools (`project`,
`servers`, `programs`, `modules`, `$defs`); a value that is an object is a JSON Merge Patch (RFC 7396) of that tool or
part, null takes a tool out, and a list is a JSON Patch (RFC 6902) of it:

    {"sqlite_utils_tables": {"category": "read"}, "http:GET /x": [{"op": "remove", "path": "/title"}]}

The same may be said apart, as `{"merge": {KEY: ...}, "patch": {KEY: [...]}}`. A key that is nothing, an operation whose
place is not there and a null that takes out nothing are errors: all of them are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ConfigError
from pegboard_toolgen._texts import counted, shown
from pegboard_toolgen.folder import OVERRIDES
from pegboard_toolgen.names import nearest
from pegboard_toolgen.patches import PatchError, apply_patch, merge_patch, unmatched_removals

if TYPE_CHECKING:
    from pegboard_toolgen.folder import Folder

PARTS = ("project", "servers", "programs", "modules", "$defs", "provenance")
"""What can be changed beside the tools."""
MAX_FILES = 200
MAX_FAULTS = 50


@attrs.frozen
class Override:
    """What one file says of one tool or part.

    Args:
        file: where it stands, for messages.
        key: an id, a name, or one of `PARTS`.
        value: a merge patch, null, or a list of operations.
    """

    file: str
    key: str
    value: Any


def read_overrides(folder: Folder) -> list[Override]:
    """The overrides of a folder, in order.

    Raises:
        ConfigError: a file is not of this form, or cannot be read.
    """
    place = folder.path / OVERRIDES
    if place.is_symlink() or not place.is_dir():
        if place.is_symlink() or place.exists():
            raise ConfigError(f"{OVERRIDES} is not a folder", hint="move it away")
        return []
    try:
        listed = [one.name for one in place.iterdir()]
    except OSError as problem:
        raise ConfigError(f"{OVERRIDES} cannot be read: {problem.strerror}", hint="look at its rights") from None
    names = sorted(name for name in listed if name.endswith(".json") and not name.startswith("."))
    if len(names) > MAX_FILES:
        raise ConfigError(f"{OVERRIDES} has more than {MAX_FILES} files")
    found: list[Override] = []
    for name in names:
        file = f"{OVERRIDES}/{name}"
        found += overrides_of(folder.read_json(file), file)
    return found


def overrides_of(content: Any, file: str) -> list[Override]:
    """What one file says.

    Raises:
        ConfigError: it is not of the form above.
    """
    if not isinstance(content, dict):
        raise ConfigError(f"{shown(file)}: expected an object whose keys are ids or names of tools")
    is_apart = (
        bool(content)
        and content.keys() <= {"merge", "patch"}
        and all(isinstance(one, dict) for one in content.values())
    )
    if not is_apart:
        content = {"merge": {key: value for key, value in content.items() if not isinstance(value, list)},
                "patch": {key: value for key, value in content.items() if isinstance(value, list)}}  # fmt: skip
    found = []
    for kind, expected in (("merge", "an object or null"), ("patch", "a list of operations")):
        for key, value in content.get(kind, {}).items():
            is_right = isinstance(value, list) if kind == "patch" else value is None or isinstance(value, dict)
            if not is_right:
                raise ConfigError(
                    f"{shown(file)}: {shown(key, 100)}: expected {expected}, got {shown(repr(value), 60)}"
                )
            found.append(Override(file, key, value))
    return found


def apply_overrides(document: Mapping[str, Any], overrides: list[Override]) -> dict[str, Any]:
    """The manifest with these overrides.

    Raises:
        ConfigError: one of them matches nothing, or cannot be applied; all such are listed.
    """
    parts = {key: value for key, value in document.items() if key != "tools"}
    tools = {tool["id"]: tool for tool in document["tools"]}
    by_name = {tool["name"]: tool["id"] for tool in document["tools"]}
    faults: list[str] = []
    for one in overrides:
        id_ = one.key if one.key in tools else by_name.get(one.key)
        place = f"{one.file}: {shown(one.key, 100)}"
        if id_ is None and one.key not in PARTS:
            near = nearest(one.key, {*tools, *by_name, *PARTS})
            faults.append(f"{place}: there is no such tool" + (f" (did you mean {shown(near, 100)}?)" if near else ""))
            continue
        target = parts.get(one.key, {}) if id_ is None else tools.get(id_)
        if target is None:
            faults.append(f"{place}: an override before this one takes the tool out")
            continue
        try:
            changed = _changed(target, one.value)
        except PatchError as problem:
            faults.append(f"{place}: {problem}")
            continue
        if id_ is None:
            parts = _with(parts, one.key, changed)
        else:
            if isinstance(changed, Mapping) and changed.get("id") != id_:
                faults.append(f"{place}: the id of a tool stays as it is: it says what is bound")
                continue
            tools = _with(tools, id_, changed)
    if faults:
        more = [f"and {len(faults) - MAX_FAULTS:,} more"] if len(faults) > MAX_FAULTS else []
        raise ConfigError(
            "\n  ".join([f"{counted(len(faults), 'override')} cannot be applied:", *faults[:MAX_FAULTS], *more]),
            hint="repair them, or take them out",
        )
    return {**parts, "tools": [tool for tool in tools.values() if tool is not None]}


def _changed(target: Any, value: Any) -> Any:
    if isinstance(value, list):
        changed = apply_patch(target, value)
        if not isinstance(changed, Mapping):
            raise PatchError("what is left is not an object")
        return changed
    if value is None:
        return None
    missing = unmatched_removals(target, value)
    if missing:
        raise PatchError(f"there is no {shown(missing[0], 100)} to take out")
    return merge_patch(target, value)


def _with(table: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    return {name: value if name == key else one for name, one in {**table, key: value}.items()}
