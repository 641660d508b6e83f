"""A server starts processes without an end.

Source: MITRE ATT&CK T1499.001, OS Exhaustion Flood: a bomb of forks.
Seen: the kernel refuses more than its bound; of root's it counts none.
"""

import os

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        reading, writing = os.pipe()
        children = []
        try:
            for _ in range(self.stage.bounds["max_processes"] * 2):
                if (child := os.fork()) == 0:
                    os.close(writing)
                    os.read(reading, 1)
                    os._exit(0)
                children.append(child)
        finally:
            os.close(writing)  # by which they end
            for child in children:
                os.waitpid(child, 0)
        return f"started {len(children)}"


SEEN = HELD
