"""One workspace: one version, one list of pinned versions, one shape of package."""

from __future__ import annotations

import ast
import importlib.metadata
import itertools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = [ROOT / "core", *sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml"))]
LIBRARIES = {"pegboard-confine", "pegboard-httpclient", "pegboard-serving"}
"""Packages without hooks, which others are made with."""


def read(path: Path) -> dict:
    return tomllib.loads((path / "pyproject.toml").read_text(encoding="utf-8"))


def test_every_package_has_the_version_that_the_core_says() -> None:
    import pegboard

    assert {read(path)["project"]["version"] for path in PACKAGES} == {pegboard.__version__}


def test_constraints_and_pyproject_pin_the_same_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins == read(ROOT)["tool"]["uv"]["constraint-dependencies"]
    assert all(re.fullmatch(r"[a-z0-9.-]+==[0-9][A-Za-z0-9.]*", pin) for pin in pins)


def test_every_requirement_of_a_package_is_pinned() -> None:
    names = {line.split("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    ours = {read(path)["project"]["name"] for path in PACKAGES}
    for path in PACKAGES:
        project = read(path)["project"]
        extras = [one for group in project.get("optional-dependencies", {}).values() for one in group]
        for requirement in [*project["dependencies"], *extras]:
            name = re.split(r"[\[<>=~! ]", requirement)[0]
            assert name in names | ours, f"{path.name} needs {name}, which is not pinned"


NOT_REQUIRED = {
    "pegboard_mcp": {"mcp_types", "pydantic", "pydantic_core"},  # mcp cannot be had without them
    "pegboard_toolgen/discover/probes": {"typer"},  # run in the environment of the program that is looked at
    "pegboard_toolgen": {"griffe"},  # its distribution brings it by another one, griffelib
    "pegboard_toolgen/write/fixed": {"langchain_core"},  # copied into what is written
}
"""What is imported and not required, by where."""


def imported(tree: ast.AST) -> Iterator[str]:
    """The top-level names of what is imported at run time, at any depth."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.expr) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            continue
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]
        yield from imported(node)


def required(name: str) -> set[str]:
    """The distributions that a package requires, its extras and what its requirements of ours bring among them."""
    project = read(next(path for path in PACKAGES if read(path)["project"]["name"] == name))["project"]
    lines = [*project["dependencies"], *itertools.chain(*project.get("optional-dependencies", {}).values())]
    direct = {canonical(re.match(r"[\w.-]+", line)[0]) for line in lines}
    ours = {one for one in direct if one.startswith("pegboard") and one != name}
    return direct | {name} | {one for other in ours for one in required(other)}


def canonical(name: str) -> str:
    """A distribution's name as PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def brings() -> Mapping[str, list[str]]:
    """The distributions that bring each top-level name, for which every installed file is looked at."""
    return importlib.metadata.packages_distributions()


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.name)
def test_what_a_package_imports_it_requires(path: Path, brings: Mapping[str, list[str]]) -> None:
    """Alone it would fail at run time, and here where everything is installed nobody would see it."""
    known = required(read(path)["project"]["name"])
    missing = []
    for file in sorted((path / "src").rglob("*.py")):
        place = file.relative_to(path / "src").as_posix()
        names = set(imported(ast.parse(file.read_text(encoding="utf-8")))) - sys.stdlib_module_names
        names -= {name for where, some in NOT_REQUIRED.items() if place.startswith(where) for name in some}
        for name in names:
            of = (
                {canonical(name.removesuffix("_program"))}
                if name.startswith("pegboard")
                else set(map(canonical, brings.get(name, ())))
            )
            missing += [f"{place}: {name}"] if not of & known else []
    assert missing == []


@pytest.mark.parametrize("path", PACKAGES[1:], ids=lambda path: path.name)
def test_every_package_has_the_one_shape(path: Path) -> None:
    project = read(path)["project"]
    module = project["name"].replace("-", "_")
    assert project["name"] == path.name
    assert project["dependencies"][0] == "pegboard>=0.1,<0.2"
    for needed in (f"src/{module}/__init__.py", f"src/{module}/py.typed", "tests", "README.md", "LICENSE"):
        assert (path / needed).exists(), f"{path.name} has no {needed}"
    if path.name in LIBRARIES:
        assert "entry-points" not in project
    else:
        assert list(project["entry-points"]["pegboard"].values()) == [f"{module}.plugin"]
        assert (path / f"src/{module}/plugin.py").exists()


def test_nothing_of_one_machine_or_registry_is_committed() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    hosts = "|".join(["pypi" + r"\.org", "pythonhosted" + r"\.org", "registry" + r"\.npmjs", r"deb\.debian" + r"\.org"])
    forbidden = re.compile(rf"(?<![\w.])/(?:work|root|opt/dev)/|{hosts}")
    for name in listed.stdout.split():
        path = ROOT / name
        assert path.name != "uv.lock"
        if path.is_file():
            text = path.read_text(encoding="utf-8", errors="ignore")
            match = forbidden.search(text)
            assert match is None, f"{name} holds {match[0]!r}"


def test_ruff_coverage_and_uv_know_every_package() -> None:
    settings = read(ROOT)
    names = {read(path)["project"]["name"] for path in PACKAGES}
    modules = {name.replace("-", "_") for name in names}
    assert set(settings["tool"]["coverage"]["run"]["source_pkgs"]) == modules
    assert set(settings["tool"]["ruff"]["lint"]["isort"]["known-first-party"]) == modules
    assert set(settings["tool"]["uv"]["sources"]) == names
    wanted = {one.partition("[")[0] for one in settings["dependency-groups"]["dev"] if isinstance(one, str)}
    assert wanted == names


def test_the_plain_pip_way_installs_every_package_that_the_tour_calls() -> None:
    (command,) = re.findall(r"pip install (-c [^\n]*(?:\\\n[^\n]*)*)", (ROOT / "README.md").read_text(encoding="utf-8"))
    patterns = re.findall(r"\./plugins/\S+", command)
    named = {path for pattern in patterns for path in ROOT.glob(pattern.removeprefix("./"))}
    assert named >= set(PACKAGES) - {ROOT / "core"}
