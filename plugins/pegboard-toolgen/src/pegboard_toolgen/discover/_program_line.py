"""How the parameters of a command go on its line: words and options of each level, `--` where the parser takes it, then
the positional words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_toolgen.discover import _program_words as guess
from pegboard_toolgen.discover._program_parts import INPUT, best

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard_toolgen.discover._program_parts import Command, Parameter

Json = Any


def arguments_of(
    command: Command, levels: Mapping[int, Sequence[tuple[Parameter, str]]], piped: Parameter | None, *, reads: bool
) -> list[dict[str, Json]]:
    arguments: list[dict[str, Json]] = []
    last = len(command.levels) - 1
    for depth, level in enumerate(command.levels):
        if level.word is not None:
            arguments.append({"kind": "literal", "value": level.word})
        here = levels.get(depth, ())
        arguments.extend(_option(parameter, key, reads=reads) for parameter, key in here if not parameter.is_positional)
        positionals = [(parameter, key) for parameter, key in here if parameter.is_positional]
        terminated = command.terminator and depth == last
        if piped is not None and piped.stdin == "option" and depth == last:
            arguments.append({"kind": "literal", "value": "-", "when": INPUT})
        if positionals and terminated:
            arguments.append({"kind": "terminator"})
        for index, (parameter, key) in enumerate(positionals):
            word: dict[str, Json] = {"kind": "positional", "parameter": key}
            if parameter.words != 1:
                word["spread"] = True
            if terminated and parameter.schema.get("type") in ("integer", "number", ["number", "string"]):
                word["guard"] = "none"
            behind = positionals[index + 1 :]
            if not parameter.required and (
                (parameter.is_replaced and behind) or any(_goes_without(one, parameter) for one, _ in behind)
            ):
                word["optional"] = True
            arguments.append(word | _value(parameter, reads=reads))
            if parameter is piped and parameter.stdin == "word":
                arguments.append({"kind": "literal", "value": "-", "when": INPUT})
    return arguments


def _goes_without(later: Parameter, earlier: Parameter) -> bool:
    """Whether a word may be given though an optional one before it is not."""
    return later.required or (later.group is not None and later.group == earlier.group)


def _value(parameter: Parameter, *, reads: bool) -> dict[str, Json]:
    if parameter.access is None:
        return {}
    access = ("read" if reads else "write") if parameter.access == "guess" else parameter.access
    path = {"format": "path", "access": access}
    if parameter.paths:
        return {"values": [path if is_path else {} for is_path in parameter.paths]}
    return {"value": {**path, "stdout": True} if writes_out(parameter, access) else path}


def writes_out(parameter: Parameter, access: str | None) -> bool:
    """Whether `-` is standard output for a path that is written: the parser says so, or its help does."""
    return access == "write" and (parameter.stdout or guess.takes_stdout(parameter.text))


def _option(parameter: Parameter, key: str, *, reads: bool) -> dict[str, Json]:
    flag = best(parameter.flags)
    option: dict[str, Json] = {"kind": "option", "parameter": key, "flag": flag}
    if parameter.form == "negatable":
        off = best(parameter.off_flags)
        # With one of the two alone it is a flag, named by what is left.
        return option | (
            {"style": "negatable", "off_flag": off} if flag and off else {"style": "flag", "flag": flag or off}
        )
    if parameter.form != "value":
        return option | {"style": parameter.form}
    one = "joined" if len(flag) == 2 else "equals"
    if parameter.is_separate or parameter.words != 1:
        one = "separate"
    repeats = parameter.repeats or parameter.may_repeat
    option["style"] = "repeat" if repeats else one
    if parameter.is_optional and option["style"] in ("equals", "joined"):
        option["bare"] = True
    if repeats and one != "equals":
        option["item_style"] = one
    if parameter.words is not None and parameter.words > 1:
        option["nargs"] = parameter.words
    return option | _value(parameter, reads=reads)


def follow(levels: Mapping[int, Sequence[tuple[Parameter, str]]]) -> dict[str, list[str]]:
    """Optional positionals have to be said from the left: the third without the second would be the second."""
    follows: dict[str, list[str]] = {}
    for here in levels.values():
        before: tuple[str, int | None] | None = None
        for parameter, key in here:
            if not parameter.is_positional or parameter.required or parameter.is_replaced or parameter.stdin == "word":
                continue
            if before is not None and (before[1] is None or before[1] != parameter.group):
                follows[key] = [before[0]]
            before = (key, parameter.group) if parameter.words == 1 else None
    return follows
