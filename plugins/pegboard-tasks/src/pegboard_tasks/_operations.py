"""What the tools do to the table: one function each, all of it inside the transaction of its caller.

Every statement filters by the user, those that only lock included. Finding a task and acting on it happen in one
transaction which no other of the same user can enter: on SQLite because there is one writer, on PostgreSQL by a lock on
the user. (`FOR UPDATE SKIP LOCKED` would let a deletion overlook the task that is just being renamed.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from sqlalchemy import bindparam, delete, false, func, insert, literal, select, update

from pegboard import ErrorCode, ToolError
from pegboard_tasks._moments import birth, now
from pegboard_tasks._table import tasks
from pegboard_tasks._wording import ESCAPE, fold, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Row, Select

    from pegboard_tasks._schema import Added, Ambiguous, Completed, Deleted, Item, Listed, Status, Updated
    from pegboard_tasks._wording import Wanted

LISTED = 10
"""Tasks that a CONFLICT lists."""

_of_user = tasks.c.user_id == bindparam("of_user")
_item = (tasks.c.id, tasks.c.title, tasks.c.completed)
_newest_first = tasks.c.id.desc()

_INSERT = insert(tasks)
_COUNT = select(tasks.c.completed, func.count().label("number")).where(_of_user).group_by(tasks.c.completed)
_BY_ID = select(*_item, literal(1).label("matched")).where(_of_user, tasks.c.id == bindparam("of_id"))
_BY_TITLE = (
    select(*_item, func.count().over().label("matched"))
    .where(_of_user, tasks.c.folded.like(bindparam("pattern"), escape=ESCAPE))
    .order_by(_newest_first)
    .limit(bindparam("most"))
)
_BY_TITLE_PENDING_FIRST = (
    select(
        *_item,
        func.count().over().label("matched"),
        func.count().filter(tasks.c.completed == false()).over().label("pending"),
    )
    .where(_of_user, tasks.c.folded.like(bindparam("pattern"), escape=ESCAPE))
    .order_by(tasks.c.completed, _newest_first)
    .limit(bindparam("most"))
)
_COMPLETE = (
    update(tasks)
    .where(_of_user, tasks.c.id == bindparam("of_id"))
    .values(completed=True, completed_at=bindparam("moment"))
)
_RENAME = (
    update(tasks)
    .where(_of_user, tasks.c.id == bindparam("of_id"))
    .values(title=bindparam("new_title"), folded=bindparam("new_folded"))
)
_DELETE = delete(tasks).where(_of_user, tasks.c.id == bindparam("of_id"))
# 64 bits of the user's name. Two users that share them wait for each other, and nothing else.
_LOCK = select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("of_user"), 0)))


def _page(*, of_status: bool, after: bool) -> Select[Any]:
    page = select(*_item).where(_of_user).order_by(_newest_first).limit(bindparam("most"))
    if of_status:
        page = page.where(tasks.c.completed == bindparam("is_completed"))
    return page.where(tasks.c.id < bindparam("after")) if after else page


_PAGES = {
    (of_status, after): _page(of_status=of_status, after=after)
    for of_status in (False, True)
    for after in (False, True)
}


class Match(NamedTuple):
    """The task that is meant, and how many matched."""

    item: Item
    matched: int

    @property
    def id(self) -> str:
        """The task's id."""
        return self.item["id"]

    @property
    def title(self) -> str:
        """The task's title."""
        return self.item["title"]


def add(connection: Connection, user_id: str, title: str) -> Added:
    """Store a new task; returns its item and `created_at`."""
    task_id, created_at = birth()
    connection.execute(
        _INSERT,
        {
            "user_id": user_id,
            "id": task_id,
            "title": title,
            "folded": fold(title),
            "completed": False,
            "created_at": created_at,
            "completed_at": None,
        },
    )
    return {"id": task_id, "title": title, "completed": False, "created_at": created_at}


def page(connection: Connection, user_id: str, status: Status, limit: int, after: str | None) -> Listed:
    """One page and the counts, as `list_tasks` answers them."""
    counts = {row.completed: row.number for row in connection.execute(_COUNT, {"of_user": user_id})}
    parameters: dict[str, Any] = {"of_user": user_id, "most": limit + 1}
    if status != "all":
        parameters["is_completed"] = status == "completed"
    if after is not None:
        parameters["after"] = after
    rows = connection.execute(_PAGES[status != "all", after is not None], parameters).all()
    pending, completed = counts.get(False, 0), counts.get(True, 0)
    data: Listed = {
        "tasks": [_as_item(row) for row in rows[:limit]],
        "total": pending + completed,
        "pending": pending,
        "completed": completed,
    }
    if len(rows) > limit:
        data["next_cursor"] = rows[limit - 1].id
    return data


