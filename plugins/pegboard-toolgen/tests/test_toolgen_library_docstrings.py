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
    assert draft(text, "g").description == "lib.g(a): its source does not say what it does."
    assert draft(text, "h").description == "lib.h(a): its source does not say what it does. https://example.org/h"


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


def test_a_function_that_destroys_is_of_high_risk(draft: Drafted) -> None:
    assert draft("import os\ndef f(a: str):\n    'Delete a file.'\n    os.remove(a)").risk == "high"
    assert draft("import os\ndef f(a: str):\n    'Make a file.'\n    os.mkdir(a)").risk is None


VERBS = ("set_locale", "delete_all", "sendMail", "write", "add", "make_words", "create_label", "copy", "settle")


@pytest.mark.parametrize("name", VERBS)
def test_a_function_that_only_computes_reads_whatever_its_verb(draft: Drafted, name: str) -> None:
    made = draft(
        f"def _sum(a):\n    found = []\n    found.append(a)\n    return sum(found)\n"
        f"def {name}(a: int) -> int: return _sum(a)",
        name,
    )
    assert (made.category, made.idempotency) == ("read", "idempotent")


@pytest.mark.parametrize(
    ("name", "body", "category", "idempotency"),
    [
        ("set_locale", "return other.set_locale(a)", "write", "idempotent"),
        ("delete_all", "return a.delete()", "write", "idempotent"),
        ("sendMail", "return other.client().send(a)", "write", "not_idempotent"),
        ("write", "print(a)", "write", None),
        ("apply", "return a.delete()", None, None),
        ("apply", "return other.put_object(a)", None, None),
        ("apply", "return other.session.execute(a)", None, None),
        ("apply", "pass; other.apply(a)", None, None),
        ("apply", "text = io.StringIO(); text.write(a); return text.getvalue()", "read", "idempotent"),
        ("apply", "found = {}; found.update(a); return found", "read", "idempotent"),
        ("apply", "return re.match('a', a).start()", "read", "idempotent"),
        ("apply", "with open('x', 'w') as file: file.write(a)\n    return a", "write", None),
        ("apply", "return gzip.open(a, 'wt')", "write", None),
        ("apply", "return sqlite3.connect(a).total_changes", None, None),
        ("apply", "return store.add(a)", "write", None),
        ("apply", "store.items[a] = 1; return a", "write", None),
    ],
)
def test_what_promises_a_change_and_cannot_be_looked_into_is_no_read(
    draft: Drafted, name: str, body: str, category: str | None, idempotency: str | None
) -> None:
    made = draft(f"import gzip, io, other, re, sqlite3\nstore = set()\ndef {name}(a: str):\n    {body}", name)
    assert (made.category, made.idempotency) == (category, idempotency)
    assert bool(made.unknown) is (category is None)
    assert any(note.startswith("counts as a write: it ") for note in made.notes) is (category == "write")


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("def f(a: str):\n    if a not in t: t[a] = a.upper()\n    return t[a]", "read"),
        (
            "def f(a: str):\n    x = t.get(a)\n    if x is None:\n        x = a * 2\n        t[a] = x\n    return x",
            "read",
        ),
        ("def f(a: str): return t.setdefault(a, a.upper())", "read"),
        ("def f(a: str):\n    global t\n    if t is None: t = open('x').read()\n    return t[a]", "read"),
        ("def f(a: str):\n    global t\n    if not t:\n        t = dict()\n    return t.get(a)", "read"),
        ("def f(a: str, b: str):\n    if a not in t: t[a] = b\n    return t[a]", "write"),
        ("def f(a: str):\n    if a not in t: t[a] = a.upper()", "write"),
        ("def f(a: str):\n    global t\n    if t is None: t = {}", "write"),
        ("def f(a: str):\n    global t\n    if t is None: t = a\n    return t", "write"),
        ("def f(a: str):\n    t.append(a.upper())\n    return a", "write"),
        (
            "def f(a: str):\n    global t\n    if t is None:\n        with open('x') as x: t = dict(x)\n    return t",
            "read",
        ),
    ],
)
def test_what_a_function_keeps_for_itself_is_no_change(draft: Drafted, text: str, category: str) -> None:
    """A table of what was computed, and a variable that is filled at its first use; what fills it for others is one."""
    made = draft(f"t = None\n{text}")
    assert (made.category or "write") == category


def test_a_switch_that_promises_a_change_is_no_read(draft: Drafted) -> None:
    """`Folders(ensure_exists=True).data` makes a folder in a property that nobody looked into."""
    made = draft("def f(a: str, ensure_exists: bool = False) -> str: return other(a, ensure_exists).data")
    assert (made.category, made.unknown) == (None, "its parameter ensure_exists promises a change")


