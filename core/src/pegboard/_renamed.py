"""Former names of public things: each works for one more release, and warns.

They go with 0.2. `docs/explanation/words.md` lists the words that were replaced, and by which.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

_CALLER = 3
"""The frame of who uses a former name: above the function that warns, and the one that was asked for the name."""


def warn_renamed(former: str, present: str) -> None:
    """Warn whoever called the caller of this that a name has changed."""
    message = f"{former} is called {present} now; the former name goes with 0.2"
    warnings.warn(message, DeprecationWarning, stacklevel=_CALLER)


def former_module(
    module: str, present: str, names: Mapping[str, str] | None = None, moved: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """The `__getattr__` of a module that was renamed: everything of the present one.

    Args:
        module: the `__name__` of the former module.
        present: the name of the present one.
        names: former names of things in it, each with the present name.
        moved: things of it that are in another module now, each with that.
    """

    def get(name: str) -> Any:
        if name.startswith("__"):  # what Python itself looks for: `__path__`, `__all__`
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        now, place = (names or {}).get(name, name), (moved or {}).get(name, present)
        value = getattr(_imported(place, module), now)
        warn_renamed(f"{module}.{name}", f"{place}.{now}")
        return value

    return get


def _imported(present: str, former: str) -> ModuleType:
    """A module, which another package may bring.

    Raises:
        ModuleNotFoundError: that package is not installed.
    """
    package = present.partition(".")[0]
    try:
        return import_module(present)
    except ModuleNotFoundError as problem:
        if problem.name != package:
            raise
        what = f"{former} is called {present} now, and comes with a package of its own: pip install"
        raise ModuleNotFoundError(f"{what} {package.replace('_', '-')}", name=package) from None


def former_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module in which some things were renamed.

    Args:
        module: its `__name__`.
        names: each former name with the present one.
    """

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn_renamed(f"{module}.{name}", f"{module}.{names[name]}")
        return getattr(import_module(module), names[name])

    return get


class Former:
    """The former name of a method or an attribute, as an attribute of the class."""

    def __init__(self, present: str) -> None:
        self._present = present

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        warn_renamed(f"{owner.__name__}.{self._name}", self._present)
        return getattr(owner if instance is None else instance, self._present)


def attribute_of(thing: object, present: str, former: str) -> Any:
    """An attribute that others define on a class of theirs, by its present or its former name; None: by neither."""
    value = getattr(thing, present, None)
    if value is None and (value := getattr(thing, former, None)) is not None:
        warn_renamed(f"{type(thing).__name__}.{former}", present)
    return value
