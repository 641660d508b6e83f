"""What `pegboard doctor` finds wrong with the database. It makes nothing: no file, no table."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING
from urllib.parse import quote

from pegboard import Finding
from pegboard.config import write_hint, write_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from sqlalchemy import Engine

WHERE = "[plugins.tasks] url"
WHAT = "tasks cannot be kept"
CONNECT_S = 5


def make_check(url: str | None) -> Callable[[object], Iterable[Finding]]:
    """The check of one database.

    Args:
        url: as in the settings.
    """

    def check(board: object) -> Iterator[Finding]:
        from pegboard_tasks._store import path_of

        if url is None or url.startswith("sqlite:"):
            yield from _check_file(path_of(url), make_folder=url is None)
        else:
            yield from _check_server(url)

    return check


def _check_file(path: Path, *, make_folder: bool) -> Iterator[Finding]:
    if not path.exists() and not make_folder and not path.parent.is_dir():
        yield Finding(WHAT, WHERE, f"the folder {path.parent} is not there", f"run: mkdir -p '{path.parent}'")
        return
    if (problem := write_problem(path)) is not None:
        fix = write_hint(problem, f"run: chmod u+rwX '{path.parent}' '{path}'")
        yield Finding(WHAT, WHERE, f"{path} cannot be written: {problem.strerror}", fix)
    if path.exists():
        yield from _check_tables(_reading_engine(path))


def _check_server(url: str) -> Iterator[Finding]:
    from sqlalchemy import create_engine

    from pegboard.group_commit import UnavailableError
    from pegboard_tasks._postgresql import address_of

    try:
        address = address_of(url)
    except UnavailableError as problem:
        yield Finding(WHAT, WHERE, str(problem), "write postgresql://user:password@host:5432/database")
        return
    timeout = {} if "connect_timeout" in address.query else {"connect_timeout": CONNECT_S}
    yield from _check_tables(create_engine(address, connect_args=timeout, hide_parameters=True))


def _reading_engine(path: Path) -> Engine:
    from sqlalchemy import create_engine

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=CONNECT_S)

    return create_engine("sqlite://", creator=connect, hide_parameters=True)


def _check_tables(engine: Engine) -> Iterator[Finding]:
    from sqlalchemy.exc import SQLAlchemyError

    from pegboard_tasks import _migrating as migrating

    try:
        with engine.connect() as connection:
            revision = migrating.revision_of(connection)
    except SQLAlchemyError as problem:
        cause = str(getattr(problem, "orig", problem)).partition("\n")[0][:200]
        yield Finding(WHAT, WHERE, f"the database does not answer: {cause}", "start it, or repair the URL")
        return
    finally:
        engine.dispose()
    try:
        migrating.refuse_newer(revision)
    except migrating.NewerDatabaseError as problem:
        yield Finding(WHAT, WHERE, str(problem), "pip install --upgrade pegboard-tasks")
