"""What each provider takes of JSON Schema, as tables: the compiler and the page of the dialects read them.

A profile names what is kept; everything else is rewritten where that is exact, and said in words where it is not. A
strict profile is one whose provider holds the model to the schema, and refuses the whole request where a schema is not
of its subset; it names the profile that a tool falls back to. The sources are the providers' pages of November 2026:

- OpenAI, "Structured model outputs", supported schemas: objects closed and every key required, at most 5,000
  properties, 10 levels, 1,000 enum values, 120,000 characters of names and values; no allOf, not, if, dependent...
- Anthropic, "Structured outputs", JSON Schema limitations: no recursion, no bounds of numbers and lengths, minItems 0
  or 1; per request 20 strict tools, 24 optional parameters, 16 parameters that are unions. Names of the root's
  properties are of `[a-zA-Z0-9_.-]{1,64}`, strict or not.
- Cohere, "Structured outputs" for tools: one switch for all tools of a request, 200 fields together, at least one
  required parameter a tool; no composition but anyOf, no bounds, four formats.
- Google, `Schema` and `FunctionDeclaration` of the Gemini API: `parameters` is a subset of OpenAPI 3.0 without
  references, `parametersJsonSchema` a subset of JSON Schema.
"""

from __future__ import annotations

from typing import Literal

import attrs

ANNOTATIONS = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"})
_STRUCTURE = frozenset({"type", "enum", "properties", "required", "additionalProperties", "items", "anyOf"})
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})

JSON_SCHEMA = (
    _STRUCTURE
    | ANNOTATIONS
    | _NUMBERS
    | frozenset(
        {
            *("const", "format", "pattern", "minLength", "maxLength", "contentEncoding", "contentMediaType"),
            *("prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems"),
            *("patternProperties", "propertyNames", "minProperties", "maxProperties"),
            *("dependentRequired", "dependentSchemas", "allOf", "oneOf", "not", "if", "then", "else", "$ref", "$defs"),
        }
    )
)
"""What the compiled form of a whole schema is written in: 2020-12, of which only `unevaluated...`, anchors and dynamic
references are missing; the compiler rewrites them."""


@attrs.frozen(eq=False, repr=False)
class Profile:
    """What one provider takes of JSON Schema.

    Args:
        name: of the profile, for losses and documents.
        keywords: what is kept; `additionalProperties` may be bound to `false` by `closed`, `minItems` by `min_items`.
        formats: the values of `format` that are kept; None: all.
        enum_kinds: the JSON types whose values may stand in `enum`.
        typed: every schema names one type (and null), or is a union of such.
        nullable: how null is said beside another type: `type` as a list, the keyword `nullable`, or never: then an
            optional property whose default is null is left out instead.
        upper_types: types are written `STRING`, as OpenAPI's enumeration of the Gemini API has them.
        closed: every object says `additionalProperties: false`; one that is open cannot be said.
        all_required: every property is required; an optional one becomes nullable.
        known_required: only names under `properties` may be required.
        items_required: an array says what its items are.
        recursion: a reference may lead back to where it stands; else circles are cut after `max_unrolled` rounds.
        min_items: the values of `minItems` that are kept; None: all.
        property_names: the pattern of the names of the root's properties; others get an alias. None: any name.
        first_apart: alternatives that are objects begin with different properties, or with different values of one.
        max_unrolled: how often a recursive definition is written out, one in the other.
        max_levels: levels of objects and arrays.
        max_properties: properties in the whole schema.
        max_enum: values of all enums.
        max_text: characters of all names, enum values and constants.
        max_description: characters of the tool's description.
        needs_required: at least one property of the root is required.
        max_tools: how many tools of a request may be strict.
        max_optional: optional properties of all strict tools of a request.
        max_unions: properties that are unions, of all strict tools of a request.
        max_fields: properties of all strict tools of a request.
        together: strict is said once for all tools of a request: one that cannot be strict keeps all from it.
        fallback: the profile for a tool that cannot be said in this one; it marks this one as strict.

    .. versionadded:: 0.1
    """

    name: str
    keywords: frozenset[str]
    formats: frozenset[str] | None = None
    enum_kinds: frozenset[str] = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})
    typed: bool = False
    nullable: Literal["type", "keyword", "never"] = "type"
    upper_types: bool = False
    closed: bool = False
    all_required: bool = False
    known_required: bool = False
    items_required: bool = False
    recursion: bool = False
    min_items: tuple[int, ...] | None = None
    property_names: str | None = None
    first_apart: bool = False
    max_unrolled: int = 2
    max_levels: int | None = None
    max_properties: int | None = None
    max_enum: int | None = None
    max_text: int | None = None
    max_description: int | None = None
    needs_required: bool = False
    max_tools: int | None = None
    max_optional: int | None = None
    max_unions: int | None = None
    max_fields: int | None = None
    together: bool = False
    fallback: Profile | None = None

    def __repr__(self) -> str:
        return f"<profile {self.name}>"

    @property
    def strict(self) -> bool:
        """Whether the provider holds the model to the schema."""
        return self.fallback is not None


