"""A server has two thousand tools, each with a long description and a wide schema.

Source: ours.
Seen: others answer while they are looked at.
"""

from attacking import TEXT, Seen, Server, tool


class Attack(Server):
    def tools(self):
        wide = {f"a{number}": TEXT for number in range(10)}
        return [tool("work", "Work."), *(tool(f"work{n}", f"Work {n}. " * 20, **wide) for n in range(2_000))]


SEEN = Seen(calls=(("work", {}),), says=("done",), ends_s=20.0)
