"""A program in, a value out: a machine with a stack, run again with more digits where the first ones cannot tell.

Invariants: no recursion; every step is charged to one meter for all runs of a text; what fails carries the place of the
step that failed.
"""

from __future__ import annotations

import operator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from pegboard_calculator._functions import CONSTANTS, FUNCTIONS
from pegboard_calculator._mistakes import Mistake, Undecided
from pegboard_calculator._numbers import MAX_DIGITS, PRECISIONS, Arithmetic, Meter, Number
from pegboard_calculator._parser import parse
from pegboard_calculator._show import Answer, show

if TYPE_CHECKING:
    from collections.abc import Callable

    from pegboard_calculator._parser import Step

Value = Number | bool | list[Number]

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def calculate(text: str) -> Answer:
    """The value of an expression.

    Raises:
        Mistake: it has none; `at` and `end` say where.
    """
    program = parse(text)
    meter = Meter()
    for digits in PRECISIONS:
        arithmetic = Arithmetic(digits, meter, final=digits == PRECISIONS[-1])
        try:
            return _run(program, arithmetic)
        except Undecided:
            continue
    raise AssertionError("the last precision decides everything")


def _run(program: list[Step], arithmetic: Arithmetic) -> Answer:
    stack: list[Value] = []
    for step in program:
        try:
            arithmetic.meter.charge(1)
            _STEPS.get(step.do, _binary)(step, stack, arithmetic)
        except Mistake as mistake:
            raise _placed(mistake, step) from None
    (value,) = stack
    last = program[-1]
    if isinstance(value, list):
        raise Mistake("a list has no value of its own; write sum([1, 2]) or max([1, 2])", last.at, last.end)
    try:
        return show(value, arithmetic)
    except Mistake as mistake:
        raise _placed(mistake, last) from None


def _placed(mistake: Mistake, step: Step) -> Mistake:
    return Mistake(mistake.message, step.at, step.end) if mistake.at is None else mistake


def _take(stack: list[Value], count: int) -> list[Number]:
    """The topmost values, all of them numbers."""
    values = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return [_number(value) for value in values]


def _number(value: Value) -> Number:
    if isinstance(value, bool):
        raise Mistake("a comparison is true or false, there is no calculating with it")
    if isinstance(value, list):
        raise Mistake("a list stands only in a function that takes one, such as sum([1, 2])")
    return value


def _push_number(step: Step, stack: list[Value], arithmetic: Arithmetic) -> None:
    stack.append(read_number(step.text, arithmetic))


def read_number(text: str, arithmetic: Arithmetic) -> Number:
    """A literal as an exact number: `1_000`, `.5`, `2.5e-3`."""
    if text.isdigit() and len(text) < 600:
        return int(text)
    mantissa, _, exponent = text.replace("_", "").lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    digits = (whole + decimals).lstrip("0")
    if not digits:
        return 0
    if len(exponent.lstrip("+-0")) > 6 or len(digits) > MAX_DIGITS:
        raise Mistake(f"a number has at most {MAX_DIGITS:,} digits")
    shift = int(exponent or 0) - len(decimals)
    if abs(shift) > MAX_DIGITS:
        raise Mistake(f"a number has at most {MAX_DIGITS:,} digits")
    arithmetic.meter.charge((len(digits) + abs(shift)) ** 2 // 40_000)
    number = int(Decimal(digits))  # `int` of a text stops at a limit of the interpreter, and is slower
    return arithmetic.settle(number * 10**shift if shift >= 0 else Fraction(number, 10**-shift))


def _push_constant(step: Step, stack: list[Value], arithmetic: Arithmetic) -> None:
    constant = CONSTANTS.get(step.text)
    if constant is None:
        raise _unknown(step.text)
    stack.append(constant(arithmetic))


def _unknown(name: str) -> Mistake:
    if name in FUNCTIONS:
        return Mistake(f"{name} is a function; write {FUNCTIONS[name].usage}")
    if name in CONSTANTS:
        return Mistake(f"{name} is a number, not a function; write {name}*(...) to multiply")
    from pegboard.schema import NearNames  # only needed here

    near = NearNames().find(name, [*FUNCTIONS, *CONSTANTS], 3)
    if near:
        return Mistake(f"{name} is unknown; did you mean {' or '.join(near)}?")
    return Mistake(f"{name} is unknown; there are {', '.join(sorted([*FUNCTIONS, *CONSTANTS]))}")


def _make_list(step: Step, stack: list[Value], arithmetic: Arithmetic) -> None:
    stack.append(_take(stack, step.takes))


def _call(step: Step, stack: list[Value], arithmetic: Arithmetic) -> None:
    function = FUNCTIONS.get(step.text)
    if function is None:
        raise _unknown(step.text)
    values = stack[len(stack) - step.takes :]
    del stack[len(stack) - step.takes :]
    arguments: list[Number] = []
    for value in values:
        if function.lists and isinstance(value, list):
            arguments += value
        else:
            arguments.append(_number(value))
    if not function.fewest <= len(arguments) <= function.most:
        count = "nothing" if not arguments else "1 number" if len(arguments) == 1 else f"{len(arguments)} numbers"
        raise Mistake(f"write {function.usage}; {count} came")
    arithmetic.meter.charge(len(arguments))
    stack.append(function.run(arithmetic, arguments))


def _negative(step: Step, stack: list[Value], arithmetic: Arithmetic) -> None:
    (x,) = _take(stack, 1)
    stack.append(arithmetic.negative(x))


def _percent(step: Step, stack: list[Value], arithmetic: Arithmetic) -> None:
    (x,) = _take(stack, 1)
    stack.append(arithmetic.multiply(x, Fraction(1, 100)))


def _compare(step: Step, stack: list[Value], arithmetic: Arithmetic) -> None:
    values = _take(stack, step.takes)
    pairs = zip(step.text.split(), values, values[1:], strict=False)
    stack.append(all(_COMPARE[sign](arithmetic.compare(a, b), 0) for sign, a, b in pairs))


def _binary(step: Step, stack: list[Value], arithmetic: Arithmetic) -> None:
    a, b = _take(stack, 2)
    stack.append(_BINARY[step.do](arithmetic, a, b))


_STEPS: dict[str, Callable[[Step, list[Value], Arithmetic], None]] = {
    "number": _push_number,
    "constant": _push_constant,
    "list": _make_list,
    "call": _call,
    "negative": _negative,
    "percent": _percent,
    "compare": _compare,
}
_BINARY: dict[str, Callable[[Arithmetic, Number, Number], Number]] = {
    "+": Arithmetic.add,
    "-": Arithmetic.subtract,
    "*": Arithmetic.multiply,
    "/": Arithmetic.divide,
    "//": Arithmetic.floor_divide,
    "%": Arithmetic.modulo,
    "**": Arithmetic.power,
    "+%": lambda a, x, share: a.multiply(x, a.add(1, share)),
    "-%": lambda a, x, share: a.multiply(x, a.subtract(1, share)),
}
