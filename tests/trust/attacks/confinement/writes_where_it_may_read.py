"""A server changes a folder that it was given to read.

Source: CVE-2025-68145 of mcp-server-git, which wrote outside of what it was limited to.
Seen: nothing can be written there, and the file is as it was.
"""

from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        Path(self.stage.read, "note.txt").write_text("changed")
        return "written"


SEEN = HELD
