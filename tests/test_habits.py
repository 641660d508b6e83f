"""What a maintainer's files name is there: sessions, hooks, fragments, links. `tests/test_readme.py` has the README."""

from __future__ import annotations

import ast
import itertools
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
PAPERS = ("CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(one for one in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if one.stem != "config")
TOOLS = {"EXTRAS", "LOOPS", "ORACLES", "TESTS", "TESTS_OF"}
"""Names of noxfile.py: what the session of the tests installs."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def sessions() -> set[str]:
    """The names of noxfile.py's sessions; one that runs on several Pythons has a name for each, too."""
    found = set()
    for function in ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8")).body:
        if isinstance(function, ast.FunctionDef):
            for decorator in function.decorator_list:
                call = re.fullmatch(r"nox\.session(?:\((.*)\))?", ast.unparse(decorator))
                if call:
                    said = re.search(r"name='([^']+)'", call[1] or "")
                    name = said[1] if said else function.name
                    found |= {name, *(f"{name}-{one}" for one in re.findall(r"'(3\.\d+)'", call[1] or ""))}
    return found


def named_sessions(text: str) -> list[str]:
    """The sessions that a text tells nox to run; options may stand behind them."""
    return [one for words in re.findall(r"\bnox -s ((?:\w[\w.-]* ?)+)", text) for one in words.split()]


@pytest.mark.parametrize("paper", [*PAPERS, "README.md", "docs/reference/versions.md"])
def test_every_session_that_a_paper_names_is_one(paper: str) -> None:
    text = (ROOT / paper).read_text(encoding="utf-8").replace(" -- ", " ; ")
    assert [one for one in named_sessions(text) if one not in sessions()] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_runs_sessions_of_nox_and_reads_alone(workflow: Path) -> None:
    told = read(workflow)
    assert told["permissions"] == {"contents": "read"}
    for job in told["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {"": [None]})
        runs = [step["run"] for step in job["steps"] if "run" in step]
        assert runs
        for axis, values in matrix.items():
            for value in values:
                filled = [run.replace(f"${{{{ matrix.{axis} }}}}", str(value)) for run in runs]
                named = [one for run in filled for one in named_sessions(run)]
                assert [one for one in named if one not in sessions()] == []
        assert any("nox -s" in run or run == ".ci/run" for run in runs)


def test_ci_runs_each_session_that_must_pass_once() -> None:
    """It names them, since it runs the tests beside the others."""
    default = re.search(
        r"^nox\.options\.sessions = (.+)$", (ROOT / "noxfile.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert default
    run = named_sessions((ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert sorted(run) == sorted(ast.literal_eval(default[1]))


def test_the_environment_of_uv_run_holds_all_that_the_session_of_the_tests_installs() -> None:
    """`.ci/run` runs them in it: what it lacked would be tests that skip and nobody misses."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    there = {re.split(r"[<>=;]", one)[0] for name in ("dev", "check") for one in groups[name] if isinstance(one, str)}
    said = {}
    for one in ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8")).body:
        if isinstance(one, ast.Assign) and (name := ast.unparse(one.targets[0])) in TOOLS:
            said[name] = ast.literal_eval(one.value)
    wanted = {*said["TESTS"], *said["ORACLES"], *said["LOOPS"], *itertools.chain(*said["TESTS_OF"].values())}
    wanted |= {f"{package}{extras}" for package, extras in said["EXTRAS"].items()}
    assert said.keys() == TOOLS
    assert wanted - there == set()


def test_every_supported_python_has_a_session_and_a_job() -> None:
    assert {f"pythons-{one}" for one in PYTHONS} <= sessions()
    assert read(ROOT / ".github" / "workflows" / "checks.yml")["jobs"]["pythons"]["strategy"]["matrix"] == {
        "python": list(PYTHONS)
    }
    for package in [ROOT / "core", *(ROOT / "plugins").glob("pegboard-*")]:
        assert f'requires-python = ">={PYTHONS[0]}"' in (package / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.name)
def test_a_form_for_issues_asks_something(form: Path) -> None:
    told = read(form)
    assert {"name", "description", "body"} <= set(told)
    asked = [field["id"] for field in told["body"] if field["type"] != "markdown"]
    assert len(asked) == len(set(asked)) >= 3


def test_the_hooks_of_a_commit_run_what_is_there() -> None:
    (local,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"  # nothing is fetched to check a commit
    for hook in local["hooks"]:
        for path in re.findall(r"\S+\.py", hook["entry"]):
            assert (ROOT / path).is_file(), f"{hook['id']} runs {path}"


@pytest.mark.parametrize("paper", PAPERS)
def test_every_relative_link_of_a_paper_leads_somewhere(paper: str) -> None:
    text = (ROOT / paper).read_text(encoding="utf-8")
    targets = [one.partition("#")[0] for one in re.findall(r"\]\(([^)\s]+)\)", text)]
    assert [one for one in targets if not re.match(r"[a-z]+:", one) and one and not (ROOT / one).exists()] == []


@pytest.mark.parametrize("fragment", sorted((ROOT / "newsfragments").glob("*.md")), ids=lambda path: path.name)
def test_every_fragment_is_one_that_towncrier_takes(fragment: Path) -> None:
    if fragment.name != "README.md":
        assert re.fullmatch(r"\d+\.(?:feature|bugfix|removal|doc)(?:\.\d+)?\.md", fragment.name)
        assert fragment.read_text(encoding="utf-8").strip()


def test_no_file_keeps_both_sides_of_a_merge() -> None:
    mark = re.compile(rb"^(?:<{7}|>{7}) ", re.MULTILINE)
    told = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name for name in told.decode().split("\0") if name]
    assert [str(path.relative_to(ROOT)) for path in files if path.is_file() and mark.search(path.read_bytes())] == []
