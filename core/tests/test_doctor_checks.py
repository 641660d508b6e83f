"""What doctor sees on a board, each with its fix."""

from __future__ import annotations

import re

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import Guard, Stage, Tool, hookimpl, load_board, setting, tool
from pegboard.contract import SourceState
from pegboard.doctor import HIDDEN_CHARACTERS, SAFE_NAME, hidden_in
from pegboard.tools import Origin

OBJECT = {"type": "object", "properties": {}}


def plain(name: str = "one", **fields) -> Tool:
    return Tool(**{"name": name, "handler": print, "description": "Do it.", "input_schema": OBJECT, **fields})


class Brings:
    def __init__(self, *tools: Tool, name: str = "brings") -> None:
        self.name = name
        self._tools = tools

    @hookimpl
    def provide_tools(self):
        return self._tools


def findings(*tools: Tool, config=None, plugins=()):
    return load_board(config, [Brings(*tools), *plugins]).findings()


def whats(found) -> list[str]:
    return [one.what for one in found]


def test_a_board_that_is_well_has_no_findings():
    assert findings(plain(), plain("two-b_2")) == []


def test_every_finding_says_what_where_why_and_how_to_repair_it():
    found = findings(
        plain("näme", description="", input_schema={"type": "object", "anyOf": [{}]}), plain(secrets=["NO_X"])
    )
    assert len(found) >= 4
    for one in found:
        assert all((one.what, one.where, one.why, one.fix))
        assert set(one.to_json()) == {"what", "where", "why", "fix", "severity"}


# -- plugins


def test_a_quarantined_plugin_is_named_with_its_cause():
    class Bad:
        name = "bad"

        @hookimpl
        def provide_tools(self):
            raise ValueError("no disk")

    (one,) = findings(plugins=[Bad()])
    assert (one.what, one.where, one.severity) == ("a plugin is quarantined", "plugin 'bad'", "error")
    assert "no disk" in one.why
    assert re.fullmatch(r'repair .*test_doctor_checks.py:\d+, or leave it out: without = \["bad"\]', one.fix)


def test_the_fix_of_an_installed_plugin_names_its_distribution():
    board = load_board({}, [Brings()])
    board.plugins.records["brings"].distribution = "pegboard-brings"
    board.plugins.records["brings"].quarantined = "import: no"
    (one,) = board.findings()
    assert "pip install --upgrade pegboard-brings" in one.fix


def test_a_slow_import_is_a_warning_and_a_built_in_is_not_judged():
    board = load_board({}, [Brings()])
    board.plugins.records["brings"].import_s = 1.5
    board.plugins.records["audit"].import_s = 1.5
    (one,) = board.findings()
    assert (one.what, one.severity) == ("a plugin is slow to import", "warning")
    assert "1.50 s" in one.why


# -- what is registered


def test_a_tool_that_is_not_registered_is_named_with_its_fix():
    (one,) = findings(plain(input_schema={"type": "objekt"}))
    assert one.what == "a tool is not on the board"
    assert "tool one" in one.where


def test_a_clash_says_how_to_settle_it():
    (one,) = findings(plain(), plugins=[Brings(plain(), name="second")])
    assert one.what == "two plugins claim one name"
    assert one.fix == '[tools.one] from = "brings"'


def test_a_disabled_tool_is_not_a_fault():
    assert findings(plain(), config={"tools": {"one": {"enabled": False}}}) == []


# -- configuration


def test_settings_of_a_tool_that_is_not_there_name_the_nearest():
    found = findings(
        plain("calculator"), config={"tools": {"calculatr": {}, "zzz": {}, "Calculator": {}, "read_result": {}}}
    )
    assert whats(found) == ["settings of a tool that is not there"] * 2
    assert found[0].fix == "write [tools.calculator]"
    assert "remove it" in found[1].fix


