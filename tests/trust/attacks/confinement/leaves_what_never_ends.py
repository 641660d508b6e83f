"""A server that may write the folder of a program puts a pipe, or a file without an end, in the place of what its host
looks at before it starts anything: who opens that waits for ever.

Source: ours, after fifo(7); CWE-400, uncontrolled consumption.
Seen: the next start says that it is not what it was, and waits for nothing.
"""

import os
from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        for file in map(Path, self.stage.looked_at):
            file.unlink()
            if file.suffix == ".py":
                os.mkfifo(file)
            else:
                with file.open("wb") as long:
                    long.truncate(self.stage.bounds["max_file_bytes"])


SEEN = HELD
