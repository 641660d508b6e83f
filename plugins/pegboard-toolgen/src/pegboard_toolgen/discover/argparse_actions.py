"""The actions of an argparse parser as commands.

Pure: takes the JSON that the probe gave, which is third-party data. Sub-parsers become commands of their own; hidden
arguments, `--help` and `--version` are left out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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
_FLAGS = frozenset({"_StoreTrueAction", "_StoreFalseAction", "_StoreConstAction", "_AppendConstAction"})
_ENDS = frozenset({"_HelpAction", "_VersionAction"})
_TYPES: dict[str, dict[str, Json]] = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "Decimal": {"type": "number"},
    "str": {"type": "string"},
    "FileType": {"type": "string"},
    "Path": {"type": "string"},
    "PurePath": {"type": "string"},
    "PosixPath": {"type": "string"},
    "WindowsPath": {"type": "string"},
}
_MARK = re.compile(r"^[A-Z]\|\s*")
"""What formatters of the program's own read in front of a help: `R|` keeps its lines."""
_PATHS = frozenset({"Path", "PurePath", "PosixPath", "WindowsPath"})


def commands_of(tree: Json, program: str, about: str = "") -> Iterator[Command | LeftOut]:
    """Every command that can be called, in the parser's order.

    Args:
        tree: the parser of the program, as the probe gives it.
        program: its name, for what is left out.
        about: what its distribution says of it, where the parser says nothing of the whole.
    """
    yield from _walk(tree, program, (), None, about)


def _walk(
    parser: Json, program: str, above: tuple[Level, ...], word: str | None, short: str
) -> Iterator[Command | LeftOut]:
    path = " ".join([program, *(level.word for level in above if level.word), *([word] if word else [])])
    if not isinstance(parser, dict) or len(above) > MAX_DEPTH:
        yield LeftOut(f"program:{path}"[:300], "its description cannot be read", path[:200])
        return
    actions = [action for action in items(parser.get("actions"))[:500] if isinstance(action, dict)]
    help_text = text(parser.get("description")) or short
    parameters: dict[int, Parameter] = {}
    for index, action in enumerate(actions):
        parameter = _parameter(action, help_text)
        if parameter is not None:
            parameters[index] = parameter
    if any(names(action.get("flags")) == ("-",) for action in actions):
        _with_dash(parameters)
    subs = next((action for action in actions if action.get("action") == "_SubParsersAction"), None)
    groups = tuple(_groups(parser, parameters))
    level = Level(word=word, parameters=tuple(parameters.values()))
    if subs is not None:
        parsers = subs.get("parsers")
        helps = subs.get("helps")
        for name, child in list(parsers.items())[:2_000] if isinstance(parsers, dict) else ():
            description = text(helps.get(name)) if isinstance(helps, dict) else ""
            if description == "==SUPPRESS==":
                continue
            yield from _walk(child, program, (*above, level), str(name), description)
        if flag(subs, "required") or not _has_own_use(level):
            return
    # REMAINDER keeps the `--` as a value (bpo-17050).
    rest = any(action.get("nargs") == "..." for action in actions)
    prefix = text(parser.get("prefix_chars"), 16) or "-"
    yield Command(
        levels=(*above, level),
        text=_with_epilog(help_text, text(parser.get("epilog"))),
        reads_input=guess.reads_stdin(help_text) and not any(one.stdin for one in level.parameters),
        groups=groups,
        terminator=not rest and "-" in prefix,
        forbidden=text(parser.get("fromfile_prefix_chars"), 8),
    )


def _with_dash(parameters: dict[int, Parameter]) -> None:
    """`-` is an option of its own: it says that the first list of files is standard input."""
    for index, one in parameters.items():
        if one.is_positional and one.access:
            parameters[index] = attrs.evolve(one, stdin="option", required=False, at_least=0)
            return


def _has_own_use(level: Level) -> bool:
    return any(parameter.is_positional for parameter in level.parameters) or any(
        parameter.form == "value" for parameter in level.parameters
    )


def _with_epilog(help_text: str, epilog: str) -> str:
    return f"{help_text}\n\n{epilog}".strip() if help_text and len(epilog) < 2_000 else help_text or epilog


def _groups(parser: dict[str, Json], parameters: dict[int, Parameter]) -> Iterator[bool]:
    """Whether each mutually exclusive group wants one of its members; the members are marked with its number."""
    for place, group in enumerate(items(parser.get("groups"))[:50]):
        members = items(group.get("members")) if isinstance(group, dict) else []
        for index in [one for one in members if isinstance(one, int) and one in parameters]:
            parameters[index] = attrs.evolve(parameters[index], group=place)
        yield isinstance(group, dict) and flag(group, "required")


