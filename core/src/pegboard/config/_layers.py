"""Values with their origins: what one file, the environment or the command line says, and how they override each other.

Tables are merged key by key, everything else is replaced whole. A text whose meaning only its setting can tell - it
came from the environment, or through one `${VAR}` - is `LooseText`, and is read by the type of the setting.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import attrs

from pegboard._values import Shown, Value
from pegboard.config._secrets import looks_secret, mask_path
from pegboard.errors import Fault, Step, format_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

Kind = Literal["default", "file", "environment", "option", "program"]


@attrs.frozen(eq=False, repr=False)
class ValueOrigin(Value):
    """Where a value was set: a file, an environment variable, an option of the program, the program that opened the
    host; or nowhere, then it is the default.

    .. versionadded:: 0.1
    """

    kind: Kind
    name: str = ""

    def __str__(self) -> str:
        return f"${self.name}" if self.kind == "environment" else self.name or self.kind


DEFAULT = ValueOrigin("default")
PROGRAM = ValueOrigin("program", "the program")


@attrs.frozen(eq=False, repr=False)
class ConfigFault(Fault):
    """A fault of the configuration, with the file, variable or option that said it.

    .. versionadded:: 0.1
    """

    origin: ValueOrigin = DEFAULT

    @property
    def where(self) -> str:
        """The key as people write it, or the file where it is the whole file; what may be a secret is hidden."""
        return format_path(mask_path(self.path)) or str(self.origin)

    def __str__(self) -> str:
        if self.origin.kind == "option":  # who gives one need not know which setting it is
            below = format_path(mask_path(self.path[3 if self.path[:1] == ("plugins",) else 1 :]))
            return self.said_at(f"{self.origin}: {below}" if below else str(self.origin))
        text = super().__str__()
        return text if self.origin is DEFAULT or not self.path else f"{text}, in {self.origin}"

    def to_json(self) -> dict[str, Any]:
        """The fault with its origin."""
        return {**super().to_json(), "origin": str(self.origin)}


class LooseText(str):
    """A text that the type of its setting may read as a number, a boolean or a list."""

    __slots__ = ()


@attrs.define(eq=False, repr=False)
class Layer(Shown):
    """The values that one place sets.

    Args:
        origin: the place.
        values: tables as dicts, all the way down.
        trusted: whether it may start programs and widen permissions.
        found: whether it is a file that nobody named; it may be trusted all the same, as it stands.
        hidden: paths of values that came through a variable whose name looks like a secret's.
        file: the file, where it is one.
    """

    origin: ValueOrigin
    values: dict[str, Any]
    trusted: bool = True
    found: bool = False
    hidden: set[tuple[Step, ...]] = attrs.Factory(set)
    file: Path | None = None

    def fault(self, path: tuple[Step, ...], expected: str, got: str, hint: str | None = None) -> ConfigFault:
        """What is wrong with one of these values, with the place that sets it."""
        return ConfigFault(path, expected, got, hint, origin=self.origin)


@attrs.define(eq=False, repr=False)
class Tree(Shown):
    """Layers merged: the values in force, where each came from, which must not be shown; and the files among them that
    were discovered, trusted or not."""

    values: dict[str, Any] = attrs.Factory(dict)
    origins: dict[tuple[Step, ...], ValueOrigin] = attrs.Factory(dict)
    hidden: set[tuple[Step, ...]] = attrs.Factory(set)
    found: set[ValueOrigin] = attrs.Factory(set)
    accepted: set[ValueOrigin] = attrs.Factory(set)
    _inside: dict[tuple[Step, ...], ValueOrigin] | None = None

    def lay(self, layer: Layer) -> None:
        """Add a layer, which overrides what is there."""
        self._inside = None
        self._lay(self.values, layer.values, (), layer.origin)
        self.hidden = {path for path in self.hidden if self.origin_of(path) != layer.origin}
        self.hidden |= layer.hidden

    def _lay(
        self, below: dict[str, Any], above: Mapping[str, Any], path: tuple[Step, ...], origin: ValueOrigin
    ) -> None:
        for key, value in above.items():
            here = (*path, key)
            if isinstance(value, dict):
                if not isinstance(below.get(key), dict):
                    self.origins.pop(here, None)
                    below[key] = {}
                if not value:
                    self.origins.setdefault(here, origin)
                self._lay(below[key], value, here, origin)
            else:
                # A value stands in the place of a table: what was said inside of that has no origin any more.
                if isinstance(below.get(key), dict):
                    for old in [old for old in self.origins if old[: len(here)] == here]:
                        del self.origins[old]
                below[key] = value
                self.origins[here] = origin

    def at(self, path: Iterable[Step]) -> Any:
        """The value at a path, or None."""
        value: Any = self.values
        for step in path:
            if isinstance(value, list) and isinstance(step, int):
                value = value[step] if step < len(value) else None
            else:
                value = value.get(step) if isinstance(value, dict) else None
        return value

    def origin_of(self, path: Iterable[Step]) -> ValueOrigin:
        """The origin of the value at this path, or of the list that holds it, or of the first value inside it."""
        path = tuple(path)
        for length in range(len(path), 0, -1):
            origin = self.origins.get(path[:length])
            if origin is not None and (length == len(path) or not isinstance(self.at(path[:length]), dict)):
                return origin
        return self._first_inside().get(path, DEFAULT)

    def _first_inside(self) -> dict[tuple[Step, ...], ValueOrigin]:
        """The origin of the first value in each table."""
        if self._inside is None:
            self._inside = {}
            for path, origin in self.origins.items():
                for length in range(1, len(path)):
                    self._inside.setdefault(path[:length], origin)
        return self._inside

    def is_hidden(self, path: tuple[Step, ...]) -> bool:
        """Whether the value at this path came through a secret variable."""
        return any(path[:length] in self.hidden for length in range(1, len(path) + 1))


_VARIABLE = r"\$(?:(?P<escape>\$)|\{(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|(?P<bad>)))"


def expand(layer: Layer, environ: Mapping[str, str]) -> list[ConfigFault]:
    """Fill `${VAR}` and `${VAR:-default}` in every text and key of the layer, in place.

    `$$` is one dollar sign, in a text. An empty variable takes the default, as in a shell. What is wrong is returned,
    all of it.
    """
    faults: list[ConfigFault] = []

    def fill(text: str, path: tuple[Step, ...]) -> str:
        def one(match: re.Match[str]) -> str:
            if match["escape"]:
                return "$"
            name, default = match["name"], match["default"]
            if name is None:
                faults.append(layer.fault(path, "${VAR}, ${VAR:-default} or $$ for a dollar sign", "'${' alone"))
                return ""
            value = environ.get(name)
            if not value and default is not None:
                value = default
            if value is None:
                fix = f"set {name}, or write ${{{name}:-default}}"
                faults.append(layer.fault(path, f"the variable {name} to be set", "nothing", fix))
                return ""
            if looks_secret(name):
                layer.hidden.add(path)
            return value

        if "$" not in text:
            return text
        # `${VAR:-default}` and the empty variable as in a shell (POSIX, 2.6.2); `$$` as in make and in Compose.
        whole = re.fullmatch(_VARIABLE, text)
        filled = re.sub(_VARIABLE, one, text)
        return LooseText(filled) if whole and whole["name"] else filled

    def walk(value: Any, path: tuple[Step, ...]) -> Any:
        if isinstance(value, str):
            return fill(value, path)
        if isinstance(value, list):
            return [walk(item, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        table: dict[str, Any] = {}
        for raw, item in value.items():
            key = str(fill(raw, (*path, raw))) if "${" in raw else raw  # a token may be a key
            if key in table:
                faults.append(layer.fault((*path, raw), "a key of its own", "one that stands there twice"))
            table[key] = walk(item, (*path, key))
        return table

    layer.values = walk(layer.values, ())
    return faults


def leaves(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Every value that is not a table, and every empty table, with its path."""
    if isinstance(value, dict) and (value or not path):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    else:
        yield path, value
