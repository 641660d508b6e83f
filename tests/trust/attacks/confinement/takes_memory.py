"""A server takes more memory than its bound; nothing of it is touched.

Source: MITRE ATT&CK T1499.001, OS Exhaustion Flood.
Seen: the kernel refuses it.
"""

import mmap

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        size = self.stage.bounds["max_memory_bytes"] * 2
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        return "taken"


SEEN = HELD
