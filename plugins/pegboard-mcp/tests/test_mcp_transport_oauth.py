from __future__ import annotations

import json
import logging
import os
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
import keyring
import keyring.backend
import keyring.errors
import pytest
import trio
from keyring.backends import fail
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from pegboard_mcp.client import oauth
from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports import _web, open_link
from pegboard_mcp.definitions import ServerDefinition


class Authority:
    """An MCP server and its authorization server on one port; tokens are `access-N`, `refresh-N`."""

    def __init__(self) -> None:
        self.port = 0
        self.issued = 0
        self.valid: set[str] = set()
        self.logins = 0
        self.refreshes = 0
        self.registrations = 0
        self.expires_in = 3600
        self.denies = False
        self.scope = ""
        self.in_flight = 0
        self.most_in_flight = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def mcp(self, request: Request) -> Response:
        if request.method != "POST":
            return Response(status_code=405)
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.valid:
            where = f'Bearer resource_metadata="{self.url}/.well-known/oauth-protected-resource/mcp"'
            return Response(status_code=401, headers={"www-authenticate": where})
        message = await request.json()
        if message.get("params", {}).get("writes") and "write" not in self.scope:
            where = 'Bearer error="insufficient_scope", scope="write"'
            return Response(status_code=403, headers={"www-authenticate": where})
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        if message["params"].get("slow"):
            with trio.move_on_after(2):
                while self.most_in_flight < 2:
                    await trio.sleep(0.01)
        self.in_flight -= 1
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": {"token": token}})

    async def resource(self, request: Request) -> Response:
        return JSONResponse({"resource": f"{self.url}/mcp", "authorization_servers": [self.url + "/as"]})

    async def metadata(self, request: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.url + "/as",
                "authorization_endpoint": self.url + "/as/authorize",
                "token_endpoint": self.url + "/as/token",
                "registration_endpoint": self.url + "/as/register",
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }
        )

    async def register(self, request: Request) -> Response:
        self.registrations += 1
        return JSONResponse({**await request.json(), "client_id": "client-1"}, status_code=201)

    async def authorize(self, request: Request) -> Response:
        self.logins += 1
        asked = request.query_params
        assert asked["code_challenge_method"] == "S256"
        self.scope = asked.get("scope", "")
        back = "error=access_denied" if self.denies else "code=code-1"
        return RedirectResponse(f"{asked['redirect_uri']}?{back}&state={asked['state']}")

    async def token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] != f"refresh-{self.issued}":
                return JSONResponse({"error": "invalid_grant"}, status_code=400)
            self.refreshes += 1
        else:
            assert form["code"] == "code-1"
            assert form["code_verifier"]
        self.issued += 1
        self.valid = {f"access-{self.issued}"}
        body = {"access_token": f"access-{self.issued}", "token_type": "Bearer", "expires_in": self.expires_in}
        return JSONResponse({**body, "refresh_token": f"refresh-{self.issued}"})

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/mcp", self.mcp, methods=["POST", "GET", "DELETE"]),
                Route("/.well-known/oauth-protected-resource/mcp", self.resource),
                Route("/.well-known/oauth-authorization-server/as", self.metadata),
                Route("/as/register", self.register, methods=["POST"]),
                Route("/as/authorize", self.authorize),
                Route("/as/token", self.token, methods=["POST"]),
            ]
        )

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        import hypercorn.trio
        from hypercorn.config import Config

        config = Config()
        config.bind = ["127.0.0.1:0"]
        config.errorlog = config.accesslog = None
        async with trio.open_nursery() as nursery:
            serving = partial(hypercorn.trio.serve, shutdown_trigger=trio.sleep_forever, mode="asgi")
            (bound,) = await nursery.start(serving, self.app(), config)
            self.port = int(str(bound).rpartition(":")[2])
            task_status.started()


@pytest.fixture
async def authority(nursery: trio.Nursery) -> Authority:
    server = Authority()
    await nursery.start(server.run)
    return server


