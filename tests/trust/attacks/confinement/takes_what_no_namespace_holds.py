"""A server asks for what no namespace holds: to trace, for the keys of its user, a user namespace, a mount.

Source: CVE-2016-0728 of keyrings; docs.docker.com, "Seccomp security profiles for Docker".
Seen: a filter refuses each, before the kernel looks at it.
"""

from escaping import HELD, Escaping, unfiltered


class Attack(Escaping):
    def escape(self):
        return unfiltered(
            ptrace=((101, 117), 0, 0, 0, 0),
            keyctl=((250, 219), 0, -3, 0, 0),
            unshare=((272, 97), 0x10000000),
            mount=((165, 40), 0, 0, 0, 0, 0),
        )


SEEN = HELD
