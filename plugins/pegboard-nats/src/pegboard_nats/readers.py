"""Who has read what, where each request has a session of its own: words of untrusted sources wait for the next request.

A request says whose it is, and not which conversation it is of. So all of one user have one reader.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pegboard import Host, Session

MAX_READERS = 256
"""Users whose reading is remembered; the one that was not there for longest is forgotten."""


class Readers:
    """The readers of one host, by user."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: OrderedDict[str, Session] = OrderedDict()

    def join(self, session: Session) -> None:
        """Have a session read with the others of its user, where anybody asks about that."""
        if self._host.runtime.flows is None:
            return
        user = session.user_id or ""
        reader = self._known.get(user)
        if reader is None:
            reader = self._known[user] = self._host.session(user_id=user, channel="nats")
            if len(self._known) > MAX_READERS:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(user)
        session.reads_with = reader
