"""What a tool looked like when a person accepted it: its public definition, and where it came from.

It is the core's (`Tool.public_definition`): name, title, description, schemas, annotations, version. The version of a
server's tool is what the server says of itself, see `identity_of`. The fingerprint is the core's too, so that
approvals, the lock and `pegboard show` speak of the same thing.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from pegboard_mcp.texts import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pegboard import Origin, Tool

PARTS = ("title", "description", "version", "annotations", "input_schema", "output_schema")
"""The parts of a public definition beside its name, in the order in which they are written and shown."""
MAX_IDENTITY = 100
CORE = "pegboard"
SHOWN = (*PARTS, "icons", "runs")
"""The parts that are shown of a pin; icons are a part of what has some, what a server runs of the server's own."""
RESOURCE_KINDS = ("resource:", "template:")
"""What the names of pins begin with that are of resources."""
KINDS = (*RESOURCE_KINDS, "server:")
"""What the names of pins begin with that are of no tool."""


class Key(NamedTuple):
    """Which tool: its source - an MCP server or an installed distribution - and its name."""

    source: str
    name: str


@attrs.define(eq=False)
class Pin:
    """One accepted tool.

    Args:
        source: the source or the distribution that it came from.
        definition: as `Tool.public_definition`, or what gives it when it is first asked for; None where it could not
            be read.
        fingerprint: of the public definition, as it was accepted.
    """

    source: str
    name: str
    _definition: Mapping[str, Any] | Callable[[], Mapping[str, Any] | None] | None
    fingerprint: str

    @property
    def definition(self) -> Mapping[str, Any] | None:
        """What the tool looked like; None where it could not be read."""
        if callable(self._definition):
            self._definition = self._definition()
        return self._definition

    @property
    def key(self) -> Key:
        """Which tool."""
        return Key(self.source, self.name)

    @property
    def is_resource(self) -> bool:
        """Whether it is of a resource or a template: no tool's name has a colon."""
        return self.name.startswith(RESOURCE_KINDS)

    @property
    def is_sound(self) -> bool:
        """Whether the public definition is the one that was accepted."""
        return self.definition is not None and fingerprint_of(self.definition) == self.fingerprint


def is_pinned(origin: Origin) -> bool:
    """Whether tools of this origin are held to the lock: those of plugins and sources, and neither the core's own nor
    those that the program itself adds."""
    if origin.source is not None:
        return True
    return origin.distribution != CORE and (origin.distribution or origin.plugin) is not None


def pin_of(tool: Tool) -> Pin:
    """The pin of a tool as it is now."""
    definition = json.loads(json.dumps(definition_of(tool)))
    return Pin(source_of(tool.origin), tool.name, definition, accepted_fingerprint(tool))


def definition_of(tool: Tool) -> dict[str, Any]:
    """What is accepted of a tool: its public definition, and its icons, which clients show."""
    return tool.public_definition | icons_part(tool.icons)


def accepted_fingerprint(tool: Tool) -> str:
    """The fingerprint of what is accepted of a tool; the tool's own where it has no icons."""
    return fingerprint_of(definition_of(tool)) if tool.icons else tool.fingerprint


def icons_part(icons: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The icons as a lock has them: nobody compares the letters of a picture."""
    shown = [dict(one) for one in icons]
    return {"icons": fingerprint_of({"": shown})} if shown else {}


def source_of(origin: Origin) -> str:
    """The source's name, else the distribution's, else the plugin's."""
    return str(origin)


def fingerprint_of(definition: Mapping[str, Any]) -> str:
    """SHA-256 of a public definition as canonical JSON; of a tool's it is the tool's own fingerprint."""
    canonical = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(canonical.encode("ascii")).hexdigest()


def content_of(definition: Mapping[str, Any]) -> str:
    """What two tools share that differ in their names alone."""
    return fingerprint_of({part: definition.get(part) for part in PARTS})


def identity_of(name: object, version: object) -> str | None:
    """What a server says it is, as `Tool.version` of its tools: its name, a space, its version. None: it said nothing.

    Both come from outside: they are cleaned and cut.
    """
    words = ["-".join(clean(str(one))[0].split())[:MAX_IDENTITY] for one in (name, version) if one not in (None, "")]
    return " ".join(words) or None
