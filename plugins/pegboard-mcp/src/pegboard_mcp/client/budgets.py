"""How much one server may take of its host: calls, questions, tokens, each in a period.

Counted in this process, for as long as it runs, all sessions together: the budget is the server's, not a caller's. A
caller's own limits are the core's (`[tools.NAME]`, `[profiles.NAME]`).
"""

from __future__ import annotations

MINUTE_S, HOUR_S, DAY_S = 60.0, 3_600.0, 86_400.0
SLOTS = 60
"""Into so many parts a period is cut: what was taken comes free in steps of a sixtieth, and costs no memory."""


class Budget:
    """At most `most` in any `period_s` seconds, and never more for a sixtieth of it; None: without end."""

    def __init__(self, most: int | None, period_s: float) -> None:
        self.most = most
        self._slot_s = period_s / SLOTS
        self._taken: dict[int, int] = {}

    def take(self, amount: int = 1) -> float:
        """Take some. How long to wait where there is not so much left, in seconds; 0: it is taken."""
        if self.most is None:
            return 0.0
        import trio

        now = trio.current_time()
        slot = int(now / self._slot_s)
        self._taken = {at: taken for at, taken in self._taken.items() if at > slot - SLOTS - 1}
        over = sum(self._taken.values()) + amount - self.most
        if over <= 0:
            self._taken[slot] = self._taken.get(slot, 0) + amount
            return 0.0
        free = slot
        for free, taken in sorted(self._taken.items()):  # noqa: B007 - the last one that has to come free
            over -= taken
            if over <= 0:
                break
        return max((free + SLOTS + 1) * self._slot_s - now, self._slot_s)

    def give_back(self, amount: int) -> None:
        """What was taken last was not used."""
        if self._taken:
            slot = max(self._taken)
            self._taken[slot] = max(self._taken[slot] - amount, 0)
