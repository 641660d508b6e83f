"""What is on the board: `Tool`, what is asked of it: `ToolCall`, and `@tool`, which makes one of a function."""

from __future__ import annotations

import inspect
import json
import re
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, overload

import attrs

from pegboard._frozen import EMPTY, freeze
from pegboard._values import Shown, Value
from pegboard.errors import ToolDefinitionError
from pegboard.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pegboard.schema.derive import Signature

Run = Literal["async", "inplace", "thread", "process"]
"""How a tool runs: awaited, in place, in a thread, or in a worker process that may be killed.

.. versionadded:: 0.1
"""
Risk = Literal["low", "medium", "high"]
"""What a call may do at worst; read-only mode refuses `high` whatever a tool says of itself.

.. versionadded:: 0.1
"""
Results = Literal["clean", "raw"]

RUNS = ("async", "inplace", "thread", "process")
RISKS = ("low", "medium", "high")
RESULTS = ("clean", "raw")
READ_RESULT_NAME = "read_result"
"""Of the core's own tool, which every profile sees where a result was cut; no other may be called so."""

MAX_NAME = 128

_PERIODS_S = {
    "s": 1.0,
    "second": 1.0,
    "m": 60.0,
    "minute": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
}
_RATE = r"(?P<count>[0-9]{1,9}) ?/ ?(?P<times>[0-9]{1,9}(?:\.[0-9]{1,6})?)? ?(?P<unit>[a-z]+?)s?"


@attrs.frozen(eq=False, repr=False, slots=False)  # a dict is filled faster than slots, and observed calls make one each
class ToolCall(Value):
    """What somebody asked for: an id of theirs, the tool's name, and arguments that nobody has looked at yet.

    .. versionadded:: 0.1
    """

    id: str
    name: str
    arguments: Any = EMPTY


@attrs.frozen(eq=False, repr=False)
class RateLimit(Value):
    """`count` calls in every `period_s` seconds and user, of which at most `count` at once.

    .. versionadded:: 0.1
    """

    count: int
    period_s: float

    @classmethod
    def parse(cls, text: object) -> RateLimit:
        """Read `"10/minute"`, `"5/10s"`, `"1000/day"`.

        Raises:
            ValueError: the text is not a rate.
        """
        if isinstance(text, RateLimit):
            return text
        match = re.fullmatch(_RATE, text.strip().lower()) if isinstance(text, str) else None
        unit = _PERIODS_S.get(match["unit"]) if match else None
        if match is None or unit is None:
            raise ValueError(f"expected a rate such as '10/minute' or '5/10s', got {str(text)[:40]!r}")
        count, period_s = int(match["count"]), float(match["times"] or 1) * unit
        if count < 1 or period_s <= 0:
            raise ValueError("expected a rate of at least one call in a period above zero")
        return cls(count, period_s)

    def __str__(self) -> str:
        return f"{self.count}/{self.period_s:g}s"


