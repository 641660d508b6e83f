"""When the same request is sent again, and how long is waited for it."""

from __future__ import annotations

import logging
import random
import re
import time
from typing import TYPE_CHECKING, TypeVar

import attrs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

__all__ = ["Retries", "retry_after_of"]

T = TypeVar("T")

MAX_AFTER_S = 86_400.0
"""A server that asks to wait for longer than a day is taken to say a day."""
_SECONDS = re.compile(r"[0-9]{1,40}(?:\.[0-9]{0,40})?", re.ASCII)

log = logging.getLogger("pegboard.httpclient")


@attrs.frozen(kw_only=True)
class Retries:
    """How often one request is sent, and how long is waited between.

    Args:
        first_s: before the second time; twice as long before each further one.
        longest_s: the longest of those waits.
        max_asked_s: what a server may ask to wait is waited up to here; beyond it the caller is told.
        jitter: a number from 0 to 1, so that not everybody comes again at the same moment.

    .. versionadded:: 0.1
    """

    first_s: float
    longest_s: float
    max_asked_s: float
    jitter: Callable[[], float] = random.random

    def wait_s(self, attempt: int, asked_s: float | None) -> float | None:
        """How long to wait after so many attempts; None: for longer than is waited.

        Args:
            attempt: 1 after the first.
            asked_s: what the server asked for, or None.
        """
        backoff_s = min(self.first_s * 2.0 ** (attempt - 1), self.longest_s)
        if asked_s is None:
            return backoff_s * (1 - self.jitter() / 2)
        # Never earlier than the server said.
        return asked_s + backoff_s * self.jitter() / 4 if asked_s <= self.max_asked_s else None

    async def run(
        self,
        once: Callable[[], Awaitable[T]],
        judge: Callable[[T], tuple[bool, float | None]],
        *,
        tries: int,
        deadline: float,
    ) -> tuple[T, int]:
        """Send until it need not or may not be sent again; what came last, and after how many attempts.

        Args:
            once: sends it once.
            judge: whether what came lets the same request be sent again, and how long the server asks to wait.
            tries: how often it is sent at most.
            deadline: by the loop's clock; a wait that would reach it is not begun.
        """
        import trio

        attempt = 1
        while True:
            got = await once()
            may_repeat, asked_s = judge(got) if attempt < tries else (False, None)
            wait_s = self.wait_s(attempt, asked_s) if may_repeat else None
            if wait_s is None or trio.current_time() + wait_s >= deadline:
                return got, attempt
            log.debug("try %d again in %.1f s", attempt, wait_s)
            await trio.sleep(wait_s)
            attempt += 1


def retry_after_of(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """How long a server asks to wait, in seconds: `Retry-After` as seconds or as a date (RFC 9110, section 10.2.3), or
    `retry-after-ms`, as the providers of models say it; a day at most.

    Args:
        headers: of the answer, in any case of letters.
        now: the time of the clock, for a date.

    Returns:
        seconds, or None: it does not say, or nothing that can be read.

    .. versionadded:: 0.1
    """
    said = {name.lower(): value.strip()[:100] for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        if _SECONDS.fullmatch(text := said.get(name, "")):
            return round(min(float(text) / unit, MAX_AFTER_S), 3)
    if not (date := said.get("retry-after")):
        return None
    from email.utils import mktime_tz, parsedate_tz

    try:
        parsed = parsedate_tz(date)
        return None if parsed is None else round(min(max(mktime_tz(parsed) - now(), 0.0), MAX_AFTER_S), 3)
    except (ValueError, OverflowError, TypeError):
        return None
