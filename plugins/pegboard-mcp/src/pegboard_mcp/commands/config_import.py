"""`pegboard config import`: import the servers of another program's file into `pegboard.toml`.

They are written at the end of the file, as tables of their own: nothing that stands there is touched, comments least of
all.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pegboard import ConfigError, Fault
from pegboard.config import expand_home, parse_toml
from pegboard.schema import hint_of
from pegboard.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pegboard.cli import ProgramRun
    from pegboard_mcp.config_import import ConfigImport
    from pegboard_mcp.foreign import ForeignFile, ForeignTable

TARGET = "pegboard.toml"
SECTION = ("plugins", "mcp", "servers")


@click.command("import", short_help="Import MCP servers from another program's file.")
@click.argument("file", metavar="FILE")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--to", "target", metavar="FILE", help=f"The configuration that gets them; else the one in force, or {TARGET} here."
)
@click.option("--print", "only_print", is_flag=True, help="Print what would be written, and write nothing.")
@click.option("--with-secrets", is_flag=True, help="Copy secrets too; else each becomes a variable.")
@click.option("--unconfined", is_flag=True, help="Let them run with all of your rights; else each gets a sandbox.")
@click.pass_obj
def config_import(
    run: ProgramRun,
    file: str,
    names: tuple[str, ...],
    target: str | None,
    only_print: bool,
    with_secrets: bool,
    unconfined: bool,
) -> None:
    """Import MCP servers from another program's file: `servers` of VS Code, `mcpServers` of Claude and others.

    All of them, or those that are named. The change is shown, and a backup is kept. Secrets that stand in the file are
    not copied: each becomes a variable of the environment, which is named. Programs are confined: they read the folders
    that their command names, and reach nobody.
    """
    from pegboard_mcp.commands import probe
    from pegboard_mcp.config_import import import_servers
    from pegboard_mcp.foreign import read_tables

    path = expand_home(file)
    given = read_tables(path)
    whole = [fault for fault in given.faults if not fault.path]
    if whole:
        raise ConfigError(f"expected {whole[0].expected}, got {whole[0].got}", hint=whole[0].hint)
    chosen = _chosen(path, given, names)
    taken = import_servers(path, given, chosen, with_secrets=with_secrets, confine=not unconfined)
    faults = [*_faults_of(given, chosen, names), *taken.faults]
    if faults:
        hint = "repair it there, or name the servers to import: pegboard config import FILE NAME ..."
        raise ConfigError(f"the servers of {path} cannot be imported", faults, hint=hint)
    if only_print:
        click.echo(_rendered(SECTION, taken.tables), nl=False)
    else:
        into = _target(run, target)
        if _write_import(into, taken, path, with_secrets=with_secrets) and run.config is None:
            _note(f"look at it, then accept it: pegboard trust {into}")
        _note(probe.offer())
    _tell(taken, with_secrets=with_secrets)


def _chosen(path: Path, foreign: ForeignFile, names: tuple[str, ...]) -> list[ForeignTable]:
    there = {table.name: table for table in foreign.tables}
    if not names:
        if not there and not foreign.faults:
            raise ConfigError(
                f"{path} has no MCP servers that are switched on", hint="name another file, or a server in it"
            )
        return list(there.values())
    for name in names:
        if name not in there and not foreign.faults:
            raise ConfigError(f"{path} has no server {name[:60]!r}", hint=hint_of(name, there))
    return [there[name] for name in dict.fromkeys(names) if name in there]


def _faults_of(foreign: ForeignFile, chosen: list[ForeignTable], names: tuple[str, ...]) -> list[Fault]:
    """What is wrong with the file, as far as it is about those that were chosen."""
    if not names:
        return list(foreign.faults)
    others = {table.path for table in foreign.tables if table not in chosen}
    return [fault for fault in foreign.faults if not any(fault.path[: len(path)] == path for path in others)]


# -- the file that gets them


def _target(run: ProgramRun, named: str | None) -> Path:
    from pegboard.config import find_found_file

    path = named or run.config or os.environ.get("PEGBOARD_CONFIG")
    found = expand_home(path) if path else find_found_file() or Path.cwd() / TARGET
    if found.suffix != ".toml":
        raise ConfigError(
            f"{found} is not a TOML file, and is left as it is",
            hint="add by hand what --print shows, or name a TOML file: --to FILE",
        )
    return found


def _write_import(target: Path, taken: ConfigImport, source: Path, *, with_secrets: bool) -> bool:
    """Write what is new, and say whether there was anything."""
    from pegboard_mcp import writing

    before = _read(target)
    section = ("tool", "pegboard", *SECTION) if target.name == "pyproject.toml" else SECTION
    there = _servers_of(target, before, section)
    new = _new(there, taken.tables, target)
    if not new:
        _note(f"{target} has them all already")
        return False
    after = _appended(target, before, section, new)
    secrets = writing.secrets_in(there) | (writing.secrets_in(new) if with_secrets else set())
    click.echo(writing.diff(target, before, after, secrets, is_clean=not with_secrets))
    if _read(target) != before:
        raise ConfigError(f"{target} was changed by somebody else just now", hint="try again")
    backup = writing.keep_backup(target) if target.exists() else None
    writing.write(target, after.encode("utf-8"))
    _note(
        f"{len(new)} server{'s' if len(new) > 1 else ''} of {source} now in {target}"
        + (f"; backup: {backup}" if backup else "")
    )
    return True


def _read(target: Path) -> str:
    from pegboard_mcp import foreign, jsonc

    if not os.path.lexists(target):
        return ""
    try:
        return foreign.read_text(target)
    except jsonc.JsoncError as problem:
        raise ConfigError(f"{target} is left as it is: {problem}", hint="repair it, or move it away") from None


def _servers_of(target: Path, text: str, section: tuple[str, ...]) -> Mapping[str, Any]:
    value = _parsed(target, text)
    for step in section:
        value = value.get(step, {}) if isinstance(value, dict) else {}
    return value if isinstance(value, dict) else {}


def _parsed(target: Path, text: str) -> Any:
    try:
        return parse_toml(text.removeprefix("\ufeff"))
    except ValueError as problem:
        raise ConfigError(
            f"{target} is left as it is: no TOML: {str(problem)[:100]}", hint="repair the file first"
        ) from None


def _new(there: Mapping[str, Any], tables: Mapping[str, dict[str, Any]], target: Path) -> dict[str, dict[str, Any]]:
    other = [name for name, table in tables.items() if name in there and there[name] != table]
    if other:
        path = (*SECTION, other[0])
        raise ConfigError(
            f"{target} has other servers of these names already",
            [Fault((*path[:-1], name), "a name that is free", "one that another server has") for name in other],
            hint="rename them, or name the servers to import: pegboard config import FILE NAME ...",
        )
    return {name: table for name, table in tables.items() if name not in there}


def _appended(target: Path, before: str, section: tuple[str, ...], new: Mapping[str, dict[str, Any]]) -> str:
    """The text with the tables behind it, which are held to say what they should."""
    newline = "\r\n" if "\r\n" in before else "\n"
    foreign = _rendered(section, new).replace("\n", newline)
    gap = "" if not before else newline if before.endswith("\n") else newline * 2
    after = before + gap + foreign
    expected = _parsed(target, before)
    inner = expected
    for step in section:
        inner = inner.setdefault(step, {}) if isinstance(inner, dict) else {}
    if isinstance(inner, dict):
        inner.update(new)
    try:
        is_right = parse_toml(after.removeprefix("\ufeff")) == expected
    except ValueError:  # the servers that are there stand in a table of one line
        is_right = False
    if not is_right:
        raise ConfigError(
            f"{target} is left as it is: its servers are written in a form that nothing can be put behind",
            hint=f"write them as [{'.'.join(section)}.NAME], or add by hand what --print shows",
        )
    return after


def _rendered(section: Iterable[str], tables: Mapping[str, dict[str, Any]]) -> str:
    import tomlkit

    document = tomlkit.document()
    inner: Any = document
    for step in section:
        inner[step] = tomlkit.table(is_super_table=True)
        inner = inner[step]
    for name, table in tables.items():
        server = tomlkit.table()
        for key, value in table.items():
            server[key] = _inline(value) if isinstance(value, dict) else value
        inner[name] = server
    return tomlkit.dumps(document)


def _inline(value: Mapping[str, Any]) -> Any:
    import tomlkit

    table = tomlkit.inline_table()
    table.update(value)
    return table


# -- what a person must know


def _tell(taken: ConfigImport, *, with_secrets: bool) -> None:
    from pegboard.errors import format_path

    for variable, places in taken.moved.items():
        where = ", ".join(format_path(place) for place in dict.fromkeys(places))
        _note(f"not copied, for it is a secret: {where}; set the variable {variable} to it, or import --with-secrets")
    for variable, written in taken.asked.items():
        _note(f"nobody is asked for {written} here: set the variable {variable}")
    for name, keys in taken.ignored.items():
        _note(f"left out of {name}, for it means nothing here: {', '.join(keys)[:200]}")
    confined = [name for name, table in taken.tables.items() if table.get("confine")]
    if confined:
        from pegboard_confine.sandbox import how_to_allow, why_not

        if problem := why_not():
            fix = f"{how_to_allow()}; or import --unconfined"
            _note(f"this system cannot confine them, so they do not start: {problem}; {fix}")
        _note("confined: " + ", ".join(confined) + "; what else one needs: pegboard confine suggest NAME")
    if taken.unconfined:
        _note(f"not confined, for a container is started by another program: {', '.join(taken.unconfined)}")
    if with_secrets:
        _note("secrets were copied as they are: keep the file to yourself")


def _note(text: str) -> None:
    click.echo(visible(text), err=True)
