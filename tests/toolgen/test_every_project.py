"""What holds for every project: the same bytes again, every tool served and called, hostile values refused."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from pegboard_manifest.projection import project

COUNTS = {"sqlite-utils": 40, "csvkit": 14, "httpbin": 60, "kinto": 44, "humanize": 15, "textdistance": 38}
"""The least number of tools of each."""
SEGMENTS = ("..", ".", "a/b", "a\\b", "%2e%2e", "%2F", "\x00", "")
"""No segment of a path."""
DASHED = ("--help", "-x", "--")
OURS = {"read_result"}
"""What the host itself adds."""


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_it_has_its_tools(built: Any) -> None:
    tools = built.manifest["tools"]
    assert len(tools) >= COUNTS[built.name]
    assert [one["name"] for one in tools] == sorted(one["name"] for one in tools)
    assert len({one["id"] for one in tools}) == len(tools)


def test_another_folder_and_another_hash_seed_give_the_same_bytes(
    built: Any, run_init: Callable[..., Any], tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere" / built.folder.name
    other.parent.mkdir()
    if (hints := built.folder / "toolgen.toml").exists():
        other.mkdir()
        (other / "toolgen.toml").write_bytes(hints.read_bytes())
    env = {**built.env, "PYTHONHASHSEED": "4711", "TZ": "Pacific/Kiritimati", "COLUMNS": "200"}
    done = run_init(other, built.arguments, env, other.parent)
    assert done.returncode == 0, done.stderr
    first, second = files_of(built.folder), files_of(other)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_it_is_as_it_was_built(built: Any, run_program: Callable[..., Any]) -> None:
    command = [sys.executable, "-m", "pegboard", "toolgen", "check", str(built.folder)]
    done = run_program(command, cwd=built.work, env=built.env)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_of_this_machine_is_in_what_was_written(built: Any) -> None:
    said = [str(built.folder), str(built.work), os.path.expanduser("~"), sys.prefix, built.env["HOME"]]
    told = [(name, one) for name, content in files_of(built.folder).items() for one in said if one.encode() in content]
    assert told == []


def test_the_skill_is_valid(built: Any, checkers: Path, run_program: Callable[..., Any]) -> None:
    skills = [path.parent for path in built.folder.rglob("SKILL.md")]
    assert len(skills) == 1
    done = run_program([str(checkers / "agentskills"), "validate", str(skills[0])], cwd=built.work, env=built.env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (built.folder / "skill.md").is_file()


def test_its_contract_tests_pass_with_plain_pytest(built: Any, run_program: Callable[..., Any]) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(built.folder / "tests")]
    done = run_program(command, cwd=built.folder, env=built.env)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert " passed" in done.stdout


def test_no_schema_is_large_or_points_nowhere(built: Any) -> None:
    manifest = built.manifest
    for one in manifest["tools"]:
        shown = project(one["input_schema"], manifest.get("$defs", {}))
        assert len(json.dumps(shown, separators=(",", ":")).encode()) <= 16_384, one["name"]
        jsonschema_rs.Draft202012Validator(shown, offline=True)
        jsonschema_rs.Draft202012Validator(project(one["output_schema"], manifest.get("$defs", {})), offline=True)


async def test_every_tool_is_listed_and_called_over_mcp(built: Any) -> None:
    """Each with its example: the answer is valid by the output schema, or an error."""
    from mcp import Client, StdioServerParameters

    config = str(built.folder / "pegboard.toml")
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "pegboard", "--config", config, "serve"],
        env=built.env,
        cwd=str(built.work),
    )
    manifest, tools = built.manifest, built.tools
    async with Client(server) as client:
        listed: dict[str, Any] = {}
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            listed |= {one.name: one for one in page.tools}
            cursor = page.next_cursor
            if not cursor:
                break
        assert listed.keys() - OURS == tools.keys()
        for name, one in sorted(tools.items()):
            answer = await client.call_tool(name, one["examples"][0]["input"])
            if answer.is_error:
                assert answer.content, name
                continue
            schema = project(one["output_schema"], manifest.get("$defs", {}))
            assert jsonschema_rs.is_valid(schema, answer.structured_content), (name, answer.structured_content)


def test_every_answer_is_valid_or_an_error_by_the_error_schema(built: Any) -> None:
    manifest = built.manifest
    defs = manifest.get("$defs", {})
    calls = [(one["name"], example["input"]) for one in manifest["tools"] for example in one["examples"]]
    tools = built.tools
    answered = 0
    for result in built.batch(calls):
        one = tools[result["name"]]
        if result["ok"]:
            answered += 1
            schema = project(one["output_schema"], defs)
            assert result["data"] is None or jsonschema_rs.is_valid(schema, result["data"]), result
        else:
            schema = project(one["error_schema"], defs)
            assert jsonschema_rs.is_valid(schema, result["error"]), result
            assert result["error"]["code"] != "INTERNAL_ERROR", result
    assert answered


def _hostile(tool: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Calls of a tool that must be refused before anything is sent or started."""
    given, binding = tool["examples"][0]["input"], tool["binding"]
    calls = [("an unknown key", {**given, "no_such_parameter": 1})]
    if binding["kind"] == "http":
        for one in binding["parameters"]:
            if one["in"] == "path" and _is_text(tool, one["parameter"]):
                calls += [(f"segment {value!r}", {**given, one["parameter"]: value}) for value in SEGMENTS]
            elif one["in"] in ("header", "cookie") and _is_text(tool, one["parameter"]):
                calls += [("a header", {**given, one["parameter"]: "a\r\nx-injected: 1"})]
            if _is_text(tool, one["parameter"]):
                calls += [("1 MB", {**given, one["parameter"]: "a" * 1_000_000})]
    if binding["kind"] == "subprocess":
        guarded = True
        for one in binding["arguments"]:
            guarded = guarded and one["kind"] != "terminator"
            parameter = one.get("parameter")
            if parameter is None or not _is_text(tool, parameter):
                continue
            calls += [("NUL", {**given, parameter: "a\x00b"}), ("1 MB", {**given, parameter: "a" * 1_000_000})]
            if one["kind"] == "positional" and guarded:
                calls += [(f"dashed {value!r}", {**given, parameter: value}) for value in DASHED]
            if one.get("value", {}).get("format") == "path":
                calls += [(f"path {value!r}", {**given, parameter: value}) for value in ("..", "../x", "/etc/passwd")]
    return calls


