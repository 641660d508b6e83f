"""Workers and hosts that do not keep to the protocol. What is told of a call stays true, and others are served."""

from __future__ import annotations

import contextlib
import json
import tracemalloc
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ErrorCode, TextContent, ToolError, ToolResult, tool
from pegboard_nats import calls, wire
from pegboard_nats import source as source_module
from pegboard_nats.client import Client, Servers
from pegboard_nats.protocol import Message, TooLargeError
from pegboard_nats.running import Running
from pegboard_nats.settings import GroupSettings, NatsSettings
from pegboard_nats.source import MAX_VAIN, Found, NatsSource, find_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from conftest import NatsServer

    Said = tuple[str | None, Mapping[str, str], bytes, str | None]

RESULT = wire.to_bytes(ToolResult((TextContent("7"),), {"result": 7}).to_json())


def says(kind: str | None, payload: bytes = b"", reply: str | None = None, **headers: str) -> Said:
    return kind, {name.replace("_", "-"): value for name, value in headers.items()}, payload, reply


ACCEPTED = says(wire.ACCEPTED, Pb_Instance="w1")
DONE = says(wire.RESULT, RESULT)


class Scripted(Client):
    """A client whose worker says what a test lets it, and then nothing; no server is there."""

    def __init__(self, said: Iterable[Said], *, alive: bytes = b"unknown", flush: Callable[[Any], Any] | None = None):
        super().__init__(Servers())
        self.said = said
        self.alive = alive
        self.sent: list[tuple[str, bytes]] = []
        self.max_payload = 1_000_000
        self.on_flush = flush

    def say(self, mailbox: Any, said: Iterable[Said]) -> None:
        for kind, headers, payload, reply in said:
            named = {**({} if kind is None else {wire.KIND: kind}), **headers}
            mailbox.put(Message(mailbox.subject, 1, reply, named, payload))

    async def ask(self, mailbox: Any, subject: str, payload: bytes = b"", *, headers: Any = None) -> None:
        self.sent.append((subject, payload))
        self.asked = mailbox
        self.say(mailbox, self.said)

    def publish_nowait(self, subject: str, payload: bytes = b"", **_: Any) -> None:
        if len(payload) > self.max_payload:
            raise TooLargeError(len(payload), self.max_payload)
        self.sent.append((subject, payload))

    async def publish(self, subject: str, payload: bytes = b"", **_: Any) -> None:
        self.publish_nowait(subject, payload)

    async def request(self, subject: str, payload: bytes = b"", **_: Any) -> Message:
        await trio.lowlevel.checkpoint()
        self.sent.append((subject, payload))
        return Message("i", 1, None, {}, self.alive)

    async def flush(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.on_flush is not None:
            await self.on_flush(self)


class Caller(SimpleNamespace):
    """What a call knows of its caller."""

    depth, call_id, deadline = 0, "1", float("inf")

    def __init__(self, answer: Any = None) -> None:
        session = SimpleNamespace(user_id="ada", can_ask=True)
        tool = SimpleNamespace(limits=SimpleNamespace(requires_confirmation=False))
        super().__init__(session=session, tool=tool, answer=answer, questions=0)

    def begun(self) -> None:
        """Nothing is noted."""

    async def progress(self, *_: Any) -> None:
        await trio.lowlevel.checkpoint()

    async def confirm(self, question: str) -> Any:
        self.questions += 1
        await trio.lowlevel.checkpoint()
        return self.answer

    async def elicit(self, question: str, **_: Any) -> Any:
        return await self.confirm(question)


async def called(client: Scripted, caller: Any = None, *, repeatable: bool = False) -> ToolResult | ToolError:
    """What becomes of one call."""
    remote = calls.RemoteCalls(client, wire.Subjects("pb", "g"), alive_s=1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client._tick)
        try:
            with trio.fail_after(60):
                return await remote.call(caller or Caller(), "act", "sha256:0", {}, repeatable=repeatable)
        except ToolError as problem:
            return problem
        finally:
            nursery.cancel_scope.cancel()
    raise AssertionError


@pytest.fixture(autouse=True)
def _asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "ASK_AGAIN_S", 0)


