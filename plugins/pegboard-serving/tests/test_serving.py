"""What HTTP servers share: who is let in, where they listen."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ConfigError
from pegboard_serving import (
    MAX_TOKEN,
    Caller,
    HostCheck,
    Tokens,
    TokenSettings,
    _matches,
    bearer_of,
    bound_socket,
    host_of,
    is_loopback,
    require_credential,
)


@pytest.mark.parametrize(
    ("bind", "alone"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("LOCALHOST", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_loopback_is_what_only_this_machine_reaches(bind: str, alone: bool) -> None:
    assert is_loopback(bind) is alone


def test_an_open_interface_is_refused_only_where_others_come_to_it() -> None:
    require_credential("127.0.0.1", asks_for_credential=False, hint="map tokens")
    require_credential("0.0.0.0", asks_for_credential=True, hint="map tokens")
    with pytest.raises(ConfigError) as refused:
        require_credential("0.0.0.0", asks_for_credential=False, hint="map tokens")
    assert refused.value.hint == "map tokens, or serve on 127.0.0.1"


def test_a_token_is_a_user_or_a_user_with_a_profile() -> None:
    tokens = Tokens({"a": " ada ", "b": TokenSettings(user_id="bob", profile="reader")}, section="plugins.x.tokens")
    one, two = tokens.find("a"), tokens.find("b")
    assert one is not None
    assert two is not None
    assert (one.user_id, one.profile) == ("ada", None)
    assert (two.user_id, two.profile) == ("bob", "reader")
    assert None not in (one.token_id, two.token_id)
    assert one.token_id != two.token_id
    assert tokens.find("c") is tokens.find("") is None
    assert bool(tokens)
    assert not Tokens({}, section="plugins.x.tokens")


@pytest.mark.parametrize(
    "tokens", [{"": "ada"}, {"  ": "ada"}, {"t": " "}, {"t" * (MAX_TOKEN + 1): "ada"}, {"tö": "ada"}, {" t": "ada"}]
)
def test_tokens_that_nobody_can_say_and_blank_users_are_refused_without_showing_them(tokens: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"\[plugins\.x\.tokens\]") as refused:
        Tokens(tokens, section="plugins.x.tokens")
    assert "ttt" not in str(refused.value)


@pytest.mark.parametrize(
    ("headers", "token"),
    [
        ([(b"authorization", b"Bearer abc")], "abc"),
        ([(b"authorization", b"bearer  abc ")], "abc"),
        ([(b"authorization", b"Bearer ")], None),
        ([(b"authorization", b"Basic abc")], None),
        ([(b"authorization", b"Bearer a"), (b"authorization", b"Bearer b")], None),
        ([(b"authorization", b"Bearer " + b"x" * (MAX_TOKEN + 1))], None),
        ([], None),
    ],
)
def test_a_request_brings_one_bearer_token_or_none(headers: list[tuple[bytes, bytes]], token: str | None) -> None:
    assert bearer_of(headers) == token


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        (b"localhost:8000", None, 0),
        (b"127.0.0.1:8000", None, 0),
        (b"[::1]:8000", None, 0),
        (b"board.example", None, 0),
        (b"other.example:81", None, 0),
        (b"evil.example", None, 421),
        (None, None, 421),
        (b"localhost", b"http://localhost:3000", 0),
        (b"localhost", b"https://app.example", 0),
        (b"localhost", b"http://dev.example:5173", 0),
        (b"localhost", b"http://evil.example", 403),
        (b"localhost", b"null", 403),
        (b"localhost", b"file://localhost", 403),
        (b"board.example", b"http://localhost:3000", 403),
    ],
)
def test_host_and_origin_are_held(host: bytes | None, origin: bytes | None, status: int) -> None:
    check = HostCheck(
        "127.0.0.1",
        allowed_hosts=["board.example", "Other.example:*"],
        allowed_origins=["https://app.example", "http://dev.example:*"],
    )
    headers = [(b"host", host)] if host is not None else []
    headers += [(b"origin", origin)] if origin is not None else []
    assert check.judge(headers) == status
    assert check.judge(headers) == status  # as it was remembered


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "image"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}, 0),  # a person follows a link
        ({"sec-fetch-site": "cross-site", "origin": "https://app.example"}, 0),
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-dest": "image"}, 0),  # another port of this machine
        ({"sec-fetch-site": "same-origin"}, 0),
        ({"sec-fetch-site": "none"}, 0),
    ],
)
def test_what_a_browser_sends_for_a_page_of_another_site_is_refused(said: dict[str, str], status: int) -> None:
    check = HostCheck("127.0.0.1", allowed_hosts=(), allowed_origins=["https://app.example"])
    headers = [(b"host", b"localhost"), *((name.encode(), value.encode()) for name, value in said.items())]
    assert check.judge(headers) == status


def test_two_hosts_or_origins_are_none() -> None:
    check = HostCheck("192.0.2.1", allowed_hosts=(), allowed_origins=())
    assert check.judge([(b"host", b"192.0.2.1"), (b"host", b"192.0.2.1")]) == 421
    assert check.judge([(b"host", b"192.0.2.1"), (b"origin", b"a"), (b"origin", b"b")]) == 403


def test_a_caller_without_a_credential_is_nobody() -> None:
    assert Caller() == Caller(user_id=None, profile=None, token_id=None)


@pytest.mark.parametrize("bind", ["no such host.", "256.1.1.1", "x" * 300])
def test_what_is_not_an_address_is_refused(bind: str) -> None:
    with pytest.raises(ConfigError, match="not an address"):
        bound_socket(bind, 0)


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.EADDRINUSE, "end what listens there"),
        (errno.EACCES, "--port from 1024 on"),
        (errno.EADDRNOTAVAIL, "address of this machine"),
        (errno.ENOBUFS, "another --host or --port"),
    ],
)
def test_why_it_cannot_listen_there_is_said_with_what_helps(
    number: int, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refusing(socket.socket):
        def bind(self, address: Any) -> None:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr("socket.socket", Refusing)
    with pytest.raises(ConfigError, match=os.strerror(number)) as problem:
        bound_socket("127.0.0.1", 80)
    assert problem.value.hint is not None
    assert hint in problem.value.hint


# -- names


LOCAL = ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "[0:0::1]", "[::ffff:127.0.0.1]", "LocalHost"]
OTHERS = [
    "[::1]evil.example", "[::1].evil.example", "127.0.0.1.evil.example", "localhost.evil", "localhost.", "127.0.0.1.",
    "user@localhost", "localhost@evil.example", "localhost:80@evil.example", "[::1]:80evil", "[::1", "::1]", "::1",
    "[127.0.0.1]evil", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "127.0.0.1%00.evil", "localhost%2eevil",
    "[::1%25lo]", "[fe80::1%lo]", "[::ffff:127.0.0.1.evil]", "127.0.0.1/evil", "127.0.0.1#evil", "127.0.0.1?evil",
    "127.0.0.1\\evil", "localhost evil", " localhost", "localhost\t", "evil.example", "ｌocalhost", "①27.0.0.1", "",
    ".", "..", "localhost:", "localhost:x", "localhost:65536", "localhost:-1", "localhost:8o", "[::1]:", "192.0.2.1",
    "[2001:db8::1]", "0.0.0.0", "[::]",
]  # fmt: skip
PORTS = ["", ":0", ":80", ":65535"]


@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("name", LOCAL)
def test_pages_of_this_machine_are_served(name: str, port: str) -> None:
    check = HostCheck("127.0.0.1", allowed_hosts=(), allowed_origins=())
    for scheme in ("http", "https"):
        headers = [(b"host", f"{name}{port}".encode()), (b"origin", f"{scheme}://{name}{port}".encode())]
        assert check.judge(headers) == 0


@pytest.mark.parametrize("name", OTHERS)
def test_what_only_looks_like_this_machine_is_not(name: str) -> None:
    check = HostCheck("127.0.0.1", allowed_hosts=(), allowed_origins=())
    assert not is_loopback(host_of(name) or "")
    said = name.encode("utf-8").decode("latin-1").encode("latin-1")
    assert check.judge([(b"host", b"localhost"), (b"origin", b"http://" + said)]) == 403
    if host_of(name) is None:
        assert check.judge([(b"host", said)]) == 421


@given(
    st.sampled_from(LOCAL + OTHERS)
    | st.text(max_size=20)
    | st.ip_addresses().map(str)
    | st.from_regex(r"[\[\]a-z0-9.:@%]+"),
    st.sampled_from(PORTS) | st.text(":@/0123456789]", max_size=6),
)
def test_a_host_is_read_as_urllib_and_ipaddress_read_it(name: str, port: str) -> None:
    """A host that we read is the host that others read there, and nothing stands beside it; what is loopback for us is
    so for `ipaddress`."""
    found = host_of(name + port)
    if found is None:
        return
    parts = urlsplit(f"http://{name}{port}/")
    assert (parts.username, parts.password, parts.path, parts.query, parts.fragment) == (None, None, "/", "", "")
    theirs = parts.hostname or ""
    try:
        address = ipaddress.ip_address(theirs)
    except ValueError:
        assert found == theirs
        assert is_loopback(found) is (found == "localhost")
    else:
        address = getattr(address, "ipv4_mapped", None) or address
        assert found == str(address)
        assert is_loopback(found) is address.is_loopback


@given(st.ip_addresses(), st.sampled_from(PORTS))
def test_every_address_is_a_host(address: Any, port: str) -> None:
    written = f"[{address.exploded.upper()}]" if address.version == 6 else str(address)
    found = host_of(written + port)
    assert found == str(getattr(address, "ipv4_mapped", None) or address)


@pytest.mark.parametrize(
    ("value", "pattern", "matches"),
    [
        ("http://a:80", "http://a:*", True),
        ("http://a", "http://a:*", False),
        ("http://a:80.evil", "http://a:*", False),
        ("http://ab:80", "http://a:*", False),
        ("http://a:80", "http://a:80", False),
    ],
)
def test_a_star_stands_for_a_port(value: str, pattern: str, matches: bool) -> None:
    assert _matches(value, pattern) is matches
