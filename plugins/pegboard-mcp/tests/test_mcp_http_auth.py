"""Credentials: configured tokens as values, and an OAuth server that is asked about its own."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ConfigError
from pegboard_mcp.server.auth import (
    NOBODY,
    Caller,
    Gatekeeper,
    caller_of,
)
from pegboard_mcp.settings import McpSettings, OAuthSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

BOARD = "https://board.example/mcp"
ISSUER = "https://login.example"
GOOD = {"active": True, "sub": "ada", "client_id": "app", "scope": "tools", "aud": BOARD, "iss": ISSUER}


# -- values


def test_a_request_without_a_caller_is_of_nobody() -> None:
    assert caller_of(None) == caller_of(object()) == NOBODY == Caller()


async def admitted(keeper: Gatekeeper, said: bytes | None) -> tuple[Any, list[Any]]:
    """The caller that is let in with these words, or None, and what was answered."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("a credential is judged by its head alone")

    scope: Any = {"type": "http", "headers": [] if said is None else [(b"authorization", said)]}
    let_in = await keeper.admit(scope, receive, send)
    return (scope["pegboard.caller"] if let_in else None), sent


@given(said=st.one_of(st.binary(max_size=40), st.binary(max_size=20).map(lambda tail: b"Bearer " + tail)))
@settings(max_examples=80)
def test_only_the_very_token_opens(said: bytes) -> None:
    """Whatever stands in the header, nobody is let in but who says a configured token."""
    keeper = Gatekeeper(McpSettings(tokens={"the token": "ada"}), None)
    caller, sent = trio.run(admitted, keeper, said)
    if said[:7].lower() == b"bearer " and said[7:].strip() == b"the token":
        assert caller.user_id == "ada"
    else:
        assert caller is None
        assert sent[0]["status"] == 401


async def test_a_credential_that_is_said_twice_is_none() -> None:
    keeper = Gatekeeper(McpSettings(tokens={"t": "ada"}), None)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Any = {"type": "http", "headers": [(b"authorization", b"Bearer t")] * 2}
    assert not await keeper.admit(scope, None, send)  # type: ignore[arg-type]
    assert sent[0]["status"] == 401


# -- OAuth


