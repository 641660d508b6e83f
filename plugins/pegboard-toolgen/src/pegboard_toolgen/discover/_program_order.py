"""Which parameters of a command matter most, so that a model is shown these and finds the rest behind them.

First what a call cannot do without, then what the program's own text shows in use: in its usage and its examples. Then
one letter, which is given to what is said often (POSIX.1, XBD 12.2, guideline 3), then the order of the help. Pure.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pegboard_toolgen.discover._program_parts import INPUT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pegboard_toolgen.discover._program_parts import Command, Parameter

_FLAGS = re.compile(r"(?<![\w-])--?[A-Za-z0-9?@#][\w-]*")
_USAGE = re.compile(r"^\s*(?:usage|or)\b:?", re.IGNORECASE)
MAX_LINES = 6_000


def order_of(
    command: Command, shown: Sequence[tuple[int, Parameter]], names: Sequence[str], words: Sequence[str]
) -> tuple[str, ...]:
    """The names of a command's parameters, what matters most first.

    Args:
        command: whose they are.
        shown: its parameters with the level of each, in the order of its help.
        names: what a model calls them, in the same order.
        words: the program and the words of the command.
    """
    lines = (command.whole or command.text).split("\n")[:MAX_LINES]
    usage = _said_in(_usage_of(lines), shown)
    if 2 * len(usage) > len(shown):  # made of the list of options: it prefers none
        usage = set()
    examples = _said_in(_examples_of(lines, words), shown)
    last = len(command.levels) - 1

    def rank(one: tuple[int, tuple[int, Parameter]]) -> tuple[bool, bool, bool, bool, int]:
        place, (depth, parameter) = one
        needed = parameter.required or parameter.is_positional
        has_letter = any(len(flag) == 2 for flag in (*parameter.flags, *parameter.off_flags))
        return not needed, place not in usage | examples, depth != last, not has_letter, place

    return (INPUT, *(names[place] for place, _ in sorted(enumerate(shown), key=rank)))


def _said_in(lines: Iterable[str], shown: Sequence[tuple[int, Parameter]]) -> set[int]:
    """The places of the parameters that these lines use; `-cf` is `-c` and `-f` where no option is called so."""
    places = {flag: place for place, (_, one) in enumerate(shown) for flag in (*one.flags, *one.off_flags)}
    said = {flag for line in lines for flag in _FLAGS.findall(line)}
    letters = {f"-{letter}" for flag in said if _is_bundle(flag, places) for letter in flag[1:]}
    return {places[flag] for flag in said | letters if flag in places}


def _is_bundle(flag: str, known: Collection[str]) -> bool:
    return flag[1] != "-" and flag not in known and all(f"-{letter}" in known for letter in flag[1:])


def _usage_of(lines: Sequence[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        inside = bool(_USAGE.match(line)) or (inside and line[:1].isspace() and bool(line.strip()))
        if inside:
            yield line


def _examples_of(lines: Sequence[str], words: Sequence[str]) -> Iterator[str]:
    """Lines that are a call of the program, as one would type it."""
    call = re.compile(rf"^\s+(?:[$%#>] +)?{re.escape(' '.join(words))} +(?![\[<(])")
    return (line for line in lines if call.match(line))
