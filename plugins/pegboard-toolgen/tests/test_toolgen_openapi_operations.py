from __future__ import annotations

import importlib.resources
import json
from typing import Any

import jsonschema_rs
import pytest

from pegboard_toolgen.discover.openapi import discover_openapi
from pegboard_toolgen.drafts import Discovery, Draft

MANIFEST = json.loads((importlib.resources.files("pegboard_manifest") / "manifest.schema.json").read_text("utf-8"))


def part_of_the_format(name: str) -> Any:
    return jsonschema_rs.validator_for(
        {"$schema": MANIFEST["$schema"], "$ref": f"#/$defs/{name}", "$defs": MANIFEST["$defs"]}
    )


HTTP, SERVER = part_of_the_format("http"), part_of_the_format("server")


def discover(paths: Any, **more: Any) -> Discovery:
    found = discover_openapi({"openapi": "3.0.3", "info": {"title": "Shop"}, "paths": paths, **more})
    for draft in found.drafts:
        HTTP.validate(draft.binding)
    for server in found.servers.values():
        SERVER.validate(server)
    return found


def swagger(paths: Any, **more: Any) -> Discovery:
    document = {"swagger": "2.0", "info": {"title": "Shop"}, "host": "shop.example", "paths": paths, **more}
    found = discover_openapi(document)
    for draft in found.drafts:
        HTTP.validate(draft.binding)
    return found


def one(operation: Any, path: str = "/things", method: str = "get", **more: Any) -> Draft:
    (draft,) = discover({path: {method: operation}}, **more).drafts
    return draft


def left_out(operation: Any, path: str = "/things", method: str = "get", **more: Any) -> str:
    found = discover({path: {method: operation}}, servers=[{"url": "https://shop.example"}], **more)
    assert not found.drafts
    (item,) = found.left_out
    return item.why


def query(name: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema or {"type": "string"}, **more}


# Who an operation is -------------------------------------------------------------------------------------------------


def test_an_operation_is_its_method_and_path() -> None:
    draft = one({"operationId": "whatever", "tags": ["Things", "Things", 3]}, "/things/{id}/parts")

    assert draft.id == "http:GET /things/{id}/parts"
    assert draft.words == ("get", "things", "id", "parts")
    assert draft.where == "#/paths/~1things~1{id}~1parts/get"
    assert draft.tags == ["Things"]
    assert draft.kind == "openapi"


@pytest.mark.parametrize(
    ("method", "category", "risk", "idempotency"),
    [
        ("get", "read", "low", "idempotent"),
        ("head", "read", "low", "idempotent"),
        ("options", "read", "low", "idempotent"),
        ("trace", "read", "low", "idempotent"),
        ("post", "write", "medium", "not_idempotent"),
        ("patch", "write", "medium", "not_idempotent"),
        ("put", "write", "medium", "idempotent"),
        ("delete", "write", "high", "idempotent"),
    ],
)
def test_a_method_says_what_it_may_do(method: str, category: str, risk: str, idempotency: str) -> None:
    draft = one({}, method=method)

    assert (draft.category, draft.risk, draft.idempotency) == (category, risk, idempotency)
    assert draft.binding["method"] == method.upper()
    assert bool(draft.side_effects) == (method in ("put", "patch", "delete"))


def test_texts_are_the_documents_own_without_markup() -> None:
    draft = one(
        {"summary": "List\nthings", "description": "<p>All of <b>them</b> &amp; more\x1b[31m.</p>", "deprecated": True}
    )

    assert draft.title == "List things"
    assert draft.description == "Deprecated. List things\n\nAll of them & more."
    assert "The document calls it deprecated." in draft.notes
    assert one({}).description == "Sends GET /things."
    silent = {"operationId": "get_allThings", "responses": {"200": {"description": "A list."}}}
    assert one(silent).description == "Get all things. A list."
    said = {f"/{one}": {"get": {"operationId": f"shop_show_{one}"}} for one in ("cat", "dog")}
    assert [draft.description for draft in discover(said).drafts] == ["Show cat.", "Show dog."]
    assert one({"responses": {"200": {"description": "A list"}}}).description == "A list."
    assert one({"summary": "x" * 9_000, "description": 3}).title == "x" * 149 + "…"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("things", "does not begin with a slash"),
        ("/?Action=List", "a query or a fragment"),
        ("/#Action", "a query or a fragment"),
        ("/a b", "what no path has"),
        ("/a\\b", "what no path has"),
        ("/../a", "leads out"),
        ("//evil.example/a", "leads out"),
        ("/a/{b", "braces"),
        ("/a/{}", "braces"),
        ("/a/}{", "braces"),
        ("/{{a}}", "braces"),
        ("/a/%2f", "segments between slashes"),
        ("/a//b", "neither empty nor dots"),
        ("/" + "a" * 2_000, "what no path has"),
    ],
)
def test_a_path_that_cannot_be_sent_costs_its_operation(path: str, why: str) -> None:
    assert why in left_out({}, path)


def test_one_bad_operation_costs_that_operation() -> None:
    found = discover(
        {
            "/bad": {"get": 3, "post": {"parameters": 3}, "put": {"parameters": [{"name": "x"}]}, "query": {}},
            "/gone": {"$ref": "#/nowhere"},
            "/circle": {"$ref": "#/paths/~1circle"},
            "/none": None,
            "/good": {"get": {}},
            "x-note": {},
            "/more": {"additionalOperations": {"COPY": {}}},
        },
        servers=[{"url": "https://shop.example"}],
    )

    assert [draft.id for draft in found.drafts] == ["http:GET /good"]
    assert {item.id: item.why for item in found.left_out} == {
        "http:* /circle": "a reference leads in a circle",
        "http:* /gone": "the reference '#/nowhere' points to nothing",
        "http:COPY /more": "the method 'COPY' cannot be sent",
        "http:GET /bad": "it is not an object",
        "http:POST /bad": "its parameters are not a list",
        "http:PUT /bad": "a parameter says no name or no place",
        "http:QUERY /bad": "the method 'query' cannot be sent",
    }


