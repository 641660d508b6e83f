"""Each report of the progress of a call has a megabyte, which a client would show.

Source: ours.
Seen: a report is shortened before anybody hears it.
"""

from attacking import Seen, Server, tool


class Attack(Server):
    def tools(self):
        return [tool("work", "Work.")]

    def call(self, name, arguments):
        for _ in range(20 if self.token is not None else 0):
            self.report("x" * 1_000_000)
        return "done"


SEEN = Seen(calls=(("tools/list", {}), ("work", {})), says=("x" * 100, "done"), never=("x" * 10_000,), ends_s=20.0)
