"""What the tests of all packages share; whole fixtures of one subject lie in tests/kit/fixtures."""

from __future__ import annotations

import contextlib
import gc
import itertools
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytest_plugins = ["kit_schemas", "kit_programs", "kit_browser", "kit_measured"]

# A run of the tests says the same of the same code on every machine: examples are drawn from a fixed seed, and a busy
# machine is not a fault. `--thorough` looks for examples that nobody has seen.
settings.register_profile(
    "default", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)  # of what says no number itself; `--thorough` draws many times as many
settings.register_profile("thorough", settings.get_profile("default"), derandomize=False, print_blob=True)
settings.load_profile("default")
THOROUGH = 10
"""How many times the examples of a property are drawn under `--thorough`."""


def pytest_addoption(parser: pytest.Parser) -> None:
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


def pytest_configure(config: pytest.Config) -> None:
    """Hear Ctrl-C and a closed terminal where whoever started the tests ignores them, as a job in the background and
    nohup do: programs that tests start and interrupt inherit that."""
    if config.getoption("--thorough"):
        settings.load_profile("thorough")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


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
    would take half a second for it, twice. Python puts off a full collection by what the last one left, which is next
    to nothing then: without a threshold that is a hundred times the usual one, a tenth of the time goes into them.
    """
    gc.disable()
    yield
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(700, 10, 1000)


@pytest.fixture(scope="module")
def settled() -> None:
    """For tests that collect garbage to see that nothing is left: what earlier tests made is not looked through again.

    After thousands of tests in one process each such collection takes a third of a second.
    """
    gc.collect()
    gc.freeze()


def _is_more_when_thorough(item: pytest.Function) -> bool:
    return "thorough" in item.fixturenames or any(map(item.get_closest_marker, ("hypothesis", "thorough")))