UNREADABLE = [
    b"",
    b"{",
    b"[]",
    b"7",
    b"[" * 50_000,
    b"\xff",
    b'{"content": 1}',
    b'{"content": [{"type": "?"}]}',
    b'{"error": 1}',
]
NO_ID = ["", "a.b", "*", ">", "\u00e9", "a" * (wire.MAX_ID + 1), "a" * 3000, "a b"]


@pytest.mark.parametrize(
    ("url", "is_asked"),
    [
        ("https://example.org/login", True),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("https://example.org@evil.example/", False),
        ("https:\\\\evil.example", False),
        ("data:text/html,x", False),
    ],
)
async def test_a_worker_has_nobody_open_what_is_no_page(autojump_clock: Any, url: str, is_asked: bool) -> None:
    """Attack: a worker asks the person to open an address that runs something, or that hides where it leads."""
    asked = says(wire.ASK, wire.to_bytes({"question": "Log in", "url": url}), "_INBOX.worker.1")
    caller, client = Caller(answer=True), Scripted([ACCEPTED, asked, DONE])
    assert isinstance(await called(client, caller), ToolResult)
    assert caller.questions == is_asked


@pytest.mark.parametrize("choice", ["yes", "y\u200bes", "\x1b[2Jyes"])
async def test_a_worker_has_nobody_fill_in_what_hides_something(autojump_clock: Any, choice: str) -> None:
    """Attack: a choice of its form is another than a person sees, and cannot be changed."""
    schema = {"type": "object", "properties": {"x": {"type": "string", "enum": [choice]}}}
    asked = says(wire.ASK, wire.to_bytes({"question": "Which?", "schema": schema}), "_INBOX.worker.1")
    caller, client = Caller(answer=True), Scripted([ACCEPTED, asked, DONE])
    assert isinstance(await called(client, caller), ToolResult)
    assert caller.questions == (choice == "yes")


@pytest.mark.parametrize(
    "said",
    [
        [ACCEPTED, says(wire.BUSY)],
        [ACCEPTED, says(wire.STALE)],
        [says(wire.PROGRESS, b'{"done": 1}'), says(wire.BUSY)],
        [says(wire.PART, b"x"), says(wire.STALE)],
        [ACCEPTED, says(wire.ASK, b'{"question": "?"}', "_INBOX.worker.1"), says(wire.BUSY)],
        [ACCEPTED, says(wire.ASK, b'{"question": "?"}', "pb.g.call.drop")],
        [ACCEPTED, says(wire.ASK, b'{"question": "?"}', "$JS.API.STREAM.DELETE.pb-calls")],
        [ACCEPTED, says(wire.PART, b"x" * 20), says(wire.PART, b"x" * 20)],
        [ACCEPTED],
        [],
        *([says(wire.ACCEPTED, Pb_Instance=one)] for one in NO_ID),
    ],
)
async def test_what_a_worker_may_have_begun_is_never_said_not_to_be_executed(
    autojump_clock: Any, monkeypatch: pytest.MonkeyPatch, said: list[Said]
) -> None:
    monkeypatch.setattr(wire, "MAX_RESULT", 30)
    client = Scripted(said)
    problem = await called(client)
    assert isinstance(problem, ToolError)
    assert problem.code is ErrorCode.OUTCOME_UNKNOWN
    assert "executed" not in problem.details
    where = [subject for subject, _ in client.sent]
    assert where.count("pb.g.call.act") == 1  # and it is not sent again
    assert all(one.startswith(("pb.g.call.act", "pb.g.cancel.", "pb.g.alive.w1", "_INBOX.")) for one in where)


@pytest.mark.parametrize("payload", UNREADABLE)
async def test_a_result_that_cannot_be_read_ran(autojump_clock: Any, payload: bytes) -> None:
    problem = await called(Scripted([ACCEPTED, says(wire.RESULT, payload)]))
    assert isinstance(problem, ToolError)
    assert (problem.code, problem.details["executed"]) == (ErrorCode.UPSTREAM_ERROR, True)


