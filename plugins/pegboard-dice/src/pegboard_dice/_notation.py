"""Dice notation: text to a `Roll` and back, without throwing anything.

    roll      = [sign] term (sign term)*
    sign      = "+" | "-"
    term      = number | [count] "d" faces modifier*
    faces     = number | "%" | "f"
    modifier  = ("kh" | "kl" | "dh" | "dl") [number]    keep or drop the highest or lowest; 1 if not said
              | "!" [condition]                          a die more for each that shows this; the highest if not said
              | ("r" | "ro") condition                   throw again while it shows this; `ro` once
    condition = ["<" | ">"] number                       "<" and ">" are strict

Case and spaces between the parts do not matter. Digits are the ten of ASCII: `int` would take hundreds of others. Each
modifier stands at most once in a term; whatever their order, dice are thrown again first, then explode, then are
kept. What can only be a mistake is refused here, before anything is thrown: `0d6`, `4d6kh5`, `1d1!` (every face
explodes), `1d6r9` (no face is 9).

Invariants: what `parse` gives is within `MAX_DICE`, `MAX_SIDES` and `MAX_NUMBER`, holds at least one die, and
`parse(str(roll)) == roll`.
"""

from __future__ import annotations

import re
from typing import Literal

import attrs

from pegboard import ErrorCode, ToolError

MAX_LENGTH = 200
MAX_DICE = 100
MAX_SIDES = 1000
MAX_NUMBER = 1_000_000

HOW_TO_WRITE = "write it like 2d6+3, 4d6kh3 or 1d20"
# What people write of other notations, and what it is called here.
_INSTEAD = {
    "k": "write kh or kl",
    "l": "write kl or dl",
    "h": "write kh or dh",
    "e": "write ! for dice that explode",
    "w": "write d for dice",
    "x": "write d for dice, + and - between terms",
    "−": "write - instead",
    "–": "write - instead",
    ",": "write + between terms",
    "*": "only + and - join terms",
    "/": "only + and - join terms",
    "(": "only + and - join terms",
}

Sign = Literal["=", "<", ">"]
How = Literal["kh", "kl", "dh", "dl"]


@attrs.frozen
class Condition:
    """Which faces a modifier means: those that are `=`, `<` or `>` a number."""

    sign: Sign
    number: int

    def meets(self, value: int) -> bool:
        """Whether a die that shows `value` is meant."""
        if self.sign == "=":
            return value == self.number
        return value < self.number if self.sign == "<" else value > self.number

    def __str__(self) -> str:
        return f"{'' if self.sign == '=' else self.sign}{self.number}"


@attrs.frozen
class Keep:
    """Which dice count: `how` is the notation's word, `number` is how many it keeps or drops."""

    how: How
    number: int

    def __str__(self) -> str:
        return f"{self.how}{self.number}"


@attrs.frozen
class Dice:
    """Some dice of one kind. Faces run from 1 to `sides`; those of fudge dice, `sides` None, are -1, 0 and 1."""

    count: int
    sides: int | None
    reroll: Condition | None = None
    reroll_once: bool = False
    explode: Condition | None = None
    keep: Keep | None = None

    @property
    def faces(self) -> range:
        """What one die can show."""
        return range(-1, 2) if self.sides is None else range(1, self.sides + 1)

    def __str__(self) -> str:
        text = f"{self.count}d{'F' if self.sides is None else self.sides}"
        if self.reroll:
            text += f"{'ro' if self.reroll_once else 'r'}{self.reroll}"
        if self.explode:
            highest = Condition("=", self.faces[-1])
            text += "!" if self.explode == highest else f"!{self.explode}"
        return text + (str(self.keep) if self.keep else "")


@attrs.frozen
class Term:
    """Dice or a number, added (`sign` 1) or taken away (`sign` -1)."""

    sign: Literal[1, -1]
    what: Dice | int

    def __str__(self) -> str:
        return f"{'-' if self.sign < 0 else '+'}{self.what}"


