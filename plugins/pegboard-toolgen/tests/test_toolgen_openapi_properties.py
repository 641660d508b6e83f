from __future__ import annotations

import importlib.resources
import json
import os
import subprocess
import sys
import unicodedata
from typing import Any

import attrs
import hypothesis
import jsonschema_rs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pegboard.schema.check import faults_of
from pegboard_manifest.projection import project
from pegboard_toolgen._schema_parts import names_in
from pegboard_toolgen.discover.openapi import discover_openapi
from pegboard_toolgen.discover.openapi.operations import INPUT_BYTES, OUTPUT_BYTES
from pegboard_toolgen.drafts import Discovery, DiscoveryError
from pegboard_toolgen.schemas import needed, size_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MANIFEST = json.loads((importlib.resources.files("pegboard_manifest") / "manifest.schema.json").read_text("utf-8"))


def part_of_the_format(name: str) -> Any:
    return jsonschema_rs.validator_for({"$schema": DIALECT, "$ref": f"#/$defs/{name}", "$defs": MANIFEST["$defs"]})


HTTP, SERVER, SOURCE = map(part_of_the_format, ("http", "server", "source"))


def hold(found: Discovery) -> None:
    """Every part has the manifest's shape, every schema is valid and stands on its own, every text is clean."""
    SOURCE.validate(found.source)
    for server in found.servers.values():
        SERVER.validate(server)
    for draft in found.drafts:
        HTTP.validate(draft.binding)
        assert names_in(draft.input_schema) <= found.defs.keys()
        assert not names_in(draft.output_schema)
        for schema, budget in (
            (project(draft.input_schema, found.defs), INPUT_BYTES),
            (draft.output_schema, OUTPUT_BYTES),
        ):
            assert jsonschema_rs.meta.is_valid({"$schema": DIALECT, **schema})
            assert not faults_of(schema, foreign=True)
            assert size_of(schema) <= budget
        bound = {entry["parameter"] for entry in draft.binding.get("parameters", ())}
        bound |= {entry["parameter"] for entry in draft.binding.get("body", {}).get("fields", ())}
        bound |= {draft.binding["body"]["parameter"]} if "parameter" in draft.binding.get("body", {}) else set()
        assert draft.input_schema["properties"].keys() == bound
        assert draft.input_schema["additionalProperties"] is False
        inputs = jsonschema_rs.Draft202012Validator(project(draft.input_schema, found.defs))
        outputs = jsonschema_rs.Draft202012Validator(draft.output_schema)
        for example in draft.examples:
            inputs.validate(example["input"])
            if "output" in example:
                outputs.validate(example["output"])
        assert draft.description
        for text in (draft.id, draft.description, draft.where, *draft.notes, *draft.tags):
            assert not any(
                unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in text.replace("\n", "")
            )
    for name, schema in found.defs.items():
        assert names_in(schema) <= found.defs.keys()
        assert jsonschema_rs.meta.is_valid({"$schema": DIALECT, **schema} if isinstance(schema, dict) else schema), name
    assert len({draft.id for draft in found.drafts}) == len(found.drafts)


