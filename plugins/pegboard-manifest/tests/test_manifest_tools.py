"""Tools of a manifest on a board: what they may do, under which limits, and what a model sees of them."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, hookimpl
from pegboard.testing import assert_error, assert_ok
from pegboard_manifest import plugin
from pegboard_manifest._quick import quick_look, signature_of
from pegboard_manifest.bindings import _quiet
from pegboard_manifest.document import Manifest, ManifestError, of_document, parse
from pegboard_manifest.source import ManifestSource
from pegboard_manifest.tools import annotations_of, other_name, tool_of

BINDINGS = {
    "python": {"kind": "python", "module": "m", "qualified_name": "toolslib.f", "parameters": []},
    "subprocess": {"kind": "subprocess", "program": "p", "arguments": [], "output": {"parser": "text"}},
    "http": {"kind": "http", "server": "s", "method": "GET", "path": "/"},
}


def an_entry(name="f", kind="python", **more):
    return {
        "id": f"{kind}:{name}",
        "name": name,
        "description": "Do it.",
        "category": "read",
        "risk": "low",
        "idempotency": "idempotent",
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
        "examples": [{"input": {}, "description": "the only way"}],
        "binding": BINDINGS[kind],
        **more,
    }


def a_document(*entries):
    auth = [
        {"kind": "bearer", "secret_env": "API_TOKEN", "required": True},
        {"kind": "basic", "secret_env": "API_PASSWORD", "username_env": "API_USER"},
    ]
    return {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "Tools Lib 2", "runtime": "python", "execution_model": "mixed"},
        "modules": {"m": {"import": "toolslib", "isolate": "inline"}},
        "programs": {"p": {"argv0": ["true"]}},
        "servers": {"s": {"base_url": "http://127.0.0.1:1", "auth": auth}},
        "$defs": {"Thing": {"type": "string"}},
        "tools": list(entries),
    }


def the_tool(**more):
    manifest = of_document(a_document(an_entry(**more)), ".")
    return tool_of(manifest.tools["f"], manifest)


@pytest.fixture
def toolslib(monkeypatch):
    """A module whose function counts its calls."""
    module = types.ModuleType("toolslib")
    module.calls = []
    module.f = lambda **arguments: module.calls.append(arguments) or len(module.calls)
    monkeypatch.setitem(sys.modules, "toolslib", module)
    yield module
    _quiet.restore()


# -- what a tool does to the world


def marks(entry):
    one = annotations_of(entry)
    return one.read_only, one.destructive, one.idempotent, one.risk


@pytest.mark.parametrize(
    ("category", "risk", "idempotency", "expected"),
    [
        ("read", "low", "idempotent", (True, False, True, "low")),
        ("analytics", "medium", "unknown", (True, False, False, "medium")),
        ("read", "high", "idempotent", (False, True, True, "high")),
        ("write", "low", "unknown", (False, True, False, "low")),
        ("write", "low", "not_idempotent", (False, True, False, "low")),
        ("admin", "medium", "idempotent", (False, True, True, "medium")),
    ],
)
def test_category_risk_and_idempotency_decide(category, risk, idempotency, expected):
    assert marks(an_entry(category=category, risk=risk, idempotency=idempotency)) == expected


def test_what_is_not_known_is_the_worst():
    unknown = {"binding": BINDINGS["python"]}
    assert marks(unknown) == (False, True, False, "high")


LIES = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}


@pytest.mark.parametrize(("category", "risk"), [("admin", "low"), ("write", "high"), ("read", "high")])
def test_annotations_that_contradict_lose(category, risk):
    entry = an_entry(category=category, risk=risk, idempotency="unknown", annotations=LIES)
    assert marks(entry) == (False, True, False, risk)
    modest = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False}
    assert marks(an_entry(annotations=modest)) == (True, False, True, "low")


def test_annotations_add_what_is_left_open():
    assert marks(an_entry(category="write", annotations={"destructiveHint": False}))[:2] == (False, False)
    assert annotations_of(an_entry(annotations={"openWorldHint": False})).open_world is False
    assert annotations_of(an_entry()).open_world is None
    assert annotations_of(an_entry(kind="http", annotations={"openWorldHint": False})).open_world is True


def test_a_reader_that_does_not_support_read_only_mode_is_not_a_reader():
    assert marks(an_entry(constraints={"read_only_mode_supported": False}))[0] is False
    assert marks(an_entry(category="write", constraints={"read_only_mode_supported": True}))[0] is False


def a_plugin(document):
    class Plugin:
        @hookimpl
        def provide_sources(self, settings):
            return [ManifestSource("manifest:tools", "here", of_document(document, "."))]

    return Plugin()


@pytest.mark.parametrize(
    ("more", "runs"),
    [
        ({}, True),
        ({"category": "analytics"}, True),
        ({"category": "write"}, False),
        ({"category": "admin"}, False),
        ({"risk": "high"}, False),
        ({"category": "write", "annotations": LIES, "constraints": {"read_only_mode_supported": True}}, False),
        ({"constraints": {"read_only_mode_supported": False}}, False),
    ],
)
async def test_read_only_mode_is_held_at_the_call_by_category_and_risk(host_with, toolslib, more, runs):
    plugin = a_plugin(a_document(an_entry(**more)))
    free, read_only = await host_with(plugin), await host_with(plugin, config={"read_only": True})
    assert (await free.session().call("f", {})).ok
    result = await read_only.session().call("f", {})
    assert result.ok is runs
    assert len(toolslib.calls) == 1 + runs
    if not runs:
        assert (result.error.code, result.error.details["reason"]) == (ErrorCode.FORBIDDEN, "read_only")


async def test_the_environment_says_read_only_too(host_with, toolslib, monkeypatch):
    monkeypatch.setenv("READ_ONLY", "1")
    host = await host_with(a_plugin(a_document(an_entry(), an_entry("g", category="write"))))
    assert [(await host.session().call(name, {})).ok for name in ("f", "g")] == [True, False]


async def test_a_rate_limit_of_the_manifest_holds(host_with, toolslib):
    entry = an_entry(constraints={"rate_limit": "1/hour"})
    session = (await host_with(a_plugin(a_document(entry)))).session(user_id="ada")
    assert (await session.call("f", {})).ok
    assert (await session.call("f", {})).error.code is ErrorCode.RATE_LIMITED


# -- what it looks like


def test_a_tool_has_everything_that_its_entry_says():
    made = the_tool(title="F", timeout_ms=1500, constraints={"rate_limit": "10/minute"})
    assert (made.name, made.title, made.description) == ("f", "F", "Do it.")
    assert (made.category, made.tags) == ("tools-lib-2", {"read", "manifest"})
    assert (made.limits.timeout_s, str(made.limits.rate_limit)) == (1.5, "10/60s")
    assert [(one.arguments, one.description) for one in made.examples] == [({}, "the only way")]
    assert made.run == "inplace"


def test_a_tool_declares_the_secrets_without_which_it_is_not_sent():
    assert the_tool(kind="http").secrets == {"API_TOKEN"}
    assert the_tool(kind="subprocess").secrets == the_tool().secrets == frozenset()


def test_a_model_gets_schemas_that_need_nothing_else():
    made = the_tool(output_schema={"type": "object", "properties": {"result": {"$ref": "#/$defs/Thing"}}})
    assert made.output_schema == {"type": "object", "properties": {"result": {"type": "string"}}}


def test_a_manifest_that_was_put_together_by_hand_refers_to_nothing_either():
    entry = an_entry(output_schema={"type": "object", "properties": {"result": {"$ref": "#/$defs/Thing"}}})
    made = tool_of(entry, Manifest(a_document(entry), Path(), {"f": entry}))
    assert made.output_schema["properties"]["result"] == {"type": "string"}


def test_texts_are_clean_and_data_is_as_it_was():
    hidden = "a\u202eb\x1b[31mc"
    schema = {
        "type": "object",
        "properties": {"title": {"enum": [hidden], "description": hidden}, "x": {"allOf": [{"title": hidden}]}},
        "additionalProperties": False,
    }
    binding = BINDINGS["python"] | {"parameters": [{"parameter": key, "pass": "keyword"} for key in ("title", "x")]}
    entry = an_entry(
        title=hidden + "\n# d",
        description=hidden,
        input_schema=schema,
        output_schema={"title": hidden},
        binding=binding,
    )
    manifest = parse(json.dumps(a_document(entry)), ".")
    made = tool_of(manifest.tools["f"], manifest)
    assert (made.title, made.description, made.output_schema["title"]) == ("abc # d", "abc", "abc")
    properties = made.input_schema["properties"]
    assert properties["title"] == {"enum": [hidden], "description": "abc"}
    assert properties["x"] == {"allOf": [{"title": "abc"}]}


def test_a_title_is_one_line_though_all_of_it_can_be_seen():
    manifest = parse(json.dumps(a_document(an_entry(title="Do\nit"))), ".")
    assert tool_of(manifest.tools["f"], manifest).title == "Do it"


@pytest.mark.parametrize(
    ("project", "expected"),
    [("My Lib", "My_Lib_f"), ("3d", "_3d_f"), ("日本", "manifest_f"), ("-x-", "_-x-_f"), ("a" * 90, "a" * 64)],
)
def test_another_name_says_the_project_and_fits_every_provider(project, expected):
    assert other_name(project, "f") == expected


# -- the quick look


@pytest.mark.parametrize(
    ("output", "has_one"),
    [
        (None, True),
        ({"type": "object"}, True),
        ({"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}, True),
        ({"type": "object", "properties": {"result": {"type": "string", "maxLength": 3}}}, True),
        ({"type": "object", "properties": {"result": {"type": "string"}, "b": {}}}, False),
        ({"type": "object", "properties": {"result": {"type": "string"}}, "required": ["b"]}, False),
        ({"type": "object", "properties": {"result": {"type": "string"}}, "maxProperties": 0}, False),
        ({"type": "object", "properties": {"result": {"type": "string"}}, "additionalProperties": {}}, False),
        ({"properties": {"result": {"type": "string"}}, "type": "array"}, False),
    ],
)
def test_a_result_is_believed_by_its_type_only_where_the_schema_says_nothing_else(output, has_one):
    made = signature_of({"type": "object", "properties": {}, "additionalProperties": False}, output)
    assert (made is not None) is has_one


@pytest.mark.parametrize(
    "schema", [{"type": "object"}, {"type": "object", "additionalProperties": False, "minProperties": 1}, {}]
)
def test_a_schema_that_says_more_is_looked_at_in_full(schema):
    assert signature_of(schema, None) is None


_TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
_PROPERTIES = st.one_of(
    st.builds(lambda kind: {"type": kind, "description": "d"}, _TYPES),
    st.builds(lambda kinds: {"type": kinds}, st.lists(_TYPES, min_size=1, max_size=3, unique=True)),
    st.builds(
        lambda kind, values: {"type": kind, "enum": values},
        _TYPES,
        st.lists(st.sampled_from(["a", 1, None, True]), min_size=1),
    ),
    st.sampled_from([{}, True, False, {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0}]),
)
_OBJECTS = st.builds(
    lambda properties, required: {
        "type": "object",
        "properties": properties,
        "required": sorted(required),
        "additionalProperties": False,
    },
    st.dictionaries(st.sampled_from("abc"), _PROPERTIES),
    st.sets(st.sampled_from("abc")),
)
_SCALARS = st.sampled_from(["a", "", 1, 0, True, None, 1.0, 0.5, float("inf"), 2**70, [], {}, [1]])
_ARGUMENTS = st.dictionaries(st.sampled_from("abcd"), _SCALARS) | _SCALARS


@settings(max_examples=400)
@given(_OBJECTS, _ARGUMENTS)
def test_what_the_quick_look_takes_the_validator_accepts_unchanged(schema, arguments):
    import jsonschema_rs

    look = quick_look(schema)
    taken = look(arguments) if look is not None else None
    if taken is not None:
        assert taken is arguments
        assert jsonschema_rs.Draft202012Validator(schema).is_valid(arguments)


# -- parameters in one object

REST = {
    "type": "object",
    "properties": {
        "max_time": {"type": "integer", "description": "Seconds that the whole may take."},
        "paths": {"type": "array", "items": {"type": "string"}},
    },
    "additionalProperties": False,
}
SHOWN = {"text": {"type": "string"}, "options": {"type": "object", "description": "More: max_time, paths."}}
MANY = {
    "kind": "subprocess",
    "program": "p",
    "arguments": [
        {"kind": "option", "parameter": "max_time", "flag": "--max-time", "style": "equals"},
        {"kind": "option", "parameter": "paths", "flag": "--path", "style": "repeat"},
        {"kind": "positional", "parameter": "text"},
    ],
    "options": {"parameter": "options", "schema": REST},
    "output": {"parser": "text"},
}


def in_object(schema):
    return {"options": {"parameter": "options", "schema": schema}}


def of_many(properties=None, **binding):
    schema = {
        "type": "object",
        "properties": SHOWN if properties is None else properties,
        "additionalProperties": False,
    }
    entry = an_entry(kind="subprocess", input_schema=schema)
    document = a_document({**entry, "binding": {**MANY, **binding}})
    document["programs"]["p"]["argv0"] = ["echo"]
    return document


@pytest.fixture
async def session_of_many(host_with, tmp_path):
    file = tmp_path / "tool.manifest.json"
    file.write_text(json.dumps(of_many()))
    return (await host_with(plugin, config={"plugins": {"manifest": {"files": [str(file)]}}})).session()


async def test_parameters_of_the_object_are_passed_like_all_others(session_of_many):
    result = await session_of_many.call("f", {"text": "hi", "options": {"max_time": 3, "paths": ["a", "b"]}})
    assert assert_ok(result).data == {"result": "--max-time=3 --path=a --path=b hi\n"}
    assert assert_ok(await session_of_many.call("f", {"text": "hi"})).data == {"result": "hi\n"}
    repaired = await session_of_many.call("f", {"options": {"max_time": "3"}})
    assert assert_ok(repaired).data == {"result": "--max-time=3\n"}
    assert [one["path"] for one in repaired.details["repaired"]] == ["options.max_time"]


async def test_a_fault_in_the_object_says_where_it_is_and_what_the_option_is_for(session_of_many):
    result = await session_of_many.call("f", {"options": {"max_time": None, "path": ["a"], "paths": "a"}})
    faults = {one["path"]: one for one in assert_error(result, "INVALID_INPUT").error.details["faults"]}
    assert faults["options.max_time"]["hint"] == "Seconds that the whole may take."
    assert "paths" in faults["options.path"]["hint"]
    assert faults["options.paths"]["expected"] == "array"
    assert all(f"{path}: expected" in result.error.message for path in faults)


MISPLACED = {
    "max_time": ("a member of options", 'write {"options": {"max_time": ...}}'),
    "max-time": ("a known name", 'did you mean max_time? Write {"options": {"max_time": ...}}'),
    "textt": ("a known name", "did you mean text?"),
    "zzz": ("a known name", "known: text, options"),
}
"""Names beside the object, what was expected of each, and how it is repaired."""


@pytest.mark.parametrize("validator", ["core", "jsonschema_rs"])
@pytest.mark.parametrize("inside", [None, {}, {"paths": ["a"]}, {"paths": "a"}], ids=str)
@pytest.mark.parametrize("given", MISPLACED)
async def test_an_option_beside_its_object_is_told_where_it_belongs(host_with, tmp_path, given, inside, validator):
    file = tmp_path / "tool.manifest.json"
    file.write_text(json.dumps(of_many()))
    plugins = [plugin]
    if validator != "core":
        plugins.append(pytest.importorskip("pegboard_jsonschema_rs.plugin"))
    session = (await host_with(*plugins, config={"plugins": {"manifest": {"files": [str(file)]}}})).session()
    arguments = {given: 3} if inside is None else {given: 3, "options": inside}
    result = await session.call("f", arguments)
    (fault,) = assert_error(result, "INVALID_INPUT").error.details["faults"]
    assert (fault["path"].strip('[]"'), fault["expected"], fault["hint"]) == (given, *MISPLACED[given])
    assert f"({fault['hint']})" in result.error.message


@pytest.mark.parametrize(
    ("properties", "binding", "path"),
    [
        ({"text": {"type": "string"}}, {}, "binding.options.parameter"),
        ({**SHOWN, "options": {"type": "string"}}, {}, "binding.options.parameter"),
        ({**SHOWN, "max_time": {"type": "integer"}}, {}, "binding.options.schema.properties"),
        (
            None,
            {"options": {"parameter": "options", "schema": {**REST, "required": 3}}},
            "binding.options.schema.required",
        ),
        (None, in_object({**REST, "anyOf": [{"$ref": "#/$defs/Thing"}]}), "binding.options.schema"),
        (None, {"arguments": MANY["arguments"][1:]}, "binding"),
        (None, in_object({"type": "object"}), "binding"),
    ],
)
def test_an_object_of_parameters_that_contradicts_the_rest_is_a_fault(properties, binding, path):
    with pytest.raises(ManifestError) as refused:
        of_document(of_many(properties, **binding), ".")
    assert any(fault.where.startswith(f"tools[0].{path}") for fault in refused.value.faults), refused.value.faults


def test_only_tools_that_have_such_an_object_pay_for_it():
    code = (
        "import sys, json; from pegboard_manifest import manifest_of, tool_of\n"
        "m = manifest_of(json.loads(sys.argv[1]), '.'); tool_of(m.tools['f'], m)\n"
        "assert 'pegboard_manifest._options' not in sys.modules\n"
    )
    document = json.dumps(a_document(an_entry(kind="subprocess")))
    subprocess.run([sys.executable, "-c", code, document], check=True, timeout=60)
