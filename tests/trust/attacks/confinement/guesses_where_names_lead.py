"""A server connects to the addresses that stand for names in its sandbox without asking for one, and to ports of the
name that it was given which it was not.

Source: ours.
Seen: an address stands for a name only once that was answered, and a name goes with its port.
"""

import socket
from dataclasses import replace

from escaping import HELD, Escaping, refused

HOSTS = ("11.77.0.1", "11.77.0.2", "11.77.255.255", "localhost")


class Attack(Escaping):
    def escape(self):
        port = int(self.stage.named.rstrip("/").rpartition(":")[2])
        found = []
        for host in HOSTS:
            for at in (80, *(() if host == "localhost" else (port,))):
                with socket.socket() as one:
                    one.settimeout(5)
                    try:
                        one.connect((host, at))
                        one.sendall(b"GET / HTTP/1.0\r\n\r\n")
                        found += [f"{host}:{at}"] if one.recv(1) else []
                    except OSError:
                        continue
        return ", ".join(found)


TOLD = [refused(f"{host}:{port}") for host in HOSTS for port in ("80", "{port}")]
SEEN = replace(HELD, told=tuple(TOLD[:-1]))
