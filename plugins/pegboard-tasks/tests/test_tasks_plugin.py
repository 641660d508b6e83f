"""The package as it is installed: settings, what it loads, what doctor finds, what its README shows."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import pegboard_tasks.plugin
from pegboard import ConfigError, load_board, open_host, thaw
from pegboard.testing import assert_ok
from pegboard_tasks._checks import make_check
from pegboard_tasks._store import path_of

README = Path(__file__).parents[1] / "README.md"
NAMES = ["add_task", "list_tasks", "complete_task", "delete_task", "update_task"]


def board(**settings: Any) -> Any:
    return load_board({"plugins": {"tasks": settings}}, plugins=[pegboard_tasks.plugin])


def test_the_five_tools_say_what_they_are() -> None:
    tools = board().tools
    assert set(NAMES) <= set(tools)
    parameters = {name: list(tools[name].input_schema["properties"]) for name in NAMES}
    assert parameters == {
        "add_task": ["title"],
        "list_tasks": ["status", "limit", "cursor"],
        "complete_task": ["task_identifier"],
        "delete_task": ["task_identifier"],
        "update_task": ["task_identifier", "new_title"],
    }
    listing = tools["list_tasks"].input_schema["properties"]
    assert thaw(listing["status"]["enum"]) == ["all", "pending", "completed"]
    assert (listing["status"]["default"], listing["limit"]["default"]) == ("all", 100)
    for name in NAMES:
        tool = tools[name]
        assert (tool.category, tool.limits.requires_user) == ("task", True)
        assert tool.read_only == (name == "list_tasks") == ("read" in tool.tags)
        assert tool.annotations.open_world is False
        assert "user" not in json.dumps(thaw(tool.input_schema["properties"]))
    assert tools["delete_task"].annotations.destructive


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///tasks.db",
        "sqlite:////var/lib/tasks.db",
        "postgresql://ada:pw@localhost/tasks",
        "postgresql+psycopg://localhost/tasks?sslmode=require",
        "postgres://localhost/tasks",
    ],
)
def test_urls_of_both_databases_are_taken(url: str) -> None:
    board(url=url)


@pytest.mark.parametrize(
    "url", ["", "tasks.db", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///file:x?uri=true", "mysql://x/y"]
)
def test_other_urls_are_refused_without_showing_them(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        board(url=url)
    assert "three slashes and its path) or of a PostgreSQL database" in str(caught.value)
    assert url == "" or f"'{url}'" not in str(caught.value)


@pytest.mark.parametrize("settings", [{"ambiguous": "oldest"}, {"wait_s": 0}, {"wait_s": float("inf")}, {"uri": "x"}])
def test_other_wrong_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="tasks"):
        board(**settings)


def test_a_found_file_may_not_say_where_tasks_are_kept() -> None:
    import attrs

    fields = attrs.fields_dict(pegboard_tasks.plugin.provide_settings())
    assert fields["url"].metadata["widens"]
    assert fields["url"].metadata["secret"]


def test_without_a_url_tasks_are_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert path_of(None).name == "tasks.db"
    assert path_of(None).is_relative_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert path_of("sqlite:///mine.db") == tmp_path / "mine.db"
    assert path_of("sqlite:////srv/mine.db") == Path("/srv/mine.db")


async def test_the_default_file_is_made_for_its_owner_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    async with open_host(plugins=[pegboard_tasks.plugin]) as host:
        assert not list(tmp_path.iterdir()), "a host that is not asked for tasks makes no file"
        assert_ok(await host.session("ada").call("add_task", {"title": "x"}))
        files = list(path_of(None).parent.iterdir())
        assert {file.name for file in files} == {"tasks.db", "tasks.db-shm", "tasks.db-wal"}
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
        assert path_of(None).parent.stat().st_mode & 0o777 == 0o700


async def test_a_path_may_hold_any_sign(tmp_path: Path) -> None:
    path = tmp_path / "a b%20c#d?e'ä.db"
    config = {"plugins": {"tasks": {"url": f"sqlite:///{path}"}}}
    async with open_host(config, plugins=[pegboard_tasks.plugin]) as host:
        assert_ok(await host.session("ada").call("add_task", {"title": "x"}))
    assert path.exists()
    assert list(make_check(f"sqlite:///{path}")(None)) == []


async def test_a_file_survives_the_host_that_made_it(sqlite_url: str) -> None:
    for expected in ("Found 1 task", "Found 2 tasks"):
        async with open_host({"plugins": {"tasks": {"url": sqlite_url}}}, plugins=[pegboard_tasks.plugin]) as host:
            assert_ok(await host.session("ada").call("add_task", {"title": "x"}))
            assert assert_ok(await host.session("ada").call("list_tasks")).text.startswith(f"{expected}\n")


def test_listing_the_tools_imports_no_database() -> None:
    program = (
        "import sys, pegboard_tasks.plugin as plugin; tools = plugin.provide_tools(plugin.TasksSettings());"
        "names = {'trio', 'sqlite3', 'sqlalchemy', 'alembic', 'psycopg', 'platformdirs', 'pegboard_tasks._store'};"
        "print(len(tools), sorted(names & set(sys.modules)))"
    )
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert child.stdout.strip() == "5 []", child.stderr


async def test_a_host_that_is_not_asked_for_tasks_loads_no_database(sqlite_url: str) -> None:
    program = """