@pytest.mark.parametrize("table", ["flows", "secrets"])
@pytest.mark.parametrize("part", ["from", "to"])
def test_a_policy_for_what_is_not_there_is_a_warning(table, part):
    right = {"send_mail": "refuse", "tag:post": "refuse", "brings": "refuse", "audit": "refuse"}
    wrong = {"send_mial": "refuse", "tag:pots": "refuse", "zzz": "allow"}
    found = findings(plain("send_mail", tags=frozenset({"post"})), config={table: {part: right | wrong}})
    assert [one.where for one in found] == [f"[{table}.{part}] {name}" for name in wrong]
    assert [one.fix for one in found[:2]] == ["write send_mail", "write tag:post"]
    assert "pegboard list" in found[2].fix


def test_a_profile_that_selects_nothing_is_a_warning():
    (one,) = findings(plain(), config={"profiles": {"none": {"tools": ["x*"]}, "all": {}}})
    assert one.where == "[profiles.none]"
    assert findings(config={"profiles": {"none": {"tools": ["x*"]}}}) == []


def test_a_guard_that_nobody_has_cannot_observe():
    class Watch:
        name = "watch"

        @hookimpl
        def make_guards(self, tool):
            return Guard(name="watch", stage=Stage.ADMIT, check=lambda session: None)

    (one,) = findings(plain(), plugins=[Watch()], config={"observe": ["watch", "wach"]})
    assert "'wach'" in one.why
    assert "watch" in one.fix


def test_a_secret_that_is_not_set_is_a_warning(monkeypatch):
    monkeypatch.setenv("TEST_SET", "x")
    monkeypatch.delenv("TEST_UNSET", raising=False)
    (one,) = findings(plain(secrets=["TEST_SET", "TEST_UNSET"]))
    assert one.fix == "set the environment variable TEST_UNSET"


# -- what providers take


@pytest.mark.parametrize(
    ("name", "refusing"),
    [
        ("9lives", ["Gemini"]),
        ("a.b", ["OpenAI", "Anthropic"]),
        ("a" * 65, ["OpenAI"]),
        ("a b", ["OpenAI", "Anthropic", "Gemini"]),
    ],
)
def test_names_that_a_provider_would_refuse(name, refusing):
    (one,) = findings(plain(name))
    assert one.why == f"{', '.join(refusing)} would refuse it"
    assert SAFE_NAME in one.fix


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": ["object"]}, "not of type object"),
        ({}, "not of type object"),
        ({"type": "object", "oneOf": [{}]}, "oneOf at the root"),
        ({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {}}}, "is a reference"),
        ({"type": "object", "properties": {"größe": {"type": "integer"}}}, "refuses the parameter 'größe'"),
    ],
)
def test_schemas_that_a_provider_would_refuse(schema, said):
    board = load_board({}, [Brings(plain(input_schema=schema, origin=Origin(source="s")))])
    assert not board.rejected_tools
    assert any(said in one.why for one in board.findings())


def test_descriptions_that_are_missing_or_too_long():
    found = findings(plain(description=" "), plain("two", description="x" * 1025))
    assert whats(found) == ["a tool has no description", "a provider would refuse the tool"]
    assert "1025 characters" in found[1].why


def test_more_tools_than_every_provider_takes():
    found = findings(*(plain(f"t{number}") for number in range(129)))
    assert whats(found) == ["more tools than every provider takes"]


def test_what_a_foreign_schema_says_and_nobody_holds():
    @tool(input_schema={"type": "object", "properties": {"a": {"type": "string", "fromat": "date"}}})
    async def foreign(**arguments: object) -> None:
        """Somebody else's."""

    board = load_board({}, [Brings()])
    board.replace_source("server", [foreign])
    (one,) = board.findings()
    assert one.what == "a schema says what nobody holds"
    assert "fromat" in one.why
    assert "server" in one.where


# -- hidden texts


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a\U000e0041b", "tags block"),
        ("a\u202eb", "direction"),
        ("a\u2066b", "direction"),
        ("a\u200bb", "without width"),
        ("a\u200db", "without width"),
        ("\ufeffa", "without width"),
        ("a\x1b[1m", "control"),
        ("a\x9b1m", "control"),
    ],
)
def test_hidden_characters_are_found(text, what):
    (seen,) = hidden_in(text)
    assert what in seen


