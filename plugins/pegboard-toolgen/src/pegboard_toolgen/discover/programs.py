"""Find a program, ask it for its command line, and answer with drafts.

A Python program is found out by its own interpreter: the shebang of its script names it, the metadata of the
distribution names the entry point, and a probe in a child process dumps a click tree or a parser of argparse before the
program begins. Whatever gives no such answer is asked for `--help`, and its commands for theirs. `-h` is a host or a
human-readable size to many: a command is asked for it only where `--help` gave nothing and the program's own help says
that it is the same (git's `--help` opens a manual page, which is not there everywhere), and the program for its
completion script where its own help says that it prints one. Never for anything else. Where a help is brief, the manual
page beside the program completes it.

What comes back is third-party data: bounded, cleaned, and never put into code. Nothing of this machine stands in a
`Discovery`: no absolute path, no width of a terminal, no temporary folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard.config import expand_home
from pegboard.limits import HELP_LEVELS
from pegboard_manifest import sanitise
from pegboard_toolgen._progress import say
from pegboard_toolgen.discover import _completions, _manuals, argparse_actions, click_tree, help_text
from pegboard_toolgen.discover import _program_words as guess
from pegboard_toolgen.discover._child import Finished, run_child
from pegboard_toolgen.discover._program_drafts import draft_of, program_id, split
from pegboard_toolgen.discover._program_parts import Command, Level, Parameter, Program
from pegboard_toolgen.discover._reading import text
from pegboard_toolgen.drafts import Discovery, DiscoveryError, LeftOut

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Json = Any
Way = Literal["click", "argparse", "help"]
MAX_ANSWER = 16_000_000
MAX_HELP = 400_000
MAX_COMMANDS = 200
MAX_DEPTH = HELP_LEVELS
PROBE_DEADLINE_S = 30.0
HELP_DEADLINE_S = 10.0
HELP_ALL_S = 90.0
_PYTHON = re.compile(r"^(?:python|pypy)[\d.]*(?:\.exe)?$")
_ERROR_LINE = re.compile(r"(?:[\w.]*(?:Error|Exception)|error|fatal)\b.{0,40}: ")
_EXEC = re.compile(rb"^'''exec' (?:\"([^\"]+)\"|(\S+)) ", re.MULTILINE)


@attrs.frozen(kw_only=True)
class _Found:
    """A program on this machine; what is absolute here never leaves."""

    name: str
    file: Path
    interpreter: str | None
    script: str
    module: str
    arguments: tuple[str, ...]
    about: str = ""


@attrs.frozen(kw_only=True)
class _Look:
    """What one way of looking gave."""

    kind: Way
    commands: Sequence[Command | LeftOut]
    sha256: str
    name: str = ""
    version: str = ""
    description: str = ""


def discover_program(
    name_or_path: str, *, kind: Way | None = None, arguments: Sequence[str] = (), called: str | None = None
) -> Discovery:
    """Drafts of one program's commands.

    Args:
        name_or_path: a name on PATH, or a path of the program.
        kind: take this way only; by default click and argparse are tried for Python programs, then `--help`.
        arguments: fixed words before all others, `("-m", "csvkit")` for instance.
        called: what it is called, where that is not the name of its file.

    Raises:
        DiscoveryError: there is no such program, or nothing can be learned from it.

    .. versionadded:: 0.1
    """
    found = _find(name_or_path, tuple(arguments))
    found = attrs.evolve(found, name=called) if called else found
    look = _look(found, kind)
    program = Program(id=program_id(found.name), name=found.name, kind=look.kind)
    drafts, left_out = split(
        LeftOut(one.id, sanitise(one.why, 300, one_line=True), one.where)
        if isinstance(one, LeftOut)
        else draft_of(one, program)
        for one in look.commands
    )
    if not drafts and not left_out:
        raise DiscoveryError(f"{found.name} shows no command", hint="describe it by hand in the manifest")
    argv0 = [Path(name_or_path).name, *found.arguments] if found.arguments else [found.name]
    return Discovery(
        source={
            "kind": look.kind,
            "name": look.name or found.name,
            **({"version": look.version[:64]} if look.version else {}),
            "sha256": look.sha256,
        },
        drafts=drafts,
        left_out=left_out,
        programs={program.id: {"argv0": argv0, "argv0_env": _variable(found.name)}},
        name=look.name or found.name,
        version=look.version[:64],
        description=look.description or _description(look.commands),
    )


def discover_programs(names: Sequence[str], *, kind: Way | None = None) -> Discovery:
    """Drafts of several programs as one project; one that cannot be looked at costs that program.

    Args:
        names: names on PATH or paths.
        kind: as for `discover_program`.

    Raises:
        DiscoveryError: none of them gives anything.

    .. versionadded:: 0.1
    """
    found: list[Discovery] = []
    left_out: list[LeftOut] = []
    for name in sorted(set(names), key=lambda one: (Path(one).name, one)):
        try:
            found.append(discover_program(name, kind=kind))
        except DiscoveryError as problem:
            plain = sanitise(Path(name).name, 100, one_line=True)
            left_out.append(LeftOut(f"program:{plain}", str(problem), plain))
    if not found:
        raise DiscoveryError(
            "none of the programs can be looked at: " + "; ".join(f"{one.id[8:]}, {one.why}" for one in left_out[:5])
        )
    if len(found) == 1 and not left_out:
        return found[0]
    digest = hashlib.sha256("".join(str(one.source["sha256"]) for one in found).encode()).hexdigest()
    projects = {one.name for one in found}
    kinds = {one.source["kind"] for one in found}
    name = found[0].name if len(projects) == 1 else ", ".join(sorted(projects))[:128]
    versions = {one.version for one in found}
    version = versions.pop() if len(versions) == 1 and len(projects) == 1 else ""
    descriptions = {one.description for one in found}
    return Discovery(
        source={
            "kind": kinds.pop() if len(kinds) == 1 else "help",
            "name": name,
            **({"version": version} if version else {}),
            "sha256": digest,
        },
        drafts=tuple(sorted((draft for one in found for draft in one.drafts), key=lambda draft: draft.id)),
        left_out=tuple(
            sorted([*left_out, *(left for one in found for left in one.left_out)], key=lambda one: (one.id, one.why))
        ),
        programs={key: value for one in found for key, value in sorted(one.programs.items())},
        name=name,
        version=version,
        description=descriptions.pop() if len(descriptions) == 1 else "",
    )


def programs_of(distribution: str, *, interpreter: str | None = None) -> tuple[str, ...]:
    """The console scripts of an installed distribution, as names sorted; of this interpreter or of another one.

    Args:
        distribution: its name on the package index.
        interpreter: a Python; None for the one that runs this.

    Raises:
        DiscoveryError: it is not installed there.

    .. versionadded:: 0.1
    """
    code = (
        "import importlib.metadata as m, json, os, sys\n"
        "try:\n    found = m.distribution(sys.argv[2]).entry_points\n"
        "except m.PackageNotFoundError:\n    sys.exit(3)\n"
        "names = sorted(p.name for p in found if p.group == 'console_scripts')\n"
        "os.write(int(sys.argv[1]), json.dumps(names).encode())\n"
    )
    import sys

    words = [interpreter or sys.executable, "-c", code, "{fd}", distribution]
    try:
        finished = run_child(words, deadline_s=PROBE_DEADLINE_S, max_bytes=MAX_HELP, answers=True)
        names = json.loads(finished.answer)
    except (OSError, ValueError):
        names = None
    if not isinstance(names, list):
        raise DiscoveryError(f"{sanitise(distribution, 60, one_line=True)} is not installed for that Python")
    return tuple(name for name in names if isinstance(name, str))


def _variable(name: str) -> str:
    word = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")[:100]
    return f"{word if word and not word[0].isdigit() else f'P_{word}'}_PROGRAM"


def _description(commands: Sequence[Command | LeftOut]) -> str:
    root = next((one for one in commands if isinstance(one, Command) and not one.path), None)
    return sanitise(root.text.split("\n\n")[0], 1_000, one_line=True) if root else ""


def _find(name_or_path: str, arguments: tuple[str, ...]) -> _Found:
    shown = sanitise(Path(name_or_path).name, 60, one_line=True)
    place = shutil.which(name_or_path)
    if place is None or "\0" in name_or_path:
        raise DiscoveryError(f"there is no program {shown!r} that can be run", hint=_how_to_reach(name_or_path))
    file = Path(place).absolute()
    name = file.name.removesuffix(".exe")
    if arguments[:1] == ("-m",) and len(arguments) == 2 and _PYTHON.match(name):
        return _Found(
            name=arguments[1], file=file, interpreter=str(file), script="", module=arguments[1], arguments=arguments
        )
    interpreter = None if arguments else _interpreter(file)
    script = str(file) if interpreter else ""
    return _Found(name=name, file=file, interpreter=interpreter, script=script, module="", arguments=arguments)


def _how_to_reach(name_or_path: str) -> str:
    if "\0" in name_or_path or not Path(name_or_path).is_file():
        return "give its path, or put it on PATH"
    if os.access(name_or_path, os.X_OK):
        return "a file of this folder is named by its path: ./ and its name"
    return "make it executable: chmod +x"


def _interpreter(file: Path) -> str | None:
    """The Python that a script names in its first line; None for anything else."""
    try:
        with file.open("rb") as opened:
            head = opened.read(4_096)
    except OSError:
        return None
    if not head.startswith(b"#!"):
        return None
    words = os.fsdecode(head[2:].split(b"\n")[0]).split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    # Where the path is too long for a first line, installers write a shell script that is Python too.
    if words and Path(words[0]).name == "sh" and (match := _EXEC.search(head)):
        words = [os.fsdecode(match[1] or match[2])]
    if not words or not _PYTHON.match(Path(words[0]).name):
        return None
    return shutil.which(words[0])


def _look(found: _Found, kind: Way | None) -> _Look:
    why = ""
    if kind in (None, "click", "argparse") and found.interpreter and not guess.code_of_program(found.name):
        look, why = _probe(found, kind)
        if look is not None:
            return look
    if kind in ("click", "argparse"):
        reason = why or "it is not a Python program"
        raise DiscoveryError(f"{found.name} shows no command line of {kind}: {reason}", hint="leave the kind out")
    return _ask_for_help(found)


def _probe(found: _Found, kind: Way | None) -> tuple[_Look | None, str]:
    assert found.interpreter is not None
    source = resources.files("pegboard_toolgen.discover.probes").joinpath("python_program.py").read_text("utf-8")
    words = [found.interpreter, "-c", source, "{fd}", found.name, found.script, found.module]
    try:
        finished = run_child(
            words, deadline_s=PROBE_DEADLINE_S, max_bytes=MAX_ANSWER, answers=True, extra_environment=_user_base(found)
        )
    except OSError:
        return None, "its interpreter cannot be started"
    return read_answer(finished.answer, found.name, kind, why=finished.why or "it ended without an answer")


def _user_base(found: _Found) -> dict[str, str]:
    """Where the script lies in the user's own installation, its modules do too; HOME is another one in the child."""
    base = expand_home("~") / ".local"
    return {"PYTHONUSERBASE": str(base)} if found.file.parent == base / "bin" else {}


