"""A server leaves a file with the bit of setuid in a folder that it may write: whoever runs it is the user of the host,
root where that is.

Source: CVE-2019-3843 of systemd, whose RestrictSUIDSGID came of it; CVE-2021-41091 of docker.
Seen: no call gives a file such a mode.
"""

import contextlib
import ctypes
import os

from escaping import HELD, Escaping, system_call


class Attack(Escaping):
    def escape(self):
        for mode in (0o4755, 0o2755, 0o6777):
            file = self.write("#!/bin/sh", f"program-{mode:o}")
            path = os.fsencode(file)
            how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, mode, 0)
            number = os.open(file, os.O_RDONLY)
            ways = [
                lambda mode=mode, path=path: os.chmod(path, mode),
                lambda mode=mode, number=number: os.fchmod(number, mode),
                lambda mode=mode, path=path: system_call((452, 452), -100, path, mode, 0),  # fchmodat2
                lambda mode=mode, path=path: os.close(os.open(path + b"-1", os.O_CREAT | os.O_WRONLY, mode)),
                lambda mode=mode, path=path: os.mknod(path + b"-2", mode | 0o100000),
                lambda how=how, path=path: os.close(system_call((437, 437), -100, path + b"-3", how, 24)),  # openat2
            ]
            if os.uname().machine == "x86_64":
                ways += [
                    lambda mode=mode, path=path: os.close(system_call((85, 0), path + b"-4", mode)),  # creat
                    lambda mode=mode, path=path: os.close(system_call((2, 0), path + b"-5", 0o101, mode)),  # open
                ]
            for way in ways:
                with contextlib.suppress(OSError):
                    way()
            os.close(number)
        left = list(file.parent.glob("program-*"))
        found = [one.name for one in left if one.stat().st_mode & 0o6000]
        for one in left:
            one.unlink()
        return ", ".join(found)


SEEN = HELD
