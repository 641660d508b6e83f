"""`pegboard connect`: put the board into another program's configuration, and take it out again.

Undone means: to the byte, where nothing else changed. The entry goes in at the end of the table of servers and comes
out of it by the same cut (`jsonc_edit`); where more had to be written - the file, or the table - the backup says what
was there, as long as it and the entry still make up the file.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pegboard import ConfigError
from pegboard.config import expand_home
from pegboard.text import visible
from pegboard_mcp import places

if TYPE_CHECKING:
    from pegboard.cli import ProgramRun
    from pegboard_mcp.places import Place

NAME = "pegboard"
MAX_NAMED = 5
"""So many servers of a file are named."""


@click.command("connect", short_help="Put the board into another program, as an MCP server.")
@click.argument("program", metavar="|".join(places.PROGRAMS), type=click.Choice(places.PROGRAMS))
@click.option("--print", "only_print", is_flag=True, help="Print what would be written, and write nothing.")
@click.option("--remove", is_flag=True, help="Take the board out again.")
@click.option("--user", metavar="ID", help="Who calls from there.")
@click.option("--project", is_flag=True, help="In the project's file of this folder, not in the user's own.")
@click.option("--name", metavar="NAME", default=NAME, show_default=True, help="What the board is called there.")
@click.pass_obj
def connect(
    run: ProgramRun, program: str, only_print: bool, remove: bool, user: str | None, project: bool, name: str
) -> None:
    """Put the board into Claude Desktop (claude), Claude Code (claude-code), VS Code or Cursor.

    The program starts `pegboard serve` with the options that stand before `connect` here: --config, --profile and the
    like. The change is shown, and a backup of the file is kept beside it. Of other servers that stand there it is said
    how to look at them first.
    """
    if not name.strip() or len(name) > 64 or not name.isprintable():
        raise ConfigError("--name is not a name", hint=f"leave it out, then it is {NAME}")
    place = _place_of(program, project=project)
    if remove:
        _remove(place, name, only_print=only_print)
    else:
        _connect(place, name, entry_for(program, run, user), only_print=only_print)
        _offer_probe(place.path, without=name)
        if run.mcp_config is not None:
            _offer_probe(expand_home(run.mcp_config))


def _place_of(program: str, *, project: bool) -> Place:
    if not project:
        return places.user_place(program)
    place = places.project_place(program)
    if place is None:
        raise ConfigError(f"{places.TITLES[program]} has no file for a project", hint="leave --project out")
    if not _lies_here(place.path):  # who made the project would choose what is written, and where
        raise ConfigError(
            f"{place.path} is a link that leads out of the project, and is left as it is", hint="look at the link"
        )
    return place


def _lies_here(path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(Path.cwd().resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False


# -- the entry


def entry_for(program: str, run: ProgramRun, user: str | None) -> dict[str, Any]:
    """What the program starts: this very one, with the options of this run; relative paths are made whole."""
    command, *first = running_program()
    entry: dict[str, Any] = {} if program == "claude" else {"type": "stdio"}
    return {
        **entry,
        "command": command,
        "args": [*first, *options_of(run), "serve", *(["--user", user] if user else [])],
    }


def running_program() -> list[str]:
    """The command of the running program, by its whole path.

    A client starts it somewhere else and with another PATH. What lies under its own name is taken as it lies, for a
    link outlives an upgrade; else it is the interpreter with `-m pegboard`, and `-P`, for a client may start it in the
    folder of a project, where `-m` would look first.
    """
    script = Path(sys.argv[0])
    if script.stem == "pegboard" and script.suffix in ("", ".exe"):
        import shutil

        found = shutil.which(str(script) if script.parts[1:] else script.name)
        if found is not None:
            return [os.path.abspath(found)]  # noqa: PTH100 - a link stays one
    return [sys.executable, "-P", "-m", "pegboard"]


def options_of(run: ProgramRun) -> list[str]:
    """The options of a run that stand before its command; relative paths are made whole."""
    text: list[str] = []
    config = run.config or os.environ.get("PEGBOARD_CONFIG") or None
    for option, value in (("--config", _whole(config)), ("--mcp-config", _whole(run.mcp_config))):
        text += [option, value] if value is not None else []
    for plugin in run.plugins:
        text += ["--plugin", plugin]
    if run.profile is not None:
        text += ["--profile", run.profile]
    if run.log_json is not None:
        text += ["--log-json", run.log_json if run.log_json == "-" else str(_whole(run.log_json))]
    text += ["--read-only"] if run.read_only else []
    return [*text, "--strict"] if run.strict else text


def _whole(path: str | None) -> str | None:
    return None if path is None else os.path.abspath(expand_home(path))  # noqa: PTH100 - a link stays one


# -- in, and out again


def _connect(place: Place, name: str, entry: dict[str, Any], *, only_print: bool) -> None:
    from pegboard_mcp import jsonc_edit

    if only_print:
        click.echo(json.dumps({place.key: {name: entry}}, indent=2, ensure_ascii=False))
        _note(f"this belongs into {place.path}")
        return
    _warn_of_found_file(entry)
    before = _read(place)
    after = _edited(place, lambda text: jsonc_edit.put(text, place.key, name, entry), before)
    title = places.TITLES[place.program]
    if after == before:
        _note(f"{title} has this board already, in {place.path}")
        return
    backup = _change(place, before, after, keep=_undone(place, before or "", name) is None)
    _note(f"{title} starts this board as {name!r} from its next start on" + (f"; backup: {backup}" if backup else ""))


def _remove(place: Place, name: str, *, only_print: bool) -> None:
    before = _read(place)
    if before is None or not _has(place, before, name):
        _note(f"{places.TITLES[place.program]} has no server {name!r} in {place.path}: nothing to take out")
        return
    after, backup = _without(place, before, name)
    if only_print:
        _show_diff(place, before, after or "")
        return
    _take_out(place, before, after, backup)
    _note(f"{places.TITLES[place.program]} no longer starts this board")


def _without(place: Place, text: str, name: str) -> tuple[str | None, Path | None]:
    """The text without the entry, None for a file that held nothing else; and the backup that it is, if it is one."""
    from pegboard_mcp import jsonc, jsonc_edit

    undone = _undone(place, text, name)
    if undone is not None:
        return undone
    entry = jsonc.read(text)[place.key][name]
    if jsonc_edit.put("", place.key, name, entry) == text:
        return None, None
    return _edited(place, lambda before: jsonc_edit.drop(before, place.key, name), text), None


def _undone(place: Place, text: str, name: str) -> tuple[str, Path] | None:
    """The backup that, with the entry put in, makes up this very text."""
    from pegboard_mcp import foreign, jsonc, jsonc_edit, writing

    if not _has(place, text, name):
        return None
    entry = jsonc.read(text)[place.key][name]
    for backup in reversed(writing.backups_of(place.path)):
        try:
            before = foreign.read_text(backup)
            if not _has(place, before, name) and jsonc_edit.put(before, place.key, name, entry) == text:
                return before, backup
        except jsonc.JsoncError:
            continue
    return None


def _has(place: Place, text: str, name: str) -> bool:
    from pegboard_mcp import jsonc

    if not text.strip("\ufeff \t\r\n"):
        return False
    try:
        value = jsonc.read(text)
    except jsonc.JsoncError as problem:
        raise _refused(place, str(problem)) from None
    table = value.get(place.key) if isinstance(value, dict) else None
    return isinstance(table, dict) and name in table


# -- the file


def _read(place: Place) -> str | None:
    """The text of the file; None where there is none."""
    from pegboard_mcp import foreign, jsonc

    if not os.path.lexists(place.path):
        return None
    try:
        return foreign.read_text(place.path)
    except jsonc.JsoncError as problem:
        raise _refused(place, str(problem)) from None


def _edited(place: Place, edit: Any, before: str | None) -> str:
    from pegboard_mcp import jsonc

    try:
        return str(edit(before or ""))
    except jsonc.JsoncError as problem:
        raise _refused(place, str(problem)) from None


def _refused(place: Place, why: str) -> ConfigError:
    return ConfigError(
        f"{place.path} is left as it is: {why}",
        hint="repair the file, or add by hand what --print shows",
    )


def _change(place: Place, before: str | None, after: str, *, keep: bool) -> Path | None:
    from pegboard_mcp import writing

    _show_diff(place, before or "", after)
    if before is None and not place.path.parent.is_dir():
        _note(f"note: {place.path.parent} was not there: {places.TITLES[place.program]} may not be installed")
    _check_unchanged(place, before)
    backup = writing.keep_backup(place.path) if before is not None and keep else None
    writing.write(place.path, after.encode("utf-8"))
    return backup


def _take_out(place: Place, before: str, after: str | None, backup: Path | None) -> None:
    from pegboard_mcp import writing

    _show_diff(place, before, after or "")
    _check_unchanged(place, before)
    if after is None:
        place.path.unlink()
    else:
        if backup is None:
            _note(f"backup: {writing.keep_backup(place.path)}")
        writing.write(place.path, after.encode("utf-8"))
    if backup is not None:
        backup.unlink(missing_ok=True)


def _check_unchanged(place: Place, before: str | None) -> None:
    if _read(place) != before:
        raise ConfigError(f"{place.path} was changed by somebody else just now", hint="try again")


def _show_diff(place: Place, before: str, after: str) -> None:
    from pegboard_mcp import jsonc, writing

    secrets: set[str] = set()
    for text in (before, after):
        if text.strip("\ufeff \t\r\n"):
            secrets |= writing.secrets_in(jsonc.read(text))
    click.echo(writing.diff(place.path, before, after, secrets))


def _warn_of_found_file(entry: dict[str, Any]) -> None:
    """A configuration that is found from here is not found from where the program starts the board."""
    from pegboard.config import find_found_file

    if "--config" in entry["args"]:
        return
    found = find_found_file()
    if found is not None:
        _note(f"note: {found} is not read from there; to have it read: pegboard --config {found} connect ...")


def _offer_probe(path: Path, *, without: str | None = None) -> None:
    """Offer to look at the servers of a file; without the board itself, which goes in there."""
    from pegboard_mcp import foreign
    from pegboard_mcp.commands.probe import offer

    others = [one for one in foreign.names_in(foreign.load(path)[0]) if one != without]
    if others:
        more = f" and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
        _note(f"{path} has {', '.join(others[:MAX_NAMED])}{more}; {offer(path)}")


def _note(text: str) -> None:
    click.echo(visible(text), err=True)
