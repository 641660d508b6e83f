"""Models of pydantic and its `Field`: records like the others, with the model's own validators after the schema."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest

from pegboard import open_host_sync, tool
from pegboard.errors import ToolDefinitionError
from pegboard.schema.derive import derive

pydantic = pytest.importorskip("pydantic")
Field = pydantic.Field
T = TypeVar("T")


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Line(pydantic.BaseModel):
    """One line of an order."""

    item: Annotated[str, Field(max_length=80, description="what is ordered")]
    count: int = Field(1, ge=1)
    size: Size = Size.SMALL
    marks: list[str] = Field(default_factory=list, alias="tags")

    @pydantic.field_validator("item")
    @classmethod
    def not_blank(cls, item: str) -> str:
        if not item.strip():
            raise ValueError("it is blank")
        return item


class Node(pydantic.BaseModel):
    value: int
    next: Node | None = None


class Box(pydantic.BaseModel, Generic[T]):
    inside: T


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


class Account(pydantic.BaseModel):
    name: str
    password: str = Field(exclude=True)

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def shout(self) -> str:
        return self.name.upper()


class Numbers(pydantic.RootModel[list[int]]):
    pass


def called(function: Any, **arguments: Any) -> Any:
    with open_host_sync(plugins=[]) as host:
        host.add(tool(function, name="it"))
        return host.call("it", arguments)


def test_a_model_has_the_schema_of_its_fields_and_comes_as_an_instance() -> None:
    def order(line: Line) -> Line:
        assert isinstance(line, Line)
        assert line.size is Size.LARGE
        return line

    derived = derive(order)
    line = derived.input_schema["$defs"]["Line"]
    assert line["description"] == "One line of an order."
    assert line["properties"]["item"] == {"type": "string", "maxLength": 80, "description": "what is ordered"}
    assert line["properties"]["count"] == {"type": "integer", "minimum": 1, "default": 1}
    assert line["properties"]["tags"]["default"] == []
    assert (line["required"], line["additionalProperties"]) == (["item"], False)
    result = called(order, line={"item": "tea", "size": "large", "tags": ["hot"]})
    assert result.data == {"item": "tea", "count": 1, "size": "large", "tags": ["hot"]}


def test_what_a_validator_of_a_model_refuses_is_told_with_its_path() -> None:
    def order(lines: list[Line]) -> int:
        return len(lines)

    result = called(order, lines=[{"item": "tea"}, {"item": " "}])
    assert result.error.code == "INVALID_INPUT"
    assert "lines[1].item" in result.text
    assert "it is blank" in result.text


@pytest.mark.parametrize(
    ("hint", "value", "shown"),
    [
        (Node, {"value": 1, "next": {"value": 2}}, {"value": 1, "next": {"value": 2, "next": None}}),
        (Box[int], {"inside": 5}, {"inside": 5}),
        (Cat | Dog, {"kind": "dog"}, {"kind": "dog"}),
        (dict[str, Cat], {"a": {"kind": "cat"}}, {"a": {"kind": "cat"}}),
    ],
)
def test_models_within_other_types(hint: Any, value: Any, shown: Any) -> None:
    def give(value: Any) -> Any:
        return value

    give.__annotations__ = {"value": hint, "return": Any}
    assert called(give, value=value).data == shown


def test_a_generic_model_has_a_name_that_a_reference_can_hold() -> None:
    def open_box(box: Box[int]) -> int:
        return box.inside

    assert derive(open_box).input_schema["properties"]["box"] == {"$ref": "#/$defs/Box_int"}


def test_what_a_model_excludes_is_never_written() -> None:
    def account() -> Account:
        return Account(name="ada", password="pw-123456")

    result = called(account)
    assert result.data == {"name": "ada", "shout": "ADA"}
    assert derive(account).output_schema is None


def test_a_field_as_the_default_says_what_it_says_in_a_model() -> None:
    def pick(
        much: int = Field(default=3, ge=1, description="how much"),
        names: list[str] = Field(default_factory=list),  # noqa: B008 - as their authors write it
        which: str = Field(description="which one"),
    ) -> list[Any]:
        names.append(which)
        return [much, names]

    schema = derive(pick).input_schema
    assert schema["properties"]["much"] == {"type": "integer", "default": 3, "minimum": 1, "description": "how much"}
    assert schema["required"] == ["which"]
    assert called(pick, which="a").data == {"result": [3, ["a"]]}
    assert called(pick, which="a", much=0).error.code == "INVALID_INPUT"


def test_bounds_of_a_field_in_annotated_hold() -> None:
    def pick(much: Annotated[int, Field(ge=1, le=5)], word: Annotated[str, Field(pattern="^a")]) -> int:
        return much

    assert derive(pick).input_schema["properties"] == {
        "much": {"type": "integer", "minimum": 1, "maximum": 5},
        "word": {"type": "string", "pattern": "^a"},
    }


def test_what_a_record_cannot_say_is_refused_with_the_reason() -> None:
    class Odd(pydantic.BaseModel):
        x: int = Field(alias="no name")

    class Choosy(pydantic.BaseModel):
        x: int = Field(validation_alias=pydantic.AliasChoices("a", "b"))

    def made(x: int = Field(default_factory=lambda: 5)) -> int:
        return x

    for hint, why in ((Odd, "not a Python name"), (Choosy, "not a Python name"), (Numbers, "no JSON form")):

        def take(value: Any) -> None:
            pass

        take.__annotations__ = {"value": hint}
        with pytest.raises(ToolDefinitionError, match=why):
            derive(take)
    with pytest.raises(ToolDefinitionError, match="default_factory"):
        derive(made)
