"""Everything that a server can do wrong, against every bridge, streamed and not: what is raised, what of it may be
read, what is kept, and what is left behind."""

from __future__ import annotations

import contextlib
import datetime
import functools
import gzip
import os
import socket
import ssl
import subprocess
import threading
import zlib
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing

from pegboard import ErrorCode
from pegboard_chat import ChatEnded, Conversation, ModelError, TextDelta

PROVIDERS = ("openai", "openai-responses", "anthropic", "cohere", "gemini")
VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "cohere": "CO_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
every_provider = pytest.mark.parametrize("provider", PROVIDERS)
streamed_or_not = pytest.mark.parametrize(
    "stream", [pytest.param(True, id="streamed"), pytest.param(False, id="whole")]
)
PAGE = b"<!doctype html><html><head><title>Welcome to nginx!</title></head><body>Hello</body></html>"


def whole_of(conversation: Conversation) -> Conversation:
    """What was said whole; the half of an answer that was kept is marked."""
    said = tuple(message for message in conversation.messages if message.cut is None)
    return Conversation(conversation.system, said)


@pytest.fixture
def fails(sealed, heard, faulty):
    """`await fails(chat, reason, code)`: the question fails so, is kept, and is answered when the server is well."""

    async def fail(chat: Any, reason: str, code: ErrorCode = ErrorCode.UPSTREAM_ERROR, **details: Any) -> ModelError:
        before = chat.conversation
        with pytest.raises(ModelError) as caught:
            await heard(chat, "Hello?")
        problem = caught.value
        sealed(problem)
        provider = chat.model.name.partition(":")[0]
        assert (problem.details["reason"], problem.code) == (reason, code), problem.message
        assert problem.details["provider"] == provider
        assert problem.message.startswith(provider)
        assert ";" in problem.message or ":" in problem.message, "it does not say what to do"
        assert problem.details | details == problem.details
        assert "\n" not in problem.message
        assert len(problem.message) < 700
        assert whole_of(chat.conversation) == before.ask("Hello?")
        events = await heard(chat)
        assert events[-1].text == "Well again."
        assert [one.role for one in chat.conversation.messages] == [
            *(one.role for one in before.messages),
            "user",
            "assistant",
        ]
        return problem

    return fail


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a certificate that nobody vouches for."""
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
        " -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem"
    )
    try:
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine has no openssl that makes certificates")
    return folder


@contextlib.asynccontextmanager
async def nothing_left():
    """No task, descriptor or thread more when the block is over than before it."""
    await trio.testing.wait_all_tasks_blocked(0.01)
    before, threads, files = tasks(), set(threading.enumerate()), len(os.listdir("/proc/self/fd"))
    yield
    with trio.move_on_after(30):
        while tasks() - before or len(os.listdir("/proc/self/fd")) > files:
            await trio.sleep(0.005)
    assert not tasks() - before
    assert len(os.listdir("/proc/self/fd")) <= files
    assert not [one for one in set(threading.enumerate()) - threads if not one.name.startswith("Trio thread")]


def tasks() -> set[str]:
    """All tasks of the run, by name and number."""
    found: set[str] = set()
    root = trio.lowlevel.current_root_task()
    waiting = [root] if root is not None else []
    while waiting:
        task = waiting.pop()
        found.add(f"{task.name} {id(task)}")
        waiting += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    return found


@every_provider
@streamed_or_not
async def test_a_refusal_says_what_to_do_and_nothing_of_the_key(stage, faulty, fails, provider, stream) -> None:
    """The provider sends the key back in the body, in headers and in the reason of the status line."""
    key = faulty.KEY
    echo = f"Incorrect API key provided: {key}. Or Bearer {key}, or {key[:12]}...{key[-10:]}, or {key.upper()}."
    headers = {"x-echo": key, "set-cookie": f"key={key}", "www-authenticate": f"Bearer {key}"}
    refusals = [
        (401, "wrong_key", ErrorCode.UNAUTHORIZED),
        (403, "wrong_key", ErrorCode.FORBIDDEN),
        (404, "no_model", ErrorCode.NOT_FOUND),
        (400, "refused", ErrorCode.INVALID_INPUT),
        (413, "refused", ErrorCode.INVALID_INPUT),
        (422, "refused", ErrorCode.INVALID_INPUT),
        (418, "refused", ErrorCode.UPSTREAM_ERROR),
        (501, "server", ErrorCode.UPSTREAM_ERROR),
    ]
    async with stage(provider) as on, nothing_left():
        chat = on.chat(stream=stream)
        for status, reason, code in refusals:
            said = echo if status in (401, 403) else f"no {key} no"
            body = faulty.json.dumps(faulty.error(provider, status, said)).encode()
            on.server.answer(faulty.plain(status, body, headers, reason=f"No {key}"))
            problem = await fails(chat, reason, code, status=status)
            assert len(on.server.sent) == 2, f"{status} was sent again"
            assert f"({status})" in problem.message
            if reason == "wrong_key":
                assert VARIABLES[provider] in problem.message
            if reason == "no_model":
                assert faulty.MODELS[provider] in problem.message
                assert "--model" in problem.message


@every_provider
@streamed_or_not
async def test_what_is_not_an_answer_is_said_to_be_none(stage, faulty, fails, provider, stream) -> None:
    key = faulty.KEY
    other = PROVIDERS[PROVIDERS.index(provider) - 1 - (provider == "openai-responses")]
    answers = {
        "a page": faulty.plain(200, PAGE, {"content-type": "text/html"}),
        "a page that says JSON": faulty.plain(200, PAGE),
        "an array": faulty.as_json([1, {"a": [key]}]),
        "an empty array": faulty.as_json([]),
        "an empty object": faulty.as_json({}),
        "null": faulty.as_json(None),
        "a text": faulty.as_json(f"ok {key}"),
        "a number": faulty.plain(200, b"12"),
        "words": faulty.plain(200, f"ok, {key} is your key".encode(), {"content-type": "text/plain"}),
        "bytes": faulty.plain(200, bytes(range(256)), {"content-type": "application/octet-stream"}),
        "deep": faulty.plain(200, b"[" * 100_000),
        "another's": faulty.as_json(faulty.whole(other, faulty.Said("Hello.", stop="end"))),
        "an odd number": faulty.plain(200, b'{"choices": NaN}'),
        "two": faulty.plain(200, b"{} {}"),
    }
    async with stage(provider) as on, nothing_left():
        chat = on.chat(stream=stream)
        for name, answer in answers.items():
            on.server.answer(answer)
            before = chat.conversation
            try:
                problem = await fails(chat, "no_json")
                assert problem.details["status"] == 200
            except (AssertionError, pytest.fail.Exception) as problem:
                raise AssertionError(f"{name}: {problem}") from problem
            assert len(on.server.sent) == 2, f"{name} was asked for again"
            chat.conversation = before


@every_provider
@streamed_or_not
async def test_an_answer_without_anything_is_half_of_one(stage, faulty, heard, sealed, provider, stream) -> None:
    async with stage(provider) as on, nothing_left():
        chat = on.chat(stream=stream)
        for answer in (
            faulty.plain(200, b""),
            faulty.plain(200, b"", {"content-type": "text/event-stream"}),
            faulty.plain(200, b" \r\n\n ", {"content-type": "text/plain"}),
            faulty.plain(204, b""),
        ):
            on.server.answer(answer)
            with pytest.raises(ModelError) as caught:
                await heard(chat, "Hello?")
            assert caught.value.details["reason"] in ("half_answer", "no_json")
            sealed(caught.value)
            assert (await heard(chat))[-1].text == "Well again."


@every_provider
async def test_half_a_stream_is_not_an_answer_wherever_it_ends(stage, faulty, heard, sealed, provider) -> None:
    """At the end of every event and in the middle of each, with the connection closed well and not."""
    call = faulty.Call("call_1", "calculator", '{"expression": "1 + 1"}')
    said = faulty.Said("Let me see.", [call], thought="Hm, hm.")
    events = faulty.sse(faulty.events(provider, said))
    total = b"".join(events)
    ends, at = [], 0
    for event in events:
        ends += [at, at + len(event) // 2, at + len(event) - 2]
        at += len(event)
    results = 0
    async with stage(provider) as on, nothing_left():
        for cut in ends:
            for answer in (faulty.pieces([total[:cut]]), faulty.chunked([total[:cut]] if cut else [], ends=False)):
                chat = on.chat()
                on.server.answer(answer)
                problem: ModelError | None = None
                try:
                    await heard(chat, "Hello?")
                except ModelError as raised:
                    problem = raised
                if problem is None:  # all that counts was there
                    results += 1
                    assert chat.conversation.messages[1].calls[0].arguments == {"expression": "1 + 1"}
                    assert cut > len(total) * 0.6
                    continue
                assert problem.details["reason"] == "half_answer", (cut, problem.message)
                assert problem.details["status"] == 200
                assert problem.details["provider"] == provider
                sealed(problem)
                assert whole_of(chat.conversation) == on.chat().conversation.ask("Hello?")
                assert (await heard(chat))[-1].text == "Well again."
    assert results <= len(ends), "half of the cuts were taken for whole answers"


@every_provider
async def test_an_error_in_the_middle_of_a_stream_is_the_providers(stage, faulty, fails, provider) -> None:
    events = faulty.events(provider, faulty.Said("One two three four."))
    async with stage(provider) as on, nothing_left():
        for at in range(1, len(events) - 2):
            broken = [*events[:at], faulty.error_event(provider, f"The model {faulty.KEY} overloaded itself")]
            on.server.answer(faulty.pieces(faulty.sse(broken), hangs=True))
            with trio.fail_after(30):
                problem = await fails(on.chat(), "server")
            assert "overloaded itself" in problem.message


@every_provider
@streamed_or_not
async def test_events_that_are_no_json_end_the_answer(stage, faulty, heard, sealed, provider, stream) -> None:
    events = faulty.events(provider, faulty.Said("One two three."))
    bad = [f'{{"a": {faulty.KEY}}}', "[1]", "null", '"x"', "<html>", '{"type": {}}', "{" * 2000]
    async with stage(provider) as on, nothing_left():
        for data in bad:
            chat = on.chat(stream=stream)
            on.server.answer(faulty.pieces(faulty.sse([*events[:2], ("", data)]), hangs=False))
            with pytest.raises(ModelError) as caught:
                await heard(chat, "Hello?")
            sealed(caught.value)
            assert caught.value.details["reason"] in ("no_json", "half_answer", "server"), (data, caught.value)
            assert (await heard(chat))[-1].text == "Well again."


@every_provider
@streamed_or_not
async def test_a_provider_that_wants_us_to_wait_is_waited_for(stage, faulty, heard, provider, stream) -> None:
    async with stage(provider) as on, nothing_left():
        chat = on.chat(stream=stream)
        body = faulty.json.dumps(faulty.error(provider, 429, "slow down")).encode()
        date = (datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)).strftime("%a, %d %b %Y %H:%M:%S GMT")
        on.server.answer(
            faulty.plain(429, body, {"retry-after": "0.1"}), faulty.plain(429, body, {"retry-after": date})
        )
        began = trio.current_time()
        assert (await heard(chat, "Hello?"))[-1].text == "Well again."
        assert 0.1 <= trio.current_time() - began < 5
        assert len(on.server.sent) == 3
        assert on.server.sent[0].body == on.server.sent[2].body


@every_provider
@streamed_or_not
async def test_a_wait_that_is_too_long_is_told(stage, faulty, fails, provider, stream) -> None:
    async with stage(provider) as on, nothing_left():
        for said in ("7200", "99999999999999999999", "Fri, 31 Dec 2999 23:59:59 GMT"):
            on.server.answer(faulty.plain(429, b"{}", {"retry-after": said, "x-should-retry": "true"}))
            with trio.fail_after(30):
                problem = await fails(on.chat(stream=stream), "limit", ErrorCode.RATE_LIMITED, status=429)
            assert problem.details["retry_after_s"] >= 7200
            assert len(on.server.sent) == 2


@every_provider
@streamed_or_not
async def test_a_server_that_says_nothing_is_left_in_time(stage, faulty, sealed, heard, provider, stream) -> None:
    endless = (b": keep alive\n\n" for _ in iter(int, 1))
    events = faulty.sse(faulty.events(provider, faulty.Said("One two three.")))
    halves = [bytes([byte]) for byte in events[0]]
    answers = [
        faulty.silence,
        faulty.pieces([], hangs=True),
        faulty.pieces(events[:2], hangs=True),
        faulty.pieces(endless, delay_s=0.01),
        faulty.pieces(halves, delay_s=0.05),
    ]

    async def ask(chat: Any, question: str) -> None:
        with pytest.raises(ModelError) as caught:
            await heard(chat, question)
        sealed(caught.value)
        assert (caught.value.code, caught.value.details["reason"]) == (ErrorCode.TIMEOUT, "timeout"), caught.value
        assert "timeout_s" in caught.value.message

    async with stage(provider, chat={"timeout_s": 0.3}) as on, nothing_left():
        on.server.answer(*answers)
        chats = [on.chat(stream=stream) for _ in answers]
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                for number, chat in enumerate(chats):
                    nursery.start_soon(ask, chat, f"Hello for the time {number}?")
        on.server.answers.clear()  # a busy machine does not send every question in time
        asked = [str(one.body).partition("Hello for the time ")[2][0] for one in on.server.sent]
        assert len(set(asked)) == len(asked), "what was sent, and may have been done, was sent again"
        transport = on.model.transport
        transport.limits = attrs.evolve(transport.limits, timeout_s=30)  # an answer takes its time on a busy machine
        for chat in chats:
            assert (await heard(chat))[-1].text == "Well again."


@every_provider
async def test_a_drip_comes_as_it_comes_and_leaving_it_frees_the_connection(stage, faulty, provider) -> None:
    events = faulty.sse(faulty.events(provider, faulty.Said("abcdefghi")))
    async with stage(provider) as on, nothing_left():
        chat = on.chat()
        on.server.answer(faulty.pieces(events, delay_s=0.02, hangs=True))
        async with chat.ask("Hello?") as told:
            async for event in told:
                if isinstance(event, TextDelta):
                    break
        assert event.text == "abc"
        with trio.fail_after(30):
            while on.server.connections:
                await trio.sleep(0.005)
        assert [(one.role, one.cut) for one in chat.conversation.messages] == [("user", None), ("assistant", "left")]


@every_provider
@streamed_or_not
async def test_no_redirect_takes_the_key_elsewhere(stage, faulty, fails, nursery, provider, stream) -> None:
    elsewhere = await nursery.start(faulty.Server(otherwise=faulty.says(provider, "Gotcha.")).run)
    async with stage(provider) as on, nothing_left():
        for status in (301, 302, 303, 307, 308, 300):
            to = f"http://user:{faulty.KEY}@127.0.0.1:{elsewhere.port}/v1?key={faulty.KEY}"
            on.server.answer(faulty.plain(status, b"moved", {"location": to, "content-type": "text/plain"}))
            problem = await fails(on.chat(stream=stream), "refused", status=status)
            assert "redirect" in problem.message
            assert len(on.server.sent) == 2
    assert not elsewhere.sent
    assert not elsewhere.connections


@pytest.mark.parametrize(
    ("provider", "stream"), [*((one, True) for one in PROVIDERS), ("openai", False), ("gemini", False)]
)
async def test_a_bomb_does_not_go_off(stage, faulty, fails, heard, provider, stream) -> None:
    """Eighty megabytes of blanks in eighty kilobytes, and bytes that are not gzip."""
    async with stage(provider) as on, nothing_left():
        chat = on.chat(stream=stream)
        on.server.answer(faulty.plain(200, _bomb(), {"content-encoding": "gzip"}))
        await fails(chat, "refused")
        on.server.answer(faulty.plain(200, b"no gzip at all", {"content-encoding": "gzip"}))
        await fails(chat, "no_json")
        half = gzip.compress(faulty.json.dumps(faulty.whole(provider, faulty.Said("Half of it."))).encode())[:-20]
        on.server.answer(faulty.plain(200, half, {"content-encoding": "gzip"}))
        await fails(chat, "half_answer")
        for packed in (gzip.compress, zlib.compress, _deflated):
            well = packed(faulty.json.dumps(faulty.whole(provider, faulty.Said("Unpacked."))).encode())
            kind = "gzip" if packed is gzip.compress else "deflate"
            on.server.answer(faulty.plain(200, well, {"content-encoding": kind}))
            assert (await heard(chat, "Hello?"))[-1].text == "Unpacked."


@functools.cache
def _bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = packer.compress(b'{"a": "') + b"".join(packer.compress(b" " * (1 << 20)) for _ in range(80))
    return packed + packer.flush()


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@every_provider
async def test_a_stream_without_end_ends(stage, faulty, fails, heard, provider) -> None:
    """One event that never ends, comments for ever, and good events for ever."""
    begin = faulty.sse(faulty.events(provider, faulty.Said("One two three.")))[:3]
    filler = b"x" * (1 << 20)
    async with stage(provider) as on, nothing_left():
        for parts in (
            iter([b"data: ", *[filler] * 40]),
            iter([*begin, b"data: ", *[filler] * 40]),
            iter([*begin, *[b": " + filler + b"\n"] * 40]),
            iter([*begin, *[b": " + filler + b"\n\n"] * 70]),
        ):
            on.server.answer(faulty.pieces(parts))
            with trio.fail_after(30):
                problem = await fails(on.chat(), "refused")
            assert "bytes" in problem.message


@every_provider
@streamed_or_not
async def test_no_network_says_what_is_not_reached(stage, faulty, sealed, heard, provider, stream) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        closed = taken.getsockname()[1]
        ends = faulty.PATHS[provider]
        for url, words in (
            (f"http://127.0.0.1:{closed}{ends}", "refuses the connection"),
            (f"https://there-is-no-such-host.invalid{ends}", "is not known"),
        ):
            async with stage(provider, base_url=url) as on, nothing_left():
                chat = on.chat(stream=stream)
                with pytest.raises(ModelError) as caught:
                    await heard(chat, "Hello?")
                sealed(caught.value)
                assert caught.value.details["reason"] == "no_network"
                assert words in caught.value.message
                assert "base_url" in caught.value.message
                assert [one.role for one in chat.conversation.messages] == ["user"]


@every_provider
@streamed_or_not
async def test_a_connection_that_is_not_safe_is_none(
    stage, faulty, sealed, heard, nursery, certificate, provider, stream
) -> None:
    """A certificate that nobody trusts, and a server without TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    strange = await nursery.start(faulty.Server(tls=context).run)
    clear = await nursery.start(faulty.Server().run)
    for server, words in ((strange, "not trusted"), (clear, "TLS")):
        url = f"https://127.0.0.1:{server.port}{faulty.PATHS[provider]}"
        async with stage(provider, base_url=url) as on:
            chat = on.chat(stream=stream)
            with pytest.raises(ModelError) as caught:
                await heard(chat, "Hello?")
            sealed(caught.value)
            assert caught.value.details["reason"] == "no_network"
            assert words in caught.value.message
            assert not server.sent