@pytest.mark.parametrize(
    ("path", "said", "runs"),
    [
        ("/containers/{id}/exec", {}, True),
        ("/pods/{name}/shell/", {}, True),
        ("/tools/script", {"summary": "Execute Lua script"}, True),
        ("/code", {"description": "Run the Python code that is sent.\n\nMore."}, True),
        ("/vm/run", {"summary": "Run command on the VM."}, True),
        ("/x", {"description": "May lead to arbitrary code being run."}, True),
        ("/exec/{id}/resize", {"summary": "Resize a session"}, False),
        ("/workflows/run", {"summary": "Run a workflow", "description": "Runs it.\n\nNo shell command is run."}, False),
        ("/code", {"summary": "Search the code of a repository"}, False),
        ("/x", {"summary": 7, "description": ["Run Python code"]}, True),
    ],
)
def test_what_runs_code_that_is_sent_is_marked(path: str, said: dict[str, Any], runs: bool) -> None:
    parameters = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}] if "{" in path else []
    path = path.replace("{name}", "{id}")
    draft = one({**said, "parameters": parameters, "responses": {"200": {"description": "x"}}}, path, "post")
    assert (draft.runs_code is not None) is runs


def test_a_path_that_is_not_an_object_is_reported() -> None:
    found = discover({"/odd": 7, "/fine": {"get": {"responses": {"200": {"description": "x"}}}}})
    assert [draft.id for draft in found.drafts] == ["http:GET /fine"]
    assert ("http:* /odd", "it is not an object") in [(left.id, left.why) for left in found.left_out]


def test_webhooks_are_reported() -> None:
    found = discover({}, webhooks={"new": {}}, servers=[{"url": "https://shop.example"}])

    assert [item.id for item in found.left_out] == ["webhooks"]


# Parameters ----------------------------------------------------------------------------------------------------------


def test_parameters_of_a_path_and_of_its_operation_are_merged() -> None:
    found = discover(
        {
            "/things/{id}": {
                "parameters": [
                    {"$ref": "#/components/parameters/Id"},
                    query("limit", {"type": "integer"}),
                    {"name": "If-Match", "in": "header", "schema": {"type": "string"}},
                ],
                "get": {"parameters": [query("limit", {"type": "integer", "maximum": 10}, required=True)]},
            }
        },
        components={
            "parameters": {"Id": {"name": "id", "in": "path", "description": "Which.", "schema": {"type": "string"}}}
        },
    )

    (draft,) = found.drafts
    assert draft.input_schema == {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Which.", "minLength": 1},
            "limit": {"type": "integer", "maximum": 10},
            "If-Match": {"type": "string"},
        },
        "required": ["id", "limit"],
        "additionalProperties": False,
    }
    assert draft.binding["parameters"] == [
        {"parameter": "id", "in": "path", "name": "id"},
        {"parameter": "limit", "in": "query", "name": "limit"},
        {"parameter": "If-Match", "in": "header", "name": "If-Match"},
    ]


def test_one_name_in_two_places_gets_its_place_in_front() -> None:
    draft = one(
        {
            "parameters": [query("id"), query("body"), query("filter[name]"), query("filter.name"), query("é")],
            "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
        },
        "/things/{id}",
        "post",
    )

    assert list(draft.input_schema["properties"]) == [
        "query_id", "query_body", "filter_name", "filter.name", "query", "path_id", "body_body",
    ]  # fmt: skip
    assert draft.binding["body"] == {"media_type": "application/json", "parameter": "body_body"}


def test_names_that_still_clash_get_a_digest_of_what_they_bind() -> None:
    draft = one({"parameters": [query("a[b]"), query("a b"), query("query_a_b")]})

    names = list(draft.input_schema["properties"])
    assert len(set(names)) == 3
    assert all(name.startswith("query_a_b_") and len(name) == 16 for name in names)


@pytest.mark.parametrize(
    ("said", "bound"),
    [
        ({}, {}),
        ({"style": "form", "explode": True}, {}),
        ({"explode": False}, {"explode": False}),
        ({"style": "pipeDelimited", "explode": False}, {"style": "pipeDelimited"}),
        ({"style": "pipeDelimited", "explode": True}, {"style": "pipeDelimited", "explode": True}),
        ({"style": "deepObject", "explode": True}, {"style": "deepObject", "explode": True}),
        ({"style": "matrix"}, {}),
        ({"allowReserved": True}, {}),
    ],
)
def test_styles_are_said_where_they_are_not_the_default(said: Any, bound: Any) -> None:
    draft = one({"parameters": [query("x", {"type": "array"}, **said)]})

    assert draft.binding["parameters"] == [{"parameter": "x", "in": "query", "name": "x", **bound}]
    assert len(draft.notes) == 1 + (said.get("style") == "matrix" or "allowReserved" in said)


def test_a_parameter_may_be_a_text_of_a_media_type() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    draft = one({"parameters": [{"name": "q", "in": "query", "content": {"application/json": {"schema": schema}}}]})

    assert draft.input_schema["properties"]["q"] == schema
    assert draft.binding["parameters"] == [
        {"parameter": "q", "in": "query", "name": "q", "media_type": "application/json"}
    ]


def test_what_the_transport_owns_is_not_a_parameter() -> None:
    names = ("Host", "content-length", "Authorization", "Accept", "Content-Type", "X-Forwarded-For", "If-None-Match")
    found = discover(
        {"/things": {"get": {"parameters": [{"name": n, "in": "header", "schema": {"type": "string"}} for n in names]}}}
    )

    (draft,) = found.drafts
    assert list(draft.input_schema["properties"]) == ["If-None-Match"]
    assert len([note for note in draft.notes if "belongs to whoever sends" in note]) == 6
    assert found.servers["shop"]["auth"] == [
        {"kind": "header", "name": "Authorization", "secret_env": "SHOP_AUTHORIZATION"}
    ]


