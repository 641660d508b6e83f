"""Programs on asyncio: the same API, with cancellation, deadlines and questions that cross over; on uvloop too."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import trio

import pegboard
from pegboard import CallContext, ConfigError, ErrorCode, open_host_sync, tool
from pegboard.asyncio import open_host
from pegboard.session import HOST_ENDED

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a coroutine on a loop of its own, of either kind."""
    if request.param == "asyncio":
        return asyncio.run
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed here")
    run: Run = uvloop.run
    return run


ended: list[str] = []


@tool(run="inplace", read_only=True)
def add(a: float, b: float) -> float:
    """Add."""
    return a + b


@tool(parallel=True)
async def wait(name: str = "wait", grace_s: float = 0) -> str:
    """Wait for ever, under trio; say when it ended."""
    started.put(name)
    try:
        await trio.sleep_forever()
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(grace_s)
        ended.append(name)
    return name


class Started:
    """Which calls have begun, for a loop that waits for it."""

    def __init__(self) -> None:
        self._began = threading.Semaphore(0)

    def put(self, name: str) -> None:
        self._began.release()

    async def wait_for(self, count: int = 1) -> None:
        for _ in range(count):
            assert await asyncio.to_thread(self._began.acquire, timeout=20)


started = Started()


@tool(requires_confirmation="Really?", destructive=True)
async def wipe(context: CallContext) -> str:
    """Wipe."""
    await context.progress(1, 2, "half")
    return "wiped"


class Kit:
    """The tools of a plugin: they run under trio."""

    name = "kit"

    @pegboard.hookimpl
    def provide_tools(self) -> list[Any]:
        return [add, wait, wipe]


def opened(**more: Any) -> Any:
    return open_host({}, [Kit()], **more)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Any:
    global started
    ended.clear()
    started = Started()
    yield
    assert "pegboard-host" not in {thread.name for thread in threading.enumerate()}


def test_the_api_is_that_of_a_host(run: Run) -> None:
    async def main() -> None:
        async with pegboard.asyncio.open_host({}, [Kit()]) as host:
            session = host.session("ada", channel="web")
            assert (session.user_id, session.channel, session.profile) == ("ada", "web", None)
            assert list(session.tools) == list(host.tools) == ["add", "wait", "wipe"]
            assert [tool.name for tool in session.list_tools().tools] == ["add", "wait", "wipe"]
            assert host.categories() == {"general": 3}
            assert [tool.name for tool in host.search("add")] == ["add"]
            assert (await session.call("add", {"a": 1, "b": 2}, id="mine", timeout_s=5)).data == {"result": 3.0}
            assert session.check("add", {"a": 1}).error.code is ErrorCode.INVALID_INPUT
            calls = [{"name": "add", "arguments": {"a": n, "b": 0}} for n in range(3)]
            assert [result.data["result"] for result in await session.call_many(calls)] == [0.0, 1.0, 2.0]
            changes: list[Any] = []
            stop = host.watch(lambda old, new: changes.append((threading.current_thread(), len(new.names))))
            host.remove("add")
            host.disable("wait")
            assert (await session.call("add")).error.code is ErrorCode.NOT_FOUND
            assert (await session.call("wait")).error.code is ErrorCode.FORBIDDEN
            host.enable("wait")
            stop()
            host.add(add)
            await host.wait_for_sources()
            assert changes
            assert {thread for thread, _ in changes} == {threading.current_thread()}
            with pytest.raises(pegboard.ToolError, match="already registered"):
                host.add(add)

    run(main())


def test_cancelling_the_task_cancels_the_call_and_waits_for_its_end(run: Run) -> None:
    async def main() -> None:
        async with opened() as host:
            task = asyncio.create_task(host.session().call("wait", {"grace_s": 0.05}))
            await started.wait_for()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert ended == ["wait"]
            assert (await host.session().call("add", {"a": 1, "b": 1})).ok

    run(main())


