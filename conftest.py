"""What the test suites of several packages share: the official JSON Schema suite, a sampler of schemas and values, and
how a peer is started."""

from __future__ import annotations

import contextlib
import gc
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hypothesis.strategies import SearchStrategy

# A run of the tests says the same of the same code on every machine: examples are drawn from a fixed seed, and a busy
# machine is not a fault. `--thorough` looks for examples that nobody has seen.
settings.register_profile(
    "default", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)  # of what says no number itself; `--thorough` draws many times as many
settings.register_profile("thorough", settings.get_profile("default"), derandomize=False, print_blob=True)
settings.load_profile("default")
THOROUGH = 10
"""How many times the examples of a property are drawn under `--thorough`."""

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--json-schema-suite",
        metavar="FOLDER",
        default=None,
        help="the official JSON-Schema-Test-Suite; by default shared/json-schema-test-suite beside the checkout",
    )
    parser.addoption(
        "--thorough",
        action="store_true",
        help=f"only tests that draw or repeat: {THOROUGH} times the examples, drawn anew each time, and all rounds",
    )
    parser.addoption(
        "--cassettes",
        metavar="FOLDER",
        default=None,
        help="recorded traffic of model providers, any VCR files; by default shared/cassettes beside the checkout",
    )


class SuiteCase(NamedTuple):
    """One test of the official suite: a schema that says its dialect, a value, and whether the value is right."""

    name: str
    schema: Any
    value: Any
    valid: bool


@pytest.fixture(scope="session")
def json_schema_suite(pytestconfig: pytest.Config) -> dict[str, list[SuiteCase]]:
    """The required tests of the official suite, by folder: "draft7" and "draft2020-12"."""
    named = pytestconfig.getoption("--json-schema-suite")
    folder = Path(named) if named else pytestconfig.rootpath.parent / "shared" / "json-schema-test-suite"
    if not (folder / "tests" / "draft2020-12").is_dir():
        if named:
            pytest.fail(f"--json-schema-suite: there is no tests/draft2020-12 in {named}")
        pytest.skip("the official JSON Schema suite is not here; name its folder with --json-schema-suite")
    return {draft: list(_cases(folder / "tests" / draft)) for draft in ("draft7", "draft2020-12")}


def _cases(folder: Path) -> Any:
    for file in sorted(folder.glob("*.json")):
        for group in json.loads(file.read_text(encoding="utf-8")):
            schema = group["schema"]
            if folder.name == "draft7" and isinstance(schema, dict):
                schema = {"$schema": DRAFT_7, **schema}
            for test in group["tests"]:
                name = f"{file.stem}: {group['description']}: {test['description']}"
                yield SuiteCase(name, schema, test["data"], test["valid"])