# Documents as they are -----------------------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "id", "If-Match", "body", "x[y]", "é"])
components = ("Node", "Thing", "Loop", "Gone")
references = st.sampled_from([{"$ref": f"#/components/schemas/{name}"} for name in components])
schemas = st.recursive(
    references
    | st.sampled_from(
        [{"type": "string"}, {"type": "integer", "minimum": 1}, {}, {"type": "object"}, {"enum": ["a", None]},
        {"$ref": "x.json"}]
    ),
    lambda inner: st.fixed_dictionaries({"type": st.just("array"), "items": inner})
    | st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(names, inner, max_size=3)},
        optional={"description": st.text(max_size=10), "nullable": st.booleans(), "required": st.lists(names,
        max_size=2)},
    )
    | st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=3)})
    | st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}, optional={"nullable": st.just(True)}),
    max_leaves=5,
)  # fmt: skip
parameters = st.lists(
    st.fixed_dictionaries(
        {"name": names, "in": st.sampled_from(["path", "query", "header", "cookie"]), "schema": schemas},
        optional={"required": st.booleans(), "style": st.just("deepObject"), "example": st.sampled_from(["x", 3])},
    ),
    max_size=3,
)
contents = st.dictionaries(
    st.sampled_from(["application/json", "multipart/form-data", "application/x-www-form-urlencoded", "text/plain",
    "image/png"]), st.fixed_dictionaries({"schema": schemas}),
    max_size=2,
)  # fmt: skip
operations = st.fixed_dictionaries(
    {},
    optional={
        "parameters": parameters,
        "requestBody": st.fixed_dictionaries({"content": contents}, optional={"required": st.just(True)}),
        "responses": st.dictionaries(
            st.sampled_from(["200", "204", "302", "401", "404", "default"]),
            st.fixed_dictionaries({"description": st.text(max_size=5)}, optional={"content": contents}),
            max_size=3,
        ),
        "summary": st.text(max_size=20),
        "servers": st.just([{"url": "https://other.example"}]),
    },
)
paths = st.sampled_from(["/", "/a", "/a/{id}", "/a/{b}/c", "/b?x", "/{a}{b}"])
documents = st.fixed_dictionaries(
    {
        "openapi": st.sampled_from(["3.0.3", "3.1.0"]),
        "info": st.just({"title": "Shop", "version": "1"}),
        "paths": st.dictionaries(
            paths,
            st.fixed_dictionaries({}, optional={"parameters": parameters, "get": operations, "post": operations,
            "put": operations}), max_size=4,
        ),
        "components": st.fixed_dictionaries(
            {
                "schemas": st.fixed_dictionaries(
                    {
                        "Node": st.just({"type": "object", "properties": {"next": {"$ref":
                        "#/components/schemas/Node"}}}), "Thing": schemas,
                        "Loop": st.just({"allOf": [{"$ref": "#/components/schemas/Loop"}, {"type": "object"}]}),
                    }
                )
            }
        ),
    }
)  # fmt: skip


@settings(max_examples=20)
@given(document=documents)
def test_every_schema_is_valid_and_none_dangles(document: Any) -> None:
    """Of any document, every draft has the manifest's shape, its schemas are valid 2020-12 and lead nowhere outside."""
    hold(discover_openapi(document))


def shown(found: Discovery, draft: Any) -> str:
    """A draft and what it needs, as bytes would have it: the order of keys included."""
    return json.dumps([attrs.asdict(draft), needed(draft.input_schema, found.defs)])


@settings(max_examples=20)
@given(document=documents, data=st.data())
def test_reordered_or_fewer_operations_leave_each_draft_as_it_is(document: Any, data: st.DataObject) -> None:
    """A draft is made of its own operation and what that points to: others may move or go, and no byte of it
    changes.
    """
    pairs = [(path, method) for path, item in document["paths"].items() for method in item if method != "parameters"]
    order = data.draw(st.permutations(pairs))
    kept = order[: data.draw(st.integers(0, len(pairs)))]
    moved: dict[str, Any] = {}
    for path, method in kept:
        item = document["paths"][path]
        moved.setdefault(path, {key: item[key] for key in item if key == "parameters"})[method] = item[method]

    before = discover_openapi(document)
    after = discover_openapi({**document, "paths": moved})

    by_id = {draft.id: shown(before, draft) for draft in before.drafts}
    ids = {f"http:{method.upper()} {path}" for path, method in kept}
    assert {draft.id for draft in after.drafts} == ids & by_id.keys()
    assert [draft.id for draft in after.drafts] == sorted(draft.id for draft in after.drafts)
    for draft in after.drafts:
        assert shown(after, draft) == by_id[draft.id]
    assert after.defs.items() <= before.defs.items()


# Inputs as servers take them -----------------------------------------------------------------------------------------

