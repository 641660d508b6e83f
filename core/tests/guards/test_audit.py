"""The audit: one JSON line a call, whatever became of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from pegboard import CallContext, ToolCall, ToolError, open_host, tool


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


@pytest.mark.unmeasured
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
    from pegboard import PluginError

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
