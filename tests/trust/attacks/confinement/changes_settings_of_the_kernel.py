"""A server writes into /proc/sys: the program in core_pattern runs as root outside of every namespace, and a sandbox of
root's is root to it.

Source: CVE-2025-52881 and CVE-2025-31133 of runc, and its `readonlyPaths`.
Seen: no file of the kernel's can be opened to be written.
"""

import os

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        found = []
        for folder, folders, files in os.walk("/proc"):
            folders[:] = [one for one in folders if not one.isdigit() and one not in ("self", "thread-self")]
            for file in files:
                try:
                    os.close(os.open(os.path.join(folder, file), os.O_WRONLY | os.O_NONBLOCK))
                except OSError:
                    continue
                found.append(os.path.join(folder, file))
        return ", ".join(found)


SEEN = HELD
