"""What is said of a write is true, wherever the disk stalls and whichever deadline comes first."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from pegboard import Retry, ToolResult, open_host
from pegboard.testing import assert_error, assert_ok
from pegboard_memory.plugin import MemoryPlugin


@attrs.define
class Stall:
    """Where whoever comes by waits until the test lets go, once it is armed; a thread can be held no other way."""

    place: str = ""
    entered: threading.Event = attrs.field(factory=threading.Event)
    let_go: threading.Event = attrs.field(factory=threading.Event)

    def at(self, place: str) -> None:
        if place == self.place:
            self.entered.set()
            assert self.let_go.wait(60)


@pytest.fixture
def stall(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stall]:
    """Connections of SQLite that stall at a place."""
    one = Stall()

    class Stalling(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            word = sql.split()[0]
            one.at(f"before {word}")
            cursor = super().execute(sql, *parameters)
            one.at(f"after {word}")
            return cursor

    connect = partial(sqlite3.connect, factory=Stalling)

    def opening(*arguments: Any, **more: Any) -> sqlite3.Connection:
        one.at("opening")
        return connect(*arguments, **more)

    monkeypatch.setattr(sqlite3, "connect", opening)
    yield one
    one.let_go.set()


def config_of(path: Path, more: dict[str, Any] | None = None) -> dict[str, Any]:
    return {**(more or {}), "plugins": {"memory": {"url": f"sqlite:///{path}", "semantic": False}}}


async def done_of(path: Path) -> set[str]:
    async with open_host(config_of(path), plugins=[MemoryPlugin()]) as host:
        found = assert_ok(await host.session("ada").call("search_memory", {"query": ""})).data["memories"]
    texts = {memory["text"] for memory in found}
    return {name for name, did in (("remember", "new" in texts), ("forget_memory", "old" not in texts)) if did}


def hold_that_it_is_true(name: str, result: ToolResult, done: set[str]) -> None:
    if result.error is None:
        assert name in done
        return
    said = f"{name} answered {result.error!r} {result.error.details}"
    if result.error.details["retry"] == Retry.UNKNOWN:
        assert "executed" not in result.error.details, said
        assert "it is not known whether" in result.error.message, said
    else:
        assert result.error.details["executed"] is False, said
        assert name not in done, said


DEADLINES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "of the caller": ({}, {"timeout_s": 0.4}),
    "of the tool": ({"tools": {name: {"timeout_s": 0.4} for name in ("remember", "forget_memory")}}, {}),
}


@pytest.mark.parametrize("deadline", DEADLINES)
@pytest.mark.parametrize(
    "place", ["before BEGIN", "after BEGIN", "before INSERT", "after INSERT", "before COMMIT", "after COMMIT"]
)
async def test_no_write_is_said_to_have_failed_that_happened(
    tmp_path: Path, stall: Stall, place: str, deadline: str
) -> None:
    configured, options = DEADLINES[deadline]
    results: dict[str, ToolResult] = {}
    async with open_host(config_of(tmp_path / "m.db", configured), plugins=[MemoryPlugin()]) as host:
        ada = host.session("ada")
        old = assert_ok(await ada.call("remember", {"text": "old"})).data["id"]
        stall.place = place

        async def call(name: str, arguments: dict[str, Any]) -> None:
            results[name] = await ada.call(name, arguments, **options)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(call, "remember", {"text": "new"})
            nursery.start_soon(call, "forget_memory", {"id": old})
        stall.let_go.set()
    done = await done_of(tmp_path / "m.db")
    for name, result in results.items():
        hold_that_it_is_true(name, result, done)


async def test_a_commit_that_is_not_confirmed_says_how_to_look(tmp_path: Path, stall: Stall) -> None:
    async with open_host(config_of(tmp_path / "m.db"), plugins=[MemoryPlugin()]) as host:
        ada = host.session("ada")
        assert_ok(await ada.call("remember", {"text": "old"}))
        stall.place = "after COMMIT"
        error = assert_error(await ada.call("remember", {"text": "new"}, timeout_s=0.4), "OUTCOME_UNKNOWN").error
        assert error is not None
        assert error.message == "it is not known whether it was remembered; search the memory first"
        stall.let_go.set()
    assert await done_of(tmp_path / "m.db") == {"remember"}


@pytest.mark.parametrize(
    ("code", "said"), [("SQLITE_IOERR_FSYNC", "OUTCOME_UNKNOWN"), ("SQLITE_FULL", "UPSTREAM_ERROR")]
)
async def test_a_commit_that_fails_is_a_failure_only_where_that_is_certain(
    tmp_path: Path, stall: Stall, monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    at: Callable[[str], None] = stall.at

    def fail(self: Stall, place: str) -> None:
        if place == self.place:
            problem = sqlite3.OperationalError("disk")
            problem.sqlite_errorname = code
            raise problem
        at(place)

    async with open_host(config_of(tmp_path / "m.db"), plugins=[MemoryPlugin()]) as host:
        ada = host.session("ada")
        assert_ok(await ada.call("remember", {"text": "old"}))
        monkeypatch.setattr(Stall, "at", fail)
        stall.place = "before COMMIT"
        assert_error(await ada.call("remember", {"text": "new"}), said)
        stall.place = ""
        assert_ok(await ada.call("remember", {"text": "later"}))


async def test_the_first_call_does_not_pay_for_the_opening(tmp_path: Path, stall: Stall) -> None:
    stall.place = "opening"
    config = config_of(tmp_path / "m.db", {"tools": {"remember": {"timeout_s": 0.2}}})
    async with open_host(config, plugins=[MemoryPlugin()]) as host, trio.open_nursery() as nursery:

        async def remember() -> None:
            assert_ok(await host.session("ada").call("remember", {"text": "patient"}))

        nursery.start_soon(remember)
        await trio.to_thread.run_sync(stall.entered.wait, 20)
        with trio.move_on_after(0.6):
            await trio.sleep_forever()
        stall.let_go.set()


async def test_a_file_that_is_not_open_in_time_did_nothing(tmp_path: Path, stall: Stall) -> None:
    stall.place = "opening"
    async with open_host(config_of(tmp_path / "m.db"), plugins=[MemoryPlugin()]) as host:
        for name, arguments in (("remember", {"text": "new"}), ("forget_memory", {"id": "x"})):
            result = await host.session("ada").call(name, arguments, timeout_s=0.2)
            assert_error(result, "TIMEOUT", reason="preparing", says="nothing was done")
        stall.let_go.set()
    assert await done_of(tmp_path / "m.db") == {"forget_memory"}  # there never was an old one