keys = st.sampled_from(["a", "b", "c"])
values = st.recursive(
    st.sampled_from([None, True, 0, 1, 2.5, 7, "", "x", "2026-11-23"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=5,
)
plain_schemas = st.sampled_from(
    [{"type": "integer"}, {"type": "number"}, {"type": "string"}, {"type": ["string", "null"]}, {"type": "boolean"}, {},
    {"enum": [1, "x", None]}, {"const": 1}, {"type": "string", "format": "date"}, {"pattern": "(?<=a)x"},
    {"maximum": 2}, {"$ref": "#/components/schemas/Thing"}, {"type": "string", "pattern": "^x"},
    {"not": {"type": "string"}}]
)  # fmt: skip
inputs = st.recursive(
    plain_schemas,
    lambda inner: st.fixed_dictionaries(
        {"properties": st.dictionaries(keys, inner, min_size=1, max_size=3)},
        optional={"type": st.just("object"), "required": st.lists(keys, max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner, "minProperties": st.just(1),
            "patternProperties": st.just({"(?<=a)b": {"type": "string"}})},
    )
    | st.fixed_dictionaries({"type": st.just("array"), "items": inner})
    | st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=3)})
    | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}, optional={"not": inner})
    | st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=3)})
    | st.fixed_dictionaries({"if": inner, "then": inner, "else": inner}),
    max_leaves=6,
)  # fmt: skip


def as_servers_read(schema: Any) -> Any:
    """The schema with every `oneOf` as `anyOf`, where that makes nothing else narrower."""
    if isinstance(schema, dict):
        if "not" in schema or "if" in schema:
            return schema
        read = {key: as_servers_read(value) for key, value in schema.items() if key != "oneOf"}
        members = [{"anyOf": as_servers_read(schema["oneOf"])}] if "oneOf" in schema else []
        return {**read, "allOf": [*read.get("allOf", []), *members]} if members else read
    return [as_servers_read(item) for item in schema] if isinstance(schema, list) else schema


@settings(max_examples=100)
@hypothesis.example(schema={"oneOf": [{"type": "integer"}, {"type": "number"}]}, thing={}, value=1, is_required=True)
@given(schema=inputs, thing=inputs, value=values, is_required=st.booleans())
def test_no_input_that_a_server_takes_is_refused(schema: Any, thing: Any, value: Any, is_required: bool) -> None:
    """What fits the document, `oneOf` read as servers read it, fits the tool, wherever it stands in its input."""
    assume('"#/components/schemas/Thing"' not in json.dumps(thing))
    components = {"schemas": {"Thing": thing}}
    body = {"content": {"application/json": {"schema": schema}}, "required": is_required}
    document = {"openapi": "3.1.0", "paths": {"/a": {"post": {"requestBody": body}}}, "components": components}
    judge = jsonschema_rs.Draft202012Validator({**as_servers_read(schema), "components": as_servers_read(components)})
    assume(judge.is_valid(value))

    found = discover_openapi(document)

    (draft,) = found.drafts
    arguments = {"body": value} if "parameter" in draft.binding["body"] else value
    assume(isinstance(arguments, dict) and arguments.keys() <= draft.input_schema["properties"].keys())
    jsonschema_rs.Draft202012Validator(project(draft.input_schema, found.defs)).validate(arguments)


# Documents as nobody should write them -------------------------------------------------------------------------------

WORDS = (
    "paths", "/a", "/a/{b}", "get", "post", "parameters", "requestBody", "content", "application/json", "schema",
    "responses", "200", "default", "$ref", "name", "in", "type", "properties", "items", "allOf", "servers", "url",
    "components", "schemas", "securitySchemes", "scheme", "tags", "summary", "description", "encoding", "examples",
    "value", "variables", "info", "title", "multipart/form-data", "produces", "consumes", "definitions",
    "securityDefinitions", "host", "basePath", "schemes", "required", "style", "explode", "collectionFormat",
    "webhooks", "additionalOperations",
)  # fmt: skip
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["string", "object", "query", "path", "body", "formData", "#/components/schemas/A", "#",
    "#/paths", "http",
                       "apiKey", "header", "form", "https://x.example/{a}", "/v1", "application/json",
                       "x\x1b[31m\u202e"])
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=3), inner,
    max_size=4), max_leaves=25,
)  # fmt: skip


