"""`try` says what `init` would do, and does nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pegboard_toolgen import program

LIBRARY = """
class Shelf:
    def put(self, book: str) -> None: ...

def twice(number: int) -> int:
    \"\"\"Twice a number. It takes
    whole ones.\"\"\"
    return 2 * number
"""


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., list[str]]:
    (tmp_path / "doubling.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def started(*words: str, status: int = 0) -> list[str]:
        assert program.run(list(words)) == status
        return capsys.readouterr().out.splitlines()

    return started


def test_it_says_each_tool_with_its_tokens_and_what_is_left_out_with_the_reason(run: Callable[..., list[str]]) -> None:
    head, tool, *rest = run("try", "--library", "doubling")
    assert head.startswith("doubling: 1 tool, ")
    name, category, tokens, said = tool.split(maxsplit=3)
    assert (name, category, said) == ("doubling_twice", category, "Twice a number.")
    assert head.endswith(f"about {tokens} tokens in all")
    assert rest[0] == ""
    assert any(line.startswith("  class doubling.Shelf: 1 method of objects") for line in rest)


def test_it_writes_nothing(run: Callable[..., list[str]]) -> None:
    run("try", "--library", "doubling", "--out", "tools")
    assert [*Path().iterdir()] == []


def test_it_names_the_tools_that_init_makes_and_all_that_it_leaves_out(run: Callable[..., list[str]]) -> None:
    _, *tried = run("try", "--library", "doubling")
    run("init", "--library", "doubling", "--no-record")
    made = json.loads(Path("llm-tooling/tools.draft.json").read_text())
    tools, left_out = tried[: tried.index("")], tried[tried.index("") + 2 :]
    assert [line.split()[0] for line in tools] == [one["name"] for one in made["generated"]["tools"]]
    assert left_out == [f"  {one['id']}: {one['why']}" for one in made["left_out"]]


def test_it_follows_the_hints_of_the_folder(run: Callable[..., list[str]]) -> None:
    run("init", "--library", "doubling", "--no-record")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    Path("llm-tooling/toolgen.toml").write_text('[tools."python:doubling.twice"]\nname = "double"\n')
    _, tool, *_ = run("try")
    assert tool.split()[0] == "double"
    before.pop(Path("llm-tooling/toolgen.toml"))
    assert before.items() <= {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}.items()


def test_what_init_would_refuse_it_refuses(run: Callable[..., list[str]]) -> None:
    assert run("try", "--library", "no_such_library_here", status=2) == []
