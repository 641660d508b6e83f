"""SQLite files that processes share: whose they are is seen before anything is written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pegboard.limit_stores.sqlite_store import SqliteStore
from pegboard.sqlite_files import FileState, connect, identity_of, state_of, transaction

OURS = 0x70650001


@pytest.mark.parametrize(
    ("state", "is_foreign"),
    [
        (FileState(0, 0, 0), False),  # new
        (FileState(OURS, 3, 5), False),
        (FileState(0, 0, 1), True),
        (FileState(0, 1, 0), True),
        (FileState(7, 0, 0), True),
        (FileState(7, 3, 5), True),
    ],
)
def test_a_file_that_holds_something_is_foreign_unless_it_is_of_the_application(
    state: FileState, is_foreign: bool, tmp_path: Path
) -> None:
    file = tmp_path / "a.db"
    with closing(sqlite3.connect(file)) as made:
        made.execute(f"PRAGMA application_id = {state.application}")
        made.execute(f"PRAGMA user_version = {state.version}")
        for number in range(state.tables):
            made.execute(f"CREATE TABLE t{number} (x)")
    with closing(connect(file, "ro")) as connection:
        assert state_of(connection) == state
        assert not connection.in_transaction
    assert state.is_foreign(OURS) is is_foreign


def test_a_transaction_writes_all_or_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    file.touch()
    with closing(connect(file)) as connection:

        def write_and_fail() -> None:
            with transaction(connection):
                connection.execute("CREATE TABLE t (x)")
                assert state_of(connection).tables == 1  # in the transaction that is open
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            write_and_fail()
        assert state_of(connection) == (0, 0, 0)
        with transaction(connection):
            connection.execute("CREATE TABLE t (x)")
        assert state_of(connection).tables == 1


def test_a_file_that_is_replaced_is_another_one(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    assert identity_of(file) is None
    file.touch()
    first = identity_of(file)
    other = tmp_path / "b.db"
    other.touch()
    other.replace(file)
    assert first != identity_of(file) is not None


def test_limits_are_not_counted_in_a_file_of_another_application(tmp_path: Path) -> None:
    file = tmp_path / "limits.sqlite"
    with closing(sqlite3.connect(file)) as made:
        made.execute(f"PRAGMA application_id = {OURS}")
        made.execute("PRAGMA user_version = 1")
    problem = SqliteStore(str(file)).find_problem()
    assert problem is not None
    assert "of another program" in problem.message
