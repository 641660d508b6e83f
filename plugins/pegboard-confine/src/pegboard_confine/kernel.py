"""Landlock and a seccomp filter, by their system calls: what a process may still do, from now on and for its children.

Imported by the supervisor, which has the standard library alone. Structures and numbers are those of
`linux/landlock.h` (ABI 7) and `linux/seccomp.h`; the calls have the same numbers on every architecture.

.. versionadded:: 0.1
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import struct
from typing import Any

__all__ = [
    "BEYOND_NAMESPACES",
    "BEYOND_PROCESSES",
    "FAMILIES",
    "FOLDER",
    "LEAST_ABI",
    "SOCKETS",
    "TRACING",
    "abi_version",
    "can_forbid",
    "drop_capabilities",
    "forbid",
    "program_of",
    "restrict",
]

FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - as `sys.path` takes it
"""Where this module lies: a program with the standard library alone imports it from there, without the package.

.. versionadded:: 0.1
"""
LEAST_ABI = 3
"""Linux 6.2: before it a file could be truncated whatever the rules said.

.. versionadded:: 0.1
"""

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8
MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK, MAKE_SYM, REFER = 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15

READ = EXECUTE | READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_FIFO | MAKE_SYM | REFER | TRUNCATE
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""What can be granted on a file that is not a folder."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVS, _SET_SECCOMP, _DROP_BOUNDING = 38, 22, 24

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CALLS: dict[str, tuple[int, int]] = {
    # the same everywhere, since Linux 5.1
    **{name: (number, number) for name, number in {
        "io_uring_setup": 425, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432,
        "fspick": 433, "clone3": 435, "pidfd_getfd": 438, "mount_setattr": 442, "fchmodat2": 452, "setxattrat": 463,
        "openat2": 437, "removexattrat": 466, "open_tree_attr": 467, "file_setattr": 469,
    }.items()},
    "acct": (163, 89), "creat": (85, 0), "fchmod": (91, 52), "mknod": (133, 0), "mknodat": (259, 33), "open": (2, 0),
    "openat": (257, 56),
    "add_key": (248, 217), "bpf": (321, 280), "chmod": (90, 0), "chown": (92, 0), "clone": (56, 220),
    "delete_module": (176, 106), "fchmodat": (268, 53), "fchownat": (260, 54), "finit_module": (313, 273),
    "fork": (57, 0), "init_module": (175, 105), "kexec_file_load": (320, 294), "kexec_load": (246, 104),
    "keyctl": (250, 219), "lchown": (94, 0), "lremovexattr": (198, 15), "lsetxattr": (189, 6), "mount": (165, 40),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "perf_event_open": (298, 241),
    "pivot_root": (155, 41), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117),
    "quotactl": (179, 60), "removexattr": (197, 14), "request_key": (249, 218), "setns": (308, 268),
    "setxattr": (188, 5), "socket": (41, 198), "socketpair": (53, 199), "syslog": (103, 116), "umount2": (166, 39),
    "unshare": (272, 97), "userfaultfd": (323, 282), "vfork": (58, 0),
}  # fmt: skip
"""The numbers of system calls, on x86_64 and on aarch64 (asm/unistd_64.h, asm-generic/unistd.h); 0: it has none."""


def _numbers(*names: str) -> dict[str, tuple[int, ...]]:
    """The numbers of these calls, by architecture."""
    pairs = [_CALLS[name] for name in names]
    return {
        machine: tuple(filter(None, numbers))
        for machine, numbers in zip(_AUDIT_ARCH, zip(*pairs, strict=True), strict=True)
    }


SOCKETS = _numbers("socket", "io_uring_setup")
"""Landlock alone holds only TCP, and not the sockets that other programs listen on.

