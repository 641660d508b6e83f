"""A server mounts by the calls that came after the filters of others were written.

Source: CVE-2021-41133 of Flatpak; CVE-2022-0185, by fsconfig.
Seen: a filter refuses each that there is by now.
"""

from escaping import HELD, Escaping, unfiltered


class Attack(Escaping):
    def escape(self):
        return unfiltered(
            open_tree=((428, 428), -100, b"/", 0),
            move_mount=((429, 429), -1, b"", -1, b"", 0),
            fsopen=((430, 430), b"tmpfs", 0),
            fsconfig=((431, 431), -1, 0, 0, 0, 0),
            fsmount=((432, 432), -1, 0, 0),
            fspick=((433, 433), -100, b"/", 0),
            mount_setattr=((442, 442), -1, b"", 0, 0, 0),
            open_tree_attr=((467, 467), -100, b"/", 0, 0, 0),
            umount2=((166, 39), b"/tmp", 0),
            pivot_root=((155, 41), b"/", b"/"),
        )


SEEN = HELD
