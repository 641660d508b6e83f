"""Python functions that mean no good, in the loop, in a thread and in a worker process: every call is answered, and the
next one knows nothing of it."""

from __future__ import annotations

import importlib.util
import json
import logging
import signal
import sys

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard import ToolError
from pegboard.testing import assert_error, assert_ok
from pegboard_manifest import plugin
from pegboard_manifest.bindings import _quiet
from pegboard_manifest.bindings._coerce import MAX_EXPONENT, MismatchError, coercion_of
from pegboard_manifest.bindings._resolve import resolve

SECRET = "kept-secret-1234"
LIBRARY = """
import os, sys
from os import path as borrowed_path

def leave(): sys.exit(3)
def interrupt(): raise KeyboardInterrupt
def generator_exit(): raise GeneratorExit
def plain_base(): raise BaseException("plain")
def group(): raise BaseExceptionGroup("x", [KeyboardInterrupt(), SystemExit(1)])
def errors(): raise ExceptionGroup("x", [ValueError("a")])
def stop(): raise StopIteration(3)
def recur(): return recur()
def memory(): raise MemoryError
def die(): os._exit(7)
def kill(): os.kill(os.getpid(), 9)

class Bad:
    def __repr__(self): raise SystemExit("/home/user/x")
    __str__ = __repr__
    def __eq__(self, other): raise RuntimeError
    def __hash__(self): raise RuntimeError
class Rude:
    def __str__(self): raise KeyboardInterrupt
class Faceless:
    @property
    def __class__(self): raise RuntimeError("no class")
class RudeError(ValueError):
    def __str__(self): raise KeyboardInterrupt
class Endless(dict):
    def items(self):
        number = 0
        while True:
            number += 1
            yield str(number), number
class EndlessList(list):
    def __iter__(self):
        while True:
            yield 1
class Text(str):
    def __str__(self): return self
class Number(int):
    def __int__(self): return self

def bad(): return [Bad(), {"x": Bad()}]
def rude(): return Rude()
def faceless(): return Faceless()
def rude_error(): raise RudeError
def endless(): return Endless()
def endless_list(): return EndlessList()
def text(): return Text("as it is")
def number(): return Number(3)
def circle():
    made = []
    made.append(made)
    return made
def deep():
    made = []
    for _ in range(100_000):
        made = [made]
    return made
def generator():
    while True:
        yield 0
def huge(): return "x" * 30_000_000
def many(): return list(range(2_000_000))
def flood():
    for _ in range(5_000):
        print("x" * 1000)
    return "printed"
def close():
    sys.stdin.close()
    sys.stdout.close()
    return "closed"
def use():
    print("here", flush=True)
    return sys.stdin.read()
def leave_behind():
    sys.stdin.write("left behind")
def change(given):
    given["list"].append("changed")
    given["new"] = 1
    return len(given)
async def asynchronous(): return 3
def coroutine(): return asynchronous()
async def stream():
    yield 1
def strange_name(): return type("a\\x1b[2J\\u202eb", (), {})
def halves(): return {"\\ud800": float("nan"), "b": "\\udfff"}
def says_secret():
    raise ValueError("token " + os.environ["FAULTS_TOKEN"] + " of /home/user/x.txt and C:\\\\Users\\\\y \\x1b[31m")
def fails_with_secret(): raise RuntimeError(os.environ["FAULTS_TOKEN"] + " /home/user")

class Owner:
    import os as module_inside
    @property
    def falls(self): raise SystemExit("a descriptor")
    def method(self): return "method"
owner = Owner()
class Proxy:
    def __getattr__(self, name): return getattr(os, name)
proxy = Proxy()
"""
REFUSED = {
    "leave": "SystemExit",
    "generator_exit": "GeneratorExit",
    "plain_base": "BaseException",
    "errors": "ExceptionGroup",
    "stop": "StopIteration",
    "recur": "RecursionError",
    "memory": "MemoryError",
    "bad": "SystemExit",
    "faceless": "RuntimeError",
    "fails_with_secret": "RuntimeError",
}
INTERRUPTS = ("interrupt", "group", "rude", "rude_error")
NAMES = [
    *REFUSED, *INTERRUPTS, "die", "kill", "endless", "endless_list", "text", "number", "circle", "deep", "generator",
    "huge", "many", "flood", "close", "use", "leave_behind", "change", "asynchronous", "coroutine", "stream",
    "strange_name", "halves", "says_secret",
]  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    (folder / "faultslib.py").write_text(LIBRARY)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("FAULTS_TOKEN", SECRET)
        yield folder
        sys.modules.pop("faultslib", None)
        _quiet.restore()


