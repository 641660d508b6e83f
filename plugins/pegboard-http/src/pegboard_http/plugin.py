"""The hooks of pegboard-http. Nothing here imports Starlette or hypercorn: `pegboard gateway` does."""

from __future__ import annotations
