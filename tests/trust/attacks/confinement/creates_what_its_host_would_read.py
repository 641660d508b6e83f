"""A server that may write a folder puts a file there that its host would read the next time, and that was not there
when the server was started: a configuration with what is started, a list of who may sign, a lock.

Source: CVE-2026-25725 of Claude Code, whose settings were held only where they were there.
Seen: nothing can be made in their places, nor put there from elsewhere.
"""

import os
from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        done = []
        for file in map(Path, self.stage.absent):
            aside = self.write("changed", f"aside-{file.name}")
            for name, change in (
                (
                    "made",
                    lambda file=file: (file.parent.mkdir(parents=True, exist_ok=True), file.write_text("changed")),
                ),
                ("put there", lambda file=file, aside=aside: aside.rename(file)),
                ("linked", lambda file=file, aside=aside: file.symlink_to(aside)),
                ("made a name of", lambda file=file, aside=aside: os.link(aside, file)),
                ("its folder put there", lambda file=file, aside=aside: aside.rename(file.parent)),
            ):
                try:
                    change()
                except OSError:
                    continue
                done.append(f"{name}: {file}")
        return ", ".join(done)


SEEN = HELD
