"""Every fault of a value against a schema, in words that a model or a person can act on.

A validator for all of 2020-12, and for all of draft 7, which is read as 2020-12 (`draft7`). It says where and why, and
holds no less than the standard says but formats and content keywords, which describe. It takes a schema that passed
`check.faults_of`, and any value. It never raises, and it is bounded: in the faults it lists, in the depth it descends
to, in the schemas it visits, in the texts that it searches for a pattern. Patterns without an exact and safe form in
Python are the one thing that it cannot tell; it finds no fault there, and a validator has to decline them.

Where several alternatives are allowed (`anyOf`, `oneOf`), `alternatives` says which of their faults are told.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from pegboard.errors import Fault
from pegboard.schema import patterns
from pegboard.schema.alternatives import Alternatives
from pegboard.schema.assertions import ASSERTIONS, FORMATS, MAX_NAMED, at_most, counted, tell_enum, tell_pattern
from pegboard.schema.equality import identity
from pegboard.schema.flat import plain_types
from pegboard.schema.jsontext import MAX_CHECKED, check_value, count_nodes, is_flat, shorten, shorten_text
from pegboard.schema.keywords import DRAFT_7, DRAFT_2020, dialect_of
from pegboard.schema.refs import References, base_inside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard.errors import Step
    from pegboard.schema.refs import Target

MAX_FAULTS = 50
MAX_VISITS = 10_000
"""How many schemas a walk visits, which takes some 30 ms; what it found by then is what it tells."""
MAX_FOLLOWED = 1_000
"""How many references may lead to one another; a checked schema has fewer (`check.MAX_REFERENCES`)."""
FEW = 8
"""Values of an enum that are compared one by one."""


def explain(
    schema: Any, value: Any, *, root: Any = None, visits: int = MAX_VISITS, document: Document | None = None
) -> list[Fault]:
    """Say everything that is wrong with `value`.

    Args:
        schema: a schema without faults, of draft 7 or 2020-12 as its `$schema` says.
        value: any Python value; one that is not JSON has that as its one fault.
        root: the document that `schema` is a part of, where it is not the whole: references look there.
        visits: after how many visited schemas the walk ends.
        document: what was made of `schema` before, where it is asked again and again.

    Returns:
        At most `MAX_FAULTS` faults, in the order of the schema; none where the value is right.

    .. versionadded:: 0.1
    """
    if not is_flat(value):
        if count_nodes(value, MAX_CHECKED) > MAX_CHECKED:
            return [_too_much(value)]
        if fault := check_value(value):
            return [fault]
    walk = _Walk(document or Document(schema, root), visits)
    try:
        return walk.start(value)
    except _SpentError as spent:
        return spent.faults[:MAX_FAULTS] or [_too_much(value)]
    except RecursionError:
        return [_too_much(value)]


class Document:
    """What the walks of one schema look up: the schema in 2020-12, its references, and what each schema in it asks.

    Args:
        schema: a schema without faults.
        root: the document that it is a part of, where it is not the whole.

    .. versionadded:: 0.1
    """

    def __init__(self, schema: Any, root: Any = None) -> None:
        if dialect_of(schema if root is None else root) == DRAFT_7:
            from pegboard.schema.draft7 import in_2020_12  # most schemas are of 2020-12

            schema, root = in_2020_12(schema, root), None
        self.schema = schema
        self.is_whole = root is None
        self.refs = References(schema if root is None else root, DRAFT_2020)
        self._rules: dict[int, _Rules] = {}
        self._members: dict[int, frozenset[Any]] = {}

    @cached_property
    def looks_back(self) -> bool:
        """Whether it matters what every alternative that fits has looked at: some schema asks for what was not."""
        return not self.is_whole or any(not _UNEVALUATED.isdisjoint(here.schema) for here in self.refs.reachable())

    def rules(self, schema: dict[str, Any]) -> _Rules:
        """What a schema of this document asks of a value."""
        # By identity: a schema has no hash, and none of a document ends before the document does, so no id comes twice.
        rules = self._rules.get(id(schema))
        if rules is None:
            rules = self._rules[id(schema)] = _Rules(schema)
        return rules

    def names(self, allowed: list[Any], value: Any) -> bool:
        """Whether `value`, no container, is in a long enum of the document."""
        key = id(allowed)
        if key not in self._members:
            plain = [item for item in allowed if not isinstance(item, (dict, list, tuple))]
            self._members[key] = frozenset(map(identity, plain))
        return identity(value) in self._members[key]


class _Rules:
    """What one schema asks, sorted by what is looked at; made once, for a schema is visited again and again."""

    __slots__ = ("assertions", "combines", "fitting", "has_id", "leaves", "on_array", "on_object", "ref", "refers")

    def __init__(self, schema: dict[str, Any]) -> None:
        keys = schema.keys()
        self.assertions = tuple((word, ASSERTIONS[word], schema[word]) for word in ASSERTIONS if word in keys)
        self.fitting = plain_types(schema)
        """Types of which every value fits, where the schema asks for no more than that."""
        self.has_id = "$id" in keys
        self.refers = not keys.isdisjoint(_REFERENCES)
        self.ref = schema["$ref"] if "$ref" in keys and keys.isdisjoint(_ASKING) else None
        """The reference that is all the schema says."""
        self.on_object = not keys.isdisjoint(_ON_OBJECTS)
        self.on_array = not keys.isdisjoint(_ON_ARRAYS)
        self.combines = not keys.isdisjoint(_COMBINATIONS)
        self.leaves = not keys.isdisjoint(_UNEVALUATED)


_REFERENCES = frozenset(("$ref", "$dynamicRef"))
_DEPENDENCIES = ("dependencies", "dependentRequired", "dependentSchemas")
_ON_OBJECTS = frozenset(
    (*_DEPENDENCIES, "properties", "patternProperties", "additionalProperties", "propertyNames", "required")
)
_ON_ARRAYS = frozenset(("items", "prefixItems", "contains"))
_COMBINATIONS = frozenset(("allOf", "anyOf", "oneOf", "not", "if"))
_UNEVALUATED = frozenset(("unevaluatedProperties", "unevaluatedItems"))
_ASKING = frozenset(ASSERTIONS) | _ON_OBJECTS | _ON_ARRAYS | _COMBINATIONS | _UNEVALUATED | {"$dynamicRef"}


def _too_much(value: Any) -> Fault:
    return Fault((), "a value that can be checked in bounded time", shorten(value), "send less at once")


class _SpentError(Exception):
    """The walk visited as many schemas as it may; `faults` are those it had found, outside of alternatives."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[Fault] = []


