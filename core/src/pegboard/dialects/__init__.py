"""What a dialect is made of, and the two that come with the core: `text` for people, `json` for programs.

Both are plugins on the public API. A dialect (`provide_dialects`) that keeps names and loses nothing is a
`SimpleExport` of two functions; what a model sends becomes calls by `call_of` and `no_call`; `tokens_of` is what
definitions cost a model. A dialect of a model provider, with its own schemas and names, is a
`pegboard_chat.portable.PortableExport`.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.starting import lazy_names

if TYPE_CHECKING:
    from pegboard.dialects._common import SimpleExport, call_of, id_of, no_call, tokens_of
    from pegboard.dialects.json import describe, listed

__all__ = ["SimpleExport", "call_of", "describe", "id_of", "listed", "no_call", "tokens_of"]

__getattr__ = lazy_names(
    __name__,
    {"._common": ("SimpleExport", "call_of", "id_of", "no_call", "tokens_of"), ".json": ("describe", "listed")},
)
