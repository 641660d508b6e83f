"""A server reads what the kernel tells of others: names of the person's keys, physical pages, timers of all processes.

Source: CVE-2018-10892 of docker, /proc/acpi; runc's `maskedPaths`.
Seen: there is nothing in them.
"""

from escaping import HELD, Escaping, readable

FILES = ("keys", "kcore", "timer_list", "sched_debug", "kpagecount", "kpageflags", "kpagecgroup")


class Attack(Escaping):
    def escape(self):
        return readable(*(f"/proc/{name}" for name in FILES))


SEEN = HELD
