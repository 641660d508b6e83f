"""What holds for every project: the same bytes again, every tool served and called, hostile values refused."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

from pegboard_manifest.projection import project
from pegboard_manifest.testing import contract_cases

COUNTS = {"sqlite-utils": 44, "csvkit": 13, "httpbin": 78, "kinto": 44, "humanize": 19, "textdistance": 39}
"""How many tools each has."""
ANSWERED = {"sqlite-utils": 17, "csvkit": 9, "httpbin": 55, "kinto": 10, "humanize": 19, "textdistance": 39}
"""How many of them answer the first of their examples, at least: others want a file, a record or a right that is not
there."""
UNASKED = {"get_brotli"}
"""Servers that pack an answer in a way that nobody asked for: httpbin does so on purpose."""
SEGMENTS = ("..", ".", "a/b", "a\\b", "%2e%2e", "%2F", "", "http://elsewhere.invalid/x")
"""No segment of a path."""
DASHED = ("--help", "-x", "--")
PATHS = ("..", "../x", "a/../../x", "/etc/passwd", "--help", "-x", "http://elsewhere.invalid/x")
"""No path of a tool."""
LONG = "a" * 1_000_000
MAX_SCHEMA_BYTES = 16_384
ERROR_META = "pegboard-mcp/error"
COVERED = {"sqlite-utils", "httpbin", "humanize"}
"""A project for each kind of binding, of which schemathesis tries every kind of value."""
UNASKED_OPERATIONS = "_(delay|drip)(_|$)"
"""Operations of httpbin that take as long as they are told; they are called over MCP."""
PLACE = ("in", "style", "explode", "pass", "coerce", "kind", "value")
"""Members of a binding's parameter or argument that say how a value is passed."""
OURS = {"read_result"}
"""What the host itself adds."""


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def size_of(schema: Any) -> int:
    return len(json.dumps(schema, ensure_ascii=False, separators=(",", ":")).encode())


def require_honest(tool: dict[str, Any], defs: dict[str, Any], error: dict[str, Any]) -> None:
    """An error is what the tool says itself: no fault of the host, and no good answer that could not be used."""
    assert jsonschema_rs.is_valid(project(tool["error_schema"], defs), error), (tool["name"], error)
    assert error["code"] != "INTERNAL_ERROR", (tool["name"], error)
    # A tool that ran and said no has a status (a program, a server), or the exception that it raised.
    details = error.get("details", {})
    assert details.get("executed") is not True or details.keys() & {"status", "exception"}, (tool["name"], error)
    assert details.get("reason") != "answer" or tool["name"] in UNASKED, (tool["name"], error)


def test_it_has_its_tools(built: Any) -> None:
    tools = built.manifest["tools"]
    assert len(tools) == COUNTS[built.name]
    assert [one["name"] for one in tools] == sorted(one["name"] for one in tools)
    assert len({one["id"] for one in tools}) == len(tools)
    assert all(one["examples"] for one in tools)


def test_another_folder_hash_seed_zone_and_day_give_the_same_bytes(
    one_of_a_kind: Any, run_init: Callable[..., Any], another_day: dict[str, str], tmp_path: Path
) -> None:
    built = one_of_a_kind
    other = tmp_path / "elsewhere" / built.folder.name
    other.parent.mkdir()
    env = {**built.env, "PYTHONHASHSEED": "4711", "TZ": "Pacific/Kiritimati", "COLUMNS": "200", "LANG": "tr_TR.UTF-8"}
    path = os.pathsep.join(filter(None, [another_day["PYTHONPATH"], built.env.get("PYTHONPATH")]))
    done = run_init(other, built.arguments, {**env, "PYTHONPATH": path}, other.parent, built.given)
    assert done.returncode == 0, done.stderr
    first, second = files_of(built.folder), files_of(other)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_it_is_as_it_was_built_and_as_its_source_is(one_of_a_kind: Any, run_program: Callable[..., Any]) -> None:
    built = one_of_a_kind
    command = [sys.executable, "-m", "pegboard", "toolgen", "check", str(built.folder)]
    done = run_program(command, cwd=built.work, env=built.env)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_of_this_machine_is_in_what_was_written(built: Any) -> None:
    said = [str(built.folder), str(built.work), os.path.expanduser("~"), sys.prefix, built.env["HOME"]]
    told = [(name, one) for name, content in files_of(built.folder).items() for one in said if one.encode() in content]
    assert told == []