def read_answer(data: bytes, program: str, kind: Way | None, *, why: str = "") -> tuple[_Look | None, str]:
    """What a probe answered: a look, or None and the reason. Never raises, whatever the bytes are."""
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        return None, why or "its answer cannot be read"
    if not isinstance(answer, dict):
        return None, "its answer cannot be read"
    told = answer.get("kind")
    if told not in ("click", "argparse") or (kind is not None and told != kind):
        return None, sanitise(text(answer.get("why"), 200), 200, one_line=True) or "it has another command line"
    reader = click_tree.commands_of if told == "click" else argparse_actions.commands_of
    tree = answer.get("tree")
    about = answer.get("distribution")
    about = about if isinstance(about, dict) else {}
    try:
        commands = list(reader(tree, program, text(about.get("summary"), 2_000)))[:2_000]
        digest = hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()
    except RecursionError:
        return None, "its command line is nested too deeply"
    summary = text(about.get("summary"), 2_000) or (text(tree.get("help"), 2_000) if isinstance(tree, dict) else "")
    return _Look(
        kind=told,
        commands=commands,
        sha256=digest,
        name=sanitise(text(about.get("name"), 200), 128, one_line=True),
        version=sanitise(text(about.get("version"), 200), 64, one_line=True),
        description=sanitise(summary, 1_000, one_line=True),
    ), ""


