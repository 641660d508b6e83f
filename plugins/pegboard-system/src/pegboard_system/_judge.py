"""Whether a command may run: the program as it is resolved, its options, the paths among its words.

Invariants. A program is allowed by what it *is*: the real path of its file, under the name by which it was allowed;
never by the spelling of the first word. Denied beats allowed. Every word that could name a path outside is judged by
its real path, as a file tool would; a word that names none stays inside the working directory by itself. What is judged
is not the boundary: the isolation shows a command only what is allowed, whatever its words were.

No text tells more of the host than the caller said: a refusal is the same whether what was asked for exists or not.
"""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH111, PTH113, PTH118, PTH119

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NoReturn

import attrs

from pegboard import ErrorCode, ToolError
from pegboard.limits import WRAPPER_LEVELS
from pegboard_confine.bubblewrap import SEARCH, within
from pegboard_system._roots import places_of
from pegboard_system._rules import (
    GIT,
    GIT_ENVIRONMENT,
    GIT_GLOBALS,
    GIT_INSERT,
    MULTICALL,
    RULES,
    WRAPPERS,
    Rule,
    Wrapper,
    starts_programs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pegboard_system._roots import Root

DEVICES = frozenset(["/dev/null", "/dev/stdin", "-"])
"""Words that name no file of the host, whatever is allowed; standard input is empty."""
KERNEL_FOLDERS = ("/dev", "/proc", "/sys")
"""What lies in them is not a document, and some of it has no end: read only where one of them, or a place in it, is
itself among the paths that are allowed."""

MAX_DEPTH = WRAPPER_LEVELS
"""How many wrappers may stand in front of each other."""


@attrs.frozen
class Policy:
    """What commands may be and may see; paths are real and absolute.

    Args:
        allowed: names or paths of programs.
        denied: names or paths of programs that are refused whatever is allowed.
        unjudged: names or paths of programs that may have any option.
        readable: folders and files that may be read.
        writable: folders and files that may be written to; they may be read too.
        hidden: folders and files that may be neither, wherever they lie.
        cwd: the working directory of commands.
        search: folders in which programs are looked for.
        roots: the paths of the configuration that the others were made of.
    """

    allowed: tuple[str, ...]
    denied: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    cwd: str = "/"
    search: tuple[str, ...] = SEARCH
    roots: tuple[Root, ...] = ()


@attrs.frozen
class Program:
    """A program that was found: as what it was found, and the file that it is."""

    name: str
    located: str
    real: str

    @property
    def is_multicall(self) -> bool:
        """Whether the file is many programs, of which the name chooses one."""
        return os.path.basename(self.real) in MULTICALL

    @property
    def path(self) -> str:
        """What is started: the file itself, unless it goes by the name it is called by."""
        return self.real if os.path.basename(self.real) == self.name else self.located


@attrs.frozen
class Judged:
    """A command that may run.

    Args:
        words: as they will be started.
        programs: those among the words.
        alone: whether it needs no other program, so that the kernel can forbid it to start any.
        only_alone: whether it is refused where the kernel cannot.
        environment: variables that it gets beside those of every command.
    """

    words: tuple[str, ...]
    programs: tuple[Program, ...]
    alone: bool = False
    only_alone: bool = False
    environment: Mapping[str, str] = attrs.field(factory=dict)


def judge(words: Sequence[str], policy: Policy, depth: int = 0) -> Judged:
    """Judge a command.

    Args:
        words: the program and its arguments.
        policy: what is allowed.
        depth: how many wrappers stand in front.

    Raises:
        ToolError: FORBIDDEN, with the reason `command`, `option` or `path`; NOT_FOUND: an allowed program is not
            installed.
    """
    program, trusted = _admit(words[0], policy)
    arguments = list(words[1:])
    if trusted:
        return Judged((program.path, *arguments), (program,))
    known = _known_as(program)
    if known in WRAPPERS:
        return _judge_wrapped(program, WRAPPERS[known], arguments, policy, depth)
    words = (program.path, *judge_arguments(known, arguments, policy))
    if known == "git":
        return Judged(words, (program,), alone=True, only_alone=True, environment=GIT_ENVIRONMENT)
    return Judged(words, (program,), alone=known in RULES and not RULES[known].starts)


# programs -------------------------------------------------------------------------------------------------------------


def locate(word: str, policy: Policy) -> Program | None:
    """The program that a word names: a path from the working directory, else a name in the search folders."""
    if "/" in word:
        candidates = [os.path.normpath(os.path.join(policy.cwd, os.path.expanduser(word)))]
    else:
        candidates = [os.path.join(folder, word) for folder in policy.search]
    for candidate in candidates:
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return Program(os.path.basename(candidate), candidate, os.path.realpath(candidate))
    return None


def _admit(word: str, policy: Policy) -> tuple[Program, bool]:
    """The program, and whether it may have any option."""
    program = None if word.startswith("~") else locate(word, policy)
    names = {os.path.basename(word)}
    if program is not None:
        names |= {program.name} if program.is_multicall else {program.name, os.path.basename(program.real)}
    if any(_denies(entry, program, names, policy) for entry in policy.denied):
        _forbid("command", f"{_shown(word)} is denied here")
    trusted = program is not None and any(_is(entry, program, policy) for entry in policy.unjudged)
    if not trusted and (program is None or not any(_is(entry, program, policy) for entry in policy.allowed)):
        if program is None and word in policy.allowed and "/" not in word:
            raise ToolError(ErrorCode.NOT_FOUND, f"{_shown(word)} is allowed and not installed")
        allowed = ", ".join(sorted({os.path.basename(entry) for entry in (*policy.allowed, *policy.unjudged)})[:40])
        _forbid("command", f"{_shown(word)} is not an allowed command; allowed are: {allowed or 'none'}")
    assert program is not None
    if is_writable(program, policy):
        _forbid("command", f"{_shown(word)} lies where commands may write, so it could be any program by now")
    if not trusted and any(starts_programs(name) for name in names - _KNOWN):
        _forbid(
            "command", f"{_shown(word)} is refused though it is allowed: it starts other programs or runs what it reads"
        )
    return program, trusted


def is_writable(program: Program, policy: Policy) -> bool:
    """Whether a command could put another program in the place of this one."""
    return any(within(place, policy.writable) for place, _ in places_of(program.located))


_KNOWN = frozenset({*WRAPPERS, *RULES, "git"})
"""Programs that are judged by a table of their own."""


def _known_as(program: Program) -> str:
    """The name by which the tables know a program: its own, else that of its file behind a link."""
    real = os.path.basename(program.real)
    return real if real in _KNOWN and program.name not in _KNOWN and not program.is_multicall else program.name


def _is(entry: str, program: Program, policy: Policy) -> bool:
    """Whether the entry of a list means this program: the same file, by the same name."""
    meant = locate(entry, policy)
    return meant is not None and meant.real == program.real and meant.name == program.name


def _denies(entry: str, program: Program | None, names: set[str], policy: Policy) -> bool:
    """Denying is wide: a name in any spelling, or the same file."""
    if os.path.basename(entry) in names and ("/" not in entry or program is None):
        return True
    meant = locate(entry, policy)
    if meant is None or program is None:
        return False
    return meant.real == program.real and (not program.is_multicall or meant.name == program.name)


def _judge_wrapped(program: Program, wrapper: Wrapper, arguments: list[str], policy: Policy, depth: int) -> Judged:
    """Judge the program that a wrapper starts as if it stood alone, and let the wrapper start exactly that one."""
    index = 0
    while index < len(arguments) and arguments[index].startswith("-") and arguments[index] != "-":
        word = arguments[index]
        index += 1
        if word == "--":
            break
        if word.startswith("--"):
            if word.partition("=")[0] in wrapper.options:
                continue
        elif wrapper.numbers and word[1:].isascii() and word[1:].isdigit():
            continue
        elif word[1] in wrapper.values:
            index += len(word) == 2
            continue
        elif set(word[1:]) <= set(wrapper.flags):
            continue
        _forbid("option", f"{_shown(program.name)} may not have {_shown(word)}: it would not be known what it starts")
    index += wrapper.operands
    rest = arguments[index:]
    if not rest:
        raise ToolError(ErrorCode.INVALID_INPUT, f"{_shown(program.name)} is given no command to start")
    if "=" in rest[0]:
        _forbid("option", f"{_shown(rest[0])}: variables of the environment cannot be set")
    if depth + 1 >= MAX_DEPTH:
        _forbid("command", "too many programs start each other")
    inner = judge(rest, policy, depth + 1)
    if wrapper.starts and inner.only_alone:
        _forbid(
            "option",
            f"git may not be started by {_shown(program.name)}: it could start what a repository names",
        )
    return attrs.evolve(
        inner,
        words=(program.path, *arguments[:index], *inner.words),
        programs=(program, *inner.programs),
        alone=inner.alone and not wrapper.starts,
    )


# options --------------------------------------------------------------------------------------------------------------


def judge_arguments(name: str, arguments: list[str], policy: Policy) -> list[str]:
    """Judge options and paths of a program by the rules of its name; gives the arguments as they will be.

    Raises:
        ToolError: FORBIDDEN, with the reason `option` or `path`.
    """
    if name == "git":
        return _judge_git(arguments, policy)
    if name == "tar":
        _judge_tar(arguments, policy)
    rule = RULES.get(name)
    if rule is None:
        for argument in arguments:
            for candidate in _candidates(argument):
                _judge_path(argument, candidate, policy)
        return arguments
    _judge_by_rule(name, rule, arguments, policy)
    return [*rule.insert, *arguments]


def _candidates(argument: str) -> Iterator[str]:
    """What of an argument of an unknown program could be a path: all of it, behind `=`, `-I`, `--` and `@`, and the
    parts of lists."""
    yield argument
    for mark in ("=", ":", ",", "@"):
        if mark in argument:
            yield from (part for part in argument.split(mark)[1:] if part)
    if argument.startswith("-") and len(argument) > 2:
        yield argument[2:]
    if argument.startswith("-") and "/" in argument:
        yield argument[argument.index("/") :]


def _judge_by_rule(name: str, rule: Rule, arguments: list[str], policy: Policy) -> None:
    operands: list[str] = []
    skip = rule.pattern
    for option, value in _read(name, rule, arguments):
        if option in rule.no_pattern:
            skip = 0
        if value is None:
            if option in rule.writes:
                _refuse_option(name, option)
            continue
        if option is None:
            operands.append(value)
        elif option in rule.writes:
            _judge_path(value, value, policy, writes=True)
        elif option not in rule.free:
            for candidate in _candidates(value):
                _judge_path(value, candidate, policy)
    if rule.operands == "none":
        return
    if rule.operands == "pairs":
        for operand in operands:
            key, _, path = operand.partition("=")
            _judge_path(operand, path or operand, policy, writes=key == "of")
        return
    operands = operands[skip:]
    for number, operand in enumerate(operands):
        last = number == len(operands) - 1
        writes = (
            rule.operands == "write"
            or (rule.operands == "last" and last)
            or (rule.operands == "second" and number == 1)
        )
        _judge_path(operand, operand, policy, writes=writes)
        if operand.startswith("@"):
            _judge_path(operand, operand[1:], policy)


def _read(name: str, rule: Rule, arguments: list[str]) -> Iterator[tuple[str | None, str | None]]:
    """Options and operands in their order, as `(option, value)`; an operand has the option None.

    As getopt_long reads them: long options may be abbreviated, short ones come in clusters, options may stand behind
    operands, and `--` ends them.
    """
    index = 0
    while index < len(arguments):
        word = arguments[index]
        index += 1
        following = arguments[index] if index < len(arguments) else None
        if word in rule.words:
            _refuse_option(name, word)
        if rule.dashes:
            if word.startswith("-") and word in rule.free:
                index += 1
            elif not word.startswith("-") or rule.operands == "none":
                yield None, word
            continue
        if word == "--":
            for operand in arguments[index:]:
                if operand in rule.words:
                    _refuse_option(name, operand)
                yield None, operand
            return
        if word.startswith("--"):
            said, equals, value = word.partition("=")
            spelled = said[2:] in rule.known or said[2:] in rule.long_values
            if not spelled and any(option.startswith(said[2:]) for option in rule.options):
                _refuse_option(name, word)
            whole = next((option for option in rule.long_values if option.startswith(said[2:])), None)
            option = f"--{whole}" if whole else said
            if equals:
                yield option, value
            elif whole and following is not None and whole not in _MAYBE:
                index += 1
                yield option, following
            else:
                yield option, None
        elif word.startswith("-") and len(word) > 1:
            for place, letter in enumerate(word[1:], 2):
                if letter in rule.flags:
                    _refuse_option(name, word)
                if letter in rule.values:
                    value = word[place:]
                    if value:
                        yield f"-{letter}", value
                    else:
                        index += 1
                        yield f"-{letter}", following
                    break
                yield f"-{letter}", None
        else:
            yield None, word


_MAYBE = frozenset(["color", "colour", "tab", "checkpoint", "sort"])
"""Long options whose value can only stand behind `=`."""


def _judge_tar(arguments: list[str], policy: Policy) -> None:
    if arguments and not arguments[0].startswith("-"):
        _forbid("option", "tar: write its options with a dash, as in -tf FILE")
    letters = {option for option, _ in _read("tar", RULES["tar"], arguments)}
    folder, said, archive = policy.cwd, ".", None
    for option, value in _read("tar", RULES["tar"], arguments):
        if value is not None and option in ("-C", "--directory"):
            folder, said = os.path.join(folder, value), value
        elif value is not None and option in ("-f", "--file"):
            archive = value
    # Abbreviations of --extract, --get, --create: whatever is not a listing is taken to write.
    if "-t" in letters or "--list" in letters:
        if {"-x", "-c", "-r", "-u", "-A"} & letters:
            _refuse_option("tar", "several modes")
    elif {"-c", "--create"} & letters:
        if archive != "-":
            _judge_path(archive or ".", archive or ".", policy, writes=True)
    else:
        _judge_path(said, folder, policy, writes=True)


def _judge_git(arguments: list[str], policy: Policy) -> list[str]:
    """git's own options, its command, and the options of that."""
    index = 0
    while index < len(arguments) and arguments[index].startswith("-"):
        word = arguments[index]
        if word == "-C" and index + 1 < len(arguments):
            _judge_path(arguments[index + 1], arguments[index + 1], policy)
            index += 1
        elif word == "--version":
            return ["--version"]
        elif word not in GIT_GLOBALS:
            _refuse_option("git", word)
        index += 1
    if index == len(arguments):
        _forbid("option", f"git: name one of its commands: {', '.join(GIT)}")
    command = arguments[index]
    rule = GIT.get(command)
    if rule is None:
        _forbid("option", f"git {_shown(command)} is refused: of git's commands these only read: {', '.join(GIT)}")
    rest = arguments[index + 1 :]
    if {"-h", "--help"} & set(rest):
        _refuse_option("git", "--help")
    for word in rest:
        if "%G" in word and word.startswith(("--format=", "--pretty=", "--group=")):
            _forbid("option", f"git may not have {_shown(word)}: %G asks gpg, and git starts no program here")
    _judge_by_rule("git", rule, rest, policy)
    return [*GIT_INSERT, *arguments[: index + 1], *rule.insert, *rest]


def _refuse_option(name: str, word: str) -> NoReturn:
    _forbid(
        "option", f"{_shown(name)} may not have {_shown(word)}: it would start programs, write, or read what it names"
    )


# paths ----------------------------------------------------------------------------------------------------------------


def _judge_path(said: str, path: str, policy: Policy, *, writes: bool = False) -> None:
    """Refuse a path that is not allowed; `said` is the word of the caller that it stands in."""
    if not path or path == "/dev/null" or (path in DEVICES and not writes):
        return
    whole = os.path.join(policy.cwd, path)
    # A bare word that names nothing yet stays in the working directory: a pattern, a number, a name to look for.
    if not writes and "/" not in path and path not in (".", "..") and not os.path.lexists(whole):
        return
    real, plain = os.path.realpath(whole), os.path.normpath(whole)
    if any(within(candidate, policy.hidden) for candidate in (real, plain)):
        _forbid("path", f"{_shown(said)} is denied here")
    roots = policy.writable if writes else (*policy.readable, *policy.writable)
    if within(real, KERNEL_FOLDERS) or within(plain, KERNEL_FOLDERS):
        roots = tuple(root for root in roots if within(root, KERNEL_FOLDERS))
    if not within(real, roots):
        what = "written to" if writes else "read"
        _forbid("path", f"{_shown(said)} lies outside of what commands may have {what} here")
    if not writes and not _is_plain(real):
        _forbid("path", f"{_shown(said)} is a pipe, a socket or a device; only files and folders are read")


def _is_plain(path: str) -> bool:
    """Whether it is a file or folder; or nothing, which the program itself will say."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _forbid(reason: str, message: str) -> NoReturn:
    raise ToolError(ErrorCode.FORBIDDEN, message, reason=reason, retry="changed")


__all__ = ["Judged", "Policy", "Program", "judge", "judge_arguments", "locate", "within"]
