"""The inspector beyond this machine, with tokens and TLS or not at all; and users who see nothing of each other."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio

from pegboard import CallContext, ConfigError, tool
from pegboard_inspect import plugin, serve_inspector

TOKENS = {"token-of-ada-0123456789": "ada", "token-of-bob-0123456789": {"user_id": "bob"}}
ADA, BOB = TOKENS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=board.example"
        " -addext subjectAltName=DNS:board.example,IP:127.0.0.1 -keyout key.pem -out cert.pem"
    )
    locked = "openssl ec -aes256 -passout pass:hush -in key.pem -out locked.pem"
    other = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out other.pem"
    try:
        for one in (command, locked, other):
            subprocess.run(one.split(), cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine has no openssl that makes certificates")
    return folder


def configured(folder: Path, **more: Any) -> dict[str, Any]:
    files = {"tls_cert": str(folder / "cert.pem"), "tls_key": str(folder / "key.pem")}
    return {"plugins": {"inspect": {"host": "0.0.0.0", "tokens": TOKENS, **files, **more}}}


async def refusal_of(host_with: Any, config: Any) -> ConfigError:
    host = await host_with(plugin, config=config)
    with pytest.raises(ConfigError) as caught:
        await serve_inspector(host, tell=print)
    return caught.value


@pytest.mark.parametrize(
    ("left_out", "says"), [("tokens", "without a credential"), ("tls_cert", "without TLS"), ("both", "credential")]
)
async def test_other_machines_are_not_served_without_tokens_and_tls(
    host_with: Any, certificate: Path, left_out: str, says: str
) -> None:
    config: dict[str, Any] = {"plugins": {"inspect": {"host": "0.0.0.0"}}}
    if left_out == "tls_cert":
        config["plugins"]["inspect"]["tokens"] = TOKENS
    if left_out == "tokens":
        config = configured(certificate, tokens={})
    problem = await refusal_of(host_with, config)
    assert says in problem.message
    assert "[plugins.inspect" in problem.hint


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"tls_key": "locked.pem"}, "the key has a password"),
        ({"tls_key": "other.pem"}, "the key is not that of the certificate"),
        ({"tls_key": "nothing.pem"}, "No such file"),
        ({"tls_cert": "key.pem"}, "they are not a certificate and a key in PEM"),
        ({"tls_cert": None}, "tls_key without tls_cert"),
    ],
)
async def test_files_of_tls_that_cannot_be_used_are_refused_in_words(
    host_with: Any, certificate: Path, files: dict[str, str | None], says: str
) -> None:
    config = configured(certificate)
    for name, file in files.items():
        if file is None:
            del config["plugins"]["inspect"][name]
        else:
            config["plugins"]["inspect"][name] = str(certificate / file)
    assert says in (await refusal_of(host_with, config)).message


async def test_tls_serves_whoever_has_a_token_and_nobody_in_the_clear(host_with: Any, certificate: Path) -> None:
    host = await host_with(plugin, config=configured(certificate, allowed_hosts=["board.example:*"]))
    told: list[str] = []
    trusting = ssl.create_default_context(cafile=str(certificate / "cert.pem"))
    async with trio.open_nursery() as nursery:
        url = await nursery.start(partial(serve_inspector, host, tell=told.append))
        port = int(url.rpartition(":")[2])
        assert url == f"https://board.example:{port}"
        here = f"https://127.0.0.1:{port}"
        for base, name in ((here, f"127.0.0.1:{port}"), (here, f"board.example:{port}")):
            async with httpx2.AsyncClient(base_url=base, verify=trusting, timeout=20, trust_env=False) as client:
                headers = {"host": name, "origin": f"https://{name}"}
                refused = await client.post("/enter", json={"token": "no"}, headers=headers)
                assert refused.status_code == 401
                entered = await client.post("/enter", json={"token": ADA}, headers=headers)
                assert entered.status_code == 200
                assert entered.headers["set-cookie"].endswith("HttpOnly; SameSite=Strict; Secure")
                page = f"{entered.json()['base']}api/about"
                about = await client.get(page, headers={**headers, "cookie": entered.headers["set-cookie"]})
                assert about.json()["user_id"] == "ada"
                for origin in (f"http://{name}", "https://evil.example", f"https://{name}.evil.example"):
                    crossed = await client.post("/enter", json={"token": ADA}, headers={**headers, "origin": origin})
                    assert crossed.status_code == 403
                moved = await client.get("/", headers={"host": f"evil.example:{port}"})
                assert moved.status_code == 421
        async with httpx2.AsyncClient(timeout=20, trust_env=False, verify=False) as client:
            with pytest.raises(httpx2.TransportError):
                await client.get(f"http://127.0.0.1:{port}/")
        assert len(told) == 1  # the one-time address is still good
        nursery.cancel_scope.cancel()


async def test_a_client_that_never_agrees_on_tls_is_let_go(
    host_with: Any, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pegboard_serving import worker

    monkeypatch.setattr(worker, "HEAD_S", 0.05)
    host = await host_with(plugin, config=configured(certificate))
    async with trio.open_nursery() as nursery:
        url = await nursery.start(partial(serve_inspector, host, tell=print))
        for said in (b"", b"GET / HTTP/1.1\r\n\r\n"):
            async with await trio.open_tcp_stream("127.0.0.1", int(url.rpartition(":")[2])) as stream:
                if said:
                    await stream.send_all(said)
                with trio.fail_after(30):
                    assert b"HTTP" not in await stream.receive_some()
        nursery.cancel_scope.cancel()


# -- two users


@tool(requires_confirmation="Launch it?")
async def launch(target: str, context: CallContext) -> str:
    """Do what somebody has to confirm."""
    return f"{context.session.user_id} launched at {target}"


@tool(read_only=True)
async def wait_here(context: CallContext) -> str:
    """Wait until somebody goes."""
    context.log.info("a line for %s", context.session.user_id)
    await trio.sleep_forever()
    return ""


@pytest.fixture(scope="module")
def served(inspect_board: Any) -> Iterator[Any]:
    config = {"plugins": {"inspect": {"tokens": TOKENS}}}
    with inspect_board([launch, wait_here], config=config) as one:
        yield one


def come(let_in: Any, served: Any, token: str) -> Any:
    return let_in(f"{served.url}/", wait="#token", token=token)


def test_two_users_see_nothing_of_each_other(let_in: Any, served: Any) -> None:
    ada, bob = come(let_in, served, ADA), come(let_in, served, BOB)
    owner = let_in(served.address())
    for one in (ada, bob, owner):
        one.show("calls", ".counts .fact")
    for one in (ada, bob):
        one.tool("launch")
        one.field("target").fill(f"secret of {one.page.locator('#who').inner_text()}")
    ada.page.get_by_role("button", name="Call", exact=True).click()
    ada.page.get_by_role("dialog").wait_for()
    assert bob.page.get_by_role("dialog").count() == 0
    assert owner.page.get_by_role("dialog").count() == 0
    ada.page.get_by_role("button", name="Yes, always in this browser").click()
    ada.page.get_by_text("ada launched at secret of ada").wait_for()
    bob.page.get_by_role("button", name="Call", exact=True).click()
    bob.page.get_by_role("dialog").wait_for()  # what ada approved is ada's
    bob.page.get_by_role("button", name="Yes", exact=True).click()
    bob.page.get_by_text("bob launched at secret of bob").wait_for()
    for one, own, others in ((ada, "ada", "bob"), (bob, "bob", "ada")):
        page = one.show("calls", ".call summary")
        page.locator(".call summary").first.click()
        page.get_by_text(f"{own} launched at secret of {own}").wait_for()
        assert others not in page.locator("main").inner_text()
        page.locator(".counts b").first.get_by_text("1", exact=True).wait_for()
    assert owner.show("calls", ".call:nth-of-type(1)").locator(".calls > li").count() == 2
    for one in (ada, bob, owner):
        assert one.problems == []
        one.context.close()


def test_the_cookie_of_one_does_not_open_the_others_page(let_in: Any, served: Any) -> None:
    ada, bob = come(let_in, served, ADA), come(let_in, served, BOB)
    (cookie,) = ada.context.cookies(ada.base)
    assert not bob.context.cookies(ada.base)
    path = bob.base.partition(served.url)[2]
    ada.context.add_cookies([{**cookie, "path": path}])
    answered = ada.page.evaluate("(path) => fetch(path + 'api/about').then((one) => one.status)", path)
    assert answered == 401
    # a second user of this machine, who sees the port and the path:
    with httpx2.Client(trust_env=False, verify=False) as other:
        assert other.get(f"{ada.base}api/about").status_code == 401
        assert other.post(f"{served.url}/enter", json={"token": "guess"}).status_code == 403
    for one in (ada, bob):
        one.context.close()


def test_a_call_goes_on_when_somebody_elses_is_cancelled(let_in: Any, served: Any) -> None:
    ada, bob = come(let_in, served, ADA), come(let_in, served, BOB)
    for one in (ada, bob):
        one.tool("wait_here")
        one.page.get_by_role("button", name="Call", exact=True).click()
    for one, own, other in ((ada, "ada", "bob"), (bob, "bob", "ada")):
        one.page.get_by_text(f"a line for {own}").wait_for()
        assert one.page.get_by_text(f"a line for {other}").count() == 0
    ada.page.get_by_role("button", name="Cancel").click()
    ada.page.locator(".answer").get_by_text("cancelled").wait_for()
    assert bob.page.get_by_role("button", name="Cancel").is_visible()
    for one in (ada, bob):
        one.context.close()