def test_path_and_parameters_need_not_agree() -> None:
    draft = one(
        {"parameters": [{"name": "old", "in": "path", "schema": {}}, query("any", {"description": "x"})]}, "/a/{new}"
    )

    assert draft.input_schema["properties"] == {
        "any": {"type": "string", "description": "x"},
        "new": {"type": "string", "minLength": 1},
    }
    assert draft.notes[:3] == [
        "old has no place in the path and was left out.",
        "Nothing says what any is; a text is taken.",
        "new stands in the path and is described nowhere; any text is taken.",
    ]


@pytest.mark.parametrize(
    ("parameter", "why"),
    [
        ({"name": "a\r\nb", "in": "header"}, "cannot be sent"),
        ({"name": "a\x00b", "in": "query"}, "cannot be sent"),
        ({"name": "x" * 300, "in": "query"}, "cannot be sent"),
        ({"name": "a", "in": "nowhere"}, "nothing can be sent in 'nowhere'"),
    ],
)
def test_a_parameter_that_cannot_be_sent_costs_its_operation(parameter: Any, why: str) -> None:
    assert why in left_out({"parameters": [parameter]})


def test_too_many_parameters_cost_the_operation() -> None:
    assert "more than 400" in left_out({"parameters": [query(f"p{i}") for i in range(401)]})
    long = [query("n" * 55 + str(i)) for i in range(200)]
    assert "10,000 bytes to list" in left_out({"parameters": long})


# Bodies --------------------------------------------------------------------------------------------------------------


def body(content: Any, **more: Any) -> dict[str, Any]:
    return {"requestBody": {"content": content, **more}}


def test_an_object_of_json_is_a_parameter_for_each_property() -> None:
    schema = {
        "type": "object",
        "properties": {"id": {"type": "integer", "readOnly": True}, "name": {"type": "string", "title": "Name"}},
        "required": ["id", "name"],
    }
    draft = one(
        body(
            {"text/xml": {}, "application/vnd.shop+json": {}, "application/json; charset=utf-8": {"schema": schema}},
            required=True,
            description="The thing.",
        ),
        method="post",
    )

    assert draft.input_schema == {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
        "additionalProperties": False,
    }
    fields = [{"parameter": "name", "name": "name"}]
    assert draft.binding["body"] == {"media_type": "application/json", "fields": fields}
    assert draft.description == "Sends POST /things.\n\nThe body: The thing."
    assert (
        draft.notes[0]
        == "The body is sent as application/json; the server also takes application/vnd.shop+json, text/xml."
    )


BASE = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
NAMED = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        (NAMED, ["name", "age"]),
        ({"allOf": [BASE, {**NAMED, "additionalProperties": False}], "description": "x"}, ["id", "name", "age"]),
        ({"allOf": [{"allOf": [{"$ref": "#/components/schemas/Base"}, NAMED]}]}, ["id", "name", "age"]),
        ({"$ref": "#/components/schemas/Base"}, ["id"]),
        ({"properties": {"a": {}}, "minProperties": 1}, ["a"]),
        ({"anyOf": [NAMED, {"type": "null"}]}, ["name", "age"]),
        ({**NAMED, "nullable": True}, ["name", "age"]),
        ({"type": "object"}, ["body"]),
        ({"type": "array", "items": NAMED}, ["body"]),
        ({"oneOf": [NAMED, BASE]}, ["body"]),
        ({**NAMED, "anyOf": [{"required": ["name"]}, {"required": ["age"]}]}, ["body"]),
        ({**NAMED, "discriminator": {"propertyName": "name"}}, ["body"]),
        ({**NAMED, "additionalProperties": True}, ["body"]),
        ({"allOf": [BASE, {**NAMED, "additionalProperties": {"type": "string"}}]}, ["body"]),
        ({**NAMED, "patternProperties": {"x": {}}}, ["body"]),
        ({**NAMED, "required": ["other"]}, ["body"]),
        ({"properties": {"what?": {}}}, ["body"]),
        ({"properties": {"key": {}}}, ["key", "body"]),
        ({"properties": {f"p{i}": {} for i in range(65)}}, ["body"]),
        ({"allOf": [{"$ref": "#/components/schemas/Loop"}]}, ["body"]),
    ],
)
def test_a_body_is_spread_where_nothing_is_lost(schema: Any, names: list[str]) -> None:
    """What the document does not name, a choice of objects and a name that is taken leave the body as it is."""
    taken = [query("key")] if "key" in names else []
    schemas = {"Base": BASE, "Loop": {"allOf": [{"$ref": "#/components/schemas/Loop"}, NAMED]}}
    draft = one(
        {**body({"application/json": {"schema": schema}}), "parameters": taken},
        method="post",
        components={"schemas": schemas},
    )

    assert list(draft.input_schema["properties"]) == names
    assert ("fields" in draft.binding["body"]) == ("body" not in names)


@pytest.mark.parametrize(
    ("is_required", "needs", "required", "binding"),
    [
        (True, ["name"], ["name"], {}),
        (True, [], None, {}),
        (False, ["name"], None, {"required": False}),
        (False, [], None, {}),
    ],
)
def test_a_body_that_may_be_left_out_requires_nothing(
    is_required: bool, needs: list[str], required: Any, binding: Any
) -> None:
    content = {"application/json": {"schema": {**NAMED, "required": needs}}}

    draft = one(body(content, required=is_required), method="post")

    assert draft.input_schema.get("required") == required
    assert {key: draft.binding["body"][key] for key in draft.binding["body"] if key == "required"} == binding
    assert draft.description.endswith("\n\nThe body, where there is one, needs name.") is bool(binding)
    wordy = one({**body(content, required=is_required), "description": "word " * 900}, method="post")
    assert wordy.description.endswith("…\n\nThe body, where there is one, needs name.") is bool(binding)
    assert len(wordy.description) <= 2_000


@pytest.mark.parametrize(
    ("media_type", "sent", "schema"),
    [
        ("*/*", "application/json", {"type": "object"}),
        ("text/plain", "text/plain", {"type": "string"}),
        ("application/xml", "application/xml", {"type": "string"}),
        ("application/octet-stream", "application/octet-stream", {"type": "string", "contentEncoding": "base64"}),
        ("multipart/form-data", "multipart/form-data", {"type": "object"}),
    ],
)
def test_other_bodies_are_one_parameter_too(media_type: str, sent: str, schema: Any) -> None:
    said = (
        {"type": "object", "additionalProperties": {"type": "string"}} if "form" in media_type else {"type": "object"}
    )
    draft = one(body({media_type: {"schema": said}}), method="post")

    assert draft.binding["body"] == {"media_type": sent, "parameter": "body"}
    assert draft.input_schema["properties"]["body"] == schema


