"""Which public names of a library become tools, by which path, and what is said of the others."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from pegboard_toolgen.discover.library import discover_library
from pegboard_toolgen.drafts import Discovery, DiscoveryError

Make = Callable[..., Discovery]


@pytest.fixture
def discover(tmp_path: Path) -> Make:
    def make(files: Mapping[str, str] | str, name: str = "lib", **options: object) -> Discovery:
        if isinstance(files, str):
            files = {"lib/__init__.py": files}
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(textwrap.dedent(text), encoding="utf-8")
        return discover_library(name, search_paths=[tmp_path], **options)  # type: ignore[arg-type]

    return make


def ids(found: Discovery) -> list[str]:
    return [draft.id.removeprefix("python:") for draft in found.drafts]


def whys(found: Discovery) -> dict[str, str]:
    return {one.id.removeprefix("python:"): one.why for one in found.left_out}


def test_what_all_names_is_public_and_nothing_else(discover: Make) -> None:
    found = discover("__all__ = ['f', '_g']\ndef f(): return 1\ndef _g(): return 1\ndef h(): return 1\n")
    assert ids(found) == ["lib.f"]
    assert whys(found)["lib._g"] == "its path leads through a private module"


def test_without_all_the_names_of_the_package_are_public_and_imports_from_elsewhere_are_not(discover: Make) -> None:
    found = discover(
        {
            "lib/__init__.py": "from json import dumps\nfrom lib._core import f, _g\ndef h(): return 1\n",
            "lib/_core.py": "from os.path import join\ndef f(): return 1\ndef _g(): return 1\ndef other(): return 1\n",
        }
    )
    assert ids(found) == ["lib.f", "lib.h"]


def test_a_re_export_is_named_by_its_shortest_path_and_found_at_home(discover: Make) -> None:
    found = discover(
        {
            "lib/__init__.py": "from .a import *\nfrom . import a, b\n__all__ = ['f', 'a', 'b']\n",
            "lib/a.py": "from .b import f\n__all__ = ['f', 'k']\ndef k(): return 1\n",
            "lib/b.py": "\n\ndef f(): return 1\n",
        }
    )
    assert ids(found) == ["lib.a.k", "lib.f"]
    assert [draft.where for draft in found.drafts] == ["lib/a.py:3", "lib/b.py:3"]


def test_of_two_names_of_one_function_in_one_module_the_first_in_the_alphabet_stays(discover: Make) -> None:
    assert ids(discover("def zeta(): return 1\nalpha = zeta\n")) == ["lib.alpha"]


NOT_NAMED = {
    "lib/__init__.py": "from .named import f\n",
    "lib/named.py": "def f(): return 1\n",
    "lib/dates.py": "class C: ...\ndef d(): return 1\ndef e(): return 1\ndef _g(): return 1\n",
    "lib/sub/__init__.py": "from lib.named import f\nfrom .deep import h\n",
    "lib/sub/deep.py": "def h(): return 1\ndef i(): return 1\n",
    "lib/_private.py": "def j(): return 1\n",
    "lib/classes.py": "class D: ...\n",
}


def test_modules_that_the_package_does_not_name_are_offered_with_what_each_would_give(discover: Make) -> None:
    found = discover(NOT_NAMED)
    assert ids(found) == ["lib.f"]
    assert {one.id: one.offers for one in found.left_out} == {
        "module lib.dates": 2,
        "module lib.sub": 1,
        "module lib.sub.deep": 1,
    }
    assert whys(found)["module lib.dates"] == "2 functions that its package does not re-export: --include 'lib.dates.*'"


@pytest.mark.parametrize(
    ("globs", "taken"),
    [
        (["lib.dates.*"], ["lib.dates.d", "lib.dates.e"]),
        (["python:lib.dates.*"], ["lib.dates.d", "lib.dates.e"]),
        (["lib_dates_?"], ["lib.dates.d", "lib.dates.e"]),
        (["lib.sub.*"], ["lib.sub.deep.i", "lib.sub.h"]),
        (["*.d", "*.i"], ["lib.dates.d", "lib.sub.deep.i"]),
        (["lib.none.*"], []),
    ],
)
def test_globs_ask_for_what_a_package_does_not_name(discover: Make, globs: list[str], taken: list[str]) -> None:
    """What the package names is drafted in any case: which of the drafts become tools is decided later."""
    found = discover(NOT_NAMED, include=globs)
    assert ids(found) == sorted(["lib.f", *taken])
    assert sum(one.offers for one in found.left_out) == 4 - len(taken)
    assert ("lib.dates.C" in whys(found)) is ("lib.dates.d" in taken)
    if taken:
        assert set(taken) <= set(found.modules["lib"]["allow"])


def test_a_package_that_names_nothing_is_searched_through_its_public_modules(discover: Make) -> None:
    found = discover(
        {
            "lib/__init__.py": "",
            "lib/one.py": "def f(): return 1\n",
            "lib/_two.py": "def g(): return 1\n",
            "lib/sub/__init__.py": "",
            "lib/sub/three.py": "def h(): return 1\n",
            "lib/tests/__init__.py": "def t(): return 1\n",
        }
    )
    assert ids(found) == ["lib.one.f", "lib.sub.three.h"]
    assert found.modules["lib"]["allow"] == ["lib.one.f", "lib.sub.three.h"]


def test_one_module_of_a_package_can_be_asked_for(discover: Make) -> None:
    files = {
        "lib/__init__.py": "def f(): return 1\n",
        "lib/tests/__init__.py": "",
        "lib/tests/x.py": "def t(): return 1\n",
    }
    found = discover(files, "lib.tests.x")
    assert ids(found) == ["lib.tests.x.t"]
    assert found.modules["lib.tests.x"]["import"] == "lib.tests.x"


def test_a_function_that_has_the_name_of_its_module_is_found(discover: Make) -> None:
    found = discover({"lib/__init__.py": "from .bar import bar\n", "lib/bar.py": "def bar(n: int) -> int: return n\n"})
    assert ids(found) == ["lib.bar"]


def test_a_module_that_is_one_file_is_read(discover: Make) -> None:
    assert ids(discover({"lib.py": "def f(): return 1\n"})) == ["lib.f"]


def test_a_namespace_package_is_read(discover: Make) -> None:
    assert ids(discover({"space/part/__init__.py": "def f(): return 1\n"}, "space.part")) == ["space.part.f"]


def test_callable_instances_take_what_their_call_takes(discover: Make) -> None:
    found = discover(
        '''
        class Base:
            def __call__(self, *sequences: str) -> float: raise NotImplementedError
            def maximum(self): return 1
        class Jaro(Base):
            """Jaro distance."""
            def __call__(self, *sequences): return 0.5
        class Plain:
            def go(self): return 1
        jaro = Jaro()
        plain = Plain()
        '''
    )
    [draft] = found.drafts
    assert draft.id == "python:lib.jaro"
    assert draft.description == "Jaro distance."
    assert draft.binding["parameters"] == [{"parameter": "sequences", "pass": "spread"}]
    # The subclass gives no type, so that of the method it overrides holds.
    assert draft.input_schema["properties"]["sequences"] == {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
    }
    assert whys(found)["object lib.jaro"] == "1 method of an object that the library has made: --include 'lib.jaro.*'"
    assert whys(found)["object lib.plain"] == "1 method of an object that the library has made: --include 'lib.plain.*'"


METHODS = """
class C:
    def go(self, n: int) -> int: return n
    def _no(self): return 1
    @property
    def size(self) -> int: return 1
