"""What other people's plugins answer: rubbish of every kind, to every hook, costs that plugin, which is named."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

from pegboard import ErrorCode, Finding, Limits, PluginError, Tool, ToolCall, freeze, load_board, open_host
from pegboard.hookspecs import hookimpl
from pegboard.registry import checks


class Hostile:
    """Raises at every look."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("__"):
            return object.__getattribute__(self, name)
        raise SystemExit(name)


def raises(problem: BaseException) -> Any:
    def hook(*_: Any) -> Any:
        raise problem

    return hook


def generator(*_: Any) -> Any:
    yield 1
    raise BaseException("in the middle")


async def coroutine(*_: Any) -> None:
    """Nobody awaits it."""


RUBBISH: dict[str, Any] = {
    "nothing": lambda: None,
    "an int": lambda: 7,
    "a text": lambda: "rubbish",
    "a class": lambda: dict,
    "bytes": lambda: b"\xff",
    "a list of ints": lambda: [1, 2],
    "a hostile object": Hostile,
    "a list of hostile objects": lambda: [Hostile()],
    "a generator that raises": generator,
    "without end": lambda: itertools.repeat(3),
    "a coroutine": coroutine,
    "an error": raises(ValueError("no")),
    "the end of the program": raises(SystemExit(3)),
    "no exception": raises(BaseException("odd")),
    "a group": raises(BaseExceptionGroup("several", [SystemExit(1)])),
}
FAILURES = {"a coroutine", "an error", "the end of the program", "no exception", "a group"}
HOOKS = [
    "provide_settings", "open_resources", "provide_tools", "provide_sources", "make_validator", "make_guards",
    "make_executor", "provide_observers", "provide_dialects", "provide_checks", "register_commands", "add_hookspecs",
    "why_held", "make_layers", "provide_limit_store",
]  # fmt: skip
TAKEN: dict[str, list[Any]] = {
    "provide_checks": [RUBBISH["a list of ints"]],
    "add_hookspecs": [],
    "register_commands": [one for name, one in RUBBISH.items() if name not in FAILURES],
    "make_executor": [RUBBISH["a class"]],
    "make_validator": [RUBBISH["a class"]],
    "provide_observers": [RUBBISH["a class"]],
    "why_held": list(RUBBISH.values()),
}
"""What no hook can know to be rubbish before it is used."""


def plugin_of(hook: str, answer: Any) -> Any:
    """A plugin with that one hook, under the name `guest`."""
    if answer is coroutine:

        async def implementation() -> None:
            """Nobody awaits it."""

    else:

        def implementation() -> Any:
            return answer()

    implementation.__name__ = hook
    guest = type("Guest", (), {"name": "guest", hook: staticmethod(hookimpl(implementation))})
    return guest()


class Good:
    """A plugin that goes on."""

    name = "good"

    @hookimpl
    def provide_tools(self) -> list[Tool]:
        return [Tool(name="coin", handler=lambda: "heads", run="inplace", limits=Limits(rate_limit="9/s"))]