.. versionadded:: 0.1
"""
PROCESSES = _numbers("fork", "vfork")
"""clone stays, for threads alone: see `program_of`."""
_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID, -NET (linux/sched.h); that of time is for clone3 and unshare alone."""
_SETUID = 0o6000
"""S_ISUID and S_ISGID."""
_MAKES = 0o100 | 0o20000000
"""O_CREAT and __O_TMPFILE: without them nobody says a mode."""
MODES = {
    "chmod": (1, None), "creat": (1, None), "fchmod": (1, None), "fchmodat": (2, None), "fchmodat2": (2, None),
    "mknod": (1, None), "mknodat": (2, None), "open": (2, 1), "openat": (3, 2),
}  # fmt: skip
"""What says the mode of a file: which argument that is, and which has the flags, where there are any."""
CHANGES = _numbers(
    "chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "setxattr", "lsetxattr", "removexattr",
    "lremovexattr", "setxattrat", "removexattrat", "file_setattr",
)  # fmt: skip
"""What changes modes, owners and attributes by a path: Landlock does not hold it. By a descriptor it stays, for so
programs set what they have written; and so they may set it of what they may only read, which they can open."""
TRACING = _numbers("ptrace", "process_vm_readv", "process_vm_writev")
"""What looks into other processes of its own user.

.. versionadded:: 0.1
"""
BEYOND_NAMESPACES = _numbers(
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "pidfd_getfd",
    "mount", "umount2", "pivot_root", "unshare", "setns", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount",
    "fspick", "mount_setattr", "open_tree_attr", "name_to_handle_at", "open_by_handle_at", "kexec_load",
    "kexec_file_load", "syslog", "acct", "quotactl", "init_module", "finit_module", "delete_module",
)  # fmt: skip
"""What no namespace holds, or what only breaks out of one: the keys of the user, programs in the kernel, io_uring
(which no filter sees into), mounts and namespaces of its own, handles of files, the kernel's log, accounting, modules.

.. versionadded:: 0.1
"""
BEYOND_PROCESSES = {machine: (*numbers, *TRACING[machine]) for machine, numbers in BEYOND_NAMESPACES.items()}
"""Both of these.

.. versionadded:: 0.1
"""
FAMILIES: dict[int, tuple[int, ...]] = {1: (), 2: (0, 1, 6, 17), 10: (0, 6, 17, 58), 16: (0,)}
"""The families of sockets that a namespace of the network holds, each with its protocols, or none for all: unix, IPv4
and IPv6 with ICMP, TCP and UDP, and netlink with what lists addresses. One of a virtual machine (AF_VSOCK) reaches its
host whatever the namespace; others are doors into the kernel that few programs need, and whose modules it loads for
whoever asks.

.. versionadded:: 0.1
"""


def abi_version() -> int:
    """The version of Landlock that this kernel has; 0 for none.

    .. versionadded:: 0.1
    """
    if platform.system() != "Linux":
        return 0
    found = int(_libc().syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))
    return max(found, 0)


def restrict(readable: list[str], writable: list[str], *, network: bool) -> None:
    """Leave this process and its children only these folders and files, no signals to others, and no sockets.

    What Landlock does not hold - modes, owners, sockets - a filter of system calls does.

    Raises:
        OSError: the kernel refused; nothing may be started then.

    .. versionadded:: 0.1
    """
    libc = _libc()
    abi = abi_version()
    if abi < LEAST_ABI:
        raise OSError(f"Landlock {abi} is older than {LEAST_ABI}")
    _hold(libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    handled = (1 << (16 if abi >= 5 else 15)) - 1
    net = 3 if abi >= 4 and not network else 0
    attributes = struct.pack("QQQ", handled, net, 3)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    rules = _hold(libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0)), "create")
    try:
        for paths, access in ((readable, READ), (writable, WRITE)):
            for path in paths:
                _add(libc, rules, path, access & handled)
        for device in ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"):
            _add(libc, rules, device, (READ_FILE | WRITE_FILE | IOCTL_DEV) & handled)
        _hold(libc.syscall(_RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0)), "restrict")
    finally:
        os.close(rules)
    forbid(CHANGES, *(() if network else (SOCKETS,)), setuid=False)


