"""The core's own validator: fastjsonschema for the schemas that it holds to the letter, as a plugin like any other.

A schema is looked at when a tool is registered (`schema.check`, `schema.lower`), and compiled at the first call, which
costs milliseconds; the compiled ones that were used of late are kept. On the hot path a validator is one call of the
generated function. Only when that refuses does the walker (`schema.explain`) say everything that is wrong. A schema so
large that compiling would hold the loop is never compiled: there the walker is the validator.

The time a value can take is bounded: values are counted, where there may be many; references, and what is held against
each of many values, spend from a budget of steps; patterns
that may take a power of the text's length are searched in short texts only, and those that may take longer are
declined.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from pegboard.errors import Fault, ToolDefinitionError
from pegboard.hookspecs import hookimpl
from pegboard.schema.check import faults_of, is_large, is_plain
from pegboard.schema.flat import FlatObject
from pegboard.schema.jsontext import MAX_CHECKED, check_value, count_nodes, reject_non_finite, shorten
from pegboard.schema.lower import FREE_PASSES, DeclinedError, lower, passes
from pegboard.schema.traits import hidden_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pegboard.contract import Validator
    from pegboard.schema.explain import Document
    from pegboard.schema.lower import Lowered
    from pegboard.schema.traits import Finder

__all__ = ["CoreValidator", "declined", "make_validator", "reject_non_finite", "why_declined"]

MAX_COMPILED = 512
MAX_SHOWN = 10
MAX_STEPS = 50_000
"""How many steps one validation may take: a call of a definition is one, and more where the definition is long."""
MAX_WALKED = 20_000
"""How many schemas the walker visits where it is the validator, and not only the one who explains."""
OTHER_PACKAGE = "pegboard-jsonschema-rs"
"""The package whose validator holds what this one declines."""


class _OutOfStepsError(Exception):
    """References branch so much that the value cannot be checked in bounded time."""


class _RefusedError(Exception):
    """The walker is the validator, and has faults."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__()
        self.faults = faults


class _TooLongError(Exception):
    """A text is longer than a pattern can be searched in."""

    def __init__(self, longest: int, text: str) -> None:
        super().__init__()
        self.fault = Fault((), f"texts of at most {longest:,} characters where a pattern is expected", shorten(text))


@hookimpl
def make_validator(schema: Any, foreign: bool) -> Validator | None:
    """Hold the schemas of draft 7 and 2020-12 that fastjsonschema holds to the letter.

    Raises:
        ToolDefinitionError: the schema itself is wrong; every fault is named.
    """
    if is_plain(schema):
        return CoreValidator(schema)
    if faults := faults_of(schema, foreign=foreign):
        raise ToolDefinitionError(f"the schema is wrong: {'; '.join(map(str, faults[:MAX_SHOWN]))}")
    if declined(schema):
        return None
    return CoreValidator(schema)


def declined(schema: Any) -> tuple[str, ...]:
    """The keywords for which the core's validator leaves a schema without faults to another; empty if it holds it.

    Each is one of `pegboard.schema.lower.DECLINED`, which has the reasons.
    """
    try:
        lower(schema)
    except DeclinedError as problem:
        return problem.keywords
    return ()


def why_declined(schema: Any) -> tuple[str, str]:
    """For a schema without faults that no validator on the board holds: the first keyword that the core's cannot hold
    (see `pegboard.schema.lower.DECLINED` for the reasons), and the package whose validator would."""
    return (*declined(schema), "$schema")[0], OTHER_PACKAGE


