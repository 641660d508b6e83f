"""A client puts a key into an argument of a prompt.

Source: ours: filters of arguments look at those of tools.
Seen: the server is sent a mark in its place, or nothing.
"""

from attacking import TOKEN, Seen, Server


class Attack(Server):
    def prompts(self):
        return [{"name": "ask", "arguments": [{"name": "about"}]}]


SEEN = Seen(
    calls=(("prompts/get", {"name": "ask", "arguments": {"about": f"with {TOKEN}"}}),),
    config={"flows": {"default": "allow"}},
    unsent=(TOKEN,),
)
