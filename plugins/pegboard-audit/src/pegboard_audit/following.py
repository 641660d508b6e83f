"""New calls of every process, as they end; for programs on trio.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import trio

from pegboard_audit.reading import AuditReader, CallQuery

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from pegboard_audit.reading import CallRecord

__all__ = ["follow"]

POLL_S = 0.05
"""How often it is looked, in seconds: SQLite tells nobody when another process commits."""


@trio.as_safe_channel
async def follow(
    query: CallQuery | None = None, *, path: Path | None = None, poll_s: float = POLL_S
) -> AsyncGenerator[CallRecord]:
    """New calls of every process, each within 0.2 s of its end, for as long as the block lasts:

        async with follow(CallQuery(failed=True)) as calls:
            async for call in calls:
                ...

    Args:
        query: which; `after` says from where on, else from now.
        path: the file, which may come later; None: that of the user.
        poll_s: how often it is looked, in seconds.

    Raises:
        AuditError: the file cannot be read, or holds something else.

    .. versionadded:: 0.1
    """
    query = query or CallQuery()
    with AuditReader(path) as reader:
        seen = await trio.to_thread.run_sync(reader.last_seq) if query.after is None else query.after
        while True:
            last = await trio.to_thread.run_sync(reader.last_seq)
            seen = seen if seen <= last else 0  # another file: its calls are counted anew
            if seen < last:
                new = attrs.evolve(query, after=seen, up_to=last)
                for call in await trio.to_thread.run_sync(list, reader.calls(new)):
                    yield call
                seen = last
            await trio.sleep(poll_s)
