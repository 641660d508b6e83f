"""Opens the sockets of a sandbox: a program of its own, with the standard library alone.

It enters the network namespace of a sandbox that has not begun yet, listens there, and hands the sockets over: from
then on the host answers whom the program connects to, and nothing of ours runs inside. Every address leads to the
sandbox itself (AnyIP: a local route for all of them), so that who connects to an address without a name is seen too.

    _sockets.py PID DESCRIPTOR PORT...
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
import time

NS_GET_USERNS = 0xB701
"""linux/nsfs.h: the user namespace that a namespace belongs to; a member of that one alone may enter it."""
NEWROUTE, REQUEST, CREATE, ACK, ERROR = 24, 1, 0x400, 4, 2
LOCAL_TABLE, BY_BOOT, HOST_SCOPE, LOCAL_TYPE, OUT_INTERFACE = 255, 3, 254, 2, 4
GET_FLAGS, UP = 0x8913, 1
LOOKS, LOOK_S = 2_500, 0.002
DNS = 53
WAITING = 64


def main() -> None:
    """Enter, listen, hand over."""
    pid, descriptor, *ports = map(int, sys.argv[1:])
    enter(pid)
    wait_for_loopback()
    route_all_here()
    listening = [listen(port) for port in ports]
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", DNS))
    with socket.socket(fileno=descriptor) as to_host:
        socket.send_fds(to_host, [b"."], [names.fileno(), *(one.fileno() for one in listening)])


def enter(pid: int) -> None:
    """Enter the network namespace of a process.

    Raises:
        OSError: the kernel refuses it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    for namespace in (fcntl.ioctl(network, NS_GET_USERNS), network):
        if libc.setns(namespace, 0):
            raise OSError(ctypes.get_errno(), "setns")


def wait_for_loopback() -> None:
    """Until bubblewrap has brought it up: it fails where somebody else does.

    Raises:
        OSError: it does not.
    """
    with socket.socket() as any_socket:
        for _ in range(LOOKS):
            asked = struct.pack("16sh22x", b"lo", 0)
            if struct.unpack_from("16xh", fcntl.ioctl(any_socket, GET_FLAGS, asked))[0] & UP:
                return
            time.sleep(LOOK_S)
    raise OSError("the loopback of the sandbox does not come up")


def route_all_here() -> None:
    """`ip route add local default dev lo`, as the kernel takes it (rtnetlink).

    Raises:
        OSError: it does not.
    """
    loopback = socket.if_nametoindex("lo")
    route = struct.pack("BBBBBBBBI", socket.AF_INET, 0, 0, 0, LOCAL_TABLE, BY_BOOT, HOST_SCOPE, LOCAL_TYPE, 0)
    route += struct.pack("HHI", 8, OUT_INTERFACE, loopback)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.send(struct.pack("IHHII", 16 + len(route), NEWROUTE, REQUEST | CREATE | ACK, 1, 0) + route)
        answer = link.recv(4096)
    kind, failed = struct.unpack_from("4xH10xi", answer)
    if kind != ERROR or failed:
        raise OSError(-failed, "route")


def listen(port: int) -> socket.socket:
    """A socket that everything which is connected to this port comes to."""
    opened = socket.socket()
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    opened.bind(("0.0.0.0", port))  # noqa: S104 - of the sandbox, which nobody else is in
    opened.listen(WAITING)
    return opened


if __name__ == "__main__":
    main()
