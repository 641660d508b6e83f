"""Looking through long texts (`LONG_TEXT`) in a thread, so that the loop goes on meanwhile.

Most values are short, and looked through where they are: to reach a thread costs more than that.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Made = TypeVar("Made")


def size_of(value: Any) -> int:
    """Characters of the texts and keys in a JSON value."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum([len(key) + (len(item) if type(item) is str else size_of(item)) for key, item in value.items()])
    return sum(map(size_of, value)) if isinstance(value, (list, tuple)) else 0


async def beside_loop(work: Callable[..., Made], *args: Any, **kwargs: Any) -> Made:
    """What that returns, called in a thread; one that is cancelled is left behind and ends by itself."""
    import trio

    return await trio.to_thread.run_sync(partial(work, *args, **kwargs), abandon_on_cancel=True)
