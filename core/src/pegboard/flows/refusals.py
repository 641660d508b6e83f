"""How often the person of a session said no to the same in a row: who is asked until they say yes was not asked."""

from __future__ import annotations

from time import monotonic

MOST = 3
"""Refusals in a row, of one tool with words of the same sources, after which it is refused without a question."""
FOR_S = 300.0
"""How long, in seconds."""


class Refusals:
    """What one person refused."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, frozenset[str]], tuple[int, float]] = {}

    def left_s(self, tool: str, sources: frozenset[str]) -> float:
        """For how long nobody is asked about that; 0: they may be asked."""
        count, since = self._known.get((tool, sources), (0, 0.0))
        return 0.0 if count < MOST else max(since + FOR_S - monotonic(), 0.0)

    def note(self, tool: str, sources: frozenset[str], *, is_refused: bool) -> None:
        """Note what they answered."""
        count, since = self._known.pop((tool, sources), (0, 0.0))
        if is_refused:
            again = 0 if count and monotonic() - since > FOR_S else count
            self._known[tool, sources] = again + 1, monotonic()
