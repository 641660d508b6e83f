"""A function's schema, read from its hints and its docstring, and the binder that turns arguments into its parameters.

The schema is strict 2020-12: a closed object, every nested class a closed object under `$defs`. It says of a type what
`pegboard.schema.structure` accepts, no more; where JSON Schema cannot say all of it (30 February, a text that is no
base64), the binder reports a fault. A tuple of different types becomes `prefixItems`, which not every validator holds.

Deriving is on the path of every start, so plain functions are read from their code object, and the schemas of common
types are shared by all tools.
"""

from __future__ import annotations

import copy
import functools
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path, PurePath
from types import FunctionType
from typing import Any, NamedTuple
from uuid import UUID

import attrs

from pegboard._frozen import EMPTY, FrozenDict, FrozenList, freeze
from pegboard.content import CONTENT_TYPES
from pegboard.errors import Fault, ToolDefinitionError
from pegboard.results import ToolResult
from pegboard.schema import docstring, hints, structure
from pegboard.schema.hints import NOTHING, HintError, Scope

Bind = Callable[[Mapping[str, Any]], "dict[str, Any] | Faults"]


class Faults(tuple[Fault, ...]):
    """What is wrong with the arguments: what a binder returns instead of a dict; never empty.

    .. versionadded:: 0.1
    """

    __slots__ = ()


@attrs.define(eq=False, weakref_slot=False)
class Signature:
    """How the handler's parameters are filled.

    Args:
        context_parameter: the name of the parameter that is annotated with `CallContext`, or None.
        context_positional: whether that parameter takes no keyword.
        finite: whether the binder refuses NaN and infinities wherever the arguments may hold a number; False where
            something in them is of any type.

    .. versionadded:: 0.1
    """

    context_parameter: str | None = None
    context_positional: bool = False
    finite: bool = False
    _hints: Mapping[str, Any] = EMPTY
    _defaults: Mapping[str, Any] = EMPTY
    _bind: Bind | None = attrs.field(default=None, init=False, repr=False)

    def binder(self) -> Bind:
        """A function from validated arguments to the handler's keyword arguments, compiled at the first call.

        It returns a new `dict`, or `Faults` where a value fits the schema and still is no value of its type; ask
        `type(bound) is Faults`. It never raises and never changes what it is given. Parameters that were not given
        are left out, so that Python's own default applies; of a mutable default each call gets a copy.
        """
        if self._bind is None:
            self._bind = _compile(self._hints, self._defaults)
        return self._bind


@attrs.frozen(weakref_slot=False)
class Derived:
    """What a function says of itself as a tool.

    Args:
        name: of the function; for a partial, of what it calls; for an object, of its class.
        description: the prose of its docstring.
        input_schema: a closed object; the given one where one was given.
        output_schema: of `ToolResult.data`: that of an object as it is, anything else under `result`; None where
            nothing is promised (no hint, `Any`, `None`, `ToolResult`, content, a type of no JSON form, a union of
            objects and other values).
        signature: how the parameters are filled.

    .. versionadded:: 0.1
    """

    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    signature: Signature


def derive(function: Callable[..., Any], input_schema: Mapping[str, Any] | None = None) -> Derived:
    """Read a function's name, description, schemas and signature.

    Args:
        function: a function, method, partial, or object that can be called.
        input_schema: a schema to use instead; the arguments are then passed as they came, and only a context
            parameter is looked for.

    Raises:
        ToolDefinitionError: a parameter has no JSON Schema; the message names the function, the parameter and the cure.

    .. versionadded:: 0.1
    """
    source = _source(function)
    doc = docstring.parse(_doc_of(function, source))
    name = getattr(source, "__name__", None) or type(function).__name__
    if type(function) is not FunctionType and source is not function and not hasattr(_innermost(function), "__name__"):
        name = type(_innermost(function)).__name__
    parameters = _parameters(function)
    annotations = getattr(source, "__annotations__", {})
    reader = _Reader(name, source)
    if input_schema is not None:
        context = reader.find_context(parameters, annotations)
        signature = Signature(*context)
    else:
        input_schema, signature = reader.input(parameters, annotations, doc.parameters)
    output = reader.output(annotations["return"]) if "return" in annotations else None
    return Derived(name, doc.prose, input_schema, output, signature)


# The function, taken apart.


class Parameter(NamedTuple):
    name: str
    kind: str
    default: Any


_KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "positional-only",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "plain",
    inspect.Parameter.KEYWORD_ONLY: "plain",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _source(function: Any) -> Any:
    """The plain function whose hints, docstring and names count."""
    if type(function) is FunctionType and not hasattr(function, "__wrapped__"):
        return function
    inner = inspect.unwrap(_innermost(function))
    if inspect.ismethod(inner):
        inner = inner.__func__
    if not inspect.isroutine(inner) and not inspect.isclass(inner) and callable(inner):
        inner = inspect.unwrap(type(inner).__call__)
    if not isinstance(inner, FunctionType):
        raise ToolDefinitionError(
            f"{getattr(inner, '__qualname__', type(inner).__name__)} is no Python function",
            hint="wrap it in a `def` with type hints",
        )
    return inner


def _doc_of(function: Any, source: Any) -> str | None:
    if source is function:
        return source.__doc__  # type: ignore[no-any-return]
    inner = _innermost(function)
    return source.__doc__ or (None if isinstance(inner, FunctionType) else inspect.getdoc(inner))


def _parameters(function: Any) -> list[Parameter]:
    if type(function) is not FunctionType or hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
        signature = inspect.signature(function)
        return [
            Parameter(p.name, _KINDS[p.kind], NOTHING if p.default is p.empty else p.default)
            for p in signature.parameters.values()
        ]
    code = function.__code__
    names, count = code.co_varnames, code.co_argcount
    defaults = function.__defaults__ or ()
    first_default = count - len(defaults)
    found = [
        Parameter(
            names[at],
            "positional-only" if at < code.co_posonlyargcount else "plain",
            defaults[at - first_default] if at >= first_default else NOTHING,
        )
        for at in range(count)
    ]
    keyword_defaults = function.__kwdefaults__ or {}
    at = count + code.co_kwonlyargcount
    found.extend(Parameter(name, "plain", keyword_defaults.get(name, NOTHING)) for name in names[count:at])
    if code.co_flags & inspect.CO_VARARGS:
        found.append(Parameter(names[at], "*", NOTHING))
        at += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found.append(Parameter(names[at], "**", NOTHING))
    return found


class _Reader:
    """Reads one function; what it refuses it says of a parameter of that function."""

    __slots__ = ("_name", "_scope", "_source")

    def __init__(self, name: str, source: Any) -> None:
        self._name = name
        self._source = source
        self._scope: Scope | None = None

    @property
    def scope(self) -> Scope:
        if self._scope is None:
            self._scope = hints.scope_of(self._source)
        return self._scope

    def refuse(self, parameter: str, why: object, hint: str | None = None) -> ToolDefinitionError:
        return ToolDefinitionError(f"tool {self._name}: parameter {parameter!r}: {why}", hint=hint)

    def find_context(self, parameters: list[Parameter], annotations: Mapping[str, Any]) -> tuple[str | None, bool]:
        for name, kind, _ in parameters:
            hint = annotations.get(name)
            if isinstance(hint, str):
                hint = self._resolve_if_context(hint)
            if hints.is_context(hint):
                return name, kind == "positional-only"
        return None, False

    def _resolve_if_context(self, hint: str) -> Any:
        """A string hint, resolved if it may name the context; its author gave a schema, so no other need be known."""
        try:
            return hints.resolve(hint, self.scope)
        except HintError:
            return None

    def input(
        self, parameters: list[Parameter], annotations: Mapping[str, Any], descriptions: Mapping[str, str]
    ) -> tuple[Mapping[str, Any], Signature]:
        properties: dict[str, Any] = {}
        required: list[str] = []
        resolved: dict[str, Any] = {}
        mutable: dict[str, Any] = {}
        context: str | None = None
        context_positional = False
        schemas = Schemas(lambda: self.scope)
        for name, kind, default in parameters:
            hint = annotations.get(name, NOTHING)
            if not isinstance(hint, type) and hint is not NOTHING:
                try:
                    hint = hints.resolve(hint, self.scope) if type(hint) is not _LITERAL else hint
                except HintError as error:
                    raise self.refuse(name, error) from None
            if hints.is_context(hint):
                if context is not None:
                    raise self.refuse(name, f"{context!r} has the call's context already")
                context, context_positional = name, kind == "positional-only"
                continue
            self._check_kind(name, kind)
            if hint is NOTHING:
                raise self.refuse(name, "it has no type hint", f"write `{name}: str`, or `{name}: Any` for anything")
            try:
                schema = _INPUT_LEAVES.get(hint) if isinstance(hint, type) else None
                if schema is None:
                    schema = schemas.of(hint)
            except HintError as error:
                raise self.refuse(name, error) from None
            resolved[name] = hint
            more: dict[str, Any] = {}
            if name in descriptions and "description" not in schema:
                more["description"] = descriptions[name]
            if default is NOTHING:
                required.append(name)
            else:
                _add_default(more, default, hint)
                if _is_mutable(default):
                    mutable[name] = default
            properties[name] = FrozenDict(schema, **more) if more else schema
        root = schemas.closed(properties, required)
        finite = schemas.finite
        return root, Signature(context, context_positional, finite, resolved, mutable or EMPTY)

    def _check_kind(self, name: str, kind: str) -> None:
        if kind == "*":
            raise self.refuse(f"*{name}", "arguments come by name", f"take a list instead: `{name}: list[str]`")
        if kind == "**":
            raise self.refuse(
                f"**{name}",
                "a strict schema names every argument",
                f"take an object instead, `{name}: dict[str, str]`, or give an input_schema",
            )
        if kind == "positional-only":
            raise self.refuse(name, "arguments come by name, and it is positional-only", "leave out the `/`")

    def output(self, hint: Any) -> Mapping[str, Any] | None:
        try:
            hint = hints.resolve(hint, self.scope) if not isinstance(hint, type) else hint
        except HintError as error:
            raise ToolDefinitionError(f"tool {self._name}: what it returns: {error}") from None
        plain = hints.unwrap(hint)[0]
        if plain in _NO_PROMISE:
            return None
        if isinstance(plain, type) and plain in _OUTPUT_LEAVES and plain is hint:
            return _wrapped_leaf(plain)
        schemas = Schemas(lambda: self.scope, output=True)
        try:
            kinds = structure.kinds_of(hint)
            if kinds == {"object"}:
                return schemas.root(hint)
            if "object" in kinds:
                return None
            return schemas.closed({"result": schemas.of(hint)}, ["result"])
        except HintError:
            return None


