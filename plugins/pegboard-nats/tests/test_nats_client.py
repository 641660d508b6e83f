"""The link against real servers, and beside nats-py, which other programs use."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import ipaddress
import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from pegboard import PluginError
from pegboard_nats import client as client_module
from pegboard_nats import jetstream
from pegboard_nats import mailbox as mailbox_module
from pegboard_nats.client import Address, Client, Servers, open_client
from pegboard_nats.credentials import KeyPair, read_credentials
from pegboard_nats.link import open_link
from pegboard_nats.mailbox import (
    DeniedError,
    LinkLostError,
    Mailbox,
    NoRespondersError,
    NotConnectedError,
    SlowConsumerError,
)
from pegboard_nats.protocol import Message, TooLargeError
from pegboard_nats.settings import NatsSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from conftest import NatsServer


@contextlib.asynccontextmanager
async def linked(*urls: str, **options: Any) -> AsyncIterator[Client]:
    async with open_client(Servers(urls=urls, **options)) as client:
        with trio.fail_after(30):
            await client.wait_connected()
        yield client


@contextlib.asynccontextmanager
async def linked_host(url: str) -> AsyncIterator[Client]:
    async with open_link(NatsSettings(servers=(url,))) as link:
        with trio.fail_after(30):
            await link.client.wait_connected()
        yield link.client


@pytest.mark.parametrize("opened", [linked, linked_host])
async def test_who_is_cancelled_together_with_the_link_still_tells_over_it(
    opened: Any, nats_server: NatsServer
) -> None:
    async with linked(nats_server.url) as other:
        other.subscribe("told.last", echo(other))
        await other.flush()
        answer = None
        with trio.CancelScope() as scope, trio.fail_after(30):
            async with opened(nats_server.url) as client:
                try:
                    scope.cancel()
                    await trio.sleep_forever()
                finally:
                    with trio.CancelScope(shield=True):
                        for _ in range(3):  # each waits, so that a link that is ending has the time to end
                            answer = await client.request("told.last", b"done")
        assert scope.cancelled_caught
        assert answer is not None
        assert answer.payload == b"done"
        assert not client.connected


def echo(client: Client, *, prefix: bytes = b"") -> Callable[[Message], None]:
    def answer(message: Message) -> None:
        if message.reply:
            client.publish_nowait(message.reply, prefix + message.payload, headers=message.headers)

    return answer


async def trouble_of(servers: Servers, word: str) -> str:
    """Why there is no link, once it says so; a link is a failure."""
    async with open_client(servers) as client:
        with trio.fail_after(30):
            while word not in (client.trouble or ""):
                await client.wait_changed()
                assert not client.connected
        return client.trouble or ""


async def test_a_request_is_answered_with_its_headers(nats_server: NatsServer) -> None:
    async with linked(nats_server.url) as client:
        client.subscribe("t1.*", echo(client))
        reply = await client.request("t1.x", b"hi", headers={"K": "ü; 1"})
        assert (reply.payload, reply.headers) == (b"hi", {"K": "ü; 1"})


async def test_a_request_that_nobody_listens_to_is_told_at_once(nats_server: NatsServer) -> None:
    async with linked(nats_server.url) as client:
        with pytest.raises(NoRespondersError, match="t2"):
            await client.request("t2", timeout_s=30)


async def test_a_queue_group_has_each_message_once(nats_server: NatsServer) -> None:
    async with linked(nats_server.url) as one, linked(nats_server.url) as two:
        got: list[bytes] = []
        for client in (one, two):
            client.subscribe("t3", lambda message: got.append(message.payload), queue="q")
            await client.flush()
        for number in range(50):
            await one.publish("t3", str(number).encode())
        await one.flush()
        await two.flush()
        assert sorted(got, key=int) == [str(number).encode() for number in range(50)]


async def test_what_is_too_large_is_not_sent_and_the_link_goes_on(nats_server: NatsServer) -> None:
    async with linked(nats_server.url) as client:
        client.subscribe("t4", echo(client))
        with pytest.raises(TooLargeError):
            await client.request("t4", b"x" * 65_536, headers={"k": "v"})
        assert len((await client.request("t4", b"x" * 65_536)).payload) == 65_536


async def test_a_message_that_cannot_be_delivered_ends_nothing(
    nats_server: NatsServer, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(message: Message) -> None:
        raise ValueError("a mistake")

    async with linked(nats_server.url) as client:
        client.subscribe("t5", fail)
        await client.publish("t5")
        await client.flush()
        assert client.connected
    assert "could not be delivered" in caplog.text


async def test_draining_delivers_what_was_on_its_way_and_nothing_more(nats_server: NatsServer) -> None:
    async with linked(nats_server.url) as one, linked(nats_server.url) as two:
        got: list[bytes] = []
        one.subscribe("t6", lambda message: got.append(message.payload))
        await one.flush()
        for number in range(100):  # by itself: none of them is here before it listens no longer
            one.publish_nowait("t6", b"%d" % number)
        await one.drain()
        assert len(got) == 100
        with pytest.raises(NoRespondersError):
            await two.request("t6")


async def test_answers_that_nobody_reads_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox_module, "MAX_WAITING", 3)
    mailbox = Mailbox("i.1")
    for number in range(10):
        mailbox.put(Message("i.1", 1, None, {}, b"%d" % number))
    assert [(await mailbox.get()).payload for _ in range(3)] == [b"0", b"1", b"2"]
    with pytest.raises(SlowConsumerError):
        await mailbox.get()


async def test_a_server_that_does_not_read_costs_a_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "MAX_OUT", 1000)
    stalled, _ = trio.testing.lockstep_stream_pair()
    link = client_module._Link(stalled, client_module.Protocol(), Address("nats://x"))
    for _ in range(11):
        link.send(b"x" * 100)
    with pytest.raises(NotConnectedError, match="does not read"):
        link.send(b"x" * 100)
    assert link.scope.cancel_called


# -- beside nats-py


async def with_nats_py(server: NatsServer, work: Any) -> Any:
    """Run `await work(nc)` on asyncio in a thread."""
    nats = pytest.importorskip("nats", reason="nats-py is not installed")

    async def run() -> Any:
        nc = await nats.connect(server.url)
        try:
            return await work(nc)
        finally:
            await nc.drain()

    return await trio.to_thread.run_sync(lambda: asyncio.run(run()))


async def test_nats_py_asks_and_we_answer(nats_server: NatsServer) -> None:
    async def ask(nc: Any) -> Any:
        from nats.errors import NoRespondersError as NobodyError

        reply = await nc.request("py1", b"hi", timeout=30, headers={"K": "v"})
        with pytest.raises(NobodyError):
            await nc.request("py1.nobody", timeout=30)
        return reply.data, reply.headers

    async with linked(nats_server.url) as client:
        client.subscribe("py1", echo(client, prefix=b"> "), queue="q")
        await client.flush()
        assert await with_nats_py(nats_server, ask) == (b"> hi", {"K": "v"})


async def test_we_ask_and_nats_py_answers(nats_server: NatsServer) -> None:
    answered = trio.Event()
    token = trio.lowlevel.current_trio_token()

    async def answer(nc: Any) -> None:
        done = asyncio.Event()

        async def one(message: Any) -> None:
            await message.respond(message.header["K"].encode() + message.data)
            if message.data == b"99":
                done.set()

        await nc.subscribe("py2", "q", cb=one)
        await nc.flush()
        token.run_sync_soon(answered.set)
        await asyncio.wait_for(done.wait(), 30)

    async with linked(nats_server.url) as client, trio.open_nursery() as nursery:
        nursery.start_soon(with_nats_py, nats_server, answer)
        with trio.fail_after(30):
            await answered.wait()
        for number in range(100):
            reply = await client.request("py2", b"%d" % number, headers={"K": "v"}, timeout_s=30)
            assert reply.payload == b"v%d" % number


# -- links that end


async def test_a_server_that_is_killed_is_told_and_found_again(start_server: Any) -> None:
    server = start_server()
    async with linked(server.url) as client:
        client.subscribe("echo", echo(client))
        with client.replies() as mailbox:
            client.subscribe("silent", lambda message: None)
            await client.ask(mailbox, "silent")
            await client.flush()
            server.kill()
            with pytest.raises(LinkLostError), trio.fail_after(30):
                await mailbox.get()
        with pytest.raises(NotConnectedError, match="there is no link"):
            await client.publish("echo")
        await trio.to_thread.run_sync(server.start)
        with trio.fail_after(30):
            await client.wait_connected()
            assert (await client.request("echo", b"again")).payload == b"again"


async def test_of_several_servers_one_that_listens_is_taken(start_server: Any) -> None:
    one, two = start_server(), start_server()
    one.kill()
    async with linked(one.url, two.url) as client:
        assert client.address == two.url


async def test_a_server_that_is_about_to_end_is_left_before_it_does(start_server: Any) -> None:
    """No request is lost; what listened listens at the other server."""
    first = start_server('lame_duck_duration: "30s"\nlame_duck_grace_period: "10s"')
    async with linked(first.url) as client:
        second = start_server()
        client._addresses.append(Address(second.url))
        client.subscribe("echo", echo(client))
        await client.flush()
        first.signal(signal.SIGUSR2)
        with trio.fail_after(9):  # earlier than the server itself sends anybody away
            while client.address != second.url:
                await client.wait_changed()
        assert (await client.request("echo", b"here")).payload == b"here"


async def test_a_server_that_cannot_be_reached_is_told_once(start_server: Any) -> None:
    told: list[str] = []
    server = start_server()
    server.kill()
    async with open_client(Servers(urls=(server.url,)), tell=told.append) as client:
        while not told:
            await client.wait_changed()
        assert told == [f"no link to NATS: {server.url}: connection refused; it is tried again"]
        assert len(told) == 1


async def test_whoever_was_told_of_no_link_is_told_of_the_next(start_server: Any) -> None:
    """The log of a worker ended with a complaint, however long it had served since."""
    told: list[str] = []
    server = start_server()
    async with open_client(Servers(urls=(server.url,)), tell=told.append) as client:
        with trio.fail_after(60):
            await client.wait_connected()
            assert told == []
            server.kill()
            while client.connected:
                await client.wait_changed()
            await trio.to_thread.run_sync(server.start)
            await client.wait_connected()
    assert told[0] == f"no link to NATS: {server.url}: the server closed the connection; it is tried again"
    assert [one for one in told if "link to NATS now" in one] == told[-1:]
    assert told[-1] == f"there is a link to NATS now: {server.url}"


async def test_a_server_that_names_very_many_others_costs_a_bounded_memory() -> None:
    client = Client(Servers())
    link = client_module._Link(trio.testing.memory_stream_pair()[0], client_module.Protocol(), Address("nats://x"))
    for number in range(20):
        urls = tuple(f"h{number}-{one}:4222" for one in range(500))
        client._learn(client_module.protocol.Info(connect_urls=(*urls, "", "not an address", "a:b")), link)
    assert len(client._found) <= client_module.MAX_SERVERS


async def test_a_server_that_speaks_something_else_is_told(tmp_path: Path) -> None:
    async def serve(stream: trio.SocketStream) -> None:
        await stream.send_all(b"SSH-2.0-OpenSSH_9.2\r\n")
        await stream.receive_some()

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        assert "is it a NATS server?" in await trouble_of(Servers(urls=(f"nats://127.0.0.1:{port}",)), "SSH")
        nursery.cancel_scope.cancel()


# -- who we are


def make_certificate(folder: Path) -> tuple[Path, Path]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nats of a test")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
    made = made.not_valid_after(now + datetime.timedelta(days=1))
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    made = made.add_extension(
        x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
    )
    signed = made.sign(key, hashes.SHA256())
    cert_file, key_file = folder / "cert.pem", folder / "key.pem"
    cert_file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, encryption_algorithm=serialization.NoEncryption())
    )
    return cert_file, key_file


async def test_tls_is_taken_from_whom_we_trust_and_from_nobody_else(start_server: Any, tmp_path: Path) -> None:
    cert, key = make_certificate(tmp_path)
    server = start_server(f"tls {{ cert_file: {json.dumps(str(cert))}, key_file: {json.dumps(str(key))} }}")
    async with linked(server.url, tls_ca=str(cert)) as client:
        client.subscribe("echo", echo(client))
        assert (await client.request("echo", b"hi")).payload == b"hi"
    assert "TLS" in await trouble_of(Servers(urls=(server.url,)), "TLS")
    missing = Servers(urls=(server.url,), tls_ca=str(tmp_path / "none.pem"))
    assert "none.pem" in await trouble_of(missing, "none.pem")
    (tmp_path / "other.pem").write_text("no certificate")
    other = Servers(urls=(server.url,), tls_ca=str(tmp_path / "other.pem"))
    assert "there is no certificate in it" in await trouble_of(other, "other.pem")


@pytest.mark.parametrize("setting", ["credentials", "tls_ca"])
async def test_no_caller_is_told_where_files_of_this_machine_lie(
    start_server: Any, tmp_path: Path, setting: str
) -> None:
    """The error of a call had the whole path of a key that cannot be read."""
    cert, key = make_certificate(tmp_path)
    server = start_server(f"tls {{ cert_file: {json.dumps(str(cert))}, key_file: {json.dumps(str(key))} }}")
    files = {"tls_ca": str(cert), setting: str(tmp_path / "none" / "the.file")}
    told = await trouble_of(Servers(urls=(server.url,), **files), "the.file")
    assert str(tmp_path) not in told
    assert f"repair `{setting}`" in told


@pytest.mark.parametrize("how", ["tls://", "tls_ca"])
async def test_who_asks_for_tls_never_speaks_in_clear(nats_server: NatsServer, how: str, tmp_path: Path) -> None:
    cert, _ = make_certificate(tmp_path)
    url = nats_server.url.replace("nats://", "tls://") if how == "tls://" else nats_server.url
    servers = Servers(urls=(url,), tls_ca=str(cert) if how == "tls_ca" else None)
    assert "speaks no TLS" in await trouble_of(servers, "TLS")


async def test_an_nkey_lets_in_whom_the_server_knows(start_server: Any, tmp_path: Path) -> None:
    ours, theirs = KeyPair.generate(), KeyPair.generate()
    server = start_server(
        f"authorization {{ users: [ {{ nkey: {ours.public}, permissions: {{ publish: ['a', '_INBOX.>'] }} }} ] }}"
    )
    for pair in (ours, theirs):
        (tmp_path / f"{pair.public}.nk").write_text(pair.seed + "\n")
    async with linked(server.url, credentials=str(tmp_path / f"{ours.public}.nk")) as client:
        client.subscribe("a", echo(client))
        assert (await client.request("a", b"hi")).payload == b"hi"
        with pytest.raises(DeniedError, match="'b'"):
            await client.request("b", timeout_s=30)
    outsider = Servers(urls=(server.url,), credentials=str(tmp_path / f"{theirs.public}.nk"))
    assert "uthorization" in await trouble_of(outsider, "uthorization")
    assert "uthorization" in await trouble_of(Servers(urls=(server.url,)), "uthorization")


def make_jwt(issuer: KeyPair, subject: KeyPair, kind: str, **more: Any) -> str:
    def part(value: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    claims = {"jti": "x", "iat": 1_700_000_000, "iss": issuer.public, "sub": subject.public, "name": kind}
    signed = (
        f"{part({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{part(claims | {'nats': {'type': kind, 'version': 2, **more}})}"
    )
    return f"{signed}.{issuer.sign(signed)}"


async def test_a_file_of_credentials_lets_in_whom_its_account_vouches_for(start_server: Any, tmp_path: Path) -> None:
    operator, account, user = (KeyPair.generate(role) for role in ("operator", "account", "user"))
    none = dict.fromkeys(("subs", "conn", "leaf", "imports", "exports", "data", "payload"), -1)
    server = start_server(
        f"operator: {make_jwt(operator, operator, 'operator')}\nresolver: MEMORY\n"
        f"resolver_preload: {{ {account.public}: {make_jwt(operator, account, 'account', limits=none)} }}"
    )
    file = tmp_path / "user.creds"
    everything = {"subs": -1, "data": -1, "payload": -1}
    file.write_text(
        f"-----BEGIN NATS USER JWT-----\n{make_jwt(account, user, 'user', **everything)}\n"
        "------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n"
    )
    async with linked(server.url, credentials=str(file)) as client:
        client.subscribe("a", echo(client))
        assert (await client.request("a", b"hi")).payload == b"hi"
    assert "uthorization" in await trouble_of(Servers(urls=(server.url,)), "uthorization")


@pytest.mark.parametrize("text", ["", "SU", "nothing", "SUAB" + "A" * 54, b"\xff\xfe"])
def test_a_file_that_holds_no_credentials_is_told_without_its_content(text: str | bytes, tmp_path: Path) -> None:
    file = tmp_path / "user.nk"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(PluginError) as caught:
        read_credentials(str(file))
    assert caught.value.hint
    assert len(text) < 10 or str(text) not in str(caught.value)


def test_a_pipe_of_credentials_that_nobody_writes_is_not_waited_for(tmp_path: Path, monkeypatch: Any) -> None:
    os.mkfifo(tmp_path / "pipe.creds")
    monkeypatch.setattr("pegboard.config._files.PIPE_S", 0.01)
    with pytest.raises(PluginError, match=r"pipe\.creds cannot be read: it is a pipe"):
        read_credentials(str(tmp_path / "pipe.creds"))


def test_a_seed_is_in_no_repr() -> None:
    pair = KeyPair.generate()
    assert pair.seed.startswith("SU")
    assert pair.public.startswith("U")
    assert KeyPair(pair.seed).public == pair.public
    assert pair.seed not in repr(pair) + repr(Servers(urls=("nats://user:secret@h",)))
    assert "secret" not in repr(Servers(urls=("nats://user:secret@h",))) + repr(Address("nats://user:secret@h"))


@pytest.mark.parametrize("url", ["http://h", "nats://", "nats://h:x", "nats://h:99999", "nats://h/path", ""])
def test_what_is_no_address_is_told_without_its_password(url: str) -> None:
    with pytest.raises(PluginError, match="not an address of a NATS server"):
        Address(url)
    with pytest.raises(PluginError) as caught:
        Address("http://user:secret@h")
    assert "secret" not in str(caught.value)


# -- streams


async def test_a_counter_counts_for_all(nats_server: NatsServer) -> None:
    async with linked(nats_server.url) as one, linked(nats_server.url) as two:
        config = {"name": "COUNT", "subjects": ["count.>"], "allow_msg_counter": True, "allow_direct": True}
        await jetstream.require_stream(one, config)
        await jetstream.require_stream(two, config | {"max_age": 60_000_000_000})
        values: list[int] = []

        async def count(client: Client) -> None:
            for _ in range(20):
                answer = await jetstream.publish(client, "count.a", headers={"Nats-Incr": "1"})
                values.append(int(answer["val"]))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(count, one)
            nursery.start_soon(count, two)
        assert sorted(values) == list(range(1, 41))
        last = await jetstream.last_of(one, "COUNT", "count.a")
        assert last is not None
        assert json.loads(last.payload) == {"val": "40"}
        assert await jetstream.last_of(one, "COUNT", "count.b") is None


async def test_a_stream_that_refuses_says_why(nats_server: NatsServer, start_server: Any) -> None:
    async with linked(nats_server.url) as client:
        with pytest.raises(jetstream.JetStreamError) as caught:
            await jetstream.api(client, "STREAM.INFO.NONE")
        assert caught.value.number == jetstream.NO_STREAM
        with pytest.raises(NoRespondersError):
            await jetstream.publish(client, "no.stream")
    async with linked(start_server().url) as without:
        with pytest.raises((NoRespondersError, jetstream.JetStreamError)):
            await jetstream.api(without, "INFO")
