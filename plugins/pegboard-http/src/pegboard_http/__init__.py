"""The board as an HTTP API: `GET /openapi.json`, `GET /tools`, `POST /tools/NAME`.

`pegboard gateway` serves it. A program of your own does it with `serve_gateway`, or writes its tools down for other
clients with `document_of`. Each name is imported when it is asked for.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pegboard_http.document import document_of
    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings

__all__ = ["HttpSettings", "document_of", "serve_gateway"]

_HOMES = {"HttpSettings": "settings", "document_of": "document", "serve_gateway": "serving"}
"""Where each name lives; every start of a board comes here."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
