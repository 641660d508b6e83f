"""Manifests that mean no good: each is a `ManifestError`, or a manifest whose tools are right, in bounded time."""

from __future__ import annotations

import json
import os
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import load_board
from pegboard.testing import assert_error
from pegboard_jsonschema_rs import plugin as jsonschema_rs_plugin
from pegboard_manifest import plugin
from pegboard_manifest.bindings._coerce import coercion_of
from pegboard_manifest.document import ManifestError, load, of_document, parse
from pegboard_manifest.hygiene import OutsideError, Roots
from pegboard_manifest.projection import project
from pegboard_manifest.testing import outcome_of_response
from pegboard_manifest.texts import clean_schema
from pegboard_manifest.tools import tool_of

HIDDEN_TEXT = "\x1b[31m\x9b2J\u202e\u200b\U000e0041\x07\x00"


def an_object(**properties):
    return {"type": "object", "properties": properties, "additionalProperties": False}


def a_tool(binding, schema=None, **more):
    return {
        "id": "x:1",
        "name": "one",
        "description": "Do it.",
        "category": "read",
        "risk": "low",
        "idempotency": "idempotent",
        "input_schema": schema or an_object(),
        "examples": [{"input": {}}],
        "binding": binding,
        **more,
    }


def a_document(*tools, **more):
    return {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "Faults", "runtime": "python", "execution_model": "mixed"},
        "tools": list(tools),
        **more,
    }


def python_tool(schema=None, **more):
    names = (schema or an_object())["properties"]
    parameters = [{"parameter": name, "pass": "keyword"} for name in names]
    binding = {"kind": "python", "module": "m", "qualified_name": "json.dumps", "parameters": parameters}
    return a_tool(binding, schema, **more)


def program_tool(*arguments, schema=None, **binding):
    said = {"kind": "subprocess", "program": "p", "arguments": list(arguments), "output": {"parser": "text"}, **binding}
    return a_tool(said, schema)


def http_tool(**binding):
    return a_tool({"kind": "http", "server": "s", "method": "GET", "path": "/x", **binding})


def faults_of(document):
    with pytest.raises(ManifestError) as caught:
        of_document(document, ".")
    return [str(fault) for fault in caught.value.faults] or [str(caught.value)]


MODULES = {"m": {"import": "json"}}


# references


@pytest.mark.parametrize(
    "defs",
    [
        {"x": {"$ref": "#/$defs/x"}},
        {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}},
        {"x": {"anyOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/x"}]}},
        {"x": {"allOf": [{"$ref": "#/$defs/y"}]}, "y": {"not": {"$ref": "#/$defs/x"}}},
    ],
)
def test_circles_without_a_descent_cost_their_tool_alone(tmp_path, defs):
    document = a_document(
        python_tool(an_object(a={"$ref": "#/$defs/x"})),
        python_tool(id="x:2", name="two"),
        modules=MODULES,
        **{"$defs": defs},
    )
    file = tmp_path / "m.json"
    file.write_text(json.dumps(document))
    board = load_board({"plugins": {"manifest": {"files": [str(file)]}}}, [plugin, jsonschema_rs_plugin])
    assert list(board.tools) == ["two"]
    assert any("circle" in finding.why for finding in board.findings())


@pytest.mark.parametrize("circle", [False, True])
def test_rows_of_definitions_are_looked_at_once_each(circle, lines_run):
    def cost(count):
        last = {"$ref": "#/$defs/x0"} if circle else {"type": "string"}
        defs = {f"x{n}": {"items": {"$ref": f"#/$defs/x{n + 1}"}} for n in range(count)} | {f"x{count}": last}
        made = []
        lines = lines_run(lambda: made.append(project(an_object(a={"$ref": "#/$defs/x0"}), defs)))
        assert set(made[0]["$defs"]) <= set(defs)
        return lines

    assert cost(4_000) < 2.2 * cost(2_000)


def test_circles_stay_and_what_leads_to_them_may_stand_in_place():
    defs = {
        "before": {"type": "array", "items": {"$ref": "#/$defs/circle"}},
        "circle": {"type": "object", "properties": {"next": {"$ref": "#/$defs/other"}}},
        "other": {"type": "object", "properties": {"next": {"$ref": "#/$defs/circle"}}},
        "leaf": {"type": "string"},
    }
    made = project(an_object(a={"$ref": "#/$defs/before"}, b={"$ref": "#/$defs/leaf"}), defs)
    assert list(made["$defs"]) == ["circle", "other"]
    assert made["properties"] == {"a": defs["before"], "b": defs["leaf"]}


