"""What carries requests to providers and their answers back: one HTTP client, server-sent events, keys, errors.

`sse`, `faults` and `keys` think; `transport` talks; `http_model` puts a dialect on it. Importing any of them imports
neither trio nor httpx2: the first transport that is opened does.

Invariants:

- A request that may have been carried out is never sent a second time.
- Whatever a network or a provider does ends in an answer or in a `ModelError`, by the deadline of the request.
- No key stands in the text, the repr, the chain or the log of anything that leaves this package.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.starting import lazy_names

if TYPE_CHECKING:
    from pegboard_chat.conversation import tokens_of
    from pegboard_chat.wire.faults import Place, error_of, half_answer, read_json
    from pegboard_chat.wire.http_model import HttpModel
    from pegboard_chat.wire.keyed import KeyedProvider
    from pegboard_chat.wire.keys import faults_of_address, key_for, missing_key
    from pegboard_chat.wire.listing import list_entries
    from pegboard_chat.wire.transport import Transport, open_transport

__all__ = [
    "HttpModel",
    "KeyedProvider",
    "Place",
    "Transport",
    "error_of",
    "faults_of_address",
    "half_answer",
    "key_for",
    "list_entries",
    "missing_key",
    "open_transport",
    "read_json",
    "tokens_of",
]

__getattr__ = lazy_names(
    __name__,
    {
        ".faults": ("Place", "error_of", "half_answer", "read_json"),
        ".http_model": ("HttpModel",),
        ".keyed": ("KeyedProvider",),
        ".keys": ("faults_of_address", "key_for", "missing_key"),
        ".listing": ("list_entries",),
        ".transport": ("Transport", "open_transport"),
        "pegboard_chat.conversation": ("tokens_of",),
    },
)
