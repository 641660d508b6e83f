"""Programs without trio: a host in a thread of its own, and trio as a guest of asyncio."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
import trio

import pegboard
from pegboard import ConfigError, ErrorCode, call_sync, open_host, open_host_sync, tool
from pegboard.session import HOST_ENDED


@tool(run="inplace", read_only=True)
def add(a: float, b: float) -> float:
    return a + b


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_a_host_serves_a_program_without_trio_and_ends_with_the_block(make_plugin: Any) -> None:
    with open_host_sync({}, [make_plugin("p", provide_tools=[add])]) as host:
        assert "pegboard-host" in threads()
        session = host.session("ada")
        assert session.user_id == "ada"
        assert list(session.tools) == list(host.tools) == ["add"]
        assert session.call("add", {"a": 1, "b": 2}, id="mine").data == {"result": 3.0}
        assert session.check("add", {"a": 1}).error.code is ErrorCode.INVALID_INPUT
        results = session.call_many([{"name": "add", "arguments": {"a": n, "b": 0}} for n in range(3)], timeout_s=5)
        assert [result.data["result"] for result in results] == [0.0, 1.0, 2.0]
        assert host.call("add", {"a": 1, "b": 1}, user_id="bob", timeout_s=5).ok
        assert host.categories() == {"general": 1}
        host.remove("add")
        assert host.call("add").error.code is ErrorCode.NOT_FOUND
        host.add(add)
        assert host.call("add", {"a": 1, "b": 1}).ok
    assert "pegboard-host" not in threads()


@pytest.mark.parametrize("user_id", [0, 7, b"ada", ["ada"], True])
def test_a_user_id_that_is_no_text_is_refused_wherever_it_is_given(user_id: Any) -> None:
    """A program's users have numbers; bytes would be another user than the text that they spell."""
    with open_host_sync({}, []) as host:
        host.add(add)
        for give in (host.session, lambda one: host.call("add", {"a": 1, "b": 1}, user_id=one)):
            with pytest.raises(TypeError, match="user_id: expected text or None"):
                give(user_id)
    with pytest.raises(TypeError, match="user_id: expected text or None"):
        call_sync("add", user_id=user_id)

    async def main() -> None:
        async with pegboard.asyncio.open_host({}, []) as host:
            host.session(user_id)

    with pytest.raises(TypeError, match="user_id: expected text or None"):
        asyncio.run(main())


@pytest.mark.parametrize(
    "ask",
    [
        lambda host, session: host.call("add", {"a": 1, "b": 2}),
        lambda host, session: host.add(add),
        lambda host, session: host.remove("add"),
        lambda host, session: session.call("add", {"a": 1, "b": 2}),
        lambda host, session: session.call_many([{"name": "add", "arguments": {}}]),
        lambda host, session: session.check("add"),
    ],
    ids=["host.call", "host.add", "host.remove", "session.call", "session.call_many", "session.check"],
)
def test_after_the_block_a_host_says_that_it_has_ended(make_plugin: Any, ask: Any) -> None:
    with open_host_sync({}, [make_plugin("p", provide_tools=[add])]) as host:
        session = host.session("ada")
    with pytest.raises(RuntimeError, match=f"^{HOST_ENDED}$") as refused:
        ask(host, session)
    assert type(refused.value) is RuntimeError


def test_a_host_for_programs_without_trio_has_what_one_for_asyncio_has(make_plugin: Any) -> None:
    with open_host_sync({}, [make_plugin("p", provide_tools=[add])]) as host:
        host.disable("add")
        assert host.call("add", {"a": 1, "b": 1}).error.code is ErrorCode.FORBIDDEN
        host.enable("add")
        assert host.call("add", {"a": 1, "b": 1}).ok
        assert [one.name for one in host.search("add")] == ["add"]
        assert (host.board.state_of("add"), host.lost_resources) == ("ready", {})
        session = host.session(channel="test")
        assert (session.channel, session.profile, session.id in repr(session)) == ("test", None, True)
        assert [one.name for one in session.list_tools().tools] == ["add"]


def test_several_threads_may_call_at_once(make_plugin: Any) -> None:
    answers: list[Any] = []
    with open_host_sync({}, [make_plugin("p", provide_tools=[add])]) as host:
        workers = [
            threading.Thread(target=lambda n=n: answers.append(host.call("add", {"a": n, "b": 0}).data["result"]))
            for n in range(8)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert sorted(answers) == [float(n) for n in range(8)]


def test_what_opening_raises_is_raised_here() -> None:
    with pytest.raises(ConfigError, match="timeout_z"), open_host_sync({"timeout_z": 1}, []):
        raise AssertionError("it opened")
    assert "pegboard-host" not in threads()


def test_what_the_block_raises_leaves_it_and_the_host_ends() -> None:
    with pytest.raises(ZeroDivisionError), open_host_sync({}, []):
        1 / 0  # noqa: B018
    assert "pegboard-host" not in threads()


def test_ctrl_c_while_a_host_opens_ends_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    import concurrent.futures

    from pegboard import sync

    class Interrupted(concurrent.futures.Future):  # type: ignore[type-arg]
        def result(self, timeout: float | None = None) -> Any:
            if not seen:
                seen.append(1)
                raise KeyboardInterrupt
            return super().result(timeout)

    seen: list[int] = []
    monkeypatch.setattr(sync, "Future", Interrupted)
    with pytest.raises(KeyboardInterrupt), open_host_sync({}, []):
        raise AssertionError("it opened")
    assert "pegboard-host" not in threads()


def test_a_single_call_opens_and_closes_a_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    result = call_sync("nothing_of_that_name", {}, user_id="ada")
    assert result.error.code is ErrorCode.NOT_FOUND
    assert "pegboard-host" not in threads()


async def test_the_synchronous_forms_are_refused_inside_a_running_loop() -> None:
    with pytest.raises(RuntimeError, match=r"async with pegboard\.open_host"), open_host_sync({}, []):
        raise AssertionError("it opened")
    with pytest.raises(RuntimeError, match=r"async with pegboard\.open_host"):
        pegboard.call_sync("add")


def test_a_resource_that_ends_the_host_is_told_when_the_block_ends(make_plugin: Any, caplog: Any) -> None:
    import contextlib

    go = threading.Event()

    @contextlib.asynccontextmanager
    async def background() -> Any:
        async def fail() -> None:
            await trio.to_thread.run_sync(go.wait)
            raise ValueError

        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            yield object()

    def main() -> None:
        with open_host_sync({}, [make_plugin("bad", open_resources=lambda: background())]):
            go.set()
            next(thread for thread in threading.enumerate() if thread.name == "pegboard-host").join()

    with pytest.raises(pegboard.PluginError, match="resources"):
        main()


def test_trio_runs_a_host_as_a_guest_of_asyncio() -> None:
    async def call() -> Any:
        async with open_host({}, []) as host:
            host.add(add)
            await trio.sleep(0)
            return await host.session().call("add", {"a": 1, "b": 2}, timeout_s=5)

    async def main() -> Any:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()
        trio.lowlevel.start_guest_run(
            call, run_sync_soon_threadsafe=loop.call_soon_threadsafe, done_callback=done.set_result
        )
        beats = 0
        while not done.done():
            await asyncio.sleep(0)
            beats += 1
        assert beats
        return done.result().unwrap()

    assert asyncio.run(main()).data == {"result": 3.0}


def test_a_host_under_plain_asyncio_is_refused_with_the_ways_that_work() -> None:
    async def main() -> None:
        async with open_host({}, []):
            raise AssertionError("it opened")

    with pytest.raises(RuntimeError, match="open_host_sync"):
        asyncio.run(main())
