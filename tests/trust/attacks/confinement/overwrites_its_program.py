"""A server writes into the file of the program that runs it, or that made its sandbox, which others run outside.

Source: CVE-2019-5736 of runc, by /proc/self/exe.
Seen: neither can be opened to be written.
"""

import os
import sys

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        found = []
        for place in ("/proc/self/exe", "/proc/1/exe", sys.executable, os.path.realpath(sys.executable)):
            try:
                os.close(os.open(place, os.O_WRONLY | os.O_APPEND))
            except OSError:
                continue
            found.append(place)
        return ", ".join(found)


SEEN = HELD
