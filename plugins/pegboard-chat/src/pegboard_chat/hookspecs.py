"""The hook of pegboard-chat; other plugins implement it with `@hookimpl(optionalhook=True)`.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard_chat.contract import Provider

hookspec = pluggy.HookspecMarker("pegboard")


@hookspec
def provide_models(settings: Any) -> Iterable[Provider] | None:
    """Give providers of models: each a name that stands before the colon of `--model`, and a way to open models.

    Fires once, when the first model of a board is asked for. `settings` are the plugin's own. Keep it cheap: no
    network, no heavy import. None: none. An exception loses the providers of this plugin alone, and quarantines it.

    .. versionadded:: 0.1
    """
