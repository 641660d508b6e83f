"""Files of a person's own that this package writes: whole or not at all, readable by their owner alone."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

from pegboard import ConfigError, config
from pegboard.limits import CONVERSATION_LEVELS
from pegboard.schema.jsontext import JsonTextError, loads

if TYPE_CHECKING:
    from pathlib import Path

    from pegboard_chat.conversation import Conversation

NOT_WRITTEN = "look at its rights, or name another file"
MAX_SAVED = 64 * 1024 * 1024
"""The largest conversation that is read, in bytes."""
MAX_HISTORY = 1024 * 1024
"""From here on the older half of what was typed is forgotten, in bytes."""


def write_private(path: Path, text: str) -> None:
    """Put the text in the place of a file, which its owner alone may read from then on; through a link where it leads.

    Raises:
        ConfigError: it cannot be written; it is as it was.
    """
    try:
        config.write_private(path.resolve(), text.encode("utf-8"))
    except (OSError, RuntimeError, ValueError) as problem:
        raise _not_written(path, problem) from None


def _not_written(path: Path, problem: Exception) -> ConfigError:
    hint = config.write_hint(problem, NOT_WRITTEN)
    return ConfigError(f"{path} cannot be written: {_why(problem)}", hint=hint)


def _why(problem: Exception) -> str:
    return getattr(problem, "strerror", None) or "no path that could be opened"


def require_writable(path: Path) -> None:
    """Find out before anything was asked whether a conversation could be kept there.

    Raises:
        ConfigError: it could not.
    """
    try:
        target = path.resolve()
        if target.is_dir():
            raise ConfigError(f"{path} cannot be written: it is a folder", hint="name a file in it")
        if os.path.lexists(target) and not target.is_file():
            raise ConfigError(f"{path} cannot be written: it is not a regular file", hint="name another file")
        if not target.parent.is_dir():
            raise ConfigError(f"{path} cannot be written: its folder is not there", hint="make the folder first")
        if (refused := config.write_problem(target, is_replaced=True)) is not None:
            raise refused
    except (OSError, RuntimeError, ValueError) as problem:
        raise _not_written(path, problem) from None


def save_conversation(path: Path, conversation: Conversation) -> None:
    """Write a conversation as JSON.

    Raises:
        ConfigError: it cannot be written.
    """
    text = json.dumps(conversation.to_json(), ensure_ascii=False, indent=1, default=str)
    if not text.isascii():  # halves of characters, which no UTF-8 carries, are put together or replaced
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    write_private(path, text + "\n")


def version_of(path: Path) -> tuple[int, ...] | None:
    """What tells a file from the same one after somebody else wrote it; None: there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)


def beside(path: Path) -> Path:
    """The first name of its kind that is not taken: `trip-2.json` for `trip.json`."""
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in range(2, 10_000))
    return next((name for name in names if not os.path.lexists(name)), path)


def load_conversation(path: Path) -> Conversation:
    """Read what `save_conversation` wrote.

    Raises:
        ConfigError: it cannot be read, or is not a conversation.
    """
    from pegboard_chat.conversation import Conversation

    hint = "name a file that --save wrote"
    try:
        with config.open_named(path) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(f"{path} is not a saved conversation: no regular file", hint=hint)
            content = file.read(MAX_SAVED + 1)
    except (OSError, ValueError) as problem:
        raise ConfigError(f"{path} cannot be read: {_why(problem)}", hint=hint) from None
    try:
        return Conversation.from_json(loads(content, max_bytes=MAX_SAVED, max_depth=CONVERSATION_LEVELS))
    except (JsonTextError, ValueError) as problem:
        raise ConfigError(f"{path} is not a saved conversation: {str(problem)[:300]}", hint=hint) from None


def history_file() -> Path | None:
    """Where what was typed is kept, in the person's own state folder; None where nothing can be kept."""
    path = config.user_folder("state") / "chat-history"
    try:
        config.private_folder(path.parent)
        with open(config.open_private(path, os.O_RDWR, is_own=True), "r+b") as file:  # noqa: PTH123 - a descriptor
            size = os.fstat(file.fileno()).st_size
            if size > MAX_HISTORY:
                file.seek(size - MAX_HISTORY // 2)
                kept = file.read()
                file.seek(0)
                file.write(kept[kept.find(b"\n\n#") + 1 :])  # an entry begins at `# time`, after an empty line
                file.truncate()
    except OSError:
        return None
    return path
