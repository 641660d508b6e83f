"""A server takes open files out of another process of its user, or reads its memory.

Source: pidfd_getfd(2) and process_vm_readv(2), which docker's profile gives to who may trace alone.
Seen: a filter refuses it.
"""

import os

from escaping import HELD, Escaping, unfiltered


class Attack(Escaping):
    def escape(self):
        first = os.pidfd_open(1)
        return unfiltered(
            pidfd_getfd=((438, 438), first, 3, 0),
            process_vm_readv=((310, 270), 1, 0, 0, 0, 0, 0),
            process_vm_writev=((311, 271), 1, 0, 0, 0, 0, 0),
            setns=((308, 268), first, 0x40000000),
        )


SEEN = HELD