def test_the_table_has_every_hook() -> None:
    from pegboard import hookspecs

    assert set(HOOKS) == {name for name, one in vars(hookspecs).items() if hasattr(one, "pegboard_spec")}


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("answer", RUBBISH.values(), ids=RUBBISH)
@pytest.mark.unmeasured
async def test_rubbish_costs_the_plugin_that_gave_it(hook: str, answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a hook answers, the board loads, the others' tools answer, doctor ends; what failed is named. Only a
    guard that cannot be made takes the tool, or the board, with it, since it must not be missing."""
    import click

    from pegboard.registry import asking

    monkeypatch.setattr(asking, "MAX_ANSWERS", 500)
    plugins_given = [plugin_of(hook, answer), Good()]
    # A guard that cannot be made must not be missing, nor a limit that cannot be counted.
    if hook in ("make_guards", "provide_limit_store") and answer is not RUBBISH["nothing"]:
        board = load_board({}, plugins_given)
        assert not board.tools
        assert "'guest'" in str(board.rejected_tools["coin"].why)
        return
    board = load_board({}, plugins_given)
    found = board.findings()
    assert all(isinstance(one, Finding) for one in found)
    _ = board.dialects
    for _record, _answer in board.plugins.ask("register_commands", cli=click.Group()):
        pass
    async with open_host(board) as host:
        result = await host.session().call("coin")
        missed = await host.session().call("no such thing")
    assert missed.error is not None
    assert missed.error.code is ErrorCode.NOT_FOUND
    told = [str(one.quarantined) for one in board.plugins.quarantined] + [str(board.rejected_tools), str(found)]
    told += [*host.lost_resources, str(board.failed_validators), result.text]
    assert result.ok or "guest" in "".join(told) or answer in TAKEN[hook], result
    is_told = "guest" in "".join([*told, *(one.name for one in board.plugins.quarantined)])
    assert is_told or answer in TAKEN.get(hook, ()) or answer is RUBBISH["nothing"]


class Bad:
    """A dialect of that name, with that export."""

    name = "bad"

    def __init__(self, export: Any) -> None:
        self._export = export

    def export(self, tools: Any) -> Any:
        list(tools)
        return self._export()


class Answered:
    """An export that answers what it is told to."""

    def __init__(self, **answers: Any) -> None:
        self.definitions = answers.get("definitions", [])
        self.aliases = answers.get("aliases", {})
        self.losses = answers.get("losses", [])
        self.strict = {"coin": True}
        self._parse, self._format = answers.get("parse", list), answers.get("format", list)

    def parse(self, message: Any) -> Any:
        return self._parse()

    def format(self, results: Any) -> Any:
        return self._format()


def dialect_of(export: Any) -> Any:
    plugin = plugin_of("provide_dialects", lambda: [Bad(export)])
    return load_board({}, [plugin, Good()])


NO_JSON = [{1, 2}, object(), float("nan"), b"x", Hostile()]


@pytest.mark.parametrize(
    "export",
    [
        *(one for name, one in RUBBISH.items() if name != "a coroutine"),
        *(lambda wrong=wrong: Answered(definitions=[wrong]) for wrong in NO_JSON),
        lambda: Answered(definitions=7),
        lambda: Answered(definitions="text"),
        lambda: Answered(aliases=[1]),
        lambda: Answered(aliases={"a": 1}),
        lambda: Answered(losses=7),
        lambda: Answered(losses=[("a", "b")]),
    ],
)
def test_an_export_that_is_none_is_a_fault_of_its_plugin(export: Any) -> None:
    board = dialect_of(export)
    with pytest.raises(PluginError, match=r"the dialect 'bad' of plugin 'guest' failed: ") as raised:
        board.export("bad")
    assert raised.value.hint


NO_WAY_BACK = [one for name, one in RUBBISH.items() if name not in ("a coroutine", "without end")]


@pytest.mark.parametrize("what", ["parse", "format"])
@pytest.mark.parametrize("answer", NO_WAY_BACK)
def test_a_way_back_that_breaks_is_a_fault_of_its_plugin(what: str, answer: Any) -> None:
    if what == "format" and answer is RUBBISH["a list of ints"]:
        return  # messages may be any JSON
    export = dialect_of(lambda: Answered(**{what: answer})).export("bad")
    with pytest.raises(PluginError, match=r"the dialect 'bad' of plugin 'guest' failed: "):
        getattr(export, what)([])


def test_a_dialect_that_is_right_is_left_as_it_is() -> None:
    call = ToolCall("1", "coin", {})
    made = Answered(
        definitions=({"name": "coin"},), aliases={"c": "coin"}, parse=lambda: (call,), format=lambda: [{"a": 1}]
    )
    export = dialect_of(lambda: made).export("bad")
    assert (list(export.definitions), export.aliases, export.strict) == (
        [{"name": "coin"}],
        {"c": "coin"},
        {"coin": True},
    )  # type: ignore[attr-defined]
    assert (export.parse("x"), export.format([])) == ([call], [{"a": 1}])


def test_a_definition_that_changes_after_an_export_is_looked_at_again() -> None:
    definition: dict[str, Any] = {"name": "coin"}
    board = dialect_of(lambda: Answered(definitions=[definition]))
    assert board.export("bad", ["coin"]).definitions == [{"name": "coin"}]
    definition["name"] = "flip"
    assert board.export("bad", ["coin"]).definitions == [{"name": "flip"}]
    definition["name"] = object()
    with pytest.raises(PluginError, match=r"failed: .*no JSON"):
        board.export("bad", ["coin"])


def test_only_what_was_found_to_be_right_is_looked_at_no_more() -> None:
    answers = [freeze({"name": "coin"}), freeze({"name": "coin", "odd": {1}}), freeze({"name": object()})]
    board = dialect_of(lambda: Answered(definitions=[answers[0]]))
    for _ in range(2):
        assert board.export("bad", ["coin"]).definitions[0] is answers[0]
    for _ in range(2):
        answers[0] = answers[-1]
        with pytest.raises(PluginError, match=r"failed: .*no JSON"):
            board.export("bad", ["coin"])
        answers.pop()


# -- doctor


def checked(*checks: Any) -> list[Finding]:
    found = load_board({}, [plugin_of("provide_checks", lambda: list(checks)), Good()]).findings()
    return [one for one in found if one.where == "plugin 'guest'"]


def test_a_check_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "CHECK_S", 0.05)
    free = threading.Event()
    fine = Finding("x", "plugin 'guest'", "why", "fix")
    try:
        found = checked(lambda board: free.wait(60), lambda board: [fine])
    finally:
        free.set()
    assert [one.why for one in found] == ["it did not end within 0.05 s", "why"]


def test_a_check_may_say_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "CHECK_S", 0.0)
    released = threading.Event()

    def slow(board: Any) -> Any:
        released.wait(0.05)
        return [Finding("x", "plugin 'guest'", "slow", "fix")]

    slow.timeout_s = 60  # type: ignore[attr-defined]
    monkeypatch.setattr(checks, "_in_time", _patient(checks._in_time))
    assert [one.why for one in checked(slow)] == ["slow"]


def _patient(in_time: Any) -> Any:
    """The hook itself is asked without a limit here: only the check's own is looked at."""
    return lambda work, limit_s: in_time(work, limit_s or 60)


@pytest.mark.parametrize(
    "answer",
    [
        7, "text", [7], [None], [("a", "b", "c", "d")], [Finding("a", "b", "c", "d", "loud")],  # type: ignore[arg-type]
        [Finding(1, "b", "c", "d")], [Finding("a" * 10_000, "b", "c", "d")], Hostile(), [Hostile()],  # type: ignore[arg-type]
        itertools.repeat(3),
    ],
)  # fmt: skip
def test_findings_that_are_none_name_the_plugin(answer: Any) -> None:
    (found,) = checked(lambda board: answer)
    assert (found.what, found.severity) == ("a check failed", "error")


# -- validators


def validating(*validators: Any, **config: Any) -> Any:
    """A host on whose board these validators want every schema; and the tool `keep`, which gives what it is given."""

    class Keeps:
        name = "keeps"

        @hookimpl
        def provide_tools(self) -> list[Tool]:
            schema = {"type": "object", "properties": {"things": {"type": "array"}}}
            return [Tool(name="keep", handler=lambda **given: given, run="inplace", input_schema=schema)]

    plugins = []
    for number, validator in enumerate(validators):
        plugin = plugin_of("make_validator", lambda validator=validator: validator)
        plugin.name = f"guest{number}"
        plugins.append(plugin)
    return open_host(config, [*plugins, Keeps()])


async def test_two_validators_for_one_schema_are_a_conflict_at_the_call() -> None:
    both = (lambda value: [], lambda value: [])
    async with validating(*both) as host:
        result = await host.session().call("keep", {"things": []})
        assert result.error.code is ErrorCode.CONFLICT
        assert "'guest0' and 'guest1' both want to validate it" in result.text
        assert 'validator = "guest0"' in result.text
        assert result.error.details["reason"] == "conflict"
        assert host.session().check("keep", {}).error.code is ErrorCode.CONFLICT
        assert host.board.state_of("keep") == "conflict"
        assert len([one for one in host.board.findings() if "both want to validate it" in one.why]) == 1
    async with validating(*both, validator="guest1") as host:
        assert (await host.session().call("keep", {"things": []})).ok


async def test_a_validator_changes_nothing_that_the_tool_is_given() -> None:
    def greedy(value: Any) -> list[Any]:
        value.get("things", []).append("mine")
        value["more"] = value.pop("things", None)
        return []

    given: dict[str, Any] = {"things": [1, {"deep": [2]}]}
    async with validating(greedy) as host:
        result = await host.session().call("keep", given)
    assert result.data == {"things": [1, {"deep": [2]}]}
    assert given == {"things": [1, {"deep": [2]}]}


async def test_a_validator_that_says_that_it_only_reads_is_given_the_value_itself() -> None:
    seen: list[Any] = []

    class OddReader:
        reads_only = True

        def __call__(self, value: Any) -> list[Any]:
            seen.append(value)
            return []

    given = {"things": [1]}
    async with validating(OddReader()) as host:
        await host.session().call("keep", given)
    assert any(one["things"] is given["things"] for one in seen)


@pytest.mark.parametrize(
    "validator",
    [
        lambda value: None, lambda value: 0, lambda value: True, lambda value: "wrong", lambda value: [1],
        raises(ValueError("/a/path")), raises(SystemExit(3)), generator, coroutine,
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
async def test_a_validator_that_answers_rubbish_refuses_the_call(validator: Any) -> None:
    async with validating(validator) as host:
        result = await host.session().call("keep", {"things": []})
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert "the validator of plugin 'guest0' failed" in result.text
    assert "/a/path" not in result.text


async def test_what_is_nested_without_end_is_a_fault_before_any_validator_sees_it() -> None:
    endless: list[Any] = []
    endless.append(endless)
    async with validating(lambda value: []) as host:
        result = await host.session().call("keep", {"things": endless})
    assert result.error.code is ErrorCode.INVALID_INPUT