class SchemaSampler:
    """Strategies of schemas of both dialects, and of values that come near what they allow."""

    def __init__(self) -> None:
        from hypothesis import strategies

        self.st = strategies
        self.names = self.st.sampled_from(["a", "b", "A", "a-b", "x1", "", "$ref", "name", "é{}\"'\\", "if"])
        self.numbers = self.st.sampled_from([0, 1, 1.0, -1, 2, 3, 0.5, 2.5, 7, 2**53, 2**53 + 1, 1e30, -0.0])
        self.texts = self.st.sampled_from(["", "a", "b", "ab", "aab", "a\n", "a1", "é", "1", "true", "a-b", "٣"])
        self.scalars = self.st.one_of(self.st.none(), self.st.booleans(), self.numbers, self.texts)
        self.values = self.st.recursive(
            self.scalars,
            lambda inner: self.st.lists(inner, max_size=3) | self.st.dictionaries(self.names, inner, max_size=3),
            max_leaves=6,
        )
        self.types = self.st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
        self.patterns = self.st.sampled_from(
            ["a", "^a", "b$", "^a+$", r"\d", r"^[^\W_]$", "a|b", "(ab)*b", r"\$", "^.$", "", r"[$\]]"]
        )
        self.counts = self.st.sampled_from([0, 1, 2, 2.0])

    def keywords(self, inner: SearchStrategy[Any], *, new: bool) -> dict[str, SearchStrategy[Any]]:
        """What a schema may say, with schemas inside of it; `new`: in 2020-12, else in draft 7."""
        many = self.st.lists(inner, min_size=1, max_size=3)
        by_name = self.st.dictionaries(self.names, inner, max_size=3)
        required = self.st.lists(self.names, max_size=2, unique=True)
        both: dict[str, SearchStrategy[Any]] = {
            "type": self.types | self.st.lists(self.types, min_size=1, max_size=3, unique=True),
            "enum": self.st.lists(self.values, max_size=3),
            "const": self.values,
            "minimum": self.numbers,
            "maximum": self.numbers,
            "exclusiveMinimum": self.numbers,
            "exclusiveMaximum": self.numbers,
            "multipleOf": self.st.sampled_from([1, 2, 0.5, 0.1, 3]),
            "minLength": self.counts,
            "maxLength": self.counts,
            "pattern": self.patterns,
            "items": inner if new else inner | self.st.lists(inner, max_size=2),
            "contains": inner,
            "minItems": self.counts,
            "maxItems": self.counts,
            "uniqueItems": self.st.booleans(),
            "properties": by_name,
            "patternProperties": self.st.dictionaries(self.patterns, inner, max_size=2),
            "additionalProperties": inner,
            "propertyNames": inner,
            "required": required,
            "minProperties": self.counts,
            "maxProperties": self.counts,
            "allOf": many,
            "anyOf": many,
            "oneOf": many,
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "$ref": self.st.sampled_from(["#/definitions/A", "#/definitions/a", "#/definitions/A/items"]),
        }
        if not new:
            return both | {
                "additionalItems": inner,
                "dependencies": self.st.dictionaries(self.names, inner | required, max_size=2),
            }
        return both | {
            "prefixItems": many,
            "dependentRequired": self.st.dictionaries(self.names, required, max_size=2),
            "dependentSchemas": by_name,
            "unevaluatedProperties": inner,
            "unevaluatedItems": inner,
            "minContains": self.counts,
            "maxContains": self.counts,
        }

    def objects(self, inner: SearchStrategy[Any], *, new: bool) -> SearchStrategy[Any]:
        """A schema of some keywords."""
        st, keywords = self.st, self.keywords(inner, new=new)
        chosen = st.lists(st.sampled_from(sorted(keywords)), max_size=4, unique=True)
        return chosen.flatmap(lambda keys: st.fixed_dictionaries({key: keywords[key] for key in keys}))

    def documents(self, *, new: bool) -> SearchStrategy[Any]:
        """A whole document, with definitions that references name."""
        st = self.st
        schemas: SearchStrategy[Any] = st.recursive(
            st.booleans() | st.just({}), lambda inner: self.objects(inner, new=new), max_leaves=8
        )
        definitions = st.fixed_dictionaries({"A": self.objects(schemas, new=new), "a": schemas})
        return st.builds(
            lambda schema, found: {**schema, "$schema": DRAFT_2020 if new else DRAFT_7, "definitions": found},
            self.objects(schemas, new=new),
            definitions,
        )


@pytest.fixture(scope="session")
def schemas_with_values() -> SearchStrategy[tuple[Any, list[Any]]]:
    """A bounded sampler: a schema of either dialect, and some values that come near it."""
    one = SchemaSampler()
    documents = one.documents(new=True) | one.documents(new=False)
    return one.st.tuples(documents, one.st.lists(one.values, min_size=1, max_size=6))


KEEPER = Path(__file__).parent / "tests" / "kit" / "keeper.py"
START_S = 60
"""How long a server may take until it is well, on a busy machine."""
STOP_S = 10