def test_the_skill_is_valid_and_names_every_tool_with_its_example(
    built: Any, checkers: Path, run_program: Callable[..., Any]
) -> None:
    skills = [path.parent for path in built.folder.rglob("SKILL.md")]
    assert len(skills) == 1
    done = run_program([str(checkers / "agentskills"), "validate", str(skills[0])], cwd=built.work, env=built.env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (built.folder / "skill.md").is_file()
    whole = "".join(path.read_text(encoding="utf-8") for path in sorted(skills[0].rglob("*.md")))
    assert [name for name in built.tools if f'"name": "{name}"' not in whole] == []


def test_its_contract_tests_pass(built: Any) -> None:
    for case in contract_cases(built.folder / "tool.manifest.json", built.folder / "tests" / "golden"):
        case.run()


def test_its_contract_tests_pass_with_plain_pytest(one_of_a_kind: Any, run_program: Callable[..., Any]) -> None:
    built = one_of_a_kind
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(built.folder / "tests")]
    before = files_of(built.folder)
    env = {**built.env, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = run_program(command, cwd=built.folder, env=env)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert " passed" in done.stdout
    assert files_of(built.folder) == before


def test_a_contract_test_of_each_tool_fails_where_it_does_something_else(built: Any, tmp_path: Path) -> None:
    """A binding that was changed by hand gives other words, requests or calls than the golden pairs."""
    manifest, changed = built.manifest, set()
    for tool in manifest["tools"]:
        binding = tool["binding"]
        if binding["kind"] == "http":
            binding["path"] += "-other"
        elif binding["kind"] == "python":
            for one in binding["parameters"]:
                one.update({"pass": "keyword", "keyword": f"other_{one['parameter']}"})
        else:
            binding["arguments"] = [{"kind": "literal", "value": "other"}, *binding["arguments"]]
        golden = json.loads((built.folder / "tests" / "golden" / f"{tool['name']}.json").read_text(encoding="utf-8"))
        if binding.get("parameters", True) and "error" not in golden["calls"][0]:
            changed.add(f"{tool['name']}-call-0")
    (tmp_path / "tool.manifest.json").write_text(json.dumps(manifest))
    wrong = set()
    for case in contract_cases(tmp_path / "tool.manifest.json", built.folder / "tests" / "golden"):
        try:
            case.run()
        except AssertionError:
            wrong.add(case.name)
    assert changed
    assert changed - wrong == set()


def test_no_schema_is_large_or_points_nowhere(built: Any) -> None:
    manifest = built.manifest
    for one in manifest["tools"]:
        listed = [project(one[key], manifest.get("$defs", {})) for key in ("input_schema", "output_schema")]
        assert sum(map(size_of, listed)) <= MAX_SCHEMA_BYTES, one["name"]
        for schema in listed:
            jsonschema_rs.Draft202012Validator(schema, offline=True)
        assert listed[0]["additionalProperties"] is False, one["name"]


async def test_every_tool_is_listed_and_called_over_mcp(built: Any) -> None:
    """Each with its example: the answer is valid by the output schema, or an error by the error schema."""
    from mcp import Client, StdioServerParameters

    config = str(built.folder / "pegboard.toml")
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "pegboard", "--config", config, "serve"],
        env=built.env,
        cwd=str(built.work),
    )
    defs, tools = built.manifest.get("$defs", {}), built.tools
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
        answered = 0
        for name, one in sorted(tools.items()):
            assert size_of(listed[name].input_schema) + size_of(listed[name].output_schema) <= MAX_SCHEMA_BYTES
            answer = await client.call_tool(name, one["examples"][0]["input"])
            if answer.is_error:
                assert answer.content, name
                # What is too long to be sent whole is not an error of the call, and has none.
                error = (answer.meta or {}).get(ERROR_META)
                if error is None:
                    assert "read_result" in answer.content[-1].text, (name, answer)
                else:
                    require_honest(one, defs, error)
                continue
            answered += 1
            schema = project(one["output_schema"], defs)
            assert jsonschema_rs.is_valid(schema, answer.structured_content), (name, answer.structured_content)
        assert answered >= ANSWERED[built.name]


def test_every_answer_is_valid_or_an_error_by_the_error_schema(built: Any) -> None:
    """All examples, of which the first was called over MCP."""
    defs, tools = built.manifest.get("$defs", {}), built.tools
    calls = [(name, example["input"]) for name, one in tools.items() for example in one["examples"][1:]]
    calls = calls or [(name, one["examples"][0]["input"]) for name, one in list(tools.items())[:5]]
    for result in built.batch(calls):
        one = tools[result["name"]]
        if result["ok"]:
            schema = project(one["output_schema"], defs)
            assert jsonschema_rs.is_valid(schema, result["data"]), result
        else:
            require_honest(one, defs, result["error"])


