"""`pegboard audit`: what was called, how it ended, how long each stage took."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import attrs
import click

from pegboard.cli import emit, emit_json, emit_line, emit_table, note, to_json, waiting
from pegboard.errors import ConfigError
from pegboard_audit import _shown
from pegboard_audit.reading import AuditReader, CallQuery
from pegboard_audit.settings import AuditDbSettings, file_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pegboard.cli import ProgramRun
    from pegboard_audit.reading import CallRecord

SHOWN = 50
"""Rows of the table, where nobody says how many."""
SHOWN_FIRST = 10
"""Calls that `--follow` shows before it waits, as `tail -f` does."""
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d|w)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Moment(click.ParamType[float]):
    """A span before now, as 30s, 5m, 1h, 2d, 1w; or a date with or without its time, local where it has no zone. It
    becomes seconds since the epoch."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """What was written, as a number."""
        if isinstance(value, float):
            return value
        if span := _SPAN.fullmatch(value):
            return max(time.time() - float(span[1]) * _SECONDS[span[2]], 0.0)
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            expected = "a span as 30s, 5m, 1h or 2d, or a date as 2026-11-23T10:00"
            self.fail(f"expected {expected}, got {value[:60]!r}", param, ctx)
        try:
            return moment.timestamp()
        except (ValueError, OverflowError, OSError):  # the first and the last years have no local time
            return moment.replace(tzinfo=UTC).timestamp()


def _filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which calls are meant."""
    for option in (
        click.option("--file", metavar="FILE", help="Read this file, and not that of the configuration."),
        click.option("--errors", is_flag=True, help="Only calls that failed or were cancelled."),
        click.option("--user", "user_id", metavar="ID", help="Only calls of this user."),
        click.option("--tool", metavar="NAME", help="Only calls of this tool."),
        click.option("--since", type=Moment(), metavar="TIME", help="Only since then: 30s, 5m, 1h, 2d, or a date."),
    ):
        command = option(command)
    return command


@attrs.frozen
class Wanted:
    """What the options say: of the group, and over it those of its command."""

    file: str | None
    query: CallQuery
    as_json: bool

    @classmethod
    def of(cls, ctx: click.Context) -> Wanted:
        """Those of this run of the program."""
        said: dict[str, Any] = {}
        for params in (ctx.parent.params if ctx.parent is not None else {}, ctx.params):
            said |= {key: value for key, value in params.items() if value not in (None, False)}
        query = CallQuery(
            since=said.get("since"), name=said.get("tool"), user_id=said.get("user_id"), failed=said.get("errors")
        )
        return cls(said.get("file"), query, "as_json" in said)

    def path(self, run: ProgramRun) -> Path:
        """The file that is read."""
        if self.file is None:
            return file_of(_settings(run))
        path = file_of(AuditDbSettings(file=self.file))
        if not path.is_file():
            raise ConfigError(f"there is no file {self.file}", hint="name one that pegboard-audit wrote")
        return path


def _settings(run: ProgramRun) -> AuditDbSettings:
    plugins = run.load_board(lenient=True).plugins
    return next((one.settings for one in plugins if isinstance(one.settings, AuditDbSettings)), AuditDbSettings())


@click.group("audit", invoke_without_command=True, short_help="What was called, and how it ended.")
@_filters
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help=f"The newest N, by default {SHOWN}; 0 is all.")
@click.option("--follow", "-f", "following", is_flag=True, help="Go on with new calls of every process, until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line a call, all of them unless --limit says so.")
@click.pass_context
def audit(ctx: click.Context, /, limit: int | None, following: bool, as_json: bool, **_: Any) -> None:
    """What was called, by every process of this user: how it ended, and how long each stage took, in milliseconds.

    The calls stand in the order in which they ended; ID is what `pegboard audit show ID` takes.
    """
    if ctx.invoked_subcommand is not None:
        if following or limit is not None:
            raise click.UsageError(f"--follow and --limit are not of {ctx.invoked_subcommand}", ctx)
        return
    wanted, run = Wanted.of(ctx), ctx.find_root().obj
    path = wanted.path(run)
    if following:
        _follow(wanted, path, limit, as_json=as_json)
    elif as_json:
        with AuditReader(path) as reader:
            for call in reader.calls(wanted.query, newest=limit or None):
                emit(to_json(call.to_json()) + "\n", json_text=True)
    else:
        _table(run, wanted, path, SHOWN if limit is None else limit)


def _table(run: ProgramRun, wanted: Wanted, path: Path, limit: int) -> None:
    with waiting("reading the audit"), AuditReader(path) as reader:
        figures = reader.figures(wanted.query)
        last = list(reader.calls(wanted.query, newest=limit or None)) if figures else []
    if figures is None:
        _note_nothing(run, wanted, path)
        return
    emit_line(_shown.head_line(figures) + "\n")
    emit_table(_shown.HEADERS, map(_shown.row, last), right=_shown.RIGHT)
    if figures.calls > len(last):
        note(f"the newest {len(last)} of {figures.calls} calls; --limit 0 shows all, --since 1h those of the last hour")


