"""A server looks for descriptors that its parent forgot to close.

Source: CVE-2024-21626 of runc.
Seen: it has none but its own three.
"""

import contextlib
import os

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        found = []
        for one in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # the list itself, while it was made
                target = os.readlink(f"/proc/self/fd/{one}")
                found += [target] if int(one) > 2 and "/proc/" not in target else []
        return ", ".join(found)


SEEN = HELD
