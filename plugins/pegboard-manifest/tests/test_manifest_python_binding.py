"""Tools that are Python functions, called as a manifest says."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import threading

import pytest

from pegboard import CallContext, ErrorCode, ToolError, hookimpl, tool
from pegboard_manifest.bindings import _quiet, make_handler, run_of
from pegboard_manifest.bindings.python import bind_without_function, spec_of
from pegboard_manifest.document import ManifestError, of_document
from pegboard_manifest.source import ManifestSource

LIBRARY = """
import dataclasses, enum, functools, os, sys
from datetime import date
from decimal import Decimal
from urllib import parse as borrowed

class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"

class MyError(Exception):
    pass

@dataclasses.dataclass
class Point:
    x: int
    y: int

def add(a, b=10):
    return a + b

def seen(*args, **kwargs):
    return {"args": [repr(one) for one in args], "kwargs": {key: repr(one) for key, one in kwargs.items()}}

def places(a, b=2, /, c=3, *rest, d=4):
    return [a, b, c, list(rest), d]

def wrapped(a, b):
    return "never"

KNOWN = ("indent_by", "sort_keys")

def by_identity(*args, **kwargs):
    # As compiled code may look at its keywords: a name that is equal, and another object, is not one of them.
    return [any(name is one for one in KNOWN) for name in kwargs]

@functools.wraps(by_identity)
def handing_on(*args, **kwargs):
    return by_identity(*args, **kwargs)

class Made(list):
    def __init__(self, *args, **kwargs):
        super().__init__(by_identity(**kwargs))

@functools.wraps(wrapped)
def wrapper(*args):
    return list(args)

def days(since):
    return (date(2026, 1, 31) - since).days

def color(which):
    return f"{type(which).__name__}.{which.name}"

def fail(kind="value", text="no good"):
    raise {"value": ValueError, "key": KeyError, "os": OSError, "mine": MyError, "zero": ZeroDivisionError}[kind](text)

def leave():
    sys.exit(3)

def noisy():
    print("a secret on stdout")
    sys.stdout.write("more")
    sys.stdout.buffer.write(b"bytes")
    sys.stderr.flush()
    return "done"

def ask():
    return input("your name? ")

def lines():
    return sys.stdin.read() + str(list(sys.stdin))

def point():
    return Point(1, 2)

def numbers():
    n = 0
    while True:
        yield n
        n += 1

def which_thread():
    import threading
    return threading.current_thread() is threading.main_thread()

def pid():
    os.write(1, b"past python")
    return os.getpid()

def hang():
    while True:
        pass

class Unreadable(ValueError):
    def __str__(self):
        raise RuntimeError

def broken_text():
    raise Unreadable

_private = add
not_callable = 3

class Interval:
    kind = "closed"
    def __init__(self, low, high=10, *, step=1):
        if low > high:
            raise ValueError("upside down")
        self.low, self.high, self.step = low, high, step
    @property
    def size(self):
        return self.high - self.low
    def holds(self, value, low=None):
        return [self.low if low is None else low, value, self.high]
    async def later(self):
        return 1

def interval(low):
    return Interval(low)

class Calculator:
    def __call__(self, a):
        return a * 2
    def half(self, a):
        return a / 2
    _secret = add

