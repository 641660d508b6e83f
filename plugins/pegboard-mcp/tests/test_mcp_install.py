"""A package is installed in a step of its own, which nobody kills in its middle."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from pegboard import ErrorCode
from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports import _process, open_link
from pegboard_mcp.client.transports import install as installing
from pegboard_mcp.definitions import ServerDefinition
from pegboard_mcp.packages import RUNNERS, fetches, install_step, may_install

SERVERS = Path(__file__).parent / "servers"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX's")

STEPS = [
    ("npx -y pkg", "npx -y --package pkg -c :"),
    ("npx pkg", "npx --package pkg -c :"),
    ("/opt/node/bin/npx -y @scope/pkg@1.2 --port 3 .", "/opt/node/bin/npx -y --package @scope/pkg@1.2 -c :"),
    ("npx.cmd --yes pkg", "npx.cmd --yes --package pkg -c :"),
    ("npx -y -- pkg -p x", "npx -y --package pkg -c :"),
    ("npx -y -p one --package=two server --flag", "npx -y -p one --package=two -c :"),
    ("npx --registry https://r.example pkg", "npx --registry https://r.example --package pkg -c :"),
    ("npm exec --yes pkg -- --flag", "npm exec --yes --package pkg -c :"),
    ("npm x -y pkg", "npm x -y --package pkg -c :"),
    ("uvx pkg --repository .", "uvx --from pkg python -c "),
    ("uvx pkg@1.0", "uvx --from pkg@1.0 python -c "),
    ("uvx --from pkg[cli]>=1 server", "uvx --from pkg[cli]>=1 python -c "),
    ("uvx -p 3.12 --with more pkg", "uvx -p 3.12 --with more --from pkg python -c "),
    ("uv tool run --quiet pkg", "uv tool run --quiet --from pkg python -c "),
    ("pipx run pkg", "pipx run --spec pkg python -c "),
    ("pipx run --spec pkg==1 server", "pipx run --spec pkg==1 python -c "),
]
NONE = [
    "", "python server.py", "node server.js", "docker run image", "npx", "npx -y", "npx -c 'a b'", "npx --what pkg",
    "npm install pkg", "npm run serve", "npm exec pkg --package=other", "uv run server.py", "uvx python server.py",
    "uvx python3.12", "uvx --what pkg", "bunx pkg", "pnpm dlx pkg", "pipx run ./server.py", "pipx install pkg",
]  # fmt: skip


@pytest.mark.parametrize(("command", "step"), STEPS, ids=[one for one, _ in STEPS])
def test_the_install_of_a_command_is_a_command_of_its_own(command: str, step: str) -> None:
    found = install_step(command.split())
    assert found is not None
    assert " ".join(found.argv) == step
    assert may_install(command.split())


@pytest.mark.parametrize("command", NONE)
def test_where_nobody_can_tell_there_is_no_step(command: str) -> None:
    assert install_step(command.split()) is None


@pytest.mark.parametrize(
    ("command", "may"),
    [
        ("bunx pkg", True), ("pnpm dlx pkg", True), ("uv run server.py", True), ("env A=1 npx pkg", True),
        ("sh -c 'cd x && npx -y pkg'", True), ("python server.py", False), ("./uvx-server", False),
        ("python -m npx_like", False), ("my.npx.py", False),
    ],
)  # fmt: skip
def test_a_command_that_may_install_is_known_by_its_words(command: str, may: bool) -> None:
    assert may_install(command.split()) is may


words = st.sampled_from(["-y", "--from", "-p", "pkg", "--", "-c", ":", "--x=1", "a b", "@s/p", "--what", "python", "."])


@given(st.sampled_from(sorted(RUNNERS)), st.lists(words, max_size=8))
def test_no_step_runs_the_server(begin: tuple[str, ...], rest: list[str]) -> None:
    step = install_step([*begin, *rest])
    if step is not None:
        nothing = RUNNERS[begin].nothing
        assert step.argv[: len(begin)] == begin
        assert step.argv[-len(nothing) :] == nothing
        assert "--" not in step.argv[len(begin) : -len(nothing)] or "--" in rest[1:]


# -- against stand-ins that take notes


class Fake:
    """npx and its siblings in a folder, and what they noted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "notes"
        self.bin = folder / "bin"
        self.folder.mkdir(exist_ok=True)
        self.bin.mkdir()
        for name in ("npx", "npm", "uvx", "uv", "pipx", "bunx", "bun", "pnpm", "pnpx", "yarn", "docker", "podman"):
            program = self.bin / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {SERVERS / "npx.py"} "$@"\n')
            program.chmod(0o755)

    def lines(self, kind: str) -> list[str]:
        path = self.folder / kind
        return path.read_text().splitlines() if path.exists() else []

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in self.lines("calls")]

    def set(self, *files: str) -> None:
        for file in files:
            (self.folder / file).touch()

    def define(self, *argv: str, **fields: Any) -> ServerDefinition:
        program = str(self.bin / argv[0])
        env = {"FAKE_FOLDER": str(self.folder), **fields.pop("env", {})}
        said = {"name": "one", "transport": "stdio", "connect_s": 15, "request_s": 20, **fields}
        return ServerDefinition(argv=(program, *argv[1:]), env=env, **said)


