"""The OpenAPI document: whatever a tool's schema looks like, every reference in the document leads somewhere."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import Example, Tool
from pegboard.text import clean
from pegboard_http.document import ANSWERS, component_of, document_of, moved


def handler() -> None:
    """Do nothing."""


def make(name: str, schema: dict[str, Any] | None = None, **more: Any) -> Tool:
    return Tool(name=name, handler=handler, input_schema=schema or {"type": "object"}, **more)


def document(*tools: Tool) -> dict[str, Any]:
    return document_of(tools, asks_for_token=False, version="1")


def resolve(document: Any, reference: str) -> Any:
    """What a local reference leads to, by RFC 6901."""
    assert reference.startswith("#/")
    for step in reference[2:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [one for part in value.values() for one in references(part)]
    return [one for part in value for one in references(part)] if isinstance(value, list) else []


def test_references_of_a_tool_lead_to_its_own_parts() -> None:
    tree = {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}, "again": {"$ref": "#"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    made = document(make("tree", tree), make("other", tree))
    schemas = made["components"]["schemas"]
    assert schemas["tree.input"]["properties"]["root"] == {"$ref": "#/components/schemas/tree.input/$defs/node"}
    assert schemas["other.input"]["properties"]["again"] == {"$ref": "#/components/schemas/other.input"}
    assert all(resolve(made, one) is not None for one in references(made))


def test_what_only_looks_like_a_reference_stays_as_it_is() -> None:
    schema = {
        "type": "object",
        "properties": {
            "enum": {"$ref": "#/$defs/a"},
            "default": {"type": "object", "default": {"$ref": "#/not/one"}, "enum": [{"$ref": "#/nor/this"}]},
        },
        "$defs": {"a": {"type": "integer"}},
    }
    properties = moved(schema, "x.input")["properties"]
    assert properties["enum"] == {"$ref": "#/components/schemas/x.input/$defs/a"}
    assert properties["default"]["default"] == {"$ref": "#/not/one"}
    assert properties["default"]["enum"] == [{"$ref": "#/nor/this"}]


@pytest.mark.parametrize(
    "part", [{"$id": "https://example.com/a"}, {"$anchor": "a"}, {"$dynamicRef": "#a"}, {"$dynamicAnchor": "a"}]
)
def test_what_cannot_be_moved_is_said_without_its_rules(part: dict[str, Any]) -> None:
    schema = {"type": "object", "description": "A tree.", "properties": {"a": part}}
    assert moved(schema, "x.input") == {
        "type": "object",
        "description": "A tree.",
        "$comment": "its rules cannot be said here; the board holds them",
    }


def test_a_property_of_such_a_name_can_be_moved() -> None:
    schema = {"type": "object", "properties": {"$id": {"type": "string"}}}
    assert moved(schema, "x.input") == schema


# A tool's name holds nothing that a reader does not see, such as a variation selector.
ANY_NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
TOOL_NAMES = ANY_NAMES.filter(lambda name: not clean(name)[1])


@given(st.lists(TOOL_NAMES, unique=True, max_size=6))
@settings(max_examples=60)
def test_tools_of_any_names_have_places_of_their_own(names: list[str]) -> None:
    """Two tools never share a path or a component, and every component's name is one."""
    made = document(*map(make, names))
    assert len(made["paths"]) == len(names) + 2
    components = [component_of(name) for name in names]
    assert len(set(components)) == len(names)
    assert all(part.isascii() and all(c.isalnum() or c in "._-" for c in part) for part in components)
    assert all(resolve(made, one) is not None for one in references(made))


def test_every_status_is_documented_with_its_answer() -> None:
    made = document(make("add", examples=[Example({"a": 1}, "one")], output_schema={"type": "object"}))
    call = made["paths"]["/tools/add"]["post"]
    assert call["responses"].keys() == {"200", *map(str, ANSWERS)}
    assert call["requestBody"]["content"]["application/json"]["examples"] == {
        "example1": {"value": {"a": 1}, "summary": "one"}
    }
    data = call["responses"]["200"]["content"]["application/json"]["schema"]["properties"]["data"]
    assert data == {"anyOf": [{"$ref": "#/components/schemas/add.output"}, {"type": "null"}]}
    assert "security" not in made
