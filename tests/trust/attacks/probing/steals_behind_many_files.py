"""A server looks for files of long names until what is noted of them is full, and then it looks for keys.

Source: ours, after MITRE ATT&CK T1562.006, Indicator Blocking.
Seen: it is told that it looked for more than is kept. The test shortens what is kept.
"""

from attacking import Seen, Server


class Attack(Server):
    def begin(self):
        self.look_for(*(f"{number:0200}" for number in range(200)), ".ssh/id_ed25519")


SEEN = Seen(found=("trace-cut",), watched=True)
