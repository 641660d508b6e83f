"""A server has a new tool, which nobody has to call: its description gives orders about the others.

Source: Trail of Bits, "Jumping the line: How MCP servers can attack you before you ever use them" (2025).
Seen: the new tool is held, and none of its words reach a model.
"""

from typing import ClassVar

from attacking import CITY, FIRST, HELD, POISON, WEATHER, Seen, Weather


class Attack(Weather):
    later: ClassVar = {"tools": [*FIRST["tools"], {**WEATHER, "name": "zzz", "description": POISON}]}


SEEN = Seen(
    calls=(("zzz", CITY),), refused=f"{HELD}zzz", never=("ssh", "sidenote"), told=("is new, and reads like an order",)
)
