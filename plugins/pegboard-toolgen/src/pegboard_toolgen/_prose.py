"""Texts of a third-party document, as they may be shown to people and models."""

from __future__ import annotations

import re
from typing import Any

from pegboard_manifest import sanitise

Json = Any

_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,2000}>|<!--[^<>]{0,2000}-->")


def prose(text: Json, limit: int) -> str:
    """A description: without HTML's markup, clean, at most `limit` characters; empty where it is not text."""
    if not isinstance(text, str):
        return ""
    text = text[: limit * 8]
    if _MARKUP.search(text):
        import html

        text = html.unescape(_MARKUP.sub("", text))
    return sanitise(text, limit).strip()


def line(text: Json, limit: int) -> str:
    """A title or a name: as `prose`, in one line."""
    return " ".join(prose(text, limit).split())


def shown(text: Json) -> str:
    """A short foreign text for a sentence, in quotes."""
    return f"'{sanitise(str(text), 60, one_line=True)}'"