@pytest.fixture
def fake(server_folder: Path) -> Iterator[Fake]:
    installing._done.clear()
    yield Fake(server_folder.parent)
    installing._done.clear()


async def until(holds: Callable[[], Any], within_s: float = 60) -> None:
    with trio.fail_after(within_s):
        while not holds():
            await trio.sleep(0.01)


COMMANDS = [
    ("npx", "-y", "@scope/pkg", "."),
    ("npm", "exec", "--yes", "@scope/pkg"),
    ("uvx", "pkg", "--flag"),
    ("uv", "tool", "run", "pkg"),
    ("pipx", "run", "pkg"),
]


@pytest.mark.parametrize("argv", COMMANDS, ids=" ".join)
async def test_a_package_is_installed_before_its_server_is_started(
    fake: Fake, serve: Callable[..., Any], argv: tuple[str, ...]
) -> None:
    fake.set("hold")
    served = await serve(fake.define(*argv))
    await served.until(lambda: served.state() == "installing")
    await served.until(lambda: fake.lines("pids"))
    assert served.host.sources_starting
    (fake.folder / "hold").unlink()
    await served.ready()
    assert fake.lines("signals") == ["done"]
    step, started = fake.calls
    assert step[-1] in (":", "")
    assert started == list(argv[1:])
    assert (await served.call("add", a=1, b=2)).ok


TOGETHER = [
    ("bunx", "pkg"),
    ("bun", "x", "pkg"),
    ("pnpm", "dlx", "pkg"),
    ("pnpm", "--package=one", "dlx", "server"),
    ("pnpx", "pkg"),
    ("yarn", "dlx", "pkg"),
    ("uv", "run", "server.py"),
    ("uv", "--directory", ".", "run", "--with", "mcp", "server"),
    ("docker", "run", "-i", "--rm", "mcp/time"),
    ("podman", "--log-level", "error", "run", "-i", "mcp/time"),
    ("npx", "--what", "pkg"),
    ("npm", "exec", "pkg", "--package=other"),
]


@pytest.mark.parametrize("argv", TOGETHER, ids=" ".join)
async def test_a_launcher_without_a_step_has_the_time_of_an_install_for_its_start(
    fake: Fake, serve: Callable[..., Any], argv: tuple[str, ...]
) -> None:
    fake.set("hold", "together")
    served = await serve(fake.define(*argv, connect_s=0.2, install_s=60))
    await served.until(lambda: fake.lines("pids"))
    assert served.state() == "installing"
    held_until = trio.current_time() + 0.5
    await served.until(lambda: trio.current_time() > held_until)
    assert served.state() == "installing"
    result = await served.call("add", timeout_s=0.5, a=1, b=2)
    assert "is being installed" in result.error.message
    (fake.folder / "hold").unlink()
    await served.ready()
    assert fake.lines("signals") == ["done"]
    assert len(fake.calls) == 1
    assert (await served.call("add", a=1, b=2)).ok


@pytest.mark.parametrize("argv", TOGETHER, ids=" ".join)
async def test_a_launcher_that_is_ended_while_it_installs_may_take_back_what_it_did(
    fake: Fake, argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_process, "GRACE_S", 0.05)
    fake.set("hold", "together")
    with trio.fail_after(20):
        async with open_link(fake.define(*argv), lambda: None):
            await until(lambda: fake.lines("pids"))
    assert fake.lines("signals") == ["TERM", "taken back"]


async def test_a_launcher_that_says_nothing_is_ended_after_the_time_of_both(
    fake: Fake, serve: Callable[..., Any]
) -> None:
    fake.set("hold", "together")
    served = await serve(fake.define("docker", "run", "image", connect_s=1, install_s=1))
    await served.until(lambda: served.state() == "backing_off")
    assert "no answer within 2 s" in served.reason()
    assert "`install_timeout`" in served.reason()
    await served.until(lambda: fake.lines("signals") == ["TERM", "taken back"])


