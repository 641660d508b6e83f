"""`pegboard lock`: what changed in the tools' public definitions since they were accepted, and accepting it."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pegboard import ConfigError
from pegboard.text import visible
from pegboard_mcp.lock.pins import KINDS, SHOWN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pegboard import Host
    from pegboard.cli import ProgramRun
    from pegboard_mcp.lock.compare import Change
    from pegboard_mcp.lock.pins import Key
    from pegboard_mcp.lock.review import LockReview
    from pegboard_mcp.settings import McpSettings

START_S = 60.0
"""How long all sources together may take to offer their tools."""
FEW = ("title", "description", "runs")
"""What is shown of a tool that came or went, unless it is named."""
MAX_NAMED = 5
"""How many changes a person is told to accept by their names."""
DONE, DIFFERENT = 0, 1


class LockCommand(click.Command):
    """A command with two of its own, beside names of tools; a tool that is called as one of them stands after `--`."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> click.Context:
        """The context of the command that is meant."""
        if args and args[0] in OWN:
            return OWN[args[0]].make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command("sign", short_help="Sign the lock with an SSH key.")
@click.option("--key", metavar="FILE", type=click.Path(path_type=Path), help="The key; else the first in ~/.ssh.")
@click.pass_obj
def sign(run: ProgramRun, key: Path | None) -> None:
    """Sign the lock as it stands with an SSH key, so that it counts for all who let that key sign.

    The signature lies beside the lock, as pegboard.lock.sig: commit both. It says that you looked at what the lock
    accepts. A key with a passphrase asks for it at the terminal; without one it has to be in ssh-agent.
    """
    from pegboard_mcp.lock.file import parse_lock
    from pegboard_mcp.lock.signature import sign_lock, signature_path

    _, path, content = _found_lock(run)
    parse_lock(content, path)
    made = sign_lock(path, content, key)
    _note(f"signed {path} in {signature_path(path).name}, with the key {made.fingerprint}")
    _note("who is to trust what you sign adds this line, with your name, to their own allowed_signers:")
    click.echo(f"NAME {made.options} {made.line}")


@click.command("verify", short_help="Who signed the lock, and whether that counts here.")
@click.pass_obj
def verify(run: ProgramRun) -> int:
    """Who signed the lock, and whether that counts here.

    Who may sign stands in the file that lock_signers of [plugins.mcp] names, else in your own allowed_signers, beside
    your configuration. Exit status: 0 it counts; 1 it does not; 2 that cannot be said, as without a lock.
    """
    from pegboard_mcp.lock.signature import SignatureError, verify_lock

    settings, path, content = _found_lock(run)
    try:
        principal, made = verify_lock(settings, path, content)
    except SignatureError as problem:
        if not problem.is_refused:
            raise
        _note(problem.message if problem.hint is None else f"{problem.message}\nhint: {problem.hint}")
        return DIFFERENT
    click.echo(visible(f"{path} as it stands is signed by {principal}, with the key {made.fingerprint}"))
    return DONE


OWN: dict[str, click.Command] = {"sign": sign, "verify": verify}
"""What `pegboard lock` does beside showing and accepting."""


def _found_lock(run: ProgramRun) -> tuple[McpSettings, Path, bytes]:
    """The lock that holds here, as it stands.

    Raises:
        ConfigError: there is none.
        PluginError: it cannot be read.
    """
    from pegboard_mcp.lock.file import load_lock
    from pegboard_mcp.lock.watch import lock_path, settings_of

    settings = settings_of(run.load_board(lenient=True))
    if settings is None:
        raise ConfigError("pegboard-mcp, whose the lock is, is not on the board", hint="install it, or name it too")
    path = lock_path(settings)
    if path is None or not path.exists():
        where = "" if path is None else f" {path}"
        raise ConfigError(f"there is no lock{where} here", hint="make one: pegboard lock, then pegboard lock --accept")
    return settings, path, load_lock(path)


def _require_counting(run: ProgramRun) -> None:
    """Require a lock that somebody accepted whom the person here trusts: any other says nothing of what is right.

    Raises:
        ConfigError: there is none, or it does not count.
    """
    from pegboard_mcp.lock.watch import why_untrusted

    if (untrusted := why_untrusted(*_found_lock(run))) is not None:
        hint = f"{untrusted.hint}; or let a colleague sign it whose key is among your lock_signers"
        raise ConfigError(untrusted.message, hint=hint)


