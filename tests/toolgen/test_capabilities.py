"""What projects are documented to do, and whether their tools answer as the projects themselves do.

Each table in `capabilities/` was written from a project's manual, not from what `pegboard toolgen init` had found. The
project is asked twice: through its tool, and directly. An answer is right when both say the same, wrong when the tool
says something else or refuses, and missing when there is no such tool. `category` says of a capability whether it is a
`read` or a `write`, by the manual. The page "What discovery finds" has the numbers.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import shutil
import string
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

HERE = Path(__file__).parent / "capabilities"
TABLES = {path.stem: path for path in sorted(HERE.glob("*.toml"))}
PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "discovery.md"
ASK_A_LIBRARY = """
import base64, importlib, json, os, pkgutil, sys
from pathlib import Path
sys.path[:0] = json.loads(sys.argv[1])
space = {}
for module in json.loads(sys.argv[2]):
    exec("import " + module, space)
def form_of(value):
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
files = json.loads(sys.argv[3])
answers = []
for expression, leaves in json.load(sys.stdin):
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    try:
        answer = {"is": eval(expression, space)}
    except Exception as error:
        answer = {"raises": type(error).__name__}
    left = {name: Path(name).read_text(encoding="utf-8") if Path(name).is_file() else None for name in leaves}
    answers.append(answer | {"left": left})
json.dump(answers, sys.stdout, default=form_of)
"""
"""A program that answers Python expressions in a process of its own. Bytes are base64, as an output schema says; what
else has no JSON form is its text."""


def _answered_by_library(table: Mapping[str, Any], built: Any, site: str) -> list[Any]:
    given = [[site], table["imports"], table.get("files", {})]
    command = [sys.executable, "-I", "-c", ASK_A_LIBRARY, *map(json.dumps, given)]
    said = json.dumps([[one["asked"], one.get("leaves", [])] for one in table["capabilities"]])
    done = subprocess.run(
        command,
        input=said,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=_place(table, built),
        env=built.env,
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
        kept = _as_at_first(table, one, built)
        said = _filled(
            {"headers": table.get("headers", {}), **{k: one[k] for k in ("asked", "body") if k in one}}, kept
        )
        try:
            answers.append({"is": _send(built.address, said)})
        except urllib.error.HTTPError as error:
            answers.append({"raises": error.code})
    return answers


def _send(address: str, said: Mapping[str, Any]) -> str:
    method, path = said["asked"].split(" ", 1)
    body = json.dumps(said["body"]).encode() if "body" in said else None
    headers = {"Content-Type": "application/json", "Accept": "application/json, */*;q=0.5", **said.get("headers", {})}
    request = urllib.request.Request(f"{address}{path}", body, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def _as_at_first(table: Mapping[str, Any], one: Mapping[str, Any], built: Any) -> dict[str, str]:
    """Bring a server back to where it was: `reset` are requests, whatever they answer; what `keep` names of an answer
    stands for `$NAME` in what is asked and in the tool's arguments."""
    kept: dict[str, str] = {}
    for request in (*table.get("reset", ()), *one.get("reset", ())):
        with contextlib.suppress(urllib.error.HTTPError):
            answer = _send(built.address, _filled({k: v for k, v in request.items() if k != "keep"}, kept))
            kept |= {name: json.loads(answer)[key] for name, key in request.get("keep", {}).items()}
    return kept


def _filled(value: Any, kept: Mapping[str, str]) -> Any:
    return json.loads(string.Template(json.dumps(value)).safe_substitute(kept)) if kept else value


Call = Callable[[str, Mapping[str, Any]], dict[str, Any]]
Counted = tuple[dict[str, int], list[Any], dict[str, int]]
READS = ("read", "analytics")
ASK: dict[str, Callable[[Mapping[str, Any], Any, str], list[Any]]] = {
    "library": _answered_by_library,
    "program": _answered_by_program,
    "service": _answered_by_service,
}


def _place(table: Mapping[str, Any], built: Any) -> Path:
    """Where paths begin: those of a library at the folder of its manifest."""
    place: Path = built.folder if table["kind"] == "library" else built.work
    return place


def _left(place: Path, names: Mapping[str, str | None]) -> dict[str, str | None]:
    return {name: (place / name).read_text(encoding="utf-8") if (place / name).is_file() else None for name in names}


