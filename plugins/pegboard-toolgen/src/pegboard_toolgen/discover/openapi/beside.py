"""A document and the files that it refers to as one value, as bundlers make it.

A document is third-party text, so a reference may not choose what of this machine is read: JSON and YAML alone, below
the document's folder, also behind links, nothing hidden, in bounds. Whatever breaks one of these stays a reference that
leads nowhere, and costs only the part that needs it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pegboard_manifest import sanitise
from pegboard_toolgen._progress import say
from pegboard_toolgen.drafts import DiscoveryError, LeftOut

if TYPE_CHECKING:
    from collections.abc import Callable

Json = Any

PLACE = "x-pegboard-files"
"""Where the files stand in the document, by their paths below its folder."""
SUFFIXES = (".json", ".yaml", ".yml")
MAX_FILES = 1_000
MAX_BYTES = 20_000_000
"""Of all files together."""
MAX_PATH = 500


def with_files_beside(
    document: dict[str, Json], path: Path, parse: Callable[[bytes], Json]
) -> tuple[dict[str, Json], list[LeftOut]]:
    """A document whose references lead to files beside it, with those files in it; and what was not read.

    Args:
        document: as it was parsed; it is not changed.
        path: of the document.
        parse: bytes of a file as a value, or DiscoveryError.
    """
    return _Bundle(path, parse).of(document)


class _Bundle:
    """One document and what was found beside it.

    A file is None while it waits, and where it was lost.
    """

    def __init__(self, path: Path, parse: Callable[[bytes], Json]) -> None:
        self.root = Path(os.path.realpath(path.parent))
        self.own = path.name
        self.parse = parse
        self.bytes_left = MAX_BYTES
        self.files: dict[str, Json] = {}
        self.waiting: list[str] = []
        self.lost: dict[str, str] = {}

    def of(self, document: dict[str, Json]) -> tuple[dict[str, Json], list[LeftOut]]:
        found: dict[str, Json] = self._moved(document, self.own)
        while self.waiting:
            name = self.waiting.pop()
            say(f"reading {name}")
            try:
                self.files[name] = self._moved(self.parse(self._content(name)), name)
            except (DiscoveryError, OSError, ValueError) as problem:
                self.files[name] = None
                self.lost[name] = _why(problem)
        left_out = [LeftOut(f"file:{sanitise(name, 200, one_line=True)}", why) for name, why in self.lost.items()]
        kept = {name: value for name, value in sorted(self.files.items()) if value is not None}
        return {**found, PLACE: kept} if kept else found, sorted(left_out, key=lambda one: one.id)

    def _moved(self, value: Json, name: str) -> Json:
        """A value of a file, whose references lead to where their targets stand in the whole."""
        if isinstance(value, dict):
            moved = {key: self._moved(part, name) for key, part in value.items()}
            if isinstance(ref := value.get("$ref"), str):
                moved["$ref"] = self._reference(ref, name)
            return moved
        return [self._moved(part, name) for part in value] if isinstance(value, list) else value

    def _reference(self, ref: str, name: str) -> str:
        before, _, pointer = ref.partition("#")
        target = self._below(before, name) if before else name
        if target is None or (pointer and not pointer.startswith("/")):
            return ref
        if target == self.own:
            return f"#{pointer}"
        if target not in self.files:
            if len(self.files) >= MAX_FILES:
                self.lost[target] = f"the document refers to more than {MAX_FILES:,} files"
                return ref
            self.files[target] = None
            self.waiting.append(target)
        step = target.replace("~", "~0").replace("/", "~1").replace("%", "%25")
        return f"#/{PLACE}/{step}{pointer}"

    def _below(self, ref: str, name: str) -> str | None:
        """The path of a file below the document's folder; None where a reference cannot lead to one."""
        text = unquote(ref)
        if len(text) > MAX_PATH or ":" in text or "\\" in text or text.startswith("/") or not text.isprintable():
            return None
        steps: list[str] = []
        for step in (*PurePosixPath(name).parent.parts, *text.split("/")):
            if step == ".." and not steps:
                self.lost[text] = "it lies outside of the document's folder"
                return None
            if step == "..":
                steps.pop()
            elif step not in ("", "."):
                steps.append(step)
        return "/".join(steps) if steps else None

    def _content(self, name: str) -> bytes:
        """What a file holds.

        Raises:
            DiscoveryError: it may not be read, or is too large.
            OSError: it cannot be read.
        """
        if not name.lower().endswith(SUFFIXES) or any(step.startswith(".") for step in name.split("/")):
            raise DiscoveryError("only files of JSON and YAML that are not hidden are read")
        whole = os.path.realpath(self.root / name, strict=True)
        if not Path(whole).is_relative_to(self.root):
            raise DiscoveryError("it leads out of the document's folder")
        with os.fdopen(os.open(whole, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DiscoveryError("it is not a file")
            data = file.read(self.bytes_left + 1)
        self.bytes_left -= len(data)
        if self.bytes_left < 0:
            self.bytes_left = 0
            raise DiscoveryError(f"the document refers to more than {MAX_BYTES:,} bytes of files")
        return data


def _why(problem: Exception) -> str:
    reason = problem.strerror if isinstance(problem, OSError) else None
    return f"a file that the document refers to cannot be read: {reason or sanitise(str(problem), 200, one_line=True)}"
