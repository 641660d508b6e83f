"""Tools that are Python functions: from validated arguments to a call, and from what came of it to data.

Nothing of a binding is looked at before its first call. Then the function is imported and got by name, and the binding
compiled; where every argument goes in by its own name as it is, what is left of a call is the call itself.

    inline    in the loop: for what cannot wait
    thread    beside it; cannot be ended
    process   in a worker process, which a deadline ends; needs `pegboard[process]`
"""

from __future__ import annotations

import inspect
import sys
import types
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any

from pegboard import CallContext, ErrorCode, Fault, ToolError
from pegboard.config import get_logger
from pegboard.schema.jsontext import shorten
from pegboard_manifest.bindings import _quiet
from pegboard_manifest.bindings._exceptions import compile_errors, is_the_hosts
from pegboard_manifest.bindings._resolve import require_allowed, resolve
from pegboard_manifest.bindings._results import is_plain, to_data
from pegboard_manifest.hygiene import refuse_long_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pegboard import Run
    from pegboard_manifest.document import Manifest

    Bind = Callable[[Mapping[str, Any]], tuple[Sequence[Any], Mapping[str, Any]]]

log = get_logger("pegboard.tool")

RUNS: Mapping[str, Run] = {"inline": "inplace", "thread": "thread", "process": "async"}
"""Where the handler runs: that of a worker process only waits for it."""
WORKERS = 4
"""Worker processes that one tool may hold at once."""
ISOLATED = ("pegboard_manifest.bindings._isolated", "call")


def run_of(entry: Mapping[str, Any], manifest: Manifest) -> Run:
    """Where the handler of a tool runs: as its binding says, else its module, else in a thread."""
    return RUNS[isolation_of(entry, manifest)]


def isolation_of(entry: Mapping[str, Any], manifest: Manifest) -> str:
    """`inline`, `thread` or `process`."""
    binding = entry["binding"]
    declared = binding.get("run") or manifest.modules[binding["module"]].get("isolate", "thread")
    return str(declared)


def make_handler(entry: Mapping[str, Any], manifest: Manifest) -> Callable[..., Any]:
    """The handler of one tool, which imports its function at the first call."""
    if isolation_of(entry, manifest) == "process":
        return _make_isolated(entry, manifest)
    output, stand_in, running = _quiet.output, _quiet.stand_in, _quiet.running
    function: Callable[..., Any] | None = None
    bind: Bind | None = None
    error_of: Callable[[BaseException], ToolError] = compile_errors((), entry["name"])
    nests = any(map(_may_nest, entry["input_schema"].get("properties", {}).values()))

    def handler(**arguments: Any) -> Any:
        nonlocal function, bind, error_of
        refuse_long_texts(arguments)
        if nests:  # what the function does to its arguments is nobody else's affair
            arguments = _copied(arguments)
        if sys.stdout is not output:
            stand_in()
        thread = get_ident()
        running.add(thread)
        try:
            if function is None:
                function, bind, error_of = compile_call(spec_of(entry, manifest))
            if bind is None:
                value = function(**arguments)
            else:
                args, kwargs = bind(arguments)
                value = function(*args, **kwargs)
            return value if is_plain(value) else to_data(value)
        except BaseException as problem:
            if is_the_hosts(problem):
                raise
            raise noted(problem, error_of, entry["name"]) from problem
        finally:
            running.discard(thread)

    return handler


_FLAT = frozenset({"string", "integer", "number", "boolean", "null"})


def _may_nest(schema: Any) -> bool:
    """Whether a value of this schema may be a list or an object."""
    declared = schema.get("type") if isinstance(schema, dict) else None
    kinds = [declared] if isinstance(declared, str) else declared
    return not isinstance(kinds, (list, tuple)) or not kinds or any(kind not in _FLAT for kind in kinds)


def _copied(value: Any) -> Any:
    if value.__class__ is dict:
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if value.__class__ is list else value


