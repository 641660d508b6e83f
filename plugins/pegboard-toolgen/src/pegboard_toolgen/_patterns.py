"""A text that a regular expression finds: short and plain, for examples. Bounded; None where it is not simple.

What comes out is a proposal: the caller holds it against the schema. Read are literals, classes, groups, alternatives
(the first is taken), repetitions (as few as there may be, one where none may be) and anchors.
"""

from __future__ import annotations

from pegboard.limits import PATTERN_LEVELS

MAX_PATTERN = 1_000
MAX_TEXT = 2_000
_SHORT = {"d": "1", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "h": " ", "n": "\n", "t": "\t", "r": "\r"}
_WISHED = "a1A0_-./: @"


class _NotSimpleError(Exception):
    pass


def text_for(pattern: str, least: int = 0) -> str | None:
    """A text for this pattern, of at least so many characters where a repetition allows it."""
    if len(pattern) > MAX_PATTERN:
        return None
    text: str | None = None
    for more in (1, 0, least):
        try:
            reader = _ExampleWriter(pattern, more)
            text = reader.alternatives(0)
            if reader.at != len(pattern):
                return None
        except (
            _NotSimpleError,
            RecursionError,
            IndexError,
            ValueError,
        ):  # it ends in the middle, or is not a pattern at all
            return None
        if len(text) >= least:
            return text
    return text


class _ExampleWriter:
    def __init__(self, pattern: str, more: int) -> None:
        self.pattern = pattern
        self.more = more
        self.at = 0

    def alternatives(self, depth: int) -> str:
        if depth > PATTERN_LEVELS:
            raise _NotSimpleError
        first = self._sequence(depth)
        while self.at < len(self.pattern) and self.pattern[self.at] == "|":
            self.at += 1
            self._sequence(depth)
        return first

    def _sequence(self, depth: int) -> str:
        text = ""
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            atom = self._atom(depth)
            least, most = self._bounds()
            count = least if least else min(most, 1 if self.more else 0)
            if self.more > 1 and most > count:
                count = min(most, max(count, self.more))
            text += atom * count
            if len(text) > MAX_TEXT:
                raise _NotSimpleError
        return text

    def _atom(self, depth: int) -> str:
        character = self.pattern[self.at]
        self.at += 1
        if character in "^$":
            return ""
        if character == ".":
            return "a"
        if character == "[":
            return self._class()
        if character == "(":
            return self._group(depth)
        if character == "\\":
            return self._escape()
        if character in "*+?{":
            raise _NotSimpleError
        return character

    def _group(self, depth: int) -> str:
        if self.pattern[self.at] == "?":
            head = self.pattern[self.at : self.at + 2]
            if head == "?:":
                self.at += 2
            elif head in ("?P", "?<") and self.pattern[self.at + 2 - (head == "?<") : self.at + 4] not in ("<=", "<!"):
                self.at = self.pattern.index(">", self.at) + 1
            else:
                raise _NotSimpleError
        text = self.alternatives(depth + 1)
        if self.pattern[self.at : self.at + 1] != ")":
            raise _NotSimpleError
        self.at += 1
        return text

    def _escape(self) -> str:
        character = self.pattern[self.at]
        self.at += 1
        if character in "bBAzZ":
            return ""
        if character in _SHORT:
            return _SHORT[character]
        if character in "xu":
            digits = 2 if character == "x" else 4
            code = self.pattern[self.at : self.at + digits]
            self.at += digits
            try:
                return chr(int(code, 16))
            except ValueError:
                raise _NotSimpleError from None
        if character.isalnum():  # a reference to a group, a property of Unicode
            raise _NotSimpleError
        return character

    def _class(self) -> str:
        is_negated = self.pattern[self.at] == "^"
        self.at += is_negated
        ranges: list[tuple[str, str]] = []
        while self.pattern[self.at] != "]" or not (ranges or is_negated):
            first = self._class_item()
            if self.pattern[self.at] == "-" and self.pattern[self.at + 1] != "]" and len(first) == 1:
                self.at += 1
                ranges.append((first, self._class_item()))
            else:
                ranges += [(one, one) for one in first]
            if len(ranges) > 500:
                raise _NotSimpleError
        self.at += 1

        def holds(character: str) -> bool:
            return any(low <= character <= high for low, high in ranges)

        for character in _WISHED + "".join(map(chr, range(33, 127))):
            if holds(character) != is_negated:
                return character
        if is_negated or not ranges:
            raise _NotSimpleError
        return ranges[0][0]

    def _class_item(self) -> str:
        character = self.pattern[self.at]
        self.at += 1
        if character != "\\":
            return character
        kind = self.pattern[self.at]
        if kind in "DWS":
            raise _NotSimpleError
        if kind == "d":
            self.at += 1
            return "0123456789"
        if kind == "w":
            self.at += 1
            return "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
        return self._escape()

    def _bounds(self) -> tuple[int, int]:
        character = self.pattern[self.at : self.at + 1]
        bounds = {"*": (0, MAX_TEXT), "+": (1, MAX_TEXT), "?": (0, 1)}.get(character)
        if bounds is not None:
            self.at += 1
        elif character == "{" and (end := self.pattern.find("}", self.at)) > 0:
            low, comma, high = self.pattern[self.at + 1 : end].partition(",")
            if not low.isdigit() or (high and not high.isdigit()):
                raise _NotSimpleError
            bounds = (int(low), int(high) if high else MAX_TEXT if comma else int(low))
            self.at = end + 1
        else:
            return 1, 1
        if self.pattern[self.at : self.at + 1] in ("?", "+"):
            self.at += 1
        if bounds[0] > MAX_TEXT:
            raise _NotSimpleError
        return bounds
