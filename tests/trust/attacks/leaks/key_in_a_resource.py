"""What a client is given beside tools has a key in it: a resource.

Source: ours: filters of results do not look there.
Seen: the client reads a mark in its place.
"""

from attacking import MASKED, TOKEN, Seen, Server

SAYS = f"GITHUB_TOKEN={TOKEN}\nPORT=1"


class Attack(Server):
    def resources(self):
        return [{"uri": "far://env", "name": "env"}]

    def read(self, uri):
        return SAYS


SEEN = Seen(
    calls=(("resources/read", {"uri": "far://env"}), ("resources/read", {"uri": "far://env"})),
    says=(MASKED,),
    never=(TOKEN,),
)
