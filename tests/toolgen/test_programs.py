"""What the tools of sqlite-utils and csvkit do to real files."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

ROWS = '[{"id": 1, "name": "Cleo"}, {"id": 2, "name": "Pancakes"}]'
CSV = "id,name,age\n1,Cleo,4\n2,Pancakes,5\n3,Marnie,3\n"


def test_a_database_is_written_and_read(sqlite_utils: Any) -> None:
    insert = sqlite_utils.tool_of("sqlite-utils insert")
    text = insert["binding"]["stdin"]["parameter"]
    arguments = {"path": "dogs.db", "table": "dogs", text: ROWS, "pk": ["id"]}
    done = sqlite_utils.call(insert["name"], arguments)
    assert done["ok"], done
    with closing(sqlite3.connect(sqlite_utils.work / "dogs.db")) as connection:
        assert connection.execute("select name from dogs order by id").fetchall() == [("Cleo",), ("Pancakes",)]
    query = sqlite_utils.tool_of("sqlite-utils query")
    read = sqlite_utils.call(query["name"], {"path": "dogs.db", "sql": "select count(*) as n from dogs"})
    assert read["ok"], read
    assert '"n": 2' in str(read["content"][0]["text"]) or "'n': 2" in str(read["data"])
    tables = sqlite_utils.call(sqlite_utils.tool_of("sqlite-utils tables")["name"], {"path": "dogs.db"})
    assert "dogs" in str(tables["data"])


def test_a_table_that_is_not_there_is_an_error_in_the_programs_words(sqlite_utils: Any) -> None:
    rows = sqlite_utils.tool_of("sqlite-utils rows")
    failed = sqlite_utils.call(rows["name"], {"path": "none.db", "dbtable": "nope"})
    assert not failed["ok"]
    assert failed["error"]["code"] in ("INVALID_INPUT", "NOT_FOUND", "UPSTREAM_ERROR")
    assert str(sqlite_utils.work) not in str(failed["error"])


def test_what_runs_code_is_left_out(sqlite_utils: Any) -> None:
    ids = " ".join(one["id"] for one in sqlite_utils.manifest["tools"])
    assert "convert" not in ids
    assert " install" not in ids
    assert "uninstall" not in ids
    draft = (sqlite_utils.folder / "tools.draft.json").read_text()
    assert "sqlite-utils convert" in draft


def test_csvkit_has_its_fourteen_programs_and_not_the_interactive_one(csvkit: Any) -> None:
    programs = {one["id"].removeprefix("program:").split(" ")[0] for one in csvkit.manifest["tools"]}
    assert len(programs) == 14
    assert "csvpy" not in programs


def test_columns_of_a_file_are_cut_and_searched(csvkit: Any) -> None:
    (csvkit.work / "dogs.csv").write_text(CSV)
    cut = csvkit.tool_of("program:csvcut")
    path = next(one["parameter"] for one in cut["binding"]["arguments"] if one.get("value", {}).get("format") == "path")
    done = csvkit.call(cut["name"], {"columns": "name", path: "dogs.csv"})
    assert done["ok"], done
    assert "Pancakes" in str(done["data"])
    assert "age" not in str(done["data"])
    outside = csvkit.call(cut["name"], {"columns": "name", path: "/etc/passwd"})
    assert outside["error"]["code"] in ("INVALID_INPUT", "FORBIDDEN")


def test_a_program_reads_what_is_given_to_it_as_text(csvkit: Any) -> None:
    stat = csvkit.tool_of("program:csvjson")
    stdin = stat["binding"]["stdin"]["parameter"]
    done = csvkit.call(stat["name"], {stdin: CSV})
    assert done["ok"], done
    assert "Marnie" in str(done["data"])
