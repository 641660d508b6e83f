"""What lies at an address has twenty megabytes.

Source: ours.
Seen: whoever reads it is told the limit that it is over.
"""

from attacking import Seen, Server


class Attack(Server):
    def resources(self):
        return [{"uri": "far://a", "name": "a"}]

    def read(self, uri):
        return "x" * 20_000_000


SEEN = Seen(calls=(("read_resource", {"uri": "far://a"}),), says=("max_message_bytes",), ends_s=20.0)