@pytest.fixture
def session_of(library, host_with, tmp_path):
    """`await session_of(isolate)`: a session of a host on which every function hangs."""

    async def make(isolate, timeout_ms=20_000):
        tools = [
            {
                "id": f"python:{name}",
                "name": name,
                "description": "Do it.",
                "category": "read",
                "risk": "low",
                "idempotency": "idempotent",
                "timeout_ms": timeout_ms,
                "input_schema": {
                    "type": "object",
                    "properties": {"given": {"type": "object"}} if name == "change" else {},
                    "additionalProperties": False,
                },
                "examples": [{"input": {}}],
                "binding": {
                    "kind": "python",
                    "module": "m",
                    "qualified_name": f"faultslib.{name}",
                    "parameters": [{"parameter": "given", "pass": "positional"}] if name == "change" else [],
                },
            }
            for name in NAMES
        ]
        document = {
            "manifest_version": "1.0",
            "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
            "project": {"name": "Faults", "runtime": "python", "execution_model": "in-process"},
            "modules": {"m": {"import": "faultslib", "isolate": isolate}},
            "tools": tools,
        }
        file = tmp_path / "tool.manifest.json"
        file.write_text(json.dumps(document))
        host = await host_with(plugin, config={"plugins": {"manifest": {"files": [str(file)]}}})
        return host.session()

    return make


NEEDS_WORKERS = pytest.mark.skipif(
    importlib.util.find_spec("trio_parallel") is None, reason="worker processes need pegboard[process]"
)


@pytest.fixture(params=["inline", "thread", pytest.param("process", marks=NEEDS_WORKERS)])
async def session(request, session_of):
    return await session_of(request.param)


async def test_whatever_a_function_raises_is_an_error_of_its_own(session):
    for name, kind in REFUSED.items():
        error = assert_error(await session.call(name, {}), "UPSTREAM_ERROR", says="host's log").error
        assert error.details["exception"] == kind
        assert SECRET not in str(error.to_json())
        assert "/home" not in str(error.to_json())


async def test_an_interrupt_that_nobody_pressed_ends_nothing(session):
    for name in INTERRUPTS:
        assert (await session.call(name, {})).error.code in ("UPSTREAM_ERROR", "INVALID_INPUT")
    assert_ok(await session.call("text", {}))


async def test_an_interrupt_that_somebody_pressed_passes(session_of):
    session = await session_of("inline")
    library = sys.modules.get("faultslib") or __import__("faultslib")
    library.text, kept = (lambda: signal.raise_signal(signal.SIGINT)), library.text
    try:
        with pytest.raises(KeyboardInterrupt):
            await session.call("text", {})
    finally:
        library.text = kept


@NEEDS_WORKERS
async def test_a_worker_that_dies_costs_its_call_alone(session_of):
    session = await session_of("process")
    for name in ("die", "kill"):
        assert not (await session.call(name, {})).ok
    assert_ok(await session.call("text", {}))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("text", {"result": "as it is"}),
        ("number", {"result": 3}),
        ("flood", {"result": "printed"}),
        ("strange_name", {"result": "ab"}),
        ("halves", {"?": "nan", "b": "?"}),
    ],
)
async def test_strange_values_are_data(session, name, data):
    assert assert_ok(await session.call(name, {})).data == data


async def test_values_without_end_end(session):
    for name in ("endless", "endless_list", "many"):
        assert_error(await session.call(name, {}), "UPSTREAM_ERROR", says="more than 100,000 values")
    for name in ("circle", "deep", "generator", "huge"):
        assert len(str(assert_ok(await session.call(name, {})).data)) < 100_000


async def test_streams_that_a_function_closes_or_fills_are_there_for_the_next(session):
    assert_ok(await session.call("close", {}))
    assert not (await session.call("leave_behind", {})).ok
    assert assert_ok(await session.call("use", {})).data == {"result": ""}


async def test_what_a_function_does_to_its_arguments_is_its_own_affair(session):
    arguments = {"given": {"list": [1], "deep": [{"a": []}]}}
    assert assert_ok(await session.call("change", arguments)).data == {"result": 3}
    assert arguments == {"given": {"list": [1], "deep": [{"a": []}]}}


