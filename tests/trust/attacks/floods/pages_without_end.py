"""A list has one page after the other, without end.

Source: ours.
Seen: the server is given up in words, and others go on.
"""

from attacking import Seen, Server, tool


class Attack(Server):
    def tools(self):
        return [tool("work", "Work.")]

    def answer(self, method, params):
        if method == "tools/list":
            self.page = getattr(self, "page", 0) + 1
            return {"result": {"tools": [tool(f"work{self.page}")], "nextCursor": str(self.page)}}
        return super().answer(method, params)


SEEN = Seen(calls=(("work", {}),), says=("NOT_FOUND",), ends_s=20.0)
