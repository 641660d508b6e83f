"""What a body changes, and what it calls by a name that promises a change and cannot be looked into.

What a function keeps for itself is not a change to whoever calls it: a table that it fills by what it looks up there (a
memo), a variable that is set where it was not yet (lazily). Both have to give a value; what fills a table and gives
nothing fills it for others.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import griffe

from pegboard_toolgen.discover._known import (
    CACHES,
    CHANGES,
    LOCAL_METHODS,
    NAMED_TUPLE,
    OPENERS,
    WRITE_VERBS,
    WRITES,
    WRITES_METHODS,
    WRITES_MODULES,
    first_word,
)
from pegboard_toolgen.discover._names import literal_of
from pegboard_toolgen.discover._types import dotted, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pegboard_toolgen.discover._names import Names


class ChangeReader:
    """Reads what one body changes.

    Args:
        names: what names mean there.
        nodes: of the body.
        gives: the function gives a value.
    """

    def __init__(self, names: Names, nodes: Sequence[ast.AST], *, gives: bool) -> None:
        self.names = names
        self.nodes = nodes
        self.own = frozenset(self._kept_for_itself()) if gives else frozenset[str]()

    def changes(self) -> Iterator[str]:
        """What it changes, in words."""
        for name in sorted(self.names.globals - self.own):
            yield f"changes the variable {name[:60]} of its module"
        for one in self.nodes:
            if isinstance(one, ast.Call):
                yield from self._by_call(one, self.names.path(one.func))
            else:
                yield from self._by_assignment(one)

    def unseen(self) -> Iterator[str]:
        """Calls that lead out of what is read, by a name that promises a change."""
        for one in self.nodes:
            if not isinstance(one, ast.Call):
                continue
            path = self.names.path(one.func)
            if path is not None and (self.names.tree.get(path) is not None or _is_standard(path)):
                continue
            name = dotted(one.func) or (f"...{one.func.attr}" if isinstance(one.func, ast.Attribute) else "")
            last = name.rpartition(".")[2]
            if last.startswith("__") or last in NAMED_TUPLE:  # `super().__init__()`
                continue
            if first_word(last) in WRITE_VERBS and not self._is_harmless(one.func, last):
                yield name[:60]

    def _is_harmless(self, func: ast.expr, last: str) -> bool:
        """Whether a method changes at most an object of this call."""
        if not isinstance(func, ast.Attribute):  # a function inside this one, whose body is read with it
            return isinstance(func, ast.Name) and func.id in self.names.locals
        root = _root(func.value)
        if root == "self" and self._is_own_container(func.value):
            return True
        made = self.names.made.get(root or "", "")
        if made in OPENERS or made.startswith(("builtins.", "io.", "collections.", "hashlib.", "re.", "csv.")):
            return True  # a mode that writes was told where the file was opened
        is_far = root is None or self._is_variable(root) or root in {"self", "cls"}
        return last in LOCAL_METHODS and (root is None or not is_far or last not in CHANGES)

    def _is_own_container(self, node: ast.expr) -> bool:
        """Whether `self.x` is a list or the like: what is put into it is told as a change of the object."""
        key, owner = _key(node), self.names.function.parent
        member = owner.members.get(key[5:]) if key is not None and owner is not None and owner.is_class else None
        value = parse(member.value) if isinstance(member, griffe.Attribute) else None
        maker = dotted(value.func) if isinstance(value, ast.Call) else None
        made = self.names.scope.resolve(maker) if maker else literal_of(value)
        return made.startswith(("builtins.", "collections."))

    def _by_call(self, call: ast.Call, path: str | None) -> Iterator[str]:
        if path is not None:
            if path in WRITES:
                if WRITES[path]:
                    yield WRITES[path]
                return
            if path in OPENERS and _writes(call, 1):
                yield "changes files"
                return
            if path not in OPENERS and not path.endswith(("Error", "Exception")):
                why = next((why for start, why in WRITES_MODULES.items() if path.startswith(start)), None)
                if why is not None:
                    yield why
                    return
        if not isinstance(call.func, ast.Attribute):
            return
        name = call.func.attr
        if name in WRITES_METHODS:
            yield WRITES_METHODS[name]
        elif name == "open" and path is None and _writes(call, 0):
            yield "changes files"
        elif name in CHANGES:
            yield from self._of_container(call.func.value)

    def _by_assignment(self, one: ast.AST) -> Iterator[str]:
        if isinstance(one, ast.Assign | ast.Delete):
            targets = one.targets
        elif isinstance(one, ast.AugAssign | ast.AnnAssign):
            targets = [one.target]
        else:
            return
        for target in targets:
            if isinstance(target, ast.Attribute) and dotted(target.value) == "self":
                if f"self.{target.attr}" not in self.own:
                    yield f"keeps {target.attr[:60]} in an object that calls share"
            elif isinstance(target, ast.Attribute | ast.Subscript):
                yield from self._of_container(target.value)

    def _of_container(self, node: ast.expr) -> Iterator[str]:
        """The change to what an expression leads to, where that lives longer than the call."""
        kept = _key(node)
        if kept is None or kept in self.own or any(word in kept.lower() for word in CACHES):
            return
        if kept.startswith("self."):
            yield f"keeps {kept[5:65]} in an object that calls share"
        elif self._is_variable(kept):
            yield f"changes the variable {kept[:60]} of its module"

    def _is_variable(self, name: str) -> bool:
        names = self.names
        if name in names.parameters or name in names.locals or name in names.imports or name in {"self", "cls"}:
            return False
        path = names.scope.resolve(name)
        if path in {"os", "sys"}:
            return True
        found = names.tree.get(path) if names.tree.owns(path) else None
        return found is not None and found.is_attribute

    # what it keeps for itself

    def _kept_for_itself(self) -> Iterator[str]:
        looked_up, filled, tested = set(), set(), set()
        for one in self.nodes:
            if isinstance(one, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in one.ops):
                looked_up |= {_key(inner) for inner in one.comparators}
            elif isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load):
                looked_up.add(_key(one.value))
            elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
                if one.func.attr == "get":
                    looked_up.add(_key(one.func.value))
                elif one.func.attr == "setdefault" and len(one.args) == 2 and not self._is_given(one.args[1]):
                    filled.add(_key(one.func.value))
                    looked_up.add(_key(one.func.value))
            elif isinstance(one, ast.Assign) and not self._is_given(one.value):
                filled |= {_key(target.value) for target in one.targets if isinstance(target, ast.Subscript)}
            if isinstance(one, ast.If):
                tested |= set(self._set_where_missing(one))
        yield from (name for name in (looked_up & filled) | tested if name)

    def _is_given(self, value: ast.expr) -> bool:
        """Whether a value is what the caller gave, or a constant: that is a setting, and nothing computed."""
        return isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id in self.names.parameters)

    def _set_where_missing(self, one: ast.If) -> Iterator[str]:
        """`if X is None: X = load()`."""
        test = one.test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            asked = _key(test.operand)
        elif isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
            asked = _key(test.left)
        else:
            return
        for inner in (node for statement in one.body for node in ast.walk(statement)):
            if isinstance(inner, ast.Assign) and not self._is_given(inner.value):
                yield from (asked for target in inner.targets if asked and _key(target) == asked)


def _key(node: ast.expr) -> str | None:
    """The variable that an expression begins with: its name, or `self.x`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            return f"self.{node.attr}"
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _writes(call: ast.Call, place: int) -> bool:
    """Whether the mode of what opens a file lets it write; one that cannot be read does."""
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] or call.args[place : place + 1]
    if not modes:
        return False
    mode = modes[0]
    return not isinstance(mode, ast.Constant) or any(letter in str(mode.value) for letter in "wax+")


def _is_standard(path: str) -> bool:
    first = path.partition(".")[0]
    return first in sys.stdlib_module_names or first == "builtins"
