"""Writing: what is kept of each call, who pays for it, and what becomes of calls when the file cannot be written."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import CallContext, ErrorCode, Stage, Timings, ToolError, Verdict, hookimpl, open_host, tool
from pegboard_audit import AuditReader, CallQuery, _file, _writer, plugin
from pegboard_audit._database import APPLICATION_ID, COLUMNS, INSERT, ROWS_AT_ONCE, open_for_writing
from pegboard_audit._rows import MAX_TEXT, row_of
from pegboard_audit._writer import AuditWriter
from pegboard_audit.settings import AuditDbSettings


@tool(run="inplace", read_only=True)
def halve(number: float) -> float:
    """Halve a number."""
    return number / 2


@tool
async def quarter(ctx: CallContext, number: float) -> float:
    """Halve a number twice."""
    half = (await ctx.call("halve", {"number": number})).data["result"]
    return (await ctx.call("halve", {"number": half})).data["result"]


@tool(run="inplace", secrets=["DOOR"])
def knock(word: str) -> str:
    """Knock."""
    return "who is there?"


def config(path: Path, **more: Any) -> dict[str, Any]:
    return {"plugins": {"audit_db": {"file": str(path), **more}}}


def kept(path: Path) -> list[Any]:
    with AuditReader(path) as reader:
        return list(reader.calls())


async def call_all(path: Path, *calls: tuple[str, Any], **more: Any) -> list[Any]:
    """The results of calls on a host of their own, which has ended."""
    async with open_host(config(path, **more), plugins=[plugin]) as host:
        for one in (halve, quarter, knock):
            host.add(one)
        session = host.session(user_id="ada", channel="test")
        return [await session.call(name, arguments) for name, arguments in calls]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.sqlite3"


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Any:
    """What people are told: the messages of the logger of audits."""
    return lambda: [one.getMessage() for one in caplog.records if one.name == "pegboard.audit"]


async def test_every_call_is_kept_with_who_what_and_how_it_ended(path: Path) -> None:
    await call_all(path, ("halve", {"number": 4}), ("halve", {"number": "x"}), ("nope", {}), (7, None))
    done, wrong, missing, no_name = kept(path)
    assert (done.name, done.user_id, done.channel, done.status, done.code) == ("halve", "ada", "test", "ok", None)
    assert done.source == "the program"
    assert done.timings.keys() == set(Timings.STAGES)
    assert done.timings["execute"] > 0
    assert (wrong.status, wrong.code) == ("error", "INVALID_INPUT")
    assert (missing.name, missing.code, missing.source) == ("nope", "NOT_FOUND", None)
    assert (no_name.name, no_name.code) == (None, "INVALID_INPUT")
    assert [one.arguments for one in (done, wrong, missing, no_name)] == [None] * 4


async def test_nested_calls_name_the_call_that_made_them(path: Path) -> None:
    await call_all(path, ("quarter", {"number": 8}))
    first, second, outer = kept(path)  # a call is written when it ends
    assert outer.parent_id is None
    assert {first.parent_id, second.parent_id} == {outer.id}
    assert {one.session for one in (first, second)} == {outer.session}


async def test_arguments_are_kept_where_they_are_asked_for_with_secrets_masked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOOR", "hunter2")
    await call_all(path, ("knock", {"word": "say hunter2 now"}), arguments=True)
    assert [one.arguments for one in kept(path)] == [{"word": "say *** now"}]
    assert b"hunter2" not in b"".join(one.read_bytes() for one in path.parent.iterdir())


async def test_a_call_is_found_by_the_trace_that_it_belongs_to_and_says_who_answered(path: Path) -> None:
    from pegboard.trace import carrier, following

    came, own = (f"00-0af7651916cd43dd8448eb211c80319c-{span}-01" for span in ("b7ad6b7169203331", "00f067aa0ba902b7"))
    with following({"traceparent": came}):
        token = carrier.set({"traceparent": own})  # as what makes spans does
        try:
            await call_all(path, ("quarter", {"number": 8}))
        finally:
            carrier.reset(token)
    for call in kept(path):
        assert call.trace_id == "0af7651916cd43dd8448eb211c80319c"
        assert (call.span_id, call.parent_span_id) == (own.split("-")[2], came.split("-")[2])
        assert call.process == os.getpid()


async def test_a_call_that_another_board_serves_lies_below_that_of_its_client(path: Path, tmp_path: Path) -> None:
    """Both write into the same file; nobody makes spans, the trace is handed on."""
    from pegboard.trace import following

    pytest.importorskip("pegboard_mcp", reason="pegboard_mcp is not installed")
    pytest.importorskip("pegboard_calculator", reason="pegboard_calculator is not installed")
    served = tmp_path / "served.toml"
    served.write_text(f"[plugins.audit_db]\nfile = '{path}'\n")
    words = [
        "-m",
        "pegboard",
        "--config",
        str(served),
        "--plugin",
        "calculator",
        "--plugin",
        "audit_db",
        "--plugin",
        "mcp",
    ]
    server = {"command": sys.executable, "args": [*words, "serve"], "prefix": "far_"}
    settings = {"plugins": {**config(path)["plugins"], "mcp": {"servers": {"far": server}}}}
    with trio.fail_after(60), following({"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}):
        async with open_host(settings, plugins=["mcp", "audit_db"]) as host:
            await host.wait_for_sources()
            result = await host.session().call("far_calculator", {"expression": "2+2"}, id="far")
    assert result.ok, result
    with AuditReader(path) as reader:
        (call,) = reader.calls(CallQuery(id="far"))
        tree = reader.tree(call)
    assert [(one.depth, one.call.name) for one in tree] == [(0, "far_calculator"), (1, "calculator")]
    assert tree[1].call.process not in (None, os.getpid())


async def test_the_files_are_their_owners_alone(path: Path) -> None:
    async with open_host(config(path), plugins=[plugin]) as host:
        host.add(halve)
        await host.session().call("halve", {"number": 4})
        with trio.fail_after(10):
            while not path.with_name(path.name + "-wal").exists():  # a thread makes it
                await trio.sleep(0.01)
        modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()}
    assert set(modes.values()) == {0o600}
    assert {path.name, path.name + "-wal"} <= modes.keys()


async def test_a_host_that_is_not_called_makes_no_file_and_no_thread(path: Path) -> None:
    before = threading.active_count()
    async with open_host(config(path), plugins=[plugin]):
        assert threading.active_count() == before
    assert not path.exists()


def test_a_board_that_calls_nothing_imports_no_sqlite() -> None:
    code = "import sys, pegboard; pegboard.load_board({}, ['audit_db']).tools; assert 'sqlite3' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


async def test_where_it_is_not_enabled_nobody_observes(path: Path) -> None:
    async with open_host(config(path, enabled=False), plugins=[plugin]) as host:
        assert host.runtime.observers == ()
        host.add(halve)
        await host.session().call("halve", {"number": 4})
    assert not path.exists()


async def test_what_a_call_waits_for_is_a_note_in_a_queue(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are made, and the file is opened and written, in the one thread of the writer."""
    threads = {"row_of": set(), "open_for_writing": set()}
    for name, seen in threads.items():
        own = getattr(_file, name)
        noting = lambda *given, own=own, seen=seen, **more: seen.add(threading.get_ident()) or own(*given, **more)  # noqa: E731
        monkeypatch.setattr(_file, name, noting)
    await call_all(path, *[("halve", {"number": 4})] * 3)
    assert len(kept(path)) == 3
    assert len(threads["row_of"] | threads["open_for_writing"]) == 1
    assert threading.get_ident() not in threads["row_of"]