def test_the_fields_of_a_form_are_parameters() -> None:
    schema = {
        "allOf": [{"$ref": "#/components/schemas/Base"}],
        "properties": {
            "file": {"type": "string", "format": "binary", "description": "The picture."},
            "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
            "meta": {"type": "object"},
            "seen": {"type": "string", "readOnly": True},
        },
        "required": ["file"],
    }
    draft = one(
        body(
            {"multipart/form-data": {"schema": schema, "encoding": {"file": {"contentType": "image/png, image/jpeg"}}}}
        ),
        "/things/{name}",
        "post",
        components={"schemas": {"Base": {"properties": {"name": {"type": "string"}}, "required": ["name"]}}},
    )

    base64 = {"type": "string", "contentEncoding": "base64"}
    assert draft.input_schema["properties"] == {
        "path_name": {"type": "string", "minLength": 1},
        "form_name": {"type": "string"},
        "file": {**base64, "description": "The picture."},
        "files": {"type": "array", "items": base64},
        "meta": {"type": "object"},
    }
    assert draft.input_schema["required"] == ["path_name", "form_name", "file"]
    assert draft.binding["body"] == {
        "media_type": "multipart/form-data",
        "fields": [
            {"parameter": "form_name", "name": "name"},
            {"parameter": "file", "name": "file", "file": True, "media_type": "image/png"},
            {"parameter": "files", "name": "files", "file": True},
            {"parameter": "meta", "name": "meta"},
        ],
    }


def test_a_form_says_how_lists_and_objects_are_written() -> None:
    schema = {"properties": {"a": {"type": "array"}, "b": {"type": "object"}, "c": {"type": "string"}}}
    encoding = {"a": {"style": "deepObject", "explode": True}, "b": {"explode": False}, "c": {"style": "odd"}}
    draft = one(body({"application/x-www-form-urlencoded": {"schema": schema, "encoding": encoding}}), method="post")

    assert draft.binding["body"]["fields"] == [
        {"parameter": "a", "name": "a", "style": "deepObject", "explode": True},
        {"parameter": "b", "name": "b", "style": "form", "explode": False},
        {"parameter": "c", "name": "c"},
    ]


def test_a_form_without_fields_is_not_a_body() -> None:
    empty = {"application/x-www-form-urlencoded": {"schema": {"properties": {}, "additionalProperties": False}}}

    assert "body" not in one(body(empty)).binding
    assert "body" not in one(body({})).binding
    assert "body" not in one(body({"multipart/form-data": {}}), method="post").binding


def test_a_body_where_there_should_be_none() -> None:
    json_body = body({"application/json": {"schema": {}}})

    assert "body" not in one(json_body, method="trace").binding
    assert "body" in one(json_body, method="delete").binding
    assert "servers are free to ignore it" in one(json_body).notes[0]
    assert "of no known type" in left_out(body({"nonsense": {}}, required=True), method="post")


def odd_in(found: Discovery) -> str:
    (odd,) = [name for name in found.defs if name != "in.Node"]
    return odd