@settings(max_examples=50)
@given(
    document=st.dictionaries(st.sampled_from(WORDS), anything, max_size=6),
    version=st.sampled_from(["openapi", "swagger"]),
    said=anything,
)
def test_any_document_gives_a_discovery_or_an_error_of_ours(document: Any, version: str, said: Any) -> None:
    """Whatever stands in a document, discovery answers with drafts that hold, or with a DiscoveryError."""
    try:
        found = discover_openapi({version: said, **document})
    except DiscoveryError:
        return
    hold(found)


@settings(max_examples=35)
@given(document=documents, data=st.data())
def test_a_document_with_one_wrong_place_costs_at_most_what_uses_it(document: Any, data: st.DataObject) -> None:
    """One value of a document replaced by any other: the rest is still found."""
    places: list[tuple[Any, Any]] = []
    waiting = [document["paths"]]
    while waiting:
        item = waiting.pop()
        for key, value in item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ():
            places.append((item, key))
            waiting.append(value)
    document = json.loads(json.dumps(document))
    if places:
        index = data.draw(st.integers(0, len(places) - 1))
        _replace(document["paths"], index, data.draw(anything))

    hold(discover_openapi(document))


def _replace(root: Any, index: int, value: Any) -> None:
    waiting = [root]
    while waiting:
        item = waiting.pop()
        for key, inner in (
            list(item.items()) if isinstance(item, dict) else list(enumerate(item)) if isinstance(item, list) else ()
        ):
            if index == 0:
                item[key] = value
                return
            index -= 1
            waiting.append(inner)


# Large and hostile ---------------------------------------------------------------------------------------------------


def test_a_schema_larger_than_the_budget_fits_and_keeps_every_parameter() -> None:
    part = {
        "type": "object",
        "description": "words " * 50,
        "properties": {f"p{i}": {"type": "string"} for i in range(50)},
    }
    large = {"type": "object", "properties": {f"field_{i}": part for i in range(200)}}
    found = discover_openapi(
        {
            "openapi": "3.0.0",
            "paths": {
                "/a/{id}": {
                    "post": {
                        "requestBody": {
                            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Large"}}}
                        },
                        "responses": {
                            "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Large"}}}}
                        },
                    }
                }
            },
            "components": {"schemas": {"Large": large}},
        }
    )

    hold(found)
    (draft,) = found.drafts
    assert draft.input_schema["properties"].keys() == {"id", "body"}
    assert len(draft.input_schema["properties"]["body"]["properties"]) == 200
    assert any("Described by their type alone" in note for note in draft.notes)
    assert found.defs == {}


def test_a_small_document_that_unfolds_into_a_large_one_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    import pegboard_toolgen.discover.openapi.references as references
    from pegboard_toolgen.schemas import Work

    monkeypatch.setattr(references, "Work", lambda limit=0: Work(5_000))
    wide = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(100)}}
    shared = {"name": "q", "in": "query", "schema": wide}
    found = discover_openapi(
        {
            "openapi": "3.0.0",
            "paths": {f"/a{i}": {"get": {"parameters": [{"$ref": "#/components/parameters/q"}]}} for i in range(100)},
            "components": {"parameters": {"q": shared}},
        }
    )

    assert 0 < len(found.drafts) < 100
    assert {item.why for item in found.left_out if item.id != "server"} == {
        "the document unfolds into more than is read"
    }


def test_what_fitting_costs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    import pegboard_toolgen.discover.openapi.references as references

    monkeypatch.setattr(references, "MAX_FITTED", 3_000)
    wide = {"type": "object", "properties": {f"property_{i}": {"type": "string"} for i in range(500)}}
    body = {"content": {"application/json": {"schema": wide}}}
    found = discover_openapi(
        {"openapi": "3.0.0", "paths": {f"/a{i}": {"post": {"requestBody": body}} for i in range(9)}}
    )

    assert 0 < len(found.drafts) < 9
    assert "the document unfolds into more than is read" in {item.why for item in found.left_out}


