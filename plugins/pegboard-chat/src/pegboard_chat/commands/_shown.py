"""What a turn looks like: for a person, or one JSON line an event.

stdout carries the answer only, piece by piece as it comes; calls, results, thoughts and totals go to stderr. Text of
models and of tools is third-party text: on a terminal every character that a terminal obeys is written as an escape. A
terminal never sees the byte ESC from them, so nothing can be put together over several pieces; what is held back from
one piece to the next is a carriage return, which may belong to a line break, and the first half of a character.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from pegboard import TextContent
from pegboard.cli import answer_stream, emit, is_terminal, moves_cursor, printable_line, quiet, taken_out_of, to_json
from pegboard.text import visible
from pegboard_chat.contract import ModelError, Stop, TextDelta, ThinkingDelta
from pegboard_chat.events import CallEnded, CallStarted, ChatEnded, RoundEnded, event_to_json

if TYPE_CHECKING:
    from pegboard import ToolError, ToolResult
    from pegboard_chat.conversation import Usage
    from pegboard_chat.events import Event

MAX_SHOWN = 200
"""Of arguments and results in a line for a person, in characters."""
MAX_ERROR = 1_000
_SURROGATE = re.compile("[\ud800-\udfff]")


class Pieces:
    """Makes text harmless that comes in pieces: however it is cut, the same comes out.

    Args:
        careful: whether a terminal reads it; else it stays as it is.
    """

    def __init__(self, *, careful: bool) -> None:
        self._careful = careful
        self._held = ""

    def add(self, text: str) -> str:
        """What may be shown with the next piece."""
        text = self._held + text
        if text and (text[-1] == "\r" or "\ud800" <= text[-1] <= "\udbff"):
            self._held, text = text[-1], text[:-1]
        else:
            self._held = ""
        return self._clean(text)

    def end(self) -> str:
        """What was held back."""
        held, self._held = self._held, ""
        return self._clean(held)

    def _clean(self, text: str) -> str:
        if not text.isascii() and _SURROGATE.search(text):  # halves that came apart belong together
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return visible(text) if self._careful else text


class Shown:
    """Turns for a person.

    Args:
        quiet: the answer alone, and what goes wrong.
        thinking: what models think aloud too.
    """

    def __init__(self, *, quiet: bool = False, thinking: bool = True) -> None:
        self._notes_on_terminal = is_terminal(sys.stderr)
        self._quiet = quiet
        self._thinking = thinking and self._notes_on_terminal and not quiet
        self._dim = self._notes_on_terminal and not os.environ.get("NO_COLOR") and moves_cursor()
        self._text = Pieces(careful=is_terminal(answer_stream()))
        self._thought = Pieces(careful=True)
        self._open = ""
        """What has begun a line and not ended it: the answer, or a thought."""

    @property
    def in_a_line(self) -> bool:
        """Whether a line is begun and not ended."""
        return bool(self._open)

    def show(self, event: Event) -> None:
        """Show what happens, at once.

        Raises:
            OutputError: stdout is closed or full.
        """
        if isinstance(event, TextDelta):
            self._say_text(event.text)
        elif isinstance(event, ThinkingDelta):
            self._say_thought(event.text)
        elif isinstance(event, CallStarted) and not self._quiet:
            arguments = printable_line(json.dumps(event.call.arguments, ensure_ascii=False, default=str), MAX_SHOWN)
            self.tell(f"-> {printable_line(event.call.name, 80)} {arguments}")
        elif isinstance(event, CallEnded) and not self._quiet:
            self.tell(_result_line(event.result))
            if parts := taken_out_of(event.result):
                self.tell(parts)
        elif isinstance(event, RoundEnded):
            if not event.reply.message.text and event.reply.stop is Stop.REFUSED:
                self.tell("the model refused to answer")
        elif isinstance(event, ChatEnded):
            self.break_line()
            for why in ending_of(event):
                self.tell(f"note: {why}", dim=False)

    def fail(self, problem: ModelError) -> None:
        """Say that the model did not answer."""
        self.tell(f"error: {error_line(problem)}", dim=False)

    def tell(self, text: str, *, dim: bool = True) -> None:
        """One line on stderr, beside whatever is being said."""
        self.break_line()
        text = visible(text)
        self._write(f"\x1b[2m{text}\x1b[0m\n" if dim and self._dim else f"{text}\n")

    def break_line(self) -> None:
        """End a line that was begun."""
        if self._open == "answer":
            emit(f"{self._text.end()}\n")
        elif self._open == "thought":
            self._write(f"{self._thought.end()}\n")
        self._open = ""

    def _say_text(self, text: str) -> None:
        if self._open == "thought":
            self.break_line()
        shown = self._text.add(text)
        if shown:
            emit(shown)
            self._open = "" if shown.endswith("\n") else "answer"
        elif text:
            self._open = "answer"

    def _say_thought(self, text: str) -> None:
        if not self._thinking:
            return
        if self._open == "answer":
            self.break_line()
        shown = self._thought.add(text)
        if not self._open and not self._dim:  # nothing else tells it from the answer
            shown = f"thinking: {shown}"
        self._write(f"\x1b[2m{shown}\x1b[0m" if self._dim else shown)
        self._open = "" if shown.endswith("\n") else "thought"

    def _write(self, text: str) -> None:
        with quiet(), contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _result_line(result: ToolResult) -> str:
    took = f"({result.duration_ms:,.0f} ms)" if result.duration_ms >= 1 else ""
    if result.error is not None:
        text = f"<- {printable_line(result.name, 80)}: {error_line(result.error)}"
    else:
        shown = " ".join(
            block.text if isinstance(block, TextContent) else f"[{getattr(block, 'mime_type', 'data')}]"
            for block in result.content
        ) or json.dumps(result.data, ensure_ascii=False, default=str)
        text = f"<- {printable_line(result.name, 80)}: {printable_line(shown, MAX_SHOWN)}"
    return f"{text} {took}".rstrip()


_CUT_BY = {
    "max_tool_calls": "this question has made all the calls it may make (--max-calls)",
    "max_rounds": "this question has taken all the requests it may take (--max-rounds)",
    "max_tokens": "this question has cost the tokens it may cost (--max-tokens)",
    "max_seconds": "this question has taken the time it may take (--max-seconds)",
    "max_cost": "this question has cost what it may cost (--max-cost)",
}


def ending_of(event: ChatEnded) -> list[str]:
    """What a person must know of how a question ended; nothing: the model answered and was done."""
    parts = []
    if event.reason is not None:
        parts.append(_CUT_BY.get(event.reason, event.reason))
    if event.stop is Stop.LENGTH:
        parts.append("the answer is cut: the model's limit of output is reached")
    elif event.stop is Stop.REFUSED:
        parts.append("the model, or its provider, refused to answer")
    elif not event.text and event.reason is None:
        parts.append("the model ended without a word")
    return parts


class Lines:
    """Turns for a program: one JSON object a line on stdout, each as it happens."""

    in_a_line = False

    def show(self, event: Event) -> None:
        """Write the event.

        Raises:
            OutputError: stdout is closed or full.
        """
        self._emit(event_to_json(event))

    def fail(self, problem: ModelError) -> None:
        """The event `error`, and the same for a person."""
        self._emit({"type": "error", "error": problem.to_json()})
        self.tell(f"error: {error_line(problem)}", dim=False)

    def tell(self, text: str, *, dim: bool = True) -> None:
        """Only what is not part of the events is said beside them."""
        if not dim:
            with contextlib.suppress(OSError, ValueError, AttributeError):
                sys.stderr.write(f"{visible(text)}\n")
                sys.stderr.flush()

    def break_line(self) -> None:
        """Every line is whole."""

    def _emit(self, value: dict[str, Any]) -> None:
        emit(to_json(value) + "\n", json_text=True)


def totals(models: str, requests: int, usage: Usage, cost: str, seconds: float) -> str:
    """What it all cost, in a line."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return (
        f"{printable_line(models, 200)}: {counted(requests, 'request')}, "
        f"{counted(usage.input_tokens, 'token')} read{cached}, {usage.output_tokens:,} written, {cost}, {seconds:.1f} s"
    )


def counted(number: int, what: str) -> str:
    """A number of things: `1 token`, `2,000 tokens`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def money(cost: float | None, currency: str) -> str:
    """What it cost, as words."""
    if cost is None:
        return "price not known"
    return f"{f'{cost:.6f}'.rstrip('0').rstrip('.')} {currency}" if cost else "free"


def error_line(problem: ToolError) -> str:
    """An error as a person reads it."""
    return f"{problem.code.value}: {printable_line(problem.message, MAX_ERROR)}"
