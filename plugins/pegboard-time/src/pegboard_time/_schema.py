"""The shapes of the tools' data. Apart from the code that makes it, so that listing the tools imports only this."""

from __future__ import annotations

from typing import Any, Literal

Format = Literal["full", "date", "time", "iso"]

MOMENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "timezone": {"type": "string", "description": "the zone's name in the IANA database"},
        "iso": {"type": "string", "description": "ISO 8601 with the offset"},
        "date": {"type": "string", "description": "YYYY-MM-DD"},
        "time": {"type": "string", "description": "HH:MM:SS, 24 hours"},
        "weekday": {"type": "string", "description": "in English"},
        "abbreviation": {"type": "string", "description": "as in EDT"},
        "utc_offset": {"type": "string", "description": "as in -04:00"},
        "dst": {"type": "boolean", "description": "whether daylight saving time is in force"},
    },
    "required": ["timezone", "iso", "date", "time", "weekday", "abbreviation", "utc_offset", "dst"],
    "additionalProperties": False,
}

CONVERSION_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {
            "type": "string",
            "enum": ["unique", "gap", "fold"],
            "description": "gap: clocks skip this local time; fold: they show it twice",
        },
        "from": MOMENT_SCHEMA,
        "to": MOMENT_SCHEMA,
        "difference": {"type": "string", "description": "how far `to` is ahead of `from`, as in +13:00"},
        "readings": {
            "type": "array",
            "minItems": 1,
            "maxItems": 2,
            "description": "the readings of the local time; the first is the one in `from` and `to`",
            "items": {
                "type": "object",
                "properties": {
                    "from": MOMENT_SCHEMA,
                    "to": MOMENT_SCHEMA,
                    "read_with_utc_offset": {"type": "string"},
                },
                "required": ["from", "to", "read_with_utc_offset"],
                "additionalProperties": False,
            },
        },
        "change": {
            "type": ["object", "null"],
            "description": "the change of the clocks that a gap or a fold comes from",
            "properties": {"before": {"type": "string"}, "after": {"type": "string"}},
            "required": ["before", "after"],
            "additionalProperties": False,
        },
    },
    "required": ["status", "from", "to", "difference", "readings", "change"],
    "additionalProperties": False,
}