_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_DRAFT_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)

OPENAI_PLAIN = Profile("openai plain", JSON_SCHEMA, items_required=True, recursion=True, max_description=1024)
OPENAI_STRICT = Profile(
    "openai strict",
    _STRUCTURE
    | _NUMBERS
    | {"title", "description", "const", "pattern", "format", "minItems", "maxItems", "$ref", "$defs"},
    formats=_DRAFT_FORMATS - {"uri"},
    enum_kinds=_SCALARS,
    typed=True,
    closed=True,
    all_required=True,
    known_required=True,
    items_required=True,
    recursion=True,
    first_apart=True,
    max_levels=10,
    max_properties=5_000,
    max_enum=1_000,
    max_text=120_000,
    max_description=1024,
    fallback=OPENAI_PLAIN,
)
"""What OpenAI takes of the schema of a strict tool.

.. versionadded:: 0.1
"""

# llama.cpp turns the schema into a grammar, and refuses the request for a pattern that it cannot turn.
OPENAI_COMPATIBLE = Profile(
    "openai compatible", JSON_SCHEMA - {"pattern", "patternProperties"}, items_required=True, recursion=True
)
"""What servers take that speak as OpenAI does.

.. versionadded:: 0.1
"""

_ANTHROPIC_NAMES = r"[a-zA-Z0-9_.-]{1,64}"
ANTHROPIC_PLAIN = Profile("anthropic plain", JSON_SCHEMA, recursion=True, property_names=_ANTHROPIC_NAMES)
"""What Anthropic takes of the schema of a tool that it does not hold the model to.

.. versionadded:: 0.1
"""
ANTHROPIC_STRICT = Profile(
    "anthropic strict",
    _STRUCTURE | {"title", "description", "default", "const", "format", "minItems"},
    formats=_DRAFT_FORMATS,
    enum_kinds=_SCALARS,
    typed=True,
    closed=True,
    known_required=True,
    min_items=(0, 1),
    property_names=_ANTHROPIC_NAMES,
    max_tools=20,
    max_optional=24,
    max_unions=16,
    fallback=ANTHROPIC_PLAIN,
)
"""What Anthropic takes of the schema of a strict tool.

.. versionadded:: 0.1
"""

COHERE_PLAIN = Profile("cohere plain", JSON_SCHEMA)
"""What Cohere takes of the schema of a tool that it does not hold the model to.

.. versionadded:: 0.1
"""
COHERE_STRICT = Profile(
    "cohere strict",
    _STRUCTURE - {"additionalProperties"} | {"title", "description", "default", "const", "format"},
    formats=frozenset({"date-time", "uuid", "date", "time"}),
    enum_kinds=_SCALARS - {"null"},
    typed=True,
    nullable="never",
    closed=True,
    known_required=True,
    items_required=True,
    needs_required=True,
    max_fields=200,
    together=True,
    fallback=COHERE_PLAIN,
)
"""What Cohere takes where `strict_tools` is on, which is for all tools of a request.

.. versionadded:: 0.1
"""

GEMINI_PARAMETERS = Profile(
    "gemini parameters",
    _STRUCTURE - {"additionalProperties"}
    | {"title", "description", "format", "nullable", "minimum", "maximum", "minLength", "maxLength"}
    | {"pattern", "minItems", "maxItems", "minProperties", "maxProperties"},
    formats=frozenset({"date-time"}),
    enum_kinds=frozenset({"string"}),
    typed=True,
    nullable="keyword",
    upper_types=True,
    known_required=True,
    items_required=True,
)
"""What Gemini takes as `parameters`, a subset of OpenAPI.

.. versionadded:: 0.1
"""
GEMINI_JSON_SCHEMA = Profile(
    "gemini json schema",
    _STRUCTURE | {"title", "description", "format", "prefixItems", "minItems", "maxItems", "minimum", "maximum"},
    enum_kinds=frozenset({"string", "integer", "number"}),
    items_required=True,
)
"""What Gemini takes as `parametersJsonSchema`.

.. versionadded:: 0.1
"""

PROFILES = (
    OPENAI_STRICT,
    OPENAI_PLAIN,
    OPENAI_COMPATIBLE,
    ANTHROPIC_STRICT,
    ANTHROPIC_PLAIN,
    COHERE_STRICT,
    COHERE_PLAIN,
    GEMINI_PARAMETERS,
    GEMINI_JSON_SCHEMA,
)
