"""Text from outside: what must not stand in it, and what is taken out of it.

Two kinds of text meet a binding. *Values* come from a caller and go to a program: they are judged, and refused with
the repair; nothing is ever changed in them in silence. *Descriptions* come from a source (a help text, a document, a
program's last words) and go to a model or a terminal: they are cleaned, because nobody could repair them.

The functions that judge give a reason as words, or None: whoever asks knows the path and the code.

Paths are judged as they will be used: relative to the folder the program works in, with every link followed. The
resolved path is what is handed over, so that a link that was judged cannot be pointed elsewhere afterwards. What this
cannot do: between the judging and the program's own `open` somebody who may write in an allowed folder can put
a link in the place of a *folder* of the resolved path, and the program follows it. The window is as long as the program
takes to start. Where others than the board write in the allowed folders, the program has to be confined by the system.
A hard link to a file outside is a file inside, for every judge of paths.
"""

# Paths are words of others here; pathlib would fold what has to be seen as it is.
# ruff: noqa: PTH118, PTH206

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pegboard.text import clean
from pegboard_httpclient import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Path = tuple[str | int, ...]

MAX_DESCRIPTION = 8_000
"""Characters of a description that are kept."""
MAX_PATH = 4_095
"""The longest path that Linux takes, in bytes."""
MAX_TEXT = 1_000_000
"""A text of so many characters is not an argument: neither a function, nor a program, nor a server is given it."""
MAX_NAME = 255
"""The longest part of a path that common file systems take, in bytes."""

MIN_SECRET = 4
"""A shorter secret is not masked: it would be found everywhere, and tell what it is by shredding a text. In characters.

.. versionadded:: 0.1
"""

PROTECTED = frozenset(
    {
        "tool.manifest.json",
        "tools.draft.json",
        "project.profile.json",
        "overrides",
        "toolgen.toml",
        "names.lock",
        "pegboard.toml",
        "pyproject.toml",
        "pegboard.yaml",
        "pegboard.yml",
        "agent.yaml",
        "agent.yml",
        "mcp.json",
        ".toolgen",
        ".git",
    }
)
"""Files and folders that decide what the board runs: no tool of a manifest may write to one of these names."""

_OVERSTRIKE = re.compile(r"[^\n]\x08")
_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_CONTROLS_AND_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SEPARATORS = re.compile(r"[/\\]")


def sanitise(text: str, limit: int = MAX_DESCRIPTION, *, one_line: bool = False) -> str:
    """A third-party text as it may be shown to a model, in a terminal and in a document.

    What hides is taken out (`pegboard.text`), and so are overstrikes and the blanks at line ends. Line breaks become
    `\\n`. The same text gives the same answer on every version of Python, and a second time changes nothing.

    Args:
        text: of any length; only the beginning is looked at.
        limit: characters that are kept; a cut is marked with an ellipsis.
        one_line: every run of white space becomes one space.

    .. versionadded:: 0.1
    """
    is_cut = len(text) > limit * 4 + 4_096
    text = text[: limit * 4 + 4_096]
    for _ in range(3):  # a manual page strikes a character at most so often
        text = _OVERSTRIKE.sub("", text)
    text = clean(text.replace("\r\n", "\n"))[0]
    text = " ".join(text.split()) if one_line else "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")
    if len(text) <= limit and not is_cut:
        return text
    kept = text[: limit - 1] if len(text) <= limit else text[: limit - 1].rstrip()
    return clean(f"{kept}…")[0] if limit else ""  # the cut may have gone through an emoji


def text_fault(text: str) -> str | None:
    """Why a text is not a value for a program or a request: NUL and other controls (tab and line breaks are text),
    halves of surrogate pairs.

    .. versionadded:: 0.1
    """
    if text.isprintable():
        return None
    if found := _CONTROLS.search(text):
        return _control(found[0])
    return "half a surrogate pair" if _SURROGATE.search(text) else None


def line_fault(text: str) -> str | None:
    """Why a text is not a value for what ends at a line break, such as a header or a path: every control character.

    .. versionadded:: 0.1
    """
    if text.isprintable():
        return None
    if found := _CONTROLS_AND_BREAKS.search(text):
        return _control(found[0])
    return "half a surrogate pair" if _SURROGATE.search(text) else None


def long_text(arguments: Mapping[str, Any]) -> Path | None:
    """Where a text of `MAX_TEXT` characters or more stands among the arguments of a call; None where there is none.

    .. versionadded:: 0.1
    """
    for name, value in arguments.items():
        if isinstance(value, str):
            if len(value) >= MAX_TEXT:
                return (name,)
        elif isinstance(value, (list, tuple, dict)) and (found := _long_text_in(value, (name,))):
            return found
    return None


def _long_text_in(container: Any, path: Path) -> Path | None:
    left = [(path, container)]
    while left:
        here, value = left.pop()
        if isinstance(value, str):
            if len(value) >= MAX_TEXT:
                return here
        elif isinstance(value, dict):
            left += [((*here, key), one) for key, one in value.items()]
        elif isinstance(value, (list, tuple)):
            left += [((*here, index), one) for index, one in enumerate(value) if isinstance(one, _HOLDS_TEXT)]
    return None


_HOLDS_TEXT = (str, list, tuple, dict)