def _is_text(tool: dict[str, Any], parameter: str) -> bool:
    schema = tool["input_schema"]["properties"][parameter]
    return isinstance(schema, dict) and schema.get("type") == "string" and "enum" not in schema


def test_hostile_values_are_refused(built: Any, tmp_path: Path) -> None:
    """Before anything is sent or started: the answer is INVALID_INPUT (or FORBIDDEN, where a permission decides)."""
    asked = [(one["name"], what, arguments) for one in built.manifest["tools"] for what, arguments in _hostile(one)]
    before = files_of(built.work)
    results = built.batch([(name, arguments) for name, _, arguments in asked])
    wrong = [
        (name, what, result["ok"] or result["error"]["code"], str(result["error"])[:200])
        for (name, what, _), result in zip(asked, results, strict=True)
        if result["ok"] or result["error"]["code"] not in ("INVALID_INPUT", "FORBIDDEN")
    ]
    assert wrong == []
    assert files_of(built.work) == before


def test_reading_tools_alone_are_left_in_read_only_mode(built: Any) -> None:
    tools = built.manifest["tools"]
    writes = [one for one in tools if one["category"] in ("write", "admin") or one["risk"] == "high"]
    if not writes:
        pytest.skip("it only reads")
    results = built.batch([(one["name"], one["examples"][0]["input"]) for one in writes[:10]], READ_ONLY="1")
    assert {(one["error"]["code"], one["error"]["details"].get("reason")) for one in results} == {
        ("FORBIDDEN", "read_only")
    }


def test_schemathesis_finds_nothing_against_the_gateway(
    built: Any, checkers: Path, gateway_of: Callable[..., Any], run_program: Callable[..., Any], tmp_path: Path
) -> None:
    config = tmp_path / "schemathesis.toml"
    # 422: the arguments fit the schema, and the tool cannot do anything with them; a schema cannot say all.
    config.write_text(
        "[checks]\npositive_data_acceptance.expected-statuses = "
        '["2xx", "3xx", "401", "403", "404", "409", "422", "429", "5xx"]\n'
        # What a tool reaches may answer badly (502) or late (504); the board itself never fails (500).
        'not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "502", "504"]\n'
    )
    with gateway_of(built) as url:
        command = [
            *(str(checkers / "st"), "--config-file", str(config), "--no-color"),
            *("run", f"{url}/openapi.json", "-n", "4", "--seed", "1", "--workers", "2"),
            *("--phases", "examples,coverage,fuzzing"),
        ]
        done = run_program(command, cwd=tmp_path, env=built.env, timeout_s=240)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
