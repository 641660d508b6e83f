"""One value as one word of a command line.

A word is the value's text, and nothing else is in it: no quoting is needed because no shell reads it. What a program
could take for something else than a value is a fault: NUL and controls, a leading dash (an option), a leading `@` (a
file of further arguments, for argparse, javac, gcc and others). Behind `--name=` neither can happen, and every text
without controls is fine there, save `--`: argparse drops that wherever it stands (Python 3.11).
"""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Any

from pegboard import Fault
from pegboard.schema.jsontext import shorten
from pegboard_manifest.hygiene import OutsideError, has_leading_dash, path_fault, sanitise, text_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping

    from pegboard_manifest.hygiene import Roots

    Path = tuple[str | int, ...]
    Write = Callable[[Any, Path, MutableMapping[str, str]], str]

MAX_WORD = 131_071
"""The longest word that Linux hands to a program (MAX_ARG_STRLEN), in bytes of UTF-8."""
_PLAIN_PATH = re.compile(r"[\w.][^:=]*", re.DOTALL)
STDOUT = "-"
MAX_EXACT = 2**53
"""Below this every integer is a float of its own."""


class FaultError(Exception):
    """One thing that is wrong with one argument."""

    def __init__(self, path: Path, expected: str, got: Any, hint: str | None = None) -> None:
        super().__init__(expected)
        self.fault = Fault(path, expected, sanitise(shorten(got), 80, one_line=True), hint)


def writer(rule: Mapping[str, Any] | None, roots: Roots, *, bare: bool = False) -> Write:
    """The function `(value, path, named) -> word` for the member `value` of an option or a positional.

    `bare`: a single word is a value here, whatever it is, and no command of the program. `named` is filled with what
    the caller called each path that is handed over in another spelling. The function raises `FaultError`.
    """
    rule = rule or {}
    kind = rule.get("format", "text")
    if kind == "path":
        write = rule.get("access", "write") != "read"
        stdout = STDOUT if rule.get("stdout") else None
        return lambda value, path, named: (
            STDOUT if value == stdout else _path_word(value, path, named, roots, write=write, bare=bare)
        )
    if kind == "json":
        return lambda value, path, named: _judged(json_text(value, path), path)
    return lambda value, path, named: _judged(plain_text(value, path), path)


def plain_text(value: Any, path: Path) -> str:
    """A text as it is, a number in JSON's form (an integer without `.0`), `true` and `false`."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and isfinite(value):
        return str(int(value)) if value.is_integer() and abs(value) <= MAX_EXACT else repr(value)
    if isinstance(value, int):
        try:
            return str(value)
        except ValueError:  # more digits than Python writes
            pass
    raise FaultError(path, "a text, a number or a boolean", value)


def json_text(value: Any, path: Path) -> str:
    """Any JSON value as one text."""
    import json

    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise FaultError(path, "a JSON value", value) from None


def _judged(word: str, path: Path) -> str:
    if len(word) > MAX_WORD or (not word.isascii() and len(word.encode("utf-8", "replace")) > MAX_WORD):
        raise FaultError(path, f"at most {MAX_WORD:,} bytes", word)
    if fault := text_fault(word):
        raise FaultError(path, f"a text without {fault}", word)
    if word == "--":
        raise FaultError(path, "a value other than '--'", word)
    return word


def _path_word(
    value: Any, path: Path, named: MutableMapping[str, str], roots: Roots, *, write: bool, bare: bool
) -> str:
    if not isinstance(value, str):
        raise FaultError(path, "a path", value)
    if fault := path_fault(value):
        raise FaultError(path, f"a path inside the allowed folders, not {fault}", value)
    try:
        word = _as_typed(roots.resolve(value, write=write), bare=bare)
    except OutsideError as problem:
        raise FaultError(path, str(problem), value) from None
    named[word] = value
    return word


def _as_typed(word: str, *, bare: bool) -> str:
    """A path below the working directory as people type it, without `./`, where a program can take it for nothing else:
    programs repeat in their output what they were given. `a:b` may be another host's, `a=b` a variable, and a single
    word a command or a keyword."""
    plain = word.removeprefix("./")
    if plain == word or not _PLAIN_PATH.fullmatch(plain):
        return word
    return plain if bare or "/" in plain or "." in plain else word


def alone(word: str, value: Any, path: Path, *, guarded: bool = True, stdout: bool = False) -> str:
    """The word, if it may stand by itself on a command line.

    Args:
        word: the value's text.
        value: what it was made of, for the fault.
        path: where that came from.
        guarded: refuse leading dashes and `@`.
        stdout: but for `-`, which is standard output here; no parser takes it for an option (POSIX, 12.2).

    Raises:
        FaultError: a program could take it for something else than a value.
    """
    if guarded and has_leading_dash(word) and not (stdout and word == STDOUT):
        raise FaultError(path, "a value without a leading dash", value)
    if guarded and word.startswith("@"):
        raise FaultError(path, "a value without a leading @", value)
    return word
