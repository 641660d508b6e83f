"""`pegboard call`: one call, or what it would meet."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from pegboard.cli._arguments import read_arguments
from pegboard.cli._output import emit_json, emit_line, note, to_json
from pegboard.cli._person import ask_person, has_person, say_yes
from pegboard.cli._program import DONE, TOOL_ERROR, WRONG_USAGE, complete_argument, complete_tool
from pegboard.cli._terminal import is_terminal
from pegboard.cli._text import printable, printable_line, taken_out_of
from pegboard.cli._waiting import waiting
from pegboard.config import open_named
from pegboard.content import BinaryContent, TextContent
from pegboard.limits import JSON_BYTES
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard.text import CLEANED

if TYPE_CHECKING:
    from pegboard.cli._run import ProgramRun
    from pegboard.content import Content
    from pegboard.errors import ToolError
    from pegboard.host import Host
    from pegboard.registry.board import Board
    from pegboard.results import ToolResult

MAX_ARGUMENTS = JSON_BYTES
"""The most that is read of a file or of stdin, in bytes."""


@click.command("call", short_help="Call a tool once.")
@click.argument("name", shell_complete=complete_tool)
@click.argument("pairs", metavar="[KEY=VALUE | KEY:=JSON | VALUE]...", nargs=-1, shell_complete=complete_argument)
@click.option("--args", "given", metavar="JSON|@FILE|-", help="All arguments as one JSON object; - is stdin.")
@click.option("--user", metavar="ID", help="Who calls; else user_id of the configuration.")
@click.option("--json", "as_json", is_flag=True, help="The whole result as one object.")
@click.option("--yes", is_flag=True, help="Answer yes where a tool asks a person first.")
@click.option("--dry-run", is_flag=True, help="Say what the call would meet, and run nothing.")
@click.option("--record", metavar="FILE", help="Add what the tool answers to a recording, which tests replay.")
@click.pass_obj
def command(
    run: ProgramRun, name: str, pairs: tuple[str, ...], given: str | None, user: str | None, as_json: bool, yes: bool,
    dry_run: bool, record: str | None,
) -> int:  # fmt: skip
    """Call the tool NAME once.

    KEY=VALUE is read by the tool's schema (sides=6 is an integer where the tool wants one), KEY:=JSON is JSON. A VALUE
    alone is that of the one parameter which the tool requires: pegboard call calculator '2 + 2'.
    """
    run.record = record
    base = _read_base(given)
    person = None if given == "-" else ask_person

    async def main(host: Host) -> ToolResult:
        confirm = say_yes if yes else person if has_person() else None
        session = host.session(user, channel="cli", confirm=confirm, on_progress=_show_progress)
        visible = host.board.visible_tools()  # not what is offered: a call of what read-only mode refuses hears why
        if name not in visible.plans:
            with waiting("waiting for the servers"):
                await host.wait_for_sources(name, profile=visible.profile)
            if name not in visible.plans and host.may_come(
                name, visible.profile
            ):  # a call would wait for as long once more
                return session.refuse_line(session.missing(name), name=name)
        found = visible.snapshot.tools.get(name)
        arguments = read_arguments(pairs, found.input_schema if found else {}, base)
        if dry_run:
            return session.check(name, arguments)
        with waiting(f"{name} runs"):
            return await session.call(name, arguments)

    result = run.open_host(main)
    if as_json:
        emit_json(result.to_json())
    elif result.ok:
        _show(result)
    else:
        _tell(result, run.load_board())
    if run.has_lost_recording:
        return WRONG_USAGE
    return DONE if result.ok and not (dry_run and _would_refuse(result)) else TOOL_ERROR


# -- arguments


def _read_base(given: str | None) -> dict[str, Any]:
    """The object that `--args` gives."""
    if given is None:
        return {}
    try:
        value = loads(_text_of(given), max_bytes=MAX_ARGUMENTS)
    except JsonTextError as problem:
        file = f"{given[1:]} holds no arguments: " if given.startswith("@") else ""
        raise click.UsageError(f"--args: {file}{problem}") from None
    if not isinstance(value, dict):
        raise click.UsageError('--args: expected a JSON object, as in \'{"notation": "2d6"}\'')
    return value


def _text_of(given: str) -> str | bytes:
    if given == "-":
        if sys.stdin is None:
            raise click.UsageError("--args: stdin is closed")
        return sys.stdin.buffer.read(MAX_ARGUMENTS + 1)
    if not given.startswith("@"):
        return given
    try:
        with open_named(given[1:]) as file:
            return file.read(MAX_ARGUMENTS + 1)
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or "no path that could be opened"
        raise click.UsageError(f"--args: {given[1:]} cannot be read: {why}") from None


# -- progress


async def _show_progress(call_id: str, done: float, total: float | None, message: str | None) -> None:
    if is_terminal(sys.stderr):
        of = f" of {total:g}" if total is not None else ""
        note(f"{done:g}{of} {printable_line(message or '', 100)}".rstrip())


# -- the answer


def _show(result: ToolResult) -> None:
    shown = [_shown(block) for block in result.content]
    if not shown and result.data is not None:
        shown = [to_json(result.data, indent=2)]
    if shown:
        emit_line("\n".join(shown))
    details = dict(result.details or {})
    if told := taken_out_of(result):
        del details[CLEANED]
        note(told)
    for name, said in details.items():
        note(f"note: {name}: {printable_line(said if isinstance(said, str) else json.dumps(said, default=str), 300)}")


def _shown(block: Content) -> str:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, BinaryContent) and block.text is not None:
        return block.text
    size = "a link" if block.data is None else f"{len(block.data)} bytes"
    named = [part for part in (block.name, block.uri) if part] if isinstance(block, BinaryContent) else []
    return f"[{', '.join([*named, block.mime_type, size])}]"


def _tell(result: ToolResult, board: Board) -> None:
    error = result.error
    assert error is not None
    note(f"error: {error.code.value}: {printable(error.message)}")
    if said := taken_out_of(result):
        note(said)
    hints = {
        "INTERNAL_ERROR": "pegboard --debug call ... shows the cause",
        "RATE_LIMITED": f"repeat it after {error.details.get('retry_after_s', 1)} s",
        "INVALID_INPUT": f"pegboard show {printable_line(result.name, 80)}",
        "UPSTREAM_ERROR": "pegboard doctor may say why; pegboard --debug call ... shows the cause",
        "TIMEOUT": f"[tools.{printable_line(result.name, 80)}] timeout_s = SECONDS gives it longer",
        "NOT_FOUND": _where_to_look(result.name, error, board),
    }
    hint = hints.get(error.code.value)
    if hint is not None:
        note(f"hint: {hint}")


def _where_to_look(name: str, error: ToolError, board: Board) -> str | None:
    """Who misses a tool is told why it is not there; who misses something else was told so by the tool."""
    near = error.details.get("near")
    if near is None:
        return None
    if absent := board.rejected_tools.get(name):
        return f"{absent.origin} brings it, and it is not on the board: {absent.why}; {absent.fix}"
    for source in error.details.get("sources", ()):  # whoever sits here may read what a crash said, too
        reason = board.source_states[source["source"]][1]
        if reason and reason not in error.message and printable_line(reason) not in error.message:
            return f"the source {printable_line(source['source'])} is down, and may have it: {printable_line(reason)}"
    if not near and board.plugins.quarantined:
        return "a plugin is not on the board; pegboard doctor says why"
    return None if near or "sources" in error.details else "pegboard list shows the tools on the board"


def _would_refuse(result: ToolResult) -> bool:
    return result.data is not None and result.data.get("would_run") is False
