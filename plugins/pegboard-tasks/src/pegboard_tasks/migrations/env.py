"""Runs the migrations on the connection that it is given; started by `pegboard_tasks._migrating.upgrade`."""

from __future__ import annotations

from alembic import context

from pegboard_tasks._table import VERSIONS

context.configure(connection=context.config.attributes["connection"], version_table=VERSIONS)
with context.begin_transaction():
    context.run_migrations()