def _ask_for_help(found: _Found) -> _Look:
    end = time.monotonic() + HELP_ALL_S
    said: list[str] = []
    first = _help(found, (), ("--help",), said) or _page(found, ())
    if first is None:
        told = f"; it says: {said[0]}" if said else ""
        raise DiscoveryError(f"{found.name} gives no help for --help{told}", hint="describe it by hand in the manifest")
    first = _whole_help(found, first)
    found = attrs.evolve(found, about=_package_says(found.file))
    texts: list[str] = [first]
    specs = _completions.specs_of(_script(found, first))
    commands = list(_walk(found, first, (), (Level(word=None),), end, texts, specs))
    return _Look(
        kind="help",
        commands=commands,
        sha256=hashlib.sha256("\0".join(texts).encode()).hexdigest(),
        description=found.about
        or sanitise(help_text.parse(first, (found.name,)).text.split("\n\n")[0], 1_000, one_line=True),
    )


def _package_says(file: Path) -> str:
    """What the npm package of a program says that it is for; a help often begins with its options."""
    try:
        real = file.resolve()
        place = next((at for at in list(real.parents)[:5] if (at / "package.json").is_file()), None)
        if place is None or "node_modules" not in place.parts or place.name == "node_modules":
            return ""
        with (place / "package.json").open("rb") as opened:
            said = json.loads(opened.read(MAX_HELP))
    except (OSError, ValueError, RecursionError):
        return ""
    return sanitise(text(said.get("description"), 500), 300, one_line=True) if isinstance(said, dict) else ""


