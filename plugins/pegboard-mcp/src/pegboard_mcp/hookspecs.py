"""Hooks of pegboard-mcp; other plugins implement them with `@hookimpl(optionalhook=True)`.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pegboard_mcp.prompts_and_resources import Prompt, Resource, ResourceTemplate
    from pegboard_mcp.server.carriers import Carrier
    from pegboard_mcp.server.task_stores import TaskStore

hookspec = pluggy.HookspecMarker("pegboard")


@hookspec
def provide_resources(settings: Any) -> Iterable[Resource | ResourceTemplate] | None:
    """Give resources and templates of resources that `pegboard serve` offers.

    Fires once when the board is served. `settings` are the plugin's own. None: none. An exception loses the resources
    of this plugin alone, and quarantines it.

    .. versionadded:: 0.1
    """


@hookspec
def provide_prompts(settings: Any) -> Iterable[Prompt] | None:
    """Give prompts that `pegboard serve` offers.

    Fires once when the board is served. `settings` are the plugin's own. None: none. An exception loses the prompts of
    this plugin alone, and quarantines it.

    .. versionadded:: 0.1
    """


@hookspec
def provide_task_store(settings: Any) -> TaskStore | None:
    """Give the store in which tasks of clients are kept.

    Fires once when the board is served, and for doctor, of the plugin alone that `[plugins.mcp] task_store` names; it
    connects when it is first asked. `settings` are the plugin's own. None, and an exception: the board is not served.

    .. versionadded:: 0.1
    """


@hookspec
def provide_carrier(settings: Any) -> Carrier | None:
    """Give what carries requests to the instance that they belong to.

    Fires once when the board is served, and for doctor, of the plugin alone that `[plugins.mcp] carrier` names; it
    connects when it is opened. `settings` are the plugin's own. None, and an exception: the board is not served.

    .. versionadded:: 0.1
    """