import sys, trio, pegboard_tasks.plugin
from pegboard import open_host

async def main():
    async with open_host({"plugins": {"tasks": {"url": sys.argv[1]}}}, plugins=[pegboard_tasks.plugin]) as host:
        before = bool({"sqlalchemy", "sqlite3"} & set(sys.modules))
        result = await host.session("ada").call("list_tasks")
        print(before, "sqlalchemy" in sys.modules, result.ok, "psycopg" in sys.modules)

trio.run(main)
"""
    child = subprocess.run([sys.executable, "-c", program, sqlite_url], capture_output=True, text=True, timeout=60)
    assert child.stdout.split() == ["False", "True", "True", "False"], child.stderr


# -- doctor


def findings(url: str | None) -> list[Any]:
    found = list(make_check(url)(None))
    for finding in found:
        assert finding.where == "[plugins.tasks] url"
        assert finding.fix
    return found


def test_doctor_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert findings(f"sqlite:///{tmp_path}/tasks.db") == []
    assert findings(None) == [], "the first call makes the folder"
    assert list(tmp_path.iterdir()) == []


def test_doctor_finds_a_folder_that_is_missing(tmp_path: Path) -> None:
    [finding] = findings(f"sqlite:///{tmp_path}/no/tasks.db")
    assert "is not there" in finding.why


def test_doctor_finds_what_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tasks.db").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    [finding] = findings(f"sqlite:///{tmp_path}/tasks.db")
    assert "cannot be written: Permission denied" in finding.why
    assert "chmod" in finding.fix


def test_doctor_finds_a_file_that_is_not_a_database(tmp_path: Path) -> None:
    (tmp_path / "tasks.db").write_text("this is a diary\n" * 100)
    [finding] = findings(f"sqlite:///{tmp_path}/tasks.db")
    assert "does not answer: file is not a database" in finding.why


async def test_doctor_finds_a_database_of_a_later_version(database_url: str, open_tasks: Any) -> None:
    from sqlalchemy import create_engine

    host = await open_tasks(database_url)
    assert_ok(await host.session("ada").call("add_task", {"title": "x"}))
    assert findings(database_url) == []
    engine = create_engine(database_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE pegboard_tasks_version SET version_num = '9999'")
    engine.dispose()
    [finding] = findings(database_url)
    assert "revision '9999'" in finding.why
    assert "--upgrade pegboard-tasks" in finding.fix


def test_doctor_finds_a_server_that_is_not_there() -> None:
    [finding] = findings("postgresql://ada:s3cret@127.0.0.1:1/tasks")
    assert "does not answer" in finding.why
    assert "s3cret" not in str(finding)


def test_doctor_finds_a_url_that_cannot_be_read() -> None:
    [finding] = findings("postgresql://ada@host:port/tasks")
    assert "cannot be read" in finding.why


async def test_doctor_asks_the_plugin(sqlite_url: str) -> None:
    settings = pegboard_tasks.plugin.TasksSettings(url=sqlite_url)
    [check] = pegboard_tasks.plugin.provide_checks(settings)
    assert list(check(None)) == []


# -- the README


def test_the_configuration_of_the_readme_is_one() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        config = tomllib.loads(block)
        loaded = load_board(config, plugins=[pegboard_tasks.plugin])
        assert set(NAMES) <= set(loaded.tools)


async def test_the_readme_shows_what_calls_answer(sqlite_url: str) -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    shown = 0
    async with open_host({"plugins": {"tasks": {"url": sqlite_url}}}, plugins=[pegboard_tasks.plugin]) as host:
        session = host.session("ada")
        for line, answer in itertools.pairwise(lines):
            call = re.fullmatch(r"    \$ pegboard call (\w+)(.*) --user ada", line)
            if call is None:
                continue
            arguments = dict(re.findall(r"(\w+)='([^']*)'", call[2]))
            result = await session.call(call[1], arguments)
            said = (result.text if result.ok else result.error.message).partition("\n")[0]
            assert answer.strip() == said
            shown += 1
    assert shown >= 5


async def test_the_examples_of_the_tools_are_calls_that_work(sqlite_url: str) -> None:
    async with open_host({"plugins": {"tasks": {"url": sqlite_url}}}, plugins=[pegboard_tasks.plugin]) as host:
        session = host.session("ada")
        for name in NAMES:
            assert host.tools[name].examples
            for example in host.tools[name].examples:
                assert_ok(await session.call("add_task", {"title": "Buy groceries"}))
                assert_ok(await session.call(name, thaw(example.arguments)))