def test_recorded_examples_are_answered_again_as_they_were(built: Any, tmp_path: Path) -> None:
    recorded = [
        (name, example)
        for name, one in built.tools.items()
        for example in one["examples"]
        if example.get("recorded") and "output" in example
    ]
    assert recorded
    # They were recorded one by one in an empty folder, without credentials.
    auth = (one for server in built.manifest.get("servers", {}).values() for one in server.get("auth", ()))
    nobody = {one["secret_env"]: "" for one in auth}
    some = recorded[:: -(-len(recorded) // 4)]
    results = built.copied(tmp_path).batch([(name, one["input"]) for name, one in some], parallel=1, **nobody)
    assert [one["data"] for one in results] == [example["output"] for _, example in some]


def _hostile(tool: dict[str, Any], kinds_seen: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls of a tool that must be refused before anything is sent or started; of a text of a million characters only
    one for each kind of parameter."""
    given, binding = tool["examples"][0]["input"], tool["binding"]
    yield "an unknown key", {**given, "no_such_parameter": 1}
    for parameter, schema in tool["input_schema"].get("properties", {}).items():
        value = _texts(schema)
        if value is None:
            continue
        bad = ["a\x00b"]
        if binding["kind"] == "http":
            places = {one["in"] for one in binding.get("parameters", ()) if one["parameter"] == parameter}
            bad += SEGMENTS if "path" in places else ()
            bad += ("a\r\nx-injected: 1",) if places & {"header", "cookie"} else ()
            if not places:  # a body may hold any text
                bad = []
        elif binding["kind"] == "subprocess":
            words = [one for one in binding["arguments"] if one.get("parameter") == parameter]
            bad += DASHED if any(one["kind"] == "positional" for one in words) else ()
            bad += PATHS if any(one.get("value", {}).get("format") == "path" for one in words) else ()
        else:
            kinds = {kind for one in binding["parameters"] if one["parameter"] == parameter for kind in _kinds(one)}
            bad = [*PATHS, "a\x00b"] if kinds == {"path"} else []
        if (kind := _kind_of(tool, parameter)) not in kinds_seen:
            kinds_seen.add(kind)
            bad.append(LONG)
        for one in bad:
            yield f"{parameter} = {one[:30]!r}", {**given, parameter: value(one)}


def _kind_of(tool: dict[str, Any], parameter: str) -> str:
    """Where a parameter goes, and which keywords its schema has: what decides how a value of it is treated."""
    binding = tool["binding"]
    listed = [*binding.get("parameters", ()), *binding.get("arguments", ())]
    places = [one for one in listed if one.get("parameter") == parameter]
    said = [{key: value for key, value in one.items() if key in PLACE} for one in places]
    return json.dumps([said, _keywords(tool["input_schema"]["properties"][parameter])], sort_keys=True)


def _keywords(schema: Any) -> Any:
    """A schema without what it says to people, and without its numbers, values and names."""
    if not isinstance(schema, dict):
        return isinstance(schema, list) and [_keywords(one) for one in schema]
    kept = {key: value for key, value in schema.items() if key not in ("title", "description", "default", "examples")}
    said = {key: value if key in ("type", "$ref") else _keywords(value) for key, value in kept.items()}
    inner = {json.dumps(one, sort_keys=True) for one in said.get("properties", {}).values()}
    return {**said, **({"properties": sorted(inner)} if inner else {}), **({"enum": True} if "enum" in said else {})}


def of_each_kind(tools: dict[str, dict[str, Any]]) -> list[str]:
    """The smallest tools that together have every kind of schema that parameters of the tools have."""
    seen: set[str] = set()
    chosen = []
    for name, one in sorted(tools.items(), key=lambda item: len(item[1]["input_schema"].get("properties", {}))):
        schemas = one["input_schema"].get("properties", {}).values()
        kinds = {json.dumps(_keywords(schema), sort_keys=True) for schema in schemas}
        if not chosen or kinds - seen:
            chosen.append(name)
            seen |= kinds
    return chosen


def _kinds(parameter: dict[str, Any]) -> list[str]:
    kinds = parameter.get("coerce", "none")
    return [kinds] if isinstance(kinds, str) else kinds


def _texts(schema: Any) -> Callable[[str], Any] | None:
    """How a parameter that takes texts is given one; None where it takes none."""
    if not isinstance(schema, dict) or "enum" in schema or "pattern" in schema:
        return None
    kinds = schema.get("type", ())
    if kinds == "array":
        return (lambda text: [text]) if _texts(schema.get("items", {})) else None
    return (lambda text: text) if "string" in ([kinds] if isinstance(kinds, str) else kinds) else None


def test_hostile_values_are_refused_before_anything_is_sent_or_started(built: Any, watch: Callable[..., Any]) -> None:
    seen: set[str] = set()
    tools = built.manifest["tools"]
    asked = [(one["name"], what, arguments) for one in tools for what, arguments in _hostile(one, seen)]
    before = files_of(built.work)
    with watch(built) as watched:
        results = built.batch([(name, arguments) for name, _, arguments in asked], **watched.env)
        wrong = [
            (name, what, result["ok"] or result["error"]["code"], str(result["error"])[:200])
            for (name, what, _), result in zip(asked, results, strict=True)
            if result["ok"] or result["error"]["code"] != "INVALID_INPUT"
        ]
        assert wrong == []
        assert watched.seen() == 0
        # A call that is well would have been seen.
        name, one = next((name, one) for name, one in built.tools.items() if one["category"] == "read")
        built.call(name, one["examples"][0]["input"], **watched.env)
        assert watched.seen() == 1
    assert files_of(built.work) == before


def test_reading_tools_alone_are_left_in_read_only_mode(built: Any, watch: Callable[..., Any]) -> None:
    tools = built.manifest["tools"]
    may_write = [one for one in tools if one["category"] in ("write", "admin") or one["risk"] == "high"]
    reads = [one for one in tools if one not in may_write]
    with watch(built) as watched:
        calls = [(one["name"], one["examples"][0]["input"]) for one in may_write]
        results = built.batch(calls, **watched.env, READ_ONLY="1")
        refused = {(one["error"]["code"], one["error"]["details"].get("reason")) for one in results}
        assert refused <= {("FORBIDDEN", "read_only")}
        assert watched.seen() == 0
    reads.sort(key=lambda one: "output" not in one["examples"][0])
    results = built.batch([(one["name"], one["examples"][0]["input"]) for one in reads[:2]], READ_ONLY="1")
    assert all(one["ok"] or one["error"]["details"].get("reason") != "read_only" for one in results)
    assert any(one["ok"] for one in results)


def test_schemathesis_finds_nothing_against_the_gateway(
    built: Any,
    checkers: Path,
    gateway_of: Callable[..., Any],
    stand_ins: Callable[[Any], dict[str, str]],
    run_program: Callable[..., Any],
    tmp_path: Path,
    thorough: bool,
) -> None:
    """The examples reach the programs and servers themselves; the cases of its coverage, and with --thorough those that
    it draws, reach programs that end at once, for a process a case would take minutes.

    The gateway judges arguments by their schema, whatever is behind it: some tools that have every kind of parameter
    stand for all of a project, and for the coverage one project for each kind of binding. --thorough asks all."""
    chosen = [*built.tools] if thorough else of_each_kind(built.tools)
    config = tmp_path / "schemathesis.toml"
    config.write_text(
        # 422: the arguments fit the schema, and the tool cannot do anything with them; a schema cannot say all.
        "[checks]\npositive_data_acceptance.expected-statuses = "
        '["2xx", "3xx", "401", "403", "404", "409", "422", "429", "5xx"]\n'
        # What a tool reaches may answer badly (502) or late (504), or break off (500); see below for the board itself.
        'not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "500", "502", "504"]\n'
    )
    unasked = ("--exclude-operation-id-regex", UNASKED_OPERATIONS) if built.name == "httpbin" else ()
    # In place more cases cost seconds; a process or a server for each would cost minutes.
    count = 10 if built.manifest.get("modules") else 2
    # To draw "any array" takes Hypothesis minutes.
    drawn = ("coverage", "fuzzing") if thorough and built.name != "textdistance" else ("coverage",)
    drawn = drawn if thorough or built.name in COVERED else ()
    instead = stand_ins(built) if drawn else {}
    runs: list[tuple[tuple[str, ...], dict[str, str]]] = [(("examples", *drawn), {})]
    if instead:  # examples of the other programs reach them without --thorough, too
        runs = [*([(("examples",), {})] if thorough else []), (drawn, instead)]
    for phases, env in runs:
        report = tmp_path / f"{phases[-1]}.json"
        with gateway_of(built, **env) as url:
            command = [
                *(str(checkers / "st"), "--config-file", str(config), "--no-color"),
                *("run", f"{url}/openapi.json", "--phases", ",".join(phases), "-n", str(count), "--seed", "1"),
                *(() if thorough else ("--include-operation-id-regex", f"^({'|'.join(chosen)})$")),
                *unasked,
                *("--workers", "1", "--request-timeout", "60", "--report", "har", "--report-har-path", str(report)),
            ]
            done = run_program(command, cwd=tmp_path, env=built.env, timeout_s=600)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        said = [one["response"] for one in json.loads(report.read_text())["log"]["entries"]]
        assert len(said) >= sum(not re.search(UNASKED_OPERATIONS, name) for name in chosen)
        assert [one["content"]["text"] for one in said if "INTERNAL_ERROR" in one["content"].get("text", "")] == []