async def test_calls_that_come_together_are_committed_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []

    def opened(*given: Any, **more: Any) -> sqlite3.Connection:
        connection = open_for_writing(*given, **more)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(_file, "open_for_writing", opened)
    monkeypatch.setattr(_writer, "GATHER_S", 60)  # until the host ends, which hurries
    await call_all(path, *[("halve", {"number": number}) for number in range(203)])
    inserts = [number for number, one in enumerate(statements) if one.startswith("INSERT")]
    assert len(kept(path)) == 203
    assert len(inserts) == 203 // ROWS_AT_ONCE + 203 % ROWS_AT_ONCE  # as many rows a statement as there may be
    assert "COMMIT" not in statements[inserts[0] : inserts[-1]]


TEXTS = st.none() | st.text(st.characters(exclude_categories=()), max_size=300)


@settings(max_examples=100)
@given(TEXTS, TEXTS, st.floats(0, 1e7), st.lists(st.floats(0, 1e7), min_size=8, max_size=8), TEXTS)
def test_any_text_a_caller_chooses_is_kept_and_read_again(
    text: str | None, other: str | None, duration: float, took: list[float], guard: str | None
) -> None:
    """Halves of surrogate pairs, NUL, what a terminal would obey: no text costs a row, or the rows beside it."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        from pegboard_audit._database import _SCHEMA
        from pegboard_audit.reading import _record, _select_of

        for statement in _SCHEMA:
            connection.execute(statement)
        timings = dict(zip(Timings.STAGES, took, strict=True))
        verdicts = (Verdict(guard or "", Stage.LIMIT, "passed", 0.5),)
        call = (text or "", other, 1.0, duration, text, other, "s", text, other, "error", "TIMEOUT", text)
        note = (*call, timings, verdicts, None, None)
        connection.execute(INSERT, row_of(note))
        read = _record(connection.execute(_select_of(COLUMNS)).fetchone())
    finally:
        connection.close()

    def stored(value: str | None) -> str | None:
        return None if value is None else value[:MAX_TEXT].encode("utf-8", "backslashreplace").decode()

    assert (read.name, read.user_id, read.parent_id, read.reason) == (
        stored(text),
        stored(other),
        stored(other),
        stored(text),
    )
    assert read.timings == timings
    assert read.verdicts[0].guard == (guard or "").encode("utf-8", "backslashreplace").decode()


# -- bounds


async def test_what_is_too_old_is_removed(path: Path) -> None:
    connection = open_for_writing(path, make_folder=False)
    row = row_of(("old", None, 1.0, 1.0, "halve", None, "s", None, None, "ok", None, None, {}, (), None, None))
    connection.executemany(INSERT, [row] * 3)
    connection.close()
    await call_all(path, ("halve", {"number": 4}), days=1)
    assert [one.name for one in kept(path)] == ["halve"]


async def test_a_file_that_is_too_large_loses_its_oldest_calls_and_shrinks(path: Path) -> None:
    connection = open_for_writing(path, make_folder=False)
    now = time.time()
    rows = [
        row_of((f"{n}", None, now, 1.0, "x" * 190, None, "s", None, None, "ok", None, None, {}, (), None, None))
        for n in range(8_000)
    ]
    connection.execute("BEGIN")
    connection.executemany(INSERT, rows)
    connection.execute("COMMIT")
    connection.close()
    assert path.stat().st_size > 2e6
    await call_all(path, ("halve", {"number": 4}), megabytes=1)
    calls = kept(path)
    assert calls[-1].name == "halve"
    assert calls[-2].id == "7999"
    assert len(calls) > 1_000
    await call_all(path, ("halve", {"number": 4}), megabytes=1)
    assert path.stat().st_size < 1e6


# -- trouble

NOTHING_WAITS = {"AGAIN_S": 0.01, "GATHER_S": 0.0, "CLOSE_S": 0.5}


@pytest.fixture
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NOTHING_WAITS.items():
        monkeypatch.setattr(_writer, name, value)


def foreign(path: Path) -> str:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (name TEXT)")
    connection.close()
    return "something else"


def newer(path: Path) -> str:
    connection = open_for_writing(path, make_folder=False)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    return "newer version"


def damaged(path: Path) -> str:
    path.write_bytes(b"no database at all" * 100)
    return "is not a database"


def a_folder(path: Path) -> str:
    path.mkdir()
    return "Is a directory"


TROUBLES = [foreign, newer, damaged, a_folder]


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.usefixtures("_hurry")
async def test_a_file_that_cannot_be_used_is_told_and_left_as_it_is_and_calls_go_on(
    path: Path, told: Any, trouble: Any
) -> None:
    words = trouble(path)
    before = path.read_bytes() if path.is_file() else None
    results = await call_all(path, *[("halve", {"number": 4})] * 5)
    assert [one.ok for one in results] == [True] * 5
    (once,) = told()
    assert words in once
    assert "calls go on" in once
    assert before is None or path.read_bytes() == before


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.usefixtures("_hurry")
async def test_where_it_fails_closed_no_call_runs_that_could_not_be_written(path: Path, trouble: Any) -> None:
    trouble(path)
    ran: list[int] = []

    @tool(run="inplace")
    def mark() -> None:
        """Leave a mark."""
        ran.append(1)

    async with open_host(config(path, fails="closed"), plugins=[plugin]) as host:
        host.add(mark)
        result = await host.session().call("mark")
    assert result.error is not None
    assert (result.error.code, result.error.details["reason"]) == (ErrorCode.FORBIDDEN, "audit")
    assert ran == []
    assert str(path.parent) not in result.text


@pytest.mark.usefixtures("_hurry")
async def test_a_host_that_fails_closed_goes_on_once_the_file_can_be_written(path: Path) -> None:
    damaged(path)
    async with open_host(config(path, fails="closed"), plugins=[plugin]) as host:
        host.add(halve)
        session = host.session()
        assert not (await session.call("halve", {"number": 4})).ok
        path.unlink()
        with trio.fail_after(20):
            while not (await session.call("halve", {"number": 4})).ok:
                await trio.sleep(0.01)
    assert [one.status for one in kept(path)][-1] == "ok"
    assert any(one.reason == "audit" for one in kept(path))


@pytest.mark.usefixtures("_hurry")
async def test_each_full_disk_is_told_once_with_its_end_and_what_waits_is_written_later(
    path: Path, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = False
    failures = 0

    def opened(*given: Any, **more: Any) -> sqlite3.Connection:
        nonlocal failures
        connection = open_for_writing(*given, **more)
        if full:
            failures += 1
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLITE_FULL, as of a disk
        return connection

    monkeypatch.setattr(_file, "open_for_writing", opened)
    async with open_host(config(path), plugins=[plugin]) as host:
        host.add(halve)
        session = host.session()
        long = "x" * 190
        for outage in (1, 2):
            full, failures = True, 0
            path.unlink(missing_ok=True)  # so that it is opened anew
            for _ in range(300):
                await session.call(long)
            with trio.fail_after(20):
                while failures < 3:
                    await trio.sleep(0.01)
                full = False
                while len(told()) < 2 * outage:
                    await trio.sleep(0.01)
            assert len(kept(path)) == 300
    for said in (told()[:2], told()[2:]):
        assert "its disk is full" in said[0]
        assert "written down again" in said[1]
        assert "no call is missing" in said[1]


@pytest.mark.usefixtures("_hurry")
async def test_a_lock_that_goes_costs_nothing_and_is_not_told(path: Path, told: Any) -> None:
    open_for_writing(path, make_folder=False).close()
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN IMMEDIATE")
    threading.Timer(0.1, holder.execute, ["COMMIT"]).start()
    assert [one.ok for one in await call_all(path, ("halve", {"number": 4}))] == [True]
    holder.close()
    assert len(kept(path)) == 1
    assert told() == []


@pytest.mark.usefixtures("_hurry")
async def test_a_lock_that_stays_holds_no_call_and_the_end_of_the_host_for_a_bounded_time(
    path: Path, told: Any
) -> None:
    open_for_writing(path, make_folder=False).close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with trio.fail_after(30):
        assert [one.ok for one in await call_all(path, ("halve", {"number": 4}))] == [True]
    holder.close()
    (missing,) = told()
    assert "a call is missing" in missing
    assert "locked" in missing


@pytest.mark.usefixtures("_hurry")
async def test_notes_that_cannot_be_written_are_bounded_and_the_others_counted(
    path: Path, told: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "pegboard.audit")  # a person knows of it by now
    monkeypatch.setattr(_writer, "MAX_WAITING", 10)
    monkeypatch.setattr(_writer, "MAX_BATCH", 5)
    damaged(path)
    await call_all(path, *[("halve", {"number": 4})] * 50)
    assert "50 calls are missing" in told()[-1]


@pytest.mark.usefixtures("_hurry")
async def test_calls_that_were_lost_before_the_file_could_be_written_again_are_told(
    path: Path, told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_writer, "MAX_WAITING", 10)
    monkeypatch.setattr(_writer, "MAX_BATCH", 5)
    damaged(path)
    async with open_host(config(path), plugins=[plugin]) as host:
        host.add(halve)
        session = host.session()
        for _ in range(50):
            await session.call("halve", {"number": 4})
        with trio.fail_after(20):
            while not told():  # by the thread
                await trio.sleep(0.01)
        path.unlink()
    first, last = told()
    assert "is not a database" in first
    assert f"{50 - len(kept(path))} calls are missing" in last


async def test_a_file_that_is_removed_meanwhile_begins_anew(path: Path) -> None:
    async with open_host(config(path), plugins=[plugin]) as host:
        host.add(halve)
        session = host.session()
        await session.call("halve", {"number": 4})
        with trio.fail_after(20):
            while not kept(path):
                await trio.sleep(0.01)
        for one in list(path.parent.iterdir()):
            one.unlink()
        await session.call("halve", {"number": 6})
    assert len(kept(path)) == 1


WRITERS = """
import sys, trio
from pathlib import Path
from pegboard import open_host, tool
from pegboard_audit import plugin