def test_the_methods_of_every_named_tuple_change_nothing(draft: Drafted) -> None:
    text = (
        "from typing import NamedTuple\nclass C(NamedTuple):\n    a: str\n"
        "def f(a: str) -> C: return C._make([a])._replace(a=a)"
    )
    assert draft(text).category == "read"


def test_what_a_wrapped_function_requires_goes_by_its_place(draft: Drafted) -> None:
    """A wrapper of `*args, **kwargs` may look at `args[0]`."""
    text = (
        "def deco(g):\n    def inner(*args, **kwargs): return g(*args, **kwargs)\n    return inner\n"
        "@deco\ndef f(a: str, b: str, c: int = 1, *, d: str) -> str: return a"
    )
    bound = draft(text).binding["parameters"]
    ways = [(one["parameter"], one["pass"]) for one in bound]
    assert ways == [("a", "positional"), ("b", "positional"), ("c", "keyword"), ("d", "keyword")]


@pytest.mark.parametrize(
    ("shown", "schema"),
    [
        ("'a'", {"type": "string"}),
        ("2", {"type": "number"}),
        ("True", {"type": "boolean"}),
        ("[1]", {"type": "array"}),
        ("{'a': 1}", {"type": "object"}),
    ],
)
def test_examples_give_a_type_and_it_is_called_a_guess(draft: Drafted, shown: str, schema: dict[str, Any]) -> None:
    made = draft(f'def f(a):\n    """Do.\n\n    >>> f({shown})\n    1\n    """\n    return 1')
    assert made.input_schema["properties"]["a"] == schema
    assert "a: its source gives no type; guessed from its examples" in made.notes


def test_one_place_that_runs_what_is_its_own_is_told_once_by_its_shortest_way(draft: Drafted) -> None:
    made = draft(
        "import pickle\ndef _a(): return pickle.load(open('x', 'rb'))\ndef _b(): return _a()\n"
        "def f(c: str): return _b()[c], _a()[c]"
    )
    told = [note for note in made.notes if "pickle" in note]
    assert told == ["it unpickles, which runs code, of its own (pickle.load by _a): no value of the caller reaches it"]


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("def ratio(a: str, b: str) -> float: ...", "read"),
        ("def is_set(a: str) -> bool: ...", "read"),
        ("def dump_all(a: str) -> int: ...", "write"),
        ("def bulk_update(a: str) -> int: ...", "write"),
        ("def go(a: str) -> None: ...", "write"),
        ("def go(a: str) -> bool: ...", None),
        ("def go(a: str): ...", None),
    ],
)
def test_without_a_body_every_word_of_the_name_counts(draft: Drafted, text: str, category: str | None) -> None:
    name = text[4 : text.index("(")]
    assert draft(text, name).category == category


