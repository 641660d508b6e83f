"""Type hints, resolved and taken apart: what the schema and the structurer both build on, so that they cannot disagree.

A hint may be a string (`from __future__ import annotations`) and may name what is imported under `if TYPE_CHECKING:`
alone. `resolve` finds such names where the reader of the source would: the enclosing function, the module, its imports.
`CallContext` is recognised by name, so that finding it imports nothing.
"""

from __future__ import annotations

import ast
import builtins
import enum
import functools
import importlib
import importlib.util
import inspect
import sys
import types
import typing
import weakref
from collections import abc
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NOTHING: Any = attrs.NOTHING

LISTS = frozenset({list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable})
SETS = frozenset({set, frozenset, abc.Set, abc.MutableSet})
MUTABLE_SETS = frozenset({set, abc.MutableSet})
DICTS = frozenset({dict, abc.Mapping, abc.MutableMapping})

_CONTEXT_MODULES = frozenset({"pegboard", "pegboard.context"})
_UNIONS = (Union, types.UnionType)


class HintError(TypeError):
    """A hint cannot be resolved, or has no JSON form; the message says which and what to write instead."""


class LateContext:
    """Stands for `CallContext` in hints whose module imports it for type checkers only."""


def is_context(hint: Any) -> bool:
    """Whether the hint asks for the call's context: `CallContext`, or that or None."""
    if hint is LateContext:
        return True
    if isinstance(hint, type):
        return hint.__name__ == "CallContext" and hint.__module__ == "pegboard.context"
    origin = typing.get_origin(hint)
    if origin is Annotated:
        return is_context(hint.__origin__)
    if origin in _UNIONS:
        return [is_context(member) for member in typing.get_args(hint) if member is not type(None)] == [True]
    return False


class Scope(dict[str, Any]):
    """The names that a hint may use, looked up when they are missed: its module's, those around it, what its module
    gives when it is asked, and what it imports for type checkers."""

    def __init__(
        self,
        names: Mapping[str, Any],
        module: str,
        module_globals: Mapping[str, Any],
        around: Callable[[str], Any] | None = None,
    ) -> None:
        super().__init__(names)
        self.module = module
        self._globals = module_globals
        self._around = around

    def __missing__(self, name: str) -> Any:
        found = self._globals.get(name, NOTHING)
        if found is NOTHING:
            found = getattr(builtins, name, NOTHING)
        # After the module's own: where both know a name, the hint means what it means to `typing.get_type_hints`, which
        # sees no locals.
        if found is NOTHING and self._around is not None:
            found = self._around(name)
        if found is NOTHING and name == "CallContext":
            found = LateContext
        if found is NOTHING:
            found = _given_by(self.module, name)
        if found is NOTHING:
            found = _late_import(self.module, name)
        if found is NOTHING:
            raise KeyError(name)
        return found

    def find(self, name: str) -> Any:
        """What the name stands for, NOTHING where it stands for nothing."""
        try:
            return self[name]
        except KeyError:
            return NOTHING


def scope_of(function: Any) -> Scope:
    """The names that the hints of a plain function may use."""
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=False)
    closure = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    return Scope(closure, function.__module__, function.__globals__, _definer_of(function))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not NOTHING
    except ValueError:  # the enclosing function has not assigned it yet
        return False


def _definer_of(thing: Any) -> Callable[[str], Any] | None:
    """Finds locals of the function in which a function or class is defined, while it still runs: so a decorator sees
    what stands beside the function."""
    definer, _, _ = thing.__qualname__.rpartition(".<locals>.")
    if not definer:
        return None

    def find(name: str) -> Any:
        frame = inspect.currentframe()
        while frame is not None:
            if frame.f_code.co_qualname == definer and frame.f_globals.get("__name__") == thing.__module__:
                return frame.f_locals.get(name, NOTHING)
            frame = frame.f_back
        return NOTHING

    return find


def _given_by(module_name: str, name: str) -> Any:
    """What the module gives by that name when it is asked: of its `__getattr__` (PEP 562)."""
    try:
        return getattr(sys.modules.get(module_name), name, NOTHING)
    except ImportError:
        return NOTHING


def _late_import(module_name: str | None, name: str) -> Any:
    """Import what a module imports under `if TYPE_CHECKING:` as `name`."""
    module, attribute = _late_imports(module_name or "").get(name, ("", None))
    if module in _CONTEXT_MODULES and attribute == "CallContext":
        return LateContext
    if not module:
        return NOTHING
    try:
        imported = importlib.import_module(module)
        if attribute is None:
            return imported
        try:
            return getattr(imported, attribute)
        except AttributeError:
            return importlib.import_module(f"{module}.{attribute}")
    except ImportError:
        return NOTHING


