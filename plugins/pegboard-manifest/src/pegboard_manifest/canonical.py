"""One byte form of a JSON value, and the digests that are made of it.

Two values that JSON holds for equal have the same bytes: keys are sorted, nothing is put between tokens, every
character beyond ASCII is escaped, and a number that is whole is written as one (`1.0` is `1`). The order of lists is
meaning and stays.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from pegboard_manifest.projection import project

if TYPE_CHECKING:
    from collections.abc import Mapping

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode

SAFE_INTEGER = 2**53
"""Up to here every whole float is the integer it looks like."""

_PUBLIC_MEMBERS = ("name", "title", "description", "category", "risk", "idempotency", "annotations")
_ACTION = ("timeout_ms", "binding", "errors", "error_schema", "constraints")
_PLACES = {"subprocess": ("programs", "program"), "python": ("modules", "module"), "http": ("servers", "server")}


def canonical_bytes(value: Any) -> bytes:
    """The one byte form of a JSON value.

    Raises:
        ValueError: it holds NaN or an infinity, or itself.
        TypeError: it is not a JSON value.

    .. versionadded:: 0.1
    """
    return _encode(_whole(value)).encode("ascii")


def digest(value: Any) -> str:
    """SHA-256 of the canonical bytes: `sha256:` and 64 hexadecimal digits.

    .. versionadded:: 0.1
    """
    return "sha256:" + hashlib.sha256(canonical_bytes(value)).hexdigest()


def fingerprint_of(tool: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, str]:
    """The fingerprint of one tool: `face` is what a model sees, `action` what a call does.

    The schemas are taken as the model gets them, so that a shared definition counts for the tools that use it. The
    program, server or module that the binding names is part of the action. Recorded outputs and provenance are part of
    neither.

    Raises:
        ProjectionError: a schema points to a definition that is not there.

    .. versionadded:: 0.1
    """
    defs = document.get("$defs", {})
    definition = {key: tool[key] for key in _PUBLIC_MEMBERS if key in tool}
    for key in ("input_schema", "output_schema"):
        if key in tool:
            definition[key] = project(tool[key], defs)
    definition["examples"] = [
        {key: example[key] for key in ("description", "input") if key in example}
        for example in tool.get("examples", ())
    ]
    action = {key: tool[key] for key in _ACTION if key in tool}
    section, member = _PLACES[tool["binding"]["kind"]]
    action["place"] = document.get(section, {}).get(tool["binding"].get(member))
    return {"face": digest(definition), "action": digest(action)}


def fingerprint_of_document(document: Mapping[str, Any]) -> dict[str, str]:
    """The fingerprint of a whole manifest: that of its tools, in the order of their names.

    .. versionadded:: 0.1
    """
    prints = {tool["name"]: fingerprint_of(tool, document) for tool in document["tools"]}
    return {part: digest({name: one[part] for name, one in prints.items()}) for part in ("face", "action")}


def _whole(value: Any) -> Any:
    """The value with whole floats as integers; what holds none of them is not copied."""
    kind = type(value)
    if kind is float:
        return int(value) if value.is_integer() and -SAFE_INTEGER <= value <= SAFE_INTEGER else value
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return value
