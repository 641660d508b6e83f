"""The board as an HTTP API: `GET /openapi.json`, `GET /tools`, `POST /tools/NAME`.

`pegboard gateway` serves it. A program of your own does it with `serve_gateway`, or writes its tools down for other
clients with `document_of`. Each name is imported when it is asked for.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.starting import lazy_names

if TYPE_CHECKING:
    from pegboard_http.document import document_of
    from pegboard_http.serving import serve_gateway
    from pegboard_http.settings import HttpSettings

__all__ = ["HttpSettings", "document_of", "serve_gateway"]

__getattr__ = lazy_names(
    __name__,
    {
        ".document": ("document_of",),
        ".serving": ("serve_gateway",),
        ".settings": ("HttpSettings",),
    },
)
