"""Numbers that are given as options."""

from __future__ import annotations

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A number in a range; `nan` and `inf`, which click takes, are refused.

    .. versionadded:: 0.1
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """What was written, as a number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a valid float.", param, ctx)
        return number
