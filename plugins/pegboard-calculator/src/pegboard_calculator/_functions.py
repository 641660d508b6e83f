"""The functions and constants that have a name.

A function takes the arithmetic of the run and its arguments; `FUNCTIONS` says how many those may be and whether a
list may stand for several. Its `usage` is what an error shows.
"""

from __future__ import annotations

from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from math import factorial as exact_factorial
from typing import TYPE_CHECKING, NamedTuple

from pegboard_calculator._mistakes import Mistake
from pegboard_calculator._numbers import MAX_BITS, Exact, Number, Pi, Real, bits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pegboard_calculator._numbers import Arithmetic

MAX_PLACES = 1_000
MAX_FACTORIAL = 2_000
MANY = 10**9


class Function(NamedTuple):
    """A function: how it is written, how many numbers it takes, whether they may come as a list."""

    usage: str
    fewest: int
    most: int
    run: Callable[[Arithmetic, Sequence[Number]], Number]
    lists: bool = False


def absolute(a: Arithmetic, x: Number) -> Number:
    return a.negative(x) if a.sign(x) < 0 else x


def ceiling(a: Arithmetic, x: Number) -> Number:
    return -a.floor(a.negative(x))


def truncate(a: Arithmetic, x: Number) -> Number:
    return a.floor(x) if a.sign(x) >= 0 else -a.floor(a.negative(x))


def round_half_away(a: Arithmetic, arguments: Sequence[Number]) -> Number:
    """To `places` decimals; a half goes away from 0, as people do it by hand."""
    x = arguments[0]
    places = a.whole(arguments[1], "the number of places") if len(arguments) > 1 else 0
    if abs(places) > MAX_PLACES:
        raise Mistake(f"a number is rounded to between -{MAX_PLACES:,} and {MAX_PLACES:,} places")
    if isinstance(x, int) and places >= 0:
        return x
    unit = Fraction(10) ** -places
    steps = a.floor(a.add(a.divide(absolute(a, x), unit), Fraction(1, 2)))
    return a.multiply(steps if a.sign(x) >= 0 else -steps, unit)


def total(a: Arithmetic, numbers: Sequence[Number]) -> Number:
    result: Number = 0
    for number in numbers:
        result = a.add(result, number)
    return result


def mean(a: Arithmetic, numbers: Sequence[Number]) -> Number:
    return a.divide(total(a, numbers), len(numbers))


def smallest(a: Arithmetic, numbers: Sequence[Number]) -> Number:
    result = numbers[0]
    for number in numbers[1:]:
        if a.compare(number, result) < 0:
            result = number
    return result


def greatest(a: Arithmetic, numbers: Sequence[Number]) -> Number:
    return a.negative(smallest(a, [a.negative(number) for number in numbers]))


def hypotenuse(a: Arithmetic, numbers: Sequence[Number]) -> Number:
    return a.square_root(total(a, [a.multiply(x, x) for x in numbers]))


def cube_root(a: Arithmetic, x: Number) -> Number:
    if a.sign(x) < 0:
        return a.negative(a.power(a.negative(x), Fraction(1, 3)))
    return a.power(x, Fraction(1, 3))


def logarithm(a: Arithmetic, arguments: Sequence[Number]) -> Number:
    """Natural, or to the base that is given."""
    if len(arguments) == 1:
        return a.logarithm(arguments[0])
    return logarithm_to_base(a, arguments[0], arguments[1])


def logarithm_to_base(a: Arithmetic, x: Number, base: Number) -> Number:
    a.check_logarithm(base)
    if a.compare(base, 1) == 0:
        raise Mistake("there is no logarithm to the base 1")
    if x == 1:
        return 0
    quotient = a.logarithm10(x) if base == 10 else a.divide(a.logarithm(x), a.logarithm(base))
    if isinstance(quotient, Real) and isinstance(x, int | Fraction) and isinstance(base, int | Fraction):
        return exact_logarithm(a, x, base, quotient) or quotient
    return quotient


