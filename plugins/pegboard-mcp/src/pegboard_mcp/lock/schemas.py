"""Whether every value that one JSON Schema accepts is accepted by another: yes, no, or not to be decided.

`Inclusion` proves. Yes is a proof: no value gets past it. No means that a value is there which the first accepts and
the second refuses, or that a name that callers use is gone. Everything else is None. A schema is split into cases (one
branch of each `anyOf`, one type), each a list of members that all hold, and each rule looks for a member that implies
what the other schema wants. References of both are followed; pairs that come back deeper in the value hold if the rest
does. The work is bounded, and what is beyond the bounds is None.

Annotations are not constraints: `split` takes them apart first. Keywords that no draft has stay where they are for a
person to judge.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from pegboard_mcp.texts import BY_NAME, SCHEMAS, VALUES

Step = str | int
Path = tuple[Step, ...]

TEXT = frozenset(("title", "description", "$comment", "examples", "deprecated"))
"""Annotations that are read and never acted on."""
SOFT = frozenset(("default", "readOnly", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema"))
"""Annotations that somebody may act on; no call is refused for them."""
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_KNOWN = VALUES | BY_NAME | SCHEMAS | {*_COUNTS, *_NUMBERS, "uniqueItems", "minContains", "maxContains"}
_HERE = ("allOf", "anyOf", "oneOf")
_BLIND = ("not", "if", "dependentSchemas", "dependencies", "dependentRequired", "$dynamicRef")
"""Keywords that are held against their like alone: what they mean for others is not looked into."""
_BY_TYPE = frozenset((*_HERE, "enum", "const", "$ref"))
"""Keywords of which something may be proved by looking at one type at a time."""
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")

MAX_STEPS = 20_000
MAX_LEVEL = 60
"""How deep a walk goes, in schemas and in references of one place."""
MAX_CASES = 256
MAX_VALUES = 2_000
MAX_NOTES = 12

ATOMS = frozenset(("null", "boolean", "integer", "fraction", "string", "array", "object"))
_ATOMS_OF = {name: frozenset((name,)) for name in ATOMS} | {"number": frozenset(("integer", "fraction"))}


class Note(NamedTuple):
    """Why something is as it is: where in the schema, and what."""

    path: Path
    words: str


class Verdict(NamedTuple):
    """Yes (True), no (False), or not to be decided (None); and why not yes."""

    state: bool | None
    notes: tuple[Note, ...] = ()


YES = Verdict(True)


def _no(path: Path, words: str, *, sure: bool = True) -> Verdict:
    return Verdict(False if sure else None, (Note(path, words),))


def _unknown(path: Path, words: str) -> Verdict:
    return Verdict(None, (Note(path, words),))


def _all(verdicts: Iterable[Verdict]) -> Verdict:
    """No where one says no, else undecided where one is; the notes of those."""
    stated = list(verdicts)
    for state in (False, None):
        if any(one.state is state for one in stated):
            notes = dict.fromkeys(note for one in stated if one.state is state for note in one.notes)
            return Verdict(state, tuple(itertools.islice(notes, MAX_NOTES)))
    return YES


class Parts(NamedTuple):
    """A schema taken apart: its constraints, and by place its describing texts, its other annotations, and what no
    draft knows; `places` are those of all its schemas."""

    bare: Any
    text: dict[Path, Any]
    soft: dict[Path, Any]
    odd: dict[Path, Any]
    places: set[Path]


def split(schema: Any) -> Parts:
    """Take a schema apart."""
    parts = Parts(None, {}, {}, {}, set())
    return parts._replace(bare=_bare(schema, (), parts))


def _bare(schema: Any, path: Path, parts: Parts) -> Any:
    if isinstance(schema, (list, tuple)):
        return [_bare(item, (*path, index), parts) for index, item in enumerate(schema)]
    if not isinstance(schema, Mapping):
        return schema
    parts.places.add(path)
    kept: dict[str, Any] = {}
    for name, value in schema.items():
        here = (*path, name)
        if name in TEXT:
            parts.text[here] = value
        elif name in SOFT:
            parts.soft[here] = value
        elif name in BY_NAME and isinstance(value, Mapping):
            kept[name] = {key: _bare(item, (*here, key), parts) for key, item in value.items()}
        elif name in SCHEMAS:
            kept[name] = _bare(value, here, parts)
        elif name in _KNOWN:
            kept[name] = value
        else:
            parts.odd[here] = value
    return kept


def key_of(value: Any) -> Any:
    """What two JSON values share if and only if they are equal: 1 is 1.0, and true is not 1."""
    if isinstance(value, bool) or value is None:
        return ("constant", value)
    if isinstance(value, Mapping):
        return ("object", frozenset((name, key_of(item)) for name, item in value.items()))
    if isinstance(value, (list, tuple)):
        return ("array", tuple(map(key_of, value)))
    return value


class Document:
    """A schema without annotations, in which references are followed."""

    def __init__(self, bare: Any, *, draft_7: bool) -> None:
        self.root = bare
        self.draft_7 = draft_7
        self._followed: dict[str, Any] = {}
        self._allowed: dict[int, frozenset[Any] | None] = {}
        self._is_plain = not _has_own_names(bare)

    def follow(self, reference: str) -> Any:
        """The schema that a reference points to; None where that cannot be said."""
        if reference not in self._followed:
            self._followed[reference] = self._find(reference) if self._is_plain else None
        return self._followed[reference]

    def allowed(self, schema: dict[str, Any]) -> frozenset[Any] | None:
        """The only values that the schema's own `enum` and `const` leave, by `key_of`; None where they say nothing."""
        if id(schema) not in self._allowed:
            lists = [_constants({name: schema[name]}) for name in ("enum", "const") if name in schema]
            found = [one for one in lists if one is not None]
            self._allowed[id(schema)] = frozenset.intersection(*found) if found else None
        return self._allowed[id(schema)]

    def _find(self, reference: str) -> Any:
        if reference != "#" and not reference.startswith("#/"):
            return None
        here = self.root
        for step in unquote(reference[2:]).split("/") if len(reference) > 1 else ():
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(here, dict):
                here = here.get(step)
            else:
                here = (
                    here[int(step)] if isinstance(here, list) and step.isdecimal() and int(step) < len(here) else None
                )
        return here if isinstance(here, (dict, bool)) else None


