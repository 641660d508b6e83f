"""The pytest plugin: `host_with` opens hosts for a test, `fake_clock` makes its waits take no time.

It needs pytest-trio (`pip install 'pegboard[testing]'`). Nothing heavy is imported before a fixture is used: the plugin
is loaded into every pytest run of an environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    import trio
    from trio.testing import MockClock

    from pegboard.host import Host


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--pegboard-record`: run the tools of `replayed` hosts, and record anew what they answer."""
    parser.getgroup("pegboard").addoption(
        "--pegboard-record",
        action="store_true",
        help="run the tools of hosts that `replayed` opens, and record anew what they answer",
    )


@pytest.fixture
def fake_clock() -> MockClock:
    """A clock that jumps to the next deadline whenever everything waits: no test sleeps."""
    from trio.testing import MockClock

    return MockClock(autojump_threshold=0)


@pytest.fixture
async def host_with() -> AsyncIterator[Callable[..., Awaitable[Host]]]:
    """`await host_with(plugin, ..., config={...})` opens a host with those plugins and the built-ins alone.

    It reads no files and no entry points, and ends with the test. It is strict: a plugin that fails, or misspells a
    hook, fails the test; `config={"strict": False}` is for those that want to see it quarantined.
    """
    import trio

    from pegboard import open_host

    async def keep(
        plugins: tuple[Any, ...], config: Mapping[str, Any] | None, *, task_status: trio.TaskStatus[Host]
    ) -> None:
        async with open_host({"strict": True, **(config or {})}, list(plugins)) as host:
            task_status.started(host)
            await trio.sleep_forever()

    # One owner task a host: a nursery must be left by the task that opened it, and tests open hosts in any order.
    async with trio.open_nursery() as nursery:

        async def open_one(*plugins: Any, config: Mapping[str, Any] | None = None) -> Host:
            host: Host = await nursery.start(keep, plugins, config)
            return host

        yield open_one
        nursery.cancel_scope.cancel()


@pytest.fixture
def replayed(
    host_with: Callable[..., Awaitable[Host]], request: pytest.FixtureRequest
) -> Callable[..., Awaitable[Host]]:
    """`await replayed("FILE", plugin, ..., config={...})` is a host whose tools answer from a recording, and never run.

    The file is found beside the test's own. A call that was not recorded answers NOT_FOUND, reason `not_recorded`. With
    `pytest --pegboard-record` the tools run, and the file is written anew.
    """
    records = request.config.getoption("--pegboard-record")
    begun: set[str] = set()

    async def open_one(file: str | os.PathLike[str], *plugins: Any, config: Mapping[str, Any] | None = None) -> Host:
        path = str(request.path.parent / file)
        if records and path not in begun:
            begun.add(path)
            (request.path.parent / file).unlink(missing_ok=True)
        said = dict(config or {})
        recorded = {"file": path, "mode": "record" if records else "replay"}
        said["plugins"] = {**said.get("plugins", {}), "record": recorded}
        return await host_with(*plugins, config=said)

    return open_one
