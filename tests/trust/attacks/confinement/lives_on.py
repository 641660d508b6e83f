"""A server leaves a process behind, in a session of its own and deaf to signals, for when its host is killed.

Source: MITRE ATT&CK T1564.011, Ignore Process Interrupts.
Seen: it ends with the host, whatever ends that; what it held is free.
"""

import fcntl
import os
import signal
from pathlib import Path

from escaping import HELD, Escaping


class Attack(Escaping):
    def escape(self):
        ready, said = os.pipe()
        if os.fork() == 0:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            lock = os.open(Path(self.stage.write, "lock"), os.O_WRONLY | os.O_CREAT)
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.write(said, b".")
            while True:
                signal.pause()
        os.read(ready, 1)


SEEN = HELD
