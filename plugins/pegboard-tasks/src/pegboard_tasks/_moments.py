"""Ids and times of tasks.

Ids are UUIDs of version 7 (RFC 9562, section 5.7): 48 bits of milliseconds, 12 bits of the fraction of one (section
6.2, method 3), 62 random bits. Their order, as text and as bytes, is the order in which a process made them, even
where its clock is set back. So the newest task is the one with the greatest id, and a page begins behind an id.
"""

from __future__ import annotations

import secrets
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NS_PER_MS = 1_000_000
_lock = threading.Lock()
_last = 0


class Birth(NamedTuple):
    """A new task's id, and when it was made."""

    id: str
    at: str


def birth() -> Birth:
    """The next id of this process and its time."""
    global _last  # the order holds for all threads of the process
    now_ns = time.time_ns()
    millis, rest = divmod(now_ns, _NS_PER_MS)
    with _lock:
        _last = stamp = max(millis << 12 | (rest << 12) // _NS_PER_MS, _last + 1)
    millis, fraction = stamp >> 12, stamp & 0xFFF
    value = f"{millis << 80 | 7 << 76 | fraction << 64 | 2 << 62 | secrets.randbits(62):032x}"
    return Birth(
        f"{value[:8]}-{value[8:12]}-{value[12:16]}-{value[16:20]}-{value[20:]}",
        utc(now_ns),
    )


def now() -> str:
    """The time, as tasks store and show it."""
    return utc(time.time_ns())


def utc(ns: int) -> str:
    """Nanoseconds since the epoch as ISO 8601 in UTC with microseconds: `2026-07-06T14:30:00.000000Z`."""
    moment = _EPOCH + timedelta(microseconds=ns // 1000)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
