"""pegboard-manifest beside what its bindings stand on: the same function as a native tool, the bare process, httpx2."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path as File

import httpx2
import trio
from workload import ADD_ARGS

from contestants import Contestant, Path
from contestants._api import api
from pegboard import open_host, tool

RUNNER = "trio"
NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
CLOSED = {**NUMBERS, "required": ["a", "b"], "additionalProperties": False}
SUM = {"type": "object", "properties": {"result": {"type": "number"}}, "required": ["result"]}
NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}
TEXT = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
BENCH = "benchlib_add"
"""The module that the manifest binds; made for this run alone."""


def _tool(name, binding, input_schema, output_schema, example):
    return {
        "id": f"{binding['kind']}:{name}",
        "name": name,
        "description": "Measure.",
        "category": "read",
        "risk": "low",
        "idempotency": "idempotent",
        "input_schema": input_schema,
        "output_schema": output_schema,
        "examples": [{"input": example}],
        "binding": binding,
    }


def manifest_of(url, true):
    """One tool of each kind of binding."""
    passed = [{"parameter": name, "pass": "keyword"} for name in ("a", "b")]
    queried = [{"parameter": name, "in": "query", "name": name} for name in ("a", "b")]
    function = {"kind": "python", "module": "lib", "qualified_name": f"{BENCH}.add", "parameters": passed}
    program = {"kind": "subprocess", "program": "true", "arguments": [], "output": {"parser": "text"}}
    request = {"kind": "http", "server": "api", "method": "GET", "path": "/sum", "parameters": queried}
    return {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "bench", "runtime": "python", "execution_model": "mixed"},
        "servers": {"api": {"base_url": url}},
        "programs": {"true": {"argv0": [true]}},
        "modules": {"lib": {"import": BENCH, "isolate": "inline", "allow": [f"{BENCH}.add"]}},
        "tools": [
            _tool("bound_function", function, CLOSED, SUM, ADD_ARGS),
            _tool("bound_process", program, NOTHING, TEXT, {}),
            _tool("bound_request", request, CLOSED, SUM, ADD_ARGS),
        ],
    }


def many_tools(count):
    """A manifest of so many tools with twelve parameters each."""
    types = ("string", "integer", "number", "boolean")
    rich = {f"p{index}": {"type": types[index % 4], "description": f"Parameter {index}."} for index in range(12)}
    schema = {"type": "object", "properties": rich, "required": ["p0"], "additionalProperties": False}
    queried = [{"parameter": name, "in": "query", "name": name} for name in rich]
    whole = manifest_of("http://127.0.0.1:1", "true")
    whole["tools"] = [
        {
            **_tool(
                f"tool_{index:05}",
                {"kind": "http", "server": "api", "method": "GET", "path": f"/t/{index}", "parameters": queried},
                schema,
                SUM,
                {"p0": "x"},
            ),
            "description": f"Tool {index} of many, which looks something up and gives what it found.",
        }
        for index in range(count)
    ]
    return whole


@asynccontextmanager
async def open_contestant():
    true = shutil.which("true")
    with tempfile.TemporaryDirectory(prefix="pegboard-bench-") as folder, api() as url:
        (File(folder) / f"{BENCH}.py").write_text("def add(a, b):\n    return a + b\n")
        sys.path.insert(0, folder)
        file = File(folder) / "tool.manifest.json"
        file.write_text(json.dumps(manifest_of(url, true)))

        import benchlib_add

        native = tool(name="native", run="inplace", read_only=True, output_schema=SUM)(_annotated(benchlib_add.add))
        # Trusted: what looking for words of untrusted sources costs is measured by `pegboard_flows`.
        config = {"plugins": {"manifest": {"files": [str(file)], "trusted": True}}}
        async with open_host(config) as host, httpx2.AsyncClient(trust_env=False) as client:
            host.add(native)
            session = host.session()

            def call(name, arguments):
                async def run():
                    result = await session.call(name, dict(arguments))
                    assert result.ok, result.error

                return run

            async def bare_request():
                answer = await client.get(f"{url}/sum", params=ADD_ARGS)
                assert answer.json()

            async def bare_process():
                await trio.run_process([true], capture_stdout=True, capture_stderr=True)

            async def bare_process_alone():
                subprocess.run([true], stdin=subprocess.DEVNULL, capture_output=True, check=True)

            yield Contestant(
                calls={
                    Path("native tool, in place", "function"): call("native", ADD_ARGS),
                    Path("manifest tool", "function"): call("bound_function", ADD_ARGS),
                    Path("subprocess.run", "process"): bare_process_alone,
                    Path("trio.run_process", "process"): bare_process,
                    Path("manifest tool", "process"): call("bound_process", {}),
                    Path("httpx2.AsyncClient", "request"): bare_request,
                    Path("manifest tool", "request"): call("bound_request", ADD_ARGS),
                }
            )


def _annotated(function):
    def add(a: float, b: float) -> float:
        """Add two numbers."""
        return function(a, b)

    function.__annotations__ = add.__annotations__
    function.__doc__ = add.__doc__
    return function
