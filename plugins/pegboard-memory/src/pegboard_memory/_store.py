"""The memories of all users: one writer, some readers, and the model where there is one. This is the resource.

Every method takes the user's id first, and it comes from the session alone. Reads run in threads with a limiter of
their own, each on a connection of its own that cannot write; SQLite asks some thousand times a second whether anybody
still waits, so a call that is cancelled or out of time ends its query. Writes go through `Writer`.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import attrs
import trio

from pegboard.config import get_logger
from pegboard_memory import _database as database
from pegboard_memory._query import fold, parse
from pegboard_memory._ranking import fuse
from pegboard_memory._trouble import StorageError, trouble_of
from pegboard_memory._writer import MAX_PATIENCE_S, Connect, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard_memory._database import Memory
    from pegboard_memory._place import Identity, Place
    from pegboard_memory._query import Query
    from pegboard_memory._semantic import Embedder

log = get_logger("pegboard.memory")

T = TypeVar("T")

READERS = 4
POOL = 50
"""Hits that each order brings to the fusion, at least."""
CATCH_UP = 16
"""Memories without a vector that one search has the model read: those from before the extra was installed."""
CONFIRM_SHARE = 0.8
"""Of a deadline so short that the margin would leave nothing, this much is waited."""
MARGIN_S = 0.5
"""What is kept of a deadline to say that the database was too slow for it."""


def system_now() -> datetime:
    """The moment that the host's clock shows, in UTC."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """A moment as it is stored and shown: `2026-07-06T14:30:00.000Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@attrs.frozen
class Found:
    """What a search found, the best first, each with its score; and how many memories the user has."""

    hits: tuple[tuple[Memory, float], ...]
    total: int


@attrs.define(eq=False)
class _Patience:
    """Whether somebody still waits for a query, as SQLite asks between steps."""

    until: float
    gone: bool = False

    def ended(self) -> bool:
        return self.gone or time.monotonic() > self.until


