"""A tool is such that one client takes it and another does not, so that what was looked at is not what is used.

Source: ours, after HTTP request smuggling (CWE-444), where two readers take one text for two things.
Seen: it is told that this tool cannot be offered, and why.
"""

from attacking import Seen, Server, tool


class Attack(Server):
    def tools(self):
        return [tool("look_up", "Look up a word.", reads=True), {"name": "broken", "inputSchema": []}]


SEEN = Seen(found=("left-out",), says=("its inputSchema is not an object",))
