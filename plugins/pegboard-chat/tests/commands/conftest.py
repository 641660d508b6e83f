"""What the tests of the commands share: a place of its own, a plugin with tools and models that do as they say."""

from __future__ import annotations

import importlib
import json
import os
import re
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from click.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KIT = '''
import contextlib
import trio
from pegboard import ErrorCode, TextContent, ToolCall, ToolResult, hookimpl, tool
from pegboard_chat.contract import ModelError, Reply, Stop, TextDelta, ThinkingDelta
from pegboard_chat.conversation import Message, Usage
from pegboard_chat.echo import EchoDialect, EchoModel


def reply(text="", calls=(), stop=Stop.END, model="kit"):
    content = (TextContent(text),) if text else ()
    return Reply(Message("assistant", content, calls, model=model), calls, Usage(10, 5, 3), stop)


class KitModel:
    """A model that does what its name says."""

    def __init__(self, name):
        self.name, self.how = f"kit:{name}", name
        self.dialect = EchoDialect()

    def respond(self, request):
        return contextlib.aclosing(getattr(self, self.how)(request))

    async def slow(self, request):
        if any("again" in one.text for one in request.conversation.messages[-1:]):
            yield TextDelta("there you are")
            yield reply("there you are")
            return
        yield TextDelta("let me think ")
        await trio.sleep_forever()

    async def rude(self, request):
        for piece in ("red \\x1b", "[31m\\r", "\\n and \\ud83d", "\\ude00 back\\u202e"):
            yield TextDelta(piece)
        yield reply("red")

    async def thinking(self, request):
        yield ThinkingDelta("hmm \\x1b[2J")
        yield TextDelta("so ")
        yield ThinkingDelta("more")
        yield TextDelta("it is")
        yield reply("so it is")

    async def broken(self, request):
        yield TextDelta("half an ")
        raise ModelError(ErrorCode.UPSTREAM_ERROR, "kit: the answer broke off; ask again", reason="half_answer")

    async def cut(self, request):
        yield TextDelta("only so m")
        yield reply("only so m", stop=Stop.LENGTH)

    async def refusing(self, request):
        yield reply(stop=Stop.REFUSED)

    async def wiping(self, request):
        if request.conversation.messages[-1].role == "tool":
            text = " and ".join(one.text for one in request.conversation.messages[-1].results)
            yield TextDelta(text)
            yield reply(text)
        else:
            disks = request.conversation.messages[-1].text.split()
            calls = tuple(ToolCall(disk, "wipe", {"disk": disk}) for disk in disks)
            yield reply(calls=calls, stop=Stop.CALLS)

    async def system(self, request):
        yield TextDelta(str(request.conversation.system))
        yield reply(str(request.conversation.system))

    async def asked(self, request):
        text = f"{request.max_tokens} tokens at {request.temperature}"
        yield reply(text)

    async def blocks(self, request):
        text = ", ".join(type(one).__name__ for one in request.conversation.messages[-1].content)
        yield TextDelta(text)
        yield reply(text)

    async def silent(self, request):
        for piece in ():
            yield piece

    async def wrong(self, request):
        """Calls what nobody expects."""
        calls = (ToolCall("", "add", {"a": "x"}), ToolCall("", "nope", {}))
        yield reply(calls=calls, stop=Stop.CALLS)

    async def sometimes(self, request):
        """Fails every other time."""
        KitModel.count = getattr(KitModel, "count", 0) + 1
        if KitModel.count % 2:
            raise ModelError(ErrorCode.RATE_LIMITED, "kit: too many", reason="limit")
        yield reply("yes")

    async def locked(self, request):
        raise ModelError(ErrorCode.UNAUTHORIZED, "kit: the key is wrong; set KIT_KEY", reason="wrong_key")
        yield


class Provider:
    name = "kit"
    default_model = "slow"

    def missing(self):
        return None

    @contextlib.asynccontextmanager
    async def open(self, model):
        if model == "keyless":
            raise ModelError(ErrorCode.UNAUTHORIZED, "kit needs a key: set KIT_KEY", reason="no_key")
        if model == "plain":
            raise ModelError(ErrorCode.FORBIDDEN, "kit: the key would go unencrypted", reason="refused")
        if model == "down":
            raise ModelError(ErrorCode.UPSTREAM_ERROR, "kit: nobody answers", reason="no_network")
        yield KitModel(model or "slow")

    async def list_models(self):
        return ["slow"]


@hookimpl(optionalhook=True)
def provide_models():
    return [Provider()]


@hookimpl
def provide_tools():
    @tool(run="inplace", read_only=True, category="math")
    def add(a: float, b: float = 10) -> float:
        """Add two numbers."""
        return a + b

    @tool(requires_confirmation="Really wipe it?", parallel=True)
    async def wipe(disk: str) -> str:
        """Wipe a disk."""
        return f"wiped {disk}"

    @tool(read_only=True)
    async def escape() -> str:
        """Play with the terminal."""
        return "red \\x1b[31m and \\u202eback"

    @tool(read_only=True)
    async def who(context: CallContext) -> str:
        """Say who calls."""
        await context.progress(1, 2, "half")
        return f"{context.session.user_id} on {context.session.channel}"

    @tool(read_only=True)
    def noisy() -> str:
        """Print."""
        print("NOISE")
        return "done"

    @tool(read_only=True)
    async def silent() -> ToolResult:
        """Answer with data alone."""
        return ToolResult(data={"a": [1]})

    return [add, wipe, escape, who, noisy, silent]
'''


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


