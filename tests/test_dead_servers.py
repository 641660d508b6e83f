"""Servers that do not start: no interface answers with a bare NOT_FOUND, and no list leaves them out in silence."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pegboard import open_host_sync

for needed in ("pegboard_mcp", "pegboard_http", "pegboard_chat"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

REFUSES = """
import json, sys
for line in sys.stdin:
    said = json.loads(line)
    if "id" in said:
        error = {"code": -32000, "message": "the licence has run out"}
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "error": error}), flush=True)
"""
EMPTY = """
import json, sys
for line in sys.stdin:
    said = json.loads(line)
    if said.get("method") == "initialize":
        result = {"protocolVersion": said["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        result["serverInfo"] = {"name": "empty", "version": "1"}
    elif said.get("method") == "tools/list":
        result = {"tools": []}
    elif "id" in said:
        error = {"code": -32601, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "error": error}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": result}), flush=True)
"""


def python(code: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-c", code], **more}


SERVERS: dict[str, dict[str, Any]] = {
    "elsewhere": {"url": "http://127.0.0.1:9/mcp"},
    "empty": python(EMPTY),
    "exits": python("import sys; sys.exit('set NOTES_TOKEN')"),
    "garbage": python("print('Hello!')"),
    "missing": {"command": "no-such-server-anywhere"},
    "refuses": python(REFUSES),
    "silent": python("import time; time.sleep(600)", timeout=2),
}
SAYS = {
    "elsewhere": ("backing_off", "127.0.0.1:9"),
    "empty": ("known", "its list of tools is empty"),
    "exits": ("backing_off", "exited with status 1, before it said anything; its last words: set NOTES_TOKEN"),
    "garbage": ("backing_off", "it speaks no MCP"),
    "missing": ("failed", "the command 'no-such-server-anywhere' does not exist"),
    "refuses": ("backing_off", "it refused the initialization: the licence has run out"),
    "silent": ("backing_off", "no answer within 2 s (time-out)"),
}
"""What is said of each server: its state, and a part of the reason."""


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program_with: Callable[..., Any]) -> Callable[..., Any]:
    """`configured("silent", ...)`: the program with these servers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def program(*names: str) -> Any:
        file = tmp_path / "dead.yaml"
        servers = {name: SERVERS[name] for name in names}
        file.write_text(json.dumps({"plugins": {"mcp": {"lock": "off", "servers": servers}}}), encoding="utf-8")
        return program_with("--config", str(file))

    return program


def through_batch(program: Any) -> Any:
    return json.loads(program.run("batch", stdin='{"name": "late", "arguments": {}}\n').stdout)["error"]


def through_call(program: Any) -> Any:
    done = program.run("call", "late", "--json")
    assert done.returncode == 1
    return json.loads(done.stdout)["error"]


def through_dry_run(program: Any) -> Any:
    return json.loads(program.run("call", "late", "--dry-run", "--json").stdout)["error"]


def through_python(program: Any) -> Any:
    with open_host_sync(program.options[-1]) as host:
        error = host.call("late").error
    assert error is not None
    return error.to_json()


def through_chat(program: Any) -> Any:
    done = program.run("chat", "--model", "echo", "--json", "late {}")
    (result,) = [event for line in done.stdout.splitlines() if (event := json.loads(line))["type"] == "result"]
    return result["error"]


@contextlib.contextmanager
def serving(command: list[str]) -> Iterator[str]:
    """An HTTP server as long as the block: its address."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as served:
        assert served.stderr is not None
        try:
            url = None
            while url is None and (line := served.stderr.readline()):
                url = re.search(r"(?:http|ws)://\S+", line) if line.startswith("serving") else None
            assert url is not None
            threading.Thread(target=served.stderr.read, daemon=True).start()
            yield url[0]
        finally:
            served.terminate()
            served.wait(30)


def through_gateway(program: Any) -> Any:
    with serving(program.command("gateway", "--port", "0")) as url:
        request = urllib.request.Request(f"{url}/tools/late", data=b"{}", headers={"content-type": "application/json"})
        with pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(request, timeout=50)
        with raised.value as answer:
            assert answer.code == 404
            return json.load(answer)["error"]


def through_mcp(
    transport: str, program: Any, method: str = "tools/call", params: Mapping[str, Any] | None = None
) -> Any:
    """An error of the protocol, which has the board's own beside its words."""
    import trio

    from pegboard_mcp.client._errors import RpcError
    from pegboard_mcp.client.connection import open_connection
    from pegboard_mcp.client.elicitation import Elicitation
    from pegboard_mcp.definitions import ServerDefinition

    async def call(**where: Any) -> Any:
        definition = ServerDefinition(name="board", transport=transport, **where)  # type: ignore[arg-type]
        opened = open_connection(
            definition, Elicitation(definition).callbacks(), on_gone=lambda: None, on_change=lambda method, params: None
        )
        with trio.fail_after(50):
            async with opened as connection:
                while True:
                    with pytest.raises(RpcError) as raised:
                        await connection.request(method, params or {"name": "late", "arguments": {}})
                    sources = raised.value.data.get("details", raised.value.data)["sources"]
                    if all(one["state"] != "starting" for one in sources):
                        return {**raised.value.data, "message": raised.value.message}
                    # A busy machine imports for longer than a question waits, and the answer says so; a list waits.
                    await connection.request("tools/list", {})

    if transport == "stdio":
        return trio.run(partial(call, argv=tuple(program.command("serve"))))
    with serving(program.command("serve", "--transport", transport, "--port", "0")) as url:
        return trio.run(partial(call, url=url))


INTERFACES: dict[str, Callable[[Any], Any]] = {
    "batch": through_batch,
    "call": through_call,
    "dry run": through_dry_run,
    "python": through_python,
    "chat": through_chat,
    "gateway": through_gateway,
    **{transport: partial(through_mcp, transport) for transport in ("stdio", "http", "sse", "websocket")},
}


@pytest.mark.parametrize("interface", INTERFACES)
def test_no_interface_answers_an_unknown_name_without_the_servers_that_are_not_there(
    interface: str, configured: Callable[..., Any]
) -> None:
    error = INTERFACES[interface](configured("missing", "exits"))
    assert error["code"] == "NOT_FOUND"
    sources = {one["source"]: one for one in error["details"]["sources"]}
    for name in ("missing", "exits"):
        state, reason = SAYS[name]
        assert sources[name]["state"] == state
        assert reason in sources[name]["reason"]
        assert reason in error["message"]


@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/get", {"name": "late"}), ("resources/read", {"uri": "late://one"})],
)
def test_neither_is_an_unknown_prompt_or_resource_told_without_them(
    method: str, params: dict[str, Any], configured: Callable[..., Any]
) -> None:
    data = through_mcp("stdio", configured("missing"), method, params)
    (source,) = data.get("details", data)["sources"]
    assert (source["source"], source["state"]) == ("missing", "failed")
    assert SAYS["missing"][1] in data["message"]


@pytest.mark.parametrize("name", ["list_resources", "read_resource"])
def test_neither_is_a_server_without_resources(name: str, configured: Callable[..., Any]) -> None:
    arguments = {"server": "missing", **({"uri": "late://one"} if name == "read_resource" else {})}
    said = json.dumps({"name": name, "arguments": arguments})
    error = json.loads(configured("missing").run("batch", stdin=said).stdout)["error"]
    assert error["code"] == "NOT_FOUND"
    assert SAYS["missing"][1] in error["details"]["sources"][0]["reason"]


@pytest.mark.parametrize("name", [name for name in SERVERS if name != "empty"])
def test_the_answer_says_what_is_wrong_with_each_kind_of_dead_server(name: str, configured: Callable[..., Any]) -> None:
    (source,) = through_batch(configured(name))["details"]["sources"]
    assert (source["source"], source["kind"], source["state"], source["tools"]) == (name, "mcp", SAYS[name][0], 0)
    assert SAYS[name][1] in source["reason"]


def test_list_names_every_server_that_offers_nothing_with_its_state_and_reason(
    configured: Callable[..., Any],
) -> None:
    listed = configured(*SERVERS).run("list", "--json", "--wait", "50")
    assert listed.returncode == 0
    assert "late" not in {one["name"] for one in json.loads(listed.stdout)}
    for name, (state, reason) in SAYS.items():
        (line,) = [line for line in listed.stderr.splitlines() if f" the source {name} " in line]
        assert reason in line
        assert re.search(rf"\({state} for \d+ s\)$", line)


def test_the_sources_are_listed_with_every_state_and_reason(configured: Callable[..., Any]) -> None:
    done = configured(*SERVERS).run("list", "--sources", "--json", "--wait", "50")
    told = {one["source"]: one for one in json.loads(done.stdout) if one["kind"] == "mcp"}
    assert told.keys() == SERVERS.keys()
    for name, (state, reason) in SAYS.items():
        assert (told[name]["state"], told[name]["tools"]) == (state, 0)
        assert reason in told[name]["reason"]


def test_a_server_that_is_still_starting_when_the_wait_ends_is_named(configured: Callable[..., Any]) -> None:
    done = configured("silent").run("list", "--wait", "1")
    assert "the source silent offers nothing: it is being started" in done.stderr


def test_chat_says_at_its_start_which_servers_are_not_there(configured: Callable[..., Any]) -> None:
    done = configured("missing", "exits").run("chat", "--model", "echo", "hello")
    for name in ("missing", "exits"):
        assert f"the source {name} offers nothing" in done.stderr
        assert SAYS[name][1] in done.stderr


@pytest.mark.parametrize("words", [("show", "late"), ("export", "--to", "json", "late"), ("call", "late")])
def test_a_command_of_one_tool_says_once_which_servers_are_not_there(
    words: tuple[str, ...], configured: Callable[..., Any]
) -> None:
    done = configured("missing", "exits").run(*words)
    assert done.returncode != 0
    for name in ("missing", "exits"):
        assert done.stderr.count(SAYS[name][1]) == 1, done.stderr


def test_a_tool_that_is_there_is_exported_without_starting_a_server(configured: Callable[..., Any]) -> None:
    done = configured("missing").run("export", "--to", "json", "read_resource")
    assert (done.returncode, done.stderr) == (0, "")
