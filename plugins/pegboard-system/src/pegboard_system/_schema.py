"""The shapes of the tools' data. Apart from the code that makes it, so that listing the tools imports only this."""

from __future__ import annotations

from typing import Any, Literal

Level = Literal["rlimits", "landlock", "bubblewrap"]
LEVELS: tuple[Level, ...] = ("rlimits", "landlock", "bubblewrap")
"""The isolations, the weakest first."""

ECHO_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"message": {"type": "string"}},
    "required": ["message"],
    "additionalProperties": False,
}

SYSTEM_KEYS = ("platform", "system", "release", "version", "machine", "processor", "python_version", "cwd", "user")

SYSTEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {key: {"type": "string"} for key in SYSTEM_KEYS},
    "required": list(SYSTEM_KEYS),
    "additionalProperties": False,
}

COMMAND_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "exit_code": {"type": "integer", "description": "0 is success; 128 + N: ended by the signal N"},
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "truncated": {"type": "boolean", "description": "whether there was more output than stands here"},
        "level": {"type": "string", "enum": list(LEVELS), "description": "the isolation that was in force"},
        "encoding": {
            "type": "string",
            "enum": ["utf-8", "escaped"],
            "description": "escaped: a byte that is not UTF-8 stands as \\xNN, and a backslash as two, in both texts",
        },
    },
    "required": ["exit_code", "stdout", "stderr", "truncated", "level", "encoding"],
    "additionalProperties": False,
}
