"""The former name of `pegboard_mcp.capabilities`; it goes with 0.2."""

from pegboard._renamed import former_module

__getattr__ = former_module(
    __name__,
    "pegboard_mcp.capabilities",
    {
        "Offers": "Capabilities",
        "Reader": "ResourceReader",
        "find_offers": "find_capabilities",
        "open_offers": "open_capabilities",
    },
)
