"""Projects that nobody here wrote, each made into tools once: programs, services and libraries.

A `Project` says how it is installed and started; `built` is its folder after `pegboard toolgen init`, with the
environment in which its tools can be called. Programs lie on PATH, libraries on PYTHONPATH, servers on a free port of
loopback. What cannot be installed here skips its tests and says why.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

RUN_S = 120
HINTS = "toolgen.toml"

SQLITE_UTILS = ("sqlite-utils==4.2.1",)
CSVKIT = ("csvkit==2.2.0",)
HTTPBIN = ("httpbin==0.10.4", "flasgger==0.9.7.1", "waitress")
KINTO = ("kinto==26.5.0", "waitress", "setuptools<81")
LIBRARIES = ("humanize==4.17.0", "textdistance==4.6.3")
CHECKERS = ("schemathesis==4.32.5", "skills-ref==0.1.1")

KINTO_INI = """
[server:main]
use = egg:waitress#main
host = 127.0.0.1
port = %(http_port)s
[app:main]
use = egg:kinto
kinto.includes = kinto.plugins.default_bucket
                 kinto.plugins.admin
                 kinto.plugins.accounts
kinto.storage_backend = kinto.core.storage.memory
kinto.cache_backend = kinto.core.cache.memory
kinto.permission_backend = kinto.core.permission.memory
kinto.userid_hmac_secret = of-these-tests-alone
kinto.default_bucket_hmac_secret = of-these-tests-alone
multiauth.policies = basicauth
kinto.bucket_create_principals = system.Authenticated
kinto.account_create_principals = system.Everyone
"""


@attrs.define
class Built:
    """A project made into tools.

    Args:
        name: of the project.
        folder: what `init` wrote.
        arguments: of `init`, without `--out`.
        env: what its programs, libraries or servers need, and the program `pegboard`.
        work: an empty folder to run in.
        address: of its server, for those that have one.
    """

    name: str
    folder: Path
    arguments: tuple[str, ...]
    env: dict[str, str]
    work: Path
    address: str = ""

    @property
    def manifest(self) -> dict[str, Any]:
        """`tool.manifest.json`."""
        whole: dict[str, Any] = json.loads((self.folder / "tool.manifest.json").read_text(encoding="utf-8"))
        return whole

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """Its tools by name."""
        return {one["name"]: one for one in self.manifest["tools"]}

    def tool_of(self, *words: str) -> dict[str, Any]:
        """The tool whose id ends so."""
        found = [one for one in self.manifest["tools"] if one["id"].endswith(" ".join(words))]
        assert len(found) == 1, (words, [one["id"] for one in found])
        return found[0]

    def pegboard(self, *words: str, said: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the program with what was built."""
        command = [sys.executable, "-m", "pegboard", "--config", str(self.folder / "pegboard.toml"), *words]
        return run(command, cwd=self.work, env={**self.env, **env}, said=said)

    def call(self, name: str, arguments: Mapping[str, Any], **env: str) -> dict[str, Any]:
        """One call; the line of its result."""
        return self.batch([(name, arguments)], **env)[0]

    def batch(self, calls: list[tuple[str, Mapping[str, Any]]], **env: str) -> list[dict[str, Any]]:
        """Many calls in one run; their results in the order of the calls."""
        lines = [json.dumps({"id": str(i), "name": name, "arguments": args}) for i, (name, args) in enumerate(calls)]
        done = self.pegboard("batch", said="\n".join(lines) + "\n", **env)
        assert done.returncode in (0, 1), done.stderr
        results = [json.loads(line) for line in done.stdout.splitlines()]
        assert [one["id"] for one in results] == [str(i) for i in range(len(calls))]
        return results


def run(
    command: list[str], *, cwd: Path, env: Mapping[str, str], said: str | None = None, timeout_s: float = RUN_S
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command,
        cwd=cwd,
        env=dict(env),
        input=said,
        stdin=subprocess.DEVNULL if said is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=timeout_s,
        check=False,
    )


def init(
    folder: Path, arguments: tuple[str, ...], env: Mapping[str, str], cwd: Path
) -> subprocess.CompletedProcess[str]:
    """`pegboard toolgen init`."""
    command = [sys.executable, "-m", "pegboard", "toolgen", "init", *arguments, "--all", "--out", str(folder)]
    return run(command, cwd=cwd, env=env)