def test_a_task_that_is_cancelled_twice_still_waits(run: Run) -> None:
    async def main() -> None:
        async with opened() as host:
            task = asyncio.create_task(host.session().call("wait", {"grace_s": 0.1}))
            await started.wait_for()
            for _ in range(3):
                task.cancel()
                await asyncio.sleep(0)
            with pytest.raises(asyncio.CancelledError):
                await task
            assert ended == ["wait"]

    run(main())


def test_wait_for_and_timeouts_of_asyncio_end_the_call(run: Run) -> None:
    async def main() -> None:
        async with opened() as host:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(host.session().call("wait", {"name": "wait_for"}), 0.05)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await host.session().call("wait", {"name": "timeout"})
            assert ended == ["wait_for", "timeout"]
            result = await host.session().call("wait", timeout_s=0.05)
            assert result.error.code is ErrorCode.TIMEOUT
            assert result.error.details["by"] == "caller"

    run(main())


def test_one_call_that_fails_in_a_group_cancels_the_others(run: Run) -> None:
    async def fail() -> None:
        await started.wait_for(2)
        raise ValueError("enough")

    async def main() -> None:
        async with opened() as host:
            with pytest.raises(ExceptionGroup) as caught:  # noqa: PT012 - a group is a block
                async with asyncio.TaskGroup() as group:
                    for name in ("one", "two"):
                        group.create_task(host.session().call("wait", {"name": name}))
                    group.create_task(fail())
            assert [str(problem) for problem in caught.value.exceptions] == ["enough"]
            assert sorted(ended) == ["one", "two"]

    run(main())


def test_questions_and_progress_run_in_the_programs_loop(run: Run) -> None:
    async def main() -> None:
        loop, heard = asyncio.get_running_loop(), []

        async def confirm(asked: Any) -> bool:
            await asyncio.sleep(0)
            assert asyncio.get_running_loop() is loop
            return "Really?" in asked.question

        async def on_progress(call_id: str, done: float, total: float | None, message: str | None) -> None:
            await asyncio.sleep(0)
            heard.append((asyncio.get_running_loop() is loop, done, total, message))

        async with opened() as host:
            session = host.session(confirm=confirm, on_progress=on_progress)
            assert (await session.call("wipe")).text == "wiped"
            assert heard == [(True, 1, 2, "half")]
            assert (await host.session().call("wipe")).error.details["reason"] == "confirmation"

    run(main())


def test_what_a_program_gives_that_cannot_be_awaited_is_an_error_at_once(run: Run) -> None:
    """A plain function, or nothing to call at all: nobody waits for an answer that cannot come."""

    def plain(*told: Any) -> bool:
        return True

    def failing(*told: Any) -> bool:
        raise KeyError

    async def main() -> None:
        def eventual(asked: Any) -> asyncio.Future[bool]:
            return asyncio.get_running_loop().run_in_executor(None, plain)

        async with opened() as host:
            with pytest.raises(TypeError, match="confirm: expected an async function"):
                host.session(confirm=3)  # type: ignore[arg-type]
            for given in (plain, failing):
                result = await host.session(confirm=given).call("wipe", timeout_s=20)  # type: ignore[arg-type]
                assert (result.error.code, result.error.details["guard"]) == (ErrorCode.INTERNAL_ERROR, "confirmation")
                session = host.session(confirm=eventual, on_progress=given)  # type: ignore[arg-type]
                assert (await session.call("wipe", timeout_s=20)).error.code is ErrorCode.INTERNAL_ERROR
            assert (await host.session(confirm=eventual).call("wipe", timeout_s=20)).text == "wiped"

    run(main())


def test_a_question_is_cancelled_with_its_call(run: Run) -> None:
    async def main() -> None:
        asked, left = asyncio.Event(), []

        async def confirm(question: Any) -> bool:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                left.append("confirm")
            return True

        async with opened() as host:
            task = asyncio.create_task(host.session(confirm=confirm).call("wipe"))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert left == ["confirm"]

    run(main())


