"""A function's schema, read from its hints and its docstring, and the binder that turns arguments into its parameters.

The schema is strict 2020-12: a closed object, every nested class a closed object under `$defs`. It says of a type what
`pegboard.schema.structure` accepts, no more; where JSON Schema cannot say all of it (30 February, a text that is not
base64), the binder reports a fault. A tuple of different types becomes `prefixItems`, which not every validator holds.

Deriving is on the path of every start, so plain functions are read from their code object, and the schemas of common
types are shared by all tools (`pegboard.schema.type_schemas`).
"""

from __future__ import annotations

import copy
import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import attrs

from pegboard._frozen import EMPTY, FrozenDict
from pegboard._values import Shown, Value
from pegboard.errors import Fault, ToolDefinitionError
from pegboard.results import ToolResult
from pegboard.schema import docstring, hints
from pegboard.schema.hints import NOTHING, HintError, Scope
from pegboard.schema.jsontext import shorten
from pegboard.schema.kinds import INPUT_LEAVES, kinds_of
from pegboard.schema.type_schemas import OUTPUT_LEAVES, Schemas, add_default, wrapped_leaf

Bind = Callable[[Mapping[str, Any]], "dict[str, Any] | Faults"]


class Faults(tuple[Fault, ...]):
    """What is wrong with the arguments: what a binder returns instead of a dict; never empty.

    .. versionadded:: 0.1
    """

    __slots__ = ()


@attrs.define(eq=False, weakref_slot=False, repr=False)
class Signature(Shown):
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
    schema: Mapping[str, Any] | None = attrs.field(default=None, init=False, repr=False)
    """The schema as the tool holds it; a tool whose schema is another one is not the signature's to judge."""
    _bind: Bind | None = attrs.field(default=None, init=False, repr=False)

    def quick(self) -> Callable[[Any], dict[str, Any] | None] | None:
        """The happy path, see `pegboard.schema.quick`; None where the hints say more than it can see."""
        from pegboard.schema.quick import quick

        required = frozenset((self.schema or {}).get("required", ()))
        return None if self.schema is None else quick(self._hints, required, self._defaults)

    def binder(self) -> Bind:
        """A function from validated arguments to the handler's keyword arguments, compiled at the first call.

        It returns a new `dict`, or `Faults` where a value fits the schema and still is not a value of its type; ask
        `type(bound) is Faults`. It never raises and never changes what it is given. Parameters that were not given
        are left out, so that Python's own default applies; of a mutable default each call gets a copy.
        """
        if self._bind is None:
            self._bind = _compile(self._hints, self._defaults)
        return self._bind

    def tell_faults(self, faults: Sequence[Fault]) -> Sequence[Fault]:
        """The faults of a refused call as its caller is told them: the schema's, after repair, or the binder's.

        A signature that takes more than the schema shows knows what a name was meant for; it keeps one fault for each.

        .. versionadded:: 0.1
        """
        return faults


@attrs.frozen(eq=False, weakref_slot=False, repr=False)
class Derived(Value):
    """What a function says of itself as a tool.

    Args:
        name: of the function; for a partial, of what it calls; for an object, of its class.
        description: the prose of its docstring.
        input_schema: a closed object; the given one where one was given.
        output_schema: of `ToolResult.data`: that of an object as it is, anything else under `result`; of
            `Annotated[ToolResult, T]` that of `T`. None where nothing is promised: no hint, `Any`, `ToolResult`,
            content, bytes (they become content), a type of no JSON form, what may be None (then there is no data), a
            union of objects and other values.
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

    Types have these JSON forms. Strings: `str`, enums and `Literal` of strings, `date`, `datetime` (with an offset),
    `time`, `timedelta` (`PT1H30M`), `UUID`, `Decimal` (a number is taken too), `bytes` (base64), `Path`. Numbers:
    `int`, `float`. Arrays: `list`, `tuple`, `set`, `frozenset` and their abstract kin. Objects: `dict` with `str` keys,
    attrs classes, dataclasses, TypedDicts, NamedTuples. `Any` is anything. Members of a union must differ in their
    JSON type, or be classes that differ in a required field or in a `Literal` one.

    Args:
        function: a function, method, partial, or object that can be called.
        input_schema: a schema to use instead; the arguments are then passed as they came, and only a context
            parameter is looked for.

    Raises:
        ToolDefinitionError: a parameter, or the `T` of `Annotated[ToolResult, T]`, has no JSON Schema; the message
            names the function, the parameter and the cure.

    .. versionadded:: 0.1
    """
    source = _source(function)
    if _yields(_innermost(function)):
        raise ToolDefinitionError(
            f"tool {source.__name__}: it is a generator, and a call has one answer",
            hint="return a list of what it yields",
        )
    doc = docstring.parse(_doc_of(function, source))
    name = getattr(source, "__name__", None) or type(function).__name__
    if type(function) is not FunctionType and source is not function and not hasattr(_innermost(function), "__name__"):
        name = type(_innermost(function)).__name__
    parameters = _parameters(function)
    annotations = getattr(source, "__annotations__", {})
    reader = _SignatureReader(name, source)
    if input_schema is not None:
        context = reader.find_context(parameters, annotations)
        signature = Signature(*context)
    else:
        input_schema, signature = reader.input(parameters, annotations, doc.parameters)
    output = reader.output(annotations["return"]) if "return" in annotations else None
    return Derived(name, doc.prose, input_schema, output, signature)


