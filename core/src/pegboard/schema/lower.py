"""Schemas as fastjsonschema holds them to the letter: a rewrite that is exact, or a refusal that names the keyword.

fastjsonschema turns a schema into Python source. Left to itself it ignores what it does not know, follows draft 7's
reading of `$ref`, names functions so that `#/$defs/A` and `#/$defs/a` are one, searches `$` before a final newline,
fetches what it cannot find, and formats the schema's own keys into its source. So it never sees a schema as it came:
`lower` builds a new one, of the keywords that were read against its source, with these differences taken out:

- every target of a reference becomes a definition of its own number; so does what nests deep, and what is held
  against every item or property there is and says more than a type: calls of definitions can be counted;
- `$ref` with neighbours, `prefixItems`, `dependentRequired` and `dependentSchemas` become their draft 7 equals;
- `const` becomes a one-valued `enum`, which is never searched for references;
- patterns are written for Python (see `patterns`);
- annotations, formats and content keywords are left out.

What has no exact form is declined; `DECLINED` says what, and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.schema import patterns
from pegboard.schema.jsontext import count_nodes
from pegboard.schema.keywords import DRAFT_7, IN_PLACE, KEYWORDS, dialect_of
from pegboard.schema.refs import References, Target, base_inside

if TYPE_CHECKING:
    from collections.abc import Iterable

DECLINED = {
    "$schema": "a dialect other than draft 7 and 2020-12, or two in one schema",
    "$ref": "a reference that points outside of the schema",
    "$dynamicRef": "what it points to depends on the way there",
    "unevaluatedProperties": "it asks what every other keyword looked at",
    "unevaluatedItems": "it asks what every other keyword looked at",
    "minContains": "fastjsonschema counts no items",
    "maxContains": "fastjsonschema counts no items",
    "pattern": "a regular expression without an exact and safe form in Python",
    "patternProperties": "a regular expression without an exact and safe form in Python",
}
"""The keywords for which the core's own validator leaves a schema to another, and the reason."""

HOIST_AT = 5
"""Levels of nesting in one generated function: Python allows 20 loops and `try` blocks within each other."""


FEW = 8
"""Values of an enum that are compared in no time."""
VALUES_A_STEP = 20
"""How many values of a schema are held against a value in the time of one call."""
MAX_COUNTED = 100_000
FREE_PASSES = 4
MAX_PASSES = 4_000
UNIQUE_PASSES = 12
"""What it costs to tell whether items are unique, in passes over them."""


class Lowered(NamedTuple):
    """A schema for fastjsonschema.

    Args:
        schema: draft 7.
        costs: what a call of each definition costs, in steps of about a microsecond.
        bounds: for each Python pattern that is too costly on a long text, the longest one that it is searched in.
        has_multiples: whether `multipleOf` is in it, which fastjsonschema computes in rounded decimals.
    """

    schema: dict[str, Any]
    costs: dict[str, int]
    bounds: dict[str, int]
    has_multiples: bool


class DeclinedError(ValueError):
    """Some keywords cannot be held: `keywords`, each one of `DECLINED`, in the order they were met."""

    def __init__(self, keywords: Iterable[str]) -> None:
        self.keywords = tuple(dict.fromkeys(keywords))
        super().__init__(", ".join(self.keywords))


def lower(schema: Any) -> Lowered:
    """Rewrite a schema without faults.

    Raises:
        DeclinedError: it cannot be done to the letter.
    """
    dialect = dialect_of(schema)
    if dialect is None:
        raise DeclinedError(["$schema"])
    work = _Lowering(References(schema, dialect))
    root = work.definition(work.refs.root)
    work.finish()
    if work.declined:
        raise DeclinedError(work.declined)
    lowered = {"$schema": "http://json-schema.org/draft-07/schema#", **root, "definitions": work.definitions}
    costs = {name: _cost(item) for name, item in work.definitions.items()}
    return Lowered(lowered, costs, work.bounds, work.has_multiples)


def _cost(lowered: Any) -> int:
    """The steps of a call: every alternative may cost an exception, which takes half of one."""
    tried, waiting = 0, [lowered]
    while waiting:
        item = waiting.pop()
        for keyword, value in item.items() if isinstance(item, dict) else ():
            if keyword in ("anyOf", "oneOf") and isinstance(value, list):
                tried += len(value)
            if keyword not in _ENUMERATED or isinstance(value, dict):  # a property may be named so
                waiting += value if isinstance(value, list) else [value]
    return 1 + count_nodes(lowered, MAX_COUNTED) // VALUES_A_STEP + tried // 2


