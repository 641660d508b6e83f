"""Make and keep a `tool.manifest.json` for an existing program, library or HTTP API."""

from __future__ import annotations

from typing import NoReturn


def main() -> NoReturn:
    """Run the program `llm-toolgen`, which ends with its exit status."""
    from pegboard_program import run

    run("pegboard_toolgen.program")
