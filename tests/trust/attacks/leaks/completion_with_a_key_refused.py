"""The values of a completion have a key among them.

Source: ours: filters of results do not look there.
Seen: where keys are refused, no value comes with it.
"""

from attacking import TOKEN, Seen, Server

ASKED = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""}}


class Attack(Server):
    def prompts(self):
        return [{"name": "greet", "arguments": [{"name": "who"}]}]

    def complete(self, value):
        return [f"it is {TOKEN}", "Bonn"]


SEEN = Seen(calls=(("completion/complete", ASKED),), never=(TOKEN,), config={"secrets": {"default": "refuse"}})
