"""JSON Schema: what hints may say, what a schema says, what is wrong with it or with a value, and which name was meant.

A tool's schema is derived from the hints of its function, so most plugins need no more of this than the bounds::

    from typing import Annotated
    from pegboard.schema import Ge, Le

    def roll(sides: Annotated[int, "how many sides", Ge(2), Le(1000)]) -> int: ...

What brings schemas of its own (a source, a dialect, a validator) looks at them here. Nothing in it does I/O, nothing is
ever fetched, and everything is bounded, since schemas and values come from outside. JSON *text* from outside is read by
`pegboard.schema.jsontext`. Each name is imported when it is asked for.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.starting import lazy_names

if TYPE_CHECKING:
    from pegboard._frozen import share as share_parts
    from pegboard.schema.check import faults_of as faults_of_schema
    from pegboard.schema.check import is_plain
    from pegboard.schema.derive import Signature
    from pegboard.schema.draft7 import in_2020_12
    from pegboard.schema.equality import same as are_equal
    from pegboard.schema.explain import Document
    from pegboard.schema.explain import explain as faults_of_value
    from pegboard.schema.flat import FlatObject
    from pegboard.schema.keywords import (
        DRAFT_7,
        DRAFT_2020,
        FORMATS,
        KEYWORDS,
        SCHEMA_KEYWORDS,
        SCHEMAS_BY_NAME,
        TYPES,
        dialect_of,
        subschemas,
    )
    from pegboard.schema.kinds import kind_of
    from pegboard.schema.markers import Description, Ge, Gt, Le, Lt, MaxLen, MinLen, MultipleOf, Pattern
    from pegboard.schema.near import NearNames, hint_of
    from pegboard.schema.near import listed as listed_names
    from pegboard.schema.patterns import MAX_PATTERN, ForeignPatternError, PatternError
    from pegboard.schema.patterns import compiled as compile_pattern
    from pegboard.schema.patterns import search as search_pattern
    from pegboard.schema.refs import References, base_inside
    from pegboard.schema.structure import structure_all
    from pegboard.schema.traits import Finder, hidden_values, may_explode
    from pegboard.schema.unstructure import unstructure as to_json_value

__all__ = [
    "DRAFT_7",
    "DRAFT_2020",
    "FORMATS",
    "KEYWORDS",
    "MAX_PATTERN",
    "SCHEMAS_BY_NAME",
    "SCHEMA_KEYWORDS",
    "TYPES",
    "Description",
    "Document",
    "Finder",
    "FlatObject",
    "ForeignPatternError",
    "Ge",
    "Gt",
    "Le",
    "Lt",
    "MaxLen",
    "MinLen",
    "MultipleOf",
    "NearNames",
    "Pattern",
    "PatternError",
    "References",
    "Signature",
    "are_equal",
    "base_inside",
    "compile_pattern",
    "dialect_of",
    "faults_of_schema",
    "faults_of_value",
    "hidden_values",
    "hint_of",
    "in_2020_12",
    "is_plain",
    "kind_of",
    "listed_names",
    "may_explode",
    "search_pattern",
    "share_parts",
    "structure_all",
    "subschemas",
    "to_json_value",
]

__getattr__ = lazy_names(
    __name__,
    {
        ".._frozen": ("share_parts = share",),
        ".check": ("faults_of_schema = faults_of", "is_plain"),
        ".derive": ("Signature",),
        ".draft7": ("in_2020_12",),
        ".equality": ("are_equal = same",),
        ".explain": ("Document", "faults_of_value = explain"),
        ".flat": ("FlatObject",),
        ".keywords": (
            "DRAFT_7",
            "DRAFT_2020",
            "FORMATS",
            "KEYWORDS",
            "SCHEMAS_BY_NAME",
            "SCHEMA_KEYWORDS",
            "TYPES",
            "dialect_of",
            "subschemas",
        ),
        ".kinds": ("kind_of",),
        ".markers": ("Description", "Ge", "Gt", "Le", "Lt", "MaxLen", "MinLen", "MultipleOf", "Pattern"),
        ".near": ("NearNames", "hint_of", "listed_names = listed"),
        ".patterns": (
            "MAX_PATTERN",
            "ForeignPatternError",
            "PatternError",
            "compile_pattern = compiled",
            "search_pattern = search",
        ),
        ".refs": ("References", "base_inside"),
        ".structure": ("structure_all",),
        ".traits": ("Finder", "hidden_values", "may_explode"),
        ".unstructure": ("to_json_value = unstructure",),
    },
)