def test_async_tools_of_the_program_run_in_its_loop_and_are_cancelled_there(run: Run) -> None:
    async def main() -> None:
        loop, seen = asyncio.get_running_loop(), []

        @tool(timeout_s=0.2)
        async def mine(context: CallContext, hang: bool = False) -> str:
            """Await what lives in the program's loop."""
            seen.append(asyncio.get_running_loop() is loop)
            await asyncio.sleep(0)
            await context.progress(1, None, context.session.user_id)
            assert (await context.call("add", {"a": 1, "b": 2})).data == {"result": 3.0}
            assert await context.prepare(lambda: asyncio.sleep(0, "ready")) == "ready"
            try:
                await (asyncio.Event().wait() if hang else asyncio.sleep(0))
            except asyncio.CancelledError:
                seen.append("cancelled")
                raise
            return "done"

        async def on_progress(*told: Any) -> None:
            seen.append(told[3])

        async with opened() as host:
            host.add(mine)
            session = host.session("ada", on_progress=on_progress)
            assert (await session.call("mine")).text == "done"
            assert seen == [True, "ada"]
            assert (await session.call("mine", {"hang": True})).error.code is ErrorCode.TIMEOUT
            assert seen[2:] == [True, "ada", "cancelled"]

    run(main())


def test_what_a_tool_of_the_program_raises_is_an_answer(run: Run) -> None:
    async def main() -> None:
        async def broken(how: str) -> str:
            """Break."""
            if how == "told":
                raise pegboard.ToolError("CONFLICT", "there is one already")
            if how == "cancelled":
                raise asyncio.CancelledError
            raise ValueError(how)

        async with opened() as host:
            host.add(broken)
            answers = [await host.session().call("broken", {"how": how}) for how in ("told", "cancelled", "else")]
            assert [answer.error.code.value for answer in answers] == ["CONFLICT", "INTERNAL_ERROR", "INTERNAL_ERROR"]

    run(main())


def test_context_variables_cross_over_both_ways(run: Run) -> None:
    request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="none")

    async def main() -> None:
        @tool(run="inplace")
        def in_trio() -> str:
            """Read it in the host's thread."""
            return request_id.get()

        async def in_asyncio() -> str:
            """Read it in the loop."""
            return request_id.get()

        async with opened() as host:
            host.add(in_trio, in_asyncio)
            request_id.set("r1")
            for name in ("in_trio", "in_asyncio"):
                assert (await host.session().call(name)).text == "r1"

    run(main())


def test_what_keeps_a_host_from_opening_is_raised(run: Run) -> None:
    async def main() -> None:
        with pytest.raises(ConfigError, match="has a fault"):
            async with open_host({"nonsense": 1}, []):
                raise AssertionError("it does not open")

    run(main())


def test_an_exception_of_the_block_leaves_it_and_the_calls_end(run: Run) -> None:
    async def main() -> None:
        tasks = []
        with pytest.raises(ZeroDivisionError):  # noqa: PT012 - what it leaves is the block
            async with opened() as host:
                session = host.session()
                tasks.append(asyncio.create_task(host.session().call("wait")))
                await started.wait_for()
                raise ZeroDivisionError
        assert ended == ["wait"]
        with pytest.raises(RuntimeError, match=f"^{HOST_ENDED}$"):
            await tasks[0]
        for ask in (lambda: session.check("add"), lambda: host.add(add), lambda: host.remove("add"), host.session):
            with pytest.raises(RuntimeError, match=f"^{HOST_ENDED}$"):
                ask()
        with pytest.raises(RuntimeError, match=f"^{HOST_ENDED}$"):
            await session.call("add", {"a": 1, "b": 2})

    run(main())


def test_a_task_that_is_cancelled_in_the_block_closes_the_host_first(run: Run) -> None:
    closed: list[str] = []

    class Slow:
        name = "slow"

        @pegboard.hookimpl
        def open_resources(self) -> Any:
            @contextlib.asynccontextmanager
            async def resource() -> Any:
                try:
                    yield object()
                finally:
                    with trio.CancelScope(shield=True):
                        await trio.sleep(0.05)
                    closed.append("closed")

            return resource()

    async def main() -> None:
        entered = asyncio.Event()

        async def work() -> None:
            async with open_host({}, [Slow()]):
                entered.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(work())
        await entered.wait()
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()  # once more, while it closes
        with pytest.raises(asyncio.CancelledError):
            await task
        assert closed == ["closed"]

    run(main())


