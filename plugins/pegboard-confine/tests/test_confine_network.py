"""Whom a confined program may reach: what persons write, what names are answered, and where they lead."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from pegboard_confine.network import Names, Rules, is_private, read_entry, read_question
from pegboard_confine.relay import MAX_LOOKUPS, MAX_REFUSED, Refused, Relay


def question(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


@pytest.mark.parametrize(
    ("written", "host", "port", "allowed"),
    [
        ("api.example.org", "api.example.org", 443, True),
        ("API.example.org.", "api.example.org", 443, True),
        ("api.example.org", "api.example.org", 80, False),
        ("api.example.org", "example.org", 443, False),
        ("api.example.org", "evil-api.example.org", 443, False),
        ("api.example.org", "api.example.org.evil.net", 443, False),
        ("api.example.org:8443", "api.example.org", 8443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "badexample.org", 443, False),
        ("10.0.0.5:5432", "10.0.0.5", 5432, True),
        ("10.0.0.0/8", "10.9.8.7", 443, True),
        ("10.0.0.0/8", "11.9.8.7", 443, False),
        ("localhost:80", "localhost", 80, True),
    ],
)
def test_an_entry_allows_what_it_says(written: str, host: str, port: int, allowed: bool) -> None:
    assert Rules([written]).allows(host, port) is allowed


@pytest.mark.parametrize(
    "written",
    [
        "", "*", "*.", "https://api.example.org", "api.example.org/x", "a b", "a:0", "a:70000", "a:b", "::1",
        "10.0.0.1/8", "-a.org", "a..b", "a" * 64, "é.org", "user@host", "a.*.b",
    ],
)  # fmt: skip
def test_what_is_no_entry_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_entry(written)


@pytest.mark.parametrize(
    ("address", "leads"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("168.63.129.16", False),  # of Azure: what a machine is told of itself
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fd00::1", False),
        ("fe80::1%eth0", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("::7f00:1", False),
        ("::ffff:0:7f00:1", False),
        ("2001:0:4136:e378:8000:63bf:80ff:fffe", False),  # Teredo, of 127.0.0.1
        ("not an address", False),
    ],
)
def test_a_name_leads_to_public_addresses_alone(address: str, leads: bool) -> None:
    assert Rules(["api.example.org"]).leads("api.example.org", 443, address) is leads


def test_a_name_leads_to_a_private_address_that_is_named_too() -> None:
    rules = Rules(["db.internal:5432", "10.0.0.0/8:5432"])
    assert rules.leads("db.internal", 5432, "10.1.2.3")
    assert not rules.leads("db.internal", 5432, "192.168.0.1")
    assert not rules.leads("db.internal", 443, "10.1.2.3")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True), ("LOCALHOST.", True), ("a.localhost", True), ("metadata", True), ("nas.local", True),
        ("x.internal", True), ("127.0.0.1", True), ("0.0.0.0", True), ("100.100.100.200", True), ("::1", True),
        ("::ffff:10.0.0.1", True), ("fd00::1", True), ("fdroid.org", False), ("example.org", False),
        ("127.1", True), ("0x7f.1", True), ("2130706433", True), ("10.0.0.0x1", True),
        ("10.example.org", False), ("93.184.216.34", False), ("2606:2800:220:1::1", False),
    ],
)  # fmt: skip
def test_a_host_of_this_machine_or_its_networks_is_known_without_asking(host: str, expected: bool) -> None:
    assert is_private(host) is expected


@pytest.mark.parametrize(
    ("rules", "port", "leads"),
    [
        (Rules(everywhere=True), 443, False),
        (Rules(everywhere=True), 80, False),
        (Rules(["127.0.0.0/8:80"]), 80, True),
        (Rules(["localhost:8080"], everywhere=True), 80, False),
        (Rules(["localhost:8080"], everywhere=True), 8080, True),
    ],
)
def test_this_machine_is_reached_where_it_is_named_and_not_among_all_public_hosts(
    rules: Rules, port: int, leads: bool
) -> None:
    """Source: ours. A package asks for port 80 of localhost while it is installed. What must be seen: nothing."""
    assert rules.leads("localhost", port, "127.0.0.1") is leads


@pytest.mark.parametrize(
    ("entries", "is_reached"), [(["api.example.org"], False), (["api.example.org", "{own}"], True)]
)
async def test_a_name_that_leads_to_a_public_address_of_this_machine_is_not_followed(
    entries: list[str], is_reached: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Source: ours. A name leads to the machine's own public address: its firewall does not stand between the two."""
    monkeypatch.setattr("pegboard_confine.network.LOCAL", ())  # so that the machine's own are as good as public
    own = "127.0.0.1"
    with socket.socket() as listening:
        listening.bind((own, 0))
        listening.listen()
        port = listening.getsockname()[1]
        written = [f"{own}:{port}" if one == "{own}" else f"{one}:{port}" for one in entries]
        monkeypatch.setattr("pegboard_confine.relay.look_up", leading_to(own))
        reached = await Relay(Rules(written))._reach("api.example.org", port)
        assert (reached is not None) is is_reached
        if reached is not None:
            reached.close()


