"""Whether every value that one JSON Schema accepts is accepted by another: yes, no, or not to be decided.

A dozen rules, one for each kind of keyword (`_RULES`), say what in the newer schema may refuse a value that the older
accepts. Where none has anything to say the answer is yes. Each rule is sound by itself: it holds one keyword of the
newer schema against keywords of the older that imply it. What of the older it overlooks would only narrow that one
further. A keyword without a rule is not compared, and the answer is "not to be decided".

No is said where a rule finds less accepted than was, and the older schema has nothing at that place but keywords that
the rules read (`_READ`); schemas that no value fits are not looked for.

Schemas come without annotations (`documents.split`) and without faults (`pegboard.schema.check`): no schema is in
itself at one place of a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from pegboard.schema import are_equal as same
from pegboard.schema import faults_of_value as explain
from pegboard.schema import search_pattern as search
from pegboard.schema.jsontext import count_nodes
from pegboard_mcp.lock.documents import INERT, Document, Path, Schema

MAX_STEPS = 20_000
"""How many pairs of schemas are looked at."""
MAX_VALUES = 2_000
MAX_NOTES = 12
TOO_LARGE = "the schema is too large to be compared"

_TYPES = ("null", "boolean", "integer", "fraction", "string", "array", "object")
"""What is looked at one by one; numbers that are not integers are a type of their own."""
_NUMBERS, _TEXTS, _ARRAYS, _OBJECTS = ("integer", "fraction"), ("string",), ("array",), ("object",)
_ITEMS = ("items", "prefixItems", "additionalItems")
_BRANCHES = ("allOf", "anyOf", "oneOf")
_READ = frozenset((
    "type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", *_ITEMS, "minItems",
    "maxItems", "uniqueItems", "required", "properties", "additionalProperties", "minProperties", "maxProperties",
    *INERT,
))  # fmt: skip
"""Where the older schema has no other keywords, whatever a rule finds refused was accepted."""
_LISTED = INERT | {"type", "enum", "const"}
"""The same, where its values can be counted."""


class Note(NamedTuple):
    """What may refuse a value that was accepted: where in the schema, and what; `is_sure` where it does."""

    path: Path
    words: str
    is_sure: bool = False


class Verdict(NamedTuple):
    """Yes (True), no (False), or not to be decided (None); and why not yes."""

    state: bool | None
    notes: tuple[Note, ...] = ()


class Inclusion:
    """One question: is every value that `narrow` accepts accepted by `wide`?

    Args:
        narrow, wide: the documents, of one draft.
        names_matter: whether a property that `wide` takes and no longer names is gone for those who use it.
    """

    def __init__(self, narrow: Document, wide: Document, *, names_matter: bool = False) -> None:
        self._narrow = narrow
        self._wide = wide
        self._names_matter = names_matter
        self._left = MAX_STEPS
        self._held: dict[tuple[int, int], None] = {}
        self._references_agree = not narrow.references or (
            all(one.startswith(("#/$defs/", "#/definitions/")) for one in narrow.references)
            and same(narrow.definitions, wide.definitions)
        )

    def ask(self) -> Verdict:
        """The answer."""
        if same(self._narrow.root, self._wide.root):
            return Verdict(True)
        if self._narrow.has_own_names or self._wide.has_own_names:
            return Verdict(None, (Note((), "a schema inside has a name of its own, which is not compared"),))
        notes = self._included(self._narrow.root, self._wide.root, ())
        sure = [note for note in notes if note.is_sure]
        shown = tuple(islice(dict.fromkeys(sure or notes), MAX_NOTES))
        return Verdict(False if sure else None if notes else True, shown)

    def _included(self, old: Schema, new: Schema, path: Path) -> list[Note]:
        """What in `new` may refuse a value that `old` accepts; nothing where it surely refuses none."""
        old, new = self._narrow.resolved(old), self._wide.resolved(new)
        if self._is_spent():
            return [Note(path, TOO_LARGE)]
        if old is False or (_is_anything(new) and path):
            return []
        # What is being looked at, one place higher in the value, holds if the rest does (Amadio and Cardelli, Subtyping
        # Recursive Types, 1993). Where it does not, what was built on it since does not count.
        size, pair = len(self._held), (id(old), id(new))
        if pair in self._held:
            return []
        self._held[pair] = None
        notes = [note for kind in _types_of(old) for note in self._of_type(kind, old, new, path)]
        if notes:
            notes = self._of_parts(old, new, path, notes)
        while notes and len(self._held) > size:
            self._held.popitem()
        return notes

    def _of_parts(self, old: dict[str, Any], new: Schema, path: Path, notes: list[Note]) -> list[Note]:
        """The same, where the older schema is put together: of all branches, or of any part that always holds."""
        if not (old.keys() <= _READ or old.keys() <= _LISTED):
            notes = _unsure(notes)
        for name in ("anyOf", "oneOf"):
            if name in old:
                notes = [note for branch in old[name] for note in self._included(branch, new, path)]
                if not old.keys() <= {name} | INERT or name == "oneOf":
                    notes = _unsure(notes)
        target = self._narrow.follow(old["$ref"]) if "$ref" in old else None
        parts = [*old.get("allOf", ()), *([] if target is None else [target])]
        return notes if all(self._included(part, new, path) for part in parts) else []

    def _of_type(self, kind: str, old: dict[str, Any], new: Schema, path: Path) -> list[Note]:
        """The same for values of one type: what each keyword that has a say in them may refuse."""
        new = self._wide.resolved(new)
        if self._is_spent():
            return [Note(path, TOO_LARGE)]
        if new is False or kind not in _named_types(new):
            return [Note(path, f"{'number' if kind == 'fraction' else kind} is no longer accepted", True)]
        values, notes = _values_of(kind, old), []
        for name in (one for one in new if one not in INERT):
            kinds, rule = _RULES.get(name, _NO_RULE)
            if kind not in kinds:
                continue
            if values is not None and name in _ALONE:
                notes += self._of_values(values, {name: new[name]}, path)
            else:
                notes += rule(self, _Place(kind, old, new, path, name))
        return notes + (self._gone(old, new, path) if kind == "object" and self._names_matter else [])

    def _of_values(self, values: list[Any], new: dict[str, Any], path: Path) -> list[Note]:
        """Values that can be counted: each is held against a keyword that needs no other."""
        self._left -= len(values) // 10
        if len(values) > MAX_VALUES or self._left < 0:
            return [Note(path, TOO_LARGE)]
        refused = (ascii(value) for value in values if explain(new, value))
        short = (text if len(text) <= 60 else f"{text[:57]}..." for text in refused)
        return [Note(path, f"{text} is no longer accepted", True) for text in short]

    def _is_spent(self) -> bool:
        self._left -= 1
        return self._left < 0

    def _is_same(self, one: Any, other: Any) -> bool:
        """Whether two pieces of the schemas say the same to the letter, what they refer to included."""
        self._left -= count_nodes(one, MAX_STEPS)
        return self._left >= 0 and self._references_agree and same(one, other)

    # -- the rules: what a keyword of the newer schema may refuse

    def _values(self, at: _Place) -> list[Note]:
        return [at.note("only certain values are accepted", sure=at.old.keys() <= {"type"})]

    def _bound(self, at: _Place) -> list[Note]:
        sign, side = (1, "minimum") if at.name in ("minimum", "exclusiveMinimum") else (-1, "maximum")
        whole = at.kind == "integer"
        tighter = _limit(at.old, sign, whole=whole) < _limit({at.name: at.asked}, sign, whole=whole)
        return [at.note(f"the {side} is tighter", side)] if tighter else []

    def _multiple(self, at: _Place) -> list[Note]:
        step, mine = at.asked, at.old.get(at.name)
        if mine == step or (at.kind == "integer" and step == 1):
            return []
        if isinstance(step, int) and isinstance(mine, int) and mine % step == 0:
            return []
        return [at.note("only certain multiples are accepted", sure=at.old.keys() <= {"type"})]

    def _size(self, at: _Place) -> list[Note]:
        is_least = at.name.startswith("min")
        mine = at.old.get(at.name, 0 if is_least else math.inf)
        return [at.note(f"{at.name} is tighter")] if (mine < at.asked if is_least else mine > at.asked) else []

    def _pattern(self, at: _Place) -> list[Note]:
        if at.asked == at.old.get(at.name):
            return []
        is_refusing = any(search(at.asked, text) is False for text in ("", "~"))
        return [at.note("another pattern is asked for", sure=is_refusing)]

    def _unique(self, at: _Place) -> list[Note]:
        is_new = at.asked is True and at.old.get(at.name) is not True and at.old.get("maxItems", 2) > 1
        return [at.note("items must differ from one another")] if is_new else []

    def _items(self, at: _Place) -> list[Note]:
        (mine, my_rest), (asked, rest) = self._narrow.items(at.old), self._wide.items(at.new)
        length = max(len(mine), len(asked))
        notes: list[Note] = []
        for n in range(length + 1) if at.name == next(one for one in at.new if one in _ITEMS) else ():
            if n < at.old.get("maxItems", math.inf):
                old, new = (mine[n] if n < len(mine) else my_rest), (asked[n] if n < len(asked) else rest)
                notes += self._included(old, new, (*at.path, n if n < length else "items"))
        return notes

    def _required(self, at: _Place) -> list[Note]:
        required = at.old.get("required", ())
        return [Note((*at.path, name), "it is required", True) for name in at.asked if name not in required]

    def _properties(self, at: _Place) -> list[Note]:
        notes: list[Note] = []
        for name, schema in at.asked.items():
            under = _under(at.old, name)
            if not _is_anything(under) or name in at.old.get("properties", ()):
                notes += self._included(under, schema, (*at.path, name))
            elif not _is_anything(schema):
                words = "an open object took anything here, and takes certain values now"
                notes.append(Note((*at.path, name), words))
        return notes

    def _others(self, at: _Place) -> list[Note]:
        """Names that the newer schema does not speak of."""
        if _is_anything(at.asked):
            return []
        notes: list[Note] = []
        named = at.new.get("properties", ())
        for name in (one for one in at.old.get("properties", ()) if one not in named):
            found = self._included(_under(at.old, name), at.asked, (*at.path, name))
            notes += [Note((*at.path, name), "it is gone", True)] if found and at.asked is False else found
        for pattern, schema in at.old.get("patternProperties", {}).items():
            if pattern not in at.new.get("patternProperties", ()):
                notes += self._included(schema, at.asked, (*at.path, pattern))
        found = self._included(at.old.get(at.name, True), at.asked, (*at.path, "*"))
        found = [at.note("other names are no longer accepted")] if found and at.asked is False else found
        return _unsure([*notes, *found]) if "patternProperties" in at.new else [*notes, *found]

    def _patterns(self, at: _Place) -> list[Note]:
        mine, asked = at.old.get(at.name, {}), at.asked.items()
        found = (self._included(mine.get(one, True), schema, (*at.path, one)) for one, schema in asked)
        return [at.note("names of another pattern are asked for", sure=False)] if any(found) else []

    def _gone(self, old: Schema, new: Schema, path: Path) -> list[Note]:
        """Names that callers knew and that the newer schema, though it takes them, does not speak of."""
        named = new.get("properties", {})
        if not (named or not path) or not _is_anything(new.get("additionalProperties", True)):
            return []
        beside = {*_BRANCHES, "$ref", "if", "dependentSchemas", "patternProperties"}  # which may speak of it
        sure = beside.isdisjoint((*new, *path[-2:]))
        gone = (name for name, schema in old.get("properties", {}).items() if name not in named and schema is not False)
        return [Note((*path, name), "it is gone", sure) for name in gone]

    def _all(self, at: _Place) -> list[Note]:
        parts = enumerate(at.asked)
        return [note for n, part in parts for note in self._of_type(at.kind, at.old, part, (*at.path, at.name, n))]

    def _reference(self, at: _Place) -> list[Note]:
        target = self._wide.follow(at.asked)
        if target is None:
            return [at.note("a reference cannot be followed", sure=False)]
        return self._of_type(at.kind, at.old, target, (*at.path, at.name))

    def _branches(self, at: _Place) -> list[Note]:
        """One branch accepts all; of `oneOf` no other may accept any."""
        if not self._alike(at):
            return []
        near = [n for n, branch in enumerate(at.asked) if at.kind in _types_of(self._wide.resolved(branch))]
        found = [self._of_type(at.kind, at.old, at.asked[n], (*at.path, at.name, n)) for n in near]
        if len(near) == 1:
            return found[0]
        if at.name == "anyOf" and not all(found):
            return []
        return [at.note("the branches are not all compared", sure=False)] if near else [at.note("no branch accepts it")]

    def _alike(self, at: _Place) -> list[Note]:
        """A keyword that is held against its like alone: what it means for others is not looked into."""
        names = next((group for group in _TOGETHER if at.name in group), (at.name,))
        mine, asked = ({name: one[name] for name in names if name in one} for one in (at.old, at.new))
        return [] if self._is_same(mine, asked) else self._not_compared(at)

    def _not_compared(self, at: _Place) -> list[Note]:
        """A keyword that depends on all others."""
        if self._is_same(at.old, at.new):
            return []
        return [at.note(f"what {at.name} asks for is not compared", sure=False)]


class _Place(NamedTuple):
    """Where a rule stands: for values of which type, in which schemas, at which keyword of the newer."""

    kind: str
    old: dict[str, Any]
    new: dict[str, Any]
    path: Path
    name: str

    @property
    def asked(self) -> Any:
        return self.new[self.name]

    def note(self, words: str, name: str | None = None, *, sure: bool = True) -> Note:
        return Note((*self.path, name or self.name), words, sure)


Rule = Callable[[Inclusion, _Place], list[Note]]
_TOGETHER = (("if", "then", "else"), ("contains", "minContains", "maxContains"))
_ALONE = frozenset((
    "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
    "maxLength", "minItems", "maxItems", "uniqueItems", "required", "minProperties", "maxProperties",
))  # fmt: skip
"""Keywords that say by themselves whether a value is accepted."""
_NO_RULE: tuple[tuple[str, ...], Rule] = (_TYPES, Inclusion._not_compared)
_RULES: dict[str, tuple[tuple[str, ...], Rule]] = {
    "type": ((), Inclusion._not_compared),  # looked at before all others
    **dict.fromkeys(("enum", "const"), (_TYPES, Inclusion._values)),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), (_NUMBERS, Inclusion._bound)),
    "multipleOf": (_NUMBERS, Inclusion._multiple),
    **dict.fromkeys(("minLength", "maxLength"), (_TEXTS, Inclusion._size)),
    **dict.fromkeys(("minItems", "maxItems"), (_ARRAYS, Inclusion._size)),
    **dict.fromkeys(("minProperties", "maxProperties"), (_OBJECTS, Inclusion._size)),
    "pattern": (_TEXTS, Inclusion._pattern),
    "uniqueItems": (_ARRAYS, Inclusion._unique),
    **dict.fromkeys(_ITEMS, (_ARRAYS, Inclusion._items)),
    "required": (_OBJECTS, Inclusion._required),
    "properties": (_OBJECTS, Inclusion._properties),
    "additionalProperties": (_OBJECTS, Inclusion._others),
    "patternProperties": (_OBJECTS, Inclusion._patterns),
    "allOf": (_TYPES, Inclusion._all),
    **dict.fromkeys(("anyOf", "oneOf"), (_TYPES, Inclusion._branches)),
    "$ref": (_TYPES, Inclusion._reference),
    **dict.fromkeys(("not", "if", "then", "else"), (_TYPES, Inclusion._alike)),
    "format": ((*_NUMBERS, *_TEXTS), Inclusion._alike),
    **dict.fromkeys(("contains", "minContains", "maxContains"), (_ARRAYS, Inclusion._alike)),
    **dict.fromkeys(("propertyNames", "dependencies"), (_OBJECTS, Inclusion._alike)),
    **dict.fromkeys(("dependentRequired", "dependentSchemas"), (_OBJECTS, Inclusion._alike)),
    "unevaluatedItems": (_ARRAYS, Inclusion._not_compared),
    "unevaluatedProperties": (_OBJECTS, Inclusion._not_compared),
}
"""Of each keyword the types that it has a say in, and its rule."""


def _unsure(notes: Iterable[Note]) -> list[Note]:
    return [note._replace(is_sure=False) for note in notes]


def _is_anything(schema: Schema) -> bool:
    return schema is True or (isinstance(schema, dict) and schema.keys() <= INERT)


def _named_types(schema: dict[str, Any]) -> list[str]:
    """The types that `type` allows."""
    stated = schema.get("type", _TYPES)
    names = {stated} if isinstance(stated, str) else set(stated)
    return [name for name in _TYPES if name in names or (name in _NUMBERS and "number" in names)]


def _types_of(schema: Schema) -> list[str]:
    """The types that a value can have, by `type`, `enum` and `const`."""
    return [name for name in _named_types(schema) if _values_of(name, schema) != []] if schema is not False else []


def _values_of(kind: str, schema: dict[str, Any]) -> list[Any] | None:
    """The only values of a type that a schema leaves; None where they cannot be counted."""
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    if listed is None:
        return [None] if kind == "null" else [False, True] if kind == "boolean" else None
    return [value for value in listed if _type_of(value) == kind]


def _type_of(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float)):
        return "integer" if isinstance(value, int) or value.is_integer() else "fraction"
    return "string" if isinstance(value, str) else "object" if isinstance(value, Mapping) else "array"


def _limit(schema: dict[str, Any], sign: int, *, whole: bool) -> tuple[float, bool]:
    """The lower bound (`sign` 1), or the upper one with its sign turned (-1), and whether it is itself left out. Of
    whole numbers it is the first that is accepted."""
    inclusive, exclusive = ("minimum", "exclusiveMinimum") if sign > 0 else ("maximum", "exclusiveMaximum")
    limits: list[tuple[float, bool]] = [(-math.inf, False)]
    if inclusive in schema:
        limit = sign * schema[inclusive]
        limits.append((math.ceil(limit) if whole else limit, False))
    if exclusive in schema:
        limit = sign * schema[exclusive]
        limits.append((math.floor(limit) + 1, False) if whole else (limit, True))
    return max(limits)


def _under(schema: dict[str, Any], name: str) -> Schema:
    """What an object asks of the value under a name, or less."""
    if name in schema.get("properties", ()):
        return schema["properties"][name]
    return True if schema.get("patternProperties") else schema.get("additionalProperties", True)
