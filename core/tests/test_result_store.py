"""Results that are too large: cut, kept for their session in bounds, read page by page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import BinaryContent, ErrorCode, ImageContent, PluginError, TextContent, Tool, ToolError, ToolResult
from pegboard.result_store import ResultStore


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make(name: str, value: Any, **options: Any) -> Tool:
    return Tool(name=name, handler=lambda: value, run="inplace", **options)


async def test_read_result_is_on_the_board_only_where_something_was_cut(hosted: Any) -> None:
    async with hosted(make("big", "x" * 300_000), make("small", "x")) as host:
        session = host.session()
        await session.call("small")
        assert "read_result" not in host.tools
        cut = await session.call("big")
        assert "read_result" in host.tools
        key = cut.details["cut"]["id"]
        assert cut.details["cut"] == {"id": key, "page": 1, "pages": 3, "bytes": 300_000}
        assert f'read_result(id="{key}", page=2)' in cut.text
        assert cut.data is None
        text = ""
        for number in (1, 2, 3):
            page = await session.call("read_result", {"id": key, "page": number})
            text += page.content[0].text
            assert page.data == {"id": key, "page": number, "pages": 3}
        assert text == "x" * 300_000
        assert len(session.kept._kept) == 1
        assert (await session.call("big")).details["cut"]["id"] != key


async def test_a_kept_result_is_its_sessions_alone(hosted: Any) -> None:
    async with hosted(make("big", "x" * 300_000)) as host:
        key = (await host.session("ada").call("big")).details["cut"]["id"]
        result = await host.session("ada").call("read_result", {"id": key})
    assert result.error.code is ErrorCode.NOT_FOUND


@pytest.mark.parametrize("arguments", [{"id": "nope"}, {"id": 5}, {}, {"id": "x", "page": 0}, {"id": "x", "page": "a"}])
async def test_what_was_never_kept_is_a_typed_error(hosted: Any, arguments: Any) -> None:
    async with hosted(make("big", "x" * 300_000)) as host:
        session = host.session()
        await session.call("big")
        result = await session.call("read_result", arguments)
    assert result.error.code in (ErrorCode.NOT_FOUND, ErrorCode.INVALID_INPUT)


async def test_a_page_that_is_not_there_is_told_how_many_there_are(hosted: Any) -> None:
    async with hosted(make("big", "x" * 300_000), make("half", "x" * 50_000)) as host:
        session = host.session()
        assert (await session.call("half")).details is None
        key = (await session.call("big")).details["cut"]["id"]
        result = await session.call("read_result", {"id": key, "page": 4})
    assert result.error.code is ErrorCode.INVALID_INPUT
    assert "expected 1 to 3, got 4" in result.text


async def test_a_limit_of_the_tool_is_smaller_or_larger_than_the_hosts(hosted: Any) -> None:
    from pegboard import Limits

    tools = [make("tight", "x" * 200, limits=Limits(max_result_bytes=100)), make("usual", "x" * 200)]
    async with hosted(*tools, config={"max_result_bytes": 150}) as host:
        session = host.session()
        assert (await session.call("tight")).content[0].text == "x" * 100
        assert (await session.call("usual")).content[0].text == "x" * 150


async def test_a_profile_that_selects_little_may_still_read_on(hosted: Any) -> None:
    async with hosted(make("big", "x" * 300_000), config={"profiles": {"few": {"tools": ["big"]}}}) as host:
        session = host.session(profile="few")
        key = (await session.call("big")).details["cut"]["id"]
        assert (await session.call("read_result", {"id": key, "page": 3})).ok


async def test_a_board_that_cannot_hang_read_result_still_answers(hosted: Any, make_plugin: Any, caplog: Any) -> None:
    def make_guards(tool: Tool) -> None:
        if tool.name == "read_result":
            raise ValueError

    async with hosted(make("big", "x" * 300_000), plugins=[make_plugin("g", make_guards=make_guards)]) as host:
        result = await host.session().call("big")
        assert result.ok
        assert "read_result" not in host.tools
    assert "read_result cannot be registered" in caplog.text


async def test_a_page_may_be_a_number_that_json_writes_with_a_point(hosted: Any) -> None:
    async with hosted(make("big", "x" * 300_000)) as host:
        session = host.session()
        key = (await session.call("big")).details["cut"]["id"]
        assert (await session.call("read_result", {"id": key, "page": 2.0})).data["page"] == 2
        result = await session.call("read_result", {"id": key, "page": 10**4000})
        assert result.error.message == "page: expected 1 to 3, got a very long integer"


async def test_no_other_tool_may_take_the_name_that_every_profile_sees(hosted: Any) -> None:
    config = {"profiles": {"few": {"tools": ["big"]}}}
    async with hosted(make("read_result", "stolen"), make("big", "x" * 300_000), config=config) as host:
        assert "is the core's own" in host.board.rejected_tools["read_result"].why
        with pytest.raises(PluginError, match="the core's own"):
            host.add(make("read_result", "stolen"))
        session = host.session(profile="few")
        assert list(session.tools) == ["big"]
        key = (await session.call("big")).details["cut"]["id"]
        assert (await session.call("read_result", {"id": key})).content[0].text == "x" * 100_000


async def test_a_huge_error_is_bounded(hosted: Any) -> None:
    error = ToolError("CONFLICT", "y" * 300_000, reason="size", big="z" * 300_000)
    async with hosted(make("it", error)) as host:
        result = await host.session().call("it")
    assert len(result.error.message) == 1000
    assert set(result.error.details) == {"reason", "retry", "cut"}
    assert result.details["cut"]["pages"] == 3


# the keeper itself ----------------------------------------


def test_what_fits_passes_untouched(clock: Clock) -> None:
    kept = ResultStore(1000, 60, clock)
    for result in (
        ToolResult.text("x" * 100, data={"a": 1}),
        ToolResult.empty(),
        ToolResult(content=(ImageContent(b"x"),)),
    ):
        assert kept.cut(result, 100) is result


def test_data_that_does_not_fit_is_left_out_and_said(clock: Clock) -> None:
    cut = ResultStore(1000, 60, clock).cut(ToolResult.text("short", data={"a": "x" * 500}), 100)
    assert (cut.text, cut.data, cut.details) == ("short", None, {"cut": {"data": True}})


def test_bytes_that_do_not_fit_alone_or_together_are_named(clock: Clock) -> None:
    link = BinaryContent(None, uri="file:x")
    first, last = ImageContent(b"x" * 600), ImageContent(b"x" * 400)
    content = (first, BinaryContent(b"y" * 600), ImageContent(b"z" * 2000), link, last)
    cut = ResultStore(1000, 60, clock).cut(ToolResult(content=content), 1000)
    assert (cut.content[0], *cut.content[3:]) == (first, link, last)
    assert cut.content[1].text == "[application/octet-stream of 600 bytes left out: above the limit of 1000]"
    assert cut.content[2].text == "[image/png of 2000 bytes left out: above the limit of 1000]"


@pytest.mark.parametrize(
    "given",
    [
        ToolResult(content=(TextContent(""),) * 20_000),
        ToolResult(content=(BinaryContent(b""),) * 20_000),
        BinaryContent(None, uri="x" * 500_000),
        [BinaryContent(None, uri="x" * 10_000)] * 50,
        BinaryContent(b"", mime_type="x" * 500_000),
        ToolResult(content=(TextContent("x"),), details={"more": "x" * 500_000}),
        ToolError("CONFLICT", "x", more="x" * 500_000),
        ToolError("CONFLICT", "x", reason="x" * 500_000, retry="x" * 500_000),
    ],
    ids=["empty texts", "empty bytes", "an address", "addresses", "a media type", "details", "an error", "its reason"],
)
async def test_whatever_a_result_holds_it_is_cut(hosted: Any, given: Any) -> None:
    async with hosted(make("it", given), config={"max_result_bytes": 50_000}) as host:
        result = await host.session().call("it")
    assert len(json.dumps(result.to_json())) < 200_000
    assert "cut" in ((result.error.details if result.error else result.details) or {})


def test_results_are_forgotten_after_their_time(clock: Clock) -> None:
    kept = ResultStore(10_000, 60, clock)
    key = kept.cut(ToolResult.text("x" * 500), 100).details["cut"]["id"]
    clock.now += 59
    assert kept.page(key, 5).ok
    clock.now += 2
    with pytest.raises(ToolError, match="forgotten"):
        kept.page(key, 5)
    assert not kept._kept


def test_the_oldest_goes_first_when_the_memory_is_full(clock: Clock) -> None:
    kept = ResultStore(1000, 60, clock)
    keys = [kept.cut(ToolResult.text(str(n) * 400), 100).details["cut"]["id"] for n in range(4)]
    for key in keys[:2]:
        with pytest.raises(ToolError):
            kept.page(key, 1)
    assert kept.page(keys[3], 1).content[0].text == "3" * 100


def test_what_is_too_large_to_be_kept_at_all_says_so(clock: Clock) -> None:
    cut = ResultStore(1000, 60, clock).cut(ToolResult.text("x" * 2000), 100)
    assert cut.details["cut"]["id"] is None
    assert "too large to be kept" in cut.text


@given(st.text(max_size=300), st.integers(1, 50))
def test_the_pages_of_any_text_are_that_text_and_each_fits(text: str, max_bytes: int) -> None:
    """Pages joined are the text; none is longer than the limit, in bytes (a page holds at least one character)."""
    kept = ResultStore(10_000, 60)
    cut = kept.cut(ToolResult.text(text), max_bytes)
    if cut.details is None:
        assert cut.text == text
        return
    details = cut.details["cut"]
    pages = [kept.page(details["id"], number + 1).content[0].text for number in range(details["pages"])]
    assert "".join(pages) == text
    assert all(len(page.encode("utf-8", "surrogatepass")) <= max(max_bytes, 4) for page in pages)
    assert isinstance(cut.content[0], TextContent)


class CountedStore:
    """A kept result that counts how often it is looked at."""

    visits = 0

    def __init__(self, pages: tuple[str, ...], size: int, until: float, tool: str) -> None:
        self.pages, self._size, self._until = pages, size, until

    @property
    def size(self) -> int:
        CountedStore.visits += 1
        return self._size

    @property
    def until(self) -> float:
        CountedStore.visits += 1
        return self._until


@pytest.mark.parametrize("leave", ["nothing", "by bytes", "by time"])
def test_a_cut_looks_at_few_results_however_many_are_kept(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, leave: str
) -> None:
    monkeypatch.setattr("pegboard.result_store.StoredResult", CountedStore)
    monkeypatch.setattr(CountedStore, "visits", 0)
    kept = ResultStore(200 * (100 if leave == "by bytes" else 1_000_000), 50.0, clock)
    for _ in range(2_000):
        clock.now += 1.0 if leave == "by time" else 0.0
        kept.cut(ToolResult.text("x" * 200), 100)
    assert len(kept._kept) == {"nothing": 2_000, "by bytes": 100, "by time": 50}[leave]
    assert CountedStore.visits <= 6 * 2_000


@given(st.lists(st.tuples(st.integers(11, 60), st.sampled_from([0.0, 1.0, 20.0])), max_size=40))
def test_what_is_kept_is_the_newest_that_is_young_and_fits(steps: list[tuple[int, float]]) -> None:
    clock = Clock()
    kept = ResultStore(100, 30.0, clock)
    made: list[tuple[str, int, float]] = []
    for size, wait in steps:
        clock.now += wait
        result = kept.cut(ToolResult.text("x" * size), 10)
        made.append((result.details["cut"]["id"], size, clock.now))  # type: ignore[index]
        left, expected = 100, []
        for key, taken, _ in reversed([one for one in made if clock.now < one[2] + 30.0]):
            left -= taken
            if left < 0:
                break
            expected.append(key)
        assert list(kept._kept) == expected[::-1]
