"""A server ends as soon as a call comes, at each start.

Source: ours.
Seen: each call is answered in words, and it is not started without end.
"""

from attacking import Seen, Server, tool


class Attack(Server):
    def tools(self):
        return [tool("work", "Work.")]

    def call(self, name, arguments):
        raise SystemExit("no")


SEEN = Seen(calls=(("work", {}),) * 3, ends_s=20.0)
