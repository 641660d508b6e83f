"""The SQL: schema, migrations, and every statement that runs. Synchronous, and called in threads alone.

Every row belongs to a user, and every statement on rows filters by `user_id`, the ones that write too. The two
full-text indexes are tables of each user's own: BM25 ranks a word by how rare it is among all rows of its table, so
that in a shared index the words of one user would move the scores of another, and could be guessed from them. Their
names hold the user's number in `owners`; they keep no text but point into `memories`, whose column `folded` they
index.

    owners             user_id -> number, how many memories
    memories           seq, id, user_id, text, tags as JSON, folded, created_at
    memory_tags        user_id, tag, seq
    memory_vectors     user_id, model, seq, vector
    memory_words_N     FTS5, words
    memory_parts_N     FTS5, trigrams; where SQLite has them (owners.parts)

`PRAGMA user_version` is the number of migrations that ran; `application_id` says that the file is ours.
"""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard import sqlite_files
from pegboard_memory._query import Query, all_of, any_of
from pegboard_memory._ranking import band_score
from pegboard_memory._trouble import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

APPLICATION_ID = 0x70654D65  # "peMe"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE owners (number INTEGER PRIMARY KEY AUTOINCREMENT, user_id TEXT NOT NULL UNIQUE,"
        " parts INTEGER NOT NULL, memories INTEGER NOT NULL DEFAULT 0)",
        "CREATE TABLE memories (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, user_id TEXT NOT NULL,"
        " text TEXT NOT NULL, tags TEXT NOT NULL, folded TEXT NOT NULL, created_at TEXT NOT NULL)",
        "CREATE INDEX memories_of_user ON memories (user_id, seq)",
        "CREATE TABLE memory_tags (user_id TEXT NOT NULL, tag TEXT NOT NULL, seq INTEGER NOT NULL,"
        " PRIMARY KEY (user_id, tag, seq)) WITHOUT ROWID",
        "CREATE TABLE memory_vectors (user_id TEXT NOT NULL, model TEXT NOT NULL, seq INTEGER NOT NULL,"
        " vector BLOB NOT NULL, PRIMARY KEY (user_id, model, seq)) WITHOUT ROWID",
    ),
)

_POINTS_INTO = "folded, content='memories', content_rowid='seq'"
_WORDS = f"CREATE VIRTUAL TABLE memory_words_{{0}} USING fts5({_POINTS_INTO}, tokenize='unicode61')"
_PARTS = f"CREATE VIRTUAL TABLE memory_parts_{{0}} USING fts5({_POINTS_INTO}, tokenize='trigram')"

STEPS_BETWEEN_LOOKS = 1_000
"""Steps of SQLite's machine between two looks whether anybody still waits; below a millisecond."""


class Memory(NamedTuple):
    """One memory as callers see it."""

    id: str
    text: str
    tags: tuple[str, ...]
    created_at: str

    def to_json(self) -> dict[str, Any]:
        """Its data; the shape is `_schema.MEMORY_SCHEMA`."""
        return {"id": self.id, "text": self.text, "tags": list(self.tags), "created_at": self.created_at}


class Owner(NamedTuple):
    """A user's place in the database."""

    number: int
    parts: bool
    memories: int


# --- connections


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a file that exists. Threads hand the connection on to each other and never share it."""
    connection = sqlite_files.connect(path)
    if read_only:
        connection.execute("PRAGMA query_only = ON")
    return connection


def prepare(connection: sqlite3.Connection) -> None:
    """Make the file ready for writing: WAL, and the migrations it lacks.

    Raises:
        StorageError: the file is another program's, or of a newer version.
        sqlite3.Error: what a database can be wrong with.
    """
    version = version_of(connection)  # before anything is changed: the file may be somebody else's
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # what was acknowledged survives a power cut, not only a crash
    connection.execute("PRAGMA secure_delete = ON")
    if version < len(MIGRATIONS):
        _migrate(connection)


def _migrate(connection: sqlite3.Connection) -> None:
    with sqlite_files.transaction(connection):
        for number in range(version_of(connection), len(MIGRATIONS)):  # another host may have been quicker
            for statement in MIGRATIONS[number]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def version_of(connection: sqlite3.Connection) -> int:
    """How many migrations the file has seen.

    Raises:
        StorageError: more than there are, or the file is not ours.
    """
    state = sqlite_files.state_of(connection)
    if state.is_foreign(APPLICATION_ID):
        raise StorageError("foreign", "the file holds something else than memories", retry="never")
    if state.version > len(MIGRATIONS):
        raise StorageError("newer", "the database was written by a newer version of pegboard-memory", retry="never")
    return state.version


def has_tokenizer(connection: sqlite3.Connection, tokenizer: str) -> bool:
    """Whether this SQLite has FTS5 with that tokenizer; tried in memory, so that no file is touched."""
    try:
        connection.execute(f"CREATE VIRTUAL TABLE temp.memory_probe USING fts5(x, tokenize='{tokenizer}')")
        connection.execute("DROP TABLE temp.memory_probe")
    except sqlite3.OperationalError:
        return False
    return True


# --- writing, inside of a transaction that the writer began


def owner_of(connection: sqlite3.Connection, user_id: str) -> Owner | None:
    """The user's place, None before their first memory."""
    statement = "SELECT number, parts, memories FROM owners WHERE user_id = ?"
    row = connection.execute(statement, (user_id,)).fetchone()
    return None if row is None else Owner(row[0], bool(row[1]), row[2])


