"""Every fault of a value against a schema, in words that a model or a person can act on.

A validator says whether; this walker says where and why, for all of draft 7 and 2020-12. It takes a schema that passed
`check.faults_of`, and any value. It never raises, and it is bounded: in the faults it lists, in the depth it descends
to, in the schemas it visits. It is fuzzed for agreement with the validators: no faults where they pass, and some where
they refuse. Formats and content keywords describe; they are not faults.

Where several alternatives are allowed (`anyOf`, `oneOf`), the faults of the closest one are told when one clearly is
meant (the only one of the value's type, the only one whose tag fits); else what they expect is merged into one.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.errors import Fault
from pegboard.schema import patterns
from pegboard.schema.flat import plain_types
from pegboard.schema.jsontext import MAX_CHECKED, check_value, count_nodes, is_flat, shorten, shorten_text
from pegboard.schema.keywords import DRAFT_7, DRAFT_2020, Dialect, dialect_of
from pegboard.schema.near import NearNames
from pegboard.schema.refs import References, base_inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from fractions import Fraction

    from pegboard.errors import Step
    from pegboard.schema.refs import Target

    Assertion = Callable[[Any, Any, "Path"], Iterable[Fault]]

MAX_FAULTS = 50
MAX_VISITS = 10_000
"""How many schemas a walk visits, which takes some 50 ms; what it found by then is what it tells."""
FEW = 8
"""Values of an enum that are compared one by one."""
_DEPENDENCIES = ("dependencies", "dependentRequired", "dependentSchemas")
MAX_NAMED = 8
"""How many names or values an expectation lists."""

Path = tuple["Step", ...]


def explain(
    schema: Any, value: Any, *, root: Any = None, visits: int = MAX_VISITS, document: Document | None = None
) -> list[Fault]:
    """Say everything that is wrong with `value`.

    Args:
        schema: a schema without faults, of draft 7 or 2020-12 as its `$schema` says.
        value: any Python value; one that is not JSON has that as its one fault.
        root: the document that `schema` is a part of, where it is not the whole: references look there.
        visits: after how many visited schemas the walk ends.
        document: what was looked up in the document before, where it is walked again and again.

    Returns:
        At most `MAX_FAULTS` faults, in the order of the schema; none where the value is right.

    .. versionadded:: 0.1
    """
    if not is_flat(value):
        if count_nodes(value, MAX_CHECKED) > MAX_CHECKED:
            return [_too_much(value)]
        if fault := check_value(value):
            return [fault]
    walk = _Walk(document or Document(schema if root is None else root), visits)
    try:
        return walk.start(schema, value)
    except _SpentError as spent:
        return spent.faults[:MAX_FAULTS] or [_too_much(value)]
    except RecursionError:
        return [_too_much(value)]


class Document:
    """What the walks of one schema document look up: its references, and the plain values of its long enums.

    .. versionadded:: 0.1
    """

    def __init__(self, schema: Any) -> None:
        self.dialect = dialect_of(schema) or DRAFT_2020
        self.refs = References(schema, self.dialect)
        self._members: dict[int, frozenset[Any]] = {}

    def names(self, allowed: list[Any], value: Any) -> bool:
        """Whether `value`, no container, is in a long enum of the document."""
        key = id(allowed)
        if key not in self._members:
            plain = [item for item in allowed if not isinstance(item, (dict, list, tuple))]
            self._members[key] = frozenset(map(_identity, plain))
        return _identity(value) in self._members[key]


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


class _Place(NamedTuple):
    """Where the walk stands: in the value, and in the schema's resources."""

    path: Path
    base: str
    entered: tuple[str, ...]

    def down(self, step: Step) -> _Place:
        return self._replace(path=(*self.path, step))


