"""One bad plugin never bricks the program: it loses itself alone, or is fatal where working on would be worse."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from pegboard import ConfigError, ErrorCode, HeldBackError, PluginError, Tool, hookimpl, load_board, open_host, tool
from pegboard.contract import Guard, Stage
from pegboard.doctor import check_versions
from pegboard.registry.asking import PluginRecord
from pegboard.registry.plugins import BUILTINS


@tool(run="inplace")
def coin() -> str:
    """Toss a coin."""
    return "heads"


@pytest.fixture
def good(make_plugin: Any) -> Any:
    """A plugin that works."""
    return make_plugin("good", provide_tools=[coin])


def record_of(board: Any, name: str) -> PluginRecord:
    return next(record for record in board.plugins if record.name == name)


# import ----------------------------------------


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """`install(name, source)`: a distribution `pegboard-NAME` whose plugin is a module of that source."""
    made: list[str] = []
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def one(name: str, source: str | None, *, distribution: str | None = None, wants: str = "") -> None:
        distribution = distribution or f"pegboard-{name}"
        module = f"plugin_{distribution.replace('-', '_')}"
        made.append(module)
        if source is not None:
            (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{distribution.replace('-', '_')}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n{wants}")
        (info / "entry_points.txt").write_text(f"[pegboard]\n{name} = {module}\n")
        importlib.invalidate_caches()

    yield one
    for module in made:
        sys.modules.pop(module, None)


def test_an_entry_point_whose_module_is_not_there_is_said_to_be_so(install: Callable[..., None]) -> None:
    install("gone", None)
    record = record_of(load_board({}), "gone")
    assert record.quarantined == "import: ModuleNotFoundError: No module named 'plugin_pegboard_gone'"
    assert record.cure is not None
    assert record.cure.startswith("its entry point names what pegboard-gone does not bring: pip install")


@pytest.mark.parametrize(
    ("wants", "is_told"),
    [
        (">=0.1,<0.2", False),
        ("", False),
        ("~=0.1", False),
        (">=0.2", True),
        ("<0.1", True),
        ("[testing] (==7.0)", True),
        (">=7 ; extra == 'x'", False),
    ],
)
def test_a_plugin_for_another_version_of_the_core_is_told(
    install: Callable[..., None], wants: str, is_told: bool
) -> None:
    install("elder", "from pegboard import hookimpl\n@hookimpl\ndef provide_tools(): return []\n",
            wants=f"Requires-Dist: pegboard{wants}\n")  # fmt: skip
    found = list(check_versions(load_board({})))
    found = [one for one in found if "elder" in one.where]
    assert [one.what for one in found] == ["a plugin is made for another version"] * is_told
    assert all("and this is pegboard 0.1" in one.why and "pegboard-elder pegboard" in one.fix for one in found)


GOOD = """
from pegboard import hookimpl, tool

@hookimpl
def provide_tools():
    @tool
    def {tool}() -> int:
        return 1
    return [{tool}]
