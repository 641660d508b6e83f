"""A conversation at the terminal: questions and commands in turn, until the person leaves.

Ctrl-C while the model speaks ends that answer and nothing else; the tools that run for it are cancelled with it.
Pressed again while they do not end, it ends the program. One model is closed before the next is opened.
"""

from __future__ import annotations

import math
import os
import signal
import threading
from typing import TYPE_CHECKING

from pegboard import ConfigError, PegboardError
from pegboard.cli import printable_line
from pegboard.config import expand_home
from pegboard_chat.commands import _files
from pegboard_chat.commands._prompt import Prompt
from pegboard_chat.contract import ModelError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    import trio

    from pegboard import Session
    from pegboard_chat.commands._talk import Talk
    from pegboard_chat.contract import Model
    from pegboard_chat.loop import Chat

INTERRUPTED = 130
COMMANDS = {
    "/help": "these commands",
    "/tools": "the tools that the model may call; with a word those that it is in",
    "/model": "which model answers; with PROVIDER:MODEL another one goes on",
    "/save": "keep the conversation in a file, from now on after every turn",
    "/retry": "ask for an answer to what was said last",
    "/new": "begin a new conversation",
    "/usage": "what it has cost so far",
    "/quit": "leave (so does Ctrl-D)",
}
HINT = "Ask something; /help shows the commands, Ctrl-D leaves."
MAX_LISTED = 200
LATE_S = 0.5
"""So long after an answer Ctrl-C is still meant for it."""


async def converse(talk: Talk, session: Session) -> int:
    """Talk until the person leaves; the exit status."""
    import trio

    name = talk.options.model
    prompt = Prompt(lambda text: completions(talk, text), _files.history_file())
    async with trio.open_nursery() as nursery:
        stops = Stops(prompt)
        await nursery.start(stops.listen)
        name, before = talk.options.model, ""
        while name is not None or not before:
            try:
                async with talk.open_model(name) as model:
                    told = f", {_counted(len(talk.tools))}. {HINT}" if not before else " goes on"
                    talk.shown.tell(f"{printable_line(model.name, 80)}{told}")
                    before = model.name
                    name = await Conversing(talk, session, model, prompt, stops).run()
            except (PegboardError, ModelError) as problem:
                if not before or name == before:
                    raise
                _tell_problem(talk, problem)
                name = before
        nursery.cancel_scope.cancel()
    return INTERRUPTED if stops.left else 0


def _counted(tools: int) -> str:
    return f"{tools:,} {'tool' if tools == 1 else 'tools'}"


def _tell_problem(talk: Talk, problem: PegboardError | ModelError) -> None:
    talk.shown.tell(f"error: {printable_line(str(problem.message))}", dim=False)
    if isinstance(problem, PegboardError) and problem.hint:
        talk.shown.tell(f"hint: {problem.hint}", dim=False)


class Stops:
    """Ctrl-C, as long as the conversation lasts: it ends the answer that is being given.

    Attributes:
        left: the signal came where no answer was given, from somewhere else than the keyboard: the program ends.
    """

    def __init__(self, prompt: Prompt) -> None:
        self.left = False
        self._prompt = prompt
        self._scope: trio.CancelScope | None = None
        self._ended = -math.inf
        """When the last answer ended: a key that was pressed for it may come late."""

    async def listen(self, task_status: trio.TaskStatus[None]) -> None:
        """Hear the signal."""
        import trio

        if threading.current_thread() is not threading.main_thread():
            task_status.started()
            return
        with trio.open_signal_receiver(signal.SIGINT) as signals:
            task_status.started()
            async for _ in signals:
                if self._scope is None:
                    if trio.current_time() - self._ended > LATE_S:
                        self.left = True
                        self._prompt.leave()
                elif self._scope.cancel_called:  # asked again: what runs does not end by itself
                    os.write(2, b"\ninterrupted; what did not end by itself was left behind\n")
                    os._exit(INTERRUPTED)
                else:
                    self._scope.cancel()

    async def during(self, work: Callable[[], Awaitable[object]]) -> bool:
        """Do the work until it is done or Ctrl-C ends it; whether it was done."""
        import trio

        with trio.CancelScope() as self._scope:
            try:
                await work()
            finally:
                scope, self._scope = self._scope, None
                self._ended = trio.current_time()
        return not scope.cancelled_caught


