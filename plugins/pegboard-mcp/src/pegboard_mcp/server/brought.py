"""What other plugins bring where a setting names them: a store for tasks, a carrier of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard import ConfigError
from pegboard.errors import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

    from pegboard import Board


def brought(board: Board, hook: str, setting: str, name: str, known: Iterable[str] = ()) -> Any:
    """What the plugin of that name brings.

    Args:
        board: with its plugins.
        hook: by which it brings it.
        setting: of `[plugins.mcp]` that names it.
        name: of the plugin.
        known: what the setting may say beside names of plugins.

    Raises:
        ConfigError: there is no such plugin, or it brings nothing.
    """
    plugins = board.plugins
    offered = [record for record, _ in plugins.implementations(hook)] if hasattr(plugins.manager.hook, hook) else []

    def failed(record: Any, where: str, problem: BaseException) -> NoReturn:
        raise ConfigError(
            f"{setting} = {name!r}: the plugin {record.label} failed: {reason_of(problem)}",
            hint=f"repair [plugins.{record.name}], or name another one",
        ) from problem

    if all(record.name != name for record in offered):
        names = sorted({*known, *(record.name for record in offered)})
        hint = (
            f"one of: {', '.join(names)}" if names else "no plugin on this board brings one: pip install pegboard-nats"
        )
        raise ConfigError(f"{setting} = {name[:60]!r}: no plugin of that name brings one", hint=hint)
    for _, found in plugins.ask(hook, None, failed, lambda record: record.name == name):
        return found
    raise ConfigError(
        f"{setting} = {name!r}: the plugin brought none", hint=f"repair [plugins.{name}], or name another one"
    )
