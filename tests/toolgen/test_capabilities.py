"""What projects are documented to do, and whether their tools answer as the projects themselves do.

Each table in `capabilities/` was written from a project's manual, not from what `pegboard toolgen init` had found. The
project is asked twice: through its tool, and directly. An answer is right when both say the same, wrong when the tool
says something else or refuses, and missing when there is no such tool. The page "What discovery finds" has the numbers.
"""

from __future__ import annotations

import fnmatch
import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

TABLES = {path.stem: path for path in sorted((Path(__file__).parent / "capabilities").glob("*.toml"))}
PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "discovery.md"
ASK_A_LIBRARY = """
import importlib, json, pkgutil, sys
sys.path[:0] = json.loads(sys.argv[1])
space = {}
for module in json.loads(sys.argv[2]):
    exec("import " + module, space)
answers = []
for expression in json.load(sys.stdin):
    try:
        answers.append({"is": eval(expression, space)})
    except Exception as error:
        answers.append({"raises": type(error).__name__})
json.dump(answers, sys.stdout, default=str)
"""
"""A program that answers Python expressions in a process of its own. What has no JSON form is its text."""


def _answered_by_library(table: Mapping[str, Any], built: Any, site: str) -> list[Any]:
    command = [sys.executable, "-I", "-c", ASK_A_LIBRARY, json.dumps([site]), json.dumps(table["imports"])]
    said = json.dumps([one["asked"] for one in table["capabilities"]])
    done = subprocess.run(
        command, input=said, capture_output=True, text=True, timeout=120, check=True, cwd=built.work, env=built.env
    )
    answers: list[Any] = json.loads(done.stdout)
    return answers


def _answered_by_program(table: Mapping[str, Any], built: Any, _: str) -> list[Any]:
    answers = []
    for one in table["capabilities"]:
        _lay_out(table, built.work)
        done = subprocess.run(
            one["asked"],
            cwd=built.work,
            env=built.env,
            input=one.get("stdin", ""),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        answers.append({"is": done.stdout} if done.returncode in one.get("success", [0]) else {"raises": done.stderr})
    return answers


def _answered_by_service(table: Mapping[str, Any], built: Any, _: str) -> list[Any]:
    answers = []
    for one in table["capabilities"]:
        method, path = one["asked"].split(" ", 1)
        body = json.dumps(one["body"]).encode() if "body" in one else None
        headers = {"Content-Type": "application/json", **one.get("headers", {})}
        request = urllib.request.Request(f"{built.address}{path}", body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                answers.append({"is": answer.read().decode()})
        except urllib.error.HTTPError as error:
            answers.append({"raises": error.code})
    return answers


Call = Callable[[str, Mapping[str, Any]], dict[str, Any]]
ASK: dict[str, Callable[[Mapping[str, Any], Any, str], list[Any]]] = {
    "library": _answered_by_library,
    "program": _answered_by_program,
    "service": _answered_by_service,
}


def _lay_out(table: Mapping[str, Any], work: Path) -> None:
    """The files that a table's calls are about."""
    for name, text in table.get("files", {}).items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text, encoding="utf-8")


def verdict(
    one: Mapping[str, Any], tools: Sequence[Mapping[str, Any]], call: Call, own: Mapping[str, Any]
) -> tuple[str, Any]:
    """`right`, `wrong` or `missing`, and what the tool said."""
    named = [tool for tool in tools if fnmatch.fnmatchcase(tool["id"], one["tool"])]
    if len(named) != 1:
        return "missing", f"{len(named)} tools have the id {one['tool']}"
    result = call(named[0]["name"], one.get("arguments", {}))
    if "raises" in own:
        return ("wrong" if result["ok"] else "right"), result
    return ("right" if result["ok"] and _same(result["data"], own["is"]) else "wrong"), result


def _same(data: Any, own: Any) -> bool:
    """Whether a tool's data say what the project says: as JSON where its text is JSON, else as text."""
    said = data["result"] if isinstance(data, dict) and set(data) == {"result"} else data
    return any(_plain(one) == _plain(own) for one in (said, data))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value.rstrip()
    return value


@pytest.fixture
def counted(
    request: pytest.FixtureRequest, peers: Any, base_env: Mapping[str, str], make_built: Callable[..., Any]
) -> Iterator[tuple[dict[str, int], list[Any]]]:
    """How many of a table's capabilities are right, wrong and missing, and what was not right."""
    name: str = request.param
    table = tomllib.loads(TABLES[name].read_text(encoding="utf-8"))
    for program in table.get("needs", ()):
        if shutil.which(program) is None:
            peers.programs.cannot_start(program, "there is none")
    venv = peers.venv(f"capabilities-{name}", *table["install"]) if "install" in table else Path(sys.prefix)
    site = sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)})
    _require(table)
    inside = [str(Path(site, one)) for one in table.get("path", ())]
    env = {"PATH": ":".join([*inside, str(venv / "bin"), base_env["PATH"]]), **table.get("env", {})}
    if table["kind"] == "library":
        env["PYTHONPATH"] = site
    if table["kind"] == "service":
        port = peers.free_port()
        command = [word.format(port=port, bin=venv / "bin", here=TABLES[name].parent) for word in table["serve"]]
        with peers.serving(name, command, port, table["ready"]) as address:
            yield _counted(table, make_built(name, (*_of_server(table, address),), env, address=address), site)
    else:
        yield _counted(table, make_built(name, tuple(table["init"]), env), site)


def _require(table: Mapping[str, Any]) -> None:
    """Skip programs of the system that are others here: `version = [["sort", "--version"], "GNU coreutils"]`."""
    if "version" not in table:
        return
    command, says = table["version"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout
    except OSError:
        said = ""
    if says not in said:
        pytest.skip(f"{says} is not here")


def _of_server(table: Mapping[str, Any], address: str) -> list[str]:
    return [word.format(address=address) for word in table["init"]]


def _counted(table: Mapping[str, Any], built: Any, site: str) -> tuple[dict[str, int], list[Any]]:
    own = ASK[table["kind"]](table, built, site)
    counts = {"right": 0, "wrong": 0, "missing": 0}
    rest = []
    tools = built.manifest["tools"]
    with built.calling() as call:
        for one, answer in zip(table["capabilities"], own, strict=True):
            _lay_out(table, built.work)
            how, said = verdict(one, tools, call, answer)
            counts[how] += 1
            if how != "right":
                rest.append((how, one["says"], one["tool"], answer, said))
    return counts, rest


@pytest.mark.parametrize(("counted", "name"), [(name, name) for name in TABLES], indirect=["counted"])
def test_the_page_says_what_was_found_of_each_project(counted: tuple[dict[str, int], list[Any]], name: str) -> None:
    counts, rest = counted
    assert _rows().get(name) == counts, (counts, *rest)


def test_every_table_has_its_row() -> None:
    assert sorted(_rows()) == sorted(TABLES)


def _rows() -> dict[str, dict[str, int]]:
    """The table of the page: `| project | kind | what is special | right | wrong | missing |`."""
    cells = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in PAGE.read_text().splitlines()]
    return {
        row[0]: {"right": int(row[3]), "wrong": int(row[4]), "missing": int(row[5])}
        for row in cells
        if len(row) == 6 and row[0] in TABLES
    }
