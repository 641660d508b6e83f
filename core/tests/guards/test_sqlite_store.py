"""The store in a file: what it answers, by which time, and what several processes make of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard.guards.rate import Buckets
from pegboard.limit_stores.sqlite_store import Reading, SqliteStore


class Clocks:
    """Clocks of a machine that a test sets."""

    def __init__(self) -> None:
        self.wall, self.boot, self.since_boot = 1e9, "first", 100.0

    def __call__(self) -> Reading:
        return Reading(self.wall, self.boot, self.since_boot)

    def go_on(self, seconds: float) -> None:
        self.wall += seconds
        self.since_boot += seconds

    def restart(self, boot: str, off_s: float) -> None:
        self.boot, self.since_boot = boot, 1.0
        self.wall += off_s


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
async def store(tmp_path: Path, clocks: Clocks) -> Any:
    return SqliteStore(str(tmp_path / "limits.sqlite"), clocks)


async def waits(store: SqliteStore, times: int = 1, ttl_s: float = 60) -> list[float]:
    found = [round(await store.claim("c", ttl_s), 6) for _ in range(times)]
    await store.aclose()
    return found


async def test_a_claim_holds_until_its_time_is_over(store: SqliteStore, clocks: Clocks) -> None:
    assert await waits(store, 2) == [0, 60]
    clocks.go_on(59)
    assert await waits(store) == [1]
    clocks.go_on(1)
    assert await waits(store, 2) == [0, 60]


@pytest.mark.parametrize("jump_s", [-1e9, -3600, 3600, 1e9])
async def test_a_wall_clock_that_jumps_changes_nothing_while_the_machine_is_up(
    store: SqliteStore, clocks: Clocks, jump_s: float
) -> None:
    assert await waits(store) == [0]
    clocks.wall += jump_s
    clocks.go_on(20)
    assert await waits(store) == [40]
    clocks.wall -= jump_s
    clocks.go_on(20)
    assert await waits(store) == [20]


@pytest.mark.parametrize(("off_s", "left"), [(0, 60), (25, 35), (100, 0), (-1e9, 60)])
async def test_a_restart_goes_on_by_the_wall_and_never_back(
    store: SqliteStore, clocks: Clocks, off_s: float, left: float
) -> None:
    assert await waits(store) == [0]
    clocks.restart("second", off_s)
    assert await waits(store) == [left]
    clocks.go_on(60)
    assert await waits(store) == [0]


@pytest.mark.parametrize("boot", ["", "first"])
async def test_clocks_that_go_back_lock_nobody_out_for_longer_than_the_limit_says(
    store: SqliteStore, clocks: Clocks, boot: str
) -> None:
    clocks.boot = boot
    assert await waits(store) == [0]
    clocks.wall, clocks.since_boot = 0.0, 0.0
    assert await waits(store) == [60]
    clocks.go_on(60)
    assert await waits(store) == [0]


async def test_another_rule_for_the_same_key_makes_nobody_wait_for_longer_than_it_says(store: SqliteStore) -> None:
    assert await waits(store, ttl_s=86400) == [0]
    assert await waits(store, ttl_s=5) == [5]


@settings(max_examples=15)
@given(
    count=st.integers(1, 5),
    period_s=st.floats(0.5, 100),
    steps=st.lists(st.tuples(st.sampled_from(["ada", "bob"]), st.floats(0, 50)), min_size=1, max_size=20),
)
def test_the_file_and_the_memory_count_alike(
    tmp_path_factory: pytest.TempPathFactory, count: int, period_s: float, steps: list[tuple[str, float]]
) -> None:
    clocks, buckets = Clocks(), Buckets(count, period_s)
    store = SqliteStore(str(tmp_path_factory.mktemp("s") / "limits.sqlite"), clocks)

    async def compare() -> None:
        for user, gap in steps:
            clocks.go_on(gap)
            now = clocks.since_boot
            expected = max(buckets.wait_s(user, now), 0)
            if expected < 1e-6:
                buckets.take(user, now)
            assert await store.take(user, count, period_s) == pytest.approx(expected, abs=1e-5)
        await store.aclose()

    trio.run(compare)


async def test_places_are_taken_given_back_and_served_in_turn(tmp_path: Path, clocks: Clocks) -> None:
    """Stores of three processes; one that waits is before one that comes later."""
    first, second, third = (SqliteStore(str(tmp_path / "l.sqlite"), clocks) for _ in range(3))
    give_back = await first.lease("k", 1, 15)
    assert callable(give_back)
    assert not callable(await second.lease("k", 1, 15))
    give_back()
    assert not callable(await third.lease("k", 1, 15))
    assert not callable(await first.lease("k", 1, 15))
    assert callable(await second.lease("k", 1, 15))
    assert callable(await third.lease("other", 1, 15))
    await second.aclose()  # gives back what it had
    clocks.go_on(2)  # the first two no longer ask
    assert callable(await first.lease("k", 1, 15))
    for one in (first, third):
        await one.aclose()


async def test_a_lost_place_ends_by_itself_and_a_held_one_is_renewed(tmp_path: Path, clocks: Clocks) -> None:
    lost, other = (SqliteStore(str(tmp_path / "l.sqlite"), clocks) for _ in range(2))
    assert callable(await lost.lease("k", 1, 15))
    clocks.go_on(10)
    lost._transact(lost._renew)  # as its thread does
    clocks.go_on(10)
    assert not callable(await other.lease("k", 1, 15))
    lost._places.clear()  # as if it was killed
    clocks.go_on(15)
    assert callable(await other.lease("k", 1, 15))
    for one in (lost, other):
        await one.aclose()


async def test_what_a_cancelled_task_asked_for_is_given_back(store: SqliteStore) -> None:
    gate = trio.CancelScope()
    asked: list[str] = []

    async def ask(method: str, *arguments: Any) -> None:
        asked.append(method)
        await getattr(store, method)(*arguments)

    await store.take("warm", 1, 1)
    with gate:
        async with trio.open_nursery() as nursery:
            # The thread waits in the first, so that the others are asked and not answered yet.
            for asks in (("take", "t", 1, 60.0), ("lease", "l", 1, 15.0), ("claim", "c", 60.0)):
                nursery.start_soon(ask, *asks)
            await trio.lowlevel.checkpoint()
            gate.cancel()
    assert len(asked) == 3
    assert await store.take("t", 1, 60) == 0
    assert await store.claim("c", 60) == 0
    assert callable(await store.lease("l", 1, 15))
    await store.aclose()


async def test_a_wait_that_took_nothing_gives_nothing_back(store: SqliteStore) -> None:
    await store.take("t", 1, 60)
    for _ in range(3):
        with trio.CancelScope() as scope:
            scope.cancel()
            await store.take("t", 1, 60)
    assert await store.take("t", 1, 60) > 59
    await store.aclose()


async def test_a_crowd_does_not_fill_the_file(store: SqliteStore, clocks: Clocks) -> None:
    for number in range(60):
        clocks.go_on(2)
        await store.claim(f"user-{number}", 1)
    assert store._transact(lambda c, now: c.execute("SELECT count(*) FROM expected").fetchone())[0] <= 2
    await store.aclose()


# -- processes

posix = pytest.mark.skipif(os.name != "posix", reason="locks and signals of POSIX")
CHILD = """
import fcntl, sys, trio
from pegboard.limit_stores.sqlite_store import SqliteStore