class Browser:
    """What is printed for the person comes here, and is followed as a browser would."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.nursery = nursery
        self.said: list[str] = []
        self.first: Callable[[str], Awaitable[None]] | None = None

    def __call__(self, text: str) -> None:
        self.said.append(text)
        self.nursery.start_soon(self._follow, text.split()[-1])

    async def _follow(self, url: str) -> None:
        async with httpx2.AsyncClient(verify=False) as client:
            response = await client.get(url)
            back = response.headers["location"]
            if self.first is not None:
                await self.first(back)
            page = await client.get(back)
            self.page = page.text


@pytest.fixture
def no_keyring() -> Any:
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    yield
    keyring.set_keyring(before)


@pytest.fixture
def vault(no_keyring: None, tmp_path: Path) -> oauth.Vault:
    return oauth.Vault(tmp_path / "tokens")


@pytest.fixture
def browser(nursery: trio.Nursery, vault: oauth.Vault, monkeypatch: pytest.MonkeyPatch) -> Browser:
    """Links log in with this browser, and keep tokens in the test's vault."""
    browser = Browser(nursery)
    monkeypatch.setattr(oauth, "make_auth", partial(oauth.make_auth, vault=vault, say=browser))
    return browser


def define(authority: Authority) -> ServerDefinition:
    return ServerDefinition(name="one", transport="http", url=authority.url + "/mcp", oauth=True, connect_s=5)


@asynccontextmanager
async def opened(definition: ServerDefinition) -> AsyncIterator[Any]:
    with trio.fail_after(15):
        async with open_link(definition, lambda: None) as link:
            yield link


async def ask(link: Any, number: int = 1, **params: Any) -> Any:
    await link.write.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=number, method="ping", params=params)))
    return (await link.read.receive()).message.result


