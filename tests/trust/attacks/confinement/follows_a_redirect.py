"""A host that was named leads to one that was not.

Source: CWE-918; "MCP fURI", BlueRock (2026), of a server that fetched whatever it was led to.
Seen: it is not connected to the other.
"""

from escaping import HELD, Escaping, fetch


class Attack(Escaping):
    def escape(self):
        return fetch(self.stage.named + "redirect")


SEEN = HELD
