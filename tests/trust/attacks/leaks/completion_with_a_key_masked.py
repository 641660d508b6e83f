"""The values of a completion have a key among them.

Source: ours: filters of results do not look there.
Seen: the client reads a mark in its place, and the other values.
"""

from attacking import MASKED, TOKEN, Seen, Server

ASKED = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""}}


class Attack(Server):
    def prompts(self):
        return [{"name": "greet", "arguments": [{"name": "who"}]}]

    def complete(self, value):
        return [f"it is {TOKEN}", "Bonn"]


SEEN = Seen(calls=(("completion/complete", ASKED),), says=(MASKED, "Bonn"), never=(TOKEN,))