class _Report:
    """What one schema had to say about one value: its faults, and which properties and items it looked at."""

    __slots__ = ("faults", "items", "names")

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.names: set[str] = set()
        self.items: set[int] = set()

    def take(self, other: _Report) -> None:
        """Take over everything another schema said about the same value."""
        self.add(other.faults)
        self.see(other)

    def see(self, other: _Report) -> None:
        """Take over what another schema looked at."""
        self.names |= other.names
        self.items |= other.items

    @property
    def is_full(self) -> bool:
        """Whether more faults would not be listed."""
        return len(self.faults) >= MAX_FAULTS

    def add(self, faults: Iterable[Fault]) -> None:
        """Note faults, as many as there is room for."""
        for fault in faults:
            if len(self.faults) >= MAX_FAULTS:
                break
            self.faults.append(fault)


class _Scope(NamedTuple):
    """Where the walk stands among the schema's resources: the base in force, and all that were entered on the way."""

    base: str
    entered: tuple[str, ...]

    def within(self, base: str) -> _Scope:
        return self if base == self.base else _Scope(base, (*self.entered, base))


class _Walk:
    """One value against one document.

    Attributes:
        path: where in the value the walk stands.
        left: how many schemas it may still visit.
    """

    def __init__(self, document: Document, visits: int) -> None:
        self.document = document
        self.refs = document.refs
        self.left = visits
        self.path: list[Step] = []
        self.alternatives = Alternatives(document.refs, self.spend)

    def spend(self, visits: int) -> None:
        self.left -= visits
        if self.left < 0:
            raise _SpentError

    def start(self, value: Any) -> list[Fault]:
        base = self.refs.root.base
        return self.visit(self.document.schema, value, _Scope(base, (base,)), inside=self.document.is_whole).faults

    def visit(self, schema: Any, value: Any, at: _Scope, *, inside: bool = False) -> _Report:
        """Hold one value against one schema; `at.base` is in force around it, or `inside` it.

        All in one function: deep values are told of within the interpreter's stack.
        """
        self.left -= 1
        if self.left < 0:
            raise _SpentError
        report = _Report()
        # A reference that is all a schema says costs a turn here and no frame: chains of them are long, stacks are not.
        for _ in range(MAX_FOLLOWED):
            if not isinstance(schema, dict):
                if schema is False:
                    report.add([self.fault("nothing here", shorten(value))])
                return report
            rules = self.document.rules(schema)
            if type(value) in rules.fitting:
                return report
            if rules.has_id and not inside:
                at = at.within(base_inside(schema, at.base, DRAFT_2020))
            if rules.ref is None:
                break
            target = self.refs.resolve(rules.ref, at.base)
            if target is None:
                return report  # a checked schema has none; one that points outside is not a validator's here
            schema, at, inside = target.schema, at.within(target.base), True
        else:
            raise _SpentError
        try:
            if rules.refers:
                self._refer(schema, value, at, report)
            if rules.assertions:
                self._assert(schema, rules, value, report)
            if rules.on_object and isinstance(value, dict):
                self._object(schema, value, at, report)
            elif rules.on_array and isinstance(value, (list, tuple)):
                self._array(schema, value, at, report)
            if rules.combines:
                self._combine(schema, value, at, report)
            if rules.leaves and not report.faults:
                self._unevaluated(schema, value, at, report)
            return report
        except _SpentError as spent:
            spent.faults[:0] = report.faults
            raise

    def fault(self, expected: str, got: str, hint: str | None = None) -> Fault:
        return Fault(tuple(self.path), expected, got, hint)

    def below(self, step: Step, schema: Any, value: Any, at: _Scope) -> _Report:
        """Visit a schema that looks at a value one level down."""
        self.path.append(step)
        report = self.visit(schema, value, at)
        self.path.pop()
        return report

    def fits(self, schema: Any, value: Any) -> bool:
        """Whether this is seen at a glance; it costs no visit."""
        return isinstance(schema, dict) and type(value) in self.document.rules(schema).fitting

    def tried(self, schema: Any, value: Any, at: _Scope) -> _Report:
        """Visit a schema whose faults may be none of the value's."""
        try:
            return self.visit(schema, value, at)
        except _SpentError as spent:
            spent.faults.clear()
            raise

    def _refer(self, schema: dict[str, Any], value: Any, at: _Scope, report: _Report) -> None:
        for keyword in ("$ref", "$dynamicRef"):
            if keyword not in schema:
                continue
            target: Target | None
            if keyword == "$ref":
                target = self.refs.resolve(schema[keyword], at.base)
            else:
                target = self.refs.resolve_dynamic(schema[keyword], at.base, at.entered)
            if target is not None:
                report.take(self.visit(target.schema, value, at.within(target.base), inside=True))

    def _assert(self, schema: dict[str, Any], rules: _Rules, value: Any, report: _Report) -> None:
        of_type: Fault | None = None
        for keyword, assertion, expected in rules.assertions:
            if keyword == "enum" and len(expected) > FEW:
                if not isinstance(value, (dict, list, tuple)) and self.document.names(expected, value):
                    continue
                self.spend(len(expected) // 10)
            elif keyword == "uniqueItems":
                self.spend(count_nodes(value, MAX_CHECKED) // 10)
            if assertion.holds(expected, value):
                continue
            if keyword == "enum" or keyword == "const":
                allowed = expected if keyword == "enum" else [expected]
                (told,) = tell_enum(allowed, value, self.path, self.alternatives.near)
                if of_type is not None:  # the values say of which type they are: one fault for both
                    report.faults.pop()
                    told = attrs.evolve(told, expected_types=told.expected_types | of_type.expected_types)
                report.add([told])
                of_type = None
            elif keyword == "pattern" and (words := FORMATS.get(schema.get("format", ""))):
                report.add([self.fault(words, shorten(value))])
            else:
                report.add(assertion.tell(expected, value, self.path))
                if keyword == "type" and not report.is_full:
                    of_type = report.faults[-1]

    # Objects and arrays.

    def _object(self, schema: dict[str, Any], value: dict[str, Any], at: _Scope, report: _Report) -> None:
        properties = schema.get("properties", {})
        by_pattern = schema.get("patternProperties", {})
        names = schema.get("propertyNames", True)
        for name in schema.get("required", ()):
            if name not in value and not report.is_full:
                report.add([self._missing(name, properties.get(name, True), value, properties, at)])
        for keyword in _DEPENDENCIES:
            if keyword in schema:
                self._dependencies(schema[keyword], value, at, report)
        additional = schema.get("additionalProperties", True)
        self.spend(len(schema.get("required", ())) // 20 + len(by_pattern) * len(value) // 30)
        plain = plain_types(additional) if not by_pattern and names is True else ()
        for name, item in value.items():
            known = name in properties
            if len(report.faults) >= MAX_FAULTS:  # `is_full`, for each of a million members
                return
            if not known and type(item) in plain:
                report.names.add(name)
                continue
            if known and not self.fits(properties[name], item):
                report.add(self.below(name, properties[name], item, at).faults)
            if by_pattern:
                known = self._matching(by_pattern, name, item, at, report) or known
            if not known and additional is False:
                report.add([self._unknown(name, properties, value)])
            elif not known and additional is not True:
                report.add(self.below(name, additional, item, at).faults)
            if known or "additionalProperties" in schema:
                report.names.add(name)
            if names is not True:
                for fault in self.below(name, names, name, at).faults:
                    report.add([Fault(fault.path, f"as a name {fault.expected}", fault.got, fault.hint)])
        self.spend(len(value) // 20)

    def _matching(self, by_pattern: dict[str, Any], name: str, item: Any, at: _Scope, report: _Report) -> bool:
        """Hold a property against the schemas whose patterns its name matches; whether there is one."""
        known = False
        for pattern, subschema in by_pattern.items():
            try:
                found = patterns.search(pattern, name)
            except patterns.TooLongError:
                report.add(tell_pattern(pattern, name, (*self.path, name)))
                found = None
            known = known or found is not False  # what cannot be told is not a reason for a second fault
            if found:
                report.add(self.below(name, subschema, item, at).faults)
        return known

    def _missing(self, name: str, subschema: Any, value: Any, properties: Any, at: _Scope) -> Fault:
        unknown = islice((key for key in value if key not in properties), 100)
        near = self.alternatives.near.find(name, unknown)
        hint = f"it is required; is {shorten(near[0])} meant to be it?" if near else "it is required"
        return Fault((*self.path, name), self.alternatives.describe(subschema, at.base), "nothing", hint)

    def _unknown(self, name: str, properties: dict[str, Any], value: Any) -> Fault:
        missing = islice((known for known in properties if known not in value), 200)
        near = self.alternatives.near.find(name, missing)
        if near:
            hint: str | None = f"did you mean {shorten_text(near[0])}?"
        elif properties:
            more = f" and {len(properties) - MAX_NAMED} more" if len(properties) > MAX_NAMED else ""
            hint = f"known: {', '.join(shorten_text(known, 30) for known in list(properties)[:MAX_NAMED])}{more}"
        else:
            hint = None
        return Fault((*self.path, name), "a known name", "an unknown one", hint)

    def _dependencies(self, dependencies: dict[str, Any], value: Any, at: _Scope, report: _Report) -> None:
        for name, expected in dependencies.items():
            if name not in value:
                continue
            if isinstance(expected, list):
                hint = f"it is required where {shorten_text(name)} is given"
                missing = (key for key in expected if key not in value)
                report.add(Fault((*self.path, key), "a value", "nothing", hint) for key in missing)
            else:
                report.take(self.visit(expected, value, at))

    def _array(self, schema: dict[str, Any], value: Any, at: _Scope, report: _Report) -> None:
        first, rest = schema.get("prefixItems", ()), schema.get("items", True)
        for n, (subschema, item) in enumerate(zip(first, value, strict=False)):
            report.add(self.below(n, subschema, item, at).faults)
            report.items.add(n)
        if rest is False and len(value) > len(first):
            report.add([self.fault(at_most(len(first), "item"), shorten(value))])
        elif rest is not True:
            plain = plain_types(rest)
            for n in range(len(first), len(value)):
                if report.is_full:
                    return
                if type(value[n]) not in plain:
                    report.add(self.below(n, rest, value[n], at).faults)
            self.spend(len(value) // 20)
        if "items" in schema:
            report.items.update(range(len(value)))
        if "contains" in schema:
            self._contains(schema, value, at, report)

    def _contains(self, schema: dict[str, Any], value: Any, at: _Scope, report: _Report) -> None:
        found: list[int] = []
        for n, item in enumerate(value):
            self.path.append(n)
            if not self.tried(schema["contains"], item, at).faults:
                found.append(n)
            self.path.pop()
        # Since 2020-12 what `contains` finds is evaluated for `unevaluatedItems` (core, 11.2).
        report.items.update(found)
        least, most = schema.get("minContains", 1), schema.get("maxContains")
        what = self.alternatives.describe(schema["contains"], at.base)
        got = f"{len(found)} of {len(value)}"
        if len(found) < least:
            report.add([self.fault(f"at least {counted(least, 'item')} of this kind: {what}", got)])
        if most is not None and len(found) > most:
            report.add([self.fault(f"{at_most(most, 'item')} of this kind: {what}", got)])

    def _unevaluated(self, schema: dict[str, Any], value: Any, at: _Scope, report: _Report) -> None:
        if "unevaluatedProperties" in schema and isinstance(value, dict):
            rule = schema["unevaluatedProperties"]
            for name in [name for name in value if name not in report.names]:
                if rule is False:
                    report.add([self._unknown(name, {}, value)])
                else:
                    report.add(self.below(name, rule, value[name], at).faults)
                report.names.add(name)
        if "unevaluatedItems" in schema and isinstance(value, (list, tuple)):
            rule = schema["unevaluatedItems"]
            for n in [n for n in range(len(value)) if n not in report.items]:
                report.add(self.below(n, rule, value[n], at).faults)
                report.items.add(n)

    # Schemas that look at the same value.

    def _combine(self, schema: dict[str, Any], value: Any, at: _Scope, report: _Report) -> None:
        for subschema in schema.get("allOf", ()):
            report.take(self.visit(subschema, value, at))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                reports = []
                for choice in schema[keyword]:  # no comprehension: each would cost a frame of every level
                    reports.append(self.tried(choice, value, at))
                    if not reports[-1].faults and keyword == "anyOf" and not self.document.looks_back:
                        break
                self._choose(keyword, schema[keyword], reports, value, at, report)
        if "not" in schema and not self.tried(schema["not"], value, at).faults:
            what = self.alternatives.describe(schema["not"], at.base)
            report.add([self.fault(f"anything but {what}", shorten(value))])
        if "if" in schema:
            condition = self.tried(schema["if"], value, at)
            # What an `if` that fits has looked at is evaluated, whether or not there is a `then` (2020-12, core,
            # 10.2.2.1).
            if not condition.faults:
                report.see(condition)
            branch = "else" if condition.faults else "then"
            if branch in schema:
                report.take(self.visit(schema[branch], value, at))

    def _choose(
        self, keyword: str, choices: list[Any], reports: list[_Report], value: Any, at: _Scope, report: _Report
    ) -> None:
        fitting = [branch for branch in reports if not branch.faults]
        for branch in fitting:
            report.see(branch)
        if keyword == "oneOf" and len(fitting) > 1:
            expected = f"exactly one of {len(choices)} alternatives"
            report.add([self.fault(expected, f"{shorten(value)}, which fits {len(fitting)} of them")])
        elif not fitting:
            branches = [branch.faults for branch in reports]
            report.add(self.alternatives.closest(choices, branches, value, tuple(self.path), at.base))
