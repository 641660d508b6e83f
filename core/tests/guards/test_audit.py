"""The audit: one JSON line a call, whatever became of it."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import CallContext, PluginError, ToolCall, ToolError, open_host, tool
from pegboard.secrets.written import beginning


@tool(run="inplace", read_only=True)
def add(a: float, b: float) -> float:
    return a + b


@pytest.fixture
def audited(hosted: Any, tmp_path: Path) -> Any:
    """A host whose audit goes to a file, and a function that reads its lines."""

    def open_one(*tools: Any, arguments: bool = False, config: Any = None, **more: Any) -> Any:
        audit = {"file": str(tmp_path / "audit.jsonl"), "arguments": arguments}
        return hosted(*tools, config={**(config or {}), "plugins": {"audit": audit}}, **more)

    return open_one


@pytest.fixture
def lines(tmp_path: Path) -> Any:
    """What stands in the file."""
    return lambda: [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text("utf-8").splitlines()]


async def test_every_outcome_is_a_line(audited: Any, lines: Any) -> None:
    @tool(requires_user=True, run="inplace")
    def mine() -> None: ...

    @tool
    async def hang() -> None:
        await trio.sleep_forever()

    async with audited(add, mine, hang) as host:
        session = host.session(channel="test")
        await session.call("add", {"a": 1, "b": 2}, id="one")
        await session.call("add", {"a": "x"}, id="two")
        await session.call("nope", id="three")
        await session.call("mine", id="four")
        with trio.move_on_after(0.01):
            await session.call("hang", id="five")
        session.refuse_line(ToolError("INVALID_INPUT", "no JSON"), id="six", line="{")
    said = [(line["request_id"], line["tool"], line["status"], line["error"]) for line in lines()]
    assert said == [
        ("one", "add", "ok", None),
        ("two", "add", "error", {"code": "INVALID_INPUT", "reason": None}),
        ("three", "nope", "error", {"code": "NOT_FOUND", "reason": None}),
        ("four", "mine", "error", {"code": "UNAUTHORIZED", "reason": "user"}),
        ("five", "hang", "cancelled", None),
        ("six", "", "error", {"code": "INVALID_INPUT", "reason": None}),
    ]
    first = lines()[0]
    assert (first["session"], first["channel"], first["user_id"]) == (session.id, "test", None)
    assert first["time"].endswith("+00:00")
    assert first["duration_ms"] >= 0
    assert "arguments" not in first
    four = lines()[3]
    assert [(one["guard"], one["stage"], one["verdict"]) for one in four["guards"]] == [("access", "admit", "refused")]
    assert four["guards"][0]["us"] >= 0


async def test_arguments_are_written_where_they_are_asked_for_and_secrets_masked(
    audited: Any, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_TEST_TOKEN", 'tr"icky\\s3cret')

    @tool(secrets=["AUDIT_TEST_TOKEN"], run="inplace")
    def use(text: str, more: dict[str, str] | None = None) -> None: ...

    async with audited(use, add, arguments=True) as host:
        session = host.session()
        await session.call("use", {"text": 'x tr"icky\\s3cret y', "more": {'tr"icky\\s3cret': "z"}})
        await session.call("add", {"a": 1, "b": 2})
        await session.call("add", {"a": "x" * 50_000})
        await session.call("add")
    shown = [line["arguments"] for line in lines()]
    assert shown[0] == {"text": "x *** y", "more": {"***": "z"}}
    assert shown[1] == {"a": 1, "b": 2}
    assert len(shown[2]) < 10_100
    assert shown[3] == {}


async def test_what_the_host_knows_as_a_secret_is_not_written(
    audited: Any, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In no call: a model may have read it, or a person pasted it, and it looks like nothing."""
    monkeypatch.setenv("AUDIT_TEST_HOST_PASSWORD", "correct+horse7")

    @tool(run="inplace")
    def use(text: str) -> None: ...

    async with audited(use, arguments=True) as host:
        await host.session().call("use", {"text": "it is correct+horse7, or correct%2Bhorse7"})
        await host.session().call("nobody", {"text": "correct+horse7"})
    assert [line["arguments"] for line in lines()] == [{"text": "it is ***, or ***"}, {"text": "***"}]


