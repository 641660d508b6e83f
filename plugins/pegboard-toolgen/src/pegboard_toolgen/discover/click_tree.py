"""A click tree as commands: what `to_info_dict` says of groups, commands and parameters, and a little more.

Pure: takes the JSON that the probe gave, which is third-party data, and looks at every value before it uses it. Hidden
commands and options are left out, so are eager ones (`--help`, `--version`): they end the program.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard.limits import SUBCOMMAND_LEVELS
from pegboard_toolgen.discover import _program_words as guess
from pegboard_toolgen.discover._program_drafts import MAX_ENUM
from pegboard_toolgen.discover._program_parts import Command, Level, Parameter
from pegboard_toolgen.discover._reading import flag, items, names, number, text
from pegboard_toolgen.drafts import LeftOut

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = Any
MAX_DEPTH = SUBCOMMAND_LEVELS
_UUID = r"^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$"
_MARK = re.compile(r"^[ \t]*\x08[ \t]*\n", re.MULTILINE)
_ENDS = frozenset(("--help", "--version", "--install-completion", "--show-completion"))
"""Flags that end the program; those of Typer write into the shell of a person, and are not marked as eager."""
_PRIMITIVES: dict[str, dict[str, Json]] = {
    "String": {"type": "string"},
    "Bool": {"type": "boolean"},
    "Int": {"type": "integer"},
    "IntRange": {"type": "integer"},
    "Float": {"type": "number"},
    "FloatRange": {"type": "number"},
    "UUID": {"type": "string", "pattern": _UUID},
    "DateTime": {"type": "string"},
    "Path": {"type": "string"},
    "File": {"type": "string"},
    "Unprocessed": {"type": "string"},
}


def commands_of(tree: Json, program: str, about: str = "") -> Iterator[Command | LeftOut]:
    """Every command that can be called, in the tree's order.

    Args:
        tree: the node of the program, as the probe gives it.
        program: its name, for what is left out.
        about: what its distribution says of it; click's own help says that of a program.
    """
    yield from _walk(tree, program, (), None, ())


def _walk(
    node: Json, program: str, above: tuple[Level, ...], word: str | None, notes: tuple[str, ...]
) -> Iterator[Command | LeftOut]:
    path = " ".join([program, *(level.word for level in above if level.word), *([word] if word else [])])
    if not isinstance(node, dict) or len(above) > MAX_DEPTH:
        yield LeftOut(f"program:{path}"[:300], "its description cannot be read", path[:200])
        return
    if flag(node, "hidden"):
        return
    levels = (*above, Level(word=word, parameters=_parameters(node)))
    children = node.get("commands")
    # A group whose commands have names of their own has no place left for words of its own before them.
    if isinstance(children, dict):
        if flag(node, "chain"):
            notes = (*notes, "Several commands could be chained in one line; one is called.")
        for name in list(children)[:2_000]:
            yield from _walk(children[name], program, levels, str(name), notes)
        failed = node.get("failed")
        for name, why in list(failed.items())[:200] if isinstance(failed, dict) else ():
            yield LeftOut(f"program:{path} {name}"[:300], f"it could not be looked at: {text(why, 200)}", path[:200])
        if not (flag(node, "invoke_without_command") and not children):
            return
    more: tuple[str, ...] = ()
    if flag(node, "ignore_unknown_options"):
        more = ("It takes options that it does not name; those are not offered.",)
    if flag(node, "deprecated") or (isinstance(node.get("deprecated"), str) and node["deprecated"]):
        more = (*more, "The program calls it deprecated.")
    help_text = text(node.get("help")) or text(node.get("short_help"))
    parameters = levels[-1].parameters
    yield Command(
        levels=(*levels[:-1], Level(word=word, parameters=_with_stdin(parameters, help_text))),
        # A line of its own with a backspace keeps click from rewrapping; a form feed ends the help.
        text=_MARK.sub("", help_text.split("\f")[0]),
        terminator=True,
        reads_input=guess.reads_stdin(help_text) and not any(one.stdin for one in parameters),
        notes=(*notes, *more),
    )


def _with_stdin(parameters: tuple[Parameter, ...], help_text: str) -> tuple[Parameter, ...]:
    """An optional file that takes `-` reads it where it is left out only if the command's help speaks of that."""
    return tuple(
        attrs.evolve(parameter, stdin=None)
        if parameter.stdin == "word" and not parameter.required and not guess.takes_stdin(help_text + parameter.text)
        else parameter
        for parameter in parameters
    )


