"""The schema of a type hint.

It says of a type what `pegboard.schema.structure` accepts, no more. Schemas of common types are shared by all tools,
and everything is frozen as it is made.
"""

from __future__ import annotations

import functools
import re
import typing
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pegboard._frozen import FrozenDict, FrozenList, freeze
from pegboard.content import CONTENT_TYPES
from pegboard.results import ToolResult
from pegboard.schema import docstring, hints
from pegboard.schema.hints import NOTHING, HintError, Scope, type_name
from pegboard.schema.kinds import ANY_DATETIME, INPUT_LEAVES, ByType, claims, kind_of, kinds_of, leaf

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OPAQUE = frozenset({ToolResult, *CONTENT_TYPES})


_ANYTHING = leaf()

OUTPUT_LEAVES = ByType[FrozenDict]({**INPUT_LEAVES, datetime: leaf(type="string", pattern=ANY_DATETIME)})
# By identity: these schemas live as long as the module, so no id comes twice.
_BARE_TYPES = {id(schema): schema["type"] for schema in INPUT_LEAVES.values() if list(schema) == ["type"]}

_NUMBER_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_LENGTH_BOUNDS = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


@functools.cache
def wrapped_leaf(hint: Any) -> Mapping[str, Any]:
    return _closed({"result": OUTPUT_LEAVES[hint]}, ["result"])


def _closed(properties: Mapping[str, Any], required: list[str], **more: Any) -> FrozenDict:
    schema: dict[str, Any] = {"type": "object", **more, "properties": FrozenDict(properties)}
    if required:
        schema["required"] = FrozenList(required)
    schema["additionalProperties"] = False
    return FrozenDict(schema)


