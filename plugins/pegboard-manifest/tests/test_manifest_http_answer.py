"""What an answer means: data, a resource or an error; whatever a server sends."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import BinaryContent, ErrorCode, ToolError, ToolResult
from pegboard_manifest.bindings.http.answer import MAX_SAID, Reading, error_of, read_answer
from pegboard_manifest.bindings.http.statuses import code_of

JSON = {"Content-Type": "application/json; charset=utf-8"}


def read(status=200, headers=JSON, body=b"", reading=None, uri=None, **binding):
    return read_answer(binding, status, headers, body, Reading() if reading is None else reading, uri)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (200, None),
        (299, None),
        (100, "UPSTREAM_ERROR"),
        (302, "UPSTREAM_ERROR"),
        (304, "CONFLICT"),
        (400, "INVALID_INPUT"),
        (401, "UNAUTHORIZED"),
        (402, "INVALID_INPUT"),
        (403, "FORBIDDEN"),
        (404, "NOT_FOUND"),
        (408, "TIMEOUT"),
        (409, "CONFLICT"),
        (410, "NOT_FOUND"),
        (412, "CONFLICT"),
        (418, "INVALID_INPUT"),
        (422, "INVALID_INPUT"),
        (429, "RATE_LIMITED"),
        (500, "UPSTREAM_ERROR"),
        (503, "UPSTREAM_ERROR"),
        (504, "TIMEOUT"),
        (599, "UPSTREAM_ERROR"),
        (999, "UPSTREAM_ERROR"),
    ],
)
def test_each_status_has_its_code(status, code):
    assert code_of(status) == code


def test_the_bindings_statuses_come_first_and_an_exact_one_wins():
    own = {"4XX": "FORBIDDEN", "404": "CONFLICT", "202": "TIMEOUT"}
    assert [code_of(status, own) for status in (400, 404, 202, 200, 500)] == [
        "FORBIDDEN",
        "CONFLICT",
        "TIMEOUT",
        None,
        "UPSTREAM_ERROR",
    ]
    assert read(202, statuses=own).code is ErrorCode.TIMEOUT


def test_json_is_data_and_no_object_is_wrapped():
    assert read(body=b'{"a": 1}') == {"a": 1}
    assert read(body=b"\xef\xbb\xbf[1, null]") == {"result": [1, None]}
    assert read(headers={"content-type": "application/hal+json"}, body=b"1") == {"result": 1}
    assert read(headers=[("CONTENT-TYPE", "application/json; charset=utf-16")], body='{"a":1}'.encode("utf-16")) == {
        "a": 1
    }
    assert read(headers={"content-type": "text/html"}, body=b"{}", output={"parser": "json"}) == {}


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (JSON, b"<html>"),
        (JSON, b'{"a": '),
        (JSON, b'"\xff"'),
        (JSON, b"NaN"),
        (JSON, b"[" * 200 + b"]" * 200),
        ({"content-type": "application/json; charset=utf-16"}, b"\x00"),
        ({"content-type": "application/json; charset=ascii"}, "ü".encode()),
    ],
)
def test_json_that_is_none_is_the_servers_fault_after_the_work(headers, body):
    error = read(headers=headers, body=body)
    assert (error.code, error.details["executed"], error.details["status"]) == (ErrorCode.UPSTREAM_ERROR, True, 200)
    assert "promised JSON" in error.message


def test_texts_are_texts_in_their_own_character_set():
    assert read(headers={"content-type": "text/plain"}, body="ü\n".encode()) == {"result": "ü\n"}
    latin = {"content-type": 'text/html; charset="ISO-8859-1"'}
    assert read(headers=latin, body="ü".encode("latin-1")) == {"result": "ü"}
    assert read(headers={"content-type": "application/atom+xml"}, body=b"<a/>") == {"result": "<a/>"}
    for charset in ("no-such", "rot13", "zip", "idna", "utf-7", "iso-8859-99"):
        odd = {"content-type": f"text/plain; charset={charset}"}
        assert read(headers=odd, body=b"a+AC8-\xff") == {"result": "a+AC8-\ufffd"}
    assert read(body=b"\xff1", output={"parser": "text"}) == {"result": "\ufffd1"}
    assert read(headers={}, body=b"plain") == {"result": "plain"}


def test_bytes_are_a_resource_beside_a_data_of_null():
    png = b"\x89PNG\r\n\x1a\n\x00"
    result = read(headers={"content-type": "image/png"}, body=png, uri="http://h/x")
    assert result == ToolResult(content=(BinaryContent(png, "image/png", "http://h/x"),), data={"result": None})
    for headers in ({}, {"content-type": "x\r\ny"}, {"content-type": "a" * 200 + "/b"}):
        (block,) = read(headers=headers, body=b"\x00").content
        assert block.mime_type == "application/octet-stream"


def test_what_was_made_of_secrets_is_taken_out_of_data_however_it_is_escaped():
    known = Reading(derived=("bWU6/cGFz",))
    body = rb'{"Basic bWU6\/cGFz": ["x bWU6\u002fcGFz", 1, null, {"a": "bWU6/cGFz"}]}'
    assert read(body=body, reading=known) == {"Basic ***": ["x ***", 1, None, {"a": "***"}]}
    assert read(headers={"content-type": "text/plain"}, body=b"a bWU6/cGFz", reading=known) == {"result": "a ***"}
    (block,) = read(headers={"content-type": "image/png"}, body=b"\x00bWU6/cGFz", reading=known).content
    assert block.data == b"\x00***"


def test_an_answer_without_a_body_is_null():
    assert read(body=b"") == {"result": None}
    assert read(body=b"", output={"parser": "text"}) == {"result": ""}
    assert read(headers={"content-type": "text/html"}) == {"result": ""}
    assert read(204, {}, b"stray") == {"result": None}
    assert read(205) == {"result": None}
    assert read(body=b"{}", reading=Reading(method="HEAD")) == {"result": None}
    assert read(body=b"{}", output={"parser": "none"}) == {"result": None}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"message": "No such bucket"}, "No such bucket"),
        ({"error": {"code": 7, "message": "bad id"}}, "bad id"),
        ({"detail": [{"loc": ["query", "limit"], "msg": "not a number"}]}, "query.limit: not a number"),
        ({"errors": [{"field": "name", "message": "too long"}, "x"]}, "name: too long; x"),
        ({"title": "Gone wrong", "status": 400}, "Gone wrong"),
        ([{"description": "d"}], "d"),
        ({"unknown": {"deep": 1}}, ""),
        ({"error": {"error": {"error": {"error": {"error": {"error": "deep"}}}}}}, ""),
    ],
)
def test_an_error_says_what_the_server_says(body, said):
    error = read(400, JSON, json.dumps(body).encode())
    assert error.code is ErrorCode.INVALID_INPUT
    assert error.details["status"] == 400
    assert (
        error.message
        == f"the server refused the request (400){f': {said}' if said else ''}; change the arguments and call again"
    )


def test_the_words_of_a_server_are_cleaned_bounded_and_without_secrets():
    text = "\x1b[31mred\u202e\r\nX: y\x00 " + "word " * 200 + " hunter2"
    error = read(500, {"content-type": "text/plain"}, text.encode())
    assert error.message.startswith("the server failed (500): red X: y word word")
    assert error.message.isprintable()
    assert len(error.message) < MAX_SAID + 100
    secret = Reading(secrets=("hunter2", "hunter2-long"))
    shown = read(500, {"content-type": "text/plain"}, b"user hunter2-long and hun\x00ter2", secret).message
    assert "hunter2" not in shown
    assert shown.count("***") == 2
    html = read(502, {"content-type": "text/html"}, b"<html><TITLE>Bad Gateway</TITLE><script>x</script>").message
    assert "(502): Bad Gateway;" in html
    assert "(500);" in read(500, {"content-type": "text/html"}, b"<p>no title").message
    assert "(500);" in read(500, {"content-type": "image/png"}, b"\x89PNG").message
    assert "(500): {broken;" in read(500, JSON, b"{broken").message


def test_a_redirect_that_is_not_followed_says_where_it_led_and_no_more():
    location = {"Location": "https://u:p@evil.example:8443/a?token=x#f"}
    error = read(302, location)
    assert error.code is ErrorCode.UPSTREAM_ERROR
    assert "sends elsewhere (302): https://evil.example:8443/a;" in error.message
    assert error.details["reason"] == "redirect"
    assert "(301);" in read(301, {"location": "http://[broken"}).message


def test_not_modified_is_a_condition_that_does_not_hold():
    error = read(304)
    assert (error.code, error.details["reason"], error.details["retry"]) == (
        ErrorCode.CONFLICT,
        "not_modified",
        "changed",
    )


def test_how_to_get_in_is_said_by_the_names_of_variables():
    assert "set API_KEY, OTHER to" in read(401, reading=Reading(variables=("API_KEY", "OTHER"))).message
    assert "names none" in read(401).message


def test_when_to_come_again_is_told():
    error = read(429, {"Retry-After": "7"})
    assert (error.code, error.details["retry"], error.details["retry_after_s"]) == (ErrorCode.RATE_LIMITED, "same", 7)
    assert "wait 7 s and call again" in error.message
    assert read(429).details["retry_after_s"] == 1
    busy = read(503, {"Retry-After": "2"}).details
    assert (busy["retry"], busy["retry_after_s"]) == ("same", 2)
    assert read(503).details["retry"] == "unknown"
    assert read(500, reading=Reading(is_idempotent=True)).details["retry"] == "same"


@settings(max_examples=200)
@given(
    st.integers(100, 999),
    st.dictionaries(
        st.sampled_from(["content-type", "location", "retry-after"]),
        st.text(max_size=30)
        | st.sampled_from(
            ["application/json", "text/plain; charset=utf-16", "image/png", "text/html", "http://[", "5"]
        ),
    ),
    st.binary(max_size=60) | st.sampled_from([b"{}", b'{"message": "m"}', b"[1]", b"<title>t</title>", b"null"]),
    st.sampled_from(["auto", "json", "text", "none"]),
)
def test_whatever_a_server_sends_it_is_data_or_an_error(status, headers, body, parser):
    """Any status, headers and bytes give an object, a result with an object, or a typed error of one clean line."""
    value = read(status, headers, body, output={"parser": parser})
    if isinstance(value, ToolError):
        assert not set(value.message) & set("\r\n\x00\x1b\u202e\u2028")
        assert len(value.message) < 700
        json.dumps(value.to_json())
    else:
        data = value.data if isinstance(value, ToolResult) else value
        assert isinstance(data, dict)
        json.dumps(data)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize(
    ("method", "is_idempotent"), [("POST", False), ("PATCH", False), ("GET", False), ("POST", True)]
)
def test_a_server_that_fails_a_write_leaves_open_whether_it_was_done(
    status: int, method: str, is_idempotent: bool
) -> None:
    said = error_of(code_of(status), status, {}, b"", Reading(method=method, is_idempotent=is_idempotent))
    is_open = method != "GET" and not is_idempotent
    assert ("it is not known whether it was done" in said.message) is is_open
    if is_open:
        assert said.details["retry"] == "unknown"