@pytest.mark.unmeasured
async def test_what_looks_like_a_secret_is_not_written(audited: Any, lines: Any) -> None:
    """Whoever switches arguments on wants to see what was asked, and no password."""

    @tool(run="inplace")
    def log_in(about: dict[str, Any]) -> None: ...

    about = {
        "user": "ada", "password": "hunter22", "key": "kept", "page": "https://ada:hunter22@host/?token=hunter22",
        "body": json.dumps({"api_key": "hunter22", "city": "Bonn"}), "said": "Authorization: Bearer hunter22",
    }  # fmt: skip
    async with audited(log_in, arguments=True) as host:
        await host.session().call("log_in", {"about": about})
        await host.session().call("log_in", {"about": [about], "password": "hunter22"})
    shown = [line["arguments"] for line in lines()]
    assert "hunter22" not in json.dumps(shown)
    assert shown[0]["about"]["user"] == "ada"
    assert shown[0]["about"]["key"] == "kept"
    assert json.loads(shown[0]["about"]["body"])["city"] == "Bonn"


@given(st.recursive(st.text() | st.integers() | st.none(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)))
@settings(max_examples=50)
def test_the_beginning_of_a_value_is_bounded_and_of_its_kind(value: Any) -> None:
    assert beginning(value, 10_000) == value
    assert (
        len(json.dumps(beginning([value, "x" * 1_000_000, {"y": "z" * 1_000_000}], 100), ensure_ascii=False)) < 20_000
    )
    assert type(beginning(value, 3)) is type(value)


async def test_nothing_that_is_asked_for_loses_a_line(audited: Any, lines: Any) -> None:
    deep: Any = 1
    for _ in range(3000):
        deep = [deep]
    circle: list[Any] = []
    circle.append(circle)
    strange: list[Any] = [deep, circle, {1: 2}, {(1, 2): 3}, float("nan"), "\ud800", b"x", object(), {"a": {1, 2}}]

    @tool(secrets=["AUDIT_TEST_NOTHING"], run="inplace")
    def use(a: str) -> None: ...

    async with audited(add, use, arguments=True) as host:
        session = host.session()
        for value in strange:
            await session.call("add", value)
            await session.call("use", {"a": value})
            await session.call(value)
        await session.call("x" * 1000)
        await session.call("add", {"a": 1, "b": 2}, id="the last")
    assert len(lines()) == 3 * len(strange) + 2
    assert lines()[-1]["request_id"] == "the last"
    assert len(lines()[-2]["tool"]) == 200


async def test_a_thread_that_was_left_behind_is_named(audited: Any, lines: Any) -> None:
    import threading

    gate = threading.Event()

    @tool(timeout_s=0.05)
    def hang() -> None:
        gate.wait()

    async with audited(hang) as host:
        await host.session().call("hang")
        gate.set()
    assert lines()[0]["still_running"] is True
    assert lines()[0]["error"] == {"code": "TIMEOUT", "reason": None}


async def test_nested_calls_and_those_of_call_many_are_lines_too(audited: Any, lines: Any) -> None:
    @tool
    async def outer(context: CallContext) -> None:
        await context.call("add", {"a": 1, "b": 2})

    async with audited(add, outer) as host:
        await host.session().call("outer")
        await host.session().call_many([ToolCall("1", "add", {"a": 1, "b": 2}), {"nothing": 1}])
    said = [line["tool"] for line in lines()]
    assert said[:2] == ["add", "outer"]
    assert sorted(said[2:]) == ["", "add"]


async def test_the_audit_may_go_to_stderr(hosted: Any, capsys: pytest.CaptureFixture[str]) -> None:
    async with hosted(add, config={"plugins": {"audit": {"file": "-"}}}) as host:
        await host.session().call("add", {"a": 1, "b": 2})
    assert json.loads(capsys.readouterr().err)["tool"] == "add"


async def test_an_audit_that_cannot_be_opened_is_fatal(hosted: Any, tmp_path: Path, caplog: Any) -> None:
    with pytest.raises(PluginError, match=r"the audit's file .*folder cannot be written: No such file") as caught:
        async with hosted(config={"plugins": {"audit": {"file": str(tmp_path / "no" / "folder")}}}):
            raise AssertionError("it opened")
    assert caught.value.hint == "name a file that can be appended to, or - for stderr"


