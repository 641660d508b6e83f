"""From arguments to one request: URLs, bodies, what is refused, and what a binding must not say."""

from __future__ import annotations

import base64
import json
from email import message_from_bytes
from email.policy import HTTP
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, ToolError
from pegboard_manifest.bindings.http.base import Base, base_of
from pegboard_manifest.bindings.http.faults import faults_of, faults_of_server, is_reserved
from pegboard_manifest.bindings.http.request import Template, request_of

SERVER = {"base_url": "https://api.example:8443/v1/"}


def binding(method="GET", path="/items/{id}", parameters=None, **more):
    if parameters is None:
        parameters = [{"parameter": "id", "in": "path", "name": "id"}]
    return {"kind": "http", "server": "s", "method": method, "path": path, "parameters": parameters, **more}


def body_of(body, arguments, schema=None, method="POST"):
    return request_of(binding(method, "/x", [], body=body), SERVER, arguments, schema=schema)


def refusal(function, *arguments, **named):
    with pytest.raises(ToolError) as caught:
        function(*arguments, **named)
    return caught.value


def test_every_place_of_a_request_is_filled():
    request = request_of(
        binding(
            "PUT",
            "/items/{id}/parts/{part}.json",
            [
                {"parameter": "id", "in": "path", "name": "id"},
                {"parameter": "part", "in": "path", "name": "part"},
                {"parameter": "limit", "in": "query", "name": "_limit"},
                {"parameter": "sort", "in": "query", "name": "_sort", "explode": False},
                {"parameter": "filter", "in": "query", "name": "filter", "media_type": "application/json"},
                {"parameter": "match", "in": "header", "name": "If-Match"},
                {"parameter": "sid", "in": "cookie", "name": "sid"},
                {"parameter": "lang", "in": "cookie", "name": "lang"},
            ],
            body={"media_type": "application/json", "parameter": "data"},
        ),
        SERVER,
        {
            "id": "a b",
            "part": 3,
            "limit": 10,
            "sort": ["-x", "y"],
            "filter": {"a": "b c"},
            "match": '"12"',
            "sid": "s=1",
            "lang": "de",
            "data": {"é": None},
        },
    )
    assert request.to_json() == {
        "method": "PUT",
        "url": "https://api.example:8443/v1/items/a%20b/parts/3.json"
        "?_limit=10&_sort=-x,y&filter=%7B%22a%22%3A%22b%20c%22%7D",
        "headers": [
            ["Accept", "application/json, */*;q=0.5"],
            ["If-Match", '"12"'],
            ["Cookie", "sid=s=1; lang=de"],
            ["Content-Type", "application/json"],
        ],
        "body": '{"é":null}',
    }


def test_what_is_not_given_is_left_out_and_a_path_parameter_has_to_be_there():
    bare = request_of(binding("GET", "/", [{"parameter": "q", "in": "query", "name": "q"}]), SERVER, {})
    assert bare.to_json() == {
        "method": "GET",
        "url": "https://api.example:8443/v1/",
        "headers": [["Accept", "application/json, */*;q=0.5"]],
    }
    assert refusal(request_of, binding(), SERVER, {}).details["faults"][0]["path"] == "id"


def test_accept_is_the_bindings_or_the_parameters():
    one = binding("GET", "/", [{"parameter": "a", "in": "header", "name": "accept"}], accept="text/csv")
    assert request_of(one, SERVER, {}).headers == (("Accept", "text/csv"),)
    assert request_of(one, SERVER, {"a": "text/plain"}).headers == (("Accept", "text/plain"),)


def test_a_text_with_a_media_type_of_its_own_goes_as_it_is():
    one = binding("GET", "/", [{"parameter": "q", "in": "query", "name": "q", "media_type": "text/plain"}])
    assert request_of(one, SERVER, {"q": "a&b"}).url.endswith("?q=a%26b")
    assert request_of(one, SERVER, {"q": [1]}).url.endswith("?q=%5B1%5D")
    assert request_of(one, SERVER, {"q": None}).url.endswith("/v1/")


def test_literal_text_of_a_path_is_encoded_and_its_encodings_are_kept():
    assert request_of(binding("GET", "/ä/%7Eme/(x)", []), SERVER, {}).url.endswith("/v1/%C3%A4/%7Eme/(x)")


