"""`pegboard toolgen`: try, init, build and check, for people. What they do is in `flow` and `drift`.

stdout says what was made or what differs; what is to be looked at, and the next command, goes to stderr. Exit status: 0
done; 1 conflicts (`init`, `build`) or differences (`check`); 2 wrong usage, hints, overrides or sources.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pegboard import ConfigError
from pegboard.cli import has_person, quiet, waiting
from pegboard.config import write_hint
from pegboard_toolgen._texts import as_word, counted, shown
from pegboard_toolgen.profile import EXECUTION_MODELS, RUNTIMES, TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from pegboard_toolgen.flow import Report

DONE, DIFFERENT = 0, 1
FEW = 5
"""Of a longer list only so many are shown."""
_RANGE = re.compile(r"(\d{1,6})(?:\s*-\s*(\d{1,6}))?")


@click.group("toolgen", short_help="Tools from an existing program, library or HTTP API.")
def toolgen() -> None:
    """Make tools of an existing program, Python library or HTTP API, and keep them.

    try says what there is; init writes a folder with tool.manifest.json of it; build makes everything beside the
    manifest anew; check says what is not as it should be.
    """


class _Parts(click.ParamType[frozenset[str]]):
    """Words of `--with`: parts, separated by commas."""

    name = "parts"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> frozenset[str]:
        from pegboard_toolgen.parts import parts_of

        try:
            return parts_of(str(value))
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


def _with_parts(command: Callable[..., int]) -> Callable[..., int]:
    """The options that say what is made beside the lean folder."""
    words = click.option(
        "--with", "with_", metavar="WORD,WORD", type=_Parts(), multiple=True,
        help="Make these too, now and in later runs: adapters, mcpb, routes, schemas, server, tests, utcp; repeatable.",
    )  # fmt: skip
    full = click.option("--full/--lean", default=None, help="Make all of them; or none but those of --with.")
    return words(full(command))


def _source_options(command: Callable[..., int]) -> Callable[..., int]:
    """What says which sources there are, and where the outputs go."""
    folder = click.Path(path_type=Path)
    for one in reversed((
        click.argument("project", metavar="[PROJECT]", required=False, type=folder),
        click.option(
            "--program", "programs", metavar="NAME", multiple=True, help="A program on PATH, or its path; repeatable."
        ),
        click.option(
            "--library", "libraries", metavar="NAME", multiple=True, help="An installed Python package; repeatable."
        ),
        click.option("--openapi", metavar="FILE|URL", multiple=True, help="An OpenAPI document; repeatable."),
        click.option("--out", metavar="DIR", type=folder, help="The folder to write: llm-tooling."),
        click.option("--type", "type", type=click.Choice(TYPES), help="Only these."),
        click.option("--runtime", type=click.Choice(RUNTIMES), help="What the project is written in."),
        click.option("--execution-model", type=click.Choice(EXECUTION_MODELS), help="How its tools are reached."),
        click.option("--base-url", metavar="URL", help="Where the HTTP API answers, if its document does not say."),
        click.option(
            "--include", metavar="GLOB", multiple=True,
            help="Take only what this fits: 'lib.dates.*', '*_list'; repeatable.",
        ),
        click.option(
            "--inspect", is_flag=True, help="Import a library for the docstrings that its files do not have."
        ),
    )):  # fmt: skip
        command = one(command)
    return command


@toolgen.command("init", short_help="Find out what there is, and make or renew the folder.")
@_source_options
@click.option("--all", "all", is_flag=True, help="Take every candidate, however many there are.")
@click.option("--no-record", is_flag=True, help="Do not run read tools to record what they answer.")
@click.option("--record-http", is_flag=True, help="Record answers of servers elsewhere too.")
@click.option("--replace", is_flag=True, help="Write over generated files that were changed by hand.")
@_with_parts
def init(*, no_record: bool, with_: tuple[frozenset[str], ...], **said: Any) -> int:
    """Find out what PROJECT, or what is named, offers, and make a folder of tools; a second time, renew it.

    Without PROJECT and sources it is the project of this folder, or what the folder was made of before. Changes made by
    hand in tool.manifest.json stay; where the source changed at the same place too, both are listed and the exit
    status is 1.
    """
    from pegboard_toolgen import flow

    request = flow.Request(**said, record=not no_record, parts=frozenset().union(*with_))
    with _working("finding out what there is"):
        report = flow.init(request, _ask, _ask_reads)
    _tell(report)
    _tell_left_out(report)
    _tell_todo(report)
    _tell_next(report)
    return DIFFERENT if report.conflicts else DONE


@toolgen.command("try", short_help="Say what init would find, and write nothing.")
@_source_options
def try_(**said: Any) -> int:
    """Say which tools init would make of PROJECT, or of what is named: a line each, with what it costs a model in
    tokens; and what would be left out, with the reason. Nothing is written, and no tool is run.
    """
    from pegboard_toolgen import flow

    with _working("finding out what there is"):
        report = flow.attempt(flow.Request(**said))
    _tell_tools(report)
    for note in report.notes:
        _note(f"note: {note}")
    _note("nothing was written: pegboard toolgen init with the same words makes the folder")
    return DONE


@toolgen.command("build", short_help="Make everything beside the manifest anew.")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Write over generated files that were changed by hand.")
@_with_parts
def build(folder: Path | None, replace: bool, with_: tuple[frozenset[str], ...], full: bool | None) -> int:
    """Apply overrides, keep changes made by hand, and write all outputs; the source is not asked."""
    from pegboard_toolgen import flow

    with _working("making the files"):
        report = flow.build(_folder(folder), replace=replace, parts=frozenset().union(*with_), full=full)
    _tell(report)
    _tell_next(report)
    return DIFFERENT if report.conflicts else DONE


@toolgen.command("check", short_help="Say what is not as it should be.")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
def check(folder: Path | None) -> int:
    """Compare every output with what would be made now, and the tools with their source.

    Exit status: 0 nothing differs; 1 something does, a line each with what to do, or a source cannot be read.
    """
    from pegboard_toolgen import drift

    with _working("comparing the tools with their source"):
        place = _folder(folder)
        found = drift.check(place)
    for line in found.notes:
        _note(f"note: {line}")
    for one in found.differences:
        click.echo(shown(f"{one.what}: {one.fix}", 2_000))
    if not found.differences:
        click.echo(f"{shown(place.name or place, 100)} is as it should be: {counted(found.tools, 'tool')}")
    _tell_parts(found.parts, place)
    return DIFFERENT if found.differences else DONE


@contextlib.contextmanager
def _working(text: str) -> Iterator[None]:
    """While the block runs a person at a terminal sees what is read; what the system refuses is told as `_files` does.

    Raises:
        ConfigError: the system refused something.
    """
    from pegboard_toolgen._progress import told_to

    with waiting(text) as wait, told_to(functools.partial(setattr, wait, "text")), _files():
        yield


@contextlib.contextmanager
def _files() -> Iterator[None]:
    """What the system refuses while files are read and made, in a sentence: no fault of the program, none of stdout.

    Raises:
        ConfigError: it refused something.
    """
    try:
        yield
    except OSError as problem:
        raise _refused(problem) from problem


def _refused(problem: OSError) -> ConfigError:
    try:
        Path.cwd()
    except OSError:
        return ConfigError("the working directory is not there any more", hint="change to one that is")
    import errno
    import os
    import tempfile

    why = os.strerror(problem.errno) if problem.errno else type(problem).__name__
    name = problem.filename if isinstance(problem.filename, str) else ""
    try:
        temporary = tempfile.gettempdir()
    except OSError:
        return ConfigError("there is no temporary folder that can be written", hint="set TMPDIR to one that can")
    if (name and Path(name).is_relative_to(temporary)) or (problem.errno in (errno.ENOSPC, errno.EDQUOT) and not name):
        return ConfigError(f"the temporary folder cannot be used: {why}", hint="make room there, or set TMPDIR")
    what = shown(Path(name).name, 80) if name else "a file or folder"
    hint = write_hint(problem, "look at its rights, and at what it is")
    return ConfigError(f"{what} cannot be used: {why}", hint=hint)


def _folder(given: Path | None) -> Path:
    from pegboard_toolgen.folder import MANIFEST

    if given is not None:
        return given
    return Path() if Path(MANIFEST).exists() else Path("llm-tooling")


# -- what a person reads


def _tell(report: Report) -> None:
    from pegboard_manifest import is_read_only

    tools = report.document["tools"]
    reads = sum(map(is_read_only, tools))
    number = counted(len(tools), "tool")
    click.echo(f"{_shown_path(report.folder)}: {number} of {_title(report)}, {reads} of them read only")
    _tell_cost(report)
    files = len(report.written)
    click.echo(f"{counted(files, 'file')} written" if files else "nothing changed")
    for note in report.notes:
        _note(f"note: {note}")
    if report.conflicts:
        _note(f"{counted(len(report.conflicts), 'conflict')} between your manifest and its source:")
        for conflict in report.conflicts:
            _note(f"  {conflict}")
        _note("hint: take over the new value in tool.manifest.json, or put yours into overrides/, where it stays")


def _tell_cost(report: Report) -> None:
    """What the tools cost a model in each prompt; and fewer of them, where that is much."""
    from pegboard_toolgen.costs import MOST_TOKENS, proposal

    total = sum(report.tokens.values())
    click.echo(f"about {total:,} tokens for a model that is offered all of them")
    if total <= MOST_TOKENS or not (fewer := proposal(report.document["tools"], report.tokens)):
        return
    cost = sum(report.tokens[name] for name in fewer)
    _note(
        f"that is much for every prompt; {counted(len(fewer), 'tool')} of them, those that read and cost little first,"
        f" would be about {cost:,}. Under [select] in {_shown_path(report.folder)}/toolgen.toml:"
    )
    _note(f"  include = {json.dumps(fewer)}")


def _tell_tools(report: Report) -> None:
    """Every tool and all that is left out, for a person or a program that looks for one of them."""
    from pegboard_manifest import is_read_only

    tools, tokens = report.document["tools"], report.tokens
    reads = sum(map(is_read_only, tools))
    total = sum(tokens.values())
    click.echo(
        f"{_title(report)}: {counted(len(tools), 'tool')}, {reads} of them read only; about {total:,} tokens in all"
    )
    longest = max(len(tool["name"]) for tool in tools)
    for tool in tools:
        said = f"{tool['name']:{longest}}  {tool['category']:9}  {tokens[tool['name']]:7,}"
        click.echo(f"  {said}  {shown(_first_sentence(tool['description']), 100)}")
    if report.left_out:
        click.echo(f"\n{counted(len(report.left_out), 'thing')} would be left out:")
    for one in sorted(report.left_out, key=lambda one: -one.offers):
        click.echo(f"  {shown(one.id, 200)}: {shown(one.why, 300)}")


def _first_sentence(text: str) -> str:
    line = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0]


def _title(report: Report) -> str:
    project = report.document["project"]
    return shown(f"{project['name']} {project.get('version', '')}".strip(), 100)


def _tell_left_out(report: Report) -> None:
    offers = [one for one in report.left_out if one.offers]
    if offers:
        number = counted(len(offers), "module, class or object", "modules, classes and objects")
        _note(f"{number} can be asked for beside what was taken:")
        _list(f"{one.id}: {one.why}" for one in sorted(offers, key=lambda one: -one.offers))
    left_out = [one for one in report.left_out if not one.offers]
    if left_out:
        _note(f"{counted(len(left_out), 'thing')} became no tool (all of them: tools.draft.json):")
        _list(f"{one.id}: {one.why}" for one in left_out)
    if report.routes:
        _note(f"{counted(len(report.routes), 'route')} without an OpenAPI document, not covered:")
        _list(f"{one.method} {one.path} ({one.where})" for one in report.routes)


def _tell_todo(report: Report) -> None:
    hints = f"{_shown_path(report.folder)}/toolgen.toml"
    if report.unsaid:
        number = counted(len(report.unsaid), "tool counts as a write", "tools count as writes")
        _note(f"{number}, for nobody can tell: name what only reads under [categories] in {hints}")
        _list(f"{one.name}: {one.why or 'nothing says whether it reads or writes'}" for one in report.unsaid)
    if report.silent:
        few = _few(report.silent)
        number = counted(len(report.silent), "tool has", "tools have")
        _note(f"{number} no example with an output ({few}): give examples under [tools.NAME] in {hints}")


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _tell_next(report: Report) -> None:
    from pegboard_toolgen.example_call import example_command

    config = as_word(f"{_shown_path(report.folder)}/pegboard.toml", 320)
    _note(f"next: pegboard --config {config} list")
    command = example_command(report.document)
    if command:
        _note(f"      pegboard --config {config} {command}")
    _tell_parts(report.parts, report.folder)


def _tell_parts(parts: Collection[str], folder: Path) -> None:
    from pegboard_toolgen.parts import FULL

    missing = sorted(FULL - {*parts})
    if missing:
        build = f"pegboard toolgen build {as_word(_shown_path(folder), 320)}"
        _note(f"not made: {', '.join(missing)}; {build} --with WORD,WORD adds any of them, --full all")


def _list(lines: Iterable[str]) -> None:
    found = list(lines)
    for line in found[:FEW]:
        _note(f"  {line}")
    if len(found) > FEW:
        _note(f"  and {len(found) - FEW:,} more")


def _shown_path(path: Path) -> str:
    """The folder as a person here would name it."""
    here = Path.cwd().resolve()
    return shown(path.relative_to(here) if path.is_relative_to(here) else path, 300)


def _note(text: str) -> None:
    indent = len(text) - len(text.lstrip(" "))
    click.echo(" " * indent + shown(text, 600), err=True)


def _ask(ranked: Sequence[tuple[str, str, str]]) -> list[str] | None:
    """Let a person at a terminal choose; None where there is none."""
    if not has_person():
        return None
    with quiet():
        return _choice_of(ranked, "Which of them? Numbers and ranges (1-20, 25), or all")


def _ask_reads(unsaid: Sequence[tuple[str, str, str]]) -> list[str] | None:
    """Let a person at a terminal say which tools only read; None where there is none."""
    if not has_person():
        return None
    with quiet():
        click.echo("Nobody can tell whether these read or write:", err=True)
        question = "Which of them only read? Numbers and ranges (1-20, 25), all, or none"
        return _choice_of(unsaid, question, none=True)


def _choice_of(ranked: Sequence[tuple[str, str, str]], question: str, *, none: bool = False) -> list[str]:
    for number, (_, name, description) in enumerate(ranked, 1):
        click.echo(f"{number:4} {shown(name, 64)}  {shown(description, 80)}", err=True)
    while True:
        answer = click.prompt(question, err=True)
        chosen = [] if none and answer.strip().lower() == "none" else numbers_of(answer, len(ranked))
        if chosen is not None:
            return [ranked[index][0] for index in chosen]
        click.echo("That is not a list of numbers from above.", err=True)


def numbers_of(answer: str, count: int) -> list[int] | None:
    """`1-3, 5` as indices from 0; `all` is all of them; None for anything else."""
    if answer.strip().lower() == "all":
        return list(range(count))
    found: set[int] = set()
    for part in filter(None, (one.strip() for one in re.split(r"[,;]|(?<=\d)\s+(?=\d)", answer))):
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        first, last = int(match[1]), int(match[2] or match[1])
        if not 1 <= first <= last <= count:
            return None
        found.update(range(first - 1, last))
    return sorted(found) or None