# texts


def test_hidden_signs_are_nowhere_a_reader_looks(tmp_path):
    """Invariant: nothing that steers a terminal or hides from a reader is in what a board shows of a tool."""
    schema = an_object(
        default={"type": "string", "description": f"a{HIDDEN_TEXT}b"},
        examples={"type": "object", "properties": {"enum": {"title": f"a{HIDDEN_TEXT}b"}}},
        const={"type": "array", "items": {"description": f"a{HIDDEN_TEXT}b"}},
    )
    tool = python_tool(schema, description=f"a{HIDDEN_TEXT}b", title=f"a{HIDDEN_TEXT}b")
    tool["examples"] = [{"input": {}, "description": f"a{HIDDEN_TEXT}b"}]
    manifest = of_document(a_document(tool, modules=MODULES), tmp_path)
    made = tool_of(manifest.tools["one"], manifest)
    shown = json.dumps([made.description, made.title, made.examples[0].description], ensure_ascii=False)
    shown += json.dumps(clean_schema(schema), ensure_ascii=False) + str(made.input_schema) + made.category
    assert not set(HIDDEN_TEXT) - set("[312mJ") & set(shown)


def test_a_project_is_called_by_what_is_seen_of_its_name(tmp_path):
    document = a_document(python_tool(), modules=MODULES)
    document["project"] = {**document["project"], "name": f"a{HIDDEN_TEXT}\r\nb"}
    (tmp_path / "m.json").write_text(json.dumps(document))
    board = load_board({"plugins": {"manifest": {"files": [str(tmp_path / "m.json")]}}}, [plugin])
    assert board.tools["one"].origin.source == "manifest:a b"
    assert board.tools["one"].category == "a-b"


def test_a_property_may_have_the_name_of_a_keyword_and_data_stays_as_it_is():
    schema = {"properties": {"enum": {"enum": ["\u200b"], "default": "\u200b", "description": "\u200bx"}}}
    assert clean_schema(schema) == {
        "properties": {"enum": {"enum": ["\u200b"], "default": "\u200b", "description": "x"}}
    }


def test_messages_of_a_manifest_are_cleaned():
    exits = [{"status": 1, "code": "CONFLICT", "message": f"a{HIDDEN_TEXT}b"}]
    outcome = {"kind": "subprocess", "output": {"parser": "text"}, "exits": exits}
    from pegboard_manifest.bindings.subprocess.exits import error_of

    assert error_of(outcome, 1, "").message == "ab"
    from pegboard_manifest.bindings._exceptions import compile_errors

    for code in ("CONFLICT", "INVALID_INPUT"):
        error = compile_errors([{"type": "ValueError", "code": code, "message": f"a{HIDDEN_TEXT}b"}], "f")(
            ValueError("x")
        )
        assert error.message in ("ab", "ab: x")


# names, ids, words


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (a_document(python_tool(), python_tool(id="x:2"), modules=MODULES), "one that tools[0] does not have"),
        (a_document(python_tool(), python_tool(name="two"), modules=MODULES), "one that tools[0] does not have"),
        (a_document(python_tool(name="../up"), modules=MODULES), "tools[0].name"),
        (a_document(python_tool(name="__class__ "), modules=MODULES), "tools[0].name"),
        (a_document(python_tool(), modules={"m": {"import": "os.path..x"}}), "modules"),
        (a_document(python_tool(), modules={"m": {"import": "_thread"}}), "public name"),
        (a_document(python_tool(), modules={"m": {"import": "json", "allow": ["os.system"]}}), "within json"),
        (a_document(python_tool(), modules={"m": {"import": "json", "allow": []}}), "allow list"),
        (a_document(program_tool({"kind": "literal", "value": "a\x00b"}), programs={"p": {"argv0": ["x"]}}), "NUL"),
        (a_document(program_tool(), programs={"p": {"argv0": ["x\x00"]}}), "NUL"),
        (a_document(program_tool(), programs={"p": {"argv0": ["x"], "cwd": "\x00"}}), "NUL"),
        (a_document(program_tool(), programs={"p": {"argv0": ["x"], "allowed_paths": ["a\x00"]}}), "NUL"),
        (a_document(program_tool(), programs={"p": {"argv0": ["x"], "set_environment": {"A": "\x00"}}}), "NUL"),
        (
            a_document(
                program_tool(exits=[{"stderr": "(?=(a+)+$)", "code": "CONFLICT"}]), programs={"p": {"argv0": ["x"]}}
            ),
            "look-around",
        ),
        (
            a_document(
                program_tool(exits=[{"stderr": "((a{999}){999}){999}", "code": "CONFLICT"}]),
                programs={"p": {"argv0": ["x"]}},
            ),
            "regular expression",
        ),
        (
            a_document(
                program_tool(
                    {"kind": "option", "parameter": "many", "flag": "--many", "style": "separate"},
                    {"kind": "positional", "parameter": "file"},
                    schema=an_object(many={"type": "array"}, file={"type": "string"}),
                ),
                programs={"p": {"argv0": ["x"]}},
            ),
            "nargs, or a terminator",
        ),
    ],
)
def test_what_no_call_could_mean_is_a_fault(document, says):
    assert any(says in fault for fault in faults_of(document))


