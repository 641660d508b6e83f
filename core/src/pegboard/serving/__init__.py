"""The former name of `pegboard_serving`, which pegboard-serving brings; it goes with 0.2."""

from pegboard._renamed import former_module

__getattr__ = former_module(__name__, "pegboard_serving")