@attrs.define(eq=False)
class MemoryStore:
    """The memories of all users in one place.

    Args:
        place: where.
        max_memories: how many one user may have.
        embedder: gives texts vectors; None: search goes by words alone.
        now: the clock.
        connect: opens the file; `_database.connect` but in tests.

    .. versionadded:: 0.1
    """

    place: Place
    max_memories: int = 100_000
    embedder: Embedder | None = None
    now: Callable[[], datetime] = system_now
    connect: Connect = database.connect
    writer: Writer = attrs.field(init=False)
    _idle: list[tuple[Identity, sqlite3.Connection]] = attrs.field(factory=list, init=False)
    _closed: bool = attrs.field(default=False, init=False)
    _has_model: bool = attrs.field(default=False, init=False)
    _has_file: bool = attrs.field(default=False, init=False)
    _readers: trio.CapacityLimiter = attrs.field(factory=partial(trio.CapacityLimiter, READERS), init=False)
    _thinkers: trio.CapacityLimiter = attrs.field(factory=partial(trio.CapacityLimiter, 1), init=False)

    def __attrs_post_init__(self) -> None:
        self.writer = Writer(self.place, self.connect)

    async def open(self, *, writes: bool) -> None:
        """Load the model and, for a call that writes, open the file and bring it up to date: what a start costs once.

        Raises:
            StorageError: the file cannot be used.
        """
        if not self._has_model:
            await self._embed([])
            self._has_model = True
        if writes:
            await self.writer.open()
            self._has_file = True

    def is_open(self, *, writes: bool) -> bool:
        """Whether `open` has nothing to do."""
        return self._has_model and (self._has_file or not writes)

    async def remember(self, user_id: str, text: str, tags: tuple[str, ...], within_s: float) -> Memory | None:
        """Keep a text; None if the user has as many memories as they may.

        Args:
            user_id: whose.
            text: what.
            tags: folded and distinct.
            within_s: the caller's deadline, in seconds from now.

        Raises:
            StorageError: the database could not keep it.
        """
        memory = database.Memory(str(uuid.uuid4()), text, tags, stamp(self.now()))
        folded = fold("\n".join([text, *tags]))
        vectors = await self._embed([text])
        vector = (self.embedder.model, vectors[0]) if self.embedder and vectors else None
        kept = await self.writer.run(
            lambda connection: database.add(connection, user_id, memory, folded, vector, self.max_memories),
            _patience(within_s),
            _confirm(within_s),
        )
        return memory if kept else None

    async def forget(self, user_id: str, memory_id: str, within_s: float) -> Memory | None:
        """Forget one memory of the user; None if they have none of that id.

        Raises:
            StorageError: the database could not forget it.
        """
        return await self.writer.run(
            lambda connection: database.remove(connection, user_id, memory_id), _patience(within_s), _confirm(within_s)
        )

    async def search(self, user_id: str, text: str, limit: int, tag: str | None, within_s: float) -> Found:
        """The memories of the user that fit a text best; the newest where there is nothing to look for.

        Raises:
            StorageError: the database could not be searched.
        """
        query = parse(text)
        vector = await self._vector_of(user_id, text, within_s) if query.parts or query.scraps else None
        return await self._read(
            lambda connection: self._search(connection, user_id, query, limit, tag, vector), Found((), 0), within_s
        )

    async def aclose(self) -> None:
        """Finish what is being written, and close the file."""
        self._closed = True
        await self.writer.aclose()
        while self._idle:
            self._idle.pop()[1].close()

    # -- reading

    def _search(
        self,
        connection: sqlite3.Connection,
        user_id: str,
        query: Query,
        limit: int,
        tag: str | None,
        vector: bytes | None,
    ) -> Found:
        owner = database.owner_of(connection, user_id)
        if owner is None:
            return Found((), 0)
        if not (query.parts or query.scraps):
            ranked = [(seq, 0.0) for seq in database.newest(connection, user_id, tag, limit)]
        else:
            ranked = database.by_text(connection, user_id, owner, query, tag, limit if vector is None else POOL + limit)
        if vector is not None and self.embedder is not None:
            seqs, vectors = database.vectors_of(connection, user_id, self.embedder.model, tag)
            near = self.embedder.nearest(vector, seqs, vectors, POOL + limit)
            ranked = fuse([[seq for seq, _ in ranked], near])
        ranked = ranked[:limit]
        memories = database.fetch(connection, user_id, [seq for seq, _ in ranked])
        return Found(tuple((memories[seq], round(score, 4)) for seq, score in ranked), owner.memories)

    async def _read(self, query: Callable[[sqlite3.Connection], T], nothing: T, within_s: float) -> T:
        """Run a query on a connection of its own; `nothing` where nothing was ever kept."""
        patience = _Patience(time.monotonic() + max(0.0, within_s - MARGIN_S))
        for migrated in (False, True):
            try:
                return await trio.to_thread.run_sync(
                    self._read_now, query, nothing, patience, limiter=self._readers, abandon_on_cancel=True
                )
            except trio.Cancelled:
                patience.gone = True
                raise
            except _NotReadyError:
                if migrated:
                    raise StorageError("unavailable", "the database cannot be opened", retry="same") from None
                await self.writer.open()
        raise AssertionError("the second round returns or raises")

    def _read_now(self, query: Callable[[sqlite3.Connection], T], nothing: T, patience: _Patience) -> T:
        identity = self.place.look()
        if identity is None:
            return nothing
        try:
            connection = self._take(identity, patience)
            try:
                connection.execute("BEGIN")  # one state of the database for all statements of the query
                value = query(connection)
                connection.execute("ROLLBACK")
            except BaseException:
                connection.close()
                raise
        except (sqlite3.Error, OSError) as problem:
            raise trouble_of(problem) from problem
        connection.set_progress_handler(None, 0)
        if self._closed:
            connection.close()
        else:
            self._idle.append((identity, connection))
        return value

    def _take(self, identity: Identity, patience: _Patience) -> sqlite3.Connection:
        connection = None
        while self._idle and connection is None:
            try:
                opened, connection = self._idle.pop()
            except IndexError:  # another thread was quicker
                break
            if opened != identity:
                connection.close()
                connection = None
        fresh = connection is None
        connection = connection or self.connect(self.place.path, read_only=True)
        try:
            wait_s = min(MAX_PATIENCE_S, max(0.0, patience.until - time.monotonic()))
            connection.execute(f"PRAGMA busy_timeout = {round(wait_s * 1000)}")
            connection.set_progress_handler(patience.ended, database.STEPS_BETWEEN_LOOKS)
            if fresh and database.version_of(connection) < len(database.MIGRATIONS):
                raise _NotReadyError
        except BaseException:
            connection.close()
            raise
        return connection

    # -- the model

    async def _vector_of(self, user_id: str, text: str, within_s: float) -> bytes | None:
        """The query as the model sees it, after it caught up with memories that it has not seen."""
        if self.embedder is None:
            return None
        model = self.embedder.model
        behind = await self._read(lambda connection: _behind(connection, user_id, model), None, within_s)
        vectors = await self._embed([text]) if behind is not None else None  # without memories there is no need
        if not vectors:
            return None
        missing = behind or []
        made = await self._embed([memory for _, memory in missing]) if missing else None
        if made:
            rows = list(zip([seq for seq, _ in missing], made, strict=True))
            try:
                await self.writer.run(
                    lambda connection: database.add_vectors(connection, user_id, model, rows), _patience(within_s)
                )
            except StorageError as trouble:  # searching does not depend on it, and the next search tries again
                log.warning("vectors of older memories were not kept: %s", trouble.words)
        return vectors[0]

    async def _embed(self, texts: list[str]) -> list[bytes] | None:
        """The texts as the model sees them; None without one, or if it fails: words are enough to go on."""
        if self.embedder is None:
            return None
        try:
            return await trio.to_thread.run_sync(
                self.embedder.embed, texts, limiter=self._thinkers, abandon_on_cancel=True
            )
        except Exception:  # whatever a foreign runtime raises, memories are kept and found by their words
            log.exception("the model failed; memories are searched by their words alone from now on")
            self.embedder = None
            return None


class _NotReadyError(Exception):
    """The file lacks migrations, which a reader cannot do."""


def _behind(connection: sqlite3.Connection, user_id: str, model: str) -> list[tuple[int, str]] | None:
    """Memories that the model has not seen, seq and text; None where the user has none at all."""
    owner = database.owner_of(connection, user_id)
    if owner is None or not owner.memories:
        return None
    return database.without_vector(connection, user_id, model, CATCH_UP)


def _patience(within_s: float) -> float:
    return max(0.05, min(MAX_PATIENCE_S, within_s - MARGIN_S))


def _confirm(within_s: float) -> float:
    """How long a write that is under way is waited for; what is left of the deadline is for the answer."""
    return max(within_s - MARGIN_S, within_s * CONFIRM_SHARE)
