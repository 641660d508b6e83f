"""The keywords of JSON Schema draft 7 and 2020-12: which dialect has them, and what their values must be.

`KEYWORDS` names, for each keyword, the shape of its value; `check` reads it to say what is wrong with a schema, the
resolver reads it to know where subschemas stand.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Dialect = Literal["draft 7", "2020-12"]
DRAFT_7: Dialect = "draft 7"
"""As `dialect_of` names it.

.. versionadded:: 0.1
"""
DRAFT_2020: Dialect = "2020-12"
"""As `dialect_of` names it.

.. versionadded:: 0.1
"""
BOTH: tuple[Dialect, ...] = (DRAFT_7, DRAFT_2020)

DIALECTS: dict[str, Dialect] = {
    "http://json-schema.org/draft-07/schema": DRAFT_7,
    "https://json-schema.org/draft-07/schema": DRAFT_7,
    "https://json-schema.org/draft/2020-12/schema": DRAFT_2020,
    "http://json-schema.org/draft/2020-12/schema": DRAFT_2020,
}


class Keyword(NamedTuple):
    """The shape of a keyword's value, and the dialects that have it."""

    shape: str
    dialects: tuple[Dialect, ...] = BOTH


_OLD = (DRAFT_7,)
_NEW = (DRAFT_2020,)

KEYWORDS: dict[str, Keyword] = {
    "$schema": Keyword("text"),
    "$id": Keyword("text"),
    "$ref": Keyword("text"),
    "$comment": Keyword("text"),
    "$anchor": Keyword("text", _NEW),
    "$dynamicRef": Keyword("text", _NEW),
    "$dynamicAnchor": Keyword("text", _NEW),
    "$vocabulary": Keyword("object", _NEW),
    "$defs": Keyword("schemas by name"),
    "definitions": Keyword("schemas by name"),
    "title": Keyword("text"),
    "description": Keyword("text"),
    "default": Keyword("anything"),
    "examples": Keyword("array"),
    "deprecated": Keyword("boolean"),
    "readOnly": Keyword("boolean"),
    "writeOnly": Keyword("boolean"),
    "format": Keyword("text"),
    "contentEncoding": Keyword("text"),
    "contentMediaType": Keyword("text"),
    "contentSchema": Keyword("schema", _NEW),
    "type": Keyword("types"),
    "enum": Keyword("array"),
    "const": Keyword("anything"),
    "multipleOf": Keyword("number above zero"),
    "minimum": Keyword("number"),
    "maximum": Keyword("number"),
    "exclusiveMinimum": Keyword("number"),
    "exclusiveMaximum": Keyword("number"),
    "minLength": Keyword("count"),
    "maxLength": Keyword("count"),
    "pattern": Keyword("pattern"),
    "items": Keyword("items"),
    "prefixItems": Keyword("schemas", _NEW),
    "additionalItems": Keyword("schema", _OLD),
    "unevaluatedItems": Keyword("schema", _NEW),
    "contains": Keyword("schema"),
    "minContains": Keyword("count", _NEW),
    "maxContains": Keyword("count", _NEW),
    "minItems": Keyword("count"),
    "maxItems": Keyword("count"),
    "uniqueItems": Keyword("boolean"),
    "properties": Keyword("schemas by name"),
    "patternProperties": Keyword("schemas by pattern"),
    "additionalProperties": Keyword("schema"),
    "unevaluatedProperties": Keyword("schema", _NEW),
    "propertyNames": Keyword("schema"),
    "required": Keyword("names"),
    "minProperties": Keyword("count"),
    "maxProperties": Keyword("count"),
    "dependencies": Keyword("dependencies"),
    "dependentRequired": Keyword("names by name", _NEW),
    "dependentSchemas": Keyword("schemas by name", _NEW),
    "allOf": Keyword("schemas"),
    "anyOf": Keyword("schemas"),
    "oneOf": Keyword("schemas"),
    "not": Keyword("schema"),
    "if": Keyword("schema"),
    "then": Keyword("schema"),
    "else": Keyword("schema"),
}
"""Each keyword: the shape of its value, and the dialects that have it.

.. versionadded:: 0.1
"""

SCHEMAS_BY_NAME = frozenset(
    name for name, one in KEYWORDS.items() if one.shape in ("schemas by name", "schemas by pattern", "dependencies")
)
"""Keywords of either dialect that hold schemas by name: such a name is not a keyword, whatever it is.

.. versionadded:: 0.1
"""

SCHEMA_KEYWORDS = frozenset(name for name, one in KEYWORDS.items() if one.shape in ("schema", "schemas", "items"))
"""Keywords of either dialect that hold a schema, or a list of some.

.. versionadded:: 0.1
"""

TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
"""The words of `type`.

.. versionadded:: 0.1
"""

IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependencies", "dependentSchemas")
"""Keywords whose subschemas look at the very value that the schema looks at: here a circle of references never ends."""

FORMATS = frozenset(
    (
        "date-time",
        "date",
        "time",
        "duration",
        "email",
        "idn-email",
        "hostname",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uuid",
        "uri-template",
        "json-pointer",
        "relative-json-pointer",
        "regex",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float",
        "double",
        "decimal",
        "byte",
        "binary",
        "base64url",
        "password",
        "char",
    )
)
"""Formats that a plugin's own schema may name: those of the drafts, and some of OpenAPI's. They describe; no validator
of this project refuses a value by them.

.. versionadded:: 0.1
"""


def dialect_of(schema: Any) -> Dialect | None:
    """The dialect that `$schema` names, 2020-12 where it names none; None for any other.

    .. versionadded:: 0.1
    """
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    if uri is None:
        return DRAFT_2020
    return DIALECTS.get(uri.rstrip("#")) if isinstance(uri, str) else None


def subschemas(schema: dict[str, Any], dialect: Dialect) -> list[tuple[tuple[str | int, ...], Any]]:
    """Every schema directly inside `schema`, as (path from it, subschema); values that are not schemas are left out.

    .. versionadded:: 0.1
    """
    found: list[tuple[tuple[str | int, ...], Any]] = []
    if dialect == DRAFT_7 and isinstance(schema.get("$ref"), str):
        # In draft 7 a reference hides what stands beside it, but others may still refer to what is hidden.
        names: tuple[str, ...] = tuple(name for name in ("definitions", "$defs") if name in schema)
    else:
        names = tuple(schema)
    for name in names:
        keyword = KEYWORDS.get(name)
        if keyword is None or dialect not in keyword.dialects:
            continue
        value = schema[name]
        if name in SCHEMA_KEYWORDS:
            if isinstance(value, (dict, bool)):
                found.append(((name,), value))
            elif isinstance(value, list):
                found += [((name, n), item) for n, item in enumerate(value) if isinstance(item, (dict, bool))]
        elif name in SCHEMAS_BY_NAME and isinstance(value, dict):
            found += [((name, key), item) for key, item in value.items() if isinstance(item, (dict, bool))]
    return found
