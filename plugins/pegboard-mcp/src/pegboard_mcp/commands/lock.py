"""`pegboard lock`: what changed in the tools' public definitions since they were accepted, and accepting it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pegboard import ConfigError, PegboardError
from pegboard.text import visible
from pegboard_mcp.lock.pins import PARTS, RESOURCE_KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from pegboard.cli import ProgramRun
    from pegboard_mcp.lock.compare import Change
    from pegboard_mcp.lock.pins import Key, Pin
    from pegboard_mcp.settings import McpSettings

START_S = 60.0
"""How long all sources together may take to offer their tools."""
MAX_LINES = 2_000
"""A part of more lines is not shown as a diff."""
FEW = ("title", "description")
"""What is shown of a tool that came or went, unless it is named."""
DONE, DIFFERENT = 0, 1


@click.command("lock", short_help="What changed in the tools' public definitions since they were accepted.")
@click.argument("names", metavar="[NAME ...]", nargs=-1)
@click.option("--accept", is_flag=True, help="Accept these tools as they are now; without NAME all of them.")
@click.option("--json", "as_json", is_flag=True, help="An array of {name, source, change, kind, was, now}.")
@click.pass_obj
def lock(run: ProgramRun, names: tuple[str, ...], accept: bool, as_json: bool) -> int:
    """What changed in the tools' public definitions since they were accepted.

    Tools of servers are asked of the servers themselves. What is accepted is what was shown last: a tool that changed
    since then, or that came since, is refused. What was accepted stands in the file that lock_file of [plugins.mcp]
    names, else in the nearest pegboard.lock upwards from here. Exit status: 0 nothing changed, or it is
    accepted now; 1 something changed, or a server could not be asked; 2 wrong usage, or the lock cannot be read.
    """
    from pegboard_mcp.lock.compare import changes_of
    from pegboard_mcp.lock.file import load_lock, read_lock
    from pegboard_mcp.lock.shown import forget_shown
    from pegboard_mcp.lock.watch import lock_path, why_untrusted

    settings = _settings(run)
    path = lock_path(settings)
    was = read_lock(path) if path is not None and path.exists() else {}
    if settings.lock != "enforce":  # then nobody asks what resources and templates are like
        was = {key: pin for key, pin in was.items() if not pin.is_resource}
    now, unasked, silent = run.open_host(lambda host: _look(host, settings))
    changes = changes_of(was.values(), now.values(), may_be_gone=lambda pin: _may_be_gone(pin, run, unasked))
    for source, why in silent.items():
        _note(f"the source {source} could not be asked, its accepted tools stay as they are: {why}")
    if names:
        _require_known(names, {*was, *now}, run)
        changes = [one for one in changes if not one.names.isdisjoint(names)]
    for source, name, what in _stripped(run):
        if not names or name in names:
            _note(f"taken out of the texts of {name} of {source}: {', '.join(what)}")
    place = (path or _new_path()).resolve()
    if accept:
        _require_shown(place, changes)
        _accept(changes, path, existed=path is not None and path.exists())
        forget_shown(place, changes)
    if as_json:
        click.echo(json.dumps([one.to_json() for one in changes], indent=2).replace("\x7f", "\\u007f"))
    else:
        _show(changes, accept=accept, seen=() if silent else [key.name for key in now], shown=names)
    if not accept:
        _note_shown(place, changes, all_of_them=not names)
    if path is not None and path.exists() and (untrusted := why_untrusted(settings, path, load_lock(path))):
        _note(f"{untrusted.message}, so it lets nothing through; {untrusted.hint}")
    return DONE if accept or not (changes or silent) else DIFFERENT


def _settings(run: ProgramRun) -> McpSettings:
    from pegboard_mcp.lock.watch import settings_of

    settings = settings_of(run.load_board(lenient=True))
    assert settings is not None, "whose command this is has its settings"
    return settings


async def _look(host: Any, settings: McpSettings) -> tuple[dict[Key, Pin], set[str], dict[str, str]]:
    """The tools as their sources offer them now; names that cannot be called for other reasons, which say nothing of
    their tools; and the sources that could not be asked, with why."""
    import trio

    from pegboard import SourceState
    from pegboard.cli import waiting
    from pegboard_mcp.lock.pins import pin_of
    from pegboard_mcp.lock.watch import seen_on

    board = host.board
    why: dict[str, str] = {}
    with waiting("waiting for the servers"), trio.move_on_after(START_S):
        async with trio.open_nursery() as nursery:
            for _, source in board.sources:
                if hasattr(source, "wake"):
                    nursery.start_soon(_wake, source, why)
        await host.wait_for_sources(timeout_s=START_S)
    silent = {}
    for name, (state, reason) in board.source_states.items():
        if state is not SourceState.READY:
            silent[name] = reason or why.get(name) or f"it is {state.value}"
    seen = seen_on(board, settings)
    unasked = {name for name in board.rejected_tools if all(key.name != name for key in seen)}
    unasked |= {entry.tool.name for entry in board.registry.plans.values() if _is_in_conflict(entry)}
    pins = {key: pin_of(tool) for key, tool in seen.items()}
    if settings.lock == "enforce":
        offered = [
            pin for _, source in board.sources if hasattr(source, "resource_pins") for pin in source.resource_pins()
        ]
        pins |= {pin.key: pin for pin in offered}
    return pins, unasked | set(silent), silent


def _is_in_conflict(entry: Any) -> bool:
    error = getattr(entry, "error", None)
    return error is not None and error.details.get("reason") == "conflict"


async def _wake(source: Any, why: dict[str, str]) -> None:
    try:
        await source.wake()
    except Exception as problem:  # noqa: BLE001 - what a source could not do is said, and costs its own tools alone
        why[source.name] = str(problem)[:300]


def _may_be_gone(pin: Pin, run: ProgramRun, unasked: Collection[str]) -> bool:
    """Whether a tool that is not there is gone: not where nobody looked for it, or what brings it is quarantined."""
    board = run.load_board(lenient=True)
    there = {source.name for _, source in board.sources}
    quarantined_names = {one.distribution for one in board.plugins.quarantined} | {
        one.name for one in board.plugins.quarantined
    }
    if pin.name in unasked or pin.source in unasked or pin.source in quarantined_names:
        return False
    own = {one.distribution or one.name for one in board.plugins}
    return not run.plugins or pin.source in there | own


def _require_known(names: Collection[str], keys: Collection[Key], run: ProgramRun) -> None:
    from pegboard.schema import NearNames

    board = run.load_board(lenient=True)
    known = {key.name for key in keys} | set(board.registry.plans) | set(board.rejected_tools)
    for name in names:
        if name not in known:
            near = NearNames().find(name, sorted(known))
            hint = f"did you mean {near[0]}?" if near else "pegboard list shows the tools on the board"
            raise ConfigError(f"there is no tool {name[:80]!r}, and none was accepted", hint=hint)


def _stripped(run: ProgramRun) -> Iterator[tuple[str, str, Collection[str]]]:
    """What sources took out of the texts of their tools."""
    for _, source in run.load_board(lenient=True).sources:
        for name, what in sorted((getattr(source, "stripped", None) or {}).items()):
            yield source.name, name, what


def _require_shown(place: Path, changes: list[Change]) -> None:
    """Require that a person saw what is accepted: a server may have changed between the two.

    Raises:
        ConfigError: one is other than it was shown last, or was not shown.
    """
    from pegboard_mcp.lock.shown import not_as_shown

    other = not_as_shown(place, changes)
    if other:
        named = ", ".join(f"{one.name[:80]} of {one.source[:80]}" for one in other[:5])
        more = f" and {len(other) - 5} more" if len(other) > 5 else ""
        raise ConfigError(
            visible(f"not as it was shown last: {named}{more}; nothing was accepted"),
            hint="look at it again: pegboard lock, then pegboard lock --accept",
        )


def _note_shown(place: Path, changes: list[Change], *, all_of_them: bool) -> None:
    from pegboard_mcp.lock.shown import note_shown

    try:
        note_shown(place, changes, all_of_them=all_of_them)
    except OSError as problem:
        why = problem.strerror or "no reason is known"
        _note(f"what was shown cannot be noted ({why}); --accept takes what it finds then")


def _accept(changes: list[Change], path: Path | None, *, existed: bool) -> None:
    """Write what is now over what was, for these changes alone."""
    from pegboard.config import is_trusted, trust
    from pegboard_mcp.lock.file import load_lock, parse_lock, write_lock

    if existed and not changes:
        return
    path = path or _new_path()
    content = load_lock(path) if existed else None
    pins = parse_lock(content, path) if content is not None else {}
    is_own = content is None or is_trusted(path, content)
    for change in changes:
        if change.was is not None:
            pins.pop(change.was.key, None)
        if change.now is not None:
            pins[change.now.key] = change.now
    write_lock(path, pins.values())
    if is_own:  # who accepts some tools did not accept all the others that stand in somebody else's list
        trust(path)
    _note(f"accepted {_counted(change.name for change in changes)}, in {path}")


def _new_path() -> Path:
    """Where the first lock is written: beside the configuration that is found from here, else here."""
    from pegboard.config import find_found_file
    from pegboard_mcp.lock.place import NAME

    try:
        beside = find_found_file()
    except PegboardError:
        beside = None
    return (beside.parent if beside is not None else Path.cwd()) / NAME


def _note(text: str) -> None:
    click.echo(visible(text), file=sys.stderr)


def _counted(names: Iterable[str]) -> str:
    """How many tools, resources and templates there are among these names of pins."""
    kinds = Counter(name.partition(":")[0] if name.startswith(RESOURCE_KINDS) else "tool" for name in names)
    return ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in kinds.items()) or "nothing"


def _show(changes: list[Change], *, accept: bool, seen: Collection[str], shown: Collection[str]) -> None:
    for change in changes:
        parts = () if accept else FEW if change.what in ("new", "removed") and not shown else PARTS
        click.echo("\n".join(map(visible, _lines(change, parts))))
    if changes and not accept:
        names = " ".join(shown)
        click.echo(f"to accept {'it' if len(changes) == 1 else 'all of it'}: pegboard lock --accept {names}".rstrip())
        if not shown:
            click.echo("one in full: pegboard lock NAME")
    elif not changes:
        known = ": the tool as accepted" if len(seen) == 1 else f": all {_counted(seen)} as accepted" if seen else ""
        click.echo("nothing changed" if shown else f"nothing changed{known}")


def _lines(change: Change, parts: Collection[str]) -> Iterator[str]:
    old = f" (was {change.was.name})" if change.what == "renamed" and change.was else ""
    yield f"{change.what:8} {change.name}{old} of {change.source}: {change.kind}"
    if not parts:
        return
    if change.what == "changed":
        for reason in change.reasons:
            yield f"  {reason.kind}: {reason.part}: {reason.words}"
    if change.what != "renamed":
        was, now = (_lines_of_definition(pin) for pin in (change.was, change.now))
        for part in parts:
            yield from _diff(part, was.get(part, []), now.get(part, []))
    yield ""


def _lines_of_definition(pin: Pin | None) -> dict[str, list[str]]:
    """Each part of a public definition as lines."""
    definition: Mapping[str, Any] = (pin.definition if pin else None) or {}
    shown = {}
    for part in PARTS:
        value = definition.get(part)
        if isinstance(value, str) and value:
            shown[part] = value.split("\n")
        elif part == "annotations" and value:
            shown[part] = [f"{name}: {json.dumps(said)}" for name, said in sorted(value.items()) if said is not None]
        elif value:
            shown[part] = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2).split("\n")
    return shown


def _diff(part: str, was: list[str], now: list[str]) -> Iterator[str]:
    from difflib import unified_diff

    if was == now:
        return
    if max(len(was), len(now)) > MAX_LINES:
        yield f"  {part}: {len(was)} lines became {len(now)}; lock --json has them"
        return
    lines = unified_diff(was, now, f"{part}, accepted", f"{part}, now", lineterm="", n=3)
    yield from (f"  {line}" for line in lines)
