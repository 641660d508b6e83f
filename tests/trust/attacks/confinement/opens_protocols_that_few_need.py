"""A server opens a socket of a protocol that few programs need, and has the kernel load the module of it, in whose
faults there are ways out.

Source: CVE-2017-6074 of DCCP, CVE-2021-23133 of SCTP, CVE-2024-1086 of nf_tables, spoken to over netlink.
Seen: of IPv4 and IPv6 there are TCP, UDP and ICMP, of netlink the one that lists addresses.
"""

import errno
import socket

from escaping import HELD, Escaping

PROTOCOLS = {
    "sctp": (2, 1, 132), "sctp, one to many": (10, 5, 132), "dccp": (2, 6, 33), "mptcp": (2, 1, 262),
    "smc": (2, 1, 256),
    "udplite": (2, 2, 136), "l2tp": (2, 2, 115), "raw": (2, 3, 255), "xfrm": (16, 3, 6), "netfilter": (16, 3, 12),
    "crypto": (16, 3, 21), "rdma": (16, 3, 20), "iscsi": (16, 3, 8), "scsi": (16, 3, 18), "connector": (16, 3, 11),
    "generic": (16, 3, 16),
}  # fmt: skip


class Attack(Escaping):
    def escape(self):
        found = []
        for name, how in PROTOCOLS.items():
            try:
                socket.socket(*how).close()
            except OSError as problem:
                if problem.errno == errno.EPROTONOSUPPORT:
                    continue
            found.append(name)
        return ", ".join(found)


SEEN = HELD
