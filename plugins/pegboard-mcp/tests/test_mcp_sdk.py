"""What is private in the MCP SDK stands behind one module, which looks whether it fits before anything is served."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pegboard_mcp
from pegboard import PluginError
from pegboard_mcp import sdk
from pegboard_mcp.checks import check_sdk
from pegboard_mcp.defaults import SDK_RELEASE
from pegboard_mcp.server import _sdk

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(pegboard_mcp.__file__).parent
SCRIPTED = Path(__file__).parent / "servers" / "scripted.py"
DOCUMENTED = {
    "mcp.client.auth", "mcp.client.session", "mcp.client.streamable_http", "mcp.server.auth.middleware.bearer_auth",
    "mcp.server.auth.provider", "mcp.server.auth.routes", "mcp.server.auth.settings", "mcp.server.caching",
    "mcp.server.context", "mcp.server.lowlevel", "mcp.server.models", "mcp.server.session", "mcp.server.sse",
    "mcp.server.streamable_http_manager", "mcp.server.subscriptions", "mcp.shared.auth", "mcp.shared.exceptions",
    "mcp.shared.message", "mcp.shared.subscriptions", "mcp.shared.uri_template",
}  # fmt: skip
"""Modules that the SDK's documentation or the packages' own `__all__` lead to."""


def taken(file: Path) -> Iterator[tuple[str, str]]:
    """Every name that a module imports from the SDK, with where it is taken from."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "mcp":
            for name in node.names:
                yield node.module, name.name


def is_private(module: str, name: str) -> bool:
    return module not in DOCUMENTED or name.startswith("_") or name == "DISCOVER_TIMEOUT_SECONDS"


def test_no_other_module_takes_what_is_private() -> None:
    found = {
        f"{file.name}: {module}:{name}"
        for file in HERE.rglob("*.py")
        if file.name != "_sdk.py"
        for module, name in taken(file)
        if is_private(module, name)
    }
    assert found == set()


@pytest.mark.parametrize(("room", "listed"), [("server", sdk.SERVER), ("client", sdk.CLIENT)])
def test_the_lists_name_whatever_is_private_and_taken_with_its_reason(room: str, listed: dict[str, str]) -> None:
    used = {f"{module}:{name}" for module, name in taken(HERE / room / "_sdk.py") if is_private(module, name)}
    assert used == {name for name in listed if "." not in name.partition(":")[2]}
    assert all(listed.values())


def test_all_that_is_listed_is_there() -> None:
    assert _sdk.problem_with([*_sdk.SERVER, *_sdk.CLIENT]) is None


@pytest.mark.parametrize(
    "name",
    ["mcp.server.nowhere:X", "mcp.server.runner:Nothing", "mcp.server.runner:ServerRunner.nothing"],
)
def test_what_is_missing_is_named_with_both_versions(name: str) -> None:
    problem = _sdk.problem_with([name])
    installed = importlib.metadata.version("mcp")
    assert problem is not None
    assert problem.message == (
        f"serving needs the MCP SDK mcp {SDK_RELEASE}.x, and {installed} is installed, which has no {name}"
    )
    assert problem.hint == f'pip install "mcp~={SDK_RELEASE}.0"'


@pytest.mark.parametrize("version", ["2.4.0", "2.2.9", "2.30.0", "3.0.0"])
def test_another_release_is_refused_at_import_and_told_by_doctor(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    monkeypatch.delitem(sys.modules, "pegboard_mcp.server._sdk")
    with pytest.raises(PluginError, match=rf"needs the MCP SDK mcp {SDK_RELEASE}\.x, and {version} is installed"):
        importlib.import_module("pegboard_mcp.server._sdk")
    (found,) = check_sdk()
    assert (found.what, found.where, found.severity) == ("the board cannot be served", "pegboard serve", "error")
    assert version in found.why


def test_the_requirement_names_the_release() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"mcp~={SDK_RELEASE}.0" in project["dependencies"]


def test_with_another_release_all_but_serving_goes_on(tmp_path: Path) -> None:
    info = tmp_path / "lib" / "mcp-2.4.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp\nVersion: 2.4.0\n")
    environment = {**os.environ, "PYTHONPATH": str(info.parent)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pegboard", *words]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment, input="", check=False
        )

    served = run("serve")
    assert (served.returncode, served.stdout) == (2, "")
    assert served.stderr.endswith(
        'error: serving needs the MCP SDK mcp 2.3.x, and 2.4.0 is installed\nhint: pip install "mcp~=2.3.0"\n'
    )
    listed = run("list", "--json")
    assert listed.returncode == 0
    assert isinstance(json.loads(listed.stdout), list)
    told = [one for one in json.loads(run("doctor", "--json").stdout) if one["where"] == "pegboard serve"]
    assert [one["why"] for one in told] == ["serving needs the MCP SDK mcp 2.3.x, and 2.4.0 is installed"]


