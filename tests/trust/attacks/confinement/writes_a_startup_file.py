"""A server adds a line to a startup file, which runs with all rights the next time.

Source: MITRE ATT&CK T1546.004, Unix Shell Configuration Modification.
Seen: there is no such file in its sandbox, and none is made outside.
"""

from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        Path(self.stage.home, ".bashrc").write_text("changed")
        return "written"


SEEN = HELD
