"""What one server offers, as it is compared with what was first seen of it: see `pegboard_mcp.lock.memory`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pegboard_mcp.lock.pins import PARTS, Pin, fingerprint_of, icons_part, identity_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pegboard_mcp.client.discovery import Entry, Listing

KINDS = ("tool", "prompt", "resource", "template")


def seen_pins(listing: Listing, source: str, kinds: Iterable[str] = KINDS, *, has_icons: bool = True) -> list[Pin]:
    """Everything of these kinds that a server offers, as it is known here; resources are so in the lock too, which has
    the fingerprint of their icons alone."""
    version = identity_of(listing.server.get("name"), listing.server.get("version"))
    pins = []
    for kind in kinds:
        for entry in getattr(listing, f"{kind}s"):
            icons = entry.get("icons") or ()
            part = icons_part(icons) if not has_icons else {"icons": icons} if icons else {}
            pins.append(_pin(source, kind, entry, version, part))
    return pins


def _pin(source: str, kind: str, entry: Entry, version: str | None, more: Mapping[str, Any]) -> Pin:
    definition: dict[str, Any] = {
        **dict.fromkeys(PARTS),
        **more,
        "name": f"{kind}:{entry['key']}",
        "title": entry.get("title"),
        "description": entry.get("description") or "",
        "version": version,
    }
    if kind == "tool":
        definition |= {part: entry.get(part) for part in ("annotations", "input_schema", "output_schema")}
    elif kind == "prompt":
        arguments = entry.get("arguments", ())
        members = {one["name"]: {"type": "string", **_texts(one)} for one in arguments}
        required = [one["name"] for one in arguments if one.get("required")]
        definition["input_schema"] = {"type": "object", "properties": members, "required": required}
    else:
        definition["annotations"] = {key: entry[key] for key in ("name", "mime_type", "annotations") if entry.get(key)}
    return Pin(source, definition["name"], definition, fingerprint_of(definition))


def _texts(argument: Mapping[str, Any]) -> dict[str, Any]:
    return {key: argument[key] for key in ("title", "description") if argument.get(key)}
