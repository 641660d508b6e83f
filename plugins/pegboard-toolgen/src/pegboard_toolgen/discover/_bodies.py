"""What the body of a function shows without running it: which parameters it calls, what it changes, runs and raises.

This is a reading, no proof: it sees names, follows calls into the same package, and takes what it does not understand
for harmless, unless its name promises a change (`unseen`).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import attrs
import griffe

from pegboard_toolgen.discover._changes import ChangeReader
from pegboard_toolgen.discover._classes import is_own_effect, method_of, property_of
from pegboard_toolgen.discover._known import JUDGES, OPENS, WALKERS, runs_what_it_gets
from pegboard_toolgen.discover._names import Names, Receiver, gives_new_objects
from pegboard_toolgen.discover._reach import Reach, Run
from pegboard_toolgen.discover._types import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pegboard_toolgen.discover._sources import FunctionNode, Tree

MAX_NODES = 20_000
OTHERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
"""Functions and classes inside a function: what they do is not what it does."""
HANDED_ON = 3
"""Functions through which a parameter is followed for its type."""
MAX_FOLLOWED = 200
"""Functions that are looked into for one."""


@attrs.frozen
class Facts:
    """What a body shows.

    Args:
        called: parameters that it calls.
        opened: parameters that it opens or changes as paths.
        asked: attributes that it takes of each parameter.
        walked: parameters that it walks through in a loop.
        unpacked: parameters that it takes apart into so many names: `latitude, longitude = point`.
        keyed: parameters of which it takes a member by a text: `point["latitude"]`.
        handed: parameters that it hands on as they are: to which function, and into which place or keyword.
        judged: parameters whose type it looks at, so that what it asks of them is not asked of all.
        changes: what it changes, in words.
        unseen: what it calls by a name that promises a change, and that cannot be looked into.
        runs: places that run code, whoever gave it.
        raises: exceptions and what they say, in order.
        prints: it writes to standard output.
        returns: it returns a value somewhere.
        yields: it is a generator.
    """

    called: frozenset[str] = frozenset()
    changes: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()
    has_runs: bool = False
    raises: tuple[tuple[str, str], ...] = ()
    prints: bool = False
    returns: bool = False
    yields: bool = False
    calls: tuple[tuple[str, Receiver], ...] = ()
    opened: frozenset[str] = frozenset()
    asked: Mapping[str, frozenset[str]] = attrs.field(factory=dict)
    walked: frozenset[str] = frozenset()
    unpacked: Mapping[str, int] = attrs.field(factory=dict)
    keyed: frozenset[str] = frozenset()
    judged: frozenset[str] = frozenset()
    handed: tuple[tuple[str, str, str | int], ...] = ()


@attrs.define
class BodyReader:
    """Reads bodies of one tree, each once."""

    tree: Tree
    _own: dict[str, Facts | None] = attrs.field(factory=dict)
    _reach: Reach = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._reach = Reach(self.tree)

    def facts(self, function: griffe.Function, *, is_fresh: bool = False) -> Facts | None:
        """What the body of a function and those it calls by name show; None where there is no body.

        Args:
            function: the function.
            is_fresh: its object is made for this call, and nobody else has it.
        """
        first = self._facts(function)
        if first is None:
            return None
        changes, unseen = [*_seen_outside(first, function, self.tree, is_fresh=is_fresh)], [*first.unseen]
        has_runs, prints = first.has_runs, first.prints
        seen = {(function.path, is_fresh)}
        waiting = [(path, _holds(receiver, is_fresh=is_fresh)) for path, receiver in first.calls]
        while waiting and len(seen) < MAX_FOLLOWED:
            one = path, is_new = waiting.pop(0)
            if one in seen:
                continue
            seen.add(one)
            found = self.tree.get(path)
            if isinstance(found, griffe.Class):
                is_new = gives_new_objects(found, self.tree)
                found = method_of(found, "__init__")
            if (method := property_of(found)) is None:
                continue
            facts = self._facts(method)
            if facts is None or "abstractmethod" in method.labels or _NOT_HERE in dict(facts.raises):
                waiting += [(below, is_new) for below in self.tree.overridden(method)]
            if facts is None:
                continue
            changes += _seen_outside(facts, method, self.tree, is_fresh=is_new)
            unseen += facts.unseen
            prints = prints or facts.prints
            has_runs = has_runs or facts.has_runs
            waiting += [(below, _holds(receiver, is_fresh=is_new)) for below, receiver in facts.calls]
        return attrs.evolve(
            first,
            changes=tuple(dict.fromkeys(changes)),
            unseen=tuple(dict.fromkeys(unseen)),
            runs=self._reach.of(function).runs if has_runs else (),
            prints=prints,
            walked=self._walked(function, first, HANDED_ON),
        )

    def _walked(self, function: griffe.Function, facts: Facts, depth: int) -> frozenset[str]:
        """The parameters that a function walks through, or those that it hands them to."""
        found = set(facts.walked)
        for name, path, place in facts.handed if depth else ():
            other = self.tree.get(path)
            inner = self._facts(other) if isinstance(other, griffe.Function) and other is not function else None
            if inner is None or not isinstance(other, griffe.Function):
                continue
            names = [one.name for one in other.parameters]
            taken = place if isinstance(place, str) else names[place] if place < len(names) else ""
            if taken in self._walked(other, inner, depth - 1):
                found.add(name)
        return frozenset(found)

    def _facts(self, function: griffe.Function) -> Facts | None:
        if function.path not in self._own:
            node = self.tree.node_of(function)
            is_there = node is not None and not _is_empty(node)
            self._own[function.path] = _Body(self.tree, function, node).facts() if is_there else None  # type: ignore[arg-type]
        return self._own[function.path]


_NOT_HERE = "builtins.NotImplementedError"


def _holds(receiver: Receiver, *, is_fresh: bool) -> bool:
    """Whether the object of a method is made in this call, where the caller's own object is so or not."""
    return is_fresh if receiver == "self" else receiver == "new"


