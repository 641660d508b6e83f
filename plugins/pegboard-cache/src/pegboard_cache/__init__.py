"""Results of tools that only read, kept for a while and given again.

.. versionadded:: 0.1
"""

from __future__ import annotations

from pegboard_cache.settings import CachedTool, CacheSettings

__all__ = ["CacheSettings", "CachedTool"]
