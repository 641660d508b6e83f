"""The hooks of pegboard-toolgen: one command."""

from __future__ import annotations