WRONG_RELEASE = "MCP SDK mcp 2.3.x, and 2.4.0 is installed"
NAME_GONE = "MCP SDK mcp 2.3.x, and 2.3.0 is installed, which has no mcp.shared.inbound:mcp_param_headers"
MODULE_GONE = "MCP SDK mcp 2.3.x, and 2.3.0 is installed, which does not fit: import of mcp.client.session halted"
FIX = 'pip install "mcp~=2.3.0"'
PREPARED = {
    WRONG_RELEASE: "importlib.metadata.version = lambda name, real=importlib.metadata.version: "
    "'2.4.0' if name == 'mcp' else real(name)",
    NAME_GONE: "import mcp.client.streamable_http, mcp.shared.inbound; del mcp.shared.inbound.mcp_param_headers",
    MODULE_GONE: "import mcp; del mcp.client.session; sys.modules['mcp.client.session'] = None",
}
"""What a program does before it runs `pegboard`, so that the SDK does not fit in this way."""
DOORS = {
    "list": "warning: the source one offers nothing",
    "list --sources": "",
    "list --wait 0": "warning: the source one offers nothing",
    "list --sources --wait 0": "",
    "call add a:=1 b:=2": "error: ",
    "show add": "error: ",
    "batch": "",
    "lock": "the source one could not be asked",
    "doctor": "",
}
"""Where servers are met, and how what is said there begins."""
PROGRAM = """
import importlib.metadata, runpy, sys
sys.argv = ["pegboard", *sys.argv[1:]]
{prepared}
try:
    runpy.run_module("pegboard", run_name="__main__")
finally:
    print("SDK imported:", "mcp" in sys.modules, file=sys.stderr)
"""


@pytest.fixture
def run_misfit(tmp_path: Path) -> Any:
    """Runs the program in a folder with one server, of which a list is known, and an SDK that does not fit."""
    known = {"command": sys.executable, "args": ["-S", str(SCRIPTED), str(tmp_path), "{}"]}
    lines = [f"{key} = {json.dumps(value)}" for key, value in known.items()]
    (tmp_path / "pegboard.toml").write_text("\n".join(["[plugins.mcp.servers.one]", *lines]))
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def run(words: str, prepared: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM.format(prepared=prepared), "--config", "pegboard.toml"]
        return subprocess.run(
            [*command, "--plugin", "mcp", *words.split()],
            capture_output=True, text=True, cwd=tmp_path, env=environment, check=False, timeout=100,
            input='{"name": "add", "arguments": {"a": 1, "b": 2}}\n' if words == "batch" else "",
        )  # fmt: skip

    assert "known" in run("list --wait 60", "").stdout  # no test of how fast a server starts
    return run


@pytest.mark.parametrize("problem", PREPARED)
def test_every_door_says_that_the_sdk_does_not_fit_and_what_repairs_it(run_misfit: Any, problem: str) -> None:
    for words, begins in DOORS.items():
        if problem != WRONG_RELEASE and words.split()[0] in {"list", "show", "lock"}:
            continue  # the version fits, and what is known of the server is told without the SDK
        done = run_misfit(words, PREPARED[problem])
        said = (done.stdout + done.stderr).replace('\\"', '"')
        assert f"MCP servers need the {problem}" in said, words
        assert FIX in said, words
        assert "Traceback" not in said
        assert begins in done.stderr
        if problem == WRONG_RELEASE and words != "doctor":  # doctor looks at serving too
            assert "SDK imported: False" in done.stderr, words


async def test_the_switch_leaves_everything_to_the_sdk(over_http: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pegboard_mcp.server import app, fast_path

    monkeypatch.setattr(_sdk, "FAST_PATH", False)
    monkeypatch.setattr(fast_path.FastPath, "__init__", None)
    monkeypatch.setattr(app.BoardServer, "_through_fast_path", None)
    async with over_http() as served:
        session = await served.open_session()
        message = served.message("add", {"a": 1, "b": 2}, modern=False)
        answers = [await served.call("add", {"a": 1, "b": 2}) for _ in range(2)]
        answers.append(await served.raw.post(served.url, json=message, headers=session))
        assert [answer.status_code for answer in answers] == [200, 200, 200]
        assert all('"structuredContent":{"result":3' in answer.text.replace(" ", "") for answer in answers)
