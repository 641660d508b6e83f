"""Retired words stay retired: `docs/explanation/words.md` lists them, and this looks for them everywhere."""

from __future__ import annotations

import functools
import io
import keyword
import re
import subprocess
import tokenize
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "words.md"

UNREAD = [
    "docs/explanation/words.md",  # the list itself
    "CHANGELOG.md",
    "newsfragments/12.removal.*",  # says which names changed
    "*/_renamed.py",  # the aliases of one release, and their tests
    "*/test_renamed.py",
    "*/test_mcp_renamed.py",
    "core/src/pegboard/fronts/*",
    "plugins/pegboard-mcp/src/pegboard_mcp/offers.py",
    "tests/test_words.py",
]
ALLOWED = [  # the word, the files, and why it may stand there
    ("face", "plugins/pegboard-dice/*", "a die has faces"),
    ("faces", "plugins/pegboard-dice/*", "a die has faces"),
    ("face", "plugins/pegboard-manifest/*", "`fingerprint.face` is a member of the manifest's format"),
    ("face", "plugins/pegboard-toolgen/*", "`fingerprint.face` is a member of the manifest's format"),
    ("face", "core/src/pegboard/tools.py", "the alias of one release"),
    ("due", "core/src/pegboard/errors.py", "the alias of one release"),
    ("HIDDEN", "core/src/pegboard/*.py", "the alias of one release"),
    ("NotHung", "core/src/pegboard/board.py", "the alias of one release"),
    ("ToolOffError", "core/src/pegboard/board.py", "the alias of one release"),
    ("why_off", "core/src/pegboard/registry/planning.py", "the alias of one release"),
    ("hung", "core/src/pegboard/registry/board.py", "the alias `not_hung` of one release"),
    ("breathe", "core/src/pegboard/host.py", "the alias of one release"),
    ("is_settling", "core/src/pegboard/host.py", "the alias of one release"),
    ("settling", "core/src/pegboard/host.py", "the alias of one release"),
    ("fronts", "docs/explanation/architecture.md", "the alias of one release stands on a layer"),
    ("hung", "benchmarks/driver/wire.py", "a peer that hung up"),
    ("hung", "plugins/pegboard-mcp/src/pegboard_mcp/server/stdio.py", "a terminal that hung up"),
    ("hung", "plugins/pegboard-calculator/tests/*", "a program that hung"),
    ("is due", "plugins/pegboard-memory/tests/*", "a memory: the rent is due"),
]


def rows() -> list[tuple[str, str]]:
    """Each entry of the list of retired words, with what is used instead."""
    text = PAGE.read_text(encoding="utf-8").partition("## Words that are no longer used")[2]
    found = re.findall(r"^\| (.+) \| (.+) \|$", text, re.M)[1:]
    return [(entry.strip(), instead) for entries, instead in found for entry in entries.split(",")]


NAMES = {entry.strip("`"): instead for entry, instead in rows() if entry.startswith("`")}
PHRASES = {entry.strip('"'): instead for entry, instead in rows() if entry.startswith('"')}
WORDS = {entry: instead for entry, instead in rows() if entry[0] not in '`"'}


