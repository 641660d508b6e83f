"""The calculator beside simpleeval and asteval: right values, and attacks.

`python test_calculator_beside_others.py` prints the table of the README; the test holds that it still is so, and is
skipped where the two are not installed. Both get the functions of `math` and are used as their documentation shows.
Every text runs in a process of its own, with 1 GB and 5 seconds; the 50 ms are CPU time.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from pegboard_calculator._evaluate import calculate
from pegboard_calculator._mistakes import Mistake

OTHERS = ("simpleeval", "asteval")
README = Path(__file__).parents[1] / "README.md"

# a value is right if it is this text, or a float that prints so with 15 digits
RIGHT = {
    "2 + 2": "4",
    "2**100": "1267650600228229401496703205376",
    "factorial(25)": "15511210043330985984000000",
    "(3 + 4) * 5 - 6 / 2": "32",
    "sqrt(2)": "1.4142135623731",
    "0.1 + 0.2": "0.3",
    "0.1 + 0.2 == 0.3": "true",
    "1.1 * 1.1 - 1.21": "0",
    "10**17 + 0.5": "100000000000000000.5",
    "1e30 + 1 - 1e30": "1",
    "1e30 + sin(1) - 1e30": "0.841470984807897",
    "round(7.125, 2)": "7.13",
    "sin(pi)": "0",
    "tan(1.5707963267948966)": "5.19985061887203e+16",
    "log(1000, 10)": "3",
    "sqrt(2)**2 == 2": "true",
    "exp(1000)": "1.97007111401705e+434",
    "2^10": "1024",
    "200 + 10%": "220",
    "√16 × 2": "8",
}
# an attack fails if it is refused within 50 ms, by an error of the evaluator's
ATTACKS = [
    "__import__('os').getpid()",
    "().__class__.__base__.__subclasses__()",
    "open('/etc/hostname').read()",
    "ｏｐｅｎ('/etc/hostname').read()",
    "(lambda: 1)()",
    "[x for x in range(10**7)]",
    "'a' * 10**9",
    "[0] * 10**8",
    "10**4000000",
    "9**9**9",
    "pow(9, 9**7)",
    "factorial(10**5)",
    "factorial(10**6)",
    "(" * 5000 + "1" + ")" * 5000,
    "-" * 50000 + "1",
]

CHILD = """
import math, resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
who, text = sys.argv[1], sys.stdin.read()
names = {name: getattr(math, name) for name in dir(math) if not name.startswith("_")}
if who == "simpleeval":
    import simpleeval
    functions = {name: f for name, f in names.items() if callable(f)} | {"abs": abs, "round": round, "pow": pow}
    run = simpleeval.EvalWithCompoundTypes(functions=functions, names={"pi": math.pi, "e": math.e}).eval
elif who == "asteval":
    import asteval
    interpreter = asteval.Interpreter()
    def run(text):
        value = interpreter(text, show_errors=False, raise_errors=False)
        if interpreter.error:
            raise ValueError(interpreter.error[0].msg)
        return value
else:
    from pegboard_calculator._evaluate import calculate
    run = calculate
    calculate("sin(1)")
start = time.process_time()
try:
    value = run(text)
except Exception:
    print("refused" if time.process_time() - start < 0.05 else "slow")
else:
    if isinstance(value, bool):
        print(str(value).lower())
    elif isinstance(value, float):
        print(format(value, ".15g"))
    elif isinstance(value, int):
        print(value if value.bit_length() < 1000 else "a large integer")
    else:
        print(getattr(value, "text", "something else"))
"""


def answer(who: str, text: str) -> str:
    try:
        child = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", CHILD, who],
            input=text,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=5,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "hung"
    return child.stdout.strip() or "died"


def score(who: str) -> tuple[int, int]:
    """How many values are right, how many attacks fail."""
    right = sum(answer(who, text) == expected for text, expected in RIGHT.items())
    failed = sum(answer(who, text) == "refused" for text in ATTACKS)
    return right, failed


def row(who: str, release: str) -> str:
    right, failed = score(who)
    return f"| {who} {release} | {right} of {len(RIGHT)} | {failed} of {len(ATTACKS)} |"


def installed(who: str) -> str | None:
    try:
        return version(who)
    except PackageNotFoundError:
        return None


def test_every_value_of_the_comparison_is_right_and_every_attack_fails() -> None:
    assert {text: calculate(text).text for text in RIGHT} == RIGHT
    for text in ATTACKS:
        with pytest.raises(Mistake):
            calculate(text)
    assert answer("pegboard-calculator", "9**9**9") == "refused"


@pytest.mark.thorough  # it is the others that are run here
@pytest.mark.parametrize("who", OTHERS)
def test_the_others_do_worse_in_both(who: str) -> None:
    if installed(who) is None:
        pytest.skip(f"{who}, the peer to compare with, is not installed")
    right, failed = score(who)
    assert right < len(RIGHT)
    assert failed < len(ATTACKS)


def test_the_readme_shows_the_figures_of_this_package() -> None:
    assert f"| {len(RIGHT)} of {len(RIGHT)} | {len(ATTACKS)} of {len(ATTACKS)} |" in README.read_text("utf-8")


if __name__ == "__main__":
    print("| | right values | attacks refused within 50 ms |\n|---|---|---|")
    for name in ("pegboard-calculator", *OTHERS):
        release = installed(name)
        print(row(name, release) if release else f"| {name} is not installed | | |")
        for text, expected in RIGHT.items():
            got = answer(name, text) if release else ""
            if got != expected:
                print(f"    {name}: {text} gave {got}", file=sys.stderr)
        for text in ATTACKS:
            got = answer(name, text) if release else ""
            if got != "refused":
                print(f"    {name}: {text[:40]} gave {got}", file=sys.stderr)
