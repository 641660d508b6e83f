"""What authors use in their tests: it passes what is right and, what matters more, fails what is wrong."""

from __future__ import annotations

import ast
import importlib
import keyword
import re

import pytest
import trio

from pegboard import CallContext, ErrorCode, PegboardError, ToolResult, hookimpl, load_board, tool
from pegboard._installed import Installed
from pegboard.registry.plugins import BUILTINS, ON_DEMAND
from pegboard.testing import assert_error, assert_ok, record
from pegboard.testing.scaffold import make_plugin


class Greeter:
    @hookimpl
    def provide_tools(self):
        @tool(requires_confirmation="Greet them?")
        async def greet(context: CallContext, name: str) -> str:
            await context.progress(1, 2, "half")
            await trio.sleep(3600 * 24 if name == "slow" else 0)
            return f"Hello {name}"

        return [greet]


def test_assert_ok_holds_text_and_data():
    result = ToolResult.text("4", data={"value": 4})
    assert assert_ok(result, text="4", data={"value": 4}) is result
    with pytest.raises(AssertionError, match="showed '4'"):
        assert_ok(result, text="5")
    with pytest.raises(AssertionError, match="carried"):
        assert_ok(result, data=None)


def test_assert_ok_says_which_error_came_instead():
    with pytest.raises(AssertionError, match=r"NOT_FOUND.*no such.*more"):
        assert_ok(ToolResult.error("NOT_FOUND", "no such thing", more=1))


def test_assert_error_holds_code_reason_and_message():
    result = ToolResult.error("FORBIDDEN", "it is disabled", reason="disabled")
    assert assert_error(result, ErrorCode.FORBIDDEN, reason="disabled", says="disabled") is result
    for wrong in ({"code": "TIMEOUT"}, {"code": "FORBIDDEN", "reason": "other"}, {"code": "FORBIDDEN", "says": "x y"}):
        with pytest.raises(AssertionError):
            assert_error(result, **wrong)
    with pytest.raises(AssertionError, match="succeeded"):
        assert_error(ToolResult.text("fine"), "TIMEOUT")


async def test_a_recording_session_notes_answers_questions_and_progress(host_with):
    session = record(await host_with(Greeter()), user_id="ada", answers=[True])
    assert_ok(await session.call("greet", {"name": "Bob"}), text="Hello Bob")
    assert_error(await session.call("greet", {"name": "Eve"}), "FORBIDDEN", reason="confirmation")
    assert [result.ok for result in session.results] == [True, False]
    assert [asked.question for asked in session.asked] == ["Greet them?"] * 2
    assert [row[1:] for row in session.progress] == [(1, 2, "half")]
    assert session.session.user_id == "ada"


async def test_the_fake_clock_makes_a_day_pass_at_once(host_with, fake_clock):
    host = await host_with(Greeter(), config={"timeout_s": 3600})
    began = trio.current_time()
    assert_error(await record(host, answers=[True]).call("greet", {"name": "slow"}), "TIMEOUT")
    assert trio.current_time() - began == pytest.approx(3600)


async def test_two_hosts_of_one_test_end_in_any_order(host_with):
    first, second = await host_with(), await host_with(Greeter())
    assert "greet" in second.tools
    assert "greet" not in first.tools


async def test_a_plugin_that_is_quarantined_fails_the_test_unless_it_is_meant_to(host_with):
    class Misspelt:
        @hookimpl
        def provide_tool(self):
            return []

    with pytest.raises(PegboardError, match="the nearest is 'provide_tools'"):
        await host_with(Misspelt())
    host = await host_with(Misspelt(), config={"strict": False})
    assert [record.name for record in host.board.plugins.quarantined] == ["Misspelt"]


def test_a_new_plugin_is_named_after_what_was_asked(tmp_path):
    root = make_plugin("pegboard-word-count", tmp_path)
    assert root.name == "pegboard-word-count"
    assert (root / "src" / "pegboard_word_count" / "plugin.py").read_text().count("def word_count(") == 1
    assert 'word_count = "pegboard_word_count.plugin"' in (root / "pyproject.toml").read_text()
    left = [
        path
        for path in root.rglob("*")
        if path.is_file() and re.search(r"\{(name|tool|function|module)\}", path.read_text())
    ]
    assert left == []


def _names_in_a_new_plugin(folder):
    tree = ast.parse((make_plugin("zzz", folder) / "src" / "pegboard_zzz" / "plugin.py").read_text())
    nodes = list(ast.walk(tree))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    made = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.alias)}
    names = {name for name in used | made | set(keyword.kwlist) if name.isidentifier() and name.islower()}
    return names - {"zzz", *BUILTINS, *ON_DEMAND}


def test_a_new_plugin_may_have_the_name_of_anything_in_python(tmp_path, monkeypatch):
    """`class`, `int`, `count-words`: the function is not called what the language or its own module needs."""
    names = _names_in_a_new_plugin(tmp_path)
    assert {"class", "int", "str", "tool", "hookimpl", "count_words", "provide_tools"} <= names
    for name in sorted(names):
        root = make_plugin(name.replace("_", "-"), tmp_path)
        monkeypatch.syspath_prepend(str(root / "src"))
        plugin = importlib.import_module(f"pegboard_{name}.plugin")
        board = load_board({}, plugins=[plugin])
        assert [record.quarantined for record in board.plugins.quarantined] == []
        assert board.tools[name].handler("to be") == 2


@pytest.mark.parametrize("name", ["Coin", "../coin", "1coin", "coin_", "", "c" + "\n"])
def test_what_is_not_a_name_for_a_plugin_is_refused(tmp_path, name):
    with pytest.raises(PegboardError, match="not a name"):
        make_plugin(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [*BUILTINS, *ON_DEMAND, "coin", "heads"])
def test_the_name_of_a_plugin_that_is_there_is_refused(tmp_path, monkeypatch, name):
    """Two of one name are quarantined, and pip would put the new package in the place of the other."""
    coin = Installed("coin", "coins.plugin", "pegboard-heads", "1.0")
    monkeypatch.setattr("pegboard._installed.installed_plugins", lambda: [coin])
    with pytest.raises(PegboardError, match=r"of its own|is installed"):
        make_plugin(name.replace("_", "-"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_never_overwritten(tmp_path):
    make_plugin("coin", tmp_path)
    with pytest.raises(PegboardError, match="there already"):
        make_plugin("coin", tmp_path)
