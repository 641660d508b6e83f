"""Searching text: lines that fit a pattern, with the lines around them.

Every line that is shown was read here, from a descriptor that was opened and judged like that of any file, and fits the
pattern as RE2 understands it: RE2 takes time in proportion to the text, whatever the pattern. ripgrep, where it is
installed, only says which files are worth reading; what it says is not believed. So both ways show the same.

Passed over: hidden files, what `.gitignore` says, binary files, files above the size cap, links. A file that is named
itself is searched whatever it is called. Lines are shown as UTF-8; bytes that are not valid are written as `\\xe9`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import attrs

from pegboard import ErrorCode, ToolError, ToolResult
from pegboard_files import _codecs as codecs
from pegboard_files import _faults as faults
from pegboard_files._globs import BadPatternError, compile_pattern
from pegboard_files._ignoring import Ignored
from pegboard_files._names import decoded, printable, shown
from pegboard_files._opening import FOLDER, READ, Opened
from pegboard_files._walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pegboard_files._globs import Glob
    from pegboard_files._names import Asked
    from pegboard_files._places import Root, Scope
    from pegboard_files._rules import Parts
    from pegboard_files._walking import Budget

MAX_PATTERN = 1000
MAX_LINE = 500
"""Characters of a line that are shown."""
MAX_MATCHED_BYTES = 1 << 16
"""Bytes of a line that are matched; what lies behind them is not looked at."""
_CHECK_EVERY = 2000


@attrs.frozen
class Wanted:
    """What is searched for.

    Args:
        pattern: a compiled pattern of RE2, on bytes.
        glob: which files; None: all.
        context: lines around each match.
        most: matches that are shown.
        max_bytes: files above this are passed over.
    """

    pattern: Any
    glob: Glob | None
    context: int
    most: int
    max_bytes: int


@attrs.define
class Matches:
    """What was found so far."""

    items: list[dict[str, Any]] = attrs.field(factory=list)
    files: int = 0
    skipped: int = 0
    truncated: bool = False


def compile_wanted(pattern: str, *, ignore_case: bool, literal: bool) -> Any:
    """A pattern for lines of bytes.

    Raises:
        ToolError: INVALID_INPUT: it is not a regular expression of RE2, or too long.
    """

    def wrong(why: str) -> ToolError:
        return ToolError(ErrorCode.INVALID_INPUT, f"pattern: {shown(pattern)} {why}", parameter="pattern")

    if not pattern:
        raise wrong("is empty; write what is searched for")
    if len(pattern) > MAX_PATTERN:
        raise wrong(f"has {len(pattern)} characters, at most {MAX_PATTERN} are read")
    if "\n" in pattern or "\r" in pattern:
        raise wrong("holds a line break; lines are searched one by one")
    if "\0" in pattern:
        raise wrong("holds a NUL character, which no line of a text does")
    try:
        return compile_pattern(pattern, ignore_case=ignore_case, literal=literal)
    except UnicodeEncodeError:
        raise wrong("holds half of a surrogate pair, which is not a character") from None
    except BadPatternError as problem:
        why = str(problem)
        advice = "look-around and backreferences are not known here; literal=true searches for the text as it is"
        raise wrong(f"is not a regular expression: {printable(why)[:120]}; {advice}") from None


def search_in_file(scope: Scope, asked: Asked, wanted: Wanted, budget: Budget) -> Matches | None:
    """Search one file that was named; None where a folder was. Blocks.

    Raises:
        ToolError: it cannot be opened, is binary or above the size cap.
    """
    _, opened = scope.open(asked)
    with opened:
        if opened.is_folder:
            return None
        if not opened.is_file:
            raise faults.not_regular(asked)
        if opened.stat.st_size > wanted.max_bytes:
            raise faults.too_large(asked, opened.stat.st_size, wanted.max_bytes, "read it by lines with read_file")
        found = Matches()
        _search_opened(opened, opened.parts, wanted, budget, found)
        if found.skipped:
            message = f"{asked} is not text but binary; there are no lines in it to search"
            raise ToolError(ErrorCode.INVALID_INPUT, message, reason="binary")
        return found


def search_folder(scope: Scope, asked: Asked, wanted: Wanted, budget: Budget) -> Matches:
    """Search the files of a folder, one after the other. Blocks.

    Raises:
        ToolError: the folder cannot be opened.
    """
    found = Matches()
    root, opened = scope.open_folder(asked)
    with opened:
        ignored = Ignored()
        _read_above(root, opened.parts, ignored)
        start = len(opened.parts)
        for item in walk(
            scope,
            root,
            opened.fd,
            opened.parts,
            budget,
            enter=lambda item: not _is_hidden(item.name) and not ignored.says(item.parts, is_folder=True),
            entered=ignored.enter,
        ):
            if item.kind != "file" or _is_hidden(item.name) or ignored.says(item.parts, is_folder=False):
                continue
            if wanted.glob is not None and not wanted.glob.matches("/".join(map(decoded, item.parts[start:]))):
                continue
            try:
                file = Opened(os.open(item.name, READ | os.O_NOFOLLOW, dir_fd=item.folder_fd), item.parts)
            except OSError:
                found.skipped += 1
                continue
            with file:
                if file.identity == (item.stat.st_dev, item.stat.st_ino):  # else what was judged is gone
                    _search_opened(file, item.parts, wanted, budget, found)
            if found.truncated:
                break
    found.truncated |= budget.exhausted
    return found


def search_candidates(
    scope: Scope, asked: Asked, candidates: Iterable[Parts], wanted: Wanted, budget: Budget
) -> Matches:
    """Search the files that ripgrep named, each opened and judged anew. Blocks.

    Args:
        scope: what the tool may use.
        asked: the folder that ripgrep searched.
        candidates: files, as parts below that folder.
        wanted: what is searched for.
        budget: what it may use.
    """
    found = Matches()
    root, folder = scope.open_folder(asked)
    with folder:
        ignored = Ignored()
        for below in candidates:
            parts = (*folder.parts, *below)
            if scope.rules.refusal(root.real_parts + parts) is not None:  # neither looked at nor counted
                continue
            if wanted.glob is not None and not wanted.glob.matches("/".join(map(decoded, below))):
                continue
            _read_above(root, parts, ignored)
            if any(ignored.says(parts[:end], is_folder=end < len(parts)) for end in range(1, len(parts) + 1)):
                continue
            if not budget.spend():
                break
            try:
                file = root.open(parts, READ)
            except OSError:  # gone since, or never there
                continue
            with file:
                # ripgrep follows no links; where one was followed here, something was swapped.
                if file.parts == parts and _may_use(scope, root, file):
                    _search_opened(file, parts, wanted, budget, found)
            if found.truncated:
                break
    found.truncated |= budget.exhausted
    return found


def _may_use(scope: Scope, root: Root, file: Opened) -> bool:
    try:
        return scope.refusal(root, file) is None
    except OSError:
        return False


def _read_above(root: Root, parts: Parts, ignored: Ignored) -> None:
    """Read the `.gitignore` files above a file or folder that are not known yet, from the root down."""
    for end in range(len(parts)):
        if ignored.knows(parts[:end]):
            continue
        try:
            with root.open(parts[:end], FOLDER) as folder:
                ignored.enter(folder.fd, parts[:end])
        except OSError:
            return


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


def _search_opened(opened: Opened, parts: Parts, wanted: Wanted, budget: Budget, found: Matches) -> None:
    """Add what one open file holds."""
    if not opened.is_file or opened.stat.st_size > wanted.max_bytes:
        found.skipped += 1
        return
    try:
        data = _read_text(opened, wanted.max_bytes, budget)
    except OSError:
        data = None
    if data is None:
        found.skipped += 1
        return
    before = len(found.items)
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    for number in _matching(lines, wanted.pattern, budget):
        if len(found.items) >= wanted.most:
            found.truncated = True
            break
        found.items.append(_match(parts, lines, number, wanted.context))
    found.files += len(found.items) > before


def _read_text(opened: Opened, most: int, budget: Budget) -> bytes | None:
    """All of a file, or None where it is binary."""
    pieces: list[bytes] = []
    at = 0
    while piece := os.pread(opened.fd, 1 << 18, at):
        if not at and codecs.is_binary(piece[: codecs.HEAD], "utf-8"):
            return None
        pieces.append(piece)
        at += len(piece)
        budget.pause()
        if at > most:
            return None
    return b"".join(pieces)


def _matching(lines: list[bytes], pattern: Any, budget: Budget) -> Iterator[int]:
    search = pattern.search
    for number, line in enumerate(lines):
        if number % _CHECK_EVERY == _CHECK_EVERY - 1:
            budget.pause()
            if budget.exhausted:
                return
        if search(line[:MAX_MATCHED_BYTES].removesuffix(b"\r")) is not None:
            yield number


def _match(parts: Parts, lines: list[bytes], number: int, context: int) -> dict[str, Any]:
    match: dict[str, Any] = {
        "path": "/".join(map(decoded, parts)),
        "line": number + 1,
        "text": _text(lines[number]),
    }
    if context:
        match["before"] = [_text(line) for line in lines[max(0, number - context) : number]]
        match["after"] = [_text(line) for line in lines[number + 1 : number + 1 + context]]
    return match


def _text(line: bytes) -> str:
    text = line[: 4 * MAX_LINE + 4].removesuffix(b"\r").decode("utf-8", "backslashreplace")
    return text if len(text) <= MAX_LINE else text[: MAX_LINE - 3] + "..."


def shown_matches(asked: Asked, found: Matches, engine: str) -> ToolResult:
    """The answer: `path:line: text` for each match, `path-line- text` for the lines around it."""
    items = found.items
    count = f"{len(items)} match{'es' * (len(items) != 1)} in {found.files} file{'s' * (found.files != 1)}"
    lines = [f"Found {count}{':' if items else ''}"]
    for item in items:
        path = printable(item["path"])
        first = item["line"] - len(item.get("before", ()))
        lines += [f"{path}-{first + at}- {printable_line(text)}" for at, text in enumerate(item.get("before", ()))]
        lines.append(f"{path}:{item['line']}: {printable_line(item['text'])}")
        after = enumerate(item.get("after", ()), item["line"] + 1)
        lines += [f"{path}-{number}- {printable_line(text)}" for number, text in after]
    if found.truncated:
        lines.append("[truncated: there is more; name a folder below it, or a narrower pattern]")
    data = {
        "path": asked.text,
        "matches": items,
        "files": found.files,
        "skipped": found.skipped,
        "truncated": found.truncated,
        "engine": engine,
    }
    return ToolResult.text("\n".join(lines), data=data)


def printable_line(text: str) -> str:
    """A line of a file for a line of the answer; tabs stay."""
    return "\t".join(map(printable, text.split("\t")))
