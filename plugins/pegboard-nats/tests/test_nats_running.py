"""One task does calls one after another, as long as none waits: what that spares, and what it must not change."""

from __future__ import annotations

import json
from contextvars import ContextVar
from math import inf
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

import pegboard_nats.plugin
from pegboard import CallContext, ToolResult, open_host, tool
from pegboard_nats import wire
from pegboard_nats import worker as worker_module
from pegboard_nats.protocol import HEAD, Head, HeaderBlock, encode_headers
from pegboard_nats.running import GRACE_S, Queue, Running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from conftest import NatsServer

    from pegboard import Tool

mark: ContextVar[str] = ContextVar("mark", default="none")


class Done:
    """A queue whose calls are functions of a test, and what became of them."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.told: list[str] = []
        self.tasks: dict[str, trio.lowlevel.Task] = {}
        self.running: dict[str, Running] = {}
        self._handlers: dict[str, Callable[[], Awaitable[Any]]] = {}
        self.queue = Queue(nursery, self._run, lambda one: self.told.append(f"{one.name} accepted"), self._turn)
        self.turns = 0

    def put(
        self, name: str, handler: Callable[[], Awaitable[Any]], *, depth: int = 0, left_ms: int | None = None
    ) -> None:
        caller = wire.Caller({wire.DEPTH: str(depth)})
        message: Any = None
        self._handlers[name] = handler
        running = self.running[name] = Running(message, f"_INBOX.{name}", name, caller, "", left_ms, None)
        self.queue.put(running)

    async def _run(self, running: Running) -> None:
        self.tasks[running.name] = trio.lowlevel.current_task()
        await self._handlers[running.name]()
        self.told.append(f"{running.name} over")

    def _turn(self) -> None:
        self.turns += 1


@pytest.fixture
async def done() -> AsyncIterator[Done]:
    async with trio.open_nursery() as nursery:
        one = Done(nursery)
        nursery.start_soon(one.queue.watch)
        await trio.testing.wait_all_tasks_blocked()
        yield one
        nursery.cancel_scope.cancel()


async def at_once() -> None:
    """Wait for nothing."""


async def test_calls_that_do_not_wait_share_one_task_and_none_is_accepted(done: Done) -> None:
    for number in range(100):
        done.put(str(number), at_once)
    await trio.testing.wait_all_tasks_blocked()
    assert done.told == [f"{number} over" for number in range(100)]
    assert len(set(done.tasks.values())) == done.turns == 1


async def test_a_call_that_waits_is_accepted_and_holds_up_nobody(done: Done) -> None:
    go = trio.Event()
    for number in range(10):
        done.put(f"slow {number}", go.wait)
    done.put("quick", at_once)
    await trio.testing.wait_all_tasks_blocked()
    assert done.told == [*(f"slow {number} accepted" for number in range(10)), "quick over"]
    assert len(set(done.tasks.values())) == 11
    go.set()
    await trio.testing.wait_all_tasks_blocked()
    assert sorted(done.told[11:]) == [f"slow {number} over" for number in range(10)]
    done.put("later", at_once)
    await trio.testing.wait_all_tasks_blocked()
    assert done.told[21:] == ["later over"]


async def test_no_call_sees_the_context_that_another_one_left(done: Done) -> None:
    seen: list[tuple[str, int]] = []

    async def leave() -> None:
        seen.append((mark.get(), wire.depth.get()))
        mark.set("left behind")

    async def tidy() -> None:
        seen.append((mark.get(), wire.depth.get()))
        token = mark.set("mine")
        mark.reset(token)

    for number, handler in enumerate([leave, leave, tidy, tidy, leave, tidy]):
        done.put(str(number), handler, depth=number % 3)
    await trio.testing.wait_all_tasks_blocked()
    assert seen == [("none", number % 3) for number in range(6)]


async def test_a_cancelled_call_ends_alone(done: Done) -> None:
    go = trio.Event()
    done.put("one", trio.sleep_forever)
    done.put("two", go.wait)
    await trio.testing.wait_all_tasks_blocked()
    done.running["one"].cancel()
    go.set()
    done.put("three", at_once)
    done.put("four", at_once)
    await trio.testing.wait_all_tasks_blocked()
    assert done.told[:2] == ["one accepted", "two accepted"]
    assert set(done.told[2:]) == {"two over", "three over", "four over"}


async def test_a_call_that_is_cancelled_as_it_ends_does_not_end_the_next(done: Done) -> None:
    async def waits(name: str) -> None:
        await trio.lowlevel.cancel_shielded_checkpoint()
        done.running[name].cancel()

    async def checks() -> None:
        await trio.lowlevel.checkpoint()

    done.put("a", lambda: waits("a"))
    done.put("b", checks)
    done.put("c", checks)
    await trio.testing.wait_all_tasks_blocked()
    assert {one for one in done.told if one.endswith("over")} == {"a over", "b over", "c over"}


async def test_the_deadline_of_a_call_ends_it_and_no_other(done: Done, autojump_clock: trio.testing.MockClock) -> None:
    began = trio.current_time()
    ended: dict[str, float] = {}

    async def sleep(name: str, seconds: float) -> None:
        try:
            await trio.sleep(seconds)
        finally:
            ended[name] = trio.current_time() - began

    done.put("late", lambda: sleep("late", 60), left_ms=2000)
    done.put("in time", lambda: sleep("in time", 5), left_ms=60_000)
    done.put("without", lambda: sleep("without", 600))
    await trio.sleep(1000)
    assert ended["late"] == pytest.approx(2 + GRACE_S)
    assert (ended["in time"], ended["without"]) == (pytest.approx(5), pytest.approx(600))
    assert set(done.told) == {
        *(f"{name} accepted" for name in ended), "in time over", "without over"
    }  # fmt: skip


async def test_a_call_that_breaks_leaves_none_behind_it_under_way() -> None:
    async def breaks() -> None:
        raise LookupError

    told: list[str] = []
    with pytest.RaisesGroup(LookupError):
        async with trio.open_nursery() as nursery:
            done = Done(nursery)
            nursery.start_soon(done.queue.watch)
            await trio.testing.wait_all_tasks_blocked()
            done.put("broken", breaks)
            done.put("behind", at_once)
            told = done.told
            await trio.sleep_forever()
    assert told in ([], ["behind over"])  # the worker ends of it


# -- over a server


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No machine is so slow that a tool that answers at once lets others have their turn."""
    monkeypatch.setattr("pegboard._session.CHECKPOINT_S", inf)
    monkeypatch.setattr(worker_module, "LONG_S", inf)


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def answers(client: Any, prefix: str, group: str, one: Tool, body: bytes, **more: str) -> list[str]:
    """The kinds of answers to one call, until its result."""
    headers = {wire.FINGERPRINT: one.fingerprint, **more}
    kinds: list[str] = []
    with client.replies() as mailbox, trio.fail_after(30):
        await client.ask(mailbox, wire.Subjects(prefix, group).call(one.name), body, headers=headers)
        while not kinds or kinds[-1] != wire.RESULT:
            message = await mailbox.get()
            kinds.append(message.headers[wire.KIND])
    kinds.append(message.payload.decode())
    return kinds