class Schemas:
    """The schemas of one function's types; classes are gathered under `$defs`."""

    __slots__ = ("_defs", "_leaves", "_names", "_referred", "_scope", "finite")

    def __init__(self, scope: Callable[[], Scope], *, output: bool = False) -> None:
        self._scope = scope
        self._leaves = OUTPUT_LEAVES if output else INPUT_LEAVES
        self._names: dict[type, str] = {}
        self._referred: set[str] = set()  # those that are named a second time, at least
        self._defs: dict[str, Any] = {}
        self.finite = True

    def closed(self, properties: Mapping[str, Any], required: list[str]) -> FrozenDict:
        """A closed object with all definitions that its members refer to."""
        root = _closed(properties, required)
        return FrozenDict(root, **{"$defs": FrozenDict(self._defs)}) if self._defs else root

    def root(self, hint: Any) -> FrozenDict:
        """The schema of a type that is written as an object, as one that can stand alone."""
        schema = self.of(hint)
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/$defs/")
            schema = FrozenDict(self._defs[name], **{key: schema[key] for key in schema if key != "$ref"})
            if name not in self._referred:
                del self._defs[name]
        elif schema.get("type") != "object":
            schema = FrozenDict({"type": "object", **schema})
        return FrozenDict(schema, **{"$defs": FrozenDict(self._defs)}) if self._defs else schema

    def of(self, hint: Any) -> FrozenDict:
        """The schema of a resolved hint.

        Raises:
            HintError: the type has no JSON form, or a bound does not fit it.
        """
        hint, metadata = hints.unwrap(hint)
        schema = self._plain(hint)
        return self._marked(schema, hint, metadata) if metadata else schema

    def _plain(self, hint: Any) -> FrozenDict:
        if isinstance(hint, type):
            schema = self._leaves.find(hint)
            if schema is not None:
                return schema
            if hint in _OPAQUE:
                raise HintError(f"{hint.__name__} is what a tool answers, and has no schema")
        if hint is Any or hint is object:
            self.finite = False
            return _ANYTHING
        closed = hints.closed_values(hint)
        if closed is not None:
            return _closed_schema(closed)
        if hints.is_union(hint):
            return self._union(hints.members(hint))
        if hints.is_record(hint):
            return self._reference(hint)
        return self._container(hint)

    def _union(self, union: list[Any]) -> FrozenDict:
        if any(hints.unwrap(member)[0] in (Any, object) for member in union):
            self.finite = False
            return _ANYTHING
        schemas = [self.of(member) for member in union]
        claims(union)
        bare = [_BARE_TYPES[id(schema)] for schema in schemas if id(schema) in _BARE_TYPES]
        types = FrozenDict({"type": bare[0] if len(bare) == 1 else FrozenList(bare)}) if bare else None
        others = [schema for schema in schemas if id(schema) not in _BARE_TYPES]
        if not others and types is not None:
            return types
        branches = [*others, types] if types is not None else others
        return FrozenDict({"anyOf": FrozenList(branches)}) if len(branches) > 1 else branches[0]

    def _reference(self, cls: type) -> FrozenDict:
        if cls in self._names:
            self._referred.add(self._names[cls])
        else:
            name = cls.__name__
            if not name.isidentifier():  # of a generic model: `Page[int]`
                name = "".join(one if one.isalnum() else "_" for one in name).strip("_") or "Class"
            while name in self._defs:
                name += "_"
            self._names[cls] = name
            self._defs[name] = _ANYTHING  # keeps its place while the class itself is read
            self._defs[name] = self._record(cls)
        return FrozenDict({"$ref": f"#/$defs/{self._names[cls]}"})

    def _record(self, cls: type) -> FrozenDict:
        if self._leaves is OUTPUT_LEAVES and hints.is_model(cls):
            from pegboard.schema import models

            if not models.is_written_as_read(cls):
                raise HintError(f"{cls.__name__} writes itself otherwise than its fields say")
        doc = docstring.parse(_own_doc(cls))
        properties: dict[str, Any] = {}
        required: list[str] = []
        for key, hint, is_required, default in hints.fields_of(cls, self._scope()):
            try:
                schema = self.of(hint)
            except HintError as error:
                raise HintError(f"field {key!r} of {cls.__name__}: {error}") from None
            more: dict[str, Any] = {}
            if key in doc.parameters and "description" not in schema:
                more["description"] = doc.parameters[key]
            if is_required:
                required.append(key)
            elif default is not NOTHING:
                add_default(more, default, hint)
            properties[key] = FrozenDict(schema, **more) if more else schema
        return _closed(properties, required, **({"description": doc.prose} if doc.prose else {}))

    def _container(self, hint: Any) -> FrozenDict:
        origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
        if not isinstance(origin, type):
            if isinstance(hint, (str, typing.ForwardRef)):
                name = getattr(hint, "__forward_arg__", hint)
                raise HintError(f"the type {name!r} stands for itself within itself; take `Any`, or a class")
            raise HintError(f"the type {type_name(hint)} has no JSON form")
        if origin in hints.LISTS or origin in hints.SETS:
            unique = {"uniqueItems": True} if origin in hints.SETS else {}
            return self._array(arguments[0] if arguments else Any, **unique)
        if origin in hints.DICTS:
            if arguments and hints.unwrap(arguments[0])[0] is not str:
                raise HintError(f"the keys of {type_name(hint)} must be `str`: so they are in JSON")
            values = self.of(arguments[1] if arguments else Any)
            return FrozenDict({"type": "object", "additionalProperties": values} if values else {"type": "object"})
        if origin is tuple:
            return self._tuple(hint, arguments)
        if arguments and hints.is_record(origin):
            raise HintError(hints.no_generic(origin))
        raise HintError(
            f"the type {type_name(hint)} has no JSON form; take an attrs class, a dataclass, a TypedDict, "
            "or a type that JSON has"
        )

    def _array(self, element: Any, **more: Any) -> FrozenDict:
        items = self.of(element)
        return FrozenDict({"type": "array", **({"items": items} if items else {}), **more})

    def _tuple(self, hint: Any, elements: tuple[Any, ...]) -> FrozenDict:
        if not elements and hint is tuple:
            return self._array(Any)
        if elements[1:] == (...,):
            return self._array(elements[0])
        count = len(elements)
        if not elements:
            return FrozenDict({"type": "array", "maxItems": 0})
        schemas = [self.of(element) for element in elements]
        if all(schema == schemas[0] for schema in schemas):
            return self._array(elements[0], minItems=count, maxItems=count)
        return FrozenDict(
            {"type": "array", "prefixItems": FrozenList(schemas), "items": False, "minItems": count, "maxItems": count}
        )

    def _marked(self, schema: FrozenDict, hint: Any, metadata: tuple[Any, ...]) -> FrozenDict:
        """The schema with what `Annotated` says: a description, bounds."""
        more: dict[str, Any] = {}
        for mark in metadata:
            text = mark if isinstance(mark, str) else getattr(mark, "description", getattr(mark, "documentation", None))
            if isinstance(text, str) and text:
                more["description"] = text
        bounds = tuple(mark for mark in metadata if not isinstance(mark, str))
        if bounds:
            self._add_bounds(more, hint, bounds)
        return FrozenDict(schema, **more) if more else schema

    def _add_bounds(self, more: dict[str, Any], hint: Any, metadata: tuple[Any, ...]) -> None:
        kinds = kinds_of(hint)
        for bound, keyword in _NUMBER_BOUNDS.items():
            if (value := hints.bound_of(metadata, bound)) is not None:
                if "number" not in kinds:
                    raise HintError(f"the bound {bound}={value!r:.40} fits numbers alone, not {type_name(hint)}")
                more[keyword] = _json_number(value, bound)
        lengths = [hints.bound_of(metadata, name) for name in ("min_length", "max_length")]
        if lengths[0] == 0:
            lengths[0] = None
        if lengths != [None, None]:
            measured = [kind for kind in _LENGTH_BOUNDS if kind in kinds]
            if not measured or ("string" in measured and not _is_text(hint)) or hints.is_record(hint):
                raise HintError(f"a bound of length fits str, list, set and dict, not {type_name(hint)}")
            for kind in measured:
                more.update({k: v for k, v in zip(_LENGTH_BOUNDS[kind], lengths, strict=True) if v is not None})
        pattern = hints.bound_of(metadata, "pattern")
        if pattern is not None:
            if "string" not in kinds or not _is_text(hint):
                raise HintError(f"a pattern fits str alone, not {type_name(hint)}")
            more["pattern"] = _checked_pattern(getattr(pattern, "pattern", pattern))


