"""Patterns of JSON Schema (ECMA-262) for Python's `re`: the same language, in bounded time.

The dialects differ where it hurts: `$` before a final newline, `\\d` and `\\w` beyond ASCII, what `.` and `\\s` match.
So a pattern is read into a tree and written anew. What cannot be written exactly (back references, look-behind,
`\\p{...}`) has no Python form here, and a validator that works with one leaves such a schema to another.

`re` backtracks. The tree tells how badly: a choice inside a loop is harmless where the next character decides it, and
may take exponential time where it does not; such patterns are left to another validator too. Loops that overlap one
after another cost a power of the text's length, and bound the text that is searched: see `Pattern.longest`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from pegboard.limits import PATTERN_LEVELS

MAX_PATTERN = 2_000
"""The longest pattern that is read, in characters.

.. versionadded:: 0.1
"""
MAX_STEPS = 50_000_000
"""What a search may cost at worst, in steps of the regex engine; about half a second."""
MAX_POWER = 4
MAX_CHOICES = 12
MAX_REPEAT = 1_000

_OTHER = 128  # stands for every character beyond ASCII
_ALL = frozenset(range(129))
_DIGIT = frozenset(map(ord, "0123456789"))
_WORD = _DIGIT | frozenset(map(ord, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"))
_SPACE = frozenset(map(ord, " \t\n\v\f\r")) | {_OTHER}
_SPACES = r"\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_QUANTIFIER = re.compile(r"\{([0-9]{1,9})(,([0-9]{0,9}))?\}")
_SYNTAX = frozenset("^$\\.*+?()[]{}|/-")

Chars = frozenset[int]


class PatternError(ValueError):
    """The pattern is wrong in every dialect.

    .. versionadded:: 0.1
    """


class ForeignPatternError(ValueError):
    """The pattern may be right, and has no exact or no safe form in Python.

    .. versionadded:: 0.1
    """


class TooLongError(ValueError):
    """A text is longer than the pattern may be searched in: `longest`, in characters."""

    def __init__(self, longest: int) -> None:
        self.longest = longest
        super().__init__(f"longer than {longest:,} characters")


class Pattern(NamedTuple):
    """A pattern that may be searched for.

    Args:
        regex: its Python form.
        longest: the longest text, in characters, that it may be searched in; None where any is fine.
    """

    regex: re.Pattern[str]
    longest: int | None


class _Node(NamedTuple):
    """A piece of a pattern: its Python text, its shape, and what it may match first."""

    kind: str  # "set", "sequence", "choice", "loop", "nothing" (assertions and the empty piece)
    text: str
    parts: tuple[_Node, ...] = ()
    chars: Chars = frozenset()  # of a set
    least: int = 0  # of a loop
    most: int | None = None  # of a loop; None: no end


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Pattern:
    """Write a pattern for Python.

    Raises:
        PatternError: no dialect reads it.
        ForeignPatternError: Python cannot search for exactly this in bounded time.

    .. versionadded:: 0.1
    """
    if len(pattern) > MAX_PATTERN:
        raise ForeignPatternError(f"longer than {MAX_PATTERN:,} characters")
    node = _PatternParser(pattern).read()
    regex = re.compile(node.text)
    cost = _Cost()
    cost.count(node, frozenset(), top=True)
    if cost.choices > MAX_CHOICES:
        raise ForeignPatternError("too many choices that the next character does not decide")
    power = cost.open_loops + cost.has_loop + (cost.has_loop and not _is_anchored(node))
    if power > MAX_POWER:
        raise ForeignPatternError("too many repetitions that overlap")
    return Pattern(regex, int(MAX_STEPS ** (1 / power)) if power > 1 else None)


def search(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found in the text; None where it has no exact and safe form in Python.

    Raises:
        TooLongError: it would take too long in this text.

    .. versionadded:: 0.1
    """
    try:
        regex, longest = compiled(pattern)
    except (PatternError, ForeignPatternError):
        return None
    if longest is not None and len(text) > longest:
        raise TooLongError(longest)
    return regex.search(text) is not None


_ALIKE = r"""(?x)\^?
    (?: [A-Za-z0-9_\ ,:;@%="'/!-] | \\[.+*?()/-] | \\u[0-9A-Fa-f]{4}  # what stands for itself
      | \[\^? (?: (?: [A-Za-z0-9_+/.:,@] | \\u[0-9A-Fa-f]{4} ) (?: -[A-Za-z0-9] )? )+ -? \]  # a class
      | [()|?*+] | \{[0-9]+(?:,[0-9]*)?\}
    )* \$?"""


