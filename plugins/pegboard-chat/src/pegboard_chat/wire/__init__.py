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

from typing import TYPE_CHECKING, Any

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

_HOMES = {
    "HttpModel": "pegboard_chat.wire.http_model",
    "KeyedProvider": "pegboard_chat.wire.keyed",
    "Place": "pegboard_chat.wire.faults",
    "Transport": "pegboard_chat.wire.transport",
    "error_of": "pegboard_chat.wire.faults",
    "faults_of_address": "pegboard_chat.wire.keys",
    "half_answer": "pegboard_chat.wire.faults",
    "key_for": "pegboard_chat.wire.keys",
    "list_entries": "pegboard_chat.wire.listing",
    "missing_key": "pegboard_chat.wire.keys",
    "open_transport": "pegboard_chat.wire.transport",
    "read_json": "pegboard_chat.wire.faults",
    "tokens_of": "pegboard_chat.conversation",
}
"""Where each name lives; a module is imported when one of its names is asked for: every start of a board comes here."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
