"""What the calculator answers: one table of texts and their values, and agreement with exact oracles."""

from __future__ import annotations

import decimal
import json
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pegboard_calculator._evaluate import calculate

EXACT = {
    "2 + 2": "4",
    "0.1+0.2": "0.3",
    "47.50*0.15": "7.125",
    "1/3*3": "1",
    "1/1024": "0.0009765625",
    "100 * 1.07^10": "196.715135728956532249",
    "10/4": "2.5",
    "2*(3+4)×5÷7−1": "9",
    "3·4": "12",
    "1_000*3": "3000",
    ".5 + 5.": "5.5",
    "1.5e-3": "0.0015",
    "1E5": "100000",
    "1e-30": "1e-30",
    "-1.25e-30": "-1.25e-30",
    "0e999999": "0",
    "0.000": "0",
    "\t1 +\r\n 1 ": "2",
    # signs and powers
    "-2**2": "-4",
    "(-2)**2": "4",
    "2**-1": "0.5",
    "2**3**2": "512",
    "2^10": "1024",
    "2**-2**2": "0.0625",
    "--3": "3",
    "+-+-3": "3",
    "2--3": "5",
    "0**0": "1",
    "0**5": "0",
    "1**(3**2000)": "1",
    "(-1)**(3**2000)": "-1",
    "(-1)**(4**200)": "1",
    "0.5**-2": "4",
    "4**1.5": "8",
    "8**(1/3)": "2",
    "(4/9)**0.5": "0.666666666666667",
    "0**0.5": "0",
    "1**pi": "1",
    "0**pi": "0",
    "pow(2, 10)": "1024",
    # division and remainder
    "7//2": "3",
    "-7//2": "-4",
    "-7%3": "2",
    "5 % 3": "2",
    "5 % -3": "-1",
    "5%(-3)": "-1",
    "mod(5, -3)": "-1",
    "5.5 % 2": "1.5",
    "7*10%3": "1",
    "pi // 1": "3",
    "2*pi / pi": "2",
    # percent
    "15%": "0.15",
    "200+10%": "220",
    "200-10%": "180",
    "200*10%": "20",
    "200/10%": "2000",
    "50+50+10%": "110",
    "-10%": "-0.1",
    "200 + -10%": "180",
    "200+(10%)": "200.1",
    "10%+5%": "0.15",
    "200*(10%+5%)": "30",
    "10%-3": "-2.9",
    "10% - 3": "-2.9",
    "15% of 80": "12",
    "15% of 80 + 1": "13",
    "50% % 3": "0.5",
    "2**200%": "4",
    "max(5%, 1%)": "0.05",
    # comparison
    "1 < 2": "true",
    "1 >= 2": "false",
    "0.1+0.2 == 0.3": "true",
    "1 != 1": "false",
    "1 < 2 < 3": "true",
    "1 < 3 < 2": "false",
    "1 ≤ 1": "true",
    "2 ≥ 3": "false",
    "2 ≠ 3": "true",
    "2*pi > pi": "true",
    "sqrt(2) < 1.5": "true",
    # functions
    "sqrt(16)": "4",
    "√16": "4",
    "√√16": "2",
    "√4^3": "8",
    "sqrt(0)": "0",
    "sqrt(2.25)": "1.5",
    "cbrt(-27)": "-3",
    "cbrt(0.125)": "0.5",
    "abs(-3)": "3",
    "abs(2)": "2",
    "round(7.125, 2)": "7.13",
    "round(-7.125, 2)": "-7.13",
    "round(2.5)": "3",
    "round(-2.5)": "-3",
    "round(1250, -2)": "1300",
    "round(12, 3)": "12",
    "round(pi, 4)": "3.1416",
    "floor(-2.1)": "-3",
    "ceil(2.1)": "3",
    "trunc(-2.9)": "-2",
    "trunc(2.9)": "2",
    "min(3, 1, 2)": "1",
    "max([1, 5], 3)": "5",
    "sum([1,2,3])": "6",
    "sum()": "0",
    "sum([])": "0",
    "sum([0.1]) + sum(1, [2, 3])": "6.1",
    "mean([1, 2])": "1.5",
    "gcd(12, -18)": "6",
    "gcd(0, 0)": "0",
    "lcm([4, 6, 10])": "60",
    "lcm(0, 3)": "0",
    "hypot(3, 4)": "5",
    "factorial(0)": "1",
    "factorial(20)": "2432902008176640000",
    "exp(0)": "1",
    "log(1)": "0",
    "log(8, 2)": "3",
    "log(8, 4)": "1.5",
    "log(0.25, 2)": "-2",
    "log(9, 1/3)": "-2",
    "log10(1000)": "3",
    "log2(1/8)": "-3",
    # circles
    "sin(pi)": "0",
    "sin(0)": "0",
    "sin(π/6)": "0.5",
    "sin(-pi/6)": "-0.5",
    "sin(5*pi/2)": "1",
    "cos(pi/2)": "0",
    "cos(pi)": "-1",
    "cos(0)": "1",
    "cos(tau/6)": "0.5",
    "tan(pi)": "0",
    "tan(pi/4)": "1",
    "tan(3*pi/4)": "-1",
    "sin(radians(30))": "0.5",
    "degrees(pi)": "180",
    "degrees(asin(1))": "90",
    "degrees(acos(1/2))": "60",
    "asin(0)": "0",
    "acos(1)": "0",
    "atan(0)": "0",
    "4*atan(1) == pi": "true",
    "pi - pi": "0",
    "0*pi": "0",
    "pi + 0 == pi": "true",
    "tau/pi": "2",
    "0/pi": "0",
    "2 + sqrt(2)*0": "2",
}
ROUNDED = {
    "1/3": "0.333333333333333",
    "2/3": "0.666666666666667",
    "-2/3": "-0.666666666666667",
    "1e20/3": "3.33333333333333e+19",
    "sqrt(2)": "1.4142135623731",
    "sqrt(2)**2": "2",
    "2**0.5": "1.4142135623731",
    "2**1.5": "2.82842712474619",
    "2**(1/3)": "1.25992104989487",
    "2**(1/97)": "1.00717143971222",
    "pi": "3.14159265358979",
    "-pi/2": "-1.5707963267949",
    "pi*pi": "9.86960440108936",
    "(-1)*pi*e": "-8.53973422267357",
    "tau": "6.28318530717959",
    "e": "2.71828182845905",
    "e**pi": "23.1406926327793",
    "pi**-2": "0.101321183642338",
    "(-pi)**3": "-31.0062766802998",
    "exp(1)": "2.71828182845905",
    "exp(100)": "2.68811714181614e+43",
    "exp(-1000)": "5.07595889754946e-435",
    "log(2)": "0.693147180559945",
    "ln(10)": "2.30258509299405",
    "log(5, 3)": "1.46497352071793",
    "log10(2)": "0.301029995663981",
    "log(e**2)": "2",
    "sin(1)": "0.841470984807897",
    "sin(1e22)": "-0.852200849767189",
    "sin(-2)": "-0.909297426825682",
    "cos(3)": "-0.989992496600445",
    "sin(5)": "-0.958924274663138",
    "cos(5)": "0.283662185463226",
    "sin(pi/7)": "0.433883739117558",
    "sin(1e-300)": "1e-300",
    "tan(1)": "1.5574077246549",
    "asin(0.3)": "0.304692654015398",
    "asin(1e-200)": "1e-200",
    "asin(sqrt(2)/2)": "0.785398163397448",
    "asin(sqrt(2)**2/2)": "1.5707963267949",
    "acos(0.3)": "1.2661036727795",
    "acos(-1)": "3.14159265358979",
    "atan(2)": "1.10714871779409",
    "atan(-2)": "-1.10714871779409",
    "atan(1e60)": "1.5707963267949",
    "atan(-1e60)": "-1.5707963267949",
    "atan(1e-60)": "1e-60",
    "atan(1e-20)": "1e-20",
    "degrees(1)": "57.2957795130823",
    "radians(90)": "1.5707963267949",
    "hypot(1, 1)": "1.4142135623731",
    "max(pi, e)": "3.14159265358979",
    "min(pi, e)": "2.71828182845905",
    "max(pi, tau)": "6.28318530717959",
    "abs(-sqrt(2))": "1.4142135623731",
    "(1+0.05/365)**(365*30)": "4.48122868852452",
    "1.0001**100000": "22015.4560485522",
    "2**-20000": "2.51238805769874e-6021",
    "(sqrt(2)-2)*(sqrt(3)-2)": "0.156961002899233",
    "(sqrt(2)-2)*sqrt(3)": "-1.01461187235458",
    "pi % 3": "0.141592653589793",
    # what cancels is found again with more digits
    "1e30 + sin(1) - 1e30": "0.841470984807897",
    "10**200 + sin(1) - 10**200": "0.841470984807897",
    "sqrt(8) - 2*sqrt(2)": "0",
    "floor(sqrt(2)**2)": "2",
    "round(sqrt(2)**2/4, 0)": "1",
    "trunc(-(sqrt(2)**2))": "-2",
    "sqrt(2)**2 == 2": "true",
    "sqrt(2)**2 > 2": "false",
    "(sqrt(8) - 2*sqrt(2))**3": "0",
    "sin(sqrt(2)*1e60)": "0.738327856230219",
    "sqrt(2)**2 + 1.000000000000005": "3.00000000000001",
    "-(sqrt(2)**2) - 1.000000000000005": "-3.00000000000001",
    "log(10**3500, 10**-3499)": "-1.0002857959417",
    "log(3**8400, 3**6000)": "1.4",
    "log(3+1e-45, 3)": "1",
    "log(pi, 2)": "1.65149612947232",
    "atan(sqrt(8)-2*sqrt(2))": "0",
}