"""


@pytest.mark.parametrize(
    "source", ["raise ValueError('no luck')", "raise SystemExit(3)", "import nothing_of_that_name", "def (", "1 / 0"]
)
def test_a_plugin_that_fails_at_import_is_named_with_its_distribution_and_the_rest_works(
    install: Any, source: str
) -> None:
    install("broken", source)
    install("fine", GOOD.format(tool="fine_tool"))
    board = load_board({})
    record = record_of(board, "broken")
    assert record.quarantined.startswith("import: ")
    assert (record.distribution, record.version) == ("pegboard-broken", "1.5")
    assert "fine_tool" in board.tools
    assert record in board.plugins.quarantined


def test_a_plugin_that_fails_at_import_is_fatal_where_it_is_named_or_the_host_is_strict(install: Any) -> None:
    install("broken", "raise ValueError('no luck')")
    with pytest.raises(
        PluginError, match=r"'broken' of pegboard-broken failed at import: ValueError: no luck"
    ) as named:
        load_board({}, ["broken"])
    assert "fatal because" in named.value.hint
    with pytest.raises(PluginError, match="no luck"):
        load_board({}, ["pegboard-broken"])
    with pytest.raises(PluginError, match="no luck"):
        load_board({"plugins": {"broken": {}}})
    with pytest.raises(PluginError, match="no luck"):
        load_board({"strict": True})


def test_two_distributions_of_one_plugin_name_are_both_quarantined(install: Any) -> None:
    install("twin", GOOD.format(tool="one"), distribution="pegboard-a")
    install("twin", GOOD.format(tool="two"), distribution="pegboard-b")
    board = load_board({})
    twins = [record for record in board.plugins if record.name == "twin"]
    assert sorted(record.distribution for record in twins) == ["pegboard-a", "pegboard-b"]
    assert all("pegboard-a" in record.quarantined and "pegboard-b" in record.quarantined for record in twins)
    assert not {"one", "two"} & board.tools.keys()


def test_a_plugin_that_is_not_installed_is_refused_with_a_near_one(install: Any) -> None:
    install("weather", GOOD.format(tool="w"))
    with pytest.raises(PluginError, match="no plugin 'wether' is installed") as caught:
        load_board({}, ["wether"])
    assert caught.value.hint == "did you mean 'weather'?"
    with pytest.raises(ConfigError, match="'wether' to leave out"):
        load_board({"without": ["wether"]})


def test_a_plugin_that_is_named_twice_is_loaded_once(install: Any) -> None:
    install("weather", GOOD.format(tool="w"))
    assert list(load_board({}, ["weather", "pegboard-weather", "weather"]).tools) == ["w"]


@pytest.mark.parametrize("given", [{"plugins": "dice"}, {"without": "audit"}])
def test_one_text_where_a_list_of_plugins_is_expected_is_not_taken_letter_by_letter(given: Any) -> None:
    with pytest.raises(PluginError, match="expected a list, got the text") as caught:
        load_board({}, **given)
    assert caught.value.hint.startswith("write ['")


def test_a_program_that_embeds_the_host_hears_of_a_plugin_that_is_quarantined(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Unknown:
        @hookimpl
        def provide_tool(self) -> list[Tool]:
            return []

    load_board({}, [Unknown()])
    (heard,) = [one for one in caplog.records if one.levelname == "WARNING"]
    assert "'Unknown' is quarantined" in heard.getMessage()
    assert "'provide_tools'" in heard.getMessage()


def test_plugins_that_are_left_out_are_not_imported(install: Any) -> None:
    install("broken", "raise ValueError")
    board = load_board({"without": ["broken", "audit"]})
    assert {"broken", "audit"}.isdisjoint(record.name for record in board.plugins)


def test_the_section_of_a_plugin_that_is_quarantined_is_not_an_unknown_key(install: Any) -> None:
    install("broken", "raise ValueError")
    with pytest.raises(PluginError):
        load_board({"plugins": {"broken": {"url": "x"}}})
    with pytest.raises(ConfigError, match="borken"):
        load_board({"plugins": {"borken": {"url": "x"}}})


def test_an_object_is_named_by_its_name_its_module_or_its_class() -> None:
    class Coiner: ...

    module = types.ModuleType("pegboard_coin.plugin")
    board = load_board({}, [Coiner(), module, Coiner])
    names = [record.name for record in board.plugins if not record.builtin]
    assert names == ["Coiner", "coin", "Coiner"]
    assert sorted(record.name for record in board.plugins.quarantined) == ["Coiner", "Coiner", "coin"]
    assert "implements no hook" in str(board.plugins.records["coin"].quarantined)


class Coins:
    """A plugin, as an object of this class."""

    @hookimpl
    def provide_tools(self) -> list[Tool]:
        """A coin."""
        return [coin]


class Namespace:
    """A plugin, as this class itself."""

    @hookimpl
    @staticmethod
    def provide_tools() -> list[Tool]:
        """A coin."""
        return [coin]


@pytest.mark.parametrize(
    ("given", "why", "cure"),
    [
        (
            Coins,
            "it is a class, and its hook provide_tools is a method of its objects",
            "give an object of it: Coins()",
        ),
        (coin, "it is a Tool, not a plugin", "add a tool by host.add(...), or return it by the hook provide_tools"),
        (len, "it implements no hook: mark its functions with @hookimpl", "repair it, or leave it out"),
        (
            record_of,
            "it is a function, not a plugin",
            "add a tool by host.add(...), or return it by the hook provide_tools",
        ),
    ],
)
def test_what_is_given_instead_of_a_plugin_is_told_with_what_to_give(
    given: Any, why: str, cure: str, caplog: pytest.LogCaptureFixture
) -> None:
    board = load_board({}, [given])
    (record,) = board.plugins.quarantined
    assert record.quarantined == f"hooks: {why}"
    assert record.cure is not None
    assert record.cure.startswith(cure)
    assert record.cure in caplog.text


def test_an_object_and_a_class_that_is_its_own_namespace_are_plugins() -> None:
    assert list(load_board({}, [Coins()]).tools) == list(load_board({}, [Namespace]).tools) == ["coin"]
    assert list(load_board({}, (one for one in [Coins()])).tools) == ["coin"]  # type: ignore[arg-type]


@pytest.mark.parametrize("argument", ["plugins", "without"])
@pytest.mark.parametrize(
    ("given", "got", "write"),
    [
        ("coin", "the text 'coin'", "write ['coin']"),
        (Coins, "the class Coins", "write [Coins()]"),
        (Coins(), "Coins", "write it in brackets, as [it]"),
        (sys, "module", "write it in brackets, as [it]"),
        (5, "int", "write it in brackets, as [it]"),
    ],
)
def test_one_plugin_is_not_a_list_of_them(argument: str, given: Any, got: str, write: str) -> None:
    with pytest.raises(PluginError) as refused:
        load_board({}, **{argument: given})
    assert (refused.value.message, refused.value.hint) == (f"{argument}: expected a list, got {got}", write)


def test_a_module_that_says_its_name_has_that_one() -> None:
    module = types.ModuleType("pegboard_audit.plugin")
    module.name = "audit_db"  # type: ignore[attr-defined]
    assert "audit_db" in load_board({}, [module]).plugins.records


# misspelt hooks ----------------------------------------


def test_a_misspelt_hook_is_named_with_the_nearest_real_one(make_plugin: Any, good: Any) -> None:
    board = load_board({}, [make_plugin("typo", provide_tool=[coin]), good])
    assert (
        record_of(board, "typo").quarantined == "hooks: there is no hook 'provide_tool'; the nearest is 'provide_tools'"
    )
    assert "coin" in board.tools


def test_a_misspelt_argument_is_named(make_plugin: Any, good: Any) -> None:
    def make_executor(tol: Any) -> None: ...

    board = load_board({}, [make_plugin("typo", make_executor=make_executor, provide_tools=[coin]), good])
    assert record_of(board, "typo").quarantined == (
        "hooks: make_executor takes 'tol', which it is not given; did you mean 'tool'?"
    )
    assert "coin" in board.tools


def test_an_argument_that_no_hook_gives_is_told_with_those_that_this_one_does(make_plugin: Any) -> None:
    def provide_tools(host: Any) -> None: ...

    board = load_board({}, [make_plugin("curious", provide_tools=provide_tools)])
    assert record_of(board, "curious").quarantined == (
        "hooks: provide_tools takes 'host', which it is not given; a hook takes by name what it is given, here settings"
    )


def test_an_argument_with_a_default_is_its_own(make_plugin: Any) -> None:
    def provide_tools(known: Any = (coin,)) -> Any:
        return list(known)

    board = load_board({}, [make_plugin("own", provide_tools=provide_tools)])
    assert record_of(board, "own").quarantined is None


def test_a_hook_of_another_plugin_may_be_missing_if_it_is_marked_so() -> None:
    class Chatty:
        name = "chatty"

        @hookimpl(optionalhook=True)
        def provide_models(self) -> None: ...

    assert not load_board({}, [Chatty()]).plugins.quarantined


def test_a_plugin_may_bring_hooks_of_its_own() -> None:
    import pluggy

    class Specs:
        @pluggy.HookspecMarker("pegboard")
        def provide_models(self, settings: Any) -> None: ...

    class Chat:
        name = "chat"

        @hookimpl
        def add_hookspecs(self) -> Any:
            return Specs

    class Model:
        name = "model"

        @hookimpl
        def provide_models(self) -> list[str]:
            return ["m"]

    board = load_board({}, [Model(), Chat()])
    assert not board.plugins.quarantined
    assert [(record.name, answer) for record, answer in board.plugins.ask("provide_models")] == [("model", ["m"])]


# at each hook ----------------------------------------


def failing(**arguments: str) -> dict[str, Any]:
    """An implementation of every hook that loading a board asks, which raises."""

    def provide_settings() -> Any:
        raise SystemExit(1)

    def provide_tools() -> Any:
        raise ValueError("no")

    def generated_tools() -> Any:
        yield coin
        raise ValueError("half way")

    def provide_sources(settings: Any) -> Any:
        raise SystemExit

    def add_hookspecs() -> Any:
        raise KeyError("no")

    return {
        "provide_settings": provide_settings,
        "provide_tools": provide_tools,
        "generated": generated_tools,
        "provide_sources": provide_sources,
        "add_hookspecs": add_hookspecs,
    }


@pytest.mark.parametrize("hook", ["provide_settings", "provide_tools", "generated", "provide_sources", "add_hookspecs"])
def test_a_hook_that_raises_loses_its_plugin_alone(make_plugin: Any, good: Any, hook: str) -> None:
    name = "provide_tools" if hook == "generated" else hook
    bad = make_plugin("bad", **{name: failing()[hook]})
    board = load_board({}, [bad, good])
    assert record_of(board, "bad").quarantined.startswith(f"{name}: ")
    assert list(board.tools) == ["coin"]
    with pytest.raises(PluginError) as caught:
        load_board({"strict": True}, [bad, good])
    assert "the host is strict" in caught.value.hint


RUBBISH = {
    "provide_settings": [1, dict, "text"],
    "provide_tools": [1, coin, [coin, 1], "text", [coin.handler]],
    "provide_sources": [1, [object()], [types.SimpleNamespace(name="x", run=print, timeout_s="soon")]],
    "add_hookspecs": [1, object()],
}


@pytest.mark.parametrize(
    ("hook", "answer"),
    [
        pytest.param(hook, answer, id=f"{hook}-{at}-{type(answer).__name__}")
        for hook, answers in RUBBISH.items()
        for at, answer in enumerate(answers)
    ],
)
def test_a_hook_that_answers_rubbish_loses_its_plugin_alone(
    make_plugin: Any, good: Any, hook: str, answer: Any
) -> None:
    board = load_board({}, [make_plugin("bad", **{hook: lambda: answer}), good])
    assert record_of(board, "bad").quarantined.startswith(f"{hook}: ")
    assert list(board.tools) == ["coin"]


def test_what_a_hook_does_not_answer_is_nothing(make_plugin: Any) -> None:
    nothing = {hook: (lambda: None) for hook in (*RUBBISH, "make_guards", "make_validator", "provide_dialects")}
    board = load_board({}, [make_plugin("silent", **nothing)])
    assert not board.plugins.quarantined
    assert list(board.dialects) == ["json", "text"]


async def test_observers_that_fail_or_are_rubbish_lose_their_plugin_alone(make_plugin: Any, good: Any) -> None:
    def raises() -> Any:
        raise SystemExit

    for answer in (raises, [1], 5):
        async with open_host({}, [make_plugin("bad", provide_observers=answer), good]) as host:
            assert record_of(host.board, "bad").quarantined.startswith("provide_observers: ")
            assert (await host.session().call("coin")).ok


def test_dialects_that_fail_or_are_rubbish_lose_their_plugin_alone(make_plugin: Any, good: Any) -> None:
    def raises() -> Any:
        raise SystemExit

    for answer in (raises, [1], 5):
        board = load_board({}, [make_plugin("bad", provide_dialects=answer), good])
        assert list(board.dialects) == ["json", "text"]
        assert record_of(board, "bad").quarantined.startswith("provide_dialects: ")


def test_two_dialects_of_one_name_are_a_conflict_that_names_both(make_plugin: Any) -> None:
    class Dialect:
        name = "text"

        def export(self, tools: Any) -> Any: ...

    board = load_board({}, [make_plugin("other", provide_dialects=[Dialect()])])
    with pytest.raises(PluginError, match=r"CONFLICT.*'text'.*'other'"):
        _ = board.dialects


def test_checks_that_fail_are_findings_themselves(make_plugin: Any) -> None:
    def raises() -> Any:
        raise SystemExit("no")

    def check(board: Any) -> Any:
        raise ValueError("no")

    plugins = [make_plugin("bad", provide_checks=raises), make_plugin("worse", provide_checks=[check])]
    found = load_board({}, plugins).findings()
    failed = {finding.where: finding.why for finding in found if finding.what == "a check failed"}
    assert failed == {"plugin 'bad'": "SystemExit: no", "plugin 'worse'": "ValueError: no"}


# guards, validators, executors: when a tool is registered ----------------------------------------


GUARDS: dict[str, Any] = {
    "raises": lambda: (_ for _ in ()).throw(ValueError("/etc")),
    "no guard": lambda: [1],
    "no iterable": lambda: 7,
    "two of one name": lambda: [Guard("a", Stage.ADMIT, print), Guard("a", Stage.LIMIT, print)],
    "a circle": lambda: [Guard("a", "admit", print, after=["b"]), Guard("b", "admit", print, after=["a"])],
    "an unknown stage": lambda: Guard("a", "sometime", print),
}


@pytest.mark.parametrize("observe", [False, True])
@pytest.mark.parametrize("what", GUARDS)
def test_a_tool_whose_guard_cannot_be_made_is_not_registered(
    make_plugin: Any, good: Any, what: str, observe: bool
) -> None:
    def make_guards(tool: Any) -> Any:
        return GUARDS[what]() if tool.name == "coin" else None

    other = make_plugin("other", provide_tools=[tool(name="other")(lambda: 1)])
    config = {"observe": ["a"]} if observe else {}
    board = load_board(config, [make_plugin("guarding", make_guards=make_guards), good, other])
    assert list(board.tools) == ["other"]
    assert board.rejected_tools["coin"].name == "coin"
    with pytest.raises(PluginError):
        board.add(tool(name="coin")(lambda: 1))
    with pytest.raises(PluginError):
        load_board({"strict": True}, [make_plugin("guarding", make_guards=make_guards), good])


def test_a_plugin_that_guards_is_fatal_when_it_fails(make_plugin: Any, good: Any) -> None:
    def raises() -> Any:
        raise ValueError("no")

    bad = make_plugin("bad", make_guards=lambda tool: None, provide_tools=raises)
    with pytest.raises(PluginError, match="'bad' failed at provide_tools") as caught:
        load_board({}, [bad, good])
    assert "it guards tools" in caught.value.hint


def test_a_plugin_that_the_configuration_names_is_fatal_when_it_fails(make_plugin: Any, good: Any) -> None:
    @attrs.frozen
    class Settings:
        pass

    def raises() -> Any:
        raise ValueError("no")

    bad = make_plugin("bad", provide_settings=lambda: Settings, provide_tools=raises)
    with pytest.raises(PluginError, match="'bad' failed at provide_tools") as caught:
        load_board({"plugins": {"bad": {}}}, [bad, good])
    assert "the configuration names it" in caught.value.hint


def test_a_builtin_that_fails_is_fatal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILTINS, "audit", "pegboard.guards.nothing_of_that_name")
    with pytest.raises(PluginError, match="'audit' of pegboard failed at import"):
        load_board({}, [])


async def test_a_validator_that_cannot_be_made_or_is_rubbish_leaves_the_schema_to_the_core(
    make_plugin: Any, good: Any, caplog: Any
) -> None:
    def raises(schema: Any) -> Any:
        raise SystemExit

    for answer in (raises, lambda: "rubbish"):
        async with open_host({}, [make_plugin("bad", make_validator=answer), good]) as host:
            assert (await host.session().call("coin")).ok
            assert (await host.session().call("coin", {"a": 1})).error.code is ErrorCode.INVALID_INPUT
    assert "bad" in caplog.text


async def test_two_plugins_that_want_to_validate_are_a_conflict_that_the_configuration_settles(
    make_plugin: Any, good: Any
) -> None:
    asked: list[str] = []

    def make(name: str) -> Any:
        def make_validator(schema: Any, foreign: bool) -> Any:
            return lambda value: asked.append(name) or []

        return make_plugin(name, make_validator=make_validator)

    plugins = [make("left"), make("right"), good]
    board = load_board({}, plugins)
    assert "CONFLICT" in board.rejected_tools["coin"].why
    assert board.rejected_tools["coin"].fix == 'write validator = "left"'
    async with open_host({"validator": "right"}, plugins) as host:
        await host.session().call("coin", {"surprise": 1})
    assert asked == ["right"]


def test_an_executor_that_cannot_be_made_or_is_rubbish_costs_the_tool(make_plugin: Any, good: Any) -> None:
    def raises(tool: Any) -> Any:
        raise SystemExit

    for answer in (raises, lambda: "rubbish"):
        board = load_board({}, [make_plugin("bad", make_executor=answer), good])
        assert not board.tools
        assert "executor" in board.rejected_tools["coin"].why


async def test_two_plugins_that_want_to_run_a_tool_are_a_conflict_that_the_configuration_settles(
    make_plugin: Any, good: Any
) -> None:
    def make(name: str) -> Any:
        async def execute(context: Any, arguments: Any) -> str:
            return name

        return make_plugin(name, make_executor=lambda tool: execute)

    plugins = [make("left"), make("right"), good]
    board = load_board({}, plugins)
    assert board.rejected_tools["coin"].fix == 'write executor = "left" under [tools.coin]'
    async with open_host({"tools": {"coin": {"executor": "right"}}}, plugins) as host:
        assert (await host.session().call("coin")).text == "right"


@pytest.mark.parametrize("wanted", ["left", "lefft", "lefft:there", "none", "right:there", "left:", ":there", ""])
def test_a_tool_whose_executor_is_not_there_runs_nowhere(make_plugin: Any, good: Any, wanted: str) -> None:
    """And not in the place of it, in silence, on this machine."""

    class Places:
        def at(self, place: str) -> Any:
            return "no executor"

    async def execute(context: Any, arguments: Any) -> str:
        return "right"

    plugins = [
        make_plugin("left", make_executor=lambda tool: Places()),
        make_plugin("right", make_executor=lambda tool: execute),
        make_plugin("none", make_executor=lambda tool: None),
        good,
    ]
    board = load_board({"tools": {"coin": {"executor": wanted}}}, plugins)
    assert not board.tools
    assert board.rejected_tools["coin"].why


async def test_an_executor_is_asked_for_a_place_and_only_where_it_is_named(make_plugin: Any, good: Any) -> None:
    asked: list[str] = []

    class Places:
        def at(self, place: str) -> Any:
            async def execute(context: Any, arguments: Any) -> str:
                return place

            asked.append(place)
            return None if place == "here" else execute

    def make_executor(tool: Any) -> Any:
        return Places()

    make_executor.only_named = True  # type: ignore[attr-defined]
    plugins = [make_plugin("far", make_executor=make_executor), good]
    for config, answer in (({}, None), ({"executor": "far:away:off"}, "away:off"), ({"executor": "far:here"}, None)):
        async with open_host({"tools": {"coin": config}} if config else {}, plugins) as host:
            text = (await host.session().call("coin")).text
            assert (text == answer) if answer else text in ("heads", "tails"), text
    assert asked == ["away:off", "here"]


# two plugins, one tool name ----------------------------------------


@pytest.fixture
def claimants(make_plugin: Any) -> list[Any]:
    """Two plugins that both bring `coin`."""
    return [
        make_plugin(name, provide_tools=[Tool(name="coin", run="inplace", handler=lambda name=name: f"of {name}")])
        for name in ("left", "right")
    ]


@pytest.mark.parametrize("turned", [False, True])
async def test_two_plugins_with_one_tool_name_are_both_named_whatever_the_order(
    claimants: list[Any], turned: bool
) -> None:
    async with open_host({}, claimants[::-1] if turned else claimants) as host:
        result = await host.session().call("coin")
        assert result.error.code is ErrorCode.CONFLICT
        assert result.error.details["owners"] == ["left", "right"]
        assert '[tools.coin] from = "left"' in result.text
        assert "coin" not in host.tools
        assert host.board.state_of("coin") == "conflict"
        assert host.session().check("coin").error.code is ErrorCode.CONFLICT


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("owner", ["left", "right"])
async def test_from_settles_a_clash(claimants: list[Any], owner: str, turned: bool) -> None:
    config = {"tools": {"coin": {"from": owner}}}
    async with open_host(config, claimants[::-1] if turned else claimants) as host:
        assert (await host.session().call("coin")).text == f"of {owner}"


def test_from_somewhere_else_leaves_the_tool_off_the_board_and_says_so(claimants: list[Any]) -> None:
    board = load_board({"tools": {"coin": {"from": "elsewhere"}}}, claimants)
    assert not board.tools
    assert "takes it from elsewhere" in board.rejected_tools["coin"].why


def test_a_clash_is_not_settled_by_disabling_and_enabling(claimants: list[Any]) -> None:
    from pegboard import ToolError

    board = load_board({}, claimants)
    with pytest.raises(ToolError) as caught:
        board.enable("coin")
    assert caught.value.code is ErrorCode.CONFLICT
    board.disable("coin")
    with pytest.raises(ToolError) as caught:
        board.enable("coin")
    assert caught.value.code is ErrorCode.CONFLICT
    assert "coin" not in board.tools


def test_each_plugin_gets_its_own_settings(make_plugin: Any) -> None:
    @attrs.frozen
    class Settings:
        n: int = 1

    seen: dict[str, Any] = {}

    def make(name: str) -> Any:
        def provide_tools(settings: Any) -> list[Any]:
            seen[name] = settings
            return []

        hooks = {"provide_settings": lambda: Settings} if name != "plain" else {}
        return make_plugin(name, provide_tools=provide_tools, **hooks)

    load_board({"plugins": {"a": {"n": 5}}}, [make("a"), make("b"), make("plain")])
    assert seen == {"a": Settings(5), "b": Settings(1), "plain": None}


def test_a_wrong_setting_is_the_configurations_fault(make_plugin: Any) -> None:
    @attrs.frozen
    class Settings:
        n: int = 1

    with pytest.raises(ConfigError, match=r"plugins\.a\.n"):
        load_board({"plugins": {"a": {"n": "five"}}}, [make_plugin("a", provide_settings=lambda: Settings)])


def test_two_boards_share_no_manager(good: Any) -> None:
    one, two = load_board({}, [good]), load_board({}, [])
    assert one.plugins.manager is not two.plugins.manager
    assert not two.tools


def test_a_settings_class_that_cannot_be_resolved_loses_its_plugin_alone(make_plugin: Any, good: Any) -> None:
    @attrs.frozen
    class Settings:
        n: NothingOfThatName  # type: ignore[name-defined]  # noqa: F821

    board = load_board({}, [make_plugin("bad", provide_settings=lambda: Settings), good])
    assert record_of(board, "bad").quarantined.startswith("provide_settings: ")
    assert list(board.tools) == ["coin"]


# settings that are left for later ----------------------------------------

LATE = """
import attrs
from pegboard import hookimpl

