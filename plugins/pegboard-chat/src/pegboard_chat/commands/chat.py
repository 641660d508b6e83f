"""`pegboard chat`: one question, or a conversation, with a model that calls the tools of the board."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import click

from pegboard.cli import Finite
from pegboard_chat.attachments import utf8_text
from pegboard_chat.commands._inspect import seen_in_a_browser
from pegboard_chat.commands._talk import (
    MAX_QUESTION,
    Options,
    Talk,
    argument_text,
    tell_absent,
    wait_for_sources,
)

if TYPE_CHECKING:
    from pegboard import Host, Session
    from pegboard.cli import ProgramRun


def _complete_model(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of providers for the shell."""
    from pegboard import PegboardError
    from pegboard.cli import ProgramRun
    from pegboard_chat.models import providers_of

    run = ctx.find_root().obj
    try:
        board = (run if isinstance(run, ProgramRun) else ProgramRun()).load_board(lenient=True)
        return [name for name in providers_of(board) if name.startswith(incomplete)]
    except PegboardError:
        return []


@click.command("chat", short_help="Talk with a model that calls the board's tools.")
@click.argument("question", metavar="[QUESTION]", required=False)
@click.option(
    "--model", metavar="PROVIDER:MODEL", shell_complete=_complete_model, help="Which model; else the configured one."
)
@click.option("--user", metavar="ID", help="Who calls; else user_id of the configuration.")
@click.option("--save", metavar="FILE", help="Keep the conversation there; one that is there already goes on.")
@click.option("--load", metavar="FILE", help="Go on with a saved conversation; the file stays as it is.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object an event, a line each.")
@click.option("--attach", metavar="FILE", multiple=True, help="Give the question a text, image or file; repeatable.")
@click.option("--tool", "tools", metavar="NAME", multiple=True, help="Only this tool may be called; repeatable.")
@click.option("--no-tools", is_flag=True, help="No tool may be called.")
@click.option("--system", metavar="TEXT", help="What the model is told before anything else.")
@click.option("--temperature", type=Finite(0), metavar="NUMBER", help="How freely it answers; else the provider's own.")
@click.option("--yes", is_flag=True, help="Answer yes where a tool asks a person first.")
@click.option("--max-calls", type=click.IntRange(0), metavar="N", help="Calls that a question may make.")
@click.option("--max-rounds", type=click.IntRange(1), metavar="N", help="Requests that a question may take.")
@click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="Tokens that a question may cost.")
@click.option("--max-seconds", type=Finite(0, min_open=True), metavar="S", help="Time that a question may take.")
@click.option("--max-cost", type=Finite(0, min_open=True), metavar="MONEY", help="Money that a question may cost.")
@click.option("--quiet", is_flag=True, help="The answer alone: no calls, results or totals.")
@click.option("--inspect", "inspects", is_flag=True, help="See it in a browser too, with pegboard-inspect.")
@click.pass_obj
def chat(run: ProgramRun, /, question: str | None, **said: Any) -> int:
    """Ask a model that calls the board's tools: one QUESTION, or a conversation at the terminal.

    Without QUESTION, or where it is -, the question comes from a pipe. Calls and results are shown on stderr; stdout
    carries the answer only. Keys come from the environment or the keyring; --model local finds a server on this
    machine, --model echo needs nothing.

    Exit status: 0 answered; 1 the model did not answer, or not in whole; 2 something is wrong with the usage or the
    configuration; 130 after Ctrl-C.
    """
    from pegboard.cli import running_third_party_code
    from pegboard_chat.commands._leaving import unless_ended

    asked = _question(question)
    options = Options(**said)
    talk = Talk(options)
    run.load_board()
    with running_third_party_code():  # what tools print is not an answer
        return run.open_host(lambda host: unless_ended(lambda: run_talk(talk, host, asked)))


async def run_talk(talk: Talk, host: Host, question: str | None) -> int:
    """Answer one question, or talk; the exit status."""
    session = talk.begin(host)
    async with seen_in_a_browser(talk, session) if talk.options.inspects else contextlib.nullcontext():
        return await _run(talk, host, session, question)


async def _run(talk: Talk, host: Host, session: Session, question: str | None) -> int:
    await wait_for_sources(host, talk.shown)
    tell_absent(host, talk.shown)
    talk.require_tools(session)
    try:
        if question is None:
            from pegboard_chat.commands._conversation import converse

            talk.is_talking = True
            return await converse(talk, session)
        async with talk.open_model(talk.options.model) as model:
            return await talk.answer(talk.chat(session, model), question, *talk.attached)
    finally:
        talk.tell_totals()


def _question(given: str | None) -> str | None:
    """The question; None: a person wants to talk.

    Raises:
        click.UsageError: there is neither.
    """
    from pegboard.cli import has_person, is_terminal

    if given is not None and given != "-":
        if not given.strip():
            raise click.UsageError("the question is empty")
        return argument_text(given, "the question")
    if given is None and is_terminal(sys.stdin):
        if has_person():
            return None
        raise click.UsageError("a conversation needs a terminal on stderr too; give a QUESTION")
    if sys.stdin is None:
        raise click.UsageError("there is no question, and no terminal to talk at; give a QUESTION")
    try:
        data = sys.stdin.buffer.read(MAX_QUESTION + 1)
    except (OSError, ValueError):
        data = b""
    if len(data) > MAX_QUESTION:
        raise click.UsageError(f"the question is longer than {MAX_QUESTION:,} bytes")
    text = utf8_text(data, "the question on stdin").removeprefix("\ufeff")
    if not text.strip():
        raise click.UsageError("there is no question, and no terminal to talk at; give a QUESTION")
    return text