_LITERAL = type(typing.Literal[0])
_NO_PROMISE = (Any, object, type(None))
_OPAQUE = frozenset({ToolResult, *CONTENT_TYPES})


# Types as schemas.


def _leaf(**schema: Any) -> FrozenDict:
    return freeze(schema)  # type: ignore[no-any-return]


_STRING = _leaf(type="string")
_ANYTHING = _leaf()
_DATETIME = _leaf(type="string", format="date-time", pattern=structure.DATETIME)

_INPUT_LEAVES: dict[Any, FrozenDict] = {
    str: _STRING,
    int: _leaf(type="integer"),
    float: _leaf(type="number"),
    bool: _leaf(type="boolean"),
    type(None): _leaf(type="null"),
    date: _leaf(type="string", format="date", pattern=structure.DATE),
    datetime: _DATETIME,
    time: _leaf(type="string", pattern=structure.TIME),
    timedelta: _leaf(type="string", pattern=structure.DURATION),
    UUID: _leaf(type="string", format="uuid", pattern=structure.UUID_TEXT),
    Decimal: _leaf(type=["string", "number"], pattern=structure.DECIMAL),
    bytes: _leaf(type="string", contentEncoding="base64", pattern=structure.BASE64),
    Path: _leaf(type="string", pattern=structure.PATH),
    PurePath: _leaf(type="string", pattern=structure.PATH),
}
_OUTPUT_LEAVES = {**_INPUT_LEAVES, datetime: _leaf(type="string", pattern=structure.LOCAL_DATETIME)}
_BARE_TYPES = {id(schema): schema["type"] for schema in _INPUT_LEAVES.values() if list(schema) == ["type"]}

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
def _wrapped_leaf(hint: Any) -> Mapping[str, Any]:
    return _closed({"result": _OUTPUT_LEAVES[hint]}, ["result"])


def _closed(properties: Mapping[str, Any], required: list[str], **more: Any) -> FrozenDict:
    schema: dict[str, Any] = {"type": "object", **more, "properties": FrozenDict(properties)}
    if required:
        schema["required"] = FrozenList(required)
    schema["additionalProperties"] = False
    return FrozenDict(schema)


