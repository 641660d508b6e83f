"""What the script `pegboard` runs: Ctrl-C ends it in one word from its first moment to its last.

It is not part of the package `pegboard`: whoever imports a module of that has imported the package before, which takes
half of a short command, and an interrupt in there is a traceback. Nothing has begun then and nothing is left to do when
the program has answered, so the process ends at once; what runs between hears Ctrl-C as any Python program does.

.. versionadded:: 0.1
"""

from __future__ import annotations

# `signal` is a wrapper of it with enumerations, which a short command has no time for.
import _signal  # type: ignore[import-not-found]
import contextlib
import gc
import os
from importlib import import_module
from typing import NoReturn

__all__ = ["leave_at_once", "main", "run"]

INTERRUPTED = 130


def main() -> NoReturn:
    """Run the program `pegboard`, and end it with its exit status.

    .. versionadded:: 0.1
    """
    run("pegboard.cli", "pegboard.cli._program")


def run(module: str, *before: str) -> NoReturn:
    """Run `main` of that module, and end the process with its exit status.

    Args:
        module: its name.
        before: modules that it imports first of all.

    .. versionadded:: 0.1
    """
    gc.disable()  # as `pegboard.cli.main` does
    is_ours = leave_at_once()
    for name in before:
        import_module(name)
    program = import_module(module).main
    try:
        if is_ours:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        program()
    except KeyboardInterrupt:  # between two moments of which the program knows
        _leave()
    finally:
        leave_at_once()
    raise AssertionError("the program ends with a status")


def leave_at_once() -> bool:
    """Let Ctrl-C end the process at once, unless somebody else hears it; whether it does.

    .. versionadded:: 0.1
    """
    if _signal.getsignal(_signal.SIGINT) not in (_signal.default_int_handler, _leave):  # who started it ignores Ctrl-C
        return False
    _signal.signal(_signal.SIGINT, _leave)
    return True


def _leave(*_: object) -> None:
    with contextlib.suppress(OSError):  # nobody may be there who reads it
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