class _Walk:
    def __init__(self, document: Document, visits: int) -> None:
        self.document = document
        self.dialect: Dialect = document.dialect
        self.refs = document.refs
        self.left = visits
        self.near = NearNames()

    def spend(self, visits: int = 1) -> None:
        self.left -= visits
        if self.left < 0:
            raise _SpentError

    def start(self, schema: Any, value: Any) -> list[Fault]:
        document, base = self.refs.root
        return self.visit(schema, value, _Place((), base, (base,)), inside=schema is document).faults

    def visit(self, schema: Any, value: Any, at: _Place, *, inside: bool = False) -> _Report:
        """Hold one value against one schema; `at.base` is in force around it, or `inside` it."""
        self.spend()
        report = _Report()
        try:
            if not isinstance(schema, dict):
                if schema is False:
                    report.add([Fault(at.path, "nothing here", shorten(value))])
                return report
            base = at.base if inside else base_inside(schema, at.base, self.dialect)
            if base != at.base:
                at = at._replace(base=base, entered=(*at.entered, base))
            if "$ref" in schema:
                report.take(self._refer(self.refs.resolve(schema["$ref"], base), value, at))
                if self.dialect == DRAFT_7:
                    return report
            if "$dynamicRef" in schema and self.dialect != DRAFT_7:
                target = self.refs.resolve_dynamic(schema["$dynamicRef"], base, at.entered)
                report.take(self._refer(target, value, at))
            for keyword, faults_of in _ASSERTIONS.items():
                if keyword not in schema:
                    continue
                if keyword == "enum":
                    report.add(self._enum(schema["enum"], value, at.path))
                    continue
                if keyword == "uniqueItems":
                    self.spend(count_nodes(value, MAX_CHECKED) // 10)
                report.add(_in_words(schema, faults_of(schema[keyword], value, at.path), keyword))
            if isinstance(value, dict):
                self._object(schema, value, at, report)
            elif isinstance(value, (list, tuple)):
                self._array(schema, value, at, report)
            self._combine(schema, value, at, report)
            if not report.faults and self.dialect != DRAFT_7:
                self._unevaluated(schema, value, at, report)
            return report
        except _SpentError as spent:  # no function of its own: each would cost a frame of every level
            spent.faults[:0] = report.faults
            raise

    def _enum(self, allowed: list[Any], value: Any, path: Path) -> Iterable[Fault]:
        if len(allowed) > FEW:
            if not isinstance(value, (dict, list, tuple)) and self.document.names(allowed, value):
                return ()
            self.spend(len(allowed) // 10)
        return _enum(allowed, value, path, self.near)

    def _refer(self, target: Target | None, value: Any, at: _Place) -> _Report:
        if target is None:
            return _Report()  # a checked schema has none; one that points outside is not a validator's here
        schema, base = target
        entered = at.entered if base == at.base else (*at.entered, base)
        return self.visit(schema, value, _Place(at.path, base, entered), inside=True)

    # Objects and arrays.

    def _object(self, schema: dict[str, Any], value: dict[str, Any], at: _Place, report: _Report) -> None:
        properties = schema.get("properties", {})
        by_pattern = schema.get("patternProperties", {})
        for name in schema.get("required", ()):
            if name not in value and not report.is_full:
                report.add([self._missing(name, properties.get(name, True), value, properties, at)])
        for keyword in _DEPENDENCIES if self.dialect != DRAFT_7 else _DEPENDENCIES[:1]:
            if keyword in schema:
                self._dependencies(schema[keyword], value, at, report)
        additional = schema.get("additionalProperties", True)
        self.spend(len(schema.get("required", ())) // 20 + len(by_pattern) * len(value) // 30)
        plain = plain_types(additional) if not (by_pattern or "propertyNames" in schema) else ()
        for name, item in value.items():
            known = name in properties
            if len(report.faults) >= MAX_FAULTS:  # `is_full`, for each of a million members
                return
            if not known and type(item) in plain:
                report.names.add(name)
                continue
            if known:
                report.add(self._property(properties[name], item, name, at))
            for pattern, subschema in by_pattern.items():
                found = patterns.search(pattern, name)
                known = known or found is not False  # what cannot be told is no reason for a fault
                if found:
                    report.add(self.visit(subschema, item, at.down(name)).faults)
            if not known and additional is False:
                report.add([self._unknown(name, properties, value, at)])
            elif not known and additional is not True:
                report.add(self.visit(additional, item, at.down(name)).faults)
            if known or "additionalProperties" in schema:
                report.names.add(name)
            if "propertyNames" in schema:
                for fault in self.visit(schema["propertyNames"], name, at.down(name)).faults:
                    report.add([Fault(fault.path, f"as a name {fault.expected}", fault.got, fault.hint)])
        self.spend(len(value) // 20)

    def _property(self, subschema: Any, item: Any, name: str, at: _Place) -> Iterable[Fault]:
        if not (fitting := plain_types(subschema)):
            return self.visit(subschema, item, at.down(name)).faults
        return () if type(item) in fitting else type_faults(subschema["type"], item, (*at.path, name))

    def _missing(self, name: str, subschema: Any, value: Any, properties: Any, at: _Place) -> Fault:
        near = self.near.find(name, islice((key for key in value if key not in properties), 100))
        hint = f"it is required; is {shorten(near[0])} meant to be it?" if near else "it is required"
        return Fault((*at.path, name), self.describe(subschema, at), "nothing", hint)

    def _unknown(self, name: str, properties: dict[str, Any], value: Any, at: _Place) -> Fault:
        near = self.near.find(name, islice((known for known in properties if known not in value), 200))
        if near:
            hint: str | None = f"did you mean {shorten_text(near[0])}?"
        elif properties:
            more = f" and {len(properties) - MAX_NAMED} more" if len(properties) > MAX_NAMED else ""
            hint = f"known: {', '.join(shorten_text(known, 30) for known in list(properties)[:MAX_NAMED])}{more}"
        else:
            hint = None
        return Fault((*at.path, name), "a known name", "an unknown one", hint)

    def _dependencies(self, dependencies: dict[str, Any], value: Any, at: _Place, report: _Report) -> None:
        for name, expected in dependencies.items():
            if name not in value:
                continue
            if isinstance(expected, list):
                hint = f"it is required where {shorten_text(name)} is given"
                report.add(Fault((*at.path, k), "a value", "nothing", hint) for k in expected if k not in value)
            else:
                report.take(self.visit(expected, value, at))

    def _array(self, schema: dict[str, Any], value: Any, at: _Place, report: _Report) -> None:
        items = schema.get("items", True)
        if self.dialect == DRAFT_7:
            first, rest = (items, schema.get("additionalItems", True)) if isinstance(items, list) else ([], items)
        else:
            first, rest = schema.get("prefixItems", []), items
        for n, (subschema, item) in enumerate(zip(first, value, strict=False)):
            report.add(self.visit(subschema, item, at.down(n)).faults)
            report.items.add(n)
        if rest is False and len(value) > len(first):
            report.add([Fault(at.path, _at_most(len(first), "item"), shorten(value))])
        elif rest is not True:
            plain = plain_types(rest)
            for n in range(len(first), len(value)):
                if report.is_full:
                    return
                if type(value[n]) not in plain:
                    report.add(self.visit(rest, value[n], at.down(n)).faults)
            self.spend(len(value) // 20)
        if "items" in schema and self.dialect != DRAFT_7:
            report.items.update(range(len(value)))
        if "contains" in schema:
            self._contains(schema, value, at, report)

    def _contains(self, schema: dict[str, Any], value: Any, at: _Place, report: _Report) -> None:
        found = [n for n, item in enumerate(value) if not self._try(schema["contains"], item, at.down(n)).faults]
        report.items.update(found)
        new = self.dialect != DRAFT_7
        least, most = (schema.get("minContains", 1), schema.get("maxContains")) if new else (1, None)
        what = self.describe(schema["contains"], at)
        if len(found) < least:
            report.add(
                [
                    Fault(
                        at.path,
                        f"at least {_counted(least, 'item')} of this kind: {what}",
                        f"{len(found)} of {len(value)}",
                    )
                ]
            )
        if most is not None and len(found) > most:
            report.add(
                [Fault(at.path, f"{_at_most(most, 'item')} of this kind: {what}", f"{len(found)} of {len(value)}")]
            )

    def _unevaluated(self, schema: dict[str, Any], value: Any, at: _Place, report: _Report) -> None:
        if "unevaluatedProperties" in schema and isinstance(value, dict):
            rule = schema["unevaluatedProperties"]
            for name in [name for name in value if name not in report.names]:
                if rule is False:
                    report.add([self._unknown(name, {}, value, at)])
                else:
                    report.add(self.visit(rule, value[name], at.down(name)).faults)
                report.names.add(name)
        if "unevaluatedItems" in schema and isinstance(value, (list, tuple)):
            rule = schema["unevaluatedItems"]
            for n in [n for n in range(len(value)) if n not in report.items]:
                report.add(self.visit(rule, value[n], at.down(n)).faults)
                report.items.add(n)

    # Schemas that look at the same value.

    def _try(self, schema: Any, value: Any, at: _Place) -> _Report:
        """Visit a schema whose faults may be none of the value's."""
        try:
            return self.visit(schema, value, at)
        except _SpentError as spent:
            spent.faults.clear()
            raise

    def _combine(self, schema: dict[str, Any], value: Any, at: _Place, report: _Report) -> None:
        for subschema in schema.get("allOf", ()):
            report.take(self.visit(subschema, value, at))
        if "anyOf" in schema:
            self._any_of(schema["anyOf"], value, at, report)
        if "oneOf" in schema:
            self._any_of(schema["oneOf"], value, at, report, only_one=True)
        if "not" in schema and not self._try(schema["not"], value, at).faults:
            report.add([Fault(at.path, f"anything but {self.describe(schema['not'], at)}", shorten(value))])
        if "if" in schema:
            condition = self._try(schema["if"], value, at)
            if not condition.faults:
                report.see(condition)
            branch = "else" if condition.faults else "then"
            if branch in schema:
                report.take(self.visit(schema[branch], value, at))

    def _any_of(self, choices: list[Any], value: Any, at: _Place, report: _Report, *, only_one: bool = False) -> None:
        reports = [self._try(choice, value, at) for choice in choices]
        fitting = [branch for branch in reports if not branch.faults]
        for branch in fitting:
            report.see(branch)
        if only_one and len(fitting) > 1:
            expected = f"exactly one of {len(choices)} alternatives"
            report.add([Fault(at.path, expected, f"{shorten(value)}, which fits {len(fitting)} of them")])
        elif not fitting:
            report.add(self._closest(choices, [branch.faults for branch in reports], value, at))

    def _closest(self, choices: list[Any], branches: list[list[Fault]], value: Any, at: _Place) -> list[Fault]:
        meant = [
            faults
            for choice, faults in zip(choices, branches, strict=True)
            if not self._is_of_another_kind(choice, faults, value, at)
        ]
        if len(meant) == 1:
            return meant[0]
        if fault := self._wrong_tag(choices, value, at):
            return [fault]
        if meant:
            return min(meant, key=len)
        told = list(dict.fromkeys(self.describe(choice, at) for choice in choices))
        here = [fault for faults in branches for fault in faults if fault.path == at.path]
        hint = next((fault.hint for fault in here if fault.hint), None)
        expected = frozenset(name for fault in here for name in fault.expected_types)
        return [Fault(at.path, _or(told), shorten(value), hint, expected)]

    def _is_of_another_kind(self, choice: Any, faults: list[Fault], value: Any, at: _Place) -> bool:
        """Whether a value that broke an alternative was hardly meant for it: it has another type, another fixed
        value, or another tag (a property that the alternative fixes)."""
        here = [fault for fault in faults if fault.path == at.path]
        if any(fault.expected_types or fault.expected == "nothing here" for fault in here):
            return True
        return (bool(here) and _fixed_values(self._behind(choice, at)) is not None) or self._has_other_tag(
            choice, value, at
        )

    def _wrong_tag(self, choices: list[Any], value: Any, at: _Place) -> Fault | None:
        """The fault of the property that every alternative fixes, where the value lacks it or has another one."""
        if not isinstance(value, dict):
            return None
        tags = [self._tags(choice, at) for choice in choices]
        for name in tags[0]:
            if all(name in tag for tag in tags):
                allowed = [item for tag in tags for item in tag[name]]
                path = (*at.path, name)
                if name in value:
                    return next(_enum(allowed, value[name], path, self.near), None)
                return Fault(path, _one_of(allowed), "nothing", "it says which of the alternatives is meant")
        return None

    def _tags(self, choice: Any, at: _Place) -> dict[str, list[Any]]:
        choice = self._behind(choice, at)
        properties = choice.get("properties", {}) if isinstance(choice, dict) else {}
        self.spend(len(properties))
        fixed = {name: _fixed_values(self._behind(subschema, at)) for name, subschema in properties.items()}
        return {name: allowed for name, allowed in fixed.items() if allowed is not None}

    def _has_other_tag(self, choice: Any, value: Any, at: _Place) -> bool:
        return isinstance(value, dict) and any(
            name in value and not any(same(value[name], item) for item in allowed)
            for name, allowed in self._tags(choice, at).items()
        )

    def _behind(self, schema: Any, at: _Place) -> Any:
        for _ in range(8):
            if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
                break
            target = self.refs.resolve(schema["$ref"], base_inside(schema, at.base, self.dialect))
            schema = target.schema if target else True
        return schema

    def describe(self, schema: Any, at: _Place, depth: int = 0) -> str:
        """What a schema expects, in a few words."""
        self.spend()
        schema = self._behind(schema, at)
        if not isinstance(schema, dict):
            return "nothing" if schema is False else "a value"
        if (allowed := _fixed_values(schema)) is not None:
            return _one_of(allowed)
        if "type" in schema:
            return f"{type_words(schema['type'])}{self._tag(schema, at)}"
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema and depth < 3:
                return _or(list(dict.fromkeys(self.describe(item, at, depth + 1) for item in schema[keyword])))
        if "properties" in schema or "required" in schema:
            return f"object{self._tag(schema, at)}"
        for keyword, words in _WORDS.items():
            if keyword in schema:
                return words.format(shorten(schema[keyword]))
        return "a value"

    def _tag(self, schema: dict[str, Any], at: _Place) -> str:
        for name, allowed in self._tags(schema, at).items():
            if len(allowed) == 1:
                return f" with {shorten_text(name, 30)} = {shorten(allowed[0], 30)}"
        return ""


_FORMATS = {
    "date": "a date such as 2026-11-21",
    "date-time": "a date and time with its offset, such as 2026-11-21T09:30:00Z",
    "time": "a time such as 09:30:00",
    "duration": "an ISO 8601 duration such as PT1H30M",
    "uuid": "a UUID",
}
"""What a format calls for, in words: a person is told these, not the pattern that stands beside it."""


def _in_words(schema: dict[str, Any], faults: Iterable[Fault], keyword: str) -> Iterable[Fault]:
    words = _FORMATS.get(schema.get("format", "")) if keyword == "pattern" else None
    return faults if words is None else (Fault(one.path, words, one.got) for one in faults)


_WORDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "multipleOf": "a multiple of {}",
    "pattern": "text that matches {}",
}


def _fixed_values(schema: Any) -> list[Any] | None:
    if isinstance(schema, dict):
        if "const" in schema:
            return [schema["const"]]
        if isinstance(schema.get("enum"), list):
            return list(schema["enum"])
    return None


# Assertions on the value alone: the keyword's value, the value, the path; each gives its faults.


def type_names(value: Any) -> tuple[str, ...]:
    """The JSON types of a value; a whole number is both integer and number, whatever Python holds it in."""
    if isinstance(value, str):
        return ("string",)
    if value is None:
        return ("null",)
    if isinstance(value, bool):
        return ("boolean",)
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return ("integer", "number")
    if isinstance(value, float):
        return ("number",)
    return ("object",) if isinstance(value, dict) else ("array",)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, neither is true, and the order of properties does not matter."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(item, other[key]) for key, item in one.items())
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _identity(value: Any) -> Any:
    """Something hashable that is equal where `same` says so."""
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, dict):
        return dict, frozenset((key, _identity(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return list, tuple(map(_identity, value))
    return value


def type_faults(expected: Any, value: Any, path: Path) -> Iterable[Fault]:
    """The keyword `type`."""
    allowed = (expected,) if isinstance(expected, str) else expected
    for name in type_names(value):
        if name in allowed:
            return ()
    return (Fault(path, type_words(expected), shorten(value), None, frozenset(allowed)),)


def type_words(expected: Any) -> str:
    """What the keyword `type` asks for."""
    return expected if isinstance(expected, str) else _or(list(expected))


def _enum(allowed: Any, value: Any, path: Path, near: NearNames | None = None) -> Iterator[Fault]:
    if any(same(item, value) for item in allowed):
        return
    hint, expected = None, frozenset[str]()
    if isinstance(value, str):
        texts = [item for item in allowed if isinstance(item, str)]
        folded = {text.casefold(): text for text in reversed(texts[:1000])}
        found = (near or NearNames()).find(value.casefold(), folded)
        hint = f"did you mean {shorten_text(folded[found[0]])}?" if found else None
        expected = frozenset(type_names(item)[0] for item in allowed if not isinstance(item, str))
    yield Fault(path, _one_of(allowed), shorten(value), hint, expected)


def _const(allowed: Any, value: Any, path: Path) -> Iterator[Fault]:
    return _enum([allowed], value, path)


def _number(holds: Callable[[Any, Any], bool], words: str) -> Callable[[Any, Any, Path], Iterator[Fault]]:
    def faults(limit: Any, value: Any, path: Path) -> Iterator[Fault]:
        if _is_number(value) and not holds(value, limit):
            yield Fault(path, words.format(shorten(limit)), shorten(value))

    return faults


def _is_multiple(value: Any, of: Any) -> bool:
    # As the decimals that were written: 0.3 is a multiple of 0.1.
    return (_exact(value) / _exact(of)).denominator == 1


def _exact(number: Any) -> Fraction:
    from fractions import Fraction

    return Fraction(number) if isinstance(number, int) else Fraction(repr(float(number)))


def _size(kind: Any, noun: str, *, least: bool) -> Callable[[Any, Any, Path], Iterator[Fault]]:
    def faults(limit: Any, value: Any, path: Path) -> Iterator[Fault]:
        if isinstance(value, kind) and (len(value) < limit if least else len(value) > limit):
            expected = f"at least {_counted(limit, noun)}" if least else _at_most(limit, noun)
            got = f"{shorten(value)} ({len(value)} characters)" if isinstance(value, str) else shorten(value)
            yield Fault(path, expected, got)

    return faults


def _pattern(pattern: Any, value: Any, path: Path) -> Iterator[Fault]:
    if isinstance(value, str) and patterns.search(pattern, value) is False:
        yield Fault(path, f"text that matches {shorten_text(pattern)}", shorten(value))


def _unique(wanted: Any, value: Any, path: Path) -> Iterator[Fault]:
    if not wanted or not isinstance(value, (list, tuple)):
        return
    seen: dict[Any, int] = {}
    for n, item in enumerate(value):
        first = seen.setdefault(_identity(item), n)
        if first != n:
            yield Fault((*path, n), "items that differ", f"{shorten(item)} again, as in item {first}")


_ASSERTIONS: dict[str, Assertion] = {
    "type": type_faults,
    "enum": _enum,
    "const": _const,
    "minimum": _number(lambda value, limit: value >= limit, "at least {}"),
    "exclusiveMinimum": _number(lambda value, limit: value > limit, "above {}"),
    "maximum": _number(lambda value, limit: value <= limit, "at most {}"),
    "exclusiveMaximum": _number(lambda value, limit: value < limit, "below {}"),
    "multipleOf": _number(_is_multiple, "a multiple of {}"),
    "minLength": _size(str, "character", least=True),
    "maxLength": _size(str, "character", least=False),
    "pattern": _pattern,
    "minItems": _size((list, tuple), "item", least=True),
    "maxItems": _size((list, tuple), "item", least=False),
    "uniqueItems": _unique,
    "minProperties": _size(dict, "property", least=True),
    "maxProperties": _size(dict, "property", least=False),
}


# Words.


def _counted(count: Any, noun: str) -> str:
    plural = "properties" if noun == "property" else f"{noun}s"
    return f"{shorten(count)} {noun if count == 1 else plural}"


def _at_most(count: Any, noun: str) -> str:
    return f"at most {_counted(count, noun)}" if count else f"no {'properties' if noun == 'property' else f'{noun}s'}"


def _or(words: list[str]) -> str:
    if len(words) > MAX_NAMED:
        return f"{', '.join(words[:MAX_NAMED])} or {len(words) - MAX_NAMED} others"
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "nothing"


def _one_of(allowed: list[Any]) -> str:
    if not allowed:
        return "nothing"
    plain = all(isinstance(item, str) and item for item in allowed)
    shown = [shorten_text(item if plain else json.dumps(item, ensure_ascii=False), 40) for item in allowed[:MAX_NAMED]]
    if len(allowed) > MAX_NAMED:
        return f"one of {', '.join(shown)} or {len(allowed) - MAX_NAMED} others"
    return f"one of {', '.join(shown)}" if len(allowed) != 1 else shown[0]
