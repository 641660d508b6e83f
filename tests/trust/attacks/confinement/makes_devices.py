"""A server makes a device in a folder that it may write, and reads the disk or the memory of the machine through it.

Source: MITRE ATT&CK T1611, Escape to Host; capabilities(7), CAP_MKNOD.
Seen: none can be made, and no device of the host's is there.
"""

import os
import stat
from pathlib import Path

from escaping import HELD, Escaping

DEVICES = (
    "mem",
    "kmsg",
    "kvm",
    "fuse",
    "net/tun",
    "vhost-vsock",
    "dri",
    "snd",
    "input",
    "sda",
    "vda",
    "mapper",
    "shm/x",
)


class Attack(Escaping):
    def escape(self):
        found = [name for name in DEVICES if Path("/dev", name).exists()]
        for kind, number in ((stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFBLK, os.makedev(254, 0))):
            for folder in (self.stage.write, "/tmp", str(Path.home())):
                place = Path(folder, "device")
                try:
                    os.mknod(place, kind | 0o600, number)
                except OSError:
                    continue
                place.unlink()
                found.append(str(place))
        return ", ".join(found)


SEEN = HELD