async def test_a_launcher_that_is_started_again_is_starting(fake: Fake, serve: Callable[..., Any]) -> None:
    fake.set("together")
    served = await serve(fake.define("bunx", "pkg"))
    await served.ready()
    (fake.folder / "hold").touch()
    await served.call("die")
    await served.until(lambda: len(fake.calls) == 2)
    await served.until(lambda: served.state() == "starting")


@pytest.mark.parametrize(
    ("command", "does"),
    [
        *[(" ".join(argv), True) for argv in (*COMMANDS, *TOGETHER)],
        ("/opt/bun/bin/bunx pkg", True),
        ("docker.exe run image", True),
        ("sh -c 'cd x && exec uv run x'", True),
        ("env A=1 pnpm dlx x", True),
        ("cmd /c npx -y x", True),
        ("", False),
        ("sh -c './run'", False),
        ("python server.py docker run", False),
        ("node bunx", False),
        ("npm start", False),
        ("yarn start", False),
        ("docker exec -i box server", False),
        ("docker start -i box", False),
        ("uv tool list", False),
        ("./uvx-server", False),
    ],
)
def test_a_launcher_is_known_by_its_program(command: str, does: bool) -> None:
    assert fetches(shlex.split(command)) is does
    assert may_install(shlex.split(command)) or not does


async def test_an_install_may_take_longer_than_a_start(fake: Fake, serve: Callable[..., Any]) -> None:
    fake.set("hold")
    served = await serve(fake.define("npx", "-y", "@s/pkg", connect_s=0.1))
    await served.until(lambda: fake.lines("pids"))
    held_until = trio.current_time() + 0.5
    await served.until(lambda: trio.current_time() > held_until)
    assert served.state() == "installing"


async def test_an_install_that_takes_too_long_is_asked_to_end_and_may_take_back_what_it_did(
    fake: Fake, serve: Callable[..., Any]
) -> None:
    fake.set("hold")
    served = await serve(fake.define("npx", "-y", "@s/pkg", install_s=3))
    await served.until(lambda: served.state() == "backing_off")
    assert fake.lines("signals") == ["TERM", "taken back"]
    assert "its package was not installed within 3 s (time-out)" in served.reason()
    assert "`install_timeout`" in served.reason()


async def test_a_host_that_closes_asks_an_install_to_end_and_waits_for_it(fake: Fake) -> None:
    fake.set("hold")
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            definition = fake.define("uvx", "pkg")
            nursery.start_soon(installing.install, definition, lambda begins: None)
            await until(lambda: fake.lines("pids"))
            scope.cancel()
    assert fake.lines("signals") == ["TERM", "taken back"]