def _make_owner(connection: sqlite3.Connection, user_id: str) -> Owner:
    if not has_tokenizer(connection, "unicode61"):
        raise StorageError("fts5", "the SQLite of this host has no full-text search (FTS5)", retry="never")
    parts = has_tokenizer(connection, "trigram")
    made = connection.execute("INSERT INTO owners (user_id, parts) VALUES (?, ?)", (user_id, parts))
    number = int(made.lastrowid or 0)
    connection.execute(_WORDS.format(number))
    if parts:
        connection.execute(_PARTS.format(number))
    return Owner(number, parts, 0)


def _indexes(owner: Owner) -> list[str]:
    return [f"memory_words_{owner.number}", *([f"memory_parts_{owner.number}"] if owner.parts else [])]


def add(
    connection: sqlite3.Connection,
    user_id: str,
    memory: Memory,
    folded: str,
    vector: tuple[str, bytes] | None,
    max_memories: int,
) -> bool:
    """Keep one memory; False if the user has as many as they may.

    Args:
        connection: in a transaction.
        user_id: whose.
        memory: what.
        folded: its text and tags as they are searched.
        vector: the model and what it makes of the text, if there is one.
        max_memories: how many one user may have.
    """
    owner = owner_of(connection, user_id) or _make_owner(connection, user_id)
    if owner.memories >= max_memories:
        return False
    made = connection.execute(
        "INSERT INTO memories (id, user_id, text, tags, folded, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        (memory.id, user_id, memory.text, json.dumps(memory.tags), folded, memory.created_at),
    )
    seq = int(made.lastrowid or 0)
    connection.execute("UPDATE owners SET memories = memories + 1 WHERE user_id = ?", (user_id,))
    for index in _indexes(owner):
        connection.execute(
            f"INSERT INTO {index} (rowid, folded)"  # noqa: S608 - the name holds a number of ours
            " SELECT seq, folded FROM memories WHERE seq = ? AND user_id = ?",
            (seq, user_id),
        )
    for tag in memory.tags:
        connection.execute("INSERT INTO memory_tags (user_id, tag, seq) VALUES (?, ?, ?)", (user_id, tag, seq))
    if vector is not None:
        add_vectors(connection, user_id, vector[0], [(seq, vector[1])])
    return True


def remove(connection: sqlite3.Connection, user_id: str, memory_id: str) -> Memory | None:
    """Forget one memory of the user; None if they have none of that id."""
    owner = owner_of(connection, user_id)
    row = connection.execute(
        "SELECT seq, id, text, tags, created_at FROM memories WHERE id = ? AND user_id = ?", (memory_id, user_id)
    ).fetchone()
    if owner is None or row is None:
        return None
    seq = row[0]
    for index in _indexes(owner):
        connection.execute(
            f"INSERT INTO {index} ({index}, rowid, folded)"  # noqa: S608 - as above
            " SELECT 'delete', seq, folded FROM memories WHERE seq = ? AND user_id = ?",
            (seq, user_id),
        )
    for table in ("memory_vectors", "memory_tags", "memories"):
        connection.execute(f"DELETE FROM {table} WHERE seq = ? AND user_id = ?", (seq, user_id))  # noqa: S608 - a constant
    connection.execute("UPDATE owners SET memories = memories - 1 WHERE user_id = ?", (user_id,))
    return _memory(row)


def add_vectors(connection: sqlite3.Connection, user_id: str, model: str, vectors: Iterable[tuple[int, bytes]]) -> None:
    """Keep what a model makes of memories, by their seq; of those that were forgotten meanwhile nothing is kept."""
    connection.executemany(
        "INSERT OR REPLACE INTO memory_vectors (user_id, model, seq, vector)"
        " SELECT user_id, ?, seq, ? FROM memories WHERE seq = ? AND user_id = ?",
        [(model, vector, seq, user_id) for seq, vector in vectors],
    )


# --- reading


class _Where(NamedTuple):
    """Whose rows, and with which tag: the condition that every search shares."""

    sql: str
    values: tuple[Any, ...]