def test_a_task_that_is_cancelled_while_a_host_opens_leaves_none(run: Run) -> None:
    opening = threading.Event()

    class Never:
        name = "never"

        @pegboard.hookimpl
        def open_resources(self) -> Any:
            @contextlib.asynccontextmanager
            async def resource() -> Any:
                opening.set()
                await trio.sleep_forever()
                yield object()

            return resource()

    async def main() -> None:
        async def work() -> None:
            async with open_host({}, [Never()]):
                raise AssertionError("it does not open")

        task = asyncio.create_task(work())
        assert await asyncio.to_thread(opening.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_two_hosts_and_one_of_the_sync_form_run_side_by_side(run: Run) -> None:
    async def main() -> None:
        with open_host_sync({}, [Kit()]) as other:
            async with opened() as one, opened() as two:
                one.remove("add")
                assert not (await one.session().call("add", {"a": 1, "b": 2})).ok
                assert (await two.session().call("add", {"a": 1, "b": 2})).ok
            assert other.call("add", {"a": 1, "b": 2}).ok

    run(main())


def test_a_thousand_calls_at_once_are_answered_each_with_its_own(run: Run) -> None:
    async def main() -> None:
        async with opened() as host:
            session = host.session()
            answers = await asyncio.gather(*(session.call("add", {"a": n, "b": 0}) for n in range(1000)))
            assert [answer.data["result"] for answer in answers] == [float(n) for n in range(1000)]

    run(main())


def child(body: str, **options: Any) -> subprocess.Popen[str]:
    program = f"""
import asyncio, pegboard, threading, trio
began = threading.Event()
from pegboard import hookimpl, tool
@tool
async def wait() -> str:
    "Wait for ever."
    print("waiting", flush=True)
    began.set()
    try:
        await trio.sleep_forever()
    finally:
        print("ended", flush=True)
class Kit:
    name = "kit"
    @hookimpl
    def provide_tools(self):
        return [wait]
{textwrap.dedent(body)}
"""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", program], **pipes, **options)


CLOSED = """
async def main():
    opening = pegboard.asyncio.open_host({}, [Kit()])
    host = await opening.__aenter__()
    asyncio.create_task(host.session().call("wait"))
    assert await asyncio.to_thread(began.wait, 20)
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
loop.close()
print("loop closed", flush=True)
"""
INTERRUPTED = """
async def main():
    async with pegboard.asyncio.open_host({}, [Kit()]) as host:
        await host.session().call("wait")
asyncio.run(main())
"""


def test_a_loop_that_is_closed_while_calls_run_keeps_no_process() -> None:
    with child(CLOSED) as process:
        out, _ = process.communicate(timeout=60)
    assert out.split("\n")[:3] == ["waiting", "loop closed", "ended"]
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
def test_ctrl_c_ends_the_calls_and_the_program() -> None:
    with child(INTERRUPTED) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out == "ended\n"
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode in (1, 130, -signal.SIGINT)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_an_asgi_program_keeps_one_host_under_uvicorn(loop: str) -> None:
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed here")
    if loop == "uvloop":
        pytest.importorskip("uvloop", reason="uvloop is not installed here")
    hosts: list[Any] = []

    async def shout(text: str) -> str:
        """Say it louder."""
        await asyncio.sleep(0)
        return text.upper()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            async with open_host({}, [Kit()]) as host:
                host.add(shout)
                hosts.append(host)
                await send({"type": "lifespan.startup.complete"})
                await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        result = await hosts[0].session("ada").call("shout", {"text": scope["path"]})
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": result.text.encode()})

    server = uvicorn.Server(uvicorn.Config(app, port=0, loop=loop, lifespan="on", log_level="error"))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            address = f"http://127.0.0.1:{listening.getsockname()[1]}/hello"
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert answer.read() == b"/HELLO"
        finally:
            server.should_exit = True
            thread.join(30)
    assert not thread.is_alive()


def test_it_is_not_imported_before_it_is_asked_for() -> None:
    code = "import sys, pegboard; assert 'asyncio' not in sys.modules; pegboard.asyncio.open_host; print('ok')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "ok\n"
