"""What an annotation means to JSON: a schema, and how the value becomes the type that the function wants.

Annotations are read as syntax: each name is followed through the imports of its module (those under `TYPE_CHECKING`
too) to where it comes from, and a table says what that is in JSON. An alias, a `NewType`, a bound of a
`TypeVar` is looked through. What JSON has no form for (a callable, an open file, an instance of a class) says so in
`Shape.lacks`, and whoever asked drops the parameter or leaves the tool out.

Coercions of a union are tried in the order of the list: what is strict stands first, `none` takes the rest.
"""

from __future__ import annotations

import ast
import builtins
import typing
from typing import TYPE_CHECKING, Any

import attrs
import griffe

from pegboard.limits import TYPE_LEVELS
from pegboard_toolgen.discover._docstrings import is_visible
from pegboard_toolgen.discover._shapes import (
    ANY,
    ENUMS,
    LACKING,
    LISTS,
    MAPPINGS,
    PLAIN,
    SCALAR,
    SETS,
    TEXT,
    TEXTS_OR_LISTS,
    WRAPPERS,
    Schema,
    Shape,
    lacking,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pegboard_toolgen.discover._sources import Tree

MAX_ANNOTATION = 4_000
MAX_DEPTH = TYPE_LEVELS
MAX_MEMBERS = 200
"""Of a Literal, an Enum or a TypedDict."""
# Strict ones first: a date-time is not a date, a date is a date-time to Python.
_ORDER = (
    "enum",
    "uuid",
    "date",
    "datetime",
    "time",
    "timedelta",
    "fraction",
    "decimal",
    "complex",
    "path",
    "bytes",
    "tuple",
    "set",
    "frozenset",
    "none",
)
_SOFT = frozenset({"tuple", "set", "frozenset"})
"""Coercions that a list may go without where they cannot be said, one level further in."""


def normal(path: str) -> str:
    """A dotted path as the tables have it."""
    for module in ("typing_extensions.", "typing.", "collections.abc.", "_collections_abc."):
        if path.startswith(module) and "." not in path[len(module) :]:
            return "abc." + path[len(module) :]
    return path


@attrs.frozen
class Scope:
    """Where an annotation stands: names mean what they mean there."""

    tree: Tree
    owner: griffe.Object
    variables: Mapping[str, str | None] = attrs.field(factory=dict)
    """Type parameters (PEP 695) and their bounds."""

    def resolve(self, dotted: str) -> str:
        """Where a name comes from, followed through the package; a name nobody knows stays as it is."""
        first, _, rest = dotted.partition(".")
        found = self._first(first)
        return self.follow(found + ("." + rest if rest else ""))

    def _first(self, name: str) -> str:
        owner: griffe.Object | griffe.Module | griffe.Class | None = self.owner
        while owner is not None and not owner.is_module:
            if owner.is_class and name in owner.members and not owner.members[name].is_function:
                return f"{owner.path}.{name}"
            owner = owner.parent
        if owner is not None and name in owner.members:
            member = owner.members[name]
            return str(member.target_path) if member.is_alias else member.path  # type: ignore[union-attr]
        if hasattr(builtins, name):
            return f"builtins.{name}"
        return self._by_wildcard(owner, name) or name

    def _by_wildcard(self, module: griffe.Object | None, name: str) -> str | None:
        """`from typing import *`: of modules that are not read, only `typing` says what it gives."""
        for member in module.members.values() if module is not None else ():
            if member.is_alias and member.wildcard == "typing" and name in typing.__all__:  # type: ignore[union-attr]
                return f"typing.{name}"
        return None

    def follow(self, path: str) -> str:
        """Through the package's own re-exports to where something is defined, or out of the package."""
        for _ in range(20):
            if not self.tree.owns(path):
                return path
            found = self.tree.get(path)
            if found is None:
                head, _, last = path.rpartition(".")
                there = self.tree.get(head) if head else None
                if there is None or not there.is_alias:
                    return path
                path = f"{there.target_path}.{last}"  # type: ignore[union-attr]
            elif found.is_alias:
                if found.target_path == path:  # type: ignore[union-attr]
                    return path
                path = str(found.target_path)  # type: ignore[union-attr]
            else:
                return path
        return path


def parse(annotation: object) -> ast.expr | None:
    """An annotation as syntax; None for one that is too long or no expression."""
    if annotation is None:
        return None
    try:
        text = _text_of(annotation)
        return ast.parse(text.strip(), mode="eval").body if 0 < len(text) <= MAX_ANNOTATION else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _text_of(annotation: object) -> str:
    """The text of an expression; of one that is too long only the beginning is made."""
    if not isinstance(annotation, griffe.Expr):
        return str(annotation)
    parts: list[str] = []
    left = MAX_ANNOTATION
    for one in annotation.iterate(flat=True):
        parts.append(one if isinstance(one, str) else one.name)  # type: ignore[attr-defined]
        left -= len(parts[-1])
        if left < 0:
            break
    return "".join(parts)


def shape_of(annotation: object, scope: Scope) -> Shape:
    """What an annotation (griffe's, or text) means to JSON, as something to give."""
    node = parse(annotation)
    return lacking("a type that cannot be read") if node is None else _shape(node, scope, MAX_DEPTH)


def dotted(node: ast.expr) -> str | None:
    """`a.b.c` as text; None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _shape(node: ast.expr, scope: Scope, depth: int) -> Shape:
    if depth <= 0:
        return lacking("a type that is nested too deeply")
    if isinstance(node, ast.Constant):
        if node.value is None:
            return PLAIN["builtins.None"]
        if isinstance(node.value, str):
            return _shape_of_text(node.value, scope, depth)
        return Shape(ANY) if node.value is ... else lacking("a type that cannot be read")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return unite([_shape(part, scope, depth - 1) for part in alternatives(node)])
    if isinstance(node, ast.Subscript):
        return _subscripted(node, scope, depth)
    if isinstance(node, ast.Tuple) and node.elts:  # the constraints of a type parameter
        return unite([_shape(part, scope, depth - 1) for part in node.elts[:MAX_MEMBERS]])
    if isinstance(node, ast.Starred):
        return _shape(node.value, scope, depth - 1)
    name = dotted(node)
    return lacking("a type that cannot be read") if name is None else _named(name, scope, depth)


def _shape_of_text(text: str, scope: Scope, depth: int) -> Shape:
    inner = parse(text)
    return lacking("a type that cannot be read") if inner is None else _shape(inner, scope, depth - 1)


def alternatives(node: ast.expr) -> list[ast.expr]:
    """The members of `a | b | c`, in their order; a chain of any length."""
    found: list[ast.expr] = []
    waiting = [node]
    while waiting and len(found) < MAX_MEMBERS:
        one = waiting.pop()
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.BitOr):
            waiting += [one.right, one.left]
        else:
            found.append(one)
    return found


def _arguments(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _subscripted(node: ast.Subscript, scope: Scope, depth: int) -> Shape:
    name = dotted(node.value)
    path = normal(scope.resolve(name)) if name else ""
    inner = _arguments(node)[:MAX_MEMBERS]
    if not inner:  # tuple[()]
        return Shape({"type": "array", "maxItems": 0}, ("tuple",))
    if path in {"abc.Union", "abc.Optional"}:
        shapes = [_shape(part, scope, depth - 1) for part in inner]
        return unite([*shapes, PLAIN["builtins.None"]] if path == "abc.Optional" else shapes)
    if path == "abc.Literal":
        return _literal(inner, scope)
    if path in WRAPPERS:
        return _shape(inner[0], scope, depth - 1)
    if path in LISTS or path in TEXTS_OR_LISTS:
        items = _shape(inner[0], scope, depth - 1)
        shape = list_of(items)
        if path in TEXTS_OR_LISTS and items.schema in (ANY, SCALAR) and not shape.lacks:
            return unite([Shape(TEXT), shape])
        return shape
    if path in SETS:
        return _as_collection(_shape(inner[0], scope, depth - 1), SETS[path])
    if path in {"builtins.tuple", "abc.Tuple"}:
        return _tuple(inner, scope, depth)
    if path in MAPPINGS:
        return _mapping(inner, scope, depth)
    if path in PLAIN or path in LACKING:
        return _named(name or "", scope, depth)
    if path and (alias := _alias(path, scope, depth)) is not None:
        return alias
    return _named(name, scope, depth) if name else lacking("a type that cannot be read")


def _named(name: str, scope: Scope, depth: int) -> Shape:
    if name in scope.variables:
        bound = scope.variables[name]
        return _shape_of_text(bound, scope, depth) if bound else Shape(ANY)
    path = normal(scope.resolve(name))
    if path in PLAIN:
        return PLAIN[path]
    if path in LACKING:
        return lacking(LACKING[path])
    if path in LISTS or path in {"builtins.tuple", "abc.Tuple"}:
        return Shape({"type": "array"}, ("tuple",) if path.endswith("uple") else ())
    if path in TEXTS_OR_LISTS:
        return Shape({"type": ["string", "array"]})
    if path in SETS:
        return Shape({"type": "array", "uniqueItems": True}, (SETS[path],))
    if path in MAPPINGS:
        return Shape({"type": "object"})
    if (alias := _alias(path, scope, depth)) is not None:
        return alias
    found = scope.tree.get(path) if scope.tree.owns(path) else None
    if found is not None and found.is_class:
        return _class(found, scope, depth)  # type: ignore[arg-type]
    return lacking(f"an instance of {path.rpartition('.')[2][:100]}")


def _alias(path: str, scope: Scope, depth: int) -> Shape | None:
    """A name of the package that stands for another type: an assignment, `type X = ...`, a TypeVar, a NewType."""
    found = scope.tree.get(path) if scope.tree.owns(path) else None
    if found is None or found.is_alias or not (found.is_attribute or found.is_type_alias):
        return None
    there = Scope(scope.tree, found.parent)  # type: ignore[arg-type]
    node = parse(found.value)  # type: ignore[union-attr]
    if node is None:
        return None
    if not isinstance(node, ast.Call):
        return _shape(node, there, depth - 1)
    maker = dotted(node.func)
    made = normal(there.resolve(maker)) if maker else ""
    if made == "abc.TypeVar":
        bounds = [keyword.value for keyword in node.keywords if keyword.arg == "bound"] or node.args[1:]
        return unite([_shape(bound, there, depth - 1) for bound in bounds[:MAX_MEMBERS]]) if bounds else Shape(ANY)
    if made == "abc.NewType" and len(node.args) == 2:
        return _shape(node.args[1], there, depth - 1)
    return None


def _class(found: griffe.Class, scope: Scope, depth: int) -> Shape:
    bases = {normal(Scope(scope.tree, found.parent or found).resolve(name)) for name in _bases(found)}
    if bases & ENUMS:
        return _enum(found)
    if "abc.TypedDict" in bases:
        return _typed_dict(found, scope, depth)
    if "abc.Protocol" in bases and "__call__" in found.members:
        return lacking("a callable")
    if "builtins.str" in bases and "__new__" not in found.members and "__init__" not in found.members:
        return Shape(TEXT)
    if bases & {"abc.IO", "abc.TextIO", "abc.BinaryIO", "io.IOBase", "io.RawIOBase"}:
        return lacking("an open file")
    return lacking(f"an instance of {found.name[:100]}")


def _bases(found: griffe.Class) -> list[str]:
    names = []
    for base in found.bases[:20]:
        node = parse(base)
        if isinstance(node, ast.Subscript):
            node = node.value
        if node is not None and (name := dotted(node)):
            names.append(name)
    return names


def _enum(found: griffe.Class) -> Shape:
    """By value; by name where a value is not in the source (`auto()`) or no plain one. The binding takes both."""
    values: dict[str, Any] = {}
    for name, member in list(found.members.items())[:MAX_MEMBERS]:
        if isinstance(member, griffe.Attribute) and not name.startswith("_") and member.value is not None:
            values[name] = constant(parse(member.value))
    is_plain = all(
        isinstance(value, int) or (isinstance(value, str) and is_visible(value)) for value in values.values()
    )
    told = list(values.values()) if is_plain else list(values)
    if not values:
        return lacking(f"a member of {found.name[:100]} (it has none in its source)")
    return Shape({"enum": told}, ("enum",), enum=found.path)


def _typed_dict(found: griffe.Class, scope: Scope, depth: int) -> Shape:
    there = Scope(scope.tree, found)
    is_total = str(found.keywords.get("total", "True")) != "False" if hasattr(found, "keywords") else True
    properties: dict[str, Schema] = {}
    required = []
    for name, member in list(found.members.items())[:MAX_MEMBERS]:
        if member.is_alias or not member.is_attribute or member.annotation is None:  # type: ignore[union-attr]
            continue
        shape = shape_of(member.annotation, there) if depth > 1 else Shape(ANY)  # type: ignore[union-attr]
        text = str(member.annotation)  # type: ignore[union-attr]
        if (shape.lacks or shape.coerce) and is_total and "NotRequired" not in text:
            return lacking(f"a {found.name[:100]} whose {name[:60]} JSON has no form for")
        if shape.lacks or shape.coerce:
            continue
        properties[name] = shape.schema
        if (is_total and "NotRequired" not in text) or ("Required[" in text and "NotRequired[" not in text):
            required.append(name)
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return Shape({**schema, "required": required} if required else schema)


def _literal(inner: Iterable[ast.expr], scope: Scope) -> Shape:
    values = []
    for node in inner:
        value = constant(node)
        if value is MISSING:
            name = dotted(node)
            alias = parse(getattr(scope.tree.get(scope.resolve(name)), "value", None)) if name else None
            value = constant(alias) if alias is not None else MISSING
        if value is MISSING or not is_visible(value):
            return lacking("a literal that JSON has no form for")
        values.append(value)
    return Shape({"enum": values}) if values else lacking("a literal without values")


def list_of(items: Shape) -> Shape:
    """A list of such items."""
    if items.lacks:
        return lacking(f"a list with {items.lacks} in it")
    schema: Schema = {"type": "array", "items": items.schema} if items.schema else {"type": "array"}
    if not items.coerce:
        return Shape(schema, notes=items.notes)
    if items.items:
        if set(items.coerce) <= _SOFT | {"none"}:
            return Shape(schema, notes=items.notes)
        return lacking("values two lists deep that JSON has no form for")
    if items.coerce == ("bytes",):
        return Shape({"type": "array", "items": TEXT}, items.coerce, items=True, notes=(*items.notes, AS_UTF8))
    return Shape(schema, items.coerce, items=True, enum=items.enum, notes=items.notes)


def _as_collection(items: Shape, coercion: str) -> Shape:
    inner = list_of(items)
    if inner.lacks or (inner.coerce and not set(inner.coerce) <= _SOFT):
        return lacking(f"a {coercion} of {inner.lacks or 'values that JSON has no form for'}")
    schema = {**inner.schema, "uniqueItems": True} if coercion != "tuple" else inner.schema
    return Shape(schema, (coercion,), notes=inner.notes)


def _tuple(inner: Sequence[ast.expr], scope: Scope, depth: int) -> Shape:
    if len(inner) == 2 and isinstance(inner[1], ast.Constant) and inner[1].value is ...:
        return _as_collection(_shape(inner[0], scope, depth - 1), "tuple")
    shapes = [_shape(part, scope, depth - 1) for part in inner]
    for shape in shapes:
        if shape.lacks or (shape.coerce and not set(shape.coerce) <= _SOFT):
            return lacking(f"a tuple with {shape.lacks or 'values that JSON has no form for'}")
    size = len(shapes)
    if all(shape.schema == shapes[0].schema for shape in shapes):
        schema: Schema = {"type": "array", "items": shapes[0].schema, "minItems": size, "maxItems": size}
    else:
        schema = {"type": "array", "prefixItems": [one.schema for one in shapes], "minItems": size, "maxItems": size}
    return Shape(schema, ("tuple",))


def _mapping(inner: Sequence[ast.expr], scope: Scope, depth: int) -> Shape:
    if len(inner) == 1:  # Counter[str]
        return Shape({"type": "object", "additionalProperties": {"type": "integer"}})
    key, value = _shape(inner[0], scope, depth - 1), _shape(inner[-1], scope, depth - 1)
    kinds = key.schema.get("type", "string")
    if key.lacks or key.coerce or ("string" not in kinds and "enum" not in key.schema):
        return lacking("a mapping whose keys are not texts")
    if value.lacks or not set(value.coerce) <= _SOFT | {"none"}:
        return lacking(f"a mapping to {value.lacks or 'values that JSON has no form for'}")
    schema: Schema = {"type": "object"}
    if value.schema:
        schema["additionalProperties"] = value.schema
    if "enum" in key.schema:
        schema["propertyNames"] = key.schema
    return Shape(schema)


def unite(shapes: Sequence[Shape]) -> Shape:
    """One of several: what JSON has no form for is dropped and said, unless nothing is left."""
    fit = [shape for shape in shapes if not shape.lacks]
    if not fit:
        return shapes[0] if shapes else lacking("nothing")
    if all(shape.schema == {"type": "null"} for shape in fit) and len(fit) < len(shapes):
        return next(shape for shape in shapes if shape.lacks)
    notes = [f"cannot be {shape.lacks}" for shape in shapes if shape.lacks]
    if any(_is_text(shape) for shape in fit) and any("bytes" in shape.coerce for shape in fit):
        fit = [shape for shape in fit if "bytes" not in shape.coerce]
        notes.append("bytes cannot be told from text: it is text")
    outer = [shape for shape in fit if not shape.items]
    if len(outer) < len(fit) and any(shape.schema != {"type": "null"} for shape in outer):
        kept = [shape for shape in outer if shape.schema != {"type": "null"}]
        if any(shape.coerce for shape in kept) or not all("array" not in str(shape.schema) for shape in kept):
            notes.append("a list of such values cannot be given")
            fit = outer
    # None passes every coercion as it is.
    words = {word for shape in fit if shape.schema != {"type": "null"} for word in (shape.coerce or ("none",))}
    # A path is judged when it is coerced, so text that may be one always is.
    if "path" in words and all(_is_text(shape) or "path" in shape.coerce for shape in fit):
        words.discard("none")
    coerce = tuple(word for word in _ORDER if word in words)
    if "bytes" in words and len(words) > 1:
        fit = [_without_base64(shape) for shape in fit]
        notes.append(AS_UTF8)
    return Shape(
        any_of([shape.schema for shape in fit]),
        () if coerce == ("none",) else coerce,
        items=any(shape.items for shape in fit),
        enum=next((shape.enum for shape in fit if shape.enum), None),
        notes=tuple(dict.fromkeys([*notes, *(note for shape in fit for note in shape.notes)])),
    )


AS_UTF8 = "bytes are given as text, in UTF-8"


def _without_base64(shape: Shape) -> Shape:
    """Only a parameter that is nothing but bytes comes in base64: elsewhere the binding could not tell it from text."""
    return attrs.evolve(shape, schema=TEXT) if shape.coerce == ("bytes",) and not shape.items else shape


def _is_text(shape: Shape) -> bool:
    return shape.schema == TEXT and not shape.coerce


def any_of(schemas: Sequence[Schema]) -> Schema:
    """A schema for any of several, as short as it can be said."""
    kinds: dict[str, None] = {}
    others: list[Schema] = []
    for schema in _flat(schemas):
        if not schema:
            return {}
        if set(schema) == {"type"}:
            kinds.update(dict.fromkeys([schema["type"]] if isinstance(schema["type"], str) else schema["type"]))
        elif set(schema) == {"enum"} and others and set(others[-1]) == {"enum"}:
            others[-1] = {
                "enum": [*others[-1]["enum"], *(one for one in schema["enum"] if one not in others[-1]["enum"])]
            }
        elif schema not in others:
            others.append(schema)
    if "number" in kinds:
        kinds.pop("integer", None)
    if "null" in kinds and len(others) == 1 and len(kinds) == 1 and set(others[0]) == {"enum"}:
        return {"enum": [*others[0]["enum"], None]}
    if "null" in kinds and len(others) == 1 and len(kinds) == 1 and others[0].get("contentEncoding"):
        return {**others[0], "type": ["string", "null"]}
    others = [schema for schema in others if not ("string" in kinds and schema.get("type") == "string")]
    plain: list[Schema] = [{"type": next(iter(kinds)) if len(kinds) == 1 else list(kinds)}] if kinds else []
    # What is narrower stands first.
    return [*others, *plain][0] if len(others) + len(plain) == 1 else {"anyOf": [*others, *plain]}


def _flat(schemas: Iterable[Schema]) -> Iterator[Schema]:
    """The schemas, with the choices of a choice in its place."""
    for schema in schemas:
        if set(schema) == {"anyOf"}:
            yield from _flat(schema["anyOf"])
        else:
            yield schema


MISSING: Any = object()


def constant(node: ast.expr | None) -> Any:
    """The value of a literal that JSON can say; `MISSING` for anything else."""
    if node is None:
        return MISSING
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return MISSING
    return to_json(value)


def to_json(value: object, depth: int = 8) -> Any:
    """A Python literal as JSON; `MISSING` where JSON has no form for it or it is too big to be an example."""
    if value is None or isinstance(value, bool | str):
        return value if not isinstance(value, str) or len(value) <= 2_000 else MISSING
    if isinstance(value, int):
        return value if value.bit_length() <= 1_024 else MISSING
    if isinstance(value, float):
        return value if value - value == 0 else MISSING
    if depth <= 0:
        return MISSING
    if isinstance(value, list | tuple) and len(value) <= MAX_MEMBERS:
        items = [to_json(one, depth - 1) for one in value]
        return MISSING if MISSING in items else items
    if isinstance(value, dict) and len(value) <= MAX_MEMBERS and all(isinstance(key, str) for key in value):
        pairs = {key: to_json(one, depth - 1) for key, one in value.items()}
        return MISSING if MISSING in pairs.values() else pairs
    return MISSING


def result_schema(annotation: object, scope: Scope) -> Schema:
    """Of a result's data: loose where the annotation is, since a mapping that is returned is the data itself."""
    open_object: Schema = {"type": "object"}
    if annotation is None or (node := parse(annotation)) is None:
        return open_object
    inner = _told(_shape(node, scope, MAX_DEPTH)) if (abstract := _abstract(node, scope)) is None else abstract
    if inner is None:
        return open_object
    return {"type": "object", "properties": {"result": inner}, "required": ["result"]}


_ITERATORS = frozenset({"abc.Iterator", "abc.Generator"})


def _abstract(node: ast.expr, scope: Scope) -> Schema | None:
    """What a result says of itself whose type is only what it can do; None for any other."""
    name = dotted(node.value if isinstance(node, ast.Subscript) else node)
    path = normal(scope.resolve(name)) if name else ""
    return {"type": "array"} if path in _ITERATORS else {} if path in TEXTS_OR_LISTS else None


NOT_FINITE = {"enum": ["nan", "inf", "-inf"]}
"""How the binding writes floats that JSON has no number for."""


def _told(shape: Shape) -> Schema | None:
    """What a result says of itself; None where it may be an object, whose form nobody promises."""
    if shape.lacks:
        return None
    alternatives = shape.schema.get("anyOf", [shape.schema])
    kinds: list[str] = []
    for schema in alternatives:
        kind = schema.get("type")
        if not schema or kind == "object" or (isinstance(kind, list) and "object" in kind):
            return None
        kinds += [kind] if isinstance(kind, str) else kind or []
    if shape.coerce == ("bytes",) and "contentEncoding" in shape.schema:
        return shape.schema
    if shape.coerce:  # dates, decimals and the like: the binding says how they look
        return {"type": "array"} if all(kind == "array" for kind in kinds) and kinds else {}
    if shape.notes:
        return {}
    return _loose(shape.schema)


def _loose(schema: Schema) -> Schema:
    if schema.get("type") == "array":
        items = schema.get("items", {})
        plain = isinstance(items.get("type"), str) and items["type"] not in {"array", "object"}
        return {"type": "array", "items": {"type": items["type"]}} if plain else {"type": "array"}
    if "anyOf" in schema:
        return {"anyOf": [_loose(one) for one in schema["anyOf"]]}
    kinds = schema.get("type", ())
    if "number" in ([kinds] if isinstance(kinds, str) else kinds) and "string" not in kinds:
        return {"anyOf": [schema, NOT_FINITE]}
    return schema
