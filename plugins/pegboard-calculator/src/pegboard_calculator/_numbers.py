"""The numbers of the calculator, and arithmetic on them.

A number is an `int` or a `Fraction` (exact), a `Pi` (an exact multiple of pi) or a `Real`: an interval with decimal
ends that holds the true value. Every operation on intervals rounds the lower end down and the upper end up, so what
is known is always known for certain. Where that is not enough - to round a value to 15 digits, to compare, to take
the floor - `Undecided` asks for the whole to be run again with more digits. With the most digits, an interval around
a boundary that is narrower than `TINY` counts as being on it (`sqrt(2)**2 == 2`), and `Arithmetic.assumed` says so.

Bounds, held before a result is made: exact numbers have at most `MAX_BITS` bits above and below the line; ends of
intervals have an exponent of at most `MAX_EXPONENT`; every operation is charged to a `Meter` that the whole run
shares. An integer that grows too large is refused; a fraction that does becomes an interval.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import gcd, isqrt
from typing import TYPE_CHECKING, NamedTuple

from pegboard_calculator import _series as series
from pegboard_calculator._mistakes import Mistake, Undecided

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_BITS = 14_000
MAX_DIGITS = 4_214
MAX_EXPONENT = 1_000_000
MAX_ANGLE_DIGITS = 100
PRECISIONS = (40, 110, 240)
TINY = Decimal("1e-100")
ONE = Decimal(1)


class Pi(NamedTuple):
    """An exact multiple of pi; the factor is never 0. Sines of these are often exact."""

    factor: int | Fraction


class Real(NamedTuple):
    """An interval that holds a value which is not known exactly."""

    lo: Decimal
    hi: Decimal


Exact = int | Fraction
Number = int | Fraction | Pi | Real


class Meter:
    """Counts work, in units of about a microsecond, and stops a run that needs too much of it."""

    BUDGET = 2_500

    def __init__(self, budget: int = BUDGET) -> None:
        self.left = budget

    def charge(self, units: int) -> None:
        """Take `units` off.

        Raises:
            Mistake: nothing is left.
        """
        self.left -= units
        if self.left < 0:
            raise Mistake("this takes too much work; split it, or use smaller numbers or fewer functions")


def too_large() -> Mistake:
    return Mistake(
        f"the result has more than {MAX_DIGITS:,} digits; use smaller numbers, or logarithms: log10(a**b) is b*log10(a)"
    )


def out_of_range() -> Mistake:
    return Mistake(f"the result lies beyond 10**{MAX_EXPONENT} or closer to 0 than 10**-{MAX_EXPONENT}")


def no_number_left() -> Mistake:
    return Mistake(
        f"{PRECISIONS[-1]} digits do not tell the result: too much cancels out, or too many places are asked for"
    )


def bits(x: Exact) -> int:
    """How large a number is to work with: the bits above and below its line."""
    return x.bit_length() if isinstance(x, int) else x.numerator.bit_length() + x.denominator.bit_length()


def plain(x: Exact) -> Exact:
    """An `int` where the denominator is 1."""
    return x if isinstance(x, int) or x.denominator != 1 else x.numerator


def integer_root(n: int, degree: int) -> int:
    """The largest r with `r**degree <= n`, by Newton's method from above."""
    if degree == 2:
        return isqrt(n)
    if n < 2:
        return n
    root = 1 << -(-n.bit_length() // degree)
    while (nearer := ((degree - 1) * root + n // root ** (degree - 1)) // degree) < root:
        root = nearer
    return root


def largest(x: Real) -> Decimal:
    """The end that is further from 0, without its sign."""
    return max(x.lo.copy_abs(), x.hi.copy_abs())


class Arithmetic:
    """Operations on numbers with a given number of digits.

    Args:
        digits: significant digits of the ends of intervals.
        meter: what work is charged to.
        final: whether nobody can ask for more digits.
    """

    def __init__(self, digits: int, meter: Meter, *, final: bool) -> None:
        self.digits = digits
        self.final = final
        self.meter = meter
        self.assumed = False
        self.down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
        self.up = Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
        # measured: an exponential takes about 9, 28 and 150 us with the digits of PRECISIONS
        self.price = {40: 10, 110: 30}.get(digits, 150)

    # --- from and to intervals

    def real(self, x: Number) -> Real:
        """The interval of any number."""
        if isinstance(x, Real):
            return x
        if isinstance(x, Pi):
            return self.multiply_intervals(self.pi(), self.real(x.factor))
        self.meter.charge(1 + (bits(x) >> 5) ** 2 // 500)
        if isinstance(x, int):
            value = Decimal(x)
            return Real(self.down.plus(value), self.up.plus(value))
        above, below = Decimal(x.numerator), Decimal(x.denominator)
        return Real(self.down.divide(above, below), self.up.divide(above, below))

    def pi(self) -> Real:
        scale = self.digits + 2
        low = series.pi_scaled(scale) - 2
        return Real(self.down.plus(series.unscaled(low, scale)), self.up.plus(series.unscaled(low + 4, scale)))

    def around(self, value: Decimal, error: Decimal) -> Real:
        return Real(self.down.subtract(value, error), self.up.add(value, error))

    def bounded(self, lo: Decimal, hi: Decimal) -> Real:
        """The interval, if its ends are neither too far from 0 nor, on one side of it, too near.

        Raises:
            Mistake: they are.
        """
        for end in (lo, hi):
            if not end.is_finite() or (end and end.adjusted() > MAX_EXPONENT):
                raise out_of_range()
        if (lo > 0 and lo.adjusted() < -MAX_EXPONENT) or (hi < 0 and hi.adjusted() < -MAX_EXPONENT):
            raise out_of_range()
        return Real(lo, hi)

    def settle(self, x: Exact) -> Number:
        """An exact result as it may go on: within bounds, or as an interval.

        Raises:
            Mistake: it is an integer of too many bits.
        """
        x = plain(x)
        if isinstance(x, int):
            if x.bit_length() > MAX_BITS:
                raise too_large()
            return x
        if max(x.numerator.bit_length(), x.denominator.bit_length()) > MAX_BITS:
            return self.real(x)
        return x

    # --- what intervals cannot always tell

    def sign(self, x: Number) -> int:
        """-1, 0 or 1.

        Raises:
            Undecided: more digits are needed.
            Mistake: even the most digits do not tell.
        """
        if isinstance(x, Pi):
            x = x.factor
        if isinstance(x, Real):
            return self.side(x, ONE)
        return (x > 0) - (x < 0)

    def side(self, x: Real, scale: Decimal) -> int:
        """On which side of 0 an interval lies; across it counts as 0 if it is tiny beside `scale`."""
        if x.lo > 0:
            return 1
        if x.hi < 0:
            return -1
        self.assume(self.is_tiny(x, scale))
        return 0

    def is_tiny(self, x: Real, scale: Decimal) -> bool:
        return self.up.subtract(x.hi, x.lo) <= self.up.multiply(TINY, scale)

    def assume(self, likely: bool, /) -> None:
        """Take a value to lie on a boundary, if no more digits can be had and it is that near."""
        if not self.final:
            raise Undecided
        if not likely:
            raise no_number_left()
        self.assumed = True

    def compare(self, a: Number, b: Number) -> int:
        """-1, 0 or 1 as a is below, at or above b."""
        if isinstance(a, Pi) and isinstance(b, Pi):
            a, b = a.factor, b.factor
        if isinstance(a, int | Fraction) and isinstance(b, int | Fraction):
            self.meter.charge(1 + (bits(a) >> 5) * (bits(b) >> 5) // 2_000)
            return (a > b) - (a < b)
        left, right = self.real(a), self.real(b)
        return self.side(self.subtract_intervals(left, right), max(ONE, left.lo.copy_abs(), right.lo.copy_abs()))

    def floor(self, x: Number) -> int:
        if isinstance(x, int | Fraction):
            return x.__floor__()
        interval = self.real(x)
        if largest(interval).adjusted() > MAX_DIGITS:
            raise too_large()
        self.meter.charge(self.price)
        low, high = (int(end.to_integral_value(ROUND_FLOOR)) for end in interval)
        if low != high:
            self.assume(high - low == 1 and self.is_tiny(interval, max(ONE, interval.hi.copy_abs())))
        return high

    # --- + - * /

    def add(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            return self.settle(a + b)
        if isinstance(a, int | Fraction) and isinstance(b, int | Fraction):
            self.charge_exact(a, b)
            return self.settle(a + b)
        if isinstance(a, Pi) and isinstance(b, Pi):
            return self.multiple_of_pi(self.add(a.factor, b.factor))
        if a == 0:
            return b
        if b == 0:
            return a
        left, right = self.real(a), self.real(b)
        self.meter.charge(3 + self.price // 16)
        return self.bounded(self.down.add(left.lo, right.lo), self.up.add(left.hi, right.hi))

    def negative(self, x: Number) -> Number:
        if isinstance(x, Pi):
            return Pi(-x.factor)
        if isinstance(x, Real):
            return Real(x.hi.copy_negate(), x.lo.copy_negate())
        return -x

    def subtract(self, a: Number, b: Number) -> Number:
        return self.add(a, self.negative(b))

    def subtract_intervals(self, a: Real, b: Real) -> Real:
        return Real(self.down.subtract(a.lo, b.hi), self.up.subtract(a.hi, b.lo))

    def multiply(self, a: Number, b: Number) -> Number:
        if isinstance(a, int) and isinstance(b, int):
            size = a.bit_length() + b.bit_length()
            if size > MAX_BITS + 1 and a and b:
                raise too_large()
            self.meter.charge((size >> 5) ** 2 // 8_000)
            return self.settle(a * b)
        if isinstance(a, int | Fraction) and isinstance(b, int | Fraction):
            self.charge_exact(a, b)
            return self.settle(a * b)
        if a == 0 or b == 0:
            return 0
        if isinstance(a, Pi) and isinstance(b, int | Fraction):
            return self.multiple_of_pi(self.multiply(a.factor, b))
        if isinstance(b, Pi) and isinstance(a, int | Fraction):
            return self.multiply(b, a)
        return self.multiply_intervals(self.real(a), self.real(b))

    def multiply_intervals(self, a: Real, b: Real) -> Real:
        self.meter.charge(4 + self.price // 8)
        if a.lo >= 0 and b.lo >= 0:
            return self.bounded(self.down.multiply(a.lo, b.lo), self.up.multiply(a.hi, b.hi))
        pairs = [(x, y) for x in a for y in b]
        return self.bounded(
            min(self.down.multiply(x, y) for x, y in pairs), max(self.up.multiply(x, y) for x, y in pairs)
        )

    def divide(self, a: Number, b: Number) -> Number:
        """Raises `Mistake` where b is 0."""
        if self.sign(b) == 0:
            raise Mistake("division by zero has no value")
        if isinstance(b, int | Fraction):
            return self.multiply(a, self.inverse(b))
        if isinstance(a, Pi) and isinstance(b, Pi):
            return self.divide(a.factor, b.factor)
        if a == 0:
            return 0
        return self.multiply_intervals(self.real(a), self.inverse_interval(self.real(b)))

    def inverse(self, x: Exact) -> Exact:
        return plain(1 / Fraction(x))

    def inverse_interval(self, x: Real) -> Real:
        self.meter.charge(4 + self.price // 8)
        return self.bounded(self.down.divide(ONE, x.hi), self.up.divide(ONE, x.lo))

    def floor_divide(self, a: Number, b: Number) -> int:
        return self.floor(self.divide(a, b))

    def modulo(self, a: Number, b: Number) -> Number:
        """What `//` leaves; it has the sign of b, as in Python."""
        return self.subtract(a, self.multiply(b, self.floor_divide(a, b)))

    def multiple_of_pi(self, factor: Number) -> Number:
        if isinstance(factor, int | Fraction):
            return Pi(factor) if factor else 0
        return self.multiply_intervals(self.pi(), self.real(factor))

    def charge_exact(self, a: Exact, b: Exact) -> None:
        # measured: a greatest common divisor of two numbers of 14,000 bits takes 170 us, and a sum has two
        self.meter.charge(2 + ((bits(a) + bits(b)) >> 5) ** 2 // 2_500)

    # --- powers and roots

    def power(self, a: Number, b: Number) -> Number:
        """a to the b; 0**0 is 1.

        Raises:
            Mistake: there is no real value, or it is out of bounds.
        """
        if isinstance(b, int):
            if isinstance(a, int | Fraction):
                return self.exact_power(a, b)
            return self.interval_power(self.real(a), b)
        sign = self.sign(a)
        if sign < 0:
            raise Mistake("a negative base with a fractional exponent has no real value; cbrt(x) is the cube root")
        if sign == 0:
            if self.sign(b) < 0:
                raise Mistake("division by zero has no value: 0 to a negative power")
            return 0
        if isinstance(a, int | Fraction) and isinstance(b, Fraction):
            root = self.exact_root(a, b.denominator)
            if root is not None:
                return self.exact_power(root, b.numerator)
            if b.denominator == 2:
                return self.power(self.square_root(a), b.numerator)
        if a == 1:
            return 1
        return self.exponential(self.multiply(b, self.logarithm(a)))

    def exact_power(self, a: Exact, n: int) -> Number:
        if a == 0 and n < 0:
            raise Mistake("division by zero has no value: 0 to a negative power")
        if a in (0, 1, -1):
            return 1 if n == 0 or a == 1 or (a == -1 and n % 2 == 0) else a
        fraction = Fraction(a)
        widest = max(abs(fraction.numerator), fraction.denominator).bit_length()
        if (widest - 1) * abs(n) > MAX_BITS:
            if isinstance(a, int) and n > 0:
                raise too_large()
            return self.interval_power(self.real(a), n)
        self.meter.charge(2 + ((widest * abs(n)) >> 5) ** 2 // 4_000)
        return self.settle(fraction**n)

    def interval_power(self, x: Real, n: int) -> Number:
        if n < 0:
            return self.divide(1, self.interval_power(x, -n))
        result, factor = Real(ONE, ONE), x
        while n:
            if n & 1:
                result = self.multiply_intervals(result, factor)
            n >>= 1
            if n:
                factor = self.multiply_intervals(factor, factor)
        if result.lo < 0 < result.hi:
            self.sign(x)  # a power of what straddles 0 says less than it could
        return result

    def exact_root(self, x: Exact, degree: int) -> Exact | None:
        """The root of a positive number, if it is a fraction."""
        if degree > 64:
            return None
        self.meter.charge(2 + (bits(x) >> 5) ** 2 // 400)
        fraction = Fraction(x)
        above, below = integer_root(fraction.numerator, degree), integer_root(fraction.denominator, degree)
        if above**degree != fraction.numerator or below**degree != fraction.denominator:
            return None
        return plain(Fraction(above, below))

    def square_root(self, x: Number) -> Number:
        sign = self.sign(x)
        if sign < 0:
            raise Mistake("the square root of a negative number is not real")
        if sign == 0:
            return 0
        if isinstance(x, int | Fraction):
            root = self.exact_root(x, 2)
            if root is not None:
                return root
        interval = self.real(x)
        return self.rising(interval, lambda end, context: context.sqrt(end))

    def exponential(self, x: Number) -> Number:
        if x == 0:
            return 1
        interval = self.real(x)
        if largest(interval) > 3 * MAX_EXPONENT:
            raise out_of_range()
        return self.rising(interval, lambda end, context: context.exp(end))

    def logarithm(self, x: Number) -> Number:
        """The natural logarithm."""
        self.check_logarithm(x)
        if x == 1:
            return 0
        return self.rising(self.real(x), lambda end, context: context.ln(end))

    def logarithm10(self, x: Number) -> Number:
        self.check_logarithm(x)
        return self.rising(self.real(x), lambda end, context: context.log10(end))

    def check_logarithm(self, x: Number) -> None:
        if self.sign(x) <= 0:
            raise Mistake("the logarithm needs a number above 0")

    def rising(self, x: Real, function: Callable[[Decimal, Context], Decimal]) -> Real:
        """A function of `decimal` that rises and is rounded to the nearest, on both ends, each moved outwards by one
        unit of the last digit."""
        self.meter.charge(2 * self.price if x.lo == x.hi else 4 * self.price)
        low = function(x.lo, self.down)
        high = low if x.lo == x.hi else function(x.hi, self.up)
        return self.bounded(self.down.next_minus(low), self.up.next_plus(high))

    # --- circles

    def circular(self, x: Number) -> tuple[Number, Number]:
        """Sine and cosine of an angle in radians."""
        if x == 0:
            return 0, 1
        if isinstance(x, Pi):
            exact = self.twelfths(x)
            if exact is not None:
                return exact
            x = Pi(plain(Fraction(x.factor) % 2))
        interval = self.real(x)
        far = largest(interval)
        if far.adjusted() >= MAX_ANGLE_DIGITS:
            raise Mistake(f"the angle is beyond 10**{MAX_ANGLE_DIGITS}; give it within one turn")
        width = self.up.subtract(interval.hi, interval.lo)
        if width > 1:
            self.assume(False)
        if far.adjusted() < -self.digits:
            # sin x lies between x and x - x**3, cos x between 1 and 1 - x**2
            little = self.up.multiply(far, far)
            return self.shrunk(interval), Real(self.down.subtract(ONE, little), ONE)
        scale = self.digits + series.GUARD * 2 - min(0, far.adjusted())
        self.meter.charge(self.price * 4)
        middle = series.scaled(interval.lo, scale)
        sine, cosine = series.sine_and_cosine(middle, scale)
        error = self.up.add(width, series.unscaled(10**series.GUARD, scale))
        return self.around(series.unscaled(sine, scale), error), self.around(series.unscaled(cosine, scale), error)

    def twelfths(self, x: Pi) -> tuple[Number, Number] | None:
        """Sine and cosine where both are known exactly: at multiples of pi/2."""
        quarters = Fraction(x.factor) * 2 % 4
        if quarters.denominator != 1:
            return None
        return (0, 1, 0, -1)[quarters.numerator], (1, 0, -1, 0)[quarters.numerator]

    def shrunk(self, x: Real) -> Real:
        """Around a function that is nearly its argument, which is below 10**-digits."""
        slack = self.up.scaleb(largest(x), 1 - self.digits)
        return Real(self.down.subtract(x.lo, slack), self.up.add(x.hi, slack))

    def sine(self, x: Number) -> Number:
        if isinstance(x, Pi):
            # Niven: the only rational sines at rational multiples of pi are 0, 1/2 and 1
            match Fraction(x.factor) * 6 % 12:
                case 1 | 5:
                    return Fraction(1, 2)
                case 7 | 11:
                    return Fraction(-1, 2)
        return self.circular(x)[0]

    def cosine(self, x: Number) -> Number:
        return self.sine(self.add(x, Pi(Fraction(1, 2)))) if isinstance(x, Pi) else self.circular(x)[1]

    def tangent(self, x: Number) -> Number:
        if isinstance(x, Pi):
            match Fraction(x.factor) * 4 % 4:
                case 1:
                    return 1
                case 3:
                    return -1
        sine, cosine = self.circular(x)
        if self.sign(cosine) == 0:
            raise Mistake("the tangent has no value at odd multiples of pi/2")
        return self.divide(sine, cosine)

    def arctangent(self, x: Number) -> Number:
        if isinstance(x, int) and x in (-1, 0, 1):
            return Pi(Fraction(x, 4)) if x else 0
        interval = self.real(x)
        return self.bounded(self.arctangent_of(interval.lo).lo, self.arctangent_of(interval.hi).hi)

    def arctangent_of(self, x: Decimal) -> Real:
        if x.adjusted() < -self.digits:
            return self.shrunk(Real(x, x))
        if x.adjusted() > self.digits + 2:
            inverse = self.inverse_interval(Real(x, x))
            right_angle = self.real(Pi(Fraction(1 if x > 0 else -1, 2)))
            return self.subtract_intervals(right_angle, self.shrunk(inverse))
        self.meter.charge(self.price * 3)
        scale = self.digits + series.GUARD * 2 - min(0, x.adjusted())
        value = series.arctangent(series.scaled(x, scale), scale)
        return self.around(series.unscaled(value, scale), series.unscaled(10**series.GUARD, scale))

    def arcsine(self, x: Number) -> Number:
        if self.compare(x, 1) > 0 or self.compare(x, -1) < 0:
            raise Mistake("an arcsine or arccosine needs a number from -1 to 1")
        if isinstance(x, int | Fraction) and abs(x) in (0, Fraction(1, 2), 1):
            return Pi(x * Fraction(1, 2) if isinstance(x, int) else x * Fraction(1, 3)) if x else 0
        interval = self.real(x)
        low = self.arcsine_of(max(interval.lo, -ONE))
        high = low if interval.lo == interval.hi else self.arcsine_of(min(interval.hi, ONE))
        return Real(low.lo, high.hi)

    def arcsine_of(self, x: Decimal) -> Real:
        """asin x = atan(x / sqrt(1 - x**2)); the root is taken of an exact number."""
        if x.copy_abs() == 1:
            return self.real(Pi(Fraction(int(x), 2)))
        if x.adjusted() < -self.digits:
            return self.shrunk(Real(x, x))
        exact = Context(prec=self.digits * 4 + 20, Emin=MIN_EMIN, Emax=MAX_EMAX)
        rest = exact.subtract(ONE, exact.multiply(x, x))
        root = self.rising(
            self.bounded(self.down.plus(rest), self.up.plus(rest)), lambda end, context: context.sqrt(end)
        )
        ratio = self.multiply_intervals(Real(x, x), self.inverse_interval(root))
        return Real(self.arctangent_of(ratio.lo).lo, self.arctangent_of(ratio.hi).hi)

    def arccosine(self, x: Number) -> Number:
        return self.subtract(Pi(Fraction(1, 2)), self.arcsine(x))

    # --- whole numbers

    def whole(self, x: Number, what: str) -> int:
        """The number as an `int`.

        Raises:
            Mistake: it is not a whole number.
        """
        if not isinstance(x, int):
            raise Mistake(f"{what} needs whole numbers")
        return x

    def greatest_common_divisor(self, a: int, b: int) -> int:
        self.charge_exact(a, b)
        return gcd(a, b)

    def least_common_multiple(self, a: int, b: int) -> Number:
        return self.multiply(a // (self.greatest_common_divisor(a, b) or 1), b) if a and b else 0
