"""Globs: patterns of paths, matched in linear time.

    *      any characters of one name        **     any names, or none, between slashes
    ?      one character of a name           [a-z]  one of these, [!a-z] none of these
    {a,b}  either

A glob without a slash is matched with the name of a file, however deep it lies; one with a slash with its whole path
from where the search began. Case counts. A glob is compiled for RE2, which has no pattern that takes long.

Invariants: a glob never matches across a slash but with `**`; what it matches is decided by text alone, so a glob
opens nothing and leads nowhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, ToolError
from pegboard.schema.jsontext import is_half
from pegboard_files._names import decoded, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_GLOB = 1000
MAX_ALTERNATIVES = 64
NOTHING = r"[^\x00-\x{10FFFF}]"


class BadPatternError(ValueError):
    """A pattern that RE2 does not take."""


class Glob:
    """One compiled glob; `matches(path)` takes a path without a leading slash.

    Args:
        text: the glob.
        brackets: whether `[...]` and `{...}` have a meaning, or are characters like others.
        anchored: whether it is matched with the whole path even where it has no slash.

    Raises:
        ToolError: INVALID_INPUT: it is too long, climbs with `..`, or begins at the root of the file system.
    """

    def __init__(self, text: str, *, brackets: bool = True, anchored: bool = False) -> None:
        _check(text)
        alternatives = list(_alternatives(text)) if brackets else [text]
        self._by_name = _compiled([one for one in alternatives if not anchored and "/" not in one], brackets)
        self._by_path = _compiled([one for one in alternatives if anchored or "/" in one], brackets)

    def matches(self, path: str) -> bool:
        """Whether the glob means this path. A name that is not text is matched as it is shown, by its bytes."""
        text = decoded(path).encode("utf-8")
        if self._by_name is not None and self._by_name.fullmatch(text.rpartition(b"/")[2]) is not None:
            return True
        return self._by_path is not None and self._by_path.fullmatch(text) is not None


def compile_pattern(pattern: str, *, ignore_case: bool = False, literal: bool = False) -> Any:
    """A regular expression of RE2, with bounded memory, quiet about mistakes.

    Raises:
        BadPatternError: it is not a regular expression of RE2; the text says why.
    """
    import re2  # type: ignore[import-untyped]  # it has none

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 16 << 20
    options.case_sensitive = not ignore_case
    options.literal = literal
    try:
        return re2.compile(pattern.encode("utf-8"), options)
    except re2.error as problem:
        reason = problem.args[0] if problem.args else ""
        raise BadPatternError(reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)) from None


def _check(text: str) -> None:
    def wrong(why: str) -> ToolError:
        return ToolError(ErrorCode.INVALID_INPUT, f"pattern: {shown(text)} {why}", parameter="pattern")

    if not text.strip("/"):
        raise wrong("is empty; write * for everything")
    if len(text) > MAX_GLOB:
        raise wrong(f"has {len(text)} characters, at most {MAX_GLOB} are read")
    if "\0" in text or is_half(text):
        raise wrong("holds what no name can hold")
    if text.startswith("/"):
        raise wrong("begins with a slash; a pattern is matched below the path that is searched")
    if ".." in text.split("/"):
        raise wrong("climbs with '..'; a pattern is matched below the path that is searched")


def _compiled(globs: list[str], brackets: bool) -> Any:
    return compile_pattern("|".join(_translated(one, brackets) for one in globs)) if globs else None


def _alternatives(text: str) -> Iterator[str]:
    """Braces spelled out: `*.{c,h}` as `*.c` and `*.h`. One that does not close is a character."""
    spelled = [text]
    while True:
        found = next((one for one in spelled if _braces(one)), None)
        if found is None:
            yield from spelled
            return
        start, end = _braces(found) or (0, 0)
        options = found[start + 1 : end].split(",")
        at = spelled.index(found)
        spelled[at : at + 1] = [found[:start] + option + found[end + 1 :] for option in options]
        if len(spelled) > MAX_ALTERNATIVES:
            message = f"pattern: {shown(text)} has more than {MAX_ALTERNATIVES} alternatives in its braces"
            raise ToolError(ErrorCode.INVALID_INPUT, message, parameter="pattern")


def _braces(text: str) -> tuple[int, int] | None:
    """Where the first innermost pair of braces with a comma stands."""
    start = None
    for at, char in enumerate(text):
        if char == "{":
            start = at
        elif char == "}" and start is not None:
            if "," in text[start:at]:
                return start, at
            start = None
    return None


def _translated(text: str, brackets: bool) -> str:
    """One glob without braces as a regular expression of RE2."""
    parts = [part for part in text.split("/") if part not in ("", ".")]
    made = ""
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        if part == "**":
            made += "(?s:.+)" if last else "(?:[^/]+/)*"
        else:
            made += _translated_name(part, brackets) + ("" if last else "/")
    return made


def _translated_name(part: str, brackets: bool) -> str:
    made = ""
    at = 0
    while at < len(part):
        char = part[at]
        at += 1
        if char == "*":
            if not made.endswith("[^/]*"):
                made += "[^/]*"
        elif char == "?":
            made += "[^/]"
        elif char == "[" and brackets and (end := _end_of_set(part, at)):
            made += _translated_set(part[at:end])
            at = end + 1
        else:
            made += _escaped(char)
    return made


def _end_of_set(part: str, start: int) -> int | None:
    """Where the set that begins at `start` closes; a `]` directly at its start is one of its characters."""
    at = start + (part[start : start + 1] in ("!", "^"))
    end = part.find("]", at + 1)
    return end if end > 0 else None


def _translated_set(text: str) -> str:
    negated = text[0] in "!^"
    ranges = list(_ranges(text[negated:]))
    if negated:
        return "[^/" + "".join(f"{_code(low)}-{_code(high)}" for low, high in ranges) + "]"
    # A range may run across the slash, and no set holds the slash.
    cut = [(low, min(high, ".")) for low, high in ranges if low < "/"]
    cut += [(max(low, "0"), high) for low, high in ranges if high > "/"]
    if not cut:
        return NOTHING
    return "[" + "".join(f"{_code(low)}-{_code(high)}" for low, high in cut) + "]"


def _ranges(text: str) -> Iterator[tuple[str, str]]:
    """`a-cx` as a to c and x to x; as in a shell, a range that runs backwards holds nothing."""
    at = 0
    while at < len(text):
        low = high = text[at]
        if text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            high = text[at + 2]
            at += 2
        at += 1
        if low <= high:
            yield low, high


def _code(char: str) -> str:
    return rf"\x{{{ord(char):X}}}"


def _escaped(char: str) -> str:
    return char if char.isalnum() and char.isascii() else _code(char)
