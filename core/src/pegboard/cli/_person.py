"""The person at the terminal: questions go to stderr, answers come from stdin.

A question comes first, with the tool that asks and where it comes from. What it is about - arguments, what a server
wants to send, a form - is a third-party text: it is shown in full, page by page, each line of it behind a bar, so that
nothing in it can pass for a question or for its end. A yes counts only when all of it was shown.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Literal

from pegboard.cli._output import note
from pegboard.cli._terminal import columns_of, cut, is_terminal, rows_of
from pegboard.cli._text import printable, printable_line
from pegboard.cli._waiting import quiet
from pegboard.text import visible_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import trio

    from pegboard.session import Confirmation

ATTEMPTS = 3
"""How often a field of a form is asked for again before the form counts as left."""
BAR = "  | "
"""Before each line of a text that is not ours."""
MIN_ROWS = 5
"""Of a page, on a terminal that says it has fewer."""
SHORT = 200
"""Characters of a question, or of a field's description, that stand in its line; a longer one is shown below it."""


def has_person() -> bool:
    """Whether somebody can be asked.

    .. versionadded:: 0.1
    """
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


async def say_yes(asked: Confirmation) -> bool:
    """The answer of `--yes`: yes to a question; a form, and what changed since it was first seen, need a person.

    .. versionadded:: 0.1
    """
    return asked.schema is None and asked.url is None and not asked.is_acceptance


async def ask_person(
    asked: Confirmation, *, remembers: bool = False
) -> bool | Literal["session"] | Mapping[str, Any] | None:
    """Ask at the terminal: yes or no, or the fields of a form. Everything but a plain yes is a no.

    Of several that ask at once each waits for its turn.

    Args:
        asked: the question.
        remembers: offer a yes that holds for the session too.

    .. versionadded:: 0.1
    """
    async with _turn():
        with quiet():
            return await _ask_now(asked, remembers)


async def _ask_now(asked: Confirmation, remembers: bool) -> bool | Literal["session"] | Mapping[str, Any] | None:
    question, text = _parts_of(asked)
    arguments = visible_json(json.dumps(asked.arguments, ensure_ascii=False, default=str)) if asked.arguments else ""
    choices = "(y/N, a: always in this conversation) " if remembers else "(y/N) "
    short = " ".join(filter(None, (question, arguments, choices)))
    if not (text or asked.schema or asked.url) and len(short) <= columns_of(sys.stderr):
        return _meaning(await _ask(short), remembers)
    note(question)
    is_paged = False
    if asked.url is not None:
        note(f"  {printable_line(asked.url).replace(' ', '%20')}")  # whole, so that it can be clicked
    for part in (text, arguments):
        shown = await _show(part)
        if shown is None:
            return False
        is_paged = is_paged or shown
    if asked.schema is not None:
        note("(an empty line leaves a field out, Ctrl-C leaves)")
        return await _ask_fields(asked.schema, question)
    again = "Have you opened it and done what it asks?" if asked.url is not None else "Do you agree?"
    return _meaning(await _ask(f"{question if is_paged else again} {choices}"), remembers)


def _parts_of(asked: Confirmation) -> tuple[str, str]:
    """The question in one line, with who asks; and what is to be shown below it."""
    label = f"[{printable_line(asked.tool.name, 128)} of {printable_line(str(asked.tool.origin), 128)}]"
    first, _, text = printable(asked.question).partition("\n")
    if len(first) > SHORT:
        return f"Do you agree to what is shown below? {label}", f"{first}\n{text}".rstrip("\n")
    return f"{printable_line(first)} {label}", text.rstrip("\n")


def _meaning(answer: str, remembers: bool) -> bool | Literal["session"]:
    if remembers and answer in ("a", "always"):
        return "session"
    return answer in ("y", "yes")


async def _show(text: str) -> bool | None:
    """Show a third-party text to its end: whether that took more than one page; None: the person said no before."""
    lines = list(_barred(text))
    page = max(rows_of(sys.stderr) - 4, MIN_ROWS)  # below the question, and above what is asked
    shown, size = 0, page
    while shown < len(lines):
        note("\n".join(lines[shown : shown + size]))
        shown += size
        if shown < len(lines):
            forget_typed()
            prompt = f"({shown:,} of {len(lines):,} lines are shown; Enter: more, all: the rest, n: no) "
            answer = await _ask(prompt, at_end="n")
            if answer in ("n", "no"):
                return None
            size = len(lines) if answer == "all" else page
    if len(lines) > page:
        forget_typed()
    return len(lines) > page