async def test_an_install_that_takes_no_notice_is_killed_in_the_end(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert installing.INSTALL_GRACE_S == 10
    monkeypatch.setattr(installing, "INSTALL_GRACE_S", 0.5)
    fake.set("hold", "deaf")
    with pytest.raises(LinkError, match="not installed within"):
        await installing.install(fake.define("npx", "@s/pkg", install_s=3), lambda begins: None)
    assert fake.lines("signals") == ["TERM"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(fake.lines("pids")[0]), 0)


async def test_an_install_that_fails_lets_the_server_say_why(fake: Fake, serve: Callable[..., Any]) -> None:
    fake.set("broken")
    served = await serve(fake.define("npx", "-y", "@s/pkg"))
    await served.until(lambda: served.state() == "backing_off")
    assert "exited with status 9" in served.reason()
    assert "its last words: error 404: there is no such package" in served.reason()


async def test_a_server_that_is_started_again_is_not_installed_again(fake: Fake, serve: Callable[..., Any]) -> None:
    served = await serve(fake.define("npx", "-y", "@s/pkg"))
    await served.ready()
    await served.call("die")
    await served.until(lambda: len(served.lines("starts")) == 2)
    assert [call[-1] for call in fake.calls].count(":") == 1


async def test_nothing_is_installed_in_a_home_in_which_a_confined_server_has_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Source: ours. A server without a network leaves what it read in its home, and a configuration of npm beside it.
    The install, which reaches every public host, would send it. What must be seen: there is no such install."""
    from pegboard_mcp.client.transports import _box

    runs: list[tuple[str, ...]] = []

    async def run(definition: ServerDefinition, argv: tuple[str, ...]) -> str | None:
        runs.append(argv)
        return None

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(installing, "_run", run)
    definition = ServerDefinition(name="one", transport="stdio", argv=("npx", "-y", "pkg"), confine=True)
    for begun, expected in ((False, 1), (False, 2), (True, 2)):
        monkeypatch.setattr(installing, "_done", {})
        if begun:
            home = _box.home_of(definition)
            home.mkdir(parents=True)
            (home.parent / _box.BEGUN).touch()
        await installing.install(definition, lambda begins: None)
        assert len(runs) == expected


async def test_two_confined_servers_of_one_command_are_installed_each_in_its_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What one has installed the other does not see: it would be started without a package, and without a network."""
    runs: list[str] = []

    async def run(definition: ServerDefinition, argv: tuple[str, ...]) -> str | None:
        runs.append(definition.name)
        return None

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(installing, "_run", run)
    monkeypatch.setattr(installing, "_done", {})
    for name in ("one", "two", "one"):
        definition = ServerDefinition(name=name, transport="stdio", argv=("npx", "-y", "pkg"), confine=True)
        await installing.install(definition, lambda begins: None)
    assert runs == ["one", "two"]


async def test_a_confined_server_whose_package_could_not_be_installed_is_not_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def run(definition: ServerDefinition, argv: tuple[str, ...]) -> str | None:
        return "ENOTFOUND registry"

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(installing, "_run", run)
    definition = ServerDefinition(name="two", transport="stdio", argv=("npx", "-y", "pkg"), confine=True)
    with pytest.raises(LinkError) as caught:
        await installing.install(definition, lambda begins: None)
    assert "could not be installed; its last words: ENOTFOUND registry" in caught.value.why


@pytest.mark.parametrize("ending", ["fails", "is cancelled", "goes on elsewhere"])
async def test_an_install_that_did_not_end_well_begins_anew_in_an_empty_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str
) -> None:
    """Whatever ends npx in its middle leaves half a package, which the next npx takes for a whole one."""
    from pegboard_mcp.client.transports import _box

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    definition = ServerDefinition(name="half", transport="stdio", argv=("npx", "-y", "pkg"), confine=True)
    package = _box.home_of(definition) / ".npm" / "package"
    found: list[bool] = []
    is_ending = True

    async def run(definition: ServerDefinition, argv: tuple[str, ...]) -> str | None:
        found.append(package.exists())
        package.mkdir(parents=True, exist_ok=True)
        if is_ending and ending == "is cancelled":
            await trio.sleep_forever()
        if is_ending and ending == "goes on elsewhere":
            await another.wait()
        return "ENOTFOUND registry" if is_ending and ending == "fails" else None

    async def install() -> None:
        installing._done.clear()
        await installing.install(definition, lambda begins: None)

    another = trio.Event()
    monkeypatch.setattr(installing, "_run", run)
    async with trio.open_nursery() as nursery:
        if ending == "fails":
            with pytest.raises(LinkError):
                await install()
        else:
            nursery.start_soon(install)
            await until(lambda: found)
        if ending == "is cancelled":
            nursery.cancel_scope.cancel()
        if ending == "goes on elsewhere":
            is_ending = False
            await install()  # beside it, and takes nothing away from it
            assert found == [False, True]
            another.set()
    is_ending = False
    await install()
    assert found[-1] is (ending == "goes on elsewhere")
    await install()
    assert found[-1]