class Conversing:
    """A conversation with one model."""

    def __init__(self, talk: Talk, session: Session, model: Model, prompt: Prompt, stops: Stops) -> None:
        self._talk = talk
        self._session = session
        self._model = model
        self._prompt = prompt
        self._stops = stops
        self._chat: Chat = talk.chat(session, model)

    async def run(self) -> str | None:
        """Take lines until the person leaves; the name of another model that is to go on, or None."""
        while not self._stops.left:
            for told in self._talk.later:
                self._talk.shown.tell(told, dim=False)
            self._talk.later.clear()
            line = (await self._prompt.read()).line
            if line is None:
                break
            if line.startswith("/"):
                command, argument = (*line.split(None, 1), "")[:2]
                if command in ("/quit", "/exit"):
                    break
                if command == "/model" and argument.strip():
                    return argument.strip()
                await self._command(command, argument.strip())
            elif line.strip():
                attached, self._talk.attached = self._talk.attached, []
                self._session.note_said(line)  # and neither files nor what came through a pipe or in an argument
                await self._answer(line.strip(), *attached)
        return None

    async def _answer(self, *content: object) -> None:
        async def work() -> None:
            await self._talk.answer(self._chat, *content)  # type: ignore[arg-type]

        try:
            if not await self._stops.during(work):
                messages = self._chat.conversation.messages
                kept = "; what came of the answer is kept, marked as cut" if messages and messages[-1].cut else ""
                self._talk.shown.tell(f"stopped{kept} (/retry asks again)")
        except ConfigError as problem:  # the file cannot be written, or a budget asks for what is not known
            _tell_problem(self._talk, problem)

    async def _command(self, command: str, argument: str) -> None:
        """Do what a line beginning with `/` says."""
        tell = self._talk.shown.tell
        match command:
            case "/help":
                for name, what in COMMANDS.items():
                    tell(f"{name:8} {what}", dim=False)
                tell("Alt-Enter begins a new line, Tab completes; a line that begins with a blank is not a command.")
            case "/tools":
                self._list_tools(argument)
            case "/model":
                self._list_models()
            case "/save":
                self._save(argument)
            case "/retry":
                try:
                    await self._answer()
                except ValueError as problem:
                    tell(str(problem), dim=False)
            case "/new":
                self._begin_anew()
            case "/usage":
                tell(self._talk.totals(), dim=False)
            case _:
                from pegboard.schema import NearNames

                near = NearNames().find(command, COMMANDS)
                hint = f"did you mean {near[0]}?" if near else "/help shows the commands"
                tell(f"there is no command {printable_line(command, 40)}; {hint}", dim=False)

    def _list_tools(self, word: str) -> None:
        from pegboard.cli import held_line

        tools = self._talk.tools
        found = [
            tool for name, tool in sorted(tools.items())
            if word.casefold() in f"{name} {tool.description}".casefold()
        ]  # fmt: skip
        for tool in found[:MAX_LISTED]:
            line = printable_line(tool.description.partition("\n")[0], 100)
            self._talk.shown.tell(f"{printable_line(tool.name, 60)}  {line}", dim=False)
        if len(found) > MAX_LISTED:
            self._talk.shown.tell(f"and {len(found) - MAX_LISTED:,} more: /tools WORD shows fewer")
        if not found:
            self._talk.shown.tell("there is none" if not word else f"none with {printable_line(word, 40)!r} in it")
        if held := held_line(self._talk.host.board):
            self._talk.shown.tell(held)

    def _list_models(self) -> None:
        from pegboard_chat.models import providers_of

        self._talk.shown.tell(f"{printable_line(self._model.name, 80)} answers", dim=False)
        for name, provider in providers_of(self._talk.host).items():
            missing = provider.missing()
            self._talk.shown.tell(f"{name}: {missing or 'ready'}")

    def _save(self, argument: str) -> None:
        talk = self._talk
        if not argument and talk.save is None:
            talk.shown.tell("name a file: /save FILE", dim=False)
            return
        path = expand_home(argument) if argument else talk.save
        assert path is not None, "one of them is there"
        before, version = talk.save, talk.version
        try:
            _files.require_writable(path)
            if path != before and path.exists():
                raise ConfigError(f"{path} is there already", hint="name a file that is not there")
            if path != before:
                talk.save, talk.version = path, None
            talk.keep(self._chat.conversation)
        except ConfigError as problem:
            talk.save, talk.version = before, version
            _tell_problem(talk, problem)
        else:
            talk.shown.tell(f"saved in {talk.save}, from now on after every turn")

    def _begin_anew(self) -> None:
        from pegboard_chat.conversation import Conversation

        talk = self._talk
        system = self._chat.conversation.system
        if talk.save is not None:
            talk.shown.tell(f"{talk.save} keeps what was said; /save FILE keeps the new conversation")
            talk.save = None
        talk.conversation = Conversation(system)
        self._chat = talk.chat(self._session, self._model)
        if talk.watched is not None:
            talk.watched.stand(talk.conversation)


def completions(talk: Talk, text: str) -> Iterable[str]:
    """What the last word before the cursor may become: a command, a provider, the name of a tool."""
    from pegboard_chat.models import providers_of

    head, _, word = text.replace("\n", " ").rpartition(" ")
    if not head and word.startswith("/"):
        return [name for name in COMMANDS if name.startswith(word)]
    if head.strip() == "/model":
        return [name for name in providers_of(talk.host) if name.startswith(word)]
    if not word:
        return []
    return sorted(name for name in talk.tools if name.startswith(word))
