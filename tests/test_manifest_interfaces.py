"""What `build` makes of a manifest is served by one command, from anywhere; and a tool that writes is refused in
read-only mode through every interface: the program, MCP, the gateway, the chat."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

for needed in ("pegboard_toolgen", "pegboard_mcp", "pegboard_http", "pegboard_chat"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Interface = Callable[..., dict[str, Any]]
    """Called with a command, its working directory and environment, and the arguments of the call as JSON."""

TOUCHES: dict[str, Any] = {
    "id": "program:touch",
    "name": "touch_made",
    "description": "Makes a file.",
    "category": "write",
    "risk": "low",
    "idempotency": "idempotent",
    "input_schema": {
        "type": "object",
        "properties": {"options": {"type": "object", "description": "More options by name. True or false: no_create."}},
        "additionalProperties": False,
    },
    "examples": [{"input": {}}],
    "annotations": {"readOnlyHint": True, "destructiveHint": False},
    "binding": {
        "kind": "subprocess",
        "program": "touch",
        "arguments": [
            {"kind": "option", "parameter": "no_create", "flag": "-c", "style": "flag"},
            {"kind": "literal", "value": "made"},
        ],
        "options": {
            "parameter": "options",
            "schema": {
                "type": "object",
                "properties": {"no_create": {"type": "boolean", "description": "Make no file."}},
                "additionalProperties": False,
            },
        },
        "output": {"parser": "text"},
    },
}
LISTS: dict[str, Any] = {
    **{key: value for key, value in TOUCHES.items() if key != "annotations"},
    "id": "program:ls",
    "name": "list_made",
    "description": "Lists the files.",
    "category": "read",
    "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    "binding": {"kind": "subprocess", "program": "ls", "arguments": [], "output": {"parser": "text"}},
}
MANIFEST: dict[str, Any] = {
    "manifest_version": "1.0",
    "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
    "project": {"name": "Touch", "runtime": "other", "execution_model": "subprocess"},
    "programs": {"touch": {"argv0": ["touch"]}, "ls": {"argv0": ["ls"]}},
    "tools": [LISTS, TOUCHES],
}
PROGRAM = [sys.executable, "-m", "pegboard"]


@pytest.fixture
def folder(tmp_path: Path, run_program: Callable[..., Any]) -> Path:
    """What `build` makes of the manifest, in a folder whose name a shell would take apart."""
    folder = tmp_path / 'it\'s a "folder" of $tools'
    folder.mkdir()
    (folder / "tool.manifest.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
    done = run_program("toolgen", "build", str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A working directory that has nothing to do with it."""
    place = tmp_path / "elsewhere"
    place.mkdir()
    return place


def through_the_program(command: list[str], cwd: Path, env: Mapping[str, str], arguments: str = "{}") -> dict[str, Any]:
    said = f'{{"name": "touch_made", "arguments": {arguments}}}'
    done = subprocess.run(
        [*command, "batch"], cwd=cwd, env=env, input=said, capture_output=True, text=True, timeout=60, check=False
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@contextlib.contextmanager
def gateway(command: list[str], cwd: Path, env: Mapping[str, str]) -> Iterator[str]:
    with subprocess.Popen(
        [*command, "gateway", "--port", "0"], cwd=cwd, env=env, stderr=subprocess.PIPE, text=True
    ) as served:
        assert served.stderr is not None
        line = served.stderr.readline()
        try:
            count = 1 if env.get("READ_ONLY") == "1" else 2
            assert re.match(rf"serving {count} tools? at http://", line), line
            yield line.split(" at ")[1].split()[0]
        finally:
            served.terminate()
            served.communicate(timeout=20)


def through_the_gateway(command: list[str], cwd: Path, env: Mapping[str, str], arguments: str = "{}") -> dict[str, Any]:
    with gateway(command, cwd, env) as url:
        request = urllib.request.Request(
            f"{url}/tools/touch_made", data=arguments.encode(), headers={"content-type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                result: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as problem:
            with problem:
                result = json.load(problem)
    return result


def through_the_chat(command: list[str], cwd: Path, env: Mapping[str, str], arguments: str = "{}") -> dict[str, Any]:
    done = subprocess.run(
        [*command, "chat", "--model", "echo", "--json", f"touch_made {arguments}"],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    (result,) = [event for event in events if event["type"] == "result"]
    return dict(result)


@pytest.fixture
def through(over_stdio: Callable[..., Any]) -> dict[str, Interface]:
    """Each interface, by its name."""

    def through_mcp(command: list[str], cwd: Path, env: Mapping[str, str], arguments: str = "{}") -> dict[str, Any]:
        call = {"method": "tools/call", "params": {"name": "touch_made", "arguments": json.loads(arguments)}}
        (result,) = over_stdio([*command, "serve"], call, cwd=cwd, env=env)
        return {"ok": not result.get("isError", False), "said": result["content"][0]["text"]}

    return {
        "program": through_the_program,
        "mcp": through_mcp,
        "gateway": through_the_gateway,
        "chat": through_the_chat,
    }


@pytest.mark.parametrize("interface", ["program", "mcp", "gateway", "chat"])
def test_a_tool_that_writes_is_served_from_anywhere_and_refused_in_read_only_mode(
    interface: str, through: dict[str, Interface], folder: Path, elsewhere: Path
) -> None:
    command = [*PROGRAM, "--config", str(folder / "pegboard.toml")]
    refused = through[interface](command, elsewhere, {**os.environ, "READ_ONLY": "1"})
    assert refused["ok"] is False
    assert "read-only mode" in json.dumps(refused)
    assert not (folder / "made").exists()

    assert through[interface](command, elsewhere, {**os.environ, "READ_ONLY": "0"})["ok"] is True
    assert (folder / "made").exists()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("interface", ["program", "mcp", "gateway", "chat"])
def test_an_option_beside_its_object_is_refused_with_where_it_belongs(
    interface: str, through: dict[str, Interface], folder: Path, elsewhere: Path
) -> None:
    command = [*PROGRAM, "--config", str(folder / "pegboard.toml")]
    env = {**os.environ, "READ_ONLY": "0"}
    refused = through[interface](command, elsewhere, env, '{"no_create": true}')
    assert refused["ok"] is False
    assert (
        "no_create: expected a member of options, got an argument of its own "
        '(write {"options": {"no_create": ...}})' in json.dumps(refused).replace('\\"', '"')
    )
    assert not (folder / "made").exists()


def test_the_command_of_mcp_json_serves_the_tools_in_its_folder(through: dict[str, Interface], folder: Path) -> None:
    (server,) = json.loads((folder / "mcp.json").read_text(encoding="utf-8"))["mcpServers"].values()
    assert (server["command"], server["args"][-1]) == ("pegboard", "serve")
    assert through["mcp"]([*PROGRAM, *server["args"][:-1]], folder, dict(os.environ))["ok"] is True
    assert (folder / "made").exists()


def test_whoever_stands_in_the_folder_makes_it_anew_as_its_readme_says(folder: Path) -> None:
    assert "`llm-toolgen build`" in (folder / "README.md").read_text(encoding="utf-8")
    (folder / "skill.md").unlink()
    program = "import sys; from pegboard_toolgen.program import main; sys.argv[0] = 'llm-toolgen'; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "build"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "skill.md").is_file()
