"""Schemas of strangers: read into JSON Schema 2020-12, cleaned, loosened for answers, and fitted into a budget of bytes.

What comes out of `convert` holds known keywords alone, each with a value of its shape, so it is a valid schema; texts are
sanitised, patterns are those that the core can search for, references are what `refer` made of them. What `fit` and
`loosen` return accepts every value that the schema they were given accepts: a part is only ever replaced by one that
accepts more, and where that would accept less (under `not`, in `oneOf`, beside `unevaluatedProperties`) the keyword goes or
becomes a wider one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal

from pegboard.schema.keywords import DRAFT_2020, FORMATS, KEYWORDS, TYPES
from pegboard.schema.patterns import ForeignPatternError, PatternError, compiled
from pegboard_manifest.hygiene import sanitise

Json = Any
Dialect = Literal["swagger 2", "openapi 3.0", "2020-12"]

MAX_DEPTH = 30
"""Levels of a schema that are read; what is deeper says nothing."""
MAX_TEXT = 1_000
MAX_VALUE_BYTES = 1_000
MAX_ENUM = 1_000
MAX_NAME = 256
DEFS = "#/$defs/"

_TYPE_ALIASES = {
    "int": "integer",
    "int32": "integer",
    "int64": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "decimal": "number",
    "str": "string",
    "text": "string",
    "char": "string",
    "date": "string",
    "datetime": "string",
    "date-time": "string",
    "uuid": "string",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "json": "object",
    "list": "array",
}
_SKIPPED = frozenset(("$schema", "$id", "$comment", "$vocabulary", "$defs", "definitions", "contentSchema", "$ref", "type"))
_ANNOTATIONS = frozenset(("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"))
_APPLICATORS = frozenset(("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const", "$ref"))
_DROP: Any = object()


class UnusableError(Exception):
    """A part of a document that no tool can be made of; the message says why, and costs that part alone."""


class Work:
    """A bound on what one discovery may convert, in schema nodes: a small document may name a large part often."""

    def __init__(self, limit: int = 6_000_000) -> None:
        self.left = limit

    def spend(self, count: int = 1) -> None:
        self.left -= count
        if self.left < 0:
            raise UnusableError("the document unfolds into more than is read")


def canonical(value: Json) -> str:
    """One text for one value, whatever the order of its keys."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def size_of(value: Json) -> int:
    """Bytes of a value as compact JSON in UTF-8."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


# Reading ---------------------------------------------------------------------------------------------------------------


def no_reference(ref: str) -> Json:
    """A `refer` for schemas that have to stand alone."""
    if ref.startswith(DEFS):
        return {"$ref": ref}
    raise UnusableError(f"the reference {sanitise(ref, 60, one_line=True)!r} points outside")


def convert(
    schema: Json,
    *,
    dialect: Dialect = "2020-12",
    refer: Callable[[str], Json] = no_reference,
    answers: bool = False,
    notes: list[str] | None = None,
    work: Work | None = None,
) -> Json:
    """A schema of another dialect, as a clean one of 2020-12.

    Args:
        schema: anything; what is no schema says nothing.
        dialect: how it is read: `nullable`, `exclusiveMinimum: true`, `example` and what stands beside `$ref`.
        refer: gives what takes the place of a `$ref`, by its text; may raise UnusableError.
        answers: whether it describes what a server sends: then `writeOnly` properties are left out, else `readOnly` ones.
        notes: what was lost is said here, each once.
        work: a bound that several conversions share.

    Raises:
        UnusableError: `refer` raised it, or the bound is reached.

    .. versionadded:: 0.1
    """
    return _Reader(dialect, refer, answers, [] if notes is None else notes, work or Work()).read(schema, 0)


def sanitise_schema(schema: Json) -> Json:
    """A schema of 2020-12, with known keywords of the right shape alone and clean texts; references into `#/$defs/` stay.

    .. versionadded:: 0.1
    """
    return convert(schema, refer=lambda ref: {"$ref": ref} if ref.startswith(DEFS) else {})


class _Reader:
    def __init__(
        self, dialect: Dialect, refer: Callable[[str], Json], answers: bool, notes: list[str], work: Work
    ) -> None:
        self.dialect = dialect
        self.refer = refer
        self.hidden = "writeOnly" if answers else "readOnly"
        self.notes = notes
        self.work = work

    def lost(self, what: str) -> Any:
        if what not in self.notes and len(self.notes) < 50:
            self.notes.append(what)
        return _DROP

    def read(self, schema: Json, depth: int) -> Json:
        self.work.spend()
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            self.lost("A schema that is no object says nothing.")
            return {}
        if depth > MAX_DEPTH:
            self.lost(f"Nothing below {MAX_DEPTH} levels of a schema is described.")
            return {}
        if isinstance(ref := schema.get("$ref"), str):
            return self._reference(schema, ref, depth)
        return self._may_be_null(schema, self._plain(schema, depth))

    def _reference(self, schema: Mapping[str, Json], ref: str, depth: int) -> Json:
        """OpenAPI 3.0 ignores what stands beside `$ref`; a text there is kept, as it limits nothing."""
        target = self.refer(ref)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        if self.dialect != "2020-12":
            beside = {key: value for key, value in beside.items() if key in ("description", "title")}
        said = self._plain(beside, depth)
        if isinstance(target, dict) and "$ref" in target:
            return self._may_be_null(schema, {**target, **said})
        return self._may_be_null(schema, {"allOf": [target], **said} if said else target)

    def _plain(self, schema: Mapping[str, Json], depth: int) -> dict[str, Json]:
        found: dict[str, Json] = {}
        if (types := self._types(schema.get("type"))) is not None:
            found["type"] = types
        if schema.get("type") == "file":
            found |= {"type": "string", "contentEncoding": "base64"}
        for key, value in schema.items():
            known = KEYWORDS.get(key) if isinstance(key, str) else None
            if known is None or key in _SKIPPED or (read := self._keyword(key, known.shape, value, depth)) is _DROP:
                continue
            found[key] = read
        self._old_words(schema, found, depth)
        self._hide(schema, found)
        return found

    def _types(self, said: Json) -> Json:
        if said is None or said == "file":
            return None
        names = [_TYPE_ALIASES.get(name, name) for name in (said if isinstance(said, list) else [said]) if isinstance(name, str)]
        known = list(dict.fromkeys(name for name in names if name in TYPES))
        if not known or len(known) < len(set(names)):
            if names != ["any"]:
                self.lost("A type that JSON does not have was left out.")
            return None
        return known if isinstance(said, list) else known[0]

    def _keyword(self, key: str, shape: str, value: Json, depth: int) -> Json:
        if DRAFT_2020 not in KEYWORDS[key].dialects and key != "dependencies":
            return _DROP
        read = _SHAPES.get(shape)
        return _DROP if read is None else read(self, key, value, depth)

    def _old_words(self, schema: Mapping[str, Json], found: dict[str, Json], depth: int) -> None:
        """What older dialects say in another way."""
        for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if schema.get(exclusive) is True and bound in found:
                found[exclusive] = found.pop(bound)
        for key in ("example", "x-example"):
            if key in schema and "examples" not in found and (value := clean_value(schema[key])) is not _DROP:
                found["examples"] = [value]
        if isinstance(items := schema.get("items"), list) and "prefixItems" not in found:
            found["prefixItems"] = [self.read(item, depth + 1) for item in items[:100]] or [{}]
        found.pop("dependencies", None)
        if isinstance(old := schema.get("dependencies"), dict):
            names = {key: value for key, value in old.items() if isinstance(value, list)}
            schemas = {key: value for key, value in old.items() if isinstance(value, (dict, bool))}
            for key, part, shape in (("dependentRequired", names, "names by name"), ("dependentSchemas", schemas, "schemas by name")):
                if part and key not in found and (read := self._keyword(key, shape, part, depth)) is not _DROP:
                    found[key] = read

    def _hide(self, schema: Mapping[str, Json], found: dict[str, Json]) -> None:
        """Leave out the properties that only the other side sends."""
        inside = schema.get("properties")
        if not isinstance(inside, dict):
            return
        hidden = {name for name, part in inside.items() if isinstance(part, dict) and part.get(self.hidden) is True}
        properties = found.get("properties", {})
        for name in hidden & properties.keys():
            del properties[name]
        if "required" in found:
            unclean = inside.keys() - properties.keys()
            found["required"] = [name for name in found["required"] if name not in unclean]
            if not found["required"]:
                del found["required"]

    def _may_be_null(self, schema: Mapping[str, Json], found: Json) -> Json:
        says = schema.get("nullable") is True or schema.get("x-nullable") is True
        if not says or self.dialect == "2020-12" or not isinstance(found, dict):
            return found
        if found.keys() & (_APPLICATORS - {"enum"}):
            said = {key: found[key] for key in ("title", "description") if key in found}
            return {"anyOf": [{key: value for key, value in found.items() if key not in said}, {"type": "null"}], **said}
        if isinstance(types := found.get("type"), str):
            found["type"] = [types] if types == "null" else [types, "null"]
        elif isinstance(types, list) and "null" not in types:
            found["type"] = [*types, "null"]
        if "enum" in found and None not in found["enum"]:
            found["enum"] = [*found["enum"], None]
        return found

    # One reader for each shape of a keyword's value; `_DROP` where it has another shape.

    def text(self, key: str, value: Json, depth: int) -> Json:
        if not isinstance(value, str) or key not in ("title", "description", "format", "contentEncoding", "contentMediaType"):
            return self.lost(f"{key} is not understood and was left out.") if key.startswith("$") else _DROP
        if key == "format":
            return value if value in FORMATS else _DROP
        return sanitise(value, 200 if key != "description" else MAX_TEXT, one_line=key != "description") or _DROP

    def anything(self, key: str, value: Json, depth: int) -> Json:
        read = clean_value(value)
        return self.lost("A constant with unclean or very long text was left out.") if read is _DROP and key == "const" else read

    def array(self, key: str, value: Json, depth: int) -> Json:
        if key == "examples":
            values = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
            kept = [read for item in values[:3] if (read := clean_value(item)) is not _DROP]
            return kept or _DROP
        if not isinstance(value, list) or not value:
            return _DROP
        kept = [] if len(value) > MAX_ENUM else [clean_value(item) for item in value]
        if not kept or any(item is _DROP for item in kept):
            return self.lost("A list of allowed values that is too long or unclean was left out.")
        return list({canonical(item): item for item in kept}.values())

    def boolean(self, key: str, value: Json, depth: int) -> Json:
        return value if isinstance(value, bool) and not (value is False and key in _ANNOTATIONS) else _DROP

    def number(self, key: str, value: Json, depth: int) -> Json:
        return value if _is_number(value) else _DROP

    def positive(self, key: str, value: Json, depth: int) -> Json:
        return value if _is_number(value) and value > 0 else _DROP

    def count(self, key: str, value: Json, depth: int) -> Json:
        return int(value) if _is_number(value) and value >= 0 and value == int(value) else _DROP

    def pattern(self, key: str, value: Json, depth: int) -> Json:
        if isinstance(value, str) and is_pattern(value):
            return value
        return self.lost("A pattern that not every validator can search for was left out.")

    def names(self, key: str, value: Json, depth: int) -> Json:
        kept = list(dict.fromkeys(name for name in value if isinstance(name, str))) if isinstance(value, list) else []
        return [name for name in kept if is_clean(name)] or _DROP

    def schema(self, key: str, value: Json, depth: int) -> Json:
        if not isinstance(value, (dict, bool)):
            return _DROP
        if key not in ("not", "if"):
            return self.read(value, depth + 1)
        before, self.notes = self.notes, []
        read = self.read(value, depth + 1)
        lost, self.notes = self.notes, before
        # What is wider inside `not` is narrower outside of it.
        return self.lost(f"{key} could not be kept.") if lost else read

    def items(self, key: str, value: Json, depth: int) -> Json:
        return self.read(value, depth + 1) if isinstance(value, (dict, bool)) else _DROP

    def schemas(self, key: str, value: Json, depth: int) -> Json:
        if not isinstance(value, list) or not value or len(value) > 500:
            return _DROP
        return [self.read(item, depth + 1) for item in value]

    def by_name(self, key: str, value: Json, depth: int) -> Json:
        if not isinstance(value, dict):
            return _DROP
        found = {}
        for name, part in value.items():
            if is_clean(name):
                found[name] = self.read(part, depth + 1)
            else:
                self.lost("A property with an unclean or very long name was left out.")
        return found

    def by_pattern(self, key: str, value: Json, depth: int) -> Json:
        if not isinstance(value, dict):
            return _DROP
        if not all(is_pattern(name) for name in value):
            return self.lost("A pattern that not every validator can search for was left out.")
        return {name: self.read(part, depth + 1) for name, part in value.items()}

    def names_by_name(self, key: str, value: Json, depth: int) -> Json:
        if not isinstance(value, dict):
            return _DROP
        read = {name: self.names(key, names, depth) for name, names in value.items() if is_clean(name)}
        return {name: names for name, names in read.items() if names is not _DROP} or _DROP


_SHAPES: dict[str, Callable[[_Reader, str, Json, int], Json]] = {
    "text": _Reader.text,
    "anything": _Reader.anything,
    "array": _Reader.array,
    "boolean": _Reader.boolean,
    "number": _Reader.number,
    "number above zero": _Reader.positive,
    "count": _Reader.count,
    "pattern": _Reader.pattern,
    "names": _Reader.names,
    "schema": _Reader.schema,
    "items": _Reader.items,
    "schemas": _Reader.schemas,
    "schemas by name": _Reader.by_name,
    "schemas by pattern": _Reader.by_pattern,
    "names by name": _Reader.names_by_name,
}


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def is_clean(text: Json) -> bool:
    """Whether a text that goes over the wire may be shown as it is."""
    return isinstance(text, str) and len(text) <= MAX_NAME and _is_shown(text)


@lru_cache(maxsize=8_192)
def _is_shown(text: str) -> bool:
    return text.isprintable() and sanitise(text, MAX_VALUE_BYTES) == text.strip("\n")


@lru_cache(maxsize=1_024)
def is_pattern(text: Json) -> bool:
    """Whether the core's own validator can search for a pattern."""
    if not isinstance(text, str) or not text.isprintable():
        return False
    try:
        compiled(text)
    except (PatternError, ForeignPatternError, RecursionError):
        return False
    return True


