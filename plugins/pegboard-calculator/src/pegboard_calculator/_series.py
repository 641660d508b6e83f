"""Pi, sine, cosine and arctangent of one decimal number, to any precision, with a bound on the error.

All of it runs on integers that stand for `n / 10**scale`. Each step of a series cuts off less than one unit; a series
has fewer steps than the scale has digits, so `GUARD` digits hold every error made here.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from math import isqrt

GUARD = 8
_SPARE: int = 10**GUARD
WIDE = Context(prec=1_600, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX)
"""Holds every number that these series take or give, without rounding."""


@lru_cache(maxsize=32)
def pi_scaled(scale: int) -> int:
    """Pi times 10**scale, off by at most one: Machin's formula, 16 atan(1/5) - 4 atan(1/239)."""
    unit: int = 10 ** (scale + GUARD)
    return (16 * _atan_inverse(5, unit) - 4 * _atan_inverse(239, unit)) // _SPARE


def _atan_inverse(n: int, unit: int) -> int:
    total = power = unit // n
    square = n * n
    divisor, sign = 3, -1
    while power:
        power //= square
        total += sign * (power // divisor)
        divisor, sign = divisor + 2, -sign
    return total


def scaled(x: Decimal, scale: int) -> int:
    """`x * 10**scale`, cut to an integer."""
    return int(WIDE.scaleb(x, scale))


def unscaled(n: int, scale: int) -> Decimal:
    """`n / 10**scale`, exactly."""
    return WIDE.scaleb(Decimal(n), -scale)


def sine_and_cosine(x: int, scale: int) -> tuple[int, int]:
    """Sine and cosine of `x / 10**scale`, each off by less than 10**GUARD units of the scale.

    The argument is brought below pi/4, so that about half as many terms as digits are enough.
    """
    spare = max(0, len(str(abs(x))) - scale) + GUARD  # digits that reduction by many turns would eat
    pi = pi_scaled(scale + spare)
    x *= 10**spare
    turns = (4 * x + pi) // (2 * pi)
    rest = (x - turns * pi // 2) // 10**spare
    sine, cosine = _sine_series(rest, scale), _cosine_series(rest, scale)
    quarter = turns & 3
    if quarter == 0:
        return sine, cosine
    if quarter == 1:
        return cosine, -sine
    if quarter == 2:
        return -sine, -cosine
    return -cosine, sine


def _sine_series(x: int, scale: int) -> int:
    return _alternating(x, x, 2, scale)


def _cosine_series(x: int, scale: int) -> int:
    return _alternating(10**scale, x, 1, scale)


def _alternating(first: int, x: int, n: int, scale: int) -> int:
    unit = 10**scale
    square = x * x // unit
    total = term = first
    while term:
        term = -term * square // (unit * n * (n + 1))
        if term == -1:
            break  # floor division of a negative number never comes to 0
        total += term
        n += 2
    return total


def arctangent(x: int, scale: int) -> int:
    """Arctangent of `x / 10**scale`, off by less than 10**GUARD units of the scale.

    `atan(1/x)` takes the place of `atan(x)` above 1; halving the angle four times leaves an argument below 0.05.
    """
    unit = 10**scale
    if abs(x) > unit:
        right_angle = pi_scaled(scale) // 2
        rest = arctangent(unit * unit // x, scale)
        return right_angle - rest if x > 0 else -right_angle - rest
    halvings = 4
    for _ in range(halvings):
        x = x * unit // (unit + isqrt(unit * unit + x * x))
    square = x * x // unit
    total = power = x
    n = 3
    while power not in (0, -1):
        power = -power * square // unit
        total += power // n
        n += 2
    return total << halvings