class PeerPrograms:
    """Programs that nobody here wrote: installers, servers and what sets them up.

    One that this machine cannot start (it is not here, a shared library is missing, its interpreter is too old) is a
    skip with its reason, never an error. One that has started and then misbehaves is a failure of whoever uses it.
    """

    @staticmethod
    def cannot_start(what: str, why: object) -> NoReturn:
        """Skip what needs a peer, with the last line of why it cannot be had."""
        lines = [line.strip() for line in str(why).splitlines() if line.strip()]
        pytest.skip(f"{what} cannot be started here: {lines[-1][:300] if lines else 'it ends without a word'}")

    @classmethod
    def run(cls, command: list[str], *, timeout_s: float = 180, **options: Any) -> str:
        """Run to its end what a peer needs before it is there; what it printed on stdout."""
        name = Path(command[0]).name
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout_s,
                check=False,
                **options,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            cls.cannot_start(name, problem)
        if done.returncode:
            cls.cannot_start(name, done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}")
        return done.stdout

    @classmethod
    @contextlib.contextmanager
    def serving(
        cls,
        name: str,
        command: list[str],
        is_well: Callable[[], bool],
        *,
        start_s: float = START_S,
        is_ours: bool = False,
        **options: Any,
    ) -> Iterator[None]:
        """A server, from when it is well until the block ends. It does not outlive the tests, however they end. One of
        ours that does not come up is a failure."""
        with tempfile.TemporaryFile() as log:
            keeper = subprocess.Popen(
                [sys.executable, str(KEEPER), *command], stdin=subprocess.PIPE, stdout=log, stderr=log, **options
            )
            try:
                deadline = time.monotonic() + start_s
                while (ended := keeper.poll() is not None) or not is_well():
                    if ended or time.monotonic() > deadline:
                        log.seek(0)
                        tail = log.read()[-4_000:].decode(errors="replace").strip()
                        late = "" if ended else f"\nit is not well after {start_s} s"
                        (pytest.fail if is_ours else partial(cls.cannot_start, name))(tail + late)
                    time.sleep(0.05)
                yield
            finally:
                assert keeper.stdin is not None
                keeper.stdin.close()
                keeper.terminate()  # whoever was forked while it ran may hold the other end of its input
                try:
                    keeper.wait(STOP_S)
                finally:
                    keeper.kill()

    @staticmethod
    def free_port() -> int:
        """A port of loopback that nobody has now, and that the kernel gives to nobody who asks for any port.

        One of the kernel's own range (from 32768 on Linux) goes to the next who binds port 0 or connects: under many
        workers that is another test's server, before the one it was meant for has started.
        """
        while True:
            port = random.SystemRandom().randrange(20_000, 32_000)
            with contextlib.suppress(OSError), socket.socket() as one:
                one.bind(("127.0.0.1", port))
                return port

    @staticmethod
    @contextlib.contextmanager
    def waiting_for_others(file: Path) -> Iterator[None]:
        """One worker or run at a time."""
        import fcntl

        with file.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @staticmethod
    def listens(port: int) -> bool:
        """Whether somebody takes connections there."""
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2):
            return True
        return False


@pytest.fixture(scope="session")
def peer_programs() -> type[PeerPrograms]:
    """How programs that nobody here wrote are run, and what becomes of a test where they cannot be."""
    return PeerPrograms


