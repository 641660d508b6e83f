"""The table of tasks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the table and its index."""
    op.create_table(
        "pegboard_tasks",
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("id", sa.Uuid(as_uuid=False), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("folded", sa.Text, nullable=False),
        sa.Column("completed", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("completed_at", sa.Text),
        sa.PrimaryKeyConstraint("user_id", "id"),
        sqlite_with_rowid=False,
    )
    op.create_index("pegboard_tasks_by_state", "pegboard_tasks", ["user_id", "completed", "id"])


def downgrade() -> None:
    """Remove the table, with every task in it."""
    op.drop_table("pegboard_tasks")
