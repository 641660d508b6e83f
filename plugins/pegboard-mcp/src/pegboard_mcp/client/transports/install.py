"""The install that npx, uvx and the like begin with, as a step of its own before the server is started.

Why it is one: started together, an install that takes longer than a server may take to answer would be ended in its
middle, and a package manager that is killed there leaves a cache that is broken for every program of the person. So the
step has a limit of its own (`install_timeout`), and whoever ends it asks with TERM and waits for `INSTALL_GRACE_S`:
npm takes back what it began, uv and pip leave nothing half.

Whether an install is needed cannot be told from outside: a name without a version means the newest there is. So the
step is made before each start, and does nothing where nothing is to be done, but not again within `FRESH_S`. A step
that fails does not keep the server from being started, since what is installed already may do; the start says what is
wrong, in the words of the package manager.

Other launchers (`bunx`, `pnpm dlx`, `uv run`, `docker run`) fetch and start in one, and nobody can tell when the one is
over: their first start has the time of both, and counts as installing until the server answers.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import os
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, cast

import trio

from pegboard_mcp.client._errors import LinkError
from pegboard_mcp.client.transports import _reaper
from pegboard_mcp.client.transports._link import shorten
from pegboard_mcp.client.transports._process import (
    CHUNK,
    INSTALL_GRACE_S,
    child_env,
    end_group,
    start,
    throw_away,
)
from pegboard_mcp.packages import fetches, install_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio.lowlevel import FdStream

    from pegboard_confine.sandbox import Box
    from pegboard_mcp.definitions import ServerDefinition

log = logging.getLogger("pegboard.mcp")

FRESH_S = 600.0
"""So long after it was done a step is not repeated: a server that is started again does not wait for it."""
KEPT_BYTES = 2_000
NO_REGISTRY = "Look whether the registry can be reached; one at a private address needs that address in `network`."
NO_PACKAGE = "The registry has no such package, or not in this version: correct its name in `args`."
_NO_PACKAGE = re.compile(
    r"\bE404\b|\bETARGET\b|not found in the package registry|there is no version of|No matching distribution"
)
_SAYS_NOTHING = re.compile(r"npm (?:notice|warn)\b|npm (?:error|ERR!)(?: 404)?\s*$|.*A complete log of this run")
"""Lines of npm that push what is wrong out of the last words."""
MAX_PACKAGE_JSON = 1024 * 1024

_done: dict[str, float] = {}
"""When the step of a server was done, by `_place_of`, in seconds of `time.monotonic`."""


def _place_of(definition: ServerDefinition) -> str:
    """What was installed, and where: in a sandbox each name has a home of its own."""
    return f"{definition.identity} {definition.name}" if definition.confine else definition.identity


async def install(definition: ServerDefinition, on_install: Callable[[bool], None]) -> None:
    """Install what the server's command would install first; where that is nothing, or nobody can tell, do nothing.

    Args:
        definition: the server.
        on_install: hears True when it begins, and False when it is over.

    Raises:
        LinkError: it took longer than `install_s`, or the command is not there, or a sandbox got nothing to run.
    """
    step = install_step(definition.argv)
    is_fresh = time.monotonic() - _done.get(_place_of(definition), float("-inf")) < FRESH_S
    if step is None or is_fresh:
        return
    if step.command is not None and not definition.confine and _is_there(step.command, definition):
        return  # a sandbox shows none of what lies there
    if definition.confine and not await _may_install(definition):
        return
    on_install(True)
    failed = await (_run_confined if definition.confine else _run)(definition, step.argv)
    on_install(False)
    if failed is None:
        note_installed(definition)
    elif definition.confine:  # once it has run, nothing is installed any more: see `_box`
        raise LinkError(
            "exited",
            f"its package could not be installed{f'; its last words: {failed}' if failed else ''}",
            NO_PACKAGE if _NO_PACKAGE.search(failed) else NO_REGISTRY,
        )


async def _run_confined(definition: ServerDefinition, argv: tuple[str, ...]) -> str | None:
    from pegboard_mcp.client.transports._box import begin_install, note_whole

    held = await begin_install(definition)
    try:
        failed = await _run(definition, argv)
        if failed is None:
            await trio.to_thread.run_sync(note_whole, definition)
        return failed
    finally:
        os.close(held)


async def _may_install(definition: ServerDefinition) -> bool:
    from pegboard_mcp.client.transports._box import may_install

    return await trio.to_thread.run_sync(may_install, definition)


def installs_as_it_starts(definition: ServerDefinition) -> bool:
    """Whether the start may hold an install that is not a step of its own, and that was not over a short while ago."""
    is_fresh = time.monotonic() - _done.get(_place_of(definition), float("-inf")) < FRESH_S
    return not is_fresh and install_step(definition.argv) is None and fetches(definition.argv)


def note_installed(definition: ServerDefinition) -> None:
    """The server answers: what it needed is there."""
    _done[_place_of(definition)] = time.monotonic()


def _is_there(command: str, definition: ServerDefinition) -> bool:
    """Whether npx runs what lies in the folder, above it or on PATH, and asks for no package of that name."""
    cwd = Path(definition.cwd or ".").absolute()
    if any((folder / "node_modules" / ".bin" / command).exists() for folder in (cwd, *cwd.parents)):
        return True
    if shutil.which(command, path=child_env(definition, os.environ).get("PATH", os.defpath)) is not None:
        return True
    package = cwd / "package.json"  # one that brings the command itself
    with contextlib.suppress(OSError):
        if package.is_file() and package.stat().st_size <= MAX_PACKAGE_JSON:
            return f'"{command}"' in package.read_text("utf-8", "replace")
    return False


async def _run(definition: ServerDefinition, argv: tuple[str, ...]) -> str | None:
    """Run the step; its last words where it failed."""
    tail: collections.deque[bytes] = collections.deque(maxlen=2)
    _reaper.acquire()
    process: trio.Process | None = None
    box: Box | None = None
    try:
        process, box = await start(definition, argv, gently=True)
        pipes = [cast("FdStream", pipe) for pipe in (process.stdin, process.stdout, process.stderr)]
        pipes[0].close()  # it reads the end of its input: it can ask nobody
        async with trio.open_nursery() as nursery:
            nursery.start_soon(throw_away, pipes[1].fileno())
            nursery.start_soon(_keep_last, pipes[2].fileno(), tail)
            if box is not None:
                nursery.start_soon(box.serve)
            try:
                with trio.move_on_after(definition.install_s) as limit:
                    await process.wait()
            finally:
                with trio.CancelScope(shield=True):
                    await end_group(process, INSTALL_GRACE_S)
                for pipe in pipes:
                    pipe.close()
                nursery.cancel_scope.cancel()
    finally:
        if box is not None:
            box.close()
        _reaper.release(process.pid if process is not None else None)
    lines = definition.mask_words(b"".join(tail)[-KEPT_BYTES:].decode("utf-8", "replace")).splitlines()
    words = shorten("\n".join(line for line in lines if not _SAYS_NOTHING.match(line)))
    if limit.cancelled_caught:
        raise LinkError(
            "timeout",
            f"its package was not installed within {definition.install_s:g} s (time-out)"
            + (f"; its last words: {words}" if words else ""),
            "Install it by hand, or give it more time: `install_timeout`.",
        )
    if process.returncode == 0:
        return None
    log.warning("the package of the MCP server %s could not be installed: %s", definition.name, words)
    return words


async def _keep_last(fd: int, tail: collections.deque[bytes]) -> None:
    with contextlib.suppress(OSError, trio.ClosedResourceError):
        while True:
            await trio.lowlevel.wait_readable(fd)
            chunk = os.read(fd, CHUNK)
            if not chunk:
                return
            tail.append(chunk[-KEPT_BYTES:])
