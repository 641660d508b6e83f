"""The person at the terminal: asked on stderr, heard on stdin."""

from __future__ import annotations

import functools
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from pegboard.cli._output import note
from pegboard.cli._terminal import is_terminal
from pegboard.cli._text import printable_line
from pegboard.cli._waiting import quiet

if TYPE_CHECKING:
    from collections.abc import Mapping

    import trio

    from pegboard.session import Confirmation

ATTEMPTS = 3
"""How often a field of a form is asked for again before the form counts as left."""


def has_person() -> bool:
    """Whether somebody can be asked."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


async def say_yes(asked: Confirmation) -> bool:
    """The answer of `--yes`: yes to a question; a form needs a person."""
    return asked.schema is None and asked.url is None


async def ask_person(asked: Confirmation) -> bool | Mapping[str, Any] | None:
    """Ask at the terminal: yes or no, or the fields of a form. Everything but a plain yes is a no.

    Of several that ask at once each waits for its turn.
    """
    async with _turn():
        with quiet():
            return await _ask_now(asked)


async def _ask_now(asked: Confirmation) -> bool | Mapping[str, Any] | None:
    shown = printable_line(json.dumps(asked.arguments, ensure_ascii=False), 400) if asked.arguments else ""
    call = f"{printable_line(asked.tool.name)} {shown}".rstrip()
    question = printable_line(asked.question, 400)
    if asked.url is not None:
        note(f"{question} [{call}]\n  {printable_line(asked.url, 2000)}")
        question = "Have you opened it and done what it asks?"
    if asked.schema is not None:
        note(f"{question} [{call}] (an empty line leaves a field out, Ctrl-C leaves)")
        return await _ask_fields(asked.schema)
    return await _ask(f"{question} [{call}] (y/N) ") in ("y", "yes")


async def _ask_fields(schema: Mapping[str, Any]) -> Mapping[str, Any] | bool | None:
    from pegboard.schema.explain import explain
    from pegboard.schema.repair import read_text

    answers: dict[str, Any] = {}
    properties = schema.get("properties")
    for name, field in properties.items() if isinstance(properties, dict) else ():
        for _ in range(ATTEMPTS):
            text = await _ask(_prompt_of(name, field, required=name in schema.get("required", ())))
            if not text and name not in schema.get("required", ()):
                break
            value = read_text(field, text, root=schema)
            faults = explain(field, value)
            if not faults:
                answers[name] = value
                break
            note("\n".join(f"  expected {fault.expected}" for fault in faults[:3]))
        else:
            return None
    return answers if await _ask("Send this? (y/N) ") in ("y", "yes") else False


def _prompt_of(name: str, field: Any, *, required: bool) -> str:
    field = field if isinstance(field, dict) else {}
    label = printable_line(str(field.get("title") or name), 80)
    choices = f"one of {', '.join(map(str, field['enum']))}" if "enum" in field else ""
    hint = printable_line("; ".join(part for part in (str(field.get("description") or ""), choices) if part), 300)
    return f"  {label}{'' if required else ' (optional)'}{f' - {hint}' if hint else ''}: "


async def _ask(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    text = (await read_typed_line()).strip()
    return text.lower() if "(y/N)" in question else text


async def read_typed_line() -> str:
    """A line that a person types; empty at the end of stdin.

    It is read below Python's buffers, and without a thread where that can be: one that is left waiting for the terminal
    when a question is given up would take the first keys of what is typed next.
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
    """Held by whoever asks: two questions at once could not be told apart."""
    import trio

    try:
        return _turns().get()
    except LookupError:
        lock = trio.Lock()
        _turns().set(lock)
        return lock
