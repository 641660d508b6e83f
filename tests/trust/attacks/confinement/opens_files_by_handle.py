"""A server opens files of the host by the number of their inode, past all that is mounted.

Source: "Shocker", S. Krahmer, a way out of docker (2014).
Seen: a filter refuses it.
"""

from escaping import HELD, Escaping, unfiltered


class Attack(Escaping):
    def escape(self):
        return unfiltered(
            name_to_handle_at=((303, 264), -100, b"/", 0, 0, 0),
            open_by_handle_at=((304, 265), -100, 0, 0),
        )


SEEN = HELD
