"""A server that turns a login against the person: each file of `attacks/accounts` is one.

The person would see a page that they know, or none, and agree. What must be seen: the page is shown to nobody, or is
what it says, and no code, verifier or token goes anywhere else.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpx2
import pytest
import trio
from attacking import cases
from login import EVIL, GOOD, KEYS, ORIGIN, SERVER, Asked, LoginServer

pytest.importorskip("pegboard_mcp", reason="pegboard_mcp is not installed")

from mcp.client.auth import AuthorizationCodeResult, OAuthFlowError, OAuthTokenError
from pydantic import AnyHttpUrl

from pegboard_mcp.client import oauth
from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports import _web
from pegboard_mcp.definitions import ServerDefinition
from pegboard_mcp.secrets import issued_by, note_issued

if TYPE_CHECKING:
    from pathlib import Path


class Client:
    """What logs in at a server, without a network."""

    def __init__(self, server: LoginServer | None = None) -> None:
        self.server = server or LoginServer()
        self.asked = self.server.asked
        self.shown: list[str] = []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        given = self.server.answer(Asked(str(request.url), dict(request.headers), request.content))
        return httpx2.Response(given.status, content=given.content, headers=given.headers, request=request)

    async def log_in(self, folder: Path, **more: Any) -> None:
        definition = ServerDefinition(name="one", transport="http", url=self.server.url, oauth=True, **more)
        auth = oauth.make_auth(definition, vault=oauth.Vault(folder), say=self.shown.append)
        auth._login.asking = 1

        async def wait() -> AuthorizationCodeResult:
            return AuthorizationCodeResult(code="code-1", state=auth._login._state, iss=self.server.iss)

        auth._provider.context.callback_handler = wait
        flow = auth.async_auth_flow(httpx2.Request("POST", self.server.url, json={}))
        try:
            outgoing = await flow.__anext__()
            while True:
                outgoing = await flow.asend(self.answer(outgoing))
        except StopAsyncIteration:
            pass
        finally:
            auth._login._close()
            await flow.aclose()

    @property
    def given_away(self) -> list[str]:
        """Where codes, verifiers and tokens went."""
        return [one.url for one in self.asked if any(key in f"{one.body!r}{one.headers!r}" for key in KEYS)]


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth, "_keyring", lambda: None)


CASES = cases("accounts")


@pytest.mark.parametrize("key", CASES)
async def test_nobody_is_led_astray_and_nothing_is_given_away(tmp_path: Path, key: str) -> None:
    seen, client = CASES[key].seen, Client(CASES[key].server())
    told = ""
    with trio.fail_after(20):
        try:
            await client.log_in(tmp_path)
        except (LinkError, OAuthFlowError, OAuthTokenError) as refused:
            definition = ServerDefinition(name="one", transport="http", url=client.server.url)
            told = _web.fault_of(refused, definition).explanation
    assert (len(client.shown), bool(told)) == (bool(seen.asked), bool(seen.refused))
    assert seen.refused in told
    pages = "".join(client.shown)
    assert [words for words in seen.asked if words not in pages] == []
    assert pages.replace("\n", "").isascii()
    sent = "\n".join(f"{one.url} {one.headers} {one.body!r}" for one in client.asked)
    assert [words for words in seen.unsent if words in sent] == []
    assert set(client.given_away) <= {str(AnyHttpUrl(f"{client.server.issuer}/token")), f"{ORIGIN}/token", SERVER}


async def test_what_is_configured_to_be_asked_for_is_all_that_is_asked_for(tmp_path: Path) -> None:
    """Attack: a server that once needed to read asks for all in its challenge; people agree to what they know."""
    metadata = {"scopes_supported": ["admin", "offline_access"]}
    client = Client(LoginServer(challenge=', scope="admin read write delete"', metadata=metadata))
    await client.log_in(tmp_path, oauth_scope="read")
    (shown,) = client.shown
    assert parse_qs(urlsplit(shown.split()[-1]).query)["scope"] == ["read"]
    (registered,) = [json.loads(one.body) for one in client.asked if one.path == "/register"]
    assert registered["scope"] == "read"


async def test_what_was_registered_at_one_issuer_is_not_shown_to_another(tmp_path: Path) -> None:
    """Attack: the server names another authorization server the next time (client-id confusion); the secret, the
    refresh token and the codes of the first are what it is after."""
    await Client(LoginServer(issuer=GOOD)).log_in(tmp_path)
    later = Client(LoginServer(challenge="again"))
    with contextlib.suppress(LinkError, OAuthFlowError, OAuthTokenError):
        await later.log_in(tmp_path)
    at_the_other = [one for one in later.asked if one.host == "login.evil.example"]
    assert at_the_other
    for one in at_the_other:
        assert "login.good.example" not in unquote(f"{one.url} {one.body!r} {one.headers}")


HONEST: dict[str, dict[str, Any]] = {
    "all at one place": {},
    "the page at the site of the issuer": {
        "issuer": "https://cf.mcp.good.example",
        "metadata": {"authorization_endpoint": "https://mcp.good.example/v1/authorize"},
    },
    "all at one place of a host of many": {"issuer": "https://tools.one.workers.dev"},
    "the page with a parameter, as of Azure AD B2C": {
        "metadata": {"authorization_endpoint": f"{EVIL}/authorize?p=a%20policy&q"}
    },
    "the token elsewhere": {
        "issuer": "https://accounts.good.example", "metadata": {"token_endpoint": "https://oauth2.goodapis.example/token"}
    },
}  # fmt: skip


@pytest.mark.parametrize("what", HONEST)
async def test_an_honest_server_is_logged_in_at(tmp_path: Path, what: str) -> None:
    client = Client(LoginServer(**HONEST[what]))
    await client.log_in(tmp_path)
    (shown,) = client.shown
    page = urlsplit(shown.split()[-1])
    assert "?" not in page.query
    asked = parse_qs(page.query)
    assert {name for name, values in asked.items() if len(values) != 1} == set()
    assert asked["client_id"] == ["c-1"]
    if "?" in HONEST[what].get("metadata", {}).get("authorization_endpoint", ""):
        assert asked["p"] == ["a policy"]


# -- the answer of a token endpoint, and what becomes of tokens

KEY = "gave-1-as-a-Key-of-its-own"
ODD: dict[str, bytes | dict[str, Any]] = {
    "a header of its own": {"access_token": f"{KEY}\r\nX-Evil: 1"},
    "a blank at its end": {"access_token": f"{KEY} "},
    "NUL": {"access_token": f"{KEY}\0"},
    "letters that no header has": {"access_token": f"{KEY}\u00e9"},
    "hidden letters": {"access_token": f"{KEY}\u202e"},
    "nothing": {"access_token": "", "scope": KEY},
    "a list": {"access_token": [KEY]},
    "more than any header": {"access_token": KEY * 2_000},
    "of another kind": {"access_token": KEY, "token_type": "mac"},
    "the other one with a line": {"refresh_token": f"{KEY}\n"},
    "the other one a list": {"refresh_token": [KEY]},
    "a time that no clock has": {"access_token": KEY, "expires_in": 10**400},
    "a time that is a text": {"access_token": KEY, "expires_in": KEY},
    "a form, as GitHub answers": f"access_token={KEY}&token_type=bearer".encode(),
    "a page": f"<html>{KEY}</html>".encode(),
    "bytes that are not text": b"\xff\xfe" + KEY.encode(),
    "much nested": b"[" * 100_000 + KEY.encode(),
}


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("odd", ODD)
async def test_an_odd_answer_of_a_token_endpoint_is_told_without_a_word_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, odd: str, status: int
) -> None:
    """Attack: an answer that libraries stumble over, and quote where they complain: in an error, which a model reads,
    and in a log. Source: CWE-532; RFC 6750, 2.1 (what a token may consist of); h11 names a header that it refuses."""
    client = Client(LoginServer(token=ODD[odd], token_status=status))
    definition = ServerDefinition(name="one", transport="http", url=SERVER)
    _web.mask_logs(definition)  # as where a client is opened
    faults = (LinkError, OAuthFlowError, OAuthTokenError)
    with caplog.at_level(0), trio.fail_after(20), pytest.raises(faults) as refused:
        await client.log_in(tmp_path)
    told = _web.fault_of(refused.value, definition).explanation
    assert KEY not in told
    assert told.isprintable()
    assert KEY not in caplog.text
    assert not [one for one in client.asked if KEY in f"{one.headers!r}"]
    assert KEY not in "".join(file.read_text() for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.parametrize("time", [0, -1, None, "3600", 10**12])
async def test_a_token_counts_whatever_its_time_says(tmp_path: Path, time: Any) -> None:
    await Client(LoginServer(token={"expires_in": time})).log_in(tmp_path)
    again = Client()
    await again.log_in(tmp_path)
    assert again.shown == []
    assert len(again.asked) == 1


async def test_what_a_server_gave_goes_to_no_other_and_to_no_model(host_with: Any, tmp_path: Path) -> None:
    """Attack: a server answers with the token that it was sent, so that a model hands it on to another one. Source:
    "token passthrough", MCP specification 2025-11-25, "Security best practices"."""
    from pegboard_mcp import plugin

    servers = {name: {"url": f"https://{name}.example/mcp", "oauth": True} for name in ("far", "other")}
    host = await host_with(plugin, config={"plugins": {"mcp": {"servers": servers, "remember": False}}})
    session = host.session(masks_secrets=True)
    assert session.masked({"a": KEY}) == {"a": KEY}
    note_issued("far", "https://far.example/mcp", KEY, None, "")
    assert KEY not in str(session.masked({"a": f"It is {KEY}."}))
    assert KEY not in str(session.masked({"a": KEY}, target="other"))
    assert session.masked({"a": KEY}, target="far") == {"a": KEY}
    for number in range(100):  # each hour another
        note_issued("far", "https://far.example/mcp", f"{KEY}{number}")
    assert len(issued_by("far", "https://far.example/mcp")) < 20
    assert f"{KEY}99" not in str(session.masked({"a": f"{KEY}99"}))


async def test_what_a_login_gave_is_known_as_the_servers(tmp_path: Path) -> None:
    await Client().log_in(tmp_path)
    keys = {"access_token-1 login.evil.example", "refresh_token-1 login.evil.example", "cs-1 login.evil.example"}
    assert keys <= set(issued_by("one", SERVER))


NAMES = (
    "work", "Work", "WORK", "w\u00f6rk", "w-rk", "w rk", "w/rk", "../work", "\u0434\u043e\u043c", "\u0434\u0443\u043c",
    "a" * 40, "a" * 41, "a" * 42, "\ud800", "wor\u043a",
)  # fmt: skip


def test_no_two_servers_share_tokens_however_their_names_are_written() -> None:
    """Attack: a server is named so that it is given what another one of the same address has, as that of another
    account. Source: collisions of names that were made fit for files (CWE-706)."""
    keys = [oauth.key_of(ServerDefinition(name=name, transport="http", url=SERVER)).lower() for name in NAMES]
    assert len(set(keys)) == len(NAMES)
    assert all(key.isascii() and len(key) < 60 and "/" not in key and "." not in key for key in keys)


def link_to_another(place: Path) -> None:
    (place.parent / "other").write_text("theirs")
    place.symlink_to("other")


def open_to_all(place: Path) -> None:
    place.write_text("theirs")
    place.chmod(0o666)


PLACES: dict[str, Any] = {
    "a link to another's": link_to_another,
    "a link to nothing": lambda place: place.symlink_to("nowhere"),
    "open to all": open_to_all,
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("what", PLACES)
def test_what_lies_where_tokens_are_kept_is_not_read_and_is_replaced(tmp_path: Path, what: str) -> None:
    vault, place = oauth.Vault(tmp_path / "tokens"), tmp_path / "tokens" / "one.json"
    place.parent.mkdir(mode=0o755)
    PLACES[what](place)
    if what != "a link to another's":  # it has a mode that nobody else can read, or it is not read
        assert vault.read("one") is None
    vault.write("one", "mine")
    assert vault.read("one") == "mine"
    assert not place.is_symlink()
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    if (place.parent / "other").exists():
        assert (place.parent / "other").read_text() == "theirs"
