"""The registry: an immutable snapshot, swapped whole; watchers; cursors; search."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, Tool, ToolError, load_board
from pegboard.registry import Registry, page_of, search


def make(name: str, **more: Any) -> Tool:
    return Tool(name=name, handler=print, run="inplace", **more)


class PlanEntry:
    def __init__(self, tool: Tool) -> None:
        self.tool = tool


def entries(*names: str) -> dict[str, Any]:
    return {name: PlanEntry(make(name)) for name in names}


def test_a_snapshot_never_changes() -> None:
    registry = Registry()
    registry.change(put=entries("a", "b"))
    before = registry.snapshot
    tools = before.tools
    registry.change(put=entries("c"), drop=["a", "nothing of that name"])
    assert sorted(tools) == sorted(before.plans) == ["a", "b"]
    assert registry.snapshot.names == ("b", "c")
    assert registry.snapshot.version == before.version + 1
    with pytest.raises(TypeError):
        tools["x"] = make("x")  # type: ignore[index]


def test_watchers_are_told_of_each_swap_until_they_stop(caplog: Any) -> None:
    registry = Registry()
    seen: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    def broken(old: Any, new: Any) -> None:
        raise SystemExit(1)

    registry.watch(broken)
    stop = registry.watch(lambda old, new: seen.append((old.names, new.names)))
    registry.change(put=entries("a"))
    registry.change(put=entries("b"), drop=["a"])
    stop()
    registry.change(drop=["b"])
    stop()
    assert seen == [((), ("a",)), (("a",), ("b",))]
    assert "a watcher of the board failed" in caplog.text


def test_a_watcher_that_stops_itself_does_not_silence_the_others() -> None:
    registry = Registry()
    seen: list[str] = []
    stops: list[Any] = []
    stops.append(registry.watch(lambda old, new: (seen.append("first"), stops[0]())))
    registry.watch(lambda old, new: seen.append("second"))
    registry.change(put=entries("a"))
    registry.change(put=entries("b"))
    assert seen == ["first", "second", "second"]


NAMES = st.sets(st.text("abcé_", min_size=1, max_size=4), max_size=20)


@settings(max_examples=60)
@given(before=NAMES, after=NAMES, limit=st.integers(1, 6), turn=st.integers(0, 5))
def test_a_cursor_stays_valid_while_tools_come_and_go(before: set[str], after: set[str], limit: int, turn: int) -> None:
    """Paging while the board changes shows every tool that stays exactly once."""

    def page(names: set[str], cursor: str | None) -> Any:
        ordered = tuple(sorted(names))
        return page_of({name: make(name) for name in ordered}, ordered, cursor, limit)

    seen: list[str] = []
    cursor: str | None = None
    for number in range(100):
        shown = page(before if number < turn else after, cursor)
        assert len(shown.tools) <= limit
        seen += [tool.name for tool in shown.tools]
        cursor = shown.next_cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen))
    if turn:  # at least one page came of the board as it was
        ended_early = number < turn
        assert (before if ended_early else before & after) <= set(seen)


@given(st.one_of(st.text(max_size=30), st.binary(max_size=20).map(lambda raw: base64.b64encode(raw).decode())))
def test_any_cursor_is_one_of_ours_or_invalid_input(cursor: str) -> None:
    try:
        page = page_of({"a": make("a")}, ("a",), cursor)
    except ToolError as problem:
        assert problem.code is ErrorCode.INVALID_INPUT  # noqa: PT017 - either way is right
    else:
        assert len(page.tools) <= 1


def test_search_finds_every_word_in_name_title_description_category_and_tags() -> None:
    tools = [
        make("roll_dice", description="Throw dice.", category="fun", tags=["random"]),
        make("dice", description="A die."),
        make("coin", title="Toss", description="Heads or tails, at random; no dice."),
        make("time"),
    ]
    names = [tool.name for tool in search(tools, "DICE")]
    assert names == ["dice", "roll_dice", "coin"]
    assert [tool.name for tool in search(tools, "random dice")] == ["roll_dice", "coin"]
    assert [tool.name for tool in search(tools, "toss")] == ["coin"]
    assert [tool.name for tool in search(tools, "fun")] == ["roll_dice"]
    assert [tool.name for tool in search(tools, category="fun")] == ["roll_dice"]
    assert [tool.name for tool in search(tools, tag="random")] == ["roll_dice"]
    assert [tool.name for tool in search(tools)] == ["coin", "dice", "roll_dice", "time"]
    assert search(tools, "dice nothing") == []


def test_ten_thousand_tools_stay_where_they_are_while_one_is_added() -> None:
    board = load_board({}, [])
    board.add(*(make(f"t{n}") for n in range(500)))
    before = board.tools
    board.add(make("more"))
    assert len(before) == 500
    assert len(board.tools) == 501
