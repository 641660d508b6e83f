"""The board in a browser: find tools, call them by a form, see calls as they happen.

`pegboard inspect` serves it. A plugin adds a page of its own with the hook `provide_pages` and a `Page`.

    access     who is let in: a one-time token, which becomes a cookie           no I/O
    catalogue  the tools of a board as rows, what they cost, one of them whole   no I/O
    recording  calls as they happen, in batches that are bounded                 no I/O
    elsewhere  calls of the user's other programs, read from their audit
    judging    what there is to look at in what a source says
    messages   messages to and from one source                                   no I/O
    calling    one call from the page, or one stream: progress, log lines, questions, result
    asked_page what a server that is inspected alone asks, answered by hand
    web        requests and answers of ASGI, as far as they are needed here
    app        what is served under which address, and to whom
    serving    the app on a socket, and its end
    static     the page: ES modules that are served as they are

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard.starting import lazy_names

if TYPE_CHECKING:
    from pegboard_inspect.pages import Page, PageStream
    from pegboard_inspect.serving import inspecting, serve_inspector, told_by

__all__ = ["Page", "PageStream", "inspecting", "serve_inspector", "told_by"]

__getattr__ = lazy_names(
    __name__,
    {
        ".pages": ("Page", "PageStream"),
        ".serving": ("inspecting", "serve_inspector", "told_by"),
    },
)
