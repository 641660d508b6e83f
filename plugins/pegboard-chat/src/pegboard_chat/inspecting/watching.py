"""The conversation at the terminal, for pages that look on: as it stands, and then each event as it happens.

Nobody who looks on holds up the terminal: what a page has not read yet waits for it up to a bound, and beyond that the
page is told anew how the conversation stands.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pegboard import ErrorCode, ToolError
from pegboard_chat.conversation import Conversation
from pegboard_chat.inspecting.seen import begun_event, observed, outcome_to_json, page_event, page_of, whole_event

if TYPE_CHECKING:
    from collections.abc import Iterator

    import trio

    from pegboard import Host, Outcome, Session
    from pegboard_chat.contract import ModelError
    from pegboard_chat.events import Event
    from pegboard_chat.loop import Chat
    from pegboard_inspect import Page, PageStream

MAX_UNREAD = 2_000
"""Events that wait for one page."""
JOINED = ("text", "thinking")
"""Events of which two neighbours are as good as one."""


class Watched:
    """What is said at the terminal.

    Args:
        session: whose calls it makes.
        conversation: what was said before; None: nothing.
    """

    def __init__(self, session: Session, conversation: Conversation | None = None) -> None:
        self._session = session
        self._conversation = conversation if conversation is not None else Conversation()
        self._since: list[dict[str, Any]] = []  # of the question that is under way, or was last
        self._watchers: set[_Watcher] = set()

    def page(self) -> Page:
        """The page Chat, which looks on and asks nothing."""

        async def data(host: Host) -> Any:
            return {"is_watched": True}

        return page_of(data=data, streams={"watch": self.watch})

    # -- what the terminal says

    def stand(self, conversation: Conversation) -> None:
        """The conversation is another one, or did not go on as it was told."""
        self._conversation = conversation
        self._since = []
        for watcher in self._watchers:
            watcher.restart()

    def begin(self, before: Conversation, chat: Chat) -> None:
        """A question was asked, after what was said before; without a new one, what was said last is asked again."""
        asked = chat.conversation.messages[len(before.messages) :]
        if not asked:
            self.stand(chat.conversation)
        else:
            self._conversation, self._since = before, []
            self._tell({"type": "asked", "content": [block.to_json() for block in asked[0].content]})
        self._tell(begun_event(chat))

    def hear(self, event: Event) -> None:
        """What happens next."""
        self._tell(page_event(event))

    def fail(self, problem: ModelError) -> None:
        """The model did not answer."""
        self._tell({"type": "problem", "problem": problem.message})

    def _tell(self, event: dict[str, Any]) -> None:
        before = self._since[-1] if self._since else {}
        if event["type"] in JOINED and before.get("type") == event["type"]:
            self._since[-1] = {**before, "text": before["text"] + event["text"]}
        else:
            self._since.append(event)
        for watcher in self._watchers:
            watcher.hear(event)

    # -- who looks on

    async def watch(self, stream: PageStream, value: Any) -> None:
        """Send the conversation, and what happens, until the page leaves.

        Raises:
            ToolError: FORBIDDEN: it is another user's, who was let in by a token.
        """
        if stream.session.user_id != self._session.user_id:
            raise ToolError(ErrorCode.FORBIDDEN, "the conversation at the terminal is another user's")
        with self._watcher() as watcher, observed(stream.host, self._session, watcher.hear_outcome):
            while True:
                events = await watcher.take()
                if events is None:  # as of this moment: what is heard while it is sent comes behind it
                    events = [whole_event(self._conversation), *self._since]
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
