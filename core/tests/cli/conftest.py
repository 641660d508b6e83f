"""What tests of the program share: a place of its own for each test, plugins that are installed there, two ways to run.

`run` is the program in this process; `start` a real child, for signals, pipes and terminals.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from click.testing import CliRunner, Result

TOOLS = '''
import trio
from pegboard import CallContext, ImageContent, TextContent, ToolError, ToolResult, hookimpl, tool

@hookimpl
def provide_tools():
    @tool(run="inplace", read_only=True, category="math", tags=["sum"], examples=[{"a": 1, "b": 2}])
    def add(a: float, b: float = 10) -> float:
        """Add two numbers. They may be fractions."""
        return a + b

    @tool(read_only=True)
    async def add_async(a: float, b: float) -> float:
        """Add two numbers elsewhere."""
        return a + b

    @tool(read_only=True)
    async def who(context: CallContext) -> str:
        """Say who calls."""
        return f"{context.session.user_id} on {context.session.channel}"

    @tool
    async def echo(value: str, times: int = 1, loud: bool = False) -> str:
        """Say it again."""
        return value * times + ("!" if loud else "")

    @tool(parallel=True)
    async def fail() -> str:
        """Raise what nobody expects."""
        raise RuntimeError("the disk at /secret/place is gone")

    @tool(parallel=True)
    async def wait() -> str:
        """Never end."""
        await trio.sleep_forever()

    @tool(parallel=True)
    async def stubborn() -> str:
        """Never end, whatever happens."""
        with trio.CancelScope(shield=True):
            await trio.sleep_forever()

    @tool(requires_confirmation="Really wipe it?", destructive=True)
    async def wipe(disk: str) -> str:
        """Wipe a disk."""
        return f"wiped {disk}"

    @tool(read_only=True)
    async def picture(context: CallContext) -> ToolResult:
        """Show a picture."""
        await context.progress(1, 2, "half")
        return ToolResult(content=(TextContent("a dot"), ImageContent(b"1234", "image/png")))

    @tool(read_only=True, output_schema={"type": "object"})
    async def silent() -> ToolResult:
        """Answer with data alone."""
        return ToolResult(data={"a": [1]})

    @tool(cooldown_s=60, timeout_s=5, rate_limit="10/minute", secrets=["TEST_KEY"], risk="high", version="2")
    async def rare() -> str:
        """Once a minute."""
        return "now"

    @tool(read_only=True)
    async def escape() -> str:
        """Play with the terminal."""
        return "red \\x1b[31m and \\u202eback"

    @tool(read_only=True)
    async def fetch() -> str:
        """Look for what is not there."""
        raise ToolError("NOT_FOUND", "there is no such letter")

    return [fetch, add, add_async, who, echo, fail, wait, stubborn, wipe, picture, silent, rare, escape]
'''


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file and no variable of whoever runs the tests reaches the program."""
    for name in [name for name in os.environ if name.startswith(("PEGBOARD_", "_PEGBOARD", "READ_ONLY"))]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


@attrs.define
class Site:
    """A folder on the path, with distributions in it."""

    folder: Path

    def install(self, name: str, source: str, *, version: str = "1.0") -> None:
        """Install the plugin `name` of the distribution `pegboard-test-NAME`."""
        module = f"pegboard_test_{name}"
        (self.folder / f"{module}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        info = self.folder / f"{module}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pegboard-test-{name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[pegboard]\n{name} = {module}\n")
        importlib.invalidate_caches()
        sys.modules.pop(module, None)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """An empty folder on the path."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    yield Site(folder)
    for name in [name for name in sys.modules if name.startswith("pegboard_test_")]:
        del sys.modules[name]


@pytest.fixture
def tools(site: Site) -> Site:
    """The plugin `kit`, with a tool for every case."""
    site.install("kit", TOOLS)
    return site


@pytest.fixture
def find_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], bool]], None]:
    """Find the plugins of just these distributions, as on a machine where no others are installed."""
    from pegboard import _installed
    from pegboard.registry import plugins

    every = _installed.installed_plugins

    def find_only(is_there: Callable[[str], bool]) -> None:
        for module in (_installed, plugins):
            found = lambda: [one for one in every() if is_there(one.distribution or "")]  # noqa: E731
            monkeypatch.setattr(module, "installed_plugins", found)

    return find_only


@pytest.fixture
def without_mcp(find_only: Callable[[Callable[[str], bool]], None]) -> None:
    """As on a machine where pegboard-mcp is not installed."""
    find_only(lambda distribution: distribution != "pegboard-mcp")


@attrs.define
class Answer:
    """What a run of the program left."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as JSON."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """stdout as JSON Lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Answer]


@pytest.fixture
def run() -> Run:
    """Run the program in this process; only the plugin `kit` is wanted unless `plugins` names others or is None."""
    from pegboard.cli._program import Program

    def run(*args: str, input: str | bytes | None = None, plugins: tuple[str, ...] | None = ("kit",)) -> Answer:
        wanted = [word for name in plugins or () for word in ("--plugin", name)]
        result: Result = CliRunner().invoke(Program(), [*wanted, *args], input=input)  # type: ignore[arg-type]
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the program as a child, with pipes at all ends; it is ended with the test."""
    children: list[subprocess.Popen[bytes]] = []

    def start(*args: str, **options: Any) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), **options.pop("env", {})}
        command = [sys.executable, "-m", "pegboard", *args]
        child = subprocess.Popen(command, env=environment, **{**pipes, **options})
        children.append(child)
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream is not None:
                stream.close()
