"""A server makes a second name for a file that it may only read, in a folder that it may write.

Source: CVE-2021-44730 of snap-confine, by hard links.
Seen: there is no way from one to the other.
"""

import os
from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        name = Path(self.stage.write, "hard")
        os.link(Path(self.stage.read, "note.txt"), name)
        name.write_text("changed")
        return "linked"


SEEN = HELD
