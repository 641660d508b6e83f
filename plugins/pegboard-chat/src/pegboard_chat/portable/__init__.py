"""Tools in the words of each provider: schemas in its subset, names in its alphabet, results as it carries them.

Nothing here does I/O, and nothing imports trio or httpx2.
"""

from __future__ import annotations

from pegboard_chat.portable.compile import Compiled, compile_schema
from pegboard_chat.portable.export import PortableExport, alias_of
from pegboard_chat.portable.profiles import Profile

__all__ = ["Compiled", "PortableExport", "Profile", "alias_of", "compile_schema"]
