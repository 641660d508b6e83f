"""A server makes system calls by the numbers of x32, which the same processor has beside its own.

Source: seccomp(2), "the x32 ABI"; CVE-2019-2054, a filter passed by the numbers of another architecture.
Seen: no such number is let through.
"""

import os

from escaping import HELD, Escaping, system_call

X32 = 0x40000000


class Attack(Escaping):
    def escape(self):
        found = []
        for name, number in (("getpid", 39), ("ptrace", 521), ("unshare", 272), ("keyctl", 250)):
            try:
                system_call((X32 | number, X32 | number), 0, -3, 0, 0)
            except PermissionError:
                continue
            except OSError as problem:
                found.append(f"{name}: {problem.strerror}")
                continue
            found.append(name)
        return ", ".join(found) if os.uname().machine == "x86_64" else None


SEEN = HELD