def noted(problem: BaseException, error_of: Callable[[BaseException], ToolError], name: str) -> ToolError:
    """The error, with its cause in the log where the caller is not told what it was."""
    error = error_of(problem)
    if error.code is not ErrorCode.INVALID_INPUT and not isinstance(problem, ToolError):
        log.error("tool %s failed", name, exc_info=problem)
    return error


def spec_of(entry: Mapping[str, Any], manifest: Manifest) -> dict[str, Any]:
    """Everything that a call needs of a manifest, as values that can be sent to another process."""
    binding = entry["binding"]
    module = manifest.modules[binding["module"]]
    properties = entry["input_schema"].get("properties", {})
    return {
        "name": entry["name"],
        "import": module["import"],
        "allow": module.get("allow"),
        "qualified_name": binding["qualified_name"],
        "parameters": binding["parameters"],
        "instance": binding.get("instance"),
        "exceptions": binding.get("exceptions", ()),
        "folder": str(manifest.folder),
        "file": None if manifest.file is None else str(manifest.file),
        "allowed_paths": entry.get("constraints", {}).get("allowed_paths"),
        "base64": [key for key, one in properties.items() if _is_base64(one)],
        "formatted": [key for key, one in properties.items() if not _takes_any_text(one)],
    }


def _is_base64(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("contentEncoding") == "base64"


def _takes_any_text(schema: Any) -> bool:
    """Whether a schema lets a text pass that has no format; where it cannot be told, it does."""
    if not isinstance(schema, dict):
        return True
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return any(_takes_any_text(one) for one in branches)
    kinds = schema.get("type", "string")
    if "array" in kinds and _takes_any_text(schema.get("items")):
        return True
    return ("string" in kinds if isinstance(kinds, list) else kinds == "string") and "format" not in schema


def compile_call(
    spec: Mapping[str, Any],
) -> tuple[Callable[..., Any], Bind | None, Callable[[BaseException], ToolError]]:
    """The function, how its arguments are made (None: each by its own name, as it came), and what its exceptions mean.

    Raises:
        ToolError: it may not be called, or is not there.
    """
    if spec["instance"] is not None:
        return _compile_method(spec)
    function = resolve(spec["qualified_name"], spec["import"], spec["allow"])
    if not callable(function):
        raise ToolError(
            ErrorCode.UPSTREAM_ERROR, f"{spec['qualified_name']} is nothing that can be called", executed=False
        )
    _refuse_async(function, spec["qualified_name"])
    errors = compile_errors(spec["exceptions"], spec["qualified_name"])
    parameters = spec["parameters"]
    if all(_goes_by_name(one, _names_of(function)) for one in parameters):
        return function, None if _takes_any_text_as_name(function) else _by_name(parameters), errors
    return function, _make_bind(spec, _defaults_of(function)), errors


def _compile_method(spec: Mapping[str, Any]) -> tuple[Callable[..., Any], Bind, Callable[[BaseException], ToolError]]:
    """A method or a property of an object that each call makes, and nobody keeps."""
    require_allowed(spec["qualified_name"], spec["import"], spec["allow"])
    cls = resolve(spec["instance"]["make"], spec["import"], spec["allow"])
    if not isinstance(cls, type):
        raise ToolError(ErrorCode.UPSTREAM_ERROR, f"{spec['instance']['make']} is not a class", executed=False)
    name = spec["qualified_name"].rpartition(".")[2]
    method = getattr(cls, name, None)  # None: a value that only the object has
    _refuse_async(method, spec["qualified_name"])
    bind_making = _make_bind({**spec, "parameters": spec["instance"]["parameters"]}, _defaults_of(cls))
    bind_call = _make_bind(spec, _defaults_of(method)[1:])

    def call(arguments: Mapping[str, Any]) -> Any:
        args, kwargs = bind_making(arguments)
        passed = bind_call(arguments)
        found = getattr(cls(*args, **kwargs), name)
        return found(*passed[0], **passed[1]) if callable(method) else found

    def bind(arguments: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (arguments,), {}

    return call, bind, compile_errors(spec["exceptions"], spec["qualified_name"])


def _refuse_async(function: Any, name: str) -> None:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise ToolError(
            ErrorCode.INTERNAL_ERROR,
            f"{name} is async, and nobody would await it; bind a function that is not",
            reason="async",
            executed=False,
            retry="never",
        )


def bind_without_function(
    spec: Mapping[str, Any], arguments: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """What a call would pass, as far as it can be told without the function: nothing is imported, so a member of an
    enum stays as it came, and a place that is left out has a default that nobody knows.

    Raises:
        ToolError: INVALID_INPUT.
    """
    parameters = [
        {key: value for key, value in one.items() if key not in ("enum", "coerce")} if "enum" in one else one
        for one in [*(spec["instance"] or {}).get("parameters", ()), *spec["parameters"]]
    ]
    return _make_bind({**spec, "parameters": parameters}, [_LeftOut()] * len(parameters))(arguments)


class _LeftOut:
    """The default of a function that was not looked at."""

    def __repr__(self) -> str:
        return "<default>"


def _names_of(function: Any) -> frozenset[str]:
    """The parameters of a function that take a keyword as well as a place. A function that wraps another may not do
    what the other's signature says, so only plain ones tell."""
    if type(function) is not types.FunctionType or hasattr(function, "__wrapped__"):
        return frozenset()
    code = function.__code__
    return frozenset(code.co_varnames[code.co_posonlyargcount : code.co_argcount])


def _takes_any_text_as_name(function: Any) -> bool:
    """Whether a function matches keywords by what they say. One that hands `**kwargs` on does not see what becomes of
    them, and compiled code may know its keywords by identity alone: Python's own calls have them interned."""
    return type(function) is types.FunctionType and not function.__code__.co_flags & inspect.CO_VARKEYWORDS


def _by_name(parameters: Sequence[Mapping[str, Any]]) -> Bind:
    """Every argument by its own name, interned as those of a call in source code are."""
    names = {one["parameter"]: sys.intern(one["parameter"]) for one in parameters}

    def bind(arguments: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (), {names[name]: value for name, value in arguments.items()}

    return bind


def _goes_by_name(one: Mapping[str, Any], names: frozenset[str]) -> bool:
    if one.get("coerce", "none") != "none":
        return False
    way = one["pass"]
    if way == "keyword":
        return bool(one.get("keyword", one["parameter"]) == one["parameter"])
    return way == "positional" and one["parameter"] in names and not one.get("optional")


def _defaults_of(function: Any) -> list[Any]:
    """The defaults of the places of a function, in their order; `inspect.Parameter.empty` where there is none."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return []
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.default for one in signature.parameters.values() if one.kind in places]


def _make_bind(spec: Mapping[str, Any], defaults: list[Any]) -> Bind:
    ways: dict[str, list[tuple[str, str, Callable[[Any], Any] | None]]] = {}
    for one in spec["parameters"]:
        name = one["parameter"]
        ways.setdefault(one["pass"], []).append((name, sys.intern(one.get("keyword", name)), _coercion(one, spec)))
    by_place = [(name, coerce) for name, _, coerce in ways.get("positional", ())]
    optional = {one["parameter"] for one in spec["parameters"] if one.get("optional")}
    by_name = ways.get("keyword", [])
    spread = next(((name, coerce) for name, _, coerce in ways.get("spread", ())), None)
    rest = next(((name, coerce) for name, _, coerce in ways.get("spread_keyword", ())), None)
    empty = inspect.Parameter.empty

    def bind(arguments: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        faults: list[Fault] = []
        take = partial(_take, arguments, faults)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        # A place can be left out only if no place behind it is taken: those before it get the function's own default.
        last = max((place for place, (name, _) in enumerate(by_place) if name in arguments), default=-1)
        if spread is not None and arguments.get(spread[0]):
            last = len(by_place) - 1
        for place, (name, coerce) in enumerate(by_place[: last + 1]):
            if name in arguments:
                args.append(take(name, coerce))
            elif name in optional:
                continue
            elif place < len(defaults) and defaults[place] is not empty:
                args.append(defaults[place])
            else:
                faults.append(Fault((name,), "a value, as one behind it is given", "nothing"))
        for name, keyword, coerce in by_name:
            if name in arguments:
                kwargs[keyword] = take(name, coerce)
        if spread is not None and spread[0] in arguments:
            items = take(*spread)
            if items is not None and not isinstance(items, (list, tuple, set, frozenset)):
                faults.append(Fault((spread[0],), "a list", shorten(items)))
            elif items is not None:
                args += items
        if rest is not None and rest[0] in arguments:
            _take_rest(take(*rest), rest[0], kwargs, faults)
        if faults:
            raise invalid_input(spec["name"], faults)
        return args, kwargs

    return bind


def _take(arguments: Mapping[str, Any], faults: list[Fault], name: str, coerce: Callable[[Any], Any] | None) -> Any:
    from pegboard_manifest.bindings._coerce import MismatchError

    value = arguments[name]
    if coerce is None:
        return value
    try:
        return coerce(value)
    except MismatchError as problem:
        faults.append(Fault((name,), str(problem), shorten(value)))
        return None


def _take_rest(values: Any, name: str, kwargs: dict[str, Any], faults: list[Fault]) -> None:
    """What becomes `**kwargs`: an object whose keys are not parameters that have a way of their own."""
    if values is None:
        return
    if not isinstance(values, dict):
        faults.append(Fault((name,), "an object", shorten(values)))
        return
    for key, value in values.items():
        if key in kwargs or key.startswith("_"):
            faults.append(Fault((name, key), "a keyword that is not taken", shorten(key)))
        else:
            kwargs[sys.intern(key)] = value


def _coercion(one: Mapping[str, Any], spec: Mapping[str, Any]) -> Callable[[Any], Any] | None:
    kinds = one.get("coerce", "none")
    if kinds == "none":
        return None
    from pegboard_manifest.bindings import _coerce

    roots = None
    if "path" in kinds:
        from pegboard_manifest.hygiene import Roots

        roots = Roots(spec["folder"], ["."], spec["allowed_paths"], kept=spec.get("file"))
    enum = _enum_of(one, spec) if "enum" in one else None
    coerce = _coerce.coercion_of(
        kinds,
        enum=enum,
        roots=roots,
        is_base64=one["parameter"] in spec["base64"],
        any_text=one["parameter"] not in spec["formatted"],
    )
    return _coerce.each(coerce) if one.get("items") else coerce


def _enum_of(one: Mapping[str, Any], spec: Mapping[str, Any]) -> type:
    from enum import EnumMeta

    found = resolve(one["enum"], spec["import"])
    if not isinstance(found, EnumMeta):
        raise ToolError(ErrorCode.UPSTREAM_ERROR, f"{one['enum']} is not an enum", executed=False)
    return found


def invalid_input(name: str, faults: Sequence[Fault]) -> ToolError:
    """INVALID_INPUT with every fault at once, as the host says those of a schema."""
    return ToolError(
        ErrorCode.INVALID_INPUT,
        f"invalid arguments for {name!r}: {'; '.join(map(str, faults))}",
        faults=[fault.to_json() for fault in faults],
        executed=False,
    )


# worker processes


def _make_isolated(entry: Mapping[str, Any], manifest: Manifest) -> Callable[..., Any]:
    """A handler that lets a worker process of the host do the work; the deadline kills it, and what it started."""
    limiter: Any = None
    spec: dict[str, Any] | None = None

    async def handler(context: CallContext, /, **arguments: Any) -> Any:
        nonlocal limiter, spec
        refuse_long_texts(arguments)
        if spec is None:
            import trio

            _require_processes()
            spec, limiter = spec_of(entry, manifest), trio.CapacityLimiter(WORKERS)
        work = {"spec": spec, "arguments": arguments}
        return await context.run_in_process(*ISOLATED, work, limiter=limiter)

    return handler


def _require_processes() -> None:
    from importlib.util import find_spec

    if find_spec("trio_parallel") is None:
        raise ToolError(
            ErrorCode.INTERNAL_ERROR,
            "the tool runs in a worker process, and trio-parallel is not installed; "
            "install it where the host runs: pip install 'pegboard[process]'",
            reason="not_installed",
            executed=False,
            retry="never",
        )
