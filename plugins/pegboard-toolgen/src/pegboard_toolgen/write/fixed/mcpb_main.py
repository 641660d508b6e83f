"""Start the board on the manifest of this bundle, as an MCP server on its standard input and output.

`tool.manifest.json` and `pegboard.toml` lie beside this file: programs that work in the folder above theirs stay in the
bundle then. The Python that runs it needs pegboard, pegboard-mcp and pegboard-manifest.
"""

from __future__ import annotations

import os
from pathlib import Path


def main() -> None:
    """Serve until the client goes away."""
    from pegboard.cli import main as pegboard

    os.chdir(Path(__file__).resolve().parent)
    pegboard(["--config", "pegboard.toml", "serve"])


if __name__ == "__main__":
    main()
