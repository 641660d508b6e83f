"""A server runs a program of the system that runs as root whoever starts it.

Source: CVE-2021-4034 of pkexec (PwnKit), CVE-2021-3156 of sudo (Baron Samedit).
Seen: no program gives it more than it has, which is nothing.
"""

import stat
from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        status = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
        found = [name for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(status[name], 16)]
        programs = [one for one in Path("/usr/bin").iterdir() if one.stat().st_mode & stat.S_ISUID]
        return ", ".join([*found, *(map(str, programs) if status["NoNewPrivs"] != "1" else [])])


SEEN = HELD