@pytest.mark.parametrize("parts", ["2", "0", "-1", "x", ""])
async def test_a_result_with_another_number_of_parts_ran(autojump_clock: Any, parts: str) -> None:
    problem = await called(Scripted([ACCEPTED, says(wire.RESULT, RESULT, Pb_Parts=parts)]))
    assert isinstance(problem, ToolError)
    assert problem.details["executed"] is True


@pytest.mark.parametrize(
    "said",
    [
        [DONE],
        [DONE, ACCEPTED],
        [ACCEPTED, DONE, says(wire.RESULT, b"{"), says(wire.BUSY)],
        [ACCEPTED, says(wire.ACCEPTED, Pb_Instance="w2"), DONE],
        [ACCEPTED, says("of another build"), says(None), DONE],
        [ACCEPTED, says(wire.PROGRESS, b'{"done": "x", "total": [], "message": 7}'), says(wire.PROGRESS, b"["), DONE],
        [ACCEPTED, says(wire.ASK, b"7"), says(wire.ASK, b"7", "_INBOX.w"), DONE],
    ],
)
async def test_a_result_counts_once_whatever_else_is_said(autojump_clock: Any, said: list[Said]) -> None:
    result = await called(Scripted(said))
    assert isinstance(result, ToolResult)
    assert result.data == {"result": 7}


async def test_of_two_workers_that_accept_the_first_is_asked_whether_it_lives(autojump_clock: Any) -> None:
    client = Scripted([ACCEPTED, says(wire.ACCEPTED, Pb_Instance="w2")])
    await called(client)
    assert [subject for subject, _ in client.sent] == ["pb.g.call.act", "pb.g.alive.w1", "pb.g.cancel.w1"]


def test_a_result_in_very_many_parts_takes_no_more_room_than_it_holds() -> None:
    """Parts of two bytes took twenty times as much, up to some hundred megabytes."""
    conversation = calls._Conversation(Scripted(()), wire.Subjects("pb", "g"), 1)
    tracemalloc.start()
    try:
        for number in range(100_000):
            conversation._take(Message("i", 1, None, {}, bytes((number % 251, 1))))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 1_000_000


@pytest.mark.parametrize("kind", [wire.BUSY, wire.STALE])
async def test_what_is_turned_away_was_not_executed(autojump_clock: Any, kind: str) -> None:
    problem = await called(Scripted([says(kind)]))
    assert isinstance(problem, ToolError)
    assert problem.details["executed"] is False