def test_two_values_cannot_make_dots_together():
    one = binding(
        "GET",
        "/{a}{b}/x",
        [{"parameter": "a", "in": "path", "name": "a"}, {"parameter": "b", "in": "path", "name": "b"}],
    )
    assert request_of(one, SERVER, {"a": "x", "b": "y"}).url.endswith("/v1/xy/x")
    assert refusal(request_of, one, SERVER, {"a": ".", "b": "."}).code is ErrorCode.INVALID_INPUT
    label = binding("GET", "/{a}/x", [{"parameter": "a", "in": "path", "name": "a", "style": "label", "explode": True}])
    error = refusal(request_of, label, SERVER, {"a": ["", None, ""]})
    assert (error.code, error.message) == (
        ErrorCode.INVALID_INPUT,
        "a: expected something that a path segment can hold, got an array of 3 items (an empty value would name another"
        " resource); nothing was sent",
    )
    assert request_of(label, SERVER, {"a": ["b", "c"]}).url.endswith("/v1/.b.c/x")


def test_a_url_and_headers_have_an_end():
    one = binding("GET", "/", [{"parameter": name, "in": "query", "name": name} for name in "ab"])
    long = refusal(request_of, one, SERVER, {"a": "x" * 5_000, "b": "y" * 5_000})
    assert (long.code, "8,000 characters" in long.message) == (ErrorCode.INVALID_INPUT, True)
    heads = binding("GET", "/", [{"parameter": f"h{n}", "in": "header", "name": f"h{n}"} for n in range(9)])
    assert "64,000" in refusal(request_of, heads, SERVER, {f"h{n}": "x" * 7_900 for n in range(9)}).message


def test_an_exploded_object_cannot_take_the_name_of_another_parameter_or_of_credentials():
    server = {**SERVER, "auth": [{"kind": "query", "name": "api key", "secret_env": "K"}]}
    one = binding(
        "GET", "/", [{"parameter": "o", "in": "query", "name": "o"}, {"parameter": "q", "in": "query", "name": "q"}]
    )
    assert request_of(one, server, {"o": {"x": 1}}).url.endswith("?x=1")
    for key in ("q", "api key"):
        assert "name of another parameter" in refusal(request_of, one, server, {"o": {key: 1}}).message


# Bodies.


def test_a_json_body_is_one_argument_or_fields():
    fields = {"media_type": "application/merge-patch+json", "fields": [{"parameter": "a", "name": "A"}]}
    assert body_of(fields, {"a": None}).body == b'{"A":null}'
    assert body_of(fields, {}).body == b"{}"
    assert body_of(fields, {}, method="DELETE").body is None
    assert body_of({**fields, "required": False}, {}).body is None
    assert body_of({**fields, "required": False}, {"a": 1}).body == b'{"A":1}'
    assert dict(body_of(fields, {"a": 1}).headers)["Content-Type"] == "application/merge-patch+json"
    whole = {"media_type": "application/json", "parameter": "data"}
    assert body_of(whole, {"data": [1, "x"]}).body == b'[1,"x"]'
    assert body_of(whole, {}).body is None


def test_nul_in_a_json_body_is_refused_at_its_place_and_a_backslash_is_not():
    whole = {"media_type": "application/json", "parameter": "data"}
    error = refusal(body_of, whole, {"data": {"a": ["x", "y\x00"]}})
    assert error.details["faults"][0]["path"] == "data.a[1]"
    assert refusal(body_of, whole, {"data": {"\x00": 1}}).code is ErrorCode.INVALID_INPUT
    assert json.loads(body_of(whole, {"data": "\\u0000"}).body) == "\\u0000"
    fields = {"media_type": "application/json", "fields": [{"parameter": "a", "name": "A"}]}
    assert refusal(body_of, fields, {"a": "\x00"}).details["faults"][0]["path"] == "a"
    assert refusal(body_of, whole, {"data": "\ud800"}).code is ErrorCode.INVALID_INPUT