@pytest.mark.parametrize("provider", ["openai", "gemini"])
async def test_a_handshake_that_never_ends_is_left_in_time(stage, faulty, sealed, heard, nursery, provider) -> None:
    """By the deadline, and by whoever asks; the socket is closed in either case."""
    gone = trio.Event()

    async def mute(client: trio.SocketStream) -> None:
        nonlocal gone
        async with client:
            while await client.receive_some():
                pass
        gone.set()

    listeners = await nursery.start(functools.partial(trio.serve_tcp, mute, 0, host="127.0.0.1"))
    url = f"https://127.0.0.1:{listeners[0].socket.getsockname()[1]}{faulty.PATHS[provider]}"
    async with stage(provider, base_url=url, chat={"timeout_s": 0.2}) as on, nothing_left():
        with pytest.raises(ModelError) as caught:
            await heard(on.chat(), "Hello?")
        sealed(caught.value)
        assert caught.value.code is ErrorCode.TIMEOUT
        with trio.fail_after(30):
            await gone.wait()
            gone = trio.Event()
            with trio.move_on_after(0.1):
                await heard(on.chat(), "Hello?")
            await gone.wait()


@every_provider
async def test_a_key_goes_nowhere_in_the_clear(stage, faulty, heard, sealed, provider) -> None:
    async def ask() -> None:
        async with stage(provider, base_url=f"http://192.0.2.1{faulty.PATHS[provider]}") as on:
            await heard(on.chat(), "Hello?")

    with pytest.raises(ModelError) as caught:
        await ask()
    sealed(caught.value)
    assert caught.value.code is ErrorCode.FORBIDDEN
    assert "https" in caught.value.message


