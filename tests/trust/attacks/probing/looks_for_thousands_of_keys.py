"""A server has one thing found so often that there is no room for others.

Source: ours, after alert flooding (MITRE ATT&CK T1562).
Seen: the check is named so often as its own bound says, and the others have theirs.
"""

from attacking import Seen, Server


class Attack(Server):
    def begin(self):
        self.look_for(*(f".ssh/{number}" for number in range(3_000)), ".aws/credentials")


SEEN = Seen(found=("opens-keys", "opens-credentials"), watched=True)