def test_a_form_repeats_lists_and_sends_objects_as_json():
    body = {
        "media_type": "application/x-www-form-urlencoded",
        "fields": [
            {"parameter": "a", "name": "a b"},
            {"parameter": "c", "name": "c"},
            {"parameter": "d", "name": "d"},
            {"parameter": "e", "name": "e", "style": "deepObject"},
            {"parameter": "f", "name": "f"},
        ],
    }
    request = body_of(body, {"a": "x&y", "c": [1, 2], "d": {"z": True}, "e": {"k": {"l": "v"}}, "f": ""})
    assert parse_qsl(request.body.decode(), keep_blank_values=True) == [
        ("a b", "x&y"),
        ("c", "1"),
        ("c", "2"),
        ("d", '{"z":true}'),
        ("e[k][l]", "v"),
        ("f", ""),
    ]
    assert body_of(body, {"a": "x" * 100_000}).body == b"a%20b=" + b"x" * 100_000
    whole = {"media_type": "application/x-www-form-urlencoded", "parameter": "data"}
    assert body_of(whole, {"data": {"x": 1, "y": [2, 3]}}).body == b"x=1&y=2&y=3"
    assert refusal(body_of, whole, {"data": [1]}).code is ErrorCode.INVALID_INPUT


def parts_of(request):
    head = f"Content-Type: {dict(request.headers)['Content-Type']}\r\n\r\n".encode()
    return [
        (
            part.get_param("name", header="content-disposition"),
            part.get_filename(),
            part["content-type"] and str(part["content-type"]).replace('"', ""),
            part.get_payload(decode=True),
        )
        for part in message_from_bytes(head + request.body, policy=HTTP).iter_parts()
    ]


def test_a_multipart_body_holds_fields_and_files():
    body = {
        "media_type": "multipart/form-data",
        "fields": [
            {"parameter": "text", "name": "text"},
            {"parameter": "file", "name": "file", "file": True, "media_type": "image/png"},
            {"parameter": "note", "name": "note", "file": True},
            {"parameter": "data", "name": "data"},
            {"parameter": "many", "name": "many"},
            {"parameter": "none", "name": "none"},
            {"parameter": "list", "name": "list", "media_type": "application/json"},
        ],
    }
    schema = {
        "type": "object",
        "properties": {"file": {"anyOf": [{"$ref": "#/$defs/bytes"}, {"type": "null"}]}, "note": {"type": "string"}},
        "$defs": {"bytes": {"type": "string", "contentEncoding": "base64"}},
    }
    png = bytes(range(256))
    arguments = {
        "text": "grüße",
        "file": base64.b64encode(png).decode(),
        "note": "n",
        "data": {"a": 1},
        "many": ["x", "y"],
        "none": None,
        "list": [1, 2],
    }
    request = body_of(body, arguments, schema)
    assert parts_of(request) == [
        ("text", None, None, "grüße".encode()),
        ("file", "file", "image/png", png),
        ("note", "note", "text/plain; charset=utf-8", b"n"),
        ("data", None, "application/json", b'{"a":1}'),
        ("many", None, None, b"x"),
        ("many", None, None, b"y"),
        ("list", None, "application/json", b"[1,2]"),
    ]
    assert body_of(body, arguments, schema) == request
    assert refusal(body_of, body, {"file": "no base64!"}, schema).details["faults"][0]["path"] == "file"
    assert refusal(body_of, body, {"file": 7}, schema).code is ErrorCode.INVALID_INPUT
    whole = {"media_type": "multipart/form-data", "parameter": "data"}
    assert parts_of(body_of(whole, {"data": {'a"b': "c"}})) == [("a%22b", None, None, b"c")]


def test_text_and_bytes_are_bodies_too():
    assert body_of({"media_type": "text/plain", "parameter": "t"}, {"t": "ü\n"}).body == "ü\n".encode()
    assert body_of({"media_type": "text/plain", "parameter": "t"}, {"t": 1.0}).body == b"1"
    assert body_of({"media_type": "text/plain", "parameter": "t"}, {"t": None}).body == b""
    octets = {"media_type": "application/octet-stream", "parameter": "b"}
    schema = {"type": "object", "properties": {"b": {"type": "string", "contentEncoding": "base64"}}}
    assert body_of(octets, {"b": "_-8="}, schema).body == b"\xff\xef"
    assert body_of(octets, {"b": "_-8="}, schema).to_json()["body_hex"] == "ffef"
    assert (
        refusal(body_of, {"media_type": "text/plain", "parameter": "t"}, {"t": "\x00"}).code is ErrorCode.INVALID_INPUT
    )


