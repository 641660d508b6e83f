"""Third-party schemas: read into JSON Schema 2020-12, cleaned, and closed; fitting is in the modules behind.

What comes out of `convert` holds known keywords alone, each with a value of its shape, so it is a valid schema; texts
are sanitised, patterns are those that the core can search for, references are what `refer` made of them. What `fit` and
`loosen` return accepts every value that the schema they were given accepts: a part is only ever replaced by one that
accepts more, and where that would accept less (under `not`, in `oneOf`, beside `unevaluatedProperties`) the keyword
goes or becomes a wider one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from pegboard.schema import (
    DRAFT_2020,
    FORMATS,
    KEYWORDS,
    MAX_PATTERN,
    TYPES,
    ForeignPatternError,
    PatternError,
    compile_pattern,
)
from pegboard_manifest import sanitise
from pegboard_toolgen._prose import line, prose, shown
from pegboard_toolgen._schema_fit import MAX_DEPTH, fit, listed_size, loosen
from pegboard_toolgen._schema_parts import (
    ANNOTATIONS,
    DEFS,
    LostReferenceError,
    UnusableError,
    Work,
    any_of,
    break_circles,
    canonical,
    kept_wide,
    needed,
    or_null,
    plain,
    size_of,
    subschemas,
    told_apart_by,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "DEFS",
    "MAX_DEPTH",
    "MAX_TEXT",
    "LostReferenceError",
    "UnusableError",
    "Work",
    "break_circles",
    "canonical",
    "clean_value",
    "close_objects",
    "convert",
    "fit",
    "is_clean",
    "is_clean_value",
    "is_small",
    "listed_size",
    "loosen",
    "needed",
    "or_null",
    "plain",
    "sanitise_schema",
    "size_of",
    "subschemas",
    "untitled",
]

Json = Any
Dialect = Literal["swagger 2", "openapi 3.0", "2020-12"]

MAX_TEXT = 1_000
MAX_VALUE_BYTES = 1_000
MAX_ENUM = 1_000
MAX_NAME = 256

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
_SKIPPED = frozenset(
    ("$schema", "$id", "$comment", "$vocabulary", "$defs", "definitions", "contentSchema", "$ref", "type")
)
_APPLICATORS = frozenset(("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "enum", "const", "$ref"))
_DROP: Any = object()
_LITERAL = re.compile(r"/(\^.*\$)/", re.DOTALL)
"""A pattern as JavaScript writes it; with its slashes no text would fit."""


# Reading -------------------------------------------------------------------------------------------------------------


def no_reference(ref: str) -> Json:
    """A `refer` for schemas that have to stand alone."""
    if ref.startswith(DEFS):
        return {"$ref": ref}
    raise LostReferenceError(f"the reference {sanitise(ref, 60, one_line=True)!r} points outside")


def convert(
    schema: Json,
    *,
    dialect: Dialect = "2020-12",
    refer: Callable[[str], Json] = no_reference,
    answers: bool = False,
    notes: list[str] | None = None,
    work: Work | None = None,
    behind: Callable[[Json], Mapping[str, Json]] | None = None,
) -> Json:
    """A schema of another dialect, as a clean one of 2020-12.

    Args:
        schema: anything; what is not a schema says nothing.
        dialect: how it is read: `nullable`, `exclusiveMinimum: true`, `example` and what stands beside `$ref`.
        refer: gives what takes the place of a `$ref`, by its text; may raise LostReferenceError.
        answers: whether it describes what a server sends: then `writeOnly` properties are left out, and a reference
            that cannot be followed says nothing. Else `readOnly` properties are left out, such a reference says nothing
            inside of the schema alone, and the schema is as wide as servers are: see `_as_wide_as_servers`.
        notes: what was lost is said here, each once.
        work: a bound that several conversions share.
        behind: gives a schema behind its references, with all that the parts of its `allOf` say.

    Raises:
        LostReferenceError: the schema itself is a reference that cannot be followed.
        UnusableError: the bound is reached.

    .. versionadded:: 0.1
    """
    reader = _SchemaConverter(dialect, refer, answers, [] if notes is None else notes, work or Work(), behind)
    return reader.read(schema, 0)


def sanitise_schema(schema: Json) -> Json:
    """A schema of 2020-12, with known keywords of the right shape alone and clean texts; references into `#/$defs/`
    stay.

    .. versionadded:: 0.1
    """
    return convert(schema, refer=lambda ref: {"$ref": ref} if ref.startswith(DEFS) else {})


class _SchemaConverter:
    def __init__(
        self, dialect: Dialect, refer: Callable[[str], Json], answers: bool, notes: list[str], work: Work,
        behind: Callable[[Json], Mapping[str, Json]] | None = None,
    ) -> None:  # fmt: skip
        self.dialect = dialect
        self.refer = refer
        self.answers = answers
        self.hidden = "writeOnly" if answers else "readOnly"
        self.local: dict[str, Json] = {}
        self.opened: set[str] = set()
        self.notes = notes
        self.work = work
        self.behind = behind
        self.losses = 0

    def lost(self, what: str) -> Any:
        self.losses += 1
        if what not in self.notes and len(self.notes) < 50:
            self.notes.append(what)
        return _DROP

    def read(self, schema: Json, depth: int) -> Json:
        self.work.spend()
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            self.lost("A schema that is not an object says nothing.")
            return {}
        if depth > MAX_DEPTH:
            self.lost(f"Nothing below {MAX_DEPTH} levels of a schema is described.")
            return {}
        if "$defs" in schema or "definitions" in schema:
            self._remember(schema)
        if isinstance(ref := schema.get("$ref"), str):
            return self._reference(schema, ref, depth)
        return self._may_be_null(schema, self._plain(schema, depth))

    def _reference(self, schema: Mapping[str, Json], ref: str, depth: int) -> Json:
        """OpenAPI 3.0 ignores what stands beside `$ref`; a text there is kept, as it limits nothing."""
        target = self._target(ref, depth)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        if self.dialect != "2020-12":
            beside = {key: value for key, value in beside.items() if key in ("description", "title")}
        said = self._plain(beside, depth)
        if isinstance(target, dict) and "$ref" in target:
            return self._may_be_null(schema, {**target, **said})
        return self._may_be_null(schema, {"allOf": [target], **said} if said else target)

    def _target(self, ref: str, depth: int) -> Json:
        try:
            return self.refer(ref)
        except UnusableError:
            if self.local.get(ref) is not None and ref not in self.opened:
                self.opened.add(ref)
                found = self.read(self.local[ref], depth + 1)
                self.opened.discard(ref)
                return found
            if depth == 0 and not self.answers:
                raise
        self.lost(f"The reference {shown(ref)} cannot be followed here; any value is taken.")
        return {}

    def _remember(self, schema: Mapping[str, Json]) -> None:
        """Definitions that a schema brings along, as generators put them where they were written for a root."""
        for key in ("$defs", "definitions"):
            brought = schema.get(key)
            for name, part in brought.items() if isinstance(brought, dict) else ():
                self.local.setdefault(f"#/{key}/{name}", part)

    def _plain(self, schema: Mapping[str, Json], depth: int) -> dict[str, Json]:
        found: dict[str, Json] = {}
        if (types := self._types(schema.get("type"))) is not None:
            found["type"] = types
        if schema.get("type") == "file":
            found |= {"type": "string", "contentEncoding": "base64"}
        wider = set()
        for key, value in schema.items():
            known = KEYWORDS.get(key)
            if known is None or key in _SKIPPED:
                continue
            before = self.losses
            if (read := self._keyword(key, known.shape, value, depth)) is not _DROP:
                found[key] = read
            if self.losses != before:
                wider.add(key)
        if wider:
            found = kept_wide(found, wider)
        if any(_names(schema, key) - _names(found, key) for key in ("properties", "patternProperties")):
            found.pop("additionalProperties", None)  # it would judge what was named once
        if not self.answers and (told := told_apart_by(schema)):
            found["description"] = f"{found.get('description', '')} {told}".strip()
        self._old_words(schema, found, depth)
        self._hide(schema, found)
        return _with_types_of_examples(found) if self.answers else self._as_wide_as_servers(found)

    def _as_wide_as_servers(self, found: dict[str, Json]) -> dict[str, Json]:
        """What is sent, as servers take it: they read the first alternative that fits, where `oneOf` would refuse what
        fits two (1 as an integer and as a number), and one object of all parts of `allOf`, where each closed part would
        refuse the properties of the others.
        """
        wide = any_of(found)
        if "allOf" in wide:
            wide = _opened({**wide, "allOf": [_opened(part) for part in wide["allOf"]]})
        self.losses += wide != found  # under `not` and `if` it would be narrower
        return wide

    def _types(self, said: Json) -> Json:
        if said is None or said == "file":
            return None
        names = [
            _TYPE_ALIASES.get(name, name)
            for name in (said if isinstance(said, list) else [said])
            if isinstance(name, str)
        ]
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
            for key, part, shape in (
                ("dependentRequired", names, "names by name"),
                ("dependentSchemas", schemas, "schemas by name"),
            ):
                if part and key not in found and (read := self._keyword(key, shape, part, depth)) is not _DROP:
                    found[key] = read

    def _hide(self, schema: Mapping[str, Json], found: dict[str, Json]) -> None:
        """Leave out the properties that only the other side sends, and require none of them."""
        inside = schema.get("properties")
        inside = inside if isinstance(inside, dict) else {}
        properties = found.get("properties", {})
        for name in [name for name in properties if self._is_hidden(inside[name])]:
            del properties[name]
        if "required" in found:
            gone = inside.keys() - properties.keys()
            if self.behind is not None and "allOf" in schema:
                parts = self.behind(schema).get("properties") or {}
                gone |= {name for name in found["required"] if self._is_hidden(parts.get(name))}
            found["required"] = [name for name in found["required"] if name not in gone]
            if not found["required"]:
                del found["required"]

    def _is_hidden(self, part: Json) -> bool:
        if not isinstance(part, dict):
            return False
        if self.behind is not None and ("$ref" in part or "allOf" in part):
            part = self.behind(part)
        return bool(part.get(self.hidden) is True)

    def _may_be_null(self, schema: Mapping[str, Json], found: Json) -> Json:
        says = schema.get("nullable") is True or schema.get("x-nullable") is True
        if not says or self.dialect == "2020-12" or not isinstance(found, dict):
            return found
        if found.keys() & (_APPLICATORS - {"enum"}):
            said = {key: found[key] for key in ("title", "description") if key in found}
            return {
                "anyOf": [{key: value for key, value in found.items() if key not in said}, {"type": "null"}],
                **said,
            }
        if isinstance(types := found.get("type"), str):
            found["type"] = [types] if types == "null" else [types, "null"]
        elif isinstance(types, list) and "null" not in types:
            found["type"] = [*types, "null"]
        if "enum" in found and None not in found["enum"]:
            found["enum"] = [*found["enum"], None]
        return found

    # One reader for each shape of a keyword's value; `_DROP` where it has another shape.

    def text(self, key: str, value: Json, depth: int) -> Json:
        if not isinstance(value, str) or key not in (
            "title",
            "description",
            "format",
            "contentEncoding",
            "contentMediaType",
        ):
            return self.lost(f"{key} is not understood and was left out.") if key.startswith("$") else _DROP
        if key == "format":
            return value if value in FORMATS else _DROP
        return (prose(value, MAX_TEXT) if key == "description" else line(value, 200)) or _DROP

    def anything(self, key: str, value: Json, depth: int) -> Json:
        read = clean_value(value)
        return (
            self.lost("A constant with unclean or very long text was left out.")
            if read is _DROP and key == "const"
            else read
        )

    def array(self, key: str, value: Json, depth: int) -> Json:
        if key == "examples":
            values = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
            kept = [read for item in values[:3] if (read := clean_value(item)) is not _DROP]
            return kept or _DROP
        if not isinstance(value, list) or not value:
            return _DROP
        self.work.spend(len(value))
        kept = [] if len(value) > MAX_ENUM else [clean_value(item) for item in value]
        if not kept or any(item is _DROP for item in kept):
            return self.lost("A list of allowed values that is too long or unclean was left out.")
        return list({canonical(item): item for item in kept}.values())

    def boolean(self, key: str, value: Json, depth: int) -> Json:
        return value if isinstance(value, bool) and not (value is False and key in ANNOTATIONS) else _DROP

    def number(self, key: str, value: Json, depth: int) -> Json:
        return value if _is_number(value) else _DROP

    def positive(self, key: str, value: Json, depth: int) -> Json:
        return value if _is_number(value) and value > 0 else _DROP

    def count(self, key: str, value: Json, depth: int) -> Json:
        return int(value) if _is_number(value) and value >= 0 and value == int(value) else _DROP

    def pattern(self, key: str, value: Json, depth: int) -> Json:
        if isinstance(value, str) and (literal := _LITERAL.fullmatch(value)):
            value = literal[1]
        if isinstance(value, str) and is_pattern(value):
            return value
        return self.lost("A pattern that not every validator can search for was left out.")

    def names(self, key: str, value: Json, depth: int) -> Json:
        kept = list(dict.fromkeys(name for name in value if isinstance(name, str))) if isinstance(value, list) else []
        self.work.spend(len(kept))
        return [name for name in kept if is_clean(name)] or _DROP

    def schema(self, key: str, value: Json, depth: int) -> Json:
        if not isinstance(value, (dict, bool)):
            return _DROP
        return self.read(value, depth + 1)

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
                found[name] = untitled(name, self.read(part, depth + 1))
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


def _with_types_of_examples(found: dict[str, Json]) -> dict[str, Json]:
    """What is answered, with the types that the document shows beside the one that it says: servers send such."""
    said = found.get("type")
    types = [said] if isinstance(said, str) else list(said or ())
    known = {*types, *(["integer"] if "number" in types else [])}
    more = {_type_of(value): None for value in found.get("examples", ())} if types else {}
    more = {one: None for one in more if one not in known}
    return {**found, "type": [*types, *more]} if more else found


def _type_of(value: Json) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def _names(schema: Mapping[str, Json], key: str) -> set[str]:
    named = schema.get(key)
    return set(named) if isinstance(named, dict) else set()


def _opened(schema: Json) -> Json:
    if not isinstance(schema, dict) or schema.get("additionalProperties") is not False:
        return schema
    return {key: value for key, value in schema.items() if key != "additionalProperties"}


_SHAPES: dict[str, Callable[[_SchemaConverter, str, Json, int], Json]] = {
    "text": _SchemaConverter.text,
    "anything": _SchemaConverter.anything,
    "array": _SchemaConverter.array,
    "boolean": _SchemaConverter.boolean,
    "number": _SchemaConverter.number,
    "number above zero": _SchemaConverter.positive,
    "count": _SchemaConverter.count,
    "pattern": _SchemaConverter.pattern,
    "names": _SchemaConverter.names,
    "schema": _SchemaConverter.schema,
    "items": _SchemaConverter.items,
    "schemas": _SchemaConverter.schemas,
    "schemas by name": _SchemaConverter.by_name,
    "schemas by pattern": _SchemaConverter.by_pattern,
    "names by name": _SchemaConverter.names_by_name,
}


def untitled(name: str, schema: Json) -> Json:
    """Without a title that says the property's name once more, as generators of documents write it."""
    if isinstance(schema, dict) and "title" in schema and _bare(schema["title"]) == _bare(name):
        return {key: value for key, value in schema.items() if key != "title"}
    return schema


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def is_clean(text: Json) -> bool:
    """Whether a text that goes over the wire may be shown as it is."""
    return isinstance(text, str) and len(text) <= MAX_NAME and _is_shown(text)


