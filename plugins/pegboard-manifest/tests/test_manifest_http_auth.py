"""Credentials: from the environment alone, over TLS or to this machine, and in no text."""

from __future__ import annotations

import pytest

from pegboard import ErrorCode, ToolError
from pegboard_manifest.bindings.http.auth import NONE, credentials_of, variables_of, with_credentials
from pegboard_manifest.bindings.http.base import Base
from pegboard_manifest.bindings.http.request import Request
from pegboard_manifest.hygiene import is_loopback

HTTPS = Base.of("https://api.example")
REQUEST = Request("GET", "https://api.example/x", (("Accept", "*/*"),))


def credentials(auth, environ, base=HTTPS, **binding):
    return credentials_of({"auth": auth}, base, environ, binding)


def refusal(*arguments, **binding):
    with pytest.raises(ToolError) as caught:
        credentials(*arguments, **binding)
    return caught.value


def test_every_kind_goes_where_it_belongs():
    auth = [
        {"kind": "bearer", "secret_env": "TOKEN"},
        {"kind": "basic", "secret_env": "PASSWORD", "username_env": "USER"},
        {"kind": "header", "name": "X-Key", "secret_env": "KEY"},
        {"kind": "query", "name": "api key", "secret_env": "QUERY"},
        {"kind": "cookie", "name": "sid", "secret_env": "COOKIE"},
        {"kind": "header", "name": "X-Unset", "secret_env": "UNSET"},
    ]
    environ = {"TOKEN": "t0ken", "PASSWORD": "pass", "USER": "me", "KEY": "k3yy", "QUERY": "a b&c", "COOKIE": "c00kie"}
    found = credentials(auth, environ)
    sent = with_credentials(Request("GET", "https://api.example/x?q=1", (("Cookie", "lang=de"),)), found)
    assert sent.url == "https://api.example/x?q=1&api%20key=a%20b%26c"
    # One Authorization: the first that is set wins.
    assert sent.headers == (("Cookie", "lang=de; sid=c00kie"), ("Authorization", "Bearer t0ken"), ("X-Key", "k3yy"))
    assert {"t0ken", "pass", "k3yy", "a b&c", "c00kie"} <= set(found.secrets)
    assert found.derived == ("bWU6cGFzcw==", "a%20b%26c", "a+b%26c")
    assert not any(secret in repr(found) for secret in found.secrets)
    assert variables_of({"auth": auth}, {}) == ("TOKEN", "PASSWORD", "KEY", "QUERY", "COOKIE", "UNSET")