async def test_a_full_disk_is_logged_and_no_call_notices(make_plugin: Any, caplog: Any) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    async with open_host({"plugins": {"audit": {"file": "/dev/full"}}}, []) as host:
        host.add(add)
        for _ in range(3):
            assert (await host.session().call("add", {"a": 1, "b": 2})).ok
    assert caplog.text.count("the audit could not be written: OSError (No space left on device)") == 1


def failing(monkeypatch: pytest.MonkeyPatch, write: Any) -> None:
    """`write(real, number, data)` stands for `os.write` of the audit."""
    real = os.write
    monkeypatch.setattr("pegboard.guards.audit.os.write", lambda number, data: write(real, number, data))


async def called_until(session: Any, is_so: Any) -> None:
    """Call until the audit's thread has come to something."""
    with trio.fail_after(10):
        while not is_so():
            assert (await session.call("add", {"a": 1, "b": 2})).ok
            await trio.lowlevel.checkpoint()


async def test_lines_of_several_processes_do_not_mix(audited: Any, lines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one `write` appends stands together; so it is whole lines, however many wait."""
    pieces: list[bytes] = []
    go = threading.Event()

    def write(real: Any, number: int, data: bytes) -> Any:
        go.wait(10)
        pieces.append(data)
        return real(number, data)

    failing(monkeypatch, write)
    async with audited(add) as host:
        session = host.session()
        for _ in range(300):
            await session.call("add", {"a": 1, "b": 2})
        go.set()
    assert all(piece.startswith(b"{") and piece.endswith(b"}\n") for piece in pieces)
    assert max(map(len, pieces)) > 10_000
    assert len(lines()) == 300


async def test_a_file_that_is_moved_away_begins_anew(audited: Any, lines: Any, tmp_path: Path) -> None:
    async with audited(add) as host:
        session, file = host.session(), tmp_path / "audit.jsonl"
        await called_until(session, lambda: file.stat().st_size)
        file.rename(tmp_path / "audit.jsonl.1")
        await called_until(session, lambda: file.exists() and file.stat().st_size)
    assert lines()
    assert file.stat().st_mode & 0o777 == 0o600
    assert all(json.loads(line) for line in (tmp_path / "audit.jsonl.1").read_text().splitlines())


async def test_each_outage_is_told_once_with_what_is_missing_and_whole_lines_follow(
    audited: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    room: list[int | None] = [None]

    def write(real: Any, number: int, data: bytes) -> Any:
        if room[0] is None:
            return real(number, data)
        if room[0]:
            room[0], size = 0, room[0]
            return real(number, data[:size])
        raise OSError(errno.ENOSPC, "No space left on device")

    failing(monkeypatch, write)
    async with audited(add) as host:
        session = host.session()
        for outage in (1, 2):
            room[0] = 20
            await called_until(session, lambda: caplog.text.count("could not be written") == outage)  # noqa: B023
            room[0] = None
            await called_until(session, lambda: caplog.text.count("is written again") == outage)  # noqa: B023
    assert caplog.text.count("could not be written") == 2
    told = [record.args[0] for record in caplog.records if "written again" in record.getMessage()]
    assert all(told)
    texts = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert sum(not text.endswith("}") for text in texts) == 2  # what there was room for
    assert all(json.loads(text)["tool"] == "add" for text in texts if text.endswith("}"))


async def test_a_file_that_hangs_holds_no_call_and_no_end_and_what_waits_is_bounded(
    audited: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr("pegboard.guards.audit.MAX_WAITING", 10)
    monkeypatch.setattr("pegboard.guards.audit.CLOSE_S", 0.05)
    go = threading.Event()
    failing(monkeypatch, lambda real, number, data: go.wait(10) and real(number, data))
    async with audited(add) as host:
        session = host.session()
        for _ in range(50):
            assert (await session.call("add", {"a": 1, "b": 2})).ok
    threads = [thread for thread in threading.enumerate() if thread.name == "pegboard-audit"]
    go.set()
    for thread in threads:
        thread.join(10)
    assert "calls that are missing in the audit: 50" in caplog.text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
async def test_a_pipe_that_nobody_reads_is_an_error_and_no_wait(hosted: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PluginError, match="cannot be written"):
        async with hosted(config={"plugins": {"audit": {"file": str(tmp_path / "pipe")}}}):
            raise AssertionError("it opened")
