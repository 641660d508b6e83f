"""What the tools of sqlite-utils and csvkit do to real files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

ROWS = '[{"id": 1, "name": "Cleo"}, {"id": 2, "name": "Pancakes"}]'
CSV = "id,name,age\n1,Cleo,4\n2,Pancakes,5\n3,Marnie,3\n"
PROGRAMS = {
    "csvclean", "csvcut", "csvformat", "csvgrep", "csvjoin", "csvjson", "csvlook", "csvsort", "csvsql", "csvstack",
    "csvstat", "in2csv", "sql2csv",
}  # fmt: skip
"""All but csvpy, which opens an interpreter."""

LESS_OF_IT = """#!{python}
from sqlite_utils import cli as module
commands = module.cli.commands
module.cli.commands = dict(reversed([one for i, one in enumerate(commands.items()) if i % 3]))
module.cli(prog_name="sqlite-utils")
"""


@pytest.fixture
def own(sqlite_utils: Any, tmp_path: Path) -> Any:
    """sqlite-utils in an empty folder."""
    return sqlite_utils.copied(tmp_path)


def test_a_database_is_written_and_read(own: Any) -> None:
    insert = own.tool_of("sqlite-utils insert")
    text = insert["binding"]["stdin"]["parameter"]
    arguments = {"path": "dogs.db", "table": "dogs", text: ROWS, "pk": ["id"]}
    create = {"path": "dogs.db", "table": "dogs", "columns": ["id", "integer"]}
    done, query, tables, again, twice = own.batch(
        [
            (insert["name"], arguments),
            ("sqlite_utils_query", {"path": "dogs.db", "sql": "select count(*) as n from dogs"}),
            ("sqlite_utils_tables", {"path": "dogs.db"}),
            (insert["name"], arguments),
            ("sqlite_utils_create_table", create),
        ]
    )
    assert done["ok"], done
    # A path begins at the project, and not at the folder of the tools.
    with closing(sqlite3.connect(own.work / "dogs.db")) as connection:
        assert connection.execute("select name from dogs order by id").fetchall() == [("Cleo",), ("Pancakes",)]
    assert query["data"] == {"result": [{"n": 2}]}
    assert "dogs" in str(tables["data"])
    assert (again["error"]["code"], twice["error"]["code"]) == ("CONFLICT", "CONFLICT")
    assert "UNIQUE constraint failed" in again["error"]["message"]


def test_what_is_not_there_is_not_found_in_the_programs_words(own: Any) -> None:
    failed, usage = own.batch(
        [
            ("sqlite_utils_rows", {"path": "none.db", "dbtable": "nope"}),
            ("sqlite_utils_add_column", {"path": "none.db", "table": "a", "col_name": "b", "col_type": "no-type"}),
        ]
    )
    assert failed["error"]["code"] == "NOT_FOUND"
    assert "no such table: nope" in failed["error"]["message"]
    assert usage["error"]["code"] == "INVALID_INPUT"
    assert str(own.work) not in str([failed, usage])


def test_the_folder_of_the_tools_is_not_written(own: Any) -> None:
    before = sorted(own.folder.rglob("*"))
    paths = ["llm-tooling/new.db", "llm-tooling/tool.manifest.json", "llm-tooling", "./llm-tooling/tests/x.db"]
    (own.work / "link").symlink_to(own.folder)
    results = own.batch([("sqlite_utils_create_database", {"path": path}) for path in [*paths, "link/new.db"]])
    assert {one["error"]["code"] for one in results} == {"INVALID_INPUT"}
    assert sorted(own.folder.rglob("*")) == before


def test_what_takes_sql_may_open_any_file_and_says_so(sqlite_utils: Any) -> None:
    """ATTACH needs no path of the tool."""
    commands = ("query", "memory", "bulk", "create-view")
    tools = [sqlite_utils.tool_of(f"sqlite-utils {command}") for command in commands]
    for tool in tools:
        assert (tool["category"], tool["risk"]) == ("write", "high")
        assert any("allowed_paths" in note for note in tool["constraints"]["notes"])
    calls = [(tool["name"], tool["examples"][0]["input"]) for tool in tools]
    refused = sqlite_utils.batch(calls, READ_ONLY="1")
    assert [one["error"]["details"]["reason"] for one in refused] == ["read_only"] * len(tools)
    rows = sqlite_utils.tool_of("sqlite-utils rows")
    assert (rows["category"], rows["risk"]) == ("read", "low")


def test_what_runs_code_is_left_out(sqlite_utils: Any) -> None:
    ids = {one["id"].removeprefix("program:sqlite-utils ") for one in sqlite_utils.manifest["tools"]}
    assert not ids & {"convert", "install", "uninstall", "migrate"}
    draft = json.loads((sqlite_utils.folder / "tools.draft.json").read_text())
    assert {"program:sqlite-utils convert", "program:sqlite-utils install"} <= {one["id"] for one in draft["left_out"]}
    flags = {one.get("flag") for tool in sqlite_utils.manifest["tools"] for one in tool["binding"]["arguments"]}
    assert not flags & {"--load-extension", "--functions", "--code", "--convert"}


def test_reordering_and_deleting_commands_leaves_every_name_on_its_binding(
    sqlite_utils: Any, run_init: Callable[..., Any], tmp_path: Path
) -> None:
    """The command line of a program that has two thirds of the commands, in the other order."""
    path = sqlite_utils.env["PATH"]
    program = tmp_path / "bin" / "sqlite-utils"
    program.parent.mkdir()
    program.write_text(LESS_OF_IT.format(python=Path(path.split(":")[0]) / "python"))
    program.chmod(0o700)
    env = {**sqlite_utils.env, "PATH": f"{program.parent}:{path}"}
    done = run_init(tmp_path / "out", sqlite_utils.arguments, env, tmp_path)
    assert done.returncode == 0, done.stderr
    left = {one["id"]: one for one in json.loads((tmp_path / "out" / "tool.manifest.json").read_text())["tools"]}
    was = {one["id"]: one for one in sqlite_utils.manifest["tools"]}
    assert len(was) // 2 < len(left) < len(was)
    assert {key: (one["name"], one["binding"], one["input_schema"]) for key, one in left.items()} == {
        key: (was[key]["name"], was[key]["binding"], was[key]["input_schema"]) for key in left
    }


def test_csvkit_has_all_its_programs_but_the_interactive_one(csvkit: Any) -> None:
    assert {one["id"].removeprefix("program:") for one in csvkit.manifest["tools"]} == PROGRAMS
    draft = json.loads((csvkit.folder / "tools.draft.json").read_text())
    assert [one["id"] for one in draft["left_out"]] == ["program:csvpy"]


def test_columns_of_a_file_are_cut_searched_and_sorted(csvkit: Any, tmp_path: Path) -> None:
    own = csvkit.copied(tmp_path)
    (own.work / "dogs.csv").write_text(CSV)
    cut, grep, order, join, outside = own.batch(
        [
            ("csvcut", {"columns": "name", "input_path": "dogs.csv"}),
            ("csvgrep", {"columns": "name", "match": "Cleo", "input_path": "dogs.csv"}),
            ("csvsort", {"columns": "age", "reverse": True, "input_path": "dogs.csv"}),
            ("csvjoin", {"columns": "id", "input_paths": ["dogs.csv", "dogs.csv"]}),
            ("csvcut", {"columns": "name", "input_path": "/etc/passwd"}),
        ]
    )
    assert cut["data"] == {"result": "name\nCleo\nPancakes\nMarnie\n"}
    assert grep["data"] == {"result": "id,name,age\n1,Cleo,4\n"}
    assert order["data"]["result"].splitlines()[1].startswith("2,Pancakes")
    assert join["data"]["result"].splitlines()[0] == "id,name,age,name2,age2"
    assert outside["error"]["code"] == "INVALID_INPUT"


def test_a_program_reads_what_is_given_to_it_as_text(csvkit: Any) -> None:
    tool = csvkit.tool_of("program:csvjson")
    done = csvkit.call(tool["name"], {tool["binding"]["stdin"]["parameter"]: CSV})
    assert done["ok"], done
    assert "Marnie" in str(done["data"])
