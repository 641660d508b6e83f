"""Reading: which calls a question means, how they belong together, and how new ones of other processes are heard."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_audit import AuditError, AuditReader, CallQuery, CallRecord, file_of, follow
from pegboard_audit._database import COLUMNS, INSERT, open_for_writing
from pegboard_audit._rows import row_of
from pegboard_audit._waterfall import bar, bars_of, stages_of
from pegboard_audit.settings import AuditDbSettings


def note(id_: str = "1", **more: Any) -> tuple[Any, ...]:
    """What the writer would note of a call."""
    given_ = {
        "parent_id": None, "started_at": 100.0, "duration_ms": 1.0, "name": "halve", "user_id": "ada", "session": "s",
        "channel": "test", "origin": None, "status": "ok", "code": None, "reason": None, "timings": {}, "verdicts": (),
        "traceparents": None, "arguments": None,
    } | more  # fmt: skip
    return (id_, *given_.values())


def write(path: Path, *notes: tuple[Any, ...], process: int | None = None) -> None:
    rows = [dict(zip(COLUMNS, row_of(one), strict=True)) | ({"process": process} if process else {}) for one in notes]
    connection = open_for_writing(path, make_folder=False)
    try:
        with connection:
            connection.executemany(INSERT, [tuple(one.values()) for one in rows])
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.sqlite3"


NOTES = st.builds(
    note,
    st.sampled_from("123"),
    parent_id=st.sampled_from([None, "1", "2"]),
    started_at=st.sampled_from([1.0, 2.0, 3.0]),
    name=st.sampled_from([None, "halve", "double"]),
    user_id=st.sampled_from([None, "ada", "bob"]),
    session=st.sampled_from("st"),
    status=st.sampled_from(["ok", "error", "cancelled"]),
)
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "since": st.sampled_from([1.0, 2.0]),
        "until": st.sampled_from([2.0, 3.0]),
        "name": st.sampled_from(["halve", "other"]),
        "user_id": st.just("ada"),
        "failed": st.booleans(),
        "id": st.just("1"),
        "parent_id": st.just("1"),
        "session": st.just("s"),
        "after": st.integers(0, 5),
        "up_to": st.integers(0, 5),
    },
)


def is_meant(call: CallRecord, query: CallQuery) -> bool:
    """The same in Python, call by call."""
    return all(
        (
            query.since is None or call.started_at >= query.since,
            query.until is None or call.started_at < query.until,
            query.name is None or call.name == query.name,
            query.user_id is None or call.user_id == query.user_id,
            query.failed is None or (call.status != "ok") == query.failed,
            query.id is None or call.id == query.id,
            query.parent_id is None or call.parent_id == query.parent_id,
            query.session is None or call.session == query.session,
            query.after is None or call.seq > query.after,
            query.up_to is None or call.seq <= query.up_to,
        )
    )


@settings(max_examples=40)
@given(st.lists(NOTES, max_size=8), QUERIES, st.none() | st.integers(1, 4))
def test_a_question_means_the_calls_to_which_all_of_it_applies(
    tmp_path_factory: pytest.TempPathFactory, notes: list[Any], query: dict[str, Any], newest: int | None
) -> None:
    file = tmp_path_factory.mktemp("audit") / "audit.sqlite3"
    write(file, *notes)
    with AuditReader(file) as reader:
        everything = list(reader.calls())
        meant = [one for one in everything if is_meant(one, CallQuery(**query))]
        assert list(reader.calls(CallQuery(**query), newest=newest)) == meant[-(newest or len(meant) or 1) :]
        assert reader.last_seq() == len(notes)


def test_more_calls_than_a_page_are_read_in_their_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pegboard_audit.reading.PAGE", 3)
    write(path, *[note(str(number)) for number in range(10)])
    with AuditReader(path) as reader:
        assert [one.id for one in reader.calls()] == list("0123456789")


def test_what_is_not_there_has_no_calls_and_is_not_made(path: Path) -> None:
    with AuditReader(path) as reader:
        assert list(reader.calls()) == []
        assert reader.last_seq() == 0
        assert not path.exists()
        write(path, note())
        assert len(list(reader.calls())) == 1


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + b"\xff" * 500, b"words" * 300])
def test_a_file_that_is_no_audit_is_said_to_be_none(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with AuditReader(path) as reader:
        if not content:
            assert list(reader.calls()) == []
            return
        with pytest.raises(AuditError) as problem:
            list(reader.calls())
    assert problem.value.reason == "damaged"
    assert "mv " in (problem.value.hint or "")
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("started_at", value) for value in (float("inf"), -1e300, 1e12, "soon", b"\xff")),
        *(("duration_ms", value) for value in (float("inf"), "long", b"\xff")),
        *(
            ("timings", value)
            for value in ("{", "[1]", "7", '{"admit": "x"}', '{"admit": 1e400}', '{"admit": null}', b"{}")
        ),
        *(("verdicts", value) for value in ("[7]", "7", '{"a": 1}')),
        *(
            ("verdicts", f'[{{"guard": {guard}, "stage": "{stage}", "verdict": {verdict}, "us": {us}}}]')
            for guard, stage, verdict, us in (
                ("1", "admit", '"passed"', "1"),
                ('"g"', "soon", '"passed"', "1"),
                ('"g"', "admit", "1", "1"),
                ('"g"', "admit", '"passed"', '"1"'),
            )
        ),
        *((name, b"\xff") for name in COLUMNS if name not in ("started_at", "duration_ms")),
        ("process", "one"),
        *((name, "[" * 100_000) for name in ("timings", "verdicts", "arguments")),
    ],
)
def test_a_cell_that_somebody_else_wrote_is_damage_and_no_crash(path: Path, column: str, value: Any) -> None:
    write(path, note())
    connection = open_for_writing(path, make_folder=False)
    connection.execute(f"UPDATE calls SET {column} = ?", (value,))
    connection.close()
    with AuditReader(path) as reader, pytest.raises(AuditError, match="damaged"):
        list(reader.calls())


@pytest.mark.parametrize(
    "more",
    [
        "",
        "; CREATE VIEW calls AS WITH RECURSIVE r(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM r) SELECT seq FROM r",
    ],
)
def test_what_is_no_table_is_not_read(path: Path, more: str) -> None:
    """A view may be without an end."""
    write(path, note())
    connection = open_for_writing(path, make_folder=False)
    connection.executescript("CREATE TABLE other (a); DROP TABLE calls" + more)
    connection.close()
    with AuditReader(path) as reader, pytest.raises(AuditError, match="damaged"):
        reader.last_seq()


def test_the_file_lies_in_the_state_folder_unless_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert file_of().name == "audit.sqlite3"
    assert file_of(AuditDbSettings(file="x.db")) == Path("x.db").absolute()


# -- families


def test_a_call_is_shown_with_those_above_and_below_it(path: Path) -> None:
    write(
        path,
        note("c", parent_id="b", started_at=100.3),
        note("b", parent_id="a", started_at=100.2),
        note("b2", parent_id="a", started_at=100.1),
        note("a", parent_id=None, started_at=100.0, duration_ms=500),
        note("x", parent_id="a", started_at=100.1, session="another"),
    )
    with AuditReader(path) as reader:
        (deep,) = reader.calls(CallQuery(id="c"))
        assert [one.id for one in reader.family(deep)] == ["a", "b2", "b", "c"]
        tree = reader.tree(deep)
    assert [(one.depth, one.call.id) for one in tree] == [(0, "a"), (1, "b2"), (1, "b"), (2, "c")]
    assert [(one.depth, one.call.id) for one in bars_of(tree)] == [(0, "a"), (1, "b2"), (1, "b"), (2, "c")]


def test_an_id_that_comes_again_is_another_call(path: Path) -> None:
    write(
        path,
        note("1-0", parent_id="1", started_at=100.0),
        note("1", started_at=100.0),
        note("1-1", parent_id="1", started_at=200.0),
        note("1", started_at=200.0),
    )
    with AuditReader(path) as reader:
        first, second = reader.calls(CallQuery(id="1"))
        assert [one.id for one in reader.family(first)] == ["1", "1-0"]
        assert [one.id for one in reader.family(second)] == ["1", "1-1"]


def test_a_circle_of_ids_ends(path: Path) -> None:
    write(path, note("a", parent_id="b"), note("b", parent_id="a"), note("c", parent_id="c"))
    with AuditReader(path) as reader:
        for call in list(reader.calls()):
            family = reader.family(call)
            assert call in family
            assert len({one.seq for one in family}) == len(family) <= 2


TRACE = "0af7651916cd43dd8448eb211c80319c"


def below(own: int | None, came: int | None = None) -> tuple[str | None, str | None] | None:
    """What is noted of a call with this span of its own that came in with that one."""
    return None if own is None else (f"00-{TRACE}-{own:016x}-01", came and f"00-{TRACE}-{came:016x}-01")


def tree_of(reader: AuditReader, id_: str) -> list[tuple[int, str]]:
    (call,) = reader.calls(CallQuery(id=id_))
    return [(one.depth, one.call.id) for one in reader.tree(call)]


def test_calls_of_several_processes_are_joined_by_the_spans_that_they_name(path: Path) -> None:
    """As with pegboard-otel on all boards: each call has a span of its own, and names the one that it came below."""
    write(
        path,
        note("ask", traceparents=below(1), name="files_read", duration_ms=100),
        note("also", traceparents=below(2), name="files_read", duration_ms=100),  # at the same time
        process=1,
    )
    write(
        path,
        note(
            "2-1", traceparents=below(12, 2), name="read", session="t", started_at=100.01, duration_ms=200
        ),  # too late
        note("2-0", traceparents=below(11, 1), name="read", session="t", started_at=100.02, duration_ms=50),
        note("2-2", traceparents=below(13, 1), name="open", session="t", started_at=100.03, parent_id="2-0"),
        process=2,
    )
    write(path, note("deep", traceparents=below(21, 13), session="u", started_at=100.03), process=3)
    with AuditReader(path) as reader:
        whole = [(0, "ask"), (1, "2-0"), (2, "2-2"), (3, "deep")]
        assert all(tree_of(reader, one) == whole for _, one in whole)
        assert tree_of(reader, "also") == tree_of(reader, "2-1") == [(0, "also"), (1, "2-1")]


@pytest.mark.parametrize(
    ("caller", "called", "is_joined"),
    [
        ({"name": "files_read"}, {"name": "read"}, True),
        ({"name": "add"}, {"name": "add"}, True),
        ({"name": "notes.read-all"}, {"name": "read_all"}, True),
        ({"name": "files_write"}, {"name": "read"}, False),
        ({"name": None}, {"name": None}, False),
        ({"name": "add"}, {"name": "add", "duration_ms": 500.0}, False),
        ({"name": "add"}, {"name": "add", "started_at": 99.0}, False),
    ],
)
def test_where_nobody_makes_spans_that_call_is_above_which_lasted_all_the_while(
    path: Path, caller: dict[str, Any], called: dict[str, Any], is_joined: bool
) -> None:
    write(path, note("ask", **{"traceparents": below(1, 1), "duration_ms": 100.0} | caller), process=1)
    given_ = {"traceparents": below(1, 1), "started_at": 100.01, "duration_ms": 9.0, "session": "t"} | called
    write(path, note("answer", **given_), process=2)
    with AuditReader(path) as reader:
        assert tree_of(reader, "answer") == ([(0, "ask"), (1, "answer")] if is_joined else [(0, "answer")])


@pytest.mark.parametrize("traceparents", [None, below(7, 7)])
def test_calls_of_one_process_are_joined_by_their_ids_alone(path: Path, traceparents: Any) -> None:
    """Two clients of one server may call at the same time, in one trace."""
    write(path, *[note(id_, traceparents=traceparents, session=id_, duration_ms=9.0) for id_ in "ab"], process=1)
    with AuditReader(path) as reader:
        assert tree_of(reader, "a") == [(0, "a")]


def test_callers_who_name_each_other_as_parents_in_two_processes_end_too(path: Path) -> None:
    for process, (own, came) in enumerate([(1, 2), (2, 1)], start=1):
        write(path, note(str(process), traceparents=below(own, came), session=str(process)), process=process)
    with AuditReader(path) as reader:
        for call in list(reader.calls()):
            assert sorted(one.id for one in reader.family(call)) == ["1", "2"]


SPANS = st.sampled_from([None, 1, 2, 3])


@settings(max_examples=20)
@given(st.lists(st.tuples(NOTES, SPANS, SPANS, st.integers(1, 2)), max_size=8))
def test_every_tree_ends_and_has_its_call_and_no_call_twice(
    tmp_path_factory: pytest.TempPathFactory, calls: list[tuple[Any, int | None, int | None, int]]
) -> None:
    file = tmp_path_factory.mktemp("audit") / "audit.sqlite3"
    write(file)
    for one, own, came, process in calls:
        write(file, (*one[:14], below(own, came), one[15]), process=process)
    with AuditReader(file) as reader:
        for call in list(reader.calls()):
            tree = reader.tree(call)
            assert call in [one.call for one in tree]
            assert len({one.call.seq for one in tree}) == len(tree)
            assert all(one.depth <= before.depth + 1 for before, one in itertools.pairwise(tree))
            assert [one.depth for one in tree].count(0) == 1


def test_a_file_of_an_older_version_is_read_and_written_as_it_goes_on(path: Path) -> None:
    write(path, note("old"))
    connection = open_for_writing(path, make_folder=False)
    for name in ("process", "span_id", "parent_span_id"):
        connection.execute(f"ALTER TABLE calls DROP COLUMN {name}")
    connection.close()
    with AuditReader(path) as reader:
        (old,) = reader.calls()
        assert (old.id, old.process, old.span_id) == ("old", None, None)
        write(path, note("new"))
        assert [(one.id, one.process) for one in reader.calls()] == [("old", None), ("new", os.getpid())]
        assert reader.family(old) == [old]


def test_a_parent_that_is_not_kept_is_missing(path: Path) -> None:
    write(path, note("b", parent_id="gone"))
    with AuditReader(path) as reader:
        (call,) = reader.calls()
        assert reader.family(call) == [call]


# -- new calls

CALLER = """
import sys, trio
from pegboard import open_host, tool
from pegboard_audit import plugin