def test_basic_is_user_and_password_in_base64():
    auth = [{"kind": "basic", "secret_env": "P", "username_env": "U"}]
    found = credentials(auth, {"P": "open sesame", "U": "Aladdin"})
    assert found.headers == (("Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),)  # RFC 7617, section 2
    assert credentials(auth, {"P": "p"}).headers == (("Authorization", "Basic OnA="),)
    assert refusal(auth, {"P": "p", "U": "a:b"}).details["variable"] == "U"


def test_nothing_is_read_where_nothing_is_set():
    assert credentials([{"kind": "bearer", "secret_env": "T"}], {}) == NONE
    assert with_credentials(REQUEST, NONE) is REQUEST
    assert credentials_of({}, HTTPS, {}, {}) is NONE


SCHEMES = [
    {"scheme": "oauth", "kind": "bearer", "secret_env": "TOKEN"},
    {"scheme": "key", "kind": "header", "name": "X-Key", "secret_env": "KEY"},
    {"scheme": "app", "kind": "query", "name": "app", "secret_env": "APP"},
    {"kind": "cookie", "name": "by_hand", "secret_env": "HAND"},
]
SET = {"TOKEN": "t0ken", "KEY": "k3yy", "APP": "appp", "HAND": "hand"}
ALTERNATIVES = [["oauth"], ["key", "app"]]


@pytest.mark.parametrize(
    ("security", "unset", "sent"),
    [
        (None, "", "Authorization X-Key app by_hand"),
        ([], "", ""),
        ([["key"]], "", "X-Key by_hand"),
        (ALTERNATIVES, "", "Authorization by_hand"),
        (ALTERNATIVES, "TOKEN", "X-Key app by_hand"),
        (ALTERNATIVES, "TOKEN KEY", "by_hand"),
        ([[], ["key"]], "", "X-Key by_hand"),
        ([[], ["key"]], "KEY", "by_hand"),
        ([["digest"], ["key"]], "", "X-Key by_hand"),
        ([["digest", "key"]], "", "by_hand"),
    ],
)
def test_an_operation_gets_the_first_alternative_that_is_fully_set(security, unset, sent):
    environ = {name: value for name, value in SET.items() if name not in unset.split()}
    found = credentials(SCHEMES, environ, **({} if security is None else {"security": security}))
    names = [name for name, _ in found.headers] + [pair.split("=")[0] for pair in (*found.query, *found.cookies)]
    assert names == sent.split()
    assert ("k3yy" in found.secrets) == ("X-Key" in sent)


def test_who_has_to_set_something_reads_which_belong_together():
    def variables(security):
        return variables_of({"auth": SCHEMES}, {"security": security})

    assert variables([["key"]]) == ("KEY", "HAND")
    assert variables([["oauth"], ["key", "app"]]) == ("TOKEN and HAND or KEY and APP and HAND",)
    assert variables([]) == ()


def test_what_is_required_is_asked_of_the_operations_that_take_it():
    auth = [{**SCHEMES[0], "required": True}, {**SCHEMES[1], "required": True}]
    assert credentials(auth, {}, security=[]) is NONE
    assert refusal(auth, {}, HTTPS, security=[["key"]]).details["variable"] == "KEY"
    assert credentials(auth, {"KEY": "k3yy"}, security=[["oauth"], ["key"]]).headers == (("X-Key", "k3yy"),)
    assert refusal(auth, {}, HTTPS, security=[["oauth"], ["key"]]).details["variable"] == "TOKEN"


def test_what_is_required_and_missing_is_named():
    error = refusal([{"kind": "bearer", "secret_env": "MY_TOKEN", "required": True}], {"MY_TOKEN": ""})
    assert (error.code, error.details["variable"]) == (ErrorCode.UNAUTHORIZED, "MY_TOKEN")
    assert "MY_TOKEN is not set" in error.message
    basic = [{"kind": "basic", "secret_env": "P", "username_env": "U", "required": True}]
    assert refusal(basic, {"P": "p"}).details["variable"] == "U"


def test_credentials_go_in_the_clear_to_this_machine_alone():
    auth = [{"kind": "bearer", "secret_env": "T"}]
    error = refusal(auth, {"T": "s3cret"}, Base.of("http://api.example:8080"))
    assert (error.code, error.details["reason"]) == (ErrorCode.FORBIDDEN, "plain_http")
    assert "s3cret" not in error.message
    assert "https://" in error.message
    assert credentials(auth, {}, Base.of("http://api.example")) == NONE
    for here in ("http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"):
        assert credentials(auth, {"T": "s3cret"}, Base.of(here)).headers


def test_a_secret_too_short_to_be_one_is_sent_and_shreds_no_result():
    auth = [{"kind": "bearer", "secret_env": "T"}, {"kind": "query", "name": "q", "secret_env": "Q"}]
    found = credentials(auth, {"T": "a", "Q": "&"})
    assert found.headers == (("Authorization", "Bearer a"),)
    assert found.query == ("q=%26",)
    assert found.secrets == found.derived == ()
    assert credentials(auth, {"T": "abcd"}).secrets == ("abcd",)


def test_one_list_says_what_this_machine_is():
    assert {host for host in ("localhost", "127.0.0.1", "::1", "[::1]", "LOCALHOST") if is_loopback(host)} == {
        "localhost",
        "127.0.0.1",
        "::1",
        "[::1]",
        "LOCALHOST",
    }
    # Neither is free of proxies, nor of a resolver that says something else.
    for host in ("127.0.0.2", "localhost.localdomain", "ip6-localhost", "localhost.example", "", "2130706433"):
        assert not is_loopback(host)
    auth = [{"kind": "bearer", "secret_env": "T"}]
    assert refusal(auth, {"T": "s3cret"}, Base.of("http://127.0.0.2:1")).code is ErrorCode.FORBIDDEN


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bearer", "a\r\nX: y"),
        ("bearer", "token\n"),
        ("bearer", "tökén"),
        ("header", "a\x00"),
        ("cookie", "a;b"),
        ("cookie", "a b"),
        ("query", "a\x00b"),
        ("basic", "a\x00b"),
        ("bearer", "x" * 9_000),
    ],
)
def test_a_secret_that_cannot_be_sent_is_named_and_not_shown(kind, value):
    error = refusal([{"kind": kind, "name": "n", "secret_env": "MY_SECRET"}], {"MY_SECRET": value})
    assert (error.code, error.details["variable"]) == (ErrorCode.UNAUTHORIZED, "MY_SECRET")
    assert value not in error.message


def test_a_url_that_credentials_make_too_long_is_refused():
    found = credentials([{"kind": "query", "name": "q", "secret_env": "Q"}], {"Q": "x" * 7_990})
    with pytest.raises(ToolError, match="8,000") as caught:
        with_credentials(REQUEST, found)
    assert caught.value.code is ErrorCode.INVALID_INPUT