def test_a_check_that_only_raises_reads(draft: Drafted) -> None:
    made = draft("def validate(a: int) -> None:\n    if a: raise ValueError(a)", "validate")
    assert made.category == "read"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def f(a: str): return eval(a)", "it evaluates text as code (a reaches eval)"),
        ("def f(a: str):\n    b = a.strip()\n    exec(b)", "it runs text as code (a reaches exec)"),
        ("def f(a: str): exec(compile(a, '', 'exec'))", "it runs text as code (a reaches exec)"),
        ("import os\ndef f(a: str): return os.system(f'ls {a}')", "it runs a shell (a reaches os.system)"),
        (
            "from subprocess import run as go\ndef f(a: list[str]): return go(a)",
            "it runs a program (a reaches subprocess.run)",
        ),
        (
            "import pickle\ndef f(a: bytes): return pickle.loads(a)",
            "it unpickles, which runs code (a reaches pickle.loads)",
        ),
        (
            "import importlib\ndef f(a: str): return importlib.import_module(a)",
            "it imports what its caller names (a reaches importlib.import_module)",
        ),
        ("def _e(a): return eval(a)\ndef f(b: str): return _e(b)", "it evaluates text as code (b reaches eval by _e)"),
        (
            "def _e(x, y): return eval(y)\ndef _d(y): return _e(1, y=y)\ndef f(a: str, b: str): return _d([b])",
            "it evaluates text as code (b reaches eval by _d, _e)",
        ),
        (
            "import pickle\ndef _data(p):\n    with open(p, 'rb') as f: return pickle.load(f)\n"
            "def f(a: str): return _data(f'/x/{a}')",
            "it unpickles, which runs code (a reaches pickle.load by _data)",
        ),
        (
            "import subprocess\ndef f(a: str):\n    b = ['x']\n    b.append(a)\n    return subprocess.run(b)",
            "it runs a program (a reaches subprocess.run)",
        ),
        ("def f(a: str):\n    for x in a.split(): eval(x)", "it evaluates text as code (a reaches eval)"),
        ("def f(a: str):\n    def g(): return a\n    return eval(g())", "it evaluates text as code (a reaches eval)"),
        ("def f(a: str): return eval((lambda x: x)(a))", "it evaluates text as code (a reaches eval)"),
        ("def f(a: str): return [eval(x) for x in [a]]", "it evaluates text as code (a reaches eval)"),
        (
            "class C:\n    def __init__(self, a): eval(a)\ndef f(a: str): return C(a)",
            "it evaluates text as code (a reaches eval by __init__)",
        ),
        ("def f(a: str):\n    if (b := a): return eval(b)", "it evaluates text as code (a reaches eval)"),
        (
            "import yaml\ndef f(a: str): return yaml.load(a, yaml.Loader)",
            "it may build any object from YAML (a reaches yaml.load)",
        ),
        ("def f(a: str): return list(map(eval, a))", "it evaluates text as code (a reaches eval)"),
        ("def f(a: str):\n    go = eval\n    return go(a)", "it evaluates text as code (a reaches eval)"),
        ("import os\ngo = os.system\ndef f(a: str): return go(a)", "it runs a shell (a reaches os.system)"),
        ("import os\ndef f(a: str): return os.spawnvp(0, a, [])", "it runs a program (a reaches os.spawnvp)"),
        (
            "import subprocess\ndef f(a: str): return subprocess.run(check=True, args=a)",
            "it runs a program (a reaches subprocess.run)",
        ),
        (
            "import subprocess\ndef f(a: str): return subprocess.run(['x'], executable=a)",
            "it runs a program (a reaches subprocess.run)",
        ),
        (
            "import pickle\ndef f(a: bytes): return pickle.Unpickler(a).load()",
            "it unpickles, which runs code (a reaches pickle.Unpickler)",
        ),
        ("import subprocess\ndef f(a: str): return (subprocess.PIPE, a)", None),
        ("import yaml\ndef f(a: str): return yaml.load(a, yaml.SafeLoader)", None),
        ("import importlib\ndef f(a: str): return importlib.import_module('json').loads(a)", None),
        ("import importlib\ndef f(a: str): return importlib.import_module(f'lib.data_{a}')", None),
        ("import importlib\ndef f(a: str): return importlib.import_module('.' + a, __package__)", None),
        ("import re\ndef f(a: str): return re.compile(a).pattern", None),
        ("def f(a: str): return compile(a, '', 'eval').co_names", None),
        ("def f(a: str):\n    def eval(b): return b\n    return eval(a)", None),
    ],
)
def test_what_runs_a_value_of_the_caller_is_marked_with_its_way(draft: Drafted, text: str, why: str | None) -> None:
    made = draft(text)
    assert made.runs_code == why
    assert made.category != "read" or why is None


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("import pickle\ndef f(a: str): return pickle.load(open('data.pickle', 'rb'))[a]", "read"),
        ("import pickle\nD = {}\ndef f(a: str): return pickle.loads(D[a])", "read"),
        ("import pickle\nD = {}\ndef f(a: str): return pickle.loads(D.get(a, b''))", "read"),
        ("import marshal\ndef _data():\n    return marshal.loads(b'x')\ndef f(a: str): return _data()[a]", "read"),
        ("def f(a: str): return eval('1 + 1') + len(a)", "read"),
        ("def f(a: str): return eval('x' if a == 'b' else 'y', {'x': 1, 'y': a})", "read"),
        ("import subprocess\ndef f(a: str): return subprocess.run(['ldd', '--version'], input=a)", None),
        ("import os\ndef f(a: bool): return os.popen('ls' if a else 'pwd').read()", None),
    ],
)
def test_data_of_its_own_is_a_note_and_no_refusal(draft: Drafted, text: str, category: str | None) -> None:
    made = draft(text)
    assert made.runs_code is None
    assert any(note.endswith("no value of the caller reaches it") for note in made.notes), made.notes
    assert made.category == category


def test_a_name_marks_what_cannot_be_looked_into(draft: Drafted) -> None:
    assert draft("def unsafe_load(a: str) -> str: ...", "unsafe_load").runs_code is not None
    assert draft("import x\ndef eval_text(a: str): return x.put(a)", "eval_text").runs_code is not None
    assert draft("def shell_quote(a: str) -> str: return repr(a)", "shell_quote").runs_code is None


def test_a_text_that_is_opened_is_a_path(draft: Drafted) -> None:
    made = draft("def f(name: str, mode: str) -> str:\n    with open(name) as file:\n        return file.read() + mode")
    assert made.binding["parameters"] == [
        {"parameter": "name", "pass": "keyword", "coerce": "path"},
        {"parameter": "mode", "pass": "keyword"},
    ]
    assert {"type": "FileNotFoundError", "code": "NOT_FOUND"} in made.binding["exceptions"]