@pytest.mark.parametrize("text", EXACT)
def test_an_exact_value_is_shown_in_full(text: str) -> None:
    assert calculate(text).text == EXACT[text]


@pytest.mark.parametrize("text", ROUNDED)
def test_a_value_without_an_end_is_rounded_to_15_digits_and_says_so(text: str) -> None:
    answer = calculate(text)
    assert (answer.text, answer.rounded) == (ROUNDED[text], True)


def test_whether_a_value_is_exact_is_said_for_programs() -> None:
    assert calculate("1/3")[1:] == (0.333333333333333, "1/3", True)
    assert calculate("0.1 + 0.2")[1:] == (0.3, "0.3", False)
    assert calculate("acos(-1/2)")[1:] == (2.0943951023932, "2*pi/3", True)
    assert calculate("-pi")[1:] == (-3.14159265358979, "-pi", True)
    assert calculate("sqrt(2)")[1:] == (1.4142135623731, None, True)
    assert calculate("1 < 2")[1:] == (True, None, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2**53 - 1", 2**53 - 1),
        ("2**53", str(2**53)),
        ("1.07^10", "1.96715135728956532249"),
        ("exp(1000)", "1.97007111401705e+434"),
        ("1e-301", "1e-301"),
        ("exp(ln(4))", 4),
    ],
)
def test_what_a_json_number_would_spoil_is_a_string(text: str, value: object) -> None:
    answer = calculate(text)
    assert answer.value == value
    assert json.loads(json.dumps(answer.value)) == value


