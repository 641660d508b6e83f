"""The person at the terminal: asked on stderr, heard on stdin."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from pegboard.cli._output import is_terminal, note
from pegboard.cli._text import printable_line

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Ask at the terminal: yes or no, or the fields of a form. Everything but a plain yes is a no."""
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
    import trio

    sys.stderr.write(question)
    sys.stderr.flush()
    # Read below Python's buffers: a thread that is left behind in them would hold their lock when the process ends.
    answer = await trio.to_thread.run_sync(_read_terminal_line, abandon_on_cancel=True)
    text = answer.decode("utf-8", "replace").strip()
    return text.lower() if "(y/N)" in question else text


def _read_terminal_line() -> bytes:
    import os

    return os.read(sys.stdin.fileno(), 4096)
