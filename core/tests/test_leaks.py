"""Nothing is left behind: descriptors, threads, tasks and child processes are counted before and after."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import trio

from pegboard import CallContext, open_host, open_host_sync, tool

pytestmark = pytest.mark.usefixtures("settled")

FDS = Path("/proc/self/fd")
CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children")


def counted() -> dict[str, int]:
    gc.collect()
    named = [thread for thread in threading.enumerate() if not thread.name.startswith("Trio thread")]
    return {
        "descriptors": len(list(FDS.iterdir())),
        "threads": len(named),
        "children": len(CHILDREN.read_text().split()) if CHILDREN.exists() else 0,
    }


@tool(run="inplace")
def here() -> int:
    return 1


@tool
def there() -> int:
    return 1


@tool(timeout_s=0.01)
async def hangs() -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)


@tool
async def fails(context: CallContext) -> None:
    await context.call("hangs")
    raise ValueError


class Source:
    name = "far"
    timeout_s = None

    async def run(self, slot: Any) -> None:
        slot.replace([tool(name="swapped")(here.handler)])
        await trio.sleep_forever()


@pytest.mark.skipif(not FDS.exists(), reason="counts descriptors in /proc")
def test_a_host_and_its_calls_leave_nothing(make_plugin: Any, tmp_path: Path, caplog: Any) -> None:
    plugins = [make_plugin("p", provide_tools=[here, there, hangs, fails], provide_sources=[Source()])]
    config = {"plugins": {"audit": {"file": str(tmp_path / "audit")}}}

    async def main() -> int:
        async with open_host(config, plugins) as host:
            session = host.session()
            tasks = trio.lowlevel.current_statistics().tasks_living
            for _ in range(3):
                for name in ("here", "there", "hangs", "fails", "nope"):
                    await session.call(name)
                await session.call_many([{"name": "there"}, {"name": "here"}])
                with trio.move_on_after(0.005):
                    await session.call("hangs", timeout_s=5)
            await session.call("hangs", timeout_s=0.001)
            return trio.lowlevel.current_statistics().tasks_living - tasks

    trio.run(main)
    before = counted()
    for _ in range(3):
        assert trio.run(main) <= 1  # the source's own task may have begun after the count
    assert counted() == before


@pytest.mark.skipif(not FDS.exists(), reason="counts descriptors in /proc")
def test_a_host_in_a_thread_leaves_nothing() -> None:
    def once() -> None:
        with open_host_sync({}, []) as host:
            host.add(here, there)
            assert host.call("here").ok
            assert host.call("there").ok

    once()
    before = counted()
    for _ in range(3):
        once()
    assert counted() == before


def test_the_environment_stays_as_it_was(make_plugin: Any) -> None:
    before = dict(os.environ)

    async def main() -> None:
        async with open_host({}, [make_plugin("p", provide_tools=[here])]) as host:
            await host.session().call("here")

    trio.run(main)
    assert dict(os.environ) == before