def exact_logarithm(a: Arithmetic, x: Exact, base: Exact, quotient: Real) -> Exact | None:
    """The p/q with `base**p == x**q`, for small q, that lies in the interval of the logarithm."""
    for q in range(1, 7):
        low, high = a.down.multiply(quotient.lo, Decimal(q)), a.up.multiply(quotient.hi, Decimal(q))
        p = int(high.to_integral_value(ROUND_FLOOR))
        if p < low:
            continue
        if max(bits(base) * abs(p), bits(x) * q) > 4 * MAX_BITS:
            return None
        a.meter.charge(50 + (bits(x) * q >> 5) ** 2 // 2_000)
        if Fraction(base) ** p == Fraction(x) ** q:
            return Fraction(p, q) if q > 1 else p
    return None


def factorial(a: Arithmetic, x: Number) -> Number:
    n = a.whole(x, "factorial")
    if n < 0:
        raise Mistake("the factorial of a negative number is not defined")
    if n > MAX_FACTORIAL:
        raise Mistake(f"the factorial of more than {MAX_FACTORIAL:,} has too many digits")
    a.meter.charge(n // 8)
    return a.settle(exact_factorial(n))


def over_whole_numbers(name: str, step: Callable[[Arithmetic, int, int], Number]) -> Callable[..., Number]:
    def run(a: Arithmetic, numbers: Sequence[Number]) -> Number:
        result = abs(a.whole(numbers[0], name))
        for number in numbers[1:]:
            result = a.whole(step(a, result, abs(a.whole(number, name))), name)
        return result

    return run


def degrees(a: Arithmetic, x: Number) -> Number:
    return a.divide(a.multiply(x, 180), Pi(1))


def radians(a: Arithmetic, x: Number) -> Number:
    return a.multiply(x, Pi(Fraction(1, 180)))


def _of_one(usage: str, run: Callable[[Arithmetic, Number], Number]) -> Function:
    return Function(usage, 1, 1, lambda a, x: run(a, x[0]))


def _of_two(usage: str, run: Callable[[Arithmetic, Number, Number], Number]) -> Function:
    return Function(usage, 2, 2, lambda a, x: run(a, x[0], x[1]))


def _of_many(usage: str, run: Callable[[Arithmetic, Sequence[Number]], Number], fewest: int = 1) -> Function:
    return Function(usage, fewest, MANY, run, lists=True)


FUNCTIONS: dict[str, Function] = {
    "abs": _of_one("abs(x)", absolute),
    "round": Function("round(x) or round(x, places)", 1, 2, round_half_away),
    "floor": _of_one("floor(x)", lambda a, x: a.floor(x)),
    "ceil": _of_one("ceil(x)", ceiling),
    "trunc": _of_one("trunc(x)", truncate),
    "min": _of_many("min(a, b, ...)", smallest),
    "max": _of_many("max(a, b, ...)", greatest),
    "sum": _of_many("sum(a, b, ...)", total, 0),
    "mean": _of_many("mean(a, b, ...)", mean),
    "gcd": _of_many("gcd(a, b, ...)", over_whole_numbers("gcd", lambda a, x, y: a.greatest_common_divisor(x, y))),
    "lcm": _of_many("lcm(a, b, ...)", over_whole_numbers("lcm", lambda a, x, y: a.least_common_multiple(x, y))),
    "hypot": _of_many("hypot(a, b, ...)", hypotenuse),
    "mod": _of_two("mod(a, b)", lambda a, x, y: a.modulo(x, y)),
    "pow": _of_two("pow(a, b)", lambda a, x, y: a.power(x, y)),
    "sqrt": _of_one("sqrt(x)", lambda a, x: a.square_root(x)),
    "cbrt": _of_one("cbrt(x)", cube_root),
    "exp": _of_one("exp(x)", lambda a, x: a.exponential(x)),
    "log": Function("log(x) or log(x, base)", 1, 2, logarithm),
    "ln": _of_one("ln(x)", lambda a, x: a.logarithm(x)),
    "log10": _of_one("log10(x)", lambda a, x: logarithm_to_base(a, x, 10)),
    "log2": _of_one("log2(x)", lambda a, x: logarithm_to_base(a, x, 2)),
    "factorial": _of_one("factorial(n)", factorial),
    "sin": _of_one("sin(x)", lambda a, x: a.sine(x)),
    "cos": _of_one("cos(x)", lambda a, x: a.cosine(x)),
    "tan": _of_one("tan(x)", lambda a, x: a.tangent(x)),
    "asin": _of_one("asin(x)", lambda a, x: a.arcsine(x)),
    "acos": _of_one("acos(x)", lambda a, x: a.arccosine(x)),
    "atan": _of_one("atan(x)", lambda a, x: a.arctangent(x)),
    "degrees": _of_one("degrees(x)", degrees),
    "radians": _of_one("radians(x)", radians),
}

CONSTANTS: dict[str, Callable[[Arithmetic], Number]] = {
    "pi": lambda a: Pi(1),
    "π": lambda a: Pi(1),
    "tau": lambda a: Pi(2),
    "e": lambda a: a.exponential(1),
}
