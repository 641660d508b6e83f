"""The tools: a user and clean arguments in, one operation on the store, a sentence and data out.

Operations are imported where they run, in a thread: SQLAlchemy takes a quarter of a second to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pegboard import CallContext, ErrorCode, Example, Tool, ToolError, ToolResult, tool
from pegboard.schema import Ge, Le
from pegboard_tasks._schema import (
    MAX_PAGE,
    PAGE_BYTES,
    Added,
    Ambiguous,
    Completed,
    Deleted,
    Listed,
    Status,
    Updated,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from pegboard_tasks._store import TaskStore

MAX_USER = 255
"""Characters of a user's id; a database has to index it."""


def make_tools(*, ambiguous: Ambiguous = "newest") -> tuple[Tool, ...]:
    """Make the five tools.

    Args:
        ambiguous: which task is meant where several match: "newest", or "conflict" for none.

    .. versionadded:: 0.1
    """
    return add_task, list_tasks, _make_complete(ambiguous), _make_delete(ambiguous), _make_update(ambiguous)


@tool(
    title="Add a task",
    category="task",
    tags=("tasks", "todo", "write"),
    requires_user=True,
    destructive=False,
    open_world=False,
    examples=(Example({"title": "Buy groceries"}, "a new task"),),
)
async def add_task(context: CallContext, title: str) -> Annotated[ToolResult, Added]:
    """Add a task to the user's list.

    Args:
        title: what is to be done, at most 500 characters.
    """
    from pegboard_tasks._wording import clean_title

    user_id = user_of(context)
    clean = clean_title(title, "Task title")

    def operation(connection: Connection) -> Added:
        from pegboard_tasks import _operations

        return _operations.add(connection, user_id, clean)

    data = await store_of(context).write(context, "create task", operation)
    return ToolResult.text(f"Task '{clean}' created successfully", data=data)


@tool(
    title="List tasks",
    category="task",
    tags=("tasks", "todo", "read"),
    requires_user=True,
    read_only=True,
    idempotent=True,
    open_world=False,
    max_result_bytes=PAGE_BYTES,
    examples=(Example({}, "every task"), Example({"status": "pending", "limit": 10}, "what is still to be done")),
)
async def list_tasks(
    context: CallContext,
    status: Status = "all",
    limit: Annotated[int, Ge(1), Le(MAX_PAGE)] = 100,
    cursor: str | None = None,
) -> Annotated[ToolResult, Listed]:
    """List the user's tasks, the newest first, with the counts of all of them.

    Args:
        status: which tasks: all, those that are pending, or those that are completed.
        limit: how many at most.
        cursor: next_cursor of the page before; without it the first page.
    """
    from pegboard_tasks import _wording as wording

    user_id = user_of(context)
    after = wording.read_cursor(cursor)

    def operation(connection: Connection) -> Listed:
        from pegboard_tasks import _operations

        return _operations.page(connection, user_id, status, limit, after)

    data = await store_of(context).read(context, "list tasks", operation)
    return ToolResult.text(wording.listed(data, status), data=data)


def _make_complete(ambiguous: Ambiguous) -> Tool:
    @tool(
        title="Complete a task",
        category="task",
        tags=("tasks", "todo", "write"),
        requires_user=True,
        destructive=False,
        open_world=False,
        examples=(Example({"task_identifier": "groceries"}, "the task whose title holds this"),),
    )
    async def complete_task(context: CallContext, task_identifier: str) -> Annotated[ToolResult, Completed]:
        """Mark a task as completed. Of several that match, the newest pending one is meant.

        Args:
            task_identifier: the task's id, or a part of its title; case does not matter.
        """
        from pegboard_tasks import _wording as wording

        user_id = user_of(context)
        wanted = wording.read_identifier(task_identifier)

        def operation(connection: Connection) -> Completed:
            from pegboard_tasks import _operations

            return _operations.complete(connection, user_id, wanted, ambiguous)

        data = await store_of(context).write(context, "complete task", operation)
        several = wording.of_several(data["matched"], wanted)
        return ToolResult.text(f"Task '{data['title']}' marked as completed{several}", data=data)

    return complete_task


def _make_delete(ambiguous: Ambiguous) -> Tool:
    @tool(
        title="Delete a task",
        category="task",
        tags=("tasks", "todo", "write"),
        requires_user=True,
        destructive=True,
        open_world=False,
        examples=(Example({"task_identifier": "groceries"}, "the task whose title holds this"),),
    )
    async def delete_task(context: CallContext, task_identifier: str) -> Annotated[ToolResult, Deleted]:
        """Delete a task for good. Of several that match, the newest one is meant.

        Args:
            task_identifier: the task's id, or a part of its title; case does not matter.
        """
        from pegboard_tasks import _wording as wording

        user_id = user_of(context)
        wanted = wording.read_identifier(task_identifier)

        def operation(connection: Connection) -> Deleted:
            from pegboard_tasks import _operations

            return _operations.remove(connection, user_id, wanted, ambiguous)

        data = await store_of(context).write(context, "delete task", operation)
        several = wording.of_several(data["matched"], wanted)
        return ToolResult.text(f"Task '{data['title']}' has been deleted{several}", data=data)

    return delete_task


def _make_update(ambiguous: Ambiguous) -> Tool:
    @tool(
        title="Rename a task",
        category="task",
        tags=("tasks", "todo", "write"),
        requires_user=True,
        destructive=True,
        open_world=False,
        examples=(Example({"task_identifier": "groceries", "new_title": "Buy bread and milk"}, "another title"),),
    )
    async def update_task(context: CallContext, task_identifier: str, new_title: str) -> Annotated[ToolResult, Updated]:
        """Give a task another title. Of several that match, the newest one is meant.

        Args:
            task_identifier: the task's id, or a part of its title; case does not matter.
            new_title: the title from now on, at most 500 characters.
        """
        from pegboard_tasks import _wording as wording

        user_id = user_of(context)
        wanted = wording.read_identifier(task_identifier)
        clean = wording.clean_title(new_title, "New title")

        def operation(connection: Connection) -> Updated:
            from pegboard_tasks import _operations

            return _operations.rename(connection, user_id, wanted, ambiguous, clean)

        data = await store_of(context).write(context, "update task", operation)
        several = wording.of_several(data["matched"], wanted)
        return ToolResult.text(f"Task updated from '{data['previous_title']}' to '{clean}'{several}", data=data)

    return update_task


def user_of(context: CallContext) -> str:
    """Whose tasks they are: the session's user, never anything that a caller wrote.

    Raises:
        ToolError: UNAUTHORIZED: there is none, though a configuration lifted `requires_user`; or no database could
            keep it.
    """
    user_id = (context.session.user_id or "").strip()
    if not user_id:
        raise ToolError(ErrorCode.UNAUTHORIZED, "tasks belong to a user, and this session has none", reason="user")
    if len(user_id) > MAX_USER or any(char == "\0" or "\ud800" <= char <= "\udfff" for char in user_id):
        raise ToolError(
            ErrorCode.UNAUTHORIZED,
            f"tasks cannot be kept for this user id, use at most {MAX_USER} characters",
            reason="user",
        )
    return user_id


def store_of(context: CallContext) -> TaskStore:
    """The store that the plugin opened."""
    from pegboard_tasks._store import TaskStore

    return context.resource(TaskStore)