def _circles(count: int, width: int) -> dict[str, Any]:
    """Schemas of which each leads to others, and each of them back."""

    def one(number: int) -> dict[str, Any]:
        others = ((number * 7 + step * 13 + 1) % count for step in range(width))
        parts = {f"part_{step}": {"$ref": f"#/components/schemas/S{other}"} for step, other in enumerate(others)}
        return {"type": "object", "properties": {"id": {"type": "string", "description": "What it is."}, **parts}}

    def operation(number: int) -> dict[str, Any]:
        content = {"application/json": {"schema": {"$ref": f"#/components/schemas/S{number}"}}}
        return {"requestBody": {"content": content}, "responses": {"200": {"description": "", "content": content}}}

    return {
        "openapi": "3.0.0",
        "paths": {f"/s{number}": {"post": operation(number)} for number in range(count)},
        "components": {"schemas": {f"S{number}": one(number) for number in range(count)}},
    }


@pytest.mark.parametrize("most", [2_000_000, 20_000])
def test_schemas_that_lead_to_each_other_cost_little_and_stay_tools(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import pegboard_toolgen.discover.openapi.references as references

    monkeypatch.setattr(references, "MAX_FITTED", most)
    looked_at: list[int] = []
    monkeypatch.setattr(
        references.Work,
        "spend",
        lambda work, count=1, spend=references.Work.spend: looked_at.append(count) or spend(work, count),
    )
    found = discover_openapi(_circles(12, 8))

    assert len(found.drafts) == 12
    assert sum(looked_at) < min(most, 12 * 10_000)  # a few times what a model is shown
    for draft in found.drafts:
        assert "part_7" in draft.input_schema["properties"]
        assert len(json.dumps(draft.input_schema)) < 20_000


def test_references_that_multiply_do_not() -> None:
    """Each schema points twice to the next: unfolded, more than any memory holds."""
    schemas = {
        f"S{i}": {
            "type": "object",
            "properties": {
                "a": {"$ref": f"#/components/schemas/S{i + 1}"},
                "b": {"$ref": f"#/components/schemas/S{i + 1}"},
            },
        }
        for i in range(60)
    }
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}
    found = discover_openapi(
        {
            "openapi": "3.0.0",
            "paths": {
                "/a": {"post": {"requestBody": {"content": content}, "responses": {"200": {"content": content}}}}
            },
            "components": {"schemas": {**schemas, "S60": {"type": "string"}}},
        }
    )

    hold(found)
    assert len(found.defs) == 60


def test_operations_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    import pegboard_toolgen.discover.openapi.operations as operations_

    monkeypatch.setattr(operations_, "MAX_OPERATIONS", 2)
    found = discover_openapi({"openapi": "3.0.0", "paths": {f"/a{i}": {"get": {}} for i in range(4)}})

    assert len(found.drafts) == 2
    assert "more than 2 operations" in found.left_out[0].why


def test_the_same_document_gives_the_same_bytes_under_any_hash_seed() -> None:
    program = """
import json, attrs
from pegboard_toolgen.discover.openapi import discover_openapi
ref = lambda name: {"$ref": "#/components/schemas/" + name}
schemas = {n: {"oneOf": [ref("A"), ref("B")], "properties": {p: ref(p) for p in "ABC"}} for n in "ABC"}
content = {t: {"schema": ref("A")} for t in ("text/plain", "application/json", "image/png")}
body = {"requestBody": {"content": content}, "responses": {s: {"content": content} for s in ("200", "201", "404")}}
params = [{"name": n, "in": i} for n in ("a", "b") for i in ("query", "header", "cookie")]
paths = {"/x": {"post": {**body, "parameters": params}}}
found = discover_openapi({"openapi": "3.0.0", "paths": paths, "components": {"schemas": schemas}})
print(json.dumps(attrs.asdict(found)))
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }

    assert len(outputs) == 1