def _whole_help(found: _Found, first: str) -> str:
    """All of a program's help, where the first of it names the option that says more: `--help all`, `--help-all`."""
    named = help_text.names_whole_help(first)
    told = _help(found, (), (named,)) if named else None
    if told is None:
        return first
    return max(first, told, key=lambda text: len(help_text.parse(text, (found.name,)).options))


def _walk(
    found: _Found,
    given: str,
    path: tuple[str, ...],
    levels: tuple[Level, ...],
    end: float,
    texts: list[str],
    specs: _completions.Specs,
) -> Iterator[Command | LeftOut]:
    where = " ".join((found.name, *path))
    parsed = _checked(found, path, help_text.parse(given, (found.name, *path)), texts, specs)
    if not path and found.about and found.about.lower().rstrip(".") not in parsed.text.lower():
        parsed = attrs.evolve(parsed, text=f"{found.about}\n\n{parsed.text}".strip())
    here = attrs.evolve(levels[-1], parameters=parsed.options if parsed.is_led else ())
    below: list[str] = []
    for word in parsed.commands:
        name = f"program:{where} {word}"
        if len(path) >= MAX_DEPTH or len(texts) >= MAX_COMMANDS or time.monotonic() > end:
            many = "it lies too deep" if len(path) >= MAX_DEPTH else "there are too many commands"
            yield LeftOut(name, f"it was not asked for its help: {many}", f"{where} {word}")
            continue
        if word == "help":
            continue
        asked = ("--help", "-h") if help_text.has_short_help(texts[0]) else ("--help",)
        told = _help(found, (*path, word), asked) or _page(found, (*path, word))
        if told is None or told == given:
            summary = help_text.summary_of(given, word, (found.name, *path)) if told == given else ""
            if summary:
                yield _without_help((*levels[:-1], here, Level(word=word)), summary)
            else:
                yield LeftOut(name, "it gives no help of its own", f"{where} {word}")
            continue
        texts.append(told)
        below.append(told)
        yield from _walk(found, told, (*path, word), (*levels[:-1], here, Level(word=word)), end, texts, specs)
    for variant in parsed.variants:
        usage = f"Usage: {where} {variant.usage}" if variant.usage else ""
        said = attrs.evolve(parsed, text="\n\n".join(filter(None, (parsed.text, usage))))
        yield _command((*levels, *variant.levels), said, variant.notes, given)
    if parsed.is_group or (parsed.is_command and help_text.hands_on(parsed, below)):
        yield LeftOut(f"program:{where}", "a group of commands: it has no option or argument of its own", where)
        return
    if not (parsed.is_command or help_text.works_without_command(parsed, below)):
        return
    if not parsed.options and not parsed.positionals and not parsed.commands and not parsed.reads_input:
        yield LeftOut(f"program:{where}", "its help shows neither options nor arguments", where)
        return
    yield _command((*levels[:-1], attrs.evolve(levels[-1], parameters=parsed.parameters)), parsed, parsed.notes, given)