def _parameter(action: dict[str, Json], help_text: str) -> Parameter | None:
    kind = text(action.get("action"), 80)
    flags = names(action.get("flags"))
    is_end = kind in _ENDS or ("--help" in flags and kind in _FLAGS)
    if flag(action, "hidden") or is_end or kind == "_SubParsersAction":
        return None
    name = text(action.get("dest"), 128) or "value"
    description = _MARK.sub("", text(action.get("help")))
    required = flag(action, "required")
    metavar = action.get("metavar")
    if isinstance(metavar, list):
        metavar = " ".join(text(one, 40) for one in metavar[:10])
    metavar = text(metavar, 120)
    notes = ("a secret on the command line is seen by others on the machine.",) if guess.is_secret(name) else ()
    common: dict[str, Any] = {
        "name": name,
        "text": description,
        "required": required,
        "metavar": metavar,
        "notes": notes,
    }
    nargs = action.get("nargs")
    if kind == "BooleanOptionalAction":
        off = tuple(one for one in flags if one.startswith("--no-"))
        on = tuple(one for one in flags if one not in off)
        default = action.get("default") if isinstance(action.get("default"), bool) else None
        return Parameter(**common, flags=on, off_flags=off, form="negatable", default=default)
    if kind == "_CountAction":
        return Parameter(**common, flags=flags, form="count")
    if flags and (kind in _FLAGS or nargs == 0):
        # Several flags may share one place for their values: each is a flag of its own, named by its own words.
        return Parameter(**{**common, "name": max(flags, key=len).lstrip("-") or name}, flags=flags, form="flag")
    return _valued(action, kind, flags, nargs, common, help_text)


def _valued(
    action: dict[str, Json], kind: str, flags: tuple[str, ...], nargs: Json, common: dict[str, Any], help_text: str
) -> Parameter:
    schema, lost = _schema(action)
    typed = text(action.get("type"), 80)
    notes = [*common["notes"], *lost]
    access, stdin = _file(action, typed, schema, flags, common, help_text)
    repeats = kind in ("_AppendAction", "_ExtendAction")
    words: int | None = 1
    at_least = 0
    required = common["required"]
    if flags:
        if isinstance(nargs, int) and 1 < nargs <= 100:
            words = nargs
        elif nargs in ("+", "*"):
            words, at_least = None, 1 if nargs == "+" else 0
            repeats = kind == "_AppendAction"
    elif isinstance(nargs, int) and 1 <= nargs <= 100:
        words = nargs if nargs > 1 else 1
    elif nargs in ("*", "+", "...", "A..."):
        words, at_least = None, 1 if nargs == "+" else 0
        required = nargs == "+"
    elif nargs == "?":
        required = False
    default = action.get("default")
    speaks = guess.takes_stdin(common["text"]) or default in (["-"], "-")
    if flags or (words is not None and words > 1):
        stdin = None
    elif stdin and required:
        stdin = "word" if stdin == "word" or speaks or "-" in help_text else None
    elif stdin:
        stdin = "absent" if speaks or guess.takes_stdin(help_text) else None
    return Parameter(
        **{**common, "notes": tuple(notes), "required": required},
        flags=flags,
        schema=schema,
        words=words,
        at_least=at_least,
        repeats=repeats and bool(flags),
        is_optional=bool(flags) and nargs == "?" and action.get("const") is not None and not repeats,
        access=access,  # type: ignore[arg-type]
        stdout=typed == "FileType" and access == "write",
        stdin=stdin,  # type: ignore[arg-type]
        default=None if default in ("-", ["-"]) else default,
    )


def _file(
    action: dict[str, Json],
    typed: str,
    schema: dict[str, Json],
    flags: tuple[str, ...],
    common: dict[str, Any],
    help_text: str,
) -> tuple[str | None, str | None]:
    """Access of a path, and whether `-` or nothing means standard input."""
    if typed == "FileType":
        mode = text(action.get("mode"), 8) or "r"
        access = "write" if set(mode) & set("wax+") else "read"
        return access, "word" if access == "read" and not flags else None
    if schema != {"type": "string"}:
        return None, None
    name = "" if flags and not guess.is_path(common["name"], "", "") else common["name"]
    is_place = not flags and (guess.is_place(common["name"]) or guess.is_place(common["metavar"]))
    if typed in _PATHS or is_place or guess.is_path(name, common["metavar"], common["text"]):
        # An argument that is read where it is left out is an input, whatever else its words say.
        piped = guess.takes_stdin(common["text"]) or action.get("default") in ("-", ["-"])
        piped = piped or (not flags and guess.takes_stdin(help_text))
        access = "read" if piped and not flags else guess.access_of(common["name"], common["text"])
        return access, "absent" if piped else None
    return None, None


def _schema(action: dict[str, Json]) -> tuple[dict[str, Json], tuple[str, ...]]:
    typed = text(action.get("type"), 80)
    schema = dict(_TYPES.get(typed or "str", {"type": "string"}))
    choices = action.get("choices")
    if isinstance(choices, dict) and isinstance(choices.get("range"), list) and len(choices["range"]) == 3:
        start, stop, step = (number(one, 0) for one in choices["range"])
        if step == 1 and stop > start:
            return {"type": "integer", "minimum": start, "maximum": stop - 1}, ()
        return schema, ("its choices cannot be listed.",)
    listed = [one for one in items(choices) if isinstance(one, str | int | float)]
    if listed and len(listed) == len(items(choices)) and len(listed) <= MAX_ENUM:
        distinct = list({repr(one): one for one in listed}.values())
        return ({**schema} if schema["type"] != "string" or all(isinstance(o, str) for o in listed) else {}) | {
            "enum": distinct
        }, ()
    if choices is not None:
        return schema, ("its choices cannot be listed.",)
    if typed and typed not in _TYPES:
        return schema, (f"its type {typed[:60]} is the program's own; text is taken.",)
    return schema, ()
