"""Limits that are counted in a store: which one, what it is asked, and what becomes of a call if it fails."""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from pegboard import CallContext, ConfigError, ErrorCode, ToolResult, load_board, tool
from pegboard.limit_stores.shared import SharedLimits
from pegboard.limit_stores.sqlite_store import SqliteStore

LIMITS: dict[str, dict[str, Any]] = {
    "cooldown": {"cooldown_s": 60},
    "rate_limit": {"rate_limit": "1/minute"},
    "concurrency": {"concurrency": 1},
}


def one(**limits: Any) -> Any:
    return tool(name="it", run="inplace", **limits)(lambda: None)


class Memory:
    """A store that a plugin could bring: the three methods and no more."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.asked: list[tuple[Any, ...]] = []
        self.given_back = 0

    async def _said(self, *asked: Any) -> Any:
        self.asked.append(asked)
        if isinstance(self.answer, Exception):
            raise self.answer
        return await self.answer() if callable(self.answer) else self.answer

    async def take(self, key: str, count: int, period_s: float) -> float:
        answer: float = await self._said("take", key, count, period_s)
        return 0.0 if answer is None else answer

    async def claim(self, key: str, ttl_s: float) -> float:
        answer: float = await self._said("claim", key, ttl_s)
        return 0.0 if answer is None else answer

    async def lease(self, key: str, places: int, ttl_s: float) -> Callable[[], object] | float:
        answer: float = await self._said("lease", key, places, ttl_s)
        return self.give_back if answer is None else answer

    def give_back(self) -> None:
        self.given_back += 1


@pytest.fixture
def counted(hosted: Any, make_plugin: Any) -> Any:
    """`async with counted(store, *tools, **settings) as host`: a host whose limits are counted in that store."""

    @asynccontextmanager
    async def open_one(store: Any, *tools: Any, plugins: Any = (), **settings: Any) -> AsyncIterator[Any]:
        brings = make_plugin("brings", provide_limit_store=store)
        async with hosted(*tools, config=settings, plugins=[brings, *plugins]) as host:
            yield host

    return open_one


@pytest.fixture
def shared(hosted: Any) -> Any:
    """The same with the file of this test."""

    @asynccontextmanager
    async def open_one(*tools: Any, plugins: Any = (), **settings: Any) -> AsyncIterator[Any]:
        async with hosted(*tools, config={"core": {"limit_store": "sqlite", **settings}}, plugins=plugins) as host:
            yield host

    return open_one


# -- which store


@pytest.mark.parametrize(
    ("limit", "asked"),
    [
        ("cooldown", ("claim", 60)),
        ("rate_limit", ("take", 1, 60)),
        ("concurrency", ("lease", 1, 15)),
    ],
)
async def test_each_limit_asks_the_store_of_a_plugin_that_brings_one(counted: Any, limit: str, asked: Any) -> None:
    store = Memory()
    async with counted(store, one(**LIMITS[limit])) as host:
        assert (await host.session("ada").call("it")).ok
    (method, key, *rest) = store.asked[0]
    assert (method, *rest) == asked
    assert re.fullmatch("[a-z0-9-]{1,64}", key)
    assert store.given_back == (limit == "concurrency")


def test_keys_are_of_one_limit_one_tool_and_one_user() -> None:
    from pegboard import Origin
    from pegboard.registry.board import _from

    tools = [one(), _from(one(), Origin("a")), _from(one(), Origin(None, None, "a")), tool(name="other")(lambda: None)]
    key_of = SharedLimits("s", Memory()).key_of
    keys = [
        key_of(limit, each, user) for limit in LIMITS for each in tools for user in (None, "", "ada", "bob", "\ud800")
    ]
    assert len(set(keys)) == len(keys)
    assert all(re.fullmatch("[a-z0-9-]{1,64}", key) for key in keys)


@pytest.mark.parametrize("named", [{"core": {"limit_store": "b"}}, {"limit_store": "b"}])
async def test_of_two_stores_the_configuration_names_one(hosted: Any, make_plugin: Any, named: Any) -> None:
    stores = {name: Memory() for name in "ab"}
    plugins = [make_plugin(name, provide_limit_store=store) for name, store in stores.items()]
    async with hosted(one(cooldown_s=1), config=named, plugins=plugins) as host:
        assert (await host.session().call("it")).ok
    assert [len(store.asked) for store in stores.values()] == [0, 1]


async def test_two_stores_that_nobody_names_are_a_conflict_of_the_tools_that_have_limits(
    hosted: Any, make_plugin: Any
) -> None:
    plugins = [make_plugin(name, provide_limit_store=Memory()) for name in "ab"]
    async with hosted(one(cooldown_s=1), tool(name="free")(lambda: None), plugins=plugins) as host:
        error = (await host.session().call("it")).error
        assert error.code is ErrorCode.CONFLICT
        assert '[core] limit_store = "a"' in error.message
        assert (await host.session().call("free")).ok


async def test_memory_is_each_process_alone_whatever_plugins_bring(hosted: Any, make_plugin: Any) -> None:
    plugins = [make_plugin(name, provide_limit_store=Memory(OSError("no"))) for name in "ab"]
    async with hosted(one(cooldown_s=60), config={"limit_store": "memory"}, plugins=plugins) as host:
        assert host.limit_store is None
        assert [(await host.session().call("it")).ok for _ in range(2)] == [True, False]


@pytest.mark.parametrize("answer", [None, object()])
def test_a_plugin_that_is_named_and_brings_no_store_costs_the_tools_that_have_limits(
    make_plugin: Any, answer: Any
) -> None:
    here = make_plugin("here", provide_tools=[one(cooldown_s=1), tool(name="free")(lambda: None)])
    board = load_board({"limit_store": "a"}, [here, make_plugin("a", provide_limit_store=answer)])
    assert list(board.tools) == ["free"]
    assert "limit store" in board.rejected_tools["it"].why


def test_a_store_that_nobody_brings_is_a_fault_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"limit_store: .*did you mean 'sqlite'"):
        load_board({"core": {"limit_store": "sqlit"}}, [])


def test_a_tool_without_limits_asks_no_plugin_for_a_store_and_imports_nothing_for_it(make_plugin: Any) -> None:
    asked = []

    def provide_limit_store() -> Any:
        asked.append(1)

    board = load_board({}, [make_plugin("a", provide_limit_store=provide_limit_store)])
    board.add(tool(name="free")(lambda: None))
    assert not asked
    board.add(one(cooldown_s=1))
    board.add(tool(name="more", cooldown_s=1)(lambda: None))
    assert asked == [1]


async def test_the_store_of_the_process_is_asked_in_place_and_starts_no_thread(hosted: Any) -> None:
    async with hosted(one(cooldown_s=60, rate_limit="9/s", concurrency=3)) as host:
        before = set(threading.enumerate())
        assert (await host.session().call("it")).ok
        assert set(threading.enumerate()) == before


# -- a store that fails


async def never() -> Any:
    await trio.sleep_forever()


BROKEN_STORES: dict[str, Any] = {
    "raises": OSError("the wire is cut"),
    "answers a text": lambda: _answer("soon"),
    "answers True": lambda: _answer(True),
    "answers NaN": lambda: _answer(float("nan")),
    "answers less than nothing": lambda: _answer(-1.0),
    "never answers": never,
}


async def _answer(value: Any) -> Any:
    return value


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("how", BROKEN_STORES)
async def test_a_store_that_fails_refuses_the_call_and_the_host_is_told_why(
    counted: Any, limit: str, how: str, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "pegboard.notice")
    ran: list[int] = []
    it = tool(name="it", run="inplace", **LIMITS[limit])(lambda: ran.append(1))
    async with counted(Memory(BROKEN_STORES[how]), it) as host:
        for _ in range(2):
            error = (await host.session().call("it")).error
            assert error.code is ErrorCode.RATE_LIMITED
            assert (error.details["reason"], error.details["executed"]) == ("limit_store", False)
            assert error.details["retry"] == "same"
            assert "wire" not in error.message
    assert not ran
    told = [record for record in caplog.records if record.name == "pegboard.notice"]
    assert len(told) == 1
    assert "are refused" in told[0].getMessage()


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("how", BROKEN_STORES)
async def test_where_the_owner_says_so_calls_pass_uncounted_and_that_is_told(
    counted: Any, limit: str, how: str, autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "pegboard.notice")
    async with counted(Memory(BROKEN_STORES[how]), one(**LIMITS[limit]), limit_store_fails="open") as host:
        assert (await host.session().call("it")).ok
        assert (await host.session().call("it")).ok
    assert ["pass uncounted" in record.getMessage() for record in caplog.records] == [True]


async def test_an_answer_that_comes_in_time_is_a_wait_and_no_failure(counted: Any) -> None:
    async with counted(Memory(2.5), one(cooldown_s=60)) as host:
        error = (await host.session().call("it")).error
        assert (error.details["reason"], error.details["retry_after_s"]) == ("cooldown", 2.5)


def _cannot_open(file: Path) -> None:
    file.parent.parent.mkdir(parents=True, exist_ok=True)
    file.parent.write_text("a file where the folder should be")


def _lock(file: Path) -> None:
    make(file)
    other = sqlite3.connect(file)
    other.execute("BEGIN EXCLUSIVE")
    LOCKS.append(other)


def make(file: Path) -> None:
    store = SqliteStore(str(file))
    store._transact(lambda connection, now: None)
    store._close_file()


LOCKS: list[sqlite3.Connection] = []


def _change(statement: str) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        make(file)
        connection = sqlite3.connect(file)
        connection.execute(statement)
        connection.commit()
        connection.close()

    return change


def _write(content: bytes) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        file.parent.mkdir(parents=True)
        file.write_bytes(content)

    return write


BROKEN_FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a folder that cannot be made": (_cannot_open, "cannot be opened"),
    "locked": (_lock, "locked by another program"),
    "no database": (_write(b"x" * 5000), "not a database"),
    "torn": (_write(b"SQLite format 3\0" + b"\xff" * 5000), "damaged"),
    "of another program": (_change("PRAGMA user_version = 99"), "another program"),
    "a time that is a text": (_change("UPDATE clock SET now = 'soon'"), "damaged"),
    "a time that is not finite": (_change("UPDATE clock SET now = 9e999"), "damaged"),
    "a table less": (_change("DROP TABLE expected"), "damaged"),
}


@pytest.mark.parametrize("how", BROKEN_FILES)
async def test_a_file_that_cannot_be_counted_in_refuses_and_says_why(
    shared: Any, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pegboard.limit_stores.sqlite_store.LOCKED_S", 0.05)
    caplog.set_level(logging.WARNING, "pegboard.notice")
    break_it, why = BROKEN_FILES[how]
    async with shared(one(cooldown_s=60)) as host:
        file = Path(host.board.limit_stores.choose()[1].where)
        break_it(file)
        try:
            error = (await host.session().call("it")).error
            assert error.details["reason"] == "limit_store"
            assert str(file) not in error.message
            assert why in caplog.text
            assert str(file) in caplog.text
        finally:
            while LOCKS:
                LOCKS.pop().close()


async def test_a_full_disk_refuses_and_what_comes_after_is_counted(
    shared: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "pegboard.notice")
    async with shared(one(rate_limit="2/hour")) as host:
        session, store = host.session(), host.limit_store._store

        def fill(connection: sqlite3.Connection, now: float) -> None:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages}")
            for number in range(10_000):
                connection.execute("INSERT INTO turns VALUES (NULL, ?, '', 9e9)", (f"{number}" * 50,))

        with pytest.raises(Exception, match="its disk is full"):
            await store._ask(fill, lambda answer: None)
        assert (await session.call("it")).ok
        assert (await session.call("it")).ok
        assert (await session.call("it")).error.details["reason"] == "rate_limit"


async def test_a_file_that_was_moved_away_is_made_anew(shared: Any) -> None:
    async with shared(one(cooldown_s=60)) as host:
        session = host.session()
        assert [(await session.call("it")).ok for _ in range(2)] == [True, False]
        file = Path(host.limit_store._store.where)
        for part in file.parent.glob("limits.sqlite*"):
            part.unlink()
        assert [(await session.call("it")).ok for _ in range(2)] == [True, False]
        assert file.exists()


# -- what guards hold, wherever it is counted


async def test_hosts_of_one_user_share_cooldown_rate_and_places(shared: Any) -> None:
    begun, end = trio.Event(), trio.Event()

    @tool(concurrency=1, timeout_s=0.2)
    async def work() -> None:
        begun.set()
        with trio.CancelScope(shield=True):
            await end.wait()

    def rare() -> Any:
        return tool(name="rare", run="inplace", cooldown_s=60)(lambda: None)

    def often() -> Any:
        return tool(name="often", run="inplace", rate_limit="3/hour")(lambda: None)

    async with shared(rare(), often(), work) as first, shared(rare(), often(), work) as second:
        ada, also_ada, bob = first.session("ada"), second.session("ada"), second.session("bob")
        assert [(await each.call("rare")).ok for each in (ada, also_ada, bob)] == [True, False, True]
        assert [(await each.call("often")).ok for each in (ada, also_ada, ada, also_ada, bob)] == [True] * 3 + [
            False,
            True,
        ]
        assert "repeat the call after" in also_ada.check("rare").text
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ada.call, "work")
            await begun.wait()
            assert "waits until one of 1 running calls ends" in bob.check("work").text
            assert (await bob.call("work")).error.details["reason"] == "concurrency"
            end.set()
        assert (await bob.call("work")).ok
    file = Path(first.board.limit_stores.choose()[1].where)
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700


async def test_a_dry_run_takes_nothing_and_makes_no_file(shared: Any) -> None:
    async with shared(one(cooldown_s=60, rate_limit="2/hour")) as host:
        session = host.session("ada")
        for _ in range(2):
            assert session.check("it").data == {"would_run": True, "asks": []}
        assert not Path(host.limit_store._store.where).exists()
        assert (await session.call("it")).ok
        assert [ask["guard"] for ask in session.check("it").data["asks"]] == ["cooldown"]


async def test_a_store_that_cannot_look_ahead_is_said_to_be_asked(counted: Any) -> None:
    async with counted(Memory(), one(cooldown_s=60, concurrency=1)) as host:
        asks = host.session().check("it").data["asks"]
        assert {ask["guard"]: ask["says"] for ask in asks} == dict.fromkeys(
            ("cooldown", "concurrency"), "is counted in 'brings', which is asked when the call runs"
        )


async def test_mode_observe_counts_in_a_store_too(hosted: Any, listening: Any, ear: Any) -> None:
    config = {"limit_store": "sqlite", "observe": ["cooldown"]}
    async with hosted(one(cooldown_s=60), config=config, plugins=[listening]) as host:
        assert [(await host.session("ada").call("it")).ok for _ in range(3)] == [True] * 3
        said = [verdict.verdict for each in ear.outcomes for verdict in each.verdicts if verdict.guard == "cooldown"]
        assert said == ["passed", "would_refuse", "would_refuse"]


async def test_calls_of_one_process_get_places_of_a_store_in_the_order_they_came(
    counted: Any, autojump_clock: MockClock
) -> None:
    """Only the first in line asks, however many places of the process are free."""
    order: list[int] = []
    store = Memory(0.05)

    @tool(concurrency=3)
    async def work(n: int) -> None:
        order.append(n)

    async with counted(store, work) as host, trio.open_nursery() as nursery:
        for n in range(9):
            nursery.start_soon(host.session(str(n)).call, "work", {"n": n})
            await wait_all_tasks_blocked()
        await trio.sleep(1)
        assert not order
        assert len(store.asked) <= 22
        store.answer = None
    assert order == list(range(9))
    assert store.given_back == 9


async def test_a_wait_for_a_place_that_is_cancelled_gives_back_that_of_the_process(
    counted: Any, autojump_clock: MockClock
) -> None:
    store = Memory(0.05)
    async with counted(store, one(concurrency=1, timeout_s=5)) as host:
        session = host.session()
        with trio.move_on_after(1):
            await session.call("it")
        assert (await session.call("it", timeout_s=1)).error.code is ErrorCode.TIMEOUT
        assert (await session.call("it")).error.details["reason"] == "concurrency"
        store.answer = OSError("no")
        assert (await session.call("it")).error.details["reason"] == "limit_store"
        store.answer = None
        assert (await session.call("it")).ok
    assert store.given_back == 1


async def test_a_nested_call_that_would_wait_for_itself_is_refused_at_once(counted: Any) -> None:
    store = Memory()

    @tool(concurrency=2)
    async def work(context: CallContext, n: int) -> ToolResult:
        store.answer = 0.05  # all places are taken, one of them by this call
        return await context.call("work", {"n": n - 1}) if n else ToolResult.text("the bottom")

    async with counted(store, work) as host:
        assert (await host.session().call("work", {"n": 1})).error.details["reason"] == "recursion"
        store.answer = None
        assert (await host.session().call("work", {"n": 0})).ok
    assert store.given_back == 2


async def test_a_host_closes_its_store_and_opens_it_again(make_plugin: Any) -> None:
    from pegboard import open_host

    board = load_board({"limit_store": "sqlite"}, [make_plugin("here", provide_tools=[one(cooldown_s=60)])])
    threads = threading.active_count()
    for passes in (True, False):
        async with open_host(board) as host:
            assert (await host.session().call("it")).ok is passes
        assert threading.active_count() == threads


def test_doctor_says_what_is_shared_and_what_keeps_it_from_being(make_plugin: Any) -> None:
    def said(config: Any, *limits: Any) -> dict[str, Any]:
        board = load_board(config, [make_plugin("here", provide_tools=[one(**each) for each in limits])])
        return {found.what: found for found in board.findings() if "limit" in found.what}

    assert said({"limit_store": "sqlite"}, {}) == {}
    assert said({}, {"cooldown_s": 1})["limits are not shared"].severity == "note"
    found = said({"limit_store": "sqlite"}, {"cooldown_s": 1})["limits are shared"]
    assert found.severity == "note"
    file = Path(re.findall(r"in (\S+limits\.sqlite)", found.why)[0])
    assert not file.exists()
    _write(b"x" * 5000)(file)
    broken = said({"limit_store": "sqlite"}, {"cooldown_s": 1})["limits cannot be counted"]
    assert broken.severity == "error"
    assert "move it away" in broken.fix


def test_an_untrusted_file_neither_chooses_where_limits_are_counted_nor_lets_them_fail_open(tmp_path: Path) -> None:
    from pegboard.config import load_config

    for said in ('limit_store = "memory"', 'limit_store_fails = "open"'):
        (tmp_path / "pegboard.toml").write_text(f"[core]\n{said}\n")
        with pytest.raises(ConfigError, match="not trusted"):
            load_config(cwd=tmp_path, user_dir=tmp_path / "u", state_dir=tmp_path / "s", environ={})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"core": 3}, "core: expected a table"),
        ({"core": {"tools": {}}}, "core.tools"),
        ({"core": {"timeout_s": 1}, "timeout_s": 2}, r"timeout_s: expected at the top or under \[core\], got both"),
        ({"core": {"limit_stor": "sqlite"}}, "did you mean 'limit_store'"),
        ({"core": {"limit_store_fails": "ajar"}}, "limit_store_fails"),
    ],
)
def test_the_table_core_is_the_top_in_another_place(given: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_board(given, [])


def test_a_variable_names_the_table_core_or_the_top(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PEGBOARD_CORE__LIMIT_STORE", "PEGBOARD_LIMIT_STORE"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "sqlite")
            assert load_board({}, []).config.core.limit_store == "sqlite"
