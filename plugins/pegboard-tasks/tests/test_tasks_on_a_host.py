"""The five tools as a caller meets them: through a host, on both databases."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
import trio

from pegboard.testing import assert_error, assert_ok
from pegboard.text import clean

UTC_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@pytest.fixture
async def host(database_url: str, open_tasks: Any) -> Any:
    return await open_tasks(database_url)


@pytest.fixture
def ada(host: Any) -> Any:
    return host.session("ada")


async def add(session: Any, *titles: str) -> list[str]:
    return [assert_ok(await session.call("add_task", {"title": title})).data["id"] for title in titles]


async def titles(session: Any, **arguments: Any) -> list[str]:
    listed = assert_ok(await session.call("list_tasks", arguments))
    return [task["title"] for task in listed.data["tasks"]]


# -- what the tools say


async def test_a_new_task_has_an_id_a_title_and_a_time(ada: Any) -> None:
    result = assert_ok(
        await ada.call("add_task", {"title": "Buy groceries"}), text="Task 'Buy groceries' created successfully"
    )
    assert set(result.data) == {"id", "title", "completed", "created_at"}
    assert str(uuid.UUID(result.data["id"])) == result.data["id"]
    assert (result.data["title"], result.data["completed"]) == ("Buy groceries", False)
    assert UTC_TIME.fullmatch(result.data["created_at"])


async def test_a_user_without_tasks_is_told_so(ada: Any) -> None:
    empty = {"tasks": [], "total": 0, "pending": 0, "completed": 0}
    for status in ("all", "pending", "completed"):
        assert_ok(await ada.call("list_tasks", {"status": status}), text="No tasks found", data=empty)


async def test_a_list_counts_every_task_and_says_how_many_the_filter_matched(ada: Any) -> None:
    ids = await add(ada, "one", "two", "three")
    await ada.call("complete_task", {"task_identifier": "two"})
    counts = {"total": 3, "pending": 2, "completed": 1}
    items = [
        {"id": ids[2], "title": "three", "completed": False},
        {"id": ids[1], "title": "two", "completed": True},
        {"id": ids[0], "title": "one", "completed": False},
    ]
    listed = assert_ok(await ada.call("list_tasks"), data={"tasks": items, **counts})
    lines = [f"- [ ] three (id {ids[2]})", f"- [x] two (id {ids[1]})", f"- [ ] one (id {ids[0]})"]
    assert listed.text.splitlines() == ["Found 3 tasks", *lines]
    pending = {"tasks": [items[0], items[2]], **counts}
    listed = assert_ok(await ada.call("list_tasks", {"status": "pending"}), data=pending)
    assert listed.text.splitlines() == ["Found 2 tasks", lines[0], lines[2]]
    completed = {"tasks": [items[1]], **counts}
    assert_ok(await ada.call("list_tasks", {"status": "completed"}), data=completed)


async def test_completing_says_when(ada: Any) -> None:
    [task_id] = await add(ada, "Buy groceries")
    result = assert_ok(
        await ada.call("complete_task", {"task_identifier": "groceries"}),
        text="Task 'Buy groceries' marked as completed",
    )
    completed_at = result.data["completed_at"]
    assert UTC_TIME.fullmatch(completed_at)
    item = {"id": task_id, "title": "Buy groceries", "completed": True}
    assert result.data == {**item, "completed_at": completed_at, "matched": 1}


async def test_deleting_removes_the_task(ada: Any) -> None:
    [task_id] = await add(ada, "Buy groceries")
    assert_ok(
        await ada.call("delete_task", {"task_identifier": "Buy groceries"}),
        text="Task 'Buy groceries' has been deleted",
        data={"id": task_id, "title": "Buy groceries", "completed": False, "matched": 1},
    )
    assert await titles(ada) == []


async def test_updating_says_the_title_before_and_after(ada: Any) -> None:
    [task_id] = await add(ada, "Buy groceries")
    assert_ok(
        await ada.call("update_task", {"task_identifier": "groceries", "new_title": " Buy ÄPFEL "}),
        text="Task updated from 'Buy groceries' to 'Buy ÄPFEL'",
        data={
            "id": task_id,
            "title": "Buy ÄPFEL",
            "completed": False,
            "previous_title": "Buy groceries",
            "matched": 1,
        },
    )
    assert_error(await ada.call("delete_task", {"task_identifier": "groceries"}), "NOT_FOUND")
    assert_ok(await ada.call("delete_task", {"task_identifier": "äpfel"}))


# -- whose tasks


TOOLS: dict[str, dict[str, Any]] = {
    "add_task": {"title": "x"},
    "list_tasks": {},
    "complete_task": {"task_identifier": "secret"},
    "delete_task": {"task_identifier": "secret"},
    "update_task": {"task_identifier": "secret", "new_title": "x"},
}


@pytest.mark.parametrize("nobody", [None, "", " \t\n"])
async def test_nobody_has_no_tasks(host: Any, nobody: str | None) -> None:
    for name, arguments in TOOLS.items():
        assert_error(await host.session(nobody).call(name, arguments), "UNAUTHORIZED", reason="user")


@pytest.mark.parametrize("name", ["complete_task", "delete_task", "update_task"])
async def test_another_users_task_and_none_at_all_are_the_same_to_a_caller(host: Any, ada: Any, name: str) -> None:
    [task_id] = await add(ada, "secret")
    bob = host.session("bob")
    for identifier in ("secret", task_id, str(uuid.uuid4())):
        error = assert_error(await bob.call(name, {**TOOLS[name], "task_identifier": identifier}), "NOT_FOUND").error
        assert error.message == f"No task matching '{identifier}' found"
        assert error.details == {"retry": "changed"}
    assert await titles(ada) == ["secret"]
    assert await titles(bob) == []


async def test_the_names_of_users_are_exact(host: Any) -> None:
    for user in ("ada", "Ada", "ADA", "ada%", "a_a", "ädä", "ada\\"):
        await add(host.session(user), f"of {user}")
    for user in ("ada", "Ada", "ADA", "ada%", "a_a", "ädä", "ada\\"):
        assert await titles(host.session(user)) == [f"of {user}"]


async def test_a_user_id_among_the_arguments_is_refused(ada: Any) -> None:
    for name, arguments in TOOLS.items():
        assert_error(await ada.call(name, {**arguments, "user_id": "bob"}), "INVALID_INPUT", says="user_id")


@pytest.mark.parametrize("user", ["a" * 256, "a\0b", "a\ud800"])
async def test_a_user_id_that_no_database_keeps_is_refused(host: Any, user: str) -> None:
    assert_error(await host.session(user).call("list_tasks"), "UNAUTHORIZED", says="255")


async def test_without_the_hosts_guard_nobody_still_has_no_tasks(database_url: str, host_with: Any) -> None:
    import pegboard_tasks.plugin

    config = {"plugins": {"tasks": {"url": database_url}}, "tools": {name: {"requires_user": False} for name in TOOLS}}
    host = await host_with(pegboard_tasks.plugin, config=config)
    for name, arguments in TOOLS.items():
        assert_error(await host.session().call(name, arguments), "UNAUTHORIZED", says="belong to a user")


# -- wrong arguments


@pytest.mark.parametrize("blank", ["", "   ", "\n\t", "\u00a0\u2003", "\u200b", "\x01"])
async def test_a_blank_title_is_refused(ada: Any, blank: str) -> None:
    await add(ada, "kept")
    error = assert_error(await ada.call("add_task", {"title": blank}), "INVALID_INPUT").error
    assert error.message == "Task title cannot be empty"
    renamed = await ada.call("update_task", {"task_identifier": "kept", "new_title": blank})
    assert assert_error(renamed, "INVALID_INPUT").error.message == "New title cannot be empty"
    assert await titles(ada) == ["kept"]


@pytest.mark.parametrize("name", ["complete_task", "delete_task", "update_task"])
async def test_a_blank_identifier_means_no_task(ada: Any, name: str) -> None:
    await add(ada, "only one")
    for blank in ("", "  ", "\u2028"):
        result = await ada.call(name, {**TOOLS[name], "task_identifier": blank})
        assert_error(result, "INVALID_INPUT", says="Task identifier cannot be empty")
    assert await titles(ada) == ["only one"]


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("add_task", {}, "title"),
        ("add_task", {"title": 5}, "string"),
        ("add_task", {"title": "x" * 501}, "longer than 500 characters, got 501"),
        ("add_task", {"title": "a\0b"}, "Task title cannot hold U+0000"),
        ("add_task", {"title": "a\ud800"}, "title: expected text, got a string with half a surrogate pair"),
        ("delete_task", {"task_identifier": "a\0"}, "Task identifier cannot hold U+0000"),
        ("delete_task", {"task_identifier": "x" * 501}, "longer than 500 characters"),
        ("update_task", {"task_identifier": "x", "new_title": "y" * 501}, "New title cannot be longer"),
        ("list_tasks", {"status": "done"}, "status"),
        ("list_tasks", {"limit": 0}, "limit"),
        ("list_tasks", {"limit": 501}, "limit"),
        ("list_tasks", {"limit": True}, "limit"),
        ("list_tasks", {"cursor": "x"}, "next_cursor of the page before, got 'x'"),
        ("list_tasks", {"cursor": ""}, "next_cursor"),
    ],
)
async def test_wrong_arguments_are_answered_with_how_to_repair_them(
    ada: Any, name: str, arguments: dict[str, Any], says: str
) -> None:
    assert_error(await ada.call(name, arguments), "INVALID_INPUT", says=says)


async def test_the_longest_titles_fit_a_page(ada: Any) -> None:
    longest = "\U0010ffff" * 499 + "x"
    await add(ada, longest, longest)
    assert await titles(ada, limit=500) == [clean(longest)[0]] * 2


# -- which task is meant


async def test_an_id_comes_before_a_title_that_holds_it(ada: Any) -> None:
    [task_id] = await add(ada, "the task itself")
    await add(ada, f"remember {task_id}")
    deleted = assert_ok(await ada.call("delete_task", {"task_identifier": f" {task_id.upper()} "}))
    assert deleted.data["title"] == "the task itself"
    deleted = assert_ok(await ada.call("delete_task", {"task_identifier": task_id}))
    assert deleted.data["title"] == f"remember {task_id}"


@pytest.mark.parametrize(
    ("title", "identifier"),
    [
        ("Buy GROCERIES", "groceries"),
        ("STRASSE fegen", "straße"),
        ("ﬁnish the ﬂoor", "FINISH"),
        ("Ａ wide title", "a WIDE"),
        ("Cafe\u0301", "CAFÉ"),
        ("İstanbul", "i̇stanbul"),
        ("ΟΔΟΣ", "οδος"),
        ("x²", "X2"),
        ("日本へ行く", "日本"),
        ("👩‍👩‍👧 dinner", "👩‍👩‍👧"),
        ("it's 100% done_now \\o/", "100% DONE_now \\O/"),
    ],
)
async def test_a_title_is_found_however_it_is_written(ada: Any, title: str, identifier: str) -> None:
    await add(ada, title, "something else")
    assert assert_ok(await ada.call("delete_task", {"task_identifier": identifier})).data["title"] == title


@pytest.mark.parametrize("identifier", ["%", "_", "\\", "/", "b%y", "b_y", "%%", "[a-z]", "*", "?", "'", '"', "/%"])
async def test_signs_of_patterns_are_themselves(ada: Any, identifier: str) -> None:
    await add(ada, "buy milk")
    error = assert_error(await ada.call("delete_task", {"task_identifier": identifier}), "NOT_FOUND").error
    assert error.message == f"No task matching '{identifier}' found"
    await add(ada, f"with {identifier} inside")
    assert assert_ok(await ada.call("delete_task", {"task_identifier": identifier})).data["matched"] == 1
    assert await titles(ada) == ["buy milk"]


async def test_of_several_the_newest_is_meant_and_the_answer_says_how_many_matched(ada: Any) -> None:
    ids = await add(ada, "buy milk", "buy bread", "buy eggs")
    result = assert_ok(
        await ada.call("delete_task", {"task_identifier": "BUY"}),
        text="Task 'buy eggs' has been deleted (the identifier 'BUY' matched 3 tasks)",
    )
    assert (result.data["id"], result.data["matched"]) == (ids[2], 3)
    updated = assert_ok(await ada.call("update_task", {"task_identifier": "buy", "new_title": "sell bread"}))
    assert (updated.data["id"], updated.data["matched"]) == (ids[1], 2)


async def test_the_pending_task_is_meant_where_a_newer_one_is_completed(ada: Any) -> None:
    old, new = await add(ada, "water the plants", "water the plants")
    for task_id in (new, old):
        completed = assert_ok(await ada.call("complete_task", {"task_identifier": "plants"}))
        assert (completed.data["id"], completed.data["matched"]) == (task_id, 2)
    error = assert_error(await ada.call("complete_task", {"task_identifier": "PLANTS"}), "CONFLICT").error
    assert error.message == "Task 'water the plants' is already completed"


async def test_a_task_that_is_completed_is_not_completed_again_by_its_id(ada: Any) -> None:
    done, _ = await add(ada, "read", "read")
    assert_ok(await ada.call("complete_task", {"task_identifier": done}))
    error = assert_error(await ada.call("complete_task", {"task_identifier": done}), "CONFLICT").error
    assert error.message == "Task 'read' is already completed"


@pytest.fixture
def strict_ada(database_url: str, open_tasks: Any) -> Any:
    async def open_one() -> Any:
        return (await open_tasks(database_url, ambiguous="conflict")).session("ada")

    return open_one


@pytest.mark.parametrize("name", ["complete_task", "delete_task", "update_task"])
async def test_several_are_a_conflict_that_lists_them_where_the_settings_say_so(strict_ada: Any, name: str) -> None:
    ada = await strict_ada()
    ids = await add(ada, "buy milk", "buy bread", "sell eggs")
    error = assert_error(
        await ada.call(name, {**TOOLS[name], "task_identifier": "Buy"}), "CONFLICT", reason="ambiguous"
    ).error
    assert error.message == (
        f"2 tasks match 'Buy', say which one by its id: 'buy bread' is {ids[1]}; 'buy milk' is {ids[0]}"
    )
    assert error.details["matched"] == 2
    assert [task["id"] for task in error.details["tasks"]] == [ids[1], ids[0]]
    assert_ok(await ada.call(name, {**TOOLS[name], "task_identifier": ids[0]}))
    assert_ok(await ada.call(name, {**TOOLS[name], "task_identifier": "eggs"}))


async def test_a_conflict_lists_ten_and_counts_the_rest(strict_ada: Any) -> None:
    ada = await strict_ada()
    await add(ada, *["buy milk"] * 12)
    error = assert_error(await ada.call("delete_task", {"task_identifier": "milk"}), "CONFLICT").error
    assert (error.details["matched"], len(error.details["tasks"])) == (12, 10)
    assert error.message.endswith("; and 2 more")


async def test_completed_tasks_do_not_make_completing_ambiguous(strict_ada: Any) -> None:
    ada = await strict_ada()
    old, new = await add(ada, "pay rent", "pay rent")
    assert_ok(await ada.call("complete_task", {"task_identifier": new}))
    assert assert_ok(await ada.call("complete_task", {"task_identifier": "rent"})).data["id"] == old
    assert_error(await ada.call("complete_task", {"task_identifier": "rent"}), "CONFLICT", reason="completed")


# -- pages


async def test_pages_show_every_task_once_newest_first(ada: Any) -> None:
    await add(ada, *(f"task {number}" for number in range(7)))
    seen: list[str] = []
    cursor: dict[str, str] = {}
    sizes = []
    while True:
        data = assert_ok(await ada.call("list_tasks", {"limit": 3, **cursor})).data
        seen += [task["title"] for task in data["tasks"]]
        sizes.append(len(data["tasks"]))
        if "next_cursor" not in data:
            break
        cursor = {"cursor": data["next_cursor"]}
    assert seen == [f"task {number}" for number in reversed(range(7))]
    assert sizes == [3, 3, 1]


async def test_tasks_that_come_and_go_between_pages_move_no_other(ada: Any) -> None:
    await add(ada, *(f"task {number}" for number in range(5)))
    first = assert_ok(await ada.call("list_tasks", {"limit": 2})).data
    assert_ok(await ada.call("delete_task", {"task_identifier": first["next_cursor"]}))
    await add(ada, "task 5")
    assert await titles(ada, limit=2, cursor=first["next_cursor"]) == ["task 2", "task 1"]


async def test_a_page_of_a_filter_goes_on_within_the_filter(ada: Any) -> None:
    await add(ada, *(f"task {number}" for number in range(6)))
    for number in (0, 2, 4):
        assert_ok(await ada.call("complete_task", {"task_identifier": f"task {number}"}))
    first = assert_ok(await ada.call("list_tasks", {"status": "completed", "limit": 2})).data
    rest = {"status": "completed", "limit": 2, "cursor": first["next_cursor"]}
    assert [task["title"] for task in first["tasks"]] == ["task 4", "task 2"]
    assert await titles(ada, **rest) == ["task 0"]


async def test_a_page_that_ends_with_the_last_task_has_no_next(ada: Any) -> None:
    await add(ada, "a", "b")
    assert "next_cursor" not in assert_ok(await ada.call("list_tasks", {"limit": 2})).data


async def test_a_cursor_of_another_user_shows_none_of_theirs(host: Any, ada: Any) -> None:
    await add(ada, "a", "b", "c")
    cursor = assert_ok(await ada.call("list_tasks", {"limit": 1})).data["next_cursor"]
    assert await titles(host.session("bob"), cursor=cursor) == []


# -- at once


async def test_three_deletes_of_one_title_at_once_remove_three_tasks(host: Any, ada: Any) -> None:
    await add(ada, *["buy milk"] * 4)
    ids: list[str] = []

    async def delete() -> None:
        result = await host.session("ada").call("delete_task", {"task_identifier": "milk"})
        ids.append(assert_ok(result).data["id"])

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(delete)
    assert len(set(ids)) == 3
    assert await titles(ada) == ["buy milk"]


async def test_of_many_completions_at_once_each_task_gets_one(host: Any, ada: Any) -> None:
    await add(ada, *["run"] * 10)
    codes: list[str] = []

    async def complete() -> None:
        result = await host.session("ada").call("complete_task", {"task_identifier": "run"})
        codes.append("ok" if result.ok else result.error.code)

    async with trio.open_nursery() as nursery:
        for _ in range(16):
            nursery.start_soon(complete)
    assert sorted(codes) == ["CONFLICT"] * 6 + ["ok"] * 10


async def test_a_rename_at_the_same_time_does_not_hide_a_task(host: Any, ada: Any) -> None:
    await add(ada, "walk")
    codes: list[str] = []

    async def rename(number: int) -> None:
        arguments = {"task_identifier": "walk", "new_title": f"walk {number}"}
        result = await host.session("ada").call("update_task", arguments)
        codes.append("ok" if result.ok else result.error.code)

    async with trio.open_nursery() as nursery:
        for number in range(12):
            nursery.start_soon(rename, number)
    assert codes == ["ok"] * 12


async def test_what_one_host_adds_another_sees(database_url: str, open_tasks: Any) -> None:
    one, other = await open_tasks(database_url), await open_tasks(database_url)
    await add(one.session("ada"), "from one")
    await add(other.session("ada"), "from the other")
    assert await titles(one.session("ada")) == ["from the other", "from one"]
