"""Compiled functions: a stub says what they take, and something else has to say what they do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pytest

from pegboard_toolgen.discover._descriptions import without_signature
from pegboard_toolgen.discover.library import discover_library
from pegboard_toolgen.drafts import Discovery, Draft

STUB = "def ratio(a: str, b: str) -> float: ...\n"
TWIN = '''def ratio(a, b):
    """How alike two texts are."""
    return 1.0
'''
SAID = "How alike two texts are."
UNSAID = "lib.fuzz.ratio(a, b): its source does not say what it does."
FALLBACK = "try:\n    from lib.fuzz_cpp import ratio\nexcept ImportError:\n    from lib.fuzz_py import ratio\n"

DESCRIBED: Mapping[str, Mapping[str, str]] = {
    "the module takes it from the one or the other": {"fuzz.py": FALLBACK, "fuzz_py.py": TWIN},
    "on a branch of a condition": {
        "fuzz.py": "import os\nif os.name == 'x':\n    from .slow import ratio\nelse:\n    from ._c import ratio\n",
        "slow.py": TWIN,
    },
    "under another name": {
        "fuzz.py": "from .slow import measure as ratio\n",
        "slow.py": TWIN.replace("ratio", "measure"),
    },
    "all of a module": {"fuzz.py": "from .slow import *\nfrom ._c import *\n", "slow.py": TWIN},
    "it lies beside it": {"fuzz_py.py": TWIN},
    "it lies beside it, with a private name": {"_pure_fuzz.py": TWIN},
    "the stub itself says it": {"fuzz.pyi": TWIN.replace("(a, b)", "(a: str, b: str) -> float")},
    "one of its overloads says it": {
        "fuzz.pyi": "from typing import overload\n@overload\ndef ratio(a: str, b: str) -> float: ...\n"
        '@overload\ndef ratio(a: bytes, b: bytes) -> float:\n    """How alike two texts are."""\n'
    },
}
NOT_DESCRIBED: Mapping[str, Mapping[str, str]] = {
    "there is none": {},
    "a module of another name has one": {"buzz.py": TWIN, "fuzzy.py": TWIN},
    "its twin says nothing": {"fuzz_py.py": "def ratio(a, b): return 1.0\n"},
    "the import leads back to itself": {"fuzz.py": "from lib.fuzz import ratio\n"},
}


@pytest.fixture
def laid(tmp_path: Path) -> Path:
    """A package `lib` whose module `fuzz` is compiled, with a stub."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("from lib import fuzz\n__all__ = ['fuzz']\n")
    (tmp_path / "lib" / "fuzz.pyi").write_text(STUB)
    return tmp_path


def _discovered(root: Path, files: Mapping[str, str]) -> Discovery:
    for name, text in files.items():
        (root / "lib" / name).write_text(text)
    return discover_library("lib", search_paths=[root])


def _ratio(found: Discovery) -> Draft:
    (draft,) = (one for one in found.drafts if one.id == "python:lib.fuzz.ratio")
    return draft


@pytest.mark.parametrize("files", DESCRIBED.values(), ids=DESCRIBED)
def test_a_compiled_function_is_described_by_what_says_it(laid: Path, files: Mapping[str, str]) -> None:
    assert _ratio(_discovered(laid, files)).description == SAID


@pytest.mark.parametrize("files", NOT_DESCRIBED.values(), ids=NOT_DESCRIBED)
def test_a_compiled_function_that_nothing_describes_says_so(laid: Path, files: Mapping[str, str]) -> None:
    draft = _ratio(_discovered(laid, files))
    assert draft.description == UNSAID
    assert "its source describes it nowhere" in draft.notes


def test_a_compiled_function_does_what_its_twin_does(laid: Path) -> None:
    writes = "def ratio(a, b):\n    with open(a, 'w') as file:\n        file.write(b)\n    return 1.0\n"
    (draft,) = _discovered(laid, {"fuzz.py": FALLBACK, "fuzz_py.py": writes}).drafts
    assert draft.category == "write"
    assert [one["type"] for one in draft.input_schema["properties"].values()] == ["string", "string"]


