"""The hooks of pegboard-manifest. Nothing here reads a manifest: the source does, when the board is loaded."""

from __future__ import annotations