@pytest.fixture(scope="session")
def once_a_run(
    peer_programs: type[PeerPrograms], tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Callable[..., Path]:
    """`once_a_run(name, make)`: a folder that `make(folder)` fills once, for all workers of a run. Whoever would change
    it copies it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(pytestconfig, "workerinput") else base  # pytest-xdist: one below for each worker

    def made(name: str, make: Callable[[Path], None]) -> Path:
        place = shared / f"once-{name}"
        with peer_programs.waiting_for_others(place.with_suffix(".lock")):
            if not (place / "is-made").is_file():
                shutil.rmtree(place, ignore_errors=True)  # of a worker that failed
                (place / "it").mkdir(parents=True)
                make(place / "it")
                (place / "is-made").touch()
        return place / "it"

    return made


def _run_program(
    *args: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    path: Sequence[Path] = (),
) -> subprocess.CompletedProcess[str]:
    from click.testing import CliRunner

    from pegboard.cli._program import Program

    with pytest.MonkeyPatch.context() as patch:
        if env is not None:
            for name in os.environ.keys() - env.keys():
                patch.delenv(name)
            for name, value in env.items():
                patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        for folder in path:
            patch.syspath_prepend(folder)
        result = CliRunner().invoke(Program(), args, input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return subprocess.CompletedProcess(args, result.exit_code, result.stdout, result.stderr)


@pytest.fixture(scope="session")
def run_program() -> Callable[..., subprocess.CompletedProcess[str]]:
    """`run_program(*args, cwd=None, env=None, stdin=None, path=())` runs the program in this process, as if in its own.

    What a test says of a command's logic needs no interpreter of its own, whose start and imports cost more than the
    command. What it says of signals, pipes, terminals and descriptors does. `path` stands before the path of imports;
    what is imported from there and changes, the test has to forget (`sys.modules`).
    """
    return _run_program


IN_TIME_S = 120


@pytest.fixture(scope="session")
def in_time() -> Callable[[], contextlib.AbstractContextManager[None]]:
    """`with in_time():` holds that work comes to an end, where without its bound it would take hours.

    It says nothing of speed, which a busy machine makes an accident: what must not grow is counted (`lines_run`), and
    what must be fast is measured by the benchmarks.
    """

    @contextlib.contextmanager
    def hold() -> Iterator[None]:
        began = time.monotonic()
        yield
        assert time.monotonic() - began < IN_TIME_S

    return hold


@pytest.fixture(scope="session")
def lines_run() -> Callable[[Callable[[], Any]], int]:
    """`lines_run(work)`: how many lines of Python it runs in this thread.

    What must not grow faster than its input is held by this count, which is the same on every machine; a time is not,
    and a busy machine makes it an accident. Work within one call into C is not seen.
    """

    def count(work: Callable[[], Any]) -> int:
        seen = 0

        def trace(frame: Any, event: str, argument: Any) -> Any:
            nonlocal seen
            seen += event == "line"
            return trace

        before = sys.gettrace()  # coverage's
        sys.settrace(trace)
        try:
            work()
        finally:
            sys.settrace(before)
        return seen

    return count


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Chromium under its names. The first has no windows at all, and takes half the time to start and to draw."""
BROWSER_ARGUMENTS = (
    *("--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-quic"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
"""What a browser is started with: as root, and asking nobody for anything."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, driven by playwright; where one is not installed or does not start, its tests skip."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"no Chromium is installed (apt-get install {BROWSERS[0]})")
    driver = Path(sync_api.__file__).parents[1] / "driver" / "node"
    started = subprocess.run([driver, "--version"], capture_output=True, text=True, check=False, timeout=60)
    if started.returncode:
        pytest.skip(f"playwright's driver does not start: {started.stderr.strip()[-200:]}")
    with sync_api.sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=program, args=BROWSER_ARGUMENTS)
        yield one
        one.close()


class Served:
    """An inspector in a thread of its own; `address()` lets one browser in.

    Args:
        tools: what is on the board.
        plugins: what else is, beside the inspector's own.
        config: the configuration.
        options: of `serve_inspector`.
    """

    def __init__(self, tools: list[Any], *plugins: Any, config: Any = None, **options: Any) -> None:
        self._tools = tools
        self._plugins = plugins
        self._config = {"plugins": {}} if config is None else config
        self._options = {"user_id": "ada", **options}
        self._told: list[str] = []
        self._ready = threading.Event()
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        import trio

        try:
            trio.run(self._main)
        except BaseException as problem:  # noqa: BLE001 - raised in the thread of the test
            self._problem = problem
            self._ready.set()

    async def _main(self) -> None:
        import trio

        from pegboard import open_host
        from pegboard_inspect import plugin, serve_inspector

        plugins = [plugin, *self._plugins]
        async with open_host(self._config, plugins) as self.host, trio.open_nursery() as nursery:
            self.host.add(*self._tools)
            self._token, self._scope = trio.lowlevel.current_trio_token(), nursery.cancel_scope
            serve = partial(serve_inspector, self.host, tell=self._told.append, **self._options)
            self.url = await nursery.start(serve)
            self._ready.set()

    def address(self) -> str:
        """What lets the next browser in."""
        return self._told[-1]

    def do(self, act: Callable[..., Any], *arguments: Any) -> Any:
        """Run it in the loop of the host."""
        import trio

        return trio.from_thread.run(act, *arguments, trio_token=self._token)

    def do_sync(self, act: Callable[..., Any], *arguments: Any) -> Any:
        import trio

        return trio.from_thread.run_sync(act, *arguments, trio_token=self._token)

    def __enter__(self) -> Served:
        self._thread.start()
        self._ready.wait(60)
        if self._problem is not None:
            raise self._problem
        return self

    def __exit__(self, *_: object) -> None:
        if self._problem is None:
            self.do_sync(self._scope.cancel)
        self._thread.join(60)
        assert not self._thread.is_alive()


class Looking:
    """One browser that was let in, and what went wrong in it."""

    def __init__(
        self, browser: Any, address: str, wait: str = ".tools > li", token: str | None = None, **options: Any
    ) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        self.context.set_default_timeout(30_000)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.page.on(
            "console", lambda message: message.type in ("error", "warning") and self.problems.append(message.text)
        )
        self.page.on("pageerror", lambda problem: self.problems.append(str(problem)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector(wait)
        if token is not None:
            self.page.locator("#token").fill(token)
            self.page.get_by_role("button", name="Come in").click()
            self.page.wait_for_selector(".tools > li")
        self.base = self.page.url.partition("#")[0]

    def show(self, path: str, wait: str) -> Any:
        self.page.goto(f"{self.base}#/{path}")
        self.page.wait_for_selector(wait)
        return self.page

    def tool(self, name: str) -> Any:
        page = self.show(f"tool/{name}", ".caller")
        page.get_by_role("heading", level=1).get_by_text(name, exact=True).wait_for()
        return page

    def field(self, name: str, where: Any = None) -> Any:
        """The control of a form by its label, behind which a star may stand."""
        return (where or self.page).get_by_label(re.compile(rf"^{re.escape(name)}(\s*\*)?$"))

    def call(self) -> Any:
        """Press Call, and wait for the end; the JSON of the result."""
        self.page.get_by_role("button", name="Call", exact=True).click()
        self.page.wait_for_selector(".answer .status.good, .answer .status.bad")
        self.page.locator(".answer").get_by_role("tab", name="JSON").click()
        return json.loads(self.page.locator(".answer pre").inner_text())


@pytest.fixture(scope="session")
def inspect_board() -> type[Served]:
    """`with inspect_board(tools) as served`: an inspector in a thread."""
    return Served


@pytest.fixture(scope="module")
def let_in(browser: Any) -> Callable[..., Looking]:
    """`let_in(address, **options)`: a browser of its own that was let in by the address."""
    return partial(Looking, browser)


class Measured:
    """Runs first what coverage measures, and without it what follows; and the tests of the whole system beside both.

    The tracer of Python 3.11 sees every line of every library, too, and doubles what a test costs; what runs the same
    lines a million times it makes five times as dear. What draws its arguments, what concerns the whole system, what
    holds that large work comes to an end (`in_time`), what looks through a `browser`, which not every machine has, and
    what is marked `unmeasured` runs most lines and shows none that a package's other examples do not: the floors are
    met without. A test of the whole system that shows lines which no other does is marked `measured`.

    The tests of the whole system wait, for servers and installations, some for minutes. Each worker of
    `--dist worksteal` begins with a share of its own, and with these tests begins the share of the last one: it waits
    while the others compute. Those of models come last, since they are many and short: whoever ends first takes the
    rest of another's share, and long ones would have no others beside them.
    """

    def __init__(self, coverage: Any) -> None:
        self.coverage, self.is_on = coverage, True
        coverage.set_option("run:patch", [])  # programs that tests start would be measured from its next start on

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        of_all = [item for item in items if self._is_of_all(item)]
        of_all.sort(key=lambda item: "models" in item.path.parts)
        others = [item for item in items if not self._is_of_all(item)]
        others.sort(key=lambda item: not self._wants(item))
        workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        before = len(items) * (workers - 1) // workers or len(items)
        items[:] = [*others[:before], *of_all, *others[before:]]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Every worker imports the same, and the first one measures it."""
        self._turn(os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        self._turn(self._wants(item))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write what was measured while the others wait for this worker: one that is slow to end is killed."""
        self._turn(False)
        self.coverage.save()

    @staticmethod
    def _is_of_all(item: pytest.Item) -> bool:
        return item.path.is_relative_to(item.config.rootpath / "tests")

    def _wants(self, item: pytest.Item) -> bool:
        fixtures = getattr(item, "fixturenames", ())
        is_large = "in_time" in fixtures or "browser" in fixtures or item.get_closest_marker("unmeasured")
        is_own = not self._is_of_all(item) or item.get_closest_marker("measured")
        return bool(is_own) and not is_large and not item.get_closest_marker("hypothesis")

    def _turn(self, on: bool) -> None:
        if on is not self.is_on:
            (self.coverage.start if on else self.coverage.stop)()
        self.is_on = on


def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C where whoever started the tests ignores it, as a job in the background does: programs that tests
    start and interrupt inherit that."""
    if config.getoption("--thorough"):
        settings.load_profile("thorough")
    # Where tests run: coverage measures them, and no program that they start.
    if config.getoption("dist", "no") == "no":
        os.environ.pop("COVERAGE_PROCESS_CONFIG", None)
        if "coverage" in sys.modules and (measuring := sys.modules["coverage"].Coverage.current()):
            config.pluginmanager.register(Measured(measuring))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def _states(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names of folders of which no two tests have the same; they are made by who writes there."""
    base = tmp_path_factory.mktemp("states")
    return (base / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _own_state(_states: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that processes share are counted in the user's state folder: no test shares one, or has the user's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(next(_states)))


@pytest.fixture(scope="session")
def thorough(pytestconfig: pytest.Config) -> bool:
    """Whether `--thorough` was said, for a test that repeats what costs seconds."""
    return bool(pytestconfig.getoption("--thorough"))


@pytest.hookimpl(trylast=True)  # hypothesis marks its tests first
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is for `--thorough` alone, or all but that."""
    if config.getoption("--thorough"):
        kept = [item for item in items if isinstance(item, pytest.Function) and _is_more_when_thorough(item)]
        drawn = [item.obj for item in kept if item.get_closest_marker("hypothesis")]
        for test in {getattr(one, "__func__", one) for one in drawn}:
            of_test = test._hypothesis_internal_use_settings  # decorating anew is refused, and no public name reads it
            test._hypothesis_internal_use_settings = settings(of_test, max_examples=THOROUGH * of_test.max_examples)
    else:
        kept = [item for item in items if not item.get_closest_marker("thorough")]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collecting makes what stays: no garbage is looked for meanwhile, nor ever among what it made.

    With twenty thousand tests that is most of what there is; a test that collects garbage to see that nothing is left
    would take half a second for it, twice.
    """
    gc.disable()
    yield
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def settled() -> None:
    """For tests that collect garbage to see that nothing is left: what earlier tests made is not looked through again.

    After thousands of tests in one process each such collection takes a third of a second.
    """
    gc.collect()
    gc.freeze()


def _is_more_when_thorough(item: pytest.Function) -> bool:
    return "thorough" in item.fixturenames or any(map(item.get_closest_marker, ("hypothesis", "thorough")))
