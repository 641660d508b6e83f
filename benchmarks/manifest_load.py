"""`manifest_load.py COUNT`: what loading a board with a manifest of so many tools takes, in milliseconds of wall time.

One process a figure, so that nothing is compiled beforehand; the host and its plugins are imported.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from contestants.pegboard_bindings import many_tools

from pegboard import load_board


def main(count):
    """Print the figure as JSON."""
    with tempfile.TemporaryDirectory(prefix="pegboard-bench-") as folder:
        file = Path(folder) / "tool.manifest.json"
        file.write_text(json.dumps(many_tools(count)))
        load_board({})  # the plugins are imported: what is timed is the manifest
        began = time.perf_counter()
        board = load_board({"plugins": {"manifest": {"files": [str(file)]}}})
        took = time.perf_counter() - began
        assert len(board.visible_tools().plans) >= count
    print(json.dumps({"load_ms": took * 1e3}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