@tool(run="inplace")
def halve(number: float) -> float:
    "Halve."
    return number / 2

async def main():
    async with open_host({"plugins": {"audit_db": {"file": sys.argv[1]}}}, plugins=[plugin]) as host:
        host.add(halve)
        session = host.session()
        for line in sys.stdin:
            await session.call("halve", {"number": 4}, id=line.strip())
            await trio.sleep(0.5)

trio.run(main)
"""


async def test_calls_of_another_process_are_heard_while_it_runs(path: Path) -> None:
    command = [sys.executable, "-c", CALLER, str(path)]
    heard = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, bufsize=1) as caller, trio.fail_after(60):
        assert caller.stdin is not None
        caller.stdin.write("first\n")
        async with follow(CallQuery(after=0), path=path) as calls:
            async for call in calls:
                heard.append(call.id)
                assert caller.poll() is None
                if len(heard) == 2:
                    break
                caller.stdin.write("second\n")
        caller.stdin.close()
    assert heard == ["first", "second"]
    assert caller.returncode == 0


async def test_who_follows_hears_what_is_meant_from_where_they_were(path: Path) -> None:
    write(path, note("1"), note("2"), note("3", user_id="bob"), note("4"))
    heard = []
    with trio.fail_after(30):
        async with follow(CallQuery(after=1, user_id="ada"), path=path) as calls:
            async for call in calls:
                heard.append(call.id)
                if len(heard) == 2:
                    break
    assert heard == ["2", "4"]


async def test_who_follows_hears_of_a_file_that_comes_later_and_of_one_that_comes_anew(path: Path) -> None:
    heard: list[str] = []
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:

            async def listen() -> None:
                async with follow(CallQuery(after=0), path=path, poll_s=0.01) as calls:
                    async for call in calls:
                        heard.append(call.id)

            async def until(count: int) -> None:
                while len(heard) < count:
                    await trio.sleep(0.01)

            nursery.start_soon(listen)
            write(path, note("a"), note("b"))
            await until(2)
            for one in list(path.parent.iterdir()):
                one.unlink()
            write(path, note("c"))
            await until(3)
            nursery.cancel_scope.cancel()
    assert heard == ["a", "b", "c"]


# -- what is shown


def record(**more: Any) -> CallRecord:
    return CallRecord(**({"seq": 1, "id": "1", "started_at": 0.0, "duration_ms": 1.0} | more))


@settings(max_examples=200)
@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6), st.integers(1, 200))
def test_no_bar_leaves_its_line_and_none_is_invisible(begins: float, takes: float, more: float, width: int) -> None:
    drawn = bar(begins, takes, begins + takes + more, width)
    assert "█" in drawn
    assert len(drawn) <= width


def test_stages_follow_each_other() -> None:
    timings = {"admit": 0.0, "validate": 1000.0, "execute": 3000.0}
    assert list(stages_of(timings)) == [("validate", 0.0, 1.0), ("execute", 1.0, 3.0)]


def test_a_line_of_json_has_the_members_that_scripts_rely_on() -> None:
    line = record(status="cancelled", started_at=time.time()).to_json()
    members = "id parent_id time name user_id source code duration_ms timings verdicts trace_id"
    assert list(line) == members.split()
    assert line["code"] == "CANCELLED"
    assert record(arguments={"a": 1}).to_json()["arguments"] == {"a": 1}
