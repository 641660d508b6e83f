"""What a person types: a line editor with history, arrow keys and completion, in a thread of its own.

prompt_toolkit is imported when the first prompt is shown. It writes to stderr: stdout carries the answers only. At the
prompt Ctrl-C clears the line and Ctrl-D ends; the terminal is the editor's as long as it reads, so the signal never
comes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


class Typed(NamedTuple):
    """What came of a prompt: a line; None: the person wants to leave."""

    line: str | None


class Prompt:
    """Reads lines.

    Args:
        complete: for the text before the cursor, the words that its last word may become.
        history: the file in which lines are kept; None: they are kept as long as this lives.
    """

    def __init__(self, complete: Callable[[str], Iterable[str]], history: Path | None) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory, InMemoryHistory
        from prompt_toolkit.key_binding import KeyBindings
        from prompt_toolkit.output import create_output

        keys = KeyBindings()
        keys.add("escape", "enter")(lambda event: event.current_buffer.insert_text("\n"))
        output = create_output(stdout=sys.stderr)
        # A terminal that does not answer where its cursor is would be waited for, and the answer taken for keys.
        output.enable_cpr = False  # type: ignore[attr-defined]
        self._session: PromptSession[str] = PromptSession(
            "> ",
            history=InMemoryHistory() if history is None else FileHistory(str(history)),
            completer=_completer(complete),
            complete_while_typing=False,
            key_bindings=keys,
            output=output,
            reserve_space_for_menu=4,
        )
        self._left = False

    async def read(self) -> Typed:
        """Wait for a line."""
        import trio

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
            typed = await trio.to_thread.run_sync(self._read)
            nursery.cancel_scope.cancel()
        return typed or Typed(None)

    def _read(self) -> Typed:
        while not self._left:
            try:
                return Typed(self._session.prompt(handle_sigint=False))
            except KeyboardInterrupt:  # Ctrl-C clears the line
                continue
            except (EOFError, OSError):  # Ctrl-D, or the terminal is gone
                break
        return Typed(None)

    def leave(self) -> None:
        """End a prompt that waits; for any thread."""
        self._left = True
        app = self._session.app
        loop = app.loop
        if app.is_running and loop is not None:
            loop.call_soon_threadsafe(_exit, app)


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
