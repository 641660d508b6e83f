"""The pure Python function beside a compiled one, whose docstring and body speak for both.

A stub gives the signature of a compiled function, and rarely a word of what it does. Libraries that are compiled often
bring the same in Python: the module takes its names from the one or from the other (`rapidfuzz.fuzz` from `fuzz_cpp`
or `fuzz_py`), or it lies beside the compiled one (`markupsafe._native` beside `_speedups`).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import attrs
import griffe

from pegboard_toolgen.discover._bindings import base_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pegboard_toolgen.discover._sources import Tree

_HOW = frozenset({
    "c", "compiled", "cpp", "cy", "cython", "ext", "extension", "fallback", "fast", "impl", "native", "pure", "py",
    "python", "pyx", "rs", "rust", "slow", "speedups",
})  # fmt: skip
"""Words in the name of a module that say how it was made, and not what it does."""


@attrs.define
class Twins:
    """The twins of one tree's functions."""

    tree: Tree
    _imports: dict[str, list[ast.ImportFrom]] = attrs.field(factory=dict)

    def of(self, function: griffe.Function) -> griffe.Function | None:
        """The function with a body that a stub stands for; None where there is none, or it is not a stub."""
        if id(function) not in self.tree.stubbed:
            return None
        module = function.module
        name = function.path[len(module.path) + 1 :]
        for path in (*self._taken_from(module.path, name), *_beside(module, name)):
            member = self.tree.get(path)
            found = self.tree.resolved(member) if member is not None else None
            if isinstance(found, griffe.Function) and self.tree.node_of(found) is not None:
                return found
        return None

    def _taken_from(self, module: str, name: str) -> Iterator[str]:
        """Where the code of a module takes a name from, on any of its branches."""
        if module not in self._imports:
            syntax = self.tree.syntax_of(module)
            every = ast.walk(syntax) if syntax is not None else ()
            self._imports[module] = [one for one in every if isinstance(one, ast.ImportFrom)]
        first, dot, rest = name.partition(".")
        for one in self._imports[module]:
            base = base_of(one, module, is_package=self.tree.is_package(module))
            for alias in one.names:
                if alias.name == "*":
                    yield f"{base}.{name}"
                elif (alias.asname or alias.name) == first:
                    yield f"{base}.{alias.name}{dot}{rest}"


def _beside(module: griffe.Module, name: str) -> Iterator[str]:
    """The same name in a module beside this one that is called the same, but for how it was made."""
    package = module.parent
    for other, member in sorted(package.members.items()) if isinstance(package, griffe.Module) else ():
        if isinstance(member, griffe.Module) and member is not module and _plain(other) == _plain(module.name):
            yield f"{member.path}.{name}"


def _plain(name: str) -> list[str]:
    """The words of a module's name that say what it does."""
    return [word for word in name.lower().split("_") if word and word not in _HOW]
