"""What holds for a server where nothing else is said. Settings are made of it alone, without `definitions`."""

from __future__ import annotations

CONNECT_S = 30.0
INSTALL_S = 120.0
REQUEST_S = 60.0
SSE_READ_S = 300.0
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""The longest message that a server may send; a longer one ends the connection."""
