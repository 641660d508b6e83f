"""The tool `calculator`: the way from a call to `_evaluate` and back."""

from __future__ import annotations

from typing import Annotated, TypedDict

from pegboard import ErrorCode, ToolError, ToolResult, tool

Calculated = TypedDict(  # noqa: UP013 - its hints are not texts this way: it takes a tenth of the time, at every start
    "Calculated",
    {
        "value": Annotated[float | str | bool, "The value; a string where a JSON number would lose digits."],
        "exact": Annotated[
            str | None, "The value in full, such as 1/3 or pi/2; null where there is no short way to write it."
        ],
        "rounded": Annotated[bool, "Whether the value was rounded to 15 significant digits."],
    },
)


@tool(
    title="Calculator",
    category="math",
    tags=("math", "read"),
    run="inplace",  # measured: 0.05 ms as a rule, 7 ms at worst; `_numbers.Meter` holds that
    read_only=True,
    destructive=False,
    idempotent=True,
    open_world=False,
    examples=(
        {"arguments": {"expression": "47.50 * 15%"}, "description": "a tip, exactly", "text": "7.125"},
        {"arguments": {"expression": "sqrt(3**2 + 4**2)"}, "description": "powers and roots", "text": "5"},
        {"arguments": {"expression": "max([3, 9, 4]) > 8"}, "description": "a list and a comparison", "text": "true"},
    ),
)
def calculator(expression: str) -> Annotated[ToolResult, Calculated]:
    """Calculate an expression exactly: big integers and decimals in full, else 15 significant digits.

    Operators: + - * / // % ** (or ^), parentheses, < <= > >= == !=. Percent: 15%, 200+10% is 220, 15% of 80;
    5 % 3 is modulo. Constants: pi, e, tau. Functions: abs, round (half away from zero: round(7.125, 2) is 7.13),
    floor, ceil, trunc, min, max, sum, mean, gcd, lcm, hypot, mod, pow, sqrt, cbrt, exp, log (natural;
    log(x, base)), ln, log10, log2, factorial, sin, cos, tan, asin, acos, atan (radians), degrees, radians. Lists:
    sum([1, 2, 3]). Write every multiplication with *.

    Args:
        expression: what to calculate, such as 2 * (3 + 4) or sqrt(2) / 3; at most 4,000 characters.
    """
    from pegboard_calculator._evaluate import calculate  # loads fractions and decimal
    from pegboard_calculator._mistakes import Mistake, excerpt

    try:
        answer = calculate(expression)
    except Mistake as mistake:
        at, end = mistake.at or 0, mistake.end or 0
        shown = excerpt(expression, at, end)
        message = f"position {at + 1}: {mistake.message} ({shown})"
        raise ToolError(ErrorCode.INVALID_INPUT, message, position=at + 1, excerpt=shown) from None
    data: Calculated = {"value": answer.value, "exact": answer.exact, "rounded": answer.rounded}
    return ToolResult.text(answer.text, data=data)
