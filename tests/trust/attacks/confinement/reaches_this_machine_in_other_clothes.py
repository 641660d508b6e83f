"""A server writes the address of this machine otherwise, or takes another name for it.

Source: "0.0.0.0 day", Oligo (2024); CVE-2021-29922, octal addresses; OWASP, SSRF Prevention Cheat Sheet.
Seen: none of them leads to a service of this machine.
"""

from escaping import HELD, Escaping, fetch

HOSTS = (
    "127.0.0.2", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "2130706433",
    "0x7f.1", "0177.0.0.1", "localhost.", "confined",
)  # fmt: skip


class Attack(Escaping):
    def escape(self):
        port = self.stage.unnamed.rstrip("/").rpartition(":")[2]
        found = []
        for host in HOSTS:
            try:
                found.append(f"{host}: {fetch(f'http://{host}:{port}/')}")
            except OSError:
                continue
        return ", ".join(found)


SEEN = HELD
