"""Sources that nobody vouches for: a bad file costs itself, nothing runs, and the answer is always the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pegboard_toolgen.discover import _sources
from pegboard_toolgen.discover.library import discover_library
from pegboard_toolgen.drafts import Discovery, DiscoveryError

Make = Callable[..., Discovery]
GOOD = "def good(a: int) -> int:\n    return a\n"


@pytest.fixture
def discover(tmp_path: Path) -> Make:
    def make(files: Mapping[str, str | bytes], name: str = "lib") -> Discovery:
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(text if isinstance(text, bytes) else text.encode())
        return discover_library(name, search_paths=[tmp_path])

    return make


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"def f(:\n", "its source cannot be read (SyntaxError)"),
        (b"x = '\xff\xfe'\n", "its file is not text in the encoding it claims"),
        (b"# coding: no-such-code\n", "its file is not text in the encoding it claims"),
        (b"x = 1\0\n", "its source cannot be read"),
        (b"x = " + b"(" * 500 + b")" * 500, "its source cannot be read"),
        (b"x = " + b"-" * 90_000 + b"1", "its source cannot be read"),
        (b"x: " + b"list[" * 150 + b"int" + b"]" * 150, None),
        # Python 3.12 reads a chain of any length.
        (b"x = " + b"a." * 9_000 + b"a", None if sys.version_info >= (3, 12) else "its source cannot be read"),
        (b"if x:\n" + b"".join(b" " * depth + b"if x:\n" for depth in range(1, 99)) + b" " * 99 + b"pass", None),
    ],
)
def test_a_bad_module_costs_itself_and_is_reported(discover: Make, bad: bytes, why: str | None) -> None:
    found = discover({"lib/__init__.py": "", "lib/bad.py": bad, "lib/good.py": GOOD})
    assert [draft.id for draft in found.drafts] == ["python:lib.good.good"]
    whys = {one.id: one.why for one in found.left_out}
    assert whys.get("module lib.bad", "").startswith(why or "")


def test_an_encoding_that_is_claimed_and_kept_is_read(discover: Make) -> None:
    text = '# -*- coding: latin-1 -*-\r\ndef f(a="é"):\r\n    """Grüße."""\r\n    return a\r\n'
    [draft] = discover({"lib/__init__.py": text.encode("latin-1")}).drafts
    assert draft.description == "Grüße."
    assert draft.input_schema["properties"]["a"]["default"] == "é"


def test_a_bad_first_file_is_an_error(discover: Make) -> None:
    with pytest.raises(DiscoveryError, match="lib cannot be read"):
        discover({"lib/__init__.py": "def f(:"})


def test_a_file_that_is_too_big_is_not_read(discover: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sources, "MAX_FILE_BYTES", 100)
    found = discover({"lib/__init__.py": "", "lib/big.py": "# " + "x" * 200, "lib/good.py": GOOD})
    assert [one.why for one in found.left_out] == ["its file has more than 100 bytes"]
    assert len(found.drafts) == 1


def test_a_package_with_too_many_files_is_read_in_part(discover: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sources, "MAX_FILES", 3)
    found = discover(
        {"lib/__init__.py": "", **{f"lib/m{number}.py": f"def f{number}(): return 1\n" for number in range(9)}}
    )
    assert [draft.id for draft in found.drafts] == ["python:lib.m0.f0", "python:lib.m1.f1"]
    assert [one.why for one in found.left_out] == ["the package has more files or bytes than are read"]


def test_links_that_leave_the_package_and_files_that_are_none_are_not_read(discover: Make, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("def secret(): return 1\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/away.py").symlink_to(tmp_path / "secret.py")
    (tmp_path / "lib/loop.py").symlink_to(tmp_path / "lib/loop.py")
    (tmp_path / "lib/inside.py").symlink_to(tmp_path / "lib/good.py")
    (tmp_path / "lib/sub").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "lib/pipe.py")
    found = discover({"lib/__init__.py": "", "lib/good.py": GOOD})
    assert sorted(draft.id for draft in found.drafts) == ["python:lib.good.good", "python:lib.inside.good"]
    assert {one.id: one.why for one in found.left_out} == {
        "module lib.away": "its file is a link that leaves the package",
        "module lib.loop": "its file cannot be read",
        "module lib.pipe": "its file is not a regular file",
    }


def test_re_exports_in_a_circle_end(discover: Make) -> None:
    found = discover(
        {
            "lib/__init__.py": "from lib.a import *\nfrom lib.a import x, y\n__all__ = ['x', 'y', 'good']\n" + GOOD,
            "lib/a.py": "from lib.b import *\nfrom lib.b import x\nfrom lib import y\n__all__ = ['x'] + b.__all__\n",
            "lib/b.py": "from lib.a import *\nfrom lib.a import x, __all__ as more\n__all__ = ['x'] + more\n",
        }
    )
    assert [draft.id for draft in found.drafts] == ["python:lib.good"]
    assert {one.id for one in found.left_out} >= {"python:lib.x", "python:lib.y"}


def test_types_and_classes_in_a_circle_end(discover: Make) -> None:
    found = discover(
        {
            "lib/__init__.py": """
A = 'B'
B = 'A'
class X(Y): ...
class Y(X):
    def __call__(self, n: int) -> int: return n
