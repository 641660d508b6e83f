"""The `mcp` SDK's own client, on trio."""

from contestants.bridge_sdk import open_contestant

RUNNER = "trio"

__all__ = ["RUNNER", "open_contestant"]
