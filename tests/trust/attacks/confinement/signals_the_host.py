"""A server stops the process of its host.

Source: ours, after MITRE ATT&CK T1489, Service Stop.
Seen: there is no such process for it.
"""

import os
import signal

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        os.kill(self.stage.pid, signal.SIGSTOP)
        return "stopped"


SEEN = HELD