def _checked(
    found: _Found, path: tuple[str, ...], parsed: help_text.Help, texts: list[str], specs: _completions.Specs
) -> help_text.Help:
    """What a help says, with what the manual page and the completion script say beside."""
    options = _completions.checked(parsed.options, specs.get(path[-1] if path else "", {}))
    parsed = attrs.evolve(parsed, options=options)
    if parsed.commands or not (help_text.is_brief(parsed) or help_text.may_read_input(parsed)):
        return parsed
    page = _page(found, path)
    if page is None or page in texts:
        return parsed
    texts.append(page)
    parsed = help_text.with_input_of(parsed, page)
    if not help_text.is_brief(parsed):
        return parsed
    return help_text.completed(parsed, help_text.parse(page, (found.name, *path)))


def _page(found: _Found, path: tuple[str, ...]) -> str | None:
    """The manual page of a command, cleaned as its help is."""
    page = None if found.arguments else _manuals.page_of(found.file, (found.name, *path))
    return sanitise(page, MAX_HELP) if page else None


def _script(found: _Found, first: str) -> str:
    """The completion script that lies beside the program, or that it prints where its help says so."""
    if script := _completions.beside(found.file):
        return script
    parsed = help_text.parse(first, (found.name,))
    asked = _completions.question(parsed.commands, parsed.options, first)
    if asked is None:
        return ""
    try:
        finished = run_child(
            [str(found.file), *found.arguments, *asked], deadline_s=HELP_DEADLINE_S, max_bytes=_completions.MAX_SCRIPT
        )
    except OSError:
        return ""
    return sanitise(finished.stdout.decode("utf-8", "replace"), _completions.MAX_SCRIPT)


def _without_help(levels: tuple[Level, ...], summary: str) -> Command:
    """A command that answers with the help of its program: its list says what it is for, and nothing says what it
    takes. Any words are the wider reading; what they may name is judged by nobody."""
    rest = Parameter(
        name="args", words=None, metavar="args", text="Its arguments: the help does not say which. Each may be a file."
    )
    note = "It has no help of its own; its arguments are taken as they come."
    return Command(
        levels=(*levels[:-1], attrs.evolve(levels[-1], parameters=(rest,))),
        text=summary,
        terminator=False,
        notes=(note,),
    )


def _is_same(one: Parameter | None, other: Parameter) -> bool:
    return one is not None and (one.form, one.metavar) == (other.form, other.metavar)


def _command(levels: tuple[Level, ...], parsed: help_text.Help, notes: tuple[str, ...], whole: str) -> Command:
    """A command of these levels; what an inner level repeats is taken from there, as clap and cobra do. What is only
    spelt alike is another option: `git -C <path>` and `git log -C`."""
    known: dict[str, Parameter] = {}
    kept: list[Level] = []
    for level in reversed(levels):
        own = tuple(one for one in level.parameters if not any(_is_same(known.get(f), one) for f in one.flags))
        known |= {flag: one for one in level.parameters for flag in one.flags}
        kept.insert(0, attrs.evolve(level, parameters=own))
    return Command(
        levels=tuple(kept),
        text=parsed.text,
        whole=whole,
        terminator=parsed.terminator,
        notes=notes,
        reads_input=parsed.reads_input,
    )


def _help(
    found: _Found, path: tuple[str, ...], questions: tuple[str, ...], said: list[str] | None = None
) -> str | None:
    """The help of one command, or None: one question after the other until it answers, bounded in time and size.

    Args:
        said: takes the first line of each answer that is not a help.
    """
    say(f"reading the help of {' '.join((found.name, *path))}")
    for question in questions:
        command = [str(found.file), *found.arguments, *path, *question.split()]
        try:
            finished = run_child(command, deadline_s=HELP_DEADLINE_S, max_bytes=MAX_HELP)
        except OSError:
            return None
        if text := _said(finished):
            return text
        if said is not None and (line := _first_line(finished)):
            said.append(line)
    return None


def _first_line(finished: Finished) -> str:
    """What a program says first, where it complains: `error: no toolchain is configured`."""
    lines = (finished.stderr or finished.stdout)[:MAX_HELP].decode("utf-8", "replace").strip().split("\n")
    # Python and node show first where an error was raised, and then what it is.
    told = next((line for line in lines if _ERROR_LINE.match(line)), lines[0])
    return sanitise(told, 160, one_line=True)


def _said(finished: Finished) -> str | None:
    for data in (finished.stdout, finished.stderr):
        text = sanitise(data.decode("utf-8", "replace"), MAX_HELP)
        if help_text.looks_like_help(text):
            return text
    return None
