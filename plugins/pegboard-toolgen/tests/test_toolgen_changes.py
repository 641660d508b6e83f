"""What changed of a tool is said in words, and nothing that changed is passed over."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_toolgen._texts import to_line
from pegboard_toolgen.changes import changes_of

PET = {"type": "object", "properties": {"name": {"type": "string"}}}


def tool(*options: str, kind: str = "subprocess", **properties: Any) -> dict[str, Any]:
    required = [name for name, one in properties.items() if one.pop("required", False)]
    arguments = [{"kind": "option", "flag": f"--{name}", "parameter": name, "style": "equals"} for name in options]
    return {
        "name": "dogs",
        "input_schema": {"type": "object", "properties": properties, **({"required": required} if required else {})},
        "output_schema": {"type": "object"},
        "binding": {"kind": kind, "arguments": arguments},
    }


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "an option came": (
        tool(),
        tool("limit", limit={"type": "integer"}),
        ["option --limit came (integer)"],
    ),
    "an option went": (tool("limit", limit={"type": "integer"}), tool(), ["option --limit is gone"]),
    "a required argument came": (tool(), tool(file={"type": "string", "required": True}),
                                 ["argument file came (string, required)"]),
    "an option has another type": (
        tool("limit", limit={"type": "integer"}),
        tool("limit", limit={"type": ["integer", "null"]}),
        ["option --limit is now integer or null, was integer"],
    ),
    "an option is called otherwise": (
        tool("limit", limit={"type": "integer"}),
        {
            **tool("limit", limit={"type": "integer"}),
            "binding": {"kind": "subprocess", "arguments": [
                {"kind": "option", "flag": "--most", "parameter": "limit", "style": "equals"}
            ]},
        },
        ["option --limit is now --most"],
    ),
    "a parameter has to be given": (
        tool(kind="http", age={"type": "integer"}),
        tool(kind="http", age={"type": "integer", "required": True}),
        ["parameter age is now required"],
    ),
    "a choice came": (
        tool(kind="http", sort={"enum": ["a"]}),
        tool(kind="http", sort={"enum": ["a", "b"]}),
        ['parameter sort takes "b" too'],
    ),
    "a bound changed": (
        tool(kind="http", age={"type": "integer", "maximum": 9}),
        tool(kind="http", age={"type": "integer", "maximum": 10}),
        ["parameter age has maximum 10, had 9"],
    ),
    "a member of a body": (
        tool(kind="http", body={"type": "object", "properties": {"title": {"type": "string"}}}),
        tool(kind="http", body={"type": "object", "properties": {"title": {"type": "integer"}}}),
        ["parameter body.title is now integer, was string"],
    ),
    "items of a list": (
        tool(kind="http", tags={"type": "array", "items": {"type": "string"}}),
        tool(kind="http", tags={"type": "array", "items": {"type": "integer"}}),
        ["parameter tags[] is now integer, was string"],
    ),
    "what is in a new body is said with the body": (
        tool(kind="http"),
        tool(kind="http", body={"type": "object", "properties": {"title": {"type": "string"}}}),
        ["parameter body came (object)"],
    ),
    "a description": (
        tool(kind="http", age={"description": "Years."}),
        tool(kind="http", age={"description": "Months."}),
        ["parameter age has another description"],
    ),
    "a category": ({**tool(), "category": "read"}, {**tool(), "category": "write"},
                   ['category is now "write", was "read"']),
    "the words of a program": (
        tool(),
        {**tool(), "binding": {"kind": "subprocess", "arguments": [{"kind": "literal", "words": ["x"]}]}},
        ["binding (arguments)"],
    ),
    "an answer": (
        tool(),
        {**tool(), "output_schema": {"type": "object", "properties": {"age": {"type": "integer"}}}},
        ["output age came (integer)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_change_is_said(case: str) -> None:
    old, new, said = CASES[case]
    assert changes_of(old, new, {}, {}) == said


def test_a_change_of_a_shared_definition_is_said_of_the_tool_that_it_reaches() -> None:
    old = tool(kind="http", pet={"$ref": "#/$defs/Pet"})
    other = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    assert changes_of(old, old, {"Pet": PET}, {"Pet": other}) == ["parameter pet.age came (integer)"]
    assert changes_of(old, old, {"Pet": PET}, {"Pet": PET}) == []
    assert changes_of(tool(), tool(), {"Pet": PET}, {"Pet": other}) == []


def test_a_definition_that_leads_back_to_itself_ends() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    old = tool(kind="http", node={"$ref": "#/$defs/Node"})
    longer = {"type": "object", "properties": {**node["properties"], "value": {"type": "integer"}}}  # type: ignore[dict-item]
    assert changes_of(old, old, {"Node": node}, {"Node": longer})[0] == "parameter node.value came (integer)"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["string", "integer", "object", "array", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "required", "items", "anyOf", "enum", "$ref", "default", "a", "b", "allOf"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
PARTS = st.dictionaries(
    st.sampled_from(["input_schema", "output_schema", "examples", "category", "annotations", "title"]),
    VALUES,
    max_size=4,
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional={"kind": VALUES, "flag": VALUES, "parameter": st.sampled_from(["a", "b"]), "style": VALUES},
)
BINDINGS = st.fixed_dictionaries(
    {"kind": st.sampled_from(["subprocess", "http", "python"])},
    optional={"arguments": st.lists(ENTRIES, max_size=3), "parameters": st.lists(ENTRIES, max_size=2)},
)


@given(PARTS, BINDINGS, PARTS, BINDINGS)
def test_whatever_differs_is_said_and_nothing_else(
    one: dict[str, Any], bound: dict[str, Any], other: dict[str, Any], rebound: dict[str, Any]
) -> None:
    old, new = {**one, "binding": bound}, {**other, "binding": rebound}
    said = changes_of(old, new, {}, {})
    assert bool(said) == (to_line(old) != to_line(new))
    assert all(isinstance(line, str) and line.strip() and "\n" not in line for line in said)
    assert changes_of(old, copy.deepcopy(old), {}, {}) == []
