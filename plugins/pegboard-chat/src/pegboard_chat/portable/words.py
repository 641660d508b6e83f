"""Keywords that a provider does not take, as words that a model understands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_SHOWN = 300
"""How much of a schema or value is written out, in characters."""
MAX_WORDS = 2_000
"""How long the words added to one description may be together, in characters."""


_encoder = json.JSONEncoder(ensure_ascii=False)
_pieces = _encoder.iterencode


def show(value: Any, limit: int = MAX_SHOWN) -> str:
    """A JSON value in one line, cut where it is long."""
    if isinstance(value, str) and len(value) > limit:
        value = value[:limit]
    if not isinstance(value, (dict, list)):
        text = _encoder.encode(value)
    else:
        text = ""
        for piece in _pieces(value):
            text += piece
            if len(text) > limit:
                break
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _number(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else show(value, 40)


def _count(noun: str, nouns: str, bound: str) -> Callable[[Any], str]:
    return lambda value: f"{bound} {_number(value)} {noun if value == 1 else nouns}"


def _names(names: Any) -> str:
    return ", ".join(show(name, 60) for name in list(names)[:20])


def _needs(value: Mapping[str, Any]) -> str:
    return "; ".join(f"with {show(name, 60)} also give {_names(others)}" for name, others in list(value.items())[:10])


def _choice(word: str) -> Callable[[Any], str]:
    def say(branches: list[Any]) -> str:
        if all(isinstance(branch, dict) and branch.keys() == {"required"} for branch in branches):
            return f"give {word} of: " + " | ".join(_names(branch["required"]) for branch in branches[:20])
        return f"must fit {word} of: " + " | ".join(show(branch) for branch in branches[:6])

    return say


WORDS: dict[str, Callable[[Any], str]] = {
    "minimum": lambda value: f"at least {_number(value)}",
    "maximum": lambda value: f"at most {_number(value)}",
    "exclusiveMinimum": lambda value: f"above {_number(value)}",
    "exclusiveMaximum": lambda value: f"below {_number(value)}",
    "multipleOf": lambda value: f"a multiple of {_number(value)}",
    "minLength": _count("character", "characters", "at least"),
    "maxLength": _count("character", "characters", "at most"),
    "pattern": lambda value: f"matches the regular expression {show(value)}",
    "format": lambda value: f"format: {show(value, 60)[1:-1]}",
    "contentEncoding": lambda value: f"encoded as {show(value, 60)[1:-1]}",
    "contentMediaType": lambda value: f"of the media type {show(value, 60)[1:-1]}",
    "minItems": _count("item", "items", "at least"),
    "maxItems": _count("item", "items", "at most"),
    "uniqueItems": lambda value: "all items different" if value else "",
    "prefixItems": lambda value: f"the items in order: {show(value)}",
    "items": lambda value: f"every further item: {show(value)}" if value is not False else "no further items",
    "contains": lambda value: f"contains an item that fits {show(value)}",
    "minContains": lambda value: f"at least {_number(value)} of those",
    "maxContains": lambda value: f"at most {_number(value)} of those",
    "minProperties": _count("property", "properties", "at least"),
    "maxProperties": _count("property", "properties", "at most"),
    "required": lambda value: f"needs {_names(value)}",
    "patternProperties": lambda value: "; ".join(
        f"properties whose names match {show(name, 80)}: {show(item)}" for name, item in list(value.items())[:10]
    ),
    "additionalProperties": lambda value: "no other properties" if value is False else f"any other: {show(value)}",
    "unevaluatedProperties": lambda value: "no other properties" if value is False else f"any other: {show(value)}",
    "unevaluatedItems": lambda value: "no further items" if value is False else f"every further item: {show(value)}",
    "propertyNames": lambda value: f"names of properties fit {show(value)}",
    "dependentRequired": _needs,
    "dependentSchemas": lambda value: "; ".join(
        f"with {show(name, 60)} it fits {show(item)}" for name, item in list(value.items())[:10]
    ),
    "allOf": lambda value: "also fits " + " and ".join(show(item) for item in value[:6]),
    "anyOf": _choice("at least one"),
    "oneOf": _choice("exactly one"),
    "not": lambda value: f"must not fit {show(value)}",
    "if": lambda value: f"if it fits {show(value)}",
    "then": lambda value: f"then it fits {show(value)}",
    "else": lambda value: f"else it fits {show(value)}",
    "enum": lambda value: f"one of {show(value)}",
    "const": lambda value: f"always {show(value)}",
    "default": lambda value: f"default {show(value)}",
    "examples": lambda value: f"for example {', '.join(show(item, 100) for item in value[:4])}" if value else "",
    "deprecated": lambda value: "deprecated" if value else "",
    "readOnly": lambda value: "read-only" if value else "",
    "writeOnly": lambda value: "write-only" if value else "",
}
"""How each keyword is said; an empty text where there is nothing worth saying."""


def say(keyword: str, value: Any) -> str:
    """One keyword with its value, as words; empty where it says nothing to a model."""
    return WORDS[keyword](value) if keyword in WORDS else ""


def described(description: str | None, words: list[str]) -> str | None:
    """A description with the words behind it, in parentheses."""
    text = "; ".join(word for word in words if word)
    if len(text) > MAX_WORDS:
        text = f"{text[: MAX_WORDS - 1]}…"
    if not text:
        return description
    return f"{description.rstrip()} ({text})" if description else f"({text})"
