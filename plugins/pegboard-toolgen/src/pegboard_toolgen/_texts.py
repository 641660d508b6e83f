"""Texts and JSON as they leave: harmless on a terminal, and the same bytes for the same value everywhere."""

from __future__ import annotations

import functools
import json
import re
import shlex
from json.encoder import encode_basestring
from typing import Any

from pegboard.text import visible
from pegboard_manifest import sanitise

_NOT_ASCII = re.compile(r"[^\x20-\x7e\n]")


def shown(value: object, limit: int = 200) -> str:
    """A foreign text in one line that a terminal takes for nothing but text, shortened to `limit` characters."""
    text = visible(" ".join(str(value)[: limit * 4].split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def as_word(value: object, limit: int = 200) -> str:
    """The same as one word of a command line, for a person to copy."""
    return shlex.quote(shown(value, limit))


def to_bytes(value: Any, *, sort_keys: bool = True) -> bytes:
    """A JSON value as it stands in our files: sorted keys, two spaces, UTF-8, a last line break; nothing hides."""
    return (show_hidden(indented(value, 2, sort_keys=sort_keys)) + "\n").encode()


def indented(value: Any, step: int, *, sort_keys: bool = False) -> str:
    """What `json.dumps(value, indent=step, ensure_ascii=False, allow_nan=False)` says, in a third of its time.

    That writes every bracket by a chain of generators as deep as the value; its C code knows no indent. Manifests of
    services are tens of megabytes of schemas, and are written three times.
    """
    dumps = functools.partial(json.dumps, ensure_ascii=False, allow_nan=False)
    quote, pad = encode_basestring, " " * step

    def written(value: Any, line: str) -> str:
        inner = line + pad
        if value.__class__ is dict:
            if not value:
                return "{}"
            pairs = sorted(value.items()) if sort_keys else value.items()
            parts = [
                f"{quote(key)}: {quote(item) if item.__class__ is str else written(item, inner)}" for key, item in pairs
            ]
            return f"{{{inner}{f',{inner}'.join(parts)}{line}}}"
        if value.__class__ is list:
            if not value:
                return "[]"
            parts = [quote(item) if item.__class__ is str else written(item, inner) for item in value]
            return f"[{inner}{f',{inner}'.join(parts)}{line}]"
        if isinstance(value, (dict, list, tuple)):  # a subclass, or a tuple
            return written(dict(value) if isinstance(value, dict) else [*value], line)
        return dumps(value)

    return written(value, "\n")


def show_hidden(text: str) -> str:
    """A text of JSON, with every character that shows nothing written as `\\uXXXX`: the value is the same."""
    return _NOT_ASCII.sub(lambda match: _shown_sign(match[0]), text)


@functools.lru_cache(maxsize=4096)
def _shown_sign(sign: str) -> str:
    return sign if sanitise(sign) == sign else json.dumps(sign)[1:-1]


def to_line(value: Any) -> str:
    """A JSON value in one line, by which two values are compared: sorted keys, no spaces, `1` and `1.0` apart."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 tool`, `2 tools`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