_OWN_NAMES = ("$anchor", "$dynamicAnchor", "$dynamicRef")


def _has_own_names(bare: Any) -> bool:
    """Whether a schema inside changes what references mean."""
    waiting, at_root = [bare], True
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if ("$id" in item and not at_root) or not item.keys().isdisjoint(
                ("$anchor", "$dynamicAnchor", "$dynamicRef")
            ):
                return True
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        at_root = False
    return False


class Case(NamedTuple):
    """Members that all hold for a value of one of the types; `exact` where nothing else is asked of it."""

    members: tuple[Any, ...]
    types: frozenset[str]
    exact: bool

    def each(self, name: str) -> Iterator[Any]:
        """What the members say under a keyword."""
        return (member[name] for member in self.members if name in member)


class Inclusion:
    """One question: is every value that `narrow` accepts accepted by `wide`?

    Args:
        narrow, wide: the documents, of one draft.
        names_matter: whether a name of `narrow` that `wide` no longer has counts as no, though it would be accepted.
    """

    def __init__(self, narrow: Document, wide: Document, *, names_matter: bool = False) -> None:
        self._narrow = narrow
        self._wide = wide
        self._names_matter = names_matter
        self._left = MAX_STEPS
        self._depth = 0
        self._open: dict[tuple[tuple[int, ...], int], int] = {}

    def ask(self) -> Verdict:
        """The answer."""
        return self._included((self._narrow.root,), self._wide.root, (), 0)

    # -- from schemas to cases

    def _included(self, narrow: tuple[Any, ...], wide: Any, path: Path, level: int) -> Verdict:
        """Whether what all of `narrow` accept is accepted by `wide`; `level` grows with each step into the value."""
        self._left -= 1
        if self._left < 0 or self._depth > MAX_LEVEL:
            return _unknown(path, "the schema is too large to be compared")
        if wide is True or wide == {} or any(one is False for one in narrow):
            return YES
        if any(self._is_same(one, wide) for one in narrow):
            return YES
        pair = (tuple(map(id, narrow)), id(wide))
        if pair in self._open:
            return YES if level > self._open[pair] else _unknown(path, "a reference runs in a circle")
        self._open[pair] = level
        self._depth += 1
        try:
            return _all(self._case_of(case, wide, path, level) for case in self._cases(narrow))
        finally:
            self._depth -= 1
            del self._open[pair]

    def _case_of(self, case: Case, wide: Any, path: Path, level: int) -> Verdict:
        gone = self._gone(case, wide, path, level) if self._names_matter and "object" in case.types else YES
        verdict = self._holds(case, wide, path, level)
        if (
            wide is not False
            and verdict.state is not True
            and len(case.types) > 1
            and not wide.keys().isdisjoint(_BY_TYPE)
        ):
            one_by_one = (case._replace(types=frozenset((name,))) for name in sorted(case.types))
            verdict = _all(self._holds(one, wide, path, level) for one in one_by_one)
        return _all((gone, verdict))

    def _cases(self, schemas: tuple[Any, ...]) -> list[Case]:
        cases: list[tuple[list[Any], bool]] = [([], True)]
        for schema in schemas:
            cases = _product(cases, self._expand(schema, 0))
        found = []
        for members, exact in cases:
            types = ATOMS
            for member in members:
                types &= _types_of(member)
            if types:
                found.append(Case(tuple(members), types, exact))
        return found

    def _expand(self, schema: Any, hops: int) -> list[tuple[list[Any], bool]]:
        """A schema as members in cases, each with whether nothing is left out."""
        if isinstance(schema, bool):
            return [([], True)] if schema else []
        if hops > MAX_LEVEL:
            return [([], False)]
        exact = not any(name in schema for name in (*_BLIND, *_UNEVALUATED))
        cases: list[tuple[list[Any], bool]] = [([schema], exact)]
        if "$ref" in schema:
            target = self._narrow.follow(schema["$ref"])
            there = [([], False)] if target is None else self._expand(target, hops + 1)
            if self._narrow.draft_7:
                return there
            cases = _product(cases, there)
        for branch in schema.get("allOf", ()):
            cases = _product(cases, self._expand(branch, hops + 1))
        for name in ("anyOf", "oneOf"):
            if name in schema:
                branches = [self._expand(branch, hops + 1) for branch in schema[name]]
                either = [case for branch in branches for case in branch]
                if name == "oneOf" and not _are_disjoint(branches):
                    either = [(members, False) for members, _ in either]
                cases = _product(cases, either)
        return cases

    # -- one case

    def _holds(self, case: Case, wide: Any, path: Path, level: int, hops: int = 0) -> Verdict:
        """Whether every value of a case is accepted by `wide`."""
        self._left -= 1
        if self._left < 0 or hops > MAX_LEVEL:
            return _unknown(path, "the schema is too large to be compared")
        if isinstance(wide, bool):
            return YES if wide else _no(path, "nothing is accepted here", sure=case.exact)
        values = self._values(case)
        if values is not None:
            verdict = self._values_hold(values, wide, path, hops)
            if verdict.state is not None:
                return verdict
        if "$ref" in wide:
            target = self._wide.follow(wide["$ref"])
            if target is None:
                return _unknown(path, "a reference cannot be followed")
            there = self._holds(case, target, path, level, hops + 1)
            if self._wide.draft_7:
                return there
        else:
            there = YES
        return _all((there, *self._rules(case, wide, path, level, hops)))

    def _rules(self, case: Case, wide: dict[str, Any], path: Path, level: int, hops: int) -> Iterator[Verdict]:
        yield _type(case, wide, path)
        if "enum" in wide or "const" in wide:
            plain = case.exact and all(member.keys() <= {"type"} for member in case.members)
            yield _no((*path, "enum" if "enum" in wide else "const"), "only certain values are accepted", sure=plain)
        if case.types & {"integer", "fraction"}:
            yield from _numbers(case, wide, path)
        if "string" in case.types:
            yield from _strings(case, wide, path)
        if "format" in wide and wide["format"] not in case.each("format"):
            yield _unknown((*path, "format"), "another format is asked for")
        if "array" in case.types:
            yield from self._arrays(case, wide, path, level)
        if "object" in case.types:
            yield from self._objects(case, wide, path, level)
        for index, branch in enumerate(wide.get("allOf", ())):
            yield self._holds(case, branch, (*path, "allOf", index), level, hops + 1)
        for name in ("anyOf", "oneOf"):
            if name in wide:
                yield self._branches(case, name, wide[name], (*path, name), level, hops)
        for name in _BLIND:
            if name in wide and not self._has_same(case, name, wide):
                yield _unknown((*path, name), f"what {name} asks for is not compared")
        for name in _UNEVALUATED:
            if name in wide and wide[name] is not True:
                yield _unknown((*path, name), f"what {name} asks for is not compared")

    def _has_same(self, case: Case, name: str, wide: dict[str, Any]) -> bool:
        names = ("if", "then", "else") if name == "if" else (name,)
        asked = {name: wide[name] for name in names if name in wide}
        return any(
            self._is_same({name: member[name] for name in names if name in member}, asked) for member in case.members
        )

    def _branches(self, case: Case, name: str, branches: list[Any], path: Path, level: int, hops: int) -> Verdict:
        if any(self._is_same(one, branches) for one in case.each(name)):
            return YES
        verdicts = [self._holds(case, branch, (*path, index), level, hops + 1) for index, branch in enumerate(branches)]
        near = [n for n, branch in enumerate(branches) if not self._is_disjoint(case, branch)]
        for index, verdict in enumerate(verdicts):
            if verdict.state is True and (name == "anyOf" or near in ([index], [])):
                return YES
        if not near:
            return _no(path, "no branch accepts it", sure=case.exact)
        if len(near) == 1 and name == "anyOf":
            return verdicts[near[0]]
        if len(near) == 1 and verdicts[near[0]].state is False:
            return verdicts[near[0]]
        return _unknown(path, "the branches are not all compared")

    def _is_disjoint(self, case: Case, branch: Any) -> bool:
        """Whether no value of the case can be one of the branch: by their types, or by a constant that it requires."""
        branch = self._flat(branch)
        if not isinstance(branch, dict):
            return branch is False
        if not (case.types & _types_of(branch)):
            return True
        if case.types != {"object"}:
            return False
        for name in branch.get("required", ()):
            there = _constants(self._flat(branch.get("properties", {}).get(name)))
            here = [_constants(member.get("properties", {}).get(name)) for member in case.members]
            if there is not None and any(one is not None and one.isdisjoint(there) for one in here):
                return True
        return False

    def _flat(self, schema: Any) -> Any:
        for _ in range(MAX_LEVEL):
            if not isinstance(schema, dict) or "$ref" not in schema:
                return schema
            schema = self._wide.follow(schema["$ref"])
        return None

    # -- values that can be counted

    def _values(self, case: Case) -> list[tuple[Any, bool]] | None:
        """The only values of a case, each with whether it surely is one; None where they cannot be counted."""
        lists = [[member["const"]] for member in case.members if "const" in member]
        lists += [member["enum"] for member in case.members if "enum" in member]
        if case.types <= {"null", "boolean"}:
            lists.append([None, False, True])
        lists = [one for one in lists if len(one) <= MAX_VALUES]
        if not lists:
            return None
        found = []
        for value in min(lists, key=len):
            states = [self._accepts(self._narrow, member, value, 0) for member in case.members]
            if _atom_of(value) in case.types and False not in states:
                found.append((value, case.exact and None not in states))
        return found

    def _values_hold(self, values: list[tuple[Any, bool]], wide: Any, path: Path, hops: int) -> Verdict:
        verdicts = []
        for value, sure in values:
            state = self._accepts(self._wide, wide, value, hops)
            if state is not True:
                words = f"{_shown(value)} is no longer accepted"
                verdicts.append(_no(path, words, sure=sure) if state is False else _unknown(path, words))
        return _all(verdicts)

    def _accepts(self, document: Document, schema: Any, value: Any, hops: int) -> bool | None:
        """Whether one value is accepted; None where it takes a validator to say."""
        self._left -= 1
        if self._left < 0 or hops > MAX_LEVEL:
            return None
        if isinstance(schema, bool):
            return schema
        states: list[bool | None] = [_accepts_plain(schema, value, document.allowed(schema))]
        if "$ref" in schema:
            target = document.follow(schema["$ref"])
            state = None if target is None else self._accepts(document, target, value, hops + 1)
            if document.draft_7:
                return state
            states.append(state)
        for name in _HERE:
            if name in schema:
                branches = [self._accepts(document, branch, value, hops + 1) for branch in schema[name]]
                states.append(_combined(name, branches))
        if "not" in schema:
            state = self._accepts(document, schema["not"], value, hops + 1)
            states.append(None if state is None else not state)
        return _combined("allOf", states)

    # -- arrays and objects

    def _arrays(self, case: Case, wide: dict[str, Any], path: Path, level: int) -> Iterator[Verdict]:
        yield from _counts(case, wide, path, "minItems", "maxItems")
        most = min(case.each("maxItems"), default=math.inf)
        if wide.get("uniqueItems") is True and True not in case.each("uniqueItems") and most > 1:
            yield _no((*path, "uniqueItems"), "items must differ from one another", sure=case.exact)
        mine = [_items(member, draft_7=self._narrow.draft_7) for member in case.members]
        first, rest = _items(wide, draft_7=self._wide.draft_7)
        length = max([len(first), *(len(one.first) for one in mine)])
        for index in range(min(length, MAX_VALUES)):
            if index < most:
                asked = first[index] if index < len(first) else rest
                yield self._included(tuple(one.at(index) for one in mine), asked, (*path, index), level + 1)
        if most > length:
            yield self._included(tuple(one.rest for one in mine), rest, (*path, "items"), level + 1)
        if "contains" in wide:
            names = ("contains", "minContains", "maxContains")
            asked = {name: wide[name] for name in names if name in wide}
            mine_too = ({name: member[name] for name in names if name in member} for member in case.members)
            if not any(self._is_same(one, asked) for one in mine_too):
                yield _unknown((*path, "contains"), "what contains asks for is not compared")

    def _objects(self, case: Case, wide: dict[str, Any], path: Path, level: int) -> Iterator[Verdict]:
        required = {name for names in case.each("required") for name in names}
        for name in wide.get("required", ()):
            if name not in required:
                yield _no((*path, name), "it is required", sure=case.exact)
        yield from _counts(case, wide, path, "minProperties", "maxProperties", least=len(required), most=_most(case))
        asked = wide.get("properties", {})
        patterns = wide.get("patternProperties", {})
        for name, schema in asked.items():
            yield self._named(case, name, schema, path, level)
        for pattern, schema in patterns.items():
            mine = tuple(one[pattern] for one in case.each("patternProperties") if pattern in one)
            if schema not in (True, {}) and not (mine and self._included(mine, schema, path, level + 1).state):
                yield _unknown((*path, "patternProperties"), "names of another pattern are asked for")
        if wide.get("additionalProperties", True) not in (True, {}):
            yield from self._others(case, wide, path, level)
        if wide.get("propertyNames", True) not in (True, {}):
            text = {"type": "string"}
            mine = (text, *case.each("propertyNames"))
            verdict = self._included(mine, wide["propertyNames"], (*path, "propertyNames"), level + 1)
            yield verdict if verdict.state else verdict._replace(state=None)

    def _named(self, case: Case, name: str, schema: Any, path: Path, level: int) -> Verdict:
        """A name that the wider schema speaks of."""
        known, is_vague = _known_of(case, name)
        if not known:
            if schema in (True, {}):
                return YES
            return _unknown((*path, name), "an open object took anything here, and takes certain values now")
        verdict = self._included(known, schema, (*path, name), level + 1)
        return verdict._replace(state=None) if verdict.state is False and is_vague else verdict

    def _others(self, case: Case, wide: dict[str, Any], path: Path, level: int) -> Iterator[Verdict]:
        """Names that the wider schema does not speak of, where it does not take everything under them."""
        others, patterns = wide["additionalProperties"], wide.get("patternProperties", {})
        for name in _names(case):
            if name not in wide.get("properties", {}):
                known, is_vague = _known_of(case, name)
                verdict = self._included(known or (True,), others, (*path, name), level + 1)
                if verdict.state is False and others is False:
                    verdict = _no((*path, name), "it is gone")
                is_vague = is_vague or bool(patterns)
                yield verdict._replace(state=None) if verdict.state is False and is_vague else verdict
        for one in case.each("patternProperties"):
            for pattern, schema in one.items():
                if pattern not in patterns:
                    verdict = self._included((schema,), others, (*path, "patternProperties"), level + 1)
                    yield verdict if verdict.state else verdict._replace(state=None)
        verdict = self._included((True, *case.each("additionalProperties")), others, (*path, "*"), level + 1)
        if verdict.state is False:
            verdict = _no((*path, "additionalProperties"), "other names are no longer accepted", sure=case.exact)
        yield verdict

    def _gone(self, case: Case, wide: Any, path: Path, level: int) -> Verdict:
        """Names that callers knew and that the wider schema, though it takes them, does not speak of."""
        names: set[str] = set()
        if not self._collect(wide, names, 0) or not (names or level == 0):
            return YES
        mine = (name for name in _names(case) if name not in names and False not in _known_of(case, name)[0])
        return _all(_no((*path, name), "it is gone") for name in mine)

    def _collect(self, schema: Any, names: set[str], hops: int) -> bool:
        """Gather the names that a schema speaks of; False where it speaks of names otherwise than one by one."""
        if not isinstance(schema, dict):
            return True
        if hops > MAX_LEVEL or schema.get("patternProperties") or isinstance(schema.get("additionalProperties"), dict):
            return False
        names.update(schema.get("properties", ()))
        inner = [branch for name in _HERE for branch in schema.get(name, ())]
        inner += [schema[name] for name in ("then", "else") if name in schema]
        inner += schema.get("dependentSchemas", {}).values()
        if "$ref" in schema:
            inner.append(self._wide.follow(schema["$ref"]))
        return all(one is not None and self._collect(one, names, hops + 1) for one in inner)

    # -- the same in other words

    def _is_same(self, one: Any, other: Any) -> bool:
        """Whether both say the same to the letter, what they refer to included."""
        seen: set[tuple[int, int]] = set()
        waiting = [(one, other)]
        while waiting:
            one, other = waiting.pop()
            self._left -= 1
            if self._left < 0:
                return False
            if isinstance(one, dict) and isinstance(other, dict):
                names = one.keys() - {"$defs", "definitions"}
                if names != other.keys() - {"$defs", "definitions"} or "$dynamicRef" in names:
                    return False
                if (id(one), id(other)) not in seen:
                    seen.add((id(one), id(other)))
                    waiting += [(one[name], other[name]) for name in names]
                    if "$ref" in names:
                        waiting.append(
                            (self._target(self._narrow, one["$ref"]), self._target(self._wide, other["$ref"]))
                        )
            elif isinstance(one, list) and isinstance(other, list):
                if len(one) != len(other):
                    return False
                waiting += zip(one, other, strict=True)
            elif _scalar(one) != _scalar(other):
                return False
        return True

    def _target(self, document: Document, reference: Any) -> Any:
        """What a reference points to; where that cannot be said, what is like nothing else."""
        target = document.follow(reference) if isinstance(reference, str) else reference
        return object() if target is None else target


