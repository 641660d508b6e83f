"""A server asks for two sockets at once of a family that it may not have one of.

Source: ours, after CVE-2021-43267 of TIPC, whose sockets come in pairs, too.
Seen: a filter refuses it.
"""

import ctypes
import errno

from escaping import HELD, Escaping, system_call


class Attack(Escaping):
    def escape(self):
        found = []
        for family in (30, 40, 31, 38):
            try:
                system_call((53, 199), family, 1, 0, (ctypes.c_int * 2)())
            except OSError as problem:
                if problem.errno == errno.EAFNOSUPPORT:
                    continue
            found.append(str(family))
        return ", ".join(found)


SEEN = HELD
