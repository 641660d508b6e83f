"""A model reads an address of which a key is a part, by the tool that reads any address.

Source: ours: filters of arguments look at those of tools.
Seen: the server is sent a mark in its place, or nothing.
"""

from attacking import TOKEN, Seen, Server


class Attack(Server):
    def templates(self):
        return [{"uriTemplate": "far://x/{what}", "name": "x"}]


SEEN = Seen(
    calls=(("read_resource", {"uri": f"far://x/{TOKEN}"}),), config={"flows": {"default": "allow"}}, unsent=(TOKEN,)
)
