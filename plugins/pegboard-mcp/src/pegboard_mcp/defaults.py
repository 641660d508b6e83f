"""What holds for a server where nothing else is said, and between which bounds. Settings and servers share it."""

from __future__ import annotations

from typing import Any

from pegboard.limits import JSON_BYTES

CONNECT_S = 30.0
INSTALL_S = 120.0
REQUEST_S = 60.0
SSE_READ_S = 300.0
MAX_S = 7 * 24 * 3600.0
MAX_MESSAGE_BYTES = JSON_BYTES
"""The longest message that a server may send; a longer one ends the connection."""
SDK_RELEASE = "2.3"
"""The minor release of the MCP SDK that this package is made for; `mcp~=2.3.0` in its requirements says the same."""
MAX_COUNT = 10**9
MIN_SIZE, MAX_SIZE = 10**6, 10**13


def check_seconds(_: Any, field: Any, value: float) -> None:
    """A validator of attrs."""
    if not 0 < value <= MAX_S:
        raise ValueError(f"a number of seconds above zero, at most {MAX_S:.0f}")


def check_size(_: Any, field: Any, value: int | None) -> None:
    """A validator of attrs."""
    if value is not None and not MIN_SIZE <= value <= MAX_SIZE:
        raise ValueError(f"a whole number of bytes from {MIN_SIZE} to {MAX_SIZE}")


def check_count(_: Any, field: Any, value: int | None) -> None:
    """A validator of attrs."""
    if value is not None and not 1 <= value <= MAX_COUNT:
        raise ValueError(f"a whole number from 1 to {MAX_COUNT}")