class CoreValidator:
    """A schema that is compiled when it is first needed.

    It refuses NaN and infinities anywhere in a value, and looks for them only where the schema leaves room for one: a
    closed object of plain types, as `@tool` derives it, pays for its own numbers alone.

    Args:
        schema: without faults, and not declined.

    .. versionadded:: 0.1
    """

    __slots__ = ("_check", "_document", "_finds", "_flat", "_schema", "recently_used")

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._finds: Finder | None = None
        self._check: Callable[[Any], object] | None = None
        self._document: Document | None = None
        self._flat = FlatObject.of(schema)
        self.recently_used = False

    def __call__(self, value: Any) -> Sequence[Fault]:
        """Every fault of `value`; none where it is right."""
        if self._flat is not None and (faults := self._flat.faults_of(value)) is not None:
            return faults
        try:
            (self._check or self._compiled())(value)
            self.recently_used = True
            if self._finds is not None and self._finds(value):
                return self._unsound(value)
        except _RefusedError as problem:
            return problem.faults
        except _TooLongError as problem:
            return [problem.fault]
        except _OutOfStepsError:
            return [Fault((), "a value that can be checked in bounded time", shorten(value), "send less at once")]
        except Exception as problem:  # noqa: BLE001 - mostly "refused"; on what is not JSON the generated code may raise anything
            return self._explained(value, problem)
        return ()

    def forget(self) -> None:
        """Drop the compiled function, and what was looked up for explaining; the next call makes them anew."""
        self._check = self._document = None

    def _compiled(self) -> Callable[[Any], object]:
        if is_large(self._schema):
            check = _walking(self._schema)
        else:
            self._finds = hidden_numbers(self._schema)
            check = _compile(lower(self._schema), self._schema)
        self._check = check
        self.recently_used = True
        _keep(self)
        return check

    def _unsound(self, value: Any) -> Sequence[Fault]:
        fault = check_value(value)
        return [fault] if fault else ()

    def _explained(self, value: Any, problem: Exception) -> Sequence[Fault]:
        from pegboard.schema.explain import Document, explain

        if self._document is None:
            self._document = Document(self._schema)
        faults = explain(self._schema, value, document=self._document)
        if not faults and type(problem).__name__.startswith("JsonSchemaValue"):
            return [Fault((), "a value that fits the schema", shorten(value))]
        return faults


_kept: deque[CoreValidator] = deque()


def _keep(validator: CoreValidator) -> None:
    """Note a compiled validator, and let one go that was not used since the hand came by last (a clock, not a list
    to reorder: a call pays one attribute for it)."""
    _kept.append(validator)
    while len(_kept) > MAX_COMPILED:
        oldest = _kept.popleft()
        if oldest.recently_used:
            oldest.recently_used = False
            _kept.append(oldest)
        else:
            oldest.forget()


def _walking(schema: Any) -> Callable[[Any], object]:
    from pegboard.schema.explain import Document, explain

    document = Document(schema)

    def walk(value: Any) -> None:
        if faults := explain(schema, value, visits=MAX_WALKED, document=document):
            raise _RefusedError(faults)

    return walk


def _compile(lowered: Lowered, schema: Any) -> Callable[[Any], object]:
    if lowered.has_multiples:
        return _walking(schema)
    import fastjsonschema  # 12 ms that only the first validated call pays

    try:
        check = fastjsonschema.compile(
            lowered.schema, handlers=_NoHandlers(), use_default=False, use_formats=False, detailed_exceptions=False
        )
    except Exception:  # noqa: BLE001 - a schema that it cannot turn into code after all: the walker is slower and as right
        return _walking(schema)
    state = check.__globals__
    for text, longest in lowered.bounds.items():
        state["REGEX_PATTERNS"][text] = _Bounded(state["REGEX_PATTERNS"][text], longest)
    for name, cost in lowered.costs.items():
        generated = f"validate___definitions_{name}"
        state[generated] = _counted(state[generated], cost)
    return check if _is_flat(lowered.schema) else _budgeted(check, MAX_CHECKED * FREE_PASSES // passes(lowered))


def _budgeted(check: Callable[..., object], most: int) -> Callable[[Any], object]:
    def budgeted(value: Any) -> object:
        if count_nodes(value, most) > most:
            raise _OutOfStepsError
        return check(value, [MAX_STEPS])

    return budgeted


def _is_flat(lowered: dict[str, Any]) -> bool:
    """Whether what is right is a small object of plain values: most tools' arguments pay for no counting."""
    return (
        lowered.get("type") == "object"
        and lowered.get("additionalProperties") is False
        and not (lowered.get("patternProperties") or lowered["definitions"])
        and all(
            isinstance(item, dict) and item.get("type") in _PLAIN for item in lowered.get("properties", {}).values()
        )
    )


_PLAIN = ("string", "integer", "number", "boolean", "null")


def _counted(function: Callable[..., object], cost: int) -> Callable[..., object]:
    # The generated functions hand their second argument, meant for formats, on to each other: it carries the budget.
    def count(data: Any, budget: list[int], name: str | None = None) -> object:
        budget[0] -= cost
        if budget[0] < 0:
            raise _OutOfStepsError
        return function(data, budget, name)

    return count


class _Bounded:
    """A regular expression that is searched in short texts only."""

    __slots__ = ("longest", "regex")

    def __init__(self, regex: Any, longest: int) -> None:
        self.regex = regex
        self.longest = longest

    def search(self, text: str) -> Any:
        if len(text) > self.longest:
            raise _TooLongError(self.longest, text)
        return self.regex.search(text)


class _NoHandlers(dict[str, Any]):
    """Answers for every scheme that nothing is fetched; a lowered schema points nowhere outside anyway."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __missing__(self, scheme: str) -> Any:
        raise ValueError("references are never fetched")
