"""A server that may write a project changes the configuration of its host, which says what is started next with all
rights, or the lock, which says what was accepted.

Source: CVE-2025-54135 of an editor whose agent wrote its mcp.json.
Seen: what the host reads cannot be written, removed, moved or replaced, nor can the folders that it lies in.
"""

import os
from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        done = []
        for file in map(Path, self.stage.kept):
            aside = file.with_name("aside")
            for name, change in (
                ("written", lambda file=file: file.write_text("changed")),
                ("removed", lambda file=file: file.unlink()),
                ("moved", lambda file=file, aside=aside: file.rename(aside)),
                ("replaced", lambda file=file, aside=aside: (aside.write_text("changed"), aside.rename(file))),
                ("its folder moved", lambda file=file: file.parent.rename(file.parent.with_name("elsewhere"))),
                ("linked", lambda file=file: os.link(file, file.with_name("hard"))),
            ):
                try:
                    change()
                except OSError:
                    continue
                done.append(f"{name}: {file}")
        return ", ".join(done)


SEEN = HELD
