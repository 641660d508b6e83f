"""The database: whose rows are read, what survives, what is said when it cannot be used, what is left behind."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from pegboard import load_board, open_host
from pegboard.testing import assert_error, assert_ok
from pegboard_memory import _database as database
from pegboard_memory import _semantic as semantic
from pegboard_memory._place import Place
from pegboard_memory._store import MemoryStore
from pegboard_memory._trouble import StorageError
from pegboard_memory.plugin import MemoryPlugin
from pegboard_memory.settings import MemorySettings

WITHIN_S = 30.0


@contextlib.asynccontextmanager
async def opened(path: Path, **more: Any) -> AsyncIterator[MemoryStore]:
    store = MemoryStore(Place(path), **more)
    try:
        yield store
    finally:
        await store.aclose()


async def add(store: MemoryStore, user_id: str, text: str, *tags: str) -> str:
    memory = await store.remember(user_id, text, tags, WITHIN_S)
    assert memory is not None
    return memory.id


async def texts(store: MemoryStore, user_id: str, query: str, tag: str | None = None) -> list[str]:
    return [memory.text for memory, _ in (await store.search(user_id, query, 100, tag, WITHIN_S)).hits]


def traced(seen: list[str]) -> Callable[..., sqlite3.Connection]:
    def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
        connection = database.connect(path, read_only=read_only)
        connection.set_trace_callback(seen.append)
        return connection

    return connect


class FakeModel:
    """A model that makes a vector of a text's first letter."""

    model = "fake"

    def embed(self, texts: list[str]) -> list[bytes]:
        return [text[:1].encode() for text in texts]

    def nearest(self, vector: bytes, seqs: list[int], vectors: list[bytes], limit: int) -> list[int]:
        return [seq for seq, other in zip(seqs, vectors, strict=True) if other == vector][:limit]


async def test_every_statement_on_rows_filters_by_the_user(tmp_path: Path) -> None:
    seen: list[str] = []
    async with opened(tmp_path / "m.db", connect=traced(seen), embedder=FakeModel()) as store:
        for user_id in ("ada", "bob"):
            for query in ("", "tea", "tea cup", "ea", "🎉", "東京", "nothing of it"):
                for tag in (None, "home"):
                    await store.search(user_id, query, 5, tag, WITHIN_S)
            name = await add(store, user_id, "a cup of tea 🎉", "home", "drinks")
            await add(store, user_id, "東京")
            for query in ("", "tea", "tea cup", "ea", "🎉", "東京", "nothing of it"):
                for tag in (None, "home"):
                    await store.search(user_id, query, 5, tag, WITHIN_S)
            await store.forget(user_id, name, WITHIN_S)
            await store.forget(user_id, "of nobody", WITHIN_S)
    control = re.compile(r"(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|PRAGMA|CREATE|DROP TABLE temp\.)")
    about_the_file = "SELECT count(*) FROM sqlite_master"
    # What FTS5 does with its own tables on behalf of a statement; those are one user's alone.
    of_an_index = re.compile(r"(-- |(SELECT|INSERT|REPLACE|DELETE|UPDATE)\b.*'memory_(words|parts|probe)_?\d*_?)", re.S)
    ours = [
        statement
        for statement in seen
        if not control.match(statement) and statement != about_the_file and not of_an_index.match(statement)
    ]
    read_by_an_index = re.compile(r"SELECT \w+(, \w+)* FROM \"?main\"?\.\"?memories\"? WHERE seq ?= ?", re.I)
    ours = [statement for statement in ours if not read_by_an_index.match(statement)]
    assert {statement.split()[0] for statement in ours} == {"SELECT", "INSERT", "UPDATE", "DELETE"}
    assert [statement for statement in ours if "user_id" not in statement] == []
    reads = [one for one in ours if not re.match(r"INSERT INTO (owners|memories|memory_tags) \(", one)]
    assert [one for one in reads if not re.search(r"user_id = '(ada|bob)'", one)] == []
    assert any("MATCH" in statement for statement in ours)
    assert any("instr" in statement for statement in ours)
    assert any("memory_vectors" in statement for statement in ours)