def refuse_long_texts(arguments: Mapping[str, Any]) -> None:
    """What every binding asks before it does anything.

    Raises:
        ToolError: INVALID_INPUT: a text is longer than is taken, with its place.

    .. versionadded:: 0.1
    """
    if path := long_text(arguments):
        from pegboard import ErrorCode, Fault, ToolError

        fault = Fault(path, f"a text of fewer than {MAX_TEXT:,} characters", "a longer one")
        raise ToolError(ErrorCode.INVALID_INPUT, f"invalid arguments: {fault}", faults=[fault.to_json()])


def _control(character: str) -> str:
    return f"the control character U+{ord(character):04X}"


def is_loopback(host: str) -> bool:
    """Whether a host is this very machine: secrets may go there unencrypted, and tools may be tried out there.

    Args:
        host: a name or an address, without a port; an IPv6 address with or without brackets.

    .. versionadded:: 0.1
    """
    return host.lower().strip("[]") in LOOPBACK


def has_leading_dash(text: str) -> bool:
    """Whether a program may take the word for an option."""
    return text.startswith("-")


def has_parent(path: str) -> bool:
    """Whether a path climbs: a part of it is `..`, with either slash, written out or percent-encoded once or twice."""
    if ".." not in path and "%" not in path:
        return False
    return any(".." in _SEPARATORS.split(form) for form in (path, unquote(path), unquote(unquote(path))))


def path_fault(path: str) -> str | None:
    """Why a text is not a path for a program, before anything is looked up: empty, too long, controls, a leading dash,
    a part that is `..`, a URL.

    .. versionadded:: 0.1
    """
    if not path:
        return "an empty text"
    if fault := line_fault(path):
        return fault
    if has_leading_dash(path):
        return "a leading dash; put ./ before it"
    if has_parent(path):
        return "a part that is '..'"
    if _SCHEME.match(path):
        return "a URL"
    if len(path.encode()) > MAX_PATH or any(len(part.encode()) > MAX_NAME for part in path.split("/")):
        return f"a path of more than {MAX_PATH:,} bytes, or a part of more than {MAX_NAME}"
    return None


class OutsideError(ValueError):
    """A path leads out of where it may lead, or to what may not be written; its text names no path of the host."""


class Roots:
    """The folders in which the paths of a program have to lie.

    They are resolved when this is made: a root that is swapped for a link afterwards fits nothing.

    Args:
        cwd: the folder the program works in, absolute; paths are relative to it.
        allowed: folders, relative to `cwd`.
        narrowed: folders one of which has to fit too, relative to `cwd`; None narrows nothing.
        sealed: a folder, absolute, that is not written, such as that of the manifest; but for an allowed folder in it,
            and where `cwd` itself lies in it.
        kept: a file, absolute, that is not written whatever it is called: that of the manifest.

    .. versionadded:: 0.1
    """

    def __init__(
        self,
        cwd: str | os.PathLike[str],
        allowed: Iterable[str],
        narrowed: Iterable[str] | None = None,
        *,
        sealed: str | os.PathLike[str] | None = None,
        kept: str | os.PathLike[str] | None = None,
    ) -> None:
        self.cwd = os.path.realpath(cwd)
        self._kept = None if kept is None else os.path.realpath(kept)
        self._sealed = None if sealed is None else os.path.realpath(sealed)
        self._groups = [self._resolved(allowed)] + ([] if narrowed is None else [self._resolved(narrowed)])

    def _resolved(self, folders: Iterable[str]) -> tuple[str, ...]:
        return tuple(os.path.realpath(os.path.join(self.cwd, folder)) for folder in folders)

    def resolve(self, path: str, *, write: bool = True) -> str:
        """The path as it is handed over: links followed, `./...` where it lies below `cwd`, else absolute.

        It never begins with a dash, a tilde or an `@`. A file that does not exist yet is judged by its folder.

        Args:
            path: what came, judged by `path_fault` already.
            write: the program may change what is there.

        Raises:
            OutsideError: it leads out of the allowed folders, or to a pipe, a socket or a device; for writing, into the
                sealed one or to one of `PROTECTED`.
        """
        real = os.path.realpath(os.path.join(self.cwd, path))
        around = [next((root for root in group if is_within(real, root)), None) for group in self._groups]
        if None in around:
            raise OutsideError("a path inside the folders that this tool may use")
        if not _is_plain(real):
            raise OutsideError("a path of a file or a folder, not of a pipe, a socket or a device")
        below = real[len(around[0] or "") :]
        if write and any(part.casefold() in PROTECTED for part in below.split(os.sep)):
            raise OutsideError("a path that is not a configuration of the board")
        if write and real == self._kept:
            raise OutsideError("a path that is not a configuration of the board")
        if write and self._is_sealed(real):
            raise OutsideError("a path outside the folder of the manifest, which is not written")
        if real == self.cwd:
            return "."
        return os.path.join(".", os.path.relpath(real, self.cwd)) if is_within(real, self.cwd) else real

    def _is_sealed(self, real: str) -> bool:
        if self._sealed is None or not is_within(real, self._sealed) or is_within(self.cwd, self._sealed):
            return False
        named = (root for group in self._groups for root in group if is_within(root, self._sealed))
        return not any(is_within(real, root) for root in named)


def _is_plain(path: str) -> bool:
    """Whether it is a file or a folder, or not there yet: a device may have no end, and a pipe waits for ever."""
    if path == os.devnull:
        return True
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - text, as everywhere here
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def is_within(path: str, root: str) -> bool:
    """Whether a resolved path is a resolved folder or lies below it."""
    return path == root or path.startswith(root if root.endswith(os.sep) else root + os.sep)
