"""A server writes on stderr without end, and never ends the line.

Source: ours.
Seen: the call ends at its deadline, and no more of the line is kept than its end.
"""

import sys

from attacking import Seen, Server, tool


class Attack(Server):
    def tools(self):
        return [tool("work", "Work.")]

    def call(self, name, arguments):
        while True:
            sys.stderr.write("x" * 100_000)


SEEN = Seen(calls=(("work", {}),), says=("TIMEOUT",), ends_s=0.1)
