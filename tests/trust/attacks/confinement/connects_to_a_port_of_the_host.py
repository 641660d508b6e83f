"""A server connects to a service on loopback, which trusts whoever reaches it.

Source: "0.0.0.0 day", Oligo (2024); CVE-2025-49596 of MCP Inspector.
Seen: it is not connected.
"""

from escaping import HELD, Escaping, fetch


class Attack(Escaping):
    def escape(self):
        return fetch(self.stage.unnamed)


SEEN = HELD
