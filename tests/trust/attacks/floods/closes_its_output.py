"""A server closes its stdout alone, and lives on.

Source: ours.
Seen: the call ends at once, with what happened.
"""

import os
import time

from attacking import Seen, Server, tool


class Attack(Server):
    def tools(self):
        return [tool("work", "Work.")]

    def call(self, name, arguments):
        os.close(1)
        while True:
            time.sleep(60)


SEEN = Seen(calls=(("work", {}),), says=("it closed its pipes",), ends_s=20.0)
