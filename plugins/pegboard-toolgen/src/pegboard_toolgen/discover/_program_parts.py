"""A command line as data: the one shape between what was found out, by whatever means, and the drafts of tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pegboard_toolgen.drafts import Kind

Json = Any
FLAG = re.compile(r"-{1,2}[A-Za-z0-9?@#][A-Za-z0-9?@#_.:-]{0,126}")
INPUT = "input_text"
"""The parameter for what a program reads from its standard input."""


@attrs.frozen(kw_only=True)
class Parameter:
    """One option or positional argument.

    Args:
        name: as the source names it; what a caller says is made of the longest flag, else of this.
        flags: all spellings that turn it on or take its value; none for a positional.
        off_flags: spellings that turn it off.
        form: `value` takes words; `flag` and `negatable` none, `count` is said several times.
        schema: of one word, where it takes any.
        schemas: of the words of one value, where they differ.
        words: how many words a value has; None for any number.
        at_least: how many values or words at least, where it takes several.
        repeats: the option may be said several times.
        may_repeat: nothing says whether it may be; a list is taken too.
        is_separate: the parser takes the value in a word of its own only.
        is_optional: the option may stand without its value: `--color[=WHEN]`.
        required: as the source says.
        access: of a path; `guess` leaves it to the command's category; None is not a path.
        paths: which of its words are that path, where there are several and not all of them are.
        stdin: `word`: `-` in its place means standard input; `option`: `-` among the options does; `absent`: standard
            input is read where it is left out.
        stdout: `-` in its place means standard output.
        default: as JSON; None: there is none.
        text: the help.
        metavar: what the help calls the value.
        notes: what was lost on the way.
        dropped: why no tool shows it.
        group: the number of its group in the command, of which at most one may be said.
        is_replaced: a positional in whose place an option may stand, so that words behind it may be given without it.
    """

    name: str
    flags: tuple[str, ...] = ()
    off_flags: tuple[str, ...] = ()
    form: Literal["value", "flag", "negatable", "count"] = "value"
    schema: Mapping[str, Json] = attrs.field(factory=lambda: {"type": "string"})
    schemas: tuple[Mapping[str, Json], ...] = ()
    words: int | None = 1
    at_least: int = 0
    repeats: bool = False
    may_repeat: bool = False
    is_separate: bool = False
    is_optional: bool = False
    required: bool = False
    access: Literal["read", "write", "guess"] | None = None
    paths: tuple[bool, ...] = ()
    stdin: Literal["word", "option", "absent"] | None = None
    stdout: bool = False
    default: Json = None
    text: str = ""
    metavar: str = ""
    notes: tuple[str, ...] = ()
    dropped: str | None = None
    group: int | None = None
    is_replaced: bool = False

    @property
    def is_positional(self) -> bool:
        return not self.flags and not self.off_flags


@attrs.frozen(kw_only=True)
class Level:
    """One word of a command's path with its own parameters; the program itself has no word."""

    word: str | None
    parameters: tuple[Parameter, ...] = ()


@attrs.frozen(kw_only=True)
class Command:
    """One command that can be called.

    Args:
        levels: the program, its command, the command's command, ...
        text: its help.
        whole: all of its help, where `text` is a part of it.
        reads_input: it reads its standard input, which no argument stands in for.
        groups: for each group of parameters of the last level whether one of them has to be said.
        terminator: whether its parser takes `--`.
        forbidden: characters that no positional may begin with, beside the dash.
        notes: what was lost on the way.
        runs_code: why, where the source knows.
    """

    levels: tuple[Level, ...]
    text: str = ""
    whole: str = ""
    reads_input: bool = False
    groups: tuple[bool, ...] = ()
    terminator: bool = True
    forbidden: str = ""
    notes: tuple[str, ...] = ()
    runs_code: str | None = None

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(level.word for level in self.levels if level.word is not None)

    @property
    def options(self) -> list[tuple[tuple[str, ...], str]]:
        """The flags of each of its own options, and what its help says of them."""
        own = self.levels[-1].parameters if self.levels else ()
        return [((*one.flags, *one.off_flags), one.text) for one in own if not one.is_positional]


@attrs.frozen(kw_only=True)
class Program:
    """The program that commands belong to: its id in the manifest, its name, how its command line was found."""

    id: str
    name: str
    kind: Kind


def best(flags: Sequence[str]) -> str:
    """The long spelling where there is one: `--pk` before `-p`, the first of several."""
    usable = [flag for flag in flags if FLAG.fullmatch(flag)]
    return next((f for f in usable if f.startswith("--")), next((f for f in usable if len(f) > 2), (usable or [""])[0]))