def clean_value(value: Json) -> Json:
    """A value of a document (a default, an example) where it is short and its texts are clean; else a mark to drop it."""
    if isinstance(value, str):
        return value if len(value) <= MAX_VALUE_BYTES and (is_clean(value) or sanitise(value, MAX_VALUE_BYTES) == value) else _DROP
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return value if _is_number(value) else _DROP
    if not isinstance(value, (list, dict)) or not is_small(value, MAX_VALUE_BYTES) or not _all_clean(value):
        return _DROP
    return value


def is_dropped(value: Json) -> bool:
    """Whether `clean_value` refused."""
    return value is _DROP


def is_small(value: Json, limit: int) -> bool:
    """Whether a value takes at most `limit` bytes as JSON; looks at no more than that."""
    left, waiting = limit, [value]
    while waiting and left >= 0:
        item = waiting.pop()
        if isinstance(item, str):
            left -= len(item) + 2
        elif isinstance(item, dict):
            left -= 2 + len(item)
            if left >= 0:
                waiting += item.values()
                waiting += item.keys()
        elif isinstance(item, list):
            left -= 2 + len(item)
            if left >= 0:
                waiting += item
        else:
            left -= 1
    return left >= 0 and size_of(value) <= limit


def _all_clean(value: Json) -> bool:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and sanitise(item, MAX_VALUE_BYTES) != item:
            return False
        if isinstance(item, dict):
            if not all(map(is_clean, item)):
                return False
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, float) and not _is_number(item):
            return False
    return True


