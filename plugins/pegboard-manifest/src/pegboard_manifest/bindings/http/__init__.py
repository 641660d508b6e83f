"""Calls of an HTTP API, bound as typed data.

`request` makes a request of arguments and `answer` data or an error of what came back, both without I/O; `client` sends
and receives, through one client for the whole host; `faults` says what is wrong with a binding before any call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pegboard_manifest.document import Manifest


def run_of(entry: Mapping[str, Any], manifest: Manifest) -> str:
    """Where calls of an http binding run: in the loop.

    .. versionadded:: 0.1
    """
    return "async"


def make_handler(entry: Mapping[str, Any], manifest: Manifest) -> Callable[..., Awaitable[Any]]:
    """The handler of a tool with an http binding; the binding is compiled by its first call.

    .. versionadded:: 0.1
    """
    from pegboard_manifest.bindings.http.handler import handler_of

    return handler_of(entry, manifest)