file, what, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])

async def count(store):
    print(*[await store.take("t", 7, 86400) == 0 and await store.claim("c", 86400) == 0 for _ in range(rounds)])
    print(sum([await store.take("r", 9, 86400) == 0 for _ in range(rounds)]))

def has_place():
    # The kernel knows who runs, whatever the store believes: a lock for each place, of which one must be free.
    for place in (0, 1):
        held = open(f"{file}.{place}", "a")
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return held
        except BlockingIOError:
            held.close()

async def work(store, number):
    for turn in range(rounds):
        while not callable(give_back := await store.lease("k", 2, 15)):
            await trio.sleep(give_back)
        held = has_place()
        print(held is not None)
        await trio.sleep(0.001)
        held.close()
        give_back()

async def hold(store):
    for _ in range(2):
        assert callable(await store.lease("k", 2, 15))
    print("held", flush=True)
    while True:
        await store.take("busy", 10**9, 1)

async def main():
    store = SqliteStore(file)
    try:
        if what == "count":
            await count(store)
        elif what == "work":
            async with trio.open_nursery() as nursery:
                for number in range(2):
                    nursery.start_soon(work, store, number)
        else:
            await hold(store)
    finally:
        await store.aclose()

trio.run(main)
"""


class Children:
    """Processes that share one file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "limits.sqlite"
        self._all: list[subprocess.Popen[str]] = []

    def start(self, what: str, rounds: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", CHILD, str(self.file), what, str(rounds)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._all.append(child)
        return child

    def end(self) -> None:
        for child in self._all:
            child.kill()
            child.wait()
            assert child.stdout is not None
            child.stdout.close()


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    made = Children(tmp_path)
    yield made
    made.end()


def test_three_processes_never_take_more_than_the_limit_and_never_less(children: Children) -> None:
    answers = [child.communicate()[0].split("\n") for child in [children.start("count", 20) for _ in range(3)]]
    claimed = sum(word == "True" for lines in answers for word in lines[0].split())
    taken = sum(int(lines[1]) for lines in answers)
    assert (claimed, taken) == (1, 9)


@posix
def test_three_processes_never_run_more_calls_than_there_are_places(children: Children) -> None:
    for child in [children.start("work", 5) for _ in range(3)]:
        assert child.communicate()[0].split() == ["True"] * 10


@posix
async def test_no_place_is_lost_and_no_file_broken_by_a_process_that_is_killed_while_it_writes(
    children: Children,
) -> None:
    ended = Clocks()
    for _ in range(3):
        child = children.start("hold", 0)
        assert child.stdout is not None
        assert await trio.to_thread.run_sync(child.stdout.readline) == "held\n"
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        before = SqliteStore(str(children.file))
        assert not callable(await before.lease("k", 2, 15))
        await before.aclose()
        # What the clocks say when the leases are over.
        now = before._clocks()
        ended.wall, ended.boot, ended.since_boot = now.wall + 15, now.boot, now.since_boot + 15
        after = SqliteStore(str(children.file), ended)
        given = [await after.lease("k", 2, 15) for _ in range(3)]
        assert [callable(one) for one in given] == [True, True, False]
        await after.aclose()
        after._transact(lambda connection, now: connection.execute("UPDATE clock SET since_boot = 0, wall = 0"))
        after._close_file()