def _lay_out(table: Mapping[str, Any], work: Path) -> None:
    """The files that a table's calls are about, or that its server needs."""
    for name, text in table.get("files", {}).items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text, encoding="utf-8")


def _clear(built: Any) -> None:
    """What the project wrote when it was asked directly: its tools begin where it began."""
    for one in built.work.iterdir():
        if one.is_dir() and one != built.folder:
            shutil.rmtree(one)
        elif one != built.folder:
            one.unlink()


def verdict(
    table: Mapping[str, Any], one: Mapping[str, Any], built: Any, tools: Sequence[Mapping[str, Any]], call: Call,
    own: Mapping[str, Any],
) -> tuple[str, Any]:  # fmt: skip
    """`right`, `wrong` or `missing`, and what the tool said.

    Args:
        table: with keys of answers that do not matter, `ignore`: times, ids; of a library's capability, `leaves` names
            files that have to be the same after both.
        one: of its capabilities; may name more of them.
        built: whose tools are asked.
        tools: of the manifest.
        call: calls one.
        own: the project's own answer.
    """
    named = [tool for tool in tools if fnmatch.fnmatchcase(tool["id"], one["tool"])]
    if len(named) != 1:
        return "missing", f"{len(named)} tools have the id {one['tool']}"
    kept = _as_at_first(table, one, built) if table["kind"] == "service" else {}
    result = call(named[0]["name"], _placed(_filled(one.get("arguments", {}), kept), named[0]["binding"]))
    if (left := own.get("left")) and left != _left(_place(table, built), left):
        return "wrong", f"it leaves other files than {left}"
    if "raises" in own:
        return ("wrong" if result["ok"] else "right"), result
    if table["kind"] == "program" and not own["is"].strip():  # then the tool has what stands on standard error
        return ("right" if result["ok"] else "wrong"), result
    ignored = frozenset((*table.get("ignore", ()), *one.get("ignore", ())))
    return ("right" if result["ok"] and _same(result["data"], own["is"], ignored) else "wrong"), result


def _placed(arguments: Mapping[str, Any], binding: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arguments where the schema wants them: of a tool of many parameters, some in one object."""
    options = binding.get("options", {"schema": {"properties": {}}})
    inside = {name: value for name, value in arguments.items() if name in options["schema"]["properties"]}
    others = {name: value for name, value in arguments.items() if name not in inside}
    return {**others, options["parameter"]: inside} if inside else others


def _same(data: Any, own: Any, ignored: frozenset[str]) -> bool:
    """Whether a tool's data say what the project says: as JSON where its text is JSON, else as text."""
    said = data["result"] if isinstance(data, dict) and set(data) == {"result"} else data
    own = _without(_plain(own), ignored)
    return any(_without(_plain(one), ignored) == own for one in (said, data))


def _without(value: Any, ignored: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(one, ignored) for key, one in value.items() if key not in ignored}
    return [_without(one, ignored) for one in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value) if value else None
        except ValueError:
            return value.rstrip()
    return value


@pytest.fixture
def counted(
    request: pytest.FixtureRequest,
    peers: Any,
    base_env: Mapping[str, str],
    make_built: Callable[..., Any],
    npm_document: Callable[[str, str], Path],
    tmp_path: Path,
) -> Iterator[Counted]:
    """How many of a table's capabilities are right, wrong and missing, what was not right, and what counts as what."""
    name: str = request.param
    table = _read(name)
    for program in table.get("needs", ()):
        if shutil.which(program) is None:
            peers.programs.cannot_start(program, "there is none")
    venv = peers.venv(f"capabilities-{name}", *table["install"]) if "install" in table else Path(sys.prefix)
    site = sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)})
    _require(table)
    inside = [str(Path(site, one)) for one in table.get("path", ())]
    env = {"PATH": ":".join([*inside, str(venv / "bin"), base_env["PATH"]]), **table.get("env", {})}
    places = {"bin": venv / "bin", "site": site, "work": tmp_path, "here": HERE, **_of_npm(table, peers, npm_document)}
    if table["kind"] == "library":
        # Programs lie there as well: one that is called like the library is not the library.
        env["PYTHONPATH"] = os.pathsep.join((str(venv / "bin"), site))
    if table["kind"] == "service":
        port = peers.free_port()
        places["port"] = port
        command = [word.format_map(places) for word in table["serve"]]
        _lay_out(table, tmp_path)
        with peers.serving(name, command, port, table["ready"], cwd=tmp_path) as address:
            words = [word.format_map({**places, "address": address}) for word in table["init"]]
            yield _counted(table, make_built(f"capabilities-{name}", tuple(words), env, address=address), site)
    else:
        yield _counted(table, make_built(f"capabilities-{name}", tuple(table["init"]), env), site)


