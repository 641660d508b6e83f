"""No traceback in the host's log has a key in it, whoever raised what, and wherever the log goes.

Attack: a server, a page or a model has a tool fail on what it was working on; the log is read by others than who may
have that, and is sent to where logs are collected. Source: CWE-532; secrets in the tracebacks that Sentry collects.
"""

from __future__ import annotations

import ast
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pegboard import hookimpl, open_host, tool
from pegboard.config import _secrets, get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OWN = "Tr0ub4dor&3xyz"
TOKEN = "gh" + "p_" + "0123456789abcdefghijklmnopqrstuvwxyz"
WRITTEN = {
    "a known value": f"refused: {OWN}",
    "a key of a service": f"refused: {TOKEN}",
    "an address": f"cannot connect to postgres://ada:{TOKEN[4:20]}@db/app",
    "a header": f"Illegal header value b'Bearer {TOKEN[4:30]}'",
    "a name": f'{{"password": "{TOKEN[4:20]}"}}',
    "over lines": f"request:\n  Authorization: Bearer {TOKEN[4:30]}\n  Cookie: session={OWN}",
    "at the end of much": "x " * 100_000 + TOKEN,
}
PARTS = (OWN, TOKEN[4:20])


def chained(text: str) -> Exception:
    try:
        raise ValueError(text)
    except ValueError as problem:
        error = RuntimeError("it failed")
        error.__cause__ = problem
        return error


def noted(text: str) -> Exception:
    error = RuntimeError("it failed")
    error.add_note(text)
    return error


RAISED: dict[str, Callable[[str], Exception]] = {
    "itself": RuntimeError,
    "a key of a mapping": KeyError,
    "a cause": chained,
    "a note": noted,
    "a group": lambda text: ExceptionGroup("several", [ValueError("one"), ValueError(text)]),
    "of the system": lambda text: OSError(5, "it failed", text),
}


class Heard(logging.Handler):
    """What handlers make of records: some format them, some take the exception itself."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    @property
    def said(self) -> str:
        texts = [logging.Formatter().format(one) for one in self.records]
        return "\n".join([*texts, *(repr(one.exc_info) for one in self.records)])


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    monkeypatch.setenv("SOME_API_KEY", OWN)
    handler = Heard()
    logging.getLogger("pegboard").addHandler(handler)
    yield handler
    logging.getLogger("pegboard").removeHandler(handler)


@pytest.mark.parametrize("how", RAISED)
@pytest.mark.parametrize("what", WRITTEN)
async def test_what_a_tool_raises_is_in_the_log_without_keys(heard: Heard, what: str, how: str) -> None:
    problem = RAISED[how](WRITTEN[what])

    @tool
    async def fail() -> str:
        """Fail."""
        raise problem

    async with open_host(plugins=[]) as host:
        host.add(fail)
        assert not (await host.session().call("fail")).ok
    assert "tool fail failed" in heard.said
    assert "Traceback" in heard.said or "Error" in heard.said
    assert [part for part in PARTS if part in heard.said] == []


class Observer:
    @hookimpl
    def provide_observers(self, settings: Any) -> Any:
        class One:
            def on_start(self, *_: Any) -> None:
                raise RuntimeError(WRITTEN["a known value"])

            def on_end(self, *_: Any) -> None:
                raise RuntimeError(WRITTEN["a key of a service"])

        return [One()]


class Broken:
    @hookimpl
    def provide_tools(self) -> Any:
        raise RuntimeError(WRITTEN["a known value"])


@pytest.mark.parametrize("plugin", [Observer, Broken])
async def test_what_a_plugin_raises_is_too(heard: Heard, plugin: Any) -> None:
    @tool
    async def work() -> str:
        """Work."""
        return "done"

    with logging_at(logging.DEBUG):
        async with open_host(plugins=[plugin()]) as host:
            host.add(work)
            assert (await host.session().call("work")).ok
    assert [part for part in PARTS if part in heard.said] == []


class logging_at:
    def __init__(self, level: int) -> None:
        self._level = level

    def __enter__(self) -> None:
        self._was = logging.getLogger("pegboard").level
        logging.getLogger("pegboard").setLevel(self._level)

    def __exit__(self, *_: object) -> None:
        logging.getLogger("pegboard").setLevel(self._was)


def test_a_traceback_without_a_key_is_as_it_was(heard: Heard) -> None:
    problem = RuntimeError("the file notes.md is not there, of 12 rows")
    get_logger("pegboard.tool").error("failed", exc_info=problem)
    assert heard.records[0].exc_info is not None
    assert heard.records[0].exc_info[1] is problem
    assert "the file notes.md is not there, of 12 rows" in heard.said


def test_of_a_long_traceback_the_ends_are_written(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_secrets, "MAX_LOGGED", 200)
    get_logger("pegboard.tool").error("failed", exc_info=RuntimeError(f"at first {'x ' * 1_000} the end"))
    assert heard.said.count("x") < 300
    assert "at first" in heard.said
    assert "the end" in heard.said
    assert "characters left out" in heard.said


ROOT = Path(__file__).parents[2]
SOURCES = [*ROOT.glob("core/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]


def test_each_module_that_logs_what_was_raised_has_such_a_logger() -> None:
    """A rule over all packages: what is called `log` there comes from `get_logger`, or is handed in."""
    found = []
    for file in SOURCES:
        text = file.read_text(encoding="utf-8")
        if "exc_info=" not in text and ".exception(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                names = [one.id for one in node.targets if isinstance(one, ast.Name)]
                if "log" in names and ast.unparse(node.value.func) != "get_logger":
                    found.append(f"{file.name}:{node.lineno}")
    assert len(SOURCES) > 300
    assert found == []
