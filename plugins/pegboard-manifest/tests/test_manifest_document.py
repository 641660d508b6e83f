"""Reading a manifest: bounded, held against its format and against itself."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_manifest.document import MAX_BYTES, Manifest, ManifestError, format_schema, load, of_document, parse

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def a_tool(name="shorten", binding=None, **more):
    properties = {"text": {"type": "string"}, "width": {"type": "integer"}}
    tool = {
        "id": f"python:textwrap.{name}",
        "name": name,
        "description": "Shorten a text.",
        "category": "read",
        "risk": "low",
        "idempotency": "idempotent",
        "input_schema": {
            "type": "object",
            "properties": properties,
            "required": ["text"],
            "additionalProperties": False,
        },
        "examples": [{"input": {"text": "abc", "width": 5}}],
        "binding": binding
        or {
            "kind": "python",
            "module": "textwrap",
            "qualified_name": "textwrap.shorten",
            "parameters": [{"parameter": key, "pass": "keyword"} for key in properties],
        },
    }
    return tool | more


def a_document(*tools, **more):
    document = {
        "manifest_version": "1.0",
        "schema_dialect": DIALECT,
        "project": {"name": "Text Things", "runtime": "python", "execution_model": "mixed"},
        "modules": {"textwrap": {"import": "textwrap"}},
        "programs": {"sort": {"argv0": ["sort"]}},
        "servers": {"api": {"base_url": "http://127.0.0.1:8000/v1"}},
        "$defs": {"error": {"type": "object"}},
        "tools": list(tools) or [a_tool()],
    }
    return document | more


def subprocess_tool(*arguments, **more):
    binding = {"kind": "subprocess", "program": "sort", "arguments": list(arguments), "output": {"parser": "text"}}
    return a_tool(binding=binding | more)


def http_tool(path="/x/{text}", **more):
    parameters = [
        {"parameter": "text", "in": "path", "name": "text"},
        {"parameter": "width", "in": "query", "name": "width"},
    ]
    binding = {"kind": "http", "server": "api", "method": "GET", "path": path, "parameters": parameters}
    return a_tool(binding=binding | more)


TEXT = {"kind": "positional", "parameter": "text"}
WIDTH = {"kind": "option", "parameter": "width", "flag": "--width", "style": "equals"}
END = {"kind": "terminator"}


def faults_of(document):
    with pytest.raises(ManifestError) as caught:
        of_document(document, ".")
    return {fault.where: fault.expected for fault in caught.value.faults}


def test_a_manifest_says_its_project_and_its_tools_by_name(tmp_path):
    manifest = of_document(a_document(), tmp_path)
    assert (manifest.name, manifest.category, list(manifest.tools)) == ("Text Things", "text-things", ["shorten"])
    assert manifest.modules["textwrap"] == {"import": "textwrap"}
    assert (manifest.programs, manifest.servers) == (a_document()["programs"], a_document()["servers"])
    assert repr(manifest) == "<Manifest of Text Things: 1 tools>"


def test_sections_that_are_left_out_are_empty(tmp_path):
    document = a_document(subprocess_tool(WIDTH, END, TEXT))
    for key in ("modules", "servers", "$defs"):
        del document[key]
    manifest = of_document(document, tmp_path)
    assert (dict(manifest.modules), dict(manifest.servers), dict(manifest.defs)) == ({}, {}, {})


def test_a_file_or_its_folder_is_read(tmp_path):
    (tmp_path / "tool.manifest.json").write_text(json.dumps(a_document()))
    for path in (tmp_path, tmp_path / "tool.manifest.json"):
        manifest = load(path)
        assert manifest.folder == tmp_path.resolve()
        assert manifest.is_plain


@pytest.mark.parametrize("text", ["a\u202eb", "a\x1b[31mb", "zero\u200bwidth", "back\x08space"])
def test_a_file_with_hidden_characters_is_not_plain_however_they_are_written(tmp_path, text):
    document = a_document(a_tool(description=text))
    for ascii_only in (True, False):
        assert not parse(json.dumps(document, ensure_ascii=ascii_only), tmp_path).is_plain


def test_umlauts_and_kanji_hide_nothing(tmp_path):
    assert parse(json.dumps(a_document(a_tool(description="für 日本")), ensure_ascii=False), tmp_path).is_plain


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "UTF-8"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "digits"),
        (b"[" * 200 + b"]" * 200, "deep"),
        (b"[" * 100_000 + b"]" * 100_000, "deep"),
        (b'{"a": "\\ud800"}', "surrogate"),
    ],
)
def test_what_is_not_json_within_bounds_is_refused_with_the_reason(tmp_path, data, says):
    with pytest.raises(ManifestError, match=says):
        parse(data, tmp_path)


def test_a_file_that_cannot_be_read_says_why_and_how_to_make_one(tmp_path):
    with pytest.raises(ManifestError, match="cannot be read") as caught:
        load(tmp_path / "nothing")
    assert "toolgen" in caught.value.hint
    with pytest.raises(ManifestError, match="not a path"):
        load("a\0b")


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with (tmp_path / "big.json").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ManifestError, match="larger"):
        load(tmp_path / "big.json")


@pytest.mark.parametrize(("version", "hint"), [("2.0", "newer"), ("0.9", "anew")])
def test_another_major_version_is_refused_in_a_sentence_of_its_own(version, hint):
    with pytest.raises(ManifestError, match=f"is of version {version}") as caught:
        of_document({"manifest_version": version, "everything": "else"}, ".")
    assert hint in caught.value.hint
    assert not caught.value.faults


def test_another_minor_version_is_read(tmp_path):
    assert of_document(a_document(manifest_version="1.7"), tmp_path).tools


@pytest.mark.parametrize("version", [None, 1, "one", "1", "99999999.0", ["1.0"]])
def test_a_version_that_is_none_is_a_fault(version):
    assert "manifest_version" in faults_of(a_document(manifest_version=version))


@pytest.mark.parametrize("value", [None, True, 3, "text", [], [1], {}])
def test_what_is_not_a_manifest_at_all_is_refused(value):
    with pytest.raises(ManifestError):
        of_document(value, ".")


def test_everything_that_is_wrong_is_said_at_once():
    wrong = a_tool("one", category="reed")
    clash = a_tool("two", a_tool()["binding"] | {"module": "textwarp"})
    document = a_document(wrong, clash, clash, surprise=1, modules={"textwrap": {"imprt": "x"}})
    faults = faults_of(document)
    assert faults.keys() == {
        "surprise",
        "modules.textwrap.import",
        "modules.textwrap.imprt",
        "tools[0].category",
        "tools[1].binding.module",
        "tools[2].name",
        "tools[2].id",
        "tools[2].binding.module",
    }


def test_of_many_wrong_tools_the_first_are_explained_and_the_others_named():
    faults = faults_of(a_document(*[a_tool(f"tool_{n}", risk="none") for n in range(30)]))
    assert "tools[19].risk" in faults
    assert faults["tools[20]"] == "a tool"


def test_tools_that_are_no_list_and_values_of_no_json_are_faults():
    assert "tools" in faults_of(a_document(tools={"a": 1}))
    with pytest.raises(ManifestError):
        of_document(a_document(provenance={"generator": object()}), ".")


CROSS = {
    "an unknown module": (a_tool(binding=a_tool()["binding"] | {"module": "nope"}), "tools[0].binding.module"),
    "a name outside of the module": (
        a_tool(binding=a_tool()["binding"] | {"qualified_name": "os.system"}),
        "tools[0].binding.qualified_name",
    ),
    "a private name": (
        a_tool(binding=a_tool()["binding"] | {"qualified_name": "textwrap._private"}),
        "tools[0].binding.qualified_name",
    ),
    "an unknown program": (subprocess_tool(WIDTH, END, TEXT, program="nope"), "tools[0].binding.program"),
    "no guard without a terminator": (
        subprocess_tool(WIDTH, TEXT | {"guard": "none"}),
        "tools[0].binding.arguments[1].guard",
    ),
    "two terminators": (subprocess_tool(WIDTH, END, END, TEXT), "tools[0].binding.arguments[2]"),
    "a terminator as a word": (
        subprocess_tool(WIDTH, {"kind": "literal", "value": "--"}, TEXT),
        "tools[0].binding.arguments[1]",
    ),
    "an option behind the terminator": (subprocess_tool(END, WIDTH, TEXT), "tools[0].binding.arguments[1]"),
    "negatable without its other": (
        subprocess_tool(WIDTH | {"style": "negatable"}, TEXT),
        "tools[0].binding.arguments[0]",
    ),
    "a long flag that is joined": (
        subprocess_tool(WIDTH | {"style": "joined"}, TEXT),
        "tools[0].binding.arguments[0].flag",
    ),
    "a flag with a value": (
        subprocess_tool(WIDTH | {"flag": "--width=3"}, TEXT),
        "tools[0].binding.arguments[0].flag",
    ),
    "nargs of no separate": (subprocess_tool(WIDTH | {"nargs": 2}, TEXT), "tools[0].binding.arguments[0].nargs"),
    "values of no nargs": (subprocess_tool(WIDTH | {"values": [{}, {}]}, TEXT), "tools[0].binding.arguments[0].values"),
    "values and a value": (
        subprocess_tool(WIDTH | {"style": "separate", "nargs": 2, "values": [{}, {}], "value": {}}, TEXT),
        "tools[0].binding.arguments[0].values",
    ),
    "bare of a flag": (
        subprocess_tool(WIDTH | {"style": "flag", "bare": True}, TEXT),
        "tools[0].binding.arguments[0].bare",
    ),
    "item_style of no repeat": (
        subprocess_tool(WIDTH | {"item_style": "equals"}, TEXT),
        "tools[0].binding.arguments[0].item_style",
    ),
    "an unknown parameter": (
        subprocess_tool(WIDTH, TEXT, stdin={"parameter": "nope"}),
        "tools[0].binding.stdin.parameter",
    ),
    "a parameter that nobody uses": (subprocess_tool(TEXT), "tools[0].binding"),
    "a pattern that is not valid": (
        subprocess_tool(WIDTH, TEXT, exits=[{"stderr": "(", "code": "NOT_FOUND"}]),
        "tools[0].binding.exits[0].stderr",
    ),
    "an unknown server": (http_tool(server="nope"), "tools[0].binding.server"),
    "a path parameter that nobody binds": (http_tool("/x/{text}/{other}"), "tools[0].binding.path"),
    "a body of nothing": (http_tool(body={"media_type": "application/json"}), "tools[0].binding.body"),
    "an unknown field": (
        http_tool(body={"media_type": "application/json", "fields": [{"parameter": "nope", "name": "x"}]}),
        "tools[0].binding.body.fields[0].parameter",
    ),
    "an unknown whole body": (
        http_tool(body={"media_type": "application/json", "parameter": "nope"}),
        "tools[0].binding.body.parameter",
    ),
    "an open schema": (a_tool(input_schema={"type": "object"}, examples=[{"input": {}}]), "tools[0].input_schema"),
    "properties that are not valid": (
        a_tool(input_schema={"type": "object", "properties": [], "additionalProperties": False}),
        "tools[0].input_schema.properties",
    ),
    "not a rate": (a_tool(constraints={"rate_limit": "often"}), "tools[0].constraints.rate_limit"),
    "a reference to nothing": (a_tool(output_schema={"$ref": "#/$defs/eror"}), "tools[0].output_schema"),
    "a reference to the outside": (
        a_tool(output_schema={"$ref": "https://example.com/schema"}),
        "tools[0].output_schema",
    ),
    "a document of its own": (a_tool(output_schema={"$id": "urn:x", "type": "object"}), "tools[0].output_schema"),
    "a name with two meanings": (
        a_tool(output_schema={"$ref": "#/$defs/error", "$defs": {"error": {"type": "string"}}}),
        "tools[0].output_schema",
    ),
    "an error schema of nothing": (a_tool(error_schema={"$ref": "#/$defs/nope"}), "tools[0].error_schema"),
}


@pytest.mark.parametrize("what", CROSS)
def test_parts_that_do_not_fit_each_other_are_faults(what):
    tool, path = CROSS[what]
    assert path in faults_of(a_document(tool))


def python_tool(*parameters):
    return a_tool(binding=a_tool()["binding"] | {"parameters": list(parameters)})


WAYS = {
    "two spreads": [{"parameter": "text", "pass": "spread"}, {"parameter": "width", "pass": "spread"}],
    "a place behind a spread": [{"parameter": "text", "pass": "spread"}, {"parameter": "width", "pass": "positional"}],
    "an optional one that is not a place": [
        {"parameter": "text", "pass": "keyword", "optional": True},
        {"parameter": "width", "pass": "keyword"},
    ],
    "one keyword twice": [
        {"parameter": "text", "pass": "keyword"},
        {"parameter": "width", "pass": "keyword", "keyword": "text"},
    ],
    "an enum without its class": [
        {"parameter": "text", "pass": "keyword", "coerce": "enum"},
        {"parameter": "width", "pass": "keyword"},
    ],
    "a class of elsewhere": [
        {"parameter": "text", "pass": "keyword", "coerce": ["enum", "none"], "enum": "os.path"},
        {"parameter": "width", "pass": "keyword"},
    ],
    "a private class": [
        {"parameter": "text", "pass": "keyword", "coerce": "enum", "enum": "textwrap._E"},
        {"parameter": "width", "pass": "keyword"},
    ],
}


@pytest.mark.parametrize("what", WAYS)
def test_ways_of_passing_that_cannot_be_are_faults(what):
    assert any(
        path.startswith("tools[0].binding.parameters[") for path in faults_of(a_document(python_tool(*WAYS[what])))
    )


def test_only_names_of_the_allow_list_are_bound():
    modules = {"textwrap": {"import": "textwrap", "allow": ["textwrap.wrap", "os.system", "textwrap._x"]}}
    faults = faults_of(a_document(modules=modules))
    assert faults.keys() == {
        "tools[0].binding.qualified_name",
        "modules.textwrap.allow[1]",
        "modules.textwrap.allow[2]",
    }


def test_a_server_has_to_be_allowed_and_its_hosts_have_to_be_hosts():
    servers = {"api": {"base_url": "http://127.0.0.1:8000", "allowed_hosts": ["example.com", "http://x/"]}}
    faults = faults_of(a_document(http_tool(), servers=servers))
    assert {"servers.api.base_url", "servers.api.allowed_hosts[1]"} <= faults.keys()


def test_a_wrong_server_is_not_a_second_fault_of_its_tools():
    faults = faults_of(a_document(http_tool(), servers={"api": {"base_url": 3}}))
    assert faults.keys() == {"servers.api.base_url"}


def test_a_near_miss_is_told():
    with pytest.raises(ManifestError, match="did you mean #/\\$defs/error"):
        of_document(a_document(a_tool(output_schema={"$ref": "#/$defs/eror"})), ".")
    with pytest.raises(ManifestError, match="did you mean 'text'"):
        of_document(a_document(python_tool({"parameter": "texd", "pass": "keyword"})), ".")


def test_reading_changes_nothing_in_what_it_is_given(tmp_path):
    document = a_document(http_tool(), subprocess_tool(WIDTH, END, TEXT) | {"name": "b", "id": "b"})
    before = copy.deepcopy(document)
    of_document(document, tmp_path)
    assert document == before


def test_the_format_itself_is_a_schema():
    import jsonschema_rs

    assert jsonschema_rs.meta.is_valid(format_schema())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
_DOCUMENTS = [
    a_document(),
    a_document(subprocess_tool(WIDTH, END, TEXT, exits=[{"status": 3, "stderr": "x", "code": "NOT_FOUND"}])),
    a_document(http_tool(body={"media_type": "application/json", "fields": [{"parameter": "width", "name": "w"}]})),
]


def _places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*path, key))


@st.composite
def _bent(draw):
    document = copy.deepcopy(draw(st.sampled_from(_DOCUMENTS)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(sorted(_places(document), key=str)))
        if not place:
            return draw(_JSON)
        holder = document
        for step in place[:-1]:
            holder = holder[step]
        if draw(st.booleans()) and isinstance(holder, dict):
            del holder[place[-1]]
        else:
            holder[place[-1]] = draw(_JSON)
    return document


@settings(max_examples=250)
@given(_JSON | _bent())
def test_any_json_gives_a_manifest_or_a_manifest_error(value):
    try:
        made = parse(json.dumps(value), ".")
    except ManifestError as problem:
        made = problem
    assert isinstance(made, Manifest) or made.message
