"""The former name of `pegboard.registry.plugins` and of what stands beside it; it goes with 0.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard._renamed import former_module

if TYPE_CHECKING:
    from pegboard.registry.asking import PluginRecord as PluginRecord
    from pegboard.registry.plugins import BUILTINS as BUILTINS
    from pegboard.registry.plugins import Plugins as Plugins
    from pegboard.registry.plugins import load_plugins as load_plugins

__getattr__ = former_module(
    __name__,
    "pegboard.registry.plugins",
    moved={"MAX_ANSWERS": "pegboard.registry.asking", "WATCHER": "pegboard.registry.asking"},
)
