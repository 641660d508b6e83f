"""Tools in the words of each provider: schemas in its subset, names in its alphabet, results as it carries them.

A dialect of a provider is a `PortableExport`; a `Profile` says what the provider takes of JSON Schema, and those of the
known ones are here. Nothing here does I/O, and nothing imports trio or httpx2.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.starting import lazy_names

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

__getattr__ = lazy_names(
    __name__,
    {
        ".calls": (
            "INVALID_JSON",
            "MAX_BROKEN",
            "NO_NAME",
            "draw_id",
            "kept_arguments",
            "kept_text",
            "object_in",
            "refused",
            "take_id",
            "take_name",
        ),
        ".compile": ("Compiled", "compile_schema"),
        ".content": ("label_of", "split_blocks", "split_results", "text_of", "text_of_block"),
        ".export": ("PortableExport", "alias_of"),
        ".profiles": (
            "ANTHROPIC_PLAIN",
            "ANTHROPIC_STRICT",
            "COHERE_PLAIN",
            "COHERE_STRICT",
            "GEMINI_JSON_SCHEMA",
            "GEMINI_PARAMETERS",
            "OPENAI_COMPATIBLE",
            "OPENAI_STRICT",
            "Profile",
        ),
        "pegboard_chat.conversation": ("own_id",),
    },
)
