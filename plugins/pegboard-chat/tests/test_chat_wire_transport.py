"""What is sent again and what is not, how long anything may take, and how much may come: on a clock that jumps."""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import attrs
import httpx2
import pytest
import trio

from pegboard import ErrorCode, trace
from pegboard_chat import ModelError
from pegboard_chat.wire.faults import Place
from pegboard_chat.wire.transport import Transport, open_transport

URL = "https://models.example/v1/chat"
KEY = "sk-proj-Zx81kQ0aVbN3mT7yLwE5RdJ2"
ACME = Place("acme", "m1", headers={"authorization": f"Bearer {KEY}"}, key=KEY, key_variable="ACME_KEY")
EVENTS = {"content-type": "text/event-stream; charset=utf-8"}


class Peer:
    """A provider in memory: gives one answer after the other, the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.requests: list[httpx2.Request] = []
        self.times: list[float] = []
        self.closed = 0

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        self.times.append(trio.current_time())
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return httpx2.Response(200, headers=EVENTS, stream=_Body(answer, self))
        status, headers, content = answer
        return httpx2.Response(status, headers=headers, stream=_Body(lambda: _pieces(content), self))

    @property
    def waits(self) -> list[float]:
        return [round(b - a, 3) for a, b in pairwise(self.times)]


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    yield content


class _Body(httpx2.AsyncByteStream):
    def __init__(self, make: Callable[[], AsyncIterator[bytes]], peer: Peer) -> None:
        self._make = make
        self._peer = peer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async with contextlib.aclosing(self._make()) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                yield piece

    async def aclose(self) -> None:
        self._peer.closed += 1


@contextlib.asynccontextmanager
async def transport_to(peer: Peer, **limits: Any) -> AsyncIterator[Transport]:
    options = {"jitter": lambda: 0.0, "http": httpx2.MockTransport(peer), **limits}
    async with open_transport(**options) as transport:
        yield transport


async def post(peer: Peer, body: Any = None, **limits: Any) -> Any:
    async with transport_to(peer, **limits) as transport:
        return await transport.post(URL, body or {}, ACME)


async def events_of(peer: Peer, **limits: Any) -> list[str]:
    async with transport_to(peer, **limits) as transport, transport.stream(URL, {}, ACME) as answer:
        return [event.data async for event in answer]


async def failing(ask: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    return caught.value


OK = (200, {}, b'{"ok": true}')


async def test_a_request_is_json_with_the_headers_of_its_place() -> None:
    peer = Peer(OK)
    assert await post(peer, {"text": "grüße \udc80", "n": 1}) == {"ok": True}
    (request,) = peer.requests
    assert request.method == "POST"
    assert json.loads(request.content) == {"text": "grüße ?", "n": 1}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["accept-encoding"] == "gzip, deflate"
    assert request.headers["user-agent"].startswith("pegboard-chat/")


async def test_a_request_hands_on_the_trace_that_it_belongs_to_and_its_place_has_the_last_word() -> None:
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    peer = Peer(OK, OK, OK)
    own = attrs.evolve(ACME, headers={**ACME.headers, "baggage": "own=1"})
    async with transport_to(peer) as transport:
        with trace.following({"traceparent": parent, "baggage": "tenant=blue"}):
            await transport.post(URL, {}, ACME)
            await transport.post(URL, {}, own)
        await transport.post(URL, {}, ACME)
    told = [{key: one.headers[key] for key in trace.MAX_CHARACTERS if key in one.headers} for one in peer.requests]
    assert told == [
        {"traceparent": parent, "baggage": "tenant=blue"},
        {"traceparent": parent, "baggage": "own=1"},
        {},
    ]


async def test_a_list_is_asked_for_without_a_body() -> None:
    peer = Peer(OK)
    async with transport_to(peer) as transport:
        assert await transport.get(URL, ACME) == {"ok": True}
    assert peer.requests[0].method == "GET"
    assert "content-type" not in peer.requests[0].headers


async def test_events_are_asked_for_uncompressed() -> None:
    peer = Peer((200, EVENTS, b"data: 1\n\ndata: 2\n\n"))
    assert await events_of(peer) == ["1", "2"]
    assert peer.requests[0].headers["accept-encoding"] == "identity"
    assert peer.requests[0].headers["accept"] == "text/event-stream"


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
async def test_a_refusal_that_did_nothing_is_sent_again(status: int, autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer((status, {}, b"later"), (status, {}, b"later"), OK)
    assert await post(peer) == {"ok": True}
    assert peer.waits == [0.5, 1.0]


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 413, 422, 501])
async def test_a_refusal_that_stays_is_not_sent_again(status: int) -> None:
    peer = Peer((status, {"location": "/elsewhere"}, b"no"))
    error = await failing(post(peer))
    assert error.details["status"] == status
    assert len(peer.requests) == 1


async def test_the_last_refusal_is_the_error(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer((500, {}, b"first"), (500, {}, b"second"), (503, {}, b'{"error": {"message": "third"}}'))
    error = await failing(post(peer))
    assert "(503): third" in error.message
    assert len(peer.requests) == 3


async def test_jitter_spreads_the_waits(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer((500, {}, b""), (500, {}, b""), OK)
    await post(peer, jitter=lambda: 1.0)
    assert peer.waits == [0.25, 0.5]


async def test_back_off_is_bounded(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer((500, {}, b""))
    await failing(post(peer, tries=9))
    assert peer.waits == [0.5, 1, 2, 4, 8, 8, 8, 8]


@pytest.mark.parametrize(
    ("headers", "wait_s"), [({"Retry-After": "7"}, 7), ({"retry-after-ms": "1500"}, 1.5), ({"Retry-After": "0"}, 0)]
)
async def test_a_provider_says_when_to_come_again(
    headers: dict[str, str], wait_s: float, autojump_clock: trio.testing.MockClock
) -> None:
    peer = Peer((429, headers, b""), OK)
    await post(peer)
    assert peer.waits == [wait_s]


async def test_nobody_comes_earlier_than_the_provider_said(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer((429, {"Retry-After": "7"}, b""), OK)
    await post(peer, jitter=lambda: 1.0)
    assert peer.waits == [7.125]


async def test_a_provider_may_say_it_in_the_body(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer((429, {}, b'{"error": {"code": 429, "details": [{"retryDelay": "12s"}]}}'), OK)
    await post(peer)
    assert peer.waits == [12]


async def test_a_wait_beyond_the_bound_is_told_instead(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer((429, {"Retry-After": "3600"}, b""))
    error = await failing(post(peer))
    assert error.code is ErrorCode.RATE_LIMITED
    assert error.details["retry_after_s"] == 3600
    assert len(peer.requests) == 1


async def test_a_wait_beyond_the_deadline_is_told_at_once(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer((429, {"Retry-After": "30"}, b""))
    error = await failing(post(peer, timeout_s=20))
    assert error.details["reason"] == "limit"
    assert trio.current_time() - peer.times[0] < 0.1


async def test_a_provider_may_forbid_to_send_it_again(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer((503, {"x-should-retry": "false"}, b""))
    await failing(post(peer))
    assert len(peer.requests) == 1


async def test_a_caller_may_want_one_try_alone() -> None:
    peer = Peer((503, {}, b""))
    async with transport_to(peer) as transport:
        await failing(transport.get(URL, ACME, tries=1))
    assert len(peer.requests) == 1


@pytest.mark.parametrize("problem", [httpx2.ConnectError(KEY), httpx2.ConnectTimeout(KEY), httpx2.PoolTimeout(KEY)])
async def test_a_connection_that_never_stood_is_tried_again(
    problem: Exception, autojump_clock: trio.testing.MockClock
) -> None:
    peer = Peer(problem, problem, OK)
    assert await post(peer) == {"ok": True}
    peer = Peer(problem)
    error = await failing(post(peer))
    assert error.details["reason"] == "no_network"
    assert "models.example" in error.message
    assert KEY not in repr(error)
    assert len(peer.requests) == 3


@pytest.mark.parametrize(
    "problem",
    [httpx2.ReadError(KEY), httpx2.RemoteProtocolError(KEY), httpx2.WriteTimeout(KEY), httpx2.WriteError(KEY)],
)
async def test_a_request_that_lost_its_answer_is_never_sent_again(problem: Exception) -> None:
    peer = Peer(problem)
    error = await failing(post(peer))
    assert error.details["reason"] == "half_answer"
    assert error.details["retry"] == "unknown"
    assert "may have been carried out" in error.message
    assert KEY not in repr(error)
    assert len(peer.requests) == 1


async def test_a_proxy_that_refuses_is_named() -> None:
    error = await failing(post(Peer(httpx2.ProxyError("407 Who are you"))))
    assert error.details["reason"] == "no_network"
    assert "HTTPS_PROXY" in error.message


async def silence() -> AsyncIterator[bytes]:
    await trio.sleep_forever()
    yield b""


async def stall() -> AsyncIterator[bytes]:
    yield b"data: 1\n\n"
    await trio.sleep_forever()


async def drip() -> AsyncIterator[bytes]:
    while True:
        await trio.sleep(10)
        yield b":"


async def cut() -> AsyncIterator[bytes]:
    yield b"data: 1\n\n"
    raise httpx2.RemoteProtocolError("peer closed connection")


async def flood() -> AsyncIterator[bytes]:
    while True:
        yield b"data: x\n\n" * 100


async def line() -> AsyncIterator[bytes]:
    while True:
        yield b"data: x" * 100


async def test_an_answer_that_never_begins_ends_with_the_deadline(autojump_clock: trio.testing.MockClock) -> None:
    error = await failing(events_of(Peer(silence), timeout_s=40, idle_s=5))
    assert error.code is ErrorCode.TIMEOUT
    assert error.details["reason"] == "timeout"
    assert "timeout_s" in error.message
    assert trio.current_time() == pytest.approx(40, abs=0.1)


async def test_an_answer_that_stalls_ends_after_the_idle_time(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer(stall)
    error = await failing(events_of(peer, timeout_s=40, idle_s=5))
    assert error.details["reason"] == "timeout"
    assert "5 s" in error.message
    assert trio.current_time() == pytest.approx(5, abs=0.1)
    assert peer.closed


async def test_an_answer_that_drips_ends_with_the_deadline(autojump_clock: trio.testing.MockClock) -> None:
    error = await failing(events_of(Peer(drip), timeout_s=95, idle_s=20))
    assert error.details["reason"] == "timeout"
    assert trio.current_time() == pytest.approx(95, abs=0.1)


async def test_a_request_has_a_deadline_of_its_own(autojump_clock: trio.testing.MockClock) -> None:
    async with transport_to(Peer(silence), timeout_s=1000) as transport:
        await failing(transport.post(URL, {}, ACME, timeout_s=3))
    assert trio.current_time() == pytest.approx(3, abs=0.1)


async def test_a_server_that_takes_no_request_ends_with_the_deadline(autojump_clock: trio.testing.MockClock) -> None:
    async def hang(request: httpx2.Request) -> httpx2.Response:
        await trio.sleep_forever()
        raise AssertionError

    async with open_transport(http=httpx2.MockTransport(hang), timeout_s=7) as transport:
        error = await failing(transport.post(URL, {}, ACME))
    assert error.details["reason"] == "timeout"


async def test_events_that_came_before_the_cut_are_given() -> None:
    seen = []
    async with transport_to(Peer(cut)) as transport, transport.stream(URL, {}, ACME) as answer:
        with pytest.raises(ModelError, match="broke off") as caught:
            seen += [seen.append(event.data) async for event in answer]
        assert [event async for event in answer] == []
    assert seen == ["1"]
    assert caught.value.details["reason"] == "half_answer"
    assert caught.value.__context__ is None


@pytest.mark.parametrize(("body", "bound"), [(flood, {"max_bytes": 10_000}), (line, {"max_event_bytes": 10_000})])
async def test_an_answer_without_end_is_bounded(body: Any, bound: dict[str, int]) -> None:
    peer = Peer(body)
    error = await failing(events_of(peer, **bound))
    assert "more than 10,000 bytes" in error.message
    assert peer.closed


async def test_json_is_bounded_as_well() -> None:
    error = await failing(post(Peer((200, {}, b" " * 20_000)), max_bytes=10_000))
    assert "more than 10,000 bytes" in error.message


async def test_the_body_of_a_refusal_is_bounded_in_size_and_time(autojump_clock: trio.testing.MockClock) -> None:
    async def refuse(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(400, stream=_Body(bodies.pop(), peer))

    peer = Peer(OK)
    bodies: list[Any] = [flood, drip, cut]
    async with open_transport(http=httpx2.MockTransport(refuse)) as transport:
        assert "broke" not in (await failing(transport.post(URL, {}, ACME))).message  # what came counts: it is a 400
        started = trio.current_time()
        await failing(transport.post(URL, {}, ACME))
        assert trio.current_time() - started == pytest.approx(5, abs=0.1)
        await failing(transport.post(URL, {}, ACME))
    assert peer.closed >= 3


async def test_compressed_json_is_read() -> None:
    packed = gzip.compress(b'{"a": "' + b"x" * 100_000 + b'"}')
    answer = await post(Peer((200, {"content-encoding": "gzip"}, packed)))
    assert len(answer["a"]) == 100_000


async def test_events_that_come_compressed_all_the_same_are_read() -> None:
    peer = Peer((200, {**EVENTS, "content-encoding": "gzip"}, gzip.compress(b"data: 1\n\n")))
    assert await events_of(peer) == ["1"]


async def test_what_unpacks_to_too_much_is_bounded() -> None:
    packed = gzip.compress(b" " * 50_000_000)
    error = await failing(post(Peer((200, {"content-encoding": "gzip"}, packed)), max_bytes=5_000_000))
    assert "more than 5,000,000 bytes" in error.message


async def test_what_cannot_be_unpacked_is_an_error() -> None:
    error = await failing(post(Peer((200, {"content-encoding": "gzip"}, b"plain"))))
    assert "unpacked" in error.message
    assert error.details["reason"] == "no_json"


@pytest.mark.parametrize(
    ("media", "body", "streamed"),
    [
        ("application/json", b'{"a": 1}', False),
        ("application/json; charset=utf-8", b"data: x\n\n", False),
        ("application/problem+json", b'{"a": 1}', False),
        ("text/event-stream", b'{"a": 1}', True),
        ("text/plain", b' \n {"a": 1}', False),
        ("text/plain", b" \ndata: x\n\n", True),
        ("", b"event: x\n\n", True),
        ("", b": ping\n\n", True),
        ("text/html", b"<html></html>", False),
        ("", b"", False),
    ],
)
async def test_a_server_that_does_not_stream_is_noticed(media: str, body: bytes, streamed: bool) -> None:
    peer = Peer((200, {"content-type": media}, body))
    async with transport_to(peer) as transport, transport.stream(URL, {}, ACME) as answer:
        assert answer.streamed is streamed


async def test_an_answer_that_was_not_streamed_is_read_whole() -> None:
    peer = Peer((200, {"content-type": "text/plain"}, b' {"a": 1}'))
    async with transport_to(peer) as transport, transport.stream(URL, {}, ACME) as answer:
        assert await answer.json() == {"a": 1}


@pytest.mark.parametrize(
    ("body", "reason", "words"),
    [
        (b"<html>Welcome to the hotel</html>", "no_json", "base_url"),
        (b"", "no_json", "not JSON"),
        (b'{"a": [1, 2', "half_answer", "broke off"),
        (b"\xff\xfe", "no_json", "UTF-8"),
    ],
)
async def test_an_answer_that_is_not_json_is_an_error(body: bytes, reason: str, words: str) -> None:
    error = await failing(post(Peer((200, {}, body))))
    assert error.details["reason"] == reason
    assert words in error.message


async def test_a_redirect_is_told_and_not_followed() -> None:
    peer = Peer((302, {"location": f"https://user:{KEY}@evil.example/v2?key={KEY}"}, b""))
    error = await failing(post(peer))
    assert "https://evil.example/v2" in error.message
    assert KEY not in repr(error)
    assert len(peer.requests) == 1


@pytest.mark.parametrize("location", ["", "http://[", "/v2", "\u00e4"])
async def test_any_redirect_is_an_error(location: str) -> None:
    error = await failing(post(Peer((307, {"location": location.encode()}, b""))))
    assert error.details["status"] == 307


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object(), {"a": {(1, 2): 3}}])
async def test_a_body_that_json_cannot_say_is_refused_before_it_is_sent(value: Any) -> None:
    peer = Peer(OK)
    error = await failing(post(peer, {"value": value}))
    assert error.code is ErrorCode.INVALID_INPUT
    assert peer.requests == []


async def test_a_key_goes_nowhere_in_the_clear() -> None:
    peer = Peer(OK)
    async with transport_to(peer) as transport:
        error = await failing(transport.post("http://models.example/v1", {}, ACME))
        assert "unencrypted" in error.message
        assert peer.requests == []
        assert await transport.post("http://models.example/v1", {}, Place("acme")) == {"ok": True}
        for here in ("http://localhost:1/v1", "http://127.0.0.1/v1", "http://[::1]:8080/v1"):
            assert await transport.post(here, {}, ACME) == {"ok": True}


@pytest.mark.parametrize(
    "url", ["", "models.example/v1", "ftp://models.example", "https://", "http://[::1", "https://x:y/"]
)
async def test_an_address_that_is_none_is_refused(url: str) -> None:
    async with transport_to(Peer(OK)) as transport:
        error = await failing(transport.post(url, {}, ACME))
    assert error.details["reason"] == "refused"


@pytest.mark.parametrize(
    "url", ["https://models.example\x00/", "https://" + "x" * 70_000 + "/", "https://models example/"]
)
async def test_an_address_that_http_cannot_carry_is_an_error(url: str) -> None:
    async with transport_to(Peer(OK)) as transport:
        error = await failing(transport.post(url, {}, ACME))
    assert error.details["reason"] == "refused"
    assert len(error.message) < 300


@pytest.mark.parametrize("key", [f"{KEY}\r\nx: y", f"{KEY}\u2026", f"{KEY}\x7f"])
async def test_a_key_that_was_copied_wrong_is_not_shown(key: str) -> None:
    place = Place("acme", headers={"authorization": f"Bearer {key}"}, key=key, key_variable="ACME_KEY")
    async with transport_to(Peer(OK)) as transport:
        error = await failing(transport.post(URL, {}, place))
    assert error.details["reason"] == "wrong_key"
    assert "ACME_KEY" in error.message
    assert KEY[:9] not in repr(error)


async def test_leaving_a_stream_early_closes_it_at_once() -> None:
    peer = Peer(flood)
    async with transport_to(peer) as transport:
        async with transport.stream(URL, {}, ACME) as answer:
            await anext(answer)
        assert peer.closed


async def test_cancelling_a_stream_closes_it_at_once(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer(stall)
    async with transport_to(peer) as transport:
        with trio.move_on_after(2) as scope:
            async with transport.stream(URL, {}, ACME) as answer:
                async for _ in answer:
                    pass
        assert scope.cancelled_caught
        assert peer.closed
    assert trio.current_time() == pytest.approx(2, abs=0.1)


async def test_a_cancelled_wait_between_tries_ends_at_once(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer((503, {"retry-after": "50"}, b""))
    with trio.move_on_after(2) as scope:
        await post(peer)
    assert scope.cancelled_caught
    assert len(peer.requests) == 1


async def test_what_the_reader_finished_is_read_over_for_a_moment_only(autojump_clock: trio.testing.MockClock) -> None:
    peer = Peer(stall)
    async with transport_to(peer) as transport:
        async with transport.stream(URL, {}, ACME) as answer:
            await anext(answer)
            answer.finish()
        assert trio.current_time() == pytest.approx(0.05, abs=0.01)
        assert peer.closed


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1", "httpx2[socks]"),
        ("HTTPS_PROXY", "gopher://proxy:1", "HTTPS_PROXY"),
        ("HTTPS_PROXY", "http://[::1", "HTTPS_PROXY"),
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "SSL_CERT_FILE"),
    ],
)
async def test_an_environment_that_cannot_be_used_says_what_to_look_at(
    variable: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "no_proxy",
        "NO_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    if value.startswith("socks") and importlib.util.find_spec("socksio"):
        pytest.skip("this machine has what a SOCKS proxy needs")

    async def ask() -> None:
        async with open_transport() as transport:
            await transport.post(URL, {}, ACME, timeout_s=0.001)

    error = await failing(ask())
    assert error.details["provider"] == "acme"
    assert error.details["reason"] == "no_network"
    assert words in error.message
    assert value not in error.message


def test_importing_the_wire_imports_no_client_and_no_loop() -> None:
    code = (
        "import sys, pegboard_chat.wire.transport, pegboard_chat.wire.http_model, pegboard_chat.wire.keys,"
        " pegboard_chat.wire.faults, pegboard_chat.wire.sse, pegboard_chat.models;"
        "print([name for name in ('httpx2', 'trio', 'keyring', 'ssl') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
