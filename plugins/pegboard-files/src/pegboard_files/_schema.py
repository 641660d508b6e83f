"""The shapes that callers see. Apart from the code that fills them, so that listing the tools imports only this."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen
class Edit:
    """One replacement.

    Args:
        old_text: what is replaced, exactly as it stands in the file, indentation included.
        new_text: what comes in its place.
        replace_all: whether every occurrence is meant; else old_text has to occur exactly once.

    .. versionadded:: 0.1
    """

    old_text: str
    new_text: str
    replace_all: bool = False


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


_TEXT: dict[str, Any] = {"type": "string"}
_COUNT: dict[str, Any] = {"type": "integer"}
_FLAG: dict[str, Any] = {"type": "boolean"}
_PATH = {"type": "string", "description": "as it was asked for"}
_TRUNCATED = {"type": "boolean", "description": "whether there is more than is shown"}

ENTRY = _object(
    {
        "name": _TEXT,
        "path": {"type": "string", "description": "relative to its root"},
        "type": {"type": "string", "enum": ["file", "directory", "symlink", "other"]},
        "size": {"type": ["integer", "null"], "description": "in bytes; null for folders"},
        "modified": {"type": ["string", "null"], "description": "UTC, as in 2026-07-06T14:30:00Z"},
    }
)

READ_SCHEMA = _object(
    {"path": _PATH, "size": {"type": "integer", "description": "of the whole file, in bytes"}},
    {
        "mime_type": {"type": "string", "description": "of what is not text"},
        "encoding": _TEXT,
        "bom": {"type": "boolean", "description": "whether the file begins with a byte order mark, which is not shown"},
        "newline": {"type": "string", "enum": ["lf", "crlf", "mixed", "none"]},
        "offset": {"type": "integer", "description": "lines that were passed over"},
        "lines": {"type": "integer", "description": "lines that are shown"},
        "truncated": _TRUNCATED,
        "next_offset": {"type": ["integer", "null"], "description": "the offset to read on with"},
    },
)
WRITE_SCHEMA = _object({"path": _PATH, "bytes": _COUNT, "created": _FLAG})
EDIT_SCHEMA = _object({"path": _PATH, "dry_run": _FLAG, "replacements": _COUNT, "changed": _FLAG, "diff": _TEXT})
LIST_SCHEMA = _object({"path": _PATH, "entries": {"type": "array", "items": ENTRY}, "truncated": _TRUNCATED})
SEARCH_FILES_SCHEMA = _object(
    {"path": _PATH, "pattern": _TEXT, "matches": {"type": "array", "items": ENTRY}, "truncated": _TRUNCATED}
)
SEARCH_TEXT_SCHEMA = _object(
    {
        "path": _PATH,
        "matches": {
            "type": "array",
            "items": _object(
                {
                    "path": {"type": "string", "description": "relative to its root"},
                    "line": {"type": "integer", "description": "counted from 1"},
                    "text": _TEXT,
                },
                {"before": {"type": "array", "items": _TEXT}, "after": {"type": "array", "items": _TEXT}},
            ),
        },
        "files": {"type": "integer", "description": "files with a match that is shown"},
        "skipped": {"type": "integer", "description": "files that were binary, too large or not to be read"},
        "truncated": _TRUNCATED,
        "engine": {"type": "string", "enum": ["ripgrep", "own"]},
    }
)