def test_a_schema_that_refers_in_a_circle_is_not_base64():
    schema = {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}}
    octets = {"media_type": "application/octet-stream", "parameter": "b"}
    one = binding("POST", "/", [], body=octets)
    defs = {"b": {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}, True]}}
    assert request_of(one, SERVER, {"b": "eA=="}, schema=schema, defs=defs).body == b"eA=="
    assert request_of(one, SERVER, {"b": "eA=="}, schema=schema, defs={"b": {"contentEncoding": "base64"}}).body == b"x"


# Where requests go.


@pytest.mark.parametrize(
    ("url", "origin", "path"),
    [
        ("HTTPS://Api.Example:443/V1/", "https://api.example", "/V1"),
        ("http://127.0.0.1:80", "http://127.0.0.1", ""),
        ("http://[::1]:8080/a b/ü", "", ""),
        ("http://[::1]:8080/a/ü", "http://[::1]:8080", "/a/%C3%BC"),
    ],
)
def test_a_base_url_has_a_normal_form(url, origin, path):
    if not origin:
        with pytest.raises(ValueError, match="no user"):
            Base.of(url)
        return
    base = Base.of(url)
    assert (base.origin, base.path) == (origin, path)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "http://u:p@host/",
        "http://host?q",
        "http://host/#f",
        "http://host/../x",
        "http://host/%2e%2e/x",
        "http://host//x",
        "http://host:0",
        "http://host:99999",
        "http://hö.example",
        "http://1.2.3.999",
        "http://127.1",
        "http://2130706433",
        "http://[::g]",
        "http://[:::]",
        "http://host\\@evil",
        "http://host name/",
        "//host",
    ],
)
def test_what_is_not_a_base_url_is_refused_and_not_shown(url):
    with pytest.raises(ValueError, match=r"^(http://|a port|a path|a host)"):
        Base.of(url)
    error = refusal(base_of, {"base_url": "http://x", "base_url_env": "B"}, {"B": url})
    assert error.code is ErrorCode.INTERNAL_ERROR
    assert url not in error.message
    assert "variable B" in error.message


def test_allowed_hosts_hold_for_the_manifest_and_not_for_an_override():
    server = {"base_url": "http://a.example:8080", "base_url_env": "B", "allowed_hosts": ["b.example", "c.example:80"]}
    assert refusal(base_of, server).code is ErrorCode.FORBIDDEN
    assert base_of(server, {"B": "https://other.example"}).origin == "https://other.example"
    assert base_of({**server, "base_url": "http://b.example:9"}, {"B": " "}).port == 9
    assert base_of({**server, "base_url": "http://c.example"}).host == "c.example"
    assert refusal(base_of, {**server, "base_url": "http://c.example:81"}).code is ErrorCode.FORBIDDEN
    assert base_of({"base_url": "http://[::1]:9", "allowed_hosts": ["[::1]:9"]}).host == "::1"


# Faults of a binding.


def test_a_binding_that_is_right_has_no_faults():
    assert faults_of(binding(), {"s": SERVER}) == []
    assert faults_of_server(SERVER) == []
    auth = [
        {"kind": "header", "name": "Authorization", "secret_env": "A"},
        {"kind": "cookie", "name": "sid", "secret_env": "B"},
        {"kind": "basic", "secret_env": "C", "username_env": "D"},
    ]
    assert faults_of_server({**SERVER, "auth": auth, "allowed_hosts": ["api.example"]}) == []


HEAD = {"parameter": "h", "in": "header"}


