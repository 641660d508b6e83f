"""`Tool`, `@tool` and their marks: frozen all the way down, wrong options named."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import (
    Annotations,
    Example,
    Limits,
    Origin,
    RateLimit,
    Tool,
    ToolCall,
    ToolDefinitionError,
    load_board,
    thaw,
    tool,
)
from pegboard.schema import share_parts

JSON = st.recursive(
    st.none() | st.booleans() | st.sampled_from([0, 1, 2**70, 0.0, -0.0, 1.0, 0.5]) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


def double(n: int) -> int:
    """Twice as much."""
    return 2 * n


async def later() -> None: ...


def test_a_tool_says_what_its_function_says_and_is_still_that_function() -> None:
    made = tool(double)
    assert (made.name, made.description, made.run) == ("double", "Twice as much.", "thread")
    assert made(4) == 8
    assert tool(later).run == "async"
    assert made.read_only is False


def test_every_mark_and_limit_is_taken_by_name() -> None:
    made = tool(
        name="two", title="Two", description="d", category="math", tags=["a", "b"], run="inplace", read_only=True,
        destructive=False, idempotent=True, open_world=False, risk="high", parallel=True, timeout_s=1, cooldown_s=2,
        rate_limit="3/minute", concurrency=4, requires_user=True, requires_confirmation="Sure?", max_result_bytes=5,
        output_schema={"type": "object"}, examples=[{"n": 1}, Example({"n": 2}, "two", "4")], icons=[{"src": "x"}],
        version="1", secrets=["KEY"], permissions=Limits,
    )(double)  # fmt: skip
    assert made.annotations == Annotations(True, False, True, False, "high", True)
    assert made.limits == Limits(1, 2, RateLimit(3, 60), 4, True, "Sure?", 5)
    assert (made.name, made.title, made.description, made.category) == ("two", "Two", "d", "math")
    assert (made.tags, made.secrets, made.version, made.permissions) == ({"a", "b"}, {"KEY"}, "1", Limits)
    assert [dict(example.arguments) for example in made.examples] == [{"n": 1}, {"n": 2}]
    assert made.output_schema == {"type": "object"}


def test_a_tool_is_frozen_all_the_way_down() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}}}
    made = Tool(name="a", handler=double, input_schema=schema, icons=[{"src": ["x"]}], examples=[{"a": [1]}])
    schema["properties"]["a"]["enum"].append(3)  # type: ignore[index]
    assert made.input_schema == {"type": "object", "properties": {"a": {"enum": [1, 2]}}}
    changes: list[Any] = [
        lambda: made.input_schema.update(a=1),  # type: ignore[attr-defined]
        lambda: made.input_schema["properties"]["a"]["enum"].append(3),
        lambda: made.input_schema["properties"].pop("a"),
        lambda: made.icons[0]["src"].clear(),
        lambda: made.examples[0].arguments["a"].sort(),
    ]
    for change in changes:
        with pytest.raises(TypeError, match="frozen"):
            change()
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        made.name = "b"  # type: ignore[misc]


def test_frozen_values_are_their_own_copies_and_thaw_makes_one_that_may_change() -> None:
    schema = Tool(name="a", handler=double, input_schema={"type": "object", "required": ["a"]}).input_schema
    assert copy.copy(schema) is schema is copy.deepcopy(schema)
    assert copy.copy(schema["required"]) is schema["required"] is copy.deepcopy(schema["required"])
    assert pickle.loads(pickle.dumps(schema)) == schema
    thawed = thaw(schema)
    thawed["required"].append("b")
    assert schema["required"] == ["a"]
    assert thawed == {"type": "object", "required": ["a", "b"]}


def test_shared_parts_are_the_same_objects_and_the_same_json() -> None:
    parts: dict[Any, Any] = {}
    texts = ['{"a": {"type": "number", "of": [1, "x"]}, "b": 1}', '{"c": {"type": "number", "of": [1, "x"]}, "b": 2}']
    one, other = (share_parts(json.loads(text), parts) for text in texts)
    assert one["a"] is other["c"]
    assert [json.dumps(value) for value in (one, other)] == texts
    with pytest.raises(TypeError, match="frozen"):
        one["a"]["of"].append(2)


@given(st.lists(JSON, max_size=4))
def test_what_is_shared_is_to_the_letter_what_it_was(values: list[Any]) -> None:
    parts: dict[Any, Any] = {}
    assert [json.dumps(share_parts(one, parts)) for one in values] == [json.dumps(one) for one in values]


@pytest.mark.parametrize("name", ["", " a", "a\n", "a\0", "x" * 129, 5, None, "tab\there"])
def test_what_is_not_a_name_is_refused(name: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="not a name for a tool"):
        Tool(name=name, handler=double)


@pytest.mark.parametrize("name", ["a", "files.read", "été", "x" * 128, "a b"])
def test_any_printable_name_is_one(name: str) -> None:
    assert Tool(name=name, handler=double).name == name


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"timeout_s": 0}, "timeout_s"),
        ({"timeout_s": -1}, "timeout_s"),
        ({"timeout_s": float("inf")}, "timeout_s"),
        ({"timeout_s": float("nan")}, "timeout_s"),
        ({"timeout_s": True}, "timeout_s"),
        ({"concurrency": "2"}, "concurrency"),
        ({"rate_limit": "often"}, "rate"),
        ({"rate_limit": "0/minute"}, "at least one"),
        ({"risk": "huge"}, "risk"),
        ({"run": "fibre"}, "run"),
        ({"surprise": 1}, "surprise"),
        ({"read_only": "no"}, "read_only: expected True or False, got 'no'"),
        ({"destructive": 0}, "destructive"),
        ({"requires_user": "false"}, "requires_user"),
        ({"requires_confirmation": 1}, "requires_confirmation"),
        ({"tags": "math"}, r"write \['math'\]"),
        ({"tags": ["math", 1]}, "list of texts"),
        ({"secrets": "TOKEN"}, r"write \['TOKEN'\]"),
        ({"category": 5}, "category: expected a text"),
        ({"description": 5}, "description: expected a text"),
        ({"version": 3}, "version: expected a text"),
        ({"examples": "n"}, "an example: expected its arguments"),
    ],
)
def test_a_wrong_option_is_named_with_its_tool(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ToolDefinitionError, match=f"(?s)double.*{named}"):
        tool(**options)(double)


def test_a_misspelt_option_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(ToolDefinitionError, match="no option 'timeot_s'") as caught:
        tool(timeot_s=1)(double)  # type: ignore[call-overload]
    assert caught.value.hint == "did you mean 'timeout_s'?"


def test_what_is_not_a_function_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="takes a function, got int"):
        tool(5)  # type: ignore[call-overload]


def test_the_fingerprint_is_that_of_the_face_and_nothing_else() -> None:
    base = {"name": "a", "handler": double, "description": "d"}
    one = Tool(**base)  # type: ignore[arg-type]
    unseen = Tool(**base, limits=Limits(timeout_s=5), category="x", tags=["y"], origin=Origin("z"))  # type: ignore[arg-type]
    assert one.fingerprint == unseen.fingerprint
    assert one.fingerprint.startswith("sha256:")
    assert len(one.fingerprint) == 7 + 64
    changed = [
        {"name": "b"},
        {"title": "t"},
        {"description": "e"},
        {"input_schema": {"type": "object"}},
        {"output_schema": {"type": "object"}},
        {"annotations": Annotations(read_only=True)},
        {"version": "2"},
    ]
    prints = {Tool(**{**base, **change}).fingerprint for change in changed}  # type: ignore[arg-type]
    assert len(prints | {one.fingerprint}) == len(changed) + 1


def test_an_origin_reads_as_the_nearest_name() -> None:
    assert str(Origin("dist", "plug", "source")) == "source"
    assert str(Origin("dist", "plug")) == "dist"
    assert str(Origin(None, "plug")) == "plug"
    assert str(Origin()) == "the program"


def test_a_call_has_no_arguments_unless_it_says_so() -> None:
    assert ToolCall("1", "a").arguments == {}


def test_an_output_schema_that_is_none_is_refused_when_the_tool_is_registered():
    board = load_board({}, [])

    @tool(output_schema={"type": "objekt"})
    def one() -> dict:
        """One."""
        return {}

    with pytest.raises(ToolDefinitionError, match="objekt"):
        board.add(one)


def test_a_tool_that_says_read_only_and_destructive_counts_as_destructive():
    @tool(read_only=True, destructive=True)
    def both() -> str:
        """Look, and delete."""
        return ""

    assert (both.read_only, both.annotations.destructive, both.annotations.says_both) == (False, True, True)
    assert both.public_definition["annotations"]["read_only"] is False
    assert "says_both" not in both.public_definition["annotations"]