async def test_async_functions_are_refused_and_not_forgotten(session):
    for name in ("asynchronous", "coroutine", "stream"):
        error = assert_error(await session.call(name, {}), "INTERNAL_ERROR", says="async").error
        assert (error.details["executed"], error.details["reason"]) == (False, "async")


async def test_an_error_says_no_secret_of_the_environment_and_no_path(session, caplog):
    with caplog.at_level(logging.DEBUG, "pegboard"):
        error = assert_error(await session.call("says_secret", {}), "INVALID_INPUT").error
    assert error.message.endswith("token *** of <path> and <path>")
    assert "\x1b" not in error.message


async def test_a_thread_that_ends_never_costs_its_tool_alone(session_of):
    session = await session_of("thread", timeout_ms=50)
    release = trio.Event()
    module = sys.modules.get("faultslib") or __import__("faultslib")
    token = trio.lowlevel.current_trio_token()
    module.text, kept = (lambda: trio.from_thread.run(release.wait, trio_token=token)), module.text
    try:
        error = assert_error(await session.call("text", {}), "TIMEOUT").error
        assert error.details["still_running"]
        assert_ok(await session.call("number", {}))
    finally:
        release.set()
        module.text = kept


# names


@pytest.mark.parametrize(
    ("name", "module", "allow", "code"),
    [
        ("faultslib.borrowed_path.join", "faultslib", None, "FORBIDDEN"),
        ("faultslib.os.system", "faultslib", None, "FORBIDDEN"),
        ("faultslib.sys.exit", "faultslib", None, "FORBIDDEN"),
        ("faultslib.Owner.module_inside.system", "faultslib", None, "FORBIDDEN"),
        ("faultslib.owner.module_inside.system", "faultslib", None, "FORBIDDEN"),
        ("faultslib.leave.__globals__", "faultslib", None, "FORBIDDEN"),
        ("faultslib.Owner.__subclasses__", "faultslib", None, "FORBIDDEN"),
        ("faultslib._private", "faultslib", None, "FORBIDDEN"),
        ("faultslib.text", "faultslib", ["faultslib.number"], "FORBIDDEN"),
        ("faultslib.text.upper", "faultslib", ["faultslib.text"], "FORBIDDEN"),
        ("faultslib", "faultslib", None, "FORBIDDEN"),
        ("faultslib.", "faultslib", None, "FORBIDDEN"),
        ("faultslib..text", "faultslib", None, "FORBIDDEN"),
        ("faultslibx.text", "faultslib", None, "FORBIDDEN"),
        ("os.system", "faultslib", None, "FORBIDDEN"),
        ("faultslib.text\x00", "faultslib", None, "FORBIDDEN"),
        ("faultslib.no_such", "faultslib", None, "UPSTREAM_ERROR"),
        ("faultslib.text.no_such.deeper", "faultslib", None, "UPSTREAM_ERROR"),
        ("no_such_module_here.text", "no_such_module_here", None, "UPSTREAM_ERROR"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(library, name, module, allow, code):
    with pytest.raises(ToolError) as caught:
        resolve(name, module, allow)
    assert (caught.value.code, caught.value.details["executed"]) == (code, False)


def test_names_within_the_module_are_found(library):
    assert resolve("faultslib.owner.method", "faultslib")() == "method"


# coercions


@pytest.mark.parametrize("kind", ["fraction", "decimal", "complex"])
@pytest.mark.parametrize(
    "text",
    [
        "1e1_000_000_000",
        "1_0",
        "1e-9_999_999",
        "1e\uff11\uff10\uff10\uff10\uff10\uff10\uff10\uff10",
        "1e\u0661\u0660\u0660\u0660\u0660\u0660",
        "\u0661\u0662",
        f"1e{MAX_EXPONENT + 1}",
        "1e00000000000000000000000000099999",
        "1" * 5_001,
        "1\n",
    ],
)
def test_numbers_that_only_look_short_are_refused(kind, text):
    with pytest.raises(MismatchError):
        coercion_of(kind)(text)


@given(st.text("0123456789eE+-._/ \uff11\u0661jJ", max_size=24))
@settings(max_examples=200)
def test_any_short_text_is_a_small_number_or_refused(text):
    """Invariant: what a text becomes can be written out in some thousand digits."""
    for kind in ("fraction", "decimal"):
        try:
            number = coercion_of(kind)(text)
        except MismatchError:
            continue
        assert len(str(number)) < 2 * MAX_EXPONENT