def test_big_integers_come_in_full() -> None:
    assert calculate("2**10000").text == format(decimal.Decimal(2**10000), "f")
    assert calculate("factorial(1500)").text == format(decimal.Decimal(math.factorial(1500)), "f")
    assert calculate("9" * 4000).text == "9" * 4000


def test_a_long_fraction_is_left_out_of_the_data() -> None:
    assert calculate("1/3**4000").exact is None
    assert calculate("pi/3**4000").exact is None


def test_a_fraction_beyond_bounds_goes_on_rounded() -> None:
    assert calculate("1/7**3000 + 1/3**5000").rounded
    assert calculate("pi/7**3000/3**5000").rounded
    assert calculate("(3**5000/7**2000)*(3**5001/5**2000)").rounded


def test_the_context_and_the_limits_of_the_host_do_not_change_a_value() -> None:
    texts = [*EXACT, *ROUNDED, "9" * 4000]
    expected = [calculate(text) for text in texts]
    digits = sys.get_int_max_str_digits()
    strange = decimal.Context(prec=2, Emax=9, Emin=-9, rounding=decimal.ROUND_UP, traps=list(decimal.Context().flags))
    try:
        sys.set_int_max_str_digits(640)
        with decimal.localcontext(strange):
            assert [calculate(text) for text in texts] == expected
    finally:
        sys.set_int_max_str_digits(digits)


