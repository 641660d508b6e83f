"""What toolgen renders, before the validators and readers of its formats: of a sample, and of every project.

They are installed once into the person's cache; where a registry is out of reach the test says so and is skipped.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema_rs
import pytest

pytest.importorskip("pegboard_toolgen.write", reason="pegboard-toolgen is not installed")

from pegboard_toolgen.write import render

SAMPLE = Path(__file__).parents[2] / "plugins" / "pegboard-toolgen" / "tests" / "write" / "conftest.py"
SKILLS = ("skills-ref==0.1.1", "strictyaml==1.7.3", "python-dateutil==2.9.0.post0", "six==1.17.0")
REGISTRY = ("skillsaw==0.22.0",)
BUNDLES = "@anthropic-ai/mcpb@2.1.2"
OPENAPI = ("openapi-spec-validator==0.9.0",)
UTCP = ("utcp==1.2.0", "utcp-http==1.1.15")
LANGCHAIN = ("langchain-core==1.7.2",)

VALIDATE = """
import pathlib, sys, skills_ref
sys.exit("; ".join(skills_ref.validate(pathlib.Path(sys.argv[1]))) or None)
"""


def sample() -> dict[str, Any]:
    spec = importlib.util.spec_from_file_location("toolgen_write_sample", SAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return copy.deepcopy(module.SHOP)


@pytest.fixture
def shop() -> dict[str, Any]:
    return sample()


@pytest.fixture
def folder(tmp_path: Path, shop: dict[str, Any]) -> Path:
    """The outputs, written."""
    for name, content in {**render(shop), "tool.manifest.json": json.dumps(shop).encode()}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def had(peers: Any, name: str, what: tuple[str, ...], *options: str) -> Path:
    place: Path = peers.installed(name, what, lambda place: peers.pip(place, *options, *what))
    return place


def run(place: Path, program: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program with what is installed in a folder in reach."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": str(place), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def hold_bundle(peers: Any, folder: Path) -> None:
    """By the schema of MCPB."""
    place = peers.installed("mcpb", [BUNDLES], lambda place: peers.npm(place, BUNDLES))
    schemas = place / "node_modules" / "@anthropic-ai" / "mcpb" / "schemas"
    schema = json.loads((schemas / "mcpb-manifest-v0.3.schema.json").read_text(encoding="utf-8"))
    manifest = json.loads((folder / "adapters" / "mcpb" / "manifest.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(manifest)
    assert (folder / "adapters" / "mcpb" / manifest["server"]["entry_point"]).is_file()


def hold_registry_entry(peers: Any, folder: Path) -> None:
    """By the schema of the MCP registry."""
    place = had(peers, "skillsaw", REGISTRY, "--no-deps")
    file = place / "skillsaw" / "schemas" / "mcp_registry" / "v2025_12_11" / "server.schema.json"
    server = json.loads((folder / "adapters" / "server.json").read_text(encoding="utf-8"))
    schema = json.loads(file.read_text(encoding="utf-8"))
    assert server["$schema"] == schema["$id"]
    jsonschema.Draft7Validator(schema).validate(server)


def hold_openapi(peers: Any, folder: Path) -> None:
    """By a validator of OpenAPI 3.1."""
    place = had(peers, "openapi-spec-validator", OPENAPI)
    program = (
        "import sys, json; from openapi_spec_validator import validate, OpenAPIV31SpecValidator as V;"
        "validate(json.load(open(sys.argv[1], encoding='utf-8')), cls=V)"
    )
    done = run(place, program, str(folder / "adapters" / "openapi.json"))
    assert (done.returncode, done.stderr) == (0, "")


def read_utcp(peers: Any, folder: Path) -> list[list[str]]:
    """Name, kind, address and member of the body of each tool, as UTCP's library reads them."""
    place = had(peers, "utcp", UTCP)
    program = """
import json, sys
from utcp.data.utcp_manual import UtcpManualSerializer
from utcp.plugins.plugin_loader import ensure_plugins_initialized
ensure_plugins_initialized()
manual = UtcpManualSerializer().validate_dict(json.load(open(sys.argv[1], encoding="utf-8")))
print(json.dumps([[tool.name, type(tool.tool_call_template).__name__, tool.tool_call_template.url,
                   tool.tool_call_template.body_field] for tool in manual.tools]))
"""
    done = run(place, program, str(folder / "adapters" / "utcp.json"))
    assert done.returncode == 0, done.stderr
    read: list[list[str]] = json.loads(done.stdout)
    return read


