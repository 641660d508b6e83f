"""The databases that the tests run against: SQLite in a file, and a PostgreSQL server of their own."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

import pegboard_tasks.plugin

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from pegboard.host import Host


@attrs.define
class Cluster:
    """A PostgreSQL server on loopback, in a temporary folder, run by a user who is not root."""

    peer_programs: Any
    programs: Path
    folder: Path
    port: int
    user: str | None
    _names: Iterator[int] = attrs.field(factory=itertools.count)

    def run(self, program: str, *arguments: str) -> None:
        """Run one of its programs; what fails is a skip, since nothing here is under test."""
        self.peer_programs.run(
            [str(self.programs / program), *arguments],
            user=self.user,
            group=self.user and pwd.getpwnam(self.user).pw_gid,
            extra_groups=self.user and [],
            cwd=self.folder,
            timeout_s=60,
        )

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        log = self.folder / "log"
        self.run("pg_ctl", "-w", "-D", str(self.folder / "data"), "-l", str(log), "-o", options, "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-w", "-D", str(self.folder / "data"), "-m", "immediate", "stop")

    def url(self, database: str) -> str:
        return f"postgresql://pegboard@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """The URL of a database with nothing in it."""
        import psycopg

        name = f"test_{next(self._names)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)


def _programs() -> Path | None:
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists():
            return folder
    found = shutil.which("initdb")
    return Path(found).parent if found else None


def _unprivileged() -> str | None:
    """A user for the server, which refuses to run as root; None for who runs the tests."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody here")


@pytest.fixture(scope="session")
def postgresql(peer_programs: Any) -> Iterator[Cluster]:
    """The server; it ends with the session."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: there is no initdb in /usr/lib/postgresql or on the PATH")
    user = _unprivileged()
    folder = Path(tempfile.mkdtemp(prefix="pegboard-postgresql-"))
    try:
        if user:
            shutil.chown(folder, user)
        cluster = Cluster(peer_programs, programs, folder, peer_programs.free_port(), user)
        cluster.run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "pegboard", "-E", "UTF8", "--no-sync")
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A file that is not there yet."""
    return f"sqlite:///{tmp_path}/tasks.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """A database with nothing in it, of each kind."""
    if request.param == "sqlite":
        url: str = request.getfixturevalue("sqlite_url")
        return url
    cluster: Cluster = request.getfixturevalue("postgresql")
    return cluster.new_database()


@pytest.fixture
def open_tasks(host_with: Callable[..., Awaitable[Host]]) -> Callable[..., Awaitable[Host]]:
    """`await open_tasks(url, wait_s=..., ...)` opens a host with the tasks of that database."""

    async def open_one(url: str, **settings: Any) -> Host:
        return await host_with(pegboard_tasks.plugin, config={"plugins": {"tasks": {"url": url, **settings}}})

    return open_one
