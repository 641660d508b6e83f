"""Start the board on the manifest of this bundle, as an MCP server on its standard input and output.

The bundle is this folder with `tool.manifest.json` and `pegboard.toml` beside `manifest.json`; the Python that runs it
needs pegboard, pegboard-mcp and pegboard-manifest.
"""

from __future__ import annotations

import os
from pathlib import Path


def main() -> None:
    """Serve until the client goes away."""
    from pegboard.cli import main as pegboard

    os.chdir(Path(__file__).resolve().parent.parent)
    pegboard(["--config", "pegboard.toml", "serve"])


if __name__ == "__main__":
    main()
