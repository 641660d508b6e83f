"""The shapes of the tools' data, and the bounds of what they take. Apart from the code that makes them, so that listing
the tools imports only this."""

from __future__ import annotations

from typing import Any

MAX_TEXT = 10_000
"""Characters of one memory."""
MAX_TAGS = 20
MAX_TAG = 50
"""Characters of one tag."""
MAX_LIMIT = 100
MAX_ID = 100

_PUBLIC_FIELDS: dict[str, Any] = {
    "id": {"type": "string", "description": "what forget_memory takes"},
    "text": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "created_at": {"type": "string", "description": "UTC, as 2026-07-06T14:30:00.000Z"},
}

MEMORY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": _PUBLIC_FIELDS,
    "required": ["id", "text", "tags", "created_at"],
    "additionalProperties": False,
}

FOUND_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "memories": {
            "type": "array",
            "description": "the best first; the newest first where the query was blank",
            "items": {
                "type": "object",
                "properties": {
                    **_PUBLIC_FIELDS,
                    "score": {
                        "type": "number",
                        "description": "0 to 1, higher is better; to be compared within one search only",
                    },
                },
                "required": ["id", "text", "tags", "created_at", "score"],
                "additionalProperties": False,
            },
        },
        "total": {"type": "integer", "description": "how many memories the user has, found or not"},
    },
    "required": ["memories", "total"],
    "additionalProperties": False,
}