@attrs.frozen
class Roll:
    """What is to be thrown and summed up. As text it is the notation in its shortest spelling, without spaces."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.terms)).removeprefix("+")


def parse(text: str) -> Roll:
    """Read dice notation.

    Raises:
        ToolError: INVALID_INPUT; `details["position"]` counts characters from 1, the message says what to write there.
    """
    if len(text) > MAX_LENGTH:
        message = f"the notation has {len(text)} characters, at most {MAX_LENGTH} are read; {HOW_TO_WRITE}"
        raise ToolError(ErrorCode.INVALID_INPUT, message, position=MAX_LENGTH + 1)
    return _Parser(text).roll()


_TOKEN = re.compile(r"[0-9]+|kh|kl|dh|dl|ro|[drf%!<>+-]", re.ASCII)
_SIGNS: dict[str, Sign] = {"<": "<", ">": ">"}
_HOWS: dict[str, How] = {"kh": "kh", "kl": "kl", "dh": "dh", "dl": "dl"}


@attrs.frozen
class _Token:
    text: str
    start: int

    @property
    def is_number(self) -> bool:
        return "0" <= self.text[:1] <= "9"


def _tokens(text: str) -> list[_Token]:
    """The parts of the text, and an empty one at its end."""
    # Only ASCII is lowered: str.lower makes a K of the Kelvin sign.
    lowered = "".join(char.lower() if char.isascii() else char for char in text)
    tokens = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(lowered, at)
        if match is None:
            hint = _INSTEAD.get(lowered[at], HOW_TO_WRITE)
            raise _wrong(text, at, f"{text[at]!r} has no meaning in dice notation; {hint}")
        tokens.append(_Token(match[0], at))
        at = match.end()
    return [*tokens, _Token("", len(text))]


def _wrong(text: str, start: int, message: str) -> ToolError:
    shown = repr(text if len(text) <= 60 else text[:57] + "...")
    return ToolError(ErrorCode.INVALID_INPUT, f"{shown}, character {start + 1}: {message}", position=start + 1)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0
        self._dice = 0

    def roll(self) -> Roll:
        if not self._peek.text:
            raise self._error(f"there is nothing to roll; {HOW_TO_WRITE}")
        terms = [self._term(first=True)]
        while self._peek.text:
            terms.append(self._term())
        if not self._dice:
            raise _wrong(self._text, 0, f"there is no die to roll; {HOW_TO_WRITE}")
        return Roll(tuple(terms))

    # --- tokens

    @property
    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *wanted: str) -> _Token | None:
        token = self._peek
        if token.text and token.text in wanted:
            self._next += 1
            return token
        return None

    def _number(self, what: str, low: int, high: int) -> int:
        """The number that stands next; the error says what it counts and where its limits are."""
        token = self._peek
        if not token.is_number:
            raise self._missing(f"{what}, a number from {low} to {high}")
        number = int(token.text)
        if not low <= number <= high:
            raise self._error(f"{what} must be from {low} to {high}, got {_short(token.text)}")
        self._next += 1
        return number

    def _error(self, message: str, at: _Token | None = None) -> ToolError:
        return _wrong(self._text, (at or self._peek).start, message)

    def _missing(self, expected: str) -> ToolError:
        came = repr(_short(self._peek.text)) if self._peek.text else "the end"
        return self._error(f"expected {expected}, got {came}; {HOW_TO_WRITE}")

    # --- grammar

    def _term(self, *, first: bool = False) -> Term:
        sign = self._take("+", "-")
        if sign is None and not first:
            raise self._missing("+, - or the end")
        what = self._dice_or_number()
        return Term(-1 if sign and sign.text == "-" else 1, what)

    def _dice_or_number(self) -> Dice | int:
        start = self._peek
        if start.is_number and self._tokens[self._next + 1].text != "d":
            return self._number("a number to add", 0, MAX_NUMBER)
        if not (start.is_number or start.text == "d"):
            raise self._missing("dice or a number")
        count = self._number("the number of dice", 1, MAX_DICE) if start.is_number else 1
        self._dice += count
        if self._dice > MAX_DICE:
            raise self._error(f"at most {MAX_DICE} dice in all, this makes {self._dice}", start)
        self._next += 1  # the d
        return self._modified(Dice(count, self._sides()))

    def _sides(self) -> int | None:
        if self._take("f"):
            return None
        if self._take("%"):
            return 100
        return self._number("the number of sides", 1, MAX_SIDES)

    def _modified(self, dice: Dice) -> Dice:
        while token := self._take("!", "r", "ro", *_HOWS):
            if token.text == "!":
                if dice.explode:
                    raise self._error("these dice explode already, write ! once", token)
                dice = attrs.evolve(dice, explode=self._explosion(dice, token))
            elif token.text in _HOWS:
                if dice.keep:
                    raise self._error(f"{dice.keep} says already which dice count, write one of kh, kl, dh, dl", token)
                dice = attrs.evolve(dice, keep=self._keep(dice, token))
            else:
                if dice.reroll:
                    raise self._error("these dice are rerolled already, write r or ro once", token)
                condition = self._condition(dice, token)
                dice = attrs.evolve(dice, reroll=condition, reroll_once=token.text == "ro")
        return dice

    def _explosion(self, dice: Dice, token: _Token) -> Condition:
        if self._peek.is_number or self._peek.text in ("<", ">"):
            return self._condition(dice, token)
        if len(dice.faces) == 1:
            raise self._error("a die with one side would explode for ever, give it two or more", token)
        return Condition("=", dice.faces[-1])

    def _condition(self, dice: Dice, token: _Token) -> Condition:
        """The faces that `!`, `r` or `ro` mean: some of them, never none, never all."""
        sign = self._take("<", ">")
        low, high = dice.faces[0], dice.faces[-1]
        minus = self._take("-") if low < 0 else None  # the -1 of a fudge die
        if minus:
            self._number("the face", 1, 1)
            number = -1
        else:
            number = self._number(f"the face that {token.text} means", max(low, 0), high)
        condition = Condition(_SIGNS[sign.text] if sign else "=", number)
        met = sum(map(condition.meets, dice.faces))
        if not met:
            raise self._error(f"no face is {condition}; faces run from {low} to {high}", token)
        if met == len(dice.faces):
            raise self._error(f"every face is {condition}, {token.text} would never end", token)
        return condition

    def _keep(self, dice: Dice, token: _Token) -> Keep:
        keeps = token.text in ("kh", "kl")
        most = dice.count if keeps else dice.count - 1
        if not most:
            raise self._error(f"{token.text} drops the only die, and none is left", token)
        number = 1
        if self._peek.is_number:
            number = self._number(f"the number of dice to {'keep' if keeps else 'drop'}", 1, most)
        return Keep(_HOWS[token.text], number)


def _short(digits: str) -> str:
    return digits if len(digits) <= 20 else f"a number of {len(digits)} digits"