def parts_of(name: str) -> set[str]:
    """The words of an identifier: split at underscores and capitals."""
    return {part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


@functools.cache
def texts_pattern() -> re.Pattern[str]:
    phrases = [re.escape(phrase).replace(r"\ ", r"\s+(?:#\s*)?") for phrase in PHRASES]
    return re.compile(rf"\b(?:{'|'.join([*map(re.escape, WORDS), *phrases])})\b")


@functools.cache
def quick_patterns() -> dict[frozenset[str], list[re.Pattern[str]]]:
    """What a file with an entry of the list has: all its words somewhere, and the entry as it is written."""
    found: dict[frozenset[str], list[re.Pattern[str]]] = {}
    for entry in (*WORDS, *NAMES, *PHRASES):
        flags = re.IGNORECASE if entry in WORDS else 0
        written = re.compile(re.escape(entry).replace(r"\ ", r"\s+(?:#\s*)?"), flags)
        found.setdefault(frozenset(parts_of(entry)), []).append(written)
    return found


def may_hold_one(source: str) -> bool:
    """Whether a file may hold an entry: most are read no further."""
    words = {part for run in set(re.findall(r"[A-Za-z]+", source)) for part in parts_of(run)}
    return any(
        needed <= words and any(written.search(source) for written in patterns)
        for needed, patterns in quick_patterns().items()
    )


def is_allowed(word: str, path: str) -> bool:
    return any(word == allowed and fnmatch(path, files) for allowed, files, _ in ALLOWED)


def names_and_texts(source: str) -> Iterator[tuple[int, str, bool]]:
    """Identifiers, and what is prose: strings and comments, each with its line and whether it is a name."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            yield token.start[0], token.string, True
        elif token.type in (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.COMMENT)):
            yield token.start[0], token.string, False


def retired_in(path: str, source: str) -> Iterator[str]:
    """Every retired word of a file, with its line and what is used instead."""
    if not may_hold_one(source):
        return
    found = names_and_texts(source) if path.endswith(".py") else [(1, source, False)]
    for line, text, is_name in found:
        if is_name:
            words = {word for word in WORDS if word in parts_of(text)} | ({text} & NAMES.keys())
        else:
            words = {" ".join(match.replace("#", " ").split()) for match in texts_pattern().findall(text)}
        for word in sorted(words):
            if not is_allowed(word, path):
                instead = WORDS.get(word) or PHRASES.get(word) or NAMES.get(word)
                yield f"{path}:{line}: {word} (in {text.strip()[:60]!r}); use: {instead}"


def sources() -> list[str]:
    """The files of the project that people read: code, pages, news, settings."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    read = [path for path in listed if path.endswith((".py", ".md", ".toml", ".svg"))]
    return [path for path in read if not any(fnmatch(path, unread) for unread in UNREAD)]


@pytest.mark.parametrize("folder", ["core", "plugins", "tests", "docs", "other"])
def test_no_name_and_no_text_uses_a_retired_word(folder: str) -> None:
    folders = ("core/", "plugins/", "tests/", "docs/")
    here = [
        path
        for path in sources()
        if (path.startswith(f"{folder}/") if folder != "other" else not path.startswith(folders))
    ]
    assert here
    found = [one for path in here for one in retired_in(path, (ROOT / path).read_text(encoding="utf-8"))]
    assert found == []


IS_NO = re.compile(
    r"(?<![Tt]here )\b(?:is|are|was|were) (?:none\b|no (?!longer|more|matter|different|better|worse|other|such)\w+)"
)


@pytest.mark.parametrize("folder", ["core", "plugins", "tests", "docs"])
def test_nothing_is_said_to_be_no_thing(folder: str) -> None:
    """ "is not a path": "is no path", or "it is none", has to be read twice by whoever learned English late."""
    found = []
    for path in sources():
        if path.startswith(f"{folder}/"):
            source = (ROOT / path).read_text(encoding="utf-8")
            read = names_and_texts(source) if path.endswith(".py") else [(1, source, False)]
            texts = [" ".join(text.replace("#", " ").split()) for _, text, is_name in read if not is_name]
            found += [f"{path}: {said}" for text in texts for said in IS_NO.findall(text)]
    assert found == []


def test_the_glossary_says_each_word_once_and_in_order() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Words that are no longer used")[0]
    words = re.findall(r"^\| (.+?) \| .+ \|$", text, re.M)[1:]
    assert len(words) > 50
    assert words == sorted(set(words))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("def is_hung(tool): ...\n", "hung"),
        ("class Hung: ...\n", "Hung"),
        ("tool.face\n", "face"),
        ("# was mended\n", "mended"),
        ('"""A plugin that is put\n    aside."""\n', "put aside"),
        ('f"a file that was merely found: {path}"\n', "merely found"),
    ],
)
def test_a_retired_word_is_found_in_names_comments_and_texts(text: str, word: str) -> None:
    assert any(f": {word} (in" in one for one in retired_in("core/src/pegboard/new.py", text))


@pytest.mark.parametrize(
    "text", ["surface = typeface\n", "# what changes on the interface\n", "class MessageReader: ...\n"]
)
def test_a_word_inside_of_another_is_not_retired(text: str) -> None:
    assert list(retired_in("core/src/pegboard/new.py", text)) == []