def _scalar(value: Any) -> Any:
    """What two values share that are not containers and are equal; containers are like nothing."""
    return object() if isinstance(value, (dict, list)) else key_of(value)


def _product(cases: list[tuple[list[Any], bool]], more: list[tuple[list[Any], bool]]) -> list[tuple[list[Any], bool]]:
    """Every case with each of the others; where they are too many, what the others ask is left out."""
    if len(cases) * len(more) > MAX_CASES:
        return [(members, False) for members, _ in cases]
    return [(one + two, a and b) for one, a in cases for two, b in more]


def _are_disjoint(branches: list[list[tuple[list[Any], bool]]]) -> bool:
    """Whether no two branches share a type."""
    seen: frozenset[str] = frozenset()
    for cases in branches:
        types: frozenset[str] = frozenset()
        for members, _ in cases:
            here = ATOMS
            for member in members:
                here &= _types_of(member)
            types |= here
        if seen & types:
            return False
        seen |= types
    return True


def _types_of(schema: Any) -> frozenset[str]:
    """The types that a value of the schema can have, by its own `type`, `enum` and `const`."""
    if not isinstance(schema, dict):
        return ATOMS if schema is not False else frozenset()
    types = ATOMS
    if "type" in schema:
        stated = schema["type"]
        types = frozenset().union(*(_ATOMS_OF[name] for name in ([stated] if isinstance(stated, str) else stated)))
    if "const" in schema:
        types &= {_atom_of(schema["const"])}
    if "enum" in schema:
        types &= frozenset(map(_atom_of, schema["enum"]))
    return types