class Schemas:
    """The schemas of one function's types; classes are gathered under `$defs`."""

    __slots__ = ("_defs", "_leaves", "_names", "_scope", "finite")

    def __init__(self, scope: Callable[[], Scope], *, output: bool = False) -> None:
        self._scope = scope
        self._leaves = _OUTPUT_LEAVES if output else _INPUT_LEAVES
        self._names: dict[type, str] = {}
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
            if not _refers_to(self._defs, name):
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
            leaf = self._leaves.get(hint)
            if leaf is not None:
                return leaf
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
        structure.claims(union)
        bare = [_BARE_TYPES[id(schema)] for schema in schemas if id(schema) in _BARE_TYPES]
        types = FrozenDict({"type": bare[0] if len(bare) == 1 else FrozenList(bare)}) if bare else None
        others = [schema for schema in schemas if id(schema) not in _BARE_TYPES]
        if not others and types is not None:
            return types
        branches = [*others, types] if types is not None else others
        return FrozenDict({"anyOf": FrozenList(branches)}) if len(branches) > 1 else branches[0]

    def _reference(self, cls: type) -> FrozenDict:
        if cls not in self._names:
            name = cls.__name__
            while name in self._defs:
                name += "_"
            self._names[cls] = name
            self._defs[name] = _ANYTHING  # keeps its place while the class itself is read
            self._defs[name] = self._record(cls)
        return FrozenDict({"$ref": f"#/$defs/{self._names[cls]}"})

    def _record(self, cls: type) -> FrozenDict:
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
                _add_default(more, default, hint)
            properties[key] = FrozenDict(schema, **more) if more else schema
        return _closed(properties, required, **({"description": doc.prose} if doc.prose else {}))

    def _container(self, hint: Any) -> FrozenDict:
        origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
        if not isinstance(origin, type):
            raise HintError(f"the type {structure.type_name(hint)} has no JSON form")
        if origin in hints.LISTS or origin in hints.SETS:
            unique = {"uniqueItems": True} if origin in hints.SETS else {}
            return self._array(arguments[0] if arguments else Any, **unique)
        if origin in hints.DICTS:
            if arguments and hints.unwrap(arguments[0])[0] is not str:
                raise HintError(f"the keys of {structure.type_name(hint)} must be `str`: so they are in JSON")
            values = self.of(arguments[1] if arguments else Any)
            return FrozenDict({"type": "object", "additionalProperties": values} if values else {"type": "object"})
        if origin is tuple:
            return self._tuple(hint, arguments)
        raise HintError(
            f"the type {structure.type_name(hint)} has no JSON form; take an attrs class, a dataclass, a TypedDict, "
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
            said = mark if isinstance(mark, str) else getattr(mark, "description", getattr(mark, "documentation", None))
            if isinstance(said, str) and said:
                more["description"] = said
        kinds = structure.kinds_of(hint)
        for bound, keyword in _NUMBER_BOUNDS.items():
            if (value := structure.bound_of(metadata, bound)) is not None:
                if "number" not in kinds:
                    raise HintError(f"the bound {bound}={value!r:.40} fits numbers alone, not {_name(hint)}")
                more[keyword] = _json_number(value, bound)
        lengths = [structure.bound_of(metadata, name) for name in ("min_length", "max_length")]
        if lengths[0] == 0:
            lengths[0] = None
        if lengths != [None, None]:
            measured = [kind for kind in _LENGTH_BOUNDS if kind in kinds]
            if not measured or ("string" in measured and not _is_text(hint)) or hints.is_record(hint):
                raise HintError(f"a bound of length fits str, list, set and dict, not {_name(hint)}")
            for kind in measured:
                more.update({k: v for k, v in zip(_LENGTH_BOUNDS[kind], lengths, strict=True) if v is not None})
        pattern = structure.bound_of(metadata, "pattern")
        if pattern is not None:
            if "string" not in kinds or not _is_text(hint):
                raise HintError(f"a pattern fits str alone, not {_name(hint)}")
            more["pattern"] = _checked_pattern(getattr(pattern, "pattern", pattern))
        return FrozenDict(schema, **more) if more else schema


def _name(hint: Any) -> str:
    return structure.type_name(hint)


def _is_text(hint: Any) -> bool:
    """Whether strings of the type are text as such, not the writing of something else."""
    texts = [hints.unwrap(member)[0] for member in (hints.members(hint) if hints.is_union(hint) else [hint])]
    return all(text is str or "string" not in structure.kinds_of(text) for text in texts)


def _json_number(value: Any, bound: str) -> Any:
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
        raise HintError(f"the bound {bound}={value!r:.40} is no number")
    return value


def _checked_pattern(pattern: Any) -> str:
    try:
        re.compile(pattern)
    except (re.error, TypeError) as error:
        raise HintError(f"the pattern {pattern!r:.60} is no regular expression: {error}") from None
    return str(pattern)


def _closed_schema(values: Mapping[tuple[bool, Any], Any]) -> FrozenDict:
    allowed = [value for _, value in values]
    kinds = list(dict.fromkeys(structure.kind_of(value) for value in allowed))
    if "number" in kinds:
        kinds = [kind for kind in kinds if kind != "integer"]
    return FrozenDict({"type": kinds[0] if len(kinds) == 1 else FrozenList(kinds), "enum": FrozenList(allowed)})


def _own_doc(cls: type) -> str | None:
    """The docstring that the author wrote; dataclasses and named tuples make one up."""
    doc = cls.__dict__.get("__doc__")
    return None if doc is None or doc.startswith(f"{cls.__name__}(") else doc


def _refers_to(schema: Any, name: str) -> bool:
    if isinstance(schema, dict):
        return schema.get("$ref") == f"#/$defs/{name}" or any(_refers_to(item, name) for item in schema.values())
    return isinstance(schema, list) and any(_refers_to(item, name) for item in schema)


# Defaults.


def _add_default(schema: dict[str, Any], default: Any, hint: Any) -> None:
    """Put the default in its JSON form, if it has one."""
    kind = type(default)
    if kind is not str and kind is not bool and kind is not int:
        if default is None and "null" not in structure.kinds_of(hint):
            return  # `tag: str = None`: what is left out is None, and null is still no string
        try:
            default = freeze(structure.unstructure(default))
        except (TypeError, ValueError):
            return
    schema["default"] = default


_IMMUTABLE = frozenset({str, int, float, bool, type(None), bytes, Decimal, UUID, date, datetime, time, timedelta})


def _is_mutable(default: Any) -> bool:
    kind = type(default)
    if kind in _IMMUTABLE:
        return False
    if kind is tuple or kind is frozenset:
        return any(map(_is_mutable, default))
    return isinstance(default, (list, dict, set, bytearray)) or kind.__hash__ is None


# The binder.


def _identity(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return dict(arguments)


def _compile(types: Mapping[str, Any], defaults: Mapping[str, Any]) -> Bind:
    """The hot path: copy the arguments, then run the hooks of those parameters that have one."""
    hooks = {name: hook for name, hint in types.items() if (hook := _hook(hint)) is not None}
    if not hooks and not defaults:
        return _identity
    pairs = tuple(hooks.items())

    def bind(arguments: Mapping[str, Any]) -> dict[str, Any] | Faults:
        bound = dict(arguments)
        try:
            for name, hook in pairs:
                if name in bound:
                    bound[name] = hook(bound[name])
        except Exception:  # noqa: BLE001 - a class of the tool's author may raise anything: all of it is faults
            return _faults(hooks, arguments)
        return bound

    if not defaults:
        return bind

    def bind_with_copies(arguments: Mapping[str, Any]) -> dict[str, Any] | Faults:
        bound = bind(arguments)
        if type(bound) is dict:
            for name, default in defaults.items():
                if name not in bound:
                    bound[name] = copy.deepcopy(default)
        return bound

    return bind_with_copies


def _hook(hint: Any) -> Callable[[Any], Any] | None:
    """What a validated value of the type must go through; None: it is the Python value already."""
    plain = hints.unwrap(hint)[0]
    if isinstance(plain, typing.Hashable) and plain in structure.AS_THEY_ARE:
        return None
    if typing.get_origin(plain) is typing.Literal and all(type(value) is str for value in plain.__args__):
        return None
    if hints.is_union(plain):
        if all(_hook(member) is None for member in hints.members(plain)):
            return None
    elif typing.get_origin(plain) is list and _hook(plain.__args__[0]) is None:
        return list
    elif typing.get_origin(plain) is dict and _hook(plain.__args__[1]) is None:
        return dict
    return structure.structure_hook(hint)


def _faults(hooks: Mapping[str, Callable[[Any], Any]], arguments: Mapping[str, Any]) -> Faults:
    """Run every hook once more, and gather what each one says."""
    faults: list[Fault] = []
    for name, hook in hooks.items():
        if name in arguments:
            try:
                hook(arguments[name])
            except Exception as error:  # noqa: BLE001 - as in `bind`
                faults.extend(structure.faults_of(error, (name,)))
    return Faults(faults or [Fault((), "arguments that its types take", "arguments that one of them refused once")])