async def test_an_index_without_trigrams_is_searched_by_looking_through_the_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = database.has_tokenizer
    monkeypatch.setattr(
        database, "has_tokenizer", lambda connection, name: name != "trigram" and whole(connection, name)
    )
    async with opened(tmp_path / "m.db") as store:
        name = await add(store, "ada", "東京タワーに行った")
        await add(store, "ada", "a colourful bird")
        assert await texts(store, "ada", "京タワ") == ["東京タワーに行った"]
        assert await texts(store, "ada", "olourf") == ["a colourful bird"]
        assert await store.forget("ada", name, WITHIN_S)
        assert await texts(store, "ada", "京タワ") == []


async def test_a_sqlite_without_full_text_search_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "has_tokenizer", lambda connection, name: False)
    async with opened(tmp_path / "m.db") as store:
        with pytest.raises(StorageError, match="FTS5"):
            await add(store, "ada", "x")


async def test_writes_that_wait_together_are_committed_together_and_fail_alone(tmp_path: Path) -> None:
    seen: list[str] = []
    async with opened(tmp_path / "m.db", connect=traced(seen)) as store:
        await add(store, "ada", "first")
        seen.clear()
        failed: list[Exception] = []
        other = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        async def fail() -> None:
            try:
                await store.writer.run(lambda connection: connection.execute("SELECT nothing"))
            except StorageError as problem:
                failed.append(problem)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            for number in range(200):
                nursery.start_soon(add, store, "ada", f"number {number}")
            await trio.testing.wait_all_tasks_blocked()
            other.execute("ROLLBACK")
        other.close()
        assert len(await texts(store, "ada", "")) == 100
        assert (await store.search("ada", "", 1, None, WITHIN_S)).total == 201
    assert len(failed) == 1
    assert seen.count("COMMIT") == 1


async def test_a_job_whose_caller_is_gone_before_it_began_is_not_done(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await add(store, "ada", "first")
        held, go_on = threading.Event(), threading.Event()

        def hold(connection: sqlite3.Connection) -> None:
            held.set()
            go_on.wait(10)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.writer.run, hold)
            await trio.to_thread.run_sync(held.wait, 10)
            with trio.CancelScope() as scope:
                scope.cancel()
                await add(store, "ada", "of nobody who waits")
            go_on.set()
        await add(store, "ada", "second")  # behind the other in the queue
        assert await texts(store, "ada", "") == ["second", "first"]


async def test_who_can_wait_longer_for_a_lock_goes_on_waiting(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await add(store, "ada", "first")
        other = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        kept: list[str] = []

        async def wait_long() -> None:
            await store.writer.run(lambda connection: kept.append("long"))

        async def wait_briefly() -> None:
            with pytest.raises(StorageError, match="locked"):
                await store.writer.run(lambda connection: kept.append("brief"), 0.5)
            other.execute("ROLLBACK")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_long)
            nursery.start_soon(wait_briefly)
        other.close()
    assert kept == ["long"]


async def test_closing_finishes_what_waits_for_a_lock(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await add(store, "ada", "first")
        other = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        answers: list[str] = []

        async def wait(patience_s: float) -> None:
            try:
                await store.writer.run(lambda connection: None, patience_s)
            except StorageError as trouble:
                answers.append(trouble.reason)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, 1)
            nursery.start_soon(wait, 2)
            await trio.testing.wait_all_tasks_blocked()
            await store.writer.aclose()
        other.close()
    assert answers == ["locked", "locked"]


WRITES = """
import sys, trio
from pathlib import Path
from pegboard_memory._place import Place
from pegboard_memory._store import MemoryStore

async def main():
    store = MemoryStore(Place(Path(sys.argv[1])))
    async def write(name):
        for number in range(10_000):
            memory = await store.remember("ada", f"{name} {number}", ("t",), 30)
            print(memory.id, flush=True)
    async with trio.open_nursery() as nursery:
        for name in "abcd":
            nursery.start_soon(write, name)

trio.run(main)
"""


