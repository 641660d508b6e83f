"""stub"""

from __future__ import annotations
import re
from functools import lru_cache


@lru_cache(512)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None


def search(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found in the text; None where that cannot be said within bounds."""
    found = _compiled(pattern)
    return None if found is None else found.search(text) is not None
