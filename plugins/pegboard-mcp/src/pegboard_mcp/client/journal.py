"""What one MCP server says beside its answers, kept for whoever looks after it; and every message, while somebody does.

The last lines are always kept: its stderr, what it logs, what came where a message should have been. A line costs an
append to a bounded queue; it is masked when somebody reads it. Messages are told to one listener, from the next
connection on, and where there is none, nothing stands between the link and those who read and write it.

Nothing of the `mcp` SDK is imported here.
"""

from __future__ import annotations

import json
import time
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from pegboard.text import clean, visible_json
from pegboard_mcp.client._plain import masked

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.shared.message import SessionMessage

    from pegboard.sources import Direction, SourceMessage
    from pegboard_mcp.definitions import ServerDefinition

MAX_LINES = 200
"""Lines that are kept of one server, over all of its starts."""
MAX_LINE = 1_000
"""A longer line is cut, in characters."""
MAX_MESSAGE = 100_000
"""A longer message is cut where it is told, in characters."""
MAX_ID = 200


class _Line(NamedTuple):
    at: float
    direction: Direction
    text: bytes | str
    size: int


class Journal:
    """What is kept of one server, and who listens to it."""

    def __init__(self, definition: ServerDefinition) -> None:
        self._definition = definition
        self._lines: deque[_Line] = deque(maxlen=MAX_LINES)
        self._hear: Callable[[SourceMessage], None] | None = None

    @property
    def is_heard(self) -> bool:
        """Whether somebody listens."""
        return self._hear is not None

    def listen(self, hear: Callable[[SourceMessage], None]) -> Callable[[], None]:
        """Have one listener hear of everything, from the next connection on; what it returns ends that."""
        self._hear = hear

        def stop() -> None:
            if self._hear is hear:
                self._hear = None

        return stop

    def note(self, line: bytes | str, direction: Direction = "log") -> None:
        """Keep a line."""
        kept = _Line(time.time(), direction, line[: 4 * MAX_LINE], len(line))
        self._lines.append(kept)
        if self._hear is not None:
            self._hear(self._shown(kept))

    def lines(self) -> tuple[SourceMessage, ...]:
        """The last lines, the oldest first."""
        return tuple(map(self._shown, self._lines))

    def _shown(self, line: _Line) -> SourceMessage:
        from pegboard.sources import SourceMessage

        text = line.text.decode("utf-8", "replace") if isinstance(line.text, bytes) else line.text
        # What is cleaned away may part a secret: so it is masked before and after.
        text = self._definition.mask_words(clean(self._definition.mask(text))[0].strip())[:MAX_LINE]
        return SourceMessage(at=line.at, direction=line.direction, text=text, size=line.size)

    def tell(self, direction: Direction, item: SessionMessage | Exception) -> None:
        """Tell the listener of a message."""
        if self._hear is None:
            return
        from pegboard.sources import SourceMessage

        if isinstance(item, Exception):
            self.note(f"{type(item).__name__}: {item}", "unreadable")
            return
        message: Any = item.message
        plain = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        if self._definition.secrets:  # in its texts: JSON may write a secret otherwise
            plain = masked(plain, self._definition.mask)
        text, number = json.dumps(plain, ensure_ascii=False), plain.get("id")
        self._hear(
            SourceMessage(
                at=time.time(),
                direction=direction,
                text=visible_json(text[:MAX_MESSAGE]),
                size=len(text),
                method=plain.get("method"),
                id=None if number is None else str(number)[:MAX_ID],
                is_error="error" in plain,
            )
        )