def _where(user_id: str, tag: str | None, table: str = "m") -> _Where:
    if tag is None:
        return _Where(f"{table}.user_id = ?", (user_id,))
    tagged = f"{table}.seq IN (SELECT seq FROM memory_tags WHERE user_id = ? AND tag = ?)"  # noqa: S608 - constants
    return _Where(f"{table}.user_id = ? AND {tagged}", (user_id, user_id, tag))


def newest(connection: sqlite3.Connection, user_id: str, tag: str | None, limit: int) -> list[int]:
    """The last memories of the user, by seq."""
    where = _where(user_id, tag)
    statement = f"SELECT m.seq FROM memories m WHERE {where.sql} ORDER BY m.seq DESC LIMIT ?"  # noqa: S608 - constants
    return [seq for (seq,) in connection.execute(statement, (*where.values, limit))]


def by_text(
    connection: sqlite3.Connection, user_id: str, owner: Owner, query: Query, tag: str | None, limit: int
) -> list[tuple[int, float]]:
    """Memories by their text, the best first: seq and score.

    All words, then some of them, then parts of words, then scraps; each step only where those before it found fewer
    than `limit`.
    """
    found: dict[int, float] = {}
    words, parts = f"memory_words_{owner.number}", f"memory_parts_{owner.number}"
    steps = [(3, words, all_of(query.phrases)), (2, words, any_of(dict.fromkeys(query.phrases + query.words)))]
    if owner.parts:
        steps.append((1, parts, any_of(query.parts)))
    where = _where(user_id, tag)
    for band, index, expression in steps:
        if expression and len(found) < limit:
            statement = (
                f"SELECT m.seq, bm25({index}) FROM {index} JOIN memories m ON m.seq = {index}.rowid"  # noqa: S608 - constants
                f" WHERE {index} MATCH ? AND {where.sql} ORDER BY bm25({index}), m.seq DESC LIMIT ?"
            )
            for seq, rank in connection.execute(statement, (expression, *where.values, limit)):
                found.setdefault(seq, band_score(band, max(0.0, -rank)))
    scraps = query.scraps if owner.parts else (*query.parts, *query.scraps)
    if scraps and len(found) < limit:
        for seq, share in _by_scraps(connection, where, scraps, limit):
            found.setdefault(seq, band_score(0, share))
    return list(found.items())[:limit]


def _by_scraps(
    connection: sqlite3.Connection, where: _Where, scraps: Sequence[str], limit: int
) -> list[tuple[int, float]]:
    """Memories that hold pieces which no index holds: all texts of the user are looked through."""
    hits = " + ".join(["(instr(m.folded, ?) > 0)"] * len(scraps))
    statement = (
        f"SELECT m.seq, {hits} AS hits FROM memories m WHERE {where.sql} AND hits > 0"  # noqa: S608 - constants
        " ORDER BY hits DESC, m.seq DESC LIMIT ?"
    )
    rows = connection.execute(statement, (*scraps, *where.values, limit))
    return [(seq, hits / len(scraps)) for seq, hits in rows]


def vectors_of(
    connection: sqlite3.Connection, user_id: str, model: str, tag: str | None
) -> tuple[list[int], list[bytes]]:
    """All vectors of the user, by seq."""
    where = _where(user_id, tag, "v")
    statement = f"SELECT v.seq, v.vector FROM memory_vectors v WHERE {where.sql} AND v.model = ?"  # noqa: S608 - constants
    rows = connection.execute(statement, (*where.values, model)).fetchall()
    return [row[0] for row in rows], [row[1] for row in rows]


def without_vector(connection: sqlite3.Connection, user_id: str, model: str, limit: int) -> list[tuple[int, str]]:
    """The newest memories of the user that the model has not seen: seq and text."""
    statement = (
        "SELECT m.seq, m.text FROM memories m WHERE m.user_id = ? AND NOT EXISTS (SELECT 1 FROM memory_vectors v"
        " WHERE v.user_id = m.user_id AND v.model = ? AND v.seq = m.seq) ORDER BY m.seq DESC LIMIT ?"
    )
    return connection.execute(statement, (user_id, model, limit)).fetchall()


def fetch(connection: sqlite3.Connection, user_id: str, seqs: Sequence[int]) -> dict[int, Memory]:
    """The user's memories of those seqs."""
    marks = ", ".join("?" * len(seqs))
    statement = f"SELECT seq, id, text, tags, created_at FROM memories WHERE user_id = ? AND seq IN ({marks})"  # noqa: S608 - marks
    return {row[0]: _memory(row) for row in connection.execute(statement, (user_id, *seqs))}


def _memory(row: Sequence[Any]) -> Memory:
    _, memory_id, text, tags, created_at = row
    return Memory(memory_id, text, tuple(json.loads(tags)), created_at)