@pytest.mark.parametrize(
    ("one", "where", "what"),
    [
        (binding(path="/items/{id}/{other}"), "path", 'name "other"'),
        (binding(path="/items"), "path", "{id} in the path"),
        (binding(path="/a/../{id}"), "path", "neither empty nor dots"),
        (binding(path="/a/%2e%2E/{id}"), "path", "neither empty nor dots"),
        (binding(path="//evil.example/{id}"), "path", "neither empty nor dots"),
        (binding(path="/a%2fb/{id}"), "path", "segments between slashes"),
        (binding(path="/a?b={id}"), "path", "no query"),
        (binding(path="/a\\{id}"), "path", "no query"),
        (binding(path="/{{id}"), "path", "segments between slashes"),
        (binding("GET", "/", [{**HEAD, "name": "Host"}]), "parameters[0].name", "a caller may set"),
        (binding("GET", "/", [{**HEAD, "name": "authorization"}]), "parameters[0].name", "a caller may set"),
        (binding("GET", "/", [{**HEAD, "name": "a b"}]), "parameters[0].name", "name of a header"),
        (binding("GET", "/", [{**HEAD, "name": "A\r\nB"}]), "parameters[0].name", "name of a header"),
        (binding("GET", "/", [{**HEAD, "name": "X-Key"}]), "parameters[0].name", "credentials"),
        (
            binding("GET", "/", [{**HEAD, "name": "A"}, {**HEAD, "name": "a"}]),
            "parameters[1].name",
            "no other parameter",
        ),
        (
            binding("GET", "/", [{"parameter": "c", "in": "cookie", "name": "a;b"}]),
            "parameters[0].name",
            "name of a cookie",
        ),
        (
            binding("GET", "/", [{"parameter": "q", "in": "query", "name": "q", "style": "matrix"}]),
            "parameters[0].style",
            "fit a query",
        ),
        (
            binding("GET", "/", [{"parameter": "q", "in": "query", "name": "q", "multi_segment": True}]),
            "parameters[0].multi_segment",
            "a path of style simple",
        ),
        (
            binding("GET", "/", [{"parameter": "q", "in": "query", "name": "q\x00"}]),
            "parameters[0].name",
            "without control",
        ),
        (
            binding("GET", "/", [{"parameter": "q", "in": "query", "name": "q", "style": "form", "media_type": "a/b"}]),
            "parameters[0].media_type",
            "either",
        ),
        (binding(accept="a\r\nX: b"), "accept", "ASCII"),
        (binding(body={"media_type": "nonsense", "parameter": "x"}), "body.media_type", "a media type"),
        (binding(body={"media_type": "text/plain\r\nX: y", "parameter": "x"}), "body.media_type", "a media type"),
        (binding("TRACE", body={"media_type": "text/plain", "parameter": "x"}), "body", "TRACE"),
        (binding(body={"media_type": "text/plain"}), "body", "either"),
        (binding(body={"media_type": "text/plain", "fields": []}), "body.fields", "which have fields"),
        (
            binding(body={"media_type": "application/json", "fields": [{"parameter": "a", "name": "a", "file": True}]}),
            "body.fields[0].file",
            "carries files",
        ),
        (
            binding(
                body={
                    "media_type": "multipart/form-data",
                    "fields": [{"parameter": "a", "name": "a\n", "media_type": "x"}, {"parameter": "b", "name": "a\n"}],
                }
            ),
            "body.fields[0].name",
            "without control",
        ),
    ],
)
def test_a_fault_of_a_binding_is_named_and_its_calls_are_refused(one, where, what):
    server = {**SERVER, "auth": [{"kind": "header", "name": "x-key", "secret_env": "K"}]}
    faults = faults_of(one, {"s": server}, ("tools", 0, "binding"))
    assert faults
    assert any(fault.where == f"tools[0].binding.{where}" and what in fault.expected for fault in faults)
    error = refusal(request_of, one, server, {"id": "x"})
    assert (error.code, error.details["retry"]) == (ErrorCode.INTERNAL_ERROR, "never")


def test_a_server_that_is_not_there_is_named():
    (fault,) = faults_of(binding(), {"t": SERVER})
    assert (fault.where, fault.hint) == ("server", "t")


@pytest.mark.parametrize(
    ("more", "where"),
    [
        ({"base_url": "http://u@x"}, "base_url"),
        ({"allowed_hosts": ["b.example"]}, "base_url"),
        ({"auth": [{"kind": "bearer", "secret_env": "A", "name": "x"}]}, "auth[0].name"),
        ({"auth": [{"kind": "query", "secret_env": "A"}]}, "auth[0].name"),
        ({"auth": [{"kind": "header", "secret_env": "A", "name": "Host"}]}, "auth[0].name"),
        ({"auth": [{"kind": "cookie", "secret_env": "A", "name": "a b"}]}, "auth[0].name"),
        ({"auth": [{"kind": "query", "secret_env": "A", "name": "q", "username_env": "B"}]}, "auth[0].username_env"),
    ],
)
def test_a_fault_of_a_server_is_named(more, where):
    (fault,) = faults_of_server({**SERVER, **more})
    assert fault.where == where


