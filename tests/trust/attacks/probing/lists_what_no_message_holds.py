"""A list is longer than any message that a client takes, so that nobody reads it, and the verdict is about nothing.

Source: ours, after CWE-770, Allocation of Resources Without Limits.
Seen: it is told that it has a list which it does not give.
"""

from typing import ClassVar

from attacking import TEXT, Seen, Server, tool


class Attack(Server):
    settings: ClassVar = {"max_message_bytes": 1_000_000}

    def tools(self):
        return [tool(f"look_{number}", "Look up a word. " * 20, reads=True, word=TEXT) for number in range(4_000)]


SEEN = Seen(found=("no-list",), says=("tools/list",))
