"""What `pegboard probe` calls a danger, in definitions as they are remembered.

A tool that comes later is held back for it (`memory.judge`). Of a server that is seen for the first time it is told,
and doctor says it: nobody has to have probed it before.
"""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pegboard_mcp.lock.words import quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pegboard_mcp.lock.pins import Pin
    from pegboard_mcp.probe.checks import Finding

ENTRIES = {"tool": ("tools", "name"), "prompt": ("prompts", "name"), "resource": ("resources", "uri"),
           "template": ("templates", "uriTemplate")}  # fmt: skip
"""The kinds of pins: where a server lists them, and by which member it names them."""
MAX_NAMED = 3
MOST_READ = 2_000_000
"""Characters that are looked through of what is new in one list, which takes a second or two."""


def dangers_in(pins: Iterable[Pin], own: Collection[str] = ()) -> list[Finding]:
    """Everything in these definitions that no honest server needs.

    Args:
        pins: the definitions.
        own: names of the other tools of their server, and of arguments: see `names_in`.
    """
    from pegboard_mcp.probe.definitions import Offered, look_at_offer

    lists: dict[str, Any] = _entries(pins)
    found = look_at_offer(Offered(**lists), own=own)
    return [finding for finding in found if finding.level == "danger"]


def names_in(pins: Iterable[Pin]) -> frozenset[str]:
    """What the tools among these are called, and their arguments."""
    from pegboard_mcp.probe.definitions import names_of

    return frozenset(names_of(_entries(pins).get("tools", ())))


def _entries(pins: Iterable[Pin]) -> dict[str, tuple[Any, ...]]:
    """The definitions by their lists, as a server lists them."""
    by_list: dict[str, list[Any]] = {}
    for pin in pins:
        kind, _, name = pin.name.partition(":")
        if kind in ENTRIES and pin.definition is not None:
            listed, member = ENTRIES[kind]
            one = {**pin.definition, member: name}
            one["inputSchema"] = one.pop("input_schema", None)
            by_list.setdefault(listed, []).append(one)
    return {listed: tuple(found) for listed, found in by_list.items()}


def danger_words(pins: Iterable[Pin]) -> str:
    """The same for a person, a few of many, with what is said where not all is looked through; empty: there is none."""
    from pegboard_mcp.probe.checks import CHECKS

    pins = list(pins)
    read = sum(1 for size in accumulate(len(text_of(pin)) for pin in pins) if size <= MOST_READ)
    found = dangers_in(pins[:read], names_in(pins))
    said = [f"{quoted(one.where, 100)}: {CHECKS[one.check].what}" for one in found[:MAX_NAMED]]
    said += [f"and {len(found) - MAX_NAMED} more"] if len(found) > MAX_NAMED else []
    said += [f"{len(pins) - read:,} definitions more than are looked through"] if read < len(pins) else []
    return "; ".join(said)


def text_of(pin: Pin) -> str:
    """A definition as one text."""
    return json.dumps(pin.definition, ensure_ascii=False, default=str)