async def test_kill_9_loses_no_acknowledged_memory(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    child = subprocess.Popen([sys.executable, "-c", WRITES, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    acknowledged = [child.stdout.readline().strip() for _ in range(200)]
    child.send_signal(signal.SIGKILL)
    acknowledged += [line.strip() for line in child.stdout if len(line) == 37]
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    async with opened(path) as store:
        assert await add(store, "ada", "and it goes on")
        connection = database.connect(path)
        there = {name for (name,) in connection.execute("SELECT id FROM memories WHERE user_id = 'ada'")}
        assert set(acknowledged) <= there
        for index in ("memory_words_1", "memory_parts_1"):  # raises where index and rows differ
            connection.execute(f"INSERT INTO {index} ({index}) VALUES ('integrity-check')")
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()


# --- a database that cannot be used


@pytest.fixture
async def ada(tmp_path: Path) -> AsyncIterator[Any]:
    (tmp_path / "data").mkdir()
    async with open_host(of_data(tmp_path), plugins=[MemoryPlugin()]) as host:
        yield host.session("ada")


def of_data(folder: Path) -> dict[str, Any]:
    return {"plugins": {"memory": {"url": f"sqlite:///{folder}/data/memory.db", "semantic": False}}}


async def remember(session: Any, text: str = "something") -> Any:
    return await session.call("remember", {"text": text})


async def data_of(call: Awaitable[Any]) -> Any:
    return assert_ok(await call).data


async def search(session: Any, query: str = "something") -> Any:
    return await session.call("search_memory", {"query": query})


def is_in_trouble(result: Any, reason: str, path: Path) -> None:
    assert_error(result, "UPSTREAM_ERROR", reason=reason, says="Failed to ")
    assert result.error.details["retry"] in ("same", "never")
    for hidden in (str(path), "memory.db", "sqlite", "SQLITE", "disk I/O"):
        assert hidden not in result.error.message


async def test_a_locked_database_is_said_within_the_deadline_and_works_again(ada: Any, tmp_path: Path) -> None:
    first = (await data_of(remember(ada)))["id"]
    hurried = {name: {"timeout_s": 1.5} for name in ("remember", "forget_memory")}
    async with open_host({**of_data(tmp_path), "tools": hurried}, plugins=[MemoryPlugin()]) as host:
        session = host.session("ada")
        assert_ok(await remember(session))
        other = sqlite3.connect(tmp_path / "data" / "memory.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        async with trio.open_nursery() as nursery:
            for call in (remember(session), session.call("forget_memory", {"id": first})):
                nursery.start_soon(is_locked, call, tmp_path)
        assert (await data_of(search(session)))["total"] == 2, "readers do not wait for writers"
        other.execute("ROLLBACK")
        other.close()
        assert_ok(await remember(session))
        assert (await data_of(search(session)))["total"] == 3


async def is_locked(call: Awaitable[Any], path: Path) -> None:
    is_in_trouble(await call, "locked", path)


async def test_a_file_that_is_removed_is_said_once_and_a_new_one_begins(ada: Any, tmp_path: Path) -> None:
    for call in (remember, search):
        assert_ok(await remember(ada))
        assert_ok(await search(ada))
        for path in (tmp_path / "data").iterdir():
            path.unlink()
        is_in_trouble(await call(ada), "gone", tmp_path)
        assert_ok(await remember(ada))
        assert (await data_of(search(ada)))["total"] == 1


async def test_where_a_disk_is_gone_nothing_new_begins_until_it_is_back(ada: Any, tmp_path: Path) -> None:
    assert_ok(await remember(ada))
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    for _ in range(2):
        is_in_trouble(await remember(ada), "gone", tmp_path)
        is_in_trouble(await search(ada), "gone", tmp_path)
    (tmp_path / "data").mkdir()  # the empty folder that something was mounted on
    is_in_trouble(await remember(ada), "gone", tmp_path)
    (tmp_path / "data").rmdir()
    (tmp_path / "elsewhere").rename(tmp_path / "data")
    assert (await data_of(search(ada)))["total"] == 1
    assert_ok(await remember(ada))


async def test_another_file_in_its_place_is_used(ada: Any, tmp_path: Path) -> None:
    path = tmp_path / "data" / "memory.db"
    assert_ok(await remember(ada, "something old"))
    backup = sqlite3.connect(tmp_path / "backup.db")
    with contextlib.closing(sqlite3.connect(path)) as source:
        source.backup(backup)
    backup.close()
    assert_ok(await remember(ada, "something new"))
    (tmp_path / "backup.db").replace(path)
    for rest in ("-wal", "-shm"):
        Path(f"{path}{rest}").unlink(missing_ok=True)
    assert (await data_of(search(ada)))["total"] == 1
    assert_ok(await remember(ada, "something newer"))
    assert (await data_of(search(ada)))["total"] == 2


async def test_a_missing_folder_is_said_until_it_is_there(ada: Any, tmp_path: Path) -> None:
    (tmp_path / "data").rmdir()
    is_in_trouble(await remember(ada), "unavailable", tmp_path)
    assert_ok(await search(ada), text="No memories found")
    (tmp_path / "data").mkdir()
    assert_ok(await remember(ada))


@pytest.mark.parametrize(
    ("content", "reason"), [(b"not a database at all" * 100, "damaged"), (None, "foreign"), ("newer", "newer")]
)
async def test_a_file_of_something_else_is_left_as_it_is(
    ada: Any, tmp_path: Path, content: bytes | str | None, reason: str
) -> None:
    path = tmp_path / "data" / "memory.db"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE recipes (name)")
        if content == "newer":
            connection.execute(f"PRAGMA application_id = {database.APPLICATION_ID}")
            connection.execute("PRAGMA user_version = 99")
        connection.commit()
        connection.close()
    before = path.read_bytes()
    is_in_trouble(await remember(ada), reason, tmp_path)
    is_in_trouble(await search(ada), reason, tmp_path)
    assert path.read_bytes() == before
    path.unlink()
    with contextlib.suppress(AssertionError):  # that it is gone may be said once
        assert_ok(await remember(ada))
    assert_ok(await remember(ada))


def limited(pages: list[int]) -> Callable[..., sqlite3.Connection]:
    def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
        connection = database.connect(path, read_only=read_only)
        if pages:
            connection.execute(f"PRAGMA max_page_count = {pages[0]}")
        return connection

    return connect


async def test_a_full_database_is_said_and_works_again(tmp_path: Path) -> None:
    pages: list[int] = []
    async with opened(tmp_path / "m.db", connect=limited(pages)) as store:
        await add(store, "ada", "fits")
        await trio.to_thread.run_sync(store.writer.drop_writer)
        pages.append(1)  # SQLite takes it for the size that the file has
        with pytest.raises(StorageError) as caught:
            await add(store, "ada", " ".join(map(str, range(2_000))))
        assert caught.value.reason == "full"
        pages.clear()
        await add(store, "ada", "fits again")
        assert await texts(store, "ada", "fits again") == ["fits again", "fits"]


async def test_a_read_only_database_is_searched_and_refuses_the_rest(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        await add(store, "ada", "written before")

    refusing = [True]

    def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
        uri = f"{path.as_uri()}?mode={'ro' if refusing else 'rw'}"
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)

    async with opened(tmp_path / "m.db", connect=connect) as store:
        assert await texts(store, "ada", "written") == ["written before"]
        with pytest.raises(StorageError) as caught:
            await add(store, "ada", "x")
        assert caught.value.reason == "read_only"
        refusing.clear()
        await add(store, "ada", "written after")
        assert len(await texts(store, "ada", "written")) == 2


async def test_a_query_ends_with_its_deadline(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db") as store:
        for number in range(200):
            await add(store, "ada", f"{number} 東 " * 200)
        with pytest.raises(StorageError) as caught:
            await store.search("ada", "京都 東 大阪 名古", 10, None, 0.0)
        assert caught.value.reason == "slow"
        assert len(await texts(store, "ada", "東")) == 100


async def test_an_older_file_is_migrated_by_whoever_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path / "m.db") as store:
        await add(store, "ada", "of an older version")
    monkeypatch.setattr(database, "MIGRATIONS", (*database.MIGRATIONS, ("CREATE TABLE later (x)",)))
    async with opened(tmp_path / "m.db") as store:
        assert await texts(store, "ada", "older") == ["of an older version"]
    with contextlib.closing(sqlite3.connect(tmp_path / "m.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path / "m.db") as store:
        await add(store, "ada", "stays")
    with monkeypatch.context() as patched:
        patched.setattr(database, "MIGRATIONS", (*database.MIGRATIONS, ("CREATE TABLE later (x)", "nonsense")))
        async with opened(tmp_path / "m.db") as store:
            with pytest.raises(StorageError):
                await add(store, "ada", "x")
    async with opened(tmp_path / "m.db") as store:
        assert await texts(store, "ada", "") == ["stays"]


async def test_what_is_forgotten_is_in_no_table(tmp_path: Path) -> None:
    async with opened(tmp_path / "m.db", embedder=FakeModel()) as store:
        name = await add(store, "ada", "a secret", "tag")
        await store.forget("ada", name, WITHIN_S)
        assert (await store.search("ada", "secret", 5, None, WITHIN_S)).total == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "m.db")) as connection:
        for table in ("memories", "memory_tags", "memory_vectors", "memory_words_1_docsize", "memory_parts_1_docsize"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def left_behind() -> tuple[int, int, int]:
    gc.collect()
    ours = [thread for thread in threading.enumerate() if not thread.name.startswith("Trio thread")]
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    return len(ours), len(list(Path("/proc/self/fd").iterdir())), len(children.read_text().split())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
async def test_no_thread_descriptor_or_child_is_left_behind(tmp_path: Path) -> None:
    async def use() -> None:
        async with opened(tmp_path / "m.db") as store:
            async with trio.open_nursery() as nursery:
                for number in range(20):
                    nursery.start_soon(add, store, "ada", f"number {number}")
                    nursery.start_soon(texts, store, "ada", "number")
            with trio.move_on_after(0):
                await texts(store, "ada", "number")
            with trio.move_on_after(0):
                await add(store, "ada", "x")

    await use()
    before = left_behind()
    for _ in range(3):
        await use()
    assert left_behind() == before


# --- doctor


def findings(settings: dict[str, Any]) -> list[tuple[str, str]]:
    board = load_board({"plugins": {"memory": {"semantic": False, **settings}}}, plugins=[MemoryPlugin()])
    checks = [
        check
        for record, answered in board.plugins.ask("provide_checks")
        if record.name == "memory"
        for check in answered
    ]
    assert checks
    return [(finding.what, finding.severity) for check in checks for finding in check(board)]


def test_doctor_finds_a_place_that_cannot_be_used(tmp_path: Path) -> None:
    assert findings({"url": f"sqlite:///{tmp_path}/m.db"}) == []
    assert findings({"url": f"sqlite:///{tmp_path}/none/m.db"}) == [("memories have no place", "error")]
    (tmp_path / "m.db").write_bytes(b"x" * 5000)
    assert findings({"url": f"sqlite:///{tmp_path}/m.db"}) == [("memories cannot be read", "error")]
    assert list(tmp_path.iterdir()) == [tmp_path / "m.db"]


def test_doctor_finds_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.db").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert findings({"url": f"sqlite:///{tmp_path}/m.db"}) == [("memories cannot be written", "error")]


@pytest.mark.parametrize(
    ("lacks", "found"),
    [
        ("unicode61", [("memories cannot be kept", "error")]),
        ("trigram", [("parts of words are searched slowly", "warning")]),
    ],
)
def test_doctor_finds_what_sqlite_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str, found: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr(database, "has_tokenizer", lambda connection, name: name != lacks)
    assert findings({"url": f"sqlite:///{tmp_path}/m.db"}) == found


@pytest.mark.parametrize(
    ("lacking", "found"),
    [
        ([], []),
        ([*semantic.MODULES, *semantic.PACKAGED], []),
        (["tokenizers"], [("memories are searched by words alone", "warning")]),
    ],
)
def test_doctor_finds_an_extra_that_is_not_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: list[str], found: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr(semantic, "missing", lambda folder=None: lacking)
    assert findings({"url": f"sqlite:///{tmp_path}/m.db", "semantic": True}) == found


def test_doctor_finds_a_folder_without_a_model(tmp_path: Path) -> None:
    settings = {"url": f"sqlite:///{tmp_path}/m.db", "semantic": True, "model": str(tmp_path)}
    assert findings(settings) == [("memories are searched by words alone", "warning")]
    assert MemorySettings().semantic