@pytest.mark.usefixtures("unhurried")
async def test_a_quick_answer_is_one_message_for_whoever_can_do_without_more(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    async with working(nats_server, group, add) as worker, linked(nats_server) as client:
        prefix = worker._subjects.prefix
        body = b'{"a":1,"b":2}'
        *kinds, payload = await answers(client, prefix, group, add, body, **{wire.SHORT: "1"})
        assert kinds == [wire.RESULT]
        assert json.loads(payload) == {"content": [{"type": "text", "text": "3"}], "data": {"result": 3}}
        *kinds, payload = await answers(client, prefix, group, add, body)
        assert kinds == [wire.ACCEPTED, wire.RESULT]
        assert json.loads(payload)["name"] == "add"
        *kinds, payload = await answers(client, prefix, group, add, b"{}", **{wire.SHORT: "1"})
        assert kinds == [wire.RESULT]
        assert ToolResult.from_json(json.loads(payload)).error is not None


async def test_what_waits_or_tells_is_accepted_first(
    nats_server: NatsServer, group: str, linked: Any, working: Any
) -> None:
    @tool
    async def waits() -> str:
        """Wait for two turns."""
        for _ in range(2):
            await trio.lowlevel.checkpoint()
        return "done"

    @tool
    async def tells(context: CallContext) -> str:
        """Tell of its progress."""
        await context.progress(1, 2)
        return "done"

    async with working(nats_server, group, waits, tells) as worker, linked(nats_server) as client:
        prefix = worker._subjects.prefix
        short = {wire.SHORT: "1"}
        assert (await answers(client, prefix, group, waits, b"{}", **short))[:-1] == [wire.ACCEPTED, wire.RESULT]
        kinds = (await answers(client, prefix, group, tells, b"{}", **short))[:-1]
        assert kinds == [wire.ACCEPTED, wire.PROGRESS, wire.RESULT]


@pytest.mark.usefixtures("unhurried")
async def test_a_tool_that_kept_the_loop_is_accepted_before_it_runs_again(
    nats_server: NatsServer, group: str, linked: Any, working: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "LONG_S", 0)
    async with working(nats_server, group, add) as worker, linked(nats_server) as client:
        prefix, short = worker._subjects.prefix, {wire.SHORT: "1"}
        *first, _ = await answers(client, prefix, group, add, b'{"a":1,"b":2}', **short)
        *second, _ = await answers(client, prefix, group, add, b'{"a":1,"b":2}', **short)
        assert (first, second) == ([wire.RESULT], [wire.ACCEPTED, wire.RESULT])


@pytest.mark.usefixtures("unhurried")
async def test_a_host_is_answered_once_for_each_call(nats_server: NatsServer, group: str, working: Any) -> None:
    config = {"plugins": {"nats": {"servers": [nats_server.url], "groups": {group: {}}}}}
    async with working(nats_server, group, add) as worker, open_host(config, [pegboard_nats.plugin]) as host:
        with trio.fail_after(30):
            while "add" not in host.tools:
                await host.wait_source_moved()
        said: list[Any] = []
        publish = worker._client.publish_nowait
        worker._client.publish_nowait = lambda *given, **more: (
            said.append(more.get("headers")),
            publish(*given, **more),
        )
        for number in range(20):
            assert (await host.session().call("add", {"a": number, "b": 1})).data == {"result": number + 1}
        results = [one for one in said if one == encode_headers({wire.KIND: wire.RESULT, wire.PARTS: "1"})]
        assert len(results) == 20
        assert len(said) == 20


# -- headers


_names = st.sampled_from(
    [
        wire.FINGERPRINT, wire.USER, wire.DEPTH, wire.CALL_ID, wire.DEADLINE_MS, wire.CAN_ASK, wire.APPROVED,
        wire.COUNTED, wire.CLAIM, wire.SHORT, "traceparent", "other",
    ]
)  # fmt: skip
_values = st.sampled_from(["", "1", "5000", "c-1", "a%20b", "%", "x" * 80, "9" * 12, "1:2", " padded "])


def told(read: tuple[wire.Caller, str, int | None, Any]) -> tuple[Any, ...]:
    caller, call_id, left_ms, headers = read
    more = {} if headers is None else headers
    return (
        [getattr(caller, name) for name in wire.Caller.__slots__], call_id, left_ms, more.get(wire.CLAIM),
        more.get("traceparent"),
    )  # fmt: skip


@given(st.lists(st.lists(st.tuples(_names, _values), max_size=8), max_size=6))
def test_headers_that_are_read_once_say_the_same_as_those_that_are_read_each_time(blocks: Any) -> None:
    callers = wire.Callers()
    for block in blocks:
        lines = "".join(f"{name}: {value}\r\n" for name, value in block)
        raw = HEAD + b"\r\n" + lines.encode() + b"\r\n"
        for _ in range(2):
            assert told(callers.read(Head(raw))) == told(callers.read(dict(Head(raw))))


@given(
    st.dictionaries(_names.filter(lambda name: name not in wire.ONE_CALLS), _values.map(str.strip), min_size=1),
    st.text(max_size=70),
    st.none() | st.integers(1, 10**10),
    st.none() | st.dictionaries(st.sampled_from([wire.CLAIM, "traceparent"]), _values.map(str.strip)),
)
def test_the_head_of_a_call_is_that_of_its_headers_one_by_one(
    common: dict[str, str], call_id: str, left_ms: int | None, more: dict[str, str] | None
) -> None:
    head = wire.head_of_call(encode_headers(common), call_id, left_ms, more)
    assert isinstance(head, HeaderBlock)
    own = {wire.CALL_ID: wire.escape(call_id)} | ({} if left_ms is None else {wire.DEADLINE_MS: str(left_ms)})
    assert head == encode_headers({**common, **own, **(more or {})})


def test_callers_that_are_kept_are_bounded() -> None:
    callers = wire.Callers()
    for number in range(3 * wire.MAX_CALLERS):
        common = encode_headers({wire.USER: str(number)})
        assert callers.read(Head(wire.head_of_call(common, "c")))[0].user_id == str(number)
        assert len(callers._known) <= wire.MAX_CALLERS
    assert callers.read(Head(wire.head_of_call(encode_headers({"K": "x" * 2000}), "c")))[3] is not None