def _parameters(node: dict[str, Json]) -> tuple[Parameter, ...]:
    infos = [info for info in items(node.get("params"))[:500] if isinstance(info, dict)]
    found = [text(info.get("name"), 128) for info in infos]
    return tuple(
        parameter
        for info, name in zip(infos, found, strict=True)
        if (parameter := _parameter(info, name, is_shared=found.count(name) > 1)) is not None
    )


def _parameter(info: dict[str, Json], name: str, *, is_shared: bool) -> Parameter | None:
    if flag(info, "hidden"):
        return None
    is_option = info.get("param_type_name") == "option"
    flags = names(info.get("opts")) if is_option else ()
    off_flags = names(info.get("secondary_opts")) if is_option else ()
    if is_option and not flags and not off_flags:
        return None
    if is_option and flag(info, "is_eager") and flag(info, "is_flag"):
        return None
    if is_option and set(flags) & _ENDS and flag(info, "is_flag"):
        return None
    help_text = text(info.get("help"))
    notes = _notes(info)
    required = flag(info, "required")
    if info.get("prompt") and is_option:
        # Nobody is there to be asked: what would be asked for has to be given.
        required = required or info.get("default") is None
    common: dict[str, Any] = {"flags": flags, "off_flags": off_flags, "text": help_text, "notes": notes}
    if flag(info, "count"):
        return Parameter(name=name, form="count", **common)
    if is_option and flag(info, "is_flag"):
        # Several options that share a parameter (--upper, --lower) are a flag each, named by its own words.
        default = info.get("default") if isinstance(info.get("default"), bool) else None
        own = max(flags, key=len).lstrip("-") if is_shared and flags else name
        form: Literal["negatable", "flag"] = "negatable" if off_flags else "flag"
        return Parameter(name=own, form=form, default=default, required=required and not is_shared, **common)
    return _valued(info, name, common, required=required, is_option=is_option)


def _valued(info: dict[str, Json], name: str, common: dict[str, Any], *, required: bool, is_option: bool) -> Parameter:
    kind = info.get("type") if isinstance(info.get("type"), dict) else {}
    assert isinstance(kind, dict)
    words: int | None = number(info.get("nargs"), 1)
    paths: tuple[bool, ...] = ()
    if words is not None and (words < 1 or words > 100):
        words = None
    schemas = tuple(_schema(one)[0] for one in items(kind.get("types"))[:20] if isinstance(one, dict))
    schema, access, dash, lost = _schema(kind)
    if schemas:
        inner = [_schema(one) for one in items(kind.get("types"))[:20] if isinstance(one, dict)]
        accesses = {one[1] for one in inner if one[1]}
        paths = tuple(one[1] is not None for one in inner) if accesses else ()
        access = None if not accesses else accesses.pop() if len(accesses) == 1 else "write"
        lost = tuple(note for one in inner for note in one[3])
        if paths and not is_option:
            return Parameter(
                name=name, dropped="words of which some are paths cannot be judged", required=required, **common
            )
        words = len(schemas)
        schemas = () if all(one == schemas[0] for one in schemas) else schemas
        schema = schema if schemas else _schema(inner_type(kind))[0]
    metavar = text(info.get("metavar"), 80)
    if access in ("read", "guess") and guess.is_output(name):
        access = "write"  # that it may be `-` says nothing of a file
    is_text = access is None and not schemas and schema == {"type": "string"} and words == 1
    if is_text and guess.is_path(name if not is_option else "", metavar, common["text"]):
        access = guess.access_of(name, common["text"])
        lost = (*lost, "taken for a path by its name or help.")
    return Parameter(
        name=name,
        schema=schema,
        schemas=schemas,
        words=words,
        at_least=1 if words is None and required else 0,
        repeats=flag(info, "multiple"),
        is_optional=is_option and words == 1 and _may_stand_alone(info),
        required=required,
        access=access,  # type: ignore[arg-type]
        paths=paths,
        stdout=access == "write" and (kind.get("param_type") == "File" or flag(kind, "allow_dash")),
        stdin="word" if dash and words == 1 and not is_option and access == "read" else None,
        default=info.get("default"),
        metavar=metavar,
        **{**common, "notes": (*common["notes"], *lost)},
    )