@pytest.fixture(scope="session")
def base_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of every run: a home of its own, no configuration of a person."""
    home = tmp_path_factory.mktemp("home")
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "COVERAGE_PROCESS_START") if key in os.environ}
    xdg = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {**kept, **xdg, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}


@pytest.fixture(scope="session")
def make_built(base_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Built]:
    """`make_built(name, arguments, env, address="")` runs `init` in a folder of its own."""

    def make(
        name: str, arguments: tuple[str, ...], env: Mapping[str, str], *, address: str = "", hints: str | None = None
    ) -> Built:
        work = tmp_path_factory.mktemp(name)
        folder = work / "llm-tooling"
        whole = {**base_env, **env}
        if hints is not None:
            folder.mkdir()
            (folder / HINTS).write_text(hints, encoding="utf-8")
        done = init(folder, arguments, whole, work)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return Built(name, folder, arguments, whole, work, address)

    return make


def _venv(peers: Any, name: str, *requirements: str) -> Path:
    try:
        return Path(peers.venv(name, *requirements))
    except peers.OutOfReachError as problem:
        pytest.skip(f"no {name}: {problem}")


def _on_path(venv: Path, base: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": f"{venv / 'bin'}{os.pathsep}{base['PATH']}"}


def _site_packages(venv: Path) -> str:
    return sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)})


@pytest.fixture(scope="session")
def sqlite_utils(peers: Any, base_env: dict[str, str], make_built: Callable[..., Built]) -> Built:
    """sqlite-utils: a click program with subcommands."""
    venv = _venv(peers, "sqlite-utils", *SQLITE_UTILS)
    return make_built("sqlite-utils", ("--program", "sqlite-utils"), _on_path(venv, base_env))


@pytest.fixture(scope="session")
def csvkit(peers: Any, base_env: dict[str, str], make_built: Callable[..., Built]) -> Built:
    """csvkit: fourteen argparse programs of one distribution."""
    venv = _venv(peers, "csvkit", *CSVKIT)
    return make_built("csvkit", ("--program", "csvkit"), _on_path(venv, base_env))


@pytest.fixture(scope="session")
def httpbin(peers: Any, make_built: Callable[..., Built]) -> Iterator[Built]:
    """httpbin with flasgger: Swagger 2 without operation ids, from the running server."""
    venv = _venv(peers, "httpbin", *HTTPBIN)
    port = peers.free_port()
    command = [str(venv / "bin" / "waitress-serve"), f"--listen=127.0.0.1:{port}", "--threads=8", "httpbin:app"]
    with peers.serving(command, port, "/spec.json") as address:
        yield make_built("httpbin", ("--openapi", f"{address}/spec.json"), {}, address=address)


@pytest.fixture(scope="session")
def kinto(peers: Any, make_built: Callable[..., Built], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """kinto with its memory backend: 44 operations, basic auth."""
    venv = _venv(peers, "kinto", *KINTO)
    port = peers.free_port()
    ini = tmp_path_factory.mktemp("kinto-server") / "kinto.ini"
    ini.write_text(KINTO_INI, encoding="utf-8")
    command = [str(venv / "bin" / "kinto"), "start", "--ini", str(ini), "--port", str(port)]
    with peers.serving(command, port, "/v1/__heartbeat__") as address:
        built = make_built("kinto", ("--openapi", f"{address}/v1/__api__"), {}, address=address)
        for auth in (one for server in built.manifest["servers"].values() for one in server.get("auth", ())):
            built.env[auth["secret_env"]] = "a-password-of-these-tests"
            if "username_env" in auth:
                built.env[auth["username_env"]] = "ada"
        yield built


@pytest.fixture(scope="session")
def humanize(peers: Any, make_built: Callable[..., Built]) -> Built:
    """humanize: a library of functions."""
    venv = _venv(peers, "libraries", *LIBRARIES)
    return make_built("humanize", ("--library", "humanize"), {"PYTHONPATH": _site_packages(venv)})


@pytest.fixture(scope="session")
def textdistance(peers: Any, make_built: Callable[..., Built]) -> Built:
    """textdistance: a library of callable instances."""
    venv = _venv(peers, "libraries", *LIBRARIES)
    return make_built("textdistance", ("--library", "textdistance"), {"PYTHONPATH": _site_packages(venv)})


PROJECTS = ("sqlite_utils", "csvkit", "httpbin", "kinto", "humanize", "textdistance")


@pytest.fixture(params=PROJECTS)
def built(request: pytest.FixtureRequest) -> Built:
    """Each of the projects."""
    one: Built = request.getfixturevalue(request.param)
    return one


@pytest.fixture(scope="session")
def checkers(peers: Any) -> Path:
    """Where the programs `st` (schemathesis) and `agentskills` lie."""
    return _venv(peers, "checkers", *CHECKERS) / "bin"


@pytest.fixture(scope="session")
def run_program() -> Callable[..., subprocess.CompletedProcess[str]]:
    """`run(command, cwd=, env=, said=, timeout_s=)`."""
    return run


@pytest.fixture(scope="session")
def run_init() -> Callable[..., subprocess.CompletedProcess[str]]:
    """`init(folder, arguments, env, cwd)`."""
    return init


@pytest.fixture
def gateway_of() -> Callable[[Built], contextlib.AbstractContextManager[str]]:
    """`with gateway_of(built) as url` serves what was built as an HTTP API."""

    @contextlib.contextmanager
    def serve(built: Built) -> Iterator[str]:
        config = str(built.folder / "pegboard.toml")
        command = [sys.executable, "-m", "pegboard", "--config", config, "gateway", "--port", "0"]
        served = subprocess.Popen(
            command, cwd=built.work, env=built.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            assert served.stderr is not None
            line = served.stderr.readline()
            assert " at http://" in line, line + served.stderr.read()
            yield line.split(" at ")[1].split(" ")[0]
        finally:
            served.terminate()
            try:
                served.wait(20)
            finally:
                served.kill()
                served.wait()
                assert served.stderr is not None
                served.stderr.close()

    return serve
