"""The hooks of pegboard-dice. The module is a plugin; `DicePlugin` takes a source of randomness of your own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from pegboard import hookimpl, setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pegboard import Tool
    from pegboard_dice._throwing import Randomness


@attrs.frozen
class DiceSettings:
    """`[plugins.dice]`.

    .. versionadded:: 0.1
    """

    seed: int | None = setting(
        default=None,
        help="rolls that repeat: every session throws the same dice in the same order; for tests, not games",
    )


class DicePlugin:
    """The dice tool by a source of randomness of yours: `open_host(plugins=[DicePlugin(lambda session: loaded)])`.

    Args:
        randomness: gives a session its source; None for what the settings say.

    .. versionadded:: 0.1
    """

    name = "dice"

    def __init__(self, randomness: Callable[[Any], Randomness] | None = None) -> None:
        self._randomness = randomness

    @hookimpl
    def provide_settings(self) -> type[DiceSettings]:
        """`seed`."""
        return DiceSettings

    @hookimpl
    def provide_tools(self, settings: DiceSettings) -> Iterable[Tool]:
        """`roll_dice`."""
        from pegboard_dice.tools import make_tools

        if self._randomness is not None or settings.seed is None:
            return make_tools(self._randomness)
        from pegboard_dice._randomness import seeded

        return make_tools(seeded(settings.seed))


_plugin = DicePlugin()

# Bound methods carry the mark of their functions.
provide_settings = _plugin.provide_settings
provide_tools = _plugin.provide_tools
