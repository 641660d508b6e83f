"""Any value that a handler returns, as a result."""

from __future__ import annotations

import dataclasses
import enum
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import BinaryContent, ImageContent, TextContent, Tool, ToolError, ToolResult, tool
from pegboard.pipeline.normalise import UnusableError, to_result


@attrs.frozen
class Point:
    x: int
    y: int = 2


@dataclasses.dataclass
class Line:
    start: Point


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "text", "data"),
    [
        (None, "", None),
        ("hé", "hé", {"result": "hé"}),
        ("", "", {"result": ""}),
        (7, "7", {"result": 7}),
        (True, "true", {"result": True}),
        (False, "false", {"result": False}),
        (2.0, "2.0", {"result": 2.0}),
        (1e300, "1e+300", {"result": 1e300}),
        ({"a": 1}, '{"a": 1}', {"a": 1}),
        ({}, "{}", {}),
        ([1, "é"], '[1, "é"]', {"result": [1, "é"]}),
        ((1, 2), "[1, 2]", {"result": [1, 2]}),
        ([], "[]", {"result": []}),
        ({2, 1}, "[1, 2]", {"result": [1, 2]}),
        (Point(1), '{"x": 1, "y": 2}', {"x": 1, "y": 2}),
        (Line(Point(1)), '{"start": {"x": 1, "y": 2}}', {"start": {"x": 1, "y": 2}}),
        (Colour.RED, '"red"', {"result": "red"}),
        (date(2026, 7, 6), '"2026-07-06"', {"result": "2026-07-06"}),
        (datetime(2026, 7, 6, tzinfo=UTC), '"2026-07-06T00:00:00+00:00"', {"result": "2026-07-06T00:00:00+00:00"}),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"', {"result": "00000000-0000-0000-0000-000000000001"}),
        (Decimal("1.50"), '"1.50"', {"result": "1.50"}),
    ],
)
@pytest.mark.parametrize("run", ["inplace", "thread"])
async def test_each_kind_of_value_has_its_text_and_data(
    hosted: Any, run: str, value: Any, text: str, data: Any
) -> None:
    async with hosted(Tool(name="it", handler=lambda: value, run=run)) as host:
        result = await host.session().call("it")
    assert (result.text, result.data, result.error) == (text, data, None)


async def test_content_passes_as_it_is(hosted: Any) -> None:
    image, note = ImageContent(b"png"), TextContent("see")
    values: list[Any] = [image, [image, note], (note,), b"raw", bytearray(b"raw"), memoryview(b"raw")]
    raw = (BinaryContent(b"raw"),)
    async with hosted(Tool(name="it", handler=lambda: values.pop(0), run="inplace")) as host:
        session = host.session()
        contents = [(await session.call("it")).content for _ in range(6)]
    assert contents == [(image,), (image, note), (note,), raw, raw, raw]


async def test_results_and_errors_pass_as_what_they_are(hosted: Any) -> None:
    values = [
        ToolResult.text("a", data={"b": 1}),
        ToolResult.json([1]),
        ToolResult.empty(),
        ToolResult.error("CONFLICT", "taken", owner="bob"),
        ToolError("CONFLICT", "taken", owner="bob"),
        ToolResult(content=(TextContent("x"),), details={"note": 1}),
        ToolResult(data=attrs.asdict(Point(1))),
    ]
    async with hosted(Tool(name="it", handler=lambda: values.pop(0), run="inplace")) as host:
        session = host.session()
        results = [await session.call("it", id=str(n)) for n in range(7)]
    assert (results[0].text, results[0].data) == ("a", {"b": 1})
    assert (results[1].text, results[1].data) == ("[1]", {"result": [1]})
    assert results[2].content == ()
    assert results[3].error == results[4].error == ToolError("CONFLICT", "taken", owner="bob")
    assert results[5].details == {"note": 1}
    assert results[6].data == {"x": 1, "y": 2}
    assert [result.id for result in results] == list("0123456")


async def test_a_subclass_of_a_promised_type_takes_the_long_way_and_is_checked(hosted: Any) -> None:
    class Loud(int):
        pass

    @tool(run="inplace")
    def number() -> int:
        return Loud(7)

    @tool(run="inplace")
    def flag() -> int:
        return True  # a bool is not an integer in JSON

    @tool(run="inplace")
    def whole() -> float:
        return 7

    async with hosted(number, flag, whole) as host:
        session = host.session()
        assert (await session.call("number")).data == {"result": 7}
        assert (await session.call("flag")).error.details["executed"] is True
        assert (await session.call("whole")).data == {"result": 7}


async def test_a_promise_of_more_than_a_plain_type_is_held(hosted: Any) -> None:
    from typing import Annotated

    from pegboard.schema.markers import Le

    @tool(run="inplace")
    def small() -> Annotated[int, Le(5)]:
        return 7

    async with hosted(small) as host:
        result = await host.session().call("small")
    assert "expected" in result.text
    assert result.error.details["executed"] is True


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.integers(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_any_value_is_a_result_that_is_json_or_unusable(value: Any) -> None:
    """A value becomes a result whose JSON can be written and read back the same, or is refused as unusable."""
    try:
        result, size = to_result(value)
    except UnusableError as problem:
        assert len(str(problem)) < 200  # noqa: PT017 - either way is right
        return
    line = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert ToolResult.from_json(line) == result
    assert size >= 0


def test_a_text_of_a_subclass_is_plain_text() -> None:
    class Mark(str):
        def __str__(self) -> str:
            return "something else"

    result, _ = to_result(Mark("as it is"))
    assert (result.text, type(result.data["result"])) == ("as it is", str)
