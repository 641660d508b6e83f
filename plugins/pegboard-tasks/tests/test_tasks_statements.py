"""What is sent to the database: every statement names the user, and nothing that a caller wrote is part of one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ToolError
from pegboard.testing import assert_error, assert_ok
from pegboard_tasks import _migrating as migrating
from pegboard_tasks import _operations as operations
from pegboard_tasks._table import TASKS, metadata
from pegboard_tasks._wording import fold, read_identifier

INJECTIONS = [
    "'; DROP TABLE pegboard_tasks; --",
    "' OR '1'='1",
    '" OR ""="',
    "x'); DELETE FROM pegboard_tasks WHERE ('1'='1",
    "\\'; SELECT pg_sleep(9); --",
    "%' OR user_id <> '",
    "$1 %(of_user)s :of_user ? ?1 {of_user}",
    "E'\\x27' UNION SELECT user_id, title FROM pegboard_tasks --",
    "/* */ // -- #",
    "${jndi:x} %s %d %n",
]


@pytest.fixture
def statements() -> Iterator[list[tuple[str, Any]]]:
    """Every statement that ran, with its parameters, whatever engine it ran on."""
    from sqlalchemy import Engine, event

    ran: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        ran.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    yield ran
    event.remove(Engine, "before_cursor_execute", note)


async def use_every_tool(session: Any, text: str) -> None:
    """Each tool in each of its ways, with `text` wherever a caller may write one."""
    assert_ok(await session.call("add_task", {"title": text}))
    assert_ok(await session.call("add_task", {"title": f"{text} again"}))
    for status in ("all", "pending", "completed"):
        data = assert_ok(await session.call("list_tasks", {"status": status, "limit": 1})).data
        if "next_cursor" in data:
            rest = {"status": status, "cursor": data["next_cursor"]}
            assert_ok(await session.call("list_tasks", rest))
    assert_error(await session.call("list_tasks", {"cursor": text}), "INVALID_INPUT")
    assert_error(await session.call("list_tasks", {"status": text}), "INVALID_INPUT")
    assert_ok(await session.call("complete_task", {"task_identifier": text}))
    assert_ok(await session.call("update_task", {"task_identifier": text, "new_title": f"{text} {text}"}))
    assert_ok(await session.call("delete_task", {"task_identifier": data["tasks"][0]["id"] if data["tasks"] else text}))
    assert_ok(await session.call("delete_task", {"task_identifier": text}))
    for name in ("complete_task", "delete_task"):
        assert_error(await session.call(name, {"task_identifier": f"{text} nowhere"}), "NOT_FOUND")


async def test_every_statement_filters_by_the_user(
    database_url: str, open_tasks: Any, statements: list[tuple[str, Any]]
) -> None:
    for ambiguous in ("newest", "conflict"):
        host = await open_tasks(database_url, ambiguous=ambiguous)
        await host.session("the-first-call").call("list_tasks")
        del statements[:]
        await use_every_tool_but_ambiguously(host.session("ada"), "some task", ambiguous)
        ours = [(text, values) for text, values in statements if TASKS in text or "advisory" in text]
        verbs = {text.split()[0] for text, _ in ours}
        assert verbs == {"SELECT", "INSERT", "UPDATE", "DELETE"}
        for text, values in ours:
            assert "ada" in (values.values() if isinstance(values, dict) else values), text
            if text.startswith("INSERT"):
                assert "user_id" in text
            elif "advisory" not in text:
                where = text.rpartition("WHERE ")[2]
                assert where.startswith(f"{TASKS}.user_id = "), text
                assert " OR " not in where, text
        others = [text for text, _ in statements if TASKS not in text and "advisory" not in text]
        assert not [text for text in others if "set_config" not in text], "nothing else is asked"


async def use_every_tool_but_ambiguously(session: Any, text: str, ambiguous: str) -> None:
    if ambiguous == "newest":
        await use_every_tool(session, text)
        return
    for _ in range(2):
        assert_ok(await session.call("add_task", {"title": text}))
    assert_error(await session.call("complete_task", {"task_identifier": text}), "CONFLICT")
    error = assert_error(await session.call("delete_task", {"task_identifier": text}), "CONFLICT").error
    task_id = error.details["tasks"][0]["id"]
    assert_ok(await session.call("complete_task", {"task_identifier": task_id}))
    assert_ok(await session.call("update_task", {"task_identifier": task_id, "new_title": "x"}))
    assert_ok(await session.call("delete_task", {"task_identifier": task_id}))


async def test_injections_in_every_parameter_are_text_and_nothing_else(
    database_url: str, open_tasks: Any, statements: list[tuple[str, Any]]
) -> None:
    host = await open_tasks(database_url)
    bob = host.session("bob")
    assert_ok(await bob.call("add_task", {"title": "bob's own"}))
    await use_every_tool(host.session("ada"), "a harmless text")
    shapes = {text for text, _ in statements}
    for text in INJECTIONS:
        await use_every_tool(host.session("ada"), text)
        await use_every_tool(host.session(text), "of a user with a strange name")
        await use_every_tool(host.session(text), text)
    assert {text for text, _ in statements} <= shapes, "no new statement came of it"
    listed = assert_ok(await bob.call("list_tasks"))
    assert listed.data["tasks"][0]["title"] == "bob's own"


# -- the operations against a plain list

calls = st.lists(
    st.tuples(
        st.sampled_from(["add", "complete", "remove", "rename", "page"]),
        st.sampled_from(["ada", "bob"]),
        st.sampled_from(["a", "A", "ab", "b", "%", "a_b", "ﬀ", "ff", "x", ""]),
        st.sampled_from(["newest", "conflict"]),
    ),
    max_size=25,
)


@pytest.fixture(scope="module")
def memory() -> Iterator[Any]:
    from sqlalchemy import StaticPool, create_engine

    engine = create_engine("sqlite://", poolclass=StaticPool)
    with engine.begin() as connection:
        metadata.create_all(connection)
    yield engine
    engine.dispose()


@given(calls)
@settings(max_examples=150)
def test_any_calls_leave_what_they_leave_in_a_plain_list(memory: Any, calls: list[tuple[str, str, str, Any]]) -> None:
    model: list[dict[str, Any]] = []  # the oldest first
    with memory.connect() as connection:
        for name, user, text, ambiguous in calls:
            if name == "add":
                added = operations.add(connection, user, f"{text}!")
                model.append({"user": user, "id": added["id"], "title": f"{text}!", "completed": False})
            elif name == "page":
                compare(connection, user, model)
            else:
                act(connection, name, user, text or "!", ambiguous, model)
        for user in ("ada", "bob"):
            compare(connection, user, model)
        connection.rollback()


def act(connection: Any, name: str, user: str, text: str, ambiguous: Any, model: list[dict[str, Any]]) -> None:
    matches = [task for task in reversed(model) if task["user"] == user and fold(text) in fold(task["title"])]
    candidates = matches
    if name == "complete":
        candidates = [task for task in matches if not task["completed"]] or matches[:1]
    wanted = read_identifier(text)
    more = ("renamed a",) if name == "rename" else ()
    expected = "ok"
    if not candidates:
        expected = "NOT_FOUND"
    elif (ambiguous == "conflict" and len(candidates) > 1) or (name == "complete" and candidates[0]["completed"]):
        expected = "CONFLICT"
    data, got = None, "ok"
    try:
        data = getattr(operations, name)(connection, user, wanted, ambiguous, *more)
    except ToolError as error:
        got = error.code
    assert got == expected
    if data is None:
        return
    meant = candidates[0]
    assert (data["id"], data["matched"]) == (meant["id"], len(matches))
    if name == "remove":
        model.remove(meant)
    elif name == "complete":
        meant["completed"] = True
    else:
        meant["title"] = "renamed a"


def compare(connection: Any, user: str, model: list[dict[str, Any]]) -> None:
    mine = [task for task in reversed(model) if task["user"] == user]
    for status in ("all", "pending", "completed"):
        chosen = [task for task in mine if status == "all" or task["completed"] == (status == "completed")]
        size = random.Random(len(mine)).randint(1, 4)
        seen: list[tuple[str, str, bool]] = []
        after = None
        while True:
            data = operations.page(connection, user, status, size, after)
            seen += [(item["id"], item["title"], item["completed"]) for item in data["tasks"]]
            after = data.get("next_cursor")
            if after is None:
                break
        assert seen == [(task["id"], task["title"], task["completed"]) for task in chosen]
        assert data["total"] == len(mine)
        assert data["completed"] == sum(task["completed"] for task in mine)
        assert data["pending"] + data["completed"] == data["total"]


# -- migrations


def test_the_revisions_are_those_of_the_migrations() -> None:
    from pathlib import Path

    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(migrating.__file__).with_name("migrations")))
    script = ScriptDirectory.from_config(config)
    assert script.get_heads() == [migrating.HEAD]
    assert [one.revision for one in script.walk_revisions()][::-1] == list(migrating.REVISIONS)


async def test_the_migrations_make_the_table_that_the_statements_expect(database_url: str, open_tasks: Any) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from sqlalchemy import create_engine, inspect

    host = await open_tasks(database_url)
    assert_ok(await host.session("ada").call("list_tasks"))
    engine = create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        with engine.connect() as connection:
            options = {"version_table": "pegboard_tasks_version", "compare_type": True}
            assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []
            assert inspect(connection).get_pk_constraint(TASKS)["constrained_columns"] == ["user_id", "id"]
            assert migrating.revision_of(connection) == migrating.HEAD
    finally:
        engine.dispose()


async def test_a_page_is_read_by_an_index(sqlite_url: str, open_tasks: Any, statements: list[tuple[str, Any]]) -> None:
    from sqlalchemy import create_engine

    host = await open_tasks(sqlite_url)
    await use_every_tool(host.session("ada"), "some task")
    engine = create_engine(sqlite_url)
    try:
        with engine.connect() as connection:
            for text, values in set(statements):
                if text.startswith("SELECT") and TASKS in text and "ORDER BY" in text and "LIKE" not in text:
                    plan = "; ".join(row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values))
                    assert "SEARCH" in plan, text
                    assert "TEMP B-TREE" not in plan, f"sorted by hand: {text}"
    finally:
        engine.dispose()


async def test_a_database_of_a_later_version_is_refused_and_said_to_be_so(
    database_url: str, open_tasks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    from sqlalchemy import create_engine

    first = await open_tasks(database_url)
    assert_ok(await first.session("ada").call("add_task", {"title": "old"}))
    engine = create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE pegboard_tasks_version SET version_num = '9999'")
        second = await open_tasks(database_url)
        for name, arguments, doing in (("add_task", {"title": "x"}, "create task"), ("list_tasks", {}, "list tasks")):
            error = assert_error(await second.session("ada").call(name, arguments), "UPSTREAM_ERROR").error
            assert error.message == f"Failed to {doing}"
        assert "the database is at revision '9999'" in caplog.text
        assert "upgrade pegboard-tasks" in caplog.text
        with engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE pegboard_tasks_version SET version_num = '{migrating.HEAD}'")
        assert assert_ok(await second.session("ada").call("list_tasks")).text.startswith("Found 1 task\n")
    finally:
        engine.dispose()