def test_what_a_body_needs_is_shared_and_circles_stay() -> None:
    schemas = {
        "Node": {
            "type": "object",
            "properties": {
                "next": {"$ref": "#/components/schemas/Node"},
                "odd": {"$ref": "#/components/x-odd/a~1b%20c"},
            },
        }
    }
    found = discover(
        {"/things": {"post": body({"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}})}},
        components={
            "schemas": schemas,
            "x-odd": {"a/b c": {"type": "integer", "exclusiveMinimum": True, "minimum": 0, "pattern": "("}},
        },
    )

    (draft,) = found.drafts
    assert draft.input_schema["properties"] == {
        "next": {"$ref": "#/$defs/in.Node"},
        "odd": {"$ref": f"#/$defs/{odd_in(found)}"},
    }
    assert draft.notes[0] == "A pattern that not every validator can search for was left out."
    odd = odd_in(found)
    assert odd.startswith("in.a_b_c.")
    assert found.defs == {
        "in.Node": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/in.Node"}, "odd": {"$ref": f"#/$defs/{odd}"}},
        },
        odd: {"type": "integer", "exclusiveMinimum": 0},
    }


def test_what_only_the_server_sends_is_not_asked_for_wherever_that_is_said() -> None:
    schemas = {
        "Id": {"type": "integer", "readOnly": True},
        "Pet": {"properties": {"id": {"$ref": "#/components/schemas/Id"}, "name": {}}, "required": ["id", "name"]},
        "Dog": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"at": {"allOf": [{"$ref":
            "#/components/schemas/Id"}]}}}], "required": ["id", "name", "at"]},
    }  # fmt: skip
    content = {"application/json": {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/Dog"}}}}

    found = discover({"/dogs": {"post": body(content, required=True)}}, components={"schemas": schemas})

    assert found.defs == {
        "in.Dog": {"allOf": [{"$ref": "#/$defs/in.Pet"}, {"properties": {}}], "required": ["name"]},
        "in.Pet": {"properties": {"name": {}}, "required": ["name"]},
    }
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Dog"}}}
    spread = one(body(content, required=True), method="post", components={"schemas": schemas})
    assert spread.input_schema["properties"] == {"name": {}}
    assert spread.input_schema["required"] == ["name"]


# References that cannot be followed ----------------------------------------------------------------------------------

FAR = {"$ref": "https://evil.example/x.json"}
LOST = [
    FAR,
    {"$ref": "file:///etc/passwd"},
    {"$ref": "#/nowhere"},
    {"$ref": "#anchor"},
    {"$ref": "#/components/schemas/Far"},
]


@pytest.mark.parametrize("lost", LOST)
def test_a_lost_reference_costs_what_hangs_on_it(lost: Any) -> None:
    """An optional parameter goes with a note, a required one is text, a body an object, what is inside is anything."""
    components = {"schemas": {"Far": FAR}}
    parameters = [
        {"name": "id", "in": "path", "required": True, "schema": lost},
        query("q", lost),
        query("r", lost, required=True),
        query("s", {"type": "array", "items": lost}),
        {"$ref": "other.yaml#/parameters/x"},
    ]
    draft = one({"parameters": parameters}, "/things/{id}", components=components)
    assert draft.input_schema["properties"] == {
        "id": {"type": "string", "minLength": 1},
        "r": {"type": "string"},
        "s": {
            "type": "array",
            "items": {} if lost["$ref"] != "#/components/schemas/Far" else {"$ref": "#/$defs/in.Far"},
        },
    }
    assert [note for note in draft.notes if note.startswith("Nothing says what q is, for ")]
    assert [note for note in draft.notes if note.startswith("A parameter is not known: ")]
    for operation, name, schema in (
        (body({"application/json": {"schema": lost}}, required=True), "body", {"type": "object"}),
        ({"requestBody": {"$ref": "#/components/requestBodies/Gone"}}, "body", {"type": "object"}),
        (body({"multipart/form-data": {"schema": {"properties": {"a": lost, "b": {}}}}}), "b", {}),
    ):
        changed = one(operation, method="post", components=components)
        assert changed.input_schema["properties"] == {name: schema}
        assert any("points" in note for note in changed.notes)
    inside = one(
        body({"application/json": {"schema": {"properties": {"a": lost}}}}), method="post", components=components
    )
    assert inside.input_schema["properties"]["a"] in ({}, {"$ref": "#/$defs/in.Far"})


# Answers -------------------------------------------------------------------------------------------------------------


def answer(schema: Any, media_type: str = "application/json") -> dict[str, Any]:
    return {"description": "d", "content": {media_type: {"schema": schema}}}


@pytest.mark.parametrize(
    ("responses", "output"),
    [
        ({}, {"type": "object"}),
        ({"200": {"description": "d"}}, {"type": "object"}),
        ({"200": answer({})}, {"type": "object"}),
        ({"200": answer({"type": "object"})}, {"type": "object"}),
        (
            {"200": answer({"$ref": "#/components/schemas/Thing"})},
            {"type": "object", "properties": {"id": {"type": ["integer", "null"]}}},
        ),
        (
            {"200": answer({"type": "array", "items": {"type": "string"}})},
            {"type": "object", "properties": {"result": {"type": ["array", "null"], "items": {"type": ["string",
            "null"]}}}},
        ),
        ({"200": answer({"type": "string"}, "text/html")}, {"type": "object", "properties": {"result": {"type":
        ["string", "null"]}}}), ({"200": answer({}, "image/png")}, {"type": "object"}),
        ({"204": {"description": "d"}}, {"type": "object", "properties": {"result": {"type": "null"}}}),
        (
            {"200": answer({"$ref": "#/components/schemas/Thing"}), "202": answer({"type": "array"}), "4XX":
            answer({})}, {
                "type": "object",
                "anyOf": [
                    {"properties": {"id": {"type": ["integer", "null"]}}},
                    {"properties": {"result": {"type": ["array", "null"]}}},
                ],
            },
        ),
        ({"200": answer({"anyOf": [{"type": "object", "title": "x"}, {"type": "object", "properties": {}}]})},
         {"type": "object", "anyOf": [{"type": ["object", "null"]}, {"type": ["object", "null"], "properties": {}}]}),
        ({"200": answer({"anyOf": [{"type": "object"}, {"type": "array"}]})}, {"type": "object"}),
        ({"200": answer({"properties": {"a": {}}})}, {"type": "object", "properties": {"a": {}}}),
        ({"200": answer({"type": "object", "nullable": True})}, {"type": "object"}),
        (
            {"200": answer({"type": "object", "properties": {"a": {"type": "string", "example": ["x"]}, "b": {
            "type": "number", "example": 1}}})},
            {"type": "object", "properties": {"a": {"type": ["string", "array", "null"]}, "b": {"type": ["number",
            "null"]}}},
        ),
        ({"200": answer({"$ref": "https://evil.example/x.json"})}, {"type": "object"}),
        ({"200": {"$ref": "https://evil.example/x.json"}}, {"type": "object"}),
        (3, {"type": "object"}),
    ],
)  # fmt: skip
def test_answers_are_described_loosely(responses: Any, output: Any) -> None:
    schemas = {
        "Thing": {
            "type": "object",
            "properties": {"id": {"type": "integer", "minimum": 1}, "secret": {"writeOnly": True}},
            "required": ["id"],
            "additionalProperties": False,
        }
    }

    draft = one({"responses": responses}, components={"schemas": schemas})

    assert draft.output_schema == output


def test_answers_may_be_held_to_all_that_is_said() -> None:
    thing = {
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "required": ["id"],
        "additionalProperties": False,
    }
    paths = {
        "/a": {"get": {"responses": {"200": answer(thing)}}},
        "/b": {"get": {"responses": {"200": answer({"type": "array", "items": {"type": "string"}})}}},
        "/c": {"get": {"responses": {"200": answer({"properties": {}})}}},
    }

    found = discover_openapi({"openapi": "3.1.0", "paths": paths}, strict_answers=True)

    assert [draft.output_schema for draft in found.drafts] == [
        thing,
        {
            "type": "object",
            "properties": {"result": {"type": "array", "items": {"type": "string"}}},
            "required": ["result"],
            "additionalProperties": False,
        },
        {"type": "object"},
    ]


def test_errors_and_statuses_follow_the_table() -> None:
    statuses = (
        "400",
        "401",
        "402",
        "403",
        "404",
        "408",
        "409",
        "412",
        "415",
        "422",
        "423",
        "429",
        "500",
        "504",
        "5XX",
        "304",
    )
    draft = one(
        {
            "responses": {
                **{status: {"description": f"d\n{status}"} for status in statuses},
                "default": {},
                "x-y": {},
                "999": {},
            }
        }
    )

    codes = {error["when"]: error["code"] for error in draft.errors}
    assert codes == {
        "HTTP 304: d 304": "CONFLICT",
        "HTTP 400: d 400": "INVALID_INPUT",
        "HTTP 401: d 401": "UNAUTHORIZED",
        "HTTP 402: d 402": "FORBIDDEN",
        "HTTP 403: d 403": "FORBIDDEN",
        "HTTP 404: d 404": "NOT_FOUND",
        "HTTP 408: d 408": "TIMEOUT",
        "HTTP 409: d 409": "CONFLICT",
        "HTTP 412: d 412": "CONFLICT",
        "HTTP 415: d 415": "INVALID_INPUT",
        "HTTP 422: d 422": "INVALID_INPUT",
        "HTTP 423: d 423": "CONFLICT",
        "HTTP 429: d 429": "RATE_LIMITED",
        "HTTP 500: d 500": "UPSTREAM_ERROR",
        "HTTP 504: d 504": "TIMEOUT",
        "HTTP 5XX: d 5XX": "UPSTREAM_ERROR",
        "Any other status.": "UPSTREAM_ERROR",
    }
    assert draft.binding["statuses"] == {"402": "FORBIDDEN", "423": "CONFLICT"}
    assert any("may want credentials" in note for note in draft.notes)


def test_what_is_asked_for_and_how_it_is_read() -> None:
    both = {"content": {"text/html": {}, "application/json": {}}}

    assert "accept" not in one({"responses": {"200": both}}).binding
    assert one({"responses": {"200": answer({}, "text/csv")}}).binding["accept"] == "text/csv, */*;q=0.5"
    assert one({"responses": {"200": answer({}, "image/*")}}).binding["accept"] == "image/*, */*;q=0.5"
    assert "accept" not in one({"responses": {"200": answer({}, "*/*")}}).binding
    assert one({"responses": {"204": {}}}, method="delete").binding["output"] == {"parser": "none"}
    head = one({"responses": {"200": answer({"type": "object"})}}, method="head")
    assert head.binding["output"] == {"parser": "none"}
    assert head.output_schema == {"type": "object", "properties": {"result": {"type": "null"}}}


def test_redirects_are_followed_where_the_document_names_them() -> None:
    assert "redirects" not in discover({"/a": {"get": {}}}).servers["shop"]
    moved = discover({"/a": {"get": {"responses": {"302": {}}}}})
    assert moved.drafts[0].errors == [
        {"code": "UPSTREAM_ERROR", "when": "HTTP 302 to another origin, which is not followed."}
    ]
    assert moved.servers["shop"]["redirects"] == "same-origin"


# Examples ------------------------------------------------------------------------------------------------------------


def test_examples_of_the_document_that_fit_are_kept() -> None:
    operation = {
        "parameters": [
            {"name": "id", "in": "path", "schema": {"type": "integer", "example": 7}},
            query("q", example="x" * 5_000),
            query("r", {"type": "string", "enum": ["a"]}),
        ],
        **body(
            {
                "application/json": {
                    "schema": {"type": "object", "properties": {"name": {"type": "string"}}},
                    "examples": {
                        "a big one": {"value": {"name": "Bo"}},
                        "wrong": {"value": {"name": 3}},
                        "far": {"externalValue": "https://evil.example"},
                        "gone": {"$ref": "#/components/examples/gone"},
                        "shared": {"$ref": "#/components/examples/ann"},
                    },
                }
            }
        ),
        "responses": {
            "200": {"content": {"application/json": {
                "schema": {"type": "array"}, "examples": {"shared": {"value": [1]}, "a big one": {"value": 3}}}}}
        },
    }  # fmt: skip

    draft = one(operation, "/things/{id}", "put", components={"examples": {"ann": {"value": {"name": "Ann"}}}})

    assert draft.examples == [
        {"input": {"id": 7}},
        {"input": {"id": 7, "name": "Bo"}, "description": "a big one"},
        {"input": {"id": 7, "name": "Ann"}, "description": "shared", "output": {"result": [1]}},
    ]


def test_without_an_example_of_what_is_required_there_is_none() -> None:
    assert one({"parameters": [query("a", required=True), query("b", example="x")]}).examples == []


def test_an_answer_that_the_document_shows_belongs_to_the_plain_call() -> None:
    said = {"200": {"content": {"application/json": {"schema": {"type": "object"}, "example": {"a": 1}}}}}

    assert one({"responses": said}).examples == [{"input": {}, "output": {"a": 1}}]


def test_examples_of_forms_are_those_of_their_fields() -> None:
    schema = {"properties": {"a": {"type": "string", "example": "one"}, "b": {"type": "string"}}}
    form = {"application/x-www-form-urlencoded": {"schema": schema, "example": {"b": "two"}}}

    assert one(body(form), method="post").examples == [{"input": {"a": "one", "b": "two"}}]


# Credentials and servers ---------------------------------------------------------------------------------------------


def test_security_schemes_become_names_of_variables() -> None:
    found = discover(
        {"/a": {"get": {"parameters": [query("api_key"), query("q")]}}},
        servers=[{"url": "https://shop.example"}],
        components={
            "securitySchemes": {
                "basicAuth": {"type": "http", "scheme": "Basic"},
                "bearer_token": {"type": "http", "scheme": "bearer"},
                "oidc": {"type": "openIdConnect"},
                "oauth": {"type": "oauth2"},
                "queryKey": {"type": "apiKey", "in": "query", "name": "api_key"},
                "session": {"type": "apiKey", "in": "cookie", "name": "sid"},
                "token": {"type": "apiKey", "in": "header", "name": "X-Token"},
                "digest": {"type": "http", "scheme": "digest"},
                "tls": {"type": "mutualTLS"},
                "evil": {"type": "apiKey", "in": "header", "name": "X\r\nY"},
                "host": {"type": "apiKey", "in": "header", "name": "Host"},
                "gone": {"$ref": "#/nowhere"},
            }
        },
    )

    assert found.servers["shop"]["auth"] == [
        {"kind": "basic", "username_env": "API_SHOP_BASIC_USERNAME", "secret_env": "API_SHOP_BASIC_PASSWORD"},
        {"kind": "bearer", "secret_env": "API_SHOP_BEARER_TOKEN"},
        {"kind": "bearer", "secret_env": "API_SHOP_OAUTH_TOKEN"},
        {"kind": "bearer", "secret_env": "API_SHOP_OIDC_TOKEN"},
        {"kind": "query", "name": "api_key", "secret_env": "API_SHOP_QUERY_KEY"},
        {"kind": "cookie", "name": "sid", "secret_env": "API_SHOP_SESSION_KEY"},
        {"kind": "header", "name": "X-Token", "secret_env": "API_SHOP_TOKEN"},
    ]
    assert [item.id for item in found.left_out] == [
        "security:digest", "security:evil", "security:gone", "security:host", "security:tls",
    ]  # fmt: skip
    assert list(found.drafts[0].input_schema["properties"]) == ["q"]
    assert found.drafts[0].notes[0] == "api_key is sent with the server's credentials."


@pytest.mark.parametrize(
    ("said", "description"),
    [
        ({}, "Sends GET /a/{id}."),
        ({"responses": {"200": {"description": "OK"}}}, "Sends GET /a/{id}."),
        ({"operationId": "findAll", "responses": {"200": {"description": "Successful Response"}}}, "Find all."),
        ({"operationId": "findAll", "responses": {"200": {"description": "The books"}}}, "Find all. The books."),
    ],
)
def test_an_answer_that_is_fine_is_no_description(said: dict[str, Any], description: str) -> None:
    (draft,) = discover({"/a/{id}": {"get": said}}).drafts
    assert draft.description == description


def test_a_discriminator_is_told_in_words() -> None:
    refs = [{"$ref": "#/components/schemas/Card"}, {"$ref": "#/components/schemas/Bank"}]
    body = {"oneOf": refs, "discriminator": {"propertyName": "kind", "mapping": {"card": "#/components/schemas/Card"}}}
    found = discover(
        {"/pay": {"post": {"requestBody": {"required": True, "content": {"application/json": {"schema": body}}}}}},
        components={"schemas": {name: {"type": "object", "required": ["kind"]} for name in ("Card", "Bank")}},
    )
    (schema,) = found.drafts[0].input_schema["properties"].values()
    assert schema["description"] == "kind says which of them it is: card (Card), Bank."


def security_of(operations: dict[str, Any], **more: Any) -> dict[str, Any]:
    schemes = {
        "oauth": {"type": "oauth2"},
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "same": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "tls": {"type": "mutualTLS"},
    }
    found = discover(
        {f"/{name}": {"get": said} for name, said in operations.items()},
        servers=[{"url": "https://shop.example"}],
        components={"securitySchemes": schemes},
        **more,
    )
    return {draft.id.partition("/")[2]: draft.binding.get("security") for draft in found.drafts}


def test_the_security_of_an_operation_is_that_of_its_requests() -> None:
    key = {"name": "x-key", "in": "header", "schema": {"type": "string"}}
    token = {"name": "Authorization", "in": "header", "schema": {"type": "string"}}
    operations = {
        "global": {},
        "open": {"security": []},
        "or": {"security": [{"key": []}, {"oauth": ["read"]}]},
        "and": {"security": [{"key": [], "oauth": []}]},
        "optional": {"security": [{}, {"key": []}]},
        "carried": {"security": [{"tls": [], "key": []}]},
        "unsent": {"security": [{"tls": []}]},
        "unknown": {"security": [{"nobody": []}]},
        "broken": {"security": [7, {"key": []}]},
        "parameter": {"security": [], "parameters": [key]},
        "header": {"security": [], "parameters": [token]},
        "both": {"security": [{"oauth": []}], "parameters": [key, token]},
    }

    assert security_of(operations, security=[{"oauth": []}]) == {
        "global": [["oauth"]],
        "open": [],
        "or": [["key"], ["oauth"]],
        "and": [["key", "oauth"]],
        "optional": [[], ["key"]],
        "carried": [["key"]],
        "unsent": [["tls"]],
        "unknown": [["nobody"]],
        "broken": [["key"]],
        "parameter": [["key"]],
        "header": [["oauth"]],
        "both": [["oauth", "key"]],
    }
    assert security_of({"silent": {}, "said": {"security": [{"same": []}]}}) == {"silent": [], "said": [["same"]]}
    assert security_of({"forgotten": {}}) == {"forgotten": None}


def test_credentials_go_to_servers_of_the_same_origin_alone() -> None:
    found = discover(
        {f"/{at}": {"get": {"servers": [{"url": at}]}} for at in ("https://shop.example/v2", "https://cdn.example")},
        servers=[{"url": "https://shop.example/v1"}],
        components={"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        security=[{"key": []}],
    )
    sent = {server["base_url"]: "auth" in server for server in found.servers.values()}
    assert sent == {"https://shop.example/v1": True, "https://shop.example/v2": True, "https://cdn.example": False}


def test_a_document_cannot_name_a_variable_that_other_programs_read() -> None:
    document = {
        "openapi": "3.1.0",
        "info": {"title": "OpenAI"},
        "servers": [{"url": "https://openai.evil.example"}],
        "components": {"securitySchemes": {"api": {"type": "apiKey", "in": "header", "name": "X"}}},
    }

    (server,) = discover_openapi(document).servers.values()
    assert server["auth"][0]["secret_env"] == "API_OPENAI_API_KEY"
    assert server["base_url_env"] == "API_OPENAI_BASE_URL"
    (named,) = discover_openapi(document, base_url="https://api.example").servers.values()
    assert named["auth"][0]["secret_env"] == "OPENAI_API_KEY"


def test_an_operation_may_have_a_server_of_its_own_without_our_credentials() -> None:
    found = discover(
        {
            "/a": {
                "servers": [{"url": "https://files.example"}],
                "get": {},
                "put": {"servers": [{"url": "https://shop.example"}]},
            },
            "/b": {"get": {"servers": [{"url": "ftp://x"}]}},
        },
        servers=[{"url": "https://shop.example"}],
        components={"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    )

    by_id = {draft.id: draft.binding["server"] for draft in found.drafts}
    own = by_id["http:GET /a"]
    assert by_id == {"http:GET /a": own, "http:PUT /a": "shop", "http:GET /b": "shop"}
    assert found.servers[own] == {"base_url": "https://files.example"}
    assert found.servers["shop"]["auth"]


def test_a_named_base_url_stands_for_all_servers() -> None:
    document = {"openapi": "3.1.0", "paths": {"/a": {"servers": [{"url": "https://files.example"}], "get": {}}}}

    found = discover_openapi(document, base_url="http://127.0.0.1:8000")

    assert list(found.servers) == ["api"]


# Swagger 2 -----------------------------------------------------------------------------------------------------------


def test_parameters_of_swagger_2() -> None:
    found = swagger(
        {
            "/things/{id}": {
                "get": {
                    "parameters": [
                        {"in": "path", "name": "id", "type": "int", "required": False, "x-example": 3},
                        {"in": "query", "name": "a", "type": "array", "items": {"type": "string"}},
                        {"in": "query", "name": "b", "type": "array", "collectionFormat": "multi"},
                        {"in": "query", "name": "c", "type": "array", "collectionFormat": "ssv"},
                        {"in": "query", "name": "d", "type": "array", "collectionFormat": "tsv"},
                        {"in": "query", "name": "e", "type": "array", "collectionFormat": "pipes"},
                        {"in": "query", "name": "f", "schema": {"type": "object"}, "style": "form", "explode": True},
                        {"in": "header", "name": "X-G", "type": "string", "description": "g", "default": "x"},
                    ]
                }
            }
        }
    )

    (draft,) = found.drafts
    assert [{k: v for k, v in entry.items() if k not in ("in", "name")} for entry in draft.binding["parameters"]] == [
        {"parameter": "id"},
        {"parameter": "a", "explode": False},
        {"parameter": "b"},
        {"parameter": "c", "style": "spaceDelimited"},
        {"parameter": "d", "style": "tabDelimited"},
        {"parameter": "e", "style": "pipeDelimited"},
        {"parameter": "f"},
        {"parameter": "X-G"},
    ]
    assert draft.input_schema["required"] == ["id"]
    assert draft.input_schema["properties"]["id"] == {"type": "integer", "examples": [3]}
    assert draft.input_schema["properties"]["X-G"] == {"type": "string", "default": "x", "description": "g"}
    assert draft.examples == [{"input": {"id": 3}}]


def test_bodies_of_swagger_2() -> None:
    found = swagger(
        {
            "/json": {"post": {"parameters": [
                {"in": "body", "name": "Thing", "required": True, "description": "d", "schema": {"$ref":
                "#/definitions/Thing"}}
            ]}},
            "/form": {"post": {"parameters": [
                {"in": "formData", "name": "a", "type": "string", "required": True, "description": "d"},
                {"in": "formData", "name": "b", "type": "array", "items": {"type": "string"}, "collectionFormat":
                "csv"},
            ]}},
            "/file": {"post": {"consumes": ["multipart/form-data"], "parameters": [
                {"in": "formData", "name": "f", "type": "file", "x-example": "eA=="}, {"in": "formData", "type":
                "string", "name": "n"}
            ]}},
        },
        definitions={"Thing": {"type": "object", "properties": {"n": {"type": "integer", "x-nullable": True}}}},
        consumes=["application/xml", "application/json"],
    )  # fmt: skip

    file, form, json_ = found.drafts
    fields = [{"parameter": "n", "name": "n"}]
    assert json_.binding["body"] == {"media_type": "application/json", "fields": fields}
    assert json_.input_schema["properties"] == {"n": {"type": ["integer", "null"]}}
    assert found.defs == {}
    assert form.binding["body"] == {
        "media_type": "application/x-www-form-urlencoded",
        "fields": [
            {"parameter": "a", "name": "a"},
            {"parameter": "b", "name": "b", "style": "form", "explode": False},
        ],
    }
    assert form.input_schema["required"] == ["a"]
    assert file.binding["body"] == {
        "media_type": "multipart/form-data",
        "fields": [{"parameter": "f", "name": "f", "file": True}, {"parameter": "n", "name": "n"}],
    }
    assert file.input_schema["properties"]["f"] == {"type": "string", "contentEncoding": "base64"}


def test_answers_and_credentials_of_swagger_2() -> None:
    found = swagger(
        {
            "/a": {
                "get": {
                    "produces": ["application/json"],
                    "responses": {
                        "200": {"schema": {"type": "object"}, "examples": {"application/json": {"a": 1}}},
                        "204": {},
                    },
                }
            },
            "/b": {"get": {"responses": {"200": {"description": "x"}}}},
        },
        produces=["image/png"],
        securityDefinitions={"basic": {"type": "basic"}},
    )

    first, second = found.drafts
    assert first.output_schema == {"type": "object"}
    assert first.examples == [{"input": {}, "output": {"a": 1}}]
    assert second.binding["accept"] == "image/png, */*;q=0.5"
    assert found.servers["shop"]["auth"] == [
        {"kind": "basic", "username_env": "API_SHOP_BASIC_USERNAME", "secret_env": "API_SHOP_BASIC_PASSWORD"}
    ]


@pytest.mark.parametrize(
    ("operation", "path", "category"),
    [
        ({"summary": "Delete all data"}, "/data", "write"),
        ({"operationId": "resetAll"}, "/all", "write"),
        ({}, "/cache/clear", "write"),
        ({"operationId": "getReset"}, "/reset", "read"),
        ({"summary": "List deleted things"}, "/deleted", "read"),
    ],
)
def test_a_get_that_says_that_it_destroys_is_a_write(operation: Any, path: str, category: str) -> None:
    draft = one({**operation, "responses": {}}, path)
    assert draft.category == category
    assert (draft.risk, draft.idempotency) == (
        ("low", "idempotent") if category == "read" else ("high", "not_idempotent")
    )
