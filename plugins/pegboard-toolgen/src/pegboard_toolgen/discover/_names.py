"""What names mean inside the body of one function: its parameters and locals, its imports, and where a call leads."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal, TypeAlias

import griffe

from pegboard_toolgen.discover._types import Scope, dotted, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pegboard_toolgen.discover._sources import Tree


Receiver: TypeAlias = Literal["self", "new", "other"]
"""Whose method is called: that of this function's own object, of one that is made here, of any other."""


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
                path = self.path(value.func) if isinstance(value, ast.Call) else literal_of(value)
                self.made[target.id] = path if self.made.get(target.id, path) == path and path else ""

    def path(self, node: ast.expr) -> str | None:
        """Where what is called comes from; None for what is local and cannot be told."""
        name = dotted(node)
        if name is None:
            return self._of_call(node)
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

    def receiver(self, node: ast.expr) -> Receiver:
        """Whose method or property this is."""
        holder = node.value if isinstance(node, ast.Attribute) else node
        if isinstance(holder, ast.Name):
            made = self.made.get(holder.id, "") if holder.id in self.locals else ""
            return "self" if holder.id == "self" else "new" if self._is_class(made) else "other"
        if not isinstance(holder, ast.Call):
            return "other"
        is_super = isinstance(holder.func, ast.Name) and holder.func.id == "super"
        return "self" if is_super else "new" if self._is_class(self.path(holder.func)) else "other"

    def _is_class(self, path: str | None) -> bool:
        found = self.tree.get(path) if path and self.tree.owns(path) else None
        return isinstance(found, griffe.Class) and gives_new_objects(found, self.tree)

    def named(self, node: ast.expr) -> list[str]:
        """What a name stands for where it is called or given away: itself, and what a table of the module holds.

        `map(save, items)`, `WRITERS[kind]` with `WRITERS = {"json": save_json}`.
        """
        path = self.path(node)
        if path is None:
            return []
        found = self.tree.get(path) if self.tree.owns(path) else None
        if not isinstance(found, griffe.Attribute) or found.parent is None or not found.parent.is_module:
            return [path]
        table, scope = parse(found.value), Scope(self.tree, found.parent)
        if not isinstance(table, ast.Dict | ast.List | ast.Tuple | ast.Set):
            return [path]
        names = [dotted(one) for one in ast.walk(table) if isinstance(one, ast.Name | ast.Attribute)]
        return [path, *(scope.resolve(name) for name in names if name)]

    def _of_call(self, node: ast.expr) -> str | None:
        """A method or property of what a call gives: `super().f`, `Dirs(name).f`, `dirs_of(name).f`."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Call):
            return None
        owner, call, name = self.function.parent, node.value, node.attr
        if isinstance(call.func, ast.Name) and call.func.id == "super" and isinstance(owner, griffe.Class):
            return next((f"{one.path}.{name}" for one in _parents(owner) if name in one.members), None)
        made = self.path(call.func)
        return self._of_instance(self._class_by(made), name) if made is not None else None

    def _class_by(self, path: str) -> str:
        """The class that a call of this makes an object of, as far as what it promises tells."""
        found = self.tree.get(path) if self.tree.owns(path) else None
        if isinstance(found, griffe.Attribute) and isinstance(node := parse(found.value), ast.Call):
            maker = dotted(node.func)  # `Dirs = choose()`, which promises `type[Base]`
            scope = Scope(self.tree, found.parent or found)
            found = self.tree.get(scope.resolve(maker)) if maker else None
        if not isinstance(found, griffe.Function):
            return path
        given = parse(found.returns)
        if isinstance(given, ast.Subscript) and dotted(given.value) in {"type", "Type", "typing.Type"}:
            given = given.slice
        name = dotted(given) if given is not None else None
        return Scope(self.tree, found).resolve(name) if name else path

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


def gives_new_objects(owner: griffe.Class, tree: Tree) -> bool:
    """Whether each call of a class makes an object, as far as it shows: a `__new__` that looks at what its class keeps
    may give the same one every time."""
    for one in [owner, *_parents(owner)]:
        new = one.members.get("__new__")
        node = tree.node_of(new) if isinstance(new, griffe.Function) else None
        for part in ast.walk(node) if node is not None else ():
            kept = isinstance(part, ast.Attribute) and dotted(part.value) in {"cls", one.name}
            if isinstance(part, ast.Global) or (kept and part.attr != "__new__"):  # type: ignore[attr-defined]
                return False
    return True


def literal_of(value: ast.expr | None) -> str:
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
