"""A server looks for memory, queues and semaphores that programs of its user share.

Source: ipc_namespaces(7); MITRE ATT&CK T1005, Data from Local System.
Seen: there are none but its own.
"""

import ctypes
import os
from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        found = [one for one in ("/dev/shm", "/dev/mqueue") if os.path.isdir(one) and os.listdir(one)]
        for name in ("shm", "msg", "sem"):
            found += [name] if len(Path(f"/proc/sysvipc/{name}").read_text().splitlines()) > 1 else []
        libc = ctypes.CDLL(None)
        return ", ".join([*found, *(["memory"] if libc.shmget(self.stage.shared, 0, 0) != -1 else [])])


SEEN = HELD
