"""Exports: names there and back, definitions that are kept, what goes strict in one request, calls of any form."""

from __future__ import annotations

import gc
import json
import re
import weakref
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, Tool, ToolCall, ToolResult
from pegboard_chat.portable import Compiled, PortableExport, alias_of
from pegboard_chat.portable import export as exporting
from pegboard_chat.portable.names import alias_for, is_safe
from pegboard_chat.portable.profiles import (
    ANTHROPIC_STRICT,
    COHERE_STRICT,
    GEMINI_PARAMETERS,
    OPENAI_PLAIN,
    OPENAI_STRICT,
    PROFILES,
)

if TYPE_CHECKING:
    from pegboard_chat.portable import Profile

pytestmark = pytest.mark.usefixtures("settled")

ALIAS = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", re.ASCII)
NUMBER = {"type": "integer"}


async def handler(**arguments: Any) -> None: ...


def tool(name: str, *required: str, description: str = "Does things.", **properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return Tool(name=name, handler=handler, description=description, input_schema=schema)


def define(tool: Tool, alias: str, compiled: Compiled, description: str) -> dict[str, Any]:
    return {"name": alias, "description": description, "parameters": compiled.schema, "strict": compiled.strict}


def export(*tools: Tool, profile: Profile = OPENAI_STRICT) -> PortableExport:
    return PortableExport(tools, profile, define)


def error_of(answer: ToolCall | ToolResult) -> str:
    assert isinstance(answer, ToolResult)
    assert answer.error is not None
    assert answer.error.code is ErrorCode.INVALID_INPUT
    return answer.error.message


# Names.


@given(st.text(min_size=1, max_size=140) | st.from_regex(r"[a-z.]{1,130}", fullmatch=True))
def test_any_name_has_an_alias_that_every_provider_takes(name: str) -> None:
    alias = alias_of(name)
    assert ALIAS.fullmatch(alias)
    assert alias == alias_of(name)
    assert (alias == name) == (ALIAS.fullmatch(name) is not None) == is_safe(name)
    assert ALIAS.fullmatch(alias_for(name, digits=24))


def test_a_name_that_changes_keeps_what_it_can() -> None:
    assert re.fullmatch(r"files_read_[0-9a-f]{8}", alias_of("files.read"))
    assert re.fullmatch(r"_1_2_[0-9a-f]{8}", alias_of("1/2"))
    assert alias_of("files.read") != alias_of("files/read")
    assert re.fullmatch(r"x{54}_[0-9a-f]{8}", alias_of("x" * 128))


def test_aliases_lead_back_and_are_told_as_losses() -> None:
    made = export(tool("files.read", "a", a=NUMBER), tool("plain"))
    alias = alias_of("files.read")
    assert made.aliases == {alias: "files.read", "plain": "plain"}
    assert [definition["name"] for definition in made.definitions] == [alias, "plain"]
    assert made.alias_of("files.read") == alias
    assert made.alias_of("gone.since") == alias_of("gone.since")
    assert made.call_of("1", alias, {"a": 1}) == ToolCall("1", "files.read", {"a": 1})
    assert [tuple(loss) for loss in made.losses] == [("files.read", "name", f"is called {alias} there")]


def test_a_tool_whose_own_name_is_the_alias_of_another_keeps_it() -> None:
    taken = alias_of("a.b")
    for tools in ((tool("a.b"), tool(taken)), (tool(taken), tool("a.b"))):
        made = export(*tools)
        assert made.aliases[taken] == taken
        assert made.alias_of("a.b") == alias_for("a.b", digits=24)
        assert made.aliases[made.alias_of("a.b")] == "a.b"


# Definitions.


def test_a_second_export_gives_the_very_definitions_of_the_first() -> None:
    tools = [tool("a", "n", n=NUMBER), tool("b")]
    first, again = export(*tools), export(*reversed(tools))
    assert again.definitions[1] is first.definitions[0]
    assert again.definitions[0] is first.definitions[1]
    assert export(*tools, profile=OPENAI_PLAIN).definitions[0] is not first.definitions[0]


@pytest.mark.unmeasured
def test_what_is_kept_of_a_tool_goes_with_the_tool() -> None:
    gc.collect()
    before = len(exporting._kept)
    tools = [tool(f"t{n}", "a", a=NUMBER) for n in range(50)]
    made: PortableExport | None = export(*tools)
    assert len(exporting._kept) == before + 50
    gone = weakref.ref(tools[0])
    del made, tools
    gc.collect()
    assert gone() is None
    assert len(exporting._kept) == before


def test_definitions_of_one_tool_do_not_pile_up() -> None:
    one = tool("a")
    for _ in range(3 * exporting.MAX_KEPT):
        PortableExport([one], OPENAI_STRICT, lambda tool, alias, compiled, description: {"name": alias})
    assert len(exporting._kept[one].definitions) <= exporting.MAX_KEPT


def test_a_description_ends_with_what_the_schema_says_as_a_whole() -> None:
    schema = {
        "type": "object",
        "properties": {"a": NUMBER, "b": NUMBER},
        "minProperties": 1,
        "additionalProperties": False,
    }
    made = export(Tool(name="t", handler=handler, description="Adds.", input_schema=schema))
    assert made.definitions[0]["description"] == "Adds.\n\nThe arguments: at least 1 property."
    bare = export(Tool(name="t", handler=handler, title="Adding", input_schema=schema))
    assert bare.definitions[0]["description"] == "Adding\n\nThe arguments: at least 1 property."
    nameless = export(Tool(name="t", handler=handler, input_schema=schema))
    assert nameless.definitions[0]["description"] == "The arguments: at least 1 property."


def test_a_long_description_is_cut_where_the_provider_has_a_limit() -> None:
    made = export(tool("t", description="x" * 2_000))
    text = made.definitions[0]["description"]
    assert len(text) == 1_024
    assert text.endswith("…")
    assert [tuple(loss) for loss in made.losses] == [("t", "description", "cut at 1,024 characters")]
    assert (
        len(export(tool("t", description="x" * 2_000), profile=GEMINI_PARAMETERS).definitions[0]["description"])
        == 2_000
    )


# Strict.


def open_tool(name: str) -> Tool:
    return Tool(name=name, handler=handler, input_schema={"type": "object", "properties": {"a": NUMBER}})


def test_a_tool_that_cannot_be_strict_leaves_the_others_so() -> None:
    made = export(tool("a", "n", n=NUMBER), open_tool("b"))
    assert made.strict == {"a": True, "b": False}
    assert [definition["strict"] for definition in made.definitions] == [True, False]
    assert [(loss.tool, loss.path) for loss in made.losses] == [("b", "input_schema")]


def test_anthropic_takes_twenty_strict_tools_in_a_request() -> None:
    made = export(*[tool(f"t{n}", "a", a=NUMBER) for n in range(25)], profile=ANTHROPIC_STRICT)
    assert list(made.strict.values()) == [True] * 20 + [False] * 5
    assert made.losses[0].tool == "t20"
    assert made.losses[0].what == "not strict: a request takes 20 strict tools"


def test_anthropic_takes_so_many_optional_properties_and_unions_in_a_request() -> None:
    many = tool("many", **{f"p{n}": NUMBER for n in range(20)})
    unions = tool("unions", **{f"p{n}": {"type": ["integer", "string"]} for n in range(4)})
    made = export(many, unions, tool("five", **{f"p{n}": NUMBER for n in range(5)}), profile=ANTHROPIC_STRICT)
    assert made.strict == {"many": True, "unions": True, "five": False}
    assert "24 optional properties" in made.losses[-1].what or "24 optional properties" in made.losses[0].what


def test_cohere_is_strict_for_all_tools_or_for_none() -> None:
    good = [tool(f"t{n}", "a", a=NUMBER) for n in range(3)]
    assert all(export(*good, profile=COHERE_STRICT).strict.values())
    made = export(*good, open_tool("open"), tool("late", "a", a=NUMBER), profile=COHERE_STRICT)
    assert not any(made.strict.values())
    assert {loss.tool for loss in made.losses} == {"t0", "t1", "t2", "open", "late"}
    assert any("open cannot be" in loss.what for loss in made.losses)
    wide = [tool(f"w{n}", "p0", **{f"p{m}": NUMBER for m in range(60)}) for n in range(4)]
    crowded = export(*wide, profile=COHERE_STRICT)
    assert not any(crowded.strict.values())
    assert "200 properties" in crowded.losses[0].what


# Calls.


def test_arguments_come_as_text_or_as_an_object_or_not_at_all() -> None:
    made = export(tool("add", "a", a=NUMBER, b=NUMBER))
    expected = ToolCall("1", "add", {"a": 1})
    assert made.call_of("1", "add", '{"a": 1, "b": null}') == expected
    assert made.call_of("1", "add", {"a": 1, "b": None}) == expected
    for nothing in (None, "", "  ", "null", {}):
        assert made.call_of("1", "add", nothing) == ToolCall("1", "add", {})


def test_a_name_that_is_not_there_is_a_call_for_the_session_to_answer() -> None:
    assert export().call_of("1", "nope", '{"x": null}') == ToolCall("1", "nope", {"x": None})


@pytest.mark.parametrize("id", [None, 3, "", "x" * 2_000, []])
def test_a_missing_id_is_drawn(id: Any) -> None:
    made = export()
    one, two = made.call_of(id, "t", None), made.call_of(id, "t", None)
    assert one.id.startswith("call_")
    assert one.id != two.id


def test_arguments_that_were_cut_off_are_told_with_their_end() -> None:
    made = export(tool("write", "text", text={"type": "string"}))
    message = error_of(made.call_of("1", "write", '{"text": "it was a dark'))
    assert message == (
        "the arguments are not a JSON object: unterminated string that starts at line 1, column 10; "
        """they end in '{"text": "it was a dark' and look cut off: send the whole call again"""
    )
    answer = made.call_of("1", "write", '{"text": tru')
    assert "look cut off" in error_of(answer)
    assert (answer.id, answer.name) == ("1", "write")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{'a': 1}", "line 1, column 2"),
        ("[1]", "expected a JSON object, got array"),
        ('"text"', "expected a JSON object, got string"),
        (3, "expected a JSON object, got number"),
        (["a"], "expected a JSON object, got array"),
        ('{"a": NaN}', "NaN"),
        ("[" * 100_000, "nested more than 64 levels"),
        ('{"a": "' + "x" * 10_000_000 + '"}', "longer than 4,194,304 characters"),
        ('{"a": "\\ud800"}', "surrogate"),
    ],
)
def test_arguments_that_are_no_object_are_an_answer_to_the_model(arguments: Any, words: str) -> None:
    message = error_of(export(tool("t")).call_of("1", "t", arguments))
    assert words in message.replace("integer", "number")
    assert len(message) < 400