double = Calculator()
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A package on the path, under a name that no other test uses."""
    name = f"boundlib_{tmp_path.name.replace('-', '_')}"
    package = tmp_path / name
    package.mkdir()
    (package / "__init__.py").write_text(LIBRARY)
    (package / "below.py").write_text("def deep():\n    return 'deep'\n")
    (package / "broken.py").write_text("raise RuntimeError('/etc/secret broke')\n")
    (package / "leaves.py").write_text("raise SystemExit(2)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    for key in [key for key in sys.modules if key.partition(".")[0] == name]:
        del sys.modules[key]


def a_manifest(library, folder, parameters=(), name="add", module=None, properties=None, making=None, **more):
    binding = {
        "kind": "python",
        "module": "m",
        "qualified_name": f"{library}.{name}",
        "parameters": [{"pass": "keyword", **one} for one in parameters],
    }
    if making is not None:
        make, arguments = making
        arguments = [{"pass": "keyword", **one} for one in arguments]
        binding["instance"] = {"make": f"{library}.{make}", "parameters": arguments}
        parameters = [*arguments, *parameters]
    entry = {
        "id": f"python:{name}",
        "name": "bound",
        "description": "Bound.",
        "category": "read",
        "risk": "low",
        "idempotency": "idempotent",
        "input_schema": {
            "type": "object",
            "properties": properties or {one["parameter"]: {} for one in parameters},
            "additionalProperties": False,
        },
        "examples": [{"input": {}}],
        "binding": binding | {key: more.pop(key) for key in ("run", "exceptions") if key in more},
    } | more
    document = {
        "manifest_version": "1.0",
        "schema_dialect": "https://json-schema.org/draft/2020-12/schema",
        "project": {"name": "Bound", "runtime": "python", "execution_model": "in-process"},
        "modules": {"m": {"import": library, "isolate": "inline"} | (module or {})},
        "tools": [entry],
    }
    return of_document(document, folder)


def the_handler(manifest):
    return make_handler(manifest.tools["bound"], manifest)


@pytest.fixture
def bound(library, tmp_path):
    """`bound(parameters, name=...)` gives the handler of one function of the library."""
    return lambda parameters=(), name="add", **more: the_handler(
        a_manifest(library, tmp_path, parameters, name, **more)
    )


A, B = {"parameter": "a"}, {"parameter": "b"}


def error_of(handler, **arguments):
    with pytest.raises(ToolError) as caught:
        handler(**arguments)
    return caught.value


# -- passing


def test_nothing_is_imported_before_the_first_call(library, bound):
    handler = bound([A, B])
    assert library not in sys.modules
    assert handler(a=1, b=2) == 3
    assert library in sys.modules


def test_what_is_left_out_has_the_functions_own_default(bound):
    assert bound([A, B])(a=1) == 11


def test_arguments_go_in_by_place_by_name_and_spread(bound):
    handler = bound(
        [
            {"parameter": "x", "pass": "positional"},
            {"parameter": "others", "pass": "spread"},
            {"parameter": "y", "keyword": "why"},
            {"parameter": "more", "pass": "spread_keyword"},
        ],
        name="seen",
    )
    assert handler(x=1, others=[2, "3"], y=4, more={"z": None}) == {
        "args": ["1", "2", "'3'"],
        "kwargs": {"why": "4", "z": "None"},
    }
    assert handler(x=1) == {"args": ["1"], "kwargs": {}}
    assert handler(x=1, others=None, more=None) == {"args": ["1"], "kwargs": {}}


PLACES = [
    {"parameter": "a", "pass": "positional"},
    {"parameter": "b", "pass": "positional"},
    {"parameter": "c", "pass": "positional"},
    {"parameter": "rest", "pass": "spread"},
    {"parameter": "d", "pass": "keyword"},
]


def test_a_place_that_is_left_out_before_another_gets_its_default(bound):
    handler = bound(PLACES, name="places")
    assert handler(a=1, c=5) == {"result": [1, 2, 5, [], 4]}
    assert handler(a=1, rest=[7]) == {"result": [1, 2, 3, [7], 4]}
    assert handler(a=1, rest=[]) == {"result": [1, 2, 3, [], 4]}
    assert handler(a=1, d=0) == {"result": [1, 2, 3, [], 0]}


def test_a_place_that_is_optional_leaves_its_place_to_those_behind_it(bound):
    optional = {"parameter": "a", "pass": "positional", "optional": True}
    for name in ("seen", "add"):  # `add` would take them by their names
        handler = bound([optional, {"parameter": "b", "pass": "positional"}], name=name)
        assert handler(b=1) == ({"args": ["1"], "kwargs": {}} if name == "seen" else 11)
    assert handler(a=3, b=1) == 4


def test_a_place_that_has_no_default_has_to_be_given(bound):
    error = error_of(bound(PLACES, name="places"), b=1)
    assert error.code is ErrorCode.INVALID_INPUT
    assert error.details["faults"][0]["path"] == "a"


def test_a_function_that_wraps_another_is_called_by_place(bound):
    handler = bound(
        [{"parameter": "a", "pass": "positional"}, {"parameter": "b", "pass": "positional"}], name="wrapper"
    )
    assert handler(a=1, b=2) == {"result": [1, 2]}


WAYS_OF_A_KEYWORD = {
    "by its own name": ([{"parameter": "indent_by"}, {"parameter": "sort_keys"}], {}),
    "beside a place": ([{"parameter": "a", "pass": "positional"}, {"parameter": "indent_by"}], {}),
    "under another name": ([{"parameter": "a", "keyword": "indent_by"}], {}),
    "in an object": ([{"parameter": "a", "pass": "spread_keyword"}], {"a": {"indent_by": 1, "sort_keys": 2}}),
}


@pytest.mark.parametrize("name", ["by_identity", "handing_on", "Made"])
@pytest.mark.parametrize("way", WAYS_OF_A_KEYWORD)
def test_keywords_are_the_very_names_that_compiled_code_compares_them_with(bound, name, way):
    parameters, arguments = WAYS_OF_A_KEYWORD[way]
    arguments = arguments or {one["parameter"]: 1 for one in parameters}
    sent = json.loads(json.dumps([parameters, arguments]))  # names of their own, as they come from a file and a wire
    result = bound(sent[0], name=name)(**sent[1])["result"]
    assert result
    assert all(result)


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"others": 3}, "others"),
        ({"more": [1]}, "more"),
        ({"y": 1, "more": {"why": 1}}, "more.why"),
        ({"more": {"_private": 1}}, "more._private"),
    ],
)
def test_what_cannot_be_spread_is_invalid_input_with_its_path(bound, arguments, path):
    handler = bound(
        [
            {"parameter": "others", "pass": "spread"},
            {"parameter": "y", "keyword": "why"},
            {"parameter": "more", "pass": "spread_keyword"},
        ],
        name="seen",
    )
    error = error_of(handler, **arguments)
    assert (error.code, error.details["faults"][0]["path"]) == (ErrorCode.INVALID_INPUT, path)


def test_every_value_that_cannot_be_coerced_is_told_at_once(bound):
    handler = bound([{**A, "coerce": "date"}, {**B, "coerce": "decimal", "items": True}], name="seen")
    error = error_of(handler, a="tomorrow", b=["1", "x"])
    assert [one["path"] for one in error.details["faults"]] == ["a", "b"]
    assert "a date such as '2026-01-31'" in error.message
    assert error.details["executed"] is False


def test_values_are_coerced(bound):
    assert bound([{"parameter": "since", "coerce": "date"}], name="days")(since="2026-01-01") == 30
    handler = bound([{"parameter": "items", "coerce": "date", "items": True}], name="seen")
    assert handler(items=["2026-01-01"])["kwargs"] == {"items": "[datetime.date(2026, 1, 1)]"}
    assert bound([{**A, "coerce": "none"}, B])(a="x", b="y") == "xy"


def test_an_enum_is_taken_by_value_and_by_name(library, bound):
    handler = bound([{"parameter": "which", "coerce": "enum", "enum": f"{library}.Color"}], name="color")
    assert handler(which="red") == "Color.RED"
    assert handler(which="BLUE") == "Color.BLUE"
    assert "one of RED, BLUE" in error_of(handler, which="green").message


def test_a_class_that_is_not_an_enum_is_no_way_to_coerce(library, bound):
    handler = bound([{"parameter": "which", "coerce": "enum", "enum": f"{library}.Point"}], name="color")
    assert error_of(handler, which="red").code is ErrorCode.UPSTREAM_ERROR


def test_base64_is_bytes_where_the_schema_says_so(bound):
    parameters = [{**A, "coerce": "bytes"}, {**B, "coerce": "bytes"}]
    properties = {"a": {"type": "string"}, "b": {"type": "string", "contentEncoding": "base64"}}
    handler = bound(parameters, name="seen", properties=properties)
    assert handler(a="aGk=", b="aGk=")["kwargs"] == {"a": "b'aGk='", "b": "b'hi'"}


@pytest.mark.parametrize(
    ("schema", "takes"),
    [
        ({"anyOf": [{"type": "string", "format": "date"}, {"type": "number"}]}, False),
        ({"type": ["string", "number"], "format": "date"}, False),
        ({"anyOf": [{"type": "string", "format": "date"}, {"type": "string"}]}, True),
        ({}, True),
        (True, True),
    ],
)
def test_a_text_that_no_format_of_the_schema_fits_is_refused(bound, schema, takes):
    handler = bound([{**A, "coerce": ["date", "none"]}], name="seen", properties={"a": schema})
    assert handler(a=3)["kwargs"] == {"a": "3"}
    assert handler(a="2026-01-31")["kwargs"] == {"a": "datetime.date(2026, 1, 31)"}
    if takes:
        assert handler(a="soon")["kwargs"] == {"a": "'soon'"}
    else:
        assert error_of(handler, a="soon").code is ErrorCode.INVALID_INPUT


@pytest.mark.parametrize("item", [{"type": "string"}, {"type": ["string", "null"]}])
def test_items_of_any_text_stay_texts(bound, item):
    parameters = [{**A, "coerce": ["date", "none"], "items": True}]
    handler = bound(parameters, name="seen", properties={"a": {"type": "array", "items": item}})
    assert handler(a=["soon"])["kwargs"] == {"a": "['soon']"}


def test_a_builtin_that_tells_no_signature_is_called_by_place(tmp_path):
    parameters = [{"parameter": "a", "pass": "positional"}, {"parameter": "b", "pass": "positional"}]
    handler = the_handler(a_manifest("builtins", tmp_path, parameters, name="max"))
    assert handler(a=1, b=2) == 2
    assert error_of(handler, b=2).code is ErrorCode.INVALID_INPUT


def test_an_exception_whose_own_text_breaks_is_told_by_its_type(library, bound):
    handler = bound(name="broken_text")
    assert "refused the call (Unreadable)" in error_of(handler).message


# -- paths


def test_paths_lie_in_the_folder_of_the_manifest(bound, tmp_path):
    handler = bound([{**A, "coerce": "path"}], name="seen")
    assert str(tmp_path / "data.csv") in handler(a="data.csv")["kwargs"]["a"]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", "-x", "a\0b", "http://x/y", "link/x", 3])
def test_paths_that_lead_elsewhere_are_refused(bound, tmp_path, path):
    (tmp_path / "link").symlink_to("/etc")
    error = error_of(bound([{**A, "coerce": "path"}], name="seen"), a=path)
    assert error.code is ErrorCode.INVALID_INPUT
    assert str(tmp_path) not in error.message


def test_the_tools_own_folders_narrow_that(bound, tmp_path):
    handler = bound([{**A, "coerce": "path"}], name="seen", constraints={"allowed_paths": ["data"]})
    assert str(tmp_path / "data" / "x") in handler(a="data/x")["kwargs"]["a"]
    assert error_of(handler, a="x").code is ErrorCode.INVALID_INPUT


# -- what may be reached


@pytest.mark.parametrize("name", ["double", "double.half", "below.deep"])
def test_objects_methods_and_modules_below_are_reached(bound, name):
    parameters = [] if name == "below.deep" else [{"parameter": "a", "pass": "positional"}]
    handler = bound(parameters, name=name)
    assert handler(**({"a": 4} if parameters else {})) in (8, 2.0, "deep")


LOW, HIGH = {"parameter": "low"}, {"parameter": "high"}


def test_a_method_is_called_on_an_object_that_the_call_makes(bound):
    given = [LOW, {"parameter": "at_most", "keyword": "high", "coerce": "decimal"}]
    holds = bound([{"parameter": "value", "pass": "positional"}], name="Interval.holds", making=("Interval", given))
    assert holds(low=1, value=3) == {"result": [1, 3, 10]}
    assert holds(low=1, at_most="5", value=3) == {"result": [1, 3, "5"]}
    error = error_of(holds, low=1, at_most="many", value=3)
    assert [fault["path"] for fault in error.details["faults"]] == ["at_most"]
    both = bound([{"parameter": "value"}, {"parameter": "own", "keyword": "low"}], name="Interval.holds",
                 making=("Interval", [LOW]))  # fmt: skip
    assert both(low=1, own=2, value=3) == {"result": [2, 3, 10]}


def test_a_property_and_a_value_are_asked_of_such_an_object(bound):
    assert bound(name="Interval.size", making=("Interval", [LOW, HIGH]))(low=1, high=4) == 3
    assert bound(name="Interval.kind", making=("Interval", [LOW]))(low=1) == "closed"
    assert bound(name="Interval.step", making=("Interval", [LOW]))(low=1) == 1


def test_an_object_that_cannot_be_made_is_the_callers_fault(bound):
    error = error_of(bound(name="Interval.size", making=("Interval", [LOW])), low=11)
    assert error.code is ErrorCode.INVALID_INPUT
    assert "upside down" in error.message


def test_what_makes_an_object_is_an_allowed_class_and_its_method_waits_for_nobody(library, bound):
    assert error_of(bound(name="interval.size", making=("interval", [LOW])), low=1).message.endswith("is not a class")
    assert error_of(bound(name="Interval.later", making=("Interval", [LOW])), low=1).details["reason"] == "async"
    allow = {"allow": [f"{library}.Interval.size"]}
    with pytest.raises(ManifestError, match="Interval"):
        bound(name="Interval.size", making=("Interval", [LOW]), module=allow)
    with pytest.raises(ManifestError, match=r"method or property of .*\.Interval"):
        bound(name="Color.name", making=("Interval", [LOW]))


@pytest.mark.parametrize("name", ["os.system", "sys.exit", "borrowed.quote"])
def test_a_name_that_leads_out_of_its_package_is_refused(bound, name):
    error = error_of(bound(name=name))
    assert (error.code, error.details["reason"]) == (ErrorCode.FORBIDDEN, "not_allowed")


def test_private_names_and_those_that_are_not_allowed_are_refused_at_the_call_too(library, tmp_path):
    manifest = a_manifest(library, tmp_path, [A, B])
    entry = manifest.tools["bound"]
    for name, allow in ((f"{library}._private", None), (f"{library}.double._secret", None), ("os.system", None)):
        entry["binding"]["qualified_name"] = name
        assert error_of(make_handler(entry, manifest), a=1).code is ErrorCode.FORBIDDEN, allow
    entry["binding"]["qualified_name"] = f"{library}.add"
    manifest.modules["m"]["allow"] = [f"{library}.seen"]
    assert error_of(make_handler(entry, manifest), a=1).code is ErrorCode.FORBIDDEN


@pytest.mark.parametrize(("name", "reason"), [("nothing", "no_such_name"), ("below.nothing", "no_such_name")])
def test_a_name_that_is_gone_is_told(bound, name, reason):
    error = error_of(bound(name=name))
    assert (error.code, error.details["reason"]) == (ErrorCode.UPSTREAM_ERROR, reason)


def test_what_cannot_be_called_is_told(bound):
    assert error_of(bound(name="not_callable")).code is ErrorCode.UPSTREAM_ERROR


def test_a_module_that_is_not_installed_says_what_to_do_and_is_looked_for_again(tmp_path, monkeypatch):
    handler = the_handler(a_manifest("comes_later_lib", tmp_path, [A], name="f"))
    error = error_of(handler, a=1)
    assert (error.code, error.details["reason"]) == (ErrorCode.UPSTREAM_ERROR, "not_installed")
    assert "install" in error.message
    (tmp_path / "comes_later_lib.py").write_text("def f(a):\n    return a\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert handler(a=1) == 1
    del sys.modules["comes_later_lib"]


@pytest.mark.parametrize("module", ["broken", "leaves"])
def test_a_module_whose_import_fails_costs_the_call_alone_and_tells_no_path(library, tmp_path, module):
    manifest = a_manifest(library, tmp_path, name=f"{module}.f", module={"import": f"{library}.{module}"})
    error = error_of(the_handler(manifest))
    assert (error.code, error.details["reason"]) == (ErrorCode.UPSTREAM_ERROR, "import")
    assert "/etc" not in error.message


# -- exceptions


@pytest.mark.parametrize(
    ("kind", "code"),
    [("value", "INVALID_INPUT"), ("key", "INVALID_INPUT"), ("zero", "INVALID_INPUT"), ("os", "UPSTREAM_ERROR")],
)
def test_exceptions_without_a_rule_are_the_callers_or_the_librarys(bound, kind, code):
    assert error_of(bound([{"parameter": "kind"}], name="fail"), kind=kind).code == code


def test_the_first_rule_that_fits_wins(library, bound):
    rules = [
        {"type": "LookupError", "code": "NOT_FOUND", "message": "there is no\u202e\x1b[31m such\nthing"},
        {"type": f"{library}.MyError", "code": "CONFLICT"},
        {"type": "Exception", "code": "RATE_LIMITED"},
        {"type": "KeyError", "code": "FORBIDDEN"},
    ]
    handler = bound([{"parameter": "kind"}, {"parameter": "text"}], name="fail", exceptions=rules)
    assert error_of(handler, kind="key").code is ErrorCode.NOT_FOUND
    assert error_of(handler, kind="key").message == "there is no such thing"
    assert error_of(handler, kind="mine").code is ErrorCode.CONFLICT
    assert error_of(handler, kind="os").code is ErrorCode.RATE_LIMITED


def test_an_exception_is_known_by_the_name_under_which_its_package_offers_it(library, bound, tmp_path):
    (tmp_path / library / "offers.py").write_text(f"from {library} import MyError as Offered\n")
    rules = [{"type": f"{library}.offers.Offered", "code": "CONFLICT"}]
    handler = bound([{"parameter": "kind"}], name="fail", exceptions=rules)
    assert error_of(handler, kind="mine").code is ErrorCode.UPSTREAM_ERROR  # never imported, so never raised under it
    __import__(f"{library}.offers")
    assert error_of(handler, kind="mine").code is ErrorCode.CONFLICT


def test_what_a_function_says_of_its_arguments_reaches_the_caller_clean(bound):
    handler = bound([{"parameter": "kind"}, {"parameter": "text"}], name="fail")
    message = error_of(
        handler, kind="value", text="bad \x1b[31mformat\u202e in /home/somebody/.netrc " + "x" * 900
    ).message
    assert "bad format in <path>" in message
    assert len(message) < 400


def test_what_another_exception_says_stays_in_the_log(bound, caplog):
    with caplog.at_level(logging.ERROR, "pegboard.tool"):
        error = error_of(
            bound([{"parameter": "kind"}, {"parameter": "text"}], name="fail"), kind="os", text="password 1"
        )
    assert "password" not in error.message
    assert "password" in caplog.text


def test_a_function_that_leaves_the_program_fails_and_no_more(bound):
    assert error_of(bound(name="leave")).code is ErrorCode.UPSTREAM_ERROR


# -- the host's streams


def test_what_a_function_prints_does_not_reach_the_hosts_output(bound, capfd, caplog):
    with caplog.at_level(logging.DEBUG, "pegboard.tool"):
        assert bound(name="noisy")() == "done"
    print("the host's own")
    _quiet.restore()
    assert capfd.readouterr().out == "the host's own\n"
    assert "a secret on stdout" in caplog.text


def test_a_function_reads_nothing_from_the_hosts_input(bound, monkeypatch):
    import io

    monkeypatch.setattr(sys, "stdin", mine := io.StringIO("for the host\n"))
    assert error_of(bound(name="ask")).code is ErrorCode.UPSTREAM_ERROR
    assert bound(name="lines")() == "[]"
    assert sys.stdin.readline() == "for the host\n"
    assert list(sys.stdin) == []
    _quiet.restore()
    assert sys.stdin is mine


def test_other_threads_write_where_they_wrote_before(bound, capsys):
    handler = bound(name="noisy")
    handler()
    _quiet.running.add(threading.get_ident())
    try:
        print("mine is dropped")
        other = threading.Thread(target=print, args=("theirs is not",))
        other.start()
        other.join()
    finally:
        _quiet.running.discard(threading.get_ident())
    _quiet.restore()
    assert capsys.readouterr().out == "theirs is not\n"


def test_restoring_takes_away_no_stream_that_somebody_else_put_there(bound, monkeypatch):
    import io

    bound(name="noisy")()
    monkeypatch.setattr(sys, "stdout", mine := io.StringIO())
    _quiet.restore()
    assert sys.stdout is mine


def test_a_host_without_output_has_none(bound, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert bound(name="noisy")() == "done"
    print("nowhere")
    _quiet.restore()
    assert sys.stdout is None


# -- results


def test_results_are_data(bound):
    assert bound(name="point")() == {"x": 1, "y": 2}
    handler = bound([{"parameter": "a", "pass": "positional"}, {"parameter": "b", "pass": "positional"}])
    assert handler(a=0.5, b=0.25) == 0.75
    assert handler(a=[1], b=[2]) == {"result": [1, 2]}


def test_what_never_ends_is_cut_and_says_so(bound):
    result = bound(name="numbers")()
    assert result.data == {"result": list(range(1000))}
    assert result.details == {"cut": True, "items": 1000}


# -- where it runs


@pytest.mark.parametrize(
    ("said", "module", "run"),
    [
        ({}, {}, "inplace"),
        ({}, {"isolate": "thread"}, "thread"),
        ({"run": "thread"}, {}, "thread"),
        ({"run": "inline"}, {"isolate": "process"}, "inplace"),
        ({"run": "process"}, {}, "async"),
    ],
)
def test_a_binding_runs_where_it_says_or_where_its_module_does(library, tmp_path, said, module, run):
    manifest = a_manifest(library, tmp_path, module=module, **said)
    assert run_of(manifest.tools["bound"], manifest) == run


def test_a_module_that_says_nothing_runs_in_threads(library, tmp_path):
    manifest = a_manifest(library, tmp_path)
    del manifest.modules["m"]["isolate"]
    assert run_of(manifest.tools["bound"], manifest) == "thread"


def a_plugin(manifest):
    class Plugin:
        @hookimpl
        def provide_sources(self, settings):
            return [ManifestSource("manifest:bound", "here", manifest)]

    return Plugin()


@pytest.mark.parametrize(("run", "in_main"), [("inline", True), ("thread", False)])
async def test_on_a_host_it_runs_there(host_with, library, tmp_path, run, in_main):
    host = await host_with(a_plugin(a_manifest(library, tmp_path, name="which_thread", run=run)))
    result = await host.session().call("bound", {})
    assert result.data == {"result": in_main}
    _quiet.restore()


async def test_on_a_host_wrong_arguments_never_reach_the_function(host_with, library, tmp_path):
    properties = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    manifest = a_manifest(library, tmp_path, [A, B], properties=properties)
    session = (await host_with(a_plugin(manifest))).session()
    for arguments in ({"a": "x"}, {"a": 1, "c": 2}, {"a": True}, []):
        assert (await session.call("bound", arguments)).error.code is ErrorCode.INVALID_INPUT
    assert library not in sys.modules
    assert (await session.call("bound", {"a": 1.0, "b": 2})).data == {"result": 3}
    _quiet.restore()


@pytest.mark.skipif(importlib.util.find_spec("trio_parallel") is None, reason="worker processes need pegboard[process]")
async def test_in_a_worker_process_it_is_apart_and_ends_with_its_deadline(
    host_with, library, tmp_path, monkeypatch, capfd
):
    import os

    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    session = (await host_with(a_plugin(a_manifest(library, tmp_path, name="pid", run="process")))).session()
    result = await session.call("bound", {})
    assert result.ok, result
    assert result.data["result"] != os.getpid()
    hanging = a_manifest(library, tmp_path, name="hang", run="process", timeout_ms=300)
    session = (await host_with(a_plugin(hanging))).session()
    assert (await session.call("bound", {})).error.code is ErrorCode.TIMEOUT
    failing = a_manifest(library, tmp_path, [{"parameter": "kind"}], name="fail", run="process")
    session = (await host_with(a_plugin(failing))).session()
    assert (await session.call("bound", {"kind": "value"})).error.code is ErrorCode.INVALID_INPUT
    missing = a_manifest(library, tmp_path, name="nothing", run="process")
    session = (await host_with(a_plugin(missing))).session()
    assert (await session.call("bound", {})).error.details["reason"] == "no_such_name"
    assert "past python" not in capfd.readouterr().out


async def test_without_trio_parallel_a_worker_process_is_refused_with_the_fix(
    host_with, library, tmp_path, monkeypatch
):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    session = (await host_with(a_plugin(a_manifest(library, tmp_path, name="pid", run="process")))).session()
    error = (await session.call("bound", {})).error
    assert error.details["reason"] == "not_installed"
    assert "pegboard[process]" in error.message


def test_the_work_of_a_worker_process_is_that_of_a_call(library, tmp_path, capfd):
    from pegboard_manifest.bindings import _isolated

    spec = spec_of((manifest := a_manifest(library, tmp_path, [A, B])).tools["bound"], manifest)
    assert [_isolated.call(spec, {"a": 1, "b": n}) for n in (1, 2)] == [2, 3]
    coerced = a_manifest(library, tmp_path, [{"parameter": "since", "coerce": "date"}], name="days")
    assert _isolated.call(spec_of(coerced.tools["bound"], coerced), {"since": "2026-01-30"}) == 1
    with pytest.raises(ToolError, match="refused the call"):
        _isolated.call(spec, {"a": 1, "b": "x"})
    noisy = a_manifest(library, tmp_path, name="pid")
    _isolated.call(spec_of(noisy.tools["bound"], noisy), {})
    _quiet.restore()
    assert capfd.readouterr().out == ""


def test_a_worker_forgets_what_it_called_long_ago(library, tmp_path, monkeypatch):
    from pegboard_manifest.bindings import _isolated

    monkeypatch.setattr(_isolated, "MAX_COMPILED", 1)
    for name in ("point", "pid"):
        manifest = a_manifest(library, tmp_path, name=name)
        _isolated.call(spec_of(manifest.tools["bound"], manifest), {})
    _quiet.restore()
    assert len(_isolated._compiled) == 1


def test_what_a_call_would_pass_is_told_without_the_function(library, tmp_path):
    parameters = [
        {"parameter": "x", "pass": "positional"},
        {"parameter": "y", "pass": "positional", "coerce": "date"},
        {"parameter": "z", "coerce": "enum", "enum": f"{library}.Color"},
    ]
    manifest = a_manifest(library, tmp_path, parameters, name="seen")
    args, kwargs = bind_without_function(spec_of(manifest.tools["bound"], manifest), {"y": "2026-01-01", "z": "red"})
    assert (list(map(repr, args)), kwargs) == (["<default>", "datetime.date(2026, 1, 1)"], {"z": "red"})
    assert library not in sys.modules


async def test_a_native_tool_may_hang_beside_it(host_with, library, tmp_path):
    @tool(run="inplace", read_only=True)
    async def relay(context: CallContext) -> int:
        """Call the bound tool."""
        return (await context.call("bound", {"a": 1, "b": 2})).data["result"]

    host = await host_with(a_plugin(a_manifest(library, tmp_path, [A, B])))
    host.add(relay)
    assert (await host.session().call("relay", {})).data == {"result": 3}
    _quiet.restore()
