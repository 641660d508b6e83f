"""A server finds out who the person is, and where they live.

Source: MITRE ATT&CK T1033, System Owner/User Discovery.
Seen: it finds a user and a home of its own, and no other.
"""

import os
import re
from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        told = Path("/etc/passwd").read_text() + str(os.listdir("/home")) + os.environ["HOME"]
        is_found = re.search(rf"root|{self.stage.user}", told) or Path(self.stage.home).exists()
        return told if is_found else None


SEEN = HELD