@pytest.mark.parametrize(
    ("said", "words", "fix"),
    [
        (
            "npm error code E404\nnpm error 404 Not Found - GET https://r.example/pkg\nnpm error 404\nnpm notice\n"
            "npm notice New minor version of npm available! 1 -> 2\n"
            "npm error A complete log of this run can be found in: x",
            "npm error code E404 npm error 404 Not Found - GET https://r.example/pkg",
            installing.NO_PACKAGE,
        ),
        ("npm error code ENOTFOUND\nnpm notice x", "npm error code ENOTFOUND", installing.NO_REGISTRY),
        (
            "  cause: Because pkg was not found in the package registry and you require pkg, we can conclude",
            "cause: Because pkg was not found in the package registry",
            installing.NO_PACKAGE,
        ),
    ],
)
async def test_an_install_that_fails_says_what_is_wrong_and_what_to_do(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, words: str, fix: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    start = installing.start

    async def outside(definition: ServerDefinition, argv: Any, **how: Any) -> Any:
        return await start(attrs.evolve(definition, confine=False), argv, **how)

    monkeypatch.setattr(installing, "start", outside)
    (fake.bin / "npx").write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{said}\nEND\nexit 1\n")
    with pytest.raises(LinkError) as caught:
        await installing.install(fake.define("npx", "-y", "pkg", confine=True), lambda begins: None)
    assert f"its last words: {words}" in caught.value.why
    assert "notice" not in caught.value.why
    assert "complete log" not in caught.value.why
    assert caught.value.fix == fix


async def test_a_command_that_npx_finds_in_the_folder_needs_no_install(fake: Fake, tmp_path: Path) -> None:
    work = tmp_path / "project" / "deep"
    work.mkdir(parents=True)
    own = tmp_path / "project" / "node_modules" / ".bin" / "pkg"
    for expected in (1, 1):
        await installing.install(fake.define("npx", "pkg", cwd=str(work)), lambda begins: None)
        assert len(fake.calls) == expected
        own.parent.mkdir(parents=True, exist_ok=True)
        own.touch()
        installing._done.clear()


async def test_a_call_that_waits_for_an_install_says_so(fake: Fake, serve: Callable[..., Any]) -> None:
    served = await serve(fake.define("npx", "-y", "@s/pkg"))
    await served.ready()
    installing._done.clear()
    fake.set("hold")
    await served.call("die")
    await served.until(lambda: served.state() == "installing")
    result = await served.call("add", timeout_s=1, a=1, b=2)
    assert result.error.code is ErrorCode.TIMEOUT
    assert "is still being installed; call again" in result.error.message


async def test_a_server_that_may_be_installing_itself_has_the_time_to_end(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_process, "GRACE_S", 0.05)
    fake.set("hold")
    with trio.fail_after(20):
        async with open_link(fake.define("bunx", "pkg", "-c", ":"), lambda: None):
            await until(lambda: fake.lines("pids"))
    assert fake.lines("signals") == ["TERM", "taken back"]


HOLD = """
import sys, trio
from pegboard_mcp.client.transports.install import install
from pegboard_mcp.definitions import ServerDefinition

argv, env = (sys.argv[1], "@s/pkg"), {"FAKE_FOLDER": sys.argv[2]}
definition = ServerDefinition(name="one", transport="stdio", argv=argv, env=env)
trio.run(install, definition, lambda begins: None)
"""


def test_a_host_that_is_killed_has_its_install_asked_to_end(fake: Fake) -> None:
    fake.set("hold")
    with subprocess.Popen([sys.executable, "-c", HOLD, str(fake.bin / "npx"), str(fake.folder)]) as host:
        deadline = time.monotonic() + 60
        while not fake.lines("pids") and time.monotonic() < deadline:
            time.sleep(0.01)
        host.kill()
    while len(fake.lines("signals")) < 2 and time.monotonic() < deadline + 60:
        time.sleep(0.02)
    assert fake.lines("signals") == ["TERM", "taken back"]


def test_the_table_of_runners_reads_its_own_options() -> None:
    for runner in RUNNERS.values():
        assert not runner.valued & runner.flags
        assert set(runner.package) <= runner.valued


# -- against the real ones


@pytest.mark.parametrize(
    ("argv", "env", "offline"),
    [
        (("npx", "-y", "semver@7.6.3"), "npm_config_cache", ("npx", "--offline", "-y", "semver@7.6.3", "1.2.3")),
        (("uvx", "pycowsay@0.0.0.2"), "UV_CACHE_DIR", ("uvx", "--offline", "pycowsay@0.0.0.2", "1.2.3")),
    ],
    ids=["npx", "uvx"],
)
async def test_what_the_step_installed_is_what_the_server_is_started_from(
    tmp_path: Path, argv: tuple[str, ...], env: str, offline: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    installing._done.clear()
    said = {env: str(tmp_path / "cache")}
    definition = ServerDefinition(name="one", transport="stdio", argv=argv, env=said, cwd=str(tmp_path), install_s=60)
    heard: list[bool] = []
    try:
        await installing.install(definition, heard.append)
    except LinkError as problem:
        pytest.skip(f"nothing can be installed here: {problem.why}")
    assert heard == [True, False]
    if not installing._done:
        pytest.skip(f"nothing can be installed here: {caplog.text}")
    ran = await trio.run_process(
        offline, env={**os.environ, **said}, cwd=tmp_path, capture_stdout=True, capture_stderr=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert b"1.2.3" in ran.stdout


async def test_real_uv_runs_a_server(serve: Callable[..., Any], server_folder: Path, tmp_path: Path) -> None:
    if shutil.which("uv") is None:
        pytest.skip("uv is not installed")
    installing._done.clear()
    run = ("uv", "run", "--no-project", "--no-config", "--offline", "--python", sys.executable)
    argv = (*run, "python", "-S", str(SERVERS / "scripted.py"), str(server_folder))
    definition = ServerDefinition(name="one", transport="stdio", argv=argv, cwd=str(tmp_path), connect_s=30)
    served = await serve(definition)
    await served.until(lambda: served.state() in ("installing", "ready"))
    await served.ready()
    assert definition.identity in installing._done
    assert (await served.call("add", a=1, b=2)).ok
