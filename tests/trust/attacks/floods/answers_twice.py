"""A server answers each call twice.

Source: ours.
Seen: the second answer reaches nobody, neither this call nor the next one.
"""

from attacking import Seen, Server, as_text, tool


class Attack(Server):
    def tools(self):
        return [tool("work", "Work.")]

    def call(self, name, arguments):
        self.send(id=self.id, result={"content": [as_text("first")]})
        return "second"


SEEN = Seen(calls=(("work", {}), ("work", {})), says=("first",), never=("second",), ends_s=20.0)
