"""The former name of `pegboard_mcp.capabilities`; it goes with 0.2."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

_RENAMED = {
    "Offers": "Capabilities",
    "Reader": "ResourceReader",
    "find_offers": "find_capabilities",
    "open_offers": "open_capabilities",
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # what Python itself looks for: `__path__`, `__all__`
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    present = _RENAMED.get(name, name)
    value = getattr(import_module("pegboard_mcp.capabilities"), present)
    message = f"{__name__}.{name} is called pegboard_mcp.capabilities.{present} now; the former name goes with 0.2"
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return value
