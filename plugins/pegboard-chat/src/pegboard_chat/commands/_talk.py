"""What a run of `pegboard chat` is: its options, what is kept between questions, and how a question is asked."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from pegboard import ConfigError
from pegboard.config import expand_home, open_named
from pegboard_chat.attachments import MAX_ATTACHED_BYTES, block_of, utf8_text
from pegboard_chat.commands import _files
from pegboard_chat.contract import ModelError, Stop

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    from pegboard import Content, Host, Session
    from pegboard_chat.budget import Budget
    from pegboard_chat.commands._shown import Lines, Shown
    from pegboard_chat.contract import Model
    from pegboard_chat.conversation import Conversation, Usage
    from pegboard_chat.events import Event
    from pegboard_chat.inspecting.watching import Watched
    from pegboard_chat.loop import Chat

DONE, FAILED = 0, 1
MAX_QUESTION = 4 * 1024 * 1024
"""The longest question that is read from a pipe, in bytes."""
SOURCES_WAIT_S = 30.0
"""How long the first question waits for sources to offer their tools."""
PATIENCE_S = 1.0


@attrs.frozen
class Options:
    """What the command's options say."""

    model: str | None = None
    user: str | None = None
    save: str | None = None
    load: str | None = None
    as_json: bool = False
    attach: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    no_tools: bool = False
    system: str | None = None
    temperature: float | None = None
    yes: bool = False
    max_calls: int | None = None
    max_rounds: int | None = None
    max_tokens: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    quiet: bool = False
    inspects: bool = False

    def __attrs_post_init__(self) -> None:
        if self.no_tools and self.tools:
            raise click.UsageError("--tool and --no-tools say opposite things")

    def budget(self, configured: Budget) -> Budget:
        """The configured budget with what the options say over it."""
        said: dict[str, Any] = {
            "max_tool_calls": self.max_calls,
            "max_rounds": self.max_rounds,
            "max_tokens": self.max_tokens,
            "max_seconds": self.max_seconds,
            "max_cost": self.max_cost,
        }
        return attrs.evolve(configured, **{name: most for name, most in said.items() if most is not None})


def argument_text(given: str, what: str) -> str:
    """The text of an argument, in which Python keeps bytes that are not UTF-8 as halves of characters (PEP 383).

    Raises:
        ConfigError: it is not UTF-8; the error says where.
    """
    from pegboard_chat.commands._prompt import as_text

    try:
        return utf8_text(given.encode("utf-8", "surrogateescape"), what)
    except UnicodeEncodeError:  # other halves, which no byte stands for
        return as_text(given)


def attachment(name: str) -> Content:
    """A file as a block of a question, by what its name says it is.

    Raises:
        ConfigError: it cannot be read, is too large, or is a text that is not UTF-8.
    """
    path = Path(name)
    try:
        with open_named(path) as file:
            data = file.read(MAX_ATTACHED_BYTES + 1)
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or "no path"
        raise ConfigError(f"{name} cannot be read: {why}", hint="attach a file that is there") from None
    if len(data) > MAX_ATTACHED_BYTES:
        raise ConfigError(
            f"{name} cannot be attached: it is larger than {MAX_ATTACHED_BYTES:,} bytes", hint="attach a part"
        )
    return block_of(path.name, data, what=name)


async def wait_for_sources(host: Host, shown: Shown | Lines) -> None:
    """Wait for the sources to offer their tools; say so where that takes a while."""
    from pegboard.cli import waiting

    await host.wait_for_sources(timeout_s=PATIENCE_S)
    if host.sources_starting:
        shown.tell("waiting for sources to offer their tools (Ctrl-C ends)")
        with waiting("waiting for the servers"):
            await host.wait_for_sources(timeout_s=SOURCES_WAIT_S - PATIENCE_S)


def tell_absent(host: Host, shown: Shown | Lines) -> None:
    """Say which sources offer nothing, and why, and what waits to be accepted."""
    from pegboard.cli import absence_of, held_line

    for one in host.board.source_statuses():
        if not one.tools:
            shown.tell(f"warning: {absence_of(one)}", dim=False)
    if line := held_line(host.board):
        shown.tell(f"warning: {line}", dim=False)


