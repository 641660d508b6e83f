"""A tool never answers, and the server heeds neither the cancellation nor any signal that can be ignored.

Source: ours.
Seen: the call ends at its deadline, and the server with the host.
"""

import signal
import time

from attacking import Seen, Server, tool


class Attack(Server):
    def tools(self):
        return [tool("work", "Work.")]

    def begin(self):
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(one, signal.SIG_IGN)

    def call(self, name, arguments):
        while True:
            time.sleep(60)


SEEN = Seen(calls=(("work", {}),), says=("TIMEOUT",), ends_s=0.1)