def _atom_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "fraction"
    return "string" if isinstance(value, str) else "object" if isinstance(value, Mapping) else "array"


def _constants(schema: Any) -> frozenset[Any] | None:
    if not isinstance(schema, dict):
        return None
    if "const" in schema:
        return frozenset((key_of(schema["const"]),))
    return frozenset(map(key_of, schema["enum"])) if "enum" in schema else None


def _combined(name: str, states: list[bool | None]) -> bool | None:
    """What `allOf`, `anyOf` or `oneOf` make of what their branches say."""
    if name == "allOf":
        return False if False in states else None if None in states else True
    if name == "anyOf":
        return True if True in states else None if None in states else False
    sure = states.count(True)
    return False if sure > 1 else None if None in states else sure == 1


_JUDGED = frozenset((
    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
    "$ref", *_HERE, "not", "$defs", "definitions", "$schema", "$id", "required",
))  # fmt: skip
_OF_STRINGS = frozenset(("minLength", "maxLength", "pattern"))
_OF_NUMBERS = frozenset(_NUMBERS)
_OF_ARRAYS = frozenset((
    "items", "prefixItems", "additionalItems", "contains", "minContains", "maxContains", "minItems", "maxItems",
    "uniqueItems", "unevaluatedItems",
))  # fmt: skip
_OF_OBJECTS = frozenset((
    "properties", "patternProperties", "additionalProperties", "propertyNames", "required", "minProperties",
    "maxProperties", "dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties",
))  # fmt: skip


