"""Take values out of third-party JSON: each of the right type and bounded, or nothing."""

from __future__ import annotations

from typing import Any

Json = Any
MAX_TEXT = 20_000


def text(value: Json, limit: int = MAX_TEXT) -> str:
    """A text, shortened; anything else is an empty one."""
    return value[:limit] if isinstance(value, str) else ""


def flag(node: dict[str, Json], key: str) -> bool:
    """Whether it says `true`; anything else is no."""
    return node.get(key) is True


def number(value: Json, otherwise: int) -> int:
    """A whole number, or what stands for it."""
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


def items(value: Json) -> list[Json]:
    """A list; anything else is an empty one."""
    return value if isinstance(value, list) else []


def names(value: Json, limit: int = 20) -> tuple[str, ...]:
    """The texts of a list that could be a flag or a name."""
    return tuple(one for one in items(value)[:limit] if isinstance(one, str) and 0 < len(one) <= 128)