def passes(lowered: Lowered) -> int:
    """How often the generated code may go over all items or properties of one value, from above: `FREE_PASSES` where
    that costs nothing to speak of, `MAX_PASSES` where it is not known.

    What nests is counted once for a level, alternatives and references to the same value are added up.
    """
    definitions, known = lowered.schema["definitions"], dict[str, int]()

    def here(schema: Any) -> int:
        if not isinstance(schema, dict):
            return 0
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name not in known:
                known[name] = 0
                known[name] = min(here(definitions[name]), MAX_PASSES)
            return known[name]
        count = UNIQUE_PASSES if schema.get("uniqueItems") else 0
        deepest = 0
        for keyword, value in schema.items():
            if keyword in _ENUMERATED:
                continue
            parts = value.values() if keyword in _NAMED else value if isinstance(value, list) else [value]
            found = [here(part) for part in parts if isinstance(part, dict)]
            if keyword in IN_PLACE:
                count += sum(found)
            else:
                count += len(value) if keyword == "patternProperties" else keyword in _LOOPS
                deepest = max([deepest, *found])
        return count + deepest

    try:
        return min(max(here({**lowered.schema, "definitions": {}}), FREE_PASSES), MAX_PASSES)
    except RecursionError:
        return MAX_PASSES


class _Lowering:
    def __init__(self, refs: References) -> None:
        self.refs = refs
        self.is_old = refs.dialect == DRAFT_7
        self.definitions: dict[str, Any] = {}
        self.bounds: dict[str, int] = {}
        self.has_multiples = False
        self.declined: list[str] = []
        self._names: dict[tuple[int, str], str] = {}
        self._waiting: list[tuple[str, Target]] = []

    def definition(self, target: Target) -> dict[str, Any]:
        lowered = self.schema(target.schema, target.base, 0, inside=True)
        if isinstance(lowered, dict):
            return lowered
        return {} if lowered else {"not": {}}

    def finish(self) -> None:
        while self._waiting:
            name, target = self._waiting.pop()
            self.definitions[name] = self.definition(target)

    def reference(self, target: Target) -> dict[str, Any]:
        key = (id(target.schema), target.base)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"d{len(self._names)}"
            self._waiting.append((name, target))
        return {"$ref": f"#/definitions/{name}"}

    def schema(self, schema: Any, base: str, depth: int, *, inside: bool = False) -> Any:
        """The same schema, lowered; `base` is in force around it, or `inside` it."""
        if not isinstance(schema, dict) or not schema:
            return schema is not False
        if not inside:
            base = base_inside(schema, base, self.refs.dialect)
            if "$schema" in schema and dialect_of(schema) != self.refs.dialect:
                self.declined.append("$schema")
            if depth >= HOIST_AT:
                return self.reference(Target(schema, base))
        reference = None
        if "$ref" in schema:
            target = self.refs.resolve(schema["$ref"], base)
            if target is None:
                self.declined.append("$ref")
                return True
            reference = self.reference(target)
            if self.is_old:
                return reference
        lowered = self.assertions(schema, base, depth + 1)
        if reference is None:
            return lowered or True
        lowered["allOf"] = [reference, *lowered.get("allOf", ())]
        return reference if len(lowered) == len(lowered["allOf"]) == 1 else lowered

    def each(self, schema: Any, base: str, depth: int, *, is_tried: bool = False) -> Any:
        """A schema that is held against any number of values: called, so that it is counted, where that costs more
        than the call. One that is tried costs an exception each time."""
        if not isinstance(schema, dict):
            return self.schema(schema, base, depth)
        if (not is_tried and _is_light(schema)) or "$schema" in schema or schema.keys() == {"$ref"}:
            return self.schema(schema, base, depth)
        return self.reference(Target(schema, base_inside(schema, base, self.refs.dialect)))

    def assertions(self, schema: dict[str, Any], base: str, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for keyword, value in schema.items():
            known = KEYWORDS.get(keyword)
            if known is None or self.refs.dialect not in known.dialects:
                continue
            if keyword in _WITHOUT_FORM and not (keyword == "minContains" and "contains" not in schema):
                self.declined.append(keyword)
            if keyword in _AS_THEY_ARE:
                out[keyword] = value
            elif keyword in ("allOf", "anyOf", "oneOf"):
                out[keyword] = [self.schema(item, base, depth) for item in value]
            elif keyword == "not":
                out[keyword] = self.schema(value, base, depth)
            elif keyword in ("contains", "propertyNames", "additionalProperties"):
                out[keyword] = self.each(value, base, depth, is_tried=keyword == "contains")
            elif keyword == "properties":
                out[keyword] = {name: self.schema(item, base, depth) for name, item in value.items()}
        self.rewritten(schema, base, depth, out)
        return {keyword: value for keyword, value in out.items() if not _says_nothing(keyword, value)}

    def rewritten(self, schema: dict[str, Any], base: str, depth: int, out: dict[str, Any]) -> None:
        """The keywords that are written in another way."""
        if "const" in schema:
            if "enum" in out:
                out.setdefault("allOf", []).append({"enum": [schema["const"]]})
            else:
                out["enum"] = [schema["const"]]
        if "multipleOf" in schema:
            self.has_multiples = True
        if "pattern" in schema:
            out["pattern"] = self.pattern(schema["pattern"], "pattern")
        by_pattern: dict[str, Any] = {}
        for pattern, item in schema.get("patternProperties", {}).items():
            text, lowered = self.pattern(pattern, "patternProperties"), self.each(item, base, depth)
            by_pattern[text] = {"allOf": [by_pattern[text], lowered]} if text in by_pattern else lowered
        out["patternProperties"] = by_pattern
        if "if" in schema and ("then" in schema or "else" in schema):
            out |= {name: self.schema(schema[name], base, depth) for name in ("if", "then", "else") if name in schema}
        self.arrays(schema, base, depth, out)
        self.dependencies(schema, base, depth, out)
        if out.get("additionalProperties") is False and not out.get("properties", {}).keys() >= set(
            out.get("required", ())
        ):
            # fastjsonschema refuses to compile what nothing could satisfy; apart from each other the two are fine.
            out.setdefault("allOf", []).append({"required": out.pop("required")})

    def pattern(self, pattern: str, keyword: str) -> str:
        try:
            regex, longest = patterns.compiled(pattern)
        except ValueError:
            self.declined.append(keyword)
            return f"declined {len(self.declined)}"
        if longest is not None:
            self.bounds[regex.pattern] = longest
        return regex.pattern

    def arrays(self, schema: dict[str, Any], base: str, depth: int, out: dict[str, Any]) -> None:
        items = schema.get("items", True)
        first, rest = schema.get("prefixItems", []), items
        if self.is_old:
            first, rest = (items, schema.get("additionalItems", True)) if isinstance(items, list) else ([], items)
        lowered = self.each(rest, base, depth)
        if first:
            out["items"] = [self.schema(item, base, depth) for item in first]
            out["additionalItems"] = lowered
        else:
            out["items"] = lowered

    def dependencies(self, schema: dict[str, Any], base: str, depth: int, out: dict[str, Any]) -> None:
        found: dict[str, list[Any]] = {}
        for keyword in ("dependencies",) if self.is_old else ("dependencies", "dependentRequired", "dependentSchemas"):
            for name, expected in schema.get(keyword, {}).items():
                lowered = {"required": expected} if isinstance(expected, list) else self.schema(expected, base, depth)
                found.setdefault(name, []).append(lowered)
        out["dependencies"] = {
            name: expected[0] if len(expected) == 1 else {"allOf": expected}
            for name, expected in found.items()
            if expected != [{"required": []}]
        }


_WITHOUT_FORM = ("$dynamicRef", "unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains")

_AS_THEY_ARE = frozenset(
    (
        "type",
        "enum",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "required",
        "minProperties",
        "maxProperties",
    )
)


_ENUMERATED = ("enum", "required", "type", "definitions")
_NAMED = ("properties", "patternProperties", "dependencies")
_LOOPS = ("items", "additionalItems", "contains", "propertyNames", "patternProperties", "additionalProperties")

_LIGHT = frozenset(
    (
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minLength",
        "maxLength",
        "title",
        "description",
        "default",
        "examples",
        "format",
    )
)


def _is_light(schema: dict[str, Any]) -> bool:
    return all(
        keyword in _LIGHT
        or (keyword == "type" and isinstance(value, str))
        or (
            keyword == "enum" and len(value) <= FEW and not any(isinstance(item, (dict, list, tuple)) for item in value)
        )
        for keyword, value in schema.items()
    )


def _says_nothing(keyword: str, value: Any) -> bool:
    """Whether a keyword allows everything; fastjsonschema writes an empty block for some of these."""
    if keyword in ("items", "additionalItems", "additionalProperties", "propertyNames", "then", "else"):
        return value is True
    return keyword in ("properties", "patternProperties", "dependencies", "allOf", "required") and not value
