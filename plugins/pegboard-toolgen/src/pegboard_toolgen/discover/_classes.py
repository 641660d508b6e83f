"""Classes of a library: their methods and properties, and whether a call can make an object of one and forget it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import griffe

from pegboard_manifest import sanitise
from pegboard_toolgen.discover._fields import constructor_of
from pegboard_toolgen.discover._sources import LOST
from pegboard_toolgen.discover._types import Scope, dotted, normal, parse

if TYPE_CHECKING:
    from pegboard_toolgen.discover._sources import Tree

MAKERS = ("__new__", "__init__", "__post_init__", "__attrs_post_init__")
"""What runs when an object is made."""
_PURE_BASES = frozenset(
    {"builtins.object", "abc.Generic", "abc.ABC", "abc.NamedTuple", "functools.total_ordering"}
    | {f"builtins.{name}" for name in ("str", "bytes", "int", "float", "tuple", "list", "dict", "set", "frozenset")}
)
"""Bases outside of a package whose constructor does nothing but keep what it is given."""


_PLAIN_DECORATORS = frozenset({"total_ordering", "final", "runtime_checkable", "deprecated"})


def methods_of(owner: griffe.Class) -> dict[str, griffe.Function]:
    """The public methods and properties of a class and of those above it, by name."""
    found: dict[str, griffe.Function] = {}
    for one in [owner, *mro_of(owner)]:
        for name, member in one.members.items():
            method = property_of(member)
            if method is not None and not name.startswith("_") and not {"staticmethod", "classmethod"} & method.labels:
                found.setdefault(name, method)
    return dict(sorted(found.items()))


def property_of(member: griffe.Object | griffe.Alias | None) -> griffe.Function | None:
    """A function as it is, and a property as the function that it is made of; None for anything else."""
    if isinstance(member, griffe.Function):
        return member
    if not isinstance(member, griffe.Attribute) or "property" not in member.labels:
        return None
    made = griffe.Function(
        member.name,
        lineno=member.lineno,
        endlineno=member.endlineno,
        docstring=member.docstring,
        returns=member.annotation,
        parameters=griffe.Parameters(griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)),
        parent=member.parent,
    )
    made.labels |= member.labels
    return made


def why_not_made(owner: griffe.Class, tree: Tree) -> str | None:
    """Why a call cannot make an object of a class, as far as its form shows; None where it can."""
    line = [owner, *mro_of(owner)]
    for one in line:
        for base in bases_of(one, tree):
            if base not in _PURE_BASES and not tree.owns(base):
                return f"it is made by {base[:80]}, which is not read"
        metaclass = str(getattr(one, "keywords", {}).get("metaclass", "ABCMeta"))
        if metaclass.rpartition(".")[2] != "ABCMeta":
            return "its metaclass makes it"
    if isinstance(made := _constructor(owner, tree), str):
        return made
    names = {name for one in line for name in one.members}
    abstract = [name for name in sorted(names) if (found := _member(line, name)) and "abstractmethod" in found.labels]
    if abstract:
        return f"it is abstract: {', '.join(abstract)[:100]}"
    decorators = {str(by.callable_path).rpartition(".")[2] for one in line for by in one.decorators} - _PLAIN_DECORATORS
    if maker_of(owner, tree) is None and decorators:
        return f"{sanitise(min(decorators), 60)} says how it is made, and not the class"
    return None


def maker_of(owner: griffe.Class, tree: Tree) -> griffe.Function | None:
    """The function whose parameters the class takes, written or generated; None where it takes none."""
    made = _constructor(owner, tree)
    return made if isinstance(made, griffe.Function) else method_of(owner, "__new__")


def _constructor(owner: griffe.Class, tree: Tree) -> griffe.Function | str | None:
    """`__init__` by the order of resolution: of each class the one that it writes, else the one that is generated."""
    line = [owner, *mro_of(owner)]
    for number, one in enumerate(line):
        if found := _own_method(one, "__init__"):
            return found
        if made := constructor_of(one, line[number + 1 :], tree):
            return made
    return None


def makers_of(owner: griffe.Class) -> list[griffe.Function]:
    """What is run where an object is made, of the class and of those above it."""
    found = [method for name in MAKERS if (method := method_of(owner, name)) is not None]
    for one in [owner, *mro_of(owner)]:
        for member in one.members.values():
            if isinstance(member, griffe.Function) and any(
                str(by.callable_path).endswith((".validator", ".default")) for by in member.decorators
            ):  # of a field of attrs
                found.append(member)
    return found


def is_own_effect(owner: griffe.Class, change: str, tree: Tree) -> bool:
    """Whether a change is to the object at hand alone: `keeps x in ...`, where no class and no module shares x."""
    words = change.split()
    if words[:1] != ["keeps"]:
        return False
    found = _member([owner, *mro_of(owner)], words[1])
    if not isinstance(found, griffe.Attribute):
        return True
    node = parse(found.value)
    if "class-attribute" in found.labels and node is not None and not isinstance(node, ast.Constant):
        return False
    name = dotted(node) if node is not None else None
    shared = tree.get(Scope(tree, found.parent or found).resolve(name)) if name else None
    return not (isinstance(shared, griffe.Attribute) and shared.parent is not None and shared.parent.is_module)


def _member(line: list[griffe.Class], name: str) -> griffe.Object | griffe.Alias | None:
    return next((one.members[name] for one in line if name in one.members), None)


def bases_of(owner: griffe.Class, tree: Tree) -> set[str]:
    """The dotted paths of the classes that one is made of."""
    scope = Scope(tree, owner.parent or owner)
    return {normal(scope.resolve(name)) for base in owner.bases if (name := name_of(base))}


def method_of(owner: griffe.Class, name: str) -> griffe.Function | None:
    """A method of a class or of those above it, by the order of resolution."""
    return next((found for one in [owner, *mro_of(owner)] if (found := _own_method(one, name))), None)


def _own_method(owner: griffe.Class, name: str) -> griffe.Function | None:
    found = owner.members.get(name)
    if isinstance(found, griffe.Function):
        return found
    return owner.overloads[name][0] if found is None and owner.overloads.get(name) else None


def mro_of(owner: griffe.Class) -> list[griffe.Class]:
    """The classes of the package above one, nearest first, as far as they can be found."""
    try:
        return list(owner.mro())[:30]
    except LOST:
        return []


def name_of(annotation: object) -> str | None:
    """The dotted name that an annotation or a base begins with."""
    node = parse(annotation)
    if isinstance(node, ast.Subscript):
        node = node.value
    return dotted(node) if node is not None else None
