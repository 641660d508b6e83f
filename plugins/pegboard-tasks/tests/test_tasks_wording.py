"""Titles, identifiers, cursors, ids and times: values in, values out."""

from __future__ import annotations

import sqlite3
import threading
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pegboard_tasks._moments as moments
from pegboard import ErrorCode, ToolError
from pegboard_tasks._wording import ESCAPE, clean_title, fold, found, listed, quoted, read_cursor, read_identifier

anything = st.text(max_size=600)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)
signs = st.text(alphabet="aA%_\\/'ſßİé", min_size=1, max_size=8)


@given(anything)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(texts)
def test_case_does_not_matter_to_a_folded_text(text: str) -> None:
    assert fold(text.casefold()) == fold(text)


@given(anything)
def test_any_title_is_cleaned_or_refused_and_what_is_clean_stays(text: str) -> None:
    refused = None
    try:
        clean = clean_title(text, "Task title")
    except ToolError as error:
        refused = error
    if refused is not None:
        assert refused.code is ErrorCode.INVALID_INPUT
        assert len(refused.message) < 100
    else:
        assert clean_title(clean, "Task title") == clean
        assert clean.encode()
        assert 0 < len(clean) <= 500


@given(texts | signs, texts | signs)
@settings(max_examples=300)
def test_the_pattern_finds_a_title_exactly_if_it_holds_the_text(title: str, text: str) -> None:
    assume(text.strip() and text.strip().isprintable())
    wanted = read_identifier(text)
    with sqlite3.connect(":memory:") as database:
        question = f"SELECT ? LIKE ? ESCAPE '{ESCAPE}'"
        [found_it] = database.execute(question, (fold(title), wanted.pattern)).fetchone()
    database.close()
    assert bool(found_it) == (fold(text.strip()) in fold(title))


@given(anything)
def test_only_ids_are_cursors(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        read_cursor(text)
    assert caught.value.code is ErrorCode.INVALID_INPUT
    assert len(caught.value.message) < 200


@given(st.uuids())
def test_any_uuid_is_read_as_an_id_in_either_case(value: uuid.UUID) -> None:
    assert read_identifier(str(value).upper()).id == str(value)
    assert read_identifier(str(value)[1:]).id is None
    assert read_cursor(str(value)) == str(value)


def test_a_long_text_is_shown_in_part() -> None:
    assert quoted("x" * 60) == "'" + "x" * 60 + "'"
    assert quoted("x" * 61) == "'" + "x" * 57 + "...'"


def test_one_task_is_not_tasks() -> None:
    assert [found(count) for count in (0, 1, 2)] == ["No tasks found", "Found 1 task", "Found 2 tasks"]


def test_a_list_is_a_line_each_and_says_where_it_goes_on() -> None:
    tasks = [{"id": "1-2", "title": "a\n- [x] b", "completed": False}, {"id": "3", "title": "c", "completed": True}]
    data = {"tasks": tasks, "total": 5, "pending": 3, "completed": 2, "next_cursor": "3"}
    lines = ["- [ ] a - [x] b (id 1-2)", "- [x] c (id 3)", "There are more: cursor=3 shows the next page"]
    assert listed(data, "all").splitlines() == ["Found 5 tasks", *lines]
    assert listed(data, "completed").splitlines() == ["Found 2 tasks", *lines]


# -- ids and times


def test_ids_are_uuids_of_version_7_that_hold_their_time() -> None:
    before = datetime.now(UTC).timestamp()
    born = moments.birth()
    value = uuid.UUID(born.id)
    assert (value.version, value.variant) == (7, uuid.RFC_4122)
    assert before - 0.001 <= (value.int >> 80) / 1000 <= datetime.now(UTC).timestamp()
    assert abs(datetime.fromisoformat(born.at).timestamp() - (value.int >> 80) / 1000) < 0.002


def test_ids_of_many_threads_are_all_different_and_in_the_order_of_each() -> None:
    made: list[list[str]] = []

    def make() -> None:
        made.append([moments.birth().id for _ in range(2000)])

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(ids == sorted(ids) for ids in made)
    assert len({task_id[:18] for ids in made for task_id in ids}) == 8000, "the part before the random bits"


def test_a_clock_that_is_set_back_does_not_make_an_older_id(monkeypatch: pytest.MonkeyPatch) -> None:
    first = moments.birth()
    monkeypatch.setattr(moments.time, "time_ns", lambda: 1_000_000_000_000_000_000)
    second = moments.birth()
    assert second.id > first.id
    assert second.at == "2001-09-09T01:46:40.000000Z"


@given(st.integers(0, 4_102_444_800_000_000_000))
def test_times_are_as_python_writes_them(ns: int) -> None:
    written = moments.utc(ns)
    assert written.endswith("Z")
    assert int(datetime.fromisoformat(written).timestamp()) == ns // 1_000_000_000
    assert len(written) == 27
