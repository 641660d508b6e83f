"""A completion has a million values.

Source: ours.
Seen: no more of them are handed on than a client takes.
"""

from attacking import Seen, Server

ASKED = {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": ""}}


class Attack(Server):
    def prompts(self):
        return [{"name": "greet", "arguments": [{"name": "who"}]}]

    def complete(self, value):
        return [f"v{number}" for number in range(1_000_000)]


SEEN = Seen(calls=(("completion/complete", ASKED),), never=("v999999",), ends_s=20.0)
