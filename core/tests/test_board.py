"""The board without a loop: adding, taking down, switching, exporting, and what the configuration says of tools."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from pegboard import ConfigError, ErrorCode, PluginError, Tool, ToolDefinitionError, ToolError, load_board, tool


def make(name: str, **more: Any) -> Tool:
    return Tool(name=name, handler=lambda: name, run="inplace", **more)


def code_of(act: Any) -> ErrorCode:
    with pytest.raises(ToolError) as caught:
        act()
    return caught.value.code


def test_a_name_is_registered_once() -> None:
    board = load_board({}, [])
    board.add(make("a"))
    with pytest.raises(ToolError, match="already registered") as caught:
        board.add(make("b"), make("a"))
    assert caught.value.code is ErrorCode.CONFLICT
    assert list(board.tools) == ["a"]
    assert code_of(lambda: board.add(make("c"), make("c"))) is ErrorCode.CONFLICT


def test_plain_functions_become_tools() -> None:
    def double(n: int) -> int:
        """Twice as much."""
        return 2 * n

    def odd(*args: int) -> None: ...

    board = load_board({}, [])
    board.add(double)
    assert board.tools["double"].description == "Twice as much."
    with pytest.raises(ToolDefinitionError, match="args"):
        board.add(odd)


def test_what_hangs_not_cannot_be_removed_disabled_or_enabled() -> None:
    board = load_board({}, [])
    for act in (board.remove, board.disable, board.enable):
        assert code_of(lambda act=act: act("nope")) is ErrorCode.NOT_FOUND
    board.add(make("a"))
    assert code_of(lambda: board.remove("a", "nope")) is ErrorCode.NOT_FOUND
    assert list(board.tools) == ["a"]


def test_tools_are_disabled_and_enabled_and_their_state_is_told() -> None:
    board = load_board({"tools": {"off": {"enabled": False}}}, [])
    board.add(make("a"), make("off"))
    assert (board.state_of("a"), board.state_of("off")) == ("ready", "disabled")
    board.disable("a")
    board.disable("a")
    assert board.state_of("a") == "disabled"
    board.enable("a", "off")
    board.enable("a")
    assert sorted(board.tools) == ["a", "off"]


def test_categories_are_counted_by_name() -> None:
    board = load_board({}, [])
    board.add(make("a", category="z"), make("b", category="a"), make("c", category="z"))
    assert board.categories() == {"a": 1, "z": 2}
    assert list(board.categories()) == ["a", "z"]
    assert [one.name for one in board.search("b", category="a")] == ["b"]


def test_the_configuration_has_the_last_word_on_limits_and_permissions() -> None:
    @attrs.frozen
    class Allowed:
        commands: tuple[str, ...] = ()

    board = load_board({"tools": {"run": {"timeout_s": 3, "commands": ["ls"]}}}, [])
    board.add(tool(name="run", timeout_s=9, concurrency=2, permissions=Allowed)(lambda: None))
    plan = board.registry.plans["run"]
    assert (plan.tool.limits.timeout_s, plan.tool.limits.concurrency) == (3, 2)
    assert plan.permissions == Allowed(("ls",))


def test_wrong_permissions_are_the_configurations_fault(make_plugin: Any) -> None:
    @attrs.frozen
    class Allowed:
        commands: tuple[str, ...] = ()

    one = tool(name="run", permissions=Allowed)(lambda: None)
    with pytest.raises(ConfigError, match=r"tools\.run\.commands"):
        load_board({"tools": {"run": {"commands": 5}}}, [make_plugin("p", provide_tools=[one])])


def test_a_schema_that_no_validator_holds_is_refused_with_the_keyword_and_the_package() -> None:
    board = load_board({}, [])
    schema = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$"}}}
    with pytest.raises(ToolDefinitionError, match=": pattern") as caught:
        board.add(make("a", input_schema=schema))
    assert caught.value.hint == "pip install pegboard-jsonschema-rs"
    with pytest.raises(ToolDefinitionError, match="output_schema"):
        board.add(make("a", output_schema=schema))
    with pytest.raises(ToolDefinitionError, match="schema is wrong"):
        board.add(make("a", input_schema={"type": "objekt"}))


def test_without_a_validator_nothing_is_registered_unchecked() -> None:
    board = load_board({}, [], without=["validator"])
    with pytest.raises(PluginError, match="no validator"):
        board.add(make("a"))


def test_tools_are_exported_in_the_order_of_names_or_as_named() -> None:
    board = load_board({}, [])
    board.add(make("b"), make("a"), make("off"))
    board.disable("off")
    assert [one["name"] for one in board.export("json").definitions] == ["a", "b"]
    assert [one["name"] for one in board.export("json", ["b"]).definitions] == ["b"]
    assert code_of(lambda: board.export("json", ["nope"])) is ErrorCode.NOT_FOUND
    assert code_of(lambda: board.export("json", ["off"])) is ErrorCode.FORBIDDEN
    with pytest.raises(ConfigError, match="no dialect 'klingon'; on the board: json, text"):
        board.export("klingon")


def test_sources_are_known_before_they_run(make_plugin: Any) -> None:
    class Source:
        name = "far"
        timeout_s = 5

        async def run(self, slot: Any) -> None: ...

    board = load_board({}, [make_plugin("bridge", provide_sources=[Source()])])
    assert board.source_states["far"][0] == "configured"
    assert board.runtime.source_timeouts == {"far": 5}


async def test_a_board_that_does_not_run_has_no_worker_processes() -> None:
    with pytest.raises(RuntimeError, match="only while a host runs"):
        await load_board({}, []).runtime.workers()
