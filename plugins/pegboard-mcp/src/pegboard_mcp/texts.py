"""Foreign texts as a person would see them: what hides in them is taken out, and said.

A description from a server is read by a model. Characters of the tags block, marks that turn the direction of text,
characters without width and control characters let it say what nobody sees. `pegboard.doctor.HIDDEN` names them; what
it does not name and hides as well stands in `_MORE`. Joiners stay where emoji and Persian or Indic words need them.

Texts that only describe are cleaned. Names of properties, `enum`, `const`, `pattern` and references are what a call is
checked by: they stay as they are, and are said. Cleaning a clean text changes nothing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

MAX_TEXT = 100_000
"""A description is cut after so many characters."""
MAX_DEPTH = 128
MAX_VALUES = 50_000
MAX_SAID = 100
"""How many findings of one schema are told."""

TOO_LONG = f"more than {MAX_TEXT:,} characters"
JOINERS = "\\u200c\\u200d"
SELECTORS = "\\ufe00-\\ufe0f\\U000e0100-\\U000e01ef"
_MORE = {
    "characters without width": "[\\u034f\\u200b\\u206a-\\u206f\\ufff9-\\ufffb]",
    # One selector says how the sign before it looks; more of them say something else.
    "rows of variation selectors": f"(?<=[{SELECTORS}])[{SELECTORS}]",
    "letters that are blank": "[\\u115f\\u1160\\u3164\\uffa0]",
    "halves of characters": "[\\ud800-\\udfff]",
}
# A row of joiners goes as a whole; two are the most that a word of any script needs.
_STRAY = f"(?<=[\\x00-\\x7f])[{JOINERS}]+|[{JOINERS}]+(?=[\\x00-\\x7f])|(?<=[{JOINERS}][{JOINERS}])[{JOINERS}]+"

VALUES = frozenset((
    "enum", "const", "pattern", "required", "format", "type", "$ref", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor",
    "$schema", "$vocabulary", "dependentRequired", "contentEncoding", "contentMediaType",
))  # fmt: skip
"""Keywords whose texts are no descriptions."""
BY_NAME = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"))
"""Keywords that hold schemas by name."""
SCHEMAS = frozenset((
    "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "additionalProperties",
    "unevaluatedProperties", "propertyNames", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema",
))  # fmt: skip
"""Keywords that hold a schema, or a list of some."""


class Hidden(NamedTuple):
    """What was found in a schema: where, what, and whether it was taken out."""

    path: tuple[str | int, ...]
    what: str
    stripped: bool

    def __str__(self) -> str:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{ascii(step)[1:-1][:60]}" for step in self.path)
        return f"{place.lstrip('.') or 'the schema'}: {self.what}, {'taken out' if self.stripped else 'still there'}"


def clean(text: str) -> tuple[str, list[str]]:
    """The text without what hides in it, and what that was, as words; an empty list where nothing was.

    Linear in the text's length. A text of more than `MAX_TEXT` characters is cut, and that is said too.
    """
    said: list[str] = []
    if len(text) > MAX_TEXT:
        text, said = text[:MAX_TEXT], [TOO_LONG]
    if text.isascii() and not _ascii_controls().search(text):
        return text, said
    for what, pattern in _patterns():
        text, count = pattern.subn("", text)
        if count and what not in said:
            said.append(what)
    return text, said


def clean_schema(schema: Any) -> tuple[Any, list[Hidden]]:
    """The schema with its describing texts cleaned, and what hid in it; the very same object where nothing did.

    Raises:
        ValueError: it is nested deeper than `MAX_DEPTH`, or has more than `MAX_VALUES` values.
    """
    walk = _Walk()
    cleaned = walk.schema(schema, ())
    return cleaned, walk.said


@functools.cache
def _ascii_controls() -> re.Pattern[str]:
    from pegboard.doctor import HIDDEN

    return re.compile(HIDDEN["control characters"])


@functools.cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Every pattern in an order in which none makes work for one before it: joiners come last, since what is taken out
    beside them may bring them beside ASCII."""
    from pegboard.doctor import HIDDEN, ZERO_WIDTH

    width = "characters without width"
    plain = [(what, pattern) for what, pattern in HIDDEN.items() if what != width]
    plain += [(width, f"[{ZERO_WIDTH}]"), *_MORE.items(), (width, _STRAY)]
    return tuple((what, re.compile(pattern)) for what, pattern in plain)


