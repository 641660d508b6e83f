"""The former name of `pegboard.registry.checks`; it goes with 0.2."""

from __future__ import annotations

from pegboard._renamed import former_module

__getattr__ = former_module(
    __name__, "pegboard.registry.checks", moved={"checked_validator": "pegboard.registry.planning"}
)
