"""What a client is given beside tools has a key in it: a prompt.

Source: ours: filters of results do not look there.
Seen: the client reads a mark in its place.
"""

from attacking import MASKED, TOKEN, Seen, Server

SAYS = f"GITHUB_TOKEN={TOKEN}\nPORT=1"


class Attack(Server):
    def prompts(self):
        return [{"name": "setup"}]

    def prompt(self, name, arguments):
        return SAYS


SEEN = Seen(
    calls=(("prompts/get", {"name": "setup"}), ("prompts/get", {"name": "setup"})), says=(MASKED,), never=(TOKEN,)
)
