"""What callers write and read: titles, identifiers, cursors in; sentences out. Values only, no database.

Invariants: a title that `clean_title` gives is stored as it is by every database; `fold(fold(text)) == fold(text)`; the
pattern of a text matches what holds that text, whatever signs it is made of.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, NoReturn

import attrs

from pegboard import ErrorCode, ToolError
from pegboard.text import clean
from pegboard_tasks._schema import MAX_TITLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pegboard_tasks._schema import Status

ESCAPE = "/"
"""The sign that takes the meaning from `%` and `_` in a pattern."""
SHOWN = 60
"""Characters of a caller's text that an error shows."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


@attrs.frozen
class Wanted:
    """The task that a caller means.

    Args:
        text: as it was written, without space around it.
        id: the same as an id, None where it has not the form of one.
        pattern: what LIKE finds the folded text with.
    """

    text: str
    id: str | None
    pattern: str

    def quoted(self) -> str:
        """For an error: in quotes, shortened."""
        return quoted(self.text)


def fold(text: str) -> str:
    """The text without what does not tell titles apart: case, width, ligatures, ways to compose a character.

    NFKC and casefold, until neither changes anything. It is computed here and stored, since databases fold by
    different rules.
    """
    while (folded := unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())) != text:
        text = folded
    return text


def clean_title(title: str, what: str) -> str:
    """A title without space around it.

    Args:
        title: what came.
        what: how the error calls it: "Task title", "New title".

    Raises:
        ToolError: INVALID_INPUT: it is empty, too long, or holds what no database keeps.
    """
    return _clean(title, what)


def read_identifier(identifier: str) -> Wanted:
    """The task that is meant by its id or by a part of its title.

    Raises:
        ToolError: INVALID_INPUT: it is blank, too long, or holds what no title can hold.
    """
    text = _clean(identifier, "Task identifier")
    lowered = text.lower()
    pattern = re.sub(rf"[%_{ESCAPE}]", rf"{ESCAPE}\g<0>", fold(text))
    return Wanted(text, lowered if _UUID.fullmatch(lowered) else None, f"%{pattern}%")


def read_cursor(cursor: str | None) -> str | None:
    """The id of the last task of the page before.

    Raises:
        ToolError: INVALID_INPUT: it is not a cursor.
    """
    if cursor is None or _UUID.fullmatch(cursor):
        return cursor
    raise ToolError(
        ErrorCode.INVALID_INPUT,
        f"cursor: expected the next_cursor of the page before, got {quoted(cursor)}; leave it out for the first page",
    )


def quoted(text: str) -> str:
    """Shortened, in quotes."""
    return f"'{text}'" if len(text) <= SHOWN else f"'{text[: SHOWN - 3]}...'"


def _clean(text: str, what: str) -> str:
    text = text.strip()
    if not clean(text)[0].strip():
        _refuse(f"{what} cannot be empty")
    if len(text) > MAX_TITLE:
        _refuse(f"{what} cannot be longer than {MAX_TITLE} characters, got {len(text)}")
    for char in text:
        if char == "\0" or "\ud800" <= char <= "\udfff":
            _refuse(f"{what} cannot hold U+{ord(char):04X}")
    return text


def _refuse(message: str) -> NoReturn:
    raise ToolError(ErrorCode.INVALID_INPUT, message)


# -- sentences


def found(count: int) -> str:
    """What a list shows."""
    if not count:
        return "No tasks found"
    return "Found 1 task" if count == 1 else f"Found {count} tasks"


_DONE = {"create task": "created", "complete task": "completed", "delete task": "deleted", "update task": "renamed"}


def unknown(doing: str) -> str:
    """What is said of a write that was sent, and that nobody confirmed.

    Args:
        doing: "create task" and its like.
    """
    return f"it is not known whether the task was {_DONE[doing]}; list the tasks first"


def listed(data: Mapping[str, Any], status: Status) -> str:
    """A page of tasks, a line each."""
    lines = [found(data["total" if status == "all" else status])]
    for task in data["tasks"]:
        lines.append(f"- [{'x' if task['completed'] else ' '}] {' '.join(task['title'].split())} (id {task['id']})")
    if "next_cursor" in data:
        lines.append(f"There are more: cursor={data['next_cursor']} shows the next page")
    return "\n".join(lines)


def of_several(matched: int, wanted: Wanted) -> str:
    """What follows the sentence where the identifier matched more than the task that was meant."""
    return f" (the identifier {wanted.quoted()} matched {matched} tasks)" if matched > 1 else ""
