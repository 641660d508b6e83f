"""The kit behind contract tests: it passes what is right, and catches what is wrong."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
import sys

import pytest

from pegboard_manifest.canonical import fingerprint_of
from pegboard_manifest.document import ManifestError, of_document
from pegboard_manifest.testing import contract_cases, contract_tests, golden_of, outcome_of_response

RESULT = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
PROPERTIES = {"text": {"type": "string"}}
BINDINGS = {
    "python": {
        "kind": "python",
        "module": "m",
        "qualified_name": "kitlib.f",
        "parameters": [{"parameter": "text", "pass": "keyword", "coerce": "date"}],
        "exceptions": [{"type": "LookupError", "code": "NOT_FOUND"}, {"type": "OSError", "code": "CONFLICT"}],
    },
    "program": {
        "kind": "subprocess",
        "program": "p",
        "arguments": [{"kind": "option", "parameter": "text", "flag": "--text", "style": "equals"}],
        "output": {"parser": "json"},
        "exits": [{"status": 4, "code": "NOT_FOUND"}, {"status": 5, "stderr": "x", "code": "CONFLICT"}],
    },
    "http": {
        "kind": "http",
        "server": "s",
        "method": "GET",
        "path": "/x/{text}",
        "parameters": [{"parameter": "text", "in": "path", "name": "text"}],
        "statuses": {"404": "CONFLICT", "5XX": "RATE_LIMITED", "418": "FORBIDDEN"},
    },
}
ERROR = {
    "type": "object",
    "properties": {"code": {"type": "string"}, "message": {"type": "string"}, "details": {"type": "object"}},
    "required": ["code", "message"],
}


def a_document():
    tools = [
        {
            "id": name,
            "name": name,
            "description": "Do it.",
            "category": "read",
            "risk": "low",
            "idempotency": "idempotent",
            "input_schema": {
                "type": "object",
                "properties": PROPERTIES,
                "required": ["text"],
                "additionalProperties": False,
            },
            "output_schema": RESULT,
            "errors": [{"code": "INVALID_INPUT"}],
            "error_schema": {"$ref": "#/$defs/error"},
            "examples": [{"input": {"text": "2026-01-31"}, "output": {"result": "yes"}}],
            "binding": binding,
        }
        for name, binding in BINDINGS.items()
    ]
    document = {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "Kit", "runtime": "python", "execution_model": "mixed"},
        "modules": {"m": {"import": "kitlib"}},
        "programs": {"p": {"argv0": ["no-such-program", "sub"]}},
        "servers": {"s": {"base_url": "http://127.0.0.1:1/v1"}},
        "$defs": {"error": ERROR},
        "tools": tools,
    }
    for tool in tools:
        tool["fingerprint"] = fingerprint_of(tool, document)
    return copy.deepcopy(document)


@pytest.fixture
def folder(tmp_path):
    """A folder with a manifest and golden files that are right."""
    document = a_document()
    manifest = of_document(document, tmp_path)
    (tmp_path / "tool.manifest.json").write_text(json.dumps(document))
    (tmp_path / "golden").mkdir()
    for name, entry in manifest.tools.items():
        (tmp_path / "golden" / f"{name}.json").write_text(json.dumps(golden_of(entry, manifest)))
    return tmp_path


def failing(folder):
    """The names of the cases that fail, with what they say."""
    said = {}
    for case in contract_cases(folder / "tool.manifest.json", folder / "golden"):
        try:
            case.run()
        except AssertionError as problem:
            said[str(case)] = str(problem)
    return said


def change(file, edit):
    document = json.loads(file.read_text())
    edit(document)
    file.write_text(json.dumps(document))


def test_what_is_right_passes(folder):
    cases = [str(case) for case in contract_cases(folder / "tool.manifest.json", folder / "golden")]
    assert failing(folder) == {}
    assert {"python-schemas", "program-examples", "http-errors", "http-fingerprint", "http-call-0"} <= set(cases)
    assert len(set(cases)) == len(cases)
    assert "kitlib" not in sys.modules


def test_golden_pairs_say_what_would_be_started_sent_and_called(folder):
    golden = {name: json.loads((folder / "golden" / f"{name}.json").read_text()) for name in BINDINGS}
    assert golden["program"]["calls"][0]["words"] == ["no-such-program", "sub", "--text=2026-01-31"]
    assert golden["http"]["calls"][0]["request"]["url"] == "http://127.0.0.1:1/v1/x/2026-01-31"
    assert golden["python"]["calls"][0]["call"] == {"args": [], "kwargs": {"text": "datetime.date(2026, 1, 31)"}}
    assert all(one["responses"][0]["data"] == {"result": "yes"} for one in golden.values())
    errors = {one["response"].get("status"): one["error"] for one in golden["http"]["responses"][1:]}
    assert (errors[404], errors[410], errors[500], errors[418]) == (
        "CONFLICT",
        "NOT_FOUND",
        "RATE_LIMITED",
        "FORBIDDEN",
    )
    assert str(folder) not in json.dumps(golden)


def tool_change(index, **changes):
    return lambda document: document["tools"][index].update(changes)


WRONG = {
    "no schema": (tool_change(0, output_schema={"type": "text"}), "python-schemas"),
    "an example that does not fit": (tool_change(1, examples=[{"input": {"text": 3}}]), "program-examples"),
    "an output that does not fit": (
        tool_change(1, examples=[{"input": {"text": "x"}, "output": {"result": 3}}]),
        "program-examples",
    ),
    "an error that does not fit": (
        tool_change(2, error_schema={"type": "object", "properties": {"code": {"enum": ["TIMEOUT"]}}}),
        "http-errors",
    ),
    "what was changed": (tool_change(2, description="Do more."), "http-fingerprint"),
    "another binding": (
        tool_change(2, binding=BINDINGS["http"] | {"path": "/y/{text}"}),
        "http-call-0",
    ),
    "another table": (tool_change(2, binding=BINDINGS["http"] | {"statuses": {}}), "http-response-4"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_caught(folder, what):
    edit, case = WRONG[what]
    change(folder / "tool.manifest.json", edit)
    assert case in failing(folder)


def test_a_golden_file_of_a_tool_that_is_gone_is_caught(folder):
    change(folder / "golden" / "http.json", lambda golden: golden.update(tool="gone"))
    assert failing(folder).keys() == {"gone-golden", "http-golden"}


def test_a_schema_that_lets_an_unknown_parameter_through_is_caught(folder):
    schema = {
        "type": "object",
        "properties": PROPERTIES,
        "unevaluatedProperties": False,
        "anyOf": [{}, {"additionalProperties": True}],
    }
    change(folder / "tool.manifest.json", tool_change(0, input_schema=schema))
    assert "python-schemas" in failing(folder)


@pytest.mark.parametrize("content", [None, "{}", '{"calls": [], "responses": []}'])
def test_a_tool_without_golden_pairs_is_caught(folder, content):
    file = folder / "golden" / "http.json"
    file.unlink() if content is None else change(
        file, lambda golden: (golden.clear(), golden.update(json.loads(content), tool="http"))
    )
    assert failing(folder).keys() == {"http-golden"}
    assert "golden/http.json is not there" in failing(folder)["http-golden"]


def test_a_folder_of_golden_files_that_is_lost_is_caught(folder):
    shutil.rmtree(folder / "golden")
    assert failing(folder).keys() == {f"{name}-golden" for name in BINDINGS}


def test_hostile_inputs_are_golden_refusals(folder):
    def add(golden):
        golden["calls"].append({"input": {"text": "a/../b"}, "error": "INVALID_INPUT"})

    change(folder / "golden" / "http.json", add)
    assert failing(folder) == {}


def test_a_manifest_that_is_wrong_is_not_a_set_of_cases(folder):
    change(folder / "tool.manifest.json", lambda document: document.update(surprise=1))
    with pytest.raises(ManifestError, match="surprise"):
        contract_tests(folder / "tool.manifest.json")


def test_exceptions_and_statuses_become_what_the_tables_say():
    entries = {tool["name"]: tool for tool in a_document()["tools"]}
    assert outcome_of_response(entries["python"], {"exception": "KeyError"}) == {"error": "NOT_FOUND"}
    assert outcome_of_response(entries["python"], {"value": 3}) == {"data": {"result": 3}}
    assert outcome_of_response(entries["program"], {"status": 5, "stdout": "", "stderr": "x"}) == {"error": "CONFLICT"}
    assert outcome_of_response(entries["program"], {"status": 0, "stdout": "[1]"}) == {"data": {"result": [1]}}


@pytest.mark.parametrize(
    ("output", "data", "stdout"),
    [
        ({"parser": "text"}, {"result": "a\nb"}, "a\nb"),
        ({"parser": "json"}, {"a": [1, None]}, '{"a": [1, null]}'),
        ({"parser": "jsonl"}, {"result": [{"a": 1}, 2]}, '{"a": 1}\n2\n'),
        ({"parser": "csv", "delimiter": ";"}, {"result": [{"a": "1;2", "b": "x"}]}, 'a;b\n"1;2";x\n'),
        ({"parser": "csv"}, {"result": []}, ""),
        ({"parser": "csv"}, {"result": [{"a": "1"}, {"b": "2"}]}, None),
        ({"parser": "text"}, {"result": "a", "cut": True}, None),
        ({"parser": "jsonl"}, {"result": 3}, None),
    ],
)
def test_a_recorded_output_of_a_program_is_a_golden_response_whatever_its_parser(output, data, stdout):
    document = a_document()
    entry = document["tools"][1]
    entry["binding"] = {**entry["binding"], "output": output}
    entry["examples"] = [{"input": {"text": "x"}, "output": data}]
    responses = golden_of(entry, of_document(document, "."))["responses"]
    written = [one for one in responses if "data" in one]
    expected = [{"response": {"status": 0, "stdout": stdout, "stderr": ""}, "data": data}]
    assert written == ([] if stdout is None else expected)


def test_a_recorded_text_of_a_server_is_a_golden_response():
    document = a_document()
    entry = document["tools"][2]
    entry["binding"] = {**entry["binding"], "output": {"parser": "text"}}
    response = {"status": 200, "headers": {"content-type": "text/plain"}, "body": "yes"}
    made = golden_of(entry, of_document(document, "."))["responses"][0]
    assert made == {"response": response, "data": {"result": "yes"}}


def test_the_ends_of_a_program_are_golden_responses_whatever_its_table_looks_for():
    document = a_document()
    entry = document["tools"][1]
    exits = [
        {"status": 2, "code": "CONFLICT"},
        {"stderr": r"(?i)\b(?:no such|not found)\b", "code": "NOT_FOUND"},
        {"status": 7, "stderr": "locked", "code": "TIMEOUT"},
        {"stderr": "^[0-9]+$", "code": "FORBIDDEN"},
    ]
    entry["binding"] = {**entry["binding"], "exits": exits, "success": [0, 1]}
    responses = golden_of(entry, of_document(document, "."))["responses"]
    ends = [(one["response"]["status"], one["response"]["stderr"], one["error"]) for one in responses if "error" in one]
    assert ends == [
        (2, "", "CONFLICT"),
        (7, "", "UPSTREAM_ERROR"),
        (3, "no such", "NOT_FOUND"),
        (7, "locked", "TIMEOUT"),
    ]
    assert outcome_of_response(entry, {"status": 3, "stdout": "", "stderr": "Not found: x"}) == {"error": "NOT_FOUND"}


def test_plain_pytest_collects_and_runs_it(folder):
    (folder / "test_it.py").write_text(
        "from pathlib import Path\n"
        "from pegboard_manifest.testing import contract_tests\n"
        "HERE = Path(__file__).parent\n"
        'test_contract = contract_tests(HERE / "tool.manifest.json", HERE / "golden")\n'
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:trio",
        "--rootdir",
        ".",
        "test_it.py",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
