"""`pegboard.lock`: a TOML file, one block a tool, sorted by source and name.

It is written so that a version control system shows what changed and merges what two people accepted: texts and
schemas stand on lines of their own, nothing in one block depends on another, and the same tools make the same bytes.
Texts are literal strings wherever TOML has one for them, which is also what reads fast.

What is read may be anybody's: the file is bounded, a block that says nothing is refused with its number.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import re
import stat
from typing import TYPE_CHECKING, Any

from pegboard import PluginError
from pegboard.config import parse_toml, replace_file, write_hint
from pegboard.limits import DIGESTED_BYTES
from pegboard.text import HIDDEN_CHARACTERS
from pegboard_mcp.lock.pins import Key, Pin
from pegboard_mcp.lock.place import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

VERSION = 1
MAX_BYTES = DIGESTED_BYTES
"""A longer one could not be trusted: what is trusted is known by its content."""
MAX_TOOLS = 20_000

HEAD = f"""\
# What tools looked like when they were accepted. `pegboard lock` shows what changed since then,
# `pegboard lock --accept` accepts it and writes this file. Commit it.
version = {VERSION}
"""
TEXTS = ("title", "version", "description", "icons")
OPTIONAL = ("icons", "runs")
"""Parts that are not there where they are not said."""
OTHER_CONTENT = "settle the merge or take an older copy; or remove it, and accept anew: pegboard lock --accept"
OTHER_FILE = "let lock_file of [plugins.mcp] name a file that can be read and written"
VALUES = ("annotations", "input_schema", "output_schema", "runs")


class LockError(PluginError):
    """The lock cannot be read or written; the message says why."""


def read_lock(path: Path) -> dict[Key, Pin]:
    """The pins of a file.

    Raises:
        LockError: it cannot be read, is not a lock, is of a later version, or holds two blocks of one tool.
    """
    return parse_lock(load_lock(path), path)


def parse_lock(content: bytes, path: Path) -> dict[Key, Pin]:
    """The pins of what a file holds; raises as `read_lock`."""
    try:
        return _parse(content)
    except _WrongError as problem:
        raise _unreadable(path, str(problem), problem.fix) from None


class _WrongError(ValueError):
    """What is wrong with a lock, whichever file it is, and what is done about it."""

    def __init__(self, why: str, fix: str = OTHER_CONTENT) -> None:
        super().__init__(why)
        self.fix = fix


def _parse(content: bytes) -> dict[Key, Pin]:
    try:
        table = parse_toml(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise _WrongError("it is not UTF-8") from None
    except ValueError as problem:
        raise _WrongError(f"it is not TOML: {str(problem)[:200]}") from None
    version = table.get("version")
    if isinstance(version, int) and version > VERSION:
        why = f"it is of version {version!r:.20}, of a later Pegboard, and {VERSION} is what is read here"
        raise _WrongError(why, f"upgrade: pip install -U pegboard-mcp; or {OTHER_CONTENT}")
    if version != VERSION or isinstance(version, bool):
        raise _WrongError(f"it is of version {version!r:.20}, and {VERSION} is what is read here")
    blocks = table.get("tools", [])
    if not isinstance(blocks, list) or len(blocks) > MAX_TOOLS:
        raise _WrongError(f"tools is not a list of at most {MAX_TOOLS:,} tables")
    pins: dict[Key, Pin] = {}
    read: dict[Key, Any] = {}
    for number, block in enumerate(blocks, 1):
        pin = _read_pin(block, number)
        pins.setdefault(pin.key, pin)
        if read.setdefault(pin.key, block) != block:
            raise _WrongError(f"two blocks speak of {ascii(pin.name)[1:-1][:80]} of {ascii(pin.source)[1:-1][:80]}")
    return pins


def load_lock(path: Path) -> bytes:
    """The content of a file, within bounds.

    Raises:
        LockError: it cannot be read.
    """
    try:
        # A pipe that somebody put there must not be waited for.
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise _unreadable(path, "it is not a file", OTHER_FILE)
            content = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise _unreadable(path, os.strerror(problem.errno or errno.EIO), OTHER_FILE) from None
    if len(content) > MAX_BYTES:
        raise _unreadable(path, f"it is larger than {MAX_BYTES:,} bytes")
    return content


def _unreadable(path: Path, why: str, fix: str = OTHER_CONTENT) -> LockError:
    return LockError(f"{name_of(path)} cannot be read: {why}", hint=fix)


def _read_pin(block: Any, number: int) -> Pin:
    if not isinstance(block, dict):
        raise _WrongError(f"block {number} is not a table")
    for name in ("source", "name", "fingerprint"):
        if not isinstance(block.get(name), str) or not block[name]:
            raise _WrongError(f"block {number} has no {name}")
    # Most faces are never looked at: where nothing changed, the fingerprints say so.
    return Pin(block["source"], block["name"], functools.partial(_read_definition, block), block["fingerprint"])


def _read_definition(block: Mapping[str, Any]) -> dict[str, Any] | None:
    definition: dict[str, Any] = {"name": block["name"]}
    try:
        for name in TEXTS:
            value = block.get(name)
            if value is None and name in OPTIONAL:
                continue
            definition[name] = json.loads(value["json"]) if isinstance(value, dict) else value
        for name in VALUES:
            if name in block or name not in OPTIONAL:
                definition[name] = _read_json(block[name]) if name in block else None
        definition["description"] = definition["description"] or ""
    except (KeyError, TypeError, ValueError, RecursionError):
        return None  # the fingerprint still says whether the tool is the accepted one
    kinds = {**dict.fromkeys(TEXTS, str), **dict.fromkeys(VALUES, dict)}
    return (
        definition
        if all(definition.get(name) is None or isinstance(definition[name], kind) for name, kind in kinds.items())
        else None
    )


def _read_json(text: str) -> Any:
    """A value in which each member is said once: of two, people may read the one, and the other counts."""

    def once(members: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(members)
        if len(made) != len(members):
            raise ValueError("a member is said twice")
        return made

    return json.loads(text, object_pairs_hook=once)


def write_lock(path: Path, pins: Iterable[Pin]) -> None:
    """Write the pins, whole or not at all.

    Raises:
        LockError: the file cannot be written, or could not be read again.
    """
    pins = list(pins)
    content = to_text(pins).encode("utf-8")
    if len(pins) > MAX_TOOLS or len(content) > MAX_BYTES:
        raise LockError(
            f"{name_of(path)} would have {len(pins):,} entries in {len(content):,} bytes, and is read up to "
            f"{MAX_TOOLS:,} in {MAX_BYTES:,}; nothing was written",
            hint="accept some by name: pegboard lock --accept NAME ...; or leave out a server that lists so much",
        )
    try:
        if path.is_symlink() and not path.exists():  # who laid it there would choose where a file is made
            raise OSError(errno.ENOENT, None)
        real = path.resolve()  # a link stays one
        replace_file(real, content, real.stat().st_mode & 0o777 if real.exists() else None)
    except OSError as problem:
        why = os.strerror(problem.errno or errno.EIO)
        raise LockError(
            f"{name_of(path)} cannot be written: {why}",
            hint=write_hint(problem, OTHER_FILE),
        ) from None


def to_text(pins: Iterable[Pin]) -> str:
    """The whole file."""
    return "".join([HEAD, *("\n" + _block(pin) for pin in sorted(pins, key=lambda one: one.key))])


def _block(pin: Pin) -> str:
    definition: Mapping[str, Any] = pin.definition or {}
    lines = ["[[tools]]", f"source = {_text(pin.source)}", f"name = {_text(pin.name)}"]
    lines += [f"fingerprint = {_text(pin.fingerprint)}"]
    lines += [f"{name} = {_text(definition[name])}" for name in TEXTS if definition.get(name) is not None]
    for name in VALUES:
        if definition.get(name) is not None:
            lines.append(f"{name} = '''\n{_json(definition[name])}'''")
    return "\n".join(lines) + "\n"


def _json(value: Any) -> str:
    """A JSON value, its members sorted, a line each; what a terminal or an editor would hide is escaped."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2)
    text = _escaped().sub(lambda match: match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1], text)
    return text.replace("'''", "\\u0027\\u0027\\u0027")


def _text(text: str) -> str:
    """A TOML string: a literal one where there is one."""
    if any("\ud800" <= character <= "\udfff" for character in text):  # TOML has no word for these
        return f"{{ json = {_text(json.dumps(text))} }}"
    if not _escaped().search(text.replace("\n", "")):
        if "'" not in text and "\n" not in text:
            return f"'{text}'"
        if "'''" not in text and not text.endswith("'"):
            return f"'''\n{text}'''"
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"' + _escaped().sub(_toml_escape, quoted) + '"'


@functools.cache
def _escaped() -> re.Pattern[str]:
    """What a file does not show, and what TOML does not take in a literal string."""
    return re.compile(f"[\x00-\x1f{''.join(HIDDEN_CHARACTERS.values())}]")


def _toml_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
