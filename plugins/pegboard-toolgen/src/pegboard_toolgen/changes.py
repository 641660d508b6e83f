"""What is different about a tool between two discoveries, in words: which option, parameter or type came, went or
changed. Values in, sentences out.

Schemas are compared member by member (`body.title`, `tags[]`), through references and alternatives, so that a change in
a shared definition is said of each tool that it reaches. Whatever differs is said: where no finer words are found, the
part's own name is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard.limits import MEMBER_LEVELS
from pegboard_toolgen._texts import shown, to_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Json = Any
MAX_DEPTH = MEMBER_LEVELS
"""How deep members are followed; what is deeper is said of the member above it."""
MAX_MEMBERS = 2_000
_STRUCTURE = frozenset(("type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs"))
_SAID_WHOLE = ("category", "risk", "idempotency", "timeout_ms")
PROVENANCE = "provenance"


@attrs.define
class _Member:
    """One place in a schema: its types, whether it has to be there, and what else is said of its values."""

    kinds: set[str] = attrs.field(factory=set)
    required: bool = False
    rest: dict[str, Json] = attrs.field(factory=dict)

    @property
    def kind(self) -> str:
        return " or ".join(sorted(self.kinds, key=lambda kind: (kind == "null", kind))) or "any"


def changes_of(
    old: Mapping[str, Json], new: Mapping[str, Json], was: Mapping[str, Json], now: Mapping[str, Json]
) -> list[str]:
    """What is different, in sentences without a subject; empty where nothing is.

    Args:
        old, new: the tool in two manifests, under one id.
        was, now: the definitions of each manifest.
    """
    found: list[str] = []
    for part, what in (("input_schema", _labels(old, new)), ("output_schema", _Outputs())):
        said = list(_of_members(_members(_whole(old, part), was), _members(_whole(new, part), now), what))
        found += said or ([part] if _line(old, part) != _line(new, part) else [])
    found += _of_bindings(old.get("binding", {}), new.get("binding", {}))
    for key in sorted((old.keys() | new.keys()) - {"input_schema", "output_schema", "binding"}):
        before, after = _line(old, key), _line(new, key)
        if before != after:
            found.append(f"{key} is now {_value(after)}, was {_value(before)}" if key in _SAID_WHOLE else key)
    return found


def _whole(tool: Mapping[str, Json], part: str) -> Json:
    """A schema, the input's with the options that stand in one object: what moves there came or went for nobody."""
    schema, options = tool.get(part, {}), tool.get("binding", {}).get("options")
    if part != "input_schema" or options is None:
        return schema
    return {**schema, "properties": {**options["schema"]["properties"], **schema.get("properties", {})}}


def _line(where: Mapping[str, Json], key: str) -> str | None:
    """What stands there, for a comparison; None: nothing does, which is not null."""
    return to_line(where[key]) if key in where else None


# -- schemas


def _members(schema: Json, defs: Mapping[str, Json]) -> dict[str, _Member]:
    """Every member of a schema by its path; the schema itself is the path without a name."""
    found: dict[str, _Member] = {}

    def walk(one: Json, path: str, depth: int, above: tuple[str, ...]) -> None:
        if not isinstance(one, dict) or depth > MAX_DEPTH or len(found) > MAX_MEMBERS:
            return
        member = found.setdefault(path, _Member())
        reference = one.get("$ref")
        if isinstance(reference, str):
            name = reference.removeprefix("#/$defs/")
            member.rest.setdefault("means", name) if name in above else None
            if name in defs and name not in above:
                walk(defs[name], path, depth, (*above, name))
        for inner in (part for key in ("anyOf", "oneOf", "allOf") for part in _list(one.get(key))):
            walk(inner, path, depth + 1, above)
        kinds = one.get("type")
        member.kinds |= {str(kind) for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind is not None}
        for key, value in one.items():
            if key not in _STRUCTURE:
                member.rest[key] = _merged(member.rest[key], value) if key in member.rest else value
        properties = one.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            place = f"{path}.{name}" if path else str(name)
            walk(inner, place, depth + 1, above)
            if place in found:
                found[place].required |= name in _list(one.get("required"))
        walk(one.get("items"), f"{path}[]", depth + 1, above)

    walk(schema, "", 0, ())
    return found


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _merged(before: Json, value: Json) -> Json:
    """What alternatives say together: all values of an enum; of anything else, each once."""
    if to_line(before) == to_line(value):
        return value
    return [*before, *value] if isinstance(before, list) and isinstance(value, list) else [before, value]


class _Outputs:
    """Members of an answer, as people call them."""

    def of(self, path: str) -> str:
        return f"output {shown(path, 100)}" if path else "output"