@every_provider
@streamed_or_not
async def test_a_request_that_lost_its_answer_is_not_sent_again(stage, faulty, fails, provider, stream) -> None:
    async with stage(provider) as on, nothing_left():
        on.server.answer(faulty.hang_up)
        await fails(on.chat(stream=stream), "half_answer")
        assert len(on.server.sent) == 2  # the one that was lost, and the one of `go_on`
        on.server.answer(faulty.plain(200, b'{"a": 1', {"content-length": "5000"}))
        await fails(on.chat(stream=stream), "half_answer")
        assert len(on.server.sent) == 2


@every_provider
@streamed_or_not
async def test_heads_that_are_no_http_are_told(stage, faulty, heard, sealed, provider, stream) -> None:
    def bare(data: bytes):
        async def answer(stream: trio.abc.Stream, sent: Any) -> None:
            await stream.send_all(data)

        return answer

    key = faulty.KEY.encode()
    async with stage(provider) as on, nothing_left():
        for data in (
            b"SSH-2.0-OpenSSH_9.6\r\n",
            b"HTTP/1.1 200 OK\r\nbad header " + key + b"\r\n\r\n",
            b"HTTP/1.1 999 " + key + b"\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\n" + b"x-much: " + b"a" * 200_000 + b"\r\n\r\n",
            b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\n",
            b"\x16\x03\x01\x00\x01",
        ):
            chat = on.chat(stream=stream)
            on.server.answer(bare(data))
            with trio.fail_after(30), pytest.raises(ModelError) as caught:
                await heard(chat, "Hello?")
            sealed(caught.value)
            assert caught.value.details["provider"] == provider
            assert [one.role for one in chat.conversation.messages] == ["user"]
            assert isinstance((await heard(chat))[-1], ChatEnded)
