"""What a group offered when it was last looked at, on disk: its tools are registered before anybody is asked.

One file a group, for its owner alone, in the user's cache folder. It is a convenience: one that is missing, too large
or broken counts as none, and is written anew when the group was looked at.
"""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any

from pegboard.config import private_folder, user_folder, write_private
from pegboard.limits import JSON_BYTES
from pegboard.schema.jsontext import JsonTextError, loads
from pegboard_nats import wire

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pegboard_nats.settings import NatsSettings

log = logging.getLogger("pegboard")

FORMAT = 1


def path_of(group: str, settings: NatsSettings) -> Path:
    """Where the definitions of a group lie: of this very one, since two systems may both have one of that name."""
    system = json.dumps([settings.prefix, *settings.addresses])
    digest = hashlib.sha256(system.encode()).hexdigest()[:16]
    return user_folder("cache") / "nats" / f"{group}-{digest}.json"


def read(path: Path) -> list[dict[str, Any]] | None:
    """The definitions in a file; None where there is none that can be used."""
    try:
        with path.open("rb") as file:
            value = loads(file.read(JSON_BYTES + 1))
    except (OSError, JsonTextError):
        return None
    if not isinstance(value, dict) or value.get("format") != FORMAT or not isinstance(value.get("tools"), list):
        return None
    return [one for one in value["tools"] if isinstance(one, dict)]


def write(path: Path, definitions: Sequence[dict[str, Any]]) -> None:
    """Keep definitions; where that cannot be done, nothing but the next start is slower."""
    content = wire.to_bytes({"format": FORMAT, "tools": definitions})
    try:
        if len(content) <= JSON_BYTES:
            private_folder(path.parent)
            write_private(path, content)
    except OSError as problem:
        log.warning("what %s offers cannot be kept: %s", path.stem, type(problem).__name__)