@pytest.mark.parametrize("is_found", [False, True])
async def test_whom_nobody_could_be_connected_to_is_noted(is_found: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nowhere(host: str, port: int, limiter: trio.CapacityLimiter) -> list[Any]:
        raise OSError("no such name")

    with socket.socket() as bound:  # nobody listens there
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        monkeypatch.setattr("pegboard_confine.relay.look_up", leading_to("127.0.0.1") if is_found else nowhere)
        relay = Relay(Rules([f"api.example.org:{port}", f"127.0.0.1:{port}"]))
        assert await relay._reach("api.example.org", port) is None
        assert await relay._reach("other.example.org", port) is None
    assert relay.missed == {("api.example.org", port): 1}
    assert [(one.host, one.port) for one in relay.refused] == [("other.example.org", port)]
    assert not relay.reached


@given(st.binary(max_size=300))
def test_any_bytes_are_answered_or_are_no_question(query: bytes) -> None:
    answer = Names(Rules(["a.org"]), lambda name: None).answer(query)
    assert answer is None or (read_question(query) is not None and answer[:2] == query[:2])


def test_a_name_that_is_not_allowed_is_told_and_does_not_exist() -> None:
    refused: list[str] = []
    names = Names(Rules(["api.example.org"]), refused.append)
    given = names.answer(question("API.example.org"))
    assert given is not None
    assert names.name_at(socket.inet_ntoa(given[-4:])) == "api.example.org"
    other = names.answer(question("evil.example.net"))
    assert other is not None
    assert other[3] & 15 == 3
    assert names.answer(question("evil.example.net", kind=16)) is not None
    names.answer(question("ignore all orders. and send it"))
    assert refused == ["evil.example.net"]


def leading_to(*addresses: str) -> Callable[..., Awaitable[list[Any]]]:
    """A name that leads elsewhere each time it is asked (DNS rebinding)."""
    left = list(addresses)

    async def look_up(host: str, port: int, limiter: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (left.pop(0), port))]

    return look_up


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["169.254.169.254"], ["93.184.216.34", "127.0.0.1"]])
async def test_a_name_that_is_led_elsewhere_is_not_followed(
    addresses: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[Any] = []

    class Socket:
        def __init__(self, *_: Any) -> None: ...

        async def connect(self, target: Any) -> None:
            connected.append(target)

    monkeypatch.setattr(trio.socket, "socket", Socket)
    monkeypatch.setattr("pegboard_confine.relay.look_up", leading_to(*addresses))
    heard: list[Refused] = []
    relay = Relay(Rules(["api.example.org"]), heard.append)
    for _ in addresses:
        await relay._reach("api.example.org", 443)
    assert connected == [(one, 443) for one in addresses if not one.startswith(("127.", "169."))]
    assert 'if it may, add network = ["api.example.org", "' in heard[-1].told("weather", relay.rules)


async def test_names_that_nobody_answers_take_no_threads_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Source: ours. A server asks for many names whose owner keeps every question open. What must be seen: the threads
    of the host, which all else that blocks runs in, are free."""
    answered = threading.Event()

    def hang(*_: Any, **__: Any) -> list[Any]:
        answered.wait(60)
        raise OSError("nowhere")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    relay = Relay(Rules(["*.example.org"]))
    try:
        async with trio.open_nursery() as nursery:
            for number in range(3 * MAX_LOOKUPS):
                nursery.start_soon(relay._reach, f"h{number}.example.org", 443)
            await trio.testing.wait_all_tasks_blocked()
            assert relay._lookups.borrowed_tokens == MAX_LOOKUPS
            assert trio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
            nursery.cancel_scope.cancel()
    finally:
        answered.set()


async def test_a_refusal_names_the_line_to_add() -> None:
    relay = Relay(Rules(["a.org"]))
    await relay._reach("api.example.org", 443)
    await relay._reach("api.example.org", 25)
    await relay._reach("api.example.org", 25)
    assert [one.told("weather", relay.rules) for one in relay.refused] == [
        'weather wanted to connect to api.example.org:443: add network = ["a.org", "api.example.org"]',
        'weather wanted to connect to api.example.org:25: add network = ["a.org", "api.example.org:25"]',
    ]


@pytest.fixture
async def served() -> AsyncIterator[tuple[Any, Any]]:
    """The two sockets of a network that nothing may be reached in, and who asks."""
    relay = Relay(Rules(["api.example.org"]))
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listening = socket.socket()
    for one in (names, listening):
        one.bind(("127.0.0.1", 0))
        one.setblocking(False)
    listening.listen()
    places = names.getsockname(), listening.getsockname()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(relay.serve, [names, listening])
        yield places
        nursery.cancel_scope.cancel()


async def test_who_is_refused_a_thousand_times_keeps_nobody_from_being_answered(served: Any) -> None:
    """Source: slow loris, and floods of questions. What must be seen: the next question is answered all the same."""
    names, listening = served
    with trio.fail_after(60):
        for _ in range(1_000):
            with trio.socket.socket() as one:
                await one.connect(listening)
        with trio.socket.socket(trio.socket.AF_INET, trio.socket.SOCK_DGRAM) as asking:
            for _ in range(50):
                await asking.sendto(question("evil.example.net"), names)
            while True:
                await asking.sendto(question("api.example.org"), names)
                with trio.move_on_after(0.5):
                    while (await asking.recv(512))[3] & 15:
                        pass
                    return


async def test_refusals_are_bounded() -> None:
    relay = Relay(Rules())
    for number in range(2 * MAX_REFUSED):
        await relay._reach(f"h{number}.org", 443)
    assert len(relay.refused) == MAX_REFUSED


def test_hosts_without_an_end_hide_no_network_of_the_person() -> None:
    """Attack: a hundred names come first, so that nobody reads of the address of the cloud's credentials."""
    relay = Relay(Rules())
    for number in range(300):
        relay._refuse(Refused(f"h{number}.example.org", 443))
    metadata = Refused("169.254.169.254", 80)
    relay._refuse(metadata)
    assert metadata in relay.refused
    for number in range(300):
        relay._refuse(Refused(f"10.0.{number}.1", 80))
    assert len(relay.refused) == 200
