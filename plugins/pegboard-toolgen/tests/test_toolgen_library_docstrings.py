"""What docstrings and bodies of a library say: descriptions, errors, examples, effects, and whether it runs code."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pegboard_toolgen.discover._examples import as_argument, fits, read_examples, read_readme
from pegboard_toolgen.discover._types import MISSING
from pegboard_toolgen.discover.library import discover_library
from pegboard_toolgen.drafts import Draft

Drafted = Callable[..., Draft]


@pytest.fixture
def draft(tmp_path: Path) -> Drafted:
    def make(text: str, name: str = "f") -> Draft:
        (tmp_path / "lib.py").write_text(textwrap.dedent(text))
        [one] = [
            one for one in discover_library("lib", search_paths=[tmp_path]).drafts if one.id == f"python:lib.{name}"
        ]
        return one

    return make


GOOGLE = """
Args:
    a: The first.
    b (int): The second.

Returns:
    The sum.

Raises:
    FileNotFoundError: If there is no file.
    lib.BadThing: If it is bad.
"""
NUMPY = """
Parameters
----------
a
    The first.
b : int
    The second.

Returns
-------
int
    The sum.

Raises
------
FileNotFoundError
    If there is no file.
lib.BadThing
    If it is bad.
"""
SPHINX = """
:param a: The first.
:param b: The second.
:type b: int
:returns: The sum.
:raises FileNotFoundError: If there is no file.
:raises lib.BadThing: If it is bad.
"""


@pytest.mark.parametrize("style", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_each_style_of_docstring_gives_texts_types_and_errors(draft: Drafted, style: str) -> None:
    doc = textwrap.indent(f'"""Add :func:`two` things.\n{style}"""', "    ")
    made = draft(f"class BadThing(KeyError): ...\ndef f(a: str, b):\n{doc}\n    return b\n")
    assert made.description == "Add `two` things.\n\nReturns: The sum."
    assert made.input_schema["properties"] == {
        "a": {"type": "string", "description": "The first."},
        "b": {"type": "integer", "description": "The second."},
    }
    assert made.binding["exceptions"] == [
        {"type": "lib.BadThing", "code": "INVALID_INPUT"},
        {"type": "FileNotFoundError", "code": "NOT_FOUND"},
    ]
    assert made.errors == [
        {"code": "NOT_FOUND", "when": "FileNotFoundError: If there is no file."},
        {"code": "INVALID_INPUT", "when": "BadThing: If it is bad."},
    ]


def test_exceptions_that_a_body_raises_get_codes_the_special_ones_first(draft: Drafted) -> None:
    made = draft(
        """
        class Fault(Exception): ...
        class ThingNotFound(Fault): ...
        class InvalidThing(Fault): ...
        class Inherited(UnicodeError): ...
        def f(a: int):
            if a == 1: raise OSError("the disk\tis\x1b[1m full")
            if a == 2: raise FileExistsError
            if a == 3: raise ThingNotFound(a)
            if a == 4: raise InvalidThing(a)
            if a == 5: raise Fault(a)
            if a == 6: raise Inherited(a)
            if a == 7: raise NotImplementedError
            def inner(): raise TimeoutError
            return a
        """
    )
    assert [(one["type"], one["code"]) for one in made.binding["exceptions"]] == [
        ("lib.Fault", "UPSTREAM_ERROR"),
        ("lib.Inherited", "INVALID_INPUT"),
        ("lib.InvalidThing", "INVALID_INPUT"),
        ("lib.ThingNotFound", "NOT_FOUND"),
        ("FileExistsError", "CONFLICT"),
        ("OSError", "UPSTREAM_ERROR"),
    ]
    assert made.errors[0] == {"code": "UPSTREAM_ERROR", "when": "OSError: the disk is full"}


def test_a_description_leaves_examples_and_directives_out_and_is_never_empty(draft: Drafted) -> None:
    text = '''
    def f(a):
        """Do it.

        .. versionadded:: 1.0

        >>> f(1)
        1

        ```python
        f(2)
        ```

        More words.

        Examples:
            >>> f(3)
            3
        """
        return a
    def g(a): return a
    def h(a):
        """https://example.org/h"""
        return a
    '''
    assert draft(text).description == "Do it.\n\nMore words."
    assert draft(text, "g").description == "Calls lib.g(a)."
    assert draft(text, "h").description == "Calls lib.h(a). https://example.org/h"


def test_doctests_become_examples_with_their_results(draft: Drafted) -> None:
    made = draft(
        '''
        import datetime
        from decimal import Decimal
        def f(value: "datetime.timedelta | float", unit: str = "s", *, places: "Decimal | None" = None) -> str:
            """Tell.

            >>> import datetime as dt
            >>> delta = dt.timedelta(days=1, milliseconds=2500)
            >>> f(delta, "d")
            'one'
            >>> lib.f(10**3 / 4,
            ...       places=Decimal("1.5"))
            'two'
            >>> f(3)  # doctest: +SKIP
            'three'
            >>> f(-2)
            <object at 0x1>
            >>> f(4, 5)
            'wrong type'
            >>> f(open("x"))
            'runs'
            >>> g(1)
            'another'
            >>> f(1, 2, 3, 4)
            'too many'
            >>> f(1) == 2
            False
            """
            return ""
        '''
    )
    assert made.examples == (
        {"input": {"value": "P1DT2.5S", "unit": "d"}, "output": {"result": "one"}},
        {"input": {"value": 250.0, "places": "1.5"}, "output": {"result": "two"}},
        {"input": {"value": 3}},
        {"input": {"value": -2}},
    )


def test_a_result_that_is_an_object_is_the_output_itself(draft: Drafted) -> None:
    made = draft('def f(*a: int):\n    """Do.\n\n    >>> f(1, 2)\n    {"a": (1, None)}\n    """\n    return {}\n')
    assert made.examples == ({"input": {"a": [1, 2]}, "output": {"a": [1, None]}},)


def test_the_page_of_a_distribution_gives_examples_too(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text("class L:\n    def __call__(self, *words: str) -> int: return 1\nham = L()\n")
    (tmp_path / "lib-1.dist-info").mkdir()
    (tmp_path / "lib-1.dist-info/METADATA").write_text(
        "Name: lib\nVersion: 1\n\n```python\nlib.ham('a', 'b')\n# 1\nlib.ham(open('x'))\n# 2\nham('c')\n# 3\n```\n"
    )
    [draft] = discover_library("lib", search_paths=[tmp_path]).drafts
    assert draft.examples == ({"input": {"words": ["a", "b"]}, "output": {"result": 1}},)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("datetime.date(2020, 1, 2)", "2020-01-02"),
        ("dt.datetime(2020, 1, 2, 3)", "2020-01-02T03:00:00"),
        ("datetime(2020, 1, 2)", "2020-01-02T00:00:00"),
        ("Fraction(1, 3)", "1/3"),
        ("Path('a/b')", "a/b"),
        ("b'abc'", "YWJj"),
        ("{'b', 'a'}", ["a", "b"]),
        ("(1, [2.5, None])", [1, [2.5, None]]),
        ("{'a': {'b': True}}", {"a": {"b": True}}),
        ("float(1 / 4)", 0.25),
        ("-timedelta(1)", MISSING),
        ("float('inf')", MISSING),
        ("10 ** 10 ** 10", MISSING),
        ("2 ** 100000", MISSING),
        ("'x' * 10 ** 9", MISSING),
        ("1 / 0", MISSING),
        ("__import__('os')", MISSING),
        ("(lambda: 1)()", MISSING),
        ("[x for x in 'abc']", MISSING),
        ("f'{1}'", MISSING),
        ("{1: 2}", MISSING),
        ("{[1]}", MISSING),
        ("unknown", MISSING),
        ("int('9' * 5000)", MISSING),
    ],
)
def test_values_of_examples_are_read_and_never_run(code: str, value: Any) -> None:
    calls = read_examples(f">>> f({code})\n1\n")
    told = as_argument(calls[0].arguments[0]) if calls else MISSING
    assert told is MISSING if value is MISSING else told == value


@given(st.text(st.sampled_from(">. \n()[]{}'\"=+-*/,#f1_dtxe\\"), max_size=200))
@settings(max_examples=70)
def test_any_text_has_examples_or_none(text: str) -> None:
    """Reading examples raises nothing and gives only what JSON has a form for."""
    for call in [*read_examples(text), *read_readme(text)]:
        for one in (*call.arguments, *call.keywords.values()):
            assert as_argument(one) is MISSING or fits(as_argument(one), {})


@pytest.mark.parametrize(
    ("value", "schema", "does_fit"),
    [
        (1, {"type": "number"}, True),
        (True, {"type": "integer"}, False),
        (1, {"enum": [True]}, False),
        ([1, 2], {"type": "array", "items": {"type": "integer"}, "maxItems": 1}, False),
        ([1, 1], {"type": "array", "uniqueItems": True}, False),
        ([1, "a", 2.5], {"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "number"}}, True),
        ({"a": 1}, {"properties": {}, "additionalProperties": False}, False),
        ({}, {"required": ["a"]}, False),
        ("2020-01-01", {"type": "string", "format": "date-time"}, False),
        ("2020-01-01", {"anyOf": [{"type": "null"}, {"type": "string", "format": "date"}]}, True),
    ],
)
def test_examples_are_held_against_the_schema(value: Any, schema: dict[str, Any], does_fit: bool) -> None:
    assert fits(value, schema) is does_fit


@pytest.mark.parametrize(
    ("text", "category", "idempotency"),
    [
        ("def f(a: int) -> int: return a", "read", "idempotent"),
        ("def f(a: int): yield a", "read", "idempotent"),
        ("def f(a: int) -> None: print(a)", "write", None),
        ("def f(a: int): pass", None, None),
        ("_now = {}\ndef f(a: int):\n    _now['a'] = a\n    return a", "write", None),
        ("_now = []\ndef f(a: int):\n    _now.append(a)\n    return a", "write", None),
        ("_cache = {}\ndef f(a: int):\n    _cache['a'] = a\n    return a", "read", "idempotent"),
        ("n = 0\ndef f(a: int):\n    global n\n    n += a\n    return n", "write", None),
        ("import os\ndef f(a: str):\n    os.environ['A'] = a\n    return a", "write", None),
        ("import os\ndef f(a: str):\n    os.remove(a)\n    return a", "write", None),
        ("def _w(a): open(a, 'w')\ndef f(a: str):\n    _w(a)\n    return a", "write", None),
        ("def f(a: str) -> str:\n    with open(a) as file:\n        return file.read()", "read", "idempotent"),
        ("from pathlib import Path\ndef f(a: str):\n    Path(a).write_text('x')\n    return a", "write", None),
        ("import urllib.request\ndef f(a: str): return urllib.request.urlopen(a)", None, None),
        ("def f(a: list):\n    b = []\n    b.append(a)\n    a.sort()\n    return b", "read", "idempotent"),
    ],
)
def test_what_a_body_changes_decides_the_category(
    draft: Drafted, text: str, category: str | None, idempotency: str | None
) -> None:
    made = draft(text)
    assert (made.category, made.idempotency) == (category, idempotency)
    assert made.risk == ("low" if category == "read" else None)


@pytest.mark.parametrize(
    ("name", "category", "idempotency"),
    [
        ("set_locale", "write", "idempotent"),
        ("delete_all", "write", "idempotent"),
        ("sendMail", "write", "not_idempotent"),
        ("write", "write", None),
        ("settle", "read", "idempotent"),
        ("check_value", "read", "idempotent"),
    ],
)
def test_the_verb_of_a_name_decides_too(draft: Drafted, name: str, category: str, idempotency: str | None) -> None:
    made = draft(f"def {name}(a: int) -> int: return a", name)
    assert (made.category, made.idempotency) == (category, idempotency)


def test_a_check_that_only_raises_reads(draft: Drafted) -> None:
    made = draft("def validate(a: int) -> None:\n    if a: raise ValueError(a)", "validate")
    assert made.category == "read"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(a: str): return eval(a)", "it evaluates text as code"),
        ("def f(a: str):\n    b = a.strip()\n    exec(b)", "it runs text as code"),
        ("import os\ndef f(a: str): return os.system(f'ls {a}')", "it runs a shell"),
        ("from subprocess import run as go\ndef f(a: list[str]): return go(a)", "it runs a program"),
        ("import pickle\ndef f(a: bytes): return pickle.loads(a)", "it unpickles, which runs code"),
        ("import importlib\ndef f(a: str): return importlib.import_module(a)", "it imports what its caller names"),
        ("def _e(a): return eval(a)\ndef f(a: str): return _e(a)", "it evaluates text as code"),
        ("import yaml\ndef f(a: str): return yaml.load(a, yaml.Loader)", "it may build any object from YAML"),
        ("import yaml\ndef f(a: str): return yaml.load(a, yaml.SafeLoader)", None),
        ("import importlib\ndef f(a: str): return importlib.import_module('json').loads(a)", None),
        ("import re\ndef f(a: str): return re.compile(a).pattern", None),
        ("def f(a: str):\n    def eval(b): return b\n    return eval(a)", None),
    ],
)
def test_what_runs_code_is_marked(draft: Drafted, text: str, why: str | None) -> None:
    made = draft(text)
    assert made.runs_code == why
    assert made.category != "read" or why is None


def test_a_name_can_mark_what_runs_code(draft: Drafted) -> None:
    assert draft("def unsafe_load(a: str) -> str: return a", "unsafe_load").runs_code is not None


def test_a_text_that_is_opened_is_a_path(draft: Drafted) -> None:
    made = draft("def f(name: str, mode: str) -> str:\n    with open(name) as file:\n        return file.read() + mode")
    assert made.binding["parameters"] == [
        {"parameter": "name", "pass": "keyword", "coerce": "path"},
        {"parameter": "mode", "pass": "keyword"},
    ]
    assert {"type": "FileNotFoundError", "code": "NOT_FOUND"} in made.binding["exceptions"]
