"""What `pegboard lock` showed last, so that `--accept` takes that and nothing else.

A server may change between the two. A small file in the user's state folder has, for each lock, the fingerprints that
were shown; where nothing was shown since the last acceptance, what `--accept` prints is what it takes.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

from pegboard.config import private_folder, user_folder, write_private
from pegboard.limits import JSON_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pegboard_mcp.lock.compare import Change

FILE = "lock-shown.json"
MAX_BYTES = JSON_BYTES
MAX_LOCKS = 100


def note_shown(lock: Path, changes: Iterable[Change], *, all_of_them: bool) -> None:
    """Note that a person was shown these changes; `all_of_them`: there are no others.

    Raises:
        OSError: it cannot be noted.
    """
    records = _read()
    before = {} if all_of_them else records.get(str(lock), {})
    _write(records, lock, {**before, **{_key(one): one.state for one in changes}})


def not_as_shown(lock: Path, changes: Iterable[Change]) -> list[Change]:
    """The changes that are other than they were shown, or were not shown; none where nothing was shown at all."""
    shown = _read().get(str(lock))
    return [] if not shown else [one for one in changes if shown.get(_key(one)) != one.state]


def forget_shown(lock: Path, changes: Iterable[Change]) -> None:
    """Forget what was accepted."""
    records = _read()
    accepted = set(map(_key, changes))
    left = {key: state for key, state in records.get(str(lock), {}).items() if key not in accepted}
    with contextlib.suppress(OSError):  # it is shown again, then
        _write(records, lock, left)


def _key(change: Change) -> str:
    return f"{change.source}\n{change.name}"


def _place() -> Path:
    return user_folder("state") / FILE


def _read() -> dict[str, dict[str, str]]:
    try:
        with _place().open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        records = json.loads(content) if len(content) <= MAX_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(records, dict):
        return {}
    return {lock: shown for lock, shown in records.items() if isinstance(shown, dict)}


def _write(records: dict[str, dict[str, str]], lock: Path, shown: dict[str, str]) -> None:
    records.pop(str(lock), None)
    if shown:
        records[str(lock)] = shown
    kept = dict(list(records.items())[-MAX_LOCKS:])
    place = _place()
    if kept or place.exists():
        private_folder(place.parent)
        write_private(place, json.dumps(kept, indent=1).encode())
