"""Where a server may send us to log in: its own origin, or what it names over https. Each row is one attack.

Source: MCP specification, "Security best practices", and the attacks on mcp-remote (CVE-2025-6514: an authorization
endpoint that is a command) and on metadata that names an address inside of the network (SSRF). What must be seen: no
request and no address for the person that is neither; what goes elsewhere carries nothing that was for the server.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import trio
from mcp.client.auth import AuthorizationCodeResult, OAuthFlowError

from pegboard_mcp.client import oauth
from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.definitions import ServerDefinition

SERVER = "https://mcp.example/mcp"
ISSUER = "https://login.example"


class Scripted:
    """A server and its authorization server, without a network: what each address answers."""

    def __init__(self, **named: Any) -> None:
        self.named = named
        self.asked: list[httpx2.Request] = []
        self.said: list[str] = []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        path, host = request.url.path, request.url.host
        if self.named.get("redirect") and "oauth" in path and len(self.asked) == 2:
            return httpx2.Response(307, headers={"location": self.named["redirect"]}, request=request)
        if "oauth-protected-resource" in path or path == "/elsewhere":
            found = {"resource": SERVER, "authorization_servers": [self.named.get("issuer", ISSUER)]}
            return httpx2.Response(200, json=found, request=request)
        if "oauth-authorization-server" in path:
            issuer = self.named.get("issuer", ISSUER)
            found = {
                "issuer": issuer,
                "authorization_endpoint": self.named.get("authorize", f"{ISSUER}/authorize"),
                "token_endpoint": self.named.get("token", f"{ISSUER}/token"),
                "registration_endpoint": self.named.get("register", f"{ISSUER}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            }
            return httpx2.Response(200, content=json.dumps(found), request=request)
        if path.endswith("/register"):
            return httpx2.Response(201, json={**json.loads(request.content), "client_id": "c"}, request=request)
        if path.endswith("/token"):
            return httpx2.Response(200, json={"access_token": "access-1", "token_type": "Bearer"}, request=request)
        if host == "mcp.example" and "authorization" in request.headers:
            return httpx2.Response(200, json={}, request=request)
        where = self.named.get("metadata", "https://mcp.example/.well-known/oauth-protected-resource/mcp")
        header = {"www-authenticate": f'Bearer resource_metadata="{where}"'}
        return httpx2.Response(401, headers=header, request=request)

    async def log_in(self, tmp_path: Any, url: str = SERVER) -> None:
        definition = ServerDefinition(
            name="one", transport="http", url=url, oauth=True, headers={"X-Tenant": "tenant-7"}
        )
        auth = oauth.make_auth(definition, vault=oauth.Vault(tmp_path), say=self.said.append)
        auth._login.asking = 1

        async def wait() -> AuthorizationCodeResult:
            return AuthorizationCodeResult(code="code-1", state=auth._login._state)

        auth._provider.context.callback_handler = wait
        headers = {"X-Tenant": "tenant-7", "accept": "application/json"}
        request = httpx2.Request("POST", url, json={}, headers=headers)
        flow = auth.async_auth_flow(request)
        try:
            outgoing = await flow.__anext__()
            while True:
                outgoing = await flow.asend(self.answer(outgoing))
        except StopAsyncIteration:
            pass
        finally:
            auth._login._close()
            await flow.aclose()


ELSEWHERE = (
    "http://evil.example/x", "http://169.254.169.254/latest/meta-data", "http://127.0.0.1:9/x", "http://mcp.example/x",
    "file:///etc/passwd", "javascript:alert(1)", "a:$(calc.exe)", "calc.exe", "ftp://evil.example/x",
    "http://user:secret@evil.example/x", "//evil.example/x", "https://", "https://a@evil.example/x",
    "https://169.254.169.254/latest/meta-data", "https://127.0.0.1:9/x", "https://localhost/x", "https://[::1]/x",
    "https://[::ffff:10.0.0.1]/x", "https://192.168.1.1/x", "https://router/x", "https://nas.local/x",
    "https://2130706433/x", "https://0x7f.1/x", "https://127.1/x", "https://localhost./x",
)  # fmt: skip


@pytest.fixture(autouse=True)
def no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth, "_keyring", lambda: None)


def is_right(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" and (parts.hostname or "").endswith(".example") and "@" not in parts.netloc


@pytest.mark.parametrize("value", ELSEWHERE)
@pytest.mark.parametrize("place", ["metadata", "issuer", "authorize", "token", "register", "redirect"])
async def test_nothing_else_is_asked_or_shown(tmp_path: Any, place: str, value: str) -> None:
    server = Scripted(**{place: value})
    with trio.fail_after(20):
        with contextlib.suppress(LinkError, OAuthFlowError):  # or it goes on with what the server's own origin has
            await server.log_in(tmp_path)
    assert [str(one.url) for one in server.asked if not is_right(str(one.url))] == []
    shown = [text.split()[-1] for text in server.said]
    assert [url for url in shown if not is_right(url)] == []


async def test_a_refused_address_is_named_with_what_to_do(tmp_path: Any) -> None:
    with pytest.raises(LinkError) as refused:
        await Scripted(metadata="http://evil.example/x").log_in(tmp_path)
    assert "http://evil.example/x" in refused.value.explanation
    assert "neither its own origin nor a public address over https" in refused.value.explanation


async def test_what_is_named_over_https_is_asked_and_carries_nothing_that_was_the_servers(tmp_path: Any) -> None:
    server = Scripted(metadata="https://elsewhere.example/elsewhere")
    await server.log_in(tmp_path)
    hosts = {one.url.host for one in server.asked}
    assert hosts == {"mcp.example", "elsewhere.example", "login.example"}
    for one in server.asked:
        if one.url.host != "mcp.example":
            assert "x-tenant" not in one.headers
            assert "authorization" not in one.headers
            assert "tenant-7" not in str(one.url)
    (said,) = server.said
    assert said.split()[-1].startswith("https://login.example/authorize?")
    assert parse_qs(urlsplit(said.split()[-1]).query)["redirect_uri"][0].startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("server", "named", "may"),
    [
        (SERVER, "https://mcp.example:8443/x", True),
        (SERVER, "http://mcp.example/x", False),
        ("http://lan.example/mcp", "http://lan.example/as", True),
        ("http://lan.example/mcp", "http://lan.example:81/as", False),
        ("http://127.0.0.1:3000/mcp", "http://localhost:9000/as", True),
        ("http://127.0.0.1:3000/mcp", "http://[::1]:9000/as", True),
        ("http://127.0.0.1:3000/mcp", "http://10.0.0.1/as", False),
        ("http://lan.example/mcp", "http://127.0.0.1/as", False),
        (SERVER, "http://127.0.0.1.evil.example/as", False),
        (SERVER, "https://10.0.0.1/as", False),
        (SERVER, "https://login.internal/as", False),
        (SERVER, "https://203.0.113.7/as", True),
        ("https://mcp.internal/mcp", "https://login.internal/as", True),
        ("https://10.0.0.2/mcp", "https://10.0.0.1/as", True),
        ("https://10.0.0.2/mcp", "https://10.0.0.2/as", True),
        (SERVER, "not a url", False),
    ],
)
def test_the_rule(server: str, named: str, may: bool) -> None:
    assert oauth.may_name(server, named) is may
