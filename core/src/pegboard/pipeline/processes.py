"""Worker processes: what runs in one can be killed, with all that it started."""

from __future__ import annotations

import functools
import importlib
import os
from typing import TYPE_CHECKING, Any

from pegboard.trace import carrier, following

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


def lead_a_group() -> None:
    """In a worker process, before its first work: what it starts shall end with it."""
    if hasattr(os, "setsid"):
        os.setsid()


def keep_out_of_the_working_directory() -> None:
    """Have no worker import what lies in the working directory, which may be a project that somebody else made.

    multiprocessing starts `python -c`, and that looks there first: a file `multiprocessing.py` would be run before the
    worker knows where its parent imports from. `-P` (Python 3.11) leaves the folder out, and lasts no longer than that.
    There is no public way to give a worker an option; all that this process starts gets it from here on, the tracker of
    resources too.
    """
    from multiprocessing import util

    flags: Callable[[], list[str]] = util._args_from_interpreter_flags  # type: ignore[attr-defined]
    if "-P" in flags() or "-I" in flags():
        return
    util._args_from_interpreter_flags = lambda: [*flags(), "-P"]  # type: ignore[attr-defined]


def call_by_name(
    note: str, module: str, qualname: str, arguments: dict[str, Any], trace: Mapping[str, str] | None = None
) -> Any:
    """In the worker process: say who works, then find the handler and call it, in the trace of its call."""
    from pathlib import Path

    Path(note).write_text(str(os.getpid()), encoding="ascii")
    found: Any = functools.reduce(getattr, qualname.split("."), importlib.import_module(module))
    with following(trace):
        return getattr(found, "handler", found)(**arguments)


async def run_in_process(
    runtime: Any,
    target: tuple[str, str],
    arguments: Mapping[str, Any],
    limiter: Any,
    begun: Callable[[], None] | None = None,
) -> Any:
    """Run a function in a worker process; it and all that it started are killed if the call ends before it does.

    Args:
        runtime: a `pegboard.pipeline.runtime.Runtime`, which has the processes.
        target: the function's module and qualified name.
        arguments: by keyword.
        limiter: how many may run at once.
        begun: is told when this one may, before its process begins.
    """
    from pathlib import Path

    import trio
    import trio_parallel

    workers, folder = await runtime.workers()
    note = Path(folder) / f"{next(runtime.ids)}.pid"
    try:
        async with limiter:
            if begun is not None:
                begun()
            # Killed, and not asked to end: what hangs or burns CPU does not listen, and a deadline waits for nobody.
            return await workers.run_sync(
                call_by_name,
                str(note),
                *target,
                dict(arguments),
                carrier.get(),
                kill_on_cancel=True,
                limiter=trio.CapacityLimiter(1),  # it has its place
            )
    except (trio.Cancelled, trio_parallel.BrokenWorkerError):  # the worker is dead; a handler's own error leaves it be
        _kill_group(note)
        raise
    finally:
        note.unlink(missing_ok=True)


def _kill_group(note: Path) -> None:
    """The worker is dead already; its group holds what the handler started."""
    if not hasattr(os, "killpg"):
        return
    import signal

    try:
        os.killpg(int(note.read_text(encoding="ascii")), signal.SIGKILL)
    except (OSError, ValueError):  # it never began, or left nobody
        return
