"""The former name of `pegboard.registry.visible`; it goes with 0.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pegboard._renamed import former_module

if TYPE_CHECKING:
    from pegboard.registry.visible import ProfileTools as ProfileTools
    from pegboard.registry.visible import VisibleTools as VisibleTools

__getattr__ = former_module(__name__, "pegboard.registry.visible", {"AllTools": "VisibleTools"})
