"""A server asks for the credentials that clouds hand out at one address to whoever asks from a machine of theirs.

Source: the breach of Capital One (2019); "MCP fURI", BlueRock (2026).
Seen: it is not connected, and the person reads the line that would allow it.
"""

from dataclasses import replace

from escaping import HELD, Escaping, fetch, refused


class Attack(Escaping):
    def escape(self):
        return fetch("http://169.254.169.254/latest/meta-data/")


SEEN = replace(HELD, told=(refused("169.254.169.254:80"),))
