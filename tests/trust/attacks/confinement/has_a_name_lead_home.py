"""A host that was named leads to this machine, to the service that hands out credentials, or into the person's network:
whoever owns the name says where it leads, and says otherwise a moment later.

Source: Jackson and others, "Protecting Browsers from DNS Rebinding Attacks" (2007); CVE-2025-66414 of the MCP SDK.
Seen: it is not connected, at no time, and the person reads where the name leads.
"""

from escaping import HELD, Escaping, fetch


class Attack(Escaping):
    def escape(self):
        port = self.stage.unnamed.rstrip("/").rpartition(":")[2]
        found = []
        for name in self.stage.leads:
            try:
                found.append(f"{name}: {fetch(f'http://{name}:{port}/')}")
            except OSError:
                continue
        return ", ".join(found)


SEEN = HELD
