"""What is wrong with a file of questions, collected: all of it is told at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pegboard import ConfigError, Fault
from pegboard.schema.jsontext import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

MAX_FAULTS = 50
"""How many faults are told; a file with more has one cause for most of them."""

T = TypeVar("T")


class Faults:
    """Collects what is wrong, below one place of the file. Every reader gives a usable value all the same."""

    def __init__(self, found: list[Fault] | None = None, path: tuple[str | int, ...] = ()) -> None:
        self.found: list[Fault] = [] if found is None else found
        self.path = path

    def at(self, *steps: str | int) -> Faults:
        """The same list, at a place below."""
        return Faults(self.found, (*self.path, *steps))

    def append(self, fault: Fault) -> None:
        """Take one more fault."""
        self.found.append(fault)

    def add(self, steps: tuple[str | int, ...], expected: str, got: Any, hint: str | None = None) -> None:
        """Something else was expected at a place below."""
        shown = "nothing" if got is None else shorten(got) if is_json(got) else f"a {type(got).__name__}"
        self.append(Fault((*self.path, *steps), expected, shown, hint))

    def known_keys(self, table: Mapping[str, Any], known: Collection[str]) -> None:
        """Require that a table says nothing that is not read."""
        from pegboard.schema import NearNames

        for key in table:
            if key not in known:
                near = NearNames().find(key, known)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
                self.append(Fault((*self.path, key), "a key that is known", "one that is not", hint))

    def text(self, value: Any, steps: tuple[str | int, ...], *, default: str = "") -> str:
        """A text that is not blank."""
        if isinstance(value, str) and value.strip():
            return value
        self.add(steps, "a text", value)
        return default

    def table(self, value: Any, steps: tuple[str | int, ...] = ()) -> Mapping[str, Any]:
        """A table."""
        if isinstance(value, dict):
            return value
        self.add(steps, "a table", value)
        return {}

    def listed(self, value: Any, steps: tuple[str | int, ...], most: int, hint: str | None = None) -> list[Any]:
        """A list of a bounded length."""
        if not isinstance(value, list):
            self.add(steps, "a list", value, hint)
            return []
        if len(value) > most:
            self.append(Fault((*self.path, *steps), f"at most {most:,} of them", f"{len(value):,}"))
        return value[:most]

    def truth(self, table: Mapping[str, Any], key: str, default: bool) -> bool:
        """true or false."""
        value = table.get(key, default)
        if value is not True and value is not False:
            self.add((key,), "true or false", value)
            return default
        return value

    def count(self, table: Mapping[str, Any], key: str, default: int, most: int) -> int:
        """A whole number from 1 to `most`."""
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            self.add((key,), f"a whole number from 1 to {most:,}", value)
            return default
        return value

    def optional(self, table: Mapping[str, Any], key: str, read: Callable[[Any, tuple[str]], T]) -> T | None:
        """What stands there, where something does."""
        return read(table[key], (key,)) if key in table else None

    def raise_if_any(self, message: str) -> None:
        """Raise what was found.

        Raises:
            ConfigError: everything, up to `MAX_FAULTS`.
        """
        if self.found:
            more = len(self.found) - MAX_FAULTS
            hint = f"and {more} more" if more > 0 else None
            raise ConfigError(message, self.found[:MAX_FAULTS], hint=hint)


def is_json(value: Any) -> bool:
    """Whether it is a value of JSON all through."""
    if isinstance(value, dict):
        return all(map(is_json, value.values()))
    if isinstance(value, list):
        return all(map(is_json, value))
    return value is None or isinstance(value, (str, bool, int, float))