def is_alike(pattern: str) -> bool:
    """Whether ECMA-262 and Python read a pattern alike, but for a `$` at its end, and no text is too long for it.

    Left out is what the two read in two ways: `\\d`, `\\w`, `\\s`, `\\b`, `.`, `$` within, and what Python reserves
    within classes. False says nothing.

    .. versionadded:: 0.1
    """
    if re.fullmatch(_ALIKE, pattern) is None:
        return False
    try:
        return compiled(pattern).longest is None
    except ValueError:
        return False


class _PatternParser:
    """Reads ECMA-262's grammar by recursive descent."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.nesting = 0

    def read(self) -> _Node:
        node = self.choice()
        if self.at < len(self.pattern):
            raise PatternError(f"')' without '(' at position {self.at}")
        return node

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        if self.peek(text):
            self.at += len(text)
            return True
        return False

    def choice(self) -> _Node:
        self.nesting += 1
        if self.nesting > PATTERN_LEVELS:
            raise ForeignPatternError("nested too deep")
        branches = [self.sequence()]
        while self.take("|"):
            branches.append(self.sequence())
        self.nesting -= 1
        if len(branches) == 1:
            return branches[0]
        return _Node("choice", f"(?:{'|'.join(branch.text for branch in branches)})", tuple(branches))

    def sequence(self) -> _Node:
        parts: list[_Node] = []
        while self.at < len(self.pattern) and not self.peek("|") and not self.peek(")"):
            parts.append(self.term())
        return _Node("sequence", "".join(part.text for part in parts), tuple(parts))

    def term(self) -> _Node:
        start = self.at
        character = self.pattern[start]
        if character in "*+?" or _QUANTIFIER.match(self.pattern, start):
            raise PatternError(f"nothing to repeat at position {start}")
        if self.take("^"):
            return _Node("nothing", r"\A")
        if self.take("$"):
            # Python's `$` matches before a last newline as well; ECMA-262's does not, without its flag m.
            return _Node("nothing", r"\Z")
        for boundary in (r"\b", r"\B"):
            if self.take(boundary):
                # Words of ECMA-262 are ASCII (WordCharacters); those of Python are not, but with its flag a.
                return _Node("nothing", f"(?a:{boundary})")
        if self.take("("):
            atom = self.group(start)
        elif self.take("["):
            atom = self.character_class(start)
        elif self.take("."):
            # All but the LineTerminators of ECMA-262; Python's dot leaves out the newline alone.
            atom = _Node("set", r"[^\n\r\u2028\u2029]", chars=_ALL - {10, 13})
        elif self.take("\\"):
            text, chars = self.escape(start)
            if text == _NOT_SPACES:  # the same set, compiled in a sixth of the time
                text = f"^{_SPACES}"
            atom = _Node("set", f"[{text}]" if len(chars) != 1 or chars == {_OTHER} else text, chars=chars)
        else:
            self.at += 1
            atom = _Node("set", _literal(character), chars=_chars_of(character))
        return self.quantified(atom)

    def group(self, start: int) -> _Node:
        opening = "(?:"
        if self.take("?:"):
            pass
        elif self.peek("?=") or self.peek("?!"):
            opening = f"({self.pattern[self.at : self.at + 2]}"
            self.at += 2
        elif self.peek("?<=") or self.peek("?<!"):
            raise ForeignPatternError("a look-behind")
        elif name := re.compile(r"\?<[A-Za-z_$][A-Za-z0-9_$]*>").match(self.pattern, self.at):
            self.at = name.end()
        elif self.peek("?"):
            raise ForeignPatternError(f"a group of unknown kind at position {start}")
        inside = self.choice()
        if not self.take(")"):
            raise PatternError(f"'(' without ')' at position {start}")
        text = f"{opening}{inside.text})"
        return _Node("nothing" if opening != "(?:" else inside.kind, text, *inside[2:])

    def quantified(self, atom: _Node) -> _Node:
        bounds = _QUANTIFIER.match(self.pattern, self.at)
        if self.take("*"):
            least, most = 0, None
        elif self.take("+"):
            least, most = 1, None
        elif self.take("?"):
            least, most = 0, 1
        elif bounds:
            self.at = bounds.end()
            least = int(bounds[1])
            most = least if not bounds[2] else int(bounds[3]) if bounds[3] else None
        else:
            return atom
        if most is not None and most < least:
            raise PatternError(f"a repetition of at least {least} and at most {most}")
        if max(least, most or 0) > MAX_REPEAT:
            raise ForeignPatternError(f"a repetition of more than {MAX_REPEAT:,}")
        if atom.kind == "nothing" and atom.text.startswith("(?"):
            raise ForeignPatternError("a repeated assertion")
        lazy = "?" if self.take("?") else ""
        if self.peek("+") or self.peek("*") or self.peek("?"):
            raise ForeignPatternError(f"a repetition of a repetition at position {self.at}")
        wanted = f"{{{least},{'' if most is None else most}}}"
        text = atom.text if atom.kind == "set" or atom.text.startswith("(?:") else f"(?:{atom.text})"
        return _Node("loop", f"{text}{wanted}{lazy}", (atom,), least=least, most=most)

    def character_class(self, start: int) -> _Node:
        negated = self.take("^")
        text, chars = "", frozenset[int]()
        kinds: set[str] = set()
        while not self.take("]"):
            if self.at >= len(self.pattern):
                raise PatternError(f"'[' without ']' at position {start}")
            low_at = self.at
            low, low_chars, low_text = self.class_member()
            if self.peek("-") and not self.peek("-]") and self.at + 1 < len(self.pattern):
                self.at += 1
                high, high_chars, high_text = self.class_member()
                if low is None or high is None:
                    text += f"{low_text}\\-{high_text}"
                    chars |= low_chars | high_chars | {ord("-")}
                    continue
                if high < low:
                    raise PatternError(f"a range out of order at position {low_at}")
                text += f"{low_text}-{high_text}"
                chars |= frozenset(range(low, min(high, 127) + 1)) | ({_OTHER} if high > 127 else frozenset())
            else:
                kinds.add(low_text)
                text += low_text
                chars |= low_chars
        if not text:
            return _Node("set", r"[\s\S]", chars=_ALL) if negated else _Node("set", "(?!)", chars=frozenset())
        inverse = (_ALL - chars) | {_OTHER}
        return _Node("set", f"[{'^' if negated else ''}{text}]", chars=inverse if negated else chars)

    def class_member(self) -> tuple[int | None, Chars, str]:
        """One member of a class: its code point if it is a single character, what it matches, its Python text."""
        start = self.at
        if self.take("\\"):
            text, chars = self.escape(start, in_class=True)
            code = None
            if chars and len(chars) == 1 and text not in (r"\d", r"\w"):
                code = ord(_unescape(text))
            return code, chars, text
        character = self.pattern[start]
        self.at += 1
        return ord(character), _chars_of(character), _literal(character)

    def escape(self, start: int, *, in_class: bool = False) -> tuple[str, Chars]:
        """What stands after a backslash, as text for inside a Python class, and what it matches."""
        if self.at >= len(self.pattern):
            raise PatternError("a backslash at the end")
        character = self.pattern[self.at]
        self.at += 1
        match character:
            case "d":
                return "0-9", _DIGIT
            case "D":
                return r"\x00-/:-\U0010ffff", _ALL - _DIGIT
            case "w":
                return "A-Za-z0-9_", _WORD
            case "W":
                return r"\x00-/:-@\[-\^`{-\U0010ffff", _ALL - _WORD
            case "s":
                return _SPACES, _SPACE
            case "S":
                return _NOT_SPACES, (_ALL - _SPACE) | {_OTHER}
            case "b" if in_class:
                return r"\x08", frozenset({8})
            # NUL only where no digit follows: with one it is octal, which the grammar with flag u refuses (ECMA-262,
            # Annex B).
            case "0" if not self.pattern[self.at : self.at + 1].isdigit():
                return r"\x00", frozenset({0})
            # `\cJ` is the control character of the letter's code modulo 32 (ECMA-262, CharacterEscape).
            case "c" if re.compile("[A-Za-z]").match(self.pattern, self.at):
                self.at += 1
                return _single(chr(ord(self.pattern[self.at - 1]) % 32))
            case "x" | "u":
                return _single(self.code(character, start))
        if character in _CONTROLS:
            return _single(_CONTROLS[character])
        if character in _SYNTAX or not (character.isalnum() and character.isascii()):
            return _single(character)
        raise ForeignPatternError(f"\\{character} at position {start}")

    def code(self, kind: str, start: int) -> str:
        digits = re.compile("[0-9A-Fa-f]{2}" if kind == "x" else r"[0-9A-Fa-f]{4}|\{([0-9A-Fa-f]{1,6})\}")
        found = digits.match(self.pattern, self.at)
        if found is None:
            raise ForeignPatternError(f"\\{kind} without digits at position {start}")
        self.at = found.end()
        number = int(found[1] if found.lastindex else found[0], 16)
        if 0xD800 <= number <= 0xDFFF or number > 0x10FFFF:
            raise ForeignPatternError(f"\\{kind} of half a character at position {start}")
        return chr(number)


def _complement(ranges: list[tuple[int, int]]) -> str:
    text, start = "", 0
    for low, high in ranges:
        if low > start:
            text += f"\\U{start:08x}-\\U{low - 1:08x}"
        start = high + 1
    return f"{text}\\U{start:08x}-\\U0010ffff"


_NOT_SPACES = _complement(
    [
        (9, 13),
        (32, 32),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ]
)


def _chars_of(character: str) -> Chars:
    return frozenset({min(ord(character), _OTHER)})


def _literal(character: str) -> str:
    """A character that stands for itself, inside a class and outside; never with a dollar sign in its text."""
    if character.isascii() and character.isalnum():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def _unescape(text: str) -> str:
    return chr(int(text[2:], 16)) if text.startswith("\\") else text


def _single(character: str) -> tuple[str, Chars]:
    return _literal(character), _chars_of(character)


def _is_anchored(node: _Node) -> bool:
    if node.kind == "choice":
        return all(map(_is_anchored, node.parts))
    if node.kind == "sequence":
        return bool(node.parts) and _is_anchored(node.parts[0])
    return node.kind == "nothing" and node.text == r"\A"


def _first(node: _Node, follow: Chars) -> Chars:
    """What the text may begin with where `node` is to match and `follow` comes after it."""
    match node.kind:
        case "set":
            return node.chars
        case "choice":
            return frozenset().union(*(_first(part, follow) for part in node.parts))
        case "sequence":
            for part in reversed(node.parts):
                follow = _first(part, follow)
            return follow
        case "loop":
            if node.most == 0:
                return follow
            inside = _first(node.parts[0], follow)
            return inside if node.least and not _is_nullable(node.parts[0]) else inside | follow
    return follow


def _is_nullable(node: _Node) -> bool:
    match node.kind:
        case "set":
            return False
        case "choice":
            return any(map(_is_nullable, node.parts))
        case "sequence":
            return all(map(_is_nullable, node.parts))
        case "loop":
            return node.least == 0 or _is_nullable(node.parts[0])
    return True


# What makes a backtracking engine slow is that one text can be matched in several ways: exponentially slow where a loop
# holds such a choice, and a power of the length where loops follow each other that may share it (Weideman et al.,
# "Analyzing Matching Time Behavior of Backtracking Regular Expression Matchers by Using Ambiguity of NFA", 2016). Their
# measure is exact and takes an automaton; this one looks one character ahead and counts from above.
class _Cost:
    """How often the engine may have to choose again.

    A loop or a choice is *closed* where one look at the next character settles it, and *open* otherwise.
    """

    def __init__(self) -> None:
        self.open_loops = 0
        self.choices = 0
        self.has_loop = False

    def count(self, node: _Node, follow: Chars, *, top: bool = False) -> None:
        match node.kind:
            case "sequence":
                for n, part in enumerate(node.parts):
                    rest = _Node("sequence", "", node.parts[n + 1 :])
                    self.count(part, _first(rest, follow))
            case "choice":
                seen: Chars = frozenset()
                for part in node.parts:
                    first = _first(part, follow)
                    self.choices += bool(first & seen)
                    seen |= first
                    self.count(part, follow)
            case "loop":
                self.loop(node, follow)
            case "nothing":
                for part in node.parts:  # what a look-ahead holds
                    self.count(part, frozenset())

    def loop(self, node: _Node, follow: Chars) -> None:
        inside, least, most = node.parts[0], node.least, node.most
        first = _first(inside, frozenset())
        is_open = least != most and bool(first & follow)
        endless = most is None or most > 16
        self.has_loop = self.has_loop or endless
        if endless:
            self.open_loops += is_open
        elif is_open:
            self.choices += ((most or 0) - least).bit_length()
        if most == 1:
            self.count(inside, follow)
        elif inside.kind != "set":
            body = _Cost()
            body.count(inside, follow | first)
            if _is_nullable(inside) or body.open_loops or body.choices:
                raise ForeignPatternError("a repetition inside a repetition that may take exponential time")
            self.has_loop = self.has_loop or body.has_loop