@pytest.fixture
def chat_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, with the plugin `kit` installed, where nothing of whoever runs the tests is seen."""
    for name in [name for name in os.environ if name.startswith(("PEGBOARD_", "READ_ONLY", "OPENAI_", "ANTHROPIC_"))]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "APPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    site = tmp_path / "site"
    info = site / "pegboard_test_kit-1.0.dist-info"
    info.mkdir(parents=True)
    source = KIT.replace("from pegboard import", "from pegboard import CallContext,", 1)
    (site / "pegboard_test_kit.py").write_text(source, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pegboard-test-kit\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pegboard]\nkit = pegboard_test_kit\n")
    monkeypatch.syspath_prepend(str(site))
    importlib.invalidate_caches()
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    yield work
    sys.modules.pop("pegboard_test_kit", None)


ONLY = ("--plugin", "kit", "--plugin", "chat")


@pytest.fixture
def chat_run(chat_place: Path) -> Callable[..., Answer]:
    """Run the program in this process, with `kit` and `chat` alone."""
    from pegboard.cli._program import Program

    def run(*args: str, input: str | bytes | None = None) -> Answer:
        result = CliRunner().invoke(Program(), [*ONLY, *args], input=input)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def chat_start(chat_place: Path, tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the program as a child, with pipes at all ends; it is ended with the test."""
    children: list[subprocess.Popen[bytes]] = []

    def start(*args: str, **options: Any) -> subprocess.Popen[bytes]:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), **options.pop("env", {})}
        command = [sys.executable, "-m", "pegboard", *ONLY, *args]
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


CONTROL = r"(?:\x1b\[[0-?]*[ -/]*[@-~])*"
"""What moves the cursor and colours (ECMA-48, 5.4)."""
PROMPT = "\x1b[?2004h"
"""What the line editor writes once for each prompt: pasted text is marked from here on."""


@attrs.define
class Terminal:
    """A program on a terminal of its own: what it shows, and what is typed."""

    child: subprocess.Popen[bytes]
    ours: int
    seen: str = ""
    mark: int = 0

    def until(self, text: str, within_s: float = 120) -> str:
        """Wait until the text is shown, and return what was shown up to there since the last time."""
        end = time.monotonic() + within_s
        wanted = re.compile(CONTROL.join(map(re.escape, text)))  # what is typed may be drawn in several strokes
        while not (found := wanted.search(self.seen, self.mark)):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.ours], [], [], left)[0]:
                raise AssertionError(f"{text!r} was not shown: {self.seen!r}")
            if not self._read():
                raise AssertionError(f"{text!r} was not shown, and the program ended: {self.seen!r}")
        part, self.mark = self.seen[self.mark : found.end()], found.end()
        return part

    def _read(self) -> bool:
        try:
            data = os.read(self.ours, 65536)
        except OSError:  # the other end is closed
            data = b""
        self.seen += data.decode("utf-8", "replace")
        return bool(data)

    def type(self, text: str) -> None:
        """Type."""
        os.write(self.ours, text.encode())

    def end(self) -> int:
        """Wait for the program to end; its status."""
        while self._read():
            pass
        return self.child.wait(20)


@pytest.fixture
def chat_terminal(chat_start: Callable[..., subprocess.Popen[bytes]]) -> Iterator[Callable[..., Terminal]]:
    """Start the program on a terminal."""
    if sys.platform == "win32":
        pytest.skip("terminals of POSIX")
    import fcntl
    import pty
    import termios

    terminals: list[Terminal] = []

    def take() -> None:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def start(*args: str, **options: Any) -> Terminal:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, b"\x18\x00\x78\x00\x00\x00\x00\x00")
        ends = {"stdin": theirs, "stdout": theirs, "stderr": theirs, **options}
        child = chat_start(*args, **ends, env={"TERM": "xterm"}, start_new_session=True, preexec_fn=take)
        os.close(theirs)
        terminals.append(Terminal(child, ours))
        return terminals[-1]

    yield start
    for terminal in terminals:
        os.close(terminal.ours)