async def test_questions_end_and_an_answer_too_large_is_none(
    autojump_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was said that nothing was done, though the tool was asking."""
    monkeypatch.setattr(calls, "MAX_QUESTIONS", 3)
    question = says(wire.ASK, b'{"question": "?"}', "_INBOX.worker.1")
    caller, client = Caller({"text": "x" * 2000}), Scripted([ACCEPTED, *[question] * 5, DONE])
    client.max_payload = 1000
    assert isinstance(await called(client, caller), ToolResult)
    assert caller.questions == 3
    assert client.sent[1:] == [("_INBOX.worker.1", b'{"answer":null}')] * 5


@pytest.mark.parametrize("answers", [True, False])
async def test_a_silence_is_judged_once_the_server_has_been_heard(autojump_clock: Any, answers: bool) -> None:
    """On a narrow line the worker's word may be behind something large; a server that is silent ends the wait."""

    async def late(client: Scripted) -> None:
        await trio.sleep(5)
        if not answers:
            raise trio.TooSlowError
        client.say(client.asked, [ACCEPTED, DONE])

    result = await called(Scripted([], flush=late))
    assert trio.current_time() == pytest.approx(6, abs=0.2)
    if answers:
        assert isinstance(result, ToolResult)
    else:
        assert isinstance(result, ToolError)
        assert "the server does not answer" in result.message


async def test_a_call_costs_its_host_no_cancel_scope_and_one_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines, scopes and turns of the loop were a third of what a call costs."""
    made, parked = [], []
    scope, park = trio.CancelScope, trio.lowlevel.wait_task_rescheduled
    client = Scripted([])
    remote = calls.RemoteCalls(client, wire.Subjects("pb", "g"), alive_s=1)
    results: list[Any] = []

    async def ask() -> None:
        results.append(await remote.call(Caller(), "act", "sha256:0", {}, repeatable=False))

    async with trio.open_nursery() as nursery:
        monkeypatch.setattr(trio, "CancelScope", lambda *args, **kwargs: made.append(1) or scope(*args, **kwargs))
        monkeypatch.setattr(trio.lowlevel, "wait_task_rescheduled", lambda abort: parked.append(1) or park(abort))
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        client.say(client.asked, [ACCEPTED])
        await trio.testing.wait_all_tasks_blocked()
        client.say(client.asked, [DONE])
    assert results[0].data == {"result": 7}
    assert (len(made), len(parked)) == (0, 1)


_KINDS = [None, "x", wire.ACCEPTED, wire.BUSY, wire.STALE, wire.PROGRESS, wire.ASK, wire.PART]
_PAYLOADS = st.one_of(st.binary(max_size=20), st.sampled_from([RESULT, b'{"question":"?"}', b'{"done":1}', b"{}"]))
_SAID = st.tuples(
    st.sampled_from(_KINDS),
    st.dictionaries(st.sampled_from([wire.INSTANCE, wire.PARTS, "X"]), st.text(max_size=5), max_size=2),
    _PAYLOADS,
    st.sampled_from([None, "_INBOX.w", "_INBOX.>", "pb.x", "$JS.API.STREAM.DELETE.x", ""]),
)


@settings(max_examples=60, deadline=None)
@given(said=st.lists(_SAID, max_size=6))
def test_whatever_a_worker_says_the_call_ends_and_is_not_said_undone_once_it_was_taken(said: list[Said]) -> None:
    client = Scripted(said)
    problem = trio.run(called, client, clock=trio.testing.MockClock(autojump_threshold=0))
    assert isinstance(problem, ToolError)
    is_refused = bool(said) and said[0][0] in (wire.BUSY, wire.STALE)
    assert (problem.details.get("executed") is False) == is_refused
    assert all(subject.startswith(("pb.g.", "_INBOX.")) for subject, _ in client.sent)


@pytest.mark.parametrize(
    "page",
    [
        {"tools": [{"definition": {"name": "act"}}], "next": None},
        {"tools": [], "next": 0},
        {"tools": [7], "next": 1},
        {"tools": "act", "next": 1},
        {"next": "x"},
        {},
    ],
)
async def test_definitions_that_are_not_what_their_hash_says_are_not_taken(page: Any) -> None:
    source = NatsSource("g", GroupSettings(), NatsSettings())
    for digest in ("0" * 40, "not.a.word", ""):
        await source._fetch(Scripted([], alive=wire.to_bytes(page)), {digest: 1})
        assert source._offered == {}


def described(name: str, **more: Any) -> dict[str, Any]:
    return {"definition": {"name": name, "description": "x", "input_schema": {}, "annotations": {}, **more}}


class Endless(Scripted):
    """A worker whose definitions do not end; each page takes that long."""

    def __init__(self, size: int, took_s: float) -> None:
        super().__init__([])
        self.size = size
        self.took_s = took_s

    async def request(self, subject: str, payload: bytes = b"", *, timeout_s: float = 0, **_: Any) -> Message:
        with trio.fail_after(timeout_s):
            await trio.sleep(self.took_s)
        self.sent.append((subject, payload))
        start = wire.from_bytes(payload)["from"]
        page = {"tools": [described(f"t{start}", title="x" * self.size)], "next": start + 1}
        return Message("i", 1, None, {}, wire.to_bytes(page))


@pytest.mark.parametrize(("size", "took_s"), [(900_000, 0), (1, 4.0), (1, 6.0)])
async def test_definitions_that_do_not_end_are_given_up(autojump_clock: Any, size: int, took_s: float) -> None:
    """One worker had a host take a gigabyte in four seconds, or wait for small pages without end."""
    source, client = NatsSource("g", GroupSettings(), NatsSettings()), Endless(size, took_s)
    many = {f"{number:040}": 1 for number in range(1000)}
    with trio.fail_after(600), contextlib.suppress(trio.TooSlowError):
        await source._fetch(client, many)
    assert source._offered == {}
    assert len(client.sent) * size <= MAX_VAIN * (wire.MAX_DEFINITIONS + size)


async def test_all_versions_together_are_bounded_and_what_most_have_comes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "MAX_DEFINITIONS", 2500)
    builds = {wire.hash_of([one]): [one] for one in (described(f"t{number}", title="x" * 900) for number in range(5))}
    counts = dict(zip(sorted(builds), (1, 1, 4, 2, 3), strict=True))

    class Worker(Scripted):
        async def request(self, subject: str, payload: bytes = b"", **_: Any) -> Message:
            await trio.lowlevel.checkpoint()
            tools = builds[subject.rpartition(".")[2]]
            return Message("i", 1, None, {}, wire.to_bytes({"tools": tools, "next": None}))

    source = NatsSource("g", GroupSettings(), NatsSettings())
    await source._fetch(Worker([]), counts)
    assert [counts[digest] for digest in source._offered] == [4, 3]


async def test_a_definition_with_a_number_that_json_does_not_have_does_not_crash_the_source() -> None:
    """NaN came through to where the definitions are kept, which crashed."""
    source = NatsSource("g", GroupSettings(), NatsSettings())
    for number in (b"NaN", b"-Infinity", b"1e999"):
        odd = b'{"tools": [{"definition": {"name": "act", "const": %b}}], "next": null}' % number
        assert wire.from_bytes(odd) == {}
        await source._fetch(Scripted([], alive=odd), {wire.hash_of([]): 1})
    assert wire.from_bytes(b'{"a": [1.5, -2e3, 7]}') == {"a": [1.5, -2000.0, 7]}
    for build in source._offered.values():
        assert build.hashes == {}


async def test_what_workers_say_of_themselves_is_bounded(autojump_clock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Loud(Scripted):
        async def ask(self, mailbox: Any, *_: Any, **__: Any) -> None:
            await trio.lowlevel.checkpoint()
            for number in range(20):
                metadata = {"prefix": "pb", "group": "g", "hash": "h", "x": "y" * (50_000 if number % 2 else 900)}
                said = {"name": wire.SERVICE, "id": f"w{number}", "metadata": metadata}
                self.say(mailbox, [says(None, wire.to_bytes(said))])

    every = await find_workers(Loud([]), "INFO", "pb", "g")
    assert [one["id"] for one in every.answers] == [f"w{number}" for number in range(0, 20, 2)]
    assert every.is_whole
    monkeypatch.setattr("pegboard_nats.source.MAX_SAID_BY_ALL", 200_000)
    some = await find_workers(Loud([]), "INFO", "pb", "g")
    assert 0 < len(some.answers) < 10
    assert not some.is_whole


# -- many workers on a narrow line


class Crowd(Scripted):
    """So many workers answer, one after the other."""

    def __init__(self, nursery: trio.Nursery, many: int) -> None:
        super().__init__([])
        self._nursery = nursery
        self._many = many

    async def ask(self, mailbox: Any, *_: Any, **__: Any) -> None:
        self._nursery.start_soon(self._answer, mailbox)

    async def _answer(self, mailbox: Any) -> None:
        for number in range(self._many):
            said = {"name": wire.SERVICE, "id": f"w{number}", "metadata": {"prefix": "pb", "group": "g", "hash": "h"}}
            self.say(mailbox, [says(None, wire.to_bytes(said))])
            await trio.sleep(0.05)


async def test_workers_that_were_not_heard_in_time_are_told_of(autojump_clock: Any, nursery: Any) -> None:
    few = await find_workers(Crowd(nursery, 3), "INFO", "pb", "g", most_s=2)
    assert (len(few.answers), few.is_whole) == (3, True)
    nobody = await find_workers(Crowd(nursery, 0), "INFO", "pb", "g", most_s=2)
    assert (len(nobody.answers), nobody.is_whole) == (0, True)
    many = await find_workers(Crowd(nursery, 1000), "INFO", "pb", "g", most_s=2)
    assert 30 < len(many.answers) < 50
    assert not many.is_whole


@pytest.mark.parametrize("is_whole", [True, False])
async def test_a_worker_that_was_not_heard_is_gone_only_where_all_were(
    monkeypatch: pytest.MonkeyPatch, is_whole: bool
) -> None:
    async def find(*_: Any) -> Found:
        await trio.lowlevel.checkpoint()
        return Found([{"id": "new", "metadata": {"hash": "1"}}], is_whole)

    class Connected(Scripted):
        connected = True  # type: ignore[assignment]

    async def fetch(*_: Any) -> None:
        await trio.lowlevel.checkpoint()

    source = NatsSource("g", GroupSettings(), NatsSettings())
    source._workers = {"old": "1"}
    monkeypatch.setattr(source_module, "find_workers", find)
    monkeypatch.setattr(source, "_fetch", fetch)
    monkeypatch.setattr(source, "_adopt", fetch)
    await source._look(Connected([]), None, "INFO")  # type: ignore[arg-type]
    assert set(source._workers) == ({"new"} if is_whole else {"old", "new"})


# -- hosts and others


@tool(read_only=True)
async def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@pytest.mark.parametrize("subject", ["$SRV.PING.pegboard", "pb.{group}.service.STATS", "pb.{group}.call.add"])
async def test_a_worker_answers_where_answers_go_and_nowhere_else(
    nats_server: NatsServer, group: str, subject: str, linked: Any, working: Any
) -> None:
    """A watcher may ask who is there, and no more: a worker would publish for it where it may not itself."""
    heard: list[str] = []
    async with working(nats_server, group, add), linked(nats_server) as client:
        for one in ("pb-calls.>", f"pb.{group}.changed", f"_INBOX.{group}"):
            client.subscribe(one, lambda message: heard.append(message.subject))
        for reply in (f"pb-calls.{group}", f"pb.{group}.changed", f"_INBOX.{group}"):
            await client.publish(subject.format(group=group), reply=reply)
        with trio.fail_after(30):
            while f"_INBOX.{group}" not in heard:
                await client.flush()
    assert set(heard) == {f"_INBOX.{group}"}


ODD = {
    wire.DEADLINE_MS: ["-1", "0", "abc", "1e9", "\u0661", "9" * 30, ""],
    wire.DEPTH: ["-1", "x", "9" * 30],
    wire.USER: ["%", "%FF%00", "%0D%0A", "a" * 4000],
    wire.CALL_ID: ["%", "%00", "a" * 4000],
    wire.CAN_ASK: ["", "0"],
    wire.COUNTED: ["x"],
    wire.CLAIM: ["", "*", "a.b", "a" * 65],
    "traceparent": ["", "00", "x" * 4000],
}


async def test_odd_headers_of_a_host_end_in_an_answer_and_the_next_call_is_done(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    plain = {wire.FINGERPRINT: add.fingerprint}
    rounds = [(plain | {name: value}, b'{"a":1,"b":2}') for name, values in ODD.items() for value in values]
    rounds += [(plain, body) for body in (b"", b"[", b"7", b"[" * 50_000, b'{"a":' + b"9" * 5000 + b"}", b"\xff")]
    rounds += [({wire.FINGERPRINT: one}, b"{}") for one in ("", "sha256:0")] + [({}, b"{}")]
    async with working(nats_server, group, add), linked(nats_server) as client:
        where = wire.Subjects("pb", group).call("add")
        for headers, body in [*rounds, (plain, b'{"a":1,"b":2}')]:
            with client.replies() as mailbox, trio.fail_after(30):
                await client.ask(mailbox, where, body, headers=headers)
                kind = None
                while kind not in (wire.RESULT, wire.STALE):
                    kind = (message := await mailbox.get()).headers[wire.KIND]
            assert (kind == wire.STALE) == (headers.get(wire.FINGERPRINT) != add.fingerprint)
    assert ToolResult.from_json(json.loads(message.payload)).data == {"result": 3.0}


@pytest.mark.parametrize(("left", "ends"), [("0", True), ("20", True), ("", False), ("-1", False), ("x", False)])
async def test_a_call_of_which_no_time_is_left_is_ended(autojump_clock: Any, left: str, ends: bool) -> None:
    """What was left as 0 was taken for a call without a deadline."""
    message: Any = None
    running = Running(message, "_INBOX.1", "act", *wire.Callers().read({wire.DEADLINE_MS: left}))
    scope = running.scope = trio.CancelScope()
    running.begin_deadline()
    with trio.move_on_after(60), scope:
        await trio.sleep_forever()
    assert scope.cancelled_caught is ends


@settings(max_examples=100)
@given(st.text(st.characters(), max_size=20) | st.text(st.sampled_from("%.~ \n\ud800\udcff"), max_size=9))
def test_whoever_calls_is_the_same_at_the_worker(user: str) -> None:
    """Users whose names have halves of characters all came out as one."""
    assert wire.unescape(wire.escape(user)) == user


async def test_a_call_that_runs_is_not_begun_again_by_whoever_sends_it_again(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    begun, go = [], trio.Event()

    @tool
    async def act() -> str:
        """Act."""
        begun.append(1)
        await go.wait()
        return "done"

    async with working(nats_server, group, act), linked(nats_server) as client:
        with client.replies() as mailbox, trio.fail_after(30):
            for _ in range(3):
                where = wire.Subjects("pb", group).call("act")
                await client.ask(mailbox, where, b"{}", headers={wire.FINGERPRINT: act.fingerprint})
            assert (await mailbox.get()).headers[wire.KIND] == wire.ACCEPTED
            await client.flush()
            go.set()
            assert (await mailbox.get()).headers[wire.KIND] == wire.RESULT
    assert begun == [1]


async def test_whoever_is_asked_does_not_learn_where_others_answer(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    """The inboxes of a host were numbered: a worker answered what was asked of another group."""
    go = trio.Event()

    @tool
    async def act() -> str:
        """Act."""
        await go.wait()
        return "done"

    async with working(nats_server, group, act), linked(nats_server) as hostile, linked(nats_server) as client:
        heard: list[str] = []
        hostile.subscribe(f"pb.other{group}.call.act", lambda message: heard.append(str(message.reply)))
        await hostile.flush()
        with client.replies() as first, client.replies() as mailbox, client.replies() as last, trio.fail_after(30):
            for one in (first, last):
                await client.ask(one, f"pb.other{group}.call.act", b"{}")
            where = wire.Subjects("pb", group).call("act")
            await client.ask(mailbox, where, b"{}", headers={wire.FINGERPRINT: act.fingerprint})
            assert (await mailbox.get()).headers[wire.KIND] == wire.ACCEPTED
            while len(heard) < 2:
                await hostile.flush()
            for reply in heard:
                inbox, _, token = reply.rpartition(".")
                for number in (*range(20), *(int(token, 16) + step for step in range(-20, 20))):
                    said = {wire.KIND: wire.RESULT, wire.PARTS: "1"}
                    if f"{inbox}.{number:x}" not in heard:
                        await hostile.publish(f"{inbox}.{number:x}", RESULT, headers=said)
            await hostile.flush()
            await client.flush()
            go.set()
            answer = await mailbox.get()
    assert wire.from_bytes(answer.payload)["data"] == {"result": "done"}
