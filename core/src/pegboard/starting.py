"""What keeps a start quick: the garbage collector is held back, and names are imported when they are asked for.

A short command is nothing but its start, and every program that imports the library pays for it. It is one module,
since each module costs as well.

.. versionadded:: 0.1
"""

from __future__ import annotations

import contextlib
import gc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["lazy_names"]

FEW = 3_000
"""So many new values are looked through in a tenth of a millisecond; a board of modules that are loaded makes half."""


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Make what stays: nothing is collected in the block, and at its end all that there is counts as old.

    Importing and registering make tens of thousands of values and free next to none: to look through them again and
    again, or once at the end, costs a short command a twentieth of its time. Where the collector is off it stays off;
    where little was made, or the program has frozen values of its own (`gc.freeze`), what was made stays young.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > FEW and not _has_frozen():
            # `freeze` is for programs that fork (bpo-31558). Followed by `unfreeze` it is the one way to make values
            # old without a collection: they go into the oldest generation, where a full collection finds them.
            gc.freeze()
            gc.unfreeze()
        gc.enable()


_frozen = False
"""Whether the program was once seen to have frozen values of its own."""


def _has_frozen() -> bool:
    """Whether the program has frozen values of its own. Python only tells by counting them, which takes 0.1 s for a
    million: whoever has some is not asked again at its next load."""
    global _frozen
    _frozen = _frozen or gc.get_freeze_count() > 0
    return _frozen


def lazy_names(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """The `__getattr__` of a package whose names live in its modules, each imported when one of its names is asked for.

    A public module gathers what others may use, and whoever imports one name of it should not pay for all. Type
    checkers read the imports that stand in the package under `TYPE_CHECKING`. It is PEP 562, as SciPy, NetworkX and
    scikit-image have it (SPEC 1).

    Args:
        package: its `__name__`.
        modules: by module, relative to the package where it begins with a dot: the names that it brings. `name = other`
            is a name that the module itself calls `other`.

    Raises:
        AttributeError: from the function; the package has no such name.

    .. versionadded:: 0.1
    """
    homes = {}
    for module, names in modules.items():
        for entry in names:
            name, _, other = entry.partition(" = ")
            homes[name] = (module, other or name)

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        module, other = homes[name]
        value = getattr(import_module(module, package), other)
        setattr(sys.modules[package], name, value)  # the next time it is an ordinary attribute
        return value

    return get