def _note_nothing(run: ProgramRun, wanted: Wanted, path: Path) -> None:
    """Why there is nothing to show, as far as it can be told."""
    with AuditReader(path) as reader:
        if not reader.last_seq():
            note(f"no call is written down yet in {path}")
            if wanted.file is None and not _settings(run).enabled:
                note("hint: enabled is false under [plugins.audit_db]")
            return
        names = reader.names()
    name = wanted.query.name
    if name is None or name in names:
        note("no call matches; pegboard audit shows all")
        return
    from pegboard.schema import hint_of

    note(f"no call of {name[:80]!r} is kept; {hint_of(name, names)}")


def _follow(wanted: Wanted, path: Path, limit: int | None, *, as_json: bool) -> None:
    import trio

    from pegboard_audit.following import follow

    def show(call: CallRecord) -> None:
        if as_json:
            emit(to_json(call.to_json()) + "\n", json_text=True)
        else:
            emit_line(_shown.line(call))

    async def main() -> None:
        with AuditReader(path) as reader:
            last = reader.last_seq()
            newest = limit if limit is not None else None if wanted.query.since is not None else SHOWN_FIRST
            for call in reader.calls(attrs.evolve(wanted.query, up_to=last), newest=newest or None):
                show(call)
        # What ends from now on, whatever the clock says by then: it may be set back.
        async with follow(attrs.evolve(wanted.query, since=None, after=last), path=path) as calls:
            async for call in calls:
                show(call)

    trio.run(main)


@audit.command("show", short_help="One call: its stages, its guards, what it called.")
@click.argument("call_id", metavar="ID")
@click.option("--session", metavar="ID", help="Of this session, where several have a call of that id.")
@click.option("--file", metavar="FILE", help="Read this file, and not that of the configuration.")
@click.option("--json", "as_json", is_flag=True, help="One object.")
@click.pass_context
def show(ctx: click.Context, /, call_id: str, session: str | None, **_: Any) -> None:
    """One call: how it ended, its stages and guards, and as a waterfall the calls that led to it and that it led to.

    Calls of several processes are joined by their trace: that of an MCP client's board with that of the board that
    served it.
    """
    wanted, run = Wanted.of(ctx), ctx.find_root().obj
    with AuditReader(wanted.path(run)) as reader:
        found = list(reader.calls(CallQuery(id=call_id, session=session)))
        if not found:
            raise ConfigError(f"no call has the id {call_id[:80]!r}", hint="pegboard audit shows the ids of calls")
        call = found[-1]
        tree = reader.tree(call)
    if wanted.as_json:
        more = {"channel": call.channel, "reason": call.reason}
        family = [{**one.to_json(), **_whose(one), "depth": depth} for depth, one in tree]
        emit_json({**call.to_json(), **_whose(call), **more, "family": family})
    else:
        _shown.emit_call(call, tree)
    if len(found) > 1:
        _note_others(call, found)


def _whose(call: CallRecord) -> dict[str, Any]:
    """What an id is unique in."""
    return {"session": call.session, "process": call.process}


def _note_others(call: CallRecord, found: Sequence[CallRecord]) -> None:
    """A caller chooses ids, so that `mcp-1` is a call of every MCP session."""
    others = "another call has" if len(found) == 2 else f"{len(found) - 1} other calls have"
    sessions = [one for one in dict.fromkeys(one.session for one in reversed(found)) if one != call.session]
    note(f"{others} this id too, this is the last one" + (f"; --session {sessions[0]}" if sessions else ""))


@audit.command("stats", short_help="Figures by tool, by user, by error code.")
@_filters
@click.option("--json", "as_json", is_flag=True, help="One object of arrays: tools, users, errors.")
@click.pass_context
def stats(ctx: click.Context, /, **_: Any) -> None:
    """How many calls, how many failed, and how long they took in milliseconds: by tool, by user, by error code."""
    wanted, run = Wanted.of(ctx), ctx.find_root().obj
    path = wanted.path(run)
    with waiting("reading the audit"), AuditReader(path) as reader:
        by = reader.figures_by(wanted.query)
    titles = {"tools": "name", "users": "user_id", "errors": "code"}
    if wanted.as_json:
        emit_json(
            {
                title: [{key: value, **figures.to_json()} for value, figures in by[key].items()]
                for title, key in titles.items()
            }
        )
    elif not by["name"]:
        _note_nothing(run, wanted, path)
    else:
        _shown.emit_stats({title: by[key] for title, key in titles.items()})