@pytest.mark.parametrize("alias", [None, "", 3, {}])
def test_a_call_without_a_name_is_not_a_valid_call(alias: Any) -> None:
    assert error_of(export().call_of("1", alias, "{}")) == "a call needs the name of a tool"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200)
@given(id=JSON, alias=JSON, arguments=JSON | st.text() | JSON.map(json.dumps), cut=st.integers(0, 20))
def test_any_json_from_a_model_is_a_call_or_an_answer(id: Any, alias: Any, arguments: Any, cut: int) -> None:
    inner = {"type": "object", "properties": {"b": NUMBER}, "additionalProperties": False}
    made = export(tool("t", a=inner, b={"type": "array", "items": inner}))
    for name in (alias, "t"):
        for given_ in (arguments, arguments[:cut] if isinstance(arguments, str) else arguments):
            answer = made.call_of(id, name, given_)
            assert isinstance(answer, (ToolCall, ToolResult))
            assert answer.id
            if isinstance(answer, ToolCall):
                assert isinstance(answer.arguments, dict)


def test_restore_and_fill_by_name_leave_unknown_tools_alone() -> None:
    made = export(tool("t", a=NUMBER))
    assert made.restore("t", {"a": None}) == {}
    assert made.fill("t", {}) == {"a": None}
    assert made.restore("gone", {"a": None}) == made.fill("gone", {"a": None}) == {"a": None}


def test_tools_that_a_request_has_no_room_for_are_not_compiled_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_schema, seen = exporting.compile_schema, []

    def counted(schema: Any, profile: Profile, *, tool: str = "") -> Compiled:
        seen.append((tool, profile.name))
        return compile_schema(schema, profile, tool=tool)

    monkeypatch.setattr(exporting, "compile_schema", counted)
    optional = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    tools = [Tool(name=f"t{n}", handler=print, input_schema=optional) for n in range(30)]
    made = export(*tools, profile=attrs.evolve(ANTHROPIC_STRICT, max_optional=5))
    assert sum(made.strict.values()) == 5
    assert [name for _, name in seen] == ["anthropic strict"] * 5 + ["anthropic plain"] * 25


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
@pytest.mark.parametrize(
    "schema",
    [7, "x", None, [], True, {"properties": 7}, {"properties": {"a": 7}}, {"properties": {"a": {}}, "required": 7}],
)
def test_a_tool_whose_schema_is_none_is_exported_all_the_same(schema: Any, profile: Profile) -> None:
    made = export(Tool(name="odd", handler=handler, input_schema=schema), profile=profile)
    assert made.definitions[0]["parameters"]["type"] in ("object", "OBJECT")
    assert made.losses or schema is True