def _add(libc: Any, rules: int, path: str, access: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            access &= ON_FILES
        beneath = struct.pack("=Qi", access, opened)
        _hold(libc.syscall(_ADD, ctypes.c_int(rules), ctypes.c_uint32(1), beneath, ctypes.c_uint32(0)), "rule")
    finally:
        os.close(opened)


def forbid(*tables: dict[str, tuple[int, ...]], alone: bool = False, setuid: bool = True) -> None:
    """Let these system calls fail, from now on and for all children; see `program_of`.

    Raises:
        OSError: the kernel refused, or the architecture is not known.

    .. versionadded:: 0.1
    """
    program = program_of(*tables, alone=alone, setuid=setuid)
    code = ctypes.create_string_buffer(program)
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    libc = _libc()
    _hold(libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _hold(libc.prctl(_SET_SECCOMP, 2, ctypes.byref(header), 0, 0), "seccomp")


def can_forbid() -> bool:
    """Whether a filter of system calls is known for this system.

    .. versionadded:: 0.1
    """
    return platform.system() == "Linux" and platform.machine() in _AUDIT_ARCH


def program_of(
    *tables: dict[str, tuple[int, ...]], alone: bool = False, families: dict[int, tuple[int, ...]] | None = None,
    namespaces: bool = True, setuid: bool = True,
) -> bytes:  # fmt: skip
    """A filter of system calls, as the kernel and bubblewrap's `--seccomp` take it.

    Args:
        tables: numbers that fail with EACCES.
        families: the only families that a socket may be of, and their protocols; any other fails with EAFNOSUPPORT or
            EPROTONOSUPPORT, as where the kernel was built without it. None: any.
        alone: whether no new process can be made: threads stay, children do not. A filter cannot look at what clone3
            is told, so that fails with ENOSYS, and the C library falls back to clone, as under any older kernel.
        namespaces: whether a child may be in namespaces of its own; False: clone3 fails as above.
        setuid: whether a file may run with the rights of its owner or its group. False: no mode may say so, and
            openat2, whose mode no filter sees, fails with ENOSYS (as systemd's RestrictSUIDSGID has it).

    Raises:
        OSError: the architecture is not known.

    .. versionadded:: 0.1
    """
    machine = platform.machine()
    if not can_forbid():
        raise OSError("no filter for this architecture")
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill = 0x7FFF0000, 0x80000000
    deny, unknown = (0x00050000 | number for number in (errno.EACCES, errno.ENOSYS))
    clone, clone3 = (_CALLS[name][list(_AUDIT_ARCH).index(machine)] for name in ("clone", "clone3"))
    number, argument = 0, 16  # offsets in struct seccomp_data, of the lower half of the first argument
    program = [
        (load, 0, 0, 4), (equal, 1, 0, _AUDIT_ARCH[machine]), (give, 0, 0, kill),
        (load, 0, 0, number),
        (at_least, 0, 1, 0x40000000), (give, 0, 0, deny),  # the x32 numbers of x86_64
    ]  # fmt: skip
    for table in (*tables, *([PROCESSES] if alone else [])):
        for call in table[machine]:
            program += [(equal, 0, 1, call), (give, 0, 0, deny)]
    if families is not None:
        program += _of_families(machine, families)
    if alone or not namespaces:
        program += [(equal, 0, 1, clone3), (give, 0, 0, unknown)]
    if not namespaces:
        program += [
            (equal, 0, 4, clone), (load, 0, 0, argument), (any_bit, 0, 1, _CLONE_NAMESPACES), (give, 0, 0, deny),
            (load, 0, 0, number),
        ]  # fmt: skip
    if alone:
        program += [
            (equal, 0, 3, clone), (load, 0, 0, argument), (any_bit, 1, 0, _CLONE_THREAD), (give, 0, 0, deny),
        ]  # fmt: skip
    if not setuid:
        program += _without_setuid(machine, deny, unknown)
    program.append((give, 0, 0, allow))
    return b"".join(struct.pack("HBBI", *step) for step in program)


def _of_families(machine: str, families: dict[int, tuple[int, ...]]) -> list[tuple[int, int, int, int]]:
    """The steps that refuse sockets of all but these; the number of the call is loaded before and after them."""
    load, equal, give = 0x20, 0x15, 0x06
    at = list(_AUDIT_ARCH).index(machine)
    no_family, no_protocol = (0x00050000 | number for number in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT))
    checks = [(give, 0, 0, no_family)]
    for family, protocols in reversed(families.items()):
        # From an equal step, over those that follow it and all checks so far, to where the call is loaded again.
        told = [
            (equal, left + len(checks), 0, one)
            for left, one in zip(range(len(protocols), 0, -1), protocols, strict=True)
        ]
        allowed = [(load, 0, 0, 16 + 8 * 2), *told, (give, 0, 0, no_protocol)] if protocols else []
        first = (equal, 0, len(allowed), family) if protocols else (equal, len(checks), 0, family)
        checks = [first, *allowed, *checks]
    steps: list[tuple[int, int, int, int]] = []
    for name in ("socket", "socketpair"):
        body = [(load, 0, 0, 16), *checks, (load, 0, 0, 0)]
        steps += [(equal, 0, len(body), _CALLS[name][at]), *body]
    return steps


def _without_setuid(machine: str, deny: int, unknown: int) -> list[tuple[int, int, int, int]]:
    """The steps that refuse modes with which a file runs as its owner; the number of the call is loaded before and
    after them."""
    load, equal, any_bit, give = 0x20, 0x15, 0x45, 0x06
    at = list(_AUDIT_ARCH).index(machine)
    steps = [(equal, 0, 1, _CALLS["openat2"][at]), (give, 0, 0, unknown)]
    for name, (mode, flags) in MODES.items():
        if (call := _CALLS[name][at]) == 0:
            continue
        made = [] if flags is None else [(load, 0, 0, 16 + 8 * flags), (any_bit, 0, 3, _MAKES)]
        asked = [*made, (load, 0, 0, 16 + 8 * mode), (any_bit, 0, 1, _SETUID), (give, 0, 0, deny), (load, 0, 0, 0)]
        steps += [(equal, 0, len(asked), call), *asked]
    return steps


def drop_capabilities() -> None:  # pragma: no cover - runs in the forked child
    """Take root's powers from what is started next; a user without them has none to lose.

    .. versionadded:: 0.1
    """
    libc = _libc()
    capability = 0
    while libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0) == 0:
        capability += 1
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _hold(answer: Any, what: str) -> int:
    if answer < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return int(answer)
