"""What one argument of a call has to be. Pure: a JSON value in, yes or no out; any value is answered, none raises.

A critic is written as a table with one of the names of `CRITICS` in it and, at times, more beside it:

    count = 3                                  exactly this (a table is written as `{ exact = { ... } }`)
    count = { number = 3, tolerance = 0.1 }    or `relative = 0.01`
    zone  = { one_of = ["UTC", "Etc/UTC"] }
    query = { text = "two words" }             letter case and white space do not count
    query = { regex = "^pay" }                 anywhere in the text, unless anchored
    tags  = { contains = "red" }               a part of a text, an element of a list; a list: all of these
    note  = { any = true }                     whatever it is, but there
    limit = { absent = true }                  not there, or null

`optional = true` beside any of them: it may be missing, but if it is there it has to be right.
"""

from __future__ import annotations

import math
import re
import signal
import threading
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs

from pegboard import Fault
from pegboard.schema import NearNames, are_equal
from pegboard.schema.jsontext import shorten, shorten_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pegboard_chat.evals._faults import Faults

MAX_SEARCHED = 10_000
"""A text is searched by a pattern up to here, in characters."""
SEARCH_S = 1.0
"""So long a search may take: the text comes from a model, and a pattern may need longer than anybody lives."""
NOISE: Final = 1e-9
"""Relative: what counting in binary may add to a number that is meant to be the same."""


class Missing:
    """The argument is not there. There is one: `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


class Critic(Protocol):
    """What one argument has to be."""

    def accepts(self, value: Any) -> bool:
        """Whether this JSON value, or `MISSING`, is right."""
        ...

    @property
    def expected(self) -> str:
        """What would be right, as words."""
        ...


@attrs.frozen
class Exact:
    """This very value."""

    value: Any

    def accepts(self, value: Any) -> bool:
        return value is not MISSING and are_equal(self.value, value)

    @property
    def expected(self) -> str:
        return shorten(self.value)


@attrs.frozen
class Number:
    """A number that is near: within `tolerance`, or within the part `relative` of it."""

    value: float
    tolerance: float = 0.0
    relative: float = 0.0

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        try:
            given = float(value)
        except OverflowError:
            return False
        return math.isclose(given, self.value, rel_tol=NOISE) or abs(given - self.value) <= max(
            self.tolerance, self.relative * abs(self.value)
        ) * (1 + NOISE)

    @property
    def expected(self) -> str:
        near = f" ± {self.tolerance:g}" if self.tolerance else f" ± {self.relative:.4g} of it" if self.relative else ""
        return f"the number {self.value:g}{near}"


@attrs.frozen
class OneOf:
    """One of these values."""

    values: tuple[Any, ...]

    def accepts(self, value: Any) -> bool:
        return any(are_equal(one, value) for one in self.values)

    @property
    def expected(self) -> str:
        return f"one of {shorten_text(', '.join(map(shorten, self.values)), 200)}"


@attrs.frozen
class Text:
    """This text; letter case and white space do not count."""

    value: str

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and _plain(value) == _plain(self.value)

    @property
    def expected(self) -> str:
        return f"the text {shorten(self.value)}, letter case and white space aside"


def _plain(text: str) -> str:
    return "".join(text.split()).casefold()


@attrs.frozen
class Regex:
    """A text in which the pattern is found."""

    pattern: re.Pattern[str]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and found_in_time(self.pattern, value[:MAX_SEARCHED])

    @property
    def expected(self) -> str:
        return f"a text that matches {shorten(self.pattern.pattern)}"


class _OutOfTimeError(BaseException):
    """The search is stopped."""


def found_in_time(pattern: re.Pattern[str], text: str) -> bool:
    """Whether the pattern is found within `SEARCH_S`.

    `re` looks for signals while it searches, so an alarm ends it. Where there is none (Windows, another thread) it
    takes its time.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        return pattern.search(text) is not None

    def stop(number: int, frame: object) -> None:
        raise _OutOfTimeError

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, SEARCH_S)
        try:
            return pattern.search(text) is not None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _OutOfTimeError:
        return False
    finally:
        signal.signal(signal.SIGALRM, before)


