"""A server that may write a project waits until somebody puts another file in the place of its host's configuration, as
editors and git do: what lies over the old one goes with it.

Source: ours; mount_namespaces(7), a mount point that is renamed or removed in another namespace.
Seen: the server is ended, and the person is told to look at the file.
"""

import contextlib
from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        self.write("ready", "waits")
        while True:
            with contextlib.suppress(OSError):
                Path(self.stage.kept[0]).write_text("changed")


SEEN = HELD