def close_objects(schema: Json) -> Json:
    """Every object schema that names its properties takes no others, unless it says that it does or is part of another.

    .. versionadded:: 0.1
    """
    if isinstance(schema, list):
        return [close_objects(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {}
    for key, value in schema.items():
        shape = KEYWORDS[key].shape if key in KEYWORDS else ""
        if shape in ("schemas by name", "schemas by pattern") and key not in ("dependentSchemas",) and isinstance(value, dict):
            found[key] = {name: close_objects(part) for name, part in value.items()}
        elif key in ("items", "prefixItems", "contains", "additionalProperties"):
            found[key] = close_objects(value)
        else:
            found[key] = value
    open_words = ("additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref", "if", "dependentSchemas")
    if "properties" in found and not any(word in found for word in open_words):
        found["additionalProperties"] = False
    return found


# References ------------------------------------------------------------------------------------------------------------

_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("not", "if", "then", "else")


def subschemas(schema: Json) -> Iterable[tuple[str, Json]]:
    """The schemas directly inside one, each with its keyword."""
    if not isinstance(schema, dict):
        return
    for key, value in schema.items():
        shape = KEYWORDS[key].shape if key in KEYWORDS else ""
        if shape in ("schema", "items") and not isinstance(value, list):
            yield key, value
        elif shape in ("schemas", "items") and isinstance(value, list):
            for item in value:
                yield key, item
        elif shape in ("schemas by name", "schemas by pattern") and isinstance(value, dict):
            for item in value.values():
                yield key, item


def names_in(schema: Json) -> set[str]:
    """The names of `$defs` that a schema points to, itself."""
    found, waiting = set(), [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if isinstance(ref := item.get("$ref"), str) and ref.startswith(DEFS):
                found.add(ref.removeprefix(DEFS))
            waiting += [inner for _, inner in subschemas(item)]
    return found


def needed(schema: Json, defs: Mapping[str, Json]) -> dict[str, Json]:
    """The `$defs` that a schema needs, directly and by others, by name."""
    found: dict[str, Json] = {}
    waiting = sorted(names_in(schema))
    while waiting:
        name = waiting.pop()
        if name not in found and name in defs:
            found[name] = defs[name]
            waiting += names_in(defs[name])
    return dict(sorted(found.items()))


def break_circles(defs: Mapping[str, Json]) -> dict[str, Json]:
    """The same schemas, where none leads to itself without a descent into a value; such references say nothing.

    Which references go depends on the circle alone, never on the order of the names.
    """
    edges = {name: _in_place(schema) & defs.keys() for name, schema in defs.items()}
    circles = _circles(edges)
    if not circles:
        return dict(defs)
    return {
        name: _without(schema, circles[name]) if name in circles else schema for name, schema in defs.items()
    }


def _in_place(schema: Json) -> set[str]:
    found, waiting = set(), [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if isinstance(ref := item.get("$ref"), str):
                found.add(ref.removeprefix(DEFS))
            waiting += [
                inner for key, inner in subschemas(item) if key in _IN_PLACE_LISTS or key in _IN_PLACE or key == "dependentSchemas"
            ]
    return found


def _circles(edges: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    """For each name on a circle, the names of its strongly connected part (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    on_stack: set[str] = set()
    stack: list[str] = []
    found: dict[str, frozenset[str]] = {}
    for start in edges:
        if start in index:
            continue
        work = [(start, iter(edges[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            name, waiting = work[-1]
            for other in waiting:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(edges[other])))
                    break
                if other in on_stack:
                    low[name] = min(low[name], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    part = set()
                    while name not in part:
                        part.add(last := stack.pop())
                        on_stack.discard(last)
                    if len(part) > 1 or name in edges[name]:
                        found |= dict.fromkeys(part, frozenset(part))
    return found


def _without(schema: Json, names: frozenset[str]) -> Json:
    if not isinstance(schema, dict):
        return schema
    if isinstance(ref := schema.get("$ref"), str) and ref.removeprefix(DEFS) in names:
        schema = {key: value for key, value in schema.items() if key != "$ref"}
    found = {}
    for key, value in schema.items():
        if key in ("not", "if") and _in_place(value) & names:
            continue  # what says nothing would allow nothing there
        if key in _IN_PLACE_LISTS and isinstance(value, list):
            key = "anyOf" if key == "oneOf" and "anyOf" not in schema and _in_place({key: value}) & names else key
            found[key] = [_without(item, names) for item in value]
        elif key == "dependentSchemas" and isinstance(value, dict):
            found[key] = {name: _without(item, names) for name, item in value.items()}
        else:
            found[key] = _without(value, names) if key in _IN_PLACE else value
    return found


# Fitting ---------------------------------------------------------------------------------------------------------------


def listed_size(schema: Json, defs: Mapping[str, Json]) -> int:
    """Bytes that a schema takes where it is listed with the `$defs` that it needs."""
    parts = needed(schema, defs)
    return size_of({**schema, "$defs": parts} if parts and isinstance(schema, dict) else schema)


def fit(schema: Json, defs: Mapping[str, Json], budget_bytes: int) -> tuple[Json, list[str]]:
    """A schema that takes at most `budget_bytes` where it is listed, and accepts everything that this one accepts.

    A schema that fits is returned as it is. In any other, references are unfolded; then go descriptions, then examples, then
    the deepest and largest parts become plain ones (an object, a list, text), until it fits.

    Args:
        schema: of 2020-12; `#/$defs/NAME` points into `defs`.
        defs: schemas by name.
        budget_bytes: of compact JSON in UTF-8.

    Returns:
        The schema and, where it was changed, sentences that say what was left out.

    .. versionadded:: 0.1
    """
    if listed_size(schema, defs) <= budget_bytes:
        return schema, []
    return _shrink(schema, defs, budget_bytes, is_loose=False)


def loosen(schema: Json, defs: Mapping[str, Json], budget_bytes: int) -> tuple[Json, list[str]]:
    """What a server says of its answers, as far as it is safe to hold it to: names, types (or null) and texts.

    Servers send null where none is documented, values that no list names, and fields of tomorrow; a document that lies must not
    break the call. Nothing is required here and no object is closed. References are unfolded.

    .. versionadded:: 0.1
    """
    return _shrink(schema, defs, budget_bytes, is_loose=True)


class _TooLargeError(Exception):
    pass


_CUT = 120


def _shrink(schema: Json, defs: Mapping[str, Json], budget: int, *, is_loose: bool) -> tuple[Json, list[str]]:
    def unfold(texts: int, depth: int, collapse: frozenset[str] = frozenset(), cap: int = 0) -> _Unfold | None:
        made = _Unfold(defs, texts, depth, cap or budget, is_loose, collapse)
        try:
            made.schema = made.of(schema, 0, "")
        except _TooLargeError:
            return None
        made.size = size_of(made.schema)
        return made

    deepest = 8 if is_loose else MAX_DEPTH
    for texts in (0, 1, 2):
        if (made := unfold(texts, deepest)) and made.size <= budget:
            return made.schema, _notes(texts, made.cut, is_loose)
    for depth in range(min(deepest, 12), 0, -1):
        if (made := unfold(2, depth)) and made.size <= budget:
            made = _refined(unfold, made, depth, budget)
            return made.schema, _notes(2, made.cut, is_loose)
    for texts, depth in ((3, 1), (3, 0)):
        if (made := unfold(texts, depth)) and made.size <= budget:
            return made.schema, _notes(3, made.cut, is_loose)
    return plain(schema, defs), ["The schema is too large to be described; any value of its type is taken."]


def _refined(unfold: Callable[..., _Unfold | None], made: _Unfold, depth: int, budget: int) -> _Unfold:
    """One level more, with only the largest parts of that level plain."""
    wide = unfold(2, depth + 1, cap=budget * 40)
    if wide is None:
        return made
    gains = sorted(wide.sizes.items(), key=lambda item: (-item[1], item[0]))
    over = wide.size - budget
    chosen: list[str] = []
    for path, gain in gains:
        if over <= 0:
            break
        chosen.append(path)
        over -= gain - 20
    for extra in (0, 4, 16):
        more = [path for path, _ in gains[len(chosen) : len(chosen) + extra]]
        better = unfold(2, depth + 1, frozenset(chosen + more), cap=budget * 4)
        if better is not None and better.size <= budget:
            return better
    return made


def _notes(texts: int, cut: list[str], is_loose: bool) -> list[str]:
    of = "the answer" if is_loose else "the input"
    notes = []
    if texts >= 1:
        notes.append(f"Longer descriptions and examples inside {of} were cut to keep its schema short.")
    if cut:
        shown = ", ".join(sorted(cut)[:10])
        more = f" and {len(cut) - 10} more" if len(cut) > 10 else ""
        notes.append(f"Described by their type alone, to keep the schema of {of} short: {shown}{more}.")
    return notes


def plain(schema: Json, defs: Mapping[str, Json]) -> Json:
    """A schema with nothing but the type of another."""
    for _ in range(10):
        if not isinstance(schema, dict):
            return True if schema is not False else False
        if "type" in schema:
            return {"type": schema["type"]}
        ref = schema.get("$ref")
        if not isinstance(ref, str):
            return {}
        schema = defs.get(ref.removeprefix(DEFS), {})
    return {}


class _Unfold:
    """One way to write a schema: how much text, how deep, and which parts plain.

    `cut` holds the paths that became plain; `sizes` what the parts at the last level but one would free.
    """

    schema: Json
    size: int

    def __init__(
        self, defs: Mapping[str, Json], texts: int, depth: int, cap: int, is_loose: bool, collapse: frozenset[str]
    ) -> None:
        self.defs = defs
        self.texts = texts
        self.depth = depth
        self.left = cap * 2
        self.is_loose = is_loose
        self.collapse = collapse
        self.cut: list[str] = []
        self.sizes: dict[str, int] = {}
        self.wider = 0
        self.opened: list[str] = []

    def of(self, schema: Json, depth: int, path: str) -> Json:
        self.left -= 4
        if self.left < 0:
            raise _TooLargeError
        if not isinstance(schema, dict):
            return schema
        if path in self.collapse:
            return self._plain(schema, path)
        if isinstance(ref := schema.get("$ref"), str):
            return self._unfolded(schema, ref.removeprefix(DEFS), depth, path)
        if depth > self.depth or (depth == self.depth and depth and any(True for _ in subschemas(schema))):
            return self._plain(schema, path)
        found = self._node(schema, depth, path)
        if depth == self.depth - 1 and depth:
            self.sizes[path] = size_of(found)
        return found

    def _plain(self, schema: Json, path: str) -> Json:
        self.wider += 1
        self.cut.append(path)
        made = plain(schema, self.defs)
        return _or_null(made) if self.is_loose else made

    def _unfolded(self, schema: dict[str, Json], name: str, depth: int, path: str) -> Json:
        target = self.defs.get(name, {})
        if name in self.opened or len(self.opened) > MAX_DEPTH:
            return self._plain(target, path)
        before = self.wider
        self.opened.append(name)
        inside = self.of(target, depth, path)
        self.opened.pop()
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        if not beside:
            return inside
        said = self._node(beside, depth, path)
        if beside.keys() <= _ANNOTATIONS:
            return {**inside, **said} if isinstance(inside, dict) else inside
        if self.wider != before:
            said = _kept_wide(said, set())
        return {**said, "allOf": [inside, *said.get("allOf", [])]}

    def _node(self, schema: dict[str, Json], depth: int, path: str) -> dict[str, Json]:
        """A schema without its reference; where a part became wider, what would now accept less is widened too."""
        found: dict[str, Json] = {}
        wider: set[str] = set()
        for key, value in schema.items():
            before = self.wider
            if (made := self._keyword(key, value, depth, path)) is not _DROP:
                found[key] = made
                self.left -= len(key)
            if self.wider != before:
                wider.add(key)
        if self.is_loose:
            return _loose_node(schema, found)
        return _kept_wide(found, wider) if wider else found

    def _keyword(self, key: str, value: Json, depth: int, path: str) -> Json:
        if key in ("title", "description", "examples", "default", "deprecated"):
            return self._annotation(key, value, depth)
        if self.is_loose and key not in _LOOSE:
            return _DROP
        shape = KEYWORDS[key].shape if key in KEYWORDS else ""
        if shape in ("schemas by name", "schemas by pattern") and isinstance(value, dict):
            self.left -= sum(map(len, value))
            return {name: self.of(part, depth + 1, _joined(path, name, key)) for name, part in value.items()}
        if shape in ("schema", "items") and isinstance(value, dict):
            return self.of(value, depth + 1, f"{path}[]" if key == "items" else _joined(path, "*", key))
        if shape == "schemas" and isinstance(value, list):
            return [self.of(item, depth + 1, f"{path}|{index + 1}") for index, item in enumerate(value)]
        if key == "enum":
            if self.texts >= 3 and len(value) > 20:
                self.wider += 1
                return _DROP
            self.left -= len(canonical(value))
        return value

    def _annotation(self, key: str, value: Json, depth: int) -> Json:
        if self.texts == 0:
            kept = value
        elif key == "description" and (self.texts == 1 or (self.texts == 2 and depth <= 1)):
            kept = sanitise(value, _CUT, one_line=True) if isinstance(value, str) else _DROP
        elif key in ("default", "deprecated") and self.texts < 3:
            kept = value
        else:
            return _DROP
        self.left -= len(kept) if isinstance(kept, str) else 0
        return kept


_LOOSE = frozenset(("type", "properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf"))


def _joined(path: str, name: str, key: str) -> str:
    if key == "properties":
        name = name if len(name) <= 40 else f"{name[:39]}…"
    elif key != "additionalProperties":
        name = f"<{key} {name[:30]}>"
    return f"{path}.{name}" if path else name


def _kept_wide(found: dict[str, Json], wider: set[str]) -> dict[str, Json]:
    """A node whose keywords `wider` hold wider schemas than they did."""
    gone = {"unevaluatedProperties", "unevaluatedItems"}
    if "contains" in wider:
        gone.add("maxContains")
    if "not" in wider:
        gone.add("not")
    if "if" in wider:
        gone |= {"if", "then", "else"}
    kept = {key: value for key, value in found.items() if key not in gone}
    if "oneOf" in wider:
        kept = _any_of(kept)
    return kept


def _any_of(found: dict[str, Json]) -> dict[str, Json]:
    """`oneOf` as `anyOf`: wider, and open to members that overlap."""
    if "oneOf" not in found:
        return found
    if "anyOf" not in found:
        return {("anyOf" if key == "oneOf" else key): value for key, value in found.items()}
    rest = {key: value for key, value in found.items() if key != "oneOf"}
    return {**rest, "allOf": [*rest.get("allOf", []), {"anyOf": found["oneOf"]}]}


def _loose_node(schema: dict[str, Json], found: dict[str, Json]) -> dict[str, Json]:
    if not isinstance(found.get("additionalProperties", True), dict) or "patternProperties" in schema:
        found.pop("additionalProperties", None)
    if not isinstance(found.get("items", True), dict) or "prefixItems" in schema:
        found.pop("items", None)
    if "properties" in found:
        found["properties"] = {name: part if part is not False else True for name, part in found["properties"].items()}
    for key in ("allOf", "anyOf", "oneOf"):
        if key in found:
            found[key] = list({canonical(part): part for part in found[key]}.values())
    return _or_null(_any_of(found))


def _or_null(schema: Json) -> Json:
    if not isinstance(schema, dict):
        return {}
    types = schema.get("type")
    if isinstance(types, str) and types != "null":
        return {**schema, "type": [types, "null"]}
    if isinstance(types, list) and "null" not in types:
        return {**schema, "type": [*types, "null"]}
    return schema
