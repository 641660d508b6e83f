"""The shape of a roll's data. Apart from the code that makes it, so that listing the tool imports only this."""

from __future__ import annotations

from typing import Any

ROLL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "notation": {"type": "string", "description": "what was rolled, in its shortest spelling"},
        "total": {"type": "integer"},
        "terms": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "notation": {"type": "string"},
                    "sign": {"type": "integer", "enum": [1, -1]},
                    "value": {"type": "integer", "description": "what the term adds to the total, its sign included"},
                    "dice": {
                        "type": "array",
                        "description": "every throw in its order; empty for a number",
                        "items": {
                            "type": "object",
                            "properties": {
                                "value": {"type": "integer"},
                                "kept": {"type": "boolean", "description": "whether it counts"},
                                "exploded": {
                                    "type": "boolean",
                                    "description": "the next die was thrown on top",
                                },
                                "rerolled": {"type": "boolean", "description": "the next die was thrown instead"},
                            },
                            "required": ["value", "kept", "exploded", "rerolled"],
                            "additionalProperties": False,
                        },
                    },
                    "cut": {"type": "boolean", "description": "whether a die was thrown again as often as one may be"},
                },
                "required": ["notation", "sign", "value", "dice", "cut"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["notation", "total", "terms"],
    "additionalProperties": False,
}