x = X()
y = Y()
def f(a: A = None, b: 'dict[str, list[f]]' = None): return 1
"""
        }
    )
    assert [draft.id for draft in found.drafts] == ["python:lib.f", "python:lib.y"]
    assert found.drafts[0].input_schema["properties"] == {}
    assert len([note for note in found.drafts[0].notes if "is dropped" in note]) == 2


def test_nothing_of_the_library_runs(discover: Make, tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').write('x')\n"
    files = {
        "lib/__init__.py": trap + "from .core import f\n",
        "lib/core.py": trap + "def f(a=" + trap.strip() + "): return a\n",
        "lib/conftest.py": trap,
        "lib.pth": "import os; " + trap,
        "lib-1.dist-info/METADATA": "Name: lib\nVersion: 1\n",
    }
    assert len(discover(files).drafts) == 1
    assert not (tmp_path / "ran").exists()
    assert "lib" not in sys.modules


def test_texts_are_sanitised_and_bounded(discover: Make) -> None:
    text = (
        'def f(a=1):\n    """Do \\x1b[31mred\\x1b[0m \\u202egnp\\u202c.\\0\\u200b\\U000e0041 '
        + "long " * 5_000
        + '\n\n    Args:\n        a: Say \\x1b]8;;http://x\\x07so.\n    """\n    return a\n'
    )
    [draft] = discover({"lib/__init__.py": text}).drafts
    assert draft.description.startswith("Do red gnp. long")
    assert len(draft.description) < 3_000
    assert draft.description.replace("\n", "").isprintable()


def test_thousands_of_parameters_and_members_are_bounded(discover: Make) -> None:
    many = ", ".join(f"p{number}=0" for number in range(5_000))
    literal = ", ".join(f"'{number}'" for number in range(5_000))
    text = f"from typing import Literal\ndef f({many}): return 1\nX = Literal[{literal}]\ndef g(x: X): return 1\n"
    found = discover({"lib/__init__.py": text})
    assert len(found.drafts[0].input_schema["properties"]) == 100
    assert len(json.dumps([draft.input_schema for draft in found.drafts])) < 20_000


@given(
    st.lists(
        st.sampled_from(
            [
                "def",
                "class",
                "f",
                "x",
                ":",
                "(",
                ")",
                "[",
                "]",
                ",",
                "->",
                "=",
                "*",
                "**",
                "/",
                "|",
                ".",
                "''",
                '"""',
                "\n",
                "\n",
                "",
                "",
                "",
                "return",
                "lambda",
                "import",
                "from",
                "typing",
                "TYPE_CHECKING",
                "__all__",
                "['f']",
                "int",
                "str",
                "None",
                "Literal",
                "Optional",
                "@",
                "overload",
                "async",
                "yield",
                "1",
                "0x",
                ">>>",
                "if",
                "else",
                "x.",
                "self",
                "__call__",
            ]
        ),
        max_size=60,
    )
)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_source_gives_a_discovery_or_its_own_error(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "lib.py").write_text(" ".join(words))
    try:
        found = discover_library("lib", search_paths=[tmp_path])
    except DiscoveryError:
        return
    json.dumps(attrs.asdict(found))


@given(
    annotation=st.text("ABCabc[]()|,.'\"*: -1", max_size=40),
    default=st.text("ABC019'\"[](){}.,-e+ ", max_size=20),
    docstring=st.lists(
        st.sampled_from([*"ab:\n >.=(){}[]'-_0`*\\", "Args:\n", "\n    ", "\n>>> f(", ":param a:", "---\n"]),
        max_size=80,
    ).map("".join),
)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_annotation_default_and_docstring_gives_a_tool_or_a_reason(
    tmp_path: Path, annotation: str, default: str, docstring: str
) -> None:
    (tmp_path / "lib.py").write_text(
        f"def f(a: {annotation!r}, b={default!r}, *, c: {docstring!r} = None):\n    {docstring!r}\n    return a\n"
        "def g(x=1):\n    return x\n"
    )
    found = discover_library("lib", search_paths=[tmp_path])
    assert "python:lib.g" in {draft.id for draft in found.drafts}
    assert len(found.drafts) + len(found.left_out) == 2


SOURCE = '''
from enum import Enum
from typing import Union, Literal
class Kind(Enum):
    A = "a"
    B = "b"
def f(a: Union[set[str], Kind, None, Literal["x", "y"]] = None, **rest: int) -> "dict[str, int]":
    """Do.

    >>> f({"b", "a", "c"}, z=1)
    {'a': 1}

    Raises:
        KeyError: never
        ValueError: ever
    """
    if a: raise OSError
    return {}
class C:
    def __call__(self, *x): return 1
    def m(self): return 1
c, d = C(), C()
e = C()
'''
CHILD = """
import attrs, json, sys
from pegboard_toolgen.discover.library import discover_library
print(json.dumps(attrs.asdict(discover_library("lib", search_paths=[sys.argv[1]]))))
"""


def test_the_answer_is_the_same_to_the_byte_elsewhere_and_with_other_hashes(tmp_path: Path) -> None:
    answers = set()
    for seed, folder in (("1", "one"), ("2", "another/deeper"), ("3", "third")):
        home = tmp_path / folder / "lib"
        home.mkdir(parents=True)
        (home / "__init__.py").write_text(SOURCE)
        (home / "more.py").write_text("def more(): return 1\n")
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(home.parent)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        answers.add(done.stdout)
        assert str(tmp_path) not in done.stdout
    assert len(answers) == 1
