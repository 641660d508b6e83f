"""The table, as both databases have it. The migrations make it; this says what the statements may rely on.

A task's key is its user and its id, so that whatever lies beside each other in the table belongs to one user, in the
order of age. `folded` is the title as `fold` gives it.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Index, MetaData, Table, Text, Uuid

TASKS = "pegboard_tasks"
VERSIONS = "pegboard_tasks_version"

metadata = MetaData()
tasks = Table(
    TASKS,
    metadata,
    Column("user_id", Text, primary_key=True),
    Column("id", Uuid(as_uuid=False), primary_key=True),
    Column("title", Text, nullable=False),
    Column("folded", Text, nullable=False),
    Column("completed", Boolean, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("completed_at", Text),
    Index("pegboard_tasks_by_state", "user_id", "completed", "id"),
    sqlite_with_rowid=False,
)
