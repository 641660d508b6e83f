"""The hooks of pegboard-tasks. Nothing here opens a database: the first call does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard import hookimpl, setting
from pegboard.config import above_zero

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractAsyncContextManager

    from pegboard import Tool
    from pegboard_tasks._store import TaskStore

SCHEMES = ("sqlite:///", "postgresql://", "postgresql+psycopg://", "postgres://")


def _a_url(_: Any, field: attrs.Attribute[Any], value: str | None) -> None:
    if value is None:
        return
    path = value.removeprefix("sqlite:///").partition("?")[0]
    if not value.startswith(SCHEMES) or path in ("", ":memory:") or path.startswith("file:"):
        raise ValueError(
            "the URL of an SQLite file (sqlite, a colon, three slashes and its path) or of a PostgreSQL database "
            "(postgresql://USER:PASSWORD@HOST/DATABASE)"
        )


@attrs.frozen(kw_only=True)
class TasksSettings:
    """`[plugins.tasks]`.

    .. versionadded:: 0.1
    """

    url: str | None = setting(
        None,
        secret=True,  # it may hold a password
        widens=True,
        validator=_a_url,
        help="where tasks are kept: sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE; "
        "without it tasks.db in the user's data folder",
    )
    ambiguous: Literal["newest", "conflict"] = setting(
        "newest", help="which task is meant where several match: the newest, or none and the answer lists them"
    )
    wait_s: float = setting(
        5.0,
        stricter="lower",
        validator=above_zero,
        help="how long a call waits for the database before it gives up, in seconds",
    )


@hookimpl
def provide_settings() -> type[TasksSettings]:
    """`url`, `ambiguous` and `wait_s`."""
    return TasksSettings


@hookimpl
def open_resources(settings: TasksSettings) -> AbstractAsyncContextManager[TaskStore]:
    """The store, which opens its database when the first call needs it."""
    from pegboard_tasks._store import open_store

    return open_store(settings.url, settings.wait_s)


@hookimpl
def provide_tools(settings: TasksSettings) -> Iterable[Tool]:
    """`add_task`, `list_tasks`, `complete_task`, `delete_task` and `update_task`."""
    from pegboard_tasks.tools import make_tools

    return make_tools(ambiguous=settings.ambiguous)


@hookimpl
def provide_checks(settings: TasksSettings) -> Iterable[Any]:
    """Whether the database can be reached, and was not made by a newer version."""
    from pegboard_tasks._checks import make_check

    return [make_check(settings.url)]
