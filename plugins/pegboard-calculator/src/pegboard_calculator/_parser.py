"""Tokens in, a program out: steps in postfix order, for a machine with a stack.

A precedence climber. From loose to tight: comparison; + and -; * / // % and `of`; signs; ** (to the right); percent;
√. So `-2**2` is -4 and `2**-1` is 0.5.

`%` is modulo where an operand follows (`5 % 3`) and percent elsewhere (`15%`). Before a sign the blanks decide, as
they do for the eye: `10%-3` and `10% - 3` take percent, `10 % -3` takes the remainder, and `10 % - 3` is refused. `a
+ b%` adds b percent of a, `a - b%` takes them off, unless a is itself a percentage or b% stands in parentheses.

Invariants: recursion goes no deeper than `EXPRESSION_LEVELS` times three frames; the program has at most one step for
each token and is run without recursion.
"""

from __future__ import annotations

from typing import NamedTuple

from pegboard.limits import EXPRESSION_LEVELS
from pegboard_calculator._mistakes import Mistake
from pegboard_calculator._tokens import Token, tokenize


class Step(NamedTuple):
    """One step of a program: what to do, with what, and the place in the text that it comes from.

    `number` and `constant` push; `list` and `call` take `takes` values; signs take one; the rest take two, and
    `compare` one more than `text` has operators, which are separated by blanks.
    """

    do: str
    text: str
    at: int
    end: int
    takes: int = 2


COMPARE, ADD, MULTIPLY, SIGN, POWER, PERCENT = range(1, 7)

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
BINDING = {
    **dict.fromkeys(COMPARISONS, COMPARE),
    **dict.fromkeys(("+", "-"), ADD),
    **dict.fromkeys(("*", "/", "//", "%"), MULTIPLY),
    "**": POWER,
}
_OPENS_OPERAND = frozenset({"number", "name", "(", "[", "√"})
_CLOSES = {"(": ")", "[": "]"}


def parse(text: str) -> list[Step]:
    """Lay a text out as steps.

    Raises:
        Mistake: the text is not an expression; it says where and what was expected.
    """
    parser = _Parser(tokenize(text))
    if parser.token.kind == "end":
        raise Mistake("there is nothing to calculate; write an expression such as 2 + 2", 0, 0)
    parser.expression(COMPARE)
    if parser.token.kind != "end":
        raise parser.operator_missing()
    return parser.steps


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.index = 0
        self.token = tokens[0]
        self.depth = 0
        self.steps: list[Step] = []

    def advance(self) -> Token:
        token = self.token
        self.index += 1
        self.token = self.tokens[self.index]
        return token

    def emit(self, do: str, token: Token, text: str = "", takes: int = 2) -> None:
        self.steps.append(Step(do, text or token.text, token.at, token.end, takes))

    def expression(self, loosest: int) -> bool:
        """Read operands as long as the operators between them bind at least as tight as `loosest`; say whether the
        whole is a percentage."""
        self.depth += 1
        if self.depth > EXPRESSION_LEVELS:
            raise Mistake(
                f"it is nested more than {EXPRESSION_LEVELS} levels deep; split it", self.token.at, self.token.end
            )
        percentage = self.operand()
        while True:
            token = self.token
            if token.kind == "%" and self.is_percent():
                self.emit("percent", self.advance(), takes=1)
                percentage = True
            elif token.text == "of" and percentage and loosest <= MULTIPLY:
                self.advance()
                self.expression(SIGN)
                self.emit("*", token)
                percentage = False
            elif BINDING.get(token.kind, 0) < loosest:
                break
            elif token.kind in COMPARISONS:
                self.comparison()
                percentage = False
            elif token.kind in ("+", "-"):
                self.advance()
                right = self.expression(MULTIPLY)
                self.emit(f"{token.kind}%" if right and not percentage else token.kind, token)
                percentage = right and percentage
            else:
                self.advance()
                self.expression(POWER if token.kind == "**" else SIGN)
                self.emit(token.kind, token)
                percentage = False
        self.depth -= 1
        return percentage

    def comparison(self) -> None:
        first = self.token
        operators = []
        while self.token.kind in COMPARISONS:
            operators.append(self.advance().kind)
            self.expression(ADD)
        self.emit("compare", first, " ".join(operators), len(operators) + 1)

    def is_percent(self) -> bool:
        """Whether the `%` at hand is a percent sign; see the module's docstring."""
        percent, after = self.token, self.tokens[self.index + 1]
        if after.kind in ("+", "-"):
            if self.tokens[self.index - 1].end == percent.at:
                return True
            if after.at > percent.end and after.end == self.tokens[self.index + 2].at:
                return False
            raise Mistake(
                "% before a sign may be percent or modulo: write (5%) - 3, or 5 % (-3)", percent.at, percent.end
            )
        return after.kind not in _OPENS_OPERAND or after.text == "of"

    def operand(self) -> bool:
        """Read a value with its signs before it; say whether it is a percentage."""
        token = self.token
        if token.kind in ("+", "-"):
            sign, negative = token, False
            while self.token.kind in ("+", "-"):
                negative ^= self.advance().kind == "-"
            percentage = self.expression(POWER)
            if negative:
                self.emit("negative", sign, takes=1)
            return percentage
        if token.kind == "number":
            self.emit("number", self.advance())
        elif token.kind == "name":
            self.name()
        elif token.kind == "√":
            self.advance()
            self.expression(PERCENT)
            self.emit("call", token, "sqrt", 1)
        elif token.kind in _CLOSES:
            count = self.enclosed()
            if token.kind == "[":
                self.emit("list", token, takes=count)
            elif count != 1:
                raise Mistake("parentheses hold one value; write [1, 2] for a list", token.at, self.token.at)
        else:
            raise self.value_missing()
        return False

    def name(self) -> None:
        name = self.advance()
        if self.token.kind == "(":
            self.emit("call", name, takes=self.enclosed())
        else:
            self.emit("constant", name)

    def enclosed(self) -> int:
        """Read `(a, b, ...)` or `[a, b, ...]`; the number of values in it."""
        opening = self.advance()
        closing = _CLOSES[opening.kind]
        count = 0
        if self.token.kind != closing:
            self.expression(COMPARE)
            count = 1
            while self.token.kind == ",":
                self.advance()
                self.expression(COMPARE)
                count += 1
        if self.token.kind == "end":
            raise Mistake(f"{opening.text} is never closed; add {closing}", opening.at, opening.end)
        if self.token.kind != closing:
            raise self.operator_missing()
        self.advance()
        return count

    def value_missing(self) -> Mistake:
        token = self.token
        if token.kind == "end":
            return Mistake("the expression ends where a value is expected", token.at, token.end)
        return Mistake(f"a value is missing before {token.text}", token.at, token.end)

    def operator_missing(self) -> Mistake:
        token, before = self.token, self.tokens[self.index - 1]
        if token.kind in (")", "]"):
            return Mistake(f"{token.text} was never opened; remove it", token.at, token.end)
        if token.kind == ",":
            message = "a comma separates arguments; write 1000 or 1_000 for thousands, and . for decimals"
        elif before.kind == "number" and token.kind == "name" and token.text[0] in "xXoObB" and before.text == "0":
            message = "numbers are decimal here"
        elif before.kind == "name":
            message = f"parentheses are missing around what {before.text} takes, or an operator after it"
        else:
            message = f"an operator is missing before {token.text}; write * to multiply"
        return Mistake(message, token.at, token.end)
