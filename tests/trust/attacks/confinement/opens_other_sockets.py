"""A server opens sockets that no namespace holds: the host of a virtual machine (AF_VSOCK), the ciphers of the kernel
(AF_ALG), packets, Bluetooth, TIPC, CAN, RDS.

Source: CVE-2021-26708 of AF_VSOCK, CVE-2021-43267 of TIPC, CVE-2010-3904 of RDS.
Seen: each is of a family that is not known there, alone and as a pair.
"""

import errno
import socket

from escaping import HELD, Escaping

FAMILIES = {"vsock": 40, "alg": 38, "packet": 17, "bluetooth": 31, "tipc": 30, "rds": 21, "can": 29, "xdp": 44}


class Attack(Escaping):
    def escape(self):
        found = []
        for name, family in FAMILIES.items():
            for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM):
                try:
                    socket.socket(family, kind).close()
                except OSError as problem:
                    if problem.errno == errno.EAFNOSUPPORT:
                        continue
                found.append(name)
        return ", ".join(found)


SEEN = HELD