@attrs.frozen
class _Labels:
    """Members of the input, as people call them: a program's by their options."""

    flags: Mapping[str, str]
    other: str

    def of(self, path: str) -> str:
        if not path:
            return "input"
        top = path.partition(".")[0].partition("[")[0]
        if top == path and path in self.flags:
            return f"option {shown(self.flags[path], 100)}"
        return f"{self.other} {shown(path, 100)}"


def _labels(*tools: Mapping[str, Json]) -> _Labels:
    bindings = [tool.get("binding", {}) for tool in tools]
    is_program = any(binding.get("kind") == "subprocess" for binding in bindings)
    flags = {
        parameter: str(entry["flag"])
        for binding in bindings
        for parameter, entry in _entries(binding).items()
        if entry.get("flag")
    }
    return _Labels(flags, "argument" if is_program else "parameter")


def _of_members(before: Mapping[str, _Member], after: Mapping[str, _Member], what: _Labels | _Outputs) -> Iterator[str]:
    came, gone = after.keys() - before.keys(), before.keys() - after.keys()
    for path in sorted(before.keys() | after.keys()):
        if path in came:
            if not _is_below(path, came):
                yield f"{what.of(path)} came ({after[path].kind}{', required' if after[path].required else ''})"
        elif path in gone:
            if not _is_below(path, gone):
                yield f"{what.of(path)} is gone"
        elif said := list(_of_member(before[path], after[path])):
            yield f"{what.of(path)} {', '.join(said)}"


def _is_below(path: str, others: set[str]) -> bool:
    """Whether a member above this one is in `others`: what it holds came or went with it."""
    return any(path.startswith((f"{other}.", f"{other}[")) for other in others if other)


def _of_member(before: _Member, after: _Member) -> Iterator[str]:
    if before.kinds != after.kinds:
        yield f"is now {after.kind}, was {before.kind}"
    if before.required != after.required:
        yield "is now required" if after.required else "is now optional"
    for key in sorted(before.rest.keys() | after.rest.keys()):
        old, new = _line(before.rest, key), _line(after.rest, key)
        if old == new:
            continue
        if key == "enum":
            yield from _of_choices(_list(before.rest.get(key)), _list(after.rest.get(key)))
        elif key in ("description", "title", "examples"):
            yield f"has another {key.removesuffix('s')}"
        else:
            yield f"has {key} {_value(new)}, had {_value(old)}"


def _of_choices(old: list[Json], new: list[Json]) -> Iterator[str]:
    known, now = {to_line(one) for one in old}, {to_line(one) for one in new}
    if not old or not new:
        yield "takes any value now" if old else f"takes only {_several(new)} now"
        return
    if came := [one for one in new if to_line(one) not in known]:
        yield f"takes {_several(came)} too"
    if gone := [one for one in old if to_line(one) not in now]:
        yield f"takes {_several(gone)} no more"
    if known == now:
        yield "has its values in another order"


def _several(values: list[Json], most: int = 5) -> str:
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(_value(to_line(one)) for one in values[:most]) + more


def _value(line: str | None) -> str:
    return "none" if line is None else shown(line, 60)


# -- bindings


def _entries(binding: Mapping[str, Json]) -> dict[str, Mapping[str, Json]]:
    """How each parameter is passed."""
    listed = [*_list(binding.get("arguments")), *_list(binding.get("parameters"))]
    return {str(one["parameter"]): one for one in listed if isinstance(one, dict) and "parameter" in one}


def _of_bindings(old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[str]:
    before, after = _entries(old), _entries(new)
    for parameter in sorted(before.keys() & after.keys()):
        one, other = before[parameter], after[parameter]
        if one.get("flag") != other.get("flag") and one.get("flag") and other.get("flag"):
            yield f"option {shown(one['flag'], 100)} is now {shown(other['flag'], 100)}"
        elif to_line(one) != to_line(other):
            yield f"{shown(parameter, 100)} is passed in another way"
    if to_line(_fixed(old)) != to_line(_fixed(new)):
        parts = sorted(key for key in old.keys() | new.keys() if _line(old, key) != _line(new, key))
        yield f"binding ({', '.join(parts)})"
    elif [*before] != [*after] and {*before} == {*after}:
        yield "its arguments are passed in another order"


def _fixed(binding: Mapping[str, Json]) -> dict[str, Json]:
    """All of a binding but how parameters are passed."""
    return {
        key: [one for one in value if not (isinstance(one, dict) and "parameter" in one)]
        if key in ("arguments", "parameters") and isinstance(value, list)
        else value
        for key, value in binding.items()
    }