def _seen_outside(facts: Facts, function: griffe.Function, tree: Tree, *, is_fresh: bool) -> Iterator[str]:
    """The changes that anybody else sees: what an object keeps that is made in this call is seen by nobody."""
    owner = function.parent
    for change in facts.changes:
        if not (is_fresh and isinstance(owner, griffe.Class) and is_own_effect(owner, change, tree)):
            yield change


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_empty(node: FunctionNode) -> bool:
    return all(
        isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in node.body
    )


def _inside(node: FunctionNode, *, without: tuple[type[ast.AST], ...] = ()) -> Iterator[ast.AST]:
    """The nodes of a body, breadth first, bounded; `without` what is inside such nodes."""
    waiting: list[ast.AST] = list(node.body)
    for count, one in enumerate(waiting):
        if count >= MAX_NODES:
            return
        yield one
        if not isinstance(one, without):
            waiting += ast.iter_child_nodes(one)


class _Body:
    def __init__(self, tree: Tree, function: griffe.Function, node: FunctionNode) -> None:
        self.tree = tree
        whole = [node, *tree.registered_with(function)]
        self.is_dispatched = len(whole) > 1
        self.nodes = [one for part in whole for one in _inside(part)]
        self.names = Names(tree, function, self.nodes)
        self.own = {id(one) for part in whole for one in _inside(part, without=OTHERS)}

    def facts(self) -> Facts:
        called: set[str] = set()
        opened: set[str] = set()
        raises: list[tuple[str, str]] = []
        calls: list[tuple[str, Receiver]] = []
        handed: list[tuple[str, str, str | int]] = []
        has_runs = prints = returns = yields = False
        for one in self.nodes:
            if isinstance(one, ast.Call):
                if isinstance(one.func, ast.Name) and one.func.id in self.names.parameters:
                    called.add(one.func.id)
                path = self.names.path(one.func)
                if path is None:
                    continue
                if self.tree.owns(path):
                    calls.append((path, self.names.receiver(one.func)))
                    handed += self._handed(one, path)
                if path.startswith(OPENS) and one.args and isinstance(one.args[0], ast.Name):
                    opened.add(one.args[0].id)
                has_runs = has_runs or runs_what_it_gets(path) is not None
                prints = prints or path in {"builtins.print", "sys.stdout.write"}
            elif isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, ast.Load):
                named = self.names.named(one)
                has_runs = has_runs or any(runs_what_it_gets(path) is not None for path in named)
                of = self.names.receiver(one)
                calls += [(path, of) for path in named if property_of(self.tree.get(path)) is not None]
            elif isinstance(one, ast.Raise) and id(one) in self.own:
                raises += self._raised(one)
            elif isinstance(one, ast.Return):
                is_value = one.value is not None and not (
                    isinstance(one.value, ast.Constant) and one.value.value is None
                )
                returns = returns or (is_value and id(one) in self.own)
            elif isinstance(one, ast.Yield | ast.YieldFrom):
                yields = yields or id(one) in self.own
        reader = ChangeReader(self.names, self.nodes, gives=returns or yields)
        asked, walked, judged = self._uses()
        return Facts(
            called=frozenset(called),
            changes=tuple(dict.fromkeys(reader.changes())),
            unseen=tuple(dict.fromkeys(reader.unseen())),
            has_runs=has_runs,
            raises=tuple(dict.fromkeys(raises)),
            prints=prints,
            returns=returns,
            yields=yields,
            calls=tuple(dict.fromkeys(calls)),
            opened=frozenset(opened & self.names.parameters),
            asked=asked,
            walked=walked,
            unpacked=self._unpacked(),
            keyed=self._keyed(),
            judged=judged,
            handed=tuple(handed),
        )

    def _handed(self, call: ast.Call, path: str) -> Iterator[tuple[str, str, str | int]]:
        given: list[tuple[str | int, ast.expr]] = [*enumerate(call.args)]
        given += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
        for place, value in given:
            if isinstance(value, ast.Name) and value.id in self.names.parameters - self.names.locals:
                yield value.id, path, place

    def _uses(self) -> tuple[Mapping[str, frozenset[str]], frozenset[str], frozenset[str]]:
        """How parameters are used: attributes, loops, and whether their type is looked at or they are set anew."""
        asked: dict[str, set[str]] = {}
        walked: set[str] = set()
        judged = self.names.parameters if self.is_dispatched else self.names.parameters & self.names.locals
        for one in self.nodes:
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name):
                asked.setdefault(one.value.id, set()).add(one.attr)
            elif isinstance(one, ast.For | ast.comprehension) and isinstance(one.iter, ast.Name):
                walked.add(one.iter.id)
            elif isinstance(one, ast.Call) and dotted(one.func) in WALKERS:
                walked |= {arg.id for arg in one.args[:1] if isinstance(arg, ast.Name)}
            elif isinstance(one, ast.Call) and dotted(one.func) in JUDGES and one.args:
                judged |= {name.id for name in ast.walk(one.args[0]) if isinstance(name, ast.Name)}
            elif isinstance(one, ast.Try):
                judged |= {name.id for part in one.body for name in ast.walk(part) if isinstance(name, ast.Name)}
        told = {name: frozenset(names) for name, names in asked.items() if name in self.names.parameters}
        return told, frozenset(walked & self.names.parameters), frozenset(judged & self.names.parameters)

    def _unpacked(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for one in self.nodes:
            if (
                isinstance(one, ast.Assign)
                and isinstance(one.value, ast.Name)
                and isinstance(one.targets[0], ast.Tuple)
            ):
                parts = one.targets[0].elts
                if one.value.id in self.names.parameters and not any(isinstance(part, ast.Starred) for part in parts):
                    found[one.value.id] = len(parts)
        return found

    def _keyed(self) -> frozenset[str]:
        subscripts = [one for one in self.nodes if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)]
        named = {one.value.id for one in subscripts if _is_text(one.slice)}  # type: ignore[attr-defined]
        return frozenset(named & self.names.parameters)

    def _raised(self, one: ast.Raise) -> list[tuple[str, str]]:
        """Where the classes of what is raised come from, and what it says where that is a plain text."""
        found = []
        for given in [one.exc.body, one.exc.orelse] if isinstance(one.exc, ast.IfExp) else [one.exc]:
            node = given.func if isinstance(given, ast.Call) else given
            name = dotted(node) if node is not None else None
            if node is None or not name or name in self.names.parameters or name in self.names.locals:
                continue
            first = given.args[0] if isinstance(given, ast.Call) and given.args else None
            text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
            if path := self.names.path(node):
                found.append((path, text[:500]))
        return found
