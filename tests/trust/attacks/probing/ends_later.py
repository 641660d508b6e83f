"""A server lists its tools to who looks at once, and ends before it is looked at after a while.

Source: ours, after MITRE ATT&CK T1497.003, Time Based Evasion.
Seen: it is told that it could not be looked at after a while, and how it ended.
"""

import sys

from attacking import TEXT, Seen, Server, tool


class Attack(Server):
    lists = 0

    def tools(self):
        self.lists += 1
        if self.lists > 3:
            sys.exit(1)
        return [tool("look_up", "Look up a word.", reads=True, word=TEXT)]


SEEN = Seen(found=("not-again",), says=("after a while: it exited with status 1",))
