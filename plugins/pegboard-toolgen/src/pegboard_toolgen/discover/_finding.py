"""Where a package lies: by the rules of Python's own import system, on a path without the folder of this program.

A package is a folder with an `__init__`, a module a file with one of the suffixes of modules; a folder without is a
part of a namespace, and counts where no folder of the path has the whole (PEP 420). A program that is called like a
package and lies beside `pegboard` is not one of these. Stubs lie beside the code, or in a package of stubs anywhere on
the path (PEP 561).
"""

from __future__ import annotations

import pkgutil
import shutil
import sys
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, SOURCE_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from pegboard.schema import NearNames
from pegboard_toolgen.drafts import DiscoveryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CODE = (*SOURCE_SUFFIXES, ".pyi")
_COMPILED = (*EXTENSION_SUFFIXES, *BYTECODE_SUFFIXES)


@attrs.frozen
class Home:
    """Where a package lies.

    Args:
        root: the folder of the path that holds it; file names are told relative to it.
        places: its folder, or its source and the stub beside it; several folders for a namespace.
    """

    root: Path
    places: tuple[Path, ...]


def clean_path() -> list[Path]:
    """`sys.path` without the folder of the program that runs, where programs lie and no packages.

    Python puts it there for whoever runs a script (https://docs.python.org/3/library/sys_path_init.html).
    """
    script = Path(sys.argv[0] if sys.argv else "")
    beside = script.resolve().parent if script.is_file() else None
    return [place for place in map(Path, sys.path) if place.resolve() != beside]


def find_package(name: str, search_paths: Sequence[Path]) -> Home:
    """Find the package or module of this name, without a dot.

    Raises:
        DiscoveryError: it is on none of the search paths, or compiled without a stub.
    """
    folders = list(_with_links(search_paths))
    stubs = tuple(place for folder in folders if (place := folder / f"{name}-stubs").is_dir())[:1]
    parts: list[Path] = []
    for folder in folders:
        home = folder / name
        if _has_init(home):
            return Home(folder, (home, *stubs))
        if files := tuple(file for suffix in _CODE if (file := folder / f"{name}{suffix}").is_file()):
            return Home(folder, (*files, *stubs))
        if any((folder / f"{name}{suffix}").is_file() for suffix in _COMPILED):
            break
        if home.is_dir():
            parts.append(home)
    else:
        if parts or stubs:
            return Home((parts or stubs)[0].parent, (*parts, *stubs))
        if name not in sys.builtin_module_names:
            raise DiscoveryError(f"{name} is on none of the search paths", hint=_repair(name, search_paths))
    if stubs:
        return Home(stubs[0].parent, stubs)
    raise DiscoveryError(
        f"{name} is compiled and brings no stub",
        hint="a library is read, never imported: install a package of stubs for it",
    )


def _has_init(home: Path) -> bool:
    return any((home / f"__init__{suffix}").is_file() for suffix in (*_CODE, *_COMPILED))


def _repair(name: str, search_paths: Sequence[Path]) -> str:
    near = NearNames().find(name, {module.name for module in pkgutil.iter_modules(map(str, search_paths))})
    if near:
        return f"did you mean {near[0]}?"
    if shutil.which(name):
        return f"there is a program of that name: --program {name}"
    return "install it, or name the folder it lies in"


def _with_links(search_paths: Sequence[Path]) -> Iterator[Path]:
    """The folders, and those that their `.pth` files name as plain lines (editable installs); none is run."""
    for folder in search_paths:
        if not folder.is_dir():
            continue
        yield folder
        for link in sorted(folder.glob("*.pth"))[:100]:
            try:
                lines = link.read_bytes()[:20_000].decode().splitlines()
            except (OSError, UnicodeDecodeError):
                continue
            for line in lines[:100]:
                if line.strip() and not line.startswith(("import ", "import\t", "#")) and "\0" not in line:
                    target = folder / line.strip()
                    if target.is_dir():
                        yield target