@attrs.frozen
class Contains:
    """A text with these in it, whatever their letter case, or a list with these among its elements."""

    parts: tuple[Any, ...]

    def accepts(self, value: Any) -> bool:
        if isinstance(value, str):
            text = value.casefold()
            return all(isinstance(part, str) and part.casefold() in text for part in self.parts)
        if isinstance(value, (list, tuple)):
            return all(any(are_equal(part, one) for one in value) for part in self.parts)
        return False

    @property
    def expected(self) -> str:
        return f"something that contains {' and '.join(map(shorten, self.parts))}"


@attrs.frozen
class Anything:
    """Whatever it is, but there."""

    def accepts(self, value: Any) -> bool:
        return value is not MISSING

    @property
    def expected(self) -> str:
        return "anything"


@attrs.frozen
class Absent:
    """Not there, or null."""

    def accepts(self, value: Any) -> bool:
        return value is MISSING or value is None

    @property
    def expected(self) -> str:
        return "nothing"


@attrs.frozen
class Optional:
    """What the other says, where it is there at all."""

    critic: Critic

    def accepts(self, value: Any) -> bool:
        return value is MISSING or self.critic.accepts(value)

    @property
    def expected(self) -> str:
        return f"{self.critic.expected}, or nothing"


# -- from a file


def _number(table: Mapping[str, Any], faults: Faults) -> Critic:
    numbers = {}
    for key in ("number", "tolerance", "relative"):
        value = table.get(key, 0.0)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or (key != "number" and value < 0):
            faults.add((key,), "a number" if key == "number" else "a number from 0 on", value)
        else:
            numbers[key] = float(value)
    return Number(numbers.get("number", 0.0), numbers.get("tolerance", 0.0), numbers.get("relative", 0.0))


def _one_of(table: Mapping[str, Any], faults: Faults) -> Critic:
    values = table["one_of"]
    if not isinstance(values, list) or not values:
        faults.add(("one_of",), "a list of values", values)
        return Anything()
    return OneOf(tuple(values))


def _text(table: Mapping[str, Any], faults: Faults) -> Critic:
    return Text(faults.text(table["text"], ("text",)))


def _regex(table: Mapping[str, Any], faults: Faults) -> Critic:
    pattern = faults.text(table["regex"], ("regex",))
    try:
        return Regex(re.compile(pattern))
    except (re.error, RecursionError, OverflowError) as problem:
        faults.append(Fault((*faults.path, "regex"), "a pattern of Python's re", shorten(pattern), str(problem)[:100]))
        return Anything()


def _contains(table: Mapping[str, Any], faults: Faults) -> Critic:
    parts = table["contains"]
    return Contains(tuple(parts) if isinstance(parts, list) else (parts,))


def _when_true(key: str, critic: Critic) -> Callable[[Mapping[str, Any], Faults], Critic]:
    def read(table: Mapping[str, Any], faults: Faults) -> Critic:
        if table[key] is not True:
            faults.add((key,), "true", table[key])
        return critic

    return read


CRITICS: Mapping[str, tuple[Callable[[Mapping[str, Any], Faults], Critic], Sequence[str]]] = {
    "exact": (lambda table, _: Exact(table["exact"]), ()),
    "number": (_number, ("tolerance", "relative")),
    "one_of": (_one_of, ()),
    "text": (_text, ()),
    "regex": (_regex, ()),
    "contains": (_contains, ()),
    "any": (_when_true("any", Anything()), ()),
    "absent": (_when_true("absent", Absent()), ()),
}
"""Each critic: how its table is read, and what may stand in it beside the critic's name and `optional`."""


def read_critic(value: Any, faults: Faults) -> Critic:
    """The critic that a value of a file says; what is wrong with it goes into `faults`, and anything is taken then."""
    if not isinstance(value, dict):
        return Exact(value)
    named = [key for key in value if key in CRITICS]
    if len(named) != 1:
        got = " and ".join(named) or shorten(value)
        near = [one for key in value for one in NearNames().find(key, CRITICS)]
        hint = "a table that the argument is to be itself is written as { exact = { ... } }"
        if near and not named:
            hint = f"did you mean {near[0]}?"
        faults.append(Fault(faults.path, f"one of {', '.join(CRITICS)}", got, hint))
        return Anything()
    read, more = CRITICS[named[0]]
    faults.known_keys(value, (named[0], *more, "optional"))
    critic = read(value, faults)
    optional = value.get("optional", False)
    if optional is not True and optional is not False:
        faults.add(("optional",), "true or false", optional)
    return Optional(critic) if optional is True else critic
