"""An answer is a line that never ends.

Source: ours.
Seen: the call ends, and no more of the line is kept than a message may have.
"""

import sys

from attacking import Seen, Server, tool


class Attack(Server):
    def tools(self):
        return [tool("work", "Work.")]

    def call(self, name, arguments):
        while True:
            sys.stdout.write("x" * 1_000_000)


SEEN = Seen(calls=(("work", {}),), ends_s=0.1)
