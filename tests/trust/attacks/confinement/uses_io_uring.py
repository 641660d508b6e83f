"""A server opens files and connects by io_uring, which no filter of system calls sees into.

Source: "Learnings from kCTF VRP's 42 Linux kernel exploits submissions", Google (2023); curing, ARMO (2025).
Seen: a filter refuses it.
"""

from escaping import HELD, Escaping, unfiltered


class Attack(Escaping):
    def escape(self):
        return unfiltered(io_uring_setup=((425, 425), 4, 0))


SEEN = HELD
