"""Bringing a database to the tables of this version, and refusing one that is ahead of it.

The version stands in a table of our own: a PostgreSQL database may hold the tables of other programs, with versions of
theirs. alembic is imported only where there is something to do.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Column, MetaData, String, Table, inspect, select

from pegboard_tasks._table import VERSIONS

if TYPE_CHECKING:
    from sqlalchemy import Connection

REVISIONS = ("0001",)
"""Those in `migrations`, in their order."""
HEAD = REVISIONS[-1]

_versions = Table(VERSIONS, MetaData(), Column("version_num", String(32), primary_key=True))
_one_at_a_time = threading.Lock()  # alembic's `context` and `op` are globals


class NewerDatabaseError(Exception):
    """The database was made, or migrated, by a version that this one knows nothing of."""

    def __init__(self, revision: str) -> None:
        super().__init__(
            f"the database is at revision {revision[:40]!r}, and this version of pegboard-tasks knows revisions up to "
            f"{HEAD!r}: upgrade pegboard-tasks"
        )


def revision_of(connection: Connection) -> str | None:
    """The revision of the database; None where it is empty."""
    if not inspect(connection).has_table(VERSIONS):
        return None
    return connection.execute(select(_versions.c.version_num)).scalar()


def upgrade(connection: Connection) -> None:
    """Bring the database to `HEAD`, inside the caller's transaction, which must keep all others out.

    Raises:
        NewerDatabaseError: it is ahead of this version.
    """
    revision = revision_of(connection)
    if revision == HEAD:
        return
    refuse_newer(revision)
    from alembic import command
    from alembic.config import Config

    config = Config()
    folder = str(Path(__file__).with_name("migrations"))
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.attributes["connection"] = connection
    with _one_at_a_time:
        command.upgrade(config, "head")


def refuse_newer(revision: str | None) -> None:
    """Raise `NewerDatabaseError` if this version does not know the revision."""
    if revision is not None and revision not in REVISIONS:
        raise NewerDatabaseError(revision)