def test_threads_do_not_disturb_each_other() -> None:
    texts = [*EXACT, *ROUNDED]
    expected = [calculate(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(calculate, texts * 2)) == expected * 2


decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=3)


@given(a=decimals, b=decimals, c=st.integers(1, 10**6))
def test_fractions_agree_with_fractions(a: decimal.Decimal, b: decimal.Decimal, c: int) -> None:
    """Whatever is built of + - * / and decimals is the fraction that it is."""
    answer = calculate(f"(({a}) * ({b}) - ({a})) / {c} + ({b})")
    expected = (Fraction(a) * Fraction(b) - Fraction(a)) / c + Fraction(b)
    assert Fraction(answer.exact or "") == expected
    if answer.rounded:
        assert abs(Fraction(answer.text) - expected) <= abs(expected) * Fraction(1, 2 * 10**14)


@given(a=st.integers(-(10**30), 10**30), b=st.integers(-(10**15), 10**15).filter(bool), n=st.integers(0, 20))
def test_integers_agree_with_integers(a: int, b: int, n: int) -> None:
    """Integer arithmetic is that of Python."""
    answer = calculate(f"({a}) // ({b}) + ({a}) % ({b}) * ({b})**{n} - gcd({a}, {b})")
    assert answer.text == str(a // b + a % b * b**n - math.gcd(a, b))


@given(x=st.decimals(min_value="0.001", max_value=1000, places=6))
def test_roots_and_logarithms_agree_with_decimal(x: decimal.Decimal) -> None:
    """What `decimal` computes to 50 digits, the calculator shows to 15."""
    with decimal.localcontext() as context:
        context.prec = 50
        oracles = {"sqrt": x.sqrt(), "exp": (x / 100).exp(), "ln": x.ln(), "log10": x.log10()}
        for name, expected in oracles.items():
            argument = f"{x:f}/100" if name == "exp" else f"{x:f}"
            shown = decimal.Decimal(calculate(f"{name}({argument})").text)
            assert abs(shown - expected) <= abs(expected) * decimal.Decimal("5.0001e-15"), name


@given(
    name=st.sampled_from(["sin", "cos", "tan", "asin", "acos", "atan", "exp", "cbrt", "degrees", "radians"]),
    x=st.one_of(
        st.decimals(-1, 1, places=8),
        st.decimals(-(10**6), 10**6, places=3),
        st.integers(-(10**40), 10**40).map(decimal.Decimal),
    ),
)
def test_circular_functions_agree_with_mpmath(name: str, x: decimal.Decimal) -> None:
    """The 15 digits shown are those of the true value, rounded."""
    mpmath = pytest.importorskip("mpmath", reason="mpmath, the oracle, is not installed")
    if (name in ("asin", "acos") and abs(x) > 1) or (name == "exp" and abs(x) > 1000):
        x = x / 10**41
    text = f"{x:f}"
    with mpmath.workdps(150):
        number = mpmath.mpf(text)
        expected = mpmath.sign(number) * mpmath.cbrt(abs(number)) if name == "cbrt" else getattr(mpmath, name)(number)
        shown = mpmath.mpf(calculate(f"{name}({text})").text)
        unit = mpmath.mpf(10) ** (mpmath.floor(mpmath.log10(abs(expected))) - 14) if expected else 0
        assert abs(shown - expected) <= unit * 0.50001
