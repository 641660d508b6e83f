"""The public names of a package: what can be called by which dotted path.

The names that a module exports are its `__all__`, else its names without a leading underscore that it defines or, in
an `__init__`, takes from its own package. Where an exported name of a package can be called, that is its API, and
modules that it does not name are offered beside it; where it can call nothing, its public modules are looked into.
What is reached by several paths has the shortest of them, the first in the order of the alphabet.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs
import griffe

from pegboard_toolgen.discover._classes import bases_of, method_of, methods_of, mro_of, name_of, why_not_made
from pegboard_toolgen.discover._twins import Twins
from pegboard_toolgen.discover._types import Scope, dotted, normal, parse
from pegboard_toolgen.drafts import LeftOut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pegboard_toolgen.discover._sources import Tree

MAX_FOUND = 5_000
MAX_NAMES = 5_000
"""Of one module."""

Modules: TypeAlias = "list[tuple[str, griffe.Module]]"
"""Modules by the public path that leads to them."""
Callee = Literal["function", "instance", "method", "static", "class method", "made"]
"""`made`: a method or a property of an object that the call makes; `method`: of one that the library has made."""
_QUIET_BASES = frozenset({"abc.TypedDict", "abc.Protocol", "enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag"})


@attrs.frozen
class Found:
    """Something that can be called.

    Args:
        path: the public dotted path.
        module: the module to import; `path` begins with it.
        function: whose signature and body it has.
        callee: how it is reached.
        overloads: signatures that a stub gives beside it.
        home: what its place in the source is told of: the function, or the instance.
        owner: the class, for its docstring.
        twin: the same in pure Python, where the function is a stub's.
        is_stub: whether a stub alone tells of the function.
    """

    path: str
    module: str
    function: griffe.Function
    callee: Callee
    home: griffe.Object
    overloads: tuple[griffe.Function, ...] = ()
    owner: griffe.Class | None = None
    twin: griffe.Function | None = None
    is_stub: bool = False


@attrs.define
class Offer:
    """What is not a tool unless somebody asks for it by name: a module that its package does not name as its own, the
    methods of a class, whose object each call would make, or those of an object that the library has made."""

    path: str
    home: griffe.Object
    found: list[Found]
    left_out: list[LeftOut] = attrs.field(factory=list)
    classes: list[Offer] = attrs.field(factory=list)
    """Those of a module."""


@attrs.define
class Walk:
    """One walk through a tree."""

    tree: Tree
    found: list[Found] = attrs.field(factory=list)
    left_out: list[LeftOut] = attrs.field(factory=list)
    offers: list[Offer] = attrs.field(factory=list)
    _unnamed: list[tuple[str, griffe.Module]] = attrs.field(factory=list)
    _seen: set[str] = attrs.field(factory=set, alias="seen")
    _twins: Twins = attrs.field(default=attrs.Factory(lambda walk: Twins(walk.tree), takes_self=True), alias="twins")
    _modules: set[str] = attrs.field(factory=set)

    def run(self) -> None:
        """Fill `found` and `left_out`, then `offers`: what the package itself names has been taken by then."""
        start = self.tree.module(self.tree.name)
        if start is None:
            return
        self._through([(self.tree.name, start)], self._look_at)
        self._through(self._unnamed, self._offer)
        self.offers.sort(key=lambda one: one.path)

    def _through(self, waiting: Modules, look: Callable[[str, griffe.Module], Modules]) -> None:
        """Look at each module once, level by level."""
        while waiting:
            level, waiting = sorted(waiting, key=lambda one: one[0]), []
            for path, module in level:
                if module.path not in self._modules and len(self.found) < MAX_FOUND:
                    self._modules.add(module.path)
                    waiting += look(path, module)

    def _look_at(self, path: str, module: griffe.Module) -> Modules:
        """Take the exported names of a module; answer the modules to look into next."""
        before = len(self.found) + len(self.left_out)
        named = self._take_names(path, module)
        others = self._others(path, module, named)
        if len(self.found) + len(self.left_out) == before:
            return named + others
        self._unnamed += others
        return named

    def _offer(self, path: str, module: griffe.Module) -> Modules:
        """Take the exported names of a module, and keep them apart; answer the modules that are named or lie below."""
        inner = Walk(self.tree, seen=self._seen, twins=self._twins)
        named = inner._take_names(path, module)
        if inner.found or inner.offers:
            self.offers.append(Offer(path, module, inner.found, inner.left_out, inner.offers))
        return named + self._others(path, module, named)

    def _others(self, path: str, module: griffe.Module, named: Modules) -> Modules:
        """The public modules below one that it does not name. What is hidden by a function cannot be reached."""
        known = [one for _, one in named]
        return [
            (f"{path}.{name}", one)
            for name, one in sorted(module.members.items())
            if isinstance(one, griffe.Module)
            and not name.startswith("_")
            and one not in known
            and one.path not in self.tree.shadowed
        ]

    def _take_names(self, path: str, module: griffe.Module) -> Modules:
        """Take the exported names of a module; answer the modules among them."""
        named: Modules = []
        for name, member in self._exported_names(module):
            target = self.tree.resolved(member)
            public = f"{path}.{name}"
            if target is None:
                self._lost(module, name, member, public)
            elif isinstance(target, griffe.Module):
                if self.tree.owns(target.path) and not target.path.startswith(f"{module.path}._"):
                    named.append((public, target))
            elif self.tree.owns(target.path):
                self._take(public, path, target)
        return named

    def _exported_names(self, module: griffe.Module) -> Iterator[tuple[str, griffe.Object | griffe.Alias]]:
        members = dict(module.members)
        for name, overloads in module.overloads.items():
            if name not in members and overloads:
                members[name] = overloads[0]
        names = sorted({str(name) for name in module.exports or () if isinstance(name, str)})
        # `__all__ = _compiled.__all__` says nothing that can be read; the stub beside it does.
        if names or (module.exports is not None and module.path not in self.tree.made_up):
            for name in names[:MAX_NAMES]:
                if name in members and not name.startswith("__"):
                    yield name, self.tree.shadowed.get(f"{module.path}.{name}", members[name])
            return
        for name in sorted(members)[:MAX_NAMES]:
            member = self.tree.shadowed.get(f"{module.path}.{name}", members[name])
            if name.startswith("_") or not name.isidentifier():  # a wildcard has a name of its own here
                continue
            if member.is_alias:
                is_own = module.is_init_module and self.tree.owns(member.target_path)  # type: ignore[union-attr]
                if is_own and member.runtime:
                    yield name, member
            elif not isinstance(member, griffe.Module) and (member.runtime or id(member) in self.tree.stubbed):
                yield name, member

    def _lost(self, module: griffe.Module, name: str, member: griffe.Object | griffe.Alias, public: str) -> None:
        goal = Scope(self.tree, module).follow(str(getattr(member, "target_path", "")))
        if module.exports is None and not self.tree.owns(goal):
            return
        if self.tree.owns(goal):
            why = "its re-export leads nowhere that can be read"
        else:
            why = f"it comes from another package ({goal.partition('.')[0][:60]})"
        self.left_out.append(LeftOut(f"python:{public}", why, self.tree.where(module)))

    def _take(self, public: str, module: str, target: griffe.Object) -> None:
        if target.path in self._seen:
            return
        self._seen.add(target.path)
        if isinstance(target, griffe.Function):
            self._add(Found(public, module, target, "function", target, self._overloads(target)))
        elif isinstance(target, griffe.Class):
            self._take_class(public, module, target)
        elif isinstance(target, griffe.Attribute):
            self._take_value(public, module, target)

    def _add(self, found: Found) -> None:
        twin = self._twins.of(found.function)
        if twin is not None:  # it is the same tool
            self._seen.add(twin.path)
        self.found.append(attrs.evolve(found, twin=twin, is_stub=id(found.function) in self.tree.stubbed))

    def _overloads(self, function: griffe.Function) -> tuple[griffe.Function, ...]:
        own = list(function.overloads or ())
        parent = function.parent
        if parent is not None and (parent.is_module or parent.is_class):
            own += [one for one in parent.overloads.get(function.name, ()) if one not in own]
        return tuple(own[:30])

    def _take_class(self, public: str, module: str, target: griffe.Class) -> None:
        bases = bases_of(target, self.tree)
        if bases & _QUIET_BASES or self._is_exception(target) or ("abc.NamedTuple" in bases and not methods_of(target)):
            return
        for name, member in sorted(target.members.items()):
            if name.startswith("_") or not isinstance(member, griffe.Function):
                continue
            callee: Callee | None = (
                "static"
                if "staticmethod" in member.labels
                else "class method"
                if "classmethod" in member.labels
                else None
            )
            if callee is not None and member.path not in self._seen:
                self._seen.add(member.path)
                self._add(
                    Found(f"{public}.{name}", module, member, callee, member, self._overloads(member), owner=target)
                )
        made = [
            Found(f"{public}.{name}", module, method, "made", method, self._overloads(method), owner=target)
            for name, method in methods_of(target).items()
        ]
        why = why_not_made(target, self.tree) if made else "a call keeps no instance"
        if why is None:
            self.offers.append(Offer(public, target, made))
        else:
            self.left_out.append(LeftOut(f"python:{public}", f"a class: {why}", self.tree.where(target)))

    def _is_exception(self, target: griffe.Class) -> bool:
        names = {name_of(base) or "" for one in [target, *mro_of(target)] for base in one.bases}
        return any(name.rpartition(".")[2].endswith(("Exception", "Error", "Warning")) for name in names)

    def _take_value(self, public: str, module: str, target: griffe.Attribute) -> None:
        """A variable of a module: an instance that can be called, one's method, another name of a function."""
        node = parse(target.value) if target.value is not None else None
        scope = Scope(self.tree, target.parent or target)
        where = self.tree.where(target)
        if isinstance(node, ast.Lambda):
            self.left_out.append(LeftOut(f"python:{public}", "a lambda: nothing says what it takes", where))
        elif isinstance(node, ast.Call) and (maker := dotted(node.func)):
            made = scope.resolve(maker)
            if made in {"functools.partial", "builtins.staticmethod"}:
                self.left_out.append(LeftOut(f"python:{public}", "a partial call: nothing says what it takes", where))
            elif isinstance(owner := self.tree.get(made) if self.tree.owns(made) else None, griffe.Class):
                self._take_instance(public, module, target, owner)
        elif node is not None and (name := dotted(node)):
            self._take_other_name(public, module, target, scope.resolve(name))
        elif node is None and target.annotation is not None:
            self._take_declared(public, module, target, scope)

    def _take_declared(self, public: str, module: str, target: griffe.Attribute, scope: Scope) -> None:
        """A variable that a stub only declares: `levenshtein: Levenshtein`."""
        name = name_of(target.annotation)
        made = scope.resolve(name) if name else ""
        owner = self.tree.get(made) if self.tree.owns(made) else None
        if isinstance(owner, griffe.Class):
            self._take_instance(public, module, target, owner)
        elif normal(made) == "abc.Callable":
            why = "a variable that holds a callable: nothing says what it takes"
            self.left_out.append(LeftOut(f"python:{public}", why, self.tree.where(target)))

    def _take_instance(self, public: str, module: str, target: griffe.Attribute, owner: griffe.Class) -> None:
        call = method_of(owner, "__call__")
        if call is not None:
            self._add(Found(public, module, call, "instance", target, self._overloads(call), owner=owner))
        methods = [
            Found(f"{public}.{name}", module, method, "method", target, self._overloads(method), owner=owner)
            for name, method in methods_of(owner).items()
            if "property" not in method.labels
        ]
        if call is None and self._is_named_by_package(public):
            for method in methods:
                self._add(method)
        elif methods:
            self.offers.append(Offer(public, target, methods))

    def _is_named_by_package(self, public: str) -> bool:
        """Whether the package says itself, in its `__all__`, that this is for those who import it."""
        package, _, name = public.rpartition(".")
        module = self.tree.module(package)
        return package == self.tree.name and module is not None and name in [str(one) for one in module.exports or ()]

    def _take_other_name(self, public: str, module: str, target: griffe.Attribute, path: str) -> None:
        found = self.tree.get(path) if self.tree.owns(path) else None
        if found is not None and (goal := self.tree.resolved(found)) is not None:
            if goal.path != target.path and not isinstance(goal, griffe.Module):
                self._take(public, module, goal)
            return
        head, _, last = path.rpartition(".")
        holder = self.tree.get(head) if head and self.tree.owns(head) else None
        instance = self.tree.resolved(holder) if holder is not None else None
        if not isinstance(instance, griffe.Attribute) or not isinstance(node := parse(instance.value), ast.Call):
            return
        maker = dotted(node.func)
        made = Scope(self.tree, instance.parent or instance).resolve(maker) if maker else ""
        owner = self.tree.get(made) if self.tree.owns(made) else None
        method = method_of(owner, last) if isinstance(owner, griffe.Class) else None
        if method is not None:
            self._add(Found(public, module, method, "method", target, self._overloads(method), owner=owner))  # type: ignore[arg-type]
