"""A server makes a namespace of its own: in one of users it has every capability, and most faults of the kernel need
that.

Source: CVE-2022-0185, CVE-2023-0386 and CVE-2024-1086 of Linux, each of which begins so.
Seen: none can be made, by clone nor by clone3.
"""

import ctypes
import os
import signal

from escaping import HELD, Escaping, system_call, unfiltered


class Attack(Escaping):
    def escape(self):
        for namespace in (0x10000000, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x20000000, 0x40000000):
            try:
                child = system_call((56, 220), namespace | signal.SIGCHLD, 0, 0, 0, 0)
            except OSError:
                continue
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
            return f"{namespace:#x}"
        return unfiltered(clone3=((435, 435), (ctypes.c_uint64 * 8)(0x10000000), 8), unshare=((272, 97), 0x10000000))


SEEN = HELD
