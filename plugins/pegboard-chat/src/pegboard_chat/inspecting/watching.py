"""The conversation at the terminal, for pages that look on: as it stands, and then each event as it happens.

Nobody who looks on holds up the terminal: what a page has not read yet waits for it up to a bound, and beyond that the
page is told anew how the conversation stands.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pegboard_chat.conversation import Conversation
from pegboard_chat.inspecting.seen import observed, outcome_to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    import trio

    from pegboard import Outcome, Session
    from pegboard_inspect import PageStream

MAX_UNREAD = 2_000
"""Events that wait for one page."""
JOINED = ("text", "thinking")
"""Events of which two neighbours are as good as one."""


class Watched:
    """What is said at the terminal.

    Args:
        session: whose calls it makes.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._conversation = Conversation()
        self._since: list[dict[str, Any]] = []  # of the question that is under way, or was last
        self._watchers: set[_Watcher] = set()

    def begin(self, conversation: Conversation, question: str | None = None) -> None:
        """The conversation as it stands now; a question follows if one is given."""
        self._conversation = conversation
        self._since = []
        for watcher in self._watchers:
            watcher.restart()
        if question is not None:
            self.hear({"type": "asked", "text": question})

    def hear(self, event: dict[str, Any]) -> None:
        """What happens next, as an event of the page."""
        before = self._since[-1] if self._since else {}
        if event["type"] in JOINED and before.get("type") == event["type"]:
            self._since[-1] = {**before, "text": before["text"] + event["text"]}
        else:
            self._since.append(event)
        self._tell(event)

    def _tell(self, event: dict[str, Any]) -> None:
        for watcher in self._watchers:
            watcher.hear(event)

    async def watch(self, stream: PageStream, value: Any) -> None:
        """Send the conversation, and what happens, until the page leaves."""
        with self._watcher() as watcher, observed(stream.host, self._session, watcher.hear_outcome):
            while True:
                events = await watcher.take()
                if events is None:  # as of this moment: what is heard while it is sent comes behind it
                    whole = {"type": "conversation", "conversation": self._conversation.to_json()}
                    events = [whole, *self._since]
                for event in events:
                    await stream.send(event)

    @contextlib.contextmanager
    def _watcher(self) -> Iterator[_Watcher]:
        watcher = _Watcher()
        self._watchers.add(watcher)
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)


class _Watcher:
    """What one page has not read yet."""

    def __init__(self) -> None:
        import trio

        self._unread: list[dict[str, Any]] | None = None  # None: it is to be told how the conversation stands
        self._more: trio.Event = trio.Event()
        self._more.set()

    def restart(self) -> None:
        self._unread = None
        self._more.set()

    def hear(self, event: dict[str, Any]) -> None:
        if self._unread is None:
            return
        self._unread.append(event)
        if len(self._unread) > MAX_UNREAD:
            self._unread = None
        self._more.set()

    def hear_outcome(self, outcome: Outcome) -> None:
        self.hear(outcome_to_json(outcome))

    async def take(self) -> list[dict[str, Any]] | None:
        import trio

        await self._more.wait()
        self._more = trio.Event()
        unread, self._unread = self._unread, []
        return unread
