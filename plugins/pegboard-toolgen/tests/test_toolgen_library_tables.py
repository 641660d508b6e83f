"""Big literals of a library's modules: they are not parsed, and nothing else of the module is lost by that."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_toolgen.discover._sources import MAX_TABLE, _without_tables
from pegboard_toolgen.discover.library import discover_library

ROWS = "".join(f"    '{number}': {{'en': 'Place (No. {number})'}},\n" for number in range(MAX_TABLE // 20))
BIG = {
    "an object": f"TABLE = {{\n{ROWS}}}\n",
    "an object with a type": f"TABLE: dict[str, dict[str, str]] = {{\n{ROWS}}}\n",
    "a list": "TABLE = [\n" + "'a word',\n" * (MAX_TABLE // 4) + "]\n",
    "a tuple": "TABLE = (\n" + "    (1, 2),\n" * (MAX_TABLE // 4) + ")\n",
    "one line": f"TABLE = {list(range(MAX_TABLE))}\n",
}


@pytest.mark.parametrize("what", BIG)
def test_a_big_literal_keeps_its_name_and_its_lines_and_nothing_else(what: str) -> None:
    text = f"{BIG[what]}def after(): return TABLE\n"
    shorter = _without_tables(text)
    assert len(shorter) < len(text) / 5
    table, function = ast.parse(shorter).body
    assert function.lineno == len(text.splitlines())
    assert ast.unparse(table).startswith("TABLE")


PARTS = st.sampled_from([
    *BIG.values(), "def f(a): return a\n", "class C:\n    x = {\n        1: 2,\n    }\n    def m(self): return {\n}\n",
    'TEXT = """\nTABLE = {\n' + "  row\n" * 3_000 + '}\n"""\n', "small = [\n    1,\n]\n",
    "mixed = {\n" + "    1: 2,\n" * 2_000 + "} | {}\n", "called = [\n" + "    1,\n" * 3_000 + "].copy()\n",
    "name = 1\ncolumn = {\n" + "    1: 2,\n" * 2_000 + "name: 3,\n}\n", "@f\ndef g(): pass\n", "# a comment\n",
])  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(PARTS, max_size=5))
def test_every_function_stays_where_it_was(parts: list[str]) -> None:
    text = "".join(parts)

    def functions(source: str) -> list[tuple[str, int, int | None]]:
        nodes = ast.walk(ast.parse(source))
        return [(one.name, one.lineno, one.end_lineno) for one in nodes if isinstance(one, ast.FunctionDef)]

    assert functions(_without_tables(text)) == functions(text)


def test_a_long_list_of_exports_is_none(tmp_path: Path) -> None:
    names = [f"function_{number}" for number in range(600)]
    exports = ",\n".join(f"    '{name}'" for name in names)
    bodies = "".join(f"def {name}(a: int) -> int: return a\n" for name in [*names, "not_exported"])
    (tmp_path / "lib.py").write_text(f"__all__ = [\n{exports},\n]\n{bodies}")
    assert len(exports) > MAX_TABLE
    found = discover_library("lib", search_paths=[tmp_path])
    assert sorted(draft.words[1] for draft in found.drafts) == sorted(names)


def test_what_changes_a_big_table_is_a_write(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(
        f"{BIG['an object']}def set_one(key: str) -> str:\n    TABLE[key] = 1\n    return key\n"
    )
    found = discover_library("lib", search_paths=[tmp_path])
    assert [(draft.words[1], draft.category) for draft in found.drafts] == [("set_one", "write")]
