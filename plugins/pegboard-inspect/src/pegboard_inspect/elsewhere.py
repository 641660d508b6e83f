"""Calls of the user's other programs, while a page looks: from the file of pegboard-audit, where that is installed.

Nothing is imported, opened or read before somebody looks, nor after.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pegboard import Host
    from pegboard_audit import CallRecord

AGAIN_S = 5.0
"""How long after a failure the file is tried again."""


def audit_file(host: Host) -> Path | None:
    """The file in which the calls of all programs are kept; None: pegboard-audit is not installed."""
    try:
        from pegboard_audit import AuditDbSettings, file_of
    except ModuleNotFoundError:
        return None
    of_board = (one.settings for one in host.board.plugins if isinstance(one.settings, AuditDbSettings))
    return file_of(next(of_board, None))


async def listen(
    path: Path, since: float, hear: Callable[[CallRecord], object], say: Callable[[str | None], object]
) -> None:
    """Hear what is written into the file from now on, until it is cancelled; this host's own calls are among it.

    Args:
        path: the file, which may come later.
        since: seconds since the epoch. Calls that began before are left out: of this host's own nobody could be told
            any more that they are its own, since observers hear only calls that begin after they came.
        hear: told each call.
        say: told None as soon as the file is followed, and why it cannot be read.
    """
    from pegboard_audit import AuditError, AuditReader, CallQuery, follow

    seen: int | None = None
    while True:
        try:
            with AuditReader(path) as reader:
                last = await trio.to_thread.run_sync(reader.last_seq)
            seen = last if seen is None else seen
            say(None)
            async with follow(CallQuery(after=seen), path=path) as calls:
                async for call in calls:
                    seen = call.seq
                    if call.started_at >= since or time.time() < since:  # the clock was set back: all of them are new
                        hear(call)
        except* AuditError as problems:
            say(str(next(_leaves(problems)))[:500])
        await trio.sleep(AGAIN_S)


def _leaves(problem: BaseException) -> Iterator[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        for one in problem.exceptions:
            yield from _leaves(one)
    else:
        yield problem
