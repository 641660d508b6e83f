"""What a server offered when it last ran, on disk: its tools are registered before it is started.

One file a server, `mcp/NAME-IDENTITY.json` in the user's cache folder, for that user alone. It is a convenience: a file
that is missing, of another version, too large, or broken in any way counts as none, and is written anew when the server
has run. Written whole beside its place and then moved there, so that no reader meets half of one.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
from typing import TYPE_CHECKING, Any

from pegboard.config import private_folder, user_folder, write_private
from pegboard.limits import JSON_BYTES
from pegboard_mcp import __version__
from pegboard_mcp.client.discovery import Listing, shared

if TYPE_CHECKING:
    from pathlib import Path

    from pegboard_mcp.definitions import ServerDefinition

log = logging.getLogger("pegboard.mcp")

FORMAT = 1
MAX_BYTES = JSON_BYTES
LISTS = ("tools", "prompts", "resources", "templates")
"""Each a list of objects with a `key`."""
LABELS = ("title", "description", "name", "mime_type")
OBJECTS = ("input_schema", "output_schema", "annotations")


def path_of(definition: ServerDefinition) -> Path:
    """Where the list of a server lies. Its name is for people; the identity makes it that of this very server."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", definition.name)[:64]
    return user_folder("cache") / "mcp" / f"{plain}-{definition.identity}.json"


def read(path: Path) -> Listing | None:
    """The list in a file, or None where there is none that can be used. Any bytes give one of the two."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                return None
            raw = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    return parse(raw)


def parse(raw: bytes) -> Listing | None:
    """The list in the bytes of a file, or None."""
    try:
        if b"\\ud" in raw or b"\\uD" in raw:  # halves of characters: never written here
            return None
        value = json.loads(raw, parse_constant=_no_number, parse_float=_finite)
        if not isinstance(value, dict) or (value.get("format"), value.get("version")) != (FORMAT, __version__):
            return None
        server = value.get("server")
        parts: dict[Any, Any] = {}
        tools, prompts, resources, templates = (
            tuple(shared(_checked(one), parts) for one in value[name]) for name in LISTS
        )
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    server = server if isinstance(server, dict) else {}
    return Listing(tools, prompts, resources, templates, server=server, is_accepted=value.get("accepted") is True)


def write(path: Path, listing: Listing) -> None:
    """Keep a list; where that cannot be done, nothing but the next start is slower."""
    content: dict[str, Any] = {"format": FORMAT, "version": __version__, "server": dict(listing.server)}
    content["accepted"] = listing.is_accepted
    content |= {name: getattr(listing, name) for name in LISTS}
    try:
        raw = json.dumps(content, ensure_ascii=False, allow_nan=False).encode()
        if len(raw) > MAX_BYTES:
            log.warning("the list of %s is too long for the cache", path.stem)
            return
        private_folder(path.parent)
        write_private(path, raw)
        _forget_others(path)
    except (OSError, ValueError, RecursionError) as problem:
        log.warning("the list of %s cannot be kept: %s", path.stem, type(problem).__name__)


def _forget_others(path: Path) -> None:
    """Lists of a server of this name that is configured otherwise now."""
    name = path.stem.rpartition("-")[0]
    own = re.compile(rf"{re.escape(name)}-[0-9a-f]{{16}}\.json")
    for other in path.parent.iterdir():
        if other != path and own.fullmatch(other.name):
            other.unlink(missing_ok=True)


def _checked(entry: Any) -> dict[str, Any]:
    """An entry whose members are of the kinds that are written.

    Raises:
        TypeError, ValueError: it is not valid.
    """
    if type(entry) is not dict or type(entry["key"]) is not str or not entry["key"]:
        raise TypeError
    for name in LABELS:
        if type(entry.get(name, "")) is not str:
            raise TypeError
    for name in OBJECTS:
        if type(entry.get(name, {})) is not dict:
            raise TypeError
    for name in ("icons", "arguments"):
        if not all(type(one) is dict for one in entry.get(name, ())):
            raise TypeError
    for argument in entry.get("arguments", ()):
        if type(argument["name"]) is not str or any(type(argument.get(name, "")) is not str for name in LABELS):
            raise TypeError
    if not all(type(hint) is bool for hint in entry.get("annotations", {}).values()) and "name" not in entry:
        raise TypeError
    size = entry.get("size")
    if size is not None and type(size) is not int:
        raise TypeError
    return entry


def _no_number(text: str) -> float:
    raise ValueError(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