@pytest.mark.parametrize(
    "more",
    [
        [{"kind": "terminator"}, {"kind": "positional", "parameter": "file"}],
        [{"kind": "option", "parameter": "file", "flag": "--file", "style": "equals"}],
    ],
)
def test_a_list_that_ends_at_a_sign_is_not_a_fault(more):
    document = a_document(
        program_tool(
            {"kind": "option", "parameter": "many", "flag": "--many", "style": "separate"},
            *more,
            schema=an_object(many={"type": "array"}, file={"type": "string"}),
        ),
        programs={"p": {"argv0": ["x"]}},
    )
    assert of_document(document, ".").tools.keys() == {"one"}


@pytest.mark.parametrize(
    "url",
    [
        "http://user@example.com", "http://user:secret@example.com", "https://example.com@evil.example",
        "http://example.com\\@evil.example", "http://exa\u24dcple.com", "http://ex\u0430mple.com", "http://127.1",
        "http://2130706433", "http://017700000001", "http://[::1", "http://[fe80::1%25eth0]", "http://example.com:0",
        "http://example.com:99999", "http://example.com:80:80", "http://example.com/../x", "http://example.com/%2e%2e/x",
        "http://example.com//x", "http://example.com/x?y", "http://example.com/#x", "http://.example.com",
        "http://example.com.", "http://", "http:///x", "file:///etc/passwd", "http://exam ple.com",
        "http://example.com\r\nX: y", "http://\u2100.com", "http://example.com\uff0fevil", "HTTP://[::ffff:1.2.3.4.5]",
    ],
)  # fmt: skip
def test_base_urls_that_could_mean_another_host_are_refused(url):
    document = a_document(http_tool(), servers={"s": {"base_url": url}})
    said = faults_of(document)
    assert any("base_url" in fault for fault in said)
    assert not any("secret" in fault for fault in said)


@pytest.mark.parametrize(
    ("hosts", "fits"),
    [
        ([], False), (["example.com"], True), (["EXAMPLE.com"], True), (["example.com:443"], True),
        (["example.com:80"], False), (["*.com"], False), (["*"], False), (["xample.com"], False),
        (["example.com.evil.example"], False), (["evil.example/example.com"], False), (["example.com@evil"], False),
        (["https://example.com"], False), (["example.com:"], False), (["example.com:99999"], False),
    ],
)  # fmt: skip
def test_allowed_hosts_mean_what_they_say(hosts, fits):
    document = a_document(http_tool(), servers={"s": {"base_url": "https://example.com/api", "allowed_hosts": hosts}})
    if fits:
        assert of_document(document, ".").tools.keys() == {"one"}
    else:
        assert faults_of(document)


@pytest.mark.parametrize("name", ["Authorization", "x-forwarded-for", "Host", "Transfer-Encoding", "X\r\nY", ":path"])
def test_headers_that_frame_a_request_are_no_parameters(name):
    schema = an_object(a={"type": "string"})
    tool = http_tool(parameters=[{"parameter": "a", "in": "header", "name": name}]) | {"input_schema": schema}
    document = a_document(tool, servers={"s": {"base_url": "https://example.com"}})
    assert any("header" in fault for fault in faults_of(document))


# files


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_a_pipe_and_a_device_are_no_manifests(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ManifestError, match="is not a file"):
            load(file)