@functools.lru_cache(maxsize=256)
def _late_imports(module_name: str) -> dict[str, tuple[str, str | None]]:
    """What a module imports under `if TYPE_CHECKING:`: each name, with its module and its name there."""
    module = sys.modules.get(module_name)
    try:
        tree = ast.parse(inspect.getsource(module)) if module else ast.Module([], [])
    except (OSError, TypeError, SyntaxError):  # no source at hand: nothing can be found in it
        return {}
    found: dict[str, tuple[str, str | None]] = {}
    for statement in _for_type_checkers(tree):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                top = alias.name if alias.asname else alias.name.partition(".")[0]
                found[alias.asname or top] = (top, None)
        elif isinstance(statement, ast.ImportFrom):
            package = getattr(module, "__package__", None) or ""
            source = "." * statement.level + (statement.module or "")
            source = importlib.util.resolve_name(source, package) if statement.level and package else source
            for alias in statement.names:
                found[alias.asname or alias.name] = (source, alias.name)
    return found


def _for_type_checkers(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in tree.body:
        if isinstance(node, ast.If):
            test = node.test
            if (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
                isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
            ):
                yield from node.body


def resolve(hint: Any, scope: Scope) -> Any:
    """The hint itself, with every string and forward reference in it replaced by what it names.

    Raises:
        HintError: a name cannot be found, or the hint is not a type.
    """
    if hint is None:
        return type(None)
    if isinstance(hint, str) and hint.isidentifier():
        try:
            hint = scope[hint]
        except KeyError:
            raise HintError(_not_found(hint, hint)) from None
        return type(None) if hint is None else hint
    if not isinstance(hint, str):
        return hint if _is_resolved(hint) else _evaluate(hint, scope)
    key = (scope.module, hint)
    names, resolved = _RESOLVED.get(key, _UNKNOWN)
    if names is None or any(scope.find(name) is not thing for name, thing in names):
        used = _Used(scope)
        resolved = _evaluate(hint, used)
        if len(_RESOLVED) >= MAX_RESOLVED:
            _RESOLVED.clear()
        _RESOLVED[key] = tuple(used.items()), resolved
    return resolved


def _is_resolved(hint: Any) -> bool:
    """Whether no name stands in the hint, so that `typing.get_type_hints` would give it back as it is. That function
    takes 30 us, and a class is a handful of such hints."""
    if isinstance(hint, type) or hint is Any or hint is ...:
        return True
    origin = typing.get_origin(hint)
    if origin is Annotated:
        return _is_resolved(hint.__origin__)
    if origin is Literal:
        return True
    return origin is not None and all(map(_is_resolved, typing.get_args(hint)))


MAX_RESOLVED = 2_000
_UNKNOWN: tuple[None, None] = (None, None)
_RESOLVED: dict[tuple[str, str], tuple[Any, Any]] = {}
"""Hints that were evaluated already, with what each name in them stood for: they hold while it still does."""


class _Used(dict[str, Any]):
    """The names of a scope that an evaluation asked for."""

    def __init__(self, scope: Scope) -> None:
        super().__init__()
        self._scope = scope

    def __missing__(self, name: str) -> Any:
        found = self[name] = self._scope[name]
        return found


def _evaluate(hint: Any, names: dict[str, Any]) -> Any:
    try:
        if isinstance(hint, str):  # as `typing` does it, which takes twice as long: what is left is for that
            evaluated = eval(hint, {}, names)  # noqa: S307 - a hint, in the source of what is installed
            if _is_resolved(evaluated):
                return evaluated
        holder = type("Holder", (), {"__annotations__": {"hint": hint}})
        return typing.get_type_hints(holder, {}, names, include_extras=True)["hint"]
    except NameError as error:
        raise HintError(_not_found(hint, error.name or str(error))) from None
    except (SyntaxError, TypeError, AttributeError, ValueError) as error:
        raise HintError(f"the hint {str(hint)[:80]!r} is not a type: {error}") from None


def _not_found(hint: Any, name: str) -> str:
    return (
        f"the hint {str(hint)[:80]!r} cannot be resolved: {name!r} is not found; import it in the module, "
        "at the top or under `if TYPE_CHECKING:`, or define it beside the function"
    )


def unwrap(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type under `Annotated`, `NewType`, `Required`, `Final` and the like, and all that `Annotated` said of it."""
    if isinstance(hint, type):
        return hint, ()
    metadata: tuple[Any, ...] = ()
    # What may stand around a type: Annotated (PEP 593), Required and NotRequired (655), Final (591), NewType (484), and
    # a type variable, which is what it may be (484).
    while True:
        origin = typing.get_origin(hint)
        if origin is Annotated:
            marks = hint.__metadata__
            if any(map(is_field, marks)):
                from pegboard.schema import models

                marks = tuple(mark for one in marks for mark in (models.marks_of(one) if is_field(one) else (one,)))
            metadata = marks + metadata  # the inner ones first, as nested `Annotated` is flattened (PEP 593)
            hint = hint.__origin__
        elif origin in (typing.Required, typing.NotRequired, typing.Final):
            hint = hint.__args__[0]
        elif isinstance(hint, typing.TypeVar):
            hint = Union[hint.__constraints__] if hint.__constraints__ else hint.__bound__ or object  # noqa: UP007
        elif hint is typing.LiteralString:
            hint = str
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        else:
            return type(None) if hint is None else hint, metadata


def bound_of(metadata: tuple[Any, ...], name: str) -> Any:
    """The bound of this name (`ge`, `max_length`, ...) in the metadata of `Annotated`, None where there is none."""
    return next((bound for mark in metadata if (bound := getattr(mark, name, None)) is not None), None)


def is_union(hint: Any) -> bool:
    """Whether the hint is `X | Y`, `Union` or `Optional`."""
    return typing.get_origin(hint) in _UNIONS


def members(hint: Any) -> list[Any]:
    """The members of a union, those of unions within it too."""
    found: list[Any] = []
    for member in typing.get_args(hint):
        inner = unwrap(member)[0]
        found.extend(members(inner) if is_union(inner) else [member])
    return found


def closed_values(hint: Any) -> dict[tuple[bool, Any], Any] | None:
    """What a `Literal` or an enum may be, as JSON: each value, keyed apart from a boolean that equals it, with what it
    stands for; None for any other type.

    Raises:
        HintError: a value has no JSON form of its own.
    """
    values: list[tuple[Any, Any]]
    if isinstance(hint, type):
        if not issubclass(hint, enum.Enum):
            return None
        if issubclass(hint, enum.Flag):
            raise HintError(f"the flags {hint.__name__} have no JSON form; take a set of a plain Enum")
        values = [(member.value, member) for member in hint]
    elif typing.get_origin(hint) is Literal:
        values = [(value.value if isinstance(value, enum.Enum) else value, value) for value in hint.__args__]
    else:
        return None
    if not values:
        raise HintError(f"the enum {getattr(hint, '__name__', hint)} has no members")
    for value, _ in values:
        if type(value) not in (str, int, bool, type(None), float) or value != value or value in (_INF, -_INF):
            raise HintError(f"the value {value!r:.60} of {getattr(hint, '__name__', hint)} has no JSON form of its own")
    return {(type(value) is bool, value): stands_for for value, stands_for in values}


_INF = float("inf")


def type_name(hint: Any) -> str:
    """The type as its author wrote it, shortened."""
    return hint.__name__[:80] if isinstance(hint, type) else str(hint).replace("typing.", "")[:80]


class Field(NamedTuple):
    """One member of a record: its key in JSON, its resolved hint, whether it must be there, its default."""

    key: str
    hint: Any
    required: bool
    default: Any


def is_record(hint: Any) -> bool:
    """Whether the type is a class with named fields: attrs, a dataclass, a TypedDict, a NamedTuple, or pydantic's."""
    return isinstance(hint, type) and (
        attrs.has(hint)
        or is_dataclass(hint)
        or typing.is_typeddict(hint)
        or _is_named_tuple(hint)
        or (is_model(hint) and not getattr(hint, "__pydantic_root_model__", False))
    )


def is_model(cls: type) -> bool:
    """Whether the class is a model of pydantic, which only who brings one has imported already."""
    base = getattr(sys.modules.get("pydantic.main"), "BaseModel", None)
    return base is not None and issubclass(cls, base)


def is_field(value: Any) -> bool:
    """Whether this is what `pydantic.Field(...)` gives."""
    kind = getattr(sys.modules.get("pydantic.fields"), "FieldInfo", None)
    return kind is not None and isinstance(value, kind)


def is_dataclass(cls: type) -> bool:
    """As `dataclasses.is_dataclass` answers of a class, without importing that module for classes that are not one."""
    return hasattr(cls, "__dataclass_fields__")


def _is_named_tuple(cls: type) -> bool:
    return issubclass(cls, tuple) and hasattr(cls, "_fields") and hasattr(cls, "_field_defaults")


# Weak: a class that a function makes, or a test, would else stay for as long as the process.
_FIELDS: weakref.WeakKeyDictionary[type, tuple[Field, ...]] = weakref.WeakKeyDictionary()


def fields_of(cls: type, scope: Scope | None = None) -> tuple[Field, ...]:
    """The fields of a record, in the order of its constructor, hints resolved where the class stands, else in `scope`.

    Raises:
        HintError: a hint cannot be resolved, or a field has none.
    """
    known = _FIELDS.get(cls)
    if known is None:
        if is_model(cls):
            known = _FIELDS[cls] = tuple(_fields_of_model(cls))
            return known
        if getattr(cls, "__parameters__", ()):
            raise HintError(no_generic(cls))
        known = _FIELDS[cls] = tuple(_fields(cls, scope))
    return known


def no_generic(cls: type) -> str:
    """Why a class with type parameters is refused, and what to write instead."""
    return f"the class {cls.__name__} is generic; write a class of its own whose fields name the types that they hold"


def _fields(cls: type, scope: Scope | None) -> Iterator[Field]:
    hints = _hints_of_class(cls, scope)
    if attrs.has(cls):
        for attribute in attrs.fields(cls):
            if attribute.init:
                hint = hints.get(attribute.name, attribute.type)
                if hint is None:
                    raise HintError(f"the field {attribute.name!r} of {cls.__name__} has no type hint")
                required = attribute.default is NOTHING
                yield Field(attribute.alias or attribute.name, hint, required, _attrs_default(attribute.default))
    elif is_dataclass(cls):
        import dataclasses

        if late := [name for name, hint in hints.items() if isinstance(hint, dataclasses.InitVar)]:
            raise HintError(f"the field {late[0]!r} of {cls.__name__} is an InitVar, which cannot be written back")
        for field in dataclasses.fields(cls):
            if field.init:
                default = field.default if field.default is not dataclasses.MISSING else NOTHING
                factory = field.default_factory
                if factory is not dataclasses.MISSING:
                    # Of these the default is known. Another factory may give another value each time, a time or an id,
                    # which is not one to show.
                    default = factory() if factory in (list, dict) else _LEFT_OUT
                yield Field(field.name, hints[field.name], default is NOTHING, _shown(default))
    elif typing.is_typeddict(cls):
        for name, hint in hints.items():
            origin = typing.get_origin(hint)
            required = name in cls.__required_keys__  # type: ignore[attr-defined]
            if origin in (typing.Required, typing.NotRequired):
                required = origin is typing.Required
            if not name.isidentifier():
                raise HintError(
                    f"the key {name!r:.60} of {cls.__name__} is not a Python name; take a dict or an attrs class"
                )
            yield Field(name, hint, required, NOTHING)
    else:
        for name in cls._fields:  # type: ignore[attr-defined]
            default = cls._field_defaults.get(name, NOTHING)  # type: ignore[attr-defined]
            yield Field(name, hints.get(name, Any), default is NOTHING, default)


def _fields_of_model(cls: type) -> Iterator[Field]:
    from pegboard.schema import models

    try:
        for key, hint, marks, required, default in models.fields_of(cls):
            yield Field(key, Annotated[(hint, *marks)] if marks else hint, required, default)
    except models.UnfitModelError as error:
        raise HintError(str(error)) from None


_LEFT_OUT: Any = object()


def _shown(default: Any) -> Any:
    return NOTHING if default is _LEFT_OUT else default


def _attrs_default(default: Any) -> Any:
    factory = getattr(default, "factory", None)
    if factory is None:
        return default
    return factory() if factory in (list, dict) else NOTHING


def _hints_of_class(cls: type, scope: Scope | None) -> dict[str, Any]:
    resolved: dict[str, Any] = {}
    # The bases first, as dataclasses order their fields (PEP 557): what a subclass annotates again keeps its place.
    for base in reversed(cls.__mro__):
        if base.__module__ == "builtins":
            continue
        around = scope.find if scope is not None else _definer_of(base)
        for name, own in inspect.get_annotations(base).items():
            hint, module = _written(own, base.__module__)
            origin: Any = typing.get_origin(hint)
            if origin is typing.ClassVar or (isinstance(hint, str) and "ClassVar" in hint):
                continue
            if _is_resolved(hint):
                resolved[name] = hint
                continue
            known = vars(sys.modules[module]) if module in sys.modules else {}
            try:
                resolved[name] = resolve(hint, Scope({base.__name__: base}, module, known, around))
            except HintError as error:
                raise HintError(f"field {name!r} of {cls.__name__}: {error}") from None
    return resolved


def _written(hint: Any, module: str) -> tuple[Any, str]:
    """A field's hint and the module it was written in: a TypedDict holds those of its bases, which are gone."""
    if isinstance(hint, typing.ForwardRef):
        return hint.__forward_arg__, hint.__forward_module__ or module
    return hint, module
