"""The former name of `pegboard_httpclient`, which pegboard-httpclient brings; it goes with 0.2."""

from pegboard._renamed import former_module

__getattr__ = former_module(__name__, "pegboard_httpclient")