def test_a_manifest_is_read_no_further_than_its_bound(tmp_path, monkeypatch):
    monkeypatch.setattr("pegboard_manifest.document.MAX_BYTES", 1000)
    (tmp_path / "m.json").write_bytes(b" " * 1001)
    with pytest.raises(ManifestError, match="larger than 1,000 bytes"):
        load(tmp_path / "m.json")


def test_a_manifest_is_not_written_whatever_it_is_called(tmp_path):
    tool = program_tool(
        {"kind": "positional", "parameter": "file", "value": {"format": "path"}},
        schema=an_object(file={"type": "string"}),
    )
    file = tmp_path / "called-otherwise.json"
    file.write_text(json.dumps(a_document(tool, programs={"p": {"argv0": ["x"]}})))
    (tmp_path / "link").symlink_to(file)
    manifest = load(file)
    roots = Roots(tmp_path, ["."], kept=manifest.file)
    for path in ("called-otherwise.json", "./called-otherwise.json", "link"):
        with pytest.raises(OutsideError):
            roots.resolve(path)
        assert roots.resolve(path, write=False) == "./called-otherwise.json"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just(HIDDEN_TEXT),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=10,
    ),
    st.sampled_from(["tools", "servers", "programs", "modules", "$defs", "project", "provenance", "manifest_version"]),
)
@settings(max_examples=150)
def test_any_part_is_right_or_a_fault(value, part):
    """Invariant: whatever stands in a part of a manifest, there is a manifest or a `ManifestError`."""
    document = a_document(python_tool(), modules=MODULES) | {part: value}
    try:
        manifest = parse(json.dumps(document), ".")
    except ManifestError:
        return
    for entry in manifest.tools.values():
        assert tool_of(entry, manifest).name == entry["name"]


def test_a_document_that_nests_without_end_is_refused(in_time):
    for text in ("[" * 5_000_000, '{"a":' * 1_000_000, '{"manifest_version": "1.0", "tools": ' + "[" * 1_000_000):
        with in_time(), pytest.raises(ManifestError):
            parse(text, ".")


# what was asked for beside


def test_numbers_stay_numbers_where_nothing_is_coerced_in_the_end():
    from datetime import timedelta

    coerce = coercion_of(["datetime", "timedelta", "none"])
    assert (coerce(3600), coerce(1.5), coerce("PT1H")) == (3600, 1.5, timedelta(hours=1))
    assert coercion_of(["timedelta"])(3600) == timedelta(hours=1)
    assert coercion_of(["none", "timedelta"])(3600) == 3600
    assert coercion_of(["decimal", "fraction", "complex", "none"])(2) == 2


def test_the_answer_to_head_has_no_body_in_a_golden_pair():
    entry = http_tool(method="HEAD")
    response = {"status": 200, "headers": {"content-type": "application/json"}, "body": ""}
    assert outcome_of_response(entry, response) == {"data": {"result": None}}
    response["headers"]["content-type"] = "text/plain"
    assert outcome_of_response(entry, response) == {"data": {"result": None}}


async def test_read_only_is_judged_by_category_and_risk_and_not_by_hints(host_with, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "faultsreadonly", type(sys)("faultsreadonly"))
    sys.modules["faultsreadonly"].f = lambda: "called"
    binding = {"kind": "python", "module": "m", "qualified_name": "faultsreadonly.f", "parameters": []}
    judged = {
        "plain": ({}, True),
        "analytics": ({"category": "analytics"}, True),
        "risky": ({"risk": "high"}, False),
        "writes": ({"category": "write", "annotations": {"readOnlyHint": True}}, False),
        "rules": ({"category": "admin", "annotations": {"readOnlyHint": True}, "risk": "low"}, False),
        "said_not": ({"constraints": {"read_only_mode_supported": False}}, False),
    }
    tools = [a_tool(binding, id=name, name=name, **said) for name, (said, _) in judged.items()]
    file = tmp_path / "m.json"
    file.write_text(json.dumps(a_document(*tools, modules={"m": {"import": "faultsreadonly", "isolate": "inline"}})))
    host = await host_with(plugin, config={"read_only": True, "plugins": {"manifest": {"files": [str(file)]}}})
    session = host.session()
    for name, (_, is_served) in judged.items():
        result = await session.call(name, {})
        if is_served:
            assert result.data == {"result": "called"}
        else:
            assert assert_error(result, "FORBIDDEN").error.details["reason"] == "read_only"
