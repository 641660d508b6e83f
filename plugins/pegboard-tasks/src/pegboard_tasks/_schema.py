"""The shapes of the tools' data. Apart from the code that makes it, so that listing the tools imports only this."""

from __future__ import annotations

from typing import Any, Literal

Status = Literal["all", "pending", "completed"]
Ambiguous = Literal["newest", "conflict"]

MAX_TITLE = 500
"""Characters of a title, and of the text that looks for one."""
MAX_PAGE = 500
"""Tasks of one page."""
PAGE_BYTES = 4_000_000
"""Room for the largest page there can be, with every character escaped: once as data, once as text."""

_ITEM: dict[str, Any] = {
    "id": {"type": "string", "description": "a UUID; tasks that were added later have greater ones"},
    "title": {"type": "string"},
    "completed": {"type": "boolean"},
}
_MATCHED: dict[str, Any] = {
    "matched": {"type": "integer", "minimum": 1, "description": "how many tasks the identifier matched"}
}


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


ADDED_SCHEMA = _object({**_ITEM, "created_at": {"type": "string", "description": "ISO 8601 in UTC, with Z"}})
LIST_SCHEMA = _object(
    {
        "tasks": {"type": "array", "items": _object(_ITEM), "description": "the newest first"},
        "total": {"type": "integer", "description": "all tasks of the user, whatever the filter"},
        "pending": {"type": "integer"},
        "completed": {"type": "integer"},
        "next_cursor": {"type": "string", "description": "only where there are more: the cursor of the next page"},
    },
    optional=("next_cursor",),
)
COMPLETED_SCHEMA = _object(
    {**_ITEM, "completed_at": {"type": "string", "description": "ISO 8601 in UTC, with Z"}, **_MATCHED}
)
DELETED_SCHEMA = _object({**_ITEM, **_MATCHED})
UPDATED_SCHEMA = _object({**_ITEM, "previous_title": {"type": "string"}, **_MATCHED})
