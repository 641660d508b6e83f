"""Foreign texts and schemas as a person would see them: what hides in them is taken out, and reported.

A description from a server is read by a model. What may hide in it, and what stays because writing needs it, is said
by `pegboard.text`. Keys in what only describes are masked: whoever lists it hands it to a model.

Texts that only describe are cleaned. Names of properties, `enum`, `const`, `pattern` and references are what a call is
checked by: they stay as they are, and are said. Cleaning a clean text changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pegboard.limits import MESSAGE_LEVELS
from pegboard.schema import SCHEMA_KEYWORDS, SCHEMAS_BY_NAME
from pegboard.secrets.shapes import is_distinct, replace_shapes
from pegboard.text import WORDS
from pegboard.text import clean as sanitised

MAX_TEXT = 100_000
"""A description is cut after so many characters."""
MAX_DEPTH = MESSAGE_LEVELS
MAX_VALUES = 50_000
MAX_SAID = 100
"""How many findings of one schema are told."""

TOO_LONG = f"more than {MAX_TEXT:,} characters"
VALUES = frozenset((
    "enum", "const", "pattern", "required", "format", "type", "$ref", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor",
    "$schema", "$vocabulary", "dependentRequired", "contentEncoding", "contentMediaType",
))  # fmt: skip
"""Keywords whose texts are not descriptions."""


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
    said = [TOO_LONG] if len(text) > MAX_TEXT else []
    text, found = sanitised(text[:MAX_TEXT])
    return text, [*said, *(WORDS[kind] for kind in found)]


def without_keys(text: str) -> str:
    """The text with a mark in place of each key in it, by its shape; a word that stands for one, as in an example,
    stays."""
    return replace_shapes(text, lambda key, kind: f"[masked: {kind}]" if is_distinct(key) else None)


def without_secrets(value: Any, secrets: Sequence[str]) -> Any:
    """A JSON value with a mark in place of these secrets in its texts."""
    if isinstance(value, Mapping):
        return {key: without_secrets(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [without_secrets(item, secrets) for item in value]
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "[masked: secret of this host]")
    return value


def clean_schema(schema: Any) -> tuple[Any, list[Hidden]]:
    """The schema with its describing texts cleaned, and what hid in it; the very same object where nothing did.

    Raises:
        ValueError: it is nested deeper than `MAX_DEPTH`, or has more than `MAX_VALUES` values.
    """
    walk = _Walk()
    cleaned = walk.schema(schema, ())
    return cleaned, walk.said


class _Walk:
    """One walk through a schema. Each step gives a cleaned value, or the very value where it was clean."""

    def __init__(self) -> None:
        self.said: list[Hidden] = []
        self.left = MAX_VALUES

    def schema(self, value: Any, path: tuple[str | int, ...]) -> Any:
        """A schema, or a list of some, or what stands where one is expected."""
        if isinstance(value, (list, tuple)):
            return self._list(value, path, self.schema)
        if not isinstance(value, Mapping):
            return self.describing(value, path)
        return self._map(value, path, self._keyword, known=True)

    def _keyword(self, name: str) -> Callable[[Any, tuple[str | int, ...]], Any]:
        if name in VALUES:
            return self.held
        if name in SCHEMAS_BY_NAME:
            return self.named
        return self.schema if name in SCHEMA_KEYWORDS else self.describing

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
            cleaned = without_keys(cleaned)
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
        """The members of an object; where `known`, one whose name hides something is not a keyword and is left out."""
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
        if len(text) == 1:
            return  # it can hide nothing: a delimiter that may be chosen
        self._say(path, [what for what in clean(text)[1] if what != TOO_LONG], stripped=False)

    def _say(self, path: tuple[str | int, ...], said: list[str], *, stripped: bool) -> None:
        self.said += [Hidden(path, what, stripped) for what in said[: MAX_SAID - len(self.said)]]

    def _step(self, path: tuple[str | int, ...]) -> None:
        self.left -= 1
        if len(path) > MAX_DEPTH:
            raise ValueError(f"the schema is nested deeper than {MAX_DEPTH}")
        if self.left < 0:
            raise ValueError(f"the schema has more than {MAX_VALUES:,} values")


def runs_in_a_page(address: str) -> bool:
    """Whether a page that makes a link of an address would run what it says; browsers pass over blanks in it."""
    return (
        "".join(address.split()).casefold().startswith(("javascript:", "vbscript:", "data:text/html", "data:image/svg"))
    )