def _may_stand_alone(info: dict[str, Json]) -> bool:
    """click: `is_flag=False, flag_value=...` is an option with a value that may be left out."""
    return isinstance(info.get("flag_value"), str | int | float) and not flag(info, "multiple")


def inner_type(kind: dict[str, Json]) -> dict[str, Json]:
    """The first type of a tuple."""
    first = items(kind.get("types"))[:1]
    return first[0] if first and isinstance(first[0], dict) else {}


def _notes(info: dict[str, Json]) -> tuple[str, ...]:
    notes = []
    if variables := names(info.get("envvar")) or (text(info.get("envvar"), 128),):
        listed = ", ".join(filter(None, variables))
        if listed:
            notes.append(f"the program also takes it from the environment variable {listed}, which it is not given.")
    if info.get("prompt"):
        notes.append("the program would ask a person for it.")
    if flag(info, "hide_input") or guess.is_secret(text(info.get("name"), 128)):
        notes.append("a secret on the command line is seen by others on the machine.")
    return tuple(notes)


def _schema(kind: dict[str, Json]) -> tuple[dict[str, Json], str | None, bool, tuple[str, ...]]:
    """The schema of a type; `read`, `write` or `guess` of a path; whether it takes `-`; what was lost."""
    name = text(kind.get("param_type"), 80)
    schema = dict(_PRIMITIVES.get(name, {"type": "string"}))
    lost: tuple[str, ...] = ()
    if name == "Choice":
        choices = [choice for choice in items(kind.get("choices")) if isinstance(choice, str)]
        if 0 < len(choices) <= MAX_ENUM:
            return {"type": "string", "enum": list(dict.fromkeys(choices))}, None, False, ()
        return schema, None, False, ("its choices are too many to list.",) if choices else ()
    if name in ("IntRange", "FloatRange"):
        return {**schema, **_range(kind, is_clamped=flag(kind, "clamp"))}, None, False, ()
    if name == "DateTime":
        formats = [text(one, 60) for one in items(kind.get("formats"))[:10]]
        return (
            {**schema, "description": f"A date and time as {' or '.join(formats)}."} if formats else schema,
            None,
            False,
            (),
        )
    if name == "File":
        mode = text(kind.get("mode"), 8) or "r"
        return schema, "write" if set(mode) & set("wax+") else "read", "r" in mode and "+" not in mode, ()
    if name == "Path":
        if flag(kind, "writable"):
            return schema, "write", False, ()
        dash = flag(kind, "allow_dash")
        return schema, "read" if dash else "guess", dash, ()
    if name not in _PRIMITIVES and name not in ("Tuple", "Func"):
        lost = (f"its type {name or 'without a name'} is the program's own; text is taken.",)
    return schema, None, False, lost


def _range(kind: dict[str, Json], *, is_clamped: bool) -> dict[str, Json]:
    if is_clamped:
        return {}
    found: dict[str, Json] = {}
    for key, closed, opened in (("min", "minimum", "exclusiveMinimum"), ("max", "maximum", "exclusiveMaximum")):
        value = kind.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            found[opened if flag(kind, f"{key}_open") else closed] = value
    return found
