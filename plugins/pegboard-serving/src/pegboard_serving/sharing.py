"""Places of an HTTP server that its callers share: sessions, connections, bodies that are being read, calls.

One caller that takes all there is would lock the others out. So whoever has most makes room for others when places are
short, and where there may be others a part is left to them even when all that somebody has is in use.

.. versionadded:: 0.1
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pegboard_serving import Caller

__all__ = ["Place", "Places", "most_of_one", "owner_of"]

RESERVED = 10
"""One place of that many is left to others; of fewer none."""


def owner_of(caller: Caller, scope: Mapping[str, Any]) -> str:
    """Who owns a place: the user, whichever token they bring; without a credential the peer's address.

    .. versionadded:: 0.1
    """
    if caller.token_id is not None:
        return f"user {caller.user_id or caller.token_id}"
    client = scope.get("client")
    return f"peer {client[0] if client else ''}"


def most_of_one(count: int, *, is_shared: bool) -> int:
    """How many of so many places one caller may have: all, or all but those that are reserved for others.

    .. versionadded:: 0.1
    """
    return count - count // RESERVED if is_shared else count


def _never() -> bool:
    return False


@attrs.define(eq=False)
class Place:
    """One place that is taken.

    Args:
        owner: who has it.
        is_idle: whether it could be taken away now, for others who have less.
        is_left: whether it could for its own owner too, who seems to have left it behind.
        leave: called when it is: others need it more.

    .. versionadded:: 0.1
    """

    owner: str
    is_idle: Callable[[], bool] = _never
    leave: Callable[[], object] = _never
    is_left: Callable[[], bool] = _never


class Places:
    """Places that callers share.

    Args:
        count: how many there are.
        most: how many one caller may have; None: all of them.
        own_too: whether a caller's own idle ones make room, where nobody has more.

    .. versionadded:: 0.1
    """

    def __init__(self, count: int, most: int | None = None, *, own_too: bool = False) -> None:
        self._count = count
        self._most = count if most is None else most
        self._own_too = own_too
        self._taken: dict[str, OrderedDict[Place, None]] = {}
        self._total = 0

    def take(self, place: Place) -> bool:
        """Take a place; False: there is none, and none that is idle could be taken away.

        Where all are taken, the one that has been idle for longest goes, of whoever has most, and more than the caller;
        else of the caller the one that was left for longest.
        """
        mine = len(self._taken.get(place.owner, ()))
        if mine >= self._most or self._total >= self._count:
            idle = self._idle(place.owner, mine)
            if idle is None:
                return False
            self.give_back(idle)
            idle.leave()
        self._taken.setdefault(place.owner, OrderedDict())[place] = None
        self._total += 1
        return True

    def _idle(self, owner: str, mine: int) -> Place | None:
        richer = [] if mine >= self._most else [one for one, theirs in self._taken.items() if len(theirs) > mine]
        richer.sort(key=lambda one: -len(self._taken[one]))
        idle = (one for other in richer for one in self._taken[other] if one.is_idle())
        mine_too = (one for one in self._taken.get(owner, ()) if one.is_left() or (self._own_too and one.is_idle()))
        return next(itertools.chain(idle, mine_too), None)

    def touch(self, place: Place) -> None:
        """It is used now."""
        theirs = self._taken.get(place.owner)
        if theirs is not None and place in theirs:
            theirs.move_to_end(place)

    def give_back(self, place: Place) -> None:
        """Nobody has it any more; it may have been taken away already."""
        theirs = self._taken.get(place.owner)
        if theirs is not None and place in theirs:
            del theirs[place]
            self._total -= 1
            if not theirs:
                del self._taken[place.owner]
