"""The core's own validator, as a plugin like any other: all of draft 7 and 2020-12.

The walker (`schema.explain`) is the validator: whole, bounded, and it says everything that is wrong. For the schemas
that most tools have there are two short cuts, which only ever say yes: a closed object of plain members is seen in one
pass (`schema.flat`), and code is generated for what fastjsonschema holds as it is (`schema.generated`). Generating
costs milliseconds and waits for the first call; the functions that were used of late are kept. A schema so large that
generating would hold the loop is walked.

The time a value can take is bounded: the generated code is asked for values that it goes through in so many steps, the
walker visits so many schemas, and patterns are searched in texts of the length that they can take. Declined is what
cannot be held to the letter (`DECLINED`).

.. versionadded:: 0.1
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from pegboard.errors import Fault, ToolDefinitionError
from pegboard.hookspecs import hookimpl
from pegboard.schema import patterns
from pegboard.schema.check import faults_of, is_large, is_plain
from pegboard.schema.flat import FlatObject
from pegboard.schema.jsontext import MAX_CHECKED, count_nodes, reject_non_finite
from pegboard.schema.keywords import DRAFT_7, dialect_of
from pegboard.schema.refs import REFERENCES, References

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pegboard.contract import Validator
    from pegboard.schema.explain import Document

__all__ = [
    "DECLINED",
    "MAX_WALKED",
    "CoreValidator",
    "declined",
    "make_validator",
    "reject_non_finite",
    "why_declined",
]

DECLINED = {
    "$schema": "a dialect other than draft 7 and 2020-12, or two in one schema",
    "$ref": "a reference that points outside of the schema",
    "$dynamicRef": "a reference that points outside of the schema",
    "pattern": "a regular expression without an exact and safe form in Python",
    "patternProperties": "a regular expression without an exact and safe form in Python",
}
"""The keywords for which the core's own validator leaves a schema to another, and the reason.

.. versionadded:: 0.1
"""

MAX_COMPILED = 512
MAX_SHOWN = 10
MAX_STEPS = 4 * MAX_CHECKED
"""How many steps the generated code may take for one value; a step is some tenths of a microsecond."""
FREE_STEPS = 4
"""So few steps cost nothing to speak of."""
MAX_WALKED = 50_000
"""How many schemas the walker visits where it is the validator, and not only the one who explains.

.. versionadded:: 0.1
"""
OTHER_PACKAGE = "pegboard-jsonschema-rs"
"""The package whose validator holds what this one declines."""


@hookimpl
def make_validator(schema: Any, foreign: bool) -> Validator | None:
    """Hold the schemas of draft 7 and 2020-12, but for those that are `declined`.

    Raises:
        ToolDefinitionError: the schema itself is wrong; every fault is named.

    .. versionadded:: 0.1
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

    Each is one of `DECLINED`, which has the reasons.

    .. versionadded:: 0.1
    """
    dialect = dialect_of(schema)
    if dialect is None:
        return ("$schema",)
    refs = References(schema, dialect)
    found: dict[str, None] = {}
    for here, base in refs.reachable():
        for keyword in REFERENCES[dialect]:
            if keyword in here and refs.resolve(here[keyword], base) is None:
                found[keyword] = None
        if dialect == DRAFT_7 and "$ref" in here:
            continue
        if "$schema" in here and dialect_of(here) != dialect:
            found["$schema"] = None
        if not _is_bounded(here.get("pattern", "")):
            found["pattern"] = None
        if not all(map(_is_bounded, here.get("patternProperties", ()))):
            found["patternProperties"] = None
    return tuple(found)


def _is_bounded(pattern: str) -> bool:
    try:
        patterns.compiled(pattern)
    except ValueError:
        return False
    return True


def why_declined(schema: Any) -> tuple[str, str]:
    """For a schema without faults that no validator on the board holds: the first keyword that the core's cannot hold
    (see `DECLINED` for the reasons), and the package whose validator would.

    .. versionadded:: 0.1
    """
    return (*declined(schema), "$schema")[0], OTHER_PACKAGE


class CoreValidator:
    """A schema that is made ready when it is first needed.

    What no JSON text could have brought, such as NaN, is refused anywhere in a value, and looked for only where the
    schema leaves room for it: a closed object of plain types pays for its own numbers and texts alone.

    Args:
        schema: without faults, and not declined.

    .. versionadded:: 0.1
    """

    __slots__ = ("_accept", "_document", "_flat", "_schema", "recently_used")

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._accept: Callable[[Any], bool] | None = None
        self._document: Document | None = None
        self.recently_used = False

    def __getattr__(self, name: str) -> Any:
        """`_flat`, when a value is first looked at: it is half of what a tool takes that nobody calls."""
        if name != "_flat":
            raise AttributeError(name)
        self._flat = FlatObject.of(self._schema)
        return self._flat

    def __call__(self, value: Any) -> Sequence[Fault]:
        """Every fault of `value`; none where it is right."""
        if self._flat is not None and (faults := self._flat.faults_of(value)) is not None:
            return faults
        try:
            if (self._accept or self._prepare())(value):
                self.recently_used = True
                return ()
        except Exception:  # noqa: BLE001, S110 - generated code refuses by raising, and raises anything on what is not JSON
            pass
        self.recently_used = True
        return self._walk(value)

    def forget(self) -> None:
        """Drop what was made ready; the next call makes it anew."""
        self._accept = self._document = None

    def _walk(self, value: Any) -> Sequence[Fault]:
        from pegboard.schema.explain import Document, explain

        if self._document is None:
            self._document = Document(self._schema)
        return tuple(explain(self._schema, value, visits=MAX_WALKED, document=self._document))

    def _prepare(self) -> Callable[[Any], bool]:
        accept = _accepting(self._schema) or _never
        self._accept = accept
        _keep(self)
        return accept


_kept: deque[CoreValidator] = deque()


def _keep(validator: CoreValidator) -> None:
    """Note a validator that was made ready, and let one go that was not used since the hand came by last (a clock, not
    a list to reorder: a call pays one attribute for it)."""
    # The "second chance" of page replacement (Corbató, "A paging experiment with the Multics system", 1968): nearly as
    # good as to drop the least recently used one, and a use costs no look into a list.
    _kept.append(validator)
    while len(_kept) > MAX_COMPILED:
        oldest = _kept.popleft()
        if oldest.recently_used:
            oldest.recently_used = False
            _kept.append(oldest)
        else:
            oldest.forget()


def _never(value: Any) -> bool:
    return False


def _accepting(schema: Any) -> Callable[[Any], bool] | None:
    """Say yes to what is right at little cost; None where only the walker can."""
    from pegboard.schema.generated import generated, steps_of
    from pegboard.schema.traits import hidden_values

    steps = None if is_large(schema) else steps_of(schema)
    check = generated(schema) if steps is not None else None
    if steps is None or check is None:
        return None
    finds = hidden_values(schema)
    most = MAX_STEPS // max(steps, FREE_STEPS)
    is_small = _is_small(schema)

    def accept(value: Any) -> bool:
        if not is_small and count_nodes(value, most) > most:
            return False
        check(value)
        return finds is None or not finds(value)

    return accept


def _is_small(schema: Any) -> bool:
    """Whether what is right is a small object of plain values: most tools' arguments pay for no counting."""
    return (
        schema.get("type") == "object"
        and schema.get("additionalProperties") is False
        and schema.keys().isdisjoint(("$ref", "anyOf", "oneOf", "allOf"))
        and all(isinstance(item, dict) and item.get("type") in _PLAIN for item in schema.get("properties", {}).values())
    )


_PLAIN = ("string", "integer", "number", "boolean", "null")
