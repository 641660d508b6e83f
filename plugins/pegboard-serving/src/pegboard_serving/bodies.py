"""Bodies of requests, read whole and in bounds: in bytes, in time, and in how many one caller has under way.

.. versionadded:: 0.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from pegboard.schema.envelope import EDGE, Pieces, TooLong
from pegboard_serving.sharing import Place, Places

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

__all__ = ["SKIPPED", "Bodies", "BodyError"]

AT_ONCE = 256
"""Bodies that are under way at once; one caller has at most half of them."""
READ_S = 30.0
"""How long a body may take, in seconds."""
GRACE_S = 5.0
RATE = 1_000
"""After the grace a body must have come with that many bytes a second."""
SKIPPED = 2
"""How many times the longest body is read of one that is too long.

.. versionadded:: 0.1
"""


class BodyError(Exception):
    """A body was not read; the status that says so, and why.

    .. versionadded:: 0.1
    """

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Bodies:
    """The bodies of one HTTP server.

    Args:
        limit: the longest that is read, in bytes.

    .. versionadded:: 0.1
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._places = Places(AT_ONCE, AT_ONCE // 2)

    async def read(self, scope: Mapping[str, Any], receive: Receive, owner: str) -> bytes | TooLong | None:
        """The whole body; None: the client left before it came.

        One that is too long is read on, up to `SKIPPED` times the limit, so that it can be answered under an id that
        stands at its end; of one that says that it is longer still the beginning must do.

        Raises:
            BodyError: 408: it comes too slowly; 415: it is packed; 503: too many are under way.
        """
        _require_plain(scope)
        place = Place(owner)
        if not self._places.take(place):
            raise BodyError(503, "too many bodies are under way")
        try:
            return await self._read(scope, receive)
        finally:
            self._places.give_back(place)

    async def _read(self, scope: Mapping[str, Any], receive: Receive) -> bytes | TooLong | None:
        length = next((int(value[:20]) for name, value in scope["headers"] if name == b"content-length"), 0)
        longest = self.limit * SKIPPED
        most = longest if length <= longest else min(self.limit, EDGE)
        body = Pieces(self.limit)
        began = trio.current_time()
        while True:
            with trio.CancelScope(deadline=began + min(READ_S, GRACE_S + body.size / RATE)) as waiting:
                message = await receive()
            if waiting.cancelled_caught:
                raise BodyError(408, "the body comes too slowly")
            if message["type"] == "http.disconnect":
                return None
            body.add(message.get("body", b""))
            if body.size > most:
                return TooLong(length, body.kept[:EDGE], b"") if body.size <= self.limit else body.take()
            if not message.get("more_body", False):
                return body.take()


def _require_plain(scope: Mapping[str, Any]) -> None:
    """Require that a body is not packed: nothing is unpacked for clients (RFC 9110, section 15.5.16).

    Raises:
        BodyError: 415.
    """
    codings = {value.strip().lower() for name, value in scope["headers"] if name == b"content-encoding"}
    if codings - {b"", b"identity"}:
        raise BodyError(415, "the body is packed: send it as it is, without Content-Encoding")
