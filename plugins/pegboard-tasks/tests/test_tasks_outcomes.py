"""What is said of a write is true, wherever the database stalls and whichever deadline comes first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
import trio

import pegboard_tasks.plugin
from pegboard import Retry, ToolResult, open_host
from pegboard.testing import assert_error, assert_ok
from pegboard_tasks import _operations as operations
from pegboard_tasks._postgresql import PostgresDatabase
from pegboard_tasks._sqlite import SqliteFile
from pegboard_tasks._threads import Write

CALLS = {
    "add_task": {"title": "new"},
    "complete_task": {"task_identifier": "to complete"},
    "delete_task": {"task_identifier": "to delete"},
    "update_task": {"task_identifier": "to rename", "new_title": "renamed"},
}
OLD = ("to complete", "to delete", "to rename")
FUNCTIONS = ("add", "complete", "remove", "rename")


@attrs.define
class Stall:
    """A place where whoever comes by waits until the test lets go; a thread can be held no other way."""

    entered: threading.Event = attrs.field(factory=threading.Event)
    let_go: threading.Event = attrs.field(factory=threading.Event)

    def __call__(self) -> None:
        self.entered.set()
        assert self.let_go.wait(60)

    def before(self, monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> None:
        """Stall before a function does its work."""
        work = getattr(where, name)
        monkeypatch.setattr(where, name, lambda *args, **more: (self(), work(*args, **more))[1])

    def after(self, monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> None:
        """Stall when it is done, and nobody was told."""
        work = getattr(where, name)
        monkeypatch.setattr(where, name, lambda *args, **more: (work(*args, **more), self())[0])


@pytest.fixture
def stall() -> Iterator[Stall]:
    one = Stall()
    yield one
    one.let_go.set()


def _opening(stall: Stall, patch: pytest.MonkeyPatch) -> None:
    stall.before(patch, SqliteFile, "_ready")
    stall.before(patch, PostgresDatabase, "_ready")


def _beginning(stall: Stall, patch: pytest.MonkeyPatch) -> None:
    stall.before(patch, SqliteFile, "begin_writing")
    stall.before(patch, PostgresDatabase, "_begin")


def _working(stall: Stall, patch: pytest.MonkeyPatch) -> None:
    for name in FUNCTIONS:
        stall.before(patch, operations, name)


def _worked(stall: Stall, patch: pytest.MonkeyPatch) -> None:
    for name in FUNCTIONS:
        stall.after(patch, operations, name)


def _committing(stall: Stall, patch: pytest.MonkeyPatch) -> None:
    _around_commit(patch, lambda commit: (stall(), commit()))


def _committed(stall: Stall, patch: pytest.MonkeyPatch) -> None:
    _around_commit(patch, lambda commit: (commit(), stall()))


def _around_commit(patch: pytest.MonkeyPatch, around: Any) -> None:
    of_sqlite, of_postgresql = SqliteFile.commit, Write.commit
    patch.setattr(SqliteFile, "commit", lambda self, connection: around(lambda: of_sqlite(self, connection)))
    patch.setattr(Write, "commit", lambda self, commit: of_postgresql(self, lambda: around(commit)))


STALLS = {
    "opening": _opening,
    "beginning": _beginning,
    "working": _working,
    "worked": _worked,
    "committing": _committing,
    "committed": _committed,
}
DEADLINES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "of the database": ({"plugins": {"tasks": {"wait_s": 0.1}}}, {"timeout_s": 0.8}),
    "of the caller": ({}, {"timeout_s": 0.3}),
    "of the tool": ({"tools": {name: {"timeout_s": 0.3} for name in CALLS}}, {}),
}


PATIENT_S = 2.0


def config_of(url: str, more: dict[str, Any]) -> dict[str, Any]:
    return {**more, "plugins": {"tasks": {"url": url, **more.get("plugins", {}).get("tasks", {})}}}


async def done_of(url: str) -> set[str]:
    """Which of the calls happened, as a host finds it that knows nothing of them."""
    async with open_host(config_of(url, {}), plugins=[pegboard_tasks.plugin]) as host:
        data = assert_ok(await host.session("ada").call("list_tasks")).data
    there = {task["title"]: task["completed"] for task in data["tasks"]}
    happened = {"add_task": "new" in there, "delete_task": "to delete" not in there, "update_task": "renamed" in there}
    happened["complete_task"] = there["to complete"]
    return {name for name, did in happened.items() if did}


def hold_that_it_is_true(name: str, result: ToolResult, done: set[str]) -> None:
    """An answer that says for certain what became of a call is right; any other says that it does not know."""
    if result.error is None:
        assert name in done, f"{name} answered that it was done"
        return
    executed, retry = result.error.details.get("executed"), result.error.details["retry"]
    said = f"{name} answered {result.error!r} {result.error.details}"
    if retry == Retry.UNKNOWN:
        assert executed is None, said
        assert "it is not known whether" in result.error.message, said
    else:
        assert executed is False, said
        assert name not in done, said


@pytest.mark.parametrize("deadline", DEADLINES)
@pytest.mark.parametrize("place", STALLS)
async def test_no_write_is_said_to_have_failed_that_happened(
    database_url: str, place: str, deadline: str, stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured, options = DEADLINES[deadline]
    if place == "opening" and "tools" in configured:  # then its call goes on, and has to be done in that time
        configured = {"tools": {name: {"timeout_s": PATIENT_S} for name in CALLS}}
    results: dict[str, ToolResult] = {}
    with monkeypatch.context() as patch:
        async with open_host(config_of(database_url, configured), plugins=[pegboard_tasks.plugin]) as host:
            ada = host.session("ada")
            if place != "opening":
                for title in OLD:
                    assert_ok(await ada.call("add_task", {"title": title}))
            STALLS[place](stall, patch)

            async def call(name: str) -> None:
                results[name] = await ada.call(name, CALLS[name], **options)
                if len(results) == len(CALLS):
                    nursery.cancel_scope.cancel()

            async with trio.open_nursery() as nursery:
                for name in CALLS:
                    nursery.start_soon(call, name)
                if place == "opening" and "timeout_s" not in options:  # the tools' own deadline stands still there
                    await trio.to_thread.run_sync(stall.entered.wait, 20)
                    await trio.sleep(1.2 * PATIENT_S)
                    stall.let_go.set()
            stall.let_go.set()
    if place == "opening":
        expected = {True} if "timeout_s" not in options else {False}
        assert {results["add_task"].ok} == expected
        return
    done = await done_of(database_url)
    for name, result in results.items():
        hold_that_it_is_true(name, result, done)


async def test_the_first_call_does_not_pay_for_the_opening(
    database_url: str, stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    _opening(stall, monkeypatch)
    config = {"plugins": {"tasks": {"url": database_url, "wait_s": 0.1}}, "tools": {"add_task": {"timeout_s": 0.2}}}
    async with open_host(config, plugins=[pegboard_tasks.plugin]) as host, trio.open_nursery() as nursery:

        async def add() -> None:
            assert_ok(await host.session("ada").call("add_task", {"title": "patient"}))

        nursery.start_soon(add)
        await trio.to_thread.run_sync(stall.entered.wait, 20)
        with trio.move_on_after(0.6):
            await trio.sleep_forever()
        stall.let_go.set()


async def test_a_database_that_is_not_open_in_time_did_nothing(
    database_url: str, stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    _opening(stall, monkeypatch)
    config = {"plugins": {"tasks": {"url": database_url}}}
    async with open_host(config, plugins=[pegboard_tasks.plugin]) as host:
        for name, arguments in {**CALLS, "list_tasks": {}}.items():
            result = await host.session("ada").call(name, arguments, timeout_s=0.2)
            error = assert_error(result, "TIMEOUT", reason="preparing", says="nothing was done").error
            assert error is not None
            assert error.details["executed"] is False
        stall.let_go.set()


async def test_a_commit_that_is_not_confirmed_says_how_to_look(
    database_url: str, stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        async with open_host(config_of(database_url, {}), plugins=[pegboard_tasks.plugin]) as host:
            ada = host.session("ada")
            assert_ok(await ada.call("add_task", {"title": "old"}))
            _committed(stall, patch)
            error = assert_error(await ada.call("add_task", {"title": "new"}, timeout_s=0.5), "OUTCOME_UNKNOWN").error
            assert error is not None
            assert error.message == "it is not known whether the task was created; list the tasks first"
            assert "executed" not in error.details
            stall.let_go.set()


async def test_what_nobody_waits_for_any_more_is_called_off_by_a_server_too(
    postgresql: Any, stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgresql.new_database()
    with monkeypatch.context() as patch:
        async with open_host(config_of(url, {}), plugins=[pegboard_tasks.plugin]) as host:
            ada = host.session("ada")
            for title in OLD:
                assert_ok(await ada.call("add_task", {"title": title}))
            _worked(stall, patch)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ada.call, "add_task", CALLS["add_task"])
                await trio.to_thread.run_sync(stall.entered.wait, 20)
                nursery.cancel_scope.cancel()
            stall.let_go.set()
    assert await done_of(url) == set()