@attrs.frozen(eq=False, repr=False)
class Annotations(Value):
    """What a tool does to the world, as its author says. None: not said.

    A tool that says of itself that it is read-only and destructive counts as destructive, everywhere: `read_only` is
    False then. That it said both is kept in `says_both`, which doctor tells of.

    Args:
        read_only: it changes nothing.
        destructive: it may overwrite or delete.
        idempotent: doing it twice is doing it once.
        open_world: it reaches beyond the host.
        risk: high tools are refused in read-only mode whatever they say of themselves.
        parallel: calls of it may overlap others in `call_many` though it is not read-only.

    .. versionadded:: 0.1
    """

    read_only: bool = False
    destructive: bool | None = None
    idempotent: bool = False
    open_world: bool | None = None
    risk: Risk = "low"
    parallel: bool = False
    says_both: bool = attrs.field(default=False, init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        _require_truths(self, ("read_only", "destructive", "idempotent", "open_world", "parallel"))
        if self.risk not in RISKS:
            raise ValueError(f"risk: expected one of {', '.join(RISKS)}, got {str(self.risk)[:40]!r}")
        if self.read_only and self.destructive:
            object.__setattr__(self, "read_only", False)
            object.__setattr__(self, "says_both", True)


def _require_truths(value: object, names: Iterable[str]) -> None:
    """A mark is True, False or not said; a text would count as true whatever it says."""
    for name in names:
        said = getattr(value, name)
        if said is not True and said is not False and said is not None:
            raise ValueError(f"{name}: expected True or False, got {str(said)[:40]!r}")


def _optional_rate(value: str | RateLimit | None) -> RateLimit | None:
    return None if value is None else RateLimit.parse(value)


@attrs.frozen(eq=False, repr=False)
class Limits(Value):
    """What a call of a tool may use; `[tools.NAME]` of the configuration overrides each.

    Args:
        timeout_s: the deadline of the execution in seconds; None: the source's, else the host's.
        cooldown_s: seconds between two calls of one user.
        rate_limit: calls in a period and user, as in `"10/minute"`.
        concurrency: calls that may run at once, all users together.
        requires_user: refuse calls of nobody.
        requires_confirmation: ask a person first; a text is the question.
        max_result_bytes: above this the result is cut and kept for `read_result`; None: the host's.

    .. versionadded:: 0.1
    """

    timeout_s: float | None = None
    cooldown_s: float | None = None
    rate_limit: RateLimit | None = attrs.field(default=None, converter=_optional_rate)
    concurrency: int | None = None
    requires_user: bool = False
    requires_confirmation: bool | str = False
    max_result_bytes: int | None = None

    def __attrs_post_init__(self) -> None:
        for name in ("timeout_s", "cooldown_s", "concurrency", "max_result_bytes"):
            value = getattr(self, name)
            if value is not None and not (type(value) in (int, float) and 0 < value < float("inf")):
                raise ValueError(f"{name}: expected a number above zero, got {value!r}")
        _require_truths(self, ("requires_user",))
        if not isinstance(self.requires_confirmation, str):
            _require_truths(self, ("requires_confirmation",))

    @property
    def is_counted(self) -> bool:
        """Whether calls are counted: in this process, or where processes share that.

        .. versionadded:: 0.1
        """
        return self.cooldown_s is not None or self.rate_limit is not None or self.concurrency is not None

    def to_json(self) -> dict[str, Any]:
        """Those that are set, by name.

        .. versionadded:: 0.1
        """
        said = attrs.asdict(self, recurse=False)
        return {
            name: str(value) if name == "rate_limit" else value
            for name, value in said.items()
            if value is not None and value is not False
        }


@attrs.frozen(eq=False, repr=False)
class Origin(Value):
    """Where a tool comes from: the distribution that was installed, its plugin, and the source if it has one.

    .. versionadded:: 0.1
    """

    distribution: str | None = None
    plugin: str | None = None
    source: str | None = None

    def __str__(self) -> str:
        return self.source or self.distribution or self.plugin or "the program"


@attrs.frozen(eq=False, repr=False)
class Example(Value):
    """One call that shows how a tool is meant, and what it answers where that never changes.

    .. versionadded:: 0.1
    """

    arguments: Mapping[str, Any] = attrs.field(converter=freeze)
    description: str = ""
    text: str | None = None


def _examples(values: Iterable[Example | Mapping[str, Any]]) -> tuple[Example, ...]:
    return tuple(map(_example, values))


def _example(value: Example | Mapping[str, Any]) -> Example:
    """An example, or its fields as a mapping, or simply the arguments as one."""
    if isinstance(value, Example):
        return value
    if not hasattr(value, "keys"):
        raise ValueError(f"an example: expected its arguments as a mapping, got {str(value)[:40]!r}")
    if isinstance(value.get("arguments"), dict) and value.keys() <= {"arguments", "description", "text"}:
        return Example(**value)
    return Example(value)


def _icons(values: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    return tuple(freeze(value) for value in values)


def _words(values: Iterable[str]) -> frozenset[str]:
    if isinstance(values, str):  # its letters would be taken for words
        raise ValueError(f"expected a list of texts, got one: write [{values[:40]!r}]")
    words = frozenset(values)
    if words and not all(isinstance(word, str) for word in words):
        raise ValueError("expected a list of texts, got something else in it")
    return words


def _checked_name(name: object) -> str:
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= MAX_NAME
        or not name.isprintable()
        or name != name.strip()
        or clean(name)[1]  # some of what hides counts as printable: blank letters, selectors
    ):
        raise ToolDefinitionError(
            f"{str(name)[:40]!r} is not a name for a tool",
            hint=f"use 1 to {MAX_NAME} printable characters; ^[a-zA-Z_][a-zA-Z0-9_-]{{0,63}}$ fits every provider",
        )
    return name


OPEN_OBJECT = freeze({"type": "object", "properties": {}})
_NO_ANNOTATIONS = Annotations()
_NO_LIMITS = Limits()
_NO_ORIGIN = Origin()


@attrs.frozen(eq=False, kw_only=True, repr=False)
class Tool(Shown):
    """Something a language model, a person or a program may call; frozen all the way down. `tool` makes one of a
    function, and is what most authors want; write `Tool(...)` where the schema comes from elsewhere.

    Args:
        name: how it is called; unique on a board.
        handler: called with the arguments by keyword, after they were validated; a parameter annotated with
            `CallContext` gets the context. A handler that takes any arguments is `async def h(context: CallContext, /,
            **arguments)`.
        description: what a model reads to choose it.
        title: what a person reads.
        input_schema: JSON Schema of the arguments, an object.
        output_schema: JSON Schema of `ToolResult.data`, or None.
        category: one word to group it by.
        tags: words to select it by.
        annotations: what it does to the world.
        limits: what a call may use.
        examples: calls that show how it is meant.
        origin: where it comes from; the host fills it in.
        icons: MCP's icon objects.
        version: of the tool itself, for those who pin it.
        secrets: names that `CallContext.secret` may ask for; their values are masked everywhere.
        permissions: an attrs class, structured from `[tools.NAME]` and reached as `CallContext.permissions`. A property
            `disabled_reason` of it that gives `(why, fix)` keeps the tool off the board, and doctor says both; None
            lets it be registered.
        run: where the handler runs: "async" in the loop, "inplace" in the loop because it cannot wait, "thread", or
            "process", where a deadline can end it.
        results: "clean": what hides in the texts of its results is taken out; "raw": they stay as they are, since they
            are not texts to read but data to work with.
        sanitises: names of its arguments in which words of third parties do no harm, since it makes them harmless; `*`:
            all. Nobody is asked about those (see `[flows]`).
        plain_name: the name that it would have if no other source wanted that, too; None: it has it. What the
            configuration forbids or limits under that name holds for it, so that nobody gets rid of a rule by wanting a
            name.
        signature: how the handler's parameters are structured, where the schema was derived from them.

    .. versionadded:: 0.1
    """

    name: str = attrs.field(converter=_checked_name)
    handler: Callable[..., Any]
    description: str = ""
    title: str | None = None
    input_schema: Mapping[str, Any] = attrs.field(default=OPEN_OBJECT, converter=freeze)
    output_schema: Mapping[str, Any] | None = attrs.field(default=None, converter=freeze)
    category: str = "general"
    tags: frozenset[str] = attrs.field(default=frozenset(), converter=_words)
    annotations: Annotations = _NO_ANNOTATIONS
    limits: Limits = _NO_LIMITS
    examples: tuple[Example, ...] = attrs.field(default=(), converter=_examples)
    origin: Origin = _NO_ORIGIN
    icons: tuple[Mapping[str, Any], ...] = attrs.field(default=(), converter=_icons)
    version: str | None = None
    secrets: frozenset[str] = attrs.field(default=frozenset(), converter=_words)
    permissions: type | None = None
    results: Results = "clean"
    sanitises: frozenset[str] = attrs.field(default=frozenset(), converter=_words)
    plain_name: str | None = None
    run: Run = attrs.field()
    signature: Signature | None = attrs.field(default=None, repr=False)

    @run.default
    def _run_of_the_handler(self) -> Run:
        return "async" if _has_to_be_awaited(self.handler) else "thread"

    def __attrs_post_init__(self) -> None:
        if self.run not in RUNS:
            raise ValueError(f"run: expected one of {', '.join(RUNS)}, got {str(self.run)[:40]!r}")
        if self.results not in RESULTS:
            raise ValueError(f"results: expected one of {', '.join(RESULTS)}, got {str(self.results)[:40]!r}")
        for name in ("category", "description", "title", "version"):
            value = getattr(self, name)
            if not isinstance(value, str) and (value is not None or name in ("category", "description")):
                raise ValueError(f"{name}: expected a text, got {str(value)[:40]!r}")

    @property
    def read_only(self) -> bool:
        """Whether it says that it changes nothing."""
        return self.annotations.read_only

    @property
    def public_definition(self) -> dict[str, Any]:
        """What a caller sees of the tool, as JSON; what `fingerprint` is made of."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "input_schema": self.input_schema,
            "output_schema": self.output_schema,
            "annotations": {name: getattr(self.annotations, name) for name in _ANNOTATION_NAMES},
            "version": self.version,
        }

    @property
    def face(self) -> dict[str, Any]:
        """The former name of `public_definition`; it goes with 0.2."""
        from pegboard._renamed import warn_renamed

        warn_renamed("Tool.face", "public_definition")
        return self.public_definition

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the public definition as canonical JSON, `sha256:` and 64 hex digits. Approvals bind to it: a
        tool that changed is another tool."""
        import hashlib

        canonical = json.dumps(self.public_definition, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return "sha256:" + hashlib.sha256(canonical.encode("ascii")).hexdigest()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The plain function, without guards or validation: for its own unit tests."""
        return self.handler(*args, **kwargs)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    category: str = "general",
    tags: Iterable[str] = (),
    run: Run | None = None,
    read_only: bool = False,
    destructive: bool | None = None,
    idempotent: bool = False,
    open_world: bool | None = None,
    risk: Risk = "low",
    parallel: bool = False,
    timeout_s: float | None = None,
    cooldown_s: float | None = None,
    rate_limit: str | RateLimit | None = None,
    concurrency: int | None = None,
    requires_user: bool = False,
    requires_confirmation: bool | str = False,
    max_result_bytes: int | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    examples: Iterable[Example | Mapping[str, Any]] = (),
    icons: Iterable[Mapping[str, Any]] = (),
    version: str | None = None,
    secrets: Iterable[str] = (),
    permissions: type | None = None,
    results: Results = "clean",
    sanitises: Iterable[str] = (),
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a `Tool` of a function: name, description and a strict schema come from its signature, hints and docstring.

    Works bare (`@tool`) and with every limit and mark by name (`@tool(read_only=True, timeout_s=5)`); see `Tool`,
    `Annotations` and `Limits` for what they mean. The result can still be called as the function it was.

    Raises:
        ToolDefinitionError: a parameter has no JSON Schema (`*args`, a hint that cannot be resolved, a type of no JSON
            form), or an option is wrong; the message names it.

    .. versionadded:: 0.1
    """
    if function is not None:
        return _make_tool(function, options)
    return lambda function: _make_tool(function, options)


_ANNOTATION_NAMES = frozenset(field.name for field in attrs.fields(Annotations) if field.init)
_LIMIT_NAMES = frozenset(field.name for field in attrs.fields(Limits))
_MARKS = _ANNOTATION_NAMES | _LIMIT_NAMES
_OPTIONS = _MARKS | {field.name for field in attrs.fields(Tool)} - {"annotations", "handler", "limits", "signature"}


def _make_tool(function: Callable[..., Any], options: Mapping[str, Any]) -> Tool:
    from pegboard.schema.derive import derive  # the derivation is not needed to import a module without tools

    fields = {key: value for key, value in options.items() if key not in _MARKS and value is not None}
    where = getattr(function, "__qualname__", repr(function))
    if not callable(function):
        hint = None
        if isinstance(function, str):
            hint = f"an option has a name: @tool(name={function[:60]!r})"
        elif isinstance(function, (list, tuple, set, frozenset)):
            hint = "give them one by one: add(*tools)"
        raise ToolDefinitionError(f"@tool takes a function, got {type(function).__name__}", hint=hint)
    if unknown := sorted(options.keys() - _OPTIONS):
        from pegboard.schema.near import nearest

        near = nearest(unknown[0], sorted(_OPTIONS))
        hint = f"did you mean {near!r}?" if near else None
        raise ToolDefinitionError(f"tool {where}: @tool has no option {unknown[0]!r}", hint=hint)
    try:
        if options:
            fields["annotations"] = Annotations(**{k: options[k] for k in options.keys() & _ANNOTATION_NAMES})
            fields["limits"] = Limits(**{k: options[k] for k in options.keys() & _LIMIT_NAMES})
        derived = derive(function, input_schema=fields.pop("input_schema", None))
        fields.setdefault("name", derived.name)
        fields.setdefault("description", derived.description)
        if derived.output_schema is not None:
            fields.setdefault("output_schema", derived.output_schema)
        made = Tool(handler=function, input_schema=derived.input_schema, signature=derived.signature, **fields)
    except (TypeError, ValueError) as problem:
        raise ToolDefinitionError(f"tool {where}: {problem}") from problem
    if "input_schema" not in options:
        derived.signature.schema = made.input_schema
    return made


def as_tool(given: Tool | Callable[..., Any]) -> Tool:
    """A tool, or what `tool` makes of a function.

    Raises:
        ToolDefinitionError: it is neither, or cannot be made into one.

    .. versionadded:: 0.1
    """
    return given if isinstance(given, Tool) else _make_tool(given, {})


@attrs.frozen(eq=False, repr=False)
class Page(Value):
    """Some tools, in the order of their names, and where the next page begins (None: this was the last).

    .. versionadded:: 0.1
    """

    tools: tuple[Tool, ...]
    next_cursor: str | None


def is_async(tool: Tool) -> bool:
    """Whether what its handler returns has to be awaited."""
    return _has_to_be_awaited(tool.handler)


def _has_to_be_awaited(handler: Any) -> bool:
    handler = inspect.unwrap(handler)
    if type(handler) is FunctionType:
        return inspect.iscoroutinefunction(handler)
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004 - asks what kind of callable it is