@contextlib.asynccontextmanager
async def opened(host: Host, name: str | None) -> AsyncIterator[Model]:
    """A model as long as the block lasts.

    Raises:
        ConfigError: there is no such provider, or no key or address that could be one: a person has to set something.
        ModelError: it cannot be reached.
    """
    from pegboard.cli import waiting
    from pegboard_chat.models import open_model

    async with contextlib.AsyncExitStack() as stack:
        try:
            with waiting("reaching the model"):
                model = await stack.enter_async_context(open_model(host, name))
        except ModelError as problem:
            reason = problem.details.get("reason")
            if reason not in ("no_key", "wrong_key", "refused") or "status" in problem.details:  # a provider's answer
                raise
            hint = "without a key: --model local (a server on this machine), --model echo (no model at all)"
            raise ConfigError(problem.message, hint=hint if reason == "no_key" else None) from None
        yield model


class Talk:
    """One run of the command: what is kept between questions, and how a question is asked.

    Attributes:
        conversation: what was said so far.
        save: where it is saved after every turn; None: nowhere.
        version: of that file, as it was read or written last; None: it was not there.
        is_talking: a conversation, not one question.
        requests, usage, cost: of all questions; cost is None where a price is not known.
        watched: who looks on; None: nobody can.
        later: lines that a person is told before the next question: nothing is written into what they type.
    """

    def __init__(self, options: Options) -> None:
        from pegboard_chat.commands._shown import Lines, Shown
        from pegboard_chat.conversation import Usage

        self.options = options
        self.save = None if options.save is None else expand_home(options.save)
        self.version = None if self.save is None else _files.version_of(self.save)
        self.conversation: Conversation | None = self._start()
        self.attached = [attachment(name) for name in options.attach]
        self.shown: Shown | Lines = Lines() if options.as_json else Shown(quiet=options.quiet)
        self.requests = 0
        self.usage: Usage = Usage()
        self.cost: float | None = 0.0
        self.currency = ""
        self.model_name = ""
        self.is_talking = False
        self.watched: Watched | None = None
        self.later: list[str] = []
        self._answered: dict[str, None] = {}
        self._began = time.perf_counter()

    def _start(self) -> Conversation | None:
        """What goes on here; None: nothing was said yet.

        Raises:
            ConfigError: a file is not a conversation, or cannot be written.
        """
        from pegboard_chat.conversation import Conversation

        found: Conversation | None = None
        if self.save is not None:
            _files.require_writable(self.save)
            if os.path.lexists(self.save.resolve()):
                if self.options.load is not None:
                    raise ConfigError(
                        f"{self.save} is there already, and would be replaced by what --load names",
                        hint="name another file to save to, or leave --load out to go on with this one",
                    )
                found = _files.load_conversation(self.save)
        if self.options.load is not None:
            found = _files.load_conversation(expand_home(self.options.load))
        if self.options.system is not None:
            found = Conversation(
                argument_text(self.options.system, "--system"), found.messages if found is not None else ()
            )
        return found

    def begin(self, host: Host) -> Session:
        """Take the host, and the session of the person in front of it."""
        from pegboard.cli import has_person, say_yes
        from pegboard_chat.commands._asking import Asking

        confirm = say_yes if self.options.yes else Asking(self.shown).confirm if has_person() else None
        self.host = host
        return host.session(self.options.user, channel="chat", confirm=confirm, on_progress=self._tell_progress)

    async def _tell_progress(self, call_id: str, done: float, total: float | None, message: str | None) -> None:
        from pegboard.cli import printable_line

        if not self.options.quiet:
            of = f" of {total:g}" if total is not None else ""
            self.shown.tell(f"  {done:g}{of} {printable_line(message or '', 100)}".rstrip())

    def require_tools(self, session: Session) -> None:
        """Require that the tools are there which `--tool` names.

        Raises:
            ConfigError: one is not.
        """
        from pegboard.schema import NearNames

        for name in self.options.tools:
            if name not in session.tools:
                if name in self.host.board.visible_tools(session.profile).plans:
                    raise self.host.board.not_offered(name)
                near = NearNames().find(name, session.tools)
                hint = f"did you mean {near[0]}?" if near else "pegboard list shows the tools on the board"
                raise ConfigError(f"there is no tool {name[:80]!r}", hint=hint)

    @contextlib.asynccontextmanager
    async def open_model(self, name: str | None) -> AsyncIterator[Model]:
        """The model as long as the block lasts; see `opened`."""
        async with opened(self.host, name) as model:
            self.model_name = model.name
            yield model

    def chat(self, session: Session, model: Model) -> Chat:
        """The loop, where the conversation stands."""
        from pegboard_chat.budget import Budget
        from pegboard_chat.loop import Chat, settings_of

        options, settings = self.options, settings_of(self.host)
        tools = () if options.no_tools else options.tools or None
        return Chat(
            session, model, conversation=self.conversation, settings=settings, tools=tools,
            budget=options.budget(Budget.of_settings(settings)), temperature=options.temperature,
        )  # fmt: skip

    async def answer(self, chat: Chat, *content: str | Content) -> int:
        """Ask, and show what happens; without content, what was said last is asked once more. The exit status.

        What was said is kept and saved however it ends.
        """
        from pegboard.cli import OutputError
        from pegboard_chat.events import AnswerCut, ChatEnded, RoundEnded

        status = DONE
        is_cut = is_told = False
        before = chat.conversation
        self.currency = chat.currency
        try:
            async with (
                chat.ask(*content) if content else chat.go_on() as events,
                contextlib.aclosing(self._waited_for(events)) as told,
            ):
                if self.watched is not None:
                    self.watched.begin(before, chat)
                async for event in told:
                    self.shown.show(event)
                    if self.watched is not None:
                        self.watched.hear(event)
                    if isinstance(event, RoundEnded):
                        self.requests += 1
                        self._answered[self.model_name] = None
                        self.usage += event.usage
                        self.cost = None if event.cost is None or self.cost is None else self.cost + event.cost
                    elif isinstance(event, AnswerCut):
                        is_cut = True
                    elif isinstance(event, ChatEnded):
                        is_told = True
                        is_whole = event.stop not in (Stop.LENGTH, Stop.REFUSED) and not is_cut
                        status = DONE if is_whole and (event.text or event.reason is None) else FAILED
        except ModelError as problem:
            self.shown.break_line()
            self.shown.fail(problem)
            if self.watched is not None:
                self.watched.fail(problem)
                is_told = True
            if self.is_talking:
                what = "what came of this answer is kept, marked as cut" if is_cut else "all but this answer is kept"
                self.shown.tell(f"{what} (/retry asks again)")
            status = FAILED
        finally:
            if self.watched is not None and not is_told:  # nobody reads the events any more
                self.watched.stand(chat.conversation)
            self.keep(chat.conversation)
            last = chat.conversation.messages[-1] if chat.conversation is not before else None
            if last is not None and last.cut == "left" and not is_cut:  # nobody reads the events any more
                with contextlib.suppress(OutputError):
                    self.shown.show(AnswerCut(last.text, last.cut))
        return status

    async def _waited_for(self, events: AsyncIterator[Event]) -> AsyncGenerator[Event, None]:
        """The events; while the next is waited for, and no line is begun, the terminal says what runs."""
        from pegboard.cli import waiting
        from pegboard_chat.events import CallEnded, CallStarted

        running: dict[str, str] = {}
        while True:
            names = ", ".join(dict.fromkeys(running.values()))
            what = f"{names} {'run' if len(running) > 1 else 'runs'}" if names else f"waiting for {self.model_name}"
            with contextlib.nullcontext() if self.options.quiet or self.shown.in_a_line else waiting(what):
                event = await anext(events, None)
            if event is None:
                return
            if isinstance(event, CallStarted):
                running[event.call.id] = event.call.name
            elif isinstance(event, CallEnded):
                running.pop(event.result.id, None)
            yield event

    def keep(self, conversation: Conversation) -> None:
        """Keep what was said, in the file too.

        Raises:
            ConfigError: it cannot be written.
        """
        self.conversation = conversation
        if self.save is None:
            return
        if _files.version_of(self.save) not in (self.version, None):
            before, self.save = self.save, _files.beside(self.save)
            said = f"note: {before} was written by another program meanwhile; this conversation is kept in {self.save}"
            self.shown.tell(said, dim=False)
        _files.save_conversation(self.save, conversation)
        self.version = _files.version_of(self.save)

    def tell_line(self, line: str) -> None:
        """Tell a line as soon as nobody types."""
        if self.is_talking:
            self.later.append(line)
        else:
            self.shown.tell(line, dim=False)

    def tell_totals(self) -> None:
        """Say what it all cost, if anything was asked."""

        self.shown.break_line()
        if self.requests and not self.options.quiet:
            self.shown.tell(self.totals())

    def totals(self) -> str:
        """What it all cost so far, in a line."""
        from pegboard_chat.commands._shown import money, totals

        seconds = time.perf_counter() - self._began
        names = ", ".join(self._answered) or self.model_name
        return totals(names, self.requests, self.usage, money(self.cost, self.currency), seconds)

    @property
    def tools(self) -> Mapping[str, Any]:
        """The tools that may be called."""
        if self.options.no_tools:
            return {}
        everything = self.host.board.visible_tools().offered.tools
        return {name: everything[name] for name in self.options.tools if name in everything} or everything
