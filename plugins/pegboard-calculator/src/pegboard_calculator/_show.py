"""A value in, an answer out: its bare text, and the same for programs.

Integers and decimals that end are shown in full (decimals up to `FULL_DIGITS` digits); everything else is rounded to
`SHOWN_DIGITS` significant digits, correctly: a half goes away from zero, and the digits shown are those of the true
value.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal, Inexact
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from pegboard_calculator._numbers import ONE, Pi, Real, largest

if TYPE_CHECKING:
    from pegboard_calculator._numbers import Arithmetic, Number

SHOWN_DIGITS = 15
FULL_DIGITS = 40
MAX_EXACT_CHARACTERS = 1_000
MAX_JSON_INTEGER = 2**53 - 1
MAX_JSON_EXPONENT = 300
SMALLEST_PLAIN = -7
LARGEST_PLAIN = 20

_ROUND = Context(prec=SHOWN_DIGITS, rounding=ROUND_HALF_UP, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


class Answer(NamedTuple):
    """The value of an expression.

    `value` is what JSON holds without loss, else its text; `exact` is the value in full where it is a fraction, else
    None; `rounded` says that the text is not.
    """

    text: str
    value: bool | int | float | str
    exact: str | None
    rounded: bool


def show(value: Number | bool, arithmetic: Arithmetic) -> Answer:
    """Write a value down.

    Raises:
        Undecided: more digits are needed to round it.
        Mistake: even the most digits do not tell.
    """
    if isinstance(value, bool):
        return Answer("true" if value else "false", value, None, arithmetic.assumed)
    if isinstance(value, int):
        return _integer(value, arithmetic)
    if isinstance(value, Fraction):
        return _fraction(value, arithmetic)
    shown = nearest(arithmetic.real(value), arithmetic)
    text = decimal_text(shown, SHOWN_DIGITS - 1)
    return Answer(
        text, _json_number(shown, text), _multiple_of_pi(value) if isinstance(value, Pi) else None, rounded=True
    )


def _integer(value: int, arithmetic: Arithmetic) -> Answer:
    arithmetic.meter.charge((value.bit_length() >> 5) ** 2 // 700)
    text = format(Decimal(value), "f")  # `str` of an int stops at a limit of the interpreter, and is slower
    return Answer(text, value if abs(value) <= MAX_JSON_INTEGER else text, text, arithmetic.assumed)


def _fraction(value: Fraction, arithmetic: Arithmetic) -> Answer:
    above, below = value.numerator, value.denominator
    arithmetic.meter.charge(((above.bit_length() + below.bit_length()) >> 5) ** 2 // 700)
    full = _terminating(above, below)
    if full is not None:
        text = decimal_text(full)
        return Answer(text, _json_number(full, text), text, arithmetic.assumed)
    shown = _ROUND.divide(Decimal(above), Decimal(below))
    exact = f"{Decimal(above):f}/{Decimal(below):f}"
    text = decimal_text(shown, SHOWN_DIGITS - 1)
    return Answer(text, _json_number(shown, text), exact if len(exact) <= MAX_EXACT_CHARACTERS else None, rounded=True)


def _terminating(above: int, below: int) -> Decimal | None:
    """The fraction as a decimal, if it ends within `FULL_DIGITS` digits."""
    context = Context(prec=FULL_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    result = context.divide(Decimal(above), Decimal(below))
    return None if context.flags[Inexact] else result


def _multiple_of_pi(value: Pi) -> str | None:
    factor = Fraction(value.factor)
    above, below = Decimal(factor.numerator), Decimal(factor.denominator)
    times = {1: "", -1: "-"}.get(factor.numerator, f"{above:f}*")
    exact = f"{times}pi/{below:f}" if factor.denominator != 1 else f"{times}pi"
    return exact if len(exact) <= MAX_EXACT_CHARACTERS else None


def nearest(x: Real, arithmetic: Arithmetic) -> Decimal:
    """The value in an interval, rounded to the digits that are shown."""
    low, high = _ROUND.plus(x.lo), _ROUND.plus(x.hi)
    if low == high:
        return low
    if x.lo <= 0 <= x.hi:
        arithmetic.side(x, ONE)
        return Decimal(0)
    # the two ends round apart: with the most digits, that is a tie
    arithmetic.assume(arithmetic.is_tiny(x, largest(x)))
    return high if x.lo > 0 else low


def decimal_text(value: Decimal, largest_plain: int = LARGEST_PLAIN) -> str:
    """A decimal as people write it, in scientific notation where it would be mostly zeros, or zeros nobody knows."""
    if not value:
        return "0"
    sign, digits, _ = value.as_tuple()
    exponent = value.adjusted()
    figures = "".join(map(str, digits)).rstrip("0")
    if SMALLEST_PLAIN <= exponent <= largest_plain:
        plain = format(value, "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    point = f".{figures[1:]}" if len(figures) > 1 else ""
    return f"{'-' if sign else ''}{figures[0]}{point}e{exponent:+03d}"


def _json_number(value: Decimal, text: str) -> int | float | str:
    """A number where it stands for these digits and no others."""
    if text.removeprefix("-").isdigit() and len(text) <= SHOWN_DIGITS:
        return int(text)
    digits = len(value.as_tuple().digits)
    if digits > SHOWN_DIGITS or abs(value.adjusted()) > MAX_JSON_EXPONENT:
        return text
    return float(text)