def _accepts_plain(schema: dict[str, Any], value: Any, allowed: frozenset[Any] | None) -> bool | None:
    """What the keywords say that need no subschema; None where others would have a say."""
    atom = _atom_of(value)
    if atom not in _types_of({name: schema[name] for name in ("type",) if name in schema}):
        return False
    if allowed is not None and key_of(value) not in allowed:
        return False
    if atom in ("integer", "fraction"):
        low, high = _bound((schema,), 1), _bound((schema,), -1)
        if not ((value, 0) >= low and (-value, 0) >= high):
            return False
    elif atom == "string":
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf):
            return False
    elif atom == "object" and not value.keys() >= set(schema.get("required", ())):
        return False
    moot: frozenset[str] = frozenset()
    for names, atoms in (
        (_OF_STRINGS, ("string",)), (_OF_NUMBERS, ("integer", "fraction")), (_OF_ARRAYS, ("array",)),
        (_OF_OBJECTS, ("object",)),
    ):  # fmt: skip
        if atom not in atoms:
            moot |= names
    return True if schema.keys() <= _JUDGED | moot else None


def _type(case: Case, wide: dict[str, Any], path: Path) -> Verdict:
    missing = case.types - _types_of({"type": wide["type"]}) if "type" in wide else frozenset()
    if not missing:
        return YES
    sure = case.exact and not (missing == {"fraction"} and any(True for _ in case.each("multipleOf")))
    names = " or ".join(sorted("number" if name == "fraction" else name for name in missing))
    return _no(path, f"{names} is no longer accepted", sure=sure)


