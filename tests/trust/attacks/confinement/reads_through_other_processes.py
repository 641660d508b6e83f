"""A server reads files through /proc/PID/root of a process outside, which shows what that one sees.

Source: proc(5), /proc/pid/root.
Seen: it sees no process outside, and no file of one.
"""

import os

from escaping import HELD, Escaping, readable


class Attack(Escaping):
    def escape(self):
        return readable(*(f"/proc/{pid}/root{self.stage.secret}" for pid in os.listdir("/proc") if pid.isdigit()))


SEEN = HELD
