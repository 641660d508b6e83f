"""Where rolls get their randomness from."""

from __future__ import annotations

import random
import secrets
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from pegboard_dice._throwing import Randomness

_SYSTEM = secrets.SystemRandom()


def secure(session: Any) -> Randomness:
    """The operating system's randomness, for any session: nobody can foretell it or roll it back."""
    return _SYSTEM


def seeded(seed: int) -> Callable[[Any], Randomness]:
    """A stream of its own for each session, all of them from `seed`: what a session rolls does not depend on others."""
    streams: WeakKeyDictionary[Any, random.Random] = WeakKeyDictionary()

    def of_session(session: Any) -> Randomness:
        stream = streams.get(session)
        if stream is None:
            stream = streams[session] = random.Random(seed)
        return stream

    return of_session