def test_the_twin_of_a_compiled_function_is_not_offered_again(laid: Path) -> None:
    found = _discovered(laid, {"fuzz.py": FALLBACK, "fuzz_py.py": TWIN})
    assert [one.id for one in found.drafts] == ["python:lib.fuzz.ratio"]
    assert not [one for one in found.left_out if one.offers]


def test_a_function_with_a_body_of_its_own_has_no_twin(laid: Path) -> None:
    found = _discovered(laid, {"fuzz.py": "def ratio(a, b): return 2.0\n", "fuzz_py.py": TWIN})
    assert _ratio(found).description == UNSAID


@pytest.mark.parametrize(
    ("signature", "passed", "required"),
    [
        ("__a: str, b: str", {"a": "positional", "b": "positional"}, ["a", "b"]),
        ("__a: str, __b: str = ...", {"a": "positional", "b": "positional"}, ["a"]),
        ("a: str, /, b: str", {"a": "positional", "b": "positional"}, ["a", "b"]),
        ("a: str, b: str, c: str = ...", {"a": "positional", "b": "positional", "c": "keyword"}, ["a", "b"]),
        ("__a: str, /, *, b: str", {"a": "positional", "b": "keyword"}, ["a", "b"]),
        ("__a__: str, b: str", {"__a__": "positional", "b": "positional"}, ["__a__", "b"]),
        ("a: str, *, __b: str", {"a": "positional", "__b": "keyword"}, ["a", "__b"]),
    ],
)
def test_what_a_compiled_function_needs_goes_by_its_place(
    laid: Path, signature: str, passed: Mapping[str, str], required: list[str]
) -> None:
    """Its names in the stub are often others than its own, as of jellyfish; two underscores say that there are none."""
    draft = _ratio(_discovered(laid, {"fuzz.pyi": f"def ratio({signature}) -> float: ...\n"}))
    assert {one["parameter"]: one["pass"] for one in draft.binding["parameters"]} == passed
    assert draft.input_schema["required"] == required


@pytest.mark.parametrize(
    ("docstring", "rest"),
    [
        ("ratio(a, b)\n--\n\nHow alike.", "How alike."),
        ("ratio(a: str, b: str = '(') -> float\nHow alike.", "How alike."),
        ("fuzz.ratio(a, b, /)\n\nHow alike.", "How alike."),
        ("ratio(a, b)", ""),
        ("ratio(a, b) says how alike two texts are.", "ratio(a, b) says how alike two texts are."),
        ("ratios(a, b)\nHow alike.", "ratios(a, b)\nHow alike."),
        ("How alike.", "How alike."),
    ],
)
def test_a_signature_that_a_compiler_wrote_is_no_description(docstring: str, rest: str) -> None:
    assert without_signature(docstring, "lib.fuzz.ratio").strip() == rest


@hypothesis.given(st.text(), st.from_regex(r"[a-z]{1,5}(\.[a-z]{1,5}){0,2}", fullmatch=True))
def test_a_docstring_loses_at_most_its_first_lines(docstring: str, path: str) -> None:
    assert docstring.endswith(without_signature(docstring, path))


def test_overloads_keep_the_places_of_a_plain_name_before_one_of_two_underscores(laid: Path) -> None:
    stub = (
        "from typing import overload\n@overload\ndef ratio(a: list[int]) -> float: ...\n"
        "@overload\ndef ratio(a: int, __b: int, *more: int) -> float: ...\n"
    )
    draft = _ratio(_discovered(laid, {"fuzz.pyi": stub}))
    passed = [(one["parameter"], one["pass"]) for one in draft.binding["parameters"]]
    assert passed == [("a", "positional"), ("b", "positional"), ("more", "spread")]