async def test_a_login_by_the_browser_and_a_file_of_tokens(
    authority: Authority, browser: Browser, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with opened(define(authority)) as link:
        assert await ask(link) == {"token": "access-1"}
        assert await ask(link, 2) == {"token": "access-1"}
    assert "'one'" in browser.said[0]
    assert "You are logged in" in browser.page
    (kept,) = (tmp_path / "tokens").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    logged = [one.getMessage() for one in caplog.records]
    assert [line for line in logged if "access-1" in line or "refresh-1" in line] == []
    # A new process, so to speak: nobody is asked again.
    async with opened(define(authority)) as link:
        assert await ask(link) == {"token": "access-1"}
    assert (authority.logins, authority.registrations, len(browser.said)) == (1, 1, 1)


async def test_an_expired_token_is_renewed_by_a_new_process_without_asking(
    authority: Authority, browser: Browser, tmp_path: Path
) -> None:
    async with opened(define(authority)) as link:
        await ask(link)
    (kept,) = (tmp_path / "tokens").iterdir()
    found = json.loads(kept.read_text())
    assert found["expires_at"] > time.time()
    found["expires_at"] = 1
    kept.write_text(json.dumps(found))
    async with opened(define(authority)) as link:
        assert await ask(link) == {"token": "access-2"}
    assert (authority.logins, authority.refreshes) == (1, 1)


async def test_a_token_that_is_refused_is_renewed(authority: Authority, browser: Browser) -> None:
    async with opened(define(authority)) as link:
        await ask(link)
        authority.valid.clear()
        assert await ask(link, 2) == {"token": "access-2"}
    assert (authority.logins, authority.refreshes) == (1, 1)


async def test_a_login_that_ends_later_ends_the_link_and_the_next_one_asks(
    authority: Authority, browser: Browser
) -> None:
    async with opened(define(authority)) as link:
        assert link.asked
        await ask(link)
        authority.valid.clear()
        authority.issued += 1  # what is kept to renew it is worth nothing now
        with pytest.raises(anyio.EndOfStream):
            await ask(link, 2)
        assert link.why().why == "the login has ended"
        assert authority.logins == 1
    async with opened(define(authority)) as link:
        assert link.asked
        assert await ask(link) == {"token": "access-3"}
    async with opened(define(authority)) as link:
        assert not link.asked
    assert authority.logins == 2


async def test_a_call_that_needs_more_than_the_token_allows_asks_for_it_at_once(
    authority: Authority, browser: Browser
) -> None:
    async with opened(define(authority)) as link:
        assert await ask(link) == {"token": "access-1"}
        assert await ask(link, 2, writes=True) == {"token": "access-2"}
        assert await ask(link, 3) == {"token": "access-2"}
    assert authority.logins == 2


async def test_an_owner_that_stops_does_not_wait_for_the_person(
    authority: Authority, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Browser, "__call__", lambda self, text: self.said.append(text))
    started = trio.current_time()
    with trio.move_on_after(0.5) as scope:
        async with open_link(define(authority), lambda: None):
            pass
    assert scope.cancelled_caught
    assert browser.said
    assert trio.current_time() - started < 3


async def test_calls_with_a_valid_token_do_not_wait_for_each_other(authority: Authority, browser: Browser) -> None:
    async with opened(define(authority)) as link:
        await ask(link)
        for number in (2, 3):
            request = JSONRPCRequest(jsonrpc="2.0", id=number, method="ping", params={"slow": True})
            await link.write.send(SessionMessage(request))
        for _ in range(2):
            await link.read.receive()
    assert authority.most_in_flight == 2


async def test_a_login_that_is_refused_ends_the_link_with_its_reason(authority: Authority, browser: Browser) -> None:
    authority.denies = True
    with pytest.raises(LinkError) as caught:
        async with opened(define(authority)):
            pass
    fault = caught.value
    assert (fault.kind, fault.why) == ("unauthorized", "the login was refused: access_denied")


async def test_nobody_who_logs_in_is_named(
    authority: Authority, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "LOGIN_S", 0.3)
    monkeypatch.setattr(Browser, "__call__", lambda self, text: self.said.append(text))
    with pytest.raises(LinkError, match="nobody logged in") as caught:
        async with opened(define(authority)):
            pass
    assert caught.value.kind == "unauthorized"


async def test_what_else_comes_to_the_port_changes_nothing(authority: Authority, browser: Browser) -> None:
    async def first(back: str) -> None:
        base = back.partition("/callback")[0]
        port = urlsplit(back).port
        assert port is not None
        silent = await trio.open_tcp_stream("127.0.0.1", port)  # browsers open connections ahead
        async with httpx2.AsyncClient(verify=False) as client:
            assert (await client.get(base + "/favicon.ico")).status_code == 404
            assert (await client.get(base + "/callback?code=x")).status_code == 404
            assert (await client.post(base + "/callback?code=x&state=y")).status_code == 404
        garbage = await trio.open_tcp_stream("127.0.0.1", port)
        await garbage.send_all(b"\x00" * 20_000)
        for stream in (silent, garbage):
            await stream.aclose()

    browser.first = first
    async with opened(define(authority)) as link:
        assert await ask(link) == {"token": "access-1"}


async def test_a_state_that_is_not_ours_changes_nothing(authority: Authority, browser: Browser) -> None:
    async def first(back: str) -> None:
        base = back.partition("?")[0]
        async with httpx2.AsyncClient(verify=False) as client:
            for query in ("code=stolen&state=guessed", "error=denied&state=guessed", "code=stolen&state="):
                assert (await client.get(f"{base}?{query}")).status_code == 404

    browser.first = first
    async with opened(define(authority)) as link:
        assert await ask(link) == {"token": "access-1"}


@pytest.mark.parametrize(
    "url",
    [
        "https://accounts.example@evil.example/?state=s",
        "https://acc\u043eunts.example/?state=s",
        "https://evil.example\\@accounts.example/?state=s",
        "https://[::1/?state=s",
        "https:///?state=s",
        "javascript:alert(1)//?state=s",
        "file:///etc/passwd?state=s",
        "https://accounts.example/\x1b[2J?state=s",
    ],
)
async def test_an_address_that_does_not_show_where_it_leads_is_not_printed(
    authority: Authority, browser: Browser, url: str
) -> None:
    login = oauth._Login(define(authority), browser)
    login.asking = 1
    with pytest.raises(LinkError, match="names no web page to log in at"):
        await login.ask(url)
    assert browser.said == []


async def test_a_port_in_use_is_named(authority: Authority, browser: Browser) -> None:
    login = oauth._Login(define(authority), browser)
    port = urlsplit(login.address).port
    assert port is not None
    taken = await trio.open_tcp_listeners(port, host="127.0.0.1")
    with pytest.raises(LinkError, match=f"port {port} is in use"):
        async with opened(define(authority)):
            pass
    for listener in taken:
        await listener.aclose()


def test_no_token_is_in_a_repr(vault: oauth.Vault) -> None:
    definition = ServerDefinition(name="one", transport="http", url="http://x/mcp", oauth=True)
    vault.write(oauth.key_of(definition), json.dumps({"tokens": {"access_token": "hunter2"}}))
    auth = oauth.make_auth(definition, vault=vault)
    assert "hunter2" not in repr(auth) + repr(vars(auth)) + repr(vault)


class Memory(keyring.backend.KeyringBackend):
    """A keyring of the tests."""

    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise keyring.errors.KeyringLocked("locked")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise keyring.errors.PasswordSetError("locked")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


def test_tokens_lie_in_the_keyring_where_there_is_one(no_keyring: None, tmp_path: Path) -> None:
    memory = Memory()
    keyring.set_keyring(memory)
    vault = oauth.Vault(tmp_path)
    vault.write("one", "text")
    assert memory.kept == {("pegboard-mcp", "one"): "text"}
    assert vault.read("one") == "text"
    assert list(tmp_path.iterdir()) == []
    memory.locked = True
    vault.write("one", "other")
    assert (tmp_path / "one.json").read_text() == "other"
    assert vault.read("one") == "other"


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_a_file_that_others_can_read_is_not_trusted(vault: oauth.Vault, tmp_path: Path) -> None:
    vault.write("one", "text")
    (tmp_path / "tokens" / "one.json").chmod(0o644)
    assert vault.read("one") is None
    vault.write("one", "new")
    assert vault.read("one") == "new"
    assert vault.read("two") is None
    assert os.listdir(tmp_path / "tokens") == ["one.json"]


def test_a_key_tells_servers_and_addresses_apart() -> None:
    def key(name: str, url: str) -> str:
        return oauth.key_of(ServerDefinition(name=name, transport="http", url=url))

    keys = {key("a", "http://x"), key("a", "http://y"), key("b", "http://x"), key("../a", "http://x")}
    assert len(keys) == 4
    assert all("/" not in one and "." not in one for one in keys)


async def test_a_broken_file_is_not_a_token(vault: oauth.Vault) -> None:
    definition = ServerDefinition(name="one", transport="http", url="http://x/mcp")
    for text in ("{", "[]", '{"tokens": 5}', '{"tokens": {"access_token": 5}}', "\x00"):
        vault.write(oauth.key_of(definition), text)
        storage = oauth._Storage(definition, vault)
        assert await storage.get_tokens() is None
        assert await storage.get_client_info() is None


def test_the_logs_are_masked_for_what_was_hidden() -> None:
    _web.mask_also("hunter2-token")
    record = logging.LogRecord("httpx2", logging.INFO, "", 0, "got %s", ("hunter2-token",), None)
    assert all(one.filter(record) for one in logging.getLogger("httpx2").filters)  # type: ignore[union-attr]
    assert record.getMessage() == "got ***"


class LeavingBrowser:
    """A browser that sends its request, and is gone before its page comes."""

    def __init__(self, target: str) -> None:
        self._target = target

    async def receive_some(self, most: int) -> bytes:
        await trio.lowlevel.checkpoint()
        return f"GET {self._target} HTTP/1.1\r\nhost: x\r\n\r\n".encode()

    async def send_all(self, data: bytes) -> None:
        await trio.lowlevel.checkpoint()
        raise trio.BrokenResourceError


async def test_a_browser_that_does_not_wait_for_its_page_has_logged_in_all_the_same() -> None:
    from pegboard_mcp.client.oauth import _serve

    browser: Any = LeavingBrowser("/callback?code=c0de&state=right")
    assert await _serve(browser, "right") == {"code": "c0de", "state": "right"}
    assert await _serve(browser, "other") is None
