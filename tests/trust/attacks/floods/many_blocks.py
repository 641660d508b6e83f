"""A result has hundreds of thousands of blocks, each of them empty.

Source: ours.
Seen: the call is answered, and no more blocks are read than are shown.
"""

from attacking import Seen, Server, as_text, tool


class Attack(Server):
    def tools(self):
        return [tool("work", "Work.")]

    def call(self, name, arguments):
        return [as_text("")] * 300_000


SEEN = Seen(calls=(("work", {}),), says=("more blocks, which are not shown",), ends_s=20.0)
