"""What the calculator refuses, where it points, and that it knows before it computes."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from pegboard_calculator import _functions, _numbers, _tokens
from pegboard_calculator._evaluate import calculate
from pegboard_calculator._mistakes import Mistake, Undecided, excerpt
from pegboard_calculator._numbers import Arithmetic, Meter, Real

# text: the column (from 1), what the message says
REFUSED = {
    "": (1, "nothing to calculate"),
    "   ": (1, "nothing to calculate"),
    "2 +": (4, "ends where a value is expected"),
    "2 + * 3": (5, "a value is missing before *"),
    "(2": (1, "( is never closed; add )"),
    "[1, 2": (1, "[ is never closed; add ]"),
    "2)": (2, ") was never opened"),
    "(2]": (3, "] was never opened"),
    "sum(1, 2": (4, "( is never closed"),
    "sum(1 2)": (7, "write * to multiply"),
    "()": (1, "parentheses hold one value"),
    "(1, 2)": (1, "parentheses hold one value"),
    "[1, 2]": (1, "a list has no value of its own"),
    "[1] + 1": (5, "a list stands only in a function"),
    "sum([[1]])": (5, "a list stands only in a function"),
    "sqrt([4])": (1, "a list stands only in a function"),
    "(1 < 2) + 1": (9, "a comparison is true or false"),
    "max(1 < 2, 3)": (1, "a comparison is true or false"),
    "1,000": (3, "is a comma used for thousands?"),
    "1,5": (2, "a comma separates arguments"),
    "007": (1, "does not begin with 0"),
    "0x10": (2, "decimal"),
    "1__0": (1, "underscore"),
    "1_": (1, "underscore"),
    "1e5_": (1, "underscore"),
    "2(3)": (2, "write * to multiply"),
    "2pi": (2, "write * to multiply"),
    "(1)(2)": (4, "write * to multiply"),
    "1.2.3": (4, "write * to multiply"),
    "sin 5": (5, "parentheses are missing around what sin takes"),
    "sin": (1, "sin is a function; write sin(x)"),
    "pi(3)": (1, "pi is a number, not a function"),
    "sine(3)": (1, "did you mean sin"),
    "Pi": (1, "did you mean pi"),
    "qwxyz": (1, "is unknown; there are abs"),
    "sqr(4) + 1": (1, "did you mean sqrt"),
    "15 of 80": (4, "write * to multiply"),
    "5 % - 3": (3, "percent or modulo"),
    "sqrt()": (1, "write sqrt(x); nothing came"),
    "sqrt(1, 2)": (1, "write sqrt(x); 2 numbers came"),
    "pow(1)": (1, "write pow(a, b); 1 number came"),
    "max()": (1, "write max(a, b, ...)"),
    "1/0": (2, "division by zero"),
    "1 + 5//0": (6, "division by zero"),
    "5 % 0": (3, "division by zero"),
    "mod(5, 0)": (1, "division by zero"),
    "0**-1": (2, "division by zero"),
    "0**-0.5": (2, "division by zero"),
    "1/(sqrt(8)-2*sqrt(2))": (2, "division by zero"),
    "sqrt(-1)": (1, "the square root of a negative number"),
    "√-4": (1, "the square root of a negative number"),
    "√(-4)": (1, "the square root of a negative number"),
    "(-8)**(1/3)": (5, "cbrt(x)"),
    "log(0)": (1, "above 0"),
    "log(-1, 2)": (1, "above 0"),
    "log(1, -2)": (1, "above 0"),
    "log(2, 1)": (1, "base 1"),
    "asin(2)": (1, "from -1 to 1"),
    "acos(-1.01)": (1, "from -1 to 1"),
    "tan(pi/2)": (1, "odd multiples of pi/2"),
    "tan(sqrt(2)**2*pi/4)": (1, "odd multiples of pi/2"),
    "factorial(-1)": (1, "negative"),
    "factorial(2.5)": (1, "whole numbers"),
    "gcd(1.5, 2)": (1, "whole numbers"),
    "round(2.5, 0.5)": (1, "whole numbers"),
    "round(2.5, 1001)": (1, "places"),
    "round(sqrt(2), 500)": (1, "240 digits do not tell"),
    "sin(10**100)": (1, "give it within one turn"),
    "sin(exp(300))": (1, "give it within one turn"),
    "(sqrt(2)*10**250)**2 - 2*10**500": (22, "240 digits do not tell"),
    # characters that the calculator does not know
    "５+1": (1, "digits 0 to 9"),
    "1+²": (3, "**2"),
    "٣": (1, "digits 0 to 9"),
    "2\u00a0+ 2": (2, "plain space"),
    "2 \x00+ 2": (3, "U+0000"),
    "2\u202e+ 2": (2, "invisible"),
    "\ud800": (1, "U+D800"),
    "сos(1)": (1, "letters a to z"),
    "1 = 2": (3, "write == to compare"),
    "5!": (2, "write factorial(5)"),
    "$5": (1, "without a currency"),
    "5 # 3": (3, "remove it"),
    "1; 2": (2, "one expression"),
    "a" * 33: (1, "33 characters"),
}
ATTACKS = [
    "__import__('os').system('id')",
    "().__class__.__base__.__subclasses__()",
    "(1).real",
    "pi.__class__",
    "lambda: 1",
    "[x for x in [1]]",
    "open('/etc/hostname')",
    "ｏｐｅｎ(1)",
    "exec(1)",
    "eval(1)",
    "__builtins__",
    "print(1)",
    "f'{1}'",
    "x := 1",
    "1 if 1 else 2",
    "not 1",
    "{1: 2}",
    "'a' * 10**9",
    "[0] * 10**9",
    "1 << 10**9",
    "10**4000000",
    "9**9**9",
    "9**9**9**9",
    "10**-4000000",
    "2**-(10**9)",
    "0.1**(10**9)",
    "pow(10, 10**8)",
    "e**(10**9)",
    "(1+e*1e-4000)**(10**4000)",
    "exp(10**9)",
    "exp(exp(exp(exp(9))))",
    "-exp(10**9)",
    "-e**-(10**9)",
    "factorial(10**6)",
    "factorial(2000)",
    "factorial(factorial(100))",
    "factorial(1500)*factorial(1500)",
    "10**4213 + 9*10**4214",
    "1e999999999999",
    "1e-999999999999",
    "1e5000",
    "1e4000/1e-4000",
    "floor(e*1e4000*1e200)",
    "floor(exp(10**6))",
    "lcm(" + ",".join(str(n) for n in range(2, 700)) + ")" + "*factorial(1500)",
    "(" * 2000 + "1" + ")" * 2000,
    "(" * 100 + "1" + ")" * 100,
    "[" * 100 + "1" + "]" * 100,
    "√" * 100 + "1",
    "2" + "**1" * 100,
    "1+" * 2000 + "1",
    "1" * 4001,
    "1" * 10**7,
    "9" * 4000 + "9",
    "+".join(["sin(1)"] * 400),
    "+".join(f"3**{8800 - i}/7**4900" for i in range(100)),
    "+".join(["1e4000"] * 500),
    "<".join(f"3**{8800 - i}/7**4900" for i in range(100)),
]


@pytest.mark.parametrize("text", REFUSED)
def test_a_mistake_is_pointed_at_and_explained(text: str) -> None:
    column, says = REFUSED[text]
    with pytest.raises(Mistake) as caught:
        calculate(text)
    assert says in caught.value.message
    assert (caught.value.at or 0) + 1 == column


@pytest.mark.parametrize("text", ATTACKS, ids=lambda text: text[:30])
def test_what_is_not_arithmetic_or_too_much_of_it_is_refused(text: str) -> None:
    with pytest.raises(Mistake) as caught:
        calculate(text)
    assert len(caught.value.message) < 400
    assert caught.value.at is not None


def test_an_excerpt_marks_the_place_in_one_line() -> None:
    assert excerpt("2 + * 3", 4, 5) == "2 + »*« 3"
    assert excerpt("2 +", 3, 3) == "2 +»«"
    assert excerpt("1\n+\u202e2\ud800", 2, 3) == "1 »+«?2?"


def test_an_excerpt_of_a_long_text_is_short() -> None:
    shown = excerpt("1+" * 1000, 1000, 1900)
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < 70


def test_a_power_is_refused_before_it_is_computed() -> None:
    """No operand of more than MAX_BITS goes in, so no product of more than twice that comes out."""
    arithmetic = Arithmetic(40, Meter(), final=True)
    assert arithmetic.exact_power(2, _numbers.MAX_BITS - 1) == 2 ** (_numbers.MAX_BITS - 1)
    for base, exponent in [(2, _numbers.MAX_BITS + 1), (3, 10**100), (-10, 10**6), (2**13_999, 2)]:
        left = arithmetic.meter.left
        with pytest.raises(Mistake, match="digits"):
            arithmetic.exact_power(base, exponent)
        assert arithmetic.meter.left == left, "work was charged, so it was begun"


def test_a_product_is_refused_before_it_is_computed() -> None:
    arithmetic = Arithmetic(40, Meter(0), final=True)
    with pytest.raises(Mistake, match="4,214 digits"):
        arithmetic.multiply(2**13_000, 2**13_000)


def test_the_largest_factorial_that_is_tried_is_small() -> None:
    assert math.factorial(_functions.MAX_FACTORIAL).bit_length() < 2 * _numbers.MAX_BITS


def test_the_digits_that_are_promised_fit_the_bits_that_are_allowed() -> None:
    assert len(format(Decimal(2**_numbers.MAX_BITS), "f")) == _numbers.MAX_DIGITS + 1
    assert _numbers.MAX_DIGITS + 1 < 4_300, "JSON readers in Python stop there"
    assert _tokens.MAX_CHARACTERS <= _numbers.MAX_DIGITS


def test_work_is_metered_over_all_runs_of_a_text() -> None:
    meter = Meter(10)
    meter.charge(10)
    with pytest.raises(Mistake, match="too much work"):
        meter.charge(1)


def test_a_power_of_an_interval_across_zero_asks_for_more_digits() -> None:
    arithmetic = Arithmetic(40, Meter(), final=False)
    with pytest.raises(Undecided):
        arithmetic.interval_power(Real(Decimal(-1), Decimal(1)), 3)
