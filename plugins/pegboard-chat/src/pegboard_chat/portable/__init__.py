"""Tools in the words of each provider: schemas in its subset, names in its alphabet, results as it carries them.

A dialect of a provider is a `PortableExport`; a `Profile` says what the provider takes of JSON Schema, and those of the
known ones are here. Nothing here does I/O, and nothing imports trio or httpx2.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegboard_chat.conversation import own_id
    from pegboard_chat.portable.calls import (
        INVALID_JSON,
        MAX_BROKEN,
        NO_NAME,
        draw_id,
        kept_arguments,
        kept_text,
        object_in,
        refused,
        take_id,
        take_name,
    )
    from pegboard_chat.portable.compile import Compiled, compile_schema
    from pegboard_chat.portable.content import label_of, split_blocks, split_results, text_of, text_of_block
    from pegboard_chat.portable.export import PortableExport, alias_of
    from pegboard_chat.portable.profiles import (
        ANTHROPIC_PLAIN,
        ANTHROPIC_STRICT,
        COHERE_PLAIN,
        COHERE_STRICT,
        GEMINI_JSON_SCHEMA,
        GEMINI_PARAMETERS,
        OPENAI_COMPATIBLE,
        OPENAI_STRICT,
        Profile,
    )

__all__ = [
    "ANTHROPIC_PLAIN",
    "ANTHROPIC_STRICT",
    "COHERE_PLAIN",
    "COHERE_STRICT",
    "GEMINI_JSON_SCHEMA",
    "GEMINI_PARAMETERS",
    "INVALID_JSON",
    "MAX_BROKEN",
    "NO_NAME",
    "OPENAI_COMPATIBLE",
    "OPENAI_STRICT",
    "Compiled",
    "PortableExport",
    "Profile",
    "alias_of",
    "compile_schema",
    "draw_id",
    "kept_arguments",
    "kept_text",
    "label_of",
    "object_in",
    "own_id",
    "refused",
    "split_blocks",
    "split_results",
    "take_id",
    "take_name",
    "text_of",
    "text_of_block",
]

_HOMES = {
    "ANTHROPIC_PLAIN": "pegboard_chat.portable.profiles",
    "ANTHROPIC_STRICT": "pegboard_chat.portable.profiles",
    "COHERE_PLAIN": "pegboard_chat.portable.profiles",
    "COHERE_STRICT": "pegboard_chat.portable.profiles",
    "GEMINI_JSON_SCHEMA": "pegboard_chat.portable.profiles",
    "GEMINI_PARAMETERS": "pegboard_chat.portable.profiles",
    "INVALID_JSON": "pegboard_chat.portable.calls",
    "MAX_BROKEN": "pegboard_chat.portable.calls",
    "NO_NAME": "pegboard_chat.portable.calls",
    "OPENAI_COMPATIBLE": "pegboard_chat.portable.profiles",
    "OPENAI_STRICT": "pegboard_chat.portable.profiles",
    "Compiled": "pegboard_chat.portable.compile",
    "PortableExport": "pegboard_chat.portable.export",
    "Profile": "pegboard_chat.portable.profiles",
    "alias_of": "pegboard_chat.portable.export",
    "compile_schema": "pegboard_chat.portable.compile",
    "draw_id": "pegboard_chat.portable.calls",
    "kept_arguments": "pegboard_chat.portable.calls",
    "kept_text": "pegboard_chat.portable.calls",
    "label_of": "pegboard_chat.portable.content",
    "object_in": "pegboard_chat.portable.calls",
    "own_id": "pegboard_chat.conversation",
    "refused": "pegboard_chat.portable.calls",
    "split_blocks": "pegboard_chat.portable.content",
    "split_results": "pegboard_chat.portable.content",
    "take_id": "pegboard_chat.portable.calls",
    "take_name": "pegboard_chat.portable.calls",
    "text_of": "pegboard_chat.portable.content",
    "text_of_block": "pegboard_chat.portable.content",
}
"""Where each name lives; a module is imported when one of its names is asked for: every start of a board comes here."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
