"""Which tools globs choose: by `--include`, and by every list of `toolgen.toml` that names tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FILES = {
    "shelter/__init__.py": "from .dogs import walk\n",
    "shelter/dogs.py": "def walk(n: int) -> int:\n    'Walk so far.'\n    return n\n",
    "shelter/cats.py": "def feed(n: int) -> int:\n    return n\ndef pet(n: int) -> int:\n    return n\n",
    "shelter/runs.py": "def run_code(code: str) -> int:\n    return eval(code)\n"
    "def run_shell(line: str) -> int:\n    import os\n    return os.system(line)\n",
}


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_toolgen: Callable[..., Any], put_files: Callable[..., Path]
) -> Callable[..., Any]:
    put_files(tmp_path / "site", FILES)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    return run_toolgen


INIT = ("init", "--library", "shelter", "--no-record")
CATS = "module shelter.cats: 2 functions that its package does not re-export: --include 'shelter.cats.*'"


def tools() -> dict[str, Any]:
    document = json.loads(Path("llm-tooling/tool.manifest.json").read_text())
    return {one["id"].removeprefix("python:shelter."): one for one in document["tools"]}


def hint(text: str) -> None:
    Path("llm-tooling").mkdir(exist_ok=True)
    Path("llm-tooling/toolgen.toml").write_text(text)


def test_what_is_not_re_exported_is_offered_and_taken_when_it_is_asked_for(run: Callable[..., Any]) -> None:
    done = run(*INIT)
    assert done.status == 0, done.err
    assert list(tools()) == ["walk"]
    assert "2 modules, classes and objects can be asked for beside what was taken:" in done.err
    assert f"  {CATS}" in done.err
    assert run(*INIT, "--include", "shelter.cats.*").status == 0
    assert sorted(tools()) == ["cats.feed", "cats.pet"]
    # It is remembered, by init and by check, until it is asked for something else.
    assert run("init", "--no-record").status == 0
    assert run(*INIT).status == 0
    assert sorted(tools()) == ["cats.feed", "cats.pet"]
    assert run("check").status == 0
    assert run(*INIT, "--include", "shelter.*").status == 0
    assert sorted(tools()) == ["cats.feed", "cats.pet", "walk"]
    assert run(*INIT, "--all").status == 0
    assert sorted(tools()) == ["walk"]


def test_a_glob_that_fits_nothing_is_an_error_that_names_where_it_was_said(run: Callable[..., Any]) -> None:
    done = run(*INIT, "--include", "shelter.catz.*")
    assert done.status == 2
    assert "error: 1 hint fits nothing:" in done.err
    assert "--include: 'shelter.catz.*' fits no tool of the source" in done.err
    hint('[select]\ninclude = ["shelter.catz.*"]')
    done = run(*INIT)
    assert done.status == 2
    assert "error: toolgen.toml: 1 hint fits nothing:" in done.err


def test_a_package_that_offers_only_such_modules_says_so(run: Callable[..., Any]) -> None:
    Path("site/shelter/__init__.py").write_text("class Shelter: ...\n")
    done = run(*INIT)
    assert done.status == 2
    assert CATS in done.err


GLOBS = ["shelter.runs.*", "python:shelter.runs.*", "shelter_runs_*", "*run_*"]


@pytest.mark.parametrize("glob", GLOBS)
def test_every_list_that_names_tools_takes_globs(run: Callable[..., Any], glob: str) -> None:
    both = {"runs.run_code", "runs.run_shell"}
    hint(f'[select]\ninclude = ["{glob}"]\nsafe = ["{glob}"]\n[categories]\nadmin = ["{glob}"]\n')
    assert run(*INIT).status == 0
    assert {name: one["category"] for name, one in tools().items()} == dict.fromkeys(both, "admin")
    hint(f'[select]\ninclude = ["{glob}"]\nsafe = ["{glob}"]\n[output]\nany = ["{glob}"]\nopen = ["{glob}"]\n')
    assert run(*INIT).status == 0
    assert {str(one["output_schema"]) for one in tools().values()} == {"{'type': 'object'}"}
    hint(f'[select]\ninclude = ["shelter.*"]\nsafe = ["{glob}"]\nexclude = ["{glob}"]\n')
    assert run(*INIT).status == 0
    assert not both & set(tools())


def test_a_glob_that_includes_what_runs_code_does_not_let_it_in(run: Callable[..., Any]) -> None:
    """Only its own name does, or a glob under `safe`."""
    assert run(*INIT, "--include", "shelter.*").status == 0
    assert not any("run" in name for name in tools())
    assert run(*INIT, "--include", "python:shelter.runs.run_code").status == 0
    assert list(tools()) == ["runs.run_code"]