def find_context_parameter(handler: Callable[..., Any]) -> tuple[str | None, bool]:
    """The parameter of a handler that takes the call's context, or None, and whether it takes no keyword; for a `Tool`
    that was written by hand.

    .. versionadded:: 0.1
    """
    try:
        source = _source(handler)
        return _SignatureReader(source.__name__, source).find_context(_parameters(handler), source.__annotations__)
    except (ToolDefinitionError, ValueError, TypeError):  # a builtin, or something without a signature: it has none
        return None, False


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
            f"{getattr(inner, '__qualname__', type(inner).__name__)} is not a Python function",
            hint="wrap it in a `def` with type hints",
        )
    return inner


def _yields(function: Any) -> bool:
    """Whether a call of it gives a generator; what a decorator makes of one is the decorator's."""
    if not inspect.isroutine(function) and not inspect.isclass(function):
        function = type(function).__call__
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


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
    # As `inspect.signature` reads a plain function, without an object for each parameter: a board reads every tool.
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


class _SignatureReader:
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
            is_field = hints.is_field(default)
            if is_field:
                hint, default = self._of_field(name, hint, default)
            if hint is NOTHING and name in ("self", "cls") and name == parameters[0][0]:
                made = "tool(an_object.method)" if name == "self" else "tool(TheClass.method)"
                raise self.refuse(name, "it is a method, which wants its object", f"make a tool of a bound one: {made}")
            if hint is NOTHING:
                raise self.refuse(name, "it has no type hint", f"write `{name}: str`, or `{name}: Any` for anything")
            try:
                schema = INPUT_LEAVES.find(hint) if isinstance(hint, type) else None
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
                add_default(more, default, hint)
                if is_field or _is_mutable(default):  # the function's own default is the `Field`
                    mutable[name] = default
            properties[name] = FrozenDict(schema, **more) if more else schema
        root = schemas.closed(properties, required)
        finite = schemas.finite
        return root, Signature(context, context_positional, finite, resolved, mutable or EMPTY)

    def _of_field(self, name: str, hint: Any, field: Any) -> tuple[Any, Any]:
        """A parameter whose default is a `Field`: its hint with what that says of it, and its true default."""
        from pegboard.schema import models

        try:
            default = models.default_of(field)
        except models.UnfitModelError as error:
            raise self.refuse(name, error) from None
        return (hint if hint is NOTHING else typing.Annotated[hint, field]), default

    def _check_kind(self, name: str, kind: str) -> None:
        if kind == "*":
            raise self.refuse(f"*{name}", "arguments come by name", _STARRED.format(name))
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
        plain, said = hints.unwrap(hint)
        is_named = plain is ToolResult and (data := _type_in(said)) is not None
        if is_named:
            hint, plain = data, hints.unwrap(data)[0]
        if plain in _NO_PROMISE:
            return None
        if isinstance(hint, type) and hint in OUTPUT_LEAVES and hint is not bytes:
            return wrapped_leaf(plain)
        schemas = Schemas(lambda: self.scope, output=True)
        try:
            kinds = kinds_of(hint)
            if kinds == {"object"}:
                return schemas.root(hint)
            if "object" in kinds or "null" in kinds or _holds_bytes(plain):
                return None
            return schemas.closed({"result": schemas.of(hint)}, ["result"])
        except HintError as error:
            if is_named:
                raise ToolDefinitionError(f"tool {self._name}: what it returns: {error}") from None
            return None


def _type_in(said: tuple[Any, ...]) -> Any:
    """The type among what `Annotated` says, None where it says only what describes."""
    return next((one for one in said if isinstance(one, type) or typing.get_origin(one) is not None), None)


def _holds_bytes(hint: Any) -> bool:
    members = hints.members(hint) if hints.is_union(hint) else [hint]
    return any(hints.unwrap(member)[0] is bytes for member in members)


_STARRED = "take a list instead: `{}: list[str]`; a decorator's wrapper wants functools.wraps"
_LITERAL = type(typing.Literal[0])
_NO_PROMISE = (Any, object, type(None))


# The binder.


_IMMUTABLE = frozenset({str, int, float, bool, type(None), bytes})


def _is_mutable(default: Any) -> bool:
    kind = type(default)
    if kind in _IMMUTABLE:
        return False
    if kind is tuple or kind is frozenset:
        return any(map(_is_mutable, default))
    # A class with `__eq__` and no `__hash__` is compared by what may change (Python's data model, `object.__hash__`).
    return isinstance(default, (list, dict, set, bytearray)) or kind.__hash__ is None


def _compile(types: Mapping[str, Any], defaults: Mapping[str, Any]) -> Bind:
    """The hot path: copy the arguments, then run the hooks of those parameters that have one."""
    hooks = {name: hook for name, hint in types.items() if (hook := _hook(hint)) is not None}
    pairs = tuple(hooks.items())

    def bind(arguments: Mapping[str, Any]) -> dict[str, Any] | Faults:
        try:
            bound = dict(arguments)
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
    """What a validated value of the type must go through; None: it is the Python value already.

    A handler may change what it is given, and what its caller gave stays as it was: what is not flat is copied.
    """
    from pegboard.schema.structure import structure_hook

    plain = hints.unwrap(hint)[0]
    if plain is str or plain is bool or plain is type(None):
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
    return structure_hook(hint)


def _faults(hooks: Mapping[str, Callable[[Any], Any]], arguments: Mapping[str, Any]) -> Faults:
    """Run every hook once more, and gather what each one says."""
    from pegboard.schema.structure import faults_of

    if not isinstance(arguments, Mapping):
        return Faults([Fault((), "an object", shorten(arguments), expected_types=frozenset({"object"}))])
    faults: list[Fault] = []
    for name, hook in hooks.items():
        if name in arguments:
            try:
                hook(arguments[name])
            except Exception as error:  # noqa: BLE001 - as in `bind`
                faults.extend(faults_of(error, (name,)))
    return Faults(faults or [Fault((), "arguments that its types take", "arguments that one of them refused once")])