class Authority:
    """An authorization server that says what a test wants about a token."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.status = 200

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        from urllib.parse import parse_qs

        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        token = parse_qs(body.decode())["token"][0]
        self.asked.append((token, dict(scope["headers"]).get(b"authorization", b"").decode() or None))
        said = self.answers.get(token, {"active": False})
        content = said if isinstance(said, bytes) else json.dumps(said).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": content})


@contextlib.asynccontextmanager
async def an_authority() -> AsyncIterator[Authority]:
    import socket

    from pegboard_serving.worker import Worker, config_for

    authority = Authority()
    bound = socket.create_server(("127.0.0.1", 0))
    authority.url = f"http://127.0.0.1:{bound.getsockname()[1]}/introspect"
    closing = trio.Event()
    async with trio.open_nursery() as nursery:
        log = logging.getLogger("authority")
        await nursery.start(Worker(authority, config_for(log), log=log).serve, bound, closing)
        yield authority
        closing.set()


def oauth(url: str, **said: Any) -> OAuthSettings:
    return OAuthSettings(issuer=ISSUER, introspection_url=url, resource_url=BOARD, **said)


def text_of(answer: Any) -> str:
    return str(answer.json()["result"]["content"][0]["text"])


async def test_the_authority_says_who_a_token_is_and_is_asked_once(over_http: Callable[..., Any]) -> None:
    async with an_authority() as authority:
        authority.answers["good"] = GOOD
        elicitation = oauth(authority.url, client_id="board", client_secret="s3cret", profile=None)
        async with over_http(oauth=elicitation, tokens={"own": "eve"}) as served:
            for _ in range(3):
                assert text_of(await served.call("who", authorization="Bearer good")).startswith("ada ")
            assert text_of(await served.call("who", authorization="Bearer own")).startswith("eve ")
        assert [token for token, _ in authority.asked] == ["good"]
        assert (authority.asked[0][1] or "").startswith("Basic ")


@pytest.mark.parametrize("step_s", [-86_400.0, -3_600.0, 3_600.0])
async def test_a_clock_that_is_set_keeps_no_token_for_longer(
    over_http: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    wall, elapsed = time.time(), 0.0
    clocks = SimpleNamespace(time=lambda: wall, monotonic=lambda: elapsed)
    monkeypatch.setattr("pegboard_mcp.server.auth.time", clocks)
    async with an_authority() as authority:
        authority.answers["good"] = {**GOOD, "exp": int(wall) + 90_000}
        async with over_http(oauth=oauth(authority.url)) as served:
            assert (await served.call("who", authorization="Bearer good")).status_code == 200
            authority.answers["good"] = {"active": False}  # it is taken back
            wall, elapsed = wall + step_s, elapsed + 59
            assert (await served.call("who", authorization="Bearer good")).status_code == 200
            elapsed += 1
            assert (await served.call("who", authorization="Bearer good")).status_code == 401


BAD: dict[str, tuple[Any, int]] = {
    "inactive": ({**GOOD, "active": False}, 401),
    "longer than any": (json.dumps(GOOD).encode() + b" " * 200_000, 503),
    "good and not": (json.dumps(GOOD).encode().replace(b"{", b'{"active": false, ', 1), 503),
    "almost active": ({**GOOD, "active": "true"}, 401),
    "for another": ({**GOOD, "aud": "https://other.example/mcp"}, 401),
    "for nobody": ({key: value for key, value in GOOD.items() if key != "aud"}, 401),
    "of another": ({**GOOD, "iss": "https://evil.example"}, 401),
    "of no user": ({key: value for key, value in GOOD.items() if key != "sub"}, 401),
    "over": ({**GOOD, "exp": int(time.time()) - 10}, 401),
    "odd": ({**GOOD, "exp": "soon"}, 401),
    "without the scope": ({**GOOD, "scope": "other"}, 403),
    "no object": ([], 503),
    "no json": (b"<html>", 503),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_token_that_is_not_good_here_is_refused(over_http: Callable[..., Any], name: str) -> None:
    answer, status = BAD[name]
    async with an_authority() as authority:
        authority.answers["bad"] = answer
        async with over_http(oauth=oauth(authority.url, required_scopes=("tools",))) as served:
            got = await served.call("who", authorization="Bearer bad")
            assert got.status_code == status
            if status != 503:
                assert "oauth-protected-resource/mcp" in got.headers["www-authenticate"]


async def test_more_than_one_audience_is_good_if_one_is_this_board(over_http: Callable[..., Any]) -> None:
    async with an_authority() as authority:
        authority.answers["good"] = {**GOOD, "aud": ["https://other.example", f"{BOARD}/"], "username": "Ada L."}
        async with over_http(oauth=oauth(authority.url, user_claim="username")) as served:
            assert text_of(await served.call("who", authorization="Bearer good")).startswith("Ada L. ")


async def test_an_authority_that_is_not_there_is_no_refusal(over_http: Callable[..., Any]) -> None:
    async with over_http(oauth=oauth("http://127.0.0.1:1/introspect")) as served:
        got = await served.call("who", authorization="Bearer good")
        assert (got.status_code, "retry-after" in got.headers) == (503, True)
        assert (await served.call("who")).status_code == 401


async def test_an_authority_that_fails_is_not_a_refusal(over_http: Callable[..., Any]) -> None:
    async with an_authority() as authority:
        authority.status = 500
        async with over_http(oauth=oauth(authority.url)) as served:
            assert (await served.call("who", authorization="Bearer good")).status_code == 503


async def test_clients_learn_which_authority_to_ask_without_a_token(over_http: Callable[..., Any]) -> None:
    async with over_http(oauth=oauth("http://127.0.0.1:1/", required_scopes=("tools",))) as served:
        url = served.url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
        answer = await served.raw.get(url)
        assert answer.status_code == 200
        told = answer.json()
        assert (told["resource"], told["authorization_servers"]) == (BOARD, [ISSUER])
        assert told["scopes_supported"] == ["tools"]


@pytest.mark.parametrize("field", ["issuer", "introspection_url", "resource_url"])
def test_an_address_that_is_none_is_refused_at_the_start(field: str) -> None:
    said = {"issuer": ISSUER, "introspection_url": ISSUER, "resource_url": BOARD, field: "nowhere"}
    with pytest.raises(ConfigError, match="oauth"):
        Gatekeeper(McpSettings(oauth=OAuthSettings(**said)), None)


async def test_answers_about_tokens_are_forgotten_after_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from pegboard_mcp.server import auth

    async with an_authority() as authority:
        authority.answers["short"] = {**GOOD, "exp": time.time() + 30}
        authority.answers["long"] = GOOD
        keeper = Gatekeeper(McpSettings(oauth=oauth(authority.url)), None)
        now = time.time()
        for later, asked in ((0, 2), (20, 2), (40, 3), (70, 5)):
            clocks = SimpleNamespace(time=lambda later=later: now + later, monotonic=lambda later=later: later)
            monkeypatch.setattr(auth, "time", clocks)
            for token in (b"short", b"long"):
                await admitted(keeper, b"Bearer " + token)
            assert len(authority.asked) == asked


async def test_no_more_answers_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from pegboard_mcp.server import auth

    monkeypatch.setattr(auth, "MAX_KNOWN", 2)
    async with an_authority() as authority:
        authority.answers |= {token: {**GOOD, "sub": token} for token in ("a", "b", "c")}
        keeper = Gatekeeper(McpSettings(oauth=oauth(authority.url)), None)
        for token in (b"a", b"b", b"c", b"c", b"a"):
            caller, _ = await admitted(keeper, b"Bearer " + token)
            assert caller.user_id == token.decode()
        assert [token for token, _ in authority.asked] == ["a", "b", "c", "a"]
