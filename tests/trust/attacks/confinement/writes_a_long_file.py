"""A server fills the disk with one file.

Source: MITRE ATT&CK T1499.001, OS Exhaustion Flood.
Seen: no file gets longer than its bound.
"""

import os

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        with self.write("", "long").open("wb") as file:
            os.ftruncate(file.fileno(), self.stage.bounds["max_file_bytes"] * 2)
        return "written"


SEEN = HELD
