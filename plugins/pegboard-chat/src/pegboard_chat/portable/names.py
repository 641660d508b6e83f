"""Names that every provider takes, made from the name alone, so that they are the same tomorrow."""

from __future__ import annotations

import re
from hashlib import sha256

MAX_ALIAS = 64
_SAFE = re.compile(rf"[a-zA-Z_][a-zA-Z0-9_-]{{0,{MAX_ALIAS - 1}}}", re.ASCII)
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]+")
DIGITS = 8


def alias_for(name: str, *, digits: int = DIGITS) -> str:
    """A name of `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$` for any name: what can be kept of it, and a hash of all of it.

    Args:
        name: any text.
        digits: hex digits of the hash; more of them where two names meet.
    """
    start = _UNSAFE.sub("_", name).strip("_")[: MAX_ALIAS - digits - 2].rstrip("_-")
    if not start or not (start[0].isalpha() or start[0] == "_"):
        start = f"_{start}"
    return f"{start}_{sha256(name.encode('utf-8', 'replace')).hexdigest()[:digits]}"


def is_safe(name: str) -> bool:
    """Whether every provider takes the name as it is."""
    return _SAFE.fullmatch(name) is not None
