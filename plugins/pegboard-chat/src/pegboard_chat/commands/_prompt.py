"""What a person types: a line editor with history, arrow keys and completion, in a thread of its own.

prompt_toolkit is imported when the first prompt is shown. It writes to stderr: stdout carries the answers only. At the
prompt Ctrl-C clears the line and Ctrl-D ends; the terminal is the editor's as long as it reads, so the signal never
comes. A terminal that moves no cursor (`TERM=dumb`, a shell in an editor) gets plain lines, without the editor.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.cli import moves_cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    import trio
    from prompt_toolkit import PromptSession


class Typed(NamedTuple):
    """What came of a prompt: a line; None: the person wants to leave."""

    line: str | None


def as_text(typed: str) -> str:
    """What was typed, or stood in an argument: bytes which Python could not read are UTF-8, or replaced."""
    try:
        return typed.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return typed.encode("utf-8", "replace").decode("utf-8")


class Prompt:
    """Reads lines.

    Args:
        complete: for the text before the cursor, the words that its last word may become.
        history: the file in which lines are kept; None: they are kept as long as this lives.
    """

    def __init__(self, complete: Callable[[str], Iterable[str]], history: Path | None) -> None:
        self._session = _editor(complete, history) if moves_cursor() else None
        self._left = False
        self._plain: trio.CancelScope | None = None

    async def read(self) -> Typed:
        """Wait for a line."""
        import trio

        if self._session is None:
            return await self._read_plain()
        typed: Typed | None = None

        async def watch() -> None:
            try:
                await trio.sleep_forever()
            finally:
                if typed is None:
                    self.leave()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            # Never abandoned: the thread gives the terminal back as it was.
            typed = await trio.to_thread.run_sync(self._read, self._session)
            nursery.cancel_scope.cancel()
        return typed or Typed(None)

    async def _read_plain(self) -> Typed:
        import trio

        from pegboard.cli import note, read_typed_line

        line = ""
        if not self._left:
            sys.stderr.write("> ")
            sys.stderr.flush()
            with trio.CancelScope() as self._plain:
                line = await read_typed_line()
        if not line:
            note("")
        return Typed(line.rstrip("\r\n") if line else None)

    def _read(self, session: PromptSession[str]) -> Typed:
        while not self._left:
            try:
                return Typed(as_text(session.prompt(handle_sigint=False, pre_run=self._begin)))
            except KeyboardInterrupt:  # Ctrl-C clears the line
                continue
            except (EOFError, OSError):  # Ctrl-D, or the terminal is gone
                break
        return Typed(None)

    def _begin(self) -> None:
        """The editor runs from here on, and can be ended; perhaps it was left just before."""
        if self._left:
            self.leave()

    def leave(self) -> None:
        """End a prompt that waits."""
        self._left = True
        if self._plain is not None:
            self._plain.cancel()
        if self._session is None:
            return
        app = self._session.app
        loop = app.loop
        if app.is_running and loop is not None:
            loop.call_soon_threadsafe(_exit, app)


def _editor(complete: Callable[[str], Iterable[str]], history: Path | None) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import create_output

    keys = KeyBindings()
    keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
    output = create_output(stdout=sys.stderr)
    # A terminal that does not answer where its cursor is would be waited for, and the answer taken for keys.
    output.enable_cpr = False  # type: ignore[attr-defined]
    return PromptSession(
        "> ",
        history=InMemoryHistory() if history is None else FileHistory(str(history)),
        completer=_completer(complete),
        complete_while_typing=False,
        enable_suspend=True,  # Ctrl-Z, as everywhere
        key_bindings=keys,
        output=output,
        reserve_space_for_menu=4,
    )


def _exit(app: Any) -> None:
    if app.is_running and not app.is_done:
        app.exit(exception=EOFError())


def _completer(complete: Callable[[str], Iterable[str]]) -> Any:
    from prompt_toolkit.completion import Completer, Completion

    class Words(Completer):
        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:
            text = document.text_before_cursor
            word = text[max(text.rfind(" "), text.rfind("\n")) + 1 :]
            for one in complete(text):
                yield Completion(one, start_position=-len(word))

    return Words()
