"""What the names of a package stand for once Python has imported it: its imports, run on paper in Python's own order.

A submodule becomes a name of its package when it is imported, and whatever the package binds later takes that name
over: after `from .slug import slug` it is the function, after `def slug(): ...; from . import slug` the module. Griffe
keeps one member of a name, the module; so where a package has both, this says which of them Python finds.
(https://docs.python.org/3/reference/import.html#submodules)
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Bindings:
    """The names of the modules of one package, each with the dotted path of what it stands for.

    Args:
        syntax: of a module, by its dotted path; None for one that is not of the package or cannot be read.
        is_package: whether a module may hold others.
        exports: the names of its `__all__`; None where it has none.
    """

    def __init__(
        self,
        syntax: Callable[[str], ast.Module | None],
        is_package: Callable[[str], bool],
        exports: Callable[[str], Iterable[str] | None],
    ) -> None:
        self._syntax, self._is_package, self._exports = syntax, is_package, exports
        self._bound: dict[str, dict[str, str]] = {}

    def of(self, path: str, name: str) -> str | None:
        """What a name of an imported module stands for: `lib.slug` a module, `lib.slug:slug` what that module defines;
        None for a name that it does not bind."""
        return self._bound.get(path, {}).get(name)

    def import_(self, path: str) -> None:
        """Import a module after the packages above it, once. Its package gets its name when that is done."""
        head, _, last = path.rpartition(".")
        if head:
            self.import_(head)
        if path in self._bound or (body := self._syntax(path)) is None:
            return
        self._bound[path] = {}
        self._run(body.body, path)
        if head in self._bound:
            self._bound[head][last] = path

    def _run(self, statements: Sequence[ast.stmt], path: str) -> None:
        names = self._bound[path]
        for one in statements:
            if isinstance(one, ast.Import):
                self._import(one, names)
            elif isinstance(one, ast.ImportFrom):
                self._import_from(one, path)
            elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names[one.name] = f"{path}:{one.name}"
            elif isinstance(one, ast.Assign | ast.AnnAssign):
                targets = one.targets if isinstance(one, ast.Assign) else [one.target] if one.value else []
                names.update({to.id: f"{path}:{to.id}" for to in targets if isinstance(to, ast.Name)})
            elif isinstance(one, ast.If):
                # What is imported for types alone is never bound; which other branch is taken nobody knows here.
                is_typing = "TYPE_CHECKING" in ast.dump(one.test)[:500]
                self._run([*one.orelse, *(() if is_typing else one.body)], path)
            elif isinstance(one, ast.Try):
                fallbacks = [inner for handler in one.handlers for inner in handler.body]
                self._run([*fallbacks, *one.body, *one.orelse, *one.finalbody], path)
            elif isinstance(one, ast.With):
                self._run(one.body, path)

    def _import(self, one: ast.Import, names: dict[str, str]) -> None:
        for name in one.names:
            self.import_(name.name)
            first = name.name.partition(".")[0]
            names[name.asname or first] = name.name if name.asname else first

    def _import_from(self, one: ast.ImportFrom, path: str) -> None:
        base = base_of(one, path, is_package=self._is_package(path))
        self.import_(base)
        for name in one.names:
            if name.name != "*":
                self._bound[path][name.asname or name.name] = self._taken(base, name.name)
            elif base in self._bound:
                exported = self._exports(base)
                public = [name for name in self._bound[base] if name[0] != "_"] if exported is None else exported
                self._bound[path].update({name: self._taken(base, name) for name in public})

    def _taken(self, base: str, name: str) -> str:
        """What `from base import name` gives: a name of the module, else a module below it."""
        if self.of(base, name) is None:
            self.import_(f"{base}.{name}")
        return self.of(base, name) or f"{base}.{name}"


def base_of(one: ast.ImportFrom, module: str, *, is_package: bool) -> str:
    """The dotted path of the module that `from ... import` in a module is about."""
    if not one.level:
        return one.module or ""
    parts = module.split(".")
    above = parts[: len(parts) - one.level + is_package]
    return ".".join([*above, *([one.module] if one.module else [])])
