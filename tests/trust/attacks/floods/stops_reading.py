"""A server reads no more, so that what is sent to it fills the pipe.

Source: ours.
Seen: calls end at their deadline, those that come later too.
"""

import time

from attacking import Seen, Server, tool


class Attack(Server):
    def tools(self):
        return [tool("work", "Work.")]

    def call(self, name, arguments):
        while True:
            time.sleep(60)


SEEN = Seen(calls=(("work", {}), *[("work", {"text": "x" * 200_000})] * 3), says=("TIMEOUT",), ends_s=0.1)