@pytest.mark.parametrize(
    "name",
    ["Host", "content-length", "Transfer-Encoding", "CONNECTION", "Proxy-Authorization", "X-HTTP-Method-Override"],
)
def test_headers_that_frame_a_request_are_reserved(name):
    assert is_reserved(name)
    assert not is_reserved("If-Match")


# The invariant of the room.

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["..", ".", "a/b", "%2e%2e", "%2f", "\r\nX: y", "\x00", "http://evil/", "", "-x", "?", "#", "@evil", "\\"]
    ),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=4), children, max_size=3),
    max_leaves=6,
)
FILES = binding("GET", "/files/{f}", [{"parameter": "f", "in": "path", "name": "f", "multi_segment": True}])


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("a.txt", "a.txt"),
        ("a/b c/d.txt", "a/b%20c/d.txt"),
        ("a/b?c#d", "a/b%3Fc%23d"),
        ("a;b/@c", "a%3Bb/%40c"),
        (5, "5"),
    ],
)
def test_a_value_of_several_segments_keeps_its_slashes(value, path):
    assert request_of(FILES, SERVER, {"f": value}).url == f"https://api.example:8443/v1/files/{path}"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "/",
        "/a",
        "a/",
        "a//b",
        "a/..",
        "../a",
        "a/./b",
        "a/%2e%2e/b",
        "a%2fb",
        "a\\b",
        "a/\x00",
        "a/\uff0e\uff0e/b",
        "a/..;/b",
    ],
)
def test_no_value_of_several_segments_leaves_its_place(value):
    assert refusal(request_of, FILES, SERVER, {"f": value}).code is ErrorCode.INVALID_INPUT


@settings(max_examples=200)
@given(st.lists(st.text(max_size=4) | st.sampled_from(["..", "a", "%2e", "%2f"]), max_size=5).map("/".join))
def test_whatever_the_segments_the_url_stays_below_its_prefix(value):
    """Any text gives a URL below `/v1/files/` with exactly its own segments, or INVALID_INPUT."""
    try:
        url = request_of(FILES, SERVER, {"f": value}).url
    except ToolError as problem:
        if problem.code is not ErrorCode.INVALID_INPUT:
            raise
        return
    assert [unquote(one) for one in urlsplit(url).path.split("/")] == ["", "v1", "files", *value.split("/")]
    assert not {"", ".", ".."} & {*value.split("/")}


TEMPLATE = Template.of(
    binding(
        "POST",
        "/a/{p}/b-{q}/{r}",
        [
            {"parameter": "p", "in": "path", "name": "p"},
            {"parameter": "q", "in": "path", "name": "q", "style": "label", "explode": True},
            {"parameter": "r", "in": "path", "name": "r", "style": "matrix", "explode": True},
            {"parameter": "s", "in": "query", "name": "s"},
            {"parameter": "t", "in": "query", "name": "t", "style": "deepObject"},
            {"parameter": "u", "in": "header", "name": "u"},
            {"parameter": "v", "in": "cookie", "name": "v"},
        ],
        body={"media_type": "application/json", "parameter": "w"},
    ),
    SERVER,
)


@settings(max_examples=400)
@given(
    st.fixed_dictionaries(
        {name: json_values | st.just("x") for name in "pqr"}, optional=dict.fromkeys("stuvw", json_values)
    )
)
def test_whatever_the_arguments_the_url_is_the_tools_own_or_the_call_is_refused(arguments):
    """Any arguments give a request with the base's origin and prefix and the template's segments, or INVALID_INPUT."""
    try:
        request = TEMPLATE.fill(arguments)
    except ToolError as problem:
        if problem.code is not ErrorCode.INVALID_INPUT:
            raise
        return
    parts = urlsplit(request.url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "api.example:8443", "")
    segments = parts.path.split("/")
    assert segments[:3] == ["", "v1", "a"]
    assert len(segments) == 6
    for segment in segments[1:]:
        assert segment
        for seen in (segment, unquote(segment), unquote(unquote(segment))):
            assert seen not in (".", "..")
            assert not set(seen) & set("/\\\r\n\x00")
    for name, value in request.headers:
        assert name.isascii()
        assert value.isascii()
        assert value.isprintable()
    assert request.body is None or json.loads(request.body) == arguments["w"]
