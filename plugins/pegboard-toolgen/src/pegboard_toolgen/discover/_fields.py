"""Constructors that nobody wrote: `__init__` as dataclasses, attrs and `typing.NamedTuple` make it of a class's fields.

Read off the class as those modules read it, and never run: the order of the classes above, `init`, `kw_only`,
`alias`, `KW_ONLY`, `InitVar`, `ClassVar`. What a field's converter, validator or factory does is not followed: one
that is not known to look at its value alone costs the class.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal

import attrs
import griffe

from pegboard_toolgen.discover._types import Scope, dotted, normal, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pegboard_toolgen.discover._sources import Tree

    Kind = Literal["dataclass", "attrs", "old attrs", "tuple"]

_KINDS: Mapping[str, Kind] = {
    "dataclasses.dataclass": "dataclass",
    **{f"{module}.{name}": "attrs" for module in ("attr", "attrs") for name in ("define", "frozen", "mutable")},
    **{f"attr.{name}": "old attrs" for name in ("s", "attrs", "attributes", "dataclass")},
}
_FIELDS = frozenset({"dataclasses.field", "attr.field", "attrs.field", "attr.ib", "attr.attrib", "attr.attr"})
_PURE = frozenset(
    f"builtins.{name}"
    for name in ("bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple", "repr", "len")
)
"""What a field may be converted or made by."""
_PURE_MODULES = ("attr.validators.", "attrs.validators.", "attr.converters.", "attrs.converters.")
_LOOK = frozenset(
    ("instance_of", "in_", "matches_re", "lt", "le", "ge", "gt", "max_len", "min_len", "is_callable", "disabled")
)
"""Validators of attrs that call nothing that they are given."""
_FACTORIES = frozenset({"attr.Factory", "attrs.Factory"})
_RUN = ("converter", "validator", "factory", "default_factory", "on_setattr")


@attrs.frozen(kw_only=True)
class _Field:
    """One field; `name` is that of the parameter."""

    key: str
    name: str
    annotation: str | None
    default: str | None
    kw_only: bool = False


class _UnreadableError(Exception):
    """What a field runs that is not known."""


def constructor_of(owner: griffe.Class, line: Sequence[griffe.Class], tree: Tree) -> griffe.Function | str | None:
    """The `__init__` that is made for a class; None where none is made, and a text says why it cannot be told.

    Args:
        owner: the class.
        line: the classes above it, nearest first.
        tree: of its package.
    """
    kind, said = _kind_of(owner, tree)
    if kind is None or _constant(said.get("init")) is False:
        return None
    try:
        fields = _fields_of(owner, line, tree, kind)
    except _UnreadableError as problem:
        return str(problem)
    by_place = griffe.ParameterKind.positional_or_keyword
    parameters = [griffe.Parameter("self", kind=by_place)]
    for one in sorted(fields, key=lambda field: field.kw_only):
        place = griffe.ParameterKind.keyword_only if one.kw_only else by_place
        parameters.append(griffe.Parameter(one.name, annotation=one.annotation, kind=place, default=one.default))
    return griffe.Function("__init__", parameters=griffe.Parameters(*parameters), parent=owner)


def _kind_of(owner: griffe.Class, tree: Tree) -> tuple[Kind | None, Mapping[str, ast.expr]]:
    scope = Scope(tree, owner.parent or owner)
    for decorator in owner.decorators:
        node = parse(decorator.value)
        said = {one.arg: one.value for one in node.keywords if one.arg} if isinstance(node, ast.Call) else {}
        if kind := _KINDS.get(_path(node.func if isinstance(node, ast.Call) else node, scope)):
            is_new = kind == "old attrs" and _constant(said.get("auto_attribs")) is True
            return ("attrs" if is_new else kind), said
    bases = {_path(parse(base), scope) for base in owner.bases}
    return ("tuple", {}) if "abc.NamedTuple" in bases else (None, {})


def _fields_of(owner: griffe.Class, line: Sequence[griffe.Class], tree: Tree, kind: Kind) -> list[_Field]:
    """Of the class and of those above it that were made in the same way, in the order of the parameters."""
    found: dict[str, _Field] = {}
    for one in [owner] if kind == "tuple" else [*reversed(line), owner]:
        own, said = _kind_of(one, tree)
        if own is None:
            continue
        for key, field in _own_fields(one, tree, own, kw_only=_constant(said.get("kw_only")) is True):
            if own != "dataclass":  # attrs puts a field that a class names again where that class names it
                found.pop(key, None)
            if field is None:
                found.pop(key, None)
            else:
                found[key] = field
    return list(found.values())


def _own_fields(owner: griffe.Class, tree: Tree, kind: Kind, *, kw_only: bool) -> Iterator[tuple[str, _Field | None]]:
    """The fields that the body of a class names; None of one that is not a parameter."""
    scope = Scope(tree, owner)
    for statement in tree.body_of(owner):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            key, annotation, value = statement.target.id, statement.annotation, statement.value
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1 and kind in ("attrs", "old attrs"):
            target = statement.targets[0]
            if not isinstance(target, ast.Name):
                continue
            key, annotation, value = target.id, None, statement.value
        else:
            continue
        said = _field_call(value, scope)
        if said is None and (annotation is None or kind == "old attrs"):
            continue
        outer = annotation.value if isinstance(annotation, ast.Subscript) else annotation
        path = _path(outer, scope)
        if path.endswith(".ClassVar"):
            continue
        if path.endswith(".KW_ONLY"):
            kw_only = True
            continue
        if path.endswith(".InitVar"):
            annotation = annotation.slice if isinstance(annotation, ast.Subscript) else None
        yield key, _field(key, annotation, value, said, scope, kind, kw_only=kw_only)


def _field(
    key: str,
    annotation: ast.expr | None,
    value: ast.expr | None,
    said: Mapping[str, ast.expr] | None,
    scope: Scope,
    kind: Kind,
    *,
    kw_only: bool,
) -> _Field | None:
    said = {} if said is None else {**said}
    if said and _constant(said.get("init")) is False:
        return None
    default = value if value is not None and _field_call(value, scope) is None else None
    default = said.get("default") or said.get("factory") or said.get("default_factory") or default
    for name in _RUN:
        if name in said and not _is_pure(said[name], scope):
            raise _UnreadableError(f"what {name} of its field {key[:60]} does is not read")
    if isinstance(default, ast.Call) and _path(default.func, scope) in _FACTORIES and not _is_pure(default, scope):
        raise _UnreadableError(f"what makes its field {key[:60]} is not read")
    if "type" in said and annotation is None:
        annotation = said["type"]
    alias = _constant(said.get("alias"))
    plain = key if kind in ("dataclass", "tuple") else key.lstrip("_")
    own = _constant(said.get("kw_only"))
    return _Field(
        key=key,
        name=alias if isinstance(alias, str) else plain,
        annotation=None if annotation is None else ast.unparse(annotation),
        default=None if default is None else ast.unparse(default)[:1_000],
        kw_only=kw_only if not isinstance(own, bool) else own,
    )


def _field_call(value: ast.expr | None, scope: Scope) -> Mapping[str, ast.expr] | None:
    """What `field(...)` says, by keyword; None where a value is anything else."""
    if not isinstance(value, ast.Call) or _path(value.func, scope) not in _FIELDS:
        return None
    first = {"default": value.args[0]} if value.args else {}
    return {**first, **{one.arg: one.value for one in value.keywords if one.arg}}


def _is_pure(node: ast.expr, scope: Scope) -> bool:
    """Whether what runs where an object is made only looks at values: a type, a validator of attrs, a list of such."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return all(_is_pure(one, scope) for one in node.elts)
    if isinstance(node, ast.Lambda):
        calls = [one for one in ast.walk(node.body) if isinstance(one, ast.Call)]
        return all(_path(one.func, scope) in _PURE for one in calls)
    if isinstance(node, ast.Call):
        path = _path(node.func, scope)
        if path in _FACTORIES:
            return all(_is_pure(one, scope) for one in node.args[:1])
        looks = path.rpartition(".")[2] in _LOOK
        return path.startswith(_PURE_MODULES) and (looks or all(_is_pure(one, scope) for one in node.args))
    path = _path(node, scope)
    return path in _PURE or path.startswith(_PURE_MODULES) or _constant(node, node) is None


def _path(node: ast.expr | None, scope: Scope) -> str:
    name = dotted(node) if node is not None else None
    return normal(scope.resolve(name)) if name else ""


def _constant(node: ast.expr | None, otherwise: object = None) -> object:
    return node.value if isinstance(node, ast.Constant) else otherwise