@click.command(
    "lock",
    cls=LockCommand,
    short_help="What changed in the tools' public definitions since they were accepted.",
    epilog="pegboard lock sign [--key FILE] signs the lock with an SSH key, pegboard lock verify says who did.",
)
@click.argument("names", metavar="[NAME ...]", nargs=-1)
@click.option("--accept", is_flag=True, help="Accept these tools as they are now; without NAME all of them.")
@click.option("--frozen", is_flag=True, help="Write nothing, and fail on any difference: for CI.")
@click.option("--json", "as_json", is_flag=True, help="An array of {name, source, change, kind, was, now}.")
@click.pass_obj
def lock(run: ProgramRun, names: tuple[str, ...], accept: bool, frozen: bool, as_json: bool) -> int:
    """What changed in the tools' public definitions since they were accepted.

    Tools of servers are asked of the servers themselves. What is accepted is what was shown last: a tool that changed
    since then, or that came since, is refused. What was accepted stands in the file that lock_file of [plugins.mcp]
    names, else in the nearest pegboard.lock upwards from here. Exit status: 0 nothing changed, or it is
    accepted now; 1 something changed, or a server could not be asked; 2 wrong usage, or the lock cannot be read.
    With --frozen there has to be a lock that counts here (else 2): it is signed, named or trusted.
    """
    if frozen and (accept or names):
        raise click.UsageError("--frozen looks at all of it and writes nothing: leave out --accept and NAME")
    if frozen:
        _require_counting(run)
    from pegboard_mcp.lock.file import read_lock
    from pegboard_mcp.lock.signature import is_there
    from pegboard_mcp.lock.watch import lock_path, settings_of

    settings = settings_of(run.load_board(lenient=True))
    if settings is not None and (path := lock_path(settings)) is not None and path.exists():
        read_lock(path)  # before any server is started for it
    review = run.open_host(lambda host: _look(host, is_whole=not run.plugins))
    changes = list(review.changes)
    for source, why in review.silent.items():
        _note(f"the source {source} could not be asked, its accepted tools stay as they are: {why}")
    if names:
        _require_known(names, {*review.accepted, *review.seen, *review.remembered}, run)
        changes = [one for one in changes if not one.names.isdisjoint(names)]
    for source, name, what in _stripped(run):
        if not names or name in names:
            _note(f"taken out of the texts of {name} of {source}: {', '.join(what)}")
    if accept:
        _require_shown(review.place, changes)
        accepted = review.accept(changes)
        if accepted is not None or changes:
            where = "for you" if accepted is None else f"in {accepted}"
            _note(f"accepted {_counted(change.name for change in changes)}, {where}")
        if accepted is not None and is_there(accepted):
            _note("it was signed, and the signature is of what it was: pegboard lock sign")
    if as_json:
        click.echo(json.dumps([one.to_json() for one in changes], indent=2).replace("\x7f", "\\u007f"))
    else:
        seen = () if review.silent else [key.name for key in review.seen]
        _show(changes, accept=accept, frozen=frozen, seen=seen, shown=names)
    if frozen and (changes or review.silent):
        _note(_drift(changes, review.silent))
    if not accept and not frozen:
        if any(change.what == "new" for change in changes) and not review.place.exists():
            _note(f"there is no {review.place.name} yet, so what was only seen is new; it is compared without one, too")
        _note_shown(review.place, changes, all_of_them=not names)
    if (untrusted := review.untrusted()) is not None:
        _note(f"{untrusted.message}, so it lets nothing through; {untrusted.hint}")
    return DONE if accept or not (changes or review.silent) else DIFFERENT


async def _look(host: Host, *, is_whole: bool) -> LockReview:
    """Every source is asked, and what it offers is looked at."""
    import trio

    from pegboard import SourceState
    from pegboard.cli import waiting
    from pegboard_mcp.lock.review import review_lock

    board = host.board
    why: dict[str, str] = {}
    with waiting("waiting for the servers"), trio.move_on_after(START_S):
        async with trio.open_nursery() as nursery:
            for _, source in board.sources:
                if hasattr(source, "wake"):
                    nursery.start_soon(_wake, source, why)
        await host.wait_for_sources(timeout_s=START_S)
    silent = {
        name: reason or why.get(name) or f"it is {state.value}"
        for name, (state, reason) in board.source_states.items()
        if state is not SourceState.READY
    }
    return review_lock(board, silent=silent, is_whole=is_whole)