def _barred(text: str) -> Iterator[str]:
    """The lines of a text behind bars, none wider than the terminal, which would break it without a bar."""
    columns = max(columns_of(sys.stderr) - len(BAR) - 1, 20)
    for line in printable(text).expandtabs(4).split("\n") if text else ():
        rest = line
        while True:
            part = cut(rest, columns) or rest[:1]
            yield f"{BAR}{part}"
            rest = rest[len(part) :]
            if not rest:
                break


async def _ask_fields(schema: Mapping[str, Any], question: str) -> Mapping[str, Any] | bool | None:
    from pegboard.schema.explain import explain
    from pegboard.schema.repair import read_text

    answers: dict[str, Any] = {}
    properties = schema.get("properties")
    for name, field in properties.items() if isinstance(properties, dict) else ():
        required = name in schema.get("required", ())
        prompt, text = _prompt_of(name, field, required=required)
        if await _show(text) is None:
            return False
        for _ in range(ATTEMPTS):
            answer = (await _read(prompt)).strip()
            if not answer and not required:
                break
            value = read_text(field, answer, root=schema)
            faults = explain(field, value)
            if not faults:
                answers[name] = value
                break
            note("\n".join(f"  expected {fault.expected}" for fault in faults[:3]))
        else:
            return None
    return answers if await _ask(f"{question} Send this? (y/N) ") in ("y", "yes") else False


def _prompt_of(name: str, field: Any, *, required: bool) -> tuple[str, str]:
    """The line that asks for a field, and what is to be shown above it where it is too long for a line."""
    field = field if isinstance(field, dict) else {}
    title, optional = str(field.get("title") or name), "" if required else " (optional)"
    choices = f"one of {', '.join(map(str, field['enum']))}" if "enum" in field else ""
    hint = "; ".join(part for part in (str(field.get("description") or ""), choices) if part)
    if len(title) + len(hint) > SHORT or "\n" in title + hint:
        return f"  {printable_line(name, 100)}{optional}: ", f"{title}\n{hint}"
    return f"  {printable_line(title)}{optional}{f' - {printable_line(hint)}' if hint else ''}: ", ""


async def _ask(question: str, *, at_end: str = "") -> str:
    """A word, in small letters; at the end of stdin `at_end`."""
    line = await _read(question)
    return line.strip().lower() if line else at_end


async def _read(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    try:
        line = await read_typed_line()
    except BaseException:
        note("")  # nobody answered: what is said next is not part of the question's line
        raise
    if not line.endswith(("\n", "\r")):
        note("")
    return line


def forget_typed() -> None:
    """Discard what was typed before now: it does not answer what is asked next.

    .. versionadded:: 0.1
    """
    if sys.platform != "win32":
        import termios

        with contextlib.suppress(termios.error, OSError, ValueError):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def read_typed_line() -> str:
    """A line that a person types; empty at the end of stdin.

    It is read below Python's buffers, and without a thread where that can be: one that is left waiting for the terminal
    when a question is given up would take the first keys of what is typed next.

    .. versionadded:: 0.1
    """
    import trio

    if sys.platform == "win32":
        line = await trio.to_thread.run_sync(_read_terminal, abandon_on_cancel=True)
    else:
        await trio.lowlevel.wait_readable(sys.stdin.fileno())
        line = _read_terminal()
    return line.decode("utf-8", "replace")


def _read_terminal() -> bytes:
    return os.read(sys.stdin.fileno(), 4096)


@functools.cache
def _turns() -> trio.lowlevel.RunVar[trio.Lock]:
    import trio

    return trio.lowlevel.RunVar("who asks the person")


def _turn() -> trio.Lock:
    """A lock for who asks: two questions at once could not be told apart."""
    import trio

    try:
        return _turns().get()
    except LookupError:
        lock = trio.Lock()
        _turns().set(lock)
        return lock
