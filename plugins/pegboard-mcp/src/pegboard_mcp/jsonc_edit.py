"""One member of one object put into a JSON text and taken out again; everything else stays to the byte.

`drop` is the inverse of `put` where a member was put into an object that had others: what it wrote goes, and nothing
else. Comments stay where they are, the comma goes behind the value that needs one, indentation and line ends are those
of the text.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from pegboard_mcp import jsonc
from pegboard_mcp.jsonc import JsoncError, Member, Span


def put(text: str, table: str, name: str, value: Any) -> str:
    """The text with `name` in the object that the root has under the key `table`.

    A text of blanks alone is a new file.

    Raises:
        JsoncError: the text is not a JSON object, or what stands under `table` is not one.
    """
    if not text.strip("\ufeff \t\r\n"):
        return json.dumps({table: {name: value}}, indent=2, ensure_ascii=False) + "\n"
    before = _checked(text, table)
    there = before.get(table)
    if there is not None and there.get(name) == value and name in there:
        return text
    changed = _put(_Text(text), table, name, value)
    if jsonc.read(changed) != {**before, table: {**(there or {}), name: value}}:
        raise JsoncError("a form that cannot be added to safely")
    return changed


def drop(text: str, table: str, name: str) -> str:
    """The text without `name` in that object; as it is where it is not there.

    Raises:
        JsoncError: as of `put`.
    """
    before = _checked(text, table)
    there = before.get(table) or {}
    if name not in there:
        return text
    changed = _drop(_Text(text), table, name)
    if jsonc.read(changed) != {**before, table: {key: value for key, value in there.items() if key != name}}:
        raise JsoncError("a form that cannot be taken from safely")
    return changed


def _checked(text: str, table: str) -> dict[str, Any]:
    value = jsonc.read(text)
    if not isinstance(value, dict):
        raise JsoncError("no object")
    there = value.get(table)
    if table in value and not isinstance(there, dict):
        raise JsoncError(f"no object under {table!r}")
    if table in jsonc.twice_in(value):
        raise JsoncError(f"{table!r} stands there twice")
    if twice := jsonc.twice_in(there):
        raise JsoncError(f"{twice[0][:60]!r} stands there twice")
    return value


class _Object(NamedTuple):
    members: list[Member]
    where: Span

    def find(self, key: str) -> Member | None:
        return next((member for member in self.members if member.key == key), None)


class _Text:
    """A text, blanked for its structure, and with only its comments blanked for its commas."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.blanked = jsonc.blank(text)
        self.with_commas = jsonc.blank_comments(text)
        self.root = self.object_at(0)
        self.newline = "\r\n" if "\r\n" in text else "\n"
        first = self.root.members[0].where.start if self.root.members else 0
        self.unit = (self.indent_of(first) or "  ") if self.is_open(self.root.where) else "  "

    def object_at(self, start: int) -> _Object:
        return _Object(*jsonc.members(self.blanked, start))

    def indent_of(self, at: int) -> str:
        """The blanks that the line of a position begins with."""
        line = self.text.rfind("\n", 0, at) + 1
        match = re.compile(r"[ \t]*").match(self.text, line)
        return match[0] if match else ""

    def is_open(self, where: Span) -> bool:
        """Whether it is written over several lines."""
        return "\n" in self.text[where.start : where.end]

    def last_said(self, end: int) -> int:
        """The position behind the last sign before `end` that is not blank; comments are signs."""
        return len(self.text[:end].rstrip(" \t\r\n"))

    def comma(self, start: int, end: int) -> int | None:
        at = self.with_commas.find(",", start, end)
        return at if at >= 0 else None


def _put(text: _Text, table: str, name: str, value: Any) -> str:
    holder = text.root.find(table)
    if holder is None:
        return _append(text, text.root, text.root, table, {name: value})
    there = text.object_at(holder.value.start)
    known = there.find(name)
    if known is None:
        return _append(text, there, text.root, name, value)
    is_open = text.is_open(text.root.where)
    rendered = _rendered(text, value, text.indent_of(known.where.start) if is_open else None)
    return text.text[: known.value.start] + rendered + text.text[known.value.end :]


def _append(text: _Text, into: _Object, root: _Object, key: str, value: Any) -> str:
    """Put a member at the end of an object."""
    close = into.where.end - 1
    end = text.last_said(close)
    is_open = text.is_open(into.where) or (not into.members and text.is_open(root.where))
    if is_open:
        last = into.members[-1].where.start if into.members else None
        outer = text.indent_of(into.where.start)
        indent = text.indent_of(last) if last is not None else outer + text.unit
        lead = text.newline + indent
        tail = "" if "\n" in text.text[end:close] else text.newline + outer
        rendered = f"{json.dumps(key)}: {_rendered(text, value, indent)}"
    else:
        lead, tail = " " if into.members else "", ""
        rendered = f"{json.dumps(key)}: {_rendered(text, value, None)}"
    if not into.members:
        return text.text[:end] + lead + rendered + tail + text.text[end:]
    behind = into.members[-1].value.end
    if text.comma(behind, close) is not None:  # a trailing comma: ours has one too
        return text.text[:end] + lead + rendered + "," + tail + text.text[end:]
    return text.text[:behind] + "," + text.text[behind:end] + lead + rendered + tail + text.text[end:]


def _rendered(text: _Text, value: Any, indent: str | None) -> str:
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, indent=text.unit, ensure_ascii=False).split("\n")
    return (text.newline + indent).join(lines)


def _drop(text: _Text, table: str, name: str) -> str:
    holder = text.root.find(table)
    assert holder is not None, "it was read"
    there = text.object_at(holder.value.start)
    at = next(index for index, member in enumerate(there.members) if member.key == name)
    member, close = there.members[at], there.where.end - 1
    start = text.last_said(member.where.start)
    until = there.members[at + 1].where.start if at + 1 < len(there.members) else close
    comma = text.comma(member.value.end, until)
    if comma is not None:
        return _joined(text, there, start, comma + 1)
    if at == 0:
        return _joined(text, there, start, member.value.end)
    before = text.comma(there.members[at - 1].value.end, member.where.start)
    assert before is not None, "two members have a comma between them"
    return text.text[:before] + text.text[before + 1 : start] + text.text[member.value.end :]


def _joined(text: _Text, there: _Object, start: int, end: int) -> str:
    """The text without what stands there; an object of blanks alone closes."""
    head, rest = text.text[:start], text.text[end:]
    inside = text.text[there.where.start + 1 : start] + text.text[end : there.where.end - 1]
    if not inside.strip():
        return text.text[: there.where.start + 1] + text.text[there.where.end - 1 :]
    return head + rest