@pytest.mark.parametrize(
    "text", ["plain", "two\nlines\tand tabs\r\n", "naïve 日本語 עברית", "👩‍🔬 👨‍👩‍👧 ❤️", "می‌خواهم", ""]
)
def test_ordinary_texts_hide_nothing(text):
    assert hidden_in(text) == []


@given(st.text(), st.sampled_from("\u202e\u200b\U000e0020\x1b\u2069\x00"), st.text())
def test_no_text_around_it_hides_a_hidden_character(before, hidden, after):
    assert hidden_in(before + hidden + after)


def test_every_text_that_a_model_reads_is_looked_at():
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "x\u200by", "enum": ["b\u202e"]},
            "k\u2066": {"type": "null"},
        },
    }
    found = findings(
        plain(title="t\u200b", description="d\u200b", input_schema=schema, output_schema={"title": "o\u200b"})
    )
    places = {one.where.rpartition(", ")[2] for one in found if one.what == "hidden characters"}
    assert places >= {"title", "description", "input_schema.properties.a.description",
                      "input_schema.properties.a.enum[0]", "output_schema.title"}  # fmt: skip
    assert any("a key" in one.where for one in found)
    assert all(one.severity == "error" for one in found if one.what == "hidden characters")
    assert all(ord(char) < 0x80 for one in found if one.what == "hidden characters" for char in one.where)


def test_the_table_of_hidden_characters_compiles_and_says_what_it_finds():
    import re

    for what, pattern in HIDDEN_CHARACTERS.items():
        assert re.compile(pattern)
        assert what.islower() or "tags" in what


# -- a board that runs


async def test_threads_left_behind_and_failing_observers_are_named():
    board = load_board({}, [Brings(plain())])
    ticket = board.runtime.threads.ticket("one")
    ticket.abandoned()
    board.runtime.failed_observers["spy"] += 2
    board.source_states["server"] = (SourceState.BACKING_OFF, "refused")
    board.source_states["other"] = (SourceState.READY, None)
    found = board.findings()
    assert whats(found) == ["threads are left behind", "an observer fails", "a source is down"]
    assert "2 calls" in found[1].why
    assert (found[2].where, found[2].why) == ("source server", "refused")
    ticket.ended()
    board.runtime.failed_observers.clear()
    board.source_states.clear()
    assert board.findings() == []


def test_a_validator_that_breaks_is_found_and_another_holds_the_schema():
    class Breaks:
        name = "breaks"

        @hookimpl
        def make_validator(self, schema):
            raise ZeroDivisionError

        @hookimpl
        def provide_tools(self):
            return [tool(name="one", run="inplace")(lambda: 1)]

    board = load_board({}, [Breaks()])
    assert "one" in board.tools
    (finding,) = [one for one in board.findings() if one.what == "a validator failed"]
    assert "breaks" in finding.where
    assert "ZeroDivisionError" in finding.why


def test_a_tool_that_its_permissions_keep_off_is_a_note_with_its_fix():
    @attrs.frozen
    class Permissions:
        paths: tuple[str, ...] = setting((), widens=True)

        @property
        def disabled_reason(self):
            return None if self.paths else ("no path is allowed", "write paths under [tools.one]")

    guarded = plain(permissions=Permissions)
    (found,) = findings(guarded)
    assert (found.what, found.why, found.severity) == ("a tool is disabled", "no path is allowed", "note")
    assert "one" not in load_board({"strict": True}, [Brings(guarded)]).tools
    assert "one" in load_board({"tools": {"one": {"paths": ["."]}}}, [Brings(guarded)]).tools


def test_a_tool_that_says_both_is_told_by_doctor_and_refused_in_read_only_mode():
    from pegboard import load_board, tool
    from pegboard.doctor import check_annotations

    @tool(read_only=True, destructive=True)
    def both() -> str:
        """Look, and delete."""
        return ""

    board = load_board({"read_only": True}, [])
    board.add(both)
    (finding,) = check_annotations(board)
    assert (finding.what, finding.severity) == ("a tool contradicts itself", "warning")
    assert "it counts as destructive" in finding.why
    assert "both" not in board.visible_tools().offered.tools