def _require(table: Mapping[str, Any]) -> None:
    """Skip programs of the system that are others here: `says = [[["sort", "--version"], "GNU coreutils"]]`."""
    for command, expected in table.get("says", ()):
        try:
            said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout
        except OSError:
            said = ""
        if expected not in said:
            pytest.skip(f"{' '.join(command)} does not say {expected} here")


def _of_npm(table: Mapping[str, Any], peers: Any, npm_document: Callable[[str, str], Path]) -> dict[str, str]:
    """Where Node, the packages of `npm`, and the one file of a package that `document` names lie."""
    found = {}
    if packages := table.get("npm", ()):

        def install(folder: Path) -> None:
            for package in packages:
                peers.npm(folder, package)

        modules = peers.installed("capabilities-npm", packages, install) / "node_modules"
        found |= {"nodejs": peers.node(), "modules": str(modules)}
    if "document" in table:
        found["document"] = str(npm_document(*table["document"]))
    return found


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(TABLES[name].read_text(encoding="utf-8"))


def _counted(table: Mapping[str, Any], built: Any, site: str) -> Counted:
    own = ASK[table["kind"]](table, built, site)
    if table["kind"] == "program":
        _clear(built)
    counts = {"right": 0, "wrong": 0, "missing": 0}
    rest = []
    tools = built.manifest["tools"]
    with built.calling() as call:
        for one, answer in zip(table["capabilities"], own, strict=True):
            _lay_out(table, _place(table, built))
            how, said = verdict(table, one, built, tools, call, answer)
            counts[how] += 1
            if how != "right":
                rest.append((how, one["says"], one["tool"], answer, said))
    return counts, rest, _categories(table, tools)


def _categories(table: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many tools are reads and writes by the table, and how many of each are called the other."""
    said = {
        (tool["id"], one["category"]): tool["category"] in READS
        for one in table["capabilities"]
        if "category" in one
        for tool in tools
        if fnmatch.fnmatchcase(tool["id"], one["tool"])
    }
    called = {kind: [is_read for (_, own), is_read in said.items() if own == kind] for kind in ("read", "write")}
    return {
        "reads": len(called["read"]),
        "reads called writes": called["read"].count(False),
        "writes": len(called["write"]),
        "writes called reads": called["write"].count(True),
    }


@pytest.mark.parametrize(("counted", "name"), [(name, name) for name in TABLES], indirect=["counted"])
def test_the_page_says_what_was_found_of_each_project(counted: Counted, name: str) -> None:
    counts, rest, categories = counted
    assert _rows().get(name) == counts, (counts, *rest)
    assert categories["writes called reads"] == 0
    assert _rows_of_categories().get(name, dict.fromkeys(categories, 0)) == categories


def test_every_table_has_its_row() -> None:
    assert sorted(_rows()) == sorted(TABLES)


def _rows() -> dict[str, dict[str, int]]:
    """The table of the page: `| project | kind | what is special | right | wrong | missing |`."""
    return {
        row[0]: {"right": int(row[3]), "wrong": int(row[4]), "missing": int(row[5])}
        for row in _cells()
        if len(row) == 6 and row[0] in TABLES
    }


def _rows_of_categories() -> dict[str, dict[str, int]]:
    """The table of the page: `| project | reads | called writes | writes | called reads |`."""
    names = ("reads", "reads called writes", "writes", "writes called reads")
    return {
        row[0]: dict(zip(names, map(int, row[1:]), strict=True))
        for row in _cells()
        if len(row) == 5 and row[0] in TABLES
    }


def _cells() -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("| \n").split("|")] for line in PAGE.read_text().splitlines()]
