"""Which candidates people will want: those whose words the project's own README and documents use.

Reading is bounded and follows no link; scoring is a function of the texts alone.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pegboard_toolgen.drafts import Draft

MAX_FILES = 60
MAX_BYTES = 400_000
MAX_TOTAL = 4_000_000
FOLDERS = ("docs", "doc", "documentation")
SUFFIXES = (".md", ".rst", ".txt", ".adoc")
_WORD = re.compile(r"[a-z][a-z0-9]{1,40}")
_EDGES = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
PHRASE = 20
"""What counts as much as so many mentions of a single word: the words of a tool one after the other."""
MAX_COUNT = 50


def read_documents(root: Path) -> str:
    """README and documents of a project, README first."""
    texts: list[str] = []
    left = MAX_TOTAL
    for path in _documents(root):
        try:
            with path.open("rb") as file:
                content = file.read(min(MAX_BYTES, left))
        except OSError:
            continue
        texts.append(content.decode("utf-8", "replace"))
        left -= len(content)
        if left <= 0:
            break
    return "\n".join(texts)


def _documents(root: Path) -> Iterator[Path]:
    found = 0
    for folder in (root, *(root / name for name in FOLDERS)):
        if folder.is_symlink() or not folder.is_dir():
            continue
        for path in _files(folder, deep=folder != root):
            if folder == root and not path.name.lower().startswith("readme"):
                continue
            found += 1
            if found > MAX_FILES:
                return
            yield path


def _files(folder: Path, *, deep: bool) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(".") and deep)
        for name in sorted(names):
            path = Path(place) / name
            if path.suffix.lower() in (*SUFFIXES, "") and path.is_file() and not path.is_symlink():
                yield path


def score(drafts: Iterable[Draft], text: str) -> dict[str, int]:
    """How much the text speaks of each draft, by id: mentions of its words in a row, then of each word of its own."""
    plain = " ".join(_WORD.findall(_EDGES.sub(" ", text).lower()))
    counts = Counter(plain.split())
    padded = f" {plain} "
    phrases: dict[str, int] = {}
    found = {}
    for draft in drafts:
        words = [word for part in draft.words for word in _WORD.findall(_EDGES.sub(" ", part).lower())]
        phrase = " ".join(words)
        if phrase not in phrases:
            phrases[phrase] = padded.count(f" {phrase} ") if words else 0
        own = words[1:] or words
        single = sum(min(counts[word], MAX_COUNT) for word in dict.fromkeys(own)) // max(1, len(own))
        found[draft.id] = PHRASE * min(phrases[phrase], MAX_COUNT) + single
    return found


def in_order(drafts: Sequence[Draft], scores: Mapping[str, int]) -> list[Draft]:
    """The drafts, those that the documents speak of most first; then those that read, then short ones, then by id."""

    def key(draft: Draft) -> tuple[int, bool, int, str]:
        return -scores.get(draft.id, 0), draft.category not in ("read", "analytics"), len(draft.words), draft.id

    return sorted(drafts, key=key)