def _bound(members: Iterable[Any], sign: int, *, whole: bool = False) -> tuple[float, int]:
    """The lower bound (`sign` 1), or the upper one with its sign turned (-1), and 1 where it is itself left out. Of
    whole numbers it is the first that is accepted."""
    inclusive, exclusive = ("minimum", "exclusiveMinimum") if sign > 0 else ("maximum", "exclusiveMaximum")
    best: tuple[float, int] = (-math.inf, 0)
    for member in members:
        for name, left_out in ((inclusive, 0), (exclusive, 1)):
            if name in member:
                bound: tuple[float, int] = (sign * member[name], left_out)
                if whole and math.isfinite(bound[0]):
                    bound = (math.floor(bound[0]) + 1 if left_out else math.ceil(bound[0]), 0)
                best = max(best, bound)
    return best


def _numbers(case: Case, wide: dict[str, Any], path: Path) -> Iterator[Verdict]:
    whole = "fraction" not in case.types
    for sign, name in ((1, "minimum"), (-1, "maximum")):
        mine, asked = _bound(case.members, sign, whole=whole), _bound((wide,), sign, whole=whole)
        if mine < asked:
            yield _no((*path, name), f"the {name} is tighter", sure=case.exact)
    if "multipleOf" in wide:
        step, mine_too = wide["multipleOf"], list(case.each("multipleOf"))
        is_whole = all(isinstance(one, int) for one in (step, *mine_too))
        if not (step in mine_too or (whole and step == 1) or (is_whole and any(one % step == 0 for one in mine_too))):
            sure = case.exact and not mine_too and not any(True for name in _NUMBERS for _ in case.each(name))
            yield _no((*path, "multipleOf"), "only certain multiples are accepted", sure=sure)