@tool(run="inplace")
def halve(number: float) -> float:
    "Halve."
    return number / 2

async def main():
    async with open_host({"plugins": {"audit_db": {"file": sys.argv[1]}}}, plugins=[plugin]) as host:
        host.add(halve)
        session = host.session(user_id=sys.argv[2])
        for number in range(int(sys.argv[3])):
            await session.call("halve", {"number": number})
            if number % 20 == 0:
                await trio.sleep(0.01)
        print("done", flush=True)
        if len(sys.argv) > 4:
            await trio.sleep(1.0)
            print("a second later", flush=True)
            await trio.sleep_forever()

trio.run(main)
"""


def writer(path: Path, user: str, count: int, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITERS, str(path), user, str(count), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_many_processes_write_at_once_and_lose_nothing(path: Path) -> None:
    writers = [writer(path, f"user{number}", 200) for number in range(4)]
    for one in writers:
        assert one.communicate(timeout=120)[0] == "done\n"
    calls = kept(path)
    assert len(calls) == 800
    for number in range(4):
        with AuditReader(path) as reader:
            own = list(reader.calls(CallQuery(user_id=f"user{number}")))
        assert len({one.id for one in own}) == 200


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_what_is_a_second_old_outlives_kill_9(path: Path) -> None:
    one = writer(path, "ada", 100, "stay")
    assert one.stdout is not None
    assert [one.stdout.readline(), one.stdout.readline()] == ["done\n", "a second later\n"]
    one.send_signal(signal.SIGKILL)
    one.wait(20)
    one.stdout.close()
    assert len(kept(path)) == 100


def test_a_writer_that_was_never_asked_ends_at_once(path: Path) -> None:
    one = AuditWriter(AuditDbSettings(file=str(path)))
    one.close()
    assert not one._thread.is_alive()
    assert not path.exists()


async def test_an_observer_that_is_ours_hears_what_guards_said(path: Path) -> None:
    class Closed:
        name = "closed"

        @hookimpl
        def make_guards(self, tool: Any) -> list[Any]:
            from pegboard import Guard

            return [Guard("hours", Stage.ADMIT, lambda session: ToolError(ErrorCode.FORBIDDEN, "no", reason="night"))]

    async with open_host(config(path), plugins=[plugin, Closed()]) as host:
        host.add(halve)
        await host.session().call("halve", {"number": 4})
    (call,) = kept(path)
    assert (call.code, call.reason) == ("FORBIDDEN", "night")
    assert [(one.guard, one.stage, one.verdict) for one in call.verdicts] == [("hours", Stage.ADMIT, "refused")]


def test_the_file_says_whose_it_is(path: Path) -> None:
    connection = open_for_writing(path, make_folder=False)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
