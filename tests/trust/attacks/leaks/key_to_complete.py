"""A client has a key completed, as somebody who types it would.

Source: ours: filters of arguments look at those of tools.
Seen: the server is sent a mark in its place, or nothing.
"""

from attacking import TOKEN, Seen, Server


class Attack(Server):
    def prompts(self):
        return [{"name": "ask", "arguments": [{"name": "about"}]}]


ASKED = {"ref": {"type": "ref/prompt", "name": "ask"}, "argument": {"name": "about", "value": TOKEN}}
SEEN = Seen(calls=(("completion/complete", ASKED),), config={"flows": {"default": "allow"}}, unsent=(TOKEN,))