asked = []

@attrs.frozen
class Settings:
    n: {hint}

@hookimpl
def provide_settings():
    asked.append(1)
    {first}
    return Settings

@hookimpl
def provide_dialects():
    return []
"""
GOOD_CLASS, BAD_CLASS = {"hint": "int = 1", "first": ""}, {"hint": "'Nothing'", "first": ""}
FAILING = {"hint": "int = 1", "first": "raise ValueError('no luck')"}
GIVES = {
    "provide_tools": "\n@hookimpl\ndef provide_tools():\n    return []\n",
    "provide_sources": "\n@hookimpl\ndef provide_sources():\n    return []\n",
    "make_guards": "\n@hookimpl\ndef make_guards(tool):\n    return None\n",
    "make_validator": "\n@hookimpl\ndef make_validator(schema):\n    return None\n",
    "make_executor": "\n@hookimpl\ndef make_executor(tool):\n    return None\n",
}


def asked_of(board: Any, name: str) -> int:
    """How often the plugin was asked for its settings class."""
    return len(board.plugins.records[name].plugin.asked)


def test_settings_of_a_plugin_that_gives_nothing_while_a_board_loads_are_made_once_when_they_are_used(
    install: Any,
) -> None:
    install("late", LATE.format(**GOOD_CLASS))
    board = load_board({})
    assert asked_of(board, "late") == 0
    assert board.plugins.records["late"].settings.n == 1
    _ = board.dialects, list(board.plugins), board.plugins.records["late"].settings
    assert asked_of(board, "late") == 1


@pytest.mark.parametrize("hook", GIVES)
def test_settings_of_a_plugin_that_gives_something_while_a_board_loads_are_made_then(install: Any, hook: str) -> None:
    install("early", LATE.format(**GOOD_CLASS) + GIVES[hook])
    assert asked_of(load_board({}), "early") == 1


@pytest.mark.parametrize("config", [{"plugins": {"late": {}}}, {"strict": True}])
@pytest.mark.parametrize("plugin", [BAD_CLASS, FAILING])
def test_settings_that_fail_are_fatal_at_load_where_their_section_is_named_or_the_board_is_strict(
    install: Any, config: dict[str, Any], plugin: dict[str, str]
) -> None:
    install("late", LATE.format(**plugin))
    with pytest.raises(PluginError, match="'late' of pegboard-late failed at provide_settings"):
        load_board(config)
    with pytest.raises(PluginError, match="'late' of pegboard-late failed at provide_settings"):
        load_board({}, ["late"])


def test_a_variable_names_a_section_too(install: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    install("late", LATE.format(**GOOD_CLASS))
    monkeypatch.setenv("PEGBOARD_PLUGINS__LATE__N", "three")
    with pytest.raises(ConfigError, match=r"plugins\.late\.n"):
        load_board()


@pytest.mark.parametrize("plugin", [BAD_CLASS, FAILING])
@pytest.mark.parametrize(
    "use",
    [
        lambda board: board.dialects,
        lambda board: board.plugins.records["late"].settings,
        lambda board: list(board.plugins),
        lambda board: board.plugins.quarantined,
        lambda board: board.findings(),
    ],
)
def test_settings_that_fail_put_their_plugin_aside_and_name_it_whenever_it_is_used(
    install: Any, plugin: dict[str, str], use: Callable[[Any], object]
) -> None:
    install("late", LATE.format(**plugin))
    board = load_board({})
    use(board)
    record = board.plugins.records["late"]
    assert record.quarantined.startswith("provide_settings: ")
    assert [one.name for one in board.plugins.quarantined] == ["late"]
    assert any("pegboard-late" in finding.where for finding in board.findings())


def test_the_configuration_is_shown_with_the_settings_that_nobody_used_yet(install: Any) -> None:
    install("late", LATE.format(**GOOD_CLASS))
    install("early", LATE.format(**GOOD_CLASS) + GIVES["provide_tools"])
    board = load_board({})
    board.plugins.make_settings()
    shown = [row.key.split(".")[1] for row in board.config.describe() if row.key.startswith("plugins.")]
    assert shown == sorted(shown)
    assert {"early", "late"} <= {*shown}


def test_settings_that_have_to_be_said_are_missed_whenever_they_are_used(install: Any) -> None:
    install("late", LATE.format(hint="int", first=""))
    board = load_board({})
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"plugins\.late"):
            _ = board.plugins.records["late"].settings


# what is not an ordinary exception, and nothing in a list ----------------------------------------


class Panic(BaseException):
    """As extensions written in Rust raise it: no `Exception`."""


class SpeechlessError(Exception):
    """Its own text breaks."""

    def __str__(self) -> str:
        raise RuntimeError


def raising(problem: BaseException) -> Callable[[], Any]:
    def hook() -> Any:
        raise problem

    return hook


@pytest.mark.parametrize("problem", [Panic("at the disco"), SpeechlessError(), BaseExceptionGroup("", [Panic()])])
@pytest.mark.parametrize("hook", ["provide_settings", "provide_tools", "provide_sources", "add_hookspecs"])
async def test_whatever_a_hook_raises_its_plugin_alone_is_lost(
    make_plugin: Any, good: Any, hook: str, problem: BaseException
) -> None:
    async with open_host({}, [good, make_plugin("bad", **{hook: raising(problem)})]) as host:
        assert record_of(host.board, "bad").quarantined.startswith(f"{hook}: {type(problem).__name__}")
        assert (await host.session().call("coin")).ok


@pytest.mark.parametrize("problem", [Panic("at the disco"), SpeechlessError()])
async def test_whatever_is_raised_later_is_said_and_the_rest_works(
    make_plugin: Any, good: Any, problem: BaseException
) -> None:
    hooks = {name: raising(problem) for name in ("provide_checks", "provide_observers", "open_resources")}
    plugins = [make_plugin(f"bad_{name}", **{name: hook}) for name, hook in hooks.items()]
    async with open_host({}, [good, *plugins]) as host:
        assert any(type(problem).__name__ in finding.why for finding in host.board.findings())
        assert (await host.session().call("coin")).ok


def test_ctrl_c_at_a_hook_ends_the_program(make_plugin: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_board({}, [make_plugin("slow", provide_tools=raising(KeyboardInterrupt()))])


@pytest.mark.parametrize("hook", ["provide_tools", "provide_sources"])
def test_nothing_in_a_list_is_rubbish_too(make_plugin: Any, good: Any, hook: str) -> None:
    board = load_board({}, [good, make_plugin("bad", **{hook: [None]})])
    assert "gave NoneType" in record_of(board, "bad").quarantined
    assert list(board.tools) == ["coin"]


def test_a_plugin_cannot_push_one_of_the_cores_own_off_the_board() -> None:
    class Access:
        name = "access"

        @hookimpl
        def provide_tools(self) -> list[Tool]:
            return []

    board = load_board({}, [Access()])
    assert board.plugins.records["access"].builtin
    assert board.plugins.records["access"].quarantined is None
    assert [one.name for one in board.plugins.quarantined] == ["access"]


def test_what_is_wrong_with_the_sections_of_two_plugins_is_said_at_once() -> None:
    @attrs.frozen
    class Settings:
        size: int = 1

    def plugin(name: str) -> Any:
        return type(name, (), {"name": name, "provide_settings": hookimpl(lambda self: Settings)})()

    with pytest.raises(ConfigError) as caught:
        load_board({"plugins": {"one": {"size": "x"}, "two": {"sise": 1}}}, [plugin("one"), plugin("two")])
    assert [fault.where for fault in caught.value.faults] == ["plugins.one.size", "plugins.two.sise"]
    assert caught.value.message == "the configuration has 2 faults"


def test_faults_of_the_core_and_of_plugins_are_in_one_list(make_plugin: Any) -> None:
    @attrs.frozen
    class Settings:
        size: int = 1
        port: int = 1

    plugin = make_plugin("one", provide_settings=Settings)
    config = {"timeout_s": "soon", "tools": [3], "plugins": {"one": {"size": "x", "port": "${NOWHERE_SET}"}}}
    with pytest.raises(ConfigError, match="the configuration has 4 faults") as caught:
        load_board(config, [plugin])
    assert sorted((fault.where, fault.expected) for fault in caught.value.faults) == [
        ("plugins.one.port", "the variable NOWHERE_SET to be set"),
        ("plugins.one.size", "an integer"),
        ("timeout_s", "a finite number"),
        ("tools[0]", "a table with type: mcp"),
    ]
    with pytest.raises(ConfigError, match="a fault") as caught:  # what should be tables stops it there
        load_board({"plugins": 3}, [plugin])
    assert caught.value.faults[0].where == "plugins"


def test_a_plugin_that_fails_beside_a_wrong_configuration_is_not_what_is_said(make_plugin: Any) -> None:
    with pytest.raises(ConfigError, match="timeout_s"):
        load_board({"timeout_s": "soon"}, ["no-such-plugin"])


def test_a_guard_that_says_what_is_wrong_is_heard_in_its_own_words(make_plugin: Any) -> None:
    @tool
    def changed() -> None:
        """It changed."""

    def make_guards(tool: Any) -> Any:
        raise PluginError("it changed since it was accepted", hint="look at it")

    board = load_board({}, [make_plugin("lock", make_guards=make_guards, provide_tools=[changed])])
    absent = board.rejected_tools["changed"]
    assert (absent.why, absent.fix) == ("it changed since it was accepted", "look at it")


def test_a_tool_that_is_held_back_keeps_no_strict_board_from_loading(make_plugin: Any) -> None:
    @tool
    def changed() -> None:
        """It changed."""

    def make_guards(tool: Any) -> Any:
        raise HeldBackError("nobody accepted it", hint="look at it")

    plugin = make_plugin("lock", make_guards=make_guards, provide_tools=[changed])
    board = load_board({"strict": True}, [plugin])
    assert board.rejected_tools["changed"].why == "nobody accepted it"
    assert [one.fix for one in board.findings() if one.where == "tool changed of lock"] == ["look at it"]