def hold_functions(folder: Path) -> None:
    """By the types of OpenAI's library."""
    chat = pytest.importorskip("openai.types.chat", reason="openai is not installed")
    from pydantic import TypeAdapter

    functions = json.loads((folder / "adapters" / "openai.json").read_text(encoding="utf-8"))
    TypeAdapter(list[chat.ChatCompletionFunctionToolParam]).validate_python(functions)
    for one in functions:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one["function"]["name"])
        jsonschema.Draft202012Validator.check_schema(one["function"]["parameters"])


def test_the_adapters_of_a_project_are_what_their_readers_take(peers: Any, one_of_a_kind: Any) -> None:
    built = one_of_a_kind
    hold_openapi(peers, built.folder)
    hold_registry_entry(peers, built.folder)
    hold_bundle(peers, built.folder)
    assert [one[0] for one in read_utcp(peers, built.folder)] == sorted(built.tools)


def test_the_schemas_and_functions_of_every_project_are_right_and_take_its_examples(built: Any) -> None:
    hold_functions(built.folder)
    for name, one in built.tools.items():
        schema = json.loads((built.folder / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
        jsonschema_rs.meta.validate(schema)
        takes = jsonschema_rs.Draft202012Validator(schema)
        for example in one["examples"]:
            takes.validate({key: example[key] for key in ("input", "output") if key in example})


def test_functions_are_those_of_the_library(folder: Path) -> None:
    hold_functions(folder)


def test_the_skill_is_valid_by_its_own_validator(peers: Any, folder: Path) -> None:
    place = had(peers, "skills-ref", SKILLS, "--no-deps")
    done = run(place, VALIDATE, str(folder / "shop-tools"))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["Shop", "42", "true", "--a--", "Ünïcode", "x" * 100, "a---b", "日本"])
def test_the_skill_of_a_strange_name_is_valid_too(peers: Any, name: str, shop: dict[str, Any], tmp_path: Path) -> None:
    place = had(peers, "skills-ref", SKILLS, "--no-deps")
    shop["project"].update(name=name, description="---\nname: other\n<b>'\"{}[]: #&*!|>%@`")
    files = render(shop)
    (path,) = (one for one in files if one.endswith("/SKILL.md"))
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_bytes(files[path])
    done = run(place, VALIDATE, str((tmp_path / path).parent))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_bundle_has_the_form_of_its_schema(peers: Any, folder: Path) -> None:
    hold_bundle(peers, folder)


def test_the_registry_entry_has_the_form_of_its_schema(peers: Any, folder: Path) -> None:
    hold_registry_entry(peers, folder)


def test_the_openapi_document_is_valid(peers: Any, folder: Path) -> None:
    hold_openapi(peers, folder)


def test_the_utcp_manual_is_read_by_its_own_library(peers: Any, shop: dict[str, Any], folder: Path) -> None:
    pairs = {"type": "array", "items": {"type": "array", "prefixItems": [{"type": "string"}, True], "items": False}}
    shop["tools"][1]["input_schema"]["properties"] |= {"any": True, "pairs": pairs}
    (folder / "adapters" / "utcp.json").write_bytes(render(shop)["adapters/utcp.json"])
    assert read_utcp(peers, folder)[0] == [
        "orders_items_post",
        "HttpCallTemplate",
        "http://127.0.0.1:8080/tools/orders_items_post",
        "arguments",
    ]


def test_langchain_calls_the_tools_through_the_board(peers: Any, folder: Path) -> None:
    place = had(peers, "langchain-core", LANGCHAIN)
    program = """
import asyncio, json, sys
sys.path.insert(0, sys.argv[1] + "/adapters")
from langchain_tools import open_tools
from langchain_core.utils.function_calling import convert_to_openai_tool
with open_tools() as tools:
    named = {tool.name: tool for tool in tools}
    mean = named["prices_mean"]
    call = {"type": "tool_call", "id": "1", "name": "prices_mean", "args": {"data": [1, 2, 6]}}
    message = mean.invoke(call)
    later = asyncio.run(mean.ainvoke({**call, "id": "2"}))
    refused = mean.invoke({**call, "id": "3", "args": {"config": 1, "self": 2, "run_manager": 3}})
    print(json.dumps({"tools": sorted(named), "content": message.content, "artifact": message.artifact,
                      "later": later.artifact, "refused": refused.content, "status": refused.status,
                      "function": convert_to_openai_tool(mean)["function"]["parameters"]}))
"""
    done = run(place, program, str(folder), PEGBOARD_CONFIG="", SHOP_TOKEN="x")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["tools"] == ["orders_items_post", "prices_mean", "shop_list"]
    assert said["artifact"] == said["later"] == {"result": 3.0}
    assert "3" in said["content"]
    assert said["status"] == "error"
    assert said["refused"].startswith("INVALID_INPUT: ")
    for name in ("config", "self", "run_manager", "data"):
        assert name in said["refused"]
    assert said["function"]["required"] == ["data"]


def test_the_bundle_serves_the_tools_from_wherever_it_is_started(
    over_stdio: Callable[..., Any], folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("pegboard_mcp", reason="pegboard-mcp is not installed")
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "adapters" / "mcpb", bundle)
    for name in ("tool.manifest.json", "pegboard.toml"):
        shutil.copy(folder / name, bundle / "server")
    assert "cp tool.manifest.json pegboard.toml bundle/server/" in (folder / "README.md").read_text(encoding="utf-8")
    call = {"method": "tools/call", "params": {"name": "prices_mean", "arguments": {"data": [1, 2, 6]}}}
    command = [sys.executable, str(bundle / "server" / "main.py")]
    listed, answer = over_stdio(command, {"method": "tools/list"}, call, cwd=Path("/"))
    assert [tool["name"] for tool in listed["tools"]] == ["orders_items_post", "prices_mean", "shop_list"]
    assert answer["structuredContent"] == {"result": 3.0}


def test_the_gateway_is_what_the_openapi_document_and_the_utcp_manual_say(peers: Any, folder: Path) -> None:
    pytest.importorskip("pegboard_http", reason="pegboard-http is not installed")
    port = peers.free_port()
    command = [sys.executable, "-m", "pegboard", "--config", "pegboard.toml", "gateway", "--port", str(port)]
    with peers.serving("the gateway", command, port, "/tools", cwd=folder, is_ours=True) as address:
        with urllib.request.urlopen(f"{address}/openapi.json", timeout=20) as answer:
            live = json.load(answer)
        document = json.loads((folder / "adapters" / "openapi.json").read_text(encoding="utf-8"))
        assert document["paths"].keys() == live["paths"].keys() - {"/tools/read_result"}
        for path, item in document["paths"].items():
            for method, operation in item.items():
                assert {**operation, "tags": None} == {**live["paths"][path][method], "tags": None}
        assert document["components"]["responses"] == live["components"]["responses"]
        schemas = live["components"]["schemas"]
        assert document["components"]["schemas"] == {
            name: one for name, one in schemas.items() if not name.startswith("read_result")
        }

        place = had(peers, "utcp", UTCP)
        program = """
import asyncio, json, sys
from utcp.data.utcp_manual import UtcpManualSerializer
from utcp.plugins.plugin_loader import ensure_plugins_initialized
from utcp_http.http_communication_protocol import HttpCommunicationProtocol
ensure_plugins_initialized()
text = open(sys.argv[1], encoding="utf-8").read().replace("http://127.0.0.1:8080", sys.argv[2])
tools = {tool.name: tool for tool in UtcpManualSerializer().validate_dict(json.loads(text)).tools}
mean = tools["prices_mean"].tool_call_template
given = {"arguments": {"data": [1, 2, 6]}}
print(json.dumps(asyncio.run(HttpCommunicationProtocol().call_tool(None, "prices_mean", given, mean))))
"""
        done = run(place, program, str(folder / "adapters" / "utcp.json"), address)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["ok"], said["data"]) == (True, {"result": 3.0})
