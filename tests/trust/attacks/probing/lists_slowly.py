"""A server takes its time to list, until whoever looks gives up. The test shortens what is called slow.

Source: ours, after MITRE ATT&CK T1497.003, Time Based Evasion.
Seen: it is told how long it took.
"""

import time

from attacking import TEXT, Seen, Server, tool


class Attack(Server):
    def tools(self):
        time.sleep(0.01)
        return [tool("look_up", "Look up a word.", reads=True, word=TEXT)]


SEEN = Seen(found=("slow-lists",))
