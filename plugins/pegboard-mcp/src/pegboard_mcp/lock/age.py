"""When a lock was signed, and that no older one takes its place.

A signature says nothing of when: an older lock that was signed, put in the place of a newer one, would let through what
was taken out since ("rollback attack", The Update Framework, 1.5.2). So `pegboard lock sign` writes the time into what
is signed, and the newest one of each lock that counted here is remembered, as TUF's clients remember versions.
"""

from __future__ import annotations

import contextlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

REMEMBERED = "lock-newest.json"
MAX_REMEMBERED = 1_000
MAX_BYTES = 1_048_576
_LINE = re.compile(rb"^signed = ([0-9T:Z-]{20})\r?\n", re.MULTILINE)
_VERSION = re.compile(rb"^[ \t]*version[ \t]*=[ \t]*\d+[^\n]*\n", re.MULTILINE)
_FORM = "%Y-%m-%dT%H:%M:%SZ"


def signed_at(content: bytes) -> str:
    """When it was signed, as such times are sorted; empty where it does not say."""
    found = _LINE.search(_head(content))
    with contextlib.suppress(ValueError):
        return _text(_time(found[1].decode())) if found else ""
    return ""


def with_time(path: Path, content: bytes) -> bytes:
    """A lock that says that it is signed now, and later than any that counted here.

    Raises:
        ValueError: there is no place for that in it.
    """
    now, newest = _now(), newest_of(path)
    if newest:
        now = max(now, _time(newest) + timedelta(seconds=1))
    head, rest = _head(content), content[len(_head(content)) :]
    end = b"\r\n" if b"\r\n" in head else b"\n"
    line = f"signed = {_text(now)}".encode() + end
    timed = _VERSION.sub(lambda found: found[0] + line, _LINE.sub(b"", head), count=1) + rest
    if not signed_at(timed):  # then one that is older could take its place
        raise ValueError("its version does not stand on a line of its own before all else")
    return timed


def newest_of(path: Path) -> str:
    """When the newest one was signed that counted here; empty: none did."""
    return _read().get(str(path.resolve()), "")


def remember(path: Path, content: bytes) -> None:
    """Note that this one counts. A time that is yet to come is not noted: it would shut out all that are signed before
    it."""
    from pegboard.config import private_folder, write_private

    when = min(signed_at(content), _text(_now()))
    if when <= newest_of(path):
        return
    kept = _read()
    kept.pop(str(path.resolve()), None)
    kept[str(path.resolve())] = when
    place = _place()
    with contextlib.suppress(OSError):
        private_folder(place.parent)
        write_private(place, json.dumps(dict(list(kept.items())[-MAX_REMEMBERED:])).encode())


def _head(content: bytes) -> bytes:
    """What stands before the first block."""
    return content.partition(b"[[")[0]


def _now() -> datetime:
    return datetime.now(UTC)


def _time(text: str) -> datetime:
    return datetime.strptime(text, _FORM).replace(tzinfo=UTC)


def _text(when: datetime) -> str:
    return when.strftime(_FORM)


def _place() -> Path:
    from pegboard.config import user_folder

    return user_folder("state") / REMEMBERED


def _read() -> dict[str, str]:
    try:
        with _place().open("rb") as file:
            found: Any = json.loads(file.read(MAX_BYTES))
        return {path: _text(_time(when)) for path, when in found.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}