def _counts(
    case: Case, wide: dict[str, Any], path: Path, low: str, high: str, *, least: float = 0, most: float = math.inf
) -> Iterator[Verdict]:
    least, most = max(least, *case.each(low), 0), min(most, *case.each(high), math.inf)
    if wide.get(low, 0) > least:
        yield _no((*path, low), f"{low} is tighter", sure=case.exact)
    if wide.get(high, math.inf) < most:
        yield _no((*path, high), f"{high} is tighter", sure=case.exact)


def _strings(case: Case, wide: dict[str, Any], path: Path) -> Iterator[Verdict]:
    for verdict in _counts(case, wide, path, "minLength", "maxLength"):
        yield verdict._replace(state=None) if any(True for _ in case.each("pattern")) else verdict
    pattern = wide.get("pattern", "")
    if pattern and pattern not in case.each("pattern"):
        is_new = not any(True for _ in case.each("pattern"))
        sure = case.exact and is_new and any(one.isalnum() for one in pattern)
        yield _no((*path, "pattern"), "another pattern is asked for", sure=sure)


class _Items(NamedTuple):
    first: list[Any]
    rest: Any

    def at(self, index: int) -> Any:
        return self.first[index] if index < len(self.first) else self.rest


def _items(schema: dict[str, Any], *, draft_7: bool) -> _Items:
    if not draft_7:
        return _Items(schema.get("prefixItems", []), schema.get("items", True))
    items = schema.get("items", True)
    return _Items(items, schema.get("additionalItems", True)) if isinstance(items, list) else _Items([], items)


def _names(case: Case) -> list[str]:
    return list(dict.fromkeys(name for properties in case.each("properties") for name in properties))


def _known_of(case: Case, name: str) -> tuple[tuple[Any, ...], bool]:
    """What a case says of the value under a name; and whether a pattern may say more."""
    known: list[Any] = []
    is_vague = not case.exact
    for member in case.members:
        is_vague = is_vague or bool(member.get("patternProperties"))
        if name in member.get("properties", ()):
            known.append(member["properties"][name])
        elif "additionalProperties" in member and not member.get("patternProperties"):
            known.append(member["additionalProperties"])
    return tuple(known), is_vague


def _most(case: Case) -> float:
    """How many properties a closed object can have."""
    closed = [
        len(member.get("properties", ()))
        for member in case.members
        if member.get("additionalProperties") is False and not member.get("patternProperties")
    ]
    return min(closed, default=math.inf)


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