async def _wake(source: Any, why: dict[str, str]) -> None:
    try:
        await source.wake()
    except Exception as problem:  # noqa: BLE001 - what a source could not do is said, and costs its own tools alone
        why[source.name] = str(problem)[:300]


def _require_known(names: Collection[str], keys: Collection[Key], run: ProgramRun) -> None:
    from pegboard.schema import NearNames

    board = run.load_board(lenient=True)
    known = {key.name for key in keys} | set(board.registry.plans) | set(board.rejected_tools)
    for name in names:
        if name not in known:
            near = NearNames().find(name, sorted({*known, *OWN}))
            hint = f"did you mean {near[0]}?" if near else "pegboard list shows the tools on the board"
            if f"server:{name}" in known:
                hint = f"it is a server, whose entry is server:{name}; pegboard lock without a name shows all changes"
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
    from pegboard_mcp.lock.review import not_as_shown_error
    from pegboard_mcp.lock.shown import not_as_shown

    if other := not_as_shown(place, changes):
        hint = "look at it again: pegboard lock, then pegboard lock --accept"
        raise not_as_shown_error([(one.source, one.name) for one in other], hint)


def _note_shown(place: Path, changes: list[Change], *, all_of_them: bool) -> None:
    from pegboard_mcp.lock.shown import note_shown

    try:
        note_shown(place, changes, all_of_them=all_of_them)
    except OSError as problem:
        why = problem.strerror or "no reason is known"
        _note(f"what was shown cannot be noted ({why}); --accept takes what it finds then")


def _drift(changes: Collection[Change], silent: Collection[str]) -> str:
    """What `--frozen` says where it fails."""
    counts = Counter(change.what for change in changes)
    said = [f"{count} {what}" for what, count in sorted(counts.items())]
    said += [f"{len(silent)} could not be asked"] if silent else []
    return f"what is here is not what the lock has: {', '.join(said)}; look at it, and accept it: pegboard lock"


def _note(text: str) -> None:
    click.echo(visible(text), file=sys.stderr)


def _counted(names: Iterable[str]) -> str:
    """How many tools, resources and templates there are among these names of pins."""
    kinds = Counter(name.partition(":")[0] if name.startswith(KINDS) else "tool" for name in names)
    return ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in kinds.items()) or "nothing"


def _show(changes: list[Change], *, accept: bool, frozen: bool, seen: Collection[str], shown: Collection[str]) -> None:
    for change in changes:
        parts = () if accept else FEW if change.what in ("new", "removed") and not shown else SHOWN
        click.echo("\n".join(map(visible, _lines(change, parts))))
    if changes and not accept and not frozen:
        names = " ".join(shown)
        click.echo(f"to accept {'it' if len(changes) == 1 else 'all of it'}: pegboard lock --accept {names}".rstrip())
        others = [change.name for change in changes if change.what != "new"]
        if 0 < len(others) < len(changes) and len(others) <= MAX_NAMED:  # they stand among all that is new
            click.echo(visible(f"to accept only what was known and is other: pegboard lock --accept {_shell(others)}"))
        if not shown:
            click.echo("one in full: pegboard lock NAME")
    elif not changes:
        known = ": the tool as accepted" if len(seen) == 1 else f": all {_counted(seen)} as accepted" if seen else ""
        click.echo("nothing changed" if shown else f"nothing changed{known}")


def _shell(names: Iterable[str]) -> str:
    words = shlex.join(names)
    return f"-- {words}" if words.startswith("-") else words


def _lines(change: Change, parts: Collection[str]) -> Iterator[str]:
    old = f" (was {change.was.name})" if change.what == "renamed" and change.was else ""
    yield f"{change.what:8} {change.name}{old} of {change.source}: {change.kind}"
    if not parts:
        return
    if change.what == "changed":
        for reason in change.reasons:
            yield f"  {reason.kind}: {reason.part}: {reason.words}"
    if change.what != "renamed":
        diff = change.diff()
        for part in parts:
            if part in diff:
                yield from (f"  {line}" for line in diff[part])
    if change.what == "changed":
        yield f"  in short: {change.words}"
    yield ""