def _is_text(hint: Any) -> bool:
    """Whether strings of the type are text as such, not the writing of something else."""
    texts = [hints.unwrap(member)[0] for member in (hints.members(hint) if hints.is_union(hint) else [hint])]
    return all(text is str or "string" not in kinds_of(text) for text in texts)


def _json_number(value: Any, bound: str) -> Any:
    if not isinstance(value, (int, float)):
        value = _plain_number(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
        raise HintError(f"the bound {bound}={value!r:.40} is not a number")
    return value


def _plain_number(value: Any) -> Any:
    """A decimal as an integer where it is one, else as a float; anything else as it is."""
    from decimal import Decimal

    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def _checked_pattern(pattern: Any) -> str:
    try:
        re.compile(pattern)
    except (re.error, TypeError) as error:
        raise HintError(f"the pattern {pattern!r:.60} is not a regular expression: {error}") from None
    return str(pattern)


def _closed_schema(values: Mapping[tuple[bool, Any], Any]) -> FrozenDict:
    allowed = [value for _, value in values]
    kinds = list(dict.fromkeys(kind_of(value) for value in allowed))
    if "number" in kinds:
        kinds = [kind for kind in kinds if kind != "integer"]
    return FrozenDict({"type": kinds[0] if len(kinds) == 1 else FrozenList(kinds), "enum": FrozenList(allowed)})


def _own_doc(cls: type) -> str | None:
    """The docstring that the author wrote; dataclasses and named tuples make one up."""
    doc = cls.__dict__.get("__doc__")
    return None if doc is None or doc.startswith(f"{cls.__name__}(") else doc


def add_default(schema: dict[str, Any], default: Any, hint: Any) -> None:
    """Put the default in its JSON form, if it has one."""
    if default is None:
        if "null" not in kinds_of(hint):
            return  # `tag: str = None`: what is left out is None, and null is still no string
    elif type(default) not in (str, bool, int):
        from pegboard.schema.unstructure import unstructure

        try:
            default = freeze(unstructure(default))
        except (TypeError, ValueError):
            return
    schema["default"] = default
