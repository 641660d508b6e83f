"""A tool that may not be called often is called otherwise: many times at once, by another client, at another interface.

Source: OWASP API4:2023, unrestricted resource consumption, by way of an endpoint that nobody counted.
Seen: all interfaces count together; what is over is refused with the key of the limit, and others go on.
"""

from typing import ClassVar

from attacking import Seen, Server, tool


class Attack(Server):
    settings: ClassVar = {"calls_per_minute": 2}

    def tools(self):
        return [tool("work", "Work.")]

    def call(self, name, arguments):
        self.times = getattr(self, "times", 0) + 1
        return f"call {self.times}"


SEEN = Seen(
    calls=(("work", {}),) * 4,
    says=("may be called 2 times a minute (calls_per_minute)",),
    never=("call 3", "call 4"),
    ends_s=20.0,
)
