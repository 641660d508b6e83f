"""Text in, tokens out.

Invariants: the text is read once, from left to right; every character is part of a token or a blank; digits and
letters are ASCII, since others that look like them may mean something else. The number of characters and of tokens is
bounded, and so is everything built from them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pegboard_calculator._mistakes import Mistake

MAX_CHARACTERS = 4_000
MAX_TOKENS = 1_200
MAX_NAME = 32


class Token(NamedTuple):
    """A piece of the text: its kind (`number`, `name`, `end`, or the operator itself), and where it stands."""

    kind: str
    text: str
    at: int
    end: int


SIGNS = {
    "×": "*",
    "·": "*",
    "÷": "/",
    "−": "-",
    "^": "**",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "√": "√",
}

_TOKEN = re.compile(
    r"""
    [ \t\r\n]*
    (?:
        (?P<number> (?: [0-9][0-9_]*(?:\.[0-9_]*)? | \.[0-9][0-9_]* ) (?:[eE][+-]?[0-9][0-9_]*)? )
      | (?P<name> [A-Za-z_][A-Za-z_0-9]* | π )
      | (?P<operator> \*\* | // | <= | >= | == | != | [-+*/%^()\[\],<>×·÷−√≤≥≠] )
      | (?P<end> \Z )
    )
    """,
    re.VERBOSE,
)
_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_NUMBER = re.compile(rf"(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")

_HINTS = {
    "=": "write == to compare; there is nothing to assign to",
    "!": "write factorial(5), or != to compare",
    "'": "there is no text here, only numbers",
    '"': "there is no text here, only numbers",
    "“": "there is no text here, only numbers",
    "{": "write ( and ) to group, [ and ] for a list",
    "}": "write ( and ) to group, [ and ] for a list",
    "&": "there are no bitwise or logical operators",
    "|": "there are no bitwise or logical operators; write abs(x)",
    "~": "there are no bitwise or logical operators",
    ".": "a point needs a digit beside it, as in 0.5",
    ";": "write one expression at a time; arguments are separated with ,",
    ":": "write / for a ratio",
    "$": "write the bare number, without a currency",
    "€": "write the bare number, without a currency",
    "£": "write the bare number, without a currency",
    "¥": "write the bare number, without a currency",
    "²": "write **2",
    "³": "write **3",
    "°": "write radians(90)",
    "∞": "there is no infinity here",
    "–": "write - for minus",
    "—": "write - for minus",
}


def tokenize(text: str) -> list[Token]:
    """Cut a text into tokens, the last of kind `end`.

    Raises:
        Mistake: the text is too long, or has a character or a number that is not valid.
    """
    if len(text) > MAX_CHARACTERS:
        raise Mistake(
            f"the expression has {len(text):,} characters, {MAX_CHARACTERS:,} are allowed; split it",
            MAX_CHARACTERS,
            MAX_CHARACTERS + 1,
        )
    tokens: list[Token] = []
    at = 0
    while match := _TOKEN.match(text, at):
        group = match.lastgroup or "end"
        start, at = match.span(group)
        piece = match[group]
        if len(tokens) >= MAX_TOKENS:
            raise Mistake(f"the expression has more than {MAX_TOKENS:,} numbers, names and signs; split it", start, at)
        if group == "operator":
            tokens.append(Token(SIGNS.get(piece, piece), piece, start, at))
        elif group == "end":
            tokens.append(Token("end", "", start, start))
            return tokens
        else:
            if group == "number":
                _check_number(piece, start, at)
            elif at - start > MAX_NAME:
                raise Mistake(f"a name of {at - start} characters is known to nobody", start, at)
            tokens.append(Token(group, piece, start, at))
    raise _strange_character(text, at)


def _check_number(piece: str, start: int, end: int) -> None:
    if not _NUMBER.fullmatch(piece):
        raise Mistake("an underscore in a number stands between two digits, as in 1_000", start, end)
    if len(piece) > 1 and piece[0] == "0" and piece[1] in "0123456789_":
        raise Mistake("a number does not begin with 0 before other digits; is a comma used for thousands?", start, end)


def _strange_character(text: str, at: int) -> Mistake:
    while text[at] in " \t\r\n":
        at += 1
    character = text[at]
    shown = f"{character!r}" if character.isprintable() else f"U+{ord(character):04X}"
    if character in _HINTS:
        hint = _HINTS[character]
    elif character.isdigit() or character.isnumeric():
        hint = "write numbers with the digits 0 to 9"
    elif character.isspace():
        hint = "write a plain space"
    elif not character.isprintable():
        hint = "remove the invisible character"
    elif not character.isascii() and character.isalpha():
        hint = "names are written with the letters a to z"
    else:
        hint = "remove it"
    return Mistake(f"{shown} has no meaning here: {hint}", at, at + 1)
