"""Which of two things of one name Python finds, where a package and one of its submodules are called the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import pytest

from pegboard_toolgen.discover.library import discover_library

MODULE = "def slug(n: int) -> int: return n\ndef other(n: int) -> int: return n\n"
PACKAGES: Mapping[str, Mapping[str, str]] = {
    "a wildcard after the import that it makes": {"__init__": "from .slug import *\n"},
    "a wildcard over several levels": {
        "__init__": "from .core import *\n",
        "core/__init__": "from .slug import *\n",
        "core/slug": MODULE,
    },
    "a name that goes through another package": {
        "__init__": "from .core import slug\n",
        "core/__init__": "from .slug import slug\n",
        "core/slug": MODULE,
    },
    "another name for it": {"__init__": "from .slug import slug as made\n"},
    "a function before the import": {"__init__": "def slug(): return 1\nfrom .slug import other\n"},
    "a function after the import": {"__init__": "from .slug import other\ndef slug(): return 1\n"},
    "a function, and a module that is not imported": {"__init__": "def slug(): return 1\n"},
    "a function, and a module that another imports later": {
        "__init__": "def slug(): return 1\nfrom . import extra\n",
        "extra": "from .slug import other\n",
    },
    "a fallback": {"__init__": "try:\n    from .slug import slug\nexcept ImportError:\n    from . import slug\n"},
    "the module after all": {"__init__": "from .slug import other\nfrom . import slug\n"},
    "a name of a module that was bound before": {"__init__": "from .slug import slug\nfrom . import slug as again\n"},
    "an `__all__`": {"__init__": "from .slug import *\n__all__ = ['slug']\n"},
    "an instance": {"__init__": "from .slug import other\nslug = other\n"},
    "another package's": {"__init__": "from json import dumps as slug\n"},
}


def _laid(root: Path, files: Mapping[str, str]) -> None:
    for name, text in {"slug": MODULE, **files}.items():
        (root / f"lib/{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (root / f"lib/{name}.py").write_text(text)


def _what_python_finds(root: Path) -> set[str]:
    """The functions that are names of the package, and lie in it."""
    code = """
import json, lib, types
functions = [one for one in vars(lib).values() if isinstance(one, types.FunctionType)]
print(json.dumps(sorted({f"{one.__module__}.{one.__name__}" for one in functions if one.__module__[:3] == "lib"})))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("case", PACKAGES)
def test_a_name_of_a_package_is_what_python_binds_last(tmp_path: Path, case: str) -> None:
    _laid(tmp_path, PACKAGES[case])
    found = discover_library("lib", search_paths=[tmp_path])
    at_top = [one for one in found.drafts if one.id.count(".") == 1]
    homes = {one.where.partition(":")[0].removesuffix(".py").removesuffix("/__init__") for one in at_top}
    told = {tuple(one.rpartition(".")[0].split(".")) for one in _what_python_finds(tmp_path)}
    assert {tuple(home.split("/")) for home in homes} == told
    for one in at_top:
        code = f"import lib; assert callable({one.binding['qualified_name']})"
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


LINES = (
    "from .slug import slug",
    "from .slug import other",
    "from .slug import *",
    "from . import slug",
    "import lib.slug",
    "from . import extra",
    "from .extra import *",
    "def slug(): return 1",
    "slug = 1",
)


@hypothesis.given(st.lists(st.sampled_from(LINES), max_size=5), st.lists(st.sampled_from(LINES), max_size=3))
@hypothesis.settings(max_examples=200, deadline=None)
def test_any_order_of_imports_is_followed(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], extra: list[str]
) -> None:
    """The package is imported here, on paper and in Python: both say the same of the name."""
    root = tmp_path_factory.mktemp("order")
    extra = [line for line in extra if "extra" not in line]
    _laid(root, {"__init__": "\n".join(top), "extra": "\n".join(extra)})
    modules = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "lib"}
    sys.path.insert(0, str(root))
    try:
        import lib  # type: ignore[import-not-found]

        own = vars(lib).get("slug")
    finally:
        sys.path.remove(str(root))
        for name in [name for name in sys.modules if name.partition(".")[0] == "lib"]:
            del sys.modules[name]
        sys.modules.update(modules)
    found = discover_library("lib", search_paths=[root])
    drafts = {one.id: one.where for one in found.drafts}
    assert (drafts.get("python:lib.slug", "").partition(":")[0] or None) == (
        f"{own.__module__.replace('.', '/')}.py".replace("lib.py", "lib/__init__.py") if callable(own) else None
    )


def test_what_future_gives_is_no_function_that_is_left_out(tmp_path: Path) -> None:
    _laid(tmp_path, {"__init__": "from .slug import *\n", "slug": "from __future__ import annotations\n" + MODULE})
    found = discover_library("lib", search_paths=[tmp_path])
    assert [one.id for one in found.left_out] == []