@lru_cache(maxsize=8_192)
def _is_shown(text: str) -> bool:
    # Not `isprintable`, which knows more characters with every version of Python.
    return "\n" not in text and sanitise(text, MAX_PATTERN).rstrip() == text.rstrip()


@lru_cache(maxsize=1_024)
def is_pattern(text: Json) -> bool:
    """Whether the core's own validator can search for a pattern."""
    if not isinstance(text, str) or len(text) > MAX_PATTERN or not _is_shown(text):
        return False
    try:
        compile_pattern(text)
    except (PatternError, ForeignPatternError, RecursionError):
        return False
    return True


def clean_value(value: Json) -> Json:
    """A value of a document (a default, an example) where it is short and its texts are clean; else a mark to drop
    it.
    """
    if isinstance(value, str):
        return (
            value
            if len(value) <= MAX_VALUE_BYTES and (is_clean(value) or sanitise(value, MAX_VALUE_BYTES) == value)
            else _DROP
        )
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return value if _is_number(value) else _DROP
    if not isinstance(value, (list, dict)) or not is_small(value, MAX_VALUE_BYTES) or not is_clean_value(value):
        return _DROP
    return value


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


def is_clean_value(value: Json) -> bool:
    """Whether all texts of a value may be shown as they are."""
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
    found: dict[str, Json] = {}
    for key, value in schema.items():
        shape = KEYWORDS[key].shape if key in KEYWORDS else ""
        if (
            shape in ("schemas by name", "schemas by pattern")
            and key not in ("dependentSchemas",)
            and isinstance(value, dict)
        ):
            found[key] = {name: close_objects(part) for name, part in value.items()}
        elif key in ("items", "prefixItems", "contains", "additionalProperties"):
            found[key] = close_objects(value)
        else:
            found[key] = value
    open_words = (
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "allOf",
        "anyOf",
        "oneOf",
        "$ref",
        "if",
        "dependentSchemas",
    )
    if "properties" in found and not any(word in found for word in open_words):
        found["additionalProperties"] = False
    return found
