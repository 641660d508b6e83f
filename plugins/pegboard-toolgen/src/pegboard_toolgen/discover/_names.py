"""What names mean inside the body of one function: its parameters and locals, its imports, and where a call leads."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import griffe

from pegboard_toolgen.discover._types import Scope, dotted, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_toolgen.discover._sources import Tree


class Names:
    """The names of one function.

    Args:
        tree: the package.
        function: the function.
        nodes: of its body, all of them.
    """

    def __init__(self, tree: Tree, function: griffe.Function, nodes: Sequence[ast.AST]) -> None:
        self.tree = tree
        self.function = function
        self.scope = Scope(tree, function)
        self.parameters = {parameter.name.lstrip("*") for parameter in function.parameters}
        self.imports: dict[str, str] = {}
        self.locals: set[str] = set()
        self.globals: set[str] = set()
        self.made: dict[str, str] = {}
        """Locals that hold what a call gave, with where that call leads."""
        for one in nodes:
            self._collect(one)
        self.locals -= self.globals
        for one in nodes:
            self._collect_made(one)

    def _collect(self, one: ast.AST) -> None:
        if isinstance(one, ast.Import):
            for name in one.names:
                self.imports[name.asname or name.name.partition(".")[0]] = (
                    name.name if name.asname else name.name.partition(".")[0]
                )
        elif isinstance(one, ast.ImportFrom) and not one.level and one.module:
            for name in one.names:
                self.imports[name.asname or name.name] = f"{one.module}.{name.name}"
        elif isinstance(one, ast.Global):
            self.globals.update(one.names)
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store | ast.Del):
            self.locals.add(one.id)
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.locals.add(one.name)

    def _collect_made(self, one: ast.AST) -> None:
        pairs: list[tuple[ast.expr, ast.expr | None]] = []
        if isinstance(one, ast.Assign):
            pairs = [(target, one.value) for target in one.targets]
        elif isinstance(one, ast.withitem) and one.optional_vars is not None:
            pairs = [(one.optional_vars, one.context_expr)]
        elif isinstance(one, ast.AnnAssign):
            pairs = [(one.target, one.value)]
        for target, value in pairs:
            if isinstance(target, ast.Name) and target.id in self.locals:
                path = self.path(value.func) if isinstance(value, ast.Call) else _literal(value)
                self.made[target.id] = path if self.made.get(target.id, path) == path and path else ""

    def path(self, node: ast.expr) -> str | None:
        """Where what is called comes from; None for what is local and cannot be told."""
        name = dotted(node)
        if name is None:
            return None
        first, _, rest = name.partition(".")
        if first in self.imports:
            return self._through(self.imports[first] + ("." + rest if rest else ""))
        owner = self.function.parent
        if first in {"self", "cls"} and owner is not None and owner.is_class and rest and "." not in rest:
            return self._method(owner, rest)  # type: ignore[arg-type]
        if first in self.locals and rest and "." not in rest and (made := self.made.get(first)):
            return self._of_instance(made, rest)
        if first in self.parameters or first in self.locals:
            return None
        return self._through(self.scope.resolve(name))

    def _through(self, path: str) -> str:
        """Through a variable of a module that holds an instance, to the method of its class."""
        head, _, last = path.rpartition(".")
        own = self.tree.get(path) if self.tree.owns(path) else None
        if isinstance(own, griffe.Attribute):  # `run = subprocess.run`
            other = dotted(node) if (node := parse(own.value)) is not None else None
            return Scope(self.tree, own.parent or own).resolve(other) if other else path
        found = self.tree.get(head) if head and own is None and self.tree.owns(head) else None
        if not isinstance(found, griffe.Attribute) or not isinstance(node := parse(found.value), ast.Call):
            return path
        maker = dotted(node.func)
        made = Scope(self.tree, found.parent or found).resolve(maker) if maker else ""
        return self._of_instance(made, last) or path

    def _of_instance(self, made: str, name: str) -> str | None:
        owner = self.tree.get(made) if self.tree.owns(made) else None
        return self._method(owner, name) if isinstance(owner, griffe.Class) else None

    def _method(self, owner: griffe.Class, name: str) -> str | None:
        for one in [owner, *_parents(owner)]:
            if name in one.members:
                return f"{one.path}.{name}"
        return None


def _literal(value: ast.expr | None) -> str:
    """The type of a display or a comprehension: `[x for x in y]` is a list."""
    kinds = {
        ast.List: "list", ast.ListComp: "list", ast.Dict: "dict", ast.DictComp: "dict", ast.Set: "set",
        ast.SetComp: "set", ast.JoinedStr: "str",
    }  # fmt: skip
    kind = kinds.get(type(value))
    return f"builtins.{kind}" if kind else ""


def _parents(owner: griffe.Class) -> list[griffe.Class]:
    """The classes above one that lie in the package, nearest first."""
    try:
        return list(owner.mro())[:30]
    except (ValueError, KeyError, griffe.GriffeError, RecursionError):
        return []