def complete(connection: Connection, user_id: str, wanted: Wanted, ambiguous: Ambiguous) -> Completed:
    """Complete the pending task that is meant; returns its item, `completed_at` and `matched`.

    Raises:
        ToolError: NOT_FOUND; CONFLICT: all that match are completed, or several pending ones do and none is to be
            chosen.
    """
    match = _find(connection, user_id, wanted, ambiguous, pending_first=True)
    if match.item["completed"]:
        raise ToolError(ErrorCode.CONFLICT, f"Task {quoted(match.title)} is already completed", reason="completed")
    moment = now()
    _execute(connection, _COMPLETE, user_id, match.id, moment=moment)
    return {**match.item, "completed": True, "completed_at": moment, "matched": match.matched}


def remove(connection: Connection, user_id: str, wanted: Wanted, ambiguous: Ambiguous) -> Deleted:
    """Delete the task that is meant; returns the item that it was, and `matched`.

    Raises:
        ToolError: NOT_FOUND; CONFLICT: several match and none is to be chosen.
    """
    match = _find(connection, user_id, wanted, ambiguous)
    _execute(connection, _DELETE, user_id, match.id)
    return {**match.item, "matched": match.matched}


def rename(connection: Connection, user_id: str, wanted: Wanted, ambiguous: Ambiguous, new_title: str) -> Updated:
    """Give the task that is meant another title; returns its item, `previous_title` and `matched`.

    Raises:
        ToolError: NOT_FOUND; CONFLICT: several match and none is to be chosen.
    """
    match = _find(connection, user_id, wanted, ambiguous)
    _execute(connection, _RENAME, user_id, match.id, new_title=new_title, new_folded=fold(new_title))
    return {**match.item, "title": new_title, "previous_title": match.title, "matched": match.matched}


def _execute(connection: Connection, statement: Any, user_id: str, task_id: str, **values: Any) -> None:
    connection.execute(statement, {"of_user": user_id, "of_id": task_id, **values})


def _find(
    connection: Connection, user_id: str, wanted: Wanted, ambiguous: Ambiguous, *, pending_first: bool = False
) -> Match:
    """The task that is meant: the one of that id, else the newest whose title holds the text.

    Args:
        connection: inside a transaction that will act on it.
        user_id: whose task.
        wanted: what the caller wrote.
        ambiguous: what to do where several may be meant.
        pending_first: completed tasks are meant only where no pending one matches.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK, {"of_user": user_id})
    if wanted.id is not None:
        row = connection.execute(_BY_ID, {"of_user": user_id, "of_id": wanted.id}).first()
        if row is not None:
            return Match(_as_item(row), 1)
    statement = _BY_TITLE_PENDING_FIRST if pending_first else _BY_TITLE
    parameters = {"of_user": user_id, "pattern": wanted.pattern, "most": LISTED if ambiguous == "conflict" else 1}
    rows = connection.execute(statement, parameters).all()
    if not rows:
        raise ToolError(ErrorCode.NOT_FOUND, f"No task matching {wanted.quoted()} found")
    # Where only pending tasks can be meant, completed ones do not make it ambiguous.
    choices = (rows[0].pending or 1) if pending_first else rows[0].matched
    if ambiguous == "conflict" and choices > 1:
        _refuse_several(wanted, choices, [_as_item(row) for row in rows[:choices]])
    return Match(_as_item(rows[0]), rows[0].matched)


def _refuse_several(wanted: Wanted, matched: int, items: Sequence[Item]) -> NoReturn:
    listed = "; ".join(f"{quoted(item['title'])} is {item['id']}" for item in items)
    more = f"; and {matched - len(items)} more" if matched > len(items) else ""
    raise ToolError(
        ErrorCode.CONFLICT,
        f"{matched} tasks match {wanted.quoted()}, say which one by its id: {listed}{more}",
        reason="ambiguous",
        matched=matched,
        tasks=list(items),
    )


def _as_item(row: Row[Any]) -> Item:
    return {"id": row.id, "title": row.title, "completed": row.completed}