class _Walk:
    """One walk through a schema. Each step gives a cleaned value, or the very value where it was clean."""

    def __init__(self) -> None:
        self.said: list[Hidden] = []
        self.left = MAX_VALUES

    def schema(self, value: Any, path: tuple[str | int, ...]) -> Any:
        """A schema, or a list of some, or what stands where one is due."""
        if isinstance(value, (list, tuple)):
            return self._list(value, path, self.schema)
        if not isinstance(value, Mapping):
            return self.describing(value, path)
        return self._map(value, path, self._keyword, known=True)

    def _keyword(self, name: str) -> Callable[[Any, tuple[str | int, ...]], Any]:
        if name in VALUES:
            return self.held
        if name in BY_NAME:
            return self.named
        return self.schema if name in SCHEMAS else self.describing

    def named(self, value: Any, path: tuple[str | int, ...]) -> Any:
        """Schemas by name; the names are held."""
        if not isinstance(value, Mapping):
            return self.describing(value, path)
        for name in value:
            self._look(name, (*path, name))
        return self._map(value, path, lambda _: self.schema)

    def held(self, value: Any, path: tuple[str | int, ...]) -> Any:
        """A value that calls are checked by: it is looked at and left."""
        self._step(path)
        if isinstance(value, str):
            self._look(value, path)
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                self.held(item, (*path, index))
        elif isinstance(value, Mapping):
            for name, item in value.items():
                self._look(name, (*path, name))
                self.held(item, (*path, name))
        return value

    def describing(self, value: Any, path: tuple[str | int, ...]) -> Any:
        """A value that only describes: a description, a default, an example, an unknown keyword."""
        if isinstance(value, str):
            self._step(path)
            cleaned, said = clean(value)
            self._say(path, said, stripped=True)
            return value if cleaned == value else cleaned
        if isinstance(value, (list, tuple)):
            return self._list(value, path, self.describing)
        if isinstance(value, Mapping):
            return self._map(value, path, lambda _: self.describing, known=True)
        self._step(path)
        return value

    def _list(self, value: Any, path: tuple[str | int, ...], clean_one: Callable[..., Any]) -> Any:
        self._step(path)
        items = [clean_one(item, (*path, index)) for index, item in enumerate(value)]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items

    def _map(
        self, value: Mapping[str, Any], path: tuple[str | int, ...], how: Callable[[str], Any], *, known: bool = False
    ) -> Any:
        """The members of an object; where `known`, one whose name hides something is no keyword and is left out."""
        self._step(path)
        made: dict[str, Any] = {}
        changed = False
        for name, item in value.items():
            if known and (said := clean(name)[1]):
                self._say((*path, name), said, stripped=True)
                changed = True
                continue
            made[name] = how(name)(item, (*path, name))
            changed = changed or made[name] is not item
        return made if changed else value

    def _look(self, text: str, path: tuple[str | int, ...]) -> None:
        self._say(path, [what for what in clean(text)[1] if what != TOO_LONG], stripped=False)

    def _say(self, path: tuple[str | int, ...], said: list[str], *, stripped: bool) -> None:
        self.said += [Hidden(path, what, stripped) for what in said[: MAX_SAID - len(self.said)]]

    def _step(self, path: tuple[str | int, ...]) -> None:
        self.left -= 1
        if len(path) > MAX_DEPTH:
            raise ValueError(f"the schema is nested deeper than {MAX_DEPTH}")
        if self.left < 0:
            raise ValueError(f"the schema has more than {MAX_VALUES:,} values")


def is_page(url: str) -> bool:
    """Whether an address is one of the web that shows a person where it leads: in ASCII, with no user before its host,
    and without the backslash, which browsers take for a slash."""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


def visible(text: str) -> str:
    """The text with what hides in it written as escapes: harmless to a terminal, and everything can be seen."""
    if text.isascii() and not _ascii_controls().search(text.replace("\r", "\x00")):
        return text
    text = _CARRIAGE.sub(_escaped, text)
    for _, pattern in _patterns():
        text = pattern.sub(_escaped, text)
    return text


_CARRIAGE = re.compile("[\\r\\u2028\\u2029]")


def _escaped(match: re.Match[str]) -> str:
    codes = map(ord, match[0])
    return "".join(
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}" for code in codes
    )
