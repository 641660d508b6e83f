"""Texts of a manifest, as they go before a model: nothing in them that a reader cannot see.

A manifest is written by a program that read the help of other programs and third-party descriptions.
"""

from __future__ import annotations

from typing import Any

from pegboard.schema import SCHEMAS_BY_NAME

MAX_TEXT = 8_000
_TEXTS = ("title", "description", "$comment")
_DATA = frozenset({"const", "default", "enum", "examples", "required", "dependentRequired", "pattern", "$ref"})


def clean_text(text: str) -> str:
    """The text without what is invisible or steers a terminal; a text of plain ASCII is given back as it is.

    .. versionadded:: 0.1
    """
    if len(text) <= MAX_TEXT and text.isascii() and text.isprintable():
        return text
    from pegboard_manifest.hygiene import sanitise

    return sanitise(text)


def clean_line(text: str) -> str:
    """The same on one line: of names, titles and messages."""
    if len(text) <= MAX_TEXT and text.isascii() and text.isprintable():
        return text
    from pegboard_manifest.hygiene import sanitise

    return sanitise(text, one_line=True)


def clean_schema(schema: Any) -> Any:
    """A schema whose titles and descriptions are clean, however deep they stand, and whatever its parts are called.

    .. versionadded:: 0.1
    """
    if isinstance(schema, dict):
        return {key: _clean_member(key, value) for key, value in schema.items()}
    return [clean_schema(item) for item in schema] if isinstance(schema, list) else schema


def _clean_member(key: str, value: Any) -> Any:
    if key in _DATA:
        return value
    if key in SCHEMAS_BY_NAME and isinstance(value, dict):  # `default` may be the name of a parameter
        return {name: clean_schema(one) for name, one in value.items()}
    return clean_text(value) if key in _TEXTS and isinstance(value, str) else clean_schema(value)
