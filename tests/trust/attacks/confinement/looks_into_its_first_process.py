"""A server looks into the first process of its sandbox, which is bubblewrap: its memory, where words of the host were,
its descriptors, its root.

Source: ours, after CVE-2019-5736 of runc.
Seen: nothing of it can be opened.
"""

from escaping import HELD, Escaping, readable


class Attack(Escaping):
    def escape(self):
        return readable(*(f"/proc/1/{name}" for name in ("mem", "root/etc/shadow", *(f"fd/{n}" for n in range(3, 8)))))


SEEN = HELD
