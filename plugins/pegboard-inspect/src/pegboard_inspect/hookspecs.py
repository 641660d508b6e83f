"""The hook of pegboard-inspect; other plugins implement it with `@hookimpl(optionalhook=True)`.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard_inspect.pages import Page

hookspec = pluggy.HookspecMarker("pegboard")


@hookspec
def provide_pages(settings: Any) -> Iterable[Page] | None:
    """Give pages that `pegboard inspect` has beside its own.

    Fires once when the board is inspected. `settings` are the plugin's own. None: none. An exception loses the pages of
    this plugin alone, and quarantines it.

    .. versionadded:: 0.1
    """
