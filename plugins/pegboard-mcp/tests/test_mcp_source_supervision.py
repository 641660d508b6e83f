"""The life of a server: started on demand or at once, lost, started again; and what becomes of calls meanwhile."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import pytest
import trio

from pegboard import ErrorCode, open_host
from pegboard.testing import assert_error, assert_ok
from pegboard_mcp.client._errors import LinkError


async def test_a_known_server_is_started_by_the_first_call(serve: Any, define: Any) -> None:
    first = await serve(define())
    await first.ready()
    assert len(first.lines("starts")) == 1

    second = await serve(define())
    assert "add" in second.host.tools
    await trio.testing.wait_all_tasks_blocked()
    assert second.state() == "known"
    assert len(second.lines("starts")) == 1
    assert_ok(await second.call("add", a=1, b=2), text="3")
    assert second.state() == "ready"
    assert len(second.lines("starts")) == 2


async def test_a_known_server_that_is_eager_is_started_at_once(serve: Any, define: Any) -> None:
    first = await serve(define(start="eager"))
    await first.ready()
    second = await serve(define(start="eager"))
    await second.ready()
    assert len(second.lines("starts")) == 2


async def test_a_call_while_the_server_starts_waits_for_it(serve: Any, define: Any) -> None:
    first = await serve(define())
    await first.ready()
    second = await serve(define())

    results: list[Any] = []

    async def call(number: int) -> None:
        results.append(await second.call("add", a=number, b=0))

    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(call, number)
    assert sorted(assert_ok(result).text for result in results) == ["0", "1", "2", "3", "4"]
    assert len(second.lines("starts")) == 2


async def test_a_call_that_waits_for_a_server_to_start_did_not_run(serve: Any, define: Any) -> None:
    from pegboard_mcp.client import cache

    first = await serve(define())
    await first.ready()
    slow = define(script={"start": "silent"}, request_s=0.5)
    cache.write(cache.path_of(slow), first.source.listing)
    served = await serve(slow)

    error = assert_error(await served.call("die"), ErrorCode.TIMEOUT, says="not ready in time").error
    assert error.details["executed"] is False
    assert error.details["retry"] == "same"


async def test_the_death_of_an_idle_server_is_seen_at_once_and_repaired(serve: Any, define: Any) -> None:
    served = await serve(define())
    await served.ready()
    os.kill(int(served.lines("starts")[0]), signal.SIGKILL)

    await served.until(lambda: served.source.connection is None, within_s=20)
    await served.until(lambda: len(served.lines("starts")) == 2)
    await served.ready()


async def test_a_call_after_a_death_does_not_wait_for_the_back_off(serve: Any, define: Any) -> None:
    served = await serve(define())
    await served.ready()
    os.kill(int(served.lines("starts")[0]), signal.SIGKILL)
    await served.until(lambda: served.source.connection is None)

    began = trio.current_time()
    assert_ok(await served.call("add", a=1, b=2), text="3")
    assert trio.current_time() - began < 2


@pytest.mark.parametrize("name", ["die_once_reading", "die_once_repeating"])
async def test_a_lost_call_is_repeated_where_that_is_harmless(serve: Any, define: Any, name: str) -> None:
    served = await serve(define())
    await served.ready()

    assert_ok(await served.call(name), text=f"{name} 2")
    assert served.lines("runs") == [name, name]


async def test_a_lost_call_of_any_other_tool_is_never_repeated(serve: Any, define: Any) -> None:
    served = await serve(define("plain"))
    await served.ready()

    for number in range(1, 4):
        error = assert_error(await served.call("die"), ErrorCode.OUTCOME_UNKNOWN, says="SIGKILL").error
        assert error.details["retry"] == "unknown"
        assert "plain" in error.message
        assert served.lines("runs") == ["die"] * number


async def test_a_call_is_repeated_once_and_not_for_ever(serve: Any, define: Any) -> None:
    served = await serve(define())
    await served.ready()

    error = assert_error(await served.call("die_always_reading"), ErrorCode.UPSTREAM_ERROR, says="lost twice").error
    assert error.details["retry"] == "same"
    assert served.lines("runs") == ["die_always_reading"] * 2


async def test_calls_in_flight_fail_at_once_when_their_server_dies(serve: Any, define: Any) -> None:
    served = await serve(define())
    await served.ready()
    results: list[Any] = []

    async def hang() -> None:
        results.append(await served.call("hang"))

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(hang)
        await served.until(lambda: served.lines("runs") == ["hang"] * 3)
        os.kill(int(served.lines("starts")[0]), signal.SIGKILL)
    assert trio.current_time() - began < 5
    assert [result.error.code for result in results] == [ErrorCode.OUTCOME_UNKNOWN] * 3


async def test_an_exit_tells_its_status_and_last_words(serve: Any, define: Any) -> None:
    served = await serve(define())
    await served.ready()

    error = assert_error(await served.call("exit"), ErrorCode.OUTCOME_UNKNOWN, says="I have had enough").error
    assert "3" in error.message


async def test_a_missing_command_is_named_and_tried_again_on_demand_alone(serve: Any, define: Any) -> None:
    first = await serve(define())
    await first.ready()
    lost = define(argv=("no-such-program-at-all", "--token", "s3cret"), secrets=("s3cret",))
    served = await serve(lost)
    await served.until(lambda: served.state() == "failed")
    assert "no-such-program-at-all --token ***" in served.reason()
    assert not [name for name in served.host.tools if name not in ("list_resources", "read_resource")]
    assert "s3cret" not in served.reason()


async def test_a_call_of_a_server_that_cannot_start_says_why(
    serve: Any, define: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pegboard_mcp.client import cache

    good = define("gone")
    first = await serve(good)
    await first.ready()
    lost = define("gone", argv=("no-such-program-at-all", "s3cret"), secrets=("s3cret",))
    cache.write(cache.path_of(lost), first.source.listing)

    served = await serve(lost)
    error = assert_error(await served.call("add", a=1, b=2), ErrorCode.UPSTREAM_ERROR).error
    assert "'gone'" in error.message
    assert "no-such-program-at-all ***" in error.message
    assert error.details["executed"] is False
    assert error.details["kind"] == "missing_command"
    assert "s3cret" not in repr(error.details) + error.message
    began = trio.current_time()
    assert_error(await served.call("add", a=1, b=2), ErrorCode.UPSTREAM_ERROR)
    assert trio.current_time() - began < 0.5
    assert served.state() == "failed"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ({"start": "exits", "log": "I lack a key"}, "I lack a key"),
        ({"start": "silent"}, "1.5 s"),
        ({"start": "garbage"}, "Welcome!"),
        ({"lists": "silent"}, "1.5 s"),
        ({"lists": "refused"}, "no list today"),
        ({"lists": "nothing"}, "without a list"),
        ({"lists": "endless"}, "does not end"),
        ({"lists": "repeats"}, "the same page"),
    ],
    ids=lambda value: "-".join(value.values()) if isinstance(value, dict) else "",
)
async def test_every_way_of_not_starting_is_told_with_its_cause(
    serve: Any, define: Any, script: dict[str, Any], says: str
) -> None:
    # Those that say nothing of use are waited for to the end; the others answer, on a busy machine late.
    connect_s = {"1.5 s": 1.5, "Welcome!": 4}.get(says, 60)
    served = await serve(define(script=script, connect_s=connect_s))
    await served.until(lambda: served.state() == "backing_off")
    assert says in served.reason()
    assert served.source.trouble is not None
    assert served.source.trouble.fix


async def test_a_server_that_does_not_start_is_tried_again_until_it_does(
    serve: Any, define: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pegboard_mcp.client import lifecycle

    monkeypatch.setattr(lifecycle, "PAUSE_S", (0.02, 0.1))
    served = await serve(define(script={"start": "exits"}))
    await served.until(lambda: len(served.lines("starts")) >= 4)
    assert served.source.trouble is not None

    (served.folder / "repaired").touch()
    await served.ready()
    assert served.source.trouble is None
    assert_ok(await served.call("add", a=1, b=2), text="3")


async def test_pauses_between_attempts_grow_up_to_their_limit(
    serve: Any, define: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pegboard_mcp.client import lifecycle

    asked: list[float] = []

    def longest(low: float, high: float) -> float:
        asked.append(high)
        return 1.0

    monkeypatch.setattr(lifecycle.random, "uniform", longest)
    monkeypatch.setattr(lifecycle, "PAUSE_S", (0.1, 0.4))
    served = await serve(define(script={"start": "exits"}))
    began = trio.current_time()
    await served.until(lambda: len(served.lines("starts")) >= 5)
    assert trio.current_time() - began >= 0.1 + 0.2 + 0.4 + 0.4
    assert set(asked) == {1.5}


async def test_one_dead_server_takes_nothing_else_down(serve: Any, define: Any) -> None:
    served = await serve(define("good"), define("bad", {"start": "exits"}), define("ugly", {"start": "silent"}))
    await served.ready("good")
    await served.until(lambda: served.state("bad") == "backing_off")

    assert_ok(await served.call("add", a=1, b=2), text="3")


@pytest.mark.parametrize("when", ["connecting", "calling", "backing_off", "ready"])
async def test_the_host_ends_whatever_its_servers_do(define: Any, server_folder: Any, when: str) -> None:
    from pegboard import hookimpl
    from pegboard_mcp.client.source import McpSource

    script = {"connecting": {"start": "silent"}, "backing_off": {"start": "exits"}}.get(when, {})
    sources = [McpSource(define(f"s{number}", script, prefix=f"s{number}_")) for number in range(3)]

    class Plugin:
        @hookimpl
        def provide_sources(self) -> Any:
            return sources

    async def until(holds: Any) -> None:
        while not holds():
            await trio.sleep(0.005)

    with trio.fail_after(15):
        async with open_host({}, [Plugin()]) as host, trio.open_nursery() as nursery:
            states = host.board.source_states
            if when in ("connecting", "backing_off"):
                wanted = "starting" if when == "connecting" else "backing_off"
                await until(lambda: all(state.value == wanted for state, _ in states.values()))
            else:
                await until(lambda: all(state.value == "ready" for state, _ in states.values()))
            if when == "calling":
                nursery.start_soon(host.session().call, "s1_hang")
                await until(lambda: (server_folder / "runs").exists())
                nursery.cancel_scope.cancel()
    for pid in map(int, (server_folder / "starts").read_text().split() if (server_folder / "starts").exists() else ()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_a_call_after_the_host_ended_is_refused_at_once(define: Any, server_folder: Any) -> None:
    from pegboard import hookimpl
    from pegboard_mcp.client.source import McpSource

    source = McpSource(define())

    class Plugin:
        @hookimpl
        def provide_sources(self) -> Any:
            return [source]

    async with open_host({}, [Plugin()]) as host:
        session = host.session()
        while source.connection is None:
            await trio.sleep(0.005)
    with trio.fail_after(30), pytest.raises(RuntimeError, match="the host has ended"):
        await session.call("add", {"a": 1, "b": 2})


async def test_a_host_does_not_open_without_a_required_server(define: Any) -> None:
    from pegboard import PluginError, hookimpl
    from pegboard_mcp.client.source import McpSource

    class Plugin:
        @hookimpl
        def provide_sources(self) -> Any:
            return [McpSource(define("needed", {"start": "exits", "log": "I lack a key"}, required=True))]

    with pytest.raises(PluginError, match=r"'needed'.*required.*I lack a key"):
        async with open_host({}, [Plugin()]):
            pytest.fail("it opened")


async def test_a_required_server_is_started_at_once_though_it_is_known(serve: Any, define: Any) -> None:
    first = await serve(define(required=True))
    await first.ready()
    second = await serve(define(required=True))
    assert second.source.required
    await second.ready()


def test_nothing_of_the_sdk_is_imported_before_a_server_is_started() -> None:
    import subprocess

    code = "import sys, pegboard_mcp.client.source; print(*({'mcp', 'trio', 'anyio', 'httpx2'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("why", "told"),
    [
        ("it ended", "it ended. Start it."),
        ("it refused: Pay first.", "it refused: Pay first. Start it."),
        ("it refused: why me?", "it refused: why me? Start it."),
    ],
)
def test_a_server_s_own_full_stop_is_not_followed_by_another(why: str, told: str) -> None:
    assert LinkError("refused", why, "Start it.").explanation == told
