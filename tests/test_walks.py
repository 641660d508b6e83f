"""The walks through the whole system, with the packages that are installed: a good call, a bad one, a cancelled one, a
third-party plugin, a hook that grows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import trio

import pegboard
from pegboard import ErrorCode, ToolCall, hookimpl, hookspecs, open_host, tool
from pegboard.testing import assert_error, assert_ok, record

ROOT = Path(__file__).parent.parent


def program(
    *words: str, text: str = "", cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pegboard", *words],
        input=text,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


# 1. One call: from the wire to the answer and back.


async def test_a_call_goes_from_the_wire_through_the_board_and_back() -> None:
    async with open_host({}) as host:
        session = host.session()
        export = host.board.export("json")
        (call,) = export.parse('{"id": "7", "name": "roll_dice", "arguments": {"notation": "4d6kh3"}}')
        assert call == ToolCall("7", "roll_dice", {"notation": "4d6kh3"})
        result = await session.call(call.name, call.arguments, id=call.id)
        (line,) = export.format([result])
    assert json.loads(json.dumps(line)) == line
    kept = [die["value"] for term in line["data"]["terms"] for die in term["dice"] if die["kept"]]
    assert line["id"] == "7"
    assert line["data"]["total"] == sum(kept)
    assert f"= **{sum(kept)}**" in line["content"][0]["text"]


TOUR = ROOT / "examples" / "tour.jsonl"
NOT_ON_TOUR = {
    "claude_conversation",  # wants a key, and costs money
    "forget_memory",  # takes an id that only the answer to `remember` tells
    "edit_file",  # writes, and so wants a root
    "write_file",
}


def test_the_tour_of_the_readme_answers_every_call(tmp_path) -> None:
    ran = program("batch", str(TOUR), cwd=ROOT, XDG_DATA_HOME=str(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    asked = [json.loads(line)["id"] for line in TOUR.read_text().splitlines()]
    answered = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [line["id"] for line in answered] == asked
    assert all(line["ok"] for line in answered)


def test_the_tour_calls_every_tool_that_needs_no_configuration() -> None:
    lines = TOUR.read_text().splitlines()
    board = pegboard.load_board({})
    assert {json.loads(line)["name"] for line in lines} | NOT_ON_TOUR == set(board.tools)


def test_the_tour_through_mcp_answers_as_the_board_itself_would(tmp_path) -> None:
    path = Path(sys.executable).parent
    ran = program(
        "--mcp-config", "examples/mcp.json", "batch", "examples/mcp.jsonl", cwd=ROOT,
        HOME=str(tmp_path), PATH=f"{path}{os.pathsep}{os.environ.get('PATH', '')}",
    )  # fmt: skip
    answered = {line["id"]: line for line in map(json.loads, ran.stdout.splitlines())}
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert answered["sum"]["content"][0]["text"] == "0.3"
    assert answered["attack"]["data"]["notation"] == "1d20+5"
    codes = {line["id"]: line["error"]["code"] for line in answered.values() if not line["ok"]}
    assert codes == {"wrong": "INVALID_INPUT", "unknown": "NOT_FOUND"}


def test_the_tour_through_a_chat_calls_what_the_question_names() -> None:
    ran = program("chat", "--model", "echo", 'roll_dice {"notation": "3d1"}', cwd=ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout == "Rolled 3d1: [1, 1, 1] = **3**\n"
    assert "-> roll_dice" in ran.stderr


# 2. The bad call: the model reads path and expectation, the person a cause.


async def test_a_bad_call_is_answered_with_every_fault_and_what_to_do() -> None:
    async with open_host({}) as host:
        session = record(host)
        result = assert_error(
            await session.call("convert_time", {"time": 5, "from_zone": "UTC", "to_timezone": "UTC"}), "INVALID_INPUT"
        )
    assert result.error is not None
    faults = {fault["path"]: fault for fault in result.error.details["faults"]}
    assert {"time", "from_zone", "from_timezone"} <= faults.keys()
    assert faults["time"]["expected"] == "string"
    assert "from_timezone" in json.dumps(faults)
    assert result.error.details["retry"] == "changed"


def test_bad_lines_of_a_batch_lose_nobody_else() -> None:
    lines = ["{", '{"id": "a", "name": "calculator", "arguments": {"expression": "6*7"}}', "[]", '{"name": 3}', "\x00"]
    ran = program("batch", text="\n".join(lines))
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.returncode == 1
    assert [answer["ok"] for answer in answers] == [False, True, False, False, False]
    assert [a["error"]["details"]["line"] for a in answers if not a["ok"]] == [1, 3, 4, 5]
    assert answers[1]["content"] == [{"type": "text", "text": "42"}]
    assert "Traceback" not in ran.stdout + ran.stderr


# 3. The cancelled call: a deadline among three calls; nothing is left.


async def test_a_deadline_among_three_calls_ends_one_and_leaves_nothing(autojump_clock) -> None:
    closed = []

    @tool(timeout_s=5, parallel=True)
    async def wait(seconds: float) -> str:
        """Wait."""
        try:
            await trio.sleep(seconds)
        finally:
            closed.append(seconds)
        return "done"

    async with open_host({}, plugins=[]) as host:
        host.add(wait)
        before = trio.lowlevel.current_statistics().tasks_living
        calls = [ToolCall(str(seconds), "wait", {"seconds": seconds}) for seconds in (1, 60, 2)]
        results = await host.session().call_many(calls)
        assert trio.lowlevel.current_statistics().tasks_living == before
    assert [result.ok for result in results] == [True, False, True]
    assert_error(results[1], ErrorCode.TIMEOUT)
    assert sorted(closed) == [1, 2, 60]
    assert trio.current_time() < 60


# 4. A third-party plugin: made from the docs alone, no internals, no residue.


def test_a_new_plugin_imports_nothing_but_the_public_api(tmp_path) -> None:
    made = program("new", "plugin", "coin", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    source = (tmp_path / "pegboard-coin" / "src" / "pegboard_coin" / "plugin.py").read_text()
    imported = [line for line in source.splitlines() if "pegboard" in line and "import" in line]
    assert [line.split(" import ")[0] for line in imported] == ["from pegboard", "from pegboard_coin.words"]
    names = imported[0].split(" import ")[1].split(", ")
    assert set(names) <= set(pegboard.__all__)


async def test_a_misspelt_hook_says_which_one_was_meant() -> None:
    class Unknown:
        @hookimpl
        def provide_tool(self):
            return []

    async with open_host({}, plugins=[Unknown()]) as host:
        (record_of,) = host.board.plugins.quarantined
    assert "'provide_tool'" in record_of.quarantined
    assert "'provide_tools'" in record_of.quarantined


# 5. The growing hook: a new argument and a retired one leave unmodified plugins alone.


async def test_a_hook_that_grows_leaves_plugins_that_take_less_alone(monkeypatch) -> None:
    """The next release gives `provide_checks` one argument more; a plugin of today is loaded and asked all the same."""

    @hookspecs.hookspec
    def provide_checks(settings, severity):
        """The hook with an argument more."""

    monkeypatch.setattr(hookspecs, "provide_checks", provide_checks)
    heard = []

    class Today:
        @hookimpl
        def provide_checks(self, settings):
            heard.append(settings)
            return []

    class Tomorrow:
        @hookimpl
        def provide_checks(self, severity):
            heard.append(severity)
            return []

    board = pegboard.load_board({}, plugins=[Today(), Tomorrow()])
    assert board.plugins.quarantined == []
    assert all(answer is not None for _, answer in board.plugins.ask("provide_checks", severity="error"))
    assert heard == [None, "error"]


async def test_a_board_with_everything_installed_has_nothing_to_repair() -> None:
    board = pegboard.load_board({})
    assert [finding for finding in board.findings() if finding.severity == "error"] == []
    async with open_host({}) as host:
        assert_ok(await record(host).call("get_time", {"timezone": "UTC"}))