c = C()
"""


def test_methods_of_objects_are_tools_where_they_are_asked_for(discover: Make) -> None:
    assert ids(discover(METHODS)) == []
    found = discover(METHODS, include=["lib.c.*"])
    assert ids(found) == ["lib.c.go"]
    assert list(found.drafts[0].input_schema["properties"]) == ["n"]


def test_methods_of_an_object_that_the_package_itself_names_are_tools(discover: Make) -> None:
    """`__all__` names it, and it cannot be called: it is there for its methods."""
    inner = {"lib/inner.py": METHODS, "lib/other.py": f"{METHODS}__all__ = ['c']\n"}
    package = {"lib/__init__.py": "from .inner import c\nfrom . import other\n__all__ = ['c', 'other']\n", **inner}
    assert ids(discover(package)) == ["lib.c.go"]
    not_named = {**package, "lib/__init__.py": "from .inner import c\n"}
    assert ids(discover(not_named)) == []


def test_a_bound_method_under_a_name_of_the_module_is_a_function(discover: Make) -> None:
    found = discover("class R:\n    def pick(self, n: int) -> int: return n\n_r = R()\npick = _r.pick\n")
    assert ids(found) == ["lib.pick"]
    assert list(found.drafts[0].input_schema["properties"]) == ["n"]


def test_static_and_class_methods_are_tools_and_constructors_are_not(discover: Make) -> None:
    found = discover(
        """
        class C:
            def method(self): return 1
            @staticmethod
            def s(a: int) -> int: return a
            @classmethod
            def c(cls, a: int) -> int: return a
            @classmethod
            def make(cls) -> "C": return cls()
        class Fault(ValueError): ...
        """
    )
    assert ids(found) == ["lib.C.c", "lib.C.s"]
    assert [list(draft.input_schema["properties"]) for draft in found.drafts] == [["a"], ["a"]]
    assert whys(found) == {
        "class lib.C": "1 method of objects that calls would make: --include 'lib.C.*'",
        "lib.C.make": "it makes an instance, which no call keeps",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("async def f(): return 1", "asynchronous"),
        ("from contextlib import contextmanager\n@contextmanager\ndef f(): yield 1", "context manager"),
        ("from typing import Callable\ndef f() -> Callable[[], int]: return f", "a callable or a class"),
        ("def f(g, n): return g(n)", "its parameter g has no form in JSON: a callable"),
        ("from typing import IO\ndef f(out: IO[str]): return 1", "its parameter out has no form in JSON: an open file"),
        ("class A: pass\ndef f(a: A): return 1", "an instance of A"),
        ("f = lambda x: x", "a lambda"),
        ("import functools\nf = functools.partial(int, base=2)", "a partial call"),
    ],
)
def test_what_no_tool_can_cover_is_left_out_with_its_reason(discover: Make, text: str, why: str) -> None:
    found = discover(text)
    assert found.drafts == ()
    assert why in whys(found)["lib.f"]


def test_names_that_all_takes_from_other_packages_are_told(discover: Make) -> None:
    found = discover("from json import dumps\n__all__ = ['dumps']\n")
    assert whys(found) == {"lib.dumps": "it comes from another package (json)"}


def test_a_stub_says_what_a_compiled_module_offers(discover: Make, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/_fast.cpython-311.so").write_bytes(b"\x7fELF")
    found = discover(
        {
            "lib/__init__.py": "from ._fast import *\n__all__ = _fast.__all__\n",
            "lib/__init__.pyi": 'def get_sum(a: int, /, *, b: float = 1.5) -> float:\n    """Add."""\n',
        }
    )
    [draft] = found.drafts
    assert (draft.id, draft.where) == ("python:lib.get_sum", "lib/__init__.pyi:1")
    assert [one["pass"] for one in draft.binding["parameters"]] == ["positional", "keyword"]
    assert draft.category == "read"


def test_a_package_of_stubs_beside_gives_its_types(discover: Make) -> None:
    found = discover(
        {
            "lib/__init__.py": "def f(a, b=2):\n    return a\n",
            "lib-stubs/__init__.pyi": "def f(a: str, b: int = ...) -> str: ...\n",
        }
    )
    [draft] = found.drafts
    assert draft.input_schema["properties"] == {"a": {"type": "string"}, "b": {"type": "integer", "default": 2}}


def test_overloads_are_one_tool_that_takes_what_any_of_them_takes(discover: Make) -> None:
    found = discover(
        """
        from typing import overload
        @overload
        def f(a: int) -> int: ...
        @overload
        def f(a: str, flag: bool) -> str: ...
        def f(*args): return args[0]
        """
    )
    [draft] = found.drafts
    assert draft.input_schema["properties"] == {
        "a": {"type": ["integer", "string"]},
        "flag": {"type": "boolean"},
    }
    assert draft.input_schema["required"] == ["a"]
    assert draft.output_schema["properties"]["result"] == {"type": ["integer", "string"]}


def test_overloads_of_a_stub_alone_are_one_tool(discover: Make) -> None:
    found = discover(
        {
            "lib/__init__.pyi": """
            from typing import overload
            @overload
            def f(a: int) -> int: ...
            @overload
            def f(a: str) -> str: ...
            """
        }
    )
    [draft] = found.drafts
    assert draft.input_schema["properties"]["a"] == {"type": ["integer", "string"]}


def test_a_cache_gets_what_can_be_hashed_and_other_decorators_are_told(discover: Make) -> None:
    found = discover(
        """
        from functools import lru_cache
        from warnings import deprecated
        import other
        @lru_cache(maxsize=3)
        def f(a: list[int]) -> int: return 1
        @deprecated("old")
        def g(): return 1
        @other.retry(3)
        def h(): return 1
        """
    )
    first, second, third = found.drafts
    assert first.binding["parameters"] == [{"parameter": "a", "pass": "keyword", "coerce": "tuple"}]
    assert first.notes == ("its source describes it nowhere",)
    assert second.notes[0] == "its source calls it deprecated"
    assert third.notes[0] == "decorated with retry: what it takes may differ"


def test_a_library_that_is_not_there_is_an_error_with_a_repair(discover: Make, tmp_path: Path) -> None:
    with pytest.raises(DiscoveryError, match="on none of the search paths") as caught:
        discover_library("missing", search_paths=[tmp_path])
    assert caught.value.hint
    (tmp_path / f"fast{EXTENSION_SUFFIXES[0]}").write_bytes(b"")
    with pytest.raises(DiscoveryError, match="compiled and brings no stub"):
        discover_library("fast", search_paths=[tmp_path])
    with pytest.raises(DiscoveryError, match="as it is imported"):
        discover_library("../x", search_paths=[tmp_path])


def test_name_and_version_come_from_the_installed_metadata(discover: Make) -> None:
    found = discover(
        {
            "lib/__init__.py": "def f(): return 1\n",
            "Other_Name-1.5.dist-info/METADATA": "Name: Other.Name\nVersion: 1.5\nSummary: It helps.\n",
            "Other_Name-1.5.dist-info/RECORD": "lib/__init__.py,sha256=x,1\n",
        }
    )
    assert found.source == {"kind": "library", "name": "Other.Name", "version": "1.5"}
    assert (found.name, found.version, found.description) == ("Other.Name", "1.5", "It helps.")
    assert found.modules == {
        "lib": {"import": "lib", "allow": ["lib.f"], "isolate": "thread", "distribution": "Other.Name"}
    }


def test_without_metadata_the_module_speaks_for_itself(discover: Make) -> None:
    found = discover('"""Helps.\n\nMore."""\n__version__ = "0.3"\ndef f(): return 1\n')
    assert (found.source["version"], found.description) == ("0.3", "Helps.")
    assert discover("def f(): return 1\n", distribution="not-there").source == {"kind": "library", "name": "not-there"}


def test_the_folder_that_an_editable_install_points_to_is_searched(tmp_path: Path) -> None:
    (tmp_path / "src/lib").mkdir(parents=True)
    (tmp_path / "src/lib/__init__.py").write_text("def f(): return 1\n")
    (tmp_path / "site").mkdir()
    (tmp_path / "site/lib.pth").write_text(f"import os; os.abort()\n{tmp_path}/src\n")
    (tmp_path / "site/lib-2.dist-info").mkdir()
    (tmp_path / "site/lib-2.dist-info/METADATA").write_text("Name: lib\nVersion: 2\n")
    found = discover_library("lib", search_paths=[tmp_path / "site"])
    assert ids(found) == ["lib.f"]
    assert found.version == "2"


def test_the_order_of_a_source_changes_no_tool(discover: Make) -> None:
    parts = ["def a(n: int) -> int: return n\n", "def b(n: str) -> str: return n\n", "def c() -> None: pass\n"]
    before, after = discover("".join(parts)), discover("".join(reversed(parts)))
    assert [(one.id, one.words, one.binding, one.input_schema) for one in before.drafts] == [
        (one.id, one.words, one.binding, one.input_schema) for one in after.drafts
    ]
    fewer = discover("".join(parts[1:]))
    assert [(one.id, one.binding) for one in fewer.drafts] == [(one.id, one.binding) for one in before.drafts[1:]]


def test_an_enum_in_a_module_that_a_function_hides_is_reached_by_the_name_beside_it(discover: Make) -> None:
    inner = '''
        from enum import Enum
        class Unit(Enum):
            KM = "km"
        def distance(point, unit=Unit.KM):
            """How far it is.

            :param point: where; tuple of (latitude, longitude)
            """
            latitude, longitude = point
            return unit
    '''
    package = {"lib/__init__.py": "from .distance import Unit, distance\n", "lib/distance.py": inner}
    [made] = discover(package).drafts
    assert made.input_schema["properties"]["point"]["maxItems"] == 2
    assert {one["parameter"]: one.get("enum") for one in made.binding["parameters"]} == {
        "point": None,
        "unit": "lib.Unit",
    }
